"""Programs that are loops, plainly written and with ``rc.scan``, beside ``jax.lax.scan``, JAX unrolled and autograd.

Run it with ``python benchmarks/loops.py``; ``--only garch,lorenz`` picks programs, ``--steps 100,1000`` lengths,
``--kinds grad`` what is asked, ``--roads plain,scan,jax`` who is. The programs are in ``literature/looping.py``. The
roads are:

=========  ===================================================================================
numpy      the plain loop on arrays, for values
plain      the plain loop, given to ``rc.compile``, ``rc.grad``, ``rc.hessian``
scan       the same with ``rc.scan``
eager      the plain loop on ``rc.Tensor``
jax        ``jax.lax.scan`` in ``jax.jit``
unrolled   the plain loop in ``jax.jit``, up to ``--unrolled`` steps
autograd   the plain loop
=========  ===================================================================================

*first* is from the function to the first result, with nothing left from before; *warm* is a later call, after it is
decided whether there are kernels; *MB* is the most memory that the first call and a later one take beyond what there
was. A road that takes longer than ``--limit`` seconds in a row is ended and named, and is not tried at more steps. All
results of a row are compared. The end has the geometric means beside ``jax.lax.scan``, and says where we lose.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import harness
import numpy as np
from guarded import Guard, Say
from libraries import EAGER, LIBRARIES, OURS, OWN, PLAIN, Library
from literature.looping import LOOP_BY_NAME, LOOPS, Scan
from report import difference, machine
from rows_of_loops import heading, show, summary
from rows_of_programs import Row
from turns import first_call, warm, warm_up

import ricci as rc

SECONDS, GIGABYTES, UNROLLED = 60.0, 8.0, 100
KINDS = ("value", "grad", "hessian")
STEPS = (100, 1000, 10_000)
TOLERANCE = 1e-6  # of the largest entry


@dataclass(frozen=True)
class Road:
    """A library, and the scan that it runs the program by; without one it runs the plain text."""

    library: Callable[[], Library]
    scan: Callable[[], Scan] | None = None
    kinds: tuple[str, ...] = KINDS


def jax_scan() -> Scan:
    import jax

    return jax.lax.scan


def own_scan() -> Scan:
    return getattr(rc, "scan")  # noqa: B009


ROADS = {
    "numpy": Road(OWN[PLAIN], kinds=("value",)),
    "plain": Road(OWN[OURS]),
    "scan": Road(OWN[OURS], own_scan),
    "eager": Road(OWN[EAGER]),
    "jax": Road(LIBRARIES["jax.jit"], jax_scan),
    "unrolled": Road(LIBRARIES["jax.jit"]),
    "autograd": Road(LIBRARIES["autograd"]),
}


def main() -> int:
    chosen = options().parse_args()
    print(f"Loops\n{machine()}\n{harness.THREADS} thread(s), pinned; best of the samples")
    roads = [road for road in chosen.roads if road != "scan" or hasattr(rc, "scan")]
    if roads != chosen.roads:
        print("scan: this ricci has no rc.scan")
    heading(roads)
    guard = Guard(measure, chosen.limit, chosen.memory)
    rows: list[Row] = []
    try:
        for program, steps, kind in wanted(chosen):
            row = Row(program, str(steps), kind)
            fill(row, guard, [r for r in roads if kind in ROADS[r].kinds], ended(rows, program, kind), chosen.unrolled)
            rows.append(row)
            show(row, roads)
    finally:
        guard.close()
        if chosen.json:
            with open(chosen.json, "w") as file:
                json.dump([row.__dict__ for row in rows], file, indent=1)
    summary(rows, roads)
    return 0


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", type=words(LOOP_BY_NAME), default=[loop.name for loop in LOOPS], help="programs")
    parser.add_argument("--steps", type=numbers, default=list(STEPS), help="how many, comma-separated")
    parser.add_argument("--kinds", type=words(KINDS), default=list(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--roads", type=words(ROADS), default=list(ROADS), help=f"of {', '.join(ROADS)}")
    parser.add_argument("--limit", type=float, default=SECONDS, help="seconds that a road may take in a row")
    parser.add_argument("--memory", type=float, default=GIGABYTES, help="GB that a process may take")
    parser.add_argument("--unrolled", type=int, default=UNROLLED, help="the most steps that JAX is given unrolled")
    parser.add_argument("--threads", type=int, default=1, help="cores and threads; 1 measures processor time")
    parser.add_argument("--json", default="", help="a file for all figures")
    return parser


def words(known: Any) -> Callable[[str], list[str]]:
    """Reads names, comma-separated, that are known."""

    def read(text: str) -> list[str]:
        found = [word for word in text.split(",") if word]
        for word in found:
            if word not in known:
                raise argparse.ArgumentTypeError(f"there is no {word!r}; there are {', '.join(known)}")
        return found

    return read


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


def wanted(chosen: argparse.Namespace) -> Iterator[tuple[str, int, str]]:
    for name in chosen.only:
        for steps in sorted(chosen.steps):
            yield from [(name, steps, kind) for kind in chosen.kinds]


def ended(rows: list[Row], program: str, kind: str) -> set[str]:
    """The roads that had to be ended, or left out, at fewer steps."""
    return {road for row in rows if (row.program, row.kind) == (program, kind) for road in row.failed}


def fill(row: Row, guard: Guard, roads: list[str], tired: set[str], unrolled: int) -> None:
    """Measure a row, road by road; all results are compared with the first."""
    reference: list[np.ndarray] = []
    for road in roads:
        if road in tired:
            row.failed[road] = "not tried, as it failed at fewer steps"
            continue
        if road == "unrolled" and int(row.size) > unrolled:
            row.failed[road] = f"not tried at over {unrolled} steps"
            continue
        notes, reason = guard.run((row.program, int(row.size), row.kind, road))
        if reason:
            row.failed[road] = reason
        for what, *rest in notes:
            if what == "broken":
                raise SystemExit(rest[0])
            if what == "result":
                reference = reference or rest[1]
                wrong = differs(road, rest[1], reference)
                row.failed.update({road: wrong} if wrong else {})
            elif what != "begins":
                getattr(row, what)[rest[0]] = rest[1]


def differs(road: str, result: list[np.ndarray], reference: list[np.ndarray]) -> str:
    """In words; nothing if they agree."""
    try:
        difference(road, result, reference, TOLERANCE)
    except AssertionError as error:
        return str(error)
    return ""


# In the other process


def measure(job: tuple[str, int, str, str], say: Say) -> None:
    name, steps, kind, road = job
    way = ROADS[road]

    def case(library: Library) -> Any:
        return LOOP_BY_NAME[name].case(steps, kind, way.scan() if way.scan else None)

    found = first_call(road, way.library, case, kind, say)
    if found is not None:
        call, result = found
        say(("result", road, result))
        warm_up(road, way.library(), call, say)
        warm({road: call}, say)


if __name__ == "__main__":
    sys.exit(main())
