"""Which steps of a program of small arrays run together as machine code.

Steps for which there are instructions, and which take little, form *segments*; others stay what they are. A segment is
as large as it can be: the steps at one *level*, which is how many times one has to change between both kinds to get
to a step from the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ricci.compiler.fused.machine import SmallKernel
from ricci.compiler.fused.segment_code import SLOW, CodeWriter, Layout, writable
from ricci.compiler.plan.loops import Loop
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import Step, Value

ENTRIES = 2048  # of a value in a segment
OF_FUNCTIONS = 512  # where it is a function of the C library, which takes one entry at a time
FEW_ENTRIES = 64  # where other values of the program are larger
WORK = 1 << 15  # multiplications of a step in one
ROOM = 1 << 18  # entries of all values of one
FEWEST = 3  # steps that are worth it


class Segment(Loop):
    """Steps that run as one function; ``kept`` is what others need of it."""

    def __init__(self, steps: list[Step], kept: list[Value]):
        super().__init__(steps, 1, 1, {}, kept)


def small(step: Step, entries: int) -> bool:
    """Whether a step is better among others in a segment."""
    values = [*step.operands, step.out]
    most = min(entries, OF_FUNCTIONS) if step.name in SLOW else entries
    return all(v.entries <= most for v in values) and step.flops <= WORK and writable(step)


def segmented(program: Program, others: Callable[[list[Step]], list[Step | Loop]]) -> list[Step | Loop]:
    """The steps of a program, those that are small in segments, and what ``others`` makes of the rest."""
    most = max([step.out.entries for step in program.steps], default=0)
    entries = ENTRIES if most <= ENTRIES else FEW_ENTRIES
    level: dict[Value, int] = {}
    levels: dict[int, list[Step]] = {}
    for step in program.steps:
        own = 0 if small(step, entries) else 1  # segments are at even levels
        known = [level[v] for v in step.operands if v in level]
        at = max(known, default=own)
        level[step.out] = at if at % 2 == own else at + 1
        levels.setdefault(level[step.out], []).append(step)
    items: list[Step | Loop] = []
    for at in sorted(levels):
        items += _segments(program, levels[at]) if at % 2 == 0 else others(levels[at])
    return items


def _segments(program: Program, steps: Sequence[Step]) -> list[Step | Loop]:
    if len([step for step in steps if not step.views]) < FEWEST:
        return list(steps)
    cut: list[list[Step]] = [[]]
    room = 0
    for step in steps:
        room += 0 if step.views else step.out.entries
        if room > ROOM and cut[-1]:
            cut.append([])
            room = 0
        cut[-1].append(step)
    return [Segment(part, _needed(program, part)) for part in cut]


def _needed(program: Program, part: Sequence[Step]) -> list[Value]:
    inside = set(part)
    needed = {v for step in program.steps if step not in inside for v in step.operands}
    needed |= {r.value for r in program.results if isinstance(r.value, Value)}
    return [step.out for step in part if step.out in needed]


def small_kernel(segment: Segment, dtype: np.dtype) -> SmallKernel:
    """The kernel of a segment."""
    layout = Layout()
    arguments = [v for v in segment.operands if v.source is None or isinstance(v.source, str)]
    constants = [v for v in segment.operands if v not in arguments]
    for value in segment.operands:
        layout.room(value)
    text = CodeWriter(layout, dtype.name).source(segment.steps)
    given = [(value, np.asarray(value.source)) for value in constants]
    return SmallKernel(
        text, len(segment.steps), arguments, segment.kept, layout.of.__getitem__, layout.size, given, dtype
    )
