"""Whether expressions are linear in some of their inputs, as the rule of a derivative is in tangents or gradients.

A function is linear if its derivative along ``w`` does not depend on where it is taken, and is the function of ``w``.
The first is seen from the expression. So is the second, where simplification makes both the same; where it does not,
as for the solution of a system, both are computed at random points. A function with a rule of its own is believed as
to its derivative, which may differ from its values; these alone are then looked at, whether ``f(v + 2 w)`` is
``f(v) + 2 f(w)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ricci.compiler.pipeline import evaluate, prepare
from ricci.errors import LimitError, RicciError
from ricci.expr import Expr, Function, Variable, add, topological, variable, variables
from ricci.simplify import simplify
from ricci.transforms.deriving import along
from ricci.transforms.transformed import replace_all

POINTS = 4
CLOSE = 1e-6  # of the largest entry


def is_linear(e: Expr, moving: Sequence[Variable], dtypes: Mapping[str, np.dtype], known: Mapping[str, Any]) -> bool:
    """Whether ``e`` is linear in ``moving``. Inputs are of these types, or have known values."""
    directions: list[Expr] = [variable(f"{v.name}.direction", v.shape) for v in moving]
    (slope,) = along([e], moving, directions)
    slope = simplify(slope)
    if not set(moving).isdisjoint(variables(slope)):
        return False
    (there,) = replace_all([slope], dict(zip(directions, moving, strict=True)))
    if there is e or simplify(there) is simplify(e):
        return True
    types = {**dtypes, **{f"{v.name}.direction": dtypes[v.name] for v in moving}}
    if not _believes(e, moving):
        return _agree(e, there, types, known)
    pairs = list(zip(moving, directions, strict=True))
    (both,) = replace_all([e], {v: add([(1, v), (2, w)]) for v, w in pairs})
    (other,) = replace_all([e], dict(pairs))
    return _agree(both, add([(1, e), (2, other)]), types, known)


def _believes(e: Expr, moving: Sequence[Variable]) -> bool:
    """Whether a function with a rule of its own works on what moves."""
    depends: set[Expr] = set(moving)
    for node in topological(e):
        if any(a in depends for a in node.args):
            depends.add(node)
            if isinstance(node, Function) and (node.op.body is not None or node.op.outside is not None):
                return True
    return False


def _agree(a: Expr, b: Expr, dtypes: Mapping[str, np.dtype], known: Mapping[str, Any]) -> bool:
    """Whether two expressions have the same values at random points, as far as they have values there."""
    seen, stage = False, prepare([a, b], simplify=False)
    for seed in range(POINTS):
        rng = np.random.default_rng(seed)
        inputs = {v.name: _value(v, dtypes, known, rng, seed) for v in variables(a, b)}
        try:
            x, y = evaluate(stage, inputs)
        except LimitError:
            raise
        except (RicciError, ArithmeticError, ValueError, np.linalg.LinAlgError):  # not defined at this point
            continue
        here = np.isfinite(x) & np.isfinite(y)
        if not np.allclose(x[here], y[here], CLOSE, CLOSE * np.max(np.abs(x[here]), initial=0)):
            return False
        seen = seen or bool(np.any(here)) or not x.size
    return seen


def _value(v: Variable, dtypes: Mapping[str, np.dtype], known: Mapping[str, Any], rng: Any, seed: int) -> Any:
    """A value for an input: positive first, and with matrices that can be inverted; then any."""
    if v.name in known:
        value = known[v.name]
        return np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    kind, shape = dtypes[v.name].kind, tuple([int(n) for n in v.shape])  # type: ignore[arg-type]
    if kind != "f":
        return rng.integers(0, 2, shape) > 0 if kind == "b" else np.zeros(shape, np.int64)
    if seed % 2:
        return rng.normal(size=shape)
    value = rng.uniform(0.1, 0.9, shape)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        value = (value + np.swapaxes(value, -1, -2)) / 2 + shape[-1] * np.eye(shape[-1])
    return value
