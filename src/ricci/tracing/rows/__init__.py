"""The rows of the table, by kind: what each callable of NumPy and SciPy means as an expression.

What comes in are the arguments of a call, with traced arrays among them; what goes out are traced arrays. A row imports
what lowerings are made of, and never the calls that lead to it. The table is filled when it is first asked for.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from ricci.caches import once
from ricci.errors import TraceError, nearest
from ricci.tracing.frames import user_place
from ricci.tracing.lowerings import REASONS, TABLE, LoweringRow, name_of

MODULES = "ufuncs choosing over_axes without_nans statistics sequences ordering contractions einsum shaping repeating "
MODULES += "diagonals several keys creation queries linalg transforms_along scipy_special"


def table() -> dict[Any, LoweringRow]:
    """The table with all its rows; those of SciPy, which takes long to import, once somebody else has imported it."""
    return _filled("scipy.special" in sys.modules, "scipy.fft" in sys.modules)


@once
def _filled(special: bool, fft: bool) -> dict[Any, LoweringRow]:
    for module in MODULES.split():
        import_module(f"ricci.tracing.rows.{module}")
    for module, imported in (("scipy_special", special), ("transforms_along", fft)):
        if imported:
            import_module(f"ricci.tracing.rows.{module}").register()
    return TABLE


def row_of(function: Any) -> LoweringRow:
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
    hint = near or "docs/numpy.md lists those that can; rc.custom gives one of your own its rule."
    return TraceError(f"{name} cannot be traced{where}. {hint}")
