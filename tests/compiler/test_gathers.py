"""Gathers and scatters are steps of their own, whatever they read from and whatever is done to what they read."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import ricci as rc
from ricci.compiler.pipeline import prepare
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import VIEWS
from ricci.compiler.run.function import Compiled
from ricci.errors import AxisError
from ricci.expr import Expr, add, delta, merge, moving, one_hot, product, triangle, variable, variables, window
from ricci.functions import elementwise as e
from ricci.notation.context import Facts
from ricci.testing.interpreter import interpret

BACKENDS = ["numpy", *[name for name in ("torch", "jax") if find_spec(name)]]
RNG = np.random.default_rng(5)
N, MANY = 30, 60
II, J, K, G = (RNG.integers(0, size, MANY) for size in (6, 5, N, N))
FEW, Y = RNG.integers(0, MANY, 10), RNG.integers(0, 5, 6)
NEAR, COLUMNS = RNG.integers(0, 10, (10, 4)), RNG.integers(0, N, (20, 3))
W, V = RNG.standard_normal((3, 4)), RNG.standard_normal((20, 3))
UPPER, LOWER = np.triu_indices(5), np.tril_indices(5, -1)
MASK = np.arange(N) % 7 < 3


def cross_entropy(np: Any, p: Any) -> Any:
    z = p.reshape(6, 5)
    logs = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(logs[np.arange(6), Y])


def pairs(np: Any, p: Any) -> Any:
    c = p.reshape(10, 3)
    return np.sum(np.sum(c[II] * c[J + 3], axis=1) ** 2)


def neighbours(np: Any, p: Any) -> Any:
    x = p.reshape(10, 3)
    return np.sum(1 / (0.5 + np.sum((x[:, None, :] - x[NEAR] + 0.1) ** 2, -1)))


def steps(np: Any, p: Any) -> Any:
    for _ in range(4):
        p = np.sin(p[K][:N]) + 0.3 * np.roll(p[G][N:], 1)
    return np.sum(p**2)


def beside(np: Any, p: Any) -> Any:
    a = p.reshape(6, 5)
    return np.sum(np.sin(np.concatenate([a, 0.1 * a @ a[:5]], axis=1)[II, 2 * J]) ** 2)


def shares(np: Any, p: Any) -> Any:
    w = np.exp(p[K])
    return np.sum((w / (np.eye(6)[II].T @ w)[II]) ** 2)


PROGRAMS: dict[str, Any] = {
    "two indices": lambda np, p: np.sum(np.sin(p.reshape(6, 5)[II, J])),
    "from the end": lambda np, p: np.sum(np.sin(p.reshape(6, 5)[II - 6, J - 5])),
    "three indices": lambda np, p: np.sum(np.sin(p.reshape(2, 3, 5)[II % 2, II % 3, J])),
    "an axis between": lambda np, p: np.sum(np.sin(p.reshape(2, 3, 5)[II % 2, :, J]) ** 2),
    "several axes of places": lambda np, p: np.sum(
        np.sin(p.reshape(6, 5)[II.reshape(12, 5), J.reshape(12, 5)]).sum(0) ** 2
    ),
    "places that broadcast": lambda np, p: np.sum(np.sin(p.reshape(6, 5)[II[:, None], J[:4]]) ** 2),
    "rows and columns": lambda np, p: np.sum(np.sin(p.reshape(6, 5)[Y[:, None], Y])),
    "upper triangle": lambda np, p: np.sum(np.sin(p[:25].reshape(5, 5)[UPPER]) * np.arange(15)),
    "lower triangle": lambda np, p: np.sum(np.tanh(p.reshape(5, 6)[:, :5][LOWER] ** 2)),
    "labels": lambda np, p: np.sum(np.exp(p.reshape(6, 5)[np.arange(6), Y])),
    "cross entropy": cross_entropy,
    "along an axis": lambda np, p: np.sum(np.exp(np.take_along_axis(p.reshape(6, 5), Y[:, None], 1))),
    "of a concatenation": lambda np, p: np.sum(np.sin(np.concatenate([p, p**2])[K + 10])),
    "of a stack": lambda np, p: np.sum(np.sin(np.stack([p[:15], p[15:] ** 2])[II % 2, K % 15])),
    "of a pad": lambda np, p: np.sum(np.sin(np.pad(p, 1)[K + 2]) * np.arange(MANY)),
    "of a roll": lambda np, p: np.sum(np.sin(np.roll(p, 3)[K])),
    "of a running sum": lambda np, p: np.sum(np.sin(np.cumsum(p)[K])),
    "of a slice": lambda np, p: np.sum(np.sin(p[10:][K % 20]) * np.exp(p[:10][K % 10])),
    "of the reverse": lambda np, p: np.sum(np.sin(p[::-1][K]) * p[K]),
    "of a triangle": lambda np, p: np.sum(np.sin(np.tril(p[:25].reshape(5, 5))[II[:9] % 5, J[:9]])),
    "of a diagonal": lambda np, p: np.sum(np.sin(np.diag(p[:25].reshape(5, 5))[J])),
    "of repeated entries": lambda np, p: np.sum(np.sin(np.repeat(p, 2)[K]) * p[G]),
    "of a product": lambda np, p: np.sum(np.tanh(p.reshape(10, 3) @ W)[II] ** 2),
    "of columns put together": beside,
    "of an outer product": lambda np, p: np.sum(np.sin((p[:, None] * p)[K, G])),
    "then a running sum": lambda np, p: np.sum(np.sin(np.cumsum(p[K]))),
    "then a pad": lambda np, p: np.sum(np.cos(np.pad(p[K], 2))),
    "then a roll": lambda np, p: np.sum(p[K] * np.sin(np.roll(p[K], 2))),
    "then a reshape": lambda np, p: np.sum(np.sin(p[K].reshape(12, 5) @ p[:5])),
    "then a slice": lambda np, p: np.sum(np.sin(p[K][5:40:2]) ** 2),
    "then a product": lambda np, p: np.sum(np.tanh(p.reshape(10, 3)[II] @ W) ** 2),
    "of a gather": lambda np, p: np.sum(np.sin(p[K][FEW])),
    "of a gather, padded": lambda np, p: np.sum(np.sin(np.pad(p[K], 1)[FEW])),
    "of a gather, summed up": lambda np, p: np.sum(np.sin(np.cumsum(p[K])[FEW])),
    "of a gather, reshaped": lambda np, p: np.sum(np.sin(p[K].reshape(5, 12).T[II, J])),
    "by groups": lambda np, p: np.sum(np.exp(p[K])),
    "pairs of rows": pairs,
    "neighbours": neighbours,
    "sparse matrix and vector": lambda np, p: np.sum(np.tanh(np.sum(V * p[COLUMNS], axis=1))),
    "shares of groups": shares,
    "many steps": steps,
    "chosen": lambda np, p: np.sum(np.where(p[K] > 0, p[K] ** 2, np.sin(p[K]))),
    "a mask": lambda np, p: np.sum(np.sin(p.reshape(6, 5)[MASK.reshape(6, 5)]) ** 2),
    "one entry": lambda np, p: np.sum(np.sin(p[:1][np.zeros(4, int)])) + np.sum(p[np.array([3])] ** 3),
    "no entries": lambda np, p: np.sum(np.sin(p.reshape(6, 5)[II[:0], J[:0]])) + np.sum(p**2),
}
POINT, DIRECTION = 0.7 * RNG.standard_normal(N), np.linspace(-1, 1, N)
TRANSFORMS: dict[str, Any] = {"value": rc.compile, "grad": rc.grad, "hvp": rc.hvp, "hessian": rc.hessian}


def plan_and_result(kind: str, name: str, dtype: Any = float) -> tuple[Program, Any]:
    transformed = TRANSFORMS[kind](lambda p: PROGRAMS[name](np, p))
    args = tuple([a.astype(dtype) for a in ((POINT, DIRECTION) if kind == "hvp" else (POINT,))])
    result = transformed(*args)
    return transformed.program(transformed.arguments(args, {})).compiled.plan.program, result


def largest(program: Program) -> int:
    """The entries of the largest array that is made."""
    return max([step.out.entries for step in program.steps if step.op not in VIEWS], default=0)


def differences(f: Any, x: np.ndarray) -> np.ndarray:
    step = 1e-5 * np.eye(len(x))
    return np.array([(f(x + h) - f(x - h)) / 2e-5 for h in step])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_differentiated(name):
    """Beside differences, in all but the last of which nothing is much larger than operands and results are."""

    def function(p: Any) -> Any:
        return PROGRAMS[name](np, p)

    program, value = plan_and_result("value", name)
    assert value == pytest.approx(function(POINT), rel=1e-12)
    assert largest(program) <= 5 * MANY
    program, gradient = plan_and_result("grad", name)
    np.testing.assert_allclose(gradient, differences(function, POINT), rtol=1e-6, atol=1e-7)
    assert largest(program) <= 5 * MANY
    program, product = plan_and_result("hvp", name)
    second = differences(rc.grad(function), POINT)
    np.testing.assert_allclose(product, second @ DIRECTION, rtol=1e-6, atol=1e-6)
    assert largest(program) <= 5 * MANY
    program, hessian = plan_and_result("hessian", name)
    np.testing.assert_allclose(hessian, second, rtol=1e-6, atol=1e-6)
    assert largest(program) <= MANY * max(MANY, 3 * N)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_differentiated_as_jax_does(name):
    jax = pytest.importorskip("jax", reason="jax is not installed")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        theirs = jax.jit(jax.hessian(lambda p: PROGRAMS[name](jax.numpy, p)))(POINT)
        np.testing.assert_allclose(plan_and_result("hessian", name)[1], theirs, rtol=1e-9, atol=1e-9)
    finally:
        jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("name", ["two indices", "labels", "of a concatenation", "then a pad", "neighbours"])
def test_batches_and_float32(name):
    points = np.stack([POINT, -POINT, 2 * POINT])

    def gradient(p: Any) -> Any:
        return rc.grad(lambda q: PROGRAMS[name](np, q))(p)

    batched = rc.vmap(gradient)(points)
    np.testing.assert_allclose(batched, np.stack([gradient(p) for p in points]), rtol=1e-12, atol=1e-12)
    short = plan_and_result("grad", name, np.float32)[1]
    assert short.dtype == np.float32
    np.testing.assert_allclose(short, gradient(POINT), rtol=1e-3, atol=1e-4)


def test_places_that_are_arguments():
    def function(p: Any, i: Any, j: Any) -> Any:
        return np.sum(np.sin(p[i, j]) + p[np.arange(6)[:, None], j.reshape(6, 10)].sum())

    p = POINT.reshape(6, 5)
    for i, j in [(II, J), (II - 6, J - 5), (II, J - 5)]:
        np.testing.assert_allclose(rc.grad(function)(p, i, j), rc.grad(lambda q: function(q, II, J))(p), rtol=1e-12)
    with pytest.raises(AxisError, match="place 5 of an axis of size 5"):
        rc.grad(function)(p, II, np.where(J == 2, 5, J))


def test_both_indices_are_read_and_written_at_once():
    program, _ = plan_and_result("grad", "two indices")
    assert [step.op for step in program.steps if step.op not in VIEWS] == ["locate", "take", "map", "scatter"]


# All backends, beside the interpreter

X, M = variable("x", (12,)), variable("m", (4, 3))
AT, BY, SAME = variable("at", (7,)), variable("by", (7,)), variable("same", (5,))
U, T = variable("u", (7,)), variable("t", (5,))
ARRAYS: dict[str, Any] = {
    **{v.name: RNG.normal(size=v.shape) for v in (X, M, U, T)},  # pyright: ignore[reportArgumentType, reportCallIssue]
    "at": RNG.integers(0, 4, 7),
    "by": RNG.integers(0, 3, 7),
    "same": RNG.integers(0, 4, 5),
}
READS = window((1, 2), 1, 12, (4, 3)), "xab"
SUM = add([(1, moving.placed(X, 0, 0, 14)), (2, moving.placed(X, 0, 2, 14))])
A, B, C = one_hot(AT, 4), one_hot(BY, 3), one_hot(SAME, 4)
RESHAPED = (merge((4, 3)), ("x", "a", "b"))
BOTH = [(A, ("t", "a")), (B, ("t", "b"))]
TWO = product([(M, "ab"), (A, "ta"), (B, "tb")], "t")
EXPRESSIONS: dict[str, Expr] = {
    "two places": TWO,
    "two places, transposed": product([(U, "t"), (A, "ta"), (B, "tb")], "ba"),
    "two places of a reshape": product([(X, ("x",)), RESHAPED, *BOTH], ("t",)),
    "a reshape of two places": product([(U, ("t",)), RESHAPED, *BOTH], ("x",)),
    "both ways": product([(X, ("x",)), RESHAPED, *BOTH, (U, ("t",)), (one_hot(AT, 4), ("t", "c"))], ("c",)),
    "a running sum": product([(M, "cb"), (triangle(4, 4), "ac"), (A, "ta")], "tb"),
    "a running sum, transposed": product([(U, "t"), (triangle(4, 4), "ac"), (A, "ta")], "c"),
    "a window": product([(X, "x"), READS, (A, "ta")], "tb"),
    "a window, transposed": product([(U, "t"), (M, "cb"), READS, (A, "ta")], "x"),
    "there and back": product([(U, "t"), (A, "ta"), (C, "sa")], "s"),
    "there and back, weighted": product([(U, "t"), (A, "ta"), (M, "ab"), (C, "sa"), (T, "s")], "b"),
    "in the same place": product([(A, "ta"), (C, "sa")], "ts"),
    "in the same place, weighted": product([(A, "ta"), (M, "ab"), (C, "sa")], "tsb"),
    "a condition": product([(U, "t"), (A, "ta"), (window((1,), 2, 4, (1,)), "ak")], "t"),
    "places of two at once": product([(U, "t"), (A, "ta"), (A, "tb")], "ab"),
    "a sum that is read": product([(SUM, "x"), (one_hot(AT, 14), "tx")], "t"),
    "a function of places": product([(e.sin(TWO), "t"), (A, "ta"), (B, "tb")], "ab"),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions(name, backend):
    expression = EXPRESSIONS[name]
    inputs = {v.name: ARRAYS[v.name] for v in variables(expression)}
    facts = Facts(inputs={key: a.ndim for key, a in inputs.items()}, mentions=dict.fromkeys(inputs))
    f = Compiled(prepare([expression], facts=facts, simplify=False), backend)
    given: dict[str, Any] = dict(inputs)
    if backend == "torch":
        import torch

        given = {key: torch.from_numpy(a) for key, a in inputs.items()}
    close = 1e-5 if backend == "jax" else 1e-12  # JAX computes in float32 unless it is told not to
    np.testing.assert_allclose(np.asarray(f(**given)), interpret([expression], inputs, {})[0], rtol=close, atol=close)


@pytest.mark.skipif("jax" not in BACKENDS, reason="jax is not installed")
def test_on_jax_a_place_outside_of_one_axis_is_not_a_place_of_the_next_row():
    expression = EXPRESSIONS["two places"]
    facts = Facts(inputs={"m": 2, "at": 1, "by": 1}, mentions=dict.fromkeys(["m", "at", "by"]))
    f = Compiled(prepare([expression], facts=facts), "jax")
    by = np.array([0, 3, -1, 2, 1, 0, 0])
    result = np.asarray(f(m=ARRAYS["m"], at=np.zeros(7, int), by=by))
    assert np.isnan(result).tolist() == [False, True, True, False, False, False, False]


# Structure of second derivatives


GROUPS = RNG.integers(0, 5, MANY)


@pytest.mark.parametrize(
    ("function", "shape", "structure"),
    [
        (lambda c: np.sum(np.exp(c[GROUPS])), (5,), "delta[i0,i1] core[i0]"),
        (lambda c: np.sum(np.exp(c.reshape(5, 2)[GROUPS, GROUPS % 2])), (10,), "delta[i0,i1] core[i0]"),
        (lambda c: np.sum(np.exp(np.pad(c[GROUPS], 2))), (5,), "delta[i0,i1] core[i0]"),
        (lambda c: np.sum(np.sin(c[GROUPS] @ W)), (5, 3), "-delta[i0,i2] core0[i,i0] core1[i1,i] core1[i3,i]"),
    ],
)
def test_second_derivatives_by_groups_are_block_diagonal(function, shape, structure):
    point = RNG.standard_normal(shape)
    hessian = rc.hessian(function, compressed=True)(point)
    assert hessian.structure.rpartition(": ")[2] == structure
    np.testing.assert_allclose(hessian.todense(), rc.hessian(function)(point), rtol=1e-12, atol=1e-12)


def test_what_is_told_twice_is_one_label():
    diagonal = product([(U, "t"), (A, "ta"), (A, "tb")], "ab")
    assert diagonal is product([(product([(U, "t"), (A, "ta")], "a"), "a"), (delta(4), "ab")], "ab")
    assert product([(U, "t"), (A, "ta"), (A, "tb"), (M, "bc")], "ac") is product([(U, "t"), (A, "ta"), (M, "ac")], "ac")
    assert product([(U, "t"), (A, "ta"), (A, "ta")], "a") is product([(U, "t"), (A, "ta")], "a")
    deltas = [(delta(4), "ab"), (delta(4), "ac")]
    assert product([(M, "ad"), *deltas], "abcd") is product([(M, "ad"), (delta(4), "cb"), (delta(4), "ca")], "abcd")
    reshaped = merge((4, 3))
    twice = product([(M, "ab"), (reshaped, "xab"), (reshaped, "yab")], "xy")
    assert twice is product([(moving.reshaped(M, (12,)), "x"), (delta(12), "xy")], "xy")


def test_hessians_by_groups_are_written_once():
    transformed = rc.hessian(lambda c: np.sum(np.exp(c[GROUPS])))
    transformed(POINT[:5])
    plan = transformed.program(transformed.arguments((POINT[:5],), {})).compiled.plan
    assert [step.op for step in plan.program.steps].count("scatter") == 1
    assert largest(plan.program) <= MANY
