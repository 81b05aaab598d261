"""Derivations of formulas: what the author has typed, and what was asked for, made ready to be worked out on the board.

A derivative is worked out on the author's text. A pullback is the derivative of ``l = y_bar[i] y[i]``, since
``D(l, x[p])`` is ``D(l, y[i]) D(y[i], x[p])``; a pushforward is ``D(y[i], x[p]) x_dot[p]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from ricci.errors import InputError, RicciError
from ricci.expr import Expr, substitute, topological
from ricci.expr import variable as input_node
from ricci.expr.settle import settled
from ricci.expr.structures import is_zero
from ricci.notation import syntax
from ricci.notation.context import Facts
from ricci.notation.declarations import PLAIN, SYMMETRIES, Declarations
from ricci.notation.heights import flipped
from ricci.notation.occurrences import names_in
from ricci.notation.resolve import read_program
from ricci.show.derivation import Derivation, DerivationStep
from ricci.show.deriving.by_engine import derivation as by_engine
from ricci.show.deriving.course import Variation, Ways, worked_out
from ricci.show.deriving.definition import Given
from ricci.show.deriving.sizes_told import SizesTold
from ricci.show.deriving.slopes import resolved
from ricci.show.deriving.stars import starred, without_stars
from ricci.show.express import SyntaxWriter
from ricci.show.own_words import as_written
from ricci.show.page import Page
from ricci.show.phrases import indices_of, product_of
from ricci.show.standing import Standing
from ricci.user.formula import Formula
from ricci.user.targets import By, read, root_of


def derivation(formula: Formula, detail: str = "normal", sums: bool = False) -> Derivation:
    """The steps that lead to a derivative, from the definition of the function."""
    if formula.route is not None:
        return _of_route(formula, detail, sums)
    if formula.origin is None:
        raise InputError('Only a derivative, a pullback or a pushforward has a derivation: f.diff("x").derivation().')
    page = Page.of(*[derived.origin.formula.expr for derived in formula.chain])
    for derived in formula.chain:  # free indices keep their names
        page.claims |= dict(zip(derived.indices, derived.expr.shape, strict=True))
    for derived in formula.chain:
        if derived.origin.by.kind == "part":
            raise _refusal(derived.origin.by)
    steps = _on_the_board(formula, page, detail, sums)
    if steps is None:
        complex_numbers = any(node.complex for d in formula.chain for node in topological(d.origin.formula.expr))
        steps = _in_one_line(formula, page) if complex_numbers else _by_engine(formula, page)
    return Derivation(steps, _declared(formula))


def _in_one_line(formula: Formula, page: Page) -> list[DerivationStep]:
    """What is not worked out on the board, of complex numbers: each derivative as it is found."""
    given, typed = given_of(root_of(formula), "", page)
    last = given.statements[-1]
    left: syntax.Node = syntax.TensorNode(0, 0, last.name or "", last.indices)
    steps = [DerivationStep("definition", left, syntax.Statements("", given.statements, sizes=given.shown), typed)]
    for derived in formula.chain:
        name = derived.origin.by.name
        left = without_stars(syntax.Derivative(0, 0, left, _target(derived.origin)))
        printed = _printed(derived, page)
        *before, value = printed.statements
        right = (*before, syntax.Statement(0, 0, None, None, value.body))
        rule = (
            f"derivative, {name} and conj({name}) being independent" if derived.origin.by.node.complex else "derivative"
        )
        steps.append(DerivationStep(rule, left, syntax.Statements("", right, sizes=printed.sizes)))
    return steps


def _refusal(by: By) -> InputError:
    return InputError(
        f"The derivative by {by.name!r} is not derived step by step: "
        "that is done for inputs, and for defined names before what they are made of."
    )


def _declared(formula: Formula) -> Declarations:
    """What is known of the names of a formula that its lines do not say."""
    facts = formula.context.facts
    words: dict[str, Any] = {w: tuple([n for n, said in facts.symmetries.items() if said == w]) for w in SYMMETRIES}
    functions = [(name, None if name in facts.unknown else own) for name, own in facts.functions.items()]
    source = root_of(formula if formula.route is None else formula.route.formula).source
    metric = source[3].metric if source is not None else next(iter(facts.moved.values()), None)
    return Declarations(metric=metric, functions=tuple(functions), complex=(*facts.complex, *_opened(formula)), **words)


def _opened(formula: Formula) -> list[str]:
    """The complex definition that a derivative is by, which is an input on the board."""
    by = {d.origin.by.name: d.origin.by for d in formula.chain}
    return [name for name, one in by.items() if len(by) == 1 and one.kind == "definition" and one.node.complex]


def _on_the_board(formula: Formula, page: Page, detail: str, sums: bool) -> list[DerivationStep] | None:
    root = root_of(formula)
    names = {derived.origin.by.name for derived in formula.chain}
    given, typed = given_of(root, names.pop() if len(names) == 1 else "", page)
    declared = replace(given.declared, complex=(*given.declared.complex, *_opened(formula)))
    given = replace(given, declared=declared)
    by = [Variation(_target(d.origin), d.origin.by.node.shape, _printed(d, page)) for d in formula.chain]
    return worked_out(given, by, typed, detail, sums)


def _target(origin: Any) -> syntax.TensorNode:
    """The variable of a derivative with its new indices, where they stand."""
    name = starred(origin.by.name) if origin.by.conjugate else origin.by.name
    return _standing(name, *zip(*origin.standing, strict=True)) if origin.standing else _standing(name)


def _standing(name: str, names: Sequence[str] = (), heights: Sequence[str] = ()) -> syntax.TensorNode:
    return syntax.TensorNode(0, 0, name, Standing.at(indices_of(tuple(names)), tuple(heights)) or None)


def _printed(formula: Formula, page: Page) -> syntax.Statements:
    page = Page(page.linked, claims=dict(page.claims), sided=True)
    return SyntaxWriter(formula.expr, formula.indices, formula.context.facts, formula.heights, page).program(None)


def given_of(root: Formula, without: str, page: Page) -> tuple[Given, bool]:
    """The program that defines a formula, as typed where it was; and whether it was."""
    facts = root.context.facts
    typed, name = as_typed(root, without), root.name or "f"
    heights = {**facts.heights, name: root.standing} if any(root.standing) else facts.heights
    page = Page(page.linked, claims=dict(page.claims), sided=True)
    program = SyntaxWriter(root.expr, root.indices, facts, root.standing if any(root.standing) else (), page).program(
        None
    )
    *before, last = program.statements
    own = (*before, replace(last, name=name, indices=_standing(name, root.indices, root.standing).indices))
    declared = root.source[3] if root.source else PLAIN
    sizes = dict(root.source[1]) if root.source and typed else {}
    said = _sizes_typed(root) if typed else program.sizes
    return Given(typed or own, heights, facts.inputs, sizes, program.sizes, said, declared, _same_values), bool(typed)


def _sizes_typed(formula: Formula) -> syntax.SizeLine:
    """What the author's text says of sizes beside its statements."""
    assert formula.source is not None
    text, _, _, declared = formula.source
    return read_program(text, declared).sizes


