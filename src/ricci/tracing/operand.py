"""What traced arrays and eager tensors have in common: what an array says of itself, and NumPy's protocols.

NumPy's functions come here by these, and lead to :func:`ricci.dispatch.call`, as operators and methods do, which are
made of tables (:mod:`ricci.tracing.array_methods`).
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ricci.checked_calls import takes
from ricci.dispatch import call, change, offered, public, tracing
from ricci.errors import InputError, absent
from ricci.kinds import check_numbers
from ricci.tracing.array_methods import ArrayMethods
from ricci.tracing.counters import is_counted, read_at, write_at
from ricci.tracing.other_methods import written


class Operand(ArrayMethods):
    """An array that takes part in NumPy's protocols."""

    __slots__ = ()
    __array_priority__ = 1000
    shape: tuple[int, ...]
    dtype: np.dtype

    _what = "An array of ricci's"

    # Names of axes that a scope remembers: of what, and how they go from operands to results

    @property
    def _named(self) -> bool:
        """Whether some axes may have names."""
        return False

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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise absent(self, self._what, name, written)

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
    def T(self) -> Self:
        return call(np.transpose, (self,), {})

    @property
    def mT(self) -> Self:
        return call(np.matrix_transpose, (self,), {})

    @property
    def real(self) -> Self:
        return call(np.real, (self,), {}) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, value: Any) -> None:
        self[...] = value + 1j * self.imag if self.dtype.kind == "c" else value

    @property
    def imag(self) -> Any:
        return call(np.imag if self.dtype.kind == "c" else np.zeros_like, (self,), {})

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise InputError(
                f"An array of {self.dtype} has no imaginary part to set; write x = x.astype(complex) first."
            )
        self[...] = self.real + 1j * value

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

    def __iter__(self) -> Iterator[Self]:
        if not self.shape:
            raise InputError("A scalar cannot be iterated over.")
        rolled = None if tracing() is None else offered("iterated")(self, sys._getframe(1))
        return (self[i] for i in range(self.shape[0])) if rolled is None else rolled

    def __getitem__(self, key: Any) -> Self:
        if is_counted(key):
            return read_at(self, key)
        return call(operator.getitem, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        if is_counted(key):
            write_at(self, key, value)
            return
        change(operator.setitem, (self, key, value))

    def __hash__(self) -> int:
        return id(self)

    def __divmod__(self, other: Any) -> tuple[Self, Self]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __round__(self, digits: int = 0) -> Self:
        return call(np.round, (self, digits), {})

    # Methods whose arguments differ from those of NumPy's function

    def reshape(self, *shape: Any, order: str = "C") -> Self:
        kwargs = {} if order == "C" else {"order": order}
        return call(np.reshape, (self, shape[0] if len(shape) == 1 else shape), kwargs)

    def transpose(self, *axes: Any) -> Self:
        chosen = None if not axes else axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return call(np.transpose, (self, chosen), {})

    @takes("x.astype")
    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True):
        return call(np.astype, (self, dtype), {})

    @takes("x.flatten")
    def flatten(self, order: str = "C") -> Self:
        return call(np.copy, (call(np.ravel, (self,), {"order": order}),), {})

    @takes("x.view")
    def view(self, dtype: Any = None, type: Any = None) -> Self:
        if type is not None or (dtype is not None and not _is_type(dtype, self.dtype)):
            raise InputError("x.view(…) reads memory as another type; write x.astype(…) for the numbers in that type.")
        return self[...]

    @takes("x.put")
    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        call(np.put, (self, indices, values), {"mode": mode})

    @takes("x.copy")
    def copy(self, order: str = "C") -> Self:
        return call(np.copy, (self,), {})

    @takes("x.compress")
    def compress(self, condition: Any, axis: int | None = None) -> Any:
        return call(np.compress, (condition, self, axis), {})

    @takes("x.conj")
    def conj(self) -> Self:
        return call(np.conjugate, (self,), {}) if self.dtype.kind == "c" else self

    @takes("x.conjugate")
    def conjugate(self) -> Self:
        return self.conj()

    @takes("x.sort")
    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> Any:
        """The entries in order along an axis, in place."""
        return change(np.ndarray.sort, (self, axis))

    def fill(self, value: Any) -> Any:
        """Every entry set to ``value``."""
        self[...] = value


def _is_type(dtype: Any, own: np.dtype) -> bool:
    """Whether a type that is given in any way is one of NumPy's."""
    try:
        return np.dtype(dtype) == own
    except TypeError:
        return False


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
        check_numbers(value, f"x.at[…].{how}", real=False)
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
