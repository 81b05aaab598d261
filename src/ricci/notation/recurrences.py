"""Recurrences: a name that is given at 0 and at t+1.

    h[0,i] = h0[i];   h[t+1,i] = tanh(W[i,j] h[t,j] + x[t,i])

Here the statements of a text are put in groups: those that depend on one another in a circle, by entries at ``t``, are
one. A statement such as ``a[t,i] = W[i,j] h[t,j]`` may stand between them, and is used by the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from ricci.errors import NotationError
from ricci.notation import syntax

SELECT = "Give each axis a name here, and select or shift on the right side"


@dataclass(slots=True)
class Recurrence:
    """A name with its two statements, the axis along which it goes, and the index that counts the steps."""

    name: str
    base: syntax.Statement
    step: syntax.Statement
    axis: int
    index: str

    @property
    def names(self) -> tuple[str, ...]:
        """The indices of all entries; the axis of the steps has one entry more than there are steps."""
        left = self.step.indices or ()
        return tuple([next_of(self.index) if not index.plain else index.terms[0][1] for index in left])


@dataclass(slots=True)
class RecurrenceGroup:
    """Recurrences that depend on one another, with the statements of a step in the order of the text."""

    recurrences: list[Recurrence]
    statements: list[syntax.Statement]

    @property
    def names(self) -> list[str]:
        return [s.name for s in self.statements if s.name is not None]

    @property
    def parts(self) -> list[syntax.Statement]:
        """All statements, the first ones too."""
        return [*[own.base for own in self.recurrences], *self.statements]


Unit = syntax.Statement | RecurrenceGroup


def next_of(index: str) -> str:
    """The name of the index that ranges over all entries of a recurrence, which no text can have."""
    return f"{index}+1"


def recurrences(program: syntax.Statements) -> dict[str, Recurrence]:
    """The recurrences of a text, by name."""
    bases: dict[str, syntax.Statement] = {}
    found: dict[str, Recurrence] = {}
    for statement in program.statements:
        place = _place(program.text, statement)
        if place is None:
            continue
        name, index = statement.name or "", (statement.indices or ())[place]
        if not index.terms:
            if name in bases:
                _fail(program.text, index, f"{name!r} is already given at 0 above.", "Give it once.")
            bases[name] = statement
            continue
        if name in found:
            _fail(program.text, index, f"{name!r} is already given at {index.terms[0][1]}+1 above.", "Give it once.")
        base = bases.get(name)
        if base is None:
            begin = _written(program.text, statement, place, "0")
            message = f"{name!r} is given by the entry before, and nothing says how it begins."
            _fail(program.text, index, message, f"Write {begin} = … before this, or give the axis a plain name.")
        _check_alike(program.text, base, statement, place)
        found[name] = Recurrence(name, base, statement, place, index.terms[0][1])
    for name, base in bases.items():
        if name not in found:
            place = _place(program.text, base) or 0
            later = _written(program.text, base, place, "t+1")
            hint = f"{SELECT}. For a recurrence, write {later} = … too."
            _fail(program.text, (base.indices or ())[place], "The indices on the left side are plain names.", hint)
    return found


def _fail(text: str, node: syntax.Index | syntax.Statement, message: str, hint: str) -> NoReturn:
    raise NotationError(message, text, node.start, node.end, hint)


def _written(text: str, statement: syntax.Statement, place: int, index: str) -> str:
    """The left side with another index at one place."""
    indices = [text[i.start : i.end] if k != place else index for k, i in enumerate(statement.indices or ())]
    return f"{statement.name}[{','.join(indices)}]"


def _place(text: str, statement: syntax.Statement) -> int | None:
    """The axis along which a statement says one entry: at 0, or at t+1."""
    indices = statement.indices or ()
    places = [k for k, index in enumerate(indices) if not index.plain]
    if not places:
        return None
    if len(places) > 1:
        message = "A recurrence goes along one axis, so one index on the left side is not a plain name."
        _fail(text, indices[places[1]], message, f"{SELECT}.")
    (place,) = places
    index = indices[place]
    if not index.terms:
        if index.const or index.sizes:
            hint = f"Write {_written(text, statement, place, '0')} = …, and count the steps from there."
            _fail(text, index, "A recurrence begins at 0.", hint)
        return place
    step = index.terms[0][1]
    if index.terms != ((1, step),) or index.const != 1 or index.sizes or index.strides:
        written = _written(text, statement, place, f"{step}+1")
        hint = f"Write {written} = …; an entry further back has a name of its own: g[t+1] = {statement.name}[t]."
        _fail(text, index, "A recurrence says the next entry by the one before it.", hint)
    return place


def _check_alike(text: str, base: syntax.Statement, step: syntax.Statement, place: int) -> None:
    """The beginning and the step have the same axes."""
    first, later = base.indices or (), step.indices or ()
    if len(first) != len(later):
        message = f"{base.name!r} has {len(first)} indices at 0 and {len(later)} here."
        _fail(text, step, message, "A tensor keeps its number of indices in a program.")
    if first[place].plain:
        other = next(k for k, index in enumerate(first) if not index.plain)
        hint = f"Write {_written(text, step, other, text[later[place].start : later[place].end])} = …"
        _fail(
            text, later[place], f"{base.name!r} is given at 0 along axis {other}, and steps along axis {place}.", hint
        )


# Which statements belong together


def units(statements: Sequence[syntax.Statement], known: dict[str, Recurrence]) -> list[Unit]:
    """The statements, those of recurrences in groups; each after all that it depends on."""
    found: list[Unit] = []
    begun: dict[str, Recurrence] = {}  # that are not among what was found yet
    waiting: list[syntax.Statement] = []
    for statement in statements:
        own = known.get(statement.name or "")
        if own is not None and statement is own.base:
            begun[own.name] = own
            continue
        names = begun.keys() | {s.name for s in waiting}
        if own is None and not _uses(statement) & names:
            found.append(statement)
            continue
        waiting.append(statement)
        if own is not None:
            found += _closed(waiting, begun)
    return found


def _closed(waiting: list[syntax.Statement], begun: dict[str, Recurrence]) -> Iterator[Unit]:
    """What depends on nothing that is still to come; taken out of what waits."""
    while True:
        by_name = {s.name: s for s in waiting}
        uses = {s.name: _uses(s) & (begun.keys() | by_name.keys()) for s in waiting}
        for name in [s.name for s in waiting if s.name in begun]:
            circle, new = {name}, {name}
            while new:
                new = {n for m in new for n in uses.get(m, ())} - circle
                circle |= new
            if circle <= by_name.keys():
                break
        else:
            break
        inside = [s for s in waiting if s.name in circle]
        waiting[:] = [s for s in waiting if s.name not in circle]
        yield RecurrenceGroup([begun.pop(n) for n in list(begun) if n in circle], inside)
    while True:
        names = begun.keys() | {s.name for s in waiting}
        free = next((s for s in waiting if not _uses(s) & (names - {s.name})), None)
        if free is None:
            return
        waiting.remove(free)
        yield free


def _uses(statement: syntax.Statement) -> set[str]:
    """The names of all tensors in a statement, those that gather included."""
    found: set[str] = set()
    nodes = [node for side in statement.sides for node in syntax.within(side)]
    tensors = [node for node in nodes if isinstance(node, syntax.TensorNode | syntax.Delta)]
    while tensors:
        node = tensors.pop()
        if isinstance(node, syntax.TensorNode):
            found.add(node.name)
        tensors += [index.tensor for index in node.indices or () if index.tensor is not None]
    return found
