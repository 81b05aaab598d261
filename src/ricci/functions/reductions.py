r"""Functions along one axis, and reductions over any number of them.

A row works on the last axis of its operand, in parallel over the leading ones. Its partial is called as
``partial(operands, y, params)``, with ``y`` the result, and builds the derivative: an expression with the common
leading axes, then the result's own axis (if it has one), then the operand's. ``value`` works on plain lists. LaTeX
templates have ``{0}`` for the operand and ``{axes}`` for the indices worked on.

    prod:         dy/dx[k]    = the product of those before k, times that of those behind: zeros or not
    max, min:     dy/dx[k]    = hardmax(x)[k], hardmin(x)[k]                    equal shares
    logsumexp:    dy/dx[k]    = softmax(x)[k]
    softmax:      dy[k]/dx[l] = y[k] (delta[k,l] - y[l])
    log_softmax:  dy[k]/dx[l] = delta[k,l] - softmax(x)[l]
    sort:         dy[k]/dx[l] = (l == argsort(x)[k])

In steps, where ``x`` changes by ``e``:

    prod_before:  c[i+1] = x[i] c[i] + e[i] y[i]            y[i+1] = x[i] y[i]; exact at zeros, as nothing is divided
    recurrence:   c[i+1] = a[i] c[i] + e[i] y[i]            y[i+1] = a[i] y[i] + b[i]; it is linear in ``b``

``hardmax`` is 1/n at the n largest entries and 0 elsewhere: what softmax tends to where ``x`` grows. A choice is one
function of one operand, so it is made once, of the very values that are compared. Written as ``x == max(x)`` it would
stand on two operands, which may be rewritten, and so rounded, each in its own way.

Sums, means, variances, norms and cumulative sums stand in no nodes: they are products, powers and structures.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from typing import Any

from ricci.errors import ShapeError
from ricci.expr import (
    OPS,
    Adjoint,
    Change,
    Expr,
    Op,
    Shape,
    broadcast,
    constant,
    delta,
    function,
    merge,
    one,
    one_hot,
    product,
    triangle,
)
from ricci.functions import plain, special
from ricci.functions.axes import (
    Axes,
    along,
    batch,
    count,
    kept,
    one_axis,
    others,
    positions,
    reduced,
    transpose,
    unmerged,
)
from ricci.functions.elementwise import abs_, exp, not_equal, sqrt
from ricci.functions.rows import POSITIVE, Partial, called, known, short

# Derivatives


def _prod_of_others(operands: tuple, y: Expr, params: tuple) -> Expr:
    return function(prod_before, operands) * function(prod_after, operands)


def _cumprod_change(operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
    """That of ``x[i]`` times the product of what is before."""
    (x,) = operands
    before = function(prod_before, operands)
    return before * change + x * function(recurrence, (x, before * change), (0,))


def _prod_change(by: Callable[[], Op]) -> Change:
    """Of the products of the entries before each one, as ``y[i+1] = x[i] y[i]``; or of those after it."""
    return Change(lambda operands, y, params, change: function(by(), (*operands, y * change), (0,)))


def _recurrence_change(by: Callable[[], Op]) -> Change:
    def rule(operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
        wide = broadcast(change, range(change.order), y.shape)
        return function(by(), (operands[0], wide * y), params)

    return Change(rule)


def _recurrence_adjoint(other: Callable[[], Op]) -> Adjoint:
    return Adjoint(lambda operands, bar, params: function(other(), (*operands, bar), params))


def _softmax_by(operands: tuple, y: Expr, params: tuple) -> Expr:
    b, n = batch(y, 1), y.shape[-1]
    axes = (*b, "k", "l")
    same = product([(y, (*b, "k")), (delta(n), "kl")], axes)
    return same - product([(y, (*b, "k")), (y, (*b, "l"))], axes)


def _log_softmax_by(operands: tuple, y: Expr, params: tuple) -> Expr:
    (x,) = operands
    b, n = batch(x, 1), x.shape[-1]
    axes, sizes = (*b, "k", "l"), {**dict(zip(b, x.shape, strict=False)), "k": n}
    same = product([(delta(n), "kl")], axes, sizes)
    return same - product([(function(softmax, (x,)), (*b, "l"))], axes, sizes)


def _by_share(op: Callable[[], Op]) -> Callable[[tuple, Expr, tuple], Expr]:
    """The shares of the entries, where they are on several axes that were merged into one, on these."""

    def partial(operands: tuple, y: Expr, params: tuple) -> Expr:
        apart = unmerged(operands[0])
        if apart is None:
            return function(op(), operands)
        x, number = apart
        axes = tuple(range(x.order))
        own = axes[x.order - number :]
        merged = (merge(tuple([x.shape[axis] for axis in own])), ("all", *own))
        return product([(function(op(), (x,), (number - 1,)), axes), merged], (*axes[: x.order - number], "all"))

    return partial


def _sort_by(operands: tuple, y: Expr, params: tuple) -> Expr:
    return one_hot(function(argsort, operands), y.shape[-1])


# Values on lists


def _extreme(name: str, f: Callable) -> Callable[[list], float]:
    def value(x: list) -> float:
        if not x:
            raise ShapeError(f"{name} has no value over an axis of size 0.")
        return reduce(f, x)

    return value


def _logsumexp(x: list) -> float:
    top = max(x, default=-math.inf)
    shift = top if math.isfinite(top) else 0.0
    total = math.fsum(special.ieee(math.exp)(v - shift) for v in x)
    return shift + math.log(total) if total else -math.inf


def _softmax(x: list) -> list:
    top = max(x, default=0.0)
    shift = top if math.isfinite(top) else 0.0
    weights = [special.ieee(math.exp)(v - shift) for v in x]
    total = math.fsum(weights)
    return [w / total if total else math.nan for w in weights]


def _log_softmax(x: list) -> list:
    total = _logsumexp(x)
    return [v - total for v in x]


def _cumprod(x: list) -> list:
    return list(accumulate(x, operator.mul))


def _shares(name: str, f: Callable) -> Callable[..., list]:
    extreme = _extreme(name, f)

    def value(x: list, further: int = 0) -> list:
        entries = plain.flat(x, 1 + further)
        top = extreme(entries)
        shares = ((v == top) / entries.count(top) if top in entries else math.nan for v in entries)
        return plain.unflat(shares, x, 1 + further)

    return value


def _argsort(x: list) -> list:
    return sorted(range(len(x)), key=x.__getitem__)


# The rows


def _softmax_along(op: Op, x: Expr, axes: Axes = None) -> Expr:
    return kept(op, x, axes) if len(positions(x, axes)) == 1 else exp(log_softmax(x, axes))


def _log_softmax_along(op: Op, x: Expr, axes: Axes = None) -> Expr:
    along = positions(x, axes)
    if len(along) == 1:
        return kept(op, x, along)
    return x - broadcast(logsumexp(x, along), others(x, along), x.shape)


def _shared(op: Op, x: Expr, axes: Axes = None) -> Expr:
    """On any number of axes, all but one of which are counted by a parameter."""
    along = positions(x, axes)
    if not along:
        return one(x.shape)
    order = (*others(x, along), *along)
    further = (len(along) - 1,) if len(along) > 1 else ()
    return product([(function(op, (transpose(x, order),), further), order)], range(x.order))


def _along_one(op: Op, x: Expr, axes: Axes = None) -> Expr:
    build = reduced if op.kind == "reduce" else kept
    return build(op, x, one_axis(op.name, x, axes))


def _removes(shapes: list[Shape]) -> Shape:
    return ()


def _keeps(shapes: list[Shape], further: int = 0) -> Shape:
    return shapes[0]


def _row(name: str, help: str, value: Callable, partial: Partial, kind: str, latex: str = "", **more: Any) -> Op:
    latex = (latex or rf"\operatorname{{{{{name}}}}}") + "_{{{axes}}}({0})"
    more.setdefault("maker", reduced if kind == "reduce" else kept)
    more.setdefault("note", _NO_EMPTY if more.get("nonempty") else "")
    result = _removes if kind == "reduce" else _keeps
    return Op(
        name, 1, value, (partial,), kind, help=help, operands="x", latex=latex, works_on=(1,), result=result, **more
    )


_A_PLACE = "its value is the place of an entry, a whole number, which has no derivative."
_NO_EMPTY = "Over an axis of size 0 there is none."
_PLACE = known(type="place", whole="always", range=POSITIVE, choice="compares", maker=_along_one)
_TRUTH = known(type="truth", whole="always", range=(0, 1), complex="real")
_EXTREME = known(type="same", whole="kept", keeps_sign="all", choice="compares", nonempty=True)
_SHARES = known(range=(0, 1), choice="compares", nonempty=True, columns=True, maker=_shared)

prod = _row(
    "prod",
    "the product",
    math.prod,
    _prod_of_others,
    "reduce",
    r"\prod",
    complex="kept",
    **known(type="same", keeps_sign="all", grows=True),
)
max_ = _row(
    "max",
    "the largest entry; entries that tie share the derivative",
    _extreme("max", special.maximum),
    _by_share(lambda: hardmax),
    "reduce",
    r"\max",
    **_EXTREME,
    **called(torch="amax"),
)
min_ = _row(
    "min",
    "the smallest entry; entries that tie share the derivative",
    _extreme("min", special.minimum),
    _by_share(lambda: hardmin),
    "reduce",
    r"\min",
    **_EXTREME,
    **called(torch="amin"),
)
argmax = _row(
    "argmax",
    "the place of the largest entry",
    lambda x: x.index(_extreme("argmax", max)(x)),
    _A_PLACE,
    "reduce",
    nonempty=True,
    **_PLACE,
)
argmin = _row(
    "argmin",
    "the place of the smallest entry",
    lambda x: x.index(_extreme("argmin", min)(x)),
    _A_PLACE,
    "reduce",
    nonempty=True,
    **_PLACE,
)
any_ = _row(
    "any", "1 where some entry is not zero, otherwise 0", lambda x: float(any(x)), None, "reduce", r"\bigvee", **_TRUTH
)
all_ = _row(
    "all", "1 where no entry is zero, otherwise 0", lambda x: float(all(x)), None, "reduce", r"\bigwedge", **_TRUTH
)
logsumexp = _row(
    "logsumexp",
    "log(sum(exp(x))) without overflow",
    _logsumexp,
    lambda operands, y, params: function(softmax, operands),
    "reduce",
)
softmax = _row(
    "softmax",
    "exp(x) / sum(exp(x)) without overflow",
    _softmax,
    _softmax_by,
    "keep",
    **known(range=(0, 1), maker=_softmax_along),
)
log_softmax = _row(
    "log_softmax",
    "x - logsumexp(x)",
    _log_softmax,
    _log_softmax_by,
    "keep",
    r"\operatorname{{logsoftmax}}",
    **known(range=(-math.inf, 0), maker=_log_softmax_along),
)
hardmax = _row(
    "hardmax", "1/n at the n largest entries, otherwise 0", _shares("hardmax", special.maximum), None, "keep", **_SHARES
)
hardmin = _row(
    "hardmin",
    "1/n at the n smallest entries, otherwise 0",
    _shares("hardmin", special.minimum),
    None,
    "keep",
    **_SHARES,
)
cumprod = _row(
    "cumprod",
    "the products of the entries so far",
    _cumprod,
    Change(_cumprod_change),
    "keep",
    complex="kept",
    **known(type="same", keeps_sign="all", grows=True, maker=_along_one),
)
prod_before = _row(
    "prod_before",
    "",
    lambda x: list(accumulate(x[:-1], operator.mul, initial=1)) if x else [],
    _prod_change(lambda: recurrence),
    "keep",
    complex="kept",
    **known(type="same", keeps_sign="all", grows=True, maker=_along_one),
)
prod_after = _row(
    "prod_after",
    "",
    lambda x: list(accumulate(x[:0:-1], operator.mul, initial=1))[::-1] if x else [],
    _prod_change(lambda: recurrence_back),
    "keep",
    complex="kept",
    **known(type="same", keeps_sign="all", grows=True, maker=_along_one),
)


def _recurrence(name: str, value: Callable, back: Callable[[], Op], own: Callable[[], Op], note: str) -> Op:
    return Op(
        name,
        2,
        value,
        (_recurrence_change(own), _recurrence_adjoint(back)),
        "keep",
        "along",
        latex=rf"\operatorname{{{{{name}}}}}_{{{{{{axes}}}}}}({{0}}, {{1}})",
        note=f"{note} Parameter: further axes of ``b``.",
        works_on=(1, 1),
        result=lambda shapes, *params: shapes[1],
        columns=True,
        complex="kept",
        maker=along,
    )


recurrence = _recurrence(
    "recurrence",
    plain.recurrence,
    lambda: recurrence_back,
    lambda: recurrence,
    "y[0] = 0, y[i+1] = a[i] y[i] + b[i].",
)
recurrence_back = _recurrence(
    "recurrence_back",
    plain.recurrence_back,
    lambda: recurrence,
    lambda: recurrence_back,
    "0 at the last, y[i-1] = a[i] y[i] + b[i].",
)
sort = _row(
    "sort",
    "the entries in ascending order",
    sorted,
    _sort_by,
    "keep",
    note="Equal entries keep their order.",
    **known(type="same", whole="kept", keeps_sign="all", choice="compares", maker=_along_one),
)
argsort = _row(
    "argsort",
    "the places of the entries in ascending order",
    _argsort,
    _A_PLACE,
    "keep",
    note="Equal entries keep their order.",
    **_PLACE,
)


# What the core has already: over any axes, by position; ``None`` is all of them


@short("the sum", math.fsum, kind="reduce", type="same")
def sum_(x: Expr, axes: Axes = None) -> Expr:
    return transpose(x, others(x, positions(x, axes)))


@short("the mean", lambda x: math.fsum(x) / len(x), kind="reduce")
def mean(x: Expr, axes: Axes = None) -> Expr:
    return sum_(x, axes) / constant(count(x, positions(x, axes)))


def _var(x: list) -> float:
    centre = math.fsum(x) / len(x)
    return math.fsum((v - centre) ** 2 for v in x) / len(x)


@short("the mean squared distance from the mean", _var, kind="reduce")
def var(x: Expr, axes: Axes = None) -> Expr:
    """Divided by the count."""
    rest = others(x, positions(x, axes))
    away = x - broadcast(mean(x, axes), rest, x.shape)
    return mean(OPS["abs2"](away) if x.complex else away**2, axes)


@short("the square root of var", lambda x: math.sqrt(_var(x)), kind="reduce")
def std(x: Expr, axes: Axes = None) -> Expr:
    return sqrt(var(x, axes))


@short("the square root of the sum of squares", lambda x: math.hypot(*x), kind="reduce")
def norm(x: Expr, axes: Axes = None, p: float = 2) -> Expr:
    """The p-norm of the entries along ``axes``; ``p`` may be infinite, and 0 counts those that are not zero."""
    if p == math.inf:
        return max_(abs_(x), axes)
    if p == -math.inf:
        return min_(abs_(x), axes)
    if p == 0:
        return sum_(not_equal(x, 0), axes)
    if x.complex and p == 2:
        return sqrt(sum_(OPS["abs2"](x), axes))
    size = x if p % 2 == 0 and not x.complex else abs_(x)
    return sum_(size**p, axes) ** (1 / Fraction(p))


@short("the sums of the entries so far", lambda x: list(accumulate(x)), kind="keep", type="same", grows=True)
def cumsum(x: Expr, axes: Axes = None) -> Expr:
    (along,) = one_axis("cumsum", x, axes)
    read = ["read" if axis == along else axis for axis in range(x.order)]
    n = x.shape[along]
    return product([(x, read), (triangle(n, n), (along, "read"))], range(x.order))
