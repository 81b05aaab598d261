"""Gradients of NumPy's functions on tensors: values as NumPy gives them, derivatives against central differences."""

from __future__ import annotations

import numpy as np
import pytest

from ricci.caches import cache_clear
from ricci.tensor import Tensor, meaning, no_grad

rng = np.random.default_rng(7)
A = rng.normal(size=(3, 4))
B = rng.normal(size=(4, 3))
S = A @ A.T + 3 * np.eye(3)
P = np.abs(A) + 0.5
V = rng.normal(size=4)
STEP = 1e-5

CASES = {
    "array on the right": (lambda x: x + V, A),
    "array on the left": (lambda x: V * x, A),
    "broadcast up": (lambda x: A - x, V),
    "broadcast a unit axis": (lambda x: x * A, A[:, :1]),
    "numpy scalar": (lambda x: np.float64(2) * x + x / np.float64(3), A),
    "number on the left": (lambda x: 3 - x, A),
    "divide": (lambda x: V / x, P),
    "whole power": (lambda x: x**3, A),
    "root": (lambda x: x**1.5, P),
    "exponential": (lambda x: 2.0**x, A),
    "power of itself": (lambda x: x**x, P),
    "negative": (lambda x: -x * abs(x), A),
    "remainder": (lambda x: x % 1.7, P),
    "exp": (lambda x: np.exp(x) * np.sin(x), A),
    "log": (lambda x: np.log(x) + np.log1p(x), P),
    "hypot": (lambda x: np.hypot(x, V), A),
    "maximum": (lambda x: np.maximum(x, 0.1), A),
    "where": (lambda x: np.where(x > 0, x, 2 * x), A),
    "clip": (lambda x: np.clip(x, -0.5, 0.5), A),
    "ufunc reduce": (lambda x: np.add.reduce(x * x), A),
    "ufunc outer": (lambda x: np.multiply.outer(x, V), V),
    "matmul": (lambda x: x @ B, A),
    "matmul from the left": (lambda x: B @ x, A),
    "matrix by vector": (lambda x: A @ x, V),
    "matmul with a list": (lambda x: x @ [1.0, 2, 3, 4], A),
    "einsum": (lambda x: np.einsum("ij,kj->ik", x, x), A),
    "einsum of a diagonal": (lambda x: np.einsum("ii->i", x), S),
    "tensordot": (lambda x: np.tensordot(x, B, axes=1), A),
    "outer": (lambda x: np.outer(x, x), V),
    "sum": (lambda x: np.sum(x * x, axis=0, keepdims=True), A),
    "sum over two": (lambda x: (x * x).sum(axis=(0, 1)), A),
    "mean": (lambda x: (x**2).mean(axis=1), A),
    "std": (lambda x: x.std(axis=0), A),
    "max": (lambda x: x.max(axis=1), A),
    "prod": (lambda x: x.prod(), P),
    "cumsum": (lambda x: (x * x).cumsum(axis=1), A),
    "reshape": (lambda x: x.reshape(2, 6), A),
    "transpose": (lambda x: x.T * B, A),
    "concatenate": (lambda x: np.concatenate([x, A * x], axis=1), A),
    "stack": (lambda x: np.stack([x, 2 * x, A]), A),
    "split": (lambda x: np.split(x, 2, axis=1)[1] ** 2, A),
    "both of a split": (lambda x: np.split(x, 2)[0] * np.split(x, 2)[1], V),
    "pad": (lambda x: np.pad(x, 1), A),
    "roll": (lambda x: np.roll(x, 1, axis=0) * x, A),
    "flip": (lambda x: np.flip(x) * x, A),
    "tril": (lambda x: np.tril(x @ x), S),
    "diag": (np.diag, V),
    "row": (lambda x: x[0] * x[-1], A),
    "slice": (lambda x: x[:, 1:3] * x[:, ::2], A),
    "list of rows": (lambda x: x[[0, 2, 0]], A),
    "mask": (lambda x: x[A > 0] ** 2, A),
    "pairs": (lambda x: x[np.array([0, 1]), np.array([2, 2])], A),
    "new axis": (lambda x: x[..., None] * V, A),
    "sort": (lambda x: np.sort(x, axis=0), A),
    "take": (lambda x: np.take(x, [0, 1], axis=1), A),
    "diff": (lambda x: np.diff(x) ** 2, A),
    "iterate": (lambda x: sum(row * row for row in x), A),
    "inv": (np.linalg.inv, S),
    "det": (np.linalg.det, S),
    "slogdet": (lambda x: np.linalg.slogdet(x).logabsdet, S),
    "solve": (lambda x: np.linalg.solve(x, B[:3]), S),
    "eigh, both results": (lambda x: _spectral(*np.linalg.eigh(x + x.T)), S),
    "svd": (lambda x: np.linalg.svd(x, full_matrices=False)[1], A),
    "norm": (np.linalg.norm, A),
}


