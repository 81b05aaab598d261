"""Entries left out, repeated and added around: roll, tile, repeat, resize, pad, delete, insert.

All of them read an axis at places that are known while tracing: NumPy's own function of ``0, 1, 2, …`` tells them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.errors import AxisError, InputError, ShapeError
from ricci.expr import product, window, zero
from ricci.expr.moving import placed, repeated, rolled, sliced
from ricci.tracing.array import Traced
from ricci.tracing.basics import Axis, concrete, expanded, lift, like, normal_axes, normal_axis, total
from ricci.tracing.casting import cast
from ricci.tracing.rows.along import selected
from ricci.tracing.rows.several import concatenated
from ricci.tracing.rows.shaping import broadcast, expand_dims, moveaxis, ravel, reshape, whole_numbers
from ricci.tracing.table import REASONS, lowers


def _places(x: Traced, axis: int, choose: Callable[[np.ndarray], np.ndarray]) -> Traced:
    """``x`` read along ``axis`` at what a function of NumPy makes of the places there are."""
    return like(x, selected(x.expr, axis, choose(np.arange(x.shape[axis]))))


@lowers(np.roll)
def roll(a: Any, shift: Any, axis: Axis = None) -> Traced:
    x = lift(a)
    if axis is None:
        flat = ravel(x)
        return reshape(like(x, rolled(flat.expr, 0, sum(whole_numbers(shift, "shift")))), x.shape)
    axes = [normal_axis(x, a) for a in whole_numbers(axis, "axis")]
    shifts = np.broadcast_to(concrete(shift, "shift"), len(axes)) if np.ndim(shift) == 0 else whole_numbers(shift, "")
    if len(axes) == 1 and len(shifts) > 1:
        axes *= len(shifts)
    for own, by in zip(axes, shifts, strict=True):
        x = like(x, rolled(x.expr, own, int(by)))
    return x


def _shifted(function: Any) -> None:
    """A row for a function that rolls every axis by half its size, which NumPy is asked about."""

    def lower(x: Any, axes: Axis = None) -> Traced:
        found = lift(x)
        for axis in normal_axes(found, axes):
            found = _places(found, axis, function)
        return found

    lowers(function)(lower)


_shifted(np.fft.fftshift)
_shifted(np.fft.ifftshift)
for _name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "rfft", "irfft", "rfft2", "irfft2", "rfftn", "irfftn"):
    REASONS[getattr(np.fft, _name)] = (
        "It goes through complex numbers, and ricci computes with real ones; rc.custom gives a real function of it "
        "its rule."
    )


@lowers(np.tile)
def tile(A: Any, reps: Any) -> Traced:
    x, times = lift(A), whole_numbers(reps, "reps")
    x = expand_dims(x, tuple(range(len(times) - x.ndim)))
    found = x.expr
    for axis, many in enumerate((*[1] * (x.ndim - len(times)), *times)):
        found = repeated(found, axis, many, whole=True)
    return like(x, found)


@lowers(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Traced:
    x = lift(a) if axis is not None else ravel(a)
    axis = normal_axis(x, 0 if axis is None else axis)
    times = concrete(repeats, "repeats")
    if times.size == 1:
        return like(x, repeated(x.expr, axis, int(times.reshape(()))))
    if times.shape != (x.shape[axis],):
        raise ShapeError(f"np.repeat: an axis of size {x.shape[axis]} takes as many repeats, not {times.shape}.")
    return _places(x, axis, lambda p: np.repeat(p, times))


@lowers(np.resize)
def resize(a: Any, new_shape: Any) -> Traced:
    x, shape = ravel(a), whole_numbers(new_shape, "new_shape")
    if not x.size:
        return like(x, zero(shape))
    times = -(-total(shape) // x.size)
    long = like(x, sliced(repeated(x.expr, 0, times, whole=True), 0, 0, 1, total(shape)))
    return reshape(long, shape)


# Padding

_MIRRORED = ("edge", "reflect", "symmetric", "wrap")


@lowers(np.pad, note="modes constant, edge, reflect, symmetric, wrap, empty")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Traced:
    x = lift(array)
    widths = _widths(x, pad_width)
    if mode in ("constant", "empty") and set(kwargs) <= {"constant_values"}:
        values = kwargs.get("constant_values", 0)
        for axis, (before, after) in enumerate(widths):
            x = _framed(x, axis, before, after, _sides(values, axis, x.ndim))
        return x
    if mode in _MIRRORED and kwargs.get("reflect_type", "even") == "even" and set(kwargs) <= {"reflect_type"}:
        for axis, width in enumerate(widths):
            if any(width):
                x = _places(x, axis, lambda p, width=width: np.pad(p, width, mode))
        return x
    known = ", ".join(["constant", "empty", *_MIRRORED])
    raise InputError(f"np.pad is traced for the modes {known}, with constant_values, not for {mode!r} with {kwargs}.")


def _widths(x: Traced, pad_width: Any) -> list[tuple[int, int]]:
    """How much is added before and after each axis."""
    if isinstance(pad_width, dict):
        asked = {normal_axis(x, axis): np.broadcast_to(width, 2) for axis, width in pad_width.items()}
        return [tuple(map(int, asked.get(axis, (0, 0)))) for axis in range(x.ndim)]  # type: ignore[misc]
    found = np.broadcast_to(concrete(pad_width, "pad_width"), (x.ndim, 2))
    if (found < 0).any():
        raise InputError(f"np.pad adds entries: the widths {pad_width} are negative.")
    return [(int(a), int(b)) for a, b in found]


def _sides(values: Any, axis: int, order: int) -> list[Traced]:
    """What is put before and after an axis: of one number, of a pair, or of a pair for each axis."""
    both = broadcast(lift(values), (order, 2))
    return [like(both, sliced(sliced(both.expr, 0, axis, 1, 1), 1, side, 1, 1)) for side in (0, 1)]


def _framed(x: Traced, axis: int, before: int, after: int, values: list[Traced]) -> Traced:
    """Zeros are only places; other values are parts of their own."""
    size = x.shape[axis]
    if not before and not after:
        return x
    found = placed(x.expr, axis, before, before + size + after) if size else None
    shape = (*x.shape[:axis], before + size + after, *x.shape[axis + 1 :])
    terms = zero(shape) if found is None else found
    for value, start, width in ((values[0], 0, before), (values[1], before + size, after)):
        number = product([(cast(value, x.dtype).expr, ("a", "b"))], ())
        part = (*x.shape[:axis], width, *x.shape[axis + 1 :])
        if width:
            terms = terms + placed(expanded(number, part), axis, start, shape[axis])
    return like(x, terms)


# Leaving out and putting in


@lowers(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Traced:
    x = lift(arr) if axis is not None else ravel(arr)
    own = normal_axis(x, 0 if axis is None else axis)
    gone = obj if isinstance(obj, slice) else concrete(obj, "What np.delete leaves out")
    return _places(x, own, lambda p: _or_error(x, own, lambda: np.delete(p, gone)))


def _or_error(x: Traced, axis: int, run: Callable[[], np.ndarray]) -> np.ndarray:
    try:
        return run()
    except (IndexError, ValueError) as error:
        raise AxisError(f"Axis {axis} of the shape {x.shape}: {error}.") from None


@lowers(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Traced:
    """The array and the new entries one after another, read in the order that NumPy puts their places in."""
    x = lift(arr) if axis is not None else ravel(arr)
    own = normal_axis(x, 0 if axis is None else axis)
    at = obj if isinstance(obj, slice) else concrete(obj, "Where np.insert puts entries")
    size = x.shape[own]
    many = (
        len(range(*at.indices(size)))
        if isinstance(at, slice)
        else np.flatnonzero(at).size
        if at.dtype == bool
        else at.size
    )
    new = cast(lift(values), x.dtype)
    if not isinstance(at, slice) and at.ndim == 0:
        new = _block_of(new, x, own)
        many = new.shape[own]
    new = broadcast(new, (*x.shape[:own], many, *x.shape[own + 1 :]))
    where = at if isinstance(at, slice) or at.ndim or many == 1 else np.full(many, int(at))
    order = _or_error(x, own, lambda: np.insert(np.arange(size), where, np.arange(size, size + many)))
    both = concatenated("np.insert", [x, new], own)
    return like(x, selected(both.expr, own, order))


def _block_of(new: Traced, x: Traced, axis: int) -> Traced:
    """Entries for one place: NumPy takes the first axis of what is given as the one along which it is put in."""
    if new.ndim < x.ndim:
        new = reshape(new, (*[1] * (x.ndim - new.ndim), *new.shape))
    return moveaxis(new, 0, axis) if new.shape[0] != 1 or axis else new


@lowers(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Axis = None, *, subok: bool = False, writeable: bool = False
) -> Traced:
    """``y[i,…,k] = x[i + k,…]``."""
    array, widths = lift(x), whole_numbers(window_shape, "window_shape")
    axes = normal_axes(array, axis) if axis is None else [normal_axis(array, a) for a in whole_numbers(axis, "axis")]
    if len(axes) != len(widths):
        raise ShapeError(f"sliding_window_view takes as many widths as axes, not {widths} for the axes {tuple(axes)}.")
    found = array.expr
    for own, width in zip(axes, widths, strict=True):
        size: int = found.shape[own]  # type: ignore[assignment]
        if not 0 <= width <= size:
            raise ShapeError(f"A window of {width} entries does not fit on axis {own} of the shape {array.shape}.")
        order = len(found.shape)
        read = ["read" if a == own else a for a in range(order)]
        moving = window((1, 1), 0, size, (size - width + 1, width))
        out = [*range(order), "window"]
        found = product([(found, read), (moving, ("read", own, "window"))], out)
    return like(array, found)
