"""Compiled formulas on eight devices: where arrays lie, what is sent, and that results are those of one device."""

from __future__ import annotations

import copy
import pickle
import random
import time
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from mesh_cases import CHAIN, FACTORS, FORMULAS, LOGISTIC, SIZES, close, inputs

import ricci as rc
from ricci.compiler.mesh.mesh_target import put_on_mesh
from ricci.compiler.mesh.placement import Placement
from ricci.compiler.pipeline import prepare
from ricci.compiler.run.function import Compiled
from ricci.testing import random_expression
from ricci.testing.xla_collectives import collectives

P = PartitionSpec
LINE = jax.make_mesh((8,), ("data",))
PLANE = jax.make_mesh((4, 2), ("data", "model"))
MESHES = [LINE, Mesh(LINE.devices, ("data",))]  # axes that are Explicit, as JAX makes them today, and Auto
NAMES = ["explicit", "auto"]
HESSIAN = LOGISTIC.diff("w", "w")
GIVEN = inputs(LOGISTIC)


def compiled(formulas: Any, mesh: Any, axes: Any, **options: Any) -> Any:
    return rc.compile(formulas, "jax", mesh=mesh, axes=axes, **options)


def specs(results: Any) -> list[Any]:
    results = results if isinstance(results, tuple) else (results,)
    return [tuple(x.sharding.spec) + (None,) * (x.ndim - len(x.sharding.spec)) for x in results]


def sent(f: Any, given: Any) -> list[tuple[str, int]]:
    return sorted((each.kind, each.bytes) for each in collectives(f, *[given[name] for name in f.inputs]))


def test_there_are_eight_devices():
    assert jax.device_count() == 8


