r"""Factorisations of matrices that need not be square, in parallel over the leading axes; rows as in ``matrix.py``.

With the sum convention, and derivatives by ``A[p,q]``:

    svd_vectors:  U above V, of A = U diag(s) V'. The part of U is
                  U[a,i] F[i,j] (U[p,i] V[q,j] s[j] + s[i] V[q,i] U[p,j]) + (1 - U U')[a,p] V[q,j] / s[j]
                  with F[i,j] = 1/(s[j]² - s[i]²) off the diagonal; that of V is the same for A'
    qr_q:         Q of A = Q R, R upper triangular. With K = inv(R) and T the triangle strictly below the diagonal,
                  Q[a,i] (T[i,j] Q[p,i] K[q,j] - T[j,i] Q[p,j] K[q,i]) + (1 - Q Q')[a,p] K[q,j]
    pinv:         P of the least length with P A P = P and A P A = A:
                  -P[i,p] P[q,j] + (P P')[i,q] (1 - A P)[p,j] + (1 - P A)[i,q] (P' P)[p,j]

Both kinds of singular vectors are one row, since their signs, which nothing fixes, belong together: what gives the ones
gives the others. R needs no row, being ``Q' A``. The derivative of ``pinv`` is that among matrices of the same rank.
"""

from __future__ import annotations

from ricci.errors import ShapeError
from ricci.expr import Expr, Shape, Size, delta, function, product, triangle
from ricci.expr.dims import minimum
from ricci.functions.axes import batch
from ricci.functions.matrix import embedding, inverse_or_zero, matrix_row, svdvals, triangular_inverse

# Derivatives; b stands for the labels of the leading axes.


def _singular_parts(a: Expr, vectors: Expr) -> tuple[Expr, Expr]:
    """The left and the right singular vectors, taken apart."""
    b, (m, n) = batch(a, 2), a.shape[-2:]
    parts = [(embedding(m + n, size, start), "wa") for size, start in ((m, 0), (n, m))]
    left, right = [product([(vectors, (*b, "w", "i")), part], (*b, "a", "i")) for part in parts]
    return left, right


def _gaps(s: Expr) -> Expr:
    """``1/(s[j]² - s[i]²)`` with axes (i, j), and 0 where the two are equal."""
    b, k = batch(s, 1), s.shape[-1]
    rows = product([(s, (*b, "i"))], (*b, "i", "j"), {"j": k})
    columns = product([(s, (*b, "j"))], (*b, "i", "j"), {"i": k})
    return inverse_or_zero((columns - rows) * (columns + rows))


def _singular_side(own: Expr, other: Expr, s: Expr, whole: bool, p: str, q: str) -> Expr:
    """The derivative of the singular vectors ``own``, axes (a, j, p, q); ``p`` is the axis on their side.

    If they are ``whole``, all of an orthonormal basis, they can only turn among themselves.
    """
    b, out = batch(s, 1), ("a", "j", "p", "q")
    turn = [(own, (*b, "a", "i")), (_gaps(s), (*b, "i", "j"))]
    first = [(own, (*b, p, "i")), (other, (*b, q, "j")), (s, (*b, "j"))]
    second = [(other, (*b, q, "i")), (own, (*b, p, "j")), (s, (*b, "i"))]
    inside = product([*turn, *first], (*b, *out)) + product([*turn, *second], (*b, *out))
    if whole:
        return inside
    scaled = [(other, (*b, q, "j")), (inverse_or_zero(s), (*b, "j"))]
    return inside + product([(_outside(own), (*b, "a", p)), *scaled], (*b, *out))


def _outside(columns: Expr) -> Expr:
    """``1 - Q Q'``: the part of a vector that the columns of ``Q``, which are orthonormal, do not reach."""
    b, m = batch(columns, 2), columns.shape[-2]
    eye = product([(delta(m), "ap")], (*b, "a", "p"), dict(zip(b, columns.shape, strict=False)))
    return eye - product([(columns, (*b, "a", "i")), (columns, (*b, "p", "i"))], (*b, "a", "p"))


def _svd_vectors_by(operands: tuple, y: Expr, params: tuple) -> Expr:
    (a,) = operands
    b, (m, n) = batch(a, 2), a.shape[-2:]
    s = function(svdvals, operands)
    left, right = _singular_parts(a, y)
    sides = (
        (_singular_side(left, right, s, m == y.shape[-1], "p", "q"), embedding(m + n, m, 0)),
        (_singular_side(right, left, s, n == y.shape[-1], "q", "p"), embedding(m + n, n, m)),
    )
    first, second = [product([(e, (*b, *"ajpq")), (put, "wa")], (*b, *"wjpq")) for e, put in sides]
    return first + second


