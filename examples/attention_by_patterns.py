"""Attention in patterns: once for arrays, in a scope that checks its axes, and once for expressions, derived."""

from typing import Any

import numpy as np

import ricci as rc


@rc.signature("b t c, c (three h d) -> b t (h d)", three=3, h=4)
def attention(x, weights) -> Any:
    """Self-attention with four heads, on arrays or on expressions."""
    mixed = rc.einsum("b t c, c e -> b t e", x, weights)
    q, k, v = rc.rearrange(mixed, "b t (q + k + v) -> b t q, b t k, b t v", q=8, k=8)
    q, k, v = (rc.rearrange(z, "b n (h d) -> b h n d", h=4) for z in (q, k, v))
    scores = rc.einsum("b h i d, b h j d -> b h i j", q, k)
    chosen = softmax(scores)
    return rc.rearrange(rc.einsum("b h i j, b h j d -> b h i d", chosen, v), "b h t d -> b t (h d)")


def softmax(scores):
    if isinstance(scores, rc.Formula):
        return rc.softmax(scores, "j")
    powers = np.exp(scores - rc.reduce(scores, "b h i j -> b h i 1", "max"))
    return powers / rc.reduce(powers, "b h i j -> b h i 1", "sum")


rng = np.random.default_rng(0)
x, weights = rng.normal(size=(2, 5, 6)), rng.normal(size=(6, 24))
result = attention(x, weights)
print(rc.shapes(attention)(x, weights))

# The same function on expressions: the value agrees, and the derivative comes with it.
formula = attention(rc.variable("x", x), rc.variable("W", weights))
assert np.allclose(formula.compile("numpy")(), result)

loss = rc.reduce(formula * formula, "b t e -> ", "sum") / 2
gradient = loss.diff("W").compile("numpy")()
step = 1e-6 * rng.normal(size=weights.shape)
change = [0.5 * (attention(x, weights + sign * step) ** 2).sum() for sign in (1, -1)]
assert np.isclose((change[0] - change[1]) / 2, (gradient * step).sum(), rtol=1e-5)
print("gradient by the weights:", gradient.shape)

# A wrong size is named where it meets the right one.
try:
    attention(x, rng.normal(size=(7, 24)))
except rc.ShapeError as error:
    print(error)
