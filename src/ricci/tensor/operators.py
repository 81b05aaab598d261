"""Operators of tensors of floats that are recorded and have no names for their axes: a short way, as they are many.

It does what :func:`ricci.tensor.recorder.short` does, and all other operands go the way of all calls.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.tensor.links import GraphNode, numbers
from ricci.tensor.recording_mode import mode
from ricci.tensor.tensor import Tensor
from ricci.tracing.array_methods import OPERATORS
from ricci.tracing.operand import Operand
from ricci.tracing.own_errors import RAW


def _operator(function: Callable[[Any, Any], Any], ufunc: np.ufunc, swapped: bool, general: Callable) -> Callable:
    new = object.__new__

    def method(self: Tensor, other: Any) -> Any:
        kind = type(other)
        if kind is Tensor:
            number, plain = other._value, other._axes is None
        elif kind is float or kind is int:
            number, plain = other, True
        else:
            return general(self, other)
        if not (plain and self.requires_grad and self._axes is None and mode().recording) or mode().watch is not None:
            return general(self, other)
        result = new(Tensor)
        args = (other, self) if swapped else (self, other)
        try:
            result._value = function(number, self._value) if swapped else function(self._value, number)
        except RAW:
            return general(self, other)  # which says what is wrong
        result._grad = result._hooks = result._links = result.name = result._axes = None
        result.requires_grad = True
        result.node = GraphNode(ufunc, args)
        result.number = next(numbers)
        result.index = result.changed = 0
        return result

    return method


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul"):
    for _prefix, _swapped in (("", False), ("r", True)):
        _general = getattr(Operand, f"__{_prefix}{_name}__")
        _short = _operator(getattr(operator, _name), OPERATORS[_name], _swapped, _general)
        setattr(Tensor, f"__{_prefix}{_name}__", _short)
