"""Sums of products on NumPy: the loops of ``einsum`` in C for what is small or has no matrix product in it, BLAS for
what has.

Integers and booleans always go through einsum's loops, so that they wrap around and saturate as in ``np.einsum``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ricci.einops.inference import total
from ricci.einops.pairwise import Pair, Placing, Term, equation_of, pair_of, steps_of

try:  # np.einsum without what it does in Python
    c_einsum: Any = import_module("numpy._core.multiarray").c_einsum
except (ImportError, AttributeError):
    c_einsum = np.einsum

_FLOATS = "fdFD"  # what BLAS computes with
_SMALL = 4096  # products of numbers that are not worth a plan
_NAIVE = 1 << 14  # products of numbers of three and more arrays that are not worth an order
_PLANNED = 512  # products of numbers for which, the shapes being known, a matrix product is not faster
_SHORT = 4096  # products of numbers in one matrix product that loops over the batch do faster, the batch being last
_VECTOR = 64  # the same for a matrix times a vector, wherever the batch is


def contraction_numpy(
    kinds: Sequence[type], equation: str, terms: Sequence[Term] = (), out: Term = (), sizes: Sequence[int] = ()
) -> Callable:
    """A function of arrays with these labels and sizes."""
    if not terms or any(kind is not np.ndarray for kind in kinds):  # subclasses, and whatever einsum makes arrays of
        return lambda *xs: np.einsum(equation, *xs)
    everything = total(sizes, {label for term in terms for label in term})
    if everything <= _PLANNED or len(terms) == 1:
        return lambda *xs: c_einsum(equation, *xs)
    if len(terms) == 2:
        return _two(equation, terms[0], terms[1], out, sizes)
    if everything <= _NAIVE:
        return lambda *xs: c_einsum(equation, *xs)
    return _several(equation, terms, out, sizes)


def _two(equation: str, first: Term, second: Term, out: Term, sizes: Sequence[int]) -> Callable:
    before, first_left = _own(first, {*out, *second})
    after, second_left = _own(second, {*out, *first})
    pair = pair_of(first_left, second_left, out, sizes)
    multiply = _multiplication(pair, first_left, second_left, out, sizes)
    if multiply is None and before is None and after is None:
        return lambda x, y: c_einsum(equation, x, y)
    rest = equation_of([first_left, second_left], out)

    def run(x: Any, y: Any) -> Any:
        if x.dtype.char not in _FLOATS or y.dtype.char not in _FLOATS:
            return c_einsum(equation, x, y)
        if before is not None:
            x = c_einsum(before, x)
        if after is not None:
            y = c_einsum(after, y)
        return c_einsum(rest, x, y) if multiply is None else multiply(x, y)

    return run


def _own(term: Term, needed: set[int]) -> tuple[str | None, Term]:
    """What is done to one array first: diagonals, and sums over labels that nothing else has."""
    left = tuple([label for label in dict.fromkeys(term) if label in needed])
    return (None if left == term else equation_of([term], left)), left


def _multiplication(pair: Pair, first: Term, second: Term, out: Term, sizes: Sequence[int]) -> Callable | None:
    """As a matrix product, or None where einsum's loops are better."""
    if not pair.inner or not (pair.rows or pair.columns):
        return None
    if pair.batch:
        short = _SHORT if first[-1] in out and first[-1] == second[-1] else 0
        short = max(short, 0 if pair.rows and pair.columns else _VECTOR)
        if total(sizes, {*first, *second}) < short * total(sizes, {*first} & {*second} & {*out}):
            return None
    left, right, exchanged = pair.left, pair.right, pair.exchanged
    shape, permutation = pair.shape, pair.permutation

    def multiply(x: Any, y: Any) -> Any:
        if exchanged:
            x, y = y, x
        result = np.matmul(_placed(x, left), _placed(y, right))
        if shape is not None:
            result = result.reshape(shape)
        return result if permutation is None else result.transpose(permutation)

    return multiply


def _placed(x: Any, side: Placing) -> Any:
    if side.permutation is not None:
        x = x.transpose(side.permutation)
    if side.shape is not None:
        x = x.reshape(side.shape)
    one, other = x.strides[-2:]
    if one != x.itemsize and other != x.itemsize:  # BLAS wants rows or columns without gaps
        x = np.ascontiguousarray(x)
    return x.swapaxes(-1, -2) if side.flipped else x


def _several(equation: str, terms: Sequence[Term], out: Term, sizes: Sequence[int]) -> Callable:
    """Two by two. A type that is not that of the result would round or wrap around earlier, so all get that first."""
    steps = []
    for at, pair, made in steps_of(terms, out, sizes):
        text = equation_of(pair, made)
        assert text is not None
        steps.append((at, contraction_numpy([np.ndarray] * len(pair), text, pair, made, sizes)))

    def run(*xs: Any) -> Any:
        kind = np.result_type(*xs)
        left = [x if x.dtype == kind else x.astype(kind) for x in xs]
        for at, multiply in steps:
            chosen = [left[p] for p in at]
            left = [x for p, x in enumerate(left) if p not in at]
            left.append(multiply(*chosen))
        return left[0]

    return run


def einsum_numpy(kinds: Sequence[type], equation: str, planned: Callable) -> Callable:
    """einsum's loops for arrays so small that planning would cost more, whatever their shapes."""
    if any(kind is not np.ndarray for kind in kinds):
        return lambda *xs: np.einsum(equation, *xs)
    if len(kinds) == 1:
        return lambda x: c_einsum(equation, x)
    left, _, right = equation.partition("->")
    if "..." in left and "..." not in right:  # an error in NumPy
        return lambda *xs: c_einsum(equation, *xs)
    if len(kinds) == 2:
        return lambda x, y: c_einsum(equation, x, y) if x.size * y.size <= _SMALL else planned(x, y)

    def run(*xs: Any) -> Any:
        work = 1
        for x in xs:
            work *= x.size
        return c_einsum(equation, *xs) if work <= _NAIVE else planned(*xs)

    return run
