"""Derivatives for formulas: ``diff``, ``pullback``, ``pushforward`` with index names.

A variable is named as in the text, ``"w"``, or with the indices that its axes shall have in the result, ``"x[p,q]"``;
a name that the text defines, or any formula that is part of the expression, may be given instead, and then counts as
independent (``targets.py``). Each derivative is the total one: what is asked for beside it changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product as product_of
from typing import Any, NamedTuple, overload

from ricci.calculus import graph, modes
from ricci.calculus.projecting import projected
from ricci.checked_calls import shown, takes
from ricci.errors import InputError, RuleError
from ricci.expr import Expr, add, conj, one, product
from ricci.notation.context import Context, Facts
from ricci.notation.heights import KEEPS, flipped, told
from ricci.show.index_names import Namer
from ricci.user.formula import Formula, as_formula, check_labels
from ricci.user.targets import By, Target, find, find_all, read, read_cut, root_of


class Origin(NamedTuple):
    """Where a derivative comes from: of what and by what, and the names of its new axes."""

    formula: Formula
    by: By
    names: tuple[str, ...]

    @property
    def standing(self) -> tuple[tuple[str, str], ...]:
        """The names of the axes of what it is by, each with the height that it has there."""
        return tuple(zip(self.names, self.by.heights or ("",) * len(self.names), strict=True))


@takes("rc.diff", formula="formula", mode="text", effort="amount")
def diff(
    formula: Formula,
    *wrt: Target | Sequence[Target],
    mode: str = "auto",
    cut: Target | Sequence[Target] | None = None,
    effort: float = 0.0,
) -> Formula:
    """The derivative by each of ``wrt`` in turn; its indices are those of ``formula``, then those of the variables.

    >>> from ricci import parse
    >>> print(diff(parse("y[i,j] = x[i,k] a[k,j]"), "x[p,q]"))
    dy_dx[i,j,p,q] = delta[i,p] a[q,j]
    """
    if not _flat(wrt):
        raise InputError('diff needs to know by what: formula.diff("x").')
    formula = cartesian(formula)
    for target in _flat(wrt):
        formula = _diff_once(formula, target, mode, cut, effort)
    return formula


def cartesian(formula: Formula) -> Formula:
    """A formula of a text in which no index stands above: what is below is in brackets, and so is a derivative."""
    if formula.source is None or formula.origin is not None or formula.source[3].metric is not None:
        return formula
    facts = formula.context.facts
    heights = {*formula.standing, *[height for own in facts.heights.values() for height in own]}
    if heights - {""} != {"down"}:
        return formula
    context = Context(replace(facts, heights={}))
    plain = Formula(formula.expr, formula.indices, context, formula.name, statements=formula.statements)
    plain.source = formula.source
    return plain


def _flat(wrt: Sequence[Any]) -> list[Target]:
    return [t for target in wrt for t in (target if isinstance(target, (list, tuple)) else (target,))]


def _diff_once(
    formula: Formula, target: Target, mode: str, cut: Target | Sequence[Target] | None, effort: float
) -> Formula:
    by = find(formula, target)
    if by.wanted is not None and len(by.wanted) != len(by.node.shape):
        again = formula.of_orders({by.name: len(by.wanted)})  # where the text does not say how many it has
        if again is not None:
            formula, by = again, find(again, target)
    if cut is None:
        reading = read(formula, [by])
        expr = modes.derivative(reading.stable, reading.xs[0], mode, effort)
    else:
        reading, nodes = read_cut(formula, by, find_all(formula, _flat([cut])))
        expr = modes.through_cut(reading.expr, reading.xs[0], nodes)
    return _derived(formula, by, reading.restored([expr])[0], _namer(formula))


def _derived(formula: Formula, by: By, expr: Expr, namer: Namer) -> Formula:
    names = [step.origin.by.label for step in formula.chain] + [by.label]
    order = "" if len(names) == 1 else str(len(names))
    label = f"d{order}{root_of(formula).name or 'f'}_" + "_".join(f"d{name}" for name in names)
    indices, context = _new_names(formula, by, namer)
    result = Formula(expr, (*formula.indices, *indices), context, label, _heights(formula.standing, by))
    result.origin = Origin(formula, by, indices)
    return result


def _heights(before: tuple[str, ...], by: By) -> tuple[str, ...]:
    """Where the indices of a derivative stand: those that it is by on the other side."""
    return (*before, *flipped(by.heights or ("",) * len(by.node.shape)))


def _new_names(formula: Formula, by: By, namer: Namer) -> tuple[tuple[str, ...], Context]:
    """Index names for the axes of a target: those asked for, or the user's own for the axes, or fresh ones."""
    names = by.wanted
    if names is None and by.kind != "input" and by.own is not None and not set(by.own) & set(formula.indices):
        names = by.own
    if by.wanted is not None:
        _check_wanted(formula, by.node, by.wanted)
        check_labels(by.wanted, by.heights)
    if names is None:
        taken, names = set(formula.indices), ()
        for axis, size in enumerate(by.node.shape):
            name = namer.fresh(size, namer.hints_of(by.node, axis), taken)
            taken.add(name)
            names = (*names, name)
    axes = [(name, ((by.name, axis),)) for axis, name in enumerate(names)] if by.kind == "input" else []
    return names, formula.context.merged(Context(Facts(groups=axes, derived=True)))


