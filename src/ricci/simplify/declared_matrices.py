"""Functions of matrices that are declared orthogonal, unitary or positive, and products with symbols multiplied out.

The constructors see ``Q[i,k] Q[j,k]``, ``eps[i,j,k] eps[i,l,m]`` and ``eps[i,j,k] b[j] b[k]`` where the factors are
those of one contraction. Where they are in steps, ``n[k] = eps[k,l,m] b[l] c[m]`` in ``b[k] n[k]``, or in the terms of
a sum, ``Q[i,k] (Q[i,j] x[j] - y[i])``, the product is multiplied out, and taken if it is cheaper so.
"""

from __future__ import annotations

from ricci.expr import Constant, Expr, Product, Sum, Variable, add, conj, one, product, zero
from ricci.expr.alternating import is_levi_civita
from ricci.expr.build.known_pairs import is_orthogonal, unitary_of
from ricci.expr.structures import turning
from ricci.simplify.match import LESS, Rewriting, operand
from ricci.simplify.symmetry import multiplied_out

DEPTH = 3  # how far below a product one looks for symbols
MOST = 64  # nodes that are looked at


def _inverse(e: Expr) -> Expr | None:
    (q,) = e.args
    if unitary_of(q) is not None:
        return product([(conj(q), (0, 1))], (1, 0))
    return product([(q, (0, 1))], (1, 0)) if is_orthogonal(q) else None


def _solved(e: Expr) -> Expr | None:
    q, right = e.args
    if not is_orthogonal(q) and unitary_of(q) is None:
        return None
    columns = tuple([("column", k) for k in range(len(right.shape) - 1)])
    return product([(conj(q), ("i", "j")), (right, ("i", *columns))], ("j", *columns))


def _logdet(e: Expr) -> Expr | None:
    return zero(()) if is_orthogonal(e.args[0]) else None


def _square(e: Expr) -> Expr | None:
    """``det(Q)**2`` is 1."""
    base, exponent = e.args
    q = operand(base, "det")
    even = isinstance(exponent, Constant) and isinstance(exponent.value, int) and exponent.value % 2 == 0
    return one(()) if q is not None and is_orthogonal(q) and even else None


def _size(e: Expr) -> Expr | None:
    """``abs(det(Q))`` is 1, and ``abs(det(K))`` is ``det(K)``."""
    matrix = operand(e.args[0], "det")
    if matrix is None:
        return None
    known = is_orthogonal(matrix) or unitary_of(matrix) is not None
    return one(()) if known else e.args[0] if _is_positive(matrix) else None


def _sign(e: Expr) -> Expr | None:
    matrix = operand(e.args[0], "det")
    return one(()) if matrix is not None and _is_positive(matrix) else None


def _sign_of_det(e: Expr) -> Expr | None:
    return one(()) if _is_positive(e.args[0]) else None


def _is_positive(e: Expr) -> bool:
    return isinstance(e, Variable) and e.symmetry == "positive" and not e.complex


def _multiplied_out(e: Expr) -> Expr | None:
    assert isinstance(e, Product)
    if not any(type(a) in (Product, Sum) for a in e.args) or not _has_symbol(e):
        return None
    terms = multiplied_out(e, every=True)
    if terms is None:
        return None
    return add([(c, product(factors, range(len(e.shape)), dict(enumerate(e.shape)))) for c, factors in terms])


def _has_symbol(e: Expr) -> bool:
    """Whether there is something near that may vanish, or become a delta, beside others."""
    level, seen = [e], 0
    for _ in range(DEPTH):
        level = [b for a in level if type(a) in (Product, Sum) for b in a.args]
        seen += len(level)
        if seen > MOST:
            return False
        if any(
            is_levi_civita(a)
            or is_orthogonal(a)
            or unitary_of(a) is not None
            or (type(a) is Variable and turning(a) < 0)
            for a in level
        ):
            return True
    return False


_DET = frozenset({"det"})

RULES = [
    Rewriting("inv of an orthogonal matrix", _inverse, ("inv",), complex=True),
    Rewriting("solve with an orthogonal matrix", _solved, ("solve",), complex=True),
    Rewriting("logdet of an orthogonal matrix", _logdet, ("logdet",)),
    Rewriting("square of a det of 1 or -1", _square, ("power",), _DET),
    Rewriting("abs of a det", _size, ("abs",), _DET),
    Rewriting("sign of a det", _sign, ("sign",), _DET),
    Rewriting("sign of the det of a positive matrix", _sign_of_det, ("slogdet_sign",)),
    Rewriting("symbols multiplied out", _multiplied_out, ("Product",), guard=LESS, complex=True),
]
