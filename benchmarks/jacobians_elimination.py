"""The Jacobians of the five functions of the literature on vertex elimination, for a batch of inputs.

Run it with ``python benchmarks/jacobians_elimination.py``; ``harness.py`` says how it measures. Every scalar input is a
vector over the batch index b, and every entry of the Jacobian a formula in b; all are compiled together. JAX gives them
from ``vmap`` of ``jacfwd`` or ``jacrev`` under ``jit``, in two layouts: "stacked" takes and gives one array, as is
customary, "separate" takes an array for each input and gives one for each entry, as ricci does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import harness
import numpy as np
import peers
from contenders import NOT_INSTALLED, ours
from functions_elimination import TASKS, Task, jax_namespace
from harness import Contender, LeftOutError
from report import Target

import ricci as rc

FUSED, PLAIN = "ricci, fused", "ricci"
STACKED = tuple(f"jit(vmap({mode})), stacked" for mode in ("jacfwd", "jacrev"))
SEPARATE = tuple(f"jit(vmap({mode})), separate" for mode in ("jacfwd", "jacrev"))
TARGETS = [
    Target(FUSED, "faster by", 2, STACKED),
    Target(FUSED, "faster by", 2, SEPARATE),
]


def entries(task: Task) -> list[rc.Formula]:
    """The entries of the Jacobian, row by row, each a formula in b."""
    inputs = {name: rc.variable(f"{name}[b]") for name in task.inputs}
    found = []
    for output in task.function(rc, *inputs.values()):
        used = [name for name in inputs if name in output.variables]
        row = dict(zip(used, output.sum("b").diff_all(*used), strict=True))
        found += [row.get(name, 0 * x) for name, x in inputs.items()]
    return found


def batch_of(task: Task, batch: int, dtype: str) -> dict[str, np.ndarray]:
    """Inputs near the place where the function is usually evaluated."""
    rng = np.random.default_rng(0)
    places = zip(task.inputs, task.point, strict=True)
    return {name: (at * (1 + 0.05 * rng.random(batch))).astype(dtype) for name, at in places}


def jax_jacobian(space: Any, task: Task, mode: str, stacked: bool) -> Callable[..., Any]:
    jax, names = space.jax, jax_namespace()
    derive = getattr(jax, mode)
    if stacked:
        return jax.jit(jax.vmap(derive(lambda x: jax.numpy.stack(task.function(names, *x)))))
    places = tuple(range(len(task.inputs)))
    return jax.jit(jax.vmap(derive(lambda *x: task.function(names, *x), argnums=places)))


def by_jax(name: str, task: Task, values: dict[str, np.ndarray], mode: str, stacked: bool) -> Contender:
    def make() -> Callable[[], Any]:
        space = peers.jax_space()
        if space is None:
            raise LeftOutError(NOT_INSTALLED)
        arrays = [space.jax.numpy.asarray(value) for value in values.values()]
        arrays = [space.jax.numpy.stack(arrays, 1)] if stacked else arrays
        return peers.jax_call(space, jax_jacobian(space, task, mode, stacked), arrays)

    return Contender(name, make, apart if stacked else lambda result: result)


def apart(result: Any) -> list[np.ndarray]:
    """The entries of a stacked Jacobian, row by row."""
    return list(np.asarray(result).transpose(1, 2, 0).reshape(-1, len(result)))


def main() -> int:
    chosen = harness.options((__doc__ or "").splitlines()[0]).parse_args()
    bench = harness.Bench(chosen, "Jacobians of the five elimination functions")
    for task in TASKS:
        for batch in (64,) if chosen.quick else (512, 65536):
            for dtype in bench.dtypes:
                _block(bench, task, batch, dtype)
    return bench.end(TARGETS)


def _block(bench: harness.Bench, task: Task, batch: int, dtype: str) -> None:
    values = batch_of(task, batch, dtype)
    contenders = [
        ours(FUSED, lambda: entries(task), values, fused=True),
        ours(PLAIN, lambda: entries(task), values, fused=False),
    ]
    for names, stacked in ((STACKED, True), (SEPARATE, False)):
        for name, mode in zip(names, ("jacfwd", "jacrev"), strict=True):
            contenders.append(by_jax(name, task, values, mode, stacked))
    bench.run(f"{task.name}, batch {batch}, {dtype}", contenders, batch=batch, dtype=dtype)


if __name__ == "__main__":
    sys.exit(main())
