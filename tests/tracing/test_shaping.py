"""Axes moved, merged, repeated, cut: each traced function against NumPy, with first and second derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check, traced
from numpy.lib.stride_tricks import sliding_window_view

from ricci.errors import AxisError, InputError, RicciError, ShapeError
from ricci.tracing.array import Traced


def data(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).normal(size=shape)


def bent(f):
    """``f`` between functions that are not linear, so that its second derivative is not zero."""
    return lambda x: f(np.sin(x) + x * x)


PAD_TAKES_DICTS = np.lib.NumpyVersion(np.__version__) >= "2.4.0"
# Each row: a function, and the shapes it is tried on
CASES = {
    "reshape": (lambda x: np.reshape(x, (4, 6)), [(2, 3, 4), (6, 4), (24,), (1, 24, 1), (3, 8), (4, 1, 6)]),
    "reshape -1": (lambda x: x.reshape(2, -1), [(2, 3, 2), (4,), (6, 2, 1)]),
    "reshape crossing": (lambda x: np.reshape(x, (5, 4, 6)), [(5, 6, 4), (10, 12), (5, 3, 8)]),
    "reshape to a number": (lambda x: np.reshape(x, ()), [(1,), (1, 1), ()]),
    "reshape F": (lambda x: np.reshape(x, (4, 3), order="F"), [(2, 6), (12,), (3, 2, 2)]),
    "reshape empty": (lambda x: np.reshape(x, (3, 0, 2)), [(0,), (2, 0)]),
    "ravel": (np.ravel, [(), (3,), (2, 3), (0, 2), (1, 1)]),
    "ravel F": (lambda x: np.ravel(x, order="F"), [(2, 3), (2, 1, 3)]),
    "flatten": (lambda x: x.flatten("F"), [(2, 3)]),
    "transpose": (np.transpose, [(), (3,), (2, 3), (2, 1, 3), (0, 2)]),
    "transpose axes": (lambda x: np.transpose(x, (1, -1, 0)), [(2, 3, 4), (1, 0, 2)]),
    "permute_dims": (lambda x: np.permute_dims(x, (1, 0)), [(2, 3)]),
    "T": (lambda x: x.T @ x if x.ndim == 2 else x.T, [(2, 3), (2,)]),
    "mT": (lambda x: x.mT, [(2, 3), (2, 3, 1)]),
    "matrix_transpose": (np.matrix_transpose, [(2, 3), (2, 1, 4)]),
    "swapaxes": (lambda x: np.swapaxes(x, 0, -1), [(2, 3), (2, 3, 4), (3,)]),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), [(2, 3), (2, 3, 4), (3,)]),
    "moveaxis several": (lambda x: np.moveaxis(x, [0, 2], [-1, 0]), [(2, 3, 4), (2, 3, 4, 1)]),
    "rollaxis": (lambda x: np.rollaxis(x, 2), [(2, 3, 4), (2, 3, 1, 2)]),
    "rollaxis start": (lambda x: np.rollaxis(x, 0, 2), [(2, 3, 4)]),
    "rollaxis end": (lambda x: np.rollaxis(x, 0, 3), [(2, 3, 4)]),
    "expand_dims": (lambda x: np.expand_dims(x, 0), [(), (3,), (2, 3), (0,)]),
    "expand_dims last": (lambda x: np.expand_dims(x, -1), [(), (3,)]),
    "expand_dims several": (lambda x: np.expand_dims(x, (0, -1)), [(), (3,)]),
    "squeeze": (np.squeeze, [(), (1,), (2, 1, 3), (1, 0)]),
    "squeeze axis": (lambda x: np.squeeze(x, axis=(0, -1)), [(1, 2, 1), (1, 1, 1)]),
    "broadcast_to": (lambda x: np.broadcast_to(x, (4, 2, 3)), [(), (3,), (2, 1), (1, 1, 3), (4, 2, 3)]),
    "broadcast_to empty": (lambda x: np.broadcast_to(x, (0, 3)), [(), (3,), (1, 3)]),
    "broadcast_arrays": (lambda x: np.broadcast_arrays(x, x.T, 2.0), [(1, 3), (2, 2)]),
    "atleast_1d": (np.atleast_1d, [(), (2,)]),
    "atleast_2d": (np.atleast_2d, [(), (2,), (2, 3)]),
    "atleast_3d": (np.atleast_3d, [(), (2,), (2, 3), (1, 2, 3, 1)]),
    "atleast several": (lambda x: np.atleast_2d(x, x[0]), [(2,), (2, 3)]),
    "meshgrid": (lambda x: list(np.meshgrid(x, 2 * x[1:])), [(3,)]),
    "meshgrid ij": (lambda x: list(np.meshgrid(x, x[1:], x, indexing="ij")), [(2,)]),
    "meshgrid sparse": (lambda x: list(np.meshgrid(x, x[1:], sparse=True)), [(3,)]),
    "flip": (np.flip, [(3,), (2, 3), (1,), (0, 2)]),
    "flip axis": (lambda x: np.flip(x, -1), [(3,), (2, 3)]),
    "fliplr": (np.fliplr, [(2, 3)]),
    "flipud": (np.flipud, [(3,), (2, 3)]),
    **{f"rot90 {k}": (lambda x, k=k: np.rot90(x, k), [(2, 3), (2, 2, 2)]) for k in (-1, 0, 1, 2, 3, 5)},
    "rot90 axes": (lambda x: np.rot90(x, 1, (1, 2)), [(2, 3, 4)]),
    "copy": (np.copy, [(2, 3)]),
    "roll": (lambda x: np.roll(x, 2), [(5,), (2, 3), (1,), (0,), ()]),
    "roll axis": (lambda x: np.roll(x, -1, axis=1), [(2, 3), (2, 1)]),
    "roll axes": (lambda x: np.roll(x, (1, -4), axis=(0, 1)), [(2, 3), (3, 5)]),
    "roll one shift": (lambda x: np.roll(x, 1, axis=(0, 1)), [(2, 3)]),
    "roll twice": (lambda x: np.roll(x, (1, 1), axis=0), [(4, 2)]),
    "tile": (lambda x: np.tile(x, 2), [(), (3,), (2, 3), (0,)]),
    "tile several": (lambda x: np.tile(x, (2, 1, 3)), [(2,), (2, 3), (1, 2, 2, 2)]),
    "tile none": (lambda x: np.tile(x, (0, 2)), [(2,), (2, 2)]),
    "repeat": (lambda x: np.repeat(x, 2), [(), (3,), (2, 3)]),
    "repeat axis": (lambda x: np.repeat(x, 3, axis=-1), [(2, 3), (3,), (2, 0)]),
    "repeat zero": (lambda x: np.repeat(x, 0, axis=0), [(2, 3)]),
    "repeat array": (lambda x: np.repeat(x, [2, 0, 1], axis=0), [(3,), (3, 2)]),
    "resize": (lambda x: np.resize(x, (2, 4)), [(3,), (2, 5), (8,), ()]),
    "diag": (np.diag, [(3,), (3, 3), (2, 4), (1,), (0,)]),
    "diag above": (lambda x: np.diag(x, 1), [(2,), (3, 3), (2, 4), (4, 2)]),
    "diag below": (lambda x: np.diag(x, -2), [(2,), (3, 3), (2, 4), (4, 2)]),
    "diagflat": (lambda x: np.diagflat(x, 1), [(2,), (2, 2), ()]),
    "diagonal": (np.diagonal, [(3, 3), (2, 3), (2, 3, 4), (1, 1)]),
    "diagonal offset": (lambda x: np.diagonal(x, -1, 2, 0), [(3, 2, 4), (2, 2, 2)]),
    "linalg.diagonal": (np.linalg.diagonal, [(2, 3, 3)]),
    "trace": (np.trace, [(3, 3), (2, 3), (2, 2, 3)]),
    "trace offset": (lambda x: np.trace(x, 1, -1, 0), [(3, 3), (2, 2, 3)]),
    "linalg.trace": (np.linalg.trace, [(2, 3, 3)]),
    "tril": (np.tril, [(3, 3), (2, 4), (4, 2), (2, 3, 3), (3,)]),
    "tril -1": (lambda x: np.tril(x, -1), [(3, 3), (2, 4)]),
    "triu": (np.triu, [(3, 3), (2, 4), (4, 2), (2, 3, 3), (3,)]),
    "triu 1": (lambda x: np.triu(x, 1), [(3, 3), (2, 4), (1, 1)]),
    "pad": (lambda x: np.pad(x, 1), [(3,), (2, 3), (0,)]),
    "pad none": (lambda x: np.pad(x, 0), [(3,), (2, 3)]),
    "pad widths": (lambda x: np.pad(x, ((1, 0), (0, 2))), [(2, 3), (1, 1)]),
    "pad values": (lambda x: np.pad(x, (1, 2), constant_values=(3.0, -1.0)), [(3,), (2, 2)]),
    **({"pad dict": (lambda x: np.pad(x, {-1: (1, 2)}), [(2, 3)])} if PAD_TAKES_DICTS else {}),
    **{
        f"pad {mode}": (lambda x, mode=mode: np.pad(x, ((2, 3), (1, 0)), mode=mode), [(4, 3), (3, 2)])  # pyright: ignore[reportArgumentType, reportCallIssue]
        for mode in ("edge", "reflect", "symmetric", "wrap")
    },
    "pad reflect far": (lambda x: np.pad(x, 7, mode="reflect"), [(3,)]),
    "delete": (lambda x: np.delete(x, 1), [(3,), (2, 2)]),
    "delete axis": (lambda x: np.delete(x, [0, -1], axis=1), [(2, 3), (2, 4)]),
    "delete slice": (lambda x: np.delete(x, slice(None, None, 2), 0), [(5, 2)]),
    "delete mask": (lambda x: np.delete(x, np.array([True, False, True])), [(3,)]),
    "insert": (lambda x: np.insert(x, 1, 5.0), [(3,), (2, 2)]),
    "insert several": (lambda x: np.insert(x, [0, 2, 2], x[:3]), [(4,)]),
    "insert row": (lambda x: np.insert(x, 1, x[0], axis=0), [(2, 3)]),
    "insert column": (lambda x: np.insert(x, 1, x[:, 0], axis=1), [(2, 3)]),
    "insert columns": (lambda x: np.insert(x, [1], x[:, :1], axis=1), [(2, 3)]),
    "insert slice": (lambda x: np.insert(x, slice(0, 3), 7.0), [(4,)]),
    "windows": (lambda x: sliding_window_view(x, 3), [(5,), (3,)]),
    "windows axes": (lambda x: sliding_window_view(x, (2, 2)), [(3, 4)]),
    "windows axis": (lambda x: sliding_window_view(x, 2, axis=1), [(2, 4)]),
}
ROWS = [(name, shape) for name, (_, shapes) in CASES.items() for shape in shapes]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name, shape", ROWS, ids=[f"{name} {shape}" for name, shape in ROWS])
def test_movements(name, shape):
    check(bent(CASES[name][0]), data(*shape))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_types_are_kept(name, dtype):
    f, shapes = CASES[name]
    if name == "T":
        f = np.transpose
    check(f, (data(*shapes[0]) * 3).astype(dtype))


CASTS = [np.float32, np.float64, np.int64, np.bool_]


@pytest.mark.parametrize("source", CASTS)
@pytest.mark.parametrize("target", CASTS)
def test_astype(source, target):
    x = np.array([-2.5, -0.5, 0.0, 0.7, 3.2]).astype(source)
    check(lambda x: np.astype(x, target), x)
    check(lambda x: x.astype(target) * 2, x)


def test_what_functions_ask():
    check(lambda x: (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1), len(x), x.size, x.ndim), data(2, 3))
    check(lambda x: [np.iscomplexobj(x), np.isrealobj(x), np.isreal(x), np.iscomplex(x)], data(2))
    found = traced(lambda x: (np.result_type(x, 2), np.can_cast(x, np.float64), np.common_type(x)), np.float32(1))
    assert found.results == [np.dtype(np.float32), True, np.float32]
    check(lambda x: x[np.tril_indices_from(x)], data(3, 3))
    check(lambda x: x[np.triu_indices_from(x, 1)], data(3, 3))
    check(lambda x: x[np.diag_indices_from(x)], data(3, 3))


def test_triangles_leave_out_what_is_not_finite():
    x = np.array([[1.0, np.inf], [2.0, np.nan]])
    check(lambda x: np.tril(x, -1), x, order=0)
    check(lambda x: np.triu(x, 3), x, order=0)


def test_few_runs_are_slices_and_many_a_gather():
    assert not traced(lambda x: np.roll(x, 3), data(9)).captured
    assert not traced(lambda x: np.pad(x, 2, mode="reflect"), data(9)).captured
    assert traced(lambda x: np.repeat(x, [1, 2] * 10), data(20)).captured


# Movements are views and copies in compiled code, never products with arrays of zeros and ones

COMPILED = {
    "reshape crossing": lambda x: x.reshape(8, 30),
    "reshape crossing, flipped": lambda x: x.reshape(8, 30)[::-1],
    "slice and reshape": lambda x: x[::2, ::-1].reshape(5, -1),
    "pad and ravel": lambda x: np.pad(x, 1).ravel(),
    "roll": lambda x: np.roll(x, 3).reshape(40, 6),
    "rows and ravel": lambda x: x[[3, 2, 1]].reshape(-1),
    "flip, reshape, slice": lambda x: np.flip(x).reshape(40, 6)[1::2].ravel(),
    "transpose and ravel": lambda x: x.T.ravel(),
    "repeat and reshape": lambda x: np.repeat(x, 2, axis=1).reshape(10, -1),
    "diagonal": lambda x: np.diagonal(x.reshape(4, 5, 12), axis1=0, axis2=1).ravel(),
    "concatenate": lambda x: np.concatenate([x, x[:3], np.sin(x)]),
    "windows": lambda x: sliding_window_view(x.ravel(), 5),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_movements_multiply_nothing(name):
    x = data(20, 12)
    program = check(COMPILED[name], x, order=0)
    given = program.given([x])
    run = program.function([program.results[0].expr], given)
    run(**given)
    for word in ("dot", "einsum", "multiply", "total", "sum("):
        assert word not in run.source, run.source


WRONG = [
    (lambda x: np.reshape(x, (4, 2)), ShapeError, "6 entries"),
    (lambda x: np.reshape(x, (4, -1)), ShapeError, "6 entries"),
    (lambda x: np.reshape(x, (2, 1.5)), InputError, "whole numbers"),  # pyright: ignore[reportArgumentType, reportCallIssue]
    (lambda x: np.transpose(x, (0,)), AxisError, "each of the 2 axes"),
    (lambda x: np.transpose(x, (0, 0)), AxisError, "twice"),
    (lambda x: np.swapaxes(x, 0, 2), AxisError, "out of bounds"),
    (lambda x: np.squeeze(x, 0), ShapeError, "size 1"),
    (lambda x: np.broadcast_to(x, (3, 3)), ShapeError, "broadcast"),
    (lambda x: np.broadcast_to(x, (3,)), ShapeError, "broadcast"),
    (lambda x: np.expand_dims(x, (0, 0)), AxisError, "different"),
    (lambda x: np.pad(x, 1, mode="mean"), InputError, "modes"),
    (lambda x: np.pad(x, -1), InputError, "negative"),
    (lambda x: np.delete(x, 7, 0), AxisError, "7 is out of bounds"),
    (lambda x: np.repeat(x, [1, 2], axis=1), ShapeError, "size 3"),
    (lambda x: np.tile(x, x[0]), RicciError, "static"),
    (lambda x: sliding_window_view(x, (3, 1)), ShapeError, "does not fit"),
    (lambda x: np.diag(x[None]), InputError, "vector or a matrix"),
    (lambda x: np.trace(x[0]), ShapeError, "two axes"),
]


@pytest.mark.parametrize("f, kind, message", WRONG)
def test_errors(f, kind, message):
    with pytest.raises(kind, match=message):
        traced(f, data(2, 3))


def test_an_array_in_place_of_a_shape_is_fine():
    found = traced(lambda x: np.reshape(x, np.array([3, 2])), data(2, 3)).results[0]
    assert isinstance(found, Traced) and found.shape == (3, 2)
