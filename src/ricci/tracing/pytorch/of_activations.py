"""Activations: what stands between the layers of a network."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch.nn.functional as F

from ricci.errors import TraceError
from ricci.tracing.array import Traced
from ricci.tracing.functions import lowering
from ricci.tracing.pytorch.table import lowers, whole

_sigmoid, _softplus, _relu = lowering("sigmoid"), lowering("softplus"), lowering("relu")


@lowers("relu")
def relu(self: Traced) -> Any:
    return _relu(self)


@lowers("relu6")
def relu6(self: Traced) -> Any:
    return np.clip(self, 0, 6)


@lowers("silu")
def silu(self: Traced) -> Any:
    return lowering("silu")(self)


@lowers("gelu")
def gelu(self: Traced, approximate: str = "none") -> Any:
    if approximate == "none":
        return lowering("gelu")(self)
    return self * (1 + np.tanh(math.sqrt(2 / math.pi) * (self + 0.044715 * self**3))) / 2


@lowers("softplus")
def softplus(self: Traced, beta: Any = 1, threshold: Any = 20) -> Any:
    """log(1 + exp(β x))/β, and x where β x is above the threshold."""
    return np.where(self * beta > threshold, self, _softplus(self * beta) / beta)


@lowers("log_sigmoid_forward")
def log_sigmoid(self: Traced) -> Any:
    return -_softplus(-self), None


@lowers("mish")
def mish(self: Traced) -> Any:
    return self * np.tanh(_softplus(self))


@lowers("elu")
def elu(self: Traced, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    """s x above 0, and s α (exp(t x) - 1) below, where exp is computed of nothing positive."""
    below = np.expm1(np.minimum(self, 0) * input_scale)
    return scale * np.where(self > 0, self, alpha * below)


@lowers("leaky_relu")
def leaky_relu(self: Traced, negative_slope: Any = 0.01) -> Any:
    return np.where(self > 0, self, negative_slope * self)


@lowers("_prelu_kernel")
def prelu(self: Traced, weight: Traced) -> Any:
    return np.where(self > 0, self, weight * self)


@whole("nn.functional.rrelu", F.rrelu)
def rrelu(input: Traced, lower: Any = 0.125, upper: Any = 1 / 3, training: bool = False, inplace: bool = False) -> Any:
    if training or inplace:
        raise TraceError("F.rrelu draws random numbers in training; give training=False, and leave out inplace.")
    return leaky_relu(input, (lower + upper) / 2)


@lowers("hardtanh")
def hardtanh(self: Traced, min_val: Any = -1, max_val: Any = 1) -> Any:
    return np.clip(self, min_val, max_val)


@lowers("hardsigmoid")
def hardsigmoid(self: Traced) -> Any:
    return np.clip(self + 3, 0, 6) / 6


@lowers("hardswish")
def hardswish(self: Traced) -> Any:
    return self * np.clip(self + 3, 0, 6) / 6


@lowers("hardshrink")
def hardshrink(self: Traced, lambd: Any = 0.5) -> Any:
    return np.where(np.absolute(self) <= lambd, 0, self)


@lowers("softshrink")
def softshrink(self: Traced, lambd: Any = 0.5) -> Any:
    return np.where(self > lambd, self - lambd, np.where(self < -lambd, self + lambd, 0 * self))


@lowers("threshold")
def threshold(self: Traced, threshold: Any, value: Any) -> Any:
    return np.where(self <= threshold, value, self)


@lowers("glu")
def glu(self: Traced, dim: int = -1) -> Any:
    left, right = np.split(self, 2, axis=dim)
    return left * _sigmoid(right)
