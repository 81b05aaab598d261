"""Optimisation and finance: Lagrangians, barriers, transport, test functions."""

from __future__ import annotations

from ricci.identities.row import row

_row = row("optimisation")
_QP = "f = 1/2 x[i] Q[i,j] x[j] + c[i] x[i] + u[k] (A[k,i] x[i] - b[k])"
_QP_IN = {"x": "n", "Q": "n n", "c": "n", "u": "m", "A": "m n", "b": "m"}
_BARRIER = "f = -1[k] log(b[k] - A[k,i] x[i])"
_BARRIER_IN = {"b": "pos m", "A": "small m n", "x": "small n"}
_SCHOLES = (
    "d = (log(s/k) + (r + v**2/2) t)/(v sqrt(t)); N = 1/2 (1 + erf(d/sqrt(2))); "
    "f = s N - k exp(-r t) (1/2 + 1/2 erf((d - v sqrt(t))/sqrt(2)))"
)
_SCHOLES_IN = {"s": "pos", "k": "pos", "r": "unit", "v": "pos", "t": "pos"}

OPTIMISATION = (
    _row("Lagrangian of a quadratic program", _QP, "x[p]", "1/2 (Q[p,j] + Q[j,p]) x[j] + c[p] + u[k] A[k,p]", _QP_IN),
    _row("Lagrangian, by the multipliers", _QP, "u[p]", "A[p,i] x[i] - b[p]", _QP_IN),
    _row("Lagrangian, mixed", _QP, ("u[p]", "x[q]"), "A[p,q]", _QP_IN),
    _row(
        "augmented Lagrangian",
        "r[k] = A[k,i] x[i] - b[k]; f = c[i] x[i] + u[k] r[k] + s/2 r[k] r[k]",
        "x[p]",
        "c[p] + A[k,p] (u[k] + s r[k])",
        {"A": "m n", "x": "n", "b": "m", "c": "n", "u": "m", "s": "pos"},
    ),
    _row("logarithmic barrier", _BARRIER, "x[p]", "A[k,p]/(b[k] - A[k,i] x[i])", _BARRIER_IN),
    _row(
        "logarithmic barrier, Hessian", _BARRIER, ("x[p]", "x[q]"), "A[k,p] A[k,q]/(b[k] - A[k,i] x[i])**2", _BARRIER_IN
    ),
    _row(
        "barrier of the positive definite matrices",
        "f = C[i,j] X[i,j] - s logdet(X)",
        "X[p,q]",
        "C[p,q] - s inv(X)[q,p]",
        {"C": "n n", "X": "spd n n", "s": "pos"},
    ),
    _row(
        "entropic transport",
        "f = C[i,j] P[i,j] + s P[i,j] (log(P[i,j]) - 1)",
        "P[p,q]",
        "C[p,q] + s log(P[p,q])",
        {"C": "m n", "P": "pos m n", "s": "pos"},
    ),
    _row(
        "entropic transport, dual",
        "f = a[i] u[i] + b[j] v[j] - s 1[i,j] exp((u[i] 1[j] + 1[i] v[j] - C[i,j])/s)",
        "u[p]",
        "a[p] - 1[j] exp((u[p] 1[j] + 1[p] v[j] - C[p,j])/s)",
        {"a": "m", "b": "n", "u": "m", "v": "n", "C": "m n", "s": "pos"},
    ),
    _row(
        "dual of the support vector machine",
        "f = 1[i] a[i] - 1/2 a[i] y[i] K[i,j] y[j] a[j]",
        "a[p]",
        "1[p] - y[p] K[p,j] y[j] a[j]",
        {"a": "n", "y": "sign n", "K": "spd n n"},
        "K symmetric",
        False,
    ),
    _row(
        "Sharpe ratio",
        "q = w[i] S[i,j] w[j]; s = m[i] w[i]/sqrt(q)",
        "w[p]",
        "m[p]/sqrt(q) - m[i] w[i] S[p,j] w[j]/q**(3/2)",
        {"m": "n", "w": "n", "S": "spd n n"},
        "S symmetric",
        False,
    ),
    _row(
        "Rosenbrock's function",
        "f = (a - x)**2 + b (y - x**2)**2",
        "x",
        "-2 (a - x) - 4 b x (y - x**2)",
        dict.fromkeys("abxy", ""),
    ),
    _row(
        "chain of neighbours",
        "f = 1/2 1[i] (x[i+1] - x[i+0])**2",
        "x[p]",
        "1[i] (x[i+1] - x[i+0]) (delta[p,i+1] - delta[p,i+0])",
        {"x": "n+2"},
        exact=False,
    ),
    _row("softened minimum", "f = -t logsumexp[i](-x[i]/t)", "x[p]", "softmax[p](-x[p]/t)", {"x": "n", "t": "pos"}),
    _row("option price of Black and Scholes, by the price", _SCHOLES, "s", "N", _SCHOLES_IN, "delta", False),
    _row(
        "option price of Black and Scholes, by the volatility",
        _SCHOLES,
        "v",
        "s sqrt(t) exp(-d**2/2)/sqrt(2 pi)",
        _SCHOLES_IN,
        "vega",
        False,
    ),
)
