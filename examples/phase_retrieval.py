"""Phase retrieval: a signal from the sizes of its measurements, whose phases nobody has seen.

From y = |A z|² the signal is found up to one phase for all of it: by a start from the largest eigenvector of
Aᴴ diag(y) A, and descent along the gradient (Wirtinger flow). ``rc.grad`` of a real function of complex numbers is
JAX's, df/dx - i df/dy; one goes down along its conjugate, which is the derivative by conj(z), doubled.
"""

import numpy as np

import ricci as rc

rng = np.random.default_rng(0)
size, count = 32, 256
signal = rng.normal(size=size) + 1j * rng.normal(size=size)
A = (rng.normal(size=(count, size)) + 1j * rng.normal(size=(count, size))) / np.sqrt(2)
y = np.abs(A @ signal) ** 2


def loss(z):
    """How far the sizes are from those that were measured."""
    return ((np.abs(A @ z) ** 2 - y) ** 2).mean()


weighted = A.conj().T @ (y[:, None] * A) / count
z = np.linalg.eigh(weighted)[1][:, -1] * np.sqrt(y.mean())
value_and_slope = rc.value_and_grad(loss)
rate = 0.05 / np.mean(y)
first = loss(z)
for _ in range(3000):
    value, slope = value_and_slope(z)
    z = z - rate * slope.conj()

phase = np.exp(1j * np.angle(np.vdot(z, signal)))  # which nothing tells
error = np.linalg.norm(z * phase - signal) / np.linalg.norm(signal)
print(f"loss {first:.3g} at first, {value:.3g} after 3,000 steps; the signal is off by {error:.1e} of its length")
assert error < 1e-6
