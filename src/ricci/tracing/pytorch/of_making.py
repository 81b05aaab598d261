"""Making tensors like others, and filling them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ricci.errors import TraceError
from ricci.tracing.basics import lift
from ricci.tracing.casting import cast
from ricci.tracing.pytorch.aten import Array, lowers, whole
from ricci.tracing.pytorch.tensors import numpy_type


def _full(like: Array, value: Any, shape: Sequence[int]) -> Any:
    return np.full_like(like, value, shape=tuple(shape))


@lowers("zeros_like", "empty_like", "zero")
def zeros_like(self: Array, dtype: Any = None) -> Any:
    return _full(self, 0, self.shape)


@lowers("ones_like")
def ones_like(self: Array, dtype: Any = None) -> Any:
    return _full(self, 1, self.shape)


@lowers("full_like")
def full_like(self: Array, fill_value: Any, dtype: Any = None) -> Any:
    return np.broadcast_to(lift(fill_value), self.shape)


@lowers("fill")
def fill(self: Array, value: Any) -> Any:
    return np.broadcast_to(lift(value), self.shape)


@lowers("copy")
def copy(self: Array, src: Array) -> Any:
    return np.broadcast_to(cast(src, self.dtype), self.shape)


@lowers("new_zeros", "new_empty")
def new_zeros(self: Array, size: Sequence[int], dtype: Any = None) -> Any:
    return _full(self, 0, size)


@lowers("new_ones")
def new_ones(self: Array, size: Sequence[int], dtype: Any = None) -> Any:
    return _full(self, 1, size)


@lowers("new_full")
def new_full(self: Array, size: Sequence[int], fill_value: Any, dtype: Any = None) -> Any:
    return np.broadcast_to(lift(fill_value), tuple(size))


@lowers("new_empty_strided")
def new_empty_strided(self: Array, size: Sequence[int], stride: Any = None, dtype: Any = None) -> Any:
    return _full(self, 0, size)


def _as_it_is(data: Any, dtype: Any = None, **more: Any) -> Any:
    if not isinstance(data, torch.Tensor):
        raise TraceError("torch.tensor([…]) of traced tensors would lose their gradients; write torch.stack([…]).")
    return torch.empty(data.shape, dtype=dtype or data.dtype, device="meta")


@whole("tensor", torch.tensor, torch.as_tensor, torch.asarray, torch.from_numpy, said=_as_it_is)
def as_tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, copy: Any = None) -> Any:
    """An array of NumPy as a tensor; one that was traced before stays what it is."""
    return cast(data, data.dtype if dtype is None else numpy_type(dtype))
