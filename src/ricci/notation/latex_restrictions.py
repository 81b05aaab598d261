r"""Sums over a part of the places: ``\sum_{i \ne j}``, ``\sum_{i < j}``, ``\prod_{j \ne i}``.

The sum goes over all places, with a factor that is 1 where the relation holds and 0 elsewhere. What is infinite where
it does not hold, ``\frac{q_i q_j}{r_{ij}}`` with zeros on the diagonal, would spoil that, in the derivatives too. So
what stands below a bar, in a logarithm or a root, is 1 there.
"""

from __future__ import annotations

from dataclasses import dataclass

from ricci.functions.table import IN_TEXT
from ricci.notation import syntax
from ricci.notation.occurrences import Occurrences
from ricci.notation.syntax import Index, Node


@dataclass(frozen=True)
class Restriction:
    """A relation between two indices that stands below a sign; ``place`` are its first and its last token."""

    left: str
    sign: str
    right: str
    place: tuple[int, int]

    def mask(self, start: int, end: int) -> Node:
        """1 where it holds: ``1 - delta[i,j]``, ``[j >= i+1]``."""
        left, right = (self.left, self.right) if self.sign[0] != "<" else (self.right, self.left)
        more = 1 if self.sign in ("<", ">") else 0
        pair = (_index(left, start, end, 0), _index(right, start, end, more))
        made = syntax.Delta(start, end, pair, "==" if self.sign == "!=" else ">=")
        if self.sign != "!=":
            return made
        return syntax.SumNode(start, end, ((1, syntax.Number(start, end, 1)), (-1, made)))


def _index(name: str, start: int, end: int, more: int) -> Index:
    return Index(start, end, ((1, name),), more, plain=not more)


def restricted(body: Node, name: str, restriction: Restriction, count: Occurrences) -> Node:
    """What a sum, or a product, over all places is taken of instead of ``body``."""
    mask = restriction.mask(body.start, body.end)
    safe = _safe(body, {restriction.left, restriction.right}, mask, count)
    if name == "sum":
        return syntax.ProductNode(body.start, body.end, ((1, mask), (1, safe)))
    one = syntax.Number(body.start, body.end, 1)
    return syntax.CallNode(body.start, body.end, "where", (mask, safe, one), None, None)


def _safe(node: Node, names: set[str], mask: Node, count: Occurrences) -> Node:
    """With 1 for what may not be 0, or negative, where the relation does not hold."""
    if not names <= count.of(node).keys():
        return node
    parts = [_safe(part, names, mask, count) for part in syntax.children(node)]
    doubtful = [False] * len(parts)
    if isinstance(node, syntax.ProductNode):
        doubtful = [exponent < 0 for exponent, _ in node.factors]
    elif isinstance(node, syntax.Power):
        doubtful[0] = not (isinstance(node.exponent, syntax.Number) and isinstance(node.exponent.value, int))
    elif isinstance(node, syntax.CallNode):
        row = IN_TEXT.get(node.name)
        everywhere = row is not None and row.kind == "elementwise" and not row.domain
        doubtful = [not everywhere and not node.axes] * len(parts)
    for at, part in enumerate(parts):
        if doubtful[at] and names <= count.of(part).keys():
            one = syntax.Number(part.start, part.end, 1)
            parts[at] = syntax.CallNode(part.start, part.end, "where", (mask, part, one), None, None)
    return syntax.with_children(node, parts)
