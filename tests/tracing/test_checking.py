"""The checks of traced functions are able to fail: each way for a lowering to be wrong is seen."""

from __future__ import annotations

import numpy as np
import pytest
from checking import check

from ricci.expr import product
from ricci.functions import elementwise as e
from ricci.tracing.basics import lift, like
from ricci.tracing.lowerings import LoweringRow
from ricci.tracing.rows import table

X = np.array([[0.3, -1.2, 0.7], [1.1, 0.4, -0.5]])


def _value_only(x):
    """The right value, the wrong derivative."""
    return like(lift(x), e.sin(e.stop_gradient(lift(x).expr)))


def _first_order_only(x):
    """The right value and slope at every point, the wrong second derivative."""
    v = lift(x).expr
    frozen = e.stop_gradient(v)
    return like(lift(x), e.sin(frozen) + e.cos(frozen) * (v - frozen))


WRONG = {
    "value": (lambda x: like(lift(x), e.cos(lift(x).expr)), "values of the result"),
    "type": (lambda x: like(lift(x), e.sin(lift(x).expr), np.float32), "the type is float32"),
    "shape": (lambda x: like(lift(x), product([(e.sin(lift(x).expr), (0, 1))], (1, 0))), "the shape is"),
    "nesting": (lambda x: [like(lift(x), e.sin(lift(x).expr))], "nested"),
    "derivative": (_value_only, "the forward derivative of result 0 by argument 0"),
    "second derivative": (_first_order_only, "the second derivative"),
}


def test_a_right_lowering_passes():
    check(np.sin, X)
    check(lambda x, y: x * y + np.cos(x), X, X[0])
    check(np.sin, X.astype(np.float32))


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_lowering_fails(fault, monkeypatch):
    lower, message = WRONG[fault]
    monkeypatch.setitem(table(), np.sin, LoweringRow("np.sin", np.sin, lower, "test"))
    with pytest.raises(AssertionError, match=message):
        check(np.sin, X)
