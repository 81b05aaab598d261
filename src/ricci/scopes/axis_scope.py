"""Scopes: in each, a name has one size, and declared names are index spaces that do not mix.

Sizes. The first use of a name binds it to its size and remembers the place; a later use with another size is an error
that names both places. A scope within a scope knows the names around it.

Spaces. If ``t`` and ``s`` are both declared, an axis called ``t`` once is not called ``s`` later, whatever its size.
For this a scope remembers the declared names of the axes of the arrays that operations take and give. It knows an array
by weak reference: it keeps none alive, and knows nothing of arrays that operations did not report, such as ``x + 1`` or
a new view of ``x``, nor of types without weak references. Expressions bring the names of their indices themselves;
traced arrays and tensors know what they were computed from, and names go through that.
Names that are not declared rename freely.
"""

from __future__ import annotations

import operator
import re
import sys
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple, SupportsIndex

from ricci.caches import LOCKS
from ricci.checked_calls import is_whole, shown, takes
from ricci.einops.watch import AxisUse, Part, UsedAt, Watcher, innermost, user_line
from ricci.errors import AxisError, AxisSizeError, AxisSpaceError, InputError, NotationError, caret, nearest
from ricci.grid import Grid


class AxisBinding(NamedTuple):
    """What a scope knows of a name. The size is None as long as only the name is declared."""

    size: Any
    place: UsedAt
    declared: bool


WHOLE = (int, Integral)
Spot = tuple[int, int, int]  # a dimension, the number of names in it, the position among them
Names = Mapping[Spot, Mapping[str, UsedAt]]  # several names where one operation took an array twice, by different names


def spots(parts: Sequence[Part]) -> Iterator[tuple[Spot, str]]:
    """Where each name stands. ``c`` and ``(h d)`` are different spots, so an axis may be split; ``(h d)`` and ``(d h)``
    share theirs, so it may not be split the wrong way round."""
    for dimension, part in enumerate(parts):
        names = (part,) if isinstance(part, str) else part or ()
        for position, name in enumerate(names):
            yield (dimension, len(names), position), name


