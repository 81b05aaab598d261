"""What is kept of earlier calls. All of it is kept here, by one rule, and ``rc.cache_clear()`` forgets all of it.

A cache has a name and a bound. When it is full, what was used longest ago leaves first. There are three forms:

- :class:`Cache`, a table. Where a lookup must cost no more than one in a plain dictionary, without a lock or a note of
  the time, use is noted seldom: when the table is nearly full, all that is known becomes older, and what is met again
  is known again; what is older leaves first. Any number of caches may have one name, one for each object of a class.
- :func:`cached`, for functions whose arguments are the key: ``functools.lru_cache``.
- :class:`Pool`, for memory that is taken for a call and given back; its bound is in bytes.

What is made once, of the machine or of a row of a table (:func:`once`), is no cache and stays. What is one object for
each key only as long as somebody holds it is :class:`Interned`.

Threads, signal handlers and forked children meet here at any moment. So tables have no locks: each change is one
operation of a dictionary, which is whole or not at all, and what is lost between two of them is made again. The few
locks that are needed are :data:`LOCKS`: the same thread may take them again, and a forked child has new ones.
"""

from __future__ import annotations

import functools
import os
import threading
from _weakref import _remove_dead_weakref  # pyright: ignore[reportAttributeAccessIssue]
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from weakref import ref

from ricci.grid import Grid, Shown

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
PATIENCE = 5.0  # seconds, for a lock that is held for moments
once = functools.cache  # for functions of nothing, or of the rows of a table


class Locks:
    """The locks of this process. Each is used as it is, ``with LOCKS.pools:``, so that interrupts leave none held."""

    pools: Any
    scopes: Any
    compiling: Any
    tracing: Any

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """New ones, for a forked child: those of its parent may be held by threads that it does not have."""
        self.pools, self.scopes = threading.RLock(), threading.RLock()
        self.compiling, self.tracing = threading.RLock(), threading.RLock()

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """One that is held for moments only, as ``tracing`` is.

        A profile function that is interrupted, such as that which watches for clocks, keeps Python from letting go of
        a lock. So one that stays held is left, and another one takes its place.
        """
        lock = getattr(self, name)
        while not lock.acquire(timeout=PATIENCE):
            setattr(self, name, threading.RLock())
            lock = getattr(self, name)
        try:
            yield
        finally:
            lock.release()


LOCKS = Locks()


class Counts(NamedTuple):
    """How often something was found, how often it had to be made, how much there is and may be.

    ``hits`` counts what a cache is told of; a lookup in a table of calls is not counted, to cost nothing.
    """

    hits: int
    misses: int
    size: int
    maxsize: int


class Cache:
    """A bounded table: ``cache[key]`` is None for a key that is not there, ``keep`` puts one in.

    ``known`` is a plain dictionary, for lookups that must cost no more than that: write ``cache.known.get(key) or
    cache[key]``, of which the latter looks further and notes that the key is used.

    >>> squares = Cache("an example", 4)
    >>> for n in range(1000):
    ...     squares.keep(n, n * n)
    ...     assert squares[0] == 0 and len(squares.all()) <= 4
    >>> squares[998], squares[500]
    (996004, None)
    """

    __slots__ = ("__weakref__", "hits", "known", "misses", "most", "name", "older")

    def __init__(self, name: str, most: int):
        self.name, self.most = name, most
        self.known: dict[Any, Any] = {}  # always the same object, so that others may hold it
        self.older: dict[Any, Any] = {}
        self.hits = self.misses = 0
        enrol(name, self)

    def __getitem__(self, key: Any) -> Any:
        return self._used(key) if key in self.known or key in self.older else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.all())

    def _used(self, key: Any) -> Any:
        found = self.older.pop(key, None)
        found = self.known.pop(key, None) if found is None else found
        if found is not None:
            self.known[key] = found  # as the latest
        return found

    def keep(self, key: Any, value: Any) -> None:
        self.misses += 1
        self.older.pop(key, None)
        self.known.pop(key, None)
        self.known[key] = value
        if not self.older and 4 * len(self.known) > 3 * self.most:
            self.older = dict(reversed(self.known.copy().items()))  # so that the first to leave is the last
            self.known.clear()
            self.known[key] = self.older.pop(key, value)
        while self.older and len(self.known) + len(self.older) > self.most:
            with suppress(KeyError):  # another thread has emptied it
                self.older.popitem()

    # torch.compile calls these while it compiles, instead of reading them.
    _used._dynamo_marked_constant = keep._dynamo_marked_constant = True  # type: ignore

    def made(self, key: Any, make: Callable[[], T]) -> T:
        """What is kept under a key, made if there is nothing. Two threads may both make it; one is kept."""
        found = self[key]
        if found is None:
            made = make()
            found = self[key]
            if found is None:
                self.keep(key, made)
                return made
        self.hits += 1
        return found

    def all(self) -> dict[Any, Any]:
        """Everything that is kept, what is used longest ago first."""
        return dict([*reversed(self.older.copy().items()), *self.known.copy().items()])

    def clear(self) -> None:
        self.known.clear()
        self.older = {}
        self.hits = self.misses = 0

    def counts(self) -> Counts:
        return Counts(self.hits, self.misses, len(self.known) + len(self.older), self.most)

    def __reduce__(self) -> tuple:
        return type(self), (self.name, self.most)  # a copy, and what is sent elsewhere, begins empty


