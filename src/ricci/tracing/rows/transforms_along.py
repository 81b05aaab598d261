"""``np.fft`` and ``scipy.fft``: transforms along axes, by the rows of ``ricci.functions.fourier`` and movements.

    ifft    bfft / n                        rfft    the first half of fft, of a real signal
    fftn    fft along one axis after another    irfft   the real part of bfft / n, of w x with zeros behind it

where ``w`` is 1, 2, 2, …: how often an entry of the half stands in the whole. So a derivative of ``rfft`` is a
transform of a half with zeros behind it, and is computed as one: see ``compiler/prepare/spectra.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ricci.errors import DTypeError, InputError, ShapeError, TraceError
from ricci.expr import HALF, Expr, constant, moving, power, product
from ricci.expr.build.conjugates import conj
from ricci.expr.structures import place
from ricci.functions import fourier as f
from ricci.functions.complexes import real
from ricci.tracing.array import Traced
from ricci.tracing.basics import FLOAT, complex_type, floating, fresh, like, normal_axis, real_type
from ricci.tracing.lowerings import lowers

_SHARES = {"backward": (0, 1), "ortho": (HALF, HALF), "forward": (1, 0)}  # of 1/n, forwards and back


def _type(x: Traced) -> np.dtype:
    """The type of a transform: complex, of the precision of the operand."""
    return complex_type(x.dtype if x.dtype.kind in "fc" else FLOAT)


def _real_type(x: Traced) -> np.dtype:
    return real_type(_type(x))


def _scaled(name: str, e: Expr, n: int, norm: Any, back: bool) -> Expr:
    """A transform of ``n`` entries in this norm, from one that is not normalised."""
    norm = "backward" if norm is None else norm
    if norm not in _SHARES:
        raise InputError(f'{name}: norm is "backward", "ortho" or "forward", not {norm!r}.')
    share = _SHARES[norm][back]
    if not share:
        return e
    return Fraction(1, n) * e if share == 1 else power(constant(n), -HALF) * e


def _sized(name: str, e: Expr, axis: int, n: int) -> Expr:
    """The axis cropped to ``n`` entries, or with zeros behind it."""
    if n < 1:
        raise ShapeError(f"{name}: there is no transform of {n} entries.")
    if n < e.shape[axis]:  # type: ignore[operator]
        return moving.sliced(e, axis, 0, 1, n)
    return moving.placed(e, axis, 0, n)


def _whole(name: str, e: Expr, n: Any, axis: int, norm: Any, back: bool) -> Expr:
    size: Any = e.shape[axis] if n is None else int(n)
    found = f.along_axis(f.bfft if back else f.fft, _sized(name, e, axis, size), axis)
    return _scaled(name, found, size, norm, back)


def _to_half(name: str, e: Expr, n: Any, axis: int, norm: Any) -> Expr:
    if e.complex:
        raise DTypeError(f"{name} is for real numbers; np.fft.fft takes complex ones.")
    whole = _whole(name, e, n, axis, norm, back=False)
    return moving.sliced(whole, axis, 0, 1, whole.shape[axis] // 2 + 1)  # type: ignore[operator]


def _from_half(name: str, e: Expr, n: Any, axis: int, norm: Any, back: bool = True) -> Expr:
    """The real signal that this is half of the spectrum of."""
    size: Any = 2 * (e.shape[axis] - 1) if n is None else int(n)  # type: ignore[operator]
    if size < 1:
        raise ShapeError(f"{name}: there is no transform of {size} entries.")
    half = _sized(name, e, axis, size // 2 + 1)
    weighted = product([(half, range(half.order)), (f.hermitian_weights(size), (axis,))], range(half.order))
    found = f.along_axis(f.bfft if back else f.fft, moving.placed(weighted, axis, 0, size), axis)
    return _scaled(name, real(found), size, norm, back)


def _lowered(name: str, module: Any, build: Callable[[str, Expr, Any, int, Any], Expr], kind: str) -> None:
    """A row for a transform along one axis."""
    function = getattr(module, name)
    label = _label(module, name)

    def lower(x: Traced, n: Any = None, axis: Any = -1, norm: Any = None) -> Traced:
        if not x.ndim:
            raise ShapeError(f"{label} works along an axis; this array has none.")
        found = build(label, x.expr, n, normal_axis(x, axis), norm)
        return fresh(found, _type(x) if kind == "c" else _real_type(x))

    lowers(function)(lower)


def _label(module: Any, name: str) -> str:
    return f"{'np' if module.__name__.startswith('numpy') else 'scipy'}.fft.{name}"


def _axes(name: str, x: Traced, s: Any, axes: Any) -> tuple[list[Any], list[int]]:
    """The sizes along axes, and these."""
    sizes = None if s is None else [int(n) for n in s]
    if axes is None:
        chosen = list(range(x.ndim) if sizes is None else range(x.ndim - len(sizes), x.ndim))
    else:
        chosen = [normal_axis(x, axis) for axis in axes]
    if sizes is not None and len(sizes) != len(chosen):
        raise InputError(f"{name}: there are {len(sizes)} sizes for {len(chosen)} axes.")
    return [None] * len(chosen) if sizes is None else [None if n == -1 else n for n in sizes], chosen


def _over_several(name: str, module: Any, defaults: Any, lower_axes: Callable[..., Expr], kind: str) -> None:
    """A row for a transform along several axes, those of ``defaults`` if none are named."""
    label = _label(module, name)

    def lower(x: Traced, s: Any = None, axes: Any = defaults, norm: Any = None) -> Traced:
        sizes, chosen = _axes(label, x, s, axes)
        if not chosen:
            raise ShapeError(f"{label} works along axes; name at least one.")
        return fresh(lower_axes(label, x.expr, sizes, chosen, norm), _type(x) if kind == "c" else _real_type(x))

    lowers(getattr(module, name))(lower)


def _all_axes(back: bool) -> Callable[..., Expr]:
    def build(name: str, e: Expr, sizes: Sequence[Any], axes: Sequence[int], norm: Any) -> Expr:
        for n, axis in reversed([*zip(sizes, axes, strict=True)]):
            e = _whole(name, e, n, axis, norm, back)
        return e

    return build


def _half_of_last(name: str, e: Expr, sizes: Sequence[Any], axes: Sequence[int], norm: Any) -> Expr:
    e = _to_half(name, e, sizes[-1], axes[-1], norm)
    return _all_axes(False)(name, e, sizes[:-1], axes[:-1], norm) if axes[:-1] else e


def _from_half_of_last(name: str, e: Expr, sizes: Sequence[Any], axes: Sequence[int], norm: Any) -> Expr:
    e = _all_axes(True)(name, e, sizes[:-1], axes[:-1], norm) if axes[:-1] else e
    return _from_half(name, e, sizes[-1], axes[-1], norm)


_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _swapped(name: str, norm: Any) -> str:
    if norm not in _SWAPPED:
        _scaled(name, constant(1), 1, norm, False)
    return _SWAPPED[norm]


def _put(module: Any) -> None:
    """The rows of a module: NumPy's or SciPy's, which have the same names."""
    of_one: list[tuple[str, Any, str]] = [
        ("fft", lambda name, e, n, axis, norm: _whole(name, e, n, axis, norm, False), "c"),
        ("ifft", lambda name, e, n, axis, norm: _whole(name, e, n, axis, norm, True), "c"),
        ("rfft", _to_half, "c"),
        ("irfft", _from_half, "r"),
        ("hfft", lambda name, e, n, axis, norm: _from_half(name, e, n, axis, norm, False), "r"),
        ("ihfft", lambda name, e, n, axis, norm: conj(_to_half(name, e, n, axis, _swapped(name, norm))), "c"),
    ]
    for name, build, kind in of_one:
        _lowered(name, module, build, kind)
    several: list[tuple[str, Any, str]] = [
        ("fft", _all_axes(False), "c"),
        ("ifft", _all_axes(True), "c"),
        ("rfft", _half_of_last, "c"),
        ("irfft", _from_half_of_last, "r"),
    ]
    for name, build, kind in several:
        _over_several(f"{name}2", module, (-2, -1), build, kind)
        _over_several(f"{name}n", module, None, build, kind)


def _frequencies(function: Any) -> None:
    def lower(n: Any, d: Traced) -> Any:
        if isinstance(n, Traced):
            raise TraceError(f"np.fft.{function.__name__}: the number of entries must be known when it is traced.")
        return np.asarray(function(int(n))) / d

    lowers(function)(lower)


_put(np.fft)
_frequencies(np.fft.fftfreq)
_frequencies(np.fft.rfftfreq)


def register() -> None:
    """The rows of SciPy's functions."""
    import scipy.fft

    _put(scipy.fft)
    for name in ("dct", "idct", "dst", "idst"):
        _cosines(scipy.fft, name)


