"""Where kernels write: results that are alike in one block, and buffers; blocks are used again once nobody has them.

Fresh memory costs a page fault for every few kilobytes, which takes longer than filling it. So blocks of results stay
on a shelf after a call. The next call takes one whose memory nobody refers to but the block itself: then all results
in it, and all views of them, are gone, since NumPy's views refer to the array that owns the memory. At most
:data:`SPARE` blocks are kept for one kernel and :data:`MOST` bytes for all; those used longest ago go first.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ricci.caches import Pool
from ricci.compiler.plan.program_steps import Value

Array = np.ndarray
LINE = 64  # bytes
LARGE = 2**20  # bytes from which on memory is worth keeping
MOST = 2**28
SPARE = 2
POOL: Pool[Array] = Pool("memory of fused kernels, in bytes", MOST, SPARE)


@dataclass(eq=False)
class Group:
    """Results of one shape and kind, in one block of memory, each a little off the next one's place in the cache."""

    kind: str
    shape: tuple[int, ...]
    members: list[Value] = field(default_factory=list)
    pad: int = 0  # rows after each

    @property
    def block(self) -> tuple[int, ...]:
        """The shape of the block."""
        lead = (len(self.members),) if len(self.members) > 1 else ()
        return (*lead, self.shape[0] + self.pad, *self.shape[1:]) if self.shape else (len(self.members),)

    @property
    def stride(self) -> int:
        return math.prod([self.shape[0] + self.pad, *self.shape[1:]]) if self.shape else 1


def grouped(values: Sequence[Value], itemsize: int) -> list[Group]:
    groups: dict[tuple, Group] = {}
    for value in values:
        groups.setdefault((value.kind, value.shape), Group(value.kind, value.shape)).members.append(value)
    for group in groups.values():
        row = math.prod(group.shape[1:]) * itemsize
        if len(group.members) > 2 and group.shape and group.shape[0] * row >= 64 * LINE:
            group.pad = -(-LINE // row)
    return list(groups.values())


@dataclass
class Location:
    """Where a node is stored: the array, the place of its first entry, its layout, and which memory it is."""

    name: str
    start: int
    sizes: tuple[int, ...]
    scope: int
    wide: bool = False


# Shelves


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
