"""The canonical order of the operands of a contraction.

Operands are sorted by their structural keys, those whose labels may be exchanged last. Equal operands
(``A[i,j] A[j,k] A[k,i]``) are told apart by how they are linked: colours of labels and operands are refined
in turn until nothing changes. What is still tied then is almost always tied by a symmetry, where any choice gives the
same node; to be safe a bounded search tries a few. Missing the best choice costs sharing, never correctness.

Among choices that give the same node, the one is taken that puts the outer labels of its axes in order, so that
``X[m,n] X[m,p]`` is the same object for ``n p`` and for ``p n``.

The labels of a symmetric matrix are in the order in which they are numbered: first those that operands before it have,
then those of the output, then the others by where they stand. So are those of an operand that changes its sign when two
of them change places, and the sign is that of their order. A contraction that is its own opposite is zero: where two
summed labels of such an operand may be exchanged in all the others, or where two choices give the same node with
different signs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from ricci.budget import spend
from ricci.expr.alternating import parity
from ricci.expr.nodes import Expr
from ricci.expr.structures import turning

Label = Hashable
Factor = tuple[Expr, tuple[Label, ...]]
_LEAVES = 12


def canonical_order(factors: Sequence[Factor], rank: dict[Label, int]) -> tuple[int, list[Factor]]:
    """``factors`` in canonical order, and their sign; ``rank`` has the labels of the output and their places there."""
    turned = [turning(e) for e, _ in factors]
    sign, ordered = _ordered(factors, turned, rank)
    if -1 in turned and sign and _is_opposite(ordered, rank):
        return 0, ordered
    return sign, ordered


def _ordered(factors: Sequence[Factor], turned: list[int], rank: dict[Label, int]) -> tuple[int, list[Factor]]:
    """The factors in order, and the sign; ``turned`` are the :func:`turning` of each."""
    if len(factors) == 2 and factors[0][0].key != factors[1][0].key:
        first, second = factors
        before = (turned[0] != 0, first[0].key) < (turned[1] != 0, second[0].key)
        ordered = [first, second] if before else [second, first]
    else:
        at = sorted(range(len(factors)), key=lambda k: (turned[k] != 0, factors[k][0].key))
        ordered = [factors[k] for k in at]
        if len({e.key for e, _ in ordered}) < len(ordered):
            return _Ordering(ordered, rank).best()
    return _turned(ordered, rank) if any(turned) else (1, ordered)


def _turned(ordered: list[Factor], rank: dict[Label, int]) -> tuple[int, list[Factor]]:
    """The factors with exchangeable labels in the order in which they are numbered, and the sign of all exchanges."""
    sign, place, result = 1, {}, []
    stands: dict[Label, list] | None = None
    for e, labels in ordered:
        turn = turning(e) if len(labels) > 1 else 0
        if turn:
            fresh = [x for x in dict.fromkeys(labels) if x not in place]
            if len(fresh) > 1:
                if stands is None:
                    stands = _stands(ordered)
                fresh.sort(key=lambda x: (x not in rank, rank.get(x, 0), stands[x]))  # type: ignore[index]
            order = {x: k for k, x in enumerate([*sorted(place.keys() & set(labels), key=place.__getitem__), *fresh])}
            if turn < 0:
                sign *= parity([order[x] for x in labels])
            labels = tuple(sorted(labels, key=order.__getitem__))
        for x in labels:
            place.setdefault(x, len(place))
        result.append((e, labels))
    return sign, result


def _stands(ordered: Sequence[Factor]) -> dict[Label, list]:
    """Where labels stand: the places of operands, and the axis where that matters."""
    found: dict[Label, list] = {}
    for at, (e, labels) in enumerate(ordered):
        turn = turning(e)
        for axis, x in enumerate(labels):
            found.setdefault(x, []).append((at, 0 if turn else axis))
    return found


def _is_opposite(factors: Sequence[Factor], rank: dict[Label, int]) -> bool:
    """Whether an exchange of two summed labels shows that a contraction is its own opposite."""
    for at, (e, labels) in enumerate(factors):
        summed = [x for x in labels if x not in rank] if turning(e) < 0 else []
        rest = [f for k, f in enumerate(factors) if k != at]
        outer = [*rank, *labels]
        for p, a in enumerate(summed):
            for b in summed[p + 1 :]:
                spend(len(rest))
                own = {x: k for k, x in enumerate(dict.fromkeys(outer))}
                turned = {**own, a: own[b], b: own[a]}
                (sign, one), (other_sign, other) = (_form(rest, places) for places in (own, turned))
                if one == other and sign * other_sign > 0:
                    return True
    return False


def _form(factors: Sequence[Factor], rank: dict[Label, int]) -> tuple[int, list]:
    """What tells contractions of the same operands apart, and the sign."""
    if not factors:
        return 1, []
    sign, ordered = _ordered(factors, [turning(e) for e, _ in factors], rank)
    number: dict[Label, int] = {}
    labels = [[number.setdefault(x, len(number)) for x in labels] for _, labels in ordered]
    return sign, [labels, [rank.get(x, -1) for x in number], [e.key for e, _ in ordered]]


class _Ordering:
    def __init__(self, factors: list[Factor], rank: dict[Label, int]):
        # Ties are tried in the order of the outer labels, so that the first leaf is the wanted one.
        last = len(rank)
        order = {e: place for place, (e, _) in enumerate(factors)}
        self.turns = {e for e, _ in factors if turning(e)}
        places = [[rank.get(label, last) for label in labels] for _, labels in factors]
        own = [sorted(p) if f[0] in self.turns else p for f, p in zip(factors, places, strict=True)]
        at = sorted(range(len(factors)), key=lambda k: (order[factors[k][0]], own[k]))
        self.factors = [factors[k] for k in at]
        self.rank = rank
        self.leaves = 0
        self.found: tuple | None = None
        self.sign = 1
        self.order: list[Factor] = []

    def best(self) -> tuple[int, list[Factor]]:
        operands = _ranked([(turning(e) != 0, e.key) for e, _ in self.factors])
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
        return self.sign, self.order

    def _leaf(self, operands: list[int]) -> None:
        self.leaves += 1
        order = [self.factors[p] for p in sorted(range(len(operands)), key=operands.__getitem__)]
        sign, order = _turned(order, self.rank) if self.turns else (1, order)
        number: dict[Label, int] = {}
        form = [[number.setdefault(label, len(number)) for label in labels] for _, labels in order]
        outer = [self.rank[label] for label in number if label in self.rank]
        score = (form, [label in self.rank for label in number], outer)
        if self.found is None or score < self.found:
            self.found, self.order, self.sign = score, order, sign
        elif score == self.found and sign != self.sign:
            self.sign = 0

    def _refine(self, operands: list[int], labels: dict[Label, int]) -> tuple[list[int], dict[Label, int]]:
        while True:
            operands = _ranked([(c, self._colours(f, labels)) for c, f in zip(operands, self.factors, strict=True)])
            seen: dict[Label, list] = {label: [] for label in labels}
            for colour, (e, carried) in zip(operands, self.factors, strict=True):
                for place, label in enumerate(carried):
                    seen[label].append((colour, 0 if e in self.turns else place))
            names = list(labels)
            refined = _ranked([(labels[x], tuple(sorted(seen[x]))) for x in names])
            if len(set(refined)) == len(set(labels.values())):
                return operands, labels
            labels = dict(zip(names, refined, strict=True))

    def _colours(self, factor: Factor, labels: dict[Label, int]) -> tuple[int, ...]:
        found = [labels[x] for x in factor[1]]
        return tuple(sorted(found) if factor[0] in self.turns else found)


def _ranked(values: list) -> list[int]:
    """Each value's place among the distinct values in order."""
    place = {v: p for p, v in enumerate(sorted(set(values)))}
    return [place[v] for v in values]
