"""A step of ``runge_kutta.py`` as expressions, which may become one kernel: where it leads, its error, the slopes."""

from __future__ import annotations

from ricci.expr import HALF, Expr, Variable, add, constant, product, variable
from ricci.expr.moving import entry, everywhere, stacked
from ricci.functions import elementwise as el
from ricci.transforms.runge_kutta import ERROR, SLOPES, TIMES, Accuracy
from ricci.transforms.transformed import replace_all


def whole_step(rate: Expr, y: Variable, t: Variable, accuracy: Accuracy) -> tuple[list[Expr], list[Variable]]:
    """Where a step leads, its error, of which 1 is allowed, and the slopes; of its length and the first slope too."""
    h, first = variable(f"{t.name}.step", ()), variable(f"{y.name}.slope", y.shape)
    slopes: list[Expr] = [first]
    new: Expr = y
    for own, time in zip(SLOPES[1:], TIMES[1:], strict=True):
        new = add([(1, y), (1, _along(h, own, slopes))])
        values: dict[Expr, Expr] = {y: new, t: add([(1, t), (float(time), h)])}
        slopes += replace_all([rate], values)
    bound = el.maximum(el.abs_(y), el.abs_(new))
    scale = add([(accuracy.rtol, bound), (1, everywhere(accuracy.atol, y.shape))])
    error = _along(h, ERROR, slopes) / scale
    mean = product([(error, "i"), (error, "i"), (constant(1 / y.shape[0]), "")], "")  # type: ignore[operator]
    return [new, mean**HALF, stacked(slopes)], [h, first]


def _along(h: Expr, weights: object, slopes: list[Expr]) -> Expr:
    """The step along a mean of slopes."""
    terms = [(float(w), k) for w, k in zip(weights, slopes, strict=True) if w]  # type: ignore[arg-type, call-overload]
    return product([(add(terms), "i"), (h, "")], "i")


def along_a_polynomial(states: int, t: Variable) -> tuple[Expr, list[Variable]]:
    """The solution within a step that has been taken: of its start, its length, the solution there, and its powers."""
    start, length = variable(f"{t.name}.from", ()), variable(f"{t.name}.over", ())
    y, powers = variable(f"{t.name}.at", (states,)), variable(f"{t.name}.powers", (4, states))
    x = add([(1, t), (-1, start)]) / length
    rows = [entry(powers, 0, k) for k in range(4)]
    found: Expr = rows[3]
    for row in (*rows[2::-1], y):
        found = add([(1, row), (1, product([(found, "i"), (x, "")], "i"))])
    return found, [start, length, y, powers]
