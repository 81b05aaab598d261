"""What every well-formed expression satisfies, in one place. Tests call :func:`check` after every pass."""

from __future__ import annotations

from ricci.errors import InvariantError
from ricci.expr.build.scale import numeric
from ricci.expr.nodes import Constant, Data, Elementwise, Expr, Function, Product, Structure, Sum, Variable, make
from ricci.expr.numbers import joins
from ricci.expr.structures import ONE, is_delta, is_one, is_zero
from ricci.expr.walk import topological


def check(*roots: Expr) -> None:
    """Raise :class:`InvariantError` for the first node that is not canonical."""
    for node in topological(*roots):
        fault = _fault(node)
        if fault:
            raise InvariantError(f"{node!r} is not well formed: {fault}.")


def _fault(node: Expr) -> str:
    if make(type(node), node.args, node.shape, *node.data) is not node:
        return "it is not the interned node"
    if any(isinstance(size, int) and size < 0 for size in node.shape):
        return "a size is negative"
    return _CHECKS[type(node)](node)


def _variable(node: Variable) -> str:
    return "" if node.name and not node.args else "a variable has a name and no operands"


def _constant(node: Constant) -> str:
    if isinstance(node.value, Data):
        return "" if node.shape == tuple(node.value.values.shape) else "its shape is not that of its array"
    return "" if node.shape == () else "a number has no axes"


def _structure(node: Structure) -> str:
    kind = node.relation[0]
    if not node.shape:
        return "a structure without axes is a number"
    if kind in ("==", ">="):
        if len(node.relation[1]) != len(node.shape) or 0 in node.relation[1]:
            return "its relation does not mention each axis"
        if 1 in node.shape:
            return "an axis of size one does not belong in a relation"
    if kind == "at" and len(node.args[0].shape) + 1 != len(node.shape):
        return "gather adds one axis to those of its index"
    return ""


def _product(node: Product) -> str:
    carried = [label for labels in node.labels for label in labels]
    if any(len(a.shape) != len(labels) for a, labels in node.factors()):
        return "an operand has other axes than labels"
    if any(numeric(a) is not None or is_one(a) or is_zero(a) for a in node.args):
        return "a number, a one or a zero is an operand"
    if len(set(node.out)) != len(node.out) or len(node.out) != len(node.shape):
        return "its output labels are not its axes"
    if not node.sums:
        if node.out != tuple(range(len(node.out))):
            return "without sums, labels are the positions of the axes"
        if len(node.args) == 1 and node.labels[0] == node.out:
            return "it is its only operand"
        return "" if node.args else "it has no operands"
    if list(dict.fromkeys(carried)) != list(range(len(set(carried)))):
        return "labels are not numbered by first use"
    if list(node.out) != sorted(node.out) or not set(node.out) <= set(carried):
        return "the axes of a contraction are in the order of its labels"
    if any(is_delta(a) for a in node.args):
        return "a contraction holds a delta"
    return _linked(node)


def _linked(node: Product) -> str:
    summed = [set(labels) - set(node.out) for labels in node.labels]
    reached, waiting = summed[0], list(summed[1:])
    while True:
        joined = [s for s in waiting if s & reached]
        if not joined:
            break
        waiting = [s for s in waiting if not s & reached]
        reached = reached.union(*joined)
    return "" if not waiting and summed[0] else "the factors of a contraction are not linked by summed labels"


def _sum(node: Sum) -> str:
    if len(node.coefs) != len(node.args) or 0 in node.coefs:
        return "each term has a coefficient that is not zero"
    if len(node.args) == 1 and (node.coefs[0] == 1 or numeric(node.args[0]) is not None):
        return "a single term has a coefficient, and is no number"
    if len(set(node.args)) != len(node.args):
        return "like terms are not merged"
    if any(len(a.shape) != len(node.shape) for a in node.args):
        return "a term has other axes than the sum"
    scaled = [(c, a) for c, a in zip(node.coefs, node.args, strict=True) if isinstance(a, Sum) and len(a.args) == 1]
    if any(joins(c, a.coefs[0]) for c, a in scaled) or any(map(is_zero, node.args)):
        return "a term is zero, or has a coefficient that belongs to the sum"
    if len(node.args) > 1 and [a.key for a in node.args] != sorted(a.key for a in node.args):
        return "the terms are not in order"
    return ""


def _elementwise(node: Elementwise) -> str:
    if len(node.args) != node.op.arity:
        return f"{node.op.name} takes {node.op.arity} operands"
    if any(a.shape and len(a.shape) != len(node.shape) for a in node.args):
        return "an operand is neither a scalar nor of the shape of the result"
    if any(isinstance(a, Structure) and a.relation == ONE for a in node.args):
        return "an operand that is the same everywhere is not a scalar"
    return ""


def _function(node: Function) -> str:
    lead = len(node.args[0].shape) - node.op.axes_of(node.params)[0]
    own = node.op.result([a.shape[lead:] for a in node.args], *node.params) if node.op.result else ()
    return "" if len(node.shape) == lead + len(own) else "its shape is not that of its result"


_CHECKS = {
    Variable: _variable,
    Constant: _constant,
    Structure: _structure,
    Product: _product,
    Sum: _sum,
    Elementwise: _elementwise,
    Function: _function,
}
