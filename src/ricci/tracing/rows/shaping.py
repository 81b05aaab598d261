"""The axes of an array: their order, their sizes, and which way they run."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ricci.errors import AxisError, InputError, ShapeError
from ricci.expr import moving
from ricci.tracing.arguments import Axes, Axis, Ints, whole_numbers
from ricci.tracing.array import Traced
from ricci.tracing.basics import broadcast_shape, like, normal_axes
from ricci.tracing.casting import cast
from ricci.tracing.lowerings import lines, lowers
from ricci.tracing.rows.along import broadcast, of_order, shaped, with_axes

# Sizes


@lowers(np.reshape)
def reshape(x: Traced, shape: Ints, order: str = "C") -> Traced:
    sizes = _filled(x, shape)
    return shaped(x, sizes) if order != "F" else _reversed(shaped(_reversed(x), sizes[::-1]))


def _reversed(x: Traced) -> Traced:
    return like(x, moving.transposed(x.expr, range(x.ndim)[::-1]))


def _filled(x: Traced, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, with the size that -1 stands for."""
    rest = prod([size for size in shape if size != -1])
    if shape.count(-1) == 1 and rest and x.size % rest == 0:
        return tuple([x.size // rest if size == -1 else size for size in shape])
    if -1 in shape or rest != x.size:
        raise ShapeError(f"An array of the shape {x.shape} has {x.size} entries; they do not make the shape {shape}.")
    return shape


@lowers(np.ravel)
def ravel(x: Traced, order: str = "C") -> Traced:
    return reshape(x, (x.size,), order)


@lowers(np.expand_dims)
def expand_dims(x: Traced, axis: Ints) -> Traced:
    return with_axes(x, *new_axes(x.ndim, axis))


def new_axes(order: int, axis: tuple[int, ...]) -> list[int]:
    """The places of new axes in an array that has ``order`` others."""
    order += len(axis)
    found = {n % order: None for n in axis if -order <= n < order}
    if len(found) < len(axis):
        raise AxisError(f"The axes {axis} are not {len(axis)} different ones of an array with {order} axes.")
    return list(found)


@lowers(np.squeeze)
def squeeze(x: Traced, axis: Any = None) -> Traced:
    gone = [a for a in range(x.ndim) if x.shape[a] == 1] if axis is None else normal_axes(x, axis)
    for a in gone:
        if x.shape[a] != 1:
            raise ShapeError(f"np.squeeze takes away axes of size 1; axis {a} of the shape {x.shape} is not one.")
    return like(x, moving.without_ones(x.expr, gone))


@lowers(np.broadcast_arrays)
def broadcast_arrays(*args: Traced) -> tuple[Traced, ...]:
    shape = broadcast_shape(*[x.shape for x in args])
    return tuple([broadcast(x, shape) for x in args])


def at_least(x: Traced, least: int) -> Traced:
    """The array with at least so many axes; new ones stand in front, but the third of a matrix at the end."""
    new = {1: (0, 2), 2: (2,)}.get(x.ndim) if least == 3 else None
    missing = max(least - x.ndim, 0)
    return with_axes(x, *(new or range(missing))) if missing else x


def _at_least(function: Any, least: int) -> None:
    def lower(*arys: Traced) -> Any:
        made = [at_least(x, least) for x in arys]
        return made[0] if len(made) == 1 else tuple(made)

    lowers(function)(lower)


_at_least(np.atleast_1d, 1)
_at_least(np.atleast_2d, 2)
_at_least(np.atleast_3d, 3)


@lowers(np.meshgrid)
def meshgrid(*xi: Traced, sparse: bool = False, indexing: str = "xy") -> tuple[Traced, ...]:
    if indexing not in ("xy", "ij"):
        raise InputError(f"np.meshgrid: indexing is 'xy' or 'ij', not {indexing!r}.")
    order = len(xi)
    axes = [1, 0, *range(2, order)] if indexing == "xy" and order > 1 else [*range(order)]
    thin = [
        shaped(x, tuple([x.size if a == axis else 1 for a in range(order)])) for x, axis in zip(xi, axes, strict=True)
    ]
    return tuple(thin) if sparse else broadcast_arrays(*thin)


# The order of axes


@lowers(np.transpose, np.permute_dims)
def transpose(x: Traced, axes: Any = None) -> Traced:
    order = tuple(range(x.ndim)[::-1]) if axes is None else normal_axes(x, whole_numbers(axes, "np.transpose: axes"))
    if len(order) != x.ndim:
        raise AxisError(f"np.transpose takes each of the {x.ndim} axes once, not {axes}.")
    return like(x, moving.transposed(x.expr, order))


@lowers(np.swapaxes)
def swapaxes(x: Traced, axis1: Axis, axis2: Axis) -> Traced:
    order = list(range(x.ndim))
    order[axis1], order[axis2] = axis2, axis1
    return like(x, moving.transposed(x.expr, order))


@lowers(np.moveaxis)
def moveaxis(x: Traced, source: Axes, destination: Axes) -> Traced:
    if len(source) != len(destination):
        raise AxisError(f"np.moveaxis takes as many destinations as sources, not {source} and {destination}.")
    order = [axis for axis in range(x.ndim) if axis not in source]
    for target, axis in sorted(zip(destination, source, strict=True)):
        order.insert(target, axis)
    return like(x, moving.transposed(x.expr, order))


@lowers(np.rollaxis)
def rollaxis(x: Traced, axis: Axis, start: int = 0) -> Traced:
    if not -x.ndim <= start <= x.ndim:
        raise AxisError(f"np.rollaxis: start={start} is not a place among {x.ndim} axes.")
    target = start + x.ndim if start < 0 else start
    return like(x, moving.moved_axis(x.expr, axis, target - (axis < target)))


# Which way axes run


@lowers(np.flip)
def flip(x: Traced, axis: Axes) -> Traced:
    e = x.expr
    for a in axis:
        e = moving.flipped(e, a)
    return like(x, e)


@lowers(np.rot90)
def rot90(x: Traced, k: int = 1, axes: Sequence[int] = (0, 1)) -> Traced:
    chosen = normal_axes(x, tuple(axes))
    if len(chosen) != 2:
        raise AxisError(f"np.rot90 turns the plane of two different axes, not of {tuple(axes)}.")
    first, second = chosen
    turns = k % 4
    if turns == 2:
        return flip(x, chosen)
    if turns == 0:
        return x
    if turns == 1:
        return swapaxes(flip(x, (second,)), first, second)
    return flip(swapaxes(x, first, second), (second,))


def _turned(x: Traced) -> Traced:
    return swapaxes(of_order(x, 2, "np.matrix_transpose"), x.ndim - 2, x.ndim - 1)


lines(
    __name__,
    {
        np.fliplr: lambda x: flip(of_order(x, 2, "np.fliplr"), (1,)),
        np.flipud: lambda x: flip(of_order(x, 1, "np.flipud"), (0,)),
        np.matrix_transpose: _turned,
        np.linalg.matrix_transpose: _turned,
        np.broadcast_to: lambda x, shape: broadcast(x, whole_numbers(shape, "np.broadcast_to: shape")),
        np.copy: lambda x: x,
        np.astype: cast,
    },
)
