"""rearrange, reduce and repeat: random calls against loops over all indices, and what they leave and share.

The calls and the loops are in :mod:`reference`. Types: where something is reduced, the result has the type that the
framework's own reduction gives.
"""

from __future__ import annotations

import gc
import random
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from reference import REDUCTIONS, Call, random_array, random_call, reduced_axes, reference

import ricci.einops as einops
from ricci.caches import cache_clear, cache_info
from ricci.einops import driver
from ricci.errors import EinopsError

RANDOM = st.randoms(use_true_random=False)
DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool", "complex128")
IN_JAX = ("float32", "int32", "uint8", "bool", "complex64")  # as it is without x64


def numpy_kind() -> SimpleNamespace:
    return SimpleNamespace(
        make=lambda x: x, read=lambda x: x, reduce=lambda x, name: getattr(x, name)(axis=0), types=DTYPES
    )


def torch_kind() -> SimpleNamespace:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to test with its tensors")
    direct = {"max": torch.amax, "min": torch.amin}

    def reduce(x: Any, name: str) -> Any:
        return direct.get(name, getattr(torch, name))(x, dim=0)

    return SimpleNamespace(
        make=lambda x: torch.from_numpy(x.copy()), read=lambda x: x.numpy(), reduce=reduce, types=DTYPES
    )


def jax_kind() -> SimpleNamespace:
    jnp = pytest.importorskip("jax.numpy", reason="jax is not installed: pip install jax to test with its arrays")
    return SimpleNamespace(
        make=jnp.asarray, read=np.asarray, reduce=lambda x, name: getattr(x, name)(axis=0), types=IN_JAX
    )


def strict_kind() -> SimpleNamespace:
    xp = pytest.importorskip(
        "array_api_strict", reason="array-api-strict is not installed: pip install it to test with"
    )
    types = ("float64", "float32", "int64")  # the standard adds no truth values, and orders no complex numbers
    return SimpleNamespace(
        make=xp.asarray, read=np.asarray, reduce=lambda x, name: getattr(xp, name)(x, axis=0), types=types
    )


def dask_kind() -> SimpleNamespace:
    da = pytest.importorskip("dask.array", reason="dask is not installed: pip install dask to test with its arrays")
    return SimpleNamespace(
        make=lambda x: da.from_array(x, chunks=2),
        read=np.asarray,
        reduce=lambda x, name: getattr(x, name)(axis=0),
        types=DTYPES,
    )


KINDS: dict[str, Callable[[], SimpleNamespace]] = {"numpy": numpy_kind, "torch": torch_kind, "jax": jax_kind}


def sample(rng: random.Random, types: tuple[str, ...]) -> tuple[Call, np.ndarray]:
    """A call and an array for it, of a type that has the reduction."""
    call = random_call(rng)
    if call.operation in ("min", "max", "any", "all"):  # complex numbers have no order; JAX asks their real part only
        types = tuple(name for name in types if not name.startswith("complex"))
    if call.operation == "mean":
        types = tuple(name for name in types if name.startswith("float"))
    return call, random_array(rng, call.shape, rng.choice(types))


def without_result(call: Call, x: np.ndarray) -> bool:
    """Whether nothing is reduced by what has no value for nothing; tested apart."""
    return x.size == 0 and call.operation in ("min", "max", "mean")


def check(call: Call, x: np.ndarray, kind: SimpleNamespace, library: Any = einops) -> None:
    """The call gives what the loops give: values, type and shape; at first, and again from the tables."""
    expected = reference(x, call.pattern, call.operation, call.sizes)
    dtype = x.dtype
    if reduced_axes(call.pattern, x.ndim):
        dtype = np.asarray(kind.read(kind.reduce(kind.make(np.ones(1, x.dtype)), call.operation))).dtype
    tolerance = 1e-12 if dtype in (np.float64, np.complex128) else 1e-4
    for result in [call.on(library, kind.make(x)) for _ in range(2)]:
        read = np.asarray(kind.read(result))
        assert read.dtype == dtype, call
        assert tuple(result.shape) == expected.shape, call
        if dtype.kind in "fc":
            np.testing.assert_allclose(read, expected, tolerance, tolerance, err_msg=str(call))
        else:
            np.testing.assert_array_equal(read, expected.astype(dtype), err_msg=str(call))


def check_random(rng: random.Random, kind: SimpleNamespace, library: Any = einops) -> None:
    call, x = sample(rng, kind.types)
    if not without_result(call, x):
        check(call, x, kind, library)


