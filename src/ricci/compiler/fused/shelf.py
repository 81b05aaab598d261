"""Memory of results, used again once nobody holds them.

Fresh memory costs a page fault for every few kilobytes, which takes longer than filling it. So blocks of results stay
on a shelf after a call. The next call takes one whose memory nobody refers to but the block itself: then all results
in it, and all views of them, are gone, since NumPy's views refer to the array that owns the memory. At most
:data:`SPARE` blocks are kept for one kernel and :data:`MOST` bytes for all; those used longest ago go first.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from ricci.caches import Pool

Array = np.ndarray
LARGE = 2**20  # bytes from which on memory is worth keeping
MOST = 2**28
SPARE = 2
LINE = 64  # bytes


POOL: Pool[Array] = Pool("memory of fused kernels, in bytes", MOST, SPARE)


class Shelf:
    """Blocks of one shape and type."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape, self.dtype = shape, dtype
        self.nbytes = math.prod(shape) * dtype.itemsize
        self.kept = LARGE <= self.nbytes <= MOST // 2

    def take(self) -> Array:
        """A block that nobody else has."""
        if not self.kept:
            return np.empty(self.shape, self.dtype)
        found = POOL.take(self, _unused)
        if found is not None:
            return found
        return _aligned(self.shape, self.dtype)

    def give(self, block: Array) -> None:
        """A block, in which there may be results now, for later calls."""
        if self.kept:
            POOL.give(self, block)


def _unused(block: Array) -> bool:
    return sys.getrefcount(block.base) <= ALONE


def _aligned(shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """An array that starts at a line of the cache."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def _alone() -> int:
    """How many references there are to memory that only its block has, the one of asking counted in."""
    blocks = [_aligned((1,), np.dtype(np.float64))]
    return sys.getrefcount(blocks[0].base)


ALONE = _alone()
