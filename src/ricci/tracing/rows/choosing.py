"""Entries chosen by integers or conditions: take, choose, select, piecewise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ricci.errors import AxisError, InputError, ShapeError
from ricci.expr import moving
from ricci.functions import elementwise as e
from ricci.tracing.arguments import Known, OneAxis
from ricci.tracing.array import Traced, has_traced
from ricci.tracing.basics import NeedsValueError, broadcast_shape, common, lift, like, pointwise
from ricci.tracing.casting import cast
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.along import broadcast, flat
from ricci.tracing.rows.keys import from_the_front, read

MODES = ("raise", "wrap", "clip")


def _within(indices: Any, size: int, mode: str) -> Any:
    """Integers as ``mode`` brings them into bounds; those that are known count from the front then."""
    if mode not in MODES:
        raise InputError(f"mode is one of {', '.join(MODES)}, not {mode!r}.")
    if isinstance(indices, (list, tuple)) and has_traced(indices):
        indices = lift(indices)
    if mode == "raise":
        return indices
    if not isinstance(indices, Traced):
        places = np.asarray(indices)
        return np.mod(places, size) if mode == "wrap" else np.clip(places, 0, size - 1)
    if mode == "clip":
        return like(indices, e.minimum(e.maximum(indices.expr, 0), size - 1))
    return like(indices, indices.expr - size * e.floor(indices.expr / size))


def _at(x: Traced, axis: int, places: Any) -> Traced:
    return read(x, (*[slice(None)] * axis, places))


@lowers(np.take)
def take(x: Traced, indices: Any, axis: OneAxis, mode: str = "raise") -> Traced:
    return _at(x, axis, _within(indices, x.shape[axis], mode))


@lowers(np.take_along_axis)
def take_along_axis(x: Traced, indices: Any, axis: OneAxis) -> Traced:
    at = indices if isinstance(indices, Traced) else np.asarray(indices)
    if at.ndim != x.ndim:
        raise ShapeError(f"np.take_along_axis takes indices with as many axes as the array: {at.shape} and {x.shape}.")
    if at.dtype.kind not in "iu":
        raise AxisError(f"An array is read at whole numbers; the indices have the type {at.dtype}.")
    size = x.shape[axis]
    if not isinstance(at, Traced):
        if at.size and (at.min() < -size or at.max() >= size):
            raise AxisError(
                f"An index is out of bounds on axis {axis} of the shape {x.shape}: {at.min()} to {at.max()}."
            )
        at = np.where(at < 0, at + size, at) if (at < 0).any() else at
    rest = broadcast_shape(*[tuple([1 if a == axis else s for a, s in enumerate(y.shape)]) for y in (x, at)])
    shape = [at.shape[a] if a == axis else s for a, s in enumerate(rest)]
    return like(x, moving.gathered_along(x.expr, axis, from_the_front(at, size), shape))


@lowers(np.choose)
def choose(a: Any, choices: Any, mode: str = "raise") -> Traced:
    parts = [lift(choice) for choice in choices]
    if not isinstance(a, Traced) and mode == "raise":
        places = np.asarray(a)
        if places.size and not 0 <= places.min() <= places.max() < len(parts):
            raise AxisError(f"np.choose: there are {len(parts)} choices, so the numbers go from 0 to {len(parts) - 1}.")
    index = lift(_within(a, len(parts), mode))
    dtype = common(*parts)
    found = parts[-1]
    for number, part in reversed(list(enumerate(parts[:-1]))):
        found = pointwise(lambda i, x, y, n=number: e.where(e.equal(i, n), x, y), index, part, found, dtype=dtype)
    return broadcast(like(found, found.expr, dtype), broadcast_shape(index.shape, *[x.shape for x in parts]))


@lowers(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Traced:
    if len(condlist) != len(choicelist) or not condlist:
        raise InputError("np.select takes as many choices as conditions, and one of each at least.")
    found = lift(default)
    weak = [x if type(x) in (int, float) else lift(x) for x in (*choicelist, default)]
    dtype = common(*weak)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        found = pointwise(e.where, lift(condition), lift(choice), found, dtype=dtype)
    return found


@lowers(np.compress)
def compress(a: Traced, condition: Known, axis: OneAxis) -> Traced:
    return _at(a, axis, np.flatnonzero(condition))


@lowers(np.extract)
def extract(arr: Traced, condition: Known) -> Traced:
    return read(flat(arr), np.flatnonzero(condition))


@lowers(np.piecewise)
def piecewise(x: Traced, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Traced:
    """Each function is applied to the whole array; the last one whose condition holds gives the value."""
    conditions = [lift(c) for c in condlist] if isinstance(condlist, (list, tuple)) else [lift(condlist)]
    if len(conditions) == 1 and conditions[0].ndim == x.ndim + 1:
        conditions = [read(conditions[0], n) for n in range(conditions[0].shape[0])]
    pieces = list(funclist)
    if len(pieces) not in (len(conditions), len(conditions) + 1):
        raise InputError(
            f"np.piecewise takes {len(conditions)} functions, or one more for the rest, not {len(pieces)}."
        )
    otherwise = pieces.pop() if len(pieces) > len(conditions) else 0
    found = _piece(otherwise, x, args, kw)
    for condition, piece in zip(conditions, pieces, strict=True):
        found = pointwise(e.where, condition, _piece(piece, x, args, kw), found, dtype=x.dtype)
    return found


def _piece(piece: Any, x: Traced, args: tuple, kw: dict) -> Traced:
    value = lift(piece(x, *args, **kw) if callable(piece) else piece)
    return broadcast(cast(value, x.dtype), x.shape)


@lowers(np.nonzero, np.argwhere, np.flatnonzero, note="of eager tensors only")
def nonzero(a: Any) -> NoReturn:
    raise NeedsValueError(
        "Where an array is not zero, and how often, depends on its values; write np.where(condition, a, b), or "
        "multiply by the condition."
    )
