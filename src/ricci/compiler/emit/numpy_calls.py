"""What NumPy source calls: ufuncs, chains of them in place, and a few functions of our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.compiler.backends.numpy_table import ELEMENTWISE
from ricci.compiler.plan.program import ARITHMETIC, Labels, distinct
from ricci.errors import AxisError, DTypeError

Array = np.ndarray
UFUNCS: dict[str, np.ufunc] = {
    **{name: f for name, f in ELEMENTWISE.items() if isinstance(f, np.ufunc)},
    **{name: getattr(np, name) for name in ARITHMETIC},
}
# Functions that are a few ufuncs in place; "o" is the result, "x" the operand.
CHAINS: dict[str, list[tuple[str, ...]]] = {
    "sigmoid": [("negative", "x"), ("exp", "o"), ("add", "o", "1"), ("reciprocal", "o")],
    "relu": [("maximum", "x", "0")],
}


def stored(name: str, target: str) -> str:
    """The argument that says where a ufunc writes; NumPy wants its name for those that look like Python's own."""
    return f", out={target}" if name in ("maximum", "minimum") else f", {target}"


# Functions of our own


def view_of(
    array: Array, shape: tuple[int, ...], strides: tuple[tuple[int, ...], ...], places: tuple[int, ...]
) -> Array:
    """A view: the stride along each new axis is a combination of the array's own; ``places`` is where it starts."""
    own = array.strides
    steps = tuple([sum([c * s for c, s in zip(row, own, strict=True)]) for row in strides])
    if array.flags.c_contiguous:
        offset = sum([p * s for p, s in zip(places, own, strict=True)])
        return np.ndarray(shape, array.dtype, array, offset, steps)
    start = array[tuple([slice(p, None) for p in places])] if any(places) else array
    return np.lib.stride_tricks.as_strided(start, shape, steps, writeable=False)


def place_view(array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    """A view of a contiguous array; strides and offset are in entries."""
    size = array.itemsize
    return np.ndarray(shape, array.dtype, array, offset * size, tuple([s * size for s in strides]))


def checked_places(index: Array, size: int) -> Array:
    """Integers that are places along an axis."""
    index = np.asarray(index)
    if index.dtype.kind not in "biu":
        raise DTypeError(f"A tensor is read at places given by integers, not by an array of the type {index.dtype}.")
    if index.size and (index.min() < 0 or index.max() >= size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise AxisError(f"A tensor is read at the place {wrong} of an axis of size {size}.")
    return index.astype(np.int64, copy=False)


def guarded(made: Array, own: Sequence, of_masks: Sequence, out: Labels, number: float, factors: Any) -> Any:
    """``made``, or, where that is not finite, the product of arrays over the indices where the masks hold."""
    if np.isfinite(np.add.reduce(made, axis=None)):  # which may overflow: then time is lost, and nothing else
        return made
    exact = selected(np, own, of_masks, out, made.dtype.type(number), factors, optimize=True)
    exact = np.asarray(exact, made.dtype)
    if not made.shape:
        return exact[()]
    made[...] = exact
    return made


def selected(xp: Any, own: Any, of_masks: Any, out: Labels, number: Any, factors: Any, **how: Any) -> Any:
    """The product of arrays and a number over the indices where the masks hold; ``xp`` is the package of all arrays.

    ``how`` is told to its einsum.
    """
    arrays, masks = factors()
    needed = distinct([*out, *[x for labels in of_masks for x in labels]])
    carried = [x for x in needed if any(x in labels for labels in own)]
    pairs = [part for array, labels in zip(arrays, own, strict=True) for part in (array, list(labels))]
    total = xp.einsum(*pairs, carried, **how) * number
    total = total[tuple([slice(None) if x in carried else None for x in needed])]
    for mask, labels in zip(masks, of_masks, strict=True):
        moved = xp.moveaxis(mask, [labels.index(x) for x in needed if x in labels], list(range(len(labels))))
        total = xp.where(moved[tuple([slice(None) if x in labels else None for x in needed])], total, 0)
    summed = tuple([axis for axis, x in enumerate(needed) if x not in out])
    return total.sum(summed) if summed else total


def softmax_into(x: Array, out: Array | None = None) -> Array:
    out = np.subtract(x, _top(x), out)
    np.exp(out, out)
    return np.multiply(out, 1 / np.add.reduce(out, axis=-1, keepdims=True), out)


def log_softmax_into(x: Array, out: Array | None = None) -> Array:
    out = np.subtract(x, _top(x), out)
    return np.subtract(out, np.log(np.add.reduce(np.exp(out), axis=-1, keepdims=True)), out)


def _top(x: Array) -> Array:
    """The largest entry, to be taken off before exponentials; 0 where it is not finite."""
    top = np.maximum.reduce(x, axis=-1, keepdims=True, initial=-np.inf)
    return np.where(np.isfinite(top), top, 0)


def softplus(x: Array) -> Array:
    """``log(1 + exp(x))`` by NumPy's fast functions, of which logaddexp is none."""
    small = np.abs(x)
    np.negative(small, small)
    np.exp(small, small)
    np.log1p(small, small)
    return np.add(small, np.maximum(x, 0), small)


FASTER = {"softplus": softplus}  # than the rows of the table, for arrays of floats
INTO = {"softmax": softmax_into, "log_softmax": log_softmax_into}
HELPERS = {
    "guarded": guarded,
    "view_of": view_of,
    "place_view": place_view,
    "checked_places": checked_places,
    "zeros": np.zeros,
    "empty": np.empty,
    "range": range,
    "min": min,
    "einsum": np.einsum,
    "dot": np.dot,
    "matmul": np.matmul,
    "contiguous": np.ascontiguousarray,
    "vecdot": np.vecdot,
    "array": np.array,
    "total": np.add.reduce,
    "broadcast_to": np.broadcast_to,
    "add_at": np.add.at,
    "arange": np.arange,
    "errstate": np.errstate,
    "where": ELEMENTWISE["where"],
}
