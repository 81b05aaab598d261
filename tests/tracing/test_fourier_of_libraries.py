"""Fourier transforms of functions of PyTorch and JAX: traced, and differentiated, as theirs are."""

import numpy as np
import pytest

import ricci as rc

RNG = np.random.default_rng(5)
REAL = RNG.normal(size=(3, 6))
COMPLEX = RNG.normal(size=(3, 6)) + 1j * RNG.normal(size=(3, 6))
CASES = {
    "fft": (lambda m, z: m.fft.fft(z), COMPLEX),
    "ifft, ortho": (lambda m, z: m.fft.ifft(z, norm="ortho"), COMPLEX),
    "fft2": (lambda m, z: m.fft.fft2(z), COMPLEX),
    "ifftn, forward": (lambda m, z: m.fft.ifftn(z, norm="forward"), COMPLEX),
    "irfft": (lambda m, z: m.fft.irfft(z, n=8), COMPLEX),
    "irfft2": (lambda m, z: m.fft.irfft2(z), COMPLEX),
    "hfft": (lambda m, z: m.fft.hfft(z), COMPLEX),
    "shifted": (lambda m, z: m.fft.fftshift(m.fft.fft(z)), COMPLEX),
    "rfft": (lambda m, x: m.fft.rfft(x, n=9), REAL),
    "rfft2, ortho": (lambda m, x: m.fft.rfft2(x, norm="ortho"), REAL),
    "fft of real numbers": (lambda m, x: m.fft.fft(x), REAL),
    "ifft of real numbers": (lambda m, x: m.fft.ifft(x), REAL),
    "ihfft": (lambda m, x: m.fft.ihfft(x), REAL),
}


def loss(m, f, x):
    y = f(m, x)
    return (m.abs(y) ** 3 + m.abs(y - y[0, 0]) ** 2).sum()


@pytest.mark.parametrize("name", CASES)
def test_gradients_through_torch(name):
    torch = pytest.importorskip("torch")
    f, x = CASES[name]
    leaf = torch.as_tensor(x).requires_grad_()
    loss(torch, f, leaf).backward()
    found = rc.grad(lambda v: loss(torch, f, v), convention="torch")(torch.as_tensor(x))
    np.testing.assert_allclose(found.resolve_conj().numpy(), leaf.grad.resolve_conj().numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_gradients_through_jax(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    f, x = CASES[name]
    wanted = jax.grad(lambda v: loss(jax.numpy, f, v))(x)
    for found in (
        rc.grad(lambda v: loss(jax.numpy, f, v))(jax.numpy.asarray(x)),
        rc.grad(lambda v: loss(np, f, v))(x),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
