"""The product constructor: ``*(s1, s2, …; out)``, kept canonical.

``product([(A, "ik"), (B, "kj")], "ij")`` multiplies and sums over every label that is not in the output. Any hashable
may be a label here; inside a node labels are integers. The local rules, in the order they are applied:

- *equal operands* are a power: ``x[i] x[i]`` is the sum of ``x[i]**2``;
- *flattening*: a product that sums over nothing, or only moves the entries of one operand by structures, becomes part
  of its user, but for factors that a contraction would leave behind without becoming smaller for it: in
  ``A[i,j] (s v[j])`` the scalar stays where it is, so that scales do not wander (``numbers.py``);
- *numbers* collect where they may move;
- *zero* annihilates, *one* drops out; zero times an infinite number is none;
- *delta* merges two labels: a summed label is renamed away, two output labels keep one delta between them;
- *reshape and back*: the same merging of axes twice over one summed label is a delta for each axis;
- *told twice*: what equal relations tell from the same labels is one label, and a delta where both are in the output;
- *size*: a summed label that nothing carries counts;
- *pairs*: ``eps[i,j,k] eps[i,l,m]`` is deltas, and so is ``Q[i,k] Q[j,k]`` of an orthogonal matrix;
- *components*: factors fall into groups linked by summed labels, each group is a contraction of its own, and the
  product of the groups sums over nothing. So no factor is dragged through a contraction that does not need it.

``product_nodes.py`` makes the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ricci.expr import dims
from ricci.expr.build.known_pairs import contraction_of_pair
from ricci.expr.build.merging import cancel_reshapes, merge_labels, merge_told
from ricci.expr.build.product_nodes import Factor, Label, components, without_sums
from ricci.expr.build.scale import primitive, scale, whole_power
from ricci.expr.dims import Size
from ricci.expr.nodes import (
    IMAGINARY,
    Constant,
    Elementwise,
    Expr,
    Function,
    Product,
    Shape,
    Structure,
    Sum,
    Variable,
    constructors,
)
from ricci.expr.numbers import Number, joins, loose, moves, number, times
from ricci.expr.structures import DELTA, ONE, ZERO, affine, is_one, natural, one, zero

_OPAQUE = (Variable, Elementwise, Function)
_FAR_POWER = 4
FLATTEN_LIMIT = 32  # operands or terms; a longer chain nests instead, so that building it stays linear
LONG = 8  # factors; a product without sums of more of them is a step of its own, so that deriving chains stays linear


def product(
    operands: Sequence[tuple[Expr, Sequence[Label]]], out: Sequence[Label], sizes: Mapping[Any, Size] | None = None
) -> Expr:
    """The product of ``operands``, summed over the labels that are not in ``out``.

    ``sizes`` gives the size of output labels that no operand carries.
    """
    out = tuple(out)
    operands = _with_powers([(e, tuple(labels)) for e, labels in operands])
    found = _Flattened(operands, out, dict(sizes) if sizes else {})
    if found.scaled and not moves(found.moved):
        found = _Flattened(operands, out, dict(sizes) if sizes else {}, moving=False)
    size, factors = found.size, found.factors
    coefs: list[Number] = [*found.numbers, found.moved]
    alone = found.scaled and len(factors) == 1 and factors[0][1] == out
    if alone and [rest for _, rest in found.scaled] == [factors[0][0]]:  # nothing but numbers stands beside the sum
        factors, coefs = [(found.scaled[0][0], out)], found.numbers
    if 0 in coefs and not all(map(math.isfinite, coefs)):
        coefs = [math.nan]  # as 0/0 is
    if found.deltas:
        factors = merge_labels(factors, found.deltas, out, size)
    related = (found.related or found.deltas) and Structure in [type(e) for e, _ in factors]
    if len(factors) > 1 and found.changed:
        if related:
            factors = merge_told(cancel_reshapes(factors, out, size), out, size)
        factors = _with_powers(factors)
    if found.held and any(found.out.issuperset(labels) and e in found.held for e, labels in factors):
        return _times(coefs, _again(factors, out, size))  # a delta has told that nothing is summed there
    if related and [e for e, labels in factors if type(e) is Structure and _relates_twice(e, labels)]:
        again = [_on_distinct_labels(e, labels) if _relates_twice(e, labels) else (e, labels) for e, labels in factors]
        return _times(coefs, _again(again, out, size))
    if len(size) == len(out):  # nothing is summed over
        if 0 in coefs:
            return zero(tuple([size[label] for label in out]))
        return _times(coefs, without_sums(factors, out, size))
    return _summed(coefs, factors, out, size, size.keys() - found.out)


def _summed(
    coefs: list[Number], factors: list[Factor], out: tuple[Label, ...], size: dict[Label, Size], summed: set[Label]
) -> Expr:
    """The product of factors that are as they should be, summed over labels."""
    carried: set[Label] = set()
    for _, labels in factors:
        carried.update(labels)
    for label in summed - carried:
        count = size.pop(label)  # it is counted once, also where the rest is done by another call
        if not isinstance(count, int):
            return _times(coefs, _again([*factors, (constructors.constant(count), ())], out, size))
        coefs.append(count)
    if 0 in coefs:
        return zero(tuple([size[label] for label in out]))
    summed &= carried
    if summed:
        for position, (e, labels) in enumerate(factors):
            if type(e) is Sum and not summed.isdisjoint(labels):
                reduced = _term_by_term(factors, position, summed)
                if reduced is not None:
                    rest = [*factors[:position], *factors[position + 1 :]]
                    left = {label: n for label, n in size.items() if label not in labels or label in out}
                    return _times(coefs, _again([*rest, reduced], out, left))
        told = contraction_of_pair(factors, summed)
        if told is not None:
            coef, gone, terms = told
            left = {label: n for label, n in size.items() if label not in gone}
            total = constructors.add([(sign, _again(inner, out, left)) for sign, inner in terms])
            return _times([*coefs, coef], total)
        sign, factors = components(factors, summed, out)
        if not sign:
            return zero(tuple([size[label] for label in out]))
        coefs.append(sign)
        factors = _with_powers(factors) if len(factors) > 1 else factors
    return _times(coefs, without_sums(factors, out, size))


def _again(factors: list[Factor], out: tuple[Label, ...], size: dict[Label, Size]) -> Expr:
    """The product of what was flattened before; what was opened then is named so that it meets nothing opened now."""
    name: dict[Label, Label] = {label: ("again", label) for label in size if label not in out}
    renamed = [(e, tuple([name.get(x, x) for x in labels])) for e, labels in factors]
    return product(renamed, out, {name.get(x, x): n for x, n in size.items()})


def _times(coefs: Sequence[Number], e: Expr) -> Expr:
    """``e`` times numbers, which become one where they may."""
    coefs = [c for c in coefs if type(c) is not int or c != 1]
    if not coefs:
        return e
    coef: Number = 1
    for c in sorted(coefs, key=lambda c: (abs(c), c < 0)) if len(coefs) > 1 else coefs:
        if joins(coef, c):
            coef = times(coef, c)
        else:
            e = scale(c, e)
    return e if coef == 1 else scale(number(coef), e)


def contract(
    operands: Sequence[tuple[Expr, Sequence[Label]]], out: Sequence[Label], sizes: Mapping[Any, Size] | None = None
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
    """Equal operands as powers, and numbers with their conjugates as squares of absolute values."""
    found = _equal_as_powers(operands)
    return constructors.with_squares(found) if sum([e.complex for e, _ in found]) > 1 else found


def _equal_as_powers(operands: list[Factor]) -> list[Factor]:
    """Equal operands on equal labels as one power; exponents of one sign add up, and those of sizes in any case."""
    if len(operands) == 2:
        if operands[0][1] != operands[1][1]:
            return operands
    elif len(operands) < 2 or len({labels for _, labels in operands}) == len(operands):
        return operands
    seen: dict[tuple, list[int]] = {}
    for position, (e, labels) in enumerate(operands):
        base, exponent = whole_power(e) if type(e) is Elementwise else (e, 1)
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
            result += [(constructors.power(base, total), axes)] if total else []
    return result


class _Flattened:
    """Operands flattened: numbers, factors and deltas, products without sums opened, ones dropped, sizes collected.

    ``moved`` is what was taken out of sums; with ``moving`` false, only their signs are.
    """

    def __init__(self, operands: list[Factor], out: tuple[Label, ...], size: dict[Label, Size], moving: bool = True):
        self.out, self.size, self.moving = frozenset(out), size, moving
        self.moved: Number = 1
        self.scaled: list[tuple[Expr, Expr]] = []  # sums that numbers were taken out of, and what was left
        self.held: list[Expr] = []  # products that were not opened
        self.scalars: list[Product] | None = []  # single entries of a tensor, which others may have to be told from
        self.numbers: list[Number] = []
        self.units: list[Expr] = []  # the imaginary unit, as often as it is a factor
        self.factors: list[Factor] = []
        self.deltas: list[tuple[Label, Label]] = []
        self.related = False  # whether there are structures among the factors
        self.changed = False  # whether the factors are others than the operands
        self.opened = 0
        self.stack = operands[::-1]
        count = len(self.stack)
        self.only = self.stack[0][0] if count == 1 else None
        self.alone = self.stack[0][0] if count == 1 and self.out.issuperset(self.stack[0][1]) else None
        self.room = count if count > 1 else len(self.stack[0][0].args) if count else 0
        self.flatten()
        scalars, self.scalars = self.scalars, None
        if scalars and (self.related or _share_structures(scalars)):
            self.stack += [(e, ()) for e in scalars[::-1]]
            self.flatten()
        elif scalars:
            self.factors += [(e, ()) for e in scalars]
        if self.units:  # the square of the imaginary unit is -1
            turns = len(self.units) % 4
            self.numbers += [-1] if turns > 1 else []
            self.factors += [(self.units[0], ())] if turns % 2 else []

    def flatten(self) -> None:
        size = self.size
        while self.stack:
            e, labels = self.stack.pop()
            for label, axis in zip(labels, e.shape, strict=True):
                known = size.get(label)
                size[label] = axis if known is None or known is axis else dims.same(known, axis)
            if type(e) in _OPAQUE:
                self.factors.append((e, labels))
            else:
                self.changed = True
                _FLATTENING[type(e)](self, e, labels)

    def product(self, e: Product, labels: tuple[Label, ...]) -> None:
        if (
            (e is not self.only and len(e.args) + self.room > FLATTEN_LIMIT)
            or (e.sums and not _moves(e))
            or (e is not self.alone and _is_far(e))
        ):
            self.factors.append((e, labels))
            return
        if self.scalars is not None and e.sums and not labels:
            self.scalars.append(e)
            return
        name: dict = dict(zip(e.out, labels, strict=True))
        if e is not self.only and len(e.args) > LONG and not e.sums and not loose():
            self.long(e, labels)
            return
        self.opened += 1
        if e.sums:
            fresh = self.opened
            factors = [(a, tuple([name.get(x, ("open", fresh, x)) for x in inner])) for a, inner in e.factors()]
        else:
            factors = [(a, tuple(map(name.__getitem__, inner))) for a, inner in zip(e.args, e.labels, strict=True)]
            if self.out.issuperset(labels):  # nothing in it is summed
                self.stack.extend(factors)
                return
        held = self._held(factors) if len(factors) > 1 and not loose() else []
        if not held:
            self.stack.extend(factors)
            return
        if len(held) == len(factors) and len({x for _, own in held for x in own}) == len(set(labels)):
            self.factors.append((e, labels))
            self.held.append(e)
            return
        axes = tuple(dict.fromkeys([x for _, own in held for x in own]))
        self.held.append(without_sums(held, axes, {}))
        self.factors.append((self.held[-1], axes))
        self.stack.extend([factor for factor in factors if factor not in held])

    def long(self, e: Product, labels: tuple[Label, ...]) -> None:
        """A product that stays a step, but for the structures in it, which have to meet what they rename."""
        factors = [(a, tuple([labels[axis] for axis in own])) for a, own in e.factors()]
        moving = [(a, own) for a, own in factors if isinstance(a, Structure)]
        if not moving:
            self.factors.append((e, labels))
            return
        rest = [(a, own) for a, own in factors if not isinstance(a, Structure)]
        axes = tuple(dict.fromkeys([x for _, own in rest for x in own]))
        self.factors.append((without_sums(rest, axes, {}), axes))
        self.stack.extend(moving)

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
        if type(c) is not int or c != 1:
            if not self.moving and c != -1:
                c, rest = (1, e) if c > 0 else (-1, scale(-1, e))
            self.moved = times(self.moved, c)
            if c != 1:
                self.scaled.append((e, rest))
        if rest is e or isinstance(rest, Sum):
            axes = natural(rest)
            if len(axes) < len(labels):  # a number times something that repeats
                rest, labels = restrict(rest, axes), tuple([labels[axis] for axis in axes])
            self.factors.append((rest, labels))
        else:
            self.stack.append((rest, labels))

    def constant(self, e: Constant, labels: tuple[Label, ...]) -> None:
        if e.value == IMAGINARY:
            self.units.append(e)
        elif isinstance(e.value, dims.Dim) or not isinstance(e.value, Number):
            self.factors.append((e, labels))
        else:
            self.numbers.append(e.value)

    def structure(self, e: Structure, labels: tuple[Label, ...]) -> None:
        if e.relation == DELTA and e.shape[0] == e.shape[1]:
            self.deltas.append((labels[0], labels[1]))
        elif e.relation[0] == "zero":
            self.numbers.append(0)
        elif e.relation != ONE:
            self.related = True
            self.factors.append((e, labels))


_FLATTENING: dict[type[Expr], Callable[..., None]] = {
    Product: _Flattened.product,
    Sum: _Flattened.sum,
    Constant: _Flattened.constant,
    Structure: _Flattened.structure,
}


def _share_structures(scalars: list[Product]) -> bool:
    """Whether entries of tensors are told by the same relation: ``x[3] y[3]`` is an entry of ``x[i] y[i]``."""
    if len(scalars) == 1:
        return False
    found = [a for e in scalars for a in set(e.args) if type(a) is Structure]
    return len(set(found)) < len(found)


def _is_far(e: Product) -> bool:
    """Whether high powers are divided by one another: with more of them they would leave the range of numbers."""
    if e.sums or Elementwise not in map(type, e.args) or loose():
        return False
    powers = [whole_power(a)[1] for a in e.args]
    return min(powers) < 0 < max(powers) and max(map(abs, powers)) >= _FAR_POWER


def _is_number(e: Expr) -> bool:
    """Whether a factor is a size, π, or a power of one."""
    return not e.shape and isinstance(whole_power(e)[0], Constant)


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
        return constructors.one_hot(product([(e.args[0], labels[:-1])], own), e.shape[-1]), (*own, labels[-1])
    kind, coefs, const = e.relation
    merged: dict[Label, Size] = {}
    size: dict[Label, Size] = {}
    for label, coef, axis in zip(labels, coefs, e.shape, strict=True):
        merged[label] = merged.get(label, 0) + coef
        size[label] = dims.same(size.get(label, axis), axis)
    return affine(kind, tuple(merged.values()), const, tuple(size.values())), tuple(merged)


def _moves(e: Product) -> bool:
    """Whether a contraction only moves the entries of one operand: all others, at least one, are structures."""
    return len(e.args) > 1 and sum([type(a) is not Structure for a in e.args]) <= 1


def _term_by_term(factors: list[Factor], position: int, summed: set[Label]) -> Factor | None:
    """A sum over axes of a sum, term by term, where that leaves fewer terms: ``1[h] (x[h] - mean(x))`` is zero."""
    e, labels = factors[position]
    own = summed.intersection(labels)
    others = {label for p, (_, ls) in enumerate(factors) if p != position for label in ls}
    if len(e.args) < 2 or len(set(labels)) < len(labels) or not own.isdisjoint(others):
        return None
    places = {place for place, label in enumerate(labels) if label in own}
    if not loose() and all(places.issubset(natural(a)) for a in e.args):
        return None
    out = tuple([label for label in labels if label not in own])
    terms = zip(e.coefs, e.args, strict=True)  # type: ignore[attr-defined]
    total = constructors.add([(c, product([(a, labels)], out)) for c, a in terms])
    fewer = len(total.args) < len(e.args) if type(total) is Sum else True
    return (total, out if total.shape else ()) if fewer or loose() else None


# Products of one operand: its axes arranged otherwise


def restrict(e: Expr, axes: Sequence[int]) -> Expr:
    """``e`` with only ``axes``, in that order; it must not depend on the others."""
    if isinstance(e, Sum) and len(e.args) == 1:
        return scale(e.coefs[0], restrict(e.args[0], axes))
    shape = tuple([e.shape[a] for a in axes])
    if isinstance(e, Structure) and e.relation in (ONE, ZERO):
        return one(shape) if e.relation == ONE else zero(shape)
    if isinstance(e, Product) and not e.sums:
        return product(list(e.factors()), axes, dict(zip(axes, shape, strict=True)))
    return product([(e, tuple(range(len(e.shape))))], axes)


def broadcast(e: Expr, axes: Sequence[int], shape: Shape) -> Expr:
    """``e``, whose axes become ``axes`` of the result, constant along the other axes of ``shape``."""
    return product([(e, tuple(axes))], tuple(range(len(shape))), dict(enumerate(shape)))


def as_scalar(e: Expr) -> Expr:
    """The scalar that ``e`` is everywhere, if it depends on no axis; otherwise ``e``."""
    return restrict(e, ()) if e.shape and not natural(e) else e
