"""Tensors whose value and derivative come from different sides: choices of sign, rules of one's own, complex ones."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
import ricci.numpy as rnp
from ricci.errors import TraceError

RNG = np.random.default_rng(3)
A = RNG.normal(size=(4, 4))
STEP = 1e-6


def slope(f, x, v):
    return (f(x + STEP * v) - f(x - STEP * v)) / (2 * STEP)


@pytest.mark.parametrize("shape", [(), (2,)], ids=str)
@pytest.mark.parametrize("uplo", ["L", "U", "l", "u"])
def test_eigenvectors_have_the_signs_of_their_value(uplo, shape):
    a = RNG.normal(size=(*shape, 4, 4))
    weights, along = RNG.normal(size=a.shape), RNG.normal(size=a.shape)
    x = rc.Tensor(a)
    vectors = np.linalg.eigh(x, uplo)[1]
    np.testing.assert_array_equal(vectors.numpy(), np.linalg.eigh(a, uplo)[1])  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(rc.compile(lambda x: np.linalg.eigh(x, uplo)[1])(a), vectors.numpy(), atol=1e-12)  # pyright: ignore[reportAttributeAccessIssue]
    vectors.backward(weights)  # pyright: ignore[reportAttributeAccessIssue]
    wanted = np.sum(weights * slope(lambda m: np.linalg.eigh(m, uplo)[1], a, along))
    np.testing.assert_allclose(np.sum(x.grad.numpy() * along), wanted, rtol=1e-5)


def test_a_rule_of_ones_own():
    @rc.custom
    def cube(x):
        return x * x * x

    @cube.vjp
    def _(primals, bar):
        return (3.0 * primals[0] ** 2 * bar,)

    x = rc.Tensor([1.0, 2.0])
    y = cube(x).sum()
    y.backward(create_graph=True)
    first = x.grad
    np.testing.assert_allclose((y.numpy(), *first.numpy()), (9.0, 3.0, 12.0))
    x.zero_grad()
    first.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [6.0, 12.0])


def test_numbers_that_become_an_array_on_the_way():
    x = rc.Tensor(3.0)
    y = np.var(rnp.array([x, x * x]))
    y.backward(create_graph=True)  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose((y.numpy(), x.grad.numpy()), (9.0, 15.0))  # ((x² - x) / 2)²  # pyright: ignore[reportAttributeAccessIssue]


LOSING = {
    "array": lambda t: np.array([t[0], t[1]]),
    "asarray": np.asarray,
    "full": lambda t: np.full(2, t[0]),
    "dot of a plain array": lambda t: np.ones(2).dot(t),
    "assignment": lambda t: np.ones((3, 2)).__setitem__(0, t),
    "r_": lambda t: np.r_[t, t],
}


@pytest.mark.parametrize("name", LOSING)
def test_gradients_are_not_lost_in_plain_arrays(name):
    t = rc.Tensor([1.0, 2.0])
    with pytest.raises(TraceError, match=r"lose the gradient.*ricci\.numpy\.array"):
        LOSING[name](t)
    LOSING[name](t.detach())
    with rc.no_grad():
        LOSING[name](t)
    np.testing.assert_array_equal(np.asarray(t > 1), [False, True])
