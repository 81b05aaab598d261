"""A result taken apart: a sum of terms, each a number times structures times cores, with few numbers in them.

The Hessian of a network by its first weights is ``sum[b](M[b,j,l] x[b,i] x[b,k])``. As one array it has ``j l i k``
entries; as three cores under a sum that is not carried out it has ``b (j l + i)``, since both ``x`` are one array.
``V[j,k] V[j,l]`` on the other hand has fewer entries when it is carried out, if ``j`` is long. Which it is depends on
the sizes, so results are taken apart once those are known. Three moves lead from one form to another:

- *open* a contraction: its operands become factors, and the labels it sums over are summed in the term;
- *distribute* a sum: a term becomes several, in which deltas and outer products come to light;
- *group* factors: all that carry a summed label become one core, that sum carried out; a factor whose labels another
  one carries too is multiplied into it. A factor without labels stays: it is cheaper to multiply by it at the end.

Each contraction and each sum is tried both ways, within bounds, and the cheapest form is taken: the one with the fewest
numbers, those that are stored plus those that a product with a vector goes through. Structures hold none, but for a
gather, which holds its places.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from ricci.compiler.compressed.gathered import Frames
from ricci.compiler.compressed.linked_axes import LinkedAxes
from ricci.compiler.compressed.opened_functions import functions_opened
from ricci.compiler.compressed.parts_terms import Factor, Term, renamed
from ricci.compiler.lower.expressions import NAMED
from ricci.expr import (
    Constant,
    Data,
    Dim,
    Expr,
    Number,
    Product,
    Size,
    Structure,
    Sum,
    Variable,
    constant,
    product,
    zero,
)
from ricci.expr.dims import Atom, evaluate
from ricci.expr.numbers import number
from ricci.expr.structures import DELTA, delta

MOST_TERMS = 16
MOST_AT_ROOT = 256  # terms of a result that is a sum
MOST_FACTORS = 24
MOST_TRIES = 64
SMALL = 16  # a factor with fewer numbers than one in so many is left as it is
Group = tuple[int, ...]  # positions of factors


@dataclass(frozen=True)
class Parts:
    """A result taken apart, and the size of every label in it, as it is written and as a number."""

    order: int
    terms: tuple[Term, ...]
    sizes: dict[int, int]
    written: dict[int, Size]

    @property
    def cores(self) -> list[Expr]:
        """What holds numbers, each once, in the order of first use: factors, and the places of gathers."""
        factors = [e for term in self.terms for e, _ in term.factors]
        held = [e.args[0] if isinstance(e, Structure) and e.args else e for e in factors]
        return list(dict.fromkeys(e for e in held if not isinstance(e, Structure)))

    def holds_numbers(self, kinds: Mapping[Expr, str]) -> bool:
        """Whether the cores, given what they hold, let the entries have the type that they have as one array.

        Truth values that are multiplied or placed become numbers of the type of the inputs, and so do structures. The
        shell sees the cores alone, so one of them has to be such a number, unless one core is the whole result.
        """
        alone = self.terms[0].factors[0] if len(self.terms) == len(self.terms[0].factors) == 1 else None
        if alone is not None and self.terms[0].coef == 1 and alone[1] == tuple(range(self.order)):
            return alone[0] in kinds
        return any(kinds.get(e, "") in ("c", "f", "i") for term in self.terms for e, _ in term.factors)

    def with_a_number(self) -> Parts:
        """The same with the number 1, in the type of the inputs, as a further core."""
        first, *rest = self.terms
        unit: Factor = (constant(1), ())
        return replace(self, terms=(Term(first.coef, (*first.factors, unit)), *rest))


def take_apart(root: Expr, env: Mapping[Atom, int]) -> Parts:
    """The terms of ``root`` with the fewest numbers in their cores; factors that are not structures are the cores.

    Zero is no entry, and still has a core, since something has to carry the type.
    """
    search = _Search(root, env)
    best = search.best()
    opened = functions_opened(root, LinkedAxes(search.size))
    if opened is not root:
        other = _Search(opened, env)
        form = other.best()
        if 2 * other.cost(form)[0] < search.cost(best)[0]:
            search, best = other, form
    terms = sorted(map(search.finished, best), key=_for_reading) or [Term(0, ((constant(0), ()),))]
    return Parts(search.order, tuple(terms), search.sizes, search.written)


def settled(terms: list[Term], sizes: Mapping[int, int], order: int) -> list[Term]:
    """Terms at their sizes: at 0 or 1, say, a structure may have become a number, have fewer axes, or hold nowhere."""
    if all(isinstance(e, Variable) or _says_places(e) for term in terms for e, _ in term.factors):
        return terms
    search = _Search(zero(tuple([sizes[x] for x in range(order)])), {})
    search.sizes, search.written = dict(sizes), dict(sizes)
    found = [one for term in terms for one in search.flat(term.coef, term.factors)]
    return found or [replace(terms[0], coef=0)]


def _says_places(e: Expr) -> bool:
    return isinstance(e, Structure) and e.relation[0] in ("==", ">=", "at")


def _for_reading(term: Term) -> tuple:
    """Terms with structures go first, and short ones."""
    cores = [labels for e, labels in term.factors if not isinstance(e, Structure)]
    return len(cores) - len(term.factors), len(cores), cores


class _Search:
    """The forms of one result, and what they cost at the sizes of the call."""

    def __init__(self, root: Expr, env: Mapping[Atom, int]):
        self.root, self.env, self.order = root, env, len(root.shape)
        self.sizes: dict[int, int] = {}
        self.written: dict[int, Size] = {}
        self.tries = self.least = 0  # numbers of a term that matters
        self._groupings: dict[Term, Grouping] = {}
        for axis, size in enumerate(root.shape):
            self.label(axis, size)

    def label(self, label: int, size: Size) -> int:
        self.written.setdefault(label, size)
        self.sizes.setdefault(label, self.size(size))
        return label

    def size(self, size: Size) -> int:
        return size if isinstance(size, int) else evaluate(size, self.env)

    def grouping(self, term: Term) -> Grouping:
        found = self._groupings.get(term)
        if found is None:
            found = self._groupings[term] = Grouping(term, self.order, self.sizes)
        return found

    def finished(self, term: Term) -> Term:
        """The term with its groups as factors: structures first, and all in the order of their axes."""

        def place(factor: Factor) -> tuple:
            e, labels = factor
            return not isinstance(e, Structure), [x for x in labels if x < self.order], labels, e.key

        return Term(term.coef, tuple(sorted(self.grouping(term).cores(), key=place)))

    def cost(self, terms: list[Term]) -> tuple[int, int]:
        """The numbers stored and gone through, those of equal cores once; of forms with as many, the length."""
        groupings = [self.grouping(term) for term in terms]
        counts = {what: count for grouping in groupings for what, count in grouping.counts.items()}
        return sum(counts.values()), len(terms) + sum(len(grouping.groups) for grouping in groupings)

    def best(self) -> list[Term]:
        """The cheapest form of the root that was found."""
        terms = self.flat(1, [(self.root, tuple(range(self.order)))])
        framed = Frames(self, self.root).terms()
        if framed is not None and 2 * self.cost(framed)[0] < self.cost(terms)[0]:
            framed = self.refined(framed) if len(framed) <= MOST_AT_ROOT else framed
            if not any(map(self.contracts, framed)):
                return framed
        found = self.refined(terms)
        return found if framed is None or self.cost(found) < self.cost(framed) else framed

    def contracts(self, term: Term) -> bool:
        """Whether something is summed over in a term that structures do not tell."""
        told = {x for e, labels in term.factors if isinstance(e, Structure) for x in labels}
        return any(x >= self.order and x not in told for _, labels in term.factors for x in labels)

    def refined(self, terms: list[Term]) -> list[Term]:
        """The terms taken apart, the large ones first: what is small beside the rest waits until that is small too."""
        while True:
            cost = self.cost(terms)
            self.least, self.tries = cost[0] // SMALL, 0
            found = [best for term in terms for best in self.best_of(term, frozenset())]
            if self.cost(found) >= cost or cost[0] < SMALL:
                return found if self.cost(found) < cost else terms
            terms = found

    def best_of(self, term: Term, whole: frozenset[Expr]) -> list[Term]:
        """The cheapest form that was found of a term, the factors ``whole`` staying as they are.

        Factors are taken apart one at a time, the largest first; those that are small beside the rest do not matter.
        """
        cost = self.cost([term])
        if cost[0] < self.least:
            return [term]
        places = [(-math.prod([self.sizes[x] for x in labels]), p) for p, (_, labels) in enumerate(term.factors)]
        for entries, at in sorted(places):
            e = term.factors[at][0]
            if e in whole or not _comes_apart(e) or -entries * SMALL < cost[0] or self.tries >= MOST_TRIES:
                continue
            self.tries += 1
            found = self.apart(term, at, whole, cost)
            if found is not None:
                return found
            whole |= {e}
        return [term]

    def apart(self, term: Term, at: int, whole: frozenset[Expr], cost: tuple[int, int]) -> list[Term] | None:
        """The best form of a term with one factor taken apart; None where it is not below the cost."""
        opens = isinstance(term.factors[at][0], Product)
        terms = self.opened(term, at) if opens else self.distributed(term, at)
        most = MOST_TERMS if opens or len(term.factors) > 1 else MOST_AT_ROOT
        if len(terms) > most or any(len(t.factors) > MOST_FACTORS for t in terms):
            return None
        found: list[Term] = []
        for t in terms:
            found += self.best_of(t, whole)
            if self.cost(found) >= cost:
                return None
        return found

    def opened(self, term: Term, at: int) -> list[Term]:
        e, labels = term.factors[at]
        assert isinstance(e, Product)
        name = dict(zip(e.out, labels, strict=True))
        inner: list[Factor] = []
        for a, own in e.factors():
            for x, size in zip(own, a.shape, strict=True):
                if x not in name:
                    name[x] = self.label(len(self.sizes), size)
            inner.append((a, tuple([name[x] for x in own])))
        return self.flat(term.coef, [*term.factors[:at], *inner, *term.factors[at + 1 :]])

    def distributed(self, term: Term, at: int) -> list[Term]:
        e, labels = term.factors[at]
        assert isinstance(e, Sum)
        before, after = term.factors[:at], term.factors[at + 1 :]
        pairs = zip(e.coefs, e.args, strict=True)
        return [t for c, a in pairs for t in self.flat(term.coef * c, [*before, (a, labels), *after])]

    def flat(self, coef: Number, factors: Sequence[Factor]) -> list[Term]:
        """The term with products that sum over nothing opened, numbers collected and deltas followed; none if zero."""
        kept: list[Factor] = []
        same: dict[int, int] = {}
        seen: set[int] = set()
        waiting = list(reversed(factors))
        while waiting:
            e, labels = waiting.pop()
            seen.update(labels)
            if isinstance(e, Product) and not e.sums:
                waiting += [(a, tuple([labels[axis] for axis in own])) for a, own in e.factors()]
            elif isinstance(e, Sum) and len(e.args) == 1:
                coef = coef * e.coefs[0]
                waiting.append((e.args[0], labels))
            elif isinstance(e, Constant) and not isinstance(e.value, Data):
                coef = coef * self.value(e)
            elif isinstance(e, Structure) and e.relation == DELTA and self.size(e.shape[0]) == self.size(e.shape[1]):
                _unite(same, *labels)
            elif not isinstance(e, Structure) or e.relation[0] not in ("one", "zero"):
                kept.append((e, labels))
            elif e.relation[0] == "zero":
                coef = 0
        first = {x: _first(same, x) for x in seen}
        pairs = [(first[x], x) for x in sorted(same) if x < self.order and self.sizes[x] != 1]
        deltas = [(delta(self.written[x]), (y, x)) for y, x in pairs if x != y]
        result = (*renamed(kept, first), *deltas)
        alone = set(first.values()) - {x for _, labels in result for x in labels}
        coef = number(coef * math.prod([self.sizes[x] for x in alone if x >= self.order]))
        return [Term(coef, result)] if coef != 0 else []

    def value(self, e: Constant) -> Number:
        if isinstance(e.value, Dim):
            return self.size(e.value)
        return NAMED[e.value] if isinstance(e.value, str) else e.value


class Grouping:
    """The factors of a term in groups, each of which becomes one core. Sets of labels are the bits of a number here."""

    def __init__(self, term: Term, order: int, sizes: Mapping[int, int]):
        self.factors, self.sizes = term.factors, sizes
        self.axes = (1 << order) - 1
        self.own = [_bits(labels) for _, labels in term.factors]
        self.groups = self.absorbed([(p,) for p in range(len(term.factors))])
        self.counts = self.counted(self.groups)
        while True:
            forms = [self.absorbed(joined) for joined in self.carried_out()]
            counts = [self.counted(form) for form in forms]
            best = min(range(len(forms)), key=lambda k: sum(counts[k].values()), default=None)
            if best is None or sum(counts[best].values()) > sum(self.counts.values()):
                break
            self.groups, self.counts = forms[best], counts[best]

    def entries(self, bits: int) -> int:
        return math.prod([self.sizes[x] for x in _labels(bits)])

    def carried(self, groups: Sequence[Group]) -> list[int]:
        return [reduce(or_, [self.own[p] for p in group]) for group in groups]

    def outside(self, groups: Sequence[Group]) -> list[int]:
        """The labels of each group that are axes of the result, or carried by another group too."""
        carried = self.carried(groups)
        kept = self.axes | _in_several(carried, 1)
        return [bits & kept for bits in carried]

    def is_core(self, group: Group) -> bool:
        first, *more = group
        return bool(more) or not isinstance(self.factors[first][0], Structure)

    def counted(self, groups: Sequence[Group]) -> dict[tuple, int]:
        """What is stored for each group, and what a product with a vector goes through; equal things have equal keys.

        That is the entries of a core, for each index of those summed labels that more than two cores have.
        """
        counts: dict[tuple, int] = {}
        cores: list[tuple[tuple, int]] = []
        for group, bits in zip(groups, self.outside(groups), strict=True):
            e, labels = self.factors[group[0]]
            if self.is_core(group):
                cores.append((self.signature(group, bits), bits))
                counts[cores[-1][0]] = self.entries(bits)
            elif e.args:
                counts[(e.args[0],)] = self.entries(_bits(labels[:-1]))
        batch = _in_several([bits for _, bits in cores], 2) & ~self.axes
        for what, bits in cores:
            counts[(what, bits | batch)] = self.entries(bits | batch)
        return counts

    def signature(self, group: Group, outside: int) -> tuple:
        """What a group computes; the same for groups that differ in the names of their labels only."""
        if len(group) == 1 and self.own[group[0]] == outside:
            e, labels = self.factors[group[0]]
            if len(labels) == outside.bit_count():
                return (e,)
        place: dict[int, int] = {}
        factors = sorted([self.factors[p] for p in group], key=lambda f: (f[0].key, f[1]))
        named = [(e, tuple([place.setdefault(x, len(place)) for x in labels])) for e, labels in factors]
        return (*named, tuple(sorted(place[x] for x in _labels(outside))))

    def carried_out(self) -> Iterable[list[Group]]:
        """For each summed label, the groups with all that carry it made one."""
        carried = self.carried(self.groups)
        for label in _labels(_in_several(carried, 1) & ~self.axes):
            yield _merged(self.groups, [k for k, bits in enumerate(carried) if bits >> label & 1])

    def absorbed(self, groups: list[Group]) -> list[Group]:
        """Groups multiplied into others that have all of their labels, unless those are used elsewhere as they are."""
        while True:
            outside = self.outside(groups)
            cores = [k for k, group in enumerate(groups) if self.is_core(group)]
            named = [self.signature(groups[k], outside[k]) for k in cores]
            into = [k for k, what in zip(cores, named, strict=True) if named.count(what) == 1]
            pairs = [(a, b) for a in cores for b in into if a != b and outside[a] and not outside[a] & ~outside[b]]
            if not pairs:
                return groups
            groups = _merged(groups, min(pairs, key=lambda pair: self.entries(outside[pair[1]])))

    def cores(self) -> list[Factor]:
        """Each group as one factor; the labels that are summed come first."""
        result = []
        for group, bits in zip(self.groups, self.outside(self.groups), strict=True):
            e, labels = self.factors[group[0]]
            if len(group) > 1 or not (isinstance(e, Structure) or sorted(labels) == _labels(bits)):
                labels = (*_labels(bits & ~self.axes), *_labels(bits & self.axes))
                e = product([self.factors[p] for p in group], labels)
            result.append((e, labels))
        return result


def _bits(labels: Iterable[int]) -> int:
    bits = 0
    for x in labels:
        bits |= 1 << x
    return bits


def _labels(bits: int) -> list[int]:
    found = []
    while bits:
        found.append((bits & -bits).bit_length() - 1)
        bits &= bits - 1
    return found


def _in_several(sets: Iterable[int], number: int) -> int:
    """The labels that more than ``number`` sets have."""
    more = [0] * (number + 1)
    for bits in sets:
        for k in range(number, 0, -1):
            more[k] |= more[k - 1] & bits
        more[0] |= bits
    return more[number]


def _comes_apart(e: Expr) -> bool:
    """Whether a factor is a contraction, or a sum in which something may come to light."""
    return isinstance(e, Product) or (isinstance(e, Sum) and any(isinstance(a, (Product, Structure)) for a in e.args))


def _unite(same: dict[int, int], a: int, b: int) -> None:
    a, b = _first(same, a), _first(same, b)
    same.setdefault(min(a, b), min(a, b))
    same[max(a, b)] = min(a, b)


def _first(same: dict[int, int], label: int) -> int:
    while same.get(label, label) != label:
        label = same[label]
    return label


def _merged(groups: list[Group], places: Sequence[int]) -> list[Group]:
    together = tuple([p for k in places for p in groups[k]])
    return [*[g for k, g in enumerate(groups) if k not in places], together]