def _namer(formula: Formula) -> Namer:
    namer = Namer(formula.context.facts, [formula.expr])
    namer.claim_free(formula.expr, formula.indices)
    namer.claim_own(root_of(formula).expr)
    namer.claim_typed()
    return namer


def _check_wanted(formula: Formula, x: Expr, wanted: tuple[str, ...]) -> None:
    if len(wanted) != len(x.shape):
        raise RuleError(f"The variable has {len(x.shape)} indices, and {len(wanted)} were given: {', '.join(wanted)}.")
    for name in wanted:
        if not re.fullmatch(r"[^\W\d]\w*'*", name):
            raise RuleError(f"{name!r} is not an index name; write letters, digits and underscores: 'x[p,q]'.")
        if name in formula.indices or wanted.count(name) > 1:
            raise RuleError(
                f"The derivative operator needs new free indices; {name!r} is already one of "
                f"[{','.join((*formula.indices, *wanted))}]."
            )


@takes("rc.diff_all", formula="formula", mode="text")
def diff_all(formula: Formula, *wrt: Target | Sequence[Target], mode: str = "reverse") -> tuple[Formula, ...]:
    """The derivatives by several variables, in one sweep; each is what ``diff`` by it alone gives."""
    if not _flat(wrt):
        raise InputError('diff_all needs to know by what: formula.diff_all("x", "w").')
    formula = cartesian(formula)
    targets = find_all(formula, _flat(wrt))
    reading = read(formula, targets)
    (row,) = modes.derivatives([reading.stable], reading.xs, mode)
    namer = _namer(formula)
    pairs = zip(targets, reading.restored(row), strict=True)
    return tuple([_derived(formula, by, expr, namer.again()) for by, expr in pairs])


@takes("rc.pushforward", formula="formula")
def pushforward(formula: Formula, dots: Mapping[Any, Formula]) -> Formula:
    """The derivative along given directions (jvp): ``rc.pushforward(f, {"w": w_dot})``.

    A direction has the indices of its variable, in any order, and perhaps further ones, which the result then has too,
    after its own.
    """
    if not isinstance(dots, Mapping):
        raise InputError('pushforward takes the directions by name: rc.pushforward(f, {"w": w_dot}).')
    if not dots:
        raise InputError('pushforward needs directions: rc.pushforward(f, {"w": w_dot}).')
    targets = find_all(formula, list(dots))
    directions = [_direction(formula, by, as_formula(dot)) for by, dot in zip(targets, dots.values(), strict=True)]
    further = directions[0].further
    reading = read(formula, targets)
    seeds: dict[Expr, list[Expr]] = {}
    context = formula.context
    for by, x, direction in zip(targets, reading.xs, directions, strict=True):
        _check_further(formula, by, direction.further, further)
        along = direction.along(further)
        seeds.setdefault(x, []).append(along)
        if x.complex and conj(x) not in reading.xs:  # which changes with it
            seeds.setdefault(conj(x), []).append(conj(along))
        context = context.merged(direction.dot.context)
    summed = {x: projected(add([(1, dot) for dot in along]), x, 0) for x, along in seeds.items()}
    expr = graph.pushforward(reading.stable, summed)
    context = context.merged(Context(Facts(derived=True)))
    names = (*formula.indices, *further)
    result = Formula(reading.restored([expr])[0], names, context, None, (*formula.standing, *directions[0].heights))
    result.route = Pushed(formula, tuple(targets), tuple(directions))
    return result


