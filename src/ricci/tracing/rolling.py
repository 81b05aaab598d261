"""A plain loop of Python's in a traced function, rolled up: a few steps are traced, and stand for all.

The loop is seen by its iterator, which is asked for the next item between two steps. It looks at the names of the
function then: traced arrays that differ from what they were are the *state*. For a step that may stand for others, each
of these holds a placeholder, and so does all that is read at the counter. A placeholder *means* something, the value
that was there: whatever becomes of the loop, what was traced is right, once placeholders are replaced by what they mean
(``resolved``, when the function has returned).

After two such steps the loop is rolled if both did the same: the new state is the same expression of the placeholders,
nobody has asked for the value of a counter, nothing else that the function reaches has changed, and all that is read
at the counter is there for all steps that are left. Then these are one loop (``ricci.loops``), the arrays that
hold the state get what it has at the end, and there are no further items. Otherwise the steps go on, one by one.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from ricci.expr import Expr, Variable, rebuild, topological, zero
from ricci.expr.moving import entry, moved_axis, sliced
from ricci.loops.bodies import fresh, replaced
from ricci.loops.leaves import Carried, run_through
from ricci.simplify.residues import agree
from ricci.tracing.array import Traced, View
from ricci.tracing.basics import lift
from ricci.tracing.casting import cast
from ricci.tracing.counters import Counter, asked_key
from ricci.tracing.frames import CodePlace, Frame, current, note_line, user_place
from ricci.tracing.guards import Guards, same
from ricci.tracing.impure import Sources
from ricci.tracing.lowered import lowered
from ricci.tracing.operand import changed
from ricci.tracing.reach import MISSING, Reach
from ricci.tracing.rows.along import broadcast
from ricci.tracing.watched import Watched

TRIES = 4  # steps that may stand for others, before a loop is given up
LEAST = 4  # steps that are left, for which a loop is made
MOST_LEAVES = 2000
LAST = object()  # at the end of a path: the last part of a list that is appended to
OWNER = object()  # at the end of a path: what an array is a view of
Path = tuple[Any, ...]


# What is looped over


@dataclass
class LoopItems:
    """What gives the items of a loop: whole numbers, entries of an array, or several of these at once."""

    length: int
    start: int = 0
    step: int = 0  # of whole numbers, or of places in the array
    array: Any = None
    parts: tuple[LoopItems, ...] | None = None

    def item(self, k: int, step: StepTried | None) -> Any:
        """The item number ``k``; for a step that stands for others, with counters in it."""
        if self.parts is not None:
            return tuple([part.item(k, step) for part in self.parts])
        at = self.start + self.step * k if step is None else Counter(step, self.step, self.start)
        if self.array is None:
            return at
        return self.array[at] if step is None else step.read(self.array, at)


def items_of(name: str, args: tuple) -> LoopItems | None:
    """What a call of one of Python's functions goes through, if it is anything that a loop can be rolled over."""
    if name == "range":
        return _numbers(range(*args))
    if name == "zip":
        return _several([items_of("array", (arg,)) for arg in args])
    if name == "enumerate" and len(args) == 2 and type(args[1]) is not int:
        return None
    if name == "enumerate" and args:
        inner = items_of("array", args[:1])
        first = args[1] if len(args) == 2 else 0
        return inner and _several([_numbers(range(first, first + inner.length)), inner])
    if len(args) != 1:
        return None
    if type(args[0]) is range:
        return _numbers(args[0][::-1] if name == "reversed" else args[0])
    if type(args[0]) is RollingLoop:
        return args[0].items
    array = args[0]
    if type(array) not in (Traced, Watched, np.ndarray) or not array.shape or array.dtype.hasobject:
        return None
    size = array.shape[0]
    return LoopItems(size, size - 1, -1, array) if name == "reversed" else LoopItems(size, 0, 1, array)


def _numbers(numbers: range) -> LoopItems:
    return LoopItems(len(numbers), numbers.start, numbers.step)


def _several(parts: Sequence[LoopItems | None]) -> LoopItems | None:
    if not parts or None in parts:
        return None
    return LoopItems(min([part.length for part in parts if part]), parts=tuple(parts))  # type: ignore[arg-type]


# One step


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


