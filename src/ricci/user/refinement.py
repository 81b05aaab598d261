"""What must hold of sizes that are not known yet, and the reshapes that assume it.

Of a symbolic size ``n``, that ``8 (n // 8)`` is ``n`` cannot be seen. It is taken to be so, and kept as a condition in
the context, which a call checks when it tells the sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ricci.errors import ShapeError
from ricci.expr import Dim, Size
from ricci.expr.moving import unrefined
from ricci.expr.refining import Groups, refinement
from ricci.notation.context import Check, Context, Facts

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


# Reshapes


def refined(
    shape: Sequence[Size], other: Sequence[Size], names: Sequence[str], context: Context
) -> tuple[Groups, Groups, Context]:
    """What the axes of either shape are made of, and the context with what must hold for that.

    ``names`` are the names of the axes of ``shape``. Where the sizes alone do not tell, those that ``context`` fixes as
    numbers are used as such.
    """
    own = tuple(shape)
    found = refinement(own, other)
    if found is None and any(isinstance(size, Dim) for size in own):
        own = pinned(own, context)
        found = refinement(own, other)
    if found is None:
        raise unrefined(shape, other)
    places = [*[f"Axis {name!r}" for name in names], *[f"Axis {axis} of the result" for axis in range(len(other))]]
    for where, size, parts in zip(places, (*own, *other), (*found[0], *found[1]), strict=True):
        made = " and ".join([str(part) for _, part in parts])
        message = f"{where} has the size {size}, which is not the product of {made}."
        context = equal(context, size, prod([part for _, part in parts]), message)
    return *found, context
