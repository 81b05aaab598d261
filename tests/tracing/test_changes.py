"""Changes in place while a function is traced: aliases and views see them as NumPy's do, or are refused."""

from __future__ import annotations

import numpy as np
import pytest
from changing import Program

import ricci as rc

SHAPES = [(4,), (2, 3), (1, 3), (3, 1), (2, 2, 2), (1,), (0, 2)]


def values(shape, seed):
    return np.random.default_rng(seed).uniform(0.2, 1.5, shape)


def by_numpy(program, x):
    return program(np.array(x))


def slope_by_numpy(program, x, v, step=1e-6):
    return (by_numpy(program, x + step * v) - by_numpy(program, x - step * v)) / (2 * step)


def check(program, x):
    """Value and derivative, and the caller's array is as it was."""
    before = x.copy()
    np.testing.assert_allclose(
        rc.compile(program)(x), by_numpy(program, x), rtol=1e-10, atol=1e-12, err_msg=str(program)
    )
    v = values(x.shape, 99)
    slope = slope_by_numpy(program, x, v)
    scale = max(1.0, np.abs(slope).max(initial=0.0))
    pushed = rc.jvp(program, (x,), (v,))[1]
    np.testing.assert_allclose(pushed, slope, atol=1e-5 * scale, err_msg=str(program))
    bar = values(pushed.shape, 7)
    (pulled,) = rc.vjp(program, x)[1](bar)
    np.testing.assert_allclose((pulled * v).sum(), bar @ pushed, rtol=1e-8, atol=1e-8 * scale, err_msg=str(program))
    assert (x == before).all()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed, shape):
    check(Program(seed, 8, shape), values(shape, seed))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(150))
def test_many_random_programs(seed):
    shape = SHAPES[seed % len(SHAPES)]
    check(Program(1000 + seed, 12, shape), values(shape, seed))


def test_doubtful_programs_are_right_or_refused():
    refused = right = 0
    for seed in range(60):
        shape = SHAPES[seed % len(SHAPES)]
        try:
            check(Program(seed, 8, shape, doubtful=True), values(shape, seed))
            right += 1
        except rc.TraceError as error:
            assert "order of entries in memory" in str(error)
            refused += 1
    assert right > 20 and refused > 0


def test_the_comparison_can_fail():
    program = Program(0, 8, (2, 3))
    other = Program(1, 8, (2, 3))
    assert not np.array_equal(by_numpy(program, values((2, 3), 0)), by_numpy(other, values((2, 3), 0)))


def adds(x, y):
    x += 1
    return (x * y).sum()


def test_arguments_that_share_memory():
    a, b = np.ones(3), np.ones(3)
    f = rc.compile(adds)
    assert (f(a, b), f(a, b), a[0]) == (6, 6, 1)
    for pair in ((a, a), (a, a[:]), (a[1:], a[:2])):
        with pytest.raises(rc.InputError, match="share their memory"):
            f(*pair)
    with pytest.raises(rc.InputError, match="share their memory"):
        rc.compile(lambda x: rc.compile(adds)(x, x))(a)
    assert rc.compile(adds)(2.0, 2.0) == 6  # numbers do not change


def test_functions_for_jax_have_arrays_that_do_not_change():
    jax = pytest.importorskip("jax")

    def f(x):
        y = x
        y += 1
        return x * y

    def assigns(x):
        x[0] = 1.0
        return x

    x = jax.numpy.ones(3)
    np.testing.assert_array_equal(rc.compile(f)(x), f(x))
    with pytest.raises(rc.TraceError, match=r"x\.at"):
        rc.compile(assigns)(x)


# Eager tensors


