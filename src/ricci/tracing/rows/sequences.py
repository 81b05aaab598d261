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
from ricci.expr import Expr, conj, moving, product, window
from ricci.expr.moving import everywhere
from ricci.functions import elementwise as e
from ricci.functions import reductions as r
from ricci.tracing.arguments import Axis, Known, OneAxis, Type
from ricci.tracing.array import Traced
from ricci.tracing.basics import FLOAT, concrete, fresh, lift, like, normal_axis, pointwise
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.along import Array, along, converted, entry, flat, joined, looked_up, part, vector
from ricci.tracing.rows.ordering import searchsorted

# Running sums and products


def running(x: Traced, axis: int, dtype: Any, over: Callable[[Expr, int], Expr]) -> Traced:
    """Sums or products so far, along an axis."""
    found = np.cumsum(np.zeros(1, x.dtype), dtype=dtype).dtype
    return fresh(over(converted(x, dtype).expr, axis), found)


def _cumulative(ufunc: np.ufunc, plain: Any, of_api: Any, over: Callable[[Expr, int], Expr]) -> None:
    """Rows for three functions that do the same; that of the array API can begin with the neutral element."""

    def lower(x: Traced, axis: OneAxis, dtype: Type = None) -> Traced:
        return running(x, axis, dtype, over)

    def with_first(x: Traced, axis: Any, dtype: Type = None, include_initial: bool = False) -> Traced:
        if axis is None and x.ndim != 1:
            raise InputError(f"np.{of_api.__name__}: say which axis of the shape {x.shape}, axis=….")
        at = normal_axis(x, axis or 0)
        found = running(x, at, dtype, over)
        first = [1 if a == at else n for a, n in enumerate(x.shape)]
        return joined([like(found, everywhere(ufunc.identity, first)), found], at) if include_initial else found

    lowers((ufunc, "accumulate"), plain)(lower)
    lowers(of_api)(with_first)


_cumulative(np.add, np.cumsum, np.cumulative_sum, r.cumsum)
_cumulative(np.multiply, np.cumprod, np.cumulative_prod, r.cumprod)


# Differences


def _step(x: Traced, axis: int) -> Array:
    n = max(x.shape[axis] - 1, 0)
    after, before = part(x, axis, 1, n), part(x, axis, 0, n)
    if x.dtype.kind == "b":
        return pointwise(e.not_equal, after, before, dtype=x.dtype)
    return like(x, after.expr - before.expr)


@lowers(np.diff)
def diff(x: Traced, n: int, axis: Axis, prepend: Any = None, append: Any = None) -> Traced:
    if n < 0:
        raise InputError(f"np.diff: n counts how often differences are taken; it is {n}.")
    if n == 0:
        return x
    parts = [_beside(x, prepend, axis), x, _beside(x, append, axis)]
    x = joined([p for p in parts if p is not None], axis)
    for _ in range(n):
        x = _step(x, axis)
    return x


def _beside(x: Traced, value: Any, axis: int) -> Traced | None:
    """What is put before or after an array along an axis; a number stands for one slice of it."""
    if value is None:
        return None
    more = lift(value)
    shape = tuple([1 if a == axis else n for a, n in enumerate(x.shape)])
    return more if more.ndim else like(more, moving.expanded(more.expr, shape))


@lowers(np.ediff1d)
def ediff1d(x: Traced, to_end: Traced | None = None, to_begin: Traced | None = None) -> Traced:
    parts = [to_begin, _step(flat(x), 0), to_end]
    return joined([flat(p) for p in parts if p is not None], 0, x.dtype)


@lowers(np.trapezoid, getattr(np, "trapz", None))
def trapezoid(y: Traced, x: Traced | None, dx: Any, axis: Axis) -> Traced:
    """``1[i] (x[i+1] - x[i]) (y[i+1] + y[i]) / 2``."""
    n = max(y.shape[axis] - 1, 0)
    pairs = part(y, axis, 1, n) + part(y, axis, 0, n)
    if x is None:
        widths: Array = lift(dx)
    else:
        widths = along(_step(x, 0), axis, y.ndim) if x.ndim == 1 else _step(x, axis)
    terms = widths * pairs / 2.0
    return like(terms, r.sum_(terms.expr, (axis,)))


@lowers(np.unwrap)
def unwrap(x: Traced, discont: Any, axis: Axis, period: Any) -> Traced:
    """Whole periods are added where neighbours are further apart than half of one; these have no derivative."""
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
    turned = running(pointwise(build, steps, dtype=found), axis, None, r.cumsum)
    return joined([part(x, axis, 0, 1), part(x, axis, 1, n - 1) + turned], axis, found)


# Gradients


@lowers(np.gradient)
def gradient(f: Traced, *varargs: Traced, axis: Any = None, edge_order: int = 1) -> Traced | tuple[Traced, ...]:
    x = f
    axes = range(x.ndim) if axis is None else [normal_axis(x, a) for a in np.atleast_1d(axis).tolist()]
    given = list(varargs) or [lift(1.0)]
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


def _pair(name: str, a: Traced, v: Traced) -> tuple[Traced, Traced]:
    x, y = [flat(z) if z.ndim == 0 else vector(z, f"An operand of {name}") for z in (a, v)]
    if not x.size or not y.size:
        raise ShapeError(f"{name}: neither operand may be empty.")
    return x, y


@lowers(np.convolve)
def convolve(a: Traced, v: Traced, mode: str = "full") -> Traced:
    """``y[i] = a[i + shift - k] v[k]``, with the shorter one as ``v``."""
    x, y = _pair("np.convolve", a, v)
    x, y = (y, x) if y.size > x.size else (x, y)
    n, m = x.size, y.size
    length, left = _correlation(mode, n, m)
    return _windowed(x, y, window((1, -1), m - 1 - left, n, (length, m)), np.result_type(x.dtype, y.dtype))


@lowers(np.correlate)
def correlate(a: Traced, v: Traced, mode: str = "valid") -> Traced:
    """``y[i] = a[i - left + k] v[k]``; with the longer one as ``v``, read from the end."""
    x, y = _pair("np.correlate", a, v)
    y = like(y, conj(y.expr))
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
def bincount(x: Known, weights: Any = None, minlength: int = 0) -> Traced:
    """A scatter: weights that go to the same place are added."""
    size = max(int(x.max(initial=-1)) + 1, minlength)
    w = vector(weights, "np.bincount: the weights")
    if x.shape != w.shape:
        raise ShapeError(f"np.bincount: the weights have the shape {w.shape}, the places {x.shape}.")
    return fresh(moving.scattered(w.expr, "i", [moving.hot(lift(x).expr, "i", "v", size)], {"v": size}), FLOAT)


@lowers(np.polyval)
def polyval(x: Traced, p: Any) -> Traced:
    """Horner's scheme."""
    coefficients = vector(p, "np.polyval: the coefficients")
    result: Array = like(x, everywhere(0, x.shape))
    for k in range(coefficients.shape[0]):
        result = result * x + entry(coefficients, 0, k)
    return result


@lowers(np.interp, note="compares with every node")
def interp(x: Traced, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Traced:
    at, nodes, values = x, vector(xp, "np.interp: xp"), vector(fp, "np.interp: fp")
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
