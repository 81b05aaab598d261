"""Deep programs keep their scale: what is finite as written is finite here, and as exact."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ricci as rc
from ricci.testing.ranges import RangedProgram, random_ranged

seeds = st.integers(0, 2**32 - 1)
RUNS = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)  # pyright: ignore[reportArgumentType]
F32 = np.float32


def plain(program: RangedProgram, dtype: str | type) -> np.ndarray:
    with np.errstate(all="ignore"):
        return program(*[each.astype(dtype) for each in program.arguments])


def check_value(program: RangedProgram, found: np.ndarray) -> None:
    """Our value is as near to the exact one as NumPy's own is, up to a factor."""
    exact = plain(program, np.longdouble)
    error = np.max(np.abs(plain(program, program.dtype) - exact) / np.max(np.abs(exact)))
    ours = np.max(np.abs(found - exact) / np.max(np.abs(exact)))
    assert ours <= 50 * error + 100 * np.finfo(program.dtype).eps * len(program.steps), (program, found, exact)


@RUNS
@given(seeds, st.sampled_from([3, 12, 50]), st.sampled_from(["float32", "float64"]))
def test_values_near_the_ends_of_the_range(seed: int, length: int, dtype: str):
    program = random_ranged(seed, length, dtype)
    found = rc.compile(program)(*program.arguments)
    assert found.dtype == dtype
    check_value(program, found)


@RUNS
@given(seeds, st.sampled_from([3, 12, 50]))
def test_gradients_near_the_ends_of_the_range(seed: int, length: int):
    """Float32 beside float64, whose range is not left: right wherever JAX's, step by step, is."""
    jax = pytest.importorskip("jax")
    program = random_ranged(seed, length)
    gradient = rc.grad(program.loss)
    exact = gradient(*[each.astype(float) for each in program.arguments])
    size = np.max(np.abs(exact))
    theirs = jax.grad(lambda *arguments: program.loss(*arguments, xp=jax.numpy))(*program.arguments)
    if np.max(np.abs(theirs - exact)) <= 1e-3 * size:
        found = gradient(*program.arguments)
        assert np.max(np.abs(found - exact)) <= 1e-2 * size, (program, found, exact)


def test_the_check_notices_a_scale_that_moved():
    program = random_ranged(1, 3)
    with pytest.raises(AssertionError):
        check_value(program, plain(program, np.float32) * F32(1.01))
    with pytest.raises(AssertionError):
        check_value(program, np.full(3, np.inf, F32))


def network(xp=np):
    def net(x, ws):
        for w in ws:
            m = x.mean(-1, keepdims=True)
            v = ((x - m) ** 2).mean(-1, keepdims=True)
            x = x + xp.tanh((x - m) / xp.sqrt(v + 1e-5) @ w)
        return (x * x).mean()

    return net


@pytest.mark.parametrize("depth, width", [(4, 16), (24, 16), (50, 8)])
def test_layers_of_layer_norm_are_as_exact_as_those_of_jax(depth: int, width: int):
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, width)).astype(F32)
    ws = [(rng.normal(size=(width, width)) / np.sqrt(width)).astype(F32) for _ in range(depth)]
    ours = rc.grad(network(), argnums=(0, 1))(x, ws)
    theirs = jax.grad(network(jax.numpy), argnums=(0, 1))(x, ws)
    exact = rc.grad(network(), argnums=(0, 1))(x.astype(float), [w.astype(float) for w in ws])
    for mine, other, true in zip([ours[0], *ours[1]], [theirs[0], *theirs[1]], [exact[0], *exact[1]]):
        assert mine.dtype == F32
        size = np.abs(true).max()
        assert np.abs(mine - true).max() / size <= 8 * np.abs(np.asarray(other) - true).max() / size + 1e-6


def iterated(step, n):
    def run(x):
        for _ in range(n):
            x = step(x)
        return x

    return run


