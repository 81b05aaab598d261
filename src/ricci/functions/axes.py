"""Functions over axes work on the last axes of their operands; here named positions are brought there and back."""

from __future__ import annotations

from collections.abc import Iterable

from ricci.errors import AxisError
from ricci.expr import Expr, Op, Size, function, merge, product

Axes = int | Iterable[int] | None


def positions(x: Expr, axes: Axes) -> tuple[int, ...]:
    """``axes`` as positions from the front; ``None`` stands for all of them."""
    if axes is None:
        return tuple(range(x.order))
    chosen = (axes,) if isinstance(axes, int) else tuple(axes)
    for axis in chosen:
        if not -x.order <= axis < x.order:
            raise AxisError(f"A tensor of order {x.order} has no axis {axis}.")
    found = tuple([axis % x.order for axis in chosen])
    if len(set(found)) != len(found):
        raise AxisError(f"The axes {chosen} name one axis of a tensor of order {x.order} twice.")
    return found


def others(x: Expr, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([axis for axis in range(x.order) if axis not in axes])


def count(x: Expr, axes: tuple[int, ...]) -> Size:
    """The number of entries along ``axes``."""
    total: Size = 1
    for axis in axes:
        total = total * x.shape[axis]
    return total


def transpose(x: Expr, order: Iterable[int]) -> Expr:
    """Axis ``order[k]`` of ``x`` as axis ``k``; axes left out are summed."""
    return product([(x, range(x.order))], tuple(order))


def batch(x: Expr, own: int) -> tuple[int, ...]:
    """Labels for the leading axes of ``x``, all but the last ``own``."""
    return tuple(range(x.order - own))


def last(x: Expr, axes: tuple[int, ...]) -> Expr:
    """``x`` with ``axes`` merged into one, in row-major order, which comes last."""
    rest = others(x, axes)
    if len(axes) == 1:
        return transpose(x, (*rest, *axes))
    return product([(x, range(x.order)), (merge(tuple([x.shape[a] for a in axes])), ("all", *axes))], (*rest, "all"))


def reduced(op: Op, x: Expr, axes: Axes) -> Expr:
    """``op`` over ``axes``, which it removes; the others keep their order."""
    return function(op, (last(x, positions(x, axes)),))


def kept(op: Op, x: Expr, axes: Axes) -> Expr:
    """``op`` along ``axes``, which it keeps."""
    along = positions(x, axes)
    rest = others(x, along)
    result = function(op, (last(x, along),))
    if len(along) == 1:
        return product([(result, (*rest, *along))], range(x.order))
    split = merge(tuple([x.shape[a] for a in along]))
    return product([(result, (*rest, "all")), (split, ("all", *along))], range(x.order))
