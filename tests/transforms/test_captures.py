"""What a traced function takes from outside, changed between two calls: the second call sees the change.

The grid: what changes and how it is reached (``captures.py``), times the transform. The reference is the function
itself, run by NumPy, with central differences.
"""

from __future__ import annotations

import collections
import functools
import threading
import types
from typing import Any

import numpy as np
import outside
import pytest
from captures import CASES, W

import ricci as rc


def differences(f, x):
    """The gradient by central differences."""
    return np.array([(f(x + 1e-5 * e) - f(x - 1e-5 * e)) / 2e-5 for e in np.eye(3)])


def along_basis(f, x):
    return np.array([rc.jvp(f, (x,), (e,))[1] for e in np.eye(3)])


def after(g, then, first=lambda x: x):
    return lambda x: then(g(first(x)))


TRANSFORMS = {
    "grad": rc.grad,
    "jacobian": rc.jacobian,
    "value_and_grad": lambda f: after(rc.value_and_grad(f), lambda found: found[1]),
    "vjp": lambda f: lambda x: rc.vjp(f, x)[1](1.0)[0],
    "linearize": lambda f: lambda x: np.array([rc.linearize(f, x)[1](e) for e in np.eye(3)]),
    "jvp": lambda f: functools.partial(along_basis, f),
    "vmap of grad": lambda f: after(rc.vmap(rc.grad(f)), lambda found: found[0], lambda x: x[None]),
    "compile": lambda f: functools.partial(differences, rc.compile(f)),
    "on tensors": lambda f: after(rc.grad(f), lambda found: found.numpy(), rc.Tensor),
    "inside another": lambda f: rc.compile(lambda x: rc.grad(f)(x) * 1.0),
}


def agree(found, f):
    np.testing.assert_allclose(found, differences(f, W), rtol=1e-5, atol=1e-7)


@pytest.fixture(autouse=True)
def _as_before():
    outside.scalar = outside.factor = 2.0


@pytest.mark.sampled(7)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen(name, transform):
    f, change = CASES[name]()
    g = TRANSFORMS[transform](f)
    agree(g(W), f)
    agree(g(W), f)
    before = differences(f, W)
    change()
    assert not np.allclose(before, differences(f, W)), "the case changes nothing"
    agree(g(W), f)


def traces(f):
    """The gradient of ``f``, and a list that grows whenever it is traced."""
    runs = []

    def counted(x):
        runs.append(1)
        return f(x)

    return rc.grad(counted), runs


A = np.arange(1.0, 4.0)
BIG = np.ones((200, 200))


class Model:
    def __init__(self):
        self.w, self.layers, self.steps = np.ones(3), [np.ones(3), {"b": np.ones(3)}], 0

    def loss(self, x):
        return (self.w * x * self.layers[0] + self.layers[1]["b"][::-1] * x).sum() * len(self.w)


INPUTS = {
    "a global": (lambda x: (A * x * x).sum(), lambda: A.__iadd__(1)),
    "a view": (lambda x: (A[::-1].reshape(3, 1).T * x * x).sum(), lambda: A.__iadd__(1)),
    "large": (lambda x: (BIG @ np.ones(200))[0] * 0 + (BIG[:3, :3].T @ x).sum(), lambda: None),
    "its shape": (lambda x: (x * x).sum() * A.size * len(A) * A.ndim, lambda: A.__iadd__(1)),
    "given on": (lambda x: (lambda a, y: (a * y).sum())(A, x), lambda: A.__iadd__(1)),
    "rows": (lambda x: sum([(row * x).sum() for row in BIG[:3, :3]]), lambda: BIG.__iadd__(1)),
}


@pytest.mark.parametrize("name", [name for name in INPUTS if name != "large"])
def test_arrays_that_are_only_operands_are_read_without_tracing_again(name):
    f, change = INPUTS[name]
    g, runs = traces(f)
    for _ in range(3):
        agree(g(W), f)
        change()
    assert len(runs) == 1


def test_arrays_of_objects_that_are_only_operands():
    model = Model()
    g, runs = traces(model.loss)
    for _ in range(3):
        agree(g(W), model.loss)
        model.w *= 2
        model.layers[0] += 1
        model.layers[1]["b"] += 1
        model.steps += 1
    assert len(runs) == 1
    model.layers.append(3)
    agree(g(W), model.loss)


def test_arrays_in_tuples_that_are_only_operands():
    pair = collections.namedtuple("pair", "w b")
    w, b = np.ones(3), np.ones(3)
    nested, named = (w, (b, 2.0)), pair(w, b)
    f = lambda x: (nested[0] * x * x + nested[1][0] * x + named.b * x).sum() * nested[1][1]  # noqa: E731
    g, runs = traces(f)
    for _ in range(3):
        agree(g(W), f)
        w += 1
        b *= 2
    assert len(runs) == 1
    assert nested[0] is named.w is w and nested[1][0] is b


