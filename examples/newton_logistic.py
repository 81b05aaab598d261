"""Newton's method for logistic regression: the gradient and the Hessian come from the text of the loss."""

import numpy as np

import ricci as rc

LOSS = """
z[m] = y[m] X[m,n] w[n]
l = 1[m] log(1 + exp(-z[m])) + 1/2 c w[n] w[n]
"""

loss = rc.parse(LOSS)
gradient, hessian = loss.diff("w[p]"), loss.diff("w[p]", "w[q]")
print(loss, gradient, hessian, sep="\n\n", end="\n\n")
print(f"in matrix notation:\n\n{gradient.matrix()}\n{hessian.matrix()}\n")

rng = np.random.default_rng(0)
X, truth = rng.normal(size=(500, 8)), rng.normal(size=8)
y = np.where(rng.uniform(size=500) < 1 / (1 + np.exp(-X @ truth)), 1.0, -1.0)
data = {"X": X, "y": y, "c": 0.1}

w = np.zeros(8)
sizes = []
for step in range(20):
    slope = gradient(w=w, **data)
    sizes.append(np.linalg.norm(slope))
    print(f"step {step}: loss {loss(w=w, **data):.12f}, size of the gradient {sizes[-1]:.1e}")
    if sizes[-1] < 1e-10:
        break
    w = w - np.linalg.solve(hessian(w=w, **data), slope)

# At the minimum the gradient vanishes; the last steps are quadratic; the Hessian is symmetric and positive.
H = hessian(w=w, **data)
assert sizes[-1] < 1e-10 and step < 10
assert sizes[-2] < sizes[-3] ** 1.5
assert np.allclose(H, H.T) and np.linalg.eigvalsh(H).min() > 0
agreement = w @ truth / np.linalg.norm(w) / np.linalg.norm(truth)
print(f"\nafter {step} steps the cosine between the weights found and those drawn is {agreement:.3f}")
assert agreement > 0.95

# Far from the minimum the Hessian as it is usually written overflows; this one is written in a stable form.
far = hessian(w=1e4 * truth, **data)
assert np.isfinite(far).all()
with np.errstate(over="ignore", invalid="ignore"):
    e = np.exp(-y * (X @ (1e4 * truth)))
    plain = (X.T * (y**2 * e / (1 + e) ** 2)) @ X
print(f"at weights of 10,000 the usual form has {np.isnan(plain).sum()} entries that are not numbers, this one none")
