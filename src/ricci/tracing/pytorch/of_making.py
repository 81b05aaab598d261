"""Making tensors like others, and filling them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ricci.errors import TraceError
from ricci.tracing.basics import lift
from ricci.tracing.casting import cast
from ricci.tracing.pytorch.aten import Array, rows, whole
from ricci.tracing.pytorch.traced_tensors import numpy_type


def _full(like: Array, value: int, shape: Sequence[int]) -> Any:
    return np.full_like(like, value, shape=tuple(shape))


def _filled(value: Any, shape: Sequence[int]) -> Any:
    return np.broadcast_to(lift(value), tuple(shape))


rows(
    __name__,
    {
        "zeros_like empty_like zero": lambda self, dtype=None: _full(self, 0, self.shape),
        "ones_like": lambda self, dtype=None: _full(self, 1, self.shape),
        "full_like": lambda self, fill_value, dtype=None: _filled(fill_value, self.shape),
        "fill": lambda self, value: _filled(value, self.shape),
        "copy": lambda self, src: _filled(cast(src, self.dtype), self.shape),
        "new_zeros new_empty": lambda self, size, dtype=None: _full(self, 0, size),
        "new_ones": lambda self, size, dtype=None: _full(self, 1, size),
        "new_full": lambda self, size, fill_value, dtype=None: _filled(fill_value, size),
        "new_empty_strided": lambda self, size, stride=None, dtype=None: _full(self, 0, size),
    },
)


def _as_it_is(data: Any, dtype: Any = None, **more: Any) -> Any:
    if not isinstance(data, torch.Tensor):
        raise TraceError("torch.tensor([…]) of traced tensors would lose their gradients; write torch.stack([…]).")
    return torch.empty(data.shape, dtype=dtype or data.dtype, device="meta")


@whole("tensor", torch.tensor, torch.as_tensor, torch.asarray, torch.from_numpy, said=_as_it_is)
def as_tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, copy: Any = None) -> Any:
    """An array of NumPy as a tensor; one that was traced before stays what it is."""
    return cast(data, data.dtype if dtype is None else numpy_type(dtype))
