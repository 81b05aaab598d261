"""Compiling formulas: one, or several that share what they have in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ricci.compiler.compressed import CompressedFunction
from ricci.compiler.distribute import distributed
from ricci.compiler.function import Compiled, cache_clear, cache_info
from ricci.compiler.solves import solved
from ricci.errors import InputError
from ricci.expr import Size
from ricci.formula import Formula
from ricci.notation.context import merged
from ricci.simplify import simplify_all

__all__ = ["cache_clear", "cache_info", "compile"]


def compile(
    formulas: Formula | Iterable[Formula],
    backend: str | None = None,
    *,
    compressed: bool = False,
    simplify: bool = True,
    fused: bool | None = None,
    jit: bool | None = None,
) -> Any:
    """A fast function of arrays. For several formulas it returns a tuple, and computes what they share once.

    ``backend`` is "numpy", "torch" or "jax"; without it the function follows the type of the arrays it is called with.
    With ``compressed`` results are not made whole: they are cores and structure, see ``Compressed``.
    On NumPy, loops are compiled by Numba where it is installed and a function is called again: at once with
    ``fused=True``, never with ``fused=False``. On JAX functions are jitted unless ``jit=False``; on PyTorch they are
    eager, and go through ``torch.compile`` with ``jit=True``.

    >>> from ricci import compile, parse
    >>> loss = parse("l = (A[i,j] x[j] - b[i])**2 1[i]")
    >>> f = compile([loss, loss.diff("x")], "numpy")
    >>> f.inputs
    ('A', 'x', 'b')
    >>> f(A=[[1.0, 2.0]], x=[1.0, 1.0], b=[0.0])
    (np.float64(9.0), array([ 6., 12.]))
    """
    single = isinstance(formulas, Formula)
    parts = [formulas] if isinstance(formulas, Formula) else list(formulas)
    for part in parts:
        if not isinstance(part, Formula):
            raise InputError(f"compile takes formulas, not a {type(part).__name__}; make one with rc.parse(…).")
    if not parts:
        raise InputError("compile takes at least one formula.")
    roots = [part.expr for part in parts]
    if simplify:
        roots = solved(distributed(simplify_all(roots)))
    names: dict[str, Size] = {}
    for part in parts:
        for name, size in zip(part.indices, part.expr.shape, strict=True):
            names.setdefault(name, size)
    facts = merged(part.context for part in parts).facts
    by = [getattr(step.origin[1], "name", "") for part in parts for step in part.chain]
    options = (("fused", fused), *([("jit", jit)] if jit is not None else []))
    if compressed:
        indices = [part.indices for part in parts]
        return CompressedFunction(roots, indices, names, facts, backend, single, options, by)
    return Compiled(roots, names, facts, backend, single, options, by)
