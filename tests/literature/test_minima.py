"""SciPy's optimisers reach minima with derivatives of ricci; that they are minima is seen by plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from literature.minima import PROBLEMS, Problem
from literature.solving import least, ricci_solver

import ricci as rc


def total(problem: Problem) -> Any:
    """The number that is made small, in plain NumPy: of residuals, half the sum of their squares."""
    _, data = problem.data()

    def function(p: np.ndarray) -> float:
        found = problem.function(np, p, *data)
        return float(0.5 * np.sum(found**2) if problem.method == "least squares" else found)

    return function


def slope(function: Any, at: np.ndarray) -> np.ndarray:
    return rc.numerical_jacobian(function, at)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_the_minimum_is_reached(problem):
    start, _ = problem.data()
    function, found = total(problem), ricci_solver(problem)()
    assert least(found) == pytest.approx(function(found.x))
    assert np.abs(slope(function, found.x)).max() < 1e-4 * max(1.0, np.abs(slope(function, start)).max())
    assert function(found.x) < function(start)


def test_a_start_is_no_minimum():
    """What the test above asks, it can deny."""
    for problem in PROBLEMS:
        start, _ = problem.data()
        assert np.abs(slope(total(problem), start)).max() > 1e-2


def test_methods_and_names():
    assert len({problem.name for problem in PROBLEMS}) == 10
    assert {problem.method for problem in PROBLEMS} == {"Newton-CG", "trust-exact", "BFGS", "least squares"}
