"""What holds inside a ``with``: in this thread, or in this task of ``asyncio`` and those that it starts.

An interrupt may come at any instruction, also at the last ones of a scope. So what is taken back is taken back twice;
and where an interrupt comes before that, the generator is closed when nobody holds it any more, which does it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def within(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Inside, ``variable`` has this value.

    >>> from contextvars import ContextVar
    >>> depth = ContextVar("depth", default=0)
    >>> with within(depth, 1):
    ...     print(depth.get())
    1
    >>> depth.get()
    0
    """
    before, closed = variable.get(), False
    try:
        try:
            variable.set(value)
            yield
        except GeneratorExit:  # later than it should be left, or elsewhere
            closed = True
            raise
        finally:
            if not closed or variable.get() is value:
                variable.set(before)
    finally:
        if not closed or variable.get() is value:
            variable.set(before)
