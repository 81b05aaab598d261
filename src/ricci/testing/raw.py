"""Expressions before they are made canonical: a description that can be built, and that can be evaluated as it stands.

A constructor rewrites what it is given, so its result alone cannot show whether the rewriting was right. A :class:`Raw`
says what was asked for. ``build`` asks the constructors; ``brute`` follows the description by loops, without them.

======================  ====================================================================
kind                    data
======================  ====================================================================
variable                name, sizes
number, size, pi        the number; the symbolic size; nothing
array                   the array, for a constant with entries
delta, one, zero        size; sizes; sizes
affine                  relation (``"=="`` or ``">="``), coefficients, constant, sizes
window                  coefficients, constant, size read, sizes
merge                   sizes
triangle, place         rows, columns, shift; position, size
one_hot                 size; the operand holds the places
product, contract       labels of the operands, labels of the result, sizes of further labels
sum                     coefficients
elementwise             name of the row
function                name of the row, parameters
over                    name of a reduction, or of a function along axes; the axes
======================  ====================================================================
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ricci import expr as core
from ricci.expr import OPS, Expr
from ricci.expr.build.product import contract
from ricci.expr.dims import Atom, evaluate
from ricci.functions.table import FUNCTIONS
from ricci.testing.brute import axis_sizes
from ricci.testing.entries_by_loops import Table, batched, entrywise, from_array, multiply, plain_number, tabulate
from ricci.testing.over import over


@dataclass(frozen=True, eq=False)
class Raw:
    """A node of a description: ``kind`` and ``data`` as in the table above, and the operands."""

    kind: str
    args: tuple[Raw, ...] = ()
    data: tuple = ()

    def nodes(self) -> list[Raw]:
        """This node and all below it, operands first, each once."""
        done: dict[Raw, None] = {}
        stack: list[Raw] = [self]
        while stack:
            waiting = [a for a in stack[-1].args if a not in done]
            if waiting:
                stack.extend(waiting)
            else:
                done.setdefault(stack.pop())
        return list(done)

    def build(self) -> Expr:
        """The canonical expression."""
        built: dict[Raw, Expr] = {}
        for node in self.nodes():
            built[node] = build_node(node, [built[a] for a in node.args])
        return built[self]

    def brute(self, inputs: Mapping[str, Any], sizes: Mapping[Atom, int] | None = None) -> Table:
        """The value, from the description itself."""
        tables = {name: from_array(value) for name, value in inputs.items()}
        env = {**axis_sizes(tables), **(sizes or {})}
        done: dict[Raw, Table] = {}
        for node in self.nodes():
            done[node] = evaluate_node(node, [done[a] for a in node.args], tables, env)
        return done[self]

    def __str__(self) -> str:
        name: dict[Raw, str] = {}
        lines = []
        for node in self.nodes():
            name[node] = node.data[0] if node.kind == "variable" else f"t{len(lines)}"
            if node.kind != "variable":
                lines.append(f"{name[node]} = {_shown(node, [name[a] for a in node.args])}")
        return "\n".join(lines) or name[self]


def _shown(node: Raw, args: list[str]) -> str:
    if node.kind in ("product", "contract"):
        labels, out, sizes = node.data
        factors = [f"{a}[{','.join(map(str, own))}]" for a, own in zip(args, labels, strict=True)]
        extra = "".join(f", |{label}| = {size}" for label, size in sizes)
        return f"{node.kind}({' '.join(factors)} -> [{','.join(map(str, out))}]{extra})"
    if node.kind == "sum":
        return " + ".join(f"({c}) {a}" for c, a in zip(node.data[0], args, strict=True))
    return f"{node.kind}({', '.join([*map(repr, node.data), *args])})"


def array_constant(array: Any) -> core.Data:
    return core.Data(array, hashlib.blake2b(repr((array.shape, array.tolist())).encode(), digest_size=8).hexdigest())


# Through the constructors


def build_node(node: Raw, args: list[Expr]) -> Expr:
    """The constructor's answer for one node, given those for its operands."""
    kind, data = node.kind, node.data
    if kind in ("product", "contract"):
        labels, out, sizes = data
        operands = list(zip(args, labels, strict=True))
        return contract(operands, out) if kind == "contract" else core.product(operands, out, dict(sizes))
    if kind == "sum":
        return core.add(list(zip(data[0], args, strict=True)))
    if kind == "elementwise":
        return core.elementwise(OPS[data[0]], *args)
    if kind == "function":
        return core.function(OPS[data[0]], tuple(args), data[1])
    if kind == "over":
        return FUNCTIONS[data[0]](args[0], data[1])
    if kind == "one_hot":
        return core.one_hot(args[0], data[0])
    if kind == "array":
        return core.constant(array_constant(data[0]))
    if kind == "pi":
        return core.constant("pi")
    return _LEAVES[kind](*data)


