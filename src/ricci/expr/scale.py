"""Numbers in expressions: constants, and the coefficients that only sums carry.

``2 x`` is a sum of one term with the coefficient 2. A product never holds a number; it hands it to the sum around it.
"""

from __future__ import annotations

from typing import Any

from ricci.expr.dims import Dim, symbol
from ricci.expr.node import Constant, Data, Expr, Structure, Sum, make
from ricci.expr.numbers import Number, content, divide, number
from ricci.expr.structure import ZERO, zero


def constant(value: Any) -> Expr:
    """A number, a size, the name of a number (``"pi"``), or an array wrapped in :class:`Data`."""
    if isinstance(value, Data):
        return make(Constant, (), tuple(value.values.shape), value)
    if isinstance(value, Dim):
        return _size(value)
    return make(Constant, (), (), value if isinstance(value, str) else number(value))


def _size(value: Dim) -> Expr:
    """A size as an expression: only its atoms are constants, so ``|i| |j|`` is one object however it came about."""
    from ricci.expr.product import product
    from ricci.expr.sums import add

    terms = []
    for monomial, coef in value.terms:
        atoms = [(make(Constant, (), (), symbol(*atom)), ()) for atom in monomial]
        terms.append((coef, atoms[0][0] if len(atoms) == 1 else product(atoms, ())))
    return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 else add(terms)


def numeric(e: Expr) -> Number | None:
    """The number that ``e`` is, if it is one."""
    if type(e) is Constant and not isinstance(e.value, (Dim, str, Data)):
        return e.value
    return None


def scale(coef: Number, e: Expr) -> Expr:
    """``coef * e``."""
    if coef == 1:
        return e
    if coef == 0:
        return zero(e.shape)
    if isinstance(e, Sum):
        coefs = tuple([number(coef * c) for c in e.coefs])
        if len(coefs) == 1 and coefs[0] == 1:
            return e.args[0]
        return make(Sum, e.args, e.shape, coefs)
    if isinstance(e, Constant):
        value = numeric(e)
        if value is not None:
            return constant(coef * value)
    if isinstance(e, Structure) and e.relation == ZERO:
        return e
    return make(Sum, (e,), e.shape, (number(coef),))


def primitive(e: Sum) -> tuple[Number, Expr]:
    """``c`` and ``p`` with ``e = c * p``, where ``p`` does not depend on how ``e`` was scaled."""
    if len(e.args) == 1:
        return e.coefs[0], e.args[0]
    c = content(e.coefs)
    if c == 1:
        return c, e
    return c, make(Sum, e.args, e.shape, tuple([divide(coef, c) for coef in e.coefs]))
