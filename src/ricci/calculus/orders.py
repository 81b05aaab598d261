"""Orders of elimination, and what they cost: see ``weights.py`` for the cost of a join.

- ``forward`` and ``reverse`` go through the vertices in one direction;
- ``cross-country`` is greedy: it takes, again and again, the vertex that is cheapest to eliminate (Markowitz), or that
  costs least more than it would cost at the end (relative Markowitz), ties being broken in several ways, and keeps the
  best of these orders. With ``effort`` to spend it then moves vertices about (simulated annealing).

Orders are compared on a skeleton of the graph, which knows of an edge only its weight. What is left after eliminating
some vertices is the same in whatever order they went, so moving a vertex within an order changes costs between its old
and its new place only: that is all that the annealing evaluates.
"""

from __future__ import annotations

import heapq
import math
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ricci.budget import spend
from ricci.calculus.graph import Graph
from ricci.calculus.local import Edge
from ricci.calculus.weights import Weight, added, entries, identity_weight, joined, joining_cost, size_of, weigh
from ricci.expr import Expr

MANY = 2_000  # vertices; above this many, greedy tries one rule only and nothing is annealed
STEPS_PER_SECOND = 300_000  # eliminations on the skeleton that a second of ``effort`` pays for, on any machine
ENOUGH = 2_000  # eliminations for every pair of vertices, after which more effort is of no use
WARMTH = 0.01  # of the cost, that annealing begins by giving away in a step
PATIENCE = 4.0  # how many times ``effort`` may pass before annealing stops in any case


class Counted:
    """A graph that is being eliminated, with the multiplications counted, unless nobody asks for them."""

    def __init__(self, graph: Graph, counting: bool = True):
        self.graph, self.counting = graph, counting
        self.cost = 0
        self._outputs = set(graph.outputs)
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
        """Take a vertex out. An output stays, but no longer stands between others."""
        if self.counting:
            self.cost += self.price(vertex)
        row = self.graph.below[vertex]
        self.graph.eliminate(vertex)
        if vertex in self._outputs:
            self.graph.below[vertex], self.graph.above[vertex] = row, {}
            for low, edge in row.items():
                self.graph.above[low][vertex] = edge


def vertices(graph: Graph) -> list[Expr]:
    """What has to be eliminated, operands first: all but inputs and the outputs that nothing else uses."""
    ends = {*graph.inputs, *(y for y in graph.outputs if not graph.above.get(y))}
    return [node for node in graph.order if node not in ends]


def run(
    graph: Graph, mode: str, effort: float = 0.0, counting: bool = True, order: Sequence[Expr] | None = None
) -> Counted:
    """Eliminate all vertices of ``graph`` in the order of ``mode``, which may be known already."""
    counted = Counted(graph, counting)
    for vertex in _order(graph, mode, effort) if order is None else order:
        counted.eliminate(vertex)
    return counted


def _order(graph: Graph, mode: str, effort: float) -> list[Expr]:
    if mode == "cross-country":
        return annealed(graph, effort) if effort > 0 else greedy(graph)
    return vertices(graph) if mode == "forward" else vertices(graph)[::-1]


# The graph without expressions. Rows are replaced, never changed, so that a copy of a state is a copy of two lists.

Row = dict[int, Weight]
State = tuple[list, ...]


class Skeleton:
    """Costs of elimination: nodes are numbers, operands first, and an edge is a weight."""

    def __init__(
        self,
        edges: Mapping[tuple[int, int], Weight],
        inputs: Iterable[int],
        outputs: Iterable[int],
        sizes: Sequence[int],
    ):
        """``edges`` by (user, operand), ``sizes`` the entries of the nodes. An output that is used gets a twin."""
        self.edges, self.sizes = dict(edges), list(sizes)
        self.inputs, self.outputs = list(dict.fromkeys(inputs)), list(dict.fromkeys(outputs))
        used = {low for _, low in edges}
        for place, output in enumerate(self.outputs):
            if output in used and output not in self.inputs:
                self.outputs[place] = len(self.sizes)
                use = next(weight for (_, low), weight in edges.items() if low == output)
                self.edges[len(self.sizes), output] = identity_weight([use.sizes[x] for x in use.into])
                self.sizes.append(self.sizes[output])
        ends = {*self.inputs, *self.outputs}
        self.costs: dict[tuple[int, ...], int] = {}
        self.vertices = [v for v in range(len(self.sizes)) if v not in ends]

    def start(self) -> State:
        below: list[Row] = [{} for _ in self.sizes]
        above: list[Row] = [{} for _ in self.sizes]
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
        spend()
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
        """The multiplications that an order takes; of one that was asked for before they are known."""
        order = tuple(order)
        if order not in self.costs:
            state = self.start()
            self.costs[order] = sum([self.eliminate(state, v) for v in order])
        return self.costs[order]


class Scalars(Skeleton):
    """All nodes are scalars: rows are sets of bits, of all neighbours and of those whose edge is not ±1."""

    def start(self) -> State:
        lows, dear_lows, highs, dear_highs = state = tuple([[0] * len(self.sizes) for _ in range(4)])
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
        spend()
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


def skeleton(
    edges: Mapping[tuple[int, int], Weight], inputs: Iterable[int], outputs: Iterable[int], sizes: Sequence[int]
) -> Skeleton:
    """The skeleton with these edges; the fast one where all is scalar."""
    scalar = len(sizes) <= MANY and all(not weight.sizes for weight in edges.values())
    return (Scalars if scalar else Skeleton)(edges, inputs, outputs, sizes)


