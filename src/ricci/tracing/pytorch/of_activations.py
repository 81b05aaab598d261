"""Activations: what stands between the layers of a network."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch.nn.functional as F

from ricci.errors import TraceError
from ricci.tracing.own_functions import lowering
from ricci.tracing.pytorch.aten import Array, lowers, whole

_sigmoid: Any = lowering("sigmoid")
_softplus: Any = lowering("softplus")


@lowers("relu6")
def relu6(self: Array) -> Any:
    return hardtanh(self, 0, 6)


@lowers("gelu")
def gelu(self: Array, approximate: str = "none") -> Any:
    if approximate == "none":
        return lowering("gelu")(self)
    return self * (1 + np.tanh(math.sqrt(2 / math.pi) * (self + 0.044715 * self**3))) / 2


@lowers("softplus")
def softplus(self: Array, beta: Any = 1, threshold: Any = 20) -> Any:
    """log(1 + exp(β x))/β, and x where β x is above the threshold."""
    return np.where(self * beta > threshold, self, _softplus(self * beta) / beta)


@lowers("log_sigmoid_forward")
def log_sigmoid(self: Array) -> Any:
    return -_softplus(-self), None


@lowers("mish")
def mish(self: Array) -> Any:
    return self * np.tanh(_softplus(self))


@lowers("elu")
def elu(self: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    """s x above 0, and s α (exp(t x) - 1) below, where exp is computed of nothing positive."""
    below = np.expm1(np.where(self > 0, 0, self) * input_scale)
    return scale * np.where(self > 0, self, alpha * below)


@lowers("leaky_relu")
def leaky_relu(self: Array, negative_slope: Any = 0.01) -> Any:
    return np.where(self > 0, self, negative_slope * self)


@lowers("_prelu_kernel")
def prelu(self: Array, weight: Array) -> Any:
    return np.where(self > 0, self, weight * self)


@whole("nn.functional.rrelu", F.rrelu)
def rrelu(input: Array, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    if training or inplace:
        raise TraceError("F.rrelu draws random numbers in training; give training=False, and leave out inplace.")
    return leaky_relu(input, (lower + upper) / 2)


@lowers("hardtanh")
def hardtanh(self: Array, min_val: Any = -1, max_val: Any = 1) -> Any:
    return np.where(self <= min_val, min_val, np.where(self >= max_val, max_val, self))


@lowers("hardsigmoid")
def hardsigmoid(self: Array) -> Any:
    return hardtanh(self + 3, 0, 6) / 6


@lowers("hardswish")
def hardswish(self: Array) -> Any:
    return np.where(self <= -3, 0 * self, np.where(self >= 3, self, self * (self + 3) / 6))


@lowers("hardshrink")
def hardshrink(self: Array, lambd: Any = 0.5) -> Any:
    return np.where(np.absolute(self) <= lambd, 0, self)


@lowers("softshrink")
def softshrink(self: Array, lambd: Any = 0.5) -> Any:
    return np.where(self > lambd, self - lambd, np.where(self < -lambd, self + lambd, 0 * self))


@lowers("threshold")
def threshold(self: Array, threshold: Any, value: Any) -> Any:
    return np.where(self <= threshold, value, self)


@lowers("glu")
def glu(self: Array, dim: int = -1) -> Any:
    left, right = np.split(self, 2, axis=dim)
    return left * _sigmoid(right)
