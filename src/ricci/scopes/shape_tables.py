"""Tables of shapes: what a function does with its axes, operation by operation.

``rc.shapes(f)(x)`` runs ``f(x)`` and lists every operation with its pattern, the sizes of its axes, the shapes before
and after, and the line of the user that asked for it. The table keeps shapes, never arrays. A function compiled by
tracing (``jax.jit``) reports while it is traced, so nothing from the second call with the same shapes on.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ParamSpec

from ricci.checked_calls import call_back
from ricci.einops.watch import AxisUse, Watcher, refuse_generators, user_line
from ricci.errors import InputError
from ricci.grid import Grid, Shown
from ricci.wrapping import MadeOf


@dataclass(frozen=True, slots=True)
class ShapeRow:
    """One operation."""

    number: int
    operation: str
    pattern: str
    sizes: dict[str, Any]
    inputs: tuple[tuple, ...]
    outputs: tuple[tuple, ...]
    line: str

    def cells(self) -> tuple[str, ...]:
        axes = " ".join(f"{name}={size}" for name, size in self.sizes.items())
        before, after = (", ".join(map(str, shapes)) for shapes in (self.inputs, self.outputs))
        return str(self.number), self.operation, self.pattern, axes, f"{before} -> {after}", self.line


P = ParamSpec("P")
_HEADS = ("#", "operation", "pattern", "axes", "shapes", "line")


class ShapeTable(Shown, Watcher):
    """The operations that a function ran (``rows``), and what it returned (``result``); prints as a table."""

    def __init__(self) -> None:
        self.rows: list[ShapeRow] = []
        self.result: Any = None

    def note(self, use: AxisUse) -> None:
        before, after = (tuple(tuple(array.shape) for array, _ in pairs) for pairs in (use.inputs, use.outputs))
        line = user_line()
        self.rows.append(ShapeRow(len(self.rows) + 1, use.operation, use.pattern, dict(use.sizes), before, after, line))

    def grid(self) -> Grid:
        return Grid(_HEADS, [row.cells() for row in self.rows])

    def __str__(self) -> str:
        return super().__str__() if self.rows else "no operations on named axes"


def shapes(function: Callable[P, Any]) -> Callable[P, ShapeTable | Any]:
    """A function that runs ``function`` and returns the table of its operations; awaited if ``function`` is.

    ``print(rc.shapes(model)(x))`` shows, for example::

        #  operation  pattern               axes               shapes                            line
        1  rearrange  b t (h d) -> b h t d  b=2 t=16 h=8 d=64  (2, 16, 512) -> (2, 8, 16, 64)    model.py:12

    Where the function raises, the error carries the table of what was done until then.

    >>> shapes(abs)(-3).result
    3
    """
    if isinstance(getattr(function, "indices", None), tuple):
        raise InputError(
            "rc.shapes runs a function and lists its operations; a formula has a plan instead: print(f.compile().plan)."
        )
    if not callable(function):
        raise InputError(f"rc.shapes needs a function and got {type(function).__name__}: write rc.shapes(f)(x).")
    refuse_generators(function, "rc.shapes", "list the operations of")
    if not inspect.iscoroutinefunction(function):
        return Tabulated(function)

    @functools.wraps(function)
    async def recorded_later(*args: Any, **kwargs: Any) -> ShapeTable:
        with _recording() as table:
            table.result = await function(*args, **kwargs)
        return table

    return recorded_later


class Tabulated(MadeOf):
    """A function that gives the table of another one's operations."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> ShapeTable:
        with _recording() as table:
            table.result = call_back("rc.shapes", self.function, *args, **kwargs)
        return table


@contextlib.contextmanager
def _recording() -> Iterator[ShapeTable]:
    table = ShapeTable()
    try:
        with table:
            yield table
    except Exception as error:
        error.add_note(f"The operations before this error:\n{table}")
        raise
