"""Derivatives for formulas: ``diff``, ``pullback``, ``pushforward`` with index names.

A variable is named as in the text, ``"w"``, or with the indices that its axes shall have in the result, ``"x[p,q]"``;
any formula that is part of the expression may be given instead, and then counts as independent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ricci.calculus import graph, modes
from ricci.errors import InputError, RuleError, nearest
from ricci.expr import Expr, Variable, one, product, substitute, topological, variables
from ricci.expr import variable as input_node
from ricci.formula import Formula, as_formula
from ricci.notation.context import Context, Facts
from ricci.notation.resolve import resolve
from ricci.show.derivation import Derivation
from ricci.show.derivation import derivation as show_derivation
from ricci.show.naming import Namer
from ricci.simplify import simplify, simplify_all

Target = Any  # a name, a name with indices, or a Formula


def diff(
    formula: Formula, *wrt: Target, mode: str = "auto", cut: Sequence[Formula] | None = None, effort: float = 0.0
) -> Formula:
    """The derivative by each of ``wrt`` in turn; its indices are those of ``formula``, then those of the variables.

    >>> from ricci import parse
    >>> print(diff(parse("y[i,j] = x[i,k] a[k,j]"), "x[p,q]"))
    dy_dx[i,j,p,q] = delta[i,p] a[q,j]
    """
    _check_formula(formula, "diff")
    if not _flat(wrt):
        raise InputError('diff needs to know by what: formula.diff("x").')
    result = formula
    for target in _flat(wrt):
        result = _diff_once(result, target, mode, cut, effort)
    before = formula.chain
    root = before[0].origin[0] if before else formula
    names = [getattr(step.origin[1], "name", "t") for step in before] + [_target_name(target) for target in _flat(wrt)]
    order = "" if len(names) == 1 else str(len(names))
    label = f"d{order}{root.name or 'f'}_" + "_".join(f"d{name}" for name in names)
    named = result.named(label)
    named.origin = result.origin
    return named


def _check_formula(formula: object, what: str) -> None:
    if not isinstance(formula, Formula):
        raise InputError(f"rc.{what} takes a formula first, as rc.parse makes it, not {type(formula).__name__}.")


def _flat(wrt: Sequence[Target]) -> list[Target]:
    return [t for target in wrt for t in (target if isinstance(target, (list, tuple)) else (target,))]


def _target_name(target: Target) -> str:
    name = target.name if isinstance(target, Formula) else target.partition("[")[0].strip()
    if name is None and isinstance(target, Formula) and isinstance(target.expr, Variable):
        name = target.expr.name
    return name or "t"


def _diff_once(formula: Formula, target: Target, mode: str, cut: Sequence[Formula] | None, effort: float) -> Formula:
    if isinstance(target, str) and formula.source is not None:
        name = target.partition("[")[0].strip()
        if name in formula.context.facts.definitions and cut is None:
            return _diff_by_definition(formula, target, name, mode, effort)
    x, wanted = resolve_target(formula, target)
    if cut is None:
        return _by_node(formula, x, wanted, mode, effort)
    expr = modes.through_cut(formula.expr, x, [resolve_target(formula, node)[0] for node in cut])
    return _derived(formula, x, wanted, expr)


def _by_node(formula: Formula, x: Expr, wanted: tuple[str, ...] | None, mode: str, effort: float) -> Formula:
    return _derived(formula, x, wanted, modes.derivative(_stable(formula.expr, [x]), x, mode, effort))


def _derived(formula: Formula, x: Expr, wanted: tuple[str, ...] | None, expr: Expr) -> Formula:
    names, context = _new_names(formula, x, wanted)
    result = Formula(simplify(expr), names, context)
    result.origin = (formula, x, names[len(formula.indices) :])
    return result


def _diff_by_definition(formula: Formula, target: str, name: str, mode: str, effort: float) -> Formula:
    """By a defined name, which counts as independent: the text is read again with the name as an input."""
    assert formula.source is not None
    text, sizes, position = formula.source
    part = resolve(text, sizes, modes.derivative, independent=name)[position]
    value = formula.context.facts.definitions[name]
    x = input_node(name, value.shape)
    wanted = _wanted(target) or part.context.facts.defined_indices[name]
    itself = part.name == name
    stand_in = Formula(x if itself else part.value.expr, part.value.names, part.context, part.name)
    if not _wanted(target) and set(wanted) & set(stand_in.indices):
        wanted = None
    result = _by_node(stand_in, x, wanted, mode, effort)
    expr = simplify(substitute(result.expr, {x: value}))
    return Formula(expr, result.indices, formula.context.merged(result.context))


def _wanted(target: str) -> tuple[str, ...] | None:
    """The index names that a target asks for: p and q in ``x[p,q]``."""
    _, bracket, inside = target.partition("[")
    return tuple([word.strip() for word in inside.rstrip(" ]").split(",")]) if bracket else None


def resolve_target(
    formula: Formula, target: Target, known: Mapping[str, Expr] | None = None
) -> tuple[Expr, tuple[str, ...] | None]:
    """The node to differentiate by, and the index names asked for."""
    if isinstance(target, Formula):
        if isinstance(target.expr, Variable):
            return _input(formula, target.expr.name, target.expr), None
        if target.expr not in set(topological(formula.expr)):
            raise InputError(
                f"{target} is not part of the expression as it stands, so there is no derivative by it; "
                "name it in a statement of its own and use that name."
            )
        return target.expr, target.indices
    if not isinstance(target, str):
        raise InputError(f"diff goes by a name or a formula, not {type(target).__name__}.")
    match = re.fullmatch(r"\s*([^\W\d]\w*)\s*(?:\[([^\[\]]*)\])?\s*", target)
    if match is None:
        raise InputError(f"{target!r} is not a name, nor a name with indices such as 'x[p,q]'.")
    name, wanted = match.group(1), _wanted(target)
    found = None if known is None or name in formula.context.facts.integers else known.get(name)
    return found or _input(formula, name, None), wanted


def _input(formula: Formula, name: str, node: Expr | None) -> Expr:
    facts = formula.context.facts
    if name in facts.integers:
        raise InputError(f"{name!r} is an integer tensor, used as an index; there is no derivative by it.")
    found = [v for v in variables(formula.expr) if v.name == name]
    if len(found) > 1:  # with sizes given in one place and not in another they are two tensors to the core
        shapes = " and ".join([str(v.shape) for v in found])
        raise InputError(f"{name!r} stands for tensors of the shapes {shapes}; give its sizes everywhere, or nowhere.")
    if found:
        return found[0]
    if name in facts.definitions:
        defined = facts.definitions[name]
        if defined in set(topological(formula.expr)):
            return defined
        raise InputError(f"{name!r} is not part of the expression as it stands, so there is no derivative by it.")
    if name in facts.inputs:
        return node or input_node(name, facts.inputs[name])
    known = [*facts.inputs, *facts.definitions]
    raise InputError(f"There is no variable {name!r}; there are {', '.join(known)}. {nearest(name, known)}".rstrip())


def _new_names(
    formula: Formula, x: Expr, wanted: tuple[str, ...] | None, namer: Namer | None = None
) -> tuple[tuple[str, ...], Context]:
    """Index names for the result: those asked for, or the user's own for the axes, or fresh ones."""
    if wanted is not None and not isinstance(x, Variable) and set(wanted) & set(formula.indices):
        wanted = None
    if wanted is not None:
        _check_wanted(formula, x, wanted)
        names = wanted
    else:
        namer = namer or _namer(formula)
        taken = set(formula.indices)
        names = ()
        for axis, size in enumerate(x.shape):
            name = namer.fresh(size, namer.hints_of(x, axis), taken)
            taken.add(name)
            names = (*names, name)
    facts = Facts()
    if isinstance(x, Variable):
        facts.groups = [(name, ((x.name, axis),)) for axis, name in enumerate(names)]
    return (*formula.indices, *names), formula.context.merged(Context(facts)) if names else formula.context


