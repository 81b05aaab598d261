"""The operators of the matrix language: what they ask of shapes, and what they make.

``*`` multiplies matrices, and whatever a scalar by anything; ``.*``, ``./`` and ``.^`` take two of one shape, or a
scalar. A bare ``1`` beside a column is the column of ones, as in ``1 - x`` and ``A 1``, since ``.matrix()`` writes it
so; no other number is added to a column, and none to a matrix, where it could also mean the identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ricci.notation.matrix_shapes import MatrixPiece, MatrixSide, Shapes, alike, fits, unite

HIGHEST_POWER = 64  # of a matrix, which is written out


class Operators(Shapes):
    """Makes pieces of pieces; the places are those of the sign, for carets."""

    # Sums.

    def add(self, terms: Sequence[tuple[int, MatrixPiece]], signs: Sequence[tuple[int, int]]) -> MatrixPiece:
        """A sum of terms, +1 or -1 times a piece; ``signs`` are the places of the signs between them."""
        if len(terms) == 1:
            return terms[0][1] if terms[0][0] > 0 else self.negative(terms[0][1], terms[0][1].start)
        lead = next((p for _, p in terms if p.order), terms[0][1])
        found = [(sign, p if p.order or not lead.order else ones_like(p, lead) or p) for sign, p in terms]
        for (_, p), place in zip(found, [signs[0], *signs], strict=True):
            if not alike(lead, p):
                before, after = (lead, p) if lead.start < p.start else (p, lead)
                raise self.fail(
                    f"These cannot be added: {self.told(before, after)}.", *place, self._instead_of_sum(lead, p)
                )
            unite(lead.rows, p.rows)
            unite(lead.columns, p.columns)
        parts, data = tuple([p for _, p in found]), tuple([sign for sign, _ in found])
        return MatrixPiece("sum", terms[0][1].start, terms[-1][1].end, *lead.shape, parts, data)

    def _instead_of_sum(self, a: MatrixPiece, b: MatrixPiece) -> str:
        """What to write for ``a + b``; ``a`` is no scalar."""
        if not b.order:
            own = self.source(b)
            every = self.function("matrix" if a.order == 2 else "vector", own)
            kind = "vector" if a.order == 1 else "matrix"
            declared = f" What is none is declared: '{b.data[0]}: {kind}'." if b.kind == "name" else ""
            if a.order == 1:
                return f"To add it to every entry write {every}{self.prime if a.is_row else ''}.{declared}"
            eye = "I" if own == "1" else f"{self.operand(b)}*I"
            return f"To add it to every entry write {every}, to the diagonal {eye}.{declared}"
        if a.order + b.order == 3:
            column, large = (b, a) if b.order == 1 else (a, b)
            upright = self.turned(column) if column.is_row else self.operand(column)
            ones = r"\mathbf{1}" if self.latex else "vector(1)"
            if fits(large.rows, column.columns if column.is_row else column.rows):
                return f"To add it to each column write {upright}*{ones}{self.prime}."
            return (
                f"To add it to each row write {ones}*{self.operand(column) if column.is_row else self.turned(column)}."
            )
        if fits(a.rows, b.columns) and fits(a.columns, b.rows):
            return f"Write {self.turned(b)} for {self.source(b)}."
        return ""

    def negative(self, piece: MatrixPiece, start: int) -> MatrixPiece:
        return MatrixPiece("sum", start, piece.end, *piece.shape, (piece,), (-1,))

    # Products.

    def multiply(self, left: MatrixPiece, right: MatrixPiece, sign: str, place: tuple[int, int]) -> MatrixPiece:
        """``left * right``; the sign is " " where there is none."""
        if sign in " ·":
            right = ones_column(right) or right
            left = (ones_column(left) if sign == " " else None) or left
        if not left.order or not right.order:
            return self._times(left, right, 1)
        if not fits(left.columns, right.rows):
            hint = self._instead_of_product(left, right)
            raise self.fail(f"These cannot be multiplied: {self.told(left, right)}.", *place, hint)
        unite(left.columns, right.rows)
        parts = [*left.parts, right] if left.kind == "product" else [left, right]
        return MatrixPiece("product", left.start, right.end, left.rows, right.columns, tuple(parts))

    def _instead_of_product(self, a: MatrixPiece, b: MatrixPiece) -> str:
        left, right = self.operand(a), self.operand(b)
        if a.order == b.order == 1 and a.is_row == b.is_row and alike(a, b):
            inner, outer = (f"{self.turned(a)}*{right}", f"{left}*{self.turned(b)}")
            inner, outer = (outer, inner) if a.is_row else (inner, outer)
            entries = self.in_entries(left, "*", right)
            return f"Write {inner} for the sum of the products, {outer} for their matrix, {entries} entry by entry."
        ways = [
            (a.rows, b.rows, f"{self.turned(a)}*{right}"),
            (a.columns, b.columns, f"{left}*{self.turned(b)}"),
            (a.rows, b.columns, f"{self.turned(a)}*{self.turned(b)}"),
        ]
        found = [way for one, other, way in ways if (one is None) == (other is None) and fits(one, other)]
        if a.order + b.order == 3 and not found:
            return ""
        return f"Write {' or '.join(found[:2])}." if found else ""

    def _times(self, left: MatrixPiece, right: MatrixPiece, exponent: int) -> MatrixPiece:
        """Entry by entry; one of them may be a scalar."""
        rows, columns = left.shape if left.order else right.shape
        parts, data = (left.parts, left.data) if left.kind == "times" else ((left,), (1,))
        parts, data = (*parts, right), (*data, exponent)
        return MatrixPiece("times", left.start, right.end, rows, columns, parts, data)

    def divide(self, left: MatrixPiece, right: MatrixPiece, place: tuple[int, int]) -> MatrixPiece:
        if right.order:
            entries = self.in_entries(self.operand(left), "/", self.operand(right))
            hint = f"Entry by entry write {entries}." if alike(left, right) or not left.order else ""
            columns = {part.data[0] for part in within(right) if part.kind == "name" and part.order}
            if right.order == 1 and len(columns) == 1:
                hint = f"{hint} A name that is a scalar is declared: '{columns.pop()}: scalar'."
            if right.order == 2 and fits(right.rows, right.columns):
                hint = f"{hint} For the inverse write {self.operand(right)}^{{-1}}."
            raise self.fail(f"Only a scalar divides: {self.told(right)}.", *place, hint.strip())
        return self._times(left, right, -1)

    def entrywise(self, left: MatrixPiece, right: MatrixPiece, exponent: int, place: tuple[int, int]) -> MatrixPiece:
        """``left .* right``, or ``./`` where the exponent is -1."""
        if left.order and right.order:
            self.aligned([left, right], "divided" if exponent < 0 else "multiplied", place)
        return self._times(left, right, exponent)

    def aligned(
        self, pieces: Sequence[MatrixPiece], what: str, place: tuple[int, int]
    ) -> tuple[MatrixSide | None, MatrixSide | None]:
        """The one shape of pieces that something is done with entry by entry; scalars have any."""
        lead = next((p for p in pieces if p.order), pieces[0])
        for p in pieces:
            if not p.order:
                continue
            if not alike(lead, p):
                message = f"These cannot be {what} entry by entry: {self.told(lead, p)}."
                raise self.fail(message, *place, self._instead_of_entries(lead, p))
            unite(lead.rows, p.rows)
            unite(lead.columns, p.columns)
        return lead.shape

    def _instead_of_entries(self, a: MatrixPiece, b: MatrixPiece) -> str:
        if a.order == b.order and fits(a.rows, b.columns) and fits(a.columns, b.rows):
            return f"Write {self.turned(b)} for {self.source(b)}."
        if a.order + b.order != 3:
            return ""
        column, large = (a, b) if a.order == 1 else (b, a)
        inside = self.turned(column) if column.is_row else self.source(column)
        diagonal, large = self.function("diag", inside), self.operand(large)
        return f"To weigh the rows write {diagonal}*{large}, the columns {large}*{diagonal}."

    def kronecker(self, left: MatrixPiece, right: MatrixPiece) -> MatrixPiece:
        """``left ⊗ right``: rows and columns are pairs, in row-major order."""
        left, right = ones_column(left) or left, ones_column(right) or right
        if not left.order or not right.order:
            return self._times(left, right, 1)
        rows, columns = [_pairs(*sides) for sides in zip(left.shape, right.shape, strict=True)]
        return MatrixPiece("kronecker", left.start, right.end, rows, columns, (left, right))

    def row_products(self, left: MatrixPiece, right: MatrixPiece, place: tuple[int, int]) -> MatrixPiece:
        """``left • right``: each row is the Kronecker product of two rows."""
        if left.rows is None or right.rows is None or not fits(left.rows, right.rows):
            raise self.fail(f"• takes two with as many rows: {self.told(left, right)}.", *place)
        unite(left.rows, right.rows)
        columns = _pairs(left.columns, right.columns)
        return MatrixPiece("rows", left.start, right.end, left.rows, columns, (left, right))

    # Powers and transposes.

    def transpose(self, piece: MatrixPiece, end: int) -> MatrixPiece:
        piece = ones_column(piece) or piece
        if not piece.order:
            piece.end = end
            return piece
        if piece.kind == "transpose":
            return replace(piece.parts[0], start=piece.start, end=end)
        return MatrixPiece("transpose", piece.start, end, piece.columns, piece.rows, (piece,))

    @property
    def is_complex(self) -> bool:
        """Whether the text has complex numbers."""
        return False

    def conjugate(self, piece: MatrixPiece, end: int) -> MatrixPiece:
        return MatrixPiece("call", piece.start, end, *piece.shape, (piece,), ("conj", ()))

    def adjoint(self, piece: MatrixPiece, end: int) -> MatrixPiece:
        """The conjugate transpose."""
        return self.transpose(self.conjugate(piece, end), end)

    def power(self, base: MatrixPiece, exponent: MatrixPiece, entries: bool, place: tuple[int, int]) -> MatrixPiece:
        """``base ^ exponent``, or ``base .^ exponent``."""
        value = number_in(exponent)
        even = isinstance(value, int) and value > 0 and not value % 2
        if even and base.kind == "over" and base.data == ("norm", None):
            return self._norm_power(base, value, exponent)  # type: ignore[arg-type]
        if entries or not (base.order or exponent.order):
            shape = self.aligned([base, exponent], "raised", place)
            return MatrixPiece("power", base.start, exponent.end, *shape, (base, exponent))
        typed = self.operand(base)
        instead = f"Entry by entry write {self.in_entries(typed, '^', self.source(exponent))}."
        if exponent.order or base.order == 1:
            inner = f"{self.turned(base)}*{typed}" if not base.is_row else f"{typed}*{self.turned(base)}"
            square = f" {inner} is the sum of the squares." if value == 2 and not exponent.order else ""
            message = f"^ raises scalars and square matrices: {self.told(base if base.order else exponent)}."
            raise self.fail(message, *place, instead + square)
        if not isinstance(value, int) or abs(value) > HIGHEST_POWER:
            message = f"A matrix is raised to whole numbers, up to {HIGHEST_POWER}."
            raise self.fail(message, exponent.start, exponent.end, instead)
        self.square(base, "^")
        return self.whole_power(base, value, exponent.end)

    def _norm_power(self, base: MatrixPiece, value: int, exponent: MatrixPiece) -> MatrixPiece:
        """An even power of a norm is one of the sum of the squares, where it has derivatives everywhere."""
        place = base.start, exponent.end
        (arg,) = base.parts
        if self.is_complex:
            arg = MatrixPiece("call", arg.start, arg.end, *arg.shape, (arg,), ("abs", ()))
        square = MatrixPiece("power", *place, *arg.shape, (arg, MatrixPiece("number", *place, data=2)))
        total = MatrixPiece("over", *place, parts=(square,), data=("sum", None))
        if value == 2:
            return total
        return MatrixPiece("power", *place, parts=(total, MatrixPiece("number", *place, data=value // 2)))

    def whole_power(self, base: MatrixPiece, value: int, end: int) -> MatrixPiece:
        """A square matrix to a whole power."""
        if value < 0:
            base = MatrixPiece("function", base.start, end, *base.shape, (base,), ("inv", "matrix"))
        if value == 0:
            return MatrixPiece("eye", base.start, end, *base.shape)
        if abs(value) == 1:
            return base
        return MatrixPiece("product", base.start, end, *base.shape, (base,) * abs(value))


def within(piece: MatrixPiece) -> Iterator[MatrixPiece]:
    """A piece, and all that it is made of."""
    yield piece
    for part in piece.parts:
        yield from within(part)


def _pairs(a: MatrixSide | None, b: MatrixSide | None) -> MatrixSide | None:
    extents = [extent for side in (a, b) if side is not None for extent in side.extents]
    return MatrixSide(*extents) if extents else None


def is_bare(piece: MatrixPiece, value: int) -> bool:
    """Whether a piece is this number, typed as such and alone."""
    return piece.kind == "number" and piece.data == value and piece.end - piece.start == 1


def number_in(piece: MatrixPiece) -> int | float | complex | None:
    """The number that a piece is, if it is one."""
    if piece.kind == "number":
        return piece.data
    if piece.kind == "sum" and len(piece.parts) == 1:
        inner = number_in(piece.parts[0])
        return None if inner is None else -inner
    return None


def ones_column(piece: MatrixPiece) -> MatrixPiece | None:
    """The column of ones that a bare ``1`` stands for."""
    return MatrixPiece("ones", piece.start, piece.end, MatrixSide(known=False)) if is_bare(piece, 1) else None


def ones_like(piece: MatrixPiece, lead: MatrixPiece) -> MatrixPiece | None:
    """A scalar that begins with a bare ``1`` as a column, or a row, of ones; ``0`` as zeros of any shape."""
    if is_bare(piece, 0):
        return MatrixPiece("zeros", piece.start, piece.end, *lead.shape)
    if lead.order != 1:
        return None
    if is_bare(piece, 1):
        return MatrixPiece("ones", piece.start, piece.end, *lead.shape)
    others = [number_in(part) for part in piece.parts[1:]]
    if piece.kind == "times" and is_bare(piece.parts[0], 1) and not any(number is not None for number in others):
        ones = MatrixPiece("ones", piece.start, piece.start + 1, *lead.shape)
        return MatrixPiece("times", piece.start, piece.end, *lead.shape, (ones, *piece.parts[1:]), piece.data)
    return None
