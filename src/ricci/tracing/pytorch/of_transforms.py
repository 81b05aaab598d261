"""Fourier transforms: of complex numbers, from real ones, and to real ones.

PyTorch says how they are divided by a number: 0 is not at all, 1 by the root of how many entries are transformed, 2 by
how many there are.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ricci.tracing.pytorch.aten import Array, lowers


def _divided(found: Array, count: int, normalization: int) -> Any:
    return found if normalization == 0 else found / (count**0.5 if normalization == 1 else count)


@lowers("_fft_c2c")
def of_complex(self: Array, dim: Any, normalization: int, forward: bool) -> Any:
    axes = tuple(dim)
    found = np.fft.fftn(self, axes=axes) if forward else np.fft.ifftn(self, axes=axes, norm="forward")
    return _divided(found, prod([self.shape[axis] for axis in dim]), normalization)


@lowers("_fft_r2c")
def from_real(self: Array, dim: Any, normalization: int, onesided: bool) -> Any:
    found = (np.fft.rfftn if onesided else np.fft.fftn)(self, axes=tuple(dim))
    return _divided(found, prod([self.shape[axis] for axis in dim]), normalization)


@lowers("_fft_c2r")
def to_real(self: Array, dim: Any, normalization: int, last_dim_size: int) -> Any:
    sizes = [*[self.shape[axis] for axis in dim[:-1]], last_dim_size]
    return _divided(np.fft.irfftn(self, s=sizes, axes=tuple(dim), norm="forward"), prod(sizes), normalization)
