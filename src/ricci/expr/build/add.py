"""The sum constructor: terms with numeric coefficients, kept canonical.

The local rules: nested sums flatten (up to a bound, so that long chains stay linear, and where a factor of the inner
one may go to its terms, or lets some of them merge); zeros drop out; a number is a coefficient of the one-tensor; like
terms merge; a factor common to all terms is taken out,
``A[i,k] B[k,j] + A[i,k] C[k,j]`` is ``A[i,k] (B[k,j] + C[k,j])``, with one-tensors where orders differ; axes are in
natural order; terms are sorted by their structural keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from ricci.caches import cached
from ricci.errors import ShapeError
from ricci.expr import dims
from ricci.expr.build.natural import arrangement, in_natural_order, tied_first
from ricci.expr.build.product import FLATTEN_LIMIT, as_scalar, broadcast, product
from ricci.expr.build.product_nodes import Factor
from ricci.expr.build.scale import numeric, scale, spreads
from ricci.expr.nodes import Elementwise, Expr, Function, Product, Shape, Structure, Sum, Variable, constructors, make
from ricci.expr.numbers import Number, joins, loose, number
from ricci.expr.structures import ONE, is_zero, natural, one, wrapped, zero

_SPREAD = (Variable, Elementwise, Function, Product, Sum)  # none of which is zero or one all over
_OPAQUE = (Variable, Elementwise, Function)  # terms that are what they are, and depend on all their axes


LONGEST_CHOSEN = 16  # terms of a sum whose axes are arranged by what its terms are


def add(terms: Sequence[tuple[Number, Expr]]) -> Expr:
    """The sum of ``coef * e``; all terms have the same axes, or none: a scalar broadcasts."""
    shape = _common_shape(terms)
    collected = _collect(terms, shape)
    if not collected:
        return zero(shape)
    if len(collected) > 1:
        if True in [e.complex for e in collected]:
            halves = constructors.paired(collected)
            if halves is not None:
                return add([(c, e) for e, c in halves.items()])
        common = _common_factors(list(collected))
        if common is not None:
            return _take_out(*common, collected, shape)
    return _build(collected, shape)


def _common_shape(terms: Sequence[tuple[Number, Expr]]) -> Shape:
    """The sizes of the axes, as far as possible those of terms that depend on them."""
    shape: Shape = ()
    for _, e in terms:
        if e.shape and e.shape != shape:
            if shape:
                return _joint_shape(terms)
            shape = e.shape
    return shape


def _joint_shape(terms: Sequence[tuple[Number, Expr]]) -> Shape:
    own: dict[int, dims.Size] = {}
    other: dict[int, dims.Size] = {}
    order = 0
    for _, e in terms:
        if not e.shape:
            continue
        if order and order != len(e.shape):
            raise ShapeError(f"Tensors of orders {order} and {len(e.shape)} cannot be added.")
        order = len(e.shape)
        axes = natural(e)
        for axis, size in enumerate(e.shape):
            known = own if axis in axes else other
            known[axis] = dims.same(known.get(axis, size), size)
            if axis in own and axis in other and isinstance(own[axis], int):
                dims.same(own[axis], other[axis])
    return tuple([own[axis] if axis in own else other[axis] for axis in range(order)])


def _collect(terms: Sequence[tuple[Number, Expr]], shape: Shape) -> dict[Expr, Number]:
    """Terms and their coefficients: flattened, broadcast, like terms merged, zeros dropped."""
    room = max(FLATTEN_LIMIT, len(terms)) - len(terms)
    found: list[tuple[Number, Expr]] = []
    whole: list[tuple[Number, Expr, list[tuple[Number, Expr]]]] = []  # sums whose factor stays outside, and their terms
    for e, coef in _merged(terms).items():
        if type(e) in _OPAQUE or (type(e) is Product and len(e.args) > 1):
            found.append((coef, e))
            continue
        value = numeric(e)
        if value is not None:
            found.append((coef * value, one(())))
            continue
        times, parts = _parts(e)
        room -= len(parts) - 1
        if len(parts) == 1 or room < 0:
            found += _unscaled(coef, e)
            continue
        factor = coef * times
        if factor == 1:
            found += parts
        elif spreads(factor, tuple([c for c, _ in parts])):
            found += [(factor * c, part) for c, part in parts]
        else:
            whole.append((coef, e, [(factor * c, part) for c, part in parts]))
    collected: dict[Expr, Number] = {}
    for c, part in found:
        if type(part) in _SPREAD and (part.shape or not shape):
            collected[part] = collected[part] + c if part in collected else c
        else:
            _put(collected, c, part, shape)
    for coef, e, parts in whole:
        merges = any(_spread(part, shape) in collected for _, part in parts)
        for c, part in parts if merges else _unscaled(coef, e):
            _put(collected, c, part, shape)
    return {e: c if type(c) is int and c == 1 else number(c) for e, c in collected.items() if c != 0}


def _merged(terms: Sequence[tuple[Number, Expr]]) -> dict[Expr, Number]:
    """Terms that are the same, sums among them, added up: ``s - 0.2 s`` is ``0.8 s``, whatever ``s`` consists of."""
    found: dict[Expr, Number] = {}
    for coef, e in terms:
        if e.shape and type(e) not in _OPAQUE:
            e = as_scalar(e)
        if type(e) is Sum:
            ((coef, e),) = _unscaled(coef, e)
        found[e] = found[e] + coef if e in found else coef
    return found


def _put(collected: dict[Expr, Number], coef: Number, part: Expr, shape: Shape) -> None:
    part = _spread(part, shape)
    if not is_zero(part):
        collected[part] = collected.get(part, 0) + coef


def _spread(part: Expr, shape: Shape) -> Expr:
    if (isinstance(part, Structure) and part.relation == ONE) or numeric(part) == 1:
        return one(shape)
    return broadcast(part, (), shape) if shape and not part.shape else part


def _parts(e: Expr) -> tuple[Number, list[tuple[Number, Expr]]]:
    """A factor and the terms of a sum, also of one whose axes are only rearranged; of anything else, itself."""
    if isinstance(e, Sum):
        if len(e.args) > 1:
            return 1, list(zip(e.coefs, e.args, strict=True))
        ((coef, inner),) = zip(e.coefs, e.args, strict=True)
        times, parts = _parts(inner)
        return (coef * times, parts) if len(parts) > 1 else (1, [(1, e)])
    if isinstance(e, Product) and len(e.args) == 1 and isinstance(e.args[0], Sum) and not e.sums:
        inner, labels = e.args[0], e.labels[0]
        sizes: dict[Hashable, dims.Size] = dict(zip(e.out, e.shape, strict=True))
        if len(set(labels)) < len(labels):
            return 1, [(1, e)]  # a diagonal
        return 1, [(c, product([(a, labels)], e.out, sizes)) for c, a in zip(inner.coefs, inner.args, strict=True)]
    return 1, [(1, e)]


def _unscaled(coef: Number, e: Expr) -> list[tuple[Number, Expr]]:
    """A term with the coefficient that it has itself, if the two become one."""
    if isinstance(e, Sum) and len(e.args) == 1 and joins(coef, e.coefs[0]):
        return [(coef * e.coefs[0], e.args[0])]
    return [(coef, e)]


def _sorted_terms(terms: list[tuple[Number, Expr]]) -> tuple[tuple[Expr, ...], Shape, tuple[Number, ...]]:
    if len(terms) != 2 or terms[0][1].key > terms[1][1].key:
        terms = sorted(terms, key=lambda term: term[1].key)
    coefs = tuple([c if type(c) is int and c == 1 else number(c) for c, _ in terms])
    return tuple([e for _, e in terms]), _common_shape(terms), coefs


def rearranged(e: Sum, labels: tuple[int, ...]) -> Expr:
    """A sum with its axes permuted: where terms may be exchanged, the arrangement has to be chosen again.

    That goes through the sums among its terms, and tries several, so what is found is kept. Long sums stay as they are.
    """
    if len(e.args) > LONGEST_CHOSEN:
        axes = range(len(labels))
        return wrapped(e, labels, tuple([e.shape[labels.index(axis)] for axis in axes]))
    return _rearranged(e, labels, loose())


@cached("arrangements of sums", 512)
def _rearranged(e: Sum, labels: tuple[int, ...], _mode: bool) -> Expr:
    forms = Counter((abs(float(c)), *arrangement(a)[1]) for a, c in zip(e.args, e.coefs, strict=True))
    axes = tuple(range(len(labels)))
    if len(forms) == len(e.args):
        shape = tuple([e.shape[labels.index(axis)] for axis in axes])
        return wrapped(e, labels, shape)
    terms = [(c, product([(a, labels)], axes)) for c, a in zip(e.coefs, e.args, strict=True)]
    collected = {a: c for c, a in terms}
    return _build(collected, _common_shape(terms))


def _build(collected: dict[Expr, Number], shape: Shape) -> Expr:
    if len(collected) == 1:
        ((e, coef),) = collected.items()
        return scale(coef, e)
    terms, tied = list(collected), 1
    if len(shape) > 1:
        form = {e: arrangement(e, abs(float(coef))) for e, coef in collected.items()}
        terms.sort(key=form.__getitem__)
        tied = tied_first([form[e] for e in terms])
    coefs = [collected[e] for e in terms]
    if not shape:
        return make(Sum, *_sorted_terms(list(zip(coefs, terms, strict=True))))

    def build(args: tuple[Expr, ...]) -> Expr:
        # permuting a term may have brought out a coefficient
        parts: list[tuple[Number, Expr]] = []
        for c, a in zip(coefs, args, strict=True):
            parts += _unscaled(c, a) if type(a) is Sum else [(c, a)]
        return make(Sum, *_sorted_terms(parts))

    return in_natural_order(tuple(terms), shape, build, tied=tied)


# A factor common to all terms. Labels of a term are the positions of its axes, or a tuple for its summed ones.


def _factors(e: Expr, opened: bool) -> list[Factor]:
    """The factors of a term; with ``opened``, contractions that hold no structure are taken apart into their own."""
    if isinstance(e, Structure) and e.relation == ONE:
        return []
    axes = tuple(range(len(e.shape)))
    whole: list[Factor] = [*e.factors()] if isinstance(e, Product) and not e.sums else [(e, axes)]
    if not opened:
        return whole
    result: list[Factor] = []
    for at, (a, labels) in enumerate(whole):
        if isinstance(a, Product) and a.sums and not any(isinstance(b, Structure) for b in a.args):
            name = dict(zip(a.out, labels, strict=True))
            result += [(b, tuple([name.get(x, (at, x)) for x in inner])) for b, inner in a.factors()]
        else:
            result.append((a, labels))
    return result


def _common_factors(terms: list[Expr]) -> tuple[list[Factor], bool] | None:
    """The factors that all terms have, in the same place; whole contractions first, and of parts of them one.

    A contraction is taken apart only where that makes nothing larger: what is left of each term is one operand with
    the axes of all the others, or has no axes beside those of the factor.
    """
    if type(terms[0]) is not Product and type(terms[1]) is not Product:
        return None  # the two differ
    common = _leaves(terms[0])
    for e in terms[1:]:
        common &= _leaves(e)
        if not common:
            return None
    for opened in (False, True):
        found = [_factors(e, opened) for e in terms]
        candidates = found[0]
        for factors in found[1:]:
            own = {(a, _pattern(labels)) for a, labels in factors} if candidates else set()
            candidates = [(a, labels) for a, labels in candidates if (a, _pattern(labels)) in own]
        if opened:
            candidates = [factor for factor in candidates if _is_cheap(factor, found)]
        if candidates:
            candidates = sorted(dict.fromkeys(candidates), key=lambda factor: (factor[0].key, _pattern(factor[1])))
            return candidates[: 1 if opened else None], opened
        if not any(isinstance(a, Product) for a, _ in found[0]):
            return None
    return None


def _leaves(e: Expr) -> set[Expr]:
    """All that could be a common factor of ``e``: a quick look before the thorough one."""
    if type(e) is not Product:
        return {e}
    found: set[Expr] = {e} if e.sums else set(e.args)
    for a in (e,) if e.sums else e.args:
        if type(a) is Product and a.sums and Structure not in map(type, a.args):
            found.update(a.args)
    return found


def _is_cheap(factor: Factor, terms: list[list[Factor]]) -> bool:
    own = set(_pattern(factor[1]))
    axes = []
    for factors in terms:
        match = next(f for f in factors if f[0] is factor[0] and _pattern(f[1]) == _pattern(factor[1]))
        rename = dict(zip(match[1], _pattern(match[1]), strict=True))
        rest = [{rename.get(x, x) for x in labels} for f, labels in factors if (f, labels) != match]
        left = set().union(*rest)
        if len(rest) != 1 and not left <= own:
            return False
        axes.append(left)
    return all(left == axes[0] for left in axes) or set().union(*axes) <= own


def _pattern(labels: tuple[Hashable, ...]) -> tuple[int, ...]:
    """Axes by their positions, summed labels by where they occur first in the factor itself."""
    return tuple([label if isinstance(label, int) else -1 - labels.index(label) for label in labels])


def _take_out(common: list[Factor], opened: bool, collected: dict[Expr, Number], shape: Shape) -> Expr:
    """The ``common`` factors times the sum of what is left of the terms."""
    sizes: dict[Hashable, dims.Size] = dict(enumerate(shape))
    for expr, labels in common:
        sizes.update(zip(labels, expr.shape, strict=True))
    rests = []
    for e, coef in collected.items():
        factors = _factors(e, opened)
        rename: dict[Hashable, Hashable] = {}
        for expr, labels in common:
            found = next(f for f in factors if f[0] is expr and _pattern(f[1]) == _pattern(labels))
            factors.remove(found)
            rename.update(zip(found[1], labels, strict=True))
        own = [
            (a, tuple([rename.get(x, x if isinstance(x, int) else ("own", x)) for x in inner])) for a, inner in factors
        ]
        rests.append((coef, own))
    used = {label for _, rest in rests for _, inner in rest for label in inner}
    axes = [label for label in sizes if label in used]
    inner = add([(coef, product(rest, axes, {a: sizes[a] for a in axes})) for coef, rest in rests])
    return product([*common, (inner, axes if inner.shape else ())], range(len(shape)), dict(enumerate(shape)))


constructors.add, constructors.rearranged = add, rearranged
