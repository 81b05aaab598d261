"""Inverse pairs: a function after its inverse, and matrices beside their inverses.

Matrices are taken to be invertible where an inverse is written. ``inv`` and its kin take transposes and numbers out of
their operand first, ``inv(2 A') → inv(A)' / 2``, so that one matrix has one inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ricci.expr import OPS, Expr, Product, Sum, delta, function, one, product, zero
from ricci.expr.build.scale import scale
from ricci.expr.numbers import divide
from ricci.expr.structures import is_delta
from ricci.functions import elementwise as el
from ricci.simplify.match import Factor, Rewriting, exchanged, head, operand
from ricci.simplify.symmetry import symmetric_axes


def _inverses() -> Iterator[tuple[str, str, str, bool]]:
    """Outer and inner function, for which x the pair is the identity, and whether for complex x, too: as the rows say.

    The other way round a complex number comes back on the principal branch.
    """
    for name, op in OPS.items():
        if op.inverse:
            yield op.inverse, name, op.domain, True
            if OPS[op.inverse].rising:
                yield name, op.inverse, "", False


def _pair(inner: str):
    return lambda e: operand(e.args[0], inner)


def _acosh_of_cosh(e: Expr) -> Expr | None:
    x = operand(e.args[0], "cosh")
    return None if x is None else el.abs_(x)


# Functions of matrices


def _of(op: str, x: Expr) -> Expr:
    return function(OPS[op], (x,))


def _of_inverse(result: Callable[[Expr], Expr]) -> Callable[[Expr], Expr | None]:
    """What a function of ``inv(A)`` is, by ``A``."""

    def apply(e: Expr) -> Expr | None:
        x = operand(e.args[0], "inv")
        return None if x is None else result(x)

    return apply


def _transposed(x: Expr) -> Expr:
    lead = len(x.shape) - 2
    return product([(x, range(lead + 2))], (*range(lead), lead + 1, lead))


def _of_transpose(e: Expr) -> Expr | None:
    """The operand transposed back, if its column comes before its row in the tensor that it is."""
    (x,) = e.args
    if not isinstance(x, Product) or x.sums or len(x.args) != 1 or len(x.labels[0]) != len(x.shape):
        return None
    row, column = len(x.shape) - 2, len(x.shape) - 1
    labels = x.labels[0]
    if labels.index(row) < labels.index(column):
        return None
    result = _of(head(e), _transposed(x))
    return _transposed(result) if len(e.shape) == len(x.shape) else result


def _inv_of_multiple(e: Expr) -> Expr | None:
    (x,) = e.args
    if not isinstance(x, Sum) or len(x.args) != 1:
        return None
    return scale(divide(1, x.coefs[0]), _of("inv", x.args[0]))


def _of_identity(e: Expr) -> Expr | None:
    (x,) = e.args
    if not is_delta(x):
        return None
    return {"inv": x, "det": one(()), "logdet": zero(()), "slogdet_sign": one(())}[head(e)]


# A matrix times its inverse, within any contraction


def _times_inverse(e: Expr) -> Expr | None:
    assert isinstance(e, Product)
    for p, (f, outer) in enumerate(e.factors()):
        matrix = operand(f, "inv")
        if matrix is None:
            continue
        for q, (g, inner) in enumerate(e.factors()):
            ends = _ends(e, p, q, outer, inner) if g is matrix and p != q else None
            if ends is not None:
                return exchanged(e, [p, q], [(delta(f.shape[-1]), ends[:2])], without=ends[2])
    return None


def _ends(e: Product, p: int, q: int, outer: tuple, inner: tuple) -> tuple[int, int, int] | None:
    """The labels that a delta between them replaces, and the summed one that both have, and nothing else has."""
    if outer[:-2] != inner[:-2]:
        return None
    own = [inner[-2:]]
    last = len(inner) - 1
    if (last - 1, last) in symmetric_axes(e.args[q]):
        own.append((inner[-1], inner[-2]))
    for row, column in own:
        for shared, meets, ends in (
            (outer[-1], row, (outer[-2], column)),
            (outer[-2], column, (row, outer[-1])),
        ):
            if shared == meets and shared not in e.out and sum(x == shared for ls in e.labels for x in ls) == 2:
                return (*ends, shared)
    return None


def _times_solution(e: Expr) -> Expr | None:
    """``A[i,j] solve(A, b)[j]`` is ``b[i]``."""
    assert isinstance(e, Product)
    for p, (f, outer) in enumerate(e.factors()):
        if head(f) != "solve":
            continue
        matrix, right = f.args
        lead = len(matrix.shape) - 2
        for q, (g, inner) in enumerate(e.factors()):
            shared = outer[lead]
            if g is not matrix or inner[:-2] != outer[:lead] or inner[-1] != shared or inner[-2] == shared:
                continue
            if shared not in e.out and sum(x == shared for ls in e.labels for x in ls) == 2:
                new: Factor = (right, (*outer[:lead], inner[-2], *outer[lead + 1 :]))
                return exchanged(e, [p, q], [new], without=shared)
    return None


MATRIX = ("inv", "det", "logdet", "slogdet_sign")
_INV = frozenset({"inv"})
_INVERTIBLE = "the matrix is invertible"

RULES = [
    *[
        Rewriting(f"{f} of {g}", _pair(g), (f,), frozenset({g}), assumes, complex=everywhere)
        for f, g, assumes, everywhere in _inverses()
    ],
    Rewriting("acosh of cosh", _acosh_of_cosh, ("acosh",), frozenset({"cosh"})),
    Rewriting("inv of inv", _of_inverse(lambda x: x), ("inv",), _INV, _INVERTIBLE, complex=True),
    Rewriting("logdet of inv", _of_inverse(lambda x: scale(-1, _of("logdet", x))), ("logdet",), _INV, _INVERTIBLE),
    Rewriting("det of inv", _of_inverse(lambda x: _of("det", x) ** -1), ("det",), _INV, _INVERTIBLE, complex=True),
    Rewriting(
        "sign of det of inv", _of_inverse(lambda x: _of("slogdet_sign", x)), ("slogdet_sign",), _INV, _INVERTIBLE
    ),
    Rewriting("function of a transpose", _of_transpose, (*MATRIX, "expm"), frozenset({"Product"})),
    Rewriting("inv of a multiple", _inv_of_multiple, ("inv",), frozenset({"Sum"}), complex=True),
    Rewriting("function of the identity", _of_identity, MATRIX, frozenset({"Structure"})),
    Rewriting("A inv(A)", _times_inverse, ("Product",), _INV, _INVERTIBLE, complex=True),
    Rewriting("A solve(A, b)", _times_solution, ("Product",), frozenset({"solve"}), _INVERTIBLE, complex=True),
]
