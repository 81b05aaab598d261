"""Equations worked with by the rules of index notation: what is done to one side is done to the other.

Allowed are: renaming an index everywhere; mapping both sides by a function; adding a tensor with the same indices;
multiplying by a scalar, by a tensor with new free indices, or by one with a free index, which contracts it; and
substituting one equation into another. A step that the rules do not allow is refused with the rule that it breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ricci.checked_calls import takes
from ricci.errors import InputError, RuleError
from ricci.expr import Expr, Product, Variable, axis_size, product, rebuild, substitute, transform, variable
from ricci.expr.build.product import contract
from ricci.expr.walk import reopened
from ricci.functions.axes import open_factors
from ricci.notation import syntax
from ricci.notation.context import Context, Facts
from ricci.notation.heights import FLIPPED, KEEPS, WORDS, changed
from ricci.notation.occurrences import Occurrences, free_indices, in_indices
from ricci.show.phrases import unused
from ricci.user.formula import Formula, as_formula, check_contracted, heights_of


class Equation:
    """``left = right``, two formulas with the same free indices.

    >>> from ricci import parse, tensors, exp
    >>> eq = parse("a[i] = b[i,k] c[k]").equation
    >>> print(eq.apply(exp))
    exp(a[i]) = exp(b[i,k] c[k])
    >>> g, = tensors("g[j]")
    >>> print(eq.multiply(g))
    a[i] g[j] = b[i,k] c[k] g[j]
    """

    @takes("rc.Equation", left="formula", right="formula")
    def __init__(self, left: Formula, right: Formula):
        if set(left.indices) != set(right.indices):
            raise RuleError(f"The sides have different free indices: {_list(left.indices)} and {_list(right.indices)}.")
        heights_of(left.indices, [left, right])
        self.left = left
        self.right = right if left.indices == right.indices else right.transpose(*left.indices)

    @classmethod
    @takes("rc.Equation.of", right="formula")
    def of(cls, right: Formula) -> Equation:
        """A formula as an equation, with its own name, or one that nothing has, on the left."""
        left = right.name or unused({*right.context.facts.inputs, *right.context.facts.definitions})
        shape = tuple([axis_size(left, axis) for axis in range(right.order)])
        heights = right.standing
        facts = Facts(inputs={left: right.order}, groups=[(n, ((left, a),)) for a, n in enumerate(right.indices)])
        if any(heights):
            facts.heights[left] = heights
        return cls(Formula(variable(left, shape), right.indices, Context(facts), None, heights), right)

    @property
    def indices(self) -> tuple[str, ...]:
        """The free indices."""
        return self.left.indices

    def __str__(self) -> str:
        from ricci.show import text

        sizes, before, (left, right) = self._written()
        sides = f"{text.render(left, text.SUM)} = {text.render(right, text.SUM)}"
        sides += self._not_summed(left, right, "  (no sum {})")
        return "\n".join([*text.size_line(sizes), *map(text.statement, before), sides])

    def __repr__(self) -> str:
        return f"<ricci.Equation {self}>"

    @takes("equation.latex")
    def latex(self) -> str:
        """The equation in LaTeX."""
        from ricci.show import latex

        sizes, before, (left, right) = self._written()
        lines = [*latex.size_line(sizes), *[latex.statement(s, sign="&=") for s in before]]
        sign = "&=" if lines else "="
        sides = f"{latex.render(left, latex.SUM)} {sign} {latex.render(right, latex.SUM)}"
        sides += self._not_summed(left, right, r" \quad (\text{{no sum }} {})")
        return latex.aligned([*lines, sides]) if lines else sides

    def _written(self) -> tuple[syntax.SizeLine, list[syntax.Statement], list[syntax.Node]]:
        """What must be said of sizes, the lines that define parts of the sides, and the two sides."""
        from ricci.show.express import SyntaxWriter
        from ricci.show.page import Page

        before: dict[str | None, syntax.Statement] = {}
        sides, page = [], Page.of(self.left.expr, self.right.expr)
        for side in (self.left, self.right):
            page.claims = {}  # what is summed on one side has its names there
            writer = SyntaxWriter(side.expr, side.indices, _undefined(side), side.heights, page)
            *lines, last = writer.program(None).statements
            before |= {line.name: line for line in lines}
            sides.append(last.body)
        return page.sizes, list(before.values()), sides

    def _not_summed(self, left: syntax.Node, right: syntax.Node, words: str) -> str:
        """Where no side says which indices are free, those that a reader would take for summed."""
        if self.indices in (free_indices(left), free_indices(right)):
            return ""
        once = Occurrences()
        twice = [n for n in self.indices if any(len(once.of(side).get(n, ())) > 1 for side in (left, right))]
        return words.format(", ".join(twice)) if twice else ""

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Equation):
            return NotImplemented
        return self.left == other.left and self.right == other.right

    def __hash__(self) -> int:
        return hash((self.left, self.right))

    # What may be done to both sides.

    @takes("eq.rename")
    def rename(self, **names: str) -> Equation:
        """Rename free indices, on both sides."""
        dummies = self._dummies()
        for old, new in names.items():
            if old in self.indices and isinstance(new, str) and new in dummies:
                raise RuleError(f"{new!r} is a dummy index of this equation; a free index needs a name of its own.")
        return Equation(self.left.rename(names), self.right.rename(names))

    @takes("eq.apply", function="function")
    def apply(self, function: Callable[[Formula], Formula]) -> Equation:
        """Map both sides by an elementwise function: ``eq.apply(rc.exp)``."""
        left, right = function(self.left), function(self.right)
        if not isinstance(left, Formula) or not isinstance(right, Formula):
            raise InputError(f"eq.apply: the function gives a {type(left).__name__}, not a formula: eq.apply(rc.exp).")
        if left.indices != self.indices:
            raise RuleError("A function of both sides works entry by entry; to sum over a free index use contract.")
        return Equation(left, right)

    @takes("eq.add")
    def add(self, tensor: Any) -> Equation:
        """Add a tensor with the same indices, or a scalar, to both sides."""
        term = as_formula(tensor)
        if term.indices and set(term.indices) != set(self.indices):
            rule = "Only tensors of equal order and indices may be added"
            hint = _broadcast_hint(term.indices, self.indices)
            raise RuleError(f"{rule}: {_list(term.indices)} to {_list(self.indices)}. {hint}".rstrip())
        return Equation(self.left + term, self.right + term)

    @takes("eq.multiply")
    def multiply(self, tensor: Any) -> Equation:
        """Multiply both sides by a scalar, by new free indices, or by a free index, which is contracted then."""
        factor = as_formula(tensor)
        clash = self._dummies() & set(factor.indices)
        if clash:
            raise RuleError(
                f"Index {min(clash)!r} is already a dummy index of this equation and cannot be contracted again; "
                "rename it in the factor."
            )
        for name in self.indices:
            if name in factor.indices:
                check_contracted(self.left, name, factor, name)
        kept = [n for n in self.indices if n not in factor.indices] + [
            n for n in factor.indices if n not in self.indices
        ]
        return Equation(*(_times(side, factor, kept) for side in (self.left, self.right)))

    @takes("eq.contract", names="text")
    def contract(self, *names: str) -> Equation:
        """Sum both sides over free indices."""
        for name in names:
            if name in self._dummies():
                raise RuleError(f"Index {name!r} is already a dummy index and cannot be contracted again.")
            height = dict(zip(self.indices, self.left.standing, strict=True)).get(name, "")
            if height:
                raise RuleError(
                    f"Index {name!r} stands {WORDS[height]}, and only an index above is contracted with one below; "
                    f"multiply by a tensor that has it {WORDS[FLIPPED[height]]}."
                )
        return Equation(self.left.sum(*names), self.right.sum(*names))

    @takes("eq.substitute")
    def substitute(self, other: Formula | Equation) -> Equation:
        """Use another equation in this one: its left side is replaced by its right side, or, where the left side does
        not occur, its right side by its left side."""
        if not isinstance(other, (Formula, Equation)):
            raise InputError(f"eq.substitute takes an equation or a formula, not a {type(other).__name__}.")
        given = other.equation if isinstance(other, Formula) else other
        name = given.left.expr
        if not isinstance(name, Variable):
            raise RuleError("An equation can be substituted when its left side is a tensor by name.")
        return Equation(*(_substituted(side, name, given.right) for side in (self.left, self.right)))

    def _dummies(self) -> set[str]:
        """The names of summed indices, as the sides are printed."""
        return {name for side in (self.left, self.right) for name in _printed_indices(side)} - set(self.indices)


def _program(side: Formula):
    """The tree of a side, without the names that the user has defined for parts of it."""
    from ricci.show.express import program

    return program(side.expr, side.indices, _undefined(side), None)


def _undefined(side: Formula) -> Facts:
    return replace(side.context.facts, definitions={})


def _list(names: tuple[str, ...]) -> str:
    return "[" + ",".join(names) + "]" if names else "none"


def _broadcast_hint(found: tuple[str, ...], wanted: tuple[str, ...]) -> str:
    lacking = [name for name in wanted if name not in found]
    return f"Multiply it by the one-tensor 1[{','.join(lacking)}] first." if lacking else ""


def _times(side: Formula, factor: Formula, kept: list[str]) -> Formula:
    expr = contract([(side.expr, side.indices), (factor.expr, factor.indices)], kept)
    own = {n: h for part in (side, factor) for n, h in zip(part.indices, part.standing, strict=True)}
    return Formula(expr, kept, side.context.merged(factor.context), None, tuple([own[n] for n in kept]))


def _printed_indices(side: Formula) -> Iterator[str]:
    for statement in _program(side).statements:
        stack = [statement.body]
        while stack:
            node = stack.pop()
            yield from in_indices(getattr(node, "indices", None) or ())
            yield from in_indices(getattr(node, "axes", None) or ())
            stack += syntax.children(node)


def _substituted(side: Formula, name: Variable, value: Formula) -> Formula:
    found = [v for v in _variables(side.expr) if v.name == name.name]
    context = side.context.merged(value.context)
    if found:
        if len(found[0].shape) != value.order:
            raise RuleError(
                f"{name.name!r} has {len(found[0].shape)} indices here and {value.order} in the other equation."
            )
        heights = context.facts.heights.get(name.name, ()) or ("",) * value.order
        if heights != value.standing:
            raise RuleError(f"{changed(name.name, heights, value.standing)} {KEEPS}")
        expr = reopened(substitute(side.expr, {found[0]: value.expr}))
        return Formula(expr, side.indices, context, side.name, side.heights)
    replaced = transform(side.expr, _Replacing(value.expr, name))
    return Formula(replaced, side.indices, context, side.name, side.heights)


def _variables(expr: Expr) -> list[Variable]:
    from ricci.expr import variables

    return variables(expr)


class _Replacing:
    """A step of a walk that puts a name in the place of an expression."""

    def __init__(self, pattern: Expr, name: Variable):
        self.pattern, self.name = pattern, name
        self.factors = _open_factors(pattern)
        self.out = tuple(range(len(pattern.shape)))

    def __call__(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        new = rebuild(node, args)
        if new is self.pattern:
            return self.name
        if not isinstance(new, Product) or len(self.factors) < 2:
            return new
        factors = _open_factors(new)
        for match, rest in _matches(self.factors, factors):
            broken = self._broken(match, rest, len(new.shape))
            if broken is not None:
                raise RuleError(
                    "One may not substitute into part of a contraction: the index summed in the other equation also "
                    "stands in a factor outside it."
                )
            operands = [*rest, (self.name, tuple([match[label] for label in self.out]))]
            return product(operands, range(len(new.shape)), dict(enumerate(new.shape)))
        return new

    def _broken(self, match: dict, rest: list, order: int) -> object | None:
        """A label that the pattern sums over and the rest, or the result, still has."""
        outside = {label for _, labels in rest for label in labels} | set(range(order))
        summed = [label for _, labels in self.factors for label in labels if not isinstance(label, int)]
        return next((label for label in summed if match[label] in outside), None)


def _open_factors(e: Expr) -> list[tuple[Expr, tuple]]:
    """Factors with axes as numbers and summed labels as tuples, contractions opened."""
    return open_factors(e) if isinstance(e, Product) else [(e, tuple(range(len(e.shape))))]


def _matches(pattern: list[tuple[Expr, tuple]], factors: list[tuple[Expr, tuple]]) -> Iterator[tuple[dict, list]]:
    """Ways to find the factors of ``pattern`` among ``factors``: the labels that correspond, and the factors left."""
    stack: list[tuple[int, dict, list]] = [(0, {}, factors)]
    while stack:
        place, match, rest = stack.pop()
        if place == len(pattern):
            yield match, rest
            continue
        expr, labels = pattern[place]
        for factor in rest:
            if factor[0] is expr:
                extended = dict(match)
                if all(extended.setdefault(a, b) == b for a, b in zip(labels, factor[1], strict=True)):
                    stack.append((place + 1, extended, [f for f in rest if f is not factor]))
