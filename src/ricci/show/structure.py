"""What a result is made of: cores, deltas, ones, sums of such parts, and the axes that may be exchanged.

A derivative is often a small core times Kronecker deltas: the Hessian of matrix factorisation has ``(nk)²`` entries
and is ``2 delta[i,j] core[k,l]``. The core keeps such products apart, so reading the structure off is looking at the
factors of the outermost product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ricci.calculus.local import flat, opened
from ricci.calculus.weights import size_of
from ricci.expr import Expr, Number, Size, Structure, Sum, index_size, numeric
from ricci.expr.dims import replaced
from ricci.expr.offsets import named_form
from ricci.expr.structures import is_delta, is_one, is_zero
from ricci.simplify import symmetries, unchanged

if TYPE_CHECKING:
    from ricci.show.structure_picture import BlockPicture

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

    __repr__ = __str__


@dataclass(frozen=True)
class StructureReport:
    """The parts of a result, its symmetries, and how many numbers it takes beside how many entries it has."""

    parts: tuple[StructurePart, ...]
    symmetric: tuple[tuple[str, str], ...]  # pairs of axes that may be exchanged
    halves: tuple[Names, Names] | None  # the halves of the axes, where only exchanging them all at once changes nothing
    core_entries: Size
    entries: Size
    names: Names = field(repr=False, default=())
    drawn: DrawnFrom | None = field(repr=False, compare=False, default=None)
    form: str = ""  # what a matrix of this form is called: "banded, width 3"

    def __str__(self) -> str:
        text = " + ".join(map(str, self.parts)) or "zero"
        text = f"{self.form}: {text}" if self.form else text
        pairs = [f"{a}↔{b}" for a, b in self.symmetric]
        if self.halves is not None:
            pairs.append("↔".join(f"({','.join(half)})" for half in self.halves))
        if pairs:
            text += ", symmetric" if len(self.names) == 2 else f", symmetric in {', '.join(pairs)}"
        return f"{text}; core {_shown(self.core_entries)}, whole {_shown(self.entries)}"

    __repr__ = __str__

    def picture(self) -> BlockPicture | None:
        """Which entries are zero, which are the same: rows by columns, in blocks; see ``structure_picture``."""
        from ricci.show.structure_picture import picture

        if self.drawn is None:
            return None
        expr, terms, columns, sides, linked = self.drawn
        captions = [str(part) for part in self.parts]
        return picture(expr, terms, captions, self.names, columns, sides, linked, self._exchanges(), self._notes())

    def _repr_svg_(self) -> str | None:
        found = self.picture()
        return None if found is None else found._repr_svg_()

    def _exchanges(self) -> list[list[int]]:
        """The orders of the axes that change nothing."""
        place = {name: axis for axis, name in enumerate(self.names)}
        orders = [[place[{a: b, b: a}.get(name, name)] for name in self.names] for a, b in self.symmetric]
        return orders + ([[place[name] for half in self.halves[::-1] for name in half]] if self.halves else [])

    def _notes(self) -> list[str]:
        """How many numbers it takes, and what may be exchanged. A size that several axes have is that of the first."""
        shape = self.drawn.expr.shape if self.drawn else ()
        first: dict[Size, str] = {}
        for name, size in zip(self.names, shape, strict=False):
            first.setdefault(size, name)
        called = {name: first[size] for name, size in zip(self.names, shape, strict=False)}

        def shown(size: Size) -> str:
            size = replaced(size, lambda atom: index_size(called.get(atom[0], str(atom[0]))))
            return f"{size:,}" if isinstance(size, int) else str(size).replace("*", "·")

        _, comma, symmetry = str(self).partition(";")[0].partition(", symmetric")
        numbers, entries = ("number", "numbers")[self.core_entries != 1], ("entry", "entries")[self.entries != 1]
        said = f"{shown(self.core_entries)} {numbers} for {shown(self.entries)} {entries}"
        said = f"{self.form}; {said}" if self.form else said
        return [said + (f"; symmetric{symmetry}" if comma else "")]


class DrawnFrom(NamedTuple):
    """What a picture is drawn of: a tensor, its terms, how many axes are columns, names of sides, equal sizes."""

    expr: Expr
    terms: tuple[tuple[Number, tuple[tuple[Expr, tuple[int, ...]], ...]], ...]
    columns: int
    sides: tuple[str, str]
    linked: tuple[tuple[Size, Size], ...]


def _shown(size: Size) -> str:
    return f"{size} numbers" if isinstance(size, int) else str(size)


def report(
    e: Expr,
    names: Names,
    sizes: tuple[Size, ...],
    columns: int | None = None,
    sides: tuple[str, str] | None = None,
    linked: Sequence[tuple[Size, Size]] = (),
) -> StructureReport:
    """The structure of ``e``; ``sizes`` are those of its axes, named for reading, the last of which are columns.

    ``sides`` say what the rows and the columns are of, and ``linked`` are sizes that agree.
    """
    size = dict(zip(names, sizes, strict=True))
    by, inner = (e.coefs[0], e.args[0]) if isinstance(e, Sum) and len(e.args) == 1 else (1, e)
    factors: list[tuple[Expr, tuple]] = [(inner, tuple(range(len(e.shape))))]
    ways = [[(by, flat(factors))], [(c, flat(part)) for c, part in opened(by, factors, set())]]  # whole, or distributed
    found = [] if is_zero(e) else [(tuple([_part(part, names, size) for _, part in way]), way) for way in ways]
    parts, terms = min(found, key=lambda way: size_of(_entries(way[0])), default=((), []))
    core = _entries(parts)
    whole: Size = 1
    for axis in sizes:
        whole = whole * axis
    pairs = tuple([(names[a], names[b]) for a, b in symmetries(e)])
    split = e.order - (e.order // 2 if columns is None else columns)
    drawn = DrawnFrom(
        e,
        tuple([(c, tuple(part)) for c, part in terms]),
        e.order - split,
        sides or (", ".join(names[:split]), ", ".join(names[split:])),
        tuple(linked),
    )
    form = named_form(e, drawn.columns, names)
    return StructureReport(parts, pairs, _halves(e, names, pairs), core, whole, names, drawn, form)


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
