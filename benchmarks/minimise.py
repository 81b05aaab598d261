"""SciPy's optimisers from start to end: ten problems with derivatives by ricci and by JAX, in one process.

Run it with ``python benchmarks/minimise.py``. The problems are in ``literature/minima.py``, each written once. *first*
is all that it takes from the function to the minimum: tracing, compiling, and the steps of the optimiser; *again* is
the same from the start once everything is compiled. Both count SciPy's own time. Newton-CG is given products with the
Hessian, trust-exact the Hessian, least squares the Jacobian of the residuals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import CLOCK
from literature.minima import PROBLEMS, Problem
from literature.solving import Solve, least, ricci_solver, solver
from report import duration, machine, times

AGAIN = 3


def jax_solver(problem: Problem) -> Solve:
    import jax

    jax.config.update("jax_enable_x64", True)

    def along(f: Any) -> Any:
        return jax.jit(lambda p, v, *data: jax.jvp(lambda p: jax.grad(f)(p, *data), (p,), (v,))[1])

    def product(f: Any) -> Any:
        made = along(f)
        return lambda p, *rest: made(p, rest[-1], *rest[:-1])

    def jitted(transform: Any) -> Any:
        return lambda f: jax.jit(transform(f))

    return solver(
        problem,
        jax.numpy,
        jitted(jax.value_and_grad),
        product,
        jitted(jax.hessian),
        jitted(jax.jacobian),
        jax.jit,
    )


def measured(make: Callable[[Problem], Solve], problem: Problem) -> tuple[Any, float, float]:
    """The result, and the seconds that it took at first and again."""
    begin = CLOCK()
    solve = make(problem)
    result = solve()
    first = CLOCK() - begin
    again = []
    for _ in range(AGAIN):
        begin = CLOCK()
        solve()
        again.append(CLOCK() - begin)
    return result, first, min(again)


def main() -> int:
    print(f"SciPy's optimisers from start to end\n{machine()}\n")
    print(
        f"{'':<24}{'method':<15}{'ricci: first':>13}{'again':>9}{'JAX: first':>12}{'again':>9}{'first':>8}{'again':>8}"
    )
    ratios = []
    for problem in PROBLEMS:
        ours, first, again = measured(ricci_solver, problem)
        theirs, other_first, other_again = measured(jax_solver, problem)
        if abs(least(ours) - least(theirs)) > 1e-6 * max(1.0, abs(least(theirs))):
            raise SystemExit(f"{problem.name}: {least(ours)} is not {least(theirs)}")
        ratios.append((other_first / first, other_again / again))
        cells = "".join(
            [f"{duration(t):>{w}}" for t, w in zip((first, again, other_first, other_again), (13, 9, 12, 9))]
        )
        print(
            f"{problem.name:<24}{problem.method:<15}{cells}{times(ratios[-1][0]):>8}{times(ratios[-1][1]):>8}",
            flush=True,
        )
    means = [float(np.exp(np.mean(np.log(side)))) for side in zip(*ratios)]
    print(f"\nJAX's time in ours, geometric means: {times(means[0])} at first, {times(means[1])} again")
    print("Where we lose:", ", ".join([p.name for p, (_, r) in zip(PROBLEMS, ratios) if r < 1]) or "nowhere")
    return 0


if __name__ == "__main__":
    sys.exit(main())
