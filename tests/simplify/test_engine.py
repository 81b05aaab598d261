"""The pass itself: traces, bounds on work, long chains, costs."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ricci.calculus.modes import derivative
from ricci.expr import HALF, Expr, broadcast, delta, one, power, product, topological, variable
from ricci.functions import activations as act
from ricci.functions import elementwise as el
from ricci.functions import matrix as m
from ricci.functions import reductions as r
from ricci.simplify import RULES, Rewrite, Rewriting, collecting, cost, engine, simplify
from ricci.simplify.match import head, nearby
from ricci.testing.complex_numbers import random_complex
from ricci.testing.interpreter import interpret

x = variable("x", 1)
A, B = variable("A", (8, 8)), variable("B", (8, 8))


def test_the_trace_names_the_steps_in_order():
    trace: list[Rewrite] = []
    total = r.sum_(el.exp(x))
    result = simplify(el.log(el.exp(x) / broadcast(total, (), x.shape)), trace)
    assert result is r.log_softmax(x)
    assert [step.rule for step in trace] == ["exp over its sum to softmax", "log of an exponential"]
    assert trace[0].after is r.softmax(x) and trace[-1].after is result
    assert all(step.rule in RULES for step in trace)


def test_what_a_rule_makes_is_simplified_too():
    assert simplify(el.log(1 - 1 / (1 + el.exp(-el.log(el.exp(x)))))) is -act.softplus(x)


def test_rules_that_chase_one_another_end():
    there = Rewriting("there", lambda e: el.cos(e.args[0]), ("sin",))
    back = Rewriting("back", lambda e: el.sin(e.args[0]), ("cos",))
    assert simplify(el.sin(x), None, {"there": there, "back": back}) in (el.sin(x), el.cos(x))


def test_rules_that_grow_end():
    grow = Rewriting("grow", lambda e: el.tanh(el.tanh(e.args[0])), ("tanh",))
    assert len(topological(simplify(el.tanh(x), None, {"grow": grow}))) < 100


def test_no_rule_keeps_every_node():
    e = el.log(1 + el.exp(x))
    assert simplify(e, None, {}) is e


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The heads of nodes at which rules are tried."""
    tried: list[str] = []
    monkeypatch.setattr(engine, "nearby", lambda e: tried.append(head(e)) or nearby(e))
    return tried


def test_what_was_simplified_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch):
    e = simplify(el.log(1 + el.exp(product([(A, "ij"), (x, "j")], "i"))))
    tried = counted(monkeypatch)
    assert simplify(e) is e and tried == []
    assert simplify(el.tanh(e * e)) is el.tanh(e * e) and "softplus" not in tried and "tanh" in tried


def test_what_is_known_of_a_node_does_not_depend_on_where_it_stands(monkeypatch: pytest.MonkeyPatch):
    v = variable("v", (8,))
    matrix = product([(A, "ij"), (B, "jk")], "ik")
    inner = product([(matrix, "ik"), (v, "k")], "i")
    assert simplify(matrix) is matrix
    alone = simplify(inner)
    assert alone is not inner  # (A B) v is multiplied from the right
    both = simplify(product([(inner, "i"), (el.exp(matrix), "ij")], "j"))
    assert inner in topological(both) or alone in topological(both)
    assert simplify(inner) is alone


def long_chain(step, length: int) -> Expr:
    e: Expr = x
    for _ in range(length):
        e = step(e)
    return e


@pytest.mark.parametrize("length", [5_000, pytest.param(50_000, marks=pytest.mark.thorough)])
def test_a_long_chain_neither_recurses_nor_is_changed(length):
    e = long_chain(lambda e: el.tanh(e) + 1, length)
    assert simplify(e) is e


def test_rewriting_a_long_chain_takes_a_rewrite_a_step():
    def rewrites(length: int) -> int:
        steps: list = []
        result = simplify(long_chain(lambda e: 1 - act.sigmoid(e), length), steps)
        assert len(topological(result)) <= 2 * length + 1
        return len(steps)

    assert rewrites(4000) <= 4 * rewrites(1000) + 4


def tanh_net(layers: int) -> tuple[Expr, Expr]:
    h: Expr = variable("x", 2)
    for layer in range(layers):
        h = el.tanh(product([(h, "bi"), (variable(f"W{layer}", 2), "ji")], "bj"))
    return r.sum_(h**2), variable("W0", 2)


