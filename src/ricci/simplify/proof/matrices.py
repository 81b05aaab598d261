"""Functions over axes and of matrices: softmax by exponentials, ``solve`` by ``inv``, and ``A inv(A) = I``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from ricci.expr import Expr, Function, Op, delta, function
from ricci.expr.op import OPS
from ricci.expr.structures import is_delta
from ricci.simplify.proof.entrywise import Entrywise
from ricci.simplify.proof.exponents import ONE, negative
from ricci.simplify.proof.polynomials import (
    Factor,
    Label,
    Mono,
    Poly,
    Replaced,
    Sizes,
    mono,
    plain,
    relabelled,
    total,
)


class Matrices(Entrywise):
    """Polynomials with functions over axes."""

    def __init__(self) -> None:
        super().__init__()
        self.done: dict[Expr, Poly] = {}  # normal forms
        self.matrices: dict[Expr, Poly] = {}  # inverses, and what they are the inverses of

    def function(self, node: Function) -> Poly:
        name, (x, *_) = node.op.name, node.args
        last = len(x.shape) - 1
        if name in ("softmax", "logsumexp", "log_softmax"):
            e = self.exp(self.done[x])
            whole = self.summed(e, {last: x.shape[last]})
            if name == "softmax":
                return self.times(e, self._inverse(whole))
            return self.log(whole) if name == "logsumexp" else total([(1, self.done[x]), (-1, self.log(whole))])
        if name in ("inv", "det", "logdet", "solve"):
            return getattr(self, f"_{name}")(node)
        if name in ("max", "min"):
            return self._extreme(node, last)
        return self._as_it_is(node.op, node.args, node.params, node)

    def _extreme(self, node: Function, last: int) -> Poly:
        """``max(a x + b) = a max(x) + b``, with ``min`` for negative ``a``."""
        (x,) = node.args
        poly = self.done[x]
        moved = {m: c for m, c in poly.items() if all(last not in labels for (_, labels), _ in m)}
        inside = {m: c for m, c in poly.items() if m not in moved}
        if not inside:
            return poly
        scale = inside[min(inside, key=repr)]
        op = OPS[node.op.name if scale > 0 else {"max": "min", "min": "max"}[node.op.name]]
        operand = self.expr(total([(1 / scale, inside)]), range(last + 1), dict(enumerate(x.shape)))
        return total([(1, moved), (scale, plain(function(op, (operand,), node.params), range(last)))])

    def _as_it_is(self, op: Op, args: Sequence[Expr], params: tuple, node: Expr) -> Poly:
        operands = tuple([self.expr(self.done[a], range(len(a.shape)), dict(enumerate(a.shape))) for a in args])
        return plain(function(op, operands, params), range(len(node.shape)))

    def _matrix(self, a: Expr) -> tuple[Poly, Expr, bool]:
        """What stands before a matrix, the rest, and whether this is its transpose: the one with the lesser key."""
        poly, n = self.done[a], len(a.shape)
        outside, inside = ONE, poly
        if len(poly) == 1:
            ((m, c),) = poly.items()
            apart = {f: e for f, e in m if not {n - 2, n - 1} & set(f[1])}
            outside, inside = {mono(apart): c}, {mono({f: e for f, e in m if f not in apart}): Fraction(1)}
        elif poly:
            outside, inside = self._content(poly, lambda h, e: not h.shape, Fraction(1))
        sizes, axes = dict(enumerate(a.shape)), tuple(range(n))
        turned = (*axes[:-2], n - 1, n - 2)
        straight, across = self.expr(inside, axes, sizes), self.expr(inside, turned, sizes)
        return (outside, across, True) if across.key < straight.key else (outside, straight, False)

    def _inv(self, node: Function) -> Poly:
        return self._inverse_matrix(node.args[0], tuple(range(len(node.shape))))

    def _inverse_matrix(self, a: Expr, labels: tuple[Label, ...]) -> Poly:
        outside, matrix, turned = self._matrix(a)
        *lead, i, j = labels
        outside = relabelled(self._inverse(outside), dict(enumerate(lead)))
        if is_delta(matrix):
            return self.times(outside, plain(matrix, (i, j)))
        if isinstance(matrix, Function) and matrix.op.name == "inv":
            order = (*lead, j, i) if turned else labels
            return self.times(outside, relabelled(self.normal(matrix.args[0]), dict(enumerate(order))))
        factors = self._square_factors(self.normal(matrix))
        if factors is not None and not lead:
            row, column = (i, j) if turned else (j, i)
            name: dict[Label, Label] = {0: row, 1: column}
            inverses = [self._inverse_matrix(h, tuple([name.get(x, "m") for x in reversed(own)])) for h, own in factors]
            return self.times(outside, self.summed(self.product(inverses), {"m": matrix.shape[0]}))
        head = function(OPS["inv"], (matrix,))
        self.matrices[head] = self.normal(matrix)
        order = (*lead, j, i) if turned else labels
        return self.times(outside, plain(head, order))

    def _square_factors(self, poly: Poly) -> list[Factor] | None:
        """The two square matrices that a matrix is the product of, if it is one."""
        m = next(iter(poly), ())
        if len(poly) != 1 or len(m) != 1:
            return None
        (head, labels), e = m[0]
        if head not in self.inner or e != 1 or set(labels) != {0, 1}:
            return None
        inner = self.inner[head]
        if len(inner) != 2 or any(
            k != 1 or len(h.shape) != 2 or self.named(h.shape[0]) != self.named(h.shape[1]) for (h, _), k in inner
        ):
            return None
        name: dict[Label, Label] = dict(enumerate(labels))
        return [(h, tuple([name.get(x, x) for x in own])) for (h, own), _ in inner]

    def linked(self, items: list[tuple[Factor, Fraction]], over: Sizes) -> Replaced | None:
        """``A inv(A)``: a term of ``A`` that is linked to ``inv(A)`` is the identity minus the other terms."""
        for (head, labels), e in items:
            if head in self.matrices and e == 1:
                rest = [item for item in items if item[0] != (head, labels)]
                for turned in (False, True):
                    new = self._beside_inverse(head, labels, turned, rest, over)
                    if new is not None:
                        return new
        return None

    def _beside_inverse(self, head: Expr, labels: tuple, turned: bool, rest: list, over: Mapping) -> Replaced | None:
        """With ``turned`` the matrix stands on the right of its inverse, ``inv(A)[i,j] A[j,x]``."""
        *lead, i, j = labels
        joint, end = (j, i) if turned else (i, j)
        if joint not in over:
            return None
        poly, n = self.matrices[head], len(labels)
        row, column = (n - 1, n - 2) if turned else (n - 2, n - 1)
        for term, c in poly.items():
            name: dict[Label, Label] = {**dict(enumerate(lead)), column: joint}
            found = self._found(term, name, row, joint, rest, over)
            if found is None:
                continue
            left, scalars, x, gone = found
            others = relabelled({m: d for m, d in poly.items() if m != term}, {**name, row: x})
            before = {mono({**dict(left), **{f: dict(left).get(f, 0) - k for f, k in scalars}}): 1 / c}
            same = ONE if x == end else plain(delta(self.named(head.shape[-1])), (x, end))
            less = self._times_plainly(negative(others), plain(head, labels))
            return [(self._times_plainly(before, same), {*gone, joint}), (self._times_plainly(before, less), gone)]
        return None

    def _found(self, term: Mono, name: dict, row: int, joint: Label, rest: list, over: Mapping):
        """The factors of a term of a matrix among others: what is left, its scalars, and the label of its row."""
        wanted, scalars = [], []
        for (h, own), k in term:
            if row not in own and joint not in [name.get(x) for x in own]:
                scalars.append(((h, tuple([name.get(x, x) for x in own])), k))
            elif h in self.inner and k == 1:
                inner: dict[Label, Label] = dict(enumerate(own))
                wanted += [((g, tuple([inner.get(x, x) for x in ls])), e) for (g, ls), e in self.inner[h]]
            else:
                wanted.append(((h, own), k))
        if not wanted or any(is_delta(h) for (h, _), _ in wanted):
            return None
        for match, left in _matches(wanted, dict(name), rest):
            gone = {label for x, label in match.items() if isinstance(x, tuple)}
            outside = {x for (_, ls), _ in left for x in ls}
            if row in match and joint not in gone and gone <= over.keys() and not outside & {*gone, joint}:
                return left, scalars, match[row], gone
        return None

    @staticmethod
    def _times_plainly(one: Poly, other: Poly) -> Poly:
        """A product that no rule looks at yet."""
        return total([(c * d, {_joined(m, n): Fraction(1)}) for m, c in one.items() for n, d in other.items()])

    def _det(self, node: Function) -> Poly:
        return self._det_of(node.args[0])

    def _det_of(self, a: Expr) -> Poly:
        self.normal(a)
        outside, matrix, _ = self._matrix(a)
        labels = tuple(range(len(a.shape) - 2))
        size = a.shape[-1]
        if outside != ONE and not isinstance(size, int):
            whole = self.expr(self.done[a], range(len(a.shape)), dict(enumerate(a.shape)))
            return plain(function(OPS["det"], (whole,)), labels)
        factor = self.power(outside, Fraction(size)) if isinstance(size, int) else ONE
        if isinstance(matrix, Function) and matrix.op.name == "inv":
            return self.times(factor, plain(function(OPS["det"], matrix.args), labels, -1))
        factors = self._square_factors(self.normal(matrix)) if not labels else None
        if factors is not None:
            return self.product([factor, *[self._det_of(h) for h, _ in factors]])
        return self.times(factor, plain(function(OPS["det"], (matrix,)), labels))

    def _logdet(self, node: Function) -> Poly:
        outside, matrix, _ = self._matrix(node.args[0])
        labels = tuple(range(len(node.shape)))
        size = node.args[0].shape[-1]
        before = self.times(self.count(size), self.log(outside))
        if isinstance(matrix, Function) and matrix.op.name == "inv":
            return total([(1, before), (-1, plain(function(OPS["logdet"], matrix.args), labels))])
        factors = self._square_factors(self.normal(matrix)) if not labels else None
        if factors is not None:
            return total([(1, before), *[(1, self.log(self._det_of(h))) for h, _ in factors]])
        return total([(1, before), (1, plain(function(OPS["logdet"], (matrix,)), labels))])

    def _solve(self, node: Function) -> Poly:
        """``inv(A)[j,i] b[i]``, with the axes of the result: the common ones, j, and those of the columns."""
        a, b = node.args
        lead = len(a.shape) - 2
        labels = tuple(range(lead))
        inverse = self._inverse_matrix(a, (*labels, lead, "i"))
        right = relabelled(self.done[b], {lead: "i"})
        return self.summed(self.times(inverse, right), {"i": a.shape[-2]})


def _joined(m: Mono, n: Mono) -> Mono:
    exponents = dict(m)
    for factor, e in n:
        exponents[factor] = exponents.get(factor, Fraction(0)) + e
    return mono(exponents)


def _matches(wanted: list, name: dict, items: list) -> Iterator[tuple[dict, list]]:
    """Ways to find factors among others: the labels that correspond, and the factors left."""
    if not wanted:
        yield name, items
        return
    ((head, labels), e), *more = wanted
    for item in items:
        (other, found), k = item
        if other is head and e == k:
            extended = dict(name)
            if all(extended.setdefault(a, b) == b for a, b in zip(labels, found, strict=True)):
                yield from _matches(more, extended, [x for x in items if x is not item])