def _same_values(one: Expr, other: Expr, facts: Facts) -> bool:
    from ricci.user.sampling import compare

    found = compare(one, other, facts)
    return not found.differ and found.points > 0


def _by_engine(formula: Formula, page: Page) -> list[DerivationStep]:
    steps, name = [], root_of(formula).name or "f"
    of: syntax.Node | None = None
    for derived in formula.chain:
        source, by, names = derived.origin
        reading = read(source, [by])
        if any(is_zero(value) for value in reading.back.values()):
            raise _refusal(by)
        shown = {x: input_node(by.name, x.shape) for x in reading.xs if x is not by.node}
        expr = substitute(reading.expr, shown)
        x = by.node if by.kind == "input" else input_node(by.name, by.node.shape)
        facts = derived.context.facts
        if any(source.standing):
            facts = replace(facts, heights={**facts.heights, name: source.standing})
        typed = as_typed(source, by.name) if not steps else ()
        steps += by_engine(expr, name, source.indices, x, names, facts, page, not steps, typed, of)
        of = syntax.Derivative(0, 0, of or _standing(name, source.indices, source.standing), _target(derived.origin))
        name = f"d{name}_d{by.name}"
    return steps


# Pullbacks and pushforwards


def _of_route(formula: Formula, detail: str, sums: bool) -> Derivation:
    route = formula.route
    source = route.formula
    page = Page.of(source.expr, formula.expr)
    page.claims |= dict(zip(formula.indices, formula.expr.shape, strict=True))
    page.claims |= dict(zip(source.indices, source.expr.shape, strict=True))
    given, typed = given_of(source, "", page)
    y = given.statements[-1]
    taken = _words(given.statements)
    if hasattr(route, "y_bar"):
        bar = _incoming(route, given, page, taken)
        statements = (*given.statements, *bar)
        orders = {**given.orders, **formula.context.facts.inputs}
        given = replace(
            given, statements=statements, orders=orders, heights={**formula.context.facts.heights, **given.heights}
        )
        by = [Variation(_target(route), route.by.node.shape, _printed(formula, page))]
        steps = worked_out(given, by, typed, detail, sums, [y.name or ""])
    else:
        ways = _ways(route, formula, page)
        steps = worked_out(_with_facts(given, formula), [], typed, detail, sums, along=ways)
    if steps is None:
        raise InputError(
            f"{'The pullback to' if hasattr(route, 'y_bar') else 'The pushforward along'} "
            f"{_names_by(route)} is not derived step by step; the derivative is: f.diff(…).derivation()."
        )
    return Derivation(steps, _declared(formula))


def _with_facts(given: Given, formula: Formula) -> Given:
    """With what is known of the names that come in beside the text."""
    facts = formula.context.facts
    return replace(given, orders={**given.orders, **facts.inputs}, heights={**facts.heights, **given.heights})


def _names_by(route: Any) -> str:
    return ", ".join([repr(by.name) for by in (route.by if isinstance(route.by, tuple) else (route.by,))])


