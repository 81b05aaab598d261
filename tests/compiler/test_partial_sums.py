"""Sums that contain others begin with them: long chains of additions stay linear."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
from ricci.compiler.lower.opening import sums_of_sums
from ricci.expr import Sum, add, variable

RNG = np.random.default_rng(0)
A, B, C, D = (variable(name, (3,)) for name in "abcd")


def total(**coefs):
    names = {"a": A, "b": B, "c": C, "d": D}
    made = add([(c, names[name]) for name, c in coefs.items()])
    assert isinstance(made, Sum)
    return made


@pytest.mark.parametrize(
    "inner, outer, times",
    [
        ({"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 1}, 1),
        ({"a": 1, "b": 2}, {"a": 3, "b": 6, "c": 1}, 3),
        ({"a": 1, "b": -1}, {"a": -2, "b": 2, "d": 5}, -2),
        ({"a": 1, "b": 2}, {"a": 1, "b": 1, "c": 1}, None),
        ({"a": 1, "b": 1}, {"a": 1, "c": 1, "d": 1}, None),
        ({"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 1}, None),
    ],
)
def test_the_sum_within(inner, outer, times):
    first, second = total(**inner), total(**outer)
    assert sums_of_sums([first, second]) == ({} if times is None else {second: [(first, times)]})
    assert sums_of_sums([second]) == {}


def test_the_largest_is_taken():
    two, three, four = total(a=1, b=1), total(a=1, b=1, c=1), total(a=2, b=2, c=2, d=1)
    assert sums_of_sums([two, three, four]) == {three: [(two, 1)], four: [(three, 2)]}


def test_several_are_taken():
    one, other, all_of_them = total(a=1, b=2), total(c=1, d=-1), total(a=2, b=4, c=-3, d=3)
    assert sorted(sums_of_sums([one, other, all_of_them])[all_of_them], key=lambda part: part[1]) == [
        (other, -3),
        (one, 2),
    ]


def test_coefficients_that_are_products_may_be_rounded():
    inner = total(a=0.1, b=0.7, c=0.3)
    outer = total(a=0.1 * 0.3, b=0.7 * 0.3, c=0.3 * 0.3, d=1)
    near = total(a=0.1 * 0.3, b=0.7 * 0.3 * (1 + 1e-14), c=0.3 * 0.3, d=1)
    ((found, times),) = sums_of_sums([inner, outer])[outer]
    assert found is inner and times == pytest.approx(0.3)
    assert sums_of_sums([inner, near]) == {}


def test_what_a_sum_within_has_made_is_not_made_again():
    """A shifted part that two sums have is put into its place once, within the first of them."""

    def f(x):
        y = x + 0.1 * (np.roll(x, 1) - 2 * x + np.roll(x, -1))
        return 0.3 * y + np.sin(y)

    x = RNG.normal(size=20)
    program = rc.explain(rc.compile(f))(x).plan.program
    assert len([step for step in program.steps if step.op == "place"]) == 1
    np.testing.assert_allclose(rc.compile(f)(x), f(x), rtol=1e-14)


def residual(ws, x):
    for w in ws:
        x = x + np.tanh(x @ w)
    return (x**2).sum()


def test_a_residual_network_takes_linear_time():
    x = RNG.normal(size=(4, 3))
    steps = {}
    for layers in (8, 16, 32, 64):
        ws = list(RNG.normal(size=(layers, 3, 3)) * 0.3)
        f, g = rc.compile(residual), rc.grad(residual)
        np.testing.assert_allclose(f(ws, x), residual(ws, x), rtol=1e-12)
        steps[layers] = len(rc.explain(f)(ws, x).plan.program.steps)
        if layers <= 16:
            for ours, theirs in zip(g(ws, x), rc.numerical_jacobian(residual, ws, x), strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)
    assert steps[64] <= 4 * 64 and steps[64] <= 2.3 * steps[32]


def test_an_integrator():
    def f(p, steps):
        y = np.stack([p[0], p[1]])
        for _ in range(steps):
            k = np.stack([y[1], -np.sin(y[0]) * p[2]])
            middle = y + 0.05 * k
            y = y + 0.1 * np.stack([middle[1], -np.sin(middle[0]) * p[2]])
        return y[0]

    p = np.array([0.5, 0.1, 2.0])
    for steps in (1, 5, 30):
        np.testing.assert_allclose(rc.compile(f)(p, steps), f(p, steps), rtol=1e-12)
        np.testing.assert_allclose(rc.grad(f)(p, steps), rc.numerical_jacobian(f, p, steps), rtol=1e-6, atol=1e-8)
