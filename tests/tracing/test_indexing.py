"""Keys of every kind, read and written: against NumPy, with first and second derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check, traced
from hypothesis import example, given
from hypothesis import strategies as st

from ricci.errors import AxisError, InputError, RicciError, ShapeError
from ricci.tracing.basics import NeedsValueError
from ricci.tracing.operand import changed


def data(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).normal(size=shape)


S = np.s_
KEYS = {
    (5,): [
        S[2],
        S[-1],
        S[np.int64(3)],
        S[np.array(1)],
        S[:],
        S[...],
        S[1:4],
        S[::2],
        S[::-1],
        S[4:0:-2],
        S[3:1],
        S[10:],
        S[-2:],
        S[None],
        S[:, None],
        S[None, 2],
        S[[0, 3, 3]],
        S[np.array([-1, 2])],
        S[[[0, 1], [4, -5]]],
        S[[]],
        S[np.array([True, False, True, True, False])],
        S[[True, False, False, False, True]],
        S[np.zeros(5, bool)],
        S[True],
        S[False],
        S[()],
        S[..., None],
    ],
    (3, 4): [
        S[1],
        S[1, 2],
        S[-1, -1],
        S[:, 1],
        S[..., 1],
        S[1, ...],
        S[1, 2, ...],
        S[::2, ::-1],
        S[1:, None, :2],
        S[[0, 2]],
        S[:, [1, 1, 3]],
        S[[0, 1], [2, 3]],
        S[[[0], [2]], [1, 3]],
        S[np.ix_([0, 2], [3, 0])],
        S[[0, 2], 1],
        S[1, [0, 2]],
        S[[0, 2], 1:3],
        S[None, [0, 2], 1:3],
        S[[0, 2], None, [1, 2]],
        S[[True, False, True]],
        S[:, [True, False, True, False]],
        S[np.arange(12).reshape(3, 4) % 3 == 0],
        S[[0], ..., [1, 2]],
        S[True, :, [1, 2]],
    ],
    (2, 3, 4): [
        S[0, :, 1],
        S[:, 1],
        S[..., 0, :],
        S[[0, 1], :, [1, 2]],
        S[:, [0, 1], [1, 2]],
        S[[0, 1], [1, 2]],
        S[0, :, [1, 2]],
        S[[1, 0], 1, :],
        S[:, 2, [0, 3]],
        S[..., [1, 2], None],
        S[:, [[0, 1]], [[1], [2]]],
        S[np.array([[True, False, True], [False, True, True]])],
        S[:, np.arange(12).reshape(3, 4) > 8],
        S[1:, ::-1, ::3],
        S[:0, 1, [1]],
    ],
    (): [S[()], S[...], S[None], S[True], S[False]],
    (0, 2): [S[:], S[:, 1], S[[]], S[:, [0, 1]], S[:, ::-1]],
    (1, 1): [S[0], S[:, 0], S[[0, 0]], S[::-1], S[-1:, -1]],
}
ROWS = [(shape, key) for shape, keys in KEYS.items() for key in keys]


@pytest.mark.parametrize("shape, key", ROWS)
def test_reading(shape, key):
    check(lambda x: np.sin(x)[key] * 2, data(*shape))
    check(lambda x: x[key], data(*shape).astype(np.float32))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape, key", ROWS)
@pytest.mark.parametrize("how", ["set", "add"])
def test_changing(shape, key, how):
    x = data(*shape)
    value = np.random.default_rng(1).normal(size=x[key].shape)

    def f(x, v):
        return _changed(np.sin(x), key, v * v, how) * x

    check(f, x, value)
    check(lambda x, v: _changed(x, key, v, how), x, np.array(2.0))


def _changed(x, key, value, how):
    """By ``at`` for traced arrays, by assignment for NumPy's."""
    at = key if isinstance(key, tuple) else (key,)
    return getattr(x.at[key], how)(value) if hasattr(x, "at") else changed(x, at, value, how)


def test_a_change_may_replace_what_is_not_finite():
    check(lambda x: _changed(x, S[0], 1.0, "set"), np.array([np.inf, 2.0]), order=0)


