"""The Levi-Civita symbol, and what changes its sign when two of its indices change places.

``eps[i,j,k]`` of order n has n axes of size n; an entry is the sign of the permutation that its indices are, and 0
where two of them are equal. It is a constant whose array is made when something is computed with it. The product of
two that share indices is a determinant of deltas: with s shared indices and k others,

    eps[s1…, p1…pk] eps[s1…, q1…qk]  =  s!  Σ over permutations π of k:  sign(π) δ[p1, q_π(1)] … δ[pk, q_π(k)].
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import factorial
from typing import Any

from ricci.errors import InputError
from ricci.expr.nodes import Constant, Data, Expr, make

LARGEST = 8  # the order of the largest symbol, which has 8**8 entries


class LeviCivita(Data):
    """The payload of the symbol of one order."""

    __slots__ = ("order",)

    def __init__(self, order: int):
        self.order, self.digest = order, f"eps{order}"

    @property
    def values(self) -> Any:
        import numpy as np

        array = np.zeros((self.order,) * self.order)
        for places in permutations(range(self.order)):
            array[places] = parity(places)
        return array

    def __reduce__(self):
        return LeviCivita, (self.order,)


def levi_civita(order: int) -> Expr:
    """The symbol with ``order`` indices.

    >>> from ricci.expr import product
    >>> product([(levi_civita(3), "ijk"), (levi_civita(3), "ijk")], "").value
    6
    """
    if not 2 <= order <= LARGEST:
        raise InputError(f"The symbol eps has 2 to {LARGEST} indices, not {order}.")
    return make(Constant, (), (order,) * order, LeviCivita(order))


def is_levi_civita(e: Expr) -> bool:
    return type(e) is Constant and type(e.value) is LeviCivita


def parity(order: Sequence[Any]) -> int:
    """The sign of the permutation that puts ``order`` into ascending order; 0 where two are equal.

    >>> parity([0, 1, 2]), parity([1, 0, 2]), parity([0, 0, 1])
    (1, -1, 0)
    """
    if len(set(order)) < len(order):
        return 0
    turned = sum(a > b for k, a in enumerate(order) for b in order[k + 1 :])
    return -1 if turned % 2 else 1


def contracted(first: Sequence[Any], second: Sequence[Any], shared: Sequence[Any]) -> tuple[int, list[tuple]]:
    """Two symbols with these labels, the ``shared`` ones summed: a number, and the determinant of deltas, a list of a
    sign and pairs of labels for each of its terms."""
    sign = parity([*map(list(first).index, shared), *[k for k, x in enumerate(first) if x not in shared]])
    sign *= parity([*map(list(second).index, shared), *[k for k, x in enumerate(second) if x not in shared]])
    left, right = ([x for x in labels if x not in shared] for labels in (first, second))
    terms = [(parity(order), [(x, right[k]) for x, k in zip(left, order, strict=True)])
             for order in permutations(range(len(left)))]  # fmt: skip
    return sign * factorial(len(shared)), terms