def skeleton_of(graph: Graph) -> Skeleton:
    """The skeleton of a graph; its nodes are numbered as in ``graph.order``."""
    number = {node: position for position, node in enumerate(graph.order)}
    edges = {(number[high], number[low]): weigh(edge) for high, row in graph.below.items() for low, edge in row.items()}
    inputs, outputs = ([number[x] for x in ends if x in number] for ends in (graph.inputs, graph.outputs))
    return skeleton(edges, inputs, outputs, [entries(node.shape) for node in graph.order])


# Greedy orders. A rule gives the value by which the next vertex is the least.

Rule = Callable[[int, int], Any]  # of the price and the vertex


def greedy(graph: Graph) -> list[Expr]:
    """The best of the greedy orders."""
    return [graph.order[v] for v in greedy_order(skeleton_of(graph))]


def greedy_order(bones: Skeleton) -> list[int]:
    """The best order by one of the rules; reverse and forward come first, and are kept where no rule does better."""
    start = bones.start()
    prices = {v: bones.price(start, v) for v in bones.vertices}
    if len(bones.vertices) > MANY:
        return _by_rule(bones, prices, lambda price, v: (price, -v))
    orders = [bones.vertices[::-1], bones.vertices, *(_by_rule(bones, prices, rule) for rule in _rules(bones))]
    return min(orders, key=bones.cost)


def _rules(bones: Skeleton) -> list[Rule]:
    final = _prices_at_the_end(bones)
    return [
        lambda price, v: (price, -v),
        lambda price, v: (price, v),
        lambda price, v: (price, -final[v], -v),
        lambda price, v: (price - final[v], -v),
        lambda price, v: (price - final[v], v),
    ]


def _prices_at_the_end(bones: Skeleton) -> list[int]:
    """What each vertex would cost, about, if it were eliminated after all the others."""
    down, up = [0] * len(bones.sizes), [0] * len(bones.sizes)  # sets of inputs and of outputs, as bits
    for v in bones.inputs:
        down[v] = 1 << v
    for v in bones.outputs:
        up[v] = 1 << v
    for high, low in sorted(bones.edges):
        down[high] |= down[low]
    for high, low in sorted(bones.edges, key=lambda edge: -edge[1]):
        up[low] |= up[high]

    def total(mask: int) -> int:
        return sum(bones.sizes[v] for v in _bits(mask))

    return [size * total(a) * total(b) for size, a, b in zip(bones.sizes, down, up, strict=True)]


def _by_rule(bones: Skeleton, prices: Mapping[int, int], rule: Rule) -> list[int]:
    """The order in which each vertex is the best by a rule; ``prices`` are those at the start."""
    state, price = bones.start(), dict(prices)
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
    return [graph.order[v] for v in annealed_order(skeleton_of(graph), effort)]


def annealed_order(bones: Skeleton, effort: float, seed: int = 0) -> list[int]:
    """Sweeps over the order: at every place, one vertex is moved there from behind, or away from there.

    A sweep keeps the state of the graph at its place, so a trial eliminates only the vertices that a move affects. The
    work is counted, not timed, so that the same effort gives the same order on every machine that is not very slow.
    """
    order = greedy_order(bones)
    if not 2 <= len(order) <= MANY:
        return order
    walk = _Walk(bones, order, random.Random(seed))
    budget = min(effort * STEPS_PER_SECOND, ENOUGH * len(order) ** 2)
    end = time.monotonic() + effort * PATIENCE
    while walk.work < budget and time.monotonic() < end:
        walk.sweep(heat=WARMTH * walk.best_cost * (1 - walk.work / budget) ** 2)
    return walk.best


class _Walk:
    """An order that changes at random, and the best one seen."""

    def __init__(self, bones: Skeleton, order: list[int], rng: random.Random):
        self.bones, self.rng = bones, rng
        self.order, self.best = list(order), list(order)
        state = bones.start()
        self.prices = [bones.eliminate(state, v) for v in order]
        self.best_cost = sum(self.prices)
        self.work = len(order)

    def sweep(self, heat: float) -> None:
        state = self.bones.start()
        for place in range(len(self.order) - 1):
            self._try(state, place, heat)
            self.bones.eliminate(state, self.order[place])
        self.work += len(self.order)
        if sum(self.prices) < self.best_cost:
            self.best, self.best_cost = list(self.order), sum(self.prices)

    def _try(self, state: State, place: int, heat: float) -> None:
        """Move a vertex within the places from ``place`` to a random one, if that is cheaper, or warm enough."""
        furthest = len(self.order) - place
        end = place + 1 + min(furthest - 1, int(furthest ** self.rng.random()))  # near places more often
        window = self.order[place:end]
        moved = [*window[1:], window[0]] if self.rng.random() < 0.5 else [window[-1], *window[:-1]]
        room = sum(self.prices[place:end]) - heat * math.log(1 - self.rng.random())
        copy = tuple([rows[:] for rows in state])
        prices = []
        for v in moved:
            prices.append(self.bones.eliminate(copy, v))
            room -= prices[-1]
            if room < 0:
                break
        self.work += len(prices)
        if room >= 0:
            self.order[place:end], self.prices[place:end] = moved, prices


__all__ = [
    "Counted",
    "Skeleton",
    "annealed",
    "annealed_order",
    "entries",
    "greedy",
    "greedy_order",
    "joining_cost",
    "run",
    "size_of",
    "skeleton",
    "skeleton_of",
    "vertices",
]
