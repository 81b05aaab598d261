"""Derivatives as users ask for them: names, targets, modes, sweeps, and ``D`` inside equations."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
from ricci.testing.identity_checks import central_differences

MODES = ("auto", "forward", "reverse", "cross-country")
LOGISTIC = "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"
MATMUL = "y[i,j] = x[i,k] a[k,j]"
LAYERS = "t[j] = B[j,k] x[k]; s[j] = tanh(t[j]); l = s[j] s[j]"
LAYER_NORM = """
m[b] = 1/|h| 1[h] x[b,h]
v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]
"""


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def logistic_inputs() -> dict[str, np.ndarray]:
    return {"X": normal(6, 3), "w": normal(3), "y": np.array([1.0, -1, 1, 1, -1, -1])}


# The contract

CONTRACT = """
loss = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
g = loss.diff("w")                          # gradient, an expression
H = loss.diff("w", "w")                     # Hessian; prints as one product over m
J = rc.parse("y[i,j] = x[i,k] a[k,j]").diff("x[p,q]")   # delta[i,p] a[q,j], with the indices asked for
rc.diff(expr, wrt, mode="reverse")          # "forward", "cross-country", "auto" (default)
rc.pushforward(expr, {"w": w_dot})          # symbolic jvp
rc.pullback(expr, ["w", "X"], y_bar=None)   # symbolic vjp, several inputs in one sweep; ones where nothing comes in
print(H.derivation())                       # numbered steps with the name of each rule; .latex() of it too
H.structure()                               # e.g. "delta[i,j] ⊗ core[k,l], symmetric", sizes of core and whole
"""


def test_the_contract_runs_to_the_letter(capsys):
    names = {"rc": rc, "expr": rc.parse(LOGISTIC), "wrt": "w", "w_dot": rc.variable("w_dot[n]")}
    exec(CONTRACT, names)
    assert str(names["J"]) == "dy_dx[i,j,p,q] = delta[i,p] a[q,j]"
    hessian = str(names["H"])
    assert hessian.startswith("d2l_dw_dw[n,n'] = ") and "\n" not in hessian
    assert "X[m,n] X[m,n']" in hessian and " + " not in hessian
    shown = capsys.readouterr().out
    assert shown.startswith("  1. l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))") and "chain rule" in shown
    assert r"\begin{aligned}" in names["H"].derivation().latex()
    assert "symmetric" in str(names["H"].structure())
    assert rc.diff(names["expr"], "w", mode="reverse") == names["g"]


# Names


@pytest.mark.parametrize(
    ("text", "wrt", "name", "indices"),
    [
        (MATMUL, ("x",), "dy_dx", ("i", "j", "i'", "k")),
        (MATMUL, ("x[p,q]",), "dy_dx", ("i", "j", "p", "q")),
        (MATMUL, (" x [ p , q ] ",), "dy_dx", ("i", "j", "p", "q")),
        (MATMUL, ("x[p,q]", "a[r,s]"), "d2y_dx_da", ("i", "j", "p", "q", "r", "s")),
        (MATMUL, (["x[p,q]", "a[r,s]"],), "d2y_dx_da", ("i", "j", "p", "q", "r", "s")),
        (MATMUL, ("x", "a"), "d2y_dx_da", ("i", "j", "i'", "k", "k'", "j'")),
        ("a[i] x[i]", ("x",), "df_dx", ("i",)),
        ("f = c**3", ("c", "c", "c"), "d3f_dc_dc_dc", ()),
        (LAYERS, ("s",), "dl_ds", ("j",)),
        (LAYERS, ("t[p]", "x[q]"), "d2l_dt_dx", ("p", "q")),
    ],
)
def test_names(text, wrt, name, indices):
    derived = rc.parse(text).diff(*wrt)
    assert (derived.name, derived.indices) == (name, indices)


def test_the_users_own_index_names_are_taken_where_they_are_free():
    loss = rc.parse(LOGISTIC)
    assert loss.diff("w").indices == ("n",)
    assert loss.diff("X").indices == ("m", "n")
    assert loss.diff("w", "X").indices == ("n", "m", "n'")


@pytest.mark.parametrize(
    ("wrt", "error", "said"),
    [
        ((), rc.InputError, "by what"),
        (("x[i,q]",), rc.RuleError, "new free indices; 'i'"),
        (("x[p,p]",), rc.RuleError, "new free indices; 'p'"),
        (("x[p,q]", "x[p,s]"), rc.RuleError, "new free indices; 'p'"),
        (("x[p]",), rc.RuleError, "2 indices"),
        (("xx",), rc.InputError, "Did you mean 'x'"),
        (("1x",), rc.InputError, "not a name"),
        (("x[p",), rc.InputError, "not a name"),
        ((3,), rc.InputError, "not int"),
    ],
)
def test_wrong_targets(wrt, error, said):
    with pytest.raises(error, match=said.replace("[", r"\[")):
        rc.parse(MATMUL).diff(*wrt)


def test_no_derivative_by_integers_nor_by_what_is_not_there():
    with pytest.raises(rc.InputError, match="integer"):
        rc.parse("y[b,d] = table[t[b],d]").diff("t")
    with pytest.raises(rc.InputError, match="not part of the expression"):
        rc.parse("f = c[i] x[i]").diff(rc.parse("exp(x[i])"))
    with pytest.raises(rc.InputError, match="no mode 'sideways'"):
        rc.parse(MATMUL).diff("x", mode="sideways")


# Targets


def test_by_a_variable_as_a_formula():
    X, w = rc.tensors("X[m,n] w[n]")
    loss = rc.softplus(rc.einsum("m n, n -> m", X, w)).sum()
    assert loss.diff(w) == loss.diff("w")
    assert loss.diff(w, X) == loss.diff("w", "X")
    assert loss.diff(w).name == "df_dw"


def test_by_an_intermediate():
    x = rc.variable("x[i]")
    inner = rc.exp(x)
    outer = (inner**2 * rc.sin(inner)).sum()
    value = normal(4)
    e = np.exp(value)
    derived = outer.diff(inner)
    assert derived.order == 1
    np.testing.assert_allclose(derived(x=value), 2 * e * np.sin(e) + e**2 * np.cos(e))


def test_by_the_formula_itself():
    x = rc.variable("x[i]")
    y = rc.exp(x)
    np.testing.assert_array_equal(y.diff(y)(x=normal(3)), np.eye(3))
    np.testing.assert_array_equal(x.diff("x")(x=normal(3)), np.eye(3))


def test_by_defined_names_which_count_as_independent():
    program = rc.parse(LAYERS)
    inputs = {"B": normal(4, 3), "x": normal(3)}
    s = np.tanh(inputs["B"] @ inputs["x"])
    np.testing.assert_allclose(program.diff("s")(**inputs), 2 * s)
    np.testing.assert_allclose(program.diff("t")(**inputs), 2 * s * (1 - s**2))
    assert program.diff(program["s"]).expr is program.diff("s").expr
    np.testing.assert_allclose(
        program.diff("t", "t")(**inputs), np.diag(2 * (1 - s**2) ** 2 - 4 * s**2 * (1 - s**2)), atol=1e-12
    )


def test_a_defined_name_counts_even_where_its_value_was_merged_away():
    program = rc.parse("u = x[i] x[i]; f = u + x[i] x[i]")
    assert program.diff("u") == rc.parse("1")
    assert rc.parse("h[i] = c x[i]; f = c x[i] h[i]").diff("h[p]") == rc.parse("c x[p]")


@pytest.mark.parametrize("mode", MODES)
def test_by_what_does_not_occur(mode):
    program = rc.parse("u = x[i] x[i]; v = b[j] b[j]; r = u", result="r")
    by_b = program.diff("b", mode=mode)
    assert str(by_b) == "dr_db[j] = 0[j]"
    np.testing.assert_array_equal(by_b(x=np.ones(2), b=np.ones(3)), np.zeros(3))
    assert str(program.diff("x", "b", mode=mode)) == "d2r_dx_db[i,j] = 0[i,j]"


def test_by_a_definition_that_does_not_occur():
    program = rc.parse("u = x[i] x[i]; v[j] = exp(b[j]); r = u", result="r")
    assert str(program.diff("v")) == "dr_dv[j] = 0[j]"


@pytest.mark.parametrize("mode", MODES)
def test_through_several_paths(mode):
    f = rc.parse("u = x[i] x[i]; w = exp(u) + sin(u); f = w u + x[i] c[i]")
    inputs = {"x": 0.5 * normal(3), "c": normal(3)}
    expected = central_differences(f, inputs, "x")
    np.testing.assert_allclose(f.diff("x", mode=mode)(**inputs), expected, rtol=1e-7)


# Higher orders


@pytest.mark.parametrize("order", range(1, 7))
def test_powers_to_any_order(order):
    falling = [1, 5, 20, 60, 120, 120, 0][order]
    derived = rc.parse("f = x**5").diff(*["x"] * order)
    assert float(derived(x=2.0)) == falling * 2.0 ** max(5 - order, 0)


def test_diff_of_diff_is_diff_by_both():
    loss = rc.parse(LOGISTIC)
    assert loss.diff("w[p]").diff("w[q]") == loss.diff("w[p]", "w[q]")


def test_third_order():
    f = rc.parse("f = exp(a[i] x[i])")
    third = f.diff("x[p]", "x[q]", "x[r]")
    assert third == rc.parse("t[p,q,r] = a[p] a[q] a[r] exp(a[i] x[i])")


def test_mixed_partials_agree():
    loss = rc.parse("l = 1[i,j] (T[i,j] - U[i,k] V[j,k])**2 + exp(U[i,k] V[i,k])")
    inputs = {"T": normal(3, 3), "U": normal(3, 2), "V": normal(3, 2, seed=1)}
    one, other = loss.diff("U[a,b]", "V[c,d]"), loss.diff("V[c,d]", "U[a,b]")
    np.testing.assert_allclose(one(**inputs), other.transpose("a", "b", "c", "d")(**inputs))


# Several at once


@pytest.mark.parametrize("mode", ["reverse", "forward", "cross-country", "auto"])
def test_diff_all_is_the_separate_derivatives(mode):
    loss = rc.parse(LOGISTIC)
    inputs = logistic_inputs()
    for formula, name in zip(loss.diff_all("w", "X", "y", mode=mode), ("w", "X", "y"), strict=True):
        alone = loss.diff(name)
        assert (formula.name, formula.indices) == (alone.name, alone.indices)
        np.testing.assert_allclose(formula(**inputs), alone(**inputs))


def test_diff_all_of_a_list_and_with_names():
    loss = rc.parse(LOGISTIC)
    by_w, by_x = loss.diff_all(["w[p]", "X[p,q]"])
    assert (by_w.indices, by_x.indices) == (("p",), ("p", "q"))
    assert (by_w, by_x) == (loss.diff("w[p]"), loss.diff("X[p,q]"))
    assert rc.diff_all(loss, "w") == (loss.diff("w"),)


def test_diff_all_of_layer_norm():
    y = rc.parse(LAYER_NORM)
    inputs = {"x": normal(3, 4), "g": normal(4), "beta": normal(4), "eps": np.array(0.1)}
    for formula, name in zip(y.diff_all(*inputs), inputs, strict=True):
        np.testing.assert_allclose(formula(**inputs), y.diff(name)(**inputs), atol=1e-12)
        assert formula.derivation()[0].rule == "definition"


def test_pullback_shapes_and_values():
    y = rc.parse(MATMUL)
    x, a, y_bar = normal(2, 3), normal(3, 4), normal(2, 4)
    both = rc.pullback(y, ["x", "a"], rc.variable("y_bar[i,j]"))
    assert isinstance(both, tuple) and [f.indices for f in both] == [("i", "k"), ("k", "j")]
    np.testing.assert_allclose(both[0](a=a, y_bar=y_bar), y_bar @ a.T)
    np.testing.assert_allclose(both[1](x=x, y_bar=y_bar), x.T @ y_bar)
    alone = rc.pullback(y, "x[p,q]", rc.variable("y_bar[i,j]"))
    assert alone.indices == ("p", "q") and alone.matrix() == "ȳ aᵀ"


def test_pullback_of_ones_is_the_gradient_of_the_sum():
    y = rc.parse(MATMUL)
    x, a = normal(2, 3), normal(3, 4)
    x_bar, a_bar = rc.pullback(y, ["x", "a"])
    np.testing.assert_allclose(x_bar(x=x, a=a), np.ones((2, 4)) @ a.T)
    np.testing.assert_allclose(a_bar(x=x, a=a), x.T @ np.ones((2, 4)))
    assert x_bar == y.sum().diff("x")
    loss = rc.parse(LOGISTIC)
    assert rc.pullback(loss, "w") == loss.diff("w")


def test_pullback_aligns_by_name():
    y = rc.parse(MATMUL)
    turned = rc.pullback(y, "x", rc.variable("y_bar[j,i]"))
    a, y_bar = normal(3, 4), normal(4, 2)
    np.testing.assert_allclose(turned(a=a, y_bar=y_bar), y_bar.T @ a.T)
    with pytest.raises(rc.RuleError, match=r"\[i,j\], not \[p,q\]"):
        rc.pullback(y, "x", rc.variable("y_bar[p,q]"))


def test_pushforward_values():
    y = rc.parse(MATMUL)
    x, a, x_dot, a_dot = normal(2, 3), normal(3, 4), normal(2, 3, seed=1), normal(3, 4, seed=1)
    one = rc.pushforward(y, {"x": rc.variable("x_dot[i,k]")})
    assert one.indices == ("i", "j")
    np.testing.assert_allclose(one(a=a, x_dot=x_dot), x_dot @ a)
    both = rc.pushforward(y, {"x": rc.variable("x_dot[p,q]"), "a": rc.variable("a_dot[r,s]")})
    np.testing.assert_allclose(both(x=x, a=a, x_dot=x_dot, a_dot=a_dot), x_dot @ a + x @ a_dot)


def test_pushforward_refuses():
    y = rc.parse(MATMUL)
    with pytest.raises(rc.InputError, match="needs directions"):
        rc.pushforward(y, {})
    with pytest.raises(rc.RuleError, match="has 1 indices; the variable has 2"):
        rc.pushforward(y, {"x": rc.variable("x_dot[p]")})


def test_pullback_and_pushforward_are_adjoint():
    y = rc.parse(LAYER_NORM)
    inputs = {"x": normal(3, 4), "g": normal(4), "beta": normal(4), "eps": np.array(0.1)}
    x_dot, y_bar = normal(3, 4, seed=1), normal(3, 4, seed=2)
    forward = rc.pushforward(y, {"x": rc.variable("x_dot[b,h]")})
    back = rc.pullback(y, "x", rc.variable("y_bar[b,h]"))
    left = (y_bar * forward(**_known(forward, inputs, x_dot=x_dot))).sum()
    right = (back(**_known(back, inputs, y_bar=y_bar)) * x_dot).sum()
    assert left == pytest.approx(right)


def _known(formula: rc.Formula, inputs: dict, **more: np.ndarray) -> dict:
    return {name: value for name, value in {**inputs, **more}.items() if name in formula.variables}


# D inside equations


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("f = x[i] A[i,j] x[j]; g[p] = D(f, x[p])", "g[p] = (A[p,j] + A[j,p]) x[j]"),
        ("f = x[i] A[i,j] x[j]; H[p,q] = D(D(f, x[p]), x[q])", "H[p,q] = A[p,q] + A[q,p]"),
        ("f = x[i] A[i,j] x[j]; l = D(D(f, x[p]), x[q]) delta[p,q]", "t[p,q] = A[p,q] + A[q,p]; l = t[i,i]"),
        ("g[i,j,p,q] = D(x[i,k] a[k,j], x[p,q])", "g[i,j,p,q] = delta[i,p] a[q,j]"),
        ("g[p] = D(x[i] x[i], x[p])", "g[p] = 2 x[p]"),
        ("s = D(x**3, x)", "s = 3 x**2"),
        ("s = D(D(x**3, x), x) + x", "s = 7 x"),
        ("f = x[i] x[i]; z[p] = x[p] - 1/2 D(f, x[p])", "z[p] = 0[p]"),
        ("h[i] = A[i,j] x[j]; f = h[i] h[i]; g[p] = D(f, h[p])", "g[p] = 2 A[p,j] x[j]"),
        ("h[i] = A[i,j] x[j]; f = h[i] h[i] h[i]; g[p,q] = D(D(f, h[p]), h[q])", "g[p,q] = 6 A[p,j] x[j] delta[p,q]"),
        ("u = x**2; f = u + x; g = D(f, u)", "g = 1"),
        ("L = 1/2 m v[i] v[i] - 1/2 k x[i] x[i]; p[i] = D(L, v[i])", "p[i] = m v[i]"),
    ],
)
def test_d_in_equations(text, same):
    assert rc.parse(text) == rc.parse(same)


def test_d_by_what_does_not_occur():
    assert rc.parse("f = x[i] x[i]; g[p] = D(f, z[p])") == rc.parse("g[p] = 0[p]")


def test_d_is_diff():
    loss = rc.parse(LOGISTIC)
    assert rc.parse(f"{LOGISTIC}; H[p,q] = D(D(l, w[p]), w[q])") == loss.diff("w[p]", "w[q]")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("s = D(x**3)", "two arguments"),
        ("f = x[i] x[i]; t = D(D(f, x[p]), x[p])", "Index 'p' already stands"),
        ("v[i] = A[i,j] x[j]; d = D(v[i], x[i])", r"Index 'i' already stands(.|\n)*D\(…, x\[p\]\) delta\[i,p\]"),
        ("g[i,p] = D(A[i,j] X[j,k] b[k], X[p,p])", "different"),
        ("g[i,p] = D(A[i,j] x[j], x[p,q])", "number of indices"),
        ("y[b,d] = table[t[b],d]; z[b,d,p] = D(y[b,d], t[p])", "integer tensor"),
        ("s = D(x[i] x[i], x[i])", "free indices"),
    ],
)
def test_d_refuses(text, said):
    with pytest.raises(rc.NotationError, match=said):
        rc.parse(text)


MET = [  # heights say that the index of the variable meets one of what is differentiated: the same with a delta
    ("v^i = A^i_j x^j b_{k} x^k; d = D(v^i, x^i)", "d = D(v^i, x^p) delta^p_i"),
    ("v^i = A^i_j x^j b_{k} x^k; d = b_{k} x^k D(v^i, x^i)", "d = b_{k} x^k D(v^i, x^p) delta^p_i"),
    ("v^i = exp(A^i_j x^j); d = D(v^i, x^i)", "d = D(v^i, x^p) delta^p_i"),
    ("v^i = exp(x^i); d = D(b_{j} v^j x^i, v^i)", "d = D(b_{j} v^j x^i, v^p) delta^p_i"),
    ("T^i_j = A^i_k x^k b_{j}; d_{j} = D(T^i_j, x^i)", "d_{j} = D(T^i_j, x^p) delta^p_i"),
]


@pytest.mark.parametrize(("text", "other"), MET)
def test_an_index_above_that_meets_that_of_the_variable_is_contracted(text, other):
    first, _, _ = text.rpartition("; ")
    f, g = rc.parse(text), rc.parse(f"{first}; {other}")
    random = np.random.default_rng(3)
    known = {"A": random.normal(size=(4, 4)), "x": random.normal(size=4), "b": random.normal(size=4)}
    values = [h(**{name: known[name] for name in h.variables}) for h in (f, g)]
    assert np.abs(values[0]).max() > 1e-3
    np.testing.assert_allclose(values[0], values[1], rtol=1e-12)


def test_a_law_of_motion_in_numbers():
    law = rc.parse("V = 1/2 k x[i] x[i]; r[i] = m a[i] + D(V, x[i])")
    np.testing.assert_allclose(law(m=2.0, k=3.0, a=np.ones(2), x=np.array([1.0, 2.0])), [5.0, 8.0])


# Stability


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e3, 1e6])
def test_logistic_regression_is_stable(scale):
    """At large weights σ(z) σ(-z) is 0 exactly but where z = 0, where it is 1/4."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [-2.0, 2.0]])
    inputs = {"X": X, "w": np.array([scale, scale]), "y": np.array([1.0, -1.0, 1.0, -1.0])}
    loss = rc.parse(LOGISTIC)
    z = inputs["y"] * (X @ inputs["w"])
    tail = np.exp(-np.abs(z))
    slope = np.where(z > 0, tail, 1.0) / (1 + tail)
    with np.errstate(all="raise", under="ignore"):
        gradient, hessian, third = (loss.diff(*["w"] * order)(**inputs) for order in (1, 2, 3))
    np.testing.assert_allclose(gradient, -X.T @ (inputs["y"] * slope), rtol=1e-12)
    np.testing.assert_allclose(hessian, X.T @ np.diag(tail / (1 + tail) ** 2) @ X, rtol=1e-12, atol=1e-300)
    assert np.isfinite(third).all()
    if scale >= 1e3:
        np.testing.assert_array_equal(hessian, 1.25 * np.array([[1.0, -1.0], [-1.0, 1.0]]))


