"""Derivatives of functions that are written unstably are finite and right where these overflow.

The exact limits: at large arguments the derivative of softplus is a step, its second derivative vanishes, and softmax
picks the largest entry.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ricci.calculus.modes import MODES, derivative
from ricci.expr import Expr, broadcast, product, variable
from ricci.functions.activations import sigmoid
from ricci.functions.elementwise import cosh, exp, log, log1p
from ricci.functions.reductions import log_softmax, sum_
from ricci.simplify import simplify
from ricci.testing.interpreter import interpret

x = variable("x", 1)
t = variable("t", 1)


def entries(e: Expr) -> Expr:
    return broadcast(e, (), x.shape)


step = lambda v: (v > 0).astype(float)  # noqa: E731
pick = lambda v: (v == v.max()) / np.sum(v == v.max())  # noqa: E731
nothing = lambda v: np.zeros(v.shape)  # noqa: E731
spread_of_pick = lambda v: pick(v) * (1 - pick(v))  # noqa: E731
less_target = lambda v: pick(v) - T  # noqa: E731

# the function of x, its gradient and the diagonal of its Hessian at inputs of ±1000 and 0
FUNCTIONS: dict[str, tuple[Expr, Callable, Callable]] = {
    "log(1 + exp(x))": (sum_(log(1 + exp(x))), step, nothing),
    "log1p(exp(x))": (sum_(log1p(exp(x))), step, nothing),
    "log(sigmoid(x))": (sum_(log(sigmoid(x))), lambda v: step(-v), nothing),
    "log(1/(1 + exp(-x)))": (sum_(log(1 / (1 + exp(-x)))), lambda v: step(-v), nothing),
    "log(1 - sigmoid(x))": (sum_(log(1 - sigmoid(x))), lambda v: -step(v), nothing),
    "1/(1 + exp(-x))": (sum_(1 / (1 + exp(-x))), nothing, nothing),
    "exp(x)/(1 + exp(x))": (sum_(exp(x) / (1 + exp(x))), nothing, nothing),
    "log(sum(exp(x)))": (log(sum_(exp(x))), pick, spread_of_pick),
    "cross-entropy": (-sum_(t * log(exp(x) / entries(sum_(exp(x))))), less_target, spread_of_pick),
    "cross-entropy by parts": (-sum_(t * (x - entries(log(sum_(exp(x)))))), less_target, spread_of_pick),
    "log(cosh(x))": (sum_(log(cosh(x))), np.sign, nothing),
    "log((exp(x) + exp(-x))/2)": (sum_(log((exp(x) + exp(-x)) / 2)), np.sign, nothing),
}
T = np.array([0.2, 0.5, 0.3])
INPUTS = [np.array(v) for v in ([1e3, -1e3, -1e3], [-1e3, 1e3, 900.0], [1e3, 1e3, -1e3], [-1e3, -1e3, -1e3])]


def value(e: Expr, v: np.ndarray) -> np.ndarray:
    return interpret([e], {"x": v, "t": T}, {})[0]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_first_and_second_derivatives_at_1000(name: str, mode: str):
    f, gradient, curvature = FUNCTIONS[name]
    g = simplify(derivative(simplify(f), x, mode))
    h = simplify(derivative(g, x, mode))
    for v in INPUTS:
        np.testing.assert_allclose(value(g, v), gradient(v), atol=1e-12)
        np.testing.assert_allclose(np.diag(value(h, v)), curvature(v), atol=1e-12)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "cross-entropy"])
def test_derivatives_of_what_was_not_simplified_first(name: str):
    f, gradient, curvature = FUNCTIONS[name]
    g = simplify(derivative(f, x))
    h = simplify(derivative(g, x))
    for v in INPUTS:
        np.testing.assert_allclose(value(g, v), gradient(v), atol=1e-12)
        np.testing.assert_allclose(np.diag(value(h, v)), curvature(v), atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_agree_with_differences_at_moderate_inputs(name: str):
    f, _, _ = FUNCTIONS[name]
    g = simplify(derivative(simplify(f), x))
    h = simplify(derivative(g, x))
    v, size = np.array([0.3, -1.2, 2.0]), 1e-5
    for e, d in ((f, g), (g, h)):
        differences = [(value(e, v + step) - value(e, v - step)) / (2 * size) for step in size * np.eye(3)]
        np.testing.assert_allclose(value(d, v), differences, rtol=1e-6, atol=1e-9)


def test_the_hessian_of_logistic_regression_at_weights_of_1000():
    X, y, w = variable("X", 2), variable("y", 1), variable("w", 1)
    margin = product([(X, "mn"), (w, "n")], "m") * y
    loss = sum_(log(1 + exp(-margin)))
    H = simplify(derivative(simplify(derivative(simplify(loss), w)), w))
    weights = sigmoid(margin) * sigmoid(-margin)
    assert H is simplify(product([(X, "mn"), (X, "mp"), (weights * y**2, "m")], "np"))
    rng = np.random.default_rng(0)
    given = {"X": rng.normal(size=(6, 3)), "y": np.array([1.0, -1, 1, -1, 1, 1]), "w": 1e3 * rng.normal(size=3)}
    given["X"][0] = 0
    z = given["y"] * (given["X"] @ given["w"])
    s = np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z))) ** 2
    (found,) = interpret([H], given, {})
    np.testing.assert_allclose(found, given["X"].T @ (s[:, None] * given["X"]), rtol=1e-12, atol=1e-300)


def test_the_gradient_of_softmax_cross_entropy_is_the_difference():
    X, Y = variable("X", 2), variable("Y", 2)
    p = exp(X) / broadcast(sum_(exp(X), 1), (0,), X.shape)
    loss = -sum_(Y * log(p))
    assert simplify(loss) is -sum_(Y * log_softmax(X, 1))
    g = simplify(derivative(simplify(loss), X))
    rng = np.random.default_rng(0)
    logits = np.array([[1e3, -1e3, 0.0], [1.0, 2.0, 3.0]])
    target = rng.dirichlet(np.ones(3), size=2)
    (found,) = interpret([g], {"X": logits, "Y": target}, {})
    shifted = np.exp(logits - logits.max(1, keepdims=True))
    np.testing.assert_allclose(found, shifted / shifted.sum(1, keepdims=True) - target, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_left_of_one_less_a_sigmoid_keeps_its_digits(mode: str):
    """``sigmoid(x) - 1`` beside further terms: where the sigmoid is rounded to 1, nothing would be left of it."""
    y = sigmoid(x) - t
    found = value(simplify(derivative(sum_(log(1 + exp(y * y)) - y + t * y), x, mode)), np.array([40.0, 50.0, -50.0]))
    s, rest = 1 / (1 + np.exp([-40.0, -50.0, 50.0])), 1 / (1 + np.exp([40.0, 50.0, -50.0]))
    np.testing.assert_allclose(found, s * rest * (2 * (s - T) / (1 + np.exp(-((s - T) ** 2))) - 1 + T), rtol=1e-12)
