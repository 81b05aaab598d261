"""Linear systems with an operator that is a sum of terms, as expressions that leave as much of it apart as they can.

The first half of the axes of the operator are its rows, the second half its columns.

*Blocks.* A delta between a row axis and a column axis that all terms have makes the operator block diagonal: one system
for each index of that axis, or, where nothing else depends on the axis, one system with as many right sides. With every
axis in such a pair the blocks are numbers and solving is division.

*Low rank.* A term is ``U Wᵀ``: factors that depend on rows, and factors that depend on columns, summed over the labels
that both have. Their number of indices bounds the rank. If it is small, and the other terms, ``D``, are block diagonal
and so easy to solve with, the matrix inversion lemma of Woodbury gives

    (D + U Wᵀ)⁻¹ = D⁻¹ - D⁻¹ U (1 + Wᵀ D⁻¹ U)⁻¹ Wᵀ D⁻¹

in which the only other system is as small as the rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ricci.compiler.compressed.parts_terms import Factor, Labels, Term, renamed
from ricci.expr import Expr, Number, Size, add, affine, delta, merge, product, reciprocal
from ricci.expr.structures import is_delta
from ricci.functions.matrix import solve

Pairs = dict[int, int]  # column axis → the row axis that it equals
_ROW, _COLUMN, _RANK, _OTHER_RANK = "row", "column", "rank", "other rank"


@dataclass(frozen=True)
class Operator:
    """The terms of a linear operator, and the sizes of the labels in them."""

    terms: tuple[Term, ...]
    sizes: dict[int, int]
    half: int

    @classmethod
    def of(cls, terms: tuple[Term, ...], sizes: dict[int, int], half: int) -> Operator:
        """The labels ``-1 - x`` are the columns ``x`` once more; see :meth:`sides`."""
        return cls(terms, {**sizes, **{-1 - x: sizes[x] for x in range(half, 2 * half)}}, half)

    @property
    def rows(self) -> Labels:
        return tuple(range(self.half))

    @property
    def columns(self) -> Labels:
        return tuple(range(self.half, 2 * self.half))

    def some(self, terms: Sequence[Term]) -> Operator:
        return Operator(tuple(terms), self.sizes, self.half)

    # Blocks

    def pairs(self) -> Pairs:
        """The column axes that are some row axis in every term, by deltas; each of one row axis only."""
        classes = [_classes(term) for term in self.terms]
        found: Pairs = {}
        for column in self.columns:
            for row in sorted(self.rows, key=lambda x: x != column - self.half):
                same = all(c.get(row, row) == c.get(column, column) for c in classes)
                if same and row not in found.values():
                    found[column] = row
                    break
        return found

    def blocks(self, pairs: Pairs) -> tuple[Expr, Labels]:
        """All blocks, and their axes: paired ones on which they depend, the other rows, the other columns."""
        terms = [(term.coef, _within(term.factors, pairs)) for term in self.terms]
        carried = {x for _, factors in terms for _, labels in factors for x in labels}
        batch = tuple([x for x in self.rows if x in pairs.values() and x in carried])
        out = (*batch, *self.own_rows(pairs), *self.own_columns(pairs))
        return add([(c, product(factors, out, self.sized(out))) for c, factors in terms]), out

    def own_rows(self, pairs: Pairs) -> Labels:
        return tuple([x for x in self.rows if x not in pairs.values()])

    def own_columns(self, pairs: Pairs) -> Labels:
        return tuple([x for x in self.columns if x not in pairs])

    def sized(self, labels: Sequence) -> dict:
        return {x: self.sizes[x] for x in labels}

    def solved(self, pairs: Pairs, right: Expr, further: tuple) -> Expr:
        """``x`` with this operator times ``x`` equal to ``right``: axes are the columns, then ``further`` ones."""
        matrix, own = self.blocks(pairs)
        rows, columns = self.own_rows(pairs), self.own_columns(pairs)
        batch = own[: len(own) - len(rows) - len(columns)]
        named = (*self.rows, *further)
        out = (*[pairs.get(x, x) for x in self.columns], *further)
        if not rows and not columns:
            return product([(right, named), (reciprocal(matrix), batch)], out)
        join_rows = (merge(tuple([self.sizes[x] for x in rows])), (_ROW, *rows))
        join_columns = (merge(tuple([self.sizes[x] for x in columns])), (_COLUMN, *columns))
        square = product([(matrix, own), join_rows, join_columns], (*batch, _ROW, _COLUMN))
        others = tuple([x for x in named if x not in batch and x not in rows])
        side = product([(right, named), join_rows], (*batch, _ROW, *others))
        x = solve(square, side, (*batch, _ROW, _COLUMN), (*batch, _ROW, *others), _ROW, _COLUMN)
        return product([(x, (*batch, _COLUMN, *others)), join_columns], out)

    # Low rank

    def rank(self, low: Sequence[Sides]) -> int:
        return sum(math.prod([self.sizes[x] for x in s.shared]) for s in low)

    def sides(self, term: Term, pairs: Pairs) -> Sides:
        """The term as the product of what depends on the rows and what depends on the columns.

        A factor that depends on both is on the side of the rows, its columns summed over with a delta on the other.
        """
        rows, columns = set(self.own_rows(pairs)), set(self.own_columns(pairs))
        left: list[Factor] = []
        right: list[Factor] = []
        crossed: dict[int, int] = {}
        for e, labels in _within(term.factors, pairs):
            if rows & set(labels):
                crossed.update({x: -1 - x for x in labels if x in columns})
                left.append((e, tuple([crossed.get(x, x) for x in labels])))
            else:
                (right if columns & set(labels) else left).append((e, labels))
        right += [(delta(self.sizes[x]), (x, other)) for x, other in crossed.items()]
        common = {x for _, labels in left for x in labels} & {x for _, labels in right for x in labels}
        return Sides(term.coef, left, right, tuple(sorted(common - set(self.rows))))

    def corrected(self, pairs: Pairs, rest: Operator, low: Sequence[Sides], right: Expr, further: tuple) -> Expr:
        """The same as :meth:`solved`, by the lemma of Woodbury, for ``rest`` and terms of low rank."""
        batch = tuple([x for x in self.rows if x in pairs.values()])
        columns = tuple([pairs.get(x, x) for x in self.columns])
        rank = self.rank(low)
        u, w = self.stacked(low, self.rows, rank, 0), self.stacked(low, columns, rank, 1)
        inner = rest.pairs()
        first = rest.solved(inner, right, further)
        second = rest.solved(inner, u, (_RANK,))
        small = product([(w, (*columns, _RANK)), (second, (*columns, _OTHER_RANK))], (*batch, _RANK, _OTHER_RANK))
        eye = product([(delta(rank), (_RANK, _OTHER_RANK))], (*batch, _RANK, _OTHER_RANK), self.sized(batch))
        side = product([(w, (*columns, _RANK)), (first, (*columns, *further))], (*batch, _RANK, *further))
        z = solve(small + eye, side, (*batch, _RANK, _OTHER_RANK), (*batch, _RANK, *further), _RANK, _OTHER_RANK)
        change = product(
            [(second, (*columns, _OTHER_RANK)), (z, (*batch, _OTHER_RANK, *further))], (*columns, *further)
        )
        return first - change

    def stacked(self, low: Sequence[Sides], axes: Labels, rank: int, side: int) -> Expr:
        """``U`` or ``W`` of all terms together: axes, and one for the rank, along which they follow one another."""
        start, terms = 0, []
        for s in low:
            shape = [self.sizes[x] for x in s.shared]
            strides: list[Size] = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
            place = affine("==", (-1, *strides), start, (rank, *shape))
            factors = [*(s.left if side == 0 else s.right), (place, (_RANK, *s.shared))]
            coef: Number = s.coef if side == 0 else 1
            terms.append((coef, product(factors, (*axes, _RANK), {**self.sized(axes), _RANK: rank})))
            start += math.prod(shape)
        return add(terms)


@dataclass(frozen=True)
class Sides:
    """A term of low rank: ``coef * left * rightᵀ``, summed over the labels they share."""

    coef: Number
    left: list[Factor]
    right: list[Factor]
    shared: Labels


@dataclass(frozen=True)
class System:
    """An operator, how it falls into blocks ``wide`` across, and, where it pays, which of its terms are of low rank."""

    operator: Operator
    pairs: Pairs
    wide: int
    rank: int  # what the terms let it be at most, within a block
    rest: Operator
    low: tuple[Sides, ...]

    @classmethod
    def of(cls, operator: Operator) -> System:
        pairs = operator.pairs()
        wide = math.prod([operator.sizes[x] for x in operator.own_rows(pairs)])
        sides = [operator.sides(term, pairs) for term in operator.terms]
        is_low = [2 * operator.rank([s]) <= wide for s in sides]
        low = [s for s, chosen in zip(sides, is_low, strict=True) if chosen]
        rest = operator.some([term for term, chosen in zip(operator.terms, is_low, strict=True) if not chosen])
        pays = rest.terms and len(rest.pairs()) > len(pairs) and 2 * operator.rank(low) <= wide
        return cls(operator, pairs, wide, operator.rank(sides), rest, tuple(low) if pays else ())

    def solution(self, right: Expr, further: tuple, low: Sequence[Sides]) -> Expr:
        if not low:
            return self.operator.solved(self.pairs, right, further)
        return self.operator.corrected(self.pairs, self.rest, low, right, further)


def _classes(term: Term) -> dict[int, int]:
    """Axes that a delta of the term makes equal to another one; all of a class to the same."""
    return {labels[1]: labels[0] for e, labels in term.factors if is_delta(e)}


def _within(factors: Sequence[Factor], pairs: Pairs) -> list[Factor]:
    """The factors with column axes named as the rows they equal; deltas that say no more are left out."""
    return [(e, labels) for e, labels in renamed(factors, pairs) if not (is_delta(e) and labels[0] == labels[1])]
