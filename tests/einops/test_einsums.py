"""einsum, einops' and ours: against a reference that loops over all indices, on every kind of array."""

from __future__ import annotations

import itertools
import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricci.caches import cache_clear
from ricci.einops import watch
from ricci.einops.backends import backend_of
from ricci.einops.einsums import EINSUM, WIDE_EINSUM, einsum, equation, wide_einsum
from ricci.einops.inference import solved
from ricci.einops.labels import labels_of
from ricci.einops.pairwise import equation_of, pair_of, steps_of
from ricci.errors import EinopsError, EinopsRefusal, EinopsTypeError, EinopsValueError

OPS = {"multiply": lambda a, b: a * b, "add": lambda a, b: a + b, "maximum": max, "subtract": lambda a, b: a - b}
REDUCTIONS = {"sum": sum, "min": min, "max": max, "prod": math.prod}


def reference(pattern, *arrays, op="multiply", reduce="sum", **sizes):
    """The meaning of a pattern of names and products of names, one entry at a time."""
    left, right = pattern.split("->")
    sides = [groups(side) for side in left.split(",")]
    lengths = dict(sizes)
    for side, x in zip(sides, arrays, strict=True):
        for group, n in zip(side, x.shape, strict=True):
            unknown = [name for name in group if name not in lengths]
            assert len(unknown) <= 1
            if unknown:
                lengths[unknown[0]] = n // math.prod([lengths[name] for name in group if name not in unknown])
    out = groups(right)
    kept = [name for group in out for name in group]
    names = [*kept, *[name for name in lengths if name not in kept]]
    found: dict[tuple, list] = {}
    for values in itertools.product(*[range(lengths[name]) for name in names]):
        at = dict(zip(names, values, strict=True))
        value = None
        for side, x in zip(sides, arrays, strict=True):
            entry = x[tuple([merged(group, at, lengths) for group in side])].item()
            value = entry if value is None else OPS[op](value, entry)
        found.setdefault(tuple([merged(group, at, lengths) for group in out]), []).append(value)
    shape = [math.prod([lengths[name] for name in group]) for group in out]
    result = np.zeros(shape, dtype=np.result_type(*arrays))
    for index, entries in found.items():
        result[index] = REDUCTIONS[reduce](entries)
    return result


def groups(side):
    found, inside = [], None
    for word in side.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            inside = []
        elif word == ")":
            found.append(inside)
            inside = None
        elif inside is not None:
            inside.append(word)
        else:
            found.append([] if word == "1" else [word])
    return found


def merged(group, at, lengths):
    place = 0
    for name in group:
        place = place * lengths[name] + at[name]
    return place


def random_array(rng, shape, dtype):
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype[0] == "i":
        return np.asarray(rng.integers(-3, 4, shape), dtype)
    x = rng.standard_normal(shape)
    return np.asarray(x + 1j * rng.standard_normal(shape) if dtype[0] == "c" else x, dtype)


@st.composite
def calls(draw, composite=True, largest=3):
    """A pattern, shapes, and the sizes to be given."""
    names = "abcde"
    lengths = {name: draw(st.integers(0, largest)) for name in names}
    given: dict[str, int] = {}

    def side(repeats):
        chosen = draw(st.lists(st.sampled_from(names), max_size=4, unique=not repeats))
        parts, shape, k = [], [], 0
        while k < len(chosen):
            width = draw(st.integers(1, 2)) if composite else 1
            group = chosen[k : k + width]
            k += width
            parts.append(f"({' '.join(group)})" if len(group) > 1 else group[0])
            shape.append(math.prod([lengths[name] for name in group]))
            if len(group) > 1:
                given.update({name: lengths[name] for name in group})
        return parts, tuple(shape), chosen

    operands = [side(repeats=True) for _ in range(draw(st.integers(1, 3)))]
    known = sorted({name for _, _, chosen in operands for name in chosen})
    kept = draw(st.lists(st.sampled_from(known), unique=True)) if known else []
    out = " ".join(kept)
    if composite and len(kept) > 1 and draw(st.booleans()):
        out = f"({kept[0]} {kept[1]}) " + " ".join(kept[2:])
    text = ", ".join(" ".join(parts) for parts, _, _ in operands) + " -> " + out
    return text, [shape for _, shape, _ in operands], given


