"""The functions of the compiler's benchmarks as NumPy code, and the libraries that differentiate such code.

Each function takes a module first: NumPy itself for ricci, and ``autograd.numpy``, ``jax.numpy`` or ``torch`` for the
others, in the part of the language that all of them have. Arguments are arrays, or lists and dictionaries of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from harness import THREADS

import ricci as rc

Function = Callable[..., Any]
KINDS = ("grad", "value_and_grad", "hessian", "jacobian", "hvp")


# The functions.


def logistic(m: Any, w: Any, X: Any, y: Any) -> Any:
    return m.log1p(m.exp(-y * (X @ w))).sum()


def factorisation(m: Any, U: Any, V: Any, T: Any) -> Any:
    return ((T - U @ V.T) ** 2).sum()


def network(m: Any, weights: Sequence[Any], x: Any) -> Any:
    return (layers(m, x, weights) ** 2).sum()


def by_first(m: Any, first: Any, others: Sequence[Any], x: Any) -> Any:
    return network(m, [first, *others], x)


def layers(m: Any, x: Any, weights: Sequence[Any]) -> Any:
    for weight in weights:
        x = m.tanh(x @ weight)
    return x


def perceptron(m: Any, params: Mapping[str, Any], x: Any, Y: Any) -> Any:
    for layer in "12":
        z = x @ params[f"W{layer}"] + params[f"b{layer}"]
        x = m.where(z > 0, z, 0.0)
    z = x @ params["W3"] + params["b3"]
    return -(Y * (z - m.log(m.exp(z).sum(1))[:, None])).sum() / len(x)


def normed(m: Any, x: Any, g: Any, beta: Any) -> Any:
    centred = x - x.mean(1)[:, None]
    return centred / m.sqrt((centred**2).mean(1)[:, None] + 1e-5) * g + beta


def layer_norm(m: Any, x: Any, g: Any, beta: Any, r: Any) -> Any:
    return (r * normed(m, x, g, beta)).sum()


def attention(m: Any, q: Any, k: Any, v: Any, r: Any) -> Any:
    e = m.exp(q @ k.T / q.shape[1] ** 0.5)
    return (r * ((e / e.sum(1)[:, None]) @ v)).sum()


def gaussian_process(m: Any, logs: Any, squares: Any, y: Any, one: Any) -> Any:
    K = m.exp(logs[0] - squares * m.exp(logs[1])) + m.exp(logs[2]) * one
    return y @ m.linalg.solve(K, y) + m.linalg.slogdet(K)[1]


# What is measured.


@dataclass(frozen=True)
class Work:
    """A derivative of a function by some of its arguments; a product with the Hessian has its vector last."""

    title: str
    kind: str
    function: Function
    args: tuple[Any, ...]
    argnums: int | tuple[int, ...] = 0


def works(quick: bool) -> Iterator[Work]:
    """All of them, in small sizes if it should be quick."""
    rng = np.random.default_rng(0)
    draw = rng.standard_normal

    def logistic_data(m: int, n: int) -> tuple:
        return draw(n) / n**0.5, draw((m, n)), np.sign(draw(m))

    def weights(number: int, width: int) -> list[np.ndarray]:
        return [draw((width, width)) / width**0.5 for _ in range(number)]

    (m, n), (b, h), (t, d), p = (
        ((40, 20), (40, 16), (12, 8), 20) if quick else ((2000, 1000), (2048, 768), (512, 64), 200)
    )
    sizes = (12, 9, 7, 3) if quick else (784, 512, 256, 10)
    width, few, (k, rank) = (8, 8, (8, 2)) if quick else (40, 20, (50, 5))
    params = {f"W{i}": draw(s) / s[0] ** 0.5 for i, s in enumerate(pairwise(sizes), 1)}
    params |= {f"b{i}": draw(size) for i, size in enumerate(sizes[1:], 1)}
    labels = np.eye(sizes[-1])[rng.integers(0, sizes[-1], 128)]
    places = np.sort(rng.uniform(0, 10, p))
    squares, noise = (places[:, None] - places) ** 2, draw(p)

    yield Work(f"logistic regression, X {m}×{n}", "grad", logistic, logistic_data(m, n))
    title = f"perceptron {'-'.join(map(str, sizes))}, batch 128"
    yield Work(title, "grad", perceptron, (params, draw((128, sizes[0])), labels))
    yield Work(f"10 layers of tanh, width {width}, batch 32", "grad", network, (weights(10, width), draw((32, width))))
    norm_data = (draw((b, h)), draw(h), draw(h), draw((b, h)))
    yield Work(f"layer norm, {b}×{h}", "grad", layer_norm, norm_data, (0, 1, 2))
    heads = tuple([draw((t, d)) for _ in range(4)])
    yield Work(f"attention, {t}×{d}", "grad", attention, heads, (0, 1, 2))
    logs = np.log([1.0, 0.5, 0.1])
    yield Work(f"Gaussian process, {p} points", "grad", gaussian_process, (logs, squares, noise, np.eye(p)))

    yield Work("logistic regression, X 200×100", "hessian", logistic, logistic_data(200, 100))
    pair = (draw((k, rank)), draw((k, rank)), draw((k, k)))
    yield Work(f"factorisation, n={k}, k={rank}", "hessian", factorisation, pair)
    first, *others = weights(5, few)
    network_data = (first, others, draw((32, few)))
    yield Work(f"5 layers of tanh, width {few}, batch 32, by the first", "hessian", by_first, network_data)

    title = f"10 layers of tanh, width {width}, by the input"
    yield Work(title, "jacobian", layers, (draw(width), weights(10, width)))
    yield Work("layer norm, 4×64, by x", "jacobian", normed, (draw((4, 64)), draw(64), draw(64)))

    large = logistic_data(m, n)
    yield Work(f"logistic regression, X {m}×{n}", "hvp", logistic, (*large, draw(n)))
    pair = (draw((4 * k, rank)), draw((4 * k, rank)), draw((4 * k, 4 * k)))
    yield Work(f"factorisation, n={4 * k}, k={rank}", "hvp", factorisation, (*pair, draw((4 * k, rank))))
    first, *others = weights(10, width)
    network_data = (first, others, draw((32, width)), draw((width, width)))
    yield Work(f"10 layers of tanh, width {width}, batch 32, by the first", "hvp", by_first, network_data)


# The libraries.


@dataclass(frozen=True)
class Library:
    """How a library is called: its module like NumPy, its arrays, and the transforms by kind."""

    name: str
    space: Any
    array: Callable[[np.ndarray], Any]
    transforms: Mapping[str, Callable[..., Function]]
    wait: Callable[[Any], Any] = lambda result: result

    def derived(self, work: Work) -> Function:
        """The derivative, from a function object of its own."""
        function = lambda *args: work.function(self.space, *args)  # noqa: E731
        return self.transforms[work.kind](function, work.argnums)

    def arguments(self, args: Any) -> Any:
        return rc.tree_map(self.array, args)


def _along(jvp: Function, grad: Function) -> Callable[..., Function]:
    """Products with the Hessian: the derivative of the gradient along a vector."""

    def product(function: Function, argnums: Any) -> Function:
        def call(x: Any, *rest: Any) -> Any:
            *others, v = rest
            return jvp(lambda x: grad(function)(x, *others), (x,), (v,))[1]

        return call

    return product


def ricci_library() -> Library:
    transforms = {kind: getattr(rc, kind) for kind in KINDS}
    return Library("ricci", np, lambda array: array, transforms)


def autograd_library() -> Library:
    import autograd
    import autograd.numpy

    transforms = {kind: getattr(autograd, kind) for kind in KINDS if kind != "hvp"}
    transforms["hvp"] = autograd.hessian_vector_product
    return Library("autograd", autograd.numpy, lambda array: array, transforms)


def jax_library() -> Library:
    import jax

    jax.config.update("jax_enable_x64", True)
    made = {kind: getattr(jax, kind) for kind in KINDS if kind != "hvp"} | {"hvp": _along(jax.jvp, jax.grad)}
    transforms = {kind: partial(_jitted, jax.jit, make) for kind, make in made.items()}
    array = lambda value: value if isinstance(value, float) else jax.numpy.asarray(value)  # noqa: E731
    return Library("jax.jit", jax.numpy, array, transforms, jax.block_until_ready)


def _jitted(jit: Function, make: Function, function: Function, argnums: Any) -> Function:
    return jit(make(function, argnums))


def torch_library() -> Library:
    import torch

    torch.set_num_threads(THREADS)
    f = torch.func

    def value_and_grad(function: Function, argnums: Any) -> Function:
        both = f.grad_and_value(function, argnums)
        return lambda *args: both(*args)[::-1]

    transforms = {
        "grad": f.grad,
        "value_and_grad": value_and_grad,
        "hessian": f.hessian,
        "jacobian": f.jacrev,
        "hvp": _along(f.jvp, f.grad),
    }
    return Library("torch.func", torch, partial(torch.as_tensor, dtype=torch.float64), transforms)


PEERS = {"autograd": autograd_library, "jax.jit": jax_library, "torch.func": torch_library}
