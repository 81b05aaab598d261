r"""Several formulas below one another, aligned at their signs: what notebooks show for a tuple of them.

Those without a name are called by what they are: what flows back to ``x`` is ``\bar{x}``, an item of a dictionary has
its key on the left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ricci.show import latex as in_latex
from ricci.show.fitting import BEGIN, END, NEXT, in_notebook, outside
from ricci.user.equations import Equation
from ricci.user.formula import Formula
from ricci.user.written_out import EquationSystem

SHOWN = (Formula, Equation, EquationSystem)


def together(container: Any) -> str | None:
    """LaTeX for a nest of tuples, lists and dictionaries, if formulas and equations are all that it holds."""
    lines = list(_lines(container, ""))
    return None if None in lines or not lines else in_notebook(in_latex.aligned([line for line in lines if line]))


def _lines(item: Any, key: str) -> Iterator[str | None]:
    """The lines of an item, each with a sign to align at; none where it is something else."""
    if isinstance(item, dict):
        for name, value in item.items():
            yield from _lines(value, f"{key}, {name}" if key else str(name))
    elif isinstance(item, (tuple, list)):
        for value in item:
            yield from _lines(value, key)
    elif not isinstance(item, SHOWN):
        yield None
    else:
        yield from _own_lines(item, key)


def _own_lines(item: Any, key: str) -> Iterator[str]:
    latex = item.latex()
    whole = latex.startswith(BEGIN) and latex.endswith(END)
    *before, last = latex[len(BEGIN) : -len(END)].split(NEXT) if whole else [latex]
    yield from before
    if isinstance(item, EquationSystem):
        yield last
        return
    sign = "&=" if whole else " = "
    at = outside(last, sign)
    left, right = ("", last) if at is None else (last[:at].strip(), last[at + len(sign) :].strip())
    nameless = isinstance(item, Formula) and item.left is None and item.name is None and not item.chain
    yield f"{_called(item, key) or left if nameless else left} &= {right}"


def _called(formula: Formula, key: str) -> str:
    """The left side of a formula that has none."""
    name = getattr(getattr(formula.route, "by", None), "name", None)
    if key or name is None:
        return rf"\text{{{in_latex.words(key)}}}" if key else ""
    return in_latex.left_side(f"{name}_bar", list(zip(formula.indices, formula.standing, strict=True)))