# Modes, cuts, effort


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "wrt", "shapes"),
    [
        (LOGISTIC, ("w", "w"), {"X": (4, 3), "w": (3,), "y": (4,)}),
        (LAYERS, ("x", "B"), {"B": (4, 3), "x": (3,)}),
        ("y[i,j] = tanh(x[i,k] a[k,j])", ("a", "x"), {"x": (2, 3), "a": (3, 2)}),
        ("y[i] = softmax[i](A[i,j] x[j])", ("x", "x"), {"A": (4, 3), "x": (3,)}),
    ],
)
def test_modes_agree(mode, text, wrt, shapes):
    inputs = {name: normal(*shape) for name, shape in shapes.items()}
    formula = rc.parse(text)
    derived = formula.diff(*wrt, mode=mode)
    np.testing.assert_allclose(
        derived(**_known(derived, inputs)), formula.diff(*wrt)(**_known(formula.diff(*wrt), inputs)), atol=1e-12
    )


@pytest.mark.parametrize("cut", [["t"], ["s"], ["t", "s"]])
def test_every_cut_gives_the_same(cut):
    program = rc.parse(LAYERS)
    inputs = {"B": normal(4, 3), "x": normal(3)}
    expected = program.diff("x")(**inputs)
    np.testing.assert_allclose(program.diff("x", cut=cut)(**inputs), expected)
    np.testing.assert_allclose(program.diff("x", cut=[program[name] for name in cut])(**inputs), expected)


