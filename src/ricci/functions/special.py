"""Scalar functions on Python floats, with the conventions of IEEE arithmetic: infinities and NaN instead of exceptions.

The digamma function and its derivatives are computed here, since Python's ``math`` lacks them. For ``x > 0`` the
recurrence moves the argument up to where the Euler-Maclaurin series of the Hurwitz zeta function converges fast,

    psi_n(x) = (-1)**(n+1) n! zeta(n+1, x),
    zeta(s, a) ~ a**(1-s)/(s-1) + a**-s/2 + sum over k of B_2k/(2k)! s (s+1) … (s+2k-2) a**(1-s-2k),

and for ``x < 0`` reflection, ``psi_n(x) = (-1)**n psi_n(1-x) - pi d^n/dx^n cot(pi x)``, leads back to the other side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

_BERNOULLI = [
    Fraction(*pair) for pair in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510))
]
_FAR = 12.0  # where eight terms of the series are exact to the last bit


def ieee(
    f: Callable[..., float], poles: Mapping[float, float] | None = None, even: bool = False
) -> Callable[..., float]:
    """``f`` with values at its poles, signed infinities for overflow and NaN outside its domain."""

    def value(*x: float) -> float:
        if poles and x[-1] in poles:
            return poles[x[-1]]
        try:
            return float(f(*x))
        except OverflowError:
            return math.inf if even else math.copysign(math.inf, x[-1])
        except ValueError:
            return math.nan

    return value


def maximum(x: float, y: float) -> float:
    """The larger one; NaN wins."""
    return x if x > y or x != x else y


def minimum(x: float, y: float) -> float:
    return x if x < y or x != x else y


def sign(x: float) -> float:
    return x if x != x else float((x > 0) - (x < 0))


def mod(x: float, y: float) -> float:
    """The remainder with the sign of ``y``; NaN where there is none."""
    try:
        return x % y
    except ZeroDivisionError:
        return math.nan


def sigmoid(x: float) -> float:
    """``1/(1 + exp(-x))`` without overflow on either side."""
    small = math.exp(-abs(x))
    return (small if x < 0 else 1.0) / (1.0 + small)


def logaddexp(x: float, y: float) -> float:
    if x == y:
        return x + math.log(2.0)
    return maximum(x, y) + math.log1p(math.exp(-abs(x - y)))


def ndtri(p: float) -> float:
    """The ``x`` at which the normal distribution function is ``p``; from a first guess by Newton's method."""
    if not 0 < p < 1:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    if p > 0.5:
        return -ndtri(1.0 - p)
    from statistics import NormalDist  # only here, since it takes as long to import as all of ricci.functions

    x = NormalDist().inv_cdf(p)
    for _ in range(2):  # on the logarithm, which is nearly a parabola however far out
        below = 0.5 * math.erfc(-x / math.sqrt(2.0))
        slope = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
        if below == 0 or slope == 0:
            break
        x -= math.log(below / p) * below / slope
    return x


def erfinv(x: float) -> float:
    """The inverse of the error function: near 0 by Newton's method, elsewhere by that of the normal distribution."""
    if not -0.5 < x < 0.5:
        return math.copysign(ndtri(0.5 * (1.0 - abs(x))) * -math.sqrt(0.5), x) if abs(x) <= 1 else math.nan
    y = 0.5 * math.sqrt(math.pi) * x
    for _ in range(6):
        y -= (math.erf(y) - x) * 0.5 * math.sqrt(math.pi) * math.exp(y * y)
    return y


def log_ndtr(x: float) -> float:
    """The logarithm of the normal distribution function; far to the left by its continued fraction."""
    if x > 0:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2.0)))
    if x > -12 or x != x or x == -math.inf:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2.0))) if x != -math.inf else -math.inf
    below = -x
    for k in range(40, 0, -1):
        below = -x + k / below
    return -0.5 * x * x - 0.5 * math.log(2.0 * math.pi) - math.log(below)


def lgamma(x: float) -> float:
    return math.inf if _pole(x) else math.lgamma(x)


def _pole(x: float) -> bool:
    """Whether the gamma function has a pole there: 0, -1, -2, …"""
    return x <= 0 and (x == -math.inf or x == math.floor(x))


def digamma(x: float) -> float:
    return polygamma(0, x)


def polygamma(n: float, x: float) -> float:
    """The derivative of order ``n`` of the digamma function; NaN where ``n`` is not a whole number."""
    if n != n or x != x or n < 0 or n != int(n):
        return math.nan
    n = int(n)
    if x == math.inf:
        return math.inf if n == 0 else 0.0
    if _pole(x):
        if n:
            return (-1.0) ** (n + 1) * math.inf
        return math.copysign(math.inf, -x) if x == 0 else math.nan
    if x < 0:
        return (-1) ** n * polygamma(n, 1.0 - x) - math.pi * _cot_derivative(n, x)
    return _digamma_right(x) if n == 0 else (-1) ** (n + 1) * math.factorial(n) * _zeta(n + 1, x)


def _power(x: float, n: int) -> float:
    try:
        return x**n
    except OverflowError:
        return math.copysign(math.inf, x) if n % 2 else math.inf


def _cot_derivative(n: int, x: float) -> float:
    """The derivative of order ``n`` of ``cot(pi x)``: polynomials in the cotangent, ``P(n+1) = -(1 + c**2) P(n)'``."""
    cot = 1.0 / math.tan(math.pi * (x - round(x)))
    coefs = [0, 1]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(coefs)][1:]
        coefs = [-a - b for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return math.pi**n * math.fsum(c * _power(cot, k) for k, c in enumerate(coefs) if c)


def _digamma_right(x: float) -> float:
    steps = []
    while x < _FAR:
        steps.append(-1.0 / x)
        x += 1.0
    series = [-float(b) / (2 * k) * (1.0 / x) ** (2 * k) for k, b in enumerate(_BERNOULLI, 1)]
    return math.fsum([*steps, math.log(x), -0.5 / x, *series])


def _zeta(s: int, a: float) -> float:
    """The Hurwitz zeta function for a whole ``s > 1`` and ``a > 0``."""
    parts = []
    while a < _FAR + s:
        parts.append(_power(a, -s))
        a += 1.0
    parts += [a ** (1 - s) / (s - 1), a**-s / 2]
    rising = float(s)
    for k, b in enumerate(_BERNOULLI, 1):
        parts.append(float(b) / math.factorial(2 * k) * rising * a ** (1 - s - 2 * k))
        rising *= (s + 2 * k - 1) * (s + 2 * k)
    return math.fsum(parts)
