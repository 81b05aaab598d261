"""What the rows of elementwise functions are made with: their builders, and the parts of their local rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ricci.errors import InputError
from ricci.expr import Elementwise, Expr, Op, constant, elementwise, numeric
from ricci.expr.build.algebra import as_expr

Rule = Callable[..., Expr | None]


@dataclass(frozen=True)
class Builder:
    """Builds the nodes of one row from expressions and numbers."""

    op: Op

    def __call__(self, *args: object) -> Expr:
        if len(args) != self.op.arity:
            raise InputError(f"{self.op.name} takes {self.op.arity} operands, not {len(args)}.")
        return elementwise(self.op, *[as_expr(a) for a in args])


def row(name: str, value: Callable[..., float], *partials: Callable[..., Expr] | str | None, **more) -> Builder:
    return Builder(Op(name, len(partials), value, partials, **more))


# Local rules, tried in order.


def rules(*parts: Rule) -> Rule:
    def rewrite(*args: Expr) -> Expr | None:
        return next((found for found in (rule(*args) for rule in parts) if found is not None), None)

    return rewrite


def folded(f: Callable, known: Callable[[Any], bool] = math.isfinite) -> Rule:
    """Exact on constants that are finite, or of which ``known`` holds."""

    def rule(*args: Expr) -> Expr | None:
        values = [numeric(a) for a in args]
        return constant(f(*values)) if all(v is not None and known(v) for v in values) else None

    return rule


def idempotent(name: str) -> Rule:
    return lambda x: x if isinstance(x, Elementwise) and x.op.name == name else None
