"""Mixtures and their kin: Gaussian mixtures, whole and diagonal, k-means, log-sum-exp, softmax regression."""

from __future__ import annotations

from typing import Any

import numpy

from literature.corpus import Program


def logsumexp(np: Any, x: Any) -> Any:
    """``log Σ exp`` along the last axis."""
    top = np.max(x, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(x - top), axis=-1)) + np.squeeze(top, -1)


def triangle(d: int) -> numpy.ndarray:
    """For each entry of a matrix its place among those below the diagonal, column by column; the rest is the last."""
    places = numpy.full((d, d), d * (d - 1) // 2)
    rows, columns = numpy.triu_indices(d, 1)[::-1]
    places[rows, columns] = numpy.arange(d * (d - 1) // 2)
    return places


def gmm(np: Any, parameters: Any, x: Any, prior: Any) -> Any:
    """The log posterior of a Gaussian mixture, constants left out.

    Component k has the weight softmax(α)[k], the mean μ[k], and as the root of its inverse covariance a lower
    triangular matrix, which is given by the logs of its diagonal and the entries below; Wishart's prior on these.
    """
    alphas, means, roots = parameters
    k, d = means.shape
    logs, lower = roots[:, :d], roots[:, d:]
    L = np.concatenate([lower, np.zeros((k, 1))], axis=1)[:, triangle(d)]
    centred = x[:, None, :] - means
    z = np.exp(logs) * centred + np.einsum("kij,nkj->nki", L, centred)
    inner = alphas + np.sum(logs, axis=1) - 0.5 * np.sum(z**2, axis=2)
    likelihood = np.sum(logsumexp(np, inner)) - len(x) * logsumexp(np, alphas)
    gamma, m = prior[0], prior[1]
    wishart = 0.5 * gamma**2 * (np.sum(np.exp(2 * logs)) + np.sum(lower**2)) - m * np.sum(logs)
    return likelihood - wishart


def gmm_data(rng: Any, n: int, d: int, k: int) -> tuple:
    roots = rng.normal(size=(k, d + d * (d - 1) // 2)) / d
    return (rng.normal(size=k), rng.normal(size=(k, d)), roots), rng.normal(size=(n, d)), numpy.array([1.0, 2.0])


def mixture(np: Any, p: Any, x: Any) -> Any:
    """The negative log likelihood of a mixture of Gaussians with diagonal covariances, of one flat vector."""
    d = x.shape[1]
    k = p.shape[0] // (2 * d + 1)
    logits, means, logs = p[:k], p[k : k + k * d].reshape(k, d), p[k + k * d :].reshape(k, d)
    z = (x[:, None, :] - means) / np.exp(logs)
    inner = -0.5 * np.sum(z**2, axis=2) - np.sum(logs, axis=1) + logits
    return -np.mean(logsumexp(np, inner) - logsumexp(np, logits))


def mixture_data(rng: Any, n: int, d: int, k: int) -> tuple:
    return 0.3 * rng.normal(size=k * (2 * d + 1)), rng.normal(size=(n, d))


def kmeans(np: Any, centroids: Any, points: Any) -> Any:
    """The squared distances of points from the nearest of the centroids."""
    squares = np.sum((points[:, None, :] - centroids) ** 2, axis=2)
    return np.sum(np.min(squares, axis=1))


def kmeans_data(rng: Any, n: int, d: int, k: int) -> tuple:
    points = rng.normal(size=(n, d))
    return points[:k] + 0.01 * rng.normal(size=(k, d)), points


def lse(np: Any, x: Any) -> Any:
    return logsumexp(np, x)


def softmax_regression(np: Any, p: Any, X: Any, y: Any) -> Any:
    """The mean negative log probability of the labels, the weights and offsets in one flat vector."""
    n, d = X.shape
    k = p.shape[0] // (d + 1)
    scores = X @ p[: d * k].reshape(d, k) + p[d * k :]
    picked = scores[np.arange(n), y]
    return np.mean(logsumexp(np, scores) - picked) + 0.5 * np.sum(p**2) / n


def softmax_data(rng: Any, n: int, d: int, k: int) -> tuple:
    return rng.normal(size=(d + 1) * k), rng.normal(size=(n, d)), rng.integers(0, k, n)


MIXTURES = (
    Program("gmm", gmm, gmm_data, "n d k", (200, 3, 4), ((1000, 2, 5), (1000, 10, 5), (1000, 10, 25), (1000, 32, 10))),
    Program("mixture", mixture, mixture_data, "n d k", (200, 2, 3), ((100, 2, 3), (1000, 5, 10), (10000, 5, 10))),
    Program(
        "kmeans",
        kmeans,
        kmeans_data,
        "n d k",
        (200, 2, 5),
        ((200, 2, 5), (2000, 8, 10), (10000, 8, 20)),
        ("value", "grad", "diagonal", "newton"),
    ),
    Program("lse", lse, lambda rng, n: (rng.normal(size=n),), "n", (1000,), ((100,), (10_000,), (1_000_000,))),
    Program("softmax", softmax_regression, softmax_data, "n d k", (200, 20, 5), ((200, 20, 5), (2000, 50, 10))),
)
