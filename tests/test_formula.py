"""Formulas: what users hold, from the first lines of the issue to types, copies and threads."""

from __future__ import annotations

import copy
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import permutations
from threading import Barrier

import numpy as np
import pytest

import ricci as rc
from ricci.expr import axis_size, check, constant, product, topological, variable

RANDOM = np.random.default_rng(0)
X, W, V = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=3), RANDOM.normal(size=4)
SQUARE = RANDOM.normal(size=(3, 3))
LAYER_NORM = """
    m[b]   = 1/|h| 1[h] x[b,h];  v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
    y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]
"""


def assert_same(actual, expected):
    assert np.shape(actual) == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def values(formula, **given):
    return formula(**{name: array for name, array in given.items() if name in formula.context.facts.inputs})


# The first lines of the issue, to the letter


def test_an_equation():
    y = rc.parse("y[i,j] = x[i,k] a[k,j] + 1[i] b[j]")
    assert str(y) == "y[i,j] = x[i,k] a[k,j] + 1[i] b[j]"
    assert y.latex() == r"y_{ij} = x_{ik} a_{kj} + \mathbf{1}_{i} b_{j}"
    assert y._repr_latex_() == rf"$\displaystyle {y.latex()}$"
    assert y.indices == ("i", "j")
    assert [str(size) for size in y.shape] == ["i", "j"]
    assert y.variables == ("x", "a", "b")
    assert (y.order, y.name, repr(y)) == (2, "y", f"<ricci.Formula {y}>")
    assert_same(y(x=X, a=X.T, b=V), X @ X.T + V)


def test_operators():
    X_, w = rc.tensors("X[m,n] w[n]")
    z = rc.einsum("m n, n -> m", X_, w)
    u = rc.exp(-z) * z
    s = u.sum("m")
    assert z.indices == u.indices == ("m",) and s.indices == ()
    expected = X @ W
    assert_same(z(X=X, w=W), expected)
    assert_same(u(X=X, w=W), np.exp(-expected) * expected)
    assert_same(s(X=X, w=W), (np.exp(-expected) * expected).sum())


def test_variables_may_carry_values():
    x = rc.variable("x", 3.0)
    assert (rc.exp(x) + 2)() == np.exp(3.0) + 2
    assert (rc.exp(x) + 2)(x=0.0) == 3  # what is given at the call comes first
    A = rc.variable("A", SQUARE)
    v = rc.variable("v[j]", W)
    assert A.indices == ("i", "j") and A.shape == (3, 3)
    assert_same((A * v).sum("j")(), SQUARE @ W)


def test_nothing_is_evaluated_before_the_call():
    class Counted:
        times = 0

        def __array__(self, dtype=None, copy=None):
            Counted.times += 1
            return np.ones(3)

    x = rc.variable("x[i]")
    y = rc.exp(x) + rc.parse("z[i] = x[i] x[i]")
    assert Counted.times == 0
    assert_same(y(x=Counted()), np.full(3, np.e + 1))
    assert Counted.times > 0


def test_statements_that_use_one_another():
    y = rc.parse(LAYER_NORM)
    given = {"x": X, "eps": 1e-3, "g": W, "beta": -W}
    m, v = X.mean(1), X.var(1)
    assert_same(y(**given), (X - m[:, None]) / np.sqrt(v + 1e-3)[:, None] * W - W)
    assert y["y"] == y and y.variables == ("x", "eps", "g", "beta")


def test_a_named_statement_needs_only_its_own_inputs():
    for v in (rc.parse(LAYER_NORM, "v"), rc.parse(LAYER_NORM)["v"], rc.parse(LAYER_NORM, result="v")):
        assert v.variables == ("x",) and str(v.indices) == "('b',)"
        assert_same(v(x=X), X.var(1))
    assert_same(rc.parse("m = 1/|h| 1[h] x[h]; y[h] = a[h] m", "m")(x=W), W.mean())


# Operators align by name


