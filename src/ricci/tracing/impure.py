"""What a traced function may not depend on: random numbers, iterators, clocks, files.

A function is run once, to be traced, and what it did then is repeated at each call: a number that it drew would be the
same for ever. So the sources that it may reach are compared before and after: the global ones of random numbers, and
generators and iterators that it reaches by its names. Those among its own arguments may change; then the function is
traced at each call. Clocks and files have no state; calls of them are seen while the function runs, by a profile
function of this thread, unless somebody else profiles it.
"""

from __future__ import annotations

import builtins
import datetime
import os
import sys
import sysconfig
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import length_hint
from typing import Any

import numpy as np

from ricci.caches import once
from ricci.errors import TraceError
from ricci.tracing.frames import OURS, CodePlace, current
from ricci.tracing.meanings import aside
from ricci.tracing.reach import SHUT, Reach

REMEDY = (
    "It runs once, to be traced, so each later call would have the same {}. {} them outside and give them to the "
    "function as an argument; or give it {} as an argument, and it is traced at each call."
)

# Sources have a state


def _place(iterator: types.GeneratorType) -> Any:
    """Where a generator of Python's stands, and what its names mean."""
    frame = iterator.gi_frame
    return None if frame is None else (frame.f_lasti, [(name, id(value)) for name, value in frame.f_locals.items()])


_STATES: list[tuple[str, str, Callable[[Any], Any]]] = [  # module, class, and what tells states apart
    ("numpy.random", "Generator", lambda g: _plain(g.bit_generator.state)),
    ("numpy.random", "RandomState", lambda g: _plain(g.get_state(legacy=False))),
    ("numpy.random", "BitGenerator", lambda g: _plain(g.state)),
    ("random", "Random", lambda g: g.getstate()),
    ("torch", "Generator", lambda g: bytes(g.get_state().numpy())),
    ("types", "GeneratorType", _place),
]
_ITERATORS = tuple([type(iter(each)) for each in ([], (), {}, "", range(0), set(), b"")])


def _plain(state: Any) -> Any:
    """A state of NumPy's as something that can be compared."""
    if isinstance(state, dict):
        return [_plain(part) for part in state.values()]
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _state(source: Any) -> Any:
    """The state of a source; none for anything else, and for those that have none."""
    if isinstance(source, _ITERATORS):
        return length_hint(source)
    for module, name, state in _STATES:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(source, kind):
            try:
                with aside():
                    return state(source)
            except NotImplementedError:  # numbers of the operating system: what reads them is seen
                return None
    return None


def _sources(reach: Reach) -> list[Any]:
    """What has a state among all that is reached."""
    found = [getattr(sys.modules.get(module), name, None) for module, name, _ in _STATES]
    kinds = (*_ITERATORS, *[kind for kind in found if kind is not None])
    return [x for x in reach.met if isinstance(x, kinds) and _state(x) is not None]


def _shared() -> dict[str, Any]:
    """The sources of random numbers that modules share."""
    where = {
        "np.random": ("numpy.random.mtrand", "_rand"),
        "random": ("random", "_inst"),
        "torch": ("torch", "default_generator"),
    }
    found = {shown: getattr(sys.modules.get(module), name, None) for shown, (module, name) in where.items()}
    return {shown: source for shown, source in found.items() if source is not None}


class Sources:
    """Sources and their states, when ``function`` begins to be traced with these arguments."""

    def __init__(self, function: Any, arguments: Iterable[Any], reached: Reach | None = None):
        """``reached`` is what the function and the arguments lead to, if that is known already."""
        given = list(arguments)
        reach = Reach([function]) if reached is None or given else reached
        whole = reached or Reach([function, *given]) if given else reach
        modules = _modules(whole)
        self.may_read = _may_read(whole, modules)
        self.shared = _shared() if _may_draw(whole, modules) else {}
        shared = {id(x) for x in self.shared.values()}
        found = [x for x in _sources(reach) if id(x) not in shared]
        alone = {id(x): x for x in found}
        if whole is not reach:
            found = [x for x in _sources(whole) if id(x) not in shared]
        self.given = [x for x in found if any(x is own for own in given) or id(x) not in alone]
        self.others = [x for x in alone.values() if not any(x is own for own in self.given)]
        self.names = reach.names
        self.renew()

    def renew(self) -> None:
        """Take the states of now for those of the beginning."""
        self.before = [_state(x) for x in self._all()]

    def _all(self) -> list[Any]:
        return [*self.shared.values(), *self.others, *self.given]

    def drawn(self) -> list[tuple[str, Any]]:
        """What was drawn from: its name, if it is shared, and itself."""
        names = [*self.shared, *[""] * (len(self.others) + len(self.given))]
        triples = zip(names, self._all(), self.before, strict=True)
        found = [(name, source) for name, source, before in triples if _state(source) != before]
        if threading.active_count() == 1:
            return found
        return [(name, x) for name, x in found if not name or {"random", name} & self.names]  # others draw as well

    def check(self, title: str) -> bool:
        """Whether anything was drawn; an error if from anything but the arguments."""
        found = self.drawn()
        for name, source in found:
            if any(source is own for own in self.given):
                continue
            kind = type(source).__name__
            if not name and isinstance(source, (types.GeneratorType, *_ITERATORS)):
                remedy = REMEDY.format("entries", "Take", "the iterator")
                raise TraceError(f"{title} takes the next entry of an iterator ({kind}). {remedy}")
            where = f"by {name}" if name else f"from a generator of the type {kind} that is none of its arguments"
            remedy = REMEDY.format("numbers", "Draw", "a generator, rng = np.random.default_rng(),")
            raise TraceError(f"{title} draws random numbers {where}. {remedy}")
        return bool(found)


