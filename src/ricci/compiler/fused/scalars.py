"""The scalar functions of fused kernels, written so that LLVM turns loops over them into vector code.

The C library's functions cost 5 to 20 ns an entry and keep a loop from being vectorised. These have no branches: ranges
are reduced by adding a large number that rounds (``shifted``), powers of two are made of bits, special cases are
selected at the end. Errors stay below 2 units in the last place; NaN and infinities come out as NumPy's do. ``sin``,
``cos`` and ``tan`` are for arguments below :data:`FAR`; a kernel tells its caller when it met a larger one.

- exp: ``x = k log 2 + r``, a polynomial in r, times 2^k in two steps, so that subnormal results are right.
- log: ``x = 2^e m`` with m around 1, and ``log m = 2 artanh(f / (2 + f))``, ``f = m - 1``, as in fdlibm.
- sin, cos: ``x = k π/2 + r`` with π/2 in four parts of 33 bits, so that the products with k are exact; r in two parts.
- erfc: ``exp(-x²) P((x - 4) / (x + 4)) / (1 + 2 x)``, x² in two parts.

The polynomials interpolate at Chebyshev's points. What is not here is the C library's. This module imports Numba.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from ricci.caches import once
from ricci.compiler.fused.coefficients import COS, HALF_PI, SIN, TABLES
from ricci.compiler.fused.kernel_maps import ANGLES, POWERS, ROWS_IN_KERNELS, definition
from ricci.compiler.fused.llvm import FRACTION, NATIVE, bits, exponent, floating, leading, mantissa, scaled
from ricci.expr import Op

FAR = 2.0**20 * math.pi / 2

fabs, copysign, maximum = NATIVE["fabs"], NATIVE["copysign"], NATIVE["maximum"]
scalar = numba.njit(nogil=True, error_model="numpy", fastmath={"contract"}, forceinline=True)
# The one place where the order of additions is free: sums.
plus = numba.njit(nogil=True, fastmath={"contract", "reassoc"}, forceinline=True)(lambda a, b: a + b)
times = numba.njit(nogil=True, fastmath={"contract", "reassoc"}, forceinline=True)(lambda a, b: a * b)
# A product that is compared: it is rounded, whatever it is added to. Numba gives functions the flags of their callers
# unless they say otherwise.
rounded = numba.njit(nogil=True, fastmath=False, forceinline=True)(lambda a, b: a * b)


# The functions. Each maker gets the library, for constants in its type and for other functions.


class ScalarLibrary(dict):
    """The functions for one floating type, made when asked for."""

    def __init__(self, dtype: str):
        super().__init__()
        self.dtype, self.table, self.real = dtype, TABLES[dtype], np.dtype(dtype).type
        self.fraction = FRACTION[dtype]

    def numbers(self, *values: float) -> tuple[Any, ...]:
        return tuple([self.real(value) for value in values])

    def __missing__(self, name: str) -> Callable[..., Any]:
        wide = self.dtype != "float64" and name in ANGLES  # computed in float64
        self[name] = _through_float64(self, name) if wide else MAKERS[name](self)
        return self[name]


@once
def library(dtype: str) -> ScalarLibrary:
    return ScalarLibrary(dtype)


def _through_float64(own: ScalarLibrary, name: str) -> Callable[..., Any]:
    function, real, double = library("float64")[name], own.real, np.float64
    return scalar(lambda x: real(function(double(x))))


def polynomial(coefs: Sequence[Any]) -> Callable[..., Any]:
    """Horner's scheme, written out: coefficients from the constant one up."""
    text = f"c{len(coefs) - 1}"
    for place in range(len(coefs) - 2, -1, -1):
        text = f"({text}) * x + c{place}"
    scope: dict[str, Any] = {"__builtins__": {}, **{f"c{place}": coef for place, coef in enumerate(coefs)}}
    exec(f"def series(x):\n    return {text}\n", scope)
    return scalar(scope["series"])


def _reduced(own: ScalarLibrary) -> Callable[..., Any]:
    """``shifted`` and ``r`` of ``x = k log 2 + r``."""
    per, magic, high, low = own.numbers(1 / math.log(2), 1.5 * 2.0**own.fraction, *own.table["log2"])

    @scalar
    def reduced(x):
        shifted = x * per + magic
        k = shifted - magic
        return shifted, (x - k * high) - k * low

    return reduced


