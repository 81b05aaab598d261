"""The operations of the PyTorch backend: the rows of ``numpy_table.py``, each made of PyTorch's own operations.

So they run on the device and in the type of their operands, and inside ``torch.compile``, ``torch.func`` and autograd:
what Python decides here depends on shapes and types, never on values. Where PyTorch has one kernel for a row it is
taken, since without ``torch.compile`` each step is a pass over memory. Numbers among the operands stay numbers where
PyTorch takes them; elsewhere they become tensors of order 0 beside the others, which promote nothing. Integers become
floats of PyTorch's default type where a function has fractions for values.

At kinks, autograd gives what the rows of ricci say: abs and relu 0, leaky_relu 0.01, ties of maximum one half.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ricci.errors import MissingPackageError, ShapeError

try:  # where PyTorch is missing, ``import torch`` would be this very file to type checkers
    torch: Any = import_module("torch")
except ImportError as error:
    raise MissingPackageError("The torch backend needs PyTorch; install it: pip install torch.") from error

Array = Any
_FAR = 1e8  # from here on two terms of the series of the zeta function are exact

# Elementwise


def _floating(x: Array) -> bool:
    return x.is_floating_point() if isinstance(x, torch.Tensor) else isinstance(x, float)


def _real(x: Array) -> Array:
    """``x`` in a floating type: its own, or else the default."""
    return x if _floating(x) else x.to(torch.get_default_dtype())


def _tensors(*args: Array) -> list[Array]:
    """Numbers as tensors of order 0, on the device of the first tensor and in the type that both give together."""
    like = next(a for a in args if isinstance(a, torch.Tensor))
    return [a if isinstance(a, torch.Tensor) else like.new_full((), a, dtype=_common(like, a)) for a in args]


def _common(like: Array, number: float) -> Any:
    """What ``torch.result_type`` says, which ``torch.compile`` does not take."""
    return torch.get_default_dtype() if isinstance(number, float) and not _floating(like) else like.dtype


def _of_tensors(f: Callable) -> Callable:
    return lambda *args: f(*_tensors(*args))


def _of_reals(f: Callable) -> Callable:
    return lambda *args: f(*[_real(a) for a in _tensors(*args)])


def power(x: Array, n: Array) -> Array:
    """``x ** n``; where integers may get a negative power, fractions."""
    if isinstance(n, (int, float)):
        if n == 2:
            return x * x
        if n == -1:
            return 1.0 / x
        if n == 0.5:
            return torch.sqrt(x)
    if not _floating(x) and not _floating(n) and not (isinstance(n, int) and n >= 0):
        x = _real(x) if isinstance(x, torch.Tensor) else float(x)
    return torch.pow(x, n)


def _sign(x: Array) -> Array:
    return torch.where(torch.isnan(x), x, torch.sign(x))


def _cbrt(x: Array) -> Array:
    return torch.copysign(torch.abs(x) ** (1 / 3), x)


def _gelu(x: Array) -> Array:
    return 0.5 * x * torch.erfc(x * -(0.5**0.5))


def _log_ndtr(x: Array) -> Array:
    """PyTorch's own is not for ``torch.func.vmap``; on the left the exponential is taken out of the logarithm."""
    left, right = torch.clamp(x, max=0), torch.clamp(x, min=0)
    below = torch.log(torch.special.erfcx(left * -(0.5**0.5)) / 2) - left * left / 2
    return torch.where(x < 0, below, torch.log1p(torch.erfc(right * 0.5**0.5) / -2))


def polygamma(n: Array, x: Array) -> Array:
    """``(-1)**(n+1) n! zeta(n+1, x)``, and digamma for ``n == 0``; NaN where ``n`` is not a whole number."""
    if isinstance(n, (int, float)):
        if n < 0 or n % 1:
            return x * math.nan
        return torch.digamma(x) if n == 0 else (-1.0) ** (n + 1) * math.gamma(n + 1) * _zeta(n + 1, _real(x))
    n, x = _tensors(n, x)
    x = _real(x)
    n = n.to(x.dtype)
    order = torch.where(n == 0, 1, n)
    factor = torch.pow(-1.0, order + 1) * torch.exp(torch.lgamma(order + 1))
    return torch.where(n == 0, torch.digamma(x), factor * _zeta(order + 1, x))


