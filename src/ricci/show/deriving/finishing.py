"""What is done with a line once nothing is left to differentiate: deltas are substituted, terms collected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from ricci.expr import Number
from ricci.notation import syntax
from ricci.show.deriving.differentiation import based, raised
from ricci.show.deriving.making import divided, everywhere, is_zero, opened, plus, signed_term, times
from ricci.show.deriving.own_brackets import is_own
from ricci.show.deriving.typed_trees import (
    Fresh,
    SummedTerm,
    bound_within,
    is_told_apart,
    key,
    matched,
    open_in,
    refreshed,
    renamed,
)
from ricci.show.phrases import number_of

MOST_TERMS = 24


def sizes_in(node: syntax.Node) -> dict[int, int]:
    """How many nodes each part of a tree has, by its identity."""
    order, waiting = [], [node]
    while waiting:
        part = waiting.pop()
        order.append(part)
        waiting += syntax.children(part)
    sizes: dict[int, int] = {}
    for part in reversed(order):
        sizes[id(part)] = 1 + sum(sizes[id(child)] for child in syntax.children(part))
    return sizes


# Deltas


def with_deltas_substituted(node: syntax.Node, fresh: Fresh) -> tuple[syntax.Node, list[tuple[str, str]]]:
    """Summed indices that a delta says to be another are written so; with the pairs."""
    pairs: list[tuple[str, str]] = []

    def change(part: syntax.Node) -> syntax.Node:
        while isinstance(part, SummedTerm) and part.sums:
            found = _substituted(part, pairs) or _opened_for_deltas(part, fresh)
            if found is None:
                break
            if not isinstance(found, SummedTerm):
                return everywhere(found, change)
            part = found
        return part

    before = None
    while before is not node:
        before, node = node, everywhere(node, change)
    return node, pairs


def _substituted(term: SummedTerm, pairs: list[tuple[str, str]]) -> syntax.Node | None:
    for at, (exponent, factor) in enumerate(term.factors):
        if not (isinstance(factor, syntax.Delta) and factor.sign == "==" and exponent > 0):
            continue
        a, b = factor.indices
        if not (a.plain and b.plain):
            continue
        a, b = a.terms[0][1], b.terms[0][1]
        for one, other in ((a, b), (b, a)):
            rest = [f for k, f in enumerate(term.factors) if k != at]
            waits = any(isinstance(part, syntax.Derivative) and one in open_in(part)
                        for _, f in rest for part in syntax.within(f))  # fmt: skip
            if one in term.sums and not waits and (one != other):
                pairs.append((one, other))
                new = [(e, renamed(f, {one: other})) for e, f in rest]
                if other not in term.sums and not any(other in open_in(f) for _, f in new):
                    index = next(i for i in factor.indices if i.terms[0][1] == other)
                    new.append((1, syntax.Ones(0, 0, (index,))))
                return times(new, [name for name in term.sums if name != one])
    return None


def _opened_for_deltas(term: SummedTerm, fresh: Fresh) -> syntax.Node | None:
    """A bracket in a product is multiplied out where a term of it has a delta with an index that is summed."""
    for at, (exponent, factor) in enumerate(term.factors):
        if exponent < 0 or not isinstance(factor, syntax.SumNode):
            continue
        if any(name in term.sums for delta in _deltas(factor) for name in open_in(delta)):
            return multiplied_out(term, at, fresh)
    return None


def _deltas(node: syntax.Node) -> Iterable[syntax.Delta]:
    for _, t in node.terms if isinstance(node, syntax.SumNode) else [(1, node)]:
        for _, f in opened(t)[1]:
            if isinstance(f, syntax.Delta) and all(i.plain for i in f.indices):
                yield f
            elif isinstance(f, syntax.SumNode):
                yield from _deltas(f)


def multiplied_out(term: SummedTerm, at: int, fresh: Fresh) -> syntax.Node:
    bracket = term.factors[at][1]
    assert isinstance(bracket, syntax.SumNode)
    wanted = open_in(bracket)
    made = []
    for k, (sign, inner) in enumerate(bracket.terms):
        have = open_in(inner)
        lacking = tuple(
            [syntax.Index(0, 0, ((1, n),), plain=True, height=h) for n, h in wanted.items() if n not in have]
        )
        lone = [(1, syntax.Ones(0, 0, lacking))] if lacking else []
        product = times([*term.factors[:at], *lone, (1, inner), *term.factors[at + 1 :]], term.sums)
        made.append((sign, refreshed(product, fresh) if k else product))
    return plus(made)


# Collecting


@dataclass
class Collector:
    """Says a line in named parts where it is shorter so, and takes common factors out of sums.

    ``names`` are definitions: a name, its indices, and its tree; ``own`` are the author's brackets, which are kept.
    """

    fresh: Fresh
    names: list[tuple[str, syntax.Indices, syntax.Node]]
    own: Sequence[syntax.Node]

    def multiplied(self, node: syntax.Node) -> syntax.Node:
        """Brackets multiplied out, but for those that the author has written."""

        def change(part: syntax.Node) -> syntax.Node:
            if not isinstance(part, SummedTerm):
                return part
            for at, (exponent, factor) in enumerate(part.factors):
                if exponent > 0 and isinstance(factor, syntax.SumNode) and not is_own(factor, self.own):
                    if len(factor.terms) > MOST_TERMS:
                        return part
                    found = multiplied_out(part, at, self.fresh)
                    return everywhere(found, change)
            return part

        return everywhere(node, change)

    def in_exact_names(self, node: syntax.Node) -> syntax.Node:
        """What is a definition, by its name."""
        lengths = {length for _, _, body in self.names for length in [sizes_in(body)[id(body)]]}
        sizes = sizes_in(node)

        def change(part: syntax.Node) -> syntax.Node:
            alike = isinstance(part, syntax.CallNode) and sizes.get(id(part), 0) in (*lengths, 0)
            return self._named(part) if alike else part

        return everywhere(node, change)

    def in_names(self, node: syntax.Node) -> syntax.Node:
        return everywhere(everywhere(node, combined), self._named)

    def _named(self, node: syntax.Node) -> syntax.Node:
        for name, indices, body in self.names:
            free = frozenset([i.terms[0][1] for i in indices])
            if isinstance(body, SummedTerm) and not body.sums and any(e < 0 for e, _ in body.factors):
                while isinstance(node, SummedTerm):
                    made = self._quotient(node, name, indices, body, free)
                    if made is None:
                        break
                    node = made
            found = matched(body, node, {}, free)
            if found is not None and len(found) == len(free):
                at = tuple([replace(i, terms=((1, found[i.terms[0][1]]),)) for i in indices])
                node = syntax.TensorNode(0, 0, name, at or None)
        return node

    def _quotient(
        self, node: SummedTerm, name: str, indices: syntax.Indices, body: SummedTerm, free: frozenset[str]
    ) -> syntax.Node | None:
        """A product where the factors of a quotient are its name."""
        first = next((at for at, (e, f) in enumerate(body.factors) if e > 0 and not isinstance(f, syntax.Number)), None)
        if first is None:
            return None
        for at, (exponent, factor) in enumerate(node.factors):
            if exponent < 0:
                continue
            found = matched(body.factors[first][1], factor, {}, free)
            if found is None or len(found) < len(free):
                continue
            powers = [(f, *(lambda b: (b[0], Fraction(b[1]) * e))(based(f))) for e, f in node.factors]
            left: list[tuple[int, syntax.Node]] | None = list(node.factors)
            left[at] = (1, syntax.TensorNode(0, 0, name, tuple(
                [replace(i, terms=((1, found[i.terms[0][1]]),)) for i in indices]) or None))  # fmt: skip
            for k, (e, f) in enumerate(body.factors):
                if k == first or (isinstance(f, syntax.Number) and f.value == 1):
                    continue
                base, power = based(renamed(f, found))
                power = Fraction(power) * e
                fits = [p * power > 0 and abs(p) >= abs(power) and key(b) == key(base) for _, b, p in powers]
                where = next((n for n, fit in enumerate(fits) if fit and n != at), None)
                if where is None:
                    left = None
                    break
                left[where] = (1, raised(base, powers[where][2] - power))
                powers[where] = (powers[where][0], base, powers[where][2] - power)
            if left is not None:
                return times(left, node.sums)
        return None

    def factored(self, node: syntax.Node) -> syntax.Node:
        return everywhere(everywhere(node, combined), self._factored)

    def _factored(self, node: syntax.Node) -> syntax.Node:
        if not isinstance(node, syntax.SumNode) or is_own(node, self.own):
            return node
        node = like_terms(node)
        if not isinstance(node, syntax.SumNode):
            return node
        parts = [(sign, *opened(term)) for sign, term in node.terms]
        if any(isinstance(f, syntax.Derivative) for _, _, factors, _ in parts for _, f in factors):
            return node
        common = self._common(parts)
        same = {abs(coef) for _, coef, _, _ in parts}
        number: Number = same.pop() if len(same) == 1 else 1
        if not common and number == 1:
            return node
        terms = []
        wanted = open_in(node)
        outside = {name for _, b, _ in common for name in open_in(b)}
        for sign, coef, factors, sums in parts:
            rest = _without(factors, common)
            lacking = [
                (n, h) for n, h in wanted.items() if n not in outside and not any(n in open_in(f) for _, f in rest)
            ]
            rest = [*_ones(lacking), *rest]
            terms.append((sign, signed_term(divided(coef, number), rest, sums)))
        inner = spread_evenly(plus(terms), outside, wanted)
        above = [(1, raised(b, p)) for _, b, p in common if p > 0]
        below = [(-1, raised(b, -p)) for _, b, p in common if p < 0]
        made = [*above, (1, inner), *below]
        return times([(1, number_of(number)), *made] if number != 1 else made)

    def _common(self, parts: list) -> list[tuple[object, syntax.Node, Fraction]]:
        """Bases that all terms have, with the smallest of their exponents."""
        tables = []
        for _, _, factors, sums in parts:
            table: dict[object, tuple[syntax.Node, Fraction]] = {}
            for e, f in factors:
                base, power = based(f)
                if isinstance(base, (syntax.Ones, syntax.Number)) or set(sums) & open_in(base).keys():
                    continue
                name = key(base)
                before = table.get(name, (base, Fraction(0)))[1]
                table[name] = (base, before + Fraction(power) * e)
            tables.append(table)
        found = []
        for name, (base, _) in tables[0].items():
            powers = [t[name][1] for t in tables if name in t]
            if len(powers) == len(tables) and min(powers) != 0:
                found.append((name, base, min(powers)))
        return found


def _ones(names: list[tuple[str, str]]) -> list[tuple[int, syntax.Node]]:
    indices = tuple([syntax.Index(0, 0, ((1, n),), plain=True, height=h) for n, h in names])
    return [(1, syntax.Ones(0, 0, indices))] if indices else []


def spread_evenly(node: syntax.Node, outside: set[str], wanted: dict[str, str]) -> syntax.Node:
    """A sum whose terms all have the same indices, or none: ones that all terms have are outside already."""
    if not isinstance(node, syntax.SumNode):
        return node
    have = [open_in(term) for _, term in node.terms]
    every = {name: height for own in have for name, height in own.items()}
    if all(set(own) in (set(), set(every)) for own in have):
        return node
    terms = []
    for (sign, term), own in zip(node.terms, have, strict=True):
        lacking = [(n, h) for n, h in every.items() if n not in own]
        terms.append((sign, times([*_ones(lacking), (1, term)]) if own and lacking else term))
    return plus(terms)


def _without(factors: list[tuple[int, syntax.Node]], common: list) -> list[tuple[int, syntax.Node]]:
    """The factors but for what is common to all terms."""
    left = {name: power for name, _, power in common}
    kept: list[tuple[int, syntax.Node]] = []
    for e, f in factors:
        base, power = based(f)
        name = key(base)
        if name not in left:
            kept.append((e, f))
            continue
        rest = Fraction(power) * e - left.pop(name)
        if rest:
            value = raised(base, abs(rest))
            kept.append((1 if rest > 0 else -1, value))
    return kept


def combined(node: syntax.Node) -> syntax.Node:
    """A product where powers of one base are one power: what stands above and below a bar cancels."""
    if not isinstance(node, SummedTerm):
        return node
    found: dict[object, list] = {}
    for e, f in node.factors:
        base, power = based(f)
        found.setdefault(key(base), []).append(
            (base, Fraction(power) * e if not isinstance(power, float) else power * e)
        )
    if all(len(same) == 1 for same in found.values()):
        return node
    made: list[tuple[int, syntax.Node]] = []
    for same in found.values():
        base = same[0][0]
        powers = [p for _, p in same]
        mixed = min(powers) < 0 < max(powers) or any(not isinstance(p, Fraction) or p.denominator > 1 for p in powers)
        free = not set(node.sums) & open_in(base).keys() and not isinstance(
            base, (syntax.Size, syntax.Delta, syntax.Ones)
        )
        if len(same) == 1 or not (mixed or (free and not bound_within(base)) or max(powers) < 0):
            made += [(1 if p > 0 else -1, raised(base, abs(p))) for p in powers]
            continue
        total = sum(powers)
        if total:
            made.append((1 if total > 0 else -1, raised(base, abs(total))))
        else:
            made += _ones(list(open_in(base).items()))
    return times(made, node.sums)


def monomials(node: syntax.Node) -> int:
    """How many terms there are if all brackets are multiplied out."""
    if isinstance(node, syntax.SumNode):
        return sum(monomials(term) for _, term in node.terms)
    if isinstance(node, syntax.ProductNode):
        return prod(monomials(f) for e, f in node.factors if e > 0)
    return monomials(node.body) if isinstance(node, syntax.Neg) else 1


def cancelled(node: syntax.Node) -> syntax.Node:
    """A product without what stands both above and below a bar."""
    if not isinstance(node, SummedTerm):
        return node
    above = {key(f): at for at, (e, f) in enumerate(node.factors) if e > 0}
    for at, (e, f) in enumerate(node.factors):
        other = above.get(key(f)) if e < 0 else None
        if other is not None:
            left = [factor for k, factor in enumerate(node.factors) if k not in (at, other)]
            lost = [(n, h) for n, h in open_in(f).items() if not any(n in open_in(g) for _, g in left)]
            return cancelled(times([*_ones(lost), *left], node.sums))
    return node


def like_terms(node: syntax.SumNode) -> syntax.Node:
    """Terms that differ by a number alone are one."""
    found: dict[object, list] = {}
    for sign, term in node.terms:
        coef, factors, sums = opened(term)
        rest = SummedTerm(0, 0, tuple(factors), sums)
        name = key(rest, None, True) if is_told_apart(rest) else ("alone", len(found))
        same = found.setdefault(name, [0, factors, sums])
        same[0] = same[0] + sign * coef
    if len(found) == len(node.terms):
        return node
    wanted = open_in(node)
    made = plus([(1, signed_term(c, f, s)) for c, f, s in found.values() if c != 0])
    return syntax.Zeros(0, 0, tuple(
        [syntax.Index(0, 0, ((1, n),), plain=True, height=h) for n, h in wanted.items()])
    ) if is_zero(made) and wanted else made  # fmt: skip
