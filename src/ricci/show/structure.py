"""What a result is made of: cores, deltas, ones, sums of such parts, and the axes that may be exchanged.

A derivative is often a small core times Kronecker deltas: the Hessian of matrix factorisation has ``(nk)²`` entries
and is ``2 delta[i,j] core[k,l]``. The core keeps such products apart, so reading the structure off is looking at the
factors of the outermost product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ricci.calculus.local import flat, opened
from ricci.calculus.weights import size_of
from ricci.expr import Expr, Size, Structure, Sum, numeric
from ricci.expr.structures import is_delta, is_one, is_zero
from ricci.simplify import symmetries, unchanged

Names = tuple[str, ...]


@dataclass(frozen=True)
class StructurePart:
    """One product: structures that cost nothing, and the cores that hold the numbers."""

    deltas: tuple[Names, ...]
    others: tuple[Names, ...]  # further structures: windows, triangles, gathers
    ones: Names
    cores: tuple[Names, ...]
    entries: Size  # of all cores together

    def __str__(self) -> str:
        pieces = [f"delta[{','.join(names)}]" for names in self.deltas]
        pieces += [f"structure[{','.join(names)}]" for names in self.others]
        pieces += [f"1[{','.join(self.ones)}]"] if self.ones else []
        pieces += [f"core[{','.join(names)}]" if names else "scalar" for names in self.cores]
        return " ⊗ ".join(pieces) or "1"


@dataclass(frozen=True)
class StructureReport:
    """The parts of a result, its symmetries, and how many numbers it takes beside how many entries it has."""

    parts: tuple[StructurePart, ...]
    symmetric: tuple[tuple[str, str], ...]  # pairs of axes that may be exchanged
    halves: tuple[Names, Names] | None  # the halves of the axes, where only exchanging them all at once changes nothing
    core_entries: Size
    entries: Size
    names: Names = field(repr=False, default=())

    def __str__(self) -> str:
        text = " + ".join(map(str, self.parts)) or "zero"
        pairs = [f"{a}↔{b}" for a, b in self.symmetric]
        if self.halves is not None:
            pairs.append("↔".join(f"({','.join(half)})" for half in self.halves))
        if pairs:
            text += ", symmetric" if len(self.names) == 2 else f", symmetric in {', '.join(pairs)}"
        return f"{text}; core {_shown(self.core_entries)}, whole {_shown(self.entries)}"

    __repr__ = __str__


def _shown(size: Size) -> str:
    return f"{size} numbers" if isinstance(size, int) else str(size)


def report(e: Expr, names: Names, sizes: tuple[Size, ...]) -> StructureReport:
    """The structure of ``e``; ``sizes`` are those of its axes, named for reading."""
    size = dict(zip(names, sizes, strict=True))
    inner = e.args[0] if isinstance(e, Sum) and len(e.args) == 1 else e
    factors: list[tuple[Expr, tuple]] = [(inner, tuple(range(len(e.shape))))]
    ways = [[flat(factors)], [flat(part) for _, part in opened(1, factors, set())]]  # sums left whole, or distributed
    found = [] if is_zero(e) else [tuple([_part(part, names, size) for part in way]) for way in ways]
    parts = min(found, key=lambda way: size_of(_entries(way)), default=())
    core = _entries(parts)
    whole: Size = 1
    for axis in sizes:
        whole = whole * axis
    pairs = tuple([(names[a], names[b]) for a, b in symmetries(e)])
    return StructureReport(parts, pairs, _halves(e, names, pairs), core, whole, names)


def _entries(parts: Sequence[StructurePart]) -> Size:
    total: Size = 0
    for part in parts:
        total = total + part.entries
    return total


def _part(factors: Sequence[tuple[Expr, tuple]], names: Names, size: dict[str, Size]) -> StructurePart:
    deltas, others, cores, carried = [], [], [], set()
    for a, labels in factors:
        own = tuple([names[axis] for axis in labels])
        if is_one(a) or numeric(a) is not None:
            continue
        carried |= set(own)
        if is_delta(a):
            deltas.append(own)
        elif isinstance(a, Structure):
            others.append(own)
        else:
            cores.append(own)
    ones = tuple([name for name in names if name not in carried])
    entries: Size = 0
    for own in cores:
        count: Size = 1
        for name in dict.fromkeys(own):
            count = count * size[name]
        entries = entries + count
    return StructurePart(tuple(deltas), tuple(others), ones, tuple(cores), entries)


def _halves(e: Expr, names: Names, pairs: tuple[tuple[str, str], ...]) -> tuple[Names, Names] | None:
    half = len(names) // 2
    first, second = names[:half], names[half:]
    if len(names) != 2 * half or half < 2 or set(zip(first, second, strict=True)) <= set(pairs):
        return None
    return (first, second) if unchanged(e, (*range(half, 2 * half), *range(half))) else None
