"""The operations of the JAX backend: the rows of ``numpy_table.py``, each made of JAX's own operations.

So they run on the device of their operands, inside ``jax.jit``, ``jax.vmap`` and ``jax.grad``: what Python decides here
depends on shapes and types, never on values. JAX fuses elementwise steps, so formulas that are exact everywhere cost no
more than its named functions. Numbers among the operands are weakly typed, so they promote nothing; without
``jax_enable_x64`` everything is float32. JAX raises no error for singular or indefinite matrices: the results are NaN
or infinite.

At kinks, ``jax.grad`` gives what the rows of ricci say: abs and relu 0, leaky_relu 0.01, ties of maximum one half.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from typing import Any

from ricci.errors import MissingPackageError, ShapeError

try:  # where JAX is missing, ``import jax`` would be this very file to type checkers
    jax: Any = import_module("jax")
    jnp: Any = import_module("jax.numpy")
    lax: Any = import_module("jax.lax")
    linalg: Any = import_module("jax.scipy.linalg")
    special: Any = import_module("jax.scipy.special")
except ImportError as error:
    raise MissingPackageError("The jax backend needs JAX; install it: pip install jax.") from error

Array = Any
_FAR = 1e8  # from here on two terms of the series of the polygamma functions are exact
_LEFT = -3.0  # to the left of it JAX's own polygamma functions lose their digits, and at -9 the last of them

# Elementwise


def _floating(x: Array) -> bool:
    return isinstance(x, float) or (hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating))


def _real(x: Array) -> Array:
    """``x`` in a floating type: its own, or else the default."""
    return x if _floating(x) else jnp.asarray(x, dtype=float)


def _rounding(f: Callable) -> Callable:
    """``f``, which leaves integers as they are."""
    return lambda x: f(x) if _floating(x) else x


def power(x: Array, n: Array) -> Array:
    """``x ** n``; where integers may get a negative power, fractions."""
    if isinstance(n, (int, float)):
        if n == 2:
            return x * x
        if n == -1:
            return 1.0 / x
        if n == 0.5:
            return jnp.sqrt(x)
    if not _floating(n) and not (isinstance(n, int) and n >= 0):
        x = _real(x)
    return jnp.power(x, n)


def _gelu(x: Array) -> Array:
    return 0.5 * x * special.erfc(x * -(0.5**0.5))


def digamma(x: Array) -> Array:
    """The infinities at 0, which JAX has as NaN, have the sign of the side from which 0 is reached."""
    x = _real(x)
    return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), special.digamma(x))


def polygamma(n: Array, x: Array) -> Array:
    """The derivative of order ``n`` of digamma, NaN where ``n`` is not a whole number.

    To the left of 0 it is reflected, as in ``ricci.functions.special``. The number of terms of that is ``n``, so it
    must be a number and no array: with arrays the result is NaN to the left of -3.
    """
    x = _real(jnp.asarray(x))
    if not isinstance(n, (int, float)):
        n = jnp.asarray(n, dtype=x.dtype)
        order = jnp.where(n == 0, 1, n)
        factor = jnp.power(-1.0, order + 1) * jnp.exp(special.gammaln(order))
        elsewhere = jnp.where(_pole(x), factor * jnp.inf, jnp.nan)
        right = jnp.where((x > _LEFT) & ~_pole(x), _polygamma_right(order, factor, x), elsewhere)
        return jnp.where(n == 0, digamma(x), right)
    if n < 0 or n % 1:
        return x * math.nan
    return digamma(x) if n == 0 else _polygamma_reflected(int(n), x)


def _pole(x: Array) -> Array:
    return (x <= 0) & (x == jnp.floor(x))


def _polygamma_reflected(n: int, x: Array) -> Array:
    left = x <= 0
    right = _polygamma_right(n, (-1) ** (n + 1) * math.gamma(n), jnp.where(left, 1 - x, x))
    period = jnp.where(jnp.isinf(x), 0, x - jnp.round(x))
    slope = _cot_derivative(n, jnp.where(left, period, 0.25))  # 0.25 keeps infinities out of the derivatives elsewhere
    return jnp.where(left, (-1) ** n * right - math.pi ** (n + 1) * slope, right)


def _cot_derivative(n: int, x: Array) -> Array:
    """The derivative of order ``n`` of the cotangent at ``pi x``, for ``abs(x) <= 1/2``; exact at both ends.

    It is a polynomial in the cotangent, ``P(n+1) = -(1 + c**2) P(n)'``.
    """
    cot = jnp.sin(math.pi * (0.5 - jnp.abs(x))) / jnp.sin(math.pi * x)
    coefs = [0.0, 1.0]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(coefs)][1:]
        coefs = [-a - b for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope], strict=True)]
    return reduce(lambda total, coef: total * cot + coef, reversed(coefs))


def _polygamma_right(n: Array, factor: Array, x: Array) -> Array:
    """JAX's own; where ``x`` is so large that it is 0 or NaN, two terms of the series, ``factor`` being that of it."""
    far = x > _FAR
    large = jnp.where(far, x, _FAR)
    series = factor * large**-n * (1 + 0.5 * n / large)
    own = lax.polygamma(*jnp.broadcast_arrays(jnp.asarray(n, dtype=x.dtype), jnp.where(far, 1, x)))
    return jnp.where(far, series, own)


