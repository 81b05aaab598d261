"""Whether NumPy computes with an array from outside while a function is traced.

Operations on traced arrays are recorded, and the plain arrays among their operands are inputs of the program. What
NumPy computes from plain arrays alone (``X[perm[:1]]``, ``A.mean()``, ``if s[0] > 0``) nobody sees, and its result is a
constant. So while a function is traced, each array that it reaches is replaced, where it is held, by a stand-in that
passes for it and notes when its contents are looked at. Views of it, as ``X.T`` and ``X[:10]``, are stand-ins too.

A stand-in is no array to code written in C that insists on one. If the function fails with stand-ins, it is run once
more without them, and the contents of all arrays count as looked at.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from ricci.dispatch import register
from ricci.tracing.frames import apart
from ricci.tracing.guards import Guards
from ricci.tracing.operand import Operand
from ricci.tracing.reach import Reach
from ricci.tracing.trees import mapped
from ricci.within import within

T = TypeVar("T")
_SAME = frozenset(["strides", "itemsize", "nbytes"])  # attributes that say nothing of the contents


# The arrays that were looked at while a function was traced, by identity.
_SEEN: ContextVar[set[int] | None] = ContextVar("ricci_seen", default=None)


class Watched(Operand):
    """An array from outside, or a view of it."""

    __slots__ = ("origin", "value")

    def __init__(self, value: np.ndarray, origin: np.ndarray):
        self.value, self.origin = value, origin

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.value.shape

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.value.dtype

    def looked_at(self) -> np.ndarray:
        """The array itself, for somebody who may read it."""
        seen = _SEEN.get()
        if seen is not None:
            seen.add(id(self.origin))
        return self.value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value if name in _SAME else self.looked_at(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.looked_at(), dtype=dtype, copy=copy)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.looked_at()[_plain(key, [])] = _plain(value, [])

    def __format__(self, spec: str) -> str:
        return format(self.looked_at(), spec)


def _called(function: Any, args: tuple, kwargs: dict) -> Any:
    """A function of plain arrays: what gives a view of one says nothing of the contents."""
    met: list[Watched] = []
    values = _plain(args, met)
    more = {name: _plain(value, met) for name, value in kwargs.items()}
    native = getattr(function[0], function[1]) if type(function) is tuple else function
    result = native(*values, **more)
    if type(result) is np.ndarray and not more.get("out"):
        of = [w for w in met if np.may_share_memory(result, w.value)]
        if len(of) == 1 and len(met) == 1:
            return Watched(result, of[0].origin)
    for w in met:
        w.looked_at()
    return result


register("watched", Watched, takes=_called, kind="numpy")


def _plain(value: Any, met: list[Watched]) -> Any:
    """``value`` with arrays in place of stand-ins, which are collected."""

    def array(part: Any) -> Any:
        if type(part) is not Watched:
            return part
        met.append(part)
        return part.value

    return mapped(array, value)


def _reading(function: Callable) -> Callable:
    def method(self: Watched, *args: Any) -> Any:
        return function(self.looked_at(), *[arg.looked_at() if type(arg) is Watched else arg for arg in args])

    return method


_READERS = (bool, int, float, complex, repr, str, operator.index, operator.contains, divmod, round)
_IN_PLACE = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
for _function in _READERS:
    setattr(Watched, f"__{_function.__name__}__", _reading(_function))
for _name in _IN_PLACE:
    setattr(Watched, f"__i{_name}__", _reading(getattr(operator, f"i{_name}")))


@contextmanager
def _watching(reach: Reach) -> Iterator[set[int]]:
    """Stand-ins where arrays are held; gives the identities of those that are not looked at in the end."""
    free = [(*place, held) for *place, held in reach.puts if id(held) not in reach.fixed]
    inside = [part for *_, held in free if isinstance(held, tuple) for part in _arrays(held)]
    arrays = {id(a): a for a in (*[held for *_, held in free], *inside)}
    arrays = {key: a for key, a in arrays.items() if type(a) is np.ndarray and key not in reach.fixed}
    stand_ins = {key: Watched(array, array) for key, array in arrays.items()}
    places = [(look, put, key, held, _replaced(held, stand_ins)) for look, put, key, held in free]
    places = [place for place in places if place[3] is not place[4]]
    seen: set[int] = set()
    inputs: set[int] = set()
    try:
        try:
            for _, put, key, _, stand_in in places:
                put(key, stand_in)
            with within(_SEEN, seen):
                yield inputs
            inputs |= arrays.keys() - seen
        finally:
            _put_back(places)
    finally:
        _put_back(places)  # again, in case that the first was interrupted


def _put_back(places: Sequence[tuple]) -> None:
    for look, put, key, held, stand_in in places:
        if look(key, None) is stand_in:
            put(key, held)


def _arrays(value: tuple) -> Iterator[Any]:
    for part in value:
        yield from _arrays(part) if isinstance(part, tuple) else (part,)


def _replaced(value: Any, stand_ins: dict[int, Watched]) -> Any:
    """An array, or a tuple of arrays, with stand-ins; itself if there are none."""
    if not isinstance(value, tuple):
        return stand_ins.get(id(value), value)
    parts = [_replaced(part, stand_ins) for part in value]
    if all(map(operator.is_, parts, value)):
        return value
    return value._make(parts) if hasattr(value, "_fields") else tuple(parts)  # type: ignore[attr-defined]


def observed(call: Callable[[Reach], T], starts: Sequence[Any]) -> tuple[T, Guards]:
    """What ``call`` gives, which traces a function; and what that depends on, of all that ``starts`` reach.

    ``call`` is told what they reach.
    """
    return apart(_observed, call, starts)


def _observed(call: Callable[[Reach], T], starts: Sequence[Any]) -> tuple[T, Guards]:
    reach = Reach(starts)
    before = Guards(reach, frozenset(reach.arrays))
    inputs: set[int] = set()
    if not reach.puts:
        result = call(reach)
    else:
        try:
            with _watching(reach) as inputs:
                result = call(reach)
        except Exception:  # of any kind, by code that cannot do with stand-ins; if it is not that, it comes again
            result = call(reach)
    if reach.stands() and before.hold():
        before.watch([array for key, array in reach.arrays.items() if key not in inputs])
        return result, before
    return result, Guards(_after(starts), frozenset(inputs)).without_changed(before)


def _after(starts: Sequence[Any]) -> Reach:
    """What is reached after the call, which may have kept stand-ins somewhere."""
    reach = Reach(starts)
    kept = [(put, key, held, _restored(held)) for _, put, key, held in reach.puts]
    kept = [place for place in kept if place[2] is not place[3]]
    for put, key, _, value in kept:
        put(key, value)
    return Reach(starts) if kept else reach


def _restored(value: Any) -> Any:
    """The array that a stand-in stands for, in tuples too."""
    if type(value) is Watched:
        return value.value
    if not isinstance(value, tuple) or not any(type(part) is Watched for part in _arrays(value)):
        return value
    parts = [_restored(part) for part in value]
    return value._make(parts) if hasattr(value, "_fields") else tuple(parts)  # type: ignore[attr-defined]
