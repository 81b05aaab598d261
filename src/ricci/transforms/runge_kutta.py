"""Differential equations ``y' = f(y, t)`` in numbers: the method of Dormand and Prince, of order five.

A step is taken with seven slopes; a second solution of order four, from the same slopes, tells the error. The step is
repeated, smaller, where that is larger than ``atol + rtol |y|``, as the root of the mean of squares, and the next one
is as long as the error allows. Within a step the solution is a polynomial, of which results between the steps are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

Array = np.ndarray
Rate = Callable[[Array, float], Array]
Whole = Callable[[Array, float, float, Array], Sequence[Array]]

TIMES = np.array([0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1])
SLOPES = [
    np.array(row)
    for row in (
        [],
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    )
]
ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
WITHIN = np.array(  # the polynomial within a step: by slope, then by power of the part of the step
    [
        [1, -8048581381 / 2820520608, 8663915743 / 2820520608, -12715105075 / 11282082432],
        [0, 0, 0, 0],
        [0, 131558114200 / 32700410799, -68118460800 / 10900136933, 87487479700 / 32700410799],
        [0, -1754552775 / 470086768, 14199869525 / 1410260304, -10690763975 / 1880347072],
        [0, 127303824393 / 49829197408, -318862633887 / 49829197408, 701980252875 / 199316789632],
        [0, -282668133 / 205662961, 2019193451 / 616988883, -1453857185 / 822651844],
        [0, 40617522 / 29380423, -110615467 / 29380423, 69997945 / 29380423],
    ]
)
SAFETY, SHRINK, GROW = 0.9, 0.2, 10.0


class Accuracy(NamedTuple):
    """What a solution may be wrong by, and how many steps it may take."""

    rtol: float
    atol: float
    max_steps: int


class StuckError(Exception):
    """A solution that does not come to its end: why, where it is, and after how many steps."""

    def __init__(self, reason: str, t: float, steps: int):
        super().__init__(reason)
        self.reason, self.t, self.steps = reason, t, steps


class Path:
    """The solution at all times that the steps have passed: of each its start, its length, and a polynomial."""

    def __init__(self, sign: float) -> None:
        self.sign = sign  # of time
        self.parts: list[tuple[float, float, Array, Array]] = []


def within(start: float, h: float, y: Array, powers: Array, t: float) -> Array:
    """The solution within a step."""
    x = (t - start) / h
    return y + x * (powers[0] + x * (powers[1] + x * (powers[2] + x * powers[3])))


class Integration:
    """Steps from one time to others, all in one direction; the length of the last one is where the next call begins.

    ``whole``, if there is one, takes a step at once: of a point, a time, a length and the slope there, it gives where
    that leads, the error and the slopes.
    """

    def __init__(self, rate: Rate, accuracy: Accuracy, whole: Whole | None = None):
        self.rate, self.accuracy, self.whole = rate, accuracy, whole
        self.length: float | None = None
        self.steps = 0

    def solve(self, y: Array, ts: Sequence[float] | Array, path: Path | None = None) -> Array:
        """The solution at ``ts``, of which the first is where ``y`` holds."""
        found = np.empty((len(ts), *y.shape), y.dtype)
        found[0] = y
        t, end = float(ts[0]), float(ts[-1])
        if t == end or not y.size:
            found[:] = y
            return found
        sign, done = float(np.sign(end - t)), 1
        slopes = np.empty((7, *y.shape), y.dtype)
        slopes[0] = self.rate(y, t)
        if not np.all(np.isfinite(slopes[0])):
            raise StuckError("it is not finite there", t, self.steps)
        length = min(self.length or self._first(y, t, slopes[0], sign), abs(end - t))
        while sign * (end - t) > 0:
            left = abs(end - t)
            last = length >= left * (1 - 1e-12)
            h = sign * (left if last else length)
            new, size = self._tried(y, t, h, slopes)
            self._check(length, t)
            if not size <= 1:  # also where it is no number
                length = abs(h) * (max(SHRINK, SAFETY * size**-0.2) if np.isfinite(size) else SHRINK)
                continue
            after = end if last else t + h
            if path is not None or sign * (ts[done] - after) < 0:
                powers = WITHIN.T @ slopes * h
                if path is not None:
                    path.parts.append((t, after - t, y, powers))
                while done < len(ts) - 1 and sign * (ts[done] - after) < 0:
                    found[done] = within(t, h, y, powers, float(ts[done]))
                    done += 1
            while done < len(ts) and ts[done] == after:
                found[done] = new
                done += 1
            t, y = after, new
            slopes[0] = slopes[6]
            length = abs(h) * (GROW if size == 0 else min(GROW, max(SHRINK, SAFETY * size**-0.2)))
            self.length = max(length, self.length or 0.0) if last else length
        return found

    def _tried(self, y: Array, t: float, h: float, slopes: Array) -> tuple[Array, float]:
        """Where a step leads, and its error, of which 1 is allowed."""
        if self.whole is not None:
            new, size, slopes[:] = self.whole(y, t, h, slopes[0])
            return new, float(size)
        new = y
        for k in range(1, 7):
            new = y + h * (SLOPES[k] @ slopes[:k])
            slopes[k] = self.rate(new, t + TIMES[k] * h)
        scale = self.accuracy.atol + self.accuracy.rtol * np.maximum(np.abs(y), np.abs(new))
        return new, _mean(h * (ERROR @ slopes) / scale)

    def _first(self, y: Array, t: float, slope: Array, sign: float) -> float:
        """How long the first step may be: as far as the slope, and how fast it changes, let it."""
        scale = self.accuracy.atol + self.accuracy.rtol * np.abs(y)
        size, steep = _mean(y / scale), _mean(slope / scale)
        short = 1e-6 if size < 1e-5 or steep < 1e-5 else 0.01 * size / steep
        bent = _mean((self.rate(y + sign * short * slope, t + sign * short) - slope) / scale) / short
        if not np.isfinite(bent):
            return short
        most = max(steep, bent)
        return min(100 * short, max(1e-6, short * 1e-3) if most <= 1e-15 else (0.01 / most) ** 0.2)

    def _check(self, length: float, t: float) -> None:
        self.steps += 1
        if self.steps > self.accuracy.max_steps:
            raise StuckError("the steps were not enough", t, self.steps - 1)
        if not length >= max(4 * np.spacing(abs(t)), 1e-300):
            raise StuckError("no step is short enough; the solution may run away there", t, self.steps)


def _mean(x: Array) -> float:
    """The root of the mean of squares."""
    return float(np.sqrt(np.vdot(x, x) / x.size))
