"""Equations worked with by the rules of index notation: what is done to one side is done to the other.

Allowed are: renaming an index everywhere; mapping both sides by a function; adding a tensor with the same indices;
multiplying by a scalar, by a tensor with new free indices, or by one with a free index, which contracts it; and
substituting one equation into another. A step that the rules do not allow is refused with the rule that it breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, permutations
from math import prod
from typing import Any

from ricci.checked_calls import is_index, shown, takes
from ricci.errors import InputError, RuleError
from ricci.expr import Expr, Product, Variable, axis_size, product, rebuild, substitute, transform, variable, variables
from ricci.expr.build.product import contract
from ricci.expr.structures import symmetric
from ricci.expr.walk import reopened
from ricci.functions.axes import open_factors
from ricci.notation import syntax
from ricci.notation.context import Context, Facts
from ricci.notation.heights import FLIPPED, KEEPS, WORDS, changed
from ricci.notation.occurrences import Occurrences, in_indices, indices_in
from ricci.show.phrases import unused
from ricci.simplify.symmetry import is_of_kind
from ricci.user.equation_words import Wording, added, mapped, reworded, substituted, summed, times, typed
from ricci.user.formula import Formula, as_formula, check_contracted, heights_of
from ricci.user.written_out import EquationSystem, system

LARGEST_SYSTEM = 100_000  # places of the indices that are written out
MOST_MATCHES = 64  # of one equation in a product of another, that are looked at


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
        self.words: Wording | None = None  # how it is written, if not as its sides are printed

    @classmethod
    def of_sides(cls, formula: Formula) -> Equation:
        """The equation of a text with an expression on either side; it is printed as it was typed."""
        assert formula.left is not None
        made = cls(formula.left, Formula(formula.expr, formula.indices, formula.context, None, formula.heights))
        made.words = typed(formula)
        return made

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
        made = cls(Formula(variable(left, shape), right.indices, Context(facts), None, heights), right)
        made.words = typed(right)
        return made

    @property
    def indices(self) -> tuple[str, ...]:
        """The free indices."""
        return self.left.indices

    def __str__(self) -> str:
        from ricci.show import text

        written = self._written()
        left, right = written.sides
        sides = f"{text.render(left, text.SUM)} = {text.render(right, text.SUM)}"
        names = ", ".join(self._not_summed(left, right))
        sides += f"  (no sum {names})" if names else ""
        return "\n".join([*text.size_line(written.sizes), *map(text.statement, written.before), sides])

    def __repr__(self) -> str:
        return f"<ricci.Equation {self}>"

    @takes("equation.latex")
    def latex(self) -> str:
        """The equation in LaTeX."""
        from ricci.show import latex

        written = self._written()
        left, right = written.sides
        with latex.letters_of(written.trees, [*written.before, *written.sizes.tensors]).apply():
            lines = [*latex.size_line(written.sizes), *[latex.statement(s, sign="&=") for s in written.before]]
            sign = "&=" if lines else "="
            sides = f"{latex.render(left, latex.SUM)} {sign} {latex.render(right, latex.SUM)}"
        names = ", ".join(map(latex.label, self._not_summed(left, right)))
        sides += rf" \quad\text{{(no sum ${names}$)}}" if names else ""
        return latex.aligned([*lines, sides]) if lines else sides

    def _written(self) -> Wording:
        """What must be said of sizes, the lines that define parts of the sides, and the two sides."""
        from ricci.show.express import SyntaxWriter
        from ricci.show.page import Page

        if self.words is not None:
            return self.words
        before: dict[str | None, syntax.Statement] = {}
        sides, page = [], Page.of(self.left.expr, self.right.expr)
        for side in (self.left, self.right):
            page.claims = {}  # what is summed on one side has its names there
            writer = SyntaxWriter(side.expr, side.indices, _undefined(side), side.heights, page)
            *lines, last = writer.program(None).statements
            before |= {line.name: line for line in lines}
            sides.append(last.body)
        return Wording(page.sizes, list(before.values()), sides)

    def _not_summed(self, left: syntax.Node, right: syntax.Node) -> tuple[str, ...]:
        """Where no name on the left says which indices are free, those that a reader would take for summed."""
        once = Occurrences()
        here = [once.of(side) for side in (left, right)]
        if isinstance(left, syntax.TensorNode) and all(len(places) == 1 for places in here[0].values()):
            return ()
        return tuple([name for name in self.indices if any(len(side.get(name, ())) > 1 for side in here)])

    @takes("eq.expand")
    def expand(self, **sizes: int) -> EquationSystem:
        """The equation written out: a line for each value of a free index, and sums over dummies as sums of terms.

        >>> from ricci import parse
        >>> print(parse("a[i] b[i] = c[i] d[i]  (no sum i)").equation.expand(i=2))
        a[0] b[0] = c[0] d[0]
        a[1] b[1] = c[1] d[1]
        """
        written = self._written()
        if self.words is not None and written.before:  # whose parts would not be written out
            written = Equation(self.left, self.right)._written()
        sides = written.sides
        known = {n for side in sides for index in indices_in(side) for _, n in index.terms} | set(self.indices)
        for name, size in sizes.items():
            if name not in known:
                raise RuleError(f"There is no index {name!r} to write out; the indices are {', '.join(sorted(known))}.")
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise InputError(f"eq.expand: the size of {name!r} is a positive whole number, not {shown(size)}.")
            length = dict(zip(self.indices, self.left.shape, strict=True)).get(name)
            if isinstance(length, int) and length != size:
                raise RuleError(f"Index {name!r} has the size {length}, not {size}.")
        if prod(sizes.values()) > LARGEST_SYSTEM:
            message = (
                f"eq.expand: these sizes give {prod(sizes.values()):,} terms; at most {LARGEST_SYSTEM:,} are written."
            )
            raise InputError(f"{message} Write out fewer indices, or smaller ones.")
        return system(sides, written.before, self.indices, self._not_summed(*sides), sizes)

    def _repr_latex_(self) -> str:
        from ricci.show.fitting import in_notebook

        return in_notebook(self.latex())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Equation):
            return NotImplemented
        return self.left == other.left and self.right == other.right

    def __hash__(self) -> int:
        return hash((self.left, self.right))

    # What may be done to both sides.

    @takes("eq.rename", names="new names or None")
    def rename(self, names: Mapping[str, str] | None = None, **more: str) -> Equation:
        """Rename indices, free ones on both sides, and dummies, which changes nothing but how the equation reads.

        >>> from ricci import parse
        >>> print(parse("a[i] = b[i,k] c[k]").equation.rename(i="p", k="q"))
        a[p] = b[p,q] c[q]
        """
        names = {**(names or {}), **more}
        dummies = self._dummies()
        free = {old: new for old, new in names.items() if old in self.indices or old not in dummies}
        made = Equation(self.left.rename(free), self.right.rename(free))
        for old, new in names.items():
            if not is_index(new):
                raise InputError(f'eq.rename: {shown(new)} is not a name of an index: eq.rename({old}="p").')
            if old in free and new in dummies - names.keys():
                raise RuleError(f"{new!r} is a dummy index of this equation; a free index needs a name of its own.")
            if old not in free and new in {*self.indices, *dummies} - names.keys():
                raise RuleError(f"{new!r} is already an index of this equation; a dummy index needs a name of its own.")
        if len(set(names.values())) < len(names):
            raise RuleError(f"Two indices cannot both be named {max(names.values(), key=[*names.values()].count)!r}.")
        return reworded(made, self._written(), lambda sides: [syntax.renamed(side, names) for side in sides])

    @takes("eq.apply", function="function")
    def apply(self, function: Callable[[Formula], Formula]) -> Equation:
        """Map both sides by an elementwise function: ``eq.apply(rc.exp)``."""
        if type(function).__name__ == "ufunc":  # NumPy's, which take arrays
            raise InputError(
                f"eq.apply takes a function of formulas: rc.{function.__name__} for np.{function.__name__}."
            )
        left, right = function(self.left), function(self.right)
        if not isinstance(left, Formula) or not isinstance(right, Formula):
            raise InputError(f"eq.apply: the function gives a {type(left).__name__}, not a formula: eq.apply(rc.exp).")
        if left.indices != self.indices:
            raise RuleError("A function of both sides works entry by entry; to sum over a free index use contract.")
        made = Equation(left, right)
        return reworded(made, self.words, mapped(function, made))

    @takes("eq.add")
    def add(self, tensor: Any) -> Equation:
        """Add a tensor with the same indices, or a scalar, to both sides."""
        term = as_formula(tensor)
        if term.indices and set(term.indices) != set(self.indices):
            rule = "Only tensors of equal order and indices may be added"
            hint = _broadcast_hint(term.indices, self.indices)
            raise RuleError(f"{rule}: {_list(term.indices)} to {_list(self.indices)}. {hint}".rstrip())
        return reworded(Equation(self.left + term, self.right + term), self.words, added(term))

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
        made = Equation(*(_times(side, factor, kept) for side in (self.left, self.right)))
        return reworded(made, self.words, times(factor))

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
        made = Equation(self.left.sum(*names), self.right.sum(*names))
        return reworded(made, self.words, lambda sides: sides, summed(names))

    @takes("eq.substitute")
    def substitute(self, other: Formula | Equation) -> Equation:
        """Use another equation in this one: what its left side is becomes its right side, or, where the left side does
        not occur, the other way. Its free indices are renamed to match, its dummies to be fresh.

        >>> from ricci import parse
        >>> orthogonal = parse("Q[i,k] Q[j,k] = delta[i,j]")
        >>> print(parse("y[i] = Q[i,m] Q[n,m] x[n]").equation.substitute(orthogonal))
        y[i] = x[i]
        """
        if not isinstance(other, (Formula, Equation)):
            raise InputError(f"eq.substitute takes an equation or a formula, not a {type(other).__name__}.")
        given = other.equation if isinstance(other, Formula) else other
        both = [(given.left, given.right), (given.right, given.left)]
        for (old, new), trees in zip(both, permutations(given._written().sides), strict=True):
            sides = [_substituted(side, old, new) for side in (self.left, self.right)]
            if any(new is not side for new, side in zip(sides, (self.left, self.right), strict=True)):
                return reworded(Equation(*sides), self.words, substituted(*trees))
        raise RuleError(f"Neither side of {given} occurs in {self}, so nothing can be substituted.")

    def _dummies(self) -> set[str]:
        """The names of summed indices, as the sides are printed."""
        return {name for side in self._whole() for name in in_indices(tuple(indices_in(side)))} - set(self.indices)

    def _whole(self) -> Sequence[syntax.Node]:
        """Trees of all that the sides are, parts that would be written before them included."""
        if self.words is not None and self.words.alone:
            return self.words.sides
        return [s.body for side in (self.left, self.right) for s in _program(side).statements]


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


def _substituted(side: Formula, old: Formula, new: Formula) -> Formula:
    """A side with ``new`` in the place of ``old``, wherever it occurs; the side itself where it does not."""
    name = old.expr
    context = side.context.merged(new.context)
    if not isinstance(name, Variable):
        expr = transform(side.expr, _Replacing(old.expr, new.expr)) if variables(name) else side.expr
        return side if expr is side.expr else Formula(expr, side.indices, context, side.name, side.heights)
    found = [v for v in variables(side.expr) if v.name == name.name]
    if not found:
        return side
    if len(found[0].shape) != new.order:
        raise RuleError(f"{name.name!r} has {len(found[0].shape)} indices here and {new.order} in the other equation.")
    heights = context.facts.heights.get(name.name, ()) or ("",) * new.order
    if heights != new.standing:
        raise RuleError(f"{changed(name.name, heights, new.standing)} {KEEPS}")
    _check_declared(found[0], new)
    expr = reopened(substitute(side.expr, {found[0]: new.expr}))
    return Formula(expr, side.indices, context, side.name, side.heights)


def _check_declared(x: Variable, new: Formula) -> None:
    """What takes the place of a matrix that is declared is seen to be of its kind, on which the form relies."""
    if x.symmetry and not is_of_kind(new.expr, x.symmetry):
        raise RuleError(
            f"{x.name!r} is declared {x.symmetry} here, and what takes its place is not seen to be. "
            "Declare that too, or read the text again without the declaration."
        )


class _Replacing:
    """A step of a walk that puts one expression in the place of another, also where that is a part of a product."""

    def __init__(self, pattern: Expr, new: Expr):
        self.pattern, self.new = pattern, new
        self.factors = _open_factors(pattern)
        self.out = tuple(range(len(pattern.shape)))

    def __call__(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        same = rebuild(node, args)
        if same is self.pattern:
            return self.new
        if not isinstance(same, Product) or len(self.factors) < 2:
            return same
        done: list[tuple[Expr, tuple]] = []
        rest = _open_factors(same)
        while (found := self.match(rest, done, len(same.shape))) is not None:
            match, rest = found
            done.append((self.new, tuple([match[label] for label in self.out])))
        return product([*rest, *done], range(len(same.shape)), dict(enumerate(same.shape))) if done else same

    def match(self, factors: list, done: list, order: int) -> tuple[dict, list] | None:
        """Where the pattern stands among ``factors``: its labels there, and the factors that are left."""
        found = list(islice(_matches(self.factors, factors), MOST_MATCHES))
        for match, rest in found:
            if self._broken(match, [*rest, *done], order) is None:
                return match, rest
        if found and not done:
            raise RuleError(
                "One may not substitute into part of a contraction: the index summed in the other equation also "
                "stands in a factor outside it."
            )
        return None

    def _broken(self, match: dict, rest: list, order: int) -> object | None:
        """A label that the pattern sums over and the rest, or the result, still has."""
        outside = {label for _, labels in rest for label in labels} | set(range(order))
        summed = [label for _, labels in self.factors for label in labels if not isinstance(label, int)]
        return next((label for label in summed if match[label] in outside), None)


def _open_factors(e: Expr) -> list[tuple[Expr, tuple]]:
    """Factors with axes as numbers and summed labels as tuples, contractions opened."""
    return open_factors(e) if isinstance(e, Product) else [(e, tuple(range(len(e.shape))))]


def _orders(e: Expr, labels: tuple) -> list[tuple]:
    """The labels of a factor, in each order that makes no difference."""
    return [labels, labels[::-1]] if symmetric(e) and labels[0] != labels[1] else [labels]


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
            for own in _orders(*factor) if factor[0] is expr else ():
                extended = dict(match)
                if all(extended.setdefault(a, b) == b for a, b in zip(labels, own, strict=True)):
                    stack.append((place + 1, extended, [f for f in rest if f is not factor]))