a, b, A, B, s = rc.tensors("a[i] b[j] A[i,j] B[j,i] s")
GIVEN = {"a": V, "b": W, "A": X, "B": 2 * X.T + 1, "s": 1.5}
va, vb, vA, vB, vs = GIVEN.values()
OPERATORS = [
    (a + 1, va + 1, "i"),
    (1 + a, va + 1, "i"),
    (a - 2, va - 2, "i"),
    (2 - a, 2 - va, "i"),
    (a * 3, va * 3, "i"),
    (3 * a, va * 3, "i"),
    (a / 2, va / 2, "i"),
    (2 / a, 2 / va, "i"),
    (a**2, va**2, "i"),
    (2**a, 2**va, "i"),
    (-a, -va, "i"),
    (+a, va, "i"),
    (abs(a), abs(va), "i"),
    (a < 0, va < 0, "i"),
    (a <= s, va <= vs, "i"),
    (a > 0, va > 0, "i"),
    (s >= a, va <= vs, "i"),
    (a + b, va[:, None] + vb, "ij"),
    (b + a, va + vb[:, None], "ji"),
    (a * b, np.outer(va, vb), "ij"),
    (a - A, va[:, None] - vA, "ij"),
    (A + B, vA + vB.T, "ij"),
    (B * A, vB * vA.T, "ji"),
    (A / B, vA / vB.T, "ij"),
    (A + s, vA + vs, "ij"),
    (s**b, vs**vb, "j"),
    (a * np.float32(0.5), va / 2, "i"),
    (np.float64(0.5) * a, va / 2, "i"),
    (a * Fraction(1, 3), va / 3, "i"),
    (np.array(2.0) * a, va * 2, "i"),
    (rc.maximum(a, b), np.maximum(va[:, None], vb), "ij"),
    (rc.where(A > 0, a, 0), np.where(vA > 0, va[:, None], 0), "ij"),
    (rc.clip(A, -0.5, s), np.clip(vA, -0.5, vs), "ij"),
    (rc.exp(1) * a, np.e * va, "i"),
]


@pytest.mark.parametrize("formula, expected, indices", OPERATORS, ids=[str(row[0]) for row in OPERATORS])
def test_operator(formula, expected, indices):
    assert formula.indices == tuple(indices)
    assert_same(values(formula, **GIVEN), expected)
    check(formula.expr)


def test_an_array_on_the_left_is_refused_like_one_on_the_right():
    """NumPy would take a formula for an object and make an array of formulas."""
    for make in (lambda: V + a, lambda: a + V, lambda: V * a, lambda: a @ V, lambda: V @ a):  # pyright: ignore[reportOperatorIssue]
        with pytest.raises(rc.RicciError):
            make()


def test_the_product_of_equal_names_sums_nothing():
    assert (a * a).indices == ("i",) and (a * a) == rc.parse("y[i] = a[i] a[i]")


AXES = [
    (A.sum(), vA.sum(), ""),
    (A.sum("i"), vA.sum(0), "j"),
    (A.sum("j", "i"), vA.sum(), ""),
    (A.sum("i j"), vA.sum(), ""),
    (A.sum("i, j"), vA.sum(), ""),
    (A.mean("j"), vA.mean(1), "i"),
    (A.mean(), vA.mean(), ""),
    (A.prod("j"), vA.prod(1), "i"),
    (A.max("i"), vA.max(0), "j"),
    (A.min(), vA.min(), ""),
    (A.var("i"), vA.var(0), "j"),
    (A.std("j"), vA.std(1), "i"),
    (A.norm(), np.linalg.norm(vA), ""),
    (A.argmax("j"), vA.argmax(1), "i"),
    (A.argmin("i"), vA.argmin(0), "j"),
    (A.logsumexp("j"), np.log(np.exp(vA).sum(1)), "i"),
    ((A > 0).any("j"), (vA > 0).any(1), "i"),
    ((A > 0).all("i"), (vA > 0).all(0), "j"),
    (A.softmax("i"), np.exp(vA) / np.exp(vA).sum(0), "ij"),
    (A.log_softmax("j"), vA - np.log(np.exp(vA).sum(1, keepdims=True)), "ij"),
    (A.cumsum("j"), vA.cumsum(1), "ij"),
    (A.cumprod("i"), vA.cumprod(0), "ij"),
    (A.sort("i"), np.sort(vA, 0), "ij"),
    (A.argsort("j"), vA.argsort(1), "ij"),
    (A.over("max", "j"), vA.max(1), "i"),
    (rc.softmax(A, "j"), np.exp(vA) / np.exp(vA).sum(1, keepdims=True), "ij"),
    (rc.sum(A, "i", "j"), vA.sum(), ""),
    (rc.max(A), vA.max(), ""),
    (A.transpose(), vA.T, "ji"),
    (A.transpose("j", "i"), vA.T, "ji"),
    (A.transpose("i j"), vA, "ij"),
    (A.rename(i="p"), vA, "pj"),
    (A.rename({"i": "j", "j": "i"}), vA, "ji"),
    (A.rename(j="i'", i="j'"), vA, ["j'", "i'"]),
]


