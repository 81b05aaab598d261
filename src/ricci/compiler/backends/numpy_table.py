"""NumPy's way of computing the rows, where that is not one of its functions; see ``libraries.py``.

Elementwise rows act like ufuncs. Every row gives float32 for float32; integers are computed as NumPy computes them.
Overflow and NaN are results, not warnings: callers wrap calls in ``np.errstate``.

SciPy serves the special functions where it is installed. Without it they run on the plain Python functions of the
rows: slow, and as exact. The exponential of matrices is here, in the form of Higham (2005): scaling by a power of two,
the Padé approximant of degree 13, and squaring back; it needs batches, which matmul has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.caches import cached
from ricci.compiler.backends.libraries import (
    WAVES,
    Array,
    Library,
    Table,
    elementwise_table,
    found,
    right_sides,
)
from ricci.expr import OPS, Op

_PADE = [math.factorial(26 - k) * math.factorial(13) / (math.factorial(13 - k) * math.factorial(k)) for k in range(14)]
_FEW_ROWS = 48  # of a matrix, up to which one large one takes less time than several
_MANY_ROWS = 32  # of matrices in a stack, from which on each is worth a call
_PADE_RADIUS = (5.37, 4.74, 4.25)  # of the 1-norm: within it the approximant, and its changes, are exact in float64


def dtypes_of(floating: Any) -> dict[str, np.dtype]:
    """The types of arrays by what they hold, where floats are of this one."""
    own = np.dtype(floating)
    return {"f": own, "c": np.result_type(own, np.complex64), "i": np.dtype(np.int64), "b": np.dtype(np.bool_)}


# Elementwise


def _abs2(z: Array) -> Array:
    return z.real**2 + z.imag**2 if np.iscomplexobj(z) else np.square(z)


def _floating(x: Array) -> bool:
    return isinstance(x, float) or (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "cf")


def sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1) / (1 + small)


def _in_type_of_last(f: Callable) -> Callable:
    """``f`` with results of the type of its last operand where that is floating, and float64 otherwise."""

    def call(*args: Array) -> Array:
        like = np.asarray(args[-1]).dtype
        return np.asarray(f(*args)).astype(like if like.kind == "f" else np.float64, copy=False)[()]

    return call


@cached("special functions", 256)
def special(name: str) -> Callable[..., Array]:
    """A special function: SciPy's, or the plain one of the row, entry by entry."""
    op = OPS[name]
    try:
        from scipy import special
    except ImportError:
        return _in_type_of_last(np.frompyfunc(op.value, op.arity, 1))
    return _in_type_of_last(getattr(special, op.scipy))


def _late(name: str) -> Callable[..., Array]:
    """A special function that is looked up when it is called, so that SciPy is imported only then."""

    def call(*args: Array) -> Array:
        return special(name)(*args)

    return call


def _native(op: Op) -> Any:
    return found(np, op.numpy or op.name) or (_late(op.name) if op.scipy else None)


# Over axes


def _as_floating(x: Array) -> Array:
    return x if _floating(x) else np.asarray(x, dtype=np.float64)


def _triangular_solve(a: Array, b: Array, columns: int, lower: bool, transpose: bool) -> Array:
    """By BLAS, where SciPy has it, and the matrices are few for their size; otherwise as any system."""
    flat = right_sides("triangular_solve", a, b, columns)
    solve = _blas_solve() if flat.size and (a.ndim == 2 or a.shape[-1] >= _MANY_ROWS) else None
    if solve is None:
        part = np.tril(a) if lower else np.triu(a)
        return np.linalg.solve(part.mT if transpose else part, flat).reshape(b.shape)
    if a.ndim == 2:
        return solve(a, flat, lower, transpose).reshape(b.shape)
    pairs = zip(a.reshape(-1, *a.shape[-2:]), flat.reshape(-1, *flat.shape[-2:]), strict=True)
    return np.stack([solve(matrix, right, lower, transpose) for matrix, right in pairs]).reshape(b.shape)


@cached("solvers of triangular systems", 1)
def _blas_solve() -> Callable[..., Array] | None:
    try:
        from scipy.linalg import blas as library
    except ImportError:
        return None
    blas: Any = library
    by_type = {np.dtype(dtype): getattr(blas, f"{letter}trsm") for dtype, letter in zip("fdFD", "sdcz", strict=True)}

    def solve(a: Array, b: Array, lower: bool, transpose: bool) -> Array:
        """Rows of NumPy are columns of Fortran, so that the transposed system is solved from the right."""
        trsm = by_type[np.result_type(a, b)]
        return trsm(1.0, a.T, b.T, side=1, lower=not lower, trans_a=transpose).T

    return solve


