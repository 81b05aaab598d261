"""The key of a call: what its meaning is found by, and the inputs among its arguments.

Two calls mean the same if they differ only in the values of their inputs: tensors, arrays, and the numbers that ufuncs
take beside them. All else is part of the key: shapes and types, axes, modes, exponents (``x**2`` has a simpler
derivative than ``x**n``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.dispatch import Rule
from ricci.tensor.links import GraphNode, Recorded
from ricci.tracing.trees import flatten, unflatten

MOST_STATIC = 4096  # entries of an array that a program may be found by
LONG = 32  # a list of numbers from this length on is an array
EXPONENTS = frozenset([np.power, np.float_power])
_LIFTING = (np.clip, np.where)  # beside ufuncs: their numbers may well differ from call to call
_INPUT = object()


class CallKey:
    """The arguments of a call, taken apart into ``inputs`` and a ``key`` that can be compared; None if it cannot."""

    def __init__(self, node: GraphNode, by_value: bool):
        function = node.function
        self.by_value = by_value  # whether plain arrays, and tensors of places, are part of the key and no inputs
        varying = (type(function) is np.ufunc and function not in EXPONENTS) or function in _LIFTING
        self.lifting = varying and not by_value  # whether numbers are inputs
        self.with_names = isinstance(function, Rule)  # names of axes are part of the key: patterns look at them
        self.inputs: list[Any] = []
        self.static: list[Any] = []  # all arguments that are no inputs, in place
        self.hashable = True
        leaves, self.form = flatten(_with_arrays((node.args, node.kwargs)))
        parts = [self._part(leaf) for leaf in leaves]
        self.key = (function, by_value, self.form, *parts) if self.hashable else None

    def _part(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, (Recorded, np.ndarray, np.generic)):
            return self._of_array(value)
        if self.lifting and kind in (float, int):
            return self._input(value, float)
        if kind is slice:
            bounds = (value.start, value.stop, value.step)
            value = slice(*[int(x._value) if isinstance(x, Recorded) else x for x in bounds])
            return self._fixed(value, (value.start, value.stop, value.step))
        return self._fixed(value, value)

    def _of_array(self, value: Any) -> Any:
        tensor = value if isinstance(value, Recorded) else None
        array: Any = value if tensor is None else tensor._value
        needed = tensor is not None and tensor.requires_grad
        if array.dtype.kind not in "biufc":
            return self._fixed(array, array)
        if self.by_value and not needed and (tensor is None or array.dtype.kind not in "fc"):  # no gradients, no names
            self.hashable = self.hashable and array.size <= MOST_STATIC
            return self._fixed(array, (array.shape, array.dtype, array.tobytes() if self.hashable else None))
        names = tensor._axes if self.with_names and tensor is not None else None
        return self._input(value, (array.shape, array.dtype, needed, names))

    def _input(self, value: Any, key: Any) -> Any:
        self.inputs.append(value)
        self.static.append(_INPUT)
        return key

    def _fixed(self, value: Any, key: Any) -> Any:
        self.static.append(value)
        try:
            hash(key)
        except TypeError:
            self.hashable = False
        return type(value), key

    def replaced(self, stand_ins: Sequence[Any]) -> tuple[tuple, dict[str, Any]]:
        """The arguments, and those by name, with others in place of the inputs."""
        given = iter(stand_ins)
        return unflatten(self.form, [next(given) if value is _INPUT else value for value in self.static])


def _with_arrays(value: Any) -> Any:
    """Long lists of numbers as arrays."""
    if isinstance(value, dict):
        return {name: _with_arrays(part) for name, part in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    if len(value) >= LONG and all(type(v) in (int, float) for v in value):
        return np.asarray(value)
    parts = [_with_arrays(part) for part in value]
    return tuple(parts) if isinstance(value, tuple) else parts
