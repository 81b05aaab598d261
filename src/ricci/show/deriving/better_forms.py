"""Forms that say the same and behave better, put in before anything is derived: ``log(1 + exp(u))`` is ``softplus(u)``.

They are those that the simplifier puts in too, by the same names; a derivative of one is shorter than that of what was
written, and ends in the words in which the result is printed.
"""

from __future__ import annotations

from dataclasses import replace

from ricci.notation import syntax
from ricci.show.deriving.making import everywhere


def stable(node: syntax.Node) -> tuple[syntax.Node, list[str]]:
    """A tree in stable forms, and the names of the rules that were used."""
    rules: list[str] = []

    def change(part: syntax.Node) -> syntax.Node:
        found = _softplus(part) or _log_softmax(part)
        if found is None:
            return part
        rules.append(found[1])
        return found[0]

    return everywhere(node, change), list(dict.fromkeys(rules))


def _softplus(node: syntax.Node) -> tuple[syntax.Node, str] | None:
    if not isinstance(node, syntax.CallNode) or node.name not in ("log", "log1p"):
        return None
    inner = node.args[0]
    if node.name == "log":
        terms = inner.terms if isinstance(inner, syntax.SumNode) else ()
        rest = [t for sign, t in terms if sign > 0 and not (isinstance(t, syntax.Number) and t.value == 1)]
        if len(terms) != 2 or len(rest) != 1:
            return None
        inner = rest[0]
    if not isinstance(inner, syntax.CallNode) or inner.name != "exp":
        return None
    return replace(inner, name="softplus"), "log of an exponential"


def _log_softmax(node: syntax.Node) -> tuple[syntax.Node, str] | None:
    if not isinstance(node, syntax.CallNode) or node.name != "log":
        return None
    inner = node.args[0]
    if not isinstance(inner, syntax.CallNode) or inner.name != "softmax" or inner.axes is None:
        return None
    return replace(inner, name="log_softmax"), "log of softmax"
