"""The functions of the matrix language: those of ricci's tables by their shapes, and a few that matrices have.

What works entry by entry takes pieces of one shape, and scalars: ``exp(A)`` is that of every entry, as on
matrixcalculus.org, and ``expm(A)`` the exponential of a matrix. What reduces takes all entries, ``sum(A)``, or those of
each row or column, ``rowSum(A)``, ``max_col(A)``, ``np.mean(A, axis=0)``; the result is a column either way. What keeps
its axis, ``softmax``, works along a column, and of a matrix along its rows or its columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ricci.errors import nearest
from ricci.expr import Op
from ricci.functions.table import IN_TEXT, named_in
from ricci.functions.unknown import read_mark, unmarked
from ricci.notation.matrix_operators import Operators, is_bare, number_in
from ricci.notation.matrix_shapes import SCALAR, Extent, MatrixPiece, MatrixSide, Shape
from ricci.notation.translations import FUNCTIONS as OTHER_NAMES

ABS = ("abs", ())  # a function, and what it is differentiated by
LARGER = {"max": "maximum", "min": "minimum"}  # of two things, entry by entry
SINGLE = frozenset(["sum", "mean", "prod", "max", "min", "logsumexp"])  # which a scalar is itself


@dataclass(slots=True)
class MatrixCall:
    """A call as it was typed: the name, its place, what is in the brackets, ``axis=0`` and texts such as ``'fro'``."""

    name: str
    start: int
    name_end: int
    end: int = 0
    args: list[MatrixPiece] = field(default_factory=list)
    axis: int | None = None
    words: list[str] = field(default_factory=list)
    on_paper: bool = False  # in LaTeX, where exp(A) is the exponential of a matrix
    python: bool = False  # np.sum(A, 0) or A.sum(0), where a number is an axis


class Functions(Operators):
    """Makes pieces of calls."""

    own: frozenset[str] = frozenset()  # functions of the user's, which work entry by entry
    unknown: frozenset[str] = frozenset()  # those that have derivatives by name

    def is_own(self, name: str) -> bool:
        """Whether a name is that of a function of the user's, or of its derivative."""
        return name in self.own or unmarked(name, self.unknown) is not None

    def call(self, call: MatrixCall) -> MatrixPiece:
        if self.is_own(call.name) and call.args:
            shape = self.aligned(call.args, "taken", (call.start, call.end))
            name, mark = unmarked(call.name, self.unknown) or (call.name, "")
            try:
                places = read_mark(mark, len(call.args))
            except ValueError as fault:
                hint = f"Write {name}'(…) for the derivative, of several arguments {name}_1(…), {name}_12(…)."
                raise self.fail(f"{call.name!r} is no derivative here: {fault}.", call.start, call.end, hint) from None
            return MatrixPiece("call", call.start, call.end, *shape, tuple(call.args), (name, places))
        made = SPECIAL.get(call.name)
        if call.name == "D" and len(call.args) == 2:
            made = (2, Functions.derivative)
        if made is not None:
            count, build = made
            if len(call.args) != count:
                raise self._wrong_count(call, count)
            piece = build(self, call)
            piece.start, piece.end = call.start, call.end
            return piece
        row, axis = function_row(call.name)
        if row is None:
            hint = nearest(call.name, [*SPECIAL, *IN_TEXT])
            hint = f"For a product write {call.name}*(…). {hint}".strip()
            raise self.fail(f"There is no function {call.name!r}.", call.start, call.name_end, hint)
        if axis is not None:
            call.axis = axis
            if call.args and call.args[0].order < 2:
                arg = call.args[0]
                raise self.fail(f"{call.name} takes a matrix: {self.told(arg)}.", arg.start, arg.end)
        if row.kind in ("reduce", "keep") and len(call.args) == 2 and call.python:
            place = number_in(call.args[1])
            if isinstance(place, int):
                call.axis = place
                call.args.pop()
        if not call.python and row.name in LARGER and len(call.args) == 2 and call.axis is None:
            row = IN_TEXT[LARGER[row.name]]
        if row.kind == "reduce" and len(call.args) > 1:
            raise self._second_argument(call, row)
        if len(call.args) != row.arity:
            raise self._wrong_count(call, row.arity)
        if call.axis is not None and row.kind not in ("reduce", "keep"):
            raise self.fail(f"{call.name} has no axis.", call.start, call.end)
        builders = {"elementwise": self._by_entries, "reduce": self._reduced, "keep": self._kept}
        return builders.get(row.kind, self._of_matrix)(call, row)

    def _wrong_count(self, call: MatrixCall, count: int) -> Exception:
        s = "argument" if count == 1 else "arguments"
        return self.fail(f"{call.name} takes {count} {s}, not {len(call.args)}.", call.start, call.end)

    def _second_argument(self, call: MatrixCall, row: Op) -> Exception:
        first, second = [self.source(arg) for arg in call.args[:2]]
        pair = LARGER.get(row.name)
        hint = (
            f"Write {pair}({first}, {second})."
            if pair
            else f"Write {row.name}_row({first}) or {row.name}_col({first})."
        )
        return self.fail(f"{call.name} takes one argument.", call.start, call.end, hint)

    def _by_entries(self, call: MatrixCall, row: Op) -> MatrixPiece:
        if call.on_paper and call.args[0].order == 2:
            if row.name != "exp":
                typed = rf"\{row.name}^{{\odot}}\left(…\right)"
                message = f"{row.name} of a matrix has two readings."
                raise self.fail(message, call.start, call.end, f"Entry by entry write {typed}.")
            return self._of_matrix(call, IN_TEXT["expm"])
        rows, columns = self.aligned(call.args, "taken", (call.start, call.end))
        return MatrixPiece("call", call.start, call.end, rows, columns, tuple(call.args), (row.name, ()))

    def _reduced(self, call: MatrixCall, row: Op) -> MatrixPiece:
        (arg,) = call.args
        if not arg.order:
            if row.name in SINGLE:
                return arg
            raise self.fail(f"{call.name} takes a column or a matrix: {self.told(arg)}.", arg.start, arg.end)
        side = self._side_of(call, arg)
        kept = None if side is None else arg.rows if side == 1 else arg.columns
        return MatrixPiece("over", call.start, call.end, kept, None, (arg,), (row.name, side))

    def _kept(self, call: MatrixCall, row: Op) -> MatrixPiece:
        (arg,) = call.args
        if not arg.order:
            raise self.fail(f"{call.name} works along a column: {self.told(arg)}.", arg.start, arg.end)
        side = self._side_of(call, arg)
        if arg.order == 2 and side is None:
            inside = self.source(arg)
            hint = f"Along each row write {row.name}_row({inside}), along each column {row.name}_col({inside})."
            message = f"{call.name} works along a column, and of a matrix along its rows or its columns."
            raise self.fail(message, call.start, call.end, hint)
        return MatrixPiece("over", call.start, call.end, *arg.shape, (arg,), (row.name, side))

    def _side_of(self, call: MatrixCall, arg: MatrixPiece) -> int | None:
        """The axis of a matrix that a function works along: 0 for the index of rows, 1 for that of columns, or both."""
        if call.axis is None or (arg.order == 1 and call.axis in (0, -1)):
            return None
        if arg.order == 1 or call.axis not in (0, 1, -1, -2):
            message = f"There is no axis {call.axis}: {self.told(arg)}."
            raise self.fail(message, call.start, call.end, "The axes of a matrix are 0 and 1.")
        return call.axis % 2

    def _of_matrix(self, call: MatrixCall, row: Op) -> MatrixPiece:
        arg = call.args[0]
        if row.gives == "along":
            self.square(arg, call.name)
            shape = self.aligned(call.args, "taken", (call.start, call.end))
            return MatrixPiece("function", call.start, call.end, *shape, tuple(call.args), (row.name, "matrix"))
        rows, columns = arg.shape
        if row.rectangular:
            if arg.order != 2:
                raise self.fail(f"{call.name} takes a matrix: {self.told(arg)}.", arg.start, arg.end)
            least = MatrixSide(Extent())
            shapes: dict[str, Shape] = {"pinv": (columns, rows), "svdvals": (least, None)}
            shape = shapes.get(row.name, (rows, least))
        else:
            self.square(arg, call.name)
            shapes = {"scalar": SCALAR, "vector": (rows, None)}
            shape = shapes.get(row.gives, (rows, columns))
        return MatrixPiece("function", call.start, call.end, *shape, (arg,), (row.name, row.gives))

    def derivative(self, call: MatrixCall, place: tuple[int, int] = (0, 0)) -> MatrixPiece:
        """``D(f, x)``: of a scalar it has the shape of the variable; by a scalar that of what is differentiated; and
        otherwise a row for each entry of that, and a column for each of the variable."""
        body, by = call.args
        conjugate = by.kind == "call" and by.data == ("conj", ())
        by = by.parts[0] if conjugate else by
        if by.kind != "name":
            hint = "Give it a name in a line of its own, u = …, and differentiate by u."
            raise self.fail("A derivative is by a name.", by.start, by.end, hint)
        shape = by.shape if not body.order else body.shape
        if body.order and by.order:
            rows, columns = [[e for side in p.shape if side is not None for e in side.extents] for p in (body, by)]
            shape = (MatrixSide(*rows), MatrixSide(*columns))
        return MatrixPiece("derivative", *place, *shape, (body, by), conjugate)

    # What matrices have.

    def diag(self, call: MatrixCall) -> MatrixPiece:
        (arg,) = call.args
        if arg.order == 2:
            self.square(arg, call.name)
            return MatrixPiece("diagonal", 0, 0, arg.rows, None, (arg,))
        if not arg.order:
            raise self.fail(f"diag takes a column or a matrix: {self.told(arg)}.", arg.start, arg.end)
        side = arg.columns if arg.is_row else arg.rows
        return MatrixPiece("diag", 0, 0, side, side, (arg,))

    def vec(self, call: MatrixCall) -> MatrixPiece:
        (arg,) = call.args
        if arg.order < 2:
            raise self.fail(f"vec takes a matrix: {self.told(arg)}.", arg.start, arg.end, "A column is its own vec.")
        extents = [extent for side in arg.shape if side is not None for extent in side.extents]
        return MatrixPiece("vec", 0, 0, MatrixSide(*extents), None, (arg,))

    def trace(self, call: MatrixCall) -> MatrixPiece:
        self.square(call.args[0], call.name)
        return MatrixPiece("trace", 0, 0, parts=tuple(call.args))

    def triangle(self, call: MatrixCall) -> MatrixPiece:
        (arg,) = call.args
        if arg.order != 2:
            raise self.fail(f"{call.name} takes a matrix: {self.told(arg)}.", arg.start, arg.end)
        return MatrixPiece("triangle", 0, 0, *arg.shape, (arg,), call.name)

    def spread(self, call: MatrixCall) -> MatrixPiece:
        """``vector(c)`` and ``matrix(c)``: a scalar at every entry, as many as fit."""
        (arg,) = call.args
        if arg.order:
            hint = "For the entries of a matrix in a column write vec(…), for a column as a diagonal matrix diag(…)."
            raise self.fail(f"{call.name} takes a scalar: {self.told(arg)}.", arg.start, arg.end, hint)
        rows, columns = MatrixSide(known=False), MatrixSide(known=False) if call.name == "matrix" else None
        if is_bare(arg, 0):
            return MatrixPiece("zeros", 0, 0, rows, columns)
        ones = MatrixPiece("ones", call.start, call.end, rows, columns)
        return ones if is_bare(arg, 1) else MatrixPiece("times", 0, 0, rows, columns, (arg, ones), (1, 1))

    def norm1(self, call: MatrixCall) -> MatrixPiece:
        (arg,) = call.args
        size = MatrixPiece("call", arg.start, arg.end, *arg.shape, (arg,), ABS)
        return MatrixPiece("over", 0, 0, parts=(size,), data=("sum", None)) if arg.order else size

    def norm2(self, call: MatrixCall) -> MatrixPiece:
        """The root of the sum of the squares, of a matrix too."""
        (arg,) = call.args
        if not arg.order:
            return MatrixPiece("call", 0, 0, parts=(arg,), data=ABS)
        return MatrixPiece("over", 0, 0, parts=(arg,), data=("norm", None))

    def norm(self, call: MatrixCall) -> MatrixPiece:
        """``norm(x)``, ``norm(x, 1)``, ``norm(A, 'fro')``."""
        arg, *rest = call.args
        matrix = arg.order == 2
        kind = call.words[0] if call.words else self.source(rest[0]) if rest else ""
        known = {"fro": self.norm2, "F": self.norm2}
        known |= {} if matrix else {"": self.norm2, "2": self.norm2, "1": self.norm1}
        if kind not in known or len(rest) > 1:
            inside = self.source(arg)
            hint = (
                f"Write norm2({inside}) for the root of the sum of the squares, norm1({inside}) for the sum of sizes."
            )
            what = "The norm of a matrix has several meanings." if matrix else "There is no such norm here."
            raise self.fail(what, call.start, call.end, hint)
        call.args = [arg]
        piece = known[kind](call)
        piece.start, piece.end = call.start, call.end
        return piece

    def solve(self, call: MatrixCall) -> MatrixPiece:
        """``solve(A, b)``: x with A x = b."""
        matrix, right = call.args
        self.square(matrix, "solve")
        inverse = MatrixPiece("function", matrix.start, matrix.end, *matrix.shape, (matrix,), ("inv", "matrix"))
        self.multiply(inverse, right, "*", (call.start, call.end))
        return MatrixPiece("solve", 0, 0, *right.shape, (matrix, right))

    def left_divide(self, left: MatrixPiece, right: MatrixPiece, place: tuple[int, int]) -> MatrixPiece:
        """``A \\ b``: x with A x = b."""
        if not left.order:
            return self.divide(right, left, place)
        piece = self.solve(MatrixCall("solve", left.start, left.end, right.end, [left, right]))
        piece.start, piece.end = left.start, right.end
        return piece

    def inner(self, call: MatrixCall) -> MatrixPiece:
        """``dot(x, y)`` of columns, and the product of matrices, as NumPy has it."""
        a, b = call.args
        both = a.order == b.order == 1 and a.is_row == b.is_row
        left = self.transpose(a, a.end) if both and not a.is_row else a
        right = self.transpose(b, b.end) if both and a.is_row else b
        return self.multiply(left, right, "*", (call.start, call.end))

    def outer(self, call: MatrixCall) -> MatrixPiece:
        a, b = call.args
        for piece in call.args:
            if piece.order != 1:
                raise self.fail(f"outer takes columns: {self.told(piece)}.", piece.start, piece.end)
        left, right = self.transpose(a, a.end) if a.is_row else a, b if b.is_row else self.transpose(b, b.end)
        return self.multiply(left, right, "*", (call.start, call.end))

    def times(self, call: MatrixCall) -> MatrixPiece:
        a, b = call.args
        return self.multiply(a, b, "*", (call.start, call.end))

    def kron(self, call: MatrixCall) -> MatrixPiece:
        a, b = call.args
        return self.kronecker(a, b)

    def turn(self, call: MatrixCall) -> MatrixPiece:
        return self.transpose(call.args[0], call.end)


