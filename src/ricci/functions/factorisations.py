r"""Factorisations of matrices that need not be square, in parallel over the leading axes; rows as in ``matrix.py``.

The singular values have the derivative ``U[p,i] V[q,i]`` by ``A[p,q]``. The others in steps, where ``A`` changes by
``E``:

    svd_vectors:  U above V, of A = U S V', S being diagonal. With P = U' E V, the part of U is
                  U (F * (P S + S P')) + (1 - U U') E V / S
                  with F[i,j] = 1/(s[j]² - s[i]²) off the diagonal; that of V is the same for A'
    qr_q:         Q of A = Q R, R upper triangular. With K = inv(R), and T the part of Q' E K below the diagonal,
                  Q (T - T') + (1 - Q Q') E K
    pinv:         P of the least length with P A P = P and A P A = A:
                  -P E P + P P' E' (1 - A P) + (1 - P A) E' P' P

Both kinds of singular vectors are one row, since their signs, which nothing fixes, belong together: what gives the ones
gives the others. R needs no row, being ``Q' A``. The derivative of ``pinv`` is that among matrices of the same rank.

Of complex matrices, transposes are those of the conjugates, and so half of each formula is one of the conjugate of the
change: what has ``E`` in it goes with the change, what has ``E'`` with the conjugate. The phases of columns
are such that the diagonal of R is real, as LAPACK makes it; of singular vectors only the phases between left and right
ones are determined, and the left ones get all of the change: ``i Im(P)/S`` on the diagonal.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ricci.errors import ShapeError
from ricci.expr import HALF, Change, Expr, Shape, delta, function, product, triangle, zero
from ricci.expr.build.conjugates import conj
from ricci.expr.dims import minimum
from ricci.functions.axes import batch, transpose
from ricci.functions.matrix import embedding, inverse_or_zero, matrix_row, triangular_inverse
from ricci.functions.rows import POSITIVE

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


def _svdvals_by(operands: tuple, y: Expr, params: tuple) -> Expr:
    b = batch(y, 1)
    left, right = _singular_parts(operands[0], function(svd_vectors, operands))
    found = product([(conj(left), (*b, "p", "i")), (right, (*b, "q", "i"))], (*b, "i", "p", "q"))
    return HALF * found if operands[0].complex else found


def _dot(left: Expr, right: Expr, labels: str) -> Expr:
    """The product of two matrices, with labels as in ``ij,jk->ik``, in parallel over what is in front of them."""
    b = batch(right, 2)
    first, second, out = re.split(",|->", labels)
    return product([(left, (*b, *first)), (right, (*b, *second))], (*b, *out))


def _outside(columns: Expr, x: Expr) -> Expr:
    """``x - Q Q' x``: the part that the columns of ``Q``, which are orthonormal, do not reach.

    Where they are all of a basis, as a square ``Q`` has it, there is none.
    """
    if columns.shape[-2] == columns.shape[-1]:
        return zero(x.shape)
    return x - _dot(columns, _dot(conj(columns), x, "pi,pj->ij"), "ai,ij->aj")


# What goes with the change of the matrix has ``E`` in it, and what goes with the conjugate of that ``E'``, which is its
# transpose. For a real matrix both are there, of the same change; for a complex one each is a derivative of its own.


def _transposed(x: Expr) -> Expr:
    order = x.order
    return transpose(x, (*range(order - 2), order - 1, order - 2))


def _singular_side(own: Expr, s: Expr, moved: Expr | None, inner: Expr | None, mirrored: Expr | None) -> Expr:
    """The change of the singular vectors ``own``: what ``moved`` and ``inner``, ``E V`` and ``P``, give, and ``P'``."""
    axes = (*batch(s, 1), "i", "j")
    parts = [(inner, "j"), (mirrored, "i")]
    scaled = [product([(e, axes), (s, (*axes[:-2], x))], axes) for e, x in parts if e is not None]
    turned = _dot(own, _gaps(s) * (scaled[0] if len(scaled) == 1 else scaled[0] + scaled[1]), "ai,ij->aj")
    if moved is None:
        return turned
    divided = product([(moved, axes), (inverse_or_zero(s), (*axes[:-2], "j"))], axes)
    return turned + _outside(own, divided)


def _phases(left: Expr, s: Expr, inner: Expr) -> Expr:
    """Half of the diagonal of ``P/S`` on the left vectors."""
    axes = (*batch(s, 1), "i", "j")
    column = (*axes[:-2], "j")
    diagonal = product([(inner, (*column, "j")), (inverse_or_zero(s), column)], column)
    return HALF * product([(left, axes), (diagonal, column)], axes)


