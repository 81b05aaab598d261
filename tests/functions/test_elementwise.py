"""Every elementwise row: its value against NumPy, its derivatives against differences, its exact values and rules."""

import math
from fractions import Fraction
from itertools import product as pairs

import numpy as np
import pytest
from directional import ELEMENTWISE as ROWS
from directional import assert_derivatives, directional, value

from ricci.compiler.backends import numpy_table as backend
from ricci.errors import InputError, ShapeError
from ricci.expr import OPS, Op, check, constant, elementwise, numeric, one, variable
from ricci.functions import activations as act
from ricci.functions import elementwise as e
from ricci.functions import special

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    30.0,
    -30.0,
    1e3,
    -1e3,
    1e200,
    math.inf,
    -math.inf,
    math.nan,
]
# where each operand may be while derivatives of two orders exist; (-2, 2) if not listed
DOMAIN = {
    "power": [(0.3, 3), (-2, 3)],
    "log": [(0.3, 4)],
    "log2": [(0.3, 4)],
    "log10": [(0.3, 4)],
    "log1p": [(-0.7, 4)],
    "cbrt": [(0.4, 4)],
    "tan": [(-1, 1)],
    "asin": [(-0.8, 0.8)],
    "acos": [(-0.8, 0.8)],
    "atanh": [(-0.8, 0.8)],
    "acosh": [(1.3, 4)],
    "lgamma": [(0.4, 5)],
    "digamma": [(0.4, 5)],
    "mod": [(0.1, 0.9), (1, 1.5)],
    "erfinv": [(-0.9, 0.9)],
    "ndtri": [(0.1, 0.9)],
    "atan2": [(0.5, 2), (-2, 2)],
    "hypot": [(0.5, 2), (-2, 2)],
}