def _namer(formula: Formula) -> Namer:
    namer = Namer(formula.context.facts, [formula.expr])
    for name, size in zip(formula.indices, formula.expr.shape, strict=True):
        namer.claim(name, size)
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


def derivation(formula: Formula) -> Derivation:
    """The steps that lead to a derivative, from the definition of the function."""
    if formula.origin is None:
        raise InputError('Only a derivative has a derivation: f.diff("x").derivation().')
    steps, name = [], formula.chain[0].origin[0].name or "f"
    known: dict[Expr, str] = {}
    for derived in formula.chain:
        source, x, names = derived.origin
        facts = derived.context.facts
        steps += show_derivation(source.expr, name, source.indices, x, names, facts, known, first=not steps)
        name = f"d{name}_d{x.name}" if isinstance(x, Variable) else name
    return Derivation(steps)


def diff_all(formula: Formula, *wrt: Target, mode: str = "reverse") -> tuple[Formula, ...]:
    """The derivatives by several variables, in one sweep."""
    _check_formula(formula, "diff_all")
    if not _flat(wrt):
        raise InputError('diff_all needs to know by what: formula.diff_all("x", "w").')
    inputs = variables(formula.expr)
    twice = {name for name, count in Counter(v.name for v in inputs).items() if count > 1}
    known = {v.name: v for v in inputs if v.name not in twice}
    targets = [resolve_target(formula, target, known) for target in _flat(wrt)]
    y = _stable(formula.expr, [x for x, _ in targets])
    (row,) = modes.derivatives([y], [x for x, _ in targets], mode)
    result = []
    namer = _namer(formula)
    for (x, wanted), expr, target in zip(targets, simplify_all(row), _flat(wrt), strict=True):
        names, context = _new_names(formula, x, wanted, namer)
        name = f"d{formula.name or 'f'}_d{_target_name(target)}"
        result.append(Formula(expr, names, context, name))
        result[-1].origin = (formula, x, names[len(formula.indices) :])
    return tuple(result)