def _recurrence(a: Array, b: Array, columns: int) -> Array:
    """As that of all libraries, in place."""
    found = np.zeros(b.shape, np.result_type(a, b))
    y = np.moveaxis(found, a.ndim - 1, -1)[..., 1:]
    y[...] = np.moveaxis(b, a.ndim - 1, -1)[..., :-1]
    factors = a.reshape(*a.shape[:-1], *[1] * columns, a.shape[-1])[..., :-1].copy()
    span = 1
    while span < y.shape[-1]:
        y[..., span:] += factors[..., span:] * y[..., :-span]
        factors[..., span:] *= factors[..., :-span]
        span *= 2
    return found


def _recurrence_back(a: Array, b: Array, columns: int) -> Array:
    return np.flip(_recurrence(a[..., ::-1], np.flip(b, a.ndim - 1), columns), a.ndim - 1)


# LAPACK reads one triangle, the lower one for Cholesky's factor


def _whole(a: Array) -> Array:
    return a if np.iscomplexobj(a) else (a + a.mT) / 2


def _cholesky(a: Array, triangle: str = "") -> Array:
    return np.linalg.cholesky({"": _whole, "L": lambda a: a, "U": NUMPY.turned}[triangle](a))


def _eigvalsh(a: Array, triangle: Any = "") -> Array:
    return np.linalg.eigvalsh(a if triangle else _whole(a), UPLO=triangle or "L")


def _eigh_vectors(a: Array, triangle: Any = "") -> Array:
    return np.linalg.eigh(a if triangle else _whole(a), UPLO=triangle or "L")[1]


# Transforms by cosines and sines: SciPy's, where it is installed


def _waves(name: str) -> Callable[..., Array]:
    kind, by_fourier = int(name[-1]), NUMPY.of_waves(name)

    def call(x: Array, columns: int = 0) -> Array:
        fft = _scipy_fft()
        if name == "dct1" and x.shape[-1] < 2:
            return _as_floating(x) * math.nan  # there is none
        if fft is None or not x.shape[-1]:
            return by_fourier(x)  # type: ignore[misc]
        return getattr(fft, name[:-1])(_as_floating(x), kind)

    return call


@cached("transforms of SciPy", 1)
def _scipy_fft() -> Any:
    try:
        from scipy import fft
    except ImportError:
        return None
    return fft


# Exponentials of matrices, and how they change. A matrix with directions is a list: the matrix, its change along the
# first direction, along the second, along both, …: place ``s`` is that along the directions that are bits of ``s``.
# Products of such lists are those of polynomials in which the square of every direction is zero.

Parts = list[Array]


def _expm(a: Array) -> Array:
    return _expm_of([a])[0]


def _expm_along(a: Array, e: Array, columns: int) -> Array:
    """The change along ``e``, and along each place of its further axes; see ``Parts``."""
    if not columns:
        if 2 * a.shape[-1] <= _FEW_ROWS:
            return NUMPY.expm_along(_expm, a, e, 0)
        return _joined(_expm_of(_split([a, e]))[1::2])
    lead = a.ndim - 2
    steps = np.moveaxis(e.reshape(*a.shape, math.prod(e.shape[lead + 2 :])), -1, lead)
    found = _expm_along(np.broadcast_to(a[..., None, :, :], steps.shape), steps, 0)
    return np.moveaxis(found, lead, -1).reshape(e.shape)


def _expm_of(a: Parts) -> Parts:
    size = np.max(np.sum(np.abs(a[0]), axis=-2), axis=-1, initial=0)
    finite = np.where(np.isfinite(size), size, 0)
    radius = _PADE_RADIUS[min(len(a).bit_length(), len(_PADE_RADIUS)) - 1]
    squarings = np.maximum(0, np.ceil(np.log2(np.maximum(finite, 1e-300) / radius))).astype(int)
    scale = np.exp2(-squarings).astype(a[0].dtype)[..., None, None]
    even, odd = _pade([part * scale for part in a])
    result = _divided([x - y for x, y in zip(even, odd, strict=True)], [x + y for x, y in zip(even, odd, strict=True)])
    for k in range(int(np.max(squarings, initial=0))):
        squared = _multiplied(result, result)
        more = (squarings > k)[..., None, None]
        result = squared if more.all() else [np.where(more, x, y) for x, y in zip(squared, result, strict=True)]
    return result


