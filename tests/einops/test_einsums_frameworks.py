"""einsum, gather, scatter and joining on the other kinds of array: jitted, compiled, differentiated."""

from __future__ import annotations

import numpy as np
import pytest

from ricci.einops.blocks import rearrange_many
from ricci.einops.einsums import einsum, wide_einsum
from ricci.einops.looking_up import gather, scatter
from ricci.errors import EinopsTypeError

RNG = np.random.default_rng(0)
A, B, C = RNG.random((6, 5)), RNG.random((5, 4)), RNG.random((4,))
TOKENS = RNG.integers(0, 6, (2, 3))
CALLS = [
    lambda a, b, c, n: einsum(a, b, "i j, j k -> k i"),
    lambda a, b, c, n: einsum(a, b, c, "i j, j k, k -> i"),
    lambda a, b, c, n: wide_einsum("(g i) j, j k -> i (g k)", a, b, g=2),
    lambda a, b, c, n: wide_einsum("... j, j k, k -> ...", a, b, c),
    lambda a, b, c, n: wide_einsum("i j, j k -> i k", a, b, op="add", reduce="logsumexp"),
    lambda a, b, c, n: wide_einsum("i j, j k -> i k", a, b, op="add", reduce="min"),
    lambda a, b, c, n: gather("v d, b t -> b d t", a, n),
    lambda a, b, c, n: gather("(g v) d, b t -> b t g d", a, n % 3, g=2),
    lambda a, b, c, n: scatter("b t, b t -> v b", a[:2, :3], n, v=6),
    lambda a, b, c, n: rearrange_many([a, b], "i j, j k -> j (i + k)", {}),
    lambda a, b, c, n: rearrange_many(a, "(x + y) j -> (y + x) j", {"x": 2}),
]


@pytest.mark.parametrize("call", CALLS)
def test_torch(call):
    torch = pytest.importorskip("torch", reason="tensors of PyTorch")
    expected = call(A, B, C, TOKENS)
    a, b, c = [torch.tensor(x, requires_grad=True) for x in (A, B, C)]
    n = torch.tensor(TOKENS)
    for _ in range(2):
        np.testing.assert_allclose(call(a, b, c, n).detach().numpy(), expected, rtol=1e-12)
    parts = [x for x in (a, b, c) if torch.autograd.grad(call(a, b, c, n).sum(), x, allow_unused=True)[0] is not None]
    assert parts
    assert torch.autograd.gradcheck(lambda *_: call(a, b, c, n), parts)


@pytest.mark.parametrize("call", CALLS)
def test_jax(call):
    jax = pytest.importorskip("jax", reason="arrays of JAX")
    expected = call(A, B, C, TOKENS)
    values = [jax.numpy.asarray(x) for x in (A, B, C, TOKENS)]
    for _ in range(2):
        np.testing.assert_allclose(np.asarray(call(*values)), expected, rtol=1e-4)
    np.testing.assert_allclose(np.asarray(jax.jit(call)(*values)), expected, rtol=1e-4)
    several = [jax.numpy.stack([x, x, x]) for x in values]
    assert jax.vmap(call)(*several).shape == (3, *expected.shape)
    gradient = jax.grad(lambda a: (call(a, *values[1:]) ** 2).sum())(values[0])
    step = 1e-2 * np.random.default_rng(1).standard_normal(A.shape)
    ahead, behind = [(call(A + s * step, B, C, TOKENS) ** 2).sum() for s in (1, -1)]
    assert np.isclose((gradient * step).sum(), (ahead - behind) / 2, rtol=0.05, atol=1e-3)


def test_torch_programs_serve_all_shapes():
    torch = pytest.importorskip("torch", reason="tensors of PyTorch")
    rand, places = torch.rand, lambda n: torch.randint(0, n, (n, 4))
    cases = [
        (lambda x, y: einsum(x, y, "i j, j k -> i k"), lambda n: (rand(n, n + 1), rand(n + 1, 4))),
        (
            lambda x, y, z: einsum(x, y, z, "i j, j k, k -> i"),
            lambda n: (rand(n, n + 1), rand(n + 1, 4), rand(4)),
        ),
        (
            lambda x, y: wide_einsum("(g i) j, j k -> i (g k)", x, y, g=3),
            lambda n: (rand(3 * n, n + 1), rand(n + 1, 4)),
        ),
        (
            lambda x, y: wide_einsum("... i j, ... j k -> ... i k", x, y),
            lambda n: (rand(1, n, n + 1), rand(n + 2, n + 1, 4)),
        ),
        (
            lambda x, y: wide_einsum("i i j, j k -> i k", x, y, op="add", reduce="max"),
            lambda n: (rand(n, n, n + 1), rand(n + 1, 4)),
        ),
        (lambda x, y: gather("b v d, b t -> b t d", x, y), lambda n: (rand(n, n + 2, n + 1), places(n))),
        (lambda x, y: scatter("b t d, b t -> b v d", x, y, v=20), lambda n: (rand(n, 4, n + 1), places(n))),
        (
            lambda x, y: rearrange_many([x, y], "b c, b d h -> b (d h + c)", {}),
            lambda n: (rand(n, n + 1), rand(n, n + 2, 3)),
        ),
        (
            lambda x: rearrange_many(x, "b (c + d h) -> b c, h d b", {"c": 2, "h": 3})[1],
            lambda n: (rand(n, 2 + 3 * n),),
        ),
    ]
    for function, arguments in cases:
        torch._dynamo.reset()
        programs = []

        def backend(program, inputs, programs=programs):
            programs.append(program)
            return program.forward

        compiled = torch.compile(function, fullgraph=True, dynamic=True, backend=backend)
        for n in (5, 7, 6, 9):
            given = arguments(n)
            torch.testing.assert_close(compiled(*given), function(*given))
            einsum(np.ones((n, 2)), np.ones(2), f"a{n} j, j -> a{n}")  # other calls change the tables
            wide_einsum(f"a{n} j, j -> a{n}", np.ones((n, 2)), np.ones(2))
        assert len(programs) == 1


