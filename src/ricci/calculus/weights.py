"""What derivatives cost to multiply, without looking at their numbers.

The cost of joining two edges is the number of multiplications that it takes: the sizes of all labels that their
factors carry, multiplied. Deltas and the factors 1 and -1 are free. A symbolic size counts as :data:`ASSUMED_SIZE`.

The weight of an edge is what that depends on. Weights join and add as edges do, so the cost of an order of elimination
can be known without any expression being built.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ricci.caches import cached
from ricci.calculus.local import Edge, Factor, Label
from ricci.expr import Expr, Number, Product, Size, Structure, Sum, dims, numeric
from ricci.expr.structures import is_delta

ASSUMED_SIZE = 16
DEPTH = 4  # how deep to look into sums and products for deltas


class _Assumed(dict):
    def __missing__(self, atom: object) -> int:
        return ASSUMED_SIZE


@cached("sizes that are assumed", 1 << 14)
def size_of(size: Size) -> int:
    return size if isinstance(size, int) else dims.evaluate(size, _Assumed())


def entries(shape: Sequence[Size]) -> int:
    return math.prod(size_of(size) for size in shape)


class Weight(NamedTuple):
    """The labels of an edge, numbered by first use, with sizes; those that its numbers depend on; free if it is ±1.

    A label that stands in ``out`` and in ``into`` is a delta between the two axes.
    """

    out: tuple[int, ...]
    into: tuple[int, ...]
    sizes: tuple[int, ...]
    carried: frozenset[int]
    free: bool


NUMBER = Weight((), (), (), frozenset(), False)
SIGN = Weight((), (), (), frozenset(), True)


def identity_weight(shape: Sequence[int]) -> Weight:
    """The weight of the derivative of a tensor by itself."""
    axes = tuple(range(len(shape)))
    return Weight(axes, axes, tuple(shape), frozenset(), True)


def weigh(edge: Edge) -> Weight:
    """The weight of a derivative."""
    facts = _of_sum([(coef, _of_factors(factors, DEPTH)) for coef, factors in edge.terms], edge.sizes)
    if not edge.out and not edge.into and not facts.carried:
        return SIGN if facts.free else NUMBER
    return _numbered(edge.out, edge.into, {**edge.sizes, **facts.carried}, facts.carried, facts.links, facts.free)


class _Labelled(NamedTuple):
    """Of an expression with labels: what it carries, with sizes; pairs of labels that deltas link; whether it is ±1."""

    carried: dict[Label, Size]
    links: frozenset[tuple[Label, Label]]
    free: bool


def _facts(e: Expr, labels: tuple[Label, ...], depth: int) -> _Labelled:
    if is_delta(e):
        return _Labelled({}, frozenset([(labels[0], labels[1])]), True)
    if isinstance(e, Structure) or numeric(e) in (1, -1):
        return _Labelled({}, frozenset(), True)
    if depth and isinstance(e, Product) and not e.sums:
        return _of_factors([(a, tuple([labels[x] for x in own])) for a, own in e.factors()], depth - 1)
    whole = dict(zip(labels, e.shape, strict=True))
    if depth and isinstance(e, Sum):
        return _of_sum([(c, _facts(a, labels, depth - 1)) for c, a in zip(e.coefs, e.args, strict=True)], whole)
    return _Labelled(whole, frozenset(), False)


def _of_factors(factors: Iterable[Factor], depth: int) -> _Labelled:
    carried: dict[Label, Size] = {}
    links: frozenset[tuple[Label, Label]] = frozenset()
    free = True
    for e, labels in factors:
        facts = _facts(e, labels, depth)
        carried.update(facts.carried)
        links |= facts.links
        free = free and facts.free
    return _Labelled(carried, links, free)


def _of_sum(terms: Sequence[tuple[Number, _Labelled]], sizes: Mapping[Label, Size]) -> _Labelled:
    """A sum carries what its terms carry, and what deltas link in some of its terms only."""
    if len(terms) == 1:
        ((coef, facts),) = terms
        return facts._replace(free=facts.free and coef in (1, -1))
    links = frozenset.intersection(*[facts.links for _, facts in terms])
    carried: dict[Label, Size] = {}
    for _, facts in terms:
        carried.update(facts.carried)
        carried.update({label: sizes[label] for link in facts.links - links for label in link})
    return _Labelled(carried, links, False)


def _numbered(
    out: Sequence[Hashable],
    into: Sequence[Hashable],
    sizes: Mapping[Any, Size],
    carried: Iterable[Hashable],
    links: Iterable[tuple[Hashable, Hashable]],
    free: bool,
) -> Weight:
    """A weight in its one form; ``links`` are labels that are equal."""
    same: dict[Hashable, Hashable] = {}

    def root(label: Hashable) -> Hashable:
        while label in same:
            label = same[label]
        return label

    for a, b in links:
        a, b = root(a), root(b)
        if a != b:
            same[b] = a
    number: dict[Hashable, int] = {}
    rows, columns = (tuple([number.setdefault(root(x), len(number)) for x in labels]) for labels in (out, into))
    used = {root(x) for x in carried}
    dummies = sorted([size_of(sizes[x]) for x in used - number.keys()], reverse=True)
    listed = [size_of(sizes[x]) for x in number]
    seen = [number[x] for x in used & number.keys()]
    places = range(len(listed), len(listed) + len(dummies))
    return Weight(rows, columns, (*listed, *dummies), frozenset([*seen, *places]), free)


@cached("costs of composing edges", 1 << 14)
def joined(outer: Weight, inner: Weight) -> tuple[int, Weight]:
    """Multiplications to compose two edges, and the weight of what results."""
    if not outer.sizes and not inner.sizes:
        return int(not outer.free and not inner.free), SIGN if outer.free and inner.free else NUMBER
    sizes = {
        **{(0, x): size for x, size in enumerate(outer.sizes)},
        **{(1, x): size for x, size in enumerate(inner.sizes)},
    }
    links = [((0, a), (1, b)) for a, b in zip(outer.into, inner.out, strict=True)]
    carried = [*((0, x) for x in outer.carried), *((1, x) for x in inner.carried)]
    out, into = [(0, x) for x in outer.out], [(1, x) for x in inner.into]
    free = outer.free and inner.free
    whole = _numbered(out, into, sizes, carried, links, free)
    cost = 0 if outer.free or inner.free else math.prod(whole.sizes[x] for x in whole.carried)
    ends = {*whole.out, *whole.into}
    return cost, Weight(whole.out, whole.into, whole.sizes[: len(ends)], whole.carried & ends, free)


@cached("weights of sums of edges", 1 << 14)
def added(one: Weight, other: Weight) -> Weight:
    """The weight of the sum of two parallel edges; where only one of them has a delta, the sum is dense."""
    if one.out == other.out and one.into == other.into:
        return one._replace(carried=one.carried | other.carried, free=False)
    out, into = list(zip(one.out, other.out, strict=True)), list(zip(one.into, other.into, strict=True))
    pairs = {*out, *into}
    ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    carried = [
        (a, b) for a, b in pairs if a in one.carried or b in other.carried or ours.count(a) > 1 or theirs.count(b) > 1
    ]
    return _numbered(out, into, {pair: one.sizes[pair[0]] for pair in pairs}, carried, (), False)


def joining_cost(outer: Weight, inner: Weight) -> int:
    """Multiplications to compose two edges."""
    return joined(outer, inner)[0]
