"""Layers that normalise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch.nn.functional as F

from ricci.errors import TraceError
from ricci.tracing.pytorch.aten import Array, lowers, whole


def _normalised(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """(x - mean)/sqrt(variance + ε), the mean, and what x - mean is multiplied by."""
    mean = np.mean(x, axis=axes, keepdims=True)
    scale = 1 / np.sqrt(np.var(x, axis=axes, keepdims=True) + eps)
    return (x - mean) * scale, mean, scale


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


@lowers("native_layer_norm")
def layer_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float
) -> Any:
    found, mean, scale = _normalised(input, tuple(range(-len(normalized_shape), 0)), eps)
    return _affine(found, weight, bias), mean, scale


@lowers("_fused_rms_norm", "rms_norm")
def rms_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None = None, eps: float | None = None
) -> Any:
    axes = tuple(range(-len(normalized_shape), 0))
    least = float(np.finfo(input.dtype).eps) if eps is None else eps
    scale = 1 / np.sqrt(np.mean(input * input, axis=axes, keepdims=True) + least)
    return _affine(input * scale, weight, None), scale


@lowers("native_group_norm")
def group_norm(
    input: Array, weight: Array | None, bias: Array | None, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    found, mean, scale = _normalised(np.reshape(input, (N, group, C // group * HxW)), (-1,), eps)
    found = np.reshape(found, input.shape)
    spread = [None if p is None else _channels(p, input.ndim) for p in (weight, bias)]
    return _affine(found, *spread), np.reshape(mean, (N, group)), np.reshape(scale, (N, group))


def _channels(x: Any, order: int) -> Any:
    """A vector of channels, which are the second axis."""
    return np.reshape(x, (x.shape[0], *[1] * (order - 2)))


@whole("batch_norm", F.batch_norm)
def batch_norm(
    input: Array,
    running_mean: Array | None,
    running_var: Array | None,
    weight: Array | None = None,
    bias: Array | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    parts: list[Any] = [
        None if p is None else _channels(p, input.ndim) for p in (running_mean, running_var, weight, bias)
    ]
    if not training:
        return _affine((input - parts[0]) / np.sqrt(parts[1] + eps), parts[2], parts[3])
    if running_mean is not None or running_var is not None:
        raise TraceError(
            "F.batch_norm in training changes its running statistics in place, which a traced function cannot do. Call "
            "model.eval(), or make the layer with track_running_stats=False."
        )
    return _affine(_normalised(input, (0, *range(2, input.ndim)), eps)[0], parts[2], parts[3])


@lowers("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training", "cudnn_batch_norm")
def native_batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None = None,
    running_var: Array | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    return batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps), None, None
