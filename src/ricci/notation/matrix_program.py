"""Texts in the matrix language to the tree of index notation: statements, what is declared of their names, results.

A text is read twice: ``matrix_parser`` makes pieces of it, whose sizes are known when all statements are read, and
``matrix_indices`` writes these with indices. What follows knows nothing of matrices; the places of the nodes are those
of this text, which errors show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ricci.notation import syntax
from ricci.notation.declarations import ALWAYS_COMPLEX, WORDS, Declarations, OwnFunction
from ricci.notation.matrix_declarations import Declared, declarations
from ricci.notation.matrix_indices import Indices
from ricci.notation.matrix_operators import is_bare
from ricci.notation.matrix_parser import MatrixParser, Name
from ricci.notation.matrix_shapes import Extent, MatrixPiece, MatrixSide, shape_of, unite
from ricci.notation.matrix_tokens import Token
from ricci.notation.tokens import stack_enough

Functions = tuple[tuple[str, OwnFunction | None], ...]
KNOWN = {0: "a scalar", 1: "a column", 2: "a matrix"}


def read_matrix(
    text: str, declared: str, functions: Functions = (), complex_names: frozenset[str] = frozenset()
) -> syntax.Statements:
    """The tree of a text in the matrix language.

    >>> tree = read_matrix("f = x'*A*x", "")
    >>> [type(factor).__name__ for _, factor in tree.statements[0].body.factors]
    ['TensorNode', 'TensorNode', 'TensorNode']
    """
    return MatrixProgram(text, declared, functions, complex_names).program()


def declared_in(text: str, declared: str, functions: Functions = (), complex_names: Sequence[str] = ()) -> Declarations:
    """How a text is to be read of whose names this is declared: what is said of matrices that it has."""
    with stack_enough(text):
        parser = MatrixProgram(text, declared, functions, frozenset(complex_names))
        parser.program()
    words: dict[str, list[str]] = {}
    for name, said in parser.declared.items():
        for word in said.words if name in parser.used else ():
            words.setdefault(word, []).append(name)
    words["complex"] = [*words.get("complex", ()), *[n for n in complex_names if n not in words.get("complex", ())]]
    return replace(
        Declarations(matrix=declared, functions=functions), **{word: tuple(words.get(word, ())) for word in WORDS}
    )


class MatrixProgram(MatrixParser):
    """Reads all statements of one text."""

    def __init__(self, text: str, declared: str, functions: Functions, complex_names: frozenset[str] = frozenset()):
        super().__init__(text)
        self.own = frozenset([name for name, _ in functions])
        self.unknown = frozenset([name for name, known in functions if known is None])
        self.declared = declarations(declared)
        said = [n for n, own in self.declared.items() if not {"complex", *ALWAYS_COMPLEX}.isdisjoint(own.words)]
        self.complex_names = complex_names.union(said)
        self.kronecker_text |= any(said.order == 4 for said in self.declared.values())
        first = [one for before, one in pairwise([None, *self.tokens]) if before is None or before.kind == "end"]
        defined = {one.value for one in first if one is not None and one.kind == "name" and self._defines(one)}
        for name, said in self.declared.items():
            self._declare(name, said, name in defined)

    def _defines(self, token: Token) -> bool:
        after = self.tokens[self.after_name(self.tokens.index(token))]
        return after.kind == "sign" and after.value == "="

    def _declare(self, name: str, said: Declared, defined: bool) -> None:
        """A name as declared; indices of what the text defines name its axes, and say nothing of other sizes."""
        if defined:
            return
        sides = [MatrixSide(self.extents.setdefault(index, Extent(index))) for index in said.indices]
        if said.order not in (0, 1, 2, 4):  # its indices may still be sizes in the text
            self.large[name] = said.order
            return
        sides = sides or [MatrixSide(Extent()) for _ in range(said.order)]
        if said.order == 4:
            sides = [MatrixSide(*[e for side in pair for e in side.extents]) for pair in (sides[:2], sides[2:])]
        if any(word not in ("scalar", "vector", "matrix", "complex") for word in said.words):
            unite(*sides)
        self.names[name] = Name(*shape_of(sides))

    def program(self) -> syntax.Statements:
        """The tree of the text."""
        found: list[tuple[MatrixPiece, str | None, bool]] = []
        while self.at < len(self.tokens):
            found.append(self.statement())
        indices = Indices(self.names, self.extents)
        indices.begin([side for name in self.used for side in self.names[name].sides])
        statements = []
        for piece, name, merged in found:
            wanted = self.declared[name].indices if name is not None and name in self.declared else ()
            statements.append(indices.statement(piece, name, merged, wanted))
        return syntax.Statements(self.text, tuple(statements), sizes=indices.sizes(), doubtful=tuple(self.doubts))

    def statement(self) -> tuple[MatrixPiece, str | None, bool]:
        """A statement: its piece, its name, and whether its result is a column of pairs in one axis."""
        start = self.now
        name = self._left_side()
        piece = self.sum()
        if self.now.kind != "end":
            self._stray()
        self.take()
        said = self.declared.get(name) if name is not None else None
        if said is not None:
            piece = self._as_declared(piece, start)
        counts = [0 if side is None else len(side.extents) for side in piece.shape]
        merged = sorted(counts) == [0, 2]
        if not merged and min(counts) == 0 and max(counts) > 1:
            hint = "A column may have the entries of a matrix in it, as vec(A) has, and not those of more."
            raise self.fail(f"This column has three indices or more: {self.told(piece)}.", piece.start, piece.end, hint)
        if name is not None:
            self.names[name] = Name(piece.rows, piece.columns, merged, True)
        piece.start = start.start if name is not None else piece.start
        return piece, name, merged

    def _left_side(self) -> str | None:
        """The name before ``=``, if there is one."""
        sign = self._equals()
        if sign is None:
            return None
        name, end = self.now, self.after_name(self.at)
        if sign is name:
            self._refuse("The left side of '=' is missing.", sign, "Write f = …, or leave out '='.")
        if name.kind not in ("name", "dotted") or self.tokens[end] is not sign:
            typed = name.value if name.kind in ("name", "dotted") else "f"
            hint = f"Write {typed} = …; what is in it is an input."
            raise self.fail("The left side of '=' is a name.", name.start, sign.start, hint)
        self._check_name(name)
        if name.value in self.names:
            used = "defined" if self.names[name.value].defined else "used as an input"
            self._refuse(f"{name.value!r} is already {used} above.", name, "Give this statement another name.")
        if end > self.at + 1:
            self.calls[name.value] = self.tokens[self.at + 1 : end]
        self.at = end + 1
        if self.now.kind == "end":
            self._refuse("There is nothing after '='.", sign, "Write what the name stands for: f = x'*A*x.")
        return name.value

    def _equals(self) -> Token | None:
        """The ``=`` of this statement outside brackets."""
        depth = 0
        for token in self.tokens[self.at :]:
            depth += (token.kind == "open") - (token.kind == "close")
            if token.kind == "end" or (token.kind == "sign" and token.value == "=" and not depth):
                return token if token.kind == "sign" else None
        return None

    def _as_declared(self, piece: MatrixPiece, name: Token) -> MatrixPiece:
        """A result as its name was declared: ``0`` and ``1`` have any shape, and what was said of an index holds."""
        said = self.declared[name.value]
        if not piece.order and said.order and (is_bare(piece, 0) or is_bare(piece, 1)):
            sides = [MatrixSide(known=False) for _ in range(min(said.order, 2))]
            piece = MatrixPiece("zeros" if is_bare(piece, 0) else "ones", piece.start, piece.end, *shape_of(sides))
        for side in piece.shape if said.order == 4 else ():
            if side is not None and not side.known:
                side.unite(MatrixSide(Extent(), Extent()))
        extents = [extent for side in piece.shape if side is not None for extent in side.extents]
        merged = piece.order == 1 and len(extents) == 2
        if said.order != (1 if merged else len(extents)):
            what = f"{name.value!r} is declared {KNOWN.get(said.order, f'with {said.order} indices')}"
            raise self.fail(f"{what}: {self.told(piece)}.", piece.start, piece.end)
        for extent, index in zip(extents, said.indices, strict=False) if not merged else ():
            known = self.extents.get(index, extent)
            if not extent.fits(known):
                message = f"The index {index!r} of {name.value} has another size: {self.told(piece)}."
                raise self.fail(message, piece.start, piece.end)
            extent.unite(known)
        return piece
