"""How time and memory grow: classes of programs at four sizes, the exponents found beside those expected.

Run it with ``python benchmarks/growth.py``; ``--only`` picks classes by words of their titles. The classes are in
``literature/growing.py``. For each size there are: the *steps* of the plan, the Python *calls* that the first result
took, the *entries* of all that the plan makes, the *memory* that a call takes at most, and the *time* of a warm call.
An exponent is the slope of a line through the logarithms at the last three sizes, where fixed costs count least; one
that is more than 0.35 beyond what is expected is marked. A size that takes too long or too much is ended, and said so.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tracemalloc
from collections.abc import Sequence
from math import log

import harness
import numpy as np
from guarded import Guard, Say
from literature.counting import TRANSFORMS, calls_of, counted, plan_of
from literature.growing import CLASSES, Growing
from report import duration, machine

import ricci as rc
from ricci.compiler.run import workspace

SECONDS, GIGABYTES = 20.0, 4.0
SLACK = 0.35  # beyond what is expected before it is marked
NOISE = {"steps": 1, "calls": 20_000, "entries": 1000, "memory": 300_000, "time": 50e-6}  # below it nothing grows
FIGURES = tuple(NOISE)
BY_TITLE = {one.title: one for one in CLASSES}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="classes with this text in their title")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that one size may take")
    parser.add_argument("--memory", type=float, default=GIGABYTES, help="GB that a process may take")
    chosen = parser.parse_args()
    print(f"Growth\n{machine()}\nexponents found, and those expected in brackets; ! marks more than {SLACK} beyond\n")
    print(f"{'':<44}{'sizes':>22}" + "".join([f"{name:>14}" for name in FIGURES]) + f"{'the last: time':>16}{'MB':>8}")
    guard, marked = Guard(measure, chosen.seconds, chosen.memory), 0
    try:
        for one in CLASSES:
            if chosen.only in one.title:
                marked += row(guard, one)
    finally:
        guard.close()
    print(f"\n{marked} classes grow faster than expected")
    return 0


def row(guard: Guard, one: Growing) -> bool:
    """Measure a class and print its line; whether something grows too fast."""
    found: list[tuple[int, dict[str, float]]] = []
    failure = ""
    for size in one.sizes:
        notes, reason = guard.run((one.title, size))
        if reason or not isinstance(notes[0], dict):
            failure = f"size {size}: {reason or notes[0][1].splitlines()[-1]}"
            break
        found.append((size, notes[0]))
    expected = {"steps": one.length, "calls": one.length, "entries": one.size, "memory": one.size}
    expected["time"] = one.size if one.time is None else one.time
    cells, bad = [], bool(failure)
    for name in FIGURES:
        slope = exponent([(size, figures[name]) for size, figures in found], NOISE[name])
        beyond = slope is not None and slope > expected[name] + SLACK
        bad |= beyond
        text = "-" if slope is None else f"{slope:.2f}"
        cells.append(f"{text} ({expected[name]:g}){'!' if beyond else ' '}")
    last = found[-1][1] if found else {"time": 0.0, "memory": 0.0}
    sizes = ", ".join([str(size) for size in one.sizes])
    line = f"{one.title:<44.44}{sizes:>22}" + "".join([f"{cell:>14}" for cell in cells])
    print(f"{line}{duration(last['time']):>16}{last['memory'] / 1e6:>8.1f}  {failure}", flush=True)
    return bad


def exponent(points: Sequence[tuple[int, float]], noise: float) -> float | None:
    """The slope of the logarithms at the last three sizes; none for fewer than two. What is below the noise is it."""
    points = points[-3:]
    if len(points) < 2:
        return None
    x = np.array([log(size) for size, _ in points])
    y = np.array([log(max(figure, noise)) for _, figure in points])
    return float(np.polyfit(x, y, 1)[0])


# In the other process


def measure(job: tuple[str, int], say: Say) -> None:
    title, size = job
    one = BY_TITLE[title]
    function, args = one.make(size)
    if one.kind == "hvp":
        args = (*args, np.ones_like(args[0]))
    rc.cache_clear()
    made = []
    calls = calls_of(lambda: made.append(plan_of(one.kind, function, args)[0]))
    count = counted(made[0].program)
    transformed = TRANSFORMS[one.kind](function)
    transformed(*args)
    workspace.POOL.clear()
    gc.collect()
    tracemalloc.start()
    transformed(*args)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    loops, (seconds, _), _ = harness._loops(lambda: transformed(*args))
    best, until = seconds, time.perf_counter() + 0.15
    while time.perf_counter() < until:
        best = min(best, harness._sample(lambda: transformed(*args), loops)[0])
    say({"steps": count.steps, "calls": calls, "entries": count.entries, "memory": memory, "time": best})


if __name__ == "__main__":
    sys.exit(main())
