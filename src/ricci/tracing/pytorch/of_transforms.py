"""Fourier transforms: of complex numbers, from real ones, and to real ones.

PyTorch says how they are divided by a number: 0 is not at all, 1 by the root of how many entries are transformed, 2 by
how many there are.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ricci.tracing.pytorch.aten import Array, rows


def _divided(found: Array, count: int, normalization: int) -> Any:
    return found if normalization == 0 else found / (count**0.5 if normalization == 1 else count)


def _of_complex(x: Array, dim: Any, normalization: int, forward: bool) -> Any:
    found = np.fft.fftn(x, axes=tuple(dim)) if forward else np.fft.ifftn(x, axes=tuple(dim), norm="forward")
    return _divided(found, prod([x.shape[axis] for axis in dim]), normalization)


def _from_real(x: Array, dim: Any, normalization: int, onesided: bool) -> Any:
    found = (np.fft.rfftn if onesided else np.fft.fftn)(x, axes=tuple(dim))
    return _divided(found, prod([x.shape[axis] for axis in dim]), normalization)


def _to_real(x: Array, dim: Any, normalization: int, last: int) -> Any:
    sizes = [*[x.shape[axis] for axis in dim[:-1]], last]
    return _divided(np.fft.irfftn(x, s=sizes, axes=tuple(dim), norm="forward"), prod(sizes), normalization)


rows(
    __name__,
    {
        "_fft_c2c": lambda self, dim, normalization, forward: _of_complex(self, dim, normalization, forward),
        "_fft_r2c": lambda self, dim, normalization, onesided: _from_real(self, dim, normalization, onesided),
        "_fft_c2r": lambda self, dim, normalization, last_dim_size: _to_real(self, dim, normalization, last_dim_size),
    },
)
