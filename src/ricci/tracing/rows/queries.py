"""What functions ask of an array that is no matter of its entries: shapes and types. The answers are plain."""

from __future__ import annotations

from typing import Any

import numpy as np

from ricci.tracing.array import Traced
from ricci.tracing.basics import Axis, lift, normal_axes, total
from ricci.tracing.table import lowers


@lowers(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    return lift(a).shape


@lowers(np.ndim)
def ndim(a: Any) -> int:
    return lift(a).ndim


@lowers(np.size)
def size(a: Any, axis: Axis = None) -> int:
    x = lift(a)
    return total([x.shape[k] for k in normal_axes(x, axis)])


@lowers(np.isscalar, note="through ricci.numpy")
def isscalar(element: Any) -> bool:
    return False


@lowers(np.iterable, note="through ricci.numpy")
def iterable(y: Any) -> bool:
    return lift(y).ndim > 0


@lowers(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return False


@lowers(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return True


def _type(x: Any) -> Any:
    return x.dtype if isinstance(x, Traced) else x


@lowers(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    return np.result_type(*[_type(x) for x in arrays_and_dtypes])


@lowers(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(_type(from_), _type(to), casting)


@lowers(np.common_type)
def common_type(*arrays: Any) -> Any:
    return np.common_type(*[np.empty(0, lift(x).dtype) for x in arrays])


@lowers(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> tuple[np.ndarray, ...]:
    return np.tril_indices_from(np.empty(lift(arr).shape), k)


@lowers(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> tuple[np.ndarray, ...]:
    return np.triu_indices_from(np.empty(lift(arr).shape), k)


@lowers(np.diag_indices_from)
def diag_indices_from(arr: Any) -> tuple[np.ndarray, ...]:
    return np.diag_indices_from(np.empty(lift(arr).shape))


@lowers(np.iscomplex)
def iscomplex(x: Any) -> np.ndarray:
    return np.zeros(lift(x).shape, bool)


@lowers(np.isreal)
def isreal(x: Any) -> np.ndarray:
    return np.ones(lift(x).shape, bool)