def layer_norm() -> tuple[Expr, Expr]:
    x, g, beta, bar = variable("x", 2), variable("g", 1), variable("beta", 1), variable("bar", 2)
    centred = x - broadcast(r.mean(x, 1), (0,), x.shape)
    scale = (r.mean(centred**2, 1) + 1e-5) ** -HALF
    y = product([(centred, "bh"), (scale, "b"), (g, "h")], "bh") + broadcast(beta, (1,), x.shape)
    return r.sum_(y * bar), x


@pytest.mark.parametrize(("function", "order"), [(tanh_net(10), 2), (layer_norm(), 1), (layer_norm(), 2)])
def test_derivatives_are_simplified_in_few_rewrites(function: tuple[Expr, Expr], order: int):
    y, w = function
    for _ in range(order):
        y = derivative(y, w)
        steps: list = []
        nodes = len(topological(y))
        y = simplify(y, steps)
        assert len(steps) <= 2 * nodes
    assert simplify(y) is y


def test_a_few_thousand_nodes_take_no_more_rewrites_than_nodes():
    g = derivative(*tanh_net(400), "reverse")
    nodes, steps = len(topological(g)), []
    simplify(g, steps)
    assert nodes > 2500 and len(steps) <= nodes


# Costs


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (A, 0),
        (product([(A, "ij")], "ji"), 0),
        (el.exp(A), 64),
        (el.exp(A) + 2 * A, 64 + 128),
        (-A, 0),
        (3 * delta(8), 0),
        (product([(A, "ij"), (B, "jk")], "ik"), 512),
        (product([(A, "ij"), (A, "jk"), (B, "kl")], "il"), 2 * 512),
        (r.sum_(A), 64 + 8),
        (product([(A, "ij"), (delta(8), "kl")], "ijkl"), 0),
        (m.inv(A), 512),
        (r.softmax(A, 1), 64),
        (el.exp(A) * el.exp(A), 128),
        (el.exp(x), 16),
        (el.log(2), 0),
    ],
)
def test_cost(e: Expr, expected: int):
    assert cost(e) == expected


def test_shared_work_is_not_lost_by_factoring():
    """``A B`` and ``A C`` are there anyway: adding them is cheaper than a third product."""
    C = variable("C", (8, 8))
    ab, ac = product([(A, "ij"), (B, "jk")], "ik"), product([(A, "ij"), (C, "jk")], "ik")
    e = product([(el.exp(ab) * el.sin(ac), "ij"), (ab + el.exp(C) + 2 * ac, "jk")], "ik")
    assert cost(simplify(e)) <= cost(e)


def test_what_is_factored_does_not_depend_on_the_order_of_sets(monkeypatch: pytest.MonkeyPatch):
    """Sets of nodes are in the order of addresses, which differ from process to process."""
    a, b, c, d, e, f, g = (variable(name, (8,)) for name in "abcdefg")
    whole = a * b * c + a * b * d + e * f * c + e * f * g
    factors = collecting._factors
    found = []
    for backwards in (False, True):
        arranged = lambda term, backwards=backwards: sorted(factors(term), key=lambda x: x.key, reverse=backwards)  # noqa: E731
        monkeypatch.setattr(collecting, "_factors", arranged)
        found.append(collecting.factor(whole))
    assert found[0] is found[1] and found[0] is not None


def test_rules_of_real_numbers_are_not_taken_for_complex_ones():
    """``log(exp(z))``, roots of squares and the like are others off the principal branch."""
    z, x = variable("z", (3,), complex=True), variable("x", (3,))
    for f in (lambda a: el.log(el.exp(a)), lambda a: power(power(a, 2), HALF), lambda a: el.exp(a) / el.cosh(a)):
        assert simplify(f(x)) is not f(x)
        assert simplify(f(z)) is f(z)
    assert simplify(el.exp(el.log(z))) is z
    assert simplify(el.sin(z) ** 2 + el.cos(z) ** 2) is one((3,))


def test_simplified_complex_expressions_have_their_values():
    for seed in range(60):
        sample = random_complex(random.Random(seed), size=10)
        for e in (sample.expr, derivative(sample.expr, sample.variables["z"])):
            found, wanted = interpret([simplify(e), e], sample.inputs, {})
            np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8, err_msg=str(seed))
