"""Loops: differential equations, determinants by minors, optimal transport, fluids, heat, Rosenbrock's function."""

from __future__ import annotations

from typing import Any

import numpy

from literature.corpus import Program
from literature.mixtures import logsumexp


def ode(np: Any, x: Any, times: Any) -> Any:
    """The last component of ``y' = x · (1, y[0], y[1], …)`` after steps of Runge and Kutta of order four."""

    def slope(y: Any) -> Any:
        return x * np.concatenate([np.ones(1), y[:-1]])

    y = 0 * x
    h = times[1] - times[0]
    for _ in range(len(times) - 1):
        a = slope(y)
        b = slope(y + 0.5 * h * a)
        c = slope(y + 0.5 * h * b)
        d = slope(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    return y[-1]


def ode_data(rng: Any, n: int, steps: int) -> tuple:
    return rng.uniform(0.5, 1.5, n), numpy.linspace(0, 1, steps + 1)


def minors(np: Any, A: Any) -> Any:
    """The determinant, along the first row and by recursion."""
    n = A.shape[0]
    if n == 1:
        return A[0, 0]
    total = 0.0
    for j in range(n):
        rest = np.concatenate([A[1:, :j], A[1:, j + 1 :]], axis=1)
        total = total + (-1.0) ** j * A[0, j] * minors(np, rest)
    return total


def sinkhorn(np: Any, x: Any, y: Any) -> Any:
    """The cost of transport between two clouds of points, by rounds in the logs."""
    cost = np.sum((x[:, None, :] - y) ** 2, axis=2) / 0.1
    f, g = np.zeros(x.shape[0]), np.zeros(y.shape[0])
    for _ in range(10):
        f = -logsumexp(np, g - cost) - numpy.log(x.shape[0])
        g = -logsumexp(np, f - cost.T) - numpy.log(y.shape[0])
    return np.sum(np.exp(f[:, None] + g - cost) * cost)


def scaling(np: Any, x: Any, y: Any) -> Any:
    """The same by scaling rows and columns."""
    cost = np.sum((x[:, None, :] - y) ** 2, axis=2)
    K = np.exp(-cost)
    v = np.ones(y.shape[0])
    u = 1 / (K @ v)
    for _ in range(20):
        v = 1 / (u @ K)
        u = 1 / (K @ v)
    return np.sum(u[:, None] * K * v * cost)


def clouds(rng: Any, n: int, m: int) -> tuple:
    return rng.uniform(size=(n, 2)), rng.uniform(size=(m, 2))


# A fluid on a torus: the velocities are made free of sources, then carry themselves and the smoke.


def projected(np: Any, u: Any, v: Any) -> tuple[Any, Any]:
    h = 1 / u.shape[0]
    source = -0.5 * h * (np.roll(u, -1, 0) - np.roll(u, 1, 0) + np.roll(v, -1, 1) - np.roll(v, 1, 1))
    p = 0 * source
    for _ in range(5):
        p = (source + np.roll(p, 1, 0) + np.roll(p, -1, 0) + np.roll(p, 1, 1) + np.roll(p, -1, 1)) / 4
    u = u - 0.5 * (np.roll(p, -1, 0) - np.roll(p, 1, 0)) / h
    v = v - 0.5 * (np.roll(p, -1, 1) - np.roll(p, 1, 1)) / h
    return u, v


def carried(np: Any, f: Any, u: Any, v: Any) -> Any:
    """The field moved along the velocities: read where it came from, between the cells linearly."""
    rows, columns = f.shape
    i = np.arange(rows)[:, None] - u
    j = np.arange(columns)[None, :] - v
    top, left = np.floor(i), np.floor(j)
    down, right = i - top, j - left
    i0, j0 = np.astype(top, int) % rows, np.astype(left, int) % columns
    i1, j1 = (i0 + 1) % rows, (j0 + 1) % columns
    upper = (1 - right) * f[i0, j0] + right * f[i0, j1]
    lower = (1 - right) * f[i1, j0] + right * f[i1, j1]
    return (1 - down) * upper + down * lower


def fluid(np: Any, start: Any, smoke: Any, wanted: Any, steps: int) -> Any:
    n, m = smoke.shape
    u, v = start[: n * m].reshape(n, m), start[n * m :].reshape(n, m)
    for _ in range(steps):
        u, v = carried(np, u, u, v), carried(np, v, u, v)
        u, v = projected(np, u, v)
        smoke = carried(np, smoke, u, v)
    return np.mean((smoke - wanted) ** 2)


def fluid_data(rng: Any, n: int, steps: int) -> tuple:
    return 0.3 * rng.normal(size=2 * n * n), rng.uniform(size=(n, n)), rng.uniform(size=(n, n))


def heat(np: Any, x: Any, wanted: Any, steps: int) -> Any:
    """Heat on a ring whose conductivity depends on it; the squares of what is missing at the end."""
    for _ in range(steps):
        flow = (1 + 0.1 * x**2) * (np.roll(x, -1, 0) - x)
        x = x + 0.2 * (flow - np.roll(flow, 1, 0))
    return np.sum((x - wanted) ** 2)


def heat_data(rng: Any, n: int, steps: int) -> tuple:
    return rng.normal(size=n), rng.normal(size=n)


def rosenbrock(np: Any, x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def steps_of(n: int, steps: int) -> dict:
    return {"steps": steps}


FIRST = ("value", "grad")
PHYSICS = (
    Program("ode", ode, ode_data, "n steps", (20, 3), ((10, 10), (100, 50))),
    Program("minors", minors, lambda rng, n: (rng.normal(size=(n, n)),), "n", (3,), ((4,), (5,)), FIRST),
    Program("sinkhorn", sinkhorn, clouds, "n m", (20, 15), ((20, 20), (200, 150))),
    Program("scaling", scaling, clouds, "n m", (20, 15), ((20, 20), (200, 150))),
    Program("fluid", fluid, fluid_data, "n steps", (12, 1), ((16, 3), (40, 3)), FIRST, steps_of),
    Program("heat", heat, heat_data, "n steps", (30, 3), ((30, 10), (1000, 20)), fixed=steps_of),
    Program(
        "rosenbrock",
        rosenbrock,
        lambda rng, n: (rng.normal(size=n),),
        "n",
        (100,),
        ((10,), (10_000,)),
        ("value", "grad", "hvp"),
    ),
)
