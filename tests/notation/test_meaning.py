"""What the equation language means, rule by rule, in numbers: every row has its value written by hand in NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ricci as rc

SIZES = {"i": 3, "j": 4, "k": 2, "l": 5, "n": 3, "b": 2, "h": 4, "d": 3, "e": 2, "m": 6, "t": 5}


def arrays(spec, sizes=SIZES, seed=0):
    """Random arrays for a text such as "a[i,j] b[j] s"; in (0.2, 1.2), which every function here takes."""
    random = np.random.default_rng(seed)
    found = re.findall(r"(\w+)(?:\[([\w,]*)\])?", spec)
    return {name: random.uniform(0.2, 1.2, size=[sizes[n] for n in axes.split(",") if n]) for name, axes in found}


def assert_value(text, given, expected, **sizes):
    actual = rc.parse(text)(**given, **({"sizes": sizes} if sizes else {}))
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-14)


def spd(n=3, *batch, seed=5):
    a = np.random.default_rng(seed).normal(size=(*batch, n, n))
    return a @ np.swapaxes(a, -1, -2) + n * np.eye(n)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


GRAMMAR = [
    ("y[i] = 1/2 x[i]", "x[i]", lambda x: x / 2),
    ("y[i] = a[i]/b[i] c[i]", "a[i] b[i] c[i]", lambda a, b, c: a / b * c),
    ("y[i] = a[i]/(b[i] c[i])", "a[i] b[i] c[i]", lambda a, b, c: a / (b * c)),
    ("y = a/b/c", "a b c", lambda a, b, c: a / b / c),
    ("y = -x**2", "x", lambda x: -(x**2)),
    ("y = (-x)**2", "x", lambda x: x**2),
    ("y = 2**-x", "x", lambda x: 2**-x),
    ("y = 2**x**2", "x", lambda x: 2 ** (x**2)),
    ("y = x^2 + x^(1/2)", "x", lambda x: x**2 + x**0.5),
    ("y[i] = x[i]^2", "x[i]", lambda x: x**2),
    ("y = a - b - c", "a b c", lambda a, b, c: a - b - c),
    ("y = a - (b - c)", "a b c", lambda a, b, c: a - (b - c)),
    ("y = a * b + 3 * -c", "a b c", lambda a, b, c: a * b - 3 * c),
    ("y = 2 pi r", "r", lambda r: 2 * np.pi * r),
    ("y = 1.5e-1 x + .5 x", "x", lambda x: 0.65 * x),
    ("y = w_1 x_dot + w_2", "w_1 x_dot w_2", lambda w, x, v: w * x + v),
    ("α[μ] = β[μ] γ", "β[i] γ", lambda b, c: b * c),
    ("y[batch] = x[batch,i'] w[i']", "x[i,j] w[j]", lambda x, w: x @ w),
    ("y = a +\n  b", "a b", lambda a, b: a + b),
    ("y = (a\n + b)", "a b", lambda a, b: a + b),
    ("# a comment\ny = a b  # another\n", "a b", lambda a, b: a * b),
    ("t = a + b\ny = t t", "a b", lambda a, b: (a + b) ** 2),
    ("y[i] = (a[i] < b[i])", "a[i] b[i]", lambda a, b: a < b),
    ("y[i] = (a[i] >= b[i]) a[i]", "a[i] b[i]", lambda a, b: (a >= b) * a),
    ("y[i] = (a[i] != b[i]) + (a[i] == a[i])", "a[i] b[i]", lambda a, b: (a != b) * 1.0 + 1),
    ("y[i] = (a[i] <= 1/2) - (a[i] > 1/2)", "a[i]", lambda a: np.where(a <= 0.5, 1, -1)),
]

RULES = [
    # 1: free indices are those of the left side; scalars broadcast; a bracketed sum may have fewer
    ("y[i,j] = x[j,i]", "x[j,i]", np.transpose),
    ("y[i,j] = x[i,j] + 1", "x[i,j]", lambda x: x + 1),
    ("y[i,j] = x[i,j] + a[k] b[k]", "x[i,j] a[k] b[k]", lambda x, a, b: x + a @ b),
    ("y[i] = x[i] - mean[m](z[m])", "x[i] z[m]", lambda x, z: x - z.mean()),
    ("y[b,h] = x[b,h] - 1[h] m[b]", "x[b,h] m[b]", lambda x, m: x - m[:, None]),
    ("y[i,j] = a[i] (b[j] + c[j])", "a[i] b[j] c[j]", lambda a, b, c: np.outer(a, b + c)),
    ("y[i,j] = a[i] (b[j] + 1)", "a[i] b[j]", lambda a, b: np.outer(a, b + 1)),
    ("y[i,j] = a[i] (b[j] + c[j])**2", "a[i] b[j] c[j]", lambda a, b, c: np.outer(a, (b + c) ** 2)),
    # 2: without a left side, the indices that occur once, in order of first occurrence
    ("a[i,k] b[k,j]", "a[i,k] b[k,j]", np.matmul),
    ("b[k,j] a[i,k]", "a[i,k] b[k,j]", lambda a, b: (a @ b).T),
    ("x[j] y[i]", "x[j] y[i]", np.outer),
    ("x[i] x[i]", "x[i]", lambda x: x @ x),
    ("x[i]**2 + s", "x[i] s", lambda x, s: x**2 + s),
    ("x[i,j] + z[j,i]", "x[i,j] z[j,i]", lambda x, z: x + z.T),
    # 3: summed from outside in
    ("y[i] = exp(x[i,k] w[k])", "x[i,k] w[k]", lambda x, w: np.exp(x @ w)),
    ("y[i] = 1[k] exp(x[i,k])", "x[i,k]", lambda x: np.exp(x).sum(1)),
    ("s = (a[k] + b[k]) c[k]", "a[k] b[k] c[k]", lambda a, b, c: ((a + b) * c).sum()),
    (
        "y = c (a[k] b[k] + d[k] e[k] - s)",
        "a[k] b[k] c d[k] e[k] s",
        lambda a, b, c, d, e, s: c * (a @ b + d @ e - s),
    ),
    ("y = a[i]/b[i]", "a[i] b[i]", lambda a, b: (a / b).sum()),
    ("y[i] = a[i]/(b[k] c[k])", "a[i] b[k] c[k]", lambda a, b, c: a / (b @ c)),
    ("y = (a[k] b[k])**2", "a[k] b[k]", lambda a, b: (a @ b) ** 2),
    ("y = c[k] (a[k] b[k])**2", "a[k] b[k] c[k]", lambda a, b, c: (c * (a * b) ** 2).sum()),
    ("s = a[i,i]", "a[i,i]", np.trace),
    ("s = 2 a[i,i] - b", "a[i,i] b", lambda a, b: 2 * np.trace(a) - b),
    ("y = -a[i] b[i]", "a[i] b[i]", lambda a, b: -(a @ b)),
    ("y = a[i] (-b[i])", "a[i] b[i]", lambda a, b: -(a @ b)),
    ("s = (a[i] b[i]) (c[j] d[j])", "a[i] b[i] c[j] d[j]", lambda a, b, c, d: (a @ b) * (c @ d)),
    ("s = sqrt(a[i] a[i]) + sqrt(b[i] b[i])", "a[i] b[i]", lambda a, b: np.linalg.norm(a) + np.linalg.norm(b)),
    ("y[i] = exp(a[k] b[k]) c[i]", "a[k] b[k] c[i]", lambda a, b, c: np.exp(a @ b) * c),
    ("s = exp(a[k]) b[k]", "a[k] b[k]", lambda a, b: np.exp(a) @ b),
    ("y[i] = a[i,k] (b[k] + c)", "a[i,k] b[k] c", lambda a, b, c: a @ (b + c)),
    ("y = 2**(a[i] b[i])", "a[i] b[i]", lambda a, b: 2 ** (a @ b)),
    # 5: the tensors of structure
    ("y[i] = delta[i,j] x[j] + 0[i] + 1[i]", "x[i]", lambda x: x + 1),
    ("y[i] = x[i] / |i|", "x[i]", lambda x: x / len(x)),
    ("s = |i| + |j| |j| + 0 1[i] x[i,j] 1[j]", "x[i,j]", lambda x: x.shape[0] + x.shape[1] ** 2),
    # 7, 8: definitions, without capture
    ("t[i] = a[i,k] b[k]; s = t[k] t[k]", "a[i,i] b[i]", lambda a, b: (a @ b) @ (a @ b)),
    ("n = a[k] b[k]; y[k] = n c[k]", "a[k] b[k] c[k]", lambda a, b, c: (a @ b) * c),
    ("n = a[k] b[k]; y = n n n", "a[k] b[k]", lambda a, b: (a @ b) ** 3),
    ("f[k] = a[k,i] b[i]; g[i] = f[i] + b[i]; s = g[k] f[k]", "a[i,i] b[i]", lambda a, b: (a @ b + b) @ (a @ b)),
    ("t[i,j] = a[i] b[j]; s[j] = t[j,i] c[i]", "a[i] b[i] c[i]", lambda a, b, c: a * (b @ c)),
    ("t[i,j] = a[i,j] + 1; s = t[i,i]", "a[i,i]", lambda a: np.trace(a + 1)),
    # 9: a name directly before a bracket is a function
    ("y[i] = s (x[i] + 1)", "s x[i]", lambda s, x: s * (x + 1)),
]


@pytest.mark.parametrize("text, spec, value", GRAMMAR + RULES)
def test_value(text, spec, value):
    given = arrays(spec)
    assert_value(text, given, value(*given.values()))


def test_a_scalar_broadcasts_to_the_left_side():
    assert_value("y[i,j] = s", {"s": 2.5}, np.full((2, 3), 2.5), i=2, j=3)


def test_an_index_in_two_factors_is_summed_over_their_product():
    """Rule 3 makes no exception for brackets: i is in both factors, so this is a sum of quotients."""
    given = arrays("a[i] b[i]")
    a, b = given.values()
    with pytest.warns(rc.ReadingWarning, match=r"For a sum write: s = \(a\[i\] b\[i\]\) / \(a\[k\] a\[k\]\)"):
        assert_value("s = (a[i] b[i]) / (a[i] a[i])", given, (a * b / (a * a)).sum())
    assert_value("n = a[i] b[i]; d = a[i] a[i]; s = n / d", given, (a @ b) / (a @ a))


@pytest.mark.parametrize(
    "text", ["s = x[i]**2", "s = softmax[k](x[k])", "y[j] = x[i,j]", "s = exp(x[i])", "s = x[i] + 1"]
)
def test_rule_4_an_index_that_cannot_be_summed(text):
    with pytest.raises(rc.NotationError, match="occurs once in its term and is not on the left side") as caught:
        rc.parse(text)
    index = re.search(r"Index '(\w)'", str(caught.value))[1]  # pyright: ignore[reportOptionalSubscript]
    assert f"sum[{index}](…)" in str(caught.value) and f"1[{index}]" in str(caught.value)


# Rule 6: sizes


def test_sizes_come_from_the_arrays_or_are_given():
    y = rc.parse("y[i,j] = 1[i] b[j]")
    assert y(b=np.ones(4), sizes={"i": 3}).shape == (3, 4)
    assert rc.parse("y[i,j] = 1[i] b[j]", sizes={"i": 3})(b=np.ones(4)).shape == (3, 4)
    with pytest.raises(rc.InputError, match="Nothing determines the size of index 'i'"):
        y(b=np.ones(4))
    with pytest.raises(rc.ShapeError, match="Index 'j' is given the size 3"):
        y(b=np.ones(4), sizes={"i": 3, "j": 3})


def test_a_size_is_that_of_the_whole_program():
    text = "t[i] = a[i] + 1; s[i] = b[i] 2; u = |i|"
    with pytest.raises(rc.ShapeError, match="Index 'i' has two sizes: 2 on axis 0 of 'a' and 3 on axis 0 of 'b'"):
        rc.parse(text)(a=np.ones(2), b=np.ones(3))


def test_values_may_be_given_that_the_expression_no_longer_needs():
    y = rc.parse("y[i,j] = 0 x[i,j] + 1[i,j]")
    assert_value("y[i,j] = 0 x[i,j] + 1[i,j]", {"x": np.ones((2, 3))}, np.ones((2, 3)))
    assert y.variables == ()
    with pytest.raises(rc.InputError, match="There is no input 'z'"):
        y(x=np.ones((2, 3)), z=1.0)


def test_rule_7_the_value_is_the_last_statement_or_one_by_name():
    text = "t = a + b; u = t t; v = u - a"
    assert rc.parse(text)(a=1.0, b=2.0) == 8
    assert rc.parse(text, "t")(a=1.0, b=2.0) == 3
    assert rc.parse(text, result="u")(a=1.0, b=2.0) == 9
    assert rc.parse(text)["u"](a=1.0, b=2.0) == 9


def test_rule_9_an_unknown_function_suggests_a_product():
    with pytest.raises(rc.NotationError, match=r"Write s \* \(…\) for a product"):
        rc.parse("y = s(x)")


FUNCTIONS = [
    ("y[i] = exp(x[i] + y_1[i])", "x[i] y_1[i]", lambda x, y: np.exp(x + y)),
    ("y[i,j] = maximum(a[i], b[j])", "a[i] b[j]", lambda a, b: np.maximum(a[:, None], b)),
    ("y[i] = where(m[i] > 1/2, a[i], b)", "m[i] a[i] b", lambda m, a, b: np.where(m > 0.5, a, b)),
    ("y[i] = minimum(x[i,k] w[k], 1)", "x[i,k] w[k]", lambda x, w: np.minimum(x @ w, 1)),
    ("y[i] = sum[k](x[i,k])", "x[i,k]", lambda x: x.sum(1)),
    ("y[i] = mean[k](x[i,k])", "x[i,k]", lambda x: x.mean(1)),
    ("y[i] = prod[k](x[i,k])", "x[i,k]", lambda x: x.prod(1)),
    ("y[i] = max[k](x[i,k])", "x[i,k]", lambda x: x.max(1)),
    ("y[k] = min[i](x[i,k])", "x[i,k]", lambda x: x.min(0)),
    ("y[i] = logsumexp[k](x[i,k])", "x[i,k]", lambda x: np.log(np.exp(x).sum(1))),
    ("y[i] = norm[k](x[i,k])", "x[i,k]", lambda x: np.linalg.norm(x, axis=1)),
    ("y[i] = var[j](x[i,j])", "x[i,j]", lambda x: x.var(1)),
    ("y[i] = std[j](x[i,j])", "x[i,j]", lambda x: x.std(1)),
    ("y[i] = argmax[j](x[i,j])", "x[i,j]", lambda x: x.argmax(1)),
    ("y[i] = argmin[j](x[i,j])", "x[i,j]", lambda x: x.argmin(1)),
    ("y[i] = any[k](x[i,k] > 1)", "x[i,k]", lambda x: (x > 1).any(1)),
    ("y[i] = all[k](x[i,k] > 1/4)", "x[i,k]", lambda x: (x > 0.25).all(1)),
    ("y[i] = sum[j,k](x[i,j,k])", "x[i,j,k]", lambda x: x.sum((1, 2))),
    ("y[j] = max[i,k](x[i,j,k])", "x[i,j,k]", lambda x: x.max((0, 2))),
    ("s = mean[i,j](x[i,j])", "x[i,j]", np.mean),
    ("y[i,k] = softmax[k](s[i,k])", "s[i,k]", softmax),
    ("y[i,k] = softmax[i](s[i,k])", "s[i,k]", lambda s: softmax(s, 0)),
    ("y[i,k] = log_softmax[k](s[i,k])", "s[i,k]", lambda s: np.log(softmax(s))),
    ("y[i,j] = cumsum[j](x[i,j])", "x[i,j]", lambda x: x.cumsum(1)),
    ("y[i,j] = cumsum[i](x[i,j])", "x[i,j]", lambda x: x.cumsum(0)),
    ("y[i,j] = cumprod[j](x[i,j])", "x[i,j]", lambda x: x.cumprod(1)),
    ("y[i,j] = sort[j](x[i,j])", "x[i,j]", lambda x: np.sort(x, 1)),
    ("y[i,j] = argsort[j](x[i,j])", "x[i,j]", lambda x: np.argsort(x, 1)),
    ("y[i] = softmax[k](s[i,k]) v[k]", "s[i,k] v[k]", lambda s, v: softmax(s) @ v),
    ("s = max[k](x[k]) - min[k](x[k])", "x[k]", np.ptp),
    ("s = max[k](x[k]) a[k] b[k]", "x[k] a[k] b[k]", lambda x, a, b: x.max() * (a @ b)),
    ("y[i] = logsumexp[k](x[i,j] w[j,k])", "x[i,j] w[j,k]", lambda x, w: np.log(np.exp(x @ w).sum(1))),
    ("s = norm[i](x[i]) norm[i,j](z[i,j])", "x[i] z[i,j]", lambda x, z: np.sqrt((x**2).sum() * (z**2).sum())),
    ("y[i] = leaky_relu(x[i] - 1)", "x[i]", lambda x: np.where(x > 1, x - 1, 0.01 * (x - 1))),
    ("y[i] = elu(x[i] - 1)", "x[i]", lambda x: np.where(x > 1, x - 1, np.expm1(x - 1))),
    ("t[i,j] = 2 x[i,j]; s = sum(t) + mean(t)", "x[i,j]", lambda x: 2 * x.sum() + 2 * x.mean()),
    ("t[i,j] = 2 x[i,j]; s = max(t) + norm(t)", "x[i,j]", lambda x: 2 * x.max() + 2 * np.linalg.norm(x)),
    ("s = sum(x) + 2 max(x)", "x[i]", lambda x: x.sum() + 2 * x.max()),
    ("t[i] = x[i] x[i]; s = logsumexp(x)", "x[i]", lambda x: np.log(np.exp(x).sum())),
]


@pytest.mark.parametrize("text, spec, value", FUNCTIONS, ids=[row[0] for row in FUNCTIONS])
def test_function(text, spec, value):
    given = arrays(spec)
    assert_value(text, given, value(*given.values()))


A, S = np.array([[2.0, 1.0, 0.5], [0.3, 3.0, -1.0], [0.1, 0.4, 1.5]]), spd()
BATCH, X = spd(3, 2), np.random.default_rng(7).normal(size=(6, 3))
V, M = np.array([1.0, -2.0, 0.5]), np.random.default_rng(8).normal(size=(3, 4))
EXPM = np.linalg.matrix_power(np.eye(3) + (A := A / 4) / 2**20, 2**20)
MATRIX = [
    ("s = det(A)", {"A": A}, np.linalg.det(A)),
    ("s = tr(A)", {"A": A}, np.trace(A)),
    ("y[i,j] = inv(A)[i,j]", {"A": A}, np.linalg.inv(A)),
    ("y[i,j] = inv(A)[j,i]", {"A": A}, np.linalg.inv(A).T),
    ("y[j] = solve(A, b)[j]", {"A": A, "b": V}, np.linalg.solve(A, V)),
    ("y[b] = det[i,j](A[b,i,j])", {"A": BATCH}, np.linalg.det(BATCH)),
    ("y[b] = logdet[i,j](A[b,i,j])", {"A": BATCH}, np.linalg.slogdet(BATCH)[1]),
    ("y[i,j] = inv[i,j](X[m,i] X[m,j])", {"X": X}, np.linalg.inv(X.T @ X)),
    ("y[b,i,j] = inv[i,j](A[b,i,j])", {"A": BATCH}, np.linalg.inv(BATCH)),
    ("y[i,b,j] = inv[i,j](A[b,j,i])", {"A": BATCH}, np.linalg.inv(BATCH.swapaxes(1, 2)).swapaxes(0, 1)),
    ("y[b,i,j] = cholesky[i,j](A[b,i,j])", {"A": BATCH}, np.linalg.cholesky(BATCH)),
    ("y[b,i] = eigvalsh[i,j](A[b,i,j])", {"A": BATCH}, np.linalg.eigvalsh(BATCH)),
    ("y[i] = eigvalsh[i,j](A[i,j])", {"A": A}, np.linalg.eigvalsh((A + A.T) / 2)),
    ("y[j] = solve[i,j](A[i,j], b[i])", {"A": A, "b": V}, np.linalg.solve(A, V)),
    ("y[j,k] = solve[i,j](A[i,j], B[i,k])", {"A": A, "B": M}, np.linalg.solve(A, M)),
    ("y[b,j] = solve[i,j](A[b,i,j], v[i])", {"A": BATCH, "v": V}, np.linalg.solve(BATCH, V[:, None])[..., 0]),
    ("y[b,j] = solve[i,j](A[i,j], v[b,i])", {"A": A, "v": X}, np.linalg.solve(A, X.T).T),
    ("s = x[i] inv(S)[i,j] x[j]", {"x": V, "S": S}, V @ np.linalg.inv(S) @ V),
    ("s = inv(A)[i,i]", {"A": A}, np.trace(np.linalg.inv(A))),
    ("T[i,j] = A[i,j] + delta[i,j]; s = det(T)", {"A": A}, np.linalg.det(A + np.eye(3))),
]


@pytest.mark.parametrize("text, given, expected", MATRIX, ids=[row[0] for row in MATRIX])
def test_function_of_matrices(text, given, expected):
    actual = rc.parse(text)(**given)
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("text", ["y[i,j] = expm(A)[i,j]", "y[i,j] = expm[i,j](A[i,j])"])
def test_the_matrix_exponential(text):
    np.testing.assert_allclose(rc.parse(text)(A=A), EXPM, rtol=1e-5)


x6, w2, t23 = np.arange(6.0) ** 2 + 1, np.array([2.0, -1.0]), np.array([[3, 0, 1], [2, 2, 3]])
X64, table = np.arange(24.0).reshape(6, 4) ** 1.5, np.random.default_rng(9).normal(size=(4, 5))
PLACES = [
    ("y[i] = x[i,0]", {"x": X64}, X64[:, 0]),
    ("s = x[2] x[0]", {"x": x6}, x6[2] * x6[0]),
    ("y[i] = a[i,i]", {"a": X64[:4]}, np.diag(X64[:4])),
    ("y[b,t,d] = table[tokens[b,t],d]", {"table": table, "tokens": t23}, table[t23]),
    ("y[b] = x[b,t[b]]", {"x": table, "t": np.array([0, 4, 1, 1])}, table[np.arange(4), [0, 4, 1, 1]]),
    ("s = 1[b] x[t[b]]", {"x": x6, "t": np.array([5, 5, 0])}, 2 * x6[5] + x6[0]),
    ("y[i] = x[t[u[i]]]", {"x": x6, "t": np.array([4, 2, 0]), "u": np.array([1, 1, 2])}, x6[[2, 2, 0]]),
    ("c[i] = x[i+k] w[k]", {"x": x6, "w": w2}, 2 * x6[:-1] - x6[1:]),
    ("c[i] = x[i-k] w[k]", {"x": x6, "w": w2}, np.convolve(x6, w2, "valid")),
    ("c[i] = x[2*i+k] w[k]", {"x": x6, "w": w2}, 2 * x6[::2] - x6[1::2]),
    ("c[i] = x[2i+k] w[k]", {"x": x6, "w": w2}, 2 * x6[::2] - x6[1::2]),
    (
        "c[i,j] = x[i+k,j+l] w[k] w[l]",
        {"x": X64, "w": w2},
        4 * X64[:-1, :-1] - 2 * X64[1:, :-1] - 2 * X64[:-1, 1:] + X64[1:, 1:],
    ),
    ("d[i] = x[i+1] - x[i+0]", {"x": x6}, np.diff(x6)),
    ("d[i] = x[i+0] - x[i-1]", {"x": x6}, np.diff(x6)),
    ("d[i] = x[i+1] - 2 x[i+0] + x[i-1]", {"x": x6}, np.diff(x6, 2)),
    ("s = 1[i] (x[i+1] - x[i+0]**2)**2", {"x": x6}, ((x6[1:] - x6[:-1] ** 2) ** 2).sum()),
    ("r[i] = y[i] x[|i|-1-i]", {"x": x6, "y": x6}, x6 * x6[::-1]),
    ("y[i] = x[2*i]", {"x": x6}, x6[::2]),
    ("y[i] = x[2*i+1]", {"x": x6}, x6[1::2]),
    ("y[i] = z[i] x[i+2]", {"x": x6, "z": np.arange(3.0)}, np.arange(3) * x6[2:5]),
    ("t[j] = exp(x[j]); y[i] = t[i+1] / t[i+0]", {"x": x6 / 9}, np.exp(np.diff(x6 / 9))),
]


@pytest.mark.parametrize("text, given, expected", PLACES, ids=[row[0] for row in PLACES])
def test_index_expression(text, given, expected):
    assert_value(text, given, expected)


def test_a_given_size_is_the_range_of_an_index():
    for text, size, expected in [
        ("y[i] = x[i+1]", 2, x6[1:3]),
        ("y[i] = x[2*i+1]", 2, x6[1:4:2]),
        ("y[i] = x[|i|-1-i]", 6, x6[::-1]),
        ("y[i] = x[|i|-1-i]", 3, x6[2::-1]),
        ("s = 1[i] x[i+4]", 2, x6[4:].sum()),
    ]:
        np.testing.assert_array_equal(rc.parse(text, sizes={"i": size})(x=x6), expected)
    with pytest.raises(rc.NotationError, match="reads after the last entry"):
        rc.parse("y[i] = x[i+1]", sizes={"i": 6})(x=x6)


def test_a_size_given_at_the_call_is_the_range_of_an_index_too():
    """Rule 6 lets sizes be given in both places."""
    np.testing.assert_array_equal(rc.parse("y[i] = x[i+1]")(x=x6, sizes={"i": 2}), x6[1:3])
    np.testing.assert_array_equal(rc.parse("c[i] = x[i+k] w[k]")(x=x6, w=[1, 1], sizes={"i": 2}), x6[:2] + x6[1:3])


def test_a_range_starts_at_the_first_place_where_every_read_is_inside():
    np.testing.assert_array_equal(rc.parse("y[i] = x[i+1]")(x=x6), x6)
    np.testing.assert_array_equal(rc.parse("y[i] = x[i-2]")(x=x6), x6)
    np.testing.assert_array_equal(rc.parse("c[i] = x[i+k] w[k]")(x=w2, w=np.ones(3)), [])


@pytest.mark.parametrize(
    "text, given",
    [
        ("y[i] = x[i] x[i+1]", {"x": x6}),
        ("y[i] = x[i] - x[i-1]", {"x": x6}),
        ("y = x[6]", {"x": x6}),
        ("y[i] = x[i,4]", {"x": X64}),
        ("c[i] = x[i+k] w[k]", {"x": w2, "w": x6}),
        ("y[b] = x[t[b]]", {"x": w2, "t": np.array([2])}),
        ("y[b] = x[t[b]]", {"x": w2, "t": np.array([-1])}),
    ],
)
def test_reads_outside_a_tensor_are_errors(text, given):
    with pytest.raises(rc.RicciError):
        rc.parse(text)(**given)


HEIGHTS = [
    ("C^i_k = A^i_j B^j_k", "A[i,j] B[j,k]", np.matmul),
    ("s = g_{i j} x^i x^j", "g[i,i] x[i]", lambda g, x: x @ g @ x),
    ("s = g_{ij} x^i x^j", "g[i,i] x[i]", lambda g, x: x @ g @ x),
    ("y_{i} = g_{i,j} x^j", "g[i,j] x[j]", np.matmul),
    ("T^{i j}_{k} = a^i b^j c_{k}", "a[i] b[j] c[k]", lambda a, b, c: np.einsum("i,j,k->ijk", a, b, c)),
    ("y^i = A^i_j x^j + b^i", "A[i,j] x[j] b[i]", lambda A, x, b: A @ x + b),
    ("y^i = delta^i_j x^j", "x[i]", lambda x: x),
    ("t = A^i_i", "A[i,i]", np.trace),
    ("t = A^j_i delta^i_j", "A[i,i]", np.trace),
    ("y^i_j = exp(A^i_j)", "A[i,j]", np.exp),
    ("y^i = A^i_j x^j / (n_{k} x^k)", "A[i,i] x[i] n[i]", lambda A, x, n: A @ x / (n @ x)),
]


@pytest.mark.parametrize("text, spec, value", HEIGHTS)
def test_upper_and_lower_indices(text, spec, value):
    given = arrays(spec)
    assert_value(text, given, value(*given.values()))


def test_upper_and_lower_indices_are_in_the_order_of_the_page():
    assert rc.parse("C^i_k = A^i_j B^j_k").indices == ("i", "k")
    assert rc.parse("C_{k}^i = A^i_j B^j_k").indices == ("k", "i")


def attention(q, k, v):
    return softmax(np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(q.shape[-1])) @ v


def layer_norm(x, eps, g, beta):
    m, v = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    return (x - m) / np.sqrt(v + eps) * g + beta


def energy(x):
    s = ((x[:, None] - x) ** 2).sum(-1)
    return ((1 - np.eye(len(x))) / (s + np.eye(len(x)))).sum()


LAYER_NORM = """
    m[b]   = 1/|h| 1[h] x[b,h];  v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
    y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]
