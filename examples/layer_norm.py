"""Layer norm, typed from the paper, against the same written by hand in NumPy."""

import numpy as np

import ricci as rc

TEXT = """
m[b]   = 1/|h| 1[h] x[b,h]                                            # mean over the features
v[b]   = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2                           # variance
y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]  # scale and shift
"""


def by_hand(x: np.ndarray, g: np.ndarray, beta: np.ndarray, eps: float) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps) * g + beta


y = rc.parse(TEXT)
print(y)
print(f"\nfree indices {y.indices}, inputs {y.variables}\n")
print(y.latex(), "\n")

rng = np.random.default_rng(0)
inputs = {"x": rng.normal(size=(32, 64)), "g": rng.normal(size=64), "beta": rng.normal(size=64), "eps": 1e-5}
error = np.abs(y(**inputs) - by_hand(**inputs)).max()
print(f"largest difference from NumPy: {error:.1e}")
assert error < 1e-12

# The same mathematics written with built-in reductions is an equal formula, before any number is computed.
short = rc.parse("y[b,h] = (x[b,h] - 1[h] mean[h](x[b,h])) / sqrt(var[h](x[b,h]) + eps) g[h] + 1[b] beta[h]")
print(f"written with mean[h] and var[h], it is an equal formula: {short == y}")
assert short == y

# Other statements of the text can be asked for by name, and float32 stays float32.
assert np.allclose(y["m"](x=inputs["x"]), inputs["x"].mean(axis=1))
assert y(**{name: np.float32(value) for name, value in inputs.items()}).dtype == np.float32

# The shapes are checked by index name.
try:
    y(**{**inputs, "g": np.ones(63)})
except rc.ShapeError as error:
    print(f"a wrong shape is refused: {error}")
else:
    raise AssertionError("a wrong shape was accepted")
