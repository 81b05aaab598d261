"""Errors of NumPy's and Python's own in a call on tensors or traced arrays, as errors that say what was called on what.

NumPy says of an axis, a place or a shape that it does not fit; what is said here too is the operation, the shapes of
the operands and the user's line. What a function of the user's raises, while NumPy calls it, is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from ricci.compiler.run.matrix_faults import is_matrix_fault, matrix_error
from ricci.errors import AxisError, InputError, RicciError, ShapeError
from ricci.tracing.frames import in_code
from ricci.tracing.lowerings import located


class BoundsError(AxisError, ValueError):
    """An axis that an array does not have: also a ``ValueError``, as that of NumPy is."""


_CLASSES: list[tuple[tuple[type[Exception], ...], type[RicciError]]] = [
    ((np.exceptions.AxisError,), BoundsError),
    ((IndexError,), AxisError),
    ((TypeError, AttributeError, OverflowError), InputError),
    ((ValueError,), ShapeError),
]
RAW = tuple([kind for kinds, _ in _CLASSES for kind in kinds])


def own_error(error: Exception, name: str, operands: Iterable[Any]) -> RicciError | None:
    """The error as one of ricci's, for a call of ``name``; none where it is one, or comes from the user's code."""
    if isinstance(error, RicciError) or not _in_libraries(error.__traceback__):
        return None
    shapes = [tuple(shape) for x in operands if (shape := getattr(x, "shape", None)) is not None]
    if is_matrix_fault(error):
        return located(matrix_error(error, name, name, shapes[0] if shapes else None), name)
    kind = next(own for kinds, own in _CLASSES if isinstance(error, kinds))
    said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    operand = "operand has the shape" if len(shapes) == 1 else "operands have the shapes"
    tail = f" The {operand} {' and '.join(map(str, shapes))}." if shapes else ""
    return located(kind(f"{name}: {said}.{tail}"), name)


def raise_own(error: Exception, name: str, operands: Iterable[Any]) -> NoReturn:
    """Raise an error as one of ricci's, if it becomes one, and as it is otherwise."""
    own = own_error(error, name, operands)
    if own is None:
        raise error
    raise own from error


def _in_libraries(trace: TracebackType | None) -> bool:
    """Whether an error was raised in ricci or in a library that it calls, and not in code that these call."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and not in_code(trace.tb_frame)
