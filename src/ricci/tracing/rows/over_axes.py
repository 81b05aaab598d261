"""Reductions over axes. A sum is a product that leaves its labels out, so ``np.sum(a * b)`` is one contraction.

A reduction is a ufunc of two operands applied to all: ``np.sum`` is ``np.add.reduce``. One table has them; the ufunc
gives the neutral element, which stands for what ``where`` leaves out, and the type of the result. Means and variances
are sums of powers. The functions that ignore NaN are the same ones with NaN left out by ``where``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci.errors import InputError, ShapeError
from ricci.expr import Expr, constant, product, zero
from ricci.functions import elementwise as e
from ricci.functions import reductions as r
from ricci.tracing.array import Traced, fresh
from ricci.tracing.basics import (
    BOOL,
    FLOAT,
    INT,
    Axis,
    broadcast_shape,
    expanded,
    kept_as_ones,
    lift,
    like,
    normal_axes,
    pointwise,
    refuse,
    total,
)
from ricci.tracing.rows.along import along_one, converted, everywhere, places
from ricci.tracing.rows.ufuncs import UFUNCS, is_nan, isclose
from ricci.tracing.table import lowers

NONE: Any = np._NoValue  # NumPy's mark of an argument that was not given
Over = Callable[[Expr, Sequence[int]], Expr]

REDUCED: dict[np.ufunc, Over] = {
    np.add: r.sum_,
    np.multiply: r.prod,
    np.maximum: r.max_,
    np.minimum: r.min_,
    np.logaddexp: r.logsumexp,
    np.logical_and: r.all_,
    np.logical_or: r.any_,
}


def given(value: Any) -> bool:
    """Whether an argument was given."""
    return value is not NONE and value is not None


def finished(x: Traced, axes: Sequence[int], order: int, keepdims: Any) -> Traced:
    """A result that lacks ``axes`` of ``order``, with these as axes of size 1 if asked."""
    return like(x, kept_as_ones(x.expr, axes, order)) if given(keepdims) and keepdims else x


def mask_of(x: Traced, where: Any) -> Traced | None:
    """The entries that take part, spread over the shape of ``x``; None where all do."""
    if not given(where) or where is True:
        return None
    mask = lift(where)
    if broadcast_shape(x.shape, mask.shape) != x.shape:
        raise ShapeError(f"where has the shape {mask.shape}, which does not broadcast to that of the array, {x.shape}.")
    return like(mask, expanded(mask.expr, x.shape))


def masked(x: Traced, mask: Traced | None, other: Any) -> Traced:
    """``x``, with ``other`` where the mask leaves entries out."""
    return x if mask is None else pointwise(e.where, mask, x, lift(other), dtype=x.dtype)


def reduce(
    ufunc: np.ufunc,
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: Any = NONE,
    initial: Any = NONE,
    where: Any = NONE,
) -> Traced:
    """A ufunc of two operands, applied to all entries along ``axis``."""
    x = lift(a)
    found = np.dtype(dtype) if dtype is not None else ufunc.reduce(np.ones(1, x.dtype)).dtype
    axes, mask = normal_axes(x, axis), mask_of(x, where)
    starts = given(initial)
    if ufunc.identity is None and mask is not None and not starts:
        raise InputError(f"np.{ufunc.__name__} has no neutral element: with where=, say what to start from, initial=….")
    x = masked(converted(x, dtype), mask, initial if ufunc.identity is None else ufunc.identity)
    rest = [x.shape[b] for b in range(x.ndim) if b not in axes]
    if ufunc.identity is None and not total([x.shape[b] for b in axes]):
        if not starts and total(rest):
            raise ShapeError(f"np.{ufunc.__name__} over no entries has no value; the array has the shape {x.shape}.")
        expr = everywhere(0, rest)
    else:
        expr = REDUCED[ufunc](x.expr, axes) if axes or found == BOOL else x.expr
    result = fresh(expr, found)
    if starts:
        empty = ufunc.identity is None and not total(x.shape)
        first = converted(lift(initial), found)
        result = pointwise((lambda v, s: s + v) if empty else UFUNCS[ufunc], result, first, dtype=found)
    return finished(result, axes, x.ndim, keepdims)


def _method(ufunc: np.ufunc) -> None:
    """The row of ``ufunc.reduce``, whose axis is the first unless said otherwise."""

    def lower(
        array: Any,
        axis: Axis = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = NONE,
        where: Any = True,
    ) -> Traced:
        refuse(f"np.{ufunc.__name__}.reduce", out=out)
        return reduce(ufunc, array, axis, dtype, keepdims, initial, where)

    lowers((ufunc, "reduce"))(lower)


for _ufunc in REDUCED:
    _method(_ufunc)


def _typed(ufunc: np.ufunc, *names: Any) -> None:
    """Sums and products, which have a type to compute in."""

    def lower(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = NONE,
        initial: Any = NONE,
        where: Any = NONE,
    ) -> Traced:
        refuse(f"np.{names[0].__name__}", out=out)
        return reduce(ufunc, a, axis, dtype, keepdims, initial, where)

    lowers(*names)(lower)


def _untyped(ufunc: np.ufunc, *names: Any) -> None:
    """Extremes."""

    def lower(
        a: Any, axis: Axis = None, out: Any = None, keepdims: Any = NONE, initial: Any = NONE, where: Any = NONE
    ) -> Traced:
        refuse(f"np.{names[0].__name__}", out=out)
        return reduce(ufunc, a, axis, None, keepdims, initial, where)

    lowers(*names)(lower)


def _truth(ufunc: np.ufunc, name: Any) -> None:
    """Whether all are true, or any."""

    def lower(a: Any, axis: Axis = None, out: Any = None, keepdims: Any = NONE, *, where: Any = NONE) -> Traced:
        refuse(f"np.{name.__name__}", out=out)
        return reduce(ufunc, a, axis, None, keepdims, NONE, where)

    lowers(name)(lower)


_typed(np.add, np.sum)
_typed(np.multiply, np.prod)
_untyped(np.maximum, np.max, np.amax)
_untyped(np.minimum, np.min, np.amin)
_truth(np.logical_and, np.all)
_truth(np.logical_or, np.any)


@lowers(np.ptp)
def ptp(a: Any, axis: Axis = None, out: Any = None, keepdims: Any = NONE) -> Traced:
    refuse("np.ptp", out=out)
    x = lift(a)
    high, low = reduce(np.maximum, x, axis, None, keepdims), reduce(np.minimum, x, axis, None, keepdims)
    return like(x, high.expr - low.expr)


@lowers(np.count_nonzero)
def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> Traced:
    return reduce(np.add, converted(lift(a), BOOL), axis, INT, keepdims)


# Means and variances


def _count(x: Traced, mask: Traced | None, axes: Sequence[int]) -> Expr:
    """How many entries along ``axes`` take part."""
    return constant(total([x.shape[b] for b in axes])) if mask is None else r.sum_(mask.expr, axes)


def _divided(sums: Expr, count: Expr) -> Expr:
    """A mean; that of no numbers is NaN."""
    if count is constant(0):
        return everywhere(math.nan, sums.shape)
    return sums / count


def _spread(expr: Expr, axes: Sequence[int], shape: tuple[int, ...]) -> Expr:
    """A result that lacks ``axes`` of ``shape``, the same all along them."""
    rest = [a for a in range(len(shape)) if a not in axes]
    return product([(expr, rest)], range(len(shape)), dict(enumerate(shape)))


def _mean_type(x: Traced, dtype: Any) -> np.dtype:
    return np.dtype(dtype) if dtype is not None else x.dtype if x.dtype.kind == "f" else FLOAT


def mean_of(x: Traced, axes: Sequence[int], mask: Traced | None) -> Expr:
    return _divided(r.sum_(masked(x, mask, 0).expr, axes), _count(x, mask, axes))


@lowers(np.mean)
def mean(
    a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: Any = NONE, *, where: Any = NONE
) -> Traced:
    refuse("np.mean", out=out)
    x = lift(a)
    axes = normal_axes(x, axis)
    result = fresh(mean_of(x, axes, mask_of(x, where)), _mean_type(x, dtype))
    return finished(result, axes, x.ndim, keepdims)


def variance(x: Traced, axes: Sequence[int], mask: Traced | None, ddof: Any, middle: Expr | None) -> Expr:
    """The squared distances from the mean, summed, over the number of entries less ``ddof``.

    What the mask leaves out is 0 before anything is computed from it, so that NaN there stays out of derivatives too.
    An entry alone is its own mean wherever it moves, so the variance is 0, and so is the derivative of its root.
    """
    if mask is None and middle is None and ddof < 1 and total([x.shape[a] for a in axes]) == 1:
        return zero(tuple([size for a, size in enumerate(x.shape) if a not in axes]))
    x = masked(x, mask, 0)
    away = x.expr - (_spread(mean_of(x, axes, mask), axes, x.shape) if middle is None else middle)
    kept = away if mask is None else e.where(mask.expr, away, 0)
    count, sums = _count(x, mask, axes), r.sum_(kept**2, axes)
    return _divided(sums, count) if count is constant(0) else sums / e.maximum(count - constant(ddof), 0)


def _moments(name: Any, finish: Callable[[Expr], Expr]) -> None:
    def lower(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = NONE,
        *,
        where: Any = NONE,
        mean: Any = NONE,
        correction: Any = NONE,
    ) -> Traced:
        whole = dtype is not None and np.dtype(dtype).kind != "f"  # NumPy rounds each step on the way to it
        refuse(f"np.{name.__name__}", out=out, dtype=dtype if whole else None)
        x = lift(a)
        axes = normal_axes(x, axis)
        middle = expanded(lift(mean).expr, x.shape) if given(mean) else None
        expr = finish(variance(x, axes, mask_of(x, where), correction if given(correction) else ddof, middle))
        return finished(fresh(expr, _mean_type(x, dtype)), axes, x.ndim, keepdims)

    lowers(name)(lower)


_moments(np.var, lambda v: v)
_moments(np.std, e.sqrt)


@lowers(np.average)
def average(
    a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NONE
) -> Traced | tuple[Traced, Traced]:
    """``a[i,j] w[j] / (1[j] w[j])``."""
    x = lift(a)
    axes = normal_axes(x, axis)
    if weights is None:
        result = mean(x, axes, keepdims=keepdims)
        count = everywhere(total([x.shape[b] for b in axes]), result.shape)
        return (result, like(result, count)) if returned else result
    w = lift(weights)
    labels = range(x.ndim) if w.shape == x.shape else axes
    if w.shape != tuple([x.shape[b] for b in labels]):
        raise ShapeError(f"np.average: the weights have the shape {w.shape}, the array {x.shape}, the axes are {axes}.")
    rest = [b for b in range(x.ndim) if b not in axes]
    dtype = np.result_type(x.dtype, w.dtype, *([FLOAT] if x.dtype.kind in "biu" else []))
    sums = product([(w.expr, labels)], rest, {b: x.shape[b] for b in rest})
    expr = product([(x.expr, range(x.ndim)), (w.expr, labels)], rest) / sums
    result = finished(fresh(expr, dtype), axes, x.ndim, keepdims)
    return (result, finished(fresh(sums, dtype), axes, x.ndim, keepdims)) if returned else result


# Places, which are whole numbers


def _position(name: Any, over: Over, worst: float, ignores_nan: bool) -> None:
    def lower(a: Any, axis: int | None = None, out: Any = None, *, keepdims: Any = NONE) -> Traced:
        refuse(f"np.{name.__name__}", out=out)
        x = lift(a)
        if ignores_nan and x.dtype.kind == "f":
            x = masked(x, not_nan(x), worst)
        row, along = along_one(x, axis)
        if not row.shape[along]:
            raise ShapeError(f"np.{name.__name__} of no entries has no value; the array has the shape {x.shape}.")
        return finished(places(over(row.expr, (along,))), normal_axes(x, axis), x.ndim, keepdims)

    lowers(name)(lower)


def not_nan(x: Traced) -> Traced:
    return pointwise(lambda v: 1 - is_nan(v), x, dtype=BOOL)


_position(np.argmax, r.argmax, -math.inf, False)
_position(np.argmin, r.argmin, math.inf, False)
_position(np.nanargmax, r.argmax, -math.inf, True)
_position(np.nanargmin, r.argmin, math.inf, True)


# Comparisons of whole arrays


@lowers(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Traced:
    return reduce(np.logical_and, isclose(a, b, rtol, atol, equal_nan))


@lowers(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Traced:
    a, b = lift(a1), lift(a2)
    if a.shape != b.shape:
        return fresh(constant(0), BOOL)
    return reduce(np.logical_and, pointwise(lambda x, y: _same(x, y, equal_nan), a, b, dtype=BOOL))


@lowers(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Traced:
    return reduce(np.logical_and, pointwise(e.equal, lift(a1), lift(a2), dtype=BOOL))


def _same(x: Expr, y: Expr, equal_nan: bool) -> Expr:
    return e.maximum(e.equal(x, y), is_nan(x) * is_nan(y)) if equal_nan else e.equal(x, y)
