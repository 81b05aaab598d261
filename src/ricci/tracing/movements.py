"""Movements of data along axes, as products with structures.

    transpose     y[j,i] = x[i,j]
    reshape       y[a,b] = sum over c of [c == a·B + b] x[c]                 and back
    slice         y[i]   = sum over j of [j == step·i + start] x[j]           a flip is one with step -1
    gather        y[t]   = sum over j of [j == index[t]] x[j]
    selection     y      = sum over runs r of ``y`` that read ``x`` at equal distances, each a slice put in its place

A selection is a gather whose places are known while tracing, as in roll, pad or delete. Its places mostly go up or down
in few *runs* of equal steps, and slices are cheaper to read, to differentiate and to transpose than a gather is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import prod

import numpy as np

from ricci.einops.refinement import Groups, refined, regrouped
from ricci.errors import ShapeError
from ricci.expr import Expr, add, merge, one_hot, product, window, zero
from ricci.notation.context import Context
from ricci.tracing.basics import lift

MOST_RUNS = 8  # a selection of more runs than these is a gather
Run = tuple[int, int, int, int]  # where it starts in the result, where in the array, the step there, how long it is


def transposed(e: Expr, axes: Sequence[int]) -> Expr:
    """Axis ``axes[k]`` as axis ``k``."""
    return product([(e, range(len(e.shape)))], axes)


def moved_axis(e: Expr, source: int, destination: int) -> Expr:
    """One axis at another place, the others in their order."""
    order = [a for a in range(len(e.shape)) if a != source]
    order.insert(destination, source)
    return transposed(e, order)


def reshaped(e: Expr, shape: tuple[int, ...]) -> Expr:
    """The same entries in row-major order; the sizes must fit.

    Where the places at which the two shapes cut the entries do not divide one another, it goes through axes that both
    split: ``(5, 6, 4)`` to ``(5, 4, 6)`` through ``(5, 24)``.
    """
    if e.shape == shape:
        return e
    if 0 in shape:
        return zero(shape)
    between: list[int] = []
    for own, other in _blocks(e.shape, shape):  # type: ignore[arg-type]
        between += own if _refinement(own, other) is not None else [prod(own)]
    return _regrouped(_regrouped(e, tuple(between)), shape)


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


def _refinement(shape: tuple[int, ...], other: tuple[int, ...]) -> tuple[Groups, Groups] | None:
    """What the axes of both shapes are made of, if there are such parts."""
    try:
        inner, outer, _ = refined(shape, other, [""] * len(shape), Context())
    except ShapeError:
        return None
    return inner, outer


def _regrouped(e: Expr, shape: tuple[int, ...]) -> Expr:
    """A reshape between shapes that have a common refinement."""
    if e.shape == shape:
        return e
    found = _refinement(e.shape, shape)  # type: ignore[arg-type]
    assert found is not None
    return regrouped(e, *found)[0]


def along(e: Expr, axis: int, structure: Expr) -> Expr:
    """``e`` read along ``axis`` by a structure with the axes (place in ``e``, place in the result)."""
    out = range(len(e.shape))
    read = ["read" if a == axis else a for a in out]
    return product([(e, read), (structure, ("read", axis))], out, {axis: structure.shape[1]})


def sliced(e: Expr, axis: int, start: int, step: int, count: int) -> Expr:
    """``count`` entries along ``axis``, from ``start`` on in steps."""
    size = e.shape[axis]
    if (start, step, count) == (0, 1, size):
        return e
    return along(e, axis, window((step,), start, size, (count,)))


def flipped(e: Expr, axis: int) -> Expr:
    """The entries along ``axis`` from the last to the first."""
    size: int = e.shape[axis]  # type: ignore[assignment]
    return sliced(e, axis, size - 1, -1, size) if size > 1 else e


def placed(e: Expr, axis: int, start: int, size: int) -> Expr:
    """``e`` from ``start`` on along an axis of ``size``, with zeros around it."""
    if e.shape[axis] == size:
        return e
    out = range(len(e.shape))
    read = ["read" if a == axis else a for a in out]
    return product([(e, read), (window((1,), start, size, (e.shape[axis],)), (axis, "read"))], out, {axis: size})


def joined(parts: Sequence[Expr], axis: int) -> Expr:
    """The parts one after another along ``axis``."""
    sizes: list[int] = [part.shape[axis] for part in parts]  # type: ignore[misc]
    starts = [*accumulate(sizes, initial=0)]
    total = starts[-1]
    if not total:
        return parts[0]
    chosen = [(part, start) for part, start in zip(parts, starts, strict=False) if part.shape[axis]]
    return add([(1, placed(part, axis, start, total)) for part, start in chosen])


def gathered(e: Expr, axis: int, index: Expr) -> Expr:
    """``e`` read along ``axis`` at the places that ``index``, a tensor of integers, says; its axes replace ``axis``."""
    order = len(e.shape)
    read = ["read" if a == axis else a for a in range(order)]
    new = [("new", a) for a in range(len(index.shape))]
    out = [*range(axis), *new, *range(axis + 1, order)]
    return product([(e, read), (one_hot(index, e.shape[axis]), (*new, "read"))], out)


def selected(e: Expr, axis: int, places: np.ndarray) -> Expr:
    """``e`` read along ``axis`` at known places, none of them negative."""
    found = runs(places)
    size, count = e.shape[axis], len(places)
    if not count or found is None:
        return gathered(e, axis, lift(places).expr) if count else sliced(e, axis, 0, 1, 0)
    out = range(len(e.shape))
    read = ["read" if a == axis else a for a in out]
    terms = []
    for at, start, step, length in found:
        factors = [(e, read), (window((step,), start, size, (length,)), ("read", "run"))]
        terms.append((1, product([*factors, (window((1,), at, count, (length,)), (axis, "run"))], out, {axis: count})))
    return add(terms)


def runs(places: np.ndarray) -> list[Run] | None:
    """Places as runs of equal steps; None where they are more than is worth it.

    >>> runs(np.array([3, 4, 5, 0, 1, 2]))
    [(0, 3, 1, 3), (3, 0, 1, 3)]
    """
    found: list[Run] = []
    at, values = 0, places.tolist()
    while at < len(values):
        if len(found) == MOST_RUNS:
            return None
        step = values[at + 1] - values[at] if at + 1 < len(values) else 1
        end = at + 1
        while end < len(values) and values[end] - values[end - 1] == step:
            end += 1
        found.append((at, values[at], step if end > at + 1 else 1, end - at))
        at = end
    return found


def tiled(e: Expr, axis: int, times: int) -> Expr:
    """The whole of ``axis`` several times over."""
    return _repeated(e, axis, times, inner=False)


def repeated(e: Expr, axis: int, times: int) -> Expr:
    """Each entry along ``axis`` several times."""
    return _repeated(e, axis, times, inner=True)


def _repeated(e: Expr, axis: int, times: int, inner: bool) -> Expr:
    size: int = e.shape[axis]  # type: ignore[assignment]
    if times == 1:
        return e
    if not size * times:
        return zero((*e.shape[:axis], 0, *e.shape[axis + 1 :]))
    out = range(len(e.shape))
    read = ["read" if a == axis else a for a in out]
    pair = ("read", "time") if inner else ("time", "read")
    structure = merge((size, times) if inner else (times, size))
    return product([(e, read), (structure, (axis, *pair))], out, {axis: size * times})
