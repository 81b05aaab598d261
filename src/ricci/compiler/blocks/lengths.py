"""How long blocks are: as long as memory allows."""

from __future__ import annotations

from collections.abc import Callable

from ricci.errors import InputError

USUAL = 1 << 26  # bytes of a block, where nothing else is said
PROBES = (64, 128)  # lengths at which the memory of a block is looked at; it grows evenly with them


def longest(memory: int, size: int, peak: Callable[[int], int], index: str) -> int:
    """The longest block whose work fits this memory; ``peak`` tells what one of some length takes."""
    if size <= PROBES[0] or peak(size) <= memory:
        length = max(1, size)
        while length > 1 and peak(length) > memory:
            length -= -(-length // 8)
        return length
    first, second = [peak(min(length, size)) for length in PROBES]
    each = max(1, (second - first) // max(1, min(PROBES[1], size) - PROBES[0]))
    least = first - each * PROBES[0]
    found = (memory - least) // each
    if found < 1:
        raise InputError(
            f"Blocks of one place of {index} take {least + each:,} bytes, which is more than memory={memory:,}. "
            "Give more memory, or cut another index too."
        )
    length = int(min(found, size))
    while length > 1 and peak(length) > memory:  # steps that run in loops do not grow evenly
        length -= -(-length // 16)
    return length
