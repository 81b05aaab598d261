"""Diagonals and triangles of matrices.

diagonal    d[t]   = A[t + a, t + b]
from it     A[i,j] = sum over t of [i == t + a] [j == t + b] d[t]
triangle    A[i,j] where j <= i + k, and 0 elsewhere
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ricci.errors import InputError, ShapeError
from ricci.expr import Expr, affine, product, triangle, window
from ricci.functions import elementwise as e
from ricci.tracing.array import Traced
from ricci.tracing.basics import expanded, lift, like, normal_axes, refuse
from ricci.tracing.casting import cast
from ricci.tracing.rows.shaping import ravel
from ricci.tracing.table import lowers


def _steps(rows: int, columns: int, k: int) -> tuple[Expr, Expr]:
    """Structures (row, t) and (column, t) of the k-th diagonal."""
    above, below = max(k, 0), max(-k, 0)
    length = max(min(rows - below, columns - above), 0)
    return window((1,), below, rows, (length,)), window((1,), above, columns, (length,))


def diagonal_of(x: Traced, k: int, axes: tuple[int, int]) -> Expr:
    """The k-th diagonal in the plane of two axes, as the last axis."""
    rows, columns = axes
    down, right = _steps(x.shape[rows], x.shape[columns], k)
    rest = [a for a in range(x.ndim) if a not in axes]
    factors = [(x.expr, range(x.ndim)), (down, (rows, "t")), (right, (columns, "t"))]
    return product(factors, [*rest, "t"], {"t": down.shape[1]})


def _plane(x: Traced, axis1: int, axis2: int, name: str) -> tuple[int, int]:
    if x.ndim < 2:
        raise ShapeError(f"{name} takes arrays of two axes or more, not of the shape {x.shape}.")
    return normal_axes(x, (axis1, axis2))  # type: ignore[return-value]


@lowers(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Traced:
    x = lift(a)
    return like(x, diagonal_of(x, offset, _plane(x, axis1, axis2, "np.diagonal")))


@lowers(getattr(np.linalg, "diagonal", None))
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Traced:
    return diagonal(x, offset, -2, -1)


@lowers(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Traced:
    refuse("np.trace", out=out)
    x = lift(a)
    line = diagonal_of(x, offset, _plane(x, axis1, axis2, "np.trace"))
    axes = range(len(line.shape))
    found = product([(line, axes)], axes[:-1])
    result = like(x, found, np.trace(np.zeros((1, 1), x.dtype)).dtype)
    return result if dtype is None else cast(result, dtype)


@lowers(getattr(np.linalg, "trace", None))
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Traced:
    return trace(x, offset, -2, -1, dtype)


@lowers(np.diag)
def diag(v: Any, k: int = 0) -> Traced:
    x = lift(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise InputError(f"np.diag takes a vector or a matrix, not an array of the shape {x.shape}.")
    size = x.shape[0] + abs(k)
    down, right = _steps(size, size, k)
    return like(x, product([(x.expr, ("t",)), (down, (0, "t")), (right, (1, "t"))], (0, 1)))


@lowers(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Traced:
    return diag(ravel(v), k)


def _kept(m: Any, name: str, inside: Any) -> Traced:
    """The entries where a structure is 1, zero elsewhere, also in place of infinities. A vector counts as every row."""
    x = lift(m)
    if not x.ndim:
        raise ShapeError(f"{name} takes arrays with axes, not a number.")
    shape = x.shape if x.ndim > 1 else (x.shape[0], x.shape[0])
    whole = expanded(x.expr, shape)
    mask = expanded(inside(shape[-2], shape[-1]), shape)
    return like(x, e.where(mask, whole, 0))


@lowers(np.tril)
def tril(m: Any, k: int = 0) -> Traced:
    return _kept(m, "np.tril", lambda rows, columns: triangle(rows, columns, k))


@lowers(np.triu)
def triu(m: Any, k: int = 0) -> Traced:
    return _kept(m, "np.triu", lambda rows, columns: affine(">=", (-1, 1), -k, (rows, columns)))
