"""Arrays put together and taken apart: against NumPy, with first and second derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check, traced

from ricci.errors import InputError, RicciError, ShapeError


def data(*shape):
    return np.random.default_rng(sum(shape) + len(shape)).normal(size=shape)


JOINS = {
    "concatenate": (lambda x, y: np.concatenate([x, y * x.sum()]), [((3,), (2,)), ((2, 3), (1, 3)), ((0,), (2,))]),
    "concatenate last": (lambda x, y: np.concatenate((x, y, x), axis=-1), [((2, 3), (2, 1)), ((2, 3), (2, 0))]),
    "concatenate flat": (lambda x, y: np.concatenate((x, y), axis=None), [((2, 3), (2,)), ((), (1, 1))]),
    "concat": (lambda x, y: np.concat([x, y]), [((1,), (2,))]),
    "concatenate one": (lambda x, y: np.concatenate([x * y]), [((3,), (1,))]),
    "of rows": (lambda x, y: np.concatenate(np.outer(x, y)), [((2,), (3,))]),
    "with numbers": (lambda x, y: np.concatenate([x, [1, 2], y]), [((2,), (1,))]),
    "stack": (lambda x, y: np.stack([x, y, x * y]), [((2,), (2,)), ((2, 3), (2, 3)), ((), ()), ((0,), (0,))]),
    "stack last": (lambda x, y: np.stack((x, y), axis=-1), [((2,), (2,)), ((2, 3), (2, 3)), ((), ())]),
    "stack middle": (lambda x, y: np.stack((x, y), axis=1), [((2, 3), (2, 3))]),
    "vstack": (lambda x, y: np.vstack([x, y]), [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (1, 3))]),
    "hstack": (lambda x, y: np.hstack([x, y]), [((3,), (2,)), ((2, 3), (2, 1)), ((), ())]),
    "dstack": (lambda x, y: np.dstack([x, y]), [((3,), (3,)), ((2, 3), (2, 3)), ((1, 2, 2), (1, 2, 1))]),
    "column_stack": (lambda x, y: np.column_stack([x, y]), [((3,), (3,)), ((3, 2), (3,))]),
    "append": (np.append, [((2, 3), (2,)), ((), ())]),
    "append axis": (lambda x, y: np.append(x, y, axis=1), [((2, 3), (2, 1))]),
    "block": (lambda x, y: np.block([[x, y], [y.T, np.eye(2)]]), [((3, 3), (3, 2)), ((1, 1), (1, 2))]),
    "block row": (lambda x, y: np.block([x, y, 1.0]), [((3,), (2,)), ((2,), ())]),
    "block of one": (lambda x, y: np.block(x * y), [((3,), (3,))]),
    "block deep": (lambda x, y: np.block([[[x, y]], [[y, x]]]), [((2,), (2,)), ((2, 1), (2, 1))]),
}
ROWS = [(name, shapes) for name, (_, tried) in JOINS.items() for shapes in tried]


@pytest.mark.parametrize("name, shapes", ROWS, ids=[f"{name} {shapes}" for name, shapes in ROWS])
def test_joins(name, shapes):
    check(lambda x, y: JOINS[name][0](np.sin(x), y * y), *[data(*shape) for shape in shapes])


@pytest.mark.parametrize("name", [name for name in JOINS if name not in ("of rows", "concatenate")])
@pytest.mark.parametrize("types", [("f4", "f4"), ("f4", "f8"), ("i8", "f4"), ("i8", "i8"), ("?", "i8"), ("f8", "i8")])
def test_types_of_joins(name, types):
    shapes = JOINS[name][1][0]
    check(JOINS[name][0], *[(3 * data(*s)).astype(t) for s, t in zip(shapes, types, strict=True)], order=1)


def test_a_type_can_be_asked_for():
    check(lambda x: np.concatenate([x, x], dtype=np.float32), data(2))
    check(lambda x: np.stack([x, x], dtype=np.int64, casting="unsafe"), 3 * data(2))


SPLITS = {
    "split": (lambda x: np.split(x, 2), [(4,), (4, 3), (2,), (0,)]),
    "split at": (lambda x: np.split(x, [1, 3], axis=-1), [(4,), (2, 5)]),
    "split backwards": (lambda x: np.split(x, [3, 1, -1]), [(5,)]),
    "split beyond": (lambda x: np.split(x, [2, 9]), [(3,)]),
    "array_split": (lambda x: np.array_split(x, 3), [(7,), (8, 2), (2,), (0,)]),
    "hsplit": (lambda x: np.hsplit(x, 2), [(4,), (2, 4)]),
    "vsplit": (lambda x: np.vsplit(x, [1]), [(4, 2), (1, 2)]),
    "dsplit": (lambda x: np.dsplit(x, 2), [(1, 2, 4)]),
    "unstack": (lambda x: np.unstack(x, axis=-1), [(3,), (2, 3)]),
    "iteration": (lambda x: [row * k for k, row in enumerate(x)], [(3,), (2, 3)]),
}
SPLIT_ROWS = [(name, shape) for name, (_, tried) in SPLITS.items() for shape in tried]


@pytest.mark.parametrize("name, shape", SPLIT_ROWS, ids=[f"{name} {shape}" for name, shape in SPLIT_ROWS])
def test_splits(name, shape):
    check(lambda x: SPLITS[name][0](np.exp(x)), data(*shape))


def test_splitting_and_joining_is_nothing():
    program = traced(lambda x: np.concatenate(np.split(x, [2, 5])), data(9))
    check(lambda x: np.concatenate(np.split(x, [2, 5])), data(9))
    assert program.results[0].shape == (9,)


WRONG = [
    (lambda x: np.concatenate([x, x.T]), ShapeError, r"\(2, 3\) and \(3, 2\)"),
    (lambda x: np.concatenate([x, x[0]]), ShapeError, "shapes"),
    (lambda x: np.concatenate([x[0, 0], x[0, 0]]), ShapeError, "np.stack"),
    (lambda x: np.stack([x, x.T]), ShapeError, "one shape"),
    (lambda x: np.split(x, 2, axis=1), ShapeError, "array_split"),
    (lambda x: np.array_split(x, 0), InputError, "into one part or more"),
    (lambda x: np.dsplit(x, 1), ShapeError, "3 axes"),
    (lambda x: np.block([x, [x]]), InputError, "one depth"),
    (lambda x: np.split(x, x[0]), RicciError, "static"),
    (lambda x: np.concatenate([x, x], out=np.zeros((4, 3))), RicciError, "do not change"),
]


@pytest.mark.parametrize("f, kind, message", WRONG)
def test_errors(f, kind, message):
    with pytest.raises(kind, match=message):
        traced(f, data(2, 3))
