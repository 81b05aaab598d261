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
from ricci.expr import moving
from ricci.tracing.arguments import Axis, Known, Type
from ricci.tracing.array import Traced, fresh
from ricci.tracing.basics import concrete, in_a_row, lift, normal_axis
from ricci.tracing.lowerings import TABLE, lines, lowers
from ricci.tracing.rows.along import converted, entry, flat, joined, of_order, part, with_axes
from ricci.tracing.rows.shaping import at_least, new_axes


@lowers(np.concatenate, np.concat)
def concatenate(arrays: list[Traced], axis: int | None = 0, dtype: Type = None) -> Traced:
    return concatenated("np.concatenate", arrays, axis, dtype)


def concatenated(name: str, parts: Sequence[Traced], axis: int | None, dtype: Any = None) -> Traced:
    """The parts one after another along an axis that they have; without one, flat."""
    if axis is None:
        parts, axis = [flat(x) for x in parts], 0
    first = parts[0]
    if not first.ndim:
        raise ShapeError(f"{name} takes arrays with axes, not numbers; np.stack joins numbers.")
    axis = normal_axis(first, axis)
    for x in parts:
        if _without(x.shape, axis) != _without(first.shape, axis) or x.ndim != first.ndim:
            raise ShapeError(
                f"{name} joins arrays whose shapes are the same but along axis {axis}, not {first.shape} and {x.shape}."
            )
    return converted(joined(parts, axis), dtype)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


@lowers(np.stack)
def stack(arrays: list[Traced], axis: int = 0, dtype: Type = None) -> Traced:
    for x in arrays:
        if x.shape != arrays[0].shape:
            raise ShapeError(f"np.stack takes arrays of one shape, not {arrays[0].shape} and {x.shape}.")
    (axis,) = new_axes(arrays[0].ndim, (axis,))
    found = moving.moved_axis(in_a_row(arrays), 0, axis)
    return converted(fresh(found, np.result_type(*{x.dtype for x in arrays})), dtype)


def _columns(x: Traced) -> Traced:
    return x if x.ndim > 1 else with_axes(at_least(x, 1), 1)


def _beside(parts: Sequence[Traced], dtype: Any) -> Traced:
    parts = [at_least(x, 1) for x in parts]
    return concatenated("np.hstack", parts, 0 if parts[0].ndim == 1 else 1, dtype)


lines(
    __name__,
    {
        np.vstack: lambda parts, dtype=None: concatenated("np.vstack", [at_least(x, 2) for x in parts], 0, dtype),
        np.hstack: lambda parts, dtype=None: _beside(parts, dtype),
        np.dstack: lambda parts: concatenated("np.dstack", [at_least(x, 3) for x in parts], 2),
        np.column_stack: lambda parts: concatenated("np.column_stack", [_columns(x) for x in parts], 1),
        np.append: lambda x, y, axis=None: concatenated("np.append", [x, y], axis),
    },
)
lowers(getattr(np, "row_stack", None))(TABLE[np.vstack].lower)


@lowers(np.block)
def block(arrays: Any) -> Traced:
    depth = _depth(arrays)
    return _blocks(arrays, depth, max(depth, _most_axes(arrays)))


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
        return with_axes(x, *range(order - x.ndim))
    parts = [_blocks(x, depth - 1, order) for x in arrays]
    return concatenated("np.block", parts, order - depth)


# One as several


@lowers(np.array_split)
def array_split(x: Traced, indices_or_sections: Known, axis: Axis = 0) -> list[Traced]:
    size = x.shape[axis]
    if indices_or_sections.ndim == 0:
        many = int(indices_or_sections)
        if many <= 0:
            raise InputError(f"An array is split into one part or more, not into {many}.")
        cuts = [k * (size // many) + min(k, size % many) for k in range(many + 1)]
    else:
        cuts = [0, *indices_or_sections.tolist(), size]
    found = [slice(start, stop).indices(size) for start, stop in pairwise(cuts)]
    return [part(x, axis, start, max(stop - start, 0)) for start, stop, _ in found]


@lowers(np.split)
def split(x: Traced, indices_or_sections: Known, axis: Axis = 0) -> list[Traced]:
    asked, size = indices_or_sections, x.shape[axis]
    if asked.ndim == 0 and (asked <= 0 or size % asked):
        raise ShapeError(f"np.split makes equal parts: an axis of size {size} is not {asked} of them (np.array_split).")
    return array_split(x, asked, axis)


def _cut(name: str, x: Traced, at: Any, axis: int, least: int) -> list[Traced]:
    return split(of_order(x, least, name), concrete(at, f"{name}: indices_or_sections"), axis)


lines(
    __name__,
    {
        np.hsplit: lambda x, at: _cut("np.hsplit", x, at, 1 if x.ndim > 1 else 0, 1),
        np.vsplit: lambda x, at: _cut("np.vsplit", x, at, 0, 2),
        np.dsplit: lambda x, at: _cut("np.dsplit", x, at, 2, 3),
    },
)


@lowers(getattr(np, "unstack", None))
def unstack(x: Traced, axis: Axis = 0) -> tuple[Traced, ...]:
    return tuple([entry(x, axis, k) for k in range(x.shape[axis])])
