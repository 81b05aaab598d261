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

from ricci.errors import (
    AxisError,
    AxisSizeError,
    AxisSpaceError,
    DTypeError,
    EinopsError,
    GradientMismatchError,
    InputError,
    InvariantError,
    MissingPackageError,
    NonFiniteError,
    NotationError,
    RicciError,
    RuleError,
    ShapeError,
    TraceError,
)
from ricci.functions.table import FUNCTIONS
from ricci.user.entry import parse, tensors, variable
from ricci.user.formula import Formula

if TYPE_CHECKING:
    from ricci.checks import check_grads, numerical_jacobian
    from ricci.compiler.compressed.result import Compressed
    from ricci.drawing import Drawing, TraceTable, draw, trace_table
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
    from ricci.scopes import axes, shapes, signature
    from ricci.tensor import Tensor, enable_grad, no_grad
    from ricci.tracing.trees import tree_map
    from ricci.transforms.api import (
        elementwise_grad,
        gauss_newton_vp,
        grad,
        hessian,
        hessian_diagonal,
        hvp,
        jacfwd,
        jacobian,
        jacrev,
        laplacian,
        taylor,
        value_and_grad,
    )
    from ricci.transforms.batching import vmap
    from ricci.transforms.explaining import explain, trace
    from ricci.transforms.linear import jvp, linearize, vjp
    from ricci.transforms.nans import debug_nans
    from ricci.transforms.recomputing import checkpoint
    from ricci.user.compiling import cache_clear, cache_info, compile
    from ricci.user.custom import custom
    from ricci.user.derivatives import diff, diff_all, elimination_cost, pullback, pushforward
    from ricci.user.equations import Equation
    from ricci.user.equivalence import Undecided

__version__ = "0.2.0"
__all__ = [
    "AxisError",
    "AxisSizeError",
    "AxisSpaceError",
    "Compressed",
    "DTypeError",
    "Drawing",
    "EinopsError",
    "Equation",
    "Formula",
    "GradientMismatchError",
    "InputError",
    "InvariantError",
    "MissingPackageError",
    "NonFiniteError",
    "NotationError",
    "RicciError",
    "RuleError",
    "ShapeError",
    "Tensor",
    "TraceError",
    "TraceTable",
    "Undecided",
    "axes",
    "cache_clear",
    "cache_info",
    "check_grads",
    "checkpoint",
    "compile",
    "custom",
    "debug_nans",
    "diff",
    "diff_all",
    "draw",
    "einsum",
    "elementwise_grad",
    "elimination_cost",
    "enable_grad",
    "explain",
    "gather",
    "gauss_newton_vp",
    "grad",
    "hessian",
    "hessian_diagonal",
    "hvp",
    "inverse",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "laplacian",
    "linearize",
    "no_grad",
    "numerical_jacobian",
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
    "taylor",
    "tensors",
    "trace",
    "trace_table",
    "tree_map",
    "unpack",
    "value_and_grad",
    "variable",
    "vjp",
    "vmap",
]


_LATER = {  # imported when first asked for
    "elementwise_grad": "ricci.transforms.api",
    "gauss_newton_vp": "ricci.transforms.api",
    "grad": "ricci.transforms.api",
    "hessian": "ricci.transforms.api",
    "hessian_diagonal": "ricci.transforms.api",
    "hvp": "ricci.transforms.api",
    "jacfwd": "ricci.transforms.api",
    "jacobian": "ricci.transforms.api",
    "jacrev": "ricci.transforms.api",
    "laplacian": "ricci.transforms.api",
    "taylor": "ricci.transforms.api",
    "value_and_grad": "ricci.transforms.api",
    "jvp": "ricci.transforms.linear",
    "linearize": "ricci.transforms.linear",
    "vjp": "ricci.transforms.linear",
    "vmap": "ricci.transforms.batching",
    "checkpoint": "ricci.transforms.recomputing",
    "explain": "ricci.transforms.explaining",
    "trace": "ricci.transforms.explaining",
    "debug_nans": "ricci.transforms.nans",
    "custom": "ricci.user.custom",
    "check_grads": "ricci.checks",
    "numerical_jacobian": "ricci.checks",
    "Drawing": "ricci.drawing",
    "TraceTable": "ricci.drawing",
    "draw": "ricci.drawing",
    "trace_table": "ricci.drawing",
    "Tensor": "ricci.tensor",
    "no_grad": "ricci.tensor",
    "enable_grad": "ricci.tensor",
    "tree_map": "ricci.tracing.trees",
    "Compressed": "ricci.compiler.compressed.result",
    "cache_clear": "ricci.user.compiling",
    "cache_info": "ricci.user.compiling",
    "compile": "ricci.user.compiling",
    "diff": "ricci.user.derivatives",
    "diff_all": "ricci.user.derivatives",
    "elimination_cost": "ricci.user.derivatives",
    "pullback": "ricci.user.derivatives",
    "pushforward": "ricci.user.derivatives",
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
    "Equation": "ricci.user.equations",
    "Undecided": "ricci.user.equivalence",
    "axes": "ricci.scopes",
    "shapes": "ricci.scopes",
    "signature": "ricci.scopes",
}


def __getattr__(name: str) -> Any:
    """What is imported later, and the functions of the table, made when first asked for."""
    if name in _LATER:
        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found
    if name == "numpy":
        return import_module("ricci.numpy")
    if name in FUNCTIONS:
        from ricci.user.functions import function

        made = globals()[name] = function(name)
        return made
    from ricci.errors import nearest

    raise AttributeError(f"ricci has no {name!r}. {nearest(name, [*FUNCTIONS, *__all__])}".rstrip())


def __dir__() -> list[str]:
    return sorted({*__all__, *FUNCTIONS, "__version__"})
