"""Loops as machine code: whether that is worth it, and how it is called.

The arrays of a call stay where they are. The kernel is told where they begin, and how many bytes it is from one slice
to the next, so a sequence may be read backwards, or a column of it. All states go to one array. A long loop runs in
pieces, between which Python looks whether somebody wants to stop it.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ricci.compiler.fused.kernel import installed
from ricci.compiler.fused.loop_code import LoopWriter, all_steps, whole
from ricci.compiler.fused.machine import SPARE, MachineCode
from ricci.compiler.fused.segment_code import TYPES
from ricci.compiler.plan.rolled import Rolled

STEP = 1.2e-6  # seconds that a step of a body takes by NumPy
FIRST, EACH = 1e-2, 1e-3  # seconds that compiling takes, and for each step of the body
WORK = 1 << 18  # multiplications of a body: where there are more, BLAS is better
ENTRIES = 1 << 16  # of the largest value of a body
PIECE = 1 << 24  # entries and multiplications of one piece of a loop, roughly


def able(rolled: Rolled) -> bool:
    """Whether a loop can be machine code, and is better so."""
    if rolled.setting.dtype not in TYPES or not installed() or not whole(rolled):
        return False
    steps = all_steps(rolled.program)
    most = max([v.entries for step in steps for v in (*step.operands, step.out)], default=0)
    return most <= ENTRIES and sum(step.flops for step in steps) <= WORK


def cost(rolled: Rolled) -> tuple[float, float]:
    """Seconds that a run takes by NumPy, and that compiling takes."""
    steps = all_steps(rolled.program)
    return rolled.length * STEP * (1 + len(steps)), FIRST + EACH * len(steps)


class LoopKernel:
    """The machine code of a loop, to be called with what the loop is given."""

    def __init__(self, rolled: Rolled):
        self.rolled, self.dtype = rolled, np.dtype(rolled.setting.dtype)
        writer = LoopWriter(self.dtype.name)
        self.text = writer.source_of(rolled)
        self.size = writer.layout.size
        self.code = MachineCode(self.text, long=True)
        inputs = list(rolled.program.inputs.values())[:-1]
        self.types = [{"f": self.dtype, "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}[v.kind] for v in inputs]
        self.free: list[np.ndarray] = []
        work = sum(step.out.entries + step.flops for step in all_steps(rolled.program))
        self.piece = max(2, PIECE // max(1, work) // 2 * 2)

    def __call__(self, *given: Any) -> Any:
        rolled, dtype = self.rolled, self.dtype
        fixed, slices, state = rolled.operands(given)
        states = np.empty((2 if rolled.last else rolled.length + 1, *np.shape(state)), dtype)
        states[0] = state
        held = [np.ascontiguousarray(x, t) for x, t in zip(fixed, self.types, strict=False)]
        moving = [_in_rows(x, t) for x, t in zip(slices, self.types[len(fixed) :], strict=True)]
        try:
            memory = self.free.pop()
        except IndexError:
            memory = np.empty(max(1, self.size), self.dtype)
        row = np.array(
            [memory.ctypes.data, states.ctypes.data, 0]
            + [x.ctypes.data for x in held]
            + [n for x in moving for n in (x.ctypes.data, x.strides[0])],
            np.int64,
        )
        on = np.zeros_like(row)  # how far to go on in each step
        on[1] = 0 if rolled.last else states.strides[0]
        on[3 + len(held) :: 2] = row[4 + len(held) :: 2]
        memory[0] = 0
        for begin in range(0, rolled.length, self.piece):
            row[2] = count = min(self.piece, rolled.length - begin)
            self.code.call(row.ctypes.data)
            row += on * count
        failed = memory[0] != 0
        if len(self.free) < SPARE:
            self.free.append(memory)
        if failed:  # NumPy says what is wrong
            return rolled.by_steps(*given)
        return states[rolled.length % 2] if rolled.last else states


def _in_rows(x: Any, dtype: np.dtype) -> np.ndarray:
    """A sequence whose slices lie row by row; from one to the next it may be any way."""
    x = np.asarray(x, dtype)
    expected, fits = x.itemsize, x.flags.aligned
    for n, stride in zip(x.shape[:0:-1], x.strides[:0:-1], strict=True):
        fits &= n == 1 or stride == expected
        expected *= n
    return x if fits else np.ascontiguousarray(x)


class LoopRun:
    """A loop on arrays of NumPy: in Python, and as machine code once what that would have saved is worth compiling."""

    def __init__(self, rolled: Rolled):
        self.rolled, self.plain = rolled, rolled.by_steps
        wanted = dict(rolled.setting.options).get("fused")
        self.able = wanted is not False and able(rolled)
        self.takes, self.costs = cost(rolled)
        self.lost = self.costs if wanted else 0.0
        self.kernel: LoopKernel | None = None

    def __call__(self, *given: Any) -> Any:
        if self.kernel is None and self.able:
            self.lost += self.takes
            if self.lost >= self.costs:
                self._compile()
        return self.plain(*given) if self.kernel is None else self.kernel(*given)

    def _compile(self) -> None:
        try:
            self.kernel = LoopKernel(self.rolled)
        except Exception as error:  # of LLVM, in which anything may go wrong
            self.able = False
            warnings.warn(f"A loop could not be compiled, and runs in Python: {error}", RuntimeWarning, stacklevel=4)
