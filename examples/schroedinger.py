"""Schrödinger's equation by split operators, and the potential that sends a wave where it should go.

One step of time multiplies by the phase of the potential, goes to frequencies, multiplies by the phase of the kinetic
energy, and comes back: ``exp(-iV dt/2) F⁻¹ exp(-ik² dt/2) F exp(-iV dt/2)``. It is unitary, so the size of the wave
stays, to the last digit. Derivatives go back through all steps; that by the potential, which is real, is real.
"""

import numpy as np

import ricci as rc

POINTS, STEPS, DT, WIDTH = 128, 40, 0.02, 16.0
x = np.linspace(-WIDTH / 2, WIDTH / 2, POINTS, endpoint=False)
kinetic = np.exp(-0.5j * DT * (2 * np.pi * np.fft.fftfreq(POINTS, WIDTH / POINTS)) ** 2)


def packet(centre, speed):
    """A wave that is somewhere and moves."""
    wave = np.exp(-((x - centre) ** 2) + 1j * speed * x)
    return wave / np.linalg.norm(wave)


def evolved(potential, wave):
    half = np.exp(-0.5j * DT * potential)
    for _ in range(STEPS):
        wave = half * np.fft.ifft(kinetic * np.fft.fft(half * wave))
    return wave


start, target = packet(-2.0, 2.0), packet(1.0, -1.0)  # it is to turn around


def missed(potential):
    return 1 - np.abs(np.vdot(target, evolved(potential, start))) ** 2


potential = 0.5 * x**2
print("the wave keeps its size:", np.linalg.norm(rc.compile(evolved)(potential, start)))
value_and_slope = rc.value_and_grad(missed)
moment = np.zeros(POINTS)
first, _ = value_and_slope(potential)
for _ in range(300):
    value, slope = value_and_slope(potential)
    moment = 0.9 * moment - 20.0 * slope
    potential = potential + moment
print(f"of the wave, {first:.3f} missed the target at first, and {value:.3f} with the potential that was found")
assert slope.dtype == np.float64 and value < 0.1 < first
