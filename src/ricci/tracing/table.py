"""The one table: for each callable of NumPy (and SciPy) that can be traced, what it means as an expression.

A lowering is a function with the arguments of the one it stands for. It takes traced arrays, arrays and numbers, and
returns a traced array, or a tuple or list of them. ``@lowers(np.sum)`` puts it into the table; the modules of
``ricci.tracing.rows`` are its rows. Eager tensors use the same rows: their derivative is that of the lowering.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ricci.caches import once
from ricci.errors import InvariantError, RicciError, TraceError, nearest
from ricci.expr import Expr
from ricci.tracing.array import Traced
from ricci.tracing.frames import current, user_place
from ricci.tracing.meanings import of_torch, plain, with_meaning

MODULES = (
    *(
        "ufuncs",
        "choosing",
        "over_axes",
        "without_nans",
        "statistics",
        "sequences",
        "ordering",
        "contractions",
        "einsum",
    ),
    *("shaping", "repeating", "diagonals", "several", "keys", "creation", "queries", "linalg", "scipy_special"),
)


@dataclass(frozen=True)
class Row:
    """A callable that can be traced."""

    name: str  # as users write it: "np.linalg.inv"
    lower: Callable[..., Any]
    group: str
    note: str = ""


TABLE: dict[Any, Row] = {}  # by the callable; the reductions of ufuncs by (ufunc, "reduce")
REASONS: dict[Any, str] = {}  # of callables that cannot be traced: why, and what to write instead


def lowers(*callables: Any, note: str = "") -> Callable[[Callable], Callable]:
    """Puts a lowering into the table, for one or several callables; None stands for one that this NumPy lacks."""

    def put(lower: Callable) -> Callable:
        for function in callables:
            if function is not None:
                if function in TABLE and TABLE[function].lower.__module__ != lower.__module__:
                    raise InvariantError(f"{name_of(function)} has two rows, one of them in {lower.__module__}.")
                group = lower.__module__.rpartition(".")[2]
                TABLE[function] = Row(name_of(function), lower, group, note)
        return lower

    return put


def name_of(function: Any) -> str:
    """What users call a function: ``np.linalg.inv``."""
    if isinstance(function, tuple):
        return f"{name_of(function[0])}.{function[1]}"
    module = getattr(function, "__module__", None) or "numpy"
    name = getattr(function, "__name__", repr(function))
    if name.startswith("_") and not isinstance(function, type):
        name = name.strip("_")
    if module.startswith("scipy.special") or _of_scipy(function, name):
        return f"scipy.special.{name}"
    if module.startswith("scipy"):
        return f"{module.replace('._', '.').rpartition('.')[0]}.{name}" if "._" in module else f"{module}.{name}"
    if module.startswith("numpy.linalg"):
        return f"np.linalg.{name}"
    if module.startswith("numpy.fft"):
        return f"np.fft.{name}"
    return f"np.{name}" if module.startswith("numpy") else name


def _of_scipy(function: Any, name: str) -> bool:
    """Whether it is a ufunc of SciPy; ufuncs do not say where they are from."""
    import numpy as np

    return isinstance(function, np.ufunc) and getattr(np, name, None) is not function


def table() -> dict[Any, Row]:
    """The table with all its rows; those of SciPy, which takes long to import, once somebody else has imported it."""
    return _filled("scipy.special" in sys.modules)


@once
def _filled(scipy: bool) -> dict[Any, Row]:
    for module in MODULES:
        import_module(f"ricci.tracing.rows.{module}")
    if scipy:
        import_module("ricci.tracing.rows.scipy_special").register()
    return TABLE


def row_of(function: Any) -> Row:
    """The row of a callable, or an error that names the nearest one."""
    row = table().get(function)
    if row is None:
        raise unknown(function)
    return row


def unknown(function: Any) -> TraceError:
    """What to say of a callable that is not in the table."""
    name = name_of(function)
    names = [row.name for row in table().values()]
    place = user_place()
    where = f" ({place})" if place else ""
    near = REASONS.get(function) or nearest(name, names)
    hint = near or "docs/programs.md lists those that can; rc.custom gives one of your own its rule."
    return TraceError(f"{name} cannot be traced{where}. {hint}")


def lowered(function: Any, args: tuple, kwargs: dict) -> Any:
    """The call of a NumPy function on traced arrays; errors name the user's line."""
    row = row_of(function)
    if of_torch((args, kwargs)) is not None:
        return with_meaning(lambda *args, **kwargs: lowered(function, args, kwargs), args, kwargs)
    check_live(args, kwargs)
    try:
        result = row.lower(*args, **kwargs)
    except RicciError as error:
        raise located(error, row.name) from error.__cause__
    except TypeError as error:
        unbound = _unbound(row, args, kwargs)
        if unbound is None:
            raise
        raise located(TraceError(f"{row.name}: {unbound}; ricci traces {_signature(row)}."), row.name) from error
    frame = current()
    if frame is not None:
        for part in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(part, Traced):
                frame.note(part.expr)
    return result


def located(error: RicciError, name: str) -> RicciError:
    """The error with the user's line, once."""
    place = user_place()
    if place is not None and not getattr(error, "located", False) and not hasattr(error, "message"):
        error.args = (f"{error.args[0] if error.args else ''}\n  in {name} at {place}",)
        error.located = True  # type: ignore[attr-defined]
    return error


def _unbound(row: Row, args: tuple, kwargs: dict) -> str | None:
    try:
        inspect.signature(row.lower).bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return None


def _signature(row: Row) -> str:
    return f"{row.name}{inspect.signature(row.lower)}"


def check_live(args: Iterable[Any], kwargs: dict) -> None:
    """Whether all traced arrays belong to functions that are still running."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, Traced):
            if not value.frame.active:
                raise leaked(value)
        elif isinstance(value, (list, tuple)):
            check_live(value, {})


def leaked(value: Traced) -> TraceError:
    place = value.frame.root.lines.get(value.expr)
    made, here = f"It was made at {place}. " if place else "", user_place()
    where = f" ({here})" if here else ""
    return TraceError(
        f"A traced array of shape {value.shape} is used{where} after the function {value.frame.name} that made it has "
        f"returned. {made}Return it from the function instead of keeping it in a variable outside."
    )


def fresh(expr: Expr, dtype: Any, weak: bool = False) -> Traced:
    """A traced array of the innermost frame."""
    import numpy as np

    frame = current()
    assert frame is not None, "there are traced arrays only while a function is traced"
    return Traced(expr, np.dtype(dtype), frame, weak)


# Indexing has no callable of its own in NumPy; these stand for it.


def getitem(x: Any, key: Any) -> Any:
    """``x[key]``."""
    return x[key]


def changed(x: Any, key: Any, value: Any, how: str) -> Any:
    """``x.at[key].set(value)`` and its kin, on arrays."""
    import numpy as np

    result = np.array(x)
    if how == "set":
        result[key] = value
    else:
        np.add.at(result, key, value)
    return result


def has_traced(values: Sequence[Any]) -> bool:
    """Whether a traced array is among ``values``, or in a list among them."""
    return any(isinstance(plain(v), Traced) or (isinstance(v, (list, tuple)) and has_traced(v)) for v in values)
