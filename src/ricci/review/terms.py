"""By what the terms of a side must be multiplied for it to be equal to another: a sign, a number, the size of an index.

Both are taken at points of a finite field, where the numbers that are looked for solve linear equations, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ricci.expr import Expr, dims
from ricci.expr.settle import SizeClasses
from ricci.simplify.residues import MOST_WORK, PRIME, Entries, FieldPoint, TooMuch, small_fraction

MOST_TERMS = 10
SMALL = (2, 3, 4, 5)  # sizes, each for another index


class ReviewPoint(FieldPoint):
    """A random point at which indices that need not agree have different sizes, as far as there are small ones."""

    def drawn_sizes(self, atoms: list[dims.Atom]) -> dict[dims.Atom, int]:
        some = SMALL[: 4 if len(atoms) < 5 else 2 if len(atoms) > 7 else 3]
        turn = 1 if self.number < len(SMALL) else -1
        return {atom: some[(self.number + turn * k) % len(some)] for k, atom in enumerate(atoms)}

    def value(self, root: Expr) -> Entries | None:
        """The entries, or nothing where they are too many, or where sizes do not fit."""
        self.work = MOST_WORK
        try:
            return self.values(root)
        except (TooMuch, KeyError, IndexError, ValueError, ZeroDivisionError):
            return None


def points(roots: Sequence[Expr], classes: SizeClasses) -> list[ReviewPoint]:
    """Two points for what is made of these, at which the first of them has a value, and is not 0, if there are such:
    sizes go round, and ``inv`` of ``X[m,i] X[m,j]`` has a value only where m is no smaller than i."""
    found: list[tuple[bool, ReviewPoint]] = []
    try:
        for number in range(2 * len(SMALL)):
            point = ReviewPoint(list(roots), classes, number)
            found.append((not point.value(roots[0]), point))
            if sum(not none for none, _ in found) == 2:
                break
    except (TooMuch, KeyError):
        pass
    found.sort(key=lambda pair: pair[0])
    return [point for _, point in found[:2]] if len(found) > 1 else []


def difference(a: Entries, b: Entries) -> Entries:
    found = {place: (a.get(place, 0) - b.get(place, 0)) % PRIME for place in {**a, **b}}
    return {place: value for place, value in found.items() if value}


def ratio(a: Entries, b: Entries) -> int | None:
    """The residue by which ``b`` must be multiplied to give ``a``, if there is one, and it is not 0."""
    if not a or a.keys() != b.keys():
        return None
    place = next(iter(a))
    factor = a[place] * pow(b[place], -1, PRIME) % PRIME
    return factor if all((b[p] * factor - value) % PRIME == 0 for p, value in a.items()) else None


def multipliers(target: Entries, terms: Sequence[Entries]) -> list[int] | None:
    """Residues by which the terms must be multiplied for their sum to be the target, if there are just these."""
    count = len(terms)
    places = sorted({place for entries in (target, *terms) for place in entries})
    rows = [[*[t.get(place, 0) for t in terms], target.get(place, 0)] for place in places]
    done = 0
    for column in range(count):
        at = next((k for k in range(done, len(rows)) if rows[k][column]), None)
        if at is None:
            return None
        rows[done], rows[at] = rows[at], rows[done]
        inverse = pow(rows[done][column], -1, PRIME)
        rows[done] = [value * inverse % PRIME for value in rows[done]]
        for k, row in enumerate(rows):
            if k != done and row[column]:
                factor = row[column]
                rows[k] = [(a - factor * b) % PRIME for a, b in zip(row, rows[done], strict=True)]
        done += 1
    return None if any(row[-1] for row in rows[done:]) else [rows[k][-1] for k in range(count)]


def said(residues: Sequence[int], sizes: Mapping[str, Sequence[int]]) -> tuple[Fraction, tuple[str, ...]] | None:
    """What residues at two points are: a fraction, perhaps times the size of an index, or divided by one."""
    plain = [small_fraction(r) for r in residues]
    if plain[0] is not None and len(set(plain)) == 1:
        return plain[0], ()
    for name, own in sizes.items():
        over = [small_fraction(r * pow(n, -1, PRIME) % PRIME) for r, n in zip(residues, own, strict=True)]
        if over[0] is not None and len(set(over)) == 1:
            return over[0], (name,)
        times = [small_fraction(r * n % PRIME) for r, n in zip(residues, own, strict=True)]
        if times[0] is not None and len(set(times)) == 1:
            return times[0], ("/" + name,)
    return None
