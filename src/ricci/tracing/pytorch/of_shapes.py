"""Shapes: views, joining, splitting, repeating, padding, diagonals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch.nn.functional as F

from ricci.expr.moving import sliced
from ricci.tracing.basics import lift, like
from ricci.tracing.pytorch.aten import Array, lowers, whole


@lowers("reshape")
def reshape(self: Array, shape: Sequence[int]) -> Any:
    return view(self, shape)


@lowers("view", "_unsafe_view", "_reshape_alias", "view_copy")
def view(self: Array, size: Sequence[int]) -> Any:
    known = math.prod([s for s in size if s >= 0])
    return np.reshape(self, tuple([s if s >= 0 else math.prod(self.shape) // max(known, 1) for s in size]))


@lowers("permute", "permute_copy")
def permute(self: Array, dims: Sequence[int]) -> Any:
    return np.transpose(self, tuple(dims))


@lowers("transpose", "transpose_copy")
def transpose(self: Array, dim0: int, dim1: int) -> Any:
    return np.swapaxes(self, dim0, dim1) if self.ndim else self


@lowers("t", "t_copy")
def t(self: Array) -> Any:
    return np.transpose(self)


@lowers("expand", "expand_copy")
def expand(self: Array, size: Sequence[int]) -> Any:
    """Sizes of -1 stay as they are; new axes stand in front."""
    new = len(size) - self.ndim
    return np.broadcast_to(self, tuple([self.shape[a - new] if s == -1 else s for a, s in enumerate(size)]))


@lowers("unsqueeze", "unsqueeze_copy")
def unsqueeze(self: Array, dim: int) -> Any:
    return np.expand_dims(self, dim)


@lowers("squeeze", "squeeze_copy")
def squeeze(self: Array, dim: Any = None) -> Any:
    """Without the axes of size 1 among those named; others stay."""
    named = range(self.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    return np.squeeze(self, tuple([a % self.ndim for a in named if self.ndim and self.shape[a] == 1]))


@lowers("select", "select_copy")
def select(self: Array, dim: int, index: int) -> Any:
    return self[(*_before(self, dim), index)]


@lowers("slice", "slice_copy")
def part(self: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return self[(*_before(self, dim), slice(start, end, step))]


def _before(x: Array, dim: int) -> list[slice]:
    return [slice(None)] * (dim % x.ndim)


@lowers("unfold")
def unfold(self: Array, dimension: int, size: int, step: int) -> Any:
    """All windows along an axis; what is in a window is a new axis at the end."""
    if not self.ndim:
        return np.reshape(self, (size,))
    dim = dimension % self.ndim
    windows = np.lib.stride_tricks.sliding_window_view(self, size, dim)
    return like(self, sliced(lift(windows).expr, dim, 0, step, (self.shape[dim] - size) // step + 1))


# Joining and splitting


@lowers("cat", "concatenate", "concat")
def cat(tensors: Sequence[Array], dim: int = 0) -> Any:
    """Vectors without entries may stand beside tensors of any order."""
    order = max([x.ndim for x in tensors])
    return np.concatenate([x for x in tensors if x.ndim == order], axis=dim)


@lowers("stack")
def stack(tensors: Sequence[Array], dim: int = 0) -> Any:
    return np.stack(tensors, axis=dim)


@lowers("split", "split_copy")
def split(self: Array, split_size: int, dim: int = 0) -> Any:
    size = self.shape[dim]
    sizes = [min(split_size, size - start) for start in range(0, size, split_size)] if size else [0]
    return split_with_sizes(self, sizes, dim)


@lowers("split_with_sizes", "split_with_sizes_copy")
def split_with_sizes(self: Array, split_sizes: Sequence[int], dim: int = 0) -> Any:
    ends = [*accumulate(split_sizes)]
    return [part(self, dim, end - size, end) for size, end in zip(split_sizes, ends, strict=True)]


@lowers("unbind", "unbind_copy")
def unbind(self: Array, dim: int = 0) -> Any:
    return [select(self, dim, k) for k in range(self.shape[dim])]


# Repeating, turning, padding


@lowers("repeat")
def repeat(self: Array, repeats: Sequence[int]) -> Any:
    """The whole of it several times along each axis; numbers beyond its axes make new ones in front."""
    return np.tile(self, tuple(repeats)) if repeats else self


@lowers("flip")
def flip(self: Array, dims: Sequence[int]) -> Any:
    return np.flip(self, tuple(dims)) if dims and self.ndim else self


@lowers("roll")
def roll(self: Array, shifts: Sequence[int], dims: Sequence[int] = ()) -> Any:
    return np.roll(self, tuple(shifts), tuple(dims)) if dims else np.roll(self, shifts[0])


@lowers("rot90")
def rot90(self: Array, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    return np.rot90(self, k, (dims[0], dims[1]))


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


@lowers("constant_pad_nd")
def constant_pad(self: Array, pad: Sequence[int], value: Any = 0) -> Any:
    return padded(self, pad, "constant", constant_values=value)


@lowers("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(self: Array, padding: Sequence[int]) -> Any:
    return padded(self, padding, "reflect")


@lowers("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(self: Array, padding: Sequence[int]) -> Any:
    return padded(self, padding, "edge")


@lowers("pixel_shuffle")
def pixel_shuffle(self: Array, upscale_factor: int) -> Any:
    *rest, c, h, w = self.shape
    r, n = upscale_factor, len(self.shape) - 3
    parts = np.reshape(self, (*rest, c // r**2, r, r, h, w))
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return np.reshape(np.transpose(parts, order), (*rest, c // r**2, h * r, w * r))


@lowers("pixel_unshuffle")
def pixel_unshuffle(self: Array, downscale_factor: int) -> Any:
    *rest, c, h, w = self.shape
    r, n = downscale_factor, len(self.shape) - 3
    parts = np.reshape(self, (*rest, c, h // r, r, w // r, r))
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return np.reshape(np.transpose(parts, order), (*rest, c * r**2, h // r, w // r))


# Diagonals and triangles


@lowers("diagonal", "diagonal_copy")
def diagonal(self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return np.diagonal(self, offset, dim1, dim2)


@lowers("diag_embed")
def diag_embed(self: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The last axis on the diagonal of two new ones."""
    size = self.shape[-1] + abs(offset)
    rows = np.arange(self.shape[-1]) + max(-offset, 0)
    made = lift(np.zeros_like(self, shape=(*self.shape[:-1], size, size))).at[..., rows, rows + offset].set(self)
    return np.moveaxis(made, (-2, -1), (dim1, dim2))


@lowers("tril")
def tril(self: Array, diagonal: int = 0) -> Any:
    return np.tril(self, diagonal)


@lowers("triu")
def triu(self: Array, diagonal: int = 0) -> Any:
    return np.triu(self, diagonal)


@lowers("trace")
def trace(self: Array) -> Any:
    return np.trace(self)
