"""The same as einops, on thousands of random calls, right and wrong ones: both give equal arrays, or both raise.

Wrong calls are right ones with something changed: a character, a word, a size, the number of axes. What einops raises
is of many kinds; what ricci raises is always an EinopsError. Where ricci differs on purpose, there is a test of its own
at the end, and the random calls stay away from it.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reference import NAMES, REDUCTIONS, Call, random_array, random_call

import ricci.einops as ours
from ricci.errors import EinopsError

theirs = pytest.importorskip("einops", reason="einops is not installed: pip install einops to compare with it")


# Calls with a fault


def changed_characters(rng: random.Random, call: Call) -> Call:
    text = list(call.pattern)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randint(0, len(text))
        how = rng.choice(("insert", "drop", "double", "swap"))
        if how == "insert":
            text.insert(at, rng.choice("()().->,*+!_ 0123ab\t\n-é²"))
        elif how == "drop":
            text[at : at + 1] = []
        elif how == "double":
            text[at:at] = text[at : at + 1]
        else:
            text[at : at + 2] = text[at : at + 2][::-1]
    return replace(call, pattern="".join(text))


def changed_words(rng: random.Random, call: Call) -> Call:
    words = call.pattern.replace("->", " -> ").split(" ")
    at = rng.randrange(len(words))
    how = rng.choice(("drop", "double", "name", "arrow", "ellipsis", "number", "twin"))
    if how == "drop":
        words[at : at + 1] = []
    elif how == "double":
        words.insert(at, words[at])
    elif how == "twin":
        words[at] = rng.choice(words)
    else:
        new = {"name": rng.choice((*NAMES, "q", "_", "a_", "_a", "1a")), "arrow": "->", "ellipsis": "..."}
        new["number"] = rng.choice(("0", "1", "2", "3", "01", "-1", "2.0"))
        words.insert(at, new[how])
    return replace(call, pattern=" ".join(words))


def changed_sizes(rng: random.Random, call: Call) -> Call:
    sizes = dict(call.sizes)
    name = rng.choice((*sizes, *sizes, *NAMES, "q", "_", "a b", "...", "1", ""))
    how = rng.choice(("drop", "value", "value", "name"))
    if how == "drop":
        sizes.pop(name, None)
    elif how == "value":
        sizes[name] = rng.choice((0, 0, 1, 2, 3, 4, 6, 7, -1, -2, -3))
    else:
        sizes[name + rng.choice(("", "x", "1", "_"))] = sizes.pop(name, 2)
    return replace(call, sizes=sizes)


def changed_shape(rng: random.Random, call: Call) -> Call:
    shape = list(call.shape)
    at = rng.randint(0, len(shape))
    how = rng.choice(("add", "drop", "size", "size"))
    if how == "add":
        shape.insert(at, rng.choice((1, 2, 3)))
    elif how == "drop":
        shape[at : at + 1] = []
    else:
        shape[at : at + 1] = [rng.choice((0, 1, 2, 3, 4, 6))] * len(shape[at : at + 1])
    return replace(call, shape=tuple(shape), listed=call.listed and len(shape) > 1 and shape[0] > 0)


def changed_operation(rng: random.Random, call: Call) -> Call:
    return replace(call, operation=rng.choice(("rearrange", "repeat", *REDUCTIONS, "summ", "", "var", "Max")))


CHANGES = (changed_characters, changed_words, changed_sizes, changed_shape, changed_operation)


def faulty_call(rng: random.Random) -> Call:
    """A call that is wrong, most of the time."""
    call = random_call(rng, most=24)
    for _ in range(rng.choice((1, 1, 1, 2))):
        call = rng.choice(CHANGES)(rng, call)
    return call


# Comparing


def outcome(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(), None
        except Exception as error:
            return None, error


def same(a: Any, b: Any) -> bool:
    """Whether two results are equal: type, shape, type of the entries and, up to the order of sums, values."""
    if isinstance(a, (list, tuple, dict)) or not hasattr(a, "shape"):
        if isinstance(a, dict):
            a, b = list(a.items()), list(b.items())
        if isinstance(a, (list, tuple)):
            return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
        return type(a) is type(b) and a == b
    if type(a) is not type(b) or a.shape != b.shape or a.dtype != b.dtype:
        return False
    a, b = np.asarray(a), np.asarray(b)
    return np.allclose(a, b, 1e-6, 1e-6, equal_nan=True) if a.dtype.kind in "fc" else bool((a == b).all())


def compare(call: Any, function: Callable[[Any], Any], counts: Counter) -> None:
    """``function`` of a library does the same for both; the second time too, when ricci has it in a table."""
    expected, wrong = outcome(lambda: function(theirs))
    outcome(lambda: function(ours))
    result, error = outcome(lambda: function(ours))
    assert error is None or isinstance(error, EinopsError), (call, error)
    assert (error is None) == (wrong is None), (call, "einops:", wrong, "ricci:", error)
    if wrong is None:
        assert same(result, expected), (call, result, expected)
    counts["equal" if wrong is None else "both raise"] += 1
    if wrong is not None and not isinstance(wrong, theirs.EinopsError):
        counts[f"einops leaks {type(wrong).__name__}"] += 1


def array_for(rng: random.Random, call: Call) -> np.ndarray:
    dtype = "float64" if call.operation == "mean" and rng.random() < 0.9 else rng.choice(("int64", "float64", "uint8"))
    return random_array(rng, call.shape, dtype)


def compare_call(rng: random.Random, call: Call, make: Callable[[np.ndarray], Any], counts: Counter) -> None:
    x = make(array_for(rng, call))
    compare(call, lambda library: call.on(library, x), counts)


def test_thousands_of_calls() -> None:
    counts: Counter = Counter()
    for seed in range(5_500):
        rng = random.Random(seed)
        call = faulty_call(rng) if seed % 2 else random_call(rng, most=24)
        compare_call(rng, call, lambda x: x, counts)
    assert counts["equal"] + counts["both raise"] == 5_500
    assert counts["equal"] > 2_500 and counts["both raise"] > 1_500, counts
    assert {"einops leaks ZeroDivisionError", "einops leaks ValueError"} <= set(counts)


def test_calls_with_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to compare with its tensors")
    counts: Counter = Counter()
    for seed in range(3_000):
        rng = random.Random(seed)
        call = faulty_call(rng) if seed % 3 else random_call(rng, most=24)
        if all(size >= 0 for size in call.sizes.values()):  # to torch, -1 is a size like the one before
            compare_call(rng, call, torch.from_numpy, counts)
    assert counts["equal"] > 1_000 and counts["both raise"] > 800, counts


def test_calls_with_jax() -> None:
    jnp = pytest.importorskip("jax.numpy", reason="jax is not installed: pip install jax to compare with its arrays")
    counts: Counter = Counter()
    for seed in range(150):
        rng = random.Random(seed)
        call = faulty_call(rng) if seed % 3 else random_call(rng, most=24)
        compare_call(rng, call, lambda x: jnp.asarray(x.astype("float32")), counts)
    assert counts["equal"] > 40 and counts["both raise"] > 40, counts


# parse_shape, pack, unpack, einsum


def random_parse_shape(rng: random.Random) -> tuple[tuple[int, ...], str]:
    names = rng.sample((*NAMES, "_", "_", "...", "1", "()", "2", "3", "(a)", "(...)"), rng.randint(0, 4))
    shape: list[int] = []
    for name in names:
        sizes = {"...": [2] * rng.randint(0, 2), "1": [1], "()": [1], "2": [2], "3": [3]}
        shape += sizes.get(name, [rng.choice((0, 1, 2, 3))])
    if rng.random() < 0.5:
        call = rng.choice(CHANGES[:4])(rng, Call("", " ".join(names), {}, tuple(shape)))
        return call.shape, call.pattern
    return tuple(shape), rng.choice((" ", "  ")).join(names)


def test_parse_shape() -> None:
    counts: Counter = Counter()
    for seed in range(3_000):
        shape, pattern = random_parse_shape(random.Random(seed))
        x = np.zeros(shape)
        compare((shape, pattern), lambda library, x=x, pattern=pattern: library.parse_shape(x, pattern), counts)
    assert counts["equal"] > 1_000 and counts["both raise"] > 800, counts


def random_packing(rng: random.Random) -> tuple[str, list[np.ndarray]]:
    """A pattern with arrays to be packed, which fit together half of the time."""
    names = rng.sample(NAMES, rng.randint(0, 3))
    outer = [rng.choice((1, 2, 3)) for _ in names]
    star = rng.randint(0, len(names))
    arrays, right = [], rng.random() < 0.5
    for _ in range(rng.choice((1, 2, 3, 3))):
        inner = [rng.choice((0, 1, 2, 3) if right else (1, 2, 3)) for _ in range(rng.randint(0, 2))]
        arrays.append(random_array(rng, (*outer[:star], *inner, *outer[star:]), rng.choice(("int64", "float64"))))
    pattern = " ".join([*names[:star], "*", *names[star:]])
    if not right:
        pattern = rng.choice(CHANGES[:2])(rng, Call("", pattern, {}, ())).pattern
    if rng.random() < 0.2:
        k = rng.randrange(len(arrays))
        shape = changed_shape(rng, Call("", "", {}, arrays[k].shape)).shape
        arrays[k] = random_array(rng, tuple(max(1, size) for size in shape), "int64")
    return pattern, arrays


def test_pack() -> None:
    counts: Counter = Counter()
    for seed in range(2_000):
        pattern, arrays = random_packing(random.Random(seed))
        compare((pattern, arrays), lambda library, p=pattern, a=arrays: library.pack(a, p), counts)
    assert counts["equal"] > 800 and counts["both raise"] > 500, counts


def random_unpacking(rng: random.Random) -> tuple[np.ndarray, list[Any], str]:
    """An array, shapes and a pattern; the shapes may be wrong, but not so that einops takes an entry twice."""
    names = rng.sample(NAMES, rng.randint(0, 2))
    star = rng.randint(0, len(names))
    shapes = [[rng.choice((1, 2, 3, 0)) for _ in range(rng.randint(0, 2))] for _ in range(rng.randint(0, 3))]
    whole = sum(int(np.prod(shape)) for shape in shapes)
    outer = [rng.choice((1, 2)) for _ in names]
    x = random_array(rng, (*outer[:star], whole, *outer[star:]), "int64")
    filled = [shape for shape in shapes if shape and 0 not in shape]
    if filled and rng.random() < 0.4:
        shape = rng.choice(filled)
        shape[rng.randrange(len(shape))] = -1
    elif filled and rng.random() < 0.5:
        rng.choice(filled)[0] = rng.choice((0, 1, 4, 5))
    pattern = " ".join([*names[:star], "*", *names[star:]])
    if rng.random() < 0.3:
        pattern = changed_words(rng, Call("", pattern, {}, ())).pattern
    return x, [tuple(shape) if rng.random() < 0.5 else shape for shape in shapes], pattern


def test_unpack() -> None:
    counts: Counter = Counter()
    for seed in range(2_000):
        x, shapes, pattern = random_unpacking(random.Random(seed))
        if x.size:
            call = lambda library, x=x, s=shapes, p=pattern: library.unpack(x, s, p)  # noqa: E731
            compare((x.shape, shapes, pattern), call, counts)
    assert counts["equal"] > 600 and counts["both raise"] > 300, counts


def random_einsum(rng: random.Random) -> tuple[list[np.ndarray], str]:
    """Operands and a pattern, which is right half of the time."""
    sizes = {name: rng.choice((1, 2, 3)) for name in rng.sample(NAMES, rng.randint(1, 5))}
    hidden = [rng.choice((2, 3))] * rng.randint(0, 1)
    sides, arrays = [], []
    dots = rng.random() < 0.3
    for _ in range(rng.choice((1, 2, 2, 3))):
        side = [rng.choice(list(sizes)) for _ in range(rng.randint(0, 3))]
        shape = [sizes[name] for name in side]
        if dots:
            at = rng.randint(0, len(side))
            side.insert(at, "...")
            shape[at:at] = hidden
        sides.append(side)
        arrays.append(random_array(rng, tuple(shape), "float64"))
    seen = sorted({name for side in sides for name in side if name != "..."})
    right = rng.sample(seen, rng.randint(0, len(seen))) + ["..."] * dots
    rng.shuffle(right)
    pattern = ", ".join(map(" ".join, sides)) + " -> " + " ".join(right)
    if rng.random() < 0.4:
        pattern = rng.choice(CHANGES[:2])(rng, Call("", pattern, {}, ())).pattern
    if rng.random() < 0.1:
        arrays.pop()
    return arrays, pattern


def test_einsum() -> None:
    counts: Counter = Counter()
    for seed in range(2_000):
        arrays, pattern = random_einsum(random.Random(seed))
        call = lambda library, a=arrays, p=pattern: library.einsum(*a, p)  # noqa: E731
        compare(([x.shape for x in arrays], pattern), call, counts)
    assert counts["equal"] > 700 and counts["both raise"] > 400, counts


# What is shared, and of what type it is


def layouts(x: np.ndarray) -> list[np.ndarray]:
    """The same numbers laid out in other ways."""
    backwards = x[tuple([slice(None, None, -1)] * x.ndim)].copy()[tuple([slice(None, None, -1)] * x.ndim)]
    return [x, x.copy("F"), backwards, np.repeat(x[..., None], 2, -1)[..., 0]]


def test_views_are_where_einops_has_them() -> None:
    seen: Counter = Counter()
    for seed in range(1_500):
        rng = random.Random(seed)
        call = replace(random_call(rng, most=24), listed=False)
        if call.operation in REDUCTIONS and seed % 3:
            continue
        x = rng.choice(layouts(random_array(rng, call.shape, "float64")))
        expected, wrong = outcome(lambda call=call, x=x: call.on(theirs, x))
        if wrong is not None:
            continue
        result, _ = outcome(lambda call=call, x=x: call.on(ours, x))
        shares = np.shares_memory(expected, x)
        assert np.shares_memory(result, x) == shares, (call, x.strides)
        assert (result is x) == (expected is x), call
        if isinstance(result, np.ndarray):
            assert result.flags.writeable == expected.flags.writeable, call
        seen[(call.operation, shares)] += 1
    assert min(seen["rearrange", True], seen["rearrange", False], seen["repeat", False]) > 30, seen


def test_views_of_tensors_are_where_einops_has_them() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to compare with its tensors")
    seen: Counter = Counter()
    for seed in range(1_500):
        rng = random.Random(seed)
        call = replace(random_call(rng, most=24), listed=False)
        x = torch.from_numpy(rng.choice(layouts(random_array(rng, call.shape, "float64"))[:2]))
        if call.operation in REDUCTIONS or x.numel() == 0:
            continue
        result, expected = call.on(ours, x), call.on(theirs, x)
        shares = expected.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert (result.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()) == shares, call
        assert (result is x) == (expected is x), call
        assert result.shape == expected.shape and (not shares or strides(result) == strides(expected)), call
        seen[(call.operation, shares)] += 1
    assert all(seen[name, shares] > 20 for name in ("rearrange", "repeat") for shares in (True, False)), seen


def strides(x: Any) -> list[int]:
    """Those of axes along which there is anything to go; the others are of no account."""
    return [step for step, size in zip(x.stride(), x.shape) if size > 1]


@pytest.mark.parametrize("pattern", ["a b -> a b", "... -> ...", "a ... -> a ...", "a b -> a  b", "a b->a b ..."])
def test_what_changes_nothing_gives_the_very_array(pattern: str) -> None:
    x = np.zeros((2, 3))
    for function in ("rearrange", "repeat"):
        expected, wrong = outcome(lambda function=function: getattr(theirs, function)(x, pattern))
        result, error = outcome(lambda function=function: getattr(ours, function)(x, pattern))
        assert (error is None) == (wrong is None) and (result is x) == (expected is x)


class Marked(np.ndarray):
    """A subclass that keeps its type through views."""


PATTERNS = [
    ("rearrange", "a b -> b a", {}),
    ("rearrange", "a b -> a b", {}),
    ("rearrange", "(a c) b -> a c b", {"c": 2}),
    ("rearrange", "a b -> (b a)", {}),
    ("repeat", "a b -> a b 3", {}),
    ("repeat", "a b -> (a 2) b", {}),
    ("repeat", "a b -> c a b", {"c": 1}),
    *[(name, "a b -> b", {}) for name in REDUCTIONS],
    *[(name, "a b ->", {}) for name in REDUCTIONS],
    *[(name, "(a c) b -> c ()", {"c": 2}) for name in REDUCTIONS],
]


@pytest.mark.parametrize("operation, pattern, sizes", PATTERNS)
def test_subclasses_of_arrays(operation: str, pattern: str, sizes: dict[str, int]) -> None:
    x = np.arange(12.0).reshape(4, 3)
    call = Call(operation, pattern, sizes, x.shape)
    compare(call, lambda library: call.on(library, x.view(Marked)), Counter())
    masked = np.ma.MaskedArray(x, x % 5 == 1)
    compare(call, lambda library: call.on(library, masked), Counter())
    result, expected = call.on(ours, masked), call.on(theirs, masked)
    np.testing.assert_array_equal(np.ma.getmaskarray(result), np.ma.getmaskarray(expected))


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("operation, pattern, sizes", PATTERNS[:7])
def test_matrices_of_numpy(operation: str, pattern: str, sizes: dict[str, int]) -> None:
    """They have two axes, whatever is done to them, so what einops makes of them depends on the order of its steps."""
    call = Call(operation, pattern, sizes, (4, 3))
    with pytest.raises(ours.EinopsError, match=r"np\.asarray"):
        call.on(ours, np.matrix(np.arange(12.0).reshape(4, 3)))


def test_subclasses_of_tensors() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to compare with its tensors")
    named = type("Named", (torch.Tensor,), {})
    x = torch.arange(12.0).reshape(4, 3)
    for made in (torch.nn.Parameter(x), x.as_subclass(named), torch.nn.Buffer(x)):
        for operation, pattern, sizes in PATTERNS:
            call = Call(operation, pattern, sizes, (4, 3))
            result, expected = call.on(ours, made), call.on(theirs, made)
            assert type(result) is type(expected) and result.requires_grad == expected.requires_grad, call
            assert torch.equal(result, expected), call


# Warnings


@pytest.mark.parametrize("function", ["rearrange", "reduce", "repeat", "parse_shape", "pack", "einsum"])
@pytest.mark.parametrize("name", ["in", "axis", "lambda", "None", "match", "axes"])
def test_warnings_about_names(name: str, function: str) -> None:
    """Of the same kinds and in the same words; each pattern is new, since both look at a pattern once."""
    x = np.zeros((2, 3))
    unique = f"{name} {function}_{name}"
    calls: dict[str, Callable[[Any], Any]] = {
        "rearrange": lambda library: library.rearrange(x, f"{unique} -> {unique}", **{name: 2}),
        "reduce": lambda library: library.reduce(x, f"{unique} -> {name}", "sum"),
        "repeat": lambda library: library.repeat(x, f"{unique} -> {unique} 2"),
        "parse_shape": lambda library: library.parse_shape(x, unique),
        "pack": lambda library: library.pack([x], f"{unique} *"),
        "einsum": lambda library: library.einsum(x, f"{unique} -> {name}"),
    }
    seen = []
    for library in (theirs, ours):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            calls[function](library)
        seen.append({(warning.category, str(warning.message)) for warning in caught})
    assert seen[0] == seen[1]
    assert bool(seen[0]) == (name in ("in", "axis", "lambda", "None"))


def test_a_warning_names_the_line_of_the_user() -> None:
    with pytest.warns(RuntimeWarning, match="keywords: for") as caught:
        ours.rearrange(np.zeros(2), "for -> for")
    assert caught[0].filename == __file__


# Where ricci differs on purpose


@pytest.mark.parametrize(
    "size", [2.0, True, np.float64(2), np.float32(2), np.bool_(True), "2", None, 2.5, float("nan"), 2j]
)
@pytest.mark.parametrize("operation", ["rearrange", "repeat", "sum"])
def test_only_integers_are_sizes(size: Any, operation: str) -> None:
    with pytest.raises(EinopsError):
        Call(operation, "(a b) -> a b", {"a": size}, (4,)).on(ours, np.zeros(4))


def test_integers_of_numpy_are_checked() -> None:
    """einops compares only sizes that are ``int``, and gives an array that is not what the pattern says."""
    x = np.zeros((3, 2))
    assert theirs.rearrange(x, "a b -> b a", a=np.int64(7)).shape == (2, 3)
    with pytest.raises(EinopsError, match="3 != 7"):
        ours.rearrange(x, "a b -> b a", a=np.int64(7))
    for size in (np.int64(3), np.uint8(3), np.int32(3), np.array(3)):
        assert ours.rearrange(x, "(a c) b -> b a c", a=size).shape == (2, 3, 1)
        with pytest.raises(EinopsError):
            ours.rearrange(x, "a (b c) -> b a c", c=size)


def test_negative_sizes_are_refused() -> None:
    """With tensors of PyTorch einops lets -1 pass."""
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to test with its tensors")
    for x in (torch.zeros(3), np.zeros(3)):
        for operation in ("repeat", "rearrange"):
            with pytest.raises(EinopsError, match="negative"):
                Call(operation, "(a b) -> a b", {"b": -1}, (3,)).on(ours, x)
        with pytest.raises(EinopsError, match="negative"):
            ours.repeat(x, "a -> a b", b=-1)


def test_arrays_without_entries_are_packed() -> None:
    x = np.zeros((2, 0, 3))
    packed, shapes = ours.pack([x, np.zeros((2, 0, 4, 3))], "a b * c")
    assert packed.shape == (2, 0, 5, 3) and shapes == [(), (4,)]
    assert [part.shape for part in ours.unpack(packed, shapes, "a b * c")] == [(2, 0, 3), (2, 0, 4, 3)]


def test_no_entry_is_unpacked_twice() -> None:
    """einops cuts 5 entries into 2, none and 4, two of which it gives twice."""
    x = np.arange(5)
    assert [part.tolist() for part in theirs.unpack(x, [[2], [-1], [4]], "*")] == [[0, 1], [], [1, 2, 3, 4]]
    with pytest.raises(EinopsError, match="could not split"):
        ours.unpack(x, [[2], [-1], [4]], "*")
