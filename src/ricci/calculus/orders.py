"""Orders of elimination, and what they cost.

The cost of joining two edges is the number of multiplications that it takes: the sizes of all labels that their
factors carry, multiplied. Deltas and the factors 1 and -1 are free. A symbolic size counts as :data:`ASSUMED_SIZE`.

- ``forward`` and ``reverse`` go through the vertices in one direction;
- ``cross-country`` is greedy: it takes, again and again, the vertex that is cheapest to eliminate, or that costs least
  more than it would cost at the end (Markowitz, plain and relative), with ties broken in several ways, and keeps the
  best of these orders. With ``effort`` to spend it then moves vertices about in the order (simulated annealing).

Orders are compared on a skeleton of the graph, that knows of an edge only which labels it carries. What is left after
eliminating some vertices is the same in whatever order they went, so moving a vertex within an order changes costs
between its old and its new place only: that is all that the annealing evaluates.
"""

from __future__ import annotations

import heapq
import math
import random
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ricci.calculus.graph import Graph
from ricci.calculus.local import Edge, Label, flat
from ricci.expr import Expr, Size, Structure, dims, numeric
from ricci.expr.structure import is_delta

ASSUMED_SIZE = 16
MANY = 2_000  # vertices; above this many, greedy tries one rule only and nothing is annealed
STEPS_PER_SECOND = 150_000  # eliminations on the skeleton that a second of ``effort`` pays for, on any machine
PATIENCE = 4.0  # how many times ``effort`` may pass before annealing stops in any case


def size_of(size: Size) -> int:
    return size if isinstance(size, int) else dims.evaluate(size, _Assumed())


class _Assumed(dict):
    def __missing__(self, atom: object) -> int:
        return ASSUMED_SIZE


def entries(shape: Sequence[Size]) -> int:
    return math.prod(size_of(size) for size in shape)


# What an edge costs to multiply with.


class Weight(NamedTuple):
    """The labels of an edge, numbered by first use, with sizes; those that its numbers depend on; free if it is ±1.

    A label that stands in ``out`` and in ``into`` is a delta between the two axes.
    """

    out: tuple[int, ...]
    into: tuple[int, ...]
    sizes: tuple[int, ...]
    carried: frozenset[int]
    free: bool


NUMBER = Weight((), (), (), frozenset(), False)
SIGN = Weight((), (), (), frozenset(), True)


def weigh(edge: Edge) -> Weight:
    """The weight of a derivative."""
    free = len(edge.terms) == 1 and edge.terms[0][0] in (1, -1)
    carried: dict[Label, int] = {}
    links: list[tuple[Label, Label]] = []
    for _, factors in edge.terms:
        for e, own in flat(factors):
            if is_delta(e):
                links.append((own[0], own[1]))
            elif not isinstance(e, Structure) and numeric(e) not in (1, -1):
                free = False
                carried.update({x: size_of(size) for x, size in zip(own, e.shape, strict=True)})
    if not edge.out and not edge.into and not carried:
        return SIGN if free else NUMBER
    if len(edge.terms) > 1:
        links = []  # another term may not have them
    sizes = {**{x: size_of(size) for x, size in edge.sizes.items()}, **carried}
    return _numbered(edge.out, edge.into, sizes, set(carried), links, free)


def _numbered(
    out: Sequence[Hashable],
    into: Sequence[Hashable],
    sizes: Mapping[Any, int],
    carried: Iterable[Hashable],
    links: Iterable[tuple[Hashable, Hashable]],
    free: bool,
) -> Weight:
    """A weight in its one form; ``links`` are labels that are equal."""
    same: dict[Hashable, Hashable] = {}

    def root(label: Hashable) -> Hashable:
        while label in same:
            label = same[label]
        return label

    for a, b in links:
        a, b = root(a), root(b)
        if a != b:
            same[b] = a
    number: dict[Hashable, int] = {}
    ends = [tuple([number.setdefault(root(x), len(number)) for x in labels]) for labels in (out, into)]
    inner = sorted((sizes[x] for x in {root(x) for x in carried} - number.keys()), reverse=True)
    seen = {number[root(x)] for x in carried if root(x) in number}
    listed = tuple([sizes[x] for x in number])
    dummies = range(len(listed), len(listed) + len(inner))
    return Weight(*ends, (*listed, *inner), frozenset(seen.union(dummies)), free)


