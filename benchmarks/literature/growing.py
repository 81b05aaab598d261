"""Classes of programs of which it is known how they grow: each is made for any size, and says what exponents to expect.

What is made of a program has a length (its steps, and the Python calls that it takes to derive and plan them), a size
(the entries of all arrays that it makes, the memory that it takes at once) and a time. A class in which the size is
that of the data has length 0; one in which it is the number of operations has length 1, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import ricci as rc

Made = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Growing:
    """Programs by their size: ``make`` gives the function and its arguments, ``kind`` is what is asked of it."""

    name: str
    kind: str
    make: Callable[[int], Made]
    sizes: Sequence[int]
    length: float = 0.0
    size: float = 1.0
    time: float | None = None  # that of the size, if it is not said

    @property
    def title(self) -> str:
        return f"{self.name}, {self.kind}"


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng([7, *shape]).normal(size=shape)


def several(name: str, kinds: str, make: Callable[[int], Made], sizes: Sequence[int], *exponents: float) -> list:
    return [Growing(name, kind, make, sizes, *exponents) for kind in kinds.split()]


# Flat vectors


def product_of_halves(n: int) -> Made:
    return lambda p: np.sum(np.tanh(p[: 3 * n].reshape(n, 3) @ p[3 * n :].reshape(3, n))), (draw(6 * n),)


def flat_cp(n: int) -> Made:
    def loss(p: Any, T: Any) -> Any:
        A, B, C = p[: 2 * n].reshape(n, 2), p[2 * n : 4 * n].reshape(n, 2), p[4 * n :].reshape(n, 2)
        return np.sum((T - np.einsum("ir,jr,kr->ijk", A, B, C)) ** 2)

    return loss, (draw(6 * n), draw(n, n, n))


def flat_layers(n: int) -> Made:
    def loss(p: Any, x: Any) -> Any:
        for k in range(3):
            start = k * (n * n + n)
            weights = p[start : start + n * n].reshape(n, n) / n
            x = np.tanh(x @ weights + p[start + n * n : start + n * n + n])
        return np.sum(x**2)

    return loss, (draw(3 * (n * n + n)), draw(5, n))


def many_parts(n: int) -> Made:
    def loss(p: Any) -> Any:
        total = 0.0
        for k in range(n):
            part = p[4 * k : 4 * k + 4].reshape(2, 2)
            total = total + np.sum(np.sin(part @ part))
        return total

    return loss, (draw(4 * n),)


def strided_parts(n: int) -> Made:
    return lambda p: np.sum(np.sin(p[::2]) * np.exp(p[1::2]) * p[::-1][: n // 2]), (draw(n),)


FLAT = [
    *several("product of two halves", "grad hvp", product_of_halves, (40, 80, 160, 320), 0, 2),
    *several("CP of a flat vector", "grad hvp", flat_cp, (10, 16, 26, 42), 0, 3),
    *several("layers of a flat vector", "grad hvp", flat_layers, (10, 20, 40, 80), 0, 2),
    *several("many parts of a vector", "grad hvp", many_parts, (4, 8, 16, 32), 1, 1),
    *several("strided parts of a vector", "grad hvp", strided_parts, (400, 1600, 6400, 25600)),
]


# Gathers and scatters

GATHERS = (500, 2000, 8000, 32000)


def places(n: int, below: int) -> np.ndarray:
    return np.random.default_rng([3, n]).integers(0, below, n)


def two_indices(n: int) -> Made:
    i, j = places(n, n // 10), places(n, 8)
    return lambda p: np.sum(np.sin(p.reshape(n // 10, 8)[i, j])), (draw(n // 10 * 8),)


def labels(n: int) -> Made:
    y = places(n, 6)
    return lambda p: np.sum(np.exp(p[np.arange(n), y])), (draw(n, 6),)


def labels_given(n: int) -> Made:
    return lambda p, y: np.sum(np.exp(p[np.arange(p.shape[0]), y])), (draw(n, 6), places(n, 6))


def along_axis(n: int) -> Made:
    y = places(n, 6)[:, None]
    return lambda p: np.sum(np.exp(np.take_along_axis(p, y, 1))), (draw(n, 6),)


def of_joined(n: int) -> Made:
    i = places(n, 2 * n)
    return lambda p: np.sum(np.sin(np.concatenate([p, p**2])[i])), (draw(n),)


def of_padded(n: int) -> Made:
    i = places(n, n + 2)
    return lambda p: np.sum(np.sin(np.pad(p, 1)[i])), (draw(n),)


def of_rolled(n: int) -> Made:
    i = places(n, n)
    return lambda p: np.sum(np.sin(np.roll(p, 3)[i])), (draw(n),)


def of_running_sum(n: int) -> Made:
    i = places(n, n)
    return lambda p: np.sum(np.sin(np.cumsum(p)[i])), (draw(n),)


def upper(n: int) -> Made:
    i, j = np.triu_indices(n)
    return lambda p: np.sum(np.sin((p[:, None] * p)[i, j])), (draw(n),)


def into_triangle(n: int) -> Made:
    i, j = np.tril_indices(n)
    where = np.zeros((n, n), int)
    where[i, j] = np.arange(len(i)) + 1
    return lambda p: np.sum(np.tanh(np.concatenate([np.zeros(1), p])[where] @ np.ones(n))), (draw(len(i)),)


def groups(n: int) -> Made:
    g = places(n, n // 10)
    return lambda c: np.sum(np.exp(c[g])), (draw(n // 10),)


def pairs_of_rows(n: int) -> Made:
    i, j = places(n, n // 10), places(n + 1, n // 10)[:n]
    return lambda c: np.sum(np.sum(c[i] * c[j], axis=1) ** 2), (draw(n // 10, 3),)


def then_product(n: int) -> Made:
    i, weights = places(n, n // 10), draw(8, 4)
    return lambda rows: np.sum(np.tanh(rows[i] @ weights)), (draw(n // 10, 8),)


def neighbours(n: int) -> Made:
    near = np.random.default_rng([5, n]).integers(0, n, (n, 6))

    def energy(x: Any) -> Any:
        squares = np.sum((x[:, None] - x[near]) ** 2, axis=2) + 0.5
        return np.sum(squares**-6 - squares**-3)

    return energy, (draw(n, 3),)


def sparse(n: int) -> Made:
    columns, values = np.random.default_rng([6, n]).integers(0, n, (n, 5)), draw(n, 5)
    return lambda x: np.sum(np.tanh(np.sum(values * x[columns], axis=1))), (draw(n),)


def padded_between(n: int) -> Made:
    i, j = places(n, n), places(n + 1, n)[:n]
    return lambda p: np.sum(np.sin(np.pad(p[i], 1)[j])), (draw(n),)


GATHERED = [
    *several("rows, then a product", "grad hvp", then_product, GATHERS),
    *several("neighbours", "grad hvp", neighbours, GATHERS),
    *several("sparse matrix and vector", "grad hvp", sparse, GATHERS),
    *several("gather, pad, gather", "grad hvp", padded_between, GATHERS),
    *several("p[arange(n), y]", "diagonal", labels, GATHERS),
    *several("reshape, then two indices", "grad hvp", two_indices, GATHERS),
    *several("p[arange(n), y]", "grad hvp", labels, GATHERS),
    *several("p[arange(n), y], y an argument", "grad", labels_given, GATHERS),
    *several("take_along_axis", "grad hvp", along_axis, GATHERS),
    *several("gather of a concatenation", "grad hvp", of_joined, GATHERS),
    *several("gather of a pad", "grad", of_padded, GATHERS),
    *several("gather of a roll", "grad", of_rolled, GATHERS),
    *several("gather of a running sum", "grad", of_running_sum, GATHERS),
    *several("upper triangle of an outer product", "grad", upper, (40, 80, 160, 320), 0, 2),
    *several("vector into a triangle", "grad hvp", into_triangle, (20, 40, 80, 160), 0, 2),
    *several("sum over groups", "grad hvp", groups, GATHERS),
    *several("sum over groups", "hessian", groups, (200, 400, 800, 1600), 0, 2),
    *several("pairs of rows", "grad hvp", pairs_of_rows, GATHERS),
]


# Functions of matrices

MATRICES = (20, 40, 80, 160)


def positive(A: Any) -> Any:
    return A @ A.T + A.shape[0] * np.eye(A.shape[0])


def stack(A: Any) -> Any:
    """Two matrices that are positive definite."""
    return np.stack([positive(A), positive(np.sin(A))])


def of_matrix(function: Callable[[Any], Any]) -> Callable[[int], Made]:
    return lambda n: (function, (draw(n, n) / n**0.5,))


def process(n: int) -> Made:
    x = np.linspace(0, 5, n)
    squares = (x[:, None] - x) ** 2

    def loss(p: Any, y: Any) -> Any:
        K = np.exp(p[0] - squares * np.exp(p[1])) + np.exp(p[2]) * np.eye(n)
        L = np.linalg.cholesky(K)
        z = np.linalg.solve(L, y)
        return 0.5 * np.sum(z**2) + np.sum(np.log(np.diag(L)))

    return loss, (np.array([0.0, 0.0, -1.0]), np.sin(x))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "cholesky": lambda A: np.sum(np.sin(np.linalg.cholesky(positive(A)))),
    "solve": lambda A: np.sum(np.sin(np.linalg.solve(positive(A), A))),
    "inv": lambda A: np.sum(np.sin(np.linalg.inv(positive(A)))),
    "slogdet": lambda A: np.linalg.slogdet(positive(A))[1],
    "eigvalsh": lambda A: np.sum(np.sin(np.linalg.eigvalsh(positive(A)))),
    "eigh": lambda A: np.sum(np.linalg.eigh(positive(A))[1] ** 4),
    "singular values": lambda A: np.sum(np.sin(np.linalg.svd(A, compute_uv=False))),
    "singular vectors": lambda A: np.sum(np.linalg.svd(A[:, ::2], full_matrices=False)[0] ** 4),
    "qr": lambda A: np.sum(np.sin(np.linalg.qr(A)[1])),
    "q of qr": lambda A: np.sum(np.linalg.qr(A[:, ::2])[0] ** 3),
    "pinv": lambda A: np.sum(np.sin(np.linalg.pinv(A[:, ::2]))),
    "det": lambda A: np.linalg.det(A / np.trace(positive(A)) * A.shape[0]) ** 2,
    "matrix power": lambda A: np.sum(np.sin(np.linalg.matrix_power(A, 5))),
    "stack of Cholesky factors": lambda A: np.sum(np.sin(np.linalg.cholesky(stack(A)))),
    "stack of eigenvectors": lambda A: np.sum(np.linalg.eigh(stack(A))[1] ** 4),
}
MATRIX = [
    *[row for name, f in FUNCTIONS.items() for row in several(name, "grad hvp", of_matrix(f), MATRICES, 0, 2, 3)],
    *several("expm", "grad hvp", of_matrix(lambda A: np.sum(np.sin(rc.expm(A)))), (10, 20, 40, 80), 0, 2, 3),
    *several("Gaussian process", "grad hvp hessian", process, MATRICES, 0, 2, 3),
]


# Along an axis


def along(function: Callable[[Any], Any]) -> Callable[[int], Made]:
    return lambda n: (function, (1 + 0.1 * np.tanh(draw(n)),))


ALONG: dict[str, Callable[[Any], Any]] = {
    "sort": lambda x: np.sum(np.sin(np.sort(x)) * np.arange(x.shape[0])),
    "cumprod": lambda x: np.sum(np.sin(np.cumprod(x))),
    "prod": lambda x: np.sin(np.prod(x)),
    "median": lambda x: np.median(x**2),
    "cumsum": lambda x: np.sum(np.sin(np.cumsum(x))),
    "log-sum-exp, the maximum taken out": lambda x: np.max(x) + np.log(np.sum(np.exp(x - np.max(x)))),
    "softmax": lambda x: np.sum((np.exp(x) / np.sum(np.exp(x))) ** 3),
    "standardised": lambda x: np.sum(np.sin((x - np.mean(x)) / np.std(x))),
    "differences": lambda x: np.sum(np.sin(np.diff(x)) ** 2),
    "norm": lambda x: np.sum(np.sin(x / np.sqrt(np.sum(x**2)))),
}
LINE = [row for name, f in ALONG.items() for row in several(name, "grad hvp", along(f), (200, 400, 800, 1600))]


# Long programs


def sweeps(n: int) -> Made:
    def loss(x: Any) -> Any:
        for _ in range(n):
            x = x + 0.1 * (np.roll(x, 1) - 2 * x + np.roll(x, -1))
        return np.sum(x**3)

    return loss, (draw(30),)


def sweeps_between(n: int) -> Made:
    def loss(x: Any) -> Any:
        for _ in range(n):
            x = x + 0.1 * np.sin(np.roll(x, 1) * x)
        return np.sum(x**2)

    return loss, (draw(30),)


def inner_differences(n: int) -> Made:
    def loss(x: Any) -> Any:
        for _ in range(n):
            middle = x[1:-1] + 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2])
            x = np.concatenate([x[:1], middle, x[-1:]])
        return np.sum(x**2)

    return loss, (draw(30),)


def nested(n: int) -> Made:
    def loss(y: Any) -> Any:
        for _ in range(n):
            y = y * y + 0.1 * y
        return np.sum(y)

    return loss, (0.3 * np.tanh(draw(5)),)


def logistic_map(n: int) -> Made:
    def loss(x: Any) -> Any:
        for _ in range(n):
            x = 3.6 * x * (1 - x)
        return np.sum(x)

    return loss, (0.5 + 0.1 * np.tanh(draw(4)),)


def small_operations(n: int) -> Made:
    def loss(x: Any) -> Any:
        y = x
        for k in range(n):
            y = np.tanh(y * x + 0.1 * k) / (1 + y**2)
        return np.sum(y)

    return loss, (draw(6),)


def recurrence(n: int) -> Made:
    def loss(W: Any, h: Any) -> Any:
        for _ in range(n):
            h = np.tanh(W @ h)
        return np.sum(h**2)

    return loss, (draw(4, 4), draw(4))


def choices(n: int) -> Made:
    def loss(x: Any) -> Any:
        for _ in range(n):
            x = np.where(x > 0, 0.9 * x, -1.1 * x) + 0.1
        return np.sum(x)

    return loss, (draw(5),)


def single_entries(n: int) -> Made:
    """Numbers taken out of a vector one by one, as in code that was translated from loops."""

    def loss(p: Any) -> Any:
        total = 0.0
        for k in range(n - 1):
            total = total + 100 * (p[k + 1] - p[k] ** 2) ** 2 + (1 - p[k]) ** 2
        return total

    return loss, (draw(n),)


LENGTHS = (5, 10, 20, 40)
LONG = [
    *several("sweeps of a stencil", "value grad hvp", sweeps, LENGTHS, 1, 1),
    *several("sweeps with a function between", "grad hvp", sweeps_between, LENGTHS, 1, 1),
    *several("sweeps of inner differences", "grad hvp", inner_differences, LENGTHS, 1, 1),
    *several("nested polynomial", "value grad hvp", nested, LENGTHS, 1, 1),
    *several("logistic map", "grad hvp", logistic_map, LENGTHS, 1, 1),
    *several("many small operations", "grad hvp", small_operations, LENGTHS, 1, 1),
    *several("recurrence", "grad hvp", recurrence, LENGTHS, 1, 1),
    *several("choices", "grad", choices, LENGTHS, 1, 1),
    *several("single entries", "grad hvp", single_entries, LENGTHS, 1, 1),
]

CLASSES: tuple[Growing, ...] = (*FLAT, *GATHERED, *MATRIX, *LINE, *LONG)
