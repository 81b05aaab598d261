"""Functions of matrices by their eigenvalues, singular values or Cholesky factors."""

from __future__ import annotations

from ricci.identities.row import row

_row = row("spectra")
_SPD = {"A": "spd n n"}
_SYM = "S[i,j] = 1/2 (A[i,j] + A[j,i])"

SPECTRA = (
    _row("sum of eigenvalues", "f = 1[i] eigvalsh(A)[i]", "A[p,q]", "delta[p,q]", _SPD, exact=False),
    _row("sum of squared eigenvalues", "f = 1[i] eigvalsh(A)[i]**2", "A[p,q]", "A[p,q] + A[q,p]", _SPD, exact=False),
    _row(
        "sum of logarithms of eigenvalues",
        f"{_SYM}; f = 1[i] log(eigvalsh(A)[i])",
        "A[p,q]",
        "inv(S)[p,q]",
        _SPD,
        exact=False,
    ),
    _row(
        "sum of exponentials of eigenvalues",
        f"{_SYM}; f = 1[i] exp(eigvalsh(A)[i])",
        "A[p,q]",
        "expm(S)[p,q]",
        _SPD,
        exact=False,
    ),
    _row(
        "eigenvalues",
        "y[i] = eigvalsh(A)[i]",
        "A[p,q]",
        None,
        _SPD,
        "`v[p,i] v[q,i]` with the eigenvectors in the columns of `v`, for which the notation has no function",
    ),
    _row(
        "square root of a matrix, trace",
        "f = 1[i] sqrt(eigvalsh(A)[i])",
        "A[p,q]",
        None,
        _SPD,
        "half of the inverse of the root of the matrix, for which the notation has no function",
    ),
    _row(
        "squared singular values",
        "f = 1[i] svdvals[i,j](1/2 (A[i,j] + A[j,i]))**2",
        "A[p,q]",
        "A[p,q] + A[q,p]",
        _SPD,
        exact=False,
    ),
    _row(
        "nuclear norm",
        "f = 1[i] svdvals[i,j](1/2 (A[i,j] + A[j,i]))",
        "A[p,q]",
        "delta[p,q]",
        _SPD,
        "of a positive definite matrix: its trace",
        exact=False,
    ),
    _row(
        "trace of the exponential",
        "f = tr[i,j](expm(A)[i,j])",
        "A[p,q]",
        "expm(A)[q,p]",
        {"A": "small n n"},
        exact=False,
    ),
    _row(
        "exponential along a line",
        "y[i,j] = expm[i,j](t A[i,j])",
        "t",
        "A[i,k] y[k,j]",
        {"t": "pos", "A": "small n n"},
        exact=False,
    ),
    _row(
        "inner product with the exponential",
        "f = B[i,j] expm(A)[i,j]",
        "A[p,q]",
        None,
        {"A": "small n n", "B": "n n"},
        "an integral: the Fréchet derivative of the exponential",
    ),
    _row(
        "log-determinant by the Cholesky factor",
        f"{_SYM}; L[i,j] = cholesky(A)[i,j]; f = 2 1[i] log(L[i,i])",
        "A[p,q]",
        "inv(S)[p,q]",
        _SPD,
        exact=False,
    ),
    _row(
        "Cholesky factor",
        "L[i,j] = cholesky(A)[i,j]",
        "A[p,q]",
        None,
        _SPD,
        "a half-triangle between two triangular solves",
    ),
    _row(
        "square of the Cholesky factor",
        "L[i,j] = cholesky(A)[i,j]; y[i,j] = L[i,k] L[j,k]",
        "A[p,q]",
        "1/2 (delta[i,p] delta[j,q] + delta[i,q] delta[j,p])",
        _SPD,
        exact=False,
    ),
    _row(
        "quadratic form by the Cholesky factor",
        f"{_SYM}; u[j] = solve[i,j](cholesky(A)[i,j], x[i]); f = u[j] u[j]",
        "x[p]",
        "2 inv(S)[p,j] x[j]",
        {**_SPD, "x": "n"},
        exact=False,
    ),
)
