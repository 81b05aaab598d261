"""The operations of the NumPy backend: for each row of the function tables, what computes it on arrays.

Elementwise rows act like ufuncs. Functions over axes act on the last axes, in parallel over the leading ones, and take
the parameters of their node last. Every row gives float32 for float32; integers are computed as NumPy computes them.
Overflow and NaN are results, not warnings: callers wrap calls in ``np.errstate``.

SciPy serves the special functions where it is installed. Without it they run on the plain Python functions of the
table: slow, and as exact. The exponential of matrices is here, in the form of Higham (2005): scaling by a power of
two, the Padé approximant of degree 13, and squaring back; it needs batches, which matmul has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.caches import cached
from ricci.errors import ShapeError
from ricci.expr import OPS

Array = Any
_PADE = [math.factorial(26 - k) * math.factorial(13) / (math.factorial(13 - k) * math.factorial(k)) for k in range(14)]
_PADE_RADIUS = 5.37  # of the 1-norm: within it the approximant is exact to double precision

# Elementwise


def power(x: Array, n: Array) -> Array:
    """``x ** n``; whole negative powers of integers are fractions."""
    if isinstance(n, (int, float)):
        if n == 2:
            return x * x
        if n == -1:
            return 1.0 / x
        if n == 0.5:
            return np.sqrt(x)
    if not _floating(x) and not _floating(n) and np.any(np.less(n, 0)):
        x = np.asarray(x, dtype=np.float64)
    return np.power(x, n)


def _floating(x: Array) -> bool:
    return isinstance(x, float) or (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "f")


def sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def _gelu(x: Array) -> Array:
    return 0.5 * x * _special("erfc")(x * -(0.5**0.5))


def _in_type_of_last(f: Callable) -> Callable:
    """``f`` with results of the type of its last operand where that is floating, and float64 otherwise."""

    def call(*args: Array) -> Array:
        like = np.asarray(args[-1]).dtype
        return np.asarray(f(*args)).astype(like if like.kind == "f" else np.float64, copy=False)[()]

    return call


_IN_SCIPY = {"lgamma": "gammaln", "digamma": "psi"}  # where the names differ


@cached("special functions", 256)
def _special(name: str) -> Callable:
    """A special function: SciPy's, or the plain one of the table, entry by entry."""
    try:
        from scipy import special
    except ImportError:
        return _in_type_of_last(np.frompyfunc(OPS[name].value, OPS[name].arity, 1))
    return _in_type_of_last(getattr(special, _IN_SCIPY.get(name, name)))


def _late(name: str) -> Callable:
    """A special function that is looked up when it is called, so that SciPy is imported only then."""

    def call(*args: Array) -> Array:
        return _special(name)(*args)

    return call


# Along one axis


def _extreme(name: str, f: Callable) -> Callable:
    def call(x: Array) -> Array:
        if x.shape[-1] == 0:
            raise ShapeError(f"{name} has no value over an axis of size 0; the operand has the shape {x.shape}.")
        return f(x, axis=-1)

    return call


def _shift(x: Array) -> Array:
    """The largest entry, to be taken off before exponentials; 0 where it is not finite."""
    top = np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    return np.where(np.isfinite(top), top, 0)


def _shares(name: str, f: Callable) -> Callable:
    """One, shared by the entries that are extreme; NaN all along where one of them is."""
    extreme = _extreme(name, f)

    def call(x: Array, further: int = 0) -> Array:
        entries = x.reshape(*x.shape[: x.ndim - further - 1], math.prod(x.shape[x.ndim - further - 1 :]))
        hits = entries == extreme(entries)[..., None]
        shares = hits / np.sum(hits, axis=-1, keepdims=True)
        return shares.astype(_as_floating(x[:0]).dtype, copy=False).reshape(x.shape)

    return call


def logsumexp(x: Array) -> Array:
    x = _as_floating(x)
    shift = _shift(x)
    return np.log(np.sum(np.exp(x - shift), axis=-1)) + shift[..., 0]


def softmax(x: Array) -> Array:
    x = _as_floating(x)
    weights = np.exp(x - _shift(x))
    return weights / np.sum(weights, axis=-1, keepdims=True)


def log_softmax(x: Array) -> Array:
    x = _as_floating(x)
    shifted = x - _shift(x)
    return shifted - np.log(np.sum(np.exp(shifted), axis=-1, keepdims=True))


def _as_floating(x: Array) -> Array:
    return x if x.dtype.kind == "f" else x.astype(np.float64)


# Of matrices


def _linalg(name: str, f: Callable, square: bool = True) -> Callable:
    """``f`` on matrices of a type that LAPACK knows, the result in the type of the operands."""

    def call(a: Array, *rest: Array) -> Array:
        if square and a.shape[-1] != a.shape[-2]:
            raise ShapeError(f"{name} is for square matrices; this operand has the shape {a.shape}.")
        a = _as_floating(a)
        if a.dtype != np.float16:
            return f(a, *rest)
        wide = [r.astype(np.float32) if isinstance(r, np.ndarray) else r for r in rest]
        return f(a.astype(np.float32), *wide).astype(np.float16)

    return call


