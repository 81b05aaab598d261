"""Loops as machine code: whether that is worth it, and how it is called.

The arrays of a call stay where they are. The kernel is told where they begin, and how many bytes it is from one slice
to the next, so a sequence may be read backwards, or a column of it. All states go to one array. A long loop runs in
pieces, between which Python looks whether somebody wants to stop it.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Callable
from struct import Struct
from typing import Any

import numpy as np

from ricci.caches import once
from ricci.compiler.backends.numpy_table import dtypes_of
from ricci.compiler.fused.kernel import installed
from ricci.compiler.fused.loop_code import LoopWriter, all_steps, whole
from ricci.compiler.fused.machine import SPARE, MachineCode
from ricci.compiler.fused.segment_code import TYPES
from ricci.compiler.plan.rolled import Rolled

STEP = 1.2e-6  # seconds that a step of a body takes by NumPy
SLOWER = 5  # times that steps on tensors of PyTorch are
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
        self.types = [dtypes_of(self.dtype)[v.kind] for v in inputs]
        self.free: list[tuple[np.ndarray, int]] = []
        self.shape = rolled.program.results[0].shape
        self.packed = Struct(f"{3 + 2 * len(self.types) - rolled.fixed}q").pack
        work = sum(step.out.entries + step.flops for step in all_steps(rolled.program))
        self.piece = max(2, PIECE // max(1, work) // 2 * 2)

    def __call__(self, *given: Any) -> Any:
        """The states; none where NumPy has to say what is wrong."""
        rolled, dtype, fixed = self.rolled, self.dtype, self.rolled.fixed
        _, slices, state = rolled.operands(given)
        states = np.empty((2 if rolled.last else rolled.length + 1, *self.shape), dtype)
        states[0] = state
        held = [np.ascontiguousarray(x, t) for x, t in zip(given[:fixed], self.types, strict=False)]
        moving = [_in_rows(x, t) for x, t in zip(slices, self.types[fixed:], strict=True)]
        try:
            memory, address = self.free.pop()
        except IndexError:
            memory = np.empty(max(1, self.size), dtype)
            address = address_of(memory)
        memory[0] = 0
        row = [address, address_of(states), 0, *map(address_of, held)]
        for x in moving:
            row += address_of(x), x.strides[0]
        self._run(row, 0 if rolled.last else states.strides[0], len(held))
        failed = memory[0] != 0
        if len(self.free) < SPARE:
            self.free.append((memory, address))
        if failed:
            return None
        return states[rolled.length % 2] if rolled.last else states

    def _run(self, row: list[int], on: int, held: int) -> None:
        """Run in pieces. From one step to the next, the states go ``on`` by some bytes, slices by what is known."""
        for begin in range(0, self.rolled.length, self.piece):
            if begin:
                row[1] += on * self.piece
                for k in range(3 + held, len(row), 2):
                    row[k] += row[k + 1] * self.piece
            row[2] = min(self.piece, self.rolled.length - begin)
            self.code.call(self.packed(*row))


def _asked(x: np.ndarray) -> int:
    return x.ctypes.data


def _read(x: np.ndarray) -> int:
    return ctypes.c_size_t.from_address(id(x) + object.__basicsize__).value


@once
def _address() -> Callable[[np.ndarray], int]:
    """Where the memory of an array is: the first of its fields, where that is so, since asking takes microseconds."""
    probe = np.zeros(3)
    known = sys.implementation.name == "cpython" and object.__basicsize__ == 16
    return _read if known and _read(probe) == _asked(probe) and _read(probe[1:]) == _asked(probe[1:]) else _asked


def address_of(x: np.ndarray) -> int:
    return _address()(x)


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

    def __init__(self, rolled: Rolled, plain: Callable[..., Any]):
        self.rolled, self.plain = rolled, plain
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
        found = None if self.kernel is None else self.fast(*given)
        return self.plain(*given) if found is None else found

    def fast(self, *given: Any) -> Any:
        """All states by machine code; none where that is left to others."""
        assert self.kernel is not None
        return self.kernel(*given)

    def _compile(self) -> None:
        try:
            self.kernel = LoopKernel(self.rolled)
        except Exception as error:  # of LLVM, in which anything may go wrong
            self.able = False
            warnings.warn(f"A loop could not be compiled, and runs in Python: {error}", RuntimeWarning, stacklevel=4)


class TensorRun(LoopRun):
    """A loop on tensors of PyTorch: as machine code, if they are in memory, and nobody looks on."""

    def __init__(self, rolled: Rolled, plain: Callable[..., Any]):
        super().__init__(rolled, plain)
        self.takes *= SLOWER

    def __call__(self, *given: Any) -> Any:
        import torch

        if torch.compiler.is_compiling() or not all(map(_plain, given)):
            return self.plain(*given)
        return super().__call__(*given)

    def fast(self, *given: Any) -> Any:
        import torch

        found = super().fast(*[x.numpy() for x in given])
        return None if found is None else torch.as_tensor(found)


def _plain(x: Any) -> bool:
    """Whether a tensor is numbers in memory, and nothing that transforms or records computations."""
    import torch

    if type(x) is not torch.Tensor or x.device.type != "cpu" or x.requires_grad:
        return False
    hidden: Any = torch._C
    return not hidden._functorch.is_functorch_wrapped_tensor(x) and not hidden._len_torch_dispatch_stack()
