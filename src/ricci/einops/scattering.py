"""Numbers that meet at one place, combined: the kernels behind scatter and gather, for each kind of array.

All indices are merged into one, of places in one merged axis, so that

    gather    r[n, ...]     = x[at[n], ...]
    scatter   r[at[n], ...] = combine of all x[n, ...] with that place

On NumPy, ``ufunc.at`` with a flat index has a loop of its own since NumPy 1.25, which is faster than sorting and never
slower than ``bincount``; with any other index it is ten times slower, so rows are spread out into single numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from ricci.einops.backends.base import Backend
from ricci.errors import EinopsTypeError
from ricci.kinds import kind_of

REDUCTIONS = ("sum", "prod", "max", "min", "mean")
_UFUNCS = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
_TORCH = {"prod": "prod", "max": "amax", "min": "amin"}
_JAX = {"sum": "add", "prod": "multiply", "max": "max", "min": "min"}


def identity(xp: Any, reduce: str, dtype: Any, floating: bool) -> Any:
    """What no number combines to: 0, 1, and for max and min the end of the range of the type."""
    if reduce in ("sum", "prod", "mean"):
        return int(reduce == "prod")
    if floating:
        return -float("inf") if reduce == "max" else float("inf")
    if str(dtype).endswith("bool"):
        return reduce == "min"
    try:
        limits = xp.iinfo(dtype)
    except (TypeError, ValueError):
        raise EinopsTypeError(f"rc.scatter has no {reduce} of numbers of {dtype}.") from None
    return limits.min if reduce == "max" else limits.max


def scatter_by_ufunc(library: str, values: Any, at: Any, places: int, reduce: str) -> Any:
    """``values`` of shape (n, m) combined at ``at`` of shape (n,) into (places, m), on NumPy and CuPy."""
    xp = import_module(library)
    count, width = values.shape
    start = identity(xp, reduce, values.dtype, "float" in values.dtype.name)
    result = xp.full(places * width, start, values.dtype)
    flat = at if width == 1 else (at[:, None] * width + xp.arange(width)).reshape(count * width)
    getattr(xp, _UFUNCS[reduce]).at(result, flat, values.reshape(count * width))
    return result.reshape(places, width)


def scatter_torch(values: Any, at: Any, places: Any, reduce: str) -> Any:
    """As :func:`scatter_by_ufunc`."""
    import torch

    start = identity(torch, reduce, values.dtype, values.dtype.is_floating_point)
    result = torch.full((places, values.shape[1]), start, dtype=values.dtype, device=values.device)
    if reduce == "sum":
        return result.index_add(0, at, values)
    return result.scatter_reduce(0, at[:, None].expand(values.shape), values, _TORCH[reduce], include_self=True)


def scatter_jax(values: Any, at: Any, places: int, reduce: str) -> Any:
    """As :func:`scatter_by_ufunc`; what is out of range is dropped."""
    import jax.numpy as jnp

    floating = jnp.issubdtype(values.dtype, jnp.floating)
    start = identity(jnp, reduce, values.dtype, floating)
    result = jnp.full((places, values.shape[1]), start, values.dtype)
    return getattr(result.at[jnp.where(at < 0, places, at)], _JAX[reduce])(values, mode="drop")


def scatter_recorded(values: Any, at: Any, places: int, reduce: str) -> Any:
    """As :func:`scatter_by_ufunc`, for traced arrays and tensors: by what has a derivative.

    Sums are added up in place. Of other reductions, each place picks its own among all numbers and combines them.
    """
    xp = values.__array_namespace__()
    start = identity(xp, reduce, values.dtype, values.dtype.kind == "f")
    if reduce == "sum":
        nothing = xp.zeros_like(values[:1]) if len(values) else values
        return xp.broadcast_to(xp.sum(nothing, axis=0), (places, values.shape[1])).at[at].add(values)
    own = xp.equal(xp.arange(places)[:, None], at)[:, :, None]
    ufunc = getattr(xp, {"prod": "prod", "max": "max", "min": "min"}[reduce])
    return ufunc(xp.where(own, values, values.dtype.type(start)), axis=1, initial=values.dtype.type(start))


_KERNELS: dict[str, Callable] = {
    "numpy": partial(scatter_by_ufunc, "numpy"),
    "cupy": partial(scatter_by_ufunc, "cupy"),
    "torch": scatter_torch,
    "jax": scatter_jax,
    "ricci": scatter_recorded,
}


def kernel_of(backend: Backend) -> Callable:
    """The kernel for a kind of array."""
    kernel = _KERNELS.get(backend.name)
    if kernel is None:
        hint = "Make them arrays of NumPy, CuPy, PyTorch or JAX."
        raise EinopsTypeError(f"rc.scatter is not available for arrays of {backend.name}.", hint=hint)
    return kernel


def taken(backend: Backend, x: Any, at: Any, axis: int, shape: tuple) -> Any:
    """``x`` at the flat index ``at`` along ``axis``, which becomes axes of this shape."""
    before, after = backend.shape(x)[:axis], backend.shape(x)[axis + 1 :]
    if backend.name == "torch":
        x = x.index_select(axis, at)
    elif backend.name == "numpy":
        x = x.take(at, axis, mode="clip" if len(at) and x.shape[axis] else "raise")
    elif backend.name == "jax":
        x = backend.xp.take(x, at, axis=axis, mode="fill")
    else:
        x = backend.xp.take(x, at, axis=axis)
    return backend.reshape(x, (*before, *shape, *after))


def as_places(backend: Backend, index: Any) -> Any:
    """An index in the type that the backend indexes with; an error for what is not of integers."""
    if backend.name == "numpy" and index.dtype.kind in "iu":
        import numpy as np

        return index.astype(np.intp, copy=False)
    kind = str(index.dtype).rpartition(".")[2]
    if not kind.startswith(("int", "uint")):
        message = f"An index must be of integers, not of {kind}."
        raise EinopsTypeError(message, hint="An index says places, 0 to the size less one; round and convert it first.")
    return index.long() if backend.name == "torch" else index


def kept_out(backend: Backend, index: Any, size: int, whole: int) -> Any:
    """A traced index with ``whole``, the number of all places, for each that is out of range.

    So it is out of range too when it is merged with others, and is not counted from the end.
    """
    if kind_of(index) != "traced" and (backend.name != "jax" or size == whole):
        return index
    xp = backend.xp
    return xp.where(index < 0, whole, xp.where(index >= size, whole, index))


def out_of_range(index: Any, size: int) -> int | None:
    """A place that is not there, where it can be told: on NumPy, and on the CPU with PyTorch outside of programs."""
    kind = kind_of(index)
    if kind == "numpy":
        import numpy as np

        if (
            index.size == 0 or np.ascontiguousarray(index, np.intp).view(np.uintp).max() < size
        ):  # negative ones are huge there
            return None
        return int(index[(index < 0) | (index >= size)][0])
    if kind != "torch" or index.device.type != "cpu" or index.numel() == 0 or _transformed(index):
        return None
    low, high = index.aminmax()
    low, high = int(low), int(high)
    return low if low < 0 else high if high >= size else None


def _transformed(index: Any) -> bool:
    """Whether numbers cannot be asked for, as under vmap."""
    import torch

    functorch: Any = getattr(torch._C, "_functorch", None)
    return functorch is not None and functorch.is_batchedtensor(index)
