"""Which expressions are never negative, whatever their inputs: enough to take square roots of weights safely."""

from __future__ import annotations

from collections.abc import Iterable

from ricci.expr import POWER, Constant, Dim, Elementwise, Expr, Function, Product, Structure, Sum
from ricci.expr.numbers import Number


def nonnegative(nodes: Iterable[Expr]) -> set[Expr]:
    """Those of the nodes, operands first, that are surely never negative (they may be NaN)."""
    sure: set[Expr] = set()
    for node in nodes:
        if _is_nonnegative(node, sure):
            sure.add(node)
    return sure


def _is_nonnegative(node: Expr, sure: set[Expr]) -> bool:
    if node.complex:
        return False
    if isinstance(node, Constant):
        return isinstance(node.value, (Dim, str)) or (isinstance(node.value, Number) and node.value >= 0)
    if isinstance(node, Structure):
        return True
    if isinstance(node, Product):
        return _paired(node, sure)
    if isinstance(node, Sum):
        known = sure.issuperset(node.args) and min(node.coefs) >= 0
        return known or (len(node.args) == 2 and _below_one(node))
    return isinstance(node, (Elementwise, Function)) and _of_row(node, sure)


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


def _of_row(node: Elementwise | Function, sure: set[Expr]) -> bool:
    op, args = node.op, node.args
    if op is POWER:
        exponent = args[1]
        even = isinstance(exponent, Constant) and isinstance(exponent.value, int) and exponent.value % 2 == 0
        return even or args[0] in sure
    if op.range[0] >= 0:
        return True
    known = [a in sure for a in args]
    ways = {"": False, "any": any(known), "last": known[-1], "branches": all(known[1:])}
    return ways.get(op.keeps_sign, all(known))


def _below_one(node: Sum) -> bool:
    """``1 - f`` where ``f`` is at most 1: a sigmoid, or a square of what lies between -1 and 1."""
    at = [_is_one(a) for a in node.args]
    if at.count(True) != 1:
        return False
    (one, _), (other, rest) = sorted(zip(node.coefs, node.args, strict=True), key=lambda part: not _is_one(part[1]))
    return one > 0 and -one <= other <= 0 and _at_most_one(rest)


def _is_one(e: Expr) -> bool:
    return (isinstance(e, Structure) and e.relation[0] == "one") or (isinstance(e, Constant) and e.value == 1)


def _at_most_one(e: Expr) -> bool:
    if isinstance(e, Elementwise) and e.op is POWER:
        base, exponent = e.args
        whole = isinstance(exponent, Constant) and isinstance(exponent.value, int) and exponent.value > 0
        return whole and _in_unit(base)
    return _in_unit(e)


def _in_unit(e: Expr) -> bool:
    return isinstance(e, Elementwise) and e.op.range[0] >= -1 and e.op.range[1] <= 1
