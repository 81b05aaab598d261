"""Derivatives that are sparse, data larger than memory, and devices by the dozen.

Run it with ``python benchmarks/scale.py``; ``--parts sparse,blocks`` picks parts. ``blocks`` is ``blocks.py``, work in
blocks beside NumPy in memory and Dask; ``mesh`` is ``mesh.py``, what is sent between 1, 2, 4 and 8 devices. The others,
``sparse``, ``systems``, ``newton`` and ``adjustment``, are here: arrays, systems and Newton's method beside detection
and colouring, where ``--sizes 1000,10000`` picks lengths and ``--only chain,grid`` programs. Those are written once,
for NumPy and for ``jax.numpy``. The contenders:

========  ==================================================================================
ricci     ``sparse=True``: places from the structure of the program; a CSR array of SciPy
asdex     detection and colouring on JAX, jitted; BCOO arrays
jax       the whole matrix, jitted, where it has less than ``--dense`` entries
========  ==================================================================================

*first* is from the function to the first array, *warm* a later call at another point. Systems are solved by
``c.solve(b)`` on a compressed result, beside SciPy's ``spsolve`` on the finished array, ``solve_banded`` on finished
bands, and NumPy on the whole matrix. All results of a row are compared. The end says where we lose.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from blocks import blocks
from harness import CLOCK
from report import machine

import ricci as rc

ASDEX_MOST = 100_000  # beyond, its detection takes minutes
RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Program:
    """A function of one array, by ``xp``; what is asked of it; and its argument at a length."""

    name: str
    kind: str  # jacobian or hessian
    function: Callable[[Any, Any], Any]
    start: Callable[[int], np.ndarray]
    further: dict[str, Any] = field(default_factory=dict)


def chain(xp, x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def reaction(xp, u):
    v = xp.pad(u, 1)
    return v[2:] - 2 * v[1:-1] + v[:-2] - u**3


def smoother(xp, x):
    step = 0.9 * np.eye(4) + 0.1 * np.eye(4, k=1)
    return ((x[1:] - xp.tanh(x[:-1] @ step)) ** 2).sum() + (x**2).sum()


def grid(xp, u):
    return ((u[1:] - u[:-1]) ** 2).sum() + ((u[:, 1:] - u[:, :-1]) ** 2).sum() + (u**4).sum()


def line(n: int) -> np.ndarray:
    return np.linspace(0.5, 1.0, n)


def square(n: int) -> np.ndarray:
    return np.ones((max(2, round(n**0.5)), max(2, round(n**0.5))))


PROGRAMS = [
    Program("chain", "hessian", chain, line),
    Program("reaction", "jacobian", reaction, line),
    Program("smoother", "hessian", smoother, lambda n: np.full((n // 4, 4), 0.7)),
    Program("grid", "hessian", grid, square),
]
SEEN = {"ladybug": (49, 7776, 31_843)}  # cameras, points, observations


def bundle(cameras: int, points: int, count: int) -> tuple[Callable[[Any, Any, Any], Any], np.ndarray, np.ndarray]:
    """Reprojection errors as in bundle adjustment: nine numbers of a camera, three of a point, two errors each."""
    by_camera = np.sort(RNG.integers(0, cameras, count))
    by_point = RNG.integers(0, points, count)

    def residual(xp, c, p):
        turned, x = c[by_camera], p[by_point]
        w, t, f, k = turned[:, :3], turned[:, 3:6], turned[:, 6], turned[:, 7:]
        cross = xp.stack([w[:, 1] * x[:, 2] - w[:, 2] * x[:, 1], w[:, 2] * x[:, 0] - w[:, 0] * x[:, 2],
                          w[:, 0] * x[:, 1] - w[:, 1] * x[:, 0]], 1)  # fmt: skip
        y = x + cross + t
        image = -y[:, :2] / y[:, 2:]
        r = (image**2).sum(1)
        return image * (f * (1 + k[:, 0] * r + k[:, 1] * r**2))[:, None]

    return residual, RNG.normal(size=(cameras, 9)) * 0.1 + 1.0, RNG.normal(size=(points, 3)) + 3.0


def best(call: Callable[[], Any], least: float = 0.2) -> float:
    """The least processor time of calls that go on for a while."""
    found, until = [], time.perf_counter() + least
    while not found or time.perf_counter() < until:
        start = CLOCK()
        call()
        found.append(CLOCK() - start)
    return min(found)


def first(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{seconds * 1e3:,.3g}"


class Table:
    def __init__(self, heads: list[str]):
        self.losses: list[str] = []
        print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))

    def row(self, name: str, ours: float, others: dict[str, float | None], *cells: str) -> None:
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        self.losses += [
            f"{name}: {other} is {ours / t:.1f} times faster" for other, t in others.items() if t and t < ours
        ]


def on_jax(
    program: Program, x: np.ndarray, dense: int
) -> tuple[tuple[float, float] | None, tuple[float, float] | None, Any]:
    """First and warm times of asdex and of whole matrices, and the result."""
    import asdex
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    f = partial(program.function, jnp)
    given, other = jnp.asarray(x), jnp.asarray(x * 1.01)
    sparse = whole = result = None
    if x.size <= ASDEX_MOST:

        def begin() -> Any:
            made = jax.jit(getattr(asdex, program.kind)(f, given))
            return made, jax.block_until_ready(made(given))

        taken, (made, result) = first(begin)
        sparse = taken, best(lambda: jax.block_until_ready(made(other)))
    if x.size**2 <= dense:
        made_whole = jax.jit(getattr(jax, program.kind)(f))
        taken, _ = first(lambda: jax.block_until_ready(made_whole(given)))
        whole = taken, best(lambda: jax.block_until_ready(made_whole(other)))
    return sparse, whole, result


def derivatives(programs: list[Program], sizes: list[int], dense: int) -> list[str]:
    print("\n## Sparse arrays (ms)\n")
    table = Table(["", "entries", "ricci first", "warm", "asdex first", "warm", "jax, whole", "warm"])
    for program in programs:
        for n in sizes:
            x = program.start(n)
            derive = getattr(rc, program.kind)(partial(program.function, np), sparse=True)
            begin, found = first(partial(derive, x))
            again = best(partial(derive, x * 1.01))
            asdex, whole, result = on_jax(program, x, dense)
            if result is not None and x.size <= 10_000:
                rows = found.shape[0]
                difference = abs(found - result.todense().__array__().reshape(rows, -1)).max()
                assert difference < 1e-8, difference
            cells = [f"{found.nnz:,}", ms(begin), ms(again)]
            cells += [ms(t) for pair in (asdex, whole) for t in (pair or (None, None))]
            others = {"asdex, warm": asdex and asdex[1], "jax, whole": whole and whole[1]}
            table.row(f"{program.name}, {x.size:,}", again, others, *cells)
    return table.losses


def systems(programs: list[Program], sizes: list[int], dense: int) -> list[str]:
    from scipy.linalg import solve_banded
    from scipy.sparse.linalg import spsolve

    print("\n## Systems (ms)\n")
    table = Table(["", "how it is", "`c.solve(b)`", "`solve_banded`", "`spsolve`", "NumPy, whole"])
    for program in programs:
        for n in sizes:
            x = program.start(n)
            c = getattr(rc, program.kind)(partial(program.function, np), compressed=True)(x)
            b = RNG.normal(size=x.shape)
            found = c.solve(b)
            matrix = c.sparse()
            pattern = c._shell.pattern([np.asarray(core) for core in c.cores])
            below, above = pattern.widths
            bands = None
            if below + above < 40:
                bands = np.zeros((below + above + 1, x.size))
                bands[above + pattern.rows - matrix.indices, matrix.indices] = matrix.data
                wanted = solve_banded((below, above), bands, b.ravel())
                assert np.allclose(found.ravel(), wanted, rtol=1e-6, atol=1e-8 * abs(wanted).max())
            times: dict[str, float | None] = dict.fromkeys(("solve_banded", "spsolve", "NumPy"))
            if bands is not None:
                times["solve_banded"] = best(partial(solve_banded, (below, above), bands, b.ravel()))
            if x.size <= 100_000:
                times["spsolve"] = best(partial(spsolve, matrix.tocsc(), b.ravel()))
            if x.size**2 <= dense:
                whole = matrix.toarray()
                times["NumPy"] = best(partial(np.linalg.solve, whole, b.ravel()))
            ours = best(partial(c.solve, b))
            form = c.structure.partition(":")[0]
            table.row(f"{program.name}, {x.size:,}", ours, times, form, ms(ours), *map(ms, times.values()))
    return table.losses


def adjustment() -> list[str]:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    print("\n## Bundle adjustment (ms)\n")
    table = Table(["", "entries", "ricci first", "warm", "JAX: a block an observation, by `vmap`, assembled, warm"])
    for name, counts in SEEN.items():
        residual, c, p = bundle(*counts)
        derive = rc.jacobian(partial(residual, np), argnums=(0, 1), sparse=True)
        begin, (by_c, by_p) = first(partial(derive, c, p))
        again = best(partial(derive, c * 1.01, p))
        peer = blocks_on_jax(residual, counts)
        taken = best(partial(peer, jnp.asarray(c), jnp.asarray(p)))
        table.row(
            f"{name}: the Jacobian", again, {"JAX": taken}, f"{by_c.nnz + by_p.nnz:,}", ms(begin), ms(again), ms(taken)
        )

        def half(c, p, residual=residual):
            return (residual(np, c, p) ** 2).sum() / 2

        twice = rc.hessian(half, argnums=(0, 1), sparse=True)
        begin, blocks = first(partial(twice, c, p))
        again = best(partial(twice, c * 1.01, p))
        entries = sum(block.nnz for row in blocks for block in row)
        table.row(f"{name}: the Hessian of ½|r|²", again, {}, f"{entries:,}", ms(begin), ms(again), "")
    return table.losses


def blocks_on_jax(residual: Callable, counts: tuple[int, int, int]) -> Callable[[Any, Any], Any]:
    """By hand: each observation's 2×9 and 2×3 blocks in reverse mode, side by side, and put into CSR arrays."""
    import jax
    import jax.numpy as jnp
    from scipy.sparse import csr_array

    state = RNG.bit_generator.state
    single, *_ = bundle(1, 1, 1)
    RNG.bit_generator.state = state
    cameras, points, count = counts
    code = residual.__closure__
    by_camera, by_point = (cell.cell_contents for cell in code)  # type: ignore[union-attr]
    of_one = jax.jit(jax.vmap(jax.jacrev(lambda c, p: single(jnp, c[None], p[None])[0], argnums=(0, 1))))
    columns = [(9 * by_camera[:, None] + np.arange(9))[:, None], (3 * by_point[:, None] + np.arange(3))[:, None]]
    columns = [np.broadcast_to(one, (count, 2, one.shape[-1])).reshape(-1) for one in columns]
    starts = [np.arange(2 * count + 1) * wide for wide in (9, 3)]

    def call(c: Any, p: Any) -> Any:
        found = of_one(c[by_camera], p[by_point])
        shapes = (2 * count, 9 * cameras), (2 * count, 3 * points)
        return [csr_array((np.asarray(a).reshape(-1), j, s), shape=shape)
                for a, j, s, shape in zip(found, columns, starts, shapes, strict=True)]  # fmt: skip

    return call


