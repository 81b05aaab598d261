"""The expression that a tensor was computed by: the bodies of its operations, one put into the next."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from ricci.expr import Expr, constant, substitute
from ricci.expr import variable as input_node
from ricci.notation.context import Context, Facts, merged
from ricci.tensor.backward import reached
from ricci.tensor.links import GraphNode, Recorded
from ricci.tensor.meaning import resolved
from ricci.user.formula import Formula
from ricci.user.formula_patterns import FORMULA


def expression(t: Recorded) -> Formula:
    """``t`` as a formula of its leaves, which carry their values; arrays that it met are inputs that carry theirs."""
    steps = [x for x in reached(t, all_operands=True)[::-1] if x.node is not None]
    contexts: list[Context] = []
    done: dict[int, Expr] = {}
    for name, leaf in _named(t, steps).items():
        done[id(leaf)] = input_node(name, leaf.shape)
        contexts.append(_context(name, leaf._value, leaf._axes))
    for x in steps:
        done[id(x)] = _body(x, x.node, done, contexts)  # type: ignore[arg-type]
    return Formula(done[id(t)], _names(t._axes, len(t.shape)), merged(contexts))


def _named(t: Recorded, steps: Sequence[Recorded]) -> dict[str, Recorded]:
    """The leaves in the order in which they are used, by their own names where these differ, or x0, x1, …"""
    parents = [p for x in steps for p in (resolved(x.node).inputs if x.node is not None else ())]
    found = {id(x): x for x in (*parents, t) if isinstance(x, Recorded) and x.node is None}
    own = [x.name for x in found.values()]
    free = (name for name in (f"x{k}" for k in count()) if name not in own)
    return {x.name if x.name and own.count(x.name) == 1 else next(free): x for x in found.values()}


def _body(x: Recorded, node: GraphNode, done: dict[int, Expr], contexts: list[Context]) -> Expr:
    operation = resolved(node).operation.operation
    values: dict[Expr, Expr] = {}
    for v, given in zip(operation.inputs, node.inputs, strict=True):
        values[v] = done[id(given)] if isinstance(given, Recorded) else _carried(given, contexts)
    for name, array in operation.bound.items():
        values[input_node(name, np.shape(array))] = _carried(array, contexts)
    body = operation.bodies[x.index]
    assert body is not None
    return substitute(body, values)


def _carried(value: Any, contexts: list[Context]) -> Expr:
    if np.ndim(value) == 0:
        return constant(value.item() if hasattr(value, "item") else value)
    formula = FORMULA.lift(value)
    contexts.append(formula.context)
    return formula.expr


def _context(name: str, value: Any, axes: Any) -> Context:
    names = _names(axes, value.ndim)
    facts = Facts(inputs={name: value.ndim}, mentions={name: None}, values={name: value})
    facts.groups = [(index, ((name, axis),)) for axis, index in enumerate(names)]
    return Context(facts)


def _names(axes: Any, order: int) -> list[str]:
    """Index names: those of the axes, and letters for the others; different ones."""
    given = list(axes) if axes is not None else [None] * order
    letters = (name for name in (f"{x}{n or ''}" for n in count() for x in "ijklmnpqrstuvw") if name not in given)
    seen: set[str] = set()
    result = []
    for name in given:
        chosen = next(letters) if name is None or name in seen else name
        seen.add(chosen)
        result.append(chosen)
    return result
