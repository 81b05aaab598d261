"""How many functions of Python's a call on a pattern runs once it is known: nothing is read or planned again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from literature.counting import calls_of

import ricci.einops as einops

X, V = np.arange(144.0).reshape(2, 4, 6, 3), np.ones(12)
A, B, C = np.ones((4, 5)), np.ones((5, 3)), np.ones((3, 2))


def counted(call: Callable[[], Any]) -> int:
    """The calls of Python's functions in the third of three equal calls, itself left out."""
    call(), call()
    return calls_of(call) - 1


SHAPES = ["b h w c", "b _ _ c", "b ... c", "... c", "_ _ _ _", "_ h _ _", "... h w c"]


@pytest.mark.parametrize("pattern", SHAPES)
def test_parse_shape_reads_a_pattern_once(pattern: str):
    assert counted(lambda: einops.parse_shape(X, pattern)) <= 5


@pytest.mark.parametrize("pattern", SHAPES)
def test_parse_shape_that_is_known_says_what_the_first_call_said(pattern: str):
    for x in (X, X[:1], X.transpose(3, 2, 1, 0)):
        wanted = {}
        names = pattern.split()
        for place, name in enumerate(names):
            if name not in ("_", "..."):
                after = len(names) - place
                wanted[name] = x.shape[place if "..." not in names[:place] else x.ndim - after]
        assert [einops.parse_shape(x, pattern) for _ in range(3)] == [wanted] * 3
    with pytest.raises(einops.EinopsError):
        einops.parse_shape(np.ones((2, 2)), "b h w c")


def test_numbers_in_the_pattern_of_parse_shape_are_looked_at_each_time():
    for size in (2, 3, 1 << 5):
        x = np.ones((size, 3))
        assert einops.parse_shape(x, f"{size} c") == einops.parse_shape(x, f"{size} c") == {"c": 3}
        with pytest.raises(einops.EinopsError):
            einops.parse_shape(np.ones((size + 1, 3)), f"{size} c")


@pytest.mark.parametrize(
    "call",
    [
        lambda: einops.reduce(X, "b (h 2) (w 2) c -> b h w c", "max"),
        lambda: einops.reduce(X, "b (h p) (w q) c -> b h w c", "max", p=2, q=2),
        lambda: einops.reduce(V, "(h p) -> h", "min", p=3),
        lambda: einops.rearrange(X, "b (h p) w c -> b h p w c", p=2),
    ],
)
def test_pooling_is_looked_up(call: Callable[[], Any]):
    assert counted(call) <= 7


def test_sizes_that_equal_others_are_told_apart_in_reduce():
    pattern = "b (h p) w c -> b h w c"
    results = [einops.reduce(X, pattern, name, p=p) for _ in range(2) for name in ("max", "min") for p in (2, 4)]
    wanted = [X.reshape(2, 4 // p, p, 6, 3) for p in (2, 4)]
    found = [*[w.max(2) for w in wanted], *[w.min(2) for w in wanted]] * 2
    assert all(np.array_equal(a, b) for a, b in zip(results, found, strict=True))
    with pytest.raises(einops.EinopsError):
        einops.reduce(X, pattern, "max", p=2.0)


OPERANDS = {"a b -> b a": (A,), "a b, b c -> a c": (A, B), "a b, b c, c d -> a d": (A, B, C), "a, a ->": (V, V)}


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("pattern", OPERANDS)
def test_einsum_is_looked_up(library: str, pattern: str):
    module = pytest.importorskip(library if library != "jax" else "jax.numpy")
    arrays = [module.asarray(x, dtype=module.float32) for x in OPERANDS[pattern]]
    assert counted(lambda: einops.einsum(*arrays, pattern)) <= 24
    assert np.allclose(
        np.asarray(einops.einsum(*arrays, pattern)), np.einsum(einops_equation(pattern), *OPERANDS[pattern])
    )


def einops_equation(pattern: str) -> str:
    return pattern.replace(" ", "")
