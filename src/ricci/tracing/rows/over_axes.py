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

from ricci.caches import once
from ricci.errors import InputError, ShapeError, TraceError
from ricci.expr import Expr, broadcast, constant, product, zero
from ricci.expr.moving import everywhere, expanded
from ricci.functions import elementwise as e
from ricci.functions import reductions as r
from ricci.functions.complexes import abs2
from ricci.tracing.arguments import Axes, Mask, OneAxis, Type
from ricci.tracing.array import Traced
from ricci.tracing.basics import BOOL, FLOAT, INT, fresh, lift, like, pointwise, real_type
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.along import converted, places
from ricci.tracing.rows.ufuncs import UFUNCS, is_nan, isclose

Over = Callable[[Expr, Sequence[int]], Expr]

REDUCED: dict[np.ufunc, tuple[Over, tuple[Any, ...]]] = {  # how, and the functions that do it
    np.add: (r.sum_, (np.sum,)),
    np.multiply: (r.prod, (np.prod,)),
    np.maximum: (r.max_, (np.max, np.amax)),
    np.minimum: (r.min_, (np.min, np.amin)),
    np.logaddexp: (r.logsumexp, ()),
    np.logical_and: (r.all_, (np.all,)),
    np.logical_or: (r.any_, (np.any,)),
}


def masked(x: Traced, mask: Traced | None, other: Any) -> Traced:
    """``x``, with ``other`` where the mask leaves entries out."""
    return x if mask is None else pointwise(e.where, mask, x, lift(other), dtype=x.dtype)


def sizes(x: Traced, axes: Sequence[int]) -> int:
    """How many entries there are along axes."""
    return math.prod([x.shape[a] for a in axes])


@once
def reduced_type(ufunc: np.ufunc, dtype: np.dtype) -> np.dtype:
    return ufunc.reduce(np.ones(1, dtype)).dtype


def reduce(
    ufunc: np.ufunc, x: Traced, axes: Sequence[int], dtype: Any = None, initial: Any = None, mask: Mask = None
) -> Traced:
    """A ufunc of two operands, applied to all entries along ``axes``, those that the mask leaves in."""
    found = dtype if dtype is not None else reduced_type(ufunc, x.dtype)
    if found == BOOL and x.expr.complex:
        x = converted(x, BOOL)
    if ufunc.identity is None and mask is not None and initial is None:
        raise InputError(f"np.{ufunc.__name__} has no neutral element: with where=, say what to start from, initial=….")
    x = masked(converted(x, dtype), mask, initial if ufunc.identity is None else ufunc.identity)
    rest = [x.shape[b] for b in range(x.ndim) if b not in axes]
    if ufunc.identity is None and not sizes(x, axes):
        if initial is None and math.prod(rest):
            raise ShapeError(f"np.{ufunc.__name__} over no entries has no value; the array has the shape {x.shape}.")
        expr = everywhere(0, rest)
    else:
        expr = REDUCED[ufunc][0](x.expr, axes) if axes or found == BOOL else x.expr
    result = fresh(expr, found)
    if initial is None:
        return result
    empty = ufunc.identity is None and not x.size
    return pointwise(
        (lambda v, s: s + v) if empty else UFUNCS[ufunc], result, converted(lift(initial), found), dtype=found
    )


Chosen = Callable[[Traced, Traced | None], Traced | None]  # which of the entries that ``where`` names take part


def _named(x: Traced, mask: Traced | None) -> Traced | None:
    return mask


def reduction(ufunc: np.ufunc, *functions: Any, chosen: Chosen = _named, group: str = "over_axes") -> None:
    """Rows for functions that reduce by a ufunc."""

    def lower(x: Traced, axis: Axes, dtype: Type = None, initial: Any = None, where: Mask = None) -> Traced:
        return reduce(ufunc, x, axis, dtype, initial, chosen(x, where))

    lowers(*functions, group=group)(lower)


for _ufunc, (_, _functions) in REDUCED.items():
    reduction(_ufunc, (_ufunc, "reduce"), *_functions)


@lowers(np.ptp)
def ptp(x: Traced, axis: Axes) -> Traced:
    return like(x, reduce(np.maximum, x, axis).expr - reduce(np.minimum, x, axis).expr)


@lowers(np.count_nonzero)
def count_nonzero(x: Traced, axis: Axes) -> Traced:
    return reduce(np.add, converted(x, BOOL), axis, INT)


# Means and variances


def _count(x: Traced, mask: Traced | None, axes: Sequence[int]) -> Expr:
    """How many entries along ``axes`` take part."""
    return constant(sizes(x, axes)) if mask is None else r.sum_(mask.expr, axes)


def _divided(sums: Expr, count: Expr) -> Expr:
    """A mean; that of no numbers is NaN."""
    return everywhere(math.nan, sums.shape) if count is constant(0) else sums / count


def _mean_type(x: Traced, dtype: np.dtype | None) -> np.dtype:
    return dtype if dtype is not None else x.dtype if x.dtype.kind in "fc" else FLOAT


def mean_of(x: Traced, axes: Sequence[int], mask: Traced | None) -> Expr:
    return _divided(r.sum_(masked(x, mask, 0).expr, axes), _count(x, mask, axes))