@pytest.mark.parametrize("formula, expected, indices", AXES, ids=[f"{n}-{row[0]}" for n, row in enumerate(AXES)])
def test_over_axes(formula, expected, indices):
    assert formula.indices == tuple(indices)
    assert_same(values(formula, **GIVEN), expected)


# The matrix product


p, q, P, Q = rc.tensors("p[i] q[k] P[i,k] Q[k,j]")
MATMUL = {"p": V, "q": W, "P": X, "Q": X.T @ RANDOM.normal(size=(4, 2))}


@pytest.mark.parametrize(
    "left, right", [(P, Q), (P, q), (p, P), (q, Q), (p, p), (P, rc.tensors("Q[m,n]")[0]), (P, rc.tensors("q[i]")[0])]
)
def test_matmul(left, right):
    names = [side.variables[0] for side in (left, right)]
    expected = MATMUL[names[0]] @ MATMUL[names[1]]
    assert_same(values(left @ right, **MATMUL), expected)


def test_the_square_of_a_matrix():
    M = rc.variable("M[i,j]")
    for square in (M @ M.rename(i="j", j="k"), M @ M):
        assert_same(square(M=SQUARE), SQUARE @ SQUARE)
    assert_same((rc.variable("N[k,i]") @ M)(M=SQUARE, N=X), X @ SQUARE)
    assert_same((M @ rc.variable("N[k,j]"))(M=SQUARE, N=SQUARE + 1), SQUARE @ (SQUARE + 1))


def test_the_same_outer_name_twice_is_refused():
    with pytest.raises(rc.RuleError, match="rename one of them"):
        A.transpose() @ A


# einsum

