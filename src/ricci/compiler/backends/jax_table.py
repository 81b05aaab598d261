"""JAX's way of computing the rows, where that is not one of its functions; see ``libraries.py``.

Rows run on the device of their operands, inside ``jax.jit``, ``jax.vmap`` and ``jax.grad``: what Python decides here
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

from ricci.compiler.backends.libraries import Array, Library, Table, elementwise_table, found, right_sides
from ricci.errors import MissingPackageError
from ricci.expr import Op

try:  # where JAX is missing, ``import jax`` would be this very file to type checkers
    jax: Any = import_module("jax")
    jnp: Any = import_module("jax.numpy")
    lax: Any = import_module("jax.lax")
    linalg: Any = import_module("jax.scipy.linalg")
    special: Any = import_module("jax.scipy.special")
except ImportError as error:
    raise MissingPackageError("The jax backend needs JAX; install it: pip install jax.") from error

_FAR = 1e8  # from here on two terms of the series of the polygamma functions are exact
_LEFT = -3.0  # to the left of it JAX's own polygamma functions lose their digits, and at -9 the last of them

# Elementwise


def _floating(x: Array) -> bool:
    return isinstance(x, float) or (hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.inexact))


def complex_of(floating: str) -> Any:
    """The type of complex numbers made of such floats."""
    return jnp.dtype("complex128" if floating == "float64" else "complex64")


def _abs(x: Array) -> Array:
    """Of real numbers by their sign: ``jnp.abs`` has the derivative 1 at 0."""
    return jnp.abs(x) if jnp.iscomplexobj(x) else x * jnp.sign(x)


def _abs2(z: Array) -> Array:
    return jnp.real(z) ** 2 + jnp.imag(z) ** 2


def _real(x: Array) -> Array:
    """``x`` in a floating type: its own, or else the default."""
    return x if _floating(x) else jnp.asarray(x, dtype=float)


def _rounding(f: Callable) -> Callable:
    """``f``, which leaves integers as they are."""
    return lambda x: f(x) if _floating(x) else x


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


# Over axes


def _triangular_solve(a: Array, b: Array, columns: int, lower: bool, transpose: bool) -> Array:
    flat = right_sides("triangular_solve", a, b, columns)
    return linalg.solve_triangular(a, flat, trans=int(transpose), lower=lower).reshape(b.shape)


# The tables


def _native(op: Op) -> Any:
    """JAX's function: that of NumPy's name, or a special one, whose operands are made floats where its values are."""
    path = op.jax or (f"scipy.special.{op.scipy}" if op.scipy else "")
    if not path:
        return found(jnp, op.numpy or op.name)
    f = found(jax, path)
    return f if op.type == "same" else lambda *args: f(*[_real(a) for a in args])


JAX = Library(
    jnp,
    axis="axis",
    name=lambda op: op.numpy or op.name,
    floating=_floating,
    real=_real,
    cast=lambda x, dtype: x.astype(dtype),
    fixed=lax.stop_gradient,
    once=lax.optimization_barrier,
    like=lambda values, x: jnp.asarray(values, x.dtype),
)
ELEMENTWISE: Table = elementwise_table(
    _native,
    {
        "power": JAX.power,
        "abs": _abs,
        "abs2": _abs2,
        "floor": _rounding(jnp.floor),
        "ceil": _rounding(jnp.ceil),
        "barrier": lax.optimization_barrier,
        "exp2": lambda x: jnp.power(2.0, x),  # exact at whole numbers, which jnp.exp2 is not
        "digamma": digamma,
        "polygamma": polygamma,
        "where": lambda c, a, b: jnp.where(jnp.not_equal(c, 0), a, b),
    },
    jnp.where,
)
FUNCTIONS: Table = JAX.over_axes(
    {
        "hardmax": JAX.shares("hardmax", jnp.max),
        "hardmin": JAX.shares("hardmin", jnp.min),
        "sort": lambda x: jnp.sort(x, axis=-1, stable=True),
        "argsort": lambda x: jnp.argsort(x, axis=-1, stable=True),
        "triangular_solve": _triangular_solve,
        "expm": linalg.expm,
        "expm_along": lambda a, e, columns: JAX.expm_along(linalg.expm, a, e, columns),
    }
)
