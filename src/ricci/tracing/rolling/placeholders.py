"""What placeholders mean, put in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ricci.expr import Expr, Variable, rebuild
from ricci.tracing.frames import CodePlace, note_line


def resolved(
    roots: Iterable[Expr], meant: Mapping[Variable, Expr], lines: dict[Expr, CodePlace] | None = None
) -> list[Expr]:
    """``roots`` with placeholders replaced by what they mean, in which there may be others."""
    roots = list(roots)
    if not meant:
        return roots
    done: dict[Expr, Expr] = {}
    waiting = list(roots)
    while waiting:
        node = waiting[-1]
        if node in done:
            waiting.pop()
            continue
        means = meant.get(node)  # type: ignore[call-overload]
        needs = node.args if means is None else (means,)
        left = [a for a in needs if a not in done]
        if left:
            waiting += left
            continue
        waiting.pop()
        args = tuple([done[a] for a in needs])
        done[node] = new = args[0] if means is not None else node if args == node.args else rebuild(node, args)
        if lines and new is not node and node in lines:
            note_line(lines, new, lines[node])
    return [done[root] for root in roots]
