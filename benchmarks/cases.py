"""What is measured: each case as a text in index notation, as a function for JAX and torch, and its inputs.

``Case.function`` takes a namespace (``peers.py``) and the inputs by name; ``hand`` are hand-written NumPy functions of
the inputs (``handwritten.py``), ``native`` hand-written ones over a namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import handwritten as hand
import numpy as np

import ricci as rc

Function = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """A scalar function; ``by`` are the inputs it is differentiated by, ``inputs`` the shapes of all."""

    name: str
    text: str
    by: tuple[str, ...]
    function: Function
    inputs: dict[str, tuple[int, ...]]
    draw: Callable[[np.random.Generator, str, tuple[int, ...]], np.ndarray]
    hand: dict[str, Function] = field(default_factory=dict)
    native: dict[str, Function] = field(default_factory=dict)

    def values(self, dtype: str) -> dict[str, np.ndarray]:
        """The same numbers at every call, in the given precision."""
        rng = np.random.default_rng(0)
        return {name: np.asarray(self.draw(rng, name, shape)).astype(dtype) for name, shape in self.inputs.items()}

    def direction(self, dtype: str) -> np.ndarray:
        """A vector to multiply the Hessian with, of the shape of what it is by."""
        return np.random.default_rng(1).standard_normal(self.inputs[self.by[0]]).astype(dtype)

    def hessian(self) -> rc.Formula:
        return rc.parse(self.text).diff(*self.by * 2)

    def gradient(self) -> list[rc.Formula]:
        """The value and the gradients."""
        loss = rc.parse(self.text)
        return [loss, *loss.diff_all(*self.by)]


def _normal(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    return rng.standard_normal(shape)


def _weights(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Normal; weights are scaled so that values keep their size from layer to layer."""
    return rng.standard_normal(shape) / (shape[0] ** 0.5 if name[0] in "wW" else 1.0)


# Logistic regression.