class Pulled(NamedTuple):
    """Where a pullback comes from: through what, to what with which indices, and what came in."""

    formula: Formula
    by: By
    names: tuple[str, ...]
    y_bar: Formula | None

    @property
    def standing(self) -> tuple[tuple[str, str], ...]:
        return tuple(zip(self.names, self.by.heights or ("",) * len(self.names), strict=True))


class Pushed(NamedTuple):
    """Where a pushforward comes from: through what, and along which directions."""

    formula: Formula
    by: tuple[By, ...]
    directions: tuple[Direction, ...]


class Direction(NamedTuple):
    """A direction, the names of its axes in the order of its variable's, and those of its further axes."""

    dot: Formula
    names: tuple[str, ...]
    further: tuple[str, ...]

    @property
    def heights(self) -> tuple[str, ...]:
        """Where its further indices stand."""
        own = dict(zip(self.dot.indices, self.dot.standing, strict=True))
        return tuple([own[name] for name in self.further])

    def along(self, further: tuple[str, ...]) -> Expr:
        return product([(self.dot.expr, self.dot.indices)], (*self.names, *further))


def _direction(formula: Formula, by: By, dot: Formula) -> Direction:
    """Which axis of ``dot`` goes with which axis of the target, by the names that the target was written with."""
    order = len(by.node.shape)
    if by.wanted is not None:
        _check_wanted(Formula(one(())), by.node, by.wanted)
        called = [{name} for name in by.wanted]
    elif by.own is not None:
        called = [{name} for name in by.own]
    else:
        groups = formula.context.facts.groups
        called = [{name for name, axes in groups if (by.name, axis) in axes} for axis in range(order)]
    names = _matched(called, dot.indices)
    if names is None and len(dot.indices) == order and not set().union(*called) & set(dot.indices):
        names = dot.indices  # names that say nothing: axis by axis
    if names is None:
        listed, example = ", ".join([" or ".join(sorted(names)) for names in called]), ",".join("pqrstuvw"[:order])
        raise RuleError(
            f"The direction for {by.name!r} has {len(dot.indices)} indices; the variable has {order}. They go together "
            f"by name, and [{','.join(dot.indices)}] does not say which are [{listed}]; rename the indices of the "
            f"direction, or name those of the variable as the direction has them: '{by.name}[{example}]'."
        )
    own = dict(zip(dot.indices, dot.standing, strict=True))
    _check_heights(f"The direction for {by.name!r}", [own[name] for name in names], by.heights or ("",) * order)
    return Direction(dot, names, tuple([name for name in dot.indices if name not in names]))


def _check_heights(what: str, found: Sequence[str], wanted: Sequence[str]) -> None:
    if list(found) != list(wanted):
        raise RuleError(f"{what} has its indices {told(found)}, and they belong {told(wanted)}. {KEEPS}")


def _matched(called: Sequence[set[str]], indices: tuple[str, ...]) -> tuple[str, ...] | None:
    """The indices that go with axes which are ``called`` so: the one way that keeps their order, or the only way."""
    fitting = [[name for name in indices if name in names] for names in called]
    ways = [way for way in product_of(*fitting) if len(set(way)) == len(way)]
    kept = [way for way in ways if sorted(way, key=indices.index) == list(way)]
    return kept[0] if len(kept) == 1 else ways[0] if len(ways) == 1 else None


