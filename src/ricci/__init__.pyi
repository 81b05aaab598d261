# Written by tests/annotations/stubs.py from the tables; run it when they change.

from collections.abc import Sequence
from typing import Any, TypeVar, overload

import numpy as np

from ricci import numpy as numpy
from ricci.user.entry import (
    parse as parse,
    tensors as tensors,
    variable as variable,
)
from ricci.user.formula import (
    Formula as Formula,
)
from ricci.transforms.api import (
    elementwise_grad as elementwise_grad,
    gauss_newton_vp as gauss_newton_vp,
    grad as grad,
    hessian as hessian,
    hessian_diagonal as hessian_diagonal,
    hvp as hvp,
    jacfwd as jacfwd,
    jacobian as jacobian,
    jacrev as jacrev,
    laplacian as laplacian,
    taylor as taylor,
    value_and_grad as value_and_grad,
)
from ricci.transforms.linear import (
    jvp as jvp,
    linearize as linearize,
    vjp as vjp,
)
from ricci.transforms.batching import (
    vmap as vmap,
)
from ricci.transforms.recomputing import (
    checkpoint as checkpoint,
)
from ricci.transforms.explaining import (
    explain as explain,
    trace as trace,
)
from ricci.transforms.nans import (
    debug_nans as debug_nans,
)
from ricci.user.custom import (
    custom as custom,
)
from ricci.checks import (
    check_grads as check_grads,
    numerical_jacobian as numerical_jacobian,
)
from ricci.drawing import (
    Drawing as Drawing,
    TraceTable as TraceTable,
    draw as draw,
    trace_table as trace_table,
)
from ricci.tensor import (
    Tensor as Tensor,
    enable_grad as enable_grad,
    no_grad as no_grad,
)
from ricci.tracing.trees import (
    tree_map as tree_map,
)
from ricci.compiler.compressed.result import (
    Compressed as Compressed,
)
from ricci.user.compiling import (
    cache_clear as cache_clear,
    cache_info as cache_info,
    compile as compile,
)
from ricci.user.derivatives import (
    diff as diff,
    diff_all as diff_all,
    elimination_cost as elimination_cost,
    pullback as pullback,
    pushforward as pushforward,
)
from ricci.einops.wide import (
    einsum as einsum,
    gather as gather,
    inverse as inverse,
    pack as pack,
    parse_shape as parse_shape,
    rearrange as rearrange,
    reduce as reduce,
    repeat as repeat,
    scatter as scatter,
    sizes as sizes,
    unpack as unpack,
)
from ricci.user.equations import (
    Equation as Equation,
)
from ricci.user.equivalence import (
    Undecided as Undecided,
)
from ricci.scopes import (
    axes as axes,
    shapes as shapes,
    signature as signature,
)
from ricci.errors import (
    AxisError as AxisError,
    AxisSizeError as AxisSizeError,
    AxisSpaceError as AxisSpaceError,
    DTypeError as DTypeError,
    EinopsError as EinopsError,
    GradientMismatchError as GradientMismatchError,
    InputError as InputError,
    InvariantError as InvariantError,
    MissingPackageError as MissingPackageError,
    NonFiniteError as NonFiniteError,
    NotationError as NotationError,
    RicciError as RicciError,
    RuleError as RuleError,
    ShapeError as ShapeError,
    TraceError as TraceError,
)
from ricci.transforms.typed import AnyArray

_Own = TypeVar("_Own", bound=Formula | AnyArray)
_F = TypeVar("_F", bound=Formula)
_Axes = int | Sequence[int] | None
_List = list[Any] | tuple[Any, ...]
_Plain = np.ndarray | np.generic | _List

__version__: str
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

@overload
def abs(x: np.ndarray, /) -> np.ndarray:
    """rc.abs(x): the size of x; its derivative at 0 is 0.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.abs(x) == rc.parse("abs(x[i])")
    True
    """
@overload
def abs(x: _Own, /) -> _Own: ...
@overload
def abs(x: float, /) -> Formula: ...
@overload
def abs(x: _List, /) -> Any: ...

@overload
def sign(x: np.ndarray, /) -> np.ndarray:
    """rc.sign(x): -1, 0 or 1.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.sign(x) == rc.parse("sign(x[i])")
    True
    """
@overload
def sign(x: _Own, /) -> _Own: ...
@overload
def sign(x: float, /) -> Formula: ...
@overload
def sign(x: _List, /) -> Any: ...

@overload
def floor(x: np.ndarray, /) -> np.ndarray:
    """rc.floor(x): the largest whole number not above x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.floor(x) == rc.parse("floor(x[i])")
    True
    """
@overload
def floor(x: _Own, /) -> _Own: ...
@overload
def floor(x: float, /) -> Formula: ...
@overload
def floor(x: _List, /) -> Any: ...

@overload
def ceil(x: np.ndarray, /) -> np.ndarray:
    """rc.ceil(x): the smallest whole number not below x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.ceil(x) == rc.parse("ceil(x[i])")
    True
    """
@overload
def ceil(x: _Own, /) -> _Own: ...
@overload
def ceil(x: float, /) -> Formula: ...
@overload
def ceil(x: _List, /) -> Any: ...

@overload
def round(x: np.ndarray, /) -> np.ndarray:
    """rc.round(x): the nearest whole number; halves go to the even one.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.round(x) == rc.parse("round(x[i])")
    True
    """
@overload
def round(x: _Own, /) -> _Own: ...
@overload
def round(x: float, /) -> Formula: ...
@overload
def round(x: _List, /) -> Any: ...

@overload
def mod(a: Tensor, b: Any, /) -> Tensor:
    """rc.mod(a, b): the remainder of a divided by b, with the sign of b.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.mod(a, b) == rc.parse("mod(a[i], b[i])")
    True
    """
