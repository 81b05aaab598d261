"""The value of a core expression by loops over index tuples: slow, plain, and independent of all that is fast."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from ricci.expr import Constant, Data, Dim, Elementwise, Expr, Function, Product, Structure, Sum, Variable, topological
from ricci.expr.dims import Atom, evaluate
from ricci.testing.entries_by_loops import (
    Table,
    batched,
    entrywise,
    from_array,
    multiply,
    plain_number,
    tabulate,
    to_array,
)

Env = Mapping[Atom, int]


def brute_force(expr: Expr, inputs: Mapping[str, Any], sizes: Mapping[Atom, int] | None = None) -> np.ndarray:
    """The value of ``expr``; ``sizes`` gives the symbolic sizes that no input determines.

    >>> from ricci.expr import product, variable
    >>> x = variable("x", 2)
    >>> brute_force(product([(x, "ii")], ""), {"x": [[1, 2], [3, 4]]})
    array(5)
    """
    return to_array(table_of(expr, inputs, sizes or {}))


def table_of(expr: Expr, inputs: Mapping[str, Any], sizes: Mapping[Atom, int]) -> Table:
    tables = {name: from_array(value) for name, value in inputs.items()}
    env = {**axis_sizes(tables), **sizes}
    done: dict[Expr, Table] = {}
    for node in topological(expr):
        result = _RULES[type(node)](node, [done[a] for a in node.args], tables, env)
        expected = tuple([evaluate(size, env) for size in node.shape])
        if result.shape != expected:
            raise AssertionError(f"{node!r} has the shape {expected} and its value has {result.shape}")
        done[node] = result
    return done[expr]


def axis_sizes(tables: Mapping[str, Table]) -> dict[Atom, int]:
    return {(name, axis): n for name, table in tables.items() for axis, n in enumerate(table.shape)}


def _variable(node: Variable, args: list[Table], tables: Mapping[str, Table], env: Env) -> Table:
    return tables[node.name]


def _constant(node: Constant, args: list[Table], tables: Mapping[str, Table], env: Env) -> Table:
    if isinstance(node.value, Data):
        return from_array(node.value.values)
    if isinstance(node.value, Dim):
        return Table((), {(): evaluate(node.value, env)})
    return Table((), {(): math.pi if node.value == "pi" else plain_number(node.value)})


def _structure(node: Structure, args: list[Table], tables: Mapping[str, Table], env: Env) -> Table:
    shape = [evaluate(size, env) for size in node.shape]
    kind = node.relation[0]
    if kind in ("one", "zero"):
        return tabulate(shape, lambda index: int(kind == "one"))
    if kind == "at":
        return tabulate(shape, lambda index: int(args[0].entries[index[:-1]] == index[-1]))
    coefs = [evaluate(c, env) for c in node.relation[1]]
    const = evaluate(node.relation[2], env)

    def entry(index: tuple[int, ...]) -> int:
        place = const
        for axis, coef in enumerate(coefs):
            place += coef * index[axis]
        return int(place == 0) if kind == "==" else int(place >= 0)

    return tabulate(shape, entry)


def _product(node: Product, args: list[Table], tables: Mapping[str, Table], env: Env) -> Table:
    known: dict[Hashable, int] = {label: evaluate(size, env) for label, size in zip(node.out, node.shape, strict=True)}
    structures = [k for k, a in enumerate(node.args) if isinstance(a, Structure)]
    return multiply(list(zip(args, node.labels, strict=True)), node.out, known, structures)


def _sum(node: Sum, args: list[Table], tables: Mapping[str, Table], env: Env) -> Table:
    coefs = [plain_number(c) for c in node.coefs]
    return entrywise(lambda *x: sum(c * v for c, v in zip(coefs, x, strict=True)), args)


def _elementwise(node: Elementwise, args: list[Table], tables: Mapping[str, Table], env: Env) -> Table:
    return entrywise(node.op.value, args)


def _function(node: Function, args: list[Table], tables: Mapping[str, Table], env: Env) -> Table:
    own = node.op.axes_of(node.params)
    lead = len(args[0].shape) - own[0]
    result = [evaluate(size, env) for size in node.shape[lead:]]
    return batched(lambda *x: node.op.value(*x, *node.params), args, own, result)


_RULES = {
    Variable: _variable,
    Constant: _constant,
    Structure: _structure,
    Product: _product,
    Sum: _sum,
    Elementwise: _elementwise,
    Function: _function,
}
