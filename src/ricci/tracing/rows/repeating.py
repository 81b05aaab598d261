"""Entries left out, repeated and added around: roll, tile, repeat, resize, pad, delete, insert.

All of them read an axis at places that are known while tracing; where these are not told by numbers, NumPy's own
function of ``0, 1, 2, …`` tells them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ricci.errors import AxisError, InputError, ShapeError
from ricci.expr import moving, zero
from ricci.tracing.arguments import Axes, Ints, Known, OneAxis
from ricci.tracing.array import Traced
from ricci.tracing.basics import concrete, lift, like, normal_axes, normal_axis
from ricci.tracing.casting import cast
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.along import broadcast, flat, selected, shaped, with_axes
from ricci.tracing.rows.several import concatenated
from ricci.tracing.rows.shaping import moveaxis


@lowers(np.roll)
def roll(x: Traced, shift: Ints, axis: Any = None) -> Traced:
    if axis is None:
        return shaped(like(x, moving.rolled(flat(x).expr, 0, sum(shift))), x.shape)
    axes = [normal_axis(x, a) for a in np.atleast_1d(axis)]
    pairs = np.broadcast(axes, shift) if 1 in (len(axes), len(shift)) else zip(axes, shift, strict=True)
    found = x.expr
    for own, by in pairs:
        found = moving.rolled(found, int(own), int(by))
    return like(x, found)


def _by_half(function: Any, sign: int) -> None:
    """A row for a function that rolls every axis by half its size."""

    def lower(x: Traced, axes: Axes) -> Traced:
        found = x.expr
        for axis in axes:
            found = moving.rolled(found, axis, sign * (x.shape[axis] // 2))
        return like(x, found)

    lowers(function)(lower)


_by_half(np.fft.fftshift, 1)
_by_half(np.fft.ifftshift, -1)


@lowers(np.tile)
def tile(x: Traced, reps: Ints) -> Traced:
    x = with_axes(x, *range(len(reps) - x.ndim))
    found = x.expr
    for axis, many in enumerate((*[1] * (x.ndim - len(reps)), *reps)):
        found = moving.repeated(found, axis, many, whole=True)
    return like(x, found)


@lowers(np.repeat)
def repeat(x: Traced, repeats: Known, axis: OneAxis) -> Traced:
    if repeats.size == 1:
        return like(x, moving.repeated(x.expr, axis, int(repeats.reshape(()))))
    if repeats.shape != (x.shape[axis],):
        raise ShapeError(f"np.repeat: an axis of size {x.shape[axis]} takes as many repeats, not {repeats.shape}.")
    return selected(x, axis, np.repeat(np.arange(x.shape[axis]), repeats))


@lowers(np.resize)
def resize(x: Traced, new_shape: Ints) -> Traced:
    if not x.size:
        return like(x, zero(new_shape))
    size = prod(new_shape)
    long = moving.repeated(flat(x).expr, 0, -(-size // x.size), whole=True)
    return shaped(like(x, moving.sliced(long, 0, 0, 1, size)), new_shape)


# Padding

_MIRRORED = ("edge", "reflect", "symmetric", "wrap")


@lowers(np.pad, note="modes constant, edge, reflect, symmetric, wrap, empty")
def pad(x: Traced, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Traced:
    widths = _widths(x, pad_width)
    if mode in ("constant", "empty") and set(kwargs) <= {"constant_values"}:
        values = kwargs.get("constant_values", 0)
        for axis, (before, after) in enumerate(widths):
            x = _framed(x, axis, before, after, _sides(values, axis, x.ndim))
        return x
    if mode in _MIRRORED and kwargs.get("reflect_type", "even") == "even" and set(kwargs) <= {"reflect_type"}:
        for axis, width in enumerate(widths):
            if any(width):
                x = selected(x, axis, np.pad(np.arange(x.shape[axis]), width, mode))
        return x
    known = ", ".join(["constant", "empty", *_MIRRORED])
    raise InputError(f"np.pad is traced for the modes {known}, with constant_values, not for {mode!r} with {kwargs}.")


def _widths(x: Traced, pad_width: Any) -> list[tuple[int, int]]:
    """How much is added before and after each axis."""
    if isinstance(pad_width, dict):
        asked = {normal_axis(x, axis): np.broadcast_to(width, 2) for axis, width in pad_width.items()}
        return [tuple(map(int, asked.get(axis, (0, 0)))) for axis in range(x.ndim)]  # type: ignore[misc]
    found = np.broadcast_to(concrete(pad_width, "np.pad: pad_width"), (x.ndim, 2))
    if (found < 0).any():
        raise InputError(f"np.pad adds entries: the widths {pad_width} are negative.")
    return [(int(a), int(b)) for a, b in found]


def _sides(values: Any, axis: int, order: int) -> list[Traced]:
    """What is put before and after an axis: of one number, of a pair, or of a pair for each axis."""
    both = broadcast(lift(values), (order, 2))
    row = moving.entry(both.expr, 0, axis)
    return [like(both, moving.entry(row, 0, side)) for side in (0, 1)]


def _framed(x: Traced, axis: int, before: int, after: int, values: list[Traced]) -> Traced:
    """Zeros are only places; other values are parts of their own."""
    size = x.shape[axis]
    if not before and not after:
        return x
    shape = (*x.shape[:axis], before + size + after, *x.shape[axis + 1 :])
    terms = moving.placed(x.expr, axis, before, shape[axis]) if size else zero(shape)
    for value, start, width in ((values[0], 0, before), (values[1], before + size, after)):
        if width:
            border = moving.expanded(cast(value, x.dtype).expr, (*shape[:axis], width, *shape[axis + 1 :]))
            terms = terms + moving.placed(border, axis, start, shape[axis])
    return like(x, terms)


# Leaving out and putting in


def _told(x: Traced, axis: int, tell: Callable[[], np.ndarray]) -> np.ndarray:
    """Places that NumPy tells, or its error as one of ours."""
    try:
        return tell()
    except (IndexError, ValueError) as error:
        raise AxisError(f"Axis {axis} of the shape {x.shape}: {error}.") from None


@lowers(np.delete)
def delete(x: Traced, obj: Any, axis: OneAxis) -> Traced:
    gone = obj if isinstance(obj, slice) else concrete(obj, "np.delete: obj")
    return selected(x, axis, _told(x, axis, lambda: np.delete(np.arange(x.shape[axis]), gone)))


@lowers(np.insert)
def insert(x: Traced, obj: Any, values: Traced, axis: OneAxis) -> Traced:
    """The array and the new entries one after another, read in the order that NumPy puts their places in."""
    at = obj if isinstance(obj, slice) else concrete(obj, "np.insert: obj")
    size, new = x.shape[axis], cast(values, x.dtype)
    if isinstance(at, slice):
        many = len(range(*at.indices(size)))
    elif at.ndim == 0:
        new = _block_of(new, x, axis)
        many = new.shape[axis]
        at = at if many == 1 else np.full(many, int(at))
    else:
        many = np.flatnonzero(at).size if at.dtype == bool else at.size
    new = broadcast(new, (*x.shape[:axis], many, *x.shape[axis + 1 :]))
    order = _told(x, axis, lambda: np.insert(np.arange(size), at, np.arange(size, size + many)))
    return like(x, selected(concatenated("np.insert", [x, new], axis), axis, order).expr)


def _block_of(new: Traced, x: Traced, axis: int) -> Traced:
    """Entries for one place: NumPy takes the first axis of what is given as the one along which it is put in."""
    if new.ndim < x.ndim:
        new = with_axes(new, *range(x.ndim - new.ndim))
    return moveaxis(new, (0,), (axis,)) if new.shape[0] != 1 or axis else new


@lowers(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x: Traced, window_shape: Ints, axis: Any = None) -> Traced:
    """``y[i,…,k] = x[i + k,…]``."""
    axes = normal_axes(x, axis) if axis is None else [normal_axis(x, a) for a in np.atleast_1d(axis)]
    if len(axes) != len(window_shape):
        raise ShapeError(
            f"sliding_window_view takes as many widths as axes, not {window_shape} for the axes {tuple(axes)}."
        )
    found = x.expr
    for own, width in zip(axes, window_shape, strict=True):
        size: int = found.shape[own]  # type: ignore[assignment]
        if not 0 <= width <= size:
            raise ShapeError(f"A window of {width} entries does not fit on axis {own} of the shape {x.shape}.")
        found = moving.windows(found, (own,), [(size - width + 1, width, 1, 1, 0)])
    return like(x, found)