# The names of a function, between two steps


@dataclass
class Names:
    """What names, and what they lead to, hold: traced arrays, and all else."""

    boxes: dict[Path, Traced] = field(default_factory=dict)
    others: dict[Path, Any] = field(default_factory=dict)
    containers: set[int] = field(default_factory=set)
    lengths: dict[str, int] = field(default_factory=dict)  # of lists that are appended to

    def versions(self) -> dict[Path, tuple]:
        return {path: (box, box.version) for path, box in self.boxes.items()}

    def walk(self, path: Path, value: Any) -> None:
        if len(self.boxes) + len(self.others) > MOST_LEAVES:
            raise NotAlikeError("there are too many things that may change")
        kind: Any = type(value)
        if kind is Traced:
            self.boxes[path] = value
            if value.source is not None and not value.source.fixed:
                self.boxes[(*path, OWNER)] = value.source.owner
        elif kind in (list, tuple, dict) or (isinstance(value, tuple) and hasattr(value, "_fields")):
            self.containers.add(id(value))
            keys = tuple(value) if kind is dict else len(value)
            self.others[(*path, "form")] = (kind, keys)
            parts: Any = enumerate(value) if kind is not dict else dict(value).items()
            for key, part in parts:
                self.walk((*path, key), part)
        else:
            self.others[path] = value

    def unlike(self, before: Names) -> set[Path]:
        """Where something else is held that is no traced array."""
        paths = self.others.keys() | before.others.keys()
        return {p for p in paths if not _alike(self.others.get(p, MISSING), before.others.get(p, MISSING))}


class NotAlikeError(Exception):
    """Why a step does not stand for others."""


def _alike(now: Any, then: Any) -> bool:
    """Whether two things are the same for each step."""
    if now is then or same(now, then):
        return True
    if type(now) is Counter and type(then) is Counter:
        return now.form == then.form
    if type(now) is np.ndarray and type(then) is np.ndarray and not now.dtype.hasobject:
        return now.dtype == then.dtype and now.shape == then.shape and now.tobytes() == then.tobytes()
    if type(now) is tuple and type(then) is tuple:
        return now == then
    return False


# The loop


