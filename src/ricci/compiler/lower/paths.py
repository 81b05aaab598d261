"""In which order to multiply several arrays: the tree of pairs that costs least.

Up to :data:`EXACT` operands all trees are weighed, by dynamic programming over sets of operands, under a cost that
counts arithmetic and traffic, knows that many small matrix products are slower than one large one, and that what other
products need as well is half paid for. Beyond that ``opt_einsum`` finds the path: its dynamic programming for products
of moderate length, greedy for long ones, and cotengra for very long ones where it is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Union

from ricci.budget import spend
from ricci.caches import cached
from ricci.compiler.plan.program_steps import Labels

EXACT = 6
DYNAMIC = 10
VERY_LONG = 100
TRAFFIC = 4.0  # the cost of moving one number, in units of one multiplication in a matrix product
SMALL = 16.0  # how much slower the multiplications of many small matrix products are, for matrices of one row
START = 40.0  # the cost of a loop of NumPy over entries in a row, beside that of the entries
REARRANGED = 1.0  # for each number of a result that comes out in another order than wanted, where that is a view
Tree = Union[int, "tuple[Tree, Tree]"]
Pairs = frozenset[tuple[int, int]]


@cached("orders of contractions", 4096)
def leaves_of(tree: Tree) -> list[int]:
    """The numbers of the operands in a tree."""
    found, stack = [], [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, int):
            found.append(node)
        else:
            stack += node
    return found


def best_tree(
    terms: tuple[Labels, ...],
    kept: Labels,
    sizes: Labels,
    often: Pairs = frozenset(),
    rearranged: float = REARRANGED,
) -> tuple[float, Tree]:
    """The cost and the tree of pairs; a leaf is the position of an operand. Labels are numbers from 0, as in ``sizes``.

    >>> best_tree(((0, 1), (1, 2), (2,)), (0,), (50, 60, 70))[1]
    (0, (1, 2))
    """
    costs = _Costs(terms, kept, sizes, often, rearranged)
    if len(terms) == 1:
        return 0.0, 0
    if len(terms) <= EXACT:
        return _exact(costs, len(terms))
    size = {x: max(n, 1) for x, n in enumerate(sizes)}
    tree = _as_tree(_finder(len(terms))([set(t) for t in terms], set(kept), size), len(terms))
    return _total(costs, tree), tree


class _Costs:
    """What it costs to multiply two sets of operands; sets of operands and of labels are bits of a number."""

    def __init__(self, terms: Sequence[Labels], kept: Labels, sizes: Labels, often: Pairs, rearranged: float):
        self.sizes, self.kept_order, self.rearranged = sizes, kept, rearranged
        self.kept = _bits(kept)
        self.of_term = [_bits(labels) for labels in terms]
        self.often = {(1 << a) | (1 << b) for a, b in often}
        self.everything = (1 << len(terms)) - 1
        self._entries: dict[int, float] = {0: 1.0}
        self._labels: dict[int, tuple[int, int]] = {}

    def entries(self, labels: int) -> float:
        found = self._entries.get(labels)
        if found is None:
            low = labels & -labels
            found = self.entries(labels ^ low) * max(self.sizes[low.bit_length() - 1], 1)
            self._entries[labels] = found
        return found

    def labels(self, operands: int) -> tuple[int, int]:
        """The labels of the product of some operands, and those that are needed outside of it."""
        found = self._labels.get(operands)
        if found is None:
            inside, outside = 0, self.kept
            for p, own in enumerate(self.of_term):
                if operands >> p & 1:
                    inside |= own
                else:
                    outside |= own
            found = self._labels[operands] = (inside & outside, outside)
        return found

    def join(self, left: int, right: int) -> float:
        a, b = self.labels(left)[0], self.labels(right)[0]
        both = left | right
        joined, needed = self.labels(both)
        work = self.entries(a | b)
        cost = work + TRAFFIC * (self.entries(a) + self.entries(b) + self.entries(joined))
        shared = a & b
        if shared & ~needed:
            if shared & needed:
                inner = min(self.entries(a & ~shared), self.entries(b & ~shared))
                cost += work * SMALL / (inner + 3.0)
            if both == self.everything and not self._in_order(a & ~shared, shared & needed):
                cost += self.rearranged * self.entries(joined)
        elif both == self.everything:
            cost += START * self.entries(joined) / self._run(a, b)
        return cost / 2 if both in self.often else cost

    def _run(self, a: int, b: int) -> float:
        """How many entries of a product without sums lie in a row with one operand moving and the other at rest."""
        run, moving = 1.0, 0
        for x in reversed(self.kept_order):
            sides = (a >> x & 1) | (b >> x & 1) << 1
            if moving and sides not in (0, moving):
                break
            moving = moving or sides
            run *= max(self.sizes[x], 1)
        return run

    def _in_order(self, a: int, batch: int) -> bool:
        """Whether the axes of a dot come out as wanted: the batch, then all of one operand, then all of the other."""
        groups = [0 if batch >> x & 1 else 1 if a >> x & 1 else 2 for x in self.kept_order]
        changes = [g for p, g in enumerate(groups) if p == 0 or groups[p - 1] != g]
        return len(changes) == len(set(changes)) and (0 not in changes or changes[0] == 0)


def _bits(labels: Sequence[int]) -> int:
    total = 0
    for x in labels:
        total |= 1 << x
    return total


def _exact(costs: _Costs, count: int) -> tuple[float, Tree]:
    best: dict[int, tuple[float, Tree]] = {1 << p: (0.0, p) for p in range(count)}
    for operands in range(1, 1 << count):
        if operands in best:
            continue
        found: tuple[float, Tree] = (float("inf"), 0)
        spend()
        low = operands & -operands
        rest = part = operands ^ low
        while True:  # every way to split, the lowest operand on the left
            left = operands ^ part
            if part:
                (one, tree), (other, second) = best[left], best[part]
                if one + other < found[0]:
                    cost = one + other + costs.join(left, part)
                    if cost < found[0]:
                        found = cost, (tree, second)
            if not part:
                break
            part = (part - 1) & rest
        best[operands] = found
    return best[costs.everything]


def _finder(count: int) -> Callable:
    from opt_einsum import paths  # few products are so long, and it takes its time

    if count <= DYNAMIC:
        return paths.DynamicProgramming(minimize="combo-4")
    if count > VERY_LONG and find_spec("cotengra") is not None:
        return import_module("cotengra").HyperOptimizer(max_time=1.0, progbar=False)
    return paths.greedy


def _as_tree(path: Sequence[Sequence[int]], count: int) -> Tree:
    """A path of opt_einsum, which puts what it joins last, as a tree of pairs."""
    left: list[Tree] = list(range(count))
    for step in [*path, range(count)]:
        places = [p for p in sorted(step) if p < len(left)]
        if len(places) < 2:
            continue
        tree = left[places[0]]
        for p in places[1:]:
            tree = (tree, left[p])
        left = [t for p, t in enumerate(left) if p not in places] + [tree]
    return left[0]


def _total(costs: _Costs, tree: Tree) -> float:
    total = 0.0
    done: dict[int, int] = {}
    stack: list[tuple[Tree, bool]] = [(tree, False)]
    while stack:
        node, ready = stack.pop()
        if isinstance(node, int):
            done[id(node)] = 1 << node
        elif not ready:
            stack += [(node, True), (node[0], False), (node[1], False)]
        else:
            left, right = [1 << side if isinstance(side, int) else done[id(side)] for side in node]
            total += costs.join(left, right)
            done[id(node)] = left | right
    return total
