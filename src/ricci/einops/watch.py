"""How operations report the names of their axes, and who listens.

Watchers (scopes, and recorders of shapes) stand in a context variable, so each thread and each asyncio task has its
own. It refers to them weakly: a watcher is held by its ``with``, and where an interrupt keeps it from being left, it
goes with that. An operation calls :func:`check` before it computes, so that nothing is computed with axes that do not
fit, and :func:`note` after it has succeeded, so that an operation that failed leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import ref

from ricci.caches import LOCKS, Cache, at_fork
from ricci.errors import InputError

Part = str | tuple[str, ...] | None  # a named axis, the names within a composite one, or an axis without a name
Named = tuple[Any, Sequence[Part]]  # an array, and one part for each of its dimensions


class UsedAt(NamedTuple):
    """Where a name was used or declared: ``in rearrange 'b t -> t b'`` and ``model.py:12``."""

    how: str
    line: str

    def __str__(self) -> str:
        return f"{self.how} ({self.line})" if self.line else self.how


@dataclass(frozen=True, slots=True)
class AxisUse:
    """One operation: its name, its pattern, the arrays with the names of their axes, and the sizes of all names."""

    operation: str
    pattern: str
    inputs: Sequence[Named]
    outputs: Sequence[Named]
    sizes: Mapping[str, Any]

    def place(self) -> UsedAt:
        """This operation, and the user's line that asked for it: found only when it is needed."""
        return UsedAt(f"in {self.operation} {self.pattern!r}", user_line())


class Watcher:
    """Something that operations report to between ``__enter__`` and ``__exit__``."""

    nested = False  # of those that are nested only the innermost is told, and it knows the ones around it
    open = False

    def check(self, use: AxisUse) -> None:
        """Raise if the operation must not be done."""

    def note(self, use: AxisUse) -> None:
        """Remember an operation that was done."""

    def __enter__(self):
        self.open = True
        _entered(self)
        WATCHERS.set((*[own for own in WATCHERS.get() if own() is not None], ref(self)))
        return self

    def __exit__(self, *_: object) -> None:
        # Without a token, since a generator may be closed in another context than the one in which it was entered.
        # There, and in tasks that outlive the scope in which they were started, a closed watcher stays and is not told.
        self.open = False
        WATCHERS.set(tuple([own for own in WATCHERS.get() if own() not in (self, None)]))
        _left(self)


WATCHERS: ContextVar[tuple[ref[Watcher], ...]] = ContextVar("ricci_watchers", default=())


def _open() -> list[Watcher]:
    """The watchers that are open here, the innermost last."""
    found = [own() for own in WATCHERS.get()]
    return [watcher for watcher in found if watcher is not None and watcher.open]


def check(operation: str, pattern: str, inputs: Sequence[Named], sizes: Mapping[str, Any]) -> None:
    """Before the computation: raise if the axes do not fit what the watchers know."""
    use = AxisUse(operation, pattern, inputs, (), sizes)
    for watcher in _told():
        watcher.check(use)


def note(
    operation: str, pattern: str, inputs: Sequence[Named], outputs: Sequence[Named], sizes: Mapping[str, Any]
) -> None:
    """After the computation: let the watchers remember the names, the sizes and the results."""
    use = AxisUse(operation, pattern, inputs, outputs, sizes)
    for watcher in _told():
        watcher.note(use)


def innermost() -> Watcher | None:
    """The innermost open scope."""
    return next((watcher for watcher in reversed(_open()) if watcher.nested), None)


def _told() -> list[Watcher]:
    scope = innermost()
    return [watcher for watcher in _open() if not watcher.nested or watcher is scope]


# What is watched in any thread, and by which it was entered. A garbage collection while the lock is held may close a
# generator that stands in a scope.
OPEN: dict[ref[Watcher], int] = {}
_CALLS: list[ref[CallCache]] = []


class CallCache(Cache):
    """A cache of calls that is empty while axes are watched: every call is then seen by those who watch, and with no
    scope, watching costs nothing.
    """

    def __init__(self, name: str, most: int):
        super().__init__(name, most)
        _CALLS.append(ref(self, _CALLS.remove))

    def keep(self, key: Any, value: Any) -> None:
        with LOCKS.scopes:
            if not OPEN:
                super().keep(key, value)

    def _used(self, key: Any) -> Any:
        with LOCKS.scopes:
            return super()._used(key)

    _used._dynamo_marked_constant = keep._dynamo_marked_constant = True  # type: ignore


def _entered(watcher: Watcher) -> None:
    with LOCKS.scopes:
        OPEN[ref(watcher, _gone)] = threading.get_ident()
        if len(OPEN) == 1:
            for calls in [own() for own in _CALLS.copy()]:
                if calls is not None:
                    calls.clear()


def _left(watcher: Watcher) -> None:
    with LOCKS.scopes:
        OPEN.pop(ref(watcher), None)


def _gone(own: ref[Watcher]) -> None:
    OPEN.pop(own, None)


def _in_child() -> None:
    """After a fork: scopes of threads that are not there any more are never left."""
    for watcher, thread in OPEN.copy().items():
        if thread != threading.get_ident():
            del OPEN[watcher]


at_fork(_in_child)


# The user's line: that of the innermost frame outside these files.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_PASSED = (_PACKAGE, "<ricci", contextlib.__file__, functools.__file__)
_TORCH = tuple([os.sep + os.path.join("torch", *folder, "") for folder in (("nn", "modules"), ("_dynamo",))])


def user_line() -> str:
    """``model.py:12``, the line outside ricci that led here."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PASSED) and not any(folder in file for folder in _TORCH):
            return f"{os.path.basename(file)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def refuse_generators(function: Callable[..., Any], name: str, doing: str) -> None:
    """Raise for generator functions: their body runs after the call, in whatever context asks for the next item."""
    bare = inspect.unwrap(function)
    if inspect.isgeneratorfunction(bare) or inspect.isasyncgenfunction(bare):
        raise InputError(
            f"{name} cannot {doing} {bare.__name__!r}, because it is a generator function: its body does not run when "
            "it is called. Use it on the function that computes one item."
        )