def newton(sizes: list[int], dense: int) -> list[str]:
    """Newton's method on the chain, each step a solved system; beside JAX and a whole matrix."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    print("\n## A step of Newton's method on the chain (ms)\n")
    table = Table(["", "ricci", "JAX, whole"])
    for n in sizes:
        x = line(n)
        gradient, curvature = rc.grad(partial(chain, np)), rc.hessian(partial(chain, np), compressed=True)
        f = partial(chain, jnp)
        step = jax.jit(lambda x, f=f: jnp.linalg.solve(jax.hessian(f)(x), jax.grad(f)(x)))
        ours = best(lambda g=gradient, h=curvature, x=x: h(x).solve(g(x)))
        theirs = best(lambda s=step, x=x: jax.block_until_ready(s(x))) if n * n <= dense else None
        if theirs:
            assert np.allclose(curvature(x).solve(gradient(x)), step(x), atol=1e-6)
        table.row(f"{n:,}", ours, {"JAX": theirs}, ms(ours), ms(theirs))
    return table.losses


def meshes() -> list[str]:
    """By a process of its own, for JAX settles how many devices there are when it starts."""
    print("\n## Meshes\n", flush=True)
    subprocess.run([sys.executable, str(Path(__file__).with_name("mesh.py"))], check=True)
    return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000,1000000")
    parser.add_argument("--only", default=",".join(program.name for program in PROGRAMS))
    parser.add_argument("--parts", default="sparse,systems,newton,adjustment,blocks,mesh")
    parser.add_argument("--rows", type=int, default=800_000, help="of the file that is gone through in blocks")
    parser.add_argument("--repeats", type=int, default=3, help="of calls in blocks")
    parser.add_argument("--dense", type=float, default=2e7, help="entries of whole matrices, at most")
    asked = parser.parse_args()
    sizes = [int(float(n)) for n in asked.sizes.split(",")]
    programs = [program for program in PROGRAMS if program.name in asked.only.split(",")]
    print(machine())
    dense = int(asked.dense)
    parts: dict[str, Callable[[], list[str]]] = {
        "sparse": partial(derivatives, programs, sizes, dense),
        "systems": partial(systems, programs, sizes, dense),
        "newton": partial(newton, sizes, dense),
        "adjustment": adjustment,
        "blocks": partial(blocks, asked.rows, asked.repeats),
        "mesh": meshes,
    }
    losses = [line for part in asked.parts.split(",") for line in parts[part]()]
    print("\nWhere ricci loses:", *(losses or ["nowhere in these rows"]), sep="\n- ")


if __name__ == "__main__":
    main()
