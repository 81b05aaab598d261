"""Linear systems with operators that have few entries: LAPACK's banded solvers, SuperLU, and Woodbury's lemma on both.

Terms with few entries are made one sparse matrix. If these are near the diagonal, it is solved as a band, in time that
is linear in its length; otherwise SuperLU finds an order. Terms with all entries, but of a small rank, are put right
afterwards, as in ``systems``: ``(S + U Wᵀ)⁻¹ = S⁻¹ - S⁻¹ U (1 + Wᵀ S⁻¹ U)⁻¹ Wᵀ S⁻¹``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ricci.compiler.compressed.parts_terms import Labels
from ricci.compiler.compressed.systems import Operator, Sides
from ricci.compiler.compressed.triples import Pattern, Route
from ricci.errors import MissingPackageError
from ricci.expr import Expr

WIDE = 32  # smaller systems are solved whole
THIN = 16  # a term with fewer than one in so many of all entries is thin
SPARSE = 4  # and a sum of such terms is sparse, if they have fewer than one in so many together
BAND = 6  # a band may have so many times the entries of the matrix, and is solved as one
LOW = 8  # a rank is low if so many times it is no more than what the matrix is wide

Solver = Callable[[np.ndarray], np.ndarray | None]  # from right sides, as columns


@dataclass(frozen=True)
class SparseSystem:
    """An operator as terms with few entries, and others of low rank."""

    operator: Operator
    thin: tuple[Route, ...]
    low: tuple[Sides, ...]

    @classmethod
    def of(cls, operator: Operator, wide: int) -> SparseSystem | None:
        """None where the operator, in blocks of this width, is not sparse enough, or small."""
        whole = math.prod([operator.sizes[x] for x in operator.rows])
        if wide < WIDE:
            return None
        found = [Route(term, operator.sizes, (*operator.rows, *operator.columns)) for term in operator.terms]
        is_thin = [route.most * THIN <= whole * wide for route in found]
        thin = [one for one, chosen in zip(found, is_thin, strict=True) if chosen]
        others = [term for term, chosen in zip(operator.terms, is_thin, strict=True) if not chosen]
        low = [operator.sides(term, {}) for term in others]
        if not thin or sum(one.most for one in thin) * SPARSE > whole * wide or LOW * operator.rank(low) > whole:
            return None
        return cls(operator, tuple(thin), tuple(low))

    def stacked(self, axes: Labels, side: int) -> Expr:
        """``U`` or ``W`` of the terms of low rank."""
        return self.operator.stacked(self.low, axes, self.operator.rank(self.low), side)


def solver(matrix: Pattern, values: np.ndarray) -> Solver:
    """What solves systems with a square sparse matrix; it gives None where that is singular."""
    below, above = matrix.widths
    size = matrix.shape[0]
    if (below + above + 1) * size <= BAND * max(len(values), size):
        return banded(matrix, values, below, above)
    return by_superlu(matrix, values)


def banded(matrix: Pattern, values: np.ndarray, below: int, above: int) -> Solver:
    """By LAPACK: the diagonals as rows of an array, those above first."""
    linalg = needed("scipy.linalg")
    size = matrix.shape[0]
    bands = np.zeros((below + above + 1, size), values.dtype)
    bands.reshape(-1)[matrix.in_bands] = values

    def solve(right: np.ndarray) -> np.ndarray | None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of matrices that are nearly singular: the result is looked at
                return linalg.solve_banded((below, above), bands, right, check_finite=False)
        except linalg.LinAlgError:
            return None

    return solve


def by_superlu(matrix: Pattern, values: np.ndarray) -> Solver:
    """By the LU decomposition of sparse matrices, which is computed once."""
    factors = factorised(as_sparse(matrix, values).tocsc())

    def solve(right: np.ndarray) -> np.ndarray | None:
        return None if factors is None else factors.solve(right)

    return solve


def factorised(matrix: Any) -> Any:
    linalg = needed("scipy.sparse.linalg")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return linalg.splu(matrix)
    except RuntimeError:  # the matrix is exactly singular
        return None


def corrected(solve: Solver, u: np.ndarray, w: np.ndarray) -> Solver:
    """What solves ``S + U Wᵀ``, by what solves ``S``."""
    first = solve(u)
    if first is None:
        return lambda right: None
    small = np.eye(u.shape[1], dtype=u.dtype) + w.T @ first

    def whole(right: np.ndarray) -> np.ndarray | None:
        x = solve(right)
        try:
            return None if x is None else x - first @ np.linalg.solve(small, w.T @ x)
        except np.linalg.LinAlgError:
            return None

    return whole


def as_sparse(matrix: Pattern, values: np.ndarray) -> Any:
    """A SciPy array of compressed rows; its places are its own, since SciPy changes them in place where it is asked to.

    It is a copy of an empty one that SciPy has checked, once for a pattern.
    """
    empty = _checked(matrix) if matrix.empty is None else matrix.empty
    array = copy(empty)
    array.data, array.indices, array.indptr = values, empty.indices.copy(), empty.indptr.copy()
    return array


def _checked(matrix: Pattern) -> Any:
    values = np.broadcast_to(0.0, len(matrix.columns))
    empty = needed("scipy.sparse").csr_array((values, matrix.columns, matrix.starts), shape=matrix.shape)
    empty.has_canonical_format = True
    object.__setattr__(matrix, "empty", empty)
    return empty


def needed(name: str) -> Any:
    """A module of SciPy, which has the formats and the solvers."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            "Sparse arrays and sparse systems are SciPy's, which is not installed: pip install scipy."
        ) from error
