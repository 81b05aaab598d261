"""Reading and writing at places: indices, gather and scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ricci.errors import TraceError
from ricci.expr import moving
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift, like
from ricci.tracing.casting import cast
from ricci.tracing.lowered import lowered
from ricci.tracing.operand import changed
from ricci.tracing.pytorch.aten import Array, lowers, rows, whole
from ricci.tracing.pytorch.of_entries import detach
from ricci.tracing.pytorch.of_shapes import at


def _key(indices: Sequence[Any]) -> tuple:
    """The indices of the first axes; None stands for all places of an axis."""
    return tuple([slice(None) if i is None else i for i in indices])


def _written(x: Array, key: tuple, value: Any, how: str = "set") -> Any:
    return lowered(changed, (x, key, value, how), {})


rows(
    __name__,
    {
        "index _unsafe_index": lambda self, indices: self[_key(indices)],
        "index_put _unsafe_index_put": lambda self, indices, values, accumulate=False: _written(
            self, _key(indices), values, "add" if accumulate else "set"
        ),
    },
    known=("indices",),
)


def _gathered(x: Array, dim: int, index: Array) -> Any:
    """``y[i,j] = x[index[i,j], j]``; along the other axes, the index may end before the tensor does."""
    if not x.ndim:
        return np.broadcast_to(x, index.shape)
    dim %= x.ndim
    kept = x[tuple([slice(None) if a == dim else slice(size) for a, size in enumerate(index.shape)])]
    return like(x, moving.gathered_along(kept.expr, dim, index.expr, index.shape))


def _grid(index: Array, dim: int) -> tuple:
    """The places of entries of ``index``: itself along ``dim``, and those of the entry along the other axes."""
    dim %= index.ndim
    grid = np.ogrid[tuple([slice(size) for size in index.shape])]
    return tuple([index if axis == dim else grid[axis] for axis in range(index.ndim)])


def _selected(x: Array, dim: int, index: Array) -> Any:
    if not x.ndim:
        return x
    places = index if index.ndim else np.reshape(index, (1,))
    return like(x, moving.gathered(x.expr, dim % x.ndim, lift(places).expr))


@lowers("embedding")
def embedding(
    weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """Rows of a table; the row for padding gets no gradient."""
    if scale_grad_by_freq:
        raise TraceError("F.embedding: scale_grad_by_freq=True changes the gradient and is not traced; leave it out.")
    rows = like(weight, moving.gathered(weight.expr, 0, indices.expr))
    return rows if padding_idx < 0 else np.where(np.expand_dims(indices == padding_idx, -1), detach(rows), rows)


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


rows(
    __name__,
    {
        "gather": lambda self, dim, index, sparse_grad=False: _gathered(self, dim, index),
        "index_select": _selected,
        "take": lambda self, index: np.take(np.ravel(self), index),
        "scatter_add": lambda self, dim, index, src: scatter(self, dim, index, src, reduce="add"),
        "index_add": lambda self, dim, index, source, alpha=1: _written(
            self, at(self, dim, index), alpha * source, "add"
        ),
        "index_copy": lambda self, dim, index, source: _written(self, at(self, dim, index), source),
        "index_fill": lambda self, dim, index, value: _written(self, at(self, dim, index), value),
        "select_scatter": lambda self, src, dim, index: _written(self, at(self, dim, index), src),
        "slice_scatter": lambda self, src, dim=0, start=None, end=None, step=1: _written(
            self, at(self, dim, slice(start, end, step)), src
        ),
    },
)


@whole("one_hot", torch.nn.functional.one_hot)
def one_hot(input: Array, num_classes: int = -1) -> Any:
    if num_classes < 0:
        raise TraceError("F.one_hot: say how many classes there are, F.one_hot(x, num_classes), for shapes need it.")
    return cast(np.expand_dims(input, -1) == np.arange(num_classes), np.int64)
