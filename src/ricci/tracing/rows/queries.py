"""What functions ask of an array that is no matter of its entries: shapes and types. The answers are plain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ricci.tracing.arguments import Axes
from ricci.tracing.array import Traced
from ricci.tracing.lowerings import lines, lowers

lines(
    __name__,
    {
        np.shape: lambda x: x.shape,
        np.ndim: lambda x: x.ndim,
        np.iscomplexobj: lambda x: x.dtype.kind == "c",
        np.isrealobj: lambda x: x.dtype.kind != "c",
        np.iscomplex: lambda x: x.imag != 0 if x.dtype.kind == "c" else np.zeros(x.shape, bool),
        np.isreal: lambda x: x.imag == 0 if x.dtype.kind == "c" else np.ones(x.shape, bool),
        np.diag_indices_from: lambda x: np.diag_indices_from(np.empty(x.shape)),
        np.tril_indices_from: lambda x, k=0: np.tril_indices_from(np.empty(x.shape), k),
        np.triu_indices_from: lambda x, k=0: np.triu_indices_from(np.empty(x.shape), k),
    },
)
lowers(np.isscalar, note="through ricci.numpy")(lambda x: False)
lowers(np.iterable, note="through ricci.numpy")(lambda x: x.ndim > 0)


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
