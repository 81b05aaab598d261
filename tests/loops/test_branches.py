"""``rc.cond`` and ``rc.switch``: values, derivatives, and that one branch is computed."""

import numpy as np
import pytest

import ricci as rc
from ricci.testing.interpreter import interpret

X, W = np.array([1.0, 2.0, 3.0]), 0.5 * np.eye(3) + 0.1


def either(x, w):
    return rc.cond(x.sum() > 0, lambda x: (np.sin(w @ x), x.sum()), lambda x: (np.cos(x) * 2, w.sum()), x)


def one(x, w, positive):
    return (np.sin(w @ x), x.sum()) if positive else (np.cos(x) * 2, w.sum())


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("part", [0, 1])
def test_like_the_branch(sign, part):
    x = sign * X
    for transform in (rc.grad, rc.hessian, lambda f: rc.grad(f, 1), lambda f: rc.jacfwd(rc.jacrev(f), 1)):
        found = transform(lambda x, w: either(x, w)[part].sum())(x, W)
        expected = transform(lambda x, w: one(x, w, sign > 0)[part].sum())(x, W)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_one_branch_is_computed():
    f = lambda x: rc.cond(x > 0, np.sqrt, lambda x: 3.0 * x, x)  # noqa: E731
    with np.errstate(all="raise"):
        assert (rc.grad(f)(4.0), rc.grad(f)(-4.0), rc.grad(rc.grad(f))(-4.0)) == (0.25, 3.0, 0.0)
    np.testing.assert_allclose(rc.vmap(rc.grad(f))(np.array([4.0, -4.0])), [0.25, 3.0])


def test_what_was_computed_before_is_computed_once():
    choice = lambda x: rc.cond(x > 0, lambda y: y + 1.0, lambda y: y - 1.0, np.exp(x))  # noqa: E731
    assert rc.trace(choice)(1.0).compile().source.count("exp(") == 1
    f = rc.compile(choice)
    np.testing.assert_allclose(f(1.0), np.exp(1.0) + 1)


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
def test_switch(index):
    branches = [np.sin, np.cos, np.exp]
    own = branches[min(max(index, 0), 2)]
    f = lambda x, k: rc.switch(k, branches, x)  # noqa: E731
    np.testing.assert_allclose(f(0.3, index), own(0.3))
    np.testing.assert_allclose(rc.grad(f)(0.3, np.array(index)), rc.grad(own)(0.3))
    np.testing.assert_allclose(rc.vmap(f, in_axes=(None, 0))(0.3, np.array([index, 1])), [own(0.3), np.cos(0.3)])


def test_whole_numbers_and_truths_are_chosen():
    f = rc.compile(lambda x: rc.cond(x > 0, lambda: (np.array([1, 2]), x > 5), lambda: (np.array([3, 4]), x < 5)))
    numbers, truth = f(1.0)
    assert numbers.tolist() == [1, 2] and numbers.dtype.kind == "i" and not truth


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_backends(backend):
    pytest.importorskip(backend)
    for sign in (1, -1):
        f = rc.grad(lambda x, w: either(x, w)[0].sum(), backend=backend)
        np.testing.assert_allclose(np.asarray(f(sign * X, W)), rc.grad(either_sum)(sign * X, W), rtol=1e-5)


def either_sum(x, w):
    return either(x, w)[0].sum()


def test_inside_a_loop():
    f = lambda x: rc.scan(lambda s, t: (rc.cond(s > 1.0, lambda s: 0.5 * s, lambda s: s * s + t, s), s), x, X)[0]  # noqa: E731

    def plain(x):
        for t in X:
            x = 0.5 * x if x > 1.0 else x * x + t
        return x

    for x in (0.3, 0.9, 1.5):
        np.testing.assert_allclose(f(x), plain(x))
        np.testing.assert_allclose(rc.grad(f)(x), (plain(x + 1e-6) - plain(x - 1e-6)) / 2e-6, rtol=1e-6)


def test_the_plain_interpreter_agrees():
    trace = rc.trace(lambda x: rc.cond(x.sum() > 0, np.sin, np.cos, x))(X)
    for sign in (1, -1):
        expected = np.sin(X) if sign > 0 else np.cos(-X)
        np.testing.assert_allclose(interpret([trace.expr], {"x": sign * X}, {})[0], expected)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: rc.cond(x > 0, lambda: 1.0, lambda: (1.0, 2.0)), "different forms"),
        (lambda x: rc.cond(x > 0, lambda: np.ones(2), lambda: np.ones(3)), "different shapes"),
        (lambda x: rc.cond(x, lambda: 1.0, lambda: 2.0), "truth value"),
        (lambda x: rc.cond(np.ones(2) > x, lambda: 1.0, lambda: 2.0), "rc.where"),
        (lambda x: rc.cond(x > 0, 1.0, 2.0), "function"),  # type: ignore
        (lambda x: rc.switch(0, [], x), "list of functions"),
    ],
)
def test_errors(call, message):
    with pytest.raises(rc.RicciError, match=message):
        rc.compile(call)(1.0)
