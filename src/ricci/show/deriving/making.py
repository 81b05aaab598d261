"""Products and sums as one writes them: no factor 1, no term 0, one number in front, signs before terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from ricci.expr import Number
from ricci.notation import syntax
from ricci.show.deriving.typed_trees import SummedTerm, hint, names_of, open_in
from ricci.show.phrases import coefficient_of, number_of

Factors = Sequence[tuple[int, syntax.Node]]


def number(value: Number) -> syntax.Node:
    return number_of(value)


ZERO, ONE = syntax.Number(0, 0, 0), syntax.Number(0, 0, 1)


def is_zero(node: syntax.Node) -> bool:
    return isinstance(node, syntax.Zeros) or (isinstance(node, syntax.Number) and node.value == 0)


def opened(node: syntax.Node) -> tuple[Number, list[tuple[int, syntax.Node]], tuple[str, ...]]:
    """A term as a number, its other factors and the indices that it is summed over."""
    if isinstance(node, syntax.Neg):
        coef, factors, sums = opened(node.body)
        return -coef, factors, sums
    if isinstance(node, syntax.Number):
        return node.value, [], ()
    if not isinstance(node, syntax.ProductNode):
        return 1, [(1, node)], ()
    coef: Number = 1
    factors: list[tuple[int, syntax.Node]] = []
    sums = node.sums if isinstance(node, SummedTerm) else ()
    for exponent, factor in node.factors:
        inner, own, further = (1, [(1, factor)], ()) if stands_alone(factor) else opened(factor)
        if exponent < 0 and (further or inner == 0):
            inner, own, further = 1, [(1, factor)], ()
        elif exponent < 0 and len(own) > 1:  # 1/(a b) stays as it is, but for the number
            rest = product_of(own)
            own = [(1, rest)]
        if exponent < 0 and inner == 0:
            own = [(1, factor)]
            inner = 1
        coef = coef * inner if exponent > 0 else divided(coef, inner)
        factors += [(exponent * e, f) for e, f in own]
        sums += further
    return coef, factors, sums


def stands_alone(node: syntax.Node) -> bool:
    """Whether a factor stays in its brackets: a sum, and a summed product with nothing left to do in it."""
    if isinstance(node, SummedTerm) and node.sums:
        return not any(isinstance(part, (syntax.Derivative, syntax.Delta)) for part in syntax.within(node))
    return isinstance(node, syntax.SumNode)


def divided(a: Number, b: Number) -> Number:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    found = Fraction(a) / Fraction(b)
    return found.numerator if found.denominator == 1 else found


def product_of(factors: Factors) -> syntax.Node:
    return factors[0][1] if len(factors) == 1 and factors[0][0] > 0 else SummedTerm(0, 0, tuple(factors))


def times(factors: Factors, sums: Iterable[str] = ()) -> syntax.Node:
    """A product: nested ones are opened, numbers collected in front, ones that say nothing left out."""
    coef, parts, sums = opened(SummedTerm(0, 0, tuple(factors), tuple(sums)))
    if coef == 0 or any(is_zero(f) for e, f in parts if e > 0):
        return ZERO
    parts = _without_ones(parts, sums)
    parts = _without_own_inverses(parts)
    idle = [name for name in sums if not any(name in open_in(f) for _, f in parts)]
    if idle:
        parts = [*[(1, syntax.Size(0, 0, hint(name))) for name in idle], *parts]
        sums = tuple([name for name in sums if name not in idle])
    return signed_term(coef, sizes_first(parts), sums)


def sizes_first(parts: Factors) -> list[tuple[int, syntax.Node]]:
    """Sizes beside the number, those above the bar before those below."""
    sizes = sorted([f for f in parts if isinstance(f[1], syntax.Size)], key=lambda f: -f[0])
    return [*sizes, *[f for f in parts if not isinstance(f[1], syntax.Size)]] if sizes else list(parts)


def signed_term(coef: Number, parts: Factors, sums: tuple[str, ...]) -> syntax.Node:
    """``coef`` times factors, with its sign before all of it."""
    negative = not isinstance(coef, complex) and (coef < 0 or (coef == 0 and math.copysign(1, coef) < 0))
    size = -coef if negative else coef
    parts = _ones_together(list(parts))
    if isinstance(size, Fraction) and size.denominator == 1:
        size = size.numerator
    every = [*coefficient_of(size), *parts] if size != 1 else list(parts)
    if not every:
        made: syntax.Node = ONE
    else:
        if every[0][0] < 0:
            every = [(1, ONE), *every]
        made = SummedTerm(0, 0, tuple(every), sums) if len(every) > 1 or sums else every[0][1]
    return syntax.Neg(0, 0, made) if negative else made


def _without_ones(parts: list[tuple[int, syntax.Node]], sums: tuple[str, ...]) -> list[tuple[int, syntax.Node]]:
    """Ones along an index that other factors have are left out; a summed index needs two factors that have it."""
    if not any(isinstance(f, syntax.Ones) for _, f in parts):
        return parts
    kept: list[tuple[int, syntax.Node]] = []
    for at, (exponent, factor) in enumerate(parts):
        if not isinstance(factor, syntax.Ones):
            kept.append((exponent, factor))
            continue
        others = [f for _, f in kept] + [f for _, f in parts[at + 1 :]]
        needed = []
        for index in factor.indices:
            name = index.terms[0][1]
            having = [f for f in others if name in open_in(f)]
            twice = any(isinstance(f, syntax.TensorNode) and _count(f, name) > 1 for f in having)
            enough = 2 if name in sums and not twice else 1
            if len(having) < enough:
                needed.append(index)
        if needed:
            kept.append((exponent, replace(factor, indices=tuple(needed))))
    return _ones_together(kept)


def _ones_together(parts: list[tuple[int, syntax.Node]]) -> list[tuple[int, syntax.Node]]:
    """All one-tensors of a product are one."""
    every = [f for e, f in parts if isinstance(f, syntax.Ones) and e > 0]
    if len(every) < 2:
        return parts
    whole = replace(every[0], indices=tuple([index for f in every for index in f.indices]))
    return [(e, whole if f is every[0] else f) for e, f in parts if f is every[0] or f not in every]


def _count(node: syntax.TensorNode, name: str) -> int:
    return sum(name in names_of(i) for i in node.indices or ())


def _without_own_inverses(parts: list[tuple[int, syntax.Node]]) -> list[tuple[int, syntax.Node]]:
    """Sizes above and below a bar cancel."""
    sizes = [(e, f.name) for e, f in parts if isinstance(f, syntax.Size)]
    both = [name for e, name in sizes if e > 0 and (-1, name) in sizes]
    for name in both:
        for exponent in (1, -1):
            at = next(
                (
                    k
                    for k, (e, f) in enumerate(parts)
                    if e == exponent and isinstance(f, syntax.Size) and f.name == name
                ),
                None,
            )
            if at is not None:
                parts = [*parts[:at], *parts[at + 1 :]]
    return parts


def plus(terms: Iterable[tuple[int, syntax.Node]]) -> syntax.Node:
    """A sum: nested ones are opened, zeros left out, signs before terms."""
    found: list[tuple[int, syntax.Node]] = []
    for sign, node in terms:
        while isinstance(node, syntax.Neg):
            sign, node = -sign, node.body
        if isinstance(node, syntax.SumNode):
            found += [(sign * s, term) for s, term in node.terms]
        elif not is_zero(node):
            found.append((sign, node))
    found = [(-sign, term.body) if isinstance(term, syntax.Neg) else (sign, term) for sign, term in found]
    if not found:
        return ZERO
    if len(found) == 1:
        sign, node = found[0]
        return node if sign > 0 else syntax.Neg(0, 0, node)
    return syntax.SumNode(0, 0, tuple(found))


def minus(node: syntax.Node) -> syntax.Node:
    if is_zero(node):
        return node
    return node.body if isinstance(node, syntax.Neg) else syntax.Neg(0, 0, node)


def ones(names: Iterable[tuple[str, str]]) -> list[tuple[int, syntax.Node]]:
    """``1[i,j]`` as a factor, if there are any indices; each with its height."""
    indices = tuple([syntax.Index(0, 0, ((1, name),), plain=True, height=height) for name, height in names])
    return [(1, syntax.Ones(0, 0, indices))] if indices else []


def spliced(node: syntax.Node, values: dict[int, syntax.Node]) -> syntax.Node:
    """``rebuilt``, where a product that takes the place of a factor brings its own factors, without a bracket."""
    if not isinstance(node, SummedTerm) or not any(id(f) in values for e, f in node.factors if e > 0):
        parts = syntax.children(node)
        new = {id(a): b for a in parts if (b := values.get(id(a)) or spliced(a, values)) is not a}
        return rebuilt(node, new) if new else node
    factors: list[tuple[int, syntax.Node]] = []
    sums, sign = list(node.sums), 1
    for exponent, factor in node.factors:
        made = values.get(id(factor)) or spliced(factor, values)
        if exponent > 0 and id(factor) in values and isinstance(made, syntax.Neg):
            made, sign = made.body, -sign
        if exponent > 0 and id(factor) in values and isinstance(made, SummedTerm):
            factors += made.factors
            sums += made.sums
        else:
            factors.append((exponent, made))
    found = times(factors, sums)
    return found if sign > 0 else minus(found)


def rebuilt(node: syntax.Node, values: dict[int, syntax.Node]) -> syntax.Node:
    """A tree with other nodes in the place of some, given by ``id``; what is around these is put together anew."""
    if id(node) in values:
        return values[id(node)]
    parts = syntax.children(node)
    new = [rebuilt(part, values) for part in parts]
    if all(a is b for a, b in zip(parts, new, strict=True)):
        return node
    if isinstance(node, SummedTerm):
        return times([(e, f) for (e, _), f in zip(node.factors, new, strict=True)], node.sums)
    if isinstance(node, syntax.SumNode):
        return plus([(s, f) for (s, _), f in zip(node.terms, new, strict=True)])
    return minus(new[0]) if isinstance(node, syntax.Neg) else syntax.with_children(node, new)


def everywhere(node: syntax.Node, change: Callable[[syntax.Node], syntax.Node]) -> syntax.Node:
    """A tree changed from the leaves on, but for what is still to be differentiated."""
    if isinstance(node, syntax.Derivative):
        return node
    parts = syntax.children(node)
    new = {id(a): b for a in parts if (b := everywhere(a, change)) is not a}
    return change(rebuilt(node, new) if new else node)