def test_what_is_no_cut_is_refused():
    with pytest.raises(rc.RuleError, match="no cut"):
        rc.parse("u = x[i] x[i]; f = sin(u) + x[i] c[i]").diff("x", cut=["u"])


def test_effort():
    program = rc.parse(LAYERS)
    inputs = {"B": normal(4, 3), "x": normal(3)}
    derived = program.diff("x", mode="cross-country", effort=0.02)
    np.testing.assert_allclose(derived(**inputs), program.diff("x")(**inputs))


def test_elimination_cost():
    loss = rc.parse(LOGISTIC)
    cost = {mode: rc.elimination_cost(loss, "w", mode) for mode in MODES}
    assert cost["reverse"] < cost["forward"]
    assert cost["cross-country"] <= min(cost["forward"], cost["reverse"])
    assert cost["auto"] == cost["reverse"] and all(isinstance(count, int) for count in cost.values())
    assert rc.elimination_cost(rc.parse(MATMUL), "x") == 0


def test_elimination_cost_follows_the_sizes():
    text = "h[i] = A[i,j] x[j]; y[k] = B[k,i] tanh(h[i])"
    wide = rc.parse(text, sizes={"j": 100, "i": 10, "k": 2})
    tall = rc.parse(text, sizes={"j": 2, "i": 10, "k": 100})
    assert rc.elimination_cost(wide, "x", "reverse") < rc.elimination_cost(wide, "x", "forward")
    assert rc.elimination_cost(tall, "x", "forward") < rc.elimination_cost(tall, "x", "reverse")