def logistic(rows: int, n: int) -> Case:
    def draw(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
        return np.sign(rng.standard_normal(shape)) if name == "y" else _weights(rng, name, shape)

    return Case(
        f"logistic regression, X {rows}×{n}",
        "l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))",
        ("w",),
        lambda m, w, X, y: m.softplus(-y * (X @ w)).sum(),
        {"w": (n,), "X": (rows, n), "y": (rows,)},
        draw,
        {
            "hessian": hand.logistic_hessian,
            "syrk": hand.logistic_hessian_syrk,
            "gradient": hand.logistic_gradient,
        },
        {"hessian": hand.native_logistic_hessian},
    )


# Matrix factorisation.


def _factorisation(m: Any, U: Any, V: Any, T: Any, M: Any = None) -> Any:
    error = (T - U @ V.T) ** 2
    return error.sum() if M is None else (M * error).sum()


def factorisation(n: int, k: int, masked: bool = False) -> Case:
    def draw(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
        return rng.random(shape) < 0.5 if name == "M" else rng.standard_normal(shape)

    mask = {"M": (n, n)} if masked else {}
    halves = {"core, half": hand.factorisation_core_half} if masked else {}
    return Case(
        f"{'masked' if masked else 'plain'} factorisation, n={n}, k={k}",
        f"l = sum[i,j]({'M[i,j] ' if masked else ''}(T[i,j] - U[i,k] V[j,k])**2)",
        ("U",),
        _factorisation,
        {"U": (n, k), "V": (n, k), "T": (n, n), **mask},
        draw,
        {
            "core": hand.factorisation_core,
            "hessian": hand.factorisation_dense,
            **halves,
            "product": hand.factorisation_product,
        },
        {"core": hand.native_factorisation_core, "hessian": hand.native_factorisation_dense},
    )


# Networks without biases, all layers of one width.


def _network(function: str, layers: int) -> Function:
    def loss(m: Any, x: Any, **weights: Any) -> Any:
        for layer in range(layers):
            x = getattr(m, function)(x @ weights[f"W{layer}"].T)
        return (x**2).sum()

    return loss


def _listed(function: Function, layers: int, *first: Any) -> Function:
    """A function of x and the weights in order, as one of the inputs by name."""
    names = [f"W{layer}" for layer in range(layers)]
    return lambda *m, x, **weights: function(*first, *m, [weights[name] for name in names], x)


def network(layers: int, function: str, width: int, batch: int) -> Case:
    steps = [f"h{n + 1}[b,i] = {function}(W{n}[i,j] {f'h{n}' if n else 'x'}[b,j])" for n in range(layers)]
    core = _listed(partial(hand.network_core, function), layers)
    native = {
        name: _listed(lambda m, weights, x, f=f: f(m, x, *weights), layers)
        for name, f in (("core", hand.native_network_core), ("hessian", hand.native_network_dense))
    }
    return Case(
        f"{layers} layers of {function}, width {width}, batch {batch}",
        "\n".join([*steps, f"l = sum[b,i](h{layers}[b,i]**2)"]),
        ("W0",),
        _network(function, layers),
        {"x": (batch, width), **{f"W{layer}": (width, width) for layer in range(layers)}},
        _weights,
        {
            "core": core,
            **{name: _filled(core, fill) for name, fill in NETWORK_FILLS.items()},
            "product": lambda vector, x, **weights: hand.network_product(core(x=x, **weights), x, vector),
        },
        native if function == "tanh" else {},
    )


NETWORK_FILLS = {
    "hessian": hand.network_dense,
    "hessian, half": hand.network_dense_half,
    "hessian, view": hand.network_dense_view,
}


def _filled(core: Function, fill: Function) -> Function:
    return lambda x, **weights: fill(core(x=x, **weights), x)


# Values and gradients.


def mlp(sizes: Sequence[int] = (784, 512, 256, 10), batch: int = 128) -> Case:
    def function(m: Any, W1: Any, b1: Any, W2: Any, b2: Any, W3: Any, b3: Any, x: Any, Y: Any) -> Any:
        z = m.relu(m.relu(x @ W1 + b1) @ W2 + b2) @ W3 + b3
        return -(Y * m.log_softmax(z)).sum() / len(x)

    def draw(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
        return np.eye(shape[1])[rng.integers(0, shape[1], shape[0])] if name == "Y" else _weights(rng, name, shape)

    weights: dict[str, tuple[int, ...]] = {}
    for layer, (rows, columns) in enumerate(pairwise(sizes), 1):
        weights |= {f"W{layer}": (rows, columns), f"b{layer}": (columns,)}
    return Case(
        f"MLP {'-'.join(map(str, sizes))}, batch {batch}",
        """a[b,p] = relu(x[b,n] W1[n,p] + 1[b] b1[p])
           c[b,q] = relu(a[b,p] W2[p,q] + 1[b] b2[q])
           z[b,k] = c[b,q] W3[q,k] + 1[b] b3[k]
           l = -1/|b| Y[b,k] log_softmax[k](z[b,k])""",
        tuple(weights),
        function,
        {**weights, "x": (batch, sizes[0]), "Y": (batch, sizes[-1])},
        draw,
        {"gradient": hand.mlp_gradient},
    )


def _norm(m: Any, x: Any, g: Any, beta: Any, r: Any, eps: Any) -> Any:
    centred = x - x.mean(1)[:, None]
    scale = m.sqrt((centred**2).mean(1)[:, None] + eps)
    return (r * (centred / scale * g + beta)).sum()


def norm_by_root(m: Any, x: Any, g: Any, beta: Any, r: Any, eps: Any) -> Any:
    """Layer norm as libraries write it, with the reciprocal root; XLA makes faster code of it."""
    centred = x - x.mean(1)[:, None]
    return (r * (centred * m.rsqrt((centred**2).mean(1)[:, None] + eps) * g + beta)).sum()


def layer_norm(rows: int, width: int) -> Case:
    def draw(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
        return np.array(1e-5) if name == "eps" else rng.standard_normal(shape)

    return Case(
        f"layer norm, {rows}×{width}",
        """m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
           y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]; l = r[b,h] y[b,h]""",
        ("x", "g", "beta"),
        _norm,
        {"x": (rows, width), "g": (width,), "beta": (width,), "r": (rows, width), "eps": ()},
        draw,
        {"gradient": hand.norm_gradient},
        {"gradient": hand.native_norm_gradient},
    )


def attention(rows: int, width: int) -> Case:
    return Case(
        f"attention, {rows}×{width}",
        "p[i,j] = softmax[j](q[i,d] k[j,d] / sqrt(|d|)); l = r[i,e] p[i,j] v[j,e]",
        ("q", "k", "v"),
        lambda m, q, k, v, r: (r * (m.softmax(q @ k.T / q.shape[1] ** 0.5) @ v)).sum(),
        dict.fromkeys("qkvr", (rows, width)),
        _normal,
        {"gradient": hand.attention_gradient},
    )
