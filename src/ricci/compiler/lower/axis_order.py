"""In which order axes lie in memory: one order for all, so that steps that follow one another agree.

Axes of nodes that some node lines up are one class. Inputs come with an order of their axes, and functions over axes
want theirs last; both say of two classes which comes first. The classes are sorted by that, as far as it is free of
contradiction, and where the order of the axes of a result costs nothing, as in matrix products, this order is taken.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any

from ricci.expr import Elementwise, Expr, Function, Product, Structure, Sum, Variable

Axis = tuple[Expr, int]


class AxisOrder:
    """The rank of every axis of every node; axes with a lower rank come first."""

    def __init__(self, roots: Sequence[Expr], nodes: Sequence[Expr]):
        self.parent: dict[Axis, Axis] = {}
        for node in nodes:
            self._line_up(node)
        self.ranks = _sorted(*self._constraints(nodes, roots))

    def rank(self, node: Expr, axis: int) -> int:
        return self.ranks.get(self.find((node, axis)), len(self.ranks))

    def find(self, axis: Axis) -> Axis:
        above = self.parent.get
        up = above(axis)
        if up is None:
            return axis
        root = up
        while (up := above(root)) is not None:
            root = up
        while (up := above(axis)) is not None:
            self.parent[axis], axis = root, up
        return root

    def _link(self, a: Axis, b: Axis) -> None:
        a, b = self.find(a), self.find(b)
        if a != b:
            self.parent[b] = a

    def _line_up(self, node: Expr) -> None:
        if isinstance(node, Product):
            place: dict[int, Axis] = {label: (node, axis) for axis, label in enumerate(node.out)}
            for a, labels in node.factors():
                if not isinstance(a, Structure):
                    for axis, label in enumerate(labels):
                        self._link(place.setdefault(label, (a, axis)), (a, axis))
            for a, labels in node.factors():
                if isinstance(a, Structure) and a.relation[0] == "==":
                    near = [x for x in _near(a, labels) if x in place]
                    for x in near[1:]:
                        self._link(place[near[0]], place[x])
        elif isinstance(node, (Sum, Elementwise)):
            for a in node.args:
                for axis in range(len(a.shape)):
                    self._link((node, axis), (a, axis))
        elif isinstance(node, Function):
            own = node.op.axes_of(node.params)
            same = len(node.args[0].shape) == len(node.shape)
            lead = len(node.args[0].shape) - (0 if same else own[0])
            for a in node.args:
                for axis in range(min(lead, len(a.shape))):
                    self._link((node, axis), (a, axis))

    def _constraints(
        self, nodes: Sequence[Expr], roots: Sequence[Expr]
    ) -> tuple[dict[Axis, set[Axis]], dict[Axis, int]]:
        """For each class those that come after it, and all classes in the order in which ties are settled."""
        after: dict[Axis, set[Axis]] = {}
        seen: dict[Axis, int] = {}

        def chain(node: Expr, first: int = 0) -> None:
            groups = [self.find((node, axis)) for axis in range(len(node.shape))]
            for a, b in zip(groups[first:], groups[first + 1 :], strict=False):
                if a != b:
                    after.setdefault(a, set()).add(b)

        for root in roots:
            for axis in range(len(root.shape)):
                seen.setdefault(self.find((root, axis)), len(seen))
        for node in nodes:
            for axis in range(len(node.shape)):
                seen.setdefault(self.find((node, axis)), len(seen))
            if isinstance(node, Variable):
                chain(node)
            elif isinstance(node, Function):
                for a, own in zip(node.args, node.op.axes_of(node.params), strict=True):
                    chain(a, max(0, len(a.shape) - own - 1))
        return after, seen


def _near(a: Structure, labels: Sequence[int]) -> list[int]:
    """The labels of two axes one of which is a part of the other, or made of it: they lie at the same place.

    Of a window, ``j == i + k``, these are the position in the array and that of the window; of axes that are merged
    the position in all of them and that in the first.
    """
    if len(labels) < 2:
        return []
    ones = [axis for axis, c in enumerate(a.relation[1]) if c in (1, -1)]
    sign = [axis for axis in ones if all(c != a.relation[1][axis] for p, c in enumerate(a.relation[1]) if p != axis)]
    whole = max(sign or ones or [0], key=lambda axis: _length(a.shape[axis]))
    rest = [axis for axis in range(len(labels)) if axis != whole]
    first = max(rest, key=lambda axis: (_length(a.relation[1][axis]), _length(a.shape[axis])))
    return [labels[whole], labels[first]]


def _length(size: Any) -> float:
    return abs(size) if isinstance(size, int) else math.inf


def _sorted(after: dict[Axis, set[Axis]], seen: dict[Axis, int]) -> dict[Axis, int]:
    """A rank for each class: those with nothing before them first; where all have, the one seen first."""
    before = dict.fromkeys(seen, 0)
    for later in after.values():
        for group in later:
            before[group] += 1
    ready = [(n, group_id) for group_id, (group, n) in enumerate(seen.items()) if not before[group]]
    groups = list(seen)
    heapq.heapify(ready)
    ranks: dict[Axis, int] = {}
    waiting = iter(groups)
    while len(ranks) < len(groups):
        if ready:
            group = groups[heapq.heappop(ready)[1]]
        else:  # a contradiction
            group = next(g for g in waiting if g not in ranks)
        if group in ranks:
            continue
        ranks[group] = len(ranks)
        for later in after.get(group, ()):
            before[later] -= 1
            if before[later] == 0:
                heapq.heappush(ready, (seen[later], seen[later]))
    return ranks
