"""How long it takes to derive: gradients of deep networks, gradients and Hessians of what people use; beside JAX.

Run it with ``python benchmarks/derive.py``; ``--quick`` leaves out the 10,000 layers. JAX is optional.

Both sides start from the source, a text or Python function, and end with the derivative as something that could be
compiled: a simplified formula here, ``jax.make_jaxpr(jax.grad(f))`` or ``jax.make_jaxpr(jax.hessian(f))`` there.
Nothing is evaluated or compiled. Sizes are symbolic here, and JAX has to have numbers. Times are processor time of this
process, which other programs on the machine disturb least, the best of several runs; expressions are freed, and
functions made anew, before each, so that neither side finds its work done. Memory is the peak of Python's allocations.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import ricci as rc
from ricci.calculus import modes
from ricci.expr import Expr, topological, variables

try:
    import jax
except ImportError:
    jax = None

LAYERS = (10, 100, 1_000, 10_000)
TOO_LONG = 60.0  # seconds; what would take longer is left out, and the table says so
WIDTH = 8


def best(work: Callable[[], Any], repeats: int) -> float:
    """Seconds of processor time of the fastest of several runs."""
    fastest = float("inf")
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        result = work()
        fastest = min(fastest, time.process_time() - start)
        del result
    return fastest


def peak(work: Callable[[], Any]) -> float:
    """MiB allocated at most during a run."""
    gc.collect()
    tracemalloc.start()
    result = work()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del result
    return found / 2**20


# Deep networks: the gradient of the squared length of tanh(Wn … tanh(W1 tanh(W0 x))) by all weights, in one sweep.


def network(layers: int, function: str = "tanh") -> rc.Formula:
    activation = getattr(rc, function)
    h = rc.variable("x[j]")
    for layer in range(layers):
        h = activation(rc.einsum("i j, j -> i", rc.variable(f"W{layer}[i,j]"), h))
    return (h**2).sum()


def core_gradient(loss: rc.Formula) -> list[Expr]:
    weights: list[Expr] = [v for v in variables(loss.expr) if v.name != "x"]
    return modes.derivatives([loss.expr], weights, "reverse")[0]


def _uncollected(work: Callable[..., Any], *operands: Any) -> Any:
    gc.disable()
    try:
        return work(*operands)
    finally:
        gc.enable()


def named_gradient(loss: rc.Formula, layers: int) -> tuple[rc.Formula, ...]:
    return loss.diff_all(*[f"W{layer}" for layer in range(layers)])


def jax_network(layers: int, function: str = "tanh") -> tuple[Callable[..., Any], list[Any]]:
    assert jax is not None
    import jax.numpy as jnp

    activation = jnp.tanh if function == "tanh" else jax.nn.relu

    def loss(weights: Sequence[Any], x: Any) -> Any:
        for w in weights:
            x = activation(w @ x)
        return jnp.sum(x**2)

    return loss, [[np.ones((WIDTH, WIDTH), np.float32)] * layers, np.ones(WIDTH, np.float32)]


def jax_gradient(layers: int) -> Any:
    assert jax is not None
    loss, arguments = jax_network(layers)
    return jax.make_jaxpr(jax.grad(loss))(*arguments)


class Work(NamedTuple):
    """Something to do with a network: ``prepare`` is not timed."""

    title: str
    prepare: Callable[[int], Any]
    run: Callable[[Any, int], Any]


def networks(sizes: Sequence[int]) -> None:
    works = [
        Work("ricci: build with named indices", lambda _: None, lambda _, layers: network(layers)),
        Work("ricci: derive, expressions", network, lambda loss, _: core_gradient(loss)),
        Work("  with Python's collector switched off", network, lambda loss, _: _uncollected(core_gradient, loss)),
        Work("ricci: derive, formulas (diff_all)", network, named_gradient),
    ]
    if jax is not None:
        works.append(Work("JAX: make_jaxpr(grad(f))", lambda _: None, lambda _, layers: jax_gradient(layers)))
    print("\ngradient of a tanh network by all weights: µs per layer (peak MiB)")
    print(f"  {'':<38}" + "".join(f"{f'{size:,} layers':>20}" for size in sizes) + f"{'per layer, last/first':>24}")
    for work in works:
        _network_row(work, sizes)


def _network_row(work: Work, sizes: Sequence[int]) -> None:
    cells, figures, notes = [], [], []
    expected = 0.0
    for size in sizes:
        if expected > TOO_LONG:
            cells.append("left out")
            notes.append(f"{size:,} layers left out: over {expected:.0f} s to be expected, as it is not linear so far")
            continue
        subject = work.prepare(size)
        seconds = best(lambda size=size, subject=subject: work.run(subject, size), 5 if size < 1_000 else 1)
        memory = f"{peak(lambda size=size, subject=subject: work.run(subject, size)):.1f}" if seconds < 20 else "-"
        cells.append(f"{1e6 * seconds / size:,.0f} ({memory})")
        figures.append(seconds / size)
        growth = 10 * max(1.0, figures[-1] / figures[-2]) if len(figures) > 1 else 10
        expected = seconds * growth
    print(f"  {work.title:<38}" + "".join(f"{cell:>20}" for cell in cells) + f"{figures[-1] / figures[0]:>24.2f}")
    for note in notes:
        print(f"    ({note})")


# What people use. The text, the variable, and the same function for JAX with the places of its arguments.

NORM = """m[b] = 1/|h| 1[h] x[b,h]; v[b] = 1/|h| 1[h] (x[b,h] - 1[h] m[b])**2
    y[b,h] = (x[b,h] - 1[h] m[b]) / sqrt(v[b] + eps) g[h] + 1[b] beta[h]; l = r[b,h] y[b,h]"""
ATTENTION = "p[i,j] = softmax[j](q[i,d] k[j,d] / sqrt(|d|)); l = r[i,e] p[i,j] v[j,e]"


def _jax_norm(x: Any, g: Any, beta: Any, r: Any) -> Any:
    import jax.numpy as jnp

    centred = x - x.mean(1, keepdims=True)
    scale = jnp.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    return (r * (centred / scale * g + beta)).sum()


def _jax_attention(q: Any, k: Any, v: Any, r: Any) -> Any:
    from jax.nn import softmax

    return (r * (softmax(q @ k.T / q.shape[1] ** 0.5) @ v)).sum()


def _jax_logistic(w: Any, x: Any, y: Any) -> Any:
    import jax.numpy as jnp

    return jnp.log(1 + jnp.exp(-y * (x @ w))).sum()


def _jax_factorisation(u: Any, v: Any, t: Any) -> Any:
    return ((t - u @ v.T) ** 2).sum()


class Case(NamedTuple):
    name: str
    build: Callable[[], rc.Formula]
    variable: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]


def _first_weights(function: str) -> Callable[..., Any]:
    def loss(first: Any, *rest: Any) -> Any:
        f, (_, x) = jax_network(0, function)
        return f([first, *rest], x)

    return loss


def cases() -> list[Case]:
    square = (WIDTH, WIDTH)
    return [
        *(
            Case(
                f"10-layer {name} network",
                lambda name=name: network(10, name),
                "W0",
                _first_weights(name),
                (square,) * 10,
            )
            for name in ("tanh", "relu")
        ),
        Case("layer norm", lambda: rc.parse(NORM), "x", _jax_norm, (square, (WIDTH,), (WIDTH,), square)),
        Case(
            "logistic regression",
            lambda: rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))"),
            "w",
            _jax_logistic,
            ((WIDTH,), (20, WIDTH), (20,)),
        ),
        Case(
            "matrix factorisation",
            lambda: rc.parse("l = 1[i] 1[j] (T[i,j] - U[i,k] V[j,k])**2"),
            "U",
            _jax_factorisation,
            ((10, 3), (12, 3), (10, 12)),
        ),
        Case("attention", lambda: rc.parse(ATTENTION), "q", _jax_attention, ((5, 4), (6, 4), (6, 3), (5, 3))),
    ]


def known_functions() -> list[str]:
    """Prints the table; gives the rows in which JAX is faster."""
    print("\nbuild, derive and simplify: ms (nodes of the result, equations of the jaxpr); networks end in |output|²")
    print(f"  {'':<24}{'':>22}{'ricci':>18}{'JAX':>18}{'JAX/ricci':>11}")
    lost = []
    for case in cases():
        for order, title in ((1, "gradient"), (2, "Hessian")):
            ours = best(lambda case=case, order=order: _ricci_derive(case, order), 5)
            nodes = len(topological(_ricci_derive(case, order).expr))
            theirs, ratio = "-", "-"
            if jax is not None:
                _jax_derive(case, order)  # what JAX sets up once
                seconds = best(lambda case=case, order=order: _jax_derive(case, order), 5)
                theirs = f"{1e3 * seconds:.1f} ({_equations(_jax_derive(case, order).jaxpr)})"
                ratio = f"{seconds / ours:.1f}"
                lost += [f"{title} of {case.name}"] if ours > seconds else []
            mine = f"{1e3 * ours:.1f} ({nodes})"
            print(f"  {case.name:<24}{f'{title} by {case.variable}':>22}{mine:>18}{theirs:>18}{ratio:>11}")
    return lost


def _ricci_derive(case: Case, order: int) -> rc.Formula:
    return case.build().diff(*[case.variable] * order)


def _jax_derive(case: Case, order: int) -> Any:
    assert jax is not None
    transform = jax.grad if order == 1 else jax.hessian
    arguments = [np.ones(shape, np.float32) for shape in case.shapes]
    return jax.make_jaxpr(transform(partial(case.function)))(*arguments)


def _equations(jaxpr: Any) -> int:
    """The equations of a jaxpr, those of inner ones instead of the calls of them."""
    total = 0
    for equation in jaxpr.eqns:
        inner = [p for p in equation.params.values() if hasattr(p, "jaxpr")]
        total += sum(_equations(p.jaxpr) for p in inner) if inner else 1
    return total


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Times the derivation of gradients and Hessians, beside JAX.")
    parser.add_argument("--quick", action="store_true", help="leave out the 10,000 layers")
    quick = parser.parse_args(arguments).quick
    peer = f"JAX {jax.__version__}" if jax is not None else "JAX is not installed (pip install jax): left out"
    print(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, ",
        end="",
    )
    print(f"NumPy {np.__version__}, ricci {rc.__version__}; {peer}")
    networks(LAYERS[:-1] if quick else LAYERS)
    lost = known_functions()
    if jax is not None:
        print(f"\nJAX is faster at: {', '.join(lost) if lost else 'none of the functions of the second table'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
