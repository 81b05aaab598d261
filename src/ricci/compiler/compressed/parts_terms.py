"""Terms of a result that is taken apart: numbers times factors, each an expression with labels for its axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ricci.expr import Expr, Number

Labels = tuple[int, ...]
Factor = tuple[Expr, Labels]


@dataclass(frozen=True)
class Term:
    """A number times factors. A label below the order of the result is one of its axes; the others are summed."""

    coef: Number
    factors: tuple[Factor, ...]


def renamed(factors: Iterable[Factor], to: Mapping[int, Any]) -> tuple[Factor, ...]:
    """The factors with other labels."""
    return tuple([(e, tuple([to.get(x, x) for x in labels])) for e, labels in factors])
