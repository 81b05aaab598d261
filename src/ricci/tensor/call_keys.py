"""The signature of a call: what its meaning is found by, and the inputs among its arguments.

Two calls mean the same if they differ only in the values of their inputs: tensors, arrays, and the numbers that ufuncs
take beside them. All else is part of the key: shapes and types, axes, modes, exponents (``x**2`` has a simpler
derivative than ``x**n``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.tensor.links import Recorded

MOST_STATIC = 4096  # entries of an array that a program may be found by
LONG = 32  # a list of numbers from this length on is an array
EXPONENTS = (np.power, np.float_power)
_LIFTING = (np.clip, np.where)  # beside ufuncs: their numbers may well differ from call to call


class Reader:
    """Takes the arguments of a call apart into inputs and a key that can be compared."""

    def __init__(self, function: Any, by_value: bool = False, with_names: bool = False):
        self.inputs: list[Any] = []
        self.by_value = by_value  # whether plain arrays, and tensors of places, are part of the key and no inputs
        varying = (type(function) is np.ufunc and function not in EXPONENTS) or function in _LIFTING
        self.lifting = varying and not by_value  # whether numbers are inputs
        self.with_names = with_names  # whether names of axes are part of the key: what patterns look at
        self.hashable = True

    def key(self, value: Any) -> Any:
        """The key of one argument; inputs are collected on the way."""
        kind = type(value)
        if isinstance(value, Recorded):
            return self.array_key(value, value._value, value.requires_grad)
        if kind is float or kind is int:
            if self.lifting:
                self.inputs.append(value)
                return float
            return kind, value
        if isinstance(value, (np.ndarray, np.generic)):
            return self.array_key(value, value, False)
        if isinstance(value, (list, tuple)):
            if len(value) >= LONG and _numeric(value):
                return self.key(np.asarray(value))
            return kind, *[self.key(part) for part in value]
        if kind is slice:
            return kind, self.key(value.start), self.key(value.stop), self.key(value.step)
        return self.static_key(value)

    def array_key(self, value: Any, array: Any, needed: bool) -> Any:
        if array.dtype.kind not in "biuf":
            return self.static_key(value)
        if self._fixed(value, array, needed):
            self.hashable = self.hashable and array.size <= MOST_STATIC
            return "array", array.shape, array.dtype, array.tobytes() if self.hashable else None
        self.inputs.append(value)
        names = value._axes if self.with_names and isinstance(value, Recorded) else None
        return (array.shape, array.dtype, needed) if names is None else (array.shape, array.dtype, needed, names)

    def _fixed(self, value: Any, array: Any, needed: bool) -> bool:
        """Whether an array is part of the key: by value, all but floating tensors, which carry gradients or names."""
        return self.by_value and not needed and not (isinstance(value, Recorded) and array.dtype.kind == "f")

    def static_key(self, value: Any) -> Any:
        try:
            hash(value)
        except TypeError:
            self.hashable = False
        return type(value), value

    def replaced(self, value: Any, stand_ins: list[Any]) -> Any:
        """The argument with the inputs replaced, in the same order."""
        if isinstance(value, (Recorded, np.ndarray, np.generic)):
            tensor = isinstance(value, Recorded)
            array = value._value if tensor else value
            kept = array.dtype.kind not in "biuf" or self._fixed(value, array, tensor and value.requires_grad)
            return array if kept else stand_ins.pop()
        if self.lifting and type(value) in (float, int):
            return stand_ins.pop()
        if isinstance(value, (list, tuple)):
            if len(value) >= LONG and _numeric(value):
                return self.replaced(np.asarray(value), stand_ins)
            parts = [self.replaced(part, stand_ins) for part in value]
            return parts if isinstance(value, list) else tuple(parts)
        if type(value) is slice:
            return slice(*[self.replaced(part, stand_ins) for part in (value.start, value.stop, value.step)])
        return value


def _numeric(values: Sequence) -> bool:
    return all(type(v) in (int, float) for v in values)
