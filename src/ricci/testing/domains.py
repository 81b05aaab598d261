"""Which functions may be applied to which values, so that a comparison of two evaluations means something.

A random operand is only given to a function where the function is defined and well conditioned. Functions with jumps
are only given *exact* operands: whole multiples of a small power of two, on which floating-point arithmetic in any
order gives the same result.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from ricci.expr import OPS
from ricci.functions import FUNCTIONS
from ricci.functions.rows import ANY as ANY
from ricci.functions.rows import LARGE

LARGEST = LARGE  # of any entry of a random expression
_FINEST = 2**8  # the largest denominator of an exact entry
_REAL = [(name, op) for name, op in OPS.items() if op.complex != "always"]  # of real numbers
_ENTRYWISE = [(name, op) for name, op in _REAL if op.kind == "elementwise" and name in FUNCTIONS]

# the interval in which all entries of the operand must be
UNARY: dict[str, tuple[float, float]] = {name: op.tame[0] for name, op in _ENTRYWISE if op.tame and op.arity == 1}
BINARY = [name for name, op in _ENTRYWISE if op.tame and op.arity == 2]
JUMPING_UNARY = [name for name, op in _ENTRYWISE if op.whole == "always" and op.arity == 1]
COMPARISONS = [name for name, op in _ENTRYWISE if op.type == "truth"]
KEEPS_EXACTNESS = {name for name, op in _ENTRYWISE if op.whole}


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


def defined(op: str, operands: Iterable[Iterable[float]]) -> bool:
    """Whether a function is well conditioned on the entries of its operands."""
    return all(within(values, bounds) for values, bounds in zip(operands, OPS[op].tame, strict=True))
