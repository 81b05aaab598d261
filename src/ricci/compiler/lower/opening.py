"""Which products are computed as part of others, and which of their factors meet more than once.

A contraction that only one product needs becomes part of it, so that all orders of multiplication are open. A sum among
the factors of a contraction, each of whose terms splits, is never made: the contraction is done term by term. Pairs of
factors that occur in several products are counted, so that an order is preferred which computes them once.

Sums that are parts of others are found by their terms. Expressions keep sums flat: of ``y = x + f(x)`` and
``z = y + g(y)`` the second is ``x + f(x) + g(y)``, one sum of three terms. So a long residual network, or the steps of
an integrator, would be added up from the beginning again and again; here a sum begins with the largest one it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from ricci.caches import lazy
from ricci.compiler.lower.paths import EXACT, Pairs
from ricci.compiler.plan.program_steps import Labels
from ricci.compiler.prepare.distribute import candidate, splits
from ricci.expr import Elementwise, Expr, Product, Structure, Sum, Variable, one
from ricci.expr.numbers import Number, number
from ricci.expr.walk import by_height

MOST_OPENED = 64  # operands of a product, those of products within it counted in
FEWEST = 2  # terms of a sum that is worth looking for
MOST_USES = 64  # sums of one term that are looked at, the latest ones
ROUNDING = 1e-15
Factors = list[tuple[Expr, Labels]]


_OPENED = frozenset([Structure, Product, Sum])  # what may be part of its user


class Opening:
    """What is computed as part of what, in some expressions with these nodes; ``fresh`` makes labels."""

    def __init__(self, roots: Sequence[Expr], nodes: Sequence[Expr], fresh: Callable[[], int]):
        # values that are computed again, to save memory, shall be used up before the next ones are: step by step
        self.step_by_step = "barrier" in [node.head for node in nodes if type(node) is Elementwise]
        self.nodes = by_height(*roots) if self.step_by_step else nodes  # in the order in which they are made
        self.fresh = fresh
        self.parts = sums_of_sums(self.nodes)
        self.uses = Counter([a for node in nodes for a in (self.operands(node) if node in self.parts else node.args)])
        self.uses.update(roots)
        self.numbers = _numbers(nodes)
        self.within: set[Expr] = set()  # what is computed as part of its users
        width: dict[Expr, int] = {}
        for node in nodes:
            width[node] = len(node.args)
            for a in node.args:
                if self._opens(node, a) and width[node] + width[a] <= MOST_OPENED:
                    width[node] += width[a] if isinstance(node, Product) else 0
                    self.within.add(a)
        sums = [node for node in nodes if type(node) is Product and node.sums]
        self.by_terms = {node: at for node in sums if (at := self._in_terms(node)) is not None}
        for node, at in self.by_terms.items():
            self.within |= {node.args[at], *node.args[at].args}

    def operands(self, node: Expr) -> Iterable[Expr]:
        """What a node is made of: its operands, those that sums within it have made of terms among them."""
        inner = self.parts[node]
        covered = {a for total, _ in inner for a in total.args}
        return [*[total for total, _ in inner], *[a for a in node.args if a not in covered]]

    def _opens(self, node: Expr, a: Expr) -> bool:
        """Whether an operand is part of its only user: structures, and products in sums or products."""
        if type(a) not in _OPENED:
            return False
        if self.uses.get(a, 0) > 1:
            return isinstance(a, Structure) and isinstance(node, (Product, Sum)) and not a.args
        if isinstance(node, Product):
            alone = all(b is a or isinstance(b, Structure) or b in self.numbers for b in node.args)
            contraction = isinstance(a, Product) and a.sums and (node.sums or alone)
            return isinstance(a, Structure) or (contraction and not self.step_by_step)
        if isinstance(a, Sum):  # only so many sums within sums are opened by the constructor
            return isinstance(node, Sum) and node.coefs[node.args.index(a)] == 1
        return isinstance(node, Sum) and isinstance(a, (Product, Structure))

    def _in_terms(self, node: Product) -> int | None:
        """The factor of a contraction that is a sum nobody else needs, if each term splits."""
        at = candidate(node) if node not in self.within else None
        if at is None or self.uses[node.args[at]] > 1:
            return None
        return at if all(splits(a) and self.uses[a] == 1 for a in node.args[at].args) else None

    @lazy
    def pairs(self) -> Counter[tuple]:
        """How often pairs of factors occur; asked for where a product has more than two."""
        found: Counter[tuple] = Counter()
        for node in self.nodes:
            if isinstance(node, Product) and node not in self.within:
                terms = [f for _, f in self.terms(node)] if node in self.by_terms else [list(node.factors())]
                for term in terms:
                    factors = self.factors(term, node.out)
                    if len(factors) <= EXACT:
                        found.update([key for _, key in _pairs(factors, len(node.out))])
        return found

    def opened(self, terms: Mapping[Expr, Number]) -> dict[Expr, Number]:
        """Terms of a sum and how many times each is; those of sums that are part of it in their stead."""
        found: dict[Expr, Number] = {}
        waiting = list(terms.items())[::-1]
        while waiting:
            a, coef = waiting.pop()
            if isinstance(a, Sum) and a in self.within:
                waiting += [(b, coef * c) for b, c in zip(a.args[::-1], a.coefs[::-1], strict=True)]
            else:
                found[a] = found.get(a, 0) + coef
        return found

    def terms(self, node: Product) -> list[tuple[Number, Factors]]:
        """The terms of a contraction with a sum among its factors: a number and factors each."""
        at = self.by_terms[node]
        total, labels = node.args[at], node.labels[at]
        assert isinstance(total, Sum)
        rest = [factor for p, factor in enumerate(node.factors()) if p != at]
        result = []
        for coef, a in zip(total.coefs, total.args, strict=True):
            assert isinstance(a, Product)
            own = [(b, tuple([labels[x] for x in inner])) for b, inner in a.factors()]
            result.append((coef, [*rest, *own, *_spread(a, labels)]))
        return result

    def factors(self, given: Sequence[tuple[Expr, Labels]], out: Labels) -> Factors:
        """The factors of a product, those of products that are part of it among them.

        The labels of ``out`` become the numbers of the axes of the result, the others are new.
        """
        name = {label: axis for axis, label in enumerate(out)}
        result: Factors = []
        waiting = [(a, self._renamed(labels, name)) for a, labels in reversed(given)]
        while waiting:
            node, own = waiting.pop()
            if isinstance(node, Product) and node in self.within:
                inner = dict(zip(node.out, own, strict=True))
                waiting += [(a, self._renamed(labels, inner)) for a, labels in reversed(list(node.factors()))]
                result += _spread(node, own)
            else:
                result.append((node, own))
        return result

    def _renamed(self, labels: Labels, name: dict[int, int]) -> Labels:
        for x in labels:
            if x not in name:
                name[x] = self.fresh()
        return tuple(map(name.__getitem__, labels))

    def often(self, factors: Factors, order: int) -> Pairs:
        """The pairs of factors, by position, that are multiplied in other products too; ``order`` is the result's."""
        if not 3 <= len(factors) <= EXACT:
            return frozenset()
        return frozenset([pair for pair, key in _pairs(factors, order) if self.pairs[key] > 1])


