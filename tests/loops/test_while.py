"""``rc.while_loop``, ``rc.associative_scan`` and ``checkpoint=``."""

import tracemalloc

import numpy as np
import pytest

import ricci as rc

RNG = np.random.default_rng(0)


def halved(x):
    return rc.while_loop(lambda x: x > 1.0, lambda x: x / 2, x)


def test_values_and_derivatives():
    assert halved(10.0) == 0.625
    assert rc.compile(halved)(10.0) == 0.625
    assert rc.grad(halved)(10.0) == 0.0625
    assert rc.grad(halved)(0.5) == 1.0
    np.testing.assert_allclose(rc.vmap(rc.grad(halved))(np.array([10.0, 3.0, 0.5])), [0.0625, 0.25, 1.0])


def test_as_many_steps_as_it_takes():
    slope = rc.grad(halved)
    for power in (3, 200, 1000, 5):
        assert slope(2.0**power) == 2.0**-power


def test_what_is_carried_may_be_a_tree():
    def f(x):
        step = lambda c: {"i": c["i"] + 1, "x": np.sin(c["x"]) * x}  # noqa: E731
        return rc.while_loop(lambda c: c["i"] < 5, step, {"i": 0, "x": x})["x"]

    def plain(x):
        y = x
        for _ in range(5):
            y = np.sin(y) * x
        return y

    for transform in (rc.compile, rc.grad, lambda f: rc.grad(rc.grad(f))):
        np.testing.assert_allclose(transform(f)(1.2), transform(plain)(1.2), rtol=1e-12)


def test_tensors():
    t = rc.Tensor([4.0])
    rc.while_loop(lambda s: s.sum() > 1, lambda s: s / 2, t).sum().backward()
    np.testing.assert_allclose(t.grad, [0.25])


@pytest.mark.parametrize("f", [lambda g: g(1e6), lambda g: rc.compile(g)(1e6), lambda g: rc.grad(g)(1e6)])
def test_a_loop_that_does_not_end(f):
    with pytest.raises(rc.LimitError, match="after 3 steps"):
        f(lambda x: rc.while_loop(lambda x: x > 1, lambda x: x / 2, x, max_steps=3))


def test_one_truth_value():
    with pytest.raises(rc.ShapeError, match="one truth value"):
        rc.compile(lambda x: rc.while_loop(lambda x: x > 1, lambda x: x / 2, x))(np.ones(3))


def test_other_backends():
    torch = pytest.importorskip("torch")
    assert rc.grad(halved)(torch.tensor(10.0)) == 0.0625


def test_on_jax_it_asks_for_a_bound():
    pytest.importorskip("jax")
    with pytest.raises(rc.InputError, match="max_steps"):
        rc.grad(halved, backend="jax")(10.0)
    bounded = lambda x: rc.while_loop(lambda x: x > 1, lambda x: x / 2, x, max_steps=30)  # noqa: E731
    assert rc.grad(bounded, backend="jax")(10.0) == 0.0625


@pytest.mark.parametrize("size", range(1, 10))
def test_partial_results(size):
    x, a = RNG.normal(size=(size, 3)), RNG.normal(size=(size, 2, 2))
    np.testing.assert_allclose(rc.associative_scan(np.add, x), np.cumsum(x, 0))
    np.testing.assert_allclose(rc.associative_scan(np.add, x, reverse=True), np.cumsum(x[::-1], 0)[::-1])
    np.testing.assert_allclose(rc.associative_scan(np.add, x, axis=1), np.cumsum(x, 1))
    products = [a[0]]
    for one in a[1:]:
        products.append(products[-1] @ one)
    np.testing.assert_allclose(rc.associative_scan(np.matmul, a), np.stack(products))


def test_a_linear_recurrence():
    def combined(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    def last(a, b):
        return rc.associative_scan(combined, (a, b))[1][-1]

    def plain(a, b):
        s = 0.0
        for t in range(len(a)):
            s = a[t] * s + b[t]
        return s

    a, b = RNG.normal(size=(2, 11))
    np.testing.assert_allclose(last(a, b), plain(a, b))
    np.testing.assert_allclose(rc.grad(last)(a, b), rc.grad(plain)(a, b))


def network(w, x, **options):
    def step(carry, now):
        h, total = carry
        h = np.tanh(w @ h + now)
        return (h, total + (h**2).sum()), h[0]

    (_, total), ys = rc.scan(step, (np.zeros(len(w)), 0.0), x, **options)
    return total + np.sin(ys).sum()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("checkpoint", [True, 1, 5, 23, 100])
def test_segments_change_nothing(checkpoint, reverse):
    w, x = 0.4 * RNG.normal(size=(4, 4)), RNG.normal(size=(23, 4))
    plain = lambda w, x: network(w, x, reverse=reverse)  # noqa: E731
    cut = lambda w, x: network(w, x, reverse=reverse, checkpoint=checkpoint)  # noqa: E731
    np.testing.assert_allclose(cut(w, x), plain(w, x), rtol=1e-12)
    for argnum in (0, 1):
        np.testing.assert_allclose(rc.grad(cut, argnum)(w, x), rc.grad(plain, argnum)(w, x), rtol=1e-9)
    np.testing.assert_allclose(rc.hvp(cut)(w, x, w), rc.hvp(plain)(w, x, w), rtol=1e-8)


def test_segments_take_less_memory():
    w, x = 0.1 * RNG.normal(size=(8, 8)), RNG.normal(size=(2500, 8))
    taken = []
    for options in ({}, {"checkpoint": True}):

        def total(w, x, options=options):
            step = lambda c, now: (((h := np.tanh(w @ c[0] + now)), c[1] + (h**2).sum()), None)  # noqa: E731
            return rc.scan(step, (np.zeros(8), 0.0), x, **options)[0][1]

        slope = rc.grad(total, fused=False)
        slope(w, x)
        tracemalloc.start()
        slope(w, x)
        taken.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert taken[1] < taken[0] / 2


def test_python_asks_for_a_truth_value():
    def halved_by_while(x):
        while x > 1:
            x = x / 2
        return x

    def chosen_by_if(x):
        if x > 1:
            return x
        return 2 * x

    with pytest.raises(rc.TraceError, match=r"while x > 1:.*rc\.while_loop"):
        rc.grad(halved_by_while)(3.0)
    with pytest.raises(rc.TraceError, match=r"if x > 1:.*rc\.where.*rc\.cond"):
        rc.grad(chosen_by_if)(3.0)
