"""gather and scatter against loops over all indices, and the range and type of indices."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricci.caches import cache_clear
from ricci.einops import watch
from ricci.einops.looking_up import GATHER, gather, scatter
from ricci.errors import EinopsError, EinopsTypeError

COMBINE = {"sum": sum, "prod": math.prod, "max": max, "min": min, "mean": lambda entries: sum(entries) / len(entries)}


def reference_gather(sides, out, sizes, x, indices):
    """``sides`` are the names of the array and of each index."""
    read = [name for name in sides[0] if name not in out and not any(name in side for side in sides[1:])]
    result = np.zeros([sizes[name] for name in out], x.dtype)
    for place in itertools.product(*[range(sizes[name]) for name in out]):
        at = dict(zip(out, place, strict=True))
        for name, side, index in zip(read, sides[1:], indices, strict=True):
            at[name] = int(index[tuple([at[n] for n in side])])
        result[place] = x[tuple([at[name] for name in sides[0]])]
    return result


def reference_scatter(sides, out, sizes, x, indices, reduce, empty):
    new = [name for name in out if not any(name in side for side in sides)]
    found: dict[tuple, list] = {}
    names = list(dict.fromkeys([name for side in sides for name in side]))
    for place in itertools.product(*[range(sizes[name]) for name in names]):
        at = dict(zip(names, place, strict=True))
        for name, side, index in zip(new, sides[1:], indices, strict=True):
            at[name] = int(index[tuple([at[n] for n in side])])
        found.setdefault(tuple([at[name] for name in out]), []).append(x[tuple([at[n] for n in sides[0]])])
    result = np.full([sizes[name] for name in out], empty, x.dtype)
    for place, entries in found.items():
        result[place] = COMBINE[reduce](entries)
    return result


@st.composite
def lookups(draw):
    """The names of an array with axes u, v to be looked up, of the indices, and of the result of gather."""
    sizes = {name: draw(st.integers(1, 3)) for name in "abcduv"}
    sizes[draw(st.sampled_from("abcd"))] = draw(st.integers(0, 3))
    read = ["u", "v"][: draw(st.integers(1, 2))]
    batch = draw(st.lists(st.sampled_from("ab"), unique=True))
    around = [*batch, "c"] if draw(st.booleans()) else batch
    array = draw(st.permutations([*read, *batch, *draw(st.sampled_from([[], ["d"]]))]))
    read = [name for name in array if name in read]
    sides = [array]
    for k in range(len(read)):
        sides.append(draw(st.permutations(around if k == 0 else draw(st.sampled_from([around, around[:1]])))))
    out = draw(st.permutations(list(dict.fromkeys([n for side in sides for n in side if n not in read]))))
    return sides, out, sizes, read, draw(st.integers(0, 99))


def text_of(sides, out):
    return ", ".join([" ".join(side) for side in sides]) + " -> " + " ".join(out)


@settings(max_examples=250, deadline=None)
@given(lookups(), st.sampled_from(["float64", "int32", "bool", "complex64"]))
def test_gather_is_the_reference(lookup, dtype):
    sides, out, sizes, read, seed = lookup
    rng = np.random.default_rng(seed)
    x = np.asarray(rng.standard_normal([sizes[name] for name in sides[0]]) * 9).astype(dtype)
    indices = [
        rng.integers(0, sizes[name], [sizes[n] for n in side]) for name, side in zip(read, sides[1:], strict=True)
    ]
    expected = reference_gather(sides, out, sizes, x, indices)
    for _ in range(2):
        result = gather(text_of(sides, out), x, *indices)
        assert result.dtype == x.dtype and np.array_equal(result, expected)
    assert np.array_equal(gather(x, *indices, text_of(sides, out)), expected)


@settings(max_examples=250, deadline=None)
@given(lookups(), st.sampled_from(sorted(COMBINE)))
def test_scatter_is_the_reference(lookup, reduce):
    sides, out, sizes, read, seed = lookup
    sides, out = [out, *sides[1:]], sides[0]  # the transpose
    rng = np.random.default_rng(seed)
    x = np.asarray(rng.standard_normal([sizes[name] for name in sides[0]]))
    indices = [
        rng.integers(0, sizes[name], [sizes[n] for n in side]) for name, side in zip(read, sides[1:], strict=True)
    ]
    empty = {"prod": 1.0, "max": -np.inf, "min": np.inf}.get(reduce, 0.0)
    expected = reference_scatter(sides, out, sizes, x, indices, reduce, empty)
    given_sizes = {name: sizes[name] for name in read}
    for _ in range(2):
        result = scatter(text_of(sides, out), x, *indices, reduce=reduce, **given_sizes)
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_the_reference_finds_faults():
    x, n = np.arange(6.0).reshape(3, 2), np.array([2, 0, 1, 2])
    expected = reference_gather([["v", "d"], ["t"]], ["t", "d"], {"v": 3, "d": 2, "t": 4}, x, [n])
    assert np.array_equal(x[n], expected) and not np.array_equal(x[[2, 0, 1, 1]], expected)
    y = np.arange(8.0).reshape(4, 2)
    expected = reference_scatter([["t", "d"], ["t"]], ["v", "d"], {"v": 3, "d": 2, "t": 4}, y, [n], "sum", 0)
    lost = np.zeros((3, 2))
    lost[n] = y  # keeps the last of those that meet
    assert not np.array_equal(lost, expected)


@pytest.mark.parametrize("reduce", ["sum", "prod", "max", "min", "mean"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
def test_kinds_agree(reduce, dtype):
    if reduce == "mean" and dtype != "float32":
        pytest.skip("a mean is of floating numbers")
    torch = pytest.importorskip("torch", reason="tensors of PyTorch")
    jax = pytest.importorskip("jax", reason="arrays of JAX")
    rng = np.random.default_rng(0)
    x = (rng.random((3, 4, 2)) * 3).astype(dtype)
    n = rng.integers(0, 5, (3, 4)).astype("int32")
    expected = scatter("b t d, b t -> v d", x, n, v=7, reduce=reduce)
    assert expected.dtype == x.dtype
    if dtype == "bool" and reduce in ("prod", "max", "min", "sum"):
        assert expected.shape == (7, 2)
    else:
        other = scatter("b t d, b t -> v d", torch.tensor(x), torch.tensor(n), v=7, reduce=reduce)
        np.testing.assert_allclose(other.numpy(), expected, rtol=1e-5)
        if dtype != "int64":  # JAX has 32 bits
            third = scatter("b t d, b t -> v d", jax.numpy.asarray(x), jax.numpy.asarray(n), v=7, reduce=reduce)
            np.testing.assert_allclose(np.asarray(third), expected, rtol=1e-5)
    for kind in ("int8", "uint8", "int64", "uint16"):
        np.testing.assert_array_equal(gather("v d, b t -> b t d", expected, n.astype(kind)), expected[n])


def test_composite_axes():
    rng = np.random.default_rng(0)
    x, n = rng.random((2, 12, 3)), rng.integers(0, 4, (2, 5))
    expected = x.reshape(2, 3, 4, 3)[np.arange(2)[:, None], :, n]
    np.testing.assert_array_equal(gather("b (g v) d, b t -> b t g d", x, n, v=4), expected)
    flat = gather("b (g v) d, b t -> (b t) (g d)", x, n, v=4)
    np.testing.assert_array_equal(flat, expected.reshape(10, 9))
    np.testing.assert_array_equal(gather("b (g v) d, (b t) -> b t g d", x, n.reshape(10), v=4, t=5), expected)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("wrong", [-1, 4, 100, -100])
def test_places_out_of_range(kind, wrong):
    table, tokens = np.zeros((4, 2)), np.array([[0, 1, wrong]])
    if kind == "torch":
        torch = pytest.importorskip("torch", reason="tensors of PyTorch")
        table, tokens = torch.tensor(table), torch.tensor(tokens)
    with pytest.raises(EinopsError, match=f"Index {wrong} is out of range for axis v of size 4") as caught:
        gather("v d, b t -> b t d", table, tokens)
    assert "  v d, b t -> b t d\n  ^\n" in str(caught.value)
    with pytest.raises(EinopsError, match=f"Index {wrong} is out of range for axis v of size 4"):
        scatter("b t, b t -> v", tokens * 1.0, tokens, v=4)


ERRORS = [
    (lambda x, n: gather("v d, b t -> b t d", x, n * 1.0), "An index must be of integers, not of float64."),
    (lambda x, n: gather("v d, b t -> b t d", x, n > 1), "An index must be of integers, not of bool."),
    (lambda x, n: gather("v d, b t -> b d", x, n), "Axis t is not in the result.\n  v d, b t -> b d\n         ^"),
    (lambda x, n: gather("v d, b t -> b t", x, n), "there are 1 for v, d."),
    (lambda x, n: gather("v d, b t -> b t d v", x, n), "there are 1 for none."),
    (lambda x, n: gather("v d, b t", x, n), "The pattern has no arrow."),
    (lambda x, n: gather("v v, b t -> b t", x, n), "Axis v is twice in one array."),
    (lambda x, n: gather("v d, d t -> d t", x, n), "Shape mismatch, 2 != 3: axis d is 3 in array 0, 2 in array 1."),
    (lambda x, n: gather("v d, b t -> b t z", x, n), "Unknown axis z"),
    (lambda x, n: gather("v d, b t -> b t d", x), "The pattern is of 2 arrays, and 1 were given."),
    (lambda x, n: scatter("b t, b t -> v", n, n), "The size of the new axis v must be given.\n  b t, b t -> v\n"),
    (lambda x, n: scatter("b t, b t -> v", n, n), "Write v=...."),
    (lambda x, n: scatter("v d, b t -> w", x, n, w=3), "Axis v is not looked up nor kept."),
    (lambda x, n: scatter("b t, b t -> v w", n, n, v=3, w=2), "there are 1 for v, w."),
    (lambda x, n: scatter("b t, b t -> v", n, n, v=3, reduce="medan"), "Did you mean 'mean'?"),
    (lambda x, n: scatter("b t, b t -> v", n, n, v=3.0), "The size of axis v must be an integer, not 3.0."),
    (lambda x, n: scatter("b t, b t -> v", n, n, v=3, reduce="mean"), "reduce_mean is not available"),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_messages(call, message):
    with pytest.raises(EinopsError) as caught:
        call(np.ones((4, 3)), np.zeros((2, 2), int))
    assert message in str(caught.value)


def test_errors_of_type_are_type_errors():
    with pytest.raises(EinopsTypeError):
        gather("v d, b t -> b t d", np.ones((4, 3)), np.zeros((2, 2)))


def test_a_failed_call_leaves_nothing_behind():
    cache_clear()
    x, n = np.ones((4, 3)), np.full((2, 2), 9)
    with pytest.raises(EinopsError):
        gather("v d, b t -> b t d", x, n)
    assert not GATHER.calls.all()
    assert gather("v d, b t -> b t d", x, n - 9).shape == (2, 2, 3)
    with pytest.raises(EinopsError):
        gather("v d, b t -> b t d", x, n)


def test_watchers_see_calls():
    class Recorder(watch.Watcher):
        def __init__(self):
            self.uses = []

        def note(self, use):
            self.uses.append(use)

    with Recorder() as recorder:
        gather("v d, b t -> b t d", np.ones((4, 3)), np.zeros((2, 2), int))
    (use,) = recorder.uses
    assert use.operation == "gather" and use.sizes == {"v": 4, "d": 3, "b": 2, "t": 2}
    assert [names for _, names in use.outputs] == [("b", "t", "d")]


def test_gradients_are_each_other():
    torch = pytest.importorskip("torch", reason="tensors of PyTorch")
    table = torch.rand(5, 3, dtype=torch.float64, requires_grad=True)
    tokens = torch.randint(0, 5, (2, 4))
    weight = torch.rand(2, 4, 3, dtype=torch.float64)
    (gather("v d, b t -> b t d", table, tokens) * weight).sum().backward()
    torch.testing.assert_close(table.grad, scatter("b t d, b t -> v d", weight, tokens, v=5))
