"""Functions written for ``jax.numpy``, traced with ricci's namespace in its place.

JAX's functions take JAX's arrays only, and have no protocol by which others could take part. But a function refers to
its namespace by a global name (``jnp``), and may as well be run with that name bound to ``ricci.numpy``: the same code,
in a copy of the function, the module's own globals untouched. Functions of the same module that it calls by name are
copied with it. What ``ricci.numpy`` lacks is an error that names it.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from ricci.errors import TraceError, nearest
from ricci.functions.table import FUNCTIONS


class _Namespace:
    """A module of JAX, as far as ricci has functions for it."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        from ricci import surface

        inner = f"{self._name}.{name}"
        if inner in _NAMESPACES:
            return _ours(inner)
        if self._name != "jax" and name in FUNCTIONS:
            return surface.function(name)
        found = _TRANSFORMS.get(name) if self._name == "jax" else None
        if found is not None:
            import ricci

            return getattr(ricci, found)
        raise TraceError(f"{inner} cannot be traced. {nearest(name, FUNCTIONS)}".rstrip())


_NAMESPACES = ("jax", "jax.numpy", "jax.nn", "jax.scipy", "jax.scipy.special", "jax.numpy.linalg")
_TRANSFORMS = {name: name for name in ("grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "jvp", "vjp", "vmap")}
_TRANSFORMS |= {"jit": "compile", "checkpoint": "checkpoint", "linearize": "linearize"}


def _ours(name: str) -> Any:
    """What stands for a module of JAX."""
    if name.startswith("jax.numpy"):
        from ricci import numpy

        return numpy.linalg if name.endswith("linalg") else numpy
    if name == "jax.scipy.special":
        from ricci import numpy

        return numpy.special
    return _Namespace(name)


def translated(function: Any) -> Any:
    """``function`` with ricci's namespaces in place of JAX's, if it uses those; otherwise itself."""
    if "jax" not in sys.modules or not isinstance(function, types.FunctionType):
        return function
    return _Translation().function(function)


class _Translation:
    """Copies of functions that use JAX, each made once."""

    def __init__(self) -> None:
        self.done: dict[int, Any] = {}

    def function(self, function: types.FunctionType) -> Any:
        if id(function) in self.done:
            return self.done[id(function)]
        self.done[id(function)] = function  # while its own names are looked at
        names = {name: function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__}
        cells = [_contents(cell) for cell in function.__closure__ or ()]
        new = {name: self.value(value) for name, value in names.items()}
        changed = {name: value for name, value in new.items() if value is not names[name]}
        inner = [self.value(value) for value in cells]
        if not changed and all(a is b for a, b in zip(cells, inner, strict=True)):
            return function
        closure = tuple([types.CellType(value) for value in inner])
        scope = {**function.__globals__, **changed}
        copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, closure or None)
        copy.__kwdefaults__ = function.__kwdefaults__
        self.done[id(function)] = copy
        return copy

    def value(self, value: Any) -> Any:
        """A module of JAX or one of its functions as ricci's; a user's function as its copy; all else as it is."""
        if isinstance(value, types.ModuleType):
            return _ours(value.__name__) if value.__name__ in _NAMESPACES else value
        if isinstance(value, types.FunctionType) and not value.__module__.startswith(
            ("jax", "numpy", "scipy", "ricci")
        ):
            return self.function(value)
        return value


_EMPTY = object()


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def _names(code: types.CodeType) -> set[str]:
    found = set(code.co_names)
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            found |= _names(part)
    return found
