"""The stages between expressions and arrays: each prints, each has a check, and each check can fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.compiler import pipeline, stage_checks
from ricci.compiler.bind import Setting
from ricci.compiler.emit.source import Source
from ricci.compiler.plan.loops import Worth, blocked
from ricci.compiler.plan.program_steps import Result, Step
from ricci.compiler.run.runner import Runner
from ricci.compiler.stage_checks import check
from ricci.errors import InvariantError
from ricci.expr import Op, constant, elementwise, index_size, product, variable

FORMULA = rc.parse("y[i] = tanh(A[i,j] x[j] + b[i])")
SETTING = Setting("numpy", (("A", (3, 4)), ("x", (4,)), ("b", (3,))), (("A", "f"), ("x", "f"), ("b", "f")), "float64")


@pytest.fixture(autouse=True)
def watched():
    rc.cache_clear()
    with pipeline.checked():
        yield
    rc.cache_clear()


def stages(setting: Setting = SETTING) -> dict[str, Any]:
    prepared = pipeline.prepare([FORMULA.expr], {"i": FORMULA.expr.shape[0]}, FORMULA.context.facts)
    bound = pipeline.bind(prepared, setting)
    program = pipeline.lower(bound)
    plan = pipeline.plan(program, setting)
    source = pipeline.emit(plan)
    runner = pipeline.run(plan, source)
    return {
        "prepared": prepared,
        "bound": bound,
        "program": program,
        "plan": plan,
        "source": source,
        "runner": runner,
    }


# How they look

PRINTED = {
    "prepared": """
tanh(A[i,j] x[j] + b[i])
inputs: A, x, b
""",
    "bound": """
input  shape  type
A      3×4    float64
x      4      float64
b      3      float64
sizes: A.0 = 3, A.1 = 4, x.0 = 4, b.0 = 3
results: 3, on numpy
""",
    "program": """
value   operation           shape  kind
A       input               3×4    f
x       input               4      f
b       input               3      f
t0      dot(x, A)  i,ji->j  3      f
t1      add(b, t0)          3      f
t2      tanh(t1)            3      f
result  t2                  3      f
""",
    "plan": """
step  operation           shape  FLOPs  bytes
t0    dot(x, A)  i,ji->j  3         24     24
t1    add(b, t0)          3          3     24
t2    tanh(t1)            3          3     24
3 steps, 30 FLOPs, 72 bytes made, at most 48 at once
""",
    "source": """
def program(in_A, in_x, in_b):
    state = quiet()
    try:
        t3 = in_A.dot(in_x)
        t4 = add(in_b, t3, t3)
        t5 = tanh(t4, t4)
        return t5
    finally:
        restore(state)
