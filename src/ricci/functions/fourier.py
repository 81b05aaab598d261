r"""Fourier transforms along one axis, in parallel over all others; conventions of rows as in ``reductions.py``.

    fft:    y[k] = Σ exp(-2πi jk/n) x[j]          bfft: the same with exp(+2πi jk/n), so ifft is bfft over n

Nothing is normalised in the rows, so that the conjugate of one is the other of the conjugate. Their matrix is
symmetric: each is its own derivative and its own pullback. The transforms of cosines and sines are those of SciPy,
``dct1`` to ``dst4``. They are real, and their pullbacks are among them too, up to entries at the ends:

    dct2' = dct3 (1 + e₀)        dct3' = (1 - e₀/2) dct2        dct1' = (1 - e/2) dct1 (1 + e)      e: both ends
    dst2' = dst3 (1 + e₋₁)       dst3' = (1 - e₋₁/2) dst2       and dct4, dst1, dst4 are symmetric

What is the same along the axis, or has no part in it, comes out of a transform, and a transform of its inverse is
that many times the operand: the rest is as linear functions are. Columns are never kept: axes behind the one that is
transformed are axes in front of it, so that what is the same has one form.

Transforms of real signals by halves are the whole ones with half of the result, or of the operand, cut off. What is
computed by halves is seen once all is known (``compiler/prepare/spectra.py``), and gets rows that have no derivatives:
``half_fft`` and ``hermitian_fft``.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

from ricci.errors import ShapeError
from ricci.expr import (
    HALF,
    Adjoint,
    Constant,
    Data,
    Expr,
    Function,
    Op,
    Product,
    Shape,
    Size,
    Sum,
    constant,
    function,
    product,
    scale,
    zero,
)
from ricci.expr.nodes import make
from ricci.expr.structures import is_zero, place
from ricci.functions import plain
from ricci.functions.axes import Axes, positions, transpose
from ricci.functions.rows import called, short

MOST_NESTED = 8  # transforms of transforms that are looked through for the inverse

# Values on lists


def _by_entries(entry: Callable[[int, int, int], complex]) -> Callable[..., list]:
    """The transform with this matrix of ``(k, j, n)``, along the first axis, and at each place of further ones."""

    def value(x: list, columns: int = 0) -> list:
        rows, n = [plain.flat(part, columns) for part in x], len(x)
        found = [[sum(entry(k, j, n) * v for j, v in enumerate(column)) for column in zip(*rows)] for k in range(n)]
        return [plain.unflat(iter(row), part, columns) for row, part in zip(found, x, strict=True)]

    return value


def _waves(sign: int) -> Callable[[int, int, int], complex]:
    return lambda k, j, n: cmath.exp(sign * 2j * math.pi * (j * k % n) / n)


def _end(j: int, n: int) -> int:
    return 1 if j in (0, n - 1) else 2


def _cos(p: int, q: int) -> float:
    return math.cos(math.pi * (p % (2 * q)) / q)


def _sin(p: int, q: int) -> float:
    return math.sin(math.pi * (p % (2 * q)) / q)


_MATRICES: dict[str, Callable[[int, int, int], float]] = {
    "dct1": lambda k, j, n: _end(j, n) * _cos(k * j, n - 1),
    "dct2": lambda k, j, n: 2 * _cos(k * (2 * j + 1), 2 * n),
    "dct3": lambda k, j, n: (2 if j else 1) * _cos((2 * k + 1) * j, 2 * n),
    "dct4": lambda k, j, n: 2 * _cos((2 * k + 1) * (2 * j + 1), 4 * n),
    "dst1": lambda k, j, n: 2 * _sin((k + 1) * (j + 1), n + 1),
    "dst2": lambda k, j, n: 2 * _sin((k + 1) * (2 * j + 1), 2 * n),
    "dst3": lambda k, j, n: (2 if j < n - 1 else 1) * _sin((2 * k + 1) * (j + 1), 2 * n),
    "dst4": lambda k, j, n: 2 * _sin((2 * k + 1) * (2 * j + 1), 4 * n),
}

# What of an operand comes out


def _taken_out(op: Callable[[], Op], inverse: Callable[[], Op], times: Callable[[Size], Size]) -> Callable:
    """The local rule of a transform: ``inverse`` is its inverse up to the factor ``times``, of the size."""

    def rule(x: Expr, columns: int = 0) -> Expr | None:
        if columns:
            at = x.order - 1 - columns
            order = [axis for axis in range(x.order) if axis != at]
            return transpose(function(op(), (transpose(x, (*order, at)),), (0,)), _inverse((*order, at)))
        if is_zero(x):
            return zero(x.shape)
        if isinstance(x, Sum) and len(x.args) == 1:
            return scale(x.coefs[0], function(op(), x.args, (0,)))
        return _of_product(op(), x) or _of_inverse(inverse(), x, times(x.shape[-1]))

    return rule


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([order.index(axis) for axis in range(len(order))])


def _of_product(op: Op, x: Expr) -> Expr | None:
    """The factors that have no part in the axis stay in front of the transform of the others."""
    if not isinstance(x, Product) or x.sums:
        return None
    along = len(x.shape) - 1
    factors = [(a, tuple([x.out.index(label) for label in labels])) for a, labels in x.factors()]
    own = [(a, labels) for a, labels in factors if along in labels]
    apart = [(a, labels) for a, labels in factors if along not in labels]
    labels = tuple(sorted({label for _, labels in own for label in labels} | {along}))
    if len(labels) == len(x.shape) and not apart:
        return None
    sizes: dict[Any, Size] = dict(enumerate(x.shape))
    inner = function(op, (product(own, labels, {label: sizes[label] for label in labels}),), (0,))
    return product([*apart, (inner, labels)], range(len(x.shape)), sizes)


def _of_inverse(inverse: Op, x: Expr, times: Size) -> Expr | None:
    """What ``x`` is the inverse transform of, along its last axis: directly, or under transforms along other ones."""
    chain: list[tuple[Op, int]] = []  # the transforms and their axes, as they are numbered in ``x``
    axes, node = tuple(range(len(x.shape))), x  # the axes of the node, in the same numbers
    while len(chain) < MOST_NESTED:
        if isinstance(node, Product) and len(node.args) == 1 and not node.sums and len(node.args[0].shape) == len(axes):
            own = dict(zip(node.out, axes, strict=True))
            axes, node = tuple([own[label] for label in node.labels[0]]), node.args[0]
        if not (isinstance(node, Function) and node.op.name in TRANSFORMS):
            return None
        (below,) = node.args
        if node.op is inverse and axes[-1] == len(axes) - 1:
            found = product([(below, axes)], range(len(axes)))
            for op, axis in reversed(chain):
                found = along_axis(op, found, axis)
            return constant(times) * found
        chain.append((node.op, axes[-1]))
        node = below
    return None


def along_axis(op: Op, x: Expr, axis: int) -> Expr:
    """A transform along one axis, which stays in its place."""
    return function(op, (x,), (x.order - 1 - axis,))


# The rows


def _keeps(least: int) -> Callable[..., Shape]:
    def result(shapes: list[Shape], *params: Any) -> Shape:
        n = shapes[0][0]
        if isinstance(n, int) and n < least:
            raise ShapeError(f"There is no transform of this kind along an axis of size {n}; the least is {least}.")
        return shapes[0]

    return result


def _over(op: Op, x: Expr, axes: Axes = None) -> Expr:
    """Along each of the axes, the last one first."""
    for axis in reversed(positions(x, axes)):
        x = along_axis(op, x, axis)
    return x


def _transform(
    name: str,
    help: str,
    value: Callable[..., list],
    adjoint: Callable[[Expr], Expr],
    inverse: Callable[[], Op],
    times: Callable[[Size], Size],
    least: int = 1,
    **more: Any,
) -> Op:
    def own() -> Op:
        return ROWS_HERE[name]

    def pullback(operands: tuple, bar: Expr, params: tuple) -> Expr:
        columns = params[0]
        at = bar.order - 1 - columns
        order = (*[axis for axis in range(bar.order) if axis != at], at)
        return transpose(adjoint(transpose(bar, order)), _inverse(order))

    return Op(
        name,
        1,
        value,
        (Adjoint(pullback),),
        "keep",
        maker=_over,
        help=help,
        operands="x",
        latex=rf"\operatorname{{{{{name}}}}}_{{{{{{axes}}}}}}({{0}})",
        works_on=(1,),
        result=_keeps(least),
        columns=True,
        method=False,
        rewrite=_taken_out(own, inverse, times),
        **{"note": _NO_EMPTY, **more},
    )


def _of(op: Callable[[], Op]) -> Callable[[Expr], Expr]:
    return lambda x: function(op(), (x,), (0,))


_NO_EMPTY = "Over an axis of size 0 there is none."
ROWS_HERE: dict[str, Op] = {}

fft = ROWS_HERE["fft"] = _transform(
    "fft",
    "the discrete Fourier transform",
    _by_entries(_waves(-1)),
    _of(lambda: fft),
    lambda: bfft,
    lambda n: n,
    complex="always",
    conjugate=lambda x, columns: function(bfft, (x,), (columns,)),
    **called(numpy="fft.fft"),
)
bfft = ROWS_HERE["bfft"] = _transform(
    "bfft",
    "",
    _by_entries(_waves(1)),
    _of(lambda: bfft),
    lambda: fft,
    lambda n: n,
    complex="always",
    conjugate=lambda x, columns: function(fft, (x,), (columns,)),
    note="The inverse transform, times the size of the axis.",
)


@short(
    "the inverse of the discrete Fourier transform",
    lambda x: [v / len(x) for v in bfft.value(x)],
    kind="keep",
    complex="always",
)
def ifft(x: Expr, axes: Axes = None) -> Expr:
    for axis in reversed(positions(x, axes)):
        x = along_axis(bfft, x, axis) / constant(x.shape[axis])
    return x


# Cosines and sines


def _at(x: Expr, position: Size) -> Expr:
    """``x`` at one place of its last axis, and 0 elsewhere."""
    axes = tuple(range(x.order))
    return product([(x, axes), (place(position, x.shape[-1]), axes[-1:])], axes)


def _first(x: Expr) -> Expr:
    return _at(x, 0)


def _last(x: Expr) -> Expr:
    return _at(x, x.shape[-1] + (-1))


def _ends(x: Expr) -> Expr:
    return _first(x) + _last(x)


def _before(end: Callable[[Expr], Expr], op: Callable[[], Op]) -> Callable[[Expr], Expr]:
    return lambda y: _of(op)(y + end(y))


def _behind(end: Callable[[Expr], Expr], op: Callable[[], Op]) -> Callable[[Expr], Expr]:
    def adjoint(y: Expr) -> Expr:
        found = _of(op)(y)
        return found - HALF * end(found)

    return adjoint


def _dct1_adjoint(y: Expr) -> Expr:
    return _behind(_ends, lambda: ROWS_HERE["dct1"])(y + _ends(y))


def _real(name: str, kind: int, adjoint: Callable[[Expr], Expr], times: Callable[[Size], Size], least: int = 1) -> None:
    other = f"{name}{ {2: 3, 3: 2}.get(kind, kind) }"
    ROWS_HERE[f"{name}{kind}"] = _transform(
        f"{name}{kind}",
        "",
        _by_entries(_MATRICES[f"{name}{kind}"]),
        adjoint,
        lambda: ROWS_HERE[other],
        times,
        least,
        complex="kept",
        note=f"The transform by {'cosines' if name == 'dct' else 'sines'} of this type, as in SciPy.",
    )


def _row(name: str) -> Callable[[], Op]:
    return lambda: ROWS_HERE[name]


_real("dct", 1, _dct1_adjoint, lambda n: 2 * (n + (-1)), least=2)
_real("dct", 2, _before(_first, _row("dct3")), lambda n: 2 * n)
_real("dct", 3, _behind(_first, _row("dct2")), lambda n: 2 * n)
_real("dct", 4, _of(_row("dct4")), lambda n: 2 * n)
_real("dst", 1, _of(_row("dst1")), lambda n: 2 * (n + 1))
_real("dst", 2, _before(_last, _row("dst3")), lambda n: 2 * n)
_real("dst", 3, _behind(_last, _row("dst2")), lambda n: 2 * n)
_real("dst", 4, _of(_row("dst4")), lambda n: 2 * n)
TRANSFORMS = frozenset(ROWS_HERE)

# By halves


class HermitianWeights(Data):
    """How often each entry of a half stands in the whole of a spectrum of ``n`` entries: 1, 2, 2, …, and 1 at n/2."""

    __slots__ = ("least", "n")

    def __init__(self, n: int, inverse: bool = False):
        self.n, self.least = n, inverse
        self.digest = f"hermitian{n}{'/' * inverse}"

    @property
    def values(self) -> Any:
        import numpy as np

        array = np.full(self.n // 2 + 1, 0.5 if self.least else 2.0)
        array[0] = 1
        if self.n % 2 == 0:
            array[-1] = 1
        return array

    def __reduce__(self):
        return HermitianWeights, (self.n, self.least)


def hermitian_weights(n: int, inverse: bool = False) -> Expr:
    """These weights, or one over each of them."""
    return make(Constant, (), (n // 2 + 1,), HermitianWeights(n, inverse))


def _half(shapes: list[Shape], *params: Any) -> Shape:
    n = shapes[0][0]
    assert isinstance(n, int)
    return (n // 2 + 1,)


def _half_value(x: list, sign: int = 1) -> list:
    return (fft if sign > 0 else bfft).value(x)[: len(x) // 2 + 1]


def _hermitian_value(x: list, n: int, sign: int = 1) -> list:
    weights = HermitianWeights(n).values
    whole = [w * v for w, v in zip(weights, x, strict=True)] + [0] * (n - len(x))
    return [v.real for v in (fft if sign > 0 else bfft).value(whole)]


_COMPUTED = "it is how another function is computed, and has its derivative."

half_fft = Op(
    "half_fft",
    1,
    _half_value,
    (_COMPUTED,),
    "keep",
    works_on=(1,),
    result=_half,
    complex="always",
    conjugate=lambda x, sign: function(half_fft, (x,), (-sign,)),
    note="The first half of the transform of a real operand. Parameter: 1, or -1 for bfft.",
)
hermitian_fft = Op(
    "hermitian_fft",
    1,
    _hermitian_value,
    (_COMPUTED,),
    "keep",
    works_on=(1,),
    result=lambda shapes, n, *params: (n,),
    complex="real",
    note="The transform, which is real, of what this is the half of. Parameters: the size; 1, or -1 for bfft.",
)
