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
        f.derivative(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(rc.InputError, match="takes a function, not 3"):
        rc.custom(3)  # pyright: ignore[reportArgumentType]


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


# Functions that cannot be traced


def bessel():
    special = pytest.importorskip("scipy.special", reason="SciPy is not installed")
    j0, j1 = rc.custom(special.j0), rc.custom(special.j1)
    j0.derivative(lambda x: -j1(x))
    j1.derivative(lambda x: j0(x) - j1(x) / x)
    return special, j0


def test_a_function_that_cannot_be_traced_is_run():
    special, j0 = bessel()
    x = np.abs(X) + 0.2
    close(rc.grad(lambda x: j0(x).sum())(x), -special.j1(x))
    close(rc.hessian(lambda x: j0(x).sum())(x), -np.diag(special.jvp(1, x)))
    for mode in ("forward", "reverse"):
        close(rc.jacobian(lambda x: j0(2 * x), mode=mode)(x), np.diag(-2 * special.j1(2 * x)))
    close(rc.vmap(rc.grad(lambda t: j0(t) * t))(x), special.j0(x) - x * special.j1(x))
    assert rc.grad(lambda x: j0(x).sum())(x.astype(np.float32)).dtype == np.float32
    rc.check_grads(lambda x: j0(np.sin(x)), (x,), order=2)
    t = rc.Tensor(x)
    j0(t).sum().backward()
    close(t.grad.numpy(), -special.j1(x))
    assert "outside_" in rc.explain(rc.grad(lambda x: j0(x).sum()))(x).source


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_it_runs_in_programs_of_all_backends(backend):
    library = pytest.importorskip(backend, reason=f"{backend} is not installed")
    special, j0 = bessel()
    if backend == "jax":
        library.config.update("jax_enable_x64", True)
    x = np.abs(X) + 0.2
    close(np.asarray(rc.grad(lambda x: j0(x).sum(), backend=backend)(x)), -special.j1(x))


def test_a_function_that_branches_on_values():
    @rc.custom
    def size(x, shift):
        return x + shift if x.sum() > 0 else -x + shift

    @size.vjp
    def _(primals, gradient):
        return np.where(primals[0].sum() > 0, gradient, -gradient), gradient.sum()

    for x in (X, -X):
        close(rc.grad(lambda x: (size(x, 1.0) * x).sum())(x), np.sign(x.sum()) * 2 * x + 1)
        close(rc.compile(lambda x: size(x, 2.0))(x), x * np.sign(x.sum()) + 2)


def test_what_cannot_be_run_either_says_so():
    f = rc.custom(lambda x: np.linalg.cholesky(np.i0(x)))
    f.derivative(lambda x: x)
    with pytest.raises(rc.TraceError, match=r"(?s)np\.i0 cannot be traced.*on an example.*fails"):
        rc.grad(lambda x: f(x).sum())(X)


def test_a_rule_that_goes_in_circles():
    f = rc.custom(lambda x: np.fft.fft(x).real)
    f.jvp(lambda primals, tangents: f(tangents[0]))
    with pytest.raises(rc.RuleError, match="before itself"):
        rc.grad(lambda x: f(x).sum())(X)
    g = rc.custom(lambda x: np.fft.fft(x).real)
    g.derivative(lambda x: np.fft.fft(np.eye(3)).real)
    close(rc.jacobian(lambda x: g(x) ** 2)(X), np.diag(2 * np.fft.fft(X).real) @ np.fft.fft(np.eye(3)).real)


def test_arrays_of_each_library_and_mixtures():
    scaled = rc.custom(lambda a, b: np.sin(a) * b)
    scaled.derivative(lambda a, b: (np.cos(a) * b, np.sin(a)))
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    w = np.array([1.0, 2.0, 3.0])
    for other in (w, torch.tensor(w), jax.numpy.asarray(w), 2.0, np.float64(2.0)):
        slope = np.cos(X) * (np.asarray(other) if np.ndim(other) else 2.0)
        close(rc.grad(lambda x, other=other: scaled(x, other).sum())(X), slope)
        for call in (lambda t, o: scaled(t, o), lambda t, o: scaled(a=t, b=o)):  # noqa: PLW0108
            t = rc.Tensor(X)
            call(t, other).sum().backward()
            close(t.grad.numpy(), slope)
    assert isinstance(scaled(jax.numpy.asarray(X), 2.0), jax.Array)
    assert isinstance(rc.grad(lambda x: scaled(x, 2.0).sum())(jax.numpy.asarray(X)), jax.Array)
    assert isinstance(rc.grad(lambda x: scaled(x, 2.0).sum())(torch.tensor(X)), torch.Tensor)


def test_names_of_axes_go_through():
    f = with_rule("derivative")
    assert f(rc.Tensor(np.ones((2, 3)), axes="b t")).axes == ("b", "t")


def test_static_arguments_reach_the_rule_by_name():
    power = rc.custom(lambda x, n=1: x**n)
    power.derivative(lambda x, n=1: n * x ** (n - 1))
    close(rc.grad(lambda x: power(x, 3).sum())(X), 3 * X**2)
    close(rc.grad(lambda x: power(x, n=2).sum())(X), 2 * X)
    power = rc.custom(lambda x, n: x**n)
    power.vjp(lambda primals, g, n: g * n * primals[0] ** (n - 1))
    close(rc.grad(lambda x: power(x, 3).sum())(X), 3 * X**2)
