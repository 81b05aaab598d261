"""Loops, once all sizes are known: the program of one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ricci.compiler.bind import Bound
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import Form, Step, Value
from ricci.compiler.plan.rolled import Branched, Rolled
from ricci.compiler.prepare.prepared import prepared
from ricci.expr import Function, Shape, Size, add, variable

ADDED = "loop.f"
Lower = Callable[[Bound], Program]


def rolled_up(
    node: Function,
    operands: Sequence[Value],
    bound: Bound,
    size: Callable[[Size], int],
    lower: Lower,
) -> Rolled:
    """What runs a loop. The inputs of its step are those of the body, with what is added in it, and the state last."""
    body = node.op.loop
    if body.forced:
        body = body.with_columns(node.shape[len(node.shape) - node.params[0] :])
    result, inputs = body.result, [*body.fixed, *body.slices]
    if body.forced:
        inputs.append(variable(ADDED, body.state.shape))
        result = add([(1, result), (1, inputs[-1])])
    kinds = {v.name: value.kind for v, value in zip(inputs, operands, strict=False)}
    kinds[body.state.name] = "f"
    inputs.append(body.state)

    def known(shape: Shape) -> tuple[int, ...]:
        return tuple([size(n) for n in shape])

    shapes = {v.name: known(v.shape) for v in inputs}
    setting = bound.setting.of_part(shapes, kinds)
    program = lower(Bound(prepared([result]).roots, bound.sizes, shapes, setting))
    name = "_".join(map(str, (node.op.name, *shapes[body.state.name])))
    return Rolled(program, setting, size(body.length), len(body.fixed), body.forced, body.last, name)


def branched(
    node: Function,
    operands: Sequence[Value],
    bound: Bound,
    size: Callable[[Size], int],
    lower: Lower,
) -> Branched:
    """What runs the branch that a number tells: a program for each."""
    body = node.op.branches.with_columns(node.shape[len(node.shape) - sum(node.params) :])
    shapes = {v.name: tuple([size(n) for n in v.shape]) for v in body.operands}
    kinds = {v.name: value.kind for v, value in zip(body.operands, operands[1:], strict=True)}
    setting = bound.setting.of_part(shapes, kinds)
    programs = [lower(Bound(prepared([e]).roots, bound.sizes, shapes, setting)) for e in body.results]
    shape = tuple([size(n) for n in node.shape])
    return Branched(programs, setting, shape, "_".join(map(str, (node.op.name, *shape))))


def with_last_alone(program: Program) -> Program:
    """The program, in which loops keep no states of which nobody reads any but the last."""
    loops = [step for step in program.steps if step.loop is not None and not step.loop.last]
    if not loops:
        return program
    results = {r.value for r in program.results if isinstance(r.value, Value)}
    users: dict[Value, list[Step]] = {}
    for step in program.steps:
        for value in step.operands:
            users.setdefault(value, []).append(step)
    new: dict[Step, Step] = {}
    for step in loops:
        last = Form((), step.loop.length)
        readers = users.get(step.out, [])
        if step.out in results or not all(r.op == "read" and r.params[0] == last for r in readers):
            continue
        out = Value(step.out.shape[1:], step.out.kind)
        rolled = replace(step.loop, last=True, name=f"{step.loop.name}_last")
        out.step = new[step] = Step("call", step.name, step.args, out, step.labels[1:], ((rolled,), step.params[1]))
        for reader in readers:
            (_, labels) = reader.args[0]
            args = ((out, labels[1:]),)
            made = new[reader] = Step("read", reader.name, args, reader.out, reader.labels, reader.params[1:])
            reader.out.step = made
    program.steps = [new.get(step, step) for step in program.steps]
    return program
