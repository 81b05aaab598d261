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
from ricci.expr import Expr, add, constant, one_hot, place, product
from ricci.functions import elementwise as e
from ricci.functions import reductions as r
from ricci.functions.axes import last
from ricci.tracing.array import Traced, fresh
from ricci.tracing.basics import FLOAT, Axis, concrete, lift, like, normal_axes, refuse
from ricci.tracing.rows.along import Array, everywhere, flat, joined, with_axis
from ricci.tracing.rows.contractions import contraction
from ricci.tracing.rows.over_axes import NONE, average, given, masked, not_nan
from ricci.tracing.rows.ufuncs import is_nan
from ricci.tracing.table import lowers

# Quantiles


def _rows(x: Traced, axis: Axis) -> tuple[Traced, tuple[int, ...]]:
    """The entries along ``axis`` brought to one last axis, and the axes."""
    axes = normal_axes(x, axis)
    return like(x, last(x.expr, axes)), axes


def _kept(expr: Expr, lead: int, axes: tuple[int, ...], order: int, keepdims: Any) -> Expr:
    """The axes of quantiles, then those of the array, the ones worked on of size 1 if asked."""
    if not given(keepdims) or not keepdims:
        return expr
    rest = [("own", a) for a in range(order) if a not in axes]
    out = [*range(lead), *[("own", a) for a in range(order)]]
    return product([(expr, [*range(lead), *rest])], out, {("own", a): 1 for a in axes})


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
            read = product([(rows, (*rest, "n")), (place(int(low) + shift, n), ("n",))], rest)
            terms.append((float(weights), read))
        else:
            index = lift(np.minimum(low + shift, n - 1))
            hot, w = one_hot(index.expr, n), lift(weights.astype(dtype))
            factors = [(rows, (*rest, "n")), (hot, (*lead, "n")), (w.expr, lead)]
            terms.append((1, product(factors, (*lead, *rest))))
    found = add(terms)
    if x.dtype.kind != "f":
        return found
    bad = is_nan(product([(rows, (*rest, "n")), (place(n - 1, n), ("n",))], rest))
    spread = product([(bad, rest)], (*lead, *rest), dict(zip(lead, places.shape, strict=True)))
    return e.where(spread, math.nan, found)


def _quantile(a: Any, q: Any, axis: Axis, method: str, keepdims: Any, function: Any) -> Traced:
    """``function`` is the one of NumPy's that says where the quantile lies and of which type it is."""
    x = lift(a)
    rows, axes = _rows(x, axis)
    q = concrete(q, "Which quantile is wanted") if not isinstance(q, (int, float)) else q
    try:
        places = np.asarray(function(np.arange(max(rows.shape[-1], 1), dtype=float), q, method=method))
        dtype = np.asarray(function(np.zeros(2, x.dtype), q, method=method)).dtype
    except ValueError as error:
        raise InputError(f"np.{function.__name__}: {error}") from None
    if not rows.shape[-1]:
        expr = everywhere(math.nan, (*places.shape, *rows.shape[:-1]))
    else:
        expr = _between(rows, places, dtype)
    return fresh(_kept(expr, places.ndim, axes, x.ndim, keepdims), dtype)


def _median_place(rows: np.ndarray, q: float, method: str) -> Any:
    return np.median(rows)


def _quantiles(function: Any, nan_function: Any) -> None:
    def lower(
        a: Any,
        q: Any,
        axis: Axis = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
    ) -> Traced:
        refuse(f"np.{function.__name__}", out=out, weights=weights)
        return _quantile(a, q, axis, method, keepdims, function)

    def without_nan(
        a: Any,
        q: Any,
        axis: Axis = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = NONE,
        *,
        weights: Any = None,
    ) -> Traced:
        refuse(f"np.{nan_function.__name__}", out=out, weights=weights, method=None if method == "linear" else method)
        share = np.asarray(concrete(q, "Which quantile is wanted")) / (100 if function is np.percentile else 1)
        return _nan_quantile(a, share, axis, keepdims)

    lowers(function)(lower)
    lowers(nan_function, note="method='linear'")(without_nan)