def test_changes_keep_the_type():
    check(lambda x: _changed(x, S[1], 2.7, "set"), np.arange(3))
    check(lambda x: _changed(x, S[1:], 2.7, "set"), np.arange(3, dtype=np.float32))


def test_other_changes():
    x = data(4)
    with_at = traced(lambda x: [x.at[1:3].multiply(3), x.at[0].divide(2), x.at[2].min(-9), x.at[2].max(9)], x)
    found = with_at.values([r.expr for r in with_at.results], [x])
    wanted = [x * [1, 3, 3, 1], x / [2, 1, 1, 1], [*x[:2], -9, x[3]], [*x[:2], 9, x[3]]]
    np.testing.assert_allclose(found, wanted)


# Random keys, by NumPy's own rules

SHAPES = [(4,), (3, 2), (2, 3, 4), (1, 3), (2, 1, 0)]


@st.composite
def keys(draw):
    shape = draw(st.sampled_from(SHAPES))
    common = draw(st.sampled_from([(), (2,), (1,), (2, 3), (0,)]))
    items, axis = [], 0
    ellipsis = draw(st.integers(0, len(shape) + 1))
    while axis < len(shape) and len(items) < 6:
        if len(items) == ellipsis:
            items.append(...)
        kind = draw(st.sampled_from(["none", "slice", "int", "array", "array", "mask", "stop"]))
        size = shape[axis]
        if kind == "stop":
            break
        if kind == "none":
            items.append(None)
            continue
        if kind == "slice":
            bound = st.none() | st.integers(-5, 5)
            step = draw(st.sampled_from([None, 1, 2, -1, -2, 3]))
            items.append(slice(draw(bound), draw(bound), step))
        elif kind == "int" and size:
            items.append(draw(st.integers(-size, size - 1)))
        elif kind == "mask" and common in ((), (2,)) and size >= 2:
            mask = np.zeros(size, bool)
            mask[draw(st.permutations(range(size)))[: 2 if common else 1]] = True
            items.append(mask)
        elif kind == "array" and (size or common == (0,)):
            own = tuple([draw(st.sampled_from([n, 1])) for n in common]) if common != (0,) else (0,)
            count = int(np.prod(own))
            places = draw(st.lists(st.integers(-size, max(size - 1, 0)), min_size=count, max_size=count))
            items.append(np.array(places, np.int64).reshape(own))
        else:
            items.append(slice(None))
        axis += 1
    return shape, tuple(items)


@given(keys())
@example(((3, 4), (0, ..., np.array([1, 2]))))
@example(((2, 3, 4), (np.array([0, 1]), None, ..., 1)))
@example(((3, 2), (None, 0, ..., np.array([True, True]))))
@example(((3, 2), (..., None, np.array([True, False]), None)))
@example(((3, 2), (..., np.array([True, False, True]))))
def test_random_keys(case):
    shape, key = case
    x = data(*shape)
    try:
        x[key]
    except IndexError:
        with pytest.raises((AxisError, ShapeError)):
            traced(lambda x: x[key], x)
        return
    check(lambda x: x[key], x, order=0)
    value = np.random.default_rng(3).normal(size=x[key].shape)
    for how in ("set", "add"):
        check(lambda x, v, how=how: _changed(x, key, v, how), x, value, order=0)


# Integers that are traced

