"""What runs: the function of a program, with the plan and the source that it was made of."""

from __future__ import annotations

import threading
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
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

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

    def __call__(self, *arrays: Any) -> Any:
        self.advance()
        return self.run(*arrays)

    def __str__(self) -> str:
        return f"{self.plan}\n\n{self.source}"
