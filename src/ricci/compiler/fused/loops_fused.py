"""NumPy source with fused kernels: every loop is one call of a function that Numba compiled.

Steps on small arrays cost little and calls of NumPy much: all of them that can be are in kernels of another kind
(``segments.py``), whose time to compile is that of LLVM alone.

*When.* A kernel takes about a second to compile. With ``fused=True`` it is compiled at the first call. By default it is
left to measured times: see ``deciding.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ricci.caches import LOCKS
from ricci.compiler.emit.numpy_source import NumpyEmitter
from ricci.compiler.emit.source import Source, tuple_text
from ricci.compiler.fused.deciding import Trial
from ricci.compiler.fused.entries import fusable
from ricci.compiler.fused.kernel import COMPILED, FarError, Kernel, ResultBlock, installed, kernel, require_numba
from ricci.compiler.fused.kernel_maps import POWERS, SLOW
from ricci.compiler.fused.machine import SmallKernel
from ricci.compiler.fused.memory import Group, grouped
from ricci.compiler.fused.segments import ENTRIES, Segment, segmented, small_kernel
from ricci.compiler.plan.loops import INSIDE, PER_BYTE, PER_STEP, Loop, Worth, bound_by_memory, looped, saving
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import Result, Step, Value
from ricci.compiler.run.runner import Runner, Switch

WORTH_A_KERNEL = 4e-6  # seconds that each kernel must save, if nobody asked for it: calling it takes half of that
MOST_STEPS = 64  # of a kernel: compiling takes longer than in proportion to these
FIRST, EACH = (0.1, 0.5), (0.003, 0.01)  # seconds that compiling takes, and for each step; the latter of large arrays
PER_FLOP = 1e-10  # seconds
MOST_COMPILED = 100  # loops by Numba in one process, if nobody asked for them: what it needs for one is never freed
FEW = 3  # constant results, up to which each is made by itself
TYPES = ("float64", "float32")


def gaining(program: Program, dtype: str) -> Callable[[Step], bool]:
    """Which steps of a program are better in a kernel.

    Not those for which NumPy has a faster function than the C library, nor sums of complex numbers in float32, which
    kernels would add up one after another, nor products with a matrix that BLAS takes as it is, unless the matrix is
    read by other steps of kernels anyway.
    """
    read = {v for step in program.steps if step.op in INSIDE and step.op != "dot" for v in step.operands}

    def gains(step: Step) -> bool:
        if step.op in ("sum", "dot") and step.out.kind == "c" and dtype == "float32":
            return False
        if step.op == "map" and (step.name in SLOW or (step.name == "power" and step.args[1][0] not in POWERS)):
            return False
        if step.op == "dot" and set(step.args[0][1]) != set(step.args[1][1]):
            largest = max(v.entries for v in step.operands)
            return any(v.entries == largest and (v.step is not None or v in read) for v in step.operands)
        return fusable(step)

    return gains


@dataclass(frozen=True)
class Saving(Worth):
    """A loop is worth a kernel if that saves ``seconds``."""

    steps: int = 2
    rows: int | None = 1
    able: Callable[[Step], bool] = fusable
    most: int | None = MOST_STEPS
    seconds: float = 0.0

    def __call__(self, saved: int, steps: int) -> bool:
        return steps >= self.steps and PER_STEP * steps + PER_BYTE * saved >= self.seconds


def with_copies(program: Program) -> Program:
    """The program with a step for each result that is an input or another result too: a kernel then writes both."""
    seen: set[Value] = set(program.inputs.values())
    steps, results = list(program.steps), []
    for result in program.results:
        value = result.value
        if isinstance(value, Value) and value in seen and value.shape and len(result.axes) == len(result.shape):
            labels = tuple(range(len(value.shape)))
            copy = Value(value.shape, value.kind)
            copy.step = Step("map", "stop_gradient", ((value, labels),), copy, labels)
            steps.append(copy.step)
            result = Result(copy, result.axes, result.shape, result.kind)
        elif isinstance(value, Value):
            seen.add(value)
        results.append(result)
    return replace(program, steps=steps, results=results)


class Filled:
    """Constant results that are alike: one block, filled at each call."""

    def __init__(self, group: Group, dtype: np.dtype, values: Sequence[float]):
        self.block = ResultBlock(group, dtype)
        self.column = np.array(values, dtype).reshape(len(values), *[1] * len(group.shape))

    def __call__(self) -> tuple[Any, ...]:
        memory = self.block.take()
        memory[...] = self.column
        return self.block.parts(memory)


class FusedEmitter(NumpyEmitter):
    """Source for NumPy whose loops are kernels."""

    def __init__(self, plan: Plan, worth: Worth):
        program = with_copies(plan.program)
        items = segmented(program, lambda steps: looped(program, steps, plan.itemsize, worth))
        super().__init__(replace(plan, program=program, items=items))
        self.planned = plan.program.steps
        self.kernels: dict[str, Kernel | SmallKernel] = {}
        self.made: Source | None = None  # with its kernels compiled
        self.laid_out: set[Value] = set(self.program.constants)  # what is known to lie row by row
        self.filled: dict[Result, str] = {}

    def loop(self, loop: Loop) -> None:
        segment = isinstance(loop, Segment)
        made = small_kernel(loop, self.dtype) if segment else kernel(loop, self.dtype)
        assert made is not None  # what cannot be fused is in no loop
        name = f"kernel{len(self.kernels)}"
        self.kernels[name] = made
        args = [self.name(value) if segment else self.argument(value) for value in made.arguments]
        results = tuple_text([self.new(value) for value in made.results])[1:-1]
        self.laid_out.update(made.results)
        self.lines.append(f"{results} = {name}({', '.join(args)})")

    def argument(self, value: Value) -> str:
        """An operand of a kernel: a number, or an array that lies in memory row by row."""
        text = self.name(value)
        if not value.shape:
            return f"{text}[()]"
        return text if value in self.laid_out else f"{self.helper('contiguous')}({text})"

    def body(self) -> None:
        super().body()
        alike: dict[tuple, list[Result]] = {}
        for result in self.program.results:
            if result.shape and 0 not in result.shape and not isinstance(result.value, Value):
                alike.setdefault((result.kind, result.shape), []).append(result)
        for (kind, shape), results in alike.items():
            if len(results) > FEW:
                (group,) = grouped([Value(shape, kind) for _ in results], self.dtypes[kind].itemsize)
                filled = Filled(group, self.dtypes[kind], [result.value for result in results])  # type: ignore
                name = self.function(f"filled{len(self.filled)}", filled)
                names = [f"f{len(self.filled) + k}" for k in range(len(results))]
                self.filled.update(zip(results, names, strict=True))
                self.lines.append(f"{tuple_text(names)[1:-1]} = {name}()")

    def result(self, result: Result) -> str:
        return self.filled.get(result) or super().result(result)

    def source(self) -> Source:
        plain = super().source()
        kernels = [k.source.replace("kernel", name, 1) for name, k in self.kernels.items()]
        return Source("\n".join([*kernels, plain.text]), plain.scope, self.kernels)

    def note(self) -> str:
        """Which steps are in which kernel, by their names in the table of the plan."""
        place = {step: position for position, step in enumerate(self.planned)}
        loops = [[place[s] for s in item.steps if s in place] for item in self.items if isinstance(item, Loop)]
        return "\n".join([f"fused: {_ranges(sorted(loop))} in one kernel" for loop in loops])


def _ranges(numbers: Sequence[int]) -> str:
    """``steps t0…t3, t5`` for their numbers."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    spans = [f"t{g[0]}" if len(g) == 1 else f"t{g[0]}…t{g[-1]}" for g in groups]
    return f"step{'s' if len(numbers) > 1 else ''} {', '.join(spans)}"


