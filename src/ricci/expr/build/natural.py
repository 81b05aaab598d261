"""Axes in natural order: functions that act entry by entry do not care how their axes are arranged.

``exp(x[j,i])`` is the transpose of ``exp(x[i,j])``, and ``exp(1[i] b[j])`` is ``1[i] exp(b[j])``. So sums, elementwise
functions and the leading axes of functions are stored with their axes in the order in which the operands use them by
themselves, and the arrangement (a permutation, a broadcast) is left to the product around them. Transposed copies of
one expression are then one object, and nothing is computed along an axis on which nothing depends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ricci.expr.build.product import broadcast, restrict
from ricci.expr.build.scale import primitive, scale
from ricci.expr.nodes import Expr, Function, Product, Shape, Sum, Variable
from ricci.expr.structures import natural, symmetric, wrapped

_MOST_TRIED = 4
_MOST_BUILT = 64  # operands, in all orders that are tried; of very many operands the first order is taken
_PLAIN = (Variable, Function)  # whose axes have no other natural order


def arrangement(e: Expr, weight: float = 0.0) -> tuple:
    """Orders operands that may be exchanged before their axes are put in natural order.

    It looks at what they are rather than at how their axes are arranged: of equal ones the one that is not rearranged
    comes first, and matrices that equal their transpose, which arrange nothing, come last.
    """
    inner = e
    if isinstance(e, Sum) and len(e.args) == 1:
        inner, weight = e.args[0], float(e.coefs[0])
    form = tuple([a.key for a in inner.args]) if isinstance(inner, Product) and not inner.sums else (inner.key,)
    return symmetric(e), form, weight, natural(e) != tuple(range(len(e.shape))), e.key


def tied_first(forms: Sequence[tuple]) -> int:
    """How many operands, sorted by :func:`arrangement`, share the first place but for how their axes are arranged."""
    return sum(form[:3] == forms[0][:3] for form in forms)


def in_natural_order(
    args: tuple[Expr, ...],
    shape: Shape,
    build: Callable[[tuple[Expr, ...]], Expr],
    trailing: Shape = (),
    tied: int = 1,
) -> Expr:
    """``build(args)`` with the leading axes, of sizes ``shape``, put in natural order inside.

    Operands have the axes ``shape`` first, or none at all. Their further axes stay last, as do the result's
    ``trailing`` ones. The first ``tied`` operands may be exchanged: then each of them may say what the natural order
    is, and the node with the smallest key is taken, so that the choice does not depend on the arrangement.
    """
    lead = len(shape)
    if not lead or (lead == 1 and any(0 in natural(e) for e in args)):  # there is one order
        return build(args)
    if tied == 1 and type(args[0]) in _PLAIN and natural(args[0])[:lead] == tuple(range(lead)):
        return build(args)
    found = {order: None for k in range(min(tied, _MOST_TRIED)) for order in _orders(args, k, lead)}
    if len(found) == 1 and tuple(range(lead)) in found:
        return build(args)
    tried = list(found)[: max(1, _MOST_BUILT // len(args))]
    made = [(_build_in(order, args, lead, build), order) for order in tried]
    inner, order = made[0] if len(made) == 1 else min(made, key=lambda pair: (*_unsigned(pair[0]), pair[1]))
    if order == tuple(range(lead)):
        return inner
    axes, whole = (*order, *range(lead, lead + len(trailing))), (*shape, *trailing)
    if isinstance(inner, Sum) and len(inner.args) > 1:
        c, rest = primitive(inner)
        return scale(c, wrapped(rest, axes, whole))
    return broadcast(inner, axes, whole)


def _unsigned(e: Expr) -> tuple[int, bool]:
    """A key that a sum and its negative share, and whether it is the negative one."""
    if isinstance(e, Sum) and len(e.args) > 1:
        c, rest = primitive(e)
        return rest.key, c < 0
    return e.key, False


def _orders(args: tuple[Expr, ...], first: int, lead: int) -> list[tuple[int, ...]]:
    """The natural orders of the leading axes, the operand ``first`` going first."""
    variants = _variants(args[first]) if args[first].shape else [()]
    if len(variants) == 1 and variants[0][:lead] == tuple(range(lead)):
        return [variants[0][:lead]]
    rest = [a for k, e in enumerate(args) if k != first and e.shape for a in natural(e)]
    return [tuple([a for a in dict.fromkeys([*own, *rest]) if a < lead]) for own in variants]


def _variants(e: Expr) -> list[tuple[int, ...]]:
    """The natural order, and what becomes of it when the axes of symmetric matrices in it are exchanged."""
    found = [natural(e)]
    if len(e.shape) < 2:
        return found
    factors = list(e.factors()) if isinstance(e, Product) and not e.sums else [(e, (0, 1))]
    for a, axes in factors:
        if len(axes) == 2 and len(found) < _MOST_TRIED and symmetric(a):
            swap = {axes[0]: axes[1], axes[1]: axes[0]}
            found += [tuple([swap.get(x, x) for x in order]) for order in found]
    return found


def _build_in(order: tuple[int, ...], args: tuple[Expr, ...], lead: int, build: Callable) -> Expr:
    if order == tuple(range(lead)):
        return build(args)
    return build(tuple([restrict(e, [*order, *range(lead, len(e.shape))]) if e.shape else e for e in args]))
