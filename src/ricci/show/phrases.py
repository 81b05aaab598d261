"""Small trees of the notation, made from names and numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Sequence
from fractions import Fraction
from itertools import chain, count

from ricci.expr import Expr, Number, Structure, Variable
from ricci.expr.build.scale import whole_power
from ricci.notation import syntax

Names = tuple[str, ...]


def is_triangle(e: Structure) -> bool:
    return set(e.relation[1]) == {1, -1} and e.relation[2] == 0 and e.shape[0] == e.shape[1]


def index_of(name: str) -> syntax.Index:
    return syntax.Index(0, 0, ((1, name),), plain=True)


def indices_of(names: Names) -> syntax.Indices:
    return tuple([index_of(name) for name in names])


def tensor_of(name: str, names: Names) -> syntax.TensorNode:
    return syntax.TensorNode(0, 0, name, indices_of(names) or None)


def delta_of(a: str, b: str) -> syntax.Delta:
    return syntax.Delta(0, 0, indices_of((a, b)))


def unused(names: Container[object]) -> str:
    """A name for a result that none of these is."""
    return next(n for n in chain("yzu", map("y{}".format, count(1))) if n not in names)


def open_names(index: syntax.Index) -> list[str]:
    names = [name for _, name in index.terms]
    return (
        names + [n for i in (index.tensor.indices or ()) for n in open_names(i)] if index.tensor is not None else names
    )


def number_of(value: Number) -> syntax.Node:
    """A number; the infinities are ``1/0`` and ``-1/0``, and what is no number is ``0/0``."""
    if value != value or value == math.inf:
        above = syntax.Number(0, 0, 1 if value == value else 0)
        return syntax.ProductNode(0, 0, ((1, above), (-1, syntax.Number(0, 0, 0))))
    if value < 0:
        return syntax.Neg(0, 0, number_of(-value))
    if isinstance(value, Fraction):
        return product_of([(1, number_of(value.numerator)), (-1, number_of(value.denominator))])
    return syntax.Number(0, 0, value)


def conjugate_of(node: syntax.Node) -> syntax.CallNode:
    return syntax.CallNode(0, 0, "conj", (node,), None, None)


def coefficient_of(value: Number, unit: bool = False) -> list[tuple[int, syntax.Node]]:
    """A number before other factors, perhaps with the imaginary unit; 1 is left out."""
    if unit:
        if not math.isfinite(value):
            return [*coefficient_of(value), (1, syntax.Imaginary(0, 0))]
        if isinstance(value, Fraction):
            return [(1, syntax.Imaginary(0, 0, value.numerator)), (-1, syntax.Number(0, 0, value.denominator))]
        return [(1, syntax.Imaginary(0, 0, value))]
    if value == 1:
        return []
    if not math.isfinite(value):
        return [(1, number_of(value))]
    if isinstance(value, Fraction):
        return [(1, syntax.Number(0, 0, value.numerator)), (-1, syntax.Number(0, 0, value.denominator))]
    return [(1, syntax.Number(0, 0, value))]


def product_of(factors: list[tuple[int, syntax.Node]]) -> syntax.Node:
    if not factors:
        return syntax.Number(0, 0, 1)
    if factors[0][0] < 0:
        factors = [(1, syntax.Number(0, 0, 1)), *factors]
    return factors[0][1] if len(factors) == 1 else syntax.ProductNode(0, 0, tuple(factors))


def sum_of(terms: list[tuple[int, syntax.Node]]) -> syntax.Node:
    if len(terms) == 1:
        return terms[0][1] if terms[0][0] > 0 else syntax.Neg(0, 0, terms[0][1])
    positive = next((t for t in terms if t[0] > 0), None)
    if terms[0][0] < 0 and positive is not None:
        terms = [positive, *[t for t in terms if t is not positive]]
    return syntax.SumNode(0, 0, tuple(terms))


def signed(terms: Sequence[tuple[int, str]]) -> str:
    """Written terms with their signs between them: ``-a + b - c``."""
    (sign, text), *rest = terms
    return ("" if sign > 0 else "-") + text + "".join((" + " if s > 0 else " - ") + term for s, term in rest)


def squares_apart(factors: list[tuple[Expr, tuple]], kept: Container[object]) -> list[tuple[Expr, tuple]]:
    """The square of a tensor with a summed index that nothing else has is two factors: ``x[i] x[i]``."""
    uses = Counter(x for _, labels in factors for x in dict.fromkeys(labels))
    written: list[tuple[Expr, tuple]] = []
    for a, labels in factors:
        base, exponent = whole_power(a)
        alone = any(uses[x] == 1 and x not in kept for x in labels)
        twice = isinstance(base, Variable) and exponent == 2 and alone
        written += [(base, labels), (base, labels)] if twice else [(a, labels)]
    return written
