"""Along one axis, in order: running sums, differences, gradients, convolutions, interpolation, polynomials."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check, traced

from ricci.errors import InputError, RicciError, ShapeError, TraceError
from ricci.tracing.basics import NeedsValueError

RNG = np.random.default_rng(2)
X = RNG.normal(size=(3, 4))
NODES = np.array([-1.0, -0.2, 0.5, 1.5])

RUNNING = {
    "cumsum": np.cumsum,
    "cumsum 0": lambda x: np.cumsum(x, axis=0),
    "cumsum -1": lambda x: np.cumsum(x, -1),
    "cumprod": np.cumprod,
    "cumprod 1": lambda x: np.cumprod(x, axis=1),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1),
    "cumulative_sum initial": lambda x: np.cumulative_sum(x, axis=0, include_initial=True),
    "cumulative_prod": lambda x: np.cumulative_prod(x, axis=-1, include_initial=True),
    "cumulative flat": lambda x: np.cumulative_sum(x[0]),
    "method": lambda x: x.cumsum(0) * x.cumprod(1),
    "diff": np.diff,
    "diff 0": lambda x: np.diff(x, axis=0),
    "diff twice": lambda x: np.diff(x, n=2),
    "diff none": lambda x: np.diff(x, n=0),
    "diff all": lambda x: np.diff(x, n=5, axis=0),
    "diff prepend": lambda x: np.diff(x, prepend=0.0, append=x[:, :2]),
    "diff append": lambda x: np.diff(x, axis=0, append=2.0, n=2),
    "ediff1d": np.ediff1d,
    "ediff1d ends": lambda x: np.ediff1d(x, to_begin=-1.0, to_end=np.array([1.0, 2.0])),
    "trapezoid": np.trapezoid,
    "trapezoid dx": lambda x: np.trapezoid(x, dx=0.5, axis=0),
    "trapezoid x": lambda x: np.trapezoid(x, NODES),
    "trapezoid x 0": lambda x: np.trapezoid(x, NODES[:3], axis=0),
    "trapezoid both": lambda x: np.trapezoid(x, x**2, axis=0),
    "gradient": np.gradient,
    "gradient axis": lambda x: np.gradient(x, axis=1),
    "gradient axes": lambda x: np.gradient(x, 0.5, 2.0, axis=(1, 0)),
    "gradient spacing": lambda x: np.gradient(x, 0.25),
    "gradient nodes": lambda x: np.gradient(x, NODES, axis=1),
    "gradient mixed": lambda x: np.gradient(x, 2.0, NODES),
    "gradient edges": lambda x: np.gradient(x, edge_order=2),
    "gradient edges nodes": lambda x: np.gradient(x, NODES, axis=-1, edge_order=2),
    "gradient short": lambda x: np.gradient(x[:2], axis=0),
    "unwrap": lambda x: np.unwrap(5 * x),
    "unwrap period": lambda x: np.unwrap(5 * x, axis=0, period=4.0, discont=2.5),
}


@pytest.mark.parametrize("name", RUNNING)
def test_of_one_array(name):
    check(RUNNING[name], X)


@pytest.mark.parametrize("shape", [(1,), (2,), (1, 1), (2, 1)], ids=str)
@pytest.mark.parametrize("f", [np.cumsum, np.cumprod, np.diff, np.ediff1d, np.trapezoid, np.unwrap])
def test_short_ones(f, shape):
    check(f, RNG.normal(size=shape))


def test_nothing_to_add_up():
    for f in (np.cumsum, np.cumprod, np.ediff1d, lambda x: np.cumulative_sum(x, include_initial=True)):
        check(f, np.zeros(0))


def test_truth_values_differ():
    check(np.diff, np.array([True, False, False, True]))
    check(lambda x: np.diff(x > 0), X)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [(5, 3), (3, 5), (4, 4), (5, 2), (2, 5), (1, 3), (1, 1)], ids=str)
@pytest.mark.parametrize("f", [np.convolve, np.correlate], ids=["convolve", "correlate"])
def test_convolutions(f, sizes, mode):
    a, v = [RNG.normal(size=n) for n in sizes]
    check(lambda a, v: f(a, v, mode=mode), a, v)


def test_convolutions_of_whole_numbers():
    check(np.convolve, np.arange(4), np.array([1, -1], dtype=np.int32))
    check(lambda a: np.convolve(a, [0.5, 0.5], "same"), np.arange(4.0))


def test_differentiated_by_the_nodes():
    check(np.trapezoid, X[0], NODES)
    check(lambda y, x: np.gradient(y, x, edge_order=2), X[0], NODES)
    check(np.gradient, X[0], np.asarray(0.5))


AT = np.array([[-3.0, -0.9, 0.1], [0.4, 1.4, 2.0]])
INTERP = {
    "plain": lambda x, fp: np.interp(x, NODES, fp),
    "ends": lambda x, fp: np.interp(x, NODES, fp, left=-1.0, right=5.0),
    "period": lambda x, fp: np.interp(x, NODES, fp, period=2.7),
    "period unordered": lambda x, fp: np.interp(x, NODES[::-1] * 2.95, fp, period=2.0),
    "one node": lambda x, fp: np.interp(x, NODES[:1], fp[:1], right=2.0),
    "two nodes": lambda x, fp: np.interp(x, NODES[1:3], fp[:2]),
    "scalar": lambda x, fp: np.interp(x[1, 0], NODES, fp),
}


@pytest.mark.parametrize("name", INTERP)
def test_interp(name):
    check(INTERP[name], AT, X[0])


def test_interp_at_and_by_the_nodes():
    check(lambda x: np.interp(x, NODES, X[0]), NODES, order=0)
    check(lambda xp, fp: np.interp([-2.0, 0.0, 1.0], xp, fp), NODES, X[0])


POLYNOMIALS = {
    "polyval": (np.polyval, X[0], X[1]),
    "polyval matrix": (np.polyval, X[0, :2], X),
    "polyval one": (np.polyval, X[0, :1], X[0]),
    "polyval none": (np.polyval, np.zeros(0), X[0]),
    "polyval number": (lambda p, x: np.polyval(p, 2.0) + x, X[0], X[0]),
    "polyval list": (lambda p, x: np.polyval([1.0, 2.0, 3.0], x) * p, X[0], X[0]),
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    f, *arrays = POLYNOMIALS[name]
    check(f, *arrays)


@pytest.mark.parametrize("more", [{}, {"minlength": 6}, {"minlength": 1}], ids=str)
def test_bincount(more):
    check(lambda w: np.bincount(np.array([0, 2, 2, 1]), w, **more), X[0])


WRONG = [
    (lambda x: np.cumulative_sum(x, axis=None), InputError),
    (lambda x: np.cumsum(x, out=np.ones(3)), TraceError),
    (lambda x: np.diff(x, n=-1), InputError),
    (lambda x: np.gradient(x, 1.0, 2.0, 3.0), InputError),
    (lambda x: np.gradient(x, edge_order=3), InputError),  # pyright: ignore[reportArgumentType, reportCallIssue]
    (lambda x: np.gradient(x, np.ones(7), axis=0), ShapeError),
    (lambda x: np.gradient(x[:1]), ShapeError),
    (lambda x: np.convolve(x, x), ShapeError),
    (lambda x: np.convolve(x[0], x[0], mode="best"), InputError),  # pyright: ignore[reportArgumentType, reportCallIssue]
    (lambda x: np.convolve(x[0], x[0, :0]), ShapeError),
    (lambda x: np.bincount(x[0], x[0]), NeedsValueError),
    (lambda x: np.bincount([0, 1], x[0]), ShapeError),
    (lambda x: np.interp(x, NODES, x[0]), ShapeError),
    (lambda x: np.polyval(x, x), ShapeError),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_errors(case):
    f, kind = WRONG[case]
    with pytest.raises(kind) as caught:
        traced(f, np.ones((3, 3)))
    assert isinstance(caught.value, RicciError) and "test_sequences.py" in str(caught.value)
