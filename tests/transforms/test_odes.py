"""Solutions of differential equations, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ricci as rc
from ricci.transforms import flows, runge_kutta

TS = np.linspace(0.0, 1.5, 4)
Y0 = np.array([1.0, 0.5])
RNG = np.random.default_rng(2)
W = RNG.normal(size=(3, 3)) / 2
SEEDS = st.integers(0, 10**6)


def close(a, b, rtol=1e-6, atol=1e-6):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=atol)


def oscillator(y, t, mu):
    return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


def flow(y0, ts, mu):
    return rc.odeint(oscillator, y0, ts)(mu)


def of_tree(y, t, theta):
    return {"p": -theta["k"] * y["q"] * np.cos(t) * y["p"], "q": y["p"].sum() * theta["m"]}


TREE = {"p": np.ones((1, 2)), "q": 0.5}
CASES = {
    "by a parameter": (lambda mu: flow(Y0, TS, mu), (1.2,)),
    "by the start": (lambda y0: flow(y0, TS, 1.2), (Y0,)),
    "by the times": (lambda ts: flow(Y0, ts, 1.2), (TS,)),
    "by all": (flow, (Y0, TS, 1.2)),
    "back in time": (flow, (Y0, TS[::-1].copy(), 1.2)),
    "a tree": (rc.odeint(of_tree, TREE, TS), ({"k": 1.1, "m": np.array(0.7)},)),
    "a number": (rc.odeint(lambda y, t, a: -a * y * np.cos(t), 1.0, TS), (0.7,)),
    "times twice": (rc.odeint(lambda y, t, a: a * y, np.ones(1), [0.0, 0.0, 1.0, 1.0]), (0.7,)),
    "met on the way": (lambda a: rc.odeint(lambda y, t: -a * y, 1.0, TS)(), (0.3,)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_derivatives_against_differences_to_the_second_order(name):
    f, args = CASES[name]
    rc.check_grads(f, args, order=2, rtol=1e-4, atol=1e-4)


def test_a_known_solution():
    ts = np.array([0.0, 1.0, 3.0])
    decay = rc.odeint(lambda y, t, a: -a * y, 1.0, ts)
    close(decay(0.5), np.exp(-0.5 * ts), 1e-7, 1e-7)
    close(rc.jacobian(decay)(0.5), -ts * np.exp(-0.5 * ts))
    close(rc.jacobian(rc.jacobian(rc.jacobian(decay)))(0.5), -(ts**3) * np.exp(-0.5 * ts))
    pendulum = rc.odeint(lambda y, t: (y[1], -y[0]), (0.0, 1.0), np.linspace(0, 10, 50))()
    close(pendulum[0], np.sin(np.linspace(0, 10, 50)))


def test_all_modes_agree():
    def loss(mu):
        return (flow(Y0, TS, mu) ** 2).sum()

    first = rc.grad(loss)(1.2)
    for transform in (rc.jacfwd, rc.jacrev, rc.jacobian):
        close(transform(loss)(1.2), first)
    second = rc.hessian(loss)(1.2)
    for outer in (rc.jacfwd, rc.jacrev):
        for inner in (rc.jacfwd, rc.jacrev):
            close(outer(inner(loss))(1.2), second)
    third = rc.jacfwd(rc.jacfwd(rc.jacfwd(loss)))(1.2)
    close(rc.grad(rc.grad(rc.grad(loss)))(1.2), third, 1e-5, 1e-5)
    close(rc.jacfwd(rc.grad(rc.grad(loss)))(1.2), third, 1e-5, 1e-5)


def test_against_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from jax.experimental.ode import odeint

    def of_jax(y, t, mu):
        return jax.numpy.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        expected = odeint(of_jax, Y0, TS, 1.2)
        grads = jax.grad(lambda *args: (odeint(of_jax, *args) ** 2).sum(), (0, 1, 2))(Y0, TS, 1.2)
    close(flow(Y0, TS, 1.2), expected)
    for found, g in zip(
        rc.grad(lambda y0, ts, a: (flow(y0, ts, a) ** 2).sum(), (0, 1, 2))(Y0, TS, 1.2), grads, strict=True
    ):
        close(found, g)


def test_many_parameters():
    def net(y, t, weights, bias):
        return np.tanh(weights @ y + bias) - y

    solve = rc.odeint(net, np.ones(3), TS)
    rc.check_grads(lambda w, b: (solve(w, b) ** 2).sum(), (W, np.zeros(3)), order=1, rtol=1e-4, atol=1e-4)
    by_rows = rc.jacfwd(solve)(W, np.zeros(3))
    close(rc.jacrev(solve)(W, np.zeros(3)), by_rows)


def test_vmap():
    starts = np.stack([Y0, 2 * Y0, -Y0])
    one = lambda y0: flow(y0, TS, 1.2)  # noqa: E731
    close(rc.vmap(one)(starts), [one(y0) for y0 in starts])
    close(rc.vmap(rc.jacobian(one))(starts), [rc.jacobian(one)(y0) for y0 in starts])
    rc.check_grads(rc.vmap(one), (starts[:2],), order=2, rtol=1e-4, atol=1e-4)


def test_inside_a_search():
    """Where to aim: the speed with which a falling body with drag gets to a place."""

    def fall(y, t, drag):
        return np.stack([y[1], -1.0 - drag * y[1]])

    def miss(speed, drag):
        start = np.array([0.0, 1.0]) * speed
        return rc.odeint(fall, start, np.array([0.0, 1.0]))(drag)[-1, 0] - 0.5

    aim = rc.root(miss, 1.0)
    close(miss(aim(0.3), 0.3), 0.0)
    rc.check_grads(aim, (0.3,), order=1, rtol=1e-4, atol=1e-4)


def test_captured_arrays_and_whole_numbers():
    def total(s):
        return rc.odeint(lambda y, t, s: s * (W @ y), np.ones(3), TS)(s).sum()

    rc.check_grads(total, (0.3,), order=1, rtol=1e-4, atol=1e-4)
    places = np.array([2, 0])
    found = rc.jacobian(rc.odeint(lambda y, t, a, i: -a[i] * y, np.ones(2), TS))(np.arange(3.0), places)
    close(found[:, 0, 2], -TS * np.exp(-2 * TS))
    close(found[:, 1, 0], -TS)
    with pytest.raises(rc.RuleError, match="pass it as an argument"):
        x = rc.trace(lambda s: rc.odeint(lambda y, t, s: s * (W @ y), np.ones(3), TS)(s).sum())(0.3)
        x.diff("W")


def test_arrays_of_other_kinds():
    single = rc.odeint(oscillator, Y0.astype(np.float32), TS.astype(np.float32))
    assert single(np.float32(1.2)).dtype == np.float32
    close(single(np.float32(1.2)), flow(Y0, TS, 1.2), 1e-5, 1e-5)
    mu, start = rc.Tensor(1.2), rc.Tensor(Y0)
    rc.odeint(oscillator, start, TS)(mu).sum().backward()
    for tensor, number in ((start, 0), (mu, 2)):
        close(tensor.grad, rc.grad(lambda *args: flow(*args).sum(), number)(Y0, TS, 1.2))
    nothing = rc.odeint(lambda y, t, a: a * y, np.ones(0), TS)
    assert nothing(1.0).shape == (4, 0) and rc.jacobian(nothing)(1.0).shape == (4, 0)
    assert rc.odeint(oscillator, Y0, [])(1.0).shape == (0, 2)
    now = rc.odeint(oscillator, Y0, [3.0])
    close(now(1.0), Y0[None])
    assert not rc.jacobian(now)(1.0).any()
    assert not rc.jacobian(lambda ts: flow(Y0, ts, 1.2))(np.ones(1)).any()
    close(rc.grad(lambda end: rc.odeint(lambda y, t: y, 1.0, [0.0, end])()[-1])(1.0), np.e)


def test_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def of_torch(y, t, mu):
        return torch.stack([y[1] + 0 * torch.sin(t), mu * (1 - y[0] ** 2) * y[1] - y[0]])

    start, ts, mu = torch.tensor(Y0), torch.tensor(TS), torch.tensor(1.2, dtype=torch.float64)
    found = rc.grad(lambda mu: rc.odeint(of_torch, start, ts)(mu).sum())(mu)
    assert isinstance(found, torch.Tensor)
    close(found, rc.grad(lambda mu: flow(Y0, TS, mu).sum())(1.2))


def test_arrays_of_jax():
    jnp = pytest.importorskip("jax", reason="JAX is not installed").numpy

    def of_jax(y, t, mu):
        return jnp.stack([y[1] + 0 * jnp.sin(t), mu * (1 - y[0] ** 2) * y[1] - y[0]])

    found = rc.grad(lambda mu: rc.odeint(of_jax, jnp.asarray(Y0), jnp.asarray(TS))(mu).sum())(jnp.asarray(1.2))
    close(found, rc.grad(lambda mu: flow(Y0, TS, mu).sum())(1.2), 1e-5)


def test_solvers_of_scipy():
    integrate = pytest.importorskip("scipy.integrate", reason="SciPy is not installed")

    def exact(fun, y, ts):
        return integrate.odeint(fun, y, ts, rtol=1e-10, atol=1e-10)

    def other(fun, y, ts):
        back = lambda t, y: fun(y, t)  # noqa: E731
        return integrate.solve_ivp(back, (ts[0], ts[-1]), y, t_eval=ts, method="LSODA", rtol=1e-9, atol=1e-9).y.T

    for solver in (exact, other):
        given = lambda y0, ts, mu: rc.odeint(oscillator, y0, ts, solver=solver)(mu)  # noqa: B023, E731
        close(given(Y0, TS, 1.2), flow(Y0, TS, 1.2))
        for f in (lambda f: rc.grad(lambda *args: f(*args).sum(), (0, 1, 2)), lambda f: rc.jacfwd(f, (0, 1, 2))):
            for found, expected in zip(f(given)(Y0, TS, 1.2), f(flow)(Y0, TS, 1.2), strict=True):
                close(found, expected, 1e-5, 1e-5)
    close(rc.hessian(lambda mu: rc.odeint(oscillator, Y0, TS, solver=exact)(mu).sum())(1.2), -0.0666158, 1e-4)
    stiff = rc.odeint(lambda y, t, a: -1e6 * (y - a), np.zeros(1), [0.0, 1.0], solver=integrate.odeint)
    close(stiff(2.0)[-1], [2.0])


def test_what_is_lost_in_time_is_not_looked_for_there():
    """Going back from the end, the solution of an equation that forgets would run away."""
    forget = rc.odeint(lambda y, t, a: -50 * (y - a * np.cos(t)), 1.0, [0.0, 3.0])
    rc.check_grads(forget, (1.3,), order=1, rtol=1e-4, atol=1e-4)


# The steps


def test_the_coefficients():
    steps = runge_kutta.SLOPES
    close([row.sum() for row in steps], runge_kutta.TIMES, 1e-14, 1e-14)
    close(runge_kutta.WITHIN.sum(1), [*steps[6], 0.0], 1e-14, 1e-14)
    for power in range(1, 6):  # of order five, and the other solution of order four
        whole = sum(b * c ** (power - 1) for b, c in zip(steps[6], runge_kutta.TIMES, strict=False))
        close(whole, 1 / power, 1e-13, 1e-13)
        error = runge_kutta.ERROR @ runge_kutta.TIMES ** (power - 1.0)
        assert (abs(error) < 1e-14) == (power < 5)


def test_the_error_follows_the_tolerance():
    errors = []
    for tol in (1e-4, 1e-7, 1e-10):
        found = rc.odeint(lambda y, t: (y[1], -y[0]), (0.0, 1.0), np.linspace(0, 5, 30), rtol=tol, atol=tol)()
        errors.append(np.abs(found[0] - np.sin(np.linspace(0, 5, 30))).max())
        assert errors[-1] < 100 * tol
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("name", ["by all", "back in time", "a tree", "times twice"])
def test_kernels_are_worth_the_same(monkeypatch, name):
    pytest.importorskip("numba", reason="Numba is not installed")
    f, args = CASES[name]
    plain = [rc.jacfwd(f)(*args), rc.jacrev(f)(*args)]
    made = []

    def counted(flow, kind, make=flows.Flow.kernel):
        made.append((kind, make(flow, kind)))
        return made[-1][1]

    monkeypatch.setattr(flows.Flow, "kernel", counted)
    monkeypatch.setattr(flows, "MANY", 0)
    rc.cache_clear()
    for found, expected in zip([rc.jacfwd(f)(*args), rc.jacrev(f)(*args)], plain, strict=True):
        close(leaves(found), leaves(expected))
    assert made and all(program is not None for _, program in made)


def leaves(tree):
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, tuple) else [np.ravel(tree)]
    return np.concatenate([np.ravel(part) if isinstance(part, np.ndarray) else leaves(part) for part in parts])


def test_many_steps_far_from_zero():
    """Times that are large beside the steps between them."""
    ts = 1e6 + np.array([0.0, 0.3, 0.7, 1.0])
    solve = rc.odeint(lambda y, t, a: np.stack([y[1], -a * y[0]]), Y0, ts)
    rc.check_grads(lambda a: (solve(a) ** 2).sum(), (40.0,), order=1, rtol=1e-4, atol=1e-4)


# What is refused


def runs_away(y, t, a):
    return a * y * y


def test_what_is_not_found_says_where_it_is():
    with pytest.raises(
        rc.ConvergenceError, match=r"of runs_away \(test_odes.py, line \d+: def .* came from t = 0 to 1 of"
    ):
        rc.odeint(runs_away, 1.0, [0.0, 2.0])(1.0)
    with pytest.raises(rc.ConvergenceError, match=r"steps were not enough; .* of 100 in 20 steps"):
        rc.odeint(oscillator, Y0, [0.0, 100.0], max_steps=20)(1.0)
    with pytest.raises(rc.ConvergenceError, match="no solution of runs_away"):
        rc.odeint(runs_away, 1.0, [0.0, 2.0])(np.nan)
    with pytest.raises(rc.ConvergenceError, match="what its solver gave is not finite"):
        rc.odeint(runs_away, 1.0, [0.0, 1.0], solver=lambda fun, y, ts: np.full((2, 1), np.nan))(1.0)


def test_what_does_not_fit():
    with pytest.raises(rc.InputError, match="times that go one way"):
        rc.odeint(oscillator, Y0, [0.0, 2.0, 1.0])(1.0)
    with pytest.raises(rc.ShapeError, match=r"returns the shape \(\) where y has \(2,\)"):
        rc.odeint(lambda y, t, a: a, Y0, TS)(1.0)
    with pytest.raises(rc.ShapeError, match=r"returned the shape \(2, 4\), where \(4, 2\) is needed"):
        rc.odeint(oscillator, Y0, TS, solver=lambda fun, y, ts: np.ones((2, 4)))(1.0)
    with pytest.raises(rc.ShapeError, match="with one axis"):
        rc.odeint(oscillator, Y0, np.ones((2, 2)))
    with pytest.raises(rc.InputError, match="not 'soon'"):
        rc.odeint(oscillator, Y0, "soon")


# Random fields


@settings(max_examples=4, deadline=None)
@given(SEEDS)
def test_random_fields(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 4), rng.integers(1, 3)
    A, B = rng.normal(size=(n, n)) / 2, rng.normal(size=(n, m))
    bend = [np.tanh, np.sin, lambda y: y / (1 + y * y)][rng.integers(3)]

    def field(y, t, theta):
        return bend(A @ y + B @ theta) - y * np.cos(t)

    args = (rng.normal(size=n), np.cumsum(rng.uniform(0.2, 0.5, rng.integers(2, 4))), rng.normal(size=m))
    f = lambda y0, ts, theta: rc.odeint(field, y0, ts)(theta)  # noqa: E731
    rc.check_grads(f, args, order=2, modes=("forward", "reverse"), rtol=1e-3, atol=1e-3)
    for forward, reverse in zip(rc.jacfwd(f, (0, 1, 2))(*args), rc.jacrev(f, (0, 1, 2))(*args), strict=True):
        close(forward, reverse, 1e-5, 1e-5)