def _symmetric_part(a: Array) -> Array:
    return (a + np.swapaxes(a, -1, -2)) / 2


def solve(a: Array, b: Array, columns: int) -> Array:
    lead = b.ndim - columns
    if b.shape[lead - 1] != a.shape[-1]:
        raise ShapeError(f"solve: the matrix has the shape {a.shape}, the right side {b.shape}.")
    flat = b.reshape(*b.shape[:lead], math.prod(b.shape[lead:]))
    return np.linalg.solve(a, flat).reshape(b.shape)


def triangular_solve(a: Array, b: Array, columns: int, lower: bool, transpose: bool) -> Array:
    part = np.tril(a) if lower else np.triu(a)
    return solve(np.swapaxes(part, -1, -2) if transpose else part, b, columns)


def _svd_vectors(a: Array) -> Array:
    left, _, right = np.linalg.svd(a, full_matrices=False)
    return np.concatenate([left, np.swapaxes(right, -1, -2)], axis=-2)


def expm(a: Array) -> Array:
    size = np.max(np.sum(np.abs(a), axis=-2), axis=-1, initial=0)
    finite = np.where(np.isfinite(size), size, 0)
    squarings = np.maximum(0, np.ceil(np.log2(np.maximum(finite, 1e-300) / _PADE_RADIUS))).astype(int)
    a = a / np.exp2(squarings).astype(a.dtype)[..., None, None]
    even, odd = _pade(a)
    result = np.linalg.solve(even - odd, even + odd)
    for k in range(int(np.max(squarings, initial=0))):
        result = np.where((squarings > k)[..., None, None], result @ result, result)
    return result


def _pade(a: Array) -> tuple[Array, Array]:
    """The even and the odd part of the numerator; the denominator is their difference."""
    c = [coef / _PADE[0] for coef in _PADE]
    eye = np.eye(a.shape[-1], dtype=a.dtype)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a2 @ a4
    even = a6 @ (c[12] * a6 + c[10] * a4 + c[8] * a2) + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * eye
    odd = a6 @ (c[13] * a6 + c[11] * a4 + c[9] * a2) + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * eye
    return even, a @ odd


ELEMENTWISE: dict[str, Callable[..., Array]] = {
    "power": power,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "mod": np.mod,
    "stop_gradient": lambda x: x,
    "barrier": lambda x: x,
    "cbrt": np.cbrt,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "hypot": np.hypot,
    "sigmoid": sigmoid,
    "softplus": lambda x: np.logaddexp(0, x),
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "gelu": _gelu,
    "silu": lambda x: x * sigmoid(x),
    "logaddexp": np.logaddexp,
    "erf": _late("erf"),
    "erfc": _late("erfc"),
    "erfinv": _late("erfinv"),
    "ndtri": _late("ndtri"),
    "log_ndtr": _late("log_ndtr"),
    "lgamma": _late("lgamma"),
    "digamma": _late("digamma"),
    "polygamma": _late("polygamma"),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "where": lambda c, a, b: np.where(np.not_equal(c, 0), a, b),
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}
FUNCTIONS: dict[str, Callable[..., Array]] = {
    "prod": lambda x: np.prod(x, axis=-1),
    "max": _extreme("max", np.max),
    "min": _extreme("min", np.min),
    "argmax": _extreme("argmax", np.argmax),
    "argmin": _extreme("argmin", np.argmin),
    "hardmax": _shares("hardmax", np.max),
    "hardmin": _shares("hardmin", np.min),
    "any": lambda x: np.any(x, axis=-1),
    "all": lambda x: np.all(x, axis=-1),
    "logsumexp": logsumexp,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "cumsum": lambda x: np.cumsum(x, axis=-1),
    "cumprod": lambda x: np.cumprod(x, axis=-1),
    "sort": lambda x: np.sort(x, axis=-1),
    "argsort": lambda x: np.argsort(x, axis=-1, kind="stable"),
    "det": _linalg("det", np.linalg.det),
    "logdet": _linalg("logdet", lambda a: np.linalg.slogdet(a)[1]),
    "slogdet_sign": _linalg("slogdet_sign", lambda a: np.linalg.slogdet(a)[0]),
    "inv": _linalg("inv", np.linalg.inv),
    "solve": _linalg("solve", solve),
    "triangular_solve": _linalg("triangular_solve", triangular_solve),
    "cholesky": _linalg("cholesky", lambda a: np.linalg.cholesky(_symmetric_part(a))),
    "eigvalsh": _linalg("eigvalsh", lambda a: np.linalg.eigvalsh(_symmetric_part(a))),
    "eigh_vectors": _linalg("eigh_vectors", lambda a, uplo="L": np.linalg.eigh(_symmetric_part(a), uplo)[1]),  # type: ignore
    "svdvals": _linalg("svdvals", lambda a: np.linalg.svd(a, compute_uv=False), square=False),
    "expm": _linalg("expm", expm),
    "svd_vectors": _linalg("svd_vectors", _svd_vectors, square=False),
    "qr_q": _linalg("qr_q", lambda a: np.linalg.qr(a)[0], square=False),
    "pinv": _linalg("pinv", np.linalg.pinv, square=False),
}
