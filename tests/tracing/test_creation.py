"""Arrays made anew, and ``ricci.numpy``: what the protocols of NumPy cannot see, and the array namespace."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check, traced

import ricci as rc
import ricci.numpy as rnp
from ricci.errors import RicciError, ShapeError, TraceError
from ricci.tracing.array import Traced
from ricci.tracing.basics import NeedsValueError


def data(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).normal(size=shape)


SHAPES = [(), (3,), (2, 3), (0, 2), (1, 1)]
LIKE = {
    "zeros_like": np.zeros_like,
    "ones_like": lambda x: np.ones_like(x) * x,
    "full_like": lambda x: np.full_like(x, 2.5),
    "full_like traced": lambda x: np.full_like(x, x.sum() ** 2),
    "full_like of another type": lambda x: np.full_like(x, 2.7, dtype=int),
    "zeros_like of another shape": lambda x: np.zeros_like(x, shape=(2, 4)) + x.sum(),
    "ones_like of integers": lambda x: np.ones_like(x, dtype=np.int64),
}


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize("shape", SHAPES)
def test_in_the_shape_of_another(name, shape):
    check(LIKE[name], data(*shape))
    check(LIKE[name], data(*shape).astype(np.float32))


def test_what_is_empty_is_zero():
    program = traced(np.empty_like, data(2, 3))
    np.testing.assert_array_equal(program.values([program.results[0].expr], [data(2, 3)])[0], np.zeros((2, 3)))


SEQUENCES = {
    "linspace": lambda x: np.linspace(x[0], x[1] ** 2, 4),
    "linspace one": lambda x: np.linspace(x[0], x[1], 1),
    "linspace none": lambda x: np.linspace(x[0], x[1], 0),
    "linspace open": lambda x: np.linspace(x[0], 5, 3, endpoint=False),
    "linspace of arrays": lambda x: np.linspace(x, 2 * x[::-1], 3),
    "linspace last": lambda x: np.linspace(x, 1.0, 3, axis=-1),
    "linspace step": lambda x: list(np.linspace(x[0], x[1], 5, retstep=True)),
    "linspace of integers": lambda x: np.linspace(-7 * x[0], 9 * x[1], 4, dtype=int),
    "logspace": lambda x: np.logspace(x[0], x[1], 3),
    "logspace base": lambda x: np.logspace(0, x[1], 3, base=2.0, endpoint=False),
    "geomspace": lambda x: np.geomspace(x[0], x[1], 4),
    "geomspace of arrays": lambda x: np.geomspace(x, 3.0, 3, axis=1),
}


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sequences(name, dtype):
    check(SEQUENCES[name], np.array([0.7, 1.9], dtype))


# What the protocols cannot see: the same function with ricci.numpy and with NumPy

PAIRS = {
    "array": lambda np, x: np.array([x[0], 2.0, x[1] * x[2]]),
    "array nested": lambda np, x: np.array([[x[0], 1.0], [0.0, x[1] ** 2]]),
    "array of rows": lambda np, x: np.array([x, 2 * x]),
    "array of an array": lambda np, x: np.array(x * x, ndmin=2),
    "array of a type": lambda np, x: np.array([x[0], 1], dtype=np.float32),
    "asarray": lambda np, x: np.asarray([x, x**2]),
    "asanyarray": lambda np, x: np.asanyarray(x * x),
    "ascontiguousarray": lambda np, x: np.ascontiguousarray(x[0] ** 2),
    "full": lambda np, x: np.full((2, 3), x**2),
    "full of a type": lambda np, x: np.full(2, x[0], dtype=np.float32),
    "r_": lambda np, x: np.r_[x, 0, x**2, 1:4],
    "c_": lambda np, x: np.c_[x, x**2, [1.0, 2.0, 3.0]],
    "eye": lambda np, x: np.eye(3) * x**2,
    "identity": lambda np, x: np.identity(3) @ x,
    "arange": lambda np, x: np.arange(3) * x,
    "zeros": lambda np, x: np.zeros(x.shape) + x,
    "lists": lambda np, x: np.sum([x[0], x[1] ** 2]),
    "concat": lambda np, x: np.concat([x, x]),
    "acos": lambda np, x: np.acos(x / 9) + np.asin(x / 9) * np.atan2(x, 2.0) + np.pow(np.abs(x), 1.5),
    "constants": lambda np, x: x * np.pi + np.e + x[np.newaxis].sum(),
    "linalg": lambda np, x: np.linalg.norm(x + 1),
    "ufunc lists": lambda np, x: np.add([x[0], x[1]], 1.0),
    "isscalar": lambda np, x: np.isscalar(x),
    "iterable": lambda np, x: np.iterable(x),
}


@pytest.mark.parametrize("name", PAIRS)
def test_ricci_numpy(name):
    f = PAIRS[name]
    check(lambda x: f(rnp if isinstance(x, Traced) else np, x), np.array([0.3, -1.2, 0.8]))


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "ascontiguousarray"])
def test_ricci_numpy_is_numpy_for_arrays(name):
    x = np.array([0.3, -1.2, 0.8])
    ours, theirs = PAIRS[name](rnp, x), PAIRS[name](np, x)
    np.testing.assert_array_equal(ours, theirs)
    assert type(ours) is type(theirs)


def test_every_name_of_numpy_is_there():
    for name in [name for name in np.__all__ if not name.startswith("__")]:
        assert hasattr(rnp, name), name
    assert rnp.float64 is np.float64 and rnp.ndarray is np.ndarray and rnp.random is np.random
    assert rnp.add.reduce([1, 2]) == 3
    assert rnp.special.erf(0.0) == 0.0
    assert "special" in dir(rnp) and "inv" in dir(rnp.linalg)
    with pytest.raises(AttributeError):
        _ = rnp.no_such_name  # pyright: ignore[reportAttributeAccessIssue]


WRONG = [
    (rnp.packbits, TraceError, "np.packbits cannot be traced"),
    (lambda x: rnp.lexsort([x, x]), TraceError, "np.lexsort cannot be traced"),
    (lambda x: rnp.arange(x[0]), NeedsValueError, "np.linspace"),
    (lambda x: rnp.r_["r", x], TraceError, "cannot be traced"),
    (lambda x: np.array([x[0], 1.0]), TraceError, r"ricci\.numpy\.array"),
    (lambda x: rnp.array([x, x[0]]), ShapeError, "one shape"),
    (lambda x: np.linspace(0, x[0], -1), RicciError, "negative"),
    (lambda x: np.linspace(0, 1.0, x[0]), RicciError, "static"),
    (lambda x: np.full_like(x, 1.0, device="gpu"), TraceError, "device"),  # pyright: ignore[reportArgumentType, reportCallIssue]
]


@pytest.mark.parametrize("f, kind, message", WRONG)
def test_errors(f, kind, message):
    with pytest.raises(kind, match=message):
        traced(f, data(3))


# Patterns of einops go through the namespace

PATTERNS = {
    "rearrange": lambda x: rc.rearrange(x, "(a b) c -> b c a", a=2),
    "rearrange list": lambda x: rc.rearrange([x, 2 * x], "k r c -> r (k c)"),
    "reduce mean": lambda x: rc.reduce(x, "(a b) c -> a", "mean", a=2),
    "reduce max": lambda x: rc.reduce(x, "r c -> c", "max"),
    "reduce sum": lambda x: rc.reduce(x, "r c -> 1 c", "sum"),
    "repeat": lambda x: rc.repeat(x, "r c -> r (c k)", k=2),
    "einsum": lambda x: rc.einsum(x, x, "i j, k j -> i k"),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(name):
    check(lambda x: PATTERNS[name](np.sin(x) + x), data(4, 3))


def test_pack_and_unpack():
    def f(x):
        packed, shapes = rc.pack([x, x[0] ** 2], "* c")
        first, second = rc.unpack(packed, shapes, "* c")
        return [packed, first, second]

    check(f, data(2, 3))
