"""Formulas under transforms: functions whose arguments are their inputs, by name.

``rc.grad(f, argnums="x")(A=A, x=x)`` is the gradient of a formula by its input ``x``. A compiled formula also takes its
inputs by position, in the order of ``inputs``, so there numbers say which is meant too. A formula does not, unless it
has one input only; ``f.diff("x")`` is its derivative as a formula.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ricci.compiler.compressed.result import CompressedFunction
from ricci.compiler.run.function import Compiled
from ricci.errors import InputError
from ricci.kinds import kind_of
from ricci.notation.context import Facts


class OfFormula:
    """A formula, compiled or not, as a function."""

    def __init__(self, formula: Any):
        self.formula = formula
        self.inputs = formula.inputs if isinstance(formula, Compiled) else formula.variables
        self.ordered = isinstance(formula, Compiled) or len(self.inputs) == 1
        facts = formula.stage.facts if isinstance(formula, Compiled) else formula.context.facts
        self.axes_of_parameters = _axes_of(facts, self.inputs)  # which tracing asks for
        self.__name__ = getattr(formula, "name", None) or "formula"
        self.__doc__ = None
        if all(name.isidentifier() for name in self.inputs):
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            self.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in self.inputs])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OfFormula) and self.formula is other.formula

    def __hash__(self) -> int:
        return id(self.formula)

    def __call__(self, /, *args: Any, **inputs: Any) -> Any:
        if args and not self.ordered:
            call, listed = ", ".join([f"{name}={name}" for name in self.inputs]), ", ".join(self.inputs) or "none"
            raise InputError(
                f"The formula {self.__name__} has its inputs by name, {listed}, not by position. Call what was made of "
                f"it by name, ({call}); or give a function of those that matter, lambda {(self.inputs or 'x')[0]}: "
                f"f({call})."
            )
        if len(args) > len(self.inputs):
            raise InputError(f"The formula {self.__name__} has {len(self.inputs)} inputs; the call gives {len(args)}.")
        return self.formula(**dict(zip(self.inputs, args, strict=False)), **inputs)


def _axes_of(facts: Facts, inputs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The names of the axes of inputs, as the text has them."""
    called: dict[tuple[str, int], str] = {}
    for index, axes in facts.groups:
        for axis in axes:
            called.setdefault(axis, index)
    return {name: tuple([called.get((name, k), "") for k in range(facts.inputs.get(name, 0))]) for name in inputs}


def as_function(function: Any, what: str, argnums: Any = None) -> Any:
    """A formula as a function, equal to others of the same formula; anything else as it is.

    ``argnums`` is what ``rc.<what>`` is asked to differentiate by: an error if a formula cannot know what is meant.
    """
    if isinstance(function, CompressedFunction):
        raise InputError(f"rc.{what}: compressed results are no arrays; compile the formula without compressed=True.")
    if kind_of(function) != "formula" and not isinstance(function, Compiled):
        return function
    found = OfFormula(function)
    numbers = [argnums] if not isinstance(argnums, (tuple, list)) else argnums
    if not found.ordered and any(isinstance(number, int) for number in numbers):
        name = found.inputs[0] if found.inputs else "x"
        raise InputError(
            f"A formula has its inputs by name, {', '.join(found.inputs) or 'none'}: say which one rc.{what} is by, "
            f'rc.{what}(f, argnums="{name}"). Its derivative as a formula is f.diff("{name}").'
        )
    return found
