r"""Functions along one axis, and reductions over any number of them.

A row works on the last axis of its operand, in parallel over the leading ones. Its partial is called as
``partial(operands, y, params)``, with ``y`` the result, and builds the derivative: an expression with the common
leading axes, then the result's own axis (if it has one), then the operand's. ``value`` works on plain lists. LaTeX
templates have ``{0}`` for the operand and ``{axes}`` for the indices worked on.

    prod:         dy/dx[k]    = prod[l](x[l] (1 - delta[k,l]) + delta[k,l])    the product of the others, zeros or not
    cumprod:      dy[i]/dx[k] = (k <= i) prod of the others up to i
    max, min:     dy/dx[k]    = hardmax(x)[k], hardmin(x)[k]                    equal shares
    logsumexp:    dy/dx[k]    = softmax(x)[k]
    softmax:      dy[k]/dx[l] = y[k] (delta[k,l] - y[l])
    log_softmax:  dy[k]/dx[l] = delta[k,l] - softmax(x)[l]
    sort:         dy[k]/dx[l] = (l == argsort(x)[k])

``hardmax`` is 1/n at the n largest entries and 0 elsewhere: what softmax tends to where ``x`` grows. A choice is one
function of one operand, so it is made once, of the very values that are compared. Written as ``x == max(x)`` it would
stand on two operands, which may be rewritten, and so rounded, each in its own way.

Sums, means, variances, norms and cumulative sums need no rows: they are products, powers and structures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import reduce

from ricci.errors import AxisError, ShapeError
from ricci.expr import Expr, Op, Shape, broadcast, constant, delta, function, merge, one, one_hot, product, triangle
from ricci.functions import plain, special
from ricci.functions.axes import Axes, batch, count, kept, others, positions, reduced, transpose, unmerged
from ricci.functions.elementwise import abs_, exp, not_equal, sqrt

# Derivatives


def _prod_of_others(operands: tuple, y: Expr, params: tuple) -> Expr:
    (x,) = operands
    b, n = batch(x, 1), x.shape[-1]
    axes = (*b, "k", "l")
    same = product([(delta(n), "kl")], axes, dict(zip(b, x.shape, strict=False)))
    entries = product([(x, (*b, "l"))], axes, {"k": n})
    return function(PROD, (entries * (1 - same) + same,))


def _cumprod_of_others(operands: tuple, y: Expr, params: tuple) -> Expr:
    """Over ``j``, with ``i`` the place in the result and ``k`` the entry differentiated by."""
    (x,) = operands
    b, n = batch(x, 1), x.shape[-1]
    axes = (*b, "i", "k", "j")
    sizes = {**dict(zip(b, x.shape, strict=False)), "i": n, "k": n, "j": n}
    lower = triangle(n, n)
    used = product([(lower, "ij")], axes, sizes) - product([(lower, "ij"), (delta(n), "kj")], axes, sizes)
    entries = product([(x, (*b, "j"))], axes, sizes) * used + (1 - used)
    return product([(function(PROD, (entries,)), (*b, "i", "k")), (lower, "ik")], (*b, "i", "k"))


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
    return same - product([(function(SOFTMAX, (x,)), (*b, "l"))], axes, sizes)


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
    return one_hot(function(ARGSORT, operands), y.shape[-1])


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
    return [math.prod(x[: k + 1]) for k in range(len(x))]


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


def _removes(shapes: list[Shape]) -> Shape:
    return ()


def _keeps(shapes: list[Shape], further: int = 0) -> Shape:
    return shapes[0]


def _row(name: str, value, partial, result, latex: str, note: str = "") -> Op:
    return Op(name, 1, value, (partial,), latex=latex + "({0})", note=note, works_on=(1,), result=result)


def _shares_row(name: str, f: Callable) -> Op:
    """On any number of axes, all but one of which are counted by a parameter."""
    latex = rf"\operatorname{{{{{name}}}}}_{{{{{{axes}}}}}}({{0}})"
    value = _shares(name, f)
    return Op(name, 1, value, (None,), latex=latex, note=_NO_EMPTY, works_on=(1,), result=_keeps, columns=True)


_A_PLACE = "its value is the place of an entry, a whole number, which has no derivative."
_NO_EMPTY = "Over an axis of size 0 there is none."
_TIES = "Entries that tie share the derivative equally. " + _NO_EMPTY

PROD = _row("prod", math.prod, _prod_of_others, _removes, r"\prod_{{{axes}}}")
MAX = _row(
    "max",
    _extreme("max", special.maximum),
    _by_share(lambda: HARDMAX),
    _removes,
    r"\max_{{{axes}}}",
    _TIES,
)
MIN = _row(
    "min",
    _extreme("min", special.minimum),
    _by_share(lambda: HARDMIN),
    _removes,
    r"\min_{{{axes}}}",
    _TIES,
)
HARDMAX = _shares_row("hardmax", special.maximum)
HARDMIN = _shares_row("hardmin", special.minimum)
ARGMAX = _row(
    "argmax",
    lambda x: x.index(_extreme("argmax", max)(x)),
    _A_PLACE,
    _removes,
    r"\operatorname{{argmax}}_{{{axes}}}",
    _NO_EMPTY,
)
ARGMIN = _row(
    "argmin",
    lambda x: x.index(_extreme("argmin", min)(x)),
    _A_PLACE,
    _removes,
    r"\operatorname{{argmin}}_{{{axes}}}",
    _NO_EMPTY,
)
ANY = _row("any", lambda x: float(any(x)), None, _removes, r"\bigvee_{{{axes}}}")
ALL = _row("all", lambda x: float(all(x)), None, _removes, r"\bigwedge_{{{axes}}}")
LOGSUMEXP = _row(
    "logsumexp",
    _logsumexp,
    lambda operands, y, params: function(SOFTMAX, operands),
    _removes,
    r"\operatorname{{logsumexp}}_{{{axes}}}",
)
SOFTMAX = _row("softmax", _softmax, _softmax_by, _keeps, r"\operatorname{{softmax}}_{{{axes}}}")
LOG_SOFTMAX = _row("log_softmax", _log_softmax, _log_softmax_by, _keeps, r"\operatorname{{logsoftmax}}_{{{axes}}}")
CUMPROD = _row("cumprod", _cumprod, _cumprod_of_others, _keeps, r"\operatorname{{cumprod}}_{{{axes}}}")
SORT = _row(
    "sort", sorted, _sort_by, _keeps, r"\operatorname{{sort}}_{{{axes}}}", "Ascending; equal entries keep order."
)
ARGSORT = _row(
    "argsort", _argsort, _A_PLACE, _keeps, r"\operatorname{{argsort}}_{{{axes}}}", "Equal entries keep their order."
)


# Builders: over any axes, by position; ``None`` is all of them


def sum_(x: Expr, axes: Axes = None) -> Expr:
    return transpose(x, others(x, positions(x, axes)))


def mean(x: Expr, axes: Axes = None) -> Expr:
    return sum_(x, axes) / constant(count(x, positions(x, axes)))


def var(x: Expr, axes: Axes = None) -> Expr:
    """The mean squared distance from the mean; divided by the count."""
    rest = others(x, positions(x, axes))
    return mean((x - broadcast(mean(x, axes), rest, x.shape)) ** 2, axes)


def std(x: Expr, axes: Axes = None) -> Expr:
    return sqrt(var(x, axes))


def norm(x: Expr, axes: Axes = None, p: float = 2) -> Expr:
    """The p-norm of the entries along ``axes``; ``p`` may be infinite, and 0 counts those that are not zero."""
    if p == math.inf:
        return max_(abs_(x), axes)
    if p == -math.inf:
        return min_(abs_(x), axes)
    if p == 0:
        return sum_(not_equal(x, 0), axes)
    size = x if p % 2 == 0 else abs_(x)
    return sum_(size**p, axes) ** (1 / Fraction(p))


def prod(x: Expr, axes: Axes = None) -> Expr:
    return reduced(PROD, x, axes)


def max_(x: Expr, axes: Axes = None) -> Expr:
    return reduced(MAX, x, axes)


def min_(x: Expr, axes: Axes = None) -> Expr:
    return reduced(MIN, x, axes)


def hardmax(x: Expr, axes: Axes = None) -> Expr:
    return _shared(HARDMAX, x, axes)


def hardmin(x: Expr, axes: Axes = None) -> Expr:
    return _shared(HARDMIN, x, axes)


def _shared(op: Op, x: Expr, axes: Axes) -> Expr:
    along = positions(x, axes)
    if not along:
        return one(x.shape)
    order = (*others(x, along), *along)
    further = (len(along) - 1,) if len(along) > 1 else ()
    return product([(function(op, (transpose(x, order),), further), order)], range(x.order))


def any_(x: Expr, axes: Axes = None) -> Expr:
    return reduced(ANY, x, axes)


def all_(x: Expr, axes: Axes = None) -> Expr:
    return reduced(ALL, x, axes)


def logsumexp(x: Expr, axes: Axes = None) -> Expr:
    return reduced(LOGSUMEXP, x, axes)


def argmax(x: Expr, axes: Axes = None) -> Expr:
    return reduced(ARGMAX, x, _one_axis("argmax", x, axes))


def argmin(x: Expr, axes: Axes = None) -> Expr:
    return reduced(ARGMIN, x, _one_axis("argmin", x, axes))


def softmax(x: Expr, axes: Axes = None) -> Expr:
    return kept(SOFTMAX, x, axes) if len(positions(x, axes)) == 1 else exp(log_softmax(x, axes))


def log_softmax(x: Expr, axes: Axes = None) -> Expr:
    along = positions(x, axes)
    if len(along) == 1:
        return kept(LOG_SOFTMAX, x, along)
    return x - broadcast(logsumexp(x, along), others(x, along), x.shape)


def cumsum(x: Expr, axes: Axes = None) -> Expr:
    (along,) = _one_axis("cumsum", x, axes)
    read = ["read" if axis == along else axis for axis in range(x.order)]
    n = x.shape[along]
    return product([(x, read), (triangle(n, n), (along, "read"))], range(x.order))


def cumprod(x: Expr, axes: Axes = None) -> Expr:
    return kept(CUMPROD, x, _one_axis("cumprod", x, axes))


def sort(x: Expr, axes: Axes = None) -> Expr:
    return kept(SORT, x, _one_axis("sort", x, axes))


def argsort(x: Expr, axes: Axes = None) -> Expr:
    return kept(ARGSORT, x, _one_axis("argsort", x, axes))


def _one_axis(name: str, x: Expr, axes: Axes) -> tuple[int]:
    chosen = positions(x, axes)
    if len(chosen) != 1:
        raise AxisError(f"{name} works along one axis, not {len(chosen)}; name one of the {x.order} axes.")
    return chosen
