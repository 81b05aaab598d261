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

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ricci.expr import Expr, Variable, topological, zero
from ricci.expr.moving import entry, sliced
from ricci.loops.bodies import fresh, replaced
from ricci.loops.leaves import Carried, run_through
from ricci.tracing.array import Traced, View
from ricci.tracing.basics import lift
from ricci.tracing.counters import Counter
from ricci.tracing.frames import Frame, current, user_place
from ricci.tracing.guards import Guards
from ricci.tracing.impure import Sources
from ricci.tracing.lowered import lowered
from ricci.tracing.operand import changed
from ricci.tracing.reach import MISSING, Reach
from ricci.tracing.rolling.body_names import BodyNames
from ricci.tracing.rolling.held import LAST, Names, NotAlikeError, Path
from ricci.tracing.rolling.items import LoopItems
from ricci.tracing.rolling.placeholders import resolved
from ricci.tracing.rolling.shots import Shot, is_same, moved, own_boxes, same_steps
from ricci.tracing.rolling.tried import CountedRead, StepTried
from ricci.tracing.watched import Watched

TRIES = 4  # steps that may stand for others, before a loop is given up
LEAST = 4  # steps that are left, for which a loop is made
MOST_COMPLEX = 64  # steps of a loop over complex numbers that are written out: kernels of loops know none


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
        self.changed |= moved(self.seen, names)
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
        own, views = own_boxes(names, self.changed)
        if any(view.source.doubtful for view in views):  # type: ignore[union-attr]
            raise NotAlikeError("an array may be a view, or a copy")
        if self.items.length <= MOST_COMPLEX and any(box.expr.complex for box in own):
            raise NotAlikeError("complex numbers are faster in few steps that are written out")
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
        v = fresh(means.shape, means.complex)
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
            new = same_steps(a, one, b, two)
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
        boxes, views = own_boxes(two.names, self.changed)
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
        boxes, new = own_boxes(one.names, self.changed)[0], [*one.exprs, *one.outputs]
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
        same = map(is_same, replaced(new, {**own, **reads}), [*inits, *put])
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


class _Over:
    """In place of a loop that is over, for its counters."""

    marked = ""


_OVER: Any = _Over()
