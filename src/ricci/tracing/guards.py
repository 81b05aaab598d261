"""Whether what a traced function meets outside itself is still what it was when it was traced.

A traced function is kept and not run again. What it takes from its closure, from the globals of its module, from the
attributes of the object it is a method of, and from the functions that it calls by name in turn, is remembered by
identity; when one of these is bound to something else, the function is traced anew. The contents of arrays need no
watching, since programs are given the arrays themselves.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ricci.tracing.trees import flatten

_MOST = 400  # names that are followed
_MISSING = object()
_PASSED_OVER = (types.ModuleType, type, types.BuiltinFunctionType)
_CONTAINERS = (list, dict, set)


class Guards:
    """The bindings that a function depends on."""

    __slots__ = ("bindings", "containers")

    def __init__(self, function: Any):
        found = list(_bindings(function))
        self.bindings = [(look, key, value) for look, key, value in found if not isinstance(value, _CONTAINERS)]
        self.containers = [(value, _contents(value)) for _, _, value in found if isinstance(value, _CONTAINERS)]
        self.bindings += [(look, key, value) for look, key, value in found if isinstance(value, _CONTAINERS)]

    def hold(self) -> bool:
        """Whether every name still means the same object."""
        for look, key, value in self.bindings:
            if look(key, _MISSING) is not value:
                return False
        return all(_contents(container) == contents for container, contents in self.containers)


def _contents(container: Any) -> list[int]:
    """What is in a list or a dictionary, by identity."""
    return list(map(id, container if isinstance(container, set) else flatten(container)[0]))


Look = Callable[[Any, Any], Any]


def _cell(cell: Any, default: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return default


def _bindings(function: Any) -> Iterator[tuple[Look, Any, Any]]:
    """Where each name is looked up, by which key, and what it means now."""
    waiting, seen, found = [function], set(), 0
    while waiting and found < _MOST:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        for look, key in _places(each, waiting):
            value = look(key, _MISSING)
            if isinstance(value, _PASSED_OVER):
                continue
            found += 1
            yield look, key, value
            if callable(value):
                waiting.append(value)


def _places(function: Any, waiting: list) -> Iterator[tuple[Look, Any]]:
    """The cells, globals and attributes that a callable looks up; what it wraps is put on ``waiting``."""
    if isinstance(function, partial):
        waiting.append(function.func)
    elif isinstance(function, types.MethodType):
        waiting.append(function.__func__)
        yield from _attributes(function.__self__)
    elif isinstance(function, types.FunctionType):
        if function.__module__ and function.__module__.partition(".")[0] in ("numpy", "scipy", "jax", "torch", "ricci"):
            return
        names = set(_names(function.__code__))
        for cell in function.__closure__ or ():
            yield _cell, cell
        look = function.__globals__.get
        for name in sorted(names & function.__globals__.keys()):
            yield look, name
    elif hasattr(function, "__wrapped__"):
        waiting.append(function.__wrapped__)
    elif not isinstance(function, type):
        call = vars(type(function)).get("__call__")
        if isinstance(call, types.FunctionType):
            waiting.append(call)
            yield from _attributes(function)


def _attributes(thing: Any) -> Iterator[tuple[Look, Any]]:
    own = getattr(thing, "__dict__", None)
    if isinstance(own, dict):
        for name in list(own):
            yield own.get, name


def _names(code: types.CodeType) -> Iterator[str]:
    """The global names in a code and in the functions defined in it."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _names(part)
