"""Factorising a matrix with missing entries: Newton's method through the structure of the Hessian.

The loss is quadratic in U for fixed V, and in V for fixed U, so each Newton step is exact. The Hessian by U has (n k)²
entries, and is a k by k matrix for each row: it is never made whole, and a step solves n small systems.
"""

import numpy as np

import ricci as rc

rng = np.random.default_rng(0)
n, m, k = 300, 200, 4
target = rng.normal(size=(n, k)) @ rng.normal(size=(k, m))
known = rng.random((n, m)) < 0.3

loss = rc.parse("l = sum[i,j](M[i,j] (T[i,j] - U[i,k] V[j,k])**2) + 0.001 U[i,k] U[i,k] + 0.001 V[j,k] V[j,k]")
value = loss.compile("numpy")
steps = {}
for name in ("U", "V"):
    gradient, hessian = loss.diff(name), loss.diff(name, name)
    print(f"by {name}: {hessian.structure()}")
    steps[name] = gradient.compile("numpy"), hessian.compile("numpy", compressed=True)

inputs = {"M": known.astype(float), "T": target, "U": rng.normal(size=(n, k)), "V": rng.normal(size=(m, k))}
for sweep in range(12):
    for name, (gradient, hessian) in steps.items():
        inputs[name] = inputs[name] - hessian(**inputs).solve(gradient(**inputs))
    if sweep % 3 == 2:
        error = np.abs(inputs["U"] @ inputs["V"].T - target)[~known].max()
        print(f"after {sweep + 1} sweeps: loss {value(**inputs):.3e}, largest error on entries not seen {error:.1e}")

print(steps["U"][1](**inputs))
print(steps["U"][1].plan)
assert error < 0.05
