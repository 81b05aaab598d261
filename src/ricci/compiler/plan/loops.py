"""Loops over blocks: chains of steps on large arrays, run a few rows at a time so that what they make stays in cache.

Steps that act on each index of one axis by itself (maps, sums over other axes, products of rows with vectors) form a
loop over that axis, together with the sums over that axis that end it: those add up from block to block. So layer norm
and its gradients read their inputs once, and logistic regression reads its data once for value and gradient.

An axis is a class of axes of values: those that some step lines up. A value with two axes of the class, ``X Xᵀ``, stays
outside. Nothing that depends on a sum over the loop's axis, or on what lies outside and depends on the loop, is in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import Step, Value, nbytes

CACHE = 768 * 1024  # bytes that the values of one block may take, of a usual L2
WORTH = 2 * 1024 * 1024  # bytes that a loop must keep from going to memory
ROWS = 4  # rows of the smaller side of a dot, up to which it is bound by memory, and may be in a loop
WORTHWHILE = 1.5e-6  # seconds that kernels must save in each call, to be thought of without being asked for
PER_STEP, PER_BYTE = 4e-7, 5e-11  # seconds, for each call of NumPy that goes away and each byte that stays in registers
INSIDE = ("map", "cast", "sum", "dot", "call", "spread")


class BlockRows(int):
    """The number of rows of a block, which the last block may not reach: in a reshape it is left to be found."""

    def __mul__(self, other: int) -> BlockRows:
        return BlockRows(int(self) * int(other))

    __rmul__ = __mul__

    def __str__(self) -> str:
        return "-1"


@dataclass(eq=False)
class Loop:
    """Steps to run for blocks of one axis, of ``size``: ``axis`` is its position in each value that has it."""

    steps: list[Step]
    size: int
    rows: int
    axis: dict[Value, int]
    kept: list[Value] = field(default_factory=list)  # made in the loop a block at a time, and needed after it
    summed: list[Value] = field(default_factory=list)  # added up over all blocks

    @property
    def out(self) -> list[Value]:
        return [*self.kept, *self.summed]

    @property
    def operands(self) -> list[Value]:
        made = {step.out for step in self.steps}
        return list(dict.fromkeys(v for step in self.steps for v in step.operands if v not in made))

    def body(self) -> tuple[list[Step], dict[Value, Value]]:
        """The steps on blocks, and the block that stands for each value that has the axis or is made in the loop."""
        blocks: dict[Value, Value] = {}

        def block(value: Value) -> Value:
            if value not in blocks:
                shape = list(value.shape)
                if value in self.axis:
                    shape[self.axis[value]] = BlockRows(self.rows)
                blocks[value] = Value(tuple(shape), value.kind)
            return blocks[value]

        made = {step.out for step in self.steps}
        steps = []
        for step in self.steps:
            args = [(block(v) if v in self.axis or v in made else v, x) for v, x in step.args]
            clone = Step(step.op, step.name, tuple(args), block(step.out), step.labels, step.params)
            clone.out.step = clone
            steps.append(clone)
        return steps, blocks


class _Classes:
    """Axes of values that are lined up by some step."""

    def __init__(self, steps: Sequence[Step]):
        self.parent: dict[tuple[Value, int], tuple[Value, int]] = {}
        for step in steps:
            if step.op in INSIDE:
                at: dict[int, tuple[Value, int]] = {}
                for value, labels in [*step.args, (step.out, step.labels)]:
                    if isinstance(value, Value):
                        for axis, x in enumerate(labels):
                            self.link(at.setdefault(x, (value, axis)), (value, axis))

    def find(self, axis: tuple[Value, int]) -> tuple[Value, int]:
        while axis in self.parent:
            axis = self.parent[axis]
        return axis

    def link(self, a: tuple[Value, int], b: tuple[Value, int]) -> None:
        a, b = self.find(a), self.find(b)
        if a != b:
            self.parent[b] = a


@dataclass(frozen=True)
class Worth:
    """What makes a loop worth having: bytes that stay in cache, and calls of the backend that are saved."""

    bytes: int = WORTH
    steps: int = 2
    rows: int | None = None  # of a block; found from the size of the cache where not given
    able: Callable[[Step], bool] = lambda _step: True  # which steps may be in a loop
    most: int | None = None  # steps in one loop

    def __call__(self, saved: int, steps: int) -> bool:
        return saved >= self.bytes and steps >= self.steps


PLAIN = Worth()


def saving(steps: Iterable[Step], itemsize: int) -> float:
    """Seconds that it saves in each call to have steps in kernels, if all of them can be."""
    inside = [step for step in steps if step.op in INSIDE]
    return PER_STEP * len(inside) + PER_BYTE * sum([nbytes(step.out, itemsize) for step in inside])


def blocked(program: Program, itemsize: int, worth: Worth = PLAIN) -> list[Step | Loop]:
    """The steps of a program, those that gain from it in loops."""
    return looped(program, program.steps, itemsize, worth)


def looped(program: Program, steps: Sequence[Step], itemsize: int, worth: Worth) -> list[Step | Loop]:
    """Some of the steps, those that gain from it in loops."""
    if not worth(sum([nbytes(step.out, itemsize) for step in steps if step.op in INSIDE]), len(steps)):
        return list(steps)
    classes = _Classes(steps)
    weight: dict[tuple[Value, int], int] = {}
    for step in steps:
        if step.op in INSIDE and step.out.shape:
            key = classes.find((step.out, 0))
            weight[key] = weight.get(key, 0) + nbytes(step.out, itemsize)
    for key in sorted(weight, key=lambda k: -weight[k])[:4]:
        loop = _loop(program, steps, classes, key, itemsize, worth)
        if loop is not None:
            before, after = _around(steps, loop)
            return [
                *looped(program, before, itemsize, worth),
                loop,
                *looped(program, after, itemsize, worth),
            ]
    return list(steps)


def _loop(
    program: Program, steps: Sequence[Step], classes: _Classes, key: tuple[Value, int], itemsize: int, worth: Worth
) -> Loop | None:
    """The loop over one class of axes, if it is worth having."""

    def axes(value: Value) -> list[int]:
        return [axis for axis in range(len(value.shape)) if classes.find((value, axis)) == key]

    inside: list[Step] = []
    ended: set[Value] = set()  # results of the loop that add up, and whatever depends on them or lies between
    members: set[Value] = set()
    summed: list[Value] = []
    for step in steps:
        late = any(v in ended for v in step.operands) or len(inside) == worth.most
        kind = _kind(step, axes) if not late and worth.able(step) else None
        if kind is None:
            if late or any(v in members for v in step.operands):
                ended.add(step.out)
            continue
        inside.append(step)
        members.add(step.out)
        if kind == "sums":
            summed.append(step.out)
            ended.add(step.out)
    axis = {v: axes(v)[0] for step in inside for v in [*step.operands, step.out] if len(axes(v)) == 1}
    chosen = set(inside)
    needed = {v for step in program.steps if step not in chosen for v in step.operands}
    needed |= {r.value for r in program.results if isinstance(r.value, Value)}
    saved = sum(nbytes(s.out, itemsize) for s in inside if s.out in axis and s.out not in needed)
    if not inside or not worth(saved, len(inside)):
        return None
    size = key[0].shape[key[1]]
    rows = worth.rows or max(1, int(CACHE * size / _live(inside, axis, itemsize)))
    if rows * 2 > size and worth.rows is None:
        return None
    kept = [s.out for s in inside if s.out in needed and s.out not in summed]
    return Loop(inside, size, rows, axis, kept, summed)


def _live(steps: Sequence[Step], axis: dict[Value, int], itemsize: int) -> int:
    """The most bytes that values with the axis of the loop take at once, inputs of the loop counted in."""
    last = {v: n for n, step in enumerate(steps) for v in [*step.operands, step.out]}
    alive: set[Value] = set()
    most = 0
    for number, step in enumerate(steps):
        alive |= {v for v in [*step.operands, step.out] if v in axis}
        most = max(most, sum(nbytes(v, itemsize) for v in alive))
        alive = {v for v in alive if last[v] > number}
    return most


def _kind(step: Step, axes) -> str | None:
    """How a step relates to the axis of a loop: row by row ("rows"), adding up over it ("sums"), or not at all."""
    if step.op not in INSIDE or 0 in [v.entries for v in [*step.operands, step.out]]:
        return None
    seen = set()
    for value, labels in step.args:
        if isinstance(value, Value):
            own = axes(value)
            if len(own) > 1:
                return None
            seen |= {labels[axis] for axis in own}
    if len(seen) > 1 or len(axes(step.out)) > 1:
        return None
    out = [step.labels[axis] for axis in axes(step.out)]
    if not seen:
        return None
    (label,) = seen
    if step.op == "spread" and len(step.args[0][1]) != len(step.labels):
        return None
    if step.op == "dot" and not bound_by_memory(step):
        return None
    if out:
        return "rows" if out == [label] else None
    return "sums" if step.op in ("sum", "dot") and label not in step.labels else None


def bound_by_memory(step: Step) -> bool:
    """Whether a dot reads about as many numbers as it multiplies."""
    largest = max(v.entries for v in [*step.operands, step.out])
    return math.prod(step.sizes().values()) <= ROWS * largest


def _around(steps: Sequence[Step], loop: Loop) -> tuple[list[Step], list[Step]]:
    """The steps to run before the loop, and those that need what it makes."""
    inside = set(loop.steps)
    late: set[Value] = {step.out for step in loop.steps}
    before: list[Step] = []
    after: list[Step] = []
    for step in steps:
        if step in inside:
            continue
        if any(v in late for v in step.operands):
            late.add(step.out)
            after.append(step)
        else:
            before.append(step)
    return before, after
