"""Formulas that are cut, with an index along which they are, how many passes that takes, and inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import ricci as rc

LOGISTIC = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"
FACTORS = "l = 1[i,j] M[i,j] (T[i,j] - U[i,k] V[j,k])**2"
ATTENTION = "p[i,j] = softmax[j](q[i,d] k[j,d] / sqrt(|d|)); o[i,e] = p[i,j] v[j,e]"
ENERGY = f"{ATTENTION}; l = 1[i,e] o[i,e]**2"
COVARIANCE = "u[n] = 1/|m| 1[m] X[m,n]; C[n,p] = 1/|m| (X[m,n] - 1[m] u[n]) (X[m,p] - 1[m] u[p])"
BATCH_NORM = (
    "u[h] = 1/|b| 1[b] x[b,h]; v[h] = 1/|b| 1[b] (x[b,h] - 1[b] u[h])**2; "
    "y[b,h] = (x[b,h] - 1[b] u[h]) / sqrt(v[h] + 1/100)"
)
DISTANCES = "s[i,j] = 1[d] (x[i,d] 1[j] - 1[i] x[j,d])**2; E = 1[i] 1[j] (1 - delta[i,j]) / (s[i,j] + delta[i,j])"
SIZES = {"m": 31, "n": 4, "i": 23, "j": 17, "k": 3, "d": 3, "e": 2, "b": 29, "h": 4, "p": 4}


def whole(*shape):
    return lambda rng: rng.normal(size=[SIZES[x] for x in shape])


INPUTS: dict[str, Callable] = {
    "X": whole("m", "n"),
    "y": lambda rng: np.sign(rng.normal(size=SIZES["m"])),
    "w": whole("n"),
    "T": whole("i", "j"),
    "M": lambda rng: (rng.random((SIZES["i"], SIZES["j"])) < 0.5) * 1.0,
    "U": whole("i", "k"),
    "V": whole("j", "k"),
    "q": whole("i", "d"),
    "k": whole("j", "d"),
    "v": whole("j", "e"),
    "x": whole("b", "h"),
    "A": lambda rng: rng.normal(size=(SIZES["m"], SIZES["m"])),
    "z": whole("m"),
    "table": lambda rng: rng.normal(size=(5, 3)),
    "t": lambda rng: rng.integers(0, 5, size=SIZES["b"]),
}


@dataclass(frozen=True)
class BlockCase:
    """Formulas, by their text and what they are differentiated by."""

    name: str
    text: str
    by: tuple[tuple[str, ...], ...]
    index: str
    passes: int

    def formulas(self):
        f = rc.parse(self.text)
        return [f.diff(*by) if by else f for by in self.by]

    def given(self, seed=0):
        rng = np.random.default_rng(seed)
        return {name: INPUTS[name](rng) for name in rc.compile(self.formulas()).inputs}


CASES = [
    BlockCase("logistic", LOGISTIC, ((), ("w",), ("w", "w"), ("X",), ("y",)), "m", 1),
    BlockCase("by data twice", LOGISTIC, (("X", "X"),), "m", 1),
    BlockCase("normal equations", "b[p] = inv[n,p](X[m,n] X[m,p]) X[m',n] y[m']", ((),), "m", 1),
    BlockCase("factorisation", FACTORS, ((), ("U",), ("V",), ("U", "U")), "i", 1),
    BlockCase("attention, queries", ATTENTION, ((),), "i", 1),
    BlockCase("attention, keys", ATTENTION, ((),), "j", 1),
    BlockCase("attention, gradients by queries", ENERGY, (("q",), ("k",), ("v",)), "i", 1),
    BlockCase("attention, gradients by keys", ENERGY, (("q",), ("k",), ("v",)), "j", 3),
    BlockCase("covariance", COVARIANCE, ((),), "m", 2),
    BlockCase("mean and variance", "s[n] = std[m](X[m,n]) / mean[m](X[m,n]**2)", ((),), "m", 1),
    BlockCase("batch norm", BATCH_NORM, ((),), "b", 2),
    BlockCase("batch norm, derivative", f"{BATCH_NORM}; l = 1[b,h] y[b,h]**3", (("x",),), "b", 4),
    BlockCase("logsumexp", "s = logsumexp[m](X[m,n] w[n])", ((), ("w",)), "m", 1),
    BlockCase("logsumexp, second", "s = logsumexp[m](X[m,n] w[n])", (("w", "w"),), "m", 2),
    BlockCase("softmax", "p[m,n] = softmax[m](X[m,n])", ((),), "m", 2),
    BlockCase("log_softmax", "p[m,n] = log_softmax[m](X[m,n])", ((),), "m", 2),
    BlockCase("largest", "s = max[m](X[m,n] w[n])", ((), ("w",)), "m", 1),
    BlockCase("smallest", "s[n] = min[m](X[m,n])", ((), ("X",)), "m", 3),
    BlockCase("places", "s[n] = argmax[m](X[m,n])", ((),), "m", 1),
    BlockCase("places of the smallest", "s[n] = argmin[m](X[m,n])", ((),), "m", 1),
    BlockCase("product", "s[n] = prod[m](X[m,n])", ((),), "m", 1),
    BlockCase("truths", "s[n] = any[m](X[m,n] > 2) + 2 all[m](X[m,n] > -3)", ((),), "m", 1),
    BlockCase("norm", "s[n] = norm[m](X[m,n])", ((), ("X",)), "m", 2),
    BlockCase("kernel", "K[m,p] = exp(X[m,n] X[p,n] / 9); f[m] = K[m,p] y[p]", ((),), "m", 1),
    BlockCase("quadratic form", "f = z[m] A[m,p] z[p]", ((), ("z",), ("A",)), "m", 1),
    BlockCase("distances", DISTANCES.replace("x", "q"), ((), ("q",)), "i", 1),
    BlockCase("entry", "f = X[0,n] w[n] + 1[m] X[m,n] w[n]", ((),), "m", 1),
    BlockCase("table", "y[b,d] = table[t[b], d]; l = 1[b,d] y[b,d]**2", ((), ("table",)), "b", 1),
]


def agree(found, wanted, tolerance=1e-10):
    """The same values, shapes and types."""
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
