"""Proofs that two expressions are equal, wherever both are defined: both have one normal form.

Everything is distributed, reductions of sums become sums of reductions, functions are brought to few.
``polynomials.py`` has the form, ``exponents.py``, ``entrywise.py`` and ``matrices.py`` what each function becomes. A
proof is a difference that comes to zero, perhaps after its denominators are cleared. That none was found says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ricci.errors import DTypeError
from ricci.expr import (
    Elementwise,
    Expr,
    Function,
    Product,
    Size,
    Structure,
    Sum,
    numeric,
    topological,
    variable,
    variables,
)
from ricci.expr.settle import SizeClasses, settled
from ricci.expr.structures import is_one, is_zero
from ricci.simplify.proof.exponents import ONE
from ricci.simplify.proof.matrices import Matrices
from ricci.simplify.proof.polynomials import UNIT, Label, Mono, Poly, TooLong, number, plain, relabelled, total

MOST_NODES = 400
CLEARED = 3  # times that denominators are cleared: doing so may bring up others


def proved_equal(one: Expr, other: Expr, linked: Iterable[tuple[Size, Size]] = ()) -> bool:
    """Whether a proof was found; ``linked`` are sizes that are known to agree."""
    linked = list(linked)
    mark = variable("·", ())  # keeps the two apart until both are in normal form
    both = settled(one + mark * other, linked)
    if len(topological(both)) > MOST_NODES:
        return False
    prover = Prover(both, linked)
    try:
        left = total([(-1 if _has(m, mark) else 1, {_without(m, mark): c}) for m, c in prover.normal(both).items()])
        for _ in range(CLEARED):
            left = prover.cleared(left)
        return not left
    except (TooLong, DTypeError):  # where it is not seen that something is real
        return False


def _has(m: Mono, mark: Expr) -> bool:
    return any(head is mark for (head, _), _ in m)


def _without(m: Mono, mark: Expr) -> Mono:
    return tuple([item for item in m if item[0][0] is not mark])


class Prover(Matrices):
    """Normal forms of parts of an expression; labels are the numbers of their axes."""

    def __init__(self, root: Expr, linked: Iterable[tuple[Size, Size]] = ()):
        super().__init__()
        self.classes = SizeClasses(root, linked=linked)
        for v in variables(root):
            for size in v.shape:
                self.names.setdefault(self.classes.find(size), size)

    def named(self, size: Size) -> Size:
        return self.names.get(self.classes.find(size), size)

    def normal(self, root: Expr) -> Poly:
        for node in topological(root):
            if node not in self.done:
                self.done[node] = self.reduced_sum(self._of(node))
        return self.done[root]

    def _of(self, node: Expr) -> Poly:
        axes = tuple(range(len(node.shape)))
        if isinstance(node, Sum):
            coefs = [number(c).get(UNIT, Fraction(0)) for c in node.coefs]
            return total([(c, self.done[a]) for c, a in zip(coefs, node.args, strict=True)])
        if isinstance(node, Product):
            return self._product(node)
        if isinstance(node, Elementwise):
            return self.elementwise(node, [self.done[a] for a in node.args])
        if isinstance(node, Function):
            return self.function(node)
        if isinstance(node, Structure):
            return ONE if is_one(node) else {} if is_zero(node) else plain(node, axes)
        value = numeric(node)
        return number(value) if value is not None else plain(node, axes)

    def _product(self, node: Product) -> Poly:
        sizes: dict[Label, Size] = {}
        polys = []
        for a, labels in node.factors():
            sizes.update(zip(labels, a.shape, strict=True))
            polys.append(self.reduced_sum(relabelled(self.done[a], {k: ("p", x) for k, x in enumerate(labels)})))
        whole = self.product(polys)
        over = {("p", x): n for x, n in sizes.items() if x not in node.out}
        if over:
            whole = self.summed(whole, over)
        return relabelled(whole, {("p", x): k for k, x in enumerate(node.out)})


__all__ = ["Prover", "TooLong", "proved_equal"]