def _exp(own: ScalarLibrary) -> Callable[..., Any]:
    least, most, one = own.numbers(own.table["least"], own.table["most"], 1.0)
    reduced, series = own["reduced"], polynomial(own.numbers(*own.table["exp"]))

    @scalar
    def exp(x):
        x = most if x > most else x
        x = least if x < least else x
        shifted, r = reduced(x)
        return scaled(one + (r + r * r * series(r)), shifted)

    return exp


def _exp2(own: ScalarLibrary) -> Callable[..., Any]:
    least, most, one, log2, magic = own.numbers(
        own.table["least"] * 1.4427, own.table["most"] * 1.4427, 1.0, math.log(2), 1.5 * 2.0**own.fraction
    )
    series = polynomial(own.numbers(*own.table["exp"]))

    @scalar
    def exp2(x):
        x = most if x > most else x
        x = least if x < least else x
        shifted = x + magic
        r = (x - (shifted - magic)) * log2
        return scaled(one + (r + r * r * series(r)), shifted)

    return exp2


def _expm1(own: ScalarLibrary) -> Callable[..., Any]:
    """``2^k (exp(r) - 1) + (2^k - 1)``, at half its size, so that 2^k is there up to the largest result."""
    least, most, half, two = own.numbers(-40.0, own.table["most"], 0.5, 2.0)
    reduced, series = own["reduced"], polynomial(own.numbers(*own.table["exp"]))

    @scalar
    def expm1(x):
        y = most if x > most else x
        y = least if y < least else y
        shifted, r = reduced(y)
        power = scaled(half, shifted)
        part = r + r * r * series(r)
        return x if x == 0 else two * (power * part + (power - half))

    return expm1


def _logarithm(own: ScalarLibrary, base: str) -> Callable[..., Any]:
    """The logarithm to a base: ``per`` units of it are one of the natural one, and ``high + low`` a factor 2."""
    high, low, per = {
        "e": (*own.table["log2"], 1.0),
        "2": (1.0, 0.0, 1 / math.log(2)),
        "10": (*own.table["log10"], 1 / math.log(10)),
    }[base]
    high, low, per, half, one, two, zero = own.numbers(high, low, per, 0.5, 1.0, 2.0, 0.0)
    tiny, up, back = own.numbers(float(np.finfo(own.dtype).tiny), 2.0 ** (own.fraction + 2), own.fraction + 2)
    infinity, nothing = own.numbers(math.inf, math.nan)
    series = polynomial(own.numbers(*own.table["log"]))

    @scalar
    def logarithm(x):
        small = x < tiny
        y = x * up if small else x
        e = exponent(y) - (back if small else zero)
        f = mantissa(y) - one
        s = f / (two + f)
        z = s * s
        square = half * f * f
        part = f - (square - s * (square + z * series(z)))
        result = e * high + (e * low + part * per)
        result = x if x == infinity else result
        result = -infinity if x == 0 else result
        return result if x >= 0 else nothing

    return logarithm


def _log1p(own: ScalarLibrary) -> Callable[..., Any]:
    """The logarithm of ``u = 1 + x`` as rounded, and what rounding took off, ``(x - (u - 1)) / u``."""
    one, infinity = own.numbers(1.0, math.inf)
    log = own["log"]

    @scalar
    def log1p(x):
        u = one + x
        off = (x - (u - one)) / u
        value = log(u)
        value = value + off if (u > 0) & (u < infinity) else value
        return x if x == 0 else value

    return log1p


def _tanh(own: ScalarLibrary) -> Callable[..., Any]:
    two = own.real(2.0)
    expm1 = own["expm1"]

    @scalar
    def tanh(x):
        t = expm1(-two * fabs(x))
        return copysign(-t / (t + two), x)

    return tanh


