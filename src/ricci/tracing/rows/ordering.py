"""Sorting and searching. A sorted array is a gather at ``argsort``, so its derivative is a permutation.

Where one number stands in a sorted array is a whole number: the first place at which a comparison holds.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ricci.errors import InputError, ShapeError
from ricci.expr import one, product
from ricci.functions import elementwise as e
from ricci.functions import reductions as r
from ricci.tracing.arguments import Known, OneAxis
from ricci.tracing.array import Traced
from ricci.tracing.basics import BOOL, NeedsValueError, fresh, like
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.along import joined, looked_up, places, vector


@lowers(np.sort)
def sort(x: Traced, axis: OneAxis) -> Traced:
    return like(x, r.sort(x.expr, axis))


@lowers(np.argsort)
def argsort(x: Traced, axis: OneAxis) -> Traced:
    return places(r.argsort(x.expr, axis))


@lowers(np.partition, note="sorts")
def partition(x: Traced, kth: Any, axis: OneAxis) -> Traced:
    return sort(x, axis)


@lowers(np.argpartition, note="sorts")
def argpartition(x: Traced, kth: Any, axis: OneAxis) -> Traced:
    return argsort(x, axis)


@lowers(np.searchsorted, note="compares with every entry")
def searchsorted(a: Any, v: Traced, side: str = "left", sorter: Traced | None = None) -> Traced:
    """The first place whose entry is not less than ``v`` (``"left"``), or is greater (``"right"``); else the end."""
    if side not in ("left", "right"):
        raise InputError(f"np.searchsorted: side is 'left' or 'right', not {side!r}.")
    nodes = vector(a, "The array that np.searchsorted looks in")
    if sorter is not None:
        nodes = looked_up(nodes, sorter)
    axes = tuple(range(v.ndim))
    sizes: dict[Any, int] = dict(enumerate(v.shape))
    entries = product([(nodes.expr, ("k",))], (*axes, "k"), sizes)
    wanted = product([(v.expr, axes)], (*axes, "k"), {"k": nodes.shape[0]})
    holds = e.less_equal(wanted, entries) if side == "left" else e.less(wanted, entries)
    row = joined([fresh(holds, BOOL), fresh(one((*v.shape, 1)), BOOL)], v.ndim)
    return places(r.argmax(row.expr, (v.ndim,)))


@lowers(np.digitize, note="compares with every bin")
def digitize(x: Traced, bins: Known, right: bool = False) -> Traced:
    """The bin of each number; whether the bins rise or fall must be known."""
    side = "left" if right else "right"
    steps = np.diff(bins)
    if np.all(steps >= 0):
        return searchsorted(bins, x, side)
    if np.any(steps > 0):
        raise ShapeError("np.digitize: the bins must rise or fall all along.")
    found = searchsorted(bins[::-1], x, side)
    return like(found, len(bins) - found.expr)


@lowers(np.unique, np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values, note="of eager tensors")
def unique(x: Any, **more: Any) -> NoReturn:
    raise NeedsValueError(
        "np.unique has a result whose shape depends on the values, which are not known while the function is traced; "
        "use rc.Tensor, which runs line by line, or pass the array as a static argument."
    )
