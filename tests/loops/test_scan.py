"""``rc.scan`` and ``rc.fori_loop``: values and derivatives beside plain loops."""

import numpy as np
import pytest

import ricci as rc

RNG = np.random.default_rng(0)
Y = RNG.normal(size=30)
THETA = np.array([1.0, 0.1, 0.2, 0.7])


def garch(theta, y):
    def step(carry, now):
        h, total = carry
        total = total + np.log(h) + now**2 / h
        return (theta[1] + theta[2] * now**2 + theta[3] * h, total), h

    (_, total), hs = rc.scan(step, (theta[0], 0.0), y)
    return total, hs


def plain_garch(theta, y):
    h, total, hs = theta[0], 0.0, []
    for now in y:
        hs.append(h)
        total = total + np.log(h) + now**2 / h
        h = theta[1] + theta[2] * now**2 + theta[3] * h
    return total, np.stack(hs)


def test_value_and_outputs():
    for found in (garch(THETA, Y), rc.compile(garch)(THETA, Y)):
        for a, b in zip(found, plain_garch(THETA, Y), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("part", [0, 1])
def test_derivatives(part):
    def own(theta, y, f):
        return f(theta, y)[part].sum()

    for transform in (rc.grad, rc.hessian):
        found = transform(lambda t, y: own(t, y, garch))(THETA, Y)
        expected = transform(lambda t, y: own(t, y, plain_garch))(THETA, Y)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_trees_are_carried():
    def f(carry, x):
        new = {"a": np.tanh(carry["a"] * x["p"]) + carry["b"][0], "b": (carry["b"][0] * 0.5 + x["q"].sum(),)}
        return new, (new["a"], None)

    init = {"a": np.ones(3), "b": (2.0,)}
    xs = {"p": RNG.normal(size=(5, 3)), "q": RNG.normal(size=(5, 2))}
    final, (ys, nothing) = rc.scan(f, init, xs)
    carry, all_ys = init, []
    for t in range(5):
        carry, (y, _) = f(carry, {name: x[t] for name, x in xs.items()})
        all_ys.append(y)
    assert nothing is None and set(final) == {"a", "b"}
    np.testing.assert_allclose(final["a"], carry["a"])
    np.testing.assert_allclose(final["b"][0], carry["b"][0])
    np.testing.assert_allclose(ys, np.stack(all_ys))


def test_reverse():
    xs = RNG.normal(size=6)
    final, ys = rc.scan(lambda s, x: (0.5 * s + x, s), 0.0, xs, reverse=True)
    back, flipped = rc.scan(lambda s, x: (0.5 * s + x, s), 0.0, xs[::-1])
    np.testing.assert_allclose(final, back)
    np.testing.assert_allclose(ys, flipped[::-1])


def test_tensors():
    theta = rc.Tensor(THETA)
    garch(theta, Y)[0].backward()
    np.testing.assert_allclose(theta.grad, rc.grad(lambda t: plain_garch(t, Y)[0])(THETA), rtol=1e-9)


def test_mapped():
    many = THETA * RNG.uniform(0.9, 1.1, size=(3, 4))
    found = rc.vmap(rc.grad(lambda t: garch(t, Y)[0]))(many)
    expected = [rc.grad(lambda t: plain_garch(t, Y)[0])(t) for t in many]
    np.testing.assert_allclose(found, np.stack(expected), rtol=1e-9)


def test_fori_loop():
    a = RNG.normal(size=5)
    f = lambda x: rc.fori_loop(1, 5, lambda i, s: np.sin(s) * x[i] + i, x[0])  # noqa: E731

    def plain(x):
        s = x[0]
        for i in range(1, 5):
            s = np.sin(s) * x[i] + i
        return s

    np.testing.assert_allclose(f(a), plain(a))
    np.testing.assert_allclose(rc.grad(f)(a), rc.grad(plain)(a))


def test_a_million_steps():
    final, _ = rc.scan(lambda s, _: (0.999999 * s + 1e-6, None), 0.0, length=1_000_000)
    np.testing.assert_allclose(final, 1 - np.exp(-1), rtol=1e-5)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: rc.scan(lambda c, x: (c, x), 0.0), "length="),
        (lambda: rc.scan(lambda c, x: (c, x), 0.0, (np.ones(2), np.ones(3))), "one size"),
        (lambda: rc.scan(lambda c, x: (c, x), 0.0, np.ones(2), length=3), "length=3"),
        (lambda: rc.scan(lambda c, x: (c, x), 0.0, 1.0), "number"),
        (lambda: rc.scan(lambda c, x: c, 0.0, np.ones(2)), "pair"),
        (lambda: rc.scan(lambda c, x: ((c, c), x), 0.0, np.ones(2)), "another form"),
        (lambda: rc.scan(lambda c, x: (np.stack([c, c]), x), 0.0, np.ones(2)), "keeps its shape"),
        (lambda: rc.scan(lambda c, x: (c * x, x), np.ones(2, np.float32), np.ones((2, 2))), "keeps its type"),
        (lambda: rc.scan(lambda c, x: (c, x), "text", np.ones(2)), "str"),
    ],
)
def test_errors(call, message):
    with pytest.raises(rc.RicciError, match=message):
        call()


