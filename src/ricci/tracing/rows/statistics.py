"""Quantiles and covariances.

A quantile is a point between two neighbours of the sorted entries. Where it lies between them does not depend on the
values, only on how many there are: NumPy itself, asked for the quantile of ``0, 1, 2, …``, tells the place, for each of
its methods. With NaN left out the number is not known before, and then each sorted entry has a weight, the hat
function ``max(0, 1 - |place - k|)``.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ricci.errors import InputError, ShapeError
from ricci.expr import Expr, add, constant, moving, one_hot, product
from ricci.expr.moving import everywhere
from ricci.functions import elementwise as e
from ricci.functions import reductions as r
from ricci.functions.axes import last
from ricci.functions.complexes import real
from ricci.tracing.arguments import Axes, Known, Type
from ricci.tracing.array import Traced
from ricci.tracing.basics import FLOAT, fresh, lift, like
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.along import Array, flat, joined, with_axes
from ricci.tracing.rows.contractions import conjugate, contraction
from ricci.tracing.rows.over_axes import average, masked, not_nan
from ricci.tracing.rows.ufuncs import is_nan

# Quantiles


def _between(x: Traced, places: np.ndarray, dtype: np.dtype) -> Expr:
    """The entries of sorted rows at ``places``, which may lie between two of them; NaN where a row has one."""
    rows = r.sort(x.expr, x.ndim - 1)
    n, rest, lead = x.shape[-1], tuple(range(x.ndim - 1)), tuple([("q", k) for k in range(places.ndim)])
    low = np.floor(places).astype(np.int64)
    terms = []
    for shift, weights in ((0, 1 - (places - low)), (1, places - low)):
        if not np.any(weights):
            continue
        if places.ndim == 0:
            terms.append((float(weights), moving.entry(rows, x.ndim - 1, int(low) + shift)))
        else:
            index = lift(np.minimum(low + shift, n - 1))
            hot, w = one_hot(index.expr, n), lift(weights.astype(dtype))
            factors = [(rows, (*rest, "n")), (hot, (*lead, "n")), (w.expr, lead)]
            terms.append((1, product(factors, (*lead, *rest))))
    found = add(terms)
    if x.dtype.kind != "f":
        return found
    bad = is_nan(moving.entry(rows, x.ndim - 1, n - 1))
    spread = product([(bad, rest)], (*lead, *rest), dict(zip(lead, places.shape, strict=True)))
    return e.where(spread, math.nan, found)


def _quantile(x: Traced, q: Any, axes: Axes, method: str, function: Any) -> Traced:
    """``function`` is the one of NumPy's that says where the quantile lies and of which type it is."""
    rows = like(x, last(x.expr, axes))
    try:
        places = np.asarray(function(np.arange(max(rows.shape[-1], 1), dtype=float), q, method=method))
        dtype = np.asarray(function(np.zeros(2, x.dtype), q, method=method)).dtype
    except ValueError as error:
        raise InputError(f"np.{function.__name__}: {error}") from None
    if not rows.shape[-1]:
        return fresh(everywhere(math.nan, (*places.shape, *rows.shape[:-1])), dtype)
    return fresh(_between(rows, places, dtype), dtype)


def _quantiles(function: Any, nan_function: Any, whole: int) -> None:
    def lower(x: Traced, q: Known, axis: Axes, method: str = "linear") -> Traced:
        return _quantile(x, q if q.ndim else q.item(), axis, method, function)

    def without_nan(x: Traced, q: Known, axis: Axes) -> Traced:
        return _nan_quantile(x, q / whole, axis)

    lowers(function)(lower)
    lowers(nan_function, note="method='linear'")(without_nan)


_quantiles(np.quantile, np.nanquantile, 1)
_quantiles(np.percentile, np.nanpercentile, 100)


@lowers(np.median)
def median(x: Traced, axis: Axes) -> Traced:
    return _quantile(x, 0.5, axis, "linear", lambda rows, q, method: np.median(rows))


@lowers(np.nanmedian)
def nanmedian(x: Traced, axis: Axes) -> Traced:
    return _nan_quantile(x, np.asarray(0.5), axis)


