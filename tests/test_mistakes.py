"""Mistakes of people who come from other languages: each has a message, and what that says to write was meant."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ricci as rc
from ricci.notation.translations import product

sys.path.insert(0, str(Path(__file__).parent))
from mistakes import MISTAKES, PAGE, Mistake, arrays, meant, message, page, value


def fault(row: Mistake) -> str | None:
    """What is wrong with a row: a message that does not say it, or another value than was meant."""
    said = message(row)[1]
    if row.said not in said:
        return f"not said: {said}"
    found, wanted = value(row), meant(row)
    return None if found.shape == wanted.shape and np.allclose(found, wanted) else f"{found} for {wanted}"


@pytest.mark.parametrize("row", MISTAKES, ids=[row.wrong for row in MISTAKES])
def test_what_a_hint_says_is_what_was_meant(row):
    assert fault(row) is None


def test_there_are_enough():
    assert len(MISTAKES) >= 50 and len({row.wrong for row in MISTAKES}) == len(MISTAKES)
    assert {row.language for row in MISTAKES} >= {"LaTeX", "MATLAB", "NumPy", "SymPy", "einops"}


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "python tests/mistakes.py writes it anew"


def test_the_check_can_fail():
    row = next(row for row in MISTAKES if row.wrong == "X'*X")
    assert "not said" in (fault(replace(row, said="X[j,i] X[k,i]")) or "")
    assert fault(replace(row, meant="X @ X.T")) is not None


# Products of matrices by their names


CHAINS = ["A @ x", "x.T @ A", "A.T @ B", "A @ B.T", "A' * B' * x", "x' * A * B * y", "x @ y", "A * B * A", "x * y'"]


@pytest.mark.parametrize("chain", CHAINS)
def test_products_of_matrices_have_their_indices(chain):
    space = arrays()
    written, free = product(chain)
    left = f"r[{','.join(free)}]" if free else "r"
    formula = rc.parse(f"{left} = {written}")
    found = formula(**{name: space[name] for name in formula.variables})
    columns = {name: value[:, None] if value.ndim == 1 else value for name, value in space.items() if name in "ABxy"}
    said = "x.T @ y" if chain == "x @ y" else chain.replace("'", ".T").replace("*", "@")
    assert np.allclose(found, np.squeeze(eval(said, columns)))


# Warnings come where two readings are, and nowhere else


PLAIN = [
    "y[i] = x[i] x[i]",
    "y[i,j] = x[i,j]/sqrt(x[i,k] x[i,k])",
    "y[i] = x[i]/norm[i](x[i])",
    "y[i] = x[i] - sum[i](x[i] x[i])",
    "y = (x[i] x[i])**2",
    "y[b,h] = x[b,h] - 1[h] m[b]",
    "y[i,j] = 1[i] b[i,j]",
    "f = x_1 x_2 + x_min - x_max",
    "x_dot = a theta_dot",
    "r = k_on x - k_off y",
    "F_x = m a_x",
    "y = e**2",
    "y^i = e^i",
    "e^i",
    "y = e^t a_{t}",
    "y = (a[k] + b[k]) c[k]",
    "y = w[k] exp(a - b[k] c[k])",
    "y = 1[k] exp(a - b[k] c[k]) (d - e[k] f[k])",
    "y = sum[k](exp(a[k] b[k]) (c[k] d[k]))",
    "y[k] = exp(a[k] b[k]) (c[k] d[k])",
    "y = exp(a[k]) (b[k] c[k])",
    "y = p[k] x[k] exp(-r[k] t[k])",
    "y = (A[i,k] x[k] - b[i]) (A[i,j] x[j] - b[i])",
    "y = x[i] (A[i,j] x[j])",
    "y = x[i] A[i,j] x[j]/(x[k] x[k])",
    "y = a[k] b[k]/(2 L[k,k])",
    "dl_dw = 2 w",
]


@pytest.mark.parametrize("text", PLAIN)
def test_no_false_alarm(text, recwarn):
    rc.parse(text)
    assert not recwarn.list


DOUBTFUL = [
    ("f = c[i] x[i]/sqrt(x[i] x[i])", "f = c[i] x[i]/sqrt(x[k] x[k])"),
    ("y[i] = a[i] (x[i] x[i])", "y[i] = a[i] (x[k] x[k])"),
    ("y[i,j] = W[i,j]/sqrt(W[i,j] W[i,j])", "y[i,j] = W[i,j]/sqrt(W[k,l] W[k,l])"),
    ("y[b] = x[b]/(w_b + 1)", "y[b] = x[b]/(w[b] + 1)"),
    ("s = r_ij r_ij", "s = r[i,j] r[i,j]"),
    ("y = sum_i x_i", "y = 1[i] x[i]"),
    ("y = s e**(-x)", "y = s exp(-x)"),
    ("e^x", "exp(x)"),
    ("2 e^{x} + 1", "2 exp(x) + 1"),
    ("y = exp(a - b[k] c[k]) (d - e[k] f[k])", "y = exp(a - b[k] c[k]) (d - e[j] f[j])"),
    ("y = (a[k] b[k]) (c[k] d[k])", "y = (a[k] b[k]) (c[j] d[j])"),
    ("y = a[k] b[k]/(c[k] d[k])", "y = a[k] b[k]/(c[j] d[j])"),
    ("y[i] = exp(A[i,k] x[k]) (B[i,k] z[k])", "y[i] = exp(A[i,k] x[k]) (B[i,j] z[j])"),
    ("y = -(a[k+1] b[k+0] - s)**2 exp(c[k+1] d[k+0])", "y = -(a[k+1] b[k+0] - s)**2 exp(c[j+1] d[j+0])"),
    ("y = x[i] A[i,j] z[j]/(x[i] B[i,j] z[j])", "y = x[i] A[i,j] z[j]/(x[k] B[k,l] z[l])"),
    ("y = log((a[k] b[k] + s) (c[k] d[k]) (e[k] f[k]))", "y = log((a[k] b[k] + s) (c[j] d[j]) (e[l] f[l]))"),
]


@pytest.mark.parametrize("text, other", DOUBTFUL)
def test_both_readings_are_shown(text, other):
    with pytest.warns(rc.ReadingWarning) as seen:
        taken = rc.parse(text)
    (warning,) = seen.list
    shown = str(warning.message)
    assert other in shown and "It is read as" in shown and "^" in shown
    assert warning.filename == __file__
    assert rc.parse(other) != taken
    read = next(line.split(": ", 1)[1] for line in shown.splitlines() if "It is read as" in line)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ReadingWarning)
        assert rc.parse(read) == taken


# Methods of other libraries, and einsum on PyTorch


METHODS = [("pow", "x ** n"), ("mm", "x @ y"), ("tril", "np.tril(x"), ("numel", "x.size")]


@pytest.mark.parametrize("name, written", METHODS)
def test_methods_that_arrays_do_not_have(name, written):
    array = rc.Tensor([1.0, 2.0])
    with pytest.raises(rc.AbsentError, match="has no") as caught:
        getattr(array, name)
    assert isinstance(caught.value, AttributeError) and written in str(caught.value)
    assert not hasattr(array, name)
    with pytest.raises(rc.AbsentError, match="A traced array has no"):
        rc.grad(lambda x: getattr(x, name)())(np.ones(2))


def test_einsum_on_pytorch_says_what_does_not_fit():
    torch = pytest.importorskip("torch")
    import ricci.einops

    x, y, pattern = torch.ones(2, 3), torch.ones(2, 4), "i j, k j -> i k"
    for _ in range(2):  # the first call, and one that is looked up
        with pytest.raises(rc.EinopsError, match="Shape mismatch, 2 != 3"):
            ricci.einops.einsum(x, y, "i j, j k -> i k")
        for function in (ricci.einops.einsum, rc.einsum):
            with pytest.raises(rc.EinopsError, match="several types"):
                function(x.double(), x, pattern)
            with pytest.raises(rc.EinopsError, match=r"torch\.bool"):
                function(x.bool(), x.bool(), pattern)
