"""Powers with whole exponents are products: the same numbers as NumPy's, and none of its calls."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
from ricci.compiler.emit.numpy_powers import BLOCK, power_by_products

X = np.concatenate([[0.0, -0.0, 1.0, -1.0, 0.5, -2.0], np.linspace(-3, 3, 94)])
EXPONENTS = [np.arange(6), np.array([0, 3, 7, 7, 20]), np.array([[1, 2], [0, 5]]), np.array([-1, 2, -3]), np.array(5)]


def steps(f, *args):
    """The names of the steps of a plan."""
    compiled = rc.compile(f)
    compiled(*args)
    return [step.name for step in compiled.program(compiled.arguments(args, {})).compiled.plan.program.steps]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("exponents", EXPONENTS, ids=str)
@pytest.mark.parametrize("shape", [(100,), (50, 2), (2, 50)])
def test_powers_by_products_are_numpys(dtype, exponents, shape):
    x, n = X.astype(dtype).reshape(shape), exponents.astype(dtype)
    last, first = (..., *[None] * n.ndim), (..., *[None] * x.ndim)
    with np.errstate(all="ignore"):
        for base, power in [(x[last], n), (x, n[first])]:
            wanted = np.power(base.astype(float), power.astype(float)).astype(dtype)
            made = power_by_products(base, power)
            assert made.dtype == dtype
            np.testing.assert_allclose(made, wanted, rtol=40 * np.finfo(dtype).eps)
            out = np.empty_like(wanted)
            assert power_by_products(base, power, out) is out
            np.testing.assert_array_equal(out, made)


def test_what_is_not_finite_is_as_in_numpy():
    x = np.resize([np.inf, -np.inf, np.nan, 0.0, -0.0], 100)[:, None]
    n = np.array([0.0, 1, 2, 3, -1, -2, -3])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(power_by_products(x, n), np.power(x, n))
        np.testing.assert_array_equal(np.signbit(power_by_products(x, n)), np.signbit(np.power(x, n)))


@pytest.mark.parametrize("n", [[0.5, 2], [np.nan, 1], [np.inf, 1], [65, 1], [-70, 1]])
def test_other_exponents_are_left_to_numpy(n):
    x = np.linspace(0.5, 1.5, 200)[:, None]
    np.testing.assert_array_equal(power_by_products(x, np.array(n, float)), np.power(x, np.array(n, float)))


@pytest.mark.parametrize("entries", [1, 10, 3 * BLOCK, 2 * BLOCK + 1])
def test_blocks_make_up_the_whole(entries):
    x, n = np.linspace(-1, 1, entries), np.array([[3.0], [0.0], [4.0]])
    np.testing.assert_allclose(power_by_products(x, n), np.power(x, n), rtol=1e-14)
    np.testing.assert_allclose(power_by_products(x[:, None], n.T), np.power(x[:, None], n.T), rtol=1e-14)


def test_exponents_along_an_axis_of_the_base():
    x, n = np.linspace(-1, 1, 300).reshape(100, 1, 3), np.array([[0.0, 1, 2], [3, 0, 1], [2, 2, 5], [1, 0, 0]])
    np.testing.assert_allclose(power_by_products(x, n), np.power(x, n), rtol=1e-14)


def test_powers_of_nothing():
    for x, n in [
        (np.ones((0, 1)), np.arange(3.0)),
        (np.ones((100, 1)), np.arange(0.0)),
        (np.float64(2), np.arange(3.0)),
    ]:
        np.testing.assert_array_equal(power_by_products(x, n), np.power(x, n))


def test_numbers_as_exponents_share_their_products():
    names = steps(lambda x: x**3 + x**5 + x**6 + x**-5, X[2:])
    assert "power" not in names
    assert names.count("square") + names.count("multiply") == 4  # x**2, x**3, x**5, x**6
    assert steps(lambda x: np.exp(x) ** -2.5, X[2:]) == ["exp", "sqrt", "square", "multiply", "reciprocal"]
    assert steps(lambda x: x**2.3, np.abs(X[2:])) == ["power"]
    assert steps(lambda x: x**40, X) == ["power"]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 8, 15, 31, 32, 33, 1.5, 2.5, 7.5, -1, -5, -2.5])
def test_values_and_derivatives_of_powers(n):
    x = np.abs(X[2:]) if n % 1 else X[2:]
    f = lambda x: np.sum(x**n)  # noqa: E731
    ones = np.ones_like(x)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(rc.compile(lambda x: x**n)(x), x**n, rtol=1e-13)
        np.testing.assert_allclose(rc.grad(f)(x), n * x ** float(n - 1), rtol=1e-13)
        np.testing.assert_allclose(rc.hvp(f)(x, ones), n * (n - 1) * x ** float(n - 2), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_polynomials_by_an_array_of_exponents(dtype):
    t, c = X[2:].astype(dtype), np.arange(1, 9).astype(dtype) / 8
    vander = t[:, None] ** np.arange(8)

    def residuals(c, t):
        return np.sum((t[:, None] ** np.arange(8) @ c - 1) ** 2)

    tolerance = 100 * np.finfo(dtype).eps
    wanted = 2 * vander.T @ (vander @ c - 1)
    np.testing.assert_allclose(rc.grad(residuals)(c, t), wanted, rtol=tolerance)
    np.testing.assert_allclose(rc.hvp(residuals)(c, t, c), 2 * vander.T @ (vander @ c), rtol=tolerance)
    slopes = (np.arange(1, 8) * t[:, None] ** np.arange(7)) @ c[1:]
    np.testing.assert_allclose(rc.grad(residuals, 1)(c, t), 2 * (vander @ c - 1) * slopes, rtol=10 * tolerance)


def test_whole_exponents_have_derivatives_at_zero():
    x, n = np.array([0.0, 0.0, 0.0, 0.0, -1.0, 2.0]), np.array([0, 1, 2, 3, 0, 3])
    for f, args in [(lambda x, n: np.sum(x**n), (x, n)), (lambda x: np.sum(x ** np.array([0, 1, 2, 3, 0, 3])), (x,))]:
        np.testing.assert_array_equal(rc.grad(f)(*args), [0, 1, 0, 0, 0, 12])
        np.testing.assert_array_equal(rc.hvp(f)(*args, np.ones(6)), [0, 0, 2, 0, 0, 12])
    t = rc.Tensor(x, requires_grad=True)
    np.sum(t**n).backward()
    np.testing.assert_array_equal(t.grad, [0, 1, 0, 0, 0, 12])
    assert str(rc.parse("y = 1[i] x[i]**n[i]").diff("x")) == "dy_dx[i] = x[i]**(n[i] - 1) n[i]"  # as on paper


EDGES = np.resize([-np.inf, -2.0, -0.0, 0.0, 2.0, np.inf, np.nan], 70)
HALVES = [1.5, 2.5, 3.5, 4.5, -1.5, -2.5, -3.5]


def roads(formula, x):
    """The values of a formula by the call, by compiled code of each library that is here, and by fused loops."""
    yield formula(x=x)
    yield formula.compile("numpy", fused=False)(x=x)
    for name in ["torch", "jax"]:
        library = pytest.importorskip(name)
        if name == "jax":
            library.config.update("jax_enable_x64", True)
        yield np.asarray(formula.compile(name)(x=library.asarray(x) if name == "torch" else library.numpy.asarray(x)))
    pytest.importorskip("numba")
    yield formula.compile("numpy", fused=True)(x=x)


@pytest.mark.parametrize("n", HALVES)
def test_powers_with_a_half_of_what_is_infinite_or_zero(n):
    with np.errstate(all="ignore"):
        value, slope = np.power(EDGES, n), n * np.power(EDGES, n - 1)
        for formula, wanted in [
            (rc.parse(f"y[i] = x[i]**({n})"), value),
            (rc.parse(f"y = 1[i] x[i]**({n})").diff("x"), slope),
        ]:
            if abs(n - 1.5) < 0.1 and wanted is slope:
                wanted = n * EDGES**0.5  # a root, as NumPy's operator has it
            for found in roads(formula, EDGES):
                np.testing.assert_allclose(found, wanted, rtol=1e-14)
        np.testing.assert_allclose(rc.compile(lambda x: x**n)(EDGES), value, rtol=1e-14)


def test_what_is_never_negative_is_a_root_and_products_alone():
    x = np.linspace(-1, 1, 10)
    assert "where" in steps(lambda x: x**1.5, x)
    assert "where" not in steps(lambda x: (x**2 + 1) ** -1.5, x)
