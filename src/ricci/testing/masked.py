"""Products on NumPy arrays, structures included: reads at computed places, reshapes, and contractions in pairs.

A factor is an array, a :class:`SizedStructure` or a :class:`Mask`, with one label for each axis. A product is the sum
over those indices alone where all its structures hold: what they leave out is no term, whatever the arrays hold there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
Labels = tuple[int, ...]


@dataclass(eq=False)
class SizedStructure:
    """A structure whose sizes are known: ``coefs·index + const == 0`` or ``>= 0``, or last index ``== index[…]``."""

    kind: str
    shape: tuple[int, ...]
    coefs: tuple[int, ...] = ()
    const: int = 0
    index: Array | None = None

    @property
    def constant(self) -> bool:
        """Whether it is the same everywhere."""
        return self.kind in ("one", "zero")

    def dense(self, dtype: np.dtype) -> Array:
        """The 0/1 array; one that is the same everywhere takes no memory."""
        if self.constant:
            return np.broadcast_to(np.asarray(self.kind == "one", dtype=dtype), self.shape)
        if self.index is not None:
            return (self.index[..., None] == np.arange(self.shape[-1])).astype(dtype)
        total = np.full(self.shape, self.const, dtype=np.int64)
        for axis, coef in enumerate(self.coefs):
            total += coef * _along(axis, self.shape)
        return (total == 0 if self.kind == "==" else total >= 0).astype(dtype)


@dataclass(eq=False)
class Mask:
    """Where the terms of a product are."""

    holds: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.holds.shape


Factor = tuple[Any, Labels]  # an array, a pattern or a mask


def _along(axis: int, shape: Sequence[int]) -> Array:
    """The index along ``axis``, shaped so that it broadcasts to ``shape``."""
    return np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))])


def read_patterns(factors: list[Factor], out: Labels, sizes: dict[int, int]) -> list[Factor]:
    """The factors after every pattern that can be a reshape or a read of one array has become that, others masks."""
    at = 0
    while at < len(factors):
        found = _resolved(factors, at, out, sizes) if isinstance(factors[at][0], SizedStructure) else None
        if found is None:
            at += 1
        else:
            target, made = found
            kept = [made[:1] if p == target else [f] for p, f in enumerate(factors) if p != at]
            factors = [f for group in kept for f in group] + made[1:]
            at = 0
    return [(_mask(value) if isinstance(value, SizedStructure) else value, labels) for value, labels in factors]


def _mask(pattern: SizedStructure) -> Any:
    """A pattern as a mask; one that holds everywhere is an array of ones."""
    return pattern if pattern.kind == "one" else Mask(pattern.dense(np.dtype(np.bool_)))


def _resolved(factors: list[Factor], at: int, out: Labels, sizes: dict[int, int]) -> tuple[int, list[Factor]] | None:
    """The position of the array that the pattern at ``at`` reads, and what it is then, with a mask if there is one."""
    pattern, labels = factors[at]
    assert isinstance(pattern, SizedStructure)
    if pattern.kind == "==":
        merged = _merged_axis(pattern)
        if merged is not None:
            target = _only_user(factors, at, [label for k, label in enumerate(labels) if k != merged], out)
            if target is not None and labels[merged] not in factors[target][1]:
                return target, [_reshaped(factors[target], pattern, labels, merged)]
    for axis, label in enumerate(labels):
        readable = (
            axis == len(labels) - 1 if pattern.kind == "at" else pattern.kind == "==" and abs(pattern.coefs[axis]) == 1
        )
        target = _only_user(factors, at, [label], out) if readable else None
        if target is not None:
            return target, _read(factors[target], pattern, labels, axis, sizes)
    return None


def _only_user(factors: list[Factor], at: int, wanted: list[int], out: Labels) -> int | None:
    """The one array that, beside the pattern, carries each of the summed labels ``wanted``, and carries it once."""
    users = {p for label in wanted for p, (_, labels) in enumerate(factors) if label in labels and p != at}
    if len(users) != 1 or any(label in out or factors[at][1].count(label) != 1 for label in wanted):
        return None
    (target,) = users
    value, labels = factors[target]
    return target if isinstance(value, np.ndarray) and all(labels.count(label) == 1 for label in wanted) else None


def _by_stride(pattern: SizedStructure, merged: int) -> list[int]:
    """The other axes, from the one that moves fastest on."""
    rest = [axis for axis in range(len(pattern.shape)) if axis != merged]
    return sorted(rest, key=lambda axis: (abs(pattern.coefs[axis]), pattern.shape[axis]))


def _merged_axis(pattern: SizedStructure) -> int | None:
    """The axis that holds the row-major position of the others, if that is what the relation says."""
    for merged, coef in enumerate(pattern.coefs):
        stride = -coef
        for axis in _by_stride(pattern, merged):
            if pattern.coefs[axis] != stride:
                break
            stride *= pattern.shape[axis]
        else:
            if pattern.const == 0 and abs(coef) == 1 and abs(stride) == pattern.shape[merged] > 0:
                return merged
    return None


def _reshaped(factor: Factor, pattern: SizedStructure, labels: Labels, merged: int) -> Factor:
    array, own = factor
    inner = [labels[axis] for axis in reversed(_by_stride(pattern, merged))]
    outer = [axis for axis, label in enumerate(own) if label not in inner]
    moved = np.transpose(array, [*outer, *[own.index(label) for label in inner]])
    shape = (*moved.shape[: len(outer)], pattern.shape[merged])
    return moved.reshape(shape), (*[own[axis] for axis in outer], labels[merged])


def _read(factor: Factor, pattern: SizedStructure, labels: Labels, axis: int, sizes: dict[int, int]) -> list[Factor]:
    """The array read along ``labels[axis]`` at the place that the pattern gives, masked where that is outside."""
    array, own = factor
    label, others = labels[axis], [(k, x) for k, x in enumerate(labels) if k != axis]
    axes = tuple(dict.fromkeys([x for x in own if x != label] + [x for _, x in others]))
    shape = [sizes[x] for x in axes]
    grid = {x: _along(position, shape) for position, x in enumerate(axes)}
    if pattern.index is not None:
        place = pattern.index[tuple([grid[x] for _, x in others])]
    else:
        total = sum((pattern.coefs[k] * grid[x] for k, x in others), np.asarray(pattern.const))
        place = -pattern.coefs[axis] * total
    size = sizes[label]
    if size == 0:
        return [(np.zeros(shape, dtype=array.dtype), axes)]
    inside = (place >= 0) & (place < size)
    index = tuple([np.clip(place, 0, size - 1) if x == label else grid[x] for x in own])
    read = (array[index], axes)
    if np.all(inside):
        return [read]
    wide = [position for position, x in enumerate(axes) if inside.ndim and inside.shape[position - len(axes)] > 1]
    return [read, (Mask(np.squeeze(inside)), tuple([axes[position] for position in wide]))]


def multiplied(factors: list[Factor], out: Labels, dtype: np.dtype, number: float) -> tuple[Array | None, Labels]:
    """The product of arrays, all of one type, and of a number, over the indices where the masks hold.

    Masks are multiplied as zeros and ones, which is the same unless what they leave out is not finite.
    """
    masks = [(value.holds, labels) for value, labels in factors if isinstance(value, Mask)]
    arrays = [(value, labels) for value, labels in factors if not isinstance(value, Mask)]
    result, labels = contracted([*arrays, *[(holds.astype(dtype), own) for holds, own in masks]], out)
    if result is None:
        return None, labels
    result = result * number
    if not masks or np.all(np.isfinite(result)):
        return result, labels
    return selected(arrays, masks, out, dtype.type(1) * number)


def selected(arrays: list[Factor], masks: list[Factor], out: Labels, number: Any) -> tuple[Array, Labels]:
    """The product, multiplied first, masked then, summed last."""
    needed = tuple(dict.fromkeys([*out, *[x for _, own in masks for x in own]]))
    found, own = contracted([*arrays, (np.asarray(number), ())], needed)
    holds, of_masks = contracted(masks, needed)
    labels = tuple([x for x in needed if x in own or x in of_masks])
    wide = [tuple([slice(None) if x in has else None for x in labels]) for has in (own, of_masks)]
    total = np.where(holds[wide[1]], found[wide[0]], 0)  # type: ignore[index]
    last = tuple([x for x in labels if x in out])
    return np.sum(total, axis=tuple([a for a, x in enumerate(labels) if x not in out])), last


def contracted(factors: list[tuple[Array, Labels]], out: Labels) -> tuple[Array | None, Labels]:
    """The product of arrays, one after the other, each label summed as soon as nothing after needs it.

    The result has the labels of ``out`` that some array carries, in that order.
    """
    if not factors:
        return None, ()
    factors = _linked_first(factors)
    result: Any = None
    labels: Labels = ()
    for position, (array, own) in enumerate(factors):
        later = {label for _, rest in factors[position + 1 :] for label in rest}.union(out)
        array, own = _summed(array, own, later.union(labels))
        if result is None:
            result, labels = array, own
            continue
        kept = tuple([label for label in dict.fromkeys((*labels, *own)) if label in later])
        small = {label: k for k, label in enumerate(dict.fromkeys((*labels, *own)))}
        result = np.asarray(
            np.einsum(result, [small[x] for x in labels], array, [small[x] for x in own], [small[x] for x in kept])
        )
        labels = kept
    last = tuple([label for label in out if label in labels])
    return np.transpose(result, [labels.index(label) for label in last]), last


def _linked_first(factors: list[tuple[Array, Labels]]) -> list[tuple[Array, Labels]]:
    """The factors in an order in which each shares a label with those before, where there is one that does."""
    rest, seen, order = list(factors), set(), []
    while rest:
        order.append(rest.pop(next((p for p, (_, own) in enumerate(rest) if seen.intersection(own)), 0)))
        seen.update(order[-1][1])
    return order


def _summed(array: Array, labels: Labels, needed: set[int]) -> tuple[Array, Labels]:
    """The array with the diagonals of repeated labels taken, and labels that nobody needs summed."""
    distinct = tuple(dict.fromkeys(labels))
    if distinct != labels:
        small = {label: k for k, label in enumerate(distinct)}
        array = np.einsum(array, [small[x] for x in labels], [small[x] for x in distinct])
    gone = tuple([axis for axis, label in enumerate(distinct) if label not in needed])
    return np.sum(array, axis=gone) if gone else array, tuple([label for label in distinct if label in needed])