""",
}


def test_every_stage_prints():
    found = stages()
    for name, text in PRINTED.items():
        assert str(found[name]) == text.strip(), name
    assert str(found["runner"]) == f"{found['plan']}\n\n{found['source']}"
    for name in ("bound", "program", "plan"):
        assert "<table>" in found[name]._repr_html_()


def test_the_last_stage_runs():
    runner = stages()["runner"]
    arrays = np.ones((3, 4)), np.ones(4), np.zeros(3)
    np.testing.assert_allclose(runner(*arrays), np.tanh(4 * np.ones(3)))


# The checks can fail


def fault(name: str, match: str, change: Callable[[Any], Any]) -> None:
    stage = change(stages()[name])
    with pytest.raises(InvariantError, match=match):
        check(stage)


def test_prepared():
    twice = elementwise(Op("twice", 1, lambda x: 2 * x, (None,), body=lambda args: 2 * args[0]), variable("x", 1))
    fault("prepared", "which the inputs lack", lambda s: _with(s, inputs=("A", "x")))
    fault("prepared", "other axes than what was written", lambda s: replace(s, written=(constant(1),)))
    fault("prepared", "twice is made of other nodes", lambda s: replace(s, roots=(twice,)))


def _with(stage: Any, **values: Any) -> Any:
    """A copy in which something that is found out once has been found out otherwise."""
    copy = replace(stage)
    copy.__dict__.update(values)
    return copy


def test_bound():
    fault("bound", "no number, or negative", lambda s: replace(s, sizes={**s.sizes, ("A", 0): -1}))
    fault("bound", "nothing tells the size b.0", lambda s: replace(s, sizes={}))
    fault("bound", "neither given nor typed", lambda s: replace(s, inputs={}))
    fault("bound", "has the shape", lambda s: replace(s, inputs={**s.inputs, "x": (5,)}))
    other = product([(variable("z", 1), "i")], "in", {"n": index_size("n")})
    fault("bound", "nothing tells", lambda s: s.of([other]))


def test_program():
    def broken(change: Callable[[Any], None]) -> Callable[[Any], Any]:
        def changed(program: Any) -> Any:
            change(program)
            return program

        return changed

    def again(program: Any) -> None:
        program.steps.append(program.steps[0])

    def other(program: Any) -> None:
        step = program.steps[0]
        step.out.step = Step(step.op, step.name, step.args, step.out, step.labels)

    def kind(program: Any) -> None:
        program.steps[0].out.kind = "complex"

    def labels(program: Any) -> None:
        program.steps[2].labels = (0, 1)

    def sizes(program: Any) -> None:
        program.steps[1].args[0][0].shape = (7,)

    def sums(program: Any) -> None:
        step = program.steps[2]
        step.args = ((program.inputs["A"], (0, 1)),)

    def lone(program: Any) -> None:
        step = program.steps[0]
        step.args = (step.args[0], (program.inputs["A"], (1, 2)))

    def result(program: Any) -> None:
        program.results[0] = Result(program.steps[2].out, (0,), (5,), "f")

    fault("program", "is there already", broken(again))
    fault("program", "another step made it", broken(other))
    fault("program", "no kind 'complex'", broken(kind))
    fault("program", "labels of the result are not its axes", broken(labels))
    fault("program", "a label has the sizes", broken(sizes))
    fault("program", "a map sums", broken(sums))
    fault("program", "a dot sums what only one operand has", broken(lone))
    fault("program", "not made before", broken(lambda p: p.steps.reverse()))
    fault("program", "made by no step", broken(lambda p: p.steps.pop()))
    fault("program", "a result of shape", broken(result))


def test_plan():
    fault("plan", "each once", lambda s: replace(s, items=[*s.items, s.items[0]]))
    fault("plan", "each once", lambda s: replace(s, items=s.items[:-1]))
    fault("plan", "before what it needs", lambda s: replace(s, items=s.items[::-1]))

    def lost(plan: Any) -> Any:
        items = blocked(plan.program, 8, Worth(0, 1, 2))
        for item in items:
            if hasattr(item, "kept"):
                item.kept.clear()  # pyright: ignore[reportAttributeAccessIssue]
        return replace(plan, items=items)

    fault("plan", "stays in a loop", lost)


def test_source():
    def without(source: Source) -> Source:
        return replace(source, scope={name: thing for name, thing in source.scope.items() if name != "tanh"})

    fault("source", "no Python", lambda s: replace(s, text=s.text + "\n    )"))
    fault("source", "no function called program", lambda s: replace(s, text="x = 1"))
    fault("source", "nothing says what tanh means", without)


def test_results():
    runner = stages()["runner"]
    arrays = np.ones((3, 4)), np.ones(4), np.zeros(3)
    for made, match in ((np.ones(4), "the shape"), (np.ones(3, int), "holds int64")):
        wrong = Runner(runner.plan, runner.source, lambda *_, made=made: made)
        check(wrong)
        with pytest.raises(InvariantError, match=match):
            wrong(*arrays)


def test_nothing_is_checked_unless_asked(monkeypatch: pytest.MonkeyPatch):
    def refuse(stage: Any) -> str:
        raise AssertionError("checked")

    monkeypatch.setattr(stage_checks, "_CHECKS", dict.fromkeys(stage_checks._CHECKS, refuse))
    with pytest.raises(AssertionError, match="checked"):
        stages()
    monkeypatch.setitem(stage_checks._state, "checking", False)
    stages()


# One way


def test_all_roads_lead_through_it(monkeypatch: pytest.MonkeyPatch):
    """Formulas, compiled functions, transforms, tensors, results in parts, drawings and comparisons."""
    seen: list[str] = []
    lowered = pipeline.lowered

    def counted(*args: Any) -> Any:
        seen.append("lowered")
        return lowered(*args)

    monkeypatch.setattr(pipeline, "lowered", counted)
    A, x, b = np.ones((3, 4)), np.ones(4), np.zeros(3)
    loss = rc.parse("l = (A[i,j] x[j] - b[i])**2 1[i]")

    def through(call: Callable[[], Any]) -> bool:
        rc.cache_clear()
        seen.clear()
        call()
        return bool(seen)

    def backward() -> None:
        t = rc.Tensor(x)
        (t * t).sum().backward()

    assert through(lambda: FORMULA(A=A, x=x, b=b))
    assert through(lambda: FORMULA.compile()(A=A, x=x, b=b))
    assert through(lambda: loss.diff("x", "x").compile(compressed=True)(A=A, x=x, b=b).todense())
    assert through(lambda: rc.grad(lambda x: (x * x).sum())(x))
    assert through(backward)
    assert through(lambda: rc.trace_table(loss, A=A, x=x, b=b))
    assert through(lambda: FORMULA.equivalent(rc.parse("y[i] = tanh(A[i,j] x[j])")))


def test_the_oracles_are_imported_by_tests_alone():
    for path in Path(rc.__file__).parent.rglob("*.py"):
        if path.parent.name != "testing":
            assert "testing.interpreter" not in path.read_text(encoding="utf-8"), path
