"""Joining and splitting by +: against slices and concatenations written out, and round trips."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricci.caches import cache_clear
from ricci.einops import watch
from ricci.einops.blocks import JOIN, rearrange_many
from ricci.errors import EinopsError, EinopsTypeError

RNG = np.random.default_rng(0)


def join(tensors, pattern, **sizes):
    return rearrange_many(tensors, pattern, sizes)


@st.composite
def joins(draw):
    """Pieces with axes of their own beside common ones, and the axis in which they are one after the other."""
    sizes = {name: draw(st.integers(0, 3)) for name in "abcdefg"}
    common = draw(st.lists(st.sampled_from("ab"), unique=True))
    own = [draw(st.sampled_from([[x], [x, y]])) for x, y in (("c", "d"), ("e", "f"))]
    own += draw(st.sampled_from([[], [["g"]], [[]]]))
    own = draw(st.permutations(own))
    place = draw(st.integers(0, len(common)))
    sides = [draw(st.permutations([*common, *piece])) for piece in own]
    joined = "(" + " + ".join([" ".join(piece) or "1" for piece in own]) + ")"
    right = " ".join([*common[:place], joined, *common[place:]])
    return common, own, place, sides, right, sizes


@settings(max_examples=250, deadline=None)
@given(joins())
def test_join_and_split(case):
    common, own, place, sides, right, sizes = case
    arrays = [np.asarray(RNG.random([sizes[name] for name in side])) for side in sides]
    left = ", ".join([" ".join(side) for side in sides])
    flat = []
    for piece, side, x in zip(own, sides, arrays, strict=True):
        order = [*common[:place], *piece, *common[place:]]
        moved = x.transpose([side.index(name) for name in order])
        shape = [sizes[n] for n in common[:place]], [sizes[n] for n in common[place:]]
        flat.append(moved.reshape(*shape[0], math.prod([sizes[n] for n in piece]), *shape[1]))
    expected = np.concatenate(flat, axis=place)
    for _ in range(2):
        assert np.array_equal(join(arrays, f"{left} -> {right}"), expected)
    given_sizes = {name: sizes[name] for piece in own for name in piece}
    parts = join(expected, f"{right} -> {left}", **given_sizes)
    assert isinstance(parts, list)
    for part, x in zip(parts, arrays, strict=True):
        assert np.array_equal(part, x)


def test_orders_units_and_products():
    x, y = RNG.random((2, 3)), RNG.random((2, 4))
    z = join((x, y), "b c, b d -> b (c + d)")
    assert np.array_equal(join(z, "b (c + d) -> (d + c) b", c=3), np.concatenate([y, x], 1).T)
    assert np.array_equal(join([x, y[:, 0]], "b c, b -> b (1 + c)"), np.concatenate([y[:, :1], x], 1))
    image, token = RNG.random((2, 4, 5, 3)), RNG.random((2, 3))
    both = join([image, token], "b h w c, b c -> b (h w + 1) c")
    assert both.shape == (2, 21, 3)
    one, other = join(both, "b (h w + 1) c -> b h w c, b c", h=4)
    assert np.array_equal(one, image) and np.array_equal(other, token)


def test_several_joined_axes():
    q = RNG.random((5, 7))
    blocks = join(q, "(a + b) (c + d) -> a c, a d, b c, d b", a=2, c=3)
    expected = [q[:2, :3], q[:2, 3:], q[2:, :3], q[2:, 3:].T]
    assert all(map(np.array_equal, blocks, expected))
    assert np.array_equal(join(blocks, "a c, a d, b c, d b -> (a + b) (c + d)"), q)
    moved = join(q, "(a + b) (c + d) -> (d + c) (b + a)", a=2, c=3)
    assert np.array_equal(moved, np.block([[q[2:, 3:].T, q[:2, 3:].T], [q[2:, :3].T, q[:2, :3].T]]))


def test_pieces_with_equal_axes_are_taken_in_order():
    x, y = RNG.random((2, 3)), RNG.random((2, 3))
    one, other = join([x, y], "b c, b c -> c b, b c")
    assert np.array_equal(one, x.T) and np.array_equal(other, y)


def test_ellipsis_and_stacked_lists():
    q = RNG.random((2, 3, 7))
    assert np.array_equal(join(q, "... (c + d) -> (d + c) ...", c=3), np.moveaxis(np.roll(q, -3, 2), 2, 0))
    parts = join([q[0], q[1]], "k a (c + d) -> k a c, k a d", c=3)
    assert [part.shape for part in parts] == [(2, 3, 3), (2, 3, 4)]


def test_slices_are_views():
    z = RNG.random((2, 7))
    assert all(np.shares_memory(part, z) for part in join(z, "b (c + d) -> b c, d b", c=3))


ERRORS = [
    (
        lambda x, y: join([x, y], "b c, b d -> b (c + e)"),
        "The piece with the axes b e on the right is not on",
    ),
    (lambda x, y: join([x, y], "b c, b d -> b (c + e)"), "  b c, b d -> b (c + e)\n                     ^\n"),
    (lambda x, y: join([x, y], "b c, b d -> b c"), "The piece with the axes b d on the left is not on the right."),
    (lambda x, y: join(x, "b (c + d) -> b c, b d"), "Could not infer sizes for c, d."),
    (lambda x, y: join(x, "b (c + d) -> b c, b d", c=9), "(c + d) has size 3, and with c=9 it leaves -6"),
    (lambda x, y: join(x, "b (c + d) -> b c, b d", c=1, d=1), "(c + d) has size 3, and with c=1, d=1 it is 2."),
    (lambda x, y: join(x, "b (c + d e) -> b c, b d e", c=0, d=2), "it leaves 3 for a multiple of 2"),
    (lambda x, y: join(x, "b (c + d) -> b c, b d", cc=1), "Did you mean 'c'?"),
    (lambda x, y: join(x, "b (c + d) -> b c, b d", c=1.0), "The size of axis c must be an integer, not 1.0."),
    (
        lambda x, y: join([x, y], "b c, d c -> (b + d) c"),
        "Shape mismatch, 4 != 3: axis c is 3 in array 0, 4 in array 1.",
    ),
    (lambda x, y: join([x, y], "b c -> b c, b d"), "a list of 2 with unequal shapes was given"),
    (lambda x, y: join([x, y], "b c, b d"), "The pattern has no arrow."),
    (lambda x, y: join([x, y], "b c, b d, e -> b (c + d), e"), "The pattern is of 3 arrays, and 2 were given."),
    (lambda x, y: join(x, "b (c + 2) -> b c, b 2"), "Numbers are no axes in rc.rearrange."),
    (lambda x, y: join([x, y], "b c e, b d -> b (c e + d)"), "Wrong shape: expected 3 dims of array 0."),
    (lambda x, y: join([], "b c, b d -> b (c + d)"), "rc.rearrange was given an empty list"),
    (lambda x, y: join([x, y], "b c, b d -> b + d"), "Write + between axes inside parentheses"),
]


@pytest.mark.parametrize("call, message", ERRORS)
def test_messages(call, message):
    with pytest.raises(EinopsError) as caught:
        call(np.ones((2, 3)), np.ones((2, 4)))
    assert message in str(caught.value)


def test_shapes_are_in_messages():
    with pytest.raises(EinopsError, match=r"Input shape: \(2, 3\). Sizes given: c=9."):
        join(np.ones((2, 3)), "b (c + d) -> b c, b d", c=9)


def test_kinds_are_not_mixed():
    torch = pytest.importorskip("torch", reason="tensors of PyTorch")
    with pytest.raises(EinopsTypeError, match="several kinds"):
        join([np.ones((2, 3)), torch.ones(2, 4)], "b c, b d -> b (c + d)")


def test_a_failed_call_leaves_nothing_behind():
    cache_clear()
    with pytest.raises(EinopsError):
        join([np.ones((2, 3)), np.ones((3, 4))], "b c, b d -> b (c + d)")
    assert not JOIN.calls.all()
    assert join([np.ones((2, 3)), np.ones((2, 4))], "b c, b d -> b (c + d)").shape == (2, 7)
    assert join([np.ones((2, 3)), np.ones((2, 5))], "b c, b d -> b (c + d)").shape == (2, 8)


def test_watchers_see_calls():
    class Recorder(watch.Watcher):
        def __init__(self):
            self.uses = []

        def note(self, use):
            self.uses.append(use)

    with Recorder() as recorder:
        join([np.ones((2, 3)), np.ones((2, 4))], "b c, b d -> b (c + d)")
    (use,) = recorder.uses
    assert use.sizes == {"b": 2, "c": 3, "d": 4}
    assert [names for _, names in use.inputs] == [("b", "c"), ("b", "d")]
    assert [names for _, names in use.outputs] == [("b", None)]
