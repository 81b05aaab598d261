"""How the benchmarks measure on a processor. Import it before NumPy: it pins the process and sets thread counts.

By default everything runs on one core, pinned, with one thread in every library, and the figure of record is the
processor time of the process, system time included, which other programs disturb least. With ``--threads 2`` it is two
cores, and wall-clock time, since processor time would add up the threads. Contenders take turns, so that a drift of
the machine hits all of them alike; each sample is a loop long enough for the clock, after a call that is not timed.
Every figure is the best of the samples, with the median beside it. Before anything is timed, all results are compared
with those of the first peer; a difference is an error.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def _asked_threads(arguments: Sequence[str]) -> int:
    for place, argument in enumerate(arguments):
        if argument == "--threads" and place + 1 < len(arguments):
            return int(arguments[place + 1])
        if argument.startswith("--threads="):
            return int(argument.split("=", 1)[1])
    return 1


def _pin(threads: int) -> None:
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # or the idle threads of one library spin against those of the next
    os.environ["JAX_PLATFORMS"] = "cpu"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


THREADS = _asked_threads(sys.argv)
_pin(THREADS)

import numpy as np  # noqa: E402
from report import (  # noqa: E402
    PRODUCT,
    TOLERANCE,
    Block,
    Target,
    Time,
    as_arrays,
    difference,
    duration,
    is_ours,
    machine,
    show_losses,
    show_targets,
)

CLOCK = time.process_time if THREADS == 1 else time.perf_counter
SAMPLE = 4e-3  # seconds that one sample takes at least, by repeating the call
ROUNDS = 15  # samples of one contender at most
BUDGET = 2.0  # seconds that the samples of one contender take, unless one call takes longer
HALF = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2e9  # half of the memory, in GB
TOO_LONG = 60.0  # seconds; a contender whose first calls take longer is left out


Call = Callable[[], Any]


class LeftOutError(Exception):
    """Raised by a contender that cannot be run here, with the reason."""


@dataclass
class Contender:
    """A name, what makes the call that is timed, and how to get arrays from its result (None: it is not checked).

    With ``afresh`` every call counts alone, with nothing before it but ``afresh``, which is not timed.
    """

    name: str
    make: Callable[[], Call]
    arrays: Callable[[Any], Any] | None = lambda result: result
    afresh: Callable[[], Any] | None = None


def options(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--threads", type=int, default=1, help="cores and threads; 1 measures processor time")
    parser.add_argument("--dtype", choices=("float32", "float64", "both"), default="both")
    parser.add_argument("--only", default="", help="run only what has this text in its title")
    parser.add_argument("--without", default="", help="leave out contenders with one of these texts, comma-separated")
    parser.add_argument("--memory", type=float, default=HALF, help="GB that a peer may take for intermediates")
    return parser


class Bench:
    """The blocks of a script: runs the contenders of each, prints it, and in the end the targets and the losses."""

    def __init__(self, chosen: argparse.Namespace, title: str):
        self.chosen = chosen
        self.blocks: list[Block] = []
        self.dtypes = ("float64", "float32") if chosen.dtype == "both" else (chosen.dtype,)
        self.without = [word for word in chosen.without.split(",") if word]
        record = "processor time" if THREADS == 1 else "wall-clock time"
        print(f"{title}\n{machine()}\n{THREADS} thread(s), pinned; {record}, best and median")

    def wants(self, title: str) -> bool:
        return self.chosen.only in title

    def run(self, title: str, contenders: Sequence[Contender], **facts: Any) -> None:
        if not self.wants(title):
            return
        block = Block(title, facts)
        chosen = [c for c in contenders if not any(word in c.name for word in self.without)]
        calls = self._prepare(block, chosen, TOLERANCE[facts.get("dtype", "float64")])
        for name, found in samples(calls, {c.name: c.afresh for c in chosen}).items():
            seconds = sorted(one for one, _ in found)
            block.times[name] = Time(seconds[0], median(seconds), median(faults for _, faults in found))
        block.times = {c.name: block.times[c.name] for c in chosen}
        block.show()
        self.blocks.append(block)
        sys.stdout.flush()

    def _prepare(self, block: Block, chosen: Sequence[Contender], tolerance: float) -> dict[str, Call]:
        """The calls, each made and tried once, and its result compared."""
        calls: dict[str, Call] = {}
        references: dict[bool, list[np.ndarray]] = {}
        worst = 0.0
        for contender in sorted(chosen, key=lambda c: is_ours(c.name)):  # so that it is ours that is found to differ
            try:
                start = time.perf_counter()
                call = contender.make()
                result = call()
                taken = time.perf_counter() - start
            except LeftOutError as reason:
                block.times[contender.name] = Time(left_out=str(reason))
                continue
            if contender.arrays is not None:
                values = as_arrays(contender.arrays(result))
                reference = references.setdefault(PRODUCT in contender.name, values)
                worst = max(worst, difference(contender.name, values, reference, tolerance))
                if is_ours(contender.name) and not all(array.flags.c_contiguous for array in as_arrays(result)):
                    block.facts["strided"] = True
                    block.notes.append(f"{contender.name}: the result is strided, not contiguous")
            if hasattr(result, "todense"):
                block.notes.append(f"{contender.name}: {result.nbytes:,} bytes")
            del result
            if taken > TOO_LONG:
                block.times[contender.name] = Time(left_out=f"took {duration(taken)} for the first call")
                continue
            calls[contender.name] = call
        block.notes.append(f"largest difference between results {worst:.0e}, relative to the largest entry")
        return calls

    def end(self, targets: Sequence[Target] = ()) -> int:
        show_targets(targets, self.blocks)
        show_losses(self.blocks)
        return 0


def samples(calls: dict[str, Call], afresh: dict[str, Call | None]) -> dict[str, list[tuple[float, float]]]:
    """Seconds and page faults per call of contenders that take turns."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    spent = dict.fromkeys(calls, 0.0)
    loops = dict.fromkeys(calls, 1)
    for name, call in calls.items():
        if not afresh[name]:
            loops[name], first, spent[name] = _loops(call)
            found[name] = [first] if spent[name] > BUDGET else []
    gc.collect()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            if found[name] and spent[name] > BUDGET:
                continue
            start = time.perf_counter()
            (afresh[name] or call)()
            found[name].append(_sample(call, loops[name]))
            spent[name] += time.perf_counter() - start
    return found


def _sample(call: Call, loops: int) -> tuple[float, float]:
    gc.disable()
    try:
        faults = _faults()
        start = CLOCK()
        for _ in range(loops):
            call()
        return (CLOCK() - start) / loops, (_faults() - faults) / loops
    finally:
        gc.enable()


def _faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def _loops(call: Call) -> tuple[int, tuple[float, float], float]:
    """How often a call is repeated in one sample, such a sample, and the seconds it took."""
    loops = 1
    while True:
        start = time.perf_counter()
        sample = _sample(call, loops)
        taken = time.perf_counter() - start
        if taken >= SAMPLE:
            return loops, sample, taken
        loops = max(2 * loops, int(loops * SAMPLE / max(taken, 1e-9)) + 1)


@contextmanager
def memory_limit(gigabytes: float) -> Iterator[None]:
    """At most so much memory more than now, for libraries that raise when an allocation fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as line:
        now = int(line.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + int(gigabytes * 1e9), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
