"""What NumPy source calls: ufuncs, chains of them in place, and a few functions of our own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ricci.compiler.backends.numpy_table import ELEMENTWISE, FUNCTIONS
from ricci.compiler.emit.numpy_powers import power_by_products
from ricci.compiler.plan.program_steps import ARITHMETIC, Labels, distinct
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
# Of Python, which NumPy's scalars answer ten times faster than they do ufuncs.
OPERATORS = {name: op.numba.replace("one", "1.0") for name, op in ARITHMETIC.items() if "{" in op.numba}
SHORT = 32  # entries of a row
_MAXIMUM: Any = np.maximum.reduce
_ADD: Any = np.add.reduce


def _quiet() -> tuple[Callable[[], Any], Callable[[Any], None]] | None:
    """What silences NumPy's warnings, and what ends that: all that ``np.errstate`` does, at an eighth of its time."""
    try:
        inner: Any = np._core.umath  # pyright: ignore[reportAttributeAccessIssue]
        state, silent = inner._extobj_contextvar, inner._make_extobj(all="ignore")
        state.reset(state.set(silent))
    except (AttributeError, TypeError, ValueError):  # these are names of its own, and may change
        return None
    return partial(state.set, silent), state.reset


QUIET = _quiet()


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


def windows_dot(windows: Array, other: Array, order: int, out: Array, room: Array) -> Array:
    """The product of windows with another array, block by block, so that windows are never copied as a whole.

    ``windows`` have the axes of a batch, ``order`` axes that stay, and those that are summed; ``other`` has the batch,
    an axis that stays, and one for all that is summed; ``out`` the batch, that axis, and one for the first ones. The
    axes along which memory is read in long runs lie last in a block, and blocks are cut along the first of these.
    """
    batch, length = windows.shape[: other.ndim - 2], windows.shape
    lead = len(batch)
    sides = list(range(lead, lead + order)), list(range(lead + order, windows.ndim))
    stays = _run(windows, sides[0]) >= _run(windows, sides[1])
    first, last = sides[::-1] if stays else sides
    rows, height = length[last[0]], math.prod([length[k] for k in first])
    depth = math.prod([length[k] for k in last[1:]])
    whole = math.prod(batch) * height * depth
    step = min(max(1, room.size // whole), rows)
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        cut = (..., slice(start * depth, stop * depth))
        into, factor = (out[cut], other) if stays else (out, other[cut])
        if not stays and start:
            into = np.empty_like(out)
        if whole > room.size and len(last) > 1:  # too much for one index of the first axis
            part = windows[(*[slice(None)] * last[0], start)]
            windows_dot(part, factor, order - stays, into, room)
        else:
            part = windows.transpose(*range(lead), *first, *last)
            part = part[(*[slice(None)] * (lead + len(first)), slice(start, stop))]
            block = room[: part.size] if part.size <= room.size else np.empty(part.size, part.dtype)
            np.copyto(block.reshape(part.shape), part)
            block = block.reshape(*batch, height, (stop - start) * depth)
            np.matmul(factor, block if stays else block.swapaxes(-1, -2), into)
        if into is not out and not stays:
            out += into
    return out


def _run(array: Array, axes: Sequence[int]) -> int:
    """How many entries lie in a row in memory along some axes."""
    run, left = 1, [axis for axis in axes if array.shape[axis] > 1]
    while (axis := next((k for k in left if array.strides[k] == run * array.itemsize), None)) is not None:
        run *= array.shape[axis]
        left.remove(axis)
    return run


def checked_places(index: Array, size: int) -> Array:
    """Integers that are places along an axis."""
    plain = index.__class__ is Array and index.dtype == np.int64 and index.size and index.flags.aligned
    if plain and np.maximum.reduce(index.view(np.uint64), axis=None) < size:  # what is negative is largest there
        return index
    index = np.asarray(index)
    if index.dtype.kind not in "biu":
        raise DTypeError(f"A tensor is read at places given by integers, not by an array of the type {index.dtype}.")
    if index.size and (index.min() < 0 or index.max() >= size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise AxisError(f"A tensor is read at the place {wrong} of an axis of size {size}.")
    return index.astype(np.int64, copy=False)


def added_up(values: Array, places: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """Zeros with the values added up at places, which are counted row by row; NumPy is fast where all is one axis."""
    out = np.zeros(shape, dtype)
    np.add.at(out.reshape(-1), places.reshape(-1), values.reshape(-1))
    return out


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


# Along the last axis. NumPy begins a loop anew for each row, which takes longer than a short row itself: these lie in
# columns first, so that it takes many at once.


def columns(x: Array) -> Array | None:
    """The rows of the last axis, where they are short and many, as columns of a matrix of its own; none otherwise."""
    length = x.shape[-1]
    many = x.size // length if 1 < length <= SHORT else 0
    return np.array(x.reshape(many, length).T, order="C") if many > length else None


def reduced(ufunc: np.ufunc) -> Callable[[Array], Any]:
    """A reduction over the last axis, which is not empty."""
    reduce = ufunc.reduce

    def call(x: Array) -> Any:
        short = columns(x) if x.ndim > 1 and x.strides[-1] == x.itemsize else None
        return reduce(x, -1) if short is None else reduce(short, 0).reshape(x.shape[:-1])

    return call


def finite(top: Any) -> Any:
    """The largest entries, to be taken off before exponentials; 0 where they are not finite."""
    if -np.inf < np.add.reduce(top, axis=None) < np.inf:  # which may overflow: then time is lost, and nothing else
        return top
    return np.where(np.isfinite(top), top, 0)


def logsumexp(x: Array, room: Array | None = None) -> Any:
    """The logarithm of the sum of exponentials along the last axis; ``room`` is memory that it may use, ``x`` too."""
    if x.ndim == 1:
        top = np.maximum.reduce(x)
        top = top if -np.inf < top < np.inf else x.dtype.type(0)
        work = np.subtract(x, top, room)
        return np.log(np.add.reduce(np.exp(work, work))) + top
    short = columns(x)
    if short is None:
        top = finite(np.maximum.reduce(x, -1))
        work = np.subtract(x, top[..., None], room)
        return np.log(np.add.reduce(np.exp(work, work), -1)) + top
    top = finite(np.maximum.reduce(short, 0))
    np.exp(np.subtract(short, top, short), short)
    return (np.log(np.add.reduce(short, 0)) + top).reshape(x.shape[:-1])


def softmax_into(x: Array, out: Array | None = None) -> Array:
    short = columns(x) if x.ndim > 1 else None
    if short is None:
        out = np.subtract(x, finite(_MAXIMUM(x, -1, None, None, True, -np.inf)), out)
        np.exp(out, out)
        return np.multiply(out, 1 / _ADD(out, -1, None, None, True), out)
    np.exp(np.subtract(short, finite(np.maximum.reduce(short, 0)), short), short)
    return _in_rows(np.multiply(short, 1 / np.add.reduce(short, 0), short), x, out)


def log_softmax_into(x: Array, out: Array | None = None) -> Array:
    short = columns(x) if x.ndim > 1 else None
    if short is None:
        out = np.subtract(x, finite(_MAXIMUM(x, -1, None, None, True, -np.inf)), out)
        return np.subtract(out, np.log(_ADD(np.exp(out), -1, None, None, True)), out)
    np.subtract(short, finite(np.maximum.reduce(short, 0)), short)
    return _in_rows(np.subtract(short, np.log(np.add.reduce(np.exp(short), 0)), short), x, out)


def _in_rows(short: Array, like: Array, out: Array | None) -> Array:
    out = np.empty(like.shape, like.dtype) if out is None else out
    out[...] = short.T.reshape(like.shape)
    return out


def lying_as(x: Array, room: Array) -> Array:
    """Memory as an array of the shape of another, with its axes in the order in which they lie there."""
    order = sorted(range(x.ndim), key=lambda axis: -x.strides[axis])
    turned = room.reshape([x.shape[axis] for axis in order])
    return turned.transpose([order.index(axis) for axis in range(x.ndim)])


def shares(ufunc: Any, name: str) -> Callable[..., Array]:
    """Hardmax and hardmin; where the rows are short and many, from the parts along them, which lie as they are."""
    other = FUNCTIONS[name]

    def call(x: Array, further: int = 0, room: Array | None = None) -> Array:
        lead = x.ndim - further - 1
        places = list(np.ndindex(x.shape[lead:])) if math.prod(x.shape[lead:]) <= SHORT else []
        if len(places) < 2 or x.size < len(places) ** 2:
            return other(x, further)
        parts = [x[(..., *place)] for place in places]
        top = ufunc(parts[0], parts[1])
        for part in parts[2:]:
            ufunc(part, top, out=top)
        made = np.empty_like(x) if room is None else lying_as(x, room)
        count = np.zeros(top.shape, np.uint8)
        for place, part in zip(places, parts, strict=True):
            hits = part == top
            made[(..., *place)] = hits
            count += hits
        if not (count == 1).all():  # some tie, or are NaN
            made /= count.astype(x.dtype)[(..., *[None] * (further + 1))]
        return made

    return call


def softplus(x: Array, out: Array | None = None) -> Array:
    """``log(1 + exp(x))`` by NumPy's fast functions, of which logaddexp is none."""
    small = np.abs(x, out)
    np.negative(small, small)
    np.exp(small, small)
    np.log1p(small, small)
    return np.add(small, np.maximum(x, 0), small)


FASTER = {"softplus": softplus, "power": power_by_products}  # than the rows of the table, for arrays of floats
REDUCED = {
    "max": reduced(np.maximum),
    "min": reduced(np.minimum),
    "prod": reduced(np.multiply),
    "any": reduced(np.logical_or),
    "all": reduced(np.logical_and),
}
SHARES = {"hardmax": shares(np.maximum, "hardmax"), "hardmin": shares(np.minimum, "hardmin")}
INTO = {"softmax": softmax_into, "log_softmax": log_softmax_into}
HELPERS = {
    "guarded": guarded,
    "view_of": view_of,
    "windows_dot": windows_dot,
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
    "plain_vecdot": partial(np.einsum, "...i,...i->..."),
    "array": np.array,
    "total": np.add.reduce,
    "broadcast_to": np.broadcast_to,
    "added_up": added_up,
    "arange": np.arange,
    "errstate": np.errstate,
    "where": ELEMENTWISE["where"],
    "select": np.where,
}