@settings(max_examples=400)
@given(rng=RANDOM)
def test_numpy_against_loops(rng: random.Random) -> None:
    check_random(rng, numpy_kind())


@settings(max_examples=250)
@given(rng=RANDOM)
def test_torch_against_loops(rng: random.Random) -> None:
    check_random(rng, torch_kind())


@settings(max_examples=60)
@given(rng=RANDOM)
def test_jax_against_loops(rng: random.Random) -> None:
    check_random(rng, jax_kind())


@settings(max_examples=120)
@given(rng=RANDOM)
def test_the_standard_of_arrays_against_loops(rng: random.Random) -> None:
    check_random(rng, strict_kind())


@settings(max_examples=60)
@given(rng=RANDOM)
def test_dask_against_loops(rng: random.Random) -> None:
    try:
        check_random(rng, dask_kind())
    except (NotImplementedError, TypeError) as error:  # its reshape cannot do some splits of empty arrays
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        if Path(frame.f_code.co_filename).parts[-3:] != ("dask", "array", "reshape.py"):
            raise
        reject()


def test_random_calls_are_of_all_kinds() -> None:
    """What the property tests draw from holds each part of the language many times."""
    calls = [random_call(random.Random(seed)) for seed in range(2000)]
    seen = {
        "ellipsis": [c for c in calls if "..." in c.pattern],
        "ellipsis in parentheses": [
            c for c in calls if "..." in c.pattern and ("(..." in c.pattern or "...)" in c.pattern)
        ],
        "composite": [c for c in calls if c.sizes and "(" in c.pattern.split("->")[0]],
        "number": [c for c in calls if any(word.strip("()") in ("2", "3", "4", "5") for word in c.pattern.split())],
        "unit": [c for c in calls if "()" in c.pattern or " 1" in c.pattern],
        "empty axis": [c for c in calls if 0 in c.shape],
        "scalar": [c for c in calls if c.shape == ()],
        "list": [c for c in calls if c.listed],
        **{name: [c for c in calls if c.operation == name] for name in ("rearrange", "repeat", *REDUCTIONS)},
    }
    assert {name: len(found) for name, found in seen.items() if len(found) < 30} == {}


# The check can fail


def wrong_order(x: Any, pattern: str, **sizes: int) -> Any:
    """A rearrange that forgets to transpose."""
    right = einops.rearrange(x, pattern, **sizes)
    return x.reshape(right.shape) if not isinstance(x, list) else np.stack(x).reshape(right.shape)


def tiled(x: Any, pattern: str, **sizes: int) -> Any:
    """A repeat that puts the copies one after the other."""
    right = einops.repeat(x, pattern, **sizes)
    whole = np.stack(x) if isinstance(x, list) else x
    return np.resize(whole, right.shape)


def without_counts(x: Any, pattern: str, reduction: str, **sizes: int) -> Any:
    return einops.reduce(x, pattern, "sum" if reduction == "mean" else reduction, **sizes)


def in_single(x: Any, pattern: str, reduction: str, **sizes: int) -> Any:
    result = einops.reduce(x, pattern, reduction, **sizes)
    return result.astype("float32") if result.dtype == "float64" else result


@pytest.mark.parametrize(
    "fault",
    [{"rearrange": wrong_order}, {"repeat": tiled}, {"reduce": without_counts}, {"reduce": in_single}],
    ids=lambda fault: next(iter(fault.values())).__name__,
)
def test_the_check_finds_planted_faults(fault: dict[str, Callable]) -> None:
    faulty = SimpleNamespace(
        **{"rearrange": einops.rearrange, "repeat": einops.repeat, "reduce": einops.reduce} | fault
    )
    found = 0
    for seed in range(300):
        try:
            check_random(random.Random(seed), numpy_kind(), faulty)
        except AssertionError:
            found += 1
    assert found > 3


# What has no value


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("reduction", ["min", "max"])
def test_no_least_of_nothing(name: str, reduction: str) -> None:
    x = KINDS[name]().make(np.zeros((2, 0), "float32"))
    with pytest.raises(EinopsError):
        einops.reduce(x, "a b -> a", reduction)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("dtype", ["int32", "bool", "uint8", "complex64"])
def test_mean_is_of_floating_numbers(name: str, dtype: str) -> None:
    x = KINDS[name]().make(np.ones((2, 3), dtype))
    with pytest.raises(EinopsError, match="non-floating") as error:
        einops.reduce(x, "a b -> a", "mean")
    assert isinstance(error.value, NotImplementedError)  # as in einops


# Reductions by functions


