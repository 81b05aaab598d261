"""Rules of derivatives are linear: what is, is taken, by whatever functions it is written; what is not, is refused."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc

rng = np.random.default_rng(0)
A = rng.normal(size=(3, 3)) + 3 * np.eye(3)
b = rng.normal(size=3)
PLACES = np.array([2, 0, 0])

LINEAR = {
    "itself": lambda x, v: v,
    "nothing": lambda x, v: 0 * v,
    "solve": lambda x, v: np.linalg.solve(A, v),
    "solve with a traced matrix": lambda x, v: np.linalg.solve(np.diag(x) + A, v),
    "inverse": lambda x, v: np.linalg.inv(A) @ v,
    "pinv": lambda x, v: np.linalg.pinv(A) @ v,
    "lstsq": lambda x, v: np.linalg.lstsq(A, v)[0],
    "tensorsolve": lambda x, v: np.linalg.tensorsolve(A, v),
    "cholesky": lambda x, v: np.linalg.solve(np.linalg.cholesky(A @ A.T + np.diag(x * x)), v),
    "matrix_power": lambda x, v: np.linalg.matrix_power(A, 3) @ v,
    "branches": lambda x, v: np.where(x > 0, v, 2 * v),
    "a branch": lambda x, v: np.where(x > 0, np.linalg.solve(A, v), 0.0),
    "cumsum": lambda x, v: np.cumsum(v),
    "sums": lambda x, v: x * v.sum() - v.mean(),
    "gather": lambda x, v: v[PLACES],
    "places of a primal": lambda x, v: v[np.argsort(x)],
    "reversed and rolled": lambda x, v: np.roll(v[::-1], 1),
    "convolve": lambda x, v: np.convolve(v, x)[:3],
    "diff": lambda x, v: np.diff(np.concatenate([v, [0.0]])),
    "triangle": lambda x, v: np.tril(np.outer(x, v)) @ x,
    "einsum": lambda x, v: np.einsum("ij,j,i->i", A, v, x),
    "kron": lambda x, v: np.kron(np.ones(1), v),
    "quotient": lambda x, v: v / (1 + x * x),
    "a mask": lambda x, v: v * (x == np.max(x)),
    "another type": lambda x, v: v.astype(np.float32).astype(np.float64),
    "vmap": lambda x, v: rc.vmap(lambda a: 2 * a)(v),
    "jvp": lambda x, v: rc.jvp(np.sin, (x,), (v,))[1],
    "vjp": lambda x, v: rc.vjp(np.sin, x)[1](v)[0],
    "a formula": lambda x, v: rc.parse("y[i] = inv(A)[i,j] v[j]")(A=A, v=v),
    "checkpoint": lambda x, v: rc.checkpoint(lambda a: a * np.sin(x))(v),
    "where the primal has no value at most points": lambda x, v: np.linalg.solve(A, v) * np.sqrt(x * x - 0.001),
}
BENT = {
    "square": lambda x, v: v * v,
    "an offset": lambda x, v: v + 1,
    "an offset of the primal": lambda x, v: v + x,
    "the primal": lambda x, v: x + 0 * v,
    "abs": lambda x, v: np.abs(v),
    "sign": lambda x, v: np.sign(v),
    "round": lambda x, v: np.round(v),
    "a stopped gradient": lambda x, v: rc.stop_gradient(v),
    "relu": lambda x, v: np.maximum(v, 0),
    "clip": lambda x, v: np.clip(v, -1, 1),
    "sort": lambda x, v: np.sort(v),
    "argmax": lambda x, v: x[np.argmax(v)] * np.ones(3),
    "branches by the tangent": lambda x, v: np.where(v > 0, v, 2 * v),
    "norm": lambda x, v: v / np.linalg.norm(v),
    "tanh": lambda x, v: np.tanh(v),
    "solve in the matrix": lambda x, v: np.linalg.solve(np.diag(v) + A, x),
    "solve of an offset": lambda x, v: np.linalg.solve(A, v + 1),
    "solve of the primal": lambda x, v: np.linalg.solve(A, x),
    "det": lambda x, v: np.linalg.det(np.outer(v, v)) * x,
}


def ruled(kind, rule):
    f = rc.custom(lambda x: 1.0 * x)
    if kind == "jvp":
        f.jvp(lambda primals, tangents: rule(primals[0], tangents[0]))
    else:
        f.vjp(lambda primals, gradient: rule(primals[0], gradient))
    return f


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
@pytest.mark.parametrize("name", LINEAR)
def test_linear_rules_are_taken(name, kind):
    rule = LINEAR[name]
    matrix = rc.jacobian(lambda v: rule(b, v))(b)
    f = ruled(kind, rule)
    for mode in ("forward", "reverse"):
        found = rc.jacobian(f, mode=mode)(b)
        np.testing.assert_allclose(found, matrix if kind == "jvp" else matrix.T, rtol=1e-6, atol=1e-12)
    t = rc.Tensor(b)
    f(t).backward(np.arange(3.0))
    np.testing.assert_allclose(t.grad.numpy(), np.arange(3.0) @ rc.jacobian(f)(b), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
@pytest.mark.parametrize("name", BENT)
def test_others_are_refused(name, kind):
    with pytest.raises(rc.RuleError, match="not linear"):
        rc.jacobian(ruled(kind, BENT[name]))(b)


def solver():
    @rc.custom
    def solve(A, b):
        return np.linalg.solve(A, b)

    @solve.vjp
    def _(primals, g):
        A, b = primals
        u = np.linalg.solve(A.T, g)
        return -np.outer(u, np.linalg.solve(A, b)), u

    return solve


def test_the_adjoint_of_a_system():
    solve = solver()
    ours = rc.jacobian(solve, argnums=(0, 1))(A, b)
    theirs = rc.jacobian(np.linalg.solve, argnums=(0, 1))(A, b)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9)
    H = rc.hessian(lambda b: (solve(np.diag(b) + A, b) ** 2).sum())(b)
    np.testing.assert_allclose(H, rc.hessian(lambda b: (np.linalg.solve(np.diag(b) + A, b) ** 2).sum())(b), rtol=1e-9)
    many = rc.vmap(rc.grad(lambda b: solve(A, b).sum()))(np.stack([b, 2 * b]))
    np.testing.assert_allclose(many[1], np.linalg.solve(A.T, np.ones(3)), rtol=1e-9)
    single = rc.grad(lambda b: solve(A.astype("f4"), b).sum())(b.astype("f4"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.linalg.solve(A.T, np.ones(3)), rtol=1e-5)


def test_a_linear_function_that_only_runs():
    linalg = pytest.importorskip("scipy.linalg")

    def triangular(trans):
        f = rc.custom(lambda L, b: linalg.solve_triangular(L, b, lower=True, trans=trans))
        f.jvp(lambda primals, tangents: np.linalg.solve(primals[0].T if trans else primals[0], tangents[1]))
        return f

    plain, turned = triangular(0), triangular(1)
    L = np.tril(A)
    f = rc.custom(lambda b: linalg.solve_triangular(L, b, lower=True))
    f.vjp(lambda primals, g: turned(L, g))
    np.testing.assert_allclose(rc.jacobian(f)(b), np.linalg.inv(L), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(rc.jacobian(lambda b: plain(L, b))(b), np.linalg.inv(L), rtol=1e-9, atol=1e-12)


def test_of_functions_with_rules_the_values_are_looked_at():
    """They are believed as to their derivative; but what they compute must be linear."""

    def straight_through(function):
        within = rc.custom(function)
        within.derivative(np.ones_like)
        return ruled("vjp", lambda x, g: within(g))

    np.testing.assert_allclose(rc.jacobian(straight_through(lambda x: 3 * x))(b), np.eye(3))
    for function in (np.round, lambda x: x + 1, np.abs, lambda x: np.asarray(x).round()):
        with pytest.raises(rc.RuleError, match="not linear"):
            rc.jacobian(straight_through(function))(b)


def test_large_operands_are_not_squared():
    n = 30000
    f = rc.custom(np.cumsum)
    f.jvp(lambda primals, tangents: np.cumsum(tangents[0]))
    x = rng.normal(size=n)
    np.testing.assert_allclose(rc.grad(lambda x: (f(x) ** 2).sum())(x), 2 * np.cumsum(np.cumsum(x)[::-1])[::-1])  # pyright: ignore[reportOperatorIssue]