"""
ATTENTION = "p[b,h,i,j] = softmax[j](q[b,h,i,d] k[b,h,j,d] / sqrt(|d|));  o[b,h,i,e] = p[b,h,i,j] v[b,h,j,e]"
ENERGY = "s[i,j] = 1[d] (x[i,d] 1[j] - 1[i] x[j,d])**2;  E = 1[i] 1[j] (1 - delta[i,j]) / (s[i,j] + delta[i,j])"
EXAMPLES = [
    ("y[i,j] = x[i,k] a[k,j] + 1[i] b[j]", "x[i,k] a[k,j] b[j]", lambda x, a, b: x @ a + b),
    ("l = 1[m] softplus(-y[m] X[m,n] w[n])", "y[m] X[m,n] w[n]", lambda y, X, w: np.log1p(np.exp(-y * (X @ w))).sum()),
    (LAYER_NORM, "x[b,h] eps g[h] beta[h]", layer_norm),
    (ATTENTION, "q[b,h,i,d] k[b,h,j,d] v[b,h,j,e]", attention),
    ("c[i] = x[i+k] w[k]", "x[m] w[k]", lambda x, w: np.correlate(x, w, "valid")),
    (ENERGY, "x[i,d]", energy),
    ("f = x_1 x_2 + sin(x_1)", "x_1 x_2", lambda a, b: a * b + np.sin(a)),
    ("f = x[i] b[i] exp(-x[j] x[j])", "x[i] b[i]", lambda x, b: x @ b * np.exp(-x @ x)),
]


@pytest.mark.parametrize("text, spec, value", EXAMPLES, ids=[row[0].strip() for row in EXAMPLES])
def test_the_examples_of_the_page(text, spec, value):
    given = arrays(spec)
    assert_value(text, given, value(*given.values()))


def test_the_gaussian_likelihood_of_the_page():
    expected = np.linalg.slogdet(S)[1] / 2 + V @ np.linalg.inv(S) @ V / 2
    assert_value("l = 1/2 logdet(S) + 1/2 r[i] inv(S)[i,j] r[j]", {"S": S, "r": V}, expected)


@pytest.mark.parametrize("text", ["y = mean(A) + A[0,1]", "y = A[0,1] + mean(A)", "m = mean(A); y = m + A[0,1]"])
def test_the_order_of_a_whole_tensor_is_what_the_text_says_anywhere(text):
    array = np.arange(6.0).reshape(2, 3)
    assert rc.parse(text)(A=array) == array.mean() + array[0, 1]
    assert rc.parse("m = mean(A)")(A=array[0]) == array[0].mean()
    assert rc.parse("y = logdet(S) + r[i] S[i,j] r[j]").variables == ("S", "r")


@pytest.mark.parametrize(
    "text", ["0/0", "0/0 x", "x*0/0", "0/(1-1)", "0 (1/0)", "1/0 - 1/0", "tan(0)/0", "(x - x)/0", "x + 0/0", "-0/0"]
)
def test_zero_times_what_is_infinite_is_no_number(text):
    f = rc.parse(f"y = {text}")
    assert np.isnan(f(x=2.0) if "x" in text else f())
    assert rc.parse(str(f)) == f


@pytest.mark.parametrize("text", ["0/0 a[i]", "a[i] 0/0", "0/0 + a[i]", "(a[i] - a[i])/0", "0/(a[i] - a[i])"])
def test_zero_times_what_is_infinite_is_no_number_in_any_entry(text):
    f = rc.parse(f"y[i] = {text}")
    np.testing.assert_array_equal(f(a=[1.0, 0.0]), [np.nan, np.nan])
    assert rc.parse(str(f)) == f


@pytest.mark.parametrize(
    "text, value", [("1/0", np.inf), ("-1/0", -np.inf), ("0**-1", np.inf), ("0**0", 1), ("0 x", 0)]
)
def test_other_numbers_at_the_edge(text, value):
    f = rc.parse(f"y = {text}")
    assert (f(x=2.0) if "x" in text else f()) == value
    assert rc.parse(str(f)) == f


def test_a_sum_of_nothing_is_zero_whatever_it_is_of():
    assert rc.parse("y = sum[k](1[k]/0)", sizes={"k": 0})() == 0
    assert rc.parse("y = sum[k](1[k]/0)", sizes={"k": 2})() == np.inf


def test_zero_times_infinity_in_programs_and_formulas():
    x = rc.variable("x", np.array([1.0, 2.0]))
    for f in (x * 0 / 0, 0 / (x - x) * x):
        assert np.isnan(f()).all()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(rc.compile(lambda x: x * 0 / 0)(np.ones(2)), [np.nan, np.nan])
