"""Formulas and sizes that tests of meshes share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import ricci as rc

LOGISTIC = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
FACTORS = rc.parse("l = sum[i,j]((T[i,j] - U[i,k] V[j,k])**2)")
MASKED = rc.parse("l = 1[i,j] M[i,j] (T[i,j] - U[i,k] V[j,k])**2")
ATTENTION = rc.parse(
    "p[b,h,i,j] = softmax[j](q[b,h,i,d] k[b,h,j,d] / sqrt(|d|)); o[b,h,i,e] = p[b,h,i,j] v[b,h,j,e]; "
    "l = 1[b,h,i,e] o[b,h,i,e]**2"
)
NORMAL = rc.parse("N[p,q] = X[m,p] X[m,q]; r[p] = X[m,p] y[m]")
COVARIANCE = rc.parse("z[m,p] = X[m,p] - 1[m] mean[m](X[m,p]); c[p,q] = z[m,p] z[m,q] / |m|")
LAYERS = rc.parse(
    "h[b,j] = tanh(x[b,i] A[i,j]); z[b,c] = h[b,j] B[j,c]; l = -1[b] sum[c](t[b,c] log(softmax[c](z[b,c])))"
)
CHAIN = rc.parse("y[i,q] = A[i,j] B[j,k] C[k,q]")
LOGSUMEXP = rc.parse("y[i] = logsumexp[j](A[i,j])")
OUTER = rc.parse("G[i,j] = a[i] b[j]")

FORMULAS: dict[str, Any] = {
    "loss": LOGISTIC,
    "gradient": LOGISTIC.diff("w"),
    "Hessian": LOGISTIC.diff("w", "w"),
    "by data": LOGISTIC.diff("X"),
    "all": [LOGISTIC, LOGISTIC.diff("w"), LOGISTIC.diff("w", "w"), LOGISTIC.diff("X")],
    "factors": FACTORS.diff("U", "U"),
    "masked": [MASKED.diff("U"), MASKED.diff("V")],
    "masked Hessian": MASKED.diff("U", "U"),
    "attention": [*ATTENTION.diff_all("q", "k", "v")],
    "softmax": ATTENTION,
    "normal": NORMAL,
    "covariance": COVARIANCE,
    "layers": [*LAYERS.diff_all("A", "B")],
    "chain": CHAIN,
    "logsumexp": LOGSUMEXP,
    "outer": OUTER,
}
SIZES = {"m": 256, "n": 16, "i": 64, "j": 32, "k": 8, "b": 8, "h": 8, "d": 16, "e": 16, "p": 16, "q": 16, "c": 8}


def inputs(formulas: Any, sizes: Mapping[str, int] = SIZES) -> dict[str, np.ndarray]:
    """Positive numbers for all inputs, in single precision."""
    rng = np.random.default_rng(0)
    given: dict[str, np.ndarray] = {}
    for formula in formulas if isinstance(formulas, (list, tuple)) else [formulas]:
        facts = formula.context.facts
        names = {axis: index for index, axes in reversed(facts.groups) for axis in axes}
        for name, order in facts.inputs.items():
            shape = tuple([sizes[names[name, axis]] for axis in range(order)])
            given[name] = rng.uniform(0.5, 1.5, shape).astype(np.float32)
    return given


def close(found: Any, wanted: Any) -> bool:
    """Whether results are the same, but for the rounding of single precision."""
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    return all(np.allclose(np.asarray(a), np.asarray(b), rtol=2e-3, atol=2e-3) for a, b in pairs)