class _OwnCache(Cache):
    """A cache that is an attribute of a function; ``functools.wraps`` gives it to others too, of which it is not."""

    __slots__ = ("owner",)
    owner: ref[Any]

    def __reduce__(self) -> tuple:
        return Cache, (self.name, self.most)


class OfFunctions:
    """What is made of functions, kept with each: in an attribute of it, so that what it holds is gone when it is.

    Python's functions and what ricci makes of them have attributes. Others, as methods, are a few in one cache.
    """

    def __init__(self, name: str, most: int, others: int = 16):
        self.name, self.most, self.others = name, most, Cache(name, others)
        self._attribute = f"ricci: {name}"  # which no code can read by name

    def made(self, function: Any, key: Any, make: Callable[[], T]) -> T:
        """What is kept of a function under a key, made if there is nothing."""
        method = type(function) is MethodType
        own = self.of(function.__self__ if method else function)
        if own is None:
            return self.others.made((function, key), make)
        key = (function.__func__, key) if method else key
        return own.known.get(key) or own.made(key, make)

    def of(self, function: Any) -> Cache | None:
        """The cache of a function that can have one."""
        if type(function) is not FunctionType and not type(function).__module__.startswith("ricci."):
            return None
        attributes = function.__dict__
        found = attributes.get(self._attribute)
        if type(found) is not _OwnCache or found.owner() is not function:
            found = _OwnCache(self.name, self.most)
            found.owner = ref(function)
            attributes[self._attribute] = found
        return found


class Pool(Generic[T]):
    """Memory that its owners take for a call and give back, at most ``most`` bytes of it.

    An owner has ``nbytes``, what one piece of its memory takes; at most ``spare`` pieces of it are kept.
    """

    def __init__(self, name: str, most: int, spare: int):
        self.most, self.spare = most, spare
        self.pieces: OrderedDict[Any, list[T]] = OrderedDict()
        self.nbytes = self.hits = self.misses = 0
        enrol(name, self)

    def take(self, owner: Any, free: Callable[[T], bool] | None = None) -> T | None:
        """A piece that nobody else has: the latest one, which is the likeliest to be in the processor's cache."""
        with LOCKS.pools:
            pieces = self.pieces.get(owner, ())
            for place in reversed(range(len(pieces))):
                if free is None or free(pieces[place]):
                    self.hits += 1
                    return self._drop(owner, place)
            self.misses += 1
            return None

    def give(self, owner: Any, piece: T) -> None:
        """A piece for later calls; other owners lose theirs if it is too much, the one used longest ago first."""
        with LOCKS.pools:
            pieces = self.pieces.pop(owner, None) or []
            pieces.append(piece)
            self.pieces[owner] = pieces
            self.nbytes += owner.nbytes
            if len(pieces) > self.spare:
                self._drop(owner, 0)
            while self.pieces and self.nbytes > self.most:
                self._drop(next(iter(self.pieces)), 0)

    def _drop(self, owner: Any, place: int) -> T:
        pieces = self.pieces[owner]
        piece = pieces.pop(place)
        self.nbytes -= owner.nbytes
        if not pieces:
            del self.pieces[owner]
        if not self.pieces:
            self.nbytes = 0  # an interrupt may have come before it was counted
        return piece

    def clear(self) -> None:
        with LOCKS.pools:
            self.pieces.clear()
            self.nbytes = self.hits = self.misses = 0

    def counts(self) -> Counts:
        return Counts(self.hits, self.misses, self.nbytes, self.most)


class _Results:
    """The results of a function, in the form of a cache."""

    def __init__(self, function: Any):
        self.clear, self.info = function.cache_clear, function.cache_info

    def counts(self) -> Counts:
        found = self.info()
        return Counts(found.hits, found.misses, found.currsize, found.maxsize)


def cached(name: str, most: int) -> Callable[[F], F]:
    """A decorator of functions whose results are kept by their arguments."""

    def decorate(function: F) -> F:
        made: Any = functools.lru_cache(most)(function)
        made.kept = _Results(made)  # which lives as long as the function
        enrol(name, made.kept)
        return made

    return decorate


class _KeyedRef(ref):
    """A weak reference that knows its key; the one of the standard library is made by two calls of Python's."""

    __slots__ = ("key",)
    key: Any


