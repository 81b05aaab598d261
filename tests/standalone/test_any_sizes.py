"""The code of a traced function is for arguments of any sizes, or refuses those that it is not for."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ricci as rc
from ricci.user import open_sizes

DRAWN = np.random.default_rng(0)


def drawn(*shape):
    return DRAWN.normal(size=shape)


def positive(n):
    basis = drawn(n, n)
    return basis @ basis.T + n * np.eye(n)


def errors(w, X, y):
    return np.mean((X @ w - y) ** 2)


def merged(x):
    z = (x - x.mean(0)).reshape(-1)
    return np.sum(z[::2] ** 2) / x.shape[0] + np.var(x)


def attention(q, k, v):
    s = q @ k.T / np.sqrt(q.shape[-1])
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True) @ v).sum()


def normalised(x, g, b):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


def process(K, y):
    A = K + 0.1 * np.eye(len(y))
    return 0.5 * (y @ np.linalg.solve(A, y) + np.linalg.slogdet(A)[1] + len(y) * np.log(2 * np.pi))


def weighted(x):
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] ** 2 * (i + 1)
    return total


def recurrent(h, W, xs):
    for t in range(xs.shape[0]):
        h = np.tanh(W @ h + xs[t])
    return h.sum()


def covariance(X):
    Z = X - X.mean(0)
    return Z.T @ Z / (len(X) - 1)


def causal(x):
    return np.where(np.tri(len(x), dtype=bool), np.outer(x, x), 0).sum()


def halves(x):
    return np.sum(x[: len(x) // 2] * x[len(x) // 2 : 2 * (len(x) // 2)])


def framed(x):
    return np.sum(np.pad(x, 1) ** 2) + np.concatenate([x, x[:2]]) @ np.ones(len(x) + 2)


def least_squares(X, y):
    b = np.linalg.solve(X.T @ X, X.T @ y)  # nothing that is square, and singular where X has few rows
    return np.sum((X @ b - y) ** 2)


def garch(r, p):
    v, total = r.var(), 0.0
    for t in range(1, len(r)):
        v = p[0] ** 2 + p[1] ** 2 * r[t - 1] ** 2 + p[2] ** 2 * v  # two parameters are too few
        total = total + np.log(v + 1) + r[t] ** 2 / (v + 1)
    return total / (len(r) - 1)


def embedded(table, at, y):
    return np.sum((table[at].sum(-1) - y) ** 2)  # small tables end before the places


def pooled(x):
    return np.sum(x.reshape(x.shape[0] // 2, 2, 3, 2).max(axis=(1, 3)) ** 2)  # even numbers of rows


def written(x, y):
    return np.mean(100 * (y - x**2) ** 2 + (1 - x) ** 2)  # numbers like 100 that are no sizes


def masked(x):
    n = len(x)
    s = np.where(np.tril(np.ones((n, n), bool)), np.outer(x, x), -1e9)
    return np.exp(s - s.max(axis=1, keepdims=True)).sum()


def ranked(x):
    return np.sort(x) @ np.arange(len(x)) / np.arange(1, len(x) + 1).sum() + np.linspace(0, 1, len(x)) @ x


def centred(X):
    n = len(X)
    return np.trace(X.T @ (np.eye(n) - np.ones((n, n)) / n) @ X)


def cross_entropy(X, at):
    return np.mean(np.log(np.exp(X).sum(1)) - X[np.arange(len(X)), at])


def likelihood(z, at):
    return -np.mean(z[np.arange(len(at)), at])  # fewer places than rows are allowed, and more are not


def smoothed(x):
    h = 0.0
    for i in range(len(x)):
        h = np.tanh(0.5 * h + x[i])
    return h


CALLS = [
    (errors, (drawn(3), drawn(4, 3), drawn(4)), (drawn(5), drawn(7, 5), drawn(7))),
    (merged, (drawn(4, 3),), (drawn(5, 7),)),
    (attention, (drawn(4, 3), drawn(5, 3), drawn(5, 2)), (drawn(2, 6), drawn(3, 6), drawn(3, 4))),
    (normalised, (drawn(4, 3), drawn(3), drawn(3)), (drawn(2, 6), drawn(6), drawn(6))),
    (process, (positive(3), drawn(3)), (positive(5), drawn(5))),
    (weighted, (drawn(4),), (drawn(7),)),
    (recurrent, (drawn(3), drawn(3, 3), drawn(5, 3)), (drawn(4), drawn(4, 4), drawn(8, 4))),
    (covariance, (drawn(4, 3),), (drawn(6, 2),)),
    (causal, (drawn(4),), (drawn(6),)),
    (halves, (drawn(6),), (drawn(9),)),
    (framed, (drawn(4),), (drawn(7),)),
    (least_squares, (drawn(4, 3), drawn(4)), (drawn(7, 2), drawn(7))),
    (garch, (drawn(12), drawn(3)), (drawn(15), drawn(4))),
    (embedded, (drawn(5, 3), np.array([4, 0, 4, -1]), drawn(4)), (drawn(9, 2), np.array([8, 3]), drawn(2))),
    (written, (drawn(3), drawn(3)), (drawn(5), drawn(5))),
    (masked, (drawn(4),), (drawn(7),)),
    (ranked, (drawn(4),), (drawn(7),)),
    (centred, (drawn(4, 2),), (drawn(5, 3),)),
    (cross_entropy, (drawn(4, 3), np.array([0, 2, 1, -1])), (drawn(2, 5), np.array([4, 1]))),
    (likelihood, (drawn(3, 4), np.array([0, 2, 3])), (drawn(5, 2), np.array([1, 0, 1, 1, 0]))),
    (smoothed, (drawn(9),), (drawn(14),)),
]


@pytest.mark.parametrize(
    ("function", "given", "others"),
    [pytest.param(*call, marks=[pytest.mark.thorough] * (call[0] is garch), id=call[0].__name__) for call in CALLS],
)
def test_one_trace_is_code_for_all_sizes(function, given, others):
    scalar = np.ndim(function(*given)) == 0
    for transform in (rc.compile, rc.grad, rc.hessian) if scalar else (rc.compile, rc.jacobian):
        code = transform(function).code()(*given)
        assert "raise ValueError" not in code and "sizes: |i| =" not in code
        for arguments in (given, others):
            np.testing.assert_allclose(code(*arguments), transform(function)(*arguments), rtol=1e-6, atol=1e-9)


def test_sizes_that_must_be_even():
    """The rows may be any even number; the columns are three pairs in the function itself."""
    code = rc.grad(pooled).code()(drawn(6, 6))
    given = drawn(10, 6)
    np.testing.assert_allclose(code(given), rc.grad(pooled)(given))
    assert "Axis 1 of x must have the size 6" in code and "Axis 0" not in code


def test_axes_of_one_size_need_not_be_one():
    """What is square by chance is not so in the code."""
    code = rc.grad(errors).code()(drawn(3), drawn(3, 3), drawn(3))
    assert re.search(r"Of w\[(\w)\], X\[(?!\1)\w,\1\]", code)
    given = drawn(2), drawn(5, 2), drawn(5)
    np.testing.assert_allclose(code(*given), rc.grad(errors)(*given))


def branching(x):
    return np.sum(x) if len(x) > 3 else np.prod(x)


def chosen(x, k):
    return rc.switch(k, [lambda v: v.mean(), lambda v: rc.cond(v.sum() > 0, np.sum, np.std, v) * len(v)], x)


def test_sizes_in_branches_are_open_whichever_is_taken():
    for transform in (rc.compile, rc.grad):
        made = transform(chosen).code()(drawn(4), np.array(0))
        assert "raise ValueError" not in made and not re.search(r"[1-9]\d\d", made.split('"""')[2])
        assert " \n" not in made and "\n\n    def branch1" in made
        julia = transform(chosen).code("julia")(drawn(4), np.array(0))
        assert not re.search(r"[1-9]\d\d", julia.split('"""')[2])
        for k, x in ((0, drawn(7)), (1, abs(drawn(3))), (1, -abs(drawn(5)))):
            np.testing.assert_allclose(made(x, np.array(k)), transform(chosen)(x, np.array(k)))


