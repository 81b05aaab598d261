"""What functions and methods of NumPy are in index notation: a table, by their names.

An entry is a function of the reader (which makes errors), the call, its operands and its keywords; what is not in the
tables is refused with what is read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ricci.expr import OPS
from ricci.functions.table import FUNCTIONS, named_in
from ricci.notation import python_pieces as pieces
from ricci.notation.python_pieces import ArrayPiece, AxisExtent, Label


class CallReader(Protocol):
    """What calls need of the reader of a function."""

    def fail(self, message: str, node: ast.AST, hint: str = "") -> Exception: ...
    def aligned(self, operands: Sequence[ArrayPiece], node: ast.AST) -> tuple[pieces.Axis, ...]: ...
    def value(self, node: ast.expr) -> ArrayPiece: ...
    def operate(self, sign: str, a: ArrayPiece, b: ArrayPiece, node: ast.AST) -> ArrayPiece: ...
    def extent_of(self, one: ArrayPiece, node: ast.AST) -> AxisExtent: ...


Keywords = Mapping[str, ast.expr]
Entry = Callable[[CallReader, ast.Call, list[ArrayPiece], Keywords], ArrayPiece]
SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "power": "**"}
SIGNS |= {"float_power": "**", "greater": ">", "greater_equal": ">=", "less": "<", "less_equal": "<="}
SIGNS |= {"equal": "==", "not_equal": "!=", "matmul": "@"}
OVER = {"sum": "sum", "mean": "mean", "prod": "prod", "max": "max", "amax": "max", "min": "min", "amin": "min"}
OVER |= {"var": "var", "std": "std", "any": "any", "all": "all", "argmax": "argmax", "argmin": "argmin"}
OVER |= {"logsumexp": "logsumexp"}
KEEP = {"cumsum": "cumsum", "cumprod": "cumprod", "sort": "sort", "softmax": "softmax", "log_softmax": "log_softmax"}
OF_MATRICES = {"inv": "inv", "det": "det", "cholesky": "cholesky", "expm": "expm", "eigvalsh": "eigvalsh"}


def _number(reader: CallReader, node: ast.expr) -> int:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        value = None
    if isinstance(value, bool) or not isinstance(value, int):
        raise reader.fail("Here a whole number is read, as it stands in the text.", node)
    return value


def _axes(reader: CallReader, node: ast.expr | None, order: int) -> list[int]:
    """The places that ``axis=`` names; all of them without it."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return list(range(order))
    found = []
    for one in node.elts if isinstance(node, ast.Tuple) else [node]:
        axis = _number(reader, one)
        if not -order <= axis < order:
            raise reader.fail(f"There is no axis {axis}: the array has {order}.", one)
        found.append(axis % order)
    return found


def _check(reader: CallReader, call: ast.Call, keywords: Keywords, *known: str) -> None:
    for name, node in keywords.items():
        if name not in known:
            listed = ", ".join(known) or "none"
            raise reader.fail(f"The keyword {name!r} is not read here; those that are: {listed}.", node)


def _one(reader: CallReader, call: ast.Call, args: list[ArrayPiece], count: int = 1) -> list[ArrayPiece]:
    if len(args) != count:
        raise reader.fail(f"This takes {count} array{'s' * (count > 1)}, and here are {len(args)}.", call)
    return args


