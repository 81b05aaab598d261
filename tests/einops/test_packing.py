"""pack and unpack against what they mean, entry by entry; views, types, and the frameworks that trace."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import random_array

import ricci.einops as einops
from ricci.caches import cache_info
from ricci.errors import EinopsError

RANDOM = st.randoms(use_true_random=False)
NAMES = ("a", "b", "c")


def random_arrays(rng: random.Random) -> tuple[list[np.ndarray], str, int]:
    """Arrays that can be packed, the pattern, and how many axes are before the star."""
    outer = [rng.choice((1, 2, 3, 0)) for _ in range(rng.randint(0, 3))]
    star = rng.randint(0, len(outer))
    dtype = rng.choice(("float64", "float32", "int32", "bool"))
    arrays = []
    for _ in range(rng.randint(1, 4)):
        inner = [rng.choice((1, 2, 3, 0)) for _ in range(rng.randint(0, 2))]
        arrays.append(random_array(rng, (*outer[:star], *inner, *outer[star:]), dtype))
    words = [*NAMES[:star], "*", *NAMES[star : len(outer)]]
    return arrays, rng.choice((" ", "  ")).join(words), star


def packed_by_loops(arrays: list[np.ndarray], star: int, after: int) -> np.ndarray:
    """Entry by entry: the star's axes in C order, one array after the other."""
    outer = (*arrays[0].shape[:star], *arrays[0].shape[arrays[0].ndim - after :])
    rows = []
    for x in arrays:
        inner = x.shape[star : x.ndim - after]
        rows += [x[(*[slice(None)] * star, *at)] for at in np.ndindex(*inner)]
    result = np.zeros((*outer[:star], len(rows), *outer[star:]), arrays[0].dtype)
    for k, row in enumerate(rows):
        result[(*[slice(None)] * star, k)] = row
    return result


@settings(max_examples=300)
@given(rng=RANDOM)
def test_pack_and_unpack(rng: random.Random) -> None:
    arrays, pattern, star = random_arrays(rng)
    after = len(pattern.split()) - 1 - star
    for _ in range(2):  # at first, and from the tables
        packed, shapes = einops.pack(arrays, pattern)
        expected = packed_by_loops(arrays, star, after)
        assert packed.dtype == expected.dtype and packed.shape == expected.shape
        np.testing.assert_array_equal(packed, expected)
        assert shapes == [x.shape[star : x.ndim - after] for x in arrays]
        assert all(type(shape) is tuple for shape in shapes) and type(shapes) is list
        for x, part in zip(arrays, einops.unpack(packed, shapes, pattern), strict=True):
            assert part.shape == x.shape and part.dtype == x.dtype
            np.testing.assert_array_equal(part, x)
            assert part.size == 0 or np.shares_memory(part, packed)


@settings(max_examples=150)
@given(rng=RANDOM)
def test_one_size_is_found(rng: random.Random) -> None:
    arrays, pattern, _ = random_arrays(rng)
    packed, shapes = einops.pack(arrays, pattern)
    for k, shape in enumerate(shapes):
        for axis, size in enumerate(shape):
            if size and np.prod(shape) and packed.size:
                open_shapes: list[Any] = [list(shape) for shape in shapes]
                open_shapes[k][axis] = -1
                parts = einops.unpack(packed, open_shapes, pattern)
                assert [part.shape for part in parts] == [x.shape for x in arrays]


def test_the_list_of_shapes_belongs_to_the_caller() -> None:
    """What is done to it does not change the next call."""
    arrays = [np.zeros((2, 3)), np.zeros((2, 4, 5))]
    _, shapes = einops.pack(arrays, "a *")
    shapes.append((7,))
    assert einops.pack(arrays, "a *")[1] == [(3,), (4, 5)]


@pytest.mark.parametrize(
    "shapes", [[(2,), (4,)], ((2,), (4,)), [[2], [4]], [np.array([2]), np.array([4])], [[np.int64(2)], (4,)]]
)
def test_shapes_may_be_written_in_other_ways(shapes: Any) -> None:
    parts = einops.unpack(np.arange(12).reshape(2, 6), shapes, "a *")
    assert [part.tolist() for part in parts] == [[[0, 1], [6, 7]], [[2, 3, 4, 5], [8, 9, 10, 11]]]


def test_equal_shapes_of_other_types_are_not_confused() -> None:
    """(1,) == (True,) == (1.0,), and they hash alike."""
    x = np.arange(3)
    for _ in range(2):
        assert [part.shape for part in einops.unpack(x, [(1,), (2,)], "*")] == [(1,), (2,)]
        for wrong in (True, 1.0):
            with pytest.raises(EinopsError):
                einops.unpack(x, [(wrong,), (2,)], "*")


def test_anything_that_has_an_order_is_packed() -> None:
    """A tuple, or an array along its first axis, as einops does."""
    x = np.arange(6).reshape(2, 3)
    for arrays in ((x[0], x[1]), x):
        packed, shapes = einops.pack(arrays, "*")  # pyright: ignore[reportArgumentType, reportCallIssue]
        assert packed.tolist() == [0, 1, 2, 3, 4, 5] and shapes == [(3,), (3,)]


@pytest.mark.parametrize("wrong", [None, 5, 2.0, iter(()), {}, set(), "", ()])
def test_what_is_no_list_of_arrays(wrong: Any) -> None:
    with pytest.raises(EinopsError):
        einops.pack(wrong, "*")


def test_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to test with its tensors")
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    packed, shapes = einops.pack([x, x[:, 0], x[:, :, :, None]], "b *")
    assert packed.shape == (2, 28) and [tuple(shape) for shape in shapes] == [(3, 4), (4,), (3, 4, 1)]
    parts = einops.unpack(packed, shapes, "b *")
    assert all(part.untyped_storage().data_ptr() == packed.untyped_storage().data_ptr() for part in parts)
    sum((k + 1) * part.sum() for k, part in enumerate(parts)).backward()  # pyright: ignore[reportAttributeAccessIssue]
    assert x.grad[:, 1:].eq(4).all() and x.grad[:, 0].eq(6).all()


def test_jax() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax to test with its arrays")

    def swapped(x: Any, y: Any) -> Any:
        packed, shapes = einops.pack([x, y], "a *")
        first, second = einops.unpack(packed[:, ::-1], shapes, "a *")
        return first, second

    x, y = np.arange(6.0).reshape(2, 3), np.arange(8.0).reshape(2, 2, 2)
    expected = swapped(x, y)
    for found in (swapped(*map(jax.numpy.asarray, (x, y))), jax.jit(swapped)(x, y)):
        assert all(isinstance(part, jax.Array) for part in found)
        for part, right in zip(found, expected, strict=True):
            np.testing.assert_array_equal(part, right)


def test_tables_are_bounded() -> None:
    for k in range(3000):
        packed, shapes = einops.pack([np.zeros(k % 2500), np.zeros(1)], "*")
        assert len(einops.unpack(packed, shapes, "*")) == 2
    found = cache_info()
    for name in ("calls on patterns", "patterns of pack"):
        assert 0 < found[name].size <= found[name].maxsize