@overload
def mod(a: Any, b: Tensor, /) -> Tensor: ...
@overload
def mod(a: Formula, b: Any, /) -> Formula: ...
@overload
def mod(a: Any, b: Formula, /) -> Formula: ...
@overload
def mod(a: float, b: float, /) -> Formula: ...
@overload
def mod(a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def mod(a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def mod(a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def neg(x: np.ndarray, /) -> np.ndarray:
    """rc.neg(x): -x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.neg(x) == rc.parse("neg(x[i])")
    True
    """
@overload
def neg(x: _Own, /) -> _Own: ...
@overload
def neg(x: float, /) -> Formula: ...
@overload
def neg(x: _List, /) -> Any: ...

@overload
def square(x: np.ndarray, /) -> np.ndarray:
    """rc.square(x): x**2.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.square(x) == rc.parse("square(x[i])")
    True
    """
@overload
def square(x: _Own, /) -> _Own: ...
@overload
def square(x: float, /) -> Formula: ...
@overload
def square(x: _List, /) -> Any: ...

@overload
def sqrt(x: np.ndarray, /) -> np.ndarray:
    """rc.sqrt(x): x**(1/2).

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.sqrt(x) == rc.parse("sqrt(x[i])")
    True
    """
@overload
def sqrt(x: _Own, /) -> _Own: ...
@overload
def sqrt(x: float, /) -> Formula: ...
@overload
def sqrt(x: _List, /) -> Any: ...

@overload
def cbrt(x: np.ndarray, /) -> np.ndarray:
    """rc.cbrt(x): the cube root, also of negative numbers.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.cbrt(x) == rc.parse("cbrt(x[i])")
    True
    """
@overload
def cbrt(x: _Own, /) -> _Own: ...
@overload
def cbrt(x: float, /) -> Formula: ...
@overload
def cbrt(x: _List, /) -> Any: ...

@overload
def reciprocal(x: np.ndarray, /) -> np.ndarray:
    """rc.reciprocal(x): 1/x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.reciprocal(x) == rc.parse("reciprocal(x[i])")
    True
    """
@overload
def reciprocal(x: _Own, /) -> _Own: ...
@overload
def reciprocal(x: float, /) -> Formula: ...
@overload
def reciprocal(x: _List, /) -> Any: ...

@overload
def exp(x: np.ndarray, /) -> np.ndarray:
    """rc.exp(x): the exponential function.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.exp(x) == rc.parse("exp(x[i])")
    True
    """
@overload
def exp(x: _Own, /) -> _Own: ...
@overload
def exp(x: float, /) -> Formula: ...
@overload
def exp(x: _List, /) -> Any: ...

@overload
def exp2(x: np.ndarray, /) -> np.ndarray:
    """rc.exp2(x): 2**x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.exp2(x) == rc.parse("exp2(x[i])")
    True
    """
@overload
def exp2(x: _Own, /) -> _Own: ...
@overload
def exp2(x: float, /) -> Formula: ...
@overload
def exp2(x: _List, /) -> Any: ...

@overload
def expm1(x: np.ndarray, /) -> np.ndarray:
    """rc.expm1(x): exp(x) - 1, exact for small x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.expm1(x) == rc.parse("expm1(x[i])")
    True
    """
@overload
def expm1(x: _Own, /) -> _Own: ...
@overload
def expm1(x: float, /) -> Formula: ...
@overload
def expm1(x: _List, /) -> Any: ...

@overload
def log(x: np.ndarray, /) -> np.ndarray:
    """rc.log(x): the natural logarithm.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.log(x) == rc.parse("log(x[i])")
    True
    """
@overload
def log(x: _Own, /) -> _Own: ...
@overload
def log(x: float, /) -> Formula: ...
@overload
def log(x: _List, /) -> Any: ...

@overload
def log2(x: np.ndarray, /) -> np.ndarray:
    """rc.log2(x): the logarithm to base 2.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.log2(x) == rc.parse("log2(x[i])")
    True
    """
@overload
def log2(x: _Own, /) -> _Own: ...
@overload
def log2(x: float, /) -> Formula: ...
@overload
def log2(x: _List, /) -> Any: ...

@overload
def log10(x: np.ndarray, /) -> np.ndarray:
    """rc.log10(x): the logarithm to base 10.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.log10(x) == rc.parse("log10(x[i])")
    True
    """
@overload
def log10(x: _Own, /) -> _Own: ...
@overload
def log10(x: float, /) -> Formula: ...
@overload
def log10(x: _List, /) -> Any: ...

@overload
def log1p(x: np.ndarray, /) -> np.ndarray:
    """rc.log1p(x): log(1 + x), exact for small x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.log1p(x) == rc.parse("log1p(x[i])")
    True
    """
@overload
def log1p(x: _Own, /) -> _Own: ...
@overload
def log1p(x: float, /) -> Formula: ...
@overload
def log1p(x: _List, /) -> Any: ...

@overload
def sin(x: np.ndarray, /) -> np.ndarray:
    """rc.sin(x): the sine.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.sin(x) == rc.parse("sin(x[i])")
    True
    """
@overload
def sin(x: _Own, /) -> _Own: ...
@overload
def sin(x: float, /) -> Formula: ...
@overload
def sin(x: _List, /) -> Any: ...

@overload
def cos(x: np.ndarray, /) -> np.ndarray:
    """rc.cos(x): the cosine.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.cos(x) == rc.parse("cos(x[i])")
    True
    """
@overload
def cos(x: _Own, /) -> _Own: ...
@overload
def cos(x: float, /) -> Formula: ...
@overload
def cos(x: _List, /) -> Any: ...

@overload
def tan(x: np.ndarray, /) -> np.ndarray:
    """rc.tan(x): the tangent.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.tan(x) == rc.parse("tan(x[i])")
    True
    """
@overload
def tan(x: _Own, /) -> _Own: ...
@overload
def tan(x: float, /) -> Formula: ...
@overload
def tan(x: _List, /) -> Any: ...

@overload
def asin(x: np.ndarray, /) -> np.ndarray:
    """rc.asin(x): the inverse of the sine.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.asin(x) == rc.parse("asin(x[i])")
    True
    """
@overload
def asin(x: _Own, /) -> _Own: ...
@overload
def asin(x: float, /) -> Formula: ...
@overload
def asin(x: _List, /) -> Any: ...

@overload
def acos(x: np.ndarray, /) -> np.ndarray:
    """rc.acos(x): the inverse of the cosine.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.acos(x) == rc.parse("acos(x[i])")
    True
    """
@overload
def acos(x: _Own, /) -> _Own: ...
@overload
def acos(x: float, /) -> Formula: ...
@overload
def acos(x: _List, /) -> Any: ...

@overload
def atan(x: np.ndarray, /) -> np.ndarray:
    """rc.atan(x): the inverse of the tangent.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.atan(x) == rc.parse("atan(x[i])")
    True
    """
@overload
def atan(x: _Own, /) -> _Own: ...
@overload
def atan(x: float, /) -> Formula: ...
@overload
def atan(x: _List, /) -> Any: ...

@overload
def atan2(a: Tensor, b: Any, /) -> Tensor:
    """rc.atan2(a, b): the angle of the point (b, a).

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.atan2(a, b) == rc.parse("atan2(a[i], b[i])")
    True
    """
@overload
def atan2(a: Any, b: Tensor, /) -> Tensor: ...
@overload
def atan2(a: Formula, b: Any, /) -> Formula: ...
@overload
def atan2(a: Any, b: Formula, /) -> Formula: ...
@overload
def atan2(a: float, b: float, /) -> Formula: ...
@overload
def atan2(a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def atan2(a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def atan2(a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def sinh(x: np.ndarray, /) -> np.ndarray:
    """rc.sinh(x): the hyperbolic sine.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.sinh(x) == rc.parse("sinh(x[i])")
    True
    """
@overload
def sinh(x: _Own, /) -> _Own: ...
@overload
def sinh(x: float, /) -> Formula: ...
@overload
def sinh(x: _List, /) -> Any: ...

@overload
def cosh(x: np.ndarray, /) -> np.ndarray:
    """rc.cosh(x): the hyperbolic cosine.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.cosh(x) == rc.parse("cosh(x[i])")
    True
    """
@overload
def cosh(x: _Own, /) -> _Own: ...
@overload
def cosh(x: float, /) -> Formula: ...
@overload
def cosh(x: _List, /) -> Any: ...

@overload
def tanh(x: np.ndarray, /) -> np.ndarray:
    """rc.tanh(x): the hyperbolic tangent.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.tanh(x) == rc.parse("tanh(x[i])")
    True
    """
@overload
def tanh(x: _Own, /) -> _Own: ...
@overload
def tanh(x: float, /) -> Formula: ...
@overload
def tanh(x: _List, /) -> Any: ...

@overload
def asinh(x: np.ndarray, /) -> np.ndarray:
    """rc.asinh(x): the inverse of the hyperbolic sine.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.asinh(x) == rc.parse("asinh(x[i])")
    True
    """
@overload
def asinh(x: _Own, /) -> _Own: ...
@overload
def asinh(x: float, /) -> Formula: ...
@overload
def asinh(x: _List, /) -> Any: ...

@overload
def acosh(x: np.ndarray, /) -> np.ndarray:
    """rc.acosh(x): the inverse of the hyperbolic cosine.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.acosh(x) == rc.parse("acosh(x[i])")
    True
    """
@overload
def acosh(x: _Own, /) -> _Own: ...
@overload
def acosh(x: float, /) -> Formula: ...
@overload
def acosh(x: _List, /) -> Any: ...

@overload
def atanh(x: np.ndarray, /) -> np.ndarray:
    """rc.atanh(x): the inverse of the hyperbolic tangent.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.atanh(x) == rc.parse("atanh(x[i])")
    True
    """
@overload
def atanh(x: _Own, /) -> _Own: ...
@overload
def atanh(x: float, /) -> Formula: ...
@overload
def atanh(x: _List, /) -> Any: ...

@overload
def hypot(a: Tensor, b: Any, /) -> Tensor:
    """rc.hypot(a, b): sqrt(a**2 + b**2) without overflow.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.hypot(a, b) == rc.parse("hypot(a[i], b[i])")
    True
    """
@overload
def hypot(a: Any, b: Tensor, /) -> Tensor: ...
@overload
def hypot(a: Formula, b: Any, /) -> Formula: ...
@overload
def hypot(a: Any, b: Formula, /) -> Formula: ...
@overload
def hypot(a: float, b: float, /) -> Formula: ...
@overload
def hypot(a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def hypot(a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def hypot(a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def sigmoid(x: np.ndarray, /) -> np.ndarray:
    """rc.sigmoid(x): 1/(1 + exp(-x)).

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.sigmoid(x) == rc.parse("sigmoid(x[i])")
    True
    """
@overload
def sigmoid(x: _Own, /) -> _Own: ...
@overload
def sigmoid(x: float, /) -> Formula: ...
@overload
def sigmoid(x: _List, /) -> Any: ...

@overload
def softplus(x: np.ndarray, /) -> np.ndarray:
    """rc.softplus(x): log(1 + exp(x)).

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.softplus(x) == rc.parse("softplus(x[i])")
    True
    """
@overload
def softplus(x: _Own, /) -> _Own: ...
@overload
def softplus(x: float, /) -> Formula: ...
@overload
def softplus(x: _List, /) -> Any: ...

@overload
def relu(x: np.ndarray, /) -> np.ndarray:
    """rc.relu(x): maximum(x, 0); its derivative at 0 is 0.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.relu(x) == rc.parse("relu(x[i])")
    True
    """
@overload
def relu(x: _Own, /) -> _Own: ...
@overload
def relu(x: float, /) -> Formula: ...
@overload
def relu(x: _List, /) -> Any: ...

@overload
def leaky_relu(x: np.ndarray, /) -> np.ndarray:
    """rc.leaky_relu(x): x where x > 0, otherwise 0.01 x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.leaky_relu(x) == rc.parse("leaky_relu(x[i])")
    True
    """
@overload
def leaky_relu(x: _Own, /) -> _Own: ...
@overload
def leaky_relu(x: float, /) -> Formula: ...
@overload
def leaky_relu(x: _List, /) -> Any: ...

@overload
def elu(x: np.ndarray, /) -> np.ndarray:
    """rc.elu(x): x where x > 0, otherwise exp(x) - 1.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.elu(x) == rc.parse("elu(x[i])")
    True
    """
@overload
def elu(x: _Own, /) -> _Own: ...
@overload
def elu(x: float, /) -> Formula: ...
@overload
def elu(x: _List, /) -> Any: ...

@overload
def gelu(x: np.ndarray, /) -> np.ndarray:
    """rc.gelu(x): x times the normal distribution function at x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.gelu(x) == rc.parse("gelu(x[i])")
    True
    """
@overload
def gelu(x: _Own, /) -> _Own: ...
@overload
def gelu(x: float, /) -> Formula: ...
@overload
def gelu(x: _List, /) -> Any: ...

@overload
def silu(x: np.ndarray, /) -> np.ndarray:
    """rc.silu(x): x sigmoid(x).

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.silu(x) == rc.parse("silu(x[i])")
    True
    """
@overload
def silu(x: _Own, /) -> _Own: ...
@overload
def silu(x: float, /) -> Formula: ...
@overload
def silu(x: _List, /) -> Any: ...

@overload
def erf(x: np.ndarray, /) -> np.ndarray:
    """rc.erf(x): the error function.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.erf(x) == rc.parse("erf(x[i])")
    True
    """
@overload
def erf(x: _Own, /) -> _Own: ...
@overload
def erf(x: float, /) -> Formula: ...
@overload
def erf(x: _List, /) -> Any: ...

@overload
def erfc(x: np.ndarray, /) -> np.ndarray:
    """rc.erfc(x): 1 - erf(x), exact for large x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.erfc(x) == rc.parse("erfc(x[i])")
    True
    """
@overload
def erfc(x: _Own, /) -> _Own: ...
@overload
def erfc(x: float, /) -> Formula: ...
@overload
def erfc(x: _List, /) -> Any: ...

@overload
def erfinv(x: np.ndarray, /) -> np.ndarray:
    """rc.erfinv(x): the inverse of the error function.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.erfinv(x) == rc.parse("erfinv(x[i])")
    True
    """
@overload
def erfinv(x: _Own, /) -> _Own: ...
@overload
def erfinv(x: float, /) -> Formula: ...
@overload
def erfinv(x: _List, /) -> Any: ...

@overload
def ndtri(x: np.ndarray, /) -> np.ndarray:
    """rc.ndtri(x): the inverse of the normal distribution function.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.ndtri(x) == rc.parse("ndtri(x[i])")
    True
    """
@overload
def ndtri(x: _Own, /) -> _Own: ...
@overload
def ndtri(x: float, /) -> Formula: ...
@overload
def ndtri(x: _List, /) -> Any: ...

@overload
def log_ndtr(x: np.ndarray, /) -> np.ndarray:
    """rc.log_ndtr(x): the logarithm of the normal distribution function, exact for large -x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.log_ndtr(x) == rc.parse("log_ndtr(x[i])")
    True
    """
@overload
def log_ndtr(x: _Own, /) -> _Own: ...
@overload
def log_ndtr(x: float, /) -> Formula: ...
@overload
def log_ndtr(x: _List, /) -> Any: ...

@overload
def lgamma(x: np.ndarray, /) -> np.ndarray:
    """rc.lgamma(x): the logarithm of the size of the gamma function.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.lgamma(x) == rc.parse("lgamma(x[i])")
    True
    """
@overload
def lgamma(x: _Own, /) -> _Own: ...
@overload
def lgamma(x: float, /) -> Formula: ...
@overload
def lgamma(x: _List, /) -> Any: ...

@overload
def digamma(x: np.ndarray, /) -> np.ndarray:
    """rc.digamma(x): the derivative of lgamma.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.digamma(x) == rc.parse("digamma(x[i])")
    True
    """
@overload
def digamma(x: _Own, /) -> _Own: ...
@overload
def digamma(x: float, /) -> Formula: ...
@overload
def digamma(x: _List, /) -> Any: ...

@overload
def polygamma(n: Tensor, x: Any, /) -> Tensor:
    """rc.polygamma(n, x): the derivative of order n of digamma.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> n, x = rc.tensors("n[i] x[i]")
    >>> rc.polygamma(n, x) == rc.parse("polygamma(n[i], x[i])")
    True
    """
@overload
def polygamma(n: Any, x: Tensor, /) -> Tensor: ...
@overload
def polygamma(n: Formula, x: Any, /) -> Formula: ...
@overload
def polygamma(n: Any, x: Formula, /) -> Formula: ...
@overload
def polygamma(n: float, x: float, /) -> Formula: ...
@overload
def polygamma(n: np.ndarray | float, x: np.ndarray | float, /) -> np.ndarray: ...
@overload
def polygamma(n: _Own | float, x: _Own | float, /) -> _Own: ...
@overload
def polygamma(n: _Plain | float, x: _Plain | float, /) -> Any: ...

@overload
def add(a: Tensor, b: Any, /) -> Tensor:
    """rc.add(a, b): a + b.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.add(a, b) == rc.parse("add(a[i], b[i])")
    True
    """
@overload
def add(a: Any, b: Tensor, /) -> Tensor: ...
@overload
def add(a: Formula, b: Any, /) -> Formula: ...
@overload
def add(a: Any, b: Formula, /) -> Formula: ...
@overload
def add(a: float, b: float, /) -> Formula: ...
@overload
def add(a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def add(a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def add(a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def subtract(a: Tensor, b: Any, /) -> Tensor:
    """rc.subtract(a, b): a - b.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.subtract(a, b) == rc.parse("subtract(a[i], b[i])")
    True
    """
@overload
def subtract(a: Any, b: Tensor, /) -> Tensor: ...
@overload
def subtract(a: Formula, b: Any, /) -> Formula: ...
@overload
def subtract(a: Any, b: Formula, /) -> Formula: ...
@overload
def subtract(a: float, b: float, /) -> Formula: ...
@overload
def subtract(a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def subtract(a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def subtract(a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def multiply(a: Tensor, b: Any, /) -> Tensor:
    """rc.multiply(a, b): a * b, entry by entry.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.multiply(a, b) == rc.parse("multiply(a[i], b[i])")
    True
    """
@overload
def multiply(a: Any, b: Tensor, /) -> Tensor: ...
@overload
def multiply(a: Formula, b: Any, /) -> Formula: ...
@overload
def multiply(a: Any, b: Formula, /) -> Formula: ...
@overload
def multiply(a: float, b: float, /) -> Formula: ...
@overload
def multiply(a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def multiply(a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def multiply(a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def divide(a: Tensor, b: Any, /) -> Tensor:
    """rc.divide(a, b): a / b.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.divide(a, b) == rc.parse("divide(a[i], b[i])")
    True
    """
@overload
def divide(a: Any, b: Tensor, /) -> Tensor: ...
@overload
def divide(a: Formula, b: Any, /) -> Formula: ...
@overload
def divide(a: Any, b: Formula, /) -> Formula: ...
@overload
def divide(a: float, b: float, /) -> Formula: ...
@overload
def divide(a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def divide(a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def divide(a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def power(a: Tensor, b: Any, /) -> Tensor:
    """rc.power(a, b): a ** b.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.power(a, b) == rc.parse("power(a[i], b[i])")
    True
    """
@overload
def power(a: Any, b: Tensor, /) -> Tensor: ...
@overload
def power(a: Formula, b: Any, /) -> Formula: ...
@overload
def power(a: Any, b: Formula, /) -> Formula: ...
@overload
def power(a: float, b: float, /) -> Formula: ...
@overload
def power(a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def power(a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def power(a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def maximum(a: Tensor, b: Any, /) -> Tensor:
    """rc.maximum(a, b): the larger of a and b.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.maximum(a, b) == rc.parse("maximum(a[i], b[i])")
    True
    """
@overload
def maximum(a: Any, b: Tensor, /) -> Tensor: ...
@overload
def maximum(a: Formula, b: Any, /) -> Formula: ...
@overload
def maximum(a: Any, b: Formula, /) -> Formula: ...
@overload
def maximum(a: float, b: float, /) -> Formula: ...
@overload
def maximum(a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def maximum(a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def maximum(a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def minimum(a: Tensor, b: Any, /) -> Tensor:
    """rc.minimum(a, b): the smaller of a and b.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.minimum(a, b) == rc.parse("minimum(a[i], b[i])")
    True
    """
@overload
def minimum(a: Any, b: Tensor, /) -> Tensor: ...
@overload
def minimum(a: Formula, b: Any, /) -> Formula: ...
@overload
def minimum(a: Any, b: Formula, /) -> Formula: ...
@overload
def minimum(a: float, b: float, /) -> Formula: ...
@overload
def minimum(a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def minimum(a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def minimum(a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def clip(x: Tensor, low: Any, high: Any, /) -> Tensor:
    """rc.clip(x, low, high): x moved into the interval.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, low, high = rc.tensors("x[i] low[i] high[i]")
    >>> rc.clip(x, low, high) == rc.parse("clip(x[i], low[i], high[i])")
    True
    """
@overload
def clip(x: Any, low: Tensor, high: Any, /) -> Tensor: ...
@overload
def clip(x: Any, low: Any, high: Tensor, /) -> Tensor: ...
@overload
def clip(x: Formula, low: Any, high: Any, /) -> Formula: ...
@overload
def clip(x: Any, low: Formula, high: Any, /) -> Formula: ...
@overload
def clip(x: Any, low: Any, high: Formula, /) -> Formula: ...
@overload
def clip(x: float, low: float, high: float, /) -> Formula: ...
@overload
def clip(x: np.ndarray | float, low: np.ndarray | float, high: np.ndarray | float, /) -> np.ndarray: ...
@overload
def clip(x: _Own | float, low: _Own | float, high: _Own | float, /) -> _Own: ...
@overload
def clip(x: _Plain | float, low: _Plain | float, high: _Plain | float, /) -> Any: ...

@overload
def logaddexp(a: Tensor, b: Any, /) -> Tensor:
    """rc.logaddexp(a, b): log(exp(a) + exp(b)) without overflow.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.logaddexp(a, b) == rc.parse("logaddexp(a[i], b[i])")
    True
    """
@overload
def logaddexp(a: Any, b: Tensor, /) -> Tensor: ...
@overload
def logaddexp(a: Formula, b: Any, /) -> Formula: ...
@overload
def logaddexp(a: Any, b: Formula, /) -> Formula: ...
@overload
def logaddexp(a: float, b: float, /) -> Formula: ...
@overload
def logaddexp(a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def logaddexp(a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def logaddexp(a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def where(c: Any, a: Tensor, b: Any, /) -> Tensor:
    """rc.where(c, a, b): a where c is not zero, otherwise b.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> c, a, b = rc.tensors("c[i] a[i] b[i]")
    >>> rc.where(c, a, b) == rc.parse("where(c[i], a[i], b[i])")
    True
    """
@overload
def where(c: Any, a: Any, b: Tensor, /) -> Tensor: ...
@overload
def where(c: Any, a: Formula, b: Any, /) -> Formula: ...
@overload
def where(c: Any, a: Any, b: Formula, /) -> Formula: ...
@overload
def where(c: Any, a: float, b: float, /) -> Any: ...
@overload
def where(c: Any, a: np.ndarray | float, b: np.ndarray | float, /) -> np.ndarray: ...
@overload
def where(c: Any, a: _Own | float, b: _Own | float, /) -> _Own: ...
@overload
def where(c: Any, a: _Plain | float, b: _Plain | float, /) -> Any: ...

@overload
def less(a: _F | float, b: _F | float, /) -> _F:
    """rc.less(a, b): 1 where a < b, otherwise 0.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.less(a, b) == rc.parse("less(a[i], b[i])")
    True
    """
@overload
def less(a: Any, b: Any, /) -> Any: ...

@overload
def less_equal(a: _F | float, b: _F | float, /) -> _F:
    """rc.less_equal(a, b): 1 where a <= b, otherwise 0.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.less_equal(a, b) == rc.parse("less_equal(a[i], b[i])")
    True
    """
@overload
def less_equal(a: Any, b: Any, /) -> Any: ...

@overload
def greater(a: _F | float, b: _F | float, /) -> _F:
    """rc.greater(a, b): 1 where a > b, otherwise 0.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.greater(a, b) == rc.parse("greater(a[i], b[i])")
    True
    """
@overload
def greater(a: Any, b: Any, /) -> Any: ...

@overload
def greater_equal(a: _F | float, b: _F | float, /) -> _F:
    """rc.greater_equal(a, b): 1 where a >= b, otherwise 0.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.greater_equal(a, b) == rc.parse("greater_equal(a[i], b[i])")
    True
    """
@overload
def greater_equal(a: Any, b: Any, /) -> Any: ...

@overload
def equal(a: _F | float, b: _F | float, /) -> _F:
    """rc.equal(a, b): 1 where a == b, otherwise 0.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.equal(a, b) == rc.parse("equal(a[i], b[i])")
    True
    """
@overload
def equal(a: Any, b: Any, /) -> Any: ...

@overload
def not_equal(a: _F | float, b: _F | float, /) -> _F:
    """rc.not_equal(a, b): 1 where a != b, otherwise 0.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> a, b = rc.tensors("a[i] b[i]")
    >>> rc.not_equal(a, b) == rc.parse("not_equal(a[i], b[i])")
    True
    """
@overload
def not_equal(a: Any, b: Any, /) -> Any: ...

@overload
def stop_gradient(x: np.ndarray, /) -> np.ndarray:
    """rc.stop_gradient(x): x, taken as a constant by derivatives.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.stop_gradient(x) == rc.parse("stop_gradient(x[i])")
    True
    """
@overload
def stop_gradient(x: _Own, /) -> _Own: ...
@overload
def stop_gradient(x: float, /) -> Formula: ...
@overload
def stop_gradient(x: _List, /) -> Any: ...

@overload
def barrier(x: np.ndarray, /) -> np.ndarray:
    """rc.barrier(x): x itself; what is made of it is computed apart from what is made of x.

    Entry by entry, of formulas, arrays and tensors. Formulas are aligned by the names of their indices;
    arrays broadcast.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i]")
    >>> rc.barrier(x) == rc.parse("barrier(x[i])")
    True
    """
@overload
def barrier(x: _Own, /) -> _Own: ...
@overload
def barrier(x: float, /) -> Formula: ...
@overload
def barrier(x: _List, /) -> Any: ...

@overload
def sum(x: Formula, /, *axes: str) -> Formula:
    """rc.sum(x): the sum.

    Over the axes that are named, rc.sum(x, "k"), or all of them; arrays and tensors have them by
    number, rc.sum(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.sum(x, "k") == rc.parse("sum[k](x[i,k])")
    True
    """
@overload
def sum(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def sum(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def sum(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def sum(x: float, /) -> Formula: ...

@overload
def mean(x: Formula, /, *axes: str) -> Formula:
    """rc.mean(x): the mean.

    Over the axes that are named, rc.mean(x, "k"), or all of them; arrays and tensors have them by
    number, rc.mean(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.mean(x, "k") == rc.parse("mean[k](x[i,k])")
    True
    """
@overload
def mean(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def mean(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def mean(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def mean(x: float, /) -> Formula: ...

@overload
def var(x: Formula, /, *axes: str) -> Formula:
    """rc.var(x): the mean squared distance from the mean.

    Over the axes that are named, rc.var(x, "k"), or all of them; arrays and tensors have them by
    number, rc.var(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.var(x, "k") == rc.parse("var[k](x[i,k])")
    True
    """
@overload
def var(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def var(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def var(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def var(x: float, /) -> Formula: ...

@overload
def std(x: Formula, /, *axes: str) -> Formula:
    """rc.std(x): the square root of var.

    Over the axes that are named, rc.std(x, "k"), or all of them; arrays and tensors have them by
    number, rc.std(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.std(x, "k") == rc.parse("std[k](x[i,k])")
    True
    """
@overload
def std(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def std(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def std(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def std(x: float, /) -> Formula: ...

@overload
def prod(x: Formula, /, *axes: str) -> Formula:
    """rc.prod(x): the product.

    Over the axes that are named, rc.prod(x, "k"), or all of them; arrays and tensors have them by
    number, rc.prod(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.prod(x, "k") == rc.parse("prod[k](x[i,k])")
    True
    """
@overload
def prod(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def prod(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def prod(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def prod(x: float, /) -> Formula: ...

@overload
def max(x: Formula, /, *axes: str) -> Formula:
    """rc.max(x): the largest entry; entries that tie share the derivative.

    Over the axes that are named, rc.max(x, "k"), or all of them; arrays and tensors have them by
    number, rc.max(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.max(x, "k") == rc.parse("max[k](x[i,k])")
    True
    """
@overload
def max(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def max(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def max(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def max(x: float, /) -> Formula: ...

@overload
def min(x: Formula, /, *axes: str) -> Formula:
    """rc.min(x): the smallest entry; entries that tie share the derivative.

    Over the axes that are named, rc.min(x, "k"), or all of them; arrays and tensors have them by
    number, rc.min(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.min(x, "k") == rc.parse("min[k](x[i,k])")
    True
    """
@overload
def min(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def min(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def min(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def min(x: float, /) -> Formula: ...

@overload
def norm(x: Formula, /, *axes: str) -> Formula:
    """rc.norm(x): the square root of the sum of squares.

    Over the axes that are named, rc.norm(x, "k"), or all of them; arrays and tensors have them by
    number, rc.norm(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.norm(x, "k") == rc.parse("norm[k](x[i,k])")
    True
    """
@overload
def norm(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def norm(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def norm(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def norm(x: float, /) -> Formula: ...

@overload
def logsumexp(x: Formula, /, *axes: str) -> Formula:
    """rc.logsumexp(x): log(sum(exp(x))) without overflow.

    Over the axes that are named, rc.logsumexp(x, "k"), or all of them; arrays and tensors have them by
    number, rc.logsumexp(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.logsumexp(x, "k") == rc.parse("logsumexp[k](x[i,k])")
    True
    """
@overload
def logsumexp(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def logsumexp(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def logsumexp(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def logsumexp(x: float, /) -> Formula: ...

@overload
def argmax(x: Formula | float, /, *axes: str) -> Formula:
    """rc.argmax(x): the place of the largest entry.

    Over the axes that are named, rc.argmax(x, "k"), or all of them; arrays and tensors have them by
    number, rc.argmax(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.argmax(x, "k") == rc.parse("argmax[k](x[i,k])")
    True
    """
@overload
def argmax(x: AnyArray | _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...

@overload
def argmin(x: Formula | float, /, *axes: str) -> Formula:
    """rc.argmin(x): the place of the smallest entry.

    Over the axes that are named, rc.argmin(x, "k"), or all of them; arrays and tensors have them by
    number, rc.argmin(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.argmin(x, "k") == rc.parse("argmin[k](x[i,k])")
    True
    """
@overload
def argmin(x: AnyArray | _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...

@overload
def any(x: Formula | float, /, *axes: str) -> Formula:
    """rc.any(x): 1 where some entry is not zero, otherwise 0.

    Over the axes that are named, rc.any(x, "k"), or all of them; arrays and tensors have them by
    number, rc.any(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.any(x, "k") == rc.parse("any[k](x[i,k])")
    True
    """
@overload
def any(x: AnyArray | _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...

@overload
def all(x: Formula | float, /, *axes: str) -> Formula:
    """rc.all(x): 1 where no entry is zero, otherwise 0.

    Over the axes that are named, rc.all(x, "k"), or all of them; arrays and tensors have them by
    number, rc.all(x, axis=-1).

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.all(x, "k") == rc.parse("all[k](x[i,k])")
    True
    """
@overload
def all(x: AnyArray | _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...

@overload
def softmax(x: Formula, /, *axes: str) -> Formula:
    """rc.softmax(x): exp(x) / sum(exp(x)) without overflow.

    Over the axes that are named, rc.softmax(x, "k"), or all of them; arrays and tensors have them by
    number, rc.softmax(x, axis=-1). The result has the axes of x.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.softmax(x, "k") == rc.parse("softmax[k](x[i,k])")
    True
    """
@overload
def softmax(x: np.ndarray, /, *axes: int, axis: _Axes = None) -> np.ndarray: ...
@overload
def softmax(x: _Own, /, *axes: int, axis: _Axes = None) -> _Own: ...
@overload
def softmax(x: _List, /, *axes: int, axis: _Axes = None) -> Any: ...
@overload
def softmax(x: float, /) -> Formula: ...

@overload
def log_softmax(x: Formula, /, *axes: str) -> Formula:
    """rc.log_softmax(x): x - logsumexp(x).

    Over the axes that are named, rc.log_softmax(x, "k"), or all of them; arrays and tensors have them by
    number, rc.log_softmax(x, axis=-1). The result has the axes of x.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.log_softmax(x, "k") == rc.parse("log_softmax[k](x[i,k])")
    True
    """
@overload
def log_softmax(x: np.ndarray, /, *axes: int, axis: _Axes = None) -> np.ndarray: ...
@overload
def log_softmax(x: _Own, /, *axes: int, axis: _Axes = None) -> _Own: ...
@overload
def log_softmax(x: _List, /, *axes: int, axis: _Axes = None) -> Any: ...
@overload
def log_softmax(x: float, /) -> Formula: ...

@overload
def hardmax(x: Formula, /, *axes: str) -> Formula:
    """rc.hardmax(x): 1/n at the n largest entries, otherwise 0.

    Over the axes that are named, rc.hardmax(x, "k"), or all of them; arrays and tensors have them by
    number, rc.hardmax(x, axis=-1). The result has the axes of x.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.hardmax(x, "k") == rc.parse("hardmax[k](x[i,k])")
    True
    """
@overload
def hardmax(x: np.ndarray, /, *axes: int, axis: _Axes = None) -> np.ndarray: ...
@overload
def hardmax(x: _Own, /, *axes: int, axis: _Axes = None) -> _Own: ...
@overload
def hardmax(x: _List, /, *axes: int, axis: _Axes = None) -> Any: ...
@overload
def hardmax(x: float, /) -> Formula: ...

@overload
def hardmin(x: Formula, /, *axes: str) -> Formula:
    """rc.hardmin(x): 1/n at the n smallest entries, otherwise 0.

    Over the axes that are named, rc.hardmin(x, "k"), or all of them; arrays and tensors have them by
    number, rc.hardmin(x, axis=-1). The result has the axes of x.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.hardmin(x, "k") == rc.parse("hardmin[k](x[i,k])")
    True
    """
@overload
def hardmin(x: np.ndarray, /, *axes: int, axis: _Axes = None) -> np.ndarray: ...
@overload
def hardmin(x: _Own, /, *axes: int, axis: _Axes = None) -> _Own: ...
@overload
def hardmin(x: _List, /, *axes: int, axis: _Axes = None) -> Any: ...
@overload
def hardmin(x: float, /) -> Formula: ...

@overload
def cumsum(x: Formula, /, *axes: str) -> Formula:
    """rc.cumsum(x): the sums of the entries so far.

    Over the axes that are named, rc.cumsum(x, "k"), or all of them; arrays and tensors have them by
    number, rc.cumsum(x, axis=-1). The result has the axes of x.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.cumsum(x, "k") == rc.parse("cumsum[k](x[i,k])")
    True
    """
@overload
def cumsum(x: np.ndarray, /, *axes: int, axis: _Axes = None) -> np.ndarray: ...
@overload
def cumsum(x: _Own, /, *axes: int, axis: _Axes = None) -> _Own: ...
@overload
def cumsum(x: _List, /, *axes: int, axis: _Axes = None) -> Any: ...
@overload
def cumsum(x: float, /) -> Formula: ...

@overload
def cumprod(x: Formula, /, *axes: str) -> Formula:
    """rc.cumprod(x): the products of the entries so far.

    Over the axes that are named, rc.cumprod(x, "k"), or all of them; arrays and tensors have them by
    number, rc.cumprod(x, axis=-1). The result has the axes of x.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.cumprod(x, "k") == rc.parse("cumprod[k](x[i,k])")
    True
    """
@overload
def cumprod(x: np.ndarray, /, *axes: int, axis: _Axes = None) -> np.ndarray: ...
@overload
def cumprod(x: _Own, /, *axes: int, axis: _Axes = None) -> _Own: ...
@overload
def cumprod(x: _List, /, *axes: int, axis: _Axes = None) -> Any: ...
@overload
def cumprod(x: float, /) -> Formula: ...

@overload
def sort(x: Formula, /, *axes: str) -> Formula:
    """rc.sort(x): the entries in ascending order.

    Over the axes that are named, rc.sort(x, "k"), or all of them; arrays and tensors have them by
    number, rc.sort(x, axis=-1). The result has the axes of x.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.sort(x, "k") == rc.parse("sort[k](x[i,k])")
    True
    """
@overload
def sort(x: np.ndarray, /, *axes: int, axis: _Axes = None) -> np.ndarray: ...
@overload
def sort(x: _Own, /, *axes: int, axis: _Axes = None) -> _Own: ...
@overload
def sort(x: _List, /, *axes: int, axis: _Axes = None) -> Any: ...
@overload
def sort(x: float, /) -> Formula: ...

@overload
def argsort(x: Formula | float, /, *axes: str) -> Formula:
    """rc.argsort(x): the places of the entries in ascending order.

    Over the axes that are named, rc.argsort(x, "k"), or all of them; arrays and tensors have them by
    number, rc.argsort(x, axis=-1). The result has the axes of x.

    >>> import ricci as rc
    >>> x, = rc.tensors("x[i,k]")
    >>> rc.argsort(x, "k") == rc.parse("argsort[k](x[i,k])")
    True
    """
@overload
def argsort(x: AnyArray | _List, /, *axes: int, axis: _Axes = None) -> Any: ...

@overload
def det(A: Formula, /, *axes: str) -> Formula:
    """rc.det(A): the determinant.

    Of the matrices in the last two axes, or in the two that are named.

    >>> import ricci as rc
    >>> A, = rc.tensors("A[i,j]")
    >>> rc.det(A) == rc.parse("det[i,j](A[i,j])")
    True
    """
@overload
def det(A: np.ndarray, /, *axes: int) -> Any: ...
@overload
def det(A: _Own, /, *axes: int) -> _Own: ...
@overload
def det(A: _List, /, *axes: int) -> Any: ...

@overload
def logdet(A: Formula, /, *axes: str) -> Formula:
    """rc.logdet(A): the logarithm of the size of the determinant.

    Of the matrices in the last two axes, or in the two that are named.

    >>> import ricci as rc
    >>> A, = rc.tensors("A[i,j]")
    >>> rc.logdet(A) == rc.parse("logdet[i,j](A[i,j])")
    True
    """
@overload
def logdet(A: np.ndarray, /, *axes: int) -> Any: ...
@overload
def logdet(A: _Own, /, *axes: int) -> _Own: ...
@overload
def logdet(A: _List, /, *axes: int) -> Any: ...

@overload
def slogdet_sign(A: Formula, /, *axes: str) -> Formula:
    """rc.slogdet_sign(A): the sign of the determinant.

    Of the matrices in the last two axes, or in the two that are named.

    >>> import ricci as rc
    >>> A, = rc.tensors("A[i,j]")
    >>> rc.slogdet_sign(A) == rc.parse("slogdet_sign[i,j](A[i,j])")
    True
    """
@overload
def slogdet_sign(A: np.ndarray, /, *axes: int) -> Any: ...
@overload
def slogdet_sign(A: _Own, /, *axes: int) -> _Own: ...
@overload
def slogdet_sign(A: _List, /, *axes: int) -> Any: ...

@overload
def tr(A: Formula, /, *axes: str) -> Formula:
    """rc.tr(A): the trace.

    Of the matrices in the last two axes, or in the two that are named.

    >>> import ricci as rc
    >>> A, = rc.tensors("A[i,j]")
    >>> rc.tr(A) == rc.parse("tr[i,j](A[i,j])")
    True
    """
@overload
def tr(A: np.ndarray, /, *axes: int) -> Any: ...
@overload
def tr(A: _Own, /, *axes: int) -> _Own: ...
@overload
def tr(A: _List, /, *axes: int) -> Any: ...

@overload
def inv(A: Formula, /, *axes: str) -> Formula:
    """rc.inv(A): the inverse.

    Of the matrices in the last two axes, or in the two that are named.

    >>> import ricci as rc
    >>> A, = rc.tensors("A[i,j]")
    >>> rc.inv(A) == rc.parse("inv[i,j](A[i,j])")
    True
    """
@overload
def inv(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def inv(A: _Own, /, *axes: int) -> _Own: ...
@overload
def inv(A: _List, /, *axes: int) -> Any: ...

@overload
def cholesky(A: Formula, /, *axes: str) -> Formula:
    """rc.cholesky(A): the lower Cholesky factor of the symmetric part.

    Of the matrices in the last two axes, or in the two that are named.

    >>> import ricci as rc
    >>> A, = rc.tensors("A[i,j]")
    >>> rc.cholesky(A) == rc.parse("cholesky[i,j](A[i,j])")
    True
    """
@overload
def cholesky(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def cholesky(A: _Own, /, *axes: int) -> _Own: ...
@overload
def cholesky(A: _List, /, *axes: int) -> Any: ...

@overload
def expm(A: Formula, /, *axes: str) -> Formula:
    """rc.expm(A): the matrix exponential.

    Of the matrices in the last two axes, or in the two that are named.

    >>> import ricci as rc
    >>> A, = rc.tensors("A[i,j]")
    >>> rc.expm(A) == rc.parse("expm[i,j](A[i,j])")
    True
    """
@overload
def expm(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def expm(A: _Own, /, *axes: int) -> _Own: ...
@overload
def expm(A: _List, /, *axes: int) -> Any: ...

@overload
def eigvalsh(A: Formula, /, *axes: str) -> Formula:
    """rc.eigvalsh(A): the eigenvalues of the symmetric part, ascending.

    Of the matrices in the last two axes, or in the two that are named.

    >>> import ricci as rc
    >>> A, = rc.tensors("A[i,j]")
    >>> rc.eigvalsh(A) == rc.parse("eigvalsh[i,j](A[i,j])")
    True
    """
@overload
def eigvalsh(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def eigvalsh(A: _Own, /, *axes: int) -> _Own: ...
@overload
def eigvalsh(A: _List, /, *axes: int) -> Any: ...

@overload
def eigh_vectors(A: Formula, /, *axes: str) -> Formula:
    """rc.eigh_vectors(A): the eigenvectors of the symmetric part, in columns.

    Of the matrices in the last two axes, or in the two that are named.

    >>> import ricci as rc
    >>> A, = rc.tensors("A[i,j]")
    >>> rc.eigh_vectors(A) == rc.parse("eigh_vectors[i,j](A[i,j])")
    True
    """
@overload
def eigh_vectors(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def eigh_vectors(A: _Own, /, *axes: int) -> _Own: ...
@overload
def eigh_vectors(A: _List, /, *axes: int) -> Any: ...

@overload
def svdvals(A: Formula, /, *axes: str) -> Formula:
    """rc.svdvals(A): the singular values, descending.

    Of the matrices in the last two axes, or in the two that are named.

    >>> import ricci as rc
    >>> A, = rc.tensors("A[i,j]")
    >>> rc.svdvals(A) == rc.parse("svdvals[i,j](A[i,j])")
    True
    """
@overload
def svdvals(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def svdvals(A: _Own, /, *axes: int) -> _Own: ...
@overload
def svdvals(A: _List, /, *axes: int) -> Any: ...

@overload
def solve(A: Formula, b: Formula, /, *axes: str) -> Formula:
    """rc.solve(A, b): the x with A x = b.

    Of the matrices in the last two axes, or in the two that are named.

    >>> import ricci as rc
    >>> A, b = rc.tensors("A[i,j] b[i]")
    >>> rc.solve(A, b) == rc.parse("solve[i,j](A[i,j], b[i])")
    True
    """
@overload
def solve(A: Tensor, b: Any, /) -> Tensor: ...
@overload
def solve(A: Any, b: Tensor, /) -> Tensor: ...
@overload
def solve(A: np.ndarray, b: np.ndarray, /) -> np.ndarray: ...
@overload
def solve(A: _Own, b: _Own, /) -> _Own: ...
@overload
def solve(A: _Plain, b: _Plain, /) -> Any: ...