class Interned(Generic[T]):
    """One object for each key, as long as somebody else holds it; of all threads that make one, one has its way.

    A key must not lead to its object, or that would be held for ever.

    >>> class Word:
    ...     "Something that can be referred to weakly."
    >>> words = Interned()
    >>> first = words.put("a", Word())
    >>> words.put("a", Word()) is first, words.get("b"), len(words)
    (True, None, 1)
    >>> del first
    >>> len(words)
    0
    """

    __slots__ = ("_gone", "kept")

    def __init__(self) -> None:
        self.kept: dict[Any, _KeyedRef] = {}  # the table itself, for lookups that must cost no call
        self._gone = functools.partial(_forget, self.kept)

    def __len__(self) -> int:
        return len(self.kept)

    def get(self, key: Any) -> T | None:
        found = self.kept.get(key)
        return None if found is None else found()

    def put(self, key: Any, made: T) -> T:
        """The object of a key: ``made``, if there is none."""
        own = _KeyedRef(made, self._gone)
        own.key = key
        while True:
            kept = self.kept.setdefault(key, own)
            found = made if kept is own else kept()
            if found is not None:
                return found
            _remove_dead_weakref(self.kept, key)


def _forget(kept: dict[Any, _KeyedRef], gone: _KeyedRef, remove: Callable = _remove_dead_weakref) -> None:
    try:  # noqa: SIM105  (when the process ends, modules are taken apart: no name of one may be used here)
        remove(kept, gone.key)
    except TypeError:  # nor have fractions a hash then
        pass


if TYPE_CHECKING:
    from functools import cached_property as lazy
else:

    class lazy:
        """An attribute that is computed when it is first asked for; Python's own has a lock before 3.12."""

        def __init__(self, function: Callable[[Any], Any]):
            self.function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.function(instance))


_KEPT: dict[str, dict[ref[Any], None]] = {}  # the caches of each name


def enrol(name: str, cache: Any) -> None:
    """Anything that has ``clear()`` and ``counts()``, as long as somebody holds it."""
    known = _KEPT.setdefault(name, {})
    known[ref(cache, functools.partial(_leave, known))] = None


def _leave(known: dict[ref[Any], None], gone: ref[Any]) -> None:
    known.pop(gone, None)


def _all() -> dict[str, list[Any]]:
    names = sorted(_KEPT.copy().items())
    return {name: [cache for own in known.copy() if (cache := own()) is not None] for name, known in names}


def enrolled() -> list[Any]:
    """All caches, of all names."""
    return [cache for caches in _all().values() for cache in caches]


def at_fork(function: Callable[[], None]) -> None:
    """Have something done in each forked child, at its start; where there is no fork, nothing."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


@at_fork
def _in_child() -> None:
    """Other threads, which the child does not have, may have held locks, and pools may have been in their hands."""
    LOCKS.renew()
    for cache in enrolled():
        if isinstance(cache, Pool):
            cache.clear()


class CacheInfo(Shown, Mapping[str, Counts]):
    """All caches by name, each with its :class:`Counts`; prints as a table. Its own ``hits``, ``misses``, ``size`` and
    ``maxsize`` are those of the plans of compiled functions.
    """

    def __init__(self, found: Mapping[str, Counts], numbers: Mapping[str, int]):
        self._found, self._numbers = found, numbers
        self.hits, self.misses, self.size, self.maxsize = found.get(PLANS, Counts(0, 0, 0, MOST_PLANS))

    def __getitem__(self, name: str) -> Counts:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def grid(self) -> Grid:
        heads = ["cache", "number", "kept", "at most", "made", "found again"]
        rows = []
        for name, c in self._found.items():
            if c.misses:
                row = [self._numbers[name], c.size, c.maxsize, c.misses, c.hits or ""]
                rows.append([name, *[f"{n:,}" if n != "" else "" for n in row]])
        unused = len(self._found) - len(rows)
        return Grid(heads, rows, right={1, 2, 3, 4, 5}, below=f"{unused} caches were not used.")


PLANS, MOST_PLANS = "plans of compiled functions", 512


def cache_info() -> CacheInfo:
    """What is kept of earlier calls, and how often it was used. Caches of objects are added up under one name.

    >>> from ricci import cache_info
    >>> cache_info().maxsize
    512
    """
    found = _all()
    totals = {name: Counts(*map(sum, zip(*[c.counts() for c in caches]))) for name, caches in found.items() if caches}
    return CacheInfo(totals, {name: len(caches) for name, caches in found.items()})


def cache_clear() -> None:
    """Forget all plans and all else that is kept of earlier calls, and give back its memory.

    Nothing that anybody holds stops working: it is made anew when it is needed.
    """
    for cache in enrolled():
        cache.clear()
