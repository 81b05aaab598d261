"""Random NumPy programs: all transforms agree with one another, and with JAX where it is installed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import STEPS, random_program

import ricci as rc

SEEDS = st.integers(0, 10**6)


def close(a, b, rtol=1e-9):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-10)


def of_one(program, arrays, k):
    """The program as a function of one argument, flat, so that Hessians are matrices."""
    shape = arrays[k].shape

    def f(x):
        return program(*arrays[:k], np.reshape(x, shape), *arrays[k + 1 :])

    return f, arrays[k].reshape(-1)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_value_and_gradient_in_all_modes(seed):
    program = random_program(seed)
    arrays = program.arrays(seed)
    everything = tuple(range(len(arrays)))
    value, grads = rc.value_and_grad(program, argnums=everything)(*arrays)
    close(value, program(*arrays))
    for transform in (rc.grad, rc.jacfwd, rc.jacrev, rc.jacobian):
        for found, g in zip(transform(program, argnums=everything)(*arrays), grads, strict=True):
            close(found, g)
    mode = rc.jacobian(program, argnums=everything, mode="cross-country")(*arrays)
    for found, g in zip(mode, grads, strict=True):
        close(found, g)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_gradient_against_differences(seed):
    program = random_program(seed)
    arrays = program.arrays(seed)
    rng = np.random.default_rng(seed)
    grads = rc.grad(program, argnums=tuple(range(len(arrays))))(*arrays)
    steps = [rng.normal(size=a.shape) for a in arrays]
    slope = sum((g * s).sum() for g, s in zip(grads, steps, strict=True))
    h = 1e-6
    ahead = program(*[a + h * s for a, s in zip(arrays, steps, strict=True)])
    behind = program(*[a - h * s for a, s in zip(arrays, steps, strict=True)])
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * h), rtol=2e-4, atol=2e-5)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_pushing_forward_is_adjoint_to_pulling_back(seed):
    program = random_program(seed)
    arrays = program.arrays(seed)
    rng = np.random.default_rng(seed)
    tangents = [rng.normal(size=a.shape) for a in arrays]
    y, dy = rc.jvp(program, arrays, tangents)
    same, back = rc.vjp(program, *arrays)
    _, along = rc.linearize(program, *arrays)
    close(y, same)
    close(along(*tangents), dy)
    close(dy * 2.5, sum((g * t).sum() for g, t in zip(back(2.5), tangents, strict=True)))


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_second_derivatives_agree(seed):
    program = random_program(seed)
    arrays = program.arrays(seed)
    k = seed % len(arrays)
    f, x = of_one(program, arrays, k)
    rng = np.random.default_rng(seed)
    v = rng.normal(size=x.shape)
    h = rc.hessian(f)(x)
    close(h, h.T)
    close(rc.hvp(f)(x, v), h @ v)
    close(rc.jacfwd(rc.grad(f))(x), h)
    close(rc.jacrev(rc.grad(f))(x), h)
    close(rc.jacrev(rc.jacfwd(f))(x), h)
    close(rc.hessian_diagonal(f)(x), np.diagonal(h))
    close(rc.laplacian(f)(x), np.trace(h))
    value, slope, curve = rc.taylor(f, 2)(x, v)
    close(value, f(x))
    close(slope, rc.grad(f)(x) @ v)
    close(curve, v @ h @ v)
    if x.size:
        compressed = rc.hessian(f, compressed=True)(x)
        close(compressed @ v, h @ v)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_compiling_and_differentiating_commute(seed):
    program = random_program(seed)
    arrays = program.arrays(seed)
    expected = rc.grad(program)(*arrays)
    close(rc.compile(rc.grad(program))(*arrays), expected)
    close(rc.grad(rc.compile(program))(*arrays), expected)
    close(rc.grad(rc.checkpoint(program))(*arrays), expected)
    formula = rc.trace(program)(*arrays)
    facts = formula.context.facts
    names = [name for name in facts.inputs if name not in facts.values]  # others were captured
    given = dict(zip(names, arrays, strict=True))
    close(formula(**given), program(*arrays))


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_mapped_over_an_axis(seed):
    program = random_program(seed)
    first, *rest = program.arrays(seed)
    several = np.stack([first, first * 0.5, first - 1.0], axis=0)
    axes = (0, *[None] * len(rest))
    found = rc.vmap(rc.value_and_grad(program), in_axes=axes)(several, *rest)
    one_by_one = [rc.value_and_grad(program)(x, *rest) for x in several]
    close(found[0], [value for value, _ in one_by_one])
    close(found[1], [g for _, g in one_by_one])
    through = rc.grad(lambda x: rc.vmap(program, in_axes=axes)(x, *rest).sum())(several)
    close(through, found[1])


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_the_eager_tensor_agrees(seed):
    program = random_program(seed)
    arrays = program.arrays(seed)
    expected = rc.grad(program, argnums=tuple(range(len(arrays))))(*arrays)
    tensors = [rc.Tensor(a) for a in arrays]
    y = program(*tensors)
    close(y.numpy(), program(*arrays))  # pyright: ignore[reportAttributeAccessIssue]
    y.backward()  # pyright: ignore[reportAttributeAccessIssue]
    for t, g in zip(tensors, expected, strict=True):
        close(np.zeros(t.shape) if t.grad is None else t.grad.numpy(), g)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_against_jax(seed):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    program = random_program(seed)
    arrays = program.arrays(seed)

    def theirs(*args):
        return program(*args, xp=jax.numpy)

    everything = tuple(range(len(arrays)))
    expected = jax.jit(jax.grad(theirs, argnums=everything))(*arrays)
    for found, g in zip(rc.grad(program, argnums=everything)(*arrays), expected, strict=True):
        close(found, g, 1e-8)
    f, x = of_one(program, arrays, 0)
    shape = arrays[0].shape
    h = jax.jit(jax.hessian(lambda x: theirs(jax.numpy.reshape(x, shape), *arrays[1:])))(x)
    close(rc.hessian(f)(x), h, 1e-7)


def test_the_programs_use_every_step():
    """The generator reaches all of its steps, so that the tests above are about all of them."""
    used = {step[0] for seed in range(200) for step in random_program(seed).steps}
    assert used == set(STEPS)


def test_a_wrong_derivative_is_found():
    """The comparisons above can fail."""

    @rc.custom
    def wrong(x):
        return np.sin(x)

    wrong.derivative(lambda x: np.cos(x) * 1.0001)
    x = np.array([0.3, 1.0])
    with pytest.raises(AssertionError):
        close(rc.grad(lambda x: wrong(x).sum())(x), np.cos(x))
