"""Numbers in their one form: floats that are short fractions are these, exactly, and others stay what they are."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from ricci.expr.numbers import number


@given(st.one_of(st.floats(), st.builds(lambda n, k: n / 2.0**k, st.integers(-(2**60), 2**60), st.integers(0, 14))))
@example(2.0**53)
@example(1 / 1024)
@example(1 / 2048)
@example(5e-324)
def test_floats_are_fractions_where_these_are_short(value: float):
    found = number(value)
    if not math.isfinite(value):
        assert isinstance(found, float) and (found == value or (math.isnan(found) and math.isnan(value)))
        return
    exact = Fraction(value)
    if exact.denominator == 1:
        wanted = int if abs(exact) < 2**53 else float
    else:
        wanted = Fraction if exact.denominator <= 1024 else float
    assert type(found) is wanted and found == exact