def test_an_attribute_that_was_not_there():
    config = types.SimpleNamespace()
    f = lambda x: (x * x).sum() * getattr(config, "rate", 2.0)  # noqa: E731
    g = rc.grad(f)
    agree(g(W), f)
    config.rate = 5.0
    agree(g(W), f)
    del config.rate
    agree(g(W), f)


def test_eager_tensors_from_outside():
    t = rc.Tensor([1.0, 2.0, 3.0])
    f = lambda x: (x * x * t.numpy()).sum() * t.numpy().mean()  # noqa: E731
    g = rc.grad(f)
    for _ in range(3):
        agree(g(W), f)
        with rc.no_grad():
            t -= 0.25


def test_methods_that_are_transformed():
    class Model:
        rate = 2.0
        slope = rc.grad(lambda self, x: self.rate * (x * x).sum(), argnums=1)

    model = Model()
    np.testing.assert_allclose(model.slope(W), 4 * W)
    model.rate = 5.0
    np.testing.assert_allclose(model.slope(W), 10 * W)


def test_an_array_that_was_looked_at_is_watched_as_a_whole():
    big = np.ones((300, 300))
    g, runs = traces(lambda x: (x * big.mean()).sum())
    g(W), g(W)
    assert len(runs) == 1
    big[17, 3] += 90000.0
    np.testing.assert_allclose(g(W), np.full(3, 2.0))
    assert len(runs) == 2


def test_equal_numbers_are_the_same_number():
    config = types.SimpleNamespace(rate=0.5)
    g, runs = traces(lambda x: config.rate * (x * x).sum())
    for text in ("0.5", "0.50", "0.500"):
        config.rate = float(text)
        g(W)
    assert len(runs) == 1
    for rate in (0.0, -0.0):
        config.rate = rate
        g(W)
    assert len(runs) == 3


def test_what_a_function_changes_itself_is_an_effect_of_tracing():
    class Counter:
        count = 0

        def f(self, x):
            self.count += 1
            return (x * x).sum()

    counter = Counter()
    g = rc.grad(counter.f)
    g(W), g(W[:2]), g(W)
    assert counter.count == 2


def test_objects_given_as_arguments():
    class Config:
        def __init__(self):
            self.rate, self.table = 2.0, np.ones(3)

    one, other = Config(), Config()
    f = lambda x, c: c.rate * (c.table * x * x).sum() * c.table[0]  # noqa: E731
    g = rc.grad(f)
    for change in (lambda: None, lambda: setattr(one, "rate", 3.0), lambda: one.table.__setitem__(0, 5.0)):
        change()
        for c in (one, other):
            agree(g(W, c), lambda x, c=c: f(x, c))
            agree(g(rc.Tensor(W), c).numpy(), lambda x, c=c: f(x, c))


def test_code_that_cannot_do_with_stand_ins():
    def insists(a):
        assert type(a) is np.ndarray
        return float(a.sum())

    table = np.ones(3)
    f = lambda x: insists(table) * (x * x).sum()  # noqa: E731
    g = rc.grad(f)
    agree(g(W), f)
    table[0] = 7.0
    agree(g(W), f)


def test_no_stand_in_is_left_behind():
    class Holder:
        pass

    holder: Any = Holder()
    kept: Any = {}
    holder.table = np.ones(3)

    def f(x):
        kept["t"] = holder.table
        holder.again = holder.table
        return (holder.table * x).sum()

    rc.grad(f)(W)
    assert type(kept["t"]) is type(holder.again) is type(holder.table) is np.ndarray
    with pytest.raises(ZeroDivisionError):
        rc.grad(lambda x: (holder.table * x).sum() * (1 / 0))(W)
    assert type(holder.table) is np.ndarray


def test_a_captured_array_passes_for_an_array():
    table = np.arange(6.0).reshape(2, 3)

    def f(x):
        assert isinstance(table, np.ndarray)
        assert (len(table), table.shape, table.dtype, table.nbytes) == (2, (2, 3), np.float64, 48)
        assert f"{table[0, 1]:.1f}" == "1.0" and 5.0 in table and bool((table >= 0).all())
        assert [int(v) for v in table[0]] == [0, 1, 2] and table.tolist()[1] == [3, 4, 5]
        return (table @ x).sum() + (x @ table.T).sum() + np.dot(table, x)[0] + table.dot(x)[1]

    agree(rc.grad(f)(W), f)


def test_functions_traced_in_several_threads():
    table, wrong = np.ones(3), []
    f = lambda x: (table * x * x).sum() * table.sum()  # noqa: E731

    def work():
        for _ in range(5):
            if not np.allclose(rc.grad(f)(W), 6 * W):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong and type(table) is np.ndarray


def test_too_much_to_watch(monkeypatch):
    monkeypatch.setattr("ricci.tracing.reach.MOST", 100)
    parts = [[k] for k in range(200)]
    with pytest.raises(rc.TraceError, match="as arguments"):
        rc.grad(lambda x: x * len(parts))(1.0)


def test_the_grid_can_fail():
    f, change = CASES["mean"]()
    frozen = rc.grad(f)(W)
    change()
    with pytest.raises(AssertionError):
        agree(frozen, f)
