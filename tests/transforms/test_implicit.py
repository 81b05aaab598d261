"""Functions given by equations: roots, fixed points and minima, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ricci as rc
from ricci.transforms import implicit

RNG = np.random.default_rng(3)
A = RNG.normal(size=(3, 3)) + 4 * np.eye(3)
THETA = RNG.uniform(0.5, 1.5, size=3)
SEEDS = st.integers(0, 10**6)


def close(a, b, rtol=1e-9, atol=1e-10):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=atol)


def coupled(x, theta):
    return A @ x + np.tanh(x) * theta - theta


def entrywise(x, theta):
    return x**3 + x - theta


def of_tree(x, theta):
    return {"a": x["a"] ** 3 + x["b"].sum() - theta[0], "b": np.exp(x["b"]) * (1 + x["a"] ** 2) - theta[1]}


def contraction(x, theta, scale):
    return 0.3 * np.cos(scale * x) + theta


def energy(x, theta):
    return (np.cosh(x) * theta).sum() + 0.5 * x @ A.T @ A @ x - theta @ x


TREE = {"a": 1.0, "b": np.zeros(2)}
CASES = {
    "coupled": (rc.root(coupled, np.zeros(3)), (THETA,)),
    "entry by entry": (rc.root(entrywise, np.ones(3)), (THETA,)),
    "a number": (rc.root(entrywise, 1.0), (0.7,)),
    "a matrix": (rc.root(lambda x, t: A @ x + x**3 - t, np.zeros((3, 2))), (RNG.normal(size=(3, 2)),)),
    "rows apart": (rc.root(lambda x, t: x @ A + np.sin(x) - t, np.zeros((2, 3))), (RNG.normal(size=(2, 3)),)),
    "one entry": (rc.root(entrywise, np.ones(1)), (np.array([0.7]),)),
    "a tree": (rc.root(of_tree, TREE), ((3.0, np.array([1.5, 2.5])),)),
    "a fixed point": (rc.fixed_point(contraction, np.zeros(3)), (THETA, 0.8)),
    "a minimum": (rc.argmin(energy, np.zeros(3)), (THETA,)),
    "a minimum of a matrix": (
        rc.argmin(lambda x, t: ((x - t) ** 2).sum() + np.logaddexp(0, x).sum(), np.zeros((2, 2))),
        (RNG.normal(size=(2, 2)),),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_against_differences_to_the_second_order(name):
    f, args = CASES[name]
    rc.check_grads(f, args, order=2, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["coupled", "a tree", "a fixed point", "a minimum"])
def test_all_modes_agree(name):
    f, args = CASES[name]

    def loss(*args):
        leaves = f(*args)
        return sum((x**2).sum() for x in (leaves.values() if isinstance(leaves, dict) else [leaves]))

    first = [np.asarray(x) for x in flat(rc.grad(loss)(*args))]
    for transform in (rc.jacfwd, rc.jacrev, rc.jacobian):
        for found, g in zip(flat(transform(loss)(*args)), first, strict=True):
            close(found, g)
    second = flat(rc.hessian(loss)(*args))
    for outer in (rc.jacfwd, rc.jacrev):
        for found, h in zip(flat(outer(rc.grad(loss))(*args)), second, strict=True):
            close(found, h)


def flat(tree):
    return [x for part in tree for x in flat(part)] if isinstance(tree, tuple) else [tree]


def test_the_equations_hold():
    x = rc.root(coupled, np.zeros(3))(THETA)
    close(coupled(x, THETA), np.zeros(3))
    y = rc.fixed_point(contraction, np.zeros(3))(THETA, 0.8)
    close(contraction(y, THETA, 0.8), y)
    z = rc.argmin(energy, np.zeros(3))(THETA)
    close(rc.grad(energy)(z, THETA), np.zeros(3), atol=1e-7)


def test_a_known_root_to_the_fourth_order():
    f = sqrt = rc.root(lambda x, a: x * x - a, 1.0)
    for factor in (1 / 2, -1 / 2, -3 / 2, -5 / 2):
        f = rc.grad(f)
        assert factor
    close(sqrt(4.0), 2.0)
    close(f(4.0), -15 / 16 * 4.0**-3.5)


def test_jvp_and_vjp():
    f = rc.root(coupled, np.zeros(3))
    whole = rc.jacobian(f)(THETA)
    close(rc.jvp(f, (THETA,), (np.ones(3),))[1], whole @ np.ones(3))
    close(rc.vjp(f, THETA)[1](np.ones(3))[0], np.ones(3) @ whole)
    close(rc.linearize(f, THETA)[1](np.ones(3)), whole @ np.ones(3))


def test_against_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        jnp = jax.numpy

        def equation(theta):
            return lambda x: A @ x + jnp.tanh(x) * theta - theta

        def newton(f, x):
            for _ in range(8):
                x = x - jnp.linalg.solve(jax.jacobian(f)(x), f(x))
            return x

        def tangent(g, y):
            return jnp.linalg.solve(jax.jacobian(g)(y), y)

        def loss(theta):
            return (jax.lax.custom_root(equation(theta), jnp.zeros(3), newton, tangent) ** 2).sum()

        expected = jax.grad(loss)(THETA), jax.hessian(loss)(THETA)

    def ours(theta):
        return (rc.root(coupled, np.zeros(3))(theta) ** 2).sum()

    close(rc.grad(ours)(THETA), expected[0], 1e-8)
    close(rc.hessian(ours)(THETA), expected[1], 1e-8)


# Inside other functions


def test_vmap():
    thetas = RNG.uniform(0.5, 1.5, size=(4, 3))
    f = rc.root(coupled, np.zeros(3))
    close(rc.vmap(f)(thetas), [f(t) for t in thetas])
    close(rc.vmap(rc.jacobian(f))(thetas), [rc.jacobian(f)(t) for t in thetas])
    close(rc.vmap(rc.vmap(f))(thetas.reshape(2, 2, 3)), rc.vmap(f)(thetas).reshape(2, 2, 3))

    def loss(thetas):
        return (rc.vmap(f)(thetas) ** 2).sum()

    rc.check_grads(loss, (thetas,), order=2, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["coupled", "a matrix", "a tree", "a fixed point"])
def test_side_by_side(monkeypatch, name):
    f, args = CASES[name]
    many = [rc.tree_map(lambda x, k=k: np.asarray(x) * (1 + 0.1 * k), args) for k in range(4)]
    alone = [f(*each) for each in many]
    asked = []
    monkeypatch.setattr(implicit.Solving, "__call__", counted(asked, implicit.Solving.__call__))
    found = rc.vmap(f)(*rc.tree_map(lambda *xs: np.stack(xs), *many))
    assert asked == [True]  # all at once
    rc.tree_map(lambda x, *ys: close(x, np.stack(ys)), found, *alone)


def counted(asked, call):
    def solve(self, *args):
        asked.append(self.lanes)
        return call(self, *args)

    return solve


def test_side_by_side_each_is_found_to_its_own_size():
    sizes = np.array([1e-9, 1.0, 1e9])
    close(rc.vmap(rc.root(lambda x, a: x**3 - a, 1.0))(sizes), np.cbrt(sizes), atol=0)
    close(rc.vmap(rc.root(lambda x, a: np.arctan(x) - a, 5.0))(np.array([0.3, 1.5])), np.tan([0.3, 1.5]))


def test_what_is_met_on_the_way_has_derivatives():
    def loss(a):
        b = np.exp(a)
        return rc.root(lambda x, t: x * x - b * t, 1.0)(2.0)

    close(rc.grad(loss)(0.5), 0.5 * np.sqrt(2 * np.exp(0.5)))
    close(rc.grad(lambda a: rc.root(lambda x: x * x - a, 1.0)())(4.0), 0.25)


def test_the_start_has_no_derivative():
    def loss(a):
        return rc.root(lambda x, t: x * x - t, a)(2.0)

    assert rc.grad(loss)(3.0) == 0.0


def test_a_start_is_read_at_each_call():
    f = rc.root(lambda x, t: x * x - t, np.array([1.0]))
    close(f(4.0), [2.0])
    f.start[0] = -1.0
    close(f(4.0), [-2.0])


def test_bilevel():
    """The weight of a penalty, chosen by the loss on other data."""
    X, y = RNG.normal(size=(8, 3)), RNG.normal(size=8)
    other, wanted = RNG.normal(size=(5, 3)), RNG.normal(size=5)

    def inner(w, log_weight):
        return ((X @ w - y) ** 2).sum() + np.exp(log_weight) * (w @ w)

    def outer(log_weight):
        w = rc.argmin(inner, np.zeros(3))(log_weight)
        return ((other @ w - wanted) ** 2).sum()

    def by_hand(log_weight):
        w = np.linalg.solve(X.T @ X + np.exp(log_weight) * np.eye(3), X.T @ y)
        return ((other @ w - wanted) ** 2).sum()

    close(outer(0.3), by_hand(0.3))
    close(rc.grad(outer)(0.3), rc.grad(by_hand)(0.3))
    close(rc.hessian(outer)(0.3), rc.hessian(by_hand)(0.3))


def test_a_minimum_of_a_minimum():
    """A game: the best answer to an answer."""

    def answer(x):
        return rc.argmin(lambda y, x: (y - np.sin(x)) ** 2 + 0.1 * y**4, 0.0)(x)

    best = rc.argmin(lambda x, t: (x - t) ** 2 + answer(x), 0.0)
    rc.check_grads(best, (0.4,), order=1, rtol=1e-5, atol=1e-6)


def test_keywords_static_arguments_and_whole_numbers():
    assert rc.root(lambda x, a, b=1.0: x - a * b, 1)(3.0, b=2.0) == 6.0
    close(rc.root(lambda x, a, n: x**n - a, 1.0)(3.0, 2), np.sqrt(3))
    places = np.array([2, 0])
    f = rc.root(lambda x, a, i: entrywise(x, a[i]), np.ones(2))
    close(rc.jacobian(f)(THETA, places), rc.jacobian(rc.root(entrywise, np.ones(3)))(THETA)[places])

    def within(a, i):
        return rc.root(lambda x: entrywise(x, a[i]), np.ones(2))()

    close(rc.jacobian(within)(THETA, places), rc.jacobian(f)(THETA, places))


# Arrays of other kinds


def test_single_precision_and_no_entries():
    theta = THETA.astype(np.float32)
    for start in (np.zeros(3, np.float32), np.zeros(3)):
        f = rc.root(coupled, start)
        assert f(theta).dtype == (A @ start).dtype
        close(f(theta), rc.root(coupled, np.zeros(3))(THETA), 1e-5)
    one = rc.root(entrywise, 1.0)
    assert one(np.float32(2)).dtype == np.float32 and rc.grad(one)(np.float32(2)) == np.float32(0.25)
    nothing = rc.root(entrywise, np.ones((0, 2)))
    assert nothing(np.ones((0, 2))).shape == (0, 2)
    assert rc.jacobian(nothing)(np.ones((0, 2))).shape == (0, 2, 0, 2)


def test_tensors():
    theta = rc.Tensor(THETA)
    f = rc.root(coupled, np.zeros(3))
    (f(theta) ** 2).sum().backward()
    close(theta.grad, rc.grad(lambda t: (f(t) ** 2).sum())(THETA))


def test_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theta = torch.tensor(THETA)
    f = rc.root(lambda x, t: x**3 + torch.sin(x) - t, torch.ones(3, dtype=torch.float64))
    g = rc.root(lambda x, t: x**3 + np.sin(x) - t, np.ones(3))
    assert isinstance(f(theta), torch.Tensor)
    close(f(theta), g(THETA))
    close(rc.jacobian(f)(theta), rc.jacobian(g)(THETA))


def test_arrays_of_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    theta = jax.numpy.asarray(THETA)
    f = rc.root(lambda x, t: x**3 + jax.numpy.sin(x) - t, jax.numpy.ones(3))
    g = rc.root(lambda x, t: x**3 + np.sin(x) - t, np.ones(3))
    assert isinstance(f(theta), jax.Array)
    close(f(theta), g(THETA), 1e-5)
    close(rc.jacobian(f)(theta), rc.jacobian(g)(THETA), 1e-4, 1e-6)


# How it is looked for


def test_solvers_of_scipy():
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed")
    expected = rc.root(coupled, np.zeros(3))
    solvers = [
        lambda fun, x0: optimize.root(fun, x0).x,
        lambda fun, x0, jac: optimize.root(fun, x0, jac=jac).x,
        optimize.root,
    ]
    for solver in solvers:
        f = rc.root(coupled, np.zeros(3), solver=solver)
        close(f(THETA), expected(THETA), 1e-7)
        close(rc.jacobian(f)(THETA), rc.jacobian(expected)(THETA), 1e-6)
    between = rc.root(entrywise, 1.0, solver=lambda fun, x0: optimize.brentq(fun, 0.0, 10.0))
    close(rc.grad(between)(2.0), 0.25)
    f = rc.argmin(energy, np.zeros(3), solver=optimize.minimize)
    close(f(THETA), rc.argmin(energy, np.zeros(3))(THETA), 1e-4)
    whole = rc.argmin(lambda x, t: ((x - t) ** 2).sum(), np.zeros((2, 2)), solver=optimize.minimize)
    close(whole(np.eye(2)), np.eye(2), atol=1e-5)
    fixed = rc.fixed_point(contraction, np.zeros(3), solver=optimize.fixed_point)
    close(fixed(THETA, 0.8), rc.fixed_point(contraction, np.zeros(3))(THETA, 0.8), 1e-6)


def test_a_solver_is_given_the_derivatives_that_it_asks_for():
    seen = {}

    def newton(fun, x0, jac):
        seen["jac"] = jac(x0)
        for _ in range(20):
            x0 = x0 - np.linalg.solve(jac(x0), fun(x0))
        return x0

    rc.root(coupled, np.zeros(3), solver=newton)(THETA)
    close(seen["jac"], rc.jacobian(coupled)(np.zeros(3), THETA))

    def descent(fun, x0, jac, hess):
        seen["value"], seen["jac"], seen["hess"] = fun(x0), jac(x0), hess(x0)
        return rc.argmin(energy, x0)(THETA)

    rc.argmin(energy, np.zeros(3), solver=descent)(THETA)
    close(seen["value"], energy(np.zeros(3), THETA))
    close(seen["jac"], rc.grad(energy)(np.zeros(3), THETA))
    close(seen["hess"], rc.hessian(energy)(np.zeros(3), THETA))


def test_hard_starts():
    def valley(x, a):
        return (a - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    close(rc.argmin(valley, np.array([-1.2, 1.0]))(1.0), [1.0, 1.0])
    close(rc.root(lambda x, a: np.arctan(x) - a, 5.0)(0.3), np.tan(0.3))  # the first step goes far too far
    close(rc.argmin(lambda x, a: np.log(np.cosh(x - a)), 5.0)(0.3), 0.3)
    close(rc.root(lambda x, a: 1e9 * (x - 1e-9 * a), 1.0)(3.0), 3e-9)
    close(rc.root(lambda x, a: a * x, 1.0)(3.0), 0.0)


# What is refused


def far(x, a):
    return x * x + a


def test_what_is_not_found_says_how_far_it_is():
    with pytest.raises(rc.ConvergenceError, match=r"no root of far \(test_implicit.py, line \d+: def far") as found:
        rc.root(far, 1.0)(2.0)
    assert "the residual is 2 after" in str(found.value) and "max_steps" in str(found.value)
    with pytest.raises(rc.ConvergenceError, match=r"steps were not enough; the residual is .* after 2 steps"):
        rc.root(entrywise, 1.0, max_steps=2)(1000.0)
    with pytest.raises(rc.ConvergenceError, match="runs away; the last change is inf"):
        rc.fixed_point(lambda x, a: 2 * x + a, 1.0)(1.0)
    with pytest.raises(rc.ConvergenceError, match="last change is 1e-09 after 50 steps"):
        rc.fixed_point(lambda x, a: x - 1e-9 * (x - a), 1.0, max_steps=50)(2.0)
    with pytest.raises(rc.ConvergenceError, match="curved downwards, by -2"):
        rc.argmin(lambda x, a: -((x - a) ** 2), 1.0)(1.0)
    with pytest.raises(rc.ConvergenceError, match=r"no minimum of .* the gradient is 1 after"):
        rc.argmin(lambda x, a: a * x, 1.0)(1.0)
    with pytest.raises(rc.ConvergenceError, match="not finite where the search starts"):
        rc.root(entrywise, 1.0)(np.nan)
    with pytest.raises(rc.ConvergenceError, match="solver that was given did not find it; the residual is"):
        rc.root(entrywise, 1.0, solver=lambda fun, x0: x0)(1000.0)
    with pytest.raises(rc.ConvergenceError, match="no root of far"):
        rc.vmap(rc.root(far, 1.0))(np.array([-1.0, 1.0]))


def test_singular_jacobians():
    def flat(x, a):
        return np.array([[1.0, 1.0], [1.0, 1.0]]) @ x - a

    def bent(x, a):
        return np.stack([x[0] ** 2 + x[1], x[0] ** 2 - x[1]]) - a

    with pytest.raises(rc.ConvergenceError, match="Jacobian is singular"):
        rc.root(flat, np.ones(2))(np.array([1.0, 2.0]))
    with pytest.raises(rc.MatrixError, match=r"Jacobian of bent \(.*\) by its first argument; where it is singular"):
        rc.jacobian(rc.root(bent, np.zeros(2)))(np.zeros(2))


def test_results_that_do_not_fit():
    with pytest.raises(rc.ShapeError, match=r"returns the shape \(\) where x has \(3,\)"):
        rc.root(lambda x, a: (x * a).sum(), np.ones(3))(2.0)
    with pytest.raises(rc.ShapeError, match=r"returns \(·, ·\), where · is needed"):
        rc.root(lambda x, a: (x, a), 1.0)(2.0)
    with pytest.raises(rc.ShapeError, match=r"rc\.argmin is for functions whose result is a scalar"):
        rc.argmin(lambda x, a: x * a, np.ones(3))(2.0)
    with pytest.raises(rc.InputError, match="returns nothing"):
        rc.root(lambda x, a: None, 1.0)(2.0)
    with pytest.raises(rc.DTypeError, match="floating numbers, not from an array of the type int64"):
        rc.root(entrywise, np.arange(3))
    with pytest.raises(rc.InputError, match="not from 'here'"):
        rc.root(entrywise, "here")
    with pytest.raises(rc.InputError, match="shape"):
        rc.root(entrywise, np.ones(3), solver=lambda fun, x0: x0[:2])(THETA)


# Random equations


def random_equation(seed):
    """A function that has one root, at a random place, and whose Jacobian is not singular."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 5), rng.integers(1, 4)
    W, V = rng.normal(size=(n, n)) / n, rng.normal(size=(n, m))
    bend = [np.tanh, np.sin, lambda x: np.exp(-x * x), lambda x: x / (1 + x * x)][rng.integers(4)]
    mixed = [lambda x, t: V @ t, lambda x, t: np.sin(x) * (V @ t) / 8, lambda x, t: (V @ t) ** 2][rng.integers(3)]

    def f(x, t):
        return 2 * x + bend(W @ x) - mixed(x, t)

    return f, np.zeros(n), rng.uniform(-1, 1, m)


@settings(max_examples=12, deadline=None)
@given(SEEDS)
def test_random_equations(seed):
    f, x0, t = random_equation(seed)
    found = rc.root(f, x0)
    x = found(t)
    close(f(x, t), np.zeros_like(x0))
    close(rc.jacobian(found)(t), -np.linalg.solve(rc.jacobian(f)(x, t), rc.jacobian(f, argnums=1)(x, t)))
    rc.check_grads(found, (t,), order=2, rtol=1e-4, atol=1e-4)


def test_the_check_can_fail():
    wrong = rc.custom(rc.root(entrywise, 1.0))
    wrong.derivative(lambda t: 0 * t)
    with pytest.raises(rc.GradientMismatchError):
        rc.check_grads(wrong, (2.0,), order=1)
