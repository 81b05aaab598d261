"""Numbers and their conjugates, of which one is computed.

Conjugates go down to the inputs, so ``f(z)`` and ``f(conj(z))`` are two expressions, and derivatives of what is not
holomorphic have both. Before anything is computed, the one with more conjugates in it becomes ``MIRRORED`` of the
other: a pass over its entries in place of all that it is made of.
"""

from __future__ import annotations

from collections.abc import Sequence

from ricci.expr import Elementwise, Expr, Op, Product, Structure, Sum, Variable, elementwise, scale, topological
from ricci.expr.build.conjugates import CONJ, conj, imaginary, plainer_but_for_sign
from ricci.expr.build.scale import primitive
from ricci.expr.walk import rebuild

MIRRORED = Op("mirrored", 1, lambda z: z, (None,), complex="kept", body=lambda args: conj(args[0]))


def with_mirrored(roots: Sequence[Expr], nodes: Sequence[Expr] | None = None) -> list[Expr]:
    """``roots``, in which of a number and its conjugate the second is made of the first."""
    nodes = topological(*roots) if nodes is None else nodes
    present = {node for node in nodes if node.complex and not _is_plain(node) and not _has_sign(node)}
    turned: dict[Expr, tuple[Expr, int]] = {}
    for node in present:
        other, sign = plainer_but_for_sign(node)
        if sign and other in present:
            turned[node] = other, sign
    while turned:
        made = _replaced(roots, turned)
        if made is not None:
            return made
    return list(roots)


def _replaced(roots: Sequence[Expr], turned: dict[Expr, tuple[Expr, int]]) -> list[Expr] | None:
    """``roots`` with what is made of its conjugate; None where that needs itself, which is then no longer wanted."""
    done: dict[Expr, Expr] = {}
    begun: set[Expr] = set()
    waiting = list(roots)
    while waiting:
        node = waiting[-1]
        needed = turned[node][:1] if node in turned else node.args
        lacking = [a for a in needed if a not in done]
        if lacking:
            begun.add(node)
            if not begun.isdisjoint(lacking):
                for each in begun - done.keys():
                    turned.pop(each, None)
                return None
            waiting += lacking
            continue
        waiting.pop()
        made = tuple([done[a] for a in needed])
        if node in turned:
            done[node] = scale(turned[node][1], elementwise(MIRRORED, *made))
        else:
            done[node] = node if made == node.args else rebuild(node, made)
    return [done[root] for root in roots]


def _has_sign(e: Expr) -> bool:
    """Whether it is a number times what is looked at by itself."""
    return isinstance(e, Sum) and primitive(e)[1] is not e


def _is_plain(e: Expr) -> bool:
    """Whether its conjugate is no more work than itself, in any arrangement, or is a node around it."""
    if isinstance(e, Product) and sum(not isinstance(a, Structure) and not imaginary(a) for a in e.args) == 1:
        return not any(a.complex and not imaginary(a) and not _is_input(a) for a in e.args)
    return _is_input(e) or imaginary(e) or (isinstance(e, Elementwise) and (e.op is CONJ or e.op.own))


def _is_input(e: Expr) -> bool:
    return isinstance(e, Variable) or (isinstance(e, Elementwise) and e.op is CONJ and isinstance(e.args[0], Variable))
