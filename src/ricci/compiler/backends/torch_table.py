"""PyTorch's way of computing the rows, where that is not one of its functions; see ``libraries.py``.

Rows run on the device and in the type of their operands, and inside ``torch.compile``, ``torch.func`` and autograd:
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

from ricci.compiler.backends.libraries import Array, Library, Table, elementwise_table, found, right_sides
from ricci.errors import MissingPackageError
from ricci.expr import Op

try:  # where PyTorch is missing, ``import torch`` would be this very file to type checkers
    torch: Any = import_module("torch")
except ImportError as error:
    raise MissingPackageError("The torch backend needs PyTorch; install it: pip install torch.") from error

_FAR = 1e8  # from here on two terms of the series of the zeta function are exact

# Elementwise


def _floating(x: Array) -> bool:
    return x.is_floating_point() or x.is_complex() if isinstance(x, torch.Tensor) else isinstance(x, float)


def complex_of(floating: str) -> Any:
    """The type of complex numbers made of such floats."""
    return {"float64": torch.complex128, "float16": torch.complex32}.get(floating, torch.complex64)


def _abs2(z: Array) -> Array:
    return z.real * z.real + z.imag * z.imag if z.is_complex() else torch.square(z)


def _part(name: str) -> Callable[[Array], Array]:
    """A part of complex numbers, in memory of its own; real ones have no imaginary part."""

    def call(z: Array) -> Array:
        if z.is_complex():
            return getattr(z, name).clone()
        return z.clone() if name == "real" else torch.zeros_like(z)

    return call


def _angle(z: Array) -> Array:
    """Of negative numbers, -0 among them, it is pi."""
    return torch.angle(z) if z.is_complex() else torch.atan2(torch.zeros_like(_real(z)), _real(z))


def _real(x: Array) -> Array:
    """``x`` in a floating type: its own, or else the default."""
    if _floating(x):
        return x
    return x.to(torch.get_default_dtype()) if isinstance(x, torch.Tensor) else float(x)


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


def _sign(x: Array) -> Array:
    return torch.sgn(x) if x.is_complex() else torch.where(torch.isnan(x), x, torch.sign(x))


def _cbrt(x: Array) -> Array:
    return torch.copysign(torch.abs(x) ** (1 / 3), x)


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


# Over axes


def _triangular_solve(a: Array, b: Array, columns: int, lower: bool, transpose: bool) -> Array:
    flat = right_sides("triangular_solve", a, b, columns)
    upper = lower if transpose else not lower
    return torch.linalg.solve_triangular(a.mT if transpose else a, flat, upper=upper).reshape(b.shape)


# The tables


def _native(op: Op) -> Any:
    """PyTorch's function, of operands that it takes; comparisons are operators, which take numbers on either side."""
    if op.sign:
        return _OPERATORS.get(op.sign)
    f = found(torch, op.torch or op.name)
    if f is None or (op.arity == 1 and not op.torch.startswith("nn.")):
        return f
    return _of_tensors(f) if op.type == "same" else _of_reals(f)


_OPERATORS = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne}
TORCH = Library(
    torch,
    axis="dim",
    name=lambda op: op.torch or op.numpy or op.name,
    floating=_floating,
    real=_real,
    cast=lambda x, dtype: x.to(dtype),
    strict=True,
    laid=lambda x: x.contiguous(),
    like=lambda values, x: torch.as_tensor(values, dtype=x.dtype, device=x.device),
)
ELEMENTWISE: Table = elementwise_table(
    _native,
    {
        "power": TORCH.power,
        "abs2": _abs2,
        "real": _part("real"),
        "imag": _part("imag"),
        "angle": _angle,
        "sign": _sign,
        "stop_gradient": lambda x: x.detach(),
        "cbrt": _cbrt,
        # beyond 40, log(1 + exp(x)) is x to the last bit
        "softplus": _of_reals(lambda x: torch.nn.functional.softplus(x, threshold=40.0)),
        "log_ndtr": _log_ndtr,
        "polygamma": polygamma,
        "where": where,
    },
    torch.where,
)
FUNCTIONS: Table = TORCH.over_axes(
    {
        "hardmax": TORCH.shares("hardmax", torch.amax),
        "hardmin": TORCH.shares("hardmin", torch.amin),
        "logsumexp": lambda x: torch.logsumexp(x, dim=-1),
        "softmax": lambda x: torch.softmax(_real(x), dim=-1),
        "log_softmax": lambda x: torch.log_softmax(_real(x), dim=-1),
        "sort": lambda x: torch.sort(x, dim=-1, stable=True).values,
        "argsort": lambda x: torch.argsort(x, dim=-1, stable=True),
        "triangular_solve": _triangular_solve,
        "expm": torch.linalg.matrix_exp,
        "bfft": lambda x, columns=0: TORCH._bfft(x).resolve_conj(),
        "half_fft": lambda x, sign=1: torch.fft.rfft(x) if sign > 0 else torch.fft.rfft(x).conj_physical(),
        "expm_along": lambda a, e, columns: TORCH.expm_along(torch.linalg.matrix_exp, a, e, columns),
    }
)
