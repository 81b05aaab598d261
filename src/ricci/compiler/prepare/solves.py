"""Where an inverse is only multiplied by something, that is solved for: cheaper, and more exact.

``inv(A)[i,j] b[j]`` is ``solve(A, b)[i]``; summed over the first index it is solved with the transpose. All factors
that hang on the summed index are multiplied first, so that few columns are solved for. An inverse that is a result
itself, or is needed in more products than :data:`MOST`, stays: factorising it each time would cost more than inverting
it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ricci.expr import Expr, Function, Product, Size, product
from ricci.expr.build.apply import function
from ricci.expr.op import OPS
from ricci.expr.walk import rewritten, users

MOST = 3
Factor = tuple[Expr, tuple[int, ...]]


def solved(roots: Sequence[Expr]) -> list[Expr]:
    """``roots`` with inverses replaced wherever a solution is enough."""
    used = users(*roots)
    able = {
        node
        for node in used
        if _is_inverse(node)
        and node not in roots
        and len(set(used[node])) <= MOST
        and all(_can(u, node) for u in used[node])
    }
    if not able:
        return list(roots)

    def step(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        return _replaced(node, args, able) if isinstance(node, Product) and any(a in able for a in node.args) else None

    return rewritten(roots, step)


def _is_inverse(node: Expr) -> bool:
    return isinstance(node, Function) and node.op.name == "inv"


def _can(user: Expr, inverse: Expr) -> bool:
    """Whether every use of the inverse in a product sums over one of its two indices, and not back to the other."""
    if not isinstance(user, Product) or not user.sums:
        return False
    factors = list(user.factors())
    return all(_hanging(factors, p, user.out) is not None for p, (a, _) in enumerate(factors) if a is inverse)


def _hanging(factors: Sequence[Factor], at: int, out: Sequence[int]) -> tuple[int, set[int]] | None:
    """The summed index of an inverse, and the factors that hang on it; the side with fewer free indices first."""
    labels = factors[at][1]
    sides = [(labels[-1], labels[-2]), (labels[-2], labels[-1])]
    for summed, other in sides:
        if summed == other or summed in out or summed in labels[:-2]:
            continue
        group = _linked(factors, at, summed, set(out) | set(labels[:-2]))
        if group and all(other not in factors[p][1] for p in group):
            return summed, group
    return None


def _linked(factors: Sequence[Factor], at: int, label: int, fixed: set[int]) -> set[int]:
    """The factors that carry a label, and what is linked to them by sums; inverses are left aside there."""
    found: set[int] = set()
    waiting = [label]
    while waiting:
        x = waiting.pop()
        for p, (a, labels) in enumerate(factors):
            if p != at and p not in found and x in labels and (x == label or not _is_inverse(a)):
                found.add(p)
                waiting += [y for y in labels if y not in fixed]
    return found


def _replaced(node: Product, args: tuple[Expr, ...], able: set[Expr]) -> Expr:
    factors: list[Factor] = list(zip(args, node.labels, strict=True))
    inverse = [a in able for a in node.args]
    while True:
        for p in range(len(factors)):
            hanging = _hanging(factors, p, node.out) if inverse[p] else None
            if hanging is not None:
                made = _solution(factors, p, *hanging, node.out)
                kept = [q for q in range(len(factors)) if q != p and q not in hanging[1]]
                factors, inverse = [*[factors[q] for q in kept], made], [*[inverse[q] for q in kept], False]
                break
        else:
            sizes: dict[Any, Size] = dict(zip(node.out, node.shape, strict=True))
            return product(factors, node.out, sizes)


def _solution(factors: Sequence[Factor], at: int, summed: int, group: set[int], out: Sequence[int]) -> Factor:
    """The solution, and its labels: those of the batch, the other index of the inverse, and the columns."""
    inverse, labels = factors[at]
    lead = labels[:-2]
    other = labels[-2] if summed == labels[-1] else labels[-1]
    outside = {x for p, (_, own) in enumerate(factors) if p not in group and p != at for x in own} | set(out)
    inner = dict.fromkeys(x for p in sorted(group) for x in factors[p][1])
    columns = tuple([x for x in inner if x in outside and x not in lead and x != summed])
    sizes: dict[Any, Size] = dict(zip(lead, inverse.shape, strict=False))
    right = product([factors[p] for p in sorted(group)], (*lead, summed, *columns), sizes)
    matrix = inverse.args[0]
    axes = tuple(range(len(matrix.shape)))
    if summed == labels[-2]:
        matrix = product([(matrix, axes)], (*axes[:-2], axes[-1], axes[-2]))
    return function(OPS["solve"], (matrix, right), (len(columns),)), (*lead, other, *columns)
