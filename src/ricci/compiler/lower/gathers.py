"""Gathers and scatters: places that arrays of integers say, of all axes that depend on one another in one step.

``p[i[t], j[t]]`` is one read at the places ``i[t]·J + j[t]`` of ``p`` with the two axes as one, and its transpose adds
up at the same places; read or written one axis at a time, it would have the axes of both in between. Axes that an
operand and the integers share, as in ``p[t, y[t]]``, are read at their own indices. Gathers that have nothing in common
are done one after another, those that leave least first, so that nothing is larger than operand and result are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

import numpy as np

from ricci.compiler.lower.builder import Builder
from ricci.compiler.plan.program_steps import Operand, Value, distinct, volume

MOST_ORDERED = 4  # gathers whose orders are tried


@dataclass(eq=False)
class Gather:
    """``label == at[…]``."""

    at: Operand
    label: int

    @property
    def by(self) -> tuple[int, ...]:
        """The labels of the integers."""
        return self.at[1]


def compose(build: Builder, gathers: Sequence[Gather], sizes: dict[int, int]) -> None:
    """Integers that are read at places which other gathers say are read there: ``x[i][j]`` is ``x[i[j]]``."""
    told = {g.label for g in gathers}
    for gather in gathers:
        while not told.isdisjoint(gather.by):
            gather.at = taken(build, gather.at, [g for g in gathers if g is not gather], sizes)


def groups(gathers: Iterable[Gather]) -> list[list[Gather]]:
    """The gathers whose integers have labels in common, directly or through others."""
    found: list[list[Gather]] = []
    for gather in gathers:
        linked = [group for group in found if any(not set(g.by).isdisjoint(gather.by) for g in group)]
        found = [group for group in found if group not in linked]
        found.append([*[g for group in linked for g in group], gather])
    return found


def taken(build: Builder, operand: Operand, gathers: Sequence[Gather], sizes: dict[int, int]) -> Operand:
    """The operand read at the places that gathers say, of a label that several tell the first one."""
    first = {g.label: g for g in reversed(gathers)}
    own = groups([first[x] for x in operand[1] if x in first])

    def growth(group: list[Gather]) -> float:
        new = {x for g in group for x in g.by}.difference(operand[1])
        return volume(new, sizes) / max(1, volume([g.label for g in group], sizes))

    for group in sorted(own, key=growth):
        operand = _taken(build, operand, group, sizes)
    return operand


def _taken(build: Builder, operand: Operand, group: list[Gather], sizes: dict[int, int]) -> Operand:
    """The operand read at once along all axes from the first to the last that the gathers tell or share."""
    value, labels = operand
    assert isinstance(value, Value)
    at = {g.label: g.at for g in group}
    shared = {x for g in group for x in g.by}
    axes = [axis for axis, x in enumerate(labels) if x in at or x in shared]
    first, end = axes[0], axes[-1] + 1
    read = [(at.get(x) or _indices(build, x, sizes), sizes[x]) for x in labels[first:end]]
    places, new = _located(build, read, sizes)
    whole = build.fresh()
    lead, rest = labels[:first], labels[end:]
    if end - first > 1:
        shape = (*value.shape[:first], prod(value.shape[first:end]), *value.shape[end:])
        value, _ = build.emit("merge", "", [(value, ())], (*lead, whole, *rest), shape, value.kind)
    out = (*lead, *new, *rest)
    args: list[Operand] = [(value, (*lead, whole, *rest)), (places, new)]
    return build.emit("take", "", args, out, tuple([sizes[x] for x in out]), value.kind, (first,))


def _indices(build: Builder, label: int, sizes: dict[int, int]) -> Operand:
    return build.constant(np.arange(sizes[label]), (label,))


def _located(build: Builder, read: Sequence[tuple[Operand, int]], sizes: dict[int, int]) -> Operand:
    """Places along several axes as places along the one that they are merged into."""
    if len(read) == 1:
        return read[0][0]
    op, what, args, labels, shape, params = _locate(read, sizes)
    return build.emit(op, what, args, labels, shape, "i", params)


def _locate(read: Sequence[tuple[Operand, int]], sizes: dict[int, int]) -> tuple:
    labels = distinct(x for (_, own), _ in read for x in own)
    shape = tuple([sizes[x] for x in labels])
    return "locate", "", [at for at, _ in read], labels, shape, tuple([size for _, size in read])


def _as_before(build: Builder, group: list[Gather], sizes: dict[int, int]) -> list[Gather]:
    """The gathers in an order in which their places have been located already, if there is one."""
    orders = [list(order) for order in permutations(group)] if len(group) <= MOST_ORDERED else []
    known = [order for order in orders if build.has(*_locate([(g.at, sizes[g.label]) for g in order], sizes))]
    return known[0] if known else group


def scattered(
    build: Builder, core: Operand, gathers: Sequence[Gather], wanted: Collection[int], sizes: dict[int, int]
) -> Operand:
    """The core, added up at the places that gathers say, with their labels and those of the core that are wanted."""

    def growth(group: list[Gather]) -> float:
        gone = {x for g in group for x in g.by}.difference(wanted)
        return volume([g.label for g in group], sizes) / max(1, volume(gone, sizes))

    waiting = sorted(groups(gathers), key=growth)
    while waiting:
        group = waiting.pop(0)
        later = {x for others in waiting for g in others for x in g.by}
        core = _scattered(build, core, group, {*wanted, *later}, sizes)
    return core


def _scattered(
    build: Builder, core: Operand, group: list[Gather], wanted: Collection[int], sizes: dict[int, int]
) -> Operand:
    group = _as_before(build, group, sizes)
    at, places = _located(build, [(g.at, sizes[g.label]) for g in group], sizes)
    inner = distinct([*places, *core[1]])
    value, _ = build.spread(core, inner, sizes)
    assert isinstance(value, Value)
    whole = build.fresh()
    rest = tuple([x for x in inner if x in wanted])
    size = volume([g.label for g in group], sizes)
    shape = (size, *[sizes[x] for x in rest])
    made, _ = build.emit("scatter", "", [(value, inner), (at, places)], (whole, *rest), shape, value.kind)
    if len(group) == 1:
        return made, (group[0].label, *rest)
    labels = (*[g.label for g in group], *rest)
    return build.emit("merge", "", [(made, ())], labels, tuple([sizes[x] for x in labels]), value.kind)
