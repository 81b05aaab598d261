"""Scopes on tensors and traced arrays: they know what they were computed from, so names go through operations."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc

THROUGH = {
    "nothing": lambda q: q,
    "times a number": lambda q: q * 2,
    "np.tanh": np.tanh,
    "a method": lambda q: q.exp().maximum(0.5),
    "a slice": lambda q: q[:, :1],
    "a sum over another axis": lambda q: q.sum(1, keepdims=True),
    "several": lambda q: np.tanh(q * 2 + 1)[:, :, ::-1] / 3,
    "there and back": lambda q: q.transpose(3, 2, 1, 0).T,
}


def _mixed_up(x, through):
    with rc.axes("t s", d=4):
        q = rc.rearrange(x, "b t (h d) -> b h t d", h=2)
        y = through(q)
        return rc.einsum("b g s d, b g u d -> b g s u", y, y)


@pytest.mark.parametrize("name", THROUGH)
def test_names_go_through_operations(name):
    x = np.ones((2, 6, 8))
    for call in (
        lambda: _mixed_up(rc.Tensor(x), THROUGH[name]),
        lambda: rc.compile(lambda x: _mixed_up(x, THROUGH[name]))(x),
    ):
        with pytest.raises(rc.AxisSpaceError, match="'s'"):
            call()


def test_names_that_end_on_the_way():
    """A merged axis has none, and what is not declared renames freely."""
    merged = lambda q: q.reshape(2, 2, 24, 1) * np.ones(4)  # noqa: E731
    assert _mixed_up(rc.Tensor(np.ones((2, 6, 8))), merged).shape == (2, 2, 24, 24)
    with rc.axes("t"):
        q = rc.rearrange(rc.Tensor(np.ones((2, 6))), "b t -> t b") * 2
        assert rc.einsum("u b, v b -> u v", q, q).shape == (6, 6)
