"""Two shapes of one tensor, and what must hold of sizes that are not known yet.

A reshape keeps the entries in row-major order. It splits axes and merges neighbours, so it goes through the *common
refinement* of the two shapes, the coarsest list of sizes of which both are made by merging neighbours: ``(6, 4)`` and
``(2, 12)`` refine to ``(2, 3, 4)``. There is none where the places at which the two cut do not divide one another, as
for ``(6, 4)`` and ``(4, 6)``.

Of a symbolic size ``n``, that ``8 (n // 8)`` is ``n`` cannot be seen. It is taken to be so, and kept as a condition in
the context, which a call checks when it tells the sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import count
from math import prod

from ricci.errors import ShapeError
from ricci.expr import Dim, Expr, Size, dims, merge, product
from ricci.notation.context import Check, Context, Facts

Groups = list[list[tuple[int, Size]]]  # for each axis the parts it is made of: number and size

# Conditions on sizes


def not_negative(context: Context, size: Size, message: str) -> Context:
    """The context with the condition that ``size`` is not negative."""
    if isinstance(size, Dim):
        return context.merged(Context(Facts(checks=[Check(size, message, "", 0, 0)])))
    if size < 0:
        raise ShapeError(message)
    return context


def equal(context: Context, a: Size, b: Size, message: str) -> Context:
    """The context with the condition that two sizes are the same."""
    return context if a == b else not_negative(not_negative(context, a - b, message), b - a, message)


def pinned(shape: Sequence[Size], context: Context) -> tuple[Size, ...]:
    """The sizes, those that a condition fixes as numbers."""
    known = {check.size for check in context.facts.checks}

    def number(size: Dim) -> Size:
        found = [size - other for other in known]
        return next((n for n in found if isinstance(n, int) and n - size in known), size)

    return tuple([number(size) if isinstance(size, Dim) else size for size in shape])


# The common refinement of two shapes


def refined(
    shape: Sequence[Size], other: Sequence[Size], names: Sequence[str], context: Context
) -> tuple[Groups, Groups, Context]:
    """What the axes of either shape are made of, and the context with what must hold for that.

    ``names`` are the names of the axes of ``shape``. Where the sizes alone do not tell, those that ``context`` fixes as
    numbers are used as such.
    """
    own = tuple(shape)
    found = _refinement(own, other)
    if found is None and any(isinstance(size, Dim) for size in own):
        own = pinned(own, context)
        found = _refinement(own, other)
    if found is None:
        raise ShapeError(
            f"A tensor of the shape {tuple(shape)} cannot be given the shape {tuple(other)}: a reshape splits axes and "
            "merges neighbours, and the sizes do not allow it, or do not tell how."
        )
    places = [*[f"Axis {name!r}" for name in names], *[f"Axis {axis} of the result" for axis in range(len(other))]]
    for where, size, parts in zip(places, (*own, *other), (*found[0], *found[1]), strict=True):
        made = " and ".join([str(part) for _, part in parts])
        message = f"{where} has the size {size}, which is not the product of {made}."
        context = equal(context, size, prod([part for _, part in parts]), message)
    return *found, context


def regrouped(e: Expr, inner: Groups, outer: Groups) -> tuple[Expr, list[Hashable], list[Hashable]]:
    """``e``, its axes split into the parts of ``inner`` and these merged to ``outer``; and the labels of both sides.

    An axis that is one part has the label of this part, so that a label on both sides is an axis that stays.
    """
    factors, unit = [], {}
    sides: list[list[Hashable]] = []
    for side, groups in (("in", inner), ("out", outer)):
        labels: list[Hashable] = []
        for axis, parts in enumerate(groups):
            numbers, sizes = [number for number, _ in parts], tuple([size for _, size in parts])
            labels.append(numbers[0] if len(parts) == 1 else (side, axis))
            if len(parts) > 1:
                factors.append((merge(sizes), (labels[-1], *numbers)))
            elif not parts and side == "out":
                unit[labels[-1]] = 1
        sides.append(labels)
    return product([(e, sides[0]), *factors], sides[1], unit), sides[0], sides[1]


def _refinement(shape: Sequence[Size], other: Sequence[Size]) -> tuple[Groups, Groups] | None:
    """Both shapes are read from the right, and of two sizes the one that divides the other is taken out of it.

    None where neither does. That a symbolic size can be divided is assumed.
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
