"""Functions written for ``jax.numpy``, traced with ricci's namespace in its place.

JAX's functions take JAX's arrays only, and have no protocol by which others could take part. But a function refers to
its namespace by a global name (``jnp``), and may as well be run with that name bound to ``ricci.numpy``: the same code,
in a copy of the function, the module's own globals untouched. Functions of the same module that it calls by name are
copied with it. Where NumPy means something else, or has no such function (all of ``jax.nn`` and ``jax.lax``), JAX
itself says what it does (``jaxprs.py``).
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from ricci.dispatch import call, public
from ricci.functions.table import named_in
from ricci.tracing.jaxprs import call_by_jax
from ricci.tracing.own_functions import own_function
from ricci.tracing.reach import words_of


class _JaxModule:
    """A module of JAX. Its functions have JAX's meaning and defaults."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        inner = f"{self._name}.{name}"
        if inner in _NAMESPACES:
            return _ours(inner)
        found = _TRANSFORMS.get(name) if self._name == "jax" else None
        if found is not None:
            return public(found)
        value = getattr(sys.modules[self._name], name)
        if isinstance(value, types.ModuleType) and value.__name__.startswith("jax."):
            return _ours(value.__name__)
        return _function(value, inner) if callable(value) and not isinstance(value, type) else value


class _JaxNumpy:
    """``jax.numpy``: NumPy's functions where the two mean the same, and JAX's own of all other names."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        numpy = public("numpy")
        inner = f"{self._name}.{name}"
        if inner in _NAMESPACES:
            return _ours(inner)
        theirs = getattr(sys.modules[self._name], name)
        known = numpy.linalg if self._name.endswith("linalg") else numpy
        if isinstance(theirs, types.ModuleType) or not callable(theirs) or isinstance(theirs, type):
            return getattr(known, name, theirs)
        if inner in _OTHER_THAN_NUMPY or not hasattr(known, name):
            return _function(theirs, inner)
        return getattr(known, name)


_NAMESPACES = ("jax", "jax.numpy", "jax.nn", "jax.lax", "jax.scipy", "jax.scipy.special", "jax.numpy.linalg")
_TRANSFORMS = {name: name for name in ("grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "jvp", "vjp", "vmap")}
_TRANSFORMS |= {"jit": "compile", "checkpoint": "checkpoint", "linearize": "linearize"}
_OTHER_THAN_NUMPY = frozenset(
    [f"jax.numpy.{name}" for name in ("argsort", "sort", "fill_diagonal", "unique", "nonzero")]
)


def _function(value: Any, name: str) -> Any:
    """A function of JAX that takes traced arrays: one of ricci's of the same meaning, or what JAX makes of it."""
    row = _SAME.get(name)

    @functools.wraps(value)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = NotImplemented if row is None else row(*args, **kwargs)
        return call_by_jax(value, name, args, kwargs) if found is NotImplemented else found

    return call


def _plainly(name: str) -> Callable[..., Any]:
    """A function of the table, of one operand."""
    return lambda *args, **kwargs: _of_table(name, args) if len(args) == 1 and not kwargs else NotImplemented


def _along(name: str, axis: Any) -> Callable[..., Any]:
    """A function of the table along axes, by default those of JAX; with other arguments it is JAX's."""

    def call(x: Any, axis: Any = axis, keepdims: bool = False, **more: Any) -> Any:
        if more or (keepdims and name != "logsumexp"):
            return NotImplemented
        return _of_table(name, (x,), axis=axis, **({"keepdims": keepdims} if keepdims else {}))

    return call


def _of_table(name: str, args: tuple, **kwargs: Any) -> Any:
    return call(own_function(name), args, kwargs)


_SAME: dict[str, Callable[..., Any]] = {f"jax.{path}": _plainly(row.name) for path, row in named_in("jax").items()}
_SAME |= {"jax.nn.softmax": _along("softmax", -1), "jax.nn.log_softmax": _along("log_softmax", -1)}
_SAME |= {"jax.nn.logsumexp": _along("logsumexp", None)}


def _ours(name: str) -> Any:
    """What stands for a module of JAX."""
    if name.startswith("jax.numpy"):
        return _JaxNumpy(name)
    if name == "jax.scipy.special":
        return public("numpy").special
    return _JaxModule(name)


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
        scope = function.__globals__
        names = {name: scope[name] for name in words_of(function.__code__)[0] & scope.keys()}
        cells = [_contents(cell) for cell in function.__closure__ or ()]
        new = {name: self.value(value) for name, value in names.items()}
        changed = {name: value for name, value in new.items() if value is not names[name]}
        inner = [self.value(value) for value in cells]
        given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        defaults = [self.value(value) for value in given]
        if not changed and all(a is b for a, b in zip([*cells, *given], [*inner, *defaults], strict=True)):
            return function
        closure = tuple([types.CellType(value) for value in inner])
        scope = {**function.__globals__, **changed}
        copy = types.FunctionType(function.__code__, scope, function.__name__, None, closure or None)
        count = len(function.__defaults__ or ())
        copy.__defaults__ = tuple(defaults[:count]) or None
        copy.__kwdefaults__ = dict(zip(function.__kwdefaults__ or (), defaults[count:], strict=True)) or None
        self.done[id(function)] = copy
        return copy

    def value(self, value: Any) -> Any:
        """A module of JAX or one of its functions as ricci's; a user's function as its copy; all else as it is."""
        if isinstance(value, types.ModuleType):
            return _ours(value.__name__) if (value.__name__ + ".").startswith("jax.") else value
        if (getattr(value, "__module__", None) or "").startswith("jax.") and callable(value):
            return _named(value)
        if type(value).__name__ == "PjitFunction" and isinstance(value.__wrapped__, types.FunctionType):
            return self.function(value.__wrapped__)  # of the user's, compiled by JAX
        if isinstance(value, types.FunctionType) and not (value.__module__ or "").startswith(
            ("jax", "numpy", "scipy", "ricci")
        ):
            return self.function(value)
        return value


def _named(value: Any) -> Any:
    """A function of JAX by the name that it has in one of its modules; classes and all else as they are."""
    name = getattr(value, "__name__", "")
    for module in _NAMESPACES:
        if getattr(sys.modules.get(module), name, None) is value and not isinstance(value, type):
            return getattr(_ours(module), name)
    return value


_EMPTY = object()


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY
