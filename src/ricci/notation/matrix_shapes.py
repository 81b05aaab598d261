"""Pieces of a text in the matrix language, and their shapes: rows and columns, found by unification.

A piece has as many rows and columns as a *side* says. A scalar has neither side, a column has rows alone, and a row
columns alone. Nobody writes sizes: what is added, multiplied or inverted tells which sides are one, and these are
united (union and find, by the names that were declared). Two sides with different declared names do not unite, which
is the error that readers of matrices make most; nor does a side with none.

A side is a tuple of *extents*, mostly one. Two stand for the rows of ``A ⊗ B``, which are pairs, row-major. How many
there are may be open, as for ``I``, until something says it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ricci.errors import NotationError


class Extent:
    """How far one index goes; united with another, it is the other."""

    __slots__ = ("name", "same")

    def __init__(self, name: str = ""):
        self.name = name  # as declared
        self.same: Extent | None = None

    def root(self) -> Extent:
        found = self
        while found.same is not None:
            found = found.same
        if found is not self:
            self.same = found
        return found

    def fits(self, other: Extent) -> bool:
        a, b = self.root(), other.root()
        return a is b or not (a.name and b.name and a.name != b.name)

    def unite(self, other: Extent) -> None:
        a, b = self.root(), other.root()
        if a is not b:
            if a.name:
                a, b = b, a
            a.same = b


class MatrixSide:
    """The rows or the columns of a piece: its extents, or None as long as their number is open."""

    __slots__ = ("_extents", "same")

    def __init__(self, *extents: Extent, known: bool = True):
        self._extents: tuple[Extent, ...] | None = extents if known else None
        self.same: MatrixSide | None = None

    def root(self) -> MatrixSide:
        found = self
        while found.same is not None:
            found = found.same
        return found

    @property
    def known(self) -> bool:
        return self.root()._extents is not None

    @property
    def extents(self) -> tuple[Extent, ...]:
        """The extents, as they are now; one, if nothing has said how many."""
        root = self.root()
        if root._extents is None:
            root._extents = (Extent(),)
        return root._extents

    def fits(self, other: MatrixSide) -> bool:
        if not (self.known and other.known) or self.root() is other.root():
            return True
        pairs = zip(self.extents, other.extents, strict=False)
        return len(self.extents) == len(other.extents) and all(a.fits(b) for a, b in pairs)

    def unite(self, other: MatrixSide) -> None:
        a, b = self.root(), other.root()
        if a is b:
            return
        if a._extents is None or b._extents is None:
            if a._extents is not None:
                a, b = b, a
            a.same = b
            return
        for x, y in zip(a._extents, b._extents, strict=True):
            x.unite(y)


Shape = tuple[MatrixSide | None, MatrixSide | None]  # rows and columns; None is one entry that no index counts
SCALAR: Shape = (None, None)


def shape_of(sides: Sequence[MatrixSide]) -> Shape:
    """The shape of a column with this side, of a matrix with both, or of a scalar."""
    rows, columns, *_ = [*sides, None, None]
    return rows, columns


@dataclass(slots=True)
class MatrixPiece:
    """A piece of a text, with its place and its shape; what it does with its ``parts`` is its ``kind``."""

    kind: str
    start: int
    end: int
    rows: MatrixSide | None = None
    columns: MatrixSide | None = None
    parts: tuple[MatrixPiece, ...] = ()
    data: Any = None
    depth: int = field(init=False, default=0)  # pieces in one another, with this one

    def __post_init__(self) -> None:
        self.depth = 1 + max([part.depth for part in self.parts], default=0)

    @property
    def shape(self) -> Shape:
        return self.rows, self.columns

    @property
    def order(self) -> int:
        """0 for a scalar, 1 for a column or a row, 2 for a matrix."""
        return (self.rows is not None) + (self.columns is not None)

    @property
    def is_row(self) -> bool:
        return self.rows is None and self.columns is not None


LATEX_SIGNS = {"*": r"\odot", "/": r"\oslash"}


def fits(a: MatrixSide | None, b: MatrixSide | None) -> bool:
    """Whether two sides may be one."""
    return a is b if a is None or b is None else a.fits(b)


def alike(a: MatrixPiece, b: MatrixPiece) -> bool:
    """Whether two pieces may have one shape."""
    return fits(a.rows, b.rows) and fits(a.columns, b.columns)


def unite(a: MatrixSide | None, b: MatrixSide | None) -> None:
    if a is not None and b is not None:
        a.unite(b)


@dataclass
class Shapes:
    """What the errors of one text need: the text, and letters for sizes that have no name."""

    text: str
    latex: bool = False
    extents: dict[str, Extent] = field(default_factory=dict)  # that were declared, by name
    letters: dict[int, str] = field(default_factory=dict)

    def fail(self, message: str, start: int, end: int, hint: str = "") -> NotationError:
        return NotationError(message, self.text, start, end, hint)

    def source(self, piece: MatrixPiece) -> str:
        """A piece as it was typed."""
        return " ".join(self.text[piece.start : piece.end].split())

    def operand(self, piece: MatrixPiece) -> str:
        """A piece as it was typed, in a bracket where it could not stand in a product."""
        typed = self.source(piece)
        return typed if piece.kind in ATOMS or _in_brackets(typed) else f"({typed})"

    def turned(self, piece: MatrixPiece) -> str:
        """The transpose of a piece, as it is typed."""
        if piece.kind == "transpose":
            return self.source(piece.parts[0])
        return self.operand(piece) + self.prime

    @property
    def prime(self) -> str:
        """The sign of the transpose."""
        return r"^\top" if self.latex else "'"

    def told(self, *pieces: MatrixPiece) -> str:
        """What the pieces are: ``A is m×n, x is k×1``."""
        return ", ".join(f"{self._short(piece)} is {self._shape(piece)}" for piece in pieces)

    def _short(self, piece: MatrixPiece) -> str:
        typed = self.source(piece)
        return typed if len(typed) <= 40 else f"{typed[:18]}…{typed[-18:]}"

    def _shape(self, piece: MatrixPiece) -> str:
        if not piece.order:
            return "a scalar"
        rows, columns = [self._side(side) for side in piece.shape]
        return f"{rows}×{columns}"

    def _side(self, side: MatrixSide | None) -> str:
        return "1" if side is None else "·".join(self._letter(extent.root()) for extent in side.extents)

    def _letter(self, extent: Extent) -> str:
        if extent.name:
            return extent.name
        taken = {*self.letters.values(), *self.extents}
        return self.letters.setdefault(id(extent), next(c for c in "mnpqrstuvwkh" + "?" * 99 if c not in taken))

    def in_entries(self, left: str, sign: str, right: str) -> str:
        """``left .* right`` and its like, as the text would have it."""
        if not self.latex:
            return f"{left}.{sign}{right}"
        return f"{left}^{{\\odot {right}}}" if sign == "^" else f"{left} {LATEX_SIGNS[sign]} {right}"

    def function(self, name: str, inside: str) -> str:
        """``diag(x)``, as the text would have it."""
        return rf"\operatorname{{{name}}}({inside})" if self.latex else f"{name}({inside})"

    def square(self, a: MatrixPiece, name: str) -> None:
        """Refuses what is not square."""
        if a.order != 2:
            diagonal = self.function("diag", self.source(a))
            hint = f"With a column on its diagonal write {diagonal}." if a.order else ""
            raise self.fail(f"{name} takes a square matrix: {self.told(a)}.", a.start, a.end, hint)
        if not fits(a.rows, a.columns):
            hint = f"Declare it so if it is, as in A[n,n]. {self.turned(a)}*{self.operand(a)} is square."
            raise self.fail(f"{name} takes a square matrix: {self.told(a)}.", a.start, a.end, hint)
        unite(a.rows, a.columns)


def _in_brackets(typed: str) -> bool:
    """Whether a text is one bracket."""
    depth = 0
    for at, character in enumerate(typed):
        depth += (character in "([") - (character in ")]")
        if not depth:
            return at == len(typed) - 1 and at > 0
    return False


ATOMS = frozenset(["name", "call", "function", "over", "ones", "eye", "number", "pi", "size", "transpose", "trace"])