# Along one axis


def _extreme(name: str, f: Callable) -> Callable:
    def call(x: Array) -> Array:
        if x.shape[-1] == 0:
            raise ShapeError(f"{name} has no value over an axis of size 0; the operand has the shape {x.shape}.")
        return f(x, axis=-1)

    return call


def _shares(name: str, f: Callable) -> Callable:
    """One, shared by the entries that are extreme. XLA must not compute them anew for each of their two uses."""
    extreme = _extreme(name, f)

    def call(x: Array, further: int = 0) -> Array:
        entries = x.reshape(*x.shape[: x.ndim - further - 1], math.prod(x.shape[x.ndim - further - 1 :]))
        entries = lax.optimization_barrier(lax.stop_gradient(entries))
        hits = entries == extreme(entries)[..., None]
        count = jnp.sum(hits, axis=-1, keepdims=True)
        shares = hits.astype(_real(x).dtype) / count
        return jnp.where(count > 0, shares, jnp.nan).reshape(x.shape)  # XLA takes 0/0 for 0 here

    return call


def _shift(x: Array) -> Array:
    """The largest entry, to be taken off before exponentials; 0 where it is not finite. No derivative goes through."""
    top = jnp.max(lax.stop_gradient(x), axis=-1, keepdims=True, initial=-jnp.inf)
    return jnp.where(jnp.isfinite(top), top, 0)


def logsumexp(x: Array) -> Array:
    x = _real(x)
    shift = _shift(x)
    return jnp.log(jnp.sum(jnp.exp(x - shift), axis=-1)) + shift[..., 0]


def softmax(x: Array) -> Array:
    x = _real(x)
    weights = jnp.exp(x - _shift(x))
    return weights / jnp.sum(weights, axis=-1, keepdims=True)


def log_softmax(x: Array) -> Array:
    x = _real(x)
    shifted = x - _shift(x)
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=-1, keepdims=True))


# Of matrices


def _linalg(name: str, f: Callable, square: bool = True) -> Callable:
    """``f`` on matrices of a type that LAPACK knows, the result in the type of the operands."""

    def call(a: Array, *rest: Array) -> Array:
        if square and a.shape[-1] != a.shape[-2]:
            raise ShapeError(f"{name} is for square matrices; this operand has the shape {a.shape}.")
        a = _real(a)
        if a.dtype.itemsize > 2:
            return f(a, *rest)
        wide = [r.astype(jnp.float32) if isinstance(r, jax.Array) else r for r in rest]
        return f(a.astype(jnp.float32), *wide).astype(a.dtype)

    return call


def _symmetric_part(a: Array) -> Array:
    return (a + a.mT) / 2


def _columns(name: str, a: Array, b: Array, columns: int) -> Array:
    """The right sides as a matrix for each one of ``a``."""
    lead = b.ndim - columns
    if b.shape[lead - 1] != a.shape[-1]:
        raise ShapeError(f"{name}: the matrix has the shape {a.shape}, the right side {b.shape}.")
    return b.reshape(*b.shape[:lead], math.prod(b.shape[lead:]))


def solve(a: Array, b: Array, columns: int) -> Array:
    return jnp.linalg.solve(a, _columns("solve", a, b, columns)).reshape(b.shape)


def triangular_solve(a: Array, b: Array, columns: int, lower: bool, transpose: bool) -> Array:
    flat = _columns("triangular_solve", a, b, columns)
    return linalg.solve_triangular(a, flat, trans=int(transpose), lower=lower).reshape(b.shape)


def _svd_vectors(a: Array) -> Array:
    left, _, right = jnp.linalg.svd(a, full_matrices=False)
    return jnp.concatenate([left, right.mT], axis=-2)


def _pinv(a: Array, *rcond: float) -> Array:
    return jnp.linalg.pinv(a, rtol=rcond[0]) if rcond else jnp.linalg.pinv(a)


