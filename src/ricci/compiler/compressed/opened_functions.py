"""Functions that are linear in an operand in which structures are hidden, as contractions.

``solve(A, B)`` is ``solve(A, 1)`` times ``B``, and what a recurrence makes of ``b`` is what it makes of the identity,
times ``b``. Where ``B`` is sparse and wide, as in a derivative, the function of the identity has few numbers, and the
structures come to light.
"""

from __future__ import annotations

import math

from ricci.compiler.compressed.linked_axes import LONG, LinkedAxes
from ricci.expr import Adjoint, Expr, Function, delta, function, product, rebuild
from ricci.expr.walk import rewritten

SYSTEM = (2, 1)  # what a row works on that solves for its last operand: a matrix, and a vector


def functions_opened(root: Expr, links: LinkedAxes) -> Expr:
    """``root`` with such functions as contractions."""

    def step(node: Expr, args: tuple[Expr, ...]) -> Expr:
        if not isinstance(node, Function) or not _is_along_one_axis(node) or not links.long(args[-1]):
            return rebuild(node, args)
        *first, last = args
        at = last.order - 1 - node.params[0]
        before, after, inner = range(at), range(at + 1, last.order), last.order
        n, columns = links.size(last.shape[at]), [links.size(last.shape[x]) for x in after]
        if n * LONG > math.prod(columns):
            return rebuild(node, args)
        wide = (*before, at, inner)
        identity = product([(delta(last.shape[at]), (at, inner))], wide, dict(zip(before, last.shape)))
        matrix = function(node.op, (*first, identity), (1, *node.params[1:]))
        return product([(matrix, wide), (last, (*before, inner, *after))], (*before, at, *after))

    return rewritten([root], step)[0]


def _is_along_one_axis(node: Function) -> bool:
    """Whether it is linear in its last operand, which it takes column by column."""
    op = node.op
    linear = op.works_on == SYSTEM or isinstance(op.partials[-1], Adjoint)
    return linear and op.columns and node.params[0] > 0 and op.works_on[-1] == 1
