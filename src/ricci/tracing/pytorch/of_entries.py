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
from ricci.tracing.pytorch.aten import Array, rows
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


rows(__name__, {name: of_one(function) for name, function in ONE.items()})
rows(__name__, {name: of_two(function) for name, function in TWO.items()})


def _times(factor: Any, x: Any) -> Any:
    """A product that is left out where the factor is one."""
    return x if type(factor) in (int, float) and factor == 1 else factor * x


def _quotient(x: Array, y: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return np.floor_divide(x, y)
    quotient = np.divide(x, y)
    return np.trunc(quotient) if rounding_mode == "trunc" else quotient


def _logit(x: Array, eps: float | None = None) -> Any:
    x = x if eps is None else clamp(x, eps, 1 - eps)
    return np.log(x / (1 - x))


def _xlogy(x: Any, y: Any) -> Any:
    x, y = lift(x), lift(y)
    inside = x != 0
    return np.where(np.isnan(y), np.nan, np.where(inside, x * np.log(np.where(inside, y, 1)), 0))


def _entr(x: Array) -> Any:
    inside = x > 0
    return np.where(inside, -x * np.log(np.where(inside, x, 1)), np.where(x < 0, -np.inf, 0 * x))


def _heaviside(x: Array, values: Any) -> Any:
    return np.where(x == 0, values, detach(like(x, lift(np.where(x > 0, 1.0, 0.0)).expr)))


def clamp(self: Array, min: Any = None, max: Any = None) -> Any:
    """On a bound, it is the entry that is chosen, as its derivative tells."""
    x = self if min is None else np.where(self < min, min, self)
    return x if max is None else np.where(x > max, max, x)


def _chosen(condition: Array, self: Any = None, other: Any = None) -> Any:
    if self is None:
        raise InputError("torch.where(condition) alone gives as many places as there are; give it what to choose from.")
    return np.where(condition, self, other)


def detach(x: Array) -> Array:
    """The same numbers, as constants for derivatives."""
    return like(x, stop_gradient(x.expr)) if x.dtype.kind in "fc" else x


def _in_type(x: Array, dtype: Any = None) -> Array:
    return x if dtype is None else cast(x, numpy_type(dtype))


rows(
    __name__,
    {
        "add": lambda x, y, alpha=1: x + _times(alpha, y),
        "sub": lambda x, y, alpha=1: x - _times(alpha, y),
        "rsub": lambda x, y, alpha=1: y - _times(alpha, x),
        "div divide true_divide": _quotient,
        "pow": lambda x, exponent: np.power(lift(x), exponent),
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "frac": lambda x: x - np.trunc(x),
        "round": lambda x, decimals=0: np.round(x, decimals),
        "nan_to_num": lambda x, nan=None, posinf=None, neginf=None: np.nan_to_num(
            x, nan=nan or 0.0, posinf=posinf, neginf=neginf
        ),
        "logit": _logit,
        "xlogy special_xlogy": _xlogy,
        "special_entr": _entr,
        "special_ndtr": lambda x: np.divide(lowering("erfc")(-x / np.sqrt(2)), 2),
        "polygamma": lambda n, x: lowering("polygamma")(n, x) if n else lowering("digamma")(x),
        "heaviside": _heaviside,
        "lerp": lambda x, end, weight: x + weight * (end - x),
        "addcmul": lambda x, tensor1, tensor2, value=1: x + _times(value, tensor1 * tensor2),
        "addcdiv": lambda x, tensor1, tensor2, value=1: x + _times(value, tensor1 / tensor2),
        "clamp clip": clamp,
        "clamp_min": clamp,
        "clamp_max": lambda x, most: clamp(x, None, most),
        "where": _chosen,
        "masked_fill": lambda x, mask, value: np.where(mask, value, x),
        "isclose": lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(x, y, rtol, atol, equal_nan),
        "_to_copy prims.convert_element_type": _in_type,
        "clone alias lift_fresh contiguous positive_copy prims.view_of": lambda x: x,
        "detach": detach,
    },
)
