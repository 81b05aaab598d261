"""Networks: LSTM, perceptron of a flat vector, convolutions, variational autoencoder, Bayesian network."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy

from literature.corpus import Program
from literature.mixtures import logsumexp

Widths = tuple[int, ...]


def sigmoid(np: Any, x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


# An LSTM whose gates are computed entry by entry.


def lstm_cell(np: Any, x: Any, hidden: Any, state: Any, weights: Any, offsets: Any) -> tuple[Any, Any]:
    b = x.shape[0]
    gates = np.concatenate([x, hidden, x, hidden]) * weights + offsets
    forget, take, give = sigmoid(np, gates[:b]), sigmoid(np, gates[b : 2 * b]), sigmoid(np, gates[2 * b : 3 * b])
    state = state * forget + take * np.tanh(gates[3 * b :])
    return give * np.tanh(state), state


def lstm(np: Any, parameters: Any, state: Any, letters: Any) -> Any:
    """The mean loss of predicting each letter of a sequence from those before it."""
    main, extra = parameters
    layers = len(main) // 2
    hiddens, states = [state[2 * k] for k in range(layers)], [state[2 * k + 1] for k in range(layers)]
    total = 0.0
    for now in range(len(letters) - 1):
        x = letters[now] * extra[0]
        for k in range(layers):
            hiddens[k], states[k] = lstm_cell(np, x, hiddens[k], states[k], main[2 * k], main[2 * k + 1])
            x = hiddens[k]
        guess = x * extra[1] + extra[2]
        guess = guess - np.log(np.sum(np.exp(guess)) + 2)
        total = total + np.sum(letters[now + 1] * guess)
    return -total / ((len(letters) - 1) * letters.shape[1])


def lstm_data(rng: Any, layers: int, length: int, bits: int) -> tuple:
    main = 0.5 * rng.normal(size=(2 * layers, 4 * bits))
    letters = (rng.random((length, bits)) < 0.5).astype(float)
    return (main, rng.normal(size=(3, bits))), rng.normal(size=(2 * layers, bits)), letters


# Perceptrons, their weights and offsets in one vector.


def unpacked(p: Any, widths: Widths) -> list[tuple[Any, Any]]:
    """The weights and offsets of the layers, along the last axis of ``p``."""
    layers, start = [], 0
    for m, n in pairwise(widths):
        weights = p[..., start : start + m * n].reshape(*p.shape[:-1], m, n)
        layers.append((weights, p[..., start + m * n : start + m * n + n]))
        start += m * n + n
    return layers


def count(widths: Widths) -> int:
    return sum((m + 1) * n for m, n in pairwise(widths))


def mlp(np: Any, p: Any, x: Any, y: Any, widths: Widths) -> Any:
    layers = unpacked(p, widths)
    for weights, offsets in layers[:-1]:
        x = np.tanh(x @ weights + offsets)
    weights, offsets = layers[-1]
    return np.mean((x @ weights + offsets - y) ** 2)


def mlp_widths(batch: int, depth: int, width: int) -> dict:
    return {"widths": (8, *[width] * depth, 3)}


def mlp_data(rng: Any, batch: int, depth: int, width: int) -> tuple:
    p = rng.normal(size=count(mlp_widths(batch, depth, width)["widths"])) / width**0.5
    return p, rng.normal(size=(batch, 8)), rng.normal(size=(batch, 3))


def bayes(np: Any, q: Any, x: Any, y: Any, noise: Any, widths: Widths) -> Any:
    """What variational inference minimises for a network whose weights are Gaussian: drawn weights, one set a row."""
    d = q.shape[0] // 2
    mean, logs = q[:d], q[d:]
    draws = mean + np.exp(logs) * noise
    h = x[None, :, :]
    layers = unpacked(draws, widths)
    for weights, offsets in layers[:-1]:
        h = np.tanh(h @ weights + offsets[:, None, :])
    weights, offsets = layers[-1]
    out = (h @ weights + offsets[:, None, :])[:, :, 0]
    likelihood = -0.5 * np.sum((out - y) ** 2, axis=1) / 0.01
    prior = -0.5 * np.sum(draws**2, axis=1)
    return -np.mean(likelihood + prior) - np.sum(logs)


def bayes_widths(samples: int, points: int, width: int) -> dict:
    return {"widths": (1, width, width, 1)}


def bayes_data(rng: Any, samples: int, points: int, width: int) -> tuple:
    d = count(bayes_widths(samples, points, width)["widths"])
    q = numpy.concatenate([rng.normal(size=d) / width**0.5, numpy.full(d, -3.0)])
    x = rng.uniform(-2, 2, size=(points, 1))
    return q, x, numpy.cos(2 * x[:, 0]), rng.normal(size=(samples, d))


# Convolutions, as sums over the places of the window.


def convolved(np: Any, x: Any, filters: Any) -> Any:
    out, channels, m, n = filters.shape
    rows, columns = x.shape[2] - m + 1, x.shape[3] - n + 1
    windows = [x[:, :, i : i + rows, j : j + columns] for i in range(m) for j in range(n)]
    return np.einsum("bcphw,ocp->bohw", np.stack(windows, axis=2), filters.reshape(out, channels, m * n))


def pooled(np: Any, x: Any) -> Any:
    b, c, h, w = x.shape
    return np.max(x.reshape(b, c, h // 2, 2, w // 2, 2), axis=(3, 5))


def convnet(np: Any, parameters: Any, images: Any, labels: Any) -> Any:
    """Two layers of convolution and pooling, one of all with all, and the loss of the labels."""
    first, second, weights, offsets = parameters
    x = np.tanh(pooled(np, convolved(np, images, first)))
    x = np.tanh(pooled(np, convolved(np, x, second)))
    scores = x.reshape(len(images), -1) @ weights + offsets
    return np.mean(logsumexp(np, scores) - scores[np.arange(len(images)), labels])


def convnet_data(rng: Any, batch: int, side: int, channels: int) -> tuple:
    last = ((side - 2) // 2 - 2) // 2
    shapes = [(channels, 1, 3, 3), (2 * channels, channels, 3, 3), (2 * channels * last**2, 10), (10,)]
    parameters = tuple([0.3 * rng.normal(size=shape) for shape in shapes])
    return parameters, rng.normal(size=(batch, 1, side, side)), rng.integers(0, 10, batch)


# A variational autoencoder of bits.


def vae(np: Any, parameters: Any, x: Any, noise: Any) -> Any:
    a, b, c, d, e, f, g, h = parameters
    code = np.tanh(x @ a + b) @ c + d
    size = noise.shape[1]
    mean, logs = code[:, :size], code[:, size:]
    z = mean + np.exp(0.5 * logs) * noise
    out = np.tanh(z @ e + f) @ g + h
    likelihood = -np.sum(np.logaddexp(0.0 * out, -(2 * x - 1) * out), axis=1)
    divergence = 0.5 * np.sum(np.exp(logs) + mean**2 - 1 - logs, axis=1)
    return np.mean(divergence - likelihood)


def vae_data(rng: Any, batch: int, pixels: int, width: int, code: int) -> tuple:
    shapes = [(pixels, width), (width,), (width, 2 * code), (2 * code,), (code, width), (width,), (width, pixels)]
    parameters = tuple([rng.normal(size=s) / s[0] ** 0.5 for s in [*shapes, (pixels,)]])
    return parameters, (rng.random((batch, pixels)) < 0.3).astype(float), rng.normal(size=(batch, code))


NETWORKS = (
    Program("lstm", lstm, lstm_data, "layers length bits", (2, 3, 14), ((2, 8, 14), (2, 30, 14), (2, 30, 512))),
    Program("mlp", mlp, mlp_data, "batch depth width", (10, 2, 10), ((10, 2, 10), (100, 3, 40)), fixed=mlp_widths),
    Program(
        "bayes", bayes, bayes_data, "samples points width", (5, 40, 5), ((5, 40, 10), (10, 100, 20)), fixed=bayes_widths
    ),
    Program("convnet", convnet, convnet_data, "batch side channels", (4, 10, 2), ((8, 14, 4), (32, 30, 6))),
    Program("vae", vae, vae_data, "batch pixels width code", (16, 64, 32, 4), ((16, 64, 32, 4), (128, 784, 200, 10))),
)
