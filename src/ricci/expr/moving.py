"""Movements of data: each is a product with structures, so none of them needs a rule of its own.

    transpose       y[j,i]  = x[i,j]
    reshape         y[a,b]  = [c == a·B + b] x[c]                       and back
    broadcast       y[a,b]  = 1[a] x[b]
    slice           y[i]    = [j == step·i + start] x[j]                a flip is one with step -1
    pad             y[j]    = [j == i + start] x[i]                     a concatenation is a sum of such
    roll, selection y       = a sum of slices, each put in its place
    repeat          y[c]    = [c == i·n + t] x[i]                       a tile is one with [c == t·N + i]
    windows         y[i,k]  = [j == step·i + gap·k + start] x[j]
    diagonal        y[t]    = [i == t + a] [j == t + b] x[i,j]          and back
    gather          y[t]    = [j == n[t]] x[j]
    scatter         y[j]    = [j == n[t]] x[t]                          its transpose, the same structure

All that moves data is made here, of expressions with known or symbolic sizes, for traced functions, patterns and
formulas alike; so the same movement is the same object whoever wrote it. What is in bounds is for the callers to see.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import prod

from ricci.errors import ShapeError
from ricci.expr import Dim, Expr, Size, add, constant, merge, one_hot, place, product, window, zero
from ricci.expr.refining import Groups, refinement

MOST_RUNS = 8  # a selection of more runs than these is a gather
Label = Hashable
Factor = tuple[Expr, Sequence[Label]]
Run = tuple[Size, Size, int, Size]  # where it starts in the result, where in the tensor, the step there, how long it is

# Axes


def transposed(e: Expr, axes: Iterable[int]) -> Expr:
    """Axis ``axes[k]`` as axis ``k``; axes left out are summed."""
    return product([(e, range(len(e.shape)))], tuple(axes))


def moved_axis(e: Expr, source: int, destination: int) -> Expr:
    """One axis at another place, the others in their order."""
    order = [a for a in range(len(e.shape)) if a != source]
    order.insert(destination, source)
    return transposed(e, order)


def with_ones(e: Expr, axes: Iterable[int]) -> Expr:
    """``e`` with further axes of size 1, at these places of the result."""
    new: dict[Label, Size] = dict.fromkeys(axes, 1)
    order = len(e.shape) + len(new)
    return product([(e, [a for a in range(order) if a not in new])], range(order), new)


def without_ones(e: Expr, axes: Iterable[int]) -> Expr:
    """``e`` without these axes, which have size 1."""
    gone = set(axes)
    return transposed(e, [a for a in range(len(e.shape)) if a not in gone])


def expanded(e: Expr, shape: Sequence[Size]) -> Expr:
    """``e`` broadcast to ``shape``: axes are counted from the right, and those of size 1 are stretched."""
    if e.shape == shape:
        return e
    skipped = len(shape) - len(e.shape)
    labels: list[Label] = []
    for axis, size in enumerate(e.shape):
        wide = size == 1 and shape[axis + skipped] != 1
        labels.append(("unit", axis) if wide else axis + skipped)
    return product([(e, labels)], range(len(shape)), dict(enumerate(shape)))


def everywhere(value: object, shape: Sequence[Size]) -> Expr:
    """A number at all places of a shape."""
    return product([(constant(value), ())], range(len(shape)), dict(enumerate(shape)))


# Other shapes for the same entries


def reshaped(e: Expr, shape: tuple[Size, ...]) -> Expr:
    """The same entries in row-major order; the sizes must fit."""
    if e.shape == shape:
        return e
    if 0 in shape:
        return zero(shape)
    found = refinement(e.shape, shape)
    if found is not None:
        return regrouped(e, *found)[0]
    if any(isinstance(size, Dim) for size in (*e.shape, *shape)):
        raise unrefined(e.shape, shape)
    between: list[int] = []
    for own, other in _blocks(e.shape, shape):  # type: ignore[arg-type]
        between += own if refinement(own, other) is not None else [prod(own)]
    return reshaped(reshaped(e, tuple(between)), shape)


def unrefined(shape: Sequence[Size], other: Sequence[Size]) -> ShapeError:
    """The error for a reshape between shapes of which it cannot be seen what they have in common."""
    return ShapeError(
        f"A tensor of the shape {tuple(shape)} cannot be given the shape {tuple(other)}: a reshape splits axes and "
        "merges neighbours, and the sizes do not allow it, or do not tell how."
    )


def _blocks(a: tuple[int, ...], b: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Two shapes with as many entries, cut wherever both of them can be."""
    left, right = list(a), list(b)
    while left or right:
        mine, theirs = left[:1], right[:1]
        del left[:1], right[:1]
        while prod(mine) != prod(theirs):
            part, rest = (mine, left) if prod(mine) < prod(theirs) else (theirs, right)
            part.append(rest.pop(0))
        yield tuple(mine), tuple(theirs)


