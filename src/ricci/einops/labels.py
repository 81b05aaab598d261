"""Patterns of several arrays as labels: ``"(g i) k, k j -> g i j"``, read for arrays with known numbers of axes.

Every elementary axis gets a number, its *label*: a name has one label wherever it stands, a number (an axis of that
exact size) has its own, and an axis under an ellipsis is told by its distance from the right, so that axes of several
arrays broadcast as in NumPy. With the shapes, :func:`solved` finds the size of every label, from axes that are one
label first and then from products with one unknown. What is left to do for an operation is then always the same:
*split* each array into its labels, compute, and *merge* the labels of the result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

from ricci.caches import cached
from ricci.einops.backends.base import Backend
from ricci.einops.patterns import ELLIPSIS, Joined, Pattern, group_text, parse, span_of
from ricci.einops.recipes import called, differ, divides, merged_sizes
from ricci.errors import EinopsError, nearest

Groups = tuple[tuple[int, ...], ...]  # for each axis of an array its labels


class Labels(NamedTuple):
    """A pattern as labels, without sizes."""

    text: str
    operands: tuple[Groups, ...]
    out: Groups
    axes: tuple[Any, ...]  # what each label is: a name, a number, or (k,) for the k-th axis from the right under '...'
    given: tuple[int, ...]  # the labels whose sizes the call gives
    new: tuple[int, ...]  # labels of the result that no operand has
    fixed: tuple[int | None, ...]  # the sizes that numbers tell
    hidden: tuple[bool, ...]  # which labels are under an ellipsis

    def named(self, groups: Groups) -> tuple:
        """What the axes of an array are called."""
        return called(self.axes, groups)


@cached("labels of patterns", 4096)
def labels_of(pattern: str, ndims: tuple[int, ...], names: tuple[str, ...] = (), kind: str = "einsum") -> Labels:
    """Read a pattern for arrays with these numbers of axes, and sizes given for ``names``.

    >>> labels_of("ij,jk->ik", (2, 2)) == labels_of("i j, j k -> i k", (2, 2))
    True
    """
    text = _spelled(pattern, ndims)
    parsed = parse(text, wide=True, repeats=True, skips=kind in ("einops", "sizes"))
    _check(parsed, len(ndims), kind)
    axes: list[Any] = []
    seen: dict[Any, int] = {}
    sides = [_without_ellipsis(side, ndim, text, at) for at, (side, ndim) in enumerate(zip(parsed.left, ndims))]
    if kind == "sizes":  # an axis that is skipped is no other
        skipped = count()
        sides = [tuple([(("_", next(skipped)),) if g == ("_",) else g for g in side]) for side in sides]
    operands = tuple([_numbered(side, axes, seen) for side in sides])
    if parsed.right is not None:
        right = _result(parsed, sides)
    else:
        right = () if kind == "sizes" else _default_result(parsed, sides)
    known = len(axes)
    out = _out(right, axes, seen, text)
    new = tuple(range(known, len(axes)))
    if new and kind != "scatter":
        raise _unknown(text, axes[new[0]], axes[:known], pattern)
    given = tuple([_given(name, seen, text) for name in names])
    fixed = tuple([axis if axis.__class__ is int else None for axis in axes])
    return Labels(text, operands, out, tuple(axes), given, new, fixed, tuple([a.__class__ is tuple for a in axes]))


def _spelled(pattern: str, ndims: Sequence[int]) -> str:
    """The pattern with spaces between its axes: ``ij,jk->ik`` is read letter by letter where that fits the arrays."""
    if not isinstance(pattern, str):
        raise EinopsError(f"A pattern is a text such as 'b i, i j -> b j', not {type(pattern).__name__}.")
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


def _check(parsed: Pattern, arrays: int, kind: str) -> None:
    text = parsed.text
    if len(parsed.left) != arrays:
        message = f"The pattern is of {len(parsed.left)} arrays, and {arrays} were given."
        raise EinopsError(message, text, 0, max(1, len(text.split("->")[0].rstrip())))
    if parsed.right is not None and len(parsed.right) > 1:
        at = text.rindex(",")
        raise EinopsError("There is one result.", text, at, at + 1, "Call it once for each result.")
    for side in (*parsed.left, *(parsed.right or ())) if "+" in text or ELLIPSIS in text else ():
        if side.count(ELLIPSIS) + sum([ELLIPSIS in g for g in side if g.__class__ is tuple]) > 1:
            at = text.rindex(ELLIPSIS)
            raise EinopsError("Ellipsis may be used only once on a side.", text, at, at + 3)
        for group in side:
            if group.__class__ is Joined:
                start = text.index("+")
                hint = "rc.rearrange joins and splits arrays; do it before or after."
                raise EinopsError("Joining and splitting is done by rc.rearrange alone.", text, start, start + 1, hint)
    if parsed.right is None and kind not in ("einsum", "sizes"):
        hint = "Write the axes of the result after an arrow '->'."
        raise EinopsError("The pattern has no arrow.", text, max(0, len(text) - 1), max(1, len(text)), hint)


def _without_ellipsis(side: tuple, ndim: int, text: str, at: int) -> tuple:
    """The side of one array, with the axes under the ellipsis written out."""
    if len(side) == ndim and ELLIPSIS not in text:
        return side
    if ELLIPSIS in side:
        hidden = ndim - len(side) + 1
        if hidden < 0:
            raise _wrong_order(side, ndim, text, at, "at least ")
        k = side.index(ELLIPSIS)
        return (*side[:k], *[((n,),) for n in range(hidden, 0, -1)], *side[k + 1 :])
    if any(ELLIPSIS in group for group in side):
        start = text.index(ELLIPSIS)
        raise EinopsError("Ellipsis inside parenthesis in the left side is not allowed.", text, start, start + 3)
    if len(side) != ndim:
        raise _wrong_order(side, ndim, text, at)
    return side


def _wrong_order(side: tuple, ndim: int, text: str, at: int, more: str = "") -> EinopsError:
    count = len(side) - (ELLIPSIS in side)
    parts = text.split("->")[0].split(",")
    start = sum([len(part) + 1 for part in parts[:at]])
    start += len(parts[at]) - len(parts[at].lstrip())
    message = f"Wrong shape: expected {more}{count} dims of array {at}. Received {ndim}-dim tensor."
    return EinopsError(message, text, start, max(start + 1, start + len(parts[at].strip())))


def _numbered(side: tuple, axes: list, seen: dict) -> Groups:
    found = []
    for group in side:
        labels = []
        for axis in group:
            label = seen.get(axis, -1) if axis.__class__ is not int else -1
            if label < 0:
                label = len(axes)
                axes.append(axis)
                if axis.__class__ is not int:
                    seen[axis] = label
            labels.append(label)
        found.append(tuple(labels))
    return tuple(found)


def _default_result(parsed: Pattern, sides: list[tuple]) -> tuple:
    """Without an arrow, as NumPy has it: the axes under the ellipsis, then the names that occur once, sorted."""
    counts = Counter(axis for side in sides for group in side for axis in group)
    numbers = [axis for axis in counts if axis.__class__ is int]
    if numbers:
        hint = "Say which axes are kept: write the arrow and the result."
        message = "A number needs a pattern with an arrow."
        raise EinopsError(message, parsed.text, *span_of(parsed.text, numbers[0]), hint)
    kept = sorted([axis for axis, n in counts.items() if n == 1 and axis.__class__ is str])
    hidden = sorted([axis for axis in counts if axis.__class__ is tuple], reverse=True)
    return tuple([(axis,) for axis in [*hidden, *kept]])


def _result(parsed: Pattern, sides: list[tuple]) -> tuple:
    assert parsed.right is not None
    text, right = parsed.text, parsed.right[0]
    if ELLIPSIS not in text:
        return right
    hidden = max([[g[0] for g in side if g and g[0].__class__ is tuple] for side in sides], key=len)
    if any(ELLIPSIS in group for group in right) and not any(ELLIPSIS in side for side in parsed.left):
        at = text.rindex(ELLIPSIS)
        raise EinopsError("Ellipsis found in right side, but not left side of a pattern.", text, at, at + 3)
    written: list = []
    for group in right:
        if group == ELLIPSIS:
            written += [(axis,) for axis in hidden]
        else:
            k = group.index(ELLIPSIS) if ELLIPSIS in group else -1
            written.append(group if k < 0 else (*group[:k], *hidden, *group[k + 1 :]))
    return tuple(written)


def _out(right: tuple, axes: list, seen: dict, text: str) -> Groups:
    """The labels of the result; numbers are those of the left, in order, and new names are added to ``axes``."""
    numbers: dict[int, list[int]] = {}
    for label, axis in enumerate(axes):
        if axis.__class__ is int:
            numbers.setdefault(axis, []).append(label)
    wanted = [axis for group in right for axis in group if axis.__class__ is int]
    for axis in wanted:
        n, have = wanted.count(axis), len(numbers.get(axis, ()))
        if n != have:
            message = f"The number {axis} is {n} times in the result and {have} times on the left."
            hint = "Numbers are matched in order, each with one; give the axis a name instead."
            raise EinopsError(message, text, *span_of(text, axis, False), hint)
    out = []
    for group in right:
        labels = []
        for axis in group:
            if axis.__class__ is not int and axis not in seen:
                seen[axis] = len(axes)
                axes.append(axis)
            labels.append(numbers[axis].pop(0) if axis.__class__ is int else seen[axis])
        out.append(tuple(labels))
    return tuple(out)


def _unknown(text: str, axis: object, known: list, pattern: str) -> EinopsError:
    names = [name for name in known if isinstance(name, str)]
    hint = nearest(str(axis), names) or "A new axis is made by rc.repeat: do that with the result."
    message = f"Unknown axis {axis} on right side of einsum {pattern}."
    return EinopsError(message, text, *span_of(text, axis, False), hint)


def _given(name: str, seen: dict, text: str) -> int:
    if name not in seen:
        known = sorted([axis for axis in seen if isinstance(axis, str)])
        hint = nearest(name, known) or (f"The pattern has the axes {', '.join(known)}." if known else "")
        raise EinopsError(f"Axis {name} is not used in the pattern; its size was given.", text, 0, len(text), hint)
    return seen[name]


def solved(labels: Labels, shapes: Sequence[Sequence[Any]], values: Sequence[Any], broadcasts: str = "hidden") -> list:
    """The size of every label. ``broadcasts``: which labels an axis of size 1 fits in any case: those under an
    ellipsis ("hidden"), "all", or "none". Of sizes that are symbols nothing but products and quotients is asked."""
    sizes: list[Any] = list(labels.fixed)
    for label, value in zip(labels.given, values):
        sizes[label] = value
    products = []
    for groups, shape in zip(labels.operands, shapes):
        for group, length in zip(groups, shape):
            if len(group) != 1:
                products.append((group, length))
                continue
            known = sizes[group[0]]
            if known is None or known.__class__ is not int:
                sizes[group[0]] = length
            elif differ(known, length):
                free = broadcasts == "all" or (broadcasts == "hidden" and labels.hidden[group[0]])
                if not free or (length != 1 and known != 1):
                    raise mismatch(labels, group, length, known, shapes, values)
                sizes[group[0]] = length if known == 1 else known
    while products:
        left = [item for item in products if not _divided(labels, item, sizes, shapes, values)]
        if len(left) == len(products):
            raise _undetermined(labels, left[0][0], sizes, shapes, values)
        products = left
    return sizes


def _divided(labels: Labels, item: tuple, sizes: list, shapes: Sequence, values: Sequence) -> bool:
    """Whether the size of a product tells that of its only unknown label, or has none."""
    group, length = item
    unknown = [label for label in group if sizes[label] is None]
    if len(unknown) > 1:
        return False
    known = 1
    for label in group:
        known = known * (1 if sizes[label] is None else sizes[label])
    if not unknown:
        if differ(length, known):
            raise mismatch(labels, group, length, known, shapes, values)
    else:
        if not divides(known, length):
            raise mismatch(labels, group, length, known, shapes, values, divided=True)
        sizes[unknown[0]] = length // known
    return True


def context_of(labels: Labels, shapes: Sequence, values: Sequence) -> str:
    """The shapes and the sizes that a call was made with, for messages."""
    given = [f"{labels.axes[k]}={v}" for k, v in zip(labels.given, values)]
    text = f"Input shapes: {', '.join([str(tuple(shape)) for shape in shapes])}."
    return text + (f" Sizes given: {', '.join(given)}." if given else "")


def mismatch(
    labels: Labels, group: tuple, length: Any, known: Any, shapes: Sequence, values: Sequence, divided: bool = False
) -> EinopsError:
    """The error for an axis whose size does not fit."""
    called = group_text(
        tuple([axis if isinstance(axis, (str, int)) else ELLIPSIS for axis in map(labels.axes.__getitem__, group)])
    )
    uses = []
    for at, (groups, shape) in enumerate(zip(labels.operands, shapes)):
        uses += [f"{size} in array {at}" for own, size in zip(groups, shape) if own == group]
    if divided:
        message = f"Shape mismatch, can't divide axis of length {length} in chunks of {known}: {called} is {uses[0]}."
        if known == 0:
            message = f"Shape mismatch, a size in {called} cannot be found beside an axis of size 0."
    elif len(uses) > 1 and len(group) == 1:
        message = f"Shape mismatch, {length} != {known}: axis {called} is {', '.join(uses)}."
    else:
        what = "must be 1" if not group else f"is {known}"
        message = f"Shape mismatch, {length} != {known}: {called} is {uses[0] if uses else length}, and here it {what}."
    names = [labels.axes[label] for label in group if isinstance(labels.axes[label], (str, int))]
    span = (
        (0, len(labels.text)) if not names else (span_of(labels.text, names[0])[0], span_of(labels.text, names[-1])[1])
    )
    if span[1] <= span[0]:
        span = span_of(labels.text, names[0])
    return EinopsError(message, labels.text, *span, context_of(labels, shapes, values))


def _undetermined(labels: Labels, group: tuple, sizes: list, shapes: Sequence, values: Sequence) -> EinopsError:
    names = [str(labels.axes[label]) for label in dict.fromkeys(group) if sizes[label] is None]
    hint = f"Give the size of all but one of them: {', '.join([f'{name}=...' for name in names[1:]])}.\n"
    if len(names) == 1:
        hint = f"Give it: {names[0]}=....\n"
    hint += context_of(labels, shapes, values)
    return EinopsError(
        f"Could not infer sizes for {', '.join(names)}.", labels.text, *span_of(labels.text, names[0]), hint
    )


class Terms(NamedTuple):
    """Arrays and a result in labels alone: how to get there and back."""

    splits: tuple[tuple[tuple, ...] | None, ...]  # for each array and axis the sizes of its labels
    terms: tuple[tuple[int, ...], ...]
    out: tuple[int, ...]
    merged: tuple | None  # the shape of the result, where it is not that of its labels
    counts: tuple[int, ...]  # how many labels each axis of the result has


def terms_of(labels: Labels, shapes: Sequence[Sequence[Any]], sizes: Sequence[Any]) -> Terms:
    """The labels of each array; axes of size 1 that broadcast, and 1 and (), are dropped."""
    splits, terms = [], []
    for groups, shape in zip(labels.operands, shapes):
        term, split, plain = [], [], True
        for group, length in zip(groups, shape):
            if len(group) == 1 and not (length.__class__ is int and length == 1 and differ(sizes[group[0]], 1)):
                term.append(group[0])
                split.append((length,))
                continue
            plain = False
            own = group if len(group) > 1 else ()
            term += own
            split.append(tuple([sizes[label] for label in own]))
        terms.append(tuple(term))
        splits.append(None if plain else tuple(split))
    out = tuple([label for group in labels.out for label in group])
    merged = None
    if any(len(group) != 1 for group in labels.out):
        merged = merged_sizes(labels.out, sizes)
    return Terms(tuple(splits), tuple(terms), out, merged, tuple(map(len, labels.out)))


def split_up(backend: Backend, xs: Sequence[Any], terms: Terms) -> list[Any]:
    """The arrays with one axis for each label."""
    return [x if split is None else backend.split(x, split) for x, split in zip(xs, terms.splits)]


def merged_back(backend: Backend, result: Any, terms: Terms) -> Any:
    """The result with the axes of the pattern."""
    return result if terms.merged is None else backend.merge(result, terms.counts)