# Clocks and files: calls are seen


def _forbidden() -> dict[Any, str]:
    clock, file = "reads the clock", "reads a file"
    clocks = [time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns]
    clocks += [time.process_time, time.localtime, time.gmtime, time.ctime, time.asctime, time.strftime]
    clocks += [datetime.datetime.now, datetime.datetime.utcnow, datetime.datetime.today, datetime.date.today]
    calls: dict[Any, str] = dict.fromkeys(clocks, clock)
    calls |= {open: file, os.open: file, np.fromfile: file}
    calls |= {builtins.input: "asks for input", os.urandom: "draws random numbers of the operating system"}
    return calls


_FOR_OTHERS = frozenset(["numpy", "pandas", "pathlib", "random", "secrets", "uuid", "io", "contextlib"])
_READERS = frozenset(
    ["time", "datetime", "os", "posix", "nt", "io", "_io", "pathlib", "random", "secrets", "uuid", "pandas"]
)
_NOT_DRAWING = frozenset(
    ["numpy", "ricci", "builtins", "math", "cmath", "operator", "_operator", "functools", "_functools", "itertools"]
    + ["collections", "_collections", "_collections_abc", "abc", "types", "typing", "dataclasses", "enum", "numbers"]
    + ["fractions", "decimal", "string", "copy", "re", "contextlib", "warnings", "inspect"]
)
_UNSEEN = SHUT - _NOT_DRAWING  # packages that are not looked into, of which some part may draw random numbers
_DRAWING = frozenset(["random", "exec", "eval", "getattr", "__import__", "__dict__", "vars", "globals"])
_READING = frozenset(["open", "input", "fromfile", "load", "loadtxt", "genfromtxt", "memmap", "lib", "exec", "eval"])


def _modules(reach: Reach) -> set[str]:
    """The modules from which all that is reached comes."""
    found = set()
    for x in reach.met:
        of = x.__name__ if isinstance(x, types.ModuleType) else getattr(x, "__module__", None) or type(x).__module__
        if isinstance(of, str):
            found.add(of)
    return found


def _may_read(reach: Reach, modules: set[str]) -> bool:
    """Whether a function may come to a clock or a file: by a module that has them, a name, or an import."""
    if reach.imports or not _READING.isdisjoint(reach.names):
        return True
    return any(module.partition(".")[0] in _READERS for module in modules)


def _may_draw(reach: Reach, modules: set[str]) -> bool:
    """Whether a function may come to the sources that modules share: by a name, an import, or code not looked into."""
    if reach.imports or not _DRAWING.isdisjoint(reach.names):
        return True
    if any(module.startswith("numpy.random") or module.partition(".")[0] in _UNSEEN for module in modules):
        return True
    return any(_is_foreign(x) for x in reach.met if isinstance(x, types.BuiltinFunctionType))


def _is_foreign(function: types.BuiltinFunctionType) -> bool:
    """Whether a function written in C may call anything."""
    return (function.__module__ or "builtins").partition(".")[0] not in _NOT_DRAWING


@once
def _installed() -> tuple[str, ...]:
    """Where code lies that is not the user's."""
    paths = sysconfig.get_paths()
    return (OURS, *[paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")], "<frozen")


_FORBIDDEN = _forbidden()


def watch(frame: Any, event: str, function: Any) -> None:
    """The profile function: an error where the user's code calls what it may not, while a function is traced."""
    if event != "c_call" or function not in _FORBIDDEN or current() is None:
        return
    caller = frame
    while caller is not None and caller.f_globals.get("__name__", "").partition(".")[0] in _FOR_OTHERS:
        caller = caller.f_back
    if caller is None or caller.f_code.co_filename.startswith(_installed()):
        return
    place = CodePlace(caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_name)
    raise TraceError(
        f"The function {_FORBIDDEN[function]} while it is traced ({place}). It runs once, so each later call would "
        "have what was there then. Do that outside, and give the function what it needs as an argument."
    )


@contextmanager
def watched(function: Any, arguments: Iterable[Any], reached: Reach | None = None) -> Iterator[Sources]:
    """The sources of a function; what it calls is looked at if it may read, unless somebody profiles it."""
    sources = Sources(function, arguments, reached)
    before = sys.getprofile()
    if not sources.may_read or (before is not None and before is not watch):
        yield sources
        return
    try:
        try:
            sys.setprofile(watch)
            yield sources
        finally:
            sys.setprofile(before)
    finally:
        sys.setprofile(before)  # again, in case that the first was interrupted


class unwatched:
    """Not so in here."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = sys.getprofile()
        if self.before is watch:
            sys.setprofile(None)

    def __exit__(self, *_: Any) -> None:
        if self.before is watch:
            sys.setprofile(watch)
