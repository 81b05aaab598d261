"""Where a false line would be true, or a point at which it is seen to be false.

``D(x[i] A[i,j] x[j], x[k]) = 2 A[k,j] x[j]`` holds where A is symmetric, and ``sqrt(x**2) = x`` where x is positive. Of
other lines a point with small numbers says most: for ``a = 1, b = 1`` the one side is 2, the other 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ricci.errors import LimitError, RicciError
from ricci.notation import syntax
from ricci.notation.context import Facts
from ricci.review.sides import Side, is_rounded


@dataclass(frozen=True)
class Condition:
    """Under which a line is true, or a rule by which it is: what is said of it, the name of the mistake, and of the
    tensor that it is about."""

    reason: str
    mistake: str
    advice: str
    name: str = ""


OF_A_ROW = Condition("it is a column, and the left side is a row", "missing transpose", "")
OF_A_COLUMN = Condition("it is a row, and the left side is a column", "missing transpose", "")


def condition(one: Side, other: Side) -> Condition | None:
    """The condition under which two sides are equal at random points, if it is one of those that people forget."""
    facts = one.context.merged(other.context).facts
    if is_rounded(one.node) or is_rounded(other.node):
        return None  # what is nearly so holds nowhere
    for name in _matrices(one, other, facts):
        if _hold(one, other, replace(facts, symmetries={**facts.symmetries, name: "symmetric"}), ""):
            advice = f"{name} and its transpose are equal only then, which is declared with symmetric={name!r}"
            return Condition(f"it holds only where {name} is symmetric", "a matrix taken for symmetric", advice, name)
    if _hold(one, other, facts, "positive"):
        return Condition(
            "it holds only where the numbers are positive",
            "rule for positive numbers alone",
            "sqrt(x**2) = abs(x), and of powers and logarithms too many rules are of positive numbers",
        )
    return None


def _matrices(one: Side, other: Side, facts: Facts) -> Iterator[str]:
    """Inputs with two indices of which nothing is declared."""
    used = {n.name for side in (one, other) for n in syntax.within(side.node) if isinstance(n, syntax.TensorNode)}
    for name, order in facts.inputs.items():
        if order == 2 and name not in facts.symmetries and name in used and name not in facts.integers:
            yield name


def _hold(one: Side, other: Side, facts: Facts, kind: str) -> bool:
    from ricci.user.sampling import compare, positive_styles

    try:
        found = compare(one.expr, other.expr, facts, styles=positive_styles() if kind else ())
    except LimitError:
        raise
    except (RicciError, ArithmeticError, ValueError):
        return False
    return found.points > 1 and not found.differ


def counterexample(one: Side, other: Side) -> str:
    """A point at which two sides that are numbers differ, said in a sentence; nothing where there is no small one."""
    from ricci.user.sampling import apart

    if one.expr.order:
        return ""
    try:
        found = apart(one.expr, other.expr, one.context.merged(other.context).facts)
    except LimitError:
        raise
    except (RicciError, ArithmeticError, ValueError):
        return ""
    if found is None:
        return ""
    inputs, left, right = found[0], found[1] + 0.0, found[2] + 0.0
    given = ", ".join([f"{name} = {_shown(value)}" for name, value in inputs.items()])
    where = f"for {given} " if given else ""
    digits = next((n for n in range(4, 16) if f"{left:.{n}g}" != f"{right:.{n}g}"), 16)
    return f"{where}the left side is {left:.{digits}g}, the right side {right:.{digits}g}"


def _shown(value: float | list) -> str:
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else f"{value:g}"
