"""Products with windows of arrays, however they are written: convolutions, their adjoints, pooling.

They are compared with loops over the places of the window. What a plan makes is counted: never more than the windows.
"""

from __future__ import annotations

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import ricci as rc
from ricci.compiler.lower.windows import steps_between

Steps = tuple[int, int]  # of the places of the result, and of those within a window


def sizes_of_result(x: Any, w: Any, steps: Steps) -> list[int]:
    stride, apart = steps
    return [(n - apart * (k - 1) - 1) // stride + 1 for n, k in zip(x.shape[2:], w.shape[2:], strict=True)]


def shifted(x: Any, w: Any, steps: Steps) -> list[Any]:
    """For each place of the window the entries of ``x`` that are there."""
    stride, apart = steps
    found = []
    for place in product(*map(range, w.shape[2:])):
        ends = zip(place, sizes_of_result(x, w, steps), strict=True)
        parts = [slice(apart * k, apart * k + stride * (n - 1) + 1, stride) for k, n in ends]
        found.append(x[(slice(None), slice(None), *parts)])
    return found


def by_loops(x: np.ndarray, w: np.ndarray, steps: Steps) -> np.ndarray:
    """The product of windows of ``x``, of images and channels, with ``w``, of results and channels."""
    total = 0.0
    for place, part in zip(product(*map(range, w.shape[2:])), shifted(x, w, steps), strict=True):
        total = total + np.einsum("bc...,oc->bo...", part, w[(slice(None), slice(None), *place)])
    return np.asarray(total)


def back_by_loops(x: np.ndarray, w: np.ndarray, bar: np.ndarray, steps: Steps) -> tuple[np.ndarray, np.ndarray]:
    """The pullback of ``by_loops``."""
    back_x, back_w = np.zeros_like(x), np.zeros_like(w)
    places = list(product(*map(range, w.shape[2:])))
    for place, into, part in zip(places, shifted(back_x, w, steps), shifted(x, w, steps), strict=True):
        at = (slice(None), slice(None), *place)
        into += np.einsum("bo...,oc->bc...", bar, w[at])
        axes = (0, *range(2, x.ndim))
        back_w[at] = np.tensordot(bar, part, (axes, axes))
    return back_x, back_w


# Ways of writing it


def stacked(x: Any, w: Any, steps: Steps) -> Any:
    return np.einsum("bcp...,ocp->bo...", np.stack(shifted(x, w, steps), axis=2), w.reshape(*w.shape[:2], -1))


def added(x: Any, w: Any, steps: Steps) -> Any:
    total = 0.0
    for place, part in zip(product(*map(range, w.shape[2:])), shifted(x, w, steps), strict=True):
        total = total + np.einsum("bc...,oc->bo...", part, w[(slice(None), slice(None), *place)])
    return total


def viewed(x: Any, w: Any, steps: Steps) -> Any:
    stride, apart = steps
    lengths = [apart * (k - 1) + 1 for k in w.shape[2:]]
    views = sliding_window_view(x, lengths, axis=tuple(range(2, x.ndim)))
    d = x.ndim - 2
    views = views[(slice(None), slice(None), *[slice(None, None, stride)] * d, *[slice(None, None, apart)] * d)]
    return np.einsum({1: "bchi,oci->boh", 2: "bchwij,ocij->bohw"}[d], views, w)


WAYS = {"stacked": stacked, "added": added, "viewed": viewed}
SHAPES = {
    "1-d": ((3, 2, 11), (4, 2, 3), (1, 1)),
    "2-d": ((3, 2, 9, 8), (4, 2, 3, 3), (1, 1)),
    "uneven": ((2, 3, 7, 9), (2, 3, 2, 4), (1, 1)),
    "strided": ((2, 2, 11, 12), (3, 2, 3, 3), (2, 1)),
    "dilated": ((2, 2, 10, 9), (3, 2, 3, 2), (1, 2)),
    "strided and dilated": ((2, 3, 14, 13), (2, 3, 3, 3), (3, 2)),
    "one channel": ((3, 1, 9, 8), (4, 1, 3, 3), (1, 1)),
    "one result": ((3, 2, 9, 8), (1, 2, 3, 3), (1, 1)),
    "one image": ((1, 2, 9, 8), (4, 2, 3, 3), (1, 1)),
    "one place": ((3, 2, 5, 5), (4, 2, 1, 1), (1, 1)),
    "as large as the image": ((3, 2, 4, 4), (4, 2, 4, 4), (1, 1)),
    "no images": ((0, 2, 5, 5), (4, 2, 3, 3), (1, 1)),
}


def arrays(shape: str, dtype: str = "float64") -> tuple[np.ndarray, np.ndarray, Steps]:
    first, second, steps = SHAPES[shape]
    rng = np.random.default_rng(0)
    return rng.normal(size=first).astype(dtype), rng.normal(size=second).astype(dtype), steps


def close(found: Any, expected: np.ndarray, dtype: str) -> None:
    found = np.asarray(found)
    assert found.shape == expected.shape
    largest = max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=largest * (1e-11 if dtype == "float64" else 1e-4))


def on(backend: str, *args: np.ndarray) -> list[Any]:
    if backend == "torch":
        torch = pytest.importorskip("torch")
        return [torch.asarray(a) for a in args]
    if backend == "jax":
        jax = pytest.importorskip("jax")
        return [jax.numpy.asarray(a) for a in args]
    return list(args)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_and_pullbacks_are_those_of_loops(way, shape, dtype):
    x, w, steps = arrays(shape, dtype)
    value, back = rc.vjp(lambda x, w: WAYS[way](x, w, steps), x, w)
    close(value, by_loops(x, w, steps), dtype)
    bar = np.cos(np.arange(value.size)).reshape(value.shape).astype(dtype)
    for found, expected in zip(back(bar), back_by_loops(x, w, bar, steps), strict=True):
        close(found, expected, dtype)


