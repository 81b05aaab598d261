"""Arrays of Dask stay lazy, are never in one piece, and give what arrays in memory give, whoever runs the tasks."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np
import pytest
from block_cases import BATCH_NORM, CASES, ENERGY, LOGISTIC, agree

import ricci as rc

da = pytest.importorskip("dask.array", reason="Dask is not installed")
dask = pytest.importorskip("dask", reason="Dask is not installed")

RNG = np.random.default_rng(0)
X, Y, W = RNG.normal(size=(300, 8)), np.sign(RNG.normal(size=300)), RNG.normal(size=8)


def loss(w, X, y):
    return np.log1p(np.exp(-y * (X @ w))).sum()


def refuse(*args, **kwargs):
    raise AssertionError("something is computed")


def computed(lazy):
    return dask.compute(*lazy, scheduler="synchronous")


def logistic(*by):
    f = rc.parse(LOGISTIC)
    return f.diff(*by) if by else f


# Values


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_as_the_whole(case):
    formulas, inputs = case.formulas(), case.given()
    with dask.config.set(scheduler=refuse):
        lazy = rc.compile(formulas, "dask", blocks={case.index: 7})(**inputs)
    assert all(isinstance(x, da.Array) for x in lazy)
    wanted = rc.compile(formulas, "numpy")(**inputs)
    agree(computed(lazy), wanted)
    assert [(x.shape, x.dtype) for x in lazy] == [(np.shape(x), np.asarray(x).dtype) for x in wanted]


@pytest.mark.parametrize("chunks", [(100, 8), (37, 3), (300, 2), (-1, -1), ((10, 200, 90), (5, 3))])
@pytest.mark.parametrize("backend", ["dask", None])
def test_as_the_arrays_are_cut(chunks, backend):
    formulas = [logistic(), logistic("w"), logistic("w", "w"), logistic("X")]
    lazy = rc.compile(formulas, backend)(X=da.from_array(X, chunks=chunks), y=da.from_array(Y, chunks=77), w=W)
    agree(computed(lazy), rc.compile(formulas, "numpy")(X=X, y=Y, w=W))


def test_a_formula_is_called_with_them():
    lazy = logistic("w")(X=da.from_array(X, chunks=(50, 8)), y=Y, w=W)
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), logistic("w")(X=X, y=Y, w=W))


def test_results_keep_their_chunks():
    slope = rc.compile(logistic("X"), "dask")(X=da.from_array(X, chunks=((10, 200, 90), (8,))), y=Y, w=W)
    assert slope.chunks == ((10, 200, 90), (8,))
    hessian = rc.compile(logistic("X", "X"), "dask", blocks={"m": 20})(X=X[:50], y=Y[:50], w=W)
    np.testing.assert_allclose(hessian.compute(), logistic("X", "X")(X=X[:50], y=Y[:50], w=W))


def test_single_floats_stay():
    given = {"X": X.astype("f4"), "y": Y.astype("f4"), "w": W.astype("f4")}
    lazy = rc.compile(logistic("w"), "dask", blocks={"m": 50})(**given)
    assert lazy.dtype == lazy.compute().dtype == np.float32


def test_two_indices():
    f = rc.parse(ENERGY)
    formulas = [f, *f.diff_all("q", "k", "v")]
    given = {name: RNG.normal(size=shape) for name, shape in (("q", (20, 3)), ("k", (30, 3)), ("v", (30, 2)))}
    agree(computed(rc.compile(formulas, "dask", blocks={"i": 6, "j": 11})(**given)), rc.compile(formulas)(**given))


def test_transforms_stay_lazy():
    lazy = (W, da.from_array(X, chunks=(64, 3)), da.from_array(Y, chunks=50))
    with dask.config.set(scheduler=refuse):
        value, slope = rc.value_and_grad(loss)(*lazy)
        hessian, by_data = rc.hessian(loss)(*lazy), rc.grad(loss, argnums=1)(*lazy)
    wanted = (*rc.value_and_grad(loss)(W, X, Y), rc.hessian(loss)(W, X, Y), rc.grad(loss, argnums=1)(W, X, Y))
    agree(computed((value, slope, hessian, by_data)), wanted)
    assert by_data.chunks[0] == (50,) * 6  # as the argument that is cut most finely
    of_formula = rc.grad(logistic(), argnums="w", backend="dask", blocks={"m": 50})(X=X, y=Y, w=W)
    np.testing.assert_allclose(of_formula.compute(), wanted[1])


def test_calls_leave_the_function_as_it_is():
    """Threads may share it: axes without names are called something for one call alone."""
    f: Any = rc.compile([rc.parse("s = A[k,k] B[0,l] B[1,l]"), rc.parse("t[l] = 1[k] A[k,k] B[0,l]")], "dask")
    seeds = f.seeds
    A, B = RNG.normal(size=(6, 6)), RNG.normal(size=(2, 9))
    wanted = [np.trace(A) * (B[0] @ B[1]), np.trace(A) * B[0]]
    agree(computed(f(A=A, B=da.from_array(B, chunks=(1, 9)))), wanted)
    assert f.seeds is seeds


# Sizes


def test_no_array_is_ever_whole():
    sizes = []

    class Watching(dask.callbacks.Callback):
        def _posttask(self, key, result, dsk, state, id):
            for x in result if isinstance(result, (list, tuple)) else [result]:
                sizes.append(getattr(x, "nbytes", 0))

    def load(block_info: Any = None):
        return np.ones(block_info[None]["chunk-shape"])

    big = da.map_blocks(load, chunks=((1000,) * 50, (20,)), dtype=float)
    f = rc.parse(f"{BATCH_NORM}; l[h] = 1[b] y[b,h]**4").compile("dask")
    with Watching():
        f(x=big).compute(scheduler="synchronous")
    assert max(sizes) == 1000 * 20 * 8


def test_sizes_that_are_not_known_are_refused():
    some = da.from_array(X, chunks=50)
    with pytest.raises(rc.InputError, match=r"X = X.compute_chunk_sizes\(\)"):
        rc.compile(logistic("w"), "dask")(X=some[some[:, 0] > 0], y=Y, w=W)


def test_what_is_not_declared_complex_is_refused():
    with pytest.raises(rc.DTypeError, match="'X' is complex"):
        logistic("w")(X=da.from_array(X + 1j, chunks=50), y=Y, w=W).compute()


def test_memory_bounds_tasks():
    for given in (X, da.from_array(X, chunks=50), da.from_array(X, chunks=-1)):
        f: Any = rc.compile(logistic("w", "w"), "dask", memory="10 kB")
        np.testing.assert_allclose(f(X=given, y=Y, w=W).compute(), logistic("w", "w")(X=X, y=Y, w=W))
        assert f.plan.blocks > 1 and f.plan.peak <= 10_000


@pytest.mark.parametrize("more", [{"out": np.empty(8)}, {"resume": "kept"}, {"progress": True}])
def test_what_is_of_runs_on_numpy_is_refused(more):
    with pytest.raises(rc.InputError, match="of runs on NumPy"):
        rc.compile(logistic("w"), "dask", blocks={"m": 50})(X=X, y=Y, w=W, **more)


def test_other_backends_refuse_them():
    with pytest.raises(rc.InputError, match=r"X.compute\(\)"):
        logistic("w").compile("numpy")(X=da.from_array(X, chunks=50), y=Y, w=W)
    with pytest.raises(rc.InputError, match="stay in parts"):
        logistic("w", "w").compile(compressed=True)(X=da.from_array(X, chunks=50), y=Y, w=W)


# A cluster


def test_a_cluster_of_processes_one_of_which_dies():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    formulas = [logistic("w", "w"), rc.parse("C[n,p] = (X[m,n] - 1[m] mean[m](X[m,n])) X[m,p]")]

    def slowly(x):
        time.sleep(0.05)
        return x

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        distributed.Client(cluster) as client,
    ):
        lazy = rc.compile(formulas, "dask")(
            X=da.from_array(X, chunks=(10, 8)).map_blocks(slowly, dtype=float), y=Y, w=W
        )
        futures = client.compute(list(lazy))
        while not any(client.nthreads()) or not client.has_what():
            time.sleep(0.01)
        time.sleep(0.3)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        found = client.gather(futures)
    agree(found, rc.compile(formulas)(X=X, y=Y, w=W))