def _svd_vectors_change(operands: tuple, y: Expr, params: tuple, change: Expr, legs: str = "real") -> Expr:
    (a,) = operands
    b, (m, n) = batch(a, 2), a.shape[-2:]
    s = function(svdvals, operands)
    left, right = _singular_parts(a, y)

    def side(own: Expr, other: Expr, e: Expr) -> tuple[Expr, Expr]:
        moved = _dot(e, other, "pq,qj->pj")
        return moved, _dot(conj(own), moved, "pi,pj->ij")

    if legs == "z":
        moved, inner = side(left, right, change)
        first = _singular_side(left, s, moved, inner, None) + _phases(left, s, inner)
        second = _singular_side(right, s, None, None, inner)
    elif legs == "c":
        moved, inner = side(right, left, _transposed(change))
        first = _singular_side(left, s, None, None, inner) - _phases(left, s, inner)
        second = _singular_side(right, s, moved, inner, None)
    else:
        first, second = [
            _singular_side(own, s, *found, _transposed(found[1]))
            for own, found in (
                (left, side(left, right, change)),
                (right, side(right, left, _transposed(change))),
            )
        ]
    sides = ((first, embedding(m + n, m, 0)), (second, embedding(m + n, n, m)))
    above, below = [product([(e, (*b, "a", "j")), (put, "wa")], (*b, "w", "j")) for e, put in sides]
    return above + below


def _qr_q_change(operands: tuple, y: Expr, params: tuple, change: Expr, legs: str = "real") -> Expr:
    (a,) = operands
    b, n = batch(a, 2), a.shape[-1]
    r = _dot(conj(y), a, "pi,pj->ij")
    inverse = triangular_inverse(r, lower=False, transpose=False)
    own = conj(y) if legs == "c" else y
    moved = _dot(change, conj(inverse) if legs == "c" else inverse, "pq,qj->pj")
    inner = _dot(conj(own), moved, "pi,pj->ij")
    below = product([(inner, (*b, "i", "j")), (triangle(n, n, -1), "ij")], (*b, "i", "j"))
    if legs == "real":
        return _dot(y, below - _transposed(below), "ai,ij->aj") + _outside(y, moved)
    below = below + HALF * product([(inner, (*b, "i", "j")), (delta(n), "ij")], (*b, "i", "j"))
    if legs == "z":
        return _dot(y, below, "ai,ij->aj") + _outside(y, moved)
    return -_dot(y, _transposed(below), "ai,ij->aj")


def _leg(rule: Callable[..., Expr], which: str) -> Change:
    return Change(lambda operands, y, params, change: rule(operands, y, params, change, which))


def _pinv_change(operands: tuple, y: Expr, params: tuple, change: Expr, legs: str = "real") -> Expr:
    (a,) = operands
    b = batch(a, 2)
    e, out = (change, (*b, "p", "q")), (*b, "i", "j")
    within = product([(y, (*b, "i", "p")), e, (y, (*b, "q", "j"))], out)
    if legs == "z":
        return -within
    above = product([(y, (*b, "i", "t")), (conj(y), (*b, "q", "t")), (change, (*b, "j", "q"))], out)
    beside = product([(change, (*b, "p", "i")), (conj(y), (*b, "t", "p")), (y, (*b, "t", "j"))], out)
    above = above - _dot(_dot(above, a, "ip,pt->it"), y, "it,tj->ij")
    beside = beside - _dot(y, _dot(a, beside, "pi,ij->pj"), "ip,pj->ij")
    return above + beside if legs == "c" else above + beside - within


# The rows


def _smaller(shapes: list[Shape]) -> Shape:
    m, n = shapes[0]
    return (minimum(m, n),)


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


svdvals = matrix_row(
    "svdvals",
    "the singular values, descending",
    "vector",
    _svdvals_by,
    r"\sigma({0})",
    "The derivative for distinct values that are not zero.",
    result=_smaller,
    range=POSITIVE,
    complex="real",
    wirtinger=(_svdvals_by,),
)
svd_vectors = matrix_row(
    "svd_vectors",
    "",
    "",
    Change(_svd_vectors_change),
    r"\operatorname{{svd}}({0})",
    "The left ones above the right ones, their common signs not fixed; the derivative for distinct values.",
    result=_vectors,
    signless=True,
    complex="kept",
    wirtinger=(_leg(_svd_vectors_change, "z"), _leg(_svd_vectors_change, "c")),
)
qr_q = matrix_row(
    "qr_q",
    "",
    "",
    Change(_qr_q_change),
    r"\operatorname{{qr}}_Q({0})",
    "Orthonormal columns, their signs not fixed; the derivative for independent columns.",
    result=_tall,
    signless=True,
    complex="kept",
    wirtinger=(_leg(_qr_q_change, "z"), _leg(_qr_q_change, "c")),
)
pseudo_inverse = matrix_row(
    "pinv",
    "",
    "",
    Change(_pinv_change),
    r"\left({0}\right)^{{+}}",
    "Parameter: the ratio to the largest singular value from which on others count as zero.",
    result=_turned,
    complex="kept",
    wirtinger=(_leg(_pinv_change, "z"), _leg(_pinv_change, "c")),
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
    return q, product([(conj(q), (*b, "p", "i")), (x, (*b, "p", "j")), (upper, "ji")], (*b, "i", "j"))


def pinv(x: Expr, rcond: float | None = None) -> Expr:
    """The pseudo-inverse; ``rcond`` as in the row, by default a little above the precision of the numbers."""
    return function(pseudo_inverse, (x,), () if rcond is None else (rcond,))
