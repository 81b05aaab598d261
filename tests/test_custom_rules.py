"""Functions with rules of their own: one rule serves all modes, orders and kinds of arrays."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc

X = np.array([0.3, -1.2, 2.0])


def plain_sigmoid(x):
    return 1 / (1 + np.exp(-x))


def with_rule(kind):
    @rc.custom
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    if kind == "derivative":

        @sigmoid.derivative
        def _(x):
            y = sigmoid(x)
            return y * (1 - y)

    elif kind == "text":
        sigmoid.derivative("y * (1 - y)")
    elif kind == "jacobian":

        @sigmoid.derivative
        def _(x):
            y = sigmoid(x)
            return np.diag(y * (1 - y)) if x.ndim == 1 else y * (1 - y)

    elif kind == "jvp":

        @sigmoid.jvp
        def _(primals, tangents):
            (x,), (v,) = primals, tangents
            y = sigmoid(x)
            return y, y * (1 - y) * v

    elif kind == "jvp, the tangent alone":

        @sigmoid.jvp
        def _(primals, tangents):
            y = sigmoid(*primals)
            return y * (1 - y) * tangents[0]

    else:

        @sigmoid.vjp
        def _(primals, gradient):
            y = sigmoid(*primals)
            return gradient * y * (1 - y)

    return sigmoid


KINDS = ["derivative", "text", "jacobian", "jvp", "jvp, the tangent alone", "vjp"]


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_one_rule_serves_all_modes_and_orders(kind):
    f = with_rule(kind)
    y = plain_sigmoid(X)
    close(f(X), y)
    for mode in ("forward", "reverse", "cross-country", "auto"):
        close(rc.jacobian(f, mode=mode)(X), np.diag(y * (1 - y)))
    close(rc.hessian(lambda x: (f(x) ** 2).sum())(X), rc.hessian(lambda x: (plain_sigmoid(x) ** 2).sum())(X))
    third = rc.grad(rc.grad(rc.grad(f)))(0.4)
    close(third, rc.grad(rc.grad(rc.grad(plain_sigmoid)))(0.4))
    close(rc.jvp(f, (X,), (X,))[1], y * (1 - y) * X)
    close(rc.vjp(f, X)[1](X)[0], y * (1 - y) * X)
    close(rc.vmap(rc.grad(lambda x: f(x) * x))(X), rc.vmap(rc.grad(lambda x: plain_sigmoid(x) * x))(X))
    rc.check_grads(lambda x: f(np.sin(x)), (X,), order=2)


@pytest.mark.parametrize("kind", KINDS)
def test_on_eager_tensors(kind):
    f = with_rule(kind)
    t = rc.Tensor(X)
    f(t).sum().backward()
    y = plain_sigmoid(X)
    close(t.grad.numpy(), y * (1 - y))


def test_the_rule_is_what_is_used():
    @rc.custom
    def straight_through(x):
        return np.round(x)

    straight_through.derivative(np.ones_like)
    close(rc.grad(lambda x: (straight_through(x) * X).sum())(X), X)
    close(rc.compile(straight_through)(X), np.round(X))


def test_several_operands_and_matrices():
    @rc.custom
    def bilinear(a, b, scale):
        return scale * (a @ b)

    @bilinear.vjp
    def _(primals, g):
        a, b, scale = primals
        return scale * np.outer(g, b), scale * (a.T @ g), (g * (a @ b)).sum()

    A, b = np.arange(6.0).reshape(2, 3), np.array([1.0, -1.0, 2.0])
    ours = rc.jacobian(bilinear, argnums=(0, 1, 2))(A, b, 3.0)
    theirs = rc.jacobian(lambda a, b, s: s * (a @ b), argnums=(0, 1, 2))(A, b, 3.0)
    for x, y in zip(ours, theirs, strict=True):
        close(x, y)
    stacked = rc.vmap(lambda a: bilinear(a, b, 3.0))(np.stack([A, 2 * A]))
    close(stacked, 3 * np.stack([A @ b, 2 * A @ b]))
    close(
        rc.grad(lambda a: rc.vmap(lambda m: bilinear(m, b, 3.0))(a).sum())(np.stack([A, A]))[0], 3 * np.tile(b, (2, 1))
    )


def test_static_arguments():
    @rc.custom
    def power(x, n):
        return x**n

    @power.jvp
    def _(primals, tangents):
        (x,), (v,) = primals, tangents
        return 2 * x * v

    close(rc.grad(lambda x: power(x, 2).sum())(X), 2 * X)


def test_captured_arrays():
    scale = np.array([1.0, 2.0, 3.0])

    @rc.custom
    def scaled(x):
        return scale * x

    scaled.derivative(lambda x: scale)
    g = rc.grad(lambda x: scaled(x).sum())
    close(g(X), scale)
    scale[:] = 5.0
    close(g(X), scale)


# What is refused


def test_rules_that_are_not_linear():
    @rc.custom
    def f(x):
        return np.sin(x)

    f.jvp(lambda primals, tangents: tangents[0] ** 2)
    with pytest.raises(rc.RuleError, match="not linear in the tangents"):
        rc.grad(lambda x: f(x).sum())(X)

    @rc.custom
    def g(x):
        return np.sin(x)

    g.vjp(lambda primals, gradient: gradient + 1.0)
    with pytest.raises(rc.RuleError, match="not linear in the gradient"):
        rc.jacfwd(g)(X)


def test_shapes_that_do_not_fit():
    def function():
        return rc.custom(np.sin)

    f = function()
    f.derivative(lambda x: np.ones(2))
    with pytest.raises(rc.ShapeError, match="entry by entry"):
        rc.grad(lambda x: f(x).sum())(X)
    f = function()
    f.jvp(lambda primals, tangents: tangents[0].sum())
    with pytest.raises(rc.ShapeError, match="jvp"):
        rc.grad(lambda x: f(x).sum())(X)
    f = function()
    f.vjp(lambda primals, gradient: (gradient, gradient))
    with pytest.raises(rc.InputError, match="one each"):
        rc.grad(lambda x: f(x).sum())(X)


def test_rules_that_are_missing_or_too_many():
    @rc.custom
    def f(x):
        return np.sin(x)

    close(f(X), np.sin(X))
    with pytest.raises(rc.RuleError, match="no rule yet"):
        rc.grad(lambda x: f(x).sum())(X)
    f.derivative(np.cos)
    with pytest.raises(rc.RuleError, match="already"):
        f.jvp(lambda primals, tangents: tangents[0])
    with pytest.raises(rc.InputError, match="function"):
        f.derivative(3)
    with pytest.raises(rc.InputError, match="functions"):
        rc.custom(3)


def test_traced_arrays_that_are_not_arguments():
    def outer(w):
        @rc.custom
        def f(x):
            return x * w

        f.derivative(np.ones_like)
        return f(X).sum()

    with pytest.raises(rc.TraceError, match="pass it as an argument"):
        rc.grad(outer)(2.0)


def test_a_text_in_other_names():
    f = rc.custom(np.sin)
    f.derivative("cos(z)")
    with pytest.raises(rc.InputError, match="'z'"):
        rc.grad(lambda x: f(x).sum())(X)


def test_more_than_one_result():
    f = rc.custom(lambda x: (x, x))
    f.derivative(lambda x: x)
    with pytest.raises(rc.InputError, match="one array"):
        rc.grad(lambda x: f(x)[0].sum())(X)