PLACES = np.array([2, 0, -1, 2])
TRACED = {
    "numbers": (lambda x, i: np.exp(x)[i[0]] * x[i[1], i[2]], (3, 4)),
    "rows": (lambda x, i: np.exp(x)[i], (3, 4)),
    "columns": (lambda x, i: np.exp(x)[:, i], (3, 4)),
    "pairs": (lambda x, i: np.exp(x)[i, i + 1], (3, 4)),
    "table": (lambda x, i: np.exp(x)[i.reshape(2, 2)], (3, 4)),
    "beside a slice": (lambda x, i: np.exp(x)[i, ::2], (3, 4)),
    "beside known ones": (lambda x, i: np.exp(x)[i, [1, 2, 3, 0]], (3, 4)),
    "around a slice": (lambda x, i: np.exp(x)[i, :, [1, 2, 3, 0]], (3, 2, 4)),
    "list of numbers": (
        lambda x, i: np.exp(x)[:, [i[0], i[1], 1]] if hasattr(x, "at") else np.exp(x)[:, [2, 0, 1]],
        (3, 4),
    ),
    "plus one": (lambda x, i: np.exp(x)[i[1:3] + np.ones_like(i[1:3])], (3, 4)),
    "all zero": (lambda x, i: np.exp(x)[np.zeros_like(i)], (3, 4)),
    "computed": (lambda x, i: np.exp(x)[(i * i) % 3], (3, 4)),
    "halved": (lambda x, i: np.exp(x)[i // 2], (3, 4)),
    "from floats": (lambda x, i: np.exp(x)[(i / 2.0).astype(int)], (3, 4)),
    "unsigned": (lambda x, i: np.exp(x)[abs(i).astype(np.uint8)], (3, 4)),
    "greatest": (lambda x, i: np.exp(x)[np.argmax(x, axis=0)[0]] + i[:, None].sum(), (3, 4)),
    "take": (lambda x, i: np.take(np.exp(x), i, axis=1), (3, 4)),
    "take clip": (lambda x, i: np.take(np.exp(x), 2 * i, axis=0, mode="clip"), (3, 4)),
    "take wrap": (lambda x, i: np.take(np.exp(x), 5 * i, axis=0, mode="wrap"), (3, 4)),
    "take_along_axis": (lambda x, i: np.take_along_axis(np.exp(x), i[None, :], axis=0), (3, 4)),
    "set": (lambda x, i: _changed(x, S[i], np.arange(16.0).reshape(4, 4) * x[0], "set"), (3, 4)),
    "set pairs": (lambda x, i: _changed(x, S[i, i], x[0] ** 2, "set"), (3, 4)),
    "set number": (lambda x, i: _changed(x, S[i[0], 1:], x[0, 0] ** 2, "set"), (3, 4)),
    "add": (lambda x, i: _changed(x, S[i], x[0] ** 2, "add"), (3, 4)),
    "choose": (lambda x, i: np.choose(abs(i), [x[0], 2 * x[1], x[2] ** 2]), (3, 4)),
}


@pytest.mark.parametrize("name", TRACED)
def test_traced_integers(name):
    f, shape = TRACED[name]
    check(f, data(*shape), PLACES)


def test_traced_integers_and_single_precision():
    check(lambda x, i: x[i] * 2, data(3, 2).astype(np.float32), PLACES)


def test_traced_masks():
    mask = np.array([True, False, True])
    with pytest.raises(NeedsValueError, match=r"np\.where\(condition, x, 0\)"):
        traced(lambda x: x[x > 0], data(3))
    with pytest.raises(NeedsValueError, match=r"np\.where"):
        traced(lambda x, m: _changed(x, S[m], x[:2], "set"), data(3), mask)
    check(lambda x, m: _changed(x, S[m], x[0] * 2, "set"), data(3), mask)
    check(lambda x: _changed(x, S[x > 0], 1.5, "add"), data(3, 2))
    check(lambda x, m: _changed(x, S[m], x[0] * 2, "set"), data(3, 2), mask)
    for f in (np.nonzero, np.argwhere, np.flatnonzero):
        with pytest.raises(NeedsValueError):
            traced(f, data(3))


# Functions that choose

C = np.array([[True, False, True, False], [False, False, True, True], [True, True, False, False]])
CHOICES = {
    "take": lambda x: np.take(x, [0, 7, -1]),
    "take axis": lambda x: np.take(x, [[0, 2], [-1, 1]], axis=0),
    "take one": lambda x: np.take(x, 1, axis=-1),
    "take wrap": lambda x: np.take(x, [5, -7], axis=1, mode="wrap"),
    "take clip": lambda x: np.take(x, [5, -7], axis=1, mode="clip"),
    "x.take": lambda x: x.take([1, 0], 0),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([[0, 2, 1, -1]]), 0),
    "take_along_axis wide": lambda x: np.take_along_axis(x, np.array([[0, 2, 1, -1, 0]] * 3), 1),
    "take_along_axis one row": lambda x: np.take_along_axis(x[:1], np.array([[0], [1], [3]]), 1),
    "take_along_axis flat": lambda x: np.take_along_axis(x, np.array([0, 11, -1]), None),
    "choose": lambda x: np.choose([0, 2, 1, 1], [x[0], x[1], 5.0]),
    "choose wide": lambda x: np.choose([[1], [0]], [x[0], x[1]]),
    "choose wrap": lambda x: np.choose([0, 3, -1, 2], [x[0], x[1]], mode="wrap"),
    "choose clip": lambda x: np.choose([0, 3, -1, 2], [x[0], x[1]], mode="clip"),
    "select": lambda x: np.select([x > 0.5, x > 0], [x**2, 3 * x]),
    "select default": lambda x: np.select([x[0] > 0.5, C[0]], [x[0] ** 2, x[1]], default=x[2]),
    "compress": lambda x: np.compress([True, False, True], x, axis=0),
    "compress flat": lambda x: np.compress(C.ravel(), x),
    "compress short": lambda x: np.compress([False, True], x, axis=1),
    "compress method": lambda x: x.compress([True, False, True], 0),
    "extract": lambda x: np.extract(C, x),
    "piecewise": lambda x: np.piecewise(x, [x < 0, x >= 1], [np.sin, lambda v: v**3]),
    "piecewise default": lambda x: np.piecewise(x, [x < 0], [-1.0, np.exp]),
    "piecewise arguments": lambda x: np.piecewise(x, [x < 0], [lambda v, k: k * v], 3.0),
    "piecewise overlap": lambda x: np.piecewise(x, [x < 1, x < 0], [np.sin, np.cos, np.exp]),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices(name):
    check(lambda x: CHOICES[name](x + x**2), data(3, 4))
    check(CHOICES[name], data(3, 4).astype(np.float32))


WRONG = [
    (lambda x: x[3], AxisError, r"Index 3 is out of bounds on axis 0 of the shape \(3, 4\)"),
    (lambda x: x[:, -5], AxisError, "Index -5"),
    (lambda x: x[[0, 3]], AxisError, "Index 3"),
    (lambda x: x[0, 0, 0], AxisError, "3 indices"),
    (lambda x: x[..., ...], AxisError, "one ellipsis"),
    (lambda x: x[1.0], AxisError, "whole numbers"),
    (lambda x: x["a"], AxisError, "whole numbers"),
    (lambda x: x[x], AxisError, "astype"),
    (lambda x: x[[True, False]], AxisError, "mask"),
    (lambda x: x[[0, 1], [0, 1, 2]], ShapeError, "broadcast"),
    (lambda x: x[: x[0, 0]], RicciError, "whole number"),
    (lambda x: x.at[0].set(x), ShapeError, "broadcast"),
    (lambda x: x.at[5].add(1), AxisError, "Index 5"),
    (lambda x: np.take(x, 12), AxisError, "Index 12"),
    (lambda x: np.take(x, 1, mode="up"), InputError, "raise, wrap, clip"),  # pyright: ignore[reportArgumentType, reportCallIssue]
    (lambda x: np.take_along_axis(x, np.array([0]), 0), ShapeError, "as many axes"),
    (lambda x: np.take_along_axis(x, np.array([[4]]), 1), AxisError, "out of bounds"),
    (lambda x: np.choose([0, 2, 1, 1], [x[0], x[1]]), AxisError, "2 choices"),
    (lambda x: np.compress(x[0] > 0, x), NeedsValueError, "static"),
    (lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]), InputError, "1 functions"),  # pyright: ignore[reportCallIssue]
]


@pytest.mark.parametrize("f, kind, message", WRONG)
def test_errors(f, kind, message):
    with pytest.raises(kind, match=message):
        traced(f, data(3, 4))


def test_places_out_of_bounds_are_found_when_the_function_runs():
    program = traced(lambda x, i: x[i], data(3), np.array(0))
    for run in (program.values, program.compiled):
        with pytest.raises(AxisError):
            run([program.results[0].expr], [data(3), np.array(3)])


def test_arrays_of_places_are_inputs():
    places = np.array([2, 0])
    program = traced(lambda x: x[places], data(3))
    assert [a is places for a in program.captured.values()] == [True]
