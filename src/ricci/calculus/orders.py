"""Orders of elimination, and what they cost.

The cost of joining two edges is the number of multiplications that it takes: the sizes of all labels that its factors
carry, multiplied. Deltas and the factors 1 and -1 are free. A symbolic size counts as :data:`ASSUMED_SIZE`.

- ``forward`` and ``reverse`` go through the vertices in one direction;
- ``cross-country`` takes, again and again, the vertex that is cheapest to eliminate, ties going to the vertex that
  comes last in reverse order. With ``effort`` seconds to spend it then tries to do better by exchanging vertices of
  the order at random (simulated annealing), on a skeleton of the graph that knows costs only.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence

from ricci.calculus.graph import Graph
from ricci.calculus.local import Edge, Label, flat
from ricci.expr import Expr, Size, Structure, dims, numeric

ASSUMED_SIZE = 16


def size_of(size: Size) -> int:
    return size if isinstance(size, int) else dims.evaluate(size, _Assumed())


class _Assumed(dict):
    def __missing__(self, atom: object) -> int:
        return ASSUMED_SIZE


def entries(shape: Sequence[Size]) -> int:
    return math.prod(size_of(size) for size in shape)


class Weight:
    """What an edge costs to multiply with: the labels that its numbers depend on; none if it only renames."""

    __slots__ = ("free", "into", "out", "sizes")

    def __init__(self, edge: Edge):
        labels: dict[Label, int] = {}
        self.free = len(edge.terms) == 1 and edge.terms[0][0] in (1, -1)
        for _, factors in edge.terms:
            for e, own in flat(factors):
                value = numeric(e)
                if isinstance(e, Structure) or value in (1, -1):
                    continue
                self.free = False
                labels.update({x: size_of(size) for x, size in zip(own, e.shape, strict=True)})
        self.sizes, self.out, self.into = labels, edge.out, edge.into


def joining_cost(outer: Weight, inner: Weight) -> int:
    """Multiplications to compose two edges."""
    if outer.free or inner.free:
        return 0
    same = dict(zip(inner.out, outer.into, strict=True))
    cost = math.prod(outer.sizes.values())
    return cost * math.prod(size for x, size in inner.sizes.items() if same.get(x) not in outer.sizes)


class Counted:
    """A graph that is being eliminated, with the multiplications counted."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.cost = 0
        self._weights: dict[int, tuple[Edge, Weight]] = {}

    def weight(self, edge: Edge) -> Weight:
        found = self._weights.get(id(edge))
        if found is None or found[0] is not edge:
            found = self._weights[id(edge)] = (edge, Weight(edge))
        return found[1]

    def price(self, vertex: Expr) -> int:
        below = [self.weight(edge) for edge in self.graph.below[vertex].values()]
        above = [self.weight(edge) for edge in self.graph.above[vertex].values()]
        return sum(joining_cost(outer, inner) for outer in above for inner in below)

    def eliminate(self, vertex: Expr) -> None:
        self.cost += self.price(vertex)
        self.graph.eliminate(vertex)


def run(graph: Graph, mode: str, effort: float = 0.0) -> Counted:
    """Eliminate all vertices of ``graph`` in the order of ``mode``."""
    counted = Counted(graph)
    if mode == "cross-country":
        if effort > 0:
            for vertex in annealed(graph, effort):
                counted.eliminate(vertex)
        else:
            _greedy(counted)
        return counted
    vertices = graph.vertices()
    for vertex in vertices if mode == "forward" else reversed(vertices):
        counted.eliminate(vertex)
    return counted


def _greedy(counted: Counted) -> list[Expr]:
    graph = counted.graph
    place = {vertex: position for position, vertex in enumerate(graph.vertices())}
    price = {vertex: counted.price(vertex) for vertex in place}
    order = []
    while price:
        vertex = min(price, key=lambda v: (price[v], -place[v]))
        touched = [*graph.below[vertex], *graph.above[vertex]]
        counted.eliminate(vertex)
        order.append(vertex)
        del price[vertex]
        for neighbour in touched:
            if neighbour in price:
                price[neighbour] = counted.price(neighbour)
    return order


class Skeleton:
    """Costs of elimination without expressions. An edge is free, or costs the entries of the nodes at its ends."""

    def __init__(self, graph: Graph):
        counted = Counted(graph)
        self.vertices = graph.vertices()
        number = {node: position for position, node in enumerate(graph.order)}
        self.size = [entries(node.shape) for node in graph.order]
        self.start = [number[v] for v in self.vertices]
        self.node = {number[v]: v for v in self.vertices}
        self.edges = {
            (number[high], number[low]): counted.weight(edge).free
            for high, below in graph.below.items()
            for low, edge in below.items()
        }

    def cost(self, order: Sequence[int]) -> int:
        below: dict[int, dict[int, bool]] = {}
        above: dict[int, dict[int, bool]] = {}
        for (high, low), free in self.edges.items():
            below.setdefault(high, {})[low] = free
            above.setdefault(low, {})[high] = free
        total = 0
        for v in order:
            under, over = below.pop(v, {}), above.pop(v, {})
            for high in over:
                del below[high][v]
            for low in under:
                del above[low][v]
            for high, outer in over.items():
                for low, inner in under.items():
                    free = outer and inner and low not in below[high]
                    if not outer and not inner:
                        total += max(self.size[high], self.size[v], self.size[low])
                    below[high][low] = above[low][high] = free
        return total


def annealed(graph: Graph, effort: float) -> list[Expr]:
    """The best order found in ``effort`` seconds, starting from the greedy one; the same for the same seed and luck."""
    skeleton = Skeleton(graph)
    number = {node: position for position, node in skeleton.node.items()}
    order = [number[v] for v in _greedy(Counted(Graph(graph.outputs, graph.inputs)))]
    if len(order) < 2:
        return [skeleton.node[v] for v in order]
    rng = random.Random(0)
    cost = best_cost = skeleton.cost(order)
    best = list(order)
    end = time.monotonic() + effort
    warmth = max(1.0, cost / 50)
    while (left := end - time.monotonic()) > 0:
        a, b = rng.sample(range(len(order)), 2)
        moved = list(order)
        moved.insert(b, moved.pop(a))
        new = skeleton.cost(moved)
        if new <= cost or rng.random() < math.exp((cost - new) / (warmth * left / effort + 1e-9)):
            order, cost = moved, new
            if cost < best_cost:
                best, best_cost = list(order), cost
    return [skeleton.node[v] for v in best]
