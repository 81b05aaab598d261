"""From the tree of a text to core expressions: the summation rule and the checks of index notation.

Every piece is built knowing which indices are *free* in it. In a product, an index that is not free and occurs in two
or more factors, or twice in one tensor, is summed over that product and free inside its factors; one that occurs in a
single factor that is not a tensor is left to that factor. What cannot be summed that way is an error.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ricci.checked_calls import shown
from ricci.errors import NotationError
from ricci.expr import (
    Expr,
    Product,
    Sum,
    add,
    conj,
    constant,
    power,
    product,
    reciprocal,
    scale,
    substitute,
    variable,
    zero,
)
from ricci.expr.moving import moved_axis
from ricci.expr.nodes import constructors
from ricci.functions.table import IN_TEXT
from ricci.notation import syntax
from ricci.notation.bars import is_complex, with_conjugates
from ricci.notation.context import Context
from ricci.notation.declarations import FUNCTION_NAMES, PLAIN, Declarations
from ricci.notation.doubts import doubts, names_like_indices
from ricci.notation.factors import Factor, Free, Named
from ricci.notation.heights import ALL_OR_NONE, WORDS, mixed, told
from ricci.notation.metric import heights_of_metric, written_out
from ricci.notation.occurrences import Open, indices_in, is_leaf, sums_alone, terms_of, used_up
from ricci.notation.parser import parse_program
from ricci.notation.recurrences import Recurrence, RecurrenceGroup, Unit, recurrences, units
from ricci.notation.roots import with_roots
from ricci.notation.stepping import OneStep, StepBuilder
from ricci.notation.symbols import with_symbols
from ricci.notation.text_scope import Subscripts, TextScope
from ricci.notation.tokens import in_other_words, stack_enough

_COMPARE = {row.sign: row for row in IN_TEXT.values() if row.sign and row.type == "truth"}


@dataclass(slots=True)
class Resolved:
    """A statement of a program, resolved."""

    name: str | None
    value: Named
    heights: tuple[str, ...]
    context: Context
    left: Named | None = None  # of an equation whose left side is an expression
    builder: ExpressionBuilder | None = None  # which makes more expressions of the same names


Swaps = Mapping[str, Callable[[Expr], Expr]]  # for some definitions, what is used instead of their value


def resolve(
    text: str,
    sizes: Mapping[str, int],
    derive: Callable[[Expr, Expr], Expr],
    swaps: Swaps | None = None,
    doubtful: list[str] | None = None,
    orders: Mapping[str, int] | None = None,
    declared: Declarations = PLAIN,
) -> list[Resolved]:
    """All statements of ``text``, in order.

    ``derive(y, x)`` is the derivative that ``D(y, x[i])`` stands for. Where a definition is used that ``swaps`` names,
    what it makes of the value is used instead. Messages for what has two readings are put into ``doubtful``. Inputs
    whose order the text does not say (``sum(x)``) have the one in ``orders``, or 1.
    """
    program = None
    try:
        with stack_enough(text):
            program = read_program(text, declared)
            results = _at_heights(_level(program, declared), sizes, derive, swaps, orders or {}, declared)
    except NotationError as error:
        if is_latex(text, declared):
            from ricci.notation.latex_hints import as_word, in_latex

            lone = "occurs once" in error.message
            error.hint = in_latex(error.hint) + (as_word(error.text, error.start, error.end) if lone else "")
        elif "e^" in error.text:
            from ricci.notation.translations import exponential

            written = exponential(error.text, error.start, error.end)
            error.hint = f"For the exponential write {written}.\n{error.hint}" if written else error.hint
        elif program is not None and "_" in text and declared.matrix is None:
            error.hint += without_braces(names_like_indices(program))
        raise
    if doubtful is not None:
        doubtful += doubts(program) if program.doubtful is None else program.doubtful
    return results


def without_braces(names: list[str]) -> str:
    """What is said of names that may have been meant to have indices, beside an error."""
    if not names:
        return ""
    shown = ", ".join(["{0}_{{{2}}}".format(*name.partition("_")) for name in names])
    said = "is a name" if len(names) == 1 else "are names"
    return f"\nWithout braces {' and '.join(names)} {said}: {shown} {'has' if len(names) == 1 else 'have'} indices."


def resolve_tree(
    program: syntax.Statements,
    sizes: Mapping[str, int],
    derive: Callable[[Expr, Expr], Expr],
    declared: Declarations = PLAIN,
    orders: Mapping[str, int] | None = None,
) -> list[Resolved]:
    """All statements of a tree, in order, as :func:`resolve` has those of a text."""
    with stack_enough(program.text):
        return _at_heights(_level(program, declared), sizes, derive, None, orders or {}, declared)


def read_program(text: str, declared: Declarations = PLAIN) -> syntax.Statements:
    """The tree of a text, in whichever notation it is.

    A text with a backslash is LaTeX. So is one without that the plain notation does not read and LaTeX does, where
    there are braces and no words: ``y = x^{2}``.
    """
    if declared.matrix is not None:
        from ricci.notation.matrix_program import read_matrix

        return read_matrix(text, declared.matrix, declared.functions, declared.complex_names())
    if is_latex(text, declared):
        return _read_latex(text, declared)
    try:
        tree = parse_program(text, declared.function_names, declared.unknown)
        return with_roots(with_symbols(with_conjugates(tree, declared.complex_names())))
    except NotationError:
        words = re.search(r"[^\W\d_]{3,}", text)  # delta^{i j}_{k} is no product of five letters
        if declared.latex is not None or "{" not in text or "[" in text or words:
            raise
        with suppress(NotationError):
            return _read_latex(text, declared)
        raise


def is_latex(text: str, declared: Declarations = PLAIN) -> bool:
    """Whether a text is LaTeX: as was said, or by its backslashes; the matrix language has a reader of its own."""
    if declared.matrix is not None:
        return False
    return declared.latex if declared.latex is not None else "\\" in text


def _read_latex(text: str, declared: Declarations) -> syntax.Statements:
    from ricci.notation.latex_program import parse_latex  # most texts are not

    indices = frozenset(declared.indices)
    tree = parse_latex(text, declared.function_names, declared.unknown, indices, declared.complex_names())
    return with_roots(with_symbols(with_conjugates(tree, declared.complex_names(), latex=True)))


def _level(program: syntax.Statements, declared: Declarations) -> syntax.Statements:
    """The program with every name at the heights that it was given, which a metric allows to differ."""
    return program if declared.metric is None else written_out(program, declared.metric)


def _at_heights(
    program: syntax.Statements,
    sizes: Mapping[str, int],
    derive: Callable[[Expr, Expr], Expr],
    swaps: Swaps | None,
    orders: Mapping[str, int],
    declared: Declarations,
) -> list[Resolved]:
    if all(index.height == "down" for index in program.standing) and any(map(_sums_or_derives, program.statements)):
        for index in program.standing:
            index.height = ""
    try:
        return _resolved(program, sizes, derive, swaps, orders, declared)
    except Subscripts:
        for index in program.standing:
            index.height = ""
        return _resolved(program, sizes, derive, swaps, orders, declared)


def _sums_or_derives(statement: syntax.Statement) -> bool:
    """Whether a statement has a sum over a named axis, or a derivative, where lower indices alone are Cartesian."""
    nodes = [node for side in statement.sides for node in syntax.within(side)]
    return any(isinstance(n, syntax.Derivative) or (isinstance(n, syntax.CallNode) and bool(n.axes)) for n in nodes)


def _resolved(
    program: syntax.Statements,
    sizes: Mapping[str, int],
    derive: Callable[[Expr, Expr], Expr],
    swaps: Swaps | None,
    orders: Mapping[str, int],
    declared: Declarations,
) -> list[Resolved]:
    functions, symmetries = dict(declared.functions), dict(declared.symmetries())
    if declared.metric is not None and not any(declared.metric in s.names for s in program.statements):
        symmetries.setdefault(declared.metric, "symmetric")  # as an input; what a text defines is what it says
    scope = TextScope(program.text, sizes, orders, functions=functions, symmetries=symmetries)
    scope.complex = declared.complex_names()
    scope.has_heights = any(index.height for index in program.standing)
    scope.subscripts = all(index.height == "down" for index in program.standing)
    steps = recurrences(program)
    if declared.metric is not None and scope.has_heights:
        scope.facts.heights.update(heights_of_metric(program, declared.metric))
        scope.facts.moved.update(program.moved)
    for statement in program.statements:
        scope.collect(statement)
        if statement.name is not None:
            _define(scope, statement, steps.get(statement.name))
    scope.collect_sizes(program.sizes)
    scope.facts.symmetries = {name: word for name, word in scope.symmetries.items() if name in scope.facts.inputs}
    scope.facts.complex = {name: None for name in scope.facts.inputs if name in scope.complex}
    _check_sizes(scope, sizes)
    context = Context(scope.facts)
    builder = ExpressionBuilder(scope, derive, swaps)
    results: dict[int, Resolved] = {}
    for unit in units(program.statements, steps):
        for statement, value, heights in builder.unit(unit):
            if statement.name is not None:
                scope.facts.definitions[statement.name] = value.expr
                scope.facts.defined_indices[statement.name] = value.names
            left = None if statement.left is None else builder.side(statement, statement.left, value.names)
            results[statement.start] = Resolved(statement.name, value, heights, context, left, builder)
    scope.finish()
    scope.subscripts = False  # the builder may be asked for more, and the text is not read again for that
    return [results[start] for start in sorted(results)]


def named(text: str) -> syntax.TensorNode | None:
    """The tensor that a text consists of, ``A^i_j`` or ``x[i]``, if it does."""
    (statement, *more) = parse_program(text, FUNCTION_NAMES).statements
    body = statement.body
    return body if isinstance(body, syntax.TensorNode) and statement.name is None and not more else None


def has_derivatives(text: str, declared: Declarations = PLAIN) -> bool:
    """Whether a text speaks of derivatives: ``D(y, x[i])``."""
    return any(_derivatives(side) for s in read_program(text, declared).statements for side in s.sides)


def _derivatives(node: syntax.Node) -> bool:
    return any(isinstance(n, syntax.Derivative) for n in syntax.within(node))


def _define(scope: TextScope, statement: syntax.Statement, own: Recurrence | None) -> None:
    name = statement.name
    assert name is not None
    word = scope.symmetries.get(name, "complex" if name in scope.complex else "")
    if word:
        message = f"{name!r} is declared {word}, and the text defines it."
        raise scope.fail(message, statement, "Only inputs are declared; what is defined is what its statement says.")
    first = own is None or statement is own.base
    if first and (name in scope.definitions or name in scope.facts.inputs):
        used = "defined" if name in scope.definitions else "used as an input"
        hint = "Give this statement another name." if own is None else "Put this before all that uses it."
        raise scope.fail(f"{name!r} is already {used} above.", statement, hint)
    scope.define(statement, own)
    indices = statement.indices or ()
    if indices and indices[0].height:
        scope.facts.heights[name] = tuple([index.height for index in indices])


def _check_sizes(scope: TextScope, sizes: Mapping[str, int]) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise NotationError(
                f"The size of index {name!r} must be a whole number that is not negative, not {shown(size)}."
            )
        if size > sys.maxsize:
            raise NotationError(f"The size of index {name!r} is too large for any array.")
        if name not in scope.names:
            known = ", ".join(sorted(scope.names)) or "none"
            raise NotationError(f"There is no index {name!r} to have a size; the indices are {known}.", scope.text)


class ExpressionBuilder(StepBuilder):
    """Builds the pieces of one program."""

    def __init__(self, scope: TextScope, derive: Callable[[Expr, Expr], Expr], swaps: Swaps | None = None):
        super().__init__(scope)
        self.derive = derive
        self.swaps: Swaps = swaps or {}
        self.level = 0
        self.done: list[Unit] = []
        self.now: syntax.Statement | None = None  # the statement that is built
        self.fresh = 0
        self.products: list[list[syntax.Node]] = []  # those around the place that is built now, with sums
        self.order: dict[str, int] = {}

    # Statements.

    def unit(self, unit: Unit) -> list[tuple[syntax.Statement, Named, tuple[str, ...]]]:
        """A statement with its value and the heights of its indices, or those of recurrences; they are defined."""
        self.done.append(unit)
        if isinstance(unit, RecurrenceGroup):
            return self.recurrences(unit)
        value, heights = self.statement(unit)
        if unit.name is not None:
            self.define(unit.name, value.expr)
        return [(unit, value, heights)]

    def recurrences(self, group: RecurrenceGroup) -> list[tuple[syntax.Statement, Named, tuple[str, ...]]]:
        first = group.recurrences[0]
        for own in group.recurrences:
            if own.index != first.index:
                hint = f"Write {first.index} in both."
                message = f"{first.name!r} steps by {first.index!r}, and {own.name!r}, which it uses, by {own.index!r}."
                raise self.fail(message, own.step, hint)
        for name in group.names:
            self.scope.definitions[name].expr = None
        length = self.scope.size(first.index, first.step.body)
        starts = [self.statement(own.base)[0].expr for own in group.recurrences]
        step = self.one_step(group)
        parts = [(step.states[own.name], start, step.made[own.name])
                 for own, start in zip(group.recurrences, starts, strict=True)]  # fmt: skip
        made = constructors.recurrences(parts, step.slices, length)
        found = []
        for own, states in zip(group.recurrences, made, strict=True):
            value = moved_axis(states, 0, own.axis)
            self.define(own.name, value)
            left = own.step.indices or ()
            names = tuple([index.terms[0][1] for index in left])
            found.append((own.step, Named(value, names), tuple([index.height for index in left])))
        for statement in group.statements:
            if statement.name not in step.states:
                value, heights = self.statement(statement)
                self.define(statement.name or "", value.expr)
                found.append((statement, value, heights))
        return found

    def one_step(self, group: RecurrenceGroup) -> OneStep:
        """The next states by placeholders."""
        states, axes, likely = {}, {}, self._complex_states(group)
        for own in group.recurrences:
            names = [name for axis, name in enumerate(own.names) if axis != own.axis]
            shape = tuple([self.scope.size(name, own.step.body) for name in names])
            states[own.name] = variable(f"{own.name}°", shape, complex=own.name in likely)
            axes[own.name] = own.axis
        step = OneStep(group.recurrences[0].index, "", states, axes)
        for statement in group.statements:
            if statement.name in self.swaps and statement.name not in states:
                hint = "Differentiate by what it is made of."
                raise self.fail(f"{statement.name!r} is part of a recurrence.", statement, hint)
            left = [index.terms[0][1] for index in statement.indices or ()]
            if step.index not in left:
                circle = ", ".join(sorted(name for name in group.names if name != statement.name))
                hint = f"What a step uses stands at the step: {statement.name}[{step.index}]."
                raise self.fail(f"{statement.name!r} uses {circle} at all steps, and they use it.", statement, hint)
            axes[statement.name or ""] = left.index(step.index)
        for statement in group.statements:
            self.step, step.own = step, statement.name or ""
            step.made[step.own] = self.statement(statement)[0].expr
            self.step = None
        return step

    def _complex_states(self, group: RecurrenceGroup) -> set[str]:
        """The states that are made of complex numbers."""
        found = {name for name, d in self.scope.definitions.items() if d.expr is not None and d.expr.complex}
        found |= set(self.scope.complex)
        statements = [*group.statements, *[own.base for own in group.recurrences]]
        for _ in statements:
            found |= {s.name for s in statements if s.name is not None and is_complex(s.body, found)}
        return found

    def statement(self, node: syntax.Statement) -> tuple[Named, tuple[str, ...]]:
        self.now = node
        steps = self.step.index if self.step is not None else ""
        if node.name is None and node.indices is None:
            stand = self._free_in(node)
            names = tuple(stand)
        else:
            stand = {index.terms[0][1]: index.height for index in node.indices or () if index.terms}
            names = tuple([name for name in stand if name != steps])
            self._check_unsummed(node, stand)
        if self.scope.has_heights:
            self._check_heights(node, stand)
            if mixed(stand.values()):
                raise self.misplaced(
                    f"The free indices of this stand {told(tuple(stand.values()))}.", node, ALL_OR_NONE
                )
        return self.side(node, node.body, names, steps), tuple([stand[name] for name in names])

    def side(self, node: syntax.Statement, body: syntax.Node, names: tuple[str, ...], steps: str = "") -> Named:
        """A side of a statement whose free indices are these."""
        self.order = {name: position for position, name in enumerate(names)}
        value = self.sum(body, frozenset((*names, steps) if steps else names))
        if node.left is None:
            self._check_used_up(node, [name for name in names if name not in value.names])
        if value.names and set(value.names) != set(names):
            raise self._missing(body, names, value.names)
        sizes = {name: self.scope.size(name, body) for name in names if name not in value.names}
        return Named(value.arranged(names, sizes), names)

    def _check_used_up(self, node: syntax.Statement, lacking: list[str]) -> None:
        """A number may be spread over indices on the left, but not over those that functions have used up."""
        calls = [n for n in syntax.within(node.body) if isinstance(n, syntax.CallNode)] if lacking else []
        lost = {name: call for call in calls for name in lacking if name in used_up(call)}
        if not lost:
            return
        name, call = next(iter(lost.items()))
        kept = [index.terms[0][1] for index in node.indices or () if index.terms[0][1] not in lost]
        left = f"{node.name}[{','.join(kept)}]" if kept else node.name
        right = self.scope.text[node.body.start : node.body.end]
        message = f"Index {name!r} is used up by {call.name}, so nothing on the right side has it."
        raise self.fail(message, call, f"Leave it out on the left side: {left} = {right}")

    def _check_heights(self, node: syntax.Statement, stand: dict[str, str]) -> None:
        for term in [term for side in node.sides for term in terms_of(side)]:
            for name, heights in self.open.of(term).items():
                if name in stand and any(h != stand[name] for h in heights):
                    other = next(h for h in heights if h != stand[name])
                    message = f"Index {name!r} stands {WORDS[stand[name]]} on the left and {WORDS[other]} here."
                    raise self.misplaced(message, term, "A free index keeps its height on both sides.")

    def _free_in(self, node: syntax.Statement) -> dict[str, str]:
        """Where no name stands on the left: the indices that occur exactly once in their term, or are not to be
        summed, with their heights; those that are free on one side are so on the other."""
        stand: dict[str, str] = {}
        for side in node.sides:
            here = [index.terms[0][1] for index in node.unsummed]
            for name in self._free_of(side, here):
                stand.setdefault(name, self.open.of(side)[name][0])
        self._check_unsummed(node, stand)
        return stand

    def _free_of(self, body: syntax.Node, unsummed: Sequence[str] = ()) -> tuple[str, ...]:
        """The indices that occur exactly once in their term, or are not to be summed."""
        found = self.open.once(body)
        if unsummed:
            found = [(t, tuple([n for n in self.open.of(t) if n in once or n in unsummed])) for t, once in found]
        names = next((names for _, names in found if names), ())
        for term, other in found:
            if other and set(other) != set(names):
                raise self._missing(term, names, other)
        return names

    def _check_unsummed(self, node: syntax.Statement, stand: Mapping[str, str]) -> None:
        """What is said not to be summed is free: on the left side, or in the expressions."""
        for index in node.unsummed:
            name = index.terms[0][1]
            if name not in stand:
                message = f"Index {name!r} is not to be summed, and " + (
                    "the left side does not have it." if node.name is not None else "nothing has it here."
                )
                hint = "Put it on the left side, or leave out (no sum …)."
                raise NotationError(message, self.scope.text, index.start, index.end, hint)

    def _missing(self, node: syntax.Node, wanted: tuple[str, ...], found: tuple[str, ...]) -> NotationError:
        lacking = [name for name in wanted if name not in found]
        extra = [name for name in found if name not in wanted]
        shown = lambda names: "[" + ",".join(names) + "]" if names else "none"  # noqa: E731
        message = f"This term has the free indices {shown(found)} where {shown(wanted)} are wanted."
        renamed = self._renamed(node, lacking)
        if renamed:
            hint = f"Index {lacking[0]!r} is summed over the product, since several of its factors have it.\n"
            hint += f"For a sum in each of them, rename it: {renamed}"
        elif lacking:
            hint = f"Multiply by the one-tensor to broadcast: 1[{','.join(lacking)}] * …"
        else:
            hint = f"Sum over it with sum[{','.join(extra)}](…), or put it on the left side."
        return self.fail(message, node, hint)

    def _renamed(self, node: syntax.Node, lacking: list[str]) -> str:
        """The product around a term, where each of its factors could sum over what the term lacks: renamed in them."""
        for parts in self.products if lacking else ():
            inside = [p for p in parts if any(name in self.open.of(p) for name in lacking)]
            if len(inside) < 2 or not any(p.start <= node.start and node.end <= p.end for p in inside):
                continue
            if all(sums_alone(p, name, self.open) for p in inside for name in lacking if name in self.open.of(p)):
                return self._with_primes(parts, lacking)
        return ""

    def _with_primes(self, parts: list[syntax.Node], names: list[str]) -> str:
        """The text of a product with indices renamed, by primes, in all factors that have them but the first."""
        text, changed = self.scope.text, {}
        for name in names:
            for primes, part in enumerate([p for p in parts if name in self.open.of(p)]):
                for index in indices_in(part) if primes else ():
                    old = changed.get((index.start, index.end), text[index.start : index.end])
                    changed[index.start, index.end] = re.sub(rf"\b{name}\b(?!')", name + "'" * primes, old)
        statement = self.now
        assert statement is not None
        shown, at = "", statement.start
        for (start, end), index in sorted(changed.items()):
            shown, at = shown + text[at:start] + index, end
        return shown + text[at : statement.end]

    # Sums, terms and factors. ``free`` are the indices that may stand open in the result.

    def sum(self, node: syntax.Node, free: Free) -> Named:
        if not isinstance(node, syntax.SumNode):
            return self.term(node, free)
        parts = [(sign, term, self.term(term, free)) for sign, term in node.terms]
        names = next((part.names for _, _, part in parts if part.names), ())
        names = tuple(sorted(names, key=lambda name: self.order.get(name, len(self.order))))
        wanted = set(names)
        for _, _term, part in parts:
            if part.names and set(part.names) != wanted:
                longest = max((p.names for _, _, p in parts), key=len)
                short = min(
                    ((p.names, t) for _, t, p in parts if p.names and set(p.names) != set(longest)),
                    key=lambda x: len(x[0]),
                )
                raise self._missing(short[1], longest, short[0])
        return Named(add([(sign, part.arranged(names) if part.names else part.expr) for sign, _, part in parts]), names)

    def term(self, node: syntax.Node, free: Free) -> Named:
        """A product, or a single factor, which is a product of one."""
        if type(node) is syntax.TensorNode and node.indices is None:
            return self.tensor(node)
        factors, names = self.factors(node, free)
        if len(factors) == 1 and factors[0][1] == names:
            return Named(factors[0][0], names)
        return Named(product(factors, names), names)

    def factors(self, node: syntax.Node, free: Free) -> tuple[list[Factor], tuple[str, ...]]:
        """The operands of a term with their labels, and the names of the indices that stay open."""
        parts = node.factors if isinstance(node, syntax.ProductNode) else ((1, node),)
        summed = self._summed(parts, free)
        inside = free | summed.keys() if summed else free
        if summed:
            self.products.append([part for _, part in parts])
        operands: list[Factor] = []
        names: dict[str, None] = {}
        for exponent, part in parts:
            while isinstance(part, syntax.Neg):
                operands.append((constant(-1), ()))
                part = part.body
            if isinstance(part, syntax.ProductNode) and exponent == 1:
                nested, own = self.factors(part, inside)
                operands += nested
            else:
                value = self.factor(part, inside)
                operands.append((reciprocal(value.expr) if exponent < 0 else value.expr, value.names))
                own = value.names
            names.update(dict.fromkeys(own))
        if summed:
            self.products.pop()
            self.fresh += 1
            label = {name: (name, self.fresh) for name in summed}
            operands = [(e, tuple([label.get(x, x) for x in labels])) for e, labels in operands]
        return operands, tuple([name for name in names if name not in summed])

    def _summed(self, parts: tuple[tuple[int, syntax.Node], ...], free: Free) -> Open:
        """The indices that this product sums over."""
        counted: Open = {}
        where: dict[str, syntax.Node] = {}
        summed: Open = {}
        for _, part in parts:
            while isinstance(part, syntax.Neg):
                part = part.body
            leaf, met = is_leaf(part), self._met(part)
            for name, heights in self.open.of(part).items():
                if name in free:
                    continue
                if name in counted or (leaf and len(heights) > 1) or name in met:
                    summed[name] = counted.get(name, []) + heights
                counted[name] = counted.get(name, []) + heights
                where[name] = part
        for name, part in where.items():
            if name not in summed and (is_leaf(part) or self._kept(part, name)):
                raise self._once(name, part)
        if self.scope.has_heights:
            for name, heights in summed.items():
                if any(heights) and sorted(heights) != ["down", "up"]:
                    raise self._height_clash(name, heights, where[name])
        return summed

    def _kept(self, node: syntax.Node, name: str) -> bool:
        """Whether an open index is an axis that a function works along and keeps."""
        return isinstance(node, syntax.CallNode) and any(name == n for index in node.axes or () for _, n in index.terms)

    def _once(self, name: str, node: syntax.Node) -> NotationError:
        message = f"Index {name!r} occurs once in its term and is not on the left side."
        hint = f"To sum over it, write sum[{name}](…) or multiply by 1[{name}]; to keep it, put it on the left side."
        if isinstance(node, syntax.TensorNode) and [i.height for i in node.indices or ()] == ["up"]:
            exponent = self.scope.text[node.start : node.end].partition("^")[2].strip("{}")
            written = f"{node.name}**{name if exponent == name else f'({exponent})'}"
            transposed = in_other_words(self.scope.text, node.start) if name == "T" else ""
            hint = transposed or (hint if node.name == "e" else f"For a power write {written}. {hint}")
        return self.fail(message, node, hint)

    def _height_clash(self, name: str, heights: list[str], node: syntax.Node) -> Exception:
        message = f"Index {name!r} is summed and stands {told(heights)}."
        return self.misplaced(message, node, "A summed index stands exactly once above and once below.")

    def factor(self, node: syntax.Node, free: Free) -> Named:
        return _BUILDERS[type(node)](self, node, free)

    # Bracketed pieces, derivatives.

    def _product(self, node: syntax.ProductNode, free: Free) -> Named:
        return self.term(node, free)

    def _sum(self, node: syntax.SumNode, free: Free) -> Named:
        return self.sum(node, free)

    def _neg(self, node: syntax.Neg, free: Free) -> Named:
        value = self.term(node.body, free)
        return Named(scale(-1, value.expr), value.names)

    def _power(self, node: syntax.Power, free: Free) -> Named:
        return self.aligned([self.sum(node.base, free), self.sum(node.exponent, free)], power)

    def _compare(self, node: syntax.Compare, free: Free) -> Named:
        parts = [self.sum(node.left, free), self.sum(node.right, free)]
        return self.aligned(parts, _COMPARE[node.op])

    def _derivative(self, node: syntax.Derivative, free: Free) -> Named:
        self.check_derivative(node)
        target = node.variable
        names = self.plain_names(target.indices or (), "the variable of a derivative", "Write D(f, x[i]).")
        met = self._met(node)
        for name in names:
            if name not in met and name in self.open.of(node.body):
                new = "q" if name == "p" else "p"
                hint = (
                    "Use a new index: the derivative operator brings new free indices. "
                    f"Where both are meant to be one, a delta says so: D(…, {target.name}[{new}]) delta[{name},{new}]."
                )
                raise self.fail(f"Index {name!r} already stands in what is differentiated.", target, hint)
        if len(names) != len(target.indices or ()):
            raise self.fail("The indices of the variable of a derivative are different.", target)
        if target.name in self.scope.facts.integers:
            raise self.fail(f"{target.name!r} is an integer tensor; there is no derivative by it.", target)
        inside = free - frozenset(name for name in names if name not in met)
        if target.name in self.scope.definitions:
            body, expr = self._by_definition(node, inside)
        else:
            body = self.sum(node.body, inside)
            x = self.scope.input(target.name)
            expr = self.derive(body.expr, conj(x) if node.conjugate else x)
        labels = (*body.names, *names)
        if not met:
            return Named(expr, labels)
        kept = tuple(dict.fromkeys(labels))
        return Named(_diagonal(expr, labels, kept), kept)

    def _met(self, node: syntax.Node) -> list[str]:
        """The indices of the variable of a derivative that stand in what is differentiated, where heights say that they
        are contracted: ``D(v^i, x^i)`` has ``i`` above and below. In brackets that is likelier a mistake."""
        if not isinstance(node, syntax.Derivative):
            return []
        inside = self.open.of(node.body)
        by = self.open.of(node.variable)
        return [name for name, heights in by.items() if heights[0] and len(inside.get(name, ())) == 1]

    def define(self, name: str, value: Expr) -> None:
        """Give a name its value, or what stands for it."""
        self.scope.definitions[name].expr = self.swaps[name](value) if name in self.swaps else value

    def _by_definition(self, node: syntax.Derivative, free: Free) -> tuple[Named, Expr]:
        """The derivative by a defined name, which counts as independent: what uses it is built anew around it.

        A stand-in takes its place. Where there are derivatives by what the name is made of, it is the value plus a
        fresh variable that is zero: then such a derivative still goes through the name.
        """
        name = node.variable.name
        definitions = self.scope.definitions
        saved = {key: definition.expr for key, definition in definitions.items()}
        value = saved[name]
        if value is None:
            raise self.fail(f"{name!r} is used before it is defined.", node.variable, "Put its statement first.")
        after = next(k for k, unit in enumerate(self.done) if name in unit.names) + 1
        later = self.done[after:-1]
        nested = any(_derivatives(body) for body in [node.body, *(s.body for unit in later for s in unit.parts)])
        apart = variable(f"{name}°{self.level}" if nested else name, value.shape, complex=value.complex)

        def swap(value: Expr) -> Expr:
            if not nested:
                return apart
            return add([(1, self.swaps[name](value) if name in self.swaps else value), (1, apart)])

        again = self._again({**self.swaps, name: swap}, after)
        definitions[name].expr = add([(1, value), (1, apart)]) if nested else apart
        for unit in later:
            again.unit(unit)
        again.done, again.order, again.now = self.done, self.order, self.now
        body = again.sum(node.body, free)
        expr = self.derive(body.expr, conj(apart) if node.conjugate else apart)
        for key, old in saved.items():
            definitions[key].expr = old
        return body, substitute(expr, {apart: zero(value.shape) if nested else value})

    def _again(self, swaps: Swaps, count: int) -> ExpressionBuilder:
        """A builder of the same program that has done the first ``count`` statements, with more of them swapped."""
        again = ExpressionBuilder(self.scope, self.derive, swaps)
        again.done, again.level = self.done[:count], self.level + 1
        return again


def _diagonal(expr: Expr, labels: tuple[str, ...], kept: tuple[str, ...]) -> Expr:
    """A tensor whose axes have ``labels``, some of them twice; of a sum, term by term, since there a delta counts."""
    if isinstance(expr, Product) and len(expr.args) == 1 and len(expr.args[0].shape) == len(labels):  # transposed
        ((expr, axes),) = expr.factors()
        labels = tuple([labels[axis] for axis in axes])
    terms = zip(expr.coefs, expr.args, strict=True) if isinstance(expr, Sum) else [(1, expr)]
    return add([(c, product([(term, labels)], kept)) for c, term in terms])


_BUILDERS: dict[type, Callable[..., Named]] = {
    syntax.Number: ExpressionBuilder._number,
    syntax.Pi: ExpressionBuilder._pi,
    syntax.Imaginary: ExpressionBuilder._imaginary,
    syntax.Size: ExpressionBuilder._size,
    syntax.TensorNode: ExpressionBuilder._tensor,
    syntax.Ones: ExpressionBuilder._ones,
    syntax.Zeros: ExpressionBuilder._zeros,
    syntax.Delta: ExpressionBuilder._delta,
    syntax.Epsilon: ExpressionBuilder._epsilon,
    syntax.CallNode: ExpressionBuilder._call,
    syntax.Neg: ExpressionBuilder._neg,
    syntax.SumNode: ExpressionBuilder._sum,
    syntax.ProductNode: ExpressionBuilder._product,
    syntax.Power: ExpressionBuilder._power,
    syntax.Compare: ExpressionBuilder._compare,
    syntax.Derivative: ExpressionBuilder._derivative,
}
