"""The sides that differ from one by a small change: what somebody may have meant who wrote it.

A change is made at one place of the tree, or at two where a dummy index is told from another. Changes come in order of
their size: signs, numbers and the order of indices first, factors and terms that are missing or too much last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import pi
from types import MappingProxyType

from ricci.functions.table import IN_TEXT
from ricci.notation import syntax
from ricci.notation.syntax import Node
from ricci.review.changes import Edit, Place, fraction, is_term, negative, one, places
from ricci.review.index_edits import (
    dummies_told_apart,
    exchanged,
    freed,
    one_tensors,
    orders,
    other_indices,
    other_tensors,
    reordered,
)
from ricci.show.text import SUM, render

STRUCTURES = (syntax.Ones, syntax.Zeros, syntax.Delta, syntax.Epsilon)  # nobody divides by these
NO_TENSORS: Mapping[str, int] = MappingProxyType({})
EXPONENTS = ((2, 1), (3, 1), (1, 2), (-1, 1))
MOST_CALLS = 8
KIN = (  # functions that are taken for one another
    ("sin", "cos"), ("sinh", "cosh"), ("exp", "log"), ("tan", "atan"), ("sigmoid", "tanh", "softplus", "relu", "silu"),
    ("log", "log1p"), ("exp", "expm1"), ("softmax", "log_softmax"), ("sqrt", "abs", "sign"), ("det", "logdet"),
    ("max", "min"), ("sum", "mean", "prod"), ("maximum", "minimum"), ("asin", "acos"), ("erf", "erfc"),
)  # fmt: skip


def edits(
    tree: Node,
    names: Sequence[str],
    factors: Iterable[Node],
    free: Sequence[str],
    tensors: Mapping[str, int] = NO_TENSORS,
) -> Iterator[Edit]:
    """All changes, the smallest ones first; ``factors`` are those that may be missing, ``names`` those of indices,
    ``tensors`` the orders of what may have been confused."""
    where, factors = places(tree), list(factors)
    for make in (signs, orders, powers, numbers, functions, told_apart):
        for place in where:
            yield from make(place)
    for place in where:
        yield from other_indices(place, names)
    for make in (exchanged, reordered, one_tensors):
        for place in where:
            yield from make(place)
    for place in where:
        yield from other_tensors(place, tensors)
    for place in where:
        yield from freed(place, free)
    yield from dummies_told_apart(tree, free)
    for place in where:
        yield from factors_too_much(place)
    for place in where:
        yield from other_calls(place, factors)
    for place in where:
        yield from factors_missing(place, factors)
    for place in where:
        yield from terms_too_much(place)


def signs(place: Place) -> Iterator[Edit]:
    node, around = place.node, place.around
    if isinstance(node, syntax.SumNode):
        for k, (sign, term) in enumerate(node.terms):
            new = replace(node, terms=(*node.terms[:k], (-sign, term), *node.terms[k + 1 :]))
            yield Edit("sign", place, new, place.tree(new), term)
        if len(node.terms) == 2:
            turned = replace(node, terms=tuple([(-sign, term) for sign, term in node.terms]))
            yield Edit("turned", place, turned, place.tree(turned))
    elif isinstance(node, syntax.Neg):
        yield Edit("sign", place, node.body, place.tree(node.body))
    elif around is None or isinstance(around.node, (syntax.CallNode, syntax.Derivative)):
        new = negative(node)
        yield Edit("sign", place, new, place.tree(new))


def numbers(place: Place) -> Iterator[Edit]:
    node = place.node
    if not isinstance(node, syntax.Number):
        return
    if isinstance(node.value, float):
        if abs(node.value - pi) < 0.01:
            new: Node = syntax.Pi(node.start, node.end)
            yield Edit("rounded", place, new, place.tree(new))
        near = Fraction(node.value).limit_denominator(12)
        if near and near != Fraction(node.value) and abs(near - Fraction(node.value)) < abs(near) / 20:
            parts = fraction(near, node)
            new = syntax.ProductNode(node.start, node.end, tuple(parts)) if len(parts) > 1 else parts[0][1]
            yield Edit("rounded", place, new, place.tree(new))
        return
    exponent = any(isinstance(n, syntax.Power) for n in place.above[:2]) and _in_exponent(place)
    near = dict.fromkeys((node.value + 1, node.value - 1, 2 * node.value, 1, 2, 3, 4))
    compared = isinstance(place.around and place.around.node, syntax.Compare)
    for value in [*([0] if compared else []), *near]:
        if value <= exponent - compared or value == node.value:
            continue
        new = replace(node, value=value)
        kind = "exponent" if exponent else "number"
        yield Edit(kind, place, new, place.tree(new))


def _in_exponent(place: Place) -> bool:
    while place.around is not None and not isinstance(place.around.node, syntax.Power):
        place = place.around
    return place.around is not None and place.number == 1


def powers(place: Place) -> Iterator[Edit]:
    node, around = place.node, place.around
    if isinstance(node, syntax.Power):
        new = node.base
        yield Edit("exponent", place, new, place.tree(new))
        base = node.base
        terms = base.terms if isinstance(base, syntax.SumNode) else ()
        for k, (sign, term) in enumerate(terms):
            raised = (sign, replace(node, base=term))
            new = syntax.SumNode(base.start, base.end, (*terms[:k], raised, *terms[k + 1 :]))
            yield Edit("exponent", place, new, place.tree(new))
        turned = replace(node, exponent=negative(node.exponent))
        yield Edit("exponent", place, turned, place.tree(turned))
    elif isinstance(node, (syntax.TensorNode, syntax.CallNode, syntax.SumNode)) and not (
        isinstance(around and around.node, (syntax.Power, syntax.SumNode)) and isinstance(node, syntax.SumNode)
    ):
        for top, bottom in EXPONENTS:
            number: Node = syntax.Number(node.start, node.end, abs(top))
            if bottom > 1:
                number = syntax.ProductNode(
                    node.start, node.end, ((1, number), (-1, syntax.Number(node.start, node.end, bottom)))
                )
            new = syntax.Power(node.start, node.end, node, number if top > 0 else negative(number))
            yield Edit("exponent", place, new, place.tree(new))
    if isinstance(node, syntax.ProductNode):
        for k, (exponent, factor) in enumerate(node.factors):
            if k or not isinstance(factor, syntax.Number):
                parts = list(node.factors)
                parts[k] = (-exponent, factor)
                if all(e < 0 for e, _ in parts[:1]):
                    parts.insert(0, (1, one(node)))
                new = replace(node, factors=tuple(parts))
                yield Edit("inverted", place, new, place.tree(new), factor)
        yield from turned_over(place, node)


def turned_over(place: Place, node: syntax.ProductNode) -> Iterator[Edit]:
    """What stands below the bar above it, and the other way round; numbers stay."""
    numbers = [pair for pair in node.factors if isinstance(pair[1], syntax.Number)]
    others = [(-e, f) for e, f in node.factors if not isinstance(f, syntax.Number)]
    if {e for e, _ in others} == {1, -1}:
        above = [pair for pair in (*numbers, *others) if pair[0] > 0]
        new = replace(node, factors=(*above, *[pair for pair in (*numbers, *others) if pair[0] < 0]))
        yield Edit("turned over", place, new, place.tree(new))


def functions(place: Place) -> Iterator[Edit]:
    """A function of the same family, or none."""
    node = place.node
    if not isinstance(node, syntax.CallNode):
        return
    kin = [name for family in KIN if node.name in family for name in family if name != node.name]
    for marks in derivatives_of(node):
        new = replace(node, places=marks)
        yield Edit("function", place, new, place.tree(new))
    for name in dict.fromkeys(kin):
        new = replace(node, name=name)
        yield Edit("function", place, new, place.tree(new))
        if (node.name, name) in (("sin", "cos"), ("cos", "sin")):
            yield Edit("function", place, new, place.tree(negative(new)))
    if len(node.args) == 1 and node.axes is None and node.result is None:
        yield Edit("function", place, node.args[0], place.tree(node.args[0]))


def other_calls(place: Place, factors: Sequence[Node]) -> Iterator[Edit]:
    """A function of what stands in one above, or a function that stands there in its place."""
    node = place.node
    if not isinstance(node, syntax.CallNode):
        return
    above = [f for f in factors if isinstance(f, syntax.CallNode)]
    for call in above[:MOST_CALLS]:
        if len(call.args) == len(node.args) and render(call, SUM) != render(node, SUM) and call.axes == node.axes:
            new = replace(node, args=call.args)
            yield Edit("argument", place, new, place.tree(new))
    for call in above[:MOST_CALLS]:
        if call.name != node.name:
            yield Edit("function", place, call, place.tree(call))


def derivatives_of(node: syntax.CallNode) -> list[tuple[int, ...]]:
    """For an unknown function, the arguments by which it may be derived, once more or once less."""
    if node.name in IN_TEXT:
        return []
    more = [tuple(sorted((*node.places, k + 1))) for k in range(len(node.args))]
    other = [tuple(sorted((*node.places[:k], n + 1, *node.places[k + 1 :]))) for k in range(len(node.places))
             for n in range(len(node.args)) if n + 1 != node.places[k]]  # fmt: skip
    return [*other, *more, *[node.places[:k] + node.places[k + 1 :] for k in range(len(node.places))]]


def told_apart(place: Place) -> Iterator[Edit]:
    """What was done to each term, or to each factor, though it is not so of the whole."""
    node = place.node
    if isinstance(node, syntax.SumNode):
        inner = [term for _, term in node.terms]
        calls = [t for t in inner if isinstance(t, syntax.CallNode) and len(t.args) == 1]
        if len(calls) == len(inner) and len({t.name for t in calls}) == 1:
            calls = over_axes(calls)
            body = replace(node, terms=tuple([(s, t.args[0]) for (s, _), t in zip(node.terms, calls, strict=True)]))
            new = replace(calls[0], args=(body,), start=node.start, end=node.end)
            yield Edit("split", place, new, place.tree(new))
        quotients = [t for t in inner if isinstance(t, syntax.ProductNode) and [e for e, _ in t.factors] == [1, -1]]
        if len(quotients) == len(inner) and len({render(t.factors[0][1], SUM) for t in quotients}) == 1:
            below = [t.factors[1][1] for t in quotients]
            body = replace(node, terms=tuple([(s, t) for (s, _), t in zip(node.terms, below, strict=True)]))
            new = replace(quotients[0], factors=(quotients[0].factors[0], (-1, body)), start=node.start, end=node.end)
            yield Edit("split", place, new, place.tree(new))
        bases = [t for t in inner if isinstance(t, syntax.Power)]
        if len(bases) == len(inner) and len({render(t.exponent, SUM) for t in bases}) == 1:
            body = replace(node, terms=tuple([(s, t.base) for (s, _), t in zip(node.terms, bases, strict=True)]))
            new = replace(bases[0], base=body, start=node.start, end=node.end)
            yield Edit("split", place, new, place.tree(new))
    if isinstance(node, syntax.ProductNode):
        yield from _powers_together(place, node)
    if isinstance(node, syntax.CallNode) and len(node.args) == 1 and isinstance(node.args[0], syntax.SumNode):
        body = node.args[0]
        terms = tuple([(sign, replace(node, args=(term,))) for sign, term in body.terms])
        new = replace(body, terms=terms)
        yield Edit("joined", place, new, place.tree(new))
        factors = tuple([(sign, term) for sign, term in body.terms])
        if factors[0][0] > 0:
            product = replace(node, args=(syntax.ProductNode(body.start, body.end, factors),))
            yield Edit("joined", place, product, place.tree(product))


def over_axes(calls: list[syntax.CallNode]) -> list[syntax.CallNode]:
    """Calls whose arguments may stand in one bracket: ``det(A)`` is ``det[i,j](A[i,j])``; all have the same axes."""
    made, first = [], calls[0]
    names = [index.terms[0][1] for index in first.axes or first.result or ()] or ["i", "j"]
    for call in calls:
        whole = isinstance(call.args[0], syntax.TensorNode) and call.args[0].indices is None
        axes = tuple([syntax.Index(call.start, call.start, ((1, name),), plain=True) for name in names])
        if call.axes is not None and len(call.axes) == len(names):
            own = dict(zip([index.terms[0][1] for index in call.axes], names, strict=True))
            call = syntax.renamed(call, own)  # type: ignore[assignment]
        elif whole and IN_TEXT[call.name].kind == "matrix" and len(names) == 2:
            call = replace(call, args=(replace(call.args[0], indices=axes),), axes=axes, result=None)  # type: ignore
        made.append(call)
    return made


def _powers_together(place: Place, node: syntax.ProductNode) -> Iterator[Edit]:
    """``(a[k] b[k])**2`` for ``a[k]**2 b[k]**2``."""
    powers: dict[str, list[int]] = {}
    for k, (exponent, factor) in enumerate(node.factors):
        if exponent > 0 and isinstance(factor, syntax.Power):
            powers.setdefault(render(factor.exponent, SUM), []).append(k)
    for these in powers.values():
        if len(these) > 1:
            first = node.factors[these[0]][1]
            assert isinstance(first, syntax.Power)
            bases = tuple([(1, node.factors[k][1].base) for k in these])  # pyright: ignore[reportAttributeAccessIssue]
            power = replace(first, base=syntax.ProductNode(first.start, first.end, bases))
            rest = [pair for k, pair in enumerate(node.factors) if k not in these]
            new = replace(node, factors=((1, power), *rest)) if rest else power
            yield Edit("split", place, new, place.tree(new))


def factors_too_much(place: Place) -> Iterator[Edit]:
    node = place.node
    if not isinstance(node, syntax.ProductNode):
        return
    for k, (_, factor) in enumerate(node.factors):
        rest = (*node.factors[:k], *node.factors[k + 1 :])
        if rest[0][0] < 0:
            rest = ((1, one(node)), *rest)
        new = rest[0][1] if len(rest) == 1 else replace(node, factors=rest)
        yield Edit("factor too much", place, new, place.tree(new), factor)


def factors_missing(place: Place, factors: Sequence[Node]) -> Iterator[Edit]:
    node = place.node
    if not is_term(place) or isinstance(node, syntax.Neg):
        return
    own = node.factors if isinstance(node, syntax.ProductNode) else ((1, node),)
    if isinstance(node, syntax.Number) and node.value == 1:
        own = ()
    for factor in factors:
        for exponent in (1,) if isinstance(factor, STRUCTURES) else (1, -1):
            if not own:
                extra = factor if exponent > 0 else _divided(node, factor)
                yield Edit("factor missing", place, extra, place.tree(extra), extra=extra)
                continue
            new = syntax.ProductNode(node.start, node.end, (*own, (exponent, factor)))
            if isinstance(factor, syntax.Number) and exponent > 0:
                new = replace(new, factors=((1, factor), *own))
            extra = factor if exponent > 0 else _divided(node, factor)
            yield Edit("factor missing", place, new, place.tree(new), extra=extra)


def _divided(at: Node, factor: Node) -> Node:
    return syntax.ProductNode(at.start, at.end, ((1, one(at)), (-1, factor)))


def terms_too_much(place: Place) -> Iterator[Edit]:
    node = place.node
    if not isinstance(node, syntax.SumNode):
        return
    for k, (_, term) in enumerate(node.terms):
        rest = (*node.terms[:k], *node.terms[k + 1 :])
        alone = rest[0][1] if rest[0][0] > 0 else negative(rest[0][1])
        new = alone if len(rest) == 1 else replace(node, terms=rest)
        yield Edit("term too much", place, new, place.tree(new), term)


def terms_missing(place: Place, terms: Sequence[Node]) -> Iterator[Edit]:
    node, around = place.node, place.around
    if isinstance(around and around.node, syntax.SumNode) or (
        isinstance(around and around.node, syntax.Power) and place.number
    ):
        return  # the sum around has its own place
    own = node.terms if isinstance(node, syntax.SumNode) else ((1, node),)
    for term in terms:
        for sign in (1, -1):
            new = syntax.SumNode(node.start, node.end, (*own, (sign, term)))
            yield Edit("term missing", place, new, place.tree(new), extra=term if sign > 0 else negative(term))
