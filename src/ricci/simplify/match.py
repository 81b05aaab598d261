"""What rules are made of: their type, and looking at expressions.

A rule is a named function from a node to a node of the same value, or ``None`` where it does not apply. ``heads`` are
the kinds of node (``"Sum"``, ``"Product"``) or the functions (``"log"``) at which it is tried, ``needs`` the functions
that must occur close below; both only save time. ``assumes`` says for which values it holds, if not for all. A rule
with a ``guard`` is only taken where the cost falls, or does not rise.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count

from ricci.expr import (
    POWER,
    Elementwise,
    Expr,
    Function,
    Labels,
    Number,
    Op,
    Product,
    Size,
    Structure,
    Sum,
    numeric,
    one,
    power,
    product,
)
from ricci.expr.build.scale import scale

Factor = tuple[Expr, Labels]


@dataclass(frozen=True)
class Rewriting:
    """A rewriting that keeps the value."""

    name: str
    apply: Callable[[Expr], Expr | None]
    heads: tuple[str, ...]
    needs: frozenset[str] = frozenset()
    assumes: str = ""
    guard: str = ""
    complex: bool = False  # whether it holds where a node, or an operand of it, is complex; otherwise it is not tried


LESS, NOT_MORE = "less", "not more"


@dataclass(frozen=True)
class Rewrite:
    """One use of a rule."""

    rule: str
    before: Expr
    after: Expr


def is_complex(e: Expr) -> bool:
    """Whether a node is complex, or has an operand that is."""
    return e.complex or any(a.complex for a in e.args)


def row_of(e: Expr) -> Op | None:
    """The row of a function, where the node is one."""
    return e.op if isinstance(e, (Elementwise, Function)) else None


def head(e: Expr) -> str:
    """The name of a function, or the kind of any other node."""
    return e.head


def nearby(e: Expr) -> int:
    """The functions that occur among the operands, and among the factors and terms that these consist of, as bits."""
    found = 0
    for a in e.args:
        found |= _near(a)
        if type(a) is Product or type(a) is Sum:
            for b in a.args:
                found |= _near(b)
    return found


def _near(e: Expr) -> int:
    """The bits of a node, and of its factors or terms."""
    try:
        return e.near
    except AttributeError:
        found = _own_bit(e)
        if type(e) is Product or type(e) is Sum:
            for a in e.args:
                found |= _own_bit(a)
        e.near = found
        return found


def _own_bit(e: Expr) -> int:
    """The bit of a node; of a power also that of what is raised. Functions of the user's have none."""
    own = _bits.get(e.head) or bit(e.head)
    if type(e) is Elementwise or type(e) is Function:
        if e.op.own:
            return 0
        if e.op is POWER and not (row_of(e.args[0]) or POWER).own:
            return own | bit(e.args[0].head)
    return own


def bit(name: str) -> int:
    """The bit that stands for a name of a function or kind of node."""
    return _bits.get(name) or _bits.setdefault(name, 1 << next(_places))


_bits: dict[str, int] = {}
_places = count()


def raised(base: Expr, exponent: Number) -> Expr:
    return base if exponent == 1 else power(base, exponent)


def negative(e: Expr) -> Expr:
    return scale(-1, e)


def operand(e: Expr, name: str) -> Expr | None:
    """``x`` where ``e`` is the function ``name`` of ``x``."""
    return e.args[0] if isinstance(e, (Elementwise, Function)) and e.op.name == name else None


def terms_of(e: Expr) -> list[tuple[Number, Expr]]:
    return list(zip(e.coefs, e.args, strict=True)) if isinstance(e, Sum) else [(1, e)]


def factors_of(e: Expr) -> list[Factor]:
    """The factors of a product that sums over nothing; of anything else, itself; of a one-tensor, none."""
    if isinstance(e, Product) and not e.sums:
        return list(e.factors())
    if isinstance(e, Structure) and e.relation[0] == "one":
        return []
    return [] if numeric(e) == 1 else [(e, tuple(range(len(e.shape))))]


def spread(factors: Sequence[Factor], like: Expr) -> Expr:
    """The product of ``factors`` over the axes of ``like``, whose positions are the labels."""
    return product(factors, range(len(like.shape)), dict(enumerate(like.shape)))


def exchanged(node: Product, gone: Iterable[int], new: Iterable[Factor], without: int | None = None) -> Expr:
    """``node`` with the factors at the positions ``gone`` replaced by ``new``.

    Every label keeps its size, even if nothing carries it any more, but for the label ``without``, which is no more.
    """
    gone = set(gone)
    factors: list[Factor] = [f for at, f in enumerate(node.factors()) if at not in gone]
    axes = {x: n for at in gone for x, n in zip(node.labels[at], node.args[at].shape, strict=True) if x != without}
    kept = [(one(tuple(axes.values())), tuple(axes))] if axes else []
    return product([*factors, *new, *kept], node.out, sizes_of(node))


def sizes_of(node: Product) -> dict[Hashable, Size]:
    """The sizes of the labels of the result."""
    return dict(zip(node.out, node.shape, strict=True))
