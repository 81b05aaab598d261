"""Formulas called with eager tensors: one operation of their graph, whose lowering is the formula itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ricci.compiler.run.elsewhere import ROADS, Called
from ricci.tensor.calls import apply, own_array
from ricci.tensor.node import Recorded
from ricci.tracing.formulas import placed
from ricci.tracing.frames import current


class _Lowering:
    """A formula as a function of its inputs by position; two of the same formula and inputs are equal."""

    def __init__(self, called: Called, names: tuple[str, ...], sizes: Mapping[str, int]):
        self.called, self.names, self.sizes = called, names, dict(sizes)
        self.key = (id(called.source), names, tuple(sorted(self.sizes.items())))  # the source lives as long as this

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Lowering) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __call__(self, *values: Any) -> Any:
        return placed(self.called, dict(zip(self.names, values, strict=True)), self.sizes)


def called(what: Called, inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    """A formula while a function is traced, or with tensors among its inputs."""
    if current() is not None:
        return placed(what, inputs, sizes)
    given = {**what.facts.values, **inputs}
    lower = _Lowering(what, tuple(given), sizes)
    return apply(lower, what.name, tuple(_arrays(given.values())), {})


def _arrays(values: Any) -> list[Any]:
    """Inputs beside tensors as arrays of NumPy; numbers of Python take the floating type of the others."""
    own = [v if isinstance(v, Recorded) else own_array(v) for v in values]
    numbers = [type(v) in (bool, int, float) for v in own]
    arrays = [v if n or isinstance(v, Recorded) else np.asarray(v) for v, n in zip(own, numbers, strict=True)]
    floats = [a.dtype for a, n in zip(arrays, numbers, strict=True) if not n and a.dtype.kind == "f"]
    floating = np.result_type(*floats) if floats else np.dtype(np.float64)
    return [np.asarray(a, floating if type(a) is float else None) if n else a for a, n in zip(arrays, numbers)]


ROADS[:] = [called]  # in place of that for traced arrays alone
