"""Powers, exponentials, logarithms and choices of polynomials.

Roots are taken of each factor and logarithms of its size, which is right wherever both sides of an equation are
defined: ``(a b)**r = a**r b**r``, ``log|a b| = log|a| + log|b|``, ``sqrt(a**2) = |a|``. A choice is ``[x > 0]``, which
is its own square, and ``|x| = 2 x [x > 0] - x``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ricci.expr import (
    POWER,
    Constant,
    Dim,
    Elementwise,
    Expr,
    Function,
    I,
    Op,
    Structure,
    constant,
    elementwise,
    function,
    numeric,
)
from ricci.expr.op import OPS
from ricci.simplify.proof.polynomials import (
    UNIT,
    Algebra,
    Factor,
    Label,
    Mono,
    Poly,
    labels_of,
    mono,
    number,
    plain,
    relabelled,
    total,
)

HALF = Fraction(1, 2)
ONE = number(1)


class Powers(Algebra):
    """Polynomials with powers, exponentials and choices."""

    def __init__(self) -> None:
        super().__init__()
        self.rules[I] = _unit_power

    def normal(self, root: Expr) -> Poly:
        raise NotImplementedError

    def angle(self, poly: Poly) -> tuple[Poly, Poly]:
        """Sine and cosine."""
        raise NotImplementedError

    def reduced_sum(self, poly: Poly) -> Poly:
        return total([(c, self.reduced(m)) for m, c in poly.items()])

    def power(self, base: Poly, r: Fraction) -> Poly:
        if r == 0:
            return ONE
        if not base or (r.denominator != 1 and has_complex(base)):
            return {} if r > 0 and not base else self.opaque(POWER, [base, number(r)])
        if len(base) == 1:
            ((m, c),) = base.items()
            return self._power_of_term(m, c, r)
        if r.denominator == 1 and 0 < r <= 6:
            return self.product([base] * int(r))
        outside, inside = self._content(base, lambda h, e: r.denominator == 1 or e % 2 == 0 or self.positive(h), r)
        before, square = self.power(outside, r), self._constant_square(inside)
        if square is not None and r.denominator == 1:
            odd = inside if r % 2 else ONE
            return self.product([before, odd, number(square ** ((r - r % 2) / 2))])
        return self.times(before, self.power(inside, r) if len(inside) == 1 else self._sum_power(inside, r))

    def _power_of_term(self, m: Mono, c: Fraction, r: Fraction) -> Poly:
        if c < 0 and r.denominator != 1:
            return self._sum_power({m: c}, r)
        parts = [_rational_power(c, r)]
        for (head, labels), e in m:
            if isinstance(head, Structure) and r < 0:
                return self.opaque(POWER, [{m: c}, number(r)])
            if r.denominator != 1 and e % 2 == 0 and not self.positive(head):
                head = self._absolute(head)
            parts.append(plain(head, labels, e * r))
        return self.product(parts)

    def _sum_power(self, poly: Poly, r: Fraction) -> Poly:
        head, labels = self.arranged(labels_of(poly), lambda order: self.whole(poly, order))
        if numeric(head) is None and len(poly) > 1:
            self.sums.setdefault(head, relabelled(poly, {x: k for k, x in enumerate(labels)}))
        return self.reduced_sum(plain(head, labels, r))

    def _content(self, poly: Poly, taken: Callable[[Expr, Fraction], bool], r: Fraction) -> tuple[Poly, Poly]:
        """A sum as a monomial times a sum without common factors, the first of its terms with the coefficient 1."""
        first = min(poly, key=repr)
        common: dict[Factor, Fraction] = {}
        for factor in {factor for m in poly for factor, _ in m}:
            least = min(dict(m).get(factor, Fraction(0)) for m in poly)
            if least and taken(factor[0], least):
                common[factor] = least
        scale = poly[first] if r.denominator == 1 else abs(poly[first])
        inverse = {mono({f: -e for f, e in common.items()}): 1 / scale}
        return {mono(common): scale}, self.times(poly, inverse)

    def _absolute(self, head: Expr) -> Expr:
        """The head ``|h|``: even powers of it are those of ``h``, and itself it is ``2 h [h > 0] - h``."""
        size = elementwise(OPS["abs"], head)

        def rule(factor: Factor, e: Fraction) -> Poly | None:
            if e.denominator != 1:
                return None
            h = plain(head, factor[1], e if e % 2 == 0 else e - 1)
            return h if e % 2 == 0 else self.times(h, self.size(plain(head, factor[1])))

        self.rules.setdefault(size, rule)
        return size

    def positive(self, head: Expr) -> bool:
        """Whether a head is never negative, as far as its form says."""
        if isinstance(head, Elementwise):
            if head.op is POWER:
                return numeric(head.args[1]) not in (1, None) and self.positive(head.args[0])
            return head.op.name in ("exp", "abs", "less", "equal")
        if head in self.inner:
            return all(self.positive(h) or e % 2 == 0 for (h, _), e in self.inner[head])
        if head in self.sums:
            return all(
                c > 0 and all(self.positive(h) or e % 2 == 0 for (h, _), e in m) for m, c in self.sums[head].items()
            )
        if isinstance(head, Constant):
            value = head.value
            return isinstance(value, Dim) or value == "pi" or (isinstance(value, (int, float, Fraction)) and value > 0)
        return isinstance(head, Structure)

    def exp(self, poly: Poly) -> Poly:
        return self.product([self._exp_of_term(m, c) for m, c in poly.items()])

    def _exp_of_term(self, m: Mono, c: Fraction) -> Poly:
        if len(m) == 1 and m[0][1] == 1 and is_a(m[0][0][0], "log"):
            head, labels = m[0][0]
            return self.power(relabelled(self.normal(head.args[0]), dict(enumerate(labels))), c)
        rest = tuple([item for item in m if item[0][0] is not I])
        if len(rest) < len(m) and not has_complex({rest: c}):  # Euler's
            sine, cosine = self.angle({rest: c})
            return total([(1, cosine), (1, self.times(plain(I, ()), sine))])
        head, labels = self.arranged(
            labels_of({m: c}), lambda o: elementwise(OPS["exp"], self.whole({m: Fraction(1)}, o))
        )
        return plain(head, labels, c)

    def log(self, poly: Poly) -> Poly:
        """The logarithm of the size."""
        if not poly or any(isinstance(h, Structure) for m in poly for (h, _), _ in m) or has_complex(poly):
            return self.opaque(OPS["log"], [poly])
        if len(poly) > 1:
            outside, inside = self._content(poly, lambda h, e: True, Fraction(1))
            return total([(1, self.log(outside)), (1, self._log_of_sum(inside))])
        ((m, c),) = poly.items()
        parts = [(k, self._log_of_head(constant(p), ())) for p, k in _primes(abs(c)).items()]
        return total([*parts, *[(e, self._log_of_head(h, labels)) for (h, labels), e in m]])

    def _log_of_sum(self, poly: Poly) -> Poly:
        square = self._constant_square(poly)
        if square is not None:
            return total([(HALF, self.log(number(square)))])
        if len(poly) < 2:
            return self.log(poly)
        head, labels = self.arranged(labels_of(poly), lambda o: elementwise(OPS["log"], self.whole(poly, o)))
        return plain(head, labels)

    def _constant_square(self, poly: Poly) -> Fraction | None:
        """The square of what is only a sign, such as ``2 [x > 0] - 1``."""
        if len(poly) != 2 or UNIT not in poly:
            return None
        square = self.times(poly, poly)
        return square[UNIT] if len(square) == 1 and UNIT in square else None

    def _log_of_head(self, head: Expr, labels: tuple[Label, ...]) -> Poly:
        if is_a(head, "exp"):
            return relabelled(self.normal(head.args[0]), dict(enumerate(labels)))
        if is_a(head, "abs"):
            return self._log_of_head(head.args[0], labels)
        if isinstance(head, Function) and head.op.name == "det":
            return plain(function(OPS["logdet"], head.args), labels)
        if head in self.sums:
            return self.log(relabelled(self.sums[head], dict(enumerate(labels))))
        return plain(elementwise(OPS["log"], head), labels)

    # Choices

    def step(self, poly: Poly) -> Poly:
        """``[p > 0]``; where ``-p`` comes first it is ``1 - [-p > 0] - [p == 0]``."""
        if not poly or (len(poly) == 1 and UNIT in poly):
            return number(int(bool(poly) and poly[UNIT] > 0))
        if has_complex(poly):
            inside = poly
        else:
            _, inside = self._content(poly, lambda h, e: self.positive(h) and not isinstance(h, Structure), HALF)
        if inside[min(inside, key=repr)] < 0:
            inside = negative(inside)
            return total([(1, ONE), (-1, self._chosen("less", inside)), (-1, self.nothing(inside))])
        return self._chosen("less", inside)

    def nothing(self, poly: Poly) -> Poly:
        """``[p == 0]``, beside which the terms of ``p`` cancel, and ``[p > 0]`` is 0."""
        if not poly or (len(poly) == 1 and UNIT in poly):
            return number(int(not poly))
        if has_complex(poly):
            inside = poly
        else:
            _, inside = self._content(poly, lambda h, e: self.positive(h) and not isinstance(h, Structure), Fraction(1))
        ((((head, labels), _),),) = none = self._chosen("equal", inside)
        ((((more, others), _),),) = self._chosen("less", inside)
        place = {x: k for k, x in enumerate(labels)}
        lead = max(inside, key=lambda m: (sum(e for _, e in m), repr(m)))
        terms, there = relabelled(inside, place), tuple([place[x] for x in others])
        (first,) = relabelled({lead: Fraction(1)}, place)

        def meet(m: Mono, factor: Factor) -> Poly | None:
            name: dict[Label, Label] = dict(enumerate(factor[1]))
            have = dict(m)
            if (more, tuple([name[x] for x in there])) in have:
                return {}
            (own,) = relabelled({first: Fraction(1)}, name)
            if not own or any(e <= 0 or have.get(f, Fraction(0)) < e for f, e in own):
                return None
            rest = {mono({f: have.get(f, Fraction(0)) - dict(own).get(f, Fraction(0)) for f in have}): Fraction(1)}
            others = relabelled({t: -c / terms[first] for t, c in terms.items() if t != first}, name)
            return total([(c, self._joined(t, rest)) for t, c in others.items()])

        self.meets.setdefault(head, meet)
        return none

    def _chosen(self, op: str, poly: Poly) -> Poly:
        """``[0 < p]`` or ``[0 == p]`` as a head, which is its own square."""
        head, labels = self.arranged(
            labels_of(poly), lambda order: elementwise(OPS[op], constant(0), self.whole(poly, order))
        )
        self.rules.setdefault(head, lambda factor, e: plain(*factor) if e > 0 and e != 1 else None)
        return plain(head, labels)

    def sign(self, poly: Poly) -> Poly:
        return total([(1, self.step(poly)), (-1, self.step(negative(poly)))])

    def size(self, poly: Poly) -> Poly:
        if has_complex(poly):
            return self.opaque(OPS["abs"], [poly])
        if len(poly) == 1:
            ((m, c),) = poly.items()
            return self.product([number(abs(c)), *[self._size_of_factor(factor, e) for factor, e in m]])
        if not poly:
            return {}
        poly = negative(poly) if poly[min(poly, key=repr)] < 0 else poly
        return total([(2, self.times(poly, self.step(poly))), (-1, poly)])

    def _size_of_factor(self, factor: Factor, e: Fraction) -> Poly:
        whole = plain(*factor, e)
        if e % 2 == 0 or e.denominator != 1 or self.positive(factor[0]):
            return whole
        return total([(2, self.times(whole, self.step(plain(*factor)))), (-1, whole)])

    def larger(self, a: Poly, b: Poly) -> Poly:
        apart = total([(1, a), (-1, b)])
        return total([(HALF, a), (HALF, b), (HALF, self.size(apart))])

    def opaque(self, op: Op, args: Sequence[Poly]) -> Poly:
        """A function that is not known, of operands in normal form; odd ones of operands with a sign of their own."""
        sign = 1
        if op.parity and args[0] and args[0][min(args[0], key=repr)] < 0:
            args, sign = [negative(args[0])], -1 if op.parity == "odd" else 1
        sizes = {x: n for p in args for x, n in self.sizes_of(p).items()}
        labels = sorted({x for p in args for x in labels_of(p)}, key=repr)

        def build(order: tuple[Label, ...]) -> Expr:
            return elementwise(op, *[self.expr(p, order if labels_of(p) else (), sizes) for p in args])

        head, order = self.arranged(labels, build)
        value = numeric(head)
        return number(sign * value) if value is not None else total([(sign, plain(head, order))])


def has_complex(poly: Poly) -> bool:
    """Whether there are complex heads in it, of which roots and logarithms are not those of their factors."""
    return any(head.complex for m in poly for (head, _), _ in m)


def _unit_power(factor: Factor, e: Fraction) -> Poly | None:
    """Powers of the imaginary unit."""
    if e.denominator != 1 or e == 1:
        return None
    sign = number((-1) ** int((e - e % 2) / 2))
    return dict(sign) if e % 2 == 0 else {mono({factor: Fraction(1)}): sign[UNIT]}


def is_a(head: Expr, name: str) -> bool:
    return isinstance(head, Elementwise) and head.op.name == name


def negative(poly: Poly) -> Poly:
    return {m: -c for m, c in poly.items()}


def _primes(c: Fraction) -> dict[int, int]:
    """The prime factors of a positive fraction with their exponents; large ones are taken as they are."""
    found: dict[int, int] = {}
    for part, sign in ((c.numerator, 1), (c.denominator, -1)):
        p = 2
        while part > 1:
            if p > 1000:
                p = part
            while part % p == 0:
                part //= p
                found[p] = found.get(p, 0) + sign
            p += 1
    return found


def _rational_power(c: Fraction, r: Fraction) -> Poly:
    """A power of a positive number, or a whole power, with what is irrational as powers of primes."""
    if r.denominator == 1:
        return number(c**r)
    result, value = {}, Fraction(1)
    for p, k in _primes(c).items():
        e = k * r
        whole = e.numerator // e.denominator
        value *= Fraction(p) ** whole
        if e != whole:
            result[constant(p), ()] = e - whole
    return {mono(result): value}
