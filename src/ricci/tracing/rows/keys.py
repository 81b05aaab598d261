"""Reading and changing entries by ``x[key]``, ``np.take`` and their kin.

A key says for each axis where it is read. Each of the kinds is a structure that ties the place ``j`` on the axis to the
axes of the result:

    a number     [j == 3]
    a slice      [j == step·i + start]
    integers     [j == index[t, …]]          several of them share the axes t, …, broadcast together

so ``x[key]`` is the product of ``x`` with these, summed over the places. Changing entries is the same product the other
way: the new values are multiplied by the structures and summed over the axes of the key.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from operator import getitem
from typing import Any

import numpy as np

from ricci.errors import AxisError, InputError
from ricci.expr import Expr, moving, one, place, product, triangle, window
from ricci.expr.moving import Factor
from ricci.functions import elementwise as e
from ricci.tracing.array import Traced, has_traced
from ricci.tracing.basics import BOOL, NeedsValueError, broadcast_shape, lift, like
from ricci.tracing.casting import cast
from ricci.tracing.lowerings import lowers
from ricci.tracing.operand import changed
from ricci.tracing.rows.along import broadcast


@dataclass
class Selection:
    """What a key reads: structures, with the places on axis ``a`` of the array labelled ``("at", a)``."""

    shape: tuple[int, ...]  # of the array
    factors: list[Factor] = field(default_factory=list)
    sizes: dict[Hashable, int] = field(default_factory=dict)  # the axes of the result, in order
    reads: list[tuple[int, Any]] = field(default_factory=list)  # axes that are read at integers, and these
    common: tuple[int, ...] = ()  # the shape of the integers together

    @property
    def places(self) -> list[Hashable]:
        """The axes of the array."""
        return [("at", a) for a in range(len(self.shape))]

    def read(self, x: Expr) -> Expr:
        """The entries."""
        return product([(x, self.places), *self.factors], list(self.sizes), self.sizes)

    def write(self, values: Expr, *more: Factor) -> Expr:
        """An array of zeros, with ``values`` added up at the entries."""
        own = dict(zip(self.places, self.shape, strict=True))
        return product([(values, list(self.sizes)), *self.factors, *more], self.places, own)

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of what is read."""
        return tuple(self.sizes.values())

    @property
    def joint(self) -> list[Hashable]:
        """The labels of the axes that the integers share."""
        return [("by", d) for d in range(len(self.common))]


# Keys


def select(x: Traced, key: Any) -> Selection:
    """What ``x[key]`` reads, by NumPy's rules."""
    found = Selection(x.shape)
    axis = 0
    spread: list[tuple[Hashable, int] | None] = []  # for each item its axis in the result; None for integers
    for number, item in enumerate(_whole_key(x, key if isinstance(key, tuple) else (key,))):
        if item is None:
            spread.append((("new", number), 1))
        elif item is Ellipsis:
            spread.append((_NOTHING, 0))
        elif isinstance(item, slice):
            spread.append((("by slice", axis), _slice(found, axis, item)))
        else:
            spread.append(None)
            found.reads += _reads(x, axis, item)
        axis += _consumed(item)
    _integers(found)
    _arrange(found, spread)
    return found


_NOTHING = "an ellipsis, written out"


@dataclass
class _Truth:
    """A truth value in a key: an axis of size 1 or 0."""

    value: bool


