"""Complex numbers on the board: a number and its conjugate are two names, ``z`` and ``z*``, of which neither depends on
the other.

So the rules of differentiation, which go by names, give Wirtinger's derivatives. Before anything is derived conjugates
go down to names, and what a number and its conjugate tell together is written with both:

    abs(u)**2 = u conj(u)     real(u) = (u + conj(u))/2     angle(u) = (log(u) - log(conj(u))) / 2j
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from fractions import Fraction

from ricci.functions.table import IN_TEXT
from ricci.notation import syntax
from ricci.notation.bars import conjugate_of, is_complex
from ricci.show.deriving.making import minus, number, plus, rebuilt, times
from ricci.show.deriving.typed_trees import Fresh, SummedTerm, UnreadError, refreshed

STAR = "*"  # at the end of a name, which nobody can type there
LINEAR = frozenset(("sum", "mean"))
HALF = Fraction(1, 2)


def starred(name: str) -> str:
    return name[:-1] if name.endswith(STAR) else name + STAR


def without_stars(node: syntax.Node) -> syntax.Node:
    """A tree with conjugates as they are written."""
    if isinstance(node, syntax.TensorNode):
        return conjugate_of(node, node.name[:-1]) if node.name.endswith(STAR) else node
    if isinstance(node, syntax.Derivative) and node.variable.name.endswith(STAR):
        node = replace(node, variable=replace(node.variable, name=node.variable.name[:-1]), conjugate=True)
    parts = syntax.children(node)
    new = [without_stars(part) for part in parts]
    return syntax.with_children(node, new) if any(a is not b for a, b in zip(parts, new, strict=True)) else node


class Conjugates:
    """The conjugates of one program; ``names`` are those of complex numbers, ``turned`` of Hermitian matrices."""

    def __init__(self, names: Collection[str], turned: Collection[str], fresh: Fresh):
        self.names = {*names, *map(starred, names)}
        self.turned, self.fresh = frozenset(turned), fresh

    def is_complex(self, node: syntax.Node) -> bool:
        return is_complex(node, self.names)

    def of(self, node: syntax.Node) -> syntax.Node:
        """The conjugate of a tree, a copy with sums of its own."""
        return refreshed(self.turn(node), self.fresh) if self.is_complex(node) else node

    def turn(self, node: syntax.Node) -> syntax.Node:
        if isinstance(node, syntax.TensorNode):
            if node.name in self.turned:
                if node.indices is None:
                    raise UnreadError("a Hermitian matrix without indices")
                return replace(node, indices=node.indices[::-1])
            return replace(node, name=starred(node.name)) if node.name in self.names else node
        if isinstance(node, syntax.Imaginary):
            return minus(node)
        if isinstance(node, syntax.CallNode):
            row = IN_TEXT.get(node.name)
            if not self.is_complex(node):
                return node
            if node.name == "conj":
                return node.args[0]
            kept = row is not None and row.complex == "kept" and row.kind == "elementwise"
            if not kept and node.name not in LINEAR:
                raise UnreadError("a conjugate of a function")
        if isinstance(node, (syntax.Derivative, syntax.Compare)):
            raise UnreadError("a conjugate of a derivative")
        parts = [self.turn(part) for part in syntax.children(node)]
        negative = [isinstance(part, syntax.Neg) for part in parts]
        bare = [part.body if isinstance(part, syntax.Neg) else part for part in parts]
        if isinstance(node, syntax.ProductNode):
            made = syntax.with_children(node, bare)
            return minus(made) if sum(negative) % 2 else made
        if isinstance(node, syntax.SumNode):
            signs = [-sign if turned else sign for (sign, _), turned in zip(node.terms, negative, strict=True)]
            return syntax.SumNode(0, 0, tuple(zip(signs, bare, strict=True)))
        if isinstance(node, syntax.Neg):
            return bare[0] if negative[0] else minus(bare[0])
        return syntax.with_children(node, parts)

    def plainly(self, node: syntax.Node) -> syntax.Node:
        """A tree with stars for the conjugates in it."""
        node = syntax.with_children(node, [self.plainly(part) for part in syntax.children(node)])
        if isinstance(node, syntax.CallNode) and node.name == "conj":
            return self.turn(node.args[0])
        return node

    def apart(self, node: syntax.Node) -> tuple[syntax.Node, list[str]]:
        """A tree in names and their conjugates, and the names of the rules that were used."""
        rules: dict[str, None] = {}
        made = self._apart(node, rules)
        return made, list(rules)

    def _apart(self, node: syntax.Node, rules: dict[str, None]) -> syntax.Node:
        if isinstance(node, syntax.Power) and isinstance(node.base, syntax.CallNode) and node.base.name == "abs":
            value = node.exponent.value if isinstance(node.exponent, syntax.Number) else None
            u = node.base.args[0]
            if isinstance(value, int) and value % 2 == 0 and not self.is_complex(u):
                u = self._apart(u, rules)
                rules["abs(u)**2 = u**2"] = None
                return syntax.Power(0, 0, u, number(value))
            if isinstance(value, int) and value % 2 == 0:
                u = self._apart(u, rules)
                rules["abs(u)**2 = u conj(u)"] = None
                square = times([(1, u), (1, self.of(u))])
                return square if value == 2 else syntax.Power(0, 0, square, number(value // 2))
        old = syntax.children(node)
        parts = [self._apart(part, rules) for part in old]
        complex_call = isinstance(node, syntax.CallNode) and any(map(self.is_complex, node.args))
        node = rebuilt(node, {id(a): b for a, b in zip(old, parts, strict=True) if a is not b})
        if not isinstance(node, syntax.CallNode) or not complex_call:
            return node
        found = CALLS.get(node.name)
        if found is not None:
            if node.name != "conj" or not isinstance(parts[0], syntax.TensorNode):
                rules[found[0]] = None
            return found[1](self, parts[0])
        row = IN_TEXT.get(node.name)
        if row is not None and row.complex == "real":
            raise UnreadError("a real function of complex numbers")
        return node

    def size(self, u: syntax.Node) -> syntax.Node:
        return syntax.CallNode(0, 0, "sqrt", (times([(1, u), (1, self.of(u))]),), None, None)

    def real(self, u: syntax.Node) -> syntax.Node:
        return times([(1, number(HALF)), (1, plus([(1, u), (1, self.of(u))]))])

    def imag(self, u: syntax.Node) -> syntax.Node:
        return self.over_unit(u, self.of(u))

    def angle(self, u: syntax.Node) -> syntax.Node:
        log = [syntax.CallNode(0, 0, "log", (part,), None, None) for part in (u, self.of(u))]
        return self.over_unit(*log)

    def over_unit(self, one: syntax.Node, other: syntax.Node) -> syntax.Node:
        """The difference of a number and its conjugate over twice the imaginary unit."""
        return SummedTerm(0, 0, ((1, plus([(1, one), (-1, other)])), (-1, syntax.Imaginary(0, 0, 2))))

    def sign(self, u: syntax.Node) -> syntax.Node:
        return SummedTerm(0, 0, ((1, u), (-1, self.size(refreshed(u, self.fresh)))))


CALLS: Mapping[str, tuple[str, Callable[[Conjugates, syntax.Node], syntax.Node]]] = {
    "conj": ("conj of each part", Conjugates.of),
    "abs": ("abs(u) = sqrt(u conj(u))", Conjugates.size),
    "real": ("real(u) = (u + conj(u))/2", Conjugates.real),
    "imag": ("imag(u) = (u - conj(u))/2j", Conjugates.imag),
    "angle": ("angle(u) = (log(u) - log(conj(u)))/2j", Conjugates.angle),
    "sign": ("sign(u) = u/abs(u)", Conjugates.sign),
}