def elementwise(name: str) -> Entry:
    def read(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
        _check(reader, call, keywords)
        row = FUNCTIONS[name]
        _one(reader, call, args, len(row.operands.split(", ")))
        return pieces.called(name, args, reader.aligned(args, call))

    return read


def operator(sign: str) -> Entry:
    def read(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
        _check(reader, call, keywords)
        a, b = _one(reader, call, args, 2)
        return reader.operate(sign, a, b, call)

    return read


def over(name: str, keeps: bool = False) -> Entry:
    """A function over axes: all of them, or those that are said by ``axis=``."""

    def read(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
        _check(reader, call, keywords, "axis", "keepdims")
        (x,) = _one(reader, call, args)
        places = _axes(reader, keywords.get("axis"), x.order)
        if keeps and len(places) > 1:
            raise reader.fail(f"{name} is read along one axis: write axis=….", call)
        if name in ("argmax", "argmin") and len(places) > 1:
            raise reader.fail(f"{name} counts along one axis here: write axis=….", call)
        labels = [x.axes[place] for place in places]
        named = [label for label in labels if label is not None]
        if keeps:
            return pieces.called(name, [x], x.axes, named) if named else x
        kept = "keepdims" in keywords and getattr(keywords["keepdims"], "value", None) is True
        axes = [None if k in places else axis for k, axis in enumerate(x.axes) if kept or k not in places]
        if not named:
            return pieces.with_axes(x, axes)
        return pieces.called(name, [x], axes, named)

    return read


def norm(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    if "ord" in keywords or len(args) > 1:
        raise reader.fail("Norms are read without ord: the length of a vector, and Frobenius' of a matrix.", call)
    return over("norm")(reader, call, args, keywords)


def of_matrix(name: str) -> Entry:
    """A function of the last two axes."""

    def read(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
        _check(reader, call, keywords)
        (a,) = _one(reader, call, args)
        row, column = _matrix(reader, call, a)
        if not row.extent.unite(column.extent):
            raise reader.fail("This is of square matrices.", call)
        gives = OPS[name].gives
        last = {"scalar": (), "vector": (row,), "matrix": (row, column)}[gives]
        return pieces.called(name, [a], (*a.axes[:-2], *last), (row, column))

    return read


def _matrix(reader: CallReader, call: ast.Call, a: ArrayPiece) -> tuple[Label, Label]:
    if a.order < 2 or a.axes[-1] is None or a.axes[-2] is None:
        hint = "A name that begins with a capital letter is a matrix; others are declared: A[i,j]."
        raise reader.fail("This is of matrices.", call, hint)
    return a.axes[-2], a.axes[-1]


def solve(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    _check(reader, call, keywords)
    a, b = _one(reader, call, args, 2)
    row, column = _matrix(reader, call, a)
    if not (a.order == 2 and b.order in (1, 2)) or b.axes[0] is None:
        raise reader.fail("solve is read of a matrix and a vector or a matrix.", call)
    if not (row.extent.unite(column.extent) and row.unite(b.axes[0])):
        raise reader.fail("The sizes of these do not agree.", call)
    return pieces.called("solve", [a, b], (column, *b.axes[1:]), (row, column))


def slogdet(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    both = [of_matrix(name)(reader, call, args, keywords) for name in ("slogdet_sign", "logdet")]
    return ArrayPiece((), (), both[1].write, parts=tuple(both))


def diagonal(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    """``np.diag``: of a vector the matrix, of a matrix the vector."""
    _check(reader, call, keywords)
    (a,) = _one(reader, call, args)
    if a.order == 1 and a.axes[0] is not None:
        other = Label(a.axes[0].extent)
        delta = pieces.structure("delta", (a.axes[0], other))
        return pieces.multiplied(delta, a, (a.axes[0], other))
    row, column = _matrix(reader, call, a)
    if a.order != 2 or not row.unite(column):
        raise reader.fail("The diagonal is read of square matrices.", call)
    return pieces.with_axes(a, (row,))


def trace(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    entries = diagonal(reader, call, args, keywords)
    return pieces.called("sum", [entries], (), entries.free)


def dot(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    _check(reader, call, keywords)
    a, b = _one(reader, call, args, 2)
    return reader.operate("*" if not a.order or not b.order else "@", a, b, call)


def outer(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    _check(reader, call, keywords)
    a, b = _one(reader, call, args, 2)
    if a.order != 1 or b.order != 1:
        raise reader.fail("outer is read of vectors.", call)
    return pieces.multiplied(a, b, (*a.axes, *b.axes))


def transposed(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    _check(reader, call, keywords, "axes")
    (a,) = _one(reader, call, args)
    if "axes" not in keywords:
        return pieces.with_axes(a, a.axes[::-1])
    places = _axes(reader, keywords["axes"], a.order)
    if sorted(places) != list(range(a.order)):
        raise reader.fail("axes= names each axis once.", call)
    return pieces.with_axes(a, [a.axes[place] for place in places])


def expanded(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    _check(reader, call, keywords, "axis")
    (a,) = _one(reader, call, args)
    if "axis" not in keywords:
        raise reader.fail("expand_dims needs axis=….", call)
    (place,) = _axes(reader, keywords["axis"], a.order + 1)
    return pieces.with_axes(a, (*a.axes[:place], None, *a.axes[place:]))


def filled(name: str) -> Entry:
    """``np.ones`` and ``np.zeros`` of a shape."""

    def read(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
        _check(reader, call, keywords, "dtype")
        (shape,) = _one(reader, call, args)
        extents = shape.sizes if len(shape.sizes) > 1 or shape.parts else ()
        extents = extents or [reader.extent_of(one, call) for one in shape.parts or (shape,)]
        return pieces.structure(name, [Label(extent) for extent in extents])

    return read


def filled_like(name: str) -> Entry:
    def read(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
        _check(reader, call, keywords, "dtype")
        (a,) = _one(reader, call, args)
        return (
            pieces.structure(name, [Label(label.extent) for label in a.free]) if a.order else pieces.number(int(name))
        )

    return read


def eye(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    _check(reader, call, keywords, "dtype")
    (count,) = _one(reader, call, args)
    extent = reader.extent_of(count, call)
    return pieces.structure("delta", (Label(extent), Label(extent)))


def einsum(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    """The letters of the text are labels; letters that are not in the result are summed over."""
    _check(reader, call, keywords, "optimize")
    first = call.args[0] if call.args else None
    said = first.value if isinstance(first, ast.Constant) else None
    if not isinstance(said, str) or "." in said:
        raise reader.fail('einsum is read with a text of letters: np.einsum("ij,j->i", A, x).', call)
    before, arrow, out = said.replace(" ", "").partition("->")
    terms, operands = before.split(","), args
    if len(terms) != len(operands) or any(len(t) != x.order for t, x in zip(terms, operands, strict=False)):
        raise reader.fail(f"The letters of {said!r} do not fit the arrays.", call)
    labels: dict[str, Label] = {}
    for letter, label in [pair for t, x in zip(terms, operands) for pair in zip(t, x.axes, strict=True)]:
        if label is None or not labels.setdefault(letter, label).unite(label):
            raise reader.fail(f"The letter {letter!r} has two sizes.", call)
    if not arrow:
        out = "".join(sorted(letter for letter in labels if before.count(letter) == 1))
    if len(set(out)) != len(out) or not set(out) <= labels.keys():
        raise reader.fail(f"The letters after '->' in {said!r} are different ones of those before.", call)
    whole = operands[0]
    for one in operands[1:]:
        whole = pieces.multiplied(whole, one, ())
    axes, summed = [labels[letter] for letter in out], [labels[letter] for letter in labels if letter not in out]
    whole = pieces.with_axes(whole, axes)
    return pieces.called("sum", [whole], axes, summed) if summed else whole


def same(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    _check(reader, call, keywords, "dtype", "copy")
    return _one(reader, call, args)[0]


def clipped(reader: CallReader, call: ast.Call, args: list[ArrayPiece], keywords: Keywords) -> ArrayPiece:
    _check(reader, call, keywords)
    x, low, high = _one(reader, call, args, 3)
    inner = pieces.called("maximum", [x, low], reader.aligned([x, low], call))
    return pieces.called("minimum", [inner, high], reader.aligned([inner, high], call))


def _table() -> dict[str, Entry]:
    rows = {**named_in("scipy"), **named_in("np")}
    found = {name: elementwise(row.name) for name, row in rows.items()}
    found |= {name: operator(sign) for name, sign in SIGNS.items()}
    found |= {name: over(own) for name, own in OVER.items()}
    found |= {name: over(own, True) for name, own in KEEP.items()}
    found |= {name: of_matrix(own) for name, own in OF_MATRICES.items()}
    found |= {"norm": norm, "solve": solve, "slogdet": slogdet, "diag": diagonal, "diagonal": diagonal}
    found |= {"trace": trace, "dot": dot, "inner": dot, "vdot": dot, "outer": outer, "einsum": einsum}
    found |= {"transpose": transposed, "expand_dims": expanded, "eye": eye, "identity": eye, "clip": clipped}
    found |= {"ones": filled("1"), "zeros": filled("0"), "ones_like": filled_like("1"), "zeros_like": filled_like("0")}
    found |= dict.fromkeys(["array", "asarray", "copy", "astype", "float64", "float32", "float"], same)
    return found


CALLS: dict[str, Entry] = _table()
METHODS = frozenset([*OVER, "cumsum", "cumprod", "dot", "trace", "diagonal", "transpose", "clip", "copy", "astype"])
AXIS_SECOND = frozenset([*OVER, *KEEP, "expand_dims"])  # where a second argument is the axis


def arguments(name: str, call: ast.Call) -> tuple[list[ast.expr], dict[str, Any]]:
    """The operands of a call, and its keywords, among them an axis that was given by position."""
    keywords = {one.arg or "**": one.value for one in call.keywords}
    args = list(call.args)
    if name in AXIS_SECOND and len(args) > 1:
        keywords.setdefault("axis", args.pop(1))
    if name == "einsum":
        args = args[1:]
    return args, keywords
