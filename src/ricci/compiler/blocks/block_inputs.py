"""What users say of blocks, and what they give to be read: arrays, and files that look like them."""

from __future__ import annotations

import mmap
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ricci.checked_calls import is_whole
from ricci.errors import DTypeError, InputError

UNITS = {unit: 1000**k for k, unit in enumerate(["B", "KB", "MB", "GB", "TB"])}
UNITS |= {unit: 1024**k for k, unit in enumerate(["B", "KIB", "MIB", "GIB", "TIB"])}
AROUND = 1 << 17  # bytes before a place in a file that systems map with it


@dataclass(frozen=True)
class BlockOptions:
    """How the work is cut: the indices with the lengths of their blocks, or none where memory decides."""

    lengths: tuple[tuple[str, int | None], ...]
    memory: int | None = None
    progress: Any = None
    threads: int | None = None


def read_blocks(blocks: Any, memory: Any, progress: Any = None, threads: int | None = None) -> BlockOptions:
    """What a user says: ``blocks={"m": 4096}``, ``blocks="m"``, ``memory="1 GB"``."""
    if isinstance(blocks, str):
        blocks = dict.fromkeys(blocks.replace(",", " ").split())
    elif blocks is None or isinstance(blocks, (list, tuple)):
        blocks = dict.fromkeys(blocks or ())
    if not isinstance(blocks, Mapping) or not all(isinstance(name, str) for name in blocks):
        raise InputError(f'blocks gives the lengths of blocks by index, as in blocks={{"m": 4096}}, not {blocks!r}.')
    for name, length in blocks.items():
        known = length is None or length == "auto"
        if not known and (isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 1):
            raise InputError(f'A block of index {name!r} has 1 place or more, or "auto"; it cannot have {length!r}.')
    lengths = tuple([(name, None if n in (None, "auto") else int(n)) for name, n in blocks.items()])
    return BlockOptions(lengths, None if memory is None else read_bytes(memory), progress, threads)


def read_bytes(memory: Any) -> int:
    """A number of bytes, or a text such as "1 GB".

    >>> read_bytes("1.5 GB"), read_bytes("64 MiB")
    (1500000000, 67108864)
    """
    if is_whole(memory) and int(memory) > 0:
        return int(memory)
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z]+)\s*", memory) if isinstance(memory, str) else None
    if found is None or found[2].upper() not in UNITS or float(found[1]) <= 0:
        raise InputError(f'memory is a number of bytes, or a text as in memory="1 GB", not {memory!r}.')
    return int(float(found[1]) * UNITS[found[2].upper()])


def check_blocks(backend: str | None, **others: Any) -> None:
    """An error where something else is asked for that blocks do not go with."""
    if backend not in (None, "numpy", "dask"):
        hint = " On JAX, mesh= and axes= cut an index among devices." if backend == "jax" else ""
        raise InputError(f'blocks= and memory= run on NumPy, or with the backend "dask", not on {backend!r}.{hint}')
    clash = next((name for name, value in others.items() if value), None)
    if clash is not None:
        raise InputError(f"What runs in blocks has no {clash}=; leave out one of them.")


def check_numbers(name: str, array: Any) -> None:
    """An error for what lies elsewhere and holds no numbers."""
    if getattr(array, "dtype", None) is None or np.dtype(array.dtype).kind not in "biufc":
        raise DTypeError(f"The input {name!r} has no type of numbers: {array!r}.")


class BlockSource:
    """An input of a run: an array, or a file that looks like one, of which slices are read, in the type of the run."""

    def __init__(self, array: Any, dtype: np.dtype, name: str, stored: bool):
        self.array, self.dtype, self.name, self.stored = array, dtype, name, stored
        self.pages = Pages.of(array)
        self._whole: Any = None

    def __getitem__(self, place: Any) -> np.ndarray:
        return np.asarray(self.array[place]).astype(self.dtype, copy=False)

    def forget(self, place: Any) -> None:
        """What was read there is not read again before the next pass."""
        if self.pages is not None:
            self.pages.leave(self.array[place])

    def whole(self) -> Any:
        if self._whole is None:
            if self.stored:
                raise InputError(
                    f"All of the input {self.name!r} is needed at once, and it lies in a file. Write "
                    f"{self.name}[...] to load it, or cut an index that it has."
                )
            self._whole = self[...]
        return self._whole


def whole(value: Any) -> Any:
    return value.whole() if isinstance(value, BlockSource) else value


@dataclass(frozen=True)
class Pages:
    """The memory in which a file is mapped, and where it begins.

    What was read or written of such a file counts as memory of the process until it is left. The file keeps what was
    written, unless the mapping is a private copy, and what is needed again is read again.
    """

    mapping: mmap.mmap
    begin: int

    @classmethod
    def of(cls, array: Any) -> Pages | None:
        """Those of an array that is ``np.memmap``, or a part of one."""
        while isinstance(array, np.ndarray) and not isinstance(array.base, mmap.mmap):
            array = array.base
        if not isinstance(array, np.memmap) or array.mode == "c" or not hasattr(mmap, "MADV_DONTNEED"):
            return None
        mapping: Any = array.base
        return cls(mapping, np.frombuffer(mapping, np.uint8).__array_interface__["data"][0])

    def leave(self, part: np.ndarray) -> None:
        if part.size:
            first, last = byte_bounds(part)
            begin = max(0, first - self.begin - AROUND) // mmap.PAGESIZE * mmap.PAGESIZE
            self.mapping.madvise(mmap.MADV_DONTNEED, begin, last - self.begin - begin)
