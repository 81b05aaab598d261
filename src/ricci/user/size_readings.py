"""Numbers in which sizes are hidden: which ones may be, and which sizes explain them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from ricci.expr import Dim, Size

SMALL = 40  # numbers up to this are taken as they are
MOST_BELOW = 2500  # in fractions of sizes
POWERS = tuple(map(Fraction, ("1", "-1", "1/2", "-1/2", "2", "-2")))  # of sizes, in numbers
ADDED = (0, -1, 1, -2, 2, -3, 3)  # to sizes, in numbers


def is_large(number: Any) -> bool:
    """Whether a size may be hidden in a number."""
    if isinstance(number, (int, Fraction)):
        return max(abs(number.numerator), number.denominator) > SMALL
    return isinstance(number, float) and math.isfinite(number) and number != 0


def scaled_sizes(
    here: Sequence[Any], there: Sequence[Any], sizes: Sequence[tuple[int, int]]
) -> dict[Any, tuple[Any, int, int, Fraction]]:
    """The numbers that are ``c (n + k)**power`` where others, for the sizes ``m``, have ``c (m + k)**power``.

    Each with the constant ``c``, the place of the size, ``k`` and the power; the smallest ``k`` that explains it.
    """
    found: dict[Any, tuple[Any, int, int, Fraction]] = {}
    for more in ADDED:
        for power in POWERS:
            for place, (n, m) in enumerate(sizes):
                constants = {_rounded(_constant(b, m + more, power)) for b in there} - {None}
                for a in here:
                    constant = _constant(a, n + more, power)
                    if constant is not None and _rounded(constant) in constants:
                        found.setdefault(a, (constant, place, more, power))
    return found


def _constant(number: Any, size: int, power: Fraction) -> Any:
    """The constant that a power of the size is multiplied with; none where it would be strange."""
    if isinstance(number, float):
        return shortest(number / float(size) ** float(power))
    return None if power.denominator > 1 else Fraction(number) / Fraction(size) ** power.numerator


def _rounded(number: Any) -> Any:
    return f"{number:.10e}" if isinstance(number, float) else number


def shortest(number: Any) -> Any:
    value = float(number)
    return int(value) if value.is_integer() else value


def nearest(number: Any) -> Any:
    """An entry of an array as the fraction that it is of numbers that sizes may be, if it is one."""
    value = float(number)
    if not math.isfinite(value):
        return value
    exact = Fraction(value).limit_denominator(MOST_BELOW)
    return exact if math.isclose(exact, value, rel_tol=1e-14) else value


def readings(sizes: Mapping[int, Dim]) -> dict[int, Size]:
    """Numbers that sizes explain, each by the simplest of what explains it."""
    found: dict[int, Size] = {}

    def note(number: int, size: Size) -> None:
        if number > SMALL:
            found.setdefault(number, size)

    single = list(sizes.items())
    for n, size in single:
        note(n, size)
    for n, size in single:
        note(n * (n - 1) // 2, size * (size - 1) // 2)
        note(n * (n + 1) // 2, size * (size + 1) // 2)
        for k in range(1, 9):
            for at in (k, -k):
                note(n + at, size + at)
    pairs = [(n * m, a * b) for (n, a), (m, b) in combinations(single, 2)]
    pairs += [(n * n, a * a) for n, a in single]
    triples = [(n * m, a * b) for n, a in pairs for m, b in single]
    if len(single) < 4:
        triples += [(n * m, a * b) for n, a in pairs for m, b in pairs]
    for n, size in [*pairs, *triples]:
        note(n, size)
    for n, size in [*single, *pairs, *triples]:
        for k in range(2, 9):
            note(k * n, k * size)
            if n in sizes:
                note(k * n + 1, k * size + 1)
                note(k * n - 1, k * size - 1)
    for n, size in [*single, *pairs]:
        for k in (2, 3, 4):
            note(n // k, size // k)
            note(-(-n // k), (size + k - 1) // k)
    for (n, a), (m, b) in combinations(single, 2):
        for at in range(-2, 3):
            note(n + m + at, a + b + at)
            note(abs(n - m) + at, (a - b if n > m else b - a) + at)
    return found
