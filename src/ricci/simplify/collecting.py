"""Factoring, distributing and multiplying in another order, where it saves work.

*Factoring* takes a factor that only some of the terms of a sum have out of these: ``a b + a c + d → a (b + c) + d``.
(One that all terms have is taken out by the constructor.) *Distributing* multiplies a sum out inside a contraction
where one of its terms is a structure on a summed label, which then renames instead of multiplying:
``(delta[i,j] - s[i] s[j]) v[j] → v[i] - s[i] (s[j] v[j])``. Sums of numbers are never multiplied out, since their
terms may cancel. *Opening* multiplies in another order: a trace or a sum of a matrix product, ``tr(A B)``, and a matrix
product times a vector, ``(A B) v``, become one contraction, so that the matrix ``A B`` need not be made. All three are
guarded: they are taken only where the estimated cost falls.
"""

from __future__ import annotations

from ricci.expr import Expr, Product, Structure, Sum, add, product
from ricci.simplify.match import LESS, Rewriting, factors_of, sizes_of, terms_of

MOST_TERMS = 32
MOST_GROUPS = 8
MOST_FACTORS = 8


def _factors(term: Expr) -> set[Expr]:
    """The factors of a term, those of its contractions included."""
    found: set[Expr] = set()
    for f, _ in factors_of(term):
        found.add(f)
        if isinstance(f, Product):
            found.update(f.args)
    return found


def factor(e: Expr) -> Expr | None:
    """The largest group of terms with a factor in common, as one term."""
    assert isinstance(e, Sum)
    if not 3 <= len(e.args) <= MOST_TERMS:
        return None
    groups: dict[Expr, list[int]] = {}
    for at, term in enumerate(e.args):
        for f in _factors(term):
            groups.setdefault(f, []).append(at)
    shared: dict[tuple[int, ...], int] = {}  # the groups, and the least key of a factor: what decides is no address
    for f, group in groups.items():
        if len(group) > 1:
            shared[tuple(group)] = min(f.key, shared.get(tuple(group), f.key))
    for group in sorted(shared, key=lambda g: (-len(g), shared[g]))[:MOST_GROUPS]:
        terms = terms_of(e)
        joined = add([terms[at] for at in group])
        if not (isinstance(joined, Sum) and len(joined.args) == len(group)):
            return add([*[t for at, t in enumerate(terms) if at not in group], (1, joined)])
    return None


def distribute(e: Expr) -> Expr | None:
    """A contraction with a sum among its factors as the sum of contractions with its terms."""
    assert isinstance(e, Product)
    if not e.sums:
        return None
    for at, (f, labels) in enumerate(e.factors()):
        if isinstance(f, Sum) and 2 <= len(f.args) <= MOST_TERMS and _renames(f, labels, e):
            rest = [g for p, g in enumerate(e.factors()) if p != at]
            return add([(c, product([*rest, (a, labels)], e.out, sizes_of(e))) for c, a in terms_of(f)])
    return None


def _renames(f: Sum, labels: tuple[int, ...], e: Product) -> bool:
    """Whether a term holds a structure, other than the one-tensor, between a summed label and another one."""
    for term in f.args:
        for g, axes in factors_of(term):
            if isinstance(g, Structure) and len(axes) > 1 and any(labels[axis] not in e.out for axis in axes):
                return True
    return False


def open_contraction(e: Expr) -> Expr | None:
    """A contraction of one contraction alone, or with a factor of which every label is summed."""
    assert isinstance(e, Product)
    inner = [p for p, a in enumerate(e.args) if isinstance(a, Product) and a.sums]
    if not e.sums or len(e.args) > 2 or not inner:
        return None
    for at in inner:
        rest = [g for p, g in enumerate(e.factors()) if p != at]
        a = e.args[at]
        if isinstance(a, Product) and len(a.args) <= MOST_FACTORS and not any(set(ls) & set(e.out) for _, ls in rest):
            name: dict = dict(zip(a.out, e.labels[at], strict=True))
            own = [(f, tuple([name.get(x, ("inner", x)) for x in labels])) for f, labels in a.factors()]
            return product([*rest, *own], e.out, sizes_of(e))
    return None


RULES = [
    Rewriting("factor", factor, ("Sum",), guard=LESS, complex=True),
    Rewriting("open", open_contraction, ("Product",), frozenset({"Product"}), guard=LESS, complex=True),
    Rewriting("distribute", distribute, ("Product",), frozenset({"Sum"}), guard=LESS, complex=True),
]
