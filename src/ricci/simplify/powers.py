"""Powers: equal factors collect, roots and powers of powers join, and 0/1 tensors are their own powers."""

from __future__ import annotations

from fractions import Fraction

from ricci.expr import OPS, Constant, Dim, Expr, Number, Product, Structure, Sum, constant, number, numeric, product
from ricci.expr.build.scale import power_of, scale
from ricci.functions import elementwise as el
from ricci.simplify.match import (
    NOT_MORE,
    Factor,
    Rewriting,
    exchanged,
    operand,
    raised,
    row_of,
    sizes_of,
    spread,
    terms_of,
)


def not_negative(e: Expr) -> bool:
    """Whether all entries are seen to be at least zero, or NaN."""
    if e.complex:
        return False
    if isinstance(e, Constant):
        return isinstance(e.value, Dim) or e.value == "pi"
    row = row_of(e)
    if (row is not None and row.range[0] >= 0) or zero_or_one(e):
        return True
    n = power_of(e)[1]
    return n != 1 and (n % 2 == 0 or n % 1 != 0)


def zero_or_one(e: Expr) -> bool:
    """Whether all entries are seen to be 0 or 1."""
    row = row_of(e)
    if row is None:
        return isinstance(e, Structure)
    return row.type == "truth" or (row.name == "where" and all(numeric(a) in (0, 1) for a in e.args[1:]))


# Products


def _collect(e: Expr) -> Expr | None:
    """Equal factors with equal labels. The guard keeps scalar products, and squares of diagonals, as they are."""
    assert isinstance(e, Product)
    groups: dict[Factor, list[tuple[int, Number]]] = {}
    for at, (a, labels) in enumerate(e.factors()):
        base, n = power_of(a)
        groups.setdefault((base, labels), []).append((at, n))
    gone: list[int] = []
    new: list[Factor] = []
    for (base, labels), members in groups.items():
        if len(members) > 1:
            total = number(sum(n for _, n in members))
            if zero_or_one(base) and total > 0:
                total = 1
            gone += [at for at, _ in members]
            new += [(raised(base, total), labels)] if total != 0 else []
    return exchanged(e, gone, new) if gone else None


# Powers of powers


def _power_of_power(e: Expr) -> Expr | None:
    """``(x**a)**b``: ``|x|**(a b)`` where ``a`` is even, so that the base may be negative; otherwise ``x**(a b)``."""
    inner, b = power_of(e)
    x, a = power_of(inner)
    if b == 1 or a == 1 or isinstance(a, float) or isinstance(b, float):
        return None
    total = number(a * b)
    even = a % 2 == 0 and not not_negative(x) and total % 2 != 0
    return raised(el.abs_(x) if even else x, total) if total != 0 else None


def _power_of_multiple(e: Expr) -> Expr | None:
    """``(c x)**b`` with a positive ``c`` and a fraction ``b``, where ``c**b`` is rational or ``x`` is a power."""
    base, b = power_of(e)
    if not isinstance(b, Fraction) or not isinstance(base, Sum) or len(base.args) != 1 or base.coefs[0] <= 0:
        return None
    root = exact_power(base.coefs[0], b)
    if root is not None:
        return scale(root, raised(base.args[0], b))
    return raised(constant(base.coefs[0]), b) * raised(base.args[0], b) if power_of(base.args[0])[1] != 1 else None


def _power_of_squares(e: Expr) -> Expr | None:
    """``(x**2 y**2)**b`` is ``|x|**(2 b) |y|**(2 b)``: a root of a product of even powers."""
    base, b = power_of(e)
    if not isinstance(b, Fraction) or not isinstance(base, Product) or base.sums:
        return None
    if any(isinstance(a, Structure) or power_of(a)[1] % 2 != 0 for a in base.args):
        return None
    factors = [(raised(a, b), labels) for a, labels in base.factors()]
    return product(factors, base.out, sizes_of(base))


