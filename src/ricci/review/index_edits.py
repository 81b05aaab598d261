"""Changes of indices, of their order, and of what stands at them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations

from ricci.notation import syntax
from ricci.notation.occurrences import indices_in
from ricci.notation.syntax import Node
from ricci.review.changes import Edit, Place, is_term, places
from ricci.show.text import SUM, render


def orders(place: Place) -> Iterator[Edit]:
    """Indices in another order."""
    node = place.node
    for part, indices in indexed(node, ("indices", "result")):
        if not 2 <= len(indices) <= 4 or isinstance(node, syntax.Delta):
            continue
        for order in permutations(indices):
            if any(a is not b for a, b in zip(order, indices, strict=True)):
                heights = [replace(i, height=j.height) for i, j in zip(order, indices, strict=True)]
                new = with_indices(node, part, heights)
                yield Edit("transposed", place, new, place.tree(new))


def indexed(node: Node, parts: Sequence[str]) -> Iterator[tuple[str, syntax.Indices]]:
    """The parts of a node that have indices; of a derivative, the variable."""
    if isinstance(node, syntax.Derivative):
        yield "variable", node.variable.indices or ()
    for part in parts:
        yield part, getattr(node, part, None) or ()


def with_indices(node: Node, part: str, indices: Iterable[syntax.Index]) -> Node:
    if isinstance(node, syntax.Derivative):
        return replace(node, variable=replace(node.variable, indices=tuple(indices)))
    return replace(node, **{part: tuple(indices)})


def other_indices(place: Place, names: Sequence[str]) -> Iterator[Edit]:
    """One index replaced by another."""
    node = place.node
    for part, indices in indexed(node, ("indices", "result", "axes")):
        for k, index in enumerate(indices):
            others = (
                [i.terms[0][1] for i in indices if i is not index and i.plain] if isinstance(node, syntax.Delta) else []
            )
            for name in names if index.plain else ():
                if name != index.terms[0][1] and name not in others:  # a delta of one index is no delta
                    other = replace(index, terms=((1, name),))
                    new = with_indices(node, part, (*indices[:k], other, *indices[k + 1 :]))
                    yield Edit("index", place, new, place.tree(new))


def exchanged(place: Place) -> Iterator[Edit]:
    """Two indices, each in the place of the other."""
    node = place.node
    if not isinstance(node, (syntax.ProductNode, syntax.SumNode)) or not is_term(place):
        return
    names = dict.fromkeys([name for index in indices_in(node) if index.plain for _, name in index.terms])
    for a, b in combinations(list(names)[:7], 2):
        new = syntax.renamed(node, {a: b, b: a})
        yield Edit("exchanged", place, new, place.tree(new), extra=syntax.Delta(0, 0, (_plain(a), _plain(b))))


def _plain(name: str) -> syntax.Index:
    return syntax.Index(0, 0, ((1, name),), plain=True)


def reordered(place: Place) -> Iterator[Edit]:
    """Two factors of a product of matrices, each in the place of the other."""
    node = place.node
    if not isinstance(node, syntax.ProductNode):
        return
    for (k, (e, a)), (m, (f, b)) in combinations(enumerate(node.factors), 2):
        own, other = _places_of(a), _places_of(b)
        if own is None or other is None or len(own) != len(other) or e != f or render(a, SUM) == render(b, SUM):
            continue
        factors = list(node.factors)
        factors[k], factors[m] = (e, _placed(b, own)), (f, _placed(a, other))
        new = replace(node, factors=tuple(factors))
        yield Edit("order", place, new, place.tree(new), extra=syntax.ProductNode(0, 0, ((1, a), (1, b))))


def _places_of(node: Node) -> syntax.Indices | None:
    """The indices at which a tensor, or the result of a function of matrices, stands."""
    if isinstance(node, syntax.TensorNode):
        return node.indices
    return node.result if isinstance(node, syntax.CallNode) and node.axes is None else None


def _placed(node: Node, indices: syntax.Indices) -> Node:
    part = "indices" if isinstance(node, syntax.TensorNode) else "result"
    return replace(node, **{part: indices})


def one_tensors(place: Place) -> Iterator[Edit]:
    """A one-tensor where a delta is meant, and the other way round."""
    node = place.node
    if isinstance(node, syntax.Ones) and len(node.indices) == 2:
        new: Node = syntax.Delta(node.start, node.end, node.indices)
    elif isinstance(node, syntax.Delta) and len(node.indices) == 2:
        new = syntax.Ones(node.start, node.end, node.indices)
    else:
        return
    yield Edit("delta", place, new, place.tree(new))


def other_tensors(place: Place, tensors: Mapping[str, int]) -> Iterator[Edit]:
    """A tensor of another name."""
    node = place.node
    if not isinstance(node, syntax.TensorNode) or isinstance(place.around and place.around.node, syntax.Derivative):
        return
    for name, order in tensors.items():
        if name != node.name and order == len(node.indices or ()):
            new = replace(node, name=name)
            yield Edit("tensor", place, new, place.tree(new))


def freed(place: Place, free: Sequence[str]) -> Iterator[Edit]:
    """A sum over an index that has the name of a free one gets a name of its own."""
    node, around = place.node, place.around
    if around is None or isinstance(around.node, syntax.ProductNode) or not isinstance(node, syntax.ProductNode):
        return
    own = [name for index in indices_in(node) if index.plain for _, name in index.terms]
    for name in [name for name in free if own.count(name) > 1]:
        other = name + "'"
        while other in own:
            other += "'"
        new = syntax.renamed(node, {name: other})
        yield Edit("captured", place, new, place.tree(new))


def dummies_told_apart(tree: Node, free: Sequence[str]) -> Iterator[Edit]:
    """One index that stands for two sums: some of its places get a name of their own."""
    known = {name for index in indices_in(tree) for _, name in index.terms}
    for place in places(tree):
        node, around = place.node, place.around
        if isinstance(node, (syntax.SumNode, syntax.Neg)) or isinstance(around and around.node, syntax.ProductNode):
            continue
        slots: dict[str, list[syntax.Index]] = {}
        for index in indices_in(node):
            for _, name in index.terms if index.plain else ():
                slots.setdefault(name, []).append(index)
        for name, own in slots.items():
            if name in free or not 3 <= len(own) <= 8:
                continue
            other = name + "'"
            while other in known:
                other += "'"
            for those in [c for n in (2, 3, 4) for c in combinations(own, n) if 2 * n <= len(own) + 1]:
                new = _at_places(node, those, other)
                yield Edit("captured", place, new, place.tree(new))


def _at_places(node: Node, those: Sequence[syntax.Index], name: str) -> Node:
    """The tree with another name for an index at some of its places."""
    changed = {}
    for part in ("indices", "axes", "result"):
        indices = getattr(node, part, None) or ()
        if any(index is one for index in indices for one in those):
            changed[part] = tuple(
                [replace(i, terms=((1, name),)) if any(i is one for one in those) else i for i in indices]
            )
    if isinstance(node, syntax.Derivative):
        changed["variable"] = _at_places(node.variable, those, name)
    node = replace(node, **changed) if changed else node
    return syntax.with_children(node, [_at_places(part, those, name) for part in syntax.children(node)])
