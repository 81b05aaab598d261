"""Linear and logistic regression by Newton's method: the losses are NumPy functions, the Hessians come compressed.

A Newton step solves ``H step = g``, with the gradient ``g`` and the Hessian ``H`` of the loss. With several outputs, as
below, the weights are a matrix, and ``H`` has four axes; but each output has its own weights, so that most of ``H`` is
zero. ``rc.hessian(loss, compressed=True)`` holds what is not zero, and solves with that.
"""

import numpy as np

import ricci as rc

rng = np.random.default_rng(0)
ROWS, FEATURES, OUTPUTS = 400, 8, 20

X = rng.normal(size=(ROWS, FEATURES))
truth = rng.normal(size=(FEATURES, OUTPUTS))


def squares(W, X, Y):
    """Least squares, each output by its own column of W."""
    return 0.5 * ((X @ W - Y) ** 2).sum()


def logloss(W, X, Y, decay):
    """Logistic regression with labels of -1 and 1, and a little weight decay so that there is a minimum."""
    return np.log1p(np.exp(-Y * (X @ W))).sum() + 0.5 * decay * (W**2).sum()


# Linear regression: the loss is quadratic, so that one step from anywhere ends at the minimum.
Y = X @ truth + 0.1 * rng.normal(size=(ROWS, OUTPUTS))
W = rng.normal(size=truth.shape)
W = W - rc.hessian(squares, compressed=True)(W, X, Y).solve(rc.grad(squares)(W, X, Y))
expected = np.linalg.lstsq(X, Y, rcond=None)[0]
print(f"linear regression: one step ends {np.abs(W - expected).max():.1e} from what np.linalg.lstsq finds")
assert np.allclose(W, expected, atol=1e-12)

# Logistic regression: a few steps, the last ones quadratic.
chance = 1 / (1 + np.exp(-X @ truth))
labels = np.where(rng.uniform(size=chance.shape) < chance, 1.0, -1.0)
value_and_gradient = rc.value_and_grad(logloss)
curvature = rc.hessian(logloss, compressed=True)

W = np.zeros(truth.shape)
sizes = []
print("\nlogistic regression:")
for step in range(20):
    loss, g = value_and_gradient(W, X, labels, 1.0)
    sizes.append(np.linalg.norm(g))
    print(f"step {step}: loss {loss:.9f}, size of the gradient {sizes[-1]:.1e}")
    if sizes[-1] < 1e-9:
        break
    W = W - curvature(W, X, labels, 1.0).solve(g)
assert sizes[-1] < 1e-9 and step < 10
assert sizes[-2] < sizes[-3] ** 1.5

# The compressed Hessian is the whole one, in a twentieth of the memory: a block for each output.
H = curvature(W, X, labels, 1.0)
whole = rc.hessian(logloss)(W, X, labels, 1.0)
v = rng.normal(size=W.shape)
print(f"\nthe Hessian has {whole.nbytes:,} bytes whole and {H.nbytes:,} compressed")
assert np.allclose(H.todense(), whole)
assert np.allclose(H @ v, np.einsum("ijkl,kl->ij", whole, v))
assert np.allclose(np.einsum("ijkl,kl->ij", whole, H.solve(v)), v)
assert 10 * H.nbytes < whole.nbytes

# The loss as it is written overflows at large weights. What ricci makes of it does not.
far, gradient = value_and_gradient(1e4 * truth, X, labels, 0.0)
print(f"at weights of 10,000 the loss is {far:.6g} and the gradient finite: {np.isfinite(gradient).all()}")
assert np.isfinite(far) and np.isfinite(gradient).all()
