"""Products with sums: ``matmul``, ``dot``, ``tensordot`` and their kin, each one product with labels.

    matmul       y[b,i,j] = a[b,i,k] b[b,k,j]
    outer        y[i,j]   = a[i] b[j]
    kron         y[c]     = [c == i·n + j] a[i] b[j]
    cross        y[i]     = ε[i,j,k] a[j] b[k]

The contraction is left whole, so that its derivative is one contraction too and the compiler chooses the order.
Axes of size 1 are stretched where the others that share their label are longer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ricci.errors import AxisError, ShapeError
from ricci.expr import Expr, add, conj, merge, moving, product
from ricci.functions import elementwise as e
from ricci.tracing.arguments import Type
from ricci.tracing.array import Traced
from ricci.tracing.basics import broadcast_shape, fresh, like, normal_axis
from ricci.tracing.lowerings import TABLE, lines, lowers
from ricci.tracing.rows.along import entry, flat, vector
from ricci.tracing.rows.ufuncs import UFUNCS

Label = Hashable
Factor = tuple[Traced, Sequence[Label]]
BATCH = "batch"


def contraction(
    name: str, factors: Sequence[Factor], out: Sequence[Label], dtype: Any = None, sizes: Mapping | None = None
) -> Traced:
    """The product of arrays with labels, summed over those not in ``out``; axes of size 1 broadcast."""
    size: dict[Label, int] = dict(sizes or {})
    for x, labels in factors:
        for label, n in zip(labels, x.shape, strict=True):
            known = size.get(label, 1)
            if 1 not in (known, n) and known != n:
                listed = " and ".join([str(x.shape) for x, _ in factors])
                raise ShapeError(f"{name}: the shapes {listed} do not fit, sizes {known} and {n} should be equal.")
            size[label] = n if known == 1 else known
    placed = []
    for at, (x, labels) in enumerate(factors):
        if tuple(map(size.__getitem__, labels)) != x.shape:
            wide = zip(labels, x.shape, strict=True)
            labels = [("unit", at, k) if size[x] != n else x for k, (x, n) in enumerate(wide)]
        placed.append((x.expr, labels))
    expr = product(placed, out, {label: size[label] for label in out})
    types = {x.dtype for x, _ in factors} if dtype is None else {np.dtype(dtype)}
    found = np.result_type(*types) if len(types) > 1 else types.pop()
    return fresh(e.not_equal(expr, 0) if found.kind == "b" else expr, found)


def _batch(x: Traced, own: int) -> tuple[Label, ...]:
    """Labels for the axes before the last ``own``, counted from the right, as they broadcast."""
    return tuple([(BATCH, k) for k in range(x.ndim - own, 0, -1)])


def _batched(name: str, xs: Sequence[Traced], own: tuple[str, str, str], dtype: Any = None) -> Traced:
    """A product over the last axes, whose labels ``own`` gives for both operands and the result."""
    for x, labels in zip(xs, own, strict=False):
        if x.ndim < len(labels):
            raise ShapeError(f"{name}: an operand has the shape {x.shape}; it needs at least {len(labels)} axes.")
    shapes = [x.shape[x.ndim - len(labels) :] for x, labels in zip(xs, own, strict=False)]
    sizes = [dict(zip(labels, shape, strict=True)) for labels, shape in zip(own, shapes, strict=False)]
    if any(sizes[1].get(label, n) != n for label, n in sizes[0].items()):
        raise ShapeError(f"{name}: the shapes {xs[0].shape} and {xs[1].shape} do not fit.")
    if all(map(len, shapes)) and shapes == [x.shape for x in xs]:  # there is no batch
        return contraction(name, list(zip(xs, own, strict=False)), own[2], dtype)
    leads = [_batch(x, len(labels)) for x, labels in zip(xs, own, strict=False)]
    broadcast_shape(*[x.shape[: len(lead)] for x, lead in zip(xs, leads, strict=True)])
    factors = [(x, (*lead, *labels)) for x, lead, labels in zip(xs, leads, own, strict=False)]
    return contraction(name, factors, (*max(leads, key=len), *own[2]), dtype)


@lowers(np.matmul, np.linalg.matmul)
def matmul(x1: Traced, x2: Traced, dtype: Type = None) -> Traced:
    left = "k" if x1.ndim == 1 else "ik"
    right = "k" if x2.ndim == 1 else "kj"
    return _batched("np.matmul", (x1, x2), (left, right, left[:-1] + right[1:]), dtype)


def conjugate(x: Traced) -> Traced:
    return like(x, conj(x.expr))


def _vectors(function: Any, own: tuple[str, str, str], left: Callable[[Traced], Traced] = lambda x: x) -> None:
    def lower(x1: Traced, x2: Traced, dtype: Type = None) -> Traced:
        return _batched(f"np.{function.__name__}", (left(x1), x2), own, dtype)

    lowers(function)(lower)


_vectors(np.matvec, ("ik", "k", "i"))
_vectors(np.vecmat, ("k", "kj", "j"), conjugate)


@lowers(np.vecdot, np.linalg.vecdot)
def vecdot(x1: Traced, x2: Traced, axis: int = -1, dtype: Type = None) -> Traced:
    return _batched("np.vecdot", (_last(conjugate(x1), axis), _last(x2, axis)), ("k", "k", ""), dtype)


def _last(x: Traced, axis: int) -> Traced:
    """The array with one axis brought to the end."""
    return like(x, moving.moved_axis(x.expr, normal_axis(x, axis), x.ndim - 1))


def _own(x: Traced, mark: str) -> list[Label]:
    return [(mark, k) for k in range(x.ndim)]


def _joint(name: str, a: Traced, b: Traced, pairs: Sequence[tuple[int, int]]) -> Traced:
    """All axes of ``a``, then all of ``b``, but for those that are paired and summed."""
    left, right = _own(a, "a"), _own(b, "b")
    for i, j in pairs:
        if a.shape[i] != b.shape[j]:
            raise ShapeError(
                f"{name}: axis {i} of the shape {a.shape} and axis {j} of {b.shape} are summed together; "
                "they should be equal."
            )
        right[j] = left[i]
    summed = {left[i] for i, _ in pairs}
    return contraction(name, [(a, left), (b, right)], [x for x in (*left, *right) if x not in summed])


def _inner(name: str, x: Traced, y: Traced, axis: int) -> Traced:
    """The last axis of one with an axis of the other, unless one is a number."""
    return _joint(name, x, y, [(x.ndim - 1, axis)] if x.ndim and y.ndim else [])


def _all_together(x: Traced, y: Traced) -> Traced:
    if x.shape != y.shape:
        x, y = flat(x), flat(y)
    return _joint("np.vdot", conjugate(x), y, [(k, k) for k in range(x.ndim)])


def _vector(x: Traced) -> Traced:
    return vector(x, "An operand of np.linalg.outer")


lines(
    __name__,
    {
        np.dot: lambda x, y: _inner("np.dot", x, y, max(y.ndim - 2, 0)),
        np.inner: lambda x, y: _inner("np.inner", x, y, y.ndim - 1),
        np.vdot: _all_together,
        np.outer: lambda x, y: _joint("np.outer", flat(x), flat(y), []),
        np.linalg.outer: lambda x, y: _joint("np.linalg.outer", _vector(x), _vector(y), []),
    },
)


@lowers(np.tensordot, np.linalg.tensordot)
def tensordot(x: Traced, y: Traced, axes: Any = 2) -> Traced:
    if isinstance(axes, (int, np.integer)):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise AxisError(f"np.tensordot: {axes} axes are to be summed, of the shapes {x.shape} and {y.shape}.")
        pairs = [(x.ndim - axes + k, k) for k in range(axes)]
    else:
        left, right = [[s] if isinstance(s, (int, np.integer)) else list(s) for s in axes]
        if len(left) != len(right):
            raise AxisError(f"np.tensordot: {len(left)} axes of one operand and {len(right)} of the other are paired.")
        pairs = [(normal_axis(x, i), normal_axis(y, j)) for i, j in zip(left, right, strict=True)]
    return _joint("np.tensordot", x, y, pairs)


@lowers(np.linalg.multi_dot)
def multi_dot(arrays: list[Traced]) -> Traced:
    """All matrices in one product; the compiler finds the order."""
    xs = arrays
    if len(xs) < 2 or any(not 1 <= x.ndim <= 2 for x in xs) or any(x.ndim != 2 for x in xs[1:-1]):
        raise ShapeError("np.linalg.multi_dot takes two or more matrices, of which the first and last may be vectors.")
    labels: list[tuple] = [(k, k + 1) for k in range(len(xs))]
    labels[0] = labels[0][2 - xs[0].ndim :]
    labels[-1] = labels[-1][: xs[-1].ndim]
    for x, y in pairwise(xs):
        if x.shape[-1] != y.shape[0]:
            raise ShapeError(f"np.linalg.multi_dot: the shapes {x.shape} and {y.shape} do not fit.")
    ends = [0] * (xs[0].ndim == 2) + [len(xs)] * (xs[-1].ndim == 2)
    return contraction("np.linalg.multi_dot", list(zip(xs, labels, strict=True)), ends)


@lowers(np.kron)
def kron(x: Traced, y: Traced) -> Traced:
    """Each axis is made of one of the first, which moves slowly, and one of the second."""
    order = max(x.ndim, y.ndim)
    factors: list = [(x.expr, [("a", k) for k in range(order - x.ndim, order)])]
    factors.append((y.expr, [("b", k) for k in range(order - y.ndim, order)]))
    sizes = [(1,) * (order - z.ndim) + z.shape for z in (x, y)]
    for k, (m, n) in enumerate(zip(*sizes, strict=True)):
        factors.append((merge((m, n)), (k, ("a", k), ("b", k))))
    return fresh(product(factors, range(order)), np.result_type(x.dtype, y.dtype))


# Vectors in space


@lowers(np.cross)
def cross(a: Traced, b: Traced, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Traced:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = _last(a, axisa), _last(b, axisb)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ShapeError(f"np.cross takes vectors of 2 or 3 entries; these have {x.shape[-1]} and {y.shape[-1]}.")
    dtype = np.result_type(x.dtype, y.dtype)
    if x.shape[-1] == y.shape[-1] == 2:
        return fresh(_component(x, y, 2), dtype)
    terms = [_component(x, y, i) for i in range(3)]
    return fresh(moving.stacked(terms, axisc % (len(terms[0].shape) + 1)), dtype)


def _component(x: Traced, y: Traced, i: int) -> Expr:
    """``a[i+1] b[i+2] - a[i+2] b[i+1]``, the indices counted around; what a plane lacks is zero."""
    j, k = (i + 1) % 3, (i + 2) % 3
    shape = broadcast_shape(x.shape[:-1], y.shape[:-1])
    terms = []
    for sign, p, q in ((1, j, k), (-1, k, j)):
        if p < x.shape[-1] and q < y.shape[-1]:
            xs, ys = entry(x, -1, p), entry(y, -1, q)
            factors = [(xs, _batch(xs, 0)), (ys, _batch(ys, 0))]
            terms.append((sign, contraction("np.cross", factors, [(BATCH, n) for n in range(len(shape), 0, -1)]).expr))
    return add(terms)


@lowers(np.linalg.cross)
def linalg_cross(x1: Traced, x2: Traced, axis: int = -1) -> Traced:
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ShapeError(f"np.linalg.cross takes vectors of 3 entries; the shapes are {x1.shape} and {x2.shape}.")
    return cross(x1, x2, axis=axis)


@lowers(np.vander)
def vander(x: Traced, N: int | None = None, increasing: bool = False) -> Traced:
    v = vector(x, "np.vander: x")
    n = v.shape[0] if N is None else int(N)
    powers = [v.expr**p for p in (range(n) if increasing else range(n - 1, -1, -1))]
    found = moving.stacked(powers, 1) if powers else moving.everywhere(1, (v.shape[0], 0))
    return fresh(found, np.promote_types(v.dtype, int))


# All pairs of entries under any ufunc of two operands


def _outer(ufunc: np.ufunc) -> None:
    def lower(A: Traced, B: Traced, **kwargs: Any) -> Traced:
        wide = moving.with_ones(A.expr, range(A.ndim, A.ndim + B.ndim))
        return TABLE[ufunc].binding((like(A, wide), B), kwargs)

    lowers((ufunc, "outer"))(lower)


for _ufunc in UFUNCS:
    if _ufunc.nin == 2:
        _outer(_ufunc)
