"""Loops: one node for a computation that is repeated, each time with the state that the last left.

Expressions of a step come in, with placeholders for the state and for what belongs to the step; nodes go out, whose
derivatives are such nodes again. Rooms up to ``simplify`` are imported.
"""

from ricci.loops.bodies import LoopBody, is_loop
from ricci.loops.leaves import all_states
from ricci.loops.looped import loop, recurrence, row_of_loop

__all__ = ["LoopBody", "all_states", "is_loop", "loop", "recurrence", "row_of_loop"]
