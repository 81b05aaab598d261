"""Random programs that change arrays in place, on aliases and views; run by NumPy they say what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[list], Any]  # of the arrays so far; gives a new one, or None


class Program:
    """Steps on a list of arrays that begins with the argument; the result is all of them, one after another."""

    def __init__(self, seed: int, length: int, shape: tuple[int, ...], doubtful: bool = False):
        rng = np.random.default_rng(seed)
        self.steps: list[tuple[str, Step]] = []
        arrays: list[Any] = [np.ones(shape)]
        while len(self.steps) < length:
            text, step = _MAKERS[rng.integers(len(_MAKERS))](rng, arrays, doubtful)
            if step is not None:
                self.steps.append((text, step))
                made = step(arrays)
                if made is not None:
                    arrays.append(made)

    def __call__(self, x: Any) -> Any:
        arrays = [x]
        for _, step in self.steps:
            made = step(arrays)
            if made is not None:
                arrays.append(made)
        return np.concatenate([np.ravel(a) for a in arrays])

    def __str__(self) -> str:
        return "\n".join(text for text, _ in self.steps)


def _chosen(rng: Any, arrays: list) -> int:
    return int(rng.integers(len(arrays)))


def _key(rng: Any, shape: tuple[int, ...]) -> tuple:
    """A basic key that leaves an axis, if there is one to leave."""
    parts: list[Any] = []
    for size in shape:
        kind = rng.integers(5)
        start = int(rng.integers(max(size, 1)))
        if kind == 0 and size and len(shape) > 1 and not any(isinstance(p, int) for p in parts):
            parts.append(start)
        elif kind == 1:
            parts.append(slice(start, None))
        elif kind == 2:
            parts.append(slice(None, None, -1))
        elif kind == 3:
            parts.append(slice(None, None, 2))
        else:
            parts.append(slice(None))
    return tuple(parts)


def _computed(rng: Any, arrays: list, doubtful: bool) -> tuple[str, Step]:
    i = _chosen(rng, arrays)
    same = [k for k, a in enumerate(arrays) if a.shape == arrays[i].shape]
    j = same[rng.integers(len(same))]
    name, f = [
        ("sin", lambda a, b: np.sin(a) + 0.5 * b),
        ("times", lambda a, b: a * b * 0.5),
        ("copy", lambda a, b: a.copy()),
        ("square", lambda a, b: a * a * 0.3 - b),
        ("sorted copy", lambda a, b: a[::-1] if not a.ndim else np.flip(a).copy()),
    ][rng.integers(5)]
    return f"x{len(arrays)} = {name}(x{i}, x{j})", lambda xs: f(xs[i], xs[j])


def _alias(rng: Any, arrays: list, doubtful: bool) -> tuple[str, Step]:
    i = _chosen(rng, arrays)
    return f"x{len(arrays)} = x{i}", lambda xs: xs[i]


def _view(rng: Any, arrays: list, doubtful: bool) -> tuple[str, Step | None]:
    i = _chosen(rng, arrays)
    shape = arrays[i].shape
    key = _key(rng, shape)
    ways: list[tuple[str, Step]] = [
        (f"[{key}]", lambda xs: xs[i][key]),
        (f"[{key}]", lambda xs: xs[i][key]),
        (".T", lambda xs: xs[i].T),
        ("[None]", lambda xs: xs[i][None] if xs[i].ndim < 3 else xs[i][...]),
        ("[...]", lambda xs: xs[i][...]),
        (".swapaxes(0, -1)", lambda xs: xs[i].swapaxes(0, -1)),
        ("flip", lambda xs: np.flip(xs[i], 0)),
        ("expand, squeeze", lambda xs: np.squeeze(np.expand_dims(xs[i], 1), 1)),
        ("split", lambda xs: np.array_split(xs[i], 2)[0]),
        ("as it is", lambda xs: np.atleast_1d(np.squeeze(xs[i], ()))),
        ("reshaped to its shape", lambda xs: xs[i].reshape(xs[i].shape) if xs[i].ndim > 1 else xs[i].view()),
        ("flattened", lambda xs: xs[i].flatten()),
        ("moveaxis", lambda xs: np.moveaxis(xs[i], 0, -1)),
        ("last row", lambda xs: list(xs[i])[-1] if xs[i].ndim > 1 and len(xs[i]) else xs[i][...]),
    ]
    if doubtful:
        ways += [("reshape", lambda xs: xs[i].reshape(-1)), ("ravel", lambda xs: np.ravel(xs[i]))]
    text, step = ways[rng.integers(len(ways))]
    return f"x{len(arrays)} = x{i}{text}", step


def _changed(rng: Any, arrays: list, doubtful: bool) -> tuple[str, Step | None]:
    i = _chosen(rng, arrays)
    shape = arrays[i].shape
    fitting = [k for k, a in enumerate(arrays) if _fits(a.shape, shape)]
    j = fitting[rng.integers(len(fitting))]
    key = _key(rng, shape)
    value = round(float(rng.normal()), 2)
    mask = rng.random(shape) < 0.4
    rows = rng.integers(0, max(shape[0], 1), 3) if shape else None

    def iadd(xs):
        a = xs[i]
        a += xs[j] * 0.5

    def imul(xs):
        a = xs[i]
        a *= value

    def isub_part(xs):
        xs[i][key] -= value

    def set_part(xs):
        xs[i][key] = xs[i][key] * value + 1

    def set_mask(xs):
        xs[i][mask] = value

    def set_rows(xs):
        xs[i][rows] = value

    def out(xs):
        np.add(xs[i], xs[j], out=xs[i])

    def each_row(xs):
        for k, row in enumerate(xs[i]):
            row *= k + value

    def rolled(xs):
        xs[i][1:] = xs[i][:-1]

    def neighbours(xs):
        xs[i][1:] += xs[i][:-1]

    def copied(xs):
        np.copyto(xs[i], xs[j])

    def flat(xs):
        xs[i].flat[: len(xs[i])] = value

    def put(xs):
        xs[i].put([0, -1], [value, 2.0])

    def gathered(xs):
        np.add.at(xs[i], rows, value)  # pyright: ignore[reportArgumentType]

    ways: list = [
        iadd,
        imul,
        isub_part,
        set_part,
        set_mask,
        out,
        copied,
        rolled,
        neighbours,
        set_rows,
        gathered,
        flat,
        put,
    ]
    ways += [each_row] if len(shape) > 1 else []
    if not shape or 0 in shape:
        ways = [iadd, imul]
    way = ways[rng.integers(len(ways))]
    return f"{way.__name__}(x{i}, x{j}, {key}, {value}, {rows})", way


def _fits(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether an array of shape ``a`` can be written into one of shape ``b``."""
    try:
        return np.broadcast_shapes(a, b) == b
    except ValueError:
        return False


_MAKERS = [_computed, _alias, _view, _view, _changed, _changed, _changed]
