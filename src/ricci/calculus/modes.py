"""Derivatives of expressions by expressions, in any mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ricci.calculus.cost import cost
from ricci.calculus.graph import Graph
from ricci.calculus.local import combine, compose, edge_of
from ricci.calculus.orders import entries, greedy_order, run, skeleton_of, vertices
from ricci.errors import InputError, RuleError
from ricci.expr import Expr, Function, zero

MODES = ("auto", "forward", "reverse", "cross-country")
SMALL = 200  # vertices; up to this many, ``auto`` tries all orders and keeps the cheapest
LONG = 2_000  # factors of local derivatives; with more of them, the order is taken that promises to be the cheapest


def derivative(y: Expr, x: Expr, mode: str = "auto", effort: float = 0.0) -> Expr:
    """∂y/∂x: the axes of ``y``, then those of ``x``."""
    return derivatives([y], [x], mode, effort)[0][0]


def derivatives(ys: Sequence[Expr], xs: Sequence[Expr], mode: str = "auto", effort: float = 0.0) -> list[list[Expr]]:
    """All ∂y/∂x, a row for each ``y``. The ``xs`` count as independent of one another."""
    graph = eliminated(ys, xs, mode, effort, counting=False)[0]
    return [[graph.derivative(y, x) for x in xs] for y in ys]


def eliminated(
    ys: Sequence[Expr], xs: Sequence[Expr], mode: str, effort: float = 0.0, counting: bool = True
) -> tuple[Graph, int, str]:
    """The graph with all vertices eliminated, the multiplications that it took, if they are counted, and the mode."""
    if mode not in MODES:
        raise InputError(f"There is no mode {mode!r}; the modes are {', '.join(MODES)}.")
    graph = Graph(ys, xs)
    if mode != "auto":
        return graph, run(graph, mode, effort, counting).cost, mode
    results = sum(entries(y.shape) for y in ys)
    arguments = sum(entries(x.shape) for x in xs)
    if any(isinstance(node, Function) and node.op.loop is not None for node in graph.order):
        mode = "forward" if arguments < results else "reverse"  # one loop counts for many vertices
        return graph, run(graph, mode, counting=counting).cost, mode
    if results == 1 or len(vertices(graph)) > SMALL:
        mode = "reverse" if results <= arguments else "forward"
        return graph, run(graph, mode, counting=counting).cost, mode
    bones = skeleton_of(graph)
    found = {"reverse": bones.vertices[::-1], "forward": bones.vertices, "cross-country": greedy_order(bones)}
    counts = {mode: bones.cost(order) for mode, order in found.items()}
    # What an order saves in joining edges it may lose in structure, so the results themselves are compared.
    tried = [mode for mode in counts if mode == "reverse" or 2 * counts[mode] <= counts["reverse"]]
    if sum(len(factors) for row in graph.below.values() for e in row.values() for _, factors in e.terms) > LONG:
        tried = [min(tried, key=counts.__getitem__)]
    done = []
    for mode in tried:
        each = graph if mode == tried[-1] else graph.copy()
        order = None if effort and mode == "cross-country" else [graph.order[v] for v in found[mode]]
        done.append((run(each, mode, effort, counting, order), mode))
    best = done[0] if len(done) == 1 else min(done, key=lambda pair: cost(*_results(pair[0].graph, ys, xs)))
    return best[0].graph, best[0].cost, best[1]


def _results(graph: Graph, ys: Sequence[Expr], xs: Sequence[Expr]) -> list[Expr]:
    return [graph.derivative(y, x) for y in ys for x in xs]


def through_cut(y: Expr, x: Expr, cut: Sequence[Expr] | Mapping[Expr, Expr]) -> Expr:
    """∂y/∂x as the sum over a cut of pullback times pushforward.

    The nodes of a cut are parts of ``y``, or stand in it for their values, which ``cut`` then gives.
    """
    values = cut if isinstance(cut, Mapping) else {node: node for node in cut}
    nodes = list(values)
    if y not in values and x not in values and _reaches(Graph([y], [*nodes, x]), y, x):
        raise RuleError("These nodes are no cut: a way from the variable to the result goes past all of them.")
    outer = derivatives([y], nodes, "reverse")[0]
    inner = [row[0] for row in derivatives(list(values.values()), [x], "forward")]
    pairs = zip(nodes, outer, inner, strict=True)
    parts = [compose(edge_of(bar, len(y.shape)), edge_of(dot, len(v.shape))) for v, bar, dot in pairs]
    return combine(parts).expr() if parts else zero((*y.shape, *x.shape))


def _reaches(graph: Graph, y: Expr, x: Expr) -> bool:
    seen, stack = set(), [y]
    while stack:
        node = stack.pop()
        if node is x:
            return True
        if node not in seen:
            seen.add(node)
            stack += graph.below.get(node, ())
    return False
