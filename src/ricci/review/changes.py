"""Places in a tree, and changes at them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from ricci.notation import syntax
from ricci.notation.syntax import Node


@dataclass(slots=True)
class Place:
    """A node of a tree, and the place of the node around it with the number of this one in it."""

    node: Node
    around: Place | None = None
    number: int = 0

    def tree(self, new: Node) -> Node:
        """The whole tree with another node here."""
        place: Place | None = self
        while place is not None and place.around is not None:
            parts = syntax.children(place.around.node)
            parts[place.number] = new
            new, place = syntax.with_children(place.around.node, parts), place.around
        return new

    @property
    def above(self) -> list[Node]:
        """The nodes around it, the closest one first."""
        found, place = [], self.around
        while place is not None:
            found.append(place.node)
            place = place.around
        return found


@dataclass(slots=True)
class Edit:
    """A change: of which kind, what stands at the place now and what should, and the whole side with it."""

    kind: str
    place: Place
    new: Node
    tree: Node
    spot: Node | None = None  # what the caret stands under, where it is not all that stands at the place
    extra: Node | None = None  # what is put in
    number: Fraction | None = None  # by what a term is to be multiplied
    sizes: tuple[str, ...] = ()  # and by the sizes of which indices; divided by those with a "/" before them
    turned: bool = False  # whether a sign is wrong too
    twofold: bool = False  # whether a number is

    @property
    def old(self) -> Node:
        return self.spot or self.place.node


def places(tree: Node) -> list[Place]:
    """All places, from the top."""
    found = [Place(tree)]
    for place in found:  # which grows
        found += [Place(part, place, k) for k, part in enumerate(syntax.children(place.node))]
    return found


def negative(node: Node) -> Node:
    """The opposite."""
    if isinstance(node, syntax.Neg):
        return node.body
    if isinstance(node, syntax.Number):
        return syntax.Neg(node.start, node.end, node)
    return syntax.Neg(node.start, node.end, node)


def is_term(place: Place) -> bool:
    """Whether a factor may be put beside what stands here: it is a term, an argument, a base or a whole side."""
    around = place.around
    if around is None:
        return True
    if isinstance(place.node, (syntax.SumNode, syntax.Neg, syntax.Compare)):
        return False
    terms = (syntax.SumNode, syntax.CallNode, syntax.Neg, syntax.Derivative, syntax.Compare)
    return isinstance(around.node, terms) or (isinstance(around.node, syntax.Power) and place.number == 0)


def one(at: Node) -> syntax.Number:
    return syntax.Number(at.start, at.start, 1)


def tidied(tree: Node, typed: Node) -> Node:
    """A tree with one number in front of each product, and no factor 1, but for the products that were typed so."""
    return _tidied(tree, {id(node) for node in syntax.within(typed)})


def _tidied(node: Node, typed: set[int]) -> Node:
    if id(node) in typed:
        return node
    node = syntax.with_children(node, [_tidied(part, typed) for part in syntax.children(node)])
    if not isinstance(node, syntax.ProductNode):
        return node
    value, others = _number_of(node)
    if value is None or not others or not _several_numbers(node):
        return node
    front = fraction(value, node) if value != 1 or others[0][0] < 0 else []
    whole = (*front, *others)
    return whole[0][1] if len(whole) == 1 else replace(node, factors=whole)


def _several_numbers(node: syntax.ProductNode) -> bool:
    """Whether a product has a factor 1, or more than one number; a fraction in front, 1/2, is one."""
    above = [f for e, f in node.factors if e > 0]
    numbers = [f.value for f in above if isinstance(f, syntax.Number)]
    inside = [f for _, f in node.factors if isinstance(f, syntax.ProductNode) and _number_of(f)[0] != 1]
    return (1 in numbers and len(above) > 1) or len(numbers) + len(inside) > 1


def _number_of(node: Node) -> tuple[Fraction | None, list[tuple[int, Node]]]:
    """The number in a product, those in products that are its factors among it, and the other factors; no number where
    it is not exact."""
    if isinstance(node, syntax.Number):
        exact = isinstance(node.value, (int, Fraction)) and node.value > 0
        return (Fraction(node.value), []) if exact else (None, [])
    if not isinstance(node, syntax.ProductNode):
        return Fraction(1), [(1, node)]
    value, others = Fraction(1), []
    for exponent, factor in node.factors:
        number, rest = _number_of(factor)
        if number is None:
            return None, []
        if rest and (number == 1 or (exponent < 0 and rest[0][0] < 0)):
            others.append((exponent, factor))
            continue
        value *= number**exponent
        if exponent < 0 and len(rest) > 1:  # what is left of a product below a bar
            rest = [(1, replace(factor, factors=tuple(rest)))]
        others += [(e * exponent, f) for e, f in rest]
    return value, others


def fraction(value: Fraction, at: Node) -> list[tuple[int, Node]]:
    """A number as factors."""
    factors: list[tuple[int, Node]] = [(1, syntax.Number(at.start, at.start, abs(value.numerator)))]
    if value.denominator > 1:
        factors.append((-1, syntax.Number(at.start, at.start, value.denominator)))
    return factors
