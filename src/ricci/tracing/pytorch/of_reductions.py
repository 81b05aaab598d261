"""Reductions over axes, running totals, and functions along an axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ricci.errors import TraceError
from ricci.tracing.basics import lift
from ricci.tracing.casting import cast
from ricci.tracing.own_functions import lowering
from ricci.tracing.pytorch.aten import Array, lowers
from ricci.tracing.pytorch.tensors import numpy_type


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


@lowers("sum")
def total(self: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return np.sum(_in_type(self, dtype), axis=axes_of(dim), keepdims=keepdim) if self.ndim else _in_type(self, dtype)


@lowers("nansum")
def nansum(self: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return total(np.where(np.isnan(self), 0, self), dim, keepdim, dtype)


@lowers("mean")
def mean(self: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return np.mean(_in_type(self, dtype), axis=axes_of(dim), keepdims=keepdim) if self.ndim else _in_type(self, dtype)


@lowers("prod")
def prod(self: Array, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return np.prod(_in_type(self, dtype), axis=dim, keepdims=keepdim) if self.ndim else _in_type(self, dtype)


@lowers("var")
def var(self: Array, dim: Any = None, unbiased: bool = True, correction: Any = None, keepdim: bool = False) -> Any:
    """Divided by n - 1 unless another correction is given."""
    ddof = correction if correction is not None else int(unbiased)
    return np.var(at_least_one(self), axis=axes_of(dim), ddof=ddof, keepdims=keepdim and bool(self.ndim))


@lowers("std")
def std(self: Array, dim: Any = None, unbiased: bool = True, correction: Any = None, keepdim: bool = False) -> Any:
    ddof = correction if correction is not None else int(unbiased)
    return root(np.var(at_least_one(self), axis=axes_of(dim), ddof=ddof, keepdims=keepdim and bool(self.ndim)))


@lowers("var_mean")
def var_mean(self: Array, dim: Any = None, unbiased: bool = True, correction: Any = None, keepdim: bool = False) -> Any:
    return var(self, dim, unbiased, correction, keepdim), mean(self, dim, keepdim)


@lowers("std_mean")
def std_mean(self: Array, dim: Any = None, unbiased: bool = True, correction: Any = None, keepdim: bool = False) -> Any:
    return std(self, dim, unbiased, correction, keepdim), mean(self, dim, keepdim)


@lowers("any")
def any_of(self: Array, dim: Any = None, keepdim: bool = False) -> Any:
    return np.any(self, axis=axes_of(dim), keepdims=keepdim) if self.ndim else self != 0


@lowers("all")
def all_of(self: Array, dim: Any = None, keepdim: bool = False) -> Any:
    return np.all(self, axis=axes_of(dim), keepdims=keepdim) if self.ndim else self != 0


@lowers("count_nonzero")
def count_nonzero(self: Array, dim: Any = None) -> Any:
    return np.count_nonzero(self, axis=axes_of(dim)) if self.ndim else cast(self != 0, np.int64)


@lowers("logsumexp")
def logsumexp(self: Array, dim: Any, keepdim: bool = False) -> Any:
    return lowering("logsumexp")(self, axis=axes_of(dim), keepdims=keepdim) if self.ndim else self


@lowers("_softmax")
def softmax(self: Array, dim: int, half_to_float: bool = False) -> Any:
    return np.reshape(lowering("softmax")(at_least_one(self), axis=dim), self.shape)


@lowers("_log_softmax")
def log_softmax(self: Array, dim: int, half_to_float: bool = False) -> Any:
    return np.reshape(lowering("log_softmax")(at_least_one(self), axis=dim), self.shape)


@lowers("_safe_softmax")
def safe_softmax(self: Array, dim: int, dtype: Any = None) -> Any:
    """A row of which nothing is to be chosen, all of it -inf, is 0 and not NaN."""
    nothing = np.all(self == -np.inf, axis=dim, keepdims=True)
    return np.where(nothing, 0, softmax(np.where(nothing, 0, self), dim))


# Running totals


@lowers("cumsum")
def cumsum(self: Array, dim: int, dtype: Any = None) -> Any:
    x = _in_type(self, dtype)
    return np.cumsum(x, axis=dim) if self.ndim else x


@lowers("cumprod")
def cumprod(self: Array, dim: int, dtype: Any = None) -> Any:
    x = _in_type(self, dtype)
    return np.cumprod(x, axis=dim) if self.ndim else x


@lowers("logcumsumexp")
def logcumsumexp(self: Array, dim: int) -> Any:
    """By the largest entry of all: what is much smaller than that is lost, as it is in the sum."""
    if not self.ndim:
        return self
    raise TraceError("torch.logcumsumexp cannot be traced; write torch.log(torch.cumsum(torch.exp(x - m), dim)) + m.")


# Norms


@lowers("linalg_vector_norm")
def vector_norm(self: Array, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    x = _in_type(self, dtype)
    axis = axes_of(dim)
    if not x.ndim:
        return np.absolute(x)
    if ord == 2:
        return root(np.sum(x * x, axis=axis, keepdims=keepdim))
    size = np.absolute(x)
    if ord in (math.inf, -math.inf):
        return (np.max if ord > 0 else np.min)(size, axis=axis, keepdims=keepdim)
    if ord == 0:
        return np.sum(cast(x != 0, x.dtype), axis=axis, keepdims=keepdim)
    if ord == 1:
        return np.sum(size, axis=axis, keepdims=keepdim)
    return root(np.sum(size**ord, axis=axis, keepdims=keepdim), ord)


@lowers("norm")
def norm(self: Array, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return vector_norm(self, 2 if p is None else p, dim, keepdim, dtype)


@lowers("dist")
def dist(self: Array, other: Array, p: Any = 2) -> Any:
    return vector_norm(lift(self - other), p)
