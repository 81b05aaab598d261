"""What people hold: formulas, equations, derivatives, functions by name, rules of their own.

Expressions with names come in and go out. This is the last room: it may import all others, and none imports it. What
formulas do for earlier rooms, these ask for by name: they take calls and patterns, and tensors become formulas. What is
imported inside functions here is not needed at the start.
"""

from __future__ import annotations

from typing import Any

from ricci.dispatch import offer, register
from ricci.errors import InputError


def _taken(function: Any, args: tuple, kwargs: dict) -> Any:
    """A function of NumPy, or a formula, called with a formula: what stands beside formulas says what is wrong."""
    from ricci.user.formula import as_formula

    for value in (*args, *kwargs.values()):
        as_formula(value)
    name = getattr(function, "name", None) or getattr(function, "__name__", function)
    raise InputError(
        f"{name} is given a formula, which has no value until it is called; write rc.sin(f) and its kin for functions "
        "of formulas, or call it first."
    )


def _patterns() -> Any:
    """The backend of formulas, for functions on patterns."""
    from ricci.user.formula_patterns import FORMULA

    return FORMULA


def _expression(t: Any) -> Any:
    """How a tensor was computed."""
    from ricci.user.tensor_formulas import expression

    return expression(t)


def _derivation(formula: Any, detail: str, sums: bool) -> Any:
    """The steps that lead to a derivative."""
    from ricci.user.derivations import derivation

    return derivation(formula, detail, sums)


def _equivalent(*formulas: Any) -> Any:
    """Whether two formulas are equal."""
    from ricci.user.equivalence import equivalent

    return equivalent(*formulas)


def _with_functions(*args: Any) -> Any:
    """Formulas with functions in the place of unknown ones."""
    from ricci.user.with_functions import with_functions

    return with_functions(*args)


def _functions_of_calls(*args: Any) -> Any:
    """What is made of formulas for functions that calls give."""
    from ricci.user.with_functions import FunctionsOfCalls

    return FunctionsOfCalls(*args)


register("formula", takes=_taken)
offer(patterns=_patterns, expression=_expression, derivation=_derivation, equivalent=_equivalent)
offer(with_functions=_with_functions, functions_of_calls=_functions_of_calls)
