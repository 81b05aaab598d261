"""Ufuncs, entry by entry: those that are rows of ``ricci.functions``, and those that are made of them.

The type of a result is what the ufunc itself says it is for these operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ricci.caches import cached
from ricci.errors import DTypeError
from ricci.expr import POWER, Expr, conj, constant, numeric
from ricci.expr.build.conjugates import I
from ricci.functions import activations as act
from ricci.functions import elementwise as e
from ricci.functions.complexes import angle as angle_of
from ricci.functions.complexes import as_complex
from ricci.functions.complexes import imag as imag_part
from ricci.functions.complexes import real as real_part
from ricci.functions.table import named_in
from ricci.tracing.arguments import Type
from ricci.tracing.array import Traced
from ricci.tracing.basics import BOOL, NeedsValueError, common, fresh, lift, pointwise, python_type, real_type
from ricci.tracing.casting import truncated
from ricci.tracing.lowerings import lowers

Build = Callable[..., Expr]


def result_type(ufunc: np.ufunc, *operands: Traced) -> np.dtype:
    """The type that NumPy computes ``ufunc`` in; Python's numbers count by kind only."""
    return _result_type(ufunc, tuple([python_type(x) or x.dtype for x in operands]))


@cached("types of results", 1024)
def _result_type(ufunc: np.ufunc, given: tuple) -> np.dtype:
    types: list[Any] = list(given)
    if all(isinstance(t, type) for t in types):
        types[0] = np.dtype(types[0])
    try:
        return ufunc.resolve_dtypes((*types, *[None] * ufunc.nout))[-1]
    except TypeError:
        listed = " and ".join([str(np.dtype(t)) for t in types])
        raise DTypeError(f"np.{ufunc.__name__} is not for the types {listed}.") from None


def ufunc_row(ufunc: np.ufunc, build: Build, module: str = __name__) -> None:
    """A row of the table for a ufunc, listed with those of ``module``."""

    def lower(*xs: Traced, dtype: Type = None) -> Traced:
        found = result_type(ufunc, *xs) if dtype is None else dtype
        _check_types(f"np.{ufunc.__name__}", xs, found, dtype is not None)
        xs = (xs[0], _fixed(xs[1])) if build is POWER else xs
        xs = (_as_complex(xs[0]), *xs[1:]) if found.kind == "c" and ufunc in BRANCHED else xs
        return pointwise(build, *xs, dtype=found)

    lower.__name__ = ufunc.__name__
    lower.__module__ = module
    lowers(ufunc)(lower)


def _fixed(exponent: Traced) -> Traced:
    """Whole exponents, which no derivative changes: that of a power with such, or with none, has a value at 0 too."""
    known = exponent.dtype.kind not in "iu" or numeric(exponent.expr) is not None
    return exponent if known else fresh(e.stop_gradient(exponent.expr), exponent.dtype, exponent.weak)


def _as_complex(x: Traced) -> Traced:
    """An operand whose values are real, of a function that is another one of complex numbers: a root, say."""
    return x if x.expr.complex else fresh(as_complex(x.expr), x.dtype, x.weak)


def _check_types(name: str, xs: Sequence[Traced], found: np.dtype, asked: bool) -> None:
    """Whether operands can be had in the type of the result, as NumPy wants it."""
    for x in xs:
        if asked and not np.can_cast(x.dtype, found, "same_kind"):
            raise DTypeError(f"{name}: operands of the type {x.dtype} cannot be cast to dtype={found}; use .astype.")
        number = numeric(x.expr) if x.weak and found.kind in "iu" else None
        if number is not None and not np.iinfo(found).min <= number <= np.iinfo(found).max:
            raise DTypeError(
                f"{name}: the number {number} is out of the range of {found}, the type of the other operand."
            )


def heaviside(x: Expr, middle: Expr) -> Expr:
    return e.where(e.less(x, 0), 0, e.where(e.less(0, x), 1, e.where(e.equal(x, 0), middle, math.nan)))


def floor_divide(a: Expr, b: Expr) -> Expr:
    """By the remainder, which is exact; the quotient of what is left is a whole number but for rounding."""
    below = e.where(e.less(e.sign(a) * e.sign(b), 0), -1, 0)  # where b is infinite, and a is not
    finite = e.where(e.less(e.abs_(a), constant(math.inf)), below, math.nan)
    endless = e.equal(e.abs_(b), constant(math.inf))
    return e.where(e.equal(b, 0), a / b, e.where(endless, finite, e.round_((a - e.mod(a, b)) / b)))


