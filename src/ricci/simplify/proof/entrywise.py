"""Functions entry by entry, brought to few: exponentials, logarithms, sine and cosine, choices.

What is not here is taken as it is, of an operand in normal form.
"""

from __future__ import annotations

from fractions import Fraction

from ricci.expr import POWER, Elementwise, numeric
from ricci.expr.op import OPS
from ricci.simplify.proof.exponents import HALF, ONE, Powers, negative
from ricci.simplify.proof.polynomials import Factor, Poly, number, plain, total

LONGEST_ANGLE = 3  # terms of an angle, of which sine and cosine are those of its terms


class Entrywise(Powers):
    """Polynomials with the elementwise functions of the table."""

    def elementwise(self, node: Elementwise, args: list[Poly]) -> Poly:
        """A function of operands in normal form."""
        if node.op is POWER:
            n = numeric(node.args[1])
            if n is not None:
                return self.power(args[0], Fraction(n))
            return self.exp(self.times(args[1], self.log(args[0])))
        known = getattr(self, f"_{node.op.name}", None)
        return self.opaque(node.op, args) if known is None else known(*args)

    def _exp(self, x: Poly) -> Poly:
        return self.exp(x)

    def _log(self, x: Poly) -> Poly:
        return self.log(x)

    def _log1p(self, x: Poly) -> Poly:
        return self.log(total([(1, ONE), (1, x)]))

    def _expm1(self, x: Poly) -> Poly:
        return total([(1, self.exp(x)), (-1, ONE)])

    def _exp2(self, x: Poly) -> Poly:
        return self.exp(self.times(x, self.log(number(2))))

    def _log2(self, x: Poly) -> Poly:
        return self.times(self.log(x), self.power(self.log(number(2)), Fraction(-1)))

    def _log10(self, x: Poly) -> Poly:
        return self.times(self.log(x), self.power(self.log(number(10)), Fraction(-1)))

    def _sinh(self, x: Poly) -> Poly:
        return total([(HALF, self.exp(x)), (-HALF, self.exp(negative(x)))])

    def _cosh(self, x: Poly) -> Poly:
        return total([(HALF, self.exp(x)), (HALF, self.exp(negative(x)))])

    def _tanh(self, x: Poly) -> Poly:
        square = self.exp(total([(2, x)]))
        return self.times(total([(1, square), (-1, ONE)]), self._inverse(total([(1, square), (1, ONE)])))

    def _sigmoid(self, x: Poly) -> Poly:
        e = self.exp(x)
        return self.times(e, self._inverse(total([(1, e), (1, ONE)])))

    def _silu(self, x: Poly) -> Poly:
        return self.times(x, self._sigmoid(x))

    def _softplus(self, x: Poly) -> Poly:
        return self.log(total([(1, ONE), (1, self.exp(x))]))

    def _logaddexp(self, a: Poly, b: Poly) -> Poly:
        return self.log(total([(1, self.exp(a)), (1, self.exp(b))]))

    def _hypot(self, a: Poly, b: Poly) -> Poly:
        return self.power(total([(1, self.power(a, Fraction(2))), (1, self.power(b, Fraction(2)))]), HALF)

    def _erfc(self, x: Poly) -> Poly:
        return total([(1, ONE), (-1, self.opaque(OPS["erf"], [x]))])

    def _gelu(self, x: Poly) -> Poly:
        return self.times(total([(HALF, x)]), total([(1, ONE), (1, self._normal_erf(x))]))

    def _log_ndtr(self, x: Poly) -> Poly:
        return self.log(total([(HALF, ONE), (HALF, self._normal_erf(x))]))

    def _normal_erf(self, x: Poly) -> Poly:
        return self.opaque(OPS["erf"], [self.times(x, self.power(number(2), -HALF))])

    def _inverse(self, x: Poly) -> Poly:
        return self.power(x, Fraction(-1))

    def _tan(self, x: Poly) -> Poly:
        return self.times(self._sin(x), self._inverse(self._cos(x)))

    def _sin(self, x: Poly) -> Poly:
        return self._angle(x)[0]

    def _cos(self, x: Poly) -> Poly:
        return self._angle(x)[1]

    def _angle(self, poly: Poly) -> tuple[Poly, Poly]:
        """Sine and cosine of a sum, by those of its terms; of a long one as it is."""
        if len(poly) > LONGEST_ANGLE:
            return self._angle_as_it_is(poly)
        sine, cosine = {}, ONE
        for m, c in poly.items():
            times, unit = (int(abs(c)), Fraction(1)) if c.denominator == 1 and abs(c) <= 4 and m else (1, abs(c))
            s, k = self._angle_as_it_is({m: unit})
            for _ in range(times):
                a = Fraction(1) if c > 0 else Fraction(-1)
                sine, cosine = (
                    total([(1, self.times(sine, k)), (a, self.times(cosine, s))]),
                    total([(1, self.times(cosine, k)), (-a, self.times(sine, s))]),
                )
        return sine, cosine

    def _angle_as_it_is(self, x: Poly) -> tuple[Poly, Poly]:
        sine, cosine = (self.opaque(OPS[name], [x]) for name in ("sin", "cos"))
        if len(sine) == len(cosine) == 1 and sine != ONE and cosine != ONE:
            ((head, own), _), ((other, theirs), _) = next(iter(sine))[0], next(iter(cosine))[0]

            def rule(factor: Factor, e: Fraction) -> Poly | None:
                if e.denominator != 1 or e < 2:
                    return None
                rest = plain(head, factor[1], e - 2) if e > 2 else ONE
                name = dict(zip(own, factor[1], strict=True))
                return self.times(rest, total([(1, ONE), (-1, plain(other, [name[x] for x in theirs], 2))]))

            self.rules.setdefault(head, rule)
        return sine, cosine

    def _abs(self, x: Poly) -> Poly:
        return self.size(x)

    def _sign(self, x: Poly) -> Poly:
        return self.sign(x)

    def _relu(self, x: Poly) -> Poly:
        return self.larger(x, {})

    def _leaky_relu(self, x: Poly) -> Poly:
        return total([(Fraction(99, 100), self.larger(x, {})), (Fraction(1, 100), x)])

    def _maximum(self, a: Poly, b: Poly) -> Poly:
        return self.larger(a, b)

    def _minimum(self, a: Poly, b: Poly) -> Poly:
        return negative(self.larger(negative(a), negative(b)))

    def _less(self, a: Poly, b: Poly) -> Poly:
        return self.step(total([(1, b), (-1, a)]))

    def _less_equal(self, a: Poly, b: Poly) -> Poly:
        return total([(1, ONE), (-1, self._less(b, a))])

    def _equal(self, a: Poly, b: Poly) -> Poly:
        return self.nothing(total([(1, a), (-1, b)]))

    def _not_equal(self, a: Poly, b: Poly) -> Poly:
        return total([(1, ONE), (-1, self._equal(a, b))])

    def _where(self, c: Poly, a: Poly, b: Poly) -> Poly:
        holds = c if self._is_choice(c) else self._not_equal(c, {})
        return total([(1, self.times(holds, a)), (1, b), (-1, self.times(holds, b))])

    def _is_choice(self, c: Poly) -> bool:
        """Whether a condition is 0 or 1: then it is its own square."""
        return self.times(c, c) == c
