"""Terms of a result that scatter: all that goes to the same places, by the same index arrays, as one core.

The Hessian of a sum over observations, each of which reads one camera and one point, is a sum of many terms, and each
of them puts numbers of the observations in their places: ``sum[m](delta[camera[m],i] delta[point[m],j] t[m,…])``. The
contractions and sums that hide these places are opened, whatever that costs at first; then the terms of one *frame*,
the same index arrays to the same axes, are added up to one core with an entry for each observation. What would be a
whole matrix by any other way has as many numbers as there are observations. Slices and shifts, whose places equations
tell, are opened and added up in the same way: see ``linked_axes`` and ``aligned``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ricci.compiler.compressed.aligned import Labelled, aligned
from ricci.compiler.compressed.linked_axes import LinkedAxes, operands_first
from ricci.compiler.compressed.parts_terms import Factor, Labels, Term, renamed
from ricci.expr import Elementwise, Expr, Number, Product, Size, Structure, Sum, add, product, rebuild
from ricci.expr.structures import is_delta

DEEPEST = 40  # how far into an expression a read goes
MOST_OPENED = 1000  # terms that a result is multiplied out to


class TermOpener(Labelled, Protocol):
    """What opens terms, and knows the sizes of labels."""

    def size(self, size: Size) -> int: ...
    def opened(self, term: Term, at: int) -> list[Term]: ...
    def distributed(self, term: Term, at: int) -> list[Term]: ...


class Frames:
    """The terms of a result by where they put their numbers."""

    def __init__(self, search: TermOpener, root: Expr):
        self.search, self.root = search, root
        self.known: dict[Expr, frozenset[int]] = {}
        self.links = LinkedAxes(search.size)

    def terms(self) -> list[Term] | None:
        """The result with one core for each frame; none where nothing is hidden, or there are too many terms."""
        if not self.opens(self.root):
            return None
        waiting = self.search.flat(1, [(self.root, tuple(range(self.search.order)))])
        finished: list[Term] = []
        while waiting:
            term = waiting.pop()
            at = next((k for k, (e, _) in enumerate(term.factors) if self.opens(e)), None)
            if at is None:
                finished.append(term)
            elif isinstance(term.factors[at][0], Product):
                waiting += self.search.opened(term, at)
            else:
                waiting += self.search.distributed(term, at)
            if len(waiting) + len(finished) > MOST_OPENED:
                return None
        return self.added(finished[::-1])

    def opens(self, e: Expr) -> bool:
        """Whether something is hidden in an expression: entries whose places index arrays say, or long links."""
        return isinstance(e, (Product, Sum)) and (bool(self.scattered(e)) or self.links.long(e))

    def scattered(self, e: Expr) -> frozenset[int]:
        """The axes of an expression whose places some index array says."""
        return operands_first(e, self.known, self._scattered)

    def _scattered(self, e: Expr) -> frozenset[int]:
        if isinstance(e, Structure):
            return frozenset((len(e.shape) - 1,)) if e.args else frozenset()
        if isinstance(e, Sum):
            return frozenset().union(*[self.known[a] for a in e.args])
        if not isinstance(e, Product):
            return frozenset()
        told = {own[axis] for a, own in e.factors() for axis in self.known[a]}
        return frozenset(axis for axis, label in enumerate(e.out) if label in told)

    # One core for each frame

    def added(self, terms: Sequence[Term]) -> list[Term]:
        frames: dict[tuple, list[Term]] = {}
        for term in terms:
            frames.setdefault(self.frame(term), []).append(term)
        others = aligned(self.search, frames.pop((), []))
        return others + [one for own in frames.values() for one in self.joined(own)]

    def places(self, term: Term) -> list[Factor]:
        """The factors that say where numbers go: gathers to axes of the result, and deltas between those."""
        order = self.search.order
        gathers = [f for f in term.factors if isinstance(f[0], Structure) and f[0].args and f[1][-1] < order]
        deltas = [f for f in term.factors if is_delta(f[0]) and max(f[1]) < order]
        return sorted(gathers, key=lambda f: (f[1][-1], f[0].key)) + sorted(deltas, key=lambda f: (f[1], f[0].key))

    def sources(self, places: Sequence[Factor]) -> dict[int, int]:
        """The labels of index arrays, numbered as they come."""
        labels = dict.fromkeys(x for e, own in places if e.args for x in own[:-1] if x >= self.search.order)
        return {x: k for k, x in enumerate(labels)}

    def frame(self, term: Term) -> tuple:
        """The same for terms that put their numbers in the same places; empty where there are no index arrays."""
        places = self.places(term)
        if not any(e.args for e, _ in places):
            return ()
        number = self.sources(places)
        return tuple([(e, tuple([("from", number[x]) if x in number else x for x in own])) for e, own in places])

    def joined(self, terms: list[Term]) -> list[Term]:
        """Terms of one frame as one."""
        first = self.places(terms[0])
        sources = list(self.sources(first))
        told = {own[-1] for e, own in first if e.args}
        parts: list[tuple[Number, list[Factor]]] = []
        for term in terms:
            places = self.places(term)
            to = dict(zip(self.sources(places), sources, strict=True))
            rest = [f for f in renamed(term.factors, self.apart(term, to)) if f not in first]
            parts.append((term.coef, self.read(rest, first, told)))
        carried = {x for _, factors in parts for _, own in factors for x in own}
        out: Labels = (*sources, *[x for x in range(self.search.order) if x in carried])
        sizes = {x: self.search.written[x] for x in out}
        core = add([(coef, product(factors, out, sizes)) for coef, factors in parts])
        return [Term(1, (*first, (core, out)))]

    def read(self, factors: list[Factor], places: Sequence[Factor], told: set[int]) -> list[Factor]:
        """Factors with an axis whose place is told read there: ``f[i]`` where ``i`` is ``camera[m]``."""
        for x in sorted(told & {x for _, own in factors for x in own}):
            gather = next((e, own) for e, own in places if e.args and own[-1] == x)
            factors = [one for e, own in factors for one in self.pushed(e, own, gather, DEEPEST)]
        return factors

    def pushed(self, e: Expr, labels: Labels, gather: Factor, depth: int) -> list[Factor]:
        """The factors of ``e`` read where a gather says; of sums and functions of entries the operands are read."""
        table, (*sources, told) = gather
        if told not in labels:
            return [(e, labels)]
        if depth and isinstance(e, Product):
            name = dict(zip(e.out, labels, strict=True))
            for a, own in e.factors():
                for x, size in zip(own, a.shape, strict=True):
                    if x not in name:
                        name[x] = self.fresh(size)
            inner = [(a, tuple([name[x] for x in own])) for a, own in e.factors()]
            return [one for a, own in inner for one in self.pushed(a, own, gather, depth - 1)]
        if depth and isinstance(e, (Sum, Elementwise)):
            out = tuple(dict.fromkeys([*sources, *[x for x in labels if x != told]]))
            sizes = {x: self.search.written[x] for x in out}
            args = [
                a if not a.shape else product(self.pushed(a, labels, gather, depth - 1), out, sizes) for a in e.args
            ]
            return [(rebuild(e, tuple(args)), out)]
        new = self.fresh(self.search.written[told])
        return [(e, tuple([new if x == told else x for x in labels])), (table, (*sources, new))]

    def fresh(self, size: Size) -> int:
        return self.search.label(len(self.search.written), size)

    def apart(self, term: Term, to: dict[int, int]) -> dict[int, int]:
        """New names for a term: its sources as in the first one, other summed labels as nowhere else."""
        order = self.search.order
        others = {x for _, own in term.factors for x in own if x >= order and x not in to}
        return {**to, **{x: self.fresh(self.search.written[x]) for x in others}}
