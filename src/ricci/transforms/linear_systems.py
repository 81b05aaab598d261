"""Systems with a Jacobian, as expressions: ``x`` with ``J[i,j] x[j] = b[i]``; ``i`` and ``j`` may be several axes.

Axes along which the Jacobian is diagonal, as those of a batch, are kept apart: along them there are many small systems,
and where there are no other axes the solution is a quotient.
"""

from __future__ import annotations

from math import prod

from ricci.expr import Expr, function, product, zero
from ricci.expr.moving import reshaped
from ricci.functions.matrix import solve
from ricci.transforms.deriving import tied_axes


def solution(jacobian: Expr, right: Expr) -> Expr:
    """The solution; the Jacobian has the axes of ``right`` twice."""
    shape = right.shape
    if 0 in shape:
        return zero(shape)
    matrix, tied, rest = blocks(jacobian, len(shape))
    axes = (*tied, *rest)
    size = prod([shape[k] for k in rest])  # type: ignore[arg-type]
    batch = tuple([shape[k] for k in tied])
    vector = product([(right, range(len(shape)))], axes)
    if not rest:
        found = vector / matrix
    else:
        found = function(solve, (matrix, reshaped(vector, (*batch, size))), (0,))
        found = reshaped(found, tuple([shape[k] for k in axes]))
    return product([(found, axes)], range(len(shape)))


def blocks(jacobian: Expr, order: int) -> tuple[Expr, list[int], list[int]]:
    """The matrices of a Jacobian, one for each entry of the axes that it is diagonal along; these axes, and the others.

    Without other axes there are numbers in place of matrices.
    """
    known = tied_axes(jacobian, order)
    tied, rest = sorted(known), [k for k in range(order) if k not in known]
    columns = [k if k in known else ("column", k) for k in range(order)]
    out = (*tied, *rest, *[("column", k) for k in rest])
    matrix = product([(jacobian, (*range(order), *columns))], out)
    if not rest:
        return matrix, tied, rest
    size = prod([jacobian.shape[k] for k in rest])  # type: ignore[arg-type]
    return reshaped(matrix, (*[jacobian.shape[k] for k in tied], size, size)), tied, rest
