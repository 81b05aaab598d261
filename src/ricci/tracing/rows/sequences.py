"""Along one axis, in order: running sums, differences, gradients, convolutions, interpolation.

cumsum       y[i] = [j <= i] x[j]
diff         y[i] = x[i+1] - x[i]
convolve     y[i] = [j + k == i] a[j] v[k]
bincount     y[v] = [v == n[i]] w[i]
interp       y[i] = fp[n] + (x[i] - xp[n]) (fp[n+1] - fp[n]) / (xp[n+1] - xp[n]),  n the interval of x[i]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.errors import InputError, ShapeError
from ricci.expr import Expr, one_hot, product, window
from ricci.functions import elementwise as e
from ricci.functions import reductions as r
from ricci.tracing.array import Traced, fresh
from ricci.tracing.basics import FLOAT, concrete, expanded, lift, like, normal_axis, pointwise, refuse
from ricci.tracing.rows.along import (
    Array,
    along,
    along_one,
    converted,
    entry,
    everywhere,
    flat,
    joined,
    looked_up,
    part,
    vector,
)
from ricci.tracing.rows.ordering import searchsorted
from ricci.tracing.table import lowers

# Running sums and products


def _running(a: Any, axis: int | None, dtype: Any, over: Callable[[Expr, int], Expr]) -> Traced:
    x, at = along_one(lift(a), axis)
    found = np.cumsum(np.zeros(1, x.dtype), dtype=dtype).dtype
    return fresh(over(converted(x, dtype).expr, at), found)


@lowers(np.cumsum)
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Traced:
    refuse("np.cumsum", out=out)
    return _running(a, axis, dtype, r.cumsum)


@lowers(np.cumprod)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Traced:
    refuse("np.cumprod", out=out)
    return _running(a, axis, dtype, r.cumprod)


def _cumulative(name: Any, over: Callable[[Expr, int], Expr], neutral: int) -> None:
    """The function of the array API, which can begin with the neutral element."""

    def lower(
        x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None, include_initial: bool = False
    ) -> Traced:
        refuse(f"np.{name.__name__}", out=out)
        x = lift(x)
        if axis is None and x.ndim != 1:
            raise InputError(f"np.{name.__name__}: say which axis of the shape {x.shape}, axis=….")
        found = _running(x, axis, dtype, over)
        at = normal_axis(x, axis or 0)
        first = [1 if a == at else n for a, n in enumerate(x.shape)]
        return joined([like(found, everywhere(neutral, first)), found], at) if include_initial else found

    lowers(name)(lower)


_cumulative(np.cumulative_sum, r.cumsum, 0)
_cumulative(np.cumulative_prod, r.cumprod, 1)


def _accumulate(ufunc: np.ufunc, over: Callable[[Expr, int], Expr]) -> None:
    def lower(array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Traced:
        refuse(f"np.{ufunc.__name__}.accumulate", out=out)
        return _running(array, axis, dtype, over)

    lowers((ufunc, "accumulate"))(lower)


_accumulate(np.add, r.cumsum)
_accumulate(np.multiply, r.cumprod)


# Differences


def _step(x: Traced, axis: int) -> Array:
    n = max(x.shape[axis] - 1, 0)
    after, before = part(x, axis, 1, n), part(x, axis, 0, n)
    if x.dtype.kind == "b":
        return pointwise(e.not_equal, after, before, dtype=x.dtype)
    return like(x, after.expr - before.expr)


@lowers(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Traced:
    x = lift(a)
    if n < 0:
        raise InputError(f"np.diff: n counts how often differences are taken; it is {n}.")
    if n == 0:
        return x
    axis = normal_axis(x, axis)
    parts = [_beside(x, prepend, axis), x, _beside(x, append, axis)]
    x = joined([p for p in parts if p is not None], axis)
    for _ in range(n):
        x = _step(x, axis)
    return x


def _beside(x: Traced, value: Any, axis: int) -> Traced | None:
    """What is put before or after an array along an axis; a number stands for one slice of it."""
    if value is np._NoValue:
        return None
    more = lift(value)
    shape = tuple([1 if a == axis else n for a, n in enumerate(x.shape)])
    return more if more.ndim else like(more, expanded(more.expr, shape))


@lowers(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Traced:
    x = flat(lift(ary))
    parts = [None if to_begin is None else flat(lift(to_begin)), _step(x, 0)]
    parts.append(None if to_end is None else flat(lift(to_end)))
    return joined([p for p in parts if p is not None], 0, x.dtype)


@lowers(np.trapezoid, getattr(np, "trapz", None))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Traced:
    """``1[i] (x[i+1] - x[i]) (y[i+1] + y[i]) / 2``."""
    values = lift(y)
    axis = normal_axis(values, axis)
    n = max(values.shape[axis] - 1, 0)
    pairs = part(values, axis, 1, n) + part(values, axis, 0, n)
    if x is None:
        widths = lift(dx)
    else:
        nodes = lift(x)
        widths = along(_step(nodes, 0), axis, values.ndim) if nodes.ndim == 1 else _step(nodes, axis)
    terms = widths * pairs / 2.0
    return like(terms, r.sum_(terms.expr, (axis,)))


@lowers(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Traced:
    """Whole periods are added where neighbours are further apart than half of one; these have no derivative."""
    x = lift(p)
    axis = normal_axis(x, axis)
    n = x.shape[axis]
    steps, half = _step(x, axis), period / 2
    limit = half if discont is None else discont

    def build(d: Expr) -> Expr:
        turns = e.floor((d + half) / period)
        at_edge = e.equal(d - turns * period, -half) * e.less(0, d)
        return e.where(e.less(e.abs_(d), limit), 0, -period * (turns - at_edge))

    found = np.result_type(x.dtype, period)
    if n < 2:
        return like(x, x.expr, found)
    turned = cumsum(pointwise(build, steps, dtype=found), axis)
    return joined([part(x, axis, 0, 1), part(x, axis, 1, n - 1) + turned], axis, found)


# Gradients


@lowers(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Traced | tuple[Traced, ...]:
    x = lift(f)
    axes = range(x.ndim) if axis is None else [normal_axis(x, a) for a in np.atleast_1d(axis).tolist()]
    given = [lift(v) for v in varargs] or [lift(1.0)]
    spacings = given * len(axes) if len(given) == 1 and given[0].ndim == 0 else given
    if len(spacings) != len(axes):
        raise InputError(f"np.gradient: {len(varargs)} spacings are given for {len(axes)} axes.")
    if edge_order not in (1, 2):
        raise InputError(f"np.gradient: edge_order is 1 or 2, not {edge_order}.")
    for a in axes:
        if x.shape[a] <= edge_order:
            raise ShapeError(f"np.gradient needs more than {edge_order} entries along axis {a} of the shape {x.shape}.")
    found = [_slope(x, a, _widths(x, h, a), edge_order, h.ndim == 0) for a, h in zip(axes, spacings, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _widths(x: Traced, spacing: Traced, axis: int) -> Traced:
    """The distances between neighbours along an axis."""
    if spacing.ndim == 0:
        return like(spacing, everywhere(1, [x.shape[axis] - 1]) * spacing.expr)
    if spacing.shape != (x.shape[axis],):
        raise ShapeError(
            f"np.gradient: axis {axis} of the shape {x.shape} has coordinates of the shape {spacing.shape}."
        )
    return _step(spacing, 0)


def _slope(x: Traced, axis: int, widths: Traced, edge_order: int, even: bool) -> Traced:
    """The parabola through three neighbours, differentiated at the middle one; at the edges there, or a line's."""
    n = x.shape[axis]
    h = along(widths, axis, x.ndim)

    def value(start: int, count: int = 1) -> Array:
        return part(x, axis, start, count)

    left, right = part(h, axis, 0, n - 2), part(h, axis, 1, n - 2)
    if even:  # the middle one has no part in it, finite or not
        middle = (value(2, n - 2) - value(0, n - 2)) / (left + right)
    else:
        middle = _three(left, right, 0, value(0, n - 2), value(1, n - 2), value(2, n - 2))
    first, last = part(h, axis, 0, 1), part(h, axis, n - 2, 1)
    if edge_order == 1:
        ends = [(value(1) - value(0)) / first, (value(n - 1) - value(n - 2)) / last]
    else:
        second, before = part(h, axis, 1, 1), part(h, axis, n - 3, 1)
        ends = [
            _three(first, second, -1, value(0), value(1), value(2)),
            _three(before, last, 1, value(n - 3), value(n - 2), value(n - 1)),
        ]
    found = np.gradient(np.zeros(2, x.dtype)).dtype
    return joined([ends[0], *([middle] if n > 2 else []), ends[1]], axis, found)