def split(e: Expr, parts: Sequence[Sequence[Size]]) -> Expr:
    """Each axis as the product of axes of these sizes, which are taken to fit; of no sizes, an axis of size 1."""
    factors: list[Factor] = []
    into: list[Label] = []
    out: list[Label] = []
    for axis, (own, sizes) in enumerate(zip(e.shape, parts, strict=True)):
        labels = [(axis, k) for k in range(len(sizes))]
        into.append(labels[0] if len(sizes) == 1 else axis)
        out += labels
        if not sizes and own != 1:
            factors.append((place(0, own), (axis,)))
        elif len(sizes) > 1:
            factors.append((merge(tuple(sizes)), (axis, *labels)))
    return product([(e, into), *factors], out)


def merged(e: Expr, counts: Sequence[int]) -> Expr:
    """As many axes as there are counts, each the product of that many neighbours; 0 for a new one of size 1."""
    factors: list[Factor] = []
    out: list[Label] = []
    unit: dict[Label, Size] = {}
    start = 0
    for axis, many in enumerate(counts):
        parts = range(start, start + many)
        start += many
        out.append(parts[0] if many == 1 else ("merged", axis))
        if many == 0:
            unit["merged", axis] = 1
        elif many > 1:
            factors.append((merge(e.shape[parts[0] : start]), (("merged", axis), *parts)))
    return product([(e, range(len(e.shape))), *factors], out, unit)


def regrouped(e: Expr, inner: Groups, outer: Groups) -> tuple[Expr, list[Label], list[Label]]:
    """``e``, its axes split into the parts of ``inner`` and these merged to ``outer``; and the labels of both sides.

    An axis that is one part has the label of this part, so that a label on both sides is an axis that stays.
    """
    factors: list[Factor] = []
    unit: dict[Label, Size] = {}
    sides: list[list[Label]] = []
    for side, groups in (("in", inner), ("out", outer)):
        labels: list[Label] = []
        for axis, parts in enumerate(groups):
            numbers, sizes = [number for number, _ in parts], tuple([size for _, size in parts])
            labels.append(numbers[0] if len(parts) == 1 else (side, axis))
            if len(parts) > 1:
                factors.append((merge(sizes), (labels[-1], *numbers)))
            elif not parts and side == "out":
                unit[labels[-1]] = 1
        sides.append(labels)
    return product([(e, sides[0]), *factors], sides[1], unit), sides[0], sides[1]


# Along one axis


def _read(e: Expr, axis: int) -> list[Label]:
    """The labels of ``e``, its own for all axes of the result but the one that is read."""
    return ["read" if a == axis else a for a in range(len(e.shape))]


def along(e: Expr, axis: int, structure: Expr) -> Expr:
    """``e`` read along ``axis`` by a structure with the axes (place in ``e``, place in the result)."""
    return product([(e, _read(e, axis)), (structure, ("read", axis))], range(len(e.shape)), {axis: structure.shape[1]})


def sliced(e: Expr, axis: int, start: Size, step: int, count: Size) -> Expr:
    """``count`` entries along ``axis``, from ``start`` on in steps."""
    size = e.shape[axis]
    if (start, step, count) == (0, 1, size):
        return e
    return along(e, axis, window((step,), start, size, (count,)))


