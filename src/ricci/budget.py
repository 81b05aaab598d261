"""``rc.limits``: how much work may go into symbolic operations before they end with :class:`ricci.LimitError`.

Work is counted where all of it passes: nodes that are made, also those that exist already; nodes that rules are tried
at; operands that are ordered; parts that are written; steps that are planned. Each of these calls :func:`spend`, which
costs one look at a context variable where there is no limit. What is done to arrays is not counted.

A limit that was exceeded stays exceeded until its ``with`` ends, so whoever goes on after the error meets it again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ricci.checked_calls import takes
from ricci.errors import LimitError
from ricci.within import within

_ACTIVITIES = {  # by the module whose functions are running, the longest name that fits
    "expr": "building an expression",
    "expr.build.canonical": "ordering the factors of a product",
    "notation": "reading a text",
    "calculus": "differentiating",
    "simplify": "simplifying",
    "simplify.symmetry": "looking for symmetries",
    "simplify.proof": "looking for a proof",
    "show": "writing an expression",
    "show.derivation": "writing a derivation",
    "show.deriving": "writing a derivation",
    "user.derivations": "writing a derivation",
    "show.structure": "looking for structure",
    "compiler": "compiling",
    "tracing": "tracing a function",
    "transforms": "transforming a function",
    "drawing": "drawing",
    "user.equations": "working on an equation",
    "user.refinement": "working on an equation",
    "user.derivatives": "differentiating",
}


@takes("rc.limits", seconds="amount or None", nodes="amount or None")
@contextmanager
def limits(seconds: float | None = None, nodes: int | None = None) -> Iterator[None]:
    """Inside, operations on expressions that take too much time, or too many nodes, end with ``LimitError``.

    ``nodes`` counts those made, rewritten and written; ``seconds`` are looked at whenever one is. Limits within limits
    hold together. They hold in this thread or task, and nothing is limited by default.

    >>> import ricci as rc
    >>> with rc.limits(seconds=10, nodes=50):
    ...     rc.parse("y = sin(cos(sin(cos(x))))").diff("x", "x", "x")
    Traceback (most recent call last):
    ricci.errors.LimitError: Differentiating took more than 50 nodes, ...
    """
    with within(_budget, _Budget(seconds, nodes, _budget.get())):
        yield


class _Budget:
    """What is left to be spent, here and in the limits around."""

    __slots__ = ("end", "nodes", "outer", "seconds", "spent")

    def __init__(self, seconds: float | None, nodes: int | None, outer: _Budget | None):
        self.seconds, self.nodes, self.outer = seconds, nodes, outer
        self.end = None if seconds is None else time.monotonic() + seconds
        self.spent = 0

    def take(self, count: int) -> None:
        self.spent += count
        if self.nodes is not None and self.spent > self.nodes:
            raise _error(f"{self.nodes:,} nodes", f"nodes={self.nodes}")
        if self.end is not None and time.monotonic() > self.end:
            raise _error(f"{self.seconds:g} s, and {self.spent:,} nodes", f"seconds={self.seconds:g}")
        if self.outer is not None:
            self.outer.take(count)


_budget: ContextVar[_Budget | None] = ContextVar("limits", default=None)
budget = _budget.get  # what may be spent here, if that is limited: for whoever is called so often that a call counts


def spend(count: int = 1) -> None:
    """Count work against the limits, if there are any; none of it, to look at the clock only."""
    limit = budget()
    if limit is not None:
        limit.take(count)


def _error(amount: str, limit: str) -> LimitError:
    return LimitError(
        f"{_doing().capitalize()} took more than {amount}, the limit that rc.limits({limit}) sets. "
        "Allow more, or take a smaller expression: fewer derivatives at once, shorter products, fewer steps."
    )


def _doing() -> str:
    """What the outermost and the innermost functions that are running are for."""
    found: list[str] = []
    frame = sys._getframe(2)
    while frame is not None:
        activity = _activity(frame.f_globals.get("__name__", ""))
        if activity and (not found or found[-1] != activity):
            found.append(activity)
        frame = frame.f_back
    inner, outer = found[0] if found else "an operation", found[-1] if found else "an operation"
    if inner == _ACTIVITIES["expr"]:
        inner = next((word for word in found if word != inner), inner)
    return outer if inner == outer else f"{outer} ({inner})"


def _activity(module: str) -> str:
    package, _, room = module.partition(".")
    while room and room not in _ACTIVITIES:
        room = room.rpartition(".")[0]
    return _ACTIVITIES.get(room, "") if package == "ricci" else ""
