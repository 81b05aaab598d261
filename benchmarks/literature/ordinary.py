"""Ordinary small programs: what people write on the first day, of at most a hundred operations or so."""

from __future__ import annotations

from typing import Any

from literature.corpus import Program
from literature.mixtures import logsumexp


def logistic(np: Any, w: Any, X: Any, y: Any) -> Any:
    return np.mean(np.log(1 + np.exp(-y * (X @ w)))) + 0.01 * np.sum(w**2)


def cross_entropy(np: Any, W: Any, X: Any, T: Any) -> Any:
    """Softmax cross-entropy with one-hot labels."""
    scores = X @ W
    return -np.mean(np.sum(T * (scores - logsumexp(np, scores)[:, None]), axis=1))


def mlp(np: Any, parameters: Any, X: Any, y: Any) -> Any:
    W, b, V, c = parameters
    return np.mean((np.tanh(X @ W + b) @ V + c - y) ** 2)


def deep(np: Any, parameters: Any, X: Any, y: Any) -> Any:
    """Four hidden layers."""
    h = X
    for W in parameters[:-1]:
        h = np.tanh(h @ W)
    return np.mean((h @ parameters[-1] - y) ** 2)


def ridge(np: Any, w: Any, X: Any, y: Any) -> Any:
    r = X @ w - y
    return r @ r + 0.1 * w @ w


def rosenbrock(np: Any, x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def attention(np: Any, parameters: Any, X: Any) -> Any:
    """One head, a residual, a normalised sum and a loss."""
    Q, K, V = parameters
    scores = (X @ Q) @ (X @ K).T / np.sqrt(1.0 * Q.shape[1])
    weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    Y = X + (weights / np.sum(weights, axis=1, keepdims=True)) @ (X @ V)
    Z = (Y - np.mean(Y, axis=1, keepdims=True)) / np.sqrt(np.mean(Y**2, axis=1, keepdims=True) + 1e-5)
    return np.sum(Z**2 * X)


def rnn(np: Any, parameters: Any, X: Any) -> Any:
    W, U = parameters
    h = np.zeros(W.shape[0])
    total = 0.0
    for x in X:
        h = np.tanh(W @ h + U @ x)
        total = total + np.sum(h**2)
    return total


def kalman(np: Any, A: Any, y: Any) -> Any:
    """The log likelihood of a filter with unit noise, the first coordinate being observed."""
    d = A.shape[0]
    m, P, total = np.zeros(d), np.eye(d), 0.0
    for k in range(y.shape[0]):
        m, P = A @ m, A @ P @ A.T + np.eye(d)
        S, r = P[0, 0] + 1, y[k] - m[0]
        total = total - 0.5 * (np.log(S) + r**2 / S)
        gain = P[:, 0] / S
        m, P = m + gain * r, P - gain[:, None] * P[0]
    return total


def garch(np: Any, p: Any, r: Any) -> Any:
    """The negative log likelihood of returns whose variance follows the last return and itself."""
    s, total = 1.0, 0.0
    for k in range(1, r.shape[0]):
        s = p[0] + p[1] * r[k - 1] ** 2 + p[2] * s
        total = total + np.log(s) + r[k] ** 2 / s
    return total


def poisson(np: Any, w: Any, X: Any, y: Any) -> Any:
    z = X @ w
    return np.sum(np.exp(z) - y * z)


def kernel(np: Any, x: Any, y: Any) -> Any:
    """Points that attract one another, by a kernel."""
    squares = np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=2)
    return np.sum(np.exp(-0.5 * squares)) + np.sum((x - y) ** 2)


def pendulum(np: Any, state: Any, g: Any) -> Any:
    """Ten steps of a pendulum, by the midpoint rule."""
    a, v = state[0], state[1]
    for _ in range(10):
        b, w = a + 0.05 * v, v - 0.05 * g[0] * np.sin(a)
        a, v = a + 0.1 * w, v - 0.1 * g[0] * np.sin(b)
    return a**2 + v**2


def matrices(*shapes: str | tuple[str, ...]) -> Any:
    """What draws a tuple of arrays and the rest: shapes in letters of the size."""

    def data(rng: Any, *size: int) -> tuple:
        by = dict(zip("nmk", size, strict=False))
        arrays = [rng.normal(size=tuple([by.get(x, 1) for x in shape])) for shape in shapes]
        return tuple(arrays)

    return data


def several(count: int, draw: Any) -> Any:
    """The first ``count`` arrays are the parameters, in a tuple."""

    def data(rng: Any, *size: int) -> tuple:
        arrays = draw(rng, *size)
        return (tuple([0.3 * a for a in arrays[:count]]), *arrays[count:])

    return data


def _row(name: str, function: Any, data: Any, axes: str, size: tuple[int, ...]) -> Program:
    return Program(name, function, data, axes, size, (size,), ("grad",))


ORDINARY = (
    _row("logistic", logistic, matrices("m", "nm", "n"), "n m", (200, 10)),
    _row("cross-entropy", cross_entropy, matrices("mk", "nm", "nk"), "n m k", (200, 10, 5)),
    _row("mlp", mlp, several(4, matrices("mk", "k", "k1", "1", "nm", "n1")), "n m k", (100, 10, 20)),
    _row("deep", deep, several(5, matrices("mm", "mm", "mm", "mm", "m1", "nm", "n1")), "n m", (100, 20)),
    _row("ridge", ridge, matrices("m", "nm", "n"), "n m", (200, 10)),
    _row("poisson", poisson, matrices("m", "nm", "n"), "n m", (200, 4)),
    _row("rosenbrock", rosenbrock, matrices("n"), "n", (100,)),
    _row("kernel", kernel, matrices("nm", "nm"), "n m", (40, 3)),
    _row("attention", attention, several(3, matrices("mk", "mk", "mm", "nm")), "n m k", (20, 16, 8)),
    _row("rnn", rnn, several(2, matrices("mm", "mk", "nk")), "n m k", (10, 8, 4)),
    _row("kalman", kalman, lambda rng, n, m: (0.4 * rng.normal(size=(m, m)), rng.normal(size=n)), "n m", (5, 3)),
    _row("garch", garch, lambda rng, n: (rng.uniform(0.1, 0.3, 3), rng.normal(size=n)), "n", (20,)),
    _row("pendulum", pendulum, lambda rng: (rng.normal(size=2), rng.normal(size=1)), "", ()),
)
