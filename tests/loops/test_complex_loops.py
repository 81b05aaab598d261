"""Loops, scans and branches over complex numbers, whose steps need not be holomorphic, beside JAX."""

import numpy as np
import pytest

import ricci as rc

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax
RNG = np.random.default_rng(3)
A = (RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))) / 3
Z = RNG.normal(size=3) + 1j * RNG.normal(size=3)
XS = (RNG.normal(size=(12, 3)) + 1j * RNG.normal(size=(12, 3))) / 2


@pytest.fixture(autouse=True)
def in_float64():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def plain_loop(m, z, A):
    for _ in range(80):
        z = m.tanh(A @ z) * m.abs(z) + 0.1j * m.conj(z) + 0.3
    return (m.abs(z) ** 2).sum()


def scanned(m, z, xs):
    def step(carry, x):
        carry = m.sin(A @ carry) * x + 0.2 * m.conj(carry)
        return carry, carry.sum() * x[0]

    scan = rc.scan if m is np else lax.scan
    last, ys = scan(step, z, xs)
    return m.abs(last).sum() + (m.abs(ys) ** 2).sum()


def counted(m, z, A):
    loop = rc.fori_loop if m is np else lax.fori_loop
    return m.real(loop(0, 9, lambda k, z: m.exp(1j * k * z) * 0.3 + A @ z, z) ** 2).sum()


def chosen(m, z, A):
    cond = rc.cond if m is np else lax.cond
    return m.abs(cond(m.abs(z[0]) > 0.1, lambda z: (z**2 @ A).sum(), lambda z: z.sum() * 1j, z))


@pytest.mark.parametrize("f", [plain_loop, scanned, counted, chosen])
def test_gradients(f):
    other = XS if f is scanned else A
    found = rc.grad(lambda z, o: f(np, z, o), argnums=(0, 1))(Z, other)
    wanted = jax.grad(lambda z, o: f(jnp, z, o), argnums=(0, 1))(Z, other)
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    assert [g.dtype for g in found] == [np.complex128] * 2


def test_holomorphic_jacobians_and_directions():
    ours, theirs = (
        lambda z, m=m, loop=loop: loop(0, 6, lambda k, z: m.tanh(A @ z) + 0.1 * z, z)
        for m, loop in ((np, rc.fori_loop), (jnp, lax.fori_loop))
    )
    np.testing.assert_allclose(rc.jacobian(ours, holomorphic=True)(Z), jax.jacfwd(theirs, holomorphic=True)(Z))
    along = XS[0]
    for one, two in zip(rc.jvp(ours, (Z,), (along,)), jax.jvp(theirs, (Z,), (along,)), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-10)


def test_many_starts_at_once():
    found = rc.vmap(rc.grad(lambda z: plain_loop(np, z, A)))(XS)
    np.testing.assert_allclose(found, jax.vmap(jax.grad(lambda z: plain_loop(jnp, z, A)))(XS), rtol=1e-9, atol=1e-12)
