"""GARCH(1,1): the likelihood of a series whose variance follows a recurrence, written as a plain loop, and fitted.

``h[t+1] = ω + α y[t]² + β h[t]``. One step of the loop is traced and derived; gradient and Hessian run as loops.
"""

import time

import numpy as np

import ricci as rc

TRUTH = np.array([0.1, 0.15, 0.8])  # ω, α, β
LENGTH = 20_000


def likelihood(theta, y):
    """Minus the logarithm of the likelihood, but for a constant, for each day."""
    h, total = theta[0] / (1 - theta[1] - theta[2]), 0.0
    for t in range(len(y)):
        total += np.log(h) + y[t] ** 2 / h
        h = theta[0] + theta[1] * y[t] ** 2 + theta[2] * h
    return total / len(y)


rng = np.random.default_rng(0)
y, h = np.zeros(LENGTH), TRUTH[0] / (1 - TRUTH[1] - TRUTH[2])
for t in range(LENGTH):
    y[t] = np.sqrt(h) * rng.normal()
    h = TRUTH[0] + TRUTH[1] * y[t] ** 2 + TRUTH[2] * h

slope, curvature = rc.grad(likelihood), rc.hessian(likelihood)
theta = np.array([0.15, 0.2, 0.7])
begin = time.perf_counter()
slope(theta, y)
first = time.perf_counter() - begin
begin = time.perf_counter()
slope(theta, y)
later = time.perf_counter() - begin
print(f"{LENGTH} steps: {first * 1e3:.0f} ms to the first gradient, {later * 1e3:.2f} ms the next\n")

value = rc.compile(likelihood)
for step in range(30):
    g, H = slope(theta, y), curvature(theta, y)
    lengths, axes = np.linalg.eigh(H)
    move = axes @ (axes.T @ g / np.maximum(np.abs(lengths), 1e-3))  # downhill, also where the Hessian is not positive
    while np.any(theta <= move) or (theta - move)[1:].sum() >= 1 or value(theta - move, y) > value(theta, y) + 1e-12:
        move = move / 2
    print(f"step {step}: θ = {theta.round(4)}, gradient {np.abs(g).max():.1e}")
    if np.abs(g).max() < 1e-9:
        break
    theta = theta - move

spread = np.sqrt(np.diag(np.linalg.inv(H)) * 2 / LENGTH)
for name, found, sigma, true in zip("ωαβ", theta, spread, TRUTH, strict=True):
    print(f"{name}: {found:.4f} ± {sigma:.4f}, in truth {true}")
assert np.abs(g).max() < 1e-9
assert np.all(np.abs(theta - TRUTH) < 4 * spread)
assert np.allclose(slope(theta, y), rc.numerical_jacobian(likelihood, theta, y), atol=1e-6)
