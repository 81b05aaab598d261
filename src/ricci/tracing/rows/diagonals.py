"""Diagonals and triangles of matrices; a triangle keeps ``A[i,j]`` where ``j <= i + k``, and is 0 elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.errors import InputError
from ricci.expr import Expr, affine, moving, triangle
from ricci.functions import elementwise as e
from ricci.tracing.array import Traced
from ricci.tracing.basics import like, normal_axes
from ricci.tracing.lowerings import lines, lowers
from ricci.tracing.rows.along import converted, flat, of_order


def _line(name: str, x: Traced, offset: int, axis1: int, axis2: int) -> Traced:
    """A diagonal, as the last axis."""
    rows, columns = normal_axes(of_order(x, 2, name), (axis1, axis2))
    return like(x, moving.diagonal(x.expr, (rows, columns), offset))


def _trace(x: Traced, offset: int, axis1: int, axis2: int, dtype: Any) -> Traced:
    line = _line("np.trace", x, offset, axis1, axis2)
    found = moving.transposed(line.expr, range(line.ndim - 1))
    return converted(like(x, found, np.trace(np.zeros((1, 1), x.dtype)).dtype), dtype)


def _diag(x: Traced, k: int) -> Traced:
    if x.ndim == 2:
        return _line("np.diag", x, k, 0, 1)
    if x.ndim != 1:
        raise InputError(f"np.diag takes a vector or a matrix, not an array of the shape {x.shape}.")
    return like(x, moving.on_diagonal(x.expr, k))


lines(
    __name__,
    {
        np.diagonal: lambda x, offset=0, axis1=0, axis2=1: _line("np.diagonal", x, offset, axis1, axis2),
        np.linalg.diagonal: lambda x, offset=0: _line("np.linalg.diagonal", x, offset, -2, -1),
        np.trace: lambda x, offset=0, axis1=0, axis2=1, dtype=None: _trace(x, offset, axis1, axis2, dtype),
        np.linalg.trace: lambda x, offset=0, dtype=None: _trace(x, offset, -2, -1, dtype),
        np.diag: lambda x, k=0: _diag(x, k),
        np.diagflat: lambda x, k=0: like(x, moving.on_diagonal(flat(x).expr, k)),
    },
)


def _kept(function: Any, inside: Callable[[int, int, int], Expr]) -> None:
    """A row for the entries where a structure is 1, zero elsewhere, also in place of infinities.

    A vector counts as every row.
    """

    def lower(x: Traced, k: int = 0) -> Traced:
        of_order(x, 1, f"np.{function.__name__}")
        shape = x.shape if x.ndim > 1 else (x.shape[0], x.shape[0])
        mask = moving.expanded(inside(shape[-2], shape[-1], k), shape)
        return like(x, e.where(mask, moving.expanded(x.expr, shape), 0))

    lowers(function)(lower)


_kept(np.tril, triangle)
_kept(np.triu, lambda rows, columns, k: affine(">=", (-1, 1), -k, (rows, columns)))
