"""NumPy source with fused kernels: every loop is one call of a function that Numba compiled.

*When.* A kernel takes about a second to compile. ``compile(…, fused=True)`` compiles at the first call. By default the
first call with given sizes runs plain NumPy, and the second compiles, if Numba is installed and the estimate says that
each call saves :data:`WORTHWHILE` seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ricci.compiler.emit.numpy_source import NumpyEmitter
from ricci.compiler.emit.source import Source, tuple_text
from ricci.compiler.fused.entries import fusable
from ricci.compiler.fused.kernel import FarError, Kernel, ResultBlock, installed, kernel, require_numba
from ricci.compiler.fused.kernel_maps import POWERS, SLOW
from ricci.compiler.fused.memory import Group, grouped
from ricci.compiler.plan.loops import INSIDE, PER_BYTE, PER_STEP, WORTHWHILE, Loop, Worth, blocked, saving
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program import Program, Result, Step, Value
from ricci.compiler.run.runner import Runner

WORTH_A_KERNEL = 2e-5  # seconds that each kernel must save then
MOST_STEPS = 4000  # of a kernel: compiling takes 2 ms for each
FEW = 3  # constant results, up to which each is made by itself
TYPES = ("float64", "float32")
MANY = 8  # kernels that nobody asked for, after which plans wait for one more call: sizes may change all the time
_unasked = {"kernels": 0}


def gaining(program: Program) -> Callable[[Step], bool]:
    """Which steps of a program are better in a kernel.

    Not those for which NumPy has a faster function than the C library, and not products with a matrix that BLAS takes
    as it is, unless the matrix is read by other steps of kernels anyway.
    """
    read = {v for step in program.steps if step.op in INSIDE and step.op != "dot" for v in step.operands}

    def gains(step: Step) -> bool:
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
    return Program(program.inputs, steps, results, program.constants)


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
        super().__init__(replace(plan, program=program, items=blocked(program, plan.itemsize, worth)))
        self.planned = plan.program.steps
        self.kernels: dict[str, Kernel] = {}
        self.laid_out: set[Value] = set(self.program.constants)  # what is known to lie row by row
        self.filled: dict[Result, str] = {}

    def loop(self, loop: Loop) -> None:
        made = kernel(loop, self.dtype)
        assert made is not None  # what cannot be fused is in no loop
        name = f"kernel{len(self.kernels)}"
        self.kernels[name] = made
        args = [self.argument(value) for value in made.arguments]
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


class Switch:
    """A function that may become another one, for those who hold on to it."""

    def __init__(self, run: Callable[..., Any]):
        self.run = run

    def __call__(self, *args: Any) -> Any:
        return self.run(*args)


def with_kernels(runner: Runner) -> Runner:
    """What runs, its loops kernels from its first call on, or, without being asked for it, from the second."""
    fused, plan = runner.plan.option("fused", False), runner.plan
    if fused:
        require_numba()
    elif not installed():
        return runner
    if plan.setting.dtype in TYPES:
        runner.run = switch = Switch(runner.run)

        def later() -> None:
            _improve(runner, switch, bool(fused))
            if runner.run is switch:
                runner.run = switch.run

        runner.later, runner.patience = later, 0 if fused else 1 + _unasked["kernels"] // MANY
    return runner


def _improve(runner: Runner, switch: Switch, asked: bool) -> None:
    """Give it kernels. If nobody asked for them, they must be worth it, and nothing breaks if they fail."""
    plan = runner.plan
    worth = Saving(able=gaining(plan.program), seconds=0.0 if asked else WORTH_A_KERNEL)
    if not asked and _estimate(plan, worth) < WORTHWHILE:
        return
    emitter = FusedEmitter(plan, worth)
    source = emitter.source()
    try:
        fast = source.function()
    except Exception as error:
        if asked:
            raise
        warnings.warn(f"Numba could not compile a kernel, so plain NumPy stays: {error}", RuntimeWarning, stacklevel=5)
        return
    if not asked:
        _unasked["kernels"] += len(emitter.kernels)
    if emitter.kernels or emitter.filled:
        far = any(k.far for k in emitter.kernels.values())
        switch.run = guarded(fast, switch.run) if far else fast
        runner.source = source
        runner.plan = replace(plan, note="\n".join([line for line in (plan.note, emitter.note()) if line]))


def _estimate(plan: Plan, worth: Worth) -> float:
    """Seconds that kernels save in a call; none if compiling them would take too long."""
    loops = [item for item in blocked(plan.program, plan.itemsize, worth) if isinstance(item, Loop)]
    if any(len(loop.steps) > MOST_STEPS for loop in loops):
        return 0.0
    return sum(saving(loop.steps, plan.itemsize) for loop in loops)
