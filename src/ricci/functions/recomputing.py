"""Values that are computed again instead of being kept.

A result is written twice, the second time with its operands behind barriers, so that no node of the one is a node of
the other. ``recomputed(x, again)`` has the value of the first and the derivative of the second: what its derivative
needs is then computed anew from the operands. Before anything is computed, the first operand takes its place.
"""

from __future__ import annotations

from ricci.expr import Constant, Expr, constant
from ricci.functions.rows import row


def _of_a_constant(x: Expr) -> Expr | None:
    return x if isinstance(x, Constant) else None


barrier = row(
    "barrier",
    lambda x: x,
    lambda x, y: constant(1),
    latex="{0}",
    rewrite=_of_a_constant,
    note="Its operand, kept apart from it.",
)
recomputed = row(
    "recomputed", lambda x, again: x, None, lambda x, again, y: constant(1), latex="{0}", body=lambda args: args[0]
)
