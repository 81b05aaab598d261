"""Activations, and the special functions that their derivatives lead to; rows as in ``elementwise.py``."""

from __future__ import annotations

import math
from fractions import Fraction

from ricci.expr import HALF, power
from ricci.functions import special
from ricci.functions.elementwise import PI, exp, less, minimum, where
from ricci.functions.rows import ANY, LARGE, POSITIVE, called, folded, idempotent, known, row, rules
from ricci.functions.special import ieee

sigmoid = row(
    "sigmoid",
    "1/(1 + exp(-x))",
    special.sigmoid,
    lambda x, y: y * (1 - y),
    latex=r"\sigma({0})",
    points={0: HALF},
    **known(rising=True, range=(0, 1), tame=ANY, means=lambda f, x: f.exp(x) / (f.exp(x) + 1)),
    **called(scipy="expit", jax="nn.sigmoid", numba="sigmoid", traced=("lax.logistic",)),
)
softplus = row(
    "softplus",
    "log(1 + exp(x))",
    None,
    lambda x, y: sigmoid(x),
    **known(rising=True, range=POSITIVE, tame=ANY),
    **called(by=lambda f, x: f.logaddexp(0.0, x), jax="nn.softplus"),
)
relu = row(
    "relu",
    "maximum(x, 0); its derivative at 0 is 0",
    None,
    lambda x, y: where(less(0, x), 1, 0),
    rewrite=rules(folded(lambda x: max(x, 0)), idempotent("relu")),
    **known(range=POSITIVE, type="same", whole="kept", choice="selects", tame=ANY),
    **called(by=lambda f, x: f.maximum(x, 0), jax="nn.relu", cost=1.0),
)
leaky_relu = row(
    "leaky_relu",
    "x where x > 0, otherwise 0.01 x",
    None,
    lambda x, y: where(less(0, x), 1, Fraction(1, 100)),
    points={0: 0},
    **known(rising=True, tame=ANY, means=lambda f, x: Fraction(99, 100) * f.maximum(x, 0) + x / 100),
    **called(by=lambda f, x: f.where(x > 0, x, 0.01 * x), torch="nn.functional.leaky_relu"),
)
elu = row(
    "elu",
    "x where x > 0, otherwise exp(x) - 1",
    None,
    lambda x, y: exp(minimum(x, 0)),
    points={0: 0},
    **known(rising=True, range=(-1, math.inf), tame=ANY),
    **called(by=lambda f, x: f.where(x > 0, x, f.expm1(f.minimum(x, 0))), torch="nn.functional.elu", jax="nn.elu"),
)
gelu = row(  # by erfc, which keeps its accuracy in the left tail
    "gelu",
    "x times the normal distribution function at x",
    None,
    lambda x, y: erfc(-x * power(2, -HALF)) / 2 + x * exp(-(x**2) / 2) * (2 * PI) ** -HALF,
    points={0: 0},
    **known(range=(-0.17, math.inf), tame=ANY, means=lambda f, x: x / 2 * f.erfc(-x * f.power(2, -HALF))),
    **called(by=lambda f, x: 0.5 * x * f.erfc(x * -(0.5**0.5))),
)
silu = row(
    "silu",
    "x sigmoid(x)",
    None,
    lambda x, y: sigmoid(x) + y * sigmoid(-x),
    points={0: 0},
    **known(range=(-0.28, math.inf), tame=ANY),
    **called(by=lambda f, x: x * f.sigmoid(x), torch="nn.functional.silu", jax="nn.silu", traced=("jax.nn.swish",)),
)
logaddexp = row(
    "logaddexp",
    "log(exp(a) + exp(b)) without overflow",
    special.logaddexp,
    lambda a, b, y: sigmoid(a - b),
    lambda a, b, y: sigmoid(b - a),
    **known(symmetric=True, tame=(ANY, ANY), means=lambda f, a, b: f.log(f.exp(a) + f.exp(b))),
    **called(numba="logaddexp"),
)

# Special functions

erf = row(
    "erf",
    "the error function",
    math.erf,
    lambda x, y: 2 * PI**-HALF * exp(-(x**2)),
    points={0: 0},
    **known(parity="odd", rising=True, range=(-1, 1), tame=ANY),
    **called(scipy="erf", numba="erf", c=True),
)
erfc = row(
    "erfc",
    "1 - erf(x), exact for large x",
    math.erfc,
    lambda x, y: -2 * PI**-HALF * exp(-(x**2)),
    points={0: 1},
    **known(range=(0, 2), tame=ANY, means=lambda f, x: 1 - f.erf(x)),
    **called(scipy="erfc", numba="erfc", c=True),
)
erfinv = row(
    "erfinv",
    "the inverse of the error function",
    special.erfinv,
    lambda x, y: PI**HALF / 2 * exp(y**2),
    latex=r"\operatorname{{erf}}^{{-1}}({0})",
    points={0: 0},
    **known(inverse="erf", domain="|x| < 1", parity="odd", rising=True, tame=(-0.9, 0.9)),
    **called(scipy="erfinv", traced=("lax.erf_inv",)),
)
ndtri = row(
    "ndtri",
    "the inverse of the normal distribution function",
    special.ndtri,
    lambda x, y: (2 * PI) ** HALF * exp(y**2 / 2),
    latex=r"\Phi^{{-1}}({0})",
    points={HALF: 0},
    **known(domain="0 < x < 1", rising=True, tame=(0.1, 0.9)),
    **called(scipy="ndtri", torch="special.ndtri"),
)
log_ndtr = row(
    "log_ndtr",
    "the logarithm of the normal distribution function, exact for large -x",
    special.log_ndtr,
    lambda x, y: (2 * PI) ** -HALF * exp(-(x**2) / 2 - y),
    latex=r"\log \Phi({0})",
    **known(rising=True, range=(-math.inf, 0), tame=ANY, means=lambda f, x: f.log(f.erfc(-x * f.power(2, -HALF)) / 2)),
    **called(scipy="log_ndtr", torch="special.log_ndtr"),
)
lgamma = row(
    "lgamma",
    "the logarithm of the size of the gamma function",
    ieee(special.lgamma, even=True),
    lambda x, y: digamma(x),
    latex=r"\log\left|\Gamma({0})\right|",
    points={1: 0, 2: 0},
    note="Not at 0, -1, -2, …",
    **known(tame=(0.5, LARGE)),
    **called(scipy="gammaln", numba="math.lgamma"),
)
digamma = row(
    "digamma",
    "the derivative of lgamma",
    special.digamma,
    lambda x, y: polygamma(1, x),
    latex=r"\psi({0})",
    **known(tame=(0.5, LARGE)),
    **called(scipy="psi"),
)
polygamma = row(
    "polygamma",
    "the derivative of order n of digamma",
    special.polygamma,
    "The order of polygamma is a whole number, so there is no derivative by it.",
    lambda n, x, y: polygamma(n + 1, x),
    latex=r"\psi^{{({0})}}({1})",
    operands="n, x",
    **called(scipy="polygamma"),
)
