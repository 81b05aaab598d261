"""The order of a tensor that a text names without indices alone, ``mean(A)``, is that of the array of the call."""

import copy
import pickle

import numpy as np
import pytest

import ricci as rc

FUNCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "var": np.var,
    "std": np.std,
    "norm": lambda x: np.sqrt(np.sum(x**2)),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x))),
}
RANDOM = np.random.default_rng(0)
ARRAYS = [RANDOM.uniform(0.5, 1.5, shape) for shape in [(4,), (3, 4), (2, 3, 2), (1, 1), ()]]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_value_and_derivatives(name):
    f, function = rc.parse(f"y = 2 {name}(A) s"), FUNCTIONS[name]
    first, second = f.diff("A"), f.diff("A", "A")
    arrays = ARRAYS[:3] if name == "std" else ARRAYS  # of one entry it has no derivative
    for x in [*arrays, *arrays[::-1]]:
        program = lambda A, s: 2 * function(A) * s  # noqa: E731
        for call in (f, f.compile("numpy"), f.compile("numpy", simplify=False)):
            np.testing.assert_allclose(call(A=x, s=1.5), program(x, 1.5))
        np.testing.assert_allclose(first(A=x, s=1.5), rc.grad(program)(x, 1.5), atol=1e-14)
        np.testing.assert_allclose(second(A=x, s=1.5), rc.hessian(program)(x, 1.5), atol=1e-14)
        np.testing.assert_allclose(f.diff("s")(A=x, s=1.5), 2 * function(x))


def test_several_formulas_of_one_compiled_function():
    f = rc.parse("y[i] = mean(A) b[i] max(C)")
    A, b, C = ARRAYS[1], ARRAYS[0], ARRAYS[2]
    both = rc.compile([f, f.diff("A")])
    for c in (both, copy.deepcopy(both), pickle.loads(pickle.dumps(both))):
        value, slope = c(A=A, b=b, C=C)
        np.testing.assert_allclose(value, A.mean() * b * C.max())
        np.testing.assert_allclose(slope, b[:, None, None] * C.max() * np.full((3, 4), 1 / 12))
        np.testing.assert_allclose(c(A, b, C)[0], value)
    lists = f(A=A.tolist(), b=b.tolist(), C=C.tolist())
    np.testing.assert_allclose(lists, A.mean() * b * C.max())


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_on_other_backends(backend):
    library = pytest.importorskip(backend)
    make = library.tensor if backend == "torch" else library.numpy.asarray
    x = ARRAYS[1].astype(np.float32)
    f = rc.parse("y = logsumexp(A)")
    for call, wanted in [(f, FUNCTIONS["logsumexp"](x)), (f.diff("A"), np.exp(x) / np.exp(x).sum())]:
        for compiled in (call, call.compile(backend)):
            found = compiled(A=make(x))
            assert isinstance(found, type(make(x))) and found.shape == wanted.shape
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-5)


def test_in_programs_and_on_tensors():
    f, x = rc.parse("y = mean(A)"), ARRAYS[1]
    np.testing.assert_allclose(rc.grad(lambda x: f(A=x**2))(x), 2 * x / 12)
    t = rc.Tensor(x)
    f(A=t).backward()
    np.testing.assert_allclose(t.grad.numpy(), np.full((3, 4), 1 / 12))
    assert rc.vmap(lambda x: f(A=x))(ARRAYS[2]).shape == (2,)


def test_a_statement_and_other_names_of_its_indices():
    f = rc.parse("m = mean(A); y[i] = m x[i]")
    assert np.isclose(f["m"](A=ARRAYS[1]), ARRAYS[1].mean())
    g = f.rename(i="q").diff("x[p]")
    np.testing.assert_allclose(g(A=ARRAYS[1], x=np.ones(2)), ARRAYS[1].mean() * np.eye(2))


def test_indices_that_a_derivative_asks_for_say_the_order():
    f = rc.parse("y = mean(A)")
    d = f.diff("A[p,q]")
    assert d.indices == ("p", "q") and d(A=ARRAYS[1]).shape == (3, 4)
    with pytest.raises(rc.ShapeError, match=r"A\[p\] has 1 axes.*write them, as in sum\[i,j\]\(A\[i,j\]\)"):
        f.diff("A[p]")(A=ARRAYS[1])


def test_where_the_text_says_the_order_or_is_not_there_the_call_is_refused():
    for f in (rc.parse("y = mean(A) + A[i] A[i]"), rc.parse("y = mean(A)") + 1):
        with pytest.raises(rc.ShapeError, match="has 1 axes, and the array given for it has 2"):
            f(A=ARRAYS[1])
        assert np.shape(f(A=ARRAYS[0])) == ()
    with pytest.raises(rc.ShapeError, match="write them, as in"):
        (rc.parse("y = mean(A)") + 1)(A=ARRAYS[1])
    with pytest.raises(rc.ShapeError, match="has 2 axes"):
        rc.parse("y = det(A)")(A=ARRAYS[0])
