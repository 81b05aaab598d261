r"""Complex numbers: what is real of them. Conjugates are in ``expr/build/conjugates.py``.

Each of these functions is real, so its derivative by ``conj(z)`` is the conjugate of that by ``z``, which the row has:

    d|z| = Re(conj(sign z) dz)      d|z|² = 2 Re(conj(z) dz)      dRe z = Re dz      darg z = Im(dz / z)

Factors that are real, and the imaginary unit, come out of them, and of a number and its conjugate the plainer one stays
inside. So ``abs2(exp(1j k x))`` is 1, and what is the same has one form. Of real numbers they are what they are known
to be: ``real(x)`` is ``x``, and ``abs2(x)`` is ``x**2``.
"""

from __future__ import annotations

import cmath
import math

from ricci.expr import HALF, OPS, Elementwise, Expr, Product, Structure, Sum, add, constant, product, scale
from ricci.expr import multiply as times
from ricci.expr import power as power
from ricci.expr.build.conjugates import I, conj, imaginary, plainer, plainer_but_for_sign
from ricci.expr.build.scale import primitive
from ricci.expr.nodes import constructors
from ricci.expr.structures import one, zero
from ricci.functions.rows import called, known, row

__all__ = ["I", "conj"]


class _Parts:
    """A product that sums over nothing: what is real in it, its units, and what else is complex."""

    def __init__(self, z: Expr):
        self.z, self.coef = z, 1
        if isinstance(z, Sum):
            self.coef, z = (z.coefs[0], z.args[0]) if len(z.args) == 1 else primitive(z)
        opened = z.factors() if isinstance(z, Product) and not z.sums else [(z, tuple(range(len(z.shape))))]
        factors = list(opened)
        self.real = [(a, labels) for a, labels in factors if not a.complex]
        self.rest = [(a, labels) for a, labels in factors if a.complex and not imaginary(a)]
        self.units = len(factors) - len(self.real) - len(self.rest)

    def spread(self, factors: list) -> Expr:
        return product(factors, range(len(self.z.shape)), dict(enumerate(self.z.shape)))

    @property
    def many(self) -> bool:
        """Whether there is something to take out."""
        numbers = [a for a, _ in self.real if not (isinstance(a, Structure) and a.relation[0] == "one")]
        return self.coef != 1 or bool(numbers) or bool(self.units)


def _was_real(z: Expr) -> bool:
    """Whether it is a real number that counts as a complex one."""
    return isinstance(z, Elementwise) and z.op.name in ("as_complex", "below_cut")


def abs_rule(z: Expr) -> Expr | None:
    """The absolute value of what is complex: that of each factor."""
    if not z.complex:
        return None
    size = OPS["abs"]
    if _was_real(z):
        return size(z.args[0])
    parts = _Parts(z)
    if parts.many or len(parts.rest) > 1:
        own = [(size(a), labels) for a, labels in parts.rest]
        real = [(a if isinstance(a, Structure) else size(a), labels) for a, labels in parts.real]
        return scale(abs(parts.coef), parts.spread([*own, *real]))
    if isinstance(z, Elementwise) and z.op.name == "exp":
        return OPS["exp"](OPS["real"](z.args[0]))
    other, sign = plainer_but_for_sign(z)
    return size(other) if sign else None


def _square_rule(z: Expr) -> Expr | None:
    if not z.complex or _was_real(z):
        return power(z if not z.complex else z.args[0], 2)
    parts = _Parts(z)
    if parts.many or len(parts.rest) > 1:
        own = [(abs2(a), labels) for a, labels in parts.rest]
        real = [(a if isinstance(a, Structure) else power(a, 2), labels) for a, labels in parts.real]
        return scale(parts.coef**2, parts.spread([*own, *real]))
    if isinstance(z, Elementwise) and z.op.name == "exp":
        return OPS["exp"](2 * OPS["real"](z.args[0]))
    if isinstance(z, Elementwise) and z.op.name == "power" and not z.args[1].complex and z.args[0].complex:
        return power(abs2(z.args[0]), z.args[1])
    other, sign = plainer_but_for_sign(z)
    return abs2(other) if sign else None


def _real_rule(z: Expr) -> Expr | None:
    if not z.complex or _was_real(z):
        return z.args[0] if z.complex else z
    parts = _Parts(z)
    if parts.many:
        inner = parts.spread(parts.rest) if parts.rest else one(z.shape)
        value = scale(-1, imag(inner)) if parts.units else real(inner)
        return times(scale(parts.coef, parts.spread(parts.real)), value)
    apart = _terms_apart(z)
    if apart is not None:
        return apart[0] + real(apart[2])
    other, sign = plainer_but_for_sign(z)
    return scale(sign, real(other)) if sign else None


