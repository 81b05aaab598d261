"""Functions given by equations, beside JAX: ``jax.lax.custom_root`` and ``jax.experimental.ode.odeint`` in ``jax.jit``.

Run it with ``python benchmarks/implicit.py``; ``--only ODE,spring`` picks programs. JAX has no Newton's method of its
own: it is given one in a ``while_loop`` that ends as ours does, and solves with the same Jacobian. *first* is from the
function to the first result, *warm* the fastest of later calls, in milliseconds. Results are compared.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import ricci as rc

KINDS = ("value", "grad", "hessian")
SECONDS = 3.0  # for warm calls, long enough for kernels to be made
CLOSE = 1e-5


class Program(NamedTuple):
    """A loss of parameters: by ricci, and by JAX."""

    name: str
    ours: Callable[[Any], Any]
    theirs: Callable[[Any], Any]
    theta: np.ndarray
    kinds: tuple[str, ...] = KINDS


def jax_root(f: Callable, x0: Any) -> Callable[[Any], Any]:
    """The root by Newton's method, its derivatives by the implicit function theorem."""
    import jax
    import jax.numpy as jnp

    def newton(g: Callable, x: Any) -> Any:
        def further(state: Any) -> Any:
            x, step, count = state
            return (jnp.abs(step).max() > 1e-8 * jnp.abs(x).max()) & (count < 100)

        def advance(state: Any) -> Any:
            x, _, count = state
            step = jnp.linalg.solve(jax.jacfwd(g)(x).reshape(x.size, x.size), g(x).reshape(-1)).reshape(x.shape)
            return x - step, step, count + 1

        return jax.lax.while_loop(further, advance, (x, jnp.ones_like(x), 0))[0]

    def solve(g: Callable, y: Any) -> Any:
        matrix = jax.jacfwd(g)(jnp.zeros_like(y)).reshape(y.size, y.size)
        return jnp.linalg.solve(matrix, y.reshape(-1)).reshape(y.shape)

    return lambda theta: jax.lax.custom_root(lambda x: f(x, theta), x0, newton, solve)


def programs() -> list[Program]:
    """Roots, fixed points, minima and differential equations, small and larger."""
    import jax
    import jax.numpy as jnp
    from jax.experimental.ode import odeint

    rng = np.random.default_rng(0)
    found = []
    for n in (3, 30, 100):
        A = rng.normal(size=(n, n)) / n**0.5 + 3 * np.eye(n)

        def coupled(x, t, A=A, xp=np):
            return A @ x + xp.tanh(x) * t - t

        ours = rc.root(coupled, np.zeros(n))
        theirs = jax_root(lambda x, t, f=coupled: f(x, t, xp=jnp), np.zeros(n))
        square = lambda f: lambda t: (f(t) ** 2).sum()  # noqa: E731
        found.append(Program(f"root of {n} coupled equations", square(ours), square(theirs), rng.uniform(1, 2, n)))
    entries = rc.root(lambda x, t: x**5 + x - t, np.ones(500))
    theirs = jax_root(lambda x, t: x**5 + x - t, np.ones(500))
    kinds = KINDS[:2]
    found.append(Program("500 equations apart", square(entries), square(theirs), rng.uniform(1, 2, 500), kinds))

    X, y, Z, z = rng.normal(size=(50, 8)), rng.normal(size=50), rng.normal(size=(20, 8)), rng.normal(size=20)

    def fit(w, t, xp=np):
        return xp.log1p(xp.exp(-y * (X @ w))).sum() + (xp.exp(t) * w * w).sum()

    def outer(w, xp=np):
        return xp.log1p(xp.exp(-z * (Z @ w))).mean()

    inner = rc.argmin(fit, np.zeros(8))
    theirs = jax_root(jax.grad(lambda w, t: fit(w, t, jnp)), np.zeros(8))
    found.append(
        Program("weights of penalties", lambda t: outer(inner(t)), lambda t: outer(theirs(t), jnp), np.zeros(8))
    )
    ts = np.linspace(0, 5, 20)

    def lorenz(y, t, theta, xp=np):
        a, b, c = theta[0], theta[1], theta[2]
        return xp.stack([a * (y[1] - y[0]), y[0] * (b - y[2]) - y[1], y[0] * y[1] - c * y[2]])

    def net(y, t, w, xp=np):
        inside = xp.tanh(w[:32].reshape(16, 2) @ y)
        return w[32:].reshape(2, 16) @ inside - y

    def spring(y, t, theta, xp=np):
        return xp.stack([y[1], -theta[0] * y[0] - theta[1] * y[1] * abs(y[1])])

    for name, field, y0, theta, kinds in (
        ("Lorenz", lorenz, np.ones(3), np.array([10.0, 20.0, 8 / 3]), KINDS[:2]),
        ("neural ODE", net, np.array([1.0, 0.5]), rng.normal(size=64) / 4, KINDS[:2]),
        ("spring", spring, np.array([1.0, 0.0]), np.array([2.0, 0.1]), KINDS),
    ):
        end = ts[:8] / 2 if name == "Lorenz" else ts
        ours = rc.odeint(field, y0, end)
        jaxs = lambda t, f=field, y0=y0, end=end: odeint(lambda y, s, t: f(y, s, t, jnp), y0, end, t)  # noqa: E731
        found.append(Program(name, square(ours), square(jaxs), theta, kinds))
    return found


def timed(make: Callable[[], Callable], theta: np.ndarray) -> tuple[float, float, Any]:
    """The first call, the fastest of later ones, in milliseconds, and the result."""
    start = time.perf_counter()
    f = make()
    result = np.asarray(f(theta))
    first = best = time.perf_counter() - start
    spent = 0.0
    while spent < SECONDS:
        start = time.perf_counter()
        result = np.asarray(f(theta))
        best = min(best, time.perf_counter() - start)
        spent += max(time.perf_counter() - start, 1e-6)
    return 1e3 * first, 1e3 * best, result


def main() -> None:
    """The table."""
    import jax

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    asked = parser.parse_args().only.split(",")
    jax.config.update("jax_enable_x64", True)
    print(f"{'program':28} {'':8} {'ricci first':>12} {'warm':>9} {'JAX first':>12} {'warm':>9} {'warm, of JAX':>13}")
    for program in programs():
        if not any(word in program.name for word in asked):
            continue
        for kind in program.kinds:
            ours = {"value": rc.compile, "grad": rc.grad, "hessian": rc.hessian}[kind]
            twice = lambda f: jax.jacrev(jax.jacrev(f))  # noqa: E731  (its odeint has no forward mode)
            theirs = {"value": lambda f: f, "grad": jax.grad, "hessian": twice}[kind]
            first, warm, a = timed(lambda: ours(program.ours), program.theta)  # noqa: B023
            jax_first, jax_warm, b = timed(lambda: jax.jit(theirs(program.theirs)), program.theta)  # noqa: B023
            np.testing.assert_allclose(a, b, rtol=CLOSE, atol=CLOSE * np.max(np.abs(b)))
            times = f"{first:12.1f} {warm:9.3f} {jax_first:12.1f} {jax_warm:9.3f} {warm / jax_warm:13.2f}"
            print(f"{program.name:28} {kind:8} {times}", flush=True)


if __name__ == "__main__":
    main()
