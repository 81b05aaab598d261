"""A run in blocks on arrays of NumPy, or on files that look like them: read, computed, joined, written, forgotten.

BlockOptions are computed in order, or by several threads where no library has threads of its own, and always joined in
order, so a run gives the same numbers each time. What is known so far can be kept in a file, from which a later call
goes on. A block of a result is written when all of the block is computed.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ricci.compiler.blocks.block_inputs import Pages, whole
from ricci.compiler.blocks.joining import Parts
from ricci.compiler.blocks.keeping import Kept
from ricci.compiler.blocks.schedule import BlockPass, Schedule

AHEAD = 2  # blocks for each thread that are computed and not joined yet
EVERY = 0.2  # seconds from one line of progress to the next
CALLS = ("dot", "call")  # steps for which libraries may have threads of their own
LIMITS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
Told = Callable[[int, int], Any]  # of blocks that are done, and of all


@dataclass
class BlockRun:
    """One run. ``values`` are the inputs, ``out`` where results go, by their positions."""

    schedule: Schedule
    values: dict[str, Any]
    out: dict[int, Any]
    told: Told
    threads: int
    kept: Kept | None = None

    def __call__(self) -> list[Any]:
        """All results, in their order."""
        bounds, done = self.schedule.bounds(), 0
        begin = 0 if self.kept is None else self.kept.passes
        if self.kept is not None:
            self.values.update(self.kept.totals)
        for number, one in enumerate(self.schedule.passes):
            if number >= begin:
                self._pass(number, one, bounds, number * len(bounds))
            done += len(bounds)
            self.told(done, len(bounds) * len(self.schedule.passes))
        found = dict(self.out)
        last = self.schedule.last
        if last is not None:
            given = {name: whole(self.values[name]) for name in last.inputs}
            for position, value in zip(self.schedule.last_at, last(**given), strict=True):
                if position in found:
                    found[position][...] = value
                else:
                    found[position] = value
        if self.kept is not None:
            self.kept.finished()
        return [found[k] for k in sorted(found)]

    def _pass(self, number: int, one: BlockPass, bounds: Sequence[tuple[int, int]], before: int) -> None:
        values, most = one.ready(self.values), len(bounds) * len(self.schedule.passes)
        joined: list[Parts] | None = None
        first = 0
        if self.kept is not None and self.kept.passes == number:
            _, first, joined = self.kept.state
        try:
            for at, (parts, blocks) in enumerate(self._computed(one, values, bounds[first:]), first):
                self._write(one, blocks, *bounds[at])
                joined = parts if joined is None else joined_parts(one, joined, parts, own=self.kept is None)
                if self.kept is not None:
                    self.kept.note(number, at + 1, joined)
                    if self.kept.due():
                        self.kept.save(self.out.values())
                self.told(before + at + 1, most)
        except BaseException:
            if self.kept is not None:
                self.kept.save(self.out.values())
            raise
        for (name, rule, _), parts in zip(one.rules, joined or [], strict=True):
            self.values[name] = rule.total(parts)
        if self.kept is not None:
            self.kept.ended(number, {name: self.values[name] for name, _, _ in one.rules})

    def _write(self, one: BlockPass, blocks: Sequence[Any], start: int, stop: int) -> None:
        for (position, axes), value in zip(one.written, blocks, strict=True):
            place = tuple([slice(start, stop) if k in axes else slice(None) for k in range(max(axes) + 1)])
            self.out[position][place] = value
            if (pages := Pages.of(self.out[position])) is not None:
                pages.leave(self.out[position][place])

    def _computed(
        self, one: BlockPass, values: Mapping[str, Any], bounds: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[list[Parts], list[Any]]]:
        """What each block gives, in their order."""

        def compute(start: int, stop: int) -> tuple[list[Parts], list[Any]]:
            found = one(one.slices(values, start, stop), start)
            one.forget(values, start, stop)
            return found

        if self.threads < 2 or len(bounds) < 2:
            for start, stop in bounds:
                yield compute(start, stop)
            return
        with ThreadPoolExecutor(self.threads, thread_name_prefix="ricci-blocks") as pool:
            waiting: deque[Future] = deque()
            rest = iter(bounds)
            try:
                for start, stop in rest:
                    waiting.append(pool.submit(compute, start, stop))
                    if len(waiting) >= AHEAD * self.threads:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def joined_parts(one: BlockPass, a: Sequence[Parts], b: Sequence[Parts], own: bool = True) -> list[Parts]:
    """What two neighbouring blocks gave together."""
    return [rule.join(x, y, own) for (_, rule, _), x, y in zip(one.rules, a, b, strict=True)]


def threads_for(schedule: Schedule) -> int:
    """How many threads may compute blocks: one where a library may take all processors for each block by itself."""
    steps = [step for one in schedule.passes for step in one.plan.program.steps]
    if any(step.op in CALLS for step in steps) and not any(os.environ.get(name) == "1" for name in LIMITS):
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# Progress


@contextmanager
def telling(progress: Any, what: str) -> Iterator[Told]:
    """Tells how far a run is: to a function, or in a bar of tqdm's or rich's, or in lines where neither is there."""
    if not progress:
        yield lambda done, whole: None
    elif callable(progress):
        yield progress
    else:
        with _bar()(what) as told:
            yield told


def _bar() -> Callable[[str], Any]:
    from importlib.util import find_spec

    return next((bar for name, bar in (("tqdm", _tqdm), ("rich", _rich)) if find_spec(name)), _lines)


@contextmanager
def _tqdm(what: str) -> Iterator[Told]:
    from tqdm import tqdm

    with tqdm(desc=what, unit="block") as bar:

        def told(done: int, whole: int) -> None:
            bar.total = whole
            bar.update(done - bar.n)

        yield told


@contextmanager
def _rich(what: str) -> Iterator[Told]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)


@contextmanager
def _lines(what: str) -> Iterator[Told]:
    last = [time.monotonic()]

    def told(done: int, whole: int) -> None:
        now = time.monotonic()
        if done == whole or now - last[0] > EVERY:
            last[0] = now
            print(f"\r{what}: {done:,} of {whole:,} blocks", end="", file=sys.stderr, flush=True)

    yield told
    print(file=sys.stderr)
