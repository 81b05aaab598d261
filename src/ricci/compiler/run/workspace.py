"""Memory for what a program makes on the way, kept from one call to the next.

Memory that is new costs a page fault for every few kilobytes, which for arrays of megabytes takes longer than computing
them. So a plan keeps the arrays that are not part of its results. Each call takes a set of them for itself, and gives
it back at the end; a call that finds none, because another thread has it, makes one. All plans together keep at most
:data:`MOST` bytes; the memory of those that were not called for longest goes first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ricci.caches import Pool

MOST = 256 * 1024 * 1024
Arrays = list[np.ndarray]
POOL: Pool[Arrays] = Pool("memory of programs, in bytes", MOST, spare=1)


class Workspace:
    """Arrays of given shapes and types, for one call at a time."""

    def __init__(self, shapes: Sequence[tuple[tuple[int, ...], np.dtype]]):
        self.shapes = list(shapes)
        self.nbytes = sum(math.prod(shape) * dtype.itemsize for shape, dtype in self.shapes)

    def take(self) -> Arrays:
        """Arrays that nobody else has."""
        return POOL.take(self) or [np.empty(shape, dtype) for shape, dtype in self.shapes]

    def give(self, arrays: Arrays) -> None:
        """Arrays that are not needed any more, for the next call."""
        POOL.give(self, arrays)