@pytest.mark.parametrize(
    "pattern", ["a b c -> b", "a b c -> c () a", "(a d) b c -> (c d)", "... c -> (...)", "a b c ->"]
)
def test_reduction_by_a_function(pattern: str) -> None:
    """The function is given the axes to reduce, which are the last ones, and the others in their final order."""
    x = np.random.default_rng(3).normal(size=(4, 3, 2))
    sizes = {"d": 2} if "d" in pattern else {}
    seen: list[tuple[int, ...]] = []

    def spread(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        seen.append(axes)
        assert isinstance(axes, tuple) and axes == tuple(range(array.ndim - len(axes), array.ndim))
        return array.max(axes) - array.min(axes)

    expected = einops.reduce(x, pattern, "max", **sizes) - einops.reduce(x, pattern, "min", **sizes)
    np.testing.assert_array_equal(einops.reduce(x, pattern, spread, **sizes), expected)
    assert len(seen) == 1
    np.testing.assert_array_equal(einops.reduce(x, pattern, np.max, **sizes), einops.reduce(x, pattern, "max", **sizes))


def test_a_function_that_has_nothing_to_reduce_is_not_called() -> None:
    x = np.arange(6).reshape(2, 3)

    def refuse(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        raise AssertionError

    np.testing.assert_array_equal(einops.reduce(x, "a b -> b a", refuse), x.T)


# Tables of earlier calls


REFUSED = (2.0, True, np.float64(2), np.True_, "2", None)
TAKEN = (2, np.int64(2), np.uint8(2), np.int32(2))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("operation", ["rearrange", "repeat", "sum"])
def test_what_equals_a_size_is_not_taken_for_it(name: str, operation: str) -> None:
    """2 == 2.0 == np.int64(2), and 1 == True, and hash alike; the order of the calls does not matter."""
    make = KINDS[name]().make
    rng = random.Random(5)
    for turn in range(12):
        cache_clear()
        order = [*REFUSED, *TAKEN, 1, 1.0]
        rng.shuffle(order)
        for size in order * 2:
            call = Call(operation, f"(a b) c{turn} -> c{turn} b a", {"b": size}, (4, 3))
            if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
                assert tuple(call.on(einops, make(np.ones((4, 3), "float32"))).shape) == (3, int(size), 4 // int(size))
            else:
                with pytest.raises(EinopsError):
                    call.on(einops, make(np.ones((4, 3), "float32")))


@pytest.mark.parametrize("name", KINDS)
def test_a_call_that_failed_changes_nothing(name: str) -> None:
    """Right calls after wrong ones of the same pattern, and wrong ones after right ones, from empty tables."""
    make = KINDS[name]().make
    right, wrong = make(np.ones((4, 3), "float32")), [make(np.ones(s, "float32")) for s in ((5, 3), (4,), (2, 4, 3))]
    calls: list[Callable] = [
        lambda x: einops.rearrange(x, "(a b) c -> a b c", a=2),
        lambda x: einops.reduce(x, "(a 2) c -> a", "max"),
        lambda x: einops.repeat(x, "(a b) c -> a b c 2", b=2),
        lambda x: einops.rearrange(x, "a c -> c a", a=4),
        lambda x: einops.reduce(x, "(a b) c -> a", "sum", a=4),
    ]
    for call in calls:
        cache_clear()
        for x in wrong:
            with pytest.raises(EinopsError):
                call(x)
        shape = call(right).shape
        for x in wrong * 2:
            with pytest.raises(EinopsError):
                call(x)
            assert call(right).shape == shape


def kept() -> int:
    """How many calls the tables hold."""
    return sum(len(driver.TASKS[name].calls.all()) for name in ("rearrange", "reduce", "repeat"))


def test_a_call_that_raises_in_the_framework_leaves_nothing() -> None:
    cache_clear()
    texts = np.array([["a", "b"]], dtype=object)
    for _ in range(2):
        with pytest.raises(TypeError):
            einops.reduce(texts, "a b -> a", "prod")
    assert kept() == 0
    einops.rearrange(texts, "a b -> b a")
    assert kept() == 1


def test_tables_are_bounded() -> None:
    cache_clear()
    x = np.zeros((2, 3))
    for k in range(driver.MOST_CALLS + 1500):
        einops.rearrange(x, f"a{k} b -> b a{k}")
    for k in range(driver.MOST_CALLS + 100):
        einops.repeat(x, "a b -> a b c", c=k % 50)
        einops.reduce(x, f"a{k} b -> b", "sum")
    assert 1000 < kept() <= 3 * driver.MOST_CALLS
    for k in range(6_000):
        einops.parse_shape(x, f"a{k} b{k}")
    assert all(found.size <= found.maxsize for found in cache_info().values())
    np.testing.assert_array_equal(einops.rearrange(x + [1, 2, 3], "a0 b -> b a0"), (x + [1, 2, 3]).T)


def test_shapes_are_bounded() -> None:
    cache_clear()
    gc.collect()  # tables of calls that earlier tests have made
    for k in range(driver.MOST_SHAPES + 700):
        assert einops.rearrange(np.zeros((2, k)), "a b -> (a b)").shape == (2 * k,)
    found = cache_info()["shapes of calls on patterns"]
    assert 0 < found.size <= found.maxsize


def test_threads() -> None:
    """Many threads with the same and with different calls, while the tables are emptied."""
    calls = [random_call(random.Random(seed), most=24) for seed in range(80)]
    samples = [(call, random_array(random.Random(1), call.shape, "float64")) for call in calls]
    samples = [(call, x, call.on(einops, x)) for call, x in samples if not without_result(call, x)]
    stop = threading.Event()

    def work(seed: int) -> int:
        rng, done = random.Random(seed), 0
        while not stop.is_set() or done < 200:
            call, x, expected = rng.choice(samples)
            np.testing.assert_array_equal(call.on(einops, x), expected)
            name = f"n{rng.randrange(9999)}"
            assert einops.rearrange(x.reshape(-1), f"{name} -> 1 {name}").shape == (1, x.size)
            done += 1
        return done

    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(work, seed) for seed in range(8)]
        for _ in range(40):
            cache_clear()
            time.sleep(0.01)
        stop.set()
        assert sum(found.result() for found in running) > 1000


# Tracing


def test_jax_transformations() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax to test with its tracers")
    jnp = jax.numpy
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)

    def model(x: Any) -> Any:
        y = einops.rearrange(x, "a b (c d) -> (a c) b d", d=2)
        y = einops.repeat(y, "a b d -> a (b 2) d e", e=3)
        packed, shapes = einops.pack([y, y[..., 0]], "a b *")
        y, _ = einops.unpack(packed, shapes, "a b *")
        y = einops.einsum(y, y, "a b d e, a b d e -> a b d")
        sizes = einops.parse_shape(y, "a _ d")
        return einops.reduce(y, "a b d -> d", "mean", **sizes)

    expected = model(x)
    np.testing.assert_allclose(jax.jit(model)(x), expected, 1e-6)
    batch = jnp.stack([x, 2 * x])
    np.testing.assert_allclose(jax.vmap(model)(batch), np.stack([expected, 4 * expected]), 1e-6)
    # each entry is squared, is there 2 * 3 times, and is divided by the 4 * 6 entries of a mean
    np.testing.assert_allclose(jax.grad(lambda x: model(x).sum())(jnp.asarray(x)), 2 * x * 6 / 24, 1e-5)


def test_jax_symbolic_shapes() -> None:
    """One exported program for all sizes."""
    jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax to test with its tracers")
    export = pytest.importorskip("jax.export", reason="this jax has no jax.export")

    def model(x: Any) -> Any:
        y = einops.rearrange(x, "b (h p) c -> (b h) p c", p=2)
        y = einops.repeat(y, "n p c -> n (p 3) c")
        return einops.reduce(y, "n (p q) c -> c n", "max", q=3)

    sizes = export.symbolic_shape("b, 2*h, 5")
    made = export.export(jax.jit(model))(jax.ShapeDtypeStruct(sizes, np.float32))
    for shape in ((1, 4, 5), (3, 2, 5), (2, 6, 5)):
        x = np.random.default_rng(0).normal(size=shape).astype("float32")
        np.testing.assert_array_equal(made.call(x), model(x))


class Counting:
    """A backend of torch.compile that counts the programs it is given."""

    def __init__(self) -> None:
        self.programs = 0

    def __call__(self, graph: Any, inputs: Any) -> Callable:
        self.programs += 1
        return graph.forward


def shuffled(x: Any) -> Any:
    y = einops.rearrange(x, "b (h p) c -> (b h) p c", p=2)
    y = einops.repeat(y, "n p c -> n (p q) c", q=3)
    y = einops.reduce(y, "n (p 3) c -> p n c", "sum")
    return einops.reduce(y, "p ... c -> (...) c", "max", c=y.shape[-1])


def mixed(x: Any) -> Any:
    packed, shapes = einops.pack([x, x[:, :, 0]], "b h *")
    first, second = einops.unpack(packed, shapes, "b h *")
    sizes = einops.parse_shape(first, "b _ c")
    return einops.einsum(first, second, "b h c, b h -> b c") + sizes["b"]


@pytest.mark.parametrize("model", [shuffled, mixed], ids=["moves", "packs and products"])
def test_torch_compile(model: Callable) -> None:
    """In one graph, and one program serves all shapes."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to test with its compiler")
    torch._dynamo.reset()
    model(torch.rand(2, 4, 6))
    counting = Counting()
    compiled = torch.compile(model, backend=counting, fullgraph=True, dynamic=True)
    for shape in ((2, 4, 6), (3, 8, 5), (5, 6, 7), (4, 10, 9)):
        x = torch.rand(shape)
        torch.testing.assert_close(compiled(x), model(x))
    assert counting.programs == 1


def test_torch_compile_makes_sizes_symbols_by_itself() -> None:
    """The first shape is compiled for as it is, the second for all others."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to test with its compiler")
    torch._dynamo.reset()
    counting = Counting()
    compiled = torch.compile(shuffled, backend=counting, fullgraph=True)
    for shape in ((2, 4, 6), (3, 8, 5), (5, 6, 7), (4, 10, 9)):
        x = torch.rand(shape)
        torch.testing.assert_close(compiled(x), shuffled(x))
    assert counting.programs == 2


