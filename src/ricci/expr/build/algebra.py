"""The operators of expressions, entry by entry: ``+ - * / **`` on operands of one shape, or scalars.

Division is multiplication by a power, so ``power`` is the one elementwise function that the core itself needs. Its
local rules hold for all real numbers: ``x**0 = 1``, ``x**1 = x``; for whole exponents also ``(c x)**n = c**n x**n``
where the numbers may move, ``1/(x y) = 1/x 1/y`` over factors that nothing sums, and ``(x**m)**n = x**(m n)`` where
``m`` is whole or ``m n`` is not. Other powers of products stay, since their factors may be of very different sizes:
``(x/s)**2`` is finite where ``x**2`` is not.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ricci.expr.build.add import add
from ricci.expr.build.apply import elementwise
from ricci.expr.build.product import broadcast, product
from ricci.expr.build.scale import numeric, primitive, scale
from ricci.expr.dims import Dim, symbol
from ricci.expr.nodes import (
    IMAGINARY,
    Constant,
    Data,
    Elementwise,
    Expr,
    Product,
    Shape,
    Structure,
    Sum,
    constructors,
    make,
)
from ricci.expr.numbers import integer_power, loose, moves, number
from ricci.expr.op import OPS, Op
from ricci.expr.structures import is_one, one


def constant(value: Any) -> Expr:
    """A number, a size, the name of a number (``"pi"``), or an array wrapped in :class:`Data`."""
    if isinstance(value, Data):
        return make(Constant, (), tuple(value.values.shape), value)
    if isinstance(value, Dim):
        return _size(value)
    if isinstance(value, complex):
        return add([(number(value.real), one(())), (number(value.imag), make(Constant, (), (), IMAGINARY))])
    return make(Constant, (), (), value if isinstance(value, str) else number(value))


def _size(value: Dim) -> Expr:
    """A size as an expression: only its atoms are constants, so ``|i| |j|`` is one object however it came about."""
    terms = []
    for monomial, coef in value.terms:
        atoms = [(make(Constant, (), (), symbol(*atom)), ()) for atom in monomial]
        terms.append((coef, atoms[0][0] if len(atoms) == 1 else product(atoms, ())))
    return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 else add(terms)


def as_expr(value: object) -> Expr:
    return value if isinstance(value, Expr) else constant(value)


def plus(a: object, b: object, sign: int = 1) -> Expr:
    return add([(1, as_expr(a)), (sign, as_expr(b))])


def divide(a: object, b: object) -> Expr:
    return multiply(a, reciprocal(as_expr(b)))


def multiply(a: object, b: object) -> Expr:
    """Entry by entry; a scalar broadcasts."""
    a, b = as_expr(a), as_expr(b)
    shape = a.shape or b.shape
    axes = tuple(range(len(shape)))
    return product([(a, axes if a.shape else ()), (b, axes if b.shape else ())], axes, dict(enumerate(shape)))


def power(base: object, exponent: object) -> Expr:
    return elementwise(POWER, as_expr(base), as_expr(exponent))


def reciprocal(e: Expr) -> Expr:
    return power(e, -1)


def _power_rule(base: Expr, exponent: Expr) -> Expr | None:
    n, b = numeric(exponent), numeric(base)
    if n == 0 or is_one(base):
        return one(base.shape or exponent.shape)
    if n == 1:
        return base
    if not isinstance(n, int):
        return None
    if b is not None:
        folded = integer_power(b, n)
        return None if folded is None else constant(folded)
    if type(base) is Constant and base.value == IMAGINARY:
        return (one(()), base, constant(-1), scale(-1, base))[n % 4]
    if isinstance(base, Sum):
        c, rest = primitive(base)
        outside = None if c == 1 else integer_power(c, n)
        if outside is not None and not moves(outside):
            outside, rest = (None, base) if c > 0 else ((-1) ** n, scale(-1, base))
        return None if outside is None else scale(outside, power(rest, n))
    if isinstance(base, Elementwise) and base.op is POWER:
        inner = numeric(base.args[1])
        # for a fraction that stays one, both sides need x >= 0
        merges = isinstance(inner, int) or (isinstance(inner, Fraction) and (inner * n).denominator != 1)
        return power(base.args[0], inner * n) if inner is not None and merges else None
    if isinstance(base, Elementwise) and base.op.name == "abs" and base.args[0].complex and n % 2 == 0:
        return power(OPS["abs2"](base.args[0]), n // 2)
    if isinstance(base, Product) and not base.sums:
        units = [a for a in base.args if type(a) is Constant and a.value == IMAGINARY]
        if units:
            rest = [(a, labels) for a, labels in base.factors() if a not in units]
            axes, sizes = range(len(base.shape)), dict(enumerate(base.shape))
            return multiply(power(units[0], n), power(product(rest, axes, sizes), n))
        return _power_of_product(base, n)
    if isinstance(base, Structure) and n > 0:
        return base
    return None


def _power_of_product(base: Product, n: int) -> Expr | None:
    structures = [(a, labels) for a, labels in base.factors() if isinstance(a, Structure)]
    if n < 0 and structures:
        return None  # 0**n is not 0 then
    if len(base.args) == 1 and len(set(base.labels[0])) < len(base.labels[0]):
        return None  # a diagonal: what stands beside it is not looked at
    rest = [(a, labels) for a, labels in base.factors() if not isinstance(a, Structure)]
    if len(rest) > 1 and n != -1 and not loose():
        if not structures:
            return None
        axes = tuple(dict.fromkeys(label for _, labels in rest for label in labels))
        powers = [(power(product(rest, axes), n), axes)]
    else:
        powers = [_power_of_factor(a, labels, n) for a, labels in rest]
    return product([*structures, *powers], base.out, dict(zip(base.out, base.shape, strict=True)))


def _power_of_factor(a: Expr, labels: tuple[int, ...], n: int) -> tuple[Expr, tuple[int, ...]]:
    axes = tuple(dict.fromkeys(labels))
    return power(a if axes == labels else product([(a, labels)], axes), n), axes


def _pow_value(x: float, n: float) -> float:
    try:
        return math.pow(x, n)
    except (ValueError, OverflowError):
        if x < 0 and n % 1:
            return math.nan
        return math.copysign(math.inf, x) if n % 2 == 1 else math.inf


def _by_base(x: Expr, n: Expr, _y: Expr) -> Expr:
    if _is_fixed(n):  # as whole numbers of programs are: where they are 0, the derivative is 0, also at x = 0
        return n * power(x, n - 1 + elementwise(OPS["equal"], n, constant(0)))
    return n * power(x, n - 1)


def _is_fixed(n: Expr) -> bool:
    """Whether an exponent is made of what derivatives take as a constant."""
    waiting, seen = [n], {n}
    while waiting:
        node = waiting.pop()
        if isinstance(node, Elementwise) and node.op is OPS["stop_gradient"]:
            return True
        if isinstance(node, (Sum, Product)):
            waiting += [a for a in node.args if a not in seen]
            seen.update(node.args)
    return False


def _by_exponent(x: Expr, _n: Expr, y: Expr) -> Expr:
    at_zero, log = elementwise(OPS["equal"], x, constant(0)), elementwise(OPS["log"], x)
    return elementwise(OPS["where"], at_zero, constant(0), y * log)


POWER = Op(
    "power",
    2,
    _pow_value,
    (_by_base, _by_exponent),
    maker=lambda op, base, exponent: power(base, exponent),
    help="a ** b",
    operands="a, b",
    sign="**",
    rewrite=_power_rule,
    grows=True,
    tame=((0.1, 8), (-3, 3)),
    torch="pow",
    numba="power",
    traced=("np.float_power", "lax.pow"),
    complex="kept",
)
HALF = Fraction(1, 2)


def expand(e: Expr, shape: Shape) -> Expr:
    """A scalar spread over ``shape``; anything else as it is."""
    return broadcast(e, (), shape) if shape and not e.shape else e


constructors.plus, constructors.multiply, constructors.divide, constructors.power = plus, multiply, divide, power
constructors.constant = constant
