"""The operators and methods that arrays have from tables.

Each is a call of NumPy's function of that name, or of Python's for what changes in place, and goes where all calls go;
the functions of ricci's own table come with :mod:`ricci.tracing.own_functions`. No source says what they take and give,
so ``array_methods.pyi``, made of the same tables, does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.compiler.compressed.result import Compressed
from ricci.dispatch import Rule, call, change
from ricci.kinds import kind_of

_UNFIT = (str, bytes, dict, type(None), Compressed)
_FIT = frozenset([int, float, np.ndarray])


class ArrayMethods:
    """What traced arrays and tensors have from the tables."""

    __slots__ = ()


def _binary(function: Any) -> tuple[Callable, Callable]:
    def forward(self: ArrayMethods, other: Any) -> Any:
        return call(function, (self, other), {}) if _fits(other) else NotImplemented

    def backward(self: ArrayMethods, other: Any) -> Any:
        return call(function, (other, self), {}) if _fits(other) else NotImplemented

    return forward, backward


def _fits(other: Any) -> bool:
    """Whether an operator is for this operand; beside a tensor of PyTorch, or a compressed one, it is theirs."""
    return type(other) in _FIT or (not isinstance(other, _UNFIT) and kind_of(other) != "torch")


def _in_place(function: Any) -> Callable:
    def method(self: ArrayMethods, other: Any) -> Any:
        return NotImplemented if isinstance(other, _UNFIT) else change(function, (self, other))

    return method


def _unary(function: Any) -> Callable:
    def method(self: ArrayMethods) -> Any:
        return call(function, (self,), {})

    return method


def method_of(function: Any, name: str) -> Callable:
    """A function with the array as its first argument."""

    def method(self: ArrayMethods, *args: Any, **kwargs: Any) -> Any:
        return call(function, (self, *args), kwargs)

    method.__name__ = name
    method.__doc__ = (
        f"``{'rc' if isinstance(function, Rule) else 'np'}.{getattr(function, '__name__', name)}`` of this array."
    )
    return method


OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
IN_PLACE = {getattr(operator, f"i{name}"): function for name, function in OPERATORS.items()}  # ``x += y`` is iadd
for _name, _function in OPERATORS.items():
    _forward, _backward = _binary(_function)
    setattr(ArrayMethods, f"__{_name}__", _forward)
    setattr(ArrayMethods, f"__r{_name}__", _backward)
    setattr(ArrayMethods, f"__i{_name}__", _in_place(getattr(operator, f"i{_name}")))
_COMPARISONS = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
for _name, _function in _COMPARISONS.items():
    setattr(ArrayMethods, f"__{_name}__", _binary(_function)[0])
for _name, _function in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
    setattr(ArrayMethods, f"__{_name}__", _unary(_function))
_METHODS = "all any argmax argmin argpartition argsort choose clip cumprod cumsum diagonal dot max mean min "
_METHODS += "nonzero prod ravel repeat round searchsorted squeeze std sum swapaxes take trace var"
for _name in _METHODS.split():
    setattr(ArrayMethods, _name, method_of(getattr(np, _name), _name))