def _nan_quantile(x: Traced, q: np.ndarray, axes: Axes) -> Traced:
    """Every number has the weight of the hat function around the place; NaN, sorted last, is left out."""
    rows = like(x, last(x.expr, axes))
    dtype = x.dtype if x.dtype.kind == "f" else FLOAT
    n, rest, lead = rows.shape[-1], tuple(range(rows.ndim - 1)), tuple([("q", k) for k in range(q.ndim)])
    if not n:
        return fresh(everywhere(math.nan, (*q.shape, *rows.shape[:-1])), dtype)
    everything = (*lead, *rest, "n")
    sizes = {**dict(zip(lead, q.shape, strict=True)), **dict(enumerate(rows.shape[:-1])), "n": n}
    count = r.sum_(not_nan(rows).expr, (rows.ndim - 1,))
    shares = lift(q.astype(dtype)).expr if q.ndim else constant(float(q))
    at = product([(shares, lead), (count - 1, rest)], everything, sizes)
    k = product([(lift(np.arange(n)).expr, ("n",))], everything, sizes)
    hat = e.maximum(1 - e.abs_(at - k), 0)
    ordered = like(rows, r.sort(rows.expr, rows.ndim - 1))
    numbers = masked(ordered, not_nan(ordered), 0).expr
    spread = product([(numbers, (*rest, "n"))], everything, sizes)
    near = e.where(e.equal(hat, 0), 0, spread)  # what has no weight may be infinite
    found = product([(hat, everything), (near, everything)], (*lead, *rest))
    none = product([(e.equal(count, 0), rest)], (*lead, *rest), sizes)
    return fresh(e.where(none, math.nan, found), dtype)


# Covariances


@lowers(np.cov)
def cov(
    m: Traced,
    y: Traced | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Traced | None = None,
    aweights: Traced | None = None,
    dtype: Type = None,
) -> Traced:
    """``(x[i,k] - mean[i]) w[k] (x[j,k] - mean[j])``, over the number of observations less ``ddof``."""
    x: Array = _observations(m, rowvar)
    if y is not None:
        x = joined([x, _observations(y, rowvar)], 0)
    weights: list[Array] = [w for w in (fweights, aweights) if w is not None]
    for w in weights:
        if w.shape != x.shape[1:]:
            raise ShapeError(f"np.cov: there are {x.shape[1]} observations, and weights of the shape {w.shape}.")
    ddof = int(not bias) if ddof is None else ddof
    w = None if not weights else weights[0] if len(weights) == 1 else weights[0] * weights[1]
    found = np.result_type(x.dtype, np.float64) if dtype is None else dtype
    centre = average(x, (1,), w)
    assert isinstance(centre, Traced)
    away = x - with_axes(centre, 1)
    factors = [(away, "ik"), (conjugate(away), "jk"), *([] if w is None else [(w, "k")])]
    sums = contraction("np.cov", factors, "ij", found)
    result = like(sums, sums.expr / _observed(x.shape[1], w, aweights, ddof))
    return like(result, product([(result.expr, "ij")], "")) if result.shape == (1, 1) else result


def _observations(x: Traced, rowvar: bool) -> Traced:
    """A matrix with a variable in each row."""
    if x.ndim > 2:
        raise ShapeError(f"Observations have at most two axes; here the shape is {x.shape}.")
    if x.ndim < 2:
        return with_axes(flat(x), 0)
    return x if rowvar or x.shape[0] == 1 else like(x, moving.transposed(x.expr, (1, 0)))


def _observed(n: int, w: Array, aweights: Any, ddof: int) -> Expr:
    """What the sum of the products is divided by."""
    if w is None:
        return constant(max(n - ddof, 0))
    whole = r.sum_(w.expr)
    if ddof == 0:
        return whole
    if aweights is None:
        return whole - ddof
    return whole - ddof * r.sum_((w * aweights).expr) / whole


@lowers(np.corrcoef)
def corrcoef(x: Traced, y: Traced | None = None, rowvar: bool = True, dtype: Type = None) -> Traced:
    """``c[i,j] / sqrt(c[i,i] c[j,j])``."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return like(c, c.expr / c.expr)
    scale = real(product([(c.expr, "ii")], "i")) ** Fraction(-1, 2)
    return like(c, product([(c.expr, "ij"), (scale, "i"), (scale, "j")], "ij"))
