"""Derivatives by a matrix that is declared symmetric or antisymmetric.

The entries of such a matrix are not independent, and an expression in it has more than one form:
``x[i] A[i,j] y[j]`` is ``x[i] A[j,i] y[j]``. The derivative is what is the same for all of them, the matrix of the
same kind with

    df = G[k,l] dA[k,l]   for every change dA of that kind,

so that dA[i,j]/dA[k,l] is (delta[i,k] delta[j,l] + delta[i,l] delta[j,k])/2, with the sign minus for antisymmetric
ones. It is the derivative as if all entries were independent wherever that is of this kind itself, as for
``x[i] A[i,j] x[j]`` or ``logdet(A)``, and its symmetric part otherwise. For an orthogonal matrix there is no such
projection that does not depend on the matrix, and so no derivative.

By a Hermitian matrix it is the derivative as if all entries were independent: with complex factors, the Hermitian
changes make all there are. It is Wirtinger's, and that by the conjugate is its transpose.
"""

from __future__ import annotations

from ricci.errors import RuleError
from ricci.expr import HALF, Elementwise, Expr, Variable, add, product
from ricci.expr.structures import SYMMETRIC, is_hermitian


def projected(e: Expr, x: Expr, at: int) -> Expr:
    """A derivative by ``x``, or a change of it, whose two axes stand from ``at`` on: its part of the kind of ``x``."""
    if isinstance(x, Elementwise) and x.op.name == "conj":
        x = x.args[0]
    if type(x) is not Variable or not x.symmetry or is_hermitian(x):
        return e
    if x.symmetry in ("orthogonal", "unitary"):
        raise RuleError(
            f"{x.name!r} is declared {x.symmetry}, so its entries depend on one another: there is no derivative by it. "
            f"Write it as a function, such as expm of an antisymmetric matrix, or leave out the declaration."
        )
    axes = list(range(len(e.shape)))
    turned = [*axes[:at], at + 1, at, *axes[at + 2 :]]
    sign = 1 if x.symmetry in SYMMETRIC else -1
    return add([(HALF, e), (sign * HALF, product([(e, turned)], axes))])
