"""Networks of factors, reduced to chains of matrices as far as that goes.

A product is a network: a factor with one index is a weight on that index, one with two is an edge between them, from
row to column. Three steps reduce it, and what they reduce is exactly what chains of matrices can say:

    leaf      A[i,j] w[j], summed over j             a weight on i: A w, or A 1 without a weight
    series    A[i,j] w[j] B[j,k], summed over j      an edge from i to k: A diag(w) B
    parallel  A[i,j] B[i,j]                          one edge, A ⊙ B; or a loop, diag(A Bᵀ), then tr(A Bᵀ)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from ricci.expr import Number, number
from ricci.show import words


class Network:
    """The factors of a product: weights on indices, edges between them (from, to, exponent, matrix) and scalars."""

    def __init__(self, out: Iterable[Hashable]):
        self.out = tuple(out)
        self.weights: dict[Hashable, list[tuple[int, words.MatrixWord]]] = {}
        self.edges: list[tuple[Hashable, Hashable, int, words.MatrixWord]] = []
        self.scalars: list[tuple[int, words.MatrixWord]] = []
        self.coef: Number = 1
        self.is_zero = False

    def add(self, exponent: int, word: words.MatrixWord, labels: Sequence[Hashable]) -> None:
        word = self.without_numbers(exponent, word)
        for label in labels:
            self.weights.setdefault(label, [])
        if not labels:
            self.scalars.append((exponent, word))
        elif len(labels) == 1:
            self.weights[labels[0]].append((exponent, word))
        elif labels[0] == labels[1]:
            self.weights[labels[0]].append((exponent, words.make_word("diagonal", [word], 1)))
        else:
            self.edges.append((labels[0], labels[1], exponent, word))

    def without_numbers(self, exponent: int, word: words.MatrixWord) -> words.MatrixWord:
        """A factor whose sign, number and scalars are taken out, to stand before the whole."""
        if exponent < 0 and word.kind == "scaled":
            return word
        sign, word = words.positive(word)
        coef, scalars, word = words.unscaled(word) if word.order else (1, [], word)
        self.coef = number(self.coef * sign * coef)
        self.scalars += scalars
        return word if coef == 1 and not scalars else self.without_numbers(exponent, word)

    def reduce(self) -> bool:
        """Sum over all indices that may go; whether none is left but those of the result."""
        while any(self._eliminate(v) for v in list(self.weights) if v not in self.out) or self._parallel():
            pass
        return all(v in self.out for v in self.weights)

    def at(self, v: Hashable) -> list[tuple[Hashable, Hashable, int, words.MatrixWord]]:
        return [edge for edge in self.edges if v in edge[:2]]

    def take(self, u: Hashable, v: Hashable) -> words.MatrixWord | None:
        """The matrix with rows ``u`` and columns ``v``, if there is one; the edge is removed."""
        found = [edge for edge in self.edges if {u, v} == set(edge[:2])]
        for edge in found:
            self.edges.remove(edge)
        return words.signed([(e, w if a == u else words.flip(w)) for a, _, e, w in found], 2) if found else None

    def column(self, v: Hashable) -> words.MatrixWord:
        """The weights on ``v`` as one vector that ends a chain: ``diag(s) A x`` or ``s ⊙ x``."""
        weights = self.weights[v]
        chains = [w for e, w in weights if e > 0 and w.kind == "times"]
        rest = [part for part in weights if part[1] not in chains]
        return (
            words.times([words.diag_of(rest), chains[0]], 1) if rest and len(chains) == 1 else words.signed(weights, 1)
        )

    def _eliminate(self, v: Hashable) -> bool:
        """Sum over an index with at most two neighbours."""
        ends = [b if a == v else a for a, b, *_ in self.at(v)]
        if len(ends) > 2 or (len(ends) == 2 and ends[0] == ends[1]):
            return False
        if not ends:
            self.scalars.append((1, self._total(sorted(self.weights[v], key=lambda part: part[1].first))))
        elif len(ends) == 1:
            self._leaf(v, ends[0])
        else:
            left, right = self.take(ends[0], v), self.take(v, ends[1])
            assert left is not None and right is not None
            middle = [words.diag_of(self.weights[v])] if self.weights[v] else []
            self.edges.append((ends[0], ends[1], 1, words.times([left, *middle, right], 2)))
        del self.weights[v]
        return True

    def _leaf(self, v: Hashable, u: Hashable) -> None:
        matrix = self.take(u, v)
        assert matrix is not None
        alone = u not in self.out and not self.weights[u] and not self.weights[v] and not self.at(u)
        square = next((w for w in (matrix, words.flip(matrix)) if words.is_square(w)), None)
        if alone and square is not None:
            self.weights[u].append((1, words.make_word("squares", [words.without_bars(square.args[0])], 1)))
        else:
            self.weights[u].append((1, words.times([matrix, self.column(v)], 1)))

    @staticmethod
    def _total(weights: list[tuple[int, words.MatrixWord]]) -> words.MatrixWord:
        """The sum of the entries of a product of vectors."""
        chains = [w for e, w in weights if e > 0 and w.kind == "times"]
        rest = [part for part in weights if part[1] not in chains]
        above = [w for e, w in rest if e > 0]
        if len(weights) == 1 and above:
            (w,) = above
            if w.kind == "call" and w.data in words.ABSOLUTE:
                return words.make_word("norm1", w.args, 0)
            if w.kind == "diagonal":
                return words.trace_of(w.args[0])
            if words.is_square(w) and w.args[0].kind == "norms":
                return words.power_word(words.make_word("frobenius", w.args[0].args, 0), words.number_word(2), 2)
            if w.kind == "squares" or words.is_square(w):
                return words.power_word(
                    words.make_word("norm" if w.kind == "power" else "frobenius", [words.without_bars(w.args[0])], 0),
                    words.number_word(2),
                    2,
                )
        if len(chains) > 1:
            middle = rest + [(1, w) for w in chains[1:-1]]
            return words.inner_product(chains[0], *([words.diag_of(middle)] if middle else []), chains[-1])
        if chains:
            return words.inner_product(words.signed(rest, 1), chains[0])
        if len(above) > 1:
            rest.remove((1, above[0]))
            return words.inner_product(above[0], words.signed(rest, 1))
        return words.inner_product(words.ONES, words.signed(rest, 1))

    def _parallel(self) -> bool:
        """Two edges or more between the same indices: a loop where that is a trace or shorter, or one edge, ``⊙``."""
        for u, v in [edge[:2] for edge in self.edges]:
            both = [edge for edge in self.edges if {u, v} == set(edge[:2])]
            if len(both) == 1:
                continue
            kept, gone = self._loop(u, v)
            one, two = [words.signed([(e, w if a == kept else words.flip(w))], 2) for a, _, e, w in both[:2]]
            loop = words.times(
                [one, *([words.diag_of(self.weights[gone])] if self.weights[gone] else []), words.flip(two)], 2
            )
            loop = min(loop, words.flip(loop), key=lambda w: (w.flips, [a.first for a in w.args]))
            merged = self.take(u, v)
            assert merged is not None
            trace = not ({u, v} & set(self.out) or self.at(u) or self.at(v) or self.weights[kept])
            short = gone not in self.out and not self.at(gone) and loop.flips < merged.flips
            if len(both) == 2 and (trace or (short and not self.weights[gone])):
                del self.weights[gone]
                self.weights[kept].append((1, words.make_word("diagonal", [loop], 1)))
            else:
                self.edges.append((u, v, 1, merged))
            return True
        return False

    def _loop(self, u: Hashable, v: Hashable) -> tuple[Hashable, Hashable]:
        """Which of two indices a loop would keep: one of the output, or the one without weights."""
        swap = v in self.out or (u not in self.out and bool(self.weights[u]))
        return (v, u) if swap else (u, v)

    def matrix(self, i: Hashable, j: Hashable) -> words.MatrixWord:
        """What is left between two indices of the output, with their weights."""
        edge, left, right = self.take(i, j), self.weights.get(i, []), self.weights.get(j, [])
        if edge is None:
            return words.times([words.signed(left, 1), words.flip(words.signed(right, 1))], 2)
        if edge == words.IDENTITY:
            return words.diag_of(left + right) if left or right else edge
        return words.times(
            [*([words.diag_of(left)] if left else []), edge, *([words.diag_of(right)] if right else [])], 2
        )