def _check_further(formula: Formula, by: By, found: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    """All directions have the same further axes, and these are new to the result."""
    if set(found) != set(wanted):
        raise RuleError(
            f"The direction for {by.name!r} has the further indices [{','.join(found)}] and another one "
            f"[{','.join(wanted)}]; multiply by the one-tensor to give all of them the same."
        )
    clash = [name for name in found if name in formula.indices]
    if clash:
        raise RuleError(
            f"The direction for {by.name!r} has the further index {clash[0]!r}, which the formula has too; rename it."
        )


@overload
def pullback(formula: Formula, wrt: Target, y_bar: Formula | None = None) -> Formula: ...
@overload
def pullback(formula: Formula, wrt: Sequence[Target], y_bar: Formula | None = None) -> tuple[Formula, ...]: ...
@takes("rc.pullback", formula="formula")
def pullback(formula: Formula, wrt: Sequence[Target] | Target, y_bar: Formula | None = None) -> Any:
    """The gradients that flow back to the inputs when ``y_bar`` comes in (vjp), all in one sweep.

    Ones come in where nothing is given. ``y_bar`` has the indices of the formula, in any order, and perhaps further
    ones, which the results then have too, before their own. A list of inputs gives a tuple of formulas, a single one a
    formula.
    """
    if not _flat([wrt]):
        raise InputError('pullback needs to know by what: rc.pullback(f, "x").')
    targets = find_all(formula, _flat([wrt]))
    bar, further, coming, context = one(formula.expr.shape), (), (), formula.context
    if y_bar is not None:
        given = as_formula(y_bar)
        if not set(given.indices) >= set(formula.indices):
            raise RuleError(
                f"What comes in has the indices of the formula, [{','.join(formula.indices)}], "
                f"not [{','.join(given.indices)}]."
            )
        further = tuple([name for name in given.indices if name not in formula.indices])
        own = dict(zip(given.indices, given.standing, strict=True))
        _check_heights("What comes in", [own[name] for name in formula.indices], flipped(formula.standing))
        coming = tuple([own[name] for name in further])
        bar = product([(given.expr, given.indices)], (*further, *formula.indices))
        context = context.merged(given.context)
    reading = read(formula, targets)
    incoming = Formula(one(bar.shape[: len(further)]), further, context)
    result = []
    for by, expr in zip(targets, reading.restored(graph.pullbacks(reading.stable, bar, reading.xs)), strict=True):
        names, known = _new_names(incoming, by, _namer(incoming))
        pulled = Formula(expr, (*further, *names), known, None, _heights(coming, by))
        pulled.route = Pulled(formula, by, names, None if y_bar is None else as_formula(y_bar))
        result.append(pulled)
    return tuple(result) if isinstance(wrt, (list, tuple)) else result[0]


@takes("rc.elimination_cost", mode="text", effort="amount")
def elimination_cost(
    formula: Formula | Sequence[Formula], wrt: Target | Sequence[Target], mode: str = "auto", effort: float = 0.0
) -> int:
    """The multiplications that a mode takes to accumulate the Jacobian; deltas and ±1 are free."""
    formulas = [formula] if isinstance(formula, Formula) else formula if isinstance(formula, (list, tuple)) else []
    if not formulas or not all(isinstance(f, Formula) for f in formulas):
        raise InputError(f"rc.elimination_cost takes a formula, or a list of them, not {shown(formula)}.")
    everything = formulas[0].context
    for other in formulas[1:]:
        everything = everything.merged(other.context)
    if not _flat([wrt]):
        raise InputError('elimination_cost needs to know by what: rc.elimination_cost(f, "x").')
    targets = [_somewhere(formulas, target) for target in _flat([wrt])]
    readings = [read(f, targets) for f in formulas]
    return modes.eliminated([reading.expr for reading in readings], readings[0].xs, mode, effort)[1]


def _somewhere(formulas: Sequence[Formula], target: Target) -> By:
    """What a target means in the first of several formulas that has it."""
    name = re.split(r"\[|\^|_\{", target)[0].strip() if isinstance(target, str) else getattr(target, "name", "")
    having = [f for f in formulas if name in f.context.facts.inputs or name in f.context.facts.definitions]
    using = [f for f in having if name in f.variables]
    return find((using or having or formulas)[0], target)
