"""The reductions that leave NaN out: those of the other module, with a mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ricci.functions import elementwise as e
from ricci.tracing.array import Traced
from ricci.tracing.basics import BOOL, Axis, lift, pointwise, refuse
from ricci.tracing.rows.over_axes import NONE, given, mask_of, masked, mean, not_nan, reduce
from ricci.tracing.rows.sequences import cumprod, cumsum
from ricci.tracing.rows.ufuncs import UFUNCS
from ricci.tracing.table import TABLE, lowers


def _mask(x: Traced, where: Any) -> Traced | None:
    """The entries that are numbers, and among those that ``where`` names."""
    named = mask_of(x, where)
    if x.dtype.kind != "f":
        return named
    numbers = not_nan(x)
    return numbers if named is None else pointwise(UFUNCS[np.logical_and], numbers, named, dtype=BOOL)


def _sums(name: Any, ufunc: np.ufunc) -> None:
    def lower(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = NONE,
        initial: Any = NONE,
        where: Any = NONE,
    ) -> Traced:
        refuse(f"np.{name.__name__}", out=out)
        x = lift(a)
        return reduce(ufunc, x, axis, dtype, keepdims, initial, _mask(x, where))

    lowers(name)(lower)


_sums(np.nansum, np.add)
_sums(np.nanprod, np.multiply)


def _extremes(name: Any, ufunc: np.ufunc, worst: float) -> None:
    """NaN counts as the worst; where nothing else is there, the result is NaN."""

    def lower(
        a: Any, axis: Axis = None, out: Any = None, keepdims: Any = NONE, initial: Any = NONE, where: Any = NONE
    ) -> Traced:
        refuse(f"np.{name.__name__}", out=out)
        x = lift(a)
        if x.dtype.kind != "f":
            return reduce(ufunc, x, axis, None, keepdims, initial, where)
        mask = not_nan(x)
        best = reduce(ufunc, masked(x, mask, worst), axis, None, keepdims, initial, where)
        if given(initial):
            return best
        some = reduce(np.logical_or, mask, axis, None, keepdims)
        return pointwise(lambda s, b: e.where(s, b, math.nan), some, best, dtype=x.dtype)

    lowers(name)(lower)


_extremes(np.nanmax, np.maximum, -math.inf)
_extremes(np.nanmin, np.minimum, math.inf)


@lowers(np.nanmean)
def nanmean(
    a: Any, axis: Axis = None, dtype: Any = None, out: Any = None, keepdims: Any = NONE, *, where: Any = NONE
) -> Traced:
    x = lift(a)
    return mean(x, axis, dtype, out, keepdims, where=_mask(x, where))


def _moments(name: Any, plain: Any) -> None:
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
        x = lift(a)
        more = {"where": _mask(x, where), "mean": mean, "correction": correction}
        return TABLE[plain].lower(x, axis, dtype, out, ddof, keepdims, **more)

    lowers(name)(lower)


_moments(np.nanvar, np.var)
_moments(np.nanstd, np.std)


def _running(name: Any, plain: Any, neutral: int) -> None:
    def lower(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Traced:
        x = lift(a)
        return plain(masked(x, _mask(x, NONE), neutral), axis, dtype, out)

    lowers(name)(lower)


_running(np.nancumsum, cumsum, 0)
_running(np.nancumprod, cumprod, 1)
