"""What rearrange, reduce and repeat mean, entry by entry, and random calls of them.

The reference reads patterns by itself and loops over all indices, in plain Python:

    result[right(i)] = reduction over r of x[left(i, r)]

where ``i`` runs over the axes of the right side, ``r`` over those that are on the left only, and ``left``, ``right``
merge the elementary axes of each group in C order. Nothing of ricci is used.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

FLOAT_REDUCTIONS = ("min", "max", "sum", "mean", "prod")
REDUCTIONS = (*FLOAT_REDUCTIONS, "any", "all")
NAMES = ("a", "b", "c", "d", "h1", "w_2", "batch", "H", "ß", "x9y")


@dataclass(frozen=True)
class Call:
    """A call of rearrange, repeat or reduce, on an array of this shape; ``listed`` gives it as a list of arrays."""

    operation: str  # "rearrange", "repeat", or a reduction
    pattern: str
    sizes: dict[str, Any] = field(hash=False)
    shape: tuple[int, ...]
    listed: bool = False

    def on(self, library: Any, x: Any) -> Any:
        """The result of the call by a library with the three functions."""
        tensor = [x[k, ...] for k in range(x.shape[0])] if self.listed else x
        if self.operation in ("rearrange", "repeat"):
            return getattr(library, self.operation)(tensor, self.pattern, **self.sizes)
        return library.reduce(tensor, self.pattern, self.operation, **self.sizes)


# The meaning of a call


def read_side(text: str, ndim: int | None = None) -> list[list[str]]:
    """The axes of a side, each as the list of its elementary axes; a number is called ``#n.k``, each its own.

    The axes of ``...`` are called ``.0``, ``.1`` and so on; the left side tells how many there are, by ``ndim``.
    """
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    groups: list[list[str]] = []
    inside = False
    for k, word in enumerate(words):
        if word in "()":
            if word == "(":
                groups.append([])
            inside = word == "("
        else:
            axes = [] if word == "1" else [f"#{word}.{k}"] if word.isdecimal() else [word]
            groups[-1:] = [groups[-1] + axes] if inside else [*groups[-1:], axes]
    if ndim is None:
        return groups
    return written_out(groups, ndim - sum(group != ["..."] for group in groups))


def read(pattern: str, ndim: int) -> tuple[list[list[str]], list[list[str]]]:
    """Both sides of a pattern, for arrays with ``ndim`` axes; a number on the right is not one on the left."""
    before, after = pattern.split("->")
    left = read_side(before, ndim)
    right = written_out(read_side(after), sum(group[0][0] == "." for group in left if group))
    return left, [[axis + "'" if axis[0] == "#" else axis for axis in group] for group in right]


def reduced_axes(pattern: str, ndim: int) -> list[str]:
    """The elementary axes that are on the left only."""
    left, right = read(pattern, ndim)
    kept = [axis for group in right for axis in group]
    return [axis for group in left for axis in group if axis not in kept]


def written_out(groups: list[list[str]], count: int) -> list[list[str]]:
    """The groups with the ``count`` axes of the ellipsis in its place."""
    hidden = [f".{k}" for k in range(count)]
    found: list[list[str]] = []
    for group in groups:
        if group == ["..."]:
            found += [[axis] for axis in hidden]
        else:
            found.append([axis for name in group for axis in (hidden if name == "..." else [name])])
    return found


def axis_sizes(left: list[list[str]], shape: Sequence[int], given: dict[str, int]) -> dict[str, int]:
    """The size of every elementary axis that is on the left or given."""
    sizes = dict(given)
    for group, length in zip(left, shape, strict=True):
        sizes |= {axis: int(axis[1:].split(".")[0]) for axis in group if axis[0] == "#"}
        unknown = [axis for axis in group if axis not in sizes]
        assert len(unknown) <= 1
        if unknown:
            sizes[unknown[0]] = length // math.prod(sizes[axis] for axis in group if axis != unknown[0])
        assert math.prod(sizes[axis] for axis in group) == length
    return sizes


def merged(group: list[str], at: dict[str, int], sizes: dict[str, int]) -> int:
    """The position along a group of axes, in C order."""
    position = 0
    for axis in group:
        position = position * sizes[axis] + at[axis]
    return position


def reference(x: np.ndarray, pattern: str, operation: str, given: dict[str, int]) -> Any:
    """The result of a call, by loops over all indices."""
    left, right = read(pattern, x.ndim)
    sizes = axis_sizes(left, x.shape, given)
    sizes |= {axis: int(axis[1:].split(".")[0]) for group in right for axis in group if axis[0] == "#"}
    kept, reduced = [axis for group in right for axis in group], reduced_axes(pattern, x.ndim)
    shape = tuple(math.prod(sizes[axis] for axis in group) for group in right)
    result = np.empty(shape, result_type(x, operation if reduced else "nothing"))
    for outer in itertools.product(*[range(sizes[axis]) for axis in kept]):
        at = dict(zip(kept, outer))
        entries = []
        for inner in itertools.product(*[range(sizes[axis]) for axis in reduced]):
            at |= dict(zip(reduced, inner))
            entries.append(x[tuple(merged(group, at, sizes) for group in left)])
        place = tuple(merged(group, at, sizes) for group in right)
        result[place] = combined(np.array(entries, x.dtype), operation if reduced else "nothing")
    return result


def combined(entries: np.ndarray, operation: str) -> Any:
    if operation in REDUCTIONS:
        return getattr(np, operation)(entries)
    (entry,) = entries
    return entry


def result_type(x: np.ndarray, operation: str) -> np.dtype:
    """The type of the result of a reduction; without one, it is that of the array."""
    return combined(np.ones(1, x.dtype), operation).dtype if operation in REDUCTIONS else x.dtype


# Random calls

Axis = tuple[str, int]  # its name and its size; an axis written as a number is called by it, "#3"
ELLIPSIS: Axis = ("...", -1)


def random_call(rng: random.Random, most: int = 96) -> Call:
    """A valid call, on an array with at most about ``most`` entries."""
    operation = rng.choice(("rearrange", "repeat", *REDUCTIONS, "rearrange", "repeat"))
    reduces = operation in REDUCTIONS
    axes = random_axes(rng, rng.randint(0, 5), NAMES, most, numbers=reduces)
    left = grouped(rng, axes)
    hidden = [rng.choice((1, 2, 2, 3)) for _ in range(rng.randint(0, 2))] if rng.random() < 0.4 else None
    if hidden is not None:
        left.insert(rng.randint(0, len(left)), [ELLIPSIS])
    right = [axis for axis in axes if not reduces or (axis[0][0] != "#" and rng.random() < 0.55)]
    free = [name for name in NAMES if (name, 0) not in axes and name not in dict(axes)]
    new = random_axes(rng, rng.randint(0, 2), free, 6, numbers=True) if operation == "repeat" else []
    right += new
    if hidden is not None and (not reduces or rng.random() < 0.6):
        right.append(ELLIPSIS)
    rng.shuffle(right)
    sizes = chosen_sizes(rng, left) | {name: size for name, size in new if name[0] != "#"}
    given = list(sizes.items())
    rng.shuffle(given)
    text = side_text(rng, left) + rng.choice((" -> ", "->", " ->  ")) + side_text(rng, grouped(rng, right))
    shape = shape_of(left, hidden or [])
    listed = len(shape) > 1 and shape[0] > 0 and rng.random() < 0.1
    return Call(operation, text, dict(given), shape, listed)


def random_axes(rng: random.Random, count: int, names: Sequence[str], most: int, numbers: bool) -> list[Axis]:
    """Elementary axes, of small sizes, with at most about ``most`` entries altogether."""
    found: list[Axis] = []
    room = most
    for name in rng.sample(list(names), count):
        size = min(rng.choice((1, 1, 2, 2, 2, 3, 3, 3, 4, 5, 0)), room)
        room //= max(1, size)
        found.append((f"#{size}" if numbers and size > 1 and rng.random() < 0.2 else name, size))
    return found


def grouped(rng: random.Random, axes: list[Axis]) -> list[list[Axis]]:
    """Axes made of these elementary ones, with some of size 1 among them."""
    groups: list[list[Axis]] = []
    for axis in axes:
        if groups and rng.random() < 0.4:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        groups.insert(rng.randint(0, len(groups)), [])
    return groups


def chosen_sizes(rng: random.Random, left: list[list[Axis]]) -> dict[str, int]:
    """Sizes for all but at most one axis of each group; where one is 0 the others say nothing of the last one."""
    sizes: dict[str, int] = {}
    for group in left:
        named = [axis for axis in group if axis[0][0] not in "#."]
        if named and rng.random() < 0.8:
            found = rng.choice(named)
            others = [axis for axis in group if axis is not found]
            if math.prod(size for _, size in others) > 0:
                named.remove(found)
        sizes |= dict(named)
    return sizes


def shape_of(left: list[list[Axis]], hidden: list[int]) -> tuple[int, ...]:
    shape: list[int] = []
    for group in left:
        shape += hidden if group == [ELLIPSIS] else [math.prod(size for _, size in group)]
    return tuple(shape)


def side_text(rng: random.Random, groups: list[list[Axis]]) -> str:
    """A side as a user may write it: units as ``1`` or ``()``, parentheses where they are not needed, spaces."""
    words: list[str] = []
    for group in groups:
        names = [name.lstrip("#") for name, _ in group]
        if len(group) == 1 and (group == [ELLIPSIS] or rng.random() < 0.9):
            words += names
        elif not group and rng.random() < 0.5:
            words.append("1")
        else:
            if rng.random() < 0.15:
                names.insert(rng.randint(0, len(names)), "1")
            words.append("(" + rng.choice((" ", "  ")).join(names) + rng.choice((")", " )")))
    return rng.choice((" ", " ", "  ")).join(words)


def random_array(rng: random.Random, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers so small that no sum or product of a hundred of them is too large for float32, and so large that none
    is denormal, which some libraries take for zero."""
    kind, count = np.dtype(dtype).kind, math.prod(shape)
    draw = {
        "b": lambda: rng.random() < 0.5,
        "u": lambda: rng.randint(0, 3),
        "i": lambda: rng.randint(-3, 3),
        "f": lambda: round(rng.uniform(-1.5, 1.5), 6),
        "c": lambda: complex(round(rng.uniform(-1, 1), 6), round(rng.uniform(-1, 1), 6)),
    }[kind]
    return np.array([draw() for _ in range(count)], dtype).reshape(shape)