@lru_cache(maxsize=1 << 14)
def joined(outer: Weight, inner: Weight) -> tuple[int, Weight]:
    """Multiplications to compose two edges, and the weight of what results."""
    if not outer.sizes and not inner.sizes:
        return int(not outer.free and not inner.free), SIGN if outer.free and inner.free else NUMBER
    sizes = {**{(0, x): size for x, size in enumerate(outer.sizes)}, **{(1, x): size for x, size in enumerate(inner.sizes)}}
    links = [((0, a), (1, b)) for a, b in zip(outer.into, inner.out, strict=True)]
    carried = [*((0, x) for x in outer.carried), *((1, x) for x in inner.carried)]
    out, into = [(0, x) for x in outer.out], [(1, x) for x in inner.into]
    free = outer.free and inner.free
    whole = _numbered(out, into, sizes, carried, links, free)
    cost = 0 if outer.free or inner.free else math.prod(whole.sizes[x] for x in whole.carried)
    ends = {*whole.out, *whole.into}
    return cost, Weight(whole.out, whole.into, whole.sizes[: len(ends)], whole.carried & ends, free)


@lru_cache(maxsize=1 << 14)
def added(one: Weight, other: Weight) -> Weight:
    """The weight of the sum of two parallel edges; where their deltas differ it is dense."""
    if one.out == other.out and one.into == other.into:
        return one._replace(carried=one.carried | other.carried, free=False)
    sizes = dict(enumerate([one.sizes[x] for x in (*one.out, *one.into)]))
    out, into = range(len(one.out)), range(len(one.out), len(sizes))
    return _numbered(out, into, sizes, range(len(sizes)), (), False)


def joining_cost(outer: Weight, inner: Weight) -> int:
    """Multiplications to compose two edges."""
    return joined(outer, inner)[0]


