"""What the errors say: the pattern with a caret under the fault, the shape, the sizes, and what to write instead."""

from __future__ import annotations

import enum
import fractions
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ricci.einops as einops
from ricci.errors import EinopsError, RicciError

X = np.arange(24.0).reshape(4, 6)


def error_of(function: Callable, *args: Any, **kwargs: Any) -> EinopsError:
    with pytest.raises(EinopsError) as caught:
        function(*args, **kwargs)
    error = caught.value
    assert isinstance(error, RicciError) and isinstance(error, RuntimeError)  # the second as in einops
    return error


def marked(error: EinopsError, pattern: str) -> tuple[int, str]:
    """Where the caret is, and the text above it."""
    lines = str(error).splitlines()
    at = lines.index("  " + pattern)
    below = lines[at + 1]
    start = below.index("^") - 2
    assert set(below.strip()) == {"^"}
    return start, pattern[start : start + below.count("^")]


# Patterns that cannot be read: (pattern, what is marked, where, words of the message)
UNREADABLE = [
    ("a a -> a", "a", 2, "duplicate"),
    ("a b -> a b b", "b", 11, "duplicate"),
    ("a (b c) (a d) -> a b c d", "a", 9, "duplicate"),
    ("... a ... -> a", "...", 6, "..."),
    ("a ... -> ... a ...", "...", 15, "..."),
    ("a b -> b -> a", "->", 9, "one arrow"),
    ("a b", "b", 2, "no arrow"),
    ("(a b -> a b", "(", 0, "not closed"),
    ("a) b -> a b", ")", 1, "not opened"),
    ("((a b) c) -> a b c", "(", 1, "brackets inside brackets"),
    ("a b -> a b)", ")", 10, "not opened"),
    ("a _b -> a _b", "_b", 2, "underscore"),
    ("a b_ -> a b_", "b_", 2, "underscore"),
    ("a 1b -> a 1b", "1b", 2, "identifier"),
    ("a 0 -> a", "0", 2, "positive"),
    ("a b! -> a b", "!", 3, "character '!'"),
    ("a,b -> a b", ",", 1, "character ','"),
    ("a (b + c) -> a b c", "+", 5, "character '+'"),
    ("a b.. -> a b", "b..", 2, "dots"),
    (".. b -> b", "..", 0, "dots"),
    ("a -b -> a b", "-", 2, "character '-'"),
]


@pytest.mark.parametrize("pattern, word, column, message", UNREADABLE)
def test_unreadable_patterns(pattern: str, word: str, column: int, message: str) -> None:
    for call in (lambda: einops.rearrange(X, pattern), lambda: einops.reduce(X, pattern, "sum")):
        error = error_of(call)
        assert marked(error, pattern) == (column, word)
        assert message in str(error).lower() or message in str(error)
        assert "(4, 6)" in str(error)


# Patterns that mean nothing for the operation: (operation, pattern, sizes, marked, where, words of the message)
MEANINGLESS = [
    ("rearrange", "a b -> a", {}, "b", 2, ["on one side", "b", "reduce"]),
    ("rearrange", "a b -> a b c", {}, "c", 11, ["on one side", "c", "repeat"]),
    ("rearrange", "high wide -> high wid", {}, "wide", 5, ["on one side", "'wide'"]),
    ("rearrange", "a 2 -> a", {}, "2", 2, ["anonymous", "name"]),
    ("rearrange", "a b -> ... a b", {}, "...", 7, ["right side"]),
    ("rearrange", "(...) a -> ... a", {}, "...", 1, ["left side"]),
    ("repeat", "a b -> a", {}, "b", 2, ["left side of repeat", "reduce"]),
    ("repeat", "a b -> a b copies", {}, "copies", 11, ["Specify sizes", "copies=..."]),
    ("sum", "a b -> a c", {}, "c", 9, ["right side of reduce", "repeat"]),
    ("max", "a b -> a 2", {}, "2", 9, ["right side of reduce", "repeat"]),
    ("rearrange", "(a b c) d -> a b c d", {"a": 2}, "b c", 3, ["infer", "c=..."]),
    ("rearrange", "(high low) d -> high low d", {}, "high low", 1, ["infer", "low=..."]),
    ("rearrange", "a b c -> c b a", {}, "a b c", 0, ["3 dims", "2-dim"]),
    ("rearrange", "a -> a", {}, "a", 0, ["1 dims", "2-dim"]),
    ("rearrange", "a b c ... -> c b a ...", {}, "a b c ...", 0, ["at least 3", "2-dim"]),
]