def _zeta(s: Array, q: Array) -> Array:
    """The Hurwitz zeta function; PyTorch's is NaN at infinity and 0 too early before it."""
    far = q > _FAR
    x = torch.where(far, q, _FAR)
    return torch.where(far, (1 / (s - 1) + 0.5 / x) * x ** (1 - s), torch.special.zeta(s, torch.where(far, 1, q)))


def where(c: Array, a: Array, b: Array) -> Array:
    if not isinstance(c, torch.Tensor):
        c = next(x for x in (a, b) if isinstance(x, torch.Tensor)).new_full((), bool(c), dtype=torch.bool)
    return torch.where(c if c.dtype == torch.bool else c != 0, a, b)


# Along one axis


def _extreme(name: str, f: Callable) -> Callable:
    def call(x: Array) -> Array:
        if x.shape[-1] == 0:
            raise ShapeError(f"{name} has no value over an axis of size 0; the operand has the shape {tuple(x.shape)}.")
        return f(x, dim=-1)

    return call


def _shares(name: str, f: Callable) -> Callable:
    """One, shared by the entries that are extreme; NaN all along where one of them is."""
    extreme = _extreme(name, f)

    def call(x: Array, further: int = 0) -> Array:
        entries = x.reshape(*x.shape[: x.ndim - further - 1], math.prod(x.shape[x.ndim - further - 1 :]))
        hits = entries == extreme(entries)[..., None]
        return (hits.to(_real(x).dtype) / hits.sum(dim=-1, keepdim=True)).reshape(x.shape)

    return call


# Of matrices


def _linalg(name: str, f: Callable, square: bool = True) -> Callable:
    """``f`` on matrices of a type that LAPACK knows, the result in the type of the operands."""

    def call(a: Array, *rest: Array) -> Array:
        if square and a.shape[-1] != a.shape[-2]:
            raise ShapeError(f"{name} is for square matrices; this operand has the shape {tuple(a.shape)}.")
        a = _real(a)
        wide = (a.float() if a.dtype.itemsize < 4 else a).contiguous()
        return f(wide, *[r.to(wide.dtype) if isinstance(r, torch.Tensor) else r for r in rest]).to(a.dtype)

    return call


def _symmetric_part(a: Array) -> Array:
    return (a + a.mT) / 2


def _columns(name: str, a: Array, b: Array, columns: int) -> Array:
    """The right sides as a matrix for each one of ``a``."""
    lead = b.ndim - columns
    if b.shape[lead - 1] != a.shape[-1]:
        raise ShapeError(f"{name}: the matrix has the shape {tuple(a.shape)}, the right side {tuple(b.shape)}.")
    return b.reshape(*b.shape[:lead], math.prod(b.shape[lead:]))


def solve(a: Array, b: Array, columns: int) -> Array:
    return torch.linalg.solve(a, _columns("solve", a, b, columns)).reshape(b.shape)


def triangular_solve(a: Array, b: Array, columns: int, lower: bool, transpose: bool) -> Array:
    flat = _columns("triangular_solve", a, b, columns)
    upper = lower if transpose else not lower
    return torch.linalg.solve_triangular(a.mT if transpose else a, flat, upper=upper).reshape(b.shape)


def _svd_vectors(a: Array) -> Array:
    left, _, right = torch.linalg.svd(a, full_matrices=False)
    return torch.cat([left, right.mT], dim=-2)


def _pinv(a: Array, *rcond: float) -> Array:
    return torch.linalg.pinv(a, rtol=rcond[0]) if rcond else torch.linalg.pinv(a)


