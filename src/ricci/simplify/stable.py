"""Stable forms: logarithms and quotients of exponentials, written so that nothing overflows.

All of it rests on one function, :func:`logarithm`: the ``L`` with ``e = exp(L)``, where ``e`` is visibly made of
exponentials. With it

    log(e) → L        log1p(e) → softplus(L)

are softplus, log-sum-exp, log-softmax and ``log(sigmoid)`` at once:

    exp(x) → x                    sum[k](exp(x)) → logsumexp[k](x)       exp(a) + exp(b) → logaddexp(a, b)
    1 + exp(x) → softplus(x)      sigmoid(x) → -softplus(-x)             softmax(x) → log_softmax(x)
    products and positive multiples → sums

The quotients are found in products: ``exp(x) / sum[k](exp(x))`` is a softmax; ``1 / (1 + exp(z))`` is
``sigmoid(-z)``, and with a factor ``exp(z)`` it is ``sigmoid(z)`` (``pairs.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import reduce

from ricci.expr import (
    Expr,
    Number,
    Product,
    Size,
    Sum,
    add,
    constant,
    function,
    product,
    zero,
)
from ricci.expr.build.scale import power_of, primitive, scale
from ricci.expr.structures import is_one
from ricci.functions import activations as act
from ricci.functions import elementwise as el
from ricci.functions.matrix import logdet
from ricci.functions.reductions import log_softmax, logsumexp, softmax
from ricci.simplify.match import (
    Factor,
    Rewriting,
    exchanged,
    factors_of,
    head,
    negative,
    operand,
    raised,
    spread,
    terms_of,
)

MOST_TERMS = 4  # of a sum of exponentials
DEPTH = 4


# Logarithms

_LOGARITHMS: dict[str, Callable[[Expr], Expr]] = {
    "exp": lambda x: x,
    "exp2": lambda x: el.log(2) * x,
    "sigmoid": lambda x: negative(act.softplus(negative(x))),
    "softmax": lambda x: function(log_softmax, (x,)),
    "det": lambda x: function(logdet, (x,)),
}


def logarithm(e: Expr, depth: int = DEPTH) -> Expr | None:
    """``L`` with ``e = exp(L)``, where ``e`` is visibly made of exponentials."""
    if not depth:
        return None
    known = _LOGARITHMS.get(head(e))
    if known is not None:
        return known(e.args[0])
    if isinstance(e, Product):
        return _of_contraction(e) if e.sums else _of_product(e, depth)
    if isinstance(e, Sum):
        return _of_sum(e, depth)
    base, n = power_of(e)
    inner = logarithm(base, depth - 1) if n != 1 else None
    return None if inner is None else scale(n, inner)


def _of_product(e: Product, depth: int) -> Expr | None:
    """The logarithms of the factors that have one, and that of the product of the others."""
    logs: list[tuple[Number, Expr]] = []
    rest: list[Factor] = []
    for a, labels in e.factors():
        found = logarithm(a, depth - 1)
        if found is None:
            rest.append((a, labels))
        else:
            logs.append((1, spread([(found, labels if found.shape else ())], e)))
    if not logs:
        return None
    return add([*logs, (1, el.log(spread(rest, e)))] if rest else logs)


def _of_contraction(e: Product) -> Expr | None:
    """Of a sum over axes of exponentials, all of them along the axes of one."""
    every = set().union(*e.labels)
    if any(head(a) != "exp" for a in e.args) or not any(set(labels) == every for labels in e.labels):
        return None
    axes = (*e.out, *sorted(every - set(e.out)))
    sizes: dict[Hashable, Size] = {x: n for a, ls in e.factors() for x, n in zip(ls, a.shape, strict=True)}
    inner = add([(1, product([(a.args[0], labels)], axes, sizes)) for a, labels in e.factors()])
    return logsumexp(inner, range(len(e.out), len(axes)))


def _of_sum(e: Sum, depth: int) -> Expr | None:
    coef, rest = primitive(e)
    if coef != 1:
        found = logarithm(rest, depth - 1) if coef > 0 else None
        return None if found is None else found + el.log(constant(coef))
    if len(e.args) > MOST_TERMS or any(c <= 0 for c in e.coefs) or not all(map(_is_exponential, e.args)):
        return None
    parts = []
    for c, a in zip(e.coefs, e.args, strict=True):
        found = zero(a.shape) if is_one(a) else logarithm(a, depth - 1)
        if found is None:
            return None
        parts.append((is_one(a) and c == 1, found if c == 1 else found + el.log(constant(c))))
    if len(parts) == 1:
        return None
    total = reduce(act.logaddexp, [part for plain, part in parts if not plain])
    return act.softplus(total) if any(plain for plain, _ in parts) else total


def _is_exponential(e: Expr) -> bool:
    """Whether a term is an exponential, a product of them, a sum of one over axes, or the number one."""
    if isinstance(e, Product):
        return all(head(a) == "exp" or (not e.sums and _is_exponential(a)) for a in e.args)
    return is_one(e) or head(e) == "exp"


def _log(e: Expr) -> Expr | None:
    return logarithm(e.args[0])


def _log_of_power(e: Expr) -> Expr | None:
    """Not of even powers, whose base may be negative."""
    base, n = power_of(e.args[0])
    return None if n == 1 or n % 2 == 0 else scale(n, el.log(base))


def _log_of_size(e: Expr) -> Expr | None:
    inner = operand(e.args[0], "abs")
    matrix = None if inner is None else operand(inner, "det")
    return None if matrix is None else function(logdet, (matrix,))


def _log1p(e: Expr) -> Expr | None:
    (x,) = e.args
    inner = logarithm(x) if _is_exponential(x) else None
    return None if inner is None else act.softplus(inner)


def _log_to_log1p(e: Expr) -> Expr | None:
    (x,) = e.args
    if not isinstance(x, Sum) or len(x.args) < 2:
        return None
    rest = [(c, a) for c, a in terms_of(x) if not (c == 1 and is_one(a))]
    return el.log1p(add(rest)) if len(rest) < len(x.args) else None


# Exponentials


def _exp_of_log_softmax(e: Expr) -> Expr | None:
    inner = operand(e.args[0], "log_softmax")
    return None if inner is None else function(softmax, (inner,))


def _exp_of_softplus(e: Expr) -> Expr | None:
    ((coef, inner), *more) = terms_of(e.args[0])
    x = operand(inner, "softplus")
    return raised(act.sigmoid(negative(x)), -coef) if x is not None and not more and coef < 0 else None


def _exp_of_log(e: Expr) -> Expr | None:
    ((coef, inner), *more) = terms_of(e.args[0])
    x = operand(inner, "log")
    return raised(x, coef) if x is not None and not more else None


def _power_of_exp(e: Expr) -> Expr | None:
    """``exp(x)**n`` where ``n x`` is exact: ``n`` is a power of two, or its negative, as -1 is."""
    base, n = power_of(e)
    x = operand(base, "exp")
    if x is None or isinstance(n, float):
        return None
    top, bottom = abs(n).as_integer_ratio()
    return el.exp(scale(n, x)) if top & (top - 1) == 0 and bottom & (bottom - 1) == 0 else None


def _one_plus_exp(e: Expr) -> Expr | None:
    """``z`` where ``e`` is ``1 + exp(z)``."""
    if not isinstance(e, Sum) or e.coefs != (1, 1):
        return None
    exps = [operand(a, "exp") for a in e.args if not is_one(a)]
    return exps[0] if len(exps) == 1 else None


def _reciprocal_of_one_plus_exp(e: Expr) -> Expr | None:
    base, n = power_of(e)
    z = _one_plus_exp(base) if n < 0 else None
    return None if z is None else raised(act.sigmoid(negative(z)), -n)


def _one_plus_exp_times_sigmoid(e: Expr) -> Expr | None:
    """``(1 + exp(z))**a sigmoid(-z)**b``: one over the other, so exponents cancel."""
    assert isinstance(e, Product)
    for p, (f, labels) in enumerate(e.factors()):
        base, a = power_of(f)
        z = _one_plus_exp(base) if a > 0 else None
        if z is None:
            continue
        sigmoid = act.sigmoid(negative(z))
        for q, (g, own) in enumerate(e.factors()):
            if own == labels and power_of(g)[0] is sigmoid:
                left = power_of(g)[1] - a
                new = [(raised(sigmoid, left) if left > 0 else raised(base, -left), labels)] if left else []
                return exchanged(e, [p, q], new)
    return None


# Softmax


def _softmax_quotient(e: Expr) -> Expr | None:
    """A factor ``exp(x)`` and a factor ``sum(exp(x))**-n`` along the same axes."""
    assert isinstance(e, Product)
    for at, (a, outer) in enumerate(e.factors()):
        total, n = power_of(a)
        if n >= 0 or not isinstance(total, Product) or len(total.args) != 1 or head(total.args[0]) != "exp":
            continue
        (exp,), (inner,) = total.args, total.labels
        if len(set(inner)) != len(inner):
            continue
        place = dict(zip(total.out, outer, strict=True))
        for other, (b, labels) in enumerate(e.factors()):
            if b is exp and all(place.get(x, y) == y for x, y in zip(inner, labels, strict=True)):
                along = [p for p, x in enumerate(inner) if x not in place]
                new = [(softmax(exp.args[0], along), labels), (raised(total, n + 1), outer)]
                return exchanged(e, [at, other], new if n != -1 else new[:1])
    return None


def _sum_of_softmax(e: Expr) -> Expr | None:
    """A softmax whose own axis is summed, with nothing else along it."""
    assert isinstance(e, Product)
    for at, (a, labels) in enumerate(e.factors()):
        if head(a) == "softmax" and labels[-1] not in e.out and sum(ls.count(labels[-1]) for ls in e.labels) == 1:
            return exchanged(e, [at], [], without=labels[-1])
    return None


def _sigmoid_quotient(e: Expr) -> Expr | None:
    """A factor ``exp(a)`` and a factor ``(exp(a) + exp(b))**-1``."""
    assert isinstance(e, Product)
    for at, (f, labels) in enumerate(e.factors()):
        total, n = power_of(f)
        if n != -1 or not isinstance(total, Sum) or total.coefs != (1, 1):
            continue
        for mine, other in (total.args, total.args[::-1]):
            where = [p for p, g in enumerate(e.factors()) if g == (mine, labels)]
            a, b = operand(mine, "exp"), operand(other, "exp")
            if where and a is not None and b is not None:
                return exchanged(e, [at, where[0]], [(act.sigmoid(a - b), labels)])
    return None


# Differences


def without(node: Sum, at: int, x: Expr) -> list[tuple[Number, Expr]] | None:
    """The terms but the one at ``at``, with coefficient ``c``, and but ``-c x``; None if not all of ``x`` is there."""
    c = node.coefs[at]
    for own in (terms_of(x), _arranged_terms(x)):
        left = {a: k for p, (k, a) in enumerate(terms_of(node)) if p != at}
        if own and all(left.pop(a, 0) == -c * k for k, a in own):
            return [(k, a) for a, k in left.items()]
    return None


def _arranged_terms(x: Expr) -> list[tuple[Number, Expr]]:
    """The terms of a sum whose axes are arranged otherwise."""
    if not isinstance(x, Product) or x.sums or len(x.args) != 1:
        return []
    return [(k, spread([(a, x.labels[0])], x)) for k, a in terms_of(x.args[0])]


def _terms_of_row(e: Expr, name: str) -> Iterator[tuple[int, Number, Expr, tuple]]:
    """The terms of a sum that are this function of something: place, coefficient, of what, and on which axes."""
    for at, (coef, term) in enumerate(terms_of(e)):
        factors = factors_of(term)
        inner = operand(factors[0][0], name) if len(factors) == 1 else None
        if inner is not None:
            yield at, coef, inner, factors[0][1]


def _less_logsumexp(e: Expr) -> Expr | None:
    """``x - logsumexp(x)``, also within a longer sum, and where ``x`` is one."""
    assert isinstance(e, Sum)
    for at, coef, inner, labels in _terms_of_row(e, "logsumexp"):
        along = [axis for axis in range(len(e.shape)) if axis not in labels]
        if len(along) != 1 or len(set(labels)) != len(labels) or _differ(inner.shape[-1], e.shape[along[0]]):
            continue
        x = spread([(inner, (*labels, *along))], e)
        left = without(e, at, x)
        if left is not None:
            return add([*left, (-coef, log_softmax(x, along))])
    return None


def _level(e: Expr) -> Expr | None:
    """``e`` without its last axis, where it is the same all along that."""
    factors = factors_of(e)
    last = len(e.shape) - 1
    if not isinstance(e, Product) or e.sums or any(last in labels for _, labels in factors):
        return None
    return product(factors, range(last), dict(enumerate(e.shape[:last])))


def _opened(x: Expr) -> list[tuple[Number, Expr]]:
    """The terms of a sum, also where it is scaled and its axes are arranged otherwise."""
    return [(k * m, b) for k, a in terms_of(x) for m, b in _arranged_terms(a) or [(1, a)]]


def _shift_of_softmax(e: Expr) -> Expr | None:
    """What is the same all along the axis changes nothing: the largest entry, taken off by hand."""
    (x,) = e.args
    terms = _opened(x)
    kept = [(k, a) for k, a in terms if _level(a) is None]
    return function(e.op, (add(kept),)) if 0 < len(kept) < len(terms) else None  # type: ignore[attr-defined]


def _shift_of_logsumexp(e: Expr) -> Expr | None:
    """``logsumexp(x - c) + c``, also within a longer sum."""
    assert isinstance(e, Sum)
    for at, coef, inner, labels in _terms_of_row(e, "logsumexp"):
        left = {a: k for p, (k, a) in enumerate(terms_of(e)) if p != at}
        terms = _opened(inner)
        for k, part in terms if len(terms) > 1 else ():
            level = _level(part)
            own = [] if level is None else terms_of(spread([(level, labels)], e))
            if own and all(left.get(a, 0) == -coef * k * m for m, a in own):
                others = [(k, a) for a, k in left.items() if a not in {a for _, a in own}]
                rest = add([(k, a) for k, a in terms if a is not part])
                return add([*others, (coef, spread([(logsumexp(rest, (len(rest.shape) - 1,)), labels)], e))])
    return None


def _differ(a: Size, b: Size) -> bool:
    return isinstance(a, int) and isinstance(b, int) and a != b


def _less_softplus(e: Expr) -> Expr | None:
    """``softplus(x) - x``, also within a longer sum, is ``softplus(-x)``."""
    assert isinstance(e, Sum)
    for at, coef, inner, labels in _terms_of_row(e, "softplus"):
        left = without(e, at, spread([(inner, labels if inner.shape else ())], e))
        if left is not None:
            return add([*left, (coef, spread([(act.softplus(negative(inner)), labels)], e))])
    return None


def _names(*names: str) -> frozenset[str]:
    return frozenset(names)


RULES = [
    Rewriting("log of an exponential", _log, ("log",), assumes="a determinant is positive"),
    Rewriting("log of a determinant's size", _log_of_size, ("log",), _names("abs")),
    Rewriting("log of a power", _log_of_power, ("log",), _names("power")),
    Rewriting("log1p of an exponential", _log1p, ("log1p",), _names("exp")),
    Rewriting("log(1 + x) to log1p", _log_to_log1p, ("log",), _names("Sum")),
    Rewriting("exp of log-softmax", _exp_of_log_softmax, ("exp",), _names("log_softmax")),
    Rewriting("exp of -softplus", _exp_of_softplus, ("exp",), _names("softplus")),
    Rewriting("exp of log", _exp_of_log, ("exp",), _names("log"), assumes="x > 0", complex=True),
    Rewriting("1/(1 + exp) to sigmoid", _reciprocal_of_one_plus_exp, ("power",), _names("exp", "Sum")),
    Rewriting("(1 + exp(x)) sigmoid(-x)", _one_plus_exp_times_sigmoid, ("Product",), _names("sigmoid", "Sum")),
    Rewriting("power of exp", _power_of_exp, ("power",), _names("exp")),
    Rewriting("exp over its sum to softmax", _softmax_quotient, ("Product",), _names("exp", "power")),
    Rewriting("sum of softmax", _sum_of_softmax, ("Product",), _names("softmax"), assumes="the axis is not empty"),
    Rewriting("exp over two exps to sigmoid", _sigmoid_quotient, ("Product",), _names("exp", "power")),
    Rewriting("x - logsumexp(x) to log-softmax", _less_logsumexp, ("Sum",), _names("logsumexp")),
    Rewriting("logsumexp(x - c) + c", _shift_of_logsumexp, ("Sum",), _names("logsumexp"), assumes="c is finite"),
    Rewriting("softmax(x - c)", _shift_of_softmax, ("softmax", "log_softmax"), _names("Sum"), assumes="c is finite"),
    Rewriting("softplus(x) - x", _less_softplus, ("Sum",), _names("softplus")),
]
