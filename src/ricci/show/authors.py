"""What the author of a formula has written, as far as printing keeps to it: sums, and scalars before a product."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ricci.expr import Expr, Sum, topological, variables
from ricci.expr.numbers import Number
from ricci.notation import syntax

Names = frozenset[str]
Typed = tuple[tuple[int, Names], ...]  # the terms of a sum, in order: a sign, and the inputs in the term


@dataclass(frozen=True)
class Author:
    """Sums, by their terms and as they were typed, and scalars that stand first in a product.

    Without ``sums`` all sums are the author's.
    """

    sums: frozenset[Hashable] | None = None
    typed: Mapping[frozenset[Names], Typed] = field(default_factory=dict)
    leading: frozenset[str] = frozenset()

    def wrote(self, e: Sum) -> bool:
        return self.sums is None or terms_of(e) in self.sums

    def order(self, e: Sum) -> tuple[int, list[int]] | None:
        """The terms in the order in which they were typed, after a sign: -1 where all signs were the other ones."""
        own = [frozenset([v.name for v in variables(a)]) for a in e.args] if self.typed else []
        typed = self.typed.get(frozenset(own))
        if typed is None or len(set(own)) < len(own):
            return None
        order = [own.index(names) for _, names in typed]
        signs = {sign * (1 if e.coefs[at] > 0 else -1) for (sign, _), at in zip(typed, order, strict=True)}
        return (signs.pop(), order) if len(signs) == 1 else None


NOBODY = Author()


def author_of(root: Expr, derived: bool, text: syntax.Statements | None) -> Author:
    """The author of a function with this form and text; of its derivatives, where what is said is one of these."""
    sums = sums_in(root) if derived else None
    return Author(sums) if text is None else Author(sums, typed_in(text), leading(text))


def sums_in(root: Expr) -> frozenset[Hashable]:
    return frozenset([terms_of(node) for node in topological(root) if isinstance(node, Sum)])


def terms_of(e: Sum) -> Hashable:
    """The terms of a sum, up to a number before all of them."""
    _, lead = max((a.key, c) for a, c in zip(e.args, e.coefs, strict=True))
    return frozenset([(a.key, _quotient(c, lead)) for c, a in zip(e.coefs, e.args, strict=True)])


def _quotient(a: Number, b: Number) -> Number:
    exact = isinstance(a, (int, Fraction)) and isinstance(b, (int, Fraction))
    return Fraction(a) / Fraction(b) if exact else a / b


def typed_in(tree: syntax.Statements) -> dict[frozenset[Names], Typed]:
    """The sums of a text, by the inputs in their terms, where these tell the terms apart.

    >>> from ricci.notation.resolve import read_program
    >>> (terms,) = typed_in(read_program("f = log(b[i] - A[i,j] x[j]) 1[i]")).values()
    >>> [(sign, sorted(names)) for sign, names in terms]
    [(1, ['b']), (-1, ['A', 'x'])]
    """
    inputs: dict[str, Names] = {}
    found: dict[frozenset[Names], Typed] = {}
    for statement in tree.statements:
        waiting = list(statement.sides)
        while waiting:
            node = waiting.pop()
            waiting += syntax.children(node)
            if isinstance(node, syntax.SumNode):
                terms = tuple([(sign, _inputs_of(term, inputs)) for sign, term in node.terms])
                names = frozenset([own for _, own in terms])
                if len(names) == len(terms):
                    found.setdefault(names, terms)
        if statement.name is not None:
            inputs[statement.name] = _inputs_of(statement.body, inputs)
    return found


def _inputs_of(node: syntax.Node, defined: Mapping[str, Names]) -> Names:
    names: set[str] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        waiting += syntax.children(part)
        if isinstance(part, syntax.TensorNode):
            names |= defined.get(part.name, {part.name})
    return frozenset(names)


def leading(tree: syntax.Statements) -> frozenset[str]:
    """The names of scalars that stand first in a product, after numbers: ``lam`` in ``1/2 lam x[i] x[i]``.

    >>> from ricci.notation.resolve import read_program
    >>> sorted(leading(read_program("y = 2 s x[i] x[i] + (x[i] z[i]) t")))
    ['s']
    """
    found = set()
    waiting: list[syntax.Node] = [side for statement in tree.statements for side in statement.sides]
    while waiting:
        node = waiting.pop()
        waiting += syntax.children(node)
        if isinstance(node, syntax.ProductNode):
            numbers = (syntax.Number, syntax.Size, syntax.Pi)
            first = next((factor for e, factor in node.factors if e > 0 and not isinstance(factor, numbers)), None)
            if isinstance(first, syntax.TensorNode) and not first.indices:
                found.add(first.name)
    return frozenset(found)
