r"""Functions of matrices, in parallel over the leading axes. Conventions of rows as in ``reductions.py``.

With ``C = inv(A)``, the sum convention, and derivatives by ``A[p,q]``:

    det:          det(A) C[q,p]
    logdet:       C[q,p]                                   log |det A|
    inv:          -C[i,p] C[q,j]
    solve:        -C[j,p] x[q];  by b[i]: C[j,i]           A x = b
    eigvalsh:     V[p,i] V[q,i]

and in steps, where ``A`` changes by ``E``, ``S`` being the symmetric part of that:

    cholesky:     L (W * (K S K'))                         K = inv(L), W the lower triangle with halves on the diagonal
    eigh_vectors: V (F * (V' S V))                         F[i,j] = 1/(λ[j] - λ[i]) off the diagonal
    expm:         expm([[A, E], [0, A]])[i, n+j]           which is a row of its own, linear in E

The Cholesky factor and the eigenvalues are those of the symmetric part. All of these are expressions in rows that have
derivatives themselves, so they go on to any order.

Of complex matrices the Cholesky factor and the eigenvalues are those of ``(A + A*)/2``, which is written out as the
operand: what follows holds for changes of such matrices alone, with conjugates beside transposes. The eigenvectors of a
matrix of any kind, the columns of ``V`` with ``A V = V diag(w)``, have length one, and their largest entry is real, as
LAPACK makes it. With ``K = inv(V)`` and ``u = V (F * (K E V))`` they change by

    eig_vectors:  u - v Re(v* u) - i v Im(u[m])/v[m]       for each column ``v``, whose largest entry is ``v[m]``

which is not holomorphic: half of it goes with ``E``, and the rest with its conjugate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ricci.errors import AxisError, ShapeError
from ricci.expr import HALF, OPS, Adjoint, Change, Expr, Op, Shape, Size, affine, delta, function, product, triangle
from ricci.expr.build.conjugates import conj
from ricci.expr.dims import same
from ricci.expr.structures import is_hermitian, symmetric
from ricci.functions import plain
from ricci.functions.axes import along, batch, others, positions, transpose
from ricci.functions.elementwise import equal, not_equal, where
from ricci.functions.rows import Partial, short

# Derivatives; b stands for the labels of the leading axes.


def _inverse(a: Expr) -> Expr:
    return function(inv, (a,))


def _transposed_inverse(operands: tuple, y: Expr, params: tuple) -> Expr:
    b = batch(operands[0], 2)
    return product([(_inverse(operands[0]), (*b, "q", "p"))], (*b, "p", "q"))


def _half_of(partial: Callable[..., Expr]) -> Callable[..., Expr]:
    """The derivative of a real function by a complex operand; that by the conjugate is the conjugate of it."""
    return lambda *args: HALF * partial(*args)


def _sign_by(sign: int) -> Callable[[tuple, Expr, tuple], Expr]:
    """Of ``y = det/|det|``, by the matrix, or by its conjugate."""

    def partial(operands: tuple, y: Expr, params: tuple) -> Expr:
        b = batch(y, 0)
        inverse = _transposed_inverse(operands, y, params)
        inverse = inverse if sign > 0 else -conj(inverse)
        return HALF * product([(y, b), (inverse, (*b, "p", "q"))], (*b, "p", "q"))

    return partial


def _cofactors(operands: tuple, y: Expr, params: tuple) -> Expr:
    b = batch(y, 0)
    return product([(y, b), (_inverse(operands[0]), (*b, "q", "p"))], (*b, "p", "q"))


def _inv_by(operands: tuple, y: Expr, params: tuple) -> Expr:
    b = batch(y, 2)
    return -product([(y, (*b, "i", "p")), (y, (*b, "q", "j"))], (*b, "i", "j", "p", "q"))


def _columns(x: Expr, number: int) -> tuple[tuple, list]:
    """Labels for the columns of a right side, and the deltas between them and those of its derivative."""
    sizes = x.shape[x.order - number :]
    deltas = [(delta(size), (("c", k), ("d", k))) for k, size in enumerate(sizes)]
    return tuple([("c", k) for k in range(number)]), deltas


def _solve_by_matrix(operands: tuple, y: Expr, params: tuple) -> Expr:
    a, _ = operands
    b = batch(a, 2)
    c, _ = _columns(y, params[0])
    return -product([(_inverse(a), (*b, "j", "p")), (y, (*b, "q", *c))], (*b, "j", *c, "p", "q"))


def _solve_by_right_side(operands: tuple, y: Expr, params: tuple) -> Expr:
    return _spread_over_columns(_inverse(operands[0]), y, params[0])


def _spread_over_columns(inverse: Expr, y: Expr, number: int) -> Expr:
    b = batch(inverse, 2)
    c, deltas = _columns(y, number)
    d = tuple([("d", k) for k in range(number)])
    return product([(inverse, (*b, "j", "i")), *deltas], (*b, "j", *c, "i", *d))


def triangular_inverse(a: Expr, lower: bool, transpose: bool) -> Expr:
    b, n = batch(a, 2), a.shape[-1]
    eye = product([(delta(n), "ij")], (*b, "i", "j"), dict(zip(b, a.shape, strict=False)))
    return function(triangular_solve, (a, eye), (1, lower, transpose))


def _triangular_by_matrix(operands: tuple, y: Expr, params: tuple) -> Expr:
    columns, lower, transpose = params
    a, _ = operands
    b, n = batch(a, 2), a.shape[-1]
    c, _ = _columns(y, columns)
    inverse = triangular_inverse(a, lower, transpose)
    row, column = ("q", "p") if transpose else ("p", "q")
    mask = (triangle(n, n), "pq" if lower else "qp")
    return -product([(inverse, (*b, "j", row)), (y, (*b, column, *c)), mask], (*b, "j", *c, "p", "q"))


def _triangular_by_right_side(operands: tuple, y: Expr, params: tuple) -> Expr:
    columns, lower, transpose = params
    return _spread_over_columns(triangular_inverse(operands[0], lower, transpose), y, columns)


def turned(x: Expr) -> Expr:
    """The transposes of matrices, with the conjugates of their entries."""
    axes = tuple(range(x.order))
    return transpose(conj(x), (*axes[:-2], axes[-1], axes[-2]))


def symmetric_part(x: Expr) -> Expr:
    """The mean of matrices and their transposes, with conjugates."""
    return x if x.complex and is_hermitian(x) else HALF * (x + turned(x))


def _moved(change: Expr) -> Expr:
    """What counts of the change of a symmetric matrix; complex ones are such as they are."""
    return change if change.complex else symmetric_part(change)


def from_triangle(x: Expr, lower: bool) -> Expr:
    """The symmetric matrix that has this triangle of ``x``; that is ``x`` where it is known to be symmetric.

    Of complex ``x`` it is the hermitian one, with the real part of the diagonal.
    """
    if is_hermitian(x) if x.complex else symmetric(x):
        return x
    b, n = batch(x, 2), x.shape[-1]
    out = (*b, "i", "j")
    if x.complex:
        strict = (triangle(n, n, -1), "ij" if lower else "ji")
        part = product([(x, out), strict], out)
        return part + turned(part) + product([(OPS["real"](x), out), (delta(n), "ij")], out)
    whole, strict = triangle(n, n), triangle(n, n, -1)
    here, there = ("ij", "ji") if lower else ("ji", "ij")
    return product([(x, (*b, "i", "j")), (whole, here)], out) + product([(x, (*b, "j", "i")), (strict, there)], out)


def _cholesky_change(operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
    b, n = batch(y, 2), y.shape[-1]
    k = _inverse(y)
    inner = product([(k, (*b, "a", "p")), (_moved(change), (*b, "p", "q")), (conj(k), (*b, "j", "q"))], (*b, "a", "j"))
    halved = triangle(n, n) - HALF * delta(n)
    return product([(y, (*b, "i", "a")), (halved, "aj"), (inner, (*b, "a", "j"))], (*b, "i", "j"))


def _eigvalsh_by(operands: tuple, y: Expr, params: tuple) -> Expr:
    b, v = batch(y, 1), function(eigh_vectors, operands, params)
    return product([(conj(v), (*b, "p", "i")), (v, (*b, "q", "i"))], (*b, "i", "p", "q"))


def inverse_or_zero(x: Expr) -> Expr:
    """``1/x``, and 0 where ``x`` is: no infinity arises anywhere, not even in a branch that is not taken."""
    return not_equal(x, 0) / where(equal(x, 0), 1, x)


def _eigh_vectors_change(operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
    """Equal eigenvalues get the factor 0, which also does for the diagonal."""
    b, n = batch(y, 2), y.shape[-1]
    inner = _between(y, _moved(change), y)
    gaps = _gaps(function(eigvalsh, operands, params), n)
    return product([(y, (*b, "a", "i")), (gaps * inner, (*b, "i", "j"))], (*b, "a", "j"))


def _gaps(values: Expr, n: Size) -> Expr:
    """``1/(values[j] - values[i])`` with axes (i, j), and 0 where the two are equal."""
    b = batch(values, 1)
    rows = product([(values, (*b, "i"))], (*b, "i", "j"), {"j": n})
    columns = product([(values, (*b, "j"))], (*b, "i", "j"), {"i": n})
    return inverse_or_zero(columns - rows)


def _between(left: Expr, x: Expr, right: Expr) -> Expr:
    """``left* x right``."""
    b = batch(x, 2)
    return product([(conj(left), (*b, "p", "i")), (x, (*b, "p", "q")), (right, (*b, "q", "j"))], (*b, "i", "j"))


def _eigvals_by(operands: tuple, y: Expr, params: tuple) -> Expr:
    b, v = batch(y, 1), function(eig_vectors, operands)
    return product([(_inverse(v), (*b, "i", "p")), (v, (*b, "q", "i"))], (*b, "i", "p", "q"))


def _eig_vectors_change(parts: str) -> Change:
    """What goes with the change of the matrix, with that of its conjugate, or with that of a real one, which is both.

    The largest entries of columns are told by their shares of being that, of which there is one but for ties.
    """

    def rule(operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
        b, n = batch(y, 2), y.shape[-1]
        axes = (*b, "a", "j")
        shares = transpose(
            function(OPS["hardmax"], (transpose(OPS["abs2"](y), (*b, len(b) + 1, len(b))),)), (*b, len(b) + 1, len(b))
        )
        top = _column_sums((y, axes), (shares, axes))
        gaps = _gaps(function(eigvals, operands), n)
        total: Expr | None = None
        for part in parts:
            v, f, sign = (y, gaps, -HALF) if part == "z" else (conj(y), conj(gaps), HALF)
            inner = product(
                [(_inverse(v), (*b, "i", "p")), (change, (*b, "p", "q")), (v, (*b, "q", "j"))], (*b, "i", "j")
            )
            u = product([(v, (*b, "a", "i")), (f * inner, (*b, "i", "j"))], axes)
            along = (
                -HALF * _column_sums((conj(v), axes), (u, axes)) + sign * _column_sums((u, axes), (shares, axes)) / top
            )
            found = product([(y, axes), (along, (*b, "j"))], axes)
            found = u + found if part == "z" else found
            total = found if total is None else total + found
        assert total is not None
        return total

    return Change(rule)


def _column_sums(*factors: tuple[Expr, tuple]) -> Expr:
    """The sums along the columns of a product of entries."""
    *b, _, column = factors[0][1]
    return product(list(factors), (*b, column))


def embedding(total: Size, size: Size, start: Size) -> Expr:
    """Axes ``(r, p)``, 1 where ``r == p + start``: puts a block of ``size`` into ``total``."""
    return affine("==", (1, -1), -1 * start, (total, size))


def _expm_change(operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
    return function(expm_along, (*operands, change), (0,))


def _expm_along_change(operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
    """Of the matrix: ``y`` is a corner of ``expm([[A, E], [0, A]])``, and that changes by ``[[F, 0], [0, F]]``."""
    a, e = operands
    b, n = batch(a, 2), a.shape[-1]
    c = tuple([("c", k) for k in range(params[0])])
    axes, sizes = (*b, *c, "r", "s"), dict(zip((*b, "i", "j", *c), e.shape, strict=True))
    first, second = embedding(2 * n, n, 0), embedding(2 * n, n, n)

    def put(x: Expr, labels: tuple, *places: tuple[Expr, Expr]) -> Expr:
        sums = [product([(x, labels), (p, "ri"), (q, "sj")], axes, {x: sizes[x] for x in (*b, *c)}) for p, q in places]
        return sums[0] if len(sums) == 1 else sums[0] + sums[1]

    diagonal = ((first, first), (second, second))
    matrix = put(a, (*b, "i", "j"), *diagonal) + put(e, (*b, "i", "j", *c), (first, second))
    along = function(expm_along, (matrix, put(change, (*b, "i", "j"), *diagonal)), (0,))
    return product([(along, axes), (first, "ri"), (second, "sj")], (*b, "i", "j", *c))


def _expm_along_adjoint(operands: tuple, bar: Expr, params: tuple) -> Expr:
    (a,) = operands
    b = batch(a, 2)
    return function(expm_along, (transpose(a, (*b, len(b) + 1, len(b))), bar), params)


# The rows


def _square(name: str, shape: Shape) -> Size:
    rows, columns = shape
    if isinstance(rows, int) and isinstance(columns, int) and rows != columns:
        raise ShapeError(f"{name} is for square matrices; this one is {rows} by {columns}.")
    return same(rows, columns)


def _solved(shapes: list[Shape], *params) -> Shape:
    n = _square("solve", shapes[0])
    return (same(n, shapes[1][0]), *shapes[1][1:])


def _pair(name: str, x: Expr, axes: Sequence[int]) -> tuple[int, int]:
    found = positions(x, axes)
    if len(found) != 2:
        raise AxisError(f"{name} works on two axes, row and column, not on {len(found)}.")
    return found


def _of_matrix(op: Op, x: Expr, axes: Sequence[int] = (-2, -1), *params: object) -> Expr:
    """``op`` of the matrices along ``axes``. A resulting matrix keeps both axes in place, a vector that of the rows."""
    row, column = _pair(op.name, x, axes)
    rest = others(x, (row, column))
    matrix = transpose(x, (*rest, row, column))
    if matrix.complex and op.name in _OF_SYMMETRIC:
        matrix = symmetric_part(matrix)
    y = function(op, (matrix,), params)
    own = (row, column)[: y.order - len(rest)]
    return product([(y, (*rest, *own))], [axis for axis in range(x.order) if axis in (*rest, *own)])


def _solve(
    op: Op,
    a: Expr,
    b: Expr,
    a_labels: Sequence[Hashable] | None = None,
    b_labels: Sequence[Hashable] | None = None,
    row: Hashable = "row",
    column: Hashable = "column",
    out: Sequence[Hashable] | None = None,
) -> Expr:
    """``x`` with ``a[row,column] x[column] = b[row]``; axes are matched by the labels.

    Further labels of ``a`` are batches, which ``b`` may share or lack; further labels of ``b`` are columns. The result
    has the axes ``out``: batches, ``column``, columns, in this order unless given. Without labels, ``a`` ends with row
    and column, and ``b`` begins with the batches of ``a`` and the row.
    """
    if a_labels is None:
        a_labels = (*range(a.order - 2), row, column)
    if b_labels is None:
        b_labels = (*range(a.order - 2), row, *[("column", k) for k in range(b.order - a.order + 1)])
    batches = tuple([label for label in a_labels if label not in (row, column)])
    if row not in b_labels or column in b_labels:
        raise AxisError("solve(A, b) wants the index of A's rows, and not that of its columns, in b.")
    columns = tuple([label for label in b_labels if label not in (*batches, row)])
    sizes = dict(zip(a_labels, a.shape, strict=True))
    matrix = product([(a, a_labels)], (*batches, row, column))
    right = product([(b, b_labels)], (*batches, row, *columns), {label: sizes[label] for label in batches})
    x = function(op, (matrix, right), (len(columns),))
    own = (*batches, column, *columns)
    return product([(x, own)], own if out is None else out)


_OF_SYMMETRIC = ("cholesky", "eigvalsh", "eigh_vectors")
_OWN = {"scalar": 0, "vector": 1, "matrix": 2}


def matrix_row(name: str, help: str, gives: str, partial: Partial, latex: str, note: str = "", **more: Any) -> Op:
    """A function of one matrix, which is square unless a shape says otherwise: as many axes of its size are left."""

    def of_square(shapes: list[Shape], *params) -> Shape:
        return (_square(name, shapes[0]),) * _OWN[gives]

    facts = {"operands": "A", "works_on": (2,), "result": of_square, "maker": _of_matrix, "numpy": f"linalg.{name}"}
    facts |= {"help": help, "latex": latex, "note": note, "gives": gives, "rectangular": "result" in more}
    return Op(name, 1, getattr(plain, name), (partial,), "matrix", method=False, **{**facts, **more})


_TRIANGLE = 'With the parameter "L" or "U" the operand is symmetric, or only that triangle of it is read.'

det = matrix_row(
    "det",
    "the determinant",
    "scalar",
    _cofactors,
    r"\det({0})",
    "The derivative is written with the inverse: not at singular matrices.",
    complex="kept",
)
logdet = matrix_row(
    "logdet",
    "the logarithm of the size of the determinant",
    "scalar",
    _transposed_inverse,
    r"\log\left|\det({0})\right|",
    complex="real",
    wirtinger=(_half_of(_transposed_inverse),),
)
slogdet_sign = matrix_row(
    "slogdet_sign",
    "the sign of the determinant",
    "scalar",
    None,
    r"\operatorname{{sign}}\det({0})",
    range=(-1, 1),
    complex="kept",
    wirtinger=(_sign_by(1), _sign_by(-1)),
)
inv = matrix_row("inv", "the inverse", "matrix", _inv_by, r"\left({0}\right)^{{-1}}", complex="kept")
cholesky = matrix_row(
    "cholesky",
    "the lower Cholesky factor of the symmetric part",
    "matrix",
    Change(_cholesky_change),
    r"\operatorname{{chol}}({0})",
    _TRIANGLE,
    complex="kept",
)
expm = matrix_row(
    "expm", "the matrix exponential", "matrix", Change(_expm_change), r"\exp\left({0}\right)", complex="kept"
)
expm_along = Op(
    "expm_along",
    2,
    plain.expm_along,
    (Change(_expm_along_change), Adjoint(_expm_along_adjoint)),
    "matrix",
    "along",
    maker=along,
    latex=r"\operatorname{{dexp}}\left({0}, {1}\right)",
    note="How the exponential of the first operand changes along the second. Parameter: further axes of that.",
    complex="kept",
    works_on=(2, 2),
    result=lambda shapes, *params: (*[same(*pair) for pair in zip(shapes[0], shapes[1])], *shapes[1][2:]),
    columns=True,
)
eigvalsh = matrix_row(
    "eigvalsh",
    "the eigenvalues of the symmetric part, ascending",
    "vector",
    _eigvalsh_by,
    r"\lambda({0})",
    f"The derivative for distinct ones. {_TRIANGLE}",
    complex="real",
    wirtinger=(_half_of(_eigvalsh_by),),
)
eigh_vectors = matrix_row(
    "eigh_vectors",
    "the eigenvectors of the symmetric part, in columns",
    "matrix",
    Change(_eigh_vectors_change),
    r"\operatorname{{eigvec}}({0})",
    "Their signs are not fixed: they are those that LAPACK gives for the lower triangle, or, with the parameter "
    f'"U", for the upper one. The derivative for distinct eigenvalues. {_TRIANGLE}',
    signless=True,
    complex="kept",
)
eigvals = matrix_row(
    "eigvals",
    "the eigenvalues, complex numbers in the order of LAPACK",
    "vector",
    _eigvals_by,
    r"\operatorname{{eigval}}({0})",
    "The derivative for distinct ones.",
    complex="always",
    opaque=True,
)
eig_vectors = matrix_row(
    "eig_vectors",
    "",
    "matrix",
    _eig_vectors_change("zc"),
    r"\operatorname{{eig}}({0})",
    "Columns of length one, whose largest entry is real, of either sign. The derivative for distinct eigenvalues.",
    complex="always",
    opaque=True,
    wirtinger=(_eig_vectors_change("z"), _eig_vectors_change("c")),
    signless=True,
)
solve = Op(
    "solve",
    2,
    plain.solve,
    (_solve_by_matrix, _solve_by_right_side),
    "matrix",
    "solve",
    maker=_solve,
    method=False,
    help="the x with A x = b",
    operands="A, b",
    latex=r"\left({0}\right)^{{-1}} {1}",
    complex="kept",
    works_on=(2, 1),
    result=_solved,
    columns=True,
)
triangular_solve = Op(
    "triangular_solve",
    2,
    plain.triangular_solve,
    (_triangular_by_matrix, _triangular_by_right_side),
    "matrix",
    latex=r"\operatorname{{tri}}\left({0}\right)^{{-1}} {1}",
    complex="kept",
    note="Parameters: further axes of the right side, whether the lower triangle is used, whether it is transposed.",
    works_on=(2, 1),
    result=_solved,
    columns=True,
)


# What the core has already; ``axes`` are the positions of row and column


def _trace_of(a: list) -> float:
    return math.fsum(row[k] for k, row in enumerate(a))


@short("the trace", _trace_of, kind="matrix", gives="scalar", type="same", method=False)
def trace(x: Expr, axes: Sequence[int] = (-2, -1)) -> Expr:
    row, column = _pair("trace", x, axes)
    labels = [row if axis == column else axis for axis in range(x.order)]
    return product([(x, labels)], others(x, (row, column)))


@short("the trace", _trace_of, kind="matrix", gives="scalar", type="same", method=False)
def tr(x: Expr, axes: Sequence[int] = (-2, -1)) -> Expr:
    return trace(x, axes)


def diag(x: Expr, axes: Sequence[int] | int = -1) -> Expr:
    """Of two axes, the diagonal, in place of the row; of one, the diagonal matrix, its column right after its row."""
    found = positions(x, axes)
    if len(found) == 1:
        (axis,) = found
        labels = [*range(axis + 1), "column", *range(axis + 1, x.order)]
        return product([(x, range(x.order)), (delta(x.shape[axis]), (axis, "column"))], labels)
    row, column = _pair("diag", x, found)
    labels = [row if axis == column else axis for axis in range(x.order)]
    return product([(x, labels)], others(x, (column,)))


def matrix_power(x: Expr, n: int, axes: Sequence[int] = (-2, -1)) -> Expr:
    """The matrix times itself ``n`` times, by squaring; for negative ``n`` its inverse."""
    row, column = _pair("matrix_power", x, axes)
    size = _square("matrix_power", (x.shape[row], x.shape[column]))
    labels = list(range(x.order))
    if n == 0:
        return product([(delta(size), (row, column))], labels, dict(enumerate(x.shape)))
    base = result = x if n > 0 else inv(x, (row, column))
    left = [axis if axis != column else "inner" for axis in labels]
    right = [axis if axis != row else "inner" for axis in labels]
    for bit in bin(abs(n))[3:]:
        result = product([(result, left), (result, right)], labels)
        if bit == "1":
            result = product([(result, left), (base, right)], labels)
    return result
