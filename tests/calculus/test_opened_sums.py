"""A sum inside a derivative is taken apart only as far as structures in it rename labels."""

from __future__ import annotations

from ricci.calculus.local import opened
from ricci.expr import Expr, Sum, add, delta, product, topological, variable

N = 6


def total(structures: int, others: int) -> Expr:
    """A sum of matrices: so many multiples of the identity, each with a weight of its own, and so many others."""
    weighted = [product([(delta(N), "ij"), (variable(f"w{k}", (N,)), "j")], "ij") for k in range(structures)]
    return add([(1, e) for e in [*weighted, *[variable(f"A{k}", (N, N)) for k in range(others)]]])


def test_terms_without_structures_stay_together():
    v = variable("v", (N,))
    e = total(1, 5)
    assert isinstance(e, Sum) and len(e.args) == 6
    parts = opened(1, [(e, ("i", "j")), (v, ("j",))], {"i"})
    assert sorted(len(f.args) for _, factors in parts for f, _ in factors if isinstance(f, Sum)) == [5]
    assert len(parts) == 2


def test_the_value_is_that_of_the_product():
    v = variable("v", (N,))
    factors = [(total(2, 3), ("i", "j")), (v, ("j",))]
    parts = opened(3, list(factors), {"i"})
    assert len(parts) == 3 and all(coef == 3 for coef, _ in parts)
    again = add([(coef, product(own, ("i",))) for coef, own in parts])
    plain = [product([(a, "ij"), (v, "j")], "i") for a in total(2, 3).args]
    assert len(topological(again)) <= len(topological(add([(3, a) for a in plain])))
