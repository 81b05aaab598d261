"""Expressions to text and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from ricci.expr import Expr
from ricci.notation.context import Facts
from ricci.show import latex, text
from ricci.show.express import program


def to_text(expr: Expr, names: tuple[str, ...], facts: Facts, name: str | None, heights: tuple[str, ...] = ()) -> str:
    """``expr`` in the equation language; parsing it gives ``expr`` back."""
    return text.program(program(expr, names, facts, name, heights))


def to_latex(
    expr: Expr,
    names: tuple[str, ...],
    facts: Facts,
    name: str | None,
    heights: tuple[str, ...] = (),
    derived: tuple[str, Sequence[str], Sequence[tuple[str, Sequence[str]]]] | None = None,
) -> str:
    """``expr`` in LaTeX. A derivative, of a name with indices by names with indices, has that on its left side."""
    return latex.program(program(expr, names, facts, name, heights), latex.partials(*derived) if derived else None)
