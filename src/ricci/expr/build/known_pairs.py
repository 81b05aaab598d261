"""Pairs of equal factors whose contraction is known: two symbols eps are deltas, and so are two orthogonal matrices.

    eps[i,j,k] eps[i,l,m] = delta[j,l] delta[k,m] - delta[j,m] delta[k,l]          Q[i,k] Q[j,k] = delta[i,j]

and so is a unitary matrix with its conjugate, ``U[i,k] conj(U[j,k])``.

Only an index that nothing else has is contracted: ``eps[i,j,k] eps[i,l,m] b[i]`` is neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from ricci.expr.alternating import contracted, is_levi_civita
from ricci.expr.build.product_nodes import Factor, Label
from ricci.expr.build.scale import whole_power
from ricci.expr.nodes import Elementwise, Expr, Variable
from ricci.expr.structures import delta

MOST_OPEN = 3  # indices of each symbol that are not shared; more of them would be too many terms

Terms = list[tuple[int, list[Factor]]]  # with their signs


def contraction_of_pair(factors: Sequence[Factor], summed: set[Label]) -> tuple[int, set[Label], Terms] | None:
    """Factors in which a pair is told: a number, the labels that are gone, and terms; None if there is no such pair."""
    found: list[tuple[int, Expr, tuple[Label, ...]]] = []
    for at, (e, labels) in enumerate(factors):
        base, exponent = whole_power(e)
        if exponent in (1, 2) and (is_levi_civita(base) or is_orthogonal(base) or unitary_of(base) is not None):
            found += [(at, base, labels)] * exponent
    if len(found) < 2:
        return None
    uses = Counter(x for e, labels in factors for x in labels * (2 if whole_power(e)[1] == 2 else 1))
    for (p, e, first), (q, other, second) in combinations(found, 2):
        shared = [x for x in first if x in second and x in summed and uses[x] == 2] if _pairs(e, other) else []
        told = _told(e, first, second, shared) if shared else None
        if told is not None:
            number, gone, terms = told
            rest = [f for at, f in enumerate(factors) if at not in (p, q)]
            size = e.shape[0]
            return number, gone, [(sign, [*rest, *[(delta(size), pair) for pair in pairs]]) for sign, pairs in terms]
    return None


def is_orthogonal(e: Expr) -> bool:
    return type(e) is Variable and e.symmetry == "orthogonal"


def unitary_of(e: Expr) -> Expr | None:
    """The unitary matrix that an expression is, or is the conjugate of."""
    inner = e.args[0] if isinstance(e, Elementwise) and e.op.name == "conj" else e
    return inner if type(inner) is Variable and inner.symmetry == "unitary" else None


def _pairs(e: Expr, other: Expr) -> bool:
    """Whether two factors may be contracted: equal ones, and a unitary matrix with its conjugate."""
    u = unitary_of(e)
    return e is other if u is None else e is not other and u is unitary_of(other)


def _told(e: Expr, first: Sequence[Label], second: Sequence[Label], shared: list[Label]):
    """A number, the labels that are gone, and the signs and pairs of labels of deltas; None if that tells nothing."""
    if is_orthogonal(e) or unitary_of(e) is not None:
        axis = next((a for a in (0, 1) if first[a] == second[a] and first[a] in shared), None)
        return None if axis is None else (1, {first[axis]}, [(1, [(first[1 - axis], second[1 - axis])])])
    if len(first) - len(shared) > MOST_OPEN:
        return None
    number, terms = contracted(first, second, shared)
    return number, set(shared), terms
