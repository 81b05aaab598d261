"""Whether what a traced function meets outside itself is still what it was when it was traced.

A traced function is kept and not run again. What it reaches by its names (``reach.py``) is remembered: objects by
identity, numbers and texts by value, lists and dictionaries by what is in them. When one of these is another, the
function is traced anew. What the function changed itself while it was traced, as a list that it appends to, is not
watched: such effects happen when it is traced, and not again.

The contents of an array need watching only where NumPy has computed with them while the function was traced, for the
result is then a constant of the program (``watched.py`` sees that). An array that met nothing but traced arrays is an
input of the program, which reads it at each call.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import is_
from typing import Any

import numpy as np

from ricci.tracing.frames import MOST_COPIED
from ricci.tracing.reach import MISSING, Reach

SMALL = 1 << 15  # bytes; larger arrays are not made texts to be compared
_VALUES = (bool, int, float, complex, str, bytes, np.generic)


class Guards:
    """What a function depends on. ``inputs`` are the identities of arrays whose contents it did not look at."""

    __slots__ = ("containers", "functions", "large", "places", "small")

    def __init__(self, reach: Reach, inputs: frozenset[int] = frozenset()):
        self.places = list(reach.places)
        self.functions = [(f, f.__code__, f.__defaults__, f.__kwdefaults__) for f in reach.functions]
        self.containers = [(container, _parts(container)) for container in reach.containers]
        self.small: list[tuple[np.ndarray, bytes]] = []
        self.large: list[tuple[np.ndarray, np.ndarray]] = []
        self.watch([array for array in reach.arrays.values() if id(array) not in inputs])

    def watch(self, arrays: Iterable[np.ndarray]) -> None:
        """The contents of these arrays are to stay what they are now."""
        for array in arrays:
            if array.nbytes > MOST_COPIED or array.dtype.hasobject:
                continue
            if array.nbytes <= SMALL or not array.flags.c_contiguous:
                self.small.append((array, array.tobytes()))
            else:
                whole = _as_integers(array)
                self.large.append((whole, whole.copy()))

    def without_changed(self, before: Guards) -> Guards:
        """These guards without the places and lists that are not as they were ``before``."""
        changed = {place.where for place in before.places if not same(place.look(place.key, MISSING), place.value)}
        lists = {id(container) for container, parts in before.containers if not _same_parts(_parts(container), parts)}
        self.places = [place for place in self.places if place.where not in changed]
        self.containers = [(container, parts) for container, parts in self.containers if id(container) not in lists]
        return self

    def hold(self) -> bool:
        """Whether everything is as it was."""
        for look, key, value in self.places:
            now = look(key, MISSING)
            if now is not value and not same(now, value):
                return False
        for function, code, defaults, keywords in self.functions:
            if (
                function.__code__ is not code
                or function.__defaults__ is not defaults
                or function.__kwdefaults__ is not keywords
            ):
                return False
        for array, contents in self.small:
            if array.tobytes() != contents:
                return False
        for container, parts in self.containers:
            if not _same_parts(_parts(container), parts):
                return False
        for array, contents in self.large:  # noqa: SIM110  (a generator takes longer to make than most guards to check)
            if (array != contents).any():
                return False
        return True


def same(now: Any, then: Any) -> bool:
    """Whether two objects are one, or one number or text."""
    if now is then:
        return True
    if type(now) is not type(then) or not isinstance(then, _VALUES):
        return False
    if isinstance(then, float) and then == 0:
        return now == 0 and math.copysign(1, now) == math.copysign(1, then)
    return bool(now == then)


def _parts(container: Any) -> list[Any]:
    """What is in a list, a set or a dictionary."""
    return [*container, *container.values()] if isinstance(container, dict) else list(container)


def _same_parts(now: list[Any], then: list[Any]) -> bool:
    if len(now) != len(then):
        return False
    return all(map(is_, now, then)) or all(map(same, now, then))


def _as_integers(array: np.ndarray) -> np.ndarray:
    """The memory of an array as whole numbers, which are equal where they are the same: NaN is not equal to NaN."""
    size = math.gcd(array.dtype.itemsize, 8)
    return array.reshape(-1).view(np.dtype(f"u{size}"))
