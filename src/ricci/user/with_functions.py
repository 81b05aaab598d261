"""What a call, or ``f.with_functions(point=np.sin)``, says unknown functions are.

The function is traced on a number; that takes the place of ``point(x)``, and its derivatives, by ricci's own rules, the
place of ``point'(x)``. What is left is a formula without unknown functions, on the one road to arrays. A function
works entry by entry, and is refused if that is not sure. One of ``rc.custom`` keeps its rule, and so code that cannot
be traced has a derivative. A derivative may be given by its name too, ``{"point'": np.cos}``, which then is taken.

The function of a call is traced anew each time, so that what it reads is what it is then; what was made for the same
expressions is kept.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ricci.caches import Cache, cached
from ricci.calculus.modes import derivative
from ricci.errors import InputError, nearest
from ricci.expr import OPS, Elementwise, Expr, Function, Variable, add, elementwise, one, variable
from ricci.expr.walk import rewritten
from ricci.functions.unknown import Places, UnknownFunction, lacks_value, read_mark, unknown_in, unmarked
from ricci.loops.looped import with_steps
from ricci.notation.context import Context, Facts, merged
from ricci.simplify import simplify
from ricci.user.custom_formulas import by_entry
from ricci.user.formula import Formula
from ricci.user.functions_in_texts import GivenFunction

MOST_KEPT = 16


class FunctionValue(NamedTuple):
    """What a function, or one of its derivatives, is said to be, and for numbers."""

    places: Places
    given: GivenFunction | None  # none where it works entry by entry for sure
    inputs: tuple[Variable, ...]
    expr: Expr


Values = Mapping[str, Sequence[FunctionValue]]  # by the name of the function


def with_functions(formulas: Sequence[Formula], functions: Mapping[str, Any]) -> list[Formula]:
    """Formulas with these functions in the place of unknown ones."""
    facts = merged(f.context for f in formulas).facts
    values = _values(facts, functions)
    return [_replaced_in(f, values, {}) for f in formulas]


def _replaced_in(formula: Formula, values: Values, done: dict[int, Formula]) -> Formula:
    """A formula with values, its name, and the statements beside it."""
    facts = formula.context.facts
    definitions = dict(zip(facts.definitions, replaced(list(facts.definitions.values()), values), strict=True))
    left = {name: what for name, what in facts.functions.items() if name not in values}
    context = Context(replace(facts, definitions=definitions, functions=left))
    (expr,) = replaced([formula.expr], values)
    again = Formula(expr, formula.indices, context, formula.name, formula.heights)
    done[id(formula)] = again
    if formula.left is not None:
        again.left = _replaced_in(formula.left, values, done)
    if formula.origin is not None and formula.origin.by.kind == "input":
        again.origin = formula.origin._replace(formula=_replaced_in(formula.origin.formula, values, done))
    for name, other in formula.statements.items():
        again.statements[name] = done[id(other)] if id(other) in done else _replaced_in(_alone(other), values, done)
    return again


def _alone(formula: Formula) -> Formula:
    """A statement without those beside it."""
    return Formula(formula.expr, formula.indices, formula.context, formula.name, formula.heights)


def replaced(roots: Sequence[Expr], values: Values) -> list[Expr]:
    """Expressions with values for unknown functions, in the steps of loops too."""

    def step(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if isinstance(node, Function) and node.op.loop is not None and _has_any(node.op.loop.result, values):
            return with_steps(node, args, lambda e: replaced([e], values)[0])
        what = node.op.unknown if isinstance(node, Elementwise) else None
        return _value_of(what, args, node.order, values[what.name]) if what and what.name in values else None

    return rewritten(roots, step)


def _has_any(root: Expr, values: Values) -> bool:
    return any(what.name in values for what in unknown_in(root))


def _value_of(
    what: UnknownFunction, args: tuple[Expr, ...], order: int, values: Sequence[FunctionValue]
) -> Expr | None:
    """The value of a function, or of a derivative, for these arguments; none where only higher ones are given."""
    wanted = Counter(what.places)
    fitting = [value for value in values if not Counter(value.places) - wanted]
    if not fitting:
        return None
    value = max(fitting, key=lambda value: len(value.places))
    if value.given is not None:
        value.given.check_entrywise(what.arity, order)
    e = slope(value.expr, value.inputs, tuple(sorted((wanted - Counter(value.places)).elements())))
    return by_entry(e, dict(zip(value.inputs, args, strict=True)))


@cached("derivatives of functions that a call gives", 256)
def slope(e: Expr, inputs: tuple[Variable, ...], places: Places) -> Expr:
    """The derivative of an expression of numbers by those at these places."""
    for place in places:
        e = simplify(derivative(e, inputs[place - 1]))
    return e


def at_random(roots: Sequence[Expr]) -> list[Expr]:
    """Expressions with some function in the place of each unknown one, the same for the same name, and smooth.

    What does not hold for it does not hold for every function.
    """
    found = {what.name: what.arity for what in unknown_in(*roots)}
    return replaced(roots, {name: [_some_function(name, arity)] for name, arity in found.items()})


def _some_function(name: str, arity: int) -> FunctionValue:
    """A sum of a sine, a hyperbolic tangent and a square, each of a sum of the arguments with numbers of its own."""
    numbers = random.Random(name)
    inputs = tuple([variable(f"a{k}", ()) for k in range(arity)])

    def along() -> Expr:
        own = [(round(numbers.uniform(0.3, 1.5), 3), x) for x in inputs]
        return add([*own, (round(numbers.uniform(-1, 1), 3), one(()))])

    parts = [elementwise(OPS["sin"], along()), elementwise(OPS["tanh"], along()), along() ** 2]
    return FunctionValue((), None, inputs, add(list(zip((1.0, 0.7, 0.3), parts, strict=True))))


# What is given


def _values(facts: Facts, functions: Mapping[str, Any]) -> dict[str, list[FunctionValue]]:
    found: dict[str, list[FunctionValue]] = {}
    for word, function in functions.items():
        name, mark = _named(facts, word)
        arity = facts.functions[name]
        try:
            places = read_mark(mark, arity)
        except ValueError as fault:
            arguments = f"{arity} argument{'s' * (arity > 1)}"
            raise InputError(f"{word!r} is no derivative of {name}, which has {arguments}: {fault}.") from None
        if not callable(function):
            raise InputError(f"{name!r} is a function in this formula; give one, {name}=np.sin, not {function!r}.")
        given = GivenFunction(word, function)
        inputs, e = given.of_numbers(arity)
        found.setdefault(name, []).append(FunctionValue(places, given, tuple(inputs), e))
    return found


def _named(facts: Facts, word: str) -> tuple[str, str]:
    """The unknown function that a word is, or whose derivative it is."""
    known = facts.unknown
    found = unmarked(word, frozenset(known))
    if found is None and word.endswith(")") and "^(" in word:  # a derivative of a high order, f^(4)
        bare, _, order = word.partition("^(")
        found = (bare, f"^({order}") if bare in known and order[:-1].isdigit() else None
    if found is not None:
        return found
    if word in facts.functions:
        raise InputError(f"What {word!r} is was said when the text was read, so a call does not give it.")
    listed = f"The unknown functions are {', '.join(known)}." if known else "It has no unknown functions."
    raise InputError(f"The formula has no unknown function {word!r}. {listed} {nearest(word, known)}".rstrip())


# Calls


class FunctionsOfCalls:
    """What is made of formulas for functions that calls give."""

    def __init__(self, formulas: Sequence[Formula], make: Callable[[list[Formula]], Any]):
        self.formulas, self.make = tuple(formulas), make
        self.facts = merged(f.context for f in formulas).facts
        self.needed = list(dict.fromkeys([what.name for what in unknown_in(*[f.expr for f in formulas])]))
        self.made = Cache("formulas with functions of calls", MOST_KEPT)

    def __reduce__(self):
        return FunctionsOfCalls, (self.formulas, self.make)

    def __call__(self, given: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """What a call goes to, and the inputs that it has."""
        known = frozenset(self.facts.functions)
        inputs = {name: value for name, value in given.items() if name in self.facts.inputs}
        others = {name: value for name, value in given.items() if name not in inputs}
        words = [name for name, value in others.items() if unmarked(name, known) or "^(" in name or callable(value)]
        inputs |= {name: value for name, value in others.items() if name not in words}
        functions = {name: given[name] for name in words}
        values = _values(self.facts, functions)
        lacking = [name for name in self.needed if name not in values]
        if lacking:
            raise InputError(lacks_value(lacking))
        key = tuple([(name, tuple([(v.places, v.inputs, v.expr) for v in own])) for name, own in values.items()])
        return self.made.made(key, lambda: self._of(values)), inputs

    def _of(self, values: Values) -> Any:
        made = [_replaced_in(_alone(f), values, {}) for f in self.formulas]
        left = unknown_in(*[f.expr for f in made])
        if left:
            raise InputError(lacks_value(list(dict.fromkeys([what.name for what in left]))))
        return self.make(made)
