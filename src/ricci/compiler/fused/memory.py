"""Where kernels write: results that are alike in one block, and buffers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ricci.compiler.plan.program import Value

LINE = 64  # bytes


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
