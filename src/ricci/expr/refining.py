"""The common refinement of two shapes.

A reshape splits axes and merges neighbours, so it goes through the *common refinement* of the two shapes, the coarsest
list of sizes of which both are made by merging neighbours: ``(6, 4)`` and ``(2, 12)`` refine to ``(2, 3, 4)``. There is
none where the places at which the two cut do not divide one another, as for ``(6, 4)`` and ``(4, 6)``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import count
from math import prod

from ricci.expr import dims
from ricci.expr.dims import Size

Groups = list[list[tuple[int, Size]]]  # for each axis the parts it is made of: number and size


def refinement(shape: Sequence[Size], other: Sequence[Size]) -> tuple[Groups, Groups] | None:
    """What the axes of both shapes are made of; None where that is not to be seen.

    Both are read from the right, and of two sizes the one that divides the other is taken out of it. That a symbolic
    size can be divided is assumed: that an axis is the product of its parts is for the caller to see to.
    """
    groups: tuple[Groups, Groups] = [[] for _ in shape], [[] for _ in other]
    left, right = list(shape), list(other)  # axes not yet used up, and what is left of the last one
    for number in count():
        while (unit := [side for side in (left, right) if side and side[-1] == 1]) and len(unit) == 1:
            unit[0].pop()
        if not left or not right:
            break
        if _same(left[-1], right[-1]):
            part, rest = dims.same(left[-1], right[-1]), (None, None)
        elif (more := _without(left[-1], right)) is not None:
            part, rest = right[-1], (more, None)
        elif (more := _without(right[-1], left)) is not None:
            part, rest = left[-1], (None, more)
        else:
            break
        for side, found, more in zip((left, right), groups, rest, strict=True):
            found[len(side) - 1].insert(0, (number, part))
            side[-1:] = [] if more is None else [more]
    return None if left or right else groups


def _without(size: Size, others: Sequence[Size]) -> Size | None:
    """What is left of a size when the last of ``others`` is taken out of it; None where that is not part of it.

    It may be the product of several of them, in which case nothing need be divided.
    """
    for first in range(len(others) - 2, -1, -1):
        if prod(others[first:]) == size:
            return prod(others[first:-1])
    return dims.quotient(size, others[-1]) if _divides(others[-1], size) else None


def _same(a: Size, b: Size) -> bool:
    return a == b or _exact(a) == _exact(b)


def _divides(a: Size, b: Size) -> bool:
    """Whether ``b`` is a multiple of ``a``: surely so, or if the symbolic sizes left in the quotient allow it."""
    if a == 0:
        return False
    if dims.quotient(b, a) * a == b:
        return True
    left = Counter(_exact(b)[1])
    left.subtract(_exact(a)[1])
    return any(left.values()) and min(left.values()) >= 0


def _exact(size: Size) -> tuple[Fraction, dict[Hashable, int]]:
    """A size as a coefficient and powers of symbols, as if no quotient in it had a remainder; a sum is a symbol."""
    if isinstance(size, int):
        return Fraction(size), {}
    if len(size.terms) != 1:
        return Fraction(1), {size: 1}
    ((atoms, number),) = size.terms
    coef, powers = Fraction(number), Counter()
    for atom in atoms:
        if atom[0] == "//" and len(atom) == 3:
            (c, above), (d, below) = _exact(atom[1]), _exact(atom[2])
            coef = coef * c / d
            powers.update(above)
            powers.subtract(below)
        else:
            powers[atom] += 1
    return coef, {symbol: n for symbol, n in powers.items() if n}
