"""Memory of results, used again once nobody holds them.

Fresh memory costs a page fault for every few kilobytes, which takes longer than filling it. So blocks of results stay
on a shelf after a call. The next call takes one whose memory nobody refers to but the block itself: then all results
in it, and all views of them, are gone, since NumPy's views refer to the array that owns the memory. At most
:data:`SPARE` blocks are kept for one kernel and :data:`MOST` bytes for all; those used longest ago go first.
"""

from __future__ import annotations

import math
import sys
import threading
from collections import OrderedDict

import numpy as np

Array = np.ndarray
LARGE = 2**20  # bytes from which on memory is worth keeping
MOST = 2**28
SPARE = 2
LINE = 64  # bytes


class _Kept:
    """All blocks on shelves."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.blocks: OrderedDict[Shelf, list[Array]] = OrderedDict()
        self.nbytes = 0

    def drop(self, shelf: Shelf, place: int) -> Array:
        """Take a block off its shelf."""
        blocks = self.blocks[shelf]
        found = blocks.pop(place)
        self.nbytes -= shelf.nbytes
        if not blocks:
            del self.blocks[shelf]
        return found


_kept = _Kept()


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
        with _kept.lock:
            blocks = _kept.blocks.get(self, [])
            for place in reversed(range(len(blocks))):  # the latest is the likeliest to be in the cache
                if sys.getrefcount(blocks[place].base) <= ALONE:
                    return _kept.drop(self, place)
        return _aligned(self.shape, self.dtype)

    def give(self, block: Array) -> None:
        """A block, in which there may be results now, for later calls."""
        if not self.kept:
            return
        with _kept.lock:
            blocks = _kept.blocks.setdefault(self, [])
            blocks.append(block)
            _kept.blocks.move_to_end(self)
            _kept.nbytes += self.nbytes
            if len(blocks) > SPARE:
                _kept.drop(self, 0)
            while _kept.nbytes > MOST:
                _kept.drop(next(iter(_kept.blocks)), 0)


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


def clear() -> None:
    """Give all memory back."""
    with _kept.lock:
        _kept.blocks.clear()
        _kept.nbytes = 0


def kept_bytes() -> int:
    """How many bytes are kept for later calls."""
    return _kept.nbytes
