"""Shapes: views, joining, splitting, repeating, padding, diagonals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch.nn.functional as F

from ricci.expr import moving
from ricci.tracing.basics import like
from ricci.tracing.pytorch.aten import Array, rows, whole


def _viewed(x: Array, size: Sequence[int]) -> Any:
    known = math.prod([s for s in size if s >= 0])
    return np.reshape(x, tuple([s if s >= 0 else math.prod(x.shape) // max(known, 1) for s in size]))


def _expanded(x: Array, size: Sequence[int]) -> Any:
    """Sizes of -1 stay as they are; new axes stand in front."""
    new = len(size) - x.ndim
    return np.broadcast_to(x, tuple([x.shape[a - new] if s == -1 else s for a, s in enumerate(size)]))


def _squeezed(x: Array, dim: Any) -> Any:
    """Without the axes of size 1 among those named; others stay."""
    named = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    return np.squeeze(x, tuple([a % x.ndim for a in named if x.ndim and x.shape[a] == 1]))


def at(x: Array, dim: int, place: Any) -> tuple:
    """The key of places on one axis."""
    return (*[slice(None)] * (dim % x.ndim), place)


def _windows(self: Array, dimension: int, size: int, step: int) -> Any:
    """All windows along an axis; what is in a window is a new axis at the end."""
    if not self.ndim:
        return np.reshape(self, (size,))
    dim = dimension % self.ndim
    many = (self.shape[dim] - size) // step + 1
    return like(self, moving.windows(self.expr, (dim,), [(many, size, step, 1, 0)]))


rows(
    __name__,
    {
        "reshape": _viewed,
        "view _unsafe_view _reshape_alias view_copy": _viewed,
        "permute permute_copy": lambda self, dims: np.transpose(self, tuple(dims)),
        "transpose transpose_copy": lambda self, dim0, dim1: np.swapaxes(self, dim0, dim1) if self.ndim else self,
        "t t_copy": np.transpose,
        "expand expand_copy": _expanded,
        "unsqueeze unsqueeze_copy": np.expand_dims,
        "squeeze squeeze_copy": lambda self, dim=None: _squeezed(self, dim),
        "select select_copy": lambda self, dim, index: self[at(self, dim, index)],
        "slice slice_copy": lambda self, dim=0, start=None, end=None, step=1: self[
            at(self, dim, slice(start, end, step))
        ],
        "unfold": _windows,
    },
)


# Joining and splitting


def _joined(tensors: Sequence[Array], dim: int = 0) -> Any:
    """Vectors without entries may stand beside tensors of any order."""
    order = max([x.ndim for x in tensors])
    return np.concatenate([x for x in tensors if x.ndim == order], axis=dim)


def _split(x: Array, sizes: Sequence[int], dim: int) -> Any:
    ends = [*accumulate(sizes)]
    return [x[at(x, dim, slice(end - size, end))] for size, end in zip(sizes, ends, strict=True)]


def _even(size: int, part: int) -> list[int]:
    return [min(part, size - start) for start in range(0, size, part)] if size else [0]


rows(
    __name__,
    {
        "cat concatenate concat": _joined,
        "stack": lambda tensors, dim=0: np.stack(tensors, axis=dim),
        "split split_copy": lambda self, split_size, dim=0: _split(self, _even(self.shape[dim], split_size), dim),
        "split_with_sizes split_with_sizes_copy": lambda self, split_sizes, dim=0: _split(self, split_sizes, dim),
        "unbind unbind_copy": lambda self, dim=0: [self[at(self, dim, k)] for k in range(self.shape[dim])],
    },
)


# Repeating, turning, padding


def padded(x: Array, pad: Sequence[int], mode: str, **more: Any) -> Any:
    """``pad`` names the last axis first; what is negative is cut off."""
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[k], pad[k + 1]) for k in range(len(pad) - 2, -1, -2)]
    kept = tuple([slice(max(-a, 0), s - max(-b, 0)) for (a, b), s in zip(widths, x.shape, strict=True)])
    return np.pad(x[kept], [(max(a, 0), max(b, 0)) for a, b in widths], mode=mode, **more)  # type: ignore[call-overload]


_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@whole("pad", F.pad)
def pad(input: Array, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Any:
    more = {"constant_values": value or 0} if mode == "constant" else {}
    return padded(input, pad, _MODES[mode], **more)


def _pixel_shuffle(x: Array, r: int) -> Any:
    *rest, c, h, w = x.shape
    n = len(rest)
    parts = np.reshape(x, (*rest, c // r**2, r, r, h, w))
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return np.reshape(np.transpose(parts, order), (*rest, c // r**2, h * r, w * r))


def _pixel_unshuffle(x: Array, r: int) -> Any:
    *rest, c, h, w = x.shape
    n = len(rest)
    parts = np.reshape(x, (*rest, c, h // r, r, w // r, r))
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return np.reshape(np.transpose(parts, order), (*rest, c * r**2, h // r, w // r))


rows(
    __name__,
    {
        # the whole of it several times along each axis; numbers beyond its axes make new ones in front
        "repeat": lambda self, repeats: np.tile(self, tuple(repeats)) if repeats else self,
        "flip": lambda self, dims: np.flip(self, tuple(dims)) if dims and self.ndim else self,
        "roll": lambda self, shifts, dims=(): (
            np.roll(self, tuple(shifts), tuple(dims)) if dims else np.roll(self, shifts[0])
        ),
        "rot90": lambda self, k=1, dims=(0, 1): np.rot90(self, k, (dims[0], dims[1])),
        "constant_pad_nd": lambda self, pad, value=0: padded(self, pad, "constant", constant_values=value),
        "reflection_pad1d reflection_pad2d reflection_pad3d": lambda self, padding: padded(self, padding, "reflect"),
        "replication_pad1d replication_pad2d replication_pad3d": lambda self, padding: padded(self, padding, "edge"),
        "pixel_shuffle": _pixel_shuffle,
        "pixel_unshuffle": _pixel_unshuffle,
    },
)


# Diagonals and triangles


def _embedded(x: Array, offset: int, dim1: int, dim2: int) -> Any:
    """The last axis on the diagonal of two new ones."""
    made: Array = like(x, moving.on_diagonal(x.expr, offset))
    return np.moveaxis(made, (-2, -1), (dim1, dim2))


rows(
    __name__,
    {
        "diagonal diagonal_copy": lambda self, offset=0, dim1=0, dim2=1: np.diagonal(self, offset, dim1, dim2),
        "diag_embed": lambda self, offset=0, dim1=-2, dim2=-1: _embedded(self, offset, dim1, dim2),
        "tril": lambda self, diagonal=0: np.tril(self, diagonal),
        "triu": lambda self, diagonal=0: np.triu(self, diagonal),
        "trace": np.trace,
    },
)
