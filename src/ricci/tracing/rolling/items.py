"""What a loop goes through: whole numbers, entries of an array, or several of these at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ricci.tracing.counters import Counter

if TYPE_CHECKING:
    from ricci.tracing.rolling.tried import StepTried


@dataclass
class LoopItems:
    """What gives the items of a loop: whole numbers, entries of an array, or several of these at once."""

    length: int
    start: int = 0
    step: int = 0  # of whole numbers, or of places in the array
    array: Any = None
    parts: tuple[LoopItems, ...] | None = None

    def item(self, k: int, step: StepTried | None) -> Any:
        """The item number ``k``; for a step that stands for others, with counters in it."""
        if self.parts is not None:
            return tuple([part.item(k, step) for part in self.parts])
        at = self.start + self.step * k if step is None else Counter(step, self.step, self.start)
        if self.array is None:
            return at
        return self.array[at] if step is None else step.read(self.array, at)