@settings(max_examples=300, deadline=None)
@given(calls(), st.sampled_from(["float64", "float32", "int64", "int8", "bool", "complex128"]), st.integers(0, 99))
def test_wide_einsum_is_the_reference(call, dtype, seed):
    pattern, shapes, given_sizes = call
    rng = np.random.default_rng(seed)
    arrays = [random_array(rng, shape, dtype) for shape in shapes]
    expected = reference(pattern, *arrays, **given_sizes)
    for _ in range(2):  # the second time from the table
        result = wide_einsum(pattern, *arrays, **given_sizes)
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=2e-4, atol=1e-4)
    assert np.array_equal(wide_einsum(*arrays, pattern, **given_sizes), result)


@settings(max_examples=150, deadline=None)
@given(calls(composite=False), st.sampled_from(["float64", "int32", "bool", "complex64"]), st.integers(0, 99))
def test_einsum_is_that_of_numpy(call, dtype, seed):
    pattern, shapes, _ = call
    rng = np.random.default_rng(seed)
    arrays = [random_array(rng, shape, dtype) for shape in shapes]
    expected = np.einsum(equation(pattern), *arrays)
    result = einsum(*arrays, pattern)
    assert np.asarray(result).dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@settings(max_examples=120, deadline=None)
@given(calls(largest=3), st.sampled_from(sorted(OPS)), st.sampled_from(sorted(REDUCTIONS)), st.integers(0, 99))
def test_any_operation_and_reduction(call, op, reduce, seed):
    pattern, shapes, given_sizes = call
    shapes = [tuple([max(n, 1) for n in shape]) for shape in shapes]
    given_sizes = {name: max(n, 1) for name, n in given_sizes.items()}
    rng = np.random.default_rng(seed)
    try:
        labels = labels_of(pattern, tuple(map(len, shapes)), tuple(given_sizes))
        solved(labels, shapes, tuple(given_sizes.values()))
    except EinopsError:
        return  # sizes that did not fit any more once zeros were made ones
    arrays = [random_array(rng, shape, "float64") for shape in shapes]
    expected = reference(pattern, *arrays, op=op, reduce=reduce, **given_sizes)
    np.testing.assert_allclose(wide_einsum(pattern, *arrays, op=op, reduce=reduce, **given_sizes), expected, rtol=1e-9)


def test_the_reference_finds_faults():
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 3)), rng.random((3, 3))
    expected = reference("i j, j k -> i k", a, b)
    for wrong in (a @ b.T, (a @ b).T, a.T @ b, a * b):
        assert not np.allclose(wrong, expected)
    assert np.allclose(a @ b, expected)


LARGE = [  # every way that NumPy's products are computed
    ("i j, j k -> i k", (40, 50), (50, 60)),
    ("i j, j k -> k i", (40, 50), (50, 60)),
    ("j i, k j -> i k", (40, 50), (60, 40)),
    ("b h i d, b h j d -> b h i j", (2, 3, 20, 16), (2, 3, 24, 16)),
    ("b i h d, b j h d -> b h i j", (2, 20, 3, 16), (2, 24, 3, 16)),
    ("b h i j, b h j d -> b i h d", (2, 3, 20, 24), (2, 3, 24, 16)),
    ("i b k, k b j -> i b j", (20, 6, 30), (30, 6, 20)),
    ("i k b, k j b -> i j b", (3, 4, 500), (4, 5, 500)),
    ("i k b, k j b -> i j b", (30, 40, 5), (40, 20, 5)),
    ("b i k, b k -> b i", (300, 4, 4), (300, 4)),
    ("b i k, b k -> i b", (20, 30, 40), (20, 40)),
    ("a b c d, c d e f -> a b e f", (4, 5, 6, 7), (6, 7, 8, 9)),
    ("a c b d, d e c f -> f a e b", (4, 6, 5, 7), (7, 8, 6, 9)),
    ("i j k, k l -> i", (10, 11, 12), (12, 13)),
    ("i i j, j j k -> i k", (12, 12, 13), (13, 13, 14)),
    ("i j, i j ->", (80, 90), (80, 90)),
    ("i, j -> j i", (100,), (90,)),
    ("i j, i -> j i", (100, 90), (100,)),
    ("i j, j k, k l -> i l", (20, 21), (21, 22), (22, 23)),
    ("b i, i j, b j -> b", (30, 20), (20, 25), (30, 25)),
    ("i j, j k, k l, l i ->", (8, 9), (9, 10), (10, 11), (11, 8)),
    ("i -> i", (4000,)),
]


