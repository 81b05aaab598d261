"""What a result is made of: cores, deltas, ones, sums of such parts, and the axes that may be exchanged.

A derivative is often a small core times Kronecker deltas: the Hessian of matrix factorisation has ``(nk)²`` entries
and is ``2 delta[i,j] core[k,l]``. The core keeps such products apart, so reading the structure off is looking at the
factors of the outermost product.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ricci.expr import Expr, Product, Size, Structure, Sum
from ricci.expr.structure import is_delta, is_zero
from ricci.simplify import symmetries

Names = tuple[str, ...]


@dataclass(frozen=True)
class Part:
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

    parts: tuple[Part, ...]
    symmetric: tuple[Names, ...]
    core_entries: Size
    entries: Size
    names: Names = field(repr=False, default=())

    def __str__(self) -> str:
        text = " + ".join(map(str, self.parts)) or "zero"
        if self.symmetric:
            pairs = [f"{a}↔{b}" for a, b in self.symmetric]
            text += ", symmetric" if len(self.names) == 2 else f", symmetric in {', '.join(pairs)}"
        return f"{text}; core {_shown(self.core_entries)}, whole {_shown(self.entries)}"

    __repr__ = __str__


def _shown(size: Size) -> str:
    return f"{size} numbers" if isinstance(size, int) else str(size)


def report(e: Expr, names: Names, sizes: tuple[Size, ...]) -> StructureReport:
    """The structure of ``e``; ``sizes`` are those of its axes, named for reading."""
    size = dict(zip(names, sizes, strict=True))
    terms = [] if is_zero(e) else list(e.args) if isinstance(e, Sum) and _worth_splitting(e) else [e]
    parts = tuple([_part(term, names, size) for term in terms])
    core: Size = 0
    for part in parts:
        core = core + part.entries
    whole: Size = 1
    for axis in sizes:
        whole = whole * axis
    return StructureReport(parts, _grouped(e, names), core, whole, names)


def _worth_splitting(e: Sum) -> bool:
    """A sum is shown in parts where some term is not a full tensor of its own."""
    return len(e.args) == 1 or any(isinstance(a, Product) and not a.sums for a in e.args)


def _part(e: Expr, names: Names, size: dict[str, Size]) -> Part:
    if isinstance(e, Sum) and len(e.args) == 1:
        return _part(e.args[0], names, size)
    factors = list(e.factors()) if isinstance(e, Product) and not e.sums else [(e, tuple(range(len(e.shape))))]
    deltas, others, cores, carried = [], [], [], set()
    for a, labels in factors:
        own = tuple([names[axis] for axis in labels])
        carried |= set(own)
        if is_delta(a):
            deltas.append(own)
        elif isinstance(a, Structure):
            if a.relation[0] != "one":
                others.append(own)
            else:
                carried -= set(own)
        else:
            cores.append(own)
    ones = tuple([name for name in names if name not in carried])
    entries: Size = 0
    for own in cores:
        count: Size = 1
        for name in dict.fromkeys(own):
            count = count * size[name]
        entries = entries + count
    return Part(tuple(deltas), tuple(others), ones, tuple(cores), entries)


def _grouped(e: Expr, names: Names) -> tuple[Names, ...]:
    return tuple([(names[a], names[b]) for a, b in symmetries(e)])
