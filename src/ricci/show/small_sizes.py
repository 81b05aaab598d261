"""Sizes to draw a tensor with: small ones for those that are not known, which agree as they have to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product as combinations

from ricci.errors import ShapeError
from ricci.expr import Expr, Size
from ricci.expr.dims import Atom, Dim, atoms, evaluate, replaced, symbol
from ricci.expr.settle import SettledSizes, SizeClasses

INNER = 3  # what a size that is no axis of the result should be
TOO_SMALL = 3  # how bad an axis with one entry is, beside sizes that are farther from what is wished
MOST_ATOMS, MOST_TRIES = 5, 3000
STEPS = (0, 1, -1, 2, -2, 3)  # away from what is wished


class SmallSizes:
    """A number for every size of an expression: those of its axes as near to ``wished`` as can be."""

    def __init__(self, e: Expr, linked: Sequence[tuple[Size, Size]], others: Sequence[Size], wished: Sequence[int]):
        classes = SizeClasses(e, linked=linked)
        self.settled = SettledSizes([e], (), classes)
        self.axes = [self.settled.of(size) for size in e.shape]
        self.others = list(dict.fromkeys(map(self.settled.of, others)))
        self.wished = wished
        needed = sorted({atom for size in (*self.axes, *self.others) for atom in atoms(size)}, key=repr)
        pairs = [(self._by_atoms(size), self.settled.of(classes.find(size))) for size in list(classes.parent)]
        self.equal = [(a, b) for a, b in pairs if a != b and atoms(a) | atoms(b) <= set(needed)]
        self.wish = dict.fromkeys(needed, INNER)
        for size, best in zip(self.axes, wished, strict=True):
            if isinstance(size, Dim) and len(found := atoms(size)) == 1:
                self.wish.update(dict.fromkeys(found, best))
        self.chosen = self._chosen(needed)

    def _by_atoms(self, size: Size) -> Size:
        return replaced(size, lambda atom: self.settled.of(symbol(*atom)) if len(atom) < 3 else symbol(*atom))

    def of(self, size: Size) -> int:
        return size if isinstance(size, int) else evaluate(self.settled.of(size), self.chosen)

    def _chosen(self, needed: Sequence[Atom]) -> Mapping[Atom, int]:
        """The numbers tried that fit best."""
        moved = list(combinations(STEPS, repeat=min(len(needed), MOST_ATOMS)))
        moved.sort(key=lambda steps: sum(map(abs, steps)))
        best: tuple[float, dict[Atom, int]] | None = None
        for steps in moved[:MOST_TRIES]:
            tried = {atom: self.wish[atom] + step for atom, step in zip(needed, (*steps, *[0] * len(needed)))}
            away = self._away(tried)
            if away is not None and (best is None or away < best[0]):
                best = away, tried
            if best is not None and sum(map(abs, steps)) > best[0] + 2:
                break
        if best is None:
            raise ShapeError("No small sizes were found that fit one another.")
        return best[1]

    def _away(self, tried: Mapping[Atom, int]) -> float | None:
        """How far sizes are from what is wished; none where they cannot be so."""
        if min(tried.values(), default=1) < 1 or any(evaluate(a, tried) != evaluate(b, tried) for a, b in self.equal):
            return None
        axes = [evaluate(size, tried) for size in self.axes]
        if min([*axes, *[evaluate(size, tried) for size in self.others]], default=1) < 1:
            return None
        alike = len(tried) - len(set(tried.values()))
        moved = sum(abs(n - self.wish[atom]) for atom, n in tried.items())
        single = TOO_SMALL * axes.count(1)
        return (
            moved + single + sum(abs(n - wished) for n, wished in zip(axes, self.wished, strict=True)) / 4 + alike / 2
        )
