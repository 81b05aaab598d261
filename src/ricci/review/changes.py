"""Places in a tree, and changes at them."""

from __future__ import annotations

from dataclasses import dataclass
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


def fraction(value: Fraction, at: Node) -> list[tuple[int, Node]]:
    """A number as factors."""
    factors: list[tuple[int, Node]] = [(1, syntax.Number(at.start, at.start, abs(value.numerator)))]
    if value.denominator > 1:
        factors.append((-1, syntax.Number(at.start, at.start, value.denominator)))
    return factors
