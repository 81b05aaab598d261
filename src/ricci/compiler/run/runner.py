"""What runs: the function of a program, with the plan and the source that it was made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ricci.compiler.emit.source import Source
from ricci.compiler.plan.plans import Plan


@dataclass(eq=False)
class Runner:
    """The last stage: ``run`` takes the inputs of the program in their order, and gives its results."""

    plan: Plan
    source: Source
    run: Callable[..., Any] = field(repr=False)
    later: Callable[[], None] | None = field(default=None, repr=False)  # makes it faster, and takes its time
    patience: int = 0  # calls before that

    def advance(self) -> None:
        """Before a call: what was put off, once it is due. Meanwhile other threads go on as before."""
        if self.later is None:
            return
        if self.patience:
            self.patience -= 1
            return
        later, self.later = self.later, None
        try:
            later()
        except BaseException:
            self.later = later  # it was interrupted
            raise

    def __call__(self, *arrays: Any) -> Any:
        self.advance()
        return self.run(*arrays)

    def __str__(self) -> str:
        return f"{self.plan}\n\n{self.source}"
