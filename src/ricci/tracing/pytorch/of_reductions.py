"""Reductions over axes, running totals, and functions along an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ricci.errors import TraceError
from ricci.tracing.basics import lift
from ricci.tracing.casting import cast
from ricci.tracing.own_functions import lowering
from ricci.tracing.pytorch.aten import Array, lowers, rows
from ricci.tracing.pytorch.traced_tensors import numpy_type


def axes_of(dim: Any) -> Any:
    """Axes as NumPy takes them: None for all, which in PyTorch is also an empty list."""
    if dim is None or isinstance(dim, int):
        return dim
    return tuple(dim) or None


def _in_type(x: Array, dtype: Any) -> Array:
    return x if dtype is None else cast(x, numpy_type(dtype))


def at_least_one(x: Array) -> Array:
    """Operations along an axis take a scalar for a vector of one entry."""
    return x if x.ndim else np.reshape(x, (1,))


def root(x: Array, order: Any = 2) -> Any:
    """A root that is flat where it is 0, as PyTorch has it for norms and deviations."""
    flat = x == 0
    inside = np.where(flat, 1, x)
    return np.where(flat, 0, np.sqrt(inside) if order == 2 else inside ** (1 / order))


def _over(function: Any, x: Array, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    """A reduction of NumPy's; a scalar is its own."""
    x = _in_type(x, dtype)
    return function(x, axis=axes_of(dim), keepdims=keepdim) if x.ndim else x


def _truth(function: Any, x: Array, dim: Any, keepdim: bool) -> Any:
    return function(x, axis=axes_of(dim), keepdims=keepdim) if x.ndim else x != 0


def _var(x: Array, dim: Any, unbiased: bool, correction: Any, keepdim: bool) -> Any:
    """Divided by n - 1 unless another correction is given."""
    ddof = correction if correction is not None else int(unbiased)
    return np.var(at_least_one(x), axis=axes_of(dim), ddof=ddof, keepdims=keepdim and bool(x.ndim))


rows(
    __name__,
    {
        "sum": lambda self, dim=None, keepdim=False, dtype=None: _over(np.sum, self, dim, keepdim, dtype),
        "nansum": lambda self, dim=None, keepdim=False, dtype=None: _over(
            np.sum, lift(np.where(np.isnan(self), 0, self)), dim, keepdim, dtype
        ),
        "mean": lambda self, dim=None, keepdim=False, dtype=None: _over(np.mean, self, dim, keepdim, dtype),
        "prod": lambda self, dim=None, keepdim=False, dtype=None: _over(np.prod, self, dim, keepdim, dtype),
        "any": lambda self, dim=None, keepdim=False: _truth(np.any, self, dim, keepdim),
        "all": lambda self, dim=None, keepdim=False: _truth(np.all, self, dim, keepdim),
        "count_nonzero": lambda self, dim=None: (
            np.count_nonzero(self, axis=axes_of(dim)) if self.ndim else cast(self != 0, np.int64)
        ),
        "logsumexp": lambda self, dim, keepdim=False: (
            lowering("logsumexp")(self, axis=axes_of(dim), keepdims=keepdim) if self.ndim else self
        ),
        "var": lambda self, dim=None, unbiased=True, correction=None, keepdim=False: _var(
            self, dim, unbiased, correction, keepdim
        ),
        "std": lambda self, dim=None, unbiased=True, correction=None, keepdim=False: root(
            _var(self, dim, unbiased, correction, keepdim)
        ),
        "var_mean": lambda self, dim=None, unbiased=True, correction=None, keepdim=False: (
            _var(self, dim, unbiased, correction, keepdim),
            _over(np.mean, self, dim, keepdim),
        ),
        "std_mean": lambda self, dim=None, unbiased=True, correction=None, keepdim=False: (
            root(_var(self, dim, unbiased, correction, keepdim)),
            _over(np.mean, self, dim, keepdim),
        ),
        "_softmax": lambda self, dim, half_to_float=False: softmax(self, dim),
        "_log_softmax": lambda self, dim, half_to_float=False: np.reshape(
            lowering("log_softmax")(at_least_one(self), axis=dim), self.shape
        ),
        "cumsum": lambda self, dim, dtype=None: _running(np.cumsum, self, dim, dtype),
        "cumprod": lambda self, dim, dtype=None: _running(np.cumprod, self, dim, dtype),
        "norm": lambda self, p=2, dim=None, keepdim=False, dtype=None: vector_norm(
            self, 2 if p is None else p, dim, keepdim, dtype
        ),
        "dist": lambda self, other, p=2: vector_norm(lift(self - other), p),
    },
)


def softmax(x: Array, dim: int) -> Any:
    return np.reshape(lowering("softmax")(at_least_one(x), axis=dim), x.shape)


@lowers("_safe_softmax")
def safe_softmax(self: Array, dim: int, dtype: Any = None) -> Any:
    """A row of which nothing is to be chosen, all of it -inf, is 0 and not NaN."""
    nothing = np.all(self == -np.inf, axis=dim, keepdims=True)
    return np.where(nothing, 0, softmax(lift(np.where(nothing, 0, self)), dim))


def _running(function: Any, x: Array, dim: int, dtype: Any) -> Any:
    x = _in_type(x, dtype)
    return function(x, axis=dim) if x.ndim else x


@lowers("logcumsumexp")
def logcumsumexp(self: Array, dim: int) -> Any:
    if not self.ndim:
        return self
    raise TraceError("torch.logcumsumexp cannot be traced; write torch.log(torch.cumsum(torch.exp(x - m), dim)) + m.")


@lowers("linalg_vector_norm")
def vector_norm(self: Array, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    x = _in_type(self, dtype)
    over = {"axis": axes_of(dim), "keepdims": keepdim}
    if not x.ndim:
        return np.absolute(x)
    if ord == 2:
        return root(np.sum(x * x if x.dtype.kind != "c" else np.absolute(x) ** 2, **over))
    size = lift(np.absolute(x))
    if ord in (math.inf, -math.inf):
        return (np.max if ord > 0 else np.min)(size, **over)
    if ord == 0:
        return np.sum(cast(x != 0, size.dtype), **over)
    return np.sum(size, **over) if ord == 1 else root(np.sum(size**ord, **over), ord)
