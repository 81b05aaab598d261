"""Programs: steps from inputs to results, and the table of what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ricci.compiler.plan.axis_names import NamedAxes, Names
from ricci.compiler.plan.program_steps import Result, Step, Value, shape_text
from ricci.grid import Grid, Shown

WORDS = {
    "sum": "sum",
    "dot": "dot",
    "read": "view",
    "place": "place",
    "take": "gather",
    "scatter": "scatter-add",
    "locate": "places",
    "spread": "view",
    "merge": "reshape",
    "cast": "cast",
    "check": "check places",
    "guard": "guard",
}


@dataclass(eq=False, repr=False)
class Program(Shown):
    """Steps from inputs to results."""

    inputs: dict[str, Value]
    steps: list[Step]
    results: list[Result]
    constants: list[Value] = field(default_factory=list)
    axes: NamedAxes = field(default_factory=NamedAxes)  # what indices are called, where somebody looks

    def with_axes(self, names: Mapping[Value, Names]) -> Program:
        """The program with these names for the axes of its inputs, and those that follow from them."""
        axes = NamedAxes(names)
        axes.follow(self.steps)
        return replace(self, axes=axes)

    def names(self) -> dict[Value, str]:
        """What values are called in tables: inputs by their names, the results of steps ``t0``, ``t1``, …"""
        inputs = {value: name for name, value in self.inputs.items()}
        return {**inputs, **{step.out: f"t{number}" for number, step in enumerate(self.steps)}}

    def rows(self) -> list[tuple[str, str, str]]:
        """Step, operation and shape of each step; those of a loop, indented, below it."""
        return [row for _, row in self.listed()]

    def listed(
        self, names: dict[Value, str] | None = None, before: str = ""
    ) -> list[tuple[Step | None, tuple[str, str, str]]]:
        """All steps with their rows; some rows are of no step."""
        names = names or self.names()
        rows: list[tuple[Step | None, tuple[str, str, str]]] = []
        for step in self.steps:
            shown = [names.get(v, "constant") if isinstance(v, Value) else str(v) for v, _ in step.args]
            word = step.name if step.op in ("map", "call") else WORDS[step.op]
            if step.loop is not None:
                word = "last of loop" if step.loop.last else "loop"
            operation = f"{word}({', '.join(shown)})" + (f"  {self.axes.spelled(step)}" if step.op == "dot" else "")
            rows.append((step, (names[step.out], before + operation, shape_text(step.out.shape))))
            if step.loop is not None:
                axes = [self.axes.of(v) if isinstance(v, Value) else () for v, _ in step.args]
                rows += step.loop.listed(shown, names[step.out], before, axes)
        return rows

    def grid(self) -> Grid:
        names = self.names()
        inputs = [(name, "input", shape_text(v.shape), v.kind) for name, v in self.inputs.items()]
        steps = [(*row, "" if step is None else step.out.kind) for step, row in self.listed()]
        results = [
            ("result", names.get(r.value, "constant") if isinstance(r.value, Value) else str(r.value))
            + (shape_text(r.shape), r.kind)
            for r in self.results
        ]
        return Grid(["value", "operation", "shape", "kind"], [*inputs, *steps, *results])

    def last_use(self) -> dict[Value, int]:
        """For each value the number of the step after which nobody reads it; results are read at the end."""
        last: dict[Value, int] = {}
        for number, step in enumerate(self.steps):
            last.update(dict.fromkeys(step.operands, number))
        last.update({r.value: len(self.steps) for r in self.results if isinstance(r.value, Value)})
        return last


def used(program: Program) -> Program:
    """The program without steps and constants that nobody reads."""
    wanted = {r.value for r in program.results if isinstance(r.value, Value)}
    kept = []
    for step in reversed(program.steps):
        if step.out in wanted:
            kept.append(step)
            wanted.update(step.operands)
    program.steps = kept[::-1]
    program.constants = [value for value in program.constants if value in wanted]
    return program
