"""The same results on a GPU: CuPy, PyTorch and JAX beside NumPy, for every function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ricci as rc

X = np.random.default_rng(0).random((2, 4, 6, 3)).astype("float32")
PLACES = np.array([[0, 1, 0], [1, 0, 1]])


def on_cupy() -> tuple[Callable, Callable]:
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    return cupy.asarray, cupy.asnumpy


def on_torch() -> tuple[Callable, Callable]:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no GPU")
    return lambda a: torch.as_tensor(a, device="cuda"), lambda t: t.cpu().numpy()


def on_jax() -> tuple[Callable, Callable]:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    if jax.devices()[0].platform != "gpu":
        pytest.skip("JAX finds no GPU")
    return jax.numpy.asarray, np.asarray


def calls(x: Any, places: Any) -> list[Any]:
    """One call of every function."""
    matrices = x[0, :, :, 0], x[1, :, :, 0]
    return [
        rc.rearrange(x, "b (h p) (w q) c -> b h w (p q c)", p=2, q=2),
        rc.rearrange(x, "b h w c -> c b h w"),
        *[rc.reduce(x, "b (h 2) w c -> c h b", name) for name in ("sum", "mean", "max", "min", "prod")],
        *[rc.reduce(x, "b h w c -> b", name) for name in ("logsumexp", "var", "std", "norm", "argmax", "argmin")],
        rc.reduce(x > 0.5, "b h w c -> b c", "any"),
        rc.repeat(x, "b h w c -> b (h r) w c 2", r=3),
        rc.einsum("b h w c, d h w e -> b d c e", x, x),
        rc.einsum("b h w c, d h w e, b h w c -> d e", x, x, x),
        rc.einsum("b (h p) w c, p c -> b h w", x, x[0, :2, 0], p=2),
        rc.einsum("b b h -> b h", x[:, :2, 0]),
        rc.einsum("i k, j k -> i j", *matrices, op="add", reduce="min"),
        rc.rearrange([x, x], "b h w c, b h w d -> b h w (c + d)"),
        *rc.rearrange(x, "b h w (c + d) -> b h w c, b h w d", c=1),
        rc.gather("v h w c, b t -> b t h w c", x, places),
        rc.scatter("b t c, b t -> v c", x[:, :3, 0], places, v=2),
        rc.pack([x, x[..., 0]], "b h w *")[0],
        *rc.unpack(x, [(), (2,)], "b h w *"),
        rc.rearrange([x, x], "k b h w c -> b h w (k c)"),
    ]


@pytest.mark.parametrize("kind", [on_cupy, on_torch, on_jax])
def test_the_same_on_a_gpu(kind: Callable) -> None:
    to, back = kind()
    wanted = calls(X, PLACES)
    for _ in range(2):  # the second time from the tables
        for got, expected in zip(calls(to(X), to(PLACES)), wanted, strict=True):
            np.testing.assert_allclose(back(got), expected, rtol=2e-5, atol=1e-6)
    assert rc.parse_shape(to(X), "b h w c") == rc.sizes("b h w c", to(X)) == {"b": 2, "h": 4, "w": 6, "c": 3}


def test_layers_move_to_a_gpu() -> None:
    to, _ = on_torch()
    import torch

    from ricci.einops.layers.torch import EinMix, Rearrange, Reduce

    model = torch.nn.Sequential(
        Rearrange("b h w c -> b (h w) c"),
        EinMix("b n c -> b n d", "c d", "d", c=3, d=5),
        Reduce("b n d -> b d", "mean"),
    )
    wanted = model(torch.as_tensor(X))
    moved = model.to("cuda")
    for run in (moved, torch.compile(moved, fullgraph=True)):
        torch.testing.assert_close(run(to(X)).cpu(), wanted, atol=1e-5, rtol=1e-5)
