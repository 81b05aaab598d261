"""Where a function is zero, where it gives back what it is given, where it is smallest: found step by step, in numbers.

- **Roots**: Newton's method. A step that does not make the residual smaller is halved until it does.
- **Fixed points**: the function again and again.
- **Minima**: Newton's method for the gradient. A step goes down, whatever the curvature is, and is halved until the
  value is smaller; what is found must be curved upwards.

Newton's method doubles the correct digits with each step, so it ends with a step that is smaller than the square root
of what numbers can tell. Where rounding does not let the residual become smaller, steps that are small beside 1 do too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray
HALVINGS = 50
ENOUGH = 1e-4  # of what a step promises
ROUNDING = 1000


class NotFoundError(Exception):
    """What was looked for was not found, for a reason; ``residual`` is how far from it the last point is."""

    def __init__(self, reason: str, residual: float, steps: int):
        super().__init__(reason)
        self.reason, self.residual, self.steps = reason, residual, steps


def largest(x: Array) -> float:
    """The largest entry, without its sign."""
    return float(np.abs(x).max()) if x.size else 0.0


def norm_of(x: Array) -> float:
    """The root of the sum of squares."""
    return float(np.vdot(x, x)) ** 0.5


class Closeness:
    """When a step is small enough, beside the point that it starts from.

    Of ``lanes``, problems side by side along the first axis, each must be.
    """

    def __init__(self, start: Array, tol: float | None, quadratic: bool = True, lanes: bool = False):
        eps = float(np.finfo(start.dtype).eps)
        self.lanes = lanes
        self.eps = eps
        self.tol = tol if tol is not None else eps**0.5 if quadratic else 8 * eps
        self.loose = max(self.tol, eps**0.5 if quadratic else ROUNDING * eps)
        self.least = eps * (np.maximum(1.0, self.size(start)) if lanes else max(1.0, largest(start)))

    def size(self, x: Array) -> Any:
        """The largest entry, of each lane."""
        return np.max(np.abs(x.reshape(len(x), -1)), 1, initial=0.0) if self.lanes else largest(x)

    def reached(self, step: Any, x: Array) -> bool:
        """Whether no better point is asked for."""
        near = (step <= self.tol * self.size(x)) | (step <= self.least)
        return bool(np.all(near)) if self.lanes else near

    def same(self, value: float, other: float) -> bool:
        """Whether two values differ by no more than rounding, so that the gradient alone tells which one is lower."""
        return abs(value - other) <= ROUNDING * self.eps * abs(other)

    def nearly(self, step: Any, x: Array) -> bool:
        """Whether a point will do that does not become better."""
        near = step <= self.loose * (1 + self.size(x))
        return bool(np.all(near)) if self.lanes else near


def root(
    at: Callable[[Array], tuple[Array, Array]], x: Array, tol: float | None, max_steps: int, lanes: bool = False
) -> Array:
    """``at(x)`` gives the residual and the step that would be subtracted."""
    close = Closeness(x, tol, lanes=lanes)
    residual, step = at(x)
    if not np.isfinite(residual).all():
        raise NotFoundError("it is not finite where the search starts", float("nan"), 0)
    for count in range(max_steps):
        norm = norm_of(residual)
        if norm == 0:
            return x
        left = largest(residual)
        if not np.isfinite(step).all():
            raise NotFoundError("its Jacobian is singular where the search came to", left, count)
        size, t = close.size(step), 1.0
        for _ in range(HALVINGS):
            new = x - t * step
            residual, following = at(new)
            if norm_of(residual) <= (1 - ENOUGH * t) * norm:  # false for NaN
                break
            if close.nearly(size, x):
                return x
            t /= 2
        else:
            raise NotFoundError("no step of Newton's method makes its residual smaller", left, count)
        if t == 1.0 and close.reached(size, x):
            return new
        x, step = new, following
    if close.nearly(close.size(step), x):
        return x
    raise NotFoundError("the steps were not enough", largest(residual), max_steps)


def fixed_point(
    at: Callable[[Array], Array], x: Array, tol: float | None, max_steps: int, lanes: bool = False
) -> Array:
    """``at(x)`` is what follows ``x``."""
    close = Closeness(x, tol, quadratic=False, lanes=lanes)
    last = size = close.size(np.full_like(x, np.inf))
    for count in range(max_steps):
        new = at(x)
        size = close.size(new - x)
        if not np.all(np.isfinite(size)):
            raise NotFoundError("it runs away", largest(np.asarray(size)), count)
        if close.reached(size, new) or (np.all(size >= last) and close.nearly(size, new)):
            return new
        x, last = new, size
    raise NotFoundError("the steps were not enough", largest(np.asarray(size)), max_steps)


def minimum(at: Callable[[Array], tuple[Any, Array, Array]], x: Array, tol: float | None, max_steps: int) -> Array:
    """``at(x)`` gives the value, the gradient and the step of Newton's method, NaN where there is none."""
    close = Closeness(x, tol)
    value, gradient, step = at(x)
    if not np.isfinite(value):
        raise NotFoundError("it is not finite where the search starts", float("nan"), 0)
    for count in range(max_steps):
        if not np.any(gradient):
            return x
        slope = float(np.vdot(gradient, step))
        direct = np.isfinite(slope) and slope != 0
        down = step * np.sign(slope) if direct else gradient
        promise = abs(slope) if direct else float(np.vdot(gradient, gradient))
        size, t = close.size(down), 1.0
        for _ in range(HALVINGS):
            new = x - t * down
            found, bent, following = at(new)
            lower = norm_of(bent) < norm_of(gradient)
            if found <= value - ENOUGH * t * promise or (lower and close.same(found, value)):
                break
            if direct and close.nearly(size, x):
                return x
            t /= 2
        else:
            raise NotFoundError("no step makes it smaller", largest(gradient), count)
        if direct and t == 1.0 and close.reached(size, x):
            return new
        x, value, gradient, step = new, found, bent, following
    if close.nearly(largest(step), x):
        return x
    raise NotFoundError("the steps were not enough", largest(gradient), max_steps)
