"""One of several processes of JAX, each with four devices of this machine: ``python jax_process.py RANK WORLD PORT``.

Each has its own rows of the data. The Hessian of all of them, and a gradient that stays with its rows, are compared
with those that NumPy computes of everything.
"""

from __future__ import annotations

import sys

import numpy as np


def main(rank: int, world: int, port: int) -> None:
    import jax

    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=world, process_id=rank)
    from jax.sharding import NamedSharding, PartitionSpec

    import ricci as rc

    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    rng = np.random.default_rng(0)
    m = 16 * jax.device_count()
    X, y, w = rng.normal(size=(m, 6)).astype(np.float32), np.ones(m, np.float32), np.ones(6, np.float32) / 8
    own = slice(rank * m // world, (rank + 1) * m // world)

    def rows(array: np.ndarray) -> jax.Array:
        cut = NamedSharding(mesh, PartitionSpec("data", *[None] * (array.ndim - 1)))
        return jax.make_array_from_process_local_data(cut, array[own])

    loss = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
    hessian, by_data = loss.diff("w", "w"), loss.diff("X")
    H = hessian.compile("jax", mesh=mesh, axes={"m": "data"})(X=rows(X), y=rows(y), w=w)
    assert np.allclose(np.asarray(H), hessian(X=X, y=y, w=w), rtol=1e-4, atol=1e-4)
    H = hessian.compile("jax", mesh=mesh, axes={"m": "data"})(X=X, y=y, w=w)  # arrays that each process has
    assert np.allclose(np.asarray(H), hessian(X=X, y=y, w=w), rtol=1e-4, atol=1e-4)
    G = by_data.compile("jax", mesh=mesh, axes={"m": "data"})(X=rows(X), y=rows(y), w=w)
    mine = np.concatenate(
        [np.asarray(part.data) for part in sorted(G.addressable_shards, key=lambda s: s.index[0].start)]
    )
    assert np.allclose(mine, by_data(X=X, y=y, w=w)[own], rtol=1e-4, atol=1e-5)

    def function(w, X, y):
        return np.log1p(np.exp(-y * (X @ w))).sum()

    g = rc.grad(function, mesh=mesh, axes={"X": "m n", "m": "data"})(w, rows(X), rows(y))
    assert np.allclose(np.asarray(g), rc.grad(function)(w, X, y), rtol=1e-4, atol=1e-4)
    print(f"good: {jax.process_count()} processes, {jax.device_count()} devices")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
