"""Functions over axes work on the last axes of their operands; here named positions are brought there and back."""

from __future__ import annotations

from collections.abc import Iterable

from ricci.errors import AxisError
from ricci.expr import Expr, Op, Product, Size, Structure, Sum, function, merge, product, scale
from ricci.expr.structures import merged_axis

Axes = int | Iterable[int] | None


def positions(x: Expr, axes: Axes) -> tuple[int, ...]:
    """``axes`` as positions from the front; ``None`` stands for all of them."""
    if axes is None:
        return tuple(range(x.order))
    chosen = (axes,) if isinstance(axes, int) else tuple(axes)
    for axis in chosen:
        if not -x.order <= axis < x.order:
            raise AxisError(f"A tensor of order {x.order} has no axis {axis}.")
    found = tuple([axis % x.order for axis in chosen])
    if len(set(found)) != len(found):
        raise AxisError(f"The axes {chosen} name one axis of a tensor of order {x.order} twice.")
    return found


def one_axis(name: str, x: Expr, axes: Axes) -> tuple[int]:
    chosen = positions(x, axes)
    if len(chosen) != 1:
        raise AxisError(f"{name} works along one axis, not {len(chosen)}; name one of the {x.order} axes.")
    return chosen


def others(x: Expr, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([axis for axis in range(x.order) if axis not in axes])


def count(x: Expr, axes: tuple[int, ...]) -> Size:
    """The number of entries along ``axes``."""
    total: Size = 1
    for axis in axes:
        total = total * x.shape[axis]
    return total


def transpose(x: Expr, order: Iterable[int]) -> Expr:
    """Axis ``order[k]`` of ``x`` as axis ``k``; axes left out are summed."""
    return product([(x, range(x.order))], tuple(order))


def batch(x: Expr, own: int) -> tuple[int, ...]:
    """Labels for the leading axes of ``x``, all but the last ``own``."""
    return tuple(range(x.order - own))


def last(x: Expr, axes: tuple[int, ...]) -> Expr:
    """``x`` with ``axes`` merged into one, in row-major order, which comes last."""
    rest = others(x, axes)
    if len(axes) == 1:
        return transpose(x, (*rest, *axes))
    return product([(x, range(x.order)), (merge(tuple([x.shape[a] for a in axes])), ("all", *axes))], (*rest, "all"))


def reduced(op: Op, x: Expr, axes: Axes = None) -> Expr:
    """``op`` over ``axes``, which it removes; the others keep their order."""
    return function(op, (last(x, positions(x, axes)),))


def kept(op: Op, x: Expr, axes: Axes = None) -> Expr:
    """``op`` along ``axes``, which it keeps."""
    along = positions(x, axes)
    rest = others(x, along)
    result = function(op, (last(x, along),))
    if len(along) == 1:
        return product([(result, (*rest, *along))], range(x.order))
    split = merge(tuple([x.shape[a] for a in along]))
    return product([(result, (*rest, "all")), (split, ("all", *along))], range(x.order))


def along(op: Op, first: Expr, second: Expr, columns: int = 0) -> Expr:
    """A function of two operands on the same axes, which come last, and of the second's ``columns`` behind them."""
    return function(op, (first, second), (columns,))


def unmerged(e: Expr) -> tuple[Expr, int] | None:
    """An expression whose last axis is several merged into one: the expression with these apart, and their number."""
    if isinstance(e, Sum) and len(e.args) == 1:
        found = unmerged(e.args[0])
        return None if found is None else (scale(e.coefs[0], found[0]), found[1])
    if not isinstance(e, Product):
        return None
    factors = open_factors(e)
    for at, (a, labels) in enumerate(factors):
        merged = merged_axis(a) if isinstance(a, Structure) and a.relation[0] == "==" else None
        if merged is None or labels[merged] != len(e.shape) - 1:
            continue
        order = sorted((p for p in range(len(labels)) if p != merged), key=lambda p: _stride(a, p), reverse=True)
        apart = [labels[p] for p in order]
        rest = factors[:at] + factors[at + 1 :]
        if all(isinstance(x, tuple) for x in apart) and not any(len(e.shape) - 1 in ls for _, ls in rest):
            lead = range(len(e.shape) - 1)
            known = {**dict(zip(labels, a.shape, strict=True)), **dict(enumerate(e.shape))}
            out = (*lead, *apart)
            return product(rest, out, {x: known[x] for x in out}), len(apart)
    return None


def _stride(e: Expr, axis: int) -> tuple[int, str]:
    assert isinstance(e, Structure)
    coef = e.relation[1][axis]
    terms = ((),) if isinstance(coef, int) else tuple(monomial for monomial, _ in coef.terms)
    return max(len(monomial) for monomial in terms), str(abs(coef)).rjust(20, "0") if isinstance(coef, int) else ""


def open_factors(e: Product) -> list[tuple[Expr, tuple]]:
    """Factors, contractions opened, with axes as numbers and summed labels as tuples."""
    name = {label: axis for axis, label in enumerate(e.out)}
    result: list[tuple[Expr, tuple]] = []
    for at, (a, labels) in enumerate(e.factors()):
        outer = tuple([name.get(x, ("sum", x)) for x in labels])
        if isinstance(a, Product) and a.sums:
            inner = dict(zip(a.out, outer, strict=True))
            result += [(b, tuple([inner.get(x, ("sum", at, x)) for x in ls])) for b, ls in a.factors()]
        else:
            result.append((a, outer))
    return result
