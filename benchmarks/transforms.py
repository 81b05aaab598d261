"""Derivatives of NumPy functions: ``rc.grad``, ``rc.hessian``, ``rc.jacobian`` and ``rc.hvp`` beside their peers.

Run it with ``python benchmarks/transforms.py``; ``harness.py`` says how it measures. The functions are those of the
compiler's benchmarks as NumPy code (``numpy_functions.py``), in float64, for autograd, ``jax.jit`` and ``torch.func``.
*First call* is from the function to the first result: tracing, deriving, compiling, and running once, with nothing
left from before. *Warm* is every later call. Then there are functions so small that the call is what counts, beside
the program alone that it runs; and forward and backward through 1,000 operations on numbers, one after the other, with
eager tensors.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from math import exp, log
from typing import Any

import harness
import numpy as np
from harness import Bench, Call, Contender, LeftOutError
from numpy_functions import PEERS, Library, Work, ricci_library, works
from report import BARE, Target, times, versions

import ricci as rc

OURS = "ricci"
ALONE = f"{OURS}, {BARE}"
TARGETS = [Target(OURS, "beyond", 10e-6, ALONE, lambda facts: facts["when"] == "call")]
ROUNDS = 250  # of four operations each


def leaves(result: Any) -> list[np.ndarray]:
    """The arrays of a result, in lists, tuples and dictionaries."""
    if isinstance(result, dict):
        return leaves([result[name] for name in sorted(result)])
    if isinstance(result, (list, tuple)):
        return [array for part in result for array in leaves(part)]
    return [np.asarray(result)]


def contenders(make: Callable[[Library], Call], afresh: Call | None = None) -> list[Contender]:
    """ricci and its peers; one that is not installed is named and left out."""
    libraries = {OURS: ricci_library, **PEERS}
    return [
        Contender(name, installed(lambda library=library: make(library())), leaves, afresh)
        for name, library in libraries.items()
    ]


def installed(make: Callable[[], Call]) -> Callable[[], Call]:
    """``make``, where what it imports is there; else the contender is named and left out."""

    def start() -> Call:
        try:
            return make()
        except ImportError:
            raise LeftOutError("not installed") from None

    return start


# Functions of some size.


def _first(work: Work) -> Callable[[Library], Call]:
    def make(library: Library) -> Call:
        args = library.arguments(work.args)
        return lambda: library.wait(library.derived(work)(*args))

    return make


def _warm(work: Work) -> Callable[[Library], Call]:
    def make(library: Library) -> Call:
        args, function, wait = library.arguments(work.args), library.derived(work), library.wait
        return lambda: wait(function(*args))

    return make


def _forget() -> None:
    rc.cache_clear()
    gc.collect()


def functions(bench: Bench) -> None:
    for work in works(bench.chosen.quick):
        title = f"{work.kind}, {work.title}"
        bench.run(f"{title}, first call", contenders(_first(work), _forget), when="first call")
        bench.run(f"{title}, warm", contenders(_warm(work)), when="warm")


def show_means(bench: Bench) -> None:
    """How many times what ricci takes each peer takes, the geometric mean over the functions."""
    if any(block.facts["when"] == "warm" for block in bench.blocks):
        print("\nTimes of the peers in those of ricci, geometric mean over the functions")
    for when in ("first call", "warm"):
        blocks = [block for block in bench.blocks if block.facts["when"] == when]
        for name in PEERS:
            pairs = [(block.seconds(name), block.seconds(OURS)) for block in blocks]
            ratios = [log(theirs / ours) for theirs, ours in pairs if theirs and ours]
            if ratios:
                print(f"  {when:<12}{name:<14}{times(exp(sum(ratios) / len(ratios))):>8}")


# Functions so small that the call counts.


def _square(m: Any, x: Any) -> Any:
    return x * x


def _squares(m: Any, x: Any) -> Any:
    return (x * x).sum()


def _line(m: Any, params: Any, x: Any) -> Any:
    return ((params["a"] * x + params["b"]) ** 2).sum()


def tiny() -> list[Work]:
    eight = np.arange(8.0)
    return [
        Work("x*x, an array without axes", "grad", _square, (np.array(3.0),)),
        Work("x*x, a float", "grad", _square, (3.0,)),
        Work("sum of squares, a vector of 8", "grad", _squares, (eight,)),
        Work("a line of 8, parameters in a dictionary", "value_and_grad", _line, ({"a": eight, "b": eight + 1}, eight)),
    ]


def _bare(work: Work) -> Call:
    """What ricci runs in the end, with the arguments at hand."""
    function = ricci_library().derived(work)
    arguments = function.arguments(work.args, {})
    program = function.program(arguments)
    program.run(arguments.leaves)
    arrays = [np.asarray(arguments.leaves[place]) for _, place in program.order]
    run = program.compiled.plan.run
    return lambda: run(*arrays)


def overheads(bench: Bench) -> None:
    for work in tiny():
        found = contenders(_warm(work))
        found.insert(1, Contender(ALONE, lambda work=work: _bare(work), leaves))
        bench.run(f"call of {work.kind}, {work.title}", found, when="call")


# Eager tensors: numbers, one operation after the other.


def _chain(x: Any, a: Any, b: Any, c: Any) -> Any:
    for _ in range(ROUNDS):
        x = (x * a + b) * c + b
    return x


START = (0.5, 0.9, 0.3, 1.05)


def _by_leaves(make: Callable[[float], Any], gradient: Callable[[Any], Any] = lambda leaf: leaf.grad) -> Call:
    """Forward and backward through a graph whose leaves hold their gradients."""

    def call() -> list[Any]:
        inputs = [make(value) for value in START]
        _chain(*inputs).backward()
        return [gradient(leaf) for leaf in inputs]

    return call


def _micrograd() -> Call:
    from micrograd.engine import Value

    sys.setrecursionlimit(100_000)  # it goes through the graph by recursion, which 1,000 steps are too deep for
    return _by_leaves(Value)


def _autograd() -> Call:
    from autograd import grad

    gradient = grad(_chain, (0, 1, 2, 3))
    return lambda: gradient(*START)


def _torch() -> Call:
    import torch

    torch.set_num_threads(harness.THREADS)
    return _by_leaves(lambda value: torch.tensor(value, dtype=torch.float64, requires_grad=True))


def eager(bench: Bench) -> None:
    peers = {"micrograd": _micrograd, "autograd": _autograd, "torch": _torch}
    found = [Contender("ricci.Tensor", lambda: _by_leaves(rc.Tensor), leaves)]
    found += [Contender(name, installed(make), leaves) for name, make in peers.items()]
    title = f"eager, forward and backward, {4 * ROUNDS:,} operations on numbers"
    bench.run(title, found, when="eager")
    if bench.wants(title):
        block = bench.blocks[-1]
        rows = [f"{name} {s / (4 * ROUNDS) * 1e6:.2f} µs" for name in block.times if (s := block.seconds(name))]
        print(f"  an operation, both ways: {', '.join(rows)}")


def main() -> int:
    chosen = harness.options((__doc__ or "").splitlines()[0]).parse_args()
    harness.BUDGET = 0.5  # seconds a contender: there are many, and first calls do not get better
    bench = Bench(chosen, "Derivatives of NumPy functions")
    print(versions(("autograd", "micrograd")))
    functions(bench)
    overheads(bench)
    eager(bench)
    show_means(bench)
    return bench.end(TARGETS)


if __name__ == "__main__":
    sys.exit(main())