def called(operation: str, x: Any, pattern: str, **sizes: Any) -> Any:
    if operation in ("rearrange", "repeat"):
        return getattr(einops, operation)(x, pattern, **sizes)
    return einops.reduce(x, pattern, operation, **sizes)


@pytest.mark.parametrize("operation, pattern, sizes, word, column, words", MEANINGLESS)
def test_patterns_that_do_not_fit(
    operation: str, pattern: str, sizes: dict, word: str, column: int, words: list[str]
) -> None:
    error = error_of(called, operation, X, pattern, **sizes)
    assert marked(error, pattern) == (column, word)
    for part in [*words, "(4, 6)", *[f"{name}={size}" for name, size in sizes.items()]]:
        assert part in str(error)


# Sizes: (pattern, sizes, marked, where, words of the message)
SIZES = [
    ("(a b) c -> a b c", {"a": 3}, "a b", 1, ["4", "3", "not a multiple"]),
    ("a (b c) -> a b c", {"c": 4}, "b c", 3, ["6", "4", "not a multiple"]),
    ("(a b) c -> a b c", {"a": 3, "b": 2}, "a b", 1, ["4 != 6"]),
    ("a b -> b a", {"b": 5}, "b", 2, ["6 != 5"]),
    ("a b -> b a", {"a": 0}, "a", 0, ["4 != 0"]),
    ("a (b c) -> a b c", {"b": 0}, "b c", 3, ["size 0"]),
    ("a (b c) -> a b c", {"c": -2}, "c", 5, ["negative", "-2"]),
    ("a (b c) -> a b c", {"c": np.int32(-2)}, "c", 5, ["negative", "-2"]),
    ("a (b c) -> a b c", {"b": 2.0}, "b", 3, ["integer", "2.0", "b=2"]),
    ("a (b c) -> a b c", {"b": np.float32(2)}, "b", 3, ["integer"]),
    ("a (b c) -> a b c", {"b": True}, "b", 3, ["integer", "True"]),
    ("a (b c) -> a b c", {"b": np.True_}, "b", 3, ["integer"]),
    ("a (b c) -> a b c", {"b": "2"}, "b", 3, ["integer", "'2'"]),
    ("a (b c) -> a b c", {"b": None}, "b", 3, ["integer", "None"]),
    ("a (b c) -> a b c", {"b": 2.5}, "b", 3, ["integer", "2.5"]),
    ("a (b c) -> a b c", {"b": float("nan")}, "b", 3, ["integer", "nan"]),
    ("a (b c) -> a b c", {"b": float("inf")}, "b", 3, ["integer", "inf"]),
    ("a (b c) -> a b c", {"b": fractions.Fraction(2)}, "b", 3, ["integer"]),
    ("a (b c) -> a b c", {"b": [2]}, "b", 3, ["integer"]),
    ("a (b c) -> a b c", {"b": np.array([2])}, "b", 3, ["integer"]),
    ("a (b c) -> a b c", {"b": np.array(4)}, "b c", 3, ["not a multiple"]),
    ("a 1 -> a", {}, "1", 2, ["6", "must be 1"]),
    ("a () -> a", {}, "()", 2, ["6", "must be 1"]),
]


@pytest.mark.parametrize("pattern, sizes, word, column, words", SIZES)
def test_sizes_that_do_not_fit(pattern: str, sizes: dict, word: str, column: int, words: list[str]) -> None:
    error = error_of(einops.rearrange, X, pattern, **sizes)
    assert marked(error, pattern) == (column, word)
    for part in [*words, "(4, 6)"]:
        assert part in str(error)
    for name, size in sizes.items():
        assert f"{name}={size}" in str(error) or repr(size) in str(error) or str(size) in str(error)


