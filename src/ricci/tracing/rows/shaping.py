"""The axes of an array: their order, their sizes, and which way they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.errors import AxisError, InputError, ShapeError
from ricci.expr import product
from ricci.expr.moving import flipped, moved_axis, reshaped, transposed
from ricci.tracing.array import Traced
from ricci.tracing.basics import (
    Axis,
    broadcast_shape,
    concrete,
    expanded,
    lift,
    like,
    normal_axes,
    normal_axis,
    refuse,
    total,
)
from ricci.tracing.table import lowers


def whole_numbers(value: Any, what: str) -> tuple[int, ...]:
    """A shape or the like: a number or several, known while tracing."""
    found = concrete(value, what)
    if found.size and found.dtype.kind not in "iu":
        raise InputError(f"{what} is made of whole numbers, not of {value!r}.")
    return tuple([int(n) for n in found.ravel()])


# Sizes


@lowers(np.reshape)
def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: Any = None) -> Traced:
    x = lift(a)
    sizes = _filled(x, whole_numbers(shape, "A new shape"))
    if order != "F":
        return like(x, reshaped(x.expr, sizes))
    backwards = reshaped(_reversed(x).expr, sizes[::-1])
    return _reversed(like(x, backwards))


def _reversed(x: Traced) -> Traced:
    return like(x, transposed(x.expr, range(x.ndim)[::-1]))


def _filled(x: Traced, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, with the size that -1 stands for."""
    rest = total([size for size in shape if size != -1])
    if shape.count(-1) == 1 and rest and x.size % rest == 0:
        return tuple([x.size // rest if size == -1 else size for size in shape])
    if -1 in shape or rest != x.size:
        raise ShapeError(f"An array of the shape {x.shape} has {x.size} entries; they do not make the shape {shape}.")
    return shape


@lowers(np.ravel)
def ravel(a: Any, order: str = "C") -> Traced:
    return reshape(a, -1 if lift(a).size else 0, order=order)


@lowers(np.expand_dims)
def expand_dims(a: Any, axis: Axis) -> Traced:
    x = lift(a)
    new = whole_numbers(axis, "axis")
    order = x.ndim + len(new)
    found = {n % order for n in new if -order <= n < order}
    if len(found) < len(new):
        raise AxisError(f"The axes {new} are not {len(new)} different ones of an array with {order} axes.")
    rest = [a for a in range(order) if a not in found]
    return like(x, product([(x.expr, rest)], range(order), dict.fromkeys(found, 1)))


@lowers(np.squeeze)
def squeeze(a: Any, axis: Axis = None) -> Traced:
    x = lift(a)
    gone = [a for a in range(x.ndim) if x.shape[a] == 1] if axis is None else normal_axes(x, axis)
    for a in gone:
        if x.shape[a] != 1:
            raise ShapeError(f"np.squeeze takes away axes of size 1; axis {a} of the shape {x.shape} is not one.")
    return like(x, product([(x.expr, range(x.ndim))], [a for a in range(x.ndim) if a not in gone]))


def broadcast(x: Traced, shape: tuple[int, ...]) -> Traced:
    """``x`` with the axes of ``shape``, or an error."""
    if len(shape) < x.ndim or broadcast_shape(x.shape, shape) != shape:
        raise ShapeError(f"An array of the shape {x.shape} cannot be broadcast to the shape {shape}.")
    return like(x, expanded(x.expr, shape))


@lowers(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Traced:
    return broadcast(lift(array), whole_numbers(shape, "A new shape"))


@lowers(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Traced, ...]:
    xs = [lift(x) for x in args]
    shape = broadcast_shape(*[x.shape for x in xs])
    return tuple([broadcast(x, shape) for x in xs])


def _one_or_all(made: list[Traced]) -> Any:
    return made[0] if len(made) == 1 else tuple(made)


@lowers(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    return _one_or_all([expand_dims(x, 0) if not lift(x).ndim else lift(x) for x in arys])


@lowers(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    return _one_or_all([expand_dims(x, tuple(range(2 - lift(x).ndim))) for x in arys])


@lowers(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    added = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _one_or_all([expand_dims(x, added.get(lift(x).ndim, ())) for x in arys])


@lowers(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Traced, ...]:
    if indexing not in ("xy", "ij"):
        raise InputError(f"np.meshgrid: indexing is 'xy' or 'ij', not {indexing!r}.")
    xs = [ravel(x) for x in xi]
    order = len(xs)
    axes = [1, 0, *range(2, order)] if indexing == "xy" and order > 1 else [*range(order)]
    thin = [reshape(x, [-1 if a == axis else 1 for a in range(order)]) for x, axis in zip(xs, axes, strict=True)]
    return tuple(thin) if sparse else broadcast_arrays(*thin)


# The order of axes


@lowers(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Traced:
    x = lift(a)
    order = tuple(range(x.ndim)[::-1]) if axes is None else normal_axes(x, whole_numbers(axes, "axes"))
    if len(order) != x.ndim:
        raise AxisError(f"np.transpose takes each of the {x.ndim} axes once, not {axes}.")
    return like(x, transposed(x.expr, order))


@lowers(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> Traced:
    if lift(x).ndim < 2:
        raise ShapeError(f"np.matrix_transpose takes arrays of two axes or more, not of the shape {lift(x).shape}.")
    return swapaxes(x, -1, -2)


@lowers(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Traced:
    x = lift(a)
    order = list(range(x.ndim))
    i, j = normal_axis(x, axis1), normal_axis(x, axis2)
    order[i], order[j] = j, i
    return like(x, transposed(x.expr, order))


@lowers(np.moveaxis)
def moveaxis(a: Any, source: Axis, destination: Axis) -> Traced:
    x = lift(a)
    sources, targets = normal_axes(x, source or 0), normal_axes(x, destination or 0)
    if len(sources) != len(targets):
        raise AxisError(f"np.moveaxis takes as many destinations as sources, not {source} and {destination}.")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return like(x, transposed(x.expr, order))


@lowers(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Traced:
    x = lift(a)
    axis = normal_axis(x, axis)
    if not -x.ndim <= start <= x.ndim:
        raise AxisError(f"np.rollaxis: start={start} is not a place among {x.ndim} axes.")
    target = start + x.ndim if start < 0 else start
    return like(x, moved_axis(x.expr, axis, target - (axis < target)))


# Which way axes run


@lowers(np.flip)
def flip(m: Any, axis: Axis = None) -> Traced:
    x = lift(m)
    e = x.expr
    for a in normal_axes(x, axis):
        e = flipped(e, a)
    return like(x, e)


def _of_order(x: Any, least: int, name: str) -> Traced:
    if lift(x).ndim < least:
        raise ShapeError(f"{name} takes arrays of {least} axes or more, not of the shape {lift(x).shape}.")
    return lift(x)


@lowers(np.fliplr)
def fliplr(m: Any) -> Traced:
    return flip(_of_order(m, 2, "np.fliplr"), 1)


@lowers(np.flipud)
def flipud(m: Any) -> Traced:
    return flip(_of_order(m, 1, "np.flipud"), 0)


@lowers(np.rot90)
def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Traced:
    x = lift(m)
    chosen = normal_axes(x, tuple(axes))
    if len(chosen) != 2:
        raise AxisError(f"np.rot90 turns the plane of two different axes, not of {tuple(axes)}.")
    first, second = chosen
    turns = k % 4
    if turns == 2:
        return flip(x, chosen)
    if turns == 0:
        return x
    return swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)


@lowers(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Traced:
    return lift(a)


@lowers(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Traced:
    from ricci.tracing.casting import cast

    refuse("np.astype", device=device)
    return cast(lift(x), dtype)
