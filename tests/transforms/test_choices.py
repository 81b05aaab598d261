"""Derivatives follow the choice that was made: they are finite, and each choice hands on as much as it was given."""

import numpy as np
import pytest

import ricci as rc

ROWS, COLUMNS = 2000, 5
SCALES = [3, 7, 10, 1e3, np.pi, np.sqrt(2), 0.1, -0.3]

# Of each row one entry, or a mean of some, is chosen: the derivatives by the entries of a row add up to one.
CHOICES = {
    "max": lambda m: np.max(m, 1),
    "min": lambda m: np.min(m, 1),
    "transposed": lambda m: np.max(m.T, 0),
    "sort": lambda m: np.sort(m, 1)[:, 2],
    "partition": lambda m: np.partition(m, 1, 1)[:, 1],
    "median": lambda m: np.median(m, axis=1),
    "quantile": lambda m: np.quantile(m, 0.3, axis=1),
    "percentile": lambda m: np.percentile(m, 70.0, axis=1),
    "nanmax": lambda m: np.nanmax(m, 1),
    "two by two": lambda m: np.maximum(np.minimum(m[:, 0], m[:, 1]), m[:, 2]),
    "clip": lambda m: np.clip(m[:, 0], m[:, 1:3].min(1), m[:, 1:3].max(1)),
    "read at argmax": lambda m: np.take_along_axis(m, np.argmax(m, 1)[:, None], 1)[:, 0],
    "where": lambda m: np.where(m[:, 0] > m[:, 1], m[:, 0], m[:, 1]),
    "mask": lambda m: (m * (m == m.max(1, keepdims=True))).sum(1),
    "max of max": lambda m: np.maximum(m[:, :2].max(1), m[:, 2:].max(1)),
}


