"""Infinities and NaN stay where they are: what a structure leaves out is no term of a sum, whatever it contains."""

import importlib.util
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import ricci as rc
from ricci.compiler.lower import contract
from ricci.expr import Constant, Structure, one_hot, product, topological, variable, variables
from ricci.expr.structures import affine
from ricci.testing import brute_force
from ricci.testing import masked as patterns
from ricci.testing.interpreter import interpret

from .compiled_checks import Case, as_numpy, called, compiled, given_to, make_case

ROADS = ["interpreted", "numpy", "fused", "torch", "jax"]
NEEDS = {"fused": "numba", "torch": "torch", "jax": "jax"}
BAD = (np.inf, -np.inf, np.nan)
MANY = {"fused": 300, "torch": 300, "jax": 80}  # where compiling takes most of the time


def spoilt(case, rng):
    """Inputs of which one entry is not finite; none where there are no structures to hold it.

    Roots are left aside: of -inf they are NaN by one function of NumPy's, and 0 or inf by another.
    """
    nodes = topological(*case.roots)
    roots = any(isinstance(n, Constant) and isinstance(n.value, Fraction) for n in nodes)
    if roots or not any(isinstance(n, Structure) for n in nodes):
        return None
    names = sorted({v.name for v in variables(*case.roots)})
    able = [n for n in names if case.inputs[n].dtype.kind == "f" and case.inputs[n].size]
    if not able:
        return None
    name = rng.choice(able)
    array = case.inputs[name].copy()
    array.flat[rng.randrange(array.size)] = rng.choice(BAD)
    return {**case.inputs, name: array}


def products(seed):
    """A product of a few arrays and of structures of all kinds between their labels; inputs, one entry spoilt."""
    rng = random.Random(seed)
    sizes = {label: rng.choice((1, 2, 3, 4)) for label in "ijklm"}
    numbers = np.random.default_rng(seed)
    inputs, factors = {}, []
    for name in rng.sample("xyzw", rng.randint(1, 3)):
        own = rng.sample(sorted(sizes), rng.randint(1, 2))
        inputs[name] = numbers.normal(size=[sizes[label] for label in own])
        factors.append((variable(name, inputs[name].shape), own))
    for _ in range(rng.randint(1, 2)):
        own = rng.sample(sorted(sizes), rng.choice((1, 2, 2, 3)))
        if rng.random() < 0.2 and len(own) > 1:
            t = numbers.integers(0, sizes[own[-1]], size=[sizes[label] for label in own[:-1]])
            inputs["t"] = t
            factors.append((one_hot(variable("t", t.shape), sizes[own[-1]]), own))
            break
        coefs = [rng.choice((-2, -1, -1, 1, 1, 2)) for _ in own]
        shape = tuple([sizes[label] for label in own])
        factors.append((affine(rng.choice(("==", ">=")), coefs, rng.randint(-2, 2), shape), own))
    used = sorted({label for _, own in factors for label in own})
    out = rng.sample(used, rng.randint(0, min(3, len(used))))
    spoil = inputs[rng.choice([name for name in inputs if name != "t"])]
    spoil.flat[rng.randrange(spoil.size)] = rng.choice(BAD)
    return Case([product(factors, out)], inputs, {}, f"products({seed})"), inputs


def checked_products(road, seeds):
    """The faults of products, and how many of those that were compiled have a guard."""
    for seed in seeds:
        case, inputs = products(seed)
        inputs = {v.name: inputs[v.name] for v in variables(*case.roots)}
        case = replace(case, inputs=inputs)
        with np.errstate(all="ignore"):
            yield spread(case, road, inputs), f"{case!r}\n{case.roots[0]!r}\n{inputs}"


@pytest.mark.parametrize("road", ROADS)
def test_products_with_structures(road):
    if road in NEEDS and importlib.util.find_spec(NEEDS[road]) is None:
        pytest.skip(f"{NEEDS[road]} is not installed")
    for fault, shown in checked_products(road, range(60 if road in NEEDS else 400)):
        assert fault is None, f"{fault}\n{shown}"


@pytest.mark.thorough
@pytest.mark.parametrize("road", ROADS)
def test_many_products_with_structures(road):
    if road in NEEDS and importlib.util.find_spec(NEEDS[road]) is None:
        pytest.skip(f"{NEEDS[road]} is not installed")
    for fault, shown in checked_products(road, range(1000, 1000 + MANY.get(road, 2000))):
        assert fault is None, f"{fault}\n{shown}"


