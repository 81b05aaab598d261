"""The product constructor: ``*(s1, s2, …; out)``, kept canonical.

``product([(A, "ik"), (B, "kj")], "ij")`` multiplies and sums over every label that is not in the output. Any hashable
may be a label here; inside a node labels are integers. The local rules, in the order they are applied:

- *equal operands* are a power: ``x[i] x[i]`` is the sum of ``x[i]**2``;
- *flattening*: a product that sums over nothing, or only moves the entries of one operand by structures, becomes part
  of its user, but for factors that a contraction would leave behind without becoming smaller for it: in
  ``A[i,j] (s v[j])`` the scalar stays where it is, so that scales do not wander (``numbers.py``);
- *numbers* collect where they may move;
- *zero* annihilates, *one* drops out;
- *delta* merges two labels: a summed label is renamed away, two output labels keep one delta between them;
- *reshape and back*: the same merging of axes twice over one summed label is a delta for each axis;
- *size*: a summed label that nothing carries counts;
- *components*: factors fall into groups linked by summed labels, each group is a contraction of its own, and the
  product of the groups sums over nothing. So no factor is dragged through a contraction that does not need it.

Two forms of node result. A product *without sums* uses the positions of its axes as labels. A *contraction* is one
linked group, its operands in canonical order, its labels numbered by first use, its axes in the order of the labels.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from ricci.expr import dims
from ricci.expr.canonical import canonical_order
from ricci.expr.dims import Size
from ricci.expr.node import Constant, Elementwise, Expr, Function, Product, Shape, Structure, Sum, Variable, make
from ricci.expr.numbers import Number, joins, loose, moves, number
from ricci.expr.scale import constant, primitive, scale
from ricci.expr.structure import DELTA, ONE, affine, delta, is_one, one, one_hot, symmetric, zero

Label = Hashable
Factor = tuple[Expr, tuple[Label, ...]]
_OPAQUE = (Variable, Elementwise, Function)
_FAR_POWER = 4
FLATTEN_LIMIT = 32  # operands or terms; a longer chain nests instead, so that building it stays linear


def product(
    operands: Sequence[tuple[Expr, Sequence[Label]]], out: Sequence[Label], sizes: Mapping[Label, Size] | None = None
) -> Expr:
    """The product of ``operands``, summed over the labels that are not in ``out``.

    ``sizes`` gives the size of output labels that no operand carries.
    """
    out = tuple(out)
    operands = _with_powers([(e, tuple(labels)) for e, labels in operands])
    size: dict[Label, Size] = dict(sizes) if sizes else {}
    found = _Flat(operands, out, dict(size))
    if not moves(found.moved):
        found = _Flat(operands, out, dict(size), moving=False)
    size, factors = found.size, found.factors
    coefs = [*found.numbers, found.moved]
    if len(factors) == 1 and factors[0][1] == out and [rest for _, rest in found.scaled] == [factors[0][0]]:
        factors, coefs = [(found.scaled[0][0], out)], found.numbers  # nothing but numbers stands beside the sum
    if found.deltas:
        factors = _merge_labels(factors, found.deltas, out, size)
    if len(factors) > 1:
        factors = _cancel_reshapes(factors, out, size)
        factors = _with_powers(factors)
    if found.held and any(set(out).issuperset(labels) and e in found.held for e, labels in factors):
        return _times(coefs, product(factors, out, size))  # a delta has told that nothing is summed there
    if any(_relates_twice(e, labels) for e, labels in factors):
        again = [_on_distinct_labels(e, labels) if _relates_twice(e, labels) else (e, labels) for e, labels in factors]
        return _times(coefs, product(again, out, size))
    carried = {label for _, labels in factors for label in labels}
    summed = size.keys() - set(out)
    for label in [label for label in summed if label not in carried]:
        summed.discard(label)
        count = size.pop(label)  # it is counted once, also where the rest is done by another call
        if isinstance(count, int):
            coefs.append(count)
        else:
            return _times(coefs, product([*factors, (constant(count), ())], out, size))
    if 0 in coefs:
        return zero(tuple(size[label] for label in out))
    if summed & carried:
        for position, (e, labels) in enumerate(factors):
            if type(e) is Sum and not summed.isdisjoint(labels):
                reduced = _term_by_term(factors, position, summed)
                if reduced is not None:
                    rest = [*factors[:position], *factors[position + 1 :]]
                    left = {label: n for label, n in size.items() if label not in labels or label in out}
                    return _times(coefs, product([*rest, reduced], out, left))
        factors = _components(factors, summed, out)
        factors = _with_powers(factors)
    return _times(coefs, _without_sums(factors, out, size))


def _times(coefs: Sequence[Number], e: Expr) -> Expr:
    """``e`` times numbers, which become one where they may."""
    coef: Number = 1
    for c in sorted(coefs, key=lambda c: (abs(c), c < 0)):
        if joins(coef, c):
            coef = coef * c
        else:
            e = scale(c, e)
    return scale(number(coef), e)


def contract(
    operands: Sequence[tuple[Expr, Sequence[Label]]], out: Sequence[Label], sizes: Mapping[Label, Size] | None = None
) -> Expr:
    """``product`` with contractions among the operands opened, so that ``(A B) C`` and ``A (B C)`` are one object.

    For what users write. Derivatives use ``product``, where a contraction stays one step that others can share.
    """
    waiting: list[Factor] = [(e, tuple(labels)) for e, labels in reversed(operands)]
    closed: list[Factor] = []
    known: dict[Label, Size] = dict(sizes) if sizes else {}
    opened = 0
    while waiting:
        e, labels = waiting.pop()
        if isinstance(e, Product) and len(closed) + len(waiting) + len(e.args) <= FLATTEN_LIMIT:
            opened += 1
            known.update(zip(labels, e.shape, strict=True))
            name: dict = dict(zip(e.out, labels, strict=True))
            waiting += [(a, tuple([name.get(x, ("sum", opened, x)) for x in inner])) for a, inner in e.factors()]
        else:
            closed.append((e, labels))
    return product(closed, out, known)


def _with_powers(operands: list[Factor]) -> list[Factor]:
    """Equal operands on equal labels as one power; exponents of one sign add up, and those of sizes in any case."""
    if len(operands) < 2:
        return operands
    seen: dict[tuple, list[int]] = {}
    for position, (e, labels) in enumerate(operands):
        base, exponent = whole_power(e)
        seen.setdefault((base, labels, exponent > 0 or type(base) is Constant), []).append(position)
    if len(seen) == len(operands):
        return operands
    result: list[Factor] = []
    for (base, labels, _), positions in seen.items():
        if len(positions) == 1 or isinstance(base, Structure):
            result += [operands[position] for position in positions]
        else:
            total = sum(whole_power(operands[position][0])[1] for position in positions)
            axes = tuple(dict.fromkeys(labels))
            if len(axes) < len(labels):
                base = product([(base, labels)], axes)  # a diagonal is taken first
            result += [(_algebra().power(base, total), axes)] if total else []
    return result


def whole_power(e: Expr) -> tuple[Expr, int]:
    """``b`` and ``n`` with ``e = b**n``, where ``n`` is a whole number."""
    if type(e) is Elementwise and e.op.name == "power":
        exponent = e.args[1]
        if type(exponent) is Constant and type(exponent.value) is int:
            return e.args[0], exponent.value
    return e, 1


class _Flat:
    """Operands flattened: numbers, factors and deltas, products without sums opened, ones dropped, sizes collected.

    ``moved`` is what was taken out of sums; with ``moving`` false, only their signs are.
    """

    def __init__(self, operands: list[Factor], out: tuple[Label, ...], size: dict[Label, Size], moving: bool = True):
        self.out, self.size, self.moving = frozenset(out), size, moving
        self.moved: Number = 1
        self.scaled: list[tuple[Expr, Expr]] = []  # sums that numbers were taken out of, and what was left
        self.held: list[Expr] = []  # products that were not opened
        self.numbers: list[Number] = []
        self.factors: list[Factor] = []
        self.deltas: list[tuple[Label, Label]] = []
        self.opened = 0
        self.stack = operands[::-1]
        count = len(self.stack)
        self.alone = self.stack[0][0] if count == 1 and self.out.issuperset(self.stack[0][1]) else None
        self.room = count if count > 1 else -FLATTEN_LIMIT * len(self.stack[0][0].args) if count else 0
        while self.stack:
            e, labels = self.stack.pop()
            for label, axis in zip(labels, e.shape, strict=True):
                known = size.get(label)
                size[label] = axis if known is None or known is axis else dims.same(known, axis)
            if type(e) in _OPAQUE:
                self.factors.append((e, labels))
            else:
                _FLATTENING[type(e)](self, e, labels)

    def product(self, e: Product, labels: tuple[Label, ...]) -> None:
        if (
            len(e.args) + self.room > FLATTEN_LIMIT
            or (e.sums and not _moves(e))
            or (e is not self.alone and _is_far(e))
        ):
            self.factors.append((e, labels))
            return
        name: dict = dict(zip(e.out, labels, strict=True))
        self.opened += 1
        factors = [(a, tuple([name.get(x, ("open", self.opened, x)) for x in inner])) for a, inner in e.factors()]
        held = self._held(factors) if len(factors) > 1 and not loose() else []
        if not held:
            self.stack.extend(factors)
            return
        if len(held) == len(factors) and len({x for _, own in held for x in own}) == len(set(labels)):
            self.factors.append((e, labels))
            self.held.append(e)
            return
        axes = tuple(dict.fromkeys([x for _, own in held for x in own]))
        self.held.append(_without_sums(held, axes, {}))
        self.factors.append((self.held[-1], axes))
        self.stack.extend([factor for factor in factors if factor not in held])

    def _held(self, factors: list[Factor]) -> list[Factor]:
        """The factors that stay together: those with summed labels, if others have no labels beside theirs."""
        linked = [(a, own) for a, own in factors if not isinstance(a, Structure) and not self.out.issuperset(own)]
        labels = {x for _, own in linked for x in own}
        rest = [(a, own) for a, own in factors if self.out.issuperset(own) and labels.issuperset(own)]
        rest = [(a, own) for a, own in rest if not isinstance(a, Structure) and not _is_number(a)]
        return [*linked, *rest] if linked and rest else []

    def sum(self, e: Sum, labels: tuple[Label, ...]) -> None:
        if len(e.args) == 1 and (e is self.alone or is_one(e.args[0])):
            self.numbers.append(e.coefs[0])  # it only changes places with an arrangement of axes
            if e is self.alone:
                self.stack.append((e.args[0], labels))
            return
        c, rest = primitive(e)
        if not self.moving and abs(c) != 1:
            c, rest = (1, e) if c > 0 else (-1, scale(-1, e))
        self.moved = self.moved * c
        if c != 1:
            self.scaled.append((e, rest))
        if rest is e or isinstance(rest, Sum):
            axes = _axes().natural(rest)
            if len(axes) < len(labels):  # a number times something that repeats
                rest, labels = _axes().restrict(rest, axes), tuple([labels[axis] for axis in axes])
            self.factors.append((rest, labels))
        else:
            self.stack.append((rest, labels))

    def constant(self, e: Constant, labels: tuple[Label, ...]) -> None:
        if isinstance(e.value, dims.Dim) or not isinstance(e.value, Number):
            self.factors.append((e, labels))
        else:
            self.numbers.append(e.value)

    def structure(self, e: Structure, labels: tuple[Label, ...]) -> None:
        if e.relation == DELTA and e.shape[0] == e.shape[1]:
            self.deltas.append((labels[0], labels[1]))
        elif e.relation[0] == "zero":
            self.numbers.append(0)
        elif e.relation != ONE:
            self.factors.append((e, labels))


_FLATTENING: dict[type[Expr], Callable[..., None]] = {
    Product: _Flat.product,
    Sum: _Flat.sum,
    Constant: _Flat.constant,
    Structure: _Flat.structure,
}


def _is_far(e: Product) -> bool:
    """Whether high powers are divided by one another: with more of them they would leave the range of numbers."""
    if e.sums or loose():
        return False
    powers = [whole_power(a)[1] for a in e.args]
    return min(powers) < 0 < max(powers) and max(map(abs, powers)) >= _FAR_POWER


def _is_number(e: Expr) -> bool:
    """Whether a factor is a size, π, or a power of one."""
    return isinstance(whole_power(e)[0], Constant)


def _algebra():
    from ricci.expr import algebra  # powers are built on products

    return algebra


def _sums():
    from ricci.expr import sums  # and so are sums

    return sums


def _axes():
    from ricci.expr import axes

    return axes


def _relates_twice(e: Expr, labels: tuple[Label, ...]) -> bool:
    if not isinstance(e, Structure) or len(set(labels)) == len(labels):
        return False
    own = labels[:-1] if e.args else labels
    return e.relation[0] in ("==", ">=", "at") and len(set(own)) < len(own)


def _on_distinct_labels(e: Expr, labels: tuple[Label, ...]) -> Factor:
    """A relation that has an index twice is one that has it once."""
    assert isinstance(e, Structure)
    if e.args:
        own = tuple(dict.fromkeys(labels[:-1]))
        return one_hot(product([(e.args[0], labels[:-1])], own), e.shape[-1]), (*own, labels[-1])
    kind, coefs, const = e.relation
    merged: dict[Label, Size] = {}
    size: dict[Label, Size] = {}
    for label, coef, axis in zip(labels, coefs, e.shape, strict=True):
        merged[label] = merged.get(label, 0) + coef
        size[label] = dims.same(size.get(label, axis), axis)
    return affine(kind, tuple(merged.values()), const, tuple(size.values())), tuple(merged)


def _moves(e: Product) -> bool:
    """Whether a contraction only moves the entries of one operand: all others, at least one, are structures."""
    return len(e.args) > 1 and sum(not isinstance(a, Structure) for a in e.args) <= 1


def _merge_labels(
    factors: list[Factor], deltas: list[tuple[Label, Label]], out: tuple[Label, ...], size: dict[Label, Size]
) -> list[Factor]:
    """Rename along the deltas; keep one delta for each further output label of a class."""
    place = {label: position for position, label in enumerate(out)}
    merged: dict[Label, dict[Label, None]] = {}
    for a, b in deltas:
        both = merged.get(a, {a: None}) | merged.get(b, {b: None})
        for label in both:
            merged[label] = both
    new: dict[Label, Label] = {}
    kept: list[Factor] = []
    for together in {id(group): group for group in merged.values()}.values():
        outside = sorted((label for label in together if label in place), key=place.__getitem__)
        chosen = outside[0] if outside else next(iter(together))
        common = size[chosen]
        for label in together:
            common = dims.same(common, size[label])
        for label in together:
            new[label] = chosen
            size[label] = common
            if label != chosen and label not in place:
                del size[label]
        kept += [(delta(common), (chosen, label)) for label in outside[1:] if common != 1]
    return [(e, tuple([new.get(label, label) for label in labels])) for e, labels in factors] + kept


def _cancel_reshapes(factors: list[Factor], out: tuple[Label, ...], size: dict[Label, Size]) -> list[Factor]:
    """Axes merged into a summed label and split again in the same way are the axes themselves."""
    merges: dict[tuple[Structure, Label], list[int]] = {}
    for position, (e, labels) in enumerate(factors):
        if isinstance(e, Structure) and len(labels) > 2 and e.relation[0] == "==":
            merged = merged_axis(e)
            if merged is not None and labels[merged] not in out:
                merges.setdefault((e, labels[merged]), []).append(position)
    for (_, label), positions in merges.items():
        if len(positions) == 2 and sum(labels.count(label) for _, labels in factors) == 2:
            left, right = (factors[position][1] for position in positions)
            rest = [factor for position, factor in enumerate(factors) if position not in positions]
            del size[label]
            pairs = [(a, b) for a, b in zip(left, right, strict=True) if a != label and a != b]
            again = _merge_labels(rest, pairs, out, size) if pairs else rest
            return _cancel_reshapes(again, out, size)
    return factors


def merged_axis(e: Structure) -> int | None:
    """The axis that holds the row-major position of the others, if the relation says just that."""
    _, coefs, const = e.relation
    if const != 0 or (-1 not in coefs and 1 not in coefs):
        return None
    for position, coef in enumerate(coefs):
        rest = [(c, s) for p, (c, s) in enumerate(zip(coefs, e.shape, strict=True)) if p != position]
        stride: Size = -1 * coef
        while rest:
            match = next((pair for pair in rest if pair[0] == stride), None)
            if match is None:
                break
            rest.remove(match)
            stride = stride * match[1]
        if not rest and stride == -1 * coef * e.shape[position]:
            return position
    return None


def _term_by_term(factors: list[Factor], position: int, summed: set[Label]) -> Factor | None:
    """A sum over axes of a sum, term by term, where that leaves fewer terms: ``1[h] (x[h] - mean(x))`` is zero."""
    e, labels = factors[position]
    own = summed.intersection(labels)
    others = {label for p, (_, ls) in enumerate(factors) if p != position for label in ls}
    if len(e.args) < 2 or len(set(labels)) < len(labels) or not own.isdisjoint(others):
        return None
    places = {place for place, label in enumerate(labels) if label in own}
    if not loose() and all(places.issubset(_axes().natural(a)) for a in e.args):
        return None
    out = tuple([label for label in labels if label not in own])
    terms = zip(e.coefs, e.args, strict=True)  # type: ignore[attr-defined]
    total = _sums().add([(c, product([(a, labels)], out)) for c, a in terms])
    fewer = len(total.args) < len(e.args) if type(total) is Sum else True
    return (total, out if total.shape else ()) if fewer or loose() else None


def _components(factors: list[Factor], summed: set[Label], out: tuple[Label, ...]) -> list[Factor]:
    """One contraction for each group of factors linked by summed labels; the other factors as they are."""
    rank = {label: position for position, label in enumerate(out)}
    parent = list(range(len(factors)))
    home: dict[Label, int] = {}

    def root(p: int) -> int:
        while parent[p] != p:
            p = parent[p]
        return p

    for p, (_, labels) in enumerate(factors):
        for label in labels:
            if label in summed:
                a, b = root(p), root(home.setdefault(label, p))
                parent[max(a, b)] = min(a, b)
    linked = {root(p) for p in home.values()}
    groups: dict[int, list[Factor]] = {}
    for p, factor in enumerate(factors):
        groups.setdefault(root(p), []).append(factor)
    return [f for p, fs in groups.items() for f in ([_contraction(fs, rank)] if p in linked else fs)]


def _contraction(factors: list[Factor], rank: dict[Label, int]) -> Factor:
    """The node for one linked group, and the outer labels of its axes.

    A contraction that is alone under a sum becomes part of it: ``tr(A B)`` is one contraction.
    """
    e, labels = factors[0]
    if len(factors) == 1 and isinstance(e, Product) and e.sums:
        name: dict = dict(zip(e.out, labels, strict=True))
        factors = [(a, tuple([name.get(x, ("alone", x)) for x in inner])) for a, inner in e.factors()]
        return _contraction(factors, rank)
    if len(factors) > 1:
        factors = canonical_order(factors, rank)
    place: dict[Label, int] = {}
    shape: list[Size] = []
    for e, labels in factors:
        for label, axis in zip(labels, e.shape, strict=True):
            if label not in place:
                place[label] = len(place)
                shape.append(axis)
            else:
                at = place[label]
                shape[at] = shape[at] if shape[at] is axis else dims.same(shape[at], axis)
    outer = tuple([label for label in place if label in rank])
    out = tuple([place[label] for label in outer])
    labels = tuple([_placed(e, labels, place) for e, labels in factors])
    node = make(Product, tuple([e for e, _ in factors]), tuple([shape[p] for p in out]), labels, out)
    return node, outer


def _placed(e: Expr, labels: tuple[Label, ...], place: dict[Label, int]) -> tuple[int, ...]:
    numbers = tuple([place[label] for label in labels])
    return (numbers[1], numbers[0]) if len(numbers) == 2 and numbers[0] > numbers[1] and symmetric(e) else numbers


def wrapped(e: Expr, axes: Sequence[int], shape: Shape) -> Expr:
    """``e`` with its axes at the places ``axes`` of ``shape``, and nothing else done to it."""
    labels = _placed(e, tuple(axes), {axis: axis for axis in axes})
    if labels == tuple(range(len(shape))):
        return e
    carried = dict(zip(labels, e.shape, strict=True))
    sizes = tuple([carried.get(axis, size) for axis, size in enumerate(shape)])
    return make(Product, (e,), sizes, (labels,), tuple(range(len(shape))))


def _without_sums(factors: list[Factor], out: tuple[Label, ...], size: dict[Label, Size]) -> Expr:
    """The node for factors all of whose labels are in the output."""
    carried: dict[Label, Size] = {}
    for e, labels in factors:
        for label, axis in zip(labels, e.shape, strict=True):
            known = carried.get(label)
            carried[label] = axis if known is None or known is axis else dims.same(known, axis)
    shape = tuple([carried[label] if label in carried else size[label] for label in out])
    if not factors:
        return one(shape)
    place = {label: position for position, label in enumerate(out)}
    placed = [(e, _placed(e, labels, place)) for e, labels in factors]
    if len(placed) == 1:
        e, labels = placed[0]
        if labels == tuple(range(len(out))):
            return e
        if isinstance(e, Sum) and len(labels) == len(out) == len(set(labels)):
            return _sums().rearranged(e, labels)
    if len(placed) > 1:
        placed.sort(key=lambda factor: (factor[0].key, factor[1]))
    args = tuple([e for e, _ in placed])
    return make(Product, args, shape, tuple([labels for _, labels in placed]), tuple(range(len(out))))
