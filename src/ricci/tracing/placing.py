"""Formulas called with traced arrays: their expressions, with what is traced in place of the inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ricci.compiler.bind import bind_shapes, check_names
from ricci.compiler.lower.builder import gives
from ricci.compiler.lower.expressions import lower
from ricci.dispatch import offer
from ricci.expr import Constant, Data, Elementwise, Expr, Function, Size, rebuild, topological, variables
from ricci.expr.dims import evaluate
from ricci.expr.walk import rewritten, sized, with_bodies
from ricci.tracing.array import Traced, fresh
from ricci.tracing.basics import FLOAT, INT, lift
from ricci.tracing.frames import current

_TYPES = {"i": INT, "b": np.dtype(np.bool_)}


def _placed(called: tuple, given: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    """The results of a formula, as traced arrays; sizes are bound and checked as in any other call."""
    roots, names, facts, single = called
    needed = variables(*roots)
    check_names(needed, {**dict.fromkeys(facts.inputs), **{v.name: None for v in needed}}, given)
    lifted = {name: lift(value) for name, value in given.items()}
    env = bind_shapes(roots, names, facts, {name: x.shape for name, x in lifted.items()}, sizes)

    def resize(size: Size) -> int:
        return evaluate(size, env)

    values: dict[Expr, Expr] = {v: lifted[v.name].expr for v in needed}
    made = rewritten(roots, lambda node, args: values[node] if node in values else rebuild(node, args, resize))
    frame = current()
    assert frame is not None
    results = []
    for e, dtype in zip(made, _dtypes(roots, env, lifted), strict=True):
        frame.note(e)
        results.append(fresh(e, dtype))
    return results[0] if single else tuple(results)


def _dtypes(roots: Sequence[Expr], env: Mapping, lifted: Mapping[str, Traced]) -> list[np.dtype]:
    """The types of the results: that of the floating inputs, unless a result holds whole numbers or truths."""
    floats = [x.dtype for x in lifted.values() if x.dtype.kind == "f" and not x.weak]
    floating = np.result_type(*floats) if floats else FLOAT
    kinds = {name: "i" if x.dtype.kind in "iu" else x.dtype.kind for name, x in lifted.items()}
    if lifted and set(kinds.values()) == {"f"} and all(map(_floating, topological(*roots))):
        return [floating] * len(roots)
    shapes = {name: x.shape for name, x in lifted.items()}
    program = lower(with_bodies(sized(roots, lambda size: evaluate(size, env))), env, shapes, kinds)
    return [_TYPES.get(result.kind, floating) for result in program.results]


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
