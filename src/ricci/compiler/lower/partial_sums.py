"""Sums that are parts of others.

Expressions keep sums flat: of ``y = x + f(x)`` and ``z = y + g(y)`` the second is ``x + f(x) + g(y)``, one sum of three
terms. So a long residual network, or the steps of an integrator, would be added up from the beginning again and again.
Here sums that have been made are found by their terms, and a sum begins with the largest one that it contains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from ricci.expr import Expr, Number, Sum

FEWEST = 2  # terms of a sum that is worth looking for
MOST_USES = 64  # sums of one term that are looked at, the latest ones


class PartialSums:
    """The sums made so far, by their terms."""

    def __init__(self) -> None:
        self.having: dict[Expr, list[Sum]] = {}

    def note(self, node: Sum) -> None:
        """A sum that is being made; from now on it may be part of others."""
        if len(node.args) >= FEWEST:
            for a in node.args:
                self.having.setdefault(a, []).append(node)

    def within(self, node: Sum, done: Container[Expr]) -> tuple[Sum, Number] | None:
        """The largest sum among those ``done`` that is part of ``node``, and how many times it is."""
        if len(node.args) <= FEWEST:
            return None
        shared = Counter(s for a in node.args for s in self.having.get(a, ())[-MOST_USES:])
        own = dict(zip(node.args, node.coefs, strict=True))
        best: tuple[Sum, Number] | None = None
        for found, count in shared.items():
            if count == len(found.args) and (best is None or count > len(best[0].args)) and found in done:
                first, theirs = own[found.args[0]], found.coefs[0]
                if all(own[a] * theirs == c * first for a, c in zip(found.args, found.coefs, strict=True)):
                    best = found, 1 if first == theirs else first / theirs
        return best
