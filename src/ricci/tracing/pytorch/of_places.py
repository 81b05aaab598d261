"""Reading and writing at places: indices, gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ricci.errors import TraceError
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift
from ricci.tracing.casting import cast
from ricci.tracing.lowered import lowered
from ricci.tracing.operand import changed
from ricci.tracing.pytorch.aten import Array, lowers, whole
from ricci.tracing.pytorch.of_entries import detach


@lowers("index", "_unsafe_index", known=("indices",))
def index(self: Array, indices: Sequence[Any]) -> Any:
    return self[_key(indices)]


def _key(indices: Sequence[Any]) -> tuple:
    """The indices of the first axes; None stands for all places of an axis."""
    return tuple([slice(None) if i is None else i for i in indices])


@lowers("index_put", "_unsafe_index_put", known=("indices",))
def index_put(self: Array, indices: Sequence[Any], values: Array, accumulate: bool = False) -> Any:
    return _written(self, _key(indices), values, "add" if accumulate else "set")


def _written(x: Array, key: tuple, value: Any, how: str) -> Any:
    return lowered(changed, (x, key, value, how), {})


@lowers("gather")
def gather(self: Array, dim: int, index: Array, sparse_grad: bool = False) -> Any:
    if not self.ndim:
        return np.broadcast_to(self, index.shape)
    return self[_grid(index, dim)]


def _grid(index: Array, dim: int) -> tuple:
    """The places of entries of ``index``: itself along ``dim``, and those of the entry along the other axes."""
    dim %= index.ndim
    grid = np.ogrid[tuple([slice(size) for size in index.shape])]
    return tuple([index if axis == dim else grid[axis] for axis in range(index.ndim)])


@lowers("index_select")
def index_select(self: Array, dim: int, index: Array) -> Any:
    if not self.ndim:
        return self
    return np.take(self, index if index.ndim else np.reshape(index, (1,)), axis=dim)


@lowers("take")
def take(self: Array, index: Array) -> Any:
    return np.take(np.ravel(self), index)


@lowers("embedding")
def embedding(
    weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """Rows of a table; the row for padding gets no gradient."""
    if scale_grad_by_freq:
        raise TraceError("F.embedding: scale_grad_by_freq=True changes the gradient and is not traced; leave it out.")
    rows = weight[indices]
    if padding_idx < 0:
        return rows
    return np.where(np.expand_dims(indices == padding_idx, -1), detach(rows), rows)


# Writing


@lowers("scatter")
def scatter(self: Array, dim: int, index: Array, src: Any = None, value: Any = None, reduce: Any = None) -> Any:
    new = value if src is None else src
    if not self.ndim:
        return np.broadcast_to(cast(lift(new), self.dtype), ())
    own = new[tuple([slice(size) for size in index.shape])] if isinstance(new, Traced) and new.ndim else new
    if reduce not in (None, "add"):
        raise TraceError(f"torch.scatter: reduce={reduce!r} is not traced; 'add' is.")
    return _written(self, _grid(index, dim), own, "set" if reduce is None else "add")


@lowers("scatter_add")
def scatter_add(self: Array, dim: int, index: Array, src: Array) -> Any:
    return scatter(self, dim, index, src, reduce="add")


@lowers("index_add")
def index_add(self: Array, dim: int, index: Array, source: Array, alpha: Any = 1) -> Any:
    return _written(self, _along(self, dim, index), alpha * source, "add")


@lowers("index_copy")
def index_copy(self: Array, dim: int, index: Array, source: Array) -> Any:
    return _written(self, _along(self, dim, index), source, "set")


@lowers("index_fill")
def index_fill(self: Array, dim: int, index: Array, value: Any) -> Any:
    return _written(self, _along(self, dim, index), value, "set")


def _along(x: Array, dim: int, index: Array) -> tuple:
    return (*[slice(None)] * (dim % x.ndim), index)


@lowers("select_scatter")
def select_scatter(self: Array, src: Array, dim: int, index: int) -> Any:
    return _written(self, (*[slice(None)] * (dim % self.ndim), index), src, "set")


@lowers("slice_scatter")
def slice_scatter(
    self: Array, src: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    return _written(self, (*[slice(None)] * (dim % self.ndim), slice(start, end, step)), src, "set")


@whole("one_hot", torch.nn.functional.one_hot)
def one_hot(input: Array, num_classes: int = -1) -> Any:
    if num_classes < 0:
        raise TraceError("F.one_hot: say how many classes there are, F.one_hot(x, num_classes), for shapes need it.")
    return cast(np.expand_dims(input, -1) == np.arange(num_classes), np.int64)
