"""Numbers of the core: ``int``, ``Fraction`` and ``float``, brought to one form.

Two equal numbers must be one key of the intern table, whatever they were written as: ``2``, ``2.0`` and
``Fraction(2)`` are ``2``; ``0.5`` is ``1/2``. Floats with long binary fractions (``0.1``) stay floats, since the user
meant the decimal. Constants never decide a dtype, so nothing is lost by this. Exact numbers have at most 64 bits above
and below the line; what is longer is a float.

*Magnitudes stay where they are.* ``(1e-6 A) x``, sixty times over, is of the order of ``x``; with the numbers taken out
of the products it would be zero. So a normal form may take a number out of a product or a power only if it is small,
all that is taken out together included (:func:`moves`), and two numbers become one only where that is no more extreme
than what was written (:func:`joins`). Then every intermediate value is that of the program as written, up to a small
factor. Within :func:`loosely` this does not hold: there, expressions are compared and not computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from fractions import Fraction
from functools import reduce

from ricci.errors import DTypeError
from ricci.within import within

Number = int | Fraction | float
_LARGEST_DENOMINATOR = 1024
_EXACT_BITS = 64  # of a whole number, and of both sides of a fraction
_MOVED = 64  # how much larger or smaller an intermediate value may become by taking numbers out
_SMALLEST, _LARGEST = 2.0**-14, 2.0**15  # what float16 holds in full precision
_FAR = 2.0**100
_LOOSE = ContextVar("ricci_loose", default=False)


def number(value: object) -> Number:
    """``value`` in its one form.

    >>> number(2.0), number(0.5), number(0.1)
    (2, Fraction(1, 2), 0.1)
    """
    if type(value) is int:
        return value if value.bit_length() <= _EXACT_BITS else as_float(value)
    if type(value) is float:
        return _from_float(value)
    if isinstance(value, Fraction):
        top, bottom = value.as_integer_ratio()
        if bottom == 1:
            return number(top)
        return value if max(top.bit_length(), bottom.bit_length()) <= _EXACT_BITS else as_float(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return _from_float(float(value)) if isinstance(value, float) else int(value)
    raise DTypeError(f"{value!r} is not a real number; ricci's constants are integers, fractions and floats.")


def _from_float(value: float) -> Number:
    if value.is_integer():
        return int(value) if abs(value) < 2**53 else value
    if (value * _LARGEST_DENOMINATOR).is_integer():  # denominators of floats are powers of two
        return Fraction(value)
    return value if value == value else math.nan


def as_float(value: Number) -> float:
    """A number as a float; one that is too large for floats is infinite, as in floats it would be."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def loosely() -> AbstractContextManager[None]:
    """For comparing: numbers move freely, and sums are multiplied out, so that more forms become one."""
    return within(_LOOSE, True)


loose = _LOOSE.get


def moves(c: Number) -> bool:
    """Whether ``c`` may be taken out of a product or a power.

    >>> moves(2), moves(-0.3), moves(1e-6)
    (True, True, False)
    """
    if type(c) is Fraction:
        top, bottom = c.as_integer_ratio()
        return bottom <= _MOVED * abs(top) <= _MOVED * _MOVED * bottom or loose()
    return 1 <= _MOVED * abs(c) <= _MOVED * _MOVED or loose()


def joins(a: Number, b: Number) -> bool:
    """Whether ``a * b`` may stand for a multiplication by both: it is common, or less extreme than one of them.

    >>> joins(1e-3, 1e3), joins(2, 1e-9), joins(1e-9, 1e-9)
    (True, True, False)
    """
    if (type(a) is int and a == 1) or (type(b) is int and b == 1):
        return True
    a, b = abs(float(a)), abs(float(b))
    both = a * b
    if _SMALLEST <= both <= _LARGEST or 1 in (a, b) or loose():
        return True
    far = max(a, 1 / a) if a else math.inf, max(b, 1 / b) if b else math.inf
    now = max(both, 1 / both) if both else math.inf
    return now <= max(far) or (min(far) <= 4 and now <= _FAR)


def times(a: Number, b: Number) -> Number:
    """``a * b``, where one of them is often 1: a fraction takes its time to find that out."""
    if type(a) is int and a == 1:
        return b
    return a if type(b) is int and b == 1 else a * b


def exact_factor(c: Number) -> bool:
    """Whether multiplying by ``c`` rounds nothing: a power of two, or its negative."""
    if isinstance(c, float):
        return abs(math.frexp(c)[0]) == 0.5
    top, bottom = c.as_integer_ratio()
    top = abs(top)
    return top & (top - 1) == 0 and bottom & (bottom - 1) == 0


def divide(a: Number, b: Number) -> Number:
    """``a / b``, exact for rational numbers."""
    if isinstance(a, float) or isinstance(b, float):
        return number(float(a) / float(b))
    if type(b) is int and (b == 1 or b == -1):
        return number(a if b == 1 else -a)
    return number(Fraction(a, b))


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
    return number(Fraction(base) ** exponent) if bits * abs(exponent) <= 16 * _EXACT_BITS else None


def content(coefs: Iterable[Number]) -> Number:
    """The number to take out of a sum so that what is left hardly depends on how it was scaled.

    Of whole numbers it is their common divisor; of fractions likewise, if that leaves ones and twos, and otherwise the
    largest of them, so that ``x - mean(x)`` stays what it is. Floats are taken out where all are of one size.

    >>> content([4, -6]), content([Fraction(-1, 2), Fraction(1, 4)]), content([1, Fraction(-1, 512)])
    (2, Fraction(-1, 4), 1)
    """
    coefs = list(coefs)
    sign = -1 if coefs[0] < 0 else 1
    if coefs.count(1) + coefs.count(-1) == len(coefs):
        return sign
    largest = max(abs(c) for c in coefs)
    if any(isinstance(c, float) for c in coefs):
        return sign * largest if all(abs(c) == largest for c in coefs) and 0 < largest < math.inf else sign
    top = reduce(math.gcd, [c.numerator for c in coefs])  # type: ignore[union-attr]
    bottom = reduce(math.lcm, [c.denominator for c in coefs])  # type: ignore[union-attr]
    divisor = Fraction(top, bottom)
    return number(sign * (divisor if bottom == 1 or largest <= 2 * divisor else largest))
