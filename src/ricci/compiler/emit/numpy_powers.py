"""Powers on NumPy whose exponents are few and whole: products, which take a tenth of the time of its ``power``.

``t[:, None] ** np.arange(m)`` has one exponent for many entries. Each power is the product of two lower ones, of about
half the exponent, so none overflows before the result does, and exponents of the same entries share what they are made
of. Exponents are looked at in each call, since they may be an input.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ricci.caches import cached

Array = np.ndarray
MOST_EXPONENTS = 256
HIGHEST = 64
FEWEST_ENTRIES = 48  # with one exponent, from which on products pay for being called
BLOCK = 8192  # entries that are raised at once, so that their powers stay in cache


def power_by_products(x: Array, n: Array, out: Array | None = None) -> Any:
    """``x ** n``, of floats; ``out`` is none of the operands."""
    places = _places(x.shape, n.shape)
    exponents = places and _whole(n)
    if not places or not exponents:
        return np.power(x, n, out)
    if out is None:
        out = np.empty(places.shape, x.dtype)
    base = x.reshape(places.base)
    if places.rows is None:
        _raise(base, exponents, places, out)
        return out
    for start in range(0, base.shape[places.longest], places.rows):
        block = (slice(None),) * places.longest + (slice(start, start + places.rows),)
        _raise(base[block], exponents, places, out[block])
    return out


@dataclass(frozen=True)
class ExponentPlaces:
    """Where exponents are used: the parts of the base, and for each of them which exponents go where in the result.

    ``rows`` is how many of the ``longest`` axis are taken at once, if not all are.
    """

    base: tuple[int, ...]
    shape: tuple[int, ...]
    parts: list[tuple[tuple, list[tuple[int, tuple]]]]
    longest: int
    rows: int | None


@cached("places of exponents", 256)
def _places(own: tuple[int, ...], of_exponents: tuple[int, ...]) -> ExponentPlaces | None:
    """None where there are many exponents, or few entries for each."""
    order = max(len(own), len(of_exponents))
    base, exponents = [(1,) * (order - len(shape)) + shape for shape in (own, of_exponents)]
    each = [axis for axis in range(order) if exponents[axis] == 1]
    entries = math.prod([base[axis] for axis in each])
    if entries < FEWEST_ENTRIES or not 0 < math.prod(exponents) <= MOST_EXPONENTS:
        return None
    parts: dict[tuple[int, ...], list[tuple[int, tuple]]] = {}
    for number, at in enumerate(np.ndindex(exponents)):
        read = tuple([0 if n == 1 else k for n, k in zip(base, at, strict=True)])
        put = tuple([slice(None) if axis in each else k for axis, k in enumerate(at)])
        parts.setdefault(read, []).append((number, put))
    reads = [tuple([slice(None) if axis in each else k for axis, k in enumerate(read)]) for read in parts]
    longest = max(each, key=lambda axis: base[axis])
    rows = None if entries <= 2 * BLOCK else max(1, base[longest] * BLOCK // entries)
    shape = np.broadcast_shapes(base, exponents)
    return ExponentPlaces(base, shape, list(zip(reads, parts.values(), strict=True)), longest, rows)


def _whole(n: Array) -> list[int] | None:
    """The exponents, row by row, if all are whole and none is high."""
    found = n.ravel().tolist()
    return [int(e) for e in found] if all(-HIGHEST <= e <= HIGHEST and e == int(e) for e in found) else None


def _raise(base: Array, exponents: list[int], places: ExponentPlaces, out: Array) -> None:
    for read, uses in places.parts:
        powers = {1: base[read]}
        for number, put in uses:
            out[put] = _power(powers, exponents[number])


def _power(powers: dict[int, Array], n: int) -> Any:
    """The power of exponent ``n``, made of lower ones, which are kept."""
    found = powers.get(n)
    if found is None:
        if n == 0:
            return 1
        if n < 0:
            return np.reciprocal(_power(powers, -n))
        found = powers[n] = np.multiply(_power(powers, n // 2), _power(powers, n - n // 2))
    return found
