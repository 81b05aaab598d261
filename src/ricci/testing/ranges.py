"""Random programs whose values are near the ends of a floating type, at any depth.

A program scales, divides, multiplies by matrices and normalises, over and over, with numbers that are large and small:
as written, all its intermediate values are finite and not zero, since a step that would leave the range is not taken.
A form that moves a number, a power or a common factor from one step to another leaves it. The same function serves
NumPy's arrays, traced ones and JAX's.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SIZE = 3
FAR = {"float32": 1e28, "float64": 1e240}  # how near to the ends values come


@dataclass
class RangedProgram:
    """Steps on a vector; ``x``, two further vectors and a matrix are its arguments."""

    dtype: str
    arguments: list[np.ndarray]
    steps: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self, x: Any, a: Any, b: Any, w: Any, xp: Any = np) -> Any:
        first = x
        for name, number in self.steps:
            x = STEPS[name](xp, number, x, a, b, w, first)
        return x

    def loss(self, *arguments: Any, xp: Any = np) -> Any:
        """A number of ordinary size."""
        x = self(*arguments, xp=xp)
        return (x / (1.0 + xp.abs(x))).sum()

    def __repr__(self) -> str:
        return f"{self.dtype}: " + ", ".join(f"{name}({number:g})" for name, number in self.steps)


STEPS: dict[str, Callable[..., Any]] = {
    "times": lambda xp, c, x, a, b, w, first: c * x,
    "over": lambda xp, c, x, a, b, w, first: x / c,
    "times a": lambda xp, c, x, a, b, w, first: x * a,
    "over b": lambda xp, c, x, a, b, w, first: x / b,
    "times w": lambda xp, c, x, a, b, w, first: w @ x,
    "times scaled w": lambda xp, c, x, a, b, w, first: (w * c) @ x,
    "of scaled x": lambda xp, c, x, a, b, w, first: w @ (c * x),
    "scaled square": lambda xp, c, x, a, b, w, first: c * x * x,
    "root": lambda xp, c, x, a, b, w, first: xp.sqrt(xp.abs(x)),
    "deviation": lambda xp, c, x, a, b, w, first: x - 0.3 * xp.mean(x),
    "by its norm": lambda xp, c, x, a, b, w, first: x / xp.sqrt((x * x).sum()),
    "by its largest": lambda xp, c, x, a, b, w, first: x / xp.max(xp.abs(x)),
    "by its sum": lambda xp, c, x, a, b, w, first: x / xp.abs(x).sum(),
    "norm by scaling": lambda xp, c, x, a, b, w, first: x + abs(c) * xp.sqrt(((x / c) ** 2).sum()),
    "tanh": lambda xp, c, x, a, b, w, first: xp.tanh(x) + 2.0 * first / xp.max(xp.abs(first)),
    "plus": lambda xp, c, x, a, b, w, first: x + 0.5 * c * (x - x.mean()),
}


def random_ranged(seed: int, length: int = 12, dtype: str = "float32") -> RangedProgram:
    """A program of ``length`` steps none of which leaves the range of ``dtype``.

    >>> random_ranged(1, 3)
    float32: times(1.59), of scaled x(2.93), scaled square(3.76)
    """
    rng = random.Random(seed)
    far = FAR[dtype]
    arguments = [np.array([rng.uniform(0.5, 2.0) for _ in range(SIZE)]) for _ in range(3)]
    arguments[1] *= 10.0 ** rng.randint(-8, 8)
    arguments[2] *= 10.0 ** rng.randint(-8, 8)
    matrix = np.array([[rng.uniform(0.2, 1.0) for _ in range(SIZE)] for _ in range(SIZE)]) * 10.0 ** rng.randint(-6, 6)
    program = RangedProgram(dtype, [each.astype(dtype) for each in (*arguments, matrix)])
    x = program.arguments[0]
    while len(program.steps) < length:
        name = rng.choice(list(STEPS))
        number = 10.0 ** rng.randint(-14, 14) if rng.random() < 0.7 else round(rng.uniform(0.1, 4.0), 2)
        with np.errstate(all="ignore"):
            wide = [each.astype(np.longdouble) for each in (x, *program.arguments[1:], program.arguments[0])]
            parts = _parts(name, number, *wide)
        if all(np.all(np.abs(part) < far) and np.all(np.abs(part) > 1 / far) for part in parts):
            program.steps.append((name, number))
            x = parts[-1].astype(dtype)
    return program


def _parts(name: str, c: float, x: Any, a: Any, b: Any, w: Any, first: Any) -> list[Any]:
    """What a step computes on its way, and its result."""
    result = STEPS[name](np, c, x, a, b, w, first)
    between = {
        "times scaled w": [w * c],
        "of scaled x": [c * x],
        "scaled square": [c * x],
        "by its norm": [x * x],
        "norm by scaling": [(x / c) ** 2],
        "plus": [0.5 * c * x],
    }
    return [*between.get(name, []), result]
