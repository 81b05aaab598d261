"""Whether operations are recorded, in this thread: ``no_grad`` and ``enable_grad``; and who watches the values.

An operation is recorded so that gradients can flow back through it. Where none are wanted, as when parameters are
updated, recording costs memory and time, and changing a tensor in place would be ambiguous.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ContextDecorator


class _Mode(threading.local):
    """What holds in one thread."""

    recording = True
    watch: Callable[..., None] | None = None  # told the name, the value and the operands of every operation


state = _Mode()


class _Recording(ContextDecorator):
    """Sets whether operations are recorded, inside a ``with`` or a decorated function; they nest."""

    recording = True

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> _Recording:
        self._before.append(state.recording)
        state.recording = self.recording
        return self

    def __exit__(self, *error: object) -> None:
        state.recording = self._before.pop()

    def _recreate_cm(self) -> _Recording:  # a decorated function may be running in several threads at once
        return type(self)()


class no_grad(_Recording):
    """Inside, operations on tensors are not recorded, and tensors may be changed in place.

    >>> import ricci as rc
    >>> x = rc.Tensor(3.0)
    >>> with rc.no_grad():
    ...     y = x * x
    ...     x -= 1.0
    >>> y.requires_grad, x
    (False, Tensor(2.))

    It also decorates functions: ``@rc.no_grad()``.
    """

    recording = False


class enable_grad(_Recording):
    """Inside, operations are recorded, also within ``no_grad``."""
