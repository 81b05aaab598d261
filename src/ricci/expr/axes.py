"""Axes in natural order: functions that act entry by entry do not care how their axes are arranged.

``exp(x[j,i])`` is the transpose of ``exp(x[i,j])``, and ``exp(1[i] b[j])`` is ``1[i] exp(b[j])``. So sums, elementwise
functions and the leading axes of functions are stored with their axes in the order in which the operands use them by
themselves, and the arrangement (a permutation, a broadcast) is left to the product around them. Transposed copies of
one expression are then one object, and nothing is computed along an axis on which nothing depends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ricci.expr.node import Expr, Product, Shape, Structure, Sum
from ricci.expr.product import product
from ricci.expr.scale import scale
from ricci.expr.structure import ONE, ZERO, one, symmetric, zero


def natural(e: Expr) -> tuple[int, ...]:
    """The axes on which ``e`` depends, in the order in which it uses them."""
    if isinstance(e, Product) and not e.sums:
        return tuple(dict.fromkeys(label for labels in e.labels for label in labels))
    if isinstance(e, Sum) and len(e.args) == 1:
        return natural(e.args[0])
    if isinstance(e, Structure) and e.relation in (ONE, ZERO):
        return ()
    return tuple(range(len(e.shape)))


def arrangement(e: Expr, weight: float = 0.0) -> tuple:
    """Orders operands that may be exchanged before their axes are put in natural order.

    It looks at what they are rather than at how their axes are arranged: of equal ones the one that is not rearranged
    comes first, and matrices that equal their transpose, which arrange nothing, come last.
    """
    form = tuple([a.key for a in e.args]) if isinstance(e, Product) and not e.sums else (e.key,)
    return symmetric(e), form, weight, natural(e) != tuple(range(len(e.shape))), e.key


def restrict(e: Expr, axes: Sequence[int]) -> Expr:
    """``e`` with only ``axes``, in that order; it must not depend on the others."""
    if isinstance(e, Sum) and len(e.args) == 1:
        return scale(e.coefs[0], restrict(e.args[0], axes))
    shape = tuple([e.shape[a] for a in axes])
    if isinstance(e, Structure) and e.relation in (ONE, ZERO):
        return one(shape) if e.relation == ONE else zero(shape)
    if isinstance(e, Product) and not e.sums:
        return product(list(e.factors()), axes, dict(zip(axes, shape, strict=True)))
    return product([(e, tuple(range(len(e.shape))))], axes)


def broadcast(e: Expr, axes: Sequence[int], shape: Shape) -> Expr:
    """``e``, whose axes become ``axes`` of the result, constant along the other axes of ``shape``."""
    return product([(e, tuple(axes))], tuple(range(len(shape))), dict(enumerate(shape)))


def as_scalar(e: Expr) -> Expr:
    """The scalar that ``e`` is everywhere, if it depends on no axis; otherwise ``e``."""
    return restrict(e, ()) if e.shape and not natural(e) else e


def in_natural_order(
    args: tuple[Expr, ...], shape: Shape, build: Callable[[tuple[Expr, ...]], Expr], trailing: Shape = ()
) -> Expr:
    """``build(args)`` with the leading axes, of sizes ``shape``, put in natural order inside.

    Operands have the axes ``shape`` first, or none at all. Their further axes stay last, as do the result's
    ``trailing`` ones.
    """
    lead = len(shape)
    order = list(dict.fromkeys(a for e in args if e.shape for a in natural(e) if a < lead))
    if order == list(range(lead)):
        return build(args)
    inner = build(tuple([restrict(e, [*order, *range(lead, len(e.shape))]) if e.shape else e for e in args]))
    last = range(lead, lead + len(trailing))
    return broadcast(inner, (*order, *last), (*shape, *trailing))
