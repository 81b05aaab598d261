"""What every stage of the pipeline satisfies, in one place. Inside :func:`checked` each is checked as it is made."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from symtable import SymbolTable, symtable
from typing import Any, TypeVar

from ricci.compiler.bind import Bound
from ricci.compiler.emit.source import PROGRAM, Source
from ricci.compiler.plan.loops import Loop
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import Step, Value
from ricci.compiler.prepare.choices import HELD
from ricci.compiler.prepare.mirrored import MIRRORED
from ricci.compiler.prepare.prepared import Prepared
from ricci.compiler.run.runner import Runner
from ricci.errors import InvariantError
from ricci.expr import Elementwise, Function, Variable, dims, topological
from ricci.expr import check as check_expressions

Stage = TypeVar("Stage", Prepared, Bound, Program, Plan, Source, Runner)
_state = {"checking": False}


@contextmanager
def checked() -> Iterator[None]:
    """Inside, in all threads, every stage is checked when it is made, and every result when it is returned."""
    before, _state["checking"] = _state["checking"], True
    try:
        yield
    finally:
        _state["checking"] = before


def passed(stage: Stage) -> Stage:
    """The stage, checked where that is asked for."""
    if _state["checking"]:
        check(stage)
    return stage


def check(stage: Prepared | Bound | Program | Plan | Source | Runner) -> None:
    """Raise :class:`InvariantError` for the first thing in a stage that is not as it must be."""
    fault = _CHECKS[type(stage)](stage)
    if fault:
        raise InvariantError(f"{type(stage).__name__} is not well formed: {fault}.\n{stage}")


# Expressions


def _prepared(stage: Prepared) -> str:
    check_expressions(*stage.roots)
    for node in stage.nodes:
        if isinstance(node, (Elementwise, Function)) and node.op.body is not None and node.op not in (HELD, MIRRORED):
            return f"{node.op.name} is made of other nodes, and stands there itself"
    lacking = [v.name for v in stage.needed if v.name not in stage.inputs]
    if lacking:
        return f"results depend on {', '.join(lacking)}, which the inputs lack"
    if [len(root.shape) for root in stage.roots] != [len(root.shape) for root in stage.written]:
        return "the results have other axes than what was written"
    return ""


def _bound(stage: Bound) -> str:
    if any(not isinstance(n, int) or n < 0 for n in stage.sizes.values()):
        return "a size is no number, or negative"
    for node in topological(*stage.roots):
        if isinstance(node, Function) and node.op.later:
            return f"{node.op.name} still waits for sizes"
        unknown = {atom for size in node.shape for atom in dims.atoms(size)} - stage.sizes.keys()
        if unknown:
            return f"nothing tells the size {dims.atom_text(min(unknown, key=repr))}"
        if isinstance(node, Variable):
            if node.name not in stage.inputs or node.name not in stage.kinds:
                return f"the input {node.name} is neither given nor typed"
            if tuple([dims.evaluate(n, stage.sizes) for n in node.shape]) != stage.inputs[node.name]:
                return f"the input {node.name} has the shape {stage.inputs[node.name]}, and another in the expressions"
    return ""


# Steps


def _program(stage: Program) -> str:
    known = {*stage.inputs.values(), *stage.constants}
    for number, step in enumerate(stage.steps):
        fault = _step(step, known)
        if fault:
            return f"step t{number}, {step.op} {step.name}: {fault}"
        known.add(step.out)
    for result in stage.results:
        if not isinstance(result.value, Value):
            continue
        if result.value not in known:
            return "a result is made by no step"
        if len(set(result.axes)) != len(result.axes) or len(result.axes) != len(result.value.shape):
            return "the axes of a result are not those of its value"
        if any(result.shape[axis] != n for axis, n in zip(result.axes, result.value.shape, strict=True)):
            return f"a result of shape {result.shape} has a value of shape {result.value.shape} at {result.axes}"
    return ""


def _step(step: Step, known: set[Value]) -> str:
    if step.out in known:
        return "what it makes is there already"
    if step.out.step is not step:
        return "what it makes says that another step made it"
    if any(value not in known for value in step.operands):
        return "an operand is not made before"
    if len(step.labels) != len(step.out.shape) or len(set(step.labels)) != len(step.labels):
        return "the labels of the result are not its axes"
    if step.out.kind not in ("c", "f", "i", "b"):
        return f"there is no kind {step.out.kind!r}"
    if step.op in ("map", "sum", "dot", "guard", "spread", "cast"):
        return _lined_up(step)
    return ""


def _lined_up(step: Step) -> str:
    """Whether a label has one size, and every label of the result an operand, unless it spreads."""
    sizes: dict[int, int] = dict(zip(step.labels, step.out.shape, strict=True))
    carried = set()
    for value, labels in step.args:
        if isinstance(value, Value):
            if len(labels) != len(value.shape):
                return "an operand has other axes than labels"
            carried.update(labels)
            for x, n in zip(labels, value.shape, strict=True):
                if sizes.setdefault(x, n) != n:
                    return f"a label has the sizes {sizes[x]} and {n}"
    if step.op != "spread" and not set(step.labels) <= carried:
        return "no operand has a label of the result"
    if step.op in ("map", "cast") and not carried <= set(step.labels):
        return "a map sums"
    if step.op == "dot":
        (_, a), (_, b) = step.args
        return "" if set(a) ^ set(b) <= set(step.labels) else "a dot sums what only one operand has"
    return ""


def _plan(stage: Plan) -> str:
    fault = _program(stage.program)
    if fault:
        return fault
    steps = [step for item in stage.items for step in (item.steps if isinstance(item, Loop) else [item])]
    if len(steps) != len(set(steps)) or set(steps) != set(stage.program.steps):
        return "the steps that run are not those of the program, each once"
    known = {*stage.program.inputs.values(), *stage.program.constants}
    for item in stage.items:
        if any(value not in known for value in item.operands):
            return "something runs before what it needs"
        known.update(item.out if isinstance(item, Loop) else [item.out])
    needed = {r.value for r in stage.program.results if isinstance(r.value, Value)}
    return "" if needed <= known else "a result stays in a loop"


# Text


def _source(stage: Source) -> str:
    try:
        functions = symtable(stage.text, PROGRAM, "exec").get_children()
    except SyntaxError as error:
        return f"it is no Python: {error}"
    if not functions or functions[-1].get_name() != "program":
        return "it ends with no function called program"
    known = {*stage.scope, *stage.kernels, *dir(builtins)}
    own = [table for table in functions if table.get_name() not in stage.kernels]  # whose names are Numba's
    unknown = {name for table in own for name in _global_names(table)} - known
    return f"nothing says what {', '.join(sorted(unknown))} means" if unknown else ""


def _global_names(table: SymbolTable) -> Iterator[str]:
    yield from [symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()]
    for inner in table.get_children():
        yield from _global_names(inner)


# Results


def _runner(stage: Runner) -> str:
    """It is wrapped: what it returns is compared with what the program says. ``torch.compile`` would trace that too."""
    fault = _plan(stage.plan) or _source(stage.source)
    if not fault and stage.plan.setting.target != "torch":
        stage.run = _Watched(stage.run, stage.plan)
    return fault


class _Watched:
    """A function of a program that looks at its results."""

    def __init__(self, run: Callable[..., Any], plan: Plan):
        self.run, self.plan = run, plan

    def __call__(self, *arrays: Any) -> Any:
        made = self.run(*arrays)
        results: Sequence[Any] = (made,) if self.plan.setting.single else made
        for value, wanted in zip(results, self.plan.program.results, strict=True):
            if tuple(value.shape) != wanted.shape:
                raise InvariantError(
                    f"A result has the shape {tuple(value.shape)}, and {wanted.shape} was planned.\n{self.plan}"
                )
            held = str(value.dtype).removeprefix("torch.")
            kind = "b" if held == "bool" else "i" if "int" in held else "c" if "complex" in held else "f"
            if kind != wanted.kind and math.prod(wanted.shape):
                raise InvariantError(f"A result holds {held}, and {wanted.kind!r} was planned.\n{self.plan}")
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run, name)


_CHECKS: dict[type, Callable[[Any], str]] = {
    Prepared: _prepared,
    Bound: _bound,
    Program: _program,
    Plan: _plan,
    Source: _source,
    Runner: _runner,
}
