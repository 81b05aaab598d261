"""Derivatives in steps, of functions of matrices and along axes: right in all modes to second order, for stacks of
matrices, in both floating types, on all backends, at sizes 0 and 1; and nothing larger than the operands is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ricci as rc
from ricci.calculus.graph import Graph
from ricci.calculus.modes import derivative
from ricci.expr import Function, function, topological, variable
from ricci.expr.op import OPS
from ricci.notation.context import Context, Facts


def positive(A: Any) -> Any:
    return A @ np.swapaxes(A, -1, -2) + A.shape[-1] * np.eye(A.shape[-1], dtype=A.dtype)


def singular_vectors(A: Any) -> Any:
    u, s, v = np.linalg.svd(A[..., : A.shape[-1] // 2 + 1], full_matrices=False)
    return np.sum(u**4) + np.sum(s**3) + np.sum(v**4)


OF_MATRICES: dict[str, Callable[[Any], Any]] = {
    "cholesky": lambda A: np.sum(np.sin(np.linalg.cholesky(positive(A)))),
    "upper cholesky": lambda A: np.sum(np.sin(np.linalg.cholesky(positive(A) + A, upper=True))),
    "system with a Cholesky factor": lambda A: np.sum(np.linalg.solve(np.linalg.cholesky(positive(A)), A) ** 2),
    "triangular system": lambda A: np.sum(np.linalg.solve(np.tril(positive(A)), A) ** 2),
    "transposed triangular system": lambda A: np.sum(np.linalg.solve(np.tril(positive(A)).swapaxes(-1, -2), A) ** 2),
    "solve": lambda A: np.sum(np.sin(np.linalg.solve(positive(A), A))),
    "inv": lambda A: np.sum(np.sin(np.linalg.inv(positive(A)))),
    "det": lambda A: np.sum(np.sin(np.linalg.det(positive(A) / A.shape[-1]))),
    "slogdet": lambda A: np.sum(np.linalg.slogdet(positive(A))[1] ** 2),
    "eigvalsh": lambda A: np.sum(np.sin(np.linalg.eigvalsh(positive(A)))),
    "eigh": lambda A: np.sum(np.linalg.eigh(positive(A) + A, UPLO="U")[1] ** 4),
    "singular values": lambda A: np.sum(np.sin(np.linalg.svd(A, compute_uv=False))),
    "singular vectors": singular_vectors,
    "qr": lambda A: np.sum(np.linalg.qr(A[..., : A.shape[-1] // 2 + 1])[0] ** 3) + np.sum(np.linalg.qr(A)[1] ** 2),
    "pinv": lambda A: np.sum(np.sin(np.linalg.pinv(A[..., : A.shape[-1] // 2 + 1]))),
    "expm": lambda A: np.sum(np.sin(rc.expm(A / 2))),
    "matrix_power": lambda A: np.sum(np.sin(np.linalg.matrix_power(A, 3))),
}
ALONG: dict[str, Callable[[Any], Any]] = {
    "cumprod": lambda A: np.sum(np.sin(np.cumprod(A, axis=-1))),
    "prod": lambda A: np.sum(np.sin(np.prod(A, axis=-1))),
    "sort": lambda A: np.sum(np.sin(np.sort(A, axis=-1)) * np.arange(A.shape[-1])),
    "median": lambda A: np.sum(np.median(A, axis=-1) ** 2),
    "cumsum": lambda A: np.sum(np.sin(np.cumsum(A, axis=-1))),
}
FUNCTIONS = {**OF_MATRICES, **ALONG}


def draw(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    rng = np.random.default_rng([5, *shape])
    eye = np.broadcast_to(np.eye(shape[-1]) * np.arange(1, shape[-1] + 1), shape)
    return (0.3 * rng.normal(size=shape) + eye).astype(dtype)


def differenced(f: Callable[[np.ndarray], Any], x: np.ndarray, v: np.ndarray, step: float = 1e-4) -> Any:
    near, far = (np.asarray(f(x + k * step * v)) - np.asarray(f(x - k * step * v)) for k in (1, 2))
    return (8 * near - far) / (12 * step)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)], ids=["one", "stack"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_and_products_with_the_hessian(name, shape):
    f, x = FUNCTIONS[name], draw(*shape)
    v = np.random.default_rng(1).normal(size=shape)
    slope = np.vdot(rc.grad(f)(x), v)
    assert_allclose(slope, differenced(f, x, v), rtol=1e-6, atol=1e-8)
    assert_allclose(rc.jvp(f, (x,), (v,))[1], slope, rtol=1e-9, atol=1e-12)
    assert_allclose(rc.hvp(f)(x, v), differenced(rc.grad(f), x, v), rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_modes_agree_to_second_order(name):
    f, x = FUNCTIONS[name], draw(3, 3)
    v = np.random.default_rng(1).normal(size=x.shape)
    expected, along = rc.grad(f)(x), rc.hvp(f)(x, v)
    for mode in ("forward", "reverse", "cross-country"):
        assert_allclose(rc.jacobian(f, mode=mode)(x), expected, rtol=1e-9, atol=1e-11)
        second = rc.jacobian(rc.jacobian(f, mode=mode), mode=mode)(x)
        assert_allclose(np.tensordot(second, v, 2), along, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_numbers_and_maps(name):
    f, x = FUNCTIONS[name], draw(2, 3, 3)
    found = rc.grad(f)(x.astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(found, rc.grad(f)(x), rtol=2e-3, atol=2e-3)
    each = np.stack([rc.grad(f)(part) for part in x])
    assert_allclose(rc.vmap(rc.grad(f))(x), each, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_empty_and_single_axes(name, n):
    if n == 0 and name == "median":
        pytest.skip("of nothing there is none")
    f, x = FUNCTIONS[name], draw(n, n) + 1
    assert rc.grad(f)(x).shape == rc.hvp(f)(x, x).shape == (n, n)
    if n:
        assert_allclose(rc.grad(f)(x), differenced(f, x, np.ones_like(x)).reshape(1, 1), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("backend", ["torch", "jax"])
@pytest.mark.parametrize("name", ["cholesky", "eigvalsh", "expm", "expm_along", "cumprod", "prod", "recurrence"])
def test_on_other_backends(backend, name):
    pytest.importorskip(backend)
    x = variable("x", (2, 3, 3))
    operands, params = {"expm_along": ((x, x), (0,)), "recurrence": ((x, x), (0,))}.get(name, ((x,), ()))
    y = function(OPS[name], operands, params)
    at = positive(draw(2, 3, 3)) / 5
    first = derivative(y, x)
    for e in (first, derivative(first, x)):
        formula = rc.Formula(e, tuple(f"i{k}" for k in range(e.order)), Context(Facts(inputs={"x": 3})))
        found = formula.compile(backend)(x=as_array(backend, at))
        if backend == "jax":
            found.block_until_ready()
        assert_allclose(np.asarray(found), formula.compile("numpy")(x=at), rtol=2e-4, atol=2e-5)


def as_array(backend: str, x: np.ndarray) -> Any:
    if backend == "torch":
        import torch

        return torch.from_numpy(x)
    import jax.numpy as jnp

    return jnp.asarray(x)


# Exact at special points


def test_products_with_zeros():
    x = np.array([2.0, 0.0, 3.0, 0.0, 5.0])
    assert_allclose(rc.grad(np.prod)(x), np.zeros(5))
    one = np.array([2.0, 0.0, 3.0])
    assert_allclose(rc.grad(np.prod)(one), [0, 6, 0])
    assert_allclose(rc.hessian(np.prod)(one), [[0, 3, 0], [3, 0, 2], [0, 2, 0]])
    assert_allclose(rc.jacobian(np.cumprod)(one), [[1, 0, 0], [0, 2, 0], [0, 6, 0]])
    assert_allclose(rc.hvp(lambda x: np.sum(np.cumprod(x)))(one, np.ones(3)), [1 + 3, 1 + 3 + 2, 2], rtol=1e-12)


def test_one_triangle_is_read():
    """What NumPy does not look at may be anything, and has the derivative 0."""
    A = positive(draw(4, 4))
    spoilt = np.tril(A) + np.triu(np.full((4, 4), np.nan), 1)
    for f in (np.linalg.cholesky, np.linalg.eigvalsh, lambda A: np.linalg.eigh(A)[1] ** 2):
        assert_allclose(rc.compile(f)(spoilt), f(spoilt), rtol=1e-10)
        found = rc.grad(lambda A, f=f: np.sum(np.sin(f(A))))(A)
        assert_allclose(np.triu(found, 1), 0)


@pytest.mark.parametrize(
    "text",
    [
        "y = prod[i](x[i])",
        "y[k] = cumprod[k](x[k])",
        "y = B[k] cumprod[k](x[k])",
        "y = expm(A)[i,j] B[i,j]",
        "y = cholesky(A)[i,j] B[i,j]",
        "y[b] = prod[i](x[b,i])",
        "y[b] = B[b,i] cumprod[i](x[b,i])",
        "y[b] = expm[i,j](A[b,i,j]) B[i,j]",
    ],
)
def test_derivatives_are_texts_again(text):
    formula = rc.parse(text)
    first = formula.diff("A" if "A" in text else "x")
    assert rc.parse(str(first)) == first
    assert "recurrence" in str(first) or "cumprod" not in text


# What is computed


def steps(f: Callable, *args: Any) -> list[str]:
    made = f.program(f.arguments(args, {}))  # pyright: ignore[reportFunctionMemberAccess]
    return [step.name for step in made.compiled.plan.program.steps]


def test_triangular_systems_are_solved_as_such():
    gradient = rc.grad(OF_MATRICES["system with a Cholesky factor"])
    x = draw(4, 4)
    gradient(x)
    names = steps(gradient, x)
    assert "triangular_solve" in names and not {"solve", "inv"} & set(names)


def test_steps_are_vertices_of_the_graph():
    A = variable("A", (3, 3))
    y = function(OPS["cholesky"], (A,))
    graph = Graph([y], [A])
    assert graph.nodes == [A, y]
    assert len(graph.order) > 3 and graph.order[0] is A and graph.order[-1] is y
    found = derivative(y, A)
    assert not any(getattr(node, "name", "").startswith("∂") for node in topological(found))
    assert any(isinstance(node, Function) and node.op.name == "inv" for node in topological(found))