def _words(statements: Iterable[syntax.Statement]) -> set[str]:
    return {s.name or "" for s in statements} | {name for s in statements for name in _mentioned(s.body)}


def _unused(wanted: str, taken: set[str]) -> str:
    return next(n for n in (f"{wanted}{k or ''}" for k in count()) if n not in taken)


def _incoming(route: Any, given: Given, page: Page, taken: set[str]) -> list[syntax.Statement]:
    """``l = y_bar[i] y[i]``; what comes in and is no name gets one, and is constant."""
    y = given.statements[-1]
    tensor = syntax.TensorNode(0, 0, y.name or "", y.indices)
    if route.y_bar is None:
        stand = flipped([i.height for i in y.indices or ()])
        ones = tuple([replace(i, height=h) for i, h in zip(y.indices or (), stand, strict=True)])
        body = product_of([(1, syntax.Ones(0, 0, ones)), (1, tensor)]) if ones else tensor
        return [syntax.Statement(0, 0, _unused("l", taken), None, body)]
    bar: Formula = route.y_bar
    own = tuple([n for n in bar.indices if n not in route.formula.indices])
    heights = dict(zip(bar.indices, bar.standing, strict=True))
    facts = bar.context.facts
    writer = SyntaxWriter(
        bar.expr, bar.indices, facts, bar.heights, Page(page.linked, claims=dict(page.claims), sided=True)
    )
    *before, last = writer.program(None).statements
    made: list[syntax.Statement] = [s for s in before if s.name not in {t.name for t in given.statements}]
    left = last.body
    if not isinstance(left, syntax.TensorNode):
        name = _unused(f"{y.name}_bar", taken | _mentioned(left))
        constant = syntax.CallNode(0, 0, "stop_gradient", (left,), None, None)
        made.append(syntax.Statement(0, 0, name, _standing(name, bar.indices, bar.standing).indices, constant))
        left = _standing(name, bar.indices, bar.standing)
    taken = taken | _mentioned(left)
    name = _unused("l", taken)
    indices = Standing.at(indices_of(own), tuple([heights[n] for n in own])) or None
    return [*made, syntax.Statement(0, 0, name, indices, product_of([(1, left), (1, tensor)]))]


def _ways(route: Any, formula: Formula, page: Page) -> Ways:
    """The directions of a pushforward, each with the variable that it is a change of."""
    found = []
    for by, direction in zip(route.by, route.directions, strict=True):
        program = _printed(direction.dot, page)
        x = _standing(by.name, direction.names, by.heights)
        found.append((Variation(x, by.node.shape), program))
    return Ways(found, _printed(formula, page))


def as_typed(formula: Formula, without: str = "") -> tuple[syntax.Statement, ...]:
    """The statements that define a formula as its author has typed them, but for one of a name that is independent.

    There are none where the formula has no text of its own, goes by other names than there, or where these statements
    alone do not say the sizes that the whole text does.
    """
    if formula.source is None or formula.origin is not None:
        return ()
    text, _, position, declared = formula.source
    program = read_program(text, declared)
    if not formula.context.facts.heights:
        for index in program.standing:
            index.height = ""
    *before, last = program.statements[: position + 1]
    own = tuple([index.terms[0][1] if index.plain else "" for index in last.indices or ()])
    if last.name != formula.name or own != formula.indices or any(s.name == last.name for s in before):
        return ()
    if not _reads_back(formula, _needed(before, last), program.sizes):
        return ()
    return tuple([as_written(statement) for statement in _needed(before, last, without)])


def _needed(before: Sequence[syntax.Statement], last: syntax.Statement, without: str = "") -> list[syntax.Statement]:
    """The last statement, and those that it is made of; a name that is independent is made of nothing."""
    kept, wanted = [last], _mentioned(last.body) - {without}
    for statement in reversed(before):
        if statement.name in wanted:
            kept.insert(0, statement)
            wanted |= _mentioned(statement.body) - {without}
    return kept


def _reads_back(formula: Formula, statements: Sequence[syntax.Statement], sizes: syntax.SizeLine) -> bool:
    """Whether statements of its text, without the others, are the formula."""
    assert formula.source is not None
    _, given, _, declared = formula.source
    try:
        found = resolved(statements, declared, formula.context.facts.inputs, dict(given), sizes)[-1]
        if not SizesTold(statements, sizes, dict(given)).begin_at_zero():
            return False  # beside a left side, whose sizes are known, reads would begin elsewhere
    except RicciError:
        return False
    if found.value.expr is formula.expr:
        return True
    links = [*found.context.facts.linked_sizes(), *formula.context.facts.linked_sizes()]
    return settled(found.value.expr, links) is settled(formula.expr, links)


def _mentioned(body: syntax.Node) -> set[str]:
    """The names of tensors in a tree, also of those that are indices."""
    found = set(names_in(body))
    for node in syntax.within(body):
        for index in getattr(node, "indices", None) or ():
            found |= _mentioned(index.tensor) if index.tensor is not None else set()
        if isinstance(node, syntax.Derivative):
            found.add(node.variable.name)
    return found