def test_numbers_that_do_not_fit() -> None:
    error = error_of(einops.reduce, X, "a (b 4) -> a b", "sum")
    assert marked(error, "a (b 4) -> a b") == (3, "b 4") and "not a multiple of 4" in str(error)
    error = error_of(einops.reduce, X, "a 5 -> a", "sum")
    assert marked(error, "a 5 -> a") == (2, "5") and "6 != 5" in str(error)


def test_a_hint_is_not_wrong() -> None:
    """2.5 is not nearly 2."""
    assert "b=2." not in str(error_of(einops.rearrange, X, "a (b c) -> a b c", b=2.5)).replace("b=2.5", "")


def test_a_repeated_name_is_marked_on_the_side_at_fault() -> None:
    error = error_of(einops.repeat, X, "a b -> a b ab aa", ab=2)
    assert marked(error, "a b -> a b ab aa") == (14, "aa")
    error = error_of(einops.rearrange, X, "ab (a b) -> ab a b", b=5)
    assert marked(error, "ab (a b) -> ab a b") == (4, "a b")


@pytest.mark.parametrize(
    "name, near", [("hieght", "height"), ("heigth", "height"), ("wdith", "width"), ("heights", "height")]
)
def test_a_misspelt_keyword_is_told_the_near_one(name: str, near: str) -> None:
    pattern = "(height n) (width m) -> height width (n m)"
    error = error_of(einops.rearrange, X, pattern, **{name: 2, "m": 3})
    assert f"Did you mean {near!r}?" in str(error)
    for part in (name, "(4, 6)", f"{name}=2", "m=3", pattern):
        assert part in str(error)


def test_a_keyword_that_is_like_none_is_told_all() -> None:
    text = str(error_of(einops.rearrange, X, "(h n) w -> h n w", qqq=2))
    assert "h, n, w" in text and "qqq" in text


@pytest.mark.parametrize(
    "name, near", [("summ", "sum"), ("maximum", "max"), ("avg", ""), ("Sum", "sum"), ("mea", "mean")]
)
def test_unknown_reductions(name: str, near: str) -> None:
    text = str(error_of(einops.reduce, X, "a b -> a", name))
    assert f"Unknown reduction {name}" in text and "(4, 6)" in text
    for known in ("min", "max", "sum", "mean", "prod", "any", "all"):
        assert known in text
    if near:
        assert f"Did you mean {near!r}?" in text


@pytest.mark.parametrize("reduction", [None, 3, ["sum"], ("sum",), 2.0])
def test_reductions_that_are_neither_a_name_nor_a_function(reduction: Any) -> None:
    text = str(error_of(einops.reduce, X, "a b -> a", reduction))
    assert repr(reduction) in text and "function" in text


class Names(list):
    pass


# What is no array

OPERATIONS = [
    lambda x: einops.rearrange(x, "a -> a"),
    lambda x: einops.reduce(x, "a -> ", "sum"),
    lambda x: einops.repeat(x, "a -> a 2"),
    lambda x: einops.parse_shape(x, "a"),
    lambda x: einops.pack([x], "*"),
    lambda x: einops.unpack(x, [()], "*"),
    einops.asnumpy,
    lambda x: einops.einsum(x, "a -> a"),
]


@pytest.mark.parametrize(
    "operation", OPERATIONS, ids=["rearrange", "reduce", "repeat", "shape", "pack", "unpack", "asnumpy", "einsum"]
)
@pytest.mark.parametrize("x", [1.5, 3, None, "text", (1, 2), {"a": 1}, object(), [[1, 2]], [1.0, 2.0], X.shape])
def test_what_is_no_array(x: Any, operation: Callable) -> None:
    text = str(error_of(operation, x))
    assert "einops" in text or "array" in text.lower() or "list" in text
    if not isinstance(x, list):
        assert type(x).__name__ in text


