"""Values that choices are made of, each computed once.

``max(m)`` is one of the entries of ``m``, so ``m == max(m)`` holds somewhere, and ``max(m) - m`` is never negative: in
floating numbers too, if ``m`` is the same numbers in both places. In the core a value has several forms. Where it is an
operand it is a node; in a longer sum or product its terms or factors stand beside others, ``a - b - max(a - b)``, and
so they do, differently arranged, in a transpose or a slice of a product. Evaluated as they stand, these round
differently.

So, before anything is computed, the operands of functions that choose or compare are looked for everywhere, also as
parts of sums and products and as multiples. One that has more than one form is put behind ``HELD``, an identity that
nothing looks through, and that is what all of them are made of then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import permutations

from ricci.expr import (
    Elementwise,
    Expr,
    Function,
    Number,
    Op,
    Product,
    Size,
    Structure,
    Sum,
    add,
    elementwise,
    product,
    topological,
)
from ricci.expr.build.product import restrict
from ricci.expr.build.scale import scale
from ricci.expr.numbers import divide, number
from ricci.expr.structures import merged_axis, natural
from ricci.expr.walk import rebuild
from ricci.simplify.powers import zero_or_one

HELD = Op("held", 1, lambda x: x, (None,), identity=True, whole="kept", body=lambda args: args[0])
MOST_ARRANGEMENTS = 24  # of the axes of a sum within those of a longer one
MOST_PARTS = 64  # terms or factors of a value that is looked for


def with_choices(roots: Sequence[Expr], nodes: Sequence[Expr] | None = None) -> list[Expr]:
    """``roots`` with values that are chosen from, and have several forms, computed once."""
    nodes = topological(*roots) if nodes is None else nodes
    compared = compared_values(nodes)
    if not compared:
        return list(roots)
    table = _Table(compared)
    forms: Counter[Expr] = Counter()
    for node in nodes:
        forms.update([core for core in table.near(node) if forms[core] < 2 and table.found(node, [core])[0]])
    several = sorted([core for core, count in forms.items() if count > 1], key=lambda core: (len(core.args), core.key))
    return _Held({core: compared[core] for core in several}).within(roots) if several else list(roots)


def compared_values(nodes: Iterable[Expr]) -> dict[Expr, Number]:
    """The sums and products that are chosen from or compared, each with the number that it has where it is."""
    found: dict[Expr, Number] = {}
    for node in nodes:
        if isinstance(node, (Elementwise, Function)) and node.op.choice != "":
            for core, times in map(_core, node.args):
                if core is not None and not core.complex:
                    found.setdefault(core, times)
    return found


class _Held:
    """Puts cores, each times the number that it has where it is compared, behind ``HELD``.

    A node becomes a fraction, an expression over a number: ``0.3 p`` being held, ``p`` is that over 0.3, and ``0.3 p``
    is it over 1, exactly.
    """

    def __init__(self, cores: dict[Expr, Number]):
        self.cores, self.table = cores, _Table(cores)
        self.found: dict[Expr, tuple[list[_Match], Rest]] = {}
        self.done: dict[Expr, tuple[Expr, Number]] = {}

    def within(self, roots: Sequence[Expr]) -> list[Expr]:
        stack = list(roots)
        while stack:
            node = stack[-1]
            matches, rest = self.parts(node)
            waiting = [a for a in (*node.args, *[match.core for match in matches]) if a not in self.done]
            if not waiting and node not in self.done:
                new, below = self.made(node, matches, rest)
                if node in self.cores:
                    new = elementwise(HELD, scale(divide(self.cores[node], below), new))
                    below = self.cores[node]
                self.done[node] = new, below
            if waiting:
                stack += waiting
            else:
                stack.pop()
        return [self.whole(root) for root in roots]

    def parts(self, node: Expr) -> tuple[list[_Match], Rest]:
        """The cores that a node has in it, other than itself, and the rest of it."""
        if node not in self.found:
            self.found[node] = self.table.found(node, [core for core in self.table.near(node) if core is not node])
        return self.found[node]

    def whole(self, node: Expr) -> Expr:
        new, below = self.done[node]
        return scale(divide(1, below), new)

    def made(self, node: Expr, matches: list[_Match], rest: Rest) -> tuple[Expr, Number]:
        if not matches and all(self.done[a] == (a, 1) for a in node.args):
            return node, 1
        if isinstance(node, Elementwise) and node.op.name == "abs":  # which lets numbers out
            new, below = self.done[node.args[0]]
            return rebuild(node, (new,)), abs(below)
        if not matches and not isinstance(node, (Sum, Product)):
            return rebuild(node, tuple(map(self.whole, node.args))), 1
        parts = [(match.times, match.core, match.labels) for match in matches] + (rest if matches else _parts(node))
        known = [(times, *self.done[a], labels) for times, a, labels in parts]
        if isinstance(node, Sum):
            return add([(divide(c, below), _placed(a, labels, node)) for c, a, below, labels in known]), 1
        assert isinstance(node, Product)
        sizes: dict[Hashable, Size] = dict(zip(node.out, node.shape, strict=True))
        whole = product([(a, labels) for _, a, _, labels in known], node.out, sizes)
        return whole, reduce(lambda total, part: number(total * part[2]), known, 1)


def _parts(node: Expr) -> Rest:
    """All terms or factors of a node."""
    if isinstance(node, Product):
        return [(1, a, labels) for a, labels in node.factors()]
    assert isinstance(node, Sum)
    axes = tuple(range(len(node.shape)))
    return [(c, a, axes) for c, a in zip(node.coefs, node.args, strict=True)]


def _placed(e: Expr, labels: tuple[Hashable, ...], node: Expr) -> Expr:
    """A term of a sum, its axes being these of the sum's."""
    axes = tuple(range(len(node.shape)))
    return e if labels == axes else product([(e, labels)], axes, dict(enumerate(node.shape)))


