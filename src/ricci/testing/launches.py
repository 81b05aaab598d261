"""A stand-in for a GPU: records of programs that are run again on the processor, into the memory of the record."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ricci.compiler.run.torch_graphs import Cuda


class StandIn(Cuda):
    """Counts what is recorded and launched; ``faster`` says how the times of program and record compare."""

    def __init__(self, faster: bool = True, failing: bool = False):
        self.faster, self.failing = faster, failing
        self.recorded = self.launched = 0

    def key(self, arrays: Sequence[Any]) -> Any:
        return "processor" if arrays and self.plain(arrays, arrays[0].device) else None

    def record(self, run: Callable[..., Any], arrays: Sequence[Any]) -> tuple[Callable[[], None], Any]:
        if self.failing:
            raise RuntimeError("operation not permitted when stream is capturing")
        self.recorded += 1
        results = run(*arrays)
        places = [weakref.ref(a) for a in arrays]  # the record reads memory, and keeps no tensor

        def replay() -> None:
            self.launched += 1
            again = run(*[place() for place in places])
            for old, new in zip(_listed(results), _listed(again), strict=True):
                old.copy_(new)

        return replay, results

    def stream(self, arrays: Sequence[Any]) -> Any:
        return None

    def memory(self, arrays: Sequence[Any]) -> tuple[int, int]:
        return 0, 1 << 30

    def seconds(self, calls: Sequence[Callable[[], Any]], arrays: Sequence[Any]) -> list[float]:
        for call in calls:
            call()
        return [1.0, 0.5 if self.faster else 1.0]


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple) else [results]
