"""Movements of traced arrays, from which lowerings are built; what they are is in ``ricci.expr.moving``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.errors import ShapeError
from ricci.expr import Expr, moving
from ricci.functions import elementwise as e
from ricci.tracing.array import Traced
from ricci.tracing.basics import INT, broadcast_shape, common, fresh, lift, like, normal_axis
from ricci.tracing.casting import cast

Array = Any  # a traced array, whose operators come from a table that type checkers do not see


def part(x: Traced, axis: int, start: int, count: int, step: int = 1) -> Array:
    """``count`` entries along an axis, from ``start`` on; none where they are outside."""
    return like(x, moving.sliced(x.expr, normal_axis(x, axis), start, step, count))


def entry(x: Traced, axis: int, position: int) -> Array:
    """The entries at one position of an axis, which is left out."""
    axis = normal_axis(x, axis)
    return like(x, moving.entry(x.expr, axis, position % x.shape[axis] if x.shape[axis] else 0))


def places(expr: Expr) -> Traced:
    """Places of entries as whole numbers: these stay or jump, so that derivatives take them as constants."""
    return fresh(e.stop_gradient(expr), INT)


def joined(parts: Sequence[Traced], axis: int, dtype: Any = None) -> Array:
    """Arrays one after the other along an axis."""
    found = moving.joined([x.expr for x in parts], normal_axis(parts[0], axis))
    return fresh(found, common(*parts) if dtype is None else dtype)


def selected(x: Traced, axis: int, places: np.ndarray) -> Traced:
    """``x`` read along ``axis`` at known places, none of them negative."""
    return like(x, moving.selected(x.expr, axis, places.tolist(), lambda: lift(places).expr))


def flat(x: Traced) -> Traced:
    """All entries along one axis, in row-major order."""
    return shaped(x, (x.size,))


def shaped(x: Traced, shape: tuple[int, ...]) -> Traced:
    """The entries in another shape, which fits."""
    return like(x, moving.reshaped(x.expr, shape))


def with_axes(x: Traced, *axes: int) -> Array:
    """The array with new axes of size 1, at these places of the result."""
    order = x.ndim + len(axes)
    return like(x, moving.with_ones(x.expr, [axis % order for axis in axes]))


def along(vector: Traced, axis: int, order: int) -> Array:
    """A vector along one axis of ``order``, of size 1 along the others."""
    return like(vector, moving.with_ones(vector.expr, [a for a in range(order) if a != axis]))


def looked_up(vector: Traced, index: Traced) -> Array:
    """The entries of a vector at places that an array of whole numbers gives."""
    return like(vector, moving.gathered(vector.expr, 0, index.expr))


def broadcast(x: Traced, shape: tuple[int, ...]) -> Traced:
    """``x`` with the axes of ``shape``, or an error."""
    if len(shape) < x.ndim or broadcast_shape(x.shape, shape) != shape:
        raise ShapeError(f"An array of the shape {x.shape} cannot be broadcast to the shape {shape}.")
    return like(x, moving.expanded(x.expr, shape))


def converted(x: Traced, dtype: Any) -> Traced:
    """The array in another type, if one is given."""
    return x if dtype is None else cast(x, dtype)


def vector(x: Any, what: str) -> Traced:
    """An argument that must have one axis."""
    found = lift(x)
    if found.ndim != 1:
        raise ShapeError(f"{what} must have one axis; here it has the shape {found.shape}.")
    return found


def of_order(x: Traced, least: int, name: str) -> Traced:
    """An argument that must have some axes."""
    if x.ndim < least:
        raise ShapeError(f"{name} takes arrays of {least} axes or more, not of the shape {x.shape}.")
    return x
