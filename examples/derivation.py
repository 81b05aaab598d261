"""The derivation of layer norm's gradient, step by step, and the gradient against central differences."""

import numpy as np

import ricci as rc

LAYER_NORM = """
m[b]   = 1/|h| 1[h] x[b,h]
v[b]   = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]
"""

y = rc.parse(LAYER_NORM)
jacobian = y.diff("x[c,k]")
steps = jacobian.derivation()
print(steps)
print("\nthe same in LaTeX:\n")
print(steps.latex())

# A derivation is a sequence of steps: a rule, and a text.
print(f"\n{len(steps)} steps, by these rules: {'; '.join(dict.fromkeys(step.rule for step in steps))}\n")
assert steps[0].rule == "definition"

# The result knows that rows of x do not mix: a core for each row, times a delta.
print(f"structure: {jacobian.structure()}\n")

rng = np.random.default_rng(0)
inputs = {"x": rng.normal(size=(3, 5)), "g": rng.normal(size=5), "beta": rng.normal(size=5), "eps": 1e-5}


def central_differences(x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """The Jacobian: its last two axes are those of ``x``."""
    result = np.empty((*x.shape, *x.shape))
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        result[(..., *place)] = (y(**{**inputs, "x": up}) - y(**{**inputs, "x": down})) / (2 * step)
    return result


found, expected = jacobian(**inputs), central_differences(inputs["x"])
error = np.abs(found - expected).max()
print(f"largest difference from central differences: {error:.1e}")
assert error < 1e-6

# What flows back, in one sweep, as it is used in training: no Jacobian is formed.
y_bar = rng.normal(size=(3, 5))
x_bar, g_bar, beta_bar = rc.pullback(y, ["x", "g", "beta"], rc.variable("y_bar[b,h]"))
print(f"\nwhat flows back to x:\n\n{x_bar.named('x_bar')}")
assert np.allclose(x_bar(**inputs, y_bar=y_bar), np.einsum("bh,bhck->ck", y_bar, found))
assert np.allclose(beta_bar(y_bar=y_bar), y_bar.sum(axis=0))
assert np.allclose(g_bar(**inputs, y_bar=y_bar), np.einsum("bh,bhk->k", y_bar, y.diff("g")(**inputs)))
