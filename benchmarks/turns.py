"""What is measured of a contender in a process of its own: its first call, the memory it takes, later calls in turns.

A task of ``guarded.py`` says what it finds as it goes along: ``("begins", contender)``, then ``("first", contender,
seconds)`` and so on, each a field of a row; and ``("failed", contender, reason)``.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import harness
import numpy as np
from guarded import Say, peak
from harness import CLOCK
from libraries import Call, Library
from literature import BY_NAME
from literature.corpus import Case


def first_call(
    contender: str, library: Callable[[], Library], case: Callable[[Library], Case], kind: str, say: Say
) -> tuple[Call, list[np.ndarray]] | None:
    """The call that is timed later, and its result; None where there is none."""
    say(("begins", contender))
    try:
        own = library()
        awake(own)
        what = case(own)
        own.settle()
        arguments = own.arguments(what, kind)
        found: list[Any] = []

        def begin() -> None:
            start = CLOCK()
            call = own.call(what, kind, arguments)
            result = call()
            found[:] = call, result, CLOCK() - start

        taken = peak(begin)
        call, result, seconds = found
        say(("first", contender, seconds))
        say(("beginning", contender, taken))
        return call, own.arrays(result)
    except MemoryError:
        say(("failed", contender, "no memory"))
    except Exception as error:
        say(("failed", contender, f"{error!r:.120}"))
    return None


@lru_cache(maxsize=9)
def awake(library: Library) -> None:
    """What a library does once in a process is not part of a first call."""
    case = BY_NAME["softmax"].case()
    for kind in ("grad", "hvp") if hasattr(library, "hvp") else ("value",):
        library.call(case, kind, library.arguments(case, kind))()


def warm_up(contender: str, library: Library, call: Call, say: Say) -> None:
    """Call until all is settled, then see what memory a call takes."""
    library.warm_up(call)
    library.settle(False)
    say(("memory", contender, peak(call)))


def warm(calls: Mapping[str, Call], say: Say) -> None:
    gc.collect()
    found: dict[str, list[float]] = {}
    loops = {}
    for contender, call in calls.items():
        say(("begins", contender))
        loops[contender], (seconds, _), _ = harness._loops(call)
        found[contender] = [seconds]
    until = time.perf_counter() + 0.12 * len(calls) + 2 * sum(s[0] for s in found.values())
    while time.perf_counter() < until:
        for contender, call in calls.items():
            say(("begins", contender))
            found[contender].append(harness._sample(call, loops[contender])[0])
    for contender, seconds in found.items():
        say(("warm", contender, min(seconds)))