def operands(op: Op, count: int = 12, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    if op.name == "polygamma":
        return [np.arange(count) % 3, rng.uniform(0.4, 5, count)]
    if op.name == "where":
        return [rng.normal(size=count) > 0, rng.normal(size=count), rng.normal(size=count)]
    return [rng.uniform(*domain, count) for domain in DOMAIN.get(op.name, [(-2, 2)] * op.arity)]  # pyright: ignore[reportCallIssue]


def points(op: Op) -> list[tuple[float, ...]]:
    """All combinations of special values; the order of polygamma is a whole number, the branches of where are any."""
    first = [0.0, 1.0, 2.0, 3.0] if op.name == "polygamma" else SPECIAL
    return list(pairs(first, *[SPECIAL] * (op.arity - 1)))


@pytest.mark.parametrize("name", ROWS)
def test_value_is_that_of_numpy(name):
    op = ROWS[name]
    args = zip(*points(op), strict=True)
    args = [np.concatenate([a, b]) for a, b in zip(args, operands(op), strict=True)]
    if name == "lgamma":  # C has inf at -inf, SciPy -inf
        args = [args[0][args[0] != -math.inf]]
    plain = [op.value(*map(float, point)) for point in zip(*args, strict=True)]
    with np.errstate(all="ignore"):
        fast = backend.ELEMENTWISE[name](*args)
    np.testing.assert_allclose(np.array(plain, dtype=float), fast, rtol=2e-13, atol=1e-300)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_type_is_kept(name, dtype):
    args = [a.astype(dtype) for a in operands(ROWS[name])]
    for result in (backend.ELEMENTWISE[name](*args), np.asarray(backend.ELEMENTWISE[name](*[a[0] for a in args]))):
        assert result.dtype == dtype or result.dtype == bool
    wide = backend.ELEMENTWISE[name](*[a.astype(np.float64) for a in args])
    np.testing.assert_allclose(
        backend.ELEMENTWISE[name](*args), wide, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-5
    )


@pytest.mark.parametrize(
    "name", ["erf", "erfc", "erfinv", "ndtri", "log_ndtr", "lgamma", "digamma", "polygamma", "gelu"]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_without_scipy(name, dtype, monkeypatch):
    args = [a.astype(dtype) for a in operands(ROWS[name])]
    expected = backend.ELEMENTWISE[name](*args)
    monkeypatch.setitem(__import__("sys").modules, "scipy", None)
    backend.special.cache_clear()
    try:
        result = backend.ELEMENTWISE[name](*args)
    finally:
        backend.special.cache_clear()
    assert result.dtype == dtype
    np.testing.assert_allclose(result, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)


def check_row(op: Op) -> None:
    data = dict(zip("abc", operands(op), strict=False))
    inputs = [variable(name, (12,)) for name in data]
    y = elementwise(op, *inputs)
    check(y)
    for x, partial in zip(inputs, op.partials, strict=True):
        if partial is None:
            assert directional(y, x, variable("h", (12,))) is not None
        elif not isinstance(partial, str | None):
            derivative = partial(*inputs, y)
            check(derivative)
            assert derivative.shape in ((), y.shape)
            assert_derivatives(y, x, {**data, "h": np.ones(12)})


@pytest.mark.parametrize("name", ROWS)
def test_first_and_second_derivatives(name):
    check_row(ROWS[name])


@pytest.mark.parametrize("name", ["sign", "floor", "ceil", "round", "less", "less_equal", "equal", "not_equal"])
def test_piecewise_constant_rows_have_no_derivative(name):
    assert set(ROWS[name].partials) == {None}


def test_a_wrong_derivative_is_found():
    wrong = Op("wrong_cube", 1, lambda x: x**3, (lambda x, y: 2 * x**2,))
    backend.ELEMENTWISE["wrong_cube"] = lambda x: x**3
    try:
        with pytest.raises(AssertionError):
            check_row(wrong)
    finally:
        del OPS["wrong_cube"], backend.ELEMENTWISE["wrong_cube"]


def test_a_wrong_second_derivative_is_found():
    wrong = Op("wrong_sine", 1, math.sin, (lambda x, y: elementwise(wrong_cosine, x),))
    wrong_cosine = Op("wrong_cosine", 1, math.cos, (lambda x, y: elementwise(wrong, x),))
    backend.ELEMENTWISE.update(wrong_sine=np.sin, wrong_cosine=np.cos)
    try:
        with pytest.raises(AssertionError) as caught:
            check_row(wrong)
        assert caught.value.args[0][0] == 2
    finally:
        for name in ("wrong_sine", "wrong_cosine"):
            del OPS[name], backend.ELEMENTWISE[name]


def slope(build, at: float, **more: float) -> float:
    x = variable("x", ())
    return float(value(directional(build(x), x, constant(1)), x=np.float64(at)))  # pyright: ignore[reportArgumentType]


def test_conventions_at_kinks():
    assert slope(e.abs_, 0.0) == 0
    assert slope(act.relu, 0.0) == 0
    assert slope(act.leaky_relu, 0.0) == 0.01
    assert slope(e.sign, 0.0) == 0
    assert slope(lambda x: e.maximum(x, 1), 1.0) == 0.5
    assert slope(lambda x: e.minimum(x, 1), 1.0) == 0.5
    assert slope(lambda x: e.clip(x, 0, 1), 0.5) == 1
    assert slope(e.stop_gradient, 2.0) == 0


def test_derivatives_of_the_remainder():
    a, b = variable("a", (9,)), variable("b", (9,))
    data = {
        "a": np.array([0.3, 1.7, -0.3, -1.7, 7.1, 7.1, -7.1, 1e15 + 0.25, 0.9]),
        "b": np.array([1.0, 0.5, 1.0, 0.75, -2.0, 2.0, -2.0, 0.3, 0.1]),
    }
    for x, expected in ((a, np.ones(9)), (b, -np.floor(data["a"] / data["b"]))):
        slope = value(directional(e.mod(a, b), x, one((9,))), **data)
        np.testing.assert_allclose(slope[:7], expected[:7], rtol=0)
        assert np.array_equal(slope, np.round(slope))


@pytest.mark.parametrize("at", [-1e3, -100.0, 100.0, 1e3])
@pytest.mark.parametrize("name", ["sigmoid", "softplus", "tanh", "silu", "gelu", "elu", "erf", "log_ndtr", "logaddexp"])
def test_derivatives_are_finite_far_out(name, at):
    x = variable("x", ())
    y = elementwise(ROWS[name], *[x, constant(0)][: ROWS[name].arity])
    for _ in range(3):
        y = directional(y, x, constant(1))
        assert np.isfinite(value(y, x=np.float64(at)))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", [name for name, op in ROWS.items() if op.points])
def test_exact_values(name):
    for at, expected in ROWS[name].points.items():
        assert numeric(elementwise(ROWS[name], constant(at))) == expected
        assert ROWS[name].value(float(at)) == pytest.approx(float(expected), abs=1e-15)


def test_rational_constants_are_folded():
    half = Fraction(1, 2)
    folded = {
        e.abs_(-half): half,
        e.sign(-half): -1,
        e.floor(-half): -1,
        e.ceil(half): 1,
        e.round_(Fraction(5, 2)): 2,
        e.maximum(half, 1): 1,
        e.minimum(half, 1): half,
        e.less(half, 1): 1,
        e.greater(half, 1): 0,
        e.equal(half, 0.5): 1,
        e.where(0, 1, 2): 2,
    }
    assert {numeric(expr): expected for expr, expected in folded.items()} == {v: v for v in folded.values()}


def test_local_identities():
    x, y = variable("x", 1), variable("y", 1)
    assert e.abs_(-3 * x) is 3 * e.abs_(x)
    assert e.abs_(x - y) is e.abs_(y - x)
    assert e.abs_(e.abs_(x)) is e.abs_(x)
    assert act.relu(act.relu(x)) is act.relu(x)
    assert e.maximum(x, x) is x
    assert e.maximum(x, y) is e.maximum(y, x)
    assert e.where(e.less(x, y), x, x) is x
    assert e.greater(x, y) is e.less(y, x)
    assert e.greater_equal(x, y) is e.less_equal(y, x)
    assert e.equal(x, x) is not one(x.shape)  # NaN differs from itself
    assert e.sqrt(x) is x ** Fraction(1, 2)
    assert e.subtract(x, y) is x - y and e.add(x, y) is x + y and e.neg(x) is -x
    assert e.square(x) is x**2 and e.reciprocal(x) is 1 / x and e.divide(x, y) is x / y


def test_the_derivative_by_the_order_of_polygamma_is_refused_in_words():
    assert "whole number" in ROWS["polygamma"].partials[0]  # pyright: ignore[reportOperatorIssue]


def test_special_values():
    assert special.digamma(1.0) == pytest.approx(-0.5772156649015329, rel=1e-15)
    assert special.polygamma(1, 1.0) == pytest.approx(math.pi**2 / 6, rel=1e-15)
    assert special.polygamma(2, 0.5) == pytest.approx(-14 * 1.2020569031595942, rel=1e-15)
    assert special.polygamma(1, -0.5) == pytest.approx(math.pi**2 / 2 + 4, rel=1e-14)
    assert math.isnan(special.polygamma(0.5, 1.0))


def test_errors_are_sentences():
    with pytest.raises(InputError, match="exp takes 1 operands, not 2"):
        e.exp(1, 2)
    with pytest.raises(ShapeError, match="orders 1, 2"):
        e.maximum(variable("x", 1), variable("y", 2))
