"""Operations entry by entry: arithmetic, comparisons, functions of one number, choices between two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.errors import InputError
from ricci.functions.elementwise import stop_gradient
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift, like
from ricci.tracing.casting import cast
from ricci.tracing.own_functions import lowering
from ricci.tracing.pytorch.aten import Array, lowers
from ricci.tracing.pytorch.traced_tensors import numpy_type

# NumPy's functions of the same meaning, of one operand and of two; those that are rows are in ``of_rows.py``
_SAME = ("deg2rad", "isfinite", "isinf", "isnan", "logical_not", "positive", "rad2deg", "signbit", "sinc", "trunc")
ONE = {**{name: getattr(np, name) for name in _SAME}, "bitwise_not": np.invert}
_SAME = ("bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "floor_divide", "fmax", "fmin", "fmod", "logaddexp2")
_SAME += ("logical_and", "logical_or", "logical_xor")
TWO = {name: getattr(np, name) for name in _SAME}


def of_one(function: Callable[[Any], Any]) -> Callable[..., Traced]:
    def lower(self: Array) -> Any:
        return function(self)

    return lower


def of_two(function: Callable[[Any, Any], Any]) -> Callable[..., Traced]:
    def lower(self: Any, other: Any) -> Any:
        return function(self, other)

    return lower


for _name, _function in ONE.items():
    lowers(_name)(of_one(_function))
for _name, _function in TWO.items():
    lowers(_name)(of_two(_function))


@lowers("add")
def add(self: Array, other: Any, alpha: Any = 1) -> Any:
    return self + _times(alpha, other)


@lowers("sub")
def sub(self: Array, other: Any, alpha: Any = 1) -> Any:
    return self - _times(alpha, other)


@lowers("rsub")
def rsub(self: Array, other: Any, alpha: Any = 1) -> Any:
    return other - _times(alpha, self)


def _times(factor: Any, x: Any) -> Any:
    """A product that is left out where the factor is one."""
    return x if type(factor) in (int, float) and factor == 1 else factor * x


@lowers("div", "divide", "true_divide")
def div(self: Array, other: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return np.floor_divide(self, other)
    quotient = np.divide(self, other)
    return np.trunc(quotient) if rounding_mode == "trunc" else quotient


@lowers("pow")
def power(self: Any, exponent: Any) -> Any:
    return np.power(lift(self), exponent)


@lowers("rsqrt")
def rsqrt(self: Array) -> Any:
    return 1 / np.sqrt(self)


@lowers("frac")
def frac(self: Array) -> Any:
    return self - np.trunc(self)


@lowers("round")
def rounded(self: Array, decimals: int = 0) -> Any:
    return np.round(self, decimals)


@lowers("nan_to_num")
def nan_to_num(self: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Any:
    return np.nan_to_num(self, nan=nan or 0.0, posinf=posinf, neginf=neginf)


@lowers("logit")
def logit(self: Array, eps: float | None = None) -> Any:
    x = self if eps is None else clamp(self, eps, 1 - eps)
    return np.log(x / (1 - x))


@lowers("xlogy", "special_xlogy")
def xlogy(self: Any, other: Any) -> Any:
    x, y = lift(self), lift(other)
    inside = x != 0
    return np.where(np.isnan(y), np.nan, np.where(inside, x * np.log(np.where(inside, y, 1)), 0))


@lowers("special_entr")
def entr(self: Array) -> Any:
    inside = self > 0
    return np.where(inside, -self * np.log(np.where(inside, self, 1)), np.where(self < 0, -np.inf, 0 * self))


@lowers("special_ndtr")
def ndtr(self: Array) -> Any:
    found: Array = lowering("erfc")(-self / np.sqrt(2))
    return found / 2


@lowers("polygamma")
def polygamma(n: int, self: Array) -> Any:
    return lowering("polygamma")(n, self) if n else lowering("digamma")(self)


@lowers("heaviside")
def heaviside(self: Array, values: Any) -> Any:
    return np.where(self == 0, values, like(self, stop_gradient(lift(np.where(self > 0, 1.0, 0.0)).expr)))


@lowers("lerp")
def lerp(self: Array, end: Array, weight: Any) -> Any:
    return self + weight * (end - self)


@lowers("addcmul")
def addcmul(self: Array, tensor1: Array, tensor2: Array, value: Any = 1) -> Any:
    return self + _times(value, tensor1 * tensor2)


@lowers("addcdiv")
def addcdiv(self: Array, tensor1: Array, tensor2: Array, value: Any = 1) -> Any:
    return self + _times(value, tensor1 / tensor2)


# Choices


@lowers("clamp", "clip")
def clamp(self: Array, min: Any = None, max: Any = None) -> Any:
    """On a bound, it is the entry that is chosen, as its derivative tells."""
    x = self if min is None else np.where(self < min, min, self)
    return x if max is None else np.where(x > max, max, x)


@lowers("clamp_min")
def clamp_min(self: Array, min: Any) -> Any:
    return clamp(self, min)


@lowers("clamp_max")
def clamp_max(self: Array, max: Any) -> Any:
    return clamp(self, None, max)


@lowers("where")
def where(condition: Array, self: Any = None, other: Any = None) -> Any:
    if self is None:
        raise InputError("torch.where(condition) alone gives as many places as there are; give it what to choose from.")
    return np.where(condition, self, other)


@lowers("masked_fill")
def masked_fill(self: Array, mask: Array, value: Any) -> Any:
    return np.where(mask, value, self)


@lowers("isclose")
def isclose(self: Array, other: Array, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return np.isclose(self, other, rtol, atol, equal_nan)


# Types and copies


@lowers("_to_copy")
def to(self: Array, dtype: Any = None) -> Array:
    return self if dtype is None else cast(self, numpy_type(dtype))


@lowers("prims.convert_element_type")
def convert(a: Array, dtype: Any) -> Array:
    return to(a, dtype)


@lowers("clone", "alias", "lift_fresh", "contiguous", "positive_copy", "prims.view_of")
def same(x: Array) -> Array:
    return x


@lowers("detach")
def detach(self: Array) -> Array:
    return like(self, stop_gradient(self.expr)) if self.dtype.kind == "f" else self
