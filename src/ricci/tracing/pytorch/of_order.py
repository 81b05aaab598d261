"""Order: largest and smallest entries and their places, sorting, medians."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ricci.tracing.basics import lift
from ricci.tracing.casting import cast
from ricci.tracing.pytorch.aten import Array, lowers, rows, whole
from ricci.tracing.pytorch.of_reductions import at_least_one, axes_of
from ricci.tracing.pytorch.of_shapes import at


def _best(function: Any, x: Array, dim: Any, keepdim: bool = False) -> Any:
    return function(x, axis=axes_of(dim), keepdims=keepdim) if x.ndim else x


def _place(function: Any, x: Array, dim: int | None, keepdim: bool = False) -> Any:
    return function(at_least_one(x), axis=dim, keepdims=keepdim and bool(x.ndim))


def _with_place(best: Any, place: Any, x: Array, dim: int | None, keepdim: bool) -> Any:
    return _best(best, x, dim) if dim is None else (_best(best, x, dim, keepdim), _place(place, x, dim, keepdim))


def _sorted(x: Array, dim: int, descending: bool) -> tuple[Any, Any]:
    """Sorted entries and their places; among equal ones the first comes first, also where the largest do."""
    if not descending:
        return np.sort(x, axis=dim), np.argsort(x, axis=dim, kind="stable")
    back = np.flip(x, dim)
    places = np.flip(x.shape[dim] - 1 - np.argsort(back, axis=dim, kind="stable"), dim)
    return np.flip(np.sort(back, axis=dim), dim), places


def _sort(x: Array, dim: int, descending: bool) -> tuple[Any, Any]:
    values, places = _sorted(at_least_one(x), dim, descending)
    return np.reshape(values, x.shape), np.reshape(places, x.shape)


def _at(self: Array, place: int, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The entry at a place in the order along an axis, and where it stood."""
    x = at_least_one(self)
    values, places = [part[at(x, dim, place)] for part in _sorted(x, dim, False)]
    if keepdim and self.ndim:
        return np.expand_dims(values, dim), np.expand_dims(places, dim)
    return values, places


rows(
    __name__,
    {
        "amax": lambda self, dim=(), keepdim=False: _best(np.max, self, dim, keepdim),
        "amin": lambda self, dim=(), keepdim=False: _best(np.min, self, dim, keepdim),
        "aminmax": lambda self, dim=None, keepdim=False: [_best(f, self, dim, keepdim) for f in (np.min, np.max)],
        "max": lambda self, dim=None, keepdim=False: _with_place(np.max, np.argmax, self, dim, keepdim),
        "min": lambda self, dim=None, keepdim=False: _with_place(np.min, np.argmin, self, dim, keepdim),
        "argmax": lambda self, dim=None, keepdim=False: _place(np.argmax, self, dim, keepdim),
        "argmin": lambda self, dim=None, keepdim=False: _place(np.argmin, self, dim, keepdim),
        "sort": lambda self, dim=-1, descending=False, stable=None: _sort(self, dim, descending),
        "argsort": lambda self, dim=-1, descending=False, stable=None: _sort(self, dim, descending)[1],
        "kthvalue": lambda self, k, dim=-1, keepdim=False: _at(self, k - 1, dim, keepdim),
    },
)


@lowers("topk")
def topk(self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    x = at_least_one(self)
    found = [part[at(x, dim, slice(0, k))] for part in _sorted(x, dim, largest)]
    return found if self.ndim else [np.reshape(part, ()) for part in found]


@lowers("searchsorted")
def searchsorted(
    sorted_sequence: Array, self: Any, out_int32: bool = False, right: bool = False, side: str | None = None
) -> Any:
    """How many entries of a sequence come before; each row has its own where there are several sequences."""
    x = lift(self)
    sequence = np.expand_dims(sorted_sequence, -2) if sorted_sequence.ndim > 1 else sorted_sequence
    before = np.less_equal if right or side == "right" else np.less
    return np.sum(cast(lift(before(sequence, np.expand_dims(x, -1))), np.int64), axis=-1)


def _quantile(function: Any) -> Any:
    def lower(
        input: Array, q: Any, dim: Any = None, keepdim: bool = False, interpolation: str = "linear", out: Any = None
    ) -> Any:
        return function(input, q, axis=dim, keepdims=keepdim, method=interpolation)

    return lower


whole("quantile", torch.quantile, torch.Tensor.quantile, known=("q",))(_quantile(np.quantile))
whole("nanquantile", torch.nanquantile, torch.Tensor.nanquantile, known=("q",))(_quantile(np.nanquantile))


@lowers("median")
def median(self: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the two in the middle; NaN where one is among the entries."""
    x = at_least_one(self) if dim is not None else np.ravel(self)
    axis = -1 if dim is None else dim
    values, places = _at(x, (x.shape[axis] - 1) // 2, axis, keepdim and bool(self.ndim))
    unknown = np.any(np.isnan(x), axis=axis, keepdims=keepdim and dim is not None and bool(self.ndim))
    values = np.where(unknown, np.nan, values) if x.dtype.kind == "f" else values
    return values if dim is None else (values, places)
