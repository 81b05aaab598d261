"""Tensors as dictionaries from index tuples to Python numbers, and the few loops that compute with them.

This is the definition of each kind of node, word for word: a product is a loop over all assignments of its labels, an
elementwise function a loop over entries. There is no vectorised arithmetic here, and nothing of ricci's constructors,
interpreter or compiler, so that it can disagree with them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as tuples
from typing import Any

import numpy as np

Index = tuple[int, ...]


@dataclass(frozen=True)
class Table:
    """A tensor: its shape, and a number for every index."""

    shape: Index
    entries: dict[Index, Any]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries.values())


def indices(shape: Sequence[int]) -> Iterator[Index]:
    return tuples(*[range(n) for n in shape])


def tabulate(shape: Sequence[int], value: Callable[[Index], Any]) -> Table:
    return Table(tuple(shape), {index: value(index) for index in indices(shape)})


def from_array(array: Any) -> Table:
    """A table of the entries of an array or of nested lists."""
    array = np.asarray(array)
    flat = array.reshape(-1).tolist()
    return Table(array.shape, dict(zip(indices(array.shape), flat, strict=True)))


def to_array(table: Table) -> np.ndarray:
    return np.array(list(table), dtype=None if table.entries else float).reshape(table.shape)


def plain_number(value: Any) -> Any:
    """A fraction as a float; other numbers as they are."""
    return float(value) if isinstance(value, Fraction) else value


def label_sizes(factors: Sequence[tuple[Table, Sequence[Hashable]]], known: Mapping[Hashable, int]) -> dict:
    sizes = dict(known)
    for table, labels in factors:
        for label, n in zip(labels, table.shape, strict=True):
            if sizes.setdefault(label, n) != n:
                raise AssertionError(f"the label {label!r} has the sizes {sizes[label]} and {n}")
    return sizes


def multiply(
    factors: Sequence[tuple[Table, Sequence[Hashable]]],
    out: Sequence[Hashable],
    known: Mapping[Hashable, int],
    conditions: Sequence[int] = (),
) -> Table:
    """``*(s1, s2, …; out)``: for every assignment of all labels, the product of the entries, added up at ``out``.

    ``conditions`` are the positions of factors that are structures: where one is 0 there is no product.
    """
    sizes = label_sizes(factors, known)
    labels = list(sizes)
    place = {label: position for position, label in enumerate(labels)}
    reads = [(table.entries, [place[label] for label in own]) for table, own in factors]
    target = [place[label] for label in out]
    total: dict[Index, Any] = dict.fromkeys(indices([sizes[label] for label in out]), 0)
    for assignment in indices([sizes[label] for label in labels]):
        values = [entries[tuple([assignment[p] for p in places])] for entries, places in reads]
        if any(values[k] == 0 for k in conditions):
            continue
        value: Any = 1
        for entry in values:
            value = value * entry
        total[tuple([assignment[p] for p in target])] += value
    return Table(tuple([sizes[label] for label in out]), total)


def entrywise(f: Callable[..., Any], tables: Sequence[Table]) -> Table:
    """``f`` entry by entry; tables of order 0 broadcast."""
    shape = next((t.shape for t in tables if t.shape), ())
    for t in tables:
        if t.shape not in ((), shape):
            raise AssertionError(f"the shapes {shape} and {t.shape} meet entry by entry")
    return tabulate(shape, lambda index: f(*[t.entries[index if t.shape else ()] for t in tables]))


def nested(table: Table, at: Index) -> Any:
    """The entries below the leading index ``at``, as nested lists."""
    if len(at) == len(table.shape):
        return table.entries[at]
    return [nested(table, (*at, k)) for k in range(table.shape[len(at)])]


def batched(f: Callable[..., Any], tables: Sequence[Table], own: Sequence[int], result: Sequence[int]) -> Table:
    """``f`` of the last ``own`` axes of each table, as nested lists, for every index of the leading ones."""
    lead = tables[0].shape[: len(tables[0].shape) - own[0]]
    entries: dict[Index, Any] = {}
    for at in indices(lead):
        value = f(*[nested(t, at) for t in tables])
        for below in indices(result):
            entry = value
            for k in below:
                entry = entry[k]
            entries[(*at, *below)] = entry
    return Table((*lead, *result), entries)
