"""Formulas are equal whatever their form: told from values in a finite field, and never for formulas that differ."""

from __future__ import annotations

import pytest

import ricci as rc
from ricci.simplify.residues import agree

SAME = [
    ("y = (a + b)**5 (a - b)", "y = (a**2 - b**2) (a + b)**4"),
    ("y[i] = x[i] / (a + x[i]) + a / (a + x[i])", "y[i] = (a + x[i]) / (x[i] + a) + 0 a x[i]"),
    ("y[i,j] = cumsum[i](A[i,j] / c)", "y[i,j] = cumsum[i](delta[i,k]) A[k,j] / c"),
    ("y[i] = sin(x[i] - a) + cos(x[i] - a)", "y[i] = cos(a - x[i]) - sin(a - x[i])"),
    ("y[i,k] = inv(A)[i,j] A[j,k] / det(A)", "y[i,k] = delta[i,k] / det(A)"),
    ("y = det[i,k](A[i,j] A[k,j])", "y = det(A)**2"),
    ("y[j] = solve(A, b)[j]", "y[j] = inv(A)[j,i] b[i]"),
    ("y = prod[i](x[i]**2)", "y = prod[i](x[i])**2"),
    ("y = where(a > b, c, d)", "y = d + (a > b) (c - d)"),
    ("y = x**(0.5 - 2) * 3.3**x", "y = 3.3**x / x**2 * sqrt(x)"),
    (
        "h[0,i] = h0[i]; h[t+1,i] = (h[t,i] + x[t,i])**2",
        "h[0,i] = h0[i]; h[t+1,i] = h[t,i]**2 + 2 x[t,i] h[t,i] + x[t,i]**2",
    ),
    ("y = b[t[i]] b[t[i]]", "y = delta[t[i],j] b[j]**2 1[i,j]"),
]
OTHER = [
    (  # true of square matrices alone
        "y[a,b] = X[a,i] inv[i,j](X[m,i] X[m,j]) X[b,j]",
        "y[a,b] = (X[a,i] inv[i,j](X[m,i] X[m,j]) X[b,j])**2",
    ),
    ("y = x", "y = relu(x)"),
    ("y = x + 1e-30", "y = x + 2e-30"),
    ("y = (x == 0)", "y = 0 x"),
    ("y = x[i] 1[i] |i|", "y = 3 x[i] 1[i]"),
    ("y = A[i,j] 1[i,j] |i|", "y = A[i,j] 1[i,j] |j|"),
    ("y[i,j] = A[i,j]", "y[i,j] = A[j,i]"),
    ("y = max[i](x[i])", "y = min[i](x[i])"),
    ("y = sin(a) + sin(b)", "y = sin(a + b)"),
    ("y = a[i] a[i] b[j] b[j]", "y = a[i] b[i] a[j] b[j]"),
    ("y[i] = cumsum[i](x[i])", "y[i] = 1[i] 1[j] x[j]"),
    ("y[i,k] = A[i,j] A[j,k]", "y[i,k] = tr(A) A[i,k] - det(A) delta[i,k]"),  # so it is for two rows
    ("y = sqrt(x**2)", "y = x"),
    ("y = 0.1 x", "y = 12.9 x"),
    ("h[0] = a; h[t+1] = sin(h[t]) b; y = h[3]", "h[0] = a; h[t+1] = b sin(h[t]); y = h[2]"),
    ("h[0] = a; h[t+1] = sin(h[t]) x[t]", "h[0] = a; h[t+1] = sin(h[t] x[t])"),
    ("y = x[7]", "y = x[8]"),
    ("y = x[n[]]", "y = 2 x[n[]]"),
    ("y[i] = [i >= 9] x[i]", "y[i] = [i >= 10] x[i]"),
    ("y[i] = x[t[i]]", "y[i] = x[t[i]] + x[0] t[i]"),
    ("y = x[i+7] w[i]", "y = x[i+8] w[i]"),
    ("y = (|i| - 2) (|i| - 3) x[i] 1[i]", "y = 0 x[i] 1[i] + (|i| - 3) (|i| - 2) (|i| - 4) x[i] 1[i]"),
    ("y = 0.5 x", "y = 0.50000000000001 x"),
    ("y = x**c", "y = x**(c + 1)"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_other_forms(one: str, other: str):
    f, g = rc.parse(one), rc.parse(other)
    assert agree(f.expr, g.expr) or f == g


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_others_are_told_apart(one: str, other: str):
    f, g = rc.parse(one), rc.parse(other)
    assert f != g and not agree(f.expr, g.expr)


def test_derivatives_of_loops_are_compared_step_by_step():
    f, g = [rc.parse(text).diff("x") for text in next(pair for pair in SAME if "h0" in pair[0])]
    assert f == g != rc.parse("h[0,i] = h0[i]; h[t+1,i] = (h[t,i] + x[t,i])**3").diff("x")


def test_numbers_for_sizes_make_a_difference():
    text = "y = (a[i] + b[i])**2 1[i]"
    f, g = rc.parse(text, sizes={"i": 3}), rc.parse("y = (a[i]**2 + 2 a[i] b[i] + b[i]**2) 1[i]")
    assert f != g and rc.parse(text) == g


def test_equal_formulas_have_one_hash():
    f, g = rc.parse(SAME[0][0]), rc.parse(SAME[0][1])
    assert f == g and hash(f) == hash(g) and len({f, g}) == 1


def test_large_numbers_for_sizes_do_not_matter_where_no_place_is_read():
    sizes = {"i": 999, "j": 998, "k": 997}
    f = rc.parse("C[i,k] = A[i,j] B[j,k]; y[i,k] = C[i,k]**5 (C[i,k] + c)", sizes=sizes)
    g = rc.parse("C[i,k] = A[i,j] B[j,k]; y[i,k] = C[i,k]**6 + c C[i,k]**5", sizes=sizes)
    h = rc.parse("C[i,k] = A[i,j] B[j,k]; y[i,k] = C[i,k]**6 + c C[i,k]**4", sizes=sizes)
    assert f == g != h
    assert rc.parse("y = x[7]") != rc.parse("y = x[8]")


def test_what_is_too_much_work_is_told_by_its_form_alone():
    sizes = {"i": 999, "k": 997}
    f = rc.parse("y[i,k] = (x[i+2] z[k+1])**5 (x[i+2] z[k+1] + c)", sizes=sizes)
    g = rc.parse("y[i,k] = x[i+2]**6 z[k+1]**6 + c (x[i+2] z[k+1])**5", sizes=sizes)
    assert not agree(f.expr, g.expr) and f == rc.parse(str(f))