@pytest.mark.parametrize("pattern, shapes", [(p, s) for p, *s in LARGE])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int16", "bool", "float16"])
def test_large_products(pattern, shapes, dtype):
    rng = np.random.default_rng(1)
    arrays = [random_array(rng, shape, dtype) for shape in shapes]
    expected = np.einsum(equation(pattern), *arrays)
    for call in (lambda: einsum(*arrays, pattern), lambda: wide_einsum(pattern, *arrays)):
        result = np.asarray(call())
        assert result.dtype == expected.dtype and result.shape == expected.shape
        if dtype in ("int16", "bool"):
            assert np.array_equal(result, expected)
        else:
            tolerance = {"float16": 0.3, "float32": 1e-3}.get(dtype, 1e-9)
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance * 10)
    turned = [np.asfortranarray(x)[::-1, ...] for x in arrays]
    expected = np.einsum(equation(pattern), *turned)
    tolerance = {"float16": 0.3, "float32": 1e-3}.get(dtype, 1e-9)
    if dtype != "bool":
        np.testing.assert_allclose(einsum(*turned, pattern), expected, rtol=tolerance, atol=tolerance * 10)


def test_integers_of_different_types_do_not_wrap_around_early():
    a, b, c = np.full((30, 30), 100, np.int8), np.full((30, 30), 100, np.int8), np.full((30, 30), 1, np.int64)
    assert np.array_equal(einsum(a, b, c, "i j, j k, k l -> i l"), np.einsum("ij,jk,kl->il", a, b, c))


def test_views_stay_views():
    x = np.arange(12.0).reshape(3, 4)
    assert np.shares_memory(einsum(x, "i j -> j i"), x)
    assert np.shares_memory(wide_einsum("i j -> j i", x), x)
    square = np.arange(9.0).reshape(3, 3)
    assert np.shares_memory(wide_einsum("i i -> i", square), square)


# The wider language


def test_letters_and_no_arrow():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 3)), rng.random((3, 4))
    assert np.allclose(wide_einsum("ij,jk->ik", a, b), a @ b)
    assert np.allclose(wide_einsum("ij,jk", a, b), a @ b)
    assert np.allclose(wide_einsum("z a, a b", a, b), np.einsum("za,ab", a, b))
    assert np.allclose(wide_einsum("...j,jk->...k", a, b), a @ b)
    assert np.allclose(wide_einsum("i...,...->i", a, a[0]), a @ a[0])
    assert wide_einsum("time -> time", a[0]).shape == (3,)
    assert wide_einsum("i,j->ij", a[0], b[0]).shape == (3, 4)


def test_numbers_and_units():
    x = np.arange(6.0).reshape(2, 3)
    assert np.allclose(wide_einsum("2 i, i -> 2", x, np.ones(3)), x.sum(1))
    assert np.allclose(wide_einsum("2 i -> i", x), x.sum(0))
    assert wide_einsum("1 i, i -> i 1", x[:1], x[0]).shape == (3, 1)
    assert wide_einsum("() i -> i", x[:1]).shape == (3,)
    assert np.allclose(wide_einsum("(2 i) -> i 2", np.arange(6)), np.arange(6).reshape(2, 3).T)
    with pytest.raises(EinopsError, match="3 is 1 times in the result and 0 times on the left"):
        wide_einsum("2 i -> 3", x)
    with pytest.raises(EinopsError, match="Shape mismatch, 3 != 2"):
        wide_einsum("i 2 -> i", x)


