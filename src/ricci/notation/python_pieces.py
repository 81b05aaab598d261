"""Arrays of a function that is read: their axes by position, and how they are written in index notation.

A piece is an expression whose axes have labels. Operations unite labels, as broadcasting lines axes up, and all is
written when they are settled, statement by statement: labels of one size have the name of that size, with as many
primes as tell them apart. An axis that ``None`` has made, of size one, has no label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

SUM, QUOTIENT, PRODUCT, POWER, ATOM = range(5)  # how tightly what is written holds together
NEGATIVE, COMPARISON = -1, -2
LETTERS = "ijklmnpqrstuv"


class AxisExtent:
    """The size of axes: those that are found to agree have one."""

    def __init__(self, name: str = "", size: int | None = None):
        self.name, self.size = name, size
        self.parent: AxisExtent | None = None
        self.shorter: dict[int, AxisExtent] = {}  # what is left where so many places are cut off
        self.whole: tuple[AxisExtent, int] | None = None  # what this is left of

    def find(self) -> AxisExtent:
        found = self
        while found.parent is not None:
            found = found.parent
        return found

    def unite(self, other: AxisExtent) -> bool:
        """Whether both may be one size, which they then are."""
        a, b = self.find(), other.find()
        if a is b:
            return True
        if (a.size is not None and b.size is not None and a.size != b.size) or (a.name and b.name):
            return False
        b.parent = a
        a.name, a.size = a.name or b.name, b.size if a.size is None else a.size
        wholes = [one.whole for one in (a, b) if one.whole is not None]
        a.whole = wholes[0] if wholes else None
        fits = all(a.cut(count).unite(extent) for count, extent in b.shorter.items())
        if len(wholes) == 2 and wholes[0][1] == wholes[1][1]:
            fits = wholes[0][0].unite(wholes[1][0]) and fits
        return fits

    def cut(self, count: int) -> AxisExtent:
        """What is left of it without so many places."""
        own = self.find()
        if count not in own.shorter:
            own.shorter[count] = AxisExtent(size=None if own.size is None else own.size - count)
            own.shorter[count].whole = (own, count)
        return own.shorter[count].find()


class Label:
    """An index before it has a name; or a place along an axis."""

    def __init__(self, extent: AxisExtent, place: int | None = None):
        self.extent, self.place = extent, place
        self.parent: Label | None = None
        self.shifted: tuple[Label, int] | None = None  # it goes so many places beside another one
        self.loose = True  # that no tensor has it, so that nothing but its name says how long it is

    def find(self) -> Label:
        found = self
        while found.parent is not None:
            found = found.parent
        return found

    def unite(self, other: Label) -> bool:
        a, b = self.find(), other.find()
        if a is b:
            return True
        if not a.extent.unite(b.extent):
            return False
        b.parent = a
        a.loose = a.loose and b.loose
        return True


Axis = Label | None
Names = Mapping[Label, str]
Written = tuple[int, str]


@dataclass(frozen=True)
class ArrayPiece:
    """An array: its axes, all labels that are written in it, in order, and how it is written when they have names."""

    axes: tuple[Axis, ...]
    labels: tuple[Label, ...]
    write: Callable[[Names], Written]
    sizes: tuple[AxisExtent, ...] = ()  # of a shape: the numbers that it holds
    parts: tuple[ArrayPiece, ...] = ()  # of a tuple
    number: float | int | None = None
    read: str = ""  # the name that this is, and nothing else

    def text(self, names: Names, level: int) -> str:
        """The text, in brackets where it does not hold together so tightly."""
        own, text = self.write(names)
        return text if own >= level else f"({text})"

    @property
    def order(self) -> int:
        return len(self.axes)

    @property
    def free(self) -> tuple[Label, ...]:
        return tuple([axis for axis in self.axes if axis is not None])


def piece(
    axes: Sequence[Axis], of: Iterable[ArrayPiece], write: Callable[[Names], Written], more: Sequence[Label] = ()
) -> ArrayPiece:
    """A piece made of others."""
    labels = [*more, *[label for one in of for label in one.labels]]
    return ArrayPiece(tuple(axes), tuple(dict.fromkeys(labels)), write)


def number(value: float | int) -> ArrayPiece:
    text = repr(value)
    return ArrayPiece((), (), lambda names: (ATOM, text) if value >= 0 else (NEGATIVE, text), number=value)


def tensor(name: str, extents: Sequence[AxisExtent | None]) -> ArrayPiece:
    """A name, with labels of its own for this use; axes of size one have no index."""
    axes = tuple([None if extent is None else Label(extent) for extent in extents])
    labels = tuple([axis for axis in axes if axis is not None])
    for label in labels:
        label.loose = False
    return ArrayPiece(axes, labels, lambda names: (ATOM, name + indices(labels, names)), read=name)


def indices(labels: Iterable[Label], names: Names) -> str:
    inside = ",".join([written(label, names) for label in labels])
    return f"[{inside}]" if inside else ""


def written(label: Label, names: Names) -> str:
    found = label.find()
    if found.shifted is not None:
        return f"{written(found.shifted[0], names)}+{found.shifted[1]}"
    return str(found.place) if found.place is not None else names[found]


def size(extent: AxisExtent) -> ArrayPiece:
    """How long an axis is."""
    return ArrayPiece((), (), lambda names: (ATOM, _size(extent.find())), sizes=(extent,))


def _size(extent: AxisExtent) -> str:
    return f"|{extent.name}|" if extent.size is None else str(extent.size)


def broadcast(pieces: Sequence[ArrayPiece]) -> tuple[Axis, ...] | None:
    """The axes of what NumPy makes of these, aligned from the last one on; none where sizes do not agree."""
    axes: list[Axis] = [None] * max([one.order for one in pieces], default=0)
    for one in pieces:
        for place, label in enumerate(one.axes, len(axes) - one.order):
            own = axes[place]
            if label is not None and own is not None and not own.unite(label):
                return None
            axes[place] = label if own is None else own
    return tuple(axes)


def padded(one: ArrayPiece, axes: Sequence[Axis], level: int) -> Callable[[Names], str]:
    """A term of a sum, with ones for the indices that others have and it has not."""

    def write(names: Names) -> str:
        own = {label.find() for label in one.free}
        lacking = [label for label in axes if label is not None and label.find() not in own]
        if not own or not lacking:
            return one.text(names, level)
        return f"{one.text(names, QUOTIENT)} 1{indices(lacking, names)}"

    return write


def added(a: ArrayPiece, b: ArrayPiece, axes: Sequence[Axis], sign: str) -> ArrayPiece:
    left, right = padded(a, axes, NEGATIVE), padded(b, axes, QUOTIENT)
    return piece(axes, (a, b), lambda names: (SUM, f"{left(names)} {sign} {right(names)}"))


def multiplied(a: ArrayPiece, b: ArrayPiece, axes: Sequence[Axis]) -> ArrayPiece:
    def write(names: Names) -> Written:
        level, left = first_factor(a, names)
        right = b.text(names, PRODUCT)
        apart = right[0].isdigit() or right[0] in "|." or (right[0] == "(" and left[-1].isalnum())
        return min(level, PRODUCT), f"{left}{' * ' if apart else ' '}{right}"

    return piece(axes, (a, b), write)


def divided(a: ArrayPiece, b: ArrayPiece, axes: Sequence[Axis]) -> ArrayPiece:
    def write(names: Names) -> Written:
        level, left = first_factor(a, names)
        return min(level, QUOTIENT), f"{left}/{b.text(names, POWER)}"

    return piece(axes, (a, b), write)


def first_factor(a: ArrayPiece, names: Names) -> Written:
    """A factor that stands first, where a sign needs no brackets."""
    level, text = a.write(names)
    return (level, text) if level == NEGATIVE or level >= QUOTIENT else (ATOM, f"({text})")


def raised(a: ArrayPiece, b: ArrayPiece, axes: Sequence[Axis]) -> ArrayPiece:
    return piece(axes, (a, b), lambda names: (POWER, f"{a.text(names, ATOM)}**{b.text(names, ATOM)}"))


def negative(a: ArrayPiece) -> ArrayPiece:
    return piece(a.axes, (a,), lambda names: (NEGATIVE, f"-{a.text(names, QUOTIENT)}"))


def compared(a: ArrayPiece, b: ArrayPiece, axes: Sequence[Axis], sign: str) -> ArrayPiece:
    return piece(
        axes, (a, b), lambda names: (COMPARISON, f"{a.text(names, NEGATIVE)} {sign} {b.text(names, NEGATIVE)}")
    )


def called(name: str, args: Sequence[ArrayPiece], axes: Sequence[Axis], over: Sequence[Label] = ()) -> ArrayPiece:
    """A function of the notation, perhaps over axes: ``sum[m](…)``."""

    def write(names: Names) -> Written:
        return ATOM, f"{name}{indices(over, names)}({', '.join([one.text(names, COMPARISON) for one in args])})"

    return piece(axes, args, write, over)


def structure(name: str, labels: Sequence[Label]) -> ArrayPiece:
    """``1[i,j]``, ``0[i]``, ``delta[i,j]``."""
    return ArrayPiece(tuple(labels), tuple(labels), lambda names: (ATOM, f"{name}{indices(labels, names)}"))


def with_axes(one: ArrayPiece, axes: Sequence[Axis]) -> ArrayPiece:
    """The same entries with other axes, which are all of its labels."""
    return ArrayPiece(tuple(axes), one.labels, one.write)


@dataclass
class AxisNamer:
    """Names of sizes, and of the labels of a statement."""

    taken: set[str]

    def settle(self, extents: Iterable[AxisExtent]) -> None:
        """A name for each size that has none."""
        letters = iter([letter for letter in LETTERS if letter not in self.taken])
        count = 0
        for extent in map(AxisExtent.find, extents):
            while not extent.name:
                letter = next(letters, "")
                count += not letter
                name = letter or f"i{count}"
                if name not in self.taken:
                    extent.name = name
                    self.taken.add(name)

    @staticmethod
    def names(labels: Iterable[Label]) -> dict[Label, str]:
        """Names of labels, the first of each size having that of the size."""
        found: dict[Label, str] = {}
        count: dict[str, int] = {}
        for label in map(Label.find, labels):
            if label not in found and label.place is None and label.shifted is None:
                base = label.extent.find().name
                found[label] = base + "'" * count.get(base, 0)
                count[base] = count.get(base, 0) + 1
        return found
