"""A call of a function on traced arrays, by its row of the table."""

from __future__ import annotations

import inspect
from typing import Any

from ricci.dispatch import Rule
from ricci.errors import RicciError, TraceError
from ricci.tracing.array import Traced, check_live
from ricci.tracing.frames import current
from ricci.tracing.likeness import with_meaning
from ricci.tracing.lowerings import located
from ricci.tracing.meanings import of_torch
from ricci.tracing.own_errors import RAW, raise_own
from ricci.tracing.rows import row_of


def lowered(function: Any, args: tuple, kwargs: dict) -> Any:
    """A function of NumPy, or one that is given by a rule, of traced arrays; errors name the user's line."""
    row = function if isinstance(function, Rule) else row_of(function)
    if of_torch((args, kwargs)) is not None:
        return with_meaning(lambda *args, **kwargs: lowered(function, args, kwargs), args, kwargs)
    check_live(args, kwargs)
    try:
        result = row.lower(*args, **kwargs) if isinstance(row, Rule) else row.binding(args, kwargs)
    except RicciError as error:
        raise located(error, row.name) from error.__cause__
    except TypeError as error:
        unbound = _unbound(row, args, kwargs) if isinstance(row, Rule) else None
        if unbound is None:
            raise_own(error, row.name, args)
        raise located(unbound, row.name) from error
    except RAW as error:
        raise_own(error, row.name, args)
    frame = current()
    if frame is not None:
        for part in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(part, Traced):
                frame.note(part.expr)
    return result


def _unbound(rule: Rule, args: tuple, kwargs: dict) -> TraceError | None:
    """The error for arguments that do not fit, if they do not."""
    signature = inspect.signature(rule.lower)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return TraceError(f"{rule.name}: {error}; ricci traces {rule.name}{signature}.")
    return None
