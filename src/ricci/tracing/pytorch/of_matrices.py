"""Linear algebra.

PyTorch's operations also give what a derivative would need (factors, pivots); ricci derives by its own rules, and does
not compute these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ricci.errors import TraceError
from ricci.expr import Op
from ricci.functions import matrix
from ricci.functions.matrix import from_triangle
from ricci.tracing.basics import lift, like, real_type
from ricci.tracing.own_functions import lowering
from ricci.tracing.pytorch.aten import Array, lowers, rows
from ricci.tracing.rows.linalg import matrices


def _turned(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


@lowers("_linalg_solve_ex")
def solve(A: Array, B: Array, left: bool = True, check_errors: bool = False) -> Any:
    if not left:
        return _turned(np.linalg.solve(_turned(A), _turned(B))), None, None, None
    vector = B.ndim == A.ndim - 1 and B.shape == A.shape[:-1]
    found = np.linalg.solve(A, np.expand_dims(B, -1) if vector else B)
    return np.squeeze(found, -1) if vector else found, None, None, None


@lowers("linalg_solve_triangular")
def solve_triangular(self: Array, B: Array, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """The other triangle is not looked at; nor is the diagonal where it is said to be ones."""
    a = np.triu(self) if upper else np.tril(self)
    if unitriangular:
        size = self.shape[-1]
        a = np.where(np.eye(size, dtype=bool), 1, a)
    return np.linalg.solve(a, B) if left else _turned(np.linalg.solve(_turned(a), _turned(B)))


@lowers("cholesky_solve")
def cholesky_solve(self: Array, input2: Array, upper: bool = False) -> Any:
    factor = np.triu(input2) if upper else np.tril(input2)
    other = np.conj(_turned(factor))
    whole = other @ factor if upper else factor @ other
    return np.linalg.solve(whole, self)


@lowers("cholesky")
def cholesky(self: Array, upper: bool = False) -> Any:
    low = _of_triangle(matrix.cholesky, self, "U" if upper else "L")
    return np.conj(_turned(low)) if upper else low


def _of_triangle(row: Op, a: Array, triangle: str) -> Any:
    """A function that reads one triangle. Its derivative is that of the function of (A + Aᵀ)/2, as in PyTorch."""
    x = matrices(row.name, lift(a), square=True)
    matrix = from_triangle(x.expr, triangle == "L") if x.expr.complex else x.expr
    return like(x, row(matrix, (-2, -1), triangle), real_type(x.dtype) if row.complex == "real" else None)


@lowers("_linalg_eigh")
def eigh(A: Array, UPLO: str = "L", compute_v: bool = True) -> Any:
    values = _of_triangle(matrix.eigvalsh, A, UPLO)
    return values, _of_triangle(matrix.eigh_vectors, A, UPLO) if compute_v else None


@lowers("_linalg_svd")
def svd(A: Array, full_matrices: bool = False, compute_uv: bool = True, driver: Any = None) -> Any:
    if not compute_uv:
        return None, np.linalg.svdvals(A), None
    if full_matrices and A.shape[-1] != A.shape[-2]:
        raise TraceError("torch.linalg.svd: full_matrices=True has no derivative here; give full_matrices=False.")
    u, s, vh = np.linalg.svd(A, full_matrices=False)
    return u, s, vh


@lowers("linalg_qr")
def qr(A: Array, mode: str = "reduced") -> Any:
    if mode == "reduced" or (mode == "complete" and A.shape[-1] >= A.shape[-2]):
        return tuple(np.linalg.qr(A))
    raise TraceError(f"torch.linalg.qr: mode={mode!r} is not traced; 'reduced' is.")


rows(
    __name__,
    {
        "linalg_eig": lambda self: tuple(np.linalg.eig(self)),
        "linalg_eigvals _linalg_eigvals": np.linalg.eigvals,
        "linalg_inv_ex": lambda A: (np.linalg.inv(A), None),
        "_linalg_det": lambda A: (np.linalg.det(A), None, None),
        "_linalg_slogdet": lambda A: (*np.linalg.slogdet(A), None, None),
        "linalg_cholesky_ex": lambda self, upper=False: (cholesky(self, upper), None),
        "linalg_matrix_exp matrix_exp": lowering("expm"),
        "linalg_pinv": lambda self, rcond=None, hermitian=False, atol=None, rtol=None: np.linalg.pinv(self),
    },
)
