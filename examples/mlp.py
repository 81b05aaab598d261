"""A perceptron with two hidden layers learns the two moons; its parameters are a list of dictionaries.

The network is plain NumPy. ``rc.value_and_grad`` gives the gradient in the form of the parameters, and
``rc.tree_map`` walks through both, so that the optimiser does not need to know what the parameters look like.
"""

import time
from itertools import pairwise

import numpy as np

import ricci as rc

rng = np.random.default_rng(0)


def two_moons(number):
    """Points on two half circles that reach into each other, and which of the two each is on."""
    labels = rng.integers(0, 2, number)
    angle = rng.uniform(0, np.pi, number)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], axis=1)
    return np.where(labels[:, None] == 0, upper, lower) + 0.1 * rng.normal(size=(number, 2)), labels


def layers(sizes):
    """Weights whose outputs have the size of their inputs, and biases of zero."""
    return [{"weight": rng.normal(size=(m, n)) / np.sqrt(m), "bias": np.zeros(n)} for m, n in pairwise(sizes)]


def network(params, x):
    for layer in params[:-1]:
        x = np.tanh(x @ layer["weight"] + layer["bias"])
    return x @ params[-1]["weight"] + params[-1]["bias"]


def loss(params, x, labels):
    """The cross-entropy of the true labels; two logits for each point."""
    z = network(params, x)
    z = z - z.max(axis=1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(x)), labels].mean()


def accuracy(params, x, labels):
    return (network(params, x).argmax(axis=1) == labels).mean()


points, labels = two_moons(500)
fresh, fresh_labels = two_moons(500)
params = layers([2, 16, 16, 2])
value_and_gradient = rc.value_and_grad(loss)

start = time.perf_counter()
first, _ = value_and_gradient(params, points, labels)
print(f"traced, differentiated and compiled in {time.perf_counter() - start:.2f} s")

# Gradient descent with momentum; the velocity is one more tree of the same form.
velocity = rc.tree_map(np.zeros_like, params)
start = time.perf_counter()
for step in range(401):
    value, gradient = value_and_gradient(params, points, labels)
    velocity = rc.tree_map(lambda v, g: 0.9 * v - 0.1 * g, velocity, gradient)
    params = rc.tree_map(np.add, params, velocity)
    if step % 100 == 0:
        print(f"step {step}: loss {value:.4f}, accuracy {accuracy(params, points, labels):.3f}")
print(f"{(time.perf_counter() - start) / 401 * 1e6:.0f} µs for a step")

found = accuracy(params, fresh, fresh_labels)
print(f"of points that it has not seen it places {found:.1%} on the right moon")
assert abs(first - np.log(2)) < 0.5, "before training, the two are about equally likely"
assert value < 0.05
assert found > 0.98
