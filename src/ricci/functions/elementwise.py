r"""The table of elementwise functions: one row each, which builds its node when it is called.

A row holds all that is known of a function; ``expr/op.py`` says what that is. A partial derivative is a function of the
operands and the result, ``lambda x, y: …``, and gives an expression of the result's shape, or a scalar that stands for
it; ``None`` means piecewise constant, a text says why there is none. LaTeX is a template for ``str.format``. Identities
are those that hold for all real numbers and keep NaN. To add a function is to write its row: with a definition ``by``
other rows, or with libraries that have it, it can be parsed, printed, differentiated, compiled and traced.

Derivatives are written so that they neither overflow nor cancel: through the result where that is exact
(``tanh' = 1 - y**2``), through saturating functions (``softplus' = sigmoid``), and never as a product with a factor
that may be infinite where the other vanishes (``elu' = exp(minimum(x, 0))``). At kinks: ``abs'(0) = relu'(0) = 0``,
``leaky_relu'(0) = 0.01``; where ``maximum`` and ``minimum`` tie, each operand gets one half.

Square roots, quotients and the like stand in no nodes: they are powers and products, which the core has. Activations
and special functions are in ``activations.py``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from ricci.expr import HALF, Constant, Expr, Op, Sum, constant, numeric
from ricci.expr import multiply as times
from ricci.expr import power as power
from ricci.expr.build.algebra import divide as over
from ricci.expr.build.algebra import plus
from ricci.expr.build.scale import primitive, scale
from ricci.functions import complexes, special
from ricci.functions.rows import ANY, LARGE, POSITIVE, called, folded, idempotent, known, row, rules, short
from ricci.functions.special import ieee

PI = constant("pi")
INF = math.inf
RIGHT = math.pi / 2  # an angle

# Local identities


def _abs_of_multiple(x: Expr) -> Expr | None:
    if isinstance(x, Sum):
        coef, rest = primitive(x)
        return scale(abs(coef), abs_(rest)) if coef != 1 else None
    return None


def _of_two_equal(x: Expr, y: Expr) -> Expr | None:
    return x if x is y else None


def _where_rule(condition: Expr, x: Expr, y: Expr) -> Expr | None:
    if x is y:
        return x
    test = numeric(condition)
    return None if test is None else x if test != 0 else y


def _constant_rule(x: Expr) -> Expr | None:
    return x if isinstance(x, Constant) else None


# Magnitude, sign and rounding

abs_ = row(
    "abs",
    "the size of x; its derivative at 0 is 0",
    math.fabs,
    lambda x, y: sign(x),
    latex=r"\left|{0}\right|",
    rewrite=rules(folded(abs), idempotent("abs"), _abs_of_multiple, complexes.abs_rule),
    complex="real",
    wirtinger=(lambda z, y: complexes.conj(sign(z)) / 2,),
    **known(parity="even", range=POSITIVE, type="same", whole="kept", choice="compares", tame=ANY),
    **called(numba="fabs", cost=1.0, traced=("np.fabs",)),
)
sign = row(
    "sign",
    "-1, 0 or 1",
    special.sign,
    None,
    rewrite=rules(folded(lambda x: (x > 0) - (x < 0)), idempotent("sign")),
    complex="kept",
    wirtinger=(lambda z, y: 1 / (2 * abs_(z)), lambda z, y: -(y**2) / (2 * abs_(z))),
    **known(parity="odd", range=(-1, 1), type="same", whole="always", choice="compares"),
    **called(numba="sign", traced=("aten.sgn",)),
)


def _rounding(name: str, help: str, f: Callable[[Any], int], latex: str = "", **names: Any) -> Op:
    facts = known(keeps_sign="all", whole="always", choice="compares")
    rounded = idempotent("floor", "ceil", "round")
    return row(name, help, ieee(f), None, latex=latex, rewrite=rules(folded(f), rounded), **facts, **names)


floor = _rounding(
    "floor", "the largest whole number not above x", math.floor, r"\left\lfloor {0} \right\rfloor", numba="floor"
)
ceil = _rounding(
    "ceil", "the smallest whole number not below x", math.ceil, r"\left\lceil {0} \right\rceil", numba="ceil"
)
round_ = _rounding(
    "round", "the nearest whole number; halves go to the even one", round, numba="rint", traced=("np.rint",)
)
mod = row(
    "mod",
    "the remainder of a divided by b, with the sign of b",
    special.mod,
    lambda a, b, y: constant(1),
    lambda a, b, y: -round_((a - y) / b),
    latex=r"\operatorname{{mod}}({0}, {1})",
    note="The derivatives are those between the jumps.",
    **known(type="same", whole="kept", keeps_sign="last", choice="compares"),
    **called(torch="remainder"),
)
stop_gradient = row(
    "stop_gradient",
    "x, taken as a constant by derivatives",
    None,
    None,
    latex=r"\operatorname{{stop}}({0})",
    rewrite=rules(_constant_rule, idempotent("stop_gradient")),
    **known(identity=True, keeps_sign="all", type="same", whole="kept", tame=ANY),
    **called(by=lambda f, x: x, jax="lax.stop_gradient", numba="{0}", cost=0.0),
    complex="kept",
)
# A result is written twice, the second time with its operands behind barriers, so that no node of the one is a node of
# the other. ``recomputed(x, again)`` has the value of the first and the derivative of the second: what its derivative
# needs is then computed anew from the operands. Before anything is computed, the first operand takes its place.
barrier = row(
    "barrier",
    "x itself; what is made of it is computed apart from what is made of x",
    None,
    lambda x, y: constant(1),
    latex=r"\operatorname{{barrier}}({0})",
    rewrite=_constant_rule,
    **known(identity=True, whole="kept", tame=ANY, method=False),
    **called(by=lambda f, x: x),
    complex="kept",
)
recomputed = row(
    "recomputed",
    "",
    lambda x, again: x,
    None,
    lambda x, again, y: constant(1),
    latex=r"\left({0}\right)",
    body=lambda args: args[0],
    complex="kept",
)

# Roots, exponentials and logarithms

cbrt = row(
    "cbrt",
    "the cube root, also of negative numbers",
    math.cbrt,
    lambda x, y: y**-2 / 3,
    latex=r"\sqrt[3]{{{0}}}",
    points={0: 0, 1: 1, -1: -1},
    **known(parity="odd", rising=True, keeps_sign="all", tame=(0.1, LARGE)),
    **called(numba="np.cbrt", c=True),
)
exp = row(
    "exp",
    "the exponential function",
    ieee(math.exp),
    lambda x, y: y,
    latex=r"\exp({0})",
    points={0: 1},
    **known(rising=True, range=POSITIVE, tame=(-6, 4)),
    **called(numba="exp", c=True),
    complex="kept",
)
exp2 = row(
    "exp2",
    "2**x",
    ieee(math.exp2),
    lambda x, y: log(2) * y,
    latex=r"\operatorname{{exp2}}({0})",
    points={0: 1, 1: 2},
    **known(rising=True, range=POSITIVE, tame=(-6, 4), means=lambda f, x: f.exp(x * f.log(2))),
    **called(numba="exp2", c=True),
    complex="kept",
)
expm1 = row(
    "expm1",
    "exp(x) - 1, exact for small x",
    ieee(math.expm1),
    lambda x, y: exp(x),
    points={0: 0},
    **known(rising=True, range=(-1, INF), tame=(-6, 4), means=lambda f, x: f.exp(x) - 1),
    **called(numba="expm1", c=True),
    complex="kept",
)
log = row(  # and the inverse of exp, which is among the stable forms
    "log",
    "the natural logarithm",
    ieee(math.log, {0: -INF}),
    lambda x, y: 1 / x,
    latex=r"\log({0})",
    points={1: 0},
    **known(domain="x > 0", rising=True, tame=(0.1, LARGE)),
    **called(numba="log", c=True),
    complex="kept",
)
log2 = row(
    "log2",
    "the logarithm to base 2",
    ieee(math.log2, {0: -INF}),
    lambda x, y: 1 / (log(2) * x),
    latex=r"\log_2({0})",
    points={1: 0, 2: 1},
    **known(inverse="exp2", domain="x > 0", rising=True, tame=(0.1, LARGE), means=lambda f, x: f.log(x) / f.log(2)),
    **called(numba="log2", c=True),
    complex="kept",
)
log10 = row(
    "log10",
    "the logarithm to base 10",
    ieee(math.log10, {0: -INF}),
    lambda x, y: 1 / (log(10) * x),
    latex=r"\log_{{10}}({0})",
    points={1: 0, 10: 1},
    **known(domain="x > 0", rising=True, tame=(0.1, LARGE), means=lambda f, x: f.log(x) / f.log(10)),
    **called(numba="log10", c=True),
    complex="kept",
)
log1p = row(
    "log1p",
    "log(1 + x), exact for small x",
    ieee(math.log1p, {-1: -INF}),
    lambda x, y: 1 / (1 + x),
    points={0: 0},
    **known(inverse="expm1", domain="x > -1", rising=True, tame=(-0.9, 0.9), means=lambda f, x: f.log(1 + x)),
    **called(numba="log1p", c=True),
    complex="kept",
)

# Trigonometric and hyperbolic functions

sin = row(
    "sin",
    "the sine",
    ieee(math.sin),
    lambda x, y: cos(x),
    latex=r"\sin({0})",
    points={0: 0},
    **known(parity="odd", periodic=True, range=(-1, 1), tame=ANY),
    **called(numba="sin", c=True),
    complex="kept",
)
cos = row(
    "cos",
    "the cosine",
    ieee(math.cos),
    lambda x, y: -sin(x),
    latex=r"\cos({0})",
    points={0: 1},
    **known(parity="even", periodic=True, range=(-1, 1), tame=ANY),
    **called(numba="cos", c=True),
    complex="kept",
)
tan = row(
    "tan",
    "the tangent",
    ieee(math.tan),
    lambda x, y: 1 + y**2,
    latex=r"\tan({0})",
    points={0: 0},
    **known(parity="odd", periodic=True, tame=(-1, 1), means=lambda f, x: f.sin(x) / f.cos(x)),
    **called(numba="tan", c=True),
    complex="kept",
)
asin = row(
    "asin",
    "the inverse of the sine",
    ieee(math.asin),
    lambda x, y: ((1 - x) * (1 + x)) ** -HALF,
    latex=r"\arcsin({0})",
    points={0: 0},
    **known(inverse="sin", domain="|x| <= 1", parity="odd", rising=True, range=(-RIGHT, RIGHT), tame=(-0.9, 0.9)),
    **called(numpy="arcsin", numba="math.asin", c=True),
    complex="kept",
)
acos = row(
    "acos",
    "the inverse of the cosine",
    ieee(math.acos),
    lambda x, y: -(((1 - x) * (1 + x)) ** -HALF),
    latex=r"\arccos({0})",
    points={1: 0},
    **known(inverse="cos", domain="|x| <= 1", range=(0, math.pi), tame=(-0.9, 0.9)),
    **called(numpy="arccos", numba="math.acos", c=True),
    complex="kept",
)
atan = row(
    "atan",
    "the inverse of the tangent",
    math.atan,
    lambda x, y: 1 / (1 + x**2),
    latex=r"\arctan({0})",
    points={0: 0},
    **known(inverse="tan", parity="odd", rising=True, range=(-RIGHT, RIGHT), tame=ANY),
    **called(numpy="arctan", numba="math.atan", c=True),
    complex="kept",
)
atan2 = row(
    "atan2",
    "the angle of the point (b, a)",
    math.atan2,
    lambda a, b, y: b / (a**2 + b**2),
    lambda a, b, y: -a / (a**2 + b**2),
    note="Not at (0, 0).",
    **known(range=(-math.pi, math.pi), tame=(ANY, (0.1, LARGE))),
    **called(numpy="arctan2", numba="math.atan2", c=True),
)
sinh = row(
    "sinh",
    "the hyperbolic sine",
    ieee(math.sinh),
    lambda x, y: cosh(x),
    latex=r"\sinh({0})",
    points={0: 0},
    **known(parity="odd", rising=True, tame=(-6, 4), means=lambda f, x: (f.exp(x) - f.exp(-x)) / 2),
    **called(numba="sinh", c=True),
    complex="kept",
)
cosh = row(
    "cosh",
    "the hyperbolic cosine",
    ieee(math.cosh, even=True),
    lambda x, y: sinh(x),
    latex=r"\cosh({0})",
    points={0: 1},
    **known(parity="even", range=(1, INF), tame=(-6, 4), means=lambda f, x: (f.exp(x) + f.exp(-x)) / 2),
    **called(numba="cosh", c=True),
    complex="kept",
)
tanh = row(
    "tanh",
    "the hyperbolic tangent",
    math.tanh,
    lambda x, y: 1 - y**2,
    latex=r"\tanh({0})",
    points={0: 0},
    **known(parity="odd", rising=True, range=(-1, 1), tame=ANY, means=lambda f, x: 2 * f.sigmoid(2 * x) - 1),
    **called(numba="tanh", c=True),
    complex="kept",
)
asinh = row(
    "asinh",
    "the inverse of the hyperbolic sine",
    math.asinh,
    lambda x, y: 1 / hypot(1, x),
    wirtinger=(lambda z, y: (1 + z**2) ** -HALF,),
    latex=r"\operatorname{{arsinh}}({0})",
    points={0: 0},
    **known(inverse="sinh", parity="odd", rising=True, tame=ANY),
    **called(numpy="arcsinh", numba="math.asinh", c=True),
    complex="kept",
)
acosh = row(
    "acosh",
    "the inverse of the hyperbolic cosine",
    ieee(math.acosh),
    lambda x, y: ((x - 1) * (x + 1)) ** -HALF,
    wirtinger=(lambda z, y: (z - 1) ** -HALF * (z + 1) ** -HALF,),  # on the principal branch, left of 0 too
    latex=r"\operatorname{{arcosh}}({0})",
    points={1: 0},
    **known(inverse="cosh", domain="x >= 1", rising=True, range=POSITIVE, tame=(1.1, LARGE)),
    **called(numpy="arccosh", numba="math.acosh", c=True),
    complex="kept",
)
atanh = row(
    "atanh",
    "the inverse of the hyperbolic tangent",
    ieee(math.atanh, {1: INF, -1: -INF}),
    lambda x, y: 1 / ((1 - x) * (1 + x)),
    latex=r"\operatorname{{artanh}}({0})",
    points={0: 0},
    **known(inverse="tanh", domain="|x| < 1", parity="odd", rising=True, tame=(-0.9, 0.9)),
    **called(numpy="arctanh", numba="math.atanh", c=True),
    complex="kept",
)
hypot = row(
    "hypot",
    "sqrt(a**2 + b**2) without overflow",
    math.hypot,
    lambda a, b, y: a / y,
    lambda a, b, y: b / y,
    note="The length of (a, b); differentiable but at (0, 0).",
    **known(symmetric=True, range=POSITIVE, tame=((0.1, LARGE), ANY), means=lambda f, a, b: (a**2 + b**2) ** HALF),
    **called(numba="math.hypot", c=True),
)

# Choice and comparison. A comparison is 1 where it holds and 0 elsewhere.

_TIE = "Where both are equal, each gets half of the derivative."
maximum = row(
    "maximum",
    "the larger of a and b",
    special.maximum,
    lambda a, b, y: (less(b, a) + less_equal(b, a)) / 2,
    lambda a, b, y: (less(a, b) + less_equal(a, b)) / 2,
    latex=r"\max({0}, {1})",
    rewrite=rules(folded(max), _of_two_equal),
    note=_TIE,
    **known(symmetric=True, keeps_sign="any", type="same", whole="kept", choice="compares", tame=(ANY, ANY)),
    **called(numba="maximum", cost=1.0, traced=("lax.max",)),
)
minimum = row(
    "minimum",
    "the smaller of a and b",
    special.minimum,
    lambda a, b, y: (less(a, b) + less_equal(a, b)) / 2,
    lambda a, b, y: (less(b, a) + less_equal(b, a)) / 2,
    latex=r"\min({0}, {1})",
    rewrite=rules(folded(min), _of_two_equal),
    note=_TIE,
    means=lambda f, a, b: -f.maximum(-a, -b),
    **known(symmetric=True, keeps_sign="all", type="same", whole="kept", choice="compares", tame=(ANY, ANY)),
    **called(numba="minimum", cost=1.0, traced=("lax.min",)),
)
where = row(
    "where",
    "a where c is not zero, otherwise b",
    lambda c, a, b: a if c else b,
    None,
    lambda c, a, b, y: where(c, 1, 0),
    lambda c, a, b, y: where(c, 0, 1),
    rewrite=_where_rule,
    operands="c, a, b",
    method=False,
    **known(keeps_sign="branches", type="branches", whole="kept", choice="selects"),
    **called(numba="{1} if {0} != 0 else {2}", cost=1.0),
    complex="kept",
)


def _comparison(name: str, sign: str, latex: str, holds: Callable[..., bool], traced: str, **facts: Any) -> Op:
    return row(
        name,
        f"1 where a {sign} b, otherwise 0",
        lambda a, b: float(holds(a, b)),
        None,
        None,
        latex=rf"\left[{{0}} {latex} {{1}}\right]",
        rewrite=folded(holds, lambda x: x == x),
        **known(sign=sign, range=(0, 1), type="truth", whole="always", choice="compares", **facts),
        **called(numba=f"{{0}} {sign} {{1}}", traced=(f"lax.{traced}", f"aten.{traced}")),
    )


less = _comparison("less", "<", "<", operator.lt, "lt")
less_equal = _comparison("less_equal", "<=", r"\le", operator.le, "le", means=lambda f, a, b: 1 - f.less(b, a))
equal = _comparison("equal", "==", "=", operator.eq, "eq", symmetric=True, complex="real")
not_equal = _comparison(
    "not_equal",
    "!=",
    r"\ne",
    operator.ne,
    "ne",
    symmetric=True,
    complex="real",
    means=lambda f, a, b: 1 - f.equal(a, b),
)


@short("1 where a > b, otherwise 0", operator.gt, sign=">", type="truth", traced=("lax.gt", "aten.gt"))
def greater(a: object, b: object) -> Expr:
    return less(b, a)


@short("1 where a >= b, otherwise 0", operator.ge, sign=">=", type="truth", traced=("lax.ge", "aten.ge"))
def greater_equal(a: object, b: object) -> Expr:
    return less_equal(b, a)


@short("x moved into the interval", lambda x, low, high: min(max(x, low), high), type="same")
def clip(x: object, low: object, high: object) -> Expr:
    return minimum(maximum(x, low), high)


# What the core has already: the arithmetic of programs, too

_EXACT = known(type="same", grows=True, cost=1.0)


@short("a + b", operator.add, sign="+", **_EXACT, numba="{0} + {1}", traced=("lax.add_any",))
def add(a: object, b: object) -> Expr:
    return plus(a, b)


@short("a - b", operator.sub, sign="-", **_EXACT, numba="{0} - {1}", traced=("lax.sub",))
def subtract(a: object, b: object) -> Expr:
    return plus(a, b, -1)


@short("a * b, entry by entry", operator.mul, sign="*", **_EXACT, numba="{0} * {1}", traced=("lax.mul", "aten.mul"))
def multiply(a: object, b: object) -> Expr:
    return times(a, b)


@short("a / b", operator.truediv, sign="/", numba="{0} / {1}", cost=3.0)
def divide(a: object, b: object) -> Expr:
    return over(a, b)


@short("-x", operator.neg, type="same", numpy="negative", numba="-{0}", cost=1.0, method=False)
def neg(x: object) -> Expr:
    return times(-1, x)


@short("x**2", lambda x: x * x, **_EXACT, numba="{0} * {0}")
def square(x: object) -> Expr:
    return power(x, 2)


@short("x**(1/2)", lambda x: x**0.5, numba="sqrt", cost=4.0)
def sqrt(x: object) -> Expr:
    return power(x, HALF)


@short("1/x", lambda x: 1.0 / x, numba="one / {0}", cost=3.0)
def reciprocal(x: object) -> Expr:
    return power(x, -1)
