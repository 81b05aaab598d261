"""How long the first result takes: from the text or the Python function to the first array.

Run it with ``python benchmarks/first_result.py``; ``harness.py`` says how it measures. Here: read, derive, simplify,
plan, write the source and call it once. There: ``jax.jit`` traces, differentiates and compiles, and the call. Before
each measurement our caches are emptied, what is left of expressions is freed, and JAX gets a new function object, so
that neither side finds its work done; importing and what is set up once are not counted. The sizes are small, so that
it is not the calls that count. "ricci" chooses the fused tier itself; the other rows say which was asked for.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import einsum
import harness
import jacobians_elimination as jacobians
import peers
from cases import Case, attention, factorisation, layer_norm, logistic, mlp, network
from contenders import NOT_INSTALLED, dense
from functions_elimination import TASKS
from harness import Call, Contender, LeftOutError
from report import Target

import ricci as rc

OURS, SMALL, FUSED, JAX = "ricci", "ricci, compressed", "ricci, fused", "jax.jit"
TARGETS = [Target(OURS, "at most", 1, JAX), Target(SMALL, "at most", 1, JAX)]


class First(NamedTuple):
    """What is built, the inputs by name, and how JAX starts: a new jitted function and its arrays, from its space."""

    title: str
    build: Callable[[], Any]
    values: dict[str, Any]
    jax: Callable[[Any], tuple[Callable[..., Any], list[Any]]]
    options: dict[str, dict[str, Any]]
    apart: Callable[[Any], Any] = lambda result: result


def works(dtype: str) -> Iterator[First]:
    for case in (logistic(200, 100), factorisation(100, 5), factorisation(100, 5, masked=True)):
        yield _hessian(case, dtype)
    for layers in (5, 10):
        for function in ("relu", "tanh"):
            yield _hessian(network(layers, function, 20, 32), dtype)
    for case in (logistic(2000, 1000), mlp(), layer_norm(2048, 768), attention(512, 64)):
        yield _gradient(case, dtype)
    for task in TASKS:
        yield _jacobian(task, dtype)
    for case in einsum.sums():
        if case.small:
            yield _einsum(case, dtype)


def _hessian(case: Case, dtype: str) -> First:
    values = case.values(dtype)
    start = lambda space: (peers.jax_hessian(space, case), peers.jax_arrays(case, values))  # noqa: E731
    options = {OURS: {}, SMALL: {"compressed": True}}
    return First(f"Hessian of {case.name}", case.hessian, values, start, options)


def _gradient(case: Case, dtype: str) -> First:
    values = case.values(dtype)
    start = lambda space: (peers.jax_gradient(space, case), peers.jax_arrays(case, values))  # noqa: E731
    options = {OURS: {}, FUSED: {"fused": True}}
    return First(f"gradient of {case.name}", case.gradient, values, start, options)


def _jacobian(task: Any, dtype: str) -> First:
    values = jacobians.batch_of(task, 512, dtype)

    def start(space: Any) -> tuple[Callable[..., Any], list[Any]]:
        stacked = space.jax.numpy.stack(list(values.values()), 1)
        return jacobians.jax_jacobian(space, task, "jacfwd", stacked=True), [stacked]

    options = {OURS: {}, FUSED: {"fused": True}}
    build = lambda: jacobians.entries(task)  # noqa: E731
    return First(f"Jacobian of {task.name}, batch 512", build, values, start, options, jacobians.apart)


def _einsum(case: einsum.Sum, dtype: str) -> First:
    arrays = einsum.arrays_of(case, dtype)
    named = {f"t{place}": array for place, array in enumerate(arrays)}

    def start(space: Any) -> tuple[Callable[..., Any], list[Any]]:
        function = space.jax.jit(lambda *operands: space.einsum(case.pattern, *operands))
        return function, [space.jax.numpy.asarray(array) for array in arrays]

    return First(f"einsum, {case.name}", lambda: einsum.formula(case.pattern, arrays), named, start, {OURS: {}})


def contenders(work: First) -> list[Contender]:
    found = []
    for name, options in work.options.items():
        arrays = dense if options.get("compressed") else lambda result: result
        found.append(Contender(name, lambda options=options: _ours(work, options), arrays, _forget))
    return [*found, Contender(JAX, lambda: _theirs(work), work.apart, _forget)]


def _ours(work: First, options: dict[str, Any]) -> Call:
    def first() -> Any:
        found = work.build()
        function = rc.compile(found, **options) if isinstance(found, list) else found.compile(**options)
        return function(**work.values)

    return first


def _theirs(work: First) -> Call:
    space = peers.jax_space()
    if space is None:
        raise LeftOutError(NOT_INSTALLED)
    _, arrays = work.jax(space)
    return lambda: space.jax.block_until_ready(work.jax(space)[0](*arrays))


def _forget() -> None:
    rc.cache_clear()
    gc.collect()


def main() -> int:
    chosen = harness.options((__doc__ or "").splitlines()[0]).parse_args()
    bench = harness.Bench(chosen, "Time to the first result")
    for dtype in bench.dtypes if chosen.dtype != "both" else ("float64",):
        for number, work in enumerate(works(dtype)):
            if not chosen.quick or number % 4 == 0:
                bench.run(f"{work.title}, {dtype}", contenders(work), dtype=dtype)
    return bench.end(TARGETS)


if __name__ == "__main__":
    sys.exit(main())