@pytest.mark.parametrize(
    "call", [lambda p: einops.rearrange([], p), lambda p: einops.reduce([], p, "sum"), lambda p: einops.repeat([], p)]
)
def test_empty_lists(call: Callable) -> None:
    error = error_of(call, "a -> a")
    assert isinstance(error, TypeError)  # as in einops
    assert "empty list" in str(error)
    assert "pack" in str(error_of(einops.pack, [], "*"))


def test_lists_of_unequal_shapes() -> None:
    text = str(error_of(einops.rearrange, [np.zeros(2), np.zeros(2), np.zeros(3)], "a b -> b a"))
    assert "(2,)" in text and "(3,)" in text and "element 2" in text.lower() and "pack" in text


def test_lists_of_mixed_types() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to mix its tensors in")
    text = str(error_of(einops.rearrange, [np.zeros(2), torch.zeros(2)], "a b -> b a"))
    assert "numpy.ndarray" in text and "torch.Tensor" in text and "1" in text
    assert "torch.Tensor" in str(error_of(einops.pack, [np.zeros(2), torch.zeros(2)], "*"))
    error_of(einops.rearrange, [np.zeros(2), 1.0], "a b -> b a")
    error_of(einops.rearrange, [np.zeros(2), [1.0, 2.0]], "a b -> b a")


@pytest.mark.parametrize("pattern", [5, None, ["a -> a"], ("a", "a"), b"a -> a", 2.0, X])
def test_patterns_that_are_no_text(pattern: Any) -> None:
    for call in (
        lambda: einops.rearrange(np.zeros(3), pattern),
        lambda: einops.reduce(np.zeros(3), pattern, "sum"),
        lambda: einops.repeat(np.zeros(3), pattern),
        lambda: einops.parse_shape(np.zeros(3), pattern),
        lambda: einops.pack([np.zeros(3)], pattern),
        lambda: einops.unpack(np.zeros(3), [(3,)], pattern),
    ):
        text = str(error_of(call))
        assert ("pattern" in text.lower() and type(pattern).__name__ in text) or repr(pattern) in text


def test_scalars_of_numpy() -> None:
    """They say that they follow the standard of arrays, and are taken as arrays without axes, or refused."""
    x = np.float64(2.0)
    for operation in OPERATIONS:
        try:
            operation(x)
        except EinopsError:
            continue


# The other functions


PARSE = [
    ("a b c", "a b c", 0, ["3", "2"]),
    ("a (b c)", "(b c)", 2, ["composite"]),
    ("a 5", "5", 2, ["6", "5"]),
    ("1 a", "1", 0, ["4", "1"]),
    ("a b -> c", "->", 4, ["one side"]),
    ("a (...)", "...", 3, ["llipsis"]),
    ("a a", "a", 2, ["duplicate"]),
]


@pytest.mark.parametrize("pattern, word, column, words", PARSE)
def test_parse_shape(pattern: str, word: str, column: int, words: list[str]) -> None:
    error = error_of(einops.parse_shape, X, pattern)
    for part in [*words, "(4, 6)"]:
        assert part in str(error)
    start, text = marked(error, pattern)
    assert start <= column and column + len(word) <= start + len(text)


PACK = [
    ("a b", "a b", 0, ["*"]),
    ("a * b *", "*", 6, ["uplicate"]),
    ("a a *", "a", 2, ["uplicate"]),
    ("a 1 *", "1", 2, ["Invalid"]),
    ("a _b *", "_b", 2, ["Invalid", "underscore"]),
    ("a (b) *", "(b)", 2, ["Invalid"]),
    ("a b c *", "a b c *", 0, ["(4, 6)", "at least 3 dims"]),
]


@pytest.mark.parametrize("pattern, word, column, words", PACK)
def test_pack(pattern: str, word: str, column: int, words: list[str]) -> None:
    for call in (lambda: einops.pack([X], pattern), lambda: einops.unpack(X, [(6,)], pattern)):
        error = error_of(call)
        assert marked(error, pattern) == (column, word)
    error = error_of(einops.pack, [X], pattern)
    for part in words:
        assert part in str(error)


