# Written by tests/annotations/stubs.py from the tables; run it when they change.

from collections.abc import Callable
from typing import Any, Self

import numpy as np

OPERATORS: dict[str, np.ufunc]
IN_PLACE: dict[Any, np.ufunc]

def method_of(function: Any, name: str) -> Callable[..., Any]: ...

class ArrayMethods:
    __slots__ = ()
    def __add__(self, other: Any, /) -> Self: ...
    def __radd__(self, other: Any, /) -> Self: ...
    def __iadd__(self, other: Any, /) -> Self: ...
    def __sub__(self, other: Any, /) -> Self: ...
    def __rsub__(self, other: Any, /) -> Self: ...
    def __isub__(self, other: Any, /) -> Self: ...
    def __mul__(self, other: Any, /) -> Self: ...
    def __rmul__(self, other: Any, /) -> Self: ...
    def __imul__(self, other: Any, /) -> Self: ...
    def __truediv__(self, other: Any, /) -> Self: ...
    def __rtruediv__(self, other: Any, /) -> Self: ...
    def __itruediv__(self, other: Any, /) -> Self: ...
    def __floordiv__(self, other: Any, /) -> Self: ...
    def __rfloordiv__(self, other: Any, /) -> Self: ...
    def __ifloordiv__(self, other: Any, /) -> Self: ...
    def __mod__(self, other: Any, /) -> Self: ...
    def __rmod__(self, other: Any, /) -> Self: ...
    def __imod__(self, other: Any, /) -> Self: ...
    def __pow__(self, other: Any, /) -> Self: ...
    def __rpow__(self, other: Any, /) -> Self: ...
    def __ipow__(self, other: Any, /) -> Self: ...
    def __matmul__(self, other: Any, /) -> Self: ...
    def __rmatmul__(self, other: Any, /) -> Self: ...
    def __imatmul__(self, other: Any, /) -> Self: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __rand__(self, other: Any, /) -> Any: ...
    def __iand__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __ror__(self, other: Any, /) -> Any: ...
    def __ior__(self, other: Any, /) -> Any: ...
    def __xor__(self, other: Any, /) -> Any: ...
    def __rxor__(self, other: Any, /) -> Any: ...
    def __ixor__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: Any, /) -> Any: ...
    def __ne__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Self: ...
    def __pos__(self) -> Self: ...
    def __abs__(self) -> Self: ...
    def __invert__(self) -> Any: ...
    def all(self, axis: Any = ..., out: Any = ..., keepdims: Any = ..., *, where: Any = ...) -> Any:
        """``np.all`` of this array."""
    def any(self, axis: Any = ..., out: Any = ..., keepdims: Any = ..., *, where: Any = ...) -> Any:
        """``np.any`` of this array."""
    def argmax(self, axis: Any = ..., out: Any = ..., *, keepdims: Any = ...) -> Any:
        """``np.argmax`` of this array."""
    def argmin(self, axis: Any = ..., out: Any = ..., *, keepdims: Any = ...) -> Any:
        """``np.argmin`` of this array."""
    def argpartition(self, kth: Any, axis: Any = ..., kind: Any = ..., order: Any = ...) -> Any:
        """``np.argpartition`` of this array."""
    def argsort(self, axis: Any = ..., kind: Any = ..., order: Any = ..., *, stable: Any = ...) -> Any:
        """``np.argsort`` of this array."""
    def choose(self, choices: Any, out: Any = ..., mode: Any = ...) -> Self:
        """``np.choose`` of this array."""
    def clip(self, a_min: Any = ..., a_max: Any = ..., out: Any = ..., *, min: Any = ..., max: Any = ..., **kwargs: Any) -> Self:
        """``np.clip`` of this array."""
    def cumprod(self, axis: Any = ..., dtype: Any = ..., out: Any = ...) -> Self:
        """``np.cumprod`` of this array."""
    def cumsum(self, axis: Any = ..., dtype: Any = ..., out: Any = ...) -> Self:
        """``np.cumsum`` of this array."""
    def diagonal(self, offset: Any = ..., axis1: Any = ..., axis2: Any = ...) -> Self:
        """``np.diagonal`` of this array."""
    def dot(self, b: Any, out: Any = ...) -> Self:
        """``np.dot`` of this array."""
    def max(self, axis: Any = ..., out: Any = ..., keepdims: Any = ..., initial: Any = ..., where: Any = ...) -> Self:
        """``np.max`` of this array."""
    def mean(self, axis: Any = ..., dtype: Any = ..., out: Any = ..., keepdims: Any = ..., *, where: Any = ...) -> Self:
        """``np.mean`` of this array."""
    def min(self, axis: Any = ..., out: Any = ..., keepdims: Any = ..., initial: Any = ..., where: Any = ...) -> Self:
        """``np.min`` of this array."""
    def nonzero(self) -> Any:
        """``np.nonzero`` of this array."""
    def prod(self, axis: Any = ..., dtype: Any = ..., out: Any = ..., keepdims: Any = ..., initial: Any = ..., where: Any = ...) -> Self:
        """``np.prod`` of this array."""
    def ravel(self, order: Any = ...) -> Self:
        """``np.ravel`` of this array."""
    def repeat(self, repeats: Any, axis: Any = ...) -> Self:
        """``np.repeat`` of this array."""
    def round(self, decimals: Any = ..., out: Any = ...) -> Self:
        """``np.round`` of this array."""
    def searchsorted(self, v: Any, side: Any = ..., sorter: Any = ...) -> Any:
        """``np.searchsorted`` of this array."""
    def squeeze(self, axis: Any = ...) -> Self:
        """``np.squeeze`` of this array."""
    def std(self, axis: Any = ..., dtype: Any = ..., out: Any = ..., ddof: Any = ..., keepdims: Any = ..., *, where: Any = ..., mean: Any = ..., correction: Any = ...) -> Self:
        """``np.std`` of this array."""
    def sum(self, axis: Any = ..., dtype: Any = ..., out: Any = ..., keepdims: Any = ..., initial: Any = ..., where: Any = ...) -> Self:
        """``np.sum`` of this array."""
    def swapaxes(self, axis1: Any, axis2: Any) -> Self:
        """``np.swapaxes`` of this array."""
    def take(self, indices: Any, axis: Any = ..., out: Any = ..., mode: Any = ...) -> Self:
        """``np.take`` of this array."""
    def trace(self, offset: Any = ..., axis1: Any = ..., axis2: Any = ..., dtype: Any = ..., out: Any = ...) -> Self:
        """``np.trace`` of this array."""
    def var(self, axis: Any = ..., dtype: Any = ..., out: Any = ..., ddof: Any = ..., keepdims: Any = ..., *, where: Any = ..., mean: Any = ..., correction: Any = ...) -> Self:
        """``np.var`` of this array."""
    def power(self, b: Any) -> Self:
        """``np.power`` of this array."""
    def angle(self, deg: Any = ...) -> Self:
        """``np.angle`` of this array."""
    def abs(self) -> Self:
        """``np.absolute`` of this array."""
    def sign(self) -> Self:
        """``np.sign`` of this array."""
    def floor(self) -> Self:
        """``np.floor`` of this array."""
    def ceil(self) -> Self:
        """``np.ceil`` of this array."""
    def mod(self, b: Any) -> Self:
        """``np.remainder`` of this array."""
    def stop_gradient(self) -> Self:
        """``rc.stop_gradient`` of this array."""
    def cbrt(self) -> Self:
        """``np.cbrt`` of this array."""
    def exp(self) -> Self:
        """``np.exp`` of this array."""
    def exp2(self) -> Self:
        """``np.exp2`` of this array."""
    def expm1(self) -> Self:
        """``np.expm1`` of this array."""
    def log(self) -> Self:
        """``np.log`` of this array."""
    def log2(self) -> Self:
        """``np.log2`` of this array."""
    def log10(self) -> Self:
        """``np.log10`` of this array."""
    def log1p(self) -> Self:
        """``np.log1p`` of this array."""
    def sin(self) -> Self:
        """``np.sin`` of this array."""
    def cos(self) -> Self:
        """``np.cos`` of this array."""
    def tan(self) -> Self:
        """``np.tan`` of this array."""
    def asin(self) -> Self:
        """``np.arcsin`` of this array."""
    def acos(self) -> Self:
        """``np.arccos`` of this array."""
    def atan(self) -> Self:
        """``np.arctan`` of this array."""
    def atan2(self, b: Any) -> Self:
        """``np.arctan2`` of this array."""
    def sinh(self) -> Self:
        """``np.sinh`` of this array."""
    def cosh(self) -> Self:
        """``np.cosh`` of this array."""
    def tanh(self) -> Self:
        """``np.tanh`` of this array."""
    def asinh(self) -> Self:
        """``np.arcsinh`` of this array."""
    def acosh(self) -> Self:
        """``np.arccosh`` of this array."""
    def atanh(self) -> Self:
        """``np.arctanh`` of this array."""
    def hypot(self, b: Any) -> Self:
        """``np.hypot`` of this array."""
    def maximum(self, b: Any) -> Self:
        """``np.maximum`` of this array."""
    def minimum(self, b: Any) -> Self:
        """``np.minimum`` of this array."""
    def less(self, b: Any) -> Any:
        """``np.less`` of this array."""
    def less_equal(self, b: Any) -> Any:
        """``np.less_equal`` of this array."""
    def equal(self, b: Any) -> Any:
        """``np.equal`` of this array."""
    def not_equal(self, b: Any) -> Any:
        """``np.not_equal`` of this array."""
    def greater(self, b: Any) -> Any:
        """``np.greater`` of this array."""
    def greater_equal(self, b: Any) -> Any:
        """``np.greater_equal`` of this array."""
    def add(self, b: Any) -> Self:
        """``np.add`` of this array."""
    def subtract(self, b: Any) -> Self:
        """``np.subtract`` of this array."""
    def multiply(self, b: Any) -> Self:
        """``np.multiply`` of this array."""
    def divide(self, b: Any) -> Self:
        """``np.divide`` of this array."""
    def square(self) -> Self:
        """``np.square`` of this array."""
    def sqrt(self) -> Self:
        """``np.sqrt`` of this array."""
    def reciprocal(self) -> Self:
        """``np.reciprocal`` of this array."""
    def sigmoid(self) -> Self:
        """``rc.sigmoid`` of this array."""
    def softplus(self) -> Self:
        """``rc.softplus`` of this array."""
    def relu(self) -> Self:
        """``rc.relu`` of this array."""
    def leaky_relu(self) -> Self:
        """``rc.leaky_relu`` of this array."""
    def elu(self) -> Self:
        """``rc.elu`` of this array."""
    def gelu(self) -> Self:
        """``rc.gelu`` of this array."""
    def silu(self) -> Self:
        """``rc.silu`` of this array."""
    def logaddexp(self, b: Any) -> Self:
        """``np.logaddexp`` of this array."""
    def erf(self) -> Self:
        """``rc.erf`` of this array."""
    def erfc(self) -> Self:
        """``rc.erfc`` of this array."""
    def erfinv(self) -> Self:
        """``rc.erfinv`` of this array."""
    def ndtri(self) -> Self:
        """``rc.ndtri`` of this array."""
    def log_ndtr(self) -> Self:
        """``rc.log_ndtr`` of this array."""
    def lgamma(self) -> Self:
        """``rc.lgamma`` of this array."""
    def digamma(self) -> Self:
        """``rc.digamma`` of this array."""
    def polygamma(self, x: Any) -> Self:
        """``rc.polygamma`` of this array."""
    def ifft(self, *axes: int, axis: Any = None) -> Self:
        """``rc.ifft`` of this array."""
    def logsumexp(self, *axes: int, axis: Any = None, keepdims: bool = False) -> Self:
        """``rc.logsumexp`` of this array."""
    def softmax(self, *axes: int, axis: Any = None) -> Self:
        """``rc.softmax`` of this array."""
    def log_softmax(self, *axes: int, axis: Any = None) -> Self:
        """``rc.log_softmax`` of this array."""
    def hardmax(self, *axes: int, axis: Any = None) -> Self:
        """``rc.hardmax`` of this array."""
    def hardmin(self, *axes: int, axis: Any = None) -> Self:
        """``rc.hardmin`` of this array."""
    def norm(self, *axes: int, axis: Any = None, keepdims: bool = False) -> Self:
        """``rc.norm`` of this array."""
