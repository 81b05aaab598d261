"""Formulas called with traced arrays: their expressions, with what is traced in place of the inputs.

Of an input that is declared symmetric or antisymmetric, what is traced takes the place by its part of that kind: the
values are not known yet, and the form that an expression has relies on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ricci.calculus.projecting import projected
from ricci.compiler.bind import Bound, Setting, check_names
from ricci.compiler.lower.builder import gives
from ricci.compiler.pipeline import bind, lower
from ricci.dispatch import offer
from ricci.errors import InputError
from ricci.expr import Constant, Data, Elementwise, Expr, Function, Size, rebuild, variables
from ricci.expr.dims import evaluate
from ricci.expr.walk import rewritten
from ricci.tracing.array import Traced, fresh
from ricci.tracing.basics import FLOAT, INT, complex_type, lift, real_type
from ricci.tracing.frames import current

_TYPES = {"i": INT, "b": np.dtype(np.bool_)}


def _placed(called: tuple, given: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    """The results of a formula, as traced arrays; sizes are bound and checked as in any other call."""
    stage, single = called
    check_names(stage, given)
    lifted = {name: lift(value) for name, value in given.items()}
    kinds = {name: "i" if x.dtype.kind in "iu" else x.dtype.kind for name, x in lifted.items()}
    shapes = tuple([(name, x.shape) for name, x in lifted.items()])
    bound = bind(stage, Setting("numpy", shapes, tuple(kinds.items()), "float64", tuple(sizes.items())))

    def resize(size: Size) -> int:
        return evaluate(size, bound.sizes)

    for name in [v.name for v in variables(*stage.written) if v.symmetry == "orthogonal"]:
        raise InputError(
            f"{name!r} is declared orthogonal, which cannot be checked of a value that is traced or remembers calls. "
            "Call the formula outside, on arrays, or leave out the declaration."
        )
    values: dict[Expr, Expr] = {v: projected(lifted[v.name].expr, v, 0) for v in variables(*stage.written)}
    made = rewritten(stage.written, lambda node, args: values[node] if node in values else rebuild(node, args, resize))
    frame = current()
    assert frame is not None
    results = []
    for e, dtype in zip(made, _dtypes(bound, lifted), strict=True):
        frame.note(e)
        results.append(fresh(e, dtype))
    return results[0] if single else tuple(results)


def _dtypes(bound: Bound, lifted: Mapping[str, Traced]) -> list[np.dtype]:
    """The types of the results: that of the floating inputs, unless a result holds whole numbers or truths."""
    floats = [real_type(x.dtype) for x in lifted.values() if x.dtype.kind in "fc" and not x.weak]
    floating = np.result_type(*floats) if floats else FLOAT
    if lifted and set(bound.kinds.values()) == {"f"} and all(map(_floating, bound.nodes)):
        return [floating] * len(bound.roots)
    types = {**_TYPES, "c": complex_type(floating)}
    return [types.get(result.kind, floating) for result in lower(bound).results]


def _floating(node: Expr) -> bool:
    """Whether a node surely holds floats where its operands do."""
    if isinstance(node, Constant):
        return not isinstance(node.value, Data)
    if isinstance(node, Elementwise):
        return node.op.body is None and gives(node.op.name, ("f",) * len(node.args), None) == "f"
    if isinstance(node, Function):
        own, op = node.op.axes_of(node.params), node.op
        known = op.body is None and op.outside is None and not op.later
        return known and gives(op.name, ("f",) * len(node.args), own, node.params) == "f"
    return True


offer(placed=_placed)
