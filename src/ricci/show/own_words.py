"""Trees as an author has typed them, made ready to be written again with no bracket that was not typed.

The parser takes a minus before a product for one of its first factor. People write, and mean, a minus before all of it.
"""

from __future__ import annotations

from dataclasses import replace

from ricci.notation import syntax


def as_written(statement: syntax.Statement) -> syntax.Statement:
    """A statement of an author."""
    return replace(statement, body=signs_in_front(statement.body))


def signs_in_front(node: syntax.Node) -> syntax.Node:
    """A tree with signs in front of products and sums, all the way down."""
    node = syntax.with_children(node, [signs_in_front(part) for part in syntax.children(node)])
    if isinstance(node, syntax.ProductNode):
        (exponent, first), *rest = node.factors
        if exponent > 0 and isinstance(first, syntax.Neg):
            body = syntax.ProductNode(first.body.start, node.end, ((1, first.body), *rest))
            return syntax.Neg(node.start, node.end, body)
    if isinstance(node, syntax.SumNode):
        (sign, first), *rest = node.terms
        if sign > 0 and isinstance(first, syntax.Neg):
            return syntax.SumNode(node.start, node.end, ((-sign, first.body), *rest))
    return node
