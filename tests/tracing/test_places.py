"""Whole numbers computed from floating ones: they stay or jump, so that derivatives take them as constants."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check

import ricci as rc

X = np.array([[0.3, -1.2, 2.4], [1.7, 0.6, -0.4]])
CASES = {
    "argmax": lambda x: x * np.argmax(x),
    "argmin": lambda x: x * np.argmin(x, axis=1, keepdims=True),
    "nanargmax": lambda x: x * np.nanargmax(x),
    "argsort": lambda x: x**2 * np.argsort(x, axis=0),
    "rank": lambda x: x * np.argsort(np.argsort(x)),
    "argpartition": lambda x: x * np.argpartition(x, 1),
    "searchsorted": lambda x: x * np.searchsorted([0.0, 1.0], x),
    "searchsorted in the traced one": lambda x: x * np.searchsorted(np.sort(x[0]), 0.5),
    "digitize": lambda x: x * np.digitize(x, [0.0, 1.0]),
    "digitize downwards": lambda x: x * np.digitize(x, [1.0, 0.0]),
    "read there": lambda x: x[0, np.argmax(x[0])] * x,
    "count_nonzero": lambda x: x * np.count_nonzero(x > 0),
    "astype": lambda x: x * x.astype(int),
}


@pytest.mark.parametrize("name", CASES)
def test_taken_as_constants(name):
    check(CASES[name], X)


@pytest.mark.parametrize("name", ["argmax", "argmin", "argsort"])
def test_functions_of_our_own(name):
    place = getattr(rc, name)
    wanted = np.diag(np.broadcast_to(getattr(np, name)(X[0]), 3))
    np.testing.assert_allclose(rc.jacobian(lambda x: x * place(x, 0))(X[0]), wanted)
