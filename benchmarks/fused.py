"""Kernels: what they save on the programs from the literature, what compiling takes, and where they lose.

Run it with ``python benchmarks/fused.py``; ``--only ode,lstm`` picks programs, ``--sizes 1`` the smallest sizes alone,
``--kinds`` what is asked. *plain* is ``fused=False``, *fused* is ``fused=True``; *compile* is what its first call takes
longer, with nothing on disk. The end names the rows in which kernels lose, which by default would go again.
"""

from __future__ import annotations

import os

os.environ["RICCI_CACHE_DIR"] = ""  # before anything is compiled

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import harness
import numpy as np
from literature import BY_NAME, PROGRAMS
from report import duration, machine, times

import ricci as rc

TRANSFORMS = {"value": rc.compile, "grad": rc.grad, "hvp": rc.hvp}


def main() -> None:
    chosen = options().parse_args()
    print(f"Kernels on programs from the literature\n{machine()}\n")
    print(
        f"{'':<44}{'steps':>7}{'kernels':>9}{'NumPy':>10}{'plain':>10}{'fused':>10}{'compile':>10}{'plain/fused':>13}"
    )
    lost = []
    for name, size, kind in wanted(chosen):
        ratio = row(name, size, kind)
        if ratio < 1:
            lost.append((ratio, f"{name} {BY_NAME[name].label(size)}, {kind}"))
    print("\nWhere kernels lose" if lost else "\nKernels lose nowhere.")
    for ratio, title in sorted(lost):
        print(f"{times(ratio):>12}  {title}")


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words = lambda text: [word for word in text.split(",") if word]  # noqa: E731
    parser.add_argument("--only", type=words, default=[p.name for p in PROGRAMS], help="programs, comma-separated")
    parser.add_argument("--sizes", type=int, default=1, help="how many sizes of each, from the smallest")
    parser.add_argument("--kinds", type=words, default=["value", "grad"], help=f"of {', '.join(TRANSFORMS)}")
    return parser


def wanted(chosen: argparse.Namespace) -> Iterator[tuple[str, tuple[int, ...], str]]:
    for name in chosen.only:
        for size in BY_NAME[name].sizes[: chosen.sizes]:
            yield from [(name, size, kind) for kind in chosen.kinds if kind in BY_NAME[name].kinds]


def row(name: str, size: tuple[int, ...], kind: str) -> float:
    """Print a row; the time of plain calls in those of fused ones."""
    case = BY_NAME[name].case(size)
    function = lambda *args: case.function(np, *args)  # noqa: E731
    args = (*case.args, case.direction) if kind == "hvp" else case.args
    first, warm, made = {}, {}, {}
    for fused in (False, True):
        rc.cache_clear()
        made[fused] = TRANSFORMS[kind](function, fused=fused)
        start = time.perf_counter()
        made[fused](*args)
        first[fused] = time.perf_counter() - start
        warm[fused] = best(made[fused], args)
    (program,) = made[True]._programs.all().values()
    runner = program.compiled.runner
    steps, kernels = len(runner.plan.program.steps), len(runner.source.kernels)
    ratio = warm[False] / warm[True] if kernels else 1.0
    shown = [best(function, case.args), warm[False], warm[True], max(first[True] - first[False], 0.0)]
    title = f"{name} {BY_NAME[name].label(size)}, {kind}"
    print(
        f"{title:<44}{steps:>7}{kernels:>9}{''.join([f'{duration(s):>10}' for s in shown])}{times(ratio):>13}",
        flush=True,
    )
    return ratio


def best(call: Callable[..., Any], args: tuple) -> float:
    loops = harness._loops(lambda: call(*args))[0]
    return min(harness._sample(lambda: call(*args), loops)[0] for _ in range(20))


if __name__ == "__main__":
    main()
