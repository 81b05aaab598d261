"""PyTorch's functions on traced arrays and eager tensors, by its own protocol: each is NumPy's of the same meaning.

What PyTorch calls ``dim`` and ``keepdim`` is ``axis`` and ``keepdims``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.functions.table import FUNCTIONS
from ricci.tracing.array import Traced
from ricci.tracing.operand import Operand
from ricci.tracing.table import table, unknown

_NAMES = {
    "cat": "concatenate",
    "concat": "concatenate",
    "mul": "multiply",
    "sub": "subtract",
    "div": "divide",
    "neg": "negative",
    "pow": "power",
    "mm": "matmul",
    "bmm": "matmul",
    "mv": "matmul",
    "clamp": "clip",
    "permute": "transpose",
    "unsqueeze": "expand_dims",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "movedim": "moveaxis",
    "swapdims": "swapaxes",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
    "amax": "max",
    "amin": "min",
}
_OURS = {"sigmoid", "softmax", "log_softmax", "logsumexp", "relu", "gelu", "silu", "softplus", "elu", "leaky_relu"}
_OURS |= {"erf", "erfc", "lgamma", "digamma", "logdet"}
_ARGUMENTS = {"dim": "axis", "keepdim": "keepdims", "input": None, "other": None}


def call(function: Any, args: tuple, kwargs: dict) -> Any:
    """A function of PyTorch; an error names it where there is no NumPy function of this meaning."""
    name = getattr(function, "__name__", "").strip("_")
    ours = _found(name, getattr(function, "__module__", None) or "")
    if ours is None:
        raise unknown(function)
    given = {_ARGUMENTS.get(key, key): value for key, value in kwargs.items() if key not in ("input", "other")}
    args = (*args, *[kwargs[key] for key in ("input", "other") if key in kwargs])
    if name in ("sum", "mean", "var", "std", "amax", "amin", "prod") and len(args) > 1:
        given["axis"], args = args[1], args[:1]
    if name in ("var", "std"):
        given.setdefault("ddof", 1)  # PyTorch divides by n - 1 unless told otherwise
    if name in ("reshape", "permute") and len(args) > 2:
        args = (args[0], args[1:])
    if isinstance(ours, str):
        from ricci.surface import function as of_table

        return of_table(ours)(*args, **given)
    return _operand(args)._call(ours, args, given)


def _found(name: str, module: str) -> Callable | str | None:
    if name in _OURS and name in FUNCTIONS:
        return name
    place = np.linalg if "linalg" in module else np
    found = getattr(place, _NAMES.get(name, name), None)
    return found if found is not None and found in table() else None


def _operand(values: Any) -> Operand:
    """The operand that says what a call does: a traced array before an eager tensor."""
    flat = [x for v in values for x in (v if isinstance(v, (list, tuple)) else (v,)) if isinstance(x, Operand)]
    return next((x for x in flat if isinstance(x, Traced)), flat[0])