def _whole_key(x: Traced, key: tuple) -> list[Any]:
    """The items, with full slices for the axes that the ellipsis stands for or that are left out."""
    items = [_item(item) for item in key]
    used = sum(map(_consumed, items))
    if used > x.ndim:
        raise AxisError(f"An array of the shape {x.shape} is read at {used} indices; it has {x.ndim} axes.")
    ellipses = [n for n, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise AxisError("A key has one ellipsis (…) at most.")
    at = ellipses[0] if ellipses else len(items)
    return [*items[:at], *[slice(None)] * (x.ndim - used), *items[at:]]


def _consumed(item: Any) -> int:
    """How many axes of the array an item of a key is for."""
    if item is None or item is Ellipsis or isinstance(item, _Truth):
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1


def _item(item: Any) -> Any:
    """One item of a key: an ellipsis, a new axis, a slice, a truth value, an integer, or an array of them."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int(item)
    if isinstance(item, (list, tuple)) and has_traced(item):
        item = lift(item)
    if isinstance(item, Traced):
        return _traced_index(item)
    array = np.asarray(item)
    if not array.size and not hasattr(item, "dtype"):
        array = array.astype(np.int64)
    if array.dtype == bool:
        return array if array.ndim else _Truth(bool(array))
    if array.dtype.kind not in "iu":
        raise AxisError(f"An array is read at whole numbers, slices and truth values, not at {item!r}.")
    return array if array.ndim else int(array)


def _traced_index(item: Traced) -> Traced:
    if item.dtype == BOOL:
        raise NeedsValueError(
            "A traced mask, x[condition], gives an array whose shape depends on values; write "
            "np.where(condition, x, 0), and sum or average over that."
        )
    if item.dtype.kind not in "iu":
        raise AxisError(f"An array is read at whole numbers; the index has the type {item.dtype}: use .astype(int).")
    return item


def _reads(x: Traced, axis: int, item: Any) -> list[tuple[int, Any]]:
    """Axes and the integers they are read at. A mask stands for the places where it is true, on each of its axes."""
    if isinstance(item, _Truth):
        return [(-1, np.zeros(int(item.value), np.int64))]
    if not isinstance(item, np.ndarray) or item.dtype != bool:
        return [(axis, _in_bounds(x, axis, item))]
    own = x.shape[axis : axis + item.ndim]
    if item.shape != own:
        raise AxisError(f"A mask of the shape {item.shape} does not fit the axes {own} of the shape {x.shape}.")
    return [(axis + k, places) for k, places in enumerate(np.nonzero(item))]


def _slice(found: Selection, axis: int, item: slice) -> int:
    """Adds the structure of a slice, and gives the size of what it reads."""
    size = found.shape[axis]
    try:
        start, stop, step = item.indices(size)
    except TypeError:
        raise NeedsValueError(f"The bounds of a slice are whole numbers known while tracing, not {item}.") from None
    count = len(range(start, stop, step))
    found.factors.append((window((step,), start, size, (count,)), (("at", axis), ("by slice", axis))))
    return count


def _in_bounds(x: Traced, axis: int, item: Any) -> Any:
    """Integers that count from the front."""
    size = x.shape[axis]
    if isinstance(item, Traced):
        return item
    if type(item) is int and -size <= item < size:
        return item % size
    places = np.asarray(item)
    wrong = (places < -size) | (places >= size)
    if wrong.any():
        raise AxisError(f"Index {places[wrong].flat[0]} is out of bounds on axis {axis} of the shape {x.shape}.")
    if not places.ndim:
        return int(places) % size
    return item if not (places < 0).any() else np.where(places < 0, places + size, places)


# Structures of integers


def _integers(found: Selection) -> None:
    """Adds the structures of all integers of the key, their axes broadcast together."""
    found.common = broadcast_shape(*[item.shape for _, item in found.reads if not isinstance(item, int)])
    for axis, item in found.reads:
        if axis < 0:
            continue
        size = found.shape[axis]
        if isinstance(item, int):
            found.factors.append((place(item, size), (("at", axis),)))
            continue
        index = from_the_front(item, size)
        skipped = len(found.common) - len(index.shape)
        labels: list[Hashable] = []
        for d, own in enumerate(index.shape):
            wide = own == 1 and found.common[skipped + d] != 1
            labels.append(("unit", axis, d) if wide else ("by", skipped + d))
        found.factors.append(moving.hot(index, labels, ("at", axis), size))


def from_the_front(index: Any, size: int) -> Expr:
    """Integers that count from the front; those that are traced count from the end where they are negative.

    Some whole numbers are held as floats; the compiler sees that they are whole.
    """
    x = lift(index)
    if not isinstance(index, Traced) or x.dtype.kind == "u":
        return x.expr
    return e.where(e.less(x.expr, 0), x.expr + size, x.expr)


def _arrange(found: Selection, spread: list[tuple[Hashable, int] | None]) -> None:
    """Puts the axes of the result in order: those of integers where these stand together, and in front otherwise."""
    numbers = [number for number, axis in enumerate(spread) if axis is None]
    together = not numbers or numbers[-1] - numbers[0] == len(numbers) - 1
    shared = dict(zip(found.joint, found.common, strict=True))
    if not together:
        found.sizes.update(shared)
    for number, axis in enumerate(spread):
        if axis is None and together and number == numbers[0]:
            found.sizes.update(shared)
        elif axis is not None and axis[0] is not _NOTHING:
            found.sizes[axis[0]] = axis[1]


@lowers(getitem)
def read(x: Traced, key: Any) -> Traced:
    if type(key) is int and x.shape and -x.shape[0] <= key < x.shape[0]:
        return like(x, moving.entry(x.expr, 0, key % x.shape[0]))
    return like(x, select(x, key).read(x.expr))


# Changes


@lowers(changed)
def change(x: Traced, key: Any, value: Traced, how: str) -> Traced:
    if how not in ("set", "add"):
        raise InputError(f"Entries are changed by 'set' or 'add', not by {how!r}.")
    masked = _by_traced_mask(x, key, value, how)
    if masked is not None:
        return masked
    found = select(x, key)
    values = broadcast(cast(value, x.dtype), found.result).expr
    if how == "add":
        return like(x, x.expr + found.write(values))
    last = _last(found)
    mask = found.write(one(found.result), *last)
    return like(x, e.where(mask, found.write(values, *last), x.expr))


def _by_traced_mask(x: Traced, key: Any, value: Traced, how: str) -> Traced | None:
    """A traced mask can be written to, if what is written does not depend on how many entries there are."""
    (only,) = key if isinstance(key, tuple) and len(key) == 1 else (None,)
    if not isinstance(only, Traced) or only.dtype != BOOL:
        return None
    rest = x.shape[only.ndim :]
    if only.shape != x.shape[: only.ndim] or value.ndim > len(rest):
        raise NeedsValueError(
            f"A traced mask of the shape {only.shape} writes one value, or one for each of the axes {rest}, into an "
            f"array of the shape {x.shape}; write np.where(condition, a, b)."
        )
    inside = product([(only.expr, range(only.ndim))], range(x.ndim), dict(enumerate(x.shape)))
    new = broadcast(cast(value, x.dtype), x.shape).expr
    return like(x, e.where(inside, new + x.expr if how == "add" else new, x.expr))


def _last(found: Selection) -> list[Factor]:
    """A factor that is 0 where a later entry of the integers names the same place: the last one is written."""
    arrays = [(axis, item) for axis, item in found.reads if axis >= 0 and not isinstance(item, int)]
    count = int(np.prod(found.common))
    if count < 2 or not arrays:
        return []
    if any(isinstance(item, Traced) for _, item in arrays):
        return [(_last_of_traced(found, arrays), tuple(found.joint))]
    place = np.zeros(found.common, np.int64)
    for axis, item in arrays:
        place = place * found.shape[axis] + item
    flat = place.ravel()
    latest = np.zeros(count, np.int64)
    latest[count - 1 - np.unique(flat[::-1], return_index=True)[1]] = 1
    return [] if latest.all() else [(lift(latest.reshape(found.common)).expr, tuple(found.joint))]


def _last_of_traced(found: Selection, arrays: list[tuple[int, Any]]) -> Expr:
    """Each entry is compared with all later ones."""
    same: Expr | None = None
    count = int(np.prod(found.common))
    for axis, item in arrays:
        places = moving.expanded(from_the_front(item, found.shape[axis]), found.common)
        flat = moving.reshaped(places, (count,))
        rows, columns = (product([(flat, (a,))], (0, 1), {0: count, 1: count}) for a in (0, 1))
        equal = e.equal(rows, columns)
        same = equal if same is None else same * equal
    assert same is not None
    later = one((count, count)) - triangle(count, count)
    clashes = product([(same, (0, 1)), (later, (0, 1))], (0,))
    return moving.reshaped(e.equal(clashes, 0), found.common)