class RollingLoop:
    """The iterator of a loop."""

    def __init__(self, items: LoopItems, frame: Frame):
        self.items, self.frame = items, frame
        self.next = 0  # the number of the next item
        self.trying = items.length >= LEAST and not frame.root.weak_numbers
        self.marked = ""  # where somebody asks for the number of a step
        self.why = ""
        self.steps: list[tuple[StepTried, Shot]] = []  # those that may stand for others, and what was there after each
        self.variables: list[Variable] = []
        self.changed: set[Path] = set()
        self.seen: dict[Path, tuple] | None = None  # arrays and their versions, at the last item
        self.reach: Reach | None = None
        self.body = BodyNames()
        self.lists: dict[str, list] = {}  # those that steps append to

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return self.items.length

    def __next__(self) -> Any:
        k = self.next
        step = None
        if self.trying:
            try:
                step = self._between(sys._getframe(1))
            except NotAlikeError as reason:
                self._leave(f"{reason}")
            if self.next > k:  # it was rolled
                self._leave()
                raise StopIteration
        if k >= self.items.length:
            self._leave()
            raise StopIteration
        self.next = k + 1
        return self.items.item(k, step)

    def _between(self, python: Any) -> StepTried | None:
        """Between two steps: roll the loop, begin a step that may stand for others, or leave it."""
        frame, k = self.frame, self.next
        if current() is not frame or not frame.rolls:
            raise NotAlikeError("a step runs inside another function that is traced")
        self._close_inner()
        if not k:
            self.body = BodyNames.of(python.f_code, python.f_lasti)
            self.lists = {name: python.f_locals[name] for name in self.body.grown if _is_alone(python.f_locals, name)}
        names = self._names(python)
        self.changed |= _moved(self.seen, names)
        if self.steps:
            step = self.steps[-1][0]
            step.open = False
            if self.marked:
                raise NotAlikeError(f"the number of the step is asked for ({self.marked})")
            shot = Shot.of(names, self.changed, frame, self._appended(names))
            shot.take_writes(step, frame)
            self.steps[-1] = (step, shot)
            if len(self.steps) > 1 and self._rolled():
                return None
        if k and self.items.length - k < LEAST:
            raise NotAlikeError(self.why or "it has few steps")
        if not k:
            self._look_around(python)
            names = self._names(python)
            self.first = {path: box.expr for path, box in names.boxes.items()} | names.others
            self.types = {path: (box.dtype, box.weak) for path, box in names.boxes.items()}
            self.seen, self.lengths = names.versions(), names.lengths
            self.first_lengths = names.lengths
            return None
        return self._begin(names)

    def _names(self, python: Any) -> Names:
        names = Names()
        for name, value in python.f_locals.items():
            if name in self.lists:
                names.lengths[name] = len(value)
                if value:
                    names.walk((name, LAST), value[-1])
            elif name not in self.body.unseen:
                names.walk((name,), value)
        for number, place in enumerate(self.reach.places if self.reach else ()):
            names.walk((number,), place.look(place.key, MISSING))
        return names

    def _appended(self, names: Names) -> dict[str, list[Traced]]:
        """What a step has put into lists."""
        found = {}
        for name, before in self.lengths.items():
            found[name] = new = self.lists[name][before:]
            if any(type(part) is not Traced for part in new) or names.lengths.get(name, -1) < before:
                raise NotAlikeError(f"what is put into a list is no traced array: {name}")
        return found

    def _look_around(self, python: Any) -> None:
        """What a step may change, beside the names of the function."""
        frame = self.frame
        frame.root.tried = True
        names = {name: x for name, x in python.f_locals.items() if name not in self.body.unseen}
        self.reach = Reach([*frame.starts, *[x for x in names.values() if type(x) not in (Traced, Counter)]])
        if any(hasattr(type(x), "__next__") and type(x) is not RollingLoop for x in self.reach.met):
            raise NotAlikeError("there are iterators beside its own")
        frame.loops.append(self)

    def _watch(self, names: Names) -> None:
        """Take what there is now for what steps are to leave as it is."""
        assert self.reach is not None
        self.guards = Guards(self.reach, frozenset(self.reach.arrays))
        self.guards.watch([x.value if type(x) is Watched else x for x in self.reach.arrays.values()])
        self.guards.places = []
        known = names.containers | {id(own) for own in self.lists.values()}
        self.guards.containers = [pair for pair in self.guards.containers if id(pair[0]) not in known]
        self.sources = Sources(None, (), self.reach)

    def _begin(self, names: Names) -> StepTried:
        """A step with placeholders in place of all that changes."""
        if not self.steps:
            self._watch(names)
        step = StepTried(self, self.next)
        step.lengths = names.lengths
        own, views = _own_boxes(names, self.changed)
        if any(view.source.doubtful for view in views):  # type: ignore[union-attr]
            raise NotAlikeError("an array may be a view, or a copy")
        for box in own:
            expr = box.expr
            box._expr = v = self.placeholder(expr, step.depth)
            step.states.append((v, expr))
        for view in views:
            view.source.seen = -1  # type: ignore[union-attr]
        self.steps.append((step, Shot([], {}, names)))
        self.seen, self.lengths = names.versions(), names.lengths
        step.before = Shot.of(names, self.changed, self.frame)
        return step

    def placeholder(self, means: Expr, depth: int) -> Variable:
        v = fresh(means.shape)
        self.frame.meant[v] = means
        self.frame.open[v] = depth
        self.variables.append(v)
        return v

    def numbers(self, scale: int, shift: int) -> np.ndarray:
        """What a counter is in all steps, the same array each time."""
        known, key = self.frame.root.numbers, (scale, shift, self.items.length)
        if key not in known:
            known[key] = scale * np.arange(self.items.length) + shift
        return known[key]

    # Leaving

    def _close_inner(self) -> None:
        """Loops inside that were left by ``break`` are over."""
        loops = self.frame.loops
        if self in loops:
            while loops[-1] is not self:
                loops[-1]._leave()

    def _leave(self, why: str = "") -> None:
        """The rest goes on step by step."""
        self.trying = False
        if why:
            self.frame.root.unrolled.append((user_place(), why))
        for step, _ in self.steps:
            step.open, step.loop = False, _OVER
        for v in self.variables:
            self.frame.open.pop(v, None)
        if self in self.frame.loops:
            self.frame.loops.remove(self)
        self.steps, self.reach, self.seen = [], None, None

    # Rolling

    def _rolled(self) -> bool:
        """Make one loop of the step before the last and all that come after it, if they are alike."""
        (a, one), (b, two) = self.steps[-2:]
        try:
            new = _same_steps(a, one, b, two)
        except NotAlikeError as reason:
            if len(self.steps) >= TRIES:
                raise
            self.why = f"{reason}"
            return False
        if not self.guards.hold():
            raise NotAlikeError("a step changes something outside")
        if self.sources.drawn():
            raise NotAlikeError("a step draws random numbers")
        begin, inits = self._beginning(a, one)
        length = self.items.length - begin
        slices = {read.variable: _along(read, begin, length) for read in a.reads.values()}
        carried = [Carried(v, init, e) for (v, _), init, e in zip(a.states, inits, new, strict=True)]
        boxes, views = _own_boxes(two.names, self.changed)
        spans = [_span(scale, shift, begin, length, boxes[n].shape[0]) for n, scale, shift in one.written]
        live = self._live(carried, boxes, two.names, one.outputs)
        live = [n for n in live if n not in [own for own, *_ in one.written]]
        lasts, stacks = run_through([carried[n] for n in live], slices, length, one.outputs)
        for n, last in zip(live, lasts, strict=True):
            boxes[n]._expr = last
            self.frame.note(last)
        for view in views:
            view.source.seen = -1  # type: ignore[union-attr]
        self._fill(a, one, begin, stacks)
        for (n, *_), span, stack in zip(one.written, spans, stacks[len(stacks) - len(spans) :], strict=True):
            own, new = (Traced(e, boxes[n].dtype, self.frame) for e in (inits[n], stack))
            boxes[n]._expr = lowered(changed, (own, (span,), new, "set"), {}).expr
        b.number = self.items.length - 1
        self.next = self.items.length
        return True

    def _beginning(self, a: StepTried, one: Shot) -> tuple[int, list[Expr]]:
        """With which step the loop begins, and what is carried then: the first of all, if it is like the others."""
        inits = resolved([was for _, was in a.states], self.frame.closed(self.variables), self.frame.root.lines)
        if a.number != 1 or one.written:
            return a.number, inits
        boxes, new = _own_boxes(one.names, self.changed)[0], [*one.exprs, *one.outputs]
        paths = {id(box): path for path, box in reversed(one.names.boxes.items())}
        used = set(topological(*new))
        put: list[Expr] = []
        for name, own in one.lists.items():
            if a.lengths[name] - self.first_lengths[name] != len(own):
                return a.number, inits
            made = self.lists[name][self.first_lengths[name] : a.lengths[name]]
            if any(type(x) is not Traced or x.dtype != y.dtype for x, y in zip(made, own, strict=True)):
                return a.number, inits
            put += resolved([x.expr for x in made], self.frame.closed(self.variables))
        starts: list[Expr] = []
        for (v, _), box in zip(a.states, boxes, strict=True):
            start = self._start(paths[id(box)], box) if v in used else zero(v.shape)
            if start is None or start.shape != v.shape:
                return a.number, inits
            starts.append(start)
        own = dict(zip([v for v, _ in a.states], starts, strict=True))
        try:
            reads = {r.variable: entry(_along(r, 0, self.items.length), 0, 0) for r in a.reads.values()}
        except NotAlikeError:
            return a.number, inits
        same = map(_is_same, replaced(new, {**own, **reads}), [*inits, *put])
        return (0, starts) if all(same) else (a.number, inits)

    def _start(self, path: Path, box: Traced) -> Expr | None:
        """What there was at the beginning, where an array is that is carried; none if it was of another type."""
        value: Any = self.first.get(path)
        if isinstance(value, Expr):
            dtype, weak = self.types[path]
            return resolved([value], self.frame.closed(self.variables))[0] if weak or dtype == box.dtype else None
        if type(value) in (int, float) or (type(value) in (np.ndarray, Watched) and value.dtype == box.dtype):
            return lift(value).expr
        return None

    def _fill(self, a: StepTried, one: Shot, begin: int, stacks: list[Expr]) -> None:
        """Put what all steps make into the lists that they append to."""
        waiting = iter(stacks)
        for name, boxes in one.lists.items():
            if not boxes:
                continue
            wholes = [(Traced(next(waiting), box.dtype, self.frame, array=True), box) for box in boxes]
            steps = range(self.items.length - begin)
            first = a.lengths[name] - len(boxes) * (a.number - begin)
            self.lists[name][first:] = [_part(whole, box, k) for k in steps for whole, box in wholes]

    def _live(self, carried: list[Carried], boxes: list[Traced], names: Names, outputs: list[Expr]) -> list[int]:
        """Of what is carried, the numbers of those that anybody reads, in the loop or after it."""
        after = {
            id(box) for path, box in names.boxes.items() if path[-1] is not LAST and path[0] not in self.body.unread
        }
        put = set(topological(*outputs))
        live = [n for n, box in enumerate(boxes) if id(box) in after or carried[n].state in put]
        waiting = list(live)
        while waiting:
            used = set(topological(carried[waiting.pop()].new))
            more = [n for n, one in enumerate(carried) if n not in live and one.state in used]
            live += more
            waiting += more
        return sorted(live)


