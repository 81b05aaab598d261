"""Expressions to what people read: text, LaTeX, matrix notation, derivations, pictures.

What comes in are expressions with the names of their axes and what is known of them (``Facts``); what goes out is text.
An expression becomes a tree of the notation (``express``), which ``text`` and ``latex`` write down; what the parser
reads from that is the same expression. The rooms up to simplify may be imported.
"""

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
    derived: tuple[str, latex.Standing, Sequence[tuple[str, latex.Standing]]] | None = None,
) -> str:
    """``expr`` in LaTeX. A derivative, of a name with indices by names with indices, has that on its left side."""
    return latex.program(program(expr, names, facts, name, heights), derived)