def _sinh(own: ScalarLibrary) -> Callable[..., Any]:
    """By halves, so that the exponential overflows no sooner than the result."""
    one, half, cut = own.numbers(1.0, 0.5, 20.0)
    expm1, exp = own["expm1"], own["exp"]

    @scalar
    def sinh(x):
        size = fabs(x)
        t = expm1(size)
        root = exp(half * size)
        return copysign(half * root * root if size > cut else half * (t + t / (t + one)), x)

    return sinh


def _cosh(own: ScalarLibrary) -> Callable[..., Any]:
    half = own.real(0.5)
    exp = own["exp"]

    @scalar
    def cosh(x):
        root = exp(half * fabs(x))
        whole = root * root
        return half * root * root + half / whole

    return cosh


def _sigmoid(own: ScalarLibrary) -> Callable[..., Any]:
    one = own.real(1.0)
    exp = own["exp"]

    @scalar
    def sigmoid(x):
        small = exp(-fabs(x))
        return (small if x < 0 else one) / (one + small)

    return sigmoid


def _logaddexp(own: ScalarLibrary) -> Callable[..., Any]:
    log2 = own.real(math.log(2))
    exp, log1p = own["exp"], own["log1p"]

    @scalar
    def logaddexp(x, y):
        return x + log2 if x == y else maximum(x, y) + log1p(exp(-fabs(x - y)))

    return logaddexp


def _angle(_own: ScalarLibrary) -> Callable[..., Any]:
    """The quarter turns in an angle, and what is left of it, in two parts."""
    per, magic = 2 / math.pi, 1.5 * 2.0**52
    p1, p2, p3, p4 = HALF_PI

    @scalar
    def less(a, b):
        difference = a - b
        back = difference - a
        return difference, (a - (difference - back)) - (b + back)

    @scalar
    def angle(x):
        shifted = x * per + magic
        k = shifted - magic
        r, first = less(x - k * p1, k * p2)
        r, second = less(r, k * p3)
        tail = (first + second) - k * p4
        high = r + tail
        return bits(shifted), high, (r - high) + tail

    return angle


def _circular(own: ScalarLibrary, ahead: int) -> Callable[..., Any]:
    """The sine of an angle, or of one that is ``ahead`` quarter turns further."""
    angle, sines, cosines = own["angle"], polynomial(SIN), polynomial(COS)
    half, one, sign = 0.5, 1.0, np.int64(-(2**63))

    @scalar
    def circular(x):
        turns, r, low = angle(x)
        turns = turns + ahead
        z = r * r
        sine = r + (z * (r * sines(z) - half * low) + low)
        square = half * z
        top = one - square
        cosine = top + (((one - top) - square) + (z * z * cosines(z) - r * low))
        value = cosine if turns & 1 else sine
        value = floating(bits(value) ^ ((turns << 62) & sign))
        return x if (x == 0) & (ahead == 0) else value

    return circular


def _tan(own: ScalarLibrary) -> Callable[..., Any]:
    sin, cos = own["sin"], own["cos"]
    return scalar(lambda x: sin(x) / cos(x))


def _erfc(own: ScalarLibrary) -> Callable[..., Any]:
    """The square in two parts, ``x² = h² + (x - h) (x + h)``, h having half of the bits."""
    exp, near, far = own["exp"], polynomial(own.numbers(*own.table["erf"])), polynomial(own.numbers(*own.table["erfc"]))
    around, most, one, two, half = own.numbers(own.table["erfc_around"], own.table["erfc_most"], 1.0, 2.0, 0.5)
    decay = polynomial(own.numbers(1, -1, 1 / 2, -1 / 6, 1 / 24))

    @scalar
    def erfc(x):
        size = fabs(x)
        size = most if size > most else size
        high = leading(size)
        rest = (size - high) * (size + high)
        value = exp(-high * high) * decay(rest) * (far((size - around) / (size + around)) / (one + two * size))
        value = two - value if x < 0 else value
        return one - x * near(x * x) if size < half else value

    return erfc


def _erf(own: ScalarLibrary) -> Callable[..., Any]:
    one, erfc, near = own.real(1.0), own["erfc"], polynomial(own.numbers(*own.table["erf"]))

    @scalar
    def erf(x):
        size = fabs(x)
        return x * near(x * x) if size < one else copysign(one - erfc(size), x)

    return erf


