"""What a user drops is freed: functions, rules, what they captured, and all that was made of them."""

from __future__ import annotations

import functools
import gc
import pickle
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.caches import OfFunctions
from ricci.expr.nodes import live_nodes

X = np.arange(1.0, 6.0)


pytestmark = pytest.mark.usefixtures("nothing_before")


def derivative(big):
    @rc.custom
    def f(x):
        return x * big

    f.derivative(lambda x: big + 0 * x)
    return f


def of_itself(big):
    @rc.custom
    def f(x):
        return np.exp(x) * big

    f.derivative(lambda x: 1 * f(x))
    return f


def forwards(big):
    @rc.custom
    def f(x):
        return x * big

    f.jvp(lambda primals, tangents: tangents[0] * big)
    return f


def backwards(big):
    @rc.custom
    def f(x):
        return x * big

    f.vjp(lambda primals, bar: (bar * big,))
    return f


def outside(big):
    @rc.custom
    def f(x):
        return x * big if x[0] > 0 else x

    f.derivative(lambda x: big + 0 * x)
    return f


def entry_by_entry(big):
    @rc.custom
    def f(x):
        return np.tanh(x)

    f.derivative(lambda x: 1 - f(x) ** 2)
    f.__dict__["held"] = big
    return f


def sorting(big):
    @rc.custom
    def f(x):
        return np.sort(x) * 2

    f.vjp(lambda primals, bar: (2 * bar,))
    f.__dict__["held"] = big
    return f


RULES = [derivative, of_itself, forwards, backwards, outside]


class Model:
    def __init__(self, big):
        self.big = big

    def loss(self, x):
        return (x * self.big).sum()


def recursive(big):
    def f(x, depth=2):
        return x * big if not depth else f(x, depth - 1)

    return f


def _in_scope(big):
    with rc.axes("a b") as ax:
        rc.rearrange(big, "a -> a ()")
        return ax


def _fails(big):
    with pytest.raises(rc.TraceError):
        rc.grad(lambda x: float(x[0]) * big)(X)


def _summed(transform, rule, big):
    f = rule(big)
    return transform(lambda x: f(x).sum())(X)


def _formula(rule, big):
    found: Any = rule(big)(rc.variable("x[i]"))
    return found.diff("x").compile()(x=X)


WAYS = {
    "grad": lambda big: rc.grad(lambda x: (x * big).sum())(X),
    "a constant of NumPy's": lambda big: rc.grad(lambda x: (x * np.sqrt(big)).sum())(X),
    "grad of a method": lambda big: rc.grad(Model(big).loss)(X),
    "hessian": lambda big: rc.hessian(lambda x: (x**2 * big).sum())(X),
    "compressed": lambda big: rc.hessian(lambda x: (x**2 * big).sum(), compressed=True)(X).solve(X),
    "jvp": lambda big: rc.jvp(lambda x: x * big, (X,), (X,)),
    "vjp": lambda big: rc.vjp(lambda x: x * big, X)[1](X),
    "vjp, recursive": lambda big: rc.vjp(recursive(big), X)[1](X),
    "linearize": lambda big: rc.linearize(lambda x: x * big, X)[1](X),
    "gauss_newton_vp": lambda big: rc.gauss_newton_vp(lambda x: x * big)(X, X),
    "taylor": lambda big: rc.taylor(lambda x: (x * big).sum(), 3)(X, X),
    "vmap": lambda big: rc.vmap(rc.grad(lambda x: (x * big).sum()))(np.ones((3, 5))),
    "compile": lambda big: rc.compile(lambda x: x * big)(X),
    "checkpoint": lambda big: rc.grad(lambda x: rc.checkpoint(lambda x: np.sin(x) * big)(x).sum())(X),
    "a tensor": lambda big: (rc.Tensor(X) * big).sum().backward(),
    "entries of a tensor": lambda big: (rc.Tensor(X)[np.arange(5)] * big).sum().backward(),
    "a gradient on tensors": lambda big: rc.grad(lambda x: (x * big).sum())(rc.Tensor(X)),
    "a formula": lambda big: rc.parse("y = x[i] b[i] x[i]").diff("x")(x=X, b=big),
    "a formula on tensors": lambda big: rc.parse("y = x[i] b[i]")(x=rc.Tensor(X), b=big).backward(),
    "a formula, traced": lambda big: rc.grad(lambda x: rc.parse("y = x[i] b[i]")(x=x, b=big))(X),
    "a scope": _in_scope,
    "an error": _fails,
    **{f"grad of {rule.__name__}": partial(_summed, rc.grad, rule) for rule in RULES},
    **{f"{rule.__name__}, its value too": partial(_summed, rc.value_and_grad, rule) for rule in RULES},
    **{f"{rule.__name__} on tensors": lambda big, r=rule: r(big)(rc.Tensor(X)).sum().backward() for rule in RULES},
    **{f"{rule.__name__} on formulas": partial(_formula, rule) for rule in (entry_by_entry, sorting)},
}


@pytest.mark.parametrize("way", WAYS)
def test_arrays_are_freed(way):
    big = np.full(5, 2.0)
    held = weakref.ref(big)
    WAYS[way](big)
    del big
    gc.collect()
    assert held() is None


@pytest.mark.parametrize("way", ["grad", "hessian", "grad of derivative", "grad of backwards", "a tensor", "vmap"])
def test_at_once_without_the_collector(way):
    gc.collect()
    gc.disable()
    try:
        big = np.full(5, 2.0)
        held = weakref.ref(big)
        WAYS[way](big)
        del big
        assert held() is None
    finally:
        gc.enable()


def test_a_rule_at_module_level_keeps_nothing_of_its_traces():
    rule = of_itself(2.0)

    def traced():
        rc.grad(lambda x: rule(x).sum() * 3)(X)
        gc.collect()
        return live_nodes()

    traced()
    before = traced()
    assert [traced() for _ in range(5)] == [before] * 5


def test_few_methods_and_objects_are_kept():
    held = []
    for _ in range(100):
        model = Model(np.full(5, 2.0))
        held.append(weakref.ref(model.big))
        rc.vjp(model.loss, X)[1](1.0)
        del model
    gc.collect()
    assert sum(own() is not None for own in held) <= 16
    rc.cache_clear()
    gc.collect()
    assert not any(own() for own in held)


def test_what_is_kept_of_a_function_is_found_again():
    traces = []

    def f(x):
        traces.append(1)
        return x * x

    for _ in range(3):
        rc.vjp(f, X)
        rc.jvp(f, (X,), (X,))
    assert len(traces) == 2


def test_what_is_kept_of_a_function_is_its_own():
    kept = OfFunctions("a test of functions", 4)

    def f():
        pass

    assert kept.made(f, "a", lambda: 1) == kept.made(f, "a", lambda: 2) == 1

    @functools.wraps(f)  # which copies attributes
    def g():
        pass

    assert kept.made(g, "a", lambda: 3) == 3 and kept.made(f, "a", lambda: 4) == 1
    assert pickle.loads(pickle.dumps(vars(f)["ricci: a test of functions"])).all() == {}
    rc.cache_clear()
    assert kept.made(f, "a", lambda: 5) == 5
