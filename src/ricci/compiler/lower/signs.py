"""Which expressions are never negative, whatever their inputs: enough to take square roots of weights safely."""

from __future__ import annotations

from collections.abc import Iterable

from ricci.expr import Constant, Dim, Elementwise, Expr, Function, Product, Structure, Sum
from ricci.expr.numbers import Number

_POSITIVE = {"exp", "exp2", "sigmoid", "softplus", "abs", "relu", "hypot", "cosh", "erfc", "sqrt"}
_TRUTHS = {"less", "less_equal", "equal", "not_equal"}
_AT_MOST_ONE = {"sigmoid", "tanh", "erf", "sin", "cos", *_TRUTHS}  # and at least -1
_FUNCTIONS = {"softmax", "hardmax", "hardmin", "any", "all"}
_KEEPING = {"max", "min", "prod", "sort", "cumprod"}


def nonnegative(nodes: Iterable[Expr]) -> set[Expr]:
    """Those of the nodes, operands first, that are surely never negative (they may be NaN)."""
    sure: set[Expr] = set()
    for node in nodes:
        if _is_nonnegative(node, sure):
            sure.add(node)
    return sure


def _is_nonnegative(node: Expr, sure: set[Expr]) -> bool:
    if isinstance(node, Constant):
        return isinstance(node.value, (Dim, str)) or (isinstance(node.value, Number) and node.value >= 0)
    if isinstance(node, Structure):
        return True
    if isinstance(node, Product):
        return _paired(node, sure)
    if isinstance(node, Sum):
        return all(c >= 0 and a in sure for c, a in zip(node.coefs, node.args, strict=True)) or _below_one(node)
    if isinstance(node, Elementwise):
        return _elementwise(node, sure)
    return isinstance(node, Function) and (
        node.op.name in _FUNCTIONS or (node.op.name in _KEEPING and node.args[0] in sure)
    )


def _paired(node: Product, sure: set[Expr]) -> bool:
    """Factors that are not surely positive come in equal pairs, entry by entry."""
    open_factors: list[tuple] = []
    for factor in node.factors():
        if factor[0] in sure:
            continue
        if factor in open_factors:
            open_factors.remove(factor)
        else:
            open_factors.append(factor)
    return not open_factors


def _elementwise(node: Elementwise, sure: set[Expr]) -> bool:
    name, args = node.op.name, node.args
    if name in _POSITIVE or name in _TRUTHS:
        return True
    if name == "power":
        exponent = args[1]
        even = isinstance(exponent, Constant) and isinstance(exponent.value, int) and exponent.value % 2 == 0
        return even or args[0] in sure
    if name == "where":
        return args[1] in sure and args[2] in sure
    if name == "maximum":
        return any(a in sure for a in args)
    return name in ("minimum", "stop_gradient", "floor", "ceil", "round", "cbrt") and all(a in sure for a in args)


def _below_one(node: Sum) -> bool:
    """``1 - f`` where ``f`` is at most 1: a sigmoid, or a square of what lies between -1 and 1."""
    parts = list(zip(node.coefs, node.args, strict=True))
    if len(parts) != 2:
        return False
    one = next((p for p in parts if _is_one(p[1])), None)
    other = next((p for p in parts if not _is_one(p[1])), None)
    return one is not None and other is not None and one[0] > 0 and -one[0] <= other[0] <= 0 and _at_most_one(other[1])


def _is_one(e: Expr) -> bool:
    return (isinstance(e, Structure) and e.relation[0] == "one") or (isinstance(e, Constant) and e.value == 1)


def _at_most_one(e: Expr) -> bool:
    if isinstance(e, Elementwise) and e.op.name == "power":
        base, exponent = e.args
        whole = isinstance(exponent, Constant) and isinstance(exponent.value, int) and exponent.value > 0
        return whole and isinstance(base, Elementwise) and base.op.name in _AT_MOST_ONE
    return isinstance(e, Elementwise) and e.op.name in _AT_MOST_ONE