@pytest.mark.parametrize("backend", ["torch", "jax", "fused"])
@pytest.mark.parametrize("shape", ["1-d", "2-d", "strided", "dilated", "one channel"])
@pytest.mark.parametrize("way", WAYS)
def test_on_every_backend(way, shape, backend):
    x, w, steps = arrays(shape)
    if backend == "fused":
        pytest.importorskip("numba")
    given = on(backend, x, w)
    options: dict[str, Any] = {"fused": True} if backend == "fused" else {"backend": backend}
    loss = lambda x, w: np.sum(np.tanh(WAYS[way](x, w, steps)))  # noqa: E731
    found = rc.grad(loss, argnums=(0, 1), **options)(*given)
    bar = 1 - np.tanh(by_loops(x, w, steps)) ** 2
    for one, expected in zip(found, back_by_loops(x, w, bar, steps), strict=True):
        close(one, expected, "float32" if backend == "jax" else "float64")


# Pooled


def pooled(y: Any, reduce: Any) -> Any:
    b, c, h, w = y.shape
    return reduce(y.reshape(b, c, h // 2, 2, w // 2, 2), axis=(3, 5))


@pytest.mark.parametrize("reduce", [np.max, np.min, np.mean])
@pytest.mark.parametrize("way", WAYS)
def test_pooled_products_with_windows(way, reduce):
    """A choice among sums is made of the sums: what is summed is not left to what moves them."""
    x, w, steps = np.random.default_rng(0).normal(size=(3, 4, 10, 12)), np.ones((5, 4, 3, 3)), (1, 1)
    w += np.linspace(-1, 1, w.size).reshape(w.shape)
    f = lambda x, w: np.sum(np.tanh(pooled(WAYS[way](x, w, steps), reduce)))  # noqa: E731
    y = by_loops(x, w, steps)
    value, found = rc.value_and_grad(f, argnums=(0, 1))(x, w)
    top = pooled(y, reduce)
    close(value, np.asarray(np.sum(np.tanh(top))), "float64")
    wide = np.repeat(np.repeat(top, 2, 2), 2, 3)
    share = 0.25 if reduce is np.mean else y == wide
    bar = share * np.repeat(np.repeat(1 - np.tanh(top) ** 2, 2, 2), 2, 3)
    for one, expected in zip(found, back_by_loops(x, w, bar, steps), strict=True):
        close(one, expected, "float64")


# No larger than it has to be


def largest(transformed: Any, *args: Any) -> int:
    transformed(*args)
    program = transformed.program(transformed.arguments(args, {})).compiled.plan.program
    return max(step.out.entries for step in program.steps if step.op not in ("read", "spread", "merge", "check"))


@pytest.mark.parametrize("transform", [rc.compile, lambda f: rc.grad(f, argnums=(0, 1))], ids=["value", "grad"])
@pytest.mark.parametrize("reduce", [np.max, np.mean])
@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_larger_than_the_windows(request, way, reduce, transform):
    if way == "viewed" and reduce is np.mean and transform is not rc.compile:
        request.applymarker(pytest.mark.xfail(reason="the kernel is read with zeros around it", strict=True))
    x, w, steps = np.ones((3, 4, 10, 12)), np.ones((5, 4, 3, 3)), (1, 1)
    windows = 3 * 4 * 8 * 10 * 9
    f = transform(lambda x, w: np.sum(np.tanh(pooled(WAYS[way](x, w, steps), reduce))))
    assert largest(f, x, w) <= windows


def most_memory(f: Any, *args: Any) -> int:
    """The most bytes that a call takes beyond what there was, and what it returns."""
    f(*args)
    rc.cache_clear()  # memory that is kept from call to call would not be seen
    f(*args)
    tracemalloc.start()
    try:
        f(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("way", ["stacked", "viewed"])
def test_windows_are_not_copied_as_a_whole(way):
    """They are 25 times as large as the image, and are multiplied a block at a time."""
    rng = np.random.default_rng(0)
    x, w, steps = rng.normal(size=(8, 4, 40, 40)), rng.normal(size=(4, 4, 5, 5)), (1, 1)
    f = rc.grad(lambda w, x: np.sum(WAYS[way](x, w, steps) ** 2))
    assert most_memory(rc.compile(lambda x, w: WAYS[way](x, w, steps)), x, w) < 4 * x.nbytes
    assert most_memory(f, w, x) < 5 * x.nbytes
    y = by_loops(x, w, steps)
    close(f(w, x), back_by_loops(x, w, 2 * y, steps)[1], "float64")
    assert most_memory(rc.compile(lambda x: np.sin(np.stack([x[:, :, k:] for k in (0, 0, 0, 0, 0)]))), x) > 4 * x.nbytes


def test_how_places_follow_one_another():
    assert steps_between([(0,), (2,), (4,)]) == ([3], [(2,)])
    assert steps_between([(0, 0), (0, 1), (1, 0), (1, 1)]) == ([2, 2], [(1, 0), (0, 1)])
    assert steps_between([(0,), (1,), (3,)]) is None


def test_what_is_too_large_is_found():
    x, w = np.ones((3, 4)), np.ones((5, 4))
    assert largest(rc.compile(lambda x, w: np.sin(x[:, None] * w)), x, w) == 3 * 4 * 5
