"""Which entries of a tensor are zero, and which are the same number, read off its structure without any values.

Every entry is worked out as a number times atoms: an atom is an entry of something that is not looked into, such as
``core[1,2]``, or a sum of such products. An entry is zero where a structure says so, and two entries are the same where
they come to the same product. What is not looked into may be zero too; so *zero* is certain, *other* is possible.

Structures and arrays that are known are read entry by entry, products and sums are opened, and a contraction is opened
where a structure is under its sum: the Jacobian of a convolution is a band, and each of its diagonals is one number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import product as combinations
from math import prod
from typing import Any, NamedTuple

from ricci.budget import spend
from ricci.expr import Constant, Dim, Expr, Function, Number, Product, Size, Structure, Sum, Variable, topological
from ricci.expr.alternating import is_levi_civita, parity
from ricci.expr.structures import holds, is_one, turning

DEEPEST = 40  # expressions in one another that are opened
MOST_PLACES = 128  # under the sums of one contraction that is opened
Index = tuple[int, ...]
Factor = tuple[Expr, tuple[Hashable, ...]]


class KnownEntry(NamedTuple):
    """A number times atoms, each known by its number; ``open`` where data decides, as in a gather, whether it is 0."""

    coef: Number
    atoms: tuple[int, ...] = ()
    open: bool = False


NOTHING = KnownEntry(0)


class KnownEntries:
    """The entries of expressions whose sizes are given; equal atoms have the same number in all of them."""

    def __init__(self, size: Callable[[Size], int]):
        self.size = size
        self.number: dict[Hashable, int] = {}
        self.known: dict[tuple[Expr, Index], KnownEntry] = {}
        self.sparse: dict[Expr, bool] = {}
        self.depth = 0

    def term(self, coef: Number, factors: Sequence[Factor], at: Mapping[Hashable, int]) -> KnownEntry:
        """An entry of a product of factors; labels that have no place yet are summed over."""
        sizes = {x: s for e, labels in factors for x, s in zip(labels, e.shape, strict=True) if x not in at}
        summed = [range(self.size(s)) for s in sizes.values()]
        if prod(map(len, summed)) > MOST_PLACES:
            return self._closed(coef, factors, at)
        places = ({**at, **dict(zip(sizes, place, strict=True))} for place in combinations(*summed))
        return self._added([(coef, self._product(factors, place)) for place in places])

    def _closed(self, coef: Number, factors: Sequence[Factor], at: Mapping[Hashable, int]) -> KnownEntry:
        """An entry of a product whose sums are not carried out: only factors outside of them can make it zero."""
        outside = [(e, labels) for e, labels in factors if all(x in at for x in labels)]
        inside = tuple(
            [(e, tuple([at.get(x, x) for x in labels])) for e, labels in factors if (e, labels) not in outside]
        )
        entry = self._product(outside, at)
        atoms = tuple(sorted([*entry.atoms, self._atom(("sum over", inside))]))
        return NOTHING if entry.coef == 0 else KnownEntry(coef * entry.coef, atoms, entry.open)

    def _product(self, factors: Sequence[Factor], at: Mapping[Hashable, int]) -> KnownEntry:
        coef, atoms, undecided = 1, [], False
        for e, labels in factors:
            entry = self.of(e, tuple([at[x] for x in labels]))
            if entry.coef == 0:
                return NOTHING
            coef, undecided = coef * entry.coef, undecided or entry.open
            atoms += entry.atoms
        return KnownEntry(coef, tuple(sorted(atoms)), undecided)

    def _added(self, terms: Sequence[tuple[Number, KnownEntry]]) -> KnownEntry:
        total: dict[tuple[int, ...], Number] = {}
        for c, entry in terms:
            if entry.coef != 0:
                total[entry.atoms] = total.get(entry.atoms, 0) + c * entry.coef
        left = sorted((atoms, c) for atoms, c in total.items() if c != 0)
        undecided = any(entry.open for _, entry in terms if entry.coef != 0)
        if len(left) < 2:
            return KnownEntry(left[0][1], left[0][0], undecided) if left else NOTHING
        return KnownEntry(1, (self._atom(("sum", *left)),), undecided)

    def _atom(self, what: Hashable) -> int:
        return self.number.setdefault(what, len(self.number))

    def of(self, e: Expr, index: Index) -> KnownEntry:
        """One entry of an expression."""
        key = e, index
        found = self.known.get(key)
        if found is None:
            spend()
            self.depth += 1
            found = self.known[key] = self._entry(e, index) if self.depth < DEEPEST else self._whole(e, index)
            self.depth -= 1
        return found

    def _entry(self, e: Expr, index: Index) -> KnownEntry:
        if isinstance(e, Structure):
            return self._placed(e, index)
        if isinstance(e, Constant):
            return self._constant(e, index)
        if isinstance(e, Product) and (not e.sums or (self.is_sparse(e) and self._places(e) <= MOST_PLACES)):
            return self.term(1, list(e.factors()), dict(zip(e.out, index, strict=True)))
        if isinstance(e, Sum):
            return self._added([(c, self.of(a, index)) for c, a in zip(e.coefs, e.args, strict=True)])
        return self._whole(e, index)

    def _whole(self, e: Expr, index: Index) -> KnownEntry:
        """An entry of what is not looked into."""
        turned = turning(e)
        if turned > 0 and e.order == 2:
            index = tuple(sorted(index))
        return KnownEntry(1, (self._atom((e, index)),))

    def _constant(self, e: Constant, index: Index) -> KnownEntry:
        if not e.shape:
            known = isinstance(e.value, (int, float, Fraction))
            return KnownEntry(e.value) if known else self._sized(e.value)
        return KnownEntry(_entry_of(e, index))

    def _sized(self, value: Any) -> KnownEntry:
        """A size, which has a number here, or a number with a name, such as π."""
        return KnownEntry(self.size(value)) if isinstance(value, Dim) else KnownEntry(1, (self._atom(value),))

    def _placed(self, e: Structure, index: Index) -> KnownEntry:
        """1 or 0; for a gather what decides is the entry of its indices, unless that is known."""
        kind = e.relation[0]
        if kind == "at":
            where = self.of(e.args[0], index[:-1])
            if not where.atoms:
                return KnownEntry(int(where.coef == index[-1]))
            return KnownEntry(1, (self._atom(("at", where[:2], index[-1])),), True)
        if kind not in ("==", ">="):
            return KnownEntry(int(kind == "one"))
        relation = (kind, tuple([self.size(c) for c in e.relation[1]]), self.size(e.relation[2]))
        return KnownEntry(int(holds(relation, index)))

    def sum(self, entries: Sequence[KnownEntry]) -> KnownEntry:
        """The sum of entries at one place."""
        return self._added([(1, entry) for entry in entries])

    def is_sparse(self, e: Expr) -> bool:
        """Whether what leaves entries out, a structure or a known array, is reached through products and sums alone."""
        if e not in self.sparse:
            for node in topological(e):
                inner = node.args if isinstance(node, (Product, Sum)) else ()
                own = (isinstance(node, Structure) and not is_one(node)) or (isinstance(node, Constant) and node.order)
                self.sparse[node] = bool(own) or any(self.sparse[a] for a in inner)
        return self.sparse[e]

    def _places(self, e: Product) -> int:
        summed = {x: s for a, labels in e.factors() for x, s in zip(labels, a.shape, strict=True) if x not in e.out}
        return prod(map(self.size, summed.values()))


def _entry_of(e: Constant, index: Index) -> Number:
    if is_levi_civita(e):  # whose array is NumPy's, and made where something is computed
        return parity(index) if len({*index}) == len(index) else 0
    value = e.value.values
    for place in index:
        value = value[place]
    return float(value)


def opened_parts(e: Expr, entries: KnownEntries) -> list[Expr]:
    """What :class:`KnownEntries` looks into, ``e`` first: structures, products and sums, and what it does not open."""
    found: dict[Expr, None] = {}
    waiting = [e]
    while waiting:
        node = waiting.pop()
        if node in found or isinstance(node, (Variable, Function)):
            continue
        found[node] = None
        if isinstance(node, Sum) or (isinstance(node, Product) and (not node.sums or entries.is_sparse(node))):
            waiting += reversed(node.args)
    return list(found)
