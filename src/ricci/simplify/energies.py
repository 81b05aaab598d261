"""Parseval's theorem: all squares in a Fourier transform together are those of the operand, times their number."""

from __future__ import annotations

from ricci.expr import OPS, Elementwise, Expr, Function, Product, constant
from ricci.simplify.match import LESS, Rewriting, exchanged

_TRANSFORMS = ("fft", "bfft")


def _parseval(e: Expr) -> Expr | None:
    """``1[k] abs2(fft(x))[k]`` is ``n 1[k] abs2(x)[k]``."""
    assert isinstance(e, Product)
    for at, (a, labels) in enumerate(e.factors()):
        inner = a.args[0] if isinstance(a, Elementwise) and a.op.name == "abs2" else None
        if not isinstance(inner, Function):
            continue
        others = [x for p, own in enumerate(e.labels) if p != at for x in own]
        if inner.op.name in _TRANSFORMS and labels.count(labels[-1]) == 1 and labels[-1] not in (*e.out, *others):
            made = [(OPS["abs2"](inner.args[0]), labels), (constant(inner.shape[-1]), ())]
            return exchanged(e, [at], made, without=labels[-1])
    return None


RULES = [
    Rewriting("Parseval's theorem", _parseval, ("Product",), frozenset({"abs2"}), guard=LESS, complex=True),
]