def draw(*shapes, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("choice", CHOICES.values(), ids=CHOICES)
def test_a_choice_hands_on_what_it_is_given(choice, dtype):
    """Over thousands of rows, with constants by which nothing can be divided exactly."""
    x, b, w = draw((ROWS, COLUMNS), COLUMNS, ROWS, dtype=dtype)
    for scale in SCALES:
        slope = rc.grad(lambda x, b, s=scale: (w * choice((x - b) / s)).sum())(x, b)
        assert np.allclose(slope.sum(1), w / scale, rtol=1e-12 if dtype == "float64" else 1e-5)
        slopes = rc.grad(lambda x, b, s=scale: choice(s * x - b * 0.7 + x / 3).sum(), argnums=(0, 1))(x, b)
        assert np.allclose(slopes[0].sum(1), scale + 1 / 3, rtol=1e-5) and np.allclose(slopes[1].sum(), -0.7 * ROWS)


NORMS = [np.inf, -np.inf, 1, -1]


@pytest.mark.parametrize("order", NORMS)
@pytest.mark.parametrize("scale", [1, 3, 0.1])
def test_norms_of_tensors_and_programs(order, scale):
    """Their derivative is a sign at each entry of the chosen row or column, so ``x`` times it is the norm again."""
    for seed in range(40):
        (x,) = draw((7, 9), seed=seed)
        t = rc.Tensor(x)
        (np.linalg.norm(t / scale, order) * 2).backward()  # pyright: ignore[reportAttributeAccessIssue]
        traced = rc.grad(lambda x: 2 * np.linalg.norm(x / scale, order))(x)
        norm = np.linalg.norm(x / scale, order)
        for slope in (t.grad, traced):
            assert np.allclose((np.asarray(slope) * x).sum(), 2 * norm, rtol=1e-12)
            assert np.count_nonzero(slope) == x.shape[0 if order in (1, -1) else 1]


@pytest.mark.parametrize("choice", [name for name in CHOICES if name != "mask"])
def test_tensors(choice):
    x, b = draw((200, COLUMNS), COLUMNS)
    t = rc.Tensor(x)
    CHOICES[choice]((t - b) / 10).sum().backward()
    assert np.allclose(np.asarray(t.grad).sum(1), 0.1)


def test_a_mask_made_of_tensors():
    x, b = draw((200, COLUMNS), COLUMNS)
    t = rc.Tensor(x)
    m = (t - b) / 10
    mask = m == m.max(1, keepdims=True)
    assert np.all(np.asarray(mask).sum(1) == 1)
    np.where(mask, m, 0.0).sum().backward()
    assert np.allclose(np.asarray(t.grad).sum(1), 0.1)


# Conventions


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("scale", [1.0, 3.0, 0.1])
def test_entries_that_tie_share(backend, scale):
    """Whole numbers, each several times: equal numbers stay equal whatever is done to them."""
    if backend != "numpy":
        pytest.importorskip(backend)
    x = np.random.default_rng(1).integers(-2, 3, (300, 6)).astype("float32")
    shares = (x == x.max(1, keepdims=True)) / (x == x.max(1, keepdims=True)).sum(1, keepdims=True)
    slope = rc.grad(lambda x: np.max((x - 5) / np.float32(scale) + np.float32(0.3), 1).sum(), backend=backend)(x)
    assert np.allclose(np.asarray(slope), shares / scale, rtol=1e-5)
    whole = rc.grad(lambda x: np.max(x * np.float32(0.7)), backend=backend)(x)
    assert np.allclose(np.asarray(whole), 0.7 * (x == x.max()) / (x == x.max()).sum(), rtol=1e-5)


def test_halves():
    x = np.array([1.0, -2.0, 0.5])
    assert np.allclose(rc.grad(lambda x: np.maximum(x / 3, x / 3).sum())(x), 1 / 3)
    y = np.array([1.0, 3.0, -0.5])
    slopes = rc.grad(lambda x, y: np.maximum(x / 7, y / 7).sum(), argnums=(0, 1))(x, y)
    assert np.allclose(slopes, np.array([[0.5, 0, 1], [0.5, 1, 0]]) / 7)


def test_a_nan_is_no_choice():
    x = np.array([[1.0, np.nan, 2.0], [1.0, 3.0, 2.0]])
    slope = rc.grad(lambda x: np.max(x / 3, 1).sum())(x)
    assert np.all(np.isnan(slope[0])) and np.allclose(slope[1], [0, 1 / 3, 0])


# Higher orders and other roads


def curved(m):
    return (np.max(m, 1) ** 2 * np.min(m, 1) + np.sort(m, 1)[:, 1] ** 3).sum() + np.median(m) ** 2


def test_second_derivatives_follow_the_same_choice():
    for seed in range(10):
        x, b = draw((3, 4), 4, seed=seed)

        def f(x, b):
            return curved((x - b) / 7 - 0.1 * x**3)

        hessian = rc.hessian(f)(x, b)
        h = 1e-6
        slope = rc.grad(f)
        for at in np.ndindex(*x.shape):
            step = np.zeros_like(x)
            step[at] = h
            near = (slope(x + step, b) - slope(x - step, b)) / (2 * h)
            assert np.allclose(hessian[(..., *at)], near, rtol=1e-5, atol=1e-6)
        assert np.allclose(rc.jacfwd(rc.jacrev(f))(x, b), hessian) and np.allclose(
            rc.hvp(f)(x, b, x), hessian_times(hessian, x)
        )


def hessian_times(hessian, v):
    return np.tensordot(hessian, v, 2)


@pytest.mark.parametrize("mode", ["forward", "reverse", "cross-country"])
def test_modes_and_batches(mode):
    x, b = draw((50, 4), 4)
    jacobian = rc.jacobian(lambda x: np.max((x - b) / 10, 1), mode=mode)(x)
    assert np.allclose(jacobian.sum((1, 2)), 0.1)
    rows = rc.vmap(rc.grad(lambda row: np.max((row - b) / 10)))(x)
    assert np.allclose(rows.sum(1), 0.1) and np.allclose(rows, jacobian.sum(0))


@pytest.mark.parametrize("backend", [None, "numpy", "torch", "jax"])
def test_formulas(backend):
    if backend:
        pytest.importorskip(backend)
    b, c = draw((200, 5), (5, 200))
    for text, sums in [
        ("f[i] = max[k](b[i,k] - 1/7 c[k,i])", 1),
        ("f[i] = min[k](0.1 b[i,k] c[k,i] - 1/3 b[i,k])", None),
    ]:
        slope = rc.parse(text).diff("b")
        value = slope(b=b, c=c) if backend is None else slope.compile(backend)(b=b, c=c)
        value = np.asarray(value)
        assert np.all(np.isfinite(value)) and np.all(np.count_nonzero(value, axis=(1, 2)) == 1)
        assert sums is None or np.allclose(value.sum((1, 2)), sums)


def test_like_jax():
    """Programs with several choices in them, in float32, against JAX's own derivatives."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def program(np):
        def f(x, y, b):
            m = (x - b) / 7 - 0.3 * x * y
            gap = np.sqrt(m.max(1, keepdims=True) - m + 1e-2)
            top = np.where(m >= np.sort(m, 1)[:, -2:-1], m, 0.0)
            return (gap * np.minimum(m, 0.2 * m[::-1])).sum() + (top**2).sum() + np.ptp(m, axis=0).sum()

        return f

    for seed in range(8):
        arrays = draw((6, 5), (6, 5), 5, dtype="float32", seed=seed)
        ours = rc.grad(program(np), argnums=(0, 1, 2))(*arrays)
        theirs = jax.grad(program(jnp), argnums=(0, 1, 2))(*[jnp.asarray(a) for a in arrays])
        assert all(np.allclose(a, b, rtol=2e-4, atol=2e-4) for a, b in zip(ours, theirs, strict=True))
