"""Several arrays as one vector, their entries one after another, and back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

from ricci.expr import Dim, Expr, Shape, Size, add
from ricci.expr.moving import merged, placed, reshaped, split


def lying(shapes: Sequence[Shape]) -> tuple[list[Size], list[Size]]:
    """Where the entries of each array begin, and the end of all; and how many each has."""
    sizes: list[Size] = [prod(shape) for shape in shapes]  # type: ignore[type-var]
    return [*accumulate(sizes, initial=0)], sizes


def together(parts: Sequence[Expr], starts: Sequence[Size]) -> Expr:
    """The entries of arrays in one vector; sizes may have several names."""
    flat = [
        merged(e, (e.order,)) if any(isinstance(n, Dim) for n in e.shape) else reshaped(e, (prod(e.shape),))  # type: ignore
        for e in parts
    ]
    if starts[-1] == 0:
        return flat[0]
    return add([(1, placed(e, 0, a, starts[-1])) for e, a in zip(flat, starts, strict=False) if e.shape != (0,)])


def apart(e: Expr, front: Shape, shape: Shape) -> Expr:
    """The last axis as those of a shape."""
    if any(isinstance(n, Dim) for n in shape):
        return split(e, [*[(n,) for n in front], shape])
    return reshaped(e, (*front, *shape))
