"""What a traced function may not depend on: random numbers, clocks, files.

A function is run once, to be traced, and what it did then is repeated at each call: a number that it drew would be the
same for ever. So the sources of random numbers that it may reach are compared before and after: the global ones, and
generators that it finds in its closure, its globals and the objects it uses. Those among its own arguments may change;
then the function is traced at each call. Clocks and files have no state; calls of them are seen while the function
runs, by a profile function of this thread, unless somebody else profiles it.
"""

from __future__ import annotations

import builtins
import datetime
import os
import pickle
import sys
import sysconfig
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np

from ricci.errors import TraceError
from ricci.tracing.frames import OURS, Place, current
from ricci.tracing.meanings import aside

MOST = 2000  # objects that are looked at for generators
_ATOMS = (str, bytes, int, float, complex, type(None), np.ndarray, np.generic, types.BuiltinFunctionType)
_SHUT = frozenset(["numpy", "scipy", "jax", "jaxlib", "torch", "ricci", *sys.stdlib_module_names])
REMEDY = (
    "It runs once, to be traced, so each later call would have the same numbers. Draw them outside and give them to "
    "the function as an argument; or give it a generator as an argument, rng = np.random.default_rng(), and it is "
    "traced at each call."
)

# Random numbers: sources have a state

_STATES: list[tuple[str, str, Callable[[Any], Any]]] = [  # module, class, and what tells states apart
    ("numpy.random", "Generator", lambda g: g.bit_generator.state),
    ("numpy.random", "RandomState", lambda g: g.get_state(legacy=False)),
    ("numpy.random", "BitGenerator", lambda g: g.state),
    ("random", "Random", lambda g: g.getstate()),
    ("torch", "Generator", lambda g: g.get_state().numpy()),
]


def _state(source: Any) -> bytes | None:
    """The state of a source of random numbers; none for anything else, and for those that have none."""
    for module, name, state in _STATES:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(source, kind):
            try:
                with aside():
                    return pickle.dumps(state(source))
            except NotImplementedError:  # numbers of the operating system: what reads them is seen
                return None
    return None


def _shared() -> dict[str, Any]:
    """The sources that modules share."""
    where = {
        "np.random": ("numpy.random.mtrand", "_rand"),
        "random": ("random", "_inst"),
        "torch": ("torch", "default_generator"),
    }
    found = {shown: getattr(sys.modules.get(module), name, None) for shown, (module, name) in where.items()}
    return {shown: source for shown, source in found.items() if source is not None}


class Sources:
    """Sources of random numbers and their states, when ``function`` begins to be traced with these arguments."""

    def __init__(self, function: Any, arguments: Iterable[Any]):
        self.given, _ = _reached(arguments)
        met, self.names = _reached([function])
        self.others = [x for x in met if not any(x is own for own in self.given)]
        self.shared = _shared()
        self.renew()

    def renew(self) -> None:
        """Take the states of now for those of the beginning."""
        self.before = [_state(x) for x in self._all()]

    def _all(self) -> list[Any]:
        return [*self.shared.values(), *self.others, *self.given]

    def drawn(self) -> list[tuple[str, Any]]:
        """What random numbers were drawn from, in words and itself."""
        words = [*[f"by {name}" for name in self.shared], *["from a generator"] * (len(self.others) + len(self.given))]
        triples = zip(words, self._all(), self.before, strict=True)
        found = [(word, source) for word, source, before in triples if _state(source) != before]
        if threading.active_count() == 1:
            return found
        named = {f"by {name}" for name in self.shared if not self.names.isdisjoint(["random", name])}
        return [(word, x) for word, x in found if word in named or word == "from a generator"]  # others draw as well

    def check(self, title: str) -> bool:
        """Whether random numbers were drawn; an error if from anything but the arguments."""
        found = self.drawn()
        for word, source in found:
            if not any(source is own for own in self.given):
                of = f" of the type {type(source).__name__} that is none of its arguments" if "from" in word else ""
                raise TraceError(f"{title} draws random numbers {word}{of}. {REMEDY}")
        return bool(found)


