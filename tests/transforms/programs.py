"""Random programs in NumPy's words: the same function for NumPy's arrays, traced ones and JAX's."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

UNARY = ("sin", "tanh", "exp", "arctan", "square", "cosh", "log1p_of_square", "negative")
BINARY = ("add", "subtract", "multiply", "maximum", "divide_safely", "logaddexp", "where")
SHAPES = [(), (1,), (3,), (2, 3), (3, 1), (2, 1, 3), (4, 2), (0,), (2, 0)]


@dataclass
class Program:
    """Steps that each make a new array from earlier ones; the result is the sum of the last few."""

    shapes: list[tuple[int, ...]]
    steps: list[tuple] = field(default_factory=list)

    def __call__(self, *args, xp=np):
        values = list(args)
        for name, places, detail in self.steps:
            values.append(STEPS[name](xp, detail, *[values[p] for p in places]))
        total = 0.0
        for value in values[-3:]:
            total = total + xp.sum(xp.sin(value))
        return total

    def arrays(self, seed: int = 0):
        rng = np.random.default_rng(seed)
        return [rng.normal(size=shape) for shape in self.shapes]


def _unary(xp, name, x):
    if name == "log1p_of_square":
        return xp.log1p(x * x)
    return 0.5 * getattr(xp, name)(0.5 * x)


def _binary(xp, name, x, y):
    if name == "divide_safely":
        return x / (2.0 + y * y)
    if name == "where":
        return xp.where(x > y, x * 2.0, y)
    return getattr(xp, name)(x, y)


STEPS = {
    "unary": _unary,
    "binary": _binary,
    "sum": lambda xp, how, x: xp.sum(x, axis=how[0], keepdims=how[1]),
    "mean": lambda xp, how, x: xp.mean(x, axis=how[0], keepdims=how[1]),
    "max": lambda xp, how, x: xp.max(x, axis=how[0], keepdims=how[1]),
    "reshape": lambda xp, shape, x: xp.reshape(x, shape),
    "transpose": lambda xp, axes, x: xp.transpose(x, axes),
    "matmul": lambda xp, _, x: x @ xp.swapaxes(x, -1, -2),
    "part": lambda xp, key, x: x[key],
    "join": lambda xp, axis, x: xp.concatenate([x, 2.0 * x], axis=axis),
    "cumsum": lambda xp, axis, x: xp.cumsum(x, axis=axis),
    "stack": lambda xp, _, x: xp.stack([x, x * x]),
    "flip": lambda xp, axis, x: xp.flip(x, axis),
}


def random_program(seed: int, length: int = 6) -> Program:
    rng = random.Random(seed)
    program = Program([rng.choice(SHAPES) for _ in range(rng.randint(1, 3))])
    shapes = list(program.shapes)
    while len(program.steps) < length:
        step = _step(rng, shapes)
        if step is not None:
            with np.errstate(all="ignore"):
                made = STEPS[step[0]](np, step[2], *[np.ones(shapes[p]) for p in step[1]])
            program.steps.append(step)
            shapes.append(made.shape)
    return program


def _step(rng: random.Random, shapes):
    name = rng.choice(["unary", "unary", "binary", "binary", *STEPS])
    at = rng.randrange(len(shapes))
    shape = shapes[at]
    if name == "unary":
        return name, (at,), rng.choice(UNARY)
    if name == "binary":
        fits = [k for k, other in enumerate(shapes) if _fit(shape, other)]
        return name, (at, rng.choice(fits)), rng.choice(BINARY)
    if name in ("sum", "mean", "max"):
        if name != "sum" and 0 in shape:
            return None
        return name, (at,), (rng.choice([None, *range(-len(shape), len(shape))]), rng.random() < 0.5)
    if name == "reshape":
        return name, (at,), rng.choice([(-1,), (1, *shape), tuple(reversed(shape))]) if 0 not in shape else shape
    if name == "transpose":
        return name, (at,), tuple(rng.sample(range(len(shape)), len(shape)))
    if name == "matmul":
        return (name, (at,), None) if len(shape) >= 2 else None
    if not shape:
        return None
    axis = rng.randrange(len(shape))
    if name == "part":
        n = shape[axis]
        keys = [slice(None, None, -1), slice(0, n, 2), slice(1, None)] + ([n - 1, [0, n - 1, 0]] if n else [])
        return name, (at,), (*[slice(None)] * axis, _indices(rng.choice(keys)))
    return (name, (at,), axis) if name != "stack" else (name, (at,), None)


def _indices(key):
    return np.array(key) if isinstance(key, list) else key


def _fit(a, b):
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True