def _is_same(one: Expr, other: Expr) -> bool:
    """Whether two expressions are the same; their forms may differ by the names that they were made with."""
    return one is other or agree(one, other)


def _same_steps(a: StepTried, one: Shot, b: StepTried, two: Shot) -> list[Expr]:
    """The new state after a step, if two did the same."""
    if a.reads.keys() != b.reads.keys() or one.written != two.written:
        raise NotAlikeError("steps read arrays at other places")
    before: Any = a.before
    if not (before.pattern == one.pattern == two.pattern) or len(one.exprs) != len(a.states):
        paths = before.pattern.keys() | one.pattern.keys() | two.pattern.keys()
        found = [p for p in paths if not (before.pattern.get(p) == one.pattern.get(p) == two.pattern.get(p))]
        raise NotAlikeError(f"shapes, types or what is another name of what change with the steps{_told(found)}")
    unlike = {path for path in one.names.unlike(before.names) if type(one.names.others.get(path)) is not Counter}
    unlike |= two.names.unlike(one.names)
    if unlike:
        raise NotAlikeError(f"a step changes what is no traced array{_told(unlike)}")
    own = dict(zip([v for v, _ in b.states], [v for v, _ in a.states], strict=True))
    own |= {read.variable: a.reads[key].variable for key, read in b.reads.items()}
    new = [*two.exprs, *two.outputs]
    if not set(own.values()).isdisjoint(topological(*new)):
        raise NotAlikeError("a step reads what the one before it has made, and not by a name that changes")
    if not all(map(_is_same, replaced(new, own), [*one.exprs, *one.outputs])):
        raise NotAlikeError("steps compute different things")
    _check_lists(one, two)
    return one.exprs


