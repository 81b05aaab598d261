"""The two forms of a product as nodes, once its factors are known.

A product *without sums* uses the positions of its axes as labels. A *contraction* is one group of factors that summed
labels link, its operands in canonical order, its labels numbered by first use, its axes in the order of the labels.
"""

from __future__ import annotations

from collections.abc import Hashable

from ricci.expr import dims
from ricci.expr.build.canonical import canonical_order
from ricci.expr.dims import Size
from ricci.expr.nodes import Expr, Product, Sum, constructors, make
from ricci.expr.structures import one, placed, symmetric

Label = Hashable
Factor = tuple[Expr, tuple[Label, ...]]


def components(factors: list[Factor], summed: set[Label], out: tuple[Label, ...]) -> list[Factor]:
    """One contraction for each group of factors linked by summed labels; the other factors as they are."""
    rank = {label: position for position, label in enumerate(out)}
    if len(factors) == 1:
        return [_contraction(factors, rank)]
    if len(factors) == 2 and not summed.intersection(factors[0][1]).isdisjoint(factors[1][1]):
        return [_contraction(factors, rank)]
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
    return [f for p, fs in groups.items() for f in ([_contraction(fs, rank)] if p in linked else fs)]


def _contraction(factors: list[Factor], rank: dict[Label, int]) -> Factor:
    """The node for one linked group, and the outer labels of its axes.

    A contraction that is alone under a sum becomes part of it: ``tr(A B)`` is one contraction.
    """
    e, labels = factors[0]
    if len(factors) == 1 and isinstance(e, Product) and e.sums:
        name: dict = dict(zip(e.out, labels, strict=True))
        factors = [(a, tuple([name.get(x, ("alone", x)) for x in inner])) for a, inner in e.factors()]
        return _contraction(factors, rank)
    if len(factors) > 1:
        factors = canonical_order(factors, rank)
    elif len(labels) == 2 and labels[0] not in rank and labels[1] in rank and symmetric(e):
        factors = [(e, labels[::-1])]
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
    labels = tuple([placed(e, labels, place) for e, labels in factors])
    node = make(Product, tuple([e for e, _ in factors]), tuple(map(shape.__getitem__, out)), labels, out)
    return node, outer


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
        e, labels = factors[0][0], placed(*factors[0], place)
        if labels == axes:  # a symmetric matrix the other way round
            return e
        if isinstance(e, Sum) and len(labels) == len(out) == len(set(labels)):
            return constructors.rearranged(e, labels)
        return make(Product, (e,), shape, (labels,), axes)
    found = [(e, placed(e, labels, place)) for e, labels in factors]
    if len(found) > 2 or found[0][0].key >= found[1][0].key:
        found.sort(key=lambda factor: (factor[0].key, factor[1]))
    return make(Product, tuple([e for e, _ in found]), shape, tuple([labels for _, labels in found]), axes)