_LEAVES = {
    "variable": core.variable,
    "number": core.constant,
    "size": core.constant,
    **{
        kind: getattr(core, kind) for kind in ("delta", "one", "zero", "affine", "window", "merge", "triangle", "place")
    },
}


# By loops


def evaluate_node(node: Raw, args: list[Table], inputs: Mapping[str, Table], env: Mapping[Atom, int]) -> Table:
    """The value of one node by its definition, given those of its operands."""
    kind, data = node.kind, node.data
    if kind == "variable":
        return inputs[data[0]]
    if kind in ("product", "contract"):
        labels, out, sizes = data
        known = {label: evaluate(size, env) for label, size in sizes}
        return multiply(list(zip(args, labels, strict=True)), out, known)
    if kind == "sum":
        coefs = [plain_number(c) for c in data[0]]
        return entrywise(lambda *x: sum(c * v for c, v in zip(coefs, x, strict=True)), args)
    if kind == "elementwise":
        return entrywise(OPS[data[0]].value, args)
    if kind == "function":
        return _function(OPS[data[0]], data[1], args)
    if kind == "over":
        return over(data[0], args[0], data[1])
    if kind == "one_hot":
        shape = (*args[0].shape, evaluate(data[0], env))
        return tabulate(shape, lambda index: int(index[-1] == args[0].entries[index[:-1]]))
    if kind in _RELATIONS:
        return _relation(kind, data, env)
    if kind == "array":
        return from_array(data[0])
    number = math.pi if kind == "pi" else evaluate(data[0], env) if kind == "size" else plain_number(data[0])
    return Table((), {(): number})


def _function(op: core.Op, params: tuple, args: list[Table]) -> Table:
    own = op.axes_of(params)
    assert op.result is not None
    result = op.result([t.shape[len(t.shape) - n :] for t, n in zip(args, own, strict=True)], *params)
    return batched(lambda *x: op.value(*x, *params), args, own, [evaluate(n, {}) for n in result])


def _relation(kind: str, data: tuple, env: Mapping[Atom, int]) -> Table:
    """A structure, by the sentence that defines it."""
    numbers = _evaluated(data, env)
    if kind in ("one", "zero"):
        return tabulate(numbers[0], lambda index: int(kind == "one"))
    if kind == "delta":
        return tabulate((numbers[0], numbers[0]), lambda index: int(index[0] == index[1]))
    if kind == "place":
        return tabulate((numbers[1],), lambda index: int(index[0] == numbers[0]))
    if kind == "triangle":
        rows, columns, shift = numbers
        return tabulate((rows, columns), lambda index: int(index[1] <= index[0] + shift))
    if kind == "window":
        coefs, const, read, shape = numbers
        return tabulate((read, *shape), lambda index: int(index[0] == _dot(coefs, index[1:]) + const))
    if kind == "merge":
        (shape,) = numbers
        return tabulate((math.prod(shape), *shape), lambda index: int(index[0] == _position(index[1:], shape)))
    relation, coefs, const, shape = numbers
    holds = (lambda v: v == 0) if relation == "==" else (lambda v: v >= 0)
    return tabulate(shape, lambda index: int(holds(_dot(coefs, index) + const)))


_RELATIONS = ("one", "zero", "delta", "place", "triangle", "window", "merge", "affine")


def _evaluated(data: Any, env: Mapping[Atom, int]) -> Any:
    if isinstance(data, (tuple, list)):
        return tuple([_evaluated(part, env) for part in data])
    return data if isinstance(data, str) else evaluate(data, env)


def _dot(coefs: tuple[int, ...], index: tuple[int, ...]) -> int:
    return sum(c * i for c, i in zip(coefs, index, strict=True))


def _position(index: tuple[int, ...], shape: tuple[int, ...]) -> int:
    position = 0
    for i, n in zip(index, shape, strict=True):
        position = position * n + i
    return position
