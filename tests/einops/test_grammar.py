"""Reading patterns: what einops' language holds, against a reader of its own, and what it does not hold."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import random_call, read_side

from ricci.einops.grammar import (
    EINOPS,
    ELLIPSIS,
    PACKED,
    PRODUCTS,
    SHAPE,
    SIGNATURE,
    WIDE,
    Joined,
    names_of,
    parse,
    parse_side,
    side_text,
    span_of,
)
from ricci.errors import EinopsError

RANDOM = st.randoms(use_true_random=False)


def as_lists(side: tuple) -> list[list[str]]:
    """A side as the reference has it; numbers as they are written."""
    return [[ELLIPSIS] if group == ELLIPSIS else [str(axis) for axis in group] for group in side]


def plain(side: list[list[str]]) -> list[list[str]]:
    return [[axis[1:].split(".")[0] if axis[0] == "#" else axis for axis in group] for group in side]


@settings(max_examples=400)
@given(rng=RANDOM)
def test_random_patterns_are_read_as_by_the_reference(rng: random.Random) -> None:
    text = random_call(rng).pattern
    before, after = text.split("->")
    found = parse(text)
    assert found.text == text and found.right is not None
    assert as_lists(found.left[0]) == plain(read_side(before))
    assert as_lists(found.right[0]) == plain(read_side(after))
    for dialect in (EINOPS, WIDE, PRODUCTS, SIGNATURE):  # the wider languages hold the narrower one
        assert parse(text, dialect) == found


@settings(max_examples=300)
@given(rng=RANDOM)
def test_what_is_written_is_read_again(rng: random.Random) -> None:
    side = parse(random_call(rng).pattern).left[0]
    assert parse_side(side_text(side)) == side


@settings(max_examples=500)
@given(text=st.text(alphabet="ab1 2()._->,+*é²…\t\n", max_size=14))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Never another exception, for any text, in all dialects; and a caret that is inside the text."""
    for dialect in (EINOPS, WIDE, PRODUCTS, SHAPE, PACKED, SIGNATURE):
        try:
            found = parse(text, dialect)
        except EinopsError as error:
            assert 0 <= error.start <= len(text) and str(error)
        else:
            sides = [*found.left, *(found.right or ())]
            assert all(isinstance(group, (tuple, str)) for side in sides for group in side)


UNITS = [("1", ((),)), ("()", ((),)), ("( )", ((),)), ("(1)", ((),)), ("(1 1)", ((),)), ("01", ((),)), ("", ())]


@pytest.mark.parametrize("text, side", UNITS)
def test_ones_are_left_out(text: str, side: tuple) -> None:
    assert parse_side(text) == side


@pytest.mark.parametrize(
    "text, side",
    [
        ("a", (("a",),)),
        ("(a)", (("a",),)),
        ("(a b)c", (("a", "b"), ("c",))),
        ("a(b 1 c)2", (("a",), ("b", "c"), (2,))),
        ("... a", (ELLIPSIS, ("a",))),
        ("(... a) b", ((ELLIPSIS, "a"), ("b",))),
        ("2 2 (2 a)", ((2,), (2,), (2, "a"))),
        ("ß _", (("ß",), ("_",))),
        ("_ _", (("_",), ("_",))),
    ],
)
def test_sides(text: str, side: tuple) -> None:
    assert parse_side(text, SHAPE) == side


def test_several_operands_and_sums() -> None:
    found = parse("b c, b d e -> b (c + d e + 2)", WIDE)
    assert found.left == ((("b",), ("c",)), (("b",), ("d",), ("e",)))
    assert found.right == ((("b",), Joined((("c",), ("d", "e"), (2,)))),)
    assert isinstance(found.right[0][1], Joined) and names_of(found.right[0]) == ["b", "c", "d", "e", 2]  # pyright: ignore[reportOptionalSubscript]
    assert side_text(found.right[0]) == "b (c + d e + 2)"  # pyright: ignore[reportOptionalSubscript]


@pytest.mark.parametrize("text", ["a + b", "(a + ) -> a b +", "a, b -> + c"])
def test_sums_outside_parentheses(text: str) -> None:
    with pytest.raises(EinopsError, match=r"parentheses|character"):
        parse(text, WIDE)


@pytest.mark.parametrize("text", ["a,b", "(a + b)", "a b, c -> a"])
def test_the_wider_language_is_not_einops(text: str) -> None:
    with pytest.raises(EinopsError, match=r"rc\.rearrange"):
        parse(text)


@pytest.mark.parametrize(
    "text, axis, left, span",
    [
        ("a ab b -> ab b a", "b", True, (5, 6)),
        ("a ab b -> ab b a", "b", False, (13, 14)),
        ("a ab b -> ab b a", "ab", True, (2, 4)),
        ("a ... -> ... a", "...", False, (9, 12)),
        ("12 2 -> 2", 2, True, (3, 4)),
        ("a -> a b", "b", True, (7, 8)),
        ("a -> a b", "q", True, (0, 8)),
        ("(a.b", "a", True, (0, 4)),
    ],
)
def test_where_an_axis_is_named(text: str, axis: object, left: bool, span: tuple[int, int]) -> None:
    assert span_of(text, axis, left) == span


def test_an_axis_twice_where_that_is_allowed() -> None:
    assert parse("i i -> i", PRODUCTS).left == ((("i",), ("i",)),)
    with pytest.raises(EinopsError, match="duplicate"):
        parse("i -> i i", PRODUCTS)  # only the left side is a diagonal
    with pytest.raises(EinopsError, match="duplicate"):
        parse("i i -> i", WIDE)


def test_long_patterns_are_read_in_time() -> None:
    """A thousand axes; and a fault at the end of a long text is shown, cut to fit."""
    names = [f"axis{k}" for k in range(1000)]
    text = " ".join(names) + " -> (" + " ".join(names) + ")"
    assert len(parse(text).left[0]) == 1000
    with pytest.raises(EinopsError) as caught:
        parse(text + " !")
    shown = str(caught.value).splitlines()
    assert max(map(len, shown)) < 130 and shown[2].index("^") == shown[1].index("!")
