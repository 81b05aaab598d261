"""Calls of formulas that are not on arrays: while a function is traced, and on eager tensors.

A formula, compiled or not, is then part of what is recorded, as any function of NumPy's is. What is to be done is known
to those who record, and they come later than the compiler: they put it here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from ricci.expr import Expr, Size
from ricci.notation.context import Facts


class Here(threading.local):
    """What holds in one thread: the innermost function being traced, if any."""

    frame: Any = None


here = Here()
KINDS: list[type] = []  # traced arrays and tensors are of these
ROADS: list[Callable[[Called, Mapping[str, Any], Mapping[str, int]], Any]] = []  # what takes a call on them


class Called(NamedTuple):
    """What is called: ``source``, a formula or a compiled function, and what it is made of."""

    source: Any
    name: str
    roots: Sequence[Expr]
    names: Mapping[str, Size]  # the indices of the results, and their sizes
    facts: Facts
    single: bool


@contextmanager
def at_once() -> Iterator[None]:
    """What is computed inside is computed now, also while a function is traced."""
    outer, here.frame = here.frame, None
    try:
        yield
    finally:
        here.frame = outer


def asked(values: Iterable[Any]) -> bool:
    """Whether a call with these inputs is to be recorded."""
    return here.frame is not None or any(isinstance(v, kind) for kind in KINDS for v in values)


def recorded(called: Called, inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    """The results of such a call: traced arrays, or tensors."""
    return ROADS[0](called, inputs, sizes)
