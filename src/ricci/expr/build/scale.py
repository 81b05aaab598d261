"""Numbers in expressions: those that are constants, exponents, and the coefficients that only sums carry.

``2 x`` is a sum of one term with the coefficient 2. A product holds no number; it hands it to the sum around it. One
that may not move (``numbers.py``) stays with its operand: ``(1e-6 A[i,j]) x[j]`` is a product with a sum of one term.
"""

from __future__ import annotations

import math

from ricci.expr.dims import Dim
from ricci.expr.nodes import Constant, Data, Elementwise, Expr, Structure, Sum, make
from ricci.expr.numbers import Number, content, divide, exact_factor, joins, loose, moves, number, times
from ricci.expr.structures import ZERO, zero

LONG = 4  # terms of a sum that is not multiplied out, but for the sake of like terms


def numeric(e: Expr) -> Number | None:
    """The number that ``e`` is, if it is one."""
    if type(e) is Constant and not isinstance(e.value, (Dim, str, Data)):
        return e.value
    return None


def power_of(e: Expr) -> tuple[Expr, Number]:
    """``b`` and ``n`` with ``e = b**n``, where ``n`` is a number; 1 if ``e`` is no power."""
    if type(e) is Elementwise and e.op.name == "power":
        n = numeric(e.args[1])
        if n is not None:
            return e.args[0], n
    return e, 1


def whole_power(e: Expr) -> tuple[Expr, int]:
    """As :func:`power_of`, where ``n`` is a whole number; other powers are no powers here."""
    base, n = power_of(e)
    return (base, n) if type(n) is int else (e, 1)


def scale(coef: Number, e: Expr) -> Expr:
    """``coef * e``."""
    if coef == 1:
        return e
    if coef == 0 and math.isfinite(numeric(e) or 0):
        return zero(e.shape)
    if isinstance(e, Sum):
        if not (joins(coef, e.coefs[0]) if len(e.coefs) == 1 else spreads(coef, e.coefs)):
            return make(Sum, (e,), e.shape, (number(coef),))
        coefs = tuple([number(times(coef, c)) for c in e.coefs])
        return e.args[0] if coefs == (1,) else make(Sum, e.args, e.shape, coefs)
    if isinstance(e, Constant):
        value = numeric(e)
        if value is not None:
            return make(Constant, (), (), number(coef * value))
    if isinstance(e, Structure) and e.relation == ZERO:
        return e
    return make(Sum, (e,), e.shape, (number(coef),))


def spreads(coef: Number, coefs: tuple[Number, ...]) -> bool:
    """Whether ``coef`` may multiply each term of a sum: that rounds no more than multiplying the sum does."""
    if abs(coef) == 1 or loose():
        return True
    exact = exact_factor(coef) or all(exact_factor(coef * c) for c in coefs)
    return exact and moves(coef) and len(coefs) < LONG


def primitive(e: Sum) -> tuple[Number, Expr]:
    """``c`` and ``p`` with ``e = c * p``, where ``c`` may move, and ``p`` does not depend on how ``e`` was scaled."""
    if loose():
        return _primitive(e)
    try:
        return (1, e) if e.taken is None else e.taken
    except AttributeError:
        found = _primitive(e)
        e.taken = None if found[1] is e else found  # a node that led to itself would not be freed
        return found


def _primitive(e: Sum) -> tuple[Number, Expr]:
    if len(e.args) == 1:
        c = e.coefs[0]
        if moves(c):
            return c, e.args[0]
        return (1, e) if c > 0 else (-1, make(Sum, e.args, e.shape, (-c,)))
    c = content(e.coefs)
    if not moves(c):
        c = 1 if c > 0 else -1
    return (c, e) if c == 1 else (c, make(Sum, e.args, e.shape, tuple([divide(coef, c) for coef in e.coefs])))
