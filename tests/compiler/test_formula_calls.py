"""Calling a formula: compiled, kept by shapes, and in values, types and layout what the interpreter says."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from compiled_checks import Case, make_case
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ricci as rc
from ricci.errors import DTypeError, InputError, ShapeError
from ricci.expr import dims, topological
from ricci.expr.settle import own_sizes
from ricci.notation.context import Context, Facts
from ricci.user.formula import Formula

seeds = st.integers(0, 2**32 - 1)


def formula_of(case: Case) -> Formula:
    inputs = {name: a.ndim for name, a in case.inputs.items()}
    (root,) = case.roots[:1]
    names = tuple([f"i{k}" for k in range(len(root.shape))])
    return Formula(root, names, Context(Facts(inputs=inputs, mentions=dict.fromkeys(inputs))))


def check_call(case: Case) -> str:
    """A call of a formula beside the interpreter; "other" where results have another type, which few may have."""
    formula = formula_of(case)
    (want,) = case.interpreted(case.roots[:1], case.inputs)
    free = {atom[0]: n for atom, n in case.sizes.items() if len(atom) == 1}
    known = {x for root in case.roots[:1] for node in topological(root) for x in _names(node)}
    sizes = {name: n for name, n in free.items() if name in known}
    first = formula(**case.inputs, **({"sizes": sizes} if sizes else {}))
    again = formula(**case.inputs, **({"sizes": sizes} if sizes else {}))
    np.testing.assert_array_equal(first, again)
    assert isinstance(first, np.ndarray if want.ndim else np.generic)
    if want.ndim:
        assert first.flags.c_contiguous and first.flags.writeable
        assert not any(np.shares_memory(first, x) for x in [again, *case.inputs.values()])
    assert first.shape == want.shape
    return "same" if first.dtype == want.dtype else "other"


def _names(node: Any) -> set[str]:
    return {a[0] for size in (*own_sizes(node), *node.shape) for a in dims.atoms(size) if len(a) == 1}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
@given(seeds)
def test_random_formulas(seed: int):
    check_call(make_case(seed, "value"))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))  # pyright: ignore[reportArgumentType]
@given(seeds)
def test_random_formulas_with_empty_axes(seed: int):
    check_call(make_case(seed, "value", extents=(0, 1, 2)))


def test_types_are_the_interpreters():
    said = [check_call(make_case(seed, "value")) for seed in range(200)]
    assert set(said) == {"same"}


def test_plans_are_kept_by_shapes():
    rc.cache_clear()
    f = rc.parse("y[i] = A[i,j] x[j]")
    for n in (3, 4, 3, 4, 3):
        np.testing.assert_array_equal(f(A=np.ones((2, n)), x=np.ones(n)), [n, n])
    assert rc.cache_info().misses == 2
    assert rc.parse("z[p] = A[p,q] x[q]")(A=np.ones((2, 3)), x=np.ones(3)).shape == (2,)  # an equal formula
    assert rc.cache_info().misses == 2


def test_nothing_is_simplified(monkeypatch: pytest.MonkeyPatch):
    """A formula means what is written: this one overflows, and simplified it would not."""
    f = rc.parse("y[i] = log(1 + exp(x[i]))")
    assert f(x=np.array([1000.0])) == np.inf
    assert f.simplify()(x=np.array([1000.0])) == f.compile()(x=np.array([1000.0])) == 1000


def test_errors_name_what_is_meant():
    f = rc.parse("y[i] = A[i,j] x[j]")
    with pytest.raises(InputError, match="lacks a value for x; add x="):
        f(A=np.ones((2, 3)))
    with pytest.raises(InputError, match="There is no input 'X'; the inputs are A, x"):
        f(A=np.ones((2, 3)), x=np.ones(3), X=1)
    with pytest.raises(ShapeError, match="Index 'j' has two sizes: 3 on axis 1 of 'A' and 4 on axis 0 of 'x'"):
        f(A=np.ones((2, 3)), x=np.ones(4))
    with pytest.raises(ShapeError, match=r"A\[i,j\] has 2 axes, and the array given for it has 1"):
        f(A=np.ones(3), x=np.ones(3))
    with pytest.raises(DTypeError, match="The input 'x' is complex"):
        f(A=np.ones((2, 3)), x=1j * np.ones(3))
    with pytest.raises(InputError, match="Nothing determines the size of index 'n'"):
        rc.parse("y[i,n] = x[i] 1[n]")(x=np.ones(3))
    with pytest.raises(InputError, match="must be a whole number that is not negative, not \\[3\\]"):
        rc.parse("y[i,n] = x[i] 1[n]")(x=np.ones(3), sizes={"n": [3]})
    with pytest.raises(InputError, match="sizes gives the sizes of indices"):
        f(A=np.ones((2, 3)), x=np.ones(3), sizes=3)


def test_a_formula_that_was_called_is_pickled_without_its_plans():
    f = rc.parse("y[i] = tanh(x[i])")
    f(x=np.ones(3))
    again = pickle.loads(pickle.dumps(f))
    assert again == f and again._function is None
    np.testing.assert_array_equal(again(x=np.ones(3)), f(x=np.ones(3)))


def test_the_check_can_fail(monkeypatch: pytest.MonkeyPatch):
    as_written = Formula._as_written
    monkeypatch.setattr(Formula, "_as_written", lambda self: lambda **inputs: as_written(self)(**inputs).T)
    with pytest.raises(AssertionError):
        for seed in range(200):
            case = make_case(seed, "value")
            if any(len(root.shape) > 1 for root in case.roots):
                check_call(case)
