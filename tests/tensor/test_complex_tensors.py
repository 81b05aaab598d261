"""Tensors of complex numbers: gradients of the first and second order, as PyTorch has them."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
from ricci.errors import RuleError

RNG = np.random.default_rng(1)
Z, X = RNG.normal(size=4) + 1j * RNG.normal(size=4), RNG.normal(size=4)
A = RNG.normal(size=(4, 4)) + 1j * RNG.normal(size=(4, 4))
FUNCTIONS = [
    lambda m, a, z, x: (abs(z) ** 2 * x).sum(),
    lambda m, a, z, x: m.vdot(z, a @ z).real + x.sum(),
    lambda m, a, z, x: abs(m.sum(m.exp(1j * x) * z)),
    lambda m, a, z, x: (z.real * z.imag * x).sum() + m.angle(z).sum(),
    lambda m, a, z, x: (z.conj() * z * z + x).imag.sum(),
    lambda m, a, z, x: abs(z[1:] - z[:-1] * x[1:]).sum() + (1 / z).real.sum(),
    lambda m, a, z, x: abs(m.prod(z)) * m.linalg.norm(a @ z * x),
    lambda m, a, z, x: abs(m.sqrt(x + 0j)).sum() * abs(m.log(z)).sum(),
    lambda m, a, z, x: m.where(x > 0, z, z.conj() * 1j).imag.sum() * x.sum(),
    lambda m, a, z, x: abs(m.fft.fft(z))[1] + m.fft.rfft(x).imag.sum(),
]


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_gradients_are_those_of_pytorch(f, dtype):
    torch = pytest.importorskip("torch")
    given = [A.astype(dtype), Z.astype(dtype), X.astype(np.finfo(dtype).dtype)]
    ours, theirs = [rc.Tensor(v) for v in given], [torch.tensor(v, requires_grad=True) for v in given]
    f(np, *ours).backward(create_graph=True)
    first = torch.autograd.grad(f(torch, *theirs), theirs, create_graph=True, materialize_grads=True)
    tolerance = 1e-9 if dtype is np.complex128 else 1e-3
    for t, g in zip(ours, first, strict=True):
        got = np.zeros(t.shape, t.dtype) if t.grad is None else t.grad.numpy()
        np.testing.assert_allclose(got, g.detach().numpy(), rtol=tolerance, atol=tolerance)
        assert got.dtype == t.dtype
    if dtype is np.complex64:
        return
    size = sum((t.grad * t.grad.conj()).real.sum() for t in ours if t.grad is not None)
    for t in ours:
        t.grad = None
    size.backward()  # pyright: ignore[reportAttributeAccessIssue]
    total = sum((g * g.conj()).real.sum() for g in first)
    second = torch.autograd.grad(total, theirs, materialize_grads=True, allow_unused=True)
    for t, g in zip(ours, second, strict=True):
        got = np.zeros(t.shape) if t.grad is None else t.grad.numpy()
        np.testing.assert_allclose(got, g.numpy(), rtol=1e-7, atol=1e-7)


def test_what_comes_in_and_what_is_in_between():
    z = rc.Tensor(Z)
    with pytest.raises(RuleError, match=r"t.abs\(\).backward"):
        z.sum().backward()
    z.sum().backward(gradient=2 + 1j)
    np.testing.assert_array_equal(z.grad.numpy(), np.full(4, 2 + 1j))
    for x in (rc.Tensor(X), rc.Tensor(X.astype(np.float32))):
        abs((1 + 2j) * x + 1j).sum().backward()
        assert x.grad.dtype == x.dtype
    np.testing.assert_allclose(rc.grad(lambda z: abs(z[0]) ** 2)(z).numpy(), [2 * Z[0].conj(), 0, 0, 0])
    z.grad = None
    w = 2 * z
    w[1:] = 1j * w[:-1]
    w[1:].imag.sum().backward()
    np.testing.assert_array_equal(z.grad.numpy(), [2, 2, 2, 0])