def test_pack_of_shapes_that_do_not_agree() -> None:
    text = str(error_of(einops.pack, [np.zeros((2, 3)), np.zeros((2, 4)), np.zeros((3, 4))], "a *"))
    assert "(3, 4)" in text and "2" in text and "a *" in text


@pytest.mark.parametrize(
    "shapes", [[(5,)], [(2,), (2,)], [(-1,), (-1,)], [(4, -1), (3,)], [(-1, -1)], [(7,), (-1,)], [(-2,)]]
)
def test_unpack_into_shapes_that_do_not_fit(shapes: list) -> None:
    error = error_of(einops.unpack, X, shapes, "a *")
    assert marked(error, "a *") == (2, "*")
    assert "6" in str(error) and str(shapes) in str(error)


@pytest.mark.parametrize("shapes", [[3, 3], None, 5, [(2.0,), (4,)], [("a",)], [(True,), (5,)], [None]])
def test_unpack_into_what_are_no_shapes(shapes: Any) -> None:
    assert "shapes" in str(error_of(einops.unpack, X, shapes, "a *"))


EINSUM = [
    (("a b, b c",), ValueError, "->"),
    (("a b -> a z",), EinopsError, "z"),
    (("(a b) c -> a b c",), NotImplementedError, "Shape rearrangement"),
    (("a b -> (a b)",), NotImplementedError, "Shape rearrangement"),
    (("a 1 -> a",), NotImplementedError, "Singleton"),
    (("a () -> a",), NotImplementedError, "Singleton"),
    (("a 6 -> a",), NotImplementedError, "Anonymous"),
    ((X, "a b -> a"), EinopsError, "2"),
    (("a b c -> a",), EinopsError, "3"),
    ((5,), ValueError, "string"),
]


@pytest.mark.parametrize("rest, kind, word", EINSUM)
def test_einsum(rest: tuple, kind: type, word: str) -> None:
    error = error_of(einops.einsum, X, *rest)
    assert isinstance(error, kind) and word in str(error)
    if isinstance(rest[-1], str):
        assert rest[-1] in str(error)


def test_einsum_without_arguments() -> None:
    for args in ((), (X,), ("a -> a",)):
        assert isinstance(error_of(einops.einsum, *args), ValueError)  # as in einops


def test_einsum_of_sizes_that_do_not_agree() -> None:
    error = error_of(einops.einsum, np.zeros((2, 3)), np.zeros((4, 5)), "i k, k j -> i j")
    for part in ("k", "3", "4", "i k, k j -> i j"):
        assert part in str(error)
    assert marked(error, "i k, k j -> i j")[1].strip() == "k"


# Errors as objects


def test_errors_survive_pickling() -> None:
    error = error_of(einops.rearrange, X, "(a b) c -> a b c", a=3)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_errors_are_the_same_again() -> None:
    """A failed call leaves nothing behind that changes the next one."""
    texts = {str(error_of(einops.rearrange, X, "(a b) c -> a b c", a=3)) for _ in range(3)}
    texts |= {str(error_of(einops.rearrange, X, "(a b) c -> a b c", a=np.int64(3)))}
    assert len(texts) == 1
    other = str(error_of(einops.rearrange, np.zeros((5, 1)), "(a b) c -> a b c", a=3))
    assert "(5, 1)" in other and "(4, 6)" not in other


def test_errors_of_tensors_are_those_of_arrays() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch to test with its tensors")
    for pattern, sizes, *_ in SIZES:
        text = str(error_of(einops.rearrange, X, pattern, **sizes))
        assert str(error_of(einops.rearrange, torch.from_numpy(X), pattern, **sizes)) == text


class Two(enum.IntEnum):
    PARTS = 2


def test_integers_of_other_kinds_are_sizes() -> None:
    for size in (Two.PARTS, np.int8(2), np.uint64(2), np.array(2)):
        assert einops.rearrange(X, "(a b) c -> a b c", a=size).shape == (2, 2, 6)


def test_subclasses_of_list_are_lists() -> None:
    assert einops.rearrange(Names([np.zeros(2), np.zeros(2)]), "a b -> b a").shape == (2, 2)  # pyright: ignore[reportAttributeAccessIssue]
