"""Brackets that the author has written, ``(x - m)``, are kept, and stand in results as he has them: order and signs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from ricci.notation import syntax
from ricci.show.deriving.making import everywhere, minus, times
from ricci.show.deriving.typed_trees import SummedTerm, matched, open_in

MOST_TERMS = 4  # of a bracket whose order is looked for


def is_own(node: syntax.Node, own: Sequence[syntax.Node]) -> bool:
    """Whether this is one of the brackets ``own``, up to the names of its indices."""
    return any(matched(p, node, {}, frozenset(open_in(p))) is not None for p in own)


def as_typed(node: syntax.Node, own: Sequence[syntax.Node]) -> syntax.Node:
    """A tree with ``(x - m)**2`` where it has ``(m - x)**2``, and ``-(x - m) y`` for ``(m - x) y``."""

    def change(part: syntax.Node) -> syntax.Node:
        if isinstance(part, syntax.SumNode):
            return _turned(part, 1, own) or part
        if isinstance(part, syntax.Power) and isinstance(part.exponent, syntax.Number):
            base, odd = _turned(part.base, -1, own), part.exponent.value % 2
            if base is None or odd not in (0, 1):
                return part
            return minus(replace(part, base=base)) if odd else replace(part, base=base)
        if isinstance(part, SummedTerm):
            turned = [_turned(f, -1, own) for _, f in part.factors]
            factors = [(e, new or f) for new, (e, f) in zip(turned, part.factors, strict=True)]
            signs = sum(new is not None for new in turned)
            made = times(factors, part.sums) if signs else part
            return minus(made) if signs % 2 else made
        return part

    return everywhere(node, change)


def _turned(node: syntax.Node, sign: int, own: Sequence[syntax.Node]) -> syntax.Node | None:
    """A bracket times a sign as the author has it; none where it is as he has it, or none of his."""
    if not isinstance(node, syntax.SumNode) or len(node.terms) > MOST_TERMS or is_own(node, own):
        return None
    for p in own:
        if isinstance(p, syntax.SumNode) and len(p.terms) == len(node.terms):
            for terms in permutations(node.terms):
                made = syntax.SumNode(0, 0, tuple([(sign * s, t) for s, t in terms]))
                if matched(p, made, {}, frozenset(open_in(p))) is not None:
                    return made
    return None
