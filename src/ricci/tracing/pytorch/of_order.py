"""Order: largest and smallest entries and their places, sorting, medians."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ricci.tracing.basics import lift
from ricci.tracing.casting import cast
from ricci.tracing.pytorch.aten import Array, lowers, whole
from ricci.tracing.pytorch.of_reductions import at_least_one, axes_of


@lowers("amax")
def amax(self: Array, dim: Any = (), keepdim: bool = False) -> Any:
    return np.max(self, axis=axes_of(dim), keepdims=keepdim) if self.ndim else self


@lowers("amin")
def amin(self: Array, dim: Any = (), keepdim: bool = False) -> Any:
    return np.min(self, axis=axes_of(dim), keepdims=keepdim) if self.ndim else self


@lowers("aminmax")
def aminmax(self: Array, dim: Any = None, keepdim: bool = False) -> Any:
    return amin(self, dim, keepdim), amax(self, dim, keepdim)


@lowers("max")
def largest(self: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    return amax(self, dim) if dim is None else (amax(self, dim, keepdim), argmax(self, dim, keepdim))


@lowers("min")
def smallest(self: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    return amin(self, dim) if dim is None else (amin(self, dim, keepdim), argmin(self, dim, keepdim))


@lowers("argmax")
def argmax(self: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    return np.argmax(at_least_one(self), axis=dim, keepdims=keepdim and bool(self.ndim))


@lowers("argmin")
def argmin(self: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    return np.argmin(at_least_one(self), axis=dim, keepdims=keepdim and bool(self.ndim))


@lowers("sort")
def sort(self: Array, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
    values, places = _sorted(at_least_one(self), dim, descending)
    return np.reshape(values, self.shape), np.reshape(places, self.shape)


@lowers("argsort")
def argsort(self: Array, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
    return sort(self, dim, descending)[1]


def _sorted(x: Array, dim: int, descending: bool) -> tuple[Any, Any]:
    """Sorted entries and their places; among equal ones the first comes first, also where the largest do."""
    if not descending:
        return np.sort(x, axis=dim), np.argsort(x, axis=dim, kind="stable")
    back = np.flip(x, dim)
    places = np.flip(x.shape[dim] - 1 - np.argsort(back, axis=dim, kind="stable"), dim)
    return np.flip(np.sort(back, axis=dim), dim), places


@lowers("topk")
def topk(self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    x = at_least_one(self)
    values, places = _sorted(x, dim, largest)
    key = (*[slice(None)] * (dim % x.ndim), slice(0, k))
    shape = self.shape if not self.ndim else None
    return tuple([part[key] if shape is None else np.reshape(part[key], shape) for part in (values, places)])


@lowers("kthvalue")
def kthvalue(self: Array, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    return _at(self, k - 1, dim, keepdim)


def _at(self: Array, place: int, dim: int, keepdim: bool) -> tuple[Any, Any]:
    """The entry at a place in the order along an axis, and where it stood."""
    x = at_least_one(self)
    key = (*[slice(None)] * (dim % x.ndim), place)
    values, places = [part[key] for part in _sorted(x, dim, False)]
    if keepdim and self.ndim:
        return np.expand_dims(values, dim), np.expand_dims(places, dim)
    return values, places


@lowers("searchsorted")
def searchsorted(
    sorted_sequence: Array, self: Any, out_int32: bool = False, right: bool = False, side: str | None = None
) -> Any:
    """How many entries of a sequence come before; each row has its own where there are several sequences."""
    x = lift(self)
    sequence = np.expand_dims(sorted_sequence, -2) if sorted_sequence.ndim > 1 else sorted_sequence
    before = np.less_equal if right or side == "right" else np.less
    return np.sum(cast(lift(before(sequence, np.expand_dims(x, -1))), np.int64), axis=-1)


@whole("quantile", torch.quantile, torch.Tensor.quantile, known=("q",))
def quantile(
    input: Array, q: Any, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear", out: Any = None
) -> Any:
    return np.quantile(input, q, axis=dim, keepdims=keepdim, method=interpolation)  # type: ignore[call-overload]


@whole("nanquantile", torch.nanquantile, torch.Tensor.nanquantile, known=("q",))
def nanquantile(
    input: Array, q: Any, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear", out: Any = None
) -> Any:
    return np.nanquantile(input, q, axis=dim, keepdims=keepdim, method=interpolation)  # type: ignore[call-overload]


@lowers("median")
def median(self: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower of the two in the middle; NaN where one is among the entries."""
    x = at_least_one(self) if dim is not None else np.ravel(self)
    axis = -1 if dim is None else dim
    values, places = _at(x, (x.shape[axis] - 1) // 2, axis, keepdim and bool(self.ndim))
    unknown = np.any(np.isnan(x), axis=axis, keepdims=keepdim and dim is not None and bool(self.ndim))
    values = np.where(unknown, np.nan, values) if x.dtype.kind == "f" else values
    return values if dim is None else (values, places)
