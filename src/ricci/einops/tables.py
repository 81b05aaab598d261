"""Tables of what was met before: bounded, and emptied together.

Tables of calls are empty while axes are watched (:mod:`ricci.scopes`): every call is then seen by those who watch, and
with no scope, watching costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ricci.scopes import watch

_tables: list[dict] = []
_of_calls: list[dict] = []
_emptied: list[Callable[[], object]] = []


def table() -> dict[Any, Any]:
    """A new table; fill it by :func:`keep`."""
    made: dict[Any, Any] = {}
    _tables.append(made)
    return made


def table_of_calls() -> dict[Any, Any]:
    """A new table that is empty while axes are watched; fill it by :func:`keep_call`."""
    made = table()
    _of_calls.append(made)
    return made


def keep_call(into: dict, key: Any, value: Any, most: int) -> None:
    """Store in a table of calls, unless axes are watched somewhere."""
    with watch.LOCK:
        if not watch.watching():
            keep(into, key, value, most)


def _watched(active: bool) -> None:
    """Called when the first scope is entered or the last one left."""
    for calls in _of_calls:
        calls.clear()


watch.subscribe(_watched)


def keep(into: dict, key: Any, value: Any, most: int) -> None:
    """Store in a bounded table; a full one forgets its older half."""
    if len(into) >= most:
        for old in list(into)[: most // 2]:
            into.pop(old, None)
    into[key] = value


def cached(function: Any) -> Any:
    """A function made by ``functools.lru_cache``, to be emptied with the tables."""
    _emptied.append(function.cache_clear)
    return function


def clear() -> None:
    """Forget everything that was met."""
    for found in _tables:
        found.clear()
    for empty in _emptied:
        empty()
