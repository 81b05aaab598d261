"""Products of arrays: pairs in the best order, each pair as one dot, one map or one sum.

Two things are looked for before. A product that has a mirror image of half of its factors in the other half, as
``Jᵀ D J`` with ``J`` itself a product, is computed as that half times itself. And two operands that are one array, seen
from the two sides of a symmetric result, with nothing but a factor that is never negative between them,
``X[m,n] X[m,p] s[m]``, are multiplied as ``Y[m,n] Y[m,p]`` with ``Y = sqrt(s) X``: BLAS then computes half of it.

Where nothing is summed, what makes a product larger and what makes it smaller take turns: ``a b / (c d)`` is
``a / c * b / d``. The order in which the program had them is not known any more; this one seldom leaves the range of
floating numbers where that did not.

*Masks.* What a structure leaves out is no term of a sum, so an infinity or a NaN there must not be multiplied by its
zero. Where nothing is summed afterwards, the product is selected by the mask. Otherwise the mask is multiplied like any
other array, or is there already in the zeros of an array that is read beyond its ends, so that a dot stays a dot; and
the result is *guarded*: it differs from the sum of the terms only if it is not finite, and then the terms are
multiplied, selected and added up one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

from ricci.compiler.lower.builder import Builder, sizes_of
from ricci.compiler.lower.paths import Pairs, Tree, best_tree, leaves_of
from ricci.compiler.plan.program_steps import Labels, Number, Operand, Value, distinct, repeats, volume
from ricci.expr.numbers import moves

MOST_IN_TURNS = 12


@dataclass(eq=False)
class Contraction:
    """Operands to be multiplied and summed over the labels that are not kept, times ``coef``.

    ``kept`` is in the order in which the result is wanted, if it can be had. ``nonnegative`` tells of each operand
    whether it is known never to be negative, ``often`` which pairs of them are multiplied elsewhere too.
    """

    builder: Builder
    operands: list[Operand]
    kept: Labels
    coef: Number = 1
    nonnegative: list[bool] = field(default_factory=list)
    often: Pairs = frozenset()
    ranks: dict[int, int] = field(default_factory=dict)  # the order in which labels lie in memory wherever that is free

    def result(self) -> Operand:
        if not self.operands:
            return self.coef, ()
        self.nonnegative = self.nonnegative or [False] * len(self.operands)
        self.operands = self.builder.aligned(self.operands)
        if len(self.operands) > 1 and all([set(self.kept).issuperset(labels) for _, labels in self.operands]):  # noqa: C419
            found = self._in_turns()
            if found is not None:
                return found
        if len(self.operands) > 2:
            self._mirrored()
            self._rooted()
        self._reduce()
        made = self._multiplied(self._tree()[1], self.kept) if len(self.operands) > 2 else self._of_few()
        return self.builder.scaled(made, self.coef)

    def _of_few(self) -> Operand:
        """One operand, or the product of two; what only one of them has is summed already."""
        if len(self.operands) == 1:
            return self.operands[0]
        wanted = set(self.kept)
        first, second = self.operands
        a, b = self._scaled(first, second, wanted)
        summed = _summed(a, b, wanted)
        both = {*a[1], *b[1]}
        if summed or len(both) <= max(len(a[1]), len(b[1])):
            return _product_of(
                self.builder, a, b, wanted, summed, self.ranks or {x: n for n, x in enumerate(self.kept)}
            )
        return self.builder.map("multiply", a, b, order=tuple([x for x in self.kept if x in both]))

    def _in_turns(self) -> Operand | None:
        """The product of operands that nothing sums, factors and divisors in turns; none if there are no divisors.

        Those with the same axes go first, so that what has few axes is multiplied and divided before it gets more.
        """
        build = self.builder
        sides: tuple[list[Operand], list[Operand]] = ([], [])
        for operand in sorted(self.operands, key=_entries):
            over, inner = build.divisor(operand)
            times, base = build.repeated(inner)
            sides[over].extend([base] * times)
        factors, divisors = sides
        small = abs(self.coef) < 1
        if not divisors or len(factors) < 2 or len(factors) + len(divisors) > MOST_IN_TURNS:
            return None
        for axes in {frozenset(labels): None for _, labels in factors}:
            own = [[x for x in side if axes == frozenset(x[1])] for side in (factors, divisors)]
            if own[1]:
                factors = [*[x for x in factors if x not in own[0]], self._turned(*own)]
                divisors = [x for x in divisors if x not in own[1]]
        factors.sort(key=_entries)
        if small:
            factors[0] = build.scaled(factors[0], self.coef)
        made = self._turned(factors, divisors)
        return made if small else build.scaled(made, self.coef)

    def _turned(self, factors: Sequence[Operand], divisors: Sequence[Operand]) -> Operand:
        """The product of factors over that of divisors, one by one: as many divisors after each as there are."""
        (made, *factors), divisors = factors, list(divisors)
        while divisors:
            for _ in range(-(-len(divisors) // (len(factors) + 1))):
                made = self.builder.map("divide", made, divisors.pop(0))
            if factors:
                made = self.builder.map("multiply", made, factors.pop(0))
        for factor in factors:
            made = self.builder.map("multiply", made, factor)
        return made

    def _reduce(self) -> None:
        """Operands are summed over labels that only they have."""
        kept = set(self.kept)
        seen: set[int] = set()
        for _, labels in self.operands:
            kept.update(seen.intersection(labels))
            seen.update(labels)
        if not kept.issuperset(seen) or any(value.kind == "b" for value, _ in self.operands):  # type: ignore
            self.operands = [self.builder.sum(own, kept) for own in self.operands]

    def _tree(self) -> tuple[float, Tree]:
        return self._best([labels for _, labels in self.operands], self.often)

    def _best(self, terms: Sequence[Labels], often: Pairs = frozenset()) -> tuple[float, Tree]:
        """The cost and the tree of a product of terms with these labels."""
        used = distinct(chain(*terms))
        number = {x: n for n, x in enumerate(used)}
        sizes = sizes_of(self.operands)
        inner = tuple([tuple(map(number.__getitem__, labels)) for labels in terms])
        kept = tuple([number[x] for x in self.kept if x in number])
        return best_tree(inner, kept, tuple(map(sizes.__getitem__, used)), often, self.builder.rearranged)

    def _multiplied(self, tree: Tree, needed: Sequence[int]) -> Operand:
        """The product of the operands of a tree, of which the labels ``needed`` are kept."""
        if isinstance(tree, int):
            return self.operands[tree]
        sides = [[side] if isinstance(side, int) else leaves_of(side) for side in tree]
        wanted = set(needed)
        a = self._multiplied(tree[0], [*needed, *self._labels(sides[1])])
        b = self._multiplied(tree[1], [*needed, *self._labels(sides[0])])
        if len(sides[0]) + len(sides[1]) == len(self.operands):
            a, b = self._scaled(a, b, wanted)
        both = {*a[1], *b[1]}
        if _summed(a, b, wanted) or len(both) <= max(len(a[1]), len(b[1])):
            return pair(self.builder, a, b, wanted, self.ranks or {x: n for n, x in enumerate(self.kept)})
        order = [x for x in self.kept if x in both]
        later = [x for x in distinct([*a[1], *b[1]]) if x not in self.kept]
        if later:  # what is summed next goes first, after what stays a batch: the dot to come takes this as matrices
            rest = {x for p, (_, own) in enumerate(self.operands) if p not in (*sides[0], *sides[1]) for x in own}
            batch = [x for x in order if x in rest]
            order = [*batch, *later, *[x for x in order if x not in batch]]
        return self.builder.map("multiply", a, b, order=tuple(order))

    def _labels(self, operands: Sequence[int]) -> set[int]:
        found: set[int] = set()
        for p in operands:
            found.update(self.operands[p][1])
        return found

    def _scaled(self, a: Operand, b: Operand, needed: set[int]) -> tuple[Operand, Operand]:
        """The last two operands, the smaller with the coefficient in it if it is smaller than the result."""
        coef = self.coef
        if coef == 1 or not moves(coef):
            return a, b
        sizes = sizes_of([a, b])
        if min(_entries(a), _entries(b)) > volume([x for x in sizes if x in needed], sizes):
            return a, b
        self.coef = 1
        return (self.builder.scaled(a, coef), b) if _entries(a) <= _entries(b) else (a, self.builder.scaled(b, coef))

    # Symmetric products

    def _mirrored(self) -> None:
        """Replace the factors of half of the product by their product, and the other half by its mirror image."""
        if len(self.operands) < 4:
            return
        for a, b in _twins(self.operands, self.kept):
            mirror = _Mirror(self.operands, a, b)
            if not mirror.found or len(mirror.half) < 2:
                continue
            half = [self.operands[p] for p in mirror.half]
            rest = [p for p in range(len(self.operands)) if p not in mirror.partner]
            needed = {x for p in rest for x in self.operands[p][1]} | set(self.kept)
            own = distinct(x for _, labels in half for x in labels)
            wanted = {x for x in own if x in needed or x in mirror.images or mirror.image.get(x, x) in {x, *needed}}
            kept = tuple([x for x in own if x in wanted])
            inner = Contraction(self.builder, half, kept, ranks=self.ranks)
            sides = [kept, tuple([mirror.image.get(x, x) for x in kept])]
            if not self._cheaper(inner, [*sides, *[self.operands[p][1] for p in rest]]):
                continue
            value, labels = inner.result()
            mirrored = (value, tuple([mirror.image.get(x, x) for x in labels]))
            self.operands = [(value, labels), mirrored, *[self.operands[p] for p in rest]]
            self.nonnegative = [False, False, *[self.nonnegative[p] for p in rest]]
            self.often = frozenset()
            return

    def _cheaper(self, half: Contraction, rest: Sequence[Labels]) -> bool:
        """Whether half of the product, and what is left to multiply then, cost less than the whole."""
        return half._tree()[0] + self._best(rest)[0] < self._tree()[0]

    def _rooted(self) -> None:
        """Products of a matrix with itself, ``s`` between the two: ``s`` goes into both as its square root."""
        for a, b in _twins(self.operands, self.kept):
            between = _between(self.operands, a, b)
            if between and all(self.nonnegative[p] for p in between) and _worth(self.operands, a, b):
                inner = [self.operands[p] for p in between]
                carried = distinct(x for _, labels in inner for x in labels)
                root = self.builder.map("sqrt", Contraction(self.builder, inner, carried).result())
                sides = [self.builder.map("multiply", self.operands[p], root) for p in (a, b)]
                rest = [p for p in range(len(self.operands)) if p not in (a, b, *between)]
                self.operands = [*sides, *[self.operands[p] for p in rest]]
                self.nonnegative = [False, False, *[self.nonnegative[p] for p in rest]]
                self.often = frozenset()
                return


def _entries(operand: Operand) -> int:
    value, _ = operand
    return value.entries if isinstance(value, Value) else 1


def _summed(a: Operand, b: Operand, needed: set[int]) -> set[int]:
    return (set(a[1]) & set(b[1])) - needed


def pair(builder: Builder, a: Operand, b: Operand, needed: set[int], ranks: dict[int, int]) -> Operand:
    """The product of two operands, summed over what nobody needs; its axes ordered by ``ranks``, if that is free."""
    if not needed.union(b[1]).issuperset(a[1]):
        a = builder.sum(a, [x for x in a[1] if x in needed or x in b[1]])
    if not needed.union(a[1]).issuperset(b[1]):
        b = builder.sum(b, [x for x in b[1] if x in needed or x in a[1]])
    return _product_of(builder, a, b, needed, _summed(a, b, needed), ranks)


def _product_of(
    builder: Builder, a: Operand, b: Operand, needed: set[int], summed: set[int], ranks: dict[int, int]
) -> Operand:
    if not summed:
        return builder.map("multiply", a, b)
    if set(a[1]) == set(b[1]):
        product = builder.known_map("multiply", a, b)
        if product is not None:
            return builder.sum(product, [x for x in product[1] if x in needed])
    return builder.dot(a, b, _dot_order(a, b, needed, ranks))


def _dot_order(a: Operand, b: Operand, needed: set[int], ranks: dict[int, int]) -> Labels:
    """The order of the axes of a dot that needs no copies.

    The axes of the larger operand stay where they are, and those of the smaller take the place of what is summed.
    """
    shared = [x for x in a[1] if x in b[1]]
    batch = [x for x in shared if x in needed]
    large, small = (a, b) if _entries(a) >= _entries(b) else (b, a)
    free = [x for x in small[1] if x not in shared]
    rest = [x for x in large[1] if x not in shared]
    places = [p for p, x in enumerate(large[1]) if x in shared]
    if repeats(large[0]):  # type: ignore[arg-type]
        return (*batch, *free, *rest)
    together = not batch and places[-1] - places[0] == len(places) - 1
    if together and places[0] > 0 and places[-1] < len(large[1]) - 1:
        return (*large[1][: places[0]], *free, *large[1][places[-1] + 1 :])
    orders = [(*batch, *free, *rest), (*batch, *rest, *free)]
    if not (together and places[0] == 0):
        orders.reverse()
    return min(orders, key=lambda order: _disorder([ranks[x] for x in order if x in ranks]))


def _disorder(places: Sequence[int]) -> int:
    """How often a place comes right before one that should be before it."""
    return sum(a > b for a, b in pairwise(places))


# Mirror images


def _twins(operands: Sequence[Operand], kept: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of uses of one array that differ in labels of the result."""
    found = []
    for b in range(1, len(operands)):
        for a in range(b):
            (x, first), (y, second) = operands[a], operands[b]
            if x is not y:
                continue
            own = [(p, q) for p, q in zip(first, second, strict=True) if p != q]
            if any(p in kept and q in kept for p, q in own) and len({z for p in own for z in p}) == 2 * len(own):
                found.append((a, b))
    return found


