"""``np.linalg``: matrices along the last two axes, in parallel over the others.

NumPy's functions of symmetric matrices read one triangle and never look at the other; the rows of ``ricci.functions``
are those of the symmetric part. So the matrix is first made symmetric from that triangle, by structures: then the
derivatives by the entries above the diagonal are the zeros that NumPy's values have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.errors import ShapeError, TraceError
from ricci.expr import Expr, merge, place, product, triangle, zero
from ricci.functions import elementwise as e
from ricci.functions import factorisations as f
from ricci.functions import matrix as m
from ricci.functions import reductions as r
from ricci.functions.axes import batch, transpose
from ricci.tracing.array import Traced, fresh
from ricci.tracing.basics import (
    broadcast_shape,
    concrete,
    expanded,
    floating,
    kept_as_ones,
    lift,
    like,
    normal_axes,
    total,
)
from ricci.tracing.table import REASONS, lowers

_SAMPLE = np.eye(1)
SlogdetResult: Any = type(np.linalg.slogdet(_SAMPLE))
EighResult: Any = type(np.linalg.eigh(_SAMPLE))
SVDResult: Any = type(np.linalg.svd(_SAMPLE))
QRResult: Any = type(np.linalg.qr(_SAMPLE))
RANK = np.asarray(np.linalg.lstsq(_SAMPLE, _SAMPLE)[2]).dtype


def matrices(name: str, a: Any, square: bool = False) -> Traced:
    """An operand with at least two axes, in a floating type."""
    x = lift(a)
    if x.ndim < 2:
        raise ShapeError(
            f"np.linalg.{name} is for matrices, along the last two axes; this array has the shape {x.shape}."
        )
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"np.linalg.{name} is for square matrices; these have the shape {x.shape}.")
    return like(x, x.expr, floating(x))


def transposed(x: Expr) -> Expr:
    b = batch(x, 2)
    return transpose(x, (*b, len(b) + 1, len(b)))


def from_triangle(x: Expr, lower: bool) -> Expr:
    """The symmetric matrix that has this triangle of ``x``."""
    b, n = batch(x, 2), x.shape[-1]
    out = (*b, "i", "j")
    whole, strict = triangle(n, n), triangle(n, n, -1)
    here, there = ("ij", "ji") if lower else ("ji", "ij")
    return product([(x, (*b, "i", "j")), (whole, here)], out) + product([(x, (*b, "j", "i")), (strict, there)], out)


def _side(name: str, uplo: str) -> bool:
    if uplo.upper() not in ("L", "U"):
        raise TraceError(f"np.linalg.{name}: UPLO is 'L' or 'U', not {uplo!r}.")
    return uplo.upper() == "L"


# Of square matrices


def _one_matrix(function: Any, build: Callable[[Expr], Expr]) -> None:
    """A row for a function of a square matrix without further arguments."""

    def lower(a: Any) -> Traced:
        x = matrices(function.__name__, a, square=True)
        return like(x, build(x.expr))

    lower.__name__, lower.__module__ = function.__name__, __name__
    lowers(function)(lower)


_one_matrix(np.linalg.det, m.det)
_one_matrix(np.linalg.inv, m.inv)


@lowers(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    x = matrices("slogdet", a, square=True)
    return SlogdetResult(like(x, m.slogdet_sign(x.expr)), like(x, m.logdet(x.expr)))


@lowers(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Traced:
    x = lift(a)
    count = int(concrete(n, "The power of np.linalg.matrix_power"))
    x = matrices("matrix_power", x, square=True) if count < 0 or x.ndim < 2 else x
    return like(x, m.matrix_power(x.expr, count))


@lowers(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Traced:
    x = matrices("cholesky", a, square=True)
    factor = m.cholesky(from_triangle(x.expr, lower=not upper))
    return like(x, transposed(factor) if upper else factor)


@lowers(np.linalg.eigh, note="derivatives for distinct eigenvalues")
def eigh(a: Any, UPLO: str = "L") -> Any:
    x = matrices("eigh", a, square=True)
    whole = from_triangle(x.expr, _side("eigh", UPLO))
    params = () if UPLO.upper() == "L" else ("U",)  # which signs the vectors have
    return EighResult(like(x, m.eigvalsh(whole)), like(x, m.eigh_vectors(whole, (-2, -1), *params)))


@lowers(np.linalg.eigvalsh, note="derivatives for distinct eigenvalues")
def eigvalsh(a: Any, UPLO: str = "L") -> Traced:
    x = matrices("eigvalsh", a, square=True)
    return like(x, m.eigvalsh(from_triangle(x.expr, _side("eigvalsh", UPLO))))


_COMPLEX = "Its results may be complex, and ricci computes with real numbers; np.linalg.{} is for symmetric matrices."
REASONS[np.linalg.eig] = _COMPLEX.format("eigh")
REASONS[np.linalg.eigvals] = _COMPLEX.format("eigvalsh")

# Linear systems


@lowers(np.linalg.solve)
def solve(a: Any, b: Any) -> Traced:
    """A right side of one axis is a vector; one of several is a matrix along the last two, as in NumPy 2."""
    x, y = matrices("solve", a, square=True), lift(b)
    if not y.ndim or y.shape[-2 if y.ndim > 1 else -1] != x.shape[-1]:
        raise ShapeError(f"np.linalg.solve: the matrix has the shape {x.shape}, the right side {y.shape}.")
    columns = ("k",) if y.ndim > 1 else ()
    own = len(columns) + 1
    ours, theirs = x.shape[:-2], y.shape[: y.ndim - own]
    shape = broadcast_shape(ours, theirs)
    labels = tuple(range(len(shape)))
    # a matrix without axes of its own in front is factorised once, all right sides being its columns
    left = expanded(x.expr, (*shape, *x.shape[-2:])) if ours else x.expr
    right = expanded(y.expr, (*shape, *y.shape[y.ndim - own :])) if theirs else y.expr
    a_labels = (*(labels if ours else ()), "i", "j")
    b_labels = (*(labels if theirs else ()), "i", *columns)
    found = m.solve(left, right, a_labels, b_labels, "i", "j", (*labels, "j", *columns))
    return fresh(found, floating(x, y))


def _as_matrix(x: Expr, rows: int) -> Expr:
    """The first ``rows`` axes merged into one, and the rest into another."""
    axes = range(x.order)
    first, second = axes[:rows], axes[rows:]
    parts = [
        (merge(tuple([x.shape[a] for a in group])), (name, *group)) for name, group in (("r", first), ("c", second))
    ]
    return product([(x, axes), *parts], ("r", "c"))


def _as_tensor(x: Expr, shape: tuple[int, ...]) -> Expr:
    """A vector as a tensor of this shape."""
    return product([(x, ("all",)), (merge(shape), ("all", *range(len(shape))))], range(len(shape)))


@lowers(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Traced:
    x = lift(a)
    if ind <= 0 or total(x.shape[:ind]) != total(x.shape[ind:]):
        raise ShapeError(
            f"np.linalg.tensorinv: the first {ind} axes of {x.shape} must have as many entries as the rest."
        )
    inverse = m.inv(_as_matrix(x.expr, ind))
    shape = (*x.shape[ind:], *x.shape[:ind])
    rows, columns = range(x.ndim - ind), range(x.ndim - ind, x.ndim)
    parts = [(merge(shape[: len(rows)]), ("r", *rows)), (merge(shape[len(rows) :]), ("c", *columns))]
    return fresh(product([(inverse, ("r", "c")), *parts], range(x.ndim)), floating(x))


@lowers(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Traced:
    x, y = lift(a), lift(b)
    moved = normal_axes(x, axes) if axes is not None else ()
    order = [*[k for k in range(x.ndim) if k not in moved], *moved]
    shape = tuple([x.shape[k] for k in order])
    rows = y.ndim
    if total(shape[:rows]) != total(shape[rows:]) or total(y.shape) != total(shape[:rows]):
        raise ShapeError(f"np.linalg.tensorsolve: {shape} must be the axes of {y.shape}, then as many entries again.")
    right = product([(y.expr, range(rows)), (merge(y.shape), ("r", *range(rows)))], ("r",))
    found = m.solve(_as_matrix(transpose(x.expr, order), rows), right)
    return fresh(_as_tensor(found, shape[rows:]), floating(x, y))


# Of rectangular matrices


@lowers(np.linalg.svdvals)
def svdvals(x: Any, /) -> Traced:
    a = matrices("svdvals", x)
    return like(a, m.svdvals(a.expr))


@lowers(np.linalg.svd, note="derivatives for distinct singular values; full_matrices=False unless square")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    x = matrices("svd", a)
    if hermitian:
        raise TraceError("np.linalg.svd: leave out hermitian=True; np.linalg.eigh is for symmetric matrices.")
    if not compute_uv:
        return like(x, m.svdvals(x.expr))
    if full_matrices and x.shape[-1] != x.shape[-2]:
        raise TraceError(
            f"np.linalg.svd of matrices of the shape {x.shape}: the vectors that belong to no singular value are not "
            "determined by the matrix, so they have no derivative. Write np.linalg.svd(a, full_matrices=False)."
        )
    u, s, v = f.svd(x.expr)
    return SVDResult(like(x, u), like(x, s), like(x, transposed(v)))


@lowers(np.linalg.qr, note="independent columns")
def qr(a: Any, mode: str = "reduced") -> Any:
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


@lowers(np.linalg.pinv, note="derivatives at constant rank")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Traced:
    x = matrices("pinv", a)
    whole = from_triangle(x.expr, lower=True) if hermitian else x.expr
    if rcond is None and rtol is np._NoValue:
        return like(x, f.pinv(whole))
    return like(x, f.pinv(whole, _ratio(x, rtol if rcond is None else rcond)))


@lowers(np.linalg.lstsq, note="the residuals are those of independent columns")
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Traced, Traced, Traced, Traced]:
    x, y = matrices("lstsq", a), lift(b)
    if x.ndim != 2 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise ShapeError(f"np.linalg.lstsq: the matrix has the shape {x.shape}, the right side {y.shape}.")
    eps = float(np.finfo(x.dtype).eps)
    ratio = eps if rcond == -1 else _ratio(x, rcond)
    columns = tuple(range(y.ndim - 1))
    found = product([(f.pinv(x.expr, ratio), "ji"), (y.expr, ("i", *columns))], ("j", *columns))
    rest = y.expr - product([(x.expr, "ij"), (found, ("j", *columns))], ("i", *columns))
    left_over = r.sum_(rest**2, 0) if y.ndim == 2 else product([(r.sum_(rest**2, 0), ())], "k", {"k": 1})
    if x.shape[0] <= x.shape[1]:
        left_over = zero((0,))
    s, dtype = m.svdvals(x.expr), floating(x, y)
    rank = _above(s, ratio)
    return fresh(found, dtype), fresh(left_over, dtype), fresh(rank, RANK), like(x, s)


def _above(s: Expr, ratio: float) -> Expr:
    """How many singular values are larger than ``ratio`` times the first one."""
    b, k = batch(s, 1), s.shape[-1]
    if not k:
        return r.sum_(s, -1)
    bound = product([(s, (*b, "t")), (place(0, k), "t")], (*b, "i"), {"i": k}) * ratio
    return r.sum_(e.less(bound, s), -1)


@lowers(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Traced:
    x = lift(A)
    if x.ndim < 2:
        return fresh(r.any_(e.not_equal(x.expr, 0)) if x.ndim else e.not_equal(x.expr, 0), np.intp)
    x = matrices("matrix_rank", x)
    s = m.svdvals(from_triangle(x.expr, lower=True) if hermitian else x.expr)
    if tol is None:
        return fresh(_above(s, _ratio(x, rtol)), np.intp)
    bound = lift(tol).expr
    b = batch(s, 1)
    sizes: dict[Any, Any] = {**dict(enumerate(s.shape[:-1])), "i": s.shape[-1]}
    spread = product([(bound, b[len(b) - bound.order :])], (*b, "i"), sizes)
    return fresh(r.sum_(e.less(spread, s), -1), np.intp)


# Norms


def _singular(x: Expr, p: Any) -> Expr:
    """Norms of matrices by their singular values, of the last two axes."""
    s = m.svdvals(x)
    b, k = batch(s, 1), s.shape[-1]
    if p == "nuc":
        return r.sum_(s, -1)
    if not k:
        raise ShapeError(f"A matrix of the shape {x.shape[-2:]} has no singular values.")
    return product([(s, (*b, "i")), (place(0 if p == 2 else k - 1, k), "i")], b)


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
        found = MATRIX_NORMS[p](transpose(x.expr, (*rest, *axes)), p)
    else:
        raise ShapeError(f"np.linalg.{name}: of {len(axes)} axes only ord=None has a meaning; name one axis or two.")
    return fresh(kept_as_ones(found, axes, x.ndim) if keepdims else found, floating(x))


@lowers(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Traced:
    a = lift(x)
    flat = ord is None or (ord in ("f", "fro") and a.ndim == 2) or (ord == 2 and a.ndim == 1)
    axes = normal_axes(a, axis)
    if axis is None and flat:
        return vector_norm(a, keepdims=keepdims)
    return _normed("norm", a, ord, axes, keepdims)


@lowers(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Traced:
    a = lift(x)
    axes = normal_axes(a, axis)
    found = r.norm(a.expr, axes, ord) if axes else e.abs_(a.expr)
    return fresh(kept_as_ones(found, axes, a.ndim) if keepdims else found, floating(a))


@lowers(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Traced:
    a = matrices("matrix_norm", x)
    return _normed("matrix_norm", a, ord, (a.ndim - 2, a.ndim - 1), keepdims)


@lowers(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Traced:
    a = matrices("cond", x, square=p not in (None, 2, -2))
    if p in (None, 2, -2):
        large, small = _singular(a.expr, 2), _singular(a.expr, -2)
        return like(a, small / large if p == -2 else large / small)
    return matrix_norm(a, ord=p) * matrix_norm(like(a, m.inv(a.expr)), ord=p)