def _check_lists(one: Shot, two: Shot) -> None:
    """Whether two steps put arrays of their own into lists, of the same kinds."""
    first, second = ([box for boxes in shot.lists.values() for box in boxes] for shot in (one, two))
    kinds = [[(name, len(boxes)) for name, boxes in shot.lists.items()] for shot in (one, two)]
    kinds = [[*known, *[(box.shape, box.dtype, box.weak) for box in own]] for known, own in zip(kinds, (first, second))]
    if kinds[0] != kinds[1] or len({id(box) for box in (*first, *second)}) < len(first) + len(second):
        raise NotAlikeError("steps put other things into a list, or the same one twice")
    if one.versions != [box.version for box in first] or any(box.source is not None for box in second):
        raise NotAlikeError("what was put into a list is changed in place")


def _told(paths: Iterable[Path]) -> str:
    """The names of a function at which paths begin, for people."""
    names = sorted({path[0] for path in paths if isinstance(path[0], str)})
    return f": {', '.join(names)}" if names else ""


class _Over:
    """In place of a loop that is over, for its counters."""

    marked = ""


_OVER: Any = _Over()


@dataclass
class Shot:
    """The state between two steps, as expressions; and how names hold it."""

    exprs: list[Expr]
    pattern: Mapping[Any, Any]
    names: Names
    lists: dict[str, list[Traced]] = field(default_factory=dict)  # what the step has put into them
    outputs: list[Expr] = field(default_factory=list)  # the same, as expressions
    versions: list[int] = field(default_factory=list)
    written: list[tuple[int, int, int]] = field(default_factory=list)  # the number of an array, scale and shift

    def take_writes(self, step: StepTried, frame: Frame) -> None:
        """What is only written to, once in a step, is no state: what is written is an output."""
        for write in step.writes:
            after, new = resolved([write.after, write.new], frame.closed())
            found = [
                n for n, (v, _) in enumerate(step.states) if v is write.before and self.exprs[n : n + 1] == [after]
            ]
            others = [e for n, e in enumerate(self.exprs) if n not in found]
            if len(found) == 1 and write.before not in topological(*others, *self.outputs, new):
                self.exprs[found[0]] = write.before
                self.outputs.append(new)
                self.written.append((found[0], write.scale, write.shift))

    @classmethod
    def of(cls, names: Names, changed: set[Path], frame: Frame, lists: dict[str, list[Traced]] | None = None) -> Shot:
        own, _ = _own_boxes(names, changed)
        numbers = {id(box): n for n, box in enumerate(own)}
        pattern: dict[Path, tuple] = {}
        for path, box in names.boxes.items():
            kind = (box.shape, box.dtype, box.weak, box.array)
            pattern[path] = (kind, numbers.get(id(box))) if path in changed else (kind, id(box), box.version)
        new = [box for boxes in (lists or {}).values() for box in boxes]
        exprs = resolved([box.expr for box in (*own, *new)], frame.closed())
        count = len(own)
        return cls(exprs[:count], pattern, names, lists or {}, exprs[count:], [box.version for box in new])


