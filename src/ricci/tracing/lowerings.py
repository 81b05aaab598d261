"""The one table: for each callable of NumPy (and SciPy) that can be traced, what it means as an expression.

A lowering names the parameters of the callable that it needs, and what it needs them as (``arguments.py``); it returns
a traced array, or a tuple or list of them. ``@lowers(np.sum)`` puts it into the table; the modules of
``ricci.tracing.rows`` are its rows. Eager tensors use the same rows: their derivative is that of the lowering.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ricci.caches import lazy
from ricci.errors import InvariantError, RicciError
from ricci.tracing.arguments import Signed, signature_of
from ricci.tracing.frames import user_place


@dataclass(frozen=True)
class LoweringRow:
    """A callable that can be traced."""

    name: str  # as users write it: "np.linalg.inv"
    function: Any  # the callable itself
    lower: Callable[..., Any]
    group: str
    note: str = ""

    @lazy
    def binding(self) -> Signed:
        """How a call becomes one of the lowering."""
        return Signed(self.name, signature_of(self.function), self.lower)


TABLE: dict[Any, LoweringRow] = {}  # by the callable; the reductions of ufuncs by (ufunc, "reduce")
REASONS: dict[Any, str] = {}  # of callables that cannot be traced: why, and what to write instead


def lowers(*callables: Any, note: str = "", group: str = "") -> Callable[[Callable], Callable]:
    """Puts a lowering into the table, for one or several callables; None stands for one that this NumPy lacks.

    ``group`` is the module that it is listed with, if not its own.
    """

    def put(lower: Callable) -> Callable:
        for function in callables:
            if function is not None:
                if function in TABLE and TABLE[function].lower.__module__ != lower.__module__:
                    raise InvariantError(f"{name_of(function)} has two rows, one of them in {lower.__module__}.")
                own = group or lower.__module__.rpartition(".")[2]
                TABLE[function] = LoweringRow(name_of(function), function, lower, own, note)
        return lower

    return put


def lines(module: str, lowerings: dict[Any, Callable[..., Any]]) -> None:
    """Puts several into the table, each in a line, listed with a module."""
    for function, lower in lowerings.items():
        lowers(function, group=module.rpartition(".")[2])(lower)


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


def located(error: RicciError, name: str) -> RicciError:
    """The error with the user's line, once."""
    place = user_place()
    if place is not None and not getattr(error, "located", False) and not hasattr(error, "message"):
        error.args = (f"{error.args[0] if error.args else ''}\n  in {name} at {place}",)
        error.located = True  # type: ignore[attr-defined]
    return error
