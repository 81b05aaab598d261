"""Activations: what stands between the layers of a network."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch.nn.functional as F

from ricci.errors import TraceError
from ricci.tracing.own_functions import lowering
from ricci.tracing.pytorch.aten import Array, rows, whole

_sigmoid: Any = lowering("sigmoid")
_softplus: Any = lowering("softplus")


def _gelu(x: Array, approximate: str = "none") -> Any:
    if approximate == "none":
        return lowering("gelu")(x)
    return x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def _elu(x: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    """s x above 0, and s α (exp(t x) - 1) below, where exp is computed of nothing positive."""
    below = np.expm1(np.where(x > 0, 0, x) * input_scale)
    return scale * np.where(x > 0, x, alpha * below)


def _leaky(x: Array, slope: Any) -> Any:
    return np.where(x > 0, x, slope * x)


def _hardtanh(x: Array, min_val: Any = -1, max_val: Any = 1) -> Any:
    return np.where(x <= min_val, min_val, np.where(x >= max_val, max_val, x))


def _softshrink(x: Array, lambd: Any = 0.5) -> Any:
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, 0 * x))


def _gated(x: Array, dim: int = -1) -> Any:
    left, right = np.split(x, 2, axis=dim)
    return left * _sigmoid(right)


rows(
    __name__,
    {
        "relu6": lambda x: _hardtanh(x, 0, 6),
        "gelu": _gelu,
        # log(1 + exp(β x))/β, and x where β x is above the threshold
        "softplus": lambda x, beta=1, threshold=20: np.where(x * beta > threshold, x, _softplus(x * beta) / beta),
        "log_sigmoid_forward": lambda x: (-_softplus(-x), None),
        "mish": lambda x: x * np.tanh(_softplus(x)),
        "elu": _elu,
        "leaky_relu": lambda x, negative_slope=0.01: _leaky(x, negative_slope),
        "_prelu_kernel": _leaky,
        "hardtanh": _hardtanh,
        "hardsigmoid": lambda x: _hardtanh(x + 3, 0, 6) / 6,
        "hardswish": lambda x: np.where(x <= -3, 0 * x, np.where(x >= 3, x, x * (x + 3) / 6)),
        "hardshrink": lambda x, lambd=0.5: np.where(np.absolute(x) <= lambd, 0, x),
        "softshrink": _softshrink,
        "threshold": lambda x, threshold, value: np.where(x <= threshold, value, x),
        "glu": _gated,
    },
)


@whole("nn.functional.rrelu", F.rrelu)
def rrelu(input: Array, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    if training or inplace:
        raise TraceError("F.rrelu draws random numbers in training; give training=False, and leave out inplace.")
    return _leaky(input, (lower + upper) / 2)
