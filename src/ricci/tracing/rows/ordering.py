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
from ricci.tracing.array import Traced, fresh
from ricci.tracing.basics import BOOL, NeedsValueError, concrete, lift, like, refuse
from ricci.tracing.rows.along import along_one, joined, looked_up, places, vector
from ricci.tracing.table import lowers


@lowers(np.sort)
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Traced:
    refuse("np.sort", order=order)
    x, along = along_one(lift(a), axis)
    return like(x, r.sort(x.expr, along))


@lowers(np.argsort)
def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Traced:
    refuse("np.argsort", order=order)
    x, along = along_one(lift(a), axis)
    return places(r.argsort(x.expr, along))


@lowers(np.partition, note="sorts")
def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Traced:
    return sort(a, axis, order=order)


@lowers(np.argpartition, note="sorts")
def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> Traced:
    return argsort(a, axis, order=order)


@lowers(np.searchsorted, note="compares with every entry")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Traced:
    """The first place whose entry is not less than ``v`` (``"left"``), or is greater (``"right"``); else the end."""
    if side not in ("left", "right"):
        raise InputError(f"np.searchsorted: side is 'left' or 'right', not {side!r}.")
    nodes, x = vector(a, "The array that np.searchsorted looks in"), lift(v)
    if sorter is not None:
        nodes = looked_up(nodes, lift(sorter))
    axes = tuple(range(x.ndim))
    n: int = nodes.shape[0]
    sizes: dict[Any, int] = dict(enumerate(x.shape))
    entries = product([(nodes.expr, ("k",))], (*axes, "k"), sizes)
    wanted = product([(x.expr, axes)], (*axes, "k"), {"k": n})
    holds = e.less_equal(wanted, entries) if side == "left" else e.less(wanted, entries)
    row = joined([fresh(holds, BOOL), fresh(one((*x.shape, 1)), BOOL)], x.ndim)
    return places(r.argmax(row.expr, (x.ndim,)))


@lowers(np.digitize, note="compares with every bin")
def digitize(x: Any, bins: Any, right: bool = False) -> Traced:
    """The bin of each number; whether the bins rise or fall must be known."""
    edges = concrete(bins, "np.digitize: the order of the bins")
    side = "left" if right else "right"
    steps = np.diff(edges)
    if np.all(steps >= 0):
        return searchsorted(edges, x, side)
    if np.any(steps > 0):
        raise ShapeError("np.digitize: the bins must rise or fall all along.")
    found = searchsorted(edges[::-1], x, side)
    return like(found, len(edges) - found.expr)


def _by_values(name: Any) -> None:
    def lower(*args: Any, **kwargs: Any) -> NoReturn:
        raise NeedsValueError(
            f"np.{name.__name__} has a result whose shape depends on the values, which are not known while the "
            "function is traced; use rc.Tensor, which runs line by line, or pass the array as a static argument."
        )

    lowers(name, note="of eager tensors")(lower)


for _name in ("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"):
    _by_values(getattr(np, _name))
