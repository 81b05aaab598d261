"""A filter with few coefficients, designed by Newton's method on its frequency response.

A filter lets low frequencies pass, and no high ones. How it answers to a frequency is the transform of its
coefficients, so the error is a sum over frequencies of |H - wanted|², weighted. It is quadratic in the coefficients:
the Hessian by them is real and Toeplitz, and one step of Newton's is the answer. A second one is made for signals that
lag behind, whose wanted response is complex.
"""

import numpy as np

import ricci as rc

TAPS, POINTS = 31, 256
frequencies = np.fft.rfftfreq(POINTS)
passed, stopped = frequencies < 0.1, frequencies > 0.15
weights = passed + 10.0 * stopped


def error(taps, lag):
    """Of the response, weighted; between the two bands everything is allowed."""
    wanted = passed * np.exp(-2j * np.pi * frequencies * lag)
    return (weights * np.abs(np.fft.rfft(taps, POINTS) - wanted) ** 2).sum()


for lag in (15.0, 12.5):
    start = np.zeros(TAPS)
    slope, bend = rc.grad(error)(start, lag), rc.hessian(error)(start, lag)
    taps = start - np.linalg.solve(bend, slope)
    response = np.abs(np.fft.rfft(taps, POINTS))
    ripple, leak = np.abs(response[passed] - 1).max(), response[stopped].max()
    print(f"lag {lag}: passes within {ripple:.3f}, stops down to {20 * np.log10(leak):.0f} dB")
    assert np.allclose(rc.grad(error)(taps, lag), 0, atol=1e-8) and ripple < 0.1 and leak < 0.05
    assert np.allclose(bend[0, 1:-1], bend[1, 2:])  # the same along each diagonal
