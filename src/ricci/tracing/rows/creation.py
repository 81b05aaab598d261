"""Arrays made anew: constants in the shape of another array, and arrays made of numbers that are traced.

``np.array`` and its kin make plain arrays of what they are given and ask no protocol, so these rows are reached through
``ricci.numpy``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ricci.errors import DTypeError, InputError, TraceError
from ricci.expr import constant, product, zero
from ricci.functions import elementwise as e
from ricci.tracing.arguments import Ints, Known, Type, whole_numbers
from ricci.tracing.array import Traced
from ricci.tracing.basics import FLOAT, NeedsValueError, common, fresh, lift, like, pointwise, real_type
from ricci.tracing.casting import cast
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.along import broadcast, converted, with_axes
from ricci.tracing.rows.shaping import moveaxis

# In the shape of another array


@lowers(np.full_like)
def full_like(x: Traced, fill_value: Traced, dtype: Type = None, shape: Any = None) -> Traced:
    sizes = x.shape if shape is None else whole_numbers(shape, "A shape")
    return broadcast(cast(fill_value, x.dtype if dtype is None else dtype), sizes)


def _like(function: Any, value: int, note: str = "") -> None:
    def lower(x: Traced, dtype: Type = None, shape: Any = None) -> Traced:
        return full_like(x, lift(value), dtype, shape)

    lowers(function, note=note)(lower)


_like(np.zeros_like, 0)
_like(np.empty_like, 0, "zeros")
_like(np.ones_like, 1)


# Of numbers that are traced


@lowers(np.asarray, np.asanyarray, note="through ricci.numpy")
def asarray(a: Traced, dtype: Type = None) -> Traced:
    return converted(a, dtype)


@lowers(np.ascontiguousarray, note="through ricci.numpy")
def ascontiguousarray(a: Traced, dtype: Type = None) -> Traced:
    x = converted(a, dtype)
    return x if x.ndim else with_axes(x, 0)


@lowers(np.array, note="through ricci.numpy")
def array(object: Traced, dtype: Type = None, ndmin: int = 0) -> Traced:
    x = converted(object, dtype)
    return with_axes(x, *range(ndmin - x.ndim))


@lowers(np.full, note="through ricci.numpy")
def full(fill_value: Traced, shape: Ints, dtype: Type = None) -> Traced:
    return broadcast(converted(fill_value, dtype), shape)


# Sequences between ends that are traced


def _floored(x: Traced, dtype: np.dtype | None) -> Traced:
    """In another type; NumPy rounds down, not towards zero, where it makes whole numbers of a sequence."""
    if dtype is None:
        return x
    return cast(like(x, e.floor(x.expr)) if dtype.kind in "iu" else x, dtype)


def _ends(name: str, start: Any, stop: Any, num: Known) -> tuple[Traced, Traced, np.dtype]:
    """Both ends, in one shape and a floating type."""
    if num < 0:
        raise InputError(f"{name}: the number of entries, {num}, is negative.")
    weak = [x if type(x) in (int, float, complex) else lift(x) for x in (start, stop)]
    found = common(*weak, 1.0)
    found = found if found.kind in "fc" else FLOAT
    first, last = (pointwise(lambda a, b, k=k: (a, b)[k], lift(start), lift(stop), dtype=found) for k in (0, 1))
    return first, last, found


def _between(first: Traced, last: Traced, count: int, endpoint: bool, dtype: np.dtype, axis: int) -> Traced:
    """``first + (last - first) t`` for equidistant ``t`` from 0 to 1, along a new axis; the last one is exact."""
    t = lift(np.linspace(0.0, 1.0, count, endpoint).astype(real_type(dtype))).expr
    out = range(first.ndim + 1)
    terms = [product([(x.expr, out[1:]), (s, (0,))], out) for x, s in ((first, 1 - t), (last, t))] if count else []
    made = fresh(terms[0] + terms[1] if terms else zero((0, *first.shape)), dtype)
    return made if axis == 0 else moveaxis(made, (0,), (axis % made.ndim,))


@lowers(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Known,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Type = None,
    axis: int = 0,
) -> Any:
    first, last, found = _ends("np.linspace", start, stop, num)
    count = int(num)
    spaced = _floored(_between(first, last, count, endpoint, found, axis), dtype)
    if not retstep:
        return spaced
    step = (last.expr - first.expr) / (count - 1 if endpoint else count) if count > endpoint else constant(np.nan)
    return spaced, fresh(step, found)


@lowers(np.logspace)
def logspace(
    start: Any, stop: Any, num: Known, endpoint: bool = True, base: Any = 10.0, dtype: Type = None, axis: int = 0
) -> Traced:
    if np.ndim(base):
        raise TraceError(f"np.logspace: base is one number in traced functions, not {base!r}.")
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    return converted(pointwise(e.power, lift(base), exponents, dtype=exponents.dtype), dtype)


@lowers(np.geomspace, note="between positive numbers")
def geomspace(start: Any, stop: Any, num: Known, endpoint: bool = True, dtype: Type = None, axis: int = 0) -> Traced:
    given = _ends("np.geomspace", start, stop, num)[:2]
    if any(x.expr.complex for x in given):
        raise DTypeError(
            "np.geomspace is traced between real numbers; write start * (stop / start) ** np.linspace(0, 1, num)."
        )
    ends = [like(x, e.log(x.expr)) for x in given]
    steps = _between(ends[0], ends[1], int(num), endpoint, FLOAT, axis)
    return converted(like(steps, e.exp(steps.expr)), dtype)


@lowers(np.arange, note="through ricci.numpy; the number of entries must be known")
def arange(*args: Any, step: Any = None, dtype: Any = None) -> Traced:
    """How many entries there are depends on all of the arguments, which therefore are concrete."""
    listed = ", ".join(map(str, (*args, *([] if step is None else [step]))))
    raise NeedsValueError(
        f"np.arange({listed}): how many entries there are depends on values that are traced; write start + step * "
        "np.arange(n) with a number n, or np.linspace(start, stop, n)."
    )
