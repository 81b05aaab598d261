"""The worked results of the theory, as expressions and in numbers, and the structure of well-known Hessians."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
from ricci.expr import Expr, Product, Structure, Sum, Variable
from ricci.simplify import simplify
from ricci.testing.identity_checks import central_differences

RNG = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def agrees_with_differences(function: rc.Formula, wrt: str, inputs: dict, rtol: float = 1e-6) -> None:
    """The derivative by ``wrt`` in numbers."""
    found = np.asarray(function.diff(wrt)(**inputs))
    expected = central_differences(function, inputs, wrt.partition("[")[0])
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max(initial=1e-3))


def simplified(text: str) -> rc.Formula:
    """A textbook form after the simplification that derivatives go through: s (1 - s) becomes stable there."""
    form = rc.parse(text)
    return rc.Formula(simplify(form.expr), form.indices, form.context)


# Functions entry by entry: ∂y[i]/∂x[p] = f'(x[i]) delta[i,p], and what flows back is ȳ[p] f'(x[p])

SLOPES = {
    "exp": "exp(x[i])",
    "log": "1/x[i]",
    "sin": "cos(x[i])",
    "cos": "-sin(x[i])",
    "sqrt": "1/2 x[i]**(-1/2)",
    "square": "2 x[i]",
    "reciprocal": "-x[i]**(-2)",
    "tanh": "1 - tanh(x[i])**2",
    "sigmoid": "sigmoid(x[i]) (1 - sigmoid(x[i]))",
    "softplus": "sigmoid(x[i])",
    "sinh": "cosh(x[i])",
    "cosh": "sinh(x[i])",
    "atan": "1/(1 + x[i]**2)",
    "abs": "sign(x[i])",
    "lgamma": "digamma(x[i])",
}


@pytest.mark.parametrize("name", SLOPES)
def test_entry_by_entry(name):
    y = rc.parse(f"y[i] = {name}(x[i])")
    assert y.diff("x[p]") == simplified(f"y[i,p] = ({SLOPES[name]}) delta[i,p]")
    back = rc.pullback(y, "x[p]", rc.variable("y_bar[i]"))
    assert back == simplified(f"x_bar[p] = y_bar[p] ({SLOPES[name].replace('[i]', '[p]')})")
    agrees_with_differences(y, "x[p]", {"x": RNG.uniform(0.5, 2, 4)})


def test_relu():
    y = rc.parse("y[i] = relu(x[i])")
    x, y_bar = np.array([-1.0, 0.0, 2.0]), np.array([5.0, 6.0, 7.0])
    np.testing.assert_array_equal(y.diff("x[p]")(x=x), np.diag([0.0, 0.0, 1.0]))
    np.testing.assert_array_equal(rc.pullback(y, "x", rc.variable("y_bar[i]"))(x=x, y_bar=y_bar), [0, 0, 7])


# Products

JACOBIANS = {
    "matrix product, left": ("y[i,j] = x[i,k] a[k,j]", "x[p,q]", "delta[i,p] a[q,j]"),
    "matrix product, right": ("y[i,j] = x[i,k] a[k,j]", "a[p,q]", "x[i,p] delta[j,q]"),
    "inner product": ("y = a[i] x[i]", "x[p]", "a[p]"),
    "matrix and vector": ("y[i] = A[i,j] x[j]", "A[p,q]", "delta[i,p] x[q]"),
    "quadratic form": ("y = x[i] A[i,j] x[j]", "x[p]", "(A[p,j] + A[j,p]) x[j]"),
    "product and exponential, by x": ("f = x y + exp(x)", "x", "y + exp(x)"),
    "product and exponential, by y": ("f = x y + exp(x)", "y", "x"),
    "bell curve": ("f = x[i] b[i] exp(-x[j] x[j])", "x[p]", "(b[p] - 2 x[p] x[i] b[i]) exp(-x[j] x[j])"),
}


def expected(text: str, wrt: str, right: str) -> rc.Formula:
    names = [*rc.parse(text).indices, *wrt.partition("[")[2].rstrip("]").split(",")]
    left = ",".join(filter(None, names))
    return rc.parse(f"expected[{left}] = {right}" if left else f"expected = {right}")


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians(name):
    text, wrt, right = JACOBIANS[name]
    assert rc.parse(text).diff(wrt) == expected(text, wrt, right)


PULLBACKS = {
    "X̄ = Ȳ Aᵀ": ("y[i,j] = x[i,k] a[k,j]", "y_bar[i,j]", "x[p,q]", "y_bar[p,j] a[q,j]"),
    "Ā = Xᵀ Ȳ": ("y[i,j] = x[i,k] a[k,j]", "y_bar[i,j]", "a[p,q]", "x[i,p] y_bar[i,q]"),
    "A x, by A": ("y[i] = A[i,j] x[j]", "y_bar[i]", "A[p,q]", "y_bar[p] x[q]"),
    "A x, by x": ("y[i] = A[i,j] x[j]", "y_bar[i]", "x[p]", "y_bar[i] A[i,p]"),
    "xᵀ y, by x": ("z = x[i] y[i]", "z_bar", "x[p]", "z_bar y[p]"),
    "α X, by α": ("y[i,j] = c X[i,j]", "y_bar[i,j]", "c", "y_bar[i,j] X[i,j]"),
    "α X, by X": ("y[i,j] = c X[i,j]", "y_bar[i,j]", "X[p,q]", "c y_bar[p,q]"),
    "broadcast sum": ("y[i,j] = x[i,j] + 1[i] b[j]", "y_bar[i,j]", "b[p]", "1[i] y_bar[i,p]"),
    "broadcast product": ("y[i,j] = x[i,j] b[j]", "y_bar[i,j]", "b[p]", "y_bar[i,p] x[i,p]"),
    "sum": ("y[i] = 1[j] x[i,j]", "y_bar[i]", "x[p,q]", "y_bar[p] 1[q]"),
}


@pytest.mark.parametrize("name", PULLBACKS)
def test_pullbacks(name):
    text, bar, wrt, right = PULLBACKS[name]
    back = rc.pullback(rc.parse(text), wrt, rc.variable(bar))
    indices = wrt.partition("[")[2].rstrip("]")
    assert back == rc.parse(f"back[{indices}] = {right}" if indices else f"back = {right}")


def test_pullbacks_in_numbers():
    x, a, y_bar = normal(2, 3), normal(3, 4), normal(2, 4)
    y = rc.parse("y[i,j] = x[i,k] a[k,j]")
    x_bar, a_bar = rc.pullback(y, ["x", "a"], rc.variable("y_bar[i,j]"))
    np.testing.assert_allclose(x_bar(x=x, a=a, y_bar=y_bar), y_bar @ a.T)
    np.testing.assert_allclose(a_bar(x=x, a=a, y_bar=y_bar), x.T @ y_bar)


def test_ones_come_in_where_nothing_is_given():
    y = rc.parse("y[i,j] = x[i,k] a[k,j]")
    assert rc.pullback(y, "x[p,q]") == rc.parse("x_bar[p,q] = 1[p] 1[j] a[q,j]")


def test_quadratic_form_hessian():
    assert rc.parse("f = x[i] A[i,j] x[j]").diff("x[p]", "x[q]") == rc.parse("H[p,q] = A[p,q] + A[q,p]")


def test_product_and_sine_at_a_point():
    f = rc.parse("f = x1 x2 + sin(x1)")
    g1, g2 = f.diff("x1"), f.diff("x2")
    assert g1 == rc.parse("x2 + cos(x1)")
    assert g2 == rc.parse("x1")
    assert g1(x1=2.0, x2=7.0) == pytest.approx(6.5839, abs=5e-5)
    assert g2(x1=2.0, x2=7.0) == 2


def test_product_and_exponential_print_as_on_paper():
    f = rc.parse("f = x y + exp(x)")
    assert str(f.diff("y")) == "df_dy = x"
    assert str(f.diff("x")) in ("df_dx = y + exp(x)", "df_dx = exp(x) + y")


@pytest.mark.parametrize("mode", ["forward", "reverse", "cross-country", "auto"])
def test_bell_curve_at_a_point(mode):
    f = rc.parse("f = x[i] b[i] exp(-x[j] x[j])")
    g = f.diff("x", mode=mode)
    np.testing.assert_allclose(g(x=[1.0, 2.0], b=[1.0, 0.0]), [-0.00673795, -0.02695179], atol=5e-9)


# Layer norm

LAYER_NORM = """
m[b] = 1/|h| 1[h] x[b,h]
v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]
"""


def layer_norm_by_hand(x, g, beta, eps, y_bar):
    """Value and gradients as they are written in NumPy."""
    size = x.shape[1]
    centred = x - x.mean(1, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(1, keepdims=True) + eps)
    z = centred * scale
    z_bar = y_bar * g
    x_bar = scale / size * (size * z_bar - z_bar.sum(1, keepdims=True) - z * (z_bar * z).sum(1, keepdims=True))
    return z * g + beta, {
        "x": x_bar,
        "g": (y_bar * z).sum(0),
        "beta": y_bar.sum(0),
        "eps": eps_by_hand(z_bar, z, scale),
    }


def eps_by_hand(z_bar, z, scale):
    return -0.5 * (z_bar * z * scale**2).sum()


@pytest.mark.parametrize("shape", [(3, 4), (1, 5), (4, 1), (1, 1)])
def test_layer_norm_gradients(shape):
    inputs = {"x": normal(*shape), "g": normal(shape[1]), "beta": normal(shape[1]), "eps": np.array(0.1)}
    y_bar = normal(*shape)
    y = rc.parse(LAYER_NORM)
    value, bars = layer_norm_by_hand(**inputs, y_bar=y_bar)
    np.testing.assert_allclose(y(**inputs), value, rtol=1e-12, atol=1e-14)
    found = rc.pullback(y, list(bars), rc.variable("y_bar[b,h]"))
    for formula, bar in zip(found, bars.values(), strict=True):
        np.testing.assert_allclose(formula(**inputs, y_bar=y_bar), bar, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("wrt", ["x[p,q]", "g[p]", "beta[p]", "eps"])
def test_layer_norm_jacobians(wrt):
    inputs = {"x": normal(2, 3), "g": normal(3), "beta": normal(3), "eps": np.array(0.1)}
    agrees_with_differences(rc.parse(LAYER_NORM), wrt, inputs)


def test_layer_norm_expressions():
    y = rc.parse(LAYER_NORM)
    bar = rc.variable("y_bar[b,h]")
    z = LAYER_NORM.rpartition("y[b,h]")[0] + "z[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps)\n"
    assert rc.pullback(y, "g[p]", bar) == rc.parse(z + "g_bar[p] = y_bar[b,p] z[b,p]")
    assert rc.pullback(y, "beta[p]", bar) == rc.parse("beta_bar[p] = 1[b] y_bar[b,p]")
    assert y.diff("g[p]") == rc.parse(z + "y_g[b,h,p] = z[b,h] delta[h,p]")
    assert y.diff("beta[p]") == rc.parse("y_beta[b,h,p] = 1[b] delta[h,p]")


# The structure of Hessians


def bare(e: Expr) -> Expr:
    """Without a number in front and without a rearrangement of the axes around it."""
    while (isinstance(e, Sum) and len(e.args) == 1) or (isinstance(e, Product) and len(e.args) == 1 and not e.sums):
        e = e.args[0]
    return e


def count(e: Expr, name: str) -> int:
    return sum(isinstance(a, Variable) and a.name == name for a in e.args)


def summed(e: Product) -> set:
    return {label for labels in e.labels for label in labels} - set(e.out)


def as_product(e: Expr, sums: int) -> Product:
    """The product that an expression is, apart from a number and the order of the axes, over ``sums`` labels."""
    e = bare(e)
    assert isinstance(e, Product)
    assert len(summed(e)) == sums
    return e


LOGISTIC = ("l = 1[m] softplus(-y[m] X[m,n] w[n])", "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")


@pytest.mark.parametrize("text", LOGISTIC)
def test_logistic_regression(text):
    loss = rc.parse(text)
    hessian = loss.diff("w[p]", "w[q]")
    product = as_product(hessian.expr, 1)
    assert count(product, "X") == 2
    assert all(a.order == 1 for a in product.args if not (isinstance(a, Variable) and a.name == "X"))
    inputs = {"X": normal(5, 3), "y": RNG.choice([-1.0, 1.0], 5), "w": normal(3)}
    agrees_with_differences(loss.diff("w[p]"), "w[q]", inputs)
    margin = inputs["y"] * (inputs["X"] @ inputs["w"])
    weights = inputs["y"] ** 2 / (1 + np.exp(margin)) / (1 + np.exp(-margin))
    by_hand = np.einsum("mp,mq,m->pq", inputs["X"], inputs["X"], weights)
    np.testing.assert_allclose(hessian(**inputs), by_hand, rtol=1e-10)


def test_logistic_regression_expression():
    expected = "s[m] = sigmoid(-y[m] X[m,n] w[n]); H[p,q] = X[m,p] X[m,q] y[m] y[m] s[m] (1 - s[m])"
    for text in LOGISTIC:
        assert rc.parse(text).diff("w[p]", "w[q]") == simplified(expected)


FACTORISATIONS = {
    "all entries": ("f = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2", "2 delta[p,r] V[j,q] V[j,s]", 2),
    "all entries, as a sum": ("f = sum[i,j]((T[i,j] - U[i,k] V[j,k])**2)", "2 delta[p,r] V[j,q] V[j,s]", 2),
    "under a mask": ("f = 1[i,j] M[i,j] (T[i,j] - U[i,k] V[j,k])**2", "2 delta[p,r] M[p,j] V[j,q] V[j,s]", 3),
}


@pytest.mark.parametrize("name", FACTORISATIONS)
def test_matrix_factorisation(name):
    """A delta times a core: k by k, or k by k for every row where a mask tells rows apart."""
    text, right, order = FACTORISATIONS[name]
    f = rc.parse(text)
    hessian = f.diff("U[p,q]", "U[r,s]")
    assert hessian == rc.parse(f"H[p,q,r,s] = {right}")
    product = as_product(hessian.expr, 0)
    (delta,) = [a for a in product.args if isinstance(a, Structure)]
    (core,) = [a for a in product.args if a is not delta]
    assert (delta.order, core.order) == (2, order)
    inputs = {"T": normal(3, 4), "U": normal(3, 2), "V": normal(4, 2), "M": RNG.choice([0.0, 1.0], (3, 4))}
    inputs = {v: inputs[v] for v in f.variables}
    agrees_with_differences(f.diff("U[p,q]"), "U[r,s]", inputs)


LAYERS = 10


def network(activation: str) -> rc.Formula:
    """Ten layers without offsets, the last one linear, and a squared loss; batched."""
    lines = [f"h1[b,j1] = {activation}(x[b,d] W1[d,j1])"]
    for k in range(2, LAYERS):
        lines.append(f"h{k}[b,j{k}] = {activation}(h{k - 1}[b,j{k - 1}] W{k}[j{k - 1},j{k}])")
    lines.append(f"l = 1/2 1[b,c] (h{LAYERS - 1}[b,j{LAYERS - 1}] W{LAYERS}[j{LAYERS - 1},c] - t[b,c])**2")
    return rc.parse("; ".join(lines))


def network_inputs(width: int = 3, samples: int = 2) -> dict:
    weights = {f"W{k}": 0.6 * normal(width, width) + 0.5 * np.eye(width) for k in range(1, LAYERS + 1)}
    return {**weights, "x": normal(samples, width), "t": normal(samples, width)}


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_network_hessian_in_numbers(activation):
    agrees_with_differences(network(activation).diff("W1[p,q]"), "W1[r,s]", network_inputs(), 1e-5)


RELU_AND_TANH = pytest.mark.parametrize("activation", ["relu", "tanh"])


def check_network_structure(hessian: rc.Formula) -> None:
    """A matrix per sample times x[b,p] x[b,r], in one contraction over the samples."""
    product = as_product(hessian.expr, 1)
    assert count(product, "x") == 2
    assert max(a.order for a in product.args) <= 3
    assert all(summed(product) <= set(labels) for labels in product.labels)


@RELU_AND_TANH
def test_network_hessian_structure(activation):
    check_network_structure(network(activation).diff("W1[p,q]", "W1[r,s]", mode="reverse"))


@RELU_AND_TANH
def test_network_hessian_structure_by_cost(activation):
    check_network_structure(network(activation).diff("W1[p,q]", "W1[r,s]"))
