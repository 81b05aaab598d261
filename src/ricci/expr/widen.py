"""An expression along a further axis.

Each node that depends on a variable that has the axis gets it in front; nothing else changes, because every kind of
node knows what to do with one more axis: a product carries one more label, a function over axes works in parallel over
leading ones, a sum and an elementwise function broadcast what does not have the axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ricci.expr.build.add import add
from ricci.expr.build.apply import elementwise, function, one_hot
from ricci.expr.build.product import broadcast, product
from ricci.expr.dims import Size
from ricci.expr.nodes import Elementwise, Expr, Function, Product, Structure, Sum
from ricci.expr.walk import topological


def batched(roots: Sequence[Expr], mapped: Mapping[Any, Expr], size: Size) -> list[Expr]:
    """``roots`` with a leading axis, variables being replaced by what has that axis; all of them get it."""
    wide: dict[Expr, Expr] = dict(mapped)
    for node in topological(*roots):
        if node not in wide and any(a in wide for a in node.args):
            wide[node] = _RULES[type(node)](node, wide, size)
    return [wide[root] if root in wide else _spread(root, size) for root in roots]


def _spread(e: Expr, size: Size) -> Expr:
    axes = tuple(range(1, len(e.shape) + 1))
    return broadcast(e, axes, (size, *e.shape))


def _product(node: Product, wide: Mapping[Expr, Expr], size: Size) -> Expr:
    factors = [(wide[a], ("axis", *labels)) if a in wide else (a, labels) for a, labels in node.factors()]
    sizes = {"axis": size, **dict(zip(node.out, node.shape, strict=True))}
    return product(factors, ("axis", *node.out), sizes)


def _sum(node: Sum, wide: Mapping[Expr, Expr], size: Size) -> Expr:
    return add([(c, wide[a] if a in wide else _spread(a, size)) for c, a in zip(node.coefs, node.args, strict=True)])


def _elementwise(node: Elementwise, wide: Mapping[Expr, Expr], size: Size) -> Expr:
    args = []
    for a in node.args:
        own = wide[a] if a in wide else _spread(a, size)
        # a scalar that now has the axis is spread over the others, where there are any
        args.append(own if a.shape or not node.shape else broadcast(own, (0,), (size, *node.shape)))
    return elementwise(node.op, *args)


def _function(node: Function, wide: Mapping[Expr, Expr], size: Size) -> Expr:
    if node.op.widen is not None:
        return node.op.widen(node, wide, size)
    return function(node.op, tuple([wide[a] if a in wide else _spread(a, size) for a in node.args]), node.params)


def _structure(node: Structure, wide: Mapping[Expr, Expr], size: Size) -> Expr:
    return one_hot(wide[node.args[0]], node.shape[-1])


_RULES: dict[type, Callable[[Any, Mapping[Expr, Expr], Size], Expr]] = {
    Product: _product,
    Sum: _sum,
    Elementwise: _elementwise,
    Function: _function,
    Structure: _structure,
}
