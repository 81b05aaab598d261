"""The reductions that leave NaN out: those of the other module, with a mask."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.expr import Expr
from ricci.functions import elementwise as e
from ricci.functions import reductions as r
from ricci.tracing.arguments import Axes, Mask, OneAxis, Type
from ricci.tracing.array import Traced
from ricci.tracing.basics import BOOL, pointwise
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.over_axes import masked, mean, moment, not_nan, reduce, reduction
from ricci.tracing.rows.sequences import running
from ricci.tracing.rows.ufuncs import UFUNCS


def _numbers(x: Traced, named: Traced | None = None) -> Traced | None:
    """The entries that are numbers, and among those the named ones."""
    if x.dtype.kind != "f":
        return named
    numbers = not_nan(x)
    return numbers if named is None else pointwise(UFUNCS[np.logical_and], numbers, named, dtype=BOOL)


reduction(np.add, np.nansum, chosen=_numbers, group="without_nans")
reduction(np.multiply, np.nanprod, chosen=_numbers, group="without_nans")
moment(np.nanvar, lambda v: v, chosen=_numbers, group="without_nans")
moment(np.nanstd, e.sqrt, chosen=_numbers, group="without_nans")


def _extremes(function: Any, ufunc: np.ufunc, worst: float) -> None:
    """NaN counts as the worst; where nothing else is there, the result is NaN."""

    def lower(x: Traced, axis: Axes, initial: Any = None, where: Mask = None) -> Traced:
        if x.dtype.kind != "f":
            return reduce(ufunc, x, axis, None, initial, where)
        mask = not_nan(x)
        best = reduce(ufunc, masked(x, mask, worst), axis, None, initial, where)
        if initial is not None:
            return best
        some = reduce(np.logical_or, mask, axis)
        return pointwise(lambda s, b: e.where(s, b, math.nan), some, best, dtype=x.dtype)

    lowers(function)(lower)


_extremes(np.nanmax, np.maximum, -math.inf)
_extremes(np.nanmin, np.minimum, math.inf)


@lowers(np.nanmean)
def nanmean(x: Traced, axis: Axes, dtype: Type = None, where: Mask = None) -> Traced:
    return mean(x, axis, dtype, _numbers(x, where))


def _running(function: Any, over: Callable[[Expr, int], Expr], neutral: int) -> None:
    def lower(x: Traced, axis: OneAxis, dtype: Type = None) -> Traced:
        return running(masked(x, _numbers(x), neutral), axis, dtype, over)

    lowers(function)(lower)


_running(np.nancumsum, r.cumsum, 0)
_running(np.nancumprod, r.cumprod, 1)