A = np.eye(3) * 1e6
P = np.full((3, 3), 1 / 9)
MAPS = {
    "a scaled matrix": (lambda x: (A * 1e-6) @ x, 60, np.full(3, 10.0)),
    "a scaled product": (lambda x: 3 * (P @ x), 700, np.ones(3)),
    "a scaled square at its fixed point": (lambda x: 0.3 * x * x, 11, np.full(2, 1 / 0.3)),
    "a logistic map": (lambda x: 3.5 * x * (1 - x), 30, np.full(2, 0.3)),
    "factors and divisors": (lambda x: x * 1e30 / 3 / 1e30 * 3, 40, np.full(2, 1e250)),
    "power iteration": (lambda x: (x @ (A * 1e50)) / np.sqrt(((x @ (A * 1e50)) ** 2).sum()), 100, np.ones(3)),
    "a fluid": (lambda x: x + 0.1 * (np.roll(x, 1) - 2 * x + np.roll(x, -1)) - 0.05 * x * x, 20, np.linspace(0, 1, 6)),
}


BRIEF = ("a scaled square at its fixed point", "a logistic map")  # which are chaotic, or not stable


@pytest.mark.parametrize("times", [pytest.param(5, marks=pytest.mark.thorough), 1])
@pytest.mark.parametrize("name", MAPS)
def test_iterated_maps(name: str, times: int):
    step, n, x = MAPS[name]
    run = iterated(step, n if name in BRIEF else n * times)
    np.testing.assert_allclose(rc.compile(run)(x), run(x), rtol=1e-9)
    jacobian = rc.jacobian(run)(x)
    assert np.isfinite(jacobian).all()
    assert np.isfinite(rc.grad(lambda x: run(x).sum())(x)).all()


def test_norms_by_scaling():
    def norm(x, s):
        return s * np.sqrt(((x / s) ** 2).sum())

    x = np.array([3e200, 4e200])
    assert rc.compile(norm)(x, 3e200) == pytest.approx(5e200)
    np.testing.assert_allclose(rc.grad(norm)(x, 3e200), [0.6, 0.8])
    assert rc.parse("y = s sqrt(1[i] (x[i]/s)**2)")(x=x, s=3e200) == pytest.approx(5e200)


def test_units_in_single_precision():
    """The product of the two masses is beyond float32, that of a mass and the constant is not."""

    def force(m, other, r):
        return 6.67e-11 * m * other / r**2

    values = F32(5.97e24), F32(7.3e22), F32(3.8e8)
    assert rc.compile(force)(*values) == pytest.approx(force(*values), rel=1e-5)
    by_distance = rc.grad(force, argnums=2)(*values)
    assert by_distance == pytest.approx(-2 * force(*values) / values[2], rel=1e-5)


def test_a_filter_that_normalises():
    rng = np.random.default_rng(1)
    transition = rng.uniform(0.1, 1, size=(4, 4))
    weights = rng.uniform(1e-6, 1e-5, size=(7, 4))

    def likelihood(transition, weights):
        a, total = np.full(4, 0.25, transition.dtype), 0.0
        for t in range(200):
            a = (a @ transition) * weights[t % 7]
            c = a.sum()
            a, total = a / c, total + np.log(c)
        return total

    value, gradient = rc.value_and_grad(likelihood)(transition.astype(F32), weights.astype(F32))
    exact = rc.grad(likelihood)(transition, weights)
    assert value == pytest.approx(likelihood(transition, weights), rel=1e-4)
    np.testing.assert_allclose(gradient, exact, rtol=1e-3)