def test_torch_transforms_and_parameters():
    torch = pytest.importorskip("torch", reason="tensors of PyTorch")
    x, w = torch.rand(3, 4), torch.nn.Parameter(torch.rand(4, 5))
    assert einsum(x, w, "b i, i j -> b j").requires_grad
    batched = torch.vmap(lambda row: einsum(row, w, "i, i j -> j"))(x)
    torch.testing.assert_close(batched, x @ w)
    places = torch.vmap(lambda row: gather("v, t -> t", row, torch.tensor([1, 0])))(x)
    torch.testing.assert_close(places, x[:, [1, 0]])
    with pytest.raises(RuntimeError):
        einsum(x, w, "b i, b j -> b i j k")


def test_kinds_are_not_mixed():
    torch = pytest.importorskip("torch", reason="tensors of PyTorch")
    for call in (einsum, wide_einsum):
        with pytest.raises(EinopsTypeError, match=r"several kinds: numpy\.ndarray and torch\.Tensor"):
            call(A, torch.tensor(B), "i j, j k -> i k")


def test_numpy_beside_jax():
    jax = pytest.importorskip("jax", reason="arrays of JAX")
    function = jax.jit(lambda b: einsum(A, b, "i j, j k -> i k"))
    np.testing.assert_allclose(np.asarray(function(B)), A @ B, rtol=1e-4)


def test_array_api():
    xp = pytest.importorskip("array_api_strict", reason="arrays of the standard")
    a, b, c, n = [xp.asarray(x) for x in (A, B, C, TOKENS)]
    for k, call in enumerate(CALLS):
        if k != 8:  # the standard has nothing to scatter with
            result = np.asarray(call(a, b, c, n)._array)
            np.testing.assert_allclose(result, call(A, B, C, TOKENS), rtol=1e-12)
    square = xp.reshape(xp.arange(27), (3, 3, 3))
    assert np.asarray(wide_einsum("i i i -> i", square)._array).tolist() == [0, 13, 26]
    assert np.asarray(wide_einsum("i j i -> j", square)._array).tolist() == [30, 39, 48]
    with pytest.raises(EinopsTypeError, match=r"rc\.scatter is not available for arrays of array API"):
        scatter("b t, b t -> v", a[:2, :3], n, v=6)


def test_dask():
    da = pytest.importorskip("dask.array", reason="arrays of Dask")
    a, b, c = [da.from_array(x, chunks=2) for x in (A, B, C)]
    for k, call in enumerate(CALLS):
        if k not in (7, 8):
            result = call(a, b, c, TOKENS)
            assert isinstance(result, da.Array)
            np.testing.assert_allclose(result.compute(), call(A, B, C, TOKENS), rtol=1e-12)


def test_formulas():
    import ricci as rc

    values = {"a": A, "b": B, "c": C}
    a, b, c = [rc.variable(name, value) for name, value in values.items()]
    for k, call in enumerate(CALLS):
        if k != 8:
            result = call(a, b, c, TOKENS)
            np.testing.assert_allclose(result(), call(A, B, C, TOKENS), rtol=1e-9)
    x, w = rc.tensors("x[b,t,d] w[d,e]")
    assert wide_einsum("... d, d e -> ... e", x, w).indices == ("b", "t", "e")
    assert wide_einsum("p d, d q -> q p", rc.variable("u[i,j]"), w).indices == ("q", "p")
    assert str(wide_einsum("m n, n -> m", *rc.tensors("X[m,n] w[n]"))) == "X[m,n] w[n]"
    assert np.allclose(wide_einsum("i j, j k -> i k", a, B)(), A @ B)
    y, n = rc.tensors("y[b,d] n[b]")
    assert scatter("b d, b -> v d", y, n, v=5).indices == ("v", "d")
    with pytest.raises(EinopsTypeError, match="by sums, not by max"):
        scatter("b d, b -> v d", y, n, v=5, reduce="max")
