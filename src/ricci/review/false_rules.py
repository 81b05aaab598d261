"""Rules of differentiation that there are not: the derivative of a product as that of its factors, that of ``f(u)`` as
``f'(u)``."""

from __future__ import annotations

from dataclasses import replace

from ricci.errors import LimitError, RicciError
from ricci.notation import syntax
from ricci.notation.occurrences import Occurrences, names_in
from ricci.review.changes import places
from ricci.review.conditions import Condition
from ricci.review.derived_words import definitions_of
from ricci.review.sides import Side, Workbench, compared

OF_PRODUCT = Condition(
    "it is the product of the derivatives, which is not the derivative of the product",
    "product rule taken for the product of the derivatives",
    "D(u v) = D(u) v + u D(v)",
)
OF_QUOTIENT = Condition(
    "it is the quotient of the derivatives, which is not the derivative of the quotient",
    "quotient rule taken for the quotient of the derivatives",
    "D(u/v) = (v D(u) - u D(v)) / v**2",
)
FORGOTTEN, OF_OUTER = "inner derivative of the chain rule forgotten", "D(f(u)) = f'(u) D(u)"
INNER = "inner°"


def false_rule(bench: Workbench, head: Side, side: Side) -> Condition | None:
    """The rule by which somebody may have come to a side, where it gives just that."""
    asked = head.node
    if not isinstance(asked, syntax.Derivative):
        return None
    body = asked.body
    own = definitions_of(bench, body) if isinstance(body, syntax.TensorNode) else ()
    body = own[-1].body if own else body
    sign = isinstance(body, syntax.Neg)
    body = body.body if isinstance(body, syntax.Neg) else body
    if not isinstance(body, syntax.ProductNode):
        return None
    live = {asked.variable.name}
    for statement in own:
        live |= {statement.name or ""} if live & names_in(statement.body) else set()
    depends = [bool(live & names_in(factor)) for _, factor in body.factors]
    if sum(depends) < 2:
        return None
    factors = [(e, syntax.Derivative(0, 0, f, asked.variable) if d else f)
               for d, (e, f) in zip(depends, body.factors, strict=True)]  # fmt: skip
    tree: syntax.Node = syntax.ProductNode(0, 0, tuple(factors))
    try:
        found = compared(bench.plain_side(head, syntax.Neg(0, 0, tree) if sign else tree), side)
    except LimitError:
        raise
    except RicciError:
        return None
    quotient = any(e < 0 and d for d, (e, _) in zip(depends, body.factors, strict=True))
    return (OF_QUOTIENT if quotient else OF_PRODUCT) if found.holds else None


def outer_alone(bench: Workbench, head: Side, side: Side) -> Condition | None:
    """Whether a side is the derivative by what the variable stands in: ``2 (A x - b)`` of ``||A x - b||**2``."""
    asked = head.node
    if not isinstance(asked, syntax.Derivative):
        return None
    body, count = asked.body, Occurrences()
    own = definitions_of(bench, body) if isinstance(body, syntax.TensorNode) else ()
    for place in places(own[-1].body if own else body)[1:]:
        inner = place.node
        free = [name for name, found in count.of(inner).items() if len(found) == 1]
        known = isinstance(inner, (syntax.TensorNode, syntax.Derivative)) or asked.variable.name not in names_in(inner)
        if known or len(free) != len(asked.variable.indices or ()):
            continue
        indices = tuple([syntax.Index(0, 0, ((1, name),), plain=True) for name in free]) or None
        tree = syntax.Derivative(0, 0, place.tree(replace(asked.variable, name=INNER, indices=indices)),
                                 replace(asked.variable, name=INNER))  # fmt: skip
        bench.definitions.append(syntax.Statement(0, 0, INNER, indices, inner))
        try:
            if compared(bench.plain_side(head, tree), side).holds:
                return Condition("it is the derivative by what the variable stands in", FORGOTTEN, OF_OUTER)
        except LimitError:
            raise
        except RicciError:
            continue
        finally:
            bench.definitions.pop()
    return None
