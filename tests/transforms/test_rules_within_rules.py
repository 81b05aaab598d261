"""A rule that is written with another function that has a rule of its own."""

from __future__ import annotations

import numpy as np
import pytest

import ricci as rc
from ricci.errors import RuleError


def scaled(factor, slope):
    """``factor·x``, which says of itself that its derivative is ``slope``."""

    @rc.custom
    def multiply(x):
        return factor * x

    multiply.derivative(lambda x: slope * np.ones_like(x))
    return multiply


def doubled_by(inner):
    """``2x``, whose rule sends what comes back through ``inner``."""

    @rc.custom
    def double(x):
        return 2.0 * x

    double.vjp(lambda primals, bar: (inner(bar),))
    return double


def test_a_linear_function_with_a_rule_is_linear():
    f = doubled_by(scaled(2.0, 2.0))
    assert rc.grad(lambda x: f(x) * x)(3.0) == 12.0
    assert rc.grad(rc.grad(lambda x: f(x) * x))(3.0) == 4.0
    assert rc.jvp(f, (3.0,), (5.0,)) == (6.0, 10.0)


def test_the_rule_within_is_believed():
    """What a vjp does with a gradient is known from the rules of what it uses."""
    assert rc.grad(doubled_by(scaled(2.0, 7.0)))(3.0) == 7.0


def test_what_is_not_linear_is_refused():
    @rc.custom
    def shifted(x):
        return x + 1.0

    shifted.derivative(np.ones_like)
    with pytest.raises(RuleError, match="not linear"):
        rc.grad(doubled_by(shifted))(3.0)