# The example of the page


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
def test_a_hessian_takes_one_all_reduce_and_gathers_nothing(mesh):
    f = HESSIAN.compile("jax", mesh=mesh, axes={"m": "data"})
    H = f(**GIVEN)
    assert close(H, HESSIAN(**GIVEN))
    placed = dict(zip(f.inputs, f.runner.run.placed([GIVEN[name] for name in f.inputs]), strict=True))
    assert specs(tuple([placed[name] for name in "Xyw"])) == [("data", None), ("data",), (None,)]
    assert placed["X"].addressable_shards[0].data.shape == (SIZES["m"] // 8, SIZES["n"])
    assert specs(H) == [(None, None)] and H.sharding.mesh == mesh
    assert sent(f, GIVEN) == [("all-reduce", 4 * SIZES["n"] ** 2)]


CASES = [
    ("loss", LINE, {"m": "data"}, [()]),
    ("gradient", LINE, {"n": "data"}, [("data",)]),
    ("Hessian", LINE, {"n": "data"}, [("data", None)]),
    ("by data", LINE, {"m": "data"}, [("data", None)]),
    ("by data", PLANE, {"m": "data", "n": "model"}, [("data", "model")]),
    ("by data", PLANE, {"m": ("data", "model")}, [(("data", "model"), None)]),
    ("by data", PLANE, {"m": ("model", "data")}, [(("model", "data"), None)]),
    ("all", LINE, {"m": "data"}, [(), (None,), (None, None), ("data", None)]),
    ("all", PLANE, {"m": "data", "n": "model"}, [(), ("model",), ("model", None), ("data", "model")]),
    ("factors", LINE, {"i": "data"}, [("data", None, None, None)]),
    ("factors", LINE, {"j": "data"}, [(None,) * 4]),
    ("factors", LINE, {"k": "data"}, [(None, "data", None, None)]),
    ("masked", LINE, {"i": "data"}, [("data", None), (None, None)]),
    ("masked", LINE, {"j": "data"}, [(None, None), ("data", None)]),
    ("attention", LINE, {"b": "data"}, [("data", None, None, None)] * 3),
    ("attention", LINE, {"h": "data"}, [(None, "data", None, None)] * 3),
    ("attention", PLANE, {"b": "data", "h": "model"}, [("data", "model", None, None)] * 3),
    ("attention", LINE, {"i": "data"}, [(None, None, "data", None), (None,) * 4, (None,) * 4]),
    ("attention", LINE, {"d": "data"}, [(None, None, None, "data")] * 2 + [(None,) * 4]),
    ("softmax", LINE, {"j": "data"}, [()]),
    ("normal", LINE, {"m": "data"}, [(None,)]),
    ("covariance", LINE, {"m": "data"}, [(None, None)]),
    ("covariance", LINE, {"p": "data"}, [("data", None)]),
    ("layers", LINE, {"b": "data"}, [(None, None), (None, None)]),
    ("layers", LINE, {"j": "data"}, [(None, "data"), ("data", None)]),
    ("layers", LINE, {"c": "data"}, [(None, None), (None, "data")]),
    ("chain", LINE, {"j": "data"}, [(None, None)]),
    ("chain", LINE, {"i": "data", "k": "data"}, [("data", None)]),
    ("logsumexp", LINE, {"j": "data"}, [(None,)]),
    ("outer", LINE, {"i": "data", "j": "data"}, [("data", None)]),
    ("outer", PLANE, {"i": "data", "j": "model"}, [("data", "model")]),
]


@pytest.mark.parametrize("name, mesh, axes, wanted", CASES, ids=[f"{c[0]} {c[2]}" for c in CASES])
def test_results_lie_by_their_indices_and_costs_are_those_of_xla(name, mesh, axes, wanted):
    formulas = FORMULAS[name]
    given, f = inputs(formulas), compiled(formulas, mesh, axes)
    found = f(**given)
    assert specs(found) == wanted
    assert close(found, rc.compile(formulas, "numpy")(**given))
    simulated = f.mesh_costs(8)[8].collectives
    assert sent(f, given) == sorted((each.kind, each.bytes) for each in simulated)


def test_a_shared_index_is_cut_once():
    gram = rc.parse("G[i,j] = X[i,k] X[j,k]")
    X = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)
    for axes, wanted in (({"i": "data"}, ("data", None)), ({"j": "data"}, (None, "data"))):
        G = gram.compile("jax", mesh=LINE, axes=axes)(X=X)
        assert specs(G) == [wanted] and close(G, X @ X.T)


def test_an_index_that_a_derivative_made():
    """The second index of a Hessian may be laid along devices by its own name."""
    f = HESSIAN.compile("jax", mesh=LINE, axes={HESSIAN.indices[1]: "data"})
    assert specs(f(**GIVEN)) == [(None, "data")]


# Calls


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
def test_calls_that_have_arrays_in_place_are_short(mesh):
    f = HESSIAN.compile("jax", mesh=mesh, axes={"m": "data"})
    H = f(**GIVEN)
    placed = dict(zip(f.inputs, f.runner.run.placed([GIVEN[name] for name in f.inputs]), strict=True))
    f(**placed)
    assert len(f._shortcuts.known) == 2  # one for NumPy's arrays, one for JAX's
    run, arrays = f.runner.run, [placed[name] for name in f.inputs]
    assert all(a is b for a, b in zip(run.placed(arrays), arrays, strict=True))
    times = []
    for _ in range(20):
        start = time.perf_counter()
        run.placed(arrays)
        times.append(time.perf_counter() - start)
    assert min(times) < 1e-4
    assert close(f(**placed), H)


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
def test_arrays_that_lie_elsewhere_are_moved(mesh):
    f = HESSIAN.compile("jax", mesh=mesh, axes={"m": "data"})
    wanted = f(**GIVEN)
    for other in (*MESHES, PLANE):
        elsewhere = NamedSharding(other, P(None, "data"))
        X = jax.device_put(GIVEN["X"], elsewhere)
        assert close(f(**{**GIVEN, "X": X}), wanted)
    assert close(f(**{**GIVEN, "X": jax.device_put(GIVEN["X"], jax.devices()[3])}), wanted)


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
def test_inside_transformations_of_jax(mesh):
    f = LOGISTIC.diff("w").compile("jax", mesh=mesh, axes={"m": "data"})
    wanted = LOGISTIC.diff("w")(**GIVEN)
    assert close(jax.jit(lambda w: f(**{**GIVEN, "w": w}))(GIVEN["w"]), wanted)
    assert close(jax.jit(lambda X, w: f(**{**GIVEN, "w": w, "X": X}))(GIVEN["X"], GIVEN["w"]), wanted)
    with jax.set_mesh(mesh):
        assert close(f(**GIVEN), wanted)
        loss = LOGISTIC.compile("jax", mesh=mesh, axes={"m": "data"})
        assert close(jax.jit(jax.grad(lambda w: loss(**{**GIVEN, "w": w})))(GIVEN["w"]), wanted)