def flipped(e: Expr, axis: int) -> Expr:
    """The entries along ``axis`` from the last to the first."""
    size = e.shape[axis]
    return e if size in (0, 1) else sliced(e, axis, size - 1, -1, size)


def entry(e: Expr, axis: int, position: Size) -> Expr:
    """The entries at one position of ``axis``, which is left out."""
    axes = range(len(e.shape))
    return product([(e, axes), (place(position, e.shape[axis]), (axis,))], [a for a in axes if a != axis])


def placed(e: Expr, axis: int, start: Size, size: Size) -> Expr:
    """``e`` from ``start`` on along an axis of ``size``, with zeros around it."""
    if e.shape[axis] == size:
        return e
    moved = window((1,), start, size, (e.shape[axis],))
    return product([(e, _read(e, axis)), (moved, (axis, "read"))], range(len(e.shape)), {axis: size})


def joined(parts: Sequence[Expr], axis: int) -> Expr:
    """The parts one after another along ``axis``."""
    starts: list[Size] = [*accumulate([part.shape[axis] for part in parts], initial=0)]
    if starts[-1] == 0:
        return parts[0]
    chosen = [(part, start) for part, start in zip(parts, starts, strict=False) if part.shape[axis] != 0]
    return add([(1, placed(part, axis, start, starts[-1])) for part, start in chosen])


def stacked(parts: Sequence[Expr], axis: int = 0) -> Expr:
    """The parts along a new axis."""
    if len(parts) == 1:
        return with_ones(parts[0], (axis,))
    axes = range(len(parts[0].shape) + 1)
    own = [a for a in axes if a != axis]
    return add([(1, product([(e, own), (place(k, len(parts)), (axis,))], axes)) for k, e in enumerate(parts)])


def rolled(e: Expr, axis: int, by: int) -> Expr:
    """The entries along ``axis`` moved on by a number of places; those that leave at the end come in at the front."""
    size = e.shape[axis]
    if isinstance(size, int):
        by = by % size if size else 0
    first = by if by >= 0 else size + by
    return e if by == 0 else in_runs(e, axis, [(0, size - first, 1, first), (first, 0, 1, size - first)], size)


def in_runs(e: Expr, axis: int, runs: Sequence[Run], count: Size) -> Expr:
    """``count`` entries along ``axis``, read in runs of equal steps."""
    out, size = range(len(e.shape)), e.shape[axis]
    terms = []
    for at, start, step, length in runs:
        read = window((step,), start, size, (length,)), ("read", "run")
        put = window((1,), at, count, (length,)), (axis, "run")
        terms.append((1, product([(e, _read(e, axis)), read, put], out, {axis: count})))
    return add(terms)


def selected(e: Expr, axis: int, places: Sequence[int], index: Callable[[], Expr]) -> Expr:
    """``e`` read along ``axis`` at known places, none of them negative; ``index`` gives them as an expression.

    Places mostly go up or down in few *runs* of equal steps, and slices are cheaper to read, to differentiate and to
    transpose than a gather is.
    """
    found = runs(places)
    if not places:
        return sliced(e, axis, 0, 1, 0)
    return gathered(e, axis, index()) if found is None else in_runs(e, axis, found, len(places))


def runs(places: Sequence[int]) -> list[Run] | None:
    """Places as runs of equal steps; None where they are more than is worth it.

    >>> runs([3, 4, 5, 0, 1, 2])
    [(0, 3, 1, 3), (3, 0, 1, 3)]
    """
    found: list[Run] = []
    at = 0
    while at < len(places):
        if len(found) == MOST_RUNS:
            return None
        step = places[at + 1] - places[at] if at + 1 < len(places) else 1
        end = at + 1
        while end < len(places) and places[end] - places[end - 1] == step:
            end += 1
        found.append((at, places[at], step if end > at + 1 else 1, end - at))
        at = end
    return found


def repeated(e: Expr, axis: int, times: int, whole: bool = False) -> Expr:
    """Each entry along ``axis`` several times, or the whole of it several times over."""
    size = e.shape[axis]
    if times == 1:
        return e
    if size == 0 or times == 0:
        return zero((*e.shape[:axis], 0, *e.shape[axis + 1 :]))
    parts, labels = ((times, size), ("time", "read")) if whole else ((size, times), ("read", "time"))
    structure = merge(parts), (axis, *labels)
    return product([(e, _read(e, axis)), structure], range(len(e.shape)), {axis: size * times})


