"""What runs: the function of a program, with the plan and the source that it was made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from ricci.compiler.emit.source import Source
from ricci.compiler.plan.plans import Plan


@dataclass(eq=False)
class Runner:
    """The last stage: ``run`` takes the inputs of the program in their order, and gives its results."""

    plan: Plan
    source: Source
    run: Callable[..., Any] = field(repr=False)
    around: Callable[[Callable], Callable] | None = field(default=None, repr=False)  # what was made of a plain one

    def __call__(self, *arrays: Any) -> Any:
        return self.run(*arrays)

    def renew(self, before: Callable[..., Any], after: Callable[..., Any]) -> None:
        """What runs is another function now."""
        if self.run is before:
            self.run = after

    def __str__(self) -> str:
        return f"{self.plan}\n\n{self.source}"


class Switch:
    """A function that becomes another one. Those who hold on to it, ``holders``, are told when it has: ``renew``."""

    def __init__(self, run: Callable[..., Any]):
        self.run = run
        self.holders: WeakSet[Any] = WeakSet()

    def __call__(self, *args: Any) -> Any:
        return self.run(*args)

    def settle(self, run: Callable[..., Any]) -> None:
        """What it is from now on."""
        self.run = run
        for holder in list(self.holders):
            holder.renew(self, run)
