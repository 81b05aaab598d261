"""Indices that a metric has moved, written as the author writes them: ``F^{m n}`` and not ``g^{m i} g^{n j} F_{i j}``.

The reader writes such uses out (``notation/metric.py``); this is the way back, on trees that are ready to be printed.
It is gone only for names that the author has used at several heights, so ``g_{i j} v^j`` stays what it was where that
is how the text has it. The inverse of a metric that the author has written as ``g^{i j}`` is written so.

A reader takes an input to be given at the heights at which it stands first. So there it is not moved, and a text in
which ``F`` occurs once says ``g^{m i} g^{n j} F_{i j}``.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

from ricci.notation import syntax
from ricci.notation.occurrences import Occurrences

Moved = Mapping[str, str]  # names that are used at several heights, and the metrics that move them
Factor = tuple[int, syntax.Node]


def raised(
    body: syntax.Node, moved: Moved, given: Mapping[str, Sequence[str]], symmetric: Container[str] = ()
) -> syntax.Node:
    """The right side of a statement in which metrics have moved the indices that they are contracted with; ``given``
    are the heights of the inputs, ``symmetric`` metrics that are inputs themselves."""
    while True:
        made = _raised(body, moved, symmetric)
        first: dict[str, tuple[str, ...]] = {}
        for node in _in_order(made):
            if isinstance(node, syntax.TensorNode) and node.indices:
                first.setdefault(node.name, tuple([index.height for index in node.indices]))
        misread = [name for name, metric in moved.items() if name != metric and name in given
                   and first.get(name, given[name]) != tuple(given[name])]  # fmt: skip
        if not misread:
            return made
        moved = {name: metric for name, metric in moved.items() if name not in misread}


def _in_order(root: syntax.Node) -> Iterator[syntax.Node]:
    """The nodes of a tree in the order in which they are read."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(syntax.children(node))


def _raised(node: syntax.Node, moved: Moved, symmetric: Container[str]) -> syntax.Node:
    parts = [_raised(part, moved, symmetric) for part in syntax.children(node)]
    node = syntax.with_children(node, parts)
    if isinstance(node, syntax.ProductNode):
        return _product(node, moved, symmetric)
    if isinstance(node, syntax.CallNode):
        metric = _inverted(node)
        if metric is not None and moved.get(metric) == metric:
            return syntax.TensorNode(node.start, node.end, metric, node.result)
    return node


def _product(node: syntax.ProductNode, moved: Moved, symmetric: Container[str]) -> syntax.Node:
    factors = list(node.factors)
    while (pair := _contracted(factors, moved, symmetric)) is not None:
        metric, tensor, new = pair
        factors[tensor] = new
        del factors[metric]
    return factors[0][1] if len(factors) == 1 else replace(node, factors=tuple(factors))


def _contracted(factors: list[Factor], moved: Moved, symmetric: Container[str]) -> tuple[int, int, Factor] | None:
    """Where a metric stands that is contracted with a tensor whose index it moves, and what both become.

    Of two such tensors the later one is taken.
    """
    count = Occurrences()
    found = [count.of(factor) for _, factor in factors]
    candidates = []
    for at, (exponent, factor) in enumerate(factors):
        pair = _metric(factor)
        if pair is None or exponent < 0:
            continue
        name, indices = pair
        ways = (indices, indices[::-1]) if name in symmetric else (indices,)  # the first is as they are written out
        for other, index in ways:
            places = [k for k, part in enumerate(found) if k != at and index.plain and index.terms[0][1] in part]
            if len(places) != 1 or factors[places[0]][0] < 0 or index.terms == other.terms:
                continue
            new = _moved(factors[places[0]][1], index, other, moved, name)
            if new is not None:
                candidates.append((at, places[0], (1, new)))
    return max(candidates, key=lambda candidate: candidate[1], default=None)


def _moved(
    node: syntax.Node, old: syntax.Index, new: syntax.Index, moved: Moved, metric: str
) -> syntax.TensorNode | None:
    """A tensor with another index, if it is one that this metric may move, and has the old one once."""
    if not isinstance(node, syntax.TensorNode) or moved.get(node.name) != metric or node.name == metric:
        return None
    places = [k for k, index in enumerate(node.indices or ()) if old.terms[0][1] in {n for _, n in index.terms}]
    if len(places) != 1 or not node.indices or not node.indices[places[0]].plain:
        return None
    return replace(node, indices=tuple([new if k == places[0] else i for k, i in enumerate(node.indices)]))


def _metric(node: syntax.Node) -> tuple[str, syntax.Indices] | None:
    """The name and the indices of what may be a metric or its inverse."""
    if isinstance(node, syntax.TensorNode) and len(node.indices or ()) == 2:
        return node.name, node.indices or ()
    name = _inverted(node)
    return (name, node.result or ()) if name is not None and isinstance(node, syntax.CallNode) else None


def _inverted(node: syntax.Node) -> str | None:
    """``g`` of ``inv(g)^{i j}``."""
    if not isinstance(node, syntax.CallNode) or node.name != "inv" or node.axes is not None or not node.result:
        return None
    (inner,) = node.args
    return inner.name if isinstance(inner, syntax.TensorNode) and inner.indices is None else None