@pytest.mark.parametrize("seed", range(25))
def test_whatever_depends_on_whatever(seed):
    """Numbers that are carried, each made of some of them: in circles, in chains, of itself alone, of nothing."""
    uses = np.random.default_rng(seed).random((4, 4)) < 0.35

    def f(carry, x):
        new = [np.sin(sum([(k + 1) * c for k, c in enumerate(carry) if own[k]]) + x) for own in uses]
        return tuple(new), carry[seed % 4] + new[0]

    carry, ys = (0.1, 0.2, 0.3, 0.4), []
    final, found = rc.scan(f, carry, Y[:6])
    for now in Y[:6]:
        carry, y = f(carry, now)
        ys.append(y)
    np.testing.assert_allclose(final, carry, rtol=1e-9)
    np.testing.assert_allclose(found, ys, rtol=1e-9)


def both(f, init, xs):
    carry, ys = init, []
    for x in xs:
        carry, y = f(carry, x)
        ys.append(y)
    return rc.scan(f, init, xs), (carry, np.stack(ys))


TABLE, NEXT = RNG.normal(size=(5, 3)), np.array([2, 3, 4, 0, 1])


@pytest.mark.parametrize(
    "f, init",
    [
        (lambda c, x: (c + 1, c), 0),
        (lambda c, x: (np.where(x > 0, c * 2 + 1, c - 1), c), np.array(3)),
        (lambda c, x: (c | (x > 1), c), np.array(False)),
        (lambda c, x: ((c * 3 + 1) % 5, TABLE[c].sum()), np.array(1)),
        (lambda c, x: ((NEXT[c[0]], c[1] * 0.5 + TABLE[c[0]].sum()), c[1]), (np.array(1), 0.0)),
        (lambda c, x: (((c[0] + (c[1] > 0)) % 5, c[1] * 0.5 + TABLE[c[0]].sum()), c[0]), (np.array(1), 0.0)),
        (lambda c, x: ((c[0] | (c[1] > 1), np.where(c[0], c[1], c[1] + x)), c[0]), (np.array(False), 0.0)),
    ],
)
def test_whole_numbers_and_truths_are_carried(f, init):
    found, expected = both(f, init, Y)
    for a, b in zip(np.atleast_1d(found[0]), np.atleast_1d(expected[0]), strict=True):
        np.testing.assert_allclose(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
    np.testing.assert_allclose(found[1], expected[1])
    assert found[1].dtype == expected[1].dtype


def test_derivatives_by_what_whole_numbers_choose():
    def f(table):
        step = lambda c, x: (((c[0] + (c[1] > 0)) % 5, c[1] * 0.5 + table[c[0]].sum()), c[1])  # noqa: E731
        (_, s), ys = rc.scan(step, (np.array(1), 0.0), Y)
        return s + ys.sum()

    rc.check_grads(f, (TABLE,))
    place = lambda x: rc.fori_loop(1, 5, lambda i, c: c.at[i].set(c[i - 1] * 2 + x[i, 0]), np.ones(5)).sum()  # noqa: E731
    rc.check_grads(place, (TABLE,))
    np.testing.assert_allclose(rc.grad(place)(TABLE)[:, 0], [0, 15, 7, 3, 1])


def test_no_steps_and_no_entries():
    f = lambda c, x: (np.tanh(c * x), c)  # noqa: E731
    final, ys = rc.scan(f, 0.5, Y[:0])
    assert final == 0.5 and ys.shape == (0,)
    final, ys = rc.scan(f, np.zeros((0, 3)), Y)
    assert final.shape == (0, 3) and ys.shape == (30, 0, 3)


def test_many_results_of_few_arguments_go_forward():
    """The Jacobian of all states by two numbers: a loop with two columns, not one with as many as there are states."""

    def states(p):
        return rc.scan(lambda s, x: (np.tanh(p[0] * s + p[1] * x), s), np.zeros(3), np.ones((40, 3)))[1]

    jacobian = rc.jacobian(states)
    found = jacobian(np.array([0.5, 0.3]))
    np.testing.assert_allclose(found, rc.numerical_jacobian(states, np.array([0.5, 0.3])), atol=1e-7)
    assert max(step.out.entries for step in rc.trace(states)(np.ones(2)).diff("p").compile().plan.program.steps) < 1000
