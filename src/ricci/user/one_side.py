"""Equations between two expressions, which hold or do not: only their sides have values and derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricci.errors import RuleError

if TYPE_CHECKING:
    from ricci.user.formula import Formula

# What is asked for → what an equation lacks, and what follows a side of it instead.
ASKED = {
    "call": ("value", "(…)"),
    "compile": ("value", ".compile()"),
    "code": ("value, so there is no code for it", ".code()"),
    "diff": ("derivative: it may hold at some points only", ".diff(…)"),
}


def check_one_side(asked: str, *formulas: Formula) -> None:
    """Refuses an equation between two expressions, and says what is written instead.

    >>> from ricci import parse
    >>> parse("x[i] y[i] = 3").compile()
    Traceback (most recent call last):
        ...
    ricci.errors.RuleError: An equation between two expressions has no value. Take that of a side: \
f.equation.left.compile(), f.equation.right.compile(); or begin the text with a name: s = x[i] y[i].
    """
    for f in formulas:
        if f.left is not None:
            lacks, call = ASKED[asked]
            *_, side = str(f.left).splitlines()
            written = side.rpartition(" = ")[2]  # also of a product whose index is free, y[i] = a[i] b[i]
            shown = "…" if len(written) > 60 else written
            left = "s" + (f"[{','.join(f.left.indices)}]" if f.left.indices else "")
            raise RuleError(
                f"An equation between two expressions has no {lacks}. Take that of a side: f.equation.left{call}, "
                f"f.equation.right{call}; or begin the text with a name: {left} = {shown}."
            )
