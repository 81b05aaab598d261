"""What functions ask of an array that is no matter of its entries: shapes and types. The answers are plain."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.tracing.arguments import Axes
from ricci.tracing.array import Traced
from ricci.tracing.lowerings import lowers

# Of one array
ANSWERS: dict[Any, Callable[[Traced], Any]] = {
    np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.iscomplexobj: lambda x: False,
    np.isrealobj: lambda x: True,
    np.iscomplex: lambda x: np.zeros(x.shape, bool),
    np.isreal: lambda x: np.ones(x.shape, bool),
    np.diag_indices_from: lambda x: np.diag_indices_from(np.empty(x.shape)),
}


def _answered(function: Any, answer: Callable[[Traced], Any], note: str = "") -> None:
    def lower(x: Traced) -> Any:
        return answer(x)

    lowers(function, note=note)(lower)


for _function, _answer in ANSWERS.items():
    _answered(_function, _answer)
_answered(np.isscalar, lambda x: False, "through ricci.numpy")
_answered(np.iterable, lambda x: x.ndim > 0, "through ricci.numpy")


@lowers(np.size)
def size(x: Traced, axis: Axes) -> int:
    return math.prod([x.shape[k] for k in axis])


def _type(x: Any) -> Any:
    return x.dtype if isinstance(x, Traced) else x


@lowers(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    return np.result_type(*[_type(x) for x in arrays_and_dtypes])


@lowers(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(_type(from_), _type(to), casting)


@lowers(np.common_type)
def common_type(*arrays: Traced) -> Any:
    return np.common_type(*[np.empty(0, x.dtype) for x in arrays])


@lowers(np.tril_indices_from)
def tril_indices_from(x: Traced, k: int = 0) -> tuple[np.ndarray, ...]:
    return np.tril_indices_from(np.empty(x.shape), k)


@lowers(np.triu_indices_from)
def triu_indices_from(x: Traced, k: int = 0) -> tuple[np.ndarray, ...]:
    return np.triu_indices_from(np.empty(x.shape), k)
