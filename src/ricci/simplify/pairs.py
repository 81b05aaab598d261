"""Identities of two terms or two factors, as tables.

*Terms.* ``1 - sigmoid(x)``, ``exp(x) - 1``, ``sin(x)**2 + cos(x)**2``: a row names the two functions (with their
powers), the ratio of their coefficients, whether their arguments are equal or opposite, and what the two together are.
They are found in sums of any length, and where both terms have further factors in common. Each row is more exact
than what it replaces: differences that cancel are written without a difference.

*Factors.* ``sinh(x) / cosh(x)``, ``exp(z) sigmoid(-z)``: two factors of a product on the same labels. A row names the
two functions, the signs of their exponents, the relation of their arguments, and what one of each gives. All are
bounded where the factors overflow or vanish together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ricci.expr import HALF, Expr, Labels, Number, Product, Sum, add, constant, numeric, power
from ricci.expr.build.scale import power_of, scale
from ricci.expr.numbers import divide
from ricci.functions import activations as act
from ricci.functions import elementwise as el
from ricci.simplify.match import (
    Factor,
    Rewriting,
    exchanged,
    factors_of,
    head,
    negative,
    raised,
    spread,
    terms_of,
)

ONE = constant(1)
Kind = tuple[str, int]  # a function and the power that it is raised to


@dataclass(frozen=True)
class TermPair:
    """``first(x) + ratio second(±x)`` is ``result(x)``; ``second`` may be the number one."""

    first: Kind
    second: Kind | None
    ratio: int
    result: Callable[[Expr], Expr]
    opposite: bool = False
    alone: bool = False  # only where the sum has no further terms

    @property
    def name(self) -> str:
        sign = "+" if self.ratio == 1 else "-"
        return f"{_shown(self.first, '(x)')} {sign} {_shown(self.second, '(-x)' if self.opposite else '(x)')}"


def _shown(kind: Kind | None, argument: str) -> str:
    if kind is None:
        return "1"
    return f"{kind[0]}{argument}" + (f"**{kind[1]}" if kind[1] != 1 else "")


TERMS = [
    TermPair(("sin", 2), ("cos", 2), 1, lambda x: ONE),
    TermPair(("cosh", 2), ("sinh", 2), -1, lambda x: ONE),
    TermPair(("sin", 2), None, -1, lambda x: negative(power(el.cos(x), 2))),
    TermPair(("cos", 2), None, -1, lambda x: negative(power(el.sin(x), 2))),
    TermPair(("cosh", 2), None, -1, lambda x: power(el.sinh(x), 2)),
    TermPair(("sinh", 2), None, 1, lambda x: power(el.cosh(x), 2)),
    TermPair(("sigmoid", 1), None, -1, lambda x: negative(act.sigmoid(negative(x)))),
    TermPair(("sigmoid", 1), ("sigmoid", 1), 1, lambda x: ONE, opposite=True),
    TermPair(("sigmoid", 1), ("sigmoid", 2), -1, lambda x: act.sigmoid(x) * act.sigmoid(negative(x))),
    TermPair(("exp", 1), ("exp", 1), 1, lambda x: 2 * el.cosh(x), opposite=True, alone=True),
    TermPair(("exp", 1), ("exp", 1), -1, lambda x: 2 * el.sinh(x), opposite=True, alone=True),
    TermPair(("exp", 1), None, -1, el.expm1),
    TermPair(("expm1", 1), None, 1, el.exp),
    TermPair(("erf", 1), None, -1, lambda x: negative(act.erfc(x))),
    TermPair(("erf", 1), None, 1, lambda x: act.erfc(negative(x))),
    TermPair(("erfc", 1), None, -1, lambda x: negative(act.erf(x))),
    TermPair(("erfc", 1), ("erfc", 1), 1, lambda x: constant(2), opposite=True),
    TermPair(("softplus", 1), ("softplus", 1), -1, lambda x: x, opposite=True),
]


@dataclass(frozen=True)
class _Candidate:
    """A factor of a term: its argument, its labels, the other factors, and the term that it is from."""

    argument: Expr
    labels: Labels
    rest: tuple[Factor, ...]
    term: int


def _candidates(node: Sum, kind: Kind) -> list[_Candidate]:
    found = []
    for at, term in enumerate(node.args):
        factors = factors_of(term)
        for p, (f, labels) in enumerate(factors):
            base, n = power_of(f)
            if head(base) == kind[0] and n == kind[1]:
                found.append(_Candidate(base.args[0], labels, tuple(factors[:p] + factors[p + 1 :]), at))
    return found


def _partner(node: Sum, row: TermPair, mine: _Candidate, others: list[_Candidate]) -> int | None:
    """The position of the other term of the pair."""
    wanted = row.ratio * node.coefs[mine.term]
    if row.second is None:
        found = (at for at, term in enumerate(node.args) if at != mine.term and tuple(factors_of(term)) == mine.rest)
        return next((at for at in found if node.coefs[at] == wanted), None)
    argument = negative(mine.argument) if row.opposite else mine.argument
    for c in others:
        same = c.argument is argument and c.labels == mine.labels and c.rest == mine.rest
        if same and c.term != mine.term and node.coefs[c.term] == wanted:
            return c.term
    return None


def _apply_terms(row: TermPair) -> Callable[[Expr], Expr | None]:
    def apply(e: Expr) -> Expr | None:
        assert isinstance(e, Sum)
        if row.alone and len(e.args) > 2:
            return None
        found = _candidates(e, row.first)
        others = _candidates(e, row.second) if row.second and found else []
        for mine in found:
            partner = _partner(e, row, mine, others)
            if partner is not None:
                value = row.result(mine.argument)
                joined = spread([*mine.rest, (value, mine.labels if value.shape else ())], e)
                left = [t for at, t in enumerate(terms_of(e)) if at not in (mine.term, partner)]
                return add([*left, (e.coefs[mine.term], joined)])
        return None

    return apply


@dataclass(frozen=True)
class FactorPair:
    """``first(x)`` times ``second(±x)**-1``, or ``second(±x)`` where ``over`` is false, is ``result(x)``."""

    first: str
    second: str
    result: Callable[[Expr], Expr]
    over: bool = False
    real: bool = False  # whether the result is a function of real numbers alone
    opposite: bool = False
    assumes: str = ""

    @property
    def name(self) -> str:
        return f"{self.first}(x) {'/ ' if self.over else ''}{self.second}({'-' if self.opposite else ''}x)"


FACTORS = [
    FactorPair("exp", "sigmoid", act.sigmoid, opposite=True),
    FactorPair("exp", "exp", lambda x: ONE, opposite=True),
    FactorPair("exp", "cosh", lambda x: 2 * act.sigmoid(2 * x), over=True, real=True),
    FactorPair("expm1", "sigmoid", lambda x: el.tanh(HALF * x), opposite=True),
    FactorPair("sinh", "cosh", el.tanh, over=True),
    FactorPair("sin", "cos", el.tan, over=True),
    FactorPair("tan", "cos", el.sin),
    FactorPair("tanh", "cosh", el.sinh),
    FactorPair("sign", "abs", lambda x: x),
]


def _multiple(x: Expr, z: Expr, most: Number) -> int:
    """``k`` with ``x = k z``, a whole number from 1 to ``most``; 0 if there is none."""
    k = 1
    while k <= most and k <= 8:
        if scale(k, z) is x:
            return k
        k += 1
    return 0


def _apply_factors(row: FactorPair) -> Callable[[Expr], Expr | None]:
    sign = -1 if row.over else 1

    def apply(e: Expr) -> Expr | None:
        assert isinstance(e, Product)
        powers = [power_of(a) for a in e.args]
        for p, (f, n) in enumerate(powers):
            for q, (g, m) in enumerate(powers):
                if head(f) != row.first or head(g) != row.second or p == q or e.labels[p] != e.labels[q]:
                    continue
                z = negative(g.args[0]) if row.opposite else g.args[0]
                k = _multiple(f.args[0], z, sign * m if row.first == "exp" else 1)
                count = min(k * n, sign * m)
                if not k or n <= 0 or count <= 0 or not isinstance(count, int) or count % k:
                    continue
                new = [(row.result(z), count), (f, n - divide(count, k)), (g, m - sign * count)]
                labels = e.labels[p]
                return exchanged(e, [p, q], [(raised(a, c), labels if a.shape else ()) for a, c in new if c != 0])
        return None

    return apply


def _with_argument(name: str, exponent: int, result: Callable[[Expr], Expr]) -> Callable[[Expr], Expr | None]:
    """``x name(x)**exponent`` is ``result(x)``."""

    def apply(e: Expr) -> Expr | None:
        assert isinstance(e, Product)
        for p, (f, labels) in enumerate(e.factors()):
            base, n = power_of(f)
            if head(base) == name and n == exponent:
                x = base.args[0]
                for q, g in enumerate(e.factors()):
                    if g == (x, labels):
                        return exchanged(e, [p, q], [(result(x), labels)])
        return None

    return apply


def _mask_of(e: Expr) -> Expr | None:
    """``x`` where ``e`` is 1 for ``x > 0`` and 0 elsewhere."""
    if head(e) == "where" and numeric(e.args[1]) == 1 and numeric(e.args[2]) == 0:
        e = e.args[0]
    return e.args[1] if head(e) == "less" and numeric(e.args[0]) == 0 else None


def _masked_relu(e: Expr) -> Expr | None:
    assert isinstance(e, Product)
    for p, (f, labels) in enumerate(e.factors()):
        x = _mask_of(f)
        if x is not None and any(
            head(power_of(g)[0]) == "relu" and power_of(g)[0].args[0] is x and power_of(g)[1] > 0 and own == labels
            for g, own in e.factors()
        ):
            return exchanged(e, [p], [])
    return None


def _needs(*names: str | None) -> frozenset[str]:
    return frozenset(name for name in names if name)


TERM_RULES = [
    Rewriting(
        row.name, _apply_terms(row), ("Sum",), _needs(row.first[0], row.second[0] if row.second else None), complex=True
    )
    for row in TERMS
]
FACTOR_RULES = [
    Rewriting(
        row.name, _apply_factors(row), ("Product",), _needs(row.first, row.second), row.assumes, complex=not row.real
    )
    for row in FACTORS
] + [
    Rewriting("x sign(x)", _with_argument("sign", 1, el.abs_), ("Product",), _needs("sign")),
    Rewriting(
        "x / abs(x)", _with_argument("abs", -1, el.sign), ("Product",), _needs("abs"), "x is not 0", complex=True
    ),
    Rewriting("relu(x) where x > 0", _masked_relu, ("Product",), _needs("relu")),
]