def test_one_size_is_asked_for_where_the_others_are_open():
    code = rc.code(np.polyval)(np.ones(3), np.ones(4))
    assert "p.shape != (3,)" in code and "x.shape" not in code
    np.testing.assert_array_equal(code(np.arange(3.0), np.arange(6.0)), np.polyval(np.arange(3.0), np.arange(6.0)))


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_sizes_on_which_it_depends_are_asked_for(backend):
    pytest.importorskip(backend)
    code = rc.grad(branching).code(backend)(drawn(4))
    assert "if x.shape != (4,):" in code
    with pytest.raises(ValueError, match=r"x must have the shape \(4,\)"):
        code(np.ones(3))
    julia = rc.grad(branching).code("julia")(drawn(4))
    assert 'size(x, 1) == 4 || throw(DimensionMismatch("axis 1 of x must have the size 4"))' in julia


def test_an_axis_of_size_1_stays_one():
    code = rc.grad(lambda x, b: ((x + b) ** 2).sum(), argnums=1).code()(drawn(4, 3), drawn(1, 3))
    np.testing.assert_allclose(code(np.ones((2, 5)), np.zeros((1, 5))), np.full((1, 5), 4.0))
    with pytest.raises(ValueError, match=r"Axis 0 of b must have the size 1"):
        code(np.ones((2, 5)), np.zeros((2, 5)))


