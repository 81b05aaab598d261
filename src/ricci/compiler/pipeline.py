"""The one way from expressions to arrays, top to bottom.

| stage | what comes out of it | |
|---|---|---|
| ``prepare`` | ``Prepared`` | expressions, simplified, in terms of what backends have; known before any size is |
| ``bind`` | ``Bound`` | a number for every size, a shape and a type for every input, all of them checked |
| ``lower`` | ``Program`` | straight lines of steps on arrays: orders of products, views in place of structures |
| ``plan`` | ``Plan`` | which steps run together, in loops over blocks |
| ``emit`` | ``Source`` | the text of a function of the backend, and what its names mean |
| ``run`` | ``Runner`` | the function |

Formulas, compiled functions, transforms, pullbacks of tensors and results in parts all go this way. Each stage is a
value that prints itself, and each has invariants (``stage_checks.py``), which are checked inside ``checked()``.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ricci.caches import MOST_PLANS, PLANS, Cache
from ricci.compiler import stage_checks as checks
from ricci.compiler.bind import Bound, Setting, bound
from ricci.compiler.emit.source import Source
from ricci.compiler.lower.expressions import lowered
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.rolled import Rolled
from ricci.compiler.prepare.prepared import Prepared, prepared
from ricci.compiler.run.engines import target_named
from ricci.compiler.run.runner import Runner
from ricci.compiler.stage_checks import checked
from ricci.expr import Expr, Size
from ricci.notation.context import Facts

__all__ = ["bind", "checked", "emit", "evaluate", "lower", "plan", "prepare", "ready", "run"]

_plans = Cache(PLANS, MOST_PLANS)


def prepare(
    roots: Sequence[Expr],
    names: Mapping[str, Size] | None = None,
    facts: Facts | None = None,
    preferred: Sequence[str] = (),
    simplify: bool = True,
) -> Prepared:
    """Results that can be compiled for any sizes; ``names`` are their indices, with the sizes of these."""
    return checks.passed(prepared(roots, names, facts, preferred, simplify))


def bind(stage: Prepared, setting: Setting) -> Bound:
    """The results for the shapes and types of one call."""
    return checks.passed(bound(stage, setting))


def lower(stage: Bound) -> Program:
    """The steps that compute them."""
    return checks.passed(lowered(stage, target_named(stage.setting.target).rearranged))


def plan(program: Program, setting: Setting) -> Plan:
    """The steps in the order and in the loops in which they run."""
    return checks.passed(target_named(setting.target).plan(program, setting))


def emit(stage: Plan) -> Source:
    """The source of a plan."""
    return checks.passed(target_named(stage.setting.target).emitter(stage).source())


def run(stage: Plan, source: Source) -> Runner:
    """What a source does, ready to be called."""
    return checks.passed(target_named(stage.setting.target).runner(stage, source))


# The whole way


def made(program: Program, setting: Setting) -> Runner:
    """The second half, from a program on."""
    stage = plan(program, setting)
    return run(stage, emit(stage))


def _looped(rolled: Rolled, backend: str) -> Callable[..., Any]:
    from ricci.compiler.fused.loop_kernel import LoopRun, TensorRun

    return LoopRun(rolled, rolled.by_steps) if backend == "numpy" else TensorRun(rolled, rolled.by_tensors)


Rolled.made, Rolled.runs = staticmethod(made), staticmethod(_looped)  # the steps of loops go this way as well


def _again(stage: Plan, around: Callable[[Callable], Callable] | None) -> Runner:
    """What runs, from a plan that has travelled: functions do not."""
    runner = run(stage, emit(stage))
    if around is not None:
        runner.around, runner.run = around, around(runner.run)
    return runner


copyreg.pickle(Runner, lambda runner: (_again, (runner.plan, runner.around)))


def whole(stage: Prepared, setting: Setting) -> Runner:
    """All of it, for one call."""
    return made(lower(bind(stage, setting)), setting)


def ready(stage: Prepared, setting: Setting, road: Callable[[Prepared, Setting], Runner] = whole) -> Runner:
    """What computes prepared results for a call: made once for equal expressions, shapes and types, and kept.

    ``road`` is what makes it, which for results in parts goes another way between the stages.
    """
    plans = _plans if stage.plans is None else stage.plans
    return plans.made((stage.roots, stage.conditions, setting, road), lambda: road(stage, setting))


def evaluate(stage: Prepared, inputs: Mapping[str, Any], sizes: Mapping[Any, int] | None = None) -> list[Any]:
    """The values of prepared results for arrays of NumPy; ``sizes`` are those that no input tells.

    With all nodes of an expression as results, not simplified, these are the values on the way.
    """
    target = target_named("numpy")
    arrays = target.arrays(inputs)
    setting = target.setting(arrays, sizes or {}, single=False)
    runner = ready(stage, setting)
    return list(runner.run(*[arrays[name] for name in runner.plan.program.inputs]))
