r"""The table of elementwise functions: one row each, and with it the builder of the same name.

A row holds the function on Python floats, one partial derivative for each operand, exact values, local identities and
LaTeX. A partial is a function of the operands and the result, ``lambda x, y: …``, and gives an expression of the
result's shape, or a scalar that stands for it; ``None`` means piecewise constant, a text says why there is none.
LaTeX is a template for ``str.format``. Identities are those that hold for all real numbers and keep NaN.

Derivatives are written so that they neither overflow nor cancel: through the result where that is exact
(``tanh' = 1 - y**2``), through saturating functions (``softplus' = sigmoid``), and never as a product with a factor
that may be infinite where the other vanishes (``elu' = exp(minimum(x, 0))``). At kinks: ``abs'(0) = relu'(0) = 0``,
``leaky_relu'(0) = 0.01``; where ``maximum`` and ``minimum`` tie, each operand gets one half.

Square roots, quotients and the like are no rows: they are powers and products, which the core has.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction

from ricci.expr import HALF, POWER, Constant, Expr, Sum, constant, multiply, numeric, power
from ricci.expr.build.algebra import divide as divide
from ricci.expr.build.algebra import plus
from ricci.expr.build.scale import primitive, scale
from ricci.functions import special
from ricci.functions.rows import Builder, folded, idempotent, row, rules
from ricci.functions.special import ieee

PI = constant("pi")
SLOPE = Fraction(1, 100)

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
    known = numeric(condition)
    return None if known is None else x if known != 0 else y


def _constant_rule(x: Expr) -> Expr | None:
    return x if isinstance(x, Constant) else None


# Magnitude, sign and rounding

abs_ = row(
    "abs",
    math.fabs,
    lambda x, y: sign(x),
    latex=r"\left|{0}\right|",
    rewrite=rules(folded(abs), idempotent("abs"), _abs_of_multiple),
    note="The derivative at 0 is 0.",
)
sign = row(
    "sign",
    special.sign,
    None,
    latex=r"\operatorname{{sign}}({0})",
    rewrite=rules(folded(lambda x: (x > 0) - (x < 0)), idempotent("sign")),
)
floor = row(
    "floor",
    ieee(math.floor),
    None,
    latex=r"\left\lfloor {0} \right\rfloor",
    rewrite=rules(folded(math.floor), idempotent("floor")),
)
ceil = row(
    "ceil",
    ieee(math.ceil),
    None,
    latex=r"\left\lceil {0} \right\rceil",
    rewrite=rules(folded(math.ceil), idempotent("ceil")),
)
round_ = row(
    "round",
    ieee(round),
    None,
    latex=r"\operatorname{{round}}({0})",
    rewrite=rules(folded(round), idempotent("round")),
    note="Halves go to the even neighbour.",
)
mod = row(
    "mod",
    special.mod,
    lambda a, b, y: constant(1),
    lambda a, b, y: -round_((a - y) / b),
    latex=r"{0} \bmod {1}",
    note="The derivatives are those between the jumps.",
)
stop_gradient = row(
    "stop_gradient",
    lambda x: x,
    None,
    latex=r"\operatorname{{stop}}({0})",
    rewrite=rules(_constant_rule, idempotent("stop_gradient")),
    note="The operand itself, with the derivative 0.",
)

# Roots, exponentials and logarithms

cbrt = row("cbrt", math.cbrt, lambda x, y: y**-2 / 3, latex=r"\sqrt[3]{{{0}}}", points={0: 0, 1: 1, -1: -1})
exp = row("exp", ieee(math.exp), lambda x, y: y, latex=r"\exp({0})", points={0: 1})
exp2 = row("exp2", ieee(math.exp2), lambda x, y: log(2) * y, latex=r"2^{{{0}}}", points={0: 1, 1: 2})
expm1 = row("expm1", ieee(math.expm1), lambda x, y: exp(x), latex=r"\operatorname{{expm1}}({0})", points={0: 0})
log = row(
    "log", ieee(math.log, {0: -math.inf}), lambda x, y: 1 / x, latex=r"\log({0})", points={1: 0}, note="For x > 0."
)
log2 = row(
    "log2",
    ieee(math.log2, {0: -math.inf}),
    lambda x, y: 1 / (log(2) * x),
    latex=r"\log_2({0})",
    points={1: 0, 2: 1},
    note="For x > 0.",
)
log10 = row(
    "log10",
    ieee(math.log10, {0: -math.inf}),
    lambda x, y: 1 / (log(10) * x),
    latex=r"\log_{{10}}({0})",
    points={1: 0, 10: 1},
    note="For x > 0.",
)
log1p = row(
    "log1p",
    ieee(math.log1p, {-1: -math.inf}),
    lambda x, y: 1 / (1 + x),
    latex=r"\operatorname{{log1p}}({0})",
    points={0: 0},
    note="For x > -1.",
)

# Trigonometric and hyperbolic functions

sin = row("sin", ieee(math.sin), lambda x, y: cos(x), latex=r"\sin({0})", points={0: 0})
cos = row("cos", ieee(math.cos), lambda x, y: -sin(x), latex=r"\cos({0})", points={0: 1})
tan = row("tan", ieee(math.tan), lambda x, y: 1 + y**2, latex=r"\tan({0})", points={0: 0})
asin = row(
    "asin",
    ieee(math.asin),
    lambda x, y: ((1 - x) * (1 + x)) ** -HALF,
    latex=r"\arcsin({0})",
    points={0: 0},
    note="For |x| <= 1.",
)
acos = row(
    "acos",
    ieee(math.acos),
    lambda x, y: -(((1 - x) * (1 + x)) ** -HALF),
    latex=r"\arccos({0})",
    points={1: 0},
    note="For |x| <= 1.",
)
atan = row("atan", math.atan, lambda x, y: 1 / (1 + x**2), latex=r"\arctan({0})", points={0: 0})
atan2 = row(
    "atan2",
    math.atan2,
    lambda a, b, y: b / (a**2 + b**2),
    lambda a, b, y: -a / (a**2 + b**2),
    latex=r"\operatorname{{atan2}}({0}, {1})",
    note="The angle of the point (b, a); not at (0, 0).",
)
sinh = row("sinh", ieee(math.sinh), lambda x, y: cosh(x), latex=r"\sinh({0})", points={0: 0})
cosh = row("cosh", ieee(math.cosh, even=True), lambda x, y: sinh(x), latex=r"\cosh({0})", points={0: 1})
tanh = row("tanh", math.tanh, lambda x, y: 1 - y**2, latex=r"\tanh({0})", points={0: 0})
asinh = row("asinh", math.asinh, lambda x, y: 1 / hypot(1, x), latex=r"\operatorname{{arsinh}}({0})", points={0: 0})
acosh = row(
    "acosh",
    ieee(math.acosh),
    lambda x, y: ((x - 1) * (x + 1)) ** -HALF,
    latex=r"\operatorname{{arcosh}}({0})",
    points={1: 0},
    note="For x >= 1.",
)
atanh = row(
    "atanh",
    ieee(math.atanh, {1: math.inf, -1: -math.inf}),
    lambda x, y: 1 / ((1 - x) * (1 + x)),
    latex=r"\operatorname{{artanh}}({0})",
    points={0: 0},
    note="For |x| < 1.",
)
hypot = row(
    "hypot",
    math.hypot,
    lambda a, b, y: a / y,
    lambda a, b, y: b / y,
    latex=r"\operatorname{{hypot}}({0}, {1})",
    symmetric=True,
    note="The length of (a, b); differentiable but at (0, 0).",
)

# Activations

sigmoid = row("sigmoid", special.sigmoid, lambda x, y: y * (1 - y), latex=r"\sigma({0})", points={0: HALF})
softplus = row(
    "softplus",
    lambda x: special.logaddexp(0.0, x),
    lambda x, y: sigmoid(x),
    latex=r"\operatorname{{softplus}}({0})",
)
relu = row(
    "relu",
    lambda x: special.maximum(x, 0.0),
    lambda x, y: where(less(0, x), 1, 0),
    latex=r"\operatorname{{relu}}({0})",
    rewrite=rules(folded(lambda x: max(x, 0)), idempotent("relu")),
    note="The derivative at 0 is 0.",
)
leaky_relu = row(
    "leaky_relu",
    lambda x: x if x > 0 else 0.01 * x,
    lambda x, y: where(less(0, x), 1, SLOPE),
    latex=r"\operatorname{{leaky\_relu}}({0})",
    points={0: 0},
    note="The slope for x <= 0 is 0.01.",
)
elu = row(
    "elu",
    lambda x: x if x > 0 else math.expm1(x),
    lambda x, y: exp(minimum(x, 0)),
    latex=r"\operatorname{{elu}}({0})",
    points={0: 0},
    note="x for x > 0, otherwise exp(x) - 1.",
)
gelu = row(
    "gelu",
    special.gelu,
    lambda x, y: erfc(-x * power(2, -HALF)) / 2 + x * exp(-(x**2) / 2) * (2 * PI) ** -HALF,
    latex=r"\operatorname{{gelu}}({0})",
    points={0: 0},
    note="The exact one: x times the normal distribution function.",
)
silu = row(
    "silu",
    lambda x: x * special.sigmoid(x),
    lambda x, y: sigmoid(x) + y * sigmoid(-x),
    latex=r"\operatorname{{silu}}({0})",
    points={0: 0},
)
logaddexp = row(
    "logaddexp",
    special.logaddexp,
    lambda a, b, y: sigmoid(a - b),
    lambda a, b, y: sigmoid(b - a),
    latex=r"\operatorname{{logaddexp}}({0}, {1})",
    symmetric=True,
)

# Special functions

erf = row("erf", math.erf, lambda x, y: 2 * PI**-HALF * exp(-(x**2)), latex=r"\operatorname{{erf}}({0})", points={0: 0})
erfc = row(
    "erfc", math.erfc, lambda x, y: -2 * PI**-HALF * exp(-(x**2)), latex=r"\operatorname{{erfc}}({0})", points={0: 1}
)
erfinv = row(
    "erfinv",
    special.erfinv,
    lambda x, y: PI**HALF / 2 * exp(y**2),
    latex=r"\operatorname{{erf}}^{{-1}}({0})",
    points={0: 0},
    note="For |x| < 1.",
)
ndtri = row(
    "ndtri",
    special.ndtri,
    lambda x, y: (2 * PI) ** HALF * exp(y**2 / 2),
    latex=r"\Phi^{{-1}}({0})",
    points={HALF: 0},
    note="For 0 < x < 1.",
)
log_ndtr = row(
    "log_ndtr", special.log_ndtr, lambda x, y: (2 * PI) ** -HALF * exp(-(x**2) / 2 - y), latex=r"\log \Phi({0})"
)
lgamma = row(
    "lgamma",
    ieee(special.lgamma, even=True),
    lambda x, y: digamma(x),
    latex=r"\log\left|\Gamma({0})\right|",
    points={1: 0, 2: 0},
    note="Not at 0, -1, -2, …",
)
digamma = row(
    "digamma", special.digamma, lambda x, y: polygamma(1, x), latex=r"\psi({0})", note="The derivative of lgamma."
)
polygamma = row(
    "polygamma",
    special.polygamma,
    "The order of polygamma is a whole number, so there is no derivative by it.",
    lambda n, x, y: polygamma(n + 1, x),
    latex=r"\psi^{{({0})}}({1})",
    note="The derivative of order n of digamma.",
)

# Choice and comparison. A comparison is 1 where it holds and 0 elsewhere.

maximum = row(
    "maximum",
    special.maximum,
    lambda a, b, y: (less(b, a) + less_equal(b, a)) / 2,
    lambda a, b, y: (less(a, b) + less_equal(a, b)) / 2,
    latex=r"\max({0}, {1})",
    symmetric=True,
    rewrite=rules(folded(max), _of_two_equal),
    note="Where both are equal, each gets half of the derivative.",
)
minimum = row(
    "minimum",
    special.minimum,
    lambda a, b, y: (less(a, b) + less_equal(a, b)) / 2,
    lambda a, b, y: (less(b, a) + less_equal(b, a)) / 2,
    latex=r"\min({0}, {1})",
    symmetric=True,
    rewrite=rules(folded(min), _of_two_equal),
    note="Where both are equal, each gets half of the derivative.",
)
where = row(
    "where",
    lambda c, a, b: a if c else b,
    None,
    lambda c, a, b, y: where(c, 1, 0),
    lambda c, a, b, y: where(c, 0, 1),
    latex=r"\operatorname{{where}}({0}, {1}, {2})",
    rewrite=_where_rule,
    note="a where the condition is not zero, otherwise b.",
)


def _comparison(name: str, holds: Callable, sign: str, symmetric: bool = False) -> Builder:
    return row(
        name,
        lambda a, b: float(holds(a, b)),
        None,
        None,
        latex=rf"\left[{{0}} {sign} {{1}}\right]",
        symmetric=symmetric,
        rewrite=folded(holds, lambda x: x == x),
        note="1 where it holds, otherwise 0.",
    )


less = _comparison("less", operator.lt, "<")
less_equal = _comparison("less_equal", operator.le, r"\le")
equal = _comparison("equal", operator.eq, "=", symmetric=True)
not_equal = _comparison("not_equal", operator.ne, r"\ne", symmetric=True)

# What the core has already; the derivative by the exponent is not of the core
POWER.complete(1, lambda x, n, y: where(equal(x, 0), 0, y * log(x)))


def greater(a: object, b: object) -> Expr:
    return less(b, a)


def greater_equal(a: object, b: object) -> Expr:
    return less_equal(b, a)


def add(a: object, b: object) -> Expr:
    return plus(a, b)


def subtract(a: object, b: object) -> Expr:
    return plus(a, b, -1)


def neg(x: object) -> Expr:
    return multiply(-1, x)


def square(x: object) -> Expr:
    return power(x, 2)


def sqrt(x: object) -> Expr:
    return power(x, HALF)


def reciprocal(x: object) -> Expr:
    return power(x, -1)


def clip(x: object, low: object, high: object) -> Expr:
    return minimum(maximum(x, low), high)