def test_torch_compile_finds_faults() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to test with its compiler")
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: einops.rearrange(x, "(a b) -> a b", a=3), backend="eager", dynamic=False)
    with pytest.raises(Exception, match="chunks of 3"):
        compiled(torch.zeros(4))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:(Converting|Iterating over) a tensor")  # packed shapes are read, by einops too
def test_torch_trace() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to test with its compiler")
    for model in (shuffled, mixed):
        model(torch.rand(2, 4, 6))  # what is in the tables for this shape does not get into the program
        traced = torch.jit.trace(model, (torch.rand(2, 4, 6),), check_trace=False)
        for shape in ((2, 4, 6), (3, 8, 5)):
            x = torch.rand(shape)
            torch.testing.assert_close(traced(x), model(x))


def test_torch_export() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to test with its compiler")
    for model in (shuffled, mixed):
        model(torch.rand(2, 4, 6))
        module = torch.nn.Module()
        module.forward = model
        sizes = {0: torch.export.Dim("b", min=2, max=64), 1: 2 * torch.export.Dim("h", min=2, max=32)}
        exported = torch.export.export(module, (torch.rand(2, 4, 6),), dynamic_shapes=(sizes,)).module()
        for shape in ((2, 4, 6), (3, 8, 6)):
            x = torch.rand(shape)
            torch.testing.assert_close(exported(x), model(x))


