"""Reductions, running sums, statistics: values, types and derivatives over axes, masks, methods and edges."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check, traced

from ricci.errors import AxisError, InputError, RicciError, ShapeError, TraceError
from ricci.tracing.basics import NeedsValueError

RNG = np.random.default_rng(1)
NAN = np.nan
X = RNG.normal(size=(2, 3, 4))
MASK = RNG.random((2, 3, 4)) < 0.6
HOLES = np.where(RNG.random((3, 4)) < 0.3, NAN, RNG.normal(size=(3, 4)))
HOLES[0] = RNG.normal(size=4)

AXES = [None, 0, -1, (0, 2), (1, -1), ()]
SMOOTH = [np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.ptp, np.median, np.amax, np.amin]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("f", SMOOTH, ids=lambda f: f.__name__)
def test_axes(f, axis, keepdims):
    if axis == () and f in (np.median, np.std):  # NumPy's median does not take it; a standard deviation has a kink at 0
        pytest.skip("not a value that can be compared")
    check(lambda x: f(x, axis=axis, keepdims=keepdims), X[:, :, :2], order=1 if f is np.prod and axis is None else 2)


@pytest.mark.parametrize("shape", [(), (1,), (1, 3), (3, 1)], ids=str)
@pytest.mark.parametrize("f", [*SMOOTH[:4], np.max, np.ptp, np.median], ids=lambda f: f.__name__)
def test_small_shapes(f, shape):
    check(f, np.asarray(RNG.normal(size=shape)))


@pytest.mark.parametrize("f", [np.sum, np.prod, np.any, np.all, np.count_nonzero, np.cumsum, np.cumprod])
@pytest.mark.parametrize("shape, axis", [((0,), 0), ((0, 3), 0), ((0, 3), 1), ((3, 0), None)])
def test_no_entries(f, shape, axis):
    check(lambda x: f(x, axis=axis), np.zeros(shape))


def test_no_entries_with_a_start():
    check(lambda x: np.max(x, axis=0, initial=-2.5), np.zeros((0, 3)))
    check(lambda x: np.max(x, axis=0), np.zeros((3, 0)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [np.mean, np.var, np.std, np.median])
def test_of_nothing_is_nan(f):
    check(lambda x: f(x, axis=0), np.zeros((0, 2)), order=0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_as_many_degrees_of_freedom_as_entries():
    check(lambda x: np.var(x, ddof=3), np.array([1.0, 2.0, 4.0]), order=0)


OPTIONS = {
    "sum initial": lambda x: np.sum(x, axis=0, initial=2.5),
    "sum where": lambda x: np.sum(x, axis=1, where=MASK),
    "sum where row": lambda x: np.sum(x, where=MASK[0, 0]),
    "sum traced where": lambda x: np.sum(x, where=x > 0),
    "prod where": lambda x: np.prod(x, axis=-1, where=MASK, initial=1.5),
    "max where": lambda x: np.max(x, axis=1, where=MASK, initial=-9.0),
    "min initial": lambda x: np.min(x, axis=1, initial=-0.3),
    "mean where": lambda x: np.mean(x, axis=(0, 1), where=MASK, keepdims=True),
    "var ddof": lambda x: np.var(x, axis=1, ddof=1),
    "var correction": lambda x: np.var(x, axis=(0, 1), correction=1.5),
    "var mean": lambda x: np.var(x, axis=1, mean=np.mean(x, axis=1, keepdims=True)),
    "var where": lambda x: np.var(x, axis=(0, 1), where=MASK),
    "std ddof": lambda x: np.std(x, axis=-1, ddof=1, keepdims=True),
    "std where": lambda x: np.std(x, axis=(0, 1), where=MASK, ddof=1),
    "average": lambda x: np.average(x, axis=1),
    "average weights": lambda x: np.average(x, axis=1, weights=np.array([1.0, 2.0, 0.5])),
    "average all": lambda x: np.average(x, weights=MASK + 0.5),
    "average axes": lambda x: np.average(x, axis=(0, 1), weights=MASK[:, :, 0] + 0.5, keepdims=True),
    "average returned": lambda x: np.average(x, axis=2, weights=np.arange(1.0, 5), returned=True),
    "average plain returned": lambda x: np.average(x, axis=2, returned=True),
    "add.reduce": np.add.reduce,
    "add.reduce axes": lambda x: np.add.reduce(x, axis=(0, 2), keepdims=True),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=1),
    "maximum.reduce": np.maximum.reduce,
    "minimum.reduce": lambda x: np.minimum.reduce(x, axis=None),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, axis=-1),
    "logaddexp.reduce where": lambda x: np.logaddexp.reduce(x, axis=None, where=MASK, initial=0.5),
    "add.accumulate": np.add.accumulate,
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, axis=1),
    "methods": lambda x: x.sum(0) * x.mean(axis=0) + x.std(0) - x.max() * x.min(0) / x.var() + x.prod(0),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options(name):
    check(OPTIONS[name], X)


def test_weights_are_differentiated_too():
    check(lambda x, w: np.average(x, axis=0, weights=w), X[0], np.array([0.5, 1.0, 2.0]))
    check(lambda x, w: np.average(x, weights=w, returned=True), X[0], np.exp(X[1]))


COUNTS = {
    "any": np.any,
    "any axis": lambda x: np.any(x, axis=0, keepdims=True),
    "all": lambda x: np.all(x, axis=1),
    "all where": lambda x: np.all(x > 0, axis=1, where=x < 1),
    "count": np.count_nonzero,
    "count axis": lambda x: np.count_nonzero(x > 0, axis=0, keepdims=True),
    "argmax": np.argmax,
    "argmax axis": lambda x: np.argmax(x, axis=1),
    "argmin": lambda x: np.argmin(x, axis=0, keepdims=True),
    "argmin all": lambda x: np.argmin(x, keepdims=True),
    "allclose": lambda x: np.allclose(x, x + 1e-10),
    "not allclose": lambda x: np.allclose(x, x + 1),
    "array_equal": lambda x: np.array_equal(x, x * 1),
    "array_equal shapes": lambda x: np.array_equal(x, x[0]),
    "array_equiv": lambda x: np.array_equiv(x, x[:1]),
    "logical_or": lambda x: np.logical_or.reduce(x > 0),
    "logical_and": lambda x: np.logical_and.reduce(x, axis=None),
}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize(
    "array", [X[0], np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[3, 0, 1]])], ids=["x", "0", "i"]
)
def test_counts_and_truths(name, array):
    check(COUNTS[name], array)


def test_nan_is_equal_if_asked():
    check(lambda x: np.array_equal(x, x), HOLES, order=0)
    check(lambda x: np.array_equal(x, x, equal_nan=True), HOLES, order=0)


REDUCTIONS = (np.sum, np.prod, np.mean, np.var, np.std, np.max, np.ptp, np.median, np.cumsum, np.cumprod, np.diff)


@pytest.mark.parametrize("kind", ["f4", "i4", "i8", "u1", "?"])
@pytest.mark.parametrize("f", REDUCTIONS, ids=lambda f: f.__name__)
def test_types(f, kind):
    if kind == "?" and f in (np.ptp, np.median):
        pytest.skip("NumPy does not subtract truth values")
    check(f, (np.abs(X[0]) * 3).astype(kind), order=0)


def test_types_that_are_asked_for():
    check(lambda x: np.sum(x, dtype=np.int64), 3 * X, order=0)
    check(lambda x: np.sum(x, axis=0, dtype=np.float32), X, order=0)
    check(lambda x: np.sum(x, dtype=float), np.arange(6), order=0)
    check(lambda x: np.mean(x, dtype=np.float32), np.arange(6), order=0)
    check(lambda x: np.cumsum(x, dtype=np.int64), 3 * X[0], order=0)


def test_ties_share_the_derivative():
    from ricci.calculus.modes import derivative

    program = traced(np.max, np.ones(4))
    (value,) = program.values([derivative(program.results[0].expr, program.inputs[0], "reverse")], [np.ones(4)])
    assert value.tolist() == [0.25] * 4


# NaN left out

WITHOUT_NAN = {
    "nansum": lambda x: np.nansum(x, axis=0),
    "nansum all": lambda x: np.nansum(x, initial=2.0),
    "nanprod": lambda x: np.nanprod(x, axis=1, keepdims=True),
    "nanmean": lambda x: np.nanmean(x, axis=0),
    "nanmean where": lambda x: np.nanmean(x, axis=1, where=np.array([True, True, False, True])),
    "nanvar": lambda x: np.nanvar(x, axis=1),
    "nanstd": lambda x: np.nanstd(x, ddof=1),
    "nanmax": lambda x: np.nanmax(x, axis=0),
    "nanmin": lambda x: np.nanmin(x, axis=1, keepdims=True),
    "nanmin initial": lambda x: np.nanmin(x, initial=-0.1),
    "nanmedian": lambda x: np.nanmedian(x, axis=1),
    "nanmedian all": lambda x: np.nanmedian(x, keepdims=True),
    "nanquantile": lambda x: np.nanquantile(x, 0.3, axis=1),
    "nanpercentile": lambda x: np.nanpercentile(x, np.array([10.0, 55.0]), axis=1, keepdims=True),
    "nancumsum": lambda x: np.nancumsum(x, axis=1),
    "nancumprod": np.nancumprod,
    "nanargmax": lambda x: np.nanargmax(x, axis=1),
    "nanargmin": np.nanargmin,
}


@pytest.mark.parametrize("name", WITHOUT_NAN)
def test_without_nan(name):
    check(WITHOUT_NAN[name], HOLES)
    check(WITHOUT_NAN[name], X[0])
    check(WITHOUT_NAN[name], np.arange(12).reshape(3, 4)[:, ::-1].copy(), order=0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [np.nansum, np.nanmax, np.nanmean, np.nanmedian], ids=lambda f: f.__name__)
def test_rows_of_nan_alone(f):
    check(lambda x: f(x, axis=1), np.array([[NAN, NAN], [1.0, NAN]]), order=0)


# Quantiles

METHODS = "linear lower higher midpoint nearest inverted_cdf averaged_inverted_cdf closest_observation hazen weibull"


@pytest.mark.parametrize("method", METHODS.split())
@pytest.mark.parametrize("q", [0.3, [0.0, 0.25, 1.0], [[0.2, 0.9]]], ids=str)
def test_quantile(method, q):
    check(lambda x: np.quantile(x, q, axis=1, method=method), X[0])


QUANTILES = {
    "percentile": lambda x: np.percentile(x, 40),
    "percentile array": lambda x: np.percentile(x, np.array([10, 50, 90]), axis=-1, keepdims=True),
    "quantile axes": lambda x: np.quantile(x, 0.7, axis=(0, 2)),
    "quantile keepdims": lambda x: np.quantile(x, [0.1, 0.5], axis=(0, 2), keepdims=True),
    "median even": lambda x: np.median(x, axis=-1),
}


@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles(name):
    check(QUANTILES[name], X)


@pytest.mark.parametrize("name", ["percentile", "quantile axes", "median even"])
def test_types_of_quantiles(name):
    check(QUANTILES[name], X.astype("f4"), order=0)
    check(QUANTILES[name], (9 * X).astype("i4"), order=0)


def test_quantiles_of_nan_are_nan():
    check(lambda x: np.median(x, axis=1), HOLES, order=0)
    check(lambda x: np.quantile(x, [0.0, 0.5], axis=1), HOLES, order=0)


# Covariances

COVARIANCES = {
    "cov": np.cov,
    "cov columns": lambda x: np.cov(x, rowvar=False),
    "cov bias": lambda x: np.cov(x, bias=True),
    "cov ddof": lambda x: np.cov(x, ddof=2),
    "cov two": lambda x: np.cov(x[0], x[1]),
    "cov one": lambda x: np.cov(x[0]),
    "cov fweights": lambda x: np.cov(x, fweights=np.array([1, 2, 1, 3])),
    "cov aweights": lambda x: np.cov(x, aweights=np.array([1.0, 2.0, 0.5, 3.0])),
    "cov both": lambda x: np.cov(x, fweights=np.array([1, 2, 1, 3]), aweights=np.array([1.0, 2.0, 0.5, 3.0])),
    "corrcoef": np.corrcoef,
    "corrcoef columns": lambda x: np.corrcoef(x[:, :2], rowvar=False),
    "corrcoef two": lambda x: np.corrcoef(x[0], x[1]),
}


@pytest.mark.parametrize("name", COVARIANCES)
def test_covariances(name):
    check(COVARIANCES[name], X[0])


WRONG = [
    (lambda x: np.sum(x, axis=3), AxisError),
    (lambda x: np.sum(x, axis=(0, 0)), AxisError),
    (lambda x: np.sum(x, out=np.ones(3)), TraceError),
    (lambda x: np.max(x[:0]), ShapeError),
    (lambda x: np.argmax(x[:0]), ShapeError),
    (lambda x: np.max(x, where=x > 0), InputError),
    (lambda x: np.sum(x, where=np.ones((2, 3, 3), bool)), ShapeError),
    (lambda x: np.average(x, axis=0, weights=np.ones(7)), ShapeError),
    (lambda x: np.quantile(x, 2.0), InputError),
    (lambda x: np.quantile(x, x[0, 0]), NeedsValueError),
    (lambda x: np.quantile(x, 0.5, method="best"), InputError),  # pyright: ignore[reportArgumentType, reportCallIssue]
    (lambda x: np.cov(np.ones((2, 2, 2)) * x[0, 0]), ShapeError),
    (lambda x: np.cov(x, fweights=np.ones(7, int)), ShapeError),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_errors(case):
    f, kind = WRONG[case]
    with pytest.raises(kind) as caught:
        traced(f, np.ones((3, 3)))
    assert isinstance(caught.value, RicciError) and "test_reductions.py" in str(caught.value)
