"""A function of NumPy, as a text, to index notation: its tree is read, and nothing of it is ever run.

>>> print(index_notation('''
... def loss(w, X, y):
...     r = X @ w - y
...     return 0.5 * (r @ r)
... ''').text)
r[i] = X[i,j] w[j] - y[i]
loss = 0.5 r[i] r[i]

One function is read, with assignments and a ``return``, or a ``lambda``: operators, calls and methods of NumPy. How
many axes an argument has is declared (``"X[m,n] w[n] lam"``), or follows from its name as in the matrix language: a
capital letter is a matrix, a Greek name a scalar and any other a vector.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ricci.errors import NotationError
from ricci.notation import python_pieces as pieces
from ricci.notation.matrix_declarations import Declared, declarations, order_of
from ricci.notation.python_expressions import BINARY, MODULES, SHOWN, ExpressionReader
from ricci.notation.python_pieces import ArrayPiece, AxisExtent, AxisNamer, Label
from ricci.notation.text_scope import names_a_tensor


class Equations(NamedTuple):
    """The equations that a function says, and the sizes that it fixes."""

    text: str
    sizes: dict[str, int]
    symmetries: dict[str, str]  # names of matrices by what is declared of them: "symmetric" → "A S"
    arguments: tuple[str, ...]  # of the function, as the equations call them


def index_notation(text: str, declared: str = "") -> Equations:
    """The equations that a function says."""
    return FunctionReader(text, declared=declarations(declared)).equations()


@dataclass
class EquationLine:
    """A statement to be written: its name, and what it is."""

    name: str
    value: ArrayPiece


@dataclass
class FunctionReader(ExpressionReader):
    """Reads one function."""

    declared: Mapping[str, Declared] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)  # that the equations use
    lines: list[EquationLine] = field(default_factory=list)
    extents: dict[str, AxisExtent] = field(default_factory=dict)  # by the indices that are declared
    order: list[AxisExtent] = field(default_factory=list)
    inputs: dict[str, tuple[AxisExtent, ...]] = field(default_factory=dict)  # arguments as the equations call them
    used: dict[str, Label] = field(default_factory=dict)  # the names of indices

    def equations(self) -> Equations:
        title, body, args = self._function()
        for name, value in args:
            self._argument(name, value)
        result = self._run(body)
        self.lines.append(EquationLine(self._free_name(title), result))
        namer = AxisNamer({*self.names, *self.extents})
        namer.settle([label.extent for line in self.lines for label in line.value.labels])
        namer.settle(self.order)
        written = [self._line(line) for line in self.lines]
        found = {name: label.extent.find().size for name, label in self.used.items()}
        found |= {extent.name: extent.size for extent in map(AxisExtent.find, self.order)}
        said: dict[str, list[str]] = {}
        for name, one in self.declared.items():
            for word in one.words:
                if name in self.known and word not in ("scalar", "vector", "matrix"):
                    said.setdefault(word, []).append(name)
        sizes = {name: size for name, size in found.items() if size is not None}
        symmetries = {word: " ".join(names) for word, names in said.items()}
        return Equations("\n".join([*self._size_line(), *written]), sizes, symmetries, tuple(self.inputs))

    def _size_line(self) -> list[str]:
        """How long indices are where the equations do not say it: those of parts, and those that no tensor has."""
        equations, wholes = [], set()
        for name, label in self.used.items():
            extent = label.extent.find()
            if extent.size is not None:
                continue
            if extent.whole is not None:
                whole, count = extent.whole[0].find(), extent.whole[1]
                equations.append(f"|{name}| = |{whole.name}| - {count}")
                wholes.add(whole)
            elif label.loose and name != extent.name:
                equations.append(f"|{name}| = |{extent.name}|")
                wholes.add(extent)
        tensors = [
            f"{name}[{','.join([extent.find().name for extent in extents])}]"
            for name, extents in self.inputs.items()
            if wholes.intersection([extent.find() for extent in extents])
        ]
        return [f"sizes: {', '.join([*tensors, *equations])}"] if equations else []

    def _line(self, line: EquationLine) -> str:
        free = [label.find() for label in line.value.free]
        if len(set(free)) != len(free):
            raise NotationError(f"The result {line.name!r} has one axis twice; this is not read.", self.text, 0, 1)
        names = AxisNamer.names([*free, *line.value.labels])
        self.used |= {name: label for label, name in names.items() if label.loose or name not in self.used}
        return f"{line.name}{pieces.indices(free, names)} = {line.value.text(names, pieces.NEGATIVE)}"

    # The function.

    def _function(self) -> tuple[str, Sequence[ast.stmt], list[tuple[ast.arg, ast.expr | None]]]:
        try:
            tree = ast.parse(self.text.strip("\n"))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self._unreadable(error) from None
        self.text = self.text.strip("\n")
        found: tuple[str, Sequence[ast.stmt], ast.arguments] | None = None
        for node in tree.body:
            value = getattr(node, "value", None)
            if isinstance(node, ast.FunctionDef):
                this = (node.name, node.body, node.args)
            elif isinstance(value, ast.Lambda) and isinstance(node, (ast.Assign, ast.Expr)):
                target = node.targets[0] if isinstance(node, ast.Assign) else None
                name = target.id if isinstance(target, ast.Name) else "f"
                this = (name, [ast.copy_location(ast.Return(value.body), value.body)], value.args)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
                continue
            else:
                raise self.fail("This is no function.", node, SHOWN)
            if found is not None:
                raise self.fail("This is a second function; one is read.", node, SHOWN)
            found = this
        if found is None:
            raise NotationError("There is no function in this text.", self.text, 0, 1, SHOWN)
        return found[0], found[1], self._arguments(found[2])

    def _unreadable(self, error: BaseException) -> NotationError:
        if isinstance(error, (RecursionError, MemoryError)):
            hint = "Give its parts names, in lines of their own."
            return NotationError("Python does not read this: it is too long or too deep.", self.text, 0, 1, hint)
        if not isinstance(error, SyntaxError) or error.lineno is None:
            return NotationError(f"Python does not read this: {error}.", self.text, 0, 1)
        stripped = self.text.strip("\n")
        lines = stripped.split("\n")
        start = sum(len(line) + 1 for line in lines[: error.lineno - 1]) + max((error.offset or 1) - 1, 0)
        self.text = stripped
        return NotationError(
            f"Python does not read this: {error.msg}.", stripped, min(start, max(len(stripped) - 1, 0))
        )

    def _arguments(self, said: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]]:
        more = said.vararg or said.kwarg
        if more is not None:
            raise self.fail("Arguments have names here: *args and **kwargs are not read.", more)
        plain = [*said.posonlyargs, *said.args]
        defaults = [None] * (len(plain) - len(said.defaults)) + list(said.defaults)
        return [*zip(plain, defaults), *zip(said.kwonlyargs, said.kw_defaults)]

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        module = getattr(node, "module", None) or ""
        for one in node.names:
            root = (module or one.name).split(".")[0]
            if root not in MODULES:
                raise self.fail(f"{root!r} is not read: only NumPy, and SciPy's special functions and linalg.", node)
            self.imported[one.asname or one.name.split(".")[0]] = one.name.split(".")[-1]

    def _argument(self, arg: ast.arg, default: ast.expr | None) -> None:
        name = arg.arg
        said = self.declared.get(name)
        scalar = isinstance(default, ast.Constant) and isinstance(default.value, (int, float))
        order = said.order if said is not None else 0 if scalar else order_of(name)
        indices = said.indices if said is not None and said.indices else ("",) * order
        own = [self.extents.setdefault(i, AxisExtent(i)) if i else AxisExtent() for i in indices]
        if said is not None and {"symmetric", "antisymmetric", "positive", "orthogonal"} & set(said.words):
            own[0].unite(own[1])
        self.order += own
        free = self._free_name(name)
        self.known[name] = (free, tuple(own))
        self.inputs[free] = tuple(own)

    def _free_name(self, name: str) -> str:
        """A name that the notation has for nothing else, and that no statement has."""
        name = name if names_a_tensor(name) else f"{name}_"
        count, found = 2, name
        while found in self.names or not names_a_tensor(found):
            found, count = f"{name}_{count}", count + 1
        self.names.add(found)
        return found

    def _run(self, body: Sequence[ast.stmt]) -> ArrayPiece:
        for node in body:
            if isinstance(node, ast.Return) and node.value is not None:
                found = self.value(node.value)
                if found.parts or len(found.sizes) > 1:
                    raise self.fail("The function returns several things; let it return one array.", node)
                return found
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # what the function says of itself
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._assign(node.targets[0], self.value(node.value))
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._assign(node.target, self.value(node.value))
            elif isinstance(node, ast.AugAssign):
                sign = BINARY.get(type(node.op), "")
                self._assign(node.target, self.operate(sign, self.value(node.target), self.value(node.value), node))
            else:
                raise self.fail("This statement is not read.", node, SHOWN)
        raise NotationError("The function returns nothing.", self.text, max(len(self.text) - 1, 0), hint=SHOWN)

    def _assign(self, target: ast.expr, value: ArrayPiece) -> None:
        if isinstance(target, ast.Tuple):
            parts = value.parts or [pieces.size(extent) for extent in value.sizes]
            if len(parts) != len(target.elts):
                raise self.fail(f"Here are {len(target.elts)} names for {len(parts)} values.", target)
            for one, part in zip(target.elts, parts):
                self._assign(one, part)
            return
        if not isinstance(target, ast.Name):
            raise self.fail("Only names are given values here: entries cannot be written into.", target)
        if any(part.axes for part in value.parts):
            raise self.fail("A tuple of arrays is not read; give each of them a name.", target)
        if value.number is not None or value.sizes or value.parts:
            self.known[target.id] = value
            return
        extents = tuple([None if label is None else label.extent for label in value.axes])
        name = value.read or self._free_name(target.id)
        if not value.read:
            self.lines.append(EquationLine(name, value))
        self.known[target.id] = (name, extents)
