"""Ten problems of optimisation as they are handed to SciPy: one flat vector, a number or residuals to be made small."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

Data = tuple[numpy.ndarray, tuple[Any, ...]]


@dataclass(frozen=True)
class Problem:
    """A function of a module, a flat vector and data; ``make`` draws a start and the data; ``method`` is SciPy's."""

    name: str
    function: Callable[..., Any]
    make: Callable[[Any], Data]
    method: str

    def data(self) -> Data:
        return self.make(numpy.random.default_rng(11))


def logistic(np: Any, w: Any, X: Any, y: Any) -> Any:
    return np.sum(np.logaddexp(0.0, -y * (X @ w))) + 0.5 * np.sum(w**2)


def logistic_data(rng: Any) -> Data:
    X = rng.normal(size=(400, 30))
    return numpy.zeros(30), (X, numpy.sign(X @ rng.normal(size=30) + rng.normal(size=400)))


def softmax(np: Any, p: Any, X: Any, y: Any) -> Any:
    scores = X @ p.reshape(X.shape[1], 5)
    top = np.max(scores, axis=1, keepdims=True)
    logs = scores - top - np.log(np.sum(np.exp(scores - top), axis=1, keepdims=True))
    return -np.sum(logs[np.arange(len(y)), y]) + 0.5 * np.sum(p**2)


def softmax_data(rng: Any) -> Data:
    X = rng.normal(size=(300, 12))
    return numpy.zeros(60), (X, numpy.argmax(X @ rng.normal(size=(12, 5)), axis=1))


def poisson(np: Any, w: Any, X: Any, counts: Any) -> Any:
    rates = X @ w
    return np.sum(np.exp(rates) - counts * rates)


def poisson_data(rng: Any) -> Data:
    X = rng.normal(size=(300, 10)) / 4
    return numpy.zeros(10), (X, rng.poisson(numpy.exp(X @ rng.normal(size=10))).astype(float))


def robust(np: Any, w: Any, X: Any, y: Any) -> Any:
    return np.sum(np.sqrt(1 + (X @ w - y) ** 2) - 1)


def robust_data(rng: Any) -> Data:
    X = rng.normal(size=(300, 20))
    return numpy.zeros(20), (X, X @ rng.normal(size=20) + rng.standard_t(2, size=300))


def completion(np: Any, p: Any, rows: Any, columns: Any, values: Any) -> Any:
    U, V = p[:90].reshape(30, 3), p[90:].reshape(20, 3)
    return np.sum((np.sum(U[rows] * V[columns], axis=1) - values) ** 2) + 0.1 * np.sum(p**2)


def completion_data(rng: Any) -> Data:
    U, V = rng.normal(size=(30, 3)), rng.normal(size=(20, 3))
    rows, columns = rng.integers(0, 30, 250), rng.integers(0, 20, 250)
    return rng.normal(size=150) / 2, (rows, columns, numpy.sum(U[rows] * V[columns], axis=1))


def perceptron(np: Any, p: Any, x: Any, y: Any) -> Any:
    first, offsets, second = p[:16].reshape(2, 8), p[16:24], p[24:32]
    return np.mean((np.tanh(x @ first + offsets) @ second - y) ** 2) + 1e-3 * np.sum(p**2)


def perceptron_data(rng: Any) -> Data:
    x = rng.uniform(-2, 2, size=(200, 2))
    return rng.normal(size=32), (x, numpy.sin(x[:, 0]) * x[:, 1])


def kernel(np: Any, p: Any, x: Any, y: Any) -> Any:
    """The negative log likelihood of a Gaussian process by its three parameters, in the logs."""
    size, width, noise = np.exp(p[0]), np.exp(p[1]), np.exp(p[2])
    K = size * np.exp(-((x[:, None] - x) ** 2) / (2 * width**2)) + (noise + 1e-6) * np.eye(len(x))
    L = np.linalg.cholesky(K)
    return 0.5 * y @ np.linalg.solve(K, y) + np.sum(np.log(np.diagonal(L))) + 0.05 * np.sum(p**2)


def kernel_data(rng: Any) -> Data:
    x = numpy.sort(rng.uniform(0, 6, 40))
    return numpy.zeros(3), (x, numpy.sin(x) + 0.1 * rng.normal(size=40))


def rosenbrock(np: Any, x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def decay(np: Any, p: Any, t: Any, y: Any) -> Any:
    """Residuals of a sum of two exponentials."""
    return p[0] * np.exp(-p[1] * t) + p[2] * np.exp(-p[3] * t) - y


def decay_data(rng: Any) -> Data:
    t = numpy.linspace(0, 4, 200)
    return numpy.array([1.0, 0.5, 1.0, 3.0]), (t, 2 * numpy.exp(-0.7 * t) + numpy.exp(-4 * t))


def circles(np: Any, p: Any, points: Any, of: Any) -> Any:
    """Residuals of distances from points to the circles that they lie on: centres, then radii."""
    centres, radii = p[:20].reshape(10, 2), p[20:]
    return np.sqrt(np.sum((points - centres[of]) ** 2, axis=1)) - radii[of]


def circles_data(rng: Any) -> Data:
    centres, radii = rng.normal(size=(10, 2)) * 3, rng.uniform(1, 2, 10)
    of, angles = numpy.repeat(numpy.arange(10), 30), rng.uniform(0, 2 * numpy.pi, 300)
    rim = numpy.stack([numpy.cos(angles), numpy.sin(angles)], axis=1)
    points = centres[of] + radii[of, None] * rim + 0.05 * rng.normal(size=(300, 2))
    return numpy.concatenate([(centres + 0.2).ravel(), numpy.ones(10)]), (points, of)


PROBLEMS = (
    Problem("logistic regression", logistic, logistic_data, "Newton-CG"),
    Problem("softmax regression", softmax, softmax_data, "Newton-CG"),
    Problem("robust regression", robust, robust_data, "Newton-CG"),
    Problem("Poisson regression", poisson, poisson_data, "trust-exact"),
    Problem("Gaussian process", kernel, kernel_data, "trust-exact"),
    Problem("Rosenbrock's function", rosenbrock, lambda rng: (numpy.full(20, -0.5), ()), "trust-exact"),
    Problem("matrix completion", completion, completion_data, "BFGS"),
    Problem("perceptron", perceptron, perceptron_data, "BFGS"),
    Problem("two exponentials", decay, decay_data, "least squares"),
    Problem("circles", circles, circles_data, "least squares"),
)