def guarded(fast: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """The fast function; the plain one where an angle is too large for it."""

    def run(*args: Any) -> Any:
        try:
            return fast(*args)
        except FarError:
            return plain(*args)

    return run


# The policy


def fixed(step: Step) -> float:
    """Seconds of a step that no kernel saves: in BLAS and LAPACK."""
    if step.op != "call" and step.op != "dot":
        return 0.0
    matrices = step.op == "call" and step.params[1] == 2
    return PER_FLOP * step.flops if matrices or (step.op == "dot" and not bound_by_memory(step)) else 0.0


class AtFirstCall(Switch):
    """A function that is made when it is first called."""

    def __init__(self, make: Callable[[], Callable[..., Any]]):
        super().__init__(self._make)
        self.make = make

    def _make(self, *args: Any) -> Any:
        with LOCKS.compiling:  # other threads wait for it
            if self.run == self._make:
                self.settle(self.make())
        return self.run(*args)


def with_kernels(runner: Runner) -> Runner:
    """What runs, its loops kernels from its first call on, or, without being asked for it, once these prove faster."""
    fused, plan, plain = runner.plan.option("fused"), runner.plan, runner.run
    if fused:
        require_numba()
    if plan.setting.dtype not in TYPES or not installed():
        return runner
    made: list[FusedEmitter] = []

    def make() -> Callable[..., Any] | None:
        full = not fused and COMPILED["kernels"] >= MOST_COMPILED
        able = (lambda _step: False) if full else gaining(plan.program, plan.setting.dtype)
        worth = Saving(able=able, seconds=0.0 if fused else WORTH_A_KERNEL)
        emitter = FusedEmitter(plan, worth)
        source = emitter.source()
        if not emitter.kernels and not emitter.filled:
            return None
        made[:] = [emitter]
        fast = source.function()
        emitter.made = source
        return guarded(fast, plain) if any(k.far for k in emitter.kernels.values()) else fast

    def keep(_run: Callable[..., Any]) -> None:
        (emitter,) = made
        assert emitter.made is not None
        note = "\n".join([line for line in (plan.note, emitter.note()) if line])
        runner.source, runner.plan = emitter.made, replace(plan, note=note)

    def at_once() -> Callable[..., Any]:
        run = make()
        if run is not None:
            keep(run)
        return run or plain

    if fused:
        switch: Switch = AtFirstCall(at_once)
    else:
        steps = plan.program.steps
        large = max([step.out.entries for step in steps], default=0) > ENTRIES
        costs = FIRST[large] + EACH[large] * len(steps)
        switch = Trial(plain, saving(steps, plan.itemsize), sum(map(fixed, steps)), costs, make, keep)
    switch.holders.add(runner)
    runner.run = switch
    return runner