def test_ellipsis_broadcasts():
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 1, 2, 3)), rng.random((4, 3, 2))
    assert np.allclose(wide_einsum("... i j, ... j k -> ... i k", a, b), a @ b)
    assert np.allclose(wide_einsum("... i j, ... j k -> i k ...", a, b), np.moveaxis(a @ b, (0, 1), (2, 3)))
    assert np.allclose(wide_einsum("... i j -> i", a), a.sum((0, 1, 3)))
    assert np.allclose(wide_einsum("... i j -> (...) i j", a).shape, (5, 2, 3))
    with pytest.raises(EinopsError, match=r"\.\.\."):
        wide_einsum("... i, ... i -> ...", np.ones((2, 3)), np.ones((4, 3)))


def test_a_name_has_one_size():
    with pytest.raises(EinopsError, match="axis j is 1 in array 0, 3 in array 1"):
        wide_einsum("i j, j k -> i k", np.ones((2, 1)), np.ones((3, 4)))
    assert einsum(np.ones((2, 1)), np.ones((3, 4)), "i j, j k -> i k").shape == (2, 4)  # as in np.einsum


def test_more_names_than_letters():
    rng = np.random.default_rng(0)
    names = [f"n{k}" for k in range(60)]
    first, second = names[:30], names[20:50]
    shape = lambda chosen: tuple([2 if k % 7 == 0 else 1 for k in map(names.index, chosen)])  # noqa: E731
    a, b = rng.random(shape(first)), rng.random(shape(second))
    out = [*first[:20], *second[10:]]
    result = wide_einsum(f"{' '.join(first)}, {' '.join(second)} -> {' '.join(out)}", a, b)
    flat = a.reshape(8, -1) @ b.reshape(-1, 2 ** (sum(n == 2 for n in b.shape) - 2))
    assert result.size == flat.size and np.allclose(result.sum(), flat.sum())
    c = rng.random(tuple([1] * 12))
    third = [f"m{k}" for k in range(12)]
    whole = wide_einsum(f"{' '.join(first)}, {' '.join(second)}, {' '.join(third)} -> {first[0]}", a, b, c)
    assert whole.shape == (2,) and np.allclose(whole.sum(), result.sum() * c.sum())


def test_shortest_paths_and_log_sum_exp():
    rng = np.random.default_rng(0)
    roads = rng.random((7, 7))
    best = roads
    for _ in range(3):
        best = wide_einsum("i k, k j -> i j", best, best, op="add", reduce="min")
    floyd = roads.copy()
    for k in range(7):
        floyd = np.minimum(floyd, floyd[:, k : k + 1] + floyd[k])
    assert np.all(best >= floyd - 1e-12)
    big = np.array([[1000.0, 1001.0], [-1000.0, -np.inf]])
    result = wide_einsum("i k, k j -> i j", big, big, op="add", reduce="logsumexp")
    assert np.isfinite(result[0]).all() and np.isclose(result[0, 0], 2000.0)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod", "logsumexp", "var", "std", "norm"])
@pytest.mark.parametrize("op", ["multiply", "add", "divide", "power", "logaddexp", "hypot"])
def test_names_of_operations(op, reduce):
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 4)) + 0.5, rng.random((4, 5)) + 0.5
    whole = getattr(np, op)(a[:, :, None], b[None])
    expected = backend_of(a).reduce(whole, reduce, (1,))
    np.testing.assert_allclose(wide_einsum("i k, k j -> i j", a, b, op=op, reduce=reduce), expected, rtol=1e-12)


def test_functions_as_operations():
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 4)), rng.random((4, 5))
    result = wide_einsum("i k, k j -> j i", a, b, op=lambda x, y: abs(x - y), reduce=lambda x, axes: x.max(axis=axes))
    np.testing.assert_allclose(result, abs(a[:, :, None] - b[None]).max(1).T)
    assert wide_einsum("i k -> i", a, reduce="argmax").tolist() == a.argmax(1).tolist()
    np.testing.assert_allclose(wide_einsum("i k -> i k", -a, reduce="norm"), a)


def test_large_cases_are_done_in_blocks():
    rng = np.random.default_rng(0)
    a, b = rng.random((300, 70)), rng.random((70, 200))
    expected = np.stack([(row[:, None] + b).min(0) for row in a])
    seen = []

    def op(x, y):
        seen.append(np.broadcast_shapes(x.shape, y.shape))
        return x + y

    np.testing.assert_allclose(wide_einsum("i k, k j -> i j", a, b, op=op, reduce="min"), expected)
    assert len(seen) > 1 and max(map(math.prod, seen)) <= 1 << 19


