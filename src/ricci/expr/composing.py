"""Reads of reads: where an index that is summed stands in relations alone, it can be put into the others.

``[k = t+1] [k = m+1]`` is ``[t = m]``, ``[k = t+1] [k = 0]`` is nothing. Constructors leave such pairs as they are,
since it takes a look at ranges; here what is padded and cut again, or turned round twice, comes to be as it was. Loops
that begin alike are one then, and a reader sees what is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ricci.errors import ShapeError
from ricci.expr.build.add import add
from ricci.expr.build.product import product
from ricci.expr.dims import Dim, Size
from ricci.expr.moving import entry, sliced
from ricci.expr.nodes import Expr, Product, Structure, Sum
from ricci.expr.structures import affine, is_zero, zero
from ricci.expr.walk import rebuild, transform

Factors = list[tuple[Expr, tuple]]
Known = tuple[Dim, ...]  # sizes that are not negative
Solved = tuple[dict[object, Size], Size]  # coefficients and a constant


def composed(root: Expr, natural: Iterable[Size] = ()) -> Expr:
    """``root`` with relations put into one another; sizes that are known not to be negative help."""
    known = tuple([size for size in natural if isinstance(size, Dim)])
    return transform(root, lambda node, args: _step(node, args, known))


def first_and_others(e: Expr, count: Size) -> tuple[Expr, Expr]:
    """The first entry along the first axis, and all others, which are ``count``."""
    parts = _terms(e, 3, (count,) if isinstance(count, Dim) else ())
    first = add([(c, composed(entry(part, 0, 0), [count])) for c, part in parts])
    return first, add([(c, composed(sliced(part, 0, 1, 1, count), [count])) for c, part in parts])


def _terms(e: Expr, depth: int, known: Known) -> list[tuple]:
    """The terms of a sum, also of one that is a factor, where what they are made of is put in places."""
    if isinstance(e, Sum):
        return [(c * d, b) for c, a in zip(e.coefs, e.args, strict=True) for d, b in _terms(a, depth, known)]
    if isinstance(e, Product) and depth:
        factors, sizes = _flat(e)
        for at, (a, labels) in enumerate(factors):
            if isinstance(a, Sum) and any(_is_placed(b, known) for b in a.args):
                found = []
                for c, b in zip(a.coefs, a.args, strict=True):
                    term = product([*factors[:at], (b, labels), *factors[at + 1 :]], e.out, sizes)
                    found += [(c * d, f) for d, f in _terms(term, depth - 1, known)]
                return found
    return [(1, e)]


def _is_placed(e: Expr, known: Known) -> bool:
    """Whether there are zeros around what a term is; one that is read is somewhere everywhere."""
    if not isinstance(e, Product):
        return _is_relation(e)
    factors, sizes = _flat(e)
    relations = [(a, ls) for a, ls in factors if _is_relation(a)]
    read = [any(_solved(f, x, sizes, known) is not None for x in f[1] if x not in e.out) for f in relations]
    return not all(read)


def _is_relation(e: Expr) -> bool:
    return isinstance(e, Structure) and e.relation[0] == "=="


def _step(node: Expr, args: tuple[Expr, ...], known: Known) -> Expr:
    node = node if args == node.args else rebuild(node, args)
    if not isinstance(node, Product):
        return node
    factors, sizes = _flat(node)
    if not any(_is_relation(a) for a, _ in factors):
        return node
    if _is_nothing(factors, sizes):
        return zero(node.shape)
    changed = False
    while True:
        found = _put_together(factors, node.out, sizes, known)
        if found is None:
            return product(factors, node.out, sizes) if changed else node
        factors, changed = found, True
        if any(is_zero(a) for a, _ in factors) or _is_nothing(factors, sizes):
            return zero(node.shape)


def _is_nothing(factors: Factors, sizes: dict[object, Size]) -> bool:
    """Whether an index is at a place where another relation does not hold."""
    places = [f for f in factors if _is_relation(f[0]) and len(f[1]) == 1]
    for f in places:
        label = f[1][0]
        assert isinstance(f[0], Structure)
        _, (coef,), const = f[0].relation
        others = [o for o in factors if _is_relation(o[0]) and o is not f and o[1].count(label) == 1]
        if coef in (1, -1) and any(_fails(o, label, ({}, -1 * coef * const), sizes) for o in others):
            return True
    return False


def _fails(other: tuple[Expr, tuple], label: object, solved: Solved, sizes: dict[object, Size]) -> bool:
    try:
        return is_zero(_with(other, label, solved, sizes)[0])
    except ShapeError:
        return False


def _flat(node: Product) -> tuple[Factors, dict[object, Size]]:
    """The factors, those of products among them, with labels that do not clash; and the sizes of all labels."""
    factors: Factors = []
    sizes: dict[object, Size] = dict(zip(node.out, node.shape, strict=True))
    stack: Factors = [(a, tuple(labels)) for a, labels in reversed(list(node.factors()))]
    while stack:
        a, labels = stack.pop()
        for label, size in zip(labels, a.shape, strict=True):
            sizes.setdefault(label, size)
        if not isinstance(a, Product):
            factors.append((a, labels))
            continue
        own: dict[object, object] = dict(zip(a.out, labels, strict=True))
        inner = [(b, tuple([own.setdefault(x, (len(factors), len(stack), x)) for x in ls])) for b, ls in a.factors()]
        stack += reversed(inner)
    return factors, sizes


def _put_together(factors: Factors, out: Sequence[object], sizes: dict[object, Size], known: Known) -> Factors | None:
    """The factors with one relation put into the others that have an index, which is gone then."""
    for label in [label for label in sizes if label not in out]:
        holders = [f for f in factors if label in f[1]]
        if not holders or not all(_is_relation(a) and ls.count(label) == 1 for a, ls in holders):
            continue
        for holder in holders:
            solved = _solved(holder, label, sizes, known)
            if solved is None:
                continue
            others = [f for f in holders if f is not holder]
            try:
                new = [_with(f, label, solved, sizes) for f in others]
            except ShapeError:  # whether it holds is not known before sizes are
                continue
            del sizes[label]
            return [f for f in factors if label not in f[1]] + new
    return None


def _solved(holder: tuple[Expr, tuple], label: object, sizes: dict[object, Size], known: Known) -> Solved | None:
    """What an index is by the others of a relation: coefficients and a constant, if that is always in its range."""
    structure, labels = holder
    assert isinstance(structure, Structure)
    _, coefs, const = structure.relation
    own = coefs[labels.index(label)]
    if own not in (1, -1):
        return None
    terms = {x: -1 * own * c for x, c in zip(labels, coefs, strict=True) if x != label}
    shift = -1 * own * const
    least, most = _span(terms, shift, sizes)
    inside = _is_natural(least, known) and _is_natural(sizes[label] - 1 - most, known)
    return (terms, shift) if inside and len(terms) == len(labels) - 1 else None


def _span(terms: dict, shift: Size, sizes: dict[object, Size]) -> tuple[Size, Size]:
    least = most = shift
    for x, c in terms.items():
        last = c * (sizes[x] - 1)
        if not isinstance(c, int):
            return -1, sizes[x]  # not known
        least, most = (least, most + last) if c > 0 else (least + last, most)
    return least, most


def _is_natural(size: Size, known: Known = ()) -> bool:
    """Whether a size is not negative, as far as can be seen."""
    if known and any(_is_natural(size - other) for other in known):
        return True
    if isinstance(size, Dim):
        return all(c > 0 and all(len(atom) < 3 for atom in monomial) for monomial, c in size.terms)
    return size >= 0


def _with(factor: tuple[Expr, tuple], label: object, solved: Solved, sizes: dict[object, Size]) -> tuple[Expr, tuple]:
    """A relation with an index put in by what it is."""
    structure, labels = factor
    assert isinstance(structure, Structure)
    _, coefs, const = structure.relation
    terms, shift = solved
    total: dict[object, Size] = {}
    for x, c in zip(labels, coefs, strict=True):
        if x != label:
            total[x] = total.get(x, 0) + c
            continue
        const = const + c * shift
        for y, d in terms.items():
            total[y] = total.get(y, 0) + c * d
    kept = tuple(total)
    shape = tuple([sizes[x] for x in kept])
    least, most = _span({x: c for x, c in total.items() if c != 0}, const, sizes)
    if _is_natural(least - 1) or _is_natural(-1 - most):
        return zero(shape), kept
    return affine("==", tuple(total.values()), const, shape), kept
