"""Where Python's own loops are seen: ``range`` and its kin, in the code of the functions that are traced.

While a function is traced, the functions that it reaches run with a copy of their code that calls the functions below
by other names. Outside a trace, and where the result is not looped over at once, these are Python's own. So it does not
matter who else runs the same functions at the time.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

from ricci.caches import LOCKS, Cache
from ricci.dispatch import offer, tracing
from ricci.tracing.rolling.loop import RollingLoop, items_of

OWN = {name: f"__ricci_{name}__" for name in ("range", "zip", "enumerate", "reversed")}
SHORTEST = 8  # loops of fewer steps are unrolled
_copies = Cache("code that is traced", 1024)
_places = Cache("loops in code", 1024)
_changed: dict[int, list[Any]] = {}  # function, its own code, the copy, how many traces it is changed for; by identity


# Who is looped over


def _seen(name: str) -> Callable[..., Any]:
    plain = getattr(builtins, name)

    def called(*args: Any, **kwargs: Any) -> Any:
        frame = tracing()
        if frame is None or kwargs or not frame.rolls or not in_loop(sys._getframe(1)):
            return plain(*args, **kwargs)
        items = items_of(name, args)
        if items is None or items.length < SHORTEST:
            return plain(*args)
        return RollingLoop(items, frame)

    return called


def iterated(array: Any, caller: Any) -> Any:
    """What goes through an array along its first axis, if the caller is a loop and a function is being traced."""
    frame = tracing()
    if frame is None or array.shape[0] < SHORTEST or not frame.rolls or not in_loop(caller):
        return None
    items = items_of("array", (array,))
    return None if items is None else RollingLoop(items, frame)


offer(iterated=iterated)
for _name, _other in OWN.items():
    setattr(builtins, _other, _seen(_name))


def in_loop(frame: Any) -> bool:
    """Whether what a frame calls now is looped over at once, by a statement of a function."""
    code = frame.f_code
    known = _places[code]
    if known is None:
        known = _loops(code)
        _places.keep(code, known)
    offsets, before = known
    return bool(offsets) and before[bisect_right(offsets, frame.f_lasti) - 1]


def _loops(code: CodeType) -> tuple[list[int], list[bool]]:
    """The offsets of instructions, and of each whether a loop over its result comes next."""
    flags = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    if code.co_flags & flags or not code.co_flags & inspect.CO_OPTIMIZED:
        return [], []
    found = [one for one in dis.get_instructions(code) if one.opname not in ("EXTENDED_ARG", "CACHE")]
    names = [one.opname for one in found]
    looped = [
        names[k + 1 : k + 2] == ["FOR_ITER"] or names[k + 1 : k + 3] == ["GET_ITER", "FOR_ITER"]
        for k in range(len(names))
    ]
    return [one.offset for one in found], looped


# Code that calls them


@contextmanager
def seen_loops(functions: Sequence[FunctionType]) -> Iterator[None]:
    """Inside, loops in these functions are seen."""
    own = [f for f in functions if (id(f) in _changed or _copy(f.__code__) is not None) and _plain_names(f)]
    try:
        with LOCKS.held("tracing"):
            for f in own:
                _change(f)
        yield
    finally:
        with LOCKS.held("tracing"):
            for f in own:
                _restore(f)


def _plain_names(function: FunctionType) -> bool:
    """Whether the names mean what they do in Python."""
    return OWN.keys().isdisjoint(function.__globals__) and getattr(function, "__builtins__", None) is vars(builtins)


def _change(f: FunctionType) -> None:
    known = _changed.get(id(f))
    if known is not None:
        known[3] += 1
        return
    copy = _copy(f.__code__)
    if copy is not None:
        _changed[id(f)] = [f, f.__code__, copy, 1]
        f.__code__ = copy


def _restore(f: FunctionType) -> None:
    known = _changed.get(id(f))
    if known is None:
        return
    known[3] -= 1
    if not known[3]:
        del _changed[id(f)]
        if f.__code__ is known[2]:
            f.__code__ = known[1]


def _copy(code: CodeType) -> CodeType | None:
    """The code with other names, or none if there are no loops to be seen."""
    known = _copies[code]
    if known is None:
        known = (_renamed(code),)
        _copies.keep(code, known)
    return None if known[0] is code else known[0]


def _renamed(code: CodeType) -> CodeType:
    consts = tuple([_renamed(part) if isinstance(part, CodeType) else part for part in code.co_consts])
    names = code.co_names
    if not OWN.keys().isdisjoint(names):
        others = {
            one.argval
            for one in dis.get_instructions(code)
            if one.opname not in ("LOAD_GLOBAL", "LOAD_NAME") and one.opcode in dis.hasname
        }
        names = tuple([OWN[name] if name in OWN and name not in others else name for name in names])
    same = names == code.co_names and all(a is b for a, b in zip(consts, code.co_consts, strict=True))
    return code if same else code.replace(co_names=names, co_consts=consts)
