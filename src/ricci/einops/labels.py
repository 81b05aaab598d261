"""Patterns as labels: ``"(g i) k, k j -> g i j"``, read for arrays with known numbers of axes.

Every elementary axis gets a number, its *label*: those of the arrays first, in order, then those that are new in the
result. A name has one label wherever it stands, a number (an axis of that exact size) has its own, and an axis under
an ellipsis is told by its distance from the right, so that axes of several arrays broadcast as in NumPy. With the
shapes, :mod:`ricci.einops.inference` finds the size of every label. What is left to do for an operation is then always
the same: *split* each array into its labels, compute, and *merge* the labels of the result.

This is the one reading of patterns: rearrange to scatter, einsum on arrays and traced, shapes and signatures differ in
what their :class:`Kind` allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ricci.caches import cached
from ricci.einops import grammar
from ricci.einops.grammar import ELLIPSIS, Dialect, Groups, Joined, Parsed, array_span, names_of, parse, span_of
from ricci.errors import EinopsError, nearest


class Labels(NamedTuple):
    """A pattern as labels, without sizes."""

    text: str
    operands: tuple[Groups, ...]  # for each array and axis its labels, or Joined pieces of labels
    results: tuple[Groups, ...]
    axes: tuple[Any, ...]  # what each label is: a name, a number, (k,) for the k-th from the right under '...', None
    given: tuple[int, ...]  # the labels whose sizes the call gives
    fixed: tuple[int | None, ...]  # the sizes that numbers tell
    count: int  # how many labels the operands have; the others are new in the result

    @property
    def labels(self) -> Labels:
        """Itself: readings that know more have their labels under this name."""
        return self

    def named(self, groups: Groups) -> tuple:
        """What the axes of an array are called: a name, a tuple of names for a composite, None for the rest."""
        found: list[Any] = []
        for group in groups:
            names = () if group.__class__ is Joined else tuple([self.axes[k] for k in group])
            names = tuple([name for name in names if name.__class__ is str])
            found.append(names if len(group) > 1 and names else names[0] if names else None)
        return tuple(found)

    def named_sizes(self, sizes: Sequence[Any]) -> dict[str, Any]:
        """The sizes by name."""
        return {name: size for name, size in zip(self.axes, sizes) if name.__class__ is str}


class Kind(NamedTuple):
    """What a function reads."""

    dialect: Dialect
    arrow: str = "needed"  # or "optional", or "refused"
    spelled: bool = False  # ``ij,jk->ik`` is read letter by letter
    apart: bool = False  # axes under the ellipses of two arrays are not the same
    skips: bool = False  # each _ is an axis of its own, without a name
    joins: bool = False  # several results and (c + d), which are matched piece by piece
    check: Callable[[Parsed, tuple[str, ...]], None] | None = None


def read(pattern: str, ndims: Sequence[int], names: tuple[str, ...], kind: Kind) -> Labels:
    """Read a pattern for arrays with these numbers of axes, and sizes given for ``names``."""
    text = _spelled(pattern, ndims) if kind.spelled else pattern
    parsed = parse(text, kind.dialect)
    _check_sides(parsed, len(ndims), kind)
    if kind.check is not None:
        kind.check(parsed, names)
    operands, sides, axes, seen = labelled(parsed.left, ndims, text, kind)
    count = len(axes)
    right = parsed.right
    if right is None:
        right = (_default_result(text, sides),) if kind.arrow == "optional" else ()
    elif kind.joins:
        right = ()
    elif ELLIPSIS in text:
        right = tuple([_with_hidden(side, sides) for side in right])
    results = _results(right, axes, seen)
    given = tuple([_given(name, seen, text) for name in names]) if names else ()
    fixed = tuple([axis if axis.__class__ is int else None for axis in axes])
    return Labels(text, operands, results, tuple(axes), given, fixed, count)


def labelled(sides: Sequence[Groups], ndims: Sequence[int], text: str, kind: Kind) -> tuple:
    """The labels of the arrays, their sides with '...' written out, what each label is, and the labels of the names."""
    if ELLIPSIS in text or kind.dialect.star:
        sides = [_without_ellipsis(side, ndims[at], text, at, kind.apart) for at, side in enumerate(sides)]
    axes: list[Any] = []
    seen: dict[Any, int] = {}
    operands = []
    for at, side in enumerate(sides):
        if len(side) != ndims[at]:
            raise wrong_order(text, len(side), ndims[at], at)
        operands.append(_numbered(side, axes, seen, {}, kind.skips))
    return tuple(operands), sides, axes, seen


def _check_sides(parsed: Parsed, arrays: int, kind: Kind) -> None:
    text = parsed.text
    if len(parsed.left) != arrays:
        message = f"The pattern is of {len(parsed.left)} arrays, and {arrays} were given."
        raise EinopsError(message, text, 0, max(1, len(text.split("->")[0].rstrip())))
    if parsed.right is None:
        if kind.arrow == "needed":
            hint = "Write both sides: 'b h w -> b (h w)'."
            raise EinopsError("The pattern has no arrow.", text, max(0, len(text) - 1), max(1, len(text)), hint)
    elif kind.arrow == "refused":
        at = text.index("->")
        raise EinopsError(
            "Only one side of a pattern is wanted here: shapes are read without an arrow.", text, at, at + 2
        )
    elif len(parsed.right) > 1 and not kind.joins:
        at = text.rindex(",")
        raise EinopsError("There is one result.", text, at, at + 1, "Call it once for each result.")
    sides = (*parsed.left, *(parsed.right or ()))
    if "+" in text and not kind.joins and any(group.__class__ is Joined for side in sides for group in side):
        start = text.index("+")
        hint = "rc.rearrange joins and splits arrays; do it before or after."
        raise EinopsError("Joining and splitting is done by rc.rearrange alone.", text, start, start + 1, hint)
    if ELLIPSIS in text:
        _check_ellipsis(parsed)


def _check_ellipsis(parsed: Parsed) -> None:
    text = parsed.text
    if any(ELLIPSIS in names_of((group,)) for side in parsed.left for group in side if group != ELLIPSIS):
        at = text.index(ELLIPSIS)
        raise EinopsError("Ellipsis inside parenthesis in the left side is not allowed.", text, at, at + 3)
    if any(ELLIPSIS in names_of(side) for side in parsed.right or ()) and not any(ELLIPSIS in s for s in parsed.left):
        at = text.rindex(ELLIPSIS)
        raise EinopsError("Ellipsis found in right side, but not left side of a pattern.", text, at, at + 3)


def _without_ellipsis(side: Groups, ndim: int, text: str, at: int, apart: bool) -> Groups:
    """The side of one array, with the axes under the ellipsis written out; no user can write their names."""
    if ELLIPSIS not in side:
        return side
    hidden = ndim - len(side) + 1
    if hidden < 0:
        raise wrong_order(text, len(side) - 1, ndim, at, "at least ")
    k = side.index(ELLIPSIS)
    own = [(n, at) if apart else (n,) for n in range(hidden, 0, -1)]
    return (*side[:k], *[(axis,) for axis in own], *side[k + 1 :])


def wrong_order(text: str, expected: int, ndim: int, at: int = 0, more: str = "") -> EinopsError:
    """The error for an array with another number of axes than its side of the pattern."""
    which = f" of array {at}" if at or "," in text.split("->")[0] else ""
    message = f"Wrong shape: expected {more}{expected} dims{which}. Received {ndim}-dim tensor."
    return EinopsError(message, text, *array_span(text, at))


def _with_hidden(side: Groups, sides: Sequence[Groups]) -> Groups:
    """A side of the result, with the axes under the ellipsis written out: those of the array that has most of them."""
    hidden = max([[g[0] for g in own if g and g[0].__class__ is tuple] for own in sides], key=len)
    written: list = []
    for group in side:
        if group == ELLIPSIS:
            written += [(axis,) for axis in hidden]
        else:
            k = group.index(ELLIPSIS) if ELLIPSIS in group else -1
            written.append(group if k < 0 else (*group[:k], *hidden, *group[k + 1 :]))
    return tuple(written)


def _numbered(side: Groups, axes: list, seen: dict, numbers: dict[int, list[int]], skips: bool = False) -> Groups:
    """The labels of each group; new ones are added to ``axes``. Numbers take theirs from ``numbers``, in order."""
    found: list = []
    for group in side:
        if group.__class__ is Joined:
            found.append(Joined(_numbered(group, axes, seen, numbers)))
            continue
        labels = []
        for axis in group:
            if axis.__class__ is int:
                label = numbers[axis].pop(0) if numbers.get(axis) else -1
            else:
                label = seen.get(axis, -1)
            if label < 0:
                label = len(axes)
                if skips and axis == "_":
                    axis = None
                elif axis.__class__ is not int:
                    seen[axis] = label
                axes.append(axis)
            labels.append(label)
        found.append(tuple(labels))
    return tuple(found)


def _results(right: Sequence[Groups], axes: list, seen: dict) -> tuple[Groups, ...]:
    """The labels of the result; numbers are those of the left, in order, and what is not on the left is new."""
    numbers: dict[int, list[int]] = {}
    for label, axis in enumerate(axes):
        if axis.__class__ is int:
            numbers.setdefault(axis, []).append(label)
    return tuple([_numbered(side, axes, seen, numbers) for side in right])


def _default_result(text: str, sides: Sequence[Groups]) -> Groups:
    """Without an arrow, as NumPy has it: the axes under the ellipsis, then the names that occur once, sorted."""
    counts = Counter(axis for side in sides for group in side for axis in group)
    numbers = [axis for axis in counts if axis.__class__ is int]
    if numbers:
        hint = "Say which axes are kept: write the arrow and the result."
        raise EinopsError("A number needs a pattern with an arrow.", text, *span_of(text, numbers[0]), hint)
    kept = sorted([axis for axis, n in counts.items() if n == 1 and axis.__class__ is str])
    hidden = sorted([axis for axis in counts if axis.__class__ is tuple], reverse=True)
    return tuple([(axis,) for axis in [*hidden, *kept]])


def _given(name: str, seen: dict, text: str) -> int:
    if name not in seen:
        known = sorted([axis for axis in seen if isinstance(axis, str)])
        hint = nearest(name, known) or (f"The pattern has the axes {', '.join(known)}." if known else "")
        raise EinopsError(f"Axis {name} is not used in the pattern; its size was given.", text, 0, len(text), hint)
    return seen[name]


def _spelled(pattern: str, ndims: Sequence[int]) -> str:
    """The pattern with spaces between its axes: ``ij,jk->ik`` is read letter by letter where that fits the arrays."""
    grammar.check_text(pattern)
    if ELLIPSIS in pattern:
        pattern = pattern.replace(ELLIPSIS, f" {ELLIPSIS} ")
    left, arrow, right = pattern.partition("->")
    parts = left.split(",")
    words = [part.replace(ELLIPSIS, " ").split() for part in [*parts, right]]
    if len(parts) != len(ndims) or not all(len(w) < 2 and all(x.isalpha() for x in w) for w in words):
        return pattern
    for word, part, ndim in zip(words, parts, ndims):
        letters = len(word[0]) if word else 0
        if letters > ndim or (letters < ndim and ELLIPSIS not in part):
            return pattern
    spaced = [" ".join([x if x == ELLIPSIS else " ".join(x) for x in part.split()]) for part in [*parts, right]]
    return ", ".join(spaced[:-1]) + (f" -> {spaced[-1]}" if arrow else "")


# What the functions allow. Of einsum and indexing, that no axis is new and that numbers are matched.


def _check_known(parsed: Parsed, names: tuple[str, ...]) -> None:
    _check_numbers(parsed, names)
    known = [axis for side in parsed.left for axis in names_of(side)]
    for axis in names_of((parsed.right or ((),))[0]):
        if axis not in known:
            hint = nearest(str(axis), [name for name in known if isinstance(name, str)])
            hint = hint or "A new axis is made by rc.repeat: do that with the result."
            message = f"Unknown axis {axis} on right side of einsum {parsed.text}."
            raise EinopsError(message, parsed.text, *span_of(parsed.text, axis, False), hint)


def _check_numbers(parsed: Parsed, names: tuple[str, ...]) -> None:
    wanted = [axis for axis in names_of((parsed.right or ((),))[0]) if axis.__class__ is int]
    known = [axis for side in parsed.left for axis in names_of(side)] if wanted else []
    for axis in wanted:
        n, have = wanted.count(axis), known.count(axis)
        if n != have:
            message = f"The number {axis} is {n} times in the result and {have} times on the left."
            hint = "Numbers are matched in order, each with one; give the axis a name instead."
            raise EinopsError(message, parsed.text, *span_of(parsed.text, axis, False), hint)


def _check_names(parsed: Parsed, names: tuple[str, ...]) -> None:
    for side in (*parsed.left, *(parsed.right or ())):
        for axis in names_of(side):
            if axis.__class__ is int:
                message, hint = "Numbers are no axes in rc.rearrange.", "Give it a name and its size."
                raise EinopsError(message, parsed.text, *span_of(parsed.text, axis), hint)


def _check_single(parsed: Parsed, names: tuple[str, ...]) -> None:
    for at, group in enumerate(parsed.left[0]):
        if group.__class__ is tuple and (len(group) > 1 or group == (ELLIPSIS,)):
            message = "Can't parse shape with composite axes, nor with an ellipsis inside parentheses."
            raise EinopsError(message, parsed.text, *grammar.spans_of(parsed.text)[0][at])


KINDS = {
    "einsum": Kind(grammar.PRODUCTS, "optional", spelled=True, check=_check_known),
    "numpy": Kind(grammar.PRODUCTS, "optional", check=_check_known),
    "einops": Kind(grammar.SKIPPING, check=_check_known),
    "gather": Kind(grammar.PRODUCTS, spelled=True, check=_check_known),
    "scatter": Kind(grammar.PRODUCTS, spelled=True, check=_check_numbers),
    "join": Kind(grammar.WIDE, apart=True, joins=True, check=_check_names),
    "sizes": Kind(grammar.SKIPPING, "refused", spelled=True, skips=True),
    "shape": Kind(grammar.SHAPE, "refused", skips=True, check=_check_single),
}


@cached("patterns of several arrays", 4096)
def labels_of(pattern: str, ndims: tuple[int, ...], names: tuple[str, ...] = (), kind: str = "einsum") -> Labels:
    """Read a pattern for arrays with these numbers of axes, and sizes given for ``names``.

    >>> labels_of("ij,jk->ik", (2, 2)) == labels_of("i j, j k -> i k", (2, 2))
    True
    """
    return read(pattern, ndims, names, KINDS[kind])