def _stable(y: Expr, xs: Sequence[Expr]) -> Expr:
    """``y`` in its stable form, where that keeps what it is differentiated by."""
    return simplify(y) if all(isinstance(x, Variable) for x in xs) else y


def pushforward(formula: Formula, dots: Mapping[str, Formula]) -> Formula:
    """The derivative along given directions (jvp): ``rc.pushforward(f, {"w": w_dot})``."""
    _check_formula(formula, "pushforward")
    if not isinstance(dots, Mapping):
        raise InputError('pushforward takes the directions by name: rc.pushforward(f, {"w": w_dot}).')
    seeds: dict[Expr, Expr] = {}
    contexts = formula.context
    for name, direction in dots.items():
        x, _ = resolve_target(formula, name)
        dot = as_formula(direction)
        if dot.order != len(x.shape):
            raise RuleError(f"The direction for {name!r} has {dot.order} indices; the variable has {len(x.shape)}.")
        seeds[x] = dot.expr
        contexts = contexts.merged(dot.context)
    if not seeds:
        raise InputError('pushforward needs directions: rc.pushforward(f, {"w": w_dot}).')
    y = _stable(formula.expr, list(seeds))
    return Formula(simplify(graph.pushforward(y, seeds)), formula.indices, contexts)


def pullback(formula: Formula, wrt: Sequence[Target] | Target, y_bar: Formula | None = None) -> Any:
    """The gradients that flow back to the inputs when ``y_bar`` comes in (vjp), all in one sweep.

    Ones come in where nothing is given. A list of inputs gives a tuple of formulas, a single one a formula.
    """
    targets = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    nodes = [resolve_target(formula, target) for target in targets]
    bar, context = one(formula.expr.shape), formula.context
    if y_bar is not None:
        given = as_formula(y_bar)
        if set(given.indices) != set(formula.indices):
            listed = ",".join(formula.indices)
            raise RuleError(
                f"What comes in has the indices of the formula, [{listed}], not [{','.join(given.indices)}]."
            )
        bar = product([(given.expr, given.indices)], formula.indices)
        context = context.merged(given.context)
    scalar = Formula(one(()), (), context)
    result = []
    xs = [x for x, _ in nodes]
    for (x, wanted), expr in zip(nodes, simplify_all(graph.pullbacks(_stable(formula.expr, xs), bar, xs)), strict=True):
        names, known = _new_names(scalar, x, wanted)
        result.append(Formula(expr, names, known))
    return tuple(result) if isinstance(wrt, (list, tuple)) else result[0]


def elimination_cost(
    formula: Formula | Sequence[Formula], wrt: Target | Sequence[Target], mode: str = "auto", effort: float = 0.0
) -> int:
    """The multiplications that a mode takes to accumulate the Jacobian; deltas and ±1 are free."""
    formulas = [formula] if isinstance(formula, Formula) else list(formula)
    everything = formulas[0].context
    for other in formulas[1:]:
        everything = everything.merged(other.context)
    targets = _flat([wrt])
    xs = [_somewhere(formulas, target) for target in targets]
    return modes.eliminated([f.expr for f in formulas], xs, mode, effort)[1]


def _somewhere(formulas: list[Formula], target: Target) -> Expr:
    """The node that a target names in the first of several formulas that has it."""
    name = _target_name(target) if isinstance(target, (str, Formula)) else ""
    having = [f for f in formulas if name in f.context.facts.inputs or name in f.context.facts.definitions]
    using = [f for f in having if name in f.variables]
    return resolve_target((using or having or formulas)[0], target)[0]
