"""ricci: tensor calculus as it is written on paper.

>>> import ricci as rc
>>> y = rc.parse("y[i,j] = x[i,k] a[k,j] + 1[i] b[j]")
>>> print(y)
y[i,j] = x[i,k] a[k,j] + 1[i] b[j]
>>> y(x=[[1.0, 2.0]], a=[[3.0], [4.0]], b=[0.5])
array([[11.5]])

Every function of the notation is also a function here: ``rc.exp(z)``, ``rc.softmax(s, "k")``, ``rc.det(A)``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ricci.entry import parse, tensors, variable
from ricci.errors import (
    AxisError,
    AxisSizeError,
    AxisSpaceError,
    DTypeError,
    EinopsError,
    InputError,
    InvariantError,
    MissingPackageError,
    NotationError,
    RicciError,
    RuleError,
    ShapeError,
)
from ricci.formula import Formula
from ricci.functions.table import FUNCTIONS

if TYPE_CHECKING:
    from ricci.compiler.compressed import Compressed
    from ricci.compiling import cache_clear, cache_info, compile
    from ricci.derivatives import diff, diff_all, elimination_cost, pullback, pushforward
    from ricci.einops.wide import (
        einsum,
        gather,
        inverse,
        pack,
        parse_shape,
        rearrange,
        reduce,
        repeat,
        scatter,
        sizes,
        unpack,
    )
    from ricci.equations import Equation
    from ricci.scopes import axes, shapes, signature

__version__ = "0.1.0"
__all__ = [
    "AxisError",
    "AxisSizeError",
    "AxisSpaceError",
    "Compressed",
    "DTypeError",
    "EinopsError",
    "Equation",
    "Formula",
    "InputError",
    "InvariantError",
    "MissingPackageError",
    "NotationError",
    "RicciError",
    "RuleError",
    "ShapeError",
    "axes",
    "cache_clear",
    "cache_info",
    "compile",
    "diff",
    "diff_all",
    "einsum",
    "elimination_cost",
    "gather",
    "inverse",
    "pack",
    "parse",
    "parse_shape",
    "pullback",
    "pushforward",
    "rearrange",
    "reduce",
    "repeat",
    "scatter",
    "shapes",
    "signature",
    "sizes",
    "tensors",
    "unpack",
    "variable",
]


_LATER = {  # imported when first asked for
    "Compressed": "ricci.compiler.compressed",
    "cache_clear": "ricci.compiling",
    "cache_info": "ricci.compiling",
    "compile": "ricci.compiling",
    "diff": "ricci.derivatives",
    "diff_all": "ricci.derivatives",
    "elimination_cost": "ricci.derivatives",
    "pullback": "ricci.derivatives",
    "pushforward": "ricci.derivatives",
    "einsum": "ricci.einops.wide",
    "gather": "ricci.einops.wide",
    "inverse": "ricci.einops.wide",
    "pack": "ricci.einops.wide",
    "parse_shape": "ricci.einops.wide",
    "rearrange": "ricci.einops.wide",
    "reduce": "ricci.einops.wide",
    "repeat": "ricci.einops.wide",
    "scatter": "ricci.einops.wide",
    "sizes": "ricci.einops.wide",
    "unpack": "ricci.einops.wide",
    "Equation": "ricci.equations",
    "axes": "ricci.scopes",
    "shapes": "ricci.scopes",
    "signature": "ricci.scopes",
}


def __getattr__(name: str) -> Any:
    """What is imported later, and the functions of the table, made when first asked for."""
    if name in _LATER:
        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found
    if name in FUNCTIONS:
        from ricci.surface import function

        made = globals()[name] = function(name)
        return made
    from ricci.errors import nearest

    raise AttributeError(f"ricci has no {name!r}. {nearest(name, [*FUNCTIONS, *__all__])}".rstrip())


def __dir__() -> list[str]:
    return sorted({*__all__, *FUNCTIONS, "__version__"})
