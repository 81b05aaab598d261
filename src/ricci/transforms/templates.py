"""Templates: what is known of a function for operands of one kind, as expressions of stand-ins for these."""

from __future__ import annotations

from collections.abc import Sequence

from ricci.expr import Expr, variable
from ricci.expr.widen import batched
from ricci.transforms.transformed import replace_all


def with_operands(template: Expr, inputs: Sequence[Expr], operands: Sequence[Expr]) -> Expr:
    """A template with operands in place of the stand-ins; their leading axes go along with all of it."""
    lead = len(operands[0].shape) - len(inputs[0].shape)
    shape = operands[0].shape[:lead]
    inner: Sequence[Expr] = inputs
    for axis in reversed(range(lead)):
        wide = [variable(f"wide{k}.{axis}", (shape[axis], *v.shape)) for k, v in enumerate(inner)]
        (template,) = batched([template], dict(zip(inner, wide, strict=True)), shape[axis])
        inner = wide
    return replace_all([template], dict(zip(inner, operands, strict=True)))[0]
