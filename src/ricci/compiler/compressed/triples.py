"""The entries of a compressed result that may differ from zero: rows, columns, values, found without a search.

A term is a number times structures times cores, summed over some labels. Structures are relations between labels, so
they say where the entries are: ``[i == k + 1] [j == k + 1]`` has one for each ``k``, since ``k`` determines ``i`` and
``j``; ``delta[places[m],i]`` has one for each ``m``. A walk over the labels goes through some of them, as few as do,
computes others, and drops places at which a relation does not hold. What is kept of it is where in each core the
numbers are, so that with other cores the values are one pass of reading, multiplying and adding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ricci.compiler.compressed.filling import Core, Filling, Places, TermReads, filling, run_of
from ricci.compiler.compressed.parts_terms import Factor, Labels, Term, renamed
from ricci.errors import InputError
from ricci.expr import Expr, Structure, Variable
from ricci.expr.structures import is_delta

MOST_ENTRIES = 2**29  # places that are gone through at most
DENSER = 4  # a contraction is carried out where it makes at most so many times the entries of its term
SMALL_PLACES = 2**31


@dataclass(frozen=True)
class Pattern:
    """Where the entries of a matrix are, row by row, and what is added up in each of them."""

    shape: tuple[int, int]
    starts: np.ndarray  # of each row, and the end
    columns: np.ndarray
    filling: Filling
    gathered: tuple[tuple[int, np.ndarray], ...] = field(repr=False, default=())  # cores that say where entries are
    empty: Any = field(repr=False, compare=False, default=None)  # a sparse array of SciPy with these places, once made

    def holds(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether the entries of a result with these cores are at these places."""
        return all(arrays[k] is places or np.array_equal(arrays[k], places) for k, places in self.gathered)

    def values(self, arrays: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
        return self.filling.values(arrays, dtype)

    @property
    def rows(self) -> np.ndarray:
        return np.repeat(np.arange(self.shape[0]), np.diff(self.starts))

    @cached_property
    def widths(self) -> tuple[int, int]:
        """How far entries are below and above the diagonal at most."""
        off = self.columns - self.rows
        return (max(0, int(-off.min())), max(0, int(off.max()))) if len(off) else (0, 0)

    @cached_property
    def in_bands(self) -> Places:
        """The places of the entries among the diagonals, which are rows of an array, those above first."""
        _, above = self.widths
        columns = self.columns.astype(np.int64)
        return run_of((above + self.rows - columns) * self.shape[1] + columns)


def routes(terms: Sequence[Term], sizes: Mapping[int, int], axes: tuple[Labels, Labels]) -> list[Route]:
    """How the places of each term are found; an error if there are more than an array of them may have."""
    found = [Route(term, sizes, (*axes[0], *axes[1])) for term in terms if term.coef]
    most = max([route.most for route in found], default=0)
    if most > MOST_ENTRIES:
        raise InputError(
            f"Up to {most:,} entries of the result may differ from zero, so a sparse array of them would be no smaller "
            "than a whole one. Use c @ v, c.solve(b) or c.cores."
        )
    return found


def pattern(
    found: Sequence[Route], sizes: Mapping[int, int], axes: tuple[Labels, Labels], arrays: Sequence[np.ndarray]
) -> Pattern:
    """The places of all entries; the axes of rows are merged to one, and those of columns.

    >>> import numpy as np
    >>> from ricci import jacobian
    >>> steps = jacobian(lambda x: x[1:]**2 - x[:-1], compressed=True)(np.arange(4.0))
    >>> shell = steps._shell
    >>> found = pattern(routes(shell.terms, shell.sizes, ((0,), (1,))), shell.sizes, ((0,), (1,)), steps.cores)
    >>> found.rows.tolist(), found.columns.tolist(), found.values(steps.cores, float).tolist()
    ([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 3], [-1.0, 2.0, -1.0, 4.0, -1.0, 6.0])
    """
    walks = [Walk(route, arrays) for route in found]
    shape = (math.prod([sizes[x] for x in axes[0]]), math.prod([sizes[x] for x in axes[1]]))
    keys = [walk.flat(axes[0]) * shape[1] + walk.flat(axes[1]) for walk in walks]
    key, entries = np.unique(np.concatenate([np.zeros(0, np.int64), *keys]), return_inverse=True)
    rows, columns = np.divmod(key, max(1, shape[1]))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    ends = np.cumsum([0, *[len(one) for one in keys]])
    own = [entries[start:stop] for start, stop in pairwise(ends)]
    gathers = {place_of(e.args[0]) for route in found for e, _ in route.relations if e.args}
    return Pattern(
        shape,
        _short(starts),
        _short(columns),
        filling([walk.reads(to) for walk, to in zip(walks, own, strict=True)], len(columns)),
        tuple([(k, arrays[k]) for k in sorted(gathers)]),
    )


def _short(places: np.ndarray) -> np.ndarray:
    """Places as numbers of 32 bits, where these do: half the memory, and what SciPy's solvers want."""
    return places.astype(np.int32) if not len(places) or places.max() < SMALL_PLACES else places


Relation = tuple[Structure, Labels]
Step = tuple[str, Any]  # ("through", label) or ("use", relation)


class Route:
    """In which order the labels of a term are settled: gone through, or told by a relation.

    >>> from ricci import jacobian
    >>> import numpy as np
    >>> shell = jacobian(lambda x: x[1:]**2, compressed=True)(np.arange(4.0))._shell
    >>> [(what, one) for what, one in Route(shell.terms[0], shell.sizes, (0, 1)).steps if what == "through"]
    [('through', 0)]
    """

    def __init__(self, term: Term, sizes: Mapping[int, int], kept: Iterable[int]):
        self.sizes, self.coef = sizes, term.coef
        self.same = _same(term.factors)
        factors = renamed(term.factors, self.same)
        self.relations = [(e, labels) for e, labels in factors if isinstance(e, Structure) and not _trivial(e, labels)]
        self.kept = {self.same.get(x, x) for x in kept}
        _, most = self._planned(self.kept)
        self.cores = self._contracted([f for f in factors if not isinstance(f[0], Structure)], most)
        self.steps, self.most = self._planned(self.kept | {x for core in self.cores for x in core.labels})

    def _contracted(self, factors: Sequence[Factor], most: int) -> list[Core]:
        """The cores, sums over labels that only they carry carried out where that makes few numbers, and so products.

        Long axes of a product come first: what is close among the entries is close there.
        """
        related = {x for _, labels in self.relations for x in labels}
        summed = {x for _, labels in factors for x in labels} - related - self.kept
        groups = [([(place_of(e), labels)], labels) for e, labels in factors]
        for label in sorted(summed, key=lambda x: (-self.sizes[x], x)):
            those = [group for group in groups if label in group[1]]
            out = tuple(dict.fromkeys(x for _, labels in those for x in labels if x != label))
            if self._entries(out) <= DENSER * max(1, most):
                groups = [group for group in groups if label not in group[1]]
                groups.append(([one for own, _ in those for one in own], self._long_first(out)))
        together = {x for _, labels in groups for x in labels}
        if len(groups) > 1 and self._entries(together) <= most:
            groups = [([one for own, _ in groups for one in own], self._long_first(together))]
        return [Core.of(own, labels, self.sizes) for own, labels in groups]

    def _long_first(self, labels: Iterable[int]) -> Labels:
        return tuple(sorted(labels, key=lambda x: (-self.sizes[x], x)))

    def _entries(self, labels: Iterable[int]) -> int:
        return math.prod([self.sizes[x] for x in labels])

    def _planned(self, wanted: set[int]) -> tuple[list[Step], int]:
        """The steps, and how many places there are at most."""
        waiting, known = list(self.relations), set[int]()
        free = self._free(wanted | {x for _, labels in waiting for x in labels})
        steps: list[Step] = []
        while True:
            used, waiting = self._settled(known, waiting)
            steps += [("use", relation) for relation in used]
            known.update(x for _, labels in used for x in labels)
            if not free - known:
                return steps, math.prod([self.sizes[x] for what, x in steps if what == "through"])
            label = min(free - known, key=lambda x: (self._gain(x, known, waiting), x))
            steps.append(("through", label))
            known.add(label)

    def _free(self, labels: set[int]) -> set[int]:
        """Labels that tell all others, no more of them than that takes, and short ones rather than long ones."""
        free = set(labels)
        for x in sorted(labels, key=lambda x: (-self.sizes[x], x)):
            rest = free - {x}
            used, _ = self._settled(rest, self.relations)
            if x in {y for _, own in used for y in own}:
                free = rest
        return free

    def _settled(self, known: set[int], waiting: list[Relation]) -> tuple[list[Relation], list[Relation]]:
        """The relations that say something once these labels are known, in order, and the others."""
        used, known, left = [], set(known), list(waiting)
        while True:
            found = next((one for one in left if self.determines(one, set(one[1]) - known)), None)
            if found is None:
                return used, left
            left.remove(found)
            used.append(found)
            known.update(found[1])

    def _gain(self, label: int, known: set[int], waiting: list[Relation]) -> float:
        """The size of a label, divided by those of all that it determines."""
        used, _ = self._settled({*known, label}, waiting)
        told = {x for _, labels in used for x in labels} - known - {label}
        return self.sizes[label] / math.prod([max(1, self.sizes[x]) for x in told])

    def determines(self, relation: Relation, unknown: set[int]) -> bool:
        """Whether a relation can be used where only these labels are not known: to tell them, or to drop places."""
        e, labels = relation
        if not unknown:
            return True
        if e.relation[0] == "at":
            return unknown == {labels[-1]} and labels[-1] not in labels[:-1]
        return e.relation[0] == "==" and self.digits(relation, unknown) is not None

    def digits(self, relation: Relation, unknown: set[int]) -> list[tuple[int, int]] | None:
        """Labels with their coefficients, the largest first, if one number has them as its digits."""
        coefs = coefficients(relation)
        places = sorted([(abs(coefs[x]), x) for x in unknown], reverse=True)
        if len({coefs[x] > 0 for x in unknown}) != 1:
            return None
        span = 0
        for coef, x in reversed(places):
            if coef <= span:
                return None
            span += coef * max(0, self.sizes[x] - 1)
        return [(x, coefs[x]) for _, x in places]


class Walk:
    """The places of one term: an array for each label, all of one length."""

    def __init__(self, route: Route, arrays: Sequence[np.ndarray]):
        self.route, self.sizes, self.arrays = route, route.sizes, arrays
        self.known: dict[int, np.ndarray] = {}
        self.count = 1
        for what, one in route.steps:
            if what == "through":
                self._through(one)
            elif one[0].relation[0] == "at":
                self._look_up(*one)
            else:
                self._use(one)

    def _through(self, label: int) -> None:
        size = self.sizes[label]
        self.known = {x: np.repeat(places, size) for x, places in self.known.items()}
        self.known[label] = np.tile(np.arange(size), self.count)
        self.count *= size

    def _look_up(self, e: Structure, labels: Labels) -> None:
        table, target = self.arrays[place_of(e.args[0])], labels[-1]
        found = np.broadcast_to(table[tuple([self.known[x] for x in labels[:-1]])], (self.count,)).astype(np.int64)
        if target in self.known:
            self._keep(found == self.known[target])
        else:
            self.known[target] = found
            self._keep((found >= 0) & (found < self.sizes[target]))

    def _use(self, relation: Relation) -> None:
        """``c x + … + d == 0`` tells labels that are not known yet; then, or if it is ``>=``, places are dropped."""
        e, labels = relation
        coefs = coefficients(relation)
        unknown = set(labels) - self.known.keys()
        rest: Any = np.full(self.count, e.relation[2], np.int64)
        for x in coefs.keys() - unknown:
            rest = rest + coefs[x] * self.known[x]
        inside: Any = True
        for x, c in self.route.digits(relation, unknown) or []:
            self.known[x] = (rest if c < 0 else -rest) // abs(c)
            rest = rest + c * self.known[x]
            inside = inside & (self.known[x] >= 0) & (self.known[x] < self.sizes[x])
        self._keep(inside & (rest == 0 if e.relation[0] == "==" else rest >= 0))

    def _keep(self, holds: np.ndarray) -> None:
        if not holds.all():
            self.known = {x: places[holds] for x, places in self.known.items()}
            self.count = int(holds.sum())

    # What is kept of it

    def flat(self, labels: Labels) -> np.ndarray:
        """The place in an array with these axes, as one number."""
        found: Any = np.zeros(self.count, np.int64)
        for x in labels:
            found = found * self.sizes[x] + self.known[self.route.same.get(x, x)]
        return found

    def reads(self, entries: np.ndarray) -> TermReads:
        """What is read, and to which entries it goes."""
        found = tuple([(core, run_of(self.flat(core.labels))) for core in self.route.cores])
        coef = self.route.coef if isinstance(self.route.coef, int) else float(self.route.coef)
        return TermReads(coef, found, run_of(entries), len(entries))


def place_of(e: Expr) -> int:
    """Which of the cores a variable of a shell stands for."""
    assert isinstance(e, Variable)
    return int(e.name[4:])


def coefficients(relation: Relation) -> dict[int, int]:
    """Those of the labels in an equation or inequality; one that a label has twice is the sum."""
    e, labels = relation
    coefs: dict[int, int] = {}
    for x, c in zip(labels, e.relation[1], strict=True):
        coefs[x] = coefs.get(x, 0) + c
    return coefs


def _same(factors: Iterable[Factor]) -> dict[int, int]:
    """The labels that deltas make equal, each with the smallest of them."""
    same: dict[int, int] = {}

    def first(x: int) -> int:
        while x in same:
            x = same[x]
        return x

    for e, labels in factors:
        if is_delta(e):
            low, high = sorted(map(first, labels))
            if low != high:
                same[high] = low
    return {x: first(x) for x in same}


def _trivial(e: Structure, labels: Labels) -> bool:
    """Whether a delta says no more, its two labels being one."""
    return is_delta(e) and labels[0] == labels[1]
