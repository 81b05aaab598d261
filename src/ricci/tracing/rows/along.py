"""Movements along one axis of traced arrays, from which lowerings are built; see ``ricci.expr.moving``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.errors import ShapeError
from ricci.expr import Expr, Size, constant, moving, place, product
from ricci.expr.moving import gathered, reshaped, sliced
from ricci.expr.moving import joined as in_a_row
from ricci.functions import elementwise as e
from ricci.tracing.array import Traced, fresh
from ricci.tracing.basics import INT, common, kept_as_ones, lift, like, normal_axis
from ricci.tracing.casting import cast

Array = Any  # a traced array, whose operators come from a table that type checkers do not see


def part(x: Traced, axis: int, start: int, count: int, step: int = 1) -> Array:
    """``count`` entries along an axis, from ``start`` on; none where they are outside."""
    return like(x, sliced(x.expr, normal_axis(x, axis), start, step, count))


def entry(x: Traced, axis: int, position: int) -> Array:
    """The entries at one position of an axis, which is left out."""
    axis = normal_axis(x, axis)
    n = x.shape[axis]
    rest = [a for a in range(x.ndim) if a != axis]
    return like(x, product([(x.expr, range(x.ndim)), (place(position % n if n else 0, n), (axis,))], rest))


def places(expr: Expr) -> Traced:
    """Places of entries as whole numbers: these stay or jump, so that derivatives take them as constants."""
    return fresh(e.stop_gradient(expr), INT)


def joined(parts: Sequence[Traced], axis: int, dtype: Any = None) -> Traced:
    """Arrays one after the other along an axis."""
    found = in_a_row([x.expr for x in parts], normal_axis(parts[0], axis))
    return fresh(found, common(*parts) if dtype is None else dtype)


def selected(e: Expr, axis: int, places: np.ndarray) -> Expr:
    """``e`` read along ``axis`` at known places, none of them negative."""
    return moving.selected(e, axis, places.tolist(), lambda: lift(places).expr)


def flat(x: Traced) -> Traced:
    """All entries along one axis, in row-major order."""
    return like(x, reshaped(x.expr, (x.size,)))


def along_one(x: Traced, axis: int | None) -> tuple[Traced, int]:
    """The array and its axis; None stands for the one axis of all its entries."""
    return (flat(x), 0) if axis is None else (x, normal_axis(x, axis))


def with_axis(x: Traced, axis: int) -> Array:
    """The array with a new axis of size 1."""
    return like(x, kept_as_ones(x.expr, (axis % (x.ndim + 1),), x.ndim + 1))


def along(vector: Traced, axis: int, order: int) -> Array:
    """A vector along one axis of ``order``, of size 1 along the others."""
    return like(vector, kept_as_ones(vector.expr, [a for a in range(order) if a != axis], order))


def looked_up(vector: Traced, index: Traced) -> Array:
    """The entries of a vector at places that an array of whole numbers gives."""
    return like(vector, gathered(vector.expr, 0, index.expr))


def converted(x: Traced, dtype: Any) -> Traced:
    """The array in another type, if one is given."""
    return x if dtype is None else cast(x, dtype)


def vector(x: Any, what: str) -> Traced:
    """An argument that must have one axis."""
    found = lift(x)
    if found.ndim != 1:
        raise ShapeError(f"{what} must have one axis; here it has the shape {found.shape}.")
    return found


def everywhere(value: Any, shape: Sequence[Size]) -> Expr:
    """A number at all places of a shape."""
    return product([(constant(value), ())], range(len(shape)), dict(enumerate(shape)))