def _qr_q_by(operands: tuple, y: Expr, params: tuple) -> Expr:
    (a,) = operands
    b, n = batch(a, 2), a.shape[-1]
    r = product([(y, (*b, "p", "i")), (a, (*b, "p", "j"))], (*b, "i", "j"))
    k = triangular_inverse(r, lower=False, transpose=False)
    below, out = triangle(n, n, -1), (*b, "a", "j", "p", "q")
    first = [(y, (*b, "a", "i")), (below, "ij"), (y, (*b, "p", "i")), (k, (*b, "q", "j"))]
    second = [(y, (*b, "a", "i")), (below, "ji"), (y, (*b, "p", "j")), (k, (*b, "q", "i"))]
    rest = [(_outside(y), (*b, "a", "p")), (k, (*b, "q", "j"))]
    return product(first, out) - product(second, out) + product(rest, out)


def _pinv_by(operands: tuple, y: Expr, params: tuple) -> Expr:
    (a,) = operands
    b, (m, n) = batch(a, 2), a.shape[-2:]
    out = (*b, "i", "j", "p", "q")

    def eye_less(size: Size, factors: list) -> Expr:
        axes = (*b, "r", "c")
        return product([(delta(size), "rc")], axes, dict(zip(b, a.shape, strict=False))) - product(factors, axes)

    left = eye_less(m, [(a, (*b, "r", "t")), (y, (*b, "t", "c"))])
    right = eye_less(n, [(y, (*b, "r", "t")), (a, (*b, "t", "c"))])
    within = product([(y, (*b, "i", "p")), (y, (*b, "q", "j"))], out)
    above = product([(y, (*b, "i", "t")), (y, (*b, "q", "t")), (left, (*b, "p", "j"))], out)
    beside = product([(right, (*b, "i", "q")), (y, (*b, "t", "p")), (y, (*b, "t", "j"))], out)
    return above + beside - within


# The rows


def _vectors(shapes: list[Shape]) -> Shape:
    m, n = shapes[0]
    return (m + n, minimum(m, n))


def _tall(shapes: list[Shape]) -> Shape:
    m, n = shapes[0]
    if isinstance(m, int) and isinstance(n, int) and m < n:
        raise ShapeError(f"qr_q is for matrices with at least as many rows as columns; this one is {m} by {n}.")
    return shapes[0]


def _turned(shapes: list[Shape], *params: object) -> Shape:
    return shapes[0][::-1]


svd_vectors = matrix_row(
    "svd_vectors",
    "",
    "",
    _svd_vectors_by,
    r"\operatorname{{svd}}({0})",
    "The left ones above the right ones, their common signs not fixed; the derivative for distinct values.",
    result=_vectors,
    signless=True,
)
qr_q = matrix_row(
    "qr_q",
    "",
    "",
    _qr_q_by,
    r"\operatorname{{qr}}_Q({0})",
    "Orthonormal columns, their signs not fixed; the derivative for independent columns.",
    result=_tall,
    signless=True,
)
pseudo_inverse = matrix_row(
    "pinv",
    "",
    "",
    _pinv_by,
    r"\left({0}\right)^{{+}}",
    "Parameter: the ratio to the largest singular value from which on others count as zero.",
    result=_turned,
)


# Builders, of the last two axes


def svd(x: Expr) -> tuple[Expr, Expr, Expr]:
    """``U``, ``s`` and ``V`` with ``x = U diag(s) V'``; as many singular values as ``x`` has rows or columns."""
    left, right = _singular_parts(x, function(svd_vectors, (x,)))
    return left, function(svdvals, (x,)), right


def qr(x: Expr) -> tuple[Expr, Expr]:
    """``Q`` and ``R`` with ``x = Q R``; of a wide matrix, ``Q`` is that of its first columns."""
    b, (m, n) = batch(x, 2), x.shape[-2:]
    k = minimum(m, n)
    first = x if k == n else product([(x, (*b, "i", "c")), (embedding(n, k, 0), "cj")], (*b, "i", "j"))
    q = function(qr_q, (first,))
    upper = triangle(n, k)  # which makes the zeros of R exact
    return q, product([(q, (*b, "p", "i")), (x, (*b, "p", "j")), (upper, "ji")], (*b, "i", "j"))


def pinv(x: Expr, rcond: float | None = None) -> Expr:
    """The pseudo-inverse; ``rcond`` as in the row, by default a little above the precision of the numbers."""
    return function(pseudo_inverse, (x,), () if rcond is None else (rcond,))