# Calls


def test_tables_do_not_confuse_sizes():
    x = np.arange(6)
    assert wide_einsum("(g i) -> g", x, g=2).tolist() == [3, 12]
    for wrong in (2.0, True, "2", None):
        with pytest.raises(EinopsError, match="must be an integer"):
            wide_einsum("(g i) -> g", x, g=wrong)
    assert wide_einsum("(g i) -> g", x, g=np.int64(3)).tolist() == [1, 5, 9]
    assert wide_einsum("(g i) -> g", x, g=1).tolist() == [15]


def test_a_failed_call_leaves_nothing_behind():
    cache_clear()
    a = np.ones((2, 3))
    for call in (einsum, wide_einsum):
        with pytest.raises(EinopsError):
            call(a, a, "i j, j k -> i k")
    assert not EINSUM.calls.all() and not WIDE_EINSUM.calls.all()
    assert einsum(a, a.T, "i j, j k -> i k").shape == (2, 2)
    with pytest.raises(EinopsValueError):
        einsum(a, a, "i j, j k -> i k")
    assert einsum(a, a.T, "i j, j k -> i k").shape == (2, 2)


def test_tables_are_bounded(monkeypatch):
    monkeypatch.setattr(EINSUM.calls, "most", 8)
    monkeypatch.setattr(WIDE_EINSUM.calls, "most", 8)
    cache_clear()
    for k in range(40):
        wide_einsum(f"a{k} -> a{k}", np.ones(2))
        einsum(np.ones(2), f"a{k} -> a{k}")
    assert len(EINSUM.calls.all()) <= 8 and len(WIDE_EINSUM.calls.all()) <= 8
    cache_clear()


def test_threads():
    rng = np.random.default_rng(0)
    failures = []

    def work(seed):
        for k in range(60):
            a, b = rng.random((1 + k % 5, 3)), rng.random((3, 1 + seed))
            if not np.allclose(wide_einsum(f"i{k} j, j k -> i{k} k", a, b), a @ b):
                failures.append(k)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_watchers_see_every_call():
    class Recorder(watch.Watcher):
        def __init__(self):
            self.uses = []

        def note(self, use):
            self.uses.append(use)

    a, b = np.ones((2, 3)), np.ones((3, 4))
    call = lambda: (einsum(a, b, "i j, j k -> i k"), wide_einsum("(g i) j, j k -> i (g k)", a, b, g=2))  # noqa: E731
    call()
    with Recorder() as recorder:
        call()
    call()
    assert [use.operation for use in recorder.uses] == ["einsum", "einsum"]
    assert recorder.uses[0].sizes == {"i": 2, "j": 3, "k": 4}
    assert [names for _, names in recorder.uses[1].inputs] == [(("g", "i"), "j"), ("j", "k")]
    assert [names for _, names in recorder.uses[1].outputs] == [("i", ("g", "k"))]


# einops' refusals


@pytest.mark.parametrize(
    "pattern, error, message",
    [
        ("i () -> i", NotImplementedError, "Singleton () axes are not yet supported in einsum."),
        ("i 1 -> i", NotImplementedError, "Singleton () axes are not yet supported in einsum."),
        ("(i j) k -> i", NotImplementedError, "Shape rearrangement is not yet supported in einsum."),
        ("i k -> (i k)", NotImplementedError, "Shape rearrangement is not yet supported in einsum."),
        ("i 2 -> i", NotImplementedError, "Anonymous axes are not yet supported in einsum."),
        ("i j", ValueError, "Einsum pattern must contain '->'."),
        ("i j -> k", EinopsError, "Unknown axis k on right side of einsum i j -> k."),
        ("i j -> i i", EinopsError, 'Indexing expression contains duplicate dimension "i"'),
        ("i _j -> i", EinopsError, "Invalid axis identifier: _j"),
        ("i + j -> i", EinopsError, "Unknown character '+'"),
        (" ".join(f"a{k}" for k in range(53)) + " ->", EinopsError, "Too many axes in einsum."),
    ],
)
def test_what_einops_refuses(pattern, error, message):
    with pytest.raises(error) as caught:
        einsum(np.ones((2, 3)), pattern)
    assert isinstance(caught.value, EinopsError) and str(caught.value).startswith(message)