class _Mirror:
    """The exchange of labels that takes one use of an array to another, followed through all operands it concerns."""

    def __init__(self, operands: Sequence[Operand], a: int, b: int):
        self.operands = operands
        self.image: dict[int, int] = {}
        self.partner: dict[int, int] = {}
        self.half: list[int] = []
        self.found = self._pair(a, b) and self._follow()

    @property
    def images(self) -> list[int]:
        """The labels of the other half."""
        return [self.image[x] for p in self.half for x in self.operands[p][1] if self.image.get(x, x) != x]

    def _pair(self, a: int, b: int) -> bool:
        """Make two operands mirror images of one another, if that contradicts nothing."""
        for x, y in zip(self.operands[a][1], self.operands[b][1], strict=True):
            if self.image.setdefault(x, y) != y or self.image.setdefault(y, x) != x:
                return False
        self.partner.update({a: b, b: a})
        self.half.append(a)
        return True

    def _follow(self) -> bool:
        """Pair all operands that have a label which is exchanged for another."""
        while True:
            moved = {x for p in self.half for x in self.operands[p][1] if self.image[x] != x}
            waiting = [
                p
                for p, (_, own) in enumerate(self.operands)
                if p not in self.partner and any(self.image.get(x, x) != x for x in own)
            ]
            if not waiting:
                return all(not moved & set(self.operands[self.partner[p]][1]) for p in self.half)
            at = next((p for p in waiting if moved & set(self.operands[p][1])), None)
            other = None if at is None else next((q for q in waiting if q != at and self._fits(at, q)), None)
            if at is None or other is None or not self._pair(at, other):
                return False

    def _fits(self, a: int, b: int) -> bool:
        (x, first), (y, second) = self.operands[a], self.operands[b]
        return x is y and all(
            self.image.get(p, q) == q and self.image.get(q, p) == p for p, q in zip(first, second, strict=True)
        )


