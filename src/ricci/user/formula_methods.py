"""The functions of the table as methods of formulas: ``y.exp()``, ``s.softmax("k")``, ``y.maximum(0)``.

They are made of the rows; ``formula_methods.pyi`` says so to those who check types, and is made of the rows as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ricci.errors import InputError
from ricci.functions.table import FUNCTIONS


class FormulaMethods:
    """What formulas have from the table of functions."""

    __slots__ = ()


def _over(function: str) -> Callable[..., Any]:
    def method(self: Any, *axes: str) -> Any:
        return self.over(function, *axes)

    method.__doc__ = f"{FUNCTIONS[function].help}; over the named axes, or all."
    return method


def _entrywise(function: str) -> Callable[..., Any]:
    arity = FUNCTIONS[function].arity

    def method(self: Any, *others: Any) -> Any:
        if len(others) + 1 != arity:
            raise InputError(f"f.{function}(…) takes {arity - 1} operand(s) beside f, not {len(others)}.")
        return self._applied(function, *others)

    method.__doc__ = f"{FUNCTIONS[function].help}; entry by entry."
    return method


for _name, _row in FUNCTIONS.items():
    if _row.method:
        _method = _entrywise(_name) if _row.kind == "elementwise" else _over(_name)
        _method.__name__ = _name
        setattr(FormulaMethods, _name, _method)