def exact_power(c: Number, b: Fraction) -> Number | None:
    """``c**b`` if it is rational and ``c`` is."""
    if isinstance(c, float) or c <= 0:
        return None
    root = b.denominator
    parts = [round(part ** (1 / root)) for part in Fraction(c).as_integer_ratio()]
    exact = Fraction(parts[0], parts[1]) if parts[1] else Fraction(0)
    return number(exact**b.numerator) if exact and exact**root == c else None


def _power_of_number(e: Expr) -> Expr | None:
    base, b = power_of(e)
    c = numeric(base)
    root = exact_power(c, b) if c is not None and isinstance(b, Fraction) else None
    return None if root is None else constant(root)


def _even_power_of_abs(e: Expr) -> Expr | None:
    base, n = power_of(e)
    x = operand(base, "abs")
    return raised(x, n) if x is not None and n % 2 == 0 else None


def _power_of_zero_or_one(e: Expr) -> Expr | None:
    base, n = power_of(e)
    return base if n > 0 and n != 1 and zero_or_one(base) else None


def _cube_of_cbrt(e: Expr) -> Expr | None:
    base, n = power_of(e)
    x = operand(base, "cbrt")
    return raised(x, n // 3) if x is not None and isinstance(n, int) and n % 3 == 0 else None


def _cbrt_of_cube(e: Expr) -> Expr | None:
    x, n = power_of(e.args[0])
    return raised(x, n // 3) if isinstance(n, int) and n % 3 == 0 else None


def _abs_of_not_negative(e: Expr) -> Expr | None:
    (x,) = e.args
    return x if not_negative(x) else None


def _abs_of_product(e: Expr) -> Expr | None:
    """Factors that are not negative come out."""
    (x,) = e.args
    if not isinstance(x, Product) or x.sums or len(x.args) < 2:
        return None
    rest = [(a, labels) for a, labels in x.factors() if not not_negative(a)]
    if len(rest) == len(x.args):
        return None
    axes = tuple(range(len(x.shape)))
    return exchanged(x, [p for p, a in enumerate(x.args) if not not_negative(a)], [(el.abs_(spread(rest, x)), axes)])


def _parity(e: Expr) -> Expr | None:
    """``f(-x)`` is ``-f(x)`` for an odd function, and ``f(x)`` for an even one."""
    (x,) = e.args
    if not isinstance(x, Sum) or _sign(x) > 0:
        return None
    op = row_of(e)
    assert op is not None
    mirrored = op(scale(-1, x))
    return scale(-1, mirrored) if op.parity == "odd" else mirrored


def _sign(x: Sum) -> int:
    return 1 if terms_of(x)[0][0] > 0 else -1


_MIRRORED = tuple([name for name, op in OPS.items() if op.parity])
_POWER = frozenset({"power"})
_NOT_ZERO = "x is not 0 where exponents cancel"

RULES = [
    Rewriting("abs of what is not negative", _abs_of_not_negative, ("abs",)),
    Rewriting("abs of a product", _abs_of_product, ("abs",), frozenset({"Product"}), guard=NOT_MORE),
    Rewriting("even power of abs", _even_power_of_abs, ("power",), frozenset({"abs"})),
    Rewriting("power of 0 and 1", _power_of_zero_or_one, ("power",)),
    Rewriting("power of cbrt", _cube_of_cbrt, ("power",), frozenset({"cbrt"})),
    Rewriting("cbrt of a power", _cbrt_of_cube, ("cbrt",), _POWER),
    Rewriting("power of a power", _power_of_power, ("power",), _POWER, assumes="x >= 0 where a is a fraction"),
    Rewriting("root of a multiple", _power_of_multiple, ("power",), frozenset({"Sum"}), guard=NOT_MORE),
    Rewriting("root of squares", _power_of_squares, ("power",), frozenset({"Product", "power"})),
    Rewriting("root of a number", _power_of_number, ("power",)),
    Rewriting("odd and even functions", _parity, _MIRRORED, frozenset({"Sum"}), guard=NOT_MORE),
    Rewriting("equal factors to a power", _collect, ("Product",), assumes=_NOT_ZERO, guard=NOT_MORE, complex=True),
]
