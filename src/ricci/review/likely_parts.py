"""Parts that may be missing in a line: terms and factors that stand above it, multiplied out, or in other words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ricci.notation import syntax
from ricci.notation.occurrences import indices_in
from ricci.notation.syntax import Node
from ricci.show.text import SUM, render


def said_by_names(tree: Node, definitions: Sequence[syntax.Statement]) -> Node:
    """A tree in which what has a name is said by it.

    >>> from ricci.notation.resolve import read_program
    >>> from ricci.show.text import SUM, render
    >>> *before, last = read_program("p[i] = exp(x[i]); y[j] = 2 exp(x[j])").statements
    >>> render(said_by_names(last.body, before), SUM)
    '2 p[j]'
    """
    for statement in definitions:
        own = index_names(statement.body)
        these = index_names(tree)
        free = [index.terms[0][1] for index in statement.indices or () if index.plain]
        if statement.name and type(tree) is type(statement.body) and len(own) == len(these) and set(free) <= set(own):
            names = dict(zip(own, these, strict=True))
            if render(syntax.renamed(statement.body, names), SUM) == render(tree, SUM):
                indices = tuple([syntax.Index(0, 0, ((1, names[name]),), plain=True) for name in free])
                return syntax.TensorNode(tree.start, tree.end, statement.name, indices or None)
    parts = [said_by_names(part, definitions) for part in syntax.children(tree)]
    return syntax.with_children(tree, parts) if parts else tree


def distributed(tree: Node) -> Iterator[Node]:
    """The terms of a product with a bracket, multiplied out."""
    for node in syntax.within(tree):
        for k, (exponent, factor) in enumerate(node.factors if isinstance(node, syntax.ProductNode) else ()):
            if exponent > 0 and isinstance(factor, syntax.SumNode) and isinstance(node, syntax.ProductNode):
                for _, term in factor.terms:
                    yield replace(node, factors=(*node.factors[:k], (1, term), *node.factors[k + 1 :]))


def inner_derivatives(tree: Node) -> Iterator[Node]:
    """The derivatives that the rules make of those in a tree: of terms, factors and arguments; and of a product, the
    terms of the product rule."""
    for node in syntax.within(tree):
        if not isinstance(node, syntax.Derivative):
            continue
        stack = [node.body]
        while stack:
            body = stack.pop()
            stack += [part for part in syntax.children(body) if not isinstance(part, syntax.Number)]
            if isinstance(body, syntax.ProductNode):
                for k, (exponent, factor) in enumerate(body.factors):
                    if exponent > 0 and not isinstance(factor, (syntax.Number, syntax.Ones)):
                        inner = replace(node, body=factor)
                        yield replace(body, factors=(*body.factors[:k], (1, inner), *body.factors[k + 1 :]))
            if body is not node.body and not isinstance(body, (syntax.Number, syntax.Ones, syntax.Delta)):
                yield replace(node, body=body)


def index_names(tree: Node) -> list[str]:
    return [name for index in indices_in(tree) for _, name in index.terms]
