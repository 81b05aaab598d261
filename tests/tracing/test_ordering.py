"""Sorting and searching: values, types, and that derivatives follow the entries to where they go."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check, traced

from ricci.errors import InputError, RicciError, ShapeError, TraceError
from ricci.tracing.basics import NeedsValueError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(3, 4, 2))
NODES = np.array([-1.0, 0.0, 0.0, 1.0])

SORTED = {
    "sort": np.sort,
    "sort 0": lambda x: np.sort(x, axis=0),
    "sort -2": lambda x: np.sort(x, -2, kind="stable"),
    "sort flat": lambda x: np.sort(x, axis=None),
    "sort stable": lambda x: np.sort(x, stable=True),
    "argsort": np.argsort,
    "argsort 0": lambda x: np.argsort(x, axis=0),
    "argsort flat": lambda x: np.argsort(x, axis=None),
    "method": lambda x: x.argsort(0),
    "weighted": lambda x: np.sort(x * x, axis=1) * np.arange(4.0)[:, None],
}


@pytest.mark.parametrize("name", SORTED)
def test_sorted(name):
    check(SORTED[name], X)


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 0), (1, 3)], ids=str)
@pytest.mark.parametrize("f", [np.sort, np.argsort])
def test_small_shapes(f, shape):
    check(f, RNG.normal(size=shape))


@pytest.mark.parametrize("kind", ["f4", "i4", "?"])
@pytest.mark.parametrize("f", [np.sort, lambda x: np.argsort(x, kind="stable")], ids=["sort", "argsort"])
def test_types(f, kind):
    check(f, (3 * X).astype(kind), order=0)


def test_parts_of_an_order():
    check(lambda x: np.partition(x, 1, axis=0)[1], X)
    check(lambda x: np.partition(x, 2, axis=None)[2], X[0])
    check(lambda x: x[np.argpartition(x, 2)[2]], X[:, 0, 0])


V = np.array([[-2.0, -1.0, -0.5], [0.0, 1.0, 3.0]])


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side):
    check(lambda v: np.searchsorted(NODES, v, side), V)
    check(lambda v: np.searchsorted(NODES, v[0, 0], side=side), V)
    check(lambda v: np.searchsorted(np.zeros(0), v, side), V)
    check(lambda a: np.searchsorted(a, [-0.5, 0.0], side), NODES)
    check(lambda a, v: np.searchsorted(a, v, side, sorter=np.array([3, 1, 2, 0])), NODES[::-1], V)


def test_places_can_be_looked_up():
    check(lambda v: np.sort(v, axis=None)[np.searchsorted(NODES, v)] * v, V + 0.05)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [NODES, NODES[::-1], NODES[:1]], ids=["up", "down", "one"])
def test_digitize(bins, right):
    check(lambda v: np.digitize(v, bins, right=right), V)


WRONG = [
    (lambda x: np.sort(x, order="f"), TraceError),
    (np.unique, NeedsValueError),
    (np.unique_values, NeedsValueError),
    (lambda x: np.searchsorted(x, x), ShapeError),
    (lambda x: np.searchsorted(x[0], x, side="middle"), InputError),  # pyright: ignore[reportArgumentType, reportCallIssue]
    (lambda x: np.digitize(1.0, x[0]), NeedsValueError),
    (lambda x: np.digitize(x, [0.0, 1.0, 0.5]), ShapeError),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_errors(case):
    f, kind = WRONG[case]
    with pytest.raises(kind) as caught:
        traced(f, np.ones((3, 3)))
    assert isinstance(caught.value, RicciError)
