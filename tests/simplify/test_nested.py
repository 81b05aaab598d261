"""Programs that apply a polynomial or a quotient again and again: work and results grow as their length does."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
from ricci.budget import _budget
from ricci.expr import topological

MAPS = {
    "square": ("a * a + 0.1 * a", lambda y: y * y + 0.1 * y),
    "cube": ("a * a * a - a", lambda y: y * y * y - y),
    "sine": ("sin(a) * a + a**2", lambda y: np.sin(y) * y + y**2),
    "factors": ("(a + p) * (a - q)", lambda y: (y + 0.3) * (y - 0.2)),
    "logistic": ("r * a * (1 - a)", lambda y: 3.1 * y * (1 - y)),
    "fraction": ("1 / (1 + a)", lambda y: 1 / (1 + y)),
    "quotient": ("a / (2 + a)", lambda y: y / (2 + y)),
    "horner": ("a * x + p", None),
}


def text(step, length):
    lines = [f"a{k + 1} = {step.replace('a', f'a{k}').replace(f'sin(a{k})', f'sin(a{k})')}" for k in range(length)]
    return "; ".join(["a0 = x", *lines])


def edges(e):
    return sum(1 + len(node.args) for node in topological(e))


def spent(call):
    """What a call gives, and the work that it takes, nothing being known before."""
    rc.cache_clear()
    with rc.limits(nodes=10**8):
        result = call()
        budget = _budget.get()
        assert budget is not None
        return result, budget.spent


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MAPS)
def test_derivatives_of_texts_are_linear_in_their_length(name):
    step = MAPS[name][0]
    found = []
    for length in (40, 80, 160):
        f, reading = spent(lambda length=length: rc.parse(text(step, length)))
        g, first = spent(lambda f=f: f.diff("x"))
        _, printing = spent(lambda g=g: (str(g), g.latex()))
        found.append((reading, first, printing, edges(f.expr), edges(g.expr)))
    for one, two in zip(found[1], found[2], strict=True):
        assert two < 2.6 * one, (name, found)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["square", "logistic", "fraction", "factors"])
def test_second_derivatives_of_texts_are_linear_in_their_length(name):
    step = MAPS[name][0]
    found = []
    for length in (30, 60, 120):
        f = rc.parse(text(step, length))
        h, work = spent(lambda f=f: f.diff("x", "x"))
        found.append((work, edges(h.expr)))
    for one, two in zip(found[1], found[2], strict=True):
        assert two < 2.8 * one, (name, found)


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("name", [name for name, (_, step) in MAPS.items() if step])
def test_programs_are_linear_in_their_length_and_right(name, vector):
    step = MAPS[name][1]
    point = np.array([0.1, 0.25, 0.3]) if vector else 0.3

    def iterated(length):
        def f(y):
            for _ in range(length):
                y = step(y)
            return y.sum() if vector else y

        return f

    found = []
    for length in (30, 60, 120):
        f = iterated(length)
        _, first = spent(lambda f=f: rc.grad(f)(point))
        found.append(first)
    assert found[2] < 2.6 * found[1], (name, found)
    if not vector:
        y, dot, ddot = 0.3, 1.0, 0.0  # by Taylor's formula, step by step
        for _ in range(12):
            h = 1e-4
            slope = (step(y + h) - step(y - h)) / (2 * h)
            bend = (step(y + h) - 2 * step(y) + step(y - h)) / h**2
            y, dot, ddot = step(y), slope * dot, bend * dot**2 + slope * ddot
        assert np.allclose(rc.grad(iterated(12))(point), dot, rtol=1e-5)
        assert np.allclose(rc.hvp(iterated(12))(point, 1.0), ddot, rtol=1e-4)


def test_long_products_show_their_structures():
    """A Jacobian of a long chain of functions by entries is a diagonal, whatever its length."""

    def f(y):
        for _ in range(40):
            y = 3.1 * y * (1 - y)
        return y

    J = rc.jacobian(f)(np.linspace(0.1, 0.2, 4))
    assert np.allclose(J, np.diag(np.diag(J)))
    chain = rc.parse("; ".join(["a0[i] = x[i]", *[f"a{k + 1}[i] = sin(a{k}[i]) a{k}[i]" for k in range(40)]]))
    assert chain.diff("x").structure().parts[0].deltas