class NamesOfArrays:
    """The names of the axes of arrays, by weak reference."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref, tuple, Names]] = {}

    def names(self, array: Any) -> Names:
        """What is known of an array; nothing if its shape has been changed in place since."""
        array = getattr(array, "remembered", array)
        reference, shape, names = self._known.get(id(array), (None, (), {}))
        return names if reference is not None and reference() is array and shape == tuple(array.shape) else {}

    def add(self, array: Any, names: Names) -> None:
        """Names besides those that are known; several for a spot if one call takes an array under several names."""
        array = getattr(array, "remembered", array)
        known = self.names(array)
        merged = {spot: {**known.get(spot, {}), **new} for spot, new in names.items()} if known else names
        try:
            reference = weakref.ref(array, self._forgetting(id(array)))
        except TypeError:
            return
        self._known[id(array)] = reference, tuple(array.shape), {**known, **merged}

    def forget(self, array: Any) -> None:
        self._known.pop(id(getattr(array, "remembered", array)), None)

    def _forgetting(self, key: int):
        known = self._known

        def gone(reference: weakref.ref) -> None:
            if key in known and known[key][0] is reference:  # the id may belong to a new array by now
                del known[key]

        return gone


_CARRIED = UsedAt("by the expression itself", "")


class AxisScope(Watcher):
    """The names of a scope with their sizes: ``ax["d"]``, ``ax.d``, ``"d" in ax``, ``dict(ax)``, ``print(ax)``.

    A name that is also a method (``ax.sizes``) is reached as an item.
    """

    nested = True

    def __init__(self, own: dict[str, AxisBinding], inherit: bool, text: str) -> None:
        self._own, self._inherit, self._text = own, inherit, text
        self._memory = NamesOfArrays()
        self._outer: tuple[AxisScope, ...] = ()  # those around it
        self._declaring = {name: 0 for name, binding in own.items() if binding.declared}  # how far out, by name
        self._used = False

    def __enter__(self) -> AxisScope:
        if self._used:
            raise InputError(f"This scope has been opened before; write {self._text} where it is opened again.")
        self._used = True
        outer = innermost() if self._inherit else None
        if isinstance(outer, AxisScope):
            self._agree(outer)
            self._outer = outer._around
            self._declaring.update({name: far + 1 for name, far in outer._declaring.items()})
        return super().__enter__()

    @property
    def _around(self) -> tuple[AxisScope, ...]:
        """This one and those around it; not stored, so that a scope is freed at once."""
        return (self, *self._outer)

    def _agree(self, outer: AxisScope) -> None:
        """A name that is known around here has the same size here, and if it is declared there it is the same space."""
        for name, (size, place, _) in list(self._own.items()):
            around = outer._find(name)
            if around is None:
                continue
            if differ(size, around.size):
                raise _two_sizes(name, size, place, around, self._text, "")
            if around.declared:
                outer._bind(name, size, place)
                del self._own[name]
            elif size is None:
                self._own[name] = AxisBinding(around.size, around.place, True)

    # What the user reads.

    @property
    def sizes(self) -> dict[str, Any]:
        """The size of each name that has one, here and around here."""
        return {name: binding.size for name, binding in self._all().items() if binding.size is not None}

    def keys(self) -> Iterable[str]:
        return self.sizes.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.sizes)

    def __len__(self) -> int:
        return len(self.sizes)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def __getitem__(self, name: str) -> Any:
        binding = self._find(name)
        if binding is None:
            raise AxisError(f"The scope {self._text} has no axis {name!r}. {nearest(name, self._all())}".rstrip())
        if binding.size is None:
            raise AxisError(f"Axis {name!r} has no size yet: it is declared, and no operation has used it so far.")
        return binding.size

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except AxisError as error:
            raise AttributeError(str(error)) from None

    def __str__(self) -> str:
        return str(self._grid())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._grid()._repr_html_()

    def _grid(self) -> Grid:
        rows = [(name, "?" if size is None else str(size), str(at)) for name, (size, at, _) in self._all().items()]
        return Grid(["axis", "size", "where it got it"], rows, right={1})

    def forget(self, array: Any) -> Any:
        """Take the names off the axes of an array, so that they may be called by others; returns the array."""
        for scope in self._around:
            scope._memory.forget(array)
        return array

    # What operations report.

    def check(self, use: AxisUse) -> None:
        for name, size in use.sizes.items():
            known = self._find(name)
            if known is not None and size != known.size and differ(size, known.size):
                raise _two_sizes(name, size, use.place(), known, use.pattern, self._situation(use))
        for number, (array, parts) in enumerate(use.inputs if self._declaring else ()):
            names = self._names(array)
            for spot, name in spots(parts) if names else ():
                other = names.get(spot)
                if other and name not in other and name in self._declaring:
                    raise _two_spaces(use, number, spot, name, other, self._text)

    def note(self, use: AxisUse) -> None:
        with LOCKS.scopes:  # threads that run in copies of one context share a scope
            self.check(use)  # again: another thread may have bound a name since
            place = use.place()
            for name, size in use.sizes.items():
                self._bind(name, size, place)
            # All that is new is found before any of it is kept: an operation may take an array twice, by two names
            # (``t d, s d -> t s``), and then both are right from there on.
            for scope, array, names in self._unnamed(use, place) if self._declaring else ():
                scope._memory.add(array, names)

    def remember(self, array: Any, names: Names) -> None:
        """Names of axes that this scope declares."""
        self._memory.add(array, names)

    def _unnamed(self, use: AxisUse, place: UsedAt) -> list[tuple[AxisScope, Any, Names]]:
        """The axes that get their first declared name, for each array, by the scope that declares it."""
        found: dict[tuple[int, AxisScope], tuple[Any, dict[Spot, dict[str, UsedAt]]]] = {}
        for array, parts in (*use.inputs, *use.outputs):
            known = self._names(array)
            for spot, name in spots(parts):
                far = self._declaring.get(name)
                if far is not None and spot not in known:
                    scope = self._around[far]
                    found.setdefault((id(array), scope), (array, {}))[1].setdefault(spot, {})[name] = place
        return [(scope, array, names) for (_, scope), (array, names) in found.items()]

    def _names(self, array: Any) -> Names:
        """The declared names of the axes of an array: as remembered, or as an expression carries them."""
        found: dict[Spot, Mapping[str, UsedAt]] = {}
        for scope in self._around:
            found.update(scope._memory.names(array))
        carried = None if found else getattr(array, "indices", None)  # of an expression; of a torch tensor, a method
        if not found and hasattr(array, "names_from"):
            carried = array.names_from(self._whole)
        if isinstance(carried, tuple):
            found = {spot: {name: _CARRIED} for spot, name in spots(carried) if name in self._declaring}
        return found

    def _whole(self, array: Any) -> tuple[str | None, ...] | None:
        """What is remembered of the axes of an array, each as a whole; none where that is nothing."""
        names: list[str | None] = [None] * len(array.shape)
        for scope in self._around:
            for (dimension, count, _), called in scope._memory.names(array).items():
                names[dimension] = next(iter(called)) if count == 1 else None
        return tuple(names) if any(names) else None

    def _bind(self, name: str, size: Any, place: UsedAt) -> None:
        for scope in self._around:
            known = scope._own.get(name)
            if known is not None:
                if (known.size is None and size is not None) or (
                    isinstance(size, WHOLE) and not isinstance(known.size, WHOLE)
                ):
                    scope._own[name] = AxisBinding(size, place, known.declared)
                return
        self._own[name] = AxisBinding(size, place, False)

    def _find(self, name: str) -> AxisBinding | None:
        for scope in self._around:
            if name in scope._own:
                return scope._own[name]
        return None

    def _all(self) -> dict[str, AxisBinding]:
        return {name: binding for scope in reversed(self._around) for name, binding in scope._own.items()}

    def _situation(self, use: AxisUse) -> str:
        shapes = ", ".join(str(tuple(array.shape)) for array, _ in use.inputs)
        known = " ".join(f"{name}={size}" for name, size in self.sizes.items())
        return f"\n  The input has shape {shapes}; so far the scope has {known}."


@takes("rc.axes", names="text", inherit="flag")
def axes(names: str = "", /, *, inherit: bool = True, **sizes: SupportsIndex) -> AxisScope:
    """A scope in which each axis name has one size, and in which the names declared here are index spaces of their own.

    ``rc.axes()`` declares no names, ``rc.axes("t s", d=512)`` declares three, one of them with its size. In a scope
    within a scope the names around it hold as well; with ``inherit=False`` they do not.

    >>> with axes("t s", d=512) as ax:
    ...     print(ax.d, "t" in ax, "b" in ax, dict(ax))
    512 True False {'d': 512}
    """
    given = [repr(names)] * bool(names) + [f"{name}={size}" for name, size in sizes.items()]
    text = f"rc.axes({', '.join(given + ['inherit=False'] * (not inherit))})"
    place = UsedAt(f"as declared by {text}", user_line())
    own: dict[str, AxisBinding] = {}
    for name in [*names.replace(",", " ").split(), *sizes]:
        if not name.isidentifier() or name in own:
            fault = "is declared twice" if name in own else "is not a name"
            raise NotationError(f"The axis {name!r} {fault} in {text}.", text, *span(name, text, len("rc.axes")))
        own[name] = AxisBinding(natural(name, sizes[name], text) if name in sizes else None, place, True)
    return AxisScope(own, inherit, text)


def natural(name: str, size: Any, text: str) -> int:
    """A size given by the user, as an int."""
    if is_whole(size) and 0 <= operator.index(size) <= sys.maxsize:
        return operator.index(size)
    raise InputError(f"The size of axis {name!r} in {text} is {shown(size)}; a size is a whole number, 0 or more.")


def differ(first: Any, second: Any) -> bool:
    """Whether two sizes cannot be the same. A symbolic size can be any: it has no value before the first call, and
    another name for the same index is another symbol."""
    return isinstance(first, WHOLE) and isinstance(second, WHOLE) and bool(first != second)


def span(name: str, text: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
    """Where a name stands in a text as a word of its own, from ``start`` on; all of the text if it does not."""
    found = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)").search(text, start, len(text) if end is None else end)
    return found.span() if found else (0, len(text))


def _two_sizes(name: str, size: Any, place: UsedAt, known: AxisBinding, text: str, situation: str) -> AxisSizeError:
    return AxisSizeError(
        f"Axis {name!r} has size {size} {place} and {known.size} {known.place}.\n{caret(text, *span(name, text))}"
        f"{situation}\n  A name has one size in a scope: rename the axis, or open a new scope with "
        "rc.axes(inherit=False)."
    )


def _two_spaces(
    use: AxisUse, number: int, spot: Spot, name: str, other: Mapping[str, UsedAt], text: str
) -> AxisSpaceError:
    dimension, count, _ = spot
    first, place = next(iter(other.items()))
    start, end = _input_span(use.pattern, number)
    within = "part of " if count > 1 else ""
    shape = tuple(use.inputs[number][0].shape)
    return AxisSpaceError(
        f"Axis {name!r} {use.place()} is {within}axis {dimension} of an array of shape {shape}, and that is axis "
        f"{first!r} {place}.\n{caret(use.pattern, *span(name, use.pattern, start, end))}\n"
        f"  The scope {text} declares both names, so they are different index spaces: rename the axis. Where it is "
        "meant to change spaces, take its names off with ax.forget(array), or work in a new scope, "
        "rc.axes(inherit=False)."
    )


def _input_span(pattern: str, number: int) -> tuple[int, int]:
    """Where the text of one input stands in a pattern; that of all inputs where the pattern has one for all."""
    left = pattern.partition("->")[0]
    inputs = left.split(",")
    if number >= len(inputs):
        return 0, len(left)
    start = sum(len(text) + 1 for text in inputs[:number])
    return start, start + len(inputs[number])