def check_tensors(program, x):
    """Value and gradient of a tensor that is changed, and values where no gradient is recorded."""
    want = by_numpy(program, x)
    t = rc.Tensor(x)
    y = program(t * 1.0)
    np.testing.assert_allclose(y.numpy(), want, rtol=1e-10, atol=1e-12, err_msg=str(program))
    bar, v = values(y.shape, 7), values(x.shape, 99)
    y.backward(bar)
    slope = slope_by_numpy(program, x, v)
    scale = max(1.0, np.abs(slope).max(initial=0.0)) * max(y.size, 1)
    np.testing.assert_allclose((t.grad.numpy() * v).sum(), bar @ slope, atol=1e-5 * scale, err_msg=str(program))
    with rc.no_grad():
        plain = rc.Tensor(x)
        np.testing.assert_allclose(program(plain).numpy(), want, rtol=1e-10, atol=1e-12, err_msg=str(program))
    np.testing.assert_array_equal(t.numpy(), x)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_on_tensors(seed, shape):
    check_tensors(Program(seed, 8, shape, doubtful=True), values(shape, seed))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(150))
def test_many_random_programs_on_tensors(seed):
    shape = SHAPES[seed % len(SHAPES)]
    check_tensors(Program(2000 + seed, 12, shape, doubtful=True), values(shape, seed))


A, PLACES, TRUTHS = np.array([1.0, 2.0, 3.0]), np.array([0, 2, 2]), np.array([True, True, False])
CONSTANTS = {  # what is computed with a tensor, and what it is computed with
    "times": (lambda t, a: t * a, A),
    "from the right": (lambda t, a: a * t, A),
    "power": (lambda t, a: t**a, A),
    "matrix": (lambda t, a: a @ t, np.outer(A, A)),
    "function": (np.arctan2, A),
    "einsum": (lambda t, a: np.einsum("i,i->i", t, a), A),
    "where": (lambda t, a: np.where(a, t * t, t), TRUTHS),
    "mask": (lambda t, a: (t * t)[a], TRUTHS),
    "places": (lambda t, a: (t * t)[a], PLACES),
    "take": (lambda t, a: np.take(t * t, a), PLACES),
    "in a list": (lambda t, a: np.prod(np.stack([t, a]), 0), A),
    "named": (lambda t, a: np.average(t, weights=a), A),
    "set": (lambda t, a: (t * t).at[a].set(1.0), PLACES),
    "maximum": (lambda t, a: np.maximum(t * t, a), A),
    "pattern": (lambda t, a: rc.einsum("i, i -> i", t, a), A),
    "transformed": (lambda t, a: rc.grad(lambda x: (x**3 * a).sum())(t), A),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_arrays_beside_tensors_are_kept_by_value(name):
    f, a = CONSTANTS[name]
    t, same = rc.Tensor([1.5, 2.5, 3.5]), rc.Tensor([1.5, 2.5, 3.5])
    mine = a.copy()
    y = f(t, mine).sum()
    mine[...] = mine[::-1].copy() if a.ndim == 1 else 0
    assert not np.array_equal(mine, a)
    y.backward()
    f(same, a.copy()).sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), same.grad.numpy())


def test_a_list_that_changes():
    t = rc.Tensor([1.0, 2.0])
    parts = [t, t * 3]
    y = np.prod(np.stack(parts), 0).sum()
    parts[1] = t
    y.backward()
    np.testing.assert_array_equal(t.grad.numpy(), [6, 12])


