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

import sys
from importlib import import_module
from typing import Any

__version__ = "0.7.0"
_LATER = {  # imported when first asked for; ``__init__.pyi``, made of this, says what they are
    "ricci.user.entry": ("matrix", "parse", "tensors", "variable"),
    "ricci.user.formula": ("Formula",),
    "ricci.transforms.api": (
        "elementwise_grad",
        "gauss_newton_vp",
        "grad",
        "hessian",
        "hessian_diagonal",
        "hvp",
        "jacfwd",
        "jacobian",
        "jacrev",
        "laplacian",
        "taylor",
        "value_and_grad",
    ),
    "ricci.transforms.linear": ("jvp", "linearize", "vjp"),
    "ricci.transforms.batching": ("vmap",),
    "ricci.transforms.implicit": ("fixed_point", "root"),
    "ricci.transforms.objectives": ("Problem", "problem"),
    "ricci.transforms.odes": ("odeint",),
    "ricci.transforms.recomputing": ("checkpoint",),
    "ricci.transforms.scanning": ("fori_loop", "scan"),
    "ricci.transforms.branching": ("cond", "switch"),
    "ricci.transforms.until": ("while_loop",),
    "ricci.transforms.prefixes": ("associative_scan",),
    "ricci.user.explaining": ("explain", "trace"),
    "ricci.transforms.nans": ("debug_nans",),
    "ricci.user.custom": ("custom",),
    "ricci.checks": ("check_grads", "numerical_jacobian"),
    "ricci.drawing": ("Drawing", "TraceTable", "draw", "trace_table"),
    "ricci.tensor": ("Tensor", "enable_grad", "no_grad"),
    "ricci.tracing.trees": ("tree_map",),
    "ricci.compiler.compressed.result": ("Compressed",),
    "ricci.caches": ("cache_clear", "cache_info"),
    "ricci.budget": ("limits",),
    "ricci.user.code_entry": ("code",),
    "ricci.user.compiled": ("compile",),
    "ricci.user.derivatives": ("diff", "diff_all", "elimination_cost", "pullback", "pushforward"),
    "ricci.einops.wide": (
        "einsum",
        "gather",
        "inverse",
        "pack",
        "parse_shape",
        "rearrange",
        "reduce",
        "repeat",
        "scatter",
        "sizes",
        "unpack",
    ),
    "ricci.user.equations": ("Equation",),
    "ricci.user.equivalence": ("Undecided",),
    "ricci.user.written_out": ("EquationSystem",),
    "ricci.review.reviewing": ("check",),
    "ricci.review.report": ("CheckReport",),
    "ricci.scopes": ("axes", "shapes", "signature"),
    "ricci.errors": (
        "AbsentError",
        "AxisError",
        "AxisSizeError",
        "AxisSpaceError",
        "ConvergenceError",
        "DTypeError",
        "EinopsError",
        "GradientMismatchError",
        "InputError",
        "InvariantError",
        "LimitError",
        "MatrixError",
        "MissingPackageError",
        "NonFiniteError",
        "NotationError",
        "ReadingWarning",
        "RicciError",
        "RuleError",
        "ShapeError",
        "TraceError",
    ),
}
_WHERE = {name: module for module, names in _LATER.items() for name in names}
__all__ = sorted(_WHERE)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """What is imported later, and the functions of the table, made when first asked for."""
    if name in _WHERE:
        found = globals()[name] = getattr(import_module(_WHERE[name]), name)
        return found
    if name == "numpy":
        return import_module("ricci.numpy")
    from ricci.errors import nearest
    from ricci.functions.table import FUNCTIONS

    if name in FUNCTIONS:
        from ricci.user.functions import function

        made = globals()[name] = function(name)
        return made
    raise AttributeError(f"ricci has no {name!r}. {nearest(name, [*FUNCTIONS, *__all__])}".rstrip())


def load_ipython_extension(shell: Any) -> None:
    """Lets IPython show tuples, lists and dictionaries of formulas; what ``%load_ext ricci`` calls."""
    from ricci.shells import register

    register(shell)


def __dir__() -> list[str]:
    from ricci.functions.table import FUNCTIONS

    return sorted({*__all__, *FUNCTIONS, "__version__"})


if "IPython" in sys.modules:  # in a notebook nobody should have to ask for it
    from ricci.shells import register_here

    register_here()
