"""By which rules a line follows: what a proof has used, or what one line has that the other has not."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence

from ricci.expr import POWER, Elementwise, Expr, Function, Product, Structure, Sum, numeric, topological
from ricci.notation import syntax
from ricci.notation.occurrences import indices_in, names_in
from ricci.review.sides import Judgement, Pairs, Side
from ricci.show.text import SUM, render

RENAMED = "index renaming"


def rules_of(before: Side, now: Side, judgement: Judgement, defined: Collection[str]) -> tuple[str, ...]:
    """The names of the rules that lead from one side to the next."""
    found = dict.fromkeys(derivative_rules(before.derived, now.derived))
    gone, left = [names_in(side.node) & set(defined) for side in (before, now)]
    replaced = [name for name in defined if (name in gone) != (name in left)]
    if replaced and not found:
        found[f"by definition of {', '.join(replaced)}"] = None
    if not found and not judgement.rules and renamed_alike(before, now):
        return (RENAMED,)
    deltas, ones = (
        [sum(isinstance(n, kind) for n in syntax.within(side.node)) for side in (before, now)]
        for kind in (syntax.Delta, syntax.Ones)
    )
    axes = any(x.order for _, x in before.derived)
    if deltas[1] < deltas[0] or (axes and not now.derived and not deltas[1] and found):
        found["delta substitution"] = None
    if not found and ones[0] != ones[1]:
        found["one-tensor"] = None
    found.update(dict.fromkeys(judgement.rules))
    return tuple(found) or ("rearranging",)


def derivative_rules(before: Pairs, now: Pairs) -> Sequence[str]:
    """The rules of what was still to be differentiated in one line, and is no longer in the next."""
    waiting = _waiting(before)
    left = {_but_for_signs(u) for u in _waiting(now)}
    gone = [u for u in waiting if _but_for_signs(u) not in left]
    divided = {a for u in gone if isinstance(u, Product) and len(u.args) > 1 for a in u.args if _is_inverse(a)}
    names = dict.fromkeys([n for u in gone if u not in divided for n in _names_of(u, waiting)])
    if before and not now and not names:
        return ["derivative of a tensor by itself"]
    return list(names)


def _names_of(u: Expr, waiting: Mapping[Expr, bool]) -> list[str]:
    """The names of the rules by which an expression is differentiated; ``waiting`` says what depends on the variable,
    and whether it is no more than the variable."""
    parts = [a for a in u.args if a in waiting]
    if isinstance(u, Sum):
        return ["sum rule"] if len(u.args) > 1 else []
    if isinstance(u, Product):
        if all(a in waiting or isinstance(a, Structure) for a in u.args) and len(parts) == 1:
            return []
        if any(_is_inverse(a) for a in parts):
            return ["quotient rule"]
        return ["product rule" if len(parts) > 1 else "constant factor"]
    chain = [] if all(waiting[a] for a in parts) else ["chain rule"]
    if isinstance(u, Elementwise) and u.op is POWER:
        return ["power rule" if u.args[0] in waiting else "derivative of an exponential", *chain]
    if isinstance(u, Function) and u.op.loop is not None:
        return ["loop rule"]
    return [f"derivative of {u.op.name}", *chain] if isinstance(u, (Elementwise, Function)) else []


def _is_inverse(e: Expr) -> bool:
    exponent = numeric(e.args[1]) if isinstance(e, Elementwise) and e.op is POWER else None
    return exponent is not None and exponent < 0


def _but_for_signs(u: Expr) -> Hashable:
    return frozenset(u.args) if isinstance(u, Sum) else u


def _waiting(pairs: Pairs) -> dict[Expr, bool]:
    """All that the derivatives are of, and what that is made of, as far as it depends on the variable; from the top.
    With each, whether it is the variable, or a part of it that was moved."""
    found: dict[Expr, bool] = {}
    for y, x in pairs:
        depends: dict[Expr, bool] = {x: True}
        for node in topological(y):
            inner = [a for a in node.args if a in depends]
            if inner and node not in depends:
                rest = [a for a in node.args if a not in depends]
                moved = isinstance(node, Product) and len(inner) == 1 and all(isinstance(a, Structure) for a in rest)
                depends[node] = moved and depends[inner[0]]
        for node in reversed(topological(y)):
            if node in depends:
                found.setdefault(node, depends[node])
    return found


def renamed_alike(before: Side, now: Side) -> bool:
    """Whether two sides are one but for the names of dummies."""
    return _canonical(before) == _canonical(now)


def _canonical(side: Side) -> str:
    names: dict[str, str] = {}
    for node in syntax.within(side.node):
        for index in indices_in(node) if not syntax.children(node) else ():
            for _, name in index.terms:
                if name not in side.names:
                    names.setdefault(name, f"i{len(names)}°")
    return render(syntax.renamed(side.node, names), SUM)