def test_the_array_a_tensor_was_made_of():
    a = np.array([1.0, 2.0])
    t = rc.Tensor(a)
    y = (t * t).sum()
    a[0] = 5
    y.backward()
    np.testing.assert_array_equal(t.grad.numpy(), [2, 4])
    with pytest.raises(ValueError, match="read-only"):
        t.numpy()[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        t.data[0] = 1


def test_second_derivatives_through_changes():
    t = rc.Tensor([1.0, 2.0])
    y = t * t
    y[:1] *= t[1:]
    y += t**3
    y.sum().backward(create_graph=True)  # x² z + z² + x³ + z³
    g = t.grad
    t.zero_grad()
    g.sum().backward()
    x, z = 1.0, 2.0
    np.testing.assert_allclose(g.numpy(), [2 * x * z + 3 * x * x, x * x + 2 * z + 3 * z * z])
    np.testing.assert_allclose(t.grad.numpy(), [2 * z + 6 * x + 2 * x, 2 * x + 2 + 6 * z])


def test_the_formula_of_a_changed_tensor():
    x = rc.Tensor(np.array([2.0, 3.0]), name="x")
    y = x * 2
    z = y * y
    y += 1
    assert str((z * y).expression()) == str((x * 2 * (x * 2) * (x * 2 + 1)).expression())


# Derivatives at a point


@pytest.mark.parametrize("what", ["vjp", "linearize"])
def test_derivatives_at_a_point_keep_the_point(what):
    a, x = np.array([2.0, 3.0]), np.array([1.0, 2.0])
    for f in (lambda x: a * x, lambda x: x * x, lambda x: a, lambda x: np.sin(x) * a + x[::-1] * x, lambda x: a @ x):
        point = x.copy()
        apply = lambda d: d[1](np.ones_like(d[0])) if what == "vjp" else d[1](np.ones(2))  # noqa: E731
        value, back = getattr(rc, what)(f, point)
        first = apply((value, back))
        kept = np.array(value)
        before = a.copy()
        a[:], point[:] = 7.0, 9.0
        np.testing.assert_array_equal(apply((value, back)), first)
        if np.shape(value) and not np.shares_memory(value, a) and not np.shares_memory(value, point):
            np.testing.assert_array_equal(value, kept)
        a[:] = before


# Which functions give copies, and which views


COPIES = {
    "flatten": lambda b: b.flatten(),
    "copy": lambda b: b.copy(),
    "astype": lambda b: b.astype(float),
    "where": lambda b: np.where(True, b, b),
    "maximum": lambda b: np.maximum(b, b),
    "positive": np.positive,
    "fancy": lambda b: b[:, [0, 1]],
    "mask": lambda b: b[np.array([True, False])],
    "take": lambda b: np.take(b, [0], 0),
    "concatenate": lambda b: np.concatenate([b]),
    "stack": lambda b: np.stack([b]),
    "roll": lambda b: np.roll(b, 0),
    "tile": lambda b: np.tile(b, 1),
    "repeat": lambda b: np.repeat(b, 1, 0),
    "pad": lambda b: np.pad(b, 0),
    "clip": lambda b: np.clip(b, -9, 9),
    "nan_to_num": np.nan_to_num,
    "tril": lambda b: np.tril(b, 5),
}
VIEWED = {
    "alias": lambda b: b,
    "transpose": lambda b: np.transpose(b, (1, 0)),
    "same transpose": lambda b: np.transpose(b, (0, 1)),
    "squeeze": np.squeeze,
    "atleast": np.atleast_2d,
    "rot90": np.rot90,
    "fliplr": np.fliplr,
    "new axes": lambda b: b[None, 0, :, None],
    "rows": lambda b: next(iter(b)),
    "unpacked": lambda b: (lambda c, d: d)(*b),
    "real": lambda b: b.real,
    "view": lambda b: b.view(),
    "in a list": lambda b: [b][0],
    "split": lambda b: np.split(b, 3, 1)[2],
}


def adds_to(make):
    def f(x):
        b = x * 1.0
        c = make(b)
        c += 1
        return b * 2 + 0 * x

    return f


@pytest.mark.parametrize("name", [*COPIES, *VIEWED])
def test_views_and_copies_are_those_of_numpy(name):
    f = adds_to({**COPIES, **VIEWED}[name])
    x = values((2, 3), 0)
    want = f(x)
    assert np.array_equal(want, 2 * x) == (name in COPIES)
    np.testing.assert_allclose(rc.compile(f)(x), want)
    np.testing.assert_allclose(f(rc.Tensor(x)).numpy(), want)
