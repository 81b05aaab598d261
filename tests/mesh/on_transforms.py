"""Transforms of functions on eight devices: names of arguments' axes, where results lie, what is sent, and errors."""

from __future__ import annotations

import copy
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from mesh_cases import close

import ricci as rc
from ricci.testing.xla_collectives import collectives

P = PartitionSpec
LINE = jax.make_mesh((8,), ("data",))
PLANE = jax.make_mesh((4, 2), ("data", "model"))
MESHES = [LINE, Mesh(LINE.devices, ("data",))]
NAMES = ["explicit", "auto"]
AXES = {"X": "m n", "m": "data"}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(64, 16)).astype(np.float32)
y = np.sign(RNG.normal(size=64)).astype(np.float32)
w = RNG.normal(size=16).astype(np.float32) / 4
LABELS, DATA = y, X  # what functions capture


def loss(w, X, y):
    return np.log1p(np.exp(-y * (X @ w))).sum()


def network(p, X):
    return (np.tanh(X @ p["w"] + p["b"]) ** 2).sum()


def specs(tree: Any) -> list[tuple]:
    return [tuple(x.sharding.spec) + (None,) * (x.ndim - len(x.sharding.spec)) for x in jax.tree.leaves(tree)]


def same(found: Any, wanted: Any) -> bool:
    leaves = jax.tree.leaves(found), jax.tree.leaves(wanted)
    return len(leaves[0]) == len(leaves[1]) and all(close(a, b) for a, b in zip(*leaves, strict=True))


def version(f: Any) -> Any:
    """The program that a transformed function has made."""
    (made,) = f._programs.all().values()
    return made


CASES = [
    (rc.grad, {}, (w, X, y), [(None,)]),
    (rc.grad, {"argnums": (0, 1, 2)}, (w, X, y), [(None,), ("data", None), ("data",)]),
    (rc.value_and_grad, {}, (w, X, y), [(), (None,)]),
    (rc.hessian, {}, (w, X, y), [(None, None)]),
    (rc.hessian, {"argnums": 2}, (w, X, y), [("data", None)]),
    (rc.jacobian, {"argnums": 1}, (w, X, y), [("data", None)]),
    (rc.jacfwd, {}, (w, X, y), [(None,)]),
    (rc.jacrev, {}, (w, X, y), [(None,)]),
    (rc.hessian_diagonal, {}, (w, X, y), [(None,)]),
    (rc.laplacian, {}, (w, X, y), [()]),
    (rc.hvp, {}, (w, X, y, w), [(None,)]),
    (rc.hvp, {"argnums": 1}, (w, X, y, X), [("data", None)]),
]


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
@pytest.mark.parametrize("transform, options, args, wanted", CASES, ids=[f"{c[0].__name__} {c[1]}" for c in CASES])
def test_transforms(transform, options, args, wanted, mesh):
    f = transform(loss, backend="jax", mesh=mesh, axes=AXES, **options)
    found = f(*args)
    assert specs(found) == wanted
    assert same(found, transform(loss, **options)(*args))
    assert same(f(*args), found)


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
def test_names_of_one_argument_are_those_of_the_others(mesh):
    """``y * (X @ w)`` says that ``y`` lies along the rows: one all-reduce of the gradient, and no gather."""
    f = rc.grad(loss, backend="jax", mesh=mesh, axes=AXES)
    f(w, X, y)
    program = version(f).compiled
    lie = dict(zip(program.runner.plan.program.inputs, program.runner.run.shardings, strict=True))
    assert {name: tuple(s.spec) for name, s in lie.items()} == {"w": (None,), "X": ("data", None), "y": ("data",)}
    given = {"w": w, "X": X, "y": y}
    assert [(each.kind, each.shape) for each in collectives(program, *[given[n] for n in lie])] == [
        ("all-reduce", (16,))
    ]
    (simulated,) = f.mesh_costs(8)(w, X, y)[8].collectives
    assert (simulated.kind, simulated.bytes, simulated.over) == ("all-reduce", 64, ("m",))


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
def test_linear_functions(mesh):
    def model(w, X):
        return np.tanh(X @ w)

    more = {"mesh": mesh, "axes": AXES}
    value, pushed = rc.jvp(model, (w, X), (w, X), **more)
    assert specs((value, pushed)) == [("data",)] * 2 and same((value, pushed), rc.jvp(model, (w, X), (w, X)))
    value, along = rc.linearize(model, w, X, **more)
    assert specs((value, along(w, X))) == [("data",)] * 2
    assert same(along(w, X), rc.linearize(model, w, X)[1](w, X))
    value, back = rc.vjp(model, w, X, **more)
    bar = jax.device_put(y, NamedSharding(mesh, P("data")))
    assert specs(value) == [("data",)] and same(back(bar), rc.vjp(model, w, X)[1](y))


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
def test_vmap_and_compile(mesh):
    mapped = rc.vmap(rc.grad(loss), in_axes=(None, 0, 0), mesh=mesh, axes=AXES)
    found = mapped(w, X, y)
    assert specs(found) == [("data", None)] and same(found, rc.vmap(rc.grad(loss), in_axes=(None, 0, 0))(w, X, y))
    plain = rc.compile(loss, "jax", mesh=mesh, axes=AXES)
    assert specs(plain(w, X, y)) == [()] and close(plain(w, X, y), loss(w, X, y))


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
def test_names_of_a_signature(mesh):
    @rc.signature("n, m n, m -> ")
    def named(w, X, y):
        return np.log1p(np.exp(-y * (X @ w))).sum()

    found = rc.grad(named, argnums=(0, 1), mesh=mesh, axes={"m": "data"})(w, X, y)
    assert specs(found) == [(None,), ("data", None)] and same(found, rc.grad(loss, argnums=(0, 1))(w, X, y))


