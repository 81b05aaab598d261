"""NumPy, with traced arrays and tensors everywhere: ``import ricci.numpy as np``.

Most functions of NumPy ask their arguments what to do, and need nothing of this. Those that do not,
``np.array([x, y])``, ``np.full(n, x)``, ``np.r_[x, 0]``, are here ones that do. Every name of NumPy is a name of
this module: functions that ricci knows take traced arrays, also in lists, and all else is NumPy's own. It is also the
array namespace of traced arrays and tensors, ``x.__array_namespace__()``, by the names of the array API standard.

>>> import ricci.numpy as np
>>> np.array([1.0, np.pi]).sum()
np.float64(4.14159...)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import ModuleType
from typing import Any

import numpy as _numpy

from ricci.caches import cached
from ricci.dispatch import PLAIN, rank_of, takers, tracing
from ricci.errors import AbsentError, nearest
from ricci.tracing.lowered import lowered
from ricci.tracing.lowerings import name_of
from ricci.tracing.own_errors import RAW, raise_own
from ricci.tracing.rows import unknown

_MAKING = frozenset([_numpy.array, _numpy.asarray, _numpy.asanyarray])  # arrays that a traced function makes traced


class _Wrapped:
    """A function of NumPy that looks through its arguments before NumPy does."""

    def __init__(self, function: Callable[..., Any]):
        update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function in _MAKING and tracing() is not None:
            return lowered(self._function, args, kwargs)  # so that it is an input, and can be indexed by traced arrays
        rank = rank_of(args if not kwargs else (*args, *kwargs.values()))
        if rank > PLAIN:
            return takers[rank](self._function, args, kwargs)
        try:
            return self._function(*args, **kwargs)
        except RAW as error:
            raise_own(error, name_of(self._function), args)

    def __getattr__(self, name: str) -> Any:
        if name == "_function":
            raise AttributeError(name)
        return getattr(self._function, name)

    def __reduce__(self):
        return _wrapped, (self._function,)

    def __repr__(self) -> str:
        return f"<ricci's {self._function!r}>"


@cached("functions of ricci.numpy", 2048)
def _wrapped(function: Callable[..., Any]) -> _Wrapped:
    return _Wrapped(function)


class _Namespace(ModuleType):
    """A module of functions in which traced arrays may stand: ``linalg``, ``special``."""

    def __init__(self, name: str, module: ModuleType):
        super().__init__(f"{__name__}.{name}", module.__doc__)
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _offered(getattr(self._module, name))

    def __dir__(self) -> list[str]:
        return dir(self._module)


def _offered(value: Any) -> Any:
    """A name of NumPy: functions look through their arguments, and all else is as it is."""
    if isinstance(value, (type, ModuleType)) or not callable(value):
        return value
    return _wrapped(value) if hasattr(value, "__name__") else value


class _Joined:
    """``np.r_`` and ``np.c_``: what stands in the brackets, joined."""

    def __init__(self, original: Any, join: Callable[[list], Any]):
        self._original, self._join = original, join

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if rank_of(parts) <= PLAIN:
            return self._original[key]
        if isinstance(parts[0], str):
            raise unknown(type(self._original)) from None
        return self._join([self._part(part) for part in parts])

    def _part(self, part: Any) -> Any:
        """A slice stands for the numbers that it goes through, all else for itself as an array with axes."""
        return self._original[part] if isinstance(part, slice) else _wrapped(_numpy.atleast_1d)(part)

    def __len__(self) -> int:
        return 0


def _row(parts: list) -> Any:
    return _wrapped(_numpy.concatenate)(parts)


def _columns(parts: list) -> Any:
    return _wrapped(_numpy.concatenate)([_as_column(part) for part in parts], axis=-1)


def _as_column(part: Any) -> Any:
    return part[:, None] if part.ndim == 1 else part


r_ = _Joined(_numpy.r_, _row)
c_ = _Joined(_numpy.c_, _columns)
linalg = _Namespace("linalg", _numpy.linalg)
fft = _Namespace("fft", _numpy.fft)


def __getattr__(name: str) -> Any:
    if name == "special":
        import scipy.special

        return _Namespace("special", scipy.special)
    if name.startswith("__"):
        raise AttributeError(name)
    if not hasattr(_numpy, name):
        raise AbsentError(f"ricci.numpy has no {name!r}.", lambda: nearest(name, dir(_numpy)))
    found = globals()[name] = _offered(getattr(_numpy, name))
    return found


def __dir__() -> list[str]:
    return sorted({*dir(_numpy), "special"})
