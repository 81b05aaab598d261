"""What SciPy's optimisers are given by ``rc.problem``: values, derivatives, and the minima that come of them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.transforms.objectives import METHODS, PRODUCTS, SPARSE, WHOLE, Problem

optimize = pytest.importorskip("scipy.optimize", reason="the optimisers are SciPy's, which is not installed")
sparse = pytest.importorskip("scipy.sparse")
RNG = np.random.default_rng(0)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def logloss(w, X, y):
    return np.log1p(np.exp(-y * (X @ w))).sum() + 0.1 * w @ w


def of_tree(p, X):
    return (np.tanh(X @ p["W"].T + p["b"]) ** 2).sum() + (p["W"] ** 2).sum() + (p["s"] - 1.0) ** 2


def decay(p, t, y):
    return p["a"] * np.exp(-p["b"] * t) - y


def curve(x):
    return {"fit": x - np.sin(np.arange(x.size) / 50), "smooth": 3 * (x[2:] - 2 * x[1:-1] + x[:-2])}


TREE = {"W": RNG.normal(size=(3, 2)), "b": np.zeros(3), "s": 2.0}
X = RNG.normal(size=(20, 2))


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method):
    """Each is given what it uses, and nothing that it warns of."""
    start = np.array([1.1, 1.2])
    found = rc.problem(rosenbrock, start, method=method)
    assert ("hessp" in found) == (method in PRODUCTS)
    assert ("hess" in found) == (method in SPARSE or method in WHOLE)
    try:
        result = optimize.minimize(**found)
    except (ValueError, ImportError) as error:
        pytest.skip(f"this SciPy has no {method}: {error}")
    assert result.fun < rosenbrock(start) / 2


def test_without_a_method():
    found = rc.problem(rosenbrock, np.zeros(6))
    assert list(found) == ["fun", "x0", "jac", "hessp"]
    for method in PRODUCTS:
        assert optimize.minimize(**found, method=method).fun < 1e-8


def test_derivatives_are_those_of_the_function():
    found = {m: rc.problem(rosenbrock, np.zeros(6), method=m) for m in ("trust-ncg", "trust-constr", "dogleg")}
    x, v = RNG.normal(size=6), RNG.normal(size=6)
    H = rc.hessian(rosenbrock)(x)
    for one in found.values():
        assert one["fun"](x) == pytest.approx(rosenbrock(x))
        np.testing.assert_allclose(one["jac"](x), rc.grad(rosenbrock)(x))
    np.testing.assert_allclose(found["trust-ncg"]["hessp"](x, v), H @ v)
    assert sparse.issparse(found["trust-constr"]["hess"](x))
    np.testing.assert_allclose(found["trust-constr"]["hess"](x).toarray(), H)
    np.testing.assert_allclose(found["dogleg"]["hess"](x), H)


def test_a_gradient_may_be_written_into():
    found = rc.problem(rosenbrock, np.zeros(6))
    found["jac"](np.ones(6))[:] = np.nan
    assert np.isfinite(found["jac"](np.ones(6))).all()


@pytest.mark.parametrize("data", [(X, np.sign(X[:, 0])), {"X": X, "y": np.sign(X[:, 0])}])
def test_data(data):
    found = rc.problem(logloss, np.zeros(2), data)
    result = optimize.minimize(**found, method="trust-ncg")
    assert np.abs(rc.grad(logloss)(result.x, X, np.sign(X[:, 0]))).max() < 1e-4
    alone = rc.problem(lambda p, X: (X @ p - 1.0) @ (X @ p - 1.0), np.zeros(2), X)  # one array
    wanted = np.linalg.lstsq(X, np.ones(20), rcond=None)[0]
    np.testing.assert_allclose(optimize.minimize(**alone, method="Newton-CG", tol=1e-10).x, wanted, atol=1e-5)


def test_trees():
    found = rc.problem(of_tree, TREE, (X,), method="trust-constr")
    x = found["x0"]
    assert x.shape == (10,) and x.dtype == np.float64
    tree = found.tree(x)
    assert tree.keys() == TREE.keys() and all(np.array_equal(tree[k], TREE[k]) for k in TREE)
    gradient = rc.grad(of_tree)(TREE, X)
    np.testing.assert_allclose(found["jac"](x), np.concatenate([np.ravel(gradient[k]) for k in TREE]))
    assert found["hess"](x).nnz == 3 * 9 + 1  # units of a layer do not meet
    result = optimize.minimize(**found)
    assert result.fun < 1e-6 and found.tree(result.x)["W"].shape == (3, 2)


def test_least_squares():
    t = np.linspace(0, 3, 50)
    found = rc.problem(decay, {"a": 1.0, "b": 1.0}, (t, 2 * np.exp(-0.7 * t)), squares=True)
    assert isinstance(found["jac"](found["x0"]), np.ndarray)
    result = found.tree(optimize.least_squares(**found).x)
    assert result == pytest.approx({"a": 2.0, "b": 0.7})
    long = rc.problem(curve, np.zeros(80), squares=True)
    jacobian = long["jac"](long["x0"])
    assert sparse.issparse(jacobian) and jacobian.nnz == 80 + 3 * 78
    result = optimize.least_squares(**long)
    wanted = np.linalg.lstsq(jacobian.toarray(), -long["fun"](np.zeros(80)), rcond=None)[0]
    np.testing.assert_allclose(result.x, wanted, atol=1e-6)


def test_bounds():
    t = np.linspace(0, 3, 50)
    data = (t, 2 * np.exp(-0.7 * t))
    start = {"a": 1.0, "b": 1.0}
    found = rc.problem(decay, start, data, squares=True, bounds=(0.0, {"a": 1.5, "b": 3.0}))
    assert optimize.least_squares(**found).x[0] == pytest.approx(1.5, abs=1e-3)
    below = rc.problem(lambda p: (p**2).sum(), np.ones(2), bounds=(np.array([0.5, -1.0]), np.inf), method="L-BFGS-B")
    np.testing.assert_allclose(optimize.minimize(**below).x, [0.5, 0.0], atol=1e-6)


def test_scalars_and_lists():
    found = rc.problem(
        lambda p: (p[0] - 3.0) ** 2 + ((p[1] - 1.0) ** 4).sum(), [1.0, np.zeros(2)], method="trust-exact"
    )
    x = found.tree(optimize.minimize(**found, tol=1e-10).x)
    assert x[0] == pytest.approx(3.0) and np.allclose(x[1], 1.0, atol=1e-2)
    one = rc.problem(lambda x: (x - 2.0) ** 2, 0.0)
    assert optimize.minimize(**one, method="trust-ncg").x == pytest.approx([2.0])


def test_problems_travel():
    found = rc.problem(rosenbrock, np.zeros(4), method="trust-constr")
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again, Problem) and again["fun"](np.ones(4)) == 0.0
    np.testing.assert_allclose(again.tree(np.ones(4)), np.ones(4))


def test_what_is_refused():
    no_function: Any = 3.0
    for act, error, words in [
        (
            lambda: rc.problem(no_function, np.zeros(2)),
            rc.InputError,
            "takes a function of what is to be found, not 3.0",
        ),
        (lambda: rc.problem(rosenbrock, np.zeros(2), method="newton"), rc.InputError, "the methods of minimize are"),
        (lambda: rc.problem(rosenbrock, "a"), rc.InputError, "x0 holds 'a', where numbers are needed"),
        (lambda: rc.problem(curve, np.zeros(5), squares=True, method="lm"), rc.InputError, "methods|least_squares"),
        (lambda: rc.problem(rosenbrock, np.zeros(2), bounds=3.0), rc.InputError, "two trees, or numbers, below and"),
        (lambda: rc.problem(rosenbrock, np.zeros(2), bounds=(0.0, np.ones(3))), rc.ShapeError, "bounds above have"),
        (lambda: rc.problem(lambda x: x, np.zeros(2))["fun"](np.zeros(2)), rc.ShapeError, "<lambda> returns an array"),
    ]:
        with pytest.raises(error, match=words):
            act()