@pytest.mark.parametrize("backend", ["torch", "jax"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(backend: str, dtype: str):
    """Results of the type, and as near as the framework's own."""
    library = pytest.importorskip(backend if backend == "torch" else "jax.numpy")
    rng = np.random.default_rng(0)
    made = [rng.normal(size=shape) for shape in ((4, 8), (8, 8))]
    if backend == "torch":
        arrays = [library.tensor(each).to(getattr(library, dtype)) for each in made]
    else:
        arrays = [library.asarray(each, dtype) for each in made]

    def f(x, w):
        for _ in range(6):
            x = x + 0.1 * ((x - x.mean(-1, keepdims=True)) / 8) @ w
        return (x * x).mean()

    def g(x, w):
        for _ in range(6):
            mean = x.mean(-1, keepdim=True) if backend == "torch" else x.mean(-1, keepdims=True)
            x = x + 0.1 * ((x - mean) / 8) @ w
        return (x * x).mean()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = rc.grad(f)(*[np.asarray(each, float) for each in made])
        found = rc.grad(g)(*arrays)
    assert str(found.dtype).endswith(dtype)
    values = np.asarray(found.float() if backend == "torch" else found, float)
    assert np.abs(values - exact).max() <= 0.05 * np.abs(exact).max()


def test_one_block_of_a_transformer_on_jax():
    """Whole numbers of 2**45 and more are floats there."""
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(0)
    n, d, h = 8, 32, 4
    x = rng.normal(size=(2, n, d)).astype(F32)
    ws = [(rng.normal(size=(d, m)) / np.sqrt(d)).astype(F32) for m in (3 * d, d, 4 * d)] + [
        (rng.normal(size=(4 * d, d)) / np.sqrt(4 * d)).astype(F32)
    ]

    def norm(x, xp):
        m = x.mean(-1, keepdims=True)
        return (x - m) / xp.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5)

    def block(x, ws, xp=np):
        q, k, v = xp.split(norm(x, xp) @ ws[0], 3, axis=-1)
        heads = [t.reshape(2, n, h, d // h).transpose(0, 2, 1, 3) for t in (q, k, v)]
        s = heads[0] @ heads[1].transpose(0, 1, 3, 2) / (d // h) ** 0.5
        e = xp.exp(s - s.max(-1, keepdims=True))
        o = (e / e.sum(-1, keepdims=True)) @ heads[2]
        x = x + o.transpose(0, 2, 1, 3).reshape(2, n, d) @ ws[1]
        return ((x + xp.tanh(norm(x, xp) @ ws[2]) @ ws[3]) ** 2).mean()

    theirs = jax.grad(lambda x, ws: block(x, ws, jax.numpy))(x, ws)
    for backend in ("jax", "numpy"):
        ours = rc.grad(block, backend=backend)(x, ws)
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-5)


def test_exact_numbers_are_bounded():
    """Fractions stay short however often they are multiplied."""
    x = rc.variable("x")
    for _ in range(40):
        x = x * rc.parse("7/3") + rc.parse("1/7")
    assert len(str(x)) < 3000
    assert x(x=1.0) == pytest.approx((1 + 0.25 * 3 / 7) * (7 / 3) ** 40 - 0.25 * 3 / 7, rel=1e-9)


def covariance(x, y):
    return ((x - x.mean()) * (y - y.mean())).sum()


def weighted(x, y):
    return ((y - 1e4) * (x - x.mean())).sum() + ((x - 1e4) ** 2).sum()


@pytest.mark.parametrize("f", [covariance, weighted])
@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
def test_differences_keep_their_digits(f, backend: str):
    """Multiplied out, ``(x - m) (y - n)`` is a difference of large numbers."""
    if backend != "numpy":
        pytest.importorskip(backend)
    rng = np.random.default_rng(0)
    x, y = (1e4 + rng.normal(size=256).astype(F32) for _ in range(2))
    wide = x.astype(np.longdouble), y.astype(np.longdouble)
    exact = f(*wide)
    error = abs(f(x, y) - exact) + 1e-5 * abs(exact)
    assert abs(np.asarray(rc.compile(f, backend=backend)(x, y)) - exact) <= 4 * error
    gradient = rc.grad(f)(x.astype(float), y.astype(float))
    found = np.asarray(rc.grad(f, backend=backend)(x, y))
    np.testing.assert_allclose(found, gradient, atol=2e-3 * np.abs(gradient).max())
