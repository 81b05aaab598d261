"""Evaluating expressions for the inputs of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ricci.compiler.bind import bind
from ricci.compiler.run.engines import target_of
from ricci.compiler.run.function import Compiled
from ricci.compiler.run.interpret import interpret
from ricci.expr import Expr, Size
from ricci.notation.context import Facts


def evaluate(
    roots: list[Expr], names: Mapping[str, Size], facts: Facts, inputs: Mapping[str, Any], sizes: Mapping[str, int]
) -> list[Any]:
    """The values of ``roots``, as arrays of the package that the inputs are of.

    ``names`` are the indices of the result and their sizes.
    """
    target = target_of([*inputs.values(), *facts.values.values()])
    if target.name != "numpy":
        return list(Compiled(roots, names, facts, target.name, single=False)(**inputs, sizes=sizes))
    arrays, env = bind(roots, names, facts, inputs, sizes)
    return interpret(roots, arrays, env)
