"""Gradients of programs as users write them for PyTorch and JAX: ours beside those of the frameworks.

Ours are taken as they are, with ``jit=False`` and with ``jit=True``. Parameters are a dictionary; in a call of training
all of them are new, which is measured too: what a captured graph reads is copied then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import ricci as rc

HEADS = 8


class Program(NamedTuple):
    """A loss of parameters and data, over the functions of a framework."""

    name: str
    loss: Callable[..., Any]
    parameters: dict[str, np.ndarray]
    data: list[np.ndarray]


def _split(x: Any, m: Any) -> Any:
    b, t, w = x.shape
    return m.swapaxes(x.reshape(b, t, HEADS, w // HEADS), 1, 2)


def attention(m: Any, p: dict, x: Any) -> Any:
    """Every place mixes what all say, in each head with weights of its own."""
    q, k, v = (_split(x @ p[name], m) for name in ("query", "key", "value"))
    scores = m.softmax(q @ m.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1]))
    return m.swapaxes(scores @ v, 1, 2).reshape(x.shape) @ p["mixed"]


def block(m: Any, p: dict, x: Any) -> Any:
    x = x + attention(m, p, m.layer_norm(x, p["scale1"], p["shift1"]))
    wide = m.gelu(m.layer_norm(x, p["scale2"], p["shift2"]) @ p["wide"] + p["bias"])
    return x + wide @ p["narrow"]


def completed(m: Any, p: dict, rows: Any, columns: Any, values: Any) -> Any:
    """Matrix completion: the entries that are known, by factors of their rows and columns."""
    found = (p["rows"][rows] * p["columns"][columns]).sum(-1)
    return ((found - values) ** 2).sum()


def programs(quick: bool) -> Iterator[Program]:
    rng = np.random.default_rng(0)
    width, batch, length = (16, 2, 8) if quick else (512, 16, 256)
    draw = lambda *shape: (rng.standard_normal(shape) / math.sqrt(shape[0])).astype("float32")  # noqa: E731
    x = rng.standard_normal((batch, length, width)).astype("float32")
    four = {name: draw(width, width) for name in ("query", "key", "value", "mixed")}
    rest = {"wide": draw(width, 4 * width), "narrow": draw(4 * width, width), "bias": draw(4 * width)}
    rest |= {f"{name}{k}": draw(width) + (name == "scale") for name in ("scale", "shift") for k in (1, 2)}
    size = f"width {width}, {batch} × {length}"
    yield Program(f"transformer block, {size}", _mean_square(block), four | rest, [x])
    yield Program(f"attention, {size}", _mean_square(attention), four, [x])
    n, k, known = (20, 3, 50) if quick else (20_000, 32, 1_000_000)
    places = [rng.integers(0, n, known) for _ in range(2)]
    values = rng.standard_normal(known).astype("float32")
    factors = {"rows": draw(n, k), "columns": draw(n, k)}
    yield Program(f"matrix completion, {known} of {n}²", completed, factors, [*places, values])


def _mean_square(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, p, x: (function(m, p, x) ** 2).mean()


def torch_functions(torch: Any) -> SimpleNamespace:
    f = torch.nn.functional
    return SimpleNamespace(
        swapaxes=torch.swapaxes,
        softmax=partial(torch.softmax, dim=-1),
        gelu=f.gelu,
        layer_norm=lambda x, scale, shift: f.layer_norm(x, x.shape[-1:], scale, shift),
    )


def array_functions(space: Any, softmax: Callable[..., Any], gelu: Callable[..., Any]) -> SimpleNamespace:
    """Of JAX, or of NumPy, which is what ours are written in."""

    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / space.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift

    return SimpleNamespace(swapaxes=space.swapaxes, softmax=softmax, gelu=gelu, layer_norm=layer_norm)


def contenders(framework: Any, program: Program) -> list[tuple[str, Callable[[], Callable[[], Any]]]]:
    """Names, and what makes the calls: the framework's own first, since all others are compared with it."""
    return (_on_jax if framework.name == "jax" else _on_torch)(framework, program)


def _ours(loss: Callable[..., Any], p: dict, data: list[Any], new: bool = False, **options: Any) -> Callable[[], Any]:
    f = rc.grad(loss, **options)
    return (lambda: f({name: 1.0 * a for name, a in p.items()}, *data)) if new else (lambda: f(p, *data))


def _on_jax(framework: Any, program: Program) -> list[tuple[str, Callable[[], Callable[[], Any]]]]:
    jax = framework.space.jax
    p, data = jax.tree.map(jax.numpy.asarray, (program.parameters, program.data))
    gelu = partial(jax.nn.gelu, approximate=False)
    peer = jax.jit(jax.grad(partial(program.loss, array_functions(jax.numpy, jax.nn.softmax, gelu))))
    loss = partial(program.loss, array_functions(np, partial(rc.softmax, axis=-1), rc.gelu))
    return [("jax.jit(jax.grad)", lambda: partial(peer, p, *data)), ("ricci", lambda: _ours(loss, p, data))]


def _on_torch(framework: Any, program: Program) -> list[tuple[str, Callable[[], Callable[[], Any]]]]:
    torch = framework.space.torch
    device = "cuda" if torch.cuda.is_available() else "cpu"
    p = {name: torch.from_numpy(a).to(device) for name, a in program.parameters.items()}
    data = [torch.from_numpy(a).to(device) for a in program.data]
    loss = partial(program.loss, torch_functions(torch))

    def eager(new: bool = False, **options: Any) -> Callable[[], Any]:
        function = torch.compile(loss, dynamic=False, **options) if options else loss

        def call() -> Any:
            leaves = {name: (1.0 * a if new else a).detach().requires_grad_() for name, a in p.items()}
            return dict(zip(p, torch.autograd.grad(function(leaves, *data), list(leaves.values())), strict=True))

        return call

    found = [
        ("torch.autograd", eager),
        ("ricci", lambda: _ours(loss, p, data)),
        ("ricci, jit=False", lambda: _ours(loss, p, data, jit=False)),
        ("torch.autograd, new parameters", lambda: eager(new=True)),
        ("ricci, new parameters", lambda: _ours(loss, p, data, new=True)),
    ]
    if device == "cuda":
        found += [
            ("ricci, jit=True", lambda: _ours(loss, p, data, jit=True)),
            ("torch.compile, autograd", lambda: eager(backend="inductor")),
            ("torch.compile, reduce-overhead", lambda: eager(mode="reduce-overhead")),
        ]
    return found
