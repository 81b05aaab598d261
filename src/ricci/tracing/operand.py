"""What traced arrays and eager tensors have in common: the operators and methods of an array.

Each of them is a call of NumPy's function of that name, or of Python's for what changes in place, and NumPy's functions
come here by its protocols; so all of them lead to :func:`ricci.dispatch.call`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ricci.compiler.compressed.result import Compressed
from ricci.dispatch import Rule, call, change, offered, public
from ricci.errors import InputError
from ricci.kinds import kind_of
from ricci.tracing.array_methods import ArrayMethods

_UNFIT = (str, bytes, dict, type(None), Compressed)


def _binary(function: Any) -> tuple[Callable, Callable]:
    def forward(self: Operand, other: Any) -> Any:
        return call(function, (self, other), {}) if _fits(other) else NotImplemented

    def backward(self: Operand, other: Any) -> Any:
        return call(function, (other, self), {}) if _fits(other) else NotImplemented

    return forward, backward


def _fits(other: Any) -> bool:
    """Whether an operator is for this operand; beside a tensor of PyTorch, or a compressed one, it is theirs."""
    return not isinstance(other, _UNFIT) and kind_of(other) != "torch"


def _in_place(function: Any) -> Callable:
    def method(self: Operand, other: Any) -> Any:
        return NotImplemented if isinstance(other, _UNFIT) else change(function, (self, other))

    return method


def _unary(function: Any) -> Callable:
    def method(self: Operand) -> Any:
        return call(function, (self,), {})

    return method


def method_of(function: Any, name: str) -> Callable:
    """A function with the array as its first argument."""

    def method(self: Operand, *args: Any, **kwargs: Any) -> Any:
        return call(function, (self, *args), kwargs)

    method.__name__ = name
    method.__doc__ = (
        f"``{'rc' if isinstance(function, Rule) else 'np'}.{getattr(function, '__name__', name)}`` of this array."
    )
    return method


class Operand(ArrayMethods):
    """An array that takes part in NumPy's protocols."""

    __slots__ = ()
    __array_priority__ = 1000
    shape: tuple[int, ...]
    dtype: np.dtype

    # Names of axes that a scope remembers: of what, and how they go from operands to results

    @property
    def remembered(self) -> Any:
        """What names are remembered of."""
        return self

    def names_from(self, known: Callable[[Any], Sequence[str | None] | None]) -> Sequence[str | None] | None:
        """The names of the axes, by those that are known of what this was computed from."""
        raise NotImplementedError

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return call(ufunc if method == "__call__" else (ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        return call(function, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return public("numpy")

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return offered("of_torch")(function, args, kwargs or {})

    # What an array says of itself

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def T(self) -> Any:
        return call(np.transpose, (self,), {})

    @property
    def mT(self) -> Any:
        return call(np.matrix_transpose, (self,), {})

    @property
    def real(self) -> Any:
        return self

    @property
    def imag(self) -> Any:
        return call(np.zeros_like, (self,), {})

    @property
    def at(self) -> At:
        """``x.at[i].set(v)``, ``x.at[i].add(v)``: an array that differs from this one there."""
        return At(self)

    @property
    def flat(self) -> Flat:
        """The entries one after another; ``x.flat[k] = v`` changes them."""
        return Flat(self)

    def __len__(self) -> int:
        if not self.shape:
            raise InputError("A scalar has no length.")
        return self.shape[0]

    def __iter__(self) -> Iterator:
        if not self.shape:
            raise InputError("A scalar cannot be iterated over.")
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, key: Any) -> Any:
        return call(operator.getitem, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        change(operator.setitem, (self, key, value))

    def __hash__(self) -> int:
        return id(self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, digits: int = 0) -> Any:
        return call(np.round, (self, digits), {})

    # Methods whose arguments differ from those of NumPy's function

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        kwargs = {} if order == "C" else {"order": order}
        return call(np.reshape, (self, shape[0] if len(shape) == 1 else shape), kwargs)

    def transpose(self, *axes: Any) -> Any:
        chosen = None if not axes else axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return call(np.transpose, (self, chosen), {})

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True):
        return call(np.astype, (self, dtype), {})

    def flatten(self, order: str = "C") -> Any:
        return call(np.copy, (call(np.ravel, (self,), {"order": order}),), {})

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        if type is not None or (dtype is not None and np.dtype(dtype) != self.dtype):
            raise InputError("x.view(…) reads memory as another type; write x.astype(…) for the numbers in that type.")
        return self[...]

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        call(np.put, (self, indices, values), {"mode": mode})

    def copy(self, order: str = "C") -> Any:
        return call(np.copy, (self,), {})

    def conj(self) -> Any:
        return self

    def conjugate(self) -> Any:
        return self

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> Any:
        """The entries in order along an axis, in place."""
        return change(np.ndarray.sort, (self, axis))

    def fill(self, value: Any) -> Any:
        """Every entry set to ``value``."""
        self[...] = value


class Flat:
    """The entries of an array in a row."""

    __slots__ = ("array",)

    def __init__(self, array: Any):
        self.array = array

    def __iter__(self) -> Iterator:
        return iter(self.array.flatten())

    def __len__(self) -> int:
        return self.array.size

    def __getitem__(self, key: Any) -> Any:
        return self.array.flatten()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        entries = self.array.flatten()
        entries[key] = value
        self.array[...] = entries.reshape(self.array.shape)


class At:
    """The places of an array that are to be changed in a copy of it."""

    __slots__ = ("array", "key")

    def __init__(self, array: Any, key: Any = None):
        self.array, self.key = array, key

    def __getitem__(self, key: Any) -> At:
        return At(self.array, key if isinstance(key, tuple) else (key,))

    def _change(self, how: str, value: Any) -> Any:
        if self.key is None:
            raise InputError(f"Say where: x.at[0].{how}(value).")
        return call(changed, (self.array, self.key, value, how), {})

    def set(self, value: Any) -> Any:
        """A copy with these entries replaced."""
        return self._change("set", value)

    def add(self, value: Any) -> Any:
        """A copy with ``value`` added; places that are named twice get it twice."""
        return self._change("add", value)

    def subtract(self, value: Any) -> Any:
        """A copy with ``value`` taken off."""
        return self._change("add", -value)

    def multiply(self, value: Any) -> Any:
        """A copy with these entries multiplied."""
        return self._change("set", self.get() * value)

    def divide(self, value: Any) -> Any:
        """A copy with these entries divided."""
        return self._change("set", self.get() / value)

    def power(self, value: Any) -> Any:
        """A copy with these entries raised to a power."""
        return self._change("set", self.get() ** value)

    def min(self, value: Any) -> Any:
        """A copy with these entries at most ``value``."""
        return self._change("set", np.minimum(self.get(), value))

    def max(self, value: Any) -> Any:
        """A copy with these entries at least ``value``."""
        return self._change("set", np.maximum(self.get(), value))

    def get(self) -> Any:
        """The entries as they are."""
        return self.array[self.key]


def changed(x: Any, key: Any, value: Any, how: str) -> Any:
    """``x.at[key].set(value)`` and its kin, on arrays; NumPy has no function that it would be."""
    result = np.array(x)
    if how == "set":
        result[key] = value
    else:
        np.add.at(result, key, value)
    return result


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
    setattr(Operand, f"__{_name}__", _forward)
    setattr(Operand, f"__r{_name}__", _backward)
    setattr(Operand, f"__i{_name}__", _in_place(getattr(operator, f"i{_name}")))
_COMPARISONS = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
for _name, _function in _COMPARISONS.items():
    setattr(Operand, f"__{_name}__", _binary(_function)[0])
for _name, _function in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
    setattr(Operand, f"__{_name}__", _unary(_function))
_METHODS = "all any argmax argmin argpartition argsort choose clip compress cumprod cumsum diagonal dot max mean min "
_METHODS += "nonzero prod ravel repeat round searchsorted squeeze std sum swapaxes take trace var"
for _name in _METHODS.split():
    setattr(Operand, _name, method_of(getattr(np, _name), _name))