# What a value is, however it is arranged


def _core(e: Expr) -> tuple[Expr | None, Number]:
    """The sum or product whose entries ``e`` has, arranged, or some of them, times a number; None if it is neither."""
    times: Number = 1
    while isinstance(e, (Sum, Product)) and len(e.args) <= MOST_PARTS:
        if isinstance(e, Sum):
            if e.args[1:]:
                return e, times
            times, e = number(times * e.coefs[0]), e.args[0]
            continue
        moving = _moving(e)
        moved = {x for _, labels in moving for x in labels}
        factors = [factor for factor in e.factors() if factor not in moving]
        if not moved and len(factors) > 1:
            return e if e.sums else restrict(e, natural(e)), times
        if not factors or (not moved and e.sums):
            break
        kept = dict.fromkeys(x for _, labels in factors for x in labels if x in moved or x in e.out)
        diagonal = not moved and len(kept) < len(factors[0][1])
        e = factors[0][0] if diagonal else product(factors, tuple(kept))
    return None, times


def _moving(e: Product) -> list[Factor]:
    """The structures in a product that only move entries, or choose some: the labels of the result tell all of theirs.

    A relation between labels that are summed, as that of a window to what it is multiplied by, is part of the sum.
    """
    waiting = [(a, labels) for a, labels in e.factors() if isinstance(a, Structure)]
    known, found = set(e.out), []
    while waiting:
        told = [(a, labels) for a, labels in waiting if _tells(a, labels, known)]
        if not told:
            break
        found += told
        known.update(*[labels for _, labels in told])
        waiting = [factor for factor in waiting if factor not in told]
    return found


def _tells(a: Structure, labels: tuple[Hashable, ...], known: set) -> bool:
    """Whether a structure tells its other labels from those that are known."""
    unknown = [axis for axis, x in enumerate(labels) if x not in known]
    if a.relation[0] == "at":
        return unknown in ([], [len(labels) - 1])
    if not unknown or a.relation[0] != "==":
        return not unknown
    merged = merged_axis(a) if len(unknown) > 1 else None
    return len(unknown) == 1 or (merged is not None and merged not in unknown)


# Where it occurs


@dataclass(frozen=True)
class _Match:
    """``times`` a core, the axes of which have these labels in the node; the labels of a sum are its axes."""

    core: Expr
    labels: tuple[Hashable, ...]
    times: Number = 1


Factor = tuple[Expr, tuple[Hashable, ...]]
Rest = list[tuple[Number, Expr, tuple[Hashable, ...]]]  # terms and factors that are in no match


class _Table:
    """Cores, found by what they are made of. Of those that are multiples or arrangements of one another one is kept."""

    def __init__(self, cores: Collection[Expr]):
        self.having: dict[Expr, list[Expr]] = {}
        self.leaves = {core: _leaves(core) for core in cores}
        often = Counter(leaf for own in self.leaves.values() for leaf in own)
        for core in cores:
            alike = [other for other in self.near(core) if len(other.args) == len(core.args)]
            if not any(self.found(core, [other])[0] for other in alike):
                rare = min(self.leaves[core], key=lambda leaf: (often[leaf], leaf.key))
                self.having.setdefault(rare, []).append(core)

    def near(self, node: Expr) -> list[Expr]:
        """The cores that may be parts of a node, the longest first."""
        if not isinstance(node, (Sum, Product)):
            return []
        own = _leaves(node)
        found = {core for leaf in own for core in self.having.get(leaf, ())}
        near = [core for core in found if type(core) is type(node) and self.leaves[core] <= own]
        return sorted(near, key=lambda core: (-len(core.args), core.key))

    def found(self, node: Expr, cores: Sequence[Expr]) -> tuple[list[_Match], Rest]:
        """Which of these a node has among its terms or factors, and the other terms and factors."""
        if not cores:
            return [], []
        return _in_sum(node, cores) if isinstance(node, Sum) else _in_product(node, cores)  # type: ignore[arg-type]


