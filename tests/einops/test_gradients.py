"""Gradients through every function: by ricci in both modes, by PyTorch and by JAX, which all agree.

The loss is a fixed weighting of the sines of all results, so that every entry has a gradient of its own and the second
derivative of a linear function is not zero either. Random numbers have no ties, so maxima have derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ricci as rc

jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax to compare derivatives with it")
torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to compare derivatives with it")
jnp = jax.numpy


@pytest.fixture(scope="module", autouse=True)
def in_double_precision() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def at(x: Any, places: np.ndarray) -> Any:
    """An index of the kind of ``x``."""
    return torch.tensor(places) if isinstance(x, torch.Tensor) else places


X, Y, SQUARE = normal(4, 6), normal(6, 3, seed=1), normal(5, 5)
PLACES, OTHERS = np.array([[3, 0, 3], [1, 1, 2]]), np.array([[0, 2, 5], [1, 1, 0]])
REDUCTIONS = ("sum", "mean", "max", "min", "prod", "logsumexp", "var", "std", "norm")


def tropical(op: str, reduce: str) -> tuple:
    return (lambda x, y: rc.einsum("i k, k j -> j i", x, y, op=op, reduce=reduce), X, Y)


CASES: dict[str, tuple] = {
    "rearrange": (lambda x: rc.rearrange(x, "(a b) (c d) -> d (b a) c", a=2, c=3), X),
    "rearrange to units": (lambda x: rc.rearrange(x, "a b -> b 1 (1 a) ()"), X),
    **{
        f"reduce by {name}": (lambda x, name=name: rc.reduce(x, "(a b) (c d) -> d a", name, a=2, c=3), X)
        for name in REDUCTIONS
    },
    **{
        f"reduce all by {name}": (lambda x, name=name: rc.reduce(x, "... ->", name), X[:2, 2:5])
        for name in REDUCTIONS[2:8:2]
    },
    "norm of single numbers": (lambda x: rc.reduce(x, "a b -> b a", "norm"), X),
    "repeat": (lambda x: rc.repeat(x, "a b -> (a n) 2 b", n=3), X),
    "einsum": (lambda x, y: rc.einsum("i k, k j -> j i", x, y), X, Y),
    "einsum of one": (lambda x: rc.einsum("i k -> k", x), X),
    "einsum of three": (lambda x, y, z: rc.einsum("i k, k j, j i -> i j", x, y, z), X, Y, normal(3, 4)),
    "einsum of the same": (lambda x: rc.einsum("i k, j k -> i j", x, x), X),
    "composite": (lambda x, y: rc.einsum("(g i) k, k j -> i (j g)", x, y, g=2), X, Y),
    "diagonal": (lambda x: rc.einsum("i i -> i", x), SQUARE),
    "trace": (lambda x: rc.einsum("i i ->", x), SQUARE),
    "diagonal of a product": (lambda x, y: rc.einsum("i i, i j -> j i", x, y), SQUARE, normal(5, 2)),
    "shortest": tropical("add", "min"),
    "longest": tropical("add", "max"),
    "log-sum-exp": tropical("add", "logsumexp"),
    "product of sums": tropical("add", "prod"),
    "product of products": tropical("multiply", "prod"),
    "largest product": tropical("multiply", "max"),
    "mean of products": tropical("multiply", "mean"),
    "sum of maxima": tropical("maximum", "sum"),
    "distances": tropical("subtract", "norm"),
    "quotients": tropical("divide", "sum"),
    "join": (lambda x, y: rc.rearrange([x, y], "a b, b c -> b (c + a)"), X, Y),
    "join two axes": (
        lambda x, y: rc.rearrange([x, y, x, y], "a b, a c, d b, d c -> (a + d) (b + c)"),
        *(X, normal(4, 2)),
    ),
    "split": (lambda x: rc.rearrange(x, "a (b + c + 1) -> b a, a, (a c)", b=2), X),
    "gather": (lambda x: rc.gather("v d, b t -> t d b", x, at(x, PLACES)), X),
    "gather in a batch": (lambda x: rc.gather("b v, b t -> t b", x, at(x, PLACES)), X[:2]),
    "gather two axes": (lambda x: rc.gather("v w, b t, b t -> b t", x, at(x, PLACES), at(x, OTHERS)), X),
    "scatter": (lambda x: rc.scatter("b t, b t -> v", x, at(x, PLACES), v=5), normal(2, 3)),
    "scatter rows": (lambda x: rc.scatter("b t d, b t -> d v b", x, at(x, PLACES), v=4), normal(2, 3, 2)),
    "pack": (lambda x, y: rc.pack([x, y], "a *")[0], X, normal(4, 2, 3)),
    "unpack": (lambda x: rc.unpack(x, [(2,), (), (1, 3)], "a *"), X),
    "list": (lambda x, y: rc.rearrange([x, y], "n a b -> b (a n)"), X, normal(4, 6, seed=7)),
    "reduced list": (lambda x, y: rc.reduce([x, y], "n a b -> b", "logsumexp"), X, normal(4, 6, seed=7)),
    "inverse": (rc.inverse("a b c -> (c a) b", a=2), X),
    "there and back": (lambda x: rc.unpack(rc.pack([x, x], "* b")[0], [(4,), (2, 2)], "* b"), X),
    "attention": (
        lambda x, y: rc.einsum("i j, j d -> i d", softmax(rc.einsum("i d, j d -> i j", x, y)), y),
        *(X, normal(5, 6)),
    ),
}
TWICE = ["reduce by logsumexp", "reduce by std", "composite", "log-sum-exp", "product of sums", "join", "split"]
TWICE += ["gather", "scatter rows", "unpack", "attention"]


def softmax(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x.softmax(1)
    return rc.softmax(x, x.indices[1]) if isinstance(x, rc.Formula) else jax.nn.softmax(x, 1)


def weights(shape: tuple[int, ...]) -> np.ndarray:
    return normal(*shape, seed=11)


def loss(call: Callable, *xs: Any) -> Any:
    """A number, of arrays of any kind."""
    sine, convert = (torch.sin, torch.tensor) if isinstance(xs[0], torch.Tensor) else (jnp.sin, jnp.asarray)
    found = call(*xs)
    return sum([(sine(y) * convert(weights(tuple(y.shape)))).sum() for y in several(found)])


def several(found: Any) -> list:
    return list(found) if isinstance(found, (list, tuple)) else [found]


def formula(call: Callable, arrays: tuple, other: Callable | None = None) -> tuple[rc.Formula, dict[str, np.ndarray]]:
    """The same loss as an expression, of ``call`` or ``other``, and its inputs."""
    inputs = dict(zip("xyz", arrays))
    symbols = [rc.variable(f"{name}[{','.join([f'{name}{n}' for n in range(a.ndim)])}]") for name, a in inputs.items()]
    total: Any = 0
    for k, (y, value) in enumerate(zip(several((other or call)(*symbols)), several(call(*arrays)), strict=True)):
        weight = rc.variable(f"w{k}[{','.join(y.indices)}]" if y.order else f"w{k}")
        inputs[f"w{k}"] = weights(np.shape(value))
        total = total + (rc.sin(y) * weight).sum() if y.order else total + rc.sin(y) * weight
    return total, inputs


def close(found: Any, wanted: Any) -> None:
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-9, atol=1e-9)


def agree(call: Callable, arrays: tuple, other: Callable | None = None) -> None:
    """The gradients of ``call`` by ricci, PyTorch and JAX; ``other`` is what ricci differentiates, if not the same."""
    places = tuple(range(len(arrays)))
    wanted = jax.jit(jax.grad(lambda *xs: loss(call, *xs), argnums=places))(*map(jnp.asarray, arrays))
    leaves = [torch.tensor(x, requires_grad=True) for x in arrays]
    loss(call, *leaves).backward()
    total, inputs = formula(call, arrays, other)
    close(total(**inputs), loss(call, *map(jnp.asarray, arrays)))
    for name, leaf, gradient in zip("xyz", leaves, wanted, strict=False):
        assert np.abs(gradient).max() > 1e-3
        close(leaf.grad, gradient)
        for mode in ("reverse", "forward"):
            close(total.diff(name, mode=mode)(**inputs), gradient)


@pytest.mark.parametrize("case", CASES)
def test_gradients(case):
    call, *arrays = CASES[case]
    agree(call, tuple(arrays))


@pytest.mark.parametrize("case", TWICE)
def test_second_derivatives(case):
    call, *arrays = CASES[case]
    wanted = jax.jit(jax.hessian(lambda *xs: loss(call, *xs)))(*map(jnp.asarray, arrays))
    rest = [torch.tensor(x) for x in arrays[1:]]
    close(torch.autograd.functional.hessian(lambda x: loss(call, x, *rest), torch.tensor(arrays[0])), wanted)
    total, inputs = formula(call, tuple(arrays))
    second = total.diff("x", "x")
    close(second(**inputs), wanted)
    close(second.compile("numpy")(**inputs), wanted)


@pytest.mark.parametrize("name", ["max", "min", "mean"])
def test_scatters_of_arrays_alone(name):
    """Expressions are scattered by sums; the others have gradients by PyTorch and by JAX."""

    def call(x: Any) -> Any:
        return rc.scatter("b t d, b t -> d v", x, at(x, PLACES), v=4, reduce=name)

    x = normal(2, 3, 2)
    leaf = torch.tensor(x, requires_grad=True)
    loss(call, leaf).backward()
    wanted = jax.grad(lambda x: loss(call, x))(jnp.asarray(x))
    assert np.abs(wanted).max() > 1e-3
    close(leaf.grad, wanted)
    with pytest.raises(rc.EinopsError, match="scattered by sums"):
        call(rc.variable("x[b,t,d]"))


def test_the_gradient_of_gather_is_scatter():
    table, cotangent = rc.variable("x[v,d]"), rc.variable("g[b,t,d]")
    read = rc.gather("v d, b t -> b t d", table, PLACES)
    back = rc.pullback(read, "x", cotangent)
    g = normal(2, 3, 6)
    close(back(x=X, g=g), rc.scatter("b t d, b t -> v d", g, PLACES, v=4))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_have_no_derivative(name):
    with pytest.raises(rc.RuleError, match="which has no derivative"):
        rc.reduce(rc.variable("x[a,b]"), "a b -> a", name).diff("x")


def test_the_comparison_can_fail():
    for other in (
        lambda x, y: rc.einsum("i k, k j -> j i", rc.stop_gradient(x), y),
        lambda x, y: rc.einsum("i k, k j -> j i", x, rc.stop_gradient(y)),
        lambda x, y: rc.einsum("i k, k j -> j i", 2 * x, y),
    ):
        with pytest.raises(AssertionError):
            agree(CASES["einsum"][0], (X, Y), other)
    with pytest.raises(AssertionError):  # PyTorch's gradient
        agree(lambda x: rc.einsum("i k -> k", x.detach() * x if isinstance(x, torch.Tensor) else x * x), (X,))


@pytest.mark.parametrize("case", ["reduce by max", "reduce by logsumexp", "gather", "split", "repeat"])
def test_programs(case):
    """The gradient under jit, and under PyTorch's functional transforms."""
    call, *arrays = CASES[case]
    x = jnp.asarray(arrays[0])
    wanted = jax.grad(lambda x: loss(call, x))(x)
    close(jax.jit(jax.grad(lambda x: loss(call, x)))(x), wanted)
    close(torch.func.grad(lambda x: loss(call, x))(torch.tensor(arrays[0])), wanted)