def _own_boxes(names: Names, changed: set[Path]) -> tuple[list[Traced], list[Traced]]:
    """The arrays that change, each once; and those that are views of such."""
    found = {id(box): box for path, box in names.boxes.items() if path in changed}
    views = [box for box in found.values() if box.source is not None and id(box.source.owner) in found]
    return [box for box in found.values() if not any(box is view for view in views)], views


def _moved(seen: dict[Path, tuple] | None, names: Names) -> set[Path]:
    """Where another array is than was seen before, or one that has been changed."""
    if seen is None:
        return set()
    before = {path: (id(box), version) for path, (box, version) in seen.items()}
    known = set(before.values())
    found = set()
    for path, box in names.boxes.items():
        own = (id(box), box.version)
        if own not in known if path[-1] is OWNER else before.get(path) != own:
            found.add(path)
    return found


def _along(read: CountedRead, first: int, length: int) -> Expr:
    """What steps read one after another, if it is there for all of them."""
    size: Any = read.whole.shape[0]
    start = _span(read.scale, read.shift, first, length, size).start
    return sliced(read.whole, 0, start, read.scale, length)


def _span(scale: int, shift: int, first: int, length: int, size: int) -> slice:
    """The places on an axis of this size that steps come to."""
    start, last = (scale * k + shift for k in (first, first + length - 1))
    if max(start, last) < 0:
        start, last = start + size, last + size
    if not (0 <= start < size and 0 <= last < size):
        raise NotAlikeError("an array is read beyond its end, or first from its end and then from its beginning")
    stop = last + (1 if scale > 0 else -1)
    return slice(start, stop if stop >= 0 else None, scale)


# The code of a loop


@dataclass(frozen=True)
class BodyNames:
    """What the code of a function says of the names in a loop."""

    unread: frozenset[str] = frozenset()  # nowhere outside the loop
    unseen: frozenset[str] = frozenset()  # from one step to another, nor outside
    grown: frozenset[str] = frozenset()  # lists that are appended to, and of which at most the last part is read

    @classmethod
    def of(cls, code: CodeType, place: int) -> BodyNames:
        """Of the loop whose next item is asked for at ``place``."""
        found = list(dis.get_instructions(code))
        loop = max([k for k, one in enumerate(found) if one.offset <= place])
        if found[loop].opname != "FOR_ITER":
            return cls()
        stop = found[loop].argval
        inside = [one for one in found[loop + 1 :] if one.offset < stop]
        outside = [*found[:loop], *[one for one in found if one.offset >= stop]]
        held = set(code.co_cellvars)
        unread = set(code.co_varnames) - {name for one in outside for name in _read_by(one)} - held
        first = set() if code.co_exceptiontable else _stored_first(inside)
        grown = _appended_names(inside) - held - {name for one in inside for name in _stored_by(one)}
        return cls(frozenset(unread), frozenset(unread & first), frozenset(grown))


