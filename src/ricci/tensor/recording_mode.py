"""Whether operations are recorded, in this thread or task: ``no_grad`` and ``enable_grad``; and who watches the values.

An operation is recorded so that gradients can flow back through it. Where none are wanted, as when parameters are
updated, recording costs memory and time, and changing a tensor in place would be ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeVar

S = TypeVar("S", bound="ModeScope")


@dataclass(slots=True, eq=False)
class Mode:
    """What holds here."""

    recording: bool = True
    watch: Callable[..., None] | None = None  # told the name, the value and the operands of every operation
    infinities: bool = False  # whether infinities are watched for, not NaN alone
    outer: Mode | None = None  # what holds around
    left: bool = False  # before what was entered inside it, as by a generator that is closed there


_NOTHING_SET = Mode()
_MODE = ContextVar("ricci_mode", default=_NOTHING_SET)
mode = _MODE.get


class ModeScope(ContextDecorator):
    """Sets some of what holds, inside a ``with`` or a decorated function; they nest.

    Each entry makes a mode of its own, and leaving takes back that one and no other. So an object that goes without
    having been left, because an interrupt came between, can take back what it has set.
    """

    _entered: list[Mode]

    def __init__(self, **values: Any):
        self._values, self._entered = values, []

    def __enter__(self: S) -> S:
        outer = mode()
        own = replace(outer, **self._values, outer=outer)
        self._entered.append(own)
        _MODE.set(own)
        return self

    def __exit__(self, *error: object) -> None:
        own = outer = self._entered[-1]
        own.left = mode() is not own
        while outer.outer is not None and (outer is own or outer.left):
            outer = outer.outer
        if not own.left:
            _MODE.set(outer)
        self._entered.pop()

    def __del__(self) -> None:
        while getattr(self, "_entered", None):  # none where it was given what it does not take
            self.__exit__()

    def _recreate_cm(self: S) -> S:  # a decorated function may be running several times at once
        return type(self)()


class no_grad(ModeScope):
    """Inside, operations on tensors are not recorded, and tensors may be changed in place.

    >>> import ricci as rc
    >>> x = rc.Tensor(3.0)
    >>> with rc.no_grad():
    ...     y = x * x
    ...     x -= 1.0
    >>> y.requires_grad, x
    (False, Tensor(2.))

    It also decorates functions: ``@rc.no_grad()``. It holds in this thread, or in this task of ``asyncio`` and those
    that it starts.
    """

    def __init__(self) -> None:
        super().__init__(recording=False)


class enable_grad(ModeScope):
    """Inside, operations are recorded, also within ``no_grad``."""

    def __init__(self) -> None:
        super().__init__(recording=True)