ELEMENTWISE: dict[str, Callable[..., Array]] = {
    "power": power,
    "abs": lambda x: x * jnp.sign(x),  # jnp.abs has the derivative 1 at 0
    "sign": jnp.sign,
    "floor": _rounding(jnp.floor),
    "ceil": _rounding(jnp.ceil),
    "round": jnp.round,
    "mod": jnp.mod,
    "stop_gradient": lax.stop_gradient,
    "barrier": lax.optimization_barrier,
    "cbrt": jnp.cbrt,
    "exp": jnp.exp,
    "exp2": lambda x: jnp.power(2.0, x),  # exact at whole numbers, which jnp.exp2 is not
    "expm1": jnp.expm1,
    "log": jnp.log,
    "log2": jnp.log2,
    "log10": jnp.log10,
    "log1p": jnp.log1p,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tan": jnp.tan,
    "asin": jnp.arcsin,
    "acos": jnp.arccos,
    "atan": jnp.arctan,
    "atan2": jnp.arctan2,
    "sinh": jnp.sinh,
    "cosh": jnp.cosh,
    "tanh": jnp.tanh,
    "asinh": jnp.arcsinh,
    "acosh": jnp.arccosh,
    "atanh": jnp.arctanh,
    "hypot": jnp.hypot,
    "sigmoid": lambda x: jax.nn.sigmoid(_real(x)),
    "softplus": jax.nn.softplus,
    "relu": jax.nn.relu,
    "leaky_relu": lambda x: jnp.where(x > 0, x, 0.01 * x),
    "elu": jax.nn.elu,
    "gelu": _gelu,
    "silu": lambda x: jax.nn.silu(_real(x)),
    "logaddexp": jnp.logaddexp,
    "erf": special.erf,
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "ndtri": lambda x: special.ndtri(_real(x)),
    "log_ndtr": lambda x: special.log_ndtr(_real(x)),
    "lgamma": special.gammaln,
    "digamma": digamma,
    "polygamma": polygamma,
    "maximum": jnp.maximum,
    "minimum": jnp.minimum,
    "where": lambda c, a, b: jnp.where(jnp.not_equal(c, 0), a, b),
    "less": jnp.less,
    "less_equal": jnp.less_equal,
    "equal": jnp.equal,
    "not_equal": jnp.not_equal,
}
FUNCTIONS: dict[str, Callable[..., Array]] = {
    "prod": lambda x: jnp.prod(x, axis=-1),
    "max": _extreme("max", jnp.max),
    "min": _extreme("min", jnp.min),
    "argmax": _extreme("argmax", jnp.argmax),
    "argmin": _extreme("argmin", jnp.argmin),
    "hardmax": _shares("hardmax", jnp.max),
    "hardmin": _shares("hardmin", jnp.min),
    "any": lambda x: jnp.any(x, axis=-1),
    "all": lambda x: jnp.all(x, axis=-1),
    "logsumexp": logsumexp,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "cumsum": lambda x: jnp.cumsum(x, axis=-1),
    "cumprod": lambda x: jnp.cumprod(x, axis=-1),
    "sort": lambda x: jnp.sort(x, axis=-1, stable=True),
    "argsort": lambda x: jnp.argsort(x, axis=-1, stable=True),
    "det": _linalg("det", jnp.linalg.det),
    "logdet": _linalg("logdet", lambda a: jnp.linalg.slogdet(a)[1]),
    "slogdet_sign": _linalg("slogdet_sign", lambda a: jnp.linalg.slogdet(a)[0]),
    "inv": _linalg("inv", jnp.linalg.inv),
    "solve": _linalg("solve", solve),
    "triangular_solve": _linalg("triangular_solve", triangular_solve),
    "cholesky": _linalg("cholesky", lambda a: jnp.linalg.cholesky(_symmetric_part(a))),
    "eigvalsh": _linalg("eigvalsh", lambda a: jnp.linalg.eigvalsh(_symmetric_part(a))),
    "eigh_vectors": _linalg("eigh_vectors", lambda a, uplo="L": jnp.linalg.eigh(_symmetric_part(a), UPLO=uplo)[1]),
    "svdvals": _linalg("svdvals", lambda a: jnp.linalg.svd(a, compute_uv=False), square=False),
    "expm": _linalg("expm", linalg.expm),
    "svd_vectors": _linalg("svd_vectors", _svd_vectors, square=False),
    "qr_q": _linalg("qr_q", lambda a: jnp.linalg.qr(a)[0], square=False),
    "pinv": _linalg("pinv", _pinv, square=False),
}