def fmod(a: Expr, b: Expr) -> Expr:
    """The remainder with the sign of ``a``."""
    size = e.abs_(b)
    return e.where(e.less(a, 0), -e.mod(-a, size), e.mod(a, size))


def copysign(a: Expr, b: Expr) -> Expr:
    size = e.abs_(a)
    return e.where(signbit(b), -size, size)


def signbit(x: Expr) -> Expr:
    """Of zeros, which are equal, the reciprocals tell them apart."""
    return e.where(e.equal(x, 0), e.less(1 / x, 0), e.less(x, 0))


def is_nan(x: Expr) -> Expr:
    return e.not_equal(x, x)


def _other_if_nan(pick: Build) -> Build:
    """``np.fmax`` and ``np.fmin``: NaN loses."""
    return lambda a, b: e.where(is_nan(a), b, e.where(is_nan(b), a, pick(a, b)))


def logaddexp2(a: Expr, b: Expr) -> Expr:
    two = e.log(2)
    return act.logaddexp(a * two, b * two) / two


def _truth(x: Expr) -> Expr:
    return e.not_equal(x, 0)


def sinc(x: Expr) -> Expr:
    """``sin(πx)/(πx)``; near 0, where that cannot be differentiated, its series."""
    angle = e.PI * x
    near = e.less(e.abs_(angle), Fraction(1, 50))
    far = e.where(near, 1, angle)
    square = angle**2
    series = constant(1)
    for k in range(5, 0, -1):
        series = 1 - square / (2 * k * (2 * k + 1)) * series
    return e.where(near, series, e.sin(far) / far)


_NAMED = {name: (getattr(np, name, None), row) for name, row in named_in("np").items()}
UFUNCS: dict[np.ufunc, Build] = {  # the rows, and what is made of them
    **{ufunc: row for ufunc, row in _NAMED.values() if isinstance(ufunc, np.ufunc)},
    np.floor_divide: floor_divide,
    np.fmod: fmod,
    np.positive: lambda x: x,
    np.copysign: copysign,
    np.heaviside: heaviside,
    np.trunc: truncated,
    np.deg2rad: lambda x: x * e.PI / 180,
    np.radians: lambda x: x * e.PI / 180,
    np.rad2deg: lambda x: x * 180 / e.PI,
    np.degrees: lambda x: x * 180 / e.PI,
    np.fmax: _other_if_nan(e.maximum),
    np.fmin: _other_if_nan(e.minimum),
    np.logaddexp2: logaddexp2,
    np.logical_and: lambda a, b: _truth(a) * _truth(b),
    np.logical_or: lambda a, b: e.maximum(_truth(a), _truth(b)),
    np.logical_xor: lambda a, b: e.not_equal(_truth(a), _truth(b)),
    np.logical_not: lambda x: e.equal(x, 0),
    np.isnan: is_nan,
    np.isinf: lambda x: e.equal(e.abs_(x), constant(math.inf)),
    np.isfinite: lambda x: e.less(e.abs_(x), constant(math.inf)),
    np.signbit: signbit,
    np.conjugate: conj,
}
BRANCHED = {np.sqrt, np.log, np.log2, np.log10, np.log1p, np.power, np.float_power, np.arcsin, np.arccos, np.arccosh}
BRANCHED |= {np.arctanh}
for _ufunc, _build in UFUNCS.items():
    ufunc_row(_ufunc, _build)


def _two_results(ufunc: np.ufunc, first: Build, second: Build) -> None:
    """A row for a ufunc that has two results."""

    def lower(*xs: Traced) -> tuple[Traced, Traced]:
        dtype = result_type(ufunc, *xs)
        return pointwise(first, *xs, dtype=dtype), pointwise(second, *xs, dtype=dtype)

    lower.__name__, lower.__module__ = ufunc.__name__, __name__
    lowers(ufunc)(lower)


_two_results(np.divmod, floor_divide, e.mod)
_two_results(np.modf, lambda x: fmod(x, constant(1)), truncated)


def _on_truths(ufunc: np.ufunc, build: Build) -> None:
    """A bitwise function: of truth values only."""

    def lower(*xs: Traced) -> Traced:
        for x in xs:
            if x.dtype != BOOL:
                raise DTypeError(f"np.{ufunc.__name__} is traced for truth values, not for the type {x.dtype}.")
        return pointwise(build, *xs, dtype=BOOL)

    lower.__name__ = ufunc.__name__
    lower.__module__ = __name__
    lowers(ufunc, note="of truth values")(lower)


