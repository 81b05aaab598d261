"""The operators and methods of tensors that differ from those of other operands."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.tensor.changes import change, check_changeable
from ricci.tensor.modes import state
from ricci.tensor.node import Node, numbers
from ricci.tensor.tensor import Tensor
from ricci.tracing.operand import Operand

# Operators. Those of floats that are recorded and have no names for their axes take a short way, which does what
# ``call`` does.


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
        if not (plain and self.requires_grad and self._axes is None and state.recording) or state.watch is not None:
            return general(self, other)
        result = new(Tensor)
        if swapped:
            result._value = function(number, self._value)
            args = (other, self)
        else:
            result._value = function(self._value, number)
            args = (self, other)
        result._grad = result._hooks = result._links = result.name = result._axes = None
        result.requires_grad = True
        result.node = Node(ufunc, args)
        result.number = next(numbers)
        result.index = result.changed = 0
        return result

    return method


_OPERATORS = {
    "add": (operator.add, np.add),
    "sub": (operator.sub, np.subtract),
    "mul": (operator.mul, np.multiply),
    "truediv": (operator.truediv, np.true_divide),
    "pow": (operator.pow, np.power),
    "matmul": (operator.matmul, np.matmul),
}
for _name, (_function, _ufunc) in _OPERATORS.items():
    for _prefix, _swapped in (("", False), ("r", True)):
        _general = getattr(Operand, f"__{_prefix}{_name}__")
        setattr(Tensor, f"__{_prefix}{_name}__", _operator(_function, _ufunc, _swapped, _general))


def _in_place(name: str) -> Callable:
    def method(self: Tensor, other: Any) -> Any:
        what = f"x {_SIGNS[name]}= v"
        check_changeable(self, what)
        result = getattr(self, f"__{name}__")(other)
        leaf = self.node is None and self.requires_grad
        number = isinstance(self._value, np.generic) and not leaf  # it does not change; the name then means another one
        return result if number or not isinstance(result, (Tensor, np.ndarray)) else change(self, result, what)

    return method


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@"}
for _name in _SIGNS:
    setattr(Tensor, f"__i{_name}__", _in_place(_name))
