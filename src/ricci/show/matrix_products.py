"""Sums and products of tensors in words of matrix notation: what is multiplied out, and where signs go.

A product is said by its network. A factor with three indices or more that is a sum is multiplied out before, and so are
its square and cube: ``softmax(z)[n,k] (delta[k,l] - softmax(z)[n,l])`` has two terms, each with a network of matrices.
Other factors with three indices stand in the way, and a refusal names them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

from ricci.errors import RuleError
from ricci.expr import (
    POWER,
    Elementwise,
    Expr,
    Function,
    Number,
    Product,
    Size,
    Structure,
    Sum,
    Variable,
    number,
    numeric,
    product,
    variables,
)
from ricci.expr.structures import is_delta, is_levi_civita
from ricci.functions.axes import last
from ricci.notation.context import Facts
from ricci.show import text as in_text
from ricci.show import words
from ricci.show.authors import Author
from ricci.show.express import program
from ricci.show.index_names import Namer
from ricci.show.networks import Network
from ricci.show.unfolding import Tangle, settled
from ricci.show.words import MatrixWord

Labels = Sequence[Hashable]
Factors = list[tuple[Expr, tuple]]
MOST_TERMS = 32  # of sums that are multiplied out
MOST_OPENED, DEEPEST_OPENED = 4, 2  # terms of a sum that is opened to see whether that is shorter, and such in such
LONG = 40  # of words that are not tried in other ways
MOVES = "it moves entries (a shift, a stride, a reshape or a gather)"
LONGEST, LONG_PART = 60, "a part of it"  # letters of a part that a message shows, and what it calls others


class ProductWords:
    """The part of a writer that says sums and products."""

    known: dict[Expr, MatrixWord | Exception]

    def __init__(self, root: Expr, facts: Facts, indices: Sequence[str], author: Author):
        self.root, self.facts, self.indices, self.author = root, facts, tuple(indices), author
        self.multiplied = 0  # terms of sums that were multiplied out
        self.opening = 0  # sums that are being opened

    def of(self, e: Expr) -> MatrixWord:
        raise NotImplementedError

    def word(self, e: Expr) -> MatrixWord:
        raise NotImplementedError

    def elementwise(self, e: Elementwise, of: Callable[[Expr], MatrixWord]) -> MatrixWord:
        raise NotImplementedError

    def along(self, e: Function, arg: MatrixWord) -> MatrixWord:
        raise NotImplementedError

    def sum(self, e: Sum) -> MatrixWord:
        return self.added(e, self.of, self.product)

    def added(
        self, e: Sum, of: Callable[[Expr], MatrixWord], minus: Callable[[Product, int], MatrixWord]
    ) -> MatrixWord:
        """A sum by what its terms are; the sign of a product goes into a difference that is not the author's."""
        terms = []
        for c, a in zip(e.coefs, e.args, strict=True):
            turned = c < 0 and isinstance(a, Product) and self.turnable(a)
            terms.append((-c, minus(a, -1), a.key) if turned else (c, of(a), a.key))  # type: ignore[arg-type]
        order = self.author.order(e)
        typed = [terms[at] for at in order[1]] if order else sorted(terms, key=_term_order)
        sign = order[0] if order else 0
        return words.plus([(c, w) for c, w, _ in typed], min(e.order, 2), self.author.wrote(e), sign)

    def turnable(self, e: Product) -> bool:
        found = [self.known.get(a) for a, _ in self.opened(e, e.out)]
        return any(isinstance(w, MatrixWord) and words.is_turnable(w) for w in found)

    def product(self, e: Product, sign: int = 1) -> MatrixWord:
        """``sign`` times a product."""
        for a in e.args if e.order == 1 and sign == 1 else ():
            if a.order == 2 and e in (last(a, (0, 1)), last(a, (1, 0))):
                return words.vec_of(self.of(a) if e is last(a, (0, 1)) else words.flip(self.of(a)))
        terms = self.multiplied_out(e, e.out)
        if terms is not None:
            made = sorted([(sign * c, self.of(a), a.key) for c, a in terms], key=_term_order)
            return words.over_common([(c, w) for c, w, _ in made], e.order)
        word = self.networked(e, e.out, e.out, 0 if e.order < 2 else 1, sign)
        if self.author.sums is None or words.cost(word) > LONG:
            return word
        return min([*self.with_open_sum(e, sign), word], key=words.cost)

    def networked(self, e: Product, labels: Labels, out: Labels, columns: int, sign: int = 1) -> MatrixWord:
        """A product whose axes have these labels, by its network; the last ones of ``out`` are those of the columns."""
        factors = self.opened(e, labels)
        if any(isinstance(a, Structure) and not is_said(a) for a, _ in factors):
            words.refuse(f"{MOVES}: {self.named(e)}")
        whole = [(a, own) for a, own in factors if a.order > 2]
        scalars = all(a.order == 0 for a, _ in factors if a.order <= 2)
        full = [
            self.unfolded(a, own, columns)
            for a, own in whole
            if sorted(own, key=str) == [*out]
            and (isinstance(a, (Elementwise, Function)) or (scalars and len(whole) == 1))
        ]
        if len(full) < len(whole):
            for a, _ in whole:
                self.refuse_order(a)
        net = self.network([factor for factor in factors if factor not in whole], out, sign)
        if net.is_zero:
            return words.plus([], min(e.order, 2))
        body = None if full and scalars else self.reduced(net, out, columns, factors)
        if full:
            body = words.signed([(1, w) for w in [*full, *([] if body is None else [body])]], 2)
        sign, body = (1, None) if body is None else words.without_mirrors(body)
        return words.plus([(sign, words.scaled(net.scalars, body, net.coef))], min(e.order, 2))

    def reduced(self, net: Network, out: Labels, columns: int, factors: Factors) -> MatrixWord | None:
        """The tensor part of a network, its scalars being counted already."""
        chains = net.reduce()
        if chains and len(out) == 2 and columns == 1:
            return net.matrix(*out)
        if chains and len(out) < 2:
            return words.signed(net.weights.get(out[0], []), 1) if out else None
        rows = len(out) - columns
        body = settled(net, out[:rows], out[rows:])
        if isinstance(body, Tangle):
            words.refuse(self.told(body, factors, out))
        return body if out else None

    def opened(self, e: Product, out: Sequence[Hashable]) -> Factors:
        """The factors, with all products among them taken apart."""
        waiting: Factors = [(e, tuple(out))]
        factors = []
        while waiting:
            a, labels = waiting.pop()
            if isinstance(a, Product):
                name = dict(zip(a.out, labels, strict=True))
                own = object()
                waiting += [(b, tuple([name.get(x, (own, x)) for x in inner])) for b, inner in a.factors()]
            else:
                factors.append((a, labels))
        return factors[::-1]

    def multiplied_out(self, e: Product, out: Sequence[Hashable]) -> list[tuple[Number, Expr]] | None:
        """The terms of a product that has a sum with three indices or more, or a power of one, among its factors."""
        factors = self.opened(e, out)
        at = next((k for k, (a, _) in enumerate(factors) if a.order > 2 and _is_sum(a)), None)
        if at is None:
            return None
        a = factors[at][0]
        self.multiplied += len((a.args[0] if isinstance(a, Elementwise) else a).args)
        if self.multiplied > MOST_TERMS:
            words.refuse(f"{self.named(a)} has {a.order} indices, and too many terms to be multiplied out in one line")
        return self.term_by_term(factors, at, dict(zip(out, e.shape, strict=True)))

    def term_by_term(self, factors: Factors, at: int, out: Mapping[Any, Size]) -> list[tuple[Number, Expr]]:
        a, labels = factors[at]
        sizes = dict(out) | {x: size for b, own in factors for x, size in zip(own, b.shape, strict=True)}
        rest = factors[:at] + factors[at + 1 :]
        if isinstance(a, Elementwise):
            rest.append((a.args[0] ** (numeric(a.args[1]) - 1), labels))  # type: ignore[operator]
            a = a.args[0]
        assert isinstance(a, Sum)
        return [(c, product([(b, labels), *rest], tuple(out), sizes)) for c, b in zip(a.coefs, a.args, strict=True)]

    def with_open_sum(self, e: Product, sign: int) -> list[MatrixWord]:
        """A product with a matrix among its factors that is a sum, not the author's, multiplied out."""
        factors = self.opened(e, e.out)
        for at, (a, _) in enumerate(factors):
            known = self.known.get(a)
            if isinstance(a, Sum) and a.order == 2 and isinstance(known, MatrixWord) and not known.told:
                if len(a.args) > MOST_OPENED or self.opening == DEEPEST_OPENED:
                    return []
                out = dict(zip(e.out, e.shape, strict=True))
                self.opening += 1
                try:
                    made = [(sign * c, self.of(term), term.key) for c, term in self.term_by_term(factors, at, out)]
                except RuleError:
                    return []
                finally:
                    self.opening -= 1
                terms = [(c, w) for c, w, _ in sorted(made, key=_term_order)]
                return [words.over_common(terms, e.order), words.in_common(terms, e.order)]
        return []

    def network(self, factors: Factors, out: Labels, sign: int = 1) -> Network:
        """The network of factors; a sign before all of them goes into a difference that is not the author's."""
        net = Network(out)
        said: list[tuple[int, MatrixWord, tuple]] = []
        for a, labels in factors:
            exponent = numeric(a.args[1]) if isinstance(a, Elementwise) and a.op is POWER else None
            below = exponent is not None and exponent < 0
            word = self.of(a.args[0] if exponent == -1 else a.args[0] ** -exponent) if below else self.of(a)  # type: ignore[operator]
            sign *= words.positive(word)[0]
            said.append((-1 if below else 1, words.positive(word)[1], labels))
        net.is_zero = any(words.is_zero(word) for e, word, _ in said if e > 0)
        for e, word, labels in said:
            if sign < 0 and words.is_turnable(word):
                word, sign = words.plus([(-1, word)], word.order, False), 1
            net.add(e, word, labels)
        net.coef = number(net.coef * sign)
        return net

    def unfolded(self, e: Expr, places: tuple[int, ...], columns: int) -> MatrixWord:
        """A tensor whose axes are those at ``places`` of the result, the last ``columns`` of them as columns."""
        out = tuple(sorted(places))

        def of(a: Expr) -> MatrixWord:
            return self.unfolded(a, places, columns) if a.order else self.of(a)

        def minus(a: Product, sign: int = 1) -> MatrixWord:
            return self.networked(a, places, out, columns, sign)

        if isinstance(e, Sum):
            return self.added(e, of, minus)
        if isinstance(e, Structure) and e.relation[0] in ("one", "zero"):
            ones = words.times([words.ONES, words.flip(words.ONES)], 2)
            return ones if e.relation[0] == "one" else MatrixWord("zeros", order=2)
        if isinstance(e, Elementwise):
            return self.elementwise(e, of)
        if isinstance(e, Function) and columns == 1 and places[-1] == out[-1] and _keeps_last(e):
            return self.along(e, of(e.args[0]))
        if not isinstance(e, Product):
            return self.word(e)
        alone = [sorted(own, key=str) == [*out] for a, own in self.opened(e, places) if a.order]
        terms = None if alone == [True] else self.multiplied_out(e, places)
        if terms is None:
            return minus(e)
        made = sorted([(c, self.unfolded(a, places, columns), a.key) for c, a in terms], key=_term_order)
        return words.over_common([(c, w) for c, w, _ in made], 2)

    # What is said where there are no words.

    @cached_property
    def namer(self) -> Namer:
        return Namer(self.facts, [self.root])

    def refuse_order(self, e: Expr) -> NoReturn:
        words.refuse(f"{self.named(e)} has {e.order} indices, and a matrix has two")

    def told(self, tangle: Tangle, factors: Factors, out: Labels) -> str:
        """Which index joins which factors where a network is none of matrices."""
        named = dict(zip(out, self.indices, strict=True)) if len(out) == len(self.indices) > 2 else {}
        namer = self.namer.again()
        for a, labels in factors:
            for axis, x in enumerate(labels):
                if x not in named:
                    named[x] = namer.fresh(a.shape[axis], namer.hints_of(a, axis), set(named.values()))
        if tangle.crossed:
            sides = [", ".join([named.get(x, "1") for x in side]) for side in tangle.sides]
            return (
                f"its rows ({sides[0]}) and columns ({sides[1]}) do not fall into neighbours that one matrix each has, "
                "as those of A ⊗ B do"
            )
        place = {name: at for at, name in enumerate(self.facts.inputs)}
        factors = sorted(factors, key=lambda f: min([place.get(v.name, 0) for v in variables(f[0])], default=-1))
        joins = {x: [self.named(a) for a, labels in factors if x in labels] for x in named if x in tangle.labels}
        most = max(joins, key=lambda x: len(joins[x]))
        told = list(dict.fromkeys([name for name in joins[most] if name != LONG_PART]))
        more = len(joins[most]) - len(told)
        *before, final = [*told, *([f"{more} more"] if more else [])]
        return (
            "an index joins three matrices or more, as neither chains of matrices nor ⊗, • and ⊙ can say: "
            f"{named[most]} joins {' and '.join([', '.join(before), final] if before else [final])}"
        )

    def named(self, e: Expr) -> str:
        """A part of the formula as its author would write it."""
        if isinstance(e, Variable):
            return e.name
        namer = self.namer.again()
        names: list[str] = []
        for axis, size in enumerate(e.shape):
            names.append(namer.fresh(size, namer.hints_of(e, axis), set(names)))
        tree = program(e, tuple(names), self.facts, None).statements
        shown = in_text.render(tree[-1].body, in_text.SUM)
        return shown if len(tree) == 1 and len(shown) <= LONGEST else LONG_PART


def _term_order(term: tuple[Number, MatrixWord, int]) -> tuple:
    """First use, names before longer terms; constants last, but a plain 1 first."""
    coef, w, key = term
    return (1, w.first, w.kind != "text", w.flips, coef < 0, key) if w.first else (0 if coef == 1 else 2, w.kind, key)


def _is_sum(e: Expr) -> bool:
    """A sum, or a power of one that may be multiplied out."""
    if isinstance(e, Elementwise) and e.op is POWER and numeric(e.args[1]) in (2, 3, 4):
        return isinstance(e.args[0], Sum)
    return isinstance(e, Sum)


def _keeps_last(e: Function) -> bool:
    """A function along the last axis of its operand, which it keeps, for each place of the others."""
    return len(e.args) == 1 and e.shape == e.args[0].shape and e.op.axes_of(e.params)[0] == 1


def is_said(e: Structure) -> bool:
    """Whether a structure has a word: ones, zeros, the identity, a triangle."""
    kind = e.relation[0]
    lower = kind == ">=" and set(e.relation[1]) == {1, -1} and e.relation[2] == 0
    return kind in ("one", "zero") or is_delta(e) or lower or is_levi_civita(e)
