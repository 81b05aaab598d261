"""Functions entry by entry, brought to few: exponentials, logarithms, sine and cosine, choices.

The others are what their rows say that they are; what these do not say is taken as it is, of an operand in normal form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ricci.expr import CONJ, POWER, Elementwise, I, conj, numeric
from ricci.expr.op import OPS, Op
from ricci.simplify.match import is_complex
from ricci.simplify.proof.exponents import HALF, ONE, Powers
from ricci.simplify.proof.polynomials import Factor, Poly, number, plain, total

LONGEST_ANGLE = 3  # terms of an angle, of which sine and cosine are those of its terms


class Entrywise(Powers):
    """Polynomials with the elementwise functions of the table."""

    def elementwise(self, node: Elementwise, args: list[Poly]) -> Poly:
        """A function of operands in normal form."""
        if is_complex(node):
            return self.of_complex(node, args)
        if node.op is POWER:
            n = numeric(node.args[1])
            if n is not None:
                return self.power(args[0], Fraction(n))
            return self.exp(self.times(args[1], self.log(args[0])))
        return self.of(node.op, args)

    def of_complex(self, node: Elementwise, args: list[Poly]) -> Poly:
        """What holds of complex numbers too: whole powers, exponentials, and what a number and its conjugate tell."""
        name, axes = node.op.name, tuple(range(len(node.shape)))
        if node.op is CONJ:
            return plain(node, axes)
        if node.op is POWER:
            n = numeric(node.args[1])
            whole = n is not None and Fraction(n).denominator == 1
            return self.power(args[0], Fraction(n)) if whole else self.opaque(POWER, args)  # type: ignore[arg-type]
        if name in ("exp", "sin", "cos"):
            return self.of(node.op, args)
        if name in ("abs2", "real", "imag") and node.args[0].complex:
            other = self.normal(conj(node.args[0]))
            if name == "abs2":
                return self.times(args[0], other)
            if name == "real":
                return total([(HALF, args[0]), (HALF, other)])
            return self.times(plain(I, ()), total([(-HALF, args[0]), (HALF, other)]))
        return self.opaque(node.op, args)

    def of(self, op: Op, args: Sequence[Poly]) -> Poly:
        """What is known of a function here, what its row says that it is, or it as it is."""
        known = None if op.own else getattr(self, f"_{op.name}", None)
        if known is not None:
            return known(*args)
        return self.opaque(op, args) if op.means is None else op.means(Known(self), *[Part(self, x) for x in args]).poly

    def _exp(self, x: Poly) -> Poly:
        return self.exp(x)

    def _log(self, x: Poly) -> Poly:
        return self.log(x)

    def _inverse(self, x: Poly) -> Poly:
        return self.power(x, Fraction(-1))

    def _sin(self, x: Poly) -> Poly:
        return self.angle(x)[0]

    def _cos(self, x: Poly) -> Poly:
        return self.angle(x)[1]

    def angle(self, poly: Poly) -> tuple[Poly, Poly]:
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

    def _maximum(self, a: Poly, b: Poly) -> Poly:
        return self.larger(a, b)

    def _less(self, a: Poly, b: Poly) -> Poly:
        return self.step(total([(1, b), (-1, a)]))

    def _equal(self, a: Poly, b: Poly) -> Poly:
        return self.nothing(total([(1, a), (-1, b)]))

    def _where(self, c: Poly, a: Poly, b: Poly) -> Poly:
        holds = c if self._is_choice(c) else total([(1, ONE), (-1, self.nothing(c))])
        return total([(1, self.times(holds, a)), (1, b), (-1, self.times(holds, b))])

    def _is_choice(self, c: Poly) -> bool:
        """Whether a condition is 0 or 1: then it is its own square."""
        return self.times(c, c) == c


class Part:
    """A polynomial with the operators of numbers, for what rows say of functions."""

    def __init__(self, proof: Entrywise, poly: Poly):
        self.proof, self.poly = proof, poly

    def other(self, x: Part | float) -> Poly:
        return x.poly if isinstance(x, Part) else number(x)

    def __add__(self, x: Part | float) -> Part:
        return Part(self.proof, total([(1, self.poly), (1, self.other(x))]))

    def __mul__(self, x: Part | float) -> Part:
        return Part(self.proof, self.proof.times(self.poly, self.other(x)))

    def __pow__(self, r: Fraction | int) -> Part:
        return Part(self.proof, self.proof.power(self.poly, Fraction(r)))

    def __neg__(self) -> Part:
        return self * -1

    def __sub__(self, x: Part | float) -> Part:
        return self + -1 * Part(self.proof, self.other(x))

    def __rsub__(self, x: float) -> Part:
        return -self + x

    def __truediv__(self, x: Part | float) -> Part:
        return self * Part(self.proof, self.other(x)) ** -1

    def __gt__(self, x: Part | float) -> Part:
        return Part(self.proof, self.proof.step((self - x).poly))

    __radd__, __rmul__ = __add__, __mul__


class Known:
    """The rows, on polynomials."""

    def __init__(self, proof: Entrywise):
        self.proof = proof

    def power(self, x: float, r: Fraction) -> Part:
        return Part(self.proof, number(x)) ** r

    def __getattr__(self, name: str) -> Callable[..., Part]:
        zero = Part(self.proof, {})
        return lambda *args: Part(self.proof, self.proof.of(OPS[name], [zero.other(x) for x in args]))
