"""Movements along one axis, from which lowerings are built: a part, parts joined, all axes as one, a look-up.

    part      y[i] = [j == step·i + start] x[j]
    joined    y[c] = sum over k of [c == i + o_k] x_k[i],  o_k the sizes before
    flat      y[c] = [c == a·B + b] x[a,b]
    looked_up y[i] = [v == n[i]] x[v]

Each is a product with a structure, which the product rule differentiates and compiled code turns back into a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.errors import ShapeError
from ricci.expr import Expr, Size, add, constant, one_hot, place, product, window
from ricci.functions import elementwise as e
from ricci.functions.axes import last
from ricci.tracing.array import Traced
from ricci.tracing.basics import INT, common, kept_as_ones, lift, like, normal_axis, pointwise
from ricci.tracing.table import fresh

Array = Any  # a traced array, whose operators come from a table that type checkers do not see


def part(x: Traced, axis: int, start: int, count: int, step: int = 1) -> Array:
    """``count`` entries along an axis, from ``start`` on; none where they are outside."""
    axis = normal_axis(x, axis)
    n, order = x.shape[axis], x.ndim
    if (start, count, step) == (0, n, 1):
        return x
    read = ["read" if a == axis else a for a in range(order)]
    return like(x, product([(x.expr, read), (window((step,), start, n, (count,)), ("read", axis))], range(order)))


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
    axis = normal_axis(parts[0], axis)
    order, total = parts[0].ndim, sum(x.shape[axis] for x in parts)
    terms, before = [], 0
    for x in parts:
        read = ["read" if a == axis else a for a in range(order)]
        n = x.shape[axis]
        goes = window((1,), before, total, (n,))
        terms.append((1, product([(x.expr, read), (goes, (axis, "read"))], range(order))))
        before += n
    return fresh(add(terms), common(*parts) if dtype is None else dtype)


def flat(x: Traced) -> Traced:
    """All entries along one axis, in row-major order."""
    return x if x.ndim == 1 else like(x, last(x.expr, tuple(range(x.ndim))))


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
    axes = tuple(range(index.ndim))
    hot = one_hot(index.expr, vector.shape[0])
    return like(vector, product([(vector.expr, ("v",)), (hot, (*axes, "v"))], axes))


def converted(x: Traced, dtype: Any) -> Traced:
    """The array in another type: to whole numbers, what is behind the point is cut off."""
    if dtype is None or x.dtype == (wanted := np.dtype(dtype)):
        return x
    if wanted.kind == "b":
        return pointwise(lambda v: e.not_equal(v, 0), x, dtype=wanted)
    if wanted.kind in "iu" and x.dtype.kind == "f":
        return pointwise(lambda v: e.where(e.less(v, 0), e.ceil(v), e.floor(v)), x, dtype=wanted)
    return like(x, x.expr, wanted)


def vector(x: Any, what: str) -> Traced:
    """An argument that must have one axis."""
    found = lift(x)
    if found.ndim != 1:
        raise ShapeError(f"{what} must have one axis; here it has the shape {found.shape}.")
    return found


def everywhere(value: Any, shape: Sequence[Size]) -> Expr:
    """A number at all places of a shape."""
    return product([(constant(value), ())], range(len(shape)), dict(enumerate(shape)))