def _spectral(values, vectors):
    return (vectors * np.exp(-values)) @ vectors.T


def gradient(f, x, weights):
    t = Tensor(x)
    f(t).backward(weights)
    return t.grad.numpy()


@pytest.mark.parametrize("name", CASES)
def test_value_gradient_and_second_derivative(name):
    f, x = CASES[name]
    t = Tensor(x)
    y = f(t)
    np.testing.assert_allclose(y.numpy(), f(x), rtol=1e-13, atol=1e-13)
    weights, direction = rng.normal(size=y.shape), rng.normal(size=x.shape)
    y.backward(weights, create_graph=True)
    first = t.grad
    slope = np.sum((f(x + STEP * direction) - f(x - STEP * direction)) * weights) / (2 * STEP)
    np.testing.assert_allclose(np.sum(first.numpy() * direction), slope, rtol=1e-6, atol=1e-7)
    t.zero_grad()
    (first * direction).sum().backward()
    bend = (gradient(f, x + STEP * direction, weights) - gradient(f, x - STEP * direction, weights)) / (2 * STEP)
    np.testing.assert_allclose(t.grad.numpy(), bend, rtol=1e-5, atol=1e-6)


def test_the_check_can_fail():
    t = Tensor(A)
    (t * t.detach()).sum().backward()  # half of the derivative of the square
    assert np.max(np.abs(t.grad.numpy() - 2 * A)) > 0.1


def test_updates_of_places():
    x = Tensor(V)
    y = x.at[0].set(x[1] * 2).at[3].add(5.0)
    assert y.tolist() == [V[1] * 2, V[1], V[2], V[3] + 5]
    (y * y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [0, 10 * V[1], 2 * V[2], 2 * (V[3] + 5)])


def test_results_that_get_no_gradient_count_as_zero():
    x = Tensor(S)
    sign, logdet = np.linalg.slogdet(x)
    logdet.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.linalg.inv(S).T)
    assert sign.grad is None


def test_a_loop_over_many_rows_makes_few_programs():
    big = rng.normal(size=(200, 3))
    x = Tensor(big)
    cache_clear()
    total = Tensor(0.0)
    for i in range(-100, 100):
        total = total + (x[i] * x[i]).sum()
    total.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * big)
    assert len(meaning._operations.all()) < 40


def test_numbers_that_vary_share_a_program():
    x = Tensor(V)
    cache_clear()
    for rate in np.linspace(0, 1, 50).tolist():
        (x * rate).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(4, 25.0))
    assert len(meaning._operations.all()) <= 3


@pytest.mark.parametrize("f", [lambda x: x * 0.1, lambda x: x @ np.ones(4, np.float32), lambda x: np.sin(x).sum()])
def test_single_precision_stays(f):
    cache_clear()
    x = Tensor(A.astype(np.float32))
    y = f(x)
    assert y.dtype == np.float32
    y.sum().backward()
    assert all(use.program is None or use.program.casts is None for use in meaning._flat.all().values())
    assert x.grad.dtype == np.float32


