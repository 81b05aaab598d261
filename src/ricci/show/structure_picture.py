"""A structure as a picture of blocks: which entries are zero, which are the same number, which are a part of their own.

The first axes are rows and the last ones columns, outer indices being blocks of inner ones. Where sizes are not known,
small ones are drawn; where they are large, the first places and the last one. What is drawn empty is zero: that
follows from the structure alone (``known_entries.py``), whatever the values are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product as combinations
from math import prod
from typing import Any

from ricci.errors import ShapeError
from ricci.expr import Constant, Expr, Number, Size, Structure
from ricci.expr.structures import is_delta, is_one, merged_axis
from ricci.show.block_svg import to_svg
from ricci.show.known_entries import KnownEntries, KnownEntry, opened_parts
from ricci.show.small_sizes import SmallSizes

# By how many axes a side has: the sizes that are drawn where they may be chosen, and how many places where not.
WISHED = {0: (), 1: (7,), 2: (4, 3), 3: (3, 2, 2), 4: (2, 2, 2, 2)}
SHOWN = {0: 1, 1: 12, 2: 4, 3: 3, 4: 2}
BESIDE = 4  # the size of a single axis where the other side has several
MOST_CELLS, MOST_PARTS = 1600, 4
Place = tuple[int, ...]
Term = tuple[Number, Sequence[tuple[Expr, tuple[int, ...]]]]


@dataclass(frozen=True)
class DrawnAxis:
    """An axis, and which of its places are drawn."""

    name: str
    size: int
    shown: tuple[int, ...]


@dataclass(frozen=True)
class Panel:
    """One tensor of the picture: the entries by place, what it is called, and what kinds of structure are in it."""

    entries: Mapping[Place, KnownEntry]
    caption: str = ""
    kinds: tuple[str, ...] = ()
    parts: Mapping[Place, tuple[int, ...]] | None = None  # of a sum, which terms an entry has
    minus: bool = False  # whether it is taken away, as a part


@dataclass(frozen=True, repr=False)
class BlockPicture:
    """What is drawn: the axes of rows and of columns, the whole, and the parts that it is the sum of."""

    rows: tuple[DrawnAxis, ...]
    columns: tuple[DrawnAxis, ...]
    sides: tuple[str, str]  # what the rows are of, and the columns
    whole: Panel
    parts: tuple[Panel, ...]
    chosen: Mapping[str, int]  # sizes that were not known
    notes: tuple[str, ...] = ()

    def places(self) -> Iterator[tuple[Place, Place]]:
        columns = list(combinations(*[axis.shown for axis in self.columns]))
        return ((row, column) for row in combinations(*[axis.shown for axis in self.rows]) for column in columns)

    def blocks_alike(self, panel: Panel) -> bool:
        """Whether there are several blocks of inner indices that are not zero, and all of them are the same."""
        if min(len(self.rows), len(self.columns)) < 2:
            return False
        blocks: dict[Place, dict[Place, KnownEntry]] = {}
        for row, column in self.places():
            entry = panel.entries[*row, *column]
            blocks.setdefault((row[0], column[0]), {})[*row[1:], *column[1:]] = entry
        filled = [block for block in blocks.values() if any(entry.coef != 0 for entry in block.values())]
        return len(filled) > 1 and all(block == filled[0] for block in filled)

    def __repr__(self) -> str:
        count = f", a sum of {len(self.parts)} parts" if self.parts else ""
        return f"<picture of a structure: rows {self.sides[0] or '1'}, columns {self.sides[1] or '1'}{count}>"

    def _repr_svg_(self) -> str:
        return to_svg(self)


def picture(
    e: Expr,
    terms: Sequence[Term],
    captions: Sequence[str],
    names: Sequence[str],
    columns: int,
    sides: tuple[str, str],
    linked: Sequence[tuple[Size, Size]] = (),
    same: Sequence[Sequence[int]] = (),
    notes: Sequence[str] = (),
) -> BlockPicture | None:
    """The picture of ``e``, the sum of ``terms``; ``same`` are orders of its axes that change nothing.

    There is none of tensors with very many axes, none of empty ones, and none where no small sizes fit.
    """
    split = len(names) - columns
    if max(split, columns) > max(WISHED):
        return None
    try:
        size = drawn_sizes(e, terms, split, linked)
        drawn = [_axis(name, size(s), max(split, columns)) for name, s in zip(names, e.shape, strict=True)]
        if not 0 < prod([len(axis.shown) for axis in drawn]) <= MOST_CELLS:
            return None
        order = sorted(range(len(terms)), key=lambda k: terms[k][0] < 0)  # what is taken away comes last
        whole, parts = _panels(drawn, [terms[k] for k in order], [captions[k] for k in order], size, same)
    except (ShapeError, KeyError):  # sizes that are not known where they are needed
        return None
    unknown = {s: name for name, s in reversed([*zip(names, e.shape, strict=True)]) if not isinstance(s, int)}
    chosen = {name: size(s) for s, name in reversed(unknown.items())}
    return BlockPicture(tuple(drawn[:split]), tuple(drawn[split:]), sides, whole, parts, chosen, tuple(notes))


def drawn_sizes(
    e: Expr, terms: Sequence[Term], split: int, linked: Sequence[tuple[Size, Size]]
) -> Callable[[Size], int]:
    """A number for each size: those that decide what is drawn are chosen, if they are not known."""
    reader = KnownEntries(lambda size: 1)
    opened = [node for _, factors in terms for f, _ in factors for node in opened_parts(f, reader)]
    found = [size for node in opened for a in (node, *node.args) for size in a.shape]
    for node in opened:
        if isinstance(node, Structure) and node.relation[0] in ("==", ">="):
            found += [*node.relation[1], node.relation[2]]
        if isinstance(node, Constant) and not node.shape:
            found.append(node.value)
    unknown = [size for size in found if not isinstance(size, (int, float)) and hasattr(size, "atoms")]
    counts = (split, e.order - split)
    wished = [n for k, own in enumerate(counts) for n in (WISHED[own] if own != 1 or counts[1 - k] < 2 else (BESIDE,))]
    return SmallSizes(e, linked, [size for size in unknown if not _may_be_negative(size)], wished).of


def _may_be_negative(size: Any) -> bool:
    """A coefficient or a shift of a relation, rather than the size of something."""
    return any(c < 0 for _, c in size.terms)


def _axis(name: str, size: int, beside: int) -> DrawnAxis:
    most = SHOWN[beside]
    shown = tuple(range(size)) if size <= most + 1 else (*range(most - 1), size - 1)
    return DrawnAxis(name, size, shown)


def _panels(
    drawn: Sequence[DrawnAxis],
    terms: Sequence[Term],
    captions: Sequence[str],
    size: Callable[[Size], int],
    same: Sequence[Sequence[int]],
) -> tuple[Panel, tuple[Panel, ...]]:
    reader = KnownEntries(size)
    places = list(combinations(*[axis.shown for axis in drawn]))
    found = []
    for coef, factors in terms:
        found.append({p: reader.term(coef, factors, dict(enumerate(p))) for p in places})
    kinds = [_kinds(factors, reader) for _, factors in terms]
    total = {p: reader.sum([part[p] for part in found]) for p in places}
    total = _joined(total, same)
    holding = {p: tuple([k for k, part in enumerate(found) if part[p].coef != 0]) for p in places}
    every = tuple(dict.fromkeys(kind for own in kinds for kind in own))
    whole = Panel(
        total,
        captions[0] if len(terms) == 1 else f"{len(terms)} parts" if terms else "",
        every,
        holding if len(terms) > 1 else None,
    )
    if not 1 < len(terms) <= MOST_PARTS:
        return whole, ()
    parts = []
    for (coef, _), part, caption, own in zip(terms, found, captions, kinds, strict=True):
        minus = coef < 0
        drawn_part = {p: entry._replace(coef=-entry.coef) for p, entry in part.items()} if minus else part
        parts.append(Panel(drawn_part, caption, own, minus=minus))
    return whole, tuple(parts)


def _joined(entries: dict[Place, KnownEntry], same: Sequence[Sequence[int]]) -> dict[Place, KnownEntry]:
    """The entries, those that are the same by a symmetry being one."""
    first: dict[Place, Place] = {}
    for place in entries:
        orbit, waiting = {place}, [place]
        while waiting:
            here = waiting.pop()
            for order in same:
                there = tuple([here[axis] for axis in order])
                if there in entries and there not in orbit:
                    orbit.add(there)
                    waiting.append(there)
        first[place] = min(orbit)
    return {place: entry if entry.coef == 0 else entries[first[place]] for place, entry in entries.items()}


def _kinds(factors: Sequence[tuple[Expr, Any]], reader: KnownEntries) -> tuple[str, ...]:
    """The kinds of structure that a term is made of, in words."""
    found = [kind_of(node) for f, _ in factors for node in opened_parts(f, reader) if isinstance(node, Structure)]
    return tuple(dict.fromkeys(filter(None, found)))


def kind_of(e: Structure) -> str:
    """What a structure is, in a word; nothing for ones.

    >>> from ricci.expr import delta, place
    >>> kind_of(delta(3)), kind_of(place(1, 3))
    ('diagonal', 'one place')
    """
    kind = e.relation[0]
    if is_one(e):
        return ""
    if kind in ("at", "zero"):
        return {"at": "gather", "zero": "zero"}[kind]
    if kind == ">=":
        return "triangle"
    if is_delta(e):
        return "diagonal"
    if merged_axis(e) is not None:
        return "reshape"
    return {1: "one place", 2: "shifted diagonal"}.get(e.order, "band")
