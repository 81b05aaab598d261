"""Gradients of complex numbers, as they flow back.

What flows back to ``y`` is a number ``w`` for which ``Re(w dy)`` is the change that ``dy`` makes: the gradient of the
real number ``Re(w y)``, twice its derivative by a complex ``z``, and plainly that by a real one. So JAX has it;
the gradients of PyTorch are the conjugates, coming in and going out.
"""

from __future__ import annotations

from collections.abc import Sequence

from ricci.calculus.graph import pullbacks
from ricci.expr import Expr, add, conj, one, product
from ricci.functions.complexes import real


def parts_real(e: Expr) -> Expr:
    """What is known to have no imaginary part, as a real expression."""
    return real(e) if e.complex else e


def pulled(ys: Sequence[Expr], bars: Sequence[Expr], xs: Sequence[Expr], turned: bool = False) -> list[Expr]:
    """What flows back to ``xs`` when ``bars`` come in at ``ys``: in one sweep, the gradient of ``Σ Re(bar · y)``."""
    if not any(e.complex for e in (*ys, *bars, *xs)):
        if len(ys) == 1:
            return pullbacks(ys[0], bars[0], xs)
        return pullbacks(_paired(ys, bars), one(()), xs)
    total = parts_real(_paired(ys, [conj(bar) for bar in bars] if turned else bars))
    found = pullbacks(total, one(()), xs)
    found = [2 * e if x.complex else parts_real(e) for e, x in zip(found, xs, strict=True)]
    return [conj(e) for e in found] if turned else found


def _paired(ys: Sequence[Expr], bars: Sequence[Expr]) -> Expr:
    axes = [tuple(range(len(y.shape))) for y in ys]
    return add([(1, product([(y, a), (bar, a)], ())) for y, bar, a in zip(ys, bars, axes, strict=True)])