ELEMENTWISE: dict[str, Callable[..., Array]] = {
    "power": power,
    "abs": torch.abs,
    "sign": _sign,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "mod": _of_tensors(torch.remainder),
    "stop_gradient": lambda x: x.detach(),
    "barrier": lambda x: x,
    "cbrt": _cbrt,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "log": torch.log,
    "log2": torch.log2,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "asin": torch.asin,
    "acos": torch.acos,
    "atan": torch.atan,
    "atan2": _of_tensors(torch.atan2),
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "tanh": torch.tanh,
    "asinh": torch.asinh,
    "acosh": torch.acosh,
    "atanh": torch.atanh,
    "hypot": _of_reals(torch.hypot),
    "sigmoid": torch.sigmoid,
    # beyond 40, log(1 + exp(x)) is x to the last bit
    "softplus": _of_reals(lambda x: torch.nn.functional.softplus(x, threshold=40.0)),
    "relu": torch.relu,
    "leaky_relu": _of_reals(lambda x: torch.nn.functional.leaky_relu(x, 0.01)),
    "elu": _of_reals(torch.nn.functional.elu),
    "gelu": _gelu,
    "silu": _of_reals(torch.nn.functional.silu),
    "logaddexp": _of_reals(torch.logaddexp),
    "erf": torch.erf,
    "erfc": torch.erfc,
    "erfinv": torch.special.erfinv,
    "ndtri": torch.special.ndtri,
    "log_ndtr": _log_ndtr,
    "lgamma": torch.lgamma,
    "digamma": torch.digamma,
    "polygamma": polygamma,
    "maximum": _of_tensors(torch.maximum),
    "minimum": _of_tensors(torch.minimum),
    "where": where,
    # operators, which take numbers on either side
    "less": operator.lt,
    "less_equal": operator.le,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
FUNCTIONS: dict[str, Callable[..., Array]] = {
    "prod": lambda x: torch.prod(x, dim=-1),
    "max": _extreme("max", torch.amax),
    "min": _extreme("min", torch.amin),
    "argmax": _extreme("argmax", torch.argmax),
    "argmin": _extreme("argmin", torch.argmin),
    "hardmax": _shares("hardmax", torch.amax),
    "hardmin": _shares("hardmin", torch.amin),
    "any": lambda x: torch.any(x, dim=-1),
    "all": lambda x: torch.all(x, dim=-1),
    "logsumexp": lambda x: torch.logsumexp(x, dim=-1),
    "softmax": lambda x: torch.softmax(_real(x), dim=-1),
    "log_softmax": lambda x: torch.log_softmax(_real(x), dim=-1),
    "cumsum": lambda x: torch.cumsum(x, dim=-1),
    "cumprod": lambda x: torch.cumprod(x, dim=-1),
    "sort": lambda x: torch.sort(x, dim=-1, stable=True).values,
    "argsort": lambda x: torch.argsort(x, dim=-1, stable=True),
    "det": _linalg("det", torch.linalg.det),
    "logdet": _linalg("logdet", lambda a: torch.linalg.slogdet(a).logabsdet),
    "slogdet_sign": _linalg("slogdet_sign", lambda a: torch.linalg.slogdet(a).sign),
    "inv": _linalg("inv", torch.linalg.inv),
    "solve": _linalg("solve", solve),
    "triangular_solve": _linalg("triangular_solve", triangular_solve),
    "cholesky": _linalg("cholesky", lambda a: torch.linalg.cholesky(_symmetric_part(a))),
    "eigvalsh": _linalg("eigvalsh", lambda a: torch.linalg.eigvalsh(_symmetric_part(a))),
    "eigh_vectors": _linalg(
        "eigh_vectors", lambda a, uplo="L": torch.linalg.eigh(_symmetric_part(a), UPLO=uplo).eigenvectors
    ),
    "svdvals": _linalg("svdvals", torch.linalg.svdvals, square=False),
    "expm": _linalg("expm", torch.linalg.matrix_exp),
    "svd_vectors": _linalg("svd_vectors", _svd_vectors, square=False),
    "qr_q": _linalg("qr_q", lambda a: torch.linalg.qr(a).Q, square=False),
    "pinv": _linalg("pinv", _pinv, square=False),
}
