"""Terms that put their numbers in the same places, told by equations, added up to one core.

The Hessian of a sum of local terms is a sum of many terms such as ``[i == k + 1] [j == k] t[k]``. The equations of each
are solved: some labels, axes of the result first, are told by the others. Terms with the same solution, whatever they
call the labels that they sum over, become one term, as do those that say it in other words; what cancels is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from ricci.compiler.compressed.parts_terms import Factor, Labels, Term, renamed
from ricci.expr import Number, Size, Structure, add, affine, product
from ricci.expr.structures import is_zero

Told = tuple[dict[int, int], int]  # coefficients of labels, and a number, whose sum a label is


class Alignment(NamedTuple):
    """The labels that equations tell, by those that are left, and the labels summed over among these."""

    told: dict[int, Told]
    sources: Labels
    key: tuple


NOWHERE = Alignment({}, (), ())  # of a term whose equations have no solution


class Labelled(Protocol):
    order: int
    written: dict[int, Size]
    sizes: dict[int, int]

    def label(self, label: int, size: Size) -> int: ...
    def flat(self, coef: Number, factors: Sequence[Factor]) -> list[Term]: ...
    def cost(self, terms: list[Term]) -> tuple[int, int]: ...


def aligned(search: Labelled, terms: Iterable[Term]) -> list[Term]:
    """The terms, those with the same places as one where that takes no more numbers."""
    alike: dict[tuple, list[tuple[Term, Alignment]]] = {}
    result: list[Term] = []
    for term in terms:
        found = alignment(search, term)
        if found is None:
            result.append(term)
        elif found is not NOWHERE:
            alike.setdefault(found.key, []).append((term, found))
    for own in alike.values():
        joined = _joined(search, own)
        apart = [term for term, _ in own]
        result += joined if search.cost(joined)[0] <= search.cost(apart)[0] else apart
    return result


def alignment(search: Labelled, term: Term) -> Alignment | None:
    """What the equations of a term tell.

    None where there are other structures, or an end of a label that is summed over would be lost.
    """
    structures = [(e, labels) for e, labels in term.factors if isinstance(e, Structure)]
    if not structures or any(e.relation[0] != "==" for e, _ in structures):
        return None
    told: dict[int, Told] = {}
    for e, labels in structures:
        _, given, const = e.relation
        if not all(isinstance(c, int) for c in (*given, const)):
            return None
        coefs, const = _put_in(_collected(labels, given), const, told)
        if not coefs:
            if const:
                return NOWHERE
            continue
        pivot = max((x for x, c in coefs.items() if abs(c) == 1), key=lambda x: _rank(search, x), default=None)
        if pivot is None:
            return None
        sign = -coefs.pop(pivot)
        one = {x: sign * c for x, c in coefs.items()}, sign * const
        told = {x: _put_in(*each, {pivot: one}) for x, each in told.items()} | {pivot: one}
    ends = {x: _ends(search, each) for x, each in told.items()}
    if any(high < 0 or low >= search.sizes[x] for x, (low, high) in ends.items()):
        return NOWHERE
    if any(x >= search.order and (low < 0 or high >= search.sizes[x]) for x, (low, high) in ends.items()):
        return None
    return _named(search, told)


def _named(search: Labelled, told: dict[int, Told]) -> Alignment | None:
    """The same with a key that does not depend on the names of labels that are summed over."""
    axes = {x: told[x] for x in sorted(told) if x < search.order}
    number: dict[int, int] = {}
    for coefs, _ in axes.values():
        for x in sorted(coefs, key=lambda x: (x >= search.order, x if x < search.order else -abs(coefs[x]))):
            if x >= search.order:
                number.setdefault(x, len(number))
    if not axes:
        return None
    key = tuple([
        (x, const, *sorted((y if y < search.order else -1 - number[y], c) for y, c in coefs.items()))
        for x, (coefs, const) in axes.items()
    ])  # fmt: skip
    return Alignment(told, tuple(number), (key, tuple([search.sizes[x] for x in number])))


def _joined(search: Labelled, terms: list[tuple[Term, Alignment]]) -> list[Term]:
    """Terms with the same places as one: what each has there is a core of the labels that are left."""
    _, first = terms[0]
    kept = set(first.sources)
    parts: list[tuple[Number, list[Factor]]] = []
    for term, own in terms:
        to = dict(zip(own.sources, first.sources, strict=True))
        parts.append((term.coef, _read(search, term, own, to)))
    kept |= {x for _, factors in parts for _, labels in factors for x in labels if x < search.order}
    out = (*first.sources, *sorted(kept - set(first.sources)))
    sizes = {x: search.written[x] for x in out}
    core = add([(coef, product(factors, out, sizes)) for coef, factors in parts])
    if is_zero(core):
        return []
    places = [_equation(search, x, first.told[x]) for x in sorted(first.told) if x < search.order]
    return search.flat(1, [*places, (core, out)])


def _read(search: Labelled, term: Term, own: Alignment, to: dict[int, int]) -> list[Factor]:
    """What a term has beside structures, told labels read where the equations say, summed ones as nowhere else."""
    rest = [(e, labels) for e, labels in term.factors if not isinstance(e, Structure)]
    new: dict[int, int] = dict(to)
    places: list[Factor] = []
    for x in dict.fromkeys(x for _, labels in rest for x in labels):
        if x in own.told:
            new[x] = search.label(len(search.written), search.written[x])
            e, labels = _equation(search, x, own.told[x])
            places.append((e, tuple([new[x] if y == x else to.get(y, y) for y in labels])))
        elif x >= search.order and x not in to:
            new[x] = search.label(len(search.written), search.written[x])
    return [*renamed(rest, new), *places]


def _equation(search: Labelled, label: int, told: Told) -> Factor:
    coefs, const = told
    labels = (label, *coefs)
    return affine("==", (-1, *coefs.values()), const, tuple([search.written[x] for x in labels])), labels


def _rank(search: Labelled, label: int) -> tuple:
    """Axes are told rather than other labels, last ones first; of those long ones."""
    return (label < search.order, label if label < search.order else search.sizes[label])


def _ends(search: Labelled, told: Told) -> tuple[int, int]:
    """The least and the greatest value of a label that is told."""
    coefs, const = told
    ends = [c * (search.sizes[x] - 1) for x, c in coefs.items()]
    return const + sum(min(0, e) for e in ends), const + sum(max(0, e) for e in ends)


def _collected(labels: Sequence[int], coefs: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for x, c in zip(labels, coefs, strict=True):
        found[x] = found.get(x, 0) + c
    return {x: c for x, c in found.items() if c}


def _put_in(coefs: dict[int, int], const: int, told: dict[int, Told]) -> Told:
    """A sum with what told labels are in their place."""
    for x, (others, number) in told.items():
        times = coefs.get(x, 0)
        if times:
            both = [*((y, c) for y, c in coefs.items() if y != x), *((y, times * c) for y, c in others.items())]
            coefs = _collected([y for y, _ in both], [c for _, c in both])
            const += times * number
    return coefs, const
