"""The product constructor: ``*(s1, s2, …; out)``, kept canonical.

``product([(A, "ik"), (B, "kj")], "ij")`` multiplies and sums over every label that is not in the output. Any hashable
may be a label here; inside a node labels are integers. The local rules, in the order they are applied:

- *flattening*: a product that sums over nothing, or only moves the entries of one operand by structures, becomes part
  of its user; numeric coefficients collect;
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

from collections.abc import Hashable, Mapping, Sequence

from ricci.expr import dims
from ricci.expr.canonical import canonical_order
from ricci.expr.dims import Size
from ricci.expr.node import Constant, Elementwise, Expr, Function, Product, Shape, Structure, Sum, Variable, make
from ricci.expr.numbers import Number
from ricci.expr.scale import constant, primitive, scale
from ricci.expr.structure import DELTA, ONE, affine, delta, one, one_hot, symmetric, zero

Label = Hashable
Factor = tuple[Expr, tuple[Label, ...]]
_OPAQUE = (Variable, Elementwise, Function)
FLATTEN_LIMIT = 32  # operands or terms; a longer chain nests instead, so that building it stays linear


def product(
    operands: Sequence[tuple[Expr, Sequence[Label]]], out: Sequence[Label], sizes: Mapping[Label, Size] | None = None
) -> Expr:
    """The product of ``operands``, summed over the labels that are not in ``out``.

    ``sizes`` gives the size of output labels that no operand carries.
    """
    out = tuple(out)
    size: dict[Label, Size] = dict(sizes) if sizes else {}
    coef, factors, deltas = _flatten(operands, size)
    if deltas:
        factors = _merge_labels(factors, deltas, out, size)
    if len(factors) > 1:
        factors = _cancel_reshapes(factors, out, size)
    if any(_relates_twice(e, labels) for e, labels in factors):
        again = [_on_distinct_labels(e, labels) if _relates_twice(e, labels) else (e, labels) for e, labels in factors]
        return scale(coef, product(again, out, size))
    carried = {label for _, labels in factors for label in labels}
    summed = size.keys() - set(out)
    for label in [label for label in summed if label not in carried]:
        summed.discard(label)
        count = size.pop(label)  # it is counted once, also where the rest is done by another call
        if isinstance(count, int):
            coef = coef * count
        else:
            return product([*factors, (constant(coef), ()), (constant(count), ())], out, size)
    if coef == 0:
        return zero(tuple(size[label] for label in out))
    if summed & carried:
        factors = _components(factors, summed, out)
    return scale(coef, _without_sums(factors, out, size))


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


def _flatten(operands: Sequence, size: dict[Label, Size]) -> tuple[Number, list[Factor], list[tuple[Label, Label]]]:
    """Coefficient, factors and deltas of the operands, products without sums opened, ones dropped, sizes collected."""
    coef: Number = 1
    factors: list[Factor] = []
    deltas: list[tuple[Label, Label]] = []
    opened = 0
    stack = [(e, tuple(labels)) for e, labels in reversed(operands)]
    room = len(stack) if len(stack) > 1 else -FLATTEN_LIMIT * len(stack[0][0].args) if stack else 0
    while stack:
        e, labels = stack.pop()
        for label, axis in zip(labels, e.shape, strict=True):
            known = size.get(label)
            size[label] = axis if known is None or known is axis else dims.same(known, axis)
        kind = type(e)
        if kind in _OPAQUE:
            factors.append((e, labels))
        elif isinstance(e, Product):
            if len(e.args) + room > FLATTEN_LIMIT or (e.sums and not _moves(e)):
                factors.append((e, labels))
            else:
                name: dict = dict(zip(e.out, labels, strict=True))
                opened += 1
                stack.extend(
                    [(a, tuple([name.get(x, ("open", opened, x)) for x in inner])) for a, inner in e.factors()]
                )
        elif isinstance(e, Sum):
            c, rest = primitive(e)
            coef = coef * c
            if rest is e or isinstance(rest, Sum):
                factors.append((rest, labels))
            else:
                stack.append((rest, labels))
        elif isinstance(e, Constant):
            if isinstance(e.value, dims.Dim) or not isinstance(e.value, Number):
                factors.append((e, labels))
            else:
                coef = coef * e.value
        elif isinstance(e, Structure):
            if e.relation == DELTA and e.shape[0] == e.shape[1]:
                deltas.append((labels[0], labels[1]))
            elif e.relation[0] == "zero":
                coef = 0
            elif e.relation != ONE:
                factors.append((e, labels))
    return coef, factors, deltas


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
    if len(factors) == 1 and isinstance(e, Product):
        name: dict = dict(zip(e.out, labels, strict=True))
        factors = [(a, tuple([name.get(x, ("alone", x)) for x in inner])) for a, inner in e.factors()]
        return _contraction(factors, rank)
    if len(factors) > 1:
        factors = canonical_order(factors, rank)
    number: dict[Label, int] = {}
    shape: list[Size] = []
    for e, labels in factors:
        for label, axis in zip(labels, e.shape, strict=True):
            if label not in number:
                number[label] = len(number)
                shape.append(axis)
            else:
                at = number[label]
                shape[at] = shape[at] if shape[at] is axis else dims.same(shape[at], axis)
    outer = tuple([label for label in number if label in rank])
    out = tuple([number[label] for label in outer])
    labels = tuple([_placed(e, labels, number) for e, labels in factors])
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
            from ricci.expr.sums import rearranged  # sums are built on products

            return rearranged(e, labels)
    if len(placed) > 1:
        placed.sort(key=lambda factor: (factor[0].key, factor[1]))
    args = tuple([e for e, _ in placed])
    return make(Product, args, shape, tuple([labels for _, labels in placed]), tuple(range(len(out))))
