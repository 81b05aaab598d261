"""CuPy, Dask, and every other kind of array that follows the array API standard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ricci.einops.backends.base import Backend


class CupyBackend(Backend):
    name = "cupy"

    def __init__(self) -> None:
        import cupy

        self.xp = cupy

    def accepts(self, x: Any) -> bool:
        return isinstance(x, self.xp.ndarray)

    def to_numpy(self, x: Any) -> Any:
        return self.xp.asnumpy(x)


class DaskBackend(Backend):
    name = "dask"

    def __init__(self) -> None:
        import dask.array

        self.xp = dask.array

    def accepts(self, x: Any) -> bool:
        return isinstance(x, self.xp.Array)


class NamespaceBackend(Backend):
    """Arrays known only by the standard: functions of their namespace instead of methods."""

    name = "array API"

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def accepts(self, x: Any) -> bool:
        return hasattr(x, "__array_namespace__")

    def reshape(self, x: Any, shape: Sequence) -> Any:
        return self.xp.reshape(x, tuple(shape))

    def transpose(self, x: Any, axes: Sequence[int]) -> Any:
        return self.xp.permute_dims(x, tuple(axes))

    def native_reduce(self, x: Any, name: str, axes: tuple[int, ...]) -> Any:
        return getattr(self.xp, name)(x, axis=axes)

    def expand(self, x: Any, shape: Sequence) -> Any:
        return self.xp.broadcast_to(x, tuple(shape))

    def concat(self, xs: Sequence, axis: int) -> Any:
        return self.xp.concat(list(xs), axis=axis)

    def slice(self, x: Any, axis: int, start: Any, stop: Any) -> Any:
        return x[(slice(None),) * axis + (slice(start, stop), ...)]

    def is_float(self, x: Any) -> bool:
        return self.xp.isdtype(x.dtype, "real floating")

    def to_numpy(self, x: Any) -> Any:
        import numpy

        return numpy.from_dlpack(x)
