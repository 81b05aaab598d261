"""The canonical order of the operands of a contraction.

Operands are sorted by their structural keys, symmetric matrices last, since their labels may be swapped. Equal
operands (``A[i,j] A[j,k] A[k,i]``) are told apart by how they are linked: colours of labels and operands are refined
in turn until nothing changes. What is still tied then is almost always tied by a symmetry, where any choice gives the
same node; to be safe a bounded search tries a few. Missing the best choice costs sharing, never correctness.

Among choices that give the same node, the one is taken that puts the outer labels of its axes in order, so that
``X[m,n] X[m,p]`` is the same object for ``n p`` and for ``p n``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from ricci.budget import spend
from ricci.expr.nodes import Expr
from ricci.expr.structures import symmetric

Label = Hashable
Factor = tuple[Expr, tuple[Label, ...]]
_LEAVES = 12


def canonical_order(factors: Sequence[Factor], rank: dict[Label, int]) -> list[Factor]:
    """``factors`` in canonical order; ``rank`` holds the labels of the output and their places there."""
    if len(factors) == 2 and factors[0][0].key != factors[1][0].key:
        first, second = factors
        before = (symmetric(first[0]), first[0].key) < (symmetric(second[0]), second[0].key)
        return [first, second] if before else [second, first]
    ordered = sorted(factors, key=lambda factor: (symmetric(factor[0]), factor[0].key))
    if len({e.key for e, _ in ordered}) == len(ordered):
        return ordered
    return _Ordering(ordered, rank).best()


class _Ordering:
    def __init__(self, factors: list[Factor], rank: dict[Label, int]):
        # Ties are tried in the order of the outer labels, so that the first leaf is the wanted one.
        last = len(rank)
        order = {e: place for place, (e, _) in enumerate(factors)}
        self.factors = sorted(factors, key=lambda f: (order[f[0]], [rank.get(label, last) for label in f[1]]))
        self.rank = rank
        self.leaves = 0
        self.found: tuple | None = None
        self.order: list[Factor] = []

    def best(self) -> list[Factor]:
        operands = _ranked([(symmetric(e), e.key) for e, _ in self.factors])
        labels = {label: int(label in self.rank) for _, labels in self.factors for label in labels}
        stack = [self._refine(operands, labels)]
        while stack and self.leaves < _LEAVES:
            operands, labels = stack.pop()
            spend(len(operands))
            counts = Counter(operands)
            tied = min((c for c, n in counts.items() if n > 1), default=None)
            if tied is None:
                self._leaf(operands)
                continue
            members = [p for p, c in enumerate(operands) if c == tied]
            room = 1 if len(stack) >= _LEAVES else len(members)
            for member in reversed(members[:room]):
                split = [2 * c + (p != member) for p, c in enumerate(operands)]
                stack.append(self._refine(split, labels))
        return self.order

    def _leaf(self, operands: list[int]) -> None:
        self.leaves += 1
        order = [self.factors[p] for p in sorted(range(len(operands)), key=operands.__getitem__)]
        number: dict[Label, int] = {}
        form = [[number.setdefault(label, len(number)) for label in labels] for _, labels in order]
        outer = [self.rank[label] for label in number if label in self.rank]
        score = (form, [label in self.rank for label in number], outer)
        if self.found is None or score < self.found:
            self.found, self.order = score, order

    def _refine(self, operands: list[int], labels: dict[Label, int]) -> tuple[list[int], dict[Label, int]]:
        while True:
            pairs = zip(operands, self.factors, strict=True)
            operands = _ranked([(c, tuple([labels[x] for x in f[1]])) for c, f in pairs])
            seen: dict[Label, list] = {label: [] for label in labels}
            for colour, (_, carried) in zip(operands, self.factors, strict=True):
                for place, label in enumerate(carried):
                    seen[label].append((colour, place))
            names = list(labels)
            refined = _ranked([(labels[x], tuple(sorted(seen[x]))) for x in names])
            if len(set(refined)) == len(set(labels.values())):
                return operands, labels
            labels = dict(zip(names, refined, strict=True))


def _ranked(values: list) -> list[int]:
    """Each value's place among the distinct values in order."""
    place = {v: p for p, v in enumerate(sorted(set(values)))}
    return [place[v] for v in values]
