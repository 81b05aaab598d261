"""Regression, classification and factorisation: losses by their parameters."""

from __future__ import annotations

from ricci.identities.row import row

_row = row("regression")
_DATA = {"X": "m n", "y": "m", "w": "n"}
_SIGNS = {**_DATA, "y": "sign m"}
_COUNTS = {**_DATA, "y": "count m"}
_PARTS = {"T": "m n", "U": "m k", "V": "n k"}
_MASKED = {**_PARTS, "M": "bit m n"}
_LS = "f = 1/2 1[m] (X[m,n] w[n] - y[m])**2"
_LOGISTIC = "f = 1[m] softplus(-y[m] X[m,n] w[n])"
_POISSON = "e[m] = X[m,n] w[n]; f = 1[m] (exp(e[m]) - y[m] e[m])"
_FACTORS = "f = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2"
_MASKED_FACTORS = "f = 1[i,j] M[i,j] (T[i,j] - U[i,k] V[j,k])**2"

REGRESSION = (
    _row("least squares", _LS, "w[p]", "X[m,p] (X[m,n] w[n] - y[m])", _DATA),
    _row("least squares, Hessian", _LS, ("w[p]", "w[q]"), "X[m,p] X[m,q]", _DATA),
    _row("least squares, by the data", _LS, "X[p,q]", "(X[p,n] w[n] - y[p]) w[q]", _DATA),
    _row(
        "length of the residual",
        "r[m] = X[m,n] w[n] - y[m]; f = norm[m](r[m])",
        "w[p]",
        "X[m,p] r[m]/norm[m](r[m])",
        _DATA,
    ),
    _row(
        "ridge regression",
        "f = 1/2 1[m] (X[m,n] w[n] - y[m])**2 + s/2 w[n] w[n]",
        "w[p]",
        "X[m,p] (X[m,n] w[n] - y[m]) + s w[p]",
        {**_DATA, "s": "pos"},
    ),
    _row(
        "ridge regression, Hessian",
        "f = 1/2 1[m] (X[m,n] w[n] - y[m])**2 + s/2 w[n] w[n]",
        ("w[p]", "w[q]"),
        "X[m,p] X[m,q] + s delta[p,q]",
        {**_DATA, "s": "pos"},
    ),
    _row(
        "ridge solution, by the penalty",
        "A[i,j] = X[m,i] X[m,j] + s delta[i,j]; w[j] = solve[i,j](A[i,j], X[m,i] y[m])",
        "s",
        "-inv(A)[j,i] w[i]",
        {"X": "m n", "y": "m", "s": "pos"},
    ),
    _row(
        "weighted least squares",
        "f = 1/2 1[m] c[m] (X[m,n] w[n] - y[m])**2",
        "w[p]",
        "X[m,p] c[m] (X[m,n] w[n] - y[m])",
        {**_DATA, "c": "pos m"},
    ),
    _row(
        "weighted least squares, Hessian",
        "f = 1/2 1[m] c[m] (X[m,n] w[n] - y[m])**2",
        ("w[p]", "w[q]"),
        "X[m,p] c[m] X[m,q]",
        {**_DATA, "c": "pos m"},
    ),
    _row(
        "generalised least squares",
        "r[m] = X[m,n] w[n] - y[m]; f = r[i] S[i,j] r[j]",
        "w[p]",
        "X[i,p] (S[i,j] + S[j,i]) r[j]",
        {**_DATA, "S": "m m"},
        exact=False,
    ),
    _row(
        "lasso",
        "f = 1/2 1[m] (X[m,n] w[n] - y[m])**2 + s 1[n] abs(w[n])",
        "w[p]",
        "X[m,p] (X[m,n] w[n] - y[m]) + s sign(w[p])",
        {**_DATA, "s": "pos"},
        "0 at 0",
    ),
    _row(
        "smoothed absolute loss",
        "r[m] = X[m,n] w[n] - y[m]; f = 1[m] sqrt(1 + r[m]**2)",
        "w[p]",
        "X[m,p] r[m]/sqrt(1 + r[m]**2)",
        _DATA,
    ),
    _row(
        "multivariate regression",
        "R[m,k] = X[m,n] W[n,k] - Y[m,k]; f = R[m,k] R[m,k]",
        "W[p,q]",
        "2 X[m,p] R[m,q]",
        {"X": "m n", "W": "n k", "Y": "m k"},
    ),
    _row("logistic regression", _LOGISTIC, "w[p]", "-X[m,p] y[m] sigmoid(-y[m] X[m,n] w[n])", _SIGNS),
    _row(
        "logistic regression, Hessian",
        _LOGISTIC,
        ("w[p]", "w[q]"),
        "s[m] = sigmoid(-y[m] X[m,n] w[n]); X[m,p] X[m,q] y[m] y[m] s[m] (1 - s[m])",
        _SIGNS,
    ),
    _row(
        "logistic regression, written out",
        "f = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))",
        "w[p]",
        "-X[m,p] y[m] sigmoid(-y[m] X[m,n] w[n])",
        _SIGNS,
    ),
    _row(
        "logistic loss with labels 0 and 1",
        "z[m] = X[m,n] w[n]; f = 1[m] (softplus(z[m]) - y[m] z[m])",
        "w[p]",
        "X[m,p] (sigmoid(z[m]) - y[m])",
        {**_DATA, "y": "bit m"},
    ),
    _row(
        "hinge loss",
        "f = 1[m] relu(1 - y[m] X[m,n] w[n])",
        "w[p]",
        "-X[m,p] y[m] (1 - y[m] X[m,n] w[n] > 0)",
        _SIGNS,
        exact=False,
    ),
    _row(
        "squared hinge loss",
        "f = 1/2 1[m] relu(1 - y[m] X[m,n] w[n])**2",
        "w[p]",
        "-X[m,p] y[m] relu(1 - y[m] X[m,n] w[n])",
        _SIGNS,
    ),
    _row("Poisson regression", _POISSON, "w[p]", "X[m,p] (exp(e[m]) - y[m])", _COUNTS),
    _row("Poisson regression, Hessian", _POISSON, ("w[p]", "w[q]"), "X[m,p] X[m,q] exp(e[m])", _COUNTS),
    _row(
        "gamma regression",
        "e[m] = X[m,n] w[n]; f = 1[m] (e[m] + y[m] exp(-e[m]))",
        "w[p]",
        "X[m,p] (1[m] - y[m] exp(-e[m]))",
        {**_DATA, "y": "pos m"},
    ),
    _row(
        "softmax regression",
        "z[m,k] = X[m,n] W[n,k]; f = 1[m] logsumexp[k](z[m,k]) - Y[m,k] z[m,k]",
        "W[p,q]",
        "X[m,p] (softmax[q](X[m,n] W[n,q]) - Y[m,q])",
        {"X": "m n", "W": "n k", "Y": "prob m k"},
    ),
    _row(
        "paired comparisons",
        "f = 1[m] softplus(-D[m,i] s[i])",
        "s[p]",
        "-D[m,p] sigmoid(-D[m,i] s[i])",
        {"D": "m n", "s": "n"},
        "Bradley–Terry: D holds 1 and -1 for the winner and the loser",
    ),
    _row("matrix factorisation", _FACTORS, "U[p,q]", "-2 (T[p,j] - U[p,k] V[j,k]) V[j,q]", _PARTS),
    _row("matrix factorisation, Hessian", _FACTORS, ("U[p,q]", "U[r,s]"), "2 delta[p,r] V[j,q] V[j,s]", _PARTS),
    _row(
        "matrix factorisation, mixed",
        _FACTORS,
        ("U[p,q]", "V[r,s]"),
        "2 U[p,s] V[r,q] - 2 (T[p,r] - U[p,k] V[r,k]) delta[q,s]",
        _PARTS,
        exact=False,
    ),
    _row(
        "matrix factorisation under a mask",
        _MASKED_FACTORS,
        "U[p,q]",
        "-2 M[p,j] (T[p,j] - U[p,k] V[j,k]) V[j,q]",
        _MASKED,
    ),
    _row(
        "matrix factorisation under a mask, Hessian",
        _MASKED_FACTORS,
        ("U[p,q]", "U[r,s]"),
        "2 delta[p,r] M[p,j] V[j,q] V[j,s]",
        _MASKED,
    ),
    _row(
        "principal component",
        "f = 1[m,i] (X[m,i] - X[m,j] w[j] w[i])**2",
        "w[p]",
        "R[m,i] = X[m,i] - X[m,j] w[j] w[i]; -2 X[m,p] R[m,i] w[i] - 2 R[m,p] X[m,j] w[j]",
        {"X": "m n", "w": "n"},
        exact=False,
    ),
    _row(
        "variance along a direction",
        "f = X[m,i] w[i] X[m,j] w[j]/(w[k] w[k])",
        "w[p]",
        "2 (X[m,p] X[m,j] w[j] - f w[p])/(w[k] w[k])",
        {"X": "m n", "w": "n"},
        exact=False,
    ),
    _row(
        "principal subspace", "f = W[i,k] S[i,j] W[j,k]", "W[p,q]", "(S[p,j] + S[j,p]) W[j,q]", {"W": "n k", "S": "n n"}
    ),
    _row(
        "pairwise distances",
        "s[i,j] = 1[d] (x[i,d] 1[j] - 1[i] x[j,d])**2; f = A[i,j] s[i,j]",
        "x[p,q]",
        "2 (A[p,j] + A[j,p]) (x[p,q] 1[j] - 1[p] x[j,q])",
        {"x": "m n", "A": "m m"},
        exact=False,
    ),
    _row(
        "kernel ridge objective",
        "r[i] = K[i,j] a[j] - y[i]; f = 1/2 r[i] r[i] + s/2 a[i] K[i,j] a[j]",
        "a[p]",
        "K[i,p] r[i] + s K[p,j] a[j]",
        {"K": "spd n n", "a": "n", "y": "n", "s": "pos"},
        "K symmetric",
        False,
    ),
)
