"""What is known of triangles: functions that read one triangle read it, and triangular systems are solved as such.

The functions of symmetric matrices are those of the symmetric part, in the core. Where their operand was made from one
triangle, or is symmetric as it is, the libraries read that triangle and nothing is made for them. And ``solve`` and
``inv`` of a matrix that is known to be triangular, a factor of Cholesky's or what a mask left, need no factorisation.
"""

from __future__ import annotations

from collections.abc import Sequence

from ricci.expr import Expr, Function, Product, Structure, Sum, delta, product
from ricci.expr.build.apply import function
from ricci.expr.op import OPS
from ricci.expr.structures import symmetric
from ricci.expr.walk import rewritten
from ricci.functions.matrix import from_triangle

READING = ("cholesky", "eigvalsh", "eigh_vectors")
SOLVING = ("solve", "inv")
FACTORISED = frozenset([*READING, *SOLVING])  # without which there is nothing to do here, nor in ``solves.py``


def by_triangles(roots: Sequence[Expr]) -> list[Expr]:
    """``roots`` with what works on triangles told so."""
    return rewritten(roots, _step)


def _step(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    if not isinstance(node, Function):
        return None
    if node.op.name in READING:
        return _reading(node, args[0])
    return _solving(node, args) if node.op.name in SOLVING else None


def _reading(node: Function, matrix: Expr) -> Expr | None:
    side = node.params[0] if node.params else "L"
    if symmetric(matrix):
        return function(node.op, (matrix,), (side,))
    base = _read(matrix, lower=side == "L")
    return None if base is None else function(node.op, (base,), (side,))


def _read(matrix: Expr, lower: bool) -> Expr | None:
    """The matrix of which a symmetric one has the lower or upper triangle."""
    for term in matrix.args if isinstance(matrix, Sum) and len(matrix.args) == 2 else ():
        found = _masked(term)
        if found is not None and from_triangle(found[0], lower) is matrix:
            return found[0]
    return None


def _masked(e: Expr) -> tuple[Expr, bool] | None:
    """What a triangle is multiplied with, along the last two axes, and whether it is the lower one."""
    if not isinstance(e, Product) or e.sums:
        return None
    factors = list(e.factors())
    for at, (f, labels) in enumerate(factors):
        if isinstance(f, Structure) and f.relation[0] == ">=" and set(labels) == set(e.out[-2:]):
            _, (first, second), shift = f.relation
            rows = first if labels[0] == e.out[-2] else second
            if isinstance(shift, int) and shift <= 0 and first == -second and abs(first) == 1:
                sizes = dict(zip(e.out, e.shape, strict=True))
                return product(factors[:at] + factors[at + 1 :], e.out, sizes), rows == 1
    return None


def _solving(node: Function, args: tuple[Expr, ...]) -> Expr | None:
    found = _triangular(args[0])
    if found is None:
        return None
    matrix, lower, transposed = found
    if node.op.name == "solve":
        return function(OPS["triangular_solve"], (matrix, args[1]), (*node.params, lower, transposed))
    axes, n = tuple(range(len(matrix.shape))), matrix.shape[-1]
    eye = product([(delta(n), axes[-2:])], axes, dict(enumerate(matrix.shape)))
    return function(OPS["triangular_solve"], (matrix, eye), (1, lower, transposed))


def _triangular(matrix: Expr) -> tuple[Expr, bool, bool] | None:
    """A matrix that has this triangle, whether it is the lower one, and whether it is meant transposed."""
    if isinstance(matrix, Function):
        return (matrix, True, False) if matrix.op.name == "cholesky" else None
    masked = _masked(matrix)
    if masked is not None:
        return *masked, False
    if not isinstance(matrix, Product) or len(matrix.args) != 1 or len(matrix.labels[0]) != len(matrix.out):
        return None
    *lead, row, column = matrix.labels[0]
    if matrix.out != (*lead, column, row):
        return None
    inner = _triangular(matrix.args[0])
    return None if inner is None else (inner[0], inner[1], not inner[2])
