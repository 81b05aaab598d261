"""Loops and branches over complex numbers, as loops and branches over their parts, which are real.

    z[t+1] = f(z[t])      is      x[t+1] = real(f(x[t] + 1j y[t])),   y[t+1] = imag(f(x[t] + 1j y[t]))

So a step need not be holomorphic: it may hold conjugates and sizes of what is carried, and the derivatives of loops are
those that were there. What is linear in its last operand is linear in both parts of a complex one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ricci.errors import DTypeError
from ricci.expr import OPS, Expr, I, Op, Variable, add, function, multiply
from ricci.loops.bodies import fresh

PARTS = ("real", "imag")


def parts_of(x: Expr) -> list[Expr]:
    """The real and the imaginary part."""
    return [OPS[name](x) for name in PARTS]


def whole_of(real: Expr, imag: Expr) -> Expr:
    """The complex number of two parts."""
    return add([(1, real), (1, multiply(I, imag))])


def in_pairs(operands: Mapping[Variable, Expr]) -> tuple[dict[Variable, Expr], dict[Any, Expr]]:
    """Operands by placeholders, two for one that is complex; and what the complex placeholders are by these."""
    real: dict[Variable, Expr] = {}
    meant: dict[Any, Expr] = {}
    for v, x in operands.items():
        if v.complex or x.complex:
            pair = fresh(v.shape), fresh(v.shape)
            real.update(zip(pair, parts_of(x), strict=True))
            meant[v] = whole_of(*pair)
        else:
            real[v] = x
    return real, meant


def paired_results(exprs: Iterable[Expr], complex: Iterable[bool]) -> list[Expr]:
    """Both parts of those that are said to be complex."""
    return [part for e, two in zip(exprs, complex, strict=True) for part in (parts_of(e) if two else [e])]


def joined_results(exprs: Iterable[Expr], complex: Iterable[bool]) -> list[Expr]:
    """What :func:`paired_results` has taken apart."""
    left = iter(exprs)
    return [whole_of(next(left), next(left)) if two else next(left) for two in complex]


def linear_in_parts(op: Op, linear: bool, *given: Any) -> Expr | None:
    """The rule of a loop, or of branches, for complex operands."""
    args, params = given[: op.arity], given[op.arity :]
    if any(a.complex for a in (args[:-1] if linear else args)):
        raise DTypeError("A loop, or a choice, over real numbers is given complex ones.")
    if not args[-1].complex:
        return None
    return whole_of(*[function(op, (*args[:-1], part), params) for part in parts_of(args[-1])])
