"""``np.linalg``: matrices along the last two axes, in parallel over the others.

NumPy's functions of symmetric matrices read one triangle and never look at the other; the rows of ``ricci.functions``
are those of the symmetric part. So the matrix is first made symmetric from that triangle, by structures: then the
derivatives by the entries above the diagonal are the zeros that NumPy's values have.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ricci.errors import ShapeError, TraceError
from ricci.expr import Expr, moving, product, zero
from ricci.functions import elementwise as e
from ricci.functions import factorisations as f
from ricci.functions import matrix as m
from ricci.functions import reductions as r
from ricci.functions.complexes import abs2
from ricci.functions.matrix import from_triangle
from ricci.tracing.arguments import Axes, Known
from ricci.tracing.array import Traced
from ricci.tracing.basics import (
    broadcast_shape,
    complex_type,
    concrete,
    floating,
    fresh,
    like,
    normal_axes,
    real_type,
)
from ricci.tracing.lowerings import lowers

_SAMPLE = np.eye(1)
SlogdetResult: Any = type(np.linalg.slogdet(_SAMPLE))
EigResult: Any = type(np.linalg.eig(_SAMPLE))
EighResult: Any = type(np.linalg.eigh(_SAMPLE))
SVDResult: Any = type(np.linalg.svd(_SAMPLE))
QRResult: Any = type(np.linalg.qr(_SAMPLE))
RANK = np.asarray(np.linalg.lstsq(_SAMPLE, _SAMPLE)[2]).dtype


def matrices(name: str, x: Traced, square: bool = False) -> Traced:
    """An operand with at least two axes, in a floating type."""
    if x.ndim < 2:
        raise ShapeError(
            f"np.linalg.{name} is for matrices, along the last two axes; this array has the shape {x.shape}."
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"np.linalg.{name} is for square matrices; these have the shape {x.shape}.")
    return like(x, x.expr, floating(x))


def _real(x: Traced, expr: Expr) -> Traced:
    """A result of real numbers, of the precision of ``x``."""
    return like(x, expr, real_type(x.dtype))


def transposed(x: Expr) -> Expr:
    return moving.moved_axis(x, x.order - 1, x.order - 2)


def _side(name: str, uplo: str) -> bool:
    if uplo.upper() not in ("L", "U"):
        raise TraceError(f"np.linalg.{name}: UPLO is 'L' or 'U', not {uplo!r}.")
    return uplo.upper() == "L"


# Of square matrices


def _one_matrix(function: Any, build: Callable[[Expr], Expr]) -> None:
    """A row for a function of a square matrix without further arguments."""

    def lower(a: Traced) -> Traced:
        x = matrices(function.__name__, a, square=True)
        return like(x, build(x.expr))

    lowers(function)(lower)


_one_matrix(np.linalg.det, m.det)
_one_matrix(np.linalg.inv, m.inv)


@lowers(np.linalg.slogdet)
def slogdet(a: Traced) -> Any:
    x = matrices("slogdet", a, square=True)
    return SlogdetResult(like(x, m.slogdet_sign(x.expr)), _real(x, m.logdet(x.expr)))


@lowers(np.linalg.matrix_power)
def matrix_power(x: Traced, n: Known) -> Traced:
    count = int(n)
    x = matrices("matrix_power", x, square=True) if count < 0 or x.ndim < 2 else x
    return like(x, m.matrix_power(x.expr, count))


@lowers(np.linalg.cholesky)
def cholesky(a: Traced, upper: bool = False) -> Traced:
    x = matrices("cholesky", a, square=True)
    factor = m.cholesky(from_triangle(x.expr, lower=not upper))
    return like(x, m.turned(factor) if upper else factor)


@lowers(np.linalg.eigh, note="derivatives for distinct eigenvalues")
def eigh(a: Traced, UPLO: str = "L") -> Any:
    x = matrices("eigh", a, square=True)
    whole = from_triangle(x.expr, _side("eigh", UPLO))
    params = () if UPLO.upper() == "L" else ("U",)  # which signs the vectors have
    return EighResult(_real(x, m.eigvalsh(whole)), like(x, m.eigh_vectors(whole, (-2, -1), *params)))


@lowers(np.linalg.eigvalsh, note="derivatives for distinct eigenvalues")
def eigvalsh(a: Traced, UPLO: str = "L") -> Traced:
    x = matrices("eigvalsh", a, square=True)
    return _real(x, m.eigvalsh(from_triangle(x.expr, _side("eigvalsh", UPLO))))


@lowers(np.linalg.eig, note="derivatives for distinct eigenvalues; always complex")
def eig(a: Traced) -> Any:
    """Complex also where all eigenvalues turn out to be real, which is not known before."""
    x = matrices("eig", a, square=True)
    dtype = complex_type(x.dtype)
    return EigResult(like(x, m.eigvals(x.expr), dtype), like(x, m.eig_vectors(x.expr), dtype))


@lowers(np.linalg.eigvals, note="derivatives for distinct eigenvalues; always complex")
def eigvals(a: Traced) -> Traced:
    x = matrices("eigvals", a, square=True)
    return like(x, m.eigvals(x.expr), complex_type(x.dtype))


# Linear systems


@lowers(np.linalg.solve)
def solve(a: Traced, b: Traced) -> Traced:
    """A right side of one axis is a vector; one of several is a matrix along the last two, as in NumPy 2."""
    x, y = matrices("solve", a, square=True), b
    if not y.ndim or y.shape[-2 if y.ndim > 1 else -1] != x.shape[-1]:
        raise ShapeError(f"np.linalg.solve: the matrix has the shape {x.shape}, the right side {y.shape}.")
    columns = ("k",) if y.ndim > 1 else ()
    own = len(columns) + 1
    ours, theirs = x.shape[:-2], y.shape[: y.ndim - own]
    shape = broadcast_shape(ours, theirs)
    labels = tuple(range(len(shape)))
    # a matrix without axes of its own in front is factorised once, all right sides being its columns
    left = moving.expanded(x.expr, (*shape, *x.shape[-2:])) if ours else x.expr
    right = moving.expanded(y.expr, (*shape, *y.shape[y.ndim - own :])) if theirs else y.expr
    a_labels = (*(labels if ours else ()), "i", "j")
    b_labels = (*(labels if theirs else ()), "i", *columns)
    found = m.solve(left, right, a_labels, b_labels, "i", "j", (*labels, "j", *columns))
    return fresh(found, floating(x, y))


@lowers(np.linalg.tensorinv)
def tensorinv(x: Traced, ind: int = 2) -> Traced:
    if ind <= 0 or prod(x.shape[:ind]) != prod(x.shape[ind:]):
        raise ShapeError(
            f"np.linalg.tensorinv: the first {ind} axes of {x.shape} must have as many entries as the rest."
        )
    inverse = m.inv(moving.merged(x.expr, (ind, x.ndim - ind)))
    return fresh(moving.split(inverse, (x.shape[ind:], x.shape[:ind])), floating(x))


@lowers(np.linalg.tensorsolve)
def tensorsolve(a: Traced, b: Traced, axes: Any = None) -> Traced:
    moved = normal_axes(a, axes) if axes is not None else ()
    order = [*[k for k in range(a.ndim) if k not in moved], *moved]
    shape = tuple([a.shape[k] for k in order])
    rows, rest = shape[: b.ndim], shape[b.ndim :]
    if prod(rows) != prod(rest) or b.size != prod(rows):
        raise ShapeError(f"np.linalg.tensorsolve: {shape} must be the axes of {b.shape}, then as many entries again.")
    matrix = moving.merged(moving.transposed(a.expr, order), (b.ndim, a.ndim - b.ndim))
    return fresh(moving.split(m.solve(matrix, moving.merged(b.expr, (b.ndim,))), (rest,)), floating(a, b))


# Of rectangular matrices


@lowers(np.linalg.svdvals)
def svdvals(x: Traced) -> Traced:
    a = matrices("svdvals", x)
    return _real(a, f.svdvals(a.expr))


@lowers(np.linalg.svd, note="derivatives for distinct singular values; full_matrices=False unless square")
def svd(a: Traced, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    x = matrices("svd", a)
    if hermitian:
        raise TraceError("np.linalg.svd: leave out hermitian=True; np.linalg.eigh is for symmetric matrices.")
    if not compute_uv:
        return _real(x, f.svdvals(x.expr))
    if full_matrices and x.shape[-1] != x.shape[-2]:
        raise TraceError(
            f"np.linalg.svd of matrices of the shape {x.shape}: the vectors that belong to no singular value are not "
            "determined by the matrix, so they have no derivative. Write np.linalg.svd(a, full_matrices=False)."
        )
    u, s, v = f.svd(x.expr)
    return SVDResult(like(x, u), _real(x, s), like(x, m.turned(v)))


@lowers(np.linalg.qr, note="independent columns")
def qr(a: Traced, mode: str = "reduced") -> Any:
    x = matrices("qr", a)
    if mode == "complete" and x.shape[-2] > x.shape[-1]:
        raise TraceError(
            f"np.linalg.qr of matrices of the shape {x.shape}: the further columns of a complete Q are not determined "
            "by the matrix, so they have no derivative. Write np.linalg.qr(a), or mode='r'."
        )
    if mode not in ("reduced", "complete", "r"):
        raise TraceError(f"np.linalg.qr: mode={mode!r} is not traced; 'reduced' and 'r' are.")
    q, upper = [like(x, part) for part in f.qr(x.expr)]
    return upper if mode == "r" else QRResult(q, upper)


def _ratio(x: Traced, given: Any) -> float:
    """From which ratio to the largest singular value on others are zero; None for the precision of the numbers."""
    if given is None:
        return float(np.finfo(x.dtype).eps) * max(x.shape[-2:])
    return float(concrete(given, "The ratio below which singular values count as zero"))


_NOTHING = object()  # an argument that was not given, where None has a meaning


@lowers(np.linalg.pinv, note="derivatives at constant rank")
def pinv(a: Traced, rcond: Any = None, hermitian: bool = False, rtol: Any = _NOTHING) -> Traced:
    x = matrices("pinv", a)
    whole = from_triangle(x.expr, lower=True) if hermitian else x.expr
    if rcond is None and rtol is _NOTHING:
        return like(x, f.pinv(whole))
    return like(x, f.pinv(whole, _ratio(x, rtol if rcond is None else rcond)))


@lowers(np.linalg.lstsq, note="the residuals are those of independent columns")
def lstsq(a: Traced, b: Traced, rcond: Any = None) -> tuple[Traced, Traced, Traced, Traced]:
    x, y = matrices("lstsq", a), b
    if x.ndim != 2 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise ShapeError(f"np.linalg.lstsq: the matrix has the shape {x.shape}, the right side {y.shape}.")
    eps = float(np.finfo(x.dtype).eps)
    ratio = eps if rcond == -1 else _ratio(x, rcond)
    columns = tuple(range(y.ndim - 1))
    found = product([(f.pinv(x.expr, ratio), "ji"), (y.expr, ("i", *columns))], ("j", *columns))
    rest = y.expr - product([(x.expr, "ij"), (found, ("j", *columns))], ("i", *columns))
    squares = abs2(rest) if rest.complex else rest**2
    left_over = r.sum_(squares, 0) if y.ndim == 2 else moving.with_ones(r.sum_(squares, 0), (0,))
    if x.shape[0] <= x.shape[1]:
        left_over = zero((0,))
    s, dtype = f.svdvals(x.expr), floating(x, y)
    rank = _above(s, ratio)
    return fresh(found, dtype), fresh(left_over, real_type(dtype)), fresh(rank, RANK), _real(x, s)


def _above(s: Expr, ratio: float) -> Expr:
    """How many singular values are larger than ``ratio`` times the first one."""
    if not s.shape[-1]:
        return r.sum_(s, -1)
    largest = moving.with_ones(moving.entry(s, s.order - 1, 0), (s.order - 1,))
    return r.sum_(e.less(moving.expanded(largest, s.shape) * ratio, s), -1)


@lowers(np.linalg.matrix_rank)
def matrix_rank(x: Traced, tol: Traced | None = None, hermitian: bool = False, rtol: Any = None) -> Traced:
    if x.ndim < 2:
        return fresh(r.any_(e.not_equal(x.expr, 0)) if x.ndim else e.not_equal(x.expr, 0), np.intp)
    x = matrices("matrix_rank", x)
    s = f.svdvals(from_triangle(x.expr, lower=True) if hermitian else x.expr)
    if tol is None:
        return fresh(_above(s, _ratio(x, rtol)), np.intp)
    bound = moving.expanded(moving.with_ones(tol.expr, (tol.ndim,)), s.shape)
    return fresh(r.sum_(e.less(bound, s), -1), np.intp)


# Norms


def _singular(x: Expr, p: Any) -> Expr:
    """Norms of matrices by their singular values, of the last two axes."""
    s = f.svdvals(x)
    if p == "nuc":
        return r.sum_(s, -1)
    if not s.shape[-1]:
        raise ShapeError(f"A matrix of the shape {x.shape[-2:]} has no singular values.")
    return moving.entry(s, s.order - 1, 0 if p == 2 else s.shape[-1] - 1)


def _lines(x: Expr, p: Any) -> Expr:
    """The largest or smallest sum of a column (1, -1) or a row (inf, -inf), of the last two axes."""
    sums = r.sum_(e.abs_(x), -2 if abs(p) == 1 else -1)
    return (r.max_ if p > 0 else r.min_)(sums, -1)


MATRIX_NORMS: dict[Any, Callable[[Expr, Any], Expr]] = {
    **dict.fromkeys((None, "fro", "f"), lambda x, p: r.norm(x, (-2, -1))),
    **dict.fromkeys(("nuc", 2, -2), _singular),
    **dict.fromkeys((1, -1, np.inf, -np.inf), _lines),
}


def _normed(name: str, x: Traced, p: Any, axes: tuple[int, ...], keepdims: bool) -> Traced:
    """The norm ``p`` of vectors along one axis, or of matrices along two."""
    if len(axes) == 1:
        if isinstance(p, str):
            raise TraceError(f"np.linalg.{name}: the norm {p!r} is one of matrices; of vectors ord is a number.")
        found = r.norm(x.expr, axes, 2 if p is None else p)
    elif len(axes) == 2:
        if p not in MATRIX_NORMS:
            raise TraceError(f"np.linalg.{name}: ord={p!r} is no norm of matrices; 'fro', 'nuc', ±1, ±2, ±inf are.")
        rest = [k for k in range(x.ndim) if k not in axes]
        found = MATRIX_NORMS[p](moving.transposed(x.expr, (*rest, *axes)), p)
    else:
        raise ShapeError(f"np.linalg.{name}: of {len(axes)} axes only ord=None has a meaning; name one axis or two.")
    return fresh(moving.with_ones(found, axes) if keepdims else found, real_type(floating(x)))


@lowers(np.linalg.norm)
def norm(x: Traced, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Traced:
    axes = normal_axes(x, axis)
    flat = ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1)
    if axis is not None or not flat:
        return _normed("norm", x, ord, axes, keepdims)
    found = vector_norm(x, axes)
    return like(found, moving.with_ones(found.expr, axes)) if keepdims else found


@lowers(np.linalg.vector_norm)
def vector_norm(x: Traced, axis: Axes, ord: Any = 2) -> Traced:
    return fresh(r.norm(x.expr, axis, ord) if axis else e.abs_(x.expr), real_type(floating(x)))


@lowers(np.linalg.matrix_norm)
def matrix_norm(x: Traced, keepdims: bool = False, ord: Any = "fro") -> Traced:
    a = matrices("matrix_norm", x)
    return _normed("matrix_norm", a, ord, (a.ndim - 2, a.ndim - 1), keepdims)


@lowers(np.linalg.cond)
def cond(x: Traced, p: Any = None) -> Traced:
    a = matrices("cond", x, square=p not in (None, 2, -2))
    if p in (None, 2, -2):
        large, small = _singular(a.expr, 2), _singular(a.expr, -2)
        return _real(a, small / large if p == -2 else large / small)
    norms = [_normed("cond", like(a, y), p, (a.ndim - 2, a.ndim - 1), False) for y in (a.expr, m.inv(a.expr))]
    return _real(a, norms[0].expr * norms[1].expr)