@pytest.mark.parametrize("compiled", [False, True])
def test_formulas_have_names_already(compiled):
    formula = rc.parse("l = 1[m] log(1 + exp(-y[m] X[m,n] w[n]))")
    more, given = {"mesh": LINE, "axes": {"m": "data"}}, {"X": X, "y": y, "w": w}
    f = formula.compile("jax") if compiled else formula
    found = rc.value_and_grad(f, argnums=("w", "X"), backend="jax", **more)(**given)
    assert specs(found) == [(), (None,), ("data", None)]
    assert same(found, rc.value_and_grad(formula, argnums=("w", "X"))(**given))
    assert specs(rc.hessian(f, argnums="w", **more)(**given)) == [(None, None)]
    mapped = rc.vmap(f, in_axes={"X": 1}, **more)(**{**given, "X": np.stack([X, X], 1)})
    assert same(mapped, np.full(2, loss(w, X, y)))


PARAMETERS = {"w": RNG.normal(size=(16, 8)).astype(np.float32), "b": np.zeros(8, np.float32)}


@pytest.mark.parametrize(
    "names, wanted",
    [
        ({"w": "n k", "b": "k"}, [("data",), (None, "data")]),
        ({"w": "n k"}, [("data",), (None, "data")]),  # the other follows
        ("... k", [("data",), (None, "data")]),
        ({"w": "_ k", "b": "k"}, [("data",), (None, "data")]),
        ({"w": "k n", "b": "n"}, [(None,), ("data", None)]),
    ],
)
def test_trees(names, wanted):
    f = rc.grad(network, mesh=LINE, axes={"p": names, "k": "data"})
    assert specs(f(PARAMETERS, X)) == wanted and same(f(PARAMETERS, X), rc.grad(network)(PARAMETERS, X))


def test_arrays_that_are_captured_have_names():
    def captured(w):
        return np.log1p(np.exp(-LABELS * (DATA @ w))).sum()

    f = rc.grad(captured, mesh=LINE, axes={"DATA": "m n", "m": "data"})
    assert same(f(w), rc.grad(captured)(w))
    program = version(f).compiled
    lie = dict(zip(program.runner.plan.program.inputs, program.runner.run.shardings, strict=True))
    assert [tuple(s.spec) for s in lie.values()].count(("data", None)) == 1


def test_several_axes_of_a_mesh():
    axes = {"X": "m n", "m": "data", "n": "model"}
    found = rc.grad(loss, argnums=(0, 1), mesh=PLANE, axes=axes)(w, X, y)
    assert specs(found) == [("model",), ("data", "model")] and same(found, rc.grad(loss, argnums=(0, 1))(w, X, y))
    found = rc.grad(loss, argnums=1, mesh=PLANE, axes={"X": "m n", "m": ("data", "model")})(w, X, y)
    assert specs(found) == [(("data", "model"), None)]


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
def test_results_in_parts(mesh):
    c = rc.hessian(loss, compressed=True, mesh=mesh, axes=AXES)(w, X, y)
    assert close(c @ w, rc.hessian(loss)(w, X, y) @ w)


