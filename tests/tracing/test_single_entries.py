"""One entry alone, names that NumPy gives twice, and what belongs to Fourier transforms."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check

import ricci as rc
import ricci.numpy as rnp

ROW, COLUMN = np.array([[0.3, -1.2, 2.4]]), np.array([[0.3], [1.5]])
CASES = {
    "std of a row over rows": (lambda x: np.std(x, axis=0), ROW),
    "std of a column over columns": (lambda x: np.std(x, axis=1, keepdims=True), COLUMN),
    "var": (lambda x: np.var(x, axis=0) + x, ROW),
    "over no axes": (lambda x: np.std(x, axis=()), ROW),
    "a number": (np.std, np.array(2.0)),
    "both axes": (lambda x: np.std(x, axis=(0, 1)) * x, np.array([[1.5]])),
}


@pytest.mark.parametrize("name", CASES)
def test_an_entry_alone_does_not_vary(name):
    f, x = CASES[name]
    check(f, x)


def test_fewer_entries_than_are_taken_off():
    f = rc.compile(lambda x: np.var(x, axis=0, ddof=1))
    assert np.isnan(f(ROW)).all()


@pytest.mark.skipif(not hasattr(np, "row_stack"), reason="this NumPy has no row_stack")
def test_row_stack_is_vstack():
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(rc.compile(lambda x: rnp.row_stack([x, 2 * x]))(x), [[1, 2], [2, 4]])


@pytest.mark.parametrize("axes", [None, 0, -1, (1,), (2, 0)], ids=str)
@pytest.mark.parametrize("f", [np.fft.fftshift, np.fft.ifftshift])
@pytest.mark.parametrize("shape", [(4, 3, 2), (1, 5, 0)], ids=str)
def test_halves_exchanged(f, axes, shape):
    check(lambda x: f(x, axes) * 2, np.random.default_rng(1).normal(size=shape))
