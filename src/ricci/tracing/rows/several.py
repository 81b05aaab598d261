"""Several arrays as one, and one as several.

concatenation    y[c]   = sum over k of [c == i + o_k] x_k[i],   o_k the sizes before
stack            y[s,i] = sum over k of [s == k] x_k[i]
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ricci.errors import InputError, ShapeError
from ricci.expr.moving import joined, sliced
from ricci.tracing.array import Traced
from ricci.tracing.basics import common, concrete, fresh, lift, like, normal_axis, refuse
from ricci.tracing.casting import cast
from ricci.tracing.rows.shaping import atleast_1d, atleast_2d, atleast_3d, expand_dims, ravel, squeeze
from ricci.tracing.table import lowers


def _parts(name: str, arrays: Any) -> list[Traced]:
    """The arrays to be joined: the members of a list, or the slices of one array."""
    if isinstance(arrays, Traced):
        return unstack(arrays) if arrays.ndim else [arrays]
    found = [lift(x) for x in arrays]
    if not found:
        raise InputError(f"{name} needs at least one array.")
    return found


@lowers(np.concatenate, np.concat)
def concatenate(
    arrays: Any, /, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Traced:
    refuse("np.concatenate", out=out)
    return concatenated("np.concatenate", _parts("np.concatenate", arrays), axis, dtype)


def concatenated(name: str, parts: Sequence[Traced], axis: int | None, dtype: Any = None) -> Traced:
    """The parts one after another along an axis that they have; without one, flat."""
    if axis is None:
        parts, axis = [ravel(x) for x in parts], 0
    first = parts[0]
    if not first.ndim:
        raise ShapeError(f"{name} takes arrays with axes, not numbers; np.stack joins numbers.")
    axis = normal_axis(first, axis)
    for x in parts:
        if _without(x.shape, axis) != _without(first.shape, axis) or x.ndim != first.ndim:
            raise ShapeError(
                f"{name} joins arrays whose shapes are the same but along axis {axis}, not {first.shape} and {x.shape}."
            )
    found = common(*parts)
    joint = fresh(joined([x.expr for x in parts], axis), found)
    return joint if dtype is None else cast(joint, dtype)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


@lowers(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
    refuse("np.stack", out=out)
    parts = _parts("np.stack", arrays)
    for x in parts:
        if x.shape != parts[0].shape:
            raise ShapeError(f"np.stack takes arrays of one shape, not {parts[0].shape} and {x.shape}.")
    return concatenated("np.stack", [expand_dims(x, axis) for x in parts], axis, dtype)


@lowers(np.vstack, getattr(np, "row_stack", None))
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
    return concatenated("np.vstack", [atleast_2d(x) for x in _parts("np.vstack", tup)], 0, dtype)


@lowers(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Traced:
    parts = [atleast_1d(x) for x in _parts("np.hstack", tup)]
    return concatenated("np.hstack", parts, 0 if parts[0].ndim == 1 else 1, dtype)


@lowers(np.dstack)
def dstack(tup: Any) -> Traced:
    return concatenated("np.dstack", [atleast_3d(x) for x in _parts("np.dstack", tup)], 2)


@lowers(np.column_stack)
def column_stack(tup: Any) -> Traced:
    parts = [x if x.ndim > 1 else expand_dims(atleast_1d(x), 1) for x in _parts("np.column_stack", tup)]
    return concatenated("np.column_stack", parts, 1)


@lowers(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Traced:
    return concatenated("np.append", [lift(arr), lift(values)], axis)


@lowers(np.block)
def block(arrays: Any) -> Traced:
    depth = _depth(arrays)
    order = max(depth, _most_axes(arrays))
    return _blocks(arrays, depth, order)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise InputError("np.block takes lists that are not empty.")
    depths = {_depth(x) for x in arrays}
    if len(depths) > 1:
        raise InputError("np.block takes lists nested to one depth.")
    return depths.pop() + 1


def _most_axes(arrays: Any) -> int:
    return max([_most_axes(x) for x in arrays]) if isinstance(arrays, list) else lift(arrays).ndim


def _blocks(arrays: Any, depth: int, order: int) -> Traced:
    """The innermost lists are joined along the last axis, those around them along the one before."""
    if not isinstance(arrays, list):
        x = lift(arrays)
        return expand_dims(x, tuple(range(order - x.ndim)))
    parts = [_blocks(x, depth - 1, order) for x in arrays]
    return concatenated("np.block", parts, order - depth)


# One as several


@lowers(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Traced]:
    x = lift(ary)
    axis = normal_axis(x, axis)
    size = x.shape[axis]
    asked = concrete(indices_or_sections, "Where an array is split")
    if asked.ndim == 0:
        many = int(asked)
        if many <= 0:
            raise InputError(f"An array is split into one part or more, not into {many}.")
        cuts = [k * (size // many) + min(k, size % many) for k in range(many + 1)]
    else:
        cuts = [0, *[int(c) for c in asked], size]
    return [_between(x, axis, start, stop) for start, stop in pairwise(cuts)]


def _between(x: Traced, axis: int, start: int, stop: int) -> Traced:
    first, end, _ = slice(start, stop).indices(x.shape[axis])
    return like(x, sliced(x.expr, axis, first, 1, max(end - first, 0)))


@lowers(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Traced]:
    x = lift(ary)
    asked = concrete(indices_or_sections, "Where an array is split")
    size = x.shape[normal_axis(x, axis)]
    if asked.ndim == 0 and (asked <= 0 or size % asked):
        raise ShapeError(f"np.split makes equal parts: an axis of size {size} is not {asked} of them (np.array_split).")
    return array_split(x, indices_or_sections, axis)


def _split_along(x: Traced, indices_or_sections: Any, axis: int, least: int, name: str) -> list[Traced]:
    if x.ndim < least:
        raise ShapeError(f"{name} takes arrays of {least} axes or more, not of the shape {x.shape}.")
    return split(x, indices_or_sections, axis)


@lowers(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Traced]:
    x = lift(ary)
    return _split_along(x, indices_or_sections, 1 if x.ndim > 1 else 0, 1, "np.hsplit")


@lowers(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Traced]:
    return _split_along(lift(ary), indices_or_sections, 0, 2, "np.vsplit")


@lowers(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Traced]:
    return _split_along(lift(ary), indices_or_sections, 2, 3, "np.dsplit")


@lowers(getattr(np, "unstack", None))
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    found = lift(x)
    axis = normal_axis(found, axis)
    return tuple([squeeze(_between(found, axis, k, k + 1), axis) for k in range(found.shape[axis])])
