"""A step of a loop that may stand for others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ricci.expr import Expr, Variable, topological
from ricci.expr.moving import entry, moved_axis
from ricci.tracing.array import Traced, View
from ricci.tracing.basics import lift
from ricci.tracing.casting import cast
from ricci.tracing.counters import Counter, asked_key
from ricci.tracing.frames import user_place
from ricci.tracing.lowered import lowered
from ricci.tracing.rolling.placeholders import resolved
from ricci.tracing.rows.along import broadcast

if TYPE_CHECKING:
    from ricci.tracing.rolling.loop import RollingLoop
    from ricci.tracing.rolling.shots import Shot


@dataclass
class CountedRead:
    """What a step reads at its counter: a placeholder, and what it means."""

    variable: Variable
    whole: Expr  # along its first axis, for all numbers of steps
    scale: int
    shift: int


class CountedWrite(NamedTuple):
    """What a step writes into an array at its counter: what the array was, what it is then, and what is written."""

    before: Expr
    after: Expr
    new: Expr
    scale: int
    shift: int


class StepTried:
    """A step that may stand for others; ``number`` is the one that it is."""

    def __init__(self, loop: RollingLoop, number: int):
        self.loop, self.number = loop, number
        self.open = True
        self.writes: list[CountedWrite] = []
        self.before: Shot | None = None
        self.lengths: dict[str, int] = {}  # of lists, when it begins
        self.depth = len(loop.frame.loops)
        self.reads: dict[tuple, CountedRead] = {}
        self.states: list[tuple[Variable, Expr]] = []  # of each array that changes: its placeholder, and what it was

    def mark(self) -> None:
        """Somebody knows which step it is."""
        self.loop.marked = self.loop.marked or f"{user_place()}"

    def counted(self, scale: int, shift: int) -> Any:
        """The counter as a traced number of Python's."""
        key = ("numbers", scale, shift)
        if key not in self.reads:
            self._add(key, lift(self.loop.numbers(scale, shift)).expr, 0, 1, 0)
        return Traced(self.reads[key].variable, np.dtype(np.int64), self.loop.frame, weak=True)

    def read(self, array: Any, key: Any) -> Any:
        """``array[key]``, where the key has counters."""
        parts = key if type(key) is tuple else (key,)
        own = [n for n, part in enumerate(parts) if type(part) is Counter and part.step is self and part.op is None]
        x = lift(array)
        axis = _axis(parts, own[0], x.ndim) if self.open and len(own) == 1 else None
        if axis is None or x.frame is not self.loop.frame or not self._same_for_all(x):
            asked = tuple([part.asked() if type(part) is Counter and part.step is self else part for part in parts])
            return array[asked if type(key) is tuple else asked[0]]
        counter = parts[own[0]]
        place = ("at", x.expr, axis, counter.scale, counter.shift)
        if place not in self.reads:
            size = x.shape[axis]
            if not -size <= counter.value < size:
                return array[counter.asked()]  # which is an error
            self._add(place, x.expr, axis, counter.scale, counter.shift)
        at = counter.value
        found = Traced(self.reads[place].variable, x.dtype, self.loop.frame)
        if found.shape:
            found.array = True
            found.source = _view(x, (*[slice(None)] * axis, at), fixed=x is not array)
        rest = tuple([slice(None) if n == own[0] else part for n, part in enumerate(parts)])
        if all(part is Ellipsis or (type(part) is slice and part == slice(None)) for part in rest):
            return found
        return found[tuple([part for n, part in enumerate(parts) if n != own[0]])]

    def window(self, array: Any, parts: tuple, place: int, count: int) -> Any:
        """``array[parts]``, of which one is a slice that goes with the counter."""
        first = parts[place].start
        entries = [array[(*parts[:place], first + k, *parts[place + 1 :])] for k in range(count)]
        axis = sum([part is None or type(part) is slice for part in parts[:place]])
        found = lowered(np.stack, (entries, axis), {}) if count else array[asked_key(parts)]
        at = (*parts[:place], slice(first.value, first.value + count), *parts[place + 1 :])
        found = Traced(found.expr, found.dtype, self.loop.frame, array=True)
        found.source = _view(lift(array), at, fixed=True)
        return found

    def write(self, box: Any, counter: Counter, value: Any) -> None:
        """``box[counter] = value``."""
        size = box.shape[0] if box.shape else 0
        own = type(box) is Traced and box.source is None and box.frame is self.loop.frame
        if not own or not 0 <= counter.value < size:
            box[counter.asked()] = value
            return
        before = box.expr
        box[counter.value] = value
        new = broadcast(cast(lift(value), box.dtype), box.shape[1:]).expr
        self.writes.append(CountedWrite(before, box.expr, new, counter.scale, counter.shift))

    def _same_for_all(self, x: Traced) -> bool:
        """Whether an array does not depend on the step."""
        frame = self.loop.frame
        if isinstance(x.expr, Variable):
            return frame.open.get(x.expr, -1) < self.depth
        (expr,) = resolved([x.expr], frame.closed())
        return all(frame.open.get(v, -1) < self.depth for v in topological(expr) if isinstance(v, Variable))

    def _add(self, key: tuple, x: Expr, axis: int, scale: int, shift: int) -> None:
        whole = moved_axis(x, axis, 0)
        at = (scale * self.number + shift) % x.shape[axis]  # type: ignore[operator]
        v = self.loop.placeholder(entry(whole, 0, at), self.depth)
        self.reads[key] = CountedRead(v, whole, scale, shift)


def _view(x: Traced, key: tuple, fixed: bool) -> View:
    """How ``x[key]`` reads from ``x``, or from what that is a view of."""
    inner = x.source
    if inner is None:
        return View(x, lambda owner: owner[key], fixed, False)
    return View(inner.owner, lambda owner: inner.read(owner)[key], fixed or inner.fixed, inner.doubtful)


def _axis(parts: tuple, place: int, ndim: int) -> int | None:
    """The axis of an array for which an item of a key stands, if there is nothing before it that makes this hard."""
    plain = (int, slice, type(None), type(Ellipsis), Counter)
    if any(type(part) not in plain for part in parts):
        return None
    if any(type(part) is slice and Counter in map(type, (part.start, part.stop, part.step)) for part in parts):
        return None
    used = sum([part is not None and part is not Ellipsis for part in parts])
    if used > ndim:
        return None
    axis = 0
    for part in parts[:place]:
        axis += 0 if part is None else ndim - used if part is Ellipsis else 1
    return axis