def values(case, road, inputs):
    if road == "interpreted":
        return [np.asarray(v) for v in interpret(case.roots, inputs, case.sizes)]
    backend = "numpy" if road == "fused" else road
    f = compiled(case, backend, fused=road == "fused")
    return [as_numpy(v) for v in called(f, {name: given_to(backend, a) for name, a in inputs.items()})]


def spread(case, road, inputs):
    """A sentence if something that is finite by loops over indices is not so by this road; None otherwise."""
    for n, (root, got) in enumerate(zip(case.roots, values(case, road, inputs), strict=True)):
        want = brute_force(root, inputs, case.sizes).astype(float)
        finite = np.isfinite(want)
        near = np.allclose(got.astype(float)[finite], want[finite], rtol=1e-4 if road == "jax" else 1e-8, atol=1e-6)
        if not near:
            return f"result {n} on the road {road}: {got.tolist()} where loops find {want.tolist()}"
    return None


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("what", ["value", "first"])
def test_what_a_structure_leaves_out_does_not_spread(road, what):
    if road in NEEDS and importlib.util.find_spec(NEEDS[road]) is None:
        pytest.skip(f"{NEEDS[road]} is not installed")
    seen = 0
    for seed in range(40 if road in ("torch", "jax", "fused") else 120):
        case = make_case(seed, what, size=5, functions=False, extents=(1, 2, 3, 4))
        inputs = spoilt(case, random.Random(seed))
        if inputs is None:
            continue
        with np.errstate(all="ignore"):
            fault = spread(case, road, inputs)
        assert fault is None, f"{fault}\n{case!r}\n{inputs}"
        seen += 1
    assert seen > 5


def test_the_check_finds_zeros_that_are_multiplied(monkeypatch):
    monkeypatch.setattr(contract, "guarded", lambda builder, made, *rest: made)
    assert any(fault for fault, _ in checked_products("numpy", range(400)))
    monkeypatch.setattr(patterns, "selected", lambda arrays, holds, out, number: (np.array(np.nan), ()))
    assert any(fault for fault, _ in checked_products("interpreted", range(400)))


CONVOLUTION = rc.parse("y[o,i,j] = x[c,i+p,j+q] w[o,c,p,q]; L = y[o,i,j] v[o,i,j]")


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("spoilt_input", ["w", "v"])
def test_gradients_of_convolutions_do_not_multiply_what_is_outside(backend, spoilt_input):
    pytest.importorskip(backend)
    rng = np.random.default_rng(0)
    inputs = {"x": rng.normal(size=(2, 5, 6)), "w": rng.normal(size=(3, 2, 2, 3)), "v": rng.normal(size=(3, 4, 4))}
    inputs[spoilt_input][0, 1, 0] = np.inf
    gradient = CONVOLUTION.diff("x")
    f = gradient.compile(backend)
    got = as_numpy(f(**{name: given_to(backend, a) for name, a in inputs.items()}))
    want = np.zeros((2, 5, 6))
    with np.errstate(all="ignore"):
        for o, c, i, j, p, q in np.ndindex(3, 2, 4, 4, 2, 3):
            want[c, i + p, j + q] += inputs["v"][o, i, j] * inputs["w"][o, c, p, q]
    assert "guard" in [step.op for step in f.plan.program.steps]
    assert np.isfinite(want).any() and not np.isfinite(want).all()
    np.testing.assert_allclose(got, want, rtol=1e-4)
    np.testing.assert_allclose(gradient(**inputs), want)


def test_guards_inside_transformations_of_the_frameworks():
    """Where values cannot be looked at, both forms are computed and selected."""
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    f = rc.parse("y[i] = x[i+k] w[k]; L = y[i] v[i]").diff("x")
    rng = np.random.default_rng(1)
    w, vs = np.array([1.0, np.inf]), rng.normal(size=(3, 4))
    want = np.stack([f(x=np.zeros(5), w=w, v=v) for v in vs])
    assert np.isfinite(want[:, 0]).all() and not np.isfinite(want[:, 1:]).any()
    on_torch, on_jax = f.compile("torch"), f.compile("jax")
    mapped = torch.func.vmap(lambda v: on_torch(x=torch.zeros(5).double(), w=torch.tensor(w), v=v))(torch.tensor(vs))
    np.testing.assert_allclose(mapped.numpy(), want)
    mapped = jax.vmap(lambda v: on_jax(x=jax.numpy.zeros(5), w=jax.numpy.asarray(w), v=v))(jax.numpy.asarray(vs))
    np.testing.assert_allclose(mapped, want, rtol=1e-5)
