"""NumPy: reductions go to the ufuncs that the methods would call, and repeating writes each number once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from math import prod
from typing import Any

import numpy as np

from ricci.einops.backends.base import Backend, Run
from ricci.einops.pairwise_numpy import contraction_numpy, einsum_numpy
from ricci.errors import EinopsTypeError

_UFUNCS: dict[str, Any] = {
    "sum": np.add.reduce,
    "prod": np.multiply.reduce,
    "max": np.maximum.reduce,
    "min": np.minimum.reduce,
    "any": lambda x, axes: np.logical_or.reduce(x, axes, bool),
    "all": lambda x, axes: np.logical_and.reduce(x, axes, bool),
}


class NumpyBackend(Backend):
    name = "numpy"
    symbolic = False
    xp = np

    concat = staticmethod(np.concatenate)  # type: ignore[assignment]

    def concrete(self, kind: type) -> bool:
        return True

    def accepts(self, x: Any) -> bool:
        return isinstance(x, np.ndarray)

    def is_float(self, x: Any) -> bool:
        return x.dtype.kind == "f" or x.dtype.name == "bfloat16"

    def quiet(self) -> AbstractContextManager:
        return np.errstate(divide="ignore", over="ignore")

    def to_numpy(self, x: Any) -> Any:
        return x

    def together(self, xs: Sequence[Any]) -> list[Any]:
        return with_numbers(xs)

    def movers(self, kind: type) -> tuple[Callable, Callable]:
        return kind.reshape, kind.transpose  # type: ignore[attr-defined]

    def reducer(self, name: str, kind: type) -> Callable[[Any, tuple[int, ...]], Any]:
        if kind is np.ndarray:
            if name in _UFUNCS:
                return _UFUNCS[name]
            if name == "mean":
                return self._mean
        return super().reducer(name, kind)

    def _mean(self, x: Any, axes: tuple[int, ...]) -> Any:
        self.check_mean(x)
        return x.mean(axes)

    def repeater(self, units: tuple, expanded: tuple, merged: tuple | None, kind: type) -> Run:
        if kind is not np.ndarray:
            return _tiled(units, expanded, merged)
        shape = expanded if merged is None else merged
        at = len(units)
        while at and units[at - 1] == 1:
            at -= 1
        inner, times = (*units[:at], *expanded[at:]), prod(expanded[at:])  # new axes at the end: entry by entry
        if inner == expanded:
            return lambda x: x.reshape(-1).repeat(times).reshape(shape)

        def repeat(x: Any) -> Any:
            out = np.empty(expanded, x.dtype)
            out[...] = (x if times == 1 else x.reshape(-1).repeat(times)).reshape(inner)
            return out.reshape(shape)

        return repeat

    def contraction(self, kinds: Sequence[type], equation: str, *labels: Any) -> Callable:
        return contraction_numpy(kinds, equation, *labels)

    def einsum_of(self, kinds: Sequence[type], equation: str, planned: Callable) -> Callable:
        return einsum_numpy(kinds, equation, planned)

    def expand(self, x: Any, shape: Any) -> Any:
        return np.tile(x, [n if m == 1 else 1 for n, m in zip(shape, x.shape, strict=True)])


def with_numbers(xs: Sequence[Any]) -> list[Any]:
    """Numbers of Python's as arrays beside the others, whose type they do not widen: single floats stay single."""
    if all(hasattr(x, "shape") for x in xs):
        return list(xs)
    types = [x.dtype for x in xs if isinstance(getattr(x, "dtype", None), np.dtype)]
    try:
        return [x if hasattr(x, "shape") else np.asarray(x, np.result_type(x, *types)) for x in xs]
    except OverflowError as error:
        raise EinopsTypeError(f"A number is too large for the arrays that it stands beside: {error}.") from error


def _tiled(units: tuple, expanded: tuple, merged: tuple | None) -> Run:
    """For subclasses of arrays, which np.empty does not make."""
    counts = tuple([full if unit == 1 else 1 for unit, full in zip(units, expanded, strict=True)])

    def repeat(x: Any) -> Any:
        x = np.tile(x.reshape(units), counts)
        return x if merged is None else x.reshape(merged)

    return repeat
