"""Matrices whose entries depend on ``(i - j) mod n`` alone: they are multiplied and solved by Fourier transforms.

That is the derivative of a filter, ``ifft(h fft(x))``. All there is to know of it is its first column ``c``, so that is
the one core. It stands in two terms, ``c[k] [k == i - j]`` and ``c[k] [k == i - j + n]``, which is what everything else
that is done with compressed results goes by. Products with vectors and solutions go by the convolution theorem:

    fft(C v) = fft(c) fft(v)        fft(x) = fft(b) / fft(c)

in time ``n log n``; of the transpose the spectrum is that of ``c`` backwards, ``bfft(c)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ricci.compiler.compressed.parts import Parts
from ricci.compiler.compressed.parts_terms import Factor, Term, renamed
from ricci.compiler.compressed.shell import Shell, is_complex
from ricci.expr import (
    Elementwise,
    Expr,
    Function,
    Product,
    Size,
    Sum,
    add,
    elementwise,
    function,
    product,
    reciprocal,
    scale,
    topological,
)
from ricci.expr.dims import Atom, evaluate
from ricci.expr.moving import flipped, placed, rolled, sliced
from ricci.expr.structures import affine, is_delta, place
from ricci.functions.complexes import real
from ricci.functions.fourier import bfft, fft, hermitian_weights

_BACK = {"fft": "bfft", "bfft": "fft", "hermitian_fft": "half_fft"}  # a transform, and what undoes it


class CirculantParts(Parts):
    """A first column, and the two terms that it stands in."""


def circulant(root: Expr, env: Mapping[Atom, int]) -> CirculantParts | None:
    """A matrix of this form taken apart; None where it is not seen to be one."""
    shape = [n if isinstance(n, int) else evaluate(n, env) for n in root.shape]
    if len(shape) != 2 or shape[0] != shape[1] or root.shape[0] is not root.shape[1] or shape[0] < 2:
        return None
    transformed = any(isinstance(node, Function) and node.op.name in _BACK for node in topological(root))
    column = _column(root) if transformed else None
    if column is None:
        return None
    n = root.shape[0]
    terms = [Term(1, (_apart_by(start, n), (column, (2,)))) for start in (0, n)]
    return CirculantParts(2, tuple(terms), dict.fromkeys(range(3), shape[0]), dict.fromkeys(range(3), n))


def _apart_by(start: Size, n: Size) -> Factor:
    """The structure ``k == i - j + start``, of which the labels are 2, 0 and 1."""
    e, labels = affine("==", (-1, 1, -1), start, (n, n, n)), (2, 0, 1)
    if not isinstance(e, Product):
        return e, labels
    names = dict(zip(e.out, labels, strict=True))
    return e.args[0], tuple([names[x] for x in e.labels[0]])


def _column(e: Expr) -> Expr | None:
    """The first column of what is circulant."""
    if is_delta(e):
        return place(0, e.shape[0])
    if isinstance(e, Sum):
        parts = [_column(a) for a in e.args]
        return None if None in parts else add(list(zip(e.coefs, parts, strict=True)))  # type: ignore[arg-type]
    if isinstance(e, Elementwise):
        found = [a if not a.shape else _column(a) for a in e.args]
        return None if None in found else elementwise(e.op, *found)  # type: ignore[arg-type]
    if isinstance(e, Function):
        return None if e.op.name not in _BACK else _of_transform(e)
    if not isinstance(e, Product) or e.sums:
        return None
    columns = []
    for a, labels in e.factors():
        own = _column(a) if len(a.shape) == 2 else a if not a.shape else None
        if own is None or len(set(labels)) != len(labels):
            return None
        columns.append((own if labels in ((), tuple(e.out)) else _backwards(own), ("i",) if labels else ()))
    return product(columns, ("i",), {"i": e.shape[0]})


def _backwards(column: Expr) -> Expr:
    """The first column of the transpose."""
    return rolled(flipped(column, 0), 0, 1)


def _of_transform(e: Function) -> Expr | None:
    """Of ``F[a,j]``, the transform along ``k`` of ``d[k] M[a,k]``, where ``M`` is the matrix of its inverse.

    It depends on ``j - a``, and for ``a`` equal to 0, where ``M`` is 1, it is the transform of ``d``: the first row.
    """
    outer, inner = _unscaled(e.args[0])
    if not isinstance(inner, Product) or inner.sums:
        return None
    a, k = inner.out
    factors = list(inner.factors())
    own = [p for p, (_, labels) in enumerate(factors) if a in labels]
    if len(own) != 1 or factors[own[0]][1] != (a, k):
        return None
    coef, matrix = _unscaled(factors[own[0]][0])
    if not _undoes(matrix, e):
        return None
    rest = [factor for p, factor in enumerate(factors) if p != own[0]]
    weights = product(rest, (k,), {k: inner.shape[1]})
    return _backwards(scale(outer, scale(coef, function(e.op, (weights,), e.params))))


def _unscaled(e: Expr) -> tuple[Any, Expr]:
    return (e.coefs[0], e.args[0]) if isinstance(e, Sum) and len(e.args) == 1 else (1, e)


def _undoes(matrix: Expr, e: Function) -> bool:
    if not isinstance(matrix, Function) or matrix.op.name != _BACK[e.op.name] or not is_delta(matrix.args[0]):
        return False
    return e.op.name != "hermitian_fft" or matrix.params[0] == -e.params[1]


class CirculantShell(Shell):
    """The shell of such a matrix, or of its transpose."""

    turned = False

    @property
    def form(self) -> str:  # type: ignore[override]
        return "circulant"

    def __reduce__(self):
        return _rebuilt, (*super().__reduce__()[1], self.turned)

    def times(self, cores: tuple, v: Any, count: int, last: bool) -> Any:
        if count != 1:
            return super().times(cores, v, count, last)
        key = "times by transforms", v.ndim, last
        return self._called(key, lambda: self._transformed(v, back=last == self.turned, divide=False), cores, v)

    def solve(self, cores: tuple, b: Any) -> Any:
        def build() -> Expr:
            return self._transformed(b, back=self.turned, divide=True)

        return self._checked(cores, b, self._called(("solve by transforms", b.ndim), build, cores, b))

    def _singular(self, cores: tuple) -> str:
        return "the spectrum of c, which is circulant, has an entry that is zero to working precision"

    def transposed(self) -> Shell:
        if self._transposed is None:
            terms = tuple([Term(t.coef, renamed(t.factors, {0: 1, 1: 0})) for t in self.terms])
            names = {**self.names, 0: self.names[1], 1: self.names[0]}
            self._transposed = _rebuilt(self.shape, terms, names, self.text, self.target, self.rows, not self.turned)
        return self._transposed

    def _transformed(self, v: Any, back: bool, divide: bool) -> Expr:
        """The product with ``v``, or the solution, with the spectrum of the column, or of it backwards."""
        (column,) = {e for e, labels in self.terms[0].factors if len(labels) == 1}
        n, vector = self.shape[0], self._v((0,), v)
        axes = tuple(range(vector.order))
        whole = column.complex or is_complex(v)
        if whole:
            spectrum, signal = function(bfft if back else fft, (column,), (0,)), function(fft, (vector,), (v.ndim - 1,))
        else:
            spectrum = sliced(function(bfft if back else fft, (column,), (0,)), 0, 0, 1, n // 2 + 1)
            signal = sliced(function(fft, (vector,), (v.ndim - 1,)), 0, 0, 1, n // 2 + 1)
        factors = [(reciprocal(spectrum) if divide else spectrum, axes[:1]), (signal, axes)]
        if whole:
            return function(bfft, (product(factors, axes),), (v.ndim - 1,)) / n
        half = product([*factors, (hermitian_weights(n), axes[:1])], axes)
        return real(function(bfft, (placed(half, 0, 0, n),), (v.ndim - 1,))) / n


def _rebuilt(*args: Any) -> Shell:
    """A shell that may be that of a transpose, which the last argument says."""
    *parts, turned = args
    made = CirculantShell(*parts)
    made.turned = turned
    return made