def test_arguments():
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"^`einops.einsum` takes at minimum two arguments: the tensors"):
        einsum(x)
    with pytest.raises(ValueError, match=r"^`einops.einsum` takes at minimum two arguments"):
        einsum()
    with pytest.raises(ValueError, match=r"^The last argument passed to `einops.einsum` must be a string"):
        einsum(x, x)
    with pytest.raises(EinopsTypeError, match="one pattern, first or last"):
        wide_einsum(x, x)
    with pytest.raises(EinopsValueError, match="at least one array"):
        wide_einsum("i -> i")
    with pytest.raises(EinopsTypeError, match="Tensor type unknown to einops"):
        einsum("i", "i -> i")
    assert issubclass(EinopsRefusal, NotImplementedError)
    assert einsum(x, x, "_ b, _ b -> b").tolist() == [2.0, 2.0, 2.0]
    assert einsum(x, 2.0, "a b, -> b a").shape == (3, 2)
    assert wide_einsum("a b, -> b a", x, 2.0).tolist() == [[2.0, 2.0]] * 3


ERRORS = [
    (
        lambda a: wide_einsum("i k, k j -> i j", a, a),
        "Shape mismatch, 2 != 3: axis k is 3 in array 0, 2 in array 1.\n  i k, k j -> i j\n    ^\n"
        "  Input shapes: (2, 3), (2, 3).",
    ),
    (
        lambda a: einsum(a, a, "i k j, k j -> i"),
        "Wrong shape: expected 3 dims of array 0. Received 2-dim tensor.\n  i k j, k j -> i\n  ^^^^^",
    ),
    (
        lambda a: wide_einsum("(g i) j -> g", a, g=4),
        "Shape mismatch, can't divide axis of length 2 in chunks of 4: axis 0 of the input has size 2, which is not a "
        "multiple of 4.\n  (g i) j -> g\n   ^^^\n  Input shape: (2, 3). Sizes given: g=4.",
    ),
    (
        lambda a: wide_einsum("(g i) j -> g", a),
        "Could not infer sizes for g, i.\n  (g i) j -> g\n   ^^^\n  Give the size of all but one of them: i=....",
    ),
    (lambda a: wide_einsum("group j -> group", a, groop=2), "Did you mean 'group'?"),
    (lambda a: wide_einsum("i j -> i z", a), "Unknown axis z on right side of einsum i j -> i z.\n  i j -> i z\n"),
    (lambda a: wide_einsum("i j -> i z", a), "A new axis is made by rc.repeat"),
    (lambda a: wide_einsum("i j, j -> i", a), "The pattern is of 2 arrays, and 1 were given."),
    (lambda a: wide_einsum("i (j + k) -> i", a), "Joining and splitting is done by rc.rearrange alone."),
    (lambda a: wide_einsum("i j -> i, j", a), "There is one result."),
    (lambda a: wide_einsum("i j -> i", a, op="add", reduce="median"), "Unknown reduction median."),
    (lambda a: wide_einsum("i j -> i", a, op="maxmum"), "Did you mean 'maximum'?"),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_messages(call, message):
    with pytest.raises(EinopsError) as caught:
        call(np.ones((2, 3)))
    assert message in str(caught.value)


# The order of several products


def test_pairs_and_orders():
    assert equation_of([(7, 2), (2, 5)], (7, 5)) == "ab,bc->ac"
    assert equation_of([tuple(range(60))], ()) is None
    assert pair_of((0, 1), (1, 2), (2, 0), [2, 3, 4]).exchanged
    steps = steps_of([(0, 1), (1, 2), (2, 3)], (0, 3), [2, 100, 100, 1])
    assert len(steps) == 2 and steps[-1].out == (0, 3)
    for count in range(1, 8):
        terms = [(k, k + 1) for k in range(count)]
        assert steps_of(terms, (0, count), [3] * (count + 1))[-1].out == (0, count)