def _three(h: Array, k: Array, at: int, a: Array, b: Array, c: Array) -> Array:
    """The slope of the parabola through ``a, b, c``, at distances ``h, k``: at the first, middle or last point."""
    down, up = (b - a) / h, (c - b) / k
    both = h + k
    if at < 0:
        return down - (up - down) * (h / both)
    return up + (up - down) * (k / both) if at > 0 else (down * k + up * h) / both


# Convolutions


def _correlation(mode: str, n: int, m: int) -> tuple[int, int]:
    """The length of a correlation of lengths ``n >= m`` and its first shift to the left."""
    if mode not in ("valid", "same", "full"):
        raise InputError(f"The mode is 'valid', 'same' or 'full', not {mode!r}.")
    return {"valid": (n - m + 1, 0), "same": (n, m // 2), "full": (n + m - 1, m - 1)}[mode]


def _pair(name: str, a: Any, v: Any) -> tuple[Traced, Traced]:
    x, y = [flat(z) if z.ndim == 0 else vector(z, f"An operand of {name}") for z in (lift(a), lift(v))]
    if not x.size or not y.size:
        raise ShapeError(f"{name}: neither operand may be empty.")
    return x, y


@lowers(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Traced:
    """``y[i] = a[i + shift - k] v[k]``, with the shorter one as ``v``."""
    x, y = _pair("np.convolve", a, v)
    x, y = (y, x) if y.size > x.size else (x, y)
    n, m = x.size, y.size
    length, left = _correlation(mode, n, m)
    return _windowed(x, y, window((1, -1), m - 1 - left, n, (length, m)), np.result_type(x.dtype, y.dtype))


@lowers(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Traced:
    """``y[i] = a[i - left + k] v[k]``; with the longer one as ``v``, read from the end."""
    x, y = _pair("np.correlate", a, v)
    dtype = np.result_type(x.dtype, y.dtype)
    if y.size > x.size:
        length, left = _correlation(mode, y.size, x.size)
        return _windowed(y, x, window((-1, 1), length - 1 - left, y.size, (length, x.size)), dtype)
    length, left = _correlation(mode, x.size, y.size)
    return _windowed(x, y, window((1, 1), -left, x.size, (length, y.size)), dtype)


def _windowed(x: Traced, y: Traced, reads: Expr, dtype: Any) -> Traced:
    return fresh(product([(x.expr, "j"), (reads, "jik"), (y.expr, "k")], "i"), dtype)


# Tables and polynomials


@lowers(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Traced:
    """A scatter: weights that go to the same place are added."""
    places = concrete(x, "np.bincount: the largest place")
    size = max(int(places.max(initial=-1)) + 1, minlength)
    w = vector(weights, "np.bincount: the weights")
    if places.shape != w.shape:
        raise ShapeError(f"np.bincount: the weights have the shape {w.shape}, the places {places.shape}.")
    return fresh(product([(one_hot(lift(places).expr, size), "iv"), (w.expr, "i")], "v"), FLOAT)


@lowers(np.polyval)
def polyval(p: Any, x: Any) -> Traced:
    """Horner's scheme."""
    coefficients, at = vector(p, "np.polyval: the coefficients"), lift(x)
    result: Array = like(at, everywhere(0, at.shape))
    for k in range(coefficients.shape[0]):
        result = result * at + entry(coefficients, 0, k)
    return result


@lowers(np.interp, note="compares with every node")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Traced:
    at, nodes, values = lift(x), vector(xp, "np.interp: xp"), vector(fp, "np.interp: fp")
    if nodes.shape != values.shape or not nodes.size:
        raise ShapeError(f"np.interp: xp and fp have the shapes {nodes.shape} and {values.shape}; they must be equal.")
    if period is not None:
        at, nodes, values = _around(at, xp, values, period)
        left = right = None
    n = nodes.size
    low, high = entry(nodes, 0, 0), entry(nodes, 0, n - 1)
    before = entry(values, 0, 0) if left is None else lift(left)
    after = entry(values, 0, n - 1) if right is None else lift(right)
    if n == 1:
        inside = entry(values, 0, 0)
    else:
        interval = searchsorted(part(nodes, 0, 1, n - 2), at, "right")
        slopes = _step(values, 0) / _step(nodes, 0)
        start, base, slope = [looked_up(part(v, 0, 0, n - 1), interval) for v in (nodes, values, slopes)]
        inside = base + slope * (at - start)

    def build(at: Expr, low: Expr, high: Expr, before: Expr, after: Expr, inside: Expr) -> Expr:
        return e.where(e.less(at, low), before, e.where(e.less(high, at), after, inside))

    return pointwise(build, at, low, high, before, after, inside, dtype=FLOAT)


def _around(at: Traced, xp: Any, values: Traced, period: float) -> tuple[Traced, Traced, Traced]:
    """The nodes within one period, in order, with the last one before the first and the first after the last."""
    places = concrete(xp, "np.interp: the order of xp, with a period,") % period
    order = np.argsort(places)
    order = np.concatenate((order[-1:], order, order[:1]))
    nodes = places[order]
    nodes[0] -= period
    nodes[-1] += period
    turned = pointwise(lambda v: v - period * e.floor(v / period), at, dtype=FLOAT)
    return turned, lift(nodes), looked_up(values, lift(order))