def _leaves(e: Expr) -> set[Expr]:
    """What the terms of a sum, or a product, are made of, however they are arranged."""
    found: set[Expr] = set()
    for term in e.args if isinstance(e, Sum) else (e,):
        if isinstance(term, Sum) and len(term.args) == 1:
            (term,) = term.args
        factors = [a for a, _ in _opened(term)] if isinstance(term, Product) else [term]
        found.update([a for a in factors if not isinstance(a, Structure)])
    return found or {e}


def _in_sum(node: Sum, cores: Sequence[Expr]) -> tuple[list[_Match], Rest]:
    left = dict(zip(node.args, node.coefs, strict=True))
    found = []
    for core in cores:
        assert isinstance(core, Sum)
        for axes in _arrangements(core, node) if len(core.args) <= len(left) else ():
            times = _times(core, axes, node, left)
            if times is not None:
                found.append(_Match(core, axes, times))
                for a in _spread(core, axes, node):
                    del left[a]
    return found, [(c, a, tuple(range(len(node.shape)))) for a, c in left.items()]


def _times(core: Sum, axes: tuple[int, ...], node: Sum, left: dict[Expr, Number]) -> Number | None:
    """How many times a core is among the terms that are left; none where some of it is not."""
    times: Number | None = None
    for a, c in zip(_spread(core, axes, node), core.coefs, strict=True):
        if a not in left:
            return None
        times = divide(left[a], c) if times is None else times
        if left[a] != times * c:
            return None
    return times


def _spread(core: Sum, axes: tuple[int, ...], node: Sum) -> Iterator[Expr]:
    """The terms of a core as they are in a node of which its axes are ``axes``."""
    return (_placed(a, axes, node) for a in core.args)


def _arrangements(core: Expr, node: Expr) -> Iterator[tuple[int, ...]]:
    """Which axes of a node those of a core may be."""
    tried = 0
    for axes in permutations(range(len(node.shape)), len(core.shape)):
        if all(_agree(node.shape[at], size) for at, size in zip(axes, core.shape, strict=True)):
            tried += 1
            yield axes
        if tried >= MOST_ARRANGEMENTS:
            return


def _agree(a: Size, b: Size) -> bool:
    return a == b or not (isinstance(a, int) and isinstance(b, int))


def _in_product(node: Product, cores: Sequence[Expr]) -> tuple[list[_Match], Rest]:
    """As the product is, and with contractions in it opened that only choose entries of what is in them."""
    found = [_among(node, cores, factors) for factors in (list(node.factors()), _opened(node))]
    return max(found, key=lambda way: len(way[0]))


def _opened(node: Product) -> list[Factor]:
    factors: list[Factor] = []
    for at, (a, labels) in enumerate(node.factors()):
        if isinstance(a, Product) and a.sums and any(map(zero_or_one, a.args)):
            name: dict[int, Hashable] = dict(zip(a.out, labels, strict=True))
            factors += [(b, tuple([name.get(x, ("sum", at, x)) for x in inner])) for b, inner in a.factors()]
        else:
            factors.append((a, labels))
    return factors


def _among(node: Product, cores: Sequence[Expr], left: Sequence[Factor]) -> tuple[list[_Match], Rest]:
    found = []
    for core in cores:
        assert isinstance(core, Product)
        forms = [_assigned(core, own, left, set(node.out)) for own in (list(core.factors()), _opened(core))]
        match = next((form for form in forms if form is not None), None)
        if match is not None:
            places, label = match
            found.append(_Match(core, tuple([label[x] for x in core.out])))
            left = [f for at, f in enumerate(left) if at not in places]
    return found, [(1, a, labels) for a, labels in left]


def _assigned(
    core: Product, own: Sequence[Factor], factors: Sequence[Factor], out: set
) -> tuple[list[int], dict[Hashable, Hashable]] | None:
    """Places of the factors of a core among those of a product, and which labels of it those of the core are."""
    waiting: list[tuple[list[int], dict[Hashable, Hashable]]] = [([], {})]
    while waiting:
        places, label = waiting.pop()
        if len(places) == len(own):
            if _first(core, [f for at, f in enumerate(factors) if at not in places], label, out):
                return places, label
            continue
        a, labels = own[len(places)]
        for at, (b, theirs) in reversed(list(enumerate(factors))):
            if b is a and at not in places:
                new = dict(label)
                if all(new.setdefault(x, y) == y for x, y in zip(labels, theirs, strict=True)):
                    waiting.append(([*places, at], new))
    return None


def _first(core: Product, rest: list[Factor], label: dict[Hashable, Hashable], out: set) -> bool:
    """Whether a core may be multiplied before the rest: no other factor has what it sums, and those that have what is
    summed after it move or choose entries."""
    inner = {y for x, y in label.items() if x not in core.out}
    if not inner.isdisjoint(out.union(*[labels for _, labels in rest])):
        return False
    return all(zero_or_one(a) or out.issuperset(labels) for a, labels in rest)
