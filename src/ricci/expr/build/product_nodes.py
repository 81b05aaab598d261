"""The two forms of a product as nodes, once its factors are known.

A product *without sums* uses the positions of its axes as labels. A *contraction* is one group of factors that summed
labels link, its operands in canonical order, its labels numbered by first use, its axes in the order of the labels.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import prod

from ricci.expr import dims
from ricci.expr.build.canonical import canonical_order
from ricci.expr.build.scale import scale
from ricci.expr.dims import Size
from ricci.expr.nodes import Expr, Product, Sum, constructors, make
from ricci.expr.structures import arranged, one, turning, zero

Label = Hashable
Factor = tuple[Expr, tuple[Label, ...]]


def components(factors: list[Factor], summed: set[Label], out: tuple[Label, ...]) -> tuple[int, list[Factor]]:
    """One contraction for each group of factors linked by summed labels, the other factors as they are, and a sign."""
    rank = {label: position for position, label in enumerate(out)}
    if len(factors) == 1 or (len(factors) == 2 and not summed.intersection(factors[0][1]).isdisjoint(factors[1][1])):
        sign, factor = _contraction(factors, rank)
        return sign, [factor]
    group = list(range(len(factors)))  # of each factor, the first one that it is linked with
    home: dict[Label, int] = {}
    for p, (_, labels) in enumerate(factors):
        for label in summed.intersection(labels):
            a, b = group[p], group[home.setdefault(label, p)]
            if a != b:
                group = [min(a, b) if g in (a, b) else g for g in group]
    linked = {group[p] for p in home.values()}
    groups: dict[int, list[Factor]] = {}
    for p, factor in enumerate(factors):
        groups.setdefault(group[p], []).append(factor)
    made = [_contraction(fs, rank) if p in linked else (1, fs) for p, fs in groups.items()]
    return prod([sign for sign, _ in made]), [f for _, fs in made for f in (fs if isinstance(fs, list) else [fs])]


def _contraction(factors: list[Factor], rank: dict[Label, int]) -> tuple[int, Factor]:
    """The sign and the node for one linked group, and the outer labels of its axes.

    A contraction that is alone under a sum becomes part of it: ``tr(A B)`` is one contraction.
    """
    e, labels = factors[0]
    if len(factors) == 1 and isinstance(e, Product) and e.sums:
        name: dict = dict(zip(e.out, labels, strict=True))
        factors = [(a, tuple([name.get(x, ("alone", x)) for x in inner])) for a, inner in e.factors()]
        return _contraction(factors, rank)
    sign = 1
    if len(factors) > 1 or len(labels) > 1:
        sign, factors = canonical_order(factors, rank)
    place: dict[Label, int] = {}
    shape: list[Size] = []
    for e, labels in factors:
        for label, axis in zip(labels, e.shape, strict=True):
            at = place.get(label)
            if at is None:
                place[label] = len(shape)
                shape.append(axis)
            elif shape[at] is not axis:
                shape[at] = dims.same(shape[at], axis)
    outer = tuple(filter(rank.__contains__, place))
    out = tuple(map(place.__getitem__, outer))
    labels = tuple([tuple(map(place.__getitem__, labels)) for _, labels in factors])
    node = make(Product, tuple([e for e, _ in factors]), tuple(map(shape.__getitem__, out)), labels, out)
    return sign, (node, outer)


def _turned_back(e: Product, labels: tuple[int, ...]) -> Expr | None:
    """A contraction with its axes exchanged, where it stays as it is or changes its sign by the symmetry of factors."""
    if len(set(labels)) < len(labels) or len(labels) < 2 or not any(map(turning, e.args)):
        return None
    rank: dict[Label, int] = dict(zip(e.out, labels, strict=True))
    sign, (node, outer) = _contraction(list(e.factors()), rank)
    if node is not e or [rank[x] for x in outer] != list(range(len(labels))):
        return None
    return scale(sign, e)


def without_sums(factors: list[Factor], out: tuple[Label, ...], size: dict[Label, Size]) -> Expr:
    """The node for factors all of whose labels are in the output."""
    if len(factors) == 1 and factors[0][1] == out:
        return factors[0][0]
    carried: dict[Label, Size] = {}
    for e, labels in factors:
        for label, axis in zip(labels, e.shape, strict=True):
            known = carried.get(label)
            carried[label] = axis if known is None or known is axis else dims.same(known, axis)
    shape = tuple([carried[label] if label in carried else size[label] for label in out])
    if not factors:
        return one(shape)
    place = {label: position for position, label in enumerate(out)}
    axes = tuple(range(len(out)))
    if len(factors) == 1:
        e, (sign, labels) = factors[0][0], arranged(*factors[0], place)
        if sign != 1:
            return scale(-1, without_sums([(e, tuple([out[k] for k in labels]))], out, size)) if sign else zero(shape)
        if labels == axes:  # a symmetric matrix the other way round
            return e
        if isinstance(e, Product) and e.sums and len(labels) == len(out):  # nothing is broadcast
            turned = _turned_back(e, labels)
            if turned is not None:
                return turned
        if isinstance(e, Sum) and len(labels) == len(out) == len(set(labels)):
            return constructors.rearranged(e, labels)
        return make(Product, (e,), shape, (labels,), axes)
    turned = [(e, *arranged(e, labels, place)) for e, labels in factors]
    sign, found = prod([sign for _, sign, _ in turned]), [(e, labels) for e, _, labels in turned]
    if len(found) > 2 or found[0][0].key >= found[1][0].key:
        found.sort(key=lambda factor: (factor[0].key, factor[1]))
    if not sign:
        return zero(shape)
    node = make(Product, tuple([e for e, _ in found]), shape, tuple([labels for _, labels in found]), axes)
    return node if sign > 0 else scale(-1, node)
