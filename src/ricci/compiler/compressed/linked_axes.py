"""Which axes of an expression tell one another, by the structures in it: what is found sparse once it is opened.

A *link* is a set of axes with a bound on how many places in them may differ from zero: ``delta[i,j]`` links two axes of
n entries, and has n places where there might be n². Links of the factors of a product that share a label become one,
and what is summed over drops out; those of a sum are what any of its terms has. So a contraction whose structures tie
rows to columns is known without being multiplied out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from ricci.expr import Expr, Product, Size, Structure, Sum

LONG = 8  # a link is long if fewer than one place in so many counts
ALONE = 32  # and one that tells single axes, as ``[k == 3]`` does, if it is fewer than one in so many

Link = tuple[frozenset[int], int]
T = TypeVar("T")


class LinkedAxes:
    """The links of expressions, found once for each."""

    def __init__(self, size: Callable[[Size], int]):
        self.size = size
        self.known: dict[Expr, list[Link]] = {}

    def long(self, e: Expr) -> bool:
        """Whether structures are hidden in an expression that make it much sparser than it looks."""
        sizes = dict(enumerate(map(self.size, e.shape)))
        return any(
            _entries(axes, sizes) >= (LONG if len(axes) > 1 else ALONE) * max(1, places) for axes, places in self.of(e)
        )

    def of(self, e: Expr) -> list[Link]:
        return operands_first(e, self.known, self._of)

    def _of(self, e: Expr) -> list[Link]:
        if isinstance(e, Structure):
            return self._of_structure(e)
        if isinstance(e, Product):
            sizes = {x: self.size(s) for a, own in e.factors() for x, s in zip(own, a.shape, strict=True)}
            links = [
                (frozenset(own[axis] for axis in axes), places)
                for a, own in e.factors()
                for axes, places in self.known[a]
            ]
            return list(_kept(_joined(links, sizes), e.out, sizes))
        if isinstance(e, Sum):
            return self._of_sum(e)
        return []

    def _of_structure(self, e: Structure) -> list[Link]:
        kind, sizes = e.relation[0], [self.size(s) for s in e.shape]
        if kind == "==" and sizes:
            return [(frozenset(range(len(sizes))), math.prod(sizes) // max(1, *sizes))]
        if kind == "at":
            return [(frozenset(range(len(sizes))), math.prod(sizes[:-1]))]
        return []

    def _of_sum(self, e: Sum) -> list[Link]:
        """Axes that any of the terms links; the places are those of the term that has fewest."""
        sizes = dict(enumerate(map(self.size, e.shape)))
        groups = [axes for axes, _ in _joined([link for a in e.args for link in self.known[a]], sizes)]
        return [(axes, min(_places(self.known[a], axes, sizes) for a in e.args)) for axes in groups]


def operands_first(e: Expr, known: dict[Expr, T], find: Callable[[Expr], T]) -> T:
    """What ``find`` says of an expression, once it is known of the operands of products and sums; without recursion."""
    waiting = [e]
    while waiting:
        node = waiting[-1]
        inner = [a for a in node.args if a not in known] if isinstance(node, (Product, Sum)) else []
        if inner:
            waiting += inner
        else:
            known.setdefault(waiting.pop(), find(node))
    return known[e]


def _places(links: Iterable[Link], axes: frozenset[int], sizes: Mapping[int, int]) -> int:
    """How many places there are in these axes, which contain each link or have nothing of it."""
    inside = [(own, places) for own, places in links if own <= axes]
    alone = axes.difference(*[own for own, _ in inside])
    return math.prod([places for _, places in inside]) * _entries(alone, sizes)


def _joined(links: Iterable[Link], sizes: Mapping[int, int]) -> list[Link]:
    """Links that share labels as one."""
    found: list[Link] = []
    for axes, places in links:
        for other in [one for one in found if one[0] & axes]:
            found.remove(other)
            places = max(1, places * other[1] // max(1, _entries(axes & other[0], sizes)))
            axes = axes | other[0]
        found.append((axes, places))
    return found


def _kept(links: Iterable[Link], out: Sequence[int], sizes: Mapping[int, int]) -> Iterable[Link]:
    """What is left of links in the axes of a product."""
    axis = {label: k for k, label in enumerate(out)}
    for labels, places in links:
        left = labels & axis.keys()
        most = _entries(left, sizes)
        if left and min(places, most) < most:
            yield frozenset(axis[x] for x in left), min(places, most)


def _entries(labels: Iterable[int], sizes: Mapping[int, int]) -> int:
    return math.prod([sizes[x] for x in labels])
