"""SciPy's optimisers with derivatives of one library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

import ricci as rc
from literature.minima import Problem

Solve = Callable[[], Any]


def ricci_solver(problem: Problem) -> Solve:
    return solver(problem, np, rc.value_and_grad, rc.hvp, rc.hessian, rc.jacobian, rc.compile)


def solver(problem: Problem, space: Any, both: Any, hvp: Any, hessian: Any, jacobian: Any, plain: Any) -> Solve:
    """What minimises a problem, with functions of one library; arrays go in and come out as NumPy's."""
    start, data = problem.data()

    def function(p: Any, *data: Any) -> Any:
        return problem.function(space, p, *data)

    if problem.method == "least squares":
        residuals, slope = plain(function), jacobian(function)
        return lambda: optimize.least_squares(
            lambda p: np.asarray(residuals(p, *data)),
            start,
            lambda p: np.asarray(slope(p, *data)),  # pyright: ignore[reportArgumentType]
            xtol=1e-12,
        )
    value = both(function)
    more: dict[str, Any] = {}
    if problem.method == "Newton-CG":
        bend = hvp(function)
        more = {"hessp": lambda p, v: np.asarray(bend(p, *data, v))}
    elif problem.method == "trust-exact":
        whole = hessian(function)
        more = {"hess": lambda p: np.asarray(whole(p, *data))}

    def value_and_slope(p: Any) -> Any:
        found, slope = value(p, *data)
        return float(found), np.asarray(slope)

    return lambda: optimize.minimize(value_and_slope, start, jac=True, method=problem.method, **more)


def least(result: Any) -> float:
    return float(result.cost if "cost" in result else result.fun)
