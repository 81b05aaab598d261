"""Large Levi-Civita symbols, as two small constants each.

The symbol with n indices has nⁿ entries, of which n! are not 0. By Laplace's expansion along its first h indices

    eps[i1…, j1…]  =  Σ over the sets S of h numbers:  eps_S[i1…] · sign(S) eps_rest[j1…]

where ``eps_S`` is the symbol on the numbers in ``S``. That is a product of two constants that share an index, as any
product is contracted: for 8 indices they have 286,720 entries each, and the symbol has 16,777,216.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from math import comb
from typing import Any

from ricci.expr import Constant, Data, Expr, Product, product, topological
from ricci.expr.alternating import is_levi_civita, parity
from ricci.expr.nodes import make
from ricci.expr.walk import rewritten

SMALLEST = 6  # indices; a symbol with fewer is small as it is


class HalfSymbol(Data):
    """The payload of one of the two: the signs of the first indices for each set, or those of the others."""

    __slots__ = ("order", "second")

    def __init__(self, order: int, second: bool):
        self.order, self.second, self.digest = order, second, f"eps{order}.{1 + second}"

    @property
    def shape(self) -> tuple[int, ...]:
        first = self.order // 2
        return (comb(self.order, first), *[self.order] * (self.order - first if self.second else first))

    @property
    def values(self) -> Any:
        import numpy as np

        array, numbers = np.zeros(self.shape), range(self.order)
        for row, chosen in enumerate(combinations(numbers, self.order // 2)):
            rest = [k for k in numbers if k not in chosen]
            sign = parity([*chosen, *rest]) if self.second else 1
            for places in permutations(rest if self.second else chosen):
                array[(row, *places)] = sign * parity(places)
        return array

    def __reduce__(self):
        return HalfSymbol, (self.order, self.second)


def in_halves(roots: Sequence[Expr]) -> list[Expr]:
    """``roots`` with the large symbols in products as two constants."""
    if not any(_is_large(node) for node in topological(*roots)):
        return list(roots)
    return rewritten(roots, _halved)


def _is_large(e: Expr) -> bool:
    return is_levi_civita(e) and len(e.shape) >= SMALLEST


def _halved(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
    if not isinstance(node, Product) or len(args) == 1 or not any(map(_is_large, args)):
        return None
    factors: list[tuple[Expr, Sequence[Any]]] = []
    for at, (a, (_, labels)) in enumerate(zip(args, node.factors(), strict=True)):
        if not _is_large(a):
            factors.append((a, labels))
            continue
        first = len(a.shape) // 2
        for second, own in ((False, labels[:first]), (True, labels[first:])):
            payload = HalfSymbol(len(a.shape), second)
            factors.append((make(Constant, (), payload.shape, payload), (("set", at), *own)))
    return product(factors, node.out, dict(zip(node.out, node.shape, strict=True)))
