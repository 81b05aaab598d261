"""A Gaussian process learns its length scale, its amplitude and its noise from the gradient of its likelihood.

With the kernel matrix ``K`` of the inputs, the log marginal likelihood is ``-(yᵀ K⁻¹ y + log det K + n log 2π) / 2``.
It is written with ``np.linalg``, and differentiated as it stands: through ``solve``, ``slogdet`` and ``cholesky``.
"""

import numpy as np

import ricci as rc

rng = np.random.default_rng(0)
N = 40

x = np.sort(rng.uniform(0, 10, N))
y = np.sin(x) + 0.1 * rng.normal(size=N)


def kernel(log_params, a, b):
    length, amplitude = np.exp(log_params["length"]), np.exp(log_params["amplitude"])
    return amplitude**2 * np.exp(-0.5 * ((a[:, None] - b[None, :]) / length) ** 2)


def covariance(log_params, x):
    return kernel(log_params, x, x) + np.exp(2 * log_params["noise"]) * np.eye(len(x))


def log_likelihood(log_params, x, y):
    K = covariance(log_params, x)
    return -0.5 * (y @ np.linalg.solve(K, y) + np.linalg.slogdet(K)[1] + len(y) * np.log(2 * np.pi))


def by_cholesky(log_params, x, y):
    """The same as it is usually written, through ``K = L Lᵀ``."""
    L = np.linalg.cholesky(covariance(log_params, x))
    z = np.linalg.solve(L, y)
    return -0.5 * (z @ z + len(y) * np.log(2 * np.pi)) - np.log(np.diag(L)).sum()


params = {"length": np.log(2.0), "amplitude": np.log(0.5), "noise": np.log(0.3)}

# Two ways to write it, one gradient; and central differences agree with both.
gradients = [rc.grad(f)(params, x, y) for f in (log_likelihood, by_cholesky)]
numbers = rc.numerical_jacobian(log_likelihood, params, x, y)
print("gradient by           solve, slogdet        cholesky     differences")
for name in params:
    by_solve, by_factor = (g[name] for g in gradients)
    print(f"  log {name:<12} {by_solve:17.8f} {by_factor:15.8f} {numbers[name]:15.8f}")
    assert np.isclose(by_solve, by_factor, rtol=1e-8)
    assert np.isclose(by_solve, numbers[name], rtol=1e-5)

# Newton's method on three numbers, with the step shortened while it does not climb.
value_and_gradient, hessian = rc.value_and_grad(by_cholesky), rc.hessian(by_cholesky)
names = list(params)
print()
for step in range(30):
    value, g = value_and_gradient(params, x, y)
    slope = np.array([g[name] for name in names])
    print(f"step {step}: log likelihood {value:.6f}, size of the gradient {np.linalg.norm(slope):.1e}")
    if np.linalg.norm(slope) < 1e-8:
        break
    second = hessian(params, x, y)
    H = np.array([[second[a][b] for b in names] for a in names])
    curvature, directions = np.linalg.eigh(H)
    along = directions @ (directions.T @ slope / np.abs(curvature))  # uphill, also where it is not concave
    size = 1.0
    while by_cholesky(trial := {n: params[n] + size * d for n, d in zip(names, along, strict=True)}, x, y) < value:
        size /= 2
    params = trial
assert np.linalg.norm(slope) < 1e-8 and step < 20

found = {name: float(np.exp(value)) for name, value in params.items()}
print("\nfound: " + ", ".join(f"{name} {value:.3f}" for name, value in found.items()))
assert 0.05 < found["noise"] < 0.15, "the noise that was added is 0.1"

# What it has learned is the sine, also between the points.
between = np.linspace(x[0], x[-1], 200)
mean = kernel(params, between, x) @ np.linalg.solve(covariance(params, x), y)
error = np.abs(mean - np.sin(between)).max()
print(f"largest distance of the mean from the sine: {error:.3f}")
assert error < 0.2
