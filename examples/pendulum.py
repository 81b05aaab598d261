"""The length and the damping of a pendulum, from noisy angles: an ODE solver is differentiated, Gauss–Newton fits.

``θ'' = -g/l sin θ - c θ'`` is integrated by the classical method of Runge and Kutta in a Python loop, for several
swings at once. The loop is rolled up, so 80 steps are traced and derived as fast as a few, and its Jacobian by the
parameters is exact, not a finite difference.
"""

import time

import numpy as np

import ricci as rc

GRAVITY = 9.81
DT, STEPS = 0.02, 80
TRUTH = {"length": 1.3, "damping": 0.25}


def slope(state, params):
    """The derivatives of the angles and of the speeds by time."""
    angle, speed = state
    return np.stack([speed, -GRAVITY / params[0] * np.sin(angle) - params[1] * speed])


def runge_kutta(state, params):
    a = slope(state, params)
    b = slope(state + DT / 2 * a, params)
    c = slope(state + DT / 2 * b, params)
    d = slope(state + DT * c, params)
    return state + DT / 6 * (a + 2 * b + 2 * c + d)


def angles(params, start):
    """The angles after each step, a row for each."""
    state, found = start, []
    for _ in range(STEPS):
        state = runge_kutta(state, params)
        found.append(state)
    return np.stack(found)[:, 0]


rng = np.random.default_rng(0)
start = np.stack([np.linspace(0.5, 2.5, 10), np.zeros(10)])  # ten swings, from rest
truth = np.array(list(TRUTH.values()))
measured = angles(truth, start) + 0.02 * rng.normal(size=(STEPS, 10))

jacobian = rc.jacobian(angles)
params = np.array([1.0, 0.0])
begin = time.perf_counter()
J = jacobian(params, start)
first = time.perf_counter() - begin
begin = time.perf_counter()
for _ in range(20):
    jacobian(params, start)
later = (time.perf_counter() - begin) / 20
print(f"Jacobian of shape {J.shape}: {first:.2f} s for the first call, {later * 1e3:.2f} ms for the next\n")

# It agrees with differences.
assert np.allclose(J, rc.numerical_jacobian(angles, params, start), rtol=1e-6, atol=1e-8)

# Gauss–Newton: the residual is taken as linear, and its least squares solved; the step is the solution.
for step in range(20):
    residual = (angles(params, start) - measured).ravel()
    J = jacobian(params, start).reshape(-1, 2)
    error, gradient = np.sqrt((residual**2).mean()), np.abs(J.T @ residual).max()
    print(f"step {step}: length {params[0]:.4f}, damping {params[1]:.4f}, error {error:.4f}, gradient {gradient:.1e}")
    if gradient < 1e-9:
        break
    params = params - np.linalg.lstsq(J, residual, rcond=None)[0]
assert step < 15 and gradient < 1e-9

# How well they are known: by the size of the noise and the singular values of the Jacobian.
spread = error * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
print()
for name, value, sigma in zip(TRUTH, params, spread, strict=True):
    print(f"{name}: {value:.4f} ± {sigma:.4f}, in truth {TRUTH[name]}")
assert np.all(np.abs(params - truth) < 4 * spread)
assert np.allclose(params, truth, atol=0.02)
assert 0.015 < error < 0.025, "what is left is the noise"