def _between(operands: Sequence[Operand], a: int, b: int) -> list[int]:
    """The operands that have no labels but those that both uses of an array have in common."""
    common = {p for p, q in zip(operands[a][1], operands[b][1], strict=True) if p == q}
    return [p for p, (_, labels) in enumerate(operands) if p not in (a, b) and labels and set(labels) <= common]


def _worth(operands: Sequence[Operand], a: int, b: int) -> bool:
    """Whether the product is large enough for half of it to matter more than a square root."""
    (value, first), (_, second) = operands[a], operands[b]
    assert isinstance(value, Value)
    own = volume([x for x, y in zip(first, second, strict=True) if x != y], dict(zip(first, value.shape, strict=True)))
    return own >= 32 and len(first) <= 2


# Masks


def product_where(product: Contraction, masks: Sequence[Operand], of_reads: Sequence[Operand]) -> Operand:
    """``product``, of arrays, over the indices where all masks hold; where those of reads do not, an array is zero."""
    builder = product.builder
    everything = [*masks, *of_reads]
    if not everything:
        return product.result()
    arrays = builder.aligned(product.operands)
    if not arrays:
        product.operands = builder.aligned([builder.cast(mask, builder.number) for mask in masks])
        return product.result()
    if {x for _, labels in everything for x in labels} <= set(product.kept):
        product.kept = tuple([x for x in product.kept if any(x in labels for _, labels in arrays)])
        made = product.result()
        for mask in everything:
            made = builder.map("where", mask, made, (0, ()))
        return made
    number = product.coef
    kind = next(value.kind for value, _ in arrays if isinstance(value, Value))
    product.operands = [*arrays, *[builder.cast(mask, kind) for mask in masks]]
    product.nonnegative = [*product.nonnegative, *[True] * len(masks)]
    made = product.result()
    floating = isinstance(made[0], Value) and made[0].kind == "f"
    return guarded(builder, made, arrays, everything, number) if floating else made


def guarded(
    builder: Builder, made: Operand, arrays: Sequence[Operand], masks: Sequence[Operand], number: Number
) -> Operand:
    """``made``, unless it is not finite; then the product of the arrays and the number, selected by the masks."""
    value, labels = made
    assert isinstance(value, Value)
    arrays = [builder.real(operand) for operand in arrays]
    args = [made, *arrays, *masks]
    return builder.emit("guard", "", args, labels, value.shape, "f", (len(arrays), float(number)))