@lowers(np.mean)
def mean(x: Traced, axis: Axes, dtype: Type = None, where: Mask = None) -> Traced:
    return fresh(mean_of(x, axis, where), _mean_type(x, dtype))


def variance(x: Traced, axes: Sequence[int], mask: Traced | None, ddof: Any, middle: Expr | None) -> Expr:
    """The squared distances from the mean, summed, over the number of entries less ``ddof``.

    What the mask leaves out is 0 before anything is computed from it, so that NaN there stays out of derivatives too.
    An entry alone is its own mean wherever it moves, so the variance is 0, and so is the derivative of its root.
    """
    rest = [a for a in range(x.ndim) if a not in axes]
    if mask is None and middle is None and ddof < 1 and sizes(x, axes) == 1:
        return zero(tuple([x.shape[a] for a in rest]))
    x = masked(x, mask, 0)
    away = x.expr - (broadcast(mean_of(x, axes, mask), rest, x.shape) if middle is None else middle)
    kept = away if mask is None else e.where(mask.expr, away, 0)
    count, sums = _count(x, mask, axes), r.sum_(abs2(kept), axes)
    return _divided(sums, count) if count is constant(0) else sums / e.maximum(count - constant(ddof), 0)


def moment(function: Any, finish: Callable[[Expr], Expr], chosen: Chosen = _named, group: str = "over_axes") -> None:
    """A row for a variance, or for what ``finish`` makes of it."""

    def lower(
        x: Traced,
        axis: Axes,
        dtype: Type = None,
        ddof: Any = 0,
        where: Mask = None,
        mean: Traced | None = None,
        correction: Any = None,
    ) -> Traced:
        if dtype is not None and dtype.kind != "f":  # NumPy rounds each step on the way to it
            raise TraceError(f"np.{function.__name__}: leave out dtype={str(dtype)!r}: floating types are traced.")
        middle = None if mean is None else expanded(mean.expr, x.shape)
        found = variance(x, axis, chosen(x, where), ddof if correction is None else correction, middle)
        return fresh(finish(found), real_type(_mean_type(x, dtype)))

    lowers(function, group=group)(lower)


moment(np.var, lambda v: v)
moment(np.std, e.sqrt)


@lowers(np.average)
def average(
    x: Traced, axis: Axes, weights: Traced | None = None, returned: bool = False
) -> Traced | tuple[Traced, Traced]:
    """``a[i,j] w[j] / (1[j] w[j])``."""
    if weights is None:
        result = mean(x, axis)
        return (result, like(result, everywhere(sizes(x, axis), result.shape))) if returned else result
    labels = range(x.ndim) if weights.shape == x.shape else axis
    if weights.shape != tuple([x.shape[b] for b in labels]):
        raise ShapeError(
            f"np.average: the weights have the shape {weights.shape}, the array {x.shape}, the axes are {axis}."
        )
    rest = [b for b in range(x.ndim) if b not in axis]
    dtype = np.result_type(x.dtype, weights.dtype, *([FLOAT] if x.dtype.kind in "biu" else []))
    sums = product([(weights.expr, labels)], rest, {b: x.shape[b] for b in rest})
    found = fresh(product([(x.expr, range(x.ndim)), (weights.expr, labels)], rest) / sums, dtype)
    return (found, fresh(sums, dtype)) if returned else found


# Places, which are whole numbers


def not_nan(x: Traced) -> Traced:
    return pointwise(lambda v: 1 - is_nan(v), x, dtype=BOOL)


def _position(function: Any, over: Over, worst: float | None = None) -> None:
    """A row for the place of the best entry; ``worst`` stands for NaN, where that is ignored."""

    def lower(x: Traced, axis: OneAxis) -> Traced:
        if not x.shape[axis]:
            raise ShapeError(f"np.{function.__name__} of no entries has no value; the array has the shape {x.shape}.")
        ignored = worst is not None and x.dtype.kind == "f"
        return places(over((masked(x, not_nan(x), worst) if ignored else x).expr, (axis,)))

    lowers(function)(lower)


_position(np.argmax, r.argmax)
_position(np.argmin, r.argmin)
_position(np.nanargmax, r.argmax, -math.inf)
_position(np.nanargmin, r.argmin, math.inf)


# Comparisons of whole arrays


def _all(x: Traced) -> Traced:
    return reduce(np.logical_and, x, range(x.ndim))


@lowers(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Traced:
    return _all(isclose(a, b, rtol, atol, equal_nan))


@lowers(np.array_equal)
def array_equal(a1: Traced, a2: Traced, equal_nan: bool = False) -> Traced:
    if a1.shape != a2.shape:
        return fresh(constant(0), BOOL)
    return _all(pointwise(lambda x, y: _same(x, y, equal_nan), a1, a2, dtype=BOOL))


@lowers(np.array_equiv)
def array_equiv(a1: Traced, a2: Traced) -> Traced:
    return _all(pointwise(e.equal, a1, a2, dtype=BOOL))


def _same(x: Expr, y: Expr, equal_nan: bool) -> Expr:
    return e.maximum(e.equal(x, y), is_nan(x) * is_nan(y)) if equal_nan else e.equal(x, y)