Build = Callable[[Functions, MatrixCall], MatrixPiece]
SPECIAL: dict[str, tuple[int, Build]] = {
    "diag": (1, Functions.diag),
    "diagonal": (1, Functions.diag),
    "vec": (1, Functions.vec),
    "tr": (1, Functions.trace),
    "trace": (1, Functions.trace),
    "Tr": (1, Functions.trace),
    "tril": (1, Functions.triangle),
    "triu": (1, Functions.triangle),
    "vector": (1, Functions.spread),
    "matrix": (1, Functions.spread),
    "norm1": (1, Functions.norm1),
    "norm2": (1, Functions.norm2),
    "normF": (1, Functions.norm2),
    "solve": (2, Functions.solve),
    "dot": (2, Functions.inner),
    "matmul": (2, Functions.times),
    "inner": (2, Functions.inner),
    "outer": (2, Functions.outer),
    "kron": (2, Functions.kron),
    "transpose": (1, Functions.turn),
}
_SIDES = {"row": 1, "col": 0}
_NUMPY = named_in("np")


def function_row(name: str) -> tuple[Op | None, int | None]:
    """The row of a function by any of its names, and the axis that the name says: ``rowSum``, ``softmax_col``."""
    head, _, side = name.rpartition("_")
    if head in IN_TEXT and side in _SIDES and IN_TEXT[head].kind in ("reduce", "keep"):
        return IN_TEXT[head], _SIDES[side]
    side, rest = name[:3], name[3:].lower()
    rest = rest.removesuffix("s") if rest not in IN_TEXT else rest
    if side in _SIDES and rest in IN_TEXT and IN_TEXT[rest].kind == "reduce":
        return IN_TEXT[rest], _SIDES[side]
    return IN_TEXT.get(OTHER_NAMES.get(name, name)) or _NUMPY.get(name), None


def is_function(name: str) -> bool:
    """Whether a name is that of a function."""
    return name in SPECIAL or name in ("norm", "eye", "ones", "zeros") or function_row(name)[0] is not None