OPERANDS = {0: np.array(2.0), 1: RANDOM.normal(size=3), 2: RANDOM.normal(size=(3, 3)), 3: RANDOM.normal(size=(3, 3, 3))}
PATTERNS = ["ij,jk->ik", "ij,jk", "ij->ji", "ba", "ii", "ii->i", "i,i", "i,j", "ij,ij->", "ijk,kl->ijl", "ijk,ikl->ijl"]
PATTERNS += ["...i,ij->...j", "...ij,...jk->...ik", "i...->...", "...i", "ij...,jk...->ik...", "...,...->...", "iij->j"]
PATTERNS += ["ij,jk,kl->il", "i,i,i->i", ",ij->ij", "i,->i", "zyx->xyz", "zyx", "ij , jk -> ik", "...ij->...ji"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_einsum_is_that_of_numpy(pattern):
    left = pattern.split("->")[0].replace(" ", "").split(",")
    for extra in (0, 1):
        orders = [len(part.replace("...", "")) + extra * ("..." in part) for part in left]
        if max(orders) > 3:
            continue
        operands = [rc.variable(f"T{n}[{','.join('pqr'[:k])}]" if k else f"T{n}") for n, k in enumerate(orders)]
        given = {f"T{n}": OPERANDS[k] for n, k in enumerate(orders)}
        expected = np.einsum(pattern.replace(" ", ""), *given.values())
        assert_same(rc.einsum(pattern, *operands)(**given), expected)
        assert_same(rc.einsum(*operands, pattern)(**given), expected)


def test_einsum_with_names():
    x, w = rc.tensors("x[p,q] w[r,s]")
    y = rc.einsum("batch in, in out -> batch out", x, w)
    assert y.indices == ("batch", "out")
    assert y.expr is rc.einsum("ij,jk->ik", x, w).expr
    assert_same(y(x=X, w=SQUARE), X @ SQUARE)
    vector = rc.einsum("time -> time", rc.variable("v[t]"))
    assert vector.indices == ("time",)


def test_einsum_keeps_the_names_under_an_ellipsis():
    x, w = rc.tensors("x[b,t,d] w[d,e]")
    assert rc.einsum("... d, d e -> ... e", x, w).indices == ("b", "t", "e")


def test_einsum_of_numbers_and_expressions():
    assert rc.einsum("ij,->ij", A, 2) == 2 * A
    assert_same(rc.einsum("i,i->", rc.exp(a), a + 1)(a=V), np.exp(V) @ (V + 1))


# Equality, copies, threads


def test_equality_is_of_expression_and_indices():
    one, other = rc.parse("y[i,j] = x[i,k] a[k,j]"), rc.parse("z[i,j] = a[m,j] x[i,m]")
    assert one == other and hash(one) == hash(other) and one.expr is other.expr
    assert len({one, other, rc.parse("y[p,j] = x[p,k] a[k,j]")}) == 2
    assert one != one.transpose() and one != 3
    assert rc.parse("y[p,q] = x[p,k] a[k,q]").rename(p="i", q="j") == one
    x, a_ = rc.tensors("x[r,s] a[t,u]")
    assert rc.einsum("i k, k j -> i j", x, a_) == one
    assert (a + b) + A == A.transpose("i", "j") + (b + a).transpose("i", "j")


TEXTS = [
    "y[i] = exp(x[i,k] w[k]) / |i|",
    "c[i] = x[i+k] w[k]",
    "y[b,d] = t[n[b],d]",
    "s = logdet(S) + S[i,i]",
    LAYER_NORM,
]
AGAIN = [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("again", AGAIN)
def test_copies_are_the_same_object_inside(text, again):
    formula = rc.parse(text)
    other = again(formula)
    assert other == formula and other.expr is formula.expr and hash(other) == hash(formula)
    assert (
        str(other) == str(formula)
        and other.variables == formula.variables
        and list(other.statements) == list(formula.statements)
    )


def test_a_pickle_is_whole_by_itself():
    data = pickle.dumps(rc.parse("y[i] = 7 u[i,i] + sinh(u[i,k] v[k])"))
    gc.collect()
    formula = pickle.loads(data)
    assert str(formula) == "y[i] = 7 u[i,i] + sinh(u[i,k] v[k])"
    assert_same(formula(u=SQUARE, v=W), np.sinh(SQUARE @ W) + 7 * np.diag(SQUARE))
    for node in topological(formula.expr):
        check(node)


def test_threads_that_build_the_same_expressions_get_the_same_objects():
    workers = 8
    together = Barrier(workers)

    def build(_):
        made = []
        together.wait()
        for n in range(60):
            u, v = rc.tensors(f"u{n}[i,j] v{n}[j]")
            made.append((rc.exp(u @ v) * (u * v).sum("j") + n).expr)
            made.append(rc.parse(f"y[i] = tanh(u{n}[i,k] v{n}[k]) / (1 + {n} |i|)").expr)
        return made

    with ThreadPoolExecutor(workers) as pool:
        results = list(pool.map(build, range(workers)))
    for same in zip(*results, strict=True):
        assert all(expr is same[0] for expr in same)


# Types and memory


FLOATS = ["y[i] = 1/3 x[i] + pi", "y = exp(x[i] x[i]) / |i|", "y[i] = softmax[i](2 x[i])", "y[i] = x[i]"]
FLOATS += ["y = norm[i](x[i]) + 1e-3", "y[i,j] = x[i] 1[j] + delta[i,j]", "y[i] = where(x[i] > 0, x[i], 0.1)"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("text", FLOATS)
def test_floats_keep_their_type(dtype, text):
    x = (np.arange(3) / 4).astype(dtype)
    value = rc.parse(text)(x=x, **({"sizes": {"j": 3}} if "j" in text else {}))
    assert value.dtype == dtype
    exact = rc.parse(text)(x=x.astype(np.float64), **({"sizes": {"j": 3}} if "j" in text else {}))
    np.testing.assert_allclose(value, exact, rtol=4 * np.finfo(dtype).eps)


def test_types_of_inputs_meet():
    y = rc.parse("y[i] = s x[i]")
    single, n = np.ones(3, np.float32), np.arange(3)
    assert y(x=single, s=np.float32(2)).dtype == np.float32
    assert y(x=n, s=np.float32(2)).dtype == np.float32
    assert y(x=single, s=np.float64(2)).dtype == np.float64
    assert y(x=single, s=2).dtype == np.float32
    assert y(x=n > 0, s=np.float16(2)).dtype == np.float16


def test_a_python_number_does_not_promote():
    """As in NumPy 2, where np.float32(1) * 2.0 stays float32: f(x=X, eps=1e-5) must not turn X into float64."""
    assert rc.parse("y[i] = s x[i]")(x=np.ones(3, np.float32), s=2.0).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, bool])
def test_integers_and_truth_values(dtype):
    x = np.array([1, 0, 1]).astype(dtype)
    assert_same(rc.parse("y = 2 x[i] x[i] + 1")(x=x), 5)
    assert rc.parse("y = 2 x[i] x[i] + 1")(x=x).dtype == np.int64
    assert_same(rc.parse("y[i] = x[i] / 2")(x=x), x / 2)
    assert_same(rc.parse("y[i] = exp(x[i])")(x=x), np.exp(x.astype(float)))
    assert_same(rc.parse("y[i] = x[i] - 2")(x=x), x.astype(int) - 2)
    assert_same(rc.parse("y = x[i] 1[i]")(x=x), 2)


INPUTS = {"x": X.copy(), "w": W.copy(), "t": np.array([2, 0, 1, 1])}
ALIAS = ["y[i,j] = x[i,j]", "y[j,i] = x[i,j]", "y[i] = x[i,0]", "y[j] = x[0,j]", "y[i,j] = 1[i] w[j]", "y[j] = w[j]"]
ALIAS += ["y[i,j] = delta[i,i'] x[i',j]", "y[i] = relu(w[i])", "y[i] = sort[i](w[i])", "y[i,j] = maximum(x[i,j], w[j])"]
ALIAS += ["y[b] = w[t[b]]", "y[b,j] = x[t[b],j]", "c[i] = w[i+k] w[k]", "y[i,j] = cumsum[j](x[i,j])", "y[b] = t[b]"]
ALIAS += ["y[i] = stop_gradient(w[i])", "y[i,j] = x[i,j] + 0[i,j]", "y[i] = round(t[i])", "y[i] = reciprocal(w[i])"]


@pytest.mark.parametrize("text", ALIAS)
def test_inputs_are_never_modified_and_results_share_nothing(text):
    formula = rc.parse(text)
    given = {name: INPUTS[name].copy() for name in formula.variables}
    for array in given.values():
        array.flags.writeable = False
    sizes = {"sizes": {"i": 2}} if "1[i] w" in text else {}
    result = formula(**given, **sizes)
    again = formula(**given, **sizes)
    assert isinstance(result, np.ndarray) and result.flags.writeable and result.flags.c_contiguous
    for array in (*given.values(), again):
        assert not np.shares_memory(result, array)
    result[...] = 99
    for name, array in given.items():
        np.testing.assert_array_equal(array, INPUTS[name])
    np.testing.assert_array_equal(formula(**given, **sizes), again)


def test_a_scalar_result_is_a_numpy_scalar():
    for value in (rc.parse("s = w[i] w[i]")(w=W), rc.parse("s = 2")(), (rc.variable("x", 1.0) + 1)()):
        assert isinstance(value, np.float64)


def test_lists_strided_and_empty_arrays():
    y = rc.parse("y[i] = x[i,k] w[k]")
    assert_same(y(x=[[1, 2], [3, 4]], w=(1.0, 0.5)), [2.0, 5.0])
    assert_same(y(x=X[::-2, ::2], w=W[::2]), X[::-2, ::2] @ W[::2])
    assert_same(y(x=np.asfortranarray(X), w=W), X @ W)
    assert_same(y(x=np.zeros((0, 3)), w=W), np.zeros(0))
    assert_same(y(x=np.zeros((2, 0)), w=np.zeros(0)), np.zeros(2))


# Sizes


def test_sizes():
    y = rc.parse("y[i,j] = 1[i] b[j] / |i|", sizes={"i": 2})
    assert y.shape[0] == 2 and str(y.shape[1]) == "j"
    assert_same(y(b=W), np.tile(W / 2, (2, 1)))
    assert_same(rc.parse("y[i,j] = 1[i] b[j]")(b=W, sizes={"i": 2, "j": 3}), np.tile(W, (2, 1)))
    assert_same(rc.parse("n = |i|")(sizes={"i": np.int64(7)}), 7)
    assert rc.parse("y[i] = x[i]", sizes={"i": 3}).shape == (3,)
    assert rc.parse("y[i] = x[i]", sizes={"i": 3}) != rc.parse("y[i] = x[i]")


def test_sizes_meet_in_arithmetic():
    known, other = rc.variable("x[i]", [1.0, 2.0]), rc.variable("z[i]")
    assert_same((known * other)(z=[3.0, 4.0]), [3.0, 8.0])
    with pytest.raises(rc.ShapeError):
        (known * other)(z=[3.0, 4.0, 5.0])
    with pytest.raises(rc.ShapeError):
        (other + rc.variable("u[i]"))(z=[1.0], u=[1.0, 2.0])
    with pytest.raises(rc.ShapeError):
        (other * rc.variable("u[i]"))(z=[1.0], u=[1.0, 2.0])


# Names


def test_every_function_of_the_notation_is_one_of_the_package():
    for name in ("exp", "softmax", "det", "where", "logsumexp", "solve"):
        function = getattr(rc, name)
        assert function.__name__ == name and function.__doc__ and name in dir(rc)
        assert function is getattr(rc, name)
    assert_same(rc.det(rc.variable("M", SQUARE))(), np.linalg.det(SQUARE))
    assert_same(rc.inv(rc.variable("M", SQUARE), "j", "i")(), np.linalg.inv(SQUARE.T).T)
    assert_same(rc.solve(rc.variable("M", SQUARE), rc.variable("r[i]", W))(), np.linalg.solve(SQUARE, W))


def test_tensors():
    assert [str(t) for t in rc.tensors("X[m,n] w[n], s")] == ["X[m,n]", "w[n]", "s"]
    assert rc.tensors("X [m, n]")[0].indices == ("m", "n")
    assert rc.variable("α[i']").indices == ("i'",)
    assert (2 * rc.variable("x")).named("y").name == "y"


def test_an_input_may_have_any_name():
    names = ["self", "lambda", "formula", "inputs", "x_1", "λ", "None", "result"]
    for name in names:
        assert rc.parse(f"y = 2 {name}")(**{name: 3.0}) == 6
        assert (2 * rc.variable(name))(**{name: 3.0}) == 6


def test_a_product_in_steps_equals_the_same_product_in_one():
    step, flat = rc.parse("t[j] = B[j,k] x[k]; y[i] = A[i,j] t[j]"), rc.parse("y[i] = A[i,j] B[j,k] x[k]")
    assert step == flat and hash(step) == hash(flat)
    assert step != rc.parse("y[i] = A[i,j] B[k,j] x[k]")


def test_equivalent_compares_after_simplification():
    slope = rc.parse("y[i] = sigmoid(x[i])").diff("x[p]")
    by_hand = rc.parse("J[i,p] = delta[i,p] sigmoid(x[i]) (1 - sigmoid(x[i]))")
    assert slope != by_hand and slope.equivalent(by_hand)
    assert not slope.equivalent(rc.parse("J[i,p] = delta[i,p] sigmoid(x[i]) (2 - sigmoid(x[i]))"))


def test_axes_that_nothing_depends_on_are_counted_once():
    """In whatever order they are met: known sizes and symbolic ones."""
    x = variable("x", 1)
    n = axis_size("x", 0)
    for labels in permutations("abc"):
        sizes = dict(zip(labels, (3, n, 5), strict=True))
        found = product([(x, ("i",))], ("i",), sizes)
        assert found is product([(x, ("i",)), (constant(15), ()), (constant(n), ())], ("i",))