_on_truths(np.bitwise_and, UFUNCS[np.logical_and])
_on_truths(np.bitwise_or, UFUNCS[np.logical_or])
_on_truths(np.bitwise_xor, UFUNCS[np.logical_xor])
_on_truths(np.invert, UFUNCS[np.logical_not])


@lowers(np.clip)
def clip(x: Traced, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Traced:
    low, high = a_min if min is None else min, a_max if max is None else max
    bounds = [b for b in (low, high) if b is not None]
    dtype = common(x, *bounds)
    if low is not None:
        x = pointwise(e.maximum, x, lift(low), dtype=dtype)
    return x if high is None else pointwise(e.minimum, x, lift(high), dtype=dtype)


@lowers(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Traced:
    if x is None or y is None:
        raise NeedsValueError("np.where(condition) has a shape that depends on values; give it two branches.")
    chosen = lift(condition)
    chosen = pointwise(_truth, chosen, dtype=BOOL) if chosen.expr.complex else chosen
    return pointwise(e.where, chosen, lift(x), lift(y), dtype=common(x, y))


@lowers(np.round, np.around)
def round_(x: Traced, decimals: int = 0) -> Traced:
    if x.dtype.kind in "iu" and decimals >= 0:
        return x
    scale = constant(10**decimals if decimals >= 0 else Fraction(1, 10**-decimals))
    if x.expr.complex:
        return _by_parts(lambda part: round_(part, decimals), x)
    return pointwise(lambda v: e.round_(v * scale) / scale, x, dtype=x.dtype)


def _by_parts(function: Callable[[Traced], Traced], x: Traced) -> Traced:
    """A function of the real and of the imaginary part."""
    dtype = real_type(x.dtype)
    parts = [function(fresh(part(x.expr), dtype, x.weak)).expr for part in (real_part, imag_part)]
    return fresh(parts[0] + I * parts[1], x.dtype, x.weak)


@lowers(np.fix)
def fix(x: Traced) -> Traced:
    return pointwise(truncated, x, dtype=result_type(np.trunc, x))


@lowers(np.sinc)
def sinc_(x: Traced) -> Traced:
    return pointwise(sinc, x, dtype=result_type(np.sin, x))


@lowers(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Traced:
    x = lift(x)
    if x.expr.complex:
        return _by_parts(lambda part: nan_to_num(part, copy, nan, posinf, neginf), x)
    info = np.finfo(x.dtype) if x.dtype.kind == "f" else None
    if info is None:
        return x
    high = float(info.max) if posinf is None else posinf
    low = float(info.min) if neginf is None else neginf
    inf = constant(math.inf)

    def build(v: Expr, nan: Expr, high: Expr, low: Expr) -> Expr:
        return e.where(is_nan(v), nan, e.where(e.equal(v, inf), high, e.where(e.equal(v, -inf), low, v)))

    return pointwise(build, x, lift(nan), lift(high), lift(low), dtype=x.dtype)


@lowers(np.real)
def real(val: Any) -> Traced:
    x = lift(val)
    return pointwise(real_part, x, dtype=real_type(x.dtype))


@lowers(np.real_if_close)
def real_if_close(a: Traced, tol: float = 100) -> Traced:
    if a.dtype.kind != "c":
        return a
    raise NeedsValueError(
        "np.real_if_close gives real or complex numbers by their values, which are not known while the function is "
        "traced. Write z.real."
    )


@lowers(np.imag)
def imag(val: Any) -> Traced:
    x = lift(val)
    return pointwise(imag_part if x.expr.complex else lambda v: v * 0, x, dtype=real_type(x.dtype))


@lowers(np.angle)
def angle(z: Any, deg: bool = False) -> Traced:
    x = lift(z)
    if x.expr.complex:
        scale = 180 / e.PI if deg else constant(1)
        return pointwise(lambda v: angle_of(v) * scale, x, dtype=real_type(x.dtype))
    half = 180 if deg else e.PI
    return pointwise(lambda v: e.where(e.less(v, 0), half, 0), x, dtype=result_type(np.sin, x))


@lowers(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Traced:
    def build(a: Expr, b: Expr, rtol: Expr, atol: Expr) -> Expr:
        near = e.less_equal(e.abs_(a - b), atol + rtol * e.abs_(b))
        found = e.maximum(near, e.equal(a, b))
        return e.maximum(found, is_nan(a) * is_nan(b)) if equal_nan else found

    return pointwise(build, lift(a), lift(b), lift(rtol), lift(atol), dtype=BOOL)