def _names_in(one: dis.Instruction) -> tuple:
    return one.argval if isinstance(one.argval, tuple) else (one.argval,)


def _stored_by(one: dis.Instruction) -> tuple:
    """The names of the function that an instruction stores into."""
    if not one.opname.startswith(("STORE_FAST", "DELETE_FAST")):
        return ()
    return _names_in(one)[:1] if one.opname == "STORE_FAST_LOAD_FAST" else _names_in(one)


def _read_by(one: dis.Instruction) -> tuple:
    """The names of the function that an instruction reads."""
    if one.opname == "STORE_FAST_LOAD_FAST":
        return _names_in(one)[1:]
    return _names_in(one) if one.opname.startswith("LOAD_FAST") else ()


def _stored_first(body: Sequence[dis.Instruction]) -> set[str]:
    """The names that a step stores into before it reads them, whatever happens."""
    stored: set[str] = set()
    read: set[str] = set()
    for one in body:
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            break
        stored.update([name for name in _stored_by(one) if name not in read])
        read.update(_read_by(one))
    return stored


def _appended_names(body: Sequence[dis.Instruction]) -> set[str]:
    """The names of which nothing but ``append`` and the last part is read."""
    found: set[str] = set()
    others: set[str] = set()
    shown = [one for one in body if one.opname not in ("EXTENDED_ARG", "CACHE", "PUSH_NULL", "NOP")]
    for k, one in enumerate(shown):
        follow = shown[k + 1 : k + 3]
        appends = follow and follow[0].opname in ("LOAD_METHOD", "LOAD_ATTR") and follow[0].argval == "append"
        ends = len(follow) == 2 and (follow[0].opname, follow[0].argval) == ("LOAD_CONST", -1)
        last = ends and follow[1].opname in ("BINARY_SUBSCR", "BINARY_OP") and follow[1].argrepr in ("", "[]")
        for name in _read_by(one):
            if appends and name == _names_in(one)[-1]:
                found.add(name)
            elif not last or name != _names_in(one)[-1]:
                others.add(name)
    return found - others


def _is_alone(names: Mapping[str, Any], name: str) -> bool:
    """Whether a name holds a list that nobody else does."""
    value = names.get(name)
    if type(value) is not list:
        return False
    most = 4 if sys.version_info < (3, 13) else 3  # the name, ``value``, the argument, and the names as a dictionary
    return sys.getrefcount(value) <= most


def _part(whole: Traced, like: Traced, k: int) -> Traced:
    """An entry of what all steps have put into a list; it is made when somebody asks for it."""
    part = Traced(like._expr, like.dtype, like.frame, like.weak, like.array)
    part.source = View(whole, lambda own: Traced(entry(own.expr, 0, k), own.dtype, own.frame), True, False)
    part.source.seen, part.source.key = -1, (whole, k)
    return part


# What placeholders mean


def resolved(
    roots: Iterable[Expr], meant: Mapping[Variable, Expr], lines: dict[Expr, CodePlace] | None = None
) -> list[Expr]:
    """``roots`` with placeholders replaced by what they mean, in which there may be others."""
    roots = list(roots)
    if not meant:
        return roots
    done: dict[Expr, Expr] = {}
    waiting = list(roots)
    while waiting:
        node = waiting[-1]
        if node in done:
            waiting.pop()
            continue
        means = meant.get(node)  # type: ignore[call-overload]
        needs = node.args if means is None else (means,)
        left = [a for a in needs if a not in done]
        if left:
            waiting += left
            continue
        waiting.pop()
        args = tuple([done[a] for a in needs])
        done[node] = new = args[0] if means is not None else node if args == node.args else rebuild(node, args)
        if lines and new is not node and node in lines:
            note_line(lines, new, lines[node])
    return [done[root] for root in roots]
