"""Levi-Civita symbols with many indices: computed without their nⁿ entries, and right."""

from __future__ import annotations

import tracemalloc
from itertools import permutations

import numpy as np
import pytest

import ricci as rc
from ricci.compiler.prepare.halves import SMALLEST, HalfSymbol
from ricci.expr.alternating import LeviCivita

LETTERS = "abcdefgh"


def contracted(order: int) -> tuple[rc.Formula, dict[str, np.ndarray]]:
    letters = LETTERS[:order]
    text = f"s = eps[{','.join(letters)}] " + " ".join(f"x{k}[{k}]" for k in letters)
    rng = np.random.default_rng(order)
    return rc.parse(text), {f"x{k}": rng.normal(size=order) for k in letters}


@pytest.mark.parametrize("order", [SMALLEST, 7])
def test_the_halves_make_the_symbol(order):
    first, second = (HalfSymbol(order, which).values for which in (False, True))
    np.testing.assert_array_equal(np.tensordot(first, second, (0, 0)), LeviCivita(order).values)
    assert max(first.size, second.size) < order**order / 5


@pytest.mark.parametrize("order", range(2, 9))
def test_contracted_with_columns_it_is_the_determinant(order):
    f, given = contracted(order)
    tracemalloc.start()
    value = f(**given)
    gradient = f.diff("xb").compile("numpy")(**given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(value, np.linalg.det(np.array(list(given.values()))), rtol=1e-9)
    np.testing.assert_allclose(gradient @ given["xb"], value, rtol=1e-9)
    assert peak < 30e6  # the symbol with eight indices has 134 million bytes


@pytest.mark.parametrize(
    "text",
    [
        "y[f,i,k] = eps[a,b,c,d,e,f] A[a,i] A[c,b] u[e] A[d,k]",
        "y[a,b] = eps[a,b,c,d,e,f] A[c,d] A[e,f]",
        "s = eps[f,e,d,c,b,a] eps[a,b,g,h,i,j] A[c,d] A[e,f] A[g,h] A[i,j]",
        "s = (eps[a,b,c,d,e,f] A[a,b] A[c,d] A[e,f])**2 + eps[a,b,c,d,e,0] A[a,b] A[c,d] u[e]",
        "s = eps[a,a,c,d,e,f] A[c,d] A[e,f]",
    ],
)
def test_in_any_product(text):
    rng = np.random.default_rng(0)
    given = {"A": rng.normal(size=(6, 6)), "u": rng.normal(size=6)}
    f = rc.parse(text)
    whole = rc.parse(text.replace("eps[", "E["))
    symbol = np.zeros((6,) * 6)
    for p in permutations(range(6)):
        symbol[p] = round(np.linalg.det(np.eye(6)[list(p)]))
    expected = whole(E=symbol, **{name: given[name] for name in whole.variables if name != "E"})
    given = {name: given[name] for name in f.variables}
    for value in (f(**given), f.compile("numpy")(**given)):
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9)


def test_code_has_what_can_be_read_and_no_more():
    f, given = contracted(6)
    code = f.code()
    assert len(code) < 120_000
    np.testing.assert_allclose(code(**given), f(**given), rtol=1e-9)
    for backend in ("numpy", "torch", "c", "julia"):
        with pytest.raises(rc.RuleError, match="no code of this: a constant array of 70×8×8×8×8 entries"):
            contracted(8)[0].code(backend)
