"""What a first gradient costs, counted in calls of Python's functions: so many for an operation, at any length."""

from __future__ import annotations

import functools
import gc
import inspect
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.expr import topological, variable
from ricci.expr.nodes import live_nodes
from ricci.simplify import engine
from ricci.simplify.match import Rewriting
from ricci.tracing.impure import Sources
from ricci.tracing.reach import Reach
from ricci.tracing.recording import names_of


def counted(function: Callable[..., Any], *args: Any) -> int:
    """The calls of a first gradient, with nothing known of the function or of equal expressions."""
    rc.grad(function)(*args)  # what is imported and set up once
    rc.cache_clear()
    gc.collect()
    count = 0

    def seen(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    slope = rc.grad(function)
    sys.setprofile(seen)
    try:
        slope(*args)
    finally:
        sys.setprofile(None)
    return count


def logistic(w, X, y):
    return np.mean(np.log(1 + np.exp(-y * (X @ w)))) + 0.01 * np.sum(w**2)


def network(W, V, X, y):
    return np.mean((np.tanh(X @ W) @ V - y) ** 2)


def recurrent(W, X):
    h, total = np.zeros(len(W)), 0.0
    for x in X:
        h = np.tanh(W @ h + x)
        total = total + np.sum(h**2)
    return total


def variance(p, r):
    s, total = 1.0, 0.0
    for k in range(1, len(r)):
        s = p[0] + p[1] * r[k - 1] ** 2 + p[2] * s
        total = total + np.log(s) + r[k] ** 2 / s
    return total


def pendulum(state, g):
    a, v = state[0], state[1]
    for _ in range(6):
        b, w = a + 0.05 * v, v - 0.05 * g * np.sin(a)
        a, v = a + 0.1 * w, v - 0.1 * g * np.sin(b)
    return a**2 + v**2


RNG = np.random.default_rng(0)
PROGRAMS: dict[str, tuple[int, Callable[..., Any], tuple]] = {  # most calls, function, arguments
    "logistic": (5_500, logistic, (RNG.normal(size=4), RNG.normal(size=(9, 4)), RNG.normal(size=9))),
    "network": (6_200, network, tuple([RNG.normal(size=s) for s in ((4, 5), (5, 1), (9, 4), (9, 1))])),
    "recurrent": (38_000, recurrent, (0.1 * RNG.normal(size=(4, 4)), RNG.normal(size=(10, 4)))),
    "variance": (100_000, variance, (np.array([0.1, 0.2, 0.3]), RNG.normal(size=20))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_first_gradient_takes_so_many_calls(name: str):
    most, function, args = PROGRAMS[name]
    assert counted(function, *args) <= most


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (recurrent, lambda n: (0.1 * np.ones((4, 4)), np.ones((n, 4)))),
        (variance, lambda n: (np.array([0.1, 0.2, 0.3]), np.ones(n))),
    ],
)
def test_first_gradients_grow_with_the_length(function: Callable[..., Any], args: Callable[[int], tuple]):
    short, long = (counted(function, *args(n)) for n in (10, 40))
    assert long <= 4.8 * short


def test_passes_make_what_a_guarded_rule_makes_of_a_node_once(monkeypatch: pytest.MonkeyPatch):
    made: list[tuple[str, Any]] = []

    def watched(rule: Rewriting) -> Rewriting:
        def apply(node: Any) -> Any:
            made.append((rule.name, node))
            return rule.apply(node)

        return Rewriting(rule.name, apply, rule.heads, rule.needs, rule.assumes, rule.guard)

    for name, rule in engine.RULES.items():
        if rule.guard:
            monkeypatch.setitem(engine.RULES, name, watched(rule))
    calls: list[list[tuple[str, Any]]] = []
    simplify = engine.simplify

    def separately(*args: Any) -> Any:
        made.clear()
        found = simplify(*args)
        calls.append(list(made))
        return found

    monkeypatch.setattr(engine, "simplify", separately)
    rc.grad(pendulum)(np.array([0.3, 0.1]), 9.81)
    assert any(calls) and all(len(own) == len(set(own)) for own in calls)


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


@pytest.mark.parametrize(
    "function",
    [
        lambda: 0,
        lambda a, b=1: a,
        lambda a, /, b, *, c=2: a,
        lambda a, *rest, c=2, **more: a,
        lambda *rest: 0,
        lambda *, c: c,
        _wrapped(lambda a, b: a),
        functools.partial(lambda a, b: a, 1),
        np.sin,
        len,
    ],
)
def test_names_of_parameters_are_those_of_the_signature(function: Callable[..., Any]):
    known = inspect.signature(function).parameters.values()
    plain = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in known if p.kind is p.VAR_POSITIONAL), "x")
    assert names_of(function, len(plain) + 2, ("c",)) == [*plain, f"{rest}0", f"{rest}1", "c"]


class Settings:
    """Something that a function reads from, and adds to."""


def test_what_is_reached_stands_until_something_is_added():
    settings = Settings()

    def helper(x):
        return x

    def function(x):
        helper(x)
        return settings.scale * x * lately  # type: ignore  # noqa: F821

    def is_noticed(change: Callable[[], Any]) -> bool:
        reach = Reach([function])
        assert reach.stands()
        change()
        return not reach.stands()

    assert is_noticed(lambda: setattr(settings, "scale", 2.0))
    assert not is_noticed(lambda: setattr(settings, "other", 2.0))  # which no code names
    assert is_noticed(lambda: setattr(helper, "known", {}))
    assert is_noticed(lambda: function.__globals__.update(lately=3.0))
    del function.__globals__["lately"]


def test_a_walk_is_remembered_and_holds_nothing():
    gc.collect()
    before = live_nodes()
    x = variable("of a walk", (3,))
    root = x * x + 2 * x
    assert topological(root) == topological(root) == [*root.below, root]
    del x, root
    assert live_nodes() == before


def test_shared_random_numbers_are_watched_where_code_may_draw_them():
    def plain(x):
        return np.sum(np.sin(x) ** 2)

    def drawing(x):
        return np.sum(x * np.random.rand())  # noqa: NPY002

    assert not Sources(plain, []).shared
    assert Sources(drawing, []).shared.keys() >= {"np.random", "random"}
    assert Sources(lambda x: 2 * statistics.mean(x), []).shared  # code that is not looked into
