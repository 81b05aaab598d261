"""What an expression costs to evaluate: estimated multiplications, every shared node counted once.

Functions cost one for each entry, those of matrices the cube of the size; a sum one for each addition and each
coefficient that is not ±1. A product multiplies its factors from the smallest to the largest; a contraction sums over
one label at a time, the cheapest first. Structures, transposes, broadcasts and functions of numbers are free.
A symbolic size counts as :data:`~ricci.calculus.orders.ASSUMED_SIZE`, and 0 as 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ricci.calculus.orders import size_of
from ricci.expr import Constant, Elementwise, Expr, Function, Product, Shape, Size, Structure, Sum, topological


def cost(*roots: Expr) -> int:
    """The estimated multiplications that it takes to evaluate ``roots``."""
    return sum(map(own_cost, topological(*roots)))


def own_cost(node: Expr) -> int:
    """The cost of one node, its operands given."""
    try:
        return node.work
    except AttributeError:
        node.work = found = _own_cost(node)
        return found


def _own_cost(node: Expr) -> int:
    if isinstance(node, Elementwise):
        return 0 if all(isinstance(a, Constant) for a in node.args) else _entries(node.shape)
    if isinstance(node, Sum):
        pairs = zip(node.coefs, node.args, strict=True)
        scaled = sum(c not in (1, -1) and not isinstance(a, Structure) for c, a in pairs)
        return _entries(node.shape) * (len(node.args) - 1 + scaled)
    if isinstance(node, Product):
        return _product_cost(node)
    if isinstance(node, Function) and node.op.loop is not None:
        body = node.op.loop
        return _count(body.length) * cost(body.result) * _entries(node.shape[len(node.shape) - sum(node.params) :])
    if isinstance(node, Function) and node.op.branches is not None:
        return max([cost(e) for e in node.op.branches.results])
    if isinstance(node, Function):
        largest = max(_entries(a.shape) for a in node.args)
        return largest * (_count(node.args[0].shape[-1]) if node.op.works_on[0] == 2 else 1)
    return 0


def _count(size: Size) -> int:
    return max(size_of(size), 1)


def _entries(shape: Shape) -> int:
    return math.prod(map(_count, shape))


def _product_cost(node: Product) -> int:
    factors = [(a, set(labels)) for a, labels in node.factors() if not isinstance(a, Structure)]
    if len(factors) == 1 and (not node.sums or len(node.args) > 1):
        return 0  # entries are moved or copied
    if not factors:
        return 0
    size = {x: _count(n) for a, labels in node.factors() for x, n in zip(labels, a.shape, strict=True)}
    groups = [labels for _, labels in factors]
    total = 0
    for label in _cheapest_first(groups, set(size) - set(node.out), size):
        joined = [g for g in groups if label in g]
        groups = [g for g in groups if label not in g]
        both = set().union(*joined)
        total += _multiplied(joined, size) if len(joined) > 1 else _volume(both, size)
        groups.append(both - {label})
    return total + _multiplied(groups, size)


def _cheapest_first(groups: Sequence[set[int]], summed: set[int], size: dict[int, int]) -> list[int]:
    carried = summed & set().union(*groups)
    return sorted(carried, key=lambda x: (_volume(set().union(*[g for g in groups if x in g]), size), x))


def _multiplied(groups: list[set[int]], size: dict[int, int]) -> int:
    """The multiplications for the product of tensors with these labels."""
    total = 0
    first, *rest = sorted(groups, key=lambda g: _volume(g, size))
    for group in rest:
        first = first | group
        total += _volume(first, size)
    return total


def _volume(labels: set[int], size: dict[int, int]) -> int:
    return math.prod(size[x] for x in labels)