# Gradients


def differences(function: Callable, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """The gradient by central differences, in double precision."""
    gradient = np.zeros_like(x)
    for at in np.ndindex(*x.shape):
        moved = np.zeros_like(x)
        moved[at] = step
        gradient[at] = (function(np.asarray(x + moved)) - function(np.asarray(x - moved))) / (2 * step)
    return gradient


def differentiable(seed: int) -> tuple[Call, np.ndarray, np.ndarray]:
    """A call, an array whose entries differ by more than the steps of differences, and weights for the result."""
    rng = random.Random(seed)
    call = random_call(rng, most=12)
    while call.operation in ("any", "all") or 0 in call.shape:
        call = random_call(rng, most=12)
    count = int(np.prod(call.shape))
    x = np.array(rng.sample(range(1, 3 * count + 1), count), float).reshape(call.shape)
    x /= count
    weights = np.random.default_rng(seed).normal(size=np.shape(call.on(einops, x)))
    return call, x, weights


def test_gradients_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to test its gradients")
    for seed in range(120):
        call, x, weights = differentiable(seed)
        leaf = torch.tensor(x, requires_grad=True)
        (call.on(einops, leaf) * torch.tensor(weights)).sum().backward()
        expected = differences(lambda x, call=call, weights=weights: (call.on(einops, x) * weights).sum(), x)
        np.testing.assert_allclose(leaf.grad.numpy(), expected, 1e-6, 1e-6, err_msg=str(call))


def test_gradients_of_jax() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed: pip install jax to test its gradients")
    for seed in range(16):
        call, x, weights = differentiable(seed)
        weights = weights.astype("float32")
        found = jax.grad(lambda x, call=call, weights=weights: (call.on(einops, x) * weights).sum())(
            x.astype("float32")
        )
        expected = differences(lambda x, call=call, weights=weights: (call.on(einops, x) * weights).sum(), x)
        np.testing.assert_allclose(found, expected, 1e-3, 1e-3, err_msg=str(call))