def test_captured_arrays_keep_their_sizes():
    table = drawn(4)
    code = rc.grad(lambda x, s: (s.mean() * table * x).sum()).code()(drawn(4), drawn(3))
    assert code(np.ones(4), np.ones(8)).shape == (4,)
    with pytest.raises(ValueError, match=r"x must have the (size 4|shape)"):
        code(np.ones(5), np.ones(8))


def test_a_wrong_reading_is_found(monkeypatch):
    read = open_sizes.scaled_sizes
    twice = lambda *of: {n: (2 * found[0], *found[1:]) for n, found in read(*of).items()}  # noqa: E731
    monkeypatch.setattr(open_sizes, "scaled_sizes", twice)
    assert "if y.shape != (4,):" in rc.grad(errors).code()(*CALLS[0][1])


def falling(x):
    falls = np.exp(-(np.arange(len(x)) ** 1.5))  # arrays that follow from sizes in a way that cannot be told
    return np.where(np.arange(len(x)) % 3 == 0, x, TABLE * x) @ falls


TABLE = drawn(4)


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax", "julia"])
def test_what_a_function_makes_for_its_sizes_is_written_out(backend):
    if backend != "julia":
        pytest.importorskip(backend)
    code = rc.grad(falling).code(backend)(drawn(4))
    assert "f_grad(x, TABLE)" in code.replace("falling_grad", "f_grad") and re.search(r"\bfalls = .*", code)
    if backend == "numpy":
        np.testing.assert_allclose(code(np.ones(4)), rc.grad(falling)(np.ones(4)))


def test_states_that_begin_with_numbers_have_the_type_of_the_arguments():
    torch = pytest.importorskip("torch")
    x = np.linspace(0, 1, 9, dtype=np.float32)
    assert rc.grad(smoothed).code()(x)(x).dtype == np.float32
    assert rc.grad(smoothed).code("torch")(x)(torch.tensor(x)).dtype == torch.float32


def test_a_branch_on_sizes_is_found_where_only_small_ones_differ(monkeypatch):
    monkeypatch.setattr(open_sizes.Tracer, "holds", lambda *_: True)
    assert "raise ValueError" not in rc.grad(branching).code()(drawn(4))  # so the test is what finds it


@rc.signature("batch time d, d e -> batch time e")
def projected(x, w):
    return np.tanh(x @ w) / x.shape[1]


def test_signatures_name_the_indices_of_formulas_plans_and_code():
    given = drawn(2, 3, 4), drawn(4, 5)
    code = rc.compile(projected).code()(*given)
    assert "Of x[batch,time,d], w[d,e]. Gives [batch,time,e]." in code and '"btd,de->bte"' in code
    np.testing.assert_allclose(code(*given), projected(*given))
    assert "proj" in str(rc.trace(projected)(*given)) and "x[batch,time,d] w[d,e]" in str(rc.trace(projected)(*given))
    assert "de,btd->bte" in str(rc.explain(projected)(*given).plan)
    total = rc.signature("i j, j -> ")(lambda A, x: ((A @ x) ** 2).sum())  # whose letters others would have
    assert "Gives [j,j']" in rc.hessian(total, argnums=1).code()(drawn(2, 3), drawn(3))
    assert "ij,j->i" in str(rc.explain(rc.grad(total, argnums=1))(drawn(2, 3), drawn(3)).plan)


def test_docstrings_of_large_programs_end():
    def layers(Ws, x):
        for W in Ws:
            x = np.tanh(W @ x) / (1 + x @ x)
        return x.sum()

    given = [positive(3) for _ in range(12)], drawn(3)
    code = rc.grad(layers).code()(*given)
    said = code[code.index('"""') : code.rindex('"""')]
    assert said.count("\n") < 50 and " lines more" in said
    np.testing.assert_allclose(code(*given[0], given[1])[0], rc.grad(layers)(*given)[0])