def _reached(starts: Iterable[Any]) -> tuple[list[Any], set[str]]:
    """The generators that are reached from ``starts``, and the names in the functions on the way."""
    waiting, seen = list(starts), {}
    found: list[Any] = []
    names: set[str] = set()
    modules: list[types.ModuleType] = []
    while waiting and len(seen) < MOST:
        thing = waiting.pop()
        if isinstance(thing, _ATOMS) or id(thing) in seen:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, types.ModuleType):
            modules.append(thing)
        elif _state(thing) is not None:
            found.append(thing)
        else:
            waiting += _parts(thing)
            names |= set(_names(thing.__code__)) if isinstance(thing, types.FunctionType) else set()
    own = [vars(module) for module in modules if module.__name__.partition(".")[0] not in _SHUT]
    found += [scope[name] for scope in own for name in names & scope.keys() if _state(scope[name]) is not None]
    return found, names


def _parts(thing: Any) -> Iterable[Any]:
    """What is held by an object: by a function in its closure, its globals and its defaults."""
    if isinstance(thing, types.FunctionType):
        if (thing.__module__ or "").partition(".")[0] in _SHUT:
            return ()
        scope = thing.__globals__
        cells = [cell.cell_contents for cell in thing.__closure__ or () if _bound(cell)]
        return [*cells, *[scope[n] for n in _names(thing.__code__) if n in scope], *(thing.__defaults__ or ())]
    if isinstance(thing, types.MethodType):
        return thing.__self__, thing.__func__
    if isinstance(thing, partial):
        return thing.func, *thing.args, *thing.keywords.values()
    if isinstance(thing, dict):
        return thing.values()
    if isinstance(thing, (list, tuple, set)):
        return thing
    if isinstance(thing, type):
        return ()
    call = getattr(type(thing), "__call__", None)  # noqa: B004  (what it is, not whether there is one)
    held = getattr(thing, "__dict__", None)
    return [
        *(held.values() if isinstance(held, dict) else ()),
        *([call] if isinstance(call, types.FunctionType) else ()),
    ]


def _bound(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


@cache
def _names(code: types.CodeType) -> tuple[str, ...]:
    inner = [name for part in code.co_consts if isinstance(part, types.CodeType) for name in _names(part)]
    return (*code.co_names, *inner)


# Clocks and files: calls are seen


def _forbidden() -> dict[Any, str]:
    clock, file = "reads the clock", "reads a file"
    clocks = [time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns]
    clocks += [time.process_time, time.localtime, time.gmtime, time.ctime]
    clocks += [datetime.datetime.now, datetime.datetime.utcnow, datetime.datetime.today, datetime.date.today]
    calls: dict[Any, str] = dict.fromkeys(clocks, clock)
    calls |= {open: file, os.open: file, np.fromfile: file}
    calls |= {builtins.input: "asks for input", os.urandom: "draws random numbers of the operating system"}
    return calls


_FOR_OTHERS = frozenset(["numpy", "pandas", "pathlib", "random", "secrets", "uuid", "io", "contextlib"])


@cache
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
    place = Place(caller.f_code.co_filename, caller.f_lineno, caller.f_code.co_name)
    raise TraceError(
        f"The function {_FORBIDDEN[function]} while it is traced ({place}). It runs once, so each later call would "
        "have what was there then. Do that outside, and give the function what it needs as an argument."
    )


@contextmanager
def watched() -> Iterator[None]:
    """What the user's code calls is looked at, unless somebody profiles it."""
    before = sys.getprofile()
    if before is not None and before is not watch:
        yield
        return
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)


@contextmanager
def unwatched() -> Iterator[None]:
    """Not so in here."""
    if sys.getprofile() is not watch:
        yield
        return
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(watch)