# Windows and diagonals


def windows(e: Expr, axes: Sequence[int], reads: Sequence[tuple[int, int, int, int, int]]) -> Expr:
    """Windows that go along ``axes``, of each: how many, how wide, the step between two, the gap inside, the start.

    What stands in a window is a new axis at the end, one for each of ``axes``. Outside of ``e`` there are zeros.
    """
    order = len(e.shape)
    names: dict[int, Label] = {a: ("read", a) for a in axes}
    factors: list[Factor] = [(e, [names.get(a, a) for a in range(order)])]
    for k, (axis, (many, width, step, gap, start)) in enumerate(zip(axes, reads, strict=True)):
        structure = window((step, gap), start, e.shape[axis], (many, width))
        factors.append((structure, (names[axis], axis, order + k)))
    return product(factors, range(order + len(axes)))


def _diagonal(rows: int, columns: int, k: int) -> tuple[Expr, Expr]:
    """Structures (row, t) and (column, t) of the k-th diagonal."""
    above, below = max(k, 0), max(-k, 0)
    length = max(min(rows - below, columns - above), 0)
    return window((1,), below, rows, (length,)), window((1,), above, columns, (length,))


def diagonal(e: Expr, axes: tuple[int, int], k: int = 0) -> Expr:
    """The k-th diagonal in the plane of two axes, as the last axis."""
    rows, columns = axes
    down, right = _diagonal(e.shape[rows], e.shape[columns], k)  # type: ignore[arg-type]
    order = range(len(e.shape))
    factors: list[Factor] = [(e, order), (down, (rows, "t")), (right, (columns, "t"))]
    return product(factors, [*[a for a in order if a not in axes], "t"], {"t": down.shape[1]})


def on_diagonal(e: Expr, k: int = 0) -> Expr:
    """The last axis on the k-th diagonal of two axes, with zeros elsewhere."""
    size: int = e.shape[-1] + abs(k)  # type: ignore[assignment]
    down, right = _diagonal(size, size, k)
    lead = range(len(e.shape) - 1)
    return product([(e, (*lead, "t")), (down, ("row", "t")), (right, ("column", "t"))], (*lead, "row", "column"))


# At places that a tensor of integers says


def gathered(e: Expr, axis: int, index: Expr) -> Expr:
    """``e`` read along ``axis`` at the places that ``index`` says, whose axes replace ``axis``."""
    order = len(e.shape)
    new = [("new", a) for a in range(len(index.shape))]
    out = [*range(axis), *new, *range(axis + 1, order)]
    return product([(e, _read(e, axis)), (one_hot(index, e.shape[axis]), (*new, "read"))], out)


def gathered_along(e: Expr, axis: int, index: Expr, shape: Sequence[Size]) -> Expr:
    """``e`` read along ``axis`` at places that ``index`` says for each entry of ``shape``; axes of size 1 broadcast."""

    def labels(own: Sequence[Size], read: Label) -> list[Label]:
        spread = [("unit", read, a) if s == 1 and shape[a] != 1 else a for a, s in enumerate(own)]
        return [read if a == axis else label for a, label in enumerate(spread)]

    hot = one_hot(index, e.shape[axis]), [*labels(index.shape, axis), "read"]
    return product([(e, labels(e.shape, "read")), hot], range(len(shape)), dict(enumerate(shape)))


def hot(index: Expr, labels: Sequence[Label], axis: Label, size: Size) -> Factor:
    """The structure that ties an axis to the integers that say its places, with its labels: gather and scatter."""
    return one_hot(index, size), (*labels, axis)


def scattered(e: Expr, labels: Sequence[Label], places: Sequence[Factor], out: Mapping[Label, Size]) -> Expr:
    """Zeros with the axes ``out``, and the entries of ``e`` added up at the places that structures say."""
    return product([(e, labels), *places], list(out), out)
