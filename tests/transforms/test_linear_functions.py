"""Pullbacks of ``rc.vjp`` and functions of ``rc.linearize`` are functions like any other."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import STEPS, random_program

import ricci as rc

rng = np.random.default_rng(0)
A, x = rng.normal(size=(3, 4)), rng.normal(size=4)
J = rc.jacobian(lambda x: np.tanh(A @ x))(x)
bar, dot = rng.normal(size=3), rng.normal(size=4)


def g(x):
    return np.tanh(A @ x)


def close(a, b, rtol=1e-10):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-12)


def linear(what):
    """The derivative of ``g`` at ``x`` as a function of one array, its matrix, and a direction."""
    if what == "vjp":
        back = rc.vjp(g, x)[1]
        return (lambda v: back(v)[0]), back, J.T, bar
    push = rc.linearize(g, x)[1]
    return push, push, J, dot


@pytest.mark.parametrize("what", ["vjp", "linearize"])
def test_every_transform_of_a_linear_function(what):
    f, own, matrix, v = linear(what)
    first = (lambda result: result[0]) if what == "vjp" else (lambda result: result)
    n = len(v)
    close(first(rc.vmap(own)(np.eye(n))), matrix.T)
    close(first(rc.vmap(own, in_axes=1, out_axes=1)(np.eye(n))), matrix)
    close(first(rc.jacobian(own)(v)), matrix)
    close(first(rc.jacfwd(own)(v)), matrix)
    close(first(rc.compile(own)(v)), matrix @ v)
    close(first(rc.jvp(own, (v,), (2 * v,))[1]), 2 * matrix @ v)
    close(rc.grad(lambda v: (f(np.sin(v)) ** 2).sum())(v), 2 * np.cos(v) * (matrix.T @ (matrix @ np.sin(v))))
    close(rc.hessian(lambda v: (f(v) ** 2).sum())(v), 2 * matrix.T @ matrix)
    transposed = rc.vjp(f, v)[1]
    close(transposed(matrix @ v)[0], matrix.T @ matrix @ v)
    close(rc.vmap(transposed)(np.eye(len(matrix)))[0], matrix)
    close(rc.linearize(f, v)[1](v), matrix @ v)
    close(rc.compile(lambda v: 2 * f(v))(v), 2 * matrix @ v)
    close(first(partial(own)(v)), matrix @ v)


@pytest.mark.parametrize("what", ["vjp", "linearize"])
def test_on_tensors(what):
    f, _, matrix, v = linear(what)
    t = rc.Tensor(v)
    y = (f(t) ** 2).sum()
    y.backward(create_graph=True)
    close(t.grad.numpy(), 2 * matrix.T @ matrix @ v)
    slope = t.grad
    t.zero_grad()
    slope.sum().backward()
    close(t.grad.numpy(), 2 * (matrix.T @ matrix).sum(0))


def test_at_a_point_that_is_a_tensor():
    t = rc.Tensor(x)
    _, back = rc.vjp(g, t)
    for direction in (bar, rc.Tensor(bar)):
        t.zero_grad()
        (back(direction)[0] ** 2).sum().backward()
        close(t.grad.numpy(), rc.grad(lambda x: (rc.vjp(g, x)[1](bar)[0] ** 2).sum())(x))


def test_inside_functions_that_are_traced():
    def rows(x):
        return rc.vmap(rc.vjp(g, x)[1])(np.eye(3))[0]

    def columns(x):
        return rc.vmap(rc.linearize(g, x)[1], out_axes=1)(np.eye(4))

    def compiled(x):
        back = rc.compile(rc.vjp(g, x)[1])
        return np.stack([back(row)[0] for row in np.eye(3)])

    def differentiated(x):
        back = rc.vjp(g, x)[1]
        return rc.jacobian(lambda v: back(v)[0])(np.zeros(3)).T

    second = rc.jacobian(rc.jacobian(g))(x)
    X = np.stack([x, 2 * x])
    for f in (rows, columns, compiled, differentiated):
        close(f(x), J)
        close(rc.compile(f)(x), J)
        close(rc.jacobian(f)(x), second)
        close(rc.vmap(f)(X)[1], rc.jacobian(g)(2 * x))
        close(rc.grad(lambda x, f=f: (f(x) ** 2).sum())(x), 2 * np.einsum("ij,ijk->k", J, second))


def test_a_pullback_of_a_pullback():
    back = rc.vjp(g, x)[1]
    again = rc.vjp(lambda v: back(v)[0], bar)[1]
    close(again(dot)[0], J @ dot)
    close(rc.vjp(lambda v: again(v)[0], dot)[1](bar)[0], J.T @ bar)


def test_trees_and_several_arguments_and_results():
    def f(p, c):
        return {"a": p["w"] * c, "b": (p["v"].sum() * c,)}

    w, v = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    _, back = rc.vjp(f, {"w": w, "v": v}, 2.0)
    bars = {"b": (np.array([1.0, 0.0]),), "a": np.array([[0.0, 0.0], [1.0, 10.0]])}
    gradient, by_c = rc.vmap(back)(bars)
    close(gradient["w"], [[0, 0], [2, 20]])
    close(gradient["v"], [[2, 2, 2], [0, 0, 0]])
    close(by_c, [12.0, 21.0])
    _, push = rc.linearize(f, {"w": w, "v": v}, 2.0)
    pushed = rc.vmap(push, in_axes=(None, 0))({"w": w, "v": v}, np.array([0.0, 1.0]))
    close(pushed["a"], [2 * w, 3 * w])
    close(pushed["b"][0], [24.0, 36.0])


def test_with_aux():
    _, back, aux = rc.vjp(lambda x: (x * x, x.sum()), x, has_aux=True)
    close(rc.vmap(back)(np.eye(4))[0], np.diag(2 * x))
    close(aux, x.sum())
    _, push, _ = rc.linearize(lambda x: (x * x, x.sum()), x, has_aux=True)
    close(rc.vmap(push)(np.eye(4)), np.diag(2 * x))


def test_arrays_that_change_afterwards_change_nothing():
    point, matrix = x.copy(), A.copy()
    _, back = rc.vjp(lambda x: np.tanh(matrix @ x) * matrix[0, 0], point)
    _, push = rc.linearize(lambda x: x * x * matrix[0], point)
    before = back(bar)[0], push(dot)
    point[:] = 0.0
    matrix[:] = 0.0
    close(back(bar)[0], before[0])
    close(push(dot), before[1])
    close(rc.compile(back)(bar)[0], before[0])


def test_on_other_libraries():
    torch = pytest.importorskip("torch")
    back = rc.vjp(g, torch.tensor(x))[1]
    found = rc.vmap(back)(torch.eye(3, dtype=torch.float64))[0]
    assert isinstance(found, torch.Tensor)
    close(found, J)


def test_single_precision():
    _, back = rc.vjp(lambda x: np.tanh(A.astype("f4") @ x), x.astype("f4"))
    assert rc.vmap(back)(np.eye(3, dtype="f4"))[0].dtype == np.float32


def test_what_is_wrong_is_said():
    back = rc.vjp(g, x)[1]
    with pytest.raises(rc.ShapeError, match="not \\(3,\\)"):
        rc.vmap(back)(np.eye(4))
    with pytest.raises(rc.InputError, match="form"):
        rc.compile(back)((bar, bar))
    with pytest.raises(rc.DTypeError, match="int64"):
        rc.vmap(back)(np.eye(3, dtype=int))
    kept = []
    rc.compile(lambda x: kept.append(rc.vjp(np.sin, x)[1]) or x)(x)
    with pytest.raises(rc.TraceError, match="after the function"):
        kept[0](x)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_random_programs_mapped_over_their_pullbacks(seed):
    program = random_program(seed)
    arrays = program.arrays(seed)

    def last(*args):
        values = list(args)
        for name, places, detail in program.steps:
            values.append(STEPS[name](np, detail, *[values[p] for p in places]))
        return np.ravel(values[-1])

    y, back = rc.vjp(last, *arrays)
    jacobians = rc.jacobian(last, argnums=tuple(range(len(arrays))))(*arrays)
    for found, own in zip(rc.vmap(back)(np.eye(len(y))), jacobians, strict=True):
        close(found, own, 1e-8)
    push = rc.linearize(last, *arrays)[1]
    steps = [rng.normal(size=a.shape) for a in arrays]
    pushed = rc.compile(push)(*steps)
    close(pushed, sum(np.tensordot(j, s, s.ndim) for j, s in zip(jacobians, steps, strict=True)), 1e-8)
