"""``scipy.fft`` asks whoever is registered with it, and not its arguments, what to do with them.

While a function is traced, calls with traced arrays come to the dispatcher from there, as all others do; those with
plain arrays go to SciPy.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ricci.dispatch import call
from ricci.tracing.array import Traced


class TracedTransforms:
    """What SciPy is told of: a backend for its domain of Fourier transforms."""

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if Traced in map(type, (*args, *kwargs.values())):
            return call(method, args, kwargs)
        return NotImplemented


def with_traced_transforms() -> AbstractContextManager[Any]:
    """Within it, SciPy's transforms of traced arrays are traced, where somebody has imported them."""
    module = sys.modules.get("scipy.fft")
    return nullcontext() if module is None else module.set_backend(TracedTransforms)
