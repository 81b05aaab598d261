"""Functions over axes by their definitions on plain lists, whatever way the library itself has of building them."""

from __future__ import annotations

from collections.abc import Sequence

from ricci.functions import FUNCTIONS
from ricci.testing.entries_by_loops import Table, indices

REDUCE = {name: row.value for name, row in FUNCTIONS.items() if row.kind == "reduce" and row.complex != "always"}
KEEP = {name: row.value for name, row in FUNCTIONS.items() if row.kind == "keep" and row.complex != "always"}


def over(name: str, x: Table, axes: Sequence[int]) -> Table:
    """The function ``name`` over ``axes``, whose entries are taken in row-major order of the axes as listed."""
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]
    along = list(indices([x.shape[axis] for axis in axes]))
    keeps = name in KEEP
    entries = {}
    for at in indices([x.shape[axis] for axis in rest]):
        places = [_joined(at, rest, below, axes) for below in along]
        line = [x.entries[place] for place in places]
        if keeps:
            entries.update(zip(places, KEEP[name](line), strict=True))
        else:
            entries[at] = REDUCE[name](line)
    shape = x.shape if keeps else tuple([x.shape[axis] for axis in rest])
    return Table(shape, {index: entries[index] for index in indices(shape)})


def _joined(at: Sequence[int], rest: Sequence[int], below: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    place = dict(zip([*rest, *axes], [*at, *below], strict=True))
    return tuple([place[axis] for axis in range(len(place))])