_quantiles(np.quantile, np.nanquantile)
_quantiles(np.percentile, np.nanpercentile)


@lowers(np.median)
def median(a: Any, axis: Axis = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Traced:
    refuse("np.median", out=out)
    return _quantile(a, 0.5, axis, "linear", keepdims, _median_place)


@lowers(np.nanmedian)
def nanmedian(
    a: Any, axis: Axis = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = NONE
) -> Traced:
    refuse("np.nanmedian", out=out)
    return _nan_quantile(a, np.asarray(0.5), axis, keepdims)


def _nan_quantile(a: Any, q: np.ndarray, axis: Axis, keepdims: Any) -> Traced:
    """Every number has the weight of the hat function around the place; NaN, sorted last, is left out."""
    x = lift(a)
    rows, axes = _rows(x, axis)
    dtype = x.dtype if x.dtype.kind == "f" else FLOAT
    n, rest, lead = rows.shape[-1], tuple(range(rows.ndim - 1)), tuple([("q", k) for k in range(q.ndim)])
    if not n:
        expr = everywhere(math.nan, (*q.shape, *rows.shape[:-1]))
        return fresh(_kept(expr, q.ndim, axes, x.ndim, keepdims), dtype)
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
    return fresh(_kept(e.where(none, math.nan, found), q.ndim, axes, x.ndim, keepdims), dtype)


# Covariances


@lowers(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Traced:
    """``(x[i,k] - mean[i]) w[k] (x[j,k] - mean[j])``, over the number of observations less ``ddof``."""
    x: Array = _observations(m, rowvar)
    if y is not None:
        x = joined([x, _observations(y, rowvar)], 0)
    weights: list[Array] = [lift(w) for w in (fweights, aweights) if w is not None]
    for w in weights:
        if w.shape != x.shape[1:]:
            raise ShapeError(f"np.cov: there are {x.shape[1]} observations, and weights of the shape {w.shape}.")
    ddof = int(not bias) if ddof is None else ddof
    w = None if not weights else weights[0] if len(weights) == 1 else weights[0] * weights[1]
    found = np.result_type(x.dtype, np.float64) if dtype is None else np.dtype(dtype)
    centre = average(x, 1, w)
    assert isinstance(centre, Traced)
    away = x - with_axis(centre, 1)
    factors = [(away, "ik"), (away, "jk"), *([] if w is None else [(w, "k")])]
    sums = contraction("np.cov", factors, "ij", found)
    result = like(sums, sums.expr / _observed(x.shape[1], w, aweights, ddof))
    return _squeezed(result)


def _observations(x: Any, rowvar: bool) -> Traced:
    """A matrix with a variable in each row."""
    found = lift(x)
    if found.ndim > 2:
        raise ShapeError(f"Observations have at most two axes; here the shape is {found.shape}.")
    if found.ndim < 2:
        return with_axis(flat(found), 0)
    return found if rowvar or found.shape[0] == 1 else like(found, product([(found.expr, "ki")], "ik"))


def _observed(n: int, w: Array, aweights: Any, ddof: int) -> Expr:
    """What the sum of the products is divided by."""
    if w is None:
        return constant(max(n - ddof, 0))
    whole = r.sum_(w.expr)
    if ddof == 0:
        return whole
    if aweights is None:
        return whole - ddof
    return whole - ddof * r.sum_((w * lift(aweights)).expr) / whole


def _squeezed(x: Traced) -> Traced:
    return like(x, product([(x.expr, "ij")], "")) if x.shape == (1, 1) else x


@lowers(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Traced:
    """``c[i,j] / sqrt(c[i,i] c[j,j])``."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return like(c, c.expr / c.expr)
    scale = product([(c.expr, "ii")], "i") ** Fraction(-1, 2)
    return like(c, product([(c.expr, "ij"), (scale, "i"), (scale, "j")], "ij"))
