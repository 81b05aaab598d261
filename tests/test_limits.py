"""``rc.limits``: every operation ends when it has taken too much, says so, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import pickle
import threading

import numpy as np
import pytest

import ricci as rc
from ricci.budget import spend

TEXT = "y[i] = 1[k] tanh(a[i,j] b[j,k] + exp(x[i]) c[k]) log(1 + exp(x[i] c[k]))"
POINT = {"a": np.eye(2), "b": np.ones((2, 3)), "c": np.array([0.1, 0.2, 0.3]), "x": np.array([0.5, -1.0])}


def formula():
    return rc.parse(TEXT)


def loss(x):
    return np.sum(np.tanh(x @ x.T) * np.exp(-x @ x.T))


def backward():
    t = rc.Tensor(np.arange(6.0).reshape(2, 3) / 10)
    loss(t).backward()
    return t.grad.numpy()


X = np.arange(6.0).reshape(2, 3) / 10
OPERATIONS = {
    "parse": (lambda: str(rc.parse("y = D(D(tan(sin(x)), x), x)")), "Reading a text"),
    "diff": (lambda: str(formula().diff("x", "x")), "ifferentiating"),
    "simplify": (lambda: str(formula().simplify()), "Simplifying"),
    "str": (lambda: str(formula()), "Writing an expression"),
    "latex": (lambda: formula().latex(), "Writing an expression"),
    "matrix": (lambda: rc.parse("l = x[i] A[i,j] x[j] + b[i] x[i]").matrix(), "Writing an expression"),
    "derivation": (lambda: str(formula().diff("x[p]").derivation()), "derivation"),
    "structure": (
        lambda: str(rc.parse("f = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2").diff("U", "U").structure()),
        "structure",
    ),
    "compile": (lambda: formula().diff("x").compile("numpy")(**POINT).tolist(), "ompiling"),
    "call": (lambda: formula()(**POINT).tolist(), ""),
    "equation": (lambda: str(rc.parse("a[i] = b[i,k] c[k]").equation.apply(lambda z: rc.exp(z) ** 2)), ""),
    "equivalent": (
        lambda: rc.parse("y = (a + b)**3").equivalent(rc.parse("y = a**3 + 3 a**2 b + 3 a b**2 + b**3")),
        "",
    ),
    "grad": (lambda: rc.grad(loss)(X).tolist(), ""),
    "hessian": (lambda: rc.hessian(loss)(X).tolist(), ""),
    "jvp": (lambda: [float(v) for v in rc.jvp(loss, (X,), (X,))], ""),
    "vmap": (lambda: rc.vmap(lambda x: np.tanh(x) * x.sum())(X).tolist(), ""),
    "backward": (lambda: backward().tolist(), ""),
    "pullback": (lambda: str(rc.pullback(formula(), "x")), ""),
    "graph": (lambda: formula().graph().dot, ""),
}


def inside(operation, **allowed):
    """What an operation gives or says within limits, nothing being known from before."""
    rc.cache_clear()
    with rc.limits(**allowed):
        return operation()


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_ends_within_a_limit_and_then_works(name):
    operation, _ = OPERATIONS[name]
    wanted = operation()
    assert inside(operation, seconds=100, nodes=10**6) == wanted
    for nodes in (0, 3, 10, 30, 60, 100, 150, 250, 400):
        try:
            assert inside(operation, nodes=nodes) == wanted
        except rc.LimitError as error:
            assert f"more than {nodes} nodes, the limit that rc.limits(nodes={nodes})" in str(error)
        assert operation() == wanted  # with whatever was kept of the call that ended
    with pytest.raises(rc.LimitError, match="more than 0 nodes"):
        inside(operation, nodes=0)
    with pytest.raises(rc.LimitError, match="more than 0 s"):
        inside(operation, seconds=0)
    assert operation() == wanted


@pytest.mark.parametrize("name", [name for name, (_, doing) in OPERATIONS.items() if doing])
def test_the_error_says_what_was_being_done(name):
    operation, doing = OPERATIONS[name]
    said = set()
    for nodes in range(0, 400, 7):
        try:
            inside(operation, nodes=nodes)
        except rc.LimitError as error:
            said.add(str(error))
    assert any(doing in text.split(" took ")[0] for text in said), said


def test_nothing_is_limited_by_default_and_afterwards():
    spend(10**9)
    with pytest.raises(rc.LimitError), rc.limits(nodes=5):
        spend(6)
    spend(10**9)


def test_a_limit_that_was_exceeded_stays_exceeded():
    with rc.limits(nodes=5):
        for _ in range(2):
            with pytest.raises(rc.LimitError):
                spend(6)


def test_limits_within_limits_hold_together():
    with rc.limits(nodes=10), rc.limits(nodes=100):
        spend(10)
        with pytest.raises(rc.LimitError, match="more than 10 nodes"):
            spend()
    with rc.limits(nodes=100), rc.limits(nodes=10), pytest.raises(rc.LimitError, match="more than 10 nodes"):
        spend(11)
    with rc.limits(nodes=100):
        with rc.limits():
            spend(60)
        with pytest.raises(rc.LimitError):
            spend(60)


def test_limits_hold_in_their_own_thread_and_task():
    done = []
    with rc.limits(nodes=5):
        thread = threading.Thread(target=lambda: done.append(spend(100)))
        thread.start()
        thread.join()
    assert done == [None]

    async def limited():
        with rc.limits(nodes=5):
            await asyncio.sleep(0.01)
            with pytest.raises(rc.LimitError):
                spend(6)

    async def free():
        await asyncio.sleep(0.005)
        spend(100)

    async def both():
        await asyncio.gather(limited(), free())

    asyncio.run(both())


def test_a_decorated_function_has_a_limit_for_each_call():
    @rc.limits(nodes=10)
    def work():
        spend(8)

    work()
    work()


def test_the_error_is_an_error_of_ricci_and_can_be_sent():
    with pytest.raises(RuntimeError) as found, rc.limits(nodes=5):
        spend(6)
    assert isinstance(found.value, rc.RicciError)
    assert str(pickle.loads(pickle.dumps(found.value))) == str(found.value)


@pytest.mark.parametrize("wrong", [{"seconds": -1}, {"nodes": -5}, {"seconds": float("nan")}])
def test_limits_are_not_negative(wrong):
    with pytest.raises(rc.InputError, match="0 or more"), rc.limits(**wrong):
        pass