@pytest.mark.parametrize("mesh", MESHES, ids=NAMES)
def test_inside_jit_and_copied(mesh):
    f = rc.grad(loss, backend="jax", mesh=mesh, axes=AXES)
    wanted = rc.grad(loss)(w, X, y)
    assert same(jax.jit(f)(w, X, y), wanted)
    assert same(copy.deepcopy(f)(w, X, y), wanted)
    placed = [
        jax.device_put(a, NamedSharding(mesh, P(*s))) for a, s in ((w, (None,)), (X, ("data", None)), (y, ("data",)))
    ]
    assert same(f(*placed), wanted) and same(f(*placed), wanted)


def test_names_without_a_mesh_are_seen_in_plans():
    f = rc.grad(loss, axes={"X": "rows cols"})
    assert same(f(w, X, y), rc.grad(loss)(w, X, y))
    assert "rc,c->r" in str(version(f).compiled.plan)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 3), st.sampled_from(["m", "n", "k"]), st.sampled_from(["data", "model", ("data", "model")]))
def test_random_places(number, index, cut):
    programs = [
        lambda A, B: np.tanh(A @ B).sum(),
        lambda A, B: (np.exp(A / 4) @ B).mean() + (A**2).sum(),
        lambda A, B: np.log(np.exp(A @ B / 8).sum(axis=1)).sum(),
        lambda A, B: ((A @ B - (A @ B).mean(axis=0)) ** 2).sum(),
    ]
    A, B = RNG.normal(size=(16, 8)).astype(np.float32), RNG.normal(size=(8, 24)).astype(np.float32)
    axes = {"A": "m n", "B": "n k", index: cut}
    f = rc.value_and_grad(programs[number], argnums=(0, 1), mesh=PLANE, axes=axes)
    assert same(f(A, B), rc.value_and_grad(programs[number], argnums=(0, 1))(A, B))


ERRORS = [
    ({"axes": {"X": "m n", "q": "data"}}, rc.InputError, "'q', which is neither an argument of loss nor an index"),
    ({"axes": {"X": "m n", "m": "dat"}}, rc.AxisError, "no axis 'dat'.*Did you mean 'data'"),
    ({"axes": {"X": "m", "m": "data"}}, rc.ShapeError, "gives X the names 'm', and it has 2 axes"),
    ({"axes": {"X": "m n"}}, rc.InputError, "lays nothing along the mesh"),
    ({"axes": {"X": "m w", "w": "data"}}, rc.InputError, "'w' in axes= is an argument of loss and an index too"),
    ({"axes": {"X": 3, "m": "data"}}, rc.InputError, "has 3 for X, where a text"),
    ({"axes": {"X": "m 2", "m": "data"}}, rc.InputError, "write the names of its axes by spaces"),
    ({"axes": ["m"]}, rc.InputError, "axes= gives names"),
    ({}, rc.InputError, "mesh= needs axes="),
    ({"axes": AXES, "backend": "torch"}, rc.InputError, 'is for the backend "jax"'),
    ({"axes": AXES, "jit": False}, rc.InputError, "drop jit=False"),
    ({"axes": AXES, "mesh": None}, rc.InputError, "give mesh= too"),
    ({"axes": {"X": "m n", "y": "n", "m": "data"}}, rc.ShapeError, "'n'"),
]


@pytest.mark.parametrize("options, kind, words", ERRORS)
def test_errors(options, kind, words):
    given: Any = {"mesh": LINE, **options}
    with pytest.raises(kind, match=words):
        rc.grad(loss, **given)(w, X, y)


def test_sparse_results_are_on_the_host():
    with pytest.raises(rc.InputError, match="drop mesh= or sparse="):
        rc.hessian(loss, sparse=True, mesh=LINE, axes=AXES)


def test_sizes_that_are_not_shared_equally():
    with pytest.raises(rc.ShapeError, match="has 60 entries, which the 8 devices"):
        rc.grad(loss, mesh=LINE, axes=AXES)(w, X[:60], y[:60])
