"""The rows of the tables, and a forward mode of thirty lines to check them, independent of ricci's own calculus."""

from collections.abc import Callable

import numpy as np

from ricci.expr import (
    OPS,
    Adjoint,
    Change,
    Elementwise,
    Expr,
    Function,
    Op,
    Product,
    Sum,
    Variable,
    add,
    function,
    product,
    transform,
    variable,
    zero,
)
from ricci.expr.build.algebra import expand
from ricci.expr.structures import is_zero
from ricci.functions.table import FUNCTIONS
from ricci.testing.interpreter import interpret

assert FUNCTIONS
ELEMENTWISE: dict[str, Op] = {
    name: op for name, op in OPS.items() if op.kind == "elementwise" and op.complex != "always"
}
OVER_AXES: dict[str, Op] = {name: op for name, op in OPS.items() if op.kind != "elementwise"}

PLACES = {"argmax", "argmin", "argsort"}  # they refuse; inside the index of a gather nothing is asked of them


def directional(root: Expr, x: Expr, h: Expr) -> Expr:
    """The derivative of ``root`` by ``x`` in the direction ``h``."""

    def step(node: Expr, tangents: tuple) -> Expr:
        if node is x:
            return h
        if isinstance(node, Sum):
            return add(list(zip(node.coefs, tangents, strict=True)))
        parts = [(1, _part(node, k, t)) for k, t in enumerate(tangents)]
        return add(parts) if isinstance(node, (Product, Elementwise, Function)) else zero(node.shape)

    return transform(root, step)


def _part(node: Expr, k: int, tangent: Expr) -> Expr:
    """What the tangent of the operand ``k`` adds to that of the node."""
    if isinstance(node, Product):
        factors = [(tangent if p == k else a, labels) for p, (a, labels) in enumerate(node.factors())]
        return product(factors, node.out, dict(zip(node.out, node.shape, strict=True)))
    partial = node.op.partials[k] if isinstance(node, (Elementwise, Function)) else None
    if partial is None or is_zero(tangent) or (isinstance(node, Function) and node.op.name in PLACES):
        return zero(node.shape)
    assert not isinstance(partial, str), partial
    if isinstance(partial, Adjoint):
        return function(node.op, (*node.args[:-1], tangent), node.params)  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(partial, Change):
        return partial(node.args, node, node.params, tangent)  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(node, Elementwise):
        return expand(partial(*node.args, node), node.shape) * expand(tangent, node.shape)
    derivative = partial(node.args, node, node.params)  # pyright: ignore[reportAttributeAccessIssue]
    own = node.op.axes_of(node.params)[k]  # pyright: ignore[reportAttributeAccessIssue]
    assert derivative.order == node.order + own
    lead = tuple(range(node.args[k].order - own))
    result = tuple(("y", axis) for axis in range(node.order - len(lead)))
    inner = tuple(("x", axis) for axis in range(own))
    return product([(derivative, (*lead, *result, *inner)), (tangent, (*lead, *inner))], (*lead, *result))


def value(e: Expr, **inputs: np.ndarray) -> np.ndarray:
    return interpret([e], inputs, {})[0]


def differences(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, h: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The derivative of ``f`` at ``x`` in the direction ``h``, by central differences of the fourth order."""
    near, far = f(x + step * h) - f(x - step * h), f(x + 2 * step * h) - f(x - 2 * step * h)
    return (8 * near - far) / (12 * step)


def assert_derivatives(
    y: Expr, x: Variable, inputs: dict[str, np.ndarray], orders: int = 2, tolerance: float = 1e-6, step: float = 1e-4
) -> None:
    """Each derivative of ``y`` in the direction of the input ``h`` is that of the one before, by differences."""
    h = inputs["h"]
    direction = variable("h", x.shape)
    for order in range(1, orders + 1):
        slope = directional(y, x, direction)

        def f(at: np.ndarray, y: Expr = y) -> np.ndarray:
            return np.asarray(value(y, **{**inputs, x.name: at}), dtype=float)

        expected = differences(f, inputs[x.name], h, step)
        actual = value(slope, **inputs)
        scale = 1 + np.max(np.abs(expected), initial=0)
        assert np.all(np.abs(actual - expected) <= tolerance * scale), (order, actual, expected)
        y = slope
