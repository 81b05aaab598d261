"""Julia: read and run by as much of it as is written, it gives what ricci gives."""

from __future__ import annotations

import re

import numpy as np
import pytest
from julia_reader import function_of
from test_functions_alone import NAMES, formulas, values
from test_identities_alone import ROWS, calls

import ricci as rc
from ricci.errors import RuleError

pytest.importorskip("scipy", reason="SciPy, which has the functions of SpecialFunctions, is not installed")


def fault(code, given, wanted):
    """What is wrong with a code, for values by name."""
    head = re.search(rf"function {code.name}\((.*)\)", code)
    assert head is not None, code
    plain, _, sizes = head[1].partition("; ")
    named = [name for name in plain.split(", ") if name]
    arguments = [given[name] if name in given else given[name.rstrip("_")] for name in named]
    more = {name: given[name.removeprefix("n_")] for name in sizes.split(", ") if name}
    try:
        found = function_of(code)(*[x if np.ndim(x) else np.asarray(x).item() for x in arguments], **more)
    except Exception as error:
        return f"{type(error).__name__} {error}"
    if np.shape(found) != np.shape(wanted):
        return f"the shape is {np.shape(found)}, and should be {np.shape(wanted)}"
    fine = np.allclose(found, wanted, rtol=1e-7, atol=1e-9, equal_nan=True)
    return "" if fine else f"{found}, and should be {wanted}"


def of_identities(rows):
    found, count = [], 0
    for row in rows:
        for order in (0, None):
            formula = row.derivative(order=order)
            try:
                code = formula.code("julia", name="f")
            except RuleError as error:
                assert "Julia" in str(error)
                continue
            for given, wanted in calls(row, formula):
                if np.size(wanted) < 5000:
                    told, count = fault(code, given, wanted), count + 1
                    found += [f"{row.name}, {order}: {told}"] if told else []
    return found, count


def test_some_identities():
    found, count = of_identities(ROWS[::6])
    assert found == [] and count > 90


@pytest.mark.thorough
def test_all_identities():
    found, count = of_identities(ROWS)
    assert found == [] and count > 600


def test_functions():
    found, lacking = [], []
    for name in NAMES:
        if name == "eigh_vectors":  # which may come with either sign
            continue
        own = values(name)
        for formula in formulas(name):
            known = {n: own[n] for n in formula.context.facts.inputs}
            try:
                told = fault(formula.code("julia", name="f"), known, np.asarray(formula(**known)))
            except RuleError:
                lacking.append(name)
                continue
            found += [f"{formula}: {told}"] if told else []
    assert found == [] and set(lacking) <= {"expm", "cholesky", "polygamma", "barrier"}


def test_loops_gathers_and_checked_sizes():
    rng = np.random.default_rng(0)
    f = rc.parse("h[0,i] = a[i]; h[t+1,i] = tanh(W[i,j] h[t,j] + x[t,i])")
    given = {"a": rng.normal(size=2), "W": rng.normal(size=(2, 2)), "x": rng.normal(size=(3, 2))}
    for one in (f, f.diff("W")):
        assert fault(one.code("julia"), given, one(**given)) == ""
    n, given = rc.parse("f[n_j] = exp(A[n_j,j] v[j])"), {"A": rng.normal(size=(2, 3)), "v": rng.normal(size=3)}
    assert fault(n.code("julia"), given, n(**given)) == ""
    h = rc.grad(lambda x: (np.cumsum(x, 1) * np.cumprod(x, 0)).sum())
    x = rng.normal(size=(2, 3))
    assert fault(h.code("julia")(x), {"x": x}, h(x)) == ""
    e, given = rc.parse("y[i,j] = expm(A)[i,j]").diff("A"), {"A": rng.normal(size=(2, 2))}
    assert fault(e.code("julia"), given, e(**given)) == ""
    g = rc.parse("y[b,d] = table[t[b],d]")
    given = {"table": rng.normal(size=(4, 2)), "t": np.array([3, 0, 3])}
    for one in (g, g.diff("table")):
        assert fault(one.code("julia"), given, one(**given)) == ""
    checked = rc.grad(lambda x: x.sum() if len(x) > 3 else x.prod()).code("julia")(np.ones(4))
    assert "axis 1 of x must have the size 4" in fault(checked, {"x": np.ones(3)}, np.ones(3))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("1:n_j", "0:n_j"), "place 0 of 2"),
        (("A[i, j]", "A[j, i]"), "place 3 of 2"),
        ((" + b[i]", ""), "and should be"),
        (("sum(A[i, j] * x[j] for j in 1:n_j; init=0.0) + b[i]", "(b[i] > 0 ? b[i] : 0)"), "entries of the types"),
        (("n_i, n_j = size(A)", "n_i, n_j = size(A, 1)"), "Error"),
        (("+ b[i]", "+ det(A)"), "KeyError"),
        (("A[i, j] *", "A .* "), "Error"),
    ],
)
def test_wrong_codes_are_found(change, says):
    f = rc.parse("y[i] = A[i,j] x[j] + b[i]")
    given = {"A": np.arange(6.0).reshape(3, 2), "x": np.ones(2), "b": np.array([1.0, -1.0, 2.0])}
    code = f.code("julia")
    assert fault(code, given, f(**given)) == ""
    wrong = type(code)(code.replace(*change), "julia", "y")
    assert wrong != code and says in fault(wrong, given, f(**given))