def _spread(node: Product, labels: Labels) -> Factors:
    """A one-tensor for the axes along which the product repeats, so that a sum over them counts them."""
    carried = {x for own in node.labels for x in own}
    axes = [axis for axis, x in enumerate(node.out) if x not in carried]
    return [(one(tuple([node.shape[axis] for axis in axes])), tuple([labels[axis] for axis in axes]))] if axes else []


def _pairs(factors: Factors, order: int) -> list[tuple[tuple[int, int], tuple]]:
    """Pairs of factors that share a label: their positions, and what the product of the two alone is."""
    found = []
    carried = Counter([z for _, labels in factors for z in set(labels)])
    for b in range(1, len(factors)):
        for a in range(b):
            one, other = factors[a], factors[b]
            if set(one[1]).isdisjoint(other[1]):
                continue
            (x, first), (y, second) = (other, one) if other[0].key < one[0].key else (one, other)
            number: dict[int, int] = {}
            for z in (*first, *second):
                number.setdefault(z, len(number))
            summed = [n for z, n in number.items() if z >= order and carried[z] == (z in first) + (z in second)]
            sides = [tuple([number[z] for z in labels]) for labels in (first, second)]
            found.append(((a, b), (x, sides[0], y, sides[1], tuple(summed))))
    return found


def _numbers(nodes: Sequence[Expr]) -> set[Expr]:
    """The scalars that depend on no input: they are numbers once sizes are known."""
    found: set[Expr] = set()
    for node in nodes:
        if not node.shape and not isinstance(node, Variable) and all(a in found for a in node.args):
            found.add(node)
    return found


# Sums


def sums_of_sums(nodes: Sequence[Expr]) -> dict[Expr, list[tuple[Sum, Number]]]:
    """For each sum the sums before it that are part of it, the largest first, and how many times each is."""
    having: dict[Expr, list[Sum]] = {}
    found: dict[Expr, list[tuple[Sum, Number]]] = {}
    for node in nodes:
        if isinstance(node, Sum):
            terms = dict(zip(node.args, node.coefs, strict=True))
            while (part := _part(terms, having)) is not None:
                found.setdefault(node, []).append(part)
                for a in part[0].args:
                    del terms[a]
            if len(node.args) >= FEWEST:
                for a in node.args:
                    having.setdefault(a, []).append(node)
    return found


def _part(terms: Mapping[Expr, Number], having: Mapping[Expr, list[Sum]]) -> tuple[Sum, Number] | None:
    """The largest sum all of whose terms are among these, each as many times."""
    if len(terms) < FEWEST:
        return None
    shared = Counter(s for a in terms for s in having.get(a, ())[-MOST_USES:])
    best: tuple[Sum, Number] | None = None
    for total, count in shared.items():
        if count == len(total.args) and (best is None or count > len(best[0].args)):
            times = _quotient(terms[total.args[0]], total.coefs[0])
            if all(_close(terms[a], c * times) for a, c in zip(total.args, total.coefs, strict=True)):
                best = total, times
    return best


def _quotient(one: Number, other: Number) -> Number:
    exact = not isinstance(one, float) and not isinstance(other, float)
    return number(Fraction(one) / Fraction(other)) if exact else one / other


def _close(one: Number, other: Number) -> bool:
    """Whether two numbers are equal, but for what rounding their products leaves."""
    return one == other or (isinstance(one, float) and abs(one - other) <= ROUNDING * abs(one))
