"""Which functions may be applied to which values, so that a comparison of two evaluations means something.

A random operand is only given to a function where the function is defined and well conditioned. Functions with jumps
are only given *exact* operands: whole multiples of a small power of two, on which floating-point arithmetic in any
order gives the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

LARGEST = 1e3  # of any entry of a random expression
_FINEST = 2**8  # the largest denominator of an exact entry

ANY = float("-inf"), float("inf")
UNARY: dict[str, tuple[float, float]] = {  # the interval in which all entries of the operand must be
    **dict.fromkeys(("abs", "tanh", "sin", "cos", "atan", "asinh", "sigmoid", "softplus", "relu", "leaky_relu"), ANY),
    **dict.fromkeys(("log_ndtr", "elu", "gelu", "silu", "erf", "erfc", "stop_gradient", "barrier"), ANY),
    **dict.fromkeys(("exp", "exp2", "expm1", "sinh", "cosh"), (-6, 4)),
    **dict.fromkeys(("log", "log2", "log10", "cbrt"), (0.1, LARGEST)),
    **dict.fromkeys(("lgamma", "digamma"), (0.5, LARGEST)),
    **dict.fromkeys(("asin", "acos", "atanh", "log1p"), (-0.9, 0.9)),
    "erfinv": (-0.9, 0.9),
    "ndtri": (0.1, 0.9),
    "tan": (-1, 1),
    "acosh": (1.1, LARGEST),
}
JUMPING_UNARY = ("sign", "floor", "ceil", "round")
COMPARISONS = ("less", "less_equal", "equal", "not_equal")
BINARY = ("maximum", "minimum", "hypot", "logaddexp", "atan2", "power")
KEEPS_EXACTNESS = (*JUMPING_UNARY, *COMPARISONS, "abs", "relu", "maximum", "minimum", "where", "stop_gradient")


def within(values: Iterable[float], bounds: tuple[float, float]) -> bool:
    """Whether all values are in the interval. An empty tensor says nothing, so it is only within all numbers."""
    if bounds == ANY:
        return True
    values = list(values)
    return bool(values) and all(bounds[0] <= v <= bounds[1] for v in values)


def exact(values: Iterable[float]) -> bool:
    return all(Fraction(v).denominator <= _FINEST for v in values)


def sane(values: Iterable[float]) -> bool:
    """Finite and not large; with ``v == v`` for numbers that are not NaN."""
    return all(v == v and abs(v) <= LARGEST for v in values)


def defined(op: str) -> Callable[[list, list], bool]:
    """Whether a function of two operands is well conditioned on the entries of both."""
    if op == "atan2":
        return lambda a, b: within(b, (0.1, LARGEST))
    if op == "power":
        return lambda a, b: within(a, (0.1, 8)) and within(b, (-3, 3))
    if op == "hypot":
        return lambda a, b: within(map(abs, a), (0.1, LARGEST))
    return lambda a, b: True
