"""Long runs: each public operation many times over, each time on something new, and whether memory levels off.

Run it with ``python benchmarks/soak.py``; ``--rounds 2000`` makes it shorter, ``--only`` picks operations by words of
their names. Each operation runs in a process of its own. Names, numbers, shapes and functions differ from round to
round, so that tables are filled: memory grows until they are full, and then no more. What is printed is the memory of
the process (resident, MB) and the number of objects that Python's collector knows (thousands) at a tenth, a quarter,
half, three quarters and the end of the rounds; and what the second half of them has added, by a line fitted to it, in
bytes for each round. An operation whose memory grows by more than :data:`SLACK` bytes a round is marked. With few
rounds tables may still be filling: only the whole number of them says whether something is kept for ever. ``--small``
gives all tables few places, so that few rounds fill them, and what grows then grows for ever.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from report import machine

import ricci as rc
import ricci.caches as caches

SMALL = 2


def shrink() -> None:
    """Few places in all tables; before any room is imported that has some."""
    most_of, cached = caches.Cache.__init__, caches.cached
    caches.Cache.__init__ = lambda self, name, most: most_of(self, name, min(most, SMALL))  # type: ignore
    caches.cached = lambda name, most: cached(name, min(most, SMALL))


if "--small" in sys.argv:
    shrink()

ROUNDS, MARKS, SLACK = 20_000, 40, 250
SHOWN = (0.1, 0.25, 0.5, 0.75, 1.0)
NAMES = [f"{a}{b}" for a in "abcdefgh" for b in range(2_500)]
OPERATIONS: dict[str, Callable[[int], object]] = {}
X = np.linspace(0.1, 1.0, 12)


def operation(function: Callable[[int], object]) -> Callable[[int], object]:
    OPERATIONS[function.__name__.replace("_", " ").strip()] = function
    return function


def name(k: int) -> str:
    return NAMES[k % len(NAMES)]


def size(k: int) -> int:
    return 2 + k % 331


# Formulas


def formula(k: int) -> rc.Formula:
    return rc.parse(f"y{k}[i] = sin(x[i]) {name(k)} x[i] + {k + 0.37} exp({name(k + 1)}[i,j] x[j])")


@operation
def parse(k: int) -> object:
    return str(formula(k))


@operation
def errors_of_parse(k: int) -> None:
    with suppress(rc.RicciError):
        rc.parse(f"y{k}[i] = {name(k)}[i,j] + (")


@operation
def diff(k: int) -> object:
    return str(formula(k).diff("x"))


@operation
def simplify(k: int) -> object:
    return rc.parse(f"y = ({name(k)} + x)**2 - x**2 - 2 x {name(k)} + log(exp({k} x))").simplify()


@operation
def equality(k: int) -> bool:
    return rc.parse(f"y = (x + {name(k)})**2") == rc.parse(f"y = x**2 + 2 x {name(k)} + {name(k)}**2")


@operation
def derivation(k: int) -> object:
    return str(rc.parse(f"y = sin({name(k)} x[i]) x[i]").diff("x").derivation())


@operation
def latex_and_structure(k: int) -> object:
    f = rc.parse(f"y = 1[i] ({name(k)}[i,j] x[j])**2").diff("x", "x")
    return f.latex(), str(f.structure()), f.matrix()


@operation
def drawing(k: int) -> object:
    return rc.parse(f"y[i] = sin({name(k)}[i,j] x[j]) + 1").graph()._repr_svg_()


@operation
def compile_for_numpy(k: int) -> object:
    return formula(k).diff("x").compile("numpy")(**{"x": X, name(k): 2.0, name(k + 1): np.ones((12, 12))})


@operation
def compile_for_torch(k: int) -> object:
    import torch

    x = torch.ones(size(k))
    return rc.parse(f"y[i] = sin(x[i]) {name(k)} + x[i]").compile("torch")(**{"x": x, name(k): torch.tensor(2.0)})


@operation
def compile_for_jax(k: int) -> object:
    import jax.numpy as jnp

    return rc.parse(f"y[i] = sin(x[i]) {name(k)} + x[i]").compile("jax", jit=False)(**{"x": X, name(k): jnp.ones(())})


@operation
def one_formula_at_new_sizes(k: int) -> object:
    return AFFINE(A=np.ones((size(k), 3)), x=np.ones(3), b=np.ones(size(k)))


AFFINE = rc.parse("y[i] = tanh(A[i,j] x[j] + b[i])").compile("numpy")


# Functions


@operation
def grad(k: int) -> object:
    big = np.full(12, 1.0 + k)
    return rc.grad(lambda x: (np.sin(x) * big * k).sum())(X)


@operation
def grad_of_one_function_at_new_sizes(k: int) -> object:
    return ENERGY(np.ones(2 + k % 3001))


ENERGY = rc.grad(lambda x: (np.sin(x) * x).sum())


@operation
def hessian(k: int) -> object:
    return rc.hessian(lambda x: (x**3).sum() * k)(X[:4])


@operation
def compressed_hessian(k: int) -> object:
    return rc.hessian(lambda x: (x**4).sum() * (k + 1), compressed=True)(X).solve(X)


@operation
def jvp(k: int) -> object:
    big = np.full(12, 1.0 + k)
    return rc.jvp(lambda x: np.sin(x) * big, (X,), (X,))


@operation
def vjp(k: int) -> object:
    big = np.full(12, 1.0 + k)
    return rc.vjp(lambda x: np.sin(x) * big, X)[1](X)


@operation
def vjp_of_methods(k: int) -> object:
    class Model:
        scale = np.full(12, 1.0 + k)

        def loss(self, x):
            return (x * self.scale).sum()

    return rc.vjp(Model().loss, X)[1](1.0)


@operation
def vmap(k: int) -> object:
    return rc.vmap(rc.grad(lambda x: (x**2).sum() * k))(np.ones((3, 4)))


@operation
def custom(k: int) -> object:
    big = np.full(12, 1.0 + k)

    @rc.custom
    def f(x):
        return np.exp(x) * big

    f.derivative(lambda x: 1.0 * f(x))
    return rc.grad(lambda x: f(x).sum())(X)


@operation
def one_custom_rule_in_new_functions(k: int) -> object:
    return rc.grad(lambda x: TWICE(x).sum() * k)(X)


TWICE = rc.custom(lambda x: 2 * x)
TWICE.vjp(lambda primals, bar: (2 * bar,))


@operation
def custom_on_formulas(k: int) -> object:
    f = rc.custom(lambda x: np.tanh(x) * k)
    f.derivative(lambda x: k * (1 - np.tanh(x) ** 2))
    return f(rc.parse("x[i]")).diff("x").compile("numpy")(x=X)


@operation
def checkpoint(k: int) -> object:
    return rc.grad(lambda x: rc.checkpoint(lambda x: np.tanh(np.sin(x)) * k)(x).sum())(X)


@operation
def errors_of_tracing(k: int) -> None:
    with suppress(rc.RicciError):
        rc.grad(lambda x: float(x[0]) * k)(X)


@operation
def checks(k: int) -> object:
    return rc.check_grads(lambda x: (np.sin(x) * (1 + k % 7)).sum(), (X[:3],), order=1)


@operation
def trace_table(k: int) -> object:
    return str(rc.trace_table(lambda x: np.sin(x) * k + x, np.float64(0.5)))


@operation
def grad_on_torch(k: int) -> object:
    import torch

    return rc.grad(lambda x: (torch.sin(x) * k).sum())(torch.ones(5))


# Tensors


@operation
def tensors(k: int) -> object:
    x = rc.Tensor(np.ones(size(k)))
    (np.sin(x) * x * k).sum().backward()
    return x.grad


@operation
def entries_of_tensors(k: int) -> object:
    x = rc.Tensor(X)
    (x[k % 12] * x[: k % 11 + 1].sum()).backward()
    return x.grad


@operation
def functions_on_tensors(k: int) -> object:
    x = rc.Tensor(X)
    rc.grad(lambda x: (x**3).sum() * k)(x).sum().backward()
    return x.grad


@operation
def scopes(k: int) -> object:
    with rc.no_grad(), rc.debug_nans(), rc.axes(f"t{k}", d=size(k)) as ax, rc.limits(nodes=10**6):
        rc.rearrange(np.zeros((size(k), 2)), f"d t{k} -> t{k} d")
        return str(ax), rc.Tensor(X) * k


@operation
def signatures(k: int) -> object:
    return rc.signature(f"a{k} b, b -> a{k}")(lambda x, w: x @ w)(np.ones((2, size(k))), np.ones(size(k)))


# Patterns


@operation
def rearrange(k: int) -> object:
    return rc.rearrange(np.zeros((size(k), 2, 3)), f"{name(k)} (b c) d -> d {name(k)} b c", b=2)


@operation
def reduce(k: int) -> object:
    return rc.reduce(np.zeros((size(k), 6)), f"{name(k)} (b c) -> b {name(k)}", "mean", c=3)


@operation
def repeat(k: int) -> object:
    return rc.repeat(np.zeros(size(k)), f"{name(k)} -> {name(k)} n", n=1 + k % 5)


@operation
def einsum(k: int) -> object:
    return rc.einsum(np.ones((2, size(k))), np.ones((size(k), 3)), f"a {name(k)}, {name(k)} c -> a c")


@operation
def pack_and_unpack(k: int) -> object:
    packed, shapes = rc.pack([np.zeros((size(k), 2)), np.zeros(2)], f"* {name(k)}")
    return rc.unpack(packed, shapes, f"* {name(k)}")


@operation
def gather(k: int) -> object:
    return rc.gather(f"{name(k)} d, t -> t d", np.zeros((size(k), 2)), np.arange(size(k)) % 2)


# Running them


def resident() -> float:
    """Megabytes of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def soaked(title: str, rounds: int) -> dict[str, list[float]]:
    """Memory and objects at the marks."""
    work, found = OPERATIONS[title], []
    marks = {max(1, rounds * m // MARKS) for m in range(1, MARKS + 1)}
    with np.errstate(all="ignore"):
        for k in range(1, rounds + 1):
            work(k)
            if k in marks:
                gc.collect()
                found.append((k, resident(), len(gc.get_objects()) / 1000))
    return {key: [float(mark[place]) for mark in found] for place, key in enumerate(("rounds", "memory", "objects"))}


def line(title: str, found: dict[str, list[float]], seconds: float) -> bool:
    """Print what was found; whether memory goes on growing."""
    half = len(found["rounds"]) // 2
    slope = np.polyfit(found["rounds"][half:], found["memory"][half:], 1)[0] * 1e6 if half > 1 else 0.0
    places = [min(len(found["rounds"]) - 1, round(part * len(found["rounds"])) - 1) for part in SHOWN]
    memory = "".join([f"{found['memory'][place]:>8.0f}" for place in places])
    objects = "".join([f"{found['objects'][place]:>7.0f}" for place in places])
    mark = "!" if slope > SLACK else " "
    print(f"{title:<36}{memory}  {objects}{slope:>10.0f} {mark}{seconds:>8.0f}", flush=True)
    return slope > SLACK


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help="operations with this text in their name")
    parser.add_argument("--small", action="store_true", help="with few places in all tables")
    parser.add_argument("--one", default="", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        warnings.simplefilter("ignore")
        print(json.dumps(soaked(chosen.one, chosen.rounds)))
        return 0
    print(f"{chosen.rounds:,} rounds of each operation\n{machine()}\n")
    heads = "".join([f"{part:>8.0%}" for part in SHOWN]), "".join([f"{part:>7.0%}" for part in SHOWN])
    print(f"{'':<36}{'MB at':<8}{'':<32}  {'objects, in thousands, at':<35}{'bytes':>10}")
    print(f"{'':<36}{heads[0]}  {heads[1]}{'a round':>10}  {'seconds':>8}")
    grows = [title for title in OPERATIONS if chosen.only in title and run(title, chosen.rounds, chosen.small)]
    print(f"\n{len(grows)} operations go on growing{': ' + ', '.join(grows) if grows else ''}")
    return 0


def run(title: str, rounds: int, small: bool) -> bool:
    """One operation, in a process of its own."""
    start = time.perf_counter()
    command = [sys.executable, __file__, "--one", title, "--rounds", str(rounds), *["--small"] * small]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        print(f"{title:<36}failed: {done.stderr.strip().splitlines()[-1][:120]}", flush=True)
        return True
    return line(title, json.loads(done.stdout.splitlines()[-1]), time.perf_counter() - start)


if __name__ == "__main__":
    sys.exit(main())
