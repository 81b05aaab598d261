"""How a library of arrays computes the rows: by its own functions of their names, wherever it has them.

A table of a backend is made here, from the rows and from the exceptions of the backend. An elementwise row is an
exception, or what the library calls it, or its definition by other rows. Functions over axes act on the last axes, in
parallel over the leading ones, and take the parameters of their node last; they are written here once, of functions
that libraries have in common. What Python decides in them depends on shapes and types, never on values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ricci.errors import ShapeError
from ricci.expr import OPS, POWER, ROWS, Op
from ricci.functions import FUNCTIONS

Array = Any
Table = dict[str, Callable[..., Array]]
assert FUNCTIONS  # the rows are there


def found(root: Any, path: str) -> Any:
    """What a module has under a path with dots, or None."""
    for name in path.split("."):
        root = getattr(root, name, None)
    return root


class Definitions:
    """The rows of a table, for definitions by other rows; conditions in them are truth values."""

    def __init__(self, table: Table, where: Callable[..., Array]):
        self.table, self.where = table, where

    def __getattr__(self, name: str) -> Callable[..., Array]:
        setattr(self, name, self.table[name])
        return self.table[name]


def elementwise_table(native: Callable[[Op], Any], own: Mapping[str, Callable], where: Callable[..., Array]) -> Table:
    """For each elementwise row what computes it; ``native`` is what the library has for a row, or None."""
    table: dict[str, Any] = {}
    for name, op in OPS.items():
        if op.kind == "elementwise":
            function = own.get(name) or native(op)
            if function is None and op.by is not None:
                function = _defined(op.by, Definitions(table, where))
            table[name] = function
    return table


def _defined(by: Callable[..., Any], rows: Definitions) -> Callable[..., Array]:
    return lambda *args: by(rows, *args)


@dataclass(frozen=True)
class Library:
    """What differs between libraries, other than names."""

    xp: Any  # its functions
    axis: str  # what they call an axis
    name: Callable[[Op], str]  # of a row among them
    floating: Callable[[Array], bool]  # of arrays and numbers
    real: Callable[[Array], Array]  # in a floating type: its own, or else the default
    cast: Callable[[Array, Any], Array]
    negative: Callable[[Array], Any] = lambda n: not (isinstance(n, int) and n >= 0)  # whether it may be, somewhere
    like: Callable[[list, Array], Array] = lambda values, x: values  # numbers as an array beside another one
    strict: bool = False  # operands of one type only
    laid: Callable[[Array], Array] = lambda x: x  # matrices as LAPACK wants them in memory
    fixed: Callable[[Array], Array] = lambda x: x  # through which no derivative goes
    once: Callable[[Array], Array] | None = None  # what a compiler does not compute anew for each use
    transforms: Callable[[], Any] | None = None  # gives what has the Fourier transforms, if that is not ``xp.fft``

    @property
    def fft(self) -> Any:
        return self.xp.fft if self.transforms is None else self.transforms()

    def over_axes(self, own: Mapping[str, Callable[..., Array]]) -> Table:
        """For each row over axes what computes it: an exception, what is written here, or a function of its name."""
        table: Table = {}
        for op in _over_axes():
            function = own.get(op.name) or getattr(self, f"_{op.name}", None) or self.of_waves(op.name)
            if op.kind == "matrix":
                table[op.name] = self._of_matrices(op, function or found(self.xp, self.name(op)))
            else:
                table[op.name] = function or self._along(op, found(self.xp, self.name(op)))
        return table

    def power(self, x: Array, n: Array) -> Array:
        """``x ** n``; where integers may get a negative power, fractions."""
        if isinstance(n, (int, float)):
            if n == 2:
                return x * x
            if n == -1:
                return 1.0 / x
            if n == 0.5:
                return self.xp.sqrt(x)
        if not self.floating(x) and not self.floating(n) and self.negative(n):
            x = self.real(x)
        return found(self.xp, self.name(POWER))(x, n)

    # Along one axis

    def _along(self, op: Op, f: Callable[..., Array]) -> Callable[..., Array]:
        last = {self.axis: -1}

        def call(x: Array) -> Array:
            return f(_not_empty(op.name, x) if op.nonempty else x, **last)

        return call

    def shares(self, name: str, extreme: Callable[..., Array]) -> Callable[..., Array]:
        """One, shared by the entries that are extreme; NaN all along where one of them is."""
        largest = self._along(OPS[name], extreme)

        def call(x: Array, further: int = 0) -> Array:
            lead, dtype = x.ndim - further - 1, self.real(x[:0]).dtype
            entries = self.fixed(x.reshape(*x.shape[:lead], math.prod(x.shape[lead:])))
            entries = entries if self.once is None else self.once(entries)
            hits = entries == largest(entries)[..., None]
            count = self.cast(hits.sum(-1), dtype)[..., None]
            shares = self.cast(hits, dtype) / count
            if self.once is not None:  # where 0/0 is NaN, but not to compilers
                shares = self.xp.where(count > 0, shares, math.nan)
            return shares.reshape(x.shape)

        return call

    def _shift(self, x: Array) -> Array:
        """The largest entry, to be taken off before exponentials; 0 where it is not finite."""
        top = self.xp.max(self.fixed(x), axis=-1, keepdims=True, initial=-math.inf)
        return self.xp.where(self.xp.isfinite(top), top, 0)

    def _prod_before(self, x: Array) -> Array:
        return self.xp.concatenate([self.xp.ones_like(x[..., :1]), self._products(x[..., :-1])], axis=-1)

    def _prod_after(self, x: Array) -> Array:
        return self.xp.flip(self._prod_before(self.xp.flip(x, (-1,))), (-1,))

    def _products(self, x: Array) -> Array:
        return self.xp.cumprod(x, **{self.axis: -1})

    def _recurrence(self, a: Array, b: Array, columns: int) -> Array:
        """``y[i+1] = a[i] y[i] + b[i]`` by doubling: with each pass an entry has what comes from twice as far."""
        xp, axis = self.xp, b.ndim - 1 - columns
        factors, steps = xp.moveaxis(a.reshape(*a.shape, *[1] * columns), (axis,), (0,)), xp.moveaxis(b, (axis,), (0,))
        factors, y, span = factors[:-1], steps[:-1], 1
        while span < len(y):
            y = xp.concatenate([y[:span], y[span:] + factors[span:] * y[:-span]])
            factors = xp.concatenate([factors[:span], factors[span:] * factors[:-span]])
            span *= 2
        return xp.moveaxis(xp.concatenate([xp.zeros_like(steps[:1]), y]), (0,), (axis,))

    def _recurrence_back(self, a: Array, b: Array, columns: int) -> Array:
        axis = b.ndim - 1 - columns
        return self.xp.flip(self._recurrence(self.xp.flip(a, (-1,)), self.xp.flip(b, (axis,)), columns), (axis,))

    def _logsumexp(self, x: Array) -> Array:
        x = self.real(x)
        shift = self._shift(x)
        return self.xp.log(self.xp.sum(self.xp.exp(x - shift), axis=-1)) + shift[..., 0]

    def _softmax(self, x: Array) -> Array:
        x = self.real(x)
        weights = self.xp.exp(x - self._shift(x))
        return weights / self.xp.sum(weights, axis=-1, keepdims=True)

    def _log_softmax(self, x: Array) -> Array:
        x = self.real(x)
        shifted = x - self._shift(x)
        return shifted - self.xp.log(self.xp.sum(self.xp.exp(shifted), axis=-1, keepdims=True))

    # Fourier transforms; cosines and sines by those of signals that are made even or odd

    def _fft(self, x: Array, columns: int = 0) -> Array:
        return self.fft.fft(_not_empty("fft", x))

    def _bfft(self, x: Array, columns: int = 0) -> Array:
        return self.fft.ifft(_not_empty("bfft", x), norm="forward")

    def _half_fft(self, x: Array, sign: int = 1) -> Array:
        found = self.fft.rfft(x)
        return found if sign > 0 else self.xp.conj(found)

    def _hermitian_fft(self, x: Array, n: int, sign: int = 1) -> Array:
        return self.fft.hfft(x, n) if sign > 0 else self.fft.irfft(x, n, norm="forward")

    def of_waves(self, name: str) -> Callable[..., Array] | None:
        """A transform by cosines or sines, of complex numbers part by part."""
        if name not in WAVES:
            return None

        def call(x: Array, columns: int = 0) -> Array:
            x = _not_empty(name, self.real(x))
            if "complex" not in str(x.dtype):
                return WAVES[name](self, x)
            return WAVES[name](self, x.real) + 1j * WAVES[name](self, x.imag)

        return call

    # Of matrices

    def _of_matrices(self, op: Op, f: Callable[..., Array]) -> Callable[..., Array]:
        """``f`` on matrices of a type that LAPACK knows, the result in the type of the operands."""

        def call(a: Array, *rest: Array) -> Array:
            if not op.rectangular and a.shape[-1] != a.shape[-2]:
                raise ShapeError(f"{op.name} is for square matrices; this operand has the shape {tuple(a.shape)}.")
            a = self.laid(self.real(a))
            narrow = a.dtype.itemsize <= 2
            wide = self.xp.float32 if narrow else a.dtype
            if narrow or self.strict:
                rest = tuple([self.cast(r, wide) if hasattr(r, "dtype") else r for r in rest])
            found = f(self.cast(a, wide), *rest) if narrow else f(a, *rest)
            return self.cast(found, a.dtype) if narrow and op.complex != "always" else found

        return call

    def _logdet(self, a: Array) -> Array:
        return self.xp.linalg.slogdet(a)[1]

    def _slogdet_sign(self, a: Array) -> Array:
        return self.xp.linalg.slogdet(a)[0]

    def _cholesky(self, a: Array, triangle: str = "") -> Array:
        return self.xp.linalg.cholesky(self._whole(a, triangle))

    def _eigvalsh(self, a: Array, triangle: str = "") -> Array:
        return self.xp.linalg.eigvalsh(self._whole(a, triangle))

    def _eigh_vectors(self, a: Array, triangle: str = "") -> Array:
        return self.xp.linalg.eigh(self._whole(a, triangle), UPLO=triangle or "L")[1]

    def _whole(self, a: Array, triangle: str) -> Array:
        """The symmetric part, or the matrix that has one triangle of ``a``; complex ones are hermitian as they are."""
        if "complex" in str(a.dtype):
            return a
        if not triangle:
            return (a + a.mT) / 2
        return self.xp.tril(a) + self.xp.tril(a, -1).mT if triangle == "L" else self.xp.triu(a) + self.xp.triu(a, 1).mT

    def _svd_vectors(self, a: Array) -> Array:
        left, _, right = self.xp.linalg.svd(a, full_matrices=False)
        return self.xp.concatenate([left, self.turned(right)], axis=-2)

    def turned(self, a: Array) -> Array:
        """The transposes of matrices, with the conjugates of their entries."""
        return self.xp.conj(a.mT) if "complex" in str(a.dtype) else a.mT

    def _eigvals(self, a: Array) -> Array:
        return self._in_complex(
            self.xp.linalg.eig(a)[0]
        )  # the order is that of the vectors, which eigvals may not keep

    def _eig_vectors(self, a: Array) -> Array:
        return self._in_complex(self.xp.linalg.eig(a)[1])

    def _in_complex(self, x: Array) -> Array:
        return x if "complex" in str(x.dtype) else x + 0j

    def _qr_q(self, a: Array) -> Array:
        return self.xp.linalg.qr(a)[0]

    def _pinv(self, a: Array, *rcond: float) -> Array:
        return self.xp.linalg.pinv(a, rtol=rcond[0]) if rcond else self.xp.linalg.pinv(a)

    def expm_along(self, expm: Callable[[Array], Array], a: Array, e: Array, columns: int) -> Array:
        """The corner of ``expm([[a, e], [0, a]])``, for each place along the further axes of ``e``."""
        n, lead = a.shape[-1], a.ndim - 2
        steps = e.reshape(*e.shape[: lead + 2], math.prod(e.shape[lead + 2 :]))
        steps = self.xp.moveaxis(steps, (-1,), (lead,))
        matrix = self.xp.broadcast_to(a[..., None, :, :], steps.shape)
        above = self.xp.concatenate([matrix, steps], axis=-1)
        below = self.xp.concatenate([self.xp.zeros_like(steps), matrix], axis=-1)
        found = expm(self.xp.concatenate([above, below], axis=-2))[..., :n, n:]
        return self.xp.moveaxis(found, (lead,), (-1,)).reshape(e.shape)

    def _solve(self, a: Array, b: Array, columns: int) -> Array:
        return self.xp.linalg.solve(a, right_sides("solve", a, b, columns)).reshape(b.shape)


def _not_empty(name: str, x: Array) -> Array:
    if x.shape[-1] == 0:
        raise ShapeError(f"{name} has no value over an axis of size 0; the operand has the shape {tuple(x.shape)}.")
    return x


# Transforms by cosines and sines, of real numbers, by Fourier's of signals that are made even or odd. Those by sines
# are those by cosines of the signal backwards, or with every other sign changed.


def _joined(library: Library, *parts: Array) -> Array:
    return library.xp.concatenate(parts, axis=-1)


def _back(library: Library, x: Array) -> Array:
    return library.xp.flip(x, (-1,))


def _angles(library: Library, x: Array, steps: Iterable[int], whole: int) -> tuple[Array, Array]:
    """Cosines and sines of ``pi step / whole``."""
    angles = [math.pi * step / whole for step in steps]
    return library.like([math.cos(a) for a in angles], x), library.like([math.sin(a) for a in angles], x)


def _alternating(library: Library, x: Array) -> Array:
    return library.like([1.0 - 2 * (k % 2) for k in range(x.shape[-1])], x)


def _dct1(library: Library, x: Array) -> Array:
    return library.xp.fft.rfft(_joined(library, x, _back(library, x[..., 1:-1]))).real


def _dct2(library: Library, x: Array) -> Array:
    n = x.shape[-1]
    cos, sin = _angles(library, x, range(n), 2 * n)
    found = library.xp.fft.rfft(_joined(library, x, _back(library, x)))[..., :n]
    return found.real * cos + found.imag * sin


def _dct3(library: Library, x: Array) -> Array:
    n = x.shape[-1]
    cos, sin = _angles(library, x, range(n), 2 * n)
    return library.xp.fft.irfft(x * cos + 1j * (x * sin), 2 * n, norm="forward")[..., :n]


def _dct4(library: Library, x: Array) -> Array:
    n = x.shape[-1]
    cos, sin = _angles(library, x, range(n), 2 * n)
    found = library.xp.fft.fft(x * cos - 1j * (x * sin), 2 * n)[..., :n]
    cos, sin = _angles(library, x, range(1, 2 * n, 2), 4 * n)
    return 2 * (found.real * cos + found.imag * sin)


def _dst1(library: Library, x: Array) -> Array:
    nothing = x[..., :1] * 0
    return -library.xp.fft.rfft(_joined(library, nothing, x, nothing, -_back(library, x))).imag[
        ..., 1 : x.shape[-1] + 1
    ]


WAVES: dict[str, Callable[[Library, Array], Array]] = {
    "dct1": _dct1,
    "dct2": _dct2,
    "dct3": _dct3,
    "dct4": _dct4,
    "dst1": _dst1,
    "dst2": lambda library, x: _back(library, _dct2(library, x * _alternating(library, x))),
    "dst3": lambda library, x: _dct3(library, _back(library, x)) * _alternating(library, x),
    "dst4": lambda library, x: _dct4(library, _back(library, x)) * _alternating(library, x),
}


def _over_axes() -> Iterable[Op]:
    yield from [op for op in OPS.values() if op.kind != "elementwise"]
    yield ROWS["cumsum"]  # which products with triangles become


def right_sides(name: str, a: Array, b: Array, columns: int) -> Array:
    """The right sides as a matrix for each one of ``a``."""
    lead = b.ndim - columns
    if b.shape[lead - 1] != a.shape[-1]:
        raise ShapeError(f"{name}: the matrix has the shape {tuple(a.shape)}, the right side {tuple(b.shape)}.")
    return b.reshape(*b.shape[:lead], math.prod(b.shape[lead:]))
