"""Contractions with a sum among their factors, term by term, where the whole program is cheaper for it.

``r[b,h] (c[b,h] s[b] g[h] + beta[h])`` summed over everything never needs the sum in brackets as an array: each term is
a product that splits into small ones, parts of which other results need as well. The cost counts what several results
share once, so it is weighed for all of them together. Differences stay: ``(x[i] - m) (y[i] - n)`` is small where
``x[i] y[i]`` and ``m n`` are large, and their digits would be lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from ricci.calculus.cost import cost
from ricci.compiler.prepare.choices import compared_values
from ricci.expr import Expr, Product, Sum, add, product, topological
from ricci.expr.walk import rebuild, rewritten
from ricci.simplify import simplify_all

MOST_TERMS = 4
MOST_TRIED = 8
MOST_NODES = 1500
MOST_VISITED = 3000  # nodes, in all tries together: each one goes through all of them


def distributed(roots: Sequence[Expr]) -> list[Expr]:
    """``roots`` with the contractions distributed that make them cheaper."""
    roots = list(roots)
    nodes = topological(*roots)
    if len(nodes) > MOST_NODES:
        return roots
    best, given = None, list(roots)
    tries = min(MOST_TRIED, MOST_VISITED // max(1, len(nodes)))
    found = [(n, candidate(n)) for n in nodes if isinstance(n, Product) and n.sums]
    if not any(at is not None for _, at in found):
        return roots
    whole = compared_values(nodes)  # of which the numbers that are compared are made: they stay in one piece
    for node in [n for n, at in found if at is not None and n.args[at] not in whole][:tries]:
        best = cost(*roots) if best is None else best
        tried = _with(roots, node)
        now = cost(*tried)
        if now < best:
            roots, best = tried, now
    return roots if roots == given else simplify_all(roots)


def candidate(node: Product) -> int | None:
    """The position of a sum that is larger than the contraction, and all of whose terms split or broadcast."""
    if not node.sums:
        return None
    for at, (f, labels) in enumerate(node.factors()):
        several = isinstance(f, Sum) and 2 <= len(f.args) <= MOST_TERMS and len(node.out) < len(set(labels))
        if several and not min(f.coefs) < 0 < max(f.coefs):  # type: ignore[attr-defined]
            whole = [not splits(a) for a in f.args]
            if sum(whole) <= 1:
                return at
    return None


def splits(term: Expr) -> bool:
    """Whether a term is a product of factors none of which has to have all axes, or broadcasts."""
    return isinstance(term, Product) and not term.sums and any(len(own) < len(term.shape) for own in term.labels)


def _with(roots: Sequence[Expr], node: Product) -> list[Expr]:
    at = candidate(node)
    assert at is not None
    return rewritten(roots, lambda e, args: _term_by_term(node, args, at) if e is node else None)


def _term_by_term(node: Product, args: tuple[Expr, ...], at: int) -> Expr:
    total, labels = args[at], node.labels[at]
    if not isinstance(total, Sum):
        return rebuild(node, args)
    rest = [(a, own) for p, (a, own) in enumerate(zip(args, node.labels, strict=True)) if p != at]
    sizes = dict(zip(node.out, node.shape, strict=True))
    terms = zip(total.coefs, total.args, strict=True)
    made = add([(c, product([*rest, (a, labels)], node.out, sizes)) for c, a in terms])  # type: ignore
    return _sums_of_sums(made, {node, *args})


def _sums_of_sums(root: Expr, old: set[Expr]) -> Expr:
    """The expression with sums over sums, such as arose from distributing, distributed as well."""

    def step(e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        alone = e not in old and isinstance(e, Product) and len(args) == 1 and isinstance(args[0], Sum)
        return _term_by_term(e, args, 0) if alone and candidate(e) == 0 else None  # type: ignore

    return rewritten([root], step)[0]
