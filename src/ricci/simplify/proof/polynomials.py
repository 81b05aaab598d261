"""Polynomials in tensors: the normal form in which two expressions are proved equal.

An expression is a sum of *monomials*: a rational coefficient times factors ``head[labels] ** exponent``, nothing being
summed inside. A head is an expression that is not taken apart: an input, a function of something in normal form, or one
of two that are:

- a *contraction*, factors linked by labels that are summed over. It is opened where a sum over one of its own labels
  is taken, and closed again with what it is then linked to;
- a *sum*, under a power that is not a whole positive number. In ``S**e`` the sum has no factor in common, and one of
  its monomials leads: where it is a factor beside a negative power it is replaced by the sum minus the others, so
  quotients come to one form, term by term, also where labels are summed over.

This is a form for proving, not for evaluating: everything is distributed, within bounds. Past them, :class:`TooLong`
is raised, and nothing is proved. Heads are put together by the constructors of the core, which know the symmetries of
products; where they miss one, a proof is missed, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations
from itertools import product as pairs
from math import isfinite
from typing import Any

from ricci.budget import spend
from ricci.caches import cached
from ricci.expr import Constant, Expr, Function, Product, Size, Structure, add, constant, power, product, zero
from ricci.expr.structures import is_delta

Label = Hashable
Sizes = Mapping[Any, Size]  # of labels
Factor = tuple[Expr, tuple[Label, ...]]
Mono = tuple[tuple[Factor, Fraction], ...]  # sorted
Poly = dict[Mono, Fraction]
Replaced = list[tuple[Poly, set[Label]]]  # terms to be summed over, and the labels that these no longer have
UNIT: Mono = ()
SINGLE = "·"  # the label of every axis of size 1: it has one place, and summing over it does nothing
MOST_TERMS = 400
MOST_WORK = 20_000  # terms that are looked at
LARGEST_POWER = 6


class TooLong(Exception):
    """A normal form would be longer than what is worth it."""


def mono(factors: Mapping[Factor, Fraction]) -> Mono:
    kept = [(_turned(factor), Fraction(e)) for factor, e in factors.items() if e]
    return tuple(sorted(kept, key=lambda item: (item[0][0].key, repr(item[0][1]), item[1])))


def _turned(factor: Factor) -> Factor:
    """A factor with one label for all axes of size 1, and the labels of a symmetric matrix in order."""
    head, labels = factor
    if 1 in head.shape:
        labels = tuple([SINGLE if size == 1 else x for x, size in zip(labels, head.shape, strict=True)])
    return head, tuple(sorted(labels, key=repr)) if len(labels) == 2 and mirrors(head) else labels


@cached("symmetric matrices", 1024)
def mirrors(head: Expr) -> bool:
    """Whether a matrix is its own transpose, as the core has it; its inverse is then too."""
    inner = head.args[0] if isinstance(head, Function) and head.op.name == "inv" else head
    factors, out = ([*inner.factors()], inner.out) if isinstance(inner, Product) else ([(inner, (0, 1))], (0, 1))
    return is_delta(head) or product(factors, out[::-1], dict(zip(out, inner.shape, strict=True))) is inner


def plain(head: Expr, labels: Sequence[Label], exponent: int | Fraction = 1) -> Poly:
    return {mono({(head, tuple(labels)): Fraction(exponent)}): Fraction(1)}


def number(value: int | float | Fraction) -> Poly:
    """A number; of a float what 15 digits say, since decimals are written and rounded."""
    if isinstance(value, float):
        if not isfinite(value):
            raise TooLong
        value = Fraction(f"{value:.15g}")
    return {UNIT: Fraction(value)} if value else {}


def total(parts: Iterable[tuple[Fraction | int, Poly]]) -> Poly:
    result: Poly = {}
    for coef, poly in parts:
        for m, c in poly.items():
            result[m] = result.get(m, Fraction(0)) + coef * c
            if not result[m]:
                del result[m]
    return result


def relabelled(poly: Poly, name: Mapping[Label, Label]) -> Poly:
    def factor(f: Factor) -> Factor:
        return f[0], tuple([name.get(x, x) for x in f[1]])

    return total([(c, {_merged([(factor(f), e) for f, e in m]): Fraction(1)}) for m, c in poly.items()])


def _merged(items: Iterable[tuple[Factor, Fraction]]) -> Mono:
    exponents: dict[Factor, Fraction] = {}
    for factor, e in items:
        exponents[factor] = exponents.get(factor, Fraction(0)) + e
    return mono(exponents)


def labels_of(poly: Poly) -> list[Label]:
    return sorted({x for m in poly for (_, labels), _ in m for x in labels if x != SINGLE}, key=repr)


class Algebra:
    """Polynomials with what is known of their heads."""

    def __init__(self) -> None:
        self.sums: dict[Expr, Poly] = {}  # heads that are sums, and these, over the labels 0, 1, …
        self.leads: dict[Expr, tuple[Mono, Fraction] | None] = {}
        self.inner: dict[Expr, list[tuple[Factor, Fraction]]] = {}  # contractions, summed labels being tuples
        self.rules: dict[Expr, Callable[[Factor, Fraction], Poly | None]] = {}  # what a power of a head becomes
        self.meets: dict[Expr, Callable[[Mono, Factor], Poly | None]] = {}  # what a monomial with it becomes
        self.names: dict[Size, Size] = {}  # for sizes that agree, the one that stands for them
        self.work = 0
        self.fresh = 0

    def tick(self, terms: int = 1) -> None:
        """Count the work of a step; a form that grows past the bounds is given up."""
        self.work += terms
        spend(terms)
        if self.work > MOST_WORK or terms > MOST_TERMS:
            raise TooLong

    def named(self, size: Size) -> Size:
        """One name for sizes that are known to agree."""
        return size

    # Products and powers

    def times(self, one: Poly, other: Poly) -> Poly:
        self.tick(len(one) * len(other))
        parts = []
        for (m, c), (n, d) in pairs(one.items(), other.items()):
            parts.append((c * d, self.reduced(_merged([*m, *n]))))
        return total(parts)

    def product(self, polys: Iterable[Poly]) -> Poly:
        result = number(1)
        for poly in polys:
            result = self.times(result, poly)
        return result

    def reduced(self, start: Mono) -> Poly:
        """A monomial with merged exponents by the rules of its heads."""
        done: Poly = {}
        waiting: list[tuple[Fraction, Mono]] = [(Fraction(1), start)]
        while waiting:
            self.tick()
            if len(waiting) + len(done) > MOST_TERMS:
                raise TooLong
            coef, m = waiting.pop()
            new = next((p for p in (self._step(m, factor, e) for factor, e in m) if p is not None), None)
            if new is None:
                done = total([(1, done), (coef, {m: Fraction(1)})])
            else:
                waiting += [(coef * c, n) for n, c in new.items()]
        return done

    def _step(self, m: Mono, factor: Factor, e: Fraction) -> Poly | None:
        head = factor[0]
        rest = tuple([item for item in m if item[0] != factor])
        if is_delta(head) and e > 0:
            a, b = factor[1]
            if a == b:
                return {rest: Fraction(1)}
            if any(b in labels for (_, labels), _ in rest):
                return self._joined(mono({factor: e}), relabelled({rest: Fraction(1)}, {b: a}))
        if isinstance(head, Constant) and isinstance(head.value, int) and not 0 <= e < 1:
            whole = e.numerator // e.denominator
            return {_merged([*rest, (factor, e - whole)]): Fraction(head.value) ** whole}
        if isinstance(head, Structure) and e > 0 and e != 1:
            return self._joined(rest, plain(*factor))  # a structure is 0 or 1
        if head in self.rules:
            new = self.rules[head](factor, e)
            if new is not None:
                return self._joined(rest, new)
        if head in self.sums:
            whole = e.numerator // e.denominator
            if whole > 0:
                if whole > LARGEST_POWER:
                    raise TooLong
                opened = self._of_head(self.sums[head], factor)
                return self._joined(mono(dict([*rest, (factor, e - 1)])), opened)
            if whole < 0:
                return self._divided(rest, factor, e)
        if head in self.meets:
            return self.meets[head](m, factor)
        return None

    @staticmethod
    def _joined(rest: Mono, poly: Poly) -> Poly:
        return total([(c, {_merged([*rest, *n]): Fraction(1)}) for n, c in poly.items()])

    @staticmethod
    def _of_head(poly: Poly, factor: Factor) -> Poly:
        return relabelled(poly, dict(enumerate(factor[1])))

    def _divided(self, rest: Mono, factor: Factor, e: Fraction) -> Poly | None:
        """``lead · S**e`` as ``S**(e+1)`` minus the other terms of ``S`` times ``S**e``."""
        lead = self._lead(factor[0])
        if lead is None:
            return None
        (own,) = self._of_head({lead[0]: Fraction(1)}, factor)
        have = dict(rest)
        if len(own) == 1 and len(self.sums[factor[0]]) == 2 and have.get(own[0][0], Fraction(0)) < 0:
            return self._apart(rest, factor, e)
        if any(have.get(f, Fraction(0)) < k for f, k in own):
            return None
        quotient = _merged([*rest, *[(f, -k) for f, k in own]])
        others = {m: c for m, c in self.sums[factor[0]].items() if m != lead[0]}
        less = self._joined(_merged([*quotient, (factor, e)]), self._of_head(others, factor))
        return total([(1 / lead[1], {_merged([*quotient, (factor, e + 1)]): Fraction(1)}), (-1 / lead[1], less)])

    def _apart(self, rest: Mono, factor: Factor, e: Fraction) -> Poly:
        """Partial fractions: ``S**e / lead`` with ``S = lead + t`` as ``S**(e+1) / (lead t)`` minus ``S**e / t``."""
        lead = self._lead(factor[0])
        assert lead is not None
        ((other, c),) = self._of_head({m: c for m, c in self.sums[factor[0]].items() if m != lead[0]}, factor).items()
        inverse = [(f, -k) for f, k in other]
        (own,) = self._of_head({lead[0]: Fraction(1)}, factor)
        more = {_merged([*rest, *inverse, (factor, e + 1)]): 1 / c}
        return total([(1, more), (-lead[1] / c, {_merged([*rest, *inverse, *own, (factor, e)]): Fraction(1)})])

    def cleared(self, poly: Poly) -> Poly:
        """``poly`` times powers of its factors, so that none of them is in a denominator."""
        least: dict[Factor, Fraction] = {}
        for m in poly:
            for factor, e in m:
                least[factor] = min(least.get(factor, Fraction(0)), e)
        return self.times(poly, {mono({f: -e for f, e in least.items()}): Fraction(1)}) if poly else poly

    def _lead(self, head: Expr) -> tuple[Mono, Fraction] | None:
        if head not in self.leads:
            fit = [(m, c) for m, c in self.sums[head].items() if m and all(e > 0 for _, e in m)]
            self.leads[head] = max(fit, key=lambda item: (sum(e for _, e in item[0]), repr(item[0])), default=None)
        return self.leads[head]

    # Heads. Labels are brought to 0, 1, … in the order that gives the least key.

    @staticmethod
    def arranged(labels: Sequence[Label], build: Callable[[tuple[Label, ...]], Expr]) -> Factor:
        """What ``build`` makes of the labels in some order, by the one that gives the least key."""
        orders = permutations(labels) if len(labels) <= 3 else [tuple(labels)]
        return min(((build(order), order) for order in orders), key=lambda f: (_only_moves(f[0]), f[0].key, repr(f[1])))

    def expr(self, poly: Poly, order: Sequence[Label], sizes: Sizes) -> Expr:
        """A polynomial as an expression with the axes ``order``."""
        if not poly:
            return zero(tuple([sizes[x] for x in order]))
        self.tick(len(poly))
        terms = []
        for m, c in poly.items():
            factors = [(power(head, exact(e)), labels) for (head, labels), e in m]
            terms.append((exact(c), product(factors, order, {x: sizes[x] for x in order})))
        return add(terms)

    def sizes_of(self, poly: Poly) -> dict[Label, Size]:
        return {x: n for m in poly for (h, ls), _ in m for x, n in zip(ls, h.shape, strict=True)}

    def whole(self, poly: Poly, order: Sequence[Label]) -> Expr:
        return self.expr(poly, order, self.sizes_of(poly))

    # Sums over labels

    def summed(self, poly: Poly, sizes: Sizes) -> Poly:
        """The sum over the labels ``sizes``, which are those of a product or a function and nowhere else."""
        self.fresh += 1
        name = {x: ("sum", self.fresh, repr(x)) for x in sizes}
        over = {name[x]: size for x, size in sizes.items()}
        return total([(c, self._closed(m, over)) for m, c in relabelled(poly, name).items()])

    def count(self, size: Size) -> Poly:
        size = self.named(size)
        return number(size) if isinstance(size, int) else plain(constant(size), ())

    def _closed(self, m: Mono, over: Sizes) -> Poly:
        self.tick()
        items, over = self._opened(list(m), dict(over))
        items = _without_deltas(items, over)
        new = self.linked(items, over)
        if new is not None:
            parts = [
                (c, n, {x: size for x, size in over.items() if x not in gone})
                for poly, gone in new
                for n, c in poly.items()
            ]
            return total([(c, self._closed(n, rest)) for c, n, rest in parts])
        carried = {x for (_, labels), _ in items for x in labels}
        result = number(1)
        for x, size in over.items():
            if x not in carried:
                result = self.times(result, self.count(size))
        free, groups = _components(items, over)
        result = self.times(result, self.reduced(_merged(free)))
        for group in groups:
            result = self.times(result, self._contraction(group, over))
        return result

    def linked(self, items: list[tuple[Factor, Fraction]], over: Sizes) -> Replaced | None:
        """What factors linked by summed labels become by a rule of their own, if there is one."""
        return None

    def _opened(self, items: list, over: dict[Label, Size]) -> tuple[list, dict[Label, Size]]:
        """Contractions that carry a summed label taken apart, each with summed labels of its own."""
        done = []
        while items:
            self.tick(len(items))
            (head, labels), e = items.pop()
            if head not in self.inner or over.keys().isdisjoint(labels) or e.denominator != 1 or not 0 < e <= 3:
                done.append(((head, labels), e))
                continue
            for _ in range(int(e)):
                self.fresh += 1
                name: dict[Label, Label] = {SINGLE: SINGLE, **dict(enumerate(labels))}
                for (inner, own), k in self.inner[head]:
                    for x, size in zip(own, inner.shape, strict=True):
                        if isinstance(x, tuple):
                            name[x] = ("sum", self.fresh, repr(x))
                            over[name[x]] = size
                    items.append(((inner, tuple([name[x] for x in own])), k))
        merged: dict[Factor, Fraction] = {}
        for factor, e in done:
            merged[factor] = merged.get(factor, Fraction(0)) + e
        return list(merged.items()), over

    def _contraction(self, items: list[tuple[Factor, Fraction]], over: Sizes) -> Poly:
        """Factors that summed labels link, as one head."""
        free = sorted({x for (_, labels), _ in items for x in labels if x not in over and x != SINGLE}, key=repr)

        def build(order: tuple[Label, ...]) -> Expr:
            return product([(power(h, exact(e)), ls) for (h, ls), e in items], order)

        head, order = self.arranged(free, build)
        if isinstance(head, Constant) and isinstance(head.value, (int, Fraction)):
            return number(head.value)
        place = {x: k for k, x in enumerate(order)}
        named = {x: ("in", k) for k, x in enumerate(over)}
        both: dict[Label, Label] = {**place, **named, SINGLE: SINGLE}
        self.inner.setdefault(head, [((h, tuple([both[x] for x in ls])), e) for (h, ls), e in items])
        return plain(head, order)


def _only_moves(e: Expr) -> bool:
    """Whether a node only arranges the axes of another."""
    return isinstance(e, Product) and len(e.args) == 1 and not e.sums


def exact(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


def _without_deltas(items: list, over: dict[Label, Size]) -> list:
    """Deltas rename the labels that are summed over; those that hold one label are gone."""
    while True:
        found = next(
            (f for f in items if is_delta(f[0][0]) and (over.keys() & set(f[0][1]) or len(set(f[0][1])) < 2)), None
        )
        if found is None:
            return items
        a, b = found[0][1]
        gone, kept = (a, b) if a in over else (b, a)
        items = [f for f in items if f is not found]
        if gone != kept:
            del over[gone]
            merged: dict[Factor, Fraction] = {}
            for (head, labels), e in items:
                factor = head, tuple([kept if x == gone else x for x in labels])
                merged[factor] = merged.get(factor, Fraction(0)) + e
            items = list(merged.items())


def _components(items: list, over: Sizes) -> tuple[list, list[list]]:
    """The factors without summed labels, and the others in groups that summed labels link."""
    free, groups = [], []
    for item in items:
        own = {x for x in item[0][1] if x in over}
        if not own:
            free.append(item)
            continue
        joined = [g for g in groups if g[0] & own]
        groups = [g for g in groups if not g[0] & own]
        groups.append((own.union(*[g[0] for g in joined]), [item, *[i for g in joined for i in g[1]]]))
    return free, [items for _, items in groups]
