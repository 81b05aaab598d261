"""Diagonals and triangles of matrices; a triangle keeps ``A[i,j]`` where ``j <= i + k``, and is 0 elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.errors import InputError
from ricci.expr import Expr, affine, moving, triangle
from ricci.functions import elementwise as e
from ricci.tracing.arguments import Type
from ricci.tracing.array import Traced
from ricci.tracing.basics import like, normal_axes
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.along import converted, flat, of_order


def _line(name: str, x: Traced, offset: int, axis1: int, axis2: int) -> Expr:
    rows, columns = normal_axes(of_order(x, 2, name), (axis1, axis2))
    return moving.diagonal(x.expr, (rows, columns), offset)


@lowers(np.diagonal)
def diagonal(x: Traced, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Traced:
    return like(x, _line("np.diagonal", x, offset, axis1, axis2))


@lowers(getattr(np.linalg, "diagonal", None))
def linalg_diagonal(x: Traced, offset: int = 0) -> Traced:
    return diagonal(x, offset, -2, -1)


@lowers(np.trace)
def trace(x: Traced, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Type = None) -> Traced:
    line = _line("np.trace", x, offset, axis1, axis2)
    found = moving.transposed(line, range(len(line.shape) - 1))
    return converted(like(x, found, np.trace(np.zeros((1, 1), x.dtype)).dtype), dtype)


@lowers(getattr(np.linalg, "trace", None))
def linalg_trace(x: Traced, offset: int = 0, dtype: Type = None) -> Traced:
    return trace(x, offset, -2, -1, dtype)


@lowers(np.diag)
def diag(x: Traced, k: int = 0) -> Traced:
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise InputError(f"np.diag takes a vector or a matrix, not an array of the shape {x.shape}.")
    return like(x, moving.on_diagonal(x.expr, k))


@lowers(np.diagflat)
def diagflat(x: Traced, k: int = 0) -> Traced:
    return like(x, moving.on_diagonal(flat(x).expr, k))


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