# Cosines and sines. Orthogonal ones have other ends: a factor before or behind the transform

_ROOT = power(constant(2), HALF)
_ENDS: dict[str, tuple[tuple[int, ...], bool, bool]] = {  # where, whether before, and whether behind
    "dct1": ((0, -1), True, True),
    "dct2": ((0,), False, True),
    "dct3": ((0,), True, False),
    "dst2": ((-1,), False, True),
    "dst3": ((-1,), True, False),
}
_TURNED = {2: 3, 3: 2}
_MORE = {"dct1": -1, "dst1": 1}  # of how many entries, less those that there are, half of a period is


def _ended(e: Expr, axis: int, ends: Sequence[int], factor: Expr) -> Expr:
    """The entries at the ends times a factor."""
    size: Any = e.shape[axis]
    axes = range(e.order)
    for at in dict.fromkeys([end % size for end in ends]):
        part = product([(e, axes), (place(at, size), (axis,))], axes)
        e = e + (factor - 1) * part
    return e


def _by_waves(label: str, family: str, e: Expr, kind: int, n: Any, axis: int, norm: Any, orthogonal: Any) -> Expr:
    back, name = family.startswith("i"), family.removeprefix("i")
    if kind not in (1, 2, 3, 4):
        raise InputError(f"{label}: type is 1, 2, 3 or 4, not {kind!r}.")
    own = f"{name}{_TURNED.get(kind, kind) if back else kind}"
    size: Any = e.shape[axis] if n is None else int(n)
    e = _sized(label, e, axis, size)
    ends, before, behind = _ENDS.get(own, ((), False, False))
    orthogonal = norm == "ortho" if orthogonal is None else orthogonal
    if orthogonal and before:
        e = _ended(e, axis, ends, _ROOT)
    e = f.along_axis(f.ROWS_HERE[own], e, axis)
    if orthogonal and behind:
        e = _ended(e, axis, ends, 1 / _ROOT)
    return _scaled(label, e, 2 * (size + _MORE.get(own, 0)), norm, back)


def _cosines(module: Any, name: str) -> None:
    label = _label(module, name)

    def lower(
        x: Traced, type: int = 2, n: Any = None, axis: Any = -1, norm: Any = None, orthogonalize: Any = None
    ) -> Traced:
        found = _by_waves(label, name, x.expr, type, n, normal_axis(x, axis), norm, orthogonalize)
        return like(x, found, floating(x))

    lowers(getattr(module, name))(lower)

    def lower_several(
        x: Traced, type: int = 2, s: Any = None, axes: Any = None, norm: Any = None, orthogonalize: Any = None
    ) -> Traced:
        e = x.expr
        for n, axis in zip(*_axes(f"{label}n", x, s, axes), strict=True):
            e = _by_waves(f"{label}n", name, e, type, n, axis, norm, orthogonalize)
        return like(x, e, floating(x))

    lowers(getattr(module, f"{name}n"))(lower_several)
