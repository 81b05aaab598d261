"""How many steps loops that end by themselves are given, and what happens when these do not suffice.

A program has room for a number of steps. When a loop turns out to need more, the program stops, and whoever called it
makes one with more room: so the bound is never far above what is needed, and nobody has to know it.
"""

from __future__ import annotations

from contextvars import ContextVar

from ricci.errors import LimitError

FIRST, GROWTH, MOST = 128, 8, 1 << 24  # steps


class Unfinished(LimitError):
    """A loop has not ended within its steps."""

    def __init__(self, title: str, number: int, bound: int, given: bool):
        hint = (
            "give it more by max_steps=…"
            if given
            else "there may be no end to it; max_steps=… says how many it may take"
        )
        super().__init__(f"rc.while_loop: {title} still holds after {bound} steps; {hint}.")
        self.parts = title, number, bound, given

    def __reduce__(self):
        return Unfinished, self.parts


class StepBounds:
    """The bounds of the loops of a function, in the order in which they are met while it is traced."""

    def __init__(self, known: tuple[int, ...] = ()):
        self.known, self.met = known, 0

    def next(self) -> tuple[int, int]:
        """The number of the next loop, and its bound."""
        number, self.met = self.met, self.met + 1
        return number, self.known[number] if number < len(self.known) else FIRST


BOUNDS: ContextVar[StepBounds | None] = ContextVar("bounds of loops", default=None)


def with_more_room(known: tuple[int, ...], fault: Unfinished) -> tuple[int, ...]:
    """Bounds with more room for the loop that has not ended; the fault itself where there is no more."""
    _, number, bound, given = fault.parts
    if given or bound >= MOST:
        raise fault
    room = [*known, *[FIRST] * (number + 1 - len(known))]
    room[number] = bound * GROWTH
    return tuple(room)
