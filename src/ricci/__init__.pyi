# Written by tests/annotations/stubs.py from the tables; run it when they change.

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from ricci import numpy as numpy
from ricci.user.entry import (
    matrix as matrix,
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
from ricci.transforms.implicit import (
    fixed_point as fixed_point,
    root as root,
)
from ricci.transforms.objectives import (
    Problem as Problem,
    problem as problem,
)
from ricci.transforms.odes import (
    odeint as odeint,
)
from ricci.transforms.recomputing import (
    checkpoint as checkpoint,
)
from ricci.transforms.scanning import (
    fori_loop as fori_loop,
    scan as scan,
)
from ricci.transforms.branching import (
    cond as cond,
    switch as switch,
)
from ricci.transforms.until import (
    while_loop as while_loop,
)
from ricci.transforms.prefixes import (
    associative_scan as associative_scan,
)
from ricci.user.explaining import (
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
from ricci.caches import (
    cache_clear as cache_clear,
    cache_info as cache_info,
)
from ricci.budget import (
    limits as limits,
)
from ricci.user.code_entry import (
    code as code,
)
from ricci.user.compiled import (
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
from ricci.user.written_out import (
    EquationSystem as EquationSystem,
)
from ricci.review.reviewing import (
    check as check,
)
from ricci.review.report import (
    CheckReport as CheckReport,
)
from ricci.scopes import (
    axes as axes,
    shapes as shapes,
    signature as signature,
)
from ricci.errors import (
    AbsentError as AbsentError,
    AxisError as AxisError,
    AxisSizeError as AxisSizeError,
    AxisSpaceError as AxisSpaceError,
    ConvergenceError as ConvergenceError,
    DTypeError as DTypeError,
    EinopsError as EinopsError,
    GradientMismatchError as GradientMismatchError,
    InputError as InputError,
    InvariantError as InvariantError,
    LimitError as LimitError,
    MatrixError as MatrixError,
    MissingPackageError as MissingPackageError,
    NonFiniteError as NonFiniteError,
    NotationError as NotationError,
    ReadingWarning as ReadingWarning,
    RicciError as RicciError,
    RuleError as RuleError,
    ShapeError as ShapeError,
    TraceError as TraceError,
)
from ricci.transforms.implicit import Implicit
from ricci.transforms.typed import AnyArray

_Own = TypeVar("_Own", bound=Formula | AnyArray)
_F = TypeVar("_F", bound=Formula)
_Axes = int | Sequence[int] | None
_List = list[Any] | tuple[Any, ...]
_Plain = np.ndarray | np.generic | _List

__version__: str
__all__ = [
    "AbsentError",
    "AxisError",
    "AxisSizeError",
    "AxisSpaceError",
    "CheckReport",
    "Compressed",
    "ConvergenceError",
    "DTypeError",
    "Drawing",
    "EinopsError",
    "Equation",
    "EquationSystem",
    "Formula",
    "GradientMismatchError",
    "InputError",
    "InvariantError",
    "LimitError",
    "MatrixError",
    "MissingPackageError",
    "NonFiniteError",
    "NotationError",
    "Problem",
    "ReadingWarning",
    "RicciError",
    "RuleError",
    "ShapeError",
    "Tensor",
    "TraceError",
    "TraceTable",
    "Undecided",
    "associative_scan",
    "axes",
    "cache_clear",
    "cache_info",
    "check",
    "check_grads",
    "checkpoint",
    "code",
    "compile",
    "cond",
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
    "fixed_point",
    "fori_loop",
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
    "limits",
    "linearize",
    "matrix",
    "no_grad",
    "numerical_jacobian",
    "odeint",
    "pack",
    "parse",
    "parse_shape",
    "problem",
    "pullback",
    "pushforward",
    "rearrange",
    "reduce",
    "repeat",
    "root",
    "scan",
    "scatter",
    "shapes",
    "signature",
    "sizes",
    "switch",
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
    "while_loop",
]

def load_ipython_extension(shell: Any) -> None: ...

@overload
def power(a: Tensor, b: Any, /) -> Tensor:
    """a ** b."""
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
def conj(z: np.ndarray, /) -> np.ndarray:
    """The complex conjugate."""
@overload
def conj(z: _Own, /) -> _Own: ...
@overload
def conj(z: float, /) -> Formula: ...
@overload
def conj(z: _List, /) -> Any: ...

@overload
def abs2(z: np.ndarray, /) -> np.ndarray:
    """The square of the size of z."""
@overload
def abs2(z: _Own, /) -> _Own: ...
@overload
def abs2(z: float, /) -> Formula: ...
@overload
def abs2(z: _List, /) -> Any: ...

@overload
def real(z: np.ndarray, /) -> np.ndarray:
    """The real part of z."""
@overload
def real(z: _Own, /) -> _Own: ...
@overload
def real(z: float, /) -> Formula: ...
@overload
def real(z: _List, /) -> Any: ...

@overload
def imag(z: np.ndarray, /) -> np.ndarray:
    """The imaginary part of z."""
@overload
def imag(z: _Own, /) -> _Own: ...
@overload
def imag(z: float, /) -> Formula: ...
@overload
def imag(z: _List, /) -> Any: ...

@overload
def angle(z: np.ndarray, /) -> np.ndarray:
    """The angle of z in the complex plane, from -pi to pi."""
@overload
def angle(z: _Own, /) -> _Own: ...
@overload
def angle(z: float, /) -> Formula: ...
@overload
def angle(z: _List, /) -> Any: ...

@overload
def abs(x: np.ndarray, /) -> np.ndarray:
    """The size of x; its derivative at 0 is 0."""
@overload
def abs(x: _Own, /) -> _Own: ...
@overload
def abs(x: float, /) -> Formula: ...
@overload
def abs(x: _List, /) -> Any: ...

@overload
def sign(x: np.ndarray, /) -> np.ndarray:
    """-1, 0 or 1."""
@overload
def sign(x: _Own, /) -> _Own: ...
@overload
def sign(x: float, /) -> Formula: ...
@overload
def sign(x: _List, /) -> Any: ...

@overload
def floor(x: np.ndarray, /) -> np.ndarray:
    """The largest whole number not above x."""
@overload
def floor(x: _Own, /) -> _Own: ...
@overload
def floor(x: float, /) -> Formula: ...
@overload
def floor(x: _List, /) -> Any: ...

@overload
def ceil(x: np.ndarray, /) -> np.ndarray:
    """The smallest whole number not below x."""
@overload
def ceil(x: _Own, /) -> _Own: ...
@overload
def ceil(x: float, /) -> Formula: ...
@overload
def ceil(x: _List, /) -> Any: ...

@overload
def round(x: np.ndarray, /) -> np.ndarray:
    """The nearest whole number; halves go to the even one."""
@overload
def round(x: _Own, /) -> _Own: ...
@overload
def round(x: float, /) -> Formula: ...
@overload
def round(x: _List, /) -> Any: ...

@overload
def mod(a: Tensor, b: Any, /) -> Tensor:
    """The remainder of a divided by b, with the sign of b."""
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
def stop_gradient(x: np.ndarray, /) -> np.ndarray:
    """x, taken as a constant by derivatives."""
@overload
def stop_gradient(x: _Own, /) -> _Own: ...
@overload
def stop_gradient(x: float, /) -> Formula: ...
@overload
def stop_gradient(x: _List, /) -> Any: ...

@overload
def barrier(x: np.ndarray, /) -> np.ndarray:
    """x itself; what is made of it is computed apart from what is made of x."""
@overload
def barrier(x: _Own, /) -> _Own: ...
@overload
def barrier(x: float, /) -> Formula: ...
@overload
def barrier(x: _List, /) -> Any: ...

@overload
def cbrt(x: np.ndarray, /) -> np.ndarray:
    """The cube root, also of negative numbers."""
@overload
def cbrt(x: _Own, /) -> _Own: ...
@overload
def cbrt(x: float, /) -> Formula: ...
@overload
def cbrt(x: _List, /) -> Any: ...

@overload
def exp(x: np.ndarray, /) -> np.ndarray:
    """The exponential function."""
@overload
def exp(x: _Own, /) -> _Own: ...
@overload
def exp(x: float, /) -> Formula: ...
@overload
def exp(x: _List, /) -> Any: ...

@overload
def exp2(x: np.ndarray, /) -> np.ndarray:
    """2**x."""
@overload
def exp2(x: _Own, /) -> _Own: ...
@overload
def exp2(x: float, /) -> Formula: ...
@overload
def exp2(x: _List, /) -> Any: ...

@overload
def expm1(x: np.ndarray, /) -> np.ndarray:
    """exp(x) - 1, exact for small x."""
@overload
def expm1(x: _Own, /) -> _Own: ...
@overload
def expm1(x: float, /) -> Formula: ...
@overload
def expm1(x: _List, /) -> Any: ...

@overload
def log(x: np.ndarray, /) -> np.ndarray:
    """The natural logarithm."""
@overload
def log(x: _Own, /) -> _Own: ...
@overload
def log(x: float, /) -> Formula: ...
@overload
def log(x: _List, /) -> Any: ...

@overload
def log2(x: np.ndarray, /) -> np.ndarray:
    """The logarithm to base 2."""
@overload
def log2(x: _Own, /) -> _Own: ...
@overload
def log2(x: float, /) -> Formula: ...
@overload
def log2(x: _List, /) -> Any: ...

@overload
def log10(x: np.ndarray, /) -> np.ndarray:
    """The logarithm to base 10."""
@overload
def log10(x: _Own, /) -> _Own: ...
@overload
def log10(x: float, /) -> Formula: ...
@overload
def log10(x: _List, /) -> Any: ...

@overload
def log1p(x: np.ndarray, /) -> np.ndarray:
    """log(1 + x), exact for small x."""
@overload
def log1p(x: _Own, /) -> _Own: ...
@overload
def log1p(x: float, /) -> Formula: ...
@overload
def log1p(x: _List, /) -> Any: ...

@overload
def sin(x: np.ndarray, /) -> np.ndarray:
    """The sine."""
@overload
def sin(x: _Own, /) -> _Own: ...
@overload
def sin(x: float, /) -> Formula: ...
@overload
def sin(x: _List, /) -> Any: ...

@overload
def cos(x: np.ndarray, /) -> np.ndarray:
    """The cosine."""
@overload
def cos(x: _Own, /) -> _Own: ...
@overload
def cos(x: float, /) -> Formula: ...
@overload
def cos(x: _List, /) -> Any: ...

@overload
def tan(x: np.ndarray, /) -> np.ndarray:
    """The tangent."""
@overload
def tan(x: _Own, /) -> _Own: ...
@overload
def tan(x: float, /) -> Formula: ...
@overload
def tan(x: _List, /) -> Any: ...

@overload
def asin(x: np.ndarray, /) -> np.ndarray:
    """The inverse of the sine."""
@overload
def asin(x: _Own, /) -> _Own: ...
@overload
def asin(x: float, /) -> Formula: ...
@overload
def asin(x: _List, /) -> Any: ...

@overload
def acos(x: np.ndarray, /) -> np.ndarray:
    """The inverse of the cosine."""
@overload
def acos(x: _Own, /) -> _Own: ...
@overload
def acos(x: float, /) -> Formula: ...
@overload
def acos(x: _List, /) -> Any: ...

@overload
def atan(x: np.ndarray, /) -> np.ndarray:
    """The inverse of the tangent."""
@overload
def atan(x: _Own, /) -> _Own: ...
@overload
def atan(x: float, /) -> Formula: ...
@overload
def atan(x: _List, /) -> Any: ...

@overload
def atan2(a: Tensor, b: Any, /) -> Tensor:
    """The angle of the point (b, a)."""
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
    """The hyperbolic sine."""
@overload
def sinh(x: _Own, /) -> _Own: ...
@overload
def sinh(x: float, /) -> Formula: ...
@overload
def sinh(x: _List, /) -> Any: ...

@overload
def cosh(x: np.ndarray, /) -> np.ndarray:
    """The hyperbolic cosine."""
@overload
def cosh(x: _Own, /) -> _Own: ...
@overload
def cosh(x: float, /) -> Formula: ...
@overload
def cosh(x: _List, /) -> Any: ...

@overload
def tanh(x: np.ndarray, /) -> np.ndarray:
    """The hyperbolic tangent."""
@overload
def tanh(x: _Own, /) -> _Own: ...
@overload
def tanh(x: float, /) -> Formula: ...
@overload
def tanh(x: _List, /) -> Any: ...

@overload
def asinh(x: np.ndarray, /) -> np.ndarray:
    """The inverse of the hyperbolic sine."""
@overload
def asinh(x: _Own, /) -> _Own: ...
@overload
def asinh(x: float, /) -> Formula: ...
@overload
def asinh(x: _List, /) -> Any: ...

@overload
def acosh(x: np.ndarray, /) -> np.ndarray:
    """The inverse of the hyperbolic cosine."""
@overload
def acosh(x: _Own, /) -> _Own: ...
@overload
def acosh(x: float, /) -> Formula: ...
@overload
def acosh(x: _List, /) -> Any: ...

@overload
def atanh(x: np.ndarray, /) -> np.ndarray:
    """The inverse of the hyperbolic tangent."""
@overload
def atanh(x: _Own, /) -> _Own: ...
@overload
def atanh(x: float, /) -> Formula: ...
@overload
def atanh(x: _List, /) -> Any: ...

@overload
def hypot(a: Tensor, b: Any, /) -> Tensor:
    """sqrt(a**2 + b**2) without overflow."""
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
def maximum(a: Tensor, b: Any, /) -> Tensor:
    """The larger of a and b."""
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
    """The smaller of a and b."""
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
def where(c: Any, a: Tensor, b: Any, /) -> Tensor:
    """a where c is not zero, otherwise b."""
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
    """1 where a < b, otherwise 0."""
@overload
def less(a: Any, b: Any, /) -> Any: ...

@overload
def less_equal(a: _F | float, b: _F | float, /) -> _F:
    """1 where a <= b, otherwise 0."""
@overload
def less_equal(a: Any, b: Any, /) -> Any: ...

@overload
def equal(a: _F | float, b: _F | float, /) -> _F:
    """1 where a == b, otherwise 0."""
@overload
def equal(a: Any, b: Any, /) -> Any: ...

@overload
def not_equal(a: _F | float, b: _F | float, /) -> _F:
    """1 where a != b, otherwise 0."""
@overload
def not_equal(a: Any, b: Any, /) -> Any: ...

@overload
def greater(a: _F | float, b: _F | float, /) -> _F:
    """1 where a > b, otherwise 0."""
@overload
def greater(a: Any, b: Any, /) -> Any: ...

@overload
def greater_equal(a: _F | float, b: _F | float, /) -> _F:
    """1 where a >= b, otherwise 0."""
@overload
def greater_equal(a: Any, b: Any, /) -> Any: ...

@overload
def clip(x: Tensor, low: Any, high: Any, /) -> Tensor:
    """x moved into the interval."""
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
def add(a: Tensor, b: Any, /) -> Tensor:
    """a + b."""
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
    """a - b."""
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
    """a * b, entry by entry."""
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
    """a / b."""
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
def neg(x: np.ndarray, /) -> np.ndarray:
    """-x."""
@overload
def neg(x: _Own, /) -> _Own: ...
@overload
def neg(x: float, /) -> Formula: ...
@overload
def neg(x: _List, /) -> Any: ...

@overload
def square(x: np.ndarray, /) -> np.ndarray:
    """x**2."""
@overload
def square(x: _Own, /) -> _Own: ...
@overload
def square(x: float, /) -> Formula: ...
@overload
def square(x: _List, /) -> Any: ...

@overload
def sqrt(x: np.ndarray, /) -> np.ndarray:
    """x**(1/2)."""
@overload
def sqrt(x: _Own, /) -> _Own: ...
@overload
def sqrt(x: float, /) -> Formula: ...
@overload
def sqrt(x: _List, /) -> Any: ...

@overload
def reciprocal(x: np.ndarray, /) -> np.ndarray:
    """1/x."""
@overload
def reciprocal(x: _Own, /) -> _Own: ...
@overload
def reciprocal(x: float, /) -> Formula: ...
@overload
def reciprocal(x: _List, /) -> Any: ...

@overload
def sigmoid(x: np.ndarray, /) -> np.ndarray:
    """1/(1 + exp(-x))."""
@overload
def sigmoid(x: _Own, /) -> _Own: ...
@overload
def sigmoid(x: float, /) -> Formula: ...
@overload
def sigmoid(x: _List, /) -> Any: ...

@overload
def softplus(x: np.ndarray, /) -> np.ndarray:
    """log(1 + exp(x))."""
@overload
def softplus(x: _Own, /) -> _Own: ...
@overload
def softplus(x: float, /) -> Formula: ...
@overload
def softplus(x: _List, /) -> Any: ...

@overload
def relu(x: np.ndarray, /) -> np.ndarray:
    """maximum(x, 0); its derivative at 0 is 0."""
@overload
def relu(x: _Own, /) -> _Own: ...
@overload
def relu(x: float, /) -> Formula: ...
@overload
def relu(x: _List, /) -> Any: ...

@overload
def leaky_relu(x: np.ndarray, /) -> np.ndarray:
    """x where x > 0, otherwise 0.01 x."""
@overload
def leaky_relu(x: _Own, /) -> _Own: ...
@overload
def leaky_relu(x: float, /) -> Formula: ...
@overload
def leaky_relu(x: _List, /) -> Any: ...

@overload
def elu(x: np.ndarray, /) -> np.ndarray:
    """x where x > 0, otherwise exp(x) - 1."""
@overload
def elu(x: _Own, /) -> _Own: ...
@overload
def elu(x: float, /) -> Formula: ...
@overload
def elu(x: _List, /) -> Any: ...

@overload
def gelu(x: np.ndarray, /) -> np.ndarray:
    """x times the normal distribution function at x."""
@overload
def gelu(x: _Own, /) -> _Own: ...
@overload
def gelu(x: float, /) -> Formula: ...
@overload
def gelu(x: _List, /) -> Any: ...

@overload
def silu(x: np.ndarray, /) -> np.ndarray:
    """x sigmoid(x)."""
@overload
def silu(x: _Own, /) -> _Own: ...
@overload
def silu(x: float, /) -> Formula: ...
@overload
def silu(x: _List, /) -> Any: ...

@overload
def logaddexp(a: Tensor, b: Any, /) -> Tensor:
    """log(exp(a) + exp(b)) without overflow."""
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
def erf(x: np.ndarray, /) -> np.ndarray:
    """The error function."""
@overload
def erf(x: _Own, /) -> _Own: ...
@overload
def erf(x: float, /) -> Formula: ...
@overload
def erf(x: _List, /) -> Any: ...

@overload
def erfc(x: np.ndarray, /) -> np.ndarray:
    """1 - erf(x), exact for large x."""
@overload
def erfc(x: _Own, /) -> _Own: ...
@overload
def erfc(x: float, /) -> Formula: ...
@overload
def erfc(x: _List, /) -> Any: ...

@overload
def erfinv(x: np.ndarray, /) -> np.ndarray:
    """The inverse of the error function."""
@overload
def erfinv(x: _Own, /) -> _Own: ...
@overload
def erfinv(x: float, /) -> Formula: ...
@overload
def erfinv(x: _List, /) -> Any: ...

@overload
def ndtri(x: np.ndarray, /) -> np.ndarray:
    """The inverse of the normal distribution function."""
@overload
def ndtri(x: _Own, /) -> _Own: ...
@overload
def ndtri(x: float, /) -> Formula: ...
@overload
def ndtri(x: _List, /) -> Any: ...

@overload
def log_ndtr(x: np.ndarray, /) -> np.ndarray:
    """The logarithm of the normal distribution function, exact for large -x."""
@overload
def log_ndtr(x: _Own, /) -> _Own: ...
@overload
def log_ndtr(x: float, /) -> Formula: ...
@overload
def log_ndtr(x: _List, /) -> Any: ...

@overload
def lgamma(x: np.ndarray, /) -> np.ndarray:
    """The logarithm of the size of the gamma function."""
@overload
def lgamma(x: _Own, /) -> _Own: ...
@overload
def lgamma(x: float, /) -> Formula: ...
@overload
def lgamma(x: _List, /) -> Any: ...

@overload
def digamma(x: np.ndarray, /) -> np.ndarray:
    """The derivative of lgamma."""
@overload
def digamma(x: _Own, /) -> _Own: ...
@overload
def digamma(x: float, /) -> Formula: ...
@overload
def digamma(x: _List, /) -> Any: ...

@overload
def polygamma(n: Tensor, x: Any, /) -> Tensor:
    """The derivative of order n of digamma."""
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
def det(A: Formula, /, *axes: str) -> Formula:
    """The determinant."""
@overload
def det(A: Tensor, /, *axes: int) -> Tensor: ...
@overload
def det(A: np.ndarray, /, *axes: int) -> Any: ...
@overload
def det(A: _Own, /, *axes: int) -> _Own: ...
@overload
def det(A: _List, /, *axes: int) -> Any: ...

@overload
def logdet(A: Formula, /, *axes: str) -> Formula:
    """The logarithm of the size of the determinant."""
@overload
def logdet(A: Tensor, /, *axes: int) -> Tensor: ...
@overload
def logdet(A: np.ndarray, /, *axes: int) -> Any: ...
@overload
def logdet(A: _Own, /, *axes: int) -> _Own: ...
@overload
def logdet(A: _List, /, *axes: int) -> Any: ...

@overload
def slogdet_sign(A: Formula, /, *axes: str) -> Formula:
    """The sign of the determinant."""
@overload
def slogdet_sign(A: Tensor, /, *axes: int) -> Tensor: ...
@overload
def slogdet_sign(A: np.ndarray, /, *axes: int) -> Any: ...
@overload
def slogdet_sign(A: _Own, /, *axes: int) -> _Own: ...
@overload
def slogdet_sign(A: _List, /, *axes: int) -> Any: ...

@overload
def inv(A: Formula, /, *axes: str) -> Formula:
    """The inverse."""
@overload
def inv(A: Tensor, /, *axes: int) -> Tensor: ...
@overload
def inv(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def inv(A: _Own, /, *axes: int) -> _Own: ...
@overload
def inv(A: _List, /, *axes: int) -> Any: ...

@overload
def cholesky(A: Formula, /, *axes: str) -> Formula:
    """The lower Cholesky factor of the symmetric part."""
@overload
def cholesky(A: Tensor, /, *axes: int) -> Tensor: ...
@overload
def cholesky(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def cholesky(A: _Own, /, *axes: int) -> _Own: ...
@overload
def cholesky(A: _List, /, *axes: int) -> Any: ...

@overload
def expm(A: Formula, /, *axes: str) -> Formula:
    """The matrix exponential."""
@overload
def expm(A: Tensor, /, *axes: int) -> Tensor: ...
@overload
def expm(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def expm(A: _Own, /, *axes: int) -> _Own: ...
@overload
def expm(A: _List, /, *axes: int) -> Any: ...

@overload
def eigvalsh(A: Formula, /, *axes: str) -> Formula:
    """The eigenvalues of the symmetric part, ascending."""
@overload
def eigvalsh(A: Tensor, /, *axes: int) -> Tensor: ...
@overload
def eigvalsh(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def eigvalsh(A: _Own, /, *axes: int) -> _Own: ...
@overload
def eigvalsh(A: _List, /, *axes: int) -> Any: ...

@overload
def eigh_vectors(A: Formula, /, *axes: str) -> Formula:
    """The eigenvectors of the symmetric part, in columns."""
@overload
def eigh_vectors(A: Tensor, /, *axes: int) -> Tensor: ...
@overload
def eigh_vectors(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def eigh_vectors(A: _Own, /, *axes: int) -> _Own: ...
@overload
def eigh_vectors(A: _List, /, *axes: int) -> Any: ...

@overload
def eigvals(A: Formula, /, *axes: str) -> Formula:
    """The eigenvalues, complex numbers in the order of LAPACK."""
@overload
def eigvals(A: Tensor, /, *axes: int) -> Tensor: ...
@overload
def eigvals(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def eigvals(A: _Own, /, *axes: int) -> _Own: ...
@overload
def eigvals(A: _List, /, *axes: int) -> Any: ...

@overload
def solve(A: Formula, b: Formula, /, *axes: str) -> Formula:
    """The x with A x = b."""
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

@overload
def tr(A: Formula, /, *axes: str) -> Formula:
    """The trace."""
@overload
def tr(A: Tensor, /, *axes: int) -> Tensor: ...
@overload
def tr(A: np.ndarray, /, *axes: int) -> Any: ...
@overload
def tr(A: _Own, /, *axes: int) -> _Own: ...
@overload
def tr(A: _List, /, *axes: int) -> Any: ...

@overload
def svdvals(A: Formula, /, *axes: str) -> Formula:
    """The singular values, descending."""
@overload
def svdvals(A: Tensor, /, *axes: int) -> Tensor: ...
@overload
def svdvals(A: np.ndarray, /, *axes: int) -> np.ndarray: ...
@overload
def svdvals(A: _Own, /, *axes: int) -> _Own: ...
@overload
def svdvals(A: _List, /, *axes: int) -> Any: ...

@overload
def fft(x: Formula, /, *axes: str) -> Formula:
    """The discrete Fourier transform."""
@overload
def fft(x: Tensor, /, *axes: int, axis: _Axes = None) -> Tensor: ...
@overload
def fft(x: np.ndarray, /, *axes: int, axis: _Axes = None) -> np.ndarray: ...
@overload
def fft(x: _Own, /, *axes: int, axis: _Axes = None) -> _Own: ...
@overload
def fft(x: _List, /, *axes: int, axis: _Axes = None) -> Any: ...
@overload
def fft(x: float, /) -> Formula: ...

@overload
def ifft(x: Formula, /, *axes: str) -> Formula:
    """The inverse of the discrete Fourier transform."""
@overload
def ifft(x: Tensor, /, *axes: int, axis: _Axes = None) -> Tensor: ...
@overload
def ifft(x: np.ndarray, /, *axes: int, axis: _Axes = None) -> np.ndarray: ...
@overload
def ifft(x: _Own, /, *axes: int, axis: _Axes = None) -> _Own: ...
@overload
def ifft(x: _List, /, *axes: int, axis: _Axes = None) -> Any: ...
@overload
def ifft(x: float, /) -> Formula: ...

@overload
def prod(x: Formula, /, *axes: str) -> Formula:
    """The product."""
@overload
def prod(x: Tensor, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Tensor: ...
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
    """The largest entry; entries that tie share the derivative."""
@overload
def max(x: Tensor, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Tensor: ...
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
    """The smallest entry; entries that tie share the derivative."""
@overload
def min(x: Tensor, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Tensor: ...
@overload
def min(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def min(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def min(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def min(x: float, /) -> Formula: ...

@overload
def argmax(x: Formula | float, /, *axes: str) -> Formula:
    """The place of the largest entry."""
@overload
def argmax(x: AnyArray | _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> np.ndarray | Any: ...

@overload
def argmin(x: Formula | float, /, *axes: str) -> Formula:
    """The place of the smallest entry."""
@overload
def argmin(x: AnyArray | _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> np.ndarray | Any: ...
@overload
def argmin(f: Callable[..., Any], x0: Any, *, solver: Callable[..., Any] | None = None, tol: float | None = None, max_steps: int = 200) -> Implicit: ...

@overload
def any(x: Formula | float, /, *axes: str) -> Formula:
    """1 where some entry is not zero, otherwise 0."""
@overload
def any(x: AnyArray | _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> np.ndarray | Any: ...

@overload
def all(x: Formula | float, /, *axes: str) -> Formula:
    """1 where no entry is zero, otherwise 0."""
@overload
def all(x: AnyArray | _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> np.ndarray | Any: ...

@overload
def logsumexp(x: Formula, /, *axes: str) -> Formula:
    """log(sum(exp(x))) without overflow."""
@overload
def logsumexp(x: Tensor, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Tensor: ...
@overload
def logsumexp(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def logsumexp(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def logsumexp(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def logsumexp(x: float, /) -> Formula: ...

@overload
def softmax(x: Formula, /, *axes: str) -> Formula:
    """exp(x) / sum(exp(x)) without overflow."""
@overload
def softmax(x: Tensor, /, *axes: int, axis: _Axes = None) -> Tensor: ...
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
    """x - logsumexp(x)."""
@overload
def log_softmax(x: Tensor, /, *axes: int, axis: _Axes = None) -> Tensor: ...
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
    """1/n at the n largest entries, otherwise 0."""
@overload
def hardmax(x: Tensor, /, *axes: int, axis: _Axes = None) -> Tensor: ...
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
    """1/n at the n smallest entries, otherwise 0."""
@overload
def hardmin(x: Tensor, /, *axes: int, axis: _Axes = None) -> Tensor: ...
@overload
def hardmin(x: np.ndarray, /, *axes: int, axis: _Axes = None) -> np.ndarray: ...
@overload
def hardmin(x: _Own, /, *axes: int, axis: _Axes = None) -> _Own: ...
@overload
def hardmin(x: _List, /, *axes: int, axis: _Axes = None) -> Any: ...
@overload
def hardmin(x: float, /) -> Formula: ...

@overload
def cumprod(x: Formula, /, *axes: str) -> Formula:
    """The products of the entries so far."""
@overload
def cumprod(x: Tensor, /, *axes: int, axis: _Axes = None) -> Tensor: ...
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
    """The entries in ascending order."""
@overload
def sort(x: Tensor, /, *axes: int, axis: _Axes = None) -> Tensor: ...
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
    """The places of the entries in ascending order."""
@overload
def argsort(x: AnyArray | _List, /, *axes: int, axis: _Axes = None) -> np.ndarray | Any: ...

@overload
def sum(x: Formula, /, *axes: str) -> Formula:
    """The sum."""
@overload
def sum(x: Tensor, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Tensor: ...
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
    """The mean."""
@overload
def mean(x: Tensor, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Tensor: ...
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
    """The mean squared distance from the mean."""
@overload
def var(x: Tensor, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Tensor: ...
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
    """The square root of var."""
@overload
def std(x: Tensor, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Tensor: ...
@overload
def std(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def std(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def std(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def std(x: float, /) -> Formula: ...

@overload
def norm(x: Formula, /, *axes: str) -> Formula:
    """The square root of the sum of squares."""
@overload
def norm(x: Tensor, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Tensor: ...
@overload
def norm(x: np.ndarray, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def norm(x: _Own, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> _Own: ...
@overload
def norm(x: _List, /, *axes: int, axis: _Axes = None, keepdims: bool = False) -> Any: ...
@overload
def norm(x: float, /) -> Formula: ...

@overload
def cumsum(x: Formula, /, *axes: str) -> Formula:
    """The sums of the entries so far."""
@overload
def cumsum(x: Tensor, /, *axes: int, axis: _Axes = None) -> Tensor: ...
@overload
def cumsum(x: np.ndarray, /, *axes: int, axis: _Axes = None) -> np.ndarray: ...
@overload
def cumsum(x: _Own, /, *axes: int, axis: _Axes = None) -> _Own: ...
@overload
def cumsum(x: _List, /, *axes: int, axis: _Axes = None) -> Any: ...
@overload
def cumsum(x: float, /) -> Formula: ...
