"""Least squares over complex numbers, on paper and in numbers: the derivative by conj(z) is Aᴴ (A z - b).

Setting it to zero gives the normal equations, whose matrix is the derivative of that by z. An antenna of five elements
is then told apart from noise: from what they receive, how strong the waves from three directions are.
"""

import numpy as np

import ricci as rc

loss = rc.parse("l = abs(A[i,j] z[j] - b[i])**2 1[i]", complex="A z b")
slope = loss.diff("conj(z)")
bend = slope.diff("z")
print("loss       ", loss)
print("by conj(z) ", slope)
print("           ", slope.matrix())
print("by z, too  ", bend)

rng = np.random.default_rng(0)
elements, angles = np.arange(5.0), np.array([-0.4, 0.1, 0.9])
A = np.exp(1j * np.pi * elements[:, None] * np.sin(angles))  # how a wave from each direction arrives at each element
waves = np.array([1.0, 0.5j, -0.3 + 0.2j])
b = A @ waves + 0.01 * (rng.normal(size=5) + 1j * rng.normal(size=5))

zero = np.zeros(3, complex)
found = zero - np.linalg.solve(bend(A=A, z=zero, b=b), slope(A=A, z=zero, b=b))  # one step of Newton's
print("found      ", np.round(found, 3))
print("they were  ", waves)
assert np.allclose(found, np.linalg.lstsq(A, b, rcond=None)[0])
