"""Functions with rules of their own on formulas: nodes that print, differentiate by the rule, and compile."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc

rng = np.random.default_rng(0)
A, x, M = rng.normal(size=(4, 3)), rng.normal(size=3), rng.normal(size=(3, 3)) + 3 * np.eye(3)
z = rc.parse("z[i] = A[i,j] x[j]")


def close(a, b, rtol=1e-9):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-12)


def plain_sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sigmoid_by(kind):
    f = rc.custom(plain_sigmoid)
    if kind == "derivative":
        f.derivative(lambda x: f(x) * (1 - f(x)))
    elif kind == "text":
        f.derivative("y * (1 - y)")
    elif kind == "jvp":
        f.jvp(lambda primals, tangents: f(primals[0]) * (1 - f(primals[0])) * tangents[0])
    else:
        f.vjp(lambda primals, g: g * f(primals[0]) * (1 - f(primals[0])))
    return f


def softmax():
    @rc.custom
    def soft(x):
        e = np.exp(x - np.max(x))
        return e / e.sum()

    @soft.vjp
    def _(primals, g):
        y = soft(primals[0])
        return y * (g - (g * y).sum())

    return soft


def solver():
    @rc.custom
    def solved(A, b):
        return np.linalg.solve(A, b)

    @solved.vjp
    def _(primals, g):
        A, b = primals
        u = np.linalg.solve(A.T, g)
        return -np.outer(u, np.linalg.solve(A, b)), u

    return solved


def outside():
    special = pytest.importorskip("scipy.special")
    j0, j1 = rc.custom(special.j0), rc.custom(special.j1)
    j0.derivative(lambda x: -j1(x))
    j1.derivative(lambda x: j0(x) - j1(x) / x)
    return j0, special


def roads(f, **inputs):
    """The value of a formula on all roads."""
    yield f(**inputs)
    yield f.compile()(**inputs)
    yield f.simplify()(**inputs)
    yield rc.compile(lambda p: f(**p))(inputs)
    yield f(**{name: rc.Tensor(value) for name, value in inputs.items()}).numpy()


@pytest.mark.parametrize("kind", ["derivative", "text", "jvp", "vjp"])
def test_entry_by_entry(kind):
    f = sigmoid_by(kind)(z)
    plain = lambda x: plain_sigmoid(A @ x)  # noqa: E731
    for formula, wanted in (
        (f, plain(x)),
        (f.diff("x"), rc.jacobian(plain)(x)),
        (f.diff("x", "x"), rc.hessian(plain)(x)),
        ((f * f).sum().diff("x"), rc.grad(lambda x: (plain(x) ** 2).sum())(x)),
    ):
        for value in roads(formula, A=A, x=x):
            close(value, wanted)
    close(rc.hessian(lambda x: f(A=A, x=x).sum())(x), rc.hessian(lambda x: plain(x).sum())(x))


def test_it_prints():
    soft, sig = softmax(), rc.custom(lambda x: 1 / (1 + np.exp(-x)))
    sig.__name__ = "squashed"
    sig.derivative(lambda x: sig(x) * (1 - sig(x)))
    name = str(sig(z)).partition("(")[0]
    assert name.startswith("squashed")
    assert str(sig(z)) == f"{name}(A[i,j] x[j])"
    slope = str(sig(z).diff("x[k]"))
    assert slope.startswith("df_dx[i,k] = A[i,k] ") and f"(1 - {name}(A[i,j" in slope
    assert f"{name}.(A x)" in sig(z).diff("x").matrix()
    assert name in sig(z).latex()
    assert f"derivative of {name}" in str(sig(z).diff("x").derivation())
    assert "soft" in str(soft(z)) and "soft" in str(soft(z).diff("x")) and "soft" in soft(z).latex()
    assert "soft" in soft(z).matrix()


def test_names_of_functions_are_not_those_of_the_table():
    f = rc.custom(np.tanh)
    f.derivative(np.ones_like)
    assert str(f(z)) != str(rc.tanh(z))
    close(f(z).diff("x")(A=A, x=x), A)
    close(rc.tanh(z).diff("x")(A=A, x=x), rc.jacobian(lambda x: np.tanh(A @ x))(x))


def test_the_rule_is_what_is_used():
    straight = rc.custom(np.round)
    straight.derivative(np.ones_like)
    f = (straight(z) ** 2).sum()
    for value in roads(f.diff("x"), A=A, x=x):
        close(value, 2 * A.T @ np.round(A @ x))
    close(rc.grad(lambda x: f(A=A, x=x))(x), 2 * A.T @ np.round(A @ x))


def test_along_an_axis():
    f = softmax()(z)
    plain = lambda x: np.exp(A @ x) / np.exp(A @ x).sum()  # noqa: E731
    assert f.indices == ("i",)
    for formula, wanted in (
        (f, plain(x)),
        (f.diff("x"), rc.jacobian(plain)(x)),
        (f.diff("x", "x"), rc.hessian(plain)(x)),
        (f.diff("A"), rc.jacobian(lambda A: np.exp(A @ x) / np.exp(A @ x).sum())(A)),
    ):
        for value in roads(formula, A=A, x=x):
            close(value, wanted)


def test_matrices_and_several_operands():
    B, b = rc.tensors("B[i,j] b[i]")
    y = solver()(B, b)
    for formula, wanted in (
        (y, np.linalg.solve(M, x)),
        (y.diff("B"), rc.jacobian(np.linalg.solve)(M, x)),
        (y.diff("b"), np.linalg.inv(M)),
        (y.diff("b", "B"), rc.jacobian(lambda M: np.linalg.inv(M))(M)),  # noqa: PLW0108
    ):
        for value in roads(formula, B=M, b=x):
            close(value, wanted)
    with pytest.raises(rc.RicciError):
        y(B=A, b=np.ones(4))


def test_renaming_indices_makes_no_other_object():
    soft = softmax()
    assert soft(z).expr is soft(z.rename(i="p")).expr
    assert soft(z).rename(i="p") == soft(z.rename(i="p"))
    assert soft(z).diff("x").expr is soft(z.rename(i="p")).diff("x").expr


def test_modes_and_tables():
    f = softmax()(z)
    wanted = f.diff("x")(A=A, x=x)
    for mode in ("forward", "reverse", "cross-country"):
        close(f.diff("x", mode=mode)(A=A, x=x), wanted)
    assert "soft" in str(rc.trace_table((f * f).sum(), A=A, x=x))
    assert "exp" in str(f.compile().plan)


def test_deep():
    h, W = rc.parse("h[i] = x[i]"), rc.parse("W[i,j]")
    squash, soft = sigmoid_by("jvp"), softmax()
    for _ in range(10):
        h = squash(W @ soft(h).rename(i="j"))

    def plain(x):
        for _ in range(10):
            x = plain_sigmoid(M @ (np.exp(x) / np.exp(x).sum()))
        return x.sum()

    close(h.sum().diff("x").compile()(W=M, x=x), rc.grad(plain)(x), 1e-7)


def test_a_function_that_only_runs():
    j0, special = outside()
    f = j0(z)
    for formula, wanted in (
        (f, special.j0(A @ x)),
        (f.diff("x"), -special.j1(A @ x)[:, None] * A),
        (f.sum().diff("x", "x"), rc.hessian(lambda x: j0(A @ x).sum())(x)),
    ):
        for value in roads(formula, A=A, x=x):
            close(value, wanted)


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_on_all_backends(backend):
    library = pytest.importorskip(backend)
    if backend == "jax":
        library.config.update("jax_enable_x64", True)
    for f in (sigmoid_by("vjp")(z), softmax()(z)):
        for formula in (f, f.diff("x")):
            close(formula.compile(backend)(A=A, x=x), formula(A=A, x=x))


def test_operands_that_are_aligned_by_name_and_numbers():
    scaled = rc.custom(lambda x, y, c: np.sin(x) * y * c)
    scaled.derivative(lambda x, y, c: (np.cos(x) * y * c, np.sin(x) * c, np.sin(x) * y))
    a, b = rc.tensors("a[i] b[i,j]")
    f = scaled(a, b, 2.5)
    assert f.indices == ("i", "j")
    u, V = rng.normal(size=4), rng.normal(size=(4, 3))
    plain = lambda u, V: np.sin(u)[:, None] * V * 2.5  # noqa: E731
    for formula, wanted in ((f, plain(u, V)), (f.sum("j").diff("a"), rc.jacobian(lambda u: plain(u, V).sum(1))(u))):
        for value in roads(formula, a=u, b=V):
            close(value, wanted)


def test_static_arguments():
    power = rc.custom(lambda x, n: x**n)
    power.jvp(lambda primals, tangents: 3 * primals[0] ** 2 * tangents[0])
    for value in roads(power(z, 3).diff("x"), A=A, x=x):
        close(value, 3 * (A @ x)[:, None] ** 2 * A)
    power = rc.custom(lambda x, n=1: x**n)
    power.derivative(lambda x, n=1: n * x ** (n - 1))
    close(power(z, n=2).diff("x")(A=A, x=x), 2 * (A @ x)[:, None] * A)
    close(power(z, n=3).diff("x")(A=A, x=x), 3 * (A @ x)[:, None] ** 2 * A)


@pytest.mark.parametrize("shape", [(0,), (1,), (5,)])
def test_sizes_may_change_from_call_to_call(shape):
    v = rng.normal(size=shape)
    y = rc.parse("y[i] = x[i]")
    for custom, plain in ((softmax(), lambda v: np.exp(v) / np.exp(v).sum()), (sigmoid_by("jvp"), plain_sigmoid)):
        if shape == (0,) and custom.__name__ == "soft":
            continue  # NumPy has no maximum of nothing
        f = custom(y)
        close(f(x=v), plain(v))
        fast = f.diff("x").compile()
        close(fast(x=v), rc.jacobian(plain)(v))
        close(fast(x=np.ones(2)), rc.jacobian(plain)(np.ones(2)))


def test_known_sizes_and_single_precision():
    y = rc.parse("y[i] = x[i]", sizes={"i": 3})
    f = softmax()(y)
    close(f(x=x), np.exp(x) / np.exp(x).sum())
    single = softmax()(rc.parse("y[i] = x[i]")).diff("x").compile()(x=x.astype("f4"))
    assert single.dtype == np.float32


def test_results_of_other_sizes():
    total = rc.custom(lambda x: np.stack([x.sum(), (x * x).sum()]))
    total.derivative(lambda x: np.stack([np.ones_like(x), 2 * x]))
    f = total(z)
    assert f.order == 1  # pyright: ignore[reportAttributeAccessIssue]
    for value in roads(f.diff("x"), A=A, x=x):  # pyright: ignore[reportAttributeAccessIssue]
        close(value, np.stack([A.sum(0), 2 * A.T @ (A @ x)]))
    turned = rc.custom(lambda a: 2 * a.T)
    turned.vjp(lambda primals, g: 2 * g.T)
    B = rc.parse("B[i,j]")
    assert turned(B).indices == ("j", "i")
    close(turned(B)(B=A), 2 * A.T)
    padded = rc.custom(lambda x: np.concatenate([x, x]))
    padded.vjp(lambda primals, g: g[: len(primals[0])] + g[len(primals[0]) :])
    with pytest.raises(rc.InputError, match="give the sizes of indices as numbers"):
        padded(z)
    close(padded(rc.parse("y[i] = x[i]", sizes={"i": 3}))(x=x), np.concatenate([x, x]))  # pyright: ignore[reportCallIssue]


def test_compressed():
    f = sigmoid_by("derivative")(rc.parse("y[i] = x[i]"))
    c = f.diff("x").compile(compressed=True)(x=x)
    close(c @ x, plain_sigmoid(x) * (1 - plain_sigmoid(x)) * x)
    close(softmax()(z).diff("x").compile(compressed=True)(A=A, x=x).todense(), softmax()(z).diff("x")(A=A, x=x))


def test_what_is_wrong_is_said():
    f = rc.custom(np.sin)
    with pytest.raises(rc.RuleError, match="no rule yet"):
        f(z)
    f.jvp(lambda primals, tangents: np.abs(tangents[0]))
    with pytest.raises(rc.RuleError, match="not linear"):
        f(z)
    g = sigmoid_by("jvp")
    with pytest.raises(rc.InputError, match="beside a traced array or a tensor"):
        two_operands()(z, rc.Tensor(1.0))
    with pytest.raises(rc.InputError, match=r"rc\.variable"):
        two_operands()(z, np.ones(4))
    captured = rc.custom(lambda x: x * A[0])
    captured.derivative(lambda x: A[0])
    with pytest.raises(rc.InputError, match="none of its arguments"):
        captured(rc.parse("y[i] = x[i]"))
    assert g(z) == g(z)


def two_operands():
    f = rc.custom(lambda a, b: a * b)
    f.derivative(lambda a, b: (b, a))
    return f
