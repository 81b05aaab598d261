"""Products of arrays: in which order to multiply them, and each pair as one dot, one map or one sum.

Up to :data:`BRUTE` operands all orders are tried, under a cost that counts arithmetic and traffic, and that knows in
which order of its axes the result is wanted. Beyond that ``opt_einsum`` finds the path: dynamic programming for small
products, greedy for large ones, cotengra for very large ones where it is installed.

Two operands that are one array, seen from the two sides of a symmetric result, with nothing but a factor that is never
negative between them, ``X[m,n] X[m,p] s[m]``, are multiplied as ``Y[m,n] Y[m,p]`` with ``Y = sqrt(s) X``: BLAS then
computes half of the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

import opt_einsum

from ricci.compiler.builder import Builder, sizes_of
from ricci.compiler.program import Labels, Number, Operand, Value, distinct, volume

BRUTE = 4
DYNAMIC = 10
TRAFFIC = 4.0  # the cost of moving one number, in units of one multiplication in a matrix product
REARRANGED = 1.0  # the same for a result that comes out in another order than wanted, which is a view then
Terms = tuple[frozenset[int], ...]


def contract(
    builder: Builder,
    operands: Sequence[Operand],
    kept: Sequence[int],
    coef: Number = 1,
    nonnegative: Sequence[bool] = (),
    often: frozenset[tuple[int, int]] = frozenset(),
) -> Operand:
    """The product of arrays, summed over the labels that are not kept, times ``coef``.

    ``kept`` is in the order in which the result is wanted, if it can be had. ``nonnegative`` tells of each operand
    whether it is known never to be negative, ``often`` which pairs of them are multiplied elsewhere too.
    """
    if not operands:
        return coef, ()
    operands = builder.aligned(operands)
    signs = list(nonnegative) or [False] * len(operands)
    before = len(operands)
    operands, signs = _shared_halves(builder, list(operands), signs, kept)
    work = _Work(builder, [_reduced(builder, o, p, operands, kept) for p, o in enumerate(operands)], tuple(kept))
    for pair in work.path(often if len(work.operands) == before else frozenset()):
        work.join(*pair, coef)
        if work.scaled:
            coef = 1
    (result,) = work.operands
    return builder.scaled(result, coef)


def _reduced(
    builder: Builder, operand: Operand, position: int, operands: Sequence[Operand], kept: Sequence[int]
) -> Operand:
    """The operand, summed over labels that only it has."""
    others = {x for p, (_, labels) in enumerate(operands) if p != position for x in labels}
    return builder.sum(operand, [x for x in operand[1] if x in others or x in kept])


class _Work:
    """Operands that are being multiplied, a pair at a time."""

    def __init__(self, builder: Builder, operands: list[Operand], kept: Labels):
        self.builder, self.operands, self.kept = builder, operands, kept
        self.sizes = sizes_of(operands)
        self.scaled = False

    def path(self, often: frozenset[tuple[int, int]]) -> list[tuple[int, int]]:
        terms = tuple([frozenset(labels) for _, labels in self.operands])
        used = distinct(x for _, labels in self.operands for x in labels)
        small = {x: n for n, x in enumerate(used)}
        return list(
            _path(
                tuple([tuple([small[x] for x in labels]) for _, labels in self.operands]),
                tuple([small[x] for x in self.kept if x in small]),
                tuple([self.sizes[x] for x in used]),
                often,
            )
            if len(terms) > 1
            else []
        )

    def join(self, a: int, b: int, coef: Number) -> None:
        """Replace two operands by their product, put last; the coefficient joins where it costs least."""
        first, second = self.operands[a], self.operands[b]
        rest = [o for p, o in enumerate(self.operands) if p not in (a, b)]
        needed = {x for _, labels in rest for x in labels} | set(self.kept)
        if coef != 1 and not rest:
            entries = volume(
                set(first[1]) | set(second[1]) if not _summed(first, second, needed) else self.kept, self.sizes
            )
            small = min(_entries(first), _entries(second))
            if small < entries:
                if _entries(first) <= _entries(second):
                    first = self.builder.scaled(first, coef)
                else:
                    second = self.builder.scaled(second, coef)
                self.scaled = True
        both = distinct([*first[1], *second[1]])
        later = [x for x in both if x not in self.kept]
        outer = not _summed(first, second, needed) and len(both) > max(len(first[1]), len(second[1]))
        if outer and rest and later:  # what is summed next goes first, so that the dot to come takes this as a matrix
            order = (*later, *[x for x in self.kept if x in both])
            joined = self.builder.map("multiply", first, second, order=order)
        else:
            joined = pair(self.builder, first, second, needed, self.kept)
        self.operands = [*rest, joined]


def _entries(operand: Operand) -> int:
    value, _ = operand
    return value.entries if isinstance(value, Value) else 1


def _summed(a: Operand, b: Operand, needed: set[int]) -> set[int]:
    return (set(a[1]) & set(b[1])) - needed


def pair(builder: Builder, a: Operand, b: Operand, needed: set[int], wanted: Labels = ()) -> Operand:
    """The product of two operands, summed over what nobody needs; its axes in the order ``wanted``, if that is free."""
    a = builder.sum(a, [x for x in a[1] if x in needed or x in b[1]])
    b = builder.sum(b, [x for x in b[1] if x in needed or x in a[1]])
    if not _summed(a, b, needed):
        return builder.map("multiply", a, b)
    if set(a[1]) == set(b[1]):
        product = builder.known_map("multiply", a, b)
        if product is not None:
            return builder.sum(product, [x for x in product[1] if x in needed])
    return builder.dot(a, b, _dot_order(a, b, needed, wanted))


def _dot_order(a: Operand, b: Operand, needed: set[int], wanted: Labels) -> Labels:
    """The order of the axes of a dot that needs no copies.

    The axes of the larger operand stay where they are, and those of the smaller take the place of what is summed.
    """
    shared = [x for x in a[1] if x in b[1]]
    batch = [x for x in shared if x in needed]
    large, small = (a, b) if _entries(a) >= _entries(b) else (b, a)
    free = [x for x in small[1] if x not in shared]
    rest = [x for x in large[1] if x not in shared]
    places = [p for p, x in enumerate(large[1]) if x in shared]
    together = not batch and places[-1] - places[0] == len(places) - 1
    if together and places[0] > 0 and places[-1] < len(large[1]) - 1:
        return (*large[1][: places[0]], *free, *large[1][places[-1] + 1 :])
    orders = [(*batch, *free, *rest), (*batch, *rest, *free)]
    if not (together and places[0] == 0):
        orders.reverse()
    place = {x: p for p, x in enumerate(wanted)}
    return min(orders, key=lambda order: _disorder([place[x] for x in order if x in place]))


def _disorder(places: Sequence[int]) -> int:
    """How often a place comes right before one that should be before it."""
    return sum(a > b for a, b in pairwise(places))


# Paths


@lru_cache(maxsize=4096)
def _path(
    terms: tuple[Labels, ...], kept: Labels, sizes: Labels, often: frozenset[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """Pairs of positions; a product goes to the end of the list, as in opt_einsum."""
    sets = tuple([frozenset(labels) for labels in terms])
    if len(terms) == 2:
        return ((0, 1),)
    if len(terms) <= BRUTE:
        return _best(list(sets), list(range(len(sets))), kept, sizes, often)[1]
    size = {x: max(n, 1) for x, n in enumerate(sizes)}
    finder: Callable = _finder(len(terms))
    path = finder([set(s) for s in sets], set(kept), size)
    return tuple(_pairs(path, len(terms)))


def _finder(count: int) -> Callable:
    if count <= DYNAMIC:
        return opt_einsum.paths.DynamicProgramming(minimize="combo-4")
    if count > 100:
        try:
            import cotengra  # type: ignore

            return cotengra.HyperOptimizer(max_time=1.0, progbar=False)
        except ImportError:
            pass
    return opt_einsum.paths.greedy


def _pairs(path: Sequence[Sequence[int]], count: int) -> list[tuple[int, int]]:
    """A path of pairs alone; what is left at the end is multiplied in order."""
    result: list[tuple[int, int]] = []
    for step in path:
        places = sorted(step, reverse=True)
        if len(places) == 1:
            continue
        result.append((places[1], places[0]))
        count -= 1
        for p in places[2:]:
            result.append((p, count - 1))
            count -= 1
    while count > 1:
        result.append((0, 1))
        count -= 1
    return result


def _best(
    terms: list[frozenset[int]], origin: list[int], kept: Labels, sizes: Labels, often: frozenset[tuple[int, int]]
) -> tuple[float, tuple[tuple[int, int], ...]]:
    """The cheapest order; ``origin`` says which operand a term is, -1 for products. What is needed often costs half."""
    if len(terms) == 1:
        return 0.0, ()
    found: tuple[float, tuple[tuple[int, int], ...]] = (float("inf"), ())
    for b in range(1, len(terms)):
        for a in range(b):
            rest = [t for p, t in enumerate(terms) if p not in (a, b)]
            cost, joined = _cost(terms[a], terms[b], rest, kept, sizes)
            if (origin[a], origin[b]) in often:
                cost /= 2
            if cost >= found[0]:
                continue
            left = [n for p, n in enumerate(origin) if p not in (a, b)]
            later, path = _best([*rest, joined], [*left, -1], kept, sizes, often)
            if cost + later < found[0]:
                found = cost + later, ((a, b), *path)
    return found


def _cost(a: frozenset, b: frozenset, rest: list[frozenset], kept: Labels, sizes: Labels) -> tuple[float, frozenset]:
    needed = frozenset(kept).union(*rest)
    both = a | b
    joined = both & needed

    def entries(labels: frozenset | set) -> float:
        total = 1.0
        for x in labels:
            total *= max(sizes[x], 1)
        return total

    traffic = entries(a) + entries(b) + entries(joined)
    cost = entries(both) + TRAFFIC * traffic
    shared = a & b
    if (shared - needed) and (shared & needed):  # many small matrix products rather than one large one
        inner = min(entries(a - shared), entries(b - shared))
        cost += entries(both) * (16.0 / (inner + 3.0))
    if not rest and shared - needed and not _in_order(a - shared, b - shared, shared & needed, kept):
        cost += REARRANGED * entries(joined)
    return cost, joined


def _in_order(a: frozenset, b: frozenset, batch: frozenset, kept: Labels) -> bool:
    """Whether the axes of a dot come out as wanted: those of both operands, then all of one, then all of the other."""
    groups = [0 if x in batch else 1 if x in a else 2 for x in kept if x in a or x in b or x in batch]
    changes = [g for p, g in enumerate(groups) if p == 0 or groups[p - 1] != g]
    return len(changes) == len(set(changes)) and (0 not in changes or changes[0] == 0)


# Symmetric products


def _shared_halves(
    builder: Builder, operands: list[Operand], signs: list[bool], kept: Sequence[int]
) -> tuple[list[Operand], list[bool]]:
    """Products of a matrix with itself, ``s`` between the two: ``s`` goes into both as its square root."""
    for b in range(1, len(operands)):
        for a in range(b):
            between = _between(operands, a, b, kept)
            if between and all(signs[p] for p in between) and _worth(operands, a, b):
                inner = [operands[p] for p in between]
                carried = distinct(x for _, labels in inner for x in labels)
                root = builder.map("sqrt", contract(builder, inner, carried))
                sides = [builder.map("multiply", operands[p], root) for p in (a, b)]
                rest = [p for p in range(len(operands)) if p not in (a, b, *between)]
                return [*sides, *[operands[p] for p in rest]], [False, False, *[signs[p] for p in rest]]
    return operands, signs


def _between(operands: list[Operand], a: int, b: int, kept: Sequence[int]) -> list[int]:
    """The operands between two uses of one array that differ in labels of the result alone; none if they are not so."""
    (x, first), (y, second) = operands[a], operands[b]
    if x is not y or first == second:
        return []
    own = [(p, q) for p, q in zip(first, second, strict=True) if p != q]
    common = {p for p, q in zip(first, second, strict=True) if p == q}
    if (
        not common
        or any(z not in kept for pair_ in own for z in pair_)
        or len({z for p in own for z in p}) != 2 * len(own)
    ):
        return []
    return [p for p, (_, labels) in enumerate(operands) if p not in (a, b) and labels and set(labels) <= common]


def _worth(operands: list[Operand], a: int, b: int) -> bool:
    """Whether the product is large enough for half of it to matter more than a square root."""
    (value, first), (_, second) = operands[a], operands[b]
    assert isinstance(value, Value)
    own = volume([x for x, y in zip(first, second, strict=True) if x != y], dict(zip(first, value.shape, strict=True)))
    return own >= 32 and len(first) <= 2