def _pade(a: Parts) -> tuple[Parts, Parts]:
    """The even and the odd part of the numerator; the denominator is their difference."""
    c = [coef / _PADE[0] for coef in _PADE]
    eye = np.eye(a[0].shape[-1], dtype=a[0].dtype)
    a2 = _multiplied(a, a)
    a4 = _multiplied(a2, a2)
    a6 = _multiplied(a2, a4)

    def half(first: int) -> Parts:
        powers = list(zip(a6, a4, a2, strict=True))
        high = [c[12 + first] * x + c[10 + first] * y + c[8 + first] * z for x, y, z in powers]
        low = [c[6 + first] * x + c[4 + first] * y + c[2 + first] * z for x, y, z in powers]
        low[0] = low[0] + c[first] * eye
        return [x + y for x, y in zip(_multiplied(a6, high), low, strict=True)]

    return half(0), _multiplied(a, half(1))


def _parts_of(s: int) -> list[int]:
    """The sets of directions within a set of them."""
    return [t for t in range(s + 1) if t & s == t]


def _multiplied(x: Parts, y: Parts) -> Parts:
    return [sum([x[t] @ y[s ^ t] for t in _parts_of(s)][1:], x[0] @ y[s]) for s in range(len(x))]


def _divided(below: Parts, above: Parts) -> Parts:
    """``x`` with ``below x = above``."""
    if len(below) == 1:
        return [np.linalg.solve(below[0], above[0])]
    inverse, found = np.linalg.inv(below[0]), []  # which is harmless: within the radius the denominator is near 1
    for s, right in enumerate(above):
        found.append(inverse @ (right - sum([below[t] @ found[s ^ t] for t in _parts_of(s) if t])))
    return found


def _split(a: Parts) -> Parts:
    """Matrices ``[[x, y], [0, x]]``, as derivatives of higher order have them, are matrices with a direction more."""
    n = a[0].shape[-1] // 2
    if not n or a[0].shape[-1] % 2 or not all(_is_doubled(x, n) for x in a):
        return a
    return _split([x[..., :n, :n] for x in a] + [x[..., :n, n:] for x in a])


def _joined(a: Parts) -> Array:
    """The matrix that was split."""
    if len(a) == 1:
        return a[0]
    first, second = _joined(a[0::2]), _joined(a[1::2])
    return np.block([[first, second], [np.zeros_like(first), first]])


def _is_doubled(x: Array, n: int) -> bool:
    return not x[..., n:, :n].any() and np.array_equal(x[..., :n, :n], x[..., n:, n:])


# The tables

NUMPY = Library(
    np,
    axis="axis",
    name=lambda op: op.numpy or op.name,
    floating=_floating,
    real=_as_floating,
    cast=lambda x, dtype: x.astype(dtype, copy=False),
    negative=lambda n: np.any(np.less(n, 0)),
    like=lambda values, x: np.asarray(values, x.dtype),
    transforms=lambda: _scipy_fft() or np.fft,  # SciPy's take three quarters of the time, in float32 less
)
ELEMENTWISE: Table = elementwise_table(
    _native,
    {
        "power": NUMPY.power,
        "abs2": _abs2,
        "real": lambda z: np.positive(np.real(z)),  # a copy, and no view
        "imag": lambda z: np.positive(np.imag(z)),
        "sigmoid": sigmoid,
        "where": lambda c, a, b: np.where(np.not_equal(c, 0), a, b),
    },
    np.where,
)
FUNCTIONS: Table = NUMPY.over_axes(
    {
        "hardmax": NUMPY.shares("hardmax", np.max),
        "hardmin": NUMPY.shares("hardmin", np.min),
        "sort": lambda x: np.sort(x, axis=-1),
        "argsort": lambda x: np.argsort(x, axis=-1, kind="stable"),
        "recurrence": _recurrence,
        "recurrence_back": _recurrence_back,
        "triangular_solve": _triangular_solve,
        "cholesky": _cholesky,
        "eigvalsh": _eigvalsh,
        "eigh_vectors": _eigh_vectors,
        "expm": _expm,
        "expm_along": _expm_along,
        **{name: _waves(name) for name in WAVES},
    }
)