def test_numpy_in_double_precision_and_files(tmp_path):
    """JAX has single precision, unless asked; doubles of NumPy and of files become that without a warning."""
    np.save(tmp_path / "x.npy", GIVEN["X"].astype(np.float64))
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    f = HESSIAN.compile("jax", mesh=LINE, axes={"m": "data"})
    given = {**GIVEN, "y": GIVEN["y"].astype(np.float64), "X": X}
    assert close(f(**given), HESSIAN(**GIVEN)) and f(**given).dtype == np.float32


def test_functions_travel():
    f = HESSIAN.compile("jax", mesh=PLANE, axes={"m": ("data", "model")})
    wanted = f(**GIVEN)
    for other in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        found = other(**GIVEN)
        assert close(found, wanted) and found.sharding == wanted.sharding


def test_the_backend_may_be_left_out():
    assert specs(HESSIAN.compile(mesh=LINE, axes={"n": "data"})(**GIVEN)) == [("data", None)]


def test_equal_expressions_with_other_names_do_not_share_places():
    one, two = rc.parse("y[i] = A[i,j] x[j]"), rc.parse("y[j] = A[j,i] x[i]")
    assert one.expr is two.expr
    given = {"A": np.ones((8, 16), np.float32), "x": np.ones(16, np.float32)}
    f, g = [each.compile("jax", mesh=LINE, axes={"i": "data"}) for each in (one, two)]
    assert [specs(f(**given)), specs(g(**given)), specs(f(**given))] == [[("data",)], [(None,)], [("data",)]]


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
def test_results_in_parts(mesh):
    given = inputs(FACTORS)
    c = FACTORS.diff("U", "U").compile("jax", compressed=True, mesh=mesh, axes={"j": "data"})(**given)
    whole = FACTORS.diff("U", "U")(**given)
    assert close(c.todense(), whole)
    assert close(c @ given["U"], np.einsum("ikpq,pq->ik", whole, given["U"]))
    c = HESSIAN.compile("jax", compressed=True, mesh=mesh, axes={"n": "data"})(**GIVEN)
    assert "data" in specs(c.cores)[0] and close(c @ GIVEN["w"], HESSIAN(**GIVEN) @ GIVEN["w"])


def test_loops_run_on_meshes():
    f = rc.compile(
        lambda A, x: [x := np.tanh(A @ x) for _ in range(40)][-1], "jax", mesh=LINE, axes={"A": "i j", "j": "data"}
    )
    A, x = np.random.default_rng(0).normal(size=(16, 16)).astype(np.float32) / 4, np.ones(16, np.float32)
    wanted = x
    for _ in range(40):
        wanted = np.tanh(A @ wanted)
    assert close(f(A, x), wanted)


# Random programs on random meshes

SHAPES = [((8,), "a"), ((4, 2), "ab"), ((2, 4), "ab"), ((2, 2, 2), "abc"), ((2,), "a"), ((4,), "a")]