def _sign(own: ScalarLibrary) -> Callable[..., Any]:
    one, zero = own.numbers(1.0, 0.0)

    @scalar
    def sign(x):
        value = one if x > 0 else -one
        value = zero if x == 0 else value
        return value if x == x else x

    return sign


def _power(own: ScalarLibrary, exponent: float) -> Callable[..., Any]:
    """A power, whole or with a half, as products and a square root."""
    whole = math.floor(abs(exponent))
    root, below = abs(exponent) != whole, exponent < 0
    zero, one, infinity = own.numbers(0.0, 1.0, math.inf)

    @scalar
    def power(x):
        y = x + zero if root else x  # -0 counts as 0 under a root
        value = math.sqrt(y) if root else one
        for _ in range(whole):
            value = value * y
        value = infinity if root & (x == -infinity) else value
        return one / value if below else value

    return power


def _of_c(op: Op) -> Callable[[ScalarLibrary], Callable[..., Any]]:
    """A function of the C library, which costs more and keeps a loop from being vectorised."""
    return lambda _own: _written(op.name, operand_names(op), f"function({operand_names(op)})", {"function": named(op)})


def named(op: Op) -> Callable[..., Any]:
    """What a row names in a module of Python's: ``math.asin``."""
    return getattr(math, op.numba.removeprefix("math."))


def operand_names(op: Op) -> str:
    return ", ".join("xyz"[: op.arity])


def _defined(op: Op) -> Callable[[ScalarLibrary], Callable[..., Any]]:
    """A row that is defined by others."""

    def make(own: ScalarLibrary) -> Callable[..., Any]:
        operands, text, numbers = definition(op)
        scope = {**NATIVE, **{name: own.real(value) for name, value in numbers.items()}}
        scope |= {name: own[name] for name in set(re.findall(r"\w+", text)) & MAKERS.keys()}
        return _written(op.name, operands, text, scope)

    return make


def _written(name: str, operands: str, text: str, names: dict[str, Any]) -> Callable[..., Any]:
    scope: dict[str, Any] = {"__builtins__": {}, **names}
    exec(f"def {name}({operands}):\n    return {text}\n", scope)
    return scalar(scope[name])


def _cbrt(own: ScalarLibrary) -> Callable[..., Any]:
    """A step of Newton's after the library's, which in some Numbas is off by more than four units in the last place."""
    (three,) = own.numbers(3.0)

    @scalar
    def cbrt(x):
        y = np.cbrt(x)
        step = (y - x / y / y) / three
        return y - step if step == step else y  # as it is at 0, infinities and NaN

    return cbrt


def _is_far(own: ScalarLibrary) -> Callable[..., Any]:
    far, infinity = own.numbers(FAR, math.inf)
    return scalar(lambda x: (fabs(x) > far) & (fabs(x) < infinity))


MAKERS: dict[str, Callable[[ScalarLibrary], Callable[..., Any]]] = {
    "reduced": _reduced,
    "exp": _exp,
    "exp2": _exp2,
    "expm1": _expm1,
    "log": lambda own: _logarithm(own, "e"),
    "log2": lambda own: _logarithm(own, "2"),
    "log10": lambda own: _logarithm(own, "10"),
    "log1p": _log1p,
    "tanh": _tanh,
    "sinh": _sinh,
    "cosh": _cosh,
    "sigmoid": _sigmoid,
    "logaddexp": _logaddexp,
    "angle": _angle,
    "is_far": _is_far,
    "sin": lambda own: _circular(own, 0),
    "cos": lambda own: _circular(own, 1),
    "tan": _tan,
    "erfc": _erfc,
    "erf": _erf,
    "sign": _sign,
    "cbrt": _cbrt,
    "power": lambda _own: scalar(lambda x, y: x**y),
    **{name: (lambda own, n=n: _power(own, n)) for n, name in POWERS.items()},
}
for _name, _op in ROWS_IN_KERNELS.items():
    if _op.by is not None and not _op.numba:
        MAKERS[_name] = _defined(_op)
    elif "." in _op.numba:
        MAKERS.setdefault(_name, _of_c(_op))
