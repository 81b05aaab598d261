"""The programs of the literature, as users write NumPy: what is asked of them is right, and no larger than need be.

What a plan makes is counted, never timed. A value makes no more than NumPy's own run of the program, and a gradient at
most five times that; and no array is much larger than the largest that was there before: of the operands, of the
results, and of those that NumPy makes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from literature import BY_NAME, PROGRAMS  # pyright: ignore[reportAttributeAccessIssue]
from literature.counting import Count, around, counted, numpys_own, plan_of
from literature.spaces import autograd_space

LARGER = 1.5  # times the largest array that was there
TIMES = {"value": 1.25, "grad": 5.0, "hvp": 12.0, "diagonal": 12.0}  # what NumPy's own run reads and makes
SPARE = 300  # entries
LONG = {("hand", "hessian"), ("lstm", "hvp"), ("fluid", "grad"), ("bundle", "hvp"), ("convnet", "hvp")}

# What makes too much yet, and why.
SUMS = "a sum of outer products is added up one by one"
TOO_MUCH: dict[tuple[str, str], str] = {
    **{(name, "hvp"): SUMS for name in ("bundle", "lstm", "scaling")},
    ("gp", "hessian"): "intermediates are kept for all parameters at once",
}


def asked() -> list[Any]:
    """All programs with all that is asked of them."""
    found = []
    for program in PROGRAMS:
        for kind in program.kinds:
            marks = [pytest.mark.thorough] if (program.name, kind) in LONG else []
            if kind != "newton":
                found.append(pytest.param(program.name, kind, marks=marks, id=f"{program.name}-{kind}"))
    return found


@cache  # for both tests of a program
def planned(name: str, kind: str) -> tuple[Any, Any]:
    """The plan, and the result; with the function over NumPy as it is."""
    case = BY_NAME[name].case()
    further = (case.direction,) if kind == "hvp" else ()
    return plan_of(kind, lambda *args: case.function(np, *args), (*case.args, *further))


@cache
def numpy_run(name: str) -> Count:
    case = BY_NAME[name].case()
    return numpys_own(lambda *args: case.function(np, *args), case.args)


def leaves(result: Any) -> list[np.ndarray]:
    return [np.asarray(part) for part in (result if isinstance(result, (tuple, list)) else (result,))]


# Right


def by_autograd(name: str, kind: str) -> Any:
    autograd = pytest.importorskip("autograd")
    case, space = BY_NAME[name].case(), autograd_space()

    def function(*args: Any) -> Any:
        return case.function(space, *args)

    def along(*args: Any) -> Any:
        v = case.direction if kind == "hvp" else np.ones_like(case.args[0])
        g = autograd.grad(function)(*args)
        return sum(space.sum(a * b) for a, b in (zip(g, v) if isinstance(v, tuple) else [(g, v)]))

    if kind == "value":
        return function(*case.args)
    transform, of = {"grad": (autograd.grad, function), "hessian": (autograd.hessian, function)}.get(
        kind, (autograd.grad, along)
    )
    return transform(of)(*case.args)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name, kind", asked())
def test_results_are_those_of_autograd(name, kind):
    for found, expected in zip(leaves(planned(name, kind)[1]), leaves(by_autograd(name, kind)), strict=True):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * max(1.0, np.abs(expected).max(initial=0)))


# No larger than it has to be


def too_large(plan: Any, own: Count) -> str:
    """What is wrong with the largest array of a plan, in words; nothing if it is not."""
    largest, there = counted(plan.program).largest, max(around(plan.program), own.largest)
    return (
        "" if largest <= LARGER * there + SPARE else f"an array of {largest:,} entries, where the largest had {there:,}"
    )


def too_much(plan: Any, own: Count, kind: str) -> str:
    """What is wrong with all that a plan reads and makes together."""
    touched, results = counted(plan.program).touched, sum(np.prod(r.shape, dtype=int) for r in plan.program.results)
    allowed = TIMES[kind] * own.touched + 5 * results + SPARE
    return "" if touched <= allowed else f"{touched:,} entries read or made, by NumPy's own run {own.touched:,}"


@pytest.mark.parametrize("name, kind", asked())
def test_plans_make_no_more_than_the_rule_allows(request, name, kind):
    if (name, kind) in TOO_MUCH:
        request.applymarker(pytest.mark.xfail(reason=TOO_MUCH[name, kind], strict=True))
    plan, own = planned(name, kind)[0], numpy_run(name)
    assert too_large(plan, own) == ""
    if kind != "hessian":  # its entries are those of the result
        assert too_much(plan, own, kind) == ""


# The checkers


def outer(x: Any) -> Any:
    return np.sum(np.exp(x[:, None] + x))


def plain(x: Any) -> Any:
    return np.sum(np.exp(x) * np.sin(x))


def test_an_array_that_is_too_large_is_found():
    x = np.linspace(0, 1, 50)
    plan, _ = plan_of("value", lambda x: np.sum(np.sin(x[:, None] * x + x)), (x,))
    own = numpys_own(plain, (x,))
    assert "an array of 2,500 entries, where the largest had 50" in too_large(plan, own)
    assert too_large(plan, numpys_own(outer, (x,))) == ""


def test_many_small_arrays_are_found():
    def long(x: Any) -> Any:
        for _ in range(30):
            x = np.sin(x)
        return np.sum(x)

    x = np.linspace(0, 1, 50)
    plan, _ = plan_of("value", long, (x,))
    assert too_large(plan, numpys_own(plain, (x,))) == ""
    assert "3,051 entries read or made, by NumPy's own run 401" in too_much(plan, numpys_own(plain, (x,)), "value")
    assert too_much(plan, numpys_own(long, (x,)), "value") == ""


def test_what_numpy_makes_is_counted_and_views_are_not():
    A, x = np.ones((3, 4)), np.ones(4)
    assert numpys_own(lambda A, x: A @ x, (A, x)) == Count(1, 3, 12 + 4 + 3, 3)
    assert numpys_own(lambda A, x: (A.T[:1] * 2, x[1:], x[None, :], A.reshape(2, 6)), (A, x)) == Count(1, 3, 6, 3)
    assert numpys_own(lambda A, x: np.sum(np.concatenate([A, A]), 1), (A, x)) == Count(2, 24 + 6, 24 + 24 + 24 + 6, 24)
    assert numpys_own(lambda A, x: np.linalg.slogdet(A @ A.T + np.eye(3))[1], (A, x)).largest == 9
    assert numpys_own(lambda A, x: x[np.array([0, 1, 1])], (A, x)).entries == 3


def test_the_table_names_programs():
    assert {name for name, _ in TOO_MUCH} <= BY_NAME.keys()
    assert all(kind in BY_NAME[name].kinds for name, kind in {*TOO_MUCH, *LONG})


def test_arguments_are_the_same_whenever_they_are_asked_for():
    for program in PROGRAMS:
        one, other = program.case(), program.case()
        assert all(np.array_equal(a, b) for a, b in zip(leaves(one.args[0]), leaves(other.args[0]), strict=True))
