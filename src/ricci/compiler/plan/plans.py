"""Plans: a program with the table of what it does, and the source and the function made of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ricci.compiler.plan.program import VIEWS, Program, Step, Value, einsum_text, nbytes
from ricci.grid import Grid, Shown

WORDS = {
    "sum": "sum",
    "dot": "dot",
    "read": "view",
    "place": "place",
    "take": "gather",
    "scatter": "scatter-add",
    "spread": "view",
    "merge": "reshape",
    "cast": "cast",
    "check": "check places",
    "guard": "guard",
}


@dataclass(eq=False, repr=False)
class Plan(Shown):
    """What a compiled function does for one set of sizes and types; it prints as a table."""

    program: Program
    source: str
    run: Callable[..., Any]
    itemsize: int
    note: str = ""
    later: Callable[[], None] | None = None  # makes it faster, and takes its time
    patience: int = 0  # calls before that
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def advance(self) -> None:
        """Before a call: what was put off, once it is due. Other threads wait for it."""
        if self.later is None:
            return
        with self._lock:
            if self.patience:
                self.patience -= 1
            elif self.later is not None:
                self.later()
                self.later = None

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
        names = {value: name for name, value in self.program.inputs.items()}
        for position, step in enumerate(self.program.steps):
            names[step.out] = f"t{position}"
        rows = []
        for step in self.program.steps:
            shown = [f"{names.get(v, 'constant')}" if isinstance(v, Value) else str(v) for v, _ in step.args]
            word = step.name if step.op in ("map", "call") else WORDS[step.op]
            operation = f"{word}({', '.join(shown)})" + (f"  {einsum_text(step)}" if step.op == "dot" else "")
            shape = "×".join(map(str, step.out.shape)) or "scalar"
            rows.append((names[step.out], operation, shape, f"{step.flops:,}", f"{self._made(step):,}"))
        return rows

    def grid(self) -> Grid:
        steps = self.program.steps
        made = sum(self._made(step) for step in steps)
        totals = f"{len(steps)} steps, {self.flops:,} FLOPs, {made:,} bytes made, at most {self.peak:,} at once"
        heads = ["step", "operation", "shape", "FLOPs", "bytes"]
        return Grid(heads, self.rows(), right={3, 4}, above=self.note, below=totals)


def run_source(source: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The function that the source defines. The source is ours: no text of a user is in it."""
    names = dict(scope)
    exec(compile(source, "<ricci program>", "exec"), names)
    return names["program"]
