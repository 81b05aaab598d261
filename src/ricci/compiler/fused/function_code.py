"""Functions of floats as instructions of LLVM without branches, so that loops over them become vector code.

They are those of ``scalars.py``, by the same numbers: what is said there of ranges and errors holds here. Each is
written once as a function of its own, which LLVM puts in place of its calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci.compiler.fused.coefficients import TABLES

FRACTION = {"float64": 52, "float32": 23}  # bits


class Scribe:
    """Writes a function, by means of a writer of instructions."""

    def __init__(self, writer: Any, dtype: str):
        self.put, self.number, self.compare, self.select = writer.put, writer.number, writer.compare, writer.select
        self.native, self.call, self.real_of = writer.native, writer.function_of, writer.real
        self.type, self.int = writer.type, "i64" if dtype == "float64" else "i32"
        self.dtype, self.table, self.fraction = dtype, TABLES[dtype], FRACTION[dtype]
        self.magic = 1.5 * 2.0**self.fraction

    # Arithmetic, in which a product may be added to before it is rounded

    def of(self, value: str | float) -> str:
        return value if isinstance(value, str) else self.number(value)

    def plus(self, a: str | float, b: str | float) -> str:
        return self.real_of("fadd contract", self.of(a), self.of(b))

    def minus(self, a: str | float, b: str | float) -> str:
        return self.real_of("fsub contract", self.of(a), self.of(b))

    def times(self, a: str | float, b: str | float) -> str:
        return self.real_of("fmul contract", self.of(a), self.of(b))

    def over(self, a: str | float, b: str | float) -> str:
        return self.real_of("fdiv", self.of(a), self.of(b))

    def series(self, coefs: Sequence[float], x: str) -> str:
        """A polynomial, by Horner's scheme."""
        total = self.number(coefs[-1])
        for coef in coefs[-2::-1]:
            total = self.plus(self.times(total, x), coef)
        return total

    def chosen(self, how: str, a: str | float, b: str | float, yes: str | float, no: str | float) -> str:
        return self.select(self.compare(how, self.of(a), self.of(b)), self.of(yes), self.of(no))

    # Bits

    def whole(self, op: str, a: str, b: str | int) -> str:
        return self.put(f"{op} {self.int} {a}, {b}")

    def bits(self, x: str) -> str:
        return self.put(f"bitcast {self.type} {x} to {self.int}")

    def floating(self, n: str) -> str:
        return self.put(f"bitcast {self.int} {n} to {self.type}")

    def bits_of(self, value: float) -> int:
        real = np.dtype(self.dtype).type(value)
        return int(real.view(f"i{real.itemsize}"))

    def scaled(self, p: str, shifted: str) -> str:
        """``p`` times 2 to the whole number to which ``shifted`` was rounded, in two steps."""
        n = self.whole("sub", self.bits(shifted), self.bits_of(self.magic))
        half = self.whole("ashr", n, 1)
        for part in (half, self.whole("sub", n, half)):
            power = self.whole("add", self.whole("shl", part, self.fraction), self.bits_of(1.0))
            p = self.real_of("fmul", p, self.floating(power))
        return p

    def reduced(self, x: str) -> tuple[str, str]:
        """``shifted`` and ``r`` of ``x = k log 2 + r``."""
        high, low = self.table["log2"]
        shifted = self.plus(self.times(x, 1 / math.log(2)), self.magic)
        k = self.minus(shifted, self.magic)
        return shifted, self.minus(self.minus(x, self.times(k, high)), self.times(k, low))

    def within(self, x: str, least: float, most: float) -> str:
        x = self.chosen("ogt", x, most, most, x)
        return self.chosen("olt", x, least, least, x)

    def small_exp(self, r: str) -> str:
        """``exp(r) - 1`` where r is small."""
        return self.plus(r, self.times(self.times(r, r), self.series(self.table["exp"], r)))


def _exp(s: Scribe, x: str) -> str:
    shifted, r = s.reduced(s.within(x, s.table["least"], s.table["most"]))
    return s.scaled(s.plus(1.0, s.small_exp(r)), shifted)


def _expm1(s: Scribe, x: str) -> str:
    shifted, r = s.reduced(s.within(x, -40.0, s.table["most"]))
    power = s.scaled(s.number(0.5), shifted)
    made = s.times(2.0, s.plus(s.times(power, s.small_exp(r)), s.minus(power, 0.5)))
    return s.chosen("oeq", x, 0.0, x, made)


def _log(s: Scribe, x: str) -> str:
    high, low = s.table["log2"]
    tiny, digits = float(np.finfo(s.dtype).tiny), s.fraction + 2
    small = s.compare("olt", x, s.number(tiny))
    y = s.select(small, s.times(x, 2.0**digits), x)
    above = s.whole("sub", s.bits(y), s.bits_of(0.5**0.5))
    power = s.whole("add", s.whole("ashr", above, s.fraction), s.bits_of(s.magic))
    e = s.minus(s.minus(s.floating(power), s.magic), s.select(small, s.number(digits), s.number(0.0)))
    f = s.minus(s.floating(s.whole("sub", s.bits(y), s.whole("and", above, -(2**s.fraction)))), 1.0)
    part = s.over(f, s.plus(2.0, f))
    z, square = s.times(part, part), s.times(s.times(0.5, f), f)
    more = s.times(part, s.plus(square, s.times(z, s.series(s.table["log"], z))))
    made = s.plus(s.times(e, high), s.plus(s.times(e, low), s.minus(f, s.minus(square, more))))
    made = s.chosen("oeq", x, math.inf, x, made)
    made = s.chosen("oeq", x, 0.0, -math.inf, made)
    return s.chosen("oge", x, 0.0, made, math.nan)


def _log1p(s: Scribe, x: str) -> str:
    u = s.real_of("fadd", s.number(1.0), x)
    off = s.over(s.real_of("fsub", x, s.real_of("fsub", u, s.number(1.0))), u)
    value = s.call("log", u)
    inside = s.put(f"and i1 {s.compare('ogt', u, s.number(0.0))}, {s.compare('olt', u, s.number(math.inf))}")
    value = s.select(inside, s.plus(value, off), value)
    return s.chosen("oeq", x, 0.0, x, value)


def _tanh(s: Scribe, x: str) -> str:
    t = s.call("expm1", s.times(-2.0, s.native("fabs", x)))
    return s.native("copysign", s.over(s.put(f"fneg {s.type} {t}"), s.plus(t, 2.0)), x)


WRITTEN: dict[str, Callable[[Scribe, str], str]] = {
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "tanh": _tanh,
}
