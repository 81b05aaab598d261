"""Sums of products of two vectors are one product of two matrices."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc

RNG = np.random.default_rng(8)


def chain(W, x, steps):
    for _ in range(steps):
        x = np.tanh(W @ x)
    return np.sum(x**2)


def shapes(transform, *args):
    """The sizes of what is multiplied or added entry by entry."""
    program = rc.explain(transform)(*args).plan.program
    return [step.out.shape for step in program.steps if step.op == "map"]


@pytest.mark.parametrize("steps", [3, 4, 12])
def test_the_gradient_by_a_matrix_that_is_used_again(steps):
    W, x = RNG.normal(size=(50, 50)) / 7, RNG.normal(size=50)
    gradient = rc.grad(lambda W, x: chain(W, x, steps))
    made = shapes(gradient, W, x)
    assert ((50, 50) in made) == (steps < 4)
    step = RNG.normal(size=W.shape)
    difference = (chain(W + 1e-6 * step, x, steps) - chain(W - 1e-6 * step, x, steps)) / 2e-6
    assert np.sum(gradient(W, x) * step) == pytest.approx(difference, rel=1e-6)


def test_second_order_beside_differences():
    W, x, v = RNG.normal(size=(46, 46)) / 7, RNG.normal(size=46), RNG.normal(size=(46, 46))
    gradient = rc.grad(lambda W: chain(W, x, 6))
    product = rc.hvp(lambda W: chain(W, x, 6))(W, v)
    np.testing.assert_allclose(product, (gradient(W + 1e-6 * v) - gradient(W - 1e-6 * v)) / 2e-6, rtol=1e-5, atol=1e-6)


def test_small_ones_integers_and_what_is_no_product_of_vectors_stay():
    a, b, c = list(RNG.normal(size=(6, 60))), list(RNG.normal(size=(6, 60))), RNG.normal(size=(60, 60))

    def f(a, b, c):
        return sum(a[k][:, None] * b[k] for k in range(6)) + c * a[0] + 2.0

    np.testing.assert_allclose(rc.compile(f)(a, b, c), f(a, b, c), rtol=1e-12)
    assert shapes(rc.compile(f), a, b, c).count((60, 60)) <= 4
    few = [x[:5] for x in a], [x[:5] for x in b], c[:5, :5]
    np.testing.assert_allclose(rc.compile(f)(*few), f(*few), rtol=1e-12)
    whole = list(np.arange(360).reshape(6, 60)), list(np.arange(360)[::-1].reshape(6, 60)), np.ones((60, 60), int)
    np.testing.assert_array_equal(rc.compile(lambda a, b, c: f(a, b, c) - 2.0)(*whole), f(*whole) - 2.0)


@pytest.mark.parametrize("bad", [np.inf, np.nan, -np.inf])
def test_what_is_not_finite_stays_in_its_row(bad):
    a, b = list(RNG.normal(size=(5, 60))), list(RNG.normal(size=(5, 60)))
    a[2][7] = bad

    def f(a, b):
        return sum(a[k][:, None] * b[k] for k in range(5))

    np.testing.assert_allclose(rc.compile(f)(a, b), f(a, b), rtol=1e-12)


def test_beside_a_sum_that_is_there_already():
    a, b = list(RNG.normal(size=(6, 60))), list(RNG.normal(size=(6, 60)))
    c, d = RNG.normal(size=(60, 60)), RNG.normal(size=(60, 60))

    def f(a, b, c, d):
        start = c + d
        return np.sin(start), start + sum(np.multiply.outer(a[k], b[k]) for k in range(6))

    for got, want in zip(rc.compile(f)(a, b, c, d), f(a, b, c, d), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
