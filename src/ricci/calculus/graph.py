"""The modes of differentiation as orders of elimination on one linearised graph.

The vertices are the nodes between the inputs and the outputs, an edge from an operand to its user carries the local
derivative; where that is in steps, these are vertices too. Eliminating a vertex joins every edge into it with every
edge out of it by the chain rule, and adds what runs in parallel. When all are gone, the edges from inputs to outputs
are the derivatives, whatever the order was:

- *reverse*: from the outputs down; what is left at a vertex is its pullback;
- *forward*: from the inputs up; what is left is its pushforward;
- *cross-country*: any order; see ``orders.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy

from ricci.calculus.local import (
    Edge,
    combine,
    compose,
    composed,
    edge_of,
    identity,
    in_steps,
    local,
    operands,
    parallel,
    vanishes,
)
from ricci.calculus.projecting import projected
from ricci.expr import Expr, add, topological
from ricci.expr.nodes import constructors
from ricci.expr.structures import zero


class Graph:
    """The linearised graph of ``outputs`` as functions of ``inputs``, which count as independent."""

    def __init__(self, outputs: Sequence[Expr], inputs: Sequence[Expr]):
        self.outputs, self.inputs = tuple(outputs), tuple(inputs)
        self.nodes = _between(outputs, set(inputs))
        live = set(self.nodes)
        fixed = set(self.inputs)
        wanted = set(self.outputs)  # what an output depends on smoothly; nothing else is differentiated
        edges: dict[tuple[Expr, Expr], list[Edge]] = {}
        order: list[Expr] = []  # users first
        for node in reversed(self.nodes):
            order.append(node)
            if node in fixed or node not in wanted:
                continue
            for position, arg in enumerate(operands(node)):
                if arg in live:
                    found, inner = _linearised(node, position)
                    order += inner
                    for low, high, edge in found:
                        edges.setdefault((low, high), []).append(edge)
                        wanted.add(low)
        self.order = order[::-1]  # the nodes, and the steps of derivatives between them
        self.below: dict[Expr, dict[Expr, Edge]] = {node: {} for node in self.order}
        self.above: dict[Expr, dict[Expr, Edge]] = {node: {} for node in self.order}
        for (low, high), places in edges.items():
            self._put(low, high, parallel(places))

    def copy(self) -> Graph:
        """The same graph, to be eliminated in another order."""
        other = copy(self)
        other.below = {node: dict(row) for node, row in self.below.items()}
        other.above = {node: dict(row) for node, row in self.above.items()}
        return other

    def _put(self, low: Expr, high: Expr, edge: Edge) -> None:
        self.below[high][low] = edge
        self.above[low][high] = edge

    def eliminate(self, vertex: Expr) -> None:
        """Join the edges through ``vertex`` and take it out."""
        below, above = self.below.pop(vertex), self.above.pop(vertex)
        for high in above:
            del self.below[high][vertex]
        for low in below:
            del self.above[low][vertex]
        for high, outer in above.items():
            for low, inner in below.items():
                joined = compose(outer, inner)
                known = self.below[high].get(low)
                if known is not None:
                    joined = combine([known, joined])
                if not vanishes(joined):
                    self._put(low, high, joined)
                elif known is not None:
                    del self.below[high][low], self.above[low][high]

    def derivative(self, output: Expr, x: Expr) -> Expr:
        """∂output/∂x, all vertices being eliminated. An output may be an operand of another one."""
        edge = identity(x.shape) if output is x else self.below.get(output, {}).get(x)
        if edge is None:
            return zero((*output.shape, *x.shape))
        return real_where(projected(edge.expr(), x, len(output.shape)), output, x)


def _linearised(node: Expr, position: int) -> tuple[list[tuple[Expr, Expr, Edge]], list[Expr]]:
    """The edges from an operand to ``node``, as (operand, user, edge), and the vertices between them, users first.

    A derivative in steps is a graph of its own, with the change of the operand for its input: each step is a vertex.
    """
    arg, steps = operands(node)[position], in_steps(node, position)
    if steps is None:
        edge = local(node, position)
        return ([] if edge is None else [(arg, node, edge)]), []
    change, result = steps
    inner = dict.fromkeys(_between([result], {change}))
    ends = {change: arg, result: node}
    found: list[tuple[Expr, Expr, Edge]] = []
    if result is change:
        found.append((arg, node, identity(arg.shape)))
    for step in inner:
        for place, low in enumerate(operands(step) if step is not change else ()):
            edge = local(step, place) if low in inner else None
            if edge is not None:
                found.append((ends.get(low, low), ends.get(step, step), edge))
    return found, [step for step in reversed(inner) if step not in ends]


def _between(outputs: Iterable[Expr], inputs: set[Expr]) -> list[Expr]:
    """The nodes on a way from an input to an output, operands first; nothing below an input counts."""
    reached: set[Expr] = set()
    order = []
    for node in _above(outputs, inputs):
        if node in inputs or any(a in reached for a in operands(node)):
            reached.add(node)
            order.append(node)
    return order


def _above(outputs: Iterable[Expr], inputs: set[Expr]) -> list[Expr]:
    outputs = list(outputs)
    order = topological(*outputs)
    if any(node.complex for node in order):
        order = _with_mirrored(outputs)
    if not any(x.args for x in inputs):
        return order
    seen: set[Expr] = set()
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += () if node in inputs else operands(node)
    return [node for node in order if node in seen]


def _with_mirrored(roots: Sequence[Expr]) -> list[Expr]:
    """All nodes that outputs depend on, operands first; conjugates of operands are some of them."""
    seen: set[Expr] = set()
    order: list[Expr] = []
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        waiting = [] if node in seen else [a for a in operands(node) if a not in seen]
        if waiting:
            stack += reversed(waiting)
            continue
        stack.pop()
        if node not in seen:
            seen.add(node)
            order.append(node)
    return order


def pullbacks(output: Expr, bar: Expr, inputs: Sequence[Expr]) -> list[Expr]:
    """The pullback of ``bar`` (axes of its own, then those of ``output``) to each input, in one sweep."""
    total = adjoints(output, bar, inputs)
    lead = len(bar.shape) - len(output.shape)
    found = [total[x] if x in total else zero((*bar.shape[:lead], *x.shape)) for x in inputs]
    return [real_where(e, output, bar, x) for e, x in zip(found, inputs, strict=True)]


def real_where(e: Expr, *of: Expr) -> Expr:
    """A derivative that is real because all is that it is one ``of``, whatever is on the way, as a real expression."""
    return constructors.real(e) if e.complex and not any(a.complex for a in of) else e


def adjoints(output: Expr, bar: Expr, inputs: Sequence[Expr]) -> dict[Expr, Expr]:
    """The pullback of ``bar`` to every node on the way to the inputs that it reaches."""
    graph = Graph([output], inputs)
    lead = len(bar.shape) - len(output.shape)
    incoming: dict[Expr, list[Expr]] = {output: [bar]}
    total: dict[Expr, Expr] = {}
    for node in reversed(graph.order):
        if node not in incoming:
            continue
        parts = incoming.pop(node)
        total[node] = projected(parts[0] if len(parts) == 1 else add([(1, part) for part in parts]), node, lead)
        pulled = edge_of(total[node], lead)
        for low, edge in graph.below.get(node, {}).items():
            incoming.setdefault(low, []).append(composed(pulled, edge))
    return total


def pushforward(output: Expr, dots: dict[Expr, Expr]) -> Expr:
    """The pushforward of ``output`` along ``dots``, which have the axes of their inputs, then axes of their own."""
    extra = next(iter(dots.values())).shape[len(next(iter(dots)).shape) :]
    return tangents([output], dots).get(output, zero((*output.shape, *extra)))


def tangents(outputs: Sequence[Expr], dots: dict[Expr, Expr]) -> dict[Expr, Expr]:
    """The pushforward along ``dots`` of every node on the way to ``outputs`` that they reach, in one sweep."""
    graph = Graph(outputs, list(dots))
    total: dict[Expr, Expr] = dict(dots)
    for node in graph.order:
        if node in dots:
            continue
        parts = [
            compose(edge, edge_of(total[low], len(low.shape)))
            for low, edge in graph.below[node].items()
            if low in total
        ]
        if parts:
            total[node] = combine(parts).expr()
    return {node: real_where(e, node, *dots, *dots.values()) for node, e in total.items()}