class Counted:
    """A graph that is being eliminated, with the multiplications counted."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.cost = 0
        self._weights: dict[int, tuple[Edge, Weight]] = {}

    def weight(self, edge: Edge) -> Weight:
        found = self._weights.get(id(edge))
        if found is None or found[0] is not edge:
            found = self._weights[id(edge)] = (edge, weigh(edge))
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
    for vertex in _order(graph, mode, effort):
        counted.eliminate(vertex)
    return counted


def _order(graph: Graph, mode: str, effort: float) -> list[Expr]:
    if mode == "cross-country":
        return annealed(graph, effort) if effort > 0 else greedy(graph)
    vertices = graph.vertices()
    return vertices if mode == "forward" else vertices[::-1]


# The graph without expressions. Rows are replaced, never changed, so that a copy of a state is a copy of two lists.

Row = dict[int, Weight]
State = tuple[list, ...]


class Skeleton:
    """Costs of elimination: nodes are numbers, operands first, and an edge is a weight."""

    def __init__(self, edges: Mapping[tuple[int, int], Weight], kept: Iterable[int], nodes: int):
        """``edges`` from (user, operand); ``kept`` are inputs and outputs."""
        self.edges, self.nodes = edges, nodes
        ends = set(kept)
        self.vertices = [v for v in range(nodes) if v not in ends]

    @staticmethod
    def of(graph: Graph) -> Skeleton:
        """The skeleton of a graph; its nodes are numbered as in ``graph.order``."""
        number = {node: position for position, node in enumerate(graph.order)}
        edges = {
            (number[high], number[low]): weigh(edge) for high, row in graph.below.items() for low, edge in row.items()
        }
        kept = [number[node] for node in {*graph.inputs, *graph.outputs} if node in number]
        return skeleton(edges, kept, len(graph.order))

    def start(self) -> State:
        below: list[Row] = [{} for _ in range(self.nodes)]
        above: list[Row] = [{} for _ in range(self.nodes)]
        for (high, low), weight in self.edges.items():
            below[high][low] = above[low][high] = weight
        return below, above

    def price(self, state: State, v: int) -> int:
        below, above = state
        return sum(joined(outer, inner)[0] for outer in above[v].values() for inner in below[v].values())

    def neighbours(self, state: State, v: int) -> list[int]:
        return [*state[0][v], *state[1][v]]

    def eliminate(self, state: State, v: int) -> int:
        """Take ``v`` out; gives the multiplications."""
        below, above = state
        under, over = below[v], above[v]
        cost = 0
        for low in under:
            above[low] = {high: weight for high, weight in above[low].items() if high != v}
        for high, outer in over.items():
            row = dict(below[high])
            del row[v]
            for low, inner in under.items():
                price, weight = joined(outer, inner)
                cost += price
                known = row.get(low)
                row[low] = above[low][high] = weight if known is None else added(known, weight)
            below[high] = row
        return cost

    def cost(self, order: Iterable[int]) -> int:
        """The multiplications that an order takes."""
        state = self.start()
        return sum(self.eliminate(state, v) for v in order)


class Scalars(Skeleton):
    """All nodes are scalars: rows are sets of bits, of all neighbours and of those whose edge is not ±1."""

    def start(self) -> State:
        lows, dear_lows, highs, dear_highs = state = tuple([[0] * self.nodes for _ in range(4)])
        for (high, low), weight in self.edges.items():
            lows[high] |= 1 << low
            highs[low] |= 1 << high
            if not weight.free:
                dear_lows[high] |= 1 << low
                dear_highs[low] |= 1 << high
        return state

    def price(self, state: State, v: int) -> int:
        return state[1][v].bit_count() * state[3][v].bit_count()

    def neighbours(self, state: State, v: int) -> list[int]:
        return _bits(state[0][v] | state[2][v])

    def eliminate(self, state: State, v: int) -> int:
        lows, dear_lows, highs, dear_highs = state
        _join(lows, dear_lows, highs[v], dear_highs[v], lows[v], dear_lows[v], v)
        _join(highs, dear_highs, lows[v], dear_lows[v], highs[v], dear_highs[v], v)
        return dear_lows[v].bit_count() * dear_highs[v].bit_count()


def _join(rows: list[int], dear_rows: list[int], users: int, dear_users: int, new: int, dear_new: int, v: int) -> None:
    """Replace ``v`` by its own neighbours in the rows of its users; a second path makes an edge that is not ±1."""
    rest = ~(1 << v)
    while users:
        bit = users & -users
        users ^= bit
        u = bit.bit_length() - 1
        row = rows[u] & rest
        dear_rows[u] = (dear_rows[u] & rest) | (new if dear_users & bit else dear_new | (row & new))
        rows[u] = row | new


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        bit = mask & -mask
        mask ^= bit
        found.append(bit.bit_length() - 1)
    return found


def skeleton(edges: Mapping[tuple[int, int], Weight], kept: Iterable[int], nodes: int) -> Skeleton:
    """The skeleton with these edges, the fast one where all is scalar."""
    scalar = nodes <= MANY and all(not weight.sizes for weight in edges.values())
    return (Scalars if scalar else Skeleton)(edges, kept, nodes)


# Greedy orders. A rule gives the value by which the next vertex is the least.

Rule = Callable[[int, int], Any]  # of the price and the vertex


def greedy(graph: Graph) -> list[Expr]:
    """The best of the greedy orders."""
    return [graph.order[v] for v in greedy_order(Skeleton.of(graph))]


def greedy_order(bones: Skeleton) -> list[int]:
    """The best order by one of the rules; forward and reverse are also tried."""
    if len(bones.vertices) > MANY:
        return _by_rule(bones, _rules(bones)[0])
    orders = [*(_by_rule(bones, rule) for rule in _rules(bones)), bones.vertices, bones.vertices[::-1]]
    return min(orders, key=bones.cost)


def _rules(bones: Skeleton) -> list[Rule]:
    last: list[Rule] = [lambda price, v: (price, -v)]
    if len(bones.vertices) > MANY:
        return last
    final = _prices_at_the_end(bones)
    return [
        *last,
        lambda price, v: (price, v),
        lambda price, v: (price, -final[v], -v),
        lambda price, v: (price - final[v], -v),
        lambda price, v: (price - final[v], v),
        lambda price, v: (price - final[v], price, v),
    ]


def _prices_at_the_end(bones: Skeleton) -> list[int]:
    """What each vertex would cost if it were eliminated after all the others."""
    state = bones.start()
    prices = [0] * bones.nodes
    for v in bones.vertices:  # forward: what is below is final, and what is above in the reversed graph will be
        bones.eliminate(state, v)
    return prices


def _by_rule(bones: Skeleton, rule: Rule) -> list[int]:
    state = bones.start()
    price = {v: bones.price(state, v) for v in bones.vertices}
    queue = [(rule(price[v], v), v) for v in bones.vertices]
    heapq.heapify(queue)
    order = []
    while queue:
        value, v = heapq.heappop(queue)
        if v not in price or rule(price[v], v) != value:
            continue
        touched = bones.neighbours(state, v)
        bones.eliminate(state, v)
        order.append(v)
        del price[v]
        for u in touched:
            if u in price:
                new = bones.price(state, u)
                if new != price[u]:
                    price[u] = new
                    heapq.heappush(queue, (rule(new, u), u))
    return order


# Annealing.


def annealed(graph: Graph, effort: float) -> list[Expr]:
    """The best order found with ``effort``, about as many seconds, starting from the greedy one."""
    return [graph.order[v] for v in annealed_order(Skeleton.of(graph), effort)]