def lies(rng: random.Random, mesh: Mesh, shape: tuple[int, ...]) -> tuple:
    """A random way for an array to lie on a mesh, each axis of which cuts it once at most."""
    left, found = list(mesh.axis_names), []
    rng.shuffle(left)
    for size in shape:
        cut: list[str] = []
        while left and rng.random() < 0.6 and size % np.prod([mesh.shape[x] for x in (*cut, left[-1])]) == 0:
            cut.append(left.pop())
        found.append(tuple(cut))
    return tuple(found)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_expressions_on_random_meshes(seed):
    rng = random.Random(seed)
    sample = random_expression(rng, extents=(2, 4, 4), size=6, integers=False)
    expr = sample.build()
    shape, names = rng.choice(SHAPES)
    devices = np.array(jax.devices()[: int(np.prod(shape))]).reshape(shape)
    types = tuple([rng.choice([AxisType.Auto, AxisType.Explicit]) for _ in shape])
    mesh = Mesh(devices, tuple(names), axis_types=types)
    f = Compiled(prepare([expr]), "jax")
    given = {name: np.asarray(value, np.float32) for name, value in sample.inputs.items() if name in f.inputs}
    cuts = tuple([(name, lies(rng, mesh, value.shape)) for name, value in given.items()])
    results = (lies(rng, mesh, expr.shape),) if rng.random() < 0.7 else None  # type: ignore[arg-type]
    put_on_mesh(f, Placement(mesh, (), cuts, results))
    plain = Compiled(prepare([expr]), "jax")(**given)
    found = f(**given)
    assert np.allclose(found, plain, rtol=1e-4, atol=1e-4, equal_nan=True), (mesh, cuts, results)
    f.mesh_costs([{name: int(mesh.shape[name]) for name in mesh.axis_names}])  # prices any program


# Errors


ERRORS = [
    ({"mesh": LINE, "axes": {"q": "data"}}, rc.AxisError, "there is no index 'q'.*indices are m, n"),
    ({"mesh": LINE, "axes": {"m": "dat"}}, rc.AxisError, "no axis 'dat'.*Did you mean 'data'"),
    ({"mesh": PLANE, "axes": {"m": ("data", "data")}}, rc.AxisError, "cuts it once"),
    ({"mesh": LINE, "axes": {"m": 0}}, rc.InputError, "or a tuple of some"),
    ({"mesh": LINE}, rc.InputError, "axes= says which index"),
    ({"mesh": LINE, "axes": {}}, rc.InputError, "axes= says which index"),
    ({"axes": {"m": "data"}}, rc.InputError, "give mesh= too"),
    ({"mesh": (8,), "axes": {"m": "data"}}, rc.InputError, r"is a mesh of JAX, as jax.make_mesh"),
    ({"mesh": LINE, "axes": {"m": "data"}, "jit": False}, rc.InputError, "drop jit=False"),
]


@pytest.mark.parametrize("options, kind, words", ERRORS)
def test_errors(options, kind, words):
    with pytest.raises(kind, match=words):
        HESSIAN.compile("jax", **options)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_a_mesh_is_for_jax(backend):
    with pytest.raises(rc.InputError, match=f"the backend \"jax\", and this is for '{backend}'"):
        HESSIAN.compile(backend, mesh=LINE, axes={"m": "data"})


def test_sizes_that_are_not_shared_equally():
    f = HESSIAN.compile("jax", mesh=LINE, axes={"m": "data"})
    short = {**GIVEN, "X": GIVEN["X"][:60], "y": GIVEN["y"][:60]}
    with pytest.raises(rc.ShapeError, match=r"has 60 entries, which the 8 devices along 'data'.*Make it 64 long"):
        f(**short)
    with pytest.raises(rc.ShapeError, match="Axis 1 of 'C' has 10 entries"):
        CHAIN.compile("jax", mesh=LINE, axes={"q": "data"})(A=np.ones((8, 8)), B=np.ones((8, 8)), C=np.ones((8, 10)))
