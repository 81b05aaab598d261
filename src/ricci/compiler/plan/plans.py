"""Plans: a program, which of its steps run together in loops, and the table of what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ricci.compiler.bind import Setting
from ricci.compiler.plan.loops import Loop
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import VIEWS, Step, Value, nbytes
from ricci.grid import Grid, Shown


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Shown):
    """What a compiled function does for one set of sizes and types; it prints as a table."""

    program: Program
    setting: Setting
    items: Sequence[Step | Loop]  # the steps of the program in the order in which they run, some of them in loops
    itemsize: int
    note: str = ""

    def option(self, name: str, default: Any = None) -> Any:
        return dict(self.setting.options).get(name, default)

    @property
    def flops(self) -> int:
        return sum(step.flops for step in self.program.steps)

    @property
    def peak(self) -> int:
        """The most bytes alive at once, inputs aside, if every step makes a new array and views cost nothing."""
        last = self.program.last_use()
        ending: dict[int, list[Value]] = {}
        for value, number in last.items():
            ending.setdefault(number, []).append(value)
        alive = most = 0
        for number, step in enumerate(self.program.steps):
            alive += self._made(step)
            most = max(most, alive)
            alive -= sum(self._made(v.step) for v in ending.get(number, ()) if v.step is not None)
        return most

    def _made(self, step: Step) -> int:
        return 0 if step.op in VIEWS else nbytes(step.out, self.itemsize)

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Step, operation, shape, FLOPs and bytes of each step."""
        own = set(self.program.steps)  # those of a loop are counted there
        rows = []
        for step, (name, operation, shape) in self.program.listed():
            flops, made = (f"{step.flops:,}", f"{self._made(step):,}") if step in own else ("", "")
            rows.append((name, operation, shape, flops, made))
        return rows

    def grid(self) -> Grid:
        made = sum(self._made(step) for step in self.program.steps)
        totals = (
            f"{len(self.program.steps)} steps, {self.flops:,} FLOPs, {made:,} bytes made, at most {self.peak:,} at once"
        )
        heads = ["step", "operation", "shape", "FLOPs", "bytes"]
        return Grid(heads, self.rows(), right={3, 4}, above=self.note, below=totals)
