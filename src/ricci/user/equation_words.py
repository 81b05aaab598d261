"""What an equation is called: its sides as their author has typed them, through the steps that are done to them.

The sides of an equation are expressions, which have no order and no names of dummies. So beside them an equation
keeps trees. A step makes new trees of these, by the rule that a person would write with, and they are kept only if the
reader takes them for the very equation that the step has made: nothing that is printed can differ from what is meant.
Where they do not read back, the sides are printed as any expression is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TYPE_CHECKING

from ricci.errors import RicciError
from ricci.expr import axis_size, variable
from ricci.notation import syntax
from ricci.notation.context import Context, Facts
from ricci.notation.declarations import PLAIN, Declarations
from ricci.notation.occurrences import indices_in, names_in
from ricci.notation.recurrences import recurrences
from ricci.notation.resolve import read_program, resolve
from ricci.show.own_words import signs_in_front
from ricci.user.formula import Formula, derive_in_text

if TYPE_CHECKING:
    from ricci.user.equations import Equation

Sides = Sequence[syntax.Node]
HOLE = "□"  # what a function is applied to, to see how it is written
LETTERS = "ijklmnpqrstuvwabcdefgh"


@dataclass(frozen=True)
class Wording:
    """The two sides as trees, the lines before them and what must be said of sizes; how they are to be read."""

    sizes: syntax.SizeLine
    before: Sequence[syntax.Statement]
    sides: Sides
    declared: Declarations = PLAIN

    @property
    def trees(self) -> list[syntax.Node]:
        """All that is written, but for what stands on the left of the lines before."""
        return [*self.sides, *[statement.body for statement in self.before]]

    @property
    def alone(self) -> bool:
        """Whether there is nothing but the two sides."""
        return not self.before and not self.sizes.tensors and not self.sizes.equations


def typed(formula: Formula) -> Wording | None:
    """The words of a formula that comes from a text, if it still is what the text says."""
    if formula.source is None or formula.origin is not None:
        return None
    text, _, position, declared = formula.source
    program = read_program(text, declared)
    bases = [own.base for own in recurrences(program).values()]
    last = [s for s in program.statements if s not in bases][position]
    if not formula.context.facts.heights:
        for index in program.standing:
            index.height = ""
    before = [s for s in program.statements if s.start < last.start and s.name is not None]
    if last.left is None:
        own = tuple([index.terms[0][1] if index.plain else "" for index in last.indices or ()])
        if before or bases or formula.name is None or last.name != formula.name or own != formula.indices:
            return None
        last = replace(last, left=syntax.TensorNode(0, 0, formula.name, last.indices))
    return Wording(program.sizes, before, [signs_in_front(side) for side in last.sides], declared)


def reworded(made: Equation, old: Wording | None, *candidates: Callable[[Sides], Sides | None]) -> Equation:
    """The equation that a step has made, with the first pair of trees made of the old ones that reads back to it."""
    if old is None or not old.alone:
        return made
    for candidate in candidates:
        sides = candidate(old.sides)
        if sides is not None and _reads_back(made, sides, old.declared):
            made.words = replace(old, sides=tuple(sides))
            break
    return made


def _reads_back(made: Equation, sides: Sides, declared: Declarations) -> bool:
    from ricci.show import text

    left, right = [text.render(side, text.SUM) for side in sides]
    free = f"  (no sum {', '.join(made.indices)})" if made.indices else ""
    try:
        found = resolve(f"({left}) = {right}{free}", {}, derive_in_text, declared=replace(declared, latex=False))[-1]
        own = [Formula(side.expr, side.names, found.context) for side in (found.left, found.value) if side is not None]
        return all(
            side.transpose(*made.indices) == Formula(whole.expr, whole.indices, whole.context)
            for side, whole in zip(own, (made.left, made.right), strict=True)
        )
    except RicciError:
        return False


# What steps do to the trees.


def mapped(function: Callable[[Formula], Formula], made: Equation) -> Callable[[Sides], Sides | None]:
    """The sides with a function around each: as it writes what it is applied to."""

    def around(sides: Sides) -> Sides | None:
        names = made.indices
        facts = Facts(inputs={HOLE: len(names)}, groups=[(n, ((HOLE, axis),)) for axis, n in enumerate(names)])
        shape = tuple([axis_size(HOLE, axis) for axis in range(len(names))])
        heights = made.left.heights
        if any(heights):
            facts.heights[HOLE] = heights
        try:
            written = function(Formula(variable(HOLE, shape), names, Context(facts), None, heights))
            *lines, last = tree_of(written)
        except Exception:  # the function is the user's own, and need not take what is no side of his
            return None
        return None if lines else [_filled(last.body, side) for side in sides]

    return around


def tree_of(formula: Formula) -> Sequence[syntax.Statement]:
    """The lines in which a formula is printed."""
    from ricci.show.express import program

    return program(formula.expr, formula.indices, formula.context.facts, None).statements


def _filled(node: syntax.Node, side: syntax.Node) -> syntax.Node:
    if isinstance(node, syntax.TensorNode):
        return side if node.name == HOLE else node
    return flat(syntax.with_children(node, [_filled(part, side) for part in syntax.children(node)]))


def added(term: Formula) -> Callable[[Sides], Sides | None]:
    """The sides with a term after them."""

    def more(sides: Sides) -> Sides | None:
        *lines, last = tree_of(term)
        return None if lines else [flat(syntax.SumNode(0, 0, ((1, side), (1, last.body)))) for side in sides]

    return more


def times(factor: Formula) -> Callable[[Sides], Sides | None]:
    """The sides with a factor behind them; not where numbers are to be collected, and deltas and ones to be used."""

    def more(sides: Sides) -> Sides | None:
        *lines, last = tree_of(factor)
        parts = list(syntax.within(last.body))
        used = any(isinstance(node, (syntax.Ones, syntax.Delta)) for node in parts)
        if lines or used or not any(isinstance(node, syntax.TensorNode) for node in parts):
            return None
        return [flat(syntax.ProductNode(0, 0, ((1, side), (1, last.body)))) for side in sides]

    return more


def summed(names: Sequence[str]) -> Callable[[Sides], Sides | None]:
    """The sides summed over indices that stand once in them."""
    ones = syntax.Ones(0, 0, tuple([syntax.Index(0, 0, ((1, name),), plain=True) for name in names]))
    return lambda sides: [flat(syntax.ProductNode(0, 0, ((1, ones), (1, side)))) for side in sides]


def substituted(old: syntax.Node, new: syntax.Node) -> Callable[[Sides], Sides | None]:
    """The sides with ``new`` in the place of a tensor by name: its free indices become those that it has there."""

    def put(sides: Sides) -> Sides | None:
        if not isinstance(old, syntax.TensorNode) or not all(index.plain for index in old.indices or ()):
            return None
        return [_Putting(old, new, _names_of(side)).in_place(side) for side in sides]

    return put


class _Putting:
    """Puts one tree in the place of a tensor in another, with dummies that nothing else has."""

    def __init__(self, old: syntax.TensorNode, new: syntax.Node, taken: set[str]):
        self.old, self.new, self.taken = old, new, taken
        self.free = [index.terms[0][1] for index in old.indices or ()]

    def in_place(self, node: syntax.Node) -> syntax.Node:
        if isinstance(node, syntax.TensorNode):
            return self.put(node) if node.name == self.old.name else node
        return flat(syntax.with_children(node, [self.in_place(part) for part in syntax.children(node)]))

    def put(self, node: syntax.TensorNode) -> syntax.Node:
        there = [index.terms[0][1] if index.plain else "" for index in node.indices or ()]
        if "" in there or len(there) != len(self.free):
            return node  # which does not read back
        names = dict(zip(self.free, there, strict=True))
        for dummy in sorted(_names_of(self.new) - set(self.free)):
            names[dummy] = dummy if dummy not in self.taken else next(n for n in _fresh() if n not in self.taken)
            self.taken.add(names[dummy])
        return syntax.renamed(self.new, names)


def _names_of(node: syntax.Node) -> set[str]:
    """All that could be taken for an index: the names of indices, and of tensors."""
    return {name for index in indices_in(node) for _, name in (*index.terms, *index.sizes)} | set(names_in(node))


def _fresh() -> Iterator[str]:
    return chain(LETTERS, (f"{letter}{number}" for number in count(1) for letter in "ijk"))


def flat(node: syntax.Node) -> syntax.Node:
    """A product of products, and a sum of sums, without the brackets that a step has put there."""
    if isinstance(node, syntax.ProductNode):
        factors: list[tuple[int, syntax.Node]] = []
        sign = 1
        for exponent, factor in node.factors:
            while isinstance(factor, syntax.Neg):
                sign, factor = -sign, factor.body
            inner = isinstance(factor, syntax.ProductNode) and exponent > 0
            factors += factor.factors if inner else [(exponent, factor)]  # type: ignore[union-attr]
        made = syntax.ProductNode(0, 0, tuple(factors))
        return made if sign > 0 else syntax.Neg(0, 0, made)
    if isinstance(node, syntax.SumNode):
        terms: list[tuple[int, syntax.Node]] = []
        for sign, term in node.terms:
            while isinstance(term, syntax.Neg):
                sign, term = -sign, term.body
            inner = term.terms if isinstance(term, syntax.SumNode) else ((1, term),)
            terms += [(sign * own, part) for own, part in inner]
        return syntax.SumNode(0, 0, tuple(terms))
    return node
