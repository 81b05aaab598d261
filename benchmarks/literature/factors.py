"""Matrices and tensors in parts: Gaussian processes, CP and completion from flat vectors, ICA, least squares."""

from __future__ import annotations

from typing import Any

import numpy

from literature.corpus import Program


def gp(np: Any, p: Any, x: Any, y: Any) -> Any:
    """The negative log likelihood of a Gaussian process: logs of the length scales, the amplitude and the noise."""
    n, d = x.shape
    scaled = x / np.exp(p[:d])
    squares = np.sum((scaled[:, None, :] - scaled) ** 2, axis=2)
    K = np.exp(2 * p[d] - 0.5 * squares) + np.exp(2 * p[d + 1]) * np.eye(n)
    L = np.linalg.cholesky(K)
    z = np.linalg.solve(L, y)
    return 0.5 * np.sum(z**2) + np.sum(np.log(np.diag(L)))


def gp_data(rng: Any, n: int, d: int) -> tuple:
    x = rng.uniform(0, 4, size=(n, d))
    return numpy.append(numpy.zeros(d), [0.1, -1.0]), x, numpy.sin(x.sum(1)) + 0.3 * rng.normal(size=n)


def cp(np: Any, p: Any, T: Any) -> Any:
    """The squares of what three factors of one rank, one after the other in a vector, lack of a tensor."""
    i, j, k = T.shape
    r = p.shape[0] // (i + j + k)
    A, B, C = p[: i * r].reshape(i, r), p[i * r : (i + j) * r].reshape(j, r), p[(i + j) * r :].reshape(k, r)
    return np.sum((T - np.einsum("ir,jr,kr->ijk", A, B, C)) ** 2)


def cp_data(rng: Any, n: int, r: int) -> tuple:
    return rng.normal(size=3 * n * r), rng.normal(size=(n, n, n))


def completion(np: Any, p: Any, rows: Any, columns: Any, values: Any, n: int, m: int) -> Any:
    """The squares of what two factors lack of the entries that are known."""
    r = p.shape[0] // (n + m)
    U, V = p[: n * r].reshape(n, r), p[n * r :].reshape(m, r)
    guesses = np.sum(U[rows] * V[columns], axis=1)
    return np.sum((values - guesses) ** 2) + 0.1 * np.sum(p**2)


def completion_data(rng: Any, n: int, m: int, r: int, known: int) -> tuple:
    return rng.normal(size=(n + m) * r), rng.integers(0, n, known), rng.integers(0, m, known), rng.normal(size=known)


def ica(np: Any, W: Any, x: Any) -> Any:
    """The negative log likelihood of unmixing, with sources that are distributed as 1/cosh."""
    sources = x @ W.T
    return np.mean(np.sum(np.logaddexp(sources, -sources), axis=1)) - np.linalg.slogdet(W)[1]


def ica_data(rng: Any, n: int, d: int) -> tuple:
    return numpy.eye(d) + 0.1 * rng.normal(size=(d, d)), rng.laplace(size=(n, d))


def polynomial(np: Any, x: Any, t: Any, signs: Any) -> Any:
    """Half the squares of what a polynomial lacks of the signs of its argument."""
    powers = t[:, None] ** np.arange(x.shape[0])
    return 0.5 * np.sum((powers @ x - signs) ** 2)


def polynomial_data(rng: Any, n: int, m: int) -> tuple:
    t = -1 + 2 * (numpy.arange(n) + 0.5) / n
    return rng.normal(size=m), t, numpy.sign(t)


def logistic(np: Any, w: Any, X: Any, y: Any) -> Any:
    return np.sum(np.log1p(np.exp(-y * (X @ w)))) + 0.5 * np.sum(w**2)


def logistic_data(rng: Any, n: int, d: int) -> tuple:
    return rng.normal(size=d) / d**0.5, rng.normal(size=(n, d)), numpy.sign(rng.normal(size=n))


def completion_fixed(n: int, m: int, r: int, known: int) -> dict:
    return {"n": n, "m": m}


ALL = ("value", "grad", "hvp", "hessian")
FACTORS = (
    Program("gp", gp, gp_data, "n d", (30, 2), ((20, 1), (100, 2), (200, 2)), ALL),
    Program("cp", cp, cp_data, "n r", (12, 3), ((5, 2), (15, 3), (40, 5))),
    Program(
        "completion",
        completion,
        completion_data,
        "n m r known",
        (30, 20, 3, 200),
        ((30, 20, 3, 200), (200, 200, 5, 5000), (1000, 1000, 5, 20000)),
        fixed=completion_fixed,
    ),
    Program("ica", ica, ica_data, "n d", (200, 4), ((200, 4), (2000, 20))),
    Program("polynomial", polynomial, polynomial_data, "n m", (100, 8), ((100, 8), (10_000, 16)), ALL),
    Program("logistic", logistic, logistic_data, "n d", (200, 10), ((200, 10), (2000, 100)), ALL),
)