def test_mixed_precision_gives_each_gradient_its_own_type():
    x, w = Tensor(A.astype(np.float32)), Tensor(A)
    (x * w).sum().backward()
    assert (x.grad.dtype, w.grad.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(x.grad.numpy(), A.astype(np.float32))


def test_a_function_without_derivative_gives_zeros():
    x = Tensor(V)
    (np.sign(x) + np.floor(x)).sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 0]


def test_against_torch_on_a_small_network():
    torch = pytest.importorskip("torch")
    arrays = [rng.normal(size=shape) for shape in [(5, 4), (4, 6), (6,), (6, 1)]]

    def loss(x, w, b, v, tanh):
        h = tanh(x @ w + b)
        return (((h @ v) - 1.0) ** 2).mean()

    ours = [Tensor(a) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    y, z = loss(*ours, np.tanh), loss(*theirs, torch.tanh)  # pyright: ignore[reportCallIssue]
    y.backward()
    z.backward()
    assert abs(y.item() - z.item()) < 1e-12
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_training_lowers_the_loss():
    w = Tensor(np.zeros(4))
    target = A @ np.array([1.0, -2, 0.5, 3])
    for _ in range(2000):
        loss = ((A @ w - target) ** 2).mean()
        w.zero_grad()
        loss.backward()
        with no_grad():
            w -= 0.2 * w.grad
    assert loss.item() < 1e-3


# Random programs, run by tensors and by torch

UNARY = ["tanh", "sin", "exp", "square", "negative", "sigmoid"]
BINARY = ["add", "subtract", "multiply", "maximum"]
SHAPES = [(), (3,), (1, 3), (2, 1), (2, 3)]


def _random_program(seed):
    """Steps on a growing list of values: a name and the positions of its operands."""
    source = np.random.default_rng(seed)
    steps = []
    for k in range(12):
        have = len(SHAPES) + k
        kind = source.integers(0, 4)
        if kind == 0:
            steps.append((str(source.choice(UNARY)), int(source.integers(have))))
        elif kind == 1:
            steps.append(("mean", int(source.integers(have))))
        else:
            steps.append((str(source.choice(BINARY)), int(source.integers(have)), int(source.integers(have))))
    return steps


def _run(steps, values, functions):
    values = list(values)
    for name, *operands in steps:
        made = functions[name](*[values[k] for k in operands])
        values.append(functions["tanh"](made))  # which keeps everything in range
    return sum(v.sum() for v in values[len(SHAPES) :])


@pytest.mark.parametrize("seed", range(25))
def test_random_programs_against_torch(seed):
    torch = pytest.importorskip("torch")
    steps = _random_program(seed)
    arrays = [np.random.default_rng(seed + 1000).normal(size=shape) for shape in SHAPES]
    ours, theirs = [Tensor(a) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
    own = {name: getattr(np, name) for name in [*UNARY[:-1], *BINARY]}
    own |= {"sigmoid": lambda x: x.sigmoid(), "mean": lambda x: x.mean(axis=-1, keepdims=True) if x.ndim else x}
    other = {name: getattr(torch, name) for name in [*UNARY, *BINARY]}
    other |= {"mean": lambda x: x.mean(-1, keepdim=True) if x.ndim else x}
    y, z = _run(steps, ours, own), _run(steps, theirs, other)
    y.backward()  # pyright: ignore[reportAttributeAccessIssue]
    z.backward()  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(y.item(), z.item(), rtol=1e-12, atol=1e-12)  # pyright: ignore[reportAttributeAccessIssue]
    for a, b in zip(ours, theirs, strict=True):
        expected = np.zeros(a.shape) if b.grad is None else b.grad.numpy()
        found = np.zeros(a.shape) if a.grad is None else a.grad.numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
