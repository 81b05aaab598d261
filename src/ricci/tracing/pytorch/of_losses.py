"""Losses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch.nn.functional as F

from ricci.tracing.array import Traced
from ricci.tracing.basics import lift
from ricci.tracing.casting import cast
from ricci.tracing.own_functions import lowering
from ricci.tracing.pytorch.aten import Array, lowers, rows, whole
from ricci.tracing.pytorch.of_entries import detach

MEAN, SUM = 1, 2  # as PyTorch numbers what becomes of the losses of single entries; 0 leaves them as they are


def _reduced(losses: Any, reduction: int) -> Any:
    return np.mean(losses) if reduction == MEAN else np.sum(losses) if reduction == SUM else losses


@lowers("smooth_l1_loss")
def smooth_l1_loss(self: Array, target: Array, reduction: int = MEAN, beta: float = 1.0) -> Any:
    size = np.absolute(self - target)
    if beta == 0:
        return _reduced(size, reduction)
    return _reduced(np.where(size < beta, 0.5 * size**2 / beta, size - 0.5 * beta), reduction)


def _huber(size: Any, delta: float) -> Any:
    return np.where(size <= delta, 0.5 * size**2, delta * (size - 0.5 * delta))


rows(
    __name__,
    {
        "mse_loss": lambda self, target, reduction=MEAN: _reduced((self - target) ** 2, reduction),
        "huber_loss": lambda self, target, reduction=MEAN, delta=1.0: _reduced(
            _huber(np.absolute(self - target), delta), reduction
        ),
        "soft_margin_loss": lambda self, target, reduction=MEAN: _reduced(
            lowering("softplus")(-target * self), reduction
        ),
    },
)


def _like_mse(input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> Any:
    return F.mse_loss(input, target, reduction=reduction)


@whole("nn.functional.gaussian_nll_loss", F.gaussian_nll_loss, said=_like_mse)
def gaussian_nll_loss(
    input: Array, target: Array, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """The variance is at least ε in value; its derivative does not know of that."""
    v = np.expand_dims(var, -1) if isinstance(var, Traced) and var.shape == input.shape[:-1] else lift(var)
    bounded = v + detach(lift(np.maximum(v, eps) - v))
    losses = 0.5 * (np.log(bounded) + (input - target) ** 2 / bounded)
    losses = losses + 0.5 * math.log(2 * math.pi) if full else losses
    return _reduced(losses, {"mean": MEAN, "sum": SUM, "none": 0}[reduction])


@lowers("binary_cross_entropy")
def binary_cross_entropy(self: Array, target: Array, weight: Any = None, reduction: int = MEAN) -> Any:
    """Logarithms are at least -100, as in PyTorch, so that the loss stays finite."""
    inside, outside = (np.maximum(log, -100) for log in (np.log(self), np.log1p(-self)))
    losses = (target - 1) * outside - target * inside
    return _reduced(losses if weight is None else losses * weight, reduction)


@lowers("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    self: Array, target: Array, weight: Any = None, pos_weight: Any = None, reduction: int = MEAN
) -> Any:
    """(1 - t) x + (1 + (p - 1) t) log(1 + exp(-x)), with p the weight of what is positive."""
    log = lowering("softplus")(-self)
    losses = (1 - target) * self + (log if pos_weight is None else (1 + (pos_weight - 1) * target) * log)
    return _reduced(losses if weight is None else losses * weight, reduction)


@lowers("nll_loss_forward", "nll_loss2d_forward")
def nll_loss(self: Array, target: Array, weight: Any, reduction: int, ignore_index: int) -> Any:
    """Minus the logarithm of the probability of each target; those to be ignored count nothing.

    The classes are the second axis, or the first one where there is no other.
    """
    axis = 1 if self.ndim > 1 else 0
    counted = target != ignore_index
    safe = cast(lift(np.where(counted, target, 0)), np.int64)
    chosen = np.take_along_axis(self, np.expand_dims(safe, axis), axis=axis)
    weights: Any = cast(counted, self.dtype) if weight is None else np.where(counted, weight[safe], 0)
    losses = np.where(counted, -np.squeeze(chosen, axis), 0) * weights
    whole = np.sum(weights)
    if reduction == MEAN:
        return np.sum(losses) / whole, whole
    return _reduced(losses, reduction), whole
