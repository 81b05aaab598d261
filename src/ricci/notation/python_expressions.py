"""Expressions of Python to pieces in index notation: names, operators, brackets, and calls by their table."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ricci.errors import NotationError, nearest
from ricci.notation import python_pieces as pieces
from ricci.notation.python_calls import CALLS, METHODS, arguments
from ricci.notation.python_pieces import ArrayPiece, Axis, AxisExtent, Label

MODULES = {"np", "numpy", "jnp", "math", "scipy", "special", "linalg", "jax", "nn"}
PARTS = {"linalg", "special", "numpy", "scipy", "nn"}  # modules within these
BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@"}
COMPARE = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
CONSTANTS = {"pi": math.pi, "e": math.e}
SHOWN = "What is read: one function with assignments and a return, operators, and calls of NumPy."
MOST_DEPTH = 100


@dataclass
class ExpressionReader:
    """Reads expressions of a text in which names are known: pieces, or names of equations with their axes."""

    text: str
    known: dict[str, ArrayPiece | tuple[str, tuple[AxisExtent | None, ...]]] = field(default_factory=dict)
    imported: dict[str, str] = field(default_factory=dict)
    depth: int = 0

    def value(self, node: ast.expr) -> ArrayPiece:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise self.fail("This is nested too deeply; give parts of it names.", node)
        try:
            read = getattr(self, f"_{type(node).__name__.lower()}", None)
            if read is None:
                raise self.fail("This is not read.", node, SHOWN)
            return read(node)
        finally:
            self.depth -= 1

    def _constant(self, node: ast.Constant) -> ArrayPiece:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)) or abs(node.value) > 1e300:
            raise self.fail("This constant is not read: numbers are.", node)
        return pieces.number(node.value)

    def _name(self, node: ast.Name) -> ArrayPiece:
        found = self.known.get(node.id)
        if found is None:
            listed = ", ".join(self.known)
            raise self.fail(f"There is no {node.id!r} here; there are {listed}.", node)
        return found if isinstance(found, ArrayPiece) else pieces.tensor(*found)

    def _tuple(self, node: ast.Tuple) -> ArrayPiece:
        parts = tuple([self.value(one) for one in node.elts])
        return ArrayPiece((), (), lambda names: (pieces.ATOM, ""), parts=parts)

    _list = _tuple

    def _binop(self, node: ast.BinOp) -> ArrayPiece:
        sign = BINARY.get(type(node.op))
        if sign is None:
            raise self.fail("This operator is not read.", node, "Those that are: + - * / ** @")
        return self.operate(sign, self.value(node.left), self.value(node.right), node)

    def _unaryop(self, node: ast.UnaryOp) -> ArrayPiece:
        value = self._array(self.value(node.operand), node)
        if isinstance(node.op, ast.UAdd):
            return value
        if not isinstance(node.op, ast.USub):
            raise self.fail("This operator is not read.", node)
        return pieces.number(-value.number) if value.number is not None else pieces.negative(value)

    def _compare(self, node: ast.Compare) -> ArrayPiece:
        sign = COMPARE.get(type(node.ops[0]))
        if sign is None or len(node.ops) > 1:
            raise self.fail("This comparison is not read.", node)
        return self.operate(sign, self.value(node.left), self.value(node.comparators[0]), node)

    def _attribute(self, node: ast.Attribute) -> ArrayPiece:
        if self._is_module(node.value) and node.attr in CONSTANTS:
            if node.attr == "pi":
                return ArrayPiece((), (), lambda names: (pieces.ATOM, "pi"))
            return pieces.number(CONSTANTS[node.attr])
        if self._is_module(node.value) and node.attr == "newaxis":
            raise self.fail("A new axis is read between brackets: x[:, None].", node)
        value = self.value(node.value)
        if node.attr == "T":
            return pieces.with_axes(value, value.axes[::-1])
        if node.attr == "mT" and value.order > 1:
            return pieces.with_axes(value, (*value.axes[:-2], value.axes[-1], value.axes[-2]))
        if node.attr == "shape":
            extents = [label.extent if label is not None else AxisExtent(size=1) for label in value.axes]
            return ArrayPiece((), (), lambda names: (pieces.ATOM, ""), sizes=tuple(extents))
        if node.attr == "size" and value.axes:
            whole = pieces.number(1) if not value.free else pieces.size(value.free[0].extent)
            for label in value.free[1:]:
                whole = pieces.multiplied(whole, pieces.size(label.extent), ())
            return whole
        if node.attr == "ndim":
            return pieces.number(value.order)
        raise self.fail(f"The attribute {node.attr!r} is not read.", node, "Those that are: T, shape, size, ndim.")

    def _subscript(self, node: ast.Subscript) -> ArrayPiece:
        value = self.value(node.value)
        keys = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if value.parts or len(value.sizes) > 1 or (value.sizes and not value.axes):
            parts = value.parts or tuple([pieces.size(extent) for extent in value.sizes])
            place = keys[0].value if len(keys) == 1 and isinstance(keys[0], ast.Constant) else None
            if isinstance(keys[0], ast.UnaryOp) and isinstance(keys[0].operand, ast.Constant):
                place = -keys[0].operand.value if isinstance(keys[0].operand.value, int) else None
            if not isinstance(place, int) or not -len(parts) <= place < len(parts):
                raise self.fail("There is no such place.", node)
            return parts[place]
        return self._entries(value, keys, node)

    def _entries(self, value: ArrayPiece, keys: list[ast.expr], node: ast.Subscript) -> ArrayPiece:
        """``x[:, None]``, ``x[0, :]`` and ``x[1:-1]``."""
        rest, axes = list(value.axes), []
        parts: list[Label] = []  # the labels of parts of axes
        for key in keys:
            constant = key.value if isinstance(key, ast.Constant) else ...
            if constant is None or (isinstance(key, ast.Attribute) and key.attr == "newaxis"):
                axes.append(None)
            elif isinstance(key, ast.Constant) and constant is ...:
                left = len(keys) - 1 - keys.index(key) - sum(_is_none(k) for k in keys[keys.index(key) + 1 :])
                while len(rest) > left:
                    axes.append(rest.pop(0))
            elif not rest:
                raise self.fail(f"The array has {value.order} axes, and here are more places.", node)
            elif isinstance(key, ast.Slice) and key.lower is key.upper is key.step is None:
                axes.append(rest.pop(0))
            elif isinstance(constant, int) and not isinstance(constant, bool) and value.read:
                label = rest.pop(0)
                if label is None or not label.unite(Label(label.extent)):
                    raise self.fail("This place is not read.", node)
                label.find().place = constant
            elif isinstance(key, ast.Slice) and value.read and isinstance(rest[0], Label):
                parts.append(self._part(rest.pop(0), key, node))  # pyright: ignore[reportArgumentType]
                axes.append(parts[-1])
            else:
                hint = "x[:, None], x[0, :], x[..., None] and x[1:-1] are, the last two of names."
                raise self.fail("These brackets are not read.", node, hint)
        own = pieces.with_axes(value, [*axes, *rest])
        return replace(own, labels=(*parts, *own.labels)) if parts else own

    def _part(self, label: Label, key: ast.Slice, node: ast.AST) -> Label:
        """The label of ``x[start:stop]``, beside which that of the whole axis goes."""
        start, stop = [0 if one is None else self._place(one, node) for one in (key.lower, key.upper)]
        fixed = key.upper is not None and stop >= 0
        if key.step is not None or start < 0 or (fixed and stop <= start):
            hint = "Parts begin at a place counted from the front, and have no step: x[1:], x[:-1], x[2:5]."
            raise self.fail("This part is not read.", node, hint)
        extent = AxisExtent(size=stop - start) if fixed else label.extent.cut(start - stop)
        made = Label(extent)
        label.find().shifted = (made, start)
        return made

    def _place(self, node: ast.expr, whole: ast.AST) -> int:
        sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
        inner = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(inner, ast.Constant) and isinstance(inner.value, int) and not isinstance(inner.value, bool):
            return sign * inner.value
        raise self.fail("Here a whole number is read, as it stands in the text.", whole)

    def _call(self, node: ast.Call) -> ArrayPiece:
        name, owner = self._called(node.func)
        if name == "len" and owner is None and len(node.args) == 1:
            value = self.value(node.args[0])
            if not value.axes or value.axes[0] is None:
                raise self.fail("This has no length.", node)
            return pieces.size(value.axes[0].extent)
        args, keywords = arguments(name, node) if owner is None else arguments(name, _with(node, owner))
        if any(isinstance(one, ast.Starred) for one in args):
            raise self.fail("A star is not read.", node)
        return CALLS[name](self, node, [self._operand(name, one) for one in args], keywords)

    def _operand(self, name: str, node: ast.expr) -> ArrayPiece:
        value = self.value(node)
        return value if name in ("ones", "zeros") else self._array(value, node)

    def _called(self, node: ast.expr) -> tuple[str, ast.expr | None]:
        """The name of what is called, and of a method, of what."""
        if isinstance(node, ast.Name):
            name = self.imported.get(node.id, node.id)
            if node.id in self.known or (name not in ("len", *CALLS)):
                raise self.fail(f"There is no function {node.id!r} here.", node, SHOWN)
            return name, None
        if not isinstance(node, ast.Attribute):
            raise self.fail("This call is not read.", node, SHOWN)
        if self._is_module(node.value):
            if node.attr not in CALLS:
                raise self.fail(f"The function {ast.unparse(node)} is not read.", node, self._nearest(node.attr))
            return node.attr, None
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if root is not node.value and self._is_module(root):
            raise self.fail(f"The function {ast.unparse(node)} is not read.", node, SHOWN)
        if node.attr not in METHODS:
            raise self.fail(
                f"The method {node.attr!r} is not read.", node, f"Methods are {', '.join(sorted(METHODS))}."
            )
        return node.attr, node.value

    def _nearest(self, word: str) -> str:
        return nearest(word, CALLS) or "Write it in functions that are read, or in index notation."

    def _is_module(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr in PARTS and self._is_module(node.value)
        if not isinstance(node, ast.Name) or node.id in self.known:
            return False
        return node.id in MODULES or node.id in self.imported

    # What calls and operators share.

    def operate(self, sign: str, a: ArrayPiece, b: ArrayPiece, node: ast.AST) -> ArrayPiece:
        a, b = self._array(a, node), self._array(b, node)
        if sign == "@":
            return self._matmul(a, b, node)
        axes = self.aligned([a, b], node)
        simple = {"*": pieces.multiplied, "/": pieces.divided, "**": pieces.raised}
        if sign in simple:
            return simple[sign](a, b, axes)
        return pieces.added(a, b, axes, sign) if sign in "+-" and sign else self._compared(a, b, axes, sign, node)

    def _compared(self, a: ArrayPiece, b: ArrayPiece, axes: tuple[Axis, ...], sign: str, node: ast.AST) -> ArrayPiece:
        if not sign:
            raise self.fail("This operator is not read.", node)
        return pieces.compared(a, b, axes, sign)

    def _matmul(self, a: ArrayPiece, b: ArrayPiece, node: ast.AST) -> ArrayPiece:
        if not a.order or not b.order:
            raise self.fail("@ takes no numbers.", node, "A name that begins with a small Greek letter is a number.")
        inner, other = a.axes[-1], b.axes[-2 if b.order > 1 else -1]
        if inner is None or other is None or not inner.unite(other):
            raise self.fail(f"@ sums over sizes that do not agree: {self._told(a)} and {self._told(b)}.", node)
        outer = [pieces.with_axes(a, a.axes[:-2]), pieces.with_axes(b, b.axes[:-2])]
        axes = [*self.aligned(outer, node), *a.axes[-2:-1], *(b.axes[-1:] if b.order > 1 else ())]
        return pieces.multiplied(a, b, axes)

    def aligned(self, operands: Sequence[ArrayPiece], node: ast.AST) -> tuple[Axis, ...]:
        axes = pieces.broadcast(operands)
        if axes is None:
            hint = "Sizes with different names are different ones; axes of size one are written x[:, None]."
            told = ", ".join(map(self._told, operands))
            raise self.fail(f"The shapes of these do not agree: {told}.", node, hint)
        return axes

    def extent_of(self, one: ArrayPiece, node: ast.AST) -> AxisExtent:
        """The size that a piece stands for, in a shape."""
        if len(one.sizes) == 1:
            return one.sizes[0]
        if isinstance(one.number, int) and one.number > 0:
            return AxisExtent(size=one.number)
        raise self.fail("A shape has numbers, and lengths of axes such as X.shape[0] and len(x).", node)

    def _array(self, value: ArrayPiece, node: ast.AST) -> ArrayPiece:
        if value.parts or len(value.sizes) > 1:
            raise self.fail("This is several values, where one array is read.", node)
        return value

    def _told(self, one: ArrayPiece) -> str:
        names = [label.extent.find().name or "?" if label is not None else "1" for label in one.axes]
        return f"({', '.join(names)}{',' * (len(names) == 1)})"

    def fail(self, message: str, node: ast.AST, hint: str = "") -> NotationError:
        lines = self.text.split("\n")

        def place(line: int, byte: int) -> int:
            column = len(lines[line - 1].encode()[:byte].decode(errors="ignore")) if line <= len(lines) else 0
            return sum(len(one) + 1 for one in lines[: line - 1]) + column

        at = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end = getattr(node, "end_lineno", None) or at[0], getattr(node, "end_col_offset", None) or at[1] + 1
        start = place(*at)
        stop = place(*end) if end[0] == at[0] else place(at[0], len(lines[at[0] - 1].encode()))
        return NotationError(message, self.text, start, max(stop, start + 1), hint)


def _is_none(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and key.value is None


def _with(call: ast.Call, owner: ast.expr) -> ast.Call:
    """A method as the function of its owner."""
    return ast.copy_location(ast.Call(call.func, [owner, *call.args], call.keywords), call)
