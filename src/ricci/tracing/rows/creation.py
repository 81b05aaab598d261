"""Arrays made anew: constants in the shape of another array, and arrays made of numbers that are traced.

``np.array`` and its kin make plain arrays of what they are given and ask no protocol, so these rows are reached through
``ricci.numpy``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ricci.errors import InputError
from ricci.expr import constant, product, zero
from ricci.functions import elementwise as e
from ricci.tracing.array import Traced
from ricci.tracing.basics import FLOAT, common, concrete, fresh, lift, like, pointwise, refuse
from ricci.tracing.casting import cast
from ricci.tracing.rows.shaping import broadcast, expand_dims, moveaxis, whole_numbers
from ricci.tracing.table import lowers

# In the shape of another array


def _like(name: str, a: Any, value: Any, dtype: Any, shape: Any, device: Any) -> Traced:
    refuse(name, device=device)
    x = lift(a)
    sizes = x.shape if shape is None else whole_numbers(shape, "A shape")
    return broadcast(cast(lift(value), x.dtype if dtype is None else dtype), sizes)


@lowers(np.zeros_like)
def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Traced:
    return _like("np.zeros_like", a, 0, dtype, shape, device)


@lowers(np.empty_like, note="zeros")
def empty_like(
    prototype: Any, /, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Traced:
    return _like("np.empty_like", prototype, 0, dtype, shape, device)


@lowers(np.ones_like)
def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Traced:
    return _like("np.ones_like", a, 1, dtype, shape, device)


@lowers(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Traced:
    return _like("np.full_like", a, fill_value, dtype, shape, device)


# Of numbers that are traced


@lowers(np.asarray, np.asanyarray, note="through ricci.numpy")
def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Traced:
    refuse("np.asarray", device=device)
    return lift(a) if dtype is None else cast(lift(a), dtype)


@lowers(np.ascontiguousarray, note="through ricci.numpy")
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Traced:
    x = asarray(a, dtype)
    return x if x.ndim else expand_dims(x, 0)


@lowers(np.array, note="through ricci.numpy")
def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Traced:
    x = asarray(object, dtype)
    return expand_dims(x, tuple(range(ndmin - x.ndim)))


@lowers(np.full, note="through ricci.numpy")
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
) -> Traced:
    refuse("np.full", device=device)
    return broadcast(asarray(fill_value, dtype), whole_numbers(shape, "A shape"))


# Sequences between ends that are traced


@lowers(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    refuse("np.linspace", device=device)
    first, last, found = _ends("np.linspace", start, stop, num)
    count = int(concrete(num, "num"))
    step = (last.expr - first.expr) / (count - 1 if endpoint else count) if count > endpoint else None
    spaced = _along(first, last, count, endpoint, found, axis)
    spaced = spaced if dtype is None else cast(_floored(spaced, dtype), dtype)
    if not retstep:
        return spaced
    return spaced, fresh(constant(np.nan) if step is None else step, found)


def _floored(x: Traced, dtype: Any) -> Traced:
    """NumPy rounds down, not towards zero, where it makes whole numbers of a sequence."""
    return like(x, e.floor(x.expr)) if np.dtype(dtype).kind in "iu" else x


def _ends(name: str, start: Any, stop: Any, num: Any) -> tuple[Traced, Traced, np.dtype]:
    """Both ends, in one shape and a floating type."""
    if int(concrete(num, "num")) < 0:
        raise InputError(f"{name}: the number of entries, {num}, is negative.")
    weak = [x if type(x) in (int, float) else lift(x) for x in (start, stop)]
    found = common(*weak, 1.0)
    found = found if found.kind == "f" else FLOAT
    first, last = (pointwise(lambda a, b, k=k: (a, b)[k], lift(start), lift(stop), dtype=found) for k in (0, 1))
    return first, last, found


def _along(first: Traced, last: Traced, count: int, endpoint: bool, dtype: np.dtype, axis: int) -> Traced:
    """``first + (last - first) t`` for equidistant ``t`` from 0 to 1, along a new axis; the last one is exact."""
    weight = np.linspace(0.0, 1.0, count, endpoint)
    t = lift(weight.astype(dtype)).expr
    out = range(first.ndim + 1)
    terms = [product([(x.expr, out[1:]), (s, (0,))], out) for x, s in ((first, 1 - t), (last, t))] if count else []
    found = terms[0] + terms[1] if terms else zero((0, *first.shape))
    made = fresh(found, dtype)
    return made if axis == 0 else moveaxis(made, 0, axis)


@lowers(np.logspace)
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Traced:
    refuse("np.logspace", base=None if np.ndim(base) == 0 else base)
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    found = pointwise(e.power, lift(base), exponents, dtype=exponents.dtype)
    return found if dtype is None else cast(found, dtype)


@lowers(np.geomspace, note="between positive numbers")
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Traced:
    first, last, _ = _ends("np.geomspace", start, stop, num)
    ends = [like(x, e.log(x.expr)) for x in (first, last)]
    steps = _along(ends[0], ends[1], int(concrete(num, "num")), endpoint, FLOAT, axis)
    spaced = like(steps, e.exp(steps.expr))
    return spaced if dtype is None else cast(spaced, dtype)


@lowers(np.arange, note="through ricci.numpy; the number of entries must be known")
def arange(*args: Any, dtype: Any = None, device: Any = None, like: Any = None, step: Any = None) -> Traced:
    """How many entries there are depends on all of the arguments, which therefore are concrete."""
    raise _unknown_length(args, step)


def _unknown_length(args: tuple, step: Any) -> Exception:
    from ricci.tracing.basics import NeedsValueError

    listed = ", ".join(map(str, (*args, *([] if step is None else [step]))))
    return NeedsValueError(
        f"np.arange({listed}): how many entries there are depends on values that are traced; write start + step * "
        "np.arange(n) with a number n, or np.linspace(start, stop, n)."
    )
