"""``rc.parse(str(f)) == f`` for formulas and for their first and second derivatives, without exception."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import ricci as rc
from ricci.testing.written import derivatives, random_written

# The smallest texts of each class in which a text says less than the formula knows.
TEXTS = [
    "y = max[j,k](x[j,k])",
    "y = prod[j,k](x[j,k])",
    "y = logsumexp[j,k](x[j,k])",
    "y[j,k] = softmax[j,k](x[j,k])",
    "c[i] = x[i+k] w[k]",
    "c[i] = x[2*i+k] w[k]",
    "y = a[i-j+2] delta[i,j]",
    "y = a[j] c[t[j,j]]",
    "y[i] = a[i] cumsum[i](a[i])",
    "y[i,k] = b[i-k+2] 1[k] c[i]",
    "y[i] = z[i] x[|i|-1-i]",
    "y[i] = x[i] 1[j] y2[j] |i|",
    "y[i] = (|i| - 1) x[i+1]",
    "y[i] = sort[i](x[i])",
    "y[i] = cumprod[i](x[i])",
    "y = det(a) + tr(b)",
    "x[j,c] = solve[i,j](A[i,j], b[i,c])",
    "h[i,j] = sin(a[i,j]); y[i] = h[i,0] + h[i,i]",
]


def test_a_line_of_sizes_says_what_the_statements_do_not():
    derivative = rc.parse("c[i] = x[i+k] w[k]").diff("w")
    said = rc.parse("sizes: w[k], x[n], |i| = |n| - |k| + 1\ndc_dw[i,k] = x[i+k]")
    assert said == derivative and "sizes:" in str(derivative)
    assert said(x=np.arange(5.0), w=np.ones(2)).tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]


@pytest.mark.parametrize("text", TEXTS)
def test_formulas_and_their_derivatives_come_back(text: str):
    f = rc.parse(text)
    for name in f.variables:
        if name not in f.context.facts.integers:
            comes_back(f.diff(name))
            comes_back(f.diff(name, name))
    comes_back(f)


def comes_back(f: rc.Formula) -> None:
    again = rc.parse(str(f))
    assert again == f, str(f)
    f.latex()


def test_what_is_printed_has_the_value_of_the_formula():
    a = np.array([1.0, 2.0, 3.0])
    f = rc.parse("y[i] = a[i] cumsum[i](a[i])")
    assert str(f) == "y[i] = a[i] cumsum[i](a[i])" and rc.parse(str(f))(a=a).tolist() == [1, 6, 18]


def test_a_line_of_sizes_that_is_wrong_is_pointed_at():
    for text in (
        "sizes: x[i+1]; y = x[i] 1[i]",
        "sizes: |i| = sin(2); y = 1[i] 1[i]",
        "sizes: 3; y = x",
        "sizes: x; y = x",
    ):
        with pytest.raises(rc.NotationError, match=r"\^"):
            rc.parse(text)


def test_sizes_that_were_given_are_said():
    for text in ("y[i] = x[i] + A[i,j] 1[j]", "y = det(A) + A[i,j] 1[i,j]", "y = x[i+k] w[k] 1[i]"):
        f = rc.parse(text, sizes={"i": 3})
        assert str(f).startswith("sizes: |i| = 3") and rc.parse(str(f)) == f != rc.parse(text)


@pytest.mark.parametrize("part", range(4))
def test_random_texts_and_their_derivatives_are_read(part: int):
    """All are read. Of second derivatives, some whose parts may be exchanged come back in another form."""
    counts = {"formula": [0, 0], "derivative": [0, 0]}
    for seed in range(100 * part, 100 * part + 15):
        rng = random.Random(seed)
        _, f = random_written(rng, rng.choice((1, 1, 2)), rng.choice((1, 1, 1, 2)))
        read_again(f, counts["formula"])
        try:
            for derivative in derivatives(f, rng):
                if derivative.order < 6:
                    read_again(derivative, counts["derivative"])
        except (rc.InputError, rc.RuleError):  # there is no derivative
            continue
    assert counts["formula"][0] == 0 and counts["derivative"][0] <= 1 and counts["derivative"][1] > 10


def read_again(f: rc.Formula, count: list[int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count[0] += rc.parse(str(f)) != f
    count[1] += 1


def test_a_derivation_by_a_scalar_says_one_over_it():
    lines = [step.text for step in rc.parse("y = log(a)").diff("a").derivation()]
    assert lines[-1] == "= 1/a" and "= a" not in lines
