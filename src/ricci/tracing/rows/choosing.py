"""Entries chosen by integers or conditions: take, choose, select, piecewise."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

import numpy as np

from ricci.errors import AxisError, InputError, ShapeError
from ricci.expr import product
from ricci.functions import elementwise as e
from ricci.tracing.array import Traced, has_traced
from ricci.tracing.basics import (
    NeedsValueError,
    broadcast_shape,
    common,
    concrete,
    lift,
    like,
    normal_axis,
    pointwise,
    refuse,
)
from ricci.tracing.casting import cast
from ricci.tracing.rows.keys import hot_at, read
from ricci.tracing.rows.shaping import broadcast, ravel
from ricci.tracing.table import lowers

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


@lowers(np.take)
def take(a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Traced:
    refuse("np.take", out=out)
    x = lift(a) if axis is not None else ravel(a)
    own = normal_axis(x, 0 if axis is None else axis)
    return read(x, (*[slice(None)] * own, _within(indices, x.shape[own], mode)))


@lowers(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Traced:
    x, at = lift(arr), indices if isinstance(indices, Traced) else np.asarray(indices)
    if axis is None:
        x, axis = ravel(x), 0
    axis = normal_axis(x, axis)
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

    def labels(own: Sequence[int], along: Hashable) -> list[Hashable]:
        spread = [("unit", along, a) if s == 1 and shape[a] != 1 else a for a, s in enumerate(own)]
        return [along if a == axis else label for a, label in enumerate(spread)]

    hot = hot_at(at, size)
    factors = [(x.expr, labels(x.shape, "read")), (hot, [*labels(at.shape, axis), "read"])]
    return like(x, product(factors, range(x.ndim), dict(enumerate(shape))))


@lowers(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Traced:
    refuse("np.choose", out=out)
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
def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Traced:
    refuse("np.compress", out=out)
    x = lift(a) if axis is not None else ravel(a)
    own = normal_axis(x, 0 if axis is None else axis)
    kept = np.flatnonzero(concrete(condition, "The condition of np.compress"))
    return read(x, (*[slice(None)] * own, kept))


@lowers(np.extract)
def extract(condition: Any, arr: Any) -> Traced:
    kept = np.flatnonzero(concrete(condition, "The condition of np.extract"))
    return read(ravel(arr), kept)


@lowers(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Traced:
    """Each function is applied to the whole array; the last one whose condition holds gives the value."""
    array = lift(x)
    conditions = [lift(c) for c in condlist] if isinstance(condlist, (list, tuple)) else [lift(condlist)]
    if len(conditions) == 1 and conditions[0].ndim == array.ndim + 1:
        conditions = [read(conditions[0], n) for n in range(conditions[0].shape[0])]
    pieces = list(funclist)
    if len(pieces) not in (len(conditions), len(conditions) + 1):
        raise InputError(
            f"np.piecewise takes {len(conditions)} functions, or one more for the rest, not {len(pieces)}."
        )
    otherwise = pieces.pop() if len(pieces) > len(conditions) else 0
    found = _piece(otherwise, array, args, kw)
    for condition, piece in zip(conditions, pieces, strict=True):
        found = pointwise(e.where, condition, _piece(piece, array, args, kw), found, dtype=array.dtype)
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