def _imag_rule(z: Expr) -> Expr | None:
    if not z.complex or _was_real(z):
        return zero(z.shape)
    parts = _Parts(z)
    if parts.many:
        inner = parts.spread(parts.rest) if parts.rest else one(z.shape)
        return times(scale(parts.coef, parts.spread(parts.real)), real(inner) if parts.units else imag(inner))
    apart = _terms_apart(z)
    if apart is not None:
        return apart[1] + imag(apart[2])
    other, sign = plainer_but_for_sign(z)
    return scale(-sign, imag(other)) if sign else None


def _terms_apart(z: Expr) -> tuple[Expr, Expr, Expr] | None:
    """A sum as its real terms, what is imaginary of it over the unit, and the rest; none if that is all."""
    if not isinstance(z, Sum):
        return None
    real_ones, imaginary_ones, rest = [], [], []
    for c, a in zip(z.coefs, z.args, strict=True):
        parts = _Parts(a)
        if not a.complex:
            real_ones.append((c, a))
        elif parts.units and not parts.rest:
            imaginary_ones.append((c, scale(parts.coef, parts.spread(parts.real))))
        else:
            rest.append((c, a))
    if not real_ones and not imaginary_ones:
        return None
    found = [add(terms) if terms else zero(z.shape) for terms in (real_ones, imaginary_ones, rest)]
    return found[0], found[1], found[2]


def _angle_rule(z: Expr) -> Expr | None:
    if not z.complex:
        return None
    if imaginary(z):
        return constant("pi") / 2
    other, turned = plainer(z)
    return scale(-1, angle(other)) if turned else None


def _square(z: complex) -> float:
    return z.real**2 + z.imag**2 if isinstance(z, complex) else z * z


abs2 = row(
    "abs2",
    "the square of the size of z",
    _square,
    None,  # of real numbers it is another node
    operands="z",
    latex=r"\left|{0}\right|^{{2}}",
    rewrite=_square_rule,
    complex="real",
    wirtinger=(lambda z, y: conj(z),),
    **known(parity="even", range=(0, math.inf), type="same", whole="kept", method=False),
)
real = row(
    "real",
    "the real part of z",
    lambda z: z.real,
    None,  # of real numbers it is another node
    operands="z",
    latex=r"\operatorname{{Re}}({0})",
    rewrite=_real_rule,
    complex="real",
    wirtinger=(lambda z, y: constant(HALF),),
    **known(parity="odd", type="same", whole="kept", method=False),
    **called(traced=("lax.real", "aten.real")),
)
constructors.real = real
imag = row(
    "imag",
    "the imaginary part of z",
    lambda z: z.imag,
    None,
    operands="z",
    latex=r"\operatorname{{Im}}({0})",
    rewrite=_imag_rule,
    complex="real",
    wirtinger=(lambda z, y: scale(-HALF, I),),
    **known(parity="odd", type="same", whole="kept", method=False),
    **called(traced=("lax.imag", "aten.imag")),
)


def _conj_of_real(z: Expr) -> Expr:
    return below_cut(z)


# Real numbers as complex ones lie on the branch cuts of roots and logarithms, above them; their conjugates lie below.
as_complex = row(
    "as_complex",
    "",
    complex,
    lambda z, y: constant(1),
    operands="z",
    latex="{0}",
    rewrite=lambda z: z if z.complex else None,
    conjugate=_conj_of_real,
    complex="always",
    **known(whole="kept", method=False),
    **called(by=lambda f, z: z + 0j),
)
below_cut = row(
    "below_cut",
    "",
    lambda z: complex(z).conjugate(),
    lambda z, y: constant(1),
    operands="z",
    latex="{0}",
    rewrite=lambda z: conj(z) if z.complex else None,
    conjugate=as_complex,
    complex="always",
    **known(whole="kept", method=False),
    **called(by=lambda f, z: f.conj(z + 0j)),
)
angle = row(
    "angle",
    "the angle of z in the complex plane, from -pi to pi",
    cmath.phase,
    None,
    operands="z",
    latex=r"\arg({0})",
    rewrite=_angle_rule,
    complex="real",
    wirtinger=(lambda z, y: scale(-HALF, times(I, power(z, -1))),),
    **known(range=(-math.pi, math.pi)),
)
