"""Arrays that a function captures have the names that the user gives them: in texts, in LaTeX and in sources."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc

W = np.array([1.0, 5.0, 2.0])
X = np.array([1.0, 2.0, 3.0])


def around():
    A1, parts = np.arange(9.0).reshape(3, 3), {"k": np.ones(3)}
    return lambda x: (np.sin(A1 @ x) * W * parts["k"]).sum()


def test_names_of_closures_and_modules():
    f = rc.trace(around())(X)
    assert set(f.variables) - {"c2", "c2_1"} == {"x", "A1", "W"}
    assert "A1[i,j]" in str(f) and "W" in f.latex() and "array_" not in str(f)
    assert rc.parse(str(f)).variables == f.variables
    source = rc.explain(rc.grad(around()))(X).source
    assert "in_A1" in source and "in_W" in source
    np.testing.assert_allclose(f(x=X), around()(X))
    assert rc.trace(around())(X) == f


def test_one_name_stands_for_one_array():
    def other():
        W = np.array([7.0, 7.0, 8.0])
        return lambda x: (x * W).sum()

    first, second = rc.trace(lambda x: (x * W).sum())(X), rc.trace(other())(X)
    assert first.variables != second.variables
    np.testing.assert_allclose((first + second)(x=X), (X * W).sum() + (X * [7.0, 7.0, 8.0]).sum())

    def both(x, W_1):
        inner = other()
        return (W * x * W_1).sum() + inner(x)

    np.testing.assert_allclose(rc.grad(both)(X, X), W * X + [7.0, 7.0, 8.0])


@pytest.mark.parametrize("word", ["x", "exp", "pi"])
def test_names_that_mean_something_else(word):
    f = eval(f"(lambda {word}_: (lambda x: (x * {word}_).sum()))")(W)
    assert set(rc.trace(f)(X).variables) == {"x", f"{word}_"}
    names = {"np": np, word: W} if word != "x" else {"np": np}
    g = eval(f"lambda z: (z * {word if word != 'x' else 'np.array([1.0, 5.0, 2.0])'}).sum()", names)
    found = rc.trace(g)(X)
    assert word not in found.variables
    np.testing.assert_allclose(found(z=X), (X * W).sum())
