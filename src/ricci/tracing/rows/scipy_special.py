"""``scipy.special``, by the rows that ricci has: of the error and gamma functions, of logistic ones, of entropies.

Where a formula divides zero by zero, or takes the logarithm of zero, the operand is moved away from there before the
formula sees it, so that neither the value nor any derivative meets an infinity in a branch that is not taken.

SciPy's ufuncs ask traced arrays what to do. ``logsumexp``, ``softmax``, ``polygamma`` and the like are Python
functions, which do not: as ``ricci.numpy.special.logsumexp`` they do. SciPy itself is not imported here;
:func:`register` puts its functions into the table when somebody else has done so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from ricci.errors import ShapeError
from ricci.expr import HALF, Expr, broadcast, constant, expand, power
from ricci.expr.moving import with_ones
from ricci.functions import activations as act
from ricci.functions import elementwise as e
from ricci.functions import reductions as r
from ricci.functions.table import named_in
from ricci.tracing.array import Traced, fresh
from ricci.tracing.basics import (
    broadcast_shape,
    concrete,
    expanded,
    floating,
    lift,
    normal_axes,
    pointwise,
)
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.ufuncs import Build, is_nan, ufunc_row

INF, NAN = constant(math.inf), constant(math.nan)
FAR = 600  # exp of more than that may be infinite


# Logistic functions


def logit(p: Expr) -> Expr:
    """``log(p/(1 - p))``; about one half, where that is small, by the inverse of the hyperbolic tangent."""
    middle = e.less(e.abs_(p - HALF), Fraction(1, 4))
    inner = 2 * e.atanh(2 * e.where(middle, p, HALF) - 1)
    return e.where(middle, inner, e.log(p) - e.log1p(-p))


def log_expit(x: Expr) -> Expr:
    return -act.softplus(-x)


# Exponentials and powers


def exprel(x: Expr) -> Expr:
    """``(exp(x) - 1)/x``; near 0 its series, since the quotient has no derivatives there."""
    near = e.less(e.abs_(x), HALF)
    series = constant(1)
    for k in range(18, 1, -1):
        series = 1 + x / k * series
    far = e.where(near, 1, x)
    return e.where(near, series, e.expm1(far) / far)


def boxcox(logarithm: Build) -> Build:
    """``(x**k - 1)/k``, and ``log(x)`` where ``k`` is 0."""

    def build(x: Expr, k: Expr) -> Expr:
        size = logarithm(x)
        return size * exprel(k * size)

    return build


# Entropies


def times_log(logarithm: Build, edge: int) -> Build:
    """``x log(y)``, and 0 where ``x`` is 0, be the logarithm what it may; its pole is at ``edge``."""

    def build(x: Expr, y: Expr) -> Expr:
        outside = e.maximum(e.less_equal(y, edge), e.equal(y, INF))
        return x * logarithm(e.where(e.equal(x, 0) * outside, edge + 1, y))

    return build


def entr(x: Expr) -> Expr:
    inside = e.less(0, x)
    safe = e.where(inside, x, 1)
    rest = e.where(e.equal(x, 0), 0, e.where(is_nan(x), x, -INF))
    return e.where(inside, -safe * e.log(safe), rest)


def _divergence(inside: Build, edge: Build) -> Build:
    """A function of two densities: one formula where both are positive, one where the first is 0, else infinite."""

    def build(x: Expr, y: Expr) -> Expr:
        both = e.less(0, x) * e.less(0, y)
        value = inside(e.where(both, x, 1), e.where(both, y, 1))
        rest = e.where(e.equal(x, 0) * e.less_equal(0, y), edge(x, y), INF)
        return e.where(both, value, e.where(e.maximum(is_nan(x), is_nan(y)), NAN, rest))

    return build


# Gamma and error functions


def gammasgn(x: Expr) -> Expr:
    """The sign of the gamma function, which changes at every pole."""
    return e.where(e.less(x, 0), 1 - 2 * e.mod(e.floor(x), constant(2)), 1)


def gamma(x: Expr) -> Expr:
    pole = e.less(x, 0) * e.equal(x, e.floor(x))
    return e.where(pole, NAN, gammasgn(x) * e.exp(act.lgamma(x)))


def betaln(a: Expr, b: Expr) -> Expr:
    return act.lgamma(a) + act.lgamma(b) - act.lgamma(a + b)


def beta(a: Expr, b: Expr) -> Expr:
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * e.exp(betaln(a, b))


def ndtr(x: Expr) -> Expr:
    return act.erfc(-x * power(2, -HALF)) / 2


def erfcinv(x: Expr) -> Expr:
    return -act.ndtri(x / 2) * power(2, -HALF)


def huber(delta: Expr, x: Expr) -> Expr:
    size = e.abs_(x)
    value = e.where(e.less_equal(size, delta), x**2 / 2, delta * (size - delta / 2))
    return e.where(e.less(delta, 0), INF, value)


def pseudo_huber(delta: Expr, x: Expr) -> Expr:
    """``d²(√(1 + (x/d)²) - 1)``, without cancellation for small ``x``."""
    zero = e.equal(delta, 0)
    ratio = x / e.where(zero, 1, delta)
    value = x**2 / (1 + e.hypot(1, ratio))
    return e.where(e.less(delta, 0), INF, e.where(zero, 0, value))


UFUNCS: dict[str, Build] = {  # the rows, and what is made of them
    **named_in("scipy"),
    "logit": logit,
    "log_expit": log_expit,
    "erfcinv": erfcinv,
    "ndtr": ndtr,
    "gamma": gamma,
    "loggamma": lambda x: e.where(e.less(x, 0), NAN, act.lgamma(x)),
    "gammasgn": gammasgn,
    "beta": beta,
    "betaln": betaln,
    "xlogy": times_log(e.log, 0),
    "xlog1py": times_log(e.log1p, -1),
    "entr": entr,
    "rel_entr": _divergence(lambda x, y: x * e.log(x / y), lambda x, y: constant(0)),
    "kl_div": _divergence(lambda x, y: x * e.log(x / y) - x + y, lambda x, y: y),
    "exprel": exprel,
    "exp10": lambda x: e.exp(e.log(10) * x),
    "cosm1": lambda x: -2 * e.sin(x / 2) ** 2,
    "boxcox": boxcox(e.log),
    "boxcox1p": boxcox(e.log1p),
    "huber": huber,
    "pseudo_huber": pseudo_huber,
}


# Python functions


def polygamma(n: Any, x: Any) -> Traced:
    return pointwise(act.polygamma, lift(n), lift(x), dtype=np.float64)


def multigammaln(a: Any, d: Any) -> Traced:
    x, count = lift(a), int(concrete(d, "The dimension of scipy.special.multigammaln"))
    start = Fraction(count * (count - 1), 4) * e.log(e.PI)
    total = sum([act.lgamma(x.expr - Fraction(j, 2)) for j in range(count)], start)
    return fresh(expand(total, x.shape), np.float64)


def softmax(x: Any, axis: Any = None) -> Traced:
    a = lift(x)
    return fresh(r.softmax(a.expr, normal_axes(a, axis)) if a.ndim else constant(1), floating(a))


def log_softmax(x: Any, axis: Any = None) -> Traced:
    a = lift(x)
    return fresh(r.log_softmax(a.expr, normal_axes(a, axis)) if a.ndim else constant(0), floating(a))


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    x, weights = lift(a), None if b is None else lift(b)
    dtype = floating(x) if weights is None else floating(x, weights)
    shape = broadcast_shape(x.shape, () if weights is None else weights.shape) or (1,)
    x = fresh(expanded(x.expr, shape), dtype)
    axes = normal_axes(x, axis)
    if weights is None:
        parts = (r.logsumexp(x.expr, axes), constant(1))
    elif not all(shape[k] for k in axes):
        raise ShapeError(f"scipy.special.logsumexp with weights has no value over an axis of size 0, of {shape}.")
    else:
        parts = _weighted(x.expr, expanded(weights.expr, shape), axes, return_sign)
    rest = tuple([size for k, size in enumerate(shape) if k not in axes])
    whole = [expand(part, rest) for part in parts]
    value, sign = [fresh(with_ones(part, axes) if keepdims else part, dtype) for part in whole]
    return (value, sign) if return_sign else value


def _weighted(x: Expr, weights: Expr, axes: tuple[int, ...], signed: bool) -> tuple[Expr, Expr]:
    """``log(sum(b exp(x)))`` and the sign of the sum. The largest ``x`` with a weight is taken out as a constant."""
    absent = e.equal(weights, 0)
    top = e.stop_gradient(r.max_(e.where(absent, -INF, x), axes))
    top = e.where(e.less(e.abs_(top), INF), top, 0)
    kept = [k for k in range(x.order) if k not in axes]
    shift = x - broadcast(top, kept, x.shape)
    # a weight of 0 makes its term 0, unless the other factor is infinite
    terms = weights * e.exp(e.where(absent, e.minimum(shift, FAR), shift))
    total = r.sum_(terms, axes)
    sign = e.sign(total)
    return e.log(total * sign if signed else total) + top, sign


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (polygamma, multigammaln, softmax, log_softmax, logsumexp)
}


def register() -> None:
    """Puts the functions of SciPy that have a meaning here into the table."""
    from scipy import special

    for name, build in UFUNCS.items():
        ufunc = getattr(special, name, None)
        if isinstance(ufunc, np.ufunc):
            ufunc_row(ufunc, build, __name__)
    for name, lower in FUNCTIONS.items():
        lowers(getattr(special, name))(lower)
