"""Numbers of the core: ``int``, ``Fraction`` and ``float``, brought to one form.

Two equal numbers must be one key of the intern table, whatever they were written as: ``2``, ``2.0`` and
``Fraction(2)`` are ``2``; ``0.5`` is ``1/2``. Floats with long binary fractions (``0.1``) stay floats, since the user
meant the decimal. Constants never decide a dtype, so nothing is lost by this.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce

from ricci.errors import DTypeError

Number = int | Fraction | float
_LARGEST_DENOMINATOR = 1024
_LARGEST_BITS = 1020  # a larger whole number is infinite as a float


def number(value: object) -> Number:
    """``value`` in its one form.

    >>> number(2.0), number(0.5), number(0.1)
    (2, Fraction(1, 2), 0.1)
    """
    if type(value) is int:
        return value if value.bit_length() <= _LARGEST_BITS else math.copysign(math.inf, value)
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return _from_float(float(value)) if isinstance(value, float) else int(value)
    raise DTypeError(f"{value!r} is not a real number; ricci's constants are integers, fractions and floats.")


def _from_float(value: float) -> Number:
    if math.isnan(value):
        return math.nan
    if math.isinf(value):
        return value
    exact = Fraction(value)
    if exact.denominator == 1:
        return exact.numerator if abs(exact.numerator) < 2**53 else value
    return exact if exact.denominator <= _LARGEST_DENOMINATOR else value


def divide(a: Number, b: Number) -> Number:
    """``a / b``, exact for rational numbers."""
    if isinstance(a, float) or isinstance(b, float):
        return number(float(a) / float(b))
    return number(Fraction(a) / Fraction(b))


def integer_power(base: Number, exponent: int) -> Number | None:
    """``base ** exponent`` for an integer exponent, exact for rational bases; None where it would be very long."""
    if base == 0 and exponent < 0:
        return math.inf
    if isinstance(base, float):
        try:
            return number(base**exponent)
        except OverflowError:
            return math.inf if base > 0 or exponent % 2 == 0 else -math.inf
    bits = max(abs(base.numerator), base.denominator).bit_length()
    return number(Fraction(base) ** exponent) if bits * abs(exponent) <= _LARGEST_BITS else None


def content(coefs: Iterable[Number]) -> Number:
    """The number to take out of a sum so that what is left does not depend on how it was scaled.

    >>> content([4, -6]), content([Fraction(-1, 2), Fraction(3, 2)]), content([0.1, 0.2])
    (2, Fraction(-1, 2), 1)
    """
    coefs = list(coefs)
    sign = -1 if coefs[0] < 0 else 1
    if any(isinstance(c, float) for c in coefs):
        size = abs(coefs[0])
        return sign * size if all(abs(c) == size for c in coefs) and size else sign
    top = reduce(math.gcd, (Fraction(c).numerator for c in coefs))
    bottom = reduce(math.lcm, (Fraction(c).denominator for c in coefs))
    return number(Fraction(sign * top, bottom))
