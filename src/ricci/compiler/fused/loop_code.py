"""A loop as instructions of LLVM: the steps of its body are a function, which another calls once for each step.

A body has a pointer to the memory of all values on the way, ``%w``, one to each of its inputs, ``%p0``, ``%p1``, …, to
the state, ``%s``, and to where the next one goes, ``%o``. Inputs are read where they are: those that are sliced by
a pointer that moves on. A loop in a loop is a function that the body calls in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ricci.compiler.fused.matrix_code import MatrixWriter, feasible
from ricci.compiler.fused.segment_code import PART, STORED, TYPES, Layout, Lies, row_by_row
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import Result, Step, Value
from ricci.compiler.plan.rolled import Rolled

COUNT, FIRST = 2, 3  # places among what a kernel is given: the number of steps, and the first input
TOGETHER = 256  # steps of a body that is one function
NEAR = 64  # entries of a value that is in the function's own memory
BYTES = {"double": 8, "float": 4, "i64": 8, "i8": 1}


def whole(rolled: Rolled) -> bool:
    """Whether there are instructions for all that a loop does."""
    inputs = [*rolled.program.inputs.values()]
    if any(0 in v.shape for v in inputs):
        return False
    return all(feasible(step) if step.loop is None else whole(step.loop) for step in rolled.program.steps)


def all_steps(program: Program) -> list[Step]:
    """The steps of a program, with those of loops in it."""
    found = []
    for step in program.steps:
        found += [step] if step.loop is None else all_steps(step.loop.program)
    return found


class NearLayout(Layout):
    """Places of values, small ones in memory of the function itself, which are registers where LLVM sees that."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind, self.count = kind, 0
        self.kept: list[str] | None = None  # memory of the function that is being written

    def room(self, value: Value) -> Lies:
        if value in self.of:
            return self.of[value]
        own = "i" if value.kind == "i" else "f"  # truths of our own are floats
        kind = STORED.get(own, self.kind)
        if self.kept is None or value.entries > NEAR:
            each = BYTES[kind] // BYTES[self.kind]
            lies = Lies(self.size // each, row_by_row(value.shape), kind=own)
            self.size += each * (-(-value.entries // 8) * 8)
        else:
            self.count += 1
            self.kept.append(f"  %v{self.count} = alloca [{value.entries} x {kind}]")
            lies = Lies(0, row_by_row(value.shape), f"%v{self.count}", own)
        self.of[value] = lies
        return lies

    def far(self, value: Value) -> Lies:
        """A place that other functions know, too."""
        kept, self.kept = self.kept, None
        lies, self.kept = self.room(value), kept
        return lies

    def viewed(self, step: Step) -> bool:
        (value, _) = step.args[0]
        if step.op == "check" and isinstance(value, Value):
            self.of[step.out] = self.of[value]
            return True
        return not (step.op == "cast" and self.of[value].kind == "i") and super().viewed(step)  # type: ignore[index]


class LoopWriter(MatrixWriter):
    """Writes the instructions of a loop."""

    def __init__(self, dtype: str):
        self.near = NearLayout(TYPES[dtype])
        super().__init__(self.near, dtype)
        self.near.room(Value((), "f"))  # where faults are noted
        self.functions: list[str] = []

    def function(self, name: str, steps: Sequence[Step], given: str = "", how: str = "") -> str:
        kept, self.near.kept = self.near.kept, None if how else []
        made = super().function(name, steps, given, how)
        if self.near.kept:
            made = made.replace("entry:\n", "\n".join(["entry:", *self.near.kept, ""]), 1)
        self.near.kept = kept
        return made

    def constant(self, value: Value) -> Lies:
        """A constant as part of the code."""
        self.count += 1
        entries = np.ravel(np.asarray(value.source)).tolist()
        own = [f"i64 {x}" if value.kind == "i" else f"{self.type} {self.number(x)}" for x in entries]
        name, kind = f"@c{self.count}", "i64" if value.kind == "i" else self.type
        self.declared[name] = f"{name} = private constant [{len(own)} x {kind}] [{', '.join(own)}]"
        return Lies(0, row_by_row(value.shape), name, "i" if value.kind == "i" else "f")

    def source_of(self, rolled: Rolled) -> str:
        """The whole text. The kernel is given a row of numbers: memory, states, how many steps, and the inputs.

        Of an input that is sliced it is given the first slice, and how many bytes it is to the next.
        """
        name, moving = self.body(rolled), _moving(rolled)
        self.lines, self.block = [], "entry"
        memory, states, count = [self._given(k) for k in (0, 1, COUNT)]
        at, inputs = FIRST, []
        for moves in moving:
            inputs.append((self._given(at), self._given(at + 1) if moves else None))
            at += 1 + moves
        w, s = [self.put(f"inttoptr i64 {text} to ptr") for text in (memory, states)]
        pointers = [(self.put(f"inttoptr i64 {text} to ptr"), stride) for text, stride in inputs]
        self._repeat(name, rolled, count, w, s, pointers)
        main = ["define void @kernel(ptr %a) nounwind {", "entry:", *self.lines, "  ret void", "}"]
        return "\n\n".join(["\n".join(self.declared.values()), *self.functions, "\n".join(main)]) + "\n"

    def _given(self, number: int) -> str:
        return self.put(f"load i64, ptr {self.put(f'getelementptr inbounds i64, ptr %a, i64 {number}')}")

    def _repeat(
        self, name: str, rolled: Rolled, count: int | str, w: str, states: str, inputs: Sequence[tuple[str, str | None]]
    ) -> None:
        """Call a body once for each step."""
        size = _entries(rolled)

        def body(t: str) -> None:
            args = []
            for pointer, stride in inputs:
                if stride is not None:
                    pointer = self._moved("i8", pointer, self.put(f"mul nsw i64 {t}, {stride}"))
                args.append(pointer)
            for later in (0, 1):
                number = self.put(f"add nsw i64 {t}, {later}")
                number = self.put(f"and i64 {number}, 1") if rolled.last else number
                args.append(self._moved(self.type, states, self.put(f"mul nsw i64 {number}, {size}")))
            self.lines.append(f"  call void @{name}({', '.join([f'ptr {a}' for a in (w, *args)])})")

        self.over([count], body)  # type: ignore[list-item]

    def _moved(self, kind: str, pointer: str, by: str) -> str:
        return self.put(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {by}")

    # The body

    def body(self, rolled: Rolled, lying: Sequence[Lies] | None = None) -> str:
        """The function of one step; its name. ``lying`` is how its inputs lie, if not row by row."""
        outer, program, of = (self.lines, self.block, self.kept), rolled.program, self.layout.of
        *inputs, state = program.inputs.values()
        lying = lying or [Lies(0, row_by_row(v.shape), kind=v.kind) for v in inputs]
        for k, (value, lies) in enumerate(zip(inputs, lying, strict=True)):
            of[value] = replace(lies, start=0, base=f"%p{k}")
        of[state] = Lies(0, row_by_row(state.shape), "%s")
        of.update({value: self.constant(value) for value in program.constants})
        (result,) = program.results
        in_place = self._in_place(result)
        self.count += 1
        name = f"body{self.count}_"
        given = ["%w", *[f"%p{k}" for k in range(len(inputs))], "%s", "%o"]
        head = ", ".join([f"ptr noalias {g}" for g in given])
        most = len(program.steps) if len(program.steps) <= TOGETHER else PART
        parts = [program.steps[at : at + most] for at in range(0, len(program.steps), max(1, most))]
        for k, part in enumerate(parts):
            self.functions.append(self.function(f"{name}{k}", part, head, "noinline" if len(parts) > 1 else ""))
        self.lines, self.block = [], "entry"
        for k in range(len(parts)):
            self.lines.append(f"  call void @{name}{k}({', '.join([f'ptr {g}' for g in given])})")
        if not in_place:
            self._copied(result)
        made = [f"define internal void @{name}({head}) nounwind {{", "entry:", *self.lines, "  ret void", "}"]
        self.functions.append("\n".join(made))
        self.lines, self.block, self.kept = outer
        return name

    def _in_place(self, result: Result) -> bool:
        """Give the result its place among the states, if a step makes it; whether one does."""
        value = result.value
        if not isinstance(value, Value) or value.step is None or len(result.axes) < len(result.shape):
            return False
        strides = row_by_row(result.shape)
        lies = tuple([strides[axis] for axis in result.axes])
        if value.step.views or value.step.op == "merge" or value.step.op == "cast" or value.step.loop:
            return False
        self.layout.of[value] = Lies(0, lies, "%o")
        return True

    def _copied(self, result: Result) -> None:
        out = Lies(0, row_by_row(result.shape), "%o")
        axes = result.axes
        self.over(
            result.shape,
            lambda *at: self.store(self.operand((result.value, axes), dict(enumerate(at))), out, at),
        )

    # Loops in loops

    def _call(self, step: Step) -> None:
        rolled = step.loop
        if rolled is None:
            super()._call(step)
            return
        size, (start, _) = _entries(rolled), step.args[-1]
        assert isinstance(start, Value)
        moving, lies = _moving(rolled), [self.layout.of[v] for v, _ in step.args if isinstance(v, Value)]
        first = lies.pop()
        if rolled.forced:
            lies.append(replace(first, start=first.start + first.strides[0]))
            first = replace(first, strides=first.strides[1:])
        own = [replace(at, strides=at.strides[moves:]) for at, moves in zip(lies, moving, strict=True)]
        name = self.body(rolled, own)
        states = self.near.far(Value((2 if rolled.last else rolled.length + 1, size), "f"))
        shape = step.out.shape[not rolled.last :]
        begin = replace(states, strides=row_by_row(shape))
        self.over(shape, lambda *at: self.store(self.load(first, at), begin, at))
        if rolled.length:
            inputs = [self._pointer(at, moves) for at, moves in zip(lies, moving, strict=True)]
            pointer = self._moved(self.type, "%w", str(states.start))
            self._repeat(name, rolled, rolled.length, "%w", pointer, inputs)
        place = states.start + (rolled.length % 2) * size if rolled.last else states.start
        self.layout.of[step.out] = Lies(place, row_by_row(step.out.shape))

    def _pointer(self, lies: Lies, moves: bool) -> tuple[str, str | None]:
        """Where an input of a loop in a loop is, and how many bytes it is from one slice to the next."""
        kind = STORED.get(lies.kind, self.type)
        stride = str(lies.strides[0] * BYTES[kind]) if moves else None
        return self._moved(kind, lies.base, str(lies.start)), stride


def _moving(rolled: Rolled) -> list[bool]:
    """Whether inputs of a step, the state aside, move on from step to step."""
    return [k >= rolled.fixed for k in range(len(rolled.program.inputs) - 1)]


def _entries(rolled: Rolled) -> int:
    return math.prod(rolled.program.results[0].shape)
