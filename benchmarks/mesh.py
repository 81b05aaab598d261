"""What derivatives send between devices: 1, 2, 4 and 8 devices of this machine, beside JAX's own derivatives.

Run it with ``python benchmarks/mesh.py``; ``--only logistic`` picks programs, ``--rows 65536`` sizes. Inputs and
results lie the same for both. Counted is what the modules that XLA has compiled have in them: collectives, the bytes of
their results on a device, the bytes that a device sends for them in a ring, and the temporary memory of a device.
*simulated* is what ``f.mesh_costs()`` says of the same, without devices. Results are compared. Times are not: these
devices share the processor.

========  =======================================================================
ricci     ``compile("jax", mesh=mesh, axes=…)``
jax       ``jax.hessian`` or ``jax.grad`` of the same program, jitted
========  =======================================================================
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8".strip()
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from report import machine

import ricci as rc
from ricci.compiler.mesh.mesh_costs import in_units
from ricci.grid import Grid
from ricci.testing.xla_collectives import collectives, sent_in_text

DEVICES = (1, 2, 4, 8)
HEADS = ["program", "cut", "devices", "by", "collectives", "their bytes", "sent by a device", "temporary"]


@dataclass(frozen=True)
class Program:
    """Formulas, the same in JAX, which index lies along the devices, the indices of the arguments, and their sizes."""

    name: str
    formulas: Any
    peer: Callable[..., Any]
    cut: str
    arguments: Mapping[str, str]
    sizes: Mapping[str, int]


def logistic(w, X, y):
    return jnp.log1p(jnp.exp(-y * (X @ w))).sum()


def factors(U, V, T):
    return ((T - U @ V.T) ** 2).sum()


def attention(q, k, v):
    p = jax.nn.softmax(jnp.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5)
    return (jnp.einsum("bhij,bhjd->bhid", p, v) ** 2).sum()


LOSS = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
FACTORS = rc.parse("l = sum[i,j]((T[i,j] - U[i,k] V[j,k])**2)")
ATTENTION = rc.parse(
    "p[b,h,i,j] = softmax[j](q[b,h,i,d] k[b,h,j,d] / sqrt(|d|)); o[b,h,i,e] = p[b,h,i,j] v[b,h,j,e]; "
    "l = 1[b,h,i,e] o[b,h,i,e]**2"
)


def programs(rows: int) -> list[Program]:
    regression = {"w": "n", "X": "mn", "y": "m"}, {"m": rows, "n": 64}
    table = {"U": "ik", "V": "jk", "T": "ij"}, {"i": rows // 32, "j": 96, "k": 4}
    heads = {"q": "bhid", "k": "bhjd", "v": "bhje"}, {"b": 2, "h": 8, "i": 128, "j": 128, "d": 32, "e": 32}
    gradients = [*ATTENTION.diff_all("q", "k", "v")]
    by_heads = jax.grad(attention, argnums=(0, 1, 2))
    return [
        Program("logistic gradient", LOSS.diff("w"), jax.grad(logistic), "m", *regression),
        Program("logistic Hessian", LOSS.diff("w", "w"), jax.hessian(logistic), "m", *regression),
        Program("logistic Hessian", LOSS.diff("w", "w"), jax.hessian(logistic), "n", *regression),
        Program("factorisation Hessian", FACTORS.diff("U", "U"), jax.hessian(factors), "i", *table),
        Program("factorisation Hessian", FACTORS.diff("U", "U"), jax.hessian(factors), "j", *table),
        Program("attention gradients", gradients, by_heads, "h", *heads),
        Program("attention gradients", gradients, by_heads, "i", *heads),
    ]


def ring(found: list[Any], devices: int) -> float:
    part = (devices - 1) / devices
    return sum(each.bytes * part * (2 if each.kind == "all-reduce" else 1) for each in found)


def row(program: Program, devices: int, by: str, found: list[Any], temporary: str) -> list[str]:
    kinds = {each.kind: sum(other.kind == each.kind for other in found) for each in found}
    words = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"
    told = [in_units(sum(each.bytes for each in found)), in_units(ring(found, devices)), temporary]
    return [program.name, program.cut, str(devices), by, words, *told]


def measured(program: Program, devices: int) -> list[list[str]]:
    mesh = jax.make_mesh((devices,), ("data",), devices=jax.devices()[:devices])
    rng = np.random.default_rng(0)
    shapes = {name: [program.sizes[x] for x in indices] for name, indices in program.arguments.items()}
    given = {name: rng.normal(size=shape).astype(np.float32) / 4 for name, shape in shapes.items()}
    f = rc.compile(program.formulas, "jax", mesh=mesh, axes={program.cut: "data"})
    found = f(**given)
    run = f.runner.run
    arrays = run.placed([given[name] for name in f.inputs])
    own = run.jitted.lower(*arrays).compile()
    auto = Mesh(mesh.devices, mesh.axis_names)  # in which JAX leaves the cuts to XLA, as ricci does
    out = jax.tree.map(lambda x: NamedSharding(auto, PartitionSpec(*x.sharding.spec)), found)
    theirs = [
        jax.device_put(
            given[name],
            NamedSharding(auto, PartitionSpec(*["data" if x == program.cut else None for x in indices])),
        )
        for name, indices in program.arguments.items()
    ]
    peer = jax.jit(program.peer, out_shardings=out).lower(*theirs).compile()
    for mine, other in zip(jax.tree.leaves(found), jax.tree.leaves(peer(*theirs)), strict=True):
        assert np.allclose(mine, other, rtol=2e-3, atol=2e-3 * float(np.abs(mine).max())), program.name
    simulated = list(f.mesh_costs(devices)[devices].collectives)
    sizes = [in_units(getattr(each.memory_analysis(), "temp_size_in_bytes", 0)) for each in (own, peer)]
    return [
        row(program, devices, "ricci", collectives(f, *[given[name] for name in f.inputs]), sizes[0]),
        row(program, devices, "simulated", simulated, ""),
        row(program, devices, "jax", sent_in_text(peer.as_text() or ""), sizes[1]),
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--only", default="", help="programs whose names have this in them")
    options.add_argument("--rows", type=int, default=8192, help="rows of the data")
    chosen = options.parse_args()
    print(machine())
    print(f"jax {jax.__version__}, {jax.device_count()} devices of this machine\n")
    rows = [
        line
        for program in programs(chosen.rows)
        if chosen.only in program.name
        for devices in DEVICES
        for line in measured(program, devices)
    ]
    print(Grid(HEADS, rows, right={2, 5, 6, 7}).text())


if __name__ == "__main__":
    main()