def test_elimination_cost_of_several():
    y, z = rc.parse("y = x1 x2 sin(x1 x2)"), rc.parse("z = exp(x1 x2) x1")
    both = rc.elimination_cost([y, z], ["x1", "x2"], "reverse")
    assert 0 < both <= sum(rc.elimination_cost(f, ["x1", "x2"], "reverse") for f in (y, z))


# Derivatives read back


@pytest.mark.parametrize(
    ("text", "wrt"),
    [
        (MATMUL, ("x[p,q]",)),
        (LOGISTIC, ("w", "w")),
        (LAYERS, ("x", "B")),
        (LAYER_NORM, ("x[c,k]",)),
        ("f = max[i](x[i])", ("x",)),
        ("f = logdet(A)", ("A", "A")),
        ("y[b,d] = table[t[b],d]", ("table",)),
    ],
)
def test_derivatives_read_back(text, wrt):
    derived = rc.parse(text).diff(*wrt)
    assert rc.parse(str(derived)) == derived


def test_a_tensor_by_itself_is_a_product_of_deltas():
    assert rc.parse("y[i,j] = x[i,k] a[k,j]").diff("y[p,q]") == rc.parse("J[i,j,p,q] = delta[i,p] delta[j,q]")
    assert rc.parse("y = x[i] x[i]").diff("y")(x=[1.0, 2.0]) == 1
