"""Programs of many kinds, as people write them: the places and values of sparse derivatives, and how many there are.

Each is compared with the whole array at a small size; at a larger one there may be no more entries than the table says,
for each number that the derivative is by.
"""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ricci as rc
from ricci.compiler.lower.builder import Builder
from ricci.compiler.lower.relations import Resolving
from ricci.compiler.plan.program_steps import Form

pytest.importorskip("scipy.sparse", reason="sparse arrays are SciPy's, which is not installed")


def line(n: int) -> np.ndarray:
    return np.linspace(0.5, 1.5, n) + 0.1 * np.sin(np.arange(n))


def square(n: int) -> np.ndarray:
    side = round(n**0.5)
    return line(side * side).reshape(side, side)


def cube(n: int) -> np.ndarray:
    side = round(n ** (1 / 3))
    return line(side**3).reshape(side, side, side)


def by(columns: int):
    return lambda n: line(n // columns * columns).reshape(-1, columns)


def lists(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The ends of edges of a graph with so many nodes."""
    rng = np.random.default_rng(count)
    return rng.integers(0, count, 2 * count), rng.integers(0, count, 2 * count)


# Residuals


def periodic(u):
    return sum(np.roll(u, step, axis) for step in (1, -1) for axis in range(u.ndim)) - 2 * u.ndim * u + np.sin(u)


def laplacian_in_space(u):
    v = np.pad(u, 1)
    c = v[1:-1, 1:-1, 1:-1]
    sides = v[2:, 1:-1, 1:-1] + v[:-2, 1:-1, 1:-1] + v[1:-1, 2:, 1:-1] + v[1:-1, :-2, 1:-1]
    return sides + v[1:-1, 1:-1, 2:] + v[1:-1, 1:-1, :-2] - 6 * c + c**3


def varying_coefficients(u):
    a = 1 + u**2
    down = (a[1:] + a[:-1]) / 2 * (u[1:] - u[:-1])
    along = (a[:, 1:] + a[:, :-1]) / 2 * (u[:, 1:] - u[:, :-1])
    return (down[1:] - down[:-1])[:, 1:-1] + (along[:, 1:] - along[:, :-1])[1:-1]


def upwind(u):
    back, forth = u - np.roll(u, 1), np.roll(u, -1) - u
    return np.where(u > 1.0, u * back, u * forth) + np.maximum(u, 0) * back


def burgers(u):
    v = np.pad(u, 1)
    flux = v**2 / 2
    return (flux[2:] - flux[:-2]) / 2 - 0.1 * (v[2:] - 2 * v[1:-1] + v[:-2])


def slopes(u):
    return u * np.gradient(u) + np.concatenate([u[:1], np.diff(u)])


def reaction_in_a_row(w):
    n = len(w) // 2
    u, v = w[:n], w[n:]
    return np.concatenate([periodic(u) - u * v**2, 0.5 * periodic(v) + u * v**2])


def collocation(z):
    x, u = z[:, :3], z[:, 3:]
    f = np.stack([x[:, 1], x[:, 2] + u[:, 0], np.sin(x[:, 0]) * u[:, 1]], 1)
    return x[1:] - x[:-1] - 0.05 * (f[1:] + f[:-1])


def poses(p):
    i, j = lists(len(p))
    c, s, d = np.cos(p[i, 2]), np.sin(p[i, 2]), p[j, :2] - p[i, :2]
    return np.stack([c * d[:, 0] + s * d[:, 1] - 1, c * d[:, 1] - s * d[:, 0], p[j, 2] - p[i, 2]], 1)


# Objectives


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def wood(x):
    a, b, c, d = x[:-3:2], x[1:-2:2], x[2:-1:2], x[3::2]
    first = 100 * (a**2 - b) ** 2 + (a - 1) ** 2 + 90 * (c**2 - d) ** 2 + (1 - c) ** 2
    return (first + 10 * (b + d - 2) ** 2 + 0.1 * (b - d) ** 2).sum()


def powell(x):
    a, b, c, d = x[0::4], x[1::4], x[2::4], x[3::4]
    return ((a + 10 * b) ** 2 + 5 * (c - d) ** 2 + (b - 2 * c) ** 4 + 10 * (a - d) ** 4).sum()


def spline(c):
    t = np.linspace(0, 0.99, 5)[:, None]
    y = (1 - t) ** 3 * c[:-3] + (3 * t**3 - 6 * t**2 + 4) * c[1:-2] + (-3 * t**3 + 3 * t**2 + 3 * t + 1) * c[2:-1]
    return (np.tanh((y + t**3 * c[3:]) / 6) ** 2).sum()


def variation(u):
    down, along = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
    return np.sqrt(down**2 + along**2 + 1e-3).sum() + ((u - 1) ** 2).sum()


def periodic_variation(u):
    down, along = np.roll(u, -1, 0) - u, np.roll(u, -1, 1) - u
    return np.sqrt(down**2 + along**2 + 1e-3).sum()


def surface(u):
    return np.sqrt(1 + (u[1:, 1:] - u[:-1, :-1]) ** 2 + (u[1:, :-1] - u[:-1, 1:]) ** 2).sum()


def links(p):
    return ((np.sqrt(((p[1:] - p[:-1]) ** 2).sum(1)) - 1) ** 2).sum()


def angles(p):
    a, b = p[:-2] - p[1:-1], p[2:] - p[1:-1]
    return ((a * b).sum(1) / np.sqrt((a**2).sum(1) * (b**2).sum(1))).sum()


def control(z):
    x, u = z[:, :3], z[:, 3:]
    following = x @ np.array([[1, 0.1, 0], [0, 1, 0.1], [0, -0.1, 1]]) + 0.1 * np.sin(u) @ np.eye(2, 3, 1) + 0.1 * x**2
    return ((x[1:] - following[:-1]) ** 2).sum() * 10 + (z**2).sum()


def markov(h):
    return np.log(np.exp(h[1:, :, None] + h[:-1, None, :]).sum((1, 2))).sum() + (h**2).sum()


def springs(x):
    i, j = lists(len(x))
    return ((x[i] - x[j]) ** 4).sum() + (x**2).sum()


def triples(x):
    return (np.lib.stride_tricks.sliding_window_view(1 + x / 10, 3).prod(-1) ** 2).sum()


def pairs(x):
    return (np.stack([x[:-1], 1 + x[1:]]).prod(0) / (1 + x[:-1] ** 2)).sum()


def inverses(p):
    return np.linalg.inv(p.reshape(-1, 2, 2) + 3 * np.eye(2))


def solutions(p):
    return np.linalg.solve(p.reshape(-1, 2, 2) + 3 * np.eye(2), np.ones((len(p), 2, 1)))


JACOBIANS = [
    (periodic, line, 3), (periodic, square, 5), (periodic, cube, 7), (laplacian_in_space, cube, 7),
    (varying_coefficients, square, 5), (upwind, line, 3), (burgers, line, 3), (slopes, line, 3),
    (reaction_in_a_row, line, 4), (collocation, by(5), 6), (poses, by(3), 12),
    (inverses, by(4), 4), (solutions, by(4), 2),
]  # fmt: skip
HESSIANS = [
    (rosenbrock, line, 3), (wood, line, 3), (powell, line, 3), (spline, line, 7), (variation, square, 7),
    (periodic_variation, square, 7), (surface, square, 9), (links, by(2), 6), (angles, by(3), 15), (control, by(5), 15),
    (markov, by(3), 9), (springs, line, 5.1), (triples, line, 5), (pairs, line, 3),
]  # fmt: skip
ALL = [*[(rc.jacobian, *row) for row in JACOBIANS], *[(rc.hessian, *row) for row in HESSIANS]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("derive", "f", "start", "most"), ALL, ids=[f"{f.__name__}-{s(64).ndim}" for _, f, s, _ in ALL]
)
def test_programs(derive, f, start, most):
    x = start(64)
    found = derive(f, sparse=True)(x)
    wanted = np.asarray(derive(f)(x)).reshape(found.shape)
    np.testing.assert_allclose(found.toarray(), wanted, atol=1e-10 * abs(wanted).max())
    x = start(4000)
    assert derive(f, sparse=True)(x).nnz <= most * x.size


MOVES: dict[str, Any] = {
    "slice": lambda u, k: u[k : len(u) - 1],
    "step": lambda u, k: u[k % 2 :: 2],
    "back": lambda u, k: u[::-1],
    "roll": np.roll,
    "pad": lambda u, k: np.pad(u, (k, 1)),
    "gather": lambda u, k: u[np.arange(len(u) + k) * (k + 2) % len(u)],
    "difference": lambda u, k: u[1:] - u[:-1] ** 2,
    "windows": lambda u, k: (u[: len(u) // 2 * 2].reshape(-1, 2) ** 2).sum(1) + u[: len(u) // 2],
    "beside": lambda u, k: np.concatenate([u * 2, u[k:] ** 2]),
    "stacked": lambda u, k: np.stack([u, np.sin(u)], k % 2).reshape(-1),
    "branch": lambda u, k: np.where(np.arange(len(u)) % 3 == k, u, u**3),
    "repeated": lambda u, k: np.repeat(u, k + 1) * 0.5,
}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(MOVES)), st.integers(0, 2)), min_size=1, max_size=4), st.booleans())
def test_random_moves(moves, twice):
    def f(u):
        for name, k in moves:
            u = MOVES[name](u, k)
        return (u**3).sum() if twice else u * u

    derive = rc.hessian if twice else rc.jacobian
    x = line(24)
    found = derive(f, sparse=True)(x)
    wanted = derive(f)(x)
    np.testing.assert_allclose(found.toarray(), wanted, atol=1e-10 * max(1.0, abs(wanted).max(initial=0.0)))


def test_equations_fall_apart_into_digits():
    """Whatever the numbers are, two equations hold where the one does; and reshapes of reshapes are told apart."""
    rng, found = random.Random(0), 0
    for _ in range(400):
        sizes = {x: rng.choice((1, 2, 3, 5)) for x in range(rng.choice((2, 3, 4)))}
        form = Form(tuple([(x, rng.choice((-6, -3, -2, -1, 1, 2, 3, 6))) for x in sizes]), rng.randrange(-9, 10))
        digits = Resolving(Builder(), [], [], [], sizes, ())._digits(form)
        if digits is not None:
            found += 1
            for places in np.ndindex(*sizes.values()):
                one, *others = [f.const + sum(c * places[x] for x, c in f.terms) for f in (form, *digits)]
                assert (one == 0) == (others == [0, 0])
    assert found > 100


def test_products_with_vectors_make_no_matrices():
    """Parts of a vector that are laid side by side, squared and added up, of a size at which masks would be large."""

    def parts(x):
        a, b = x.reshape(-1, 4)[:-1], x.reshape(-1, 4)[1:]
        return np.concatenate([(b[:, :2] - a[:, 2:]).ravel(), (b[:, 2:] + np.sin(a[:, :2])).ravel()])

    for size in (4000, 12_000, 16_000, 20_000):
        x = np.linspace(0.0, 1.0, size)
        c = rc.hessian(lambda x: (parts(x) ** 2).sum(), compressed=True)(x)
        tracemalloc.start()
        product = c @ x
        assert tracemalloc.get_traced_memory()[1] < 100 * x.nbytes
        tracemalloc.stop()
        np.testing.assert_allclose(product, c.sparse() @ x, atol=1e-9)
