"""How long the first gradient of a Python function takes, stage by stage, beside autograd's and ``jax.jit``'s.

Run it with ``python benchmarks/first_gradients.py``; ``--only mlp,gmm`` picks programs, ``--peers autograd`` peers. All
in one process, after everything is imported and one other program has been through; before each repeat a new function
object is made, our caches are emptied and what is left of expressions is freed, so that nothing is found done. The
figures are the best of the repeats, the stages those of the best one. *calls* are those of Python functions that a
first gradient makes, which no other load disturbs. The aim is at most five times autograd's first gradient.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import harness
from harness import CLOCK
from libraries import LIBRARIES, OURS, OWN, Library
from literature import PROGRAMS
from literature.corpus import Case
from literature.counting import calls_of
from literature.ordinary import ORDINARY
from report import machine
from rows_of_programs import MOST_FIRST, mean

from ricci.compiler import pipeline
from ricci.transforms import deriving, transformed

STAGES = (
    ("trace", transformed, "observed"),
    ("simplify", deriving, "stable"),
    ("derive", deriving, "pullbacks"),
    ("prepare", transformed, "prepare"),
    ("bind", pipeline, "bind"),
    ("lower", pipeline, "lower"),
    ("plan", pipeline, "plan"),
    ("emit", pipeline, "emit"),
    ("run", pipeline, "run"),
)


def main() -> int:
    chosen = options().parse_args()
    print(f"First gradients, milliseconds\n{machine()}\n{harness.THREADS} thread(s), pinned; best of the repeats")
    heads = "".join([f"{name:>9}" for name, _, _ in STAGES])
    peers = "".join([f"{name:>10}" for name in chosen.peers])
    print(f"{'':<28}{heads}{'rest':>7}{'ricci':>8}{'median':>8}{'calls':>9}{peers}{'ratio':>7}")
    ours = OWN[OURS]()
    libraries = [LIBRARIES[name]() for name in chosen.peers]
    warm = ORDINARY[0].case()
    for library in (ours, *libraries):
        first(library, warm)
    ratios = []
    for program in (*ORDINARY, *PROGRAMS):
        if "grad" in program.kinds and (not chosen.only or program.name in chosen.only):
            ratios += row(program.case(None if chosen.small else program.sizes[0]), chosen.repeats, ours, libraries)
    print(f"\ngeometric mean of the ratios {mean(ratios) or 0:.1f}; {sum(r > MOST_FIRST for r in ratios)} above 5")
    return 0


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words = lambda text: [word for word in text.split(",") if word]  # noqa: E731
    parser.add_argument("--only", type=words, default=[], help="programs, comma-separated")
    parser.add_argument("--peers", type=words, default=["autograd", "jax.jit"], help="the first is what we are held to")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    return parser


def row(case: Case, repeats: int, ours: Library, libraries: list[Library]) -> list[float]:
    """Print a line; what ours is in that of the first peer."""
    samples = []
    for _ in range(repeats):
        with staged() as stages:
            samples.append((first(ours, case), dict(stages)))
    best, stages = min(samples, key=lambda sample: sample[0])
    times = [min([first(library, case) for _ in range(repeats)]) for library in libraries]
    cells = "".join([f"{1e3 * stages.get(name, 0):9.2f}" for name, _, _ in STAGES])
    rest = best - sum(stages.values())
    peers = "".join([f"{1e3 * seconds:10.2f}" for seconds in times])
    middle = median([seconds for seconds, _ in samples])
    ratio = best / times[0] if times else 0.0
    print(
        f"{case.title:<28}{cells}{1e3 * rest:7.2f}{1e3 * best:8.2f}{1e3 * middle:8.2f}{counted(ours, case):9}"
        f"{peers}{ratio:7.1f}",
        flush=True,
    )
    return [ratio] if times else []


def first(library: Library, case: Case) -> float:
    """Seconds of the first gradient, with nothing left of earlier ones."""
    library.settle()
    arguments = library.arguments(case, "grad")
    gc.disable()
    try:
        start = CLOCK()
        library.call(case, "grad", arguments)()
        return CLOCK() - start
    finally:
        gc.enable()


def counted(library: Library, case: Case) -> int:
    """The calls of Python functions that a first gradient makes."""
    library.settle()
    return calls_of(library.call(case, "grad", library.arguments(case, "grad")))


@contextmanager
def staged() -> Iterator[dict[str, float]]:
    """Seconds of each stage, by its name; time of a stage inside another is not counted twice."""
    found: dict[str, float] = {}
    inside = [0.0]
    before = [(owner, name, getattr(owner, name)) for _, owner, name in STAGES]

    def timed(stage: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            inside.append(0.0)
            start = CLOCK()
            try:
                return function(*args, **kwargs)
            finally:
                taken = CLOCK() - start
                found[stage] = found.get(stage, 0.0) + taken - inside.pop()
                inside[-1] += taken

        return call

    for (stage, owner, name), (_, _, function) in zip(STAGES, before, strict=True):
        setattr(owner, name, timed(stage, function))
    try:
        yield found
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


if __name__ == "__main__":
    sys.exit(main())
