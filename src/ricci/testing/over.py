"""Functions over axes by their definitions on plain lists, whatever way the library itself has of building them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ricci.testing.entries_by_loops import Table, indices


def _mean(x: list) -> float:
    return math.fsum(x) / len(x)


def _var(x: list) -> float:
    centre = _mean(x)
    return _mean([(v - centre) ** 2 for v in x])


def _logsumexp(x: list) -> float:
    return math.log(math.fsum(map(math.exp, x)))


def _softmax(x: list) -> list:
    total = math.fsum(map(math.exp, x))
    return [math.exp(v) / total for v in x]


def _shares(x: list, extreme: float) -> list:
    return [(v == extreme) / x.count(extreme) for v in x]


def _argsort(x: list) -> list:
    return [k for _, k in sorted((v, k) for k, v in enumerate(x))]


REDUCE: dict[str, Callable[[list], float]] = {
    "sum": sum,
    "mean": _mean,
    "var": _var,
    "std": lambda x: math.sqrt(_var(x)),
    "prod": math.prod,
    "max": max,
    "min": min,
    "norm": lambda x: math.sqrt(math.fsum(v * v for v in x)),
    "logsumexp": _logsumexp,
    "argmax": lambda x: x.index(max(x)),
    "argmin": lambda x: x.index(min(x)),
    "any": lambda x: int(any(v != 0 for v in x)),
    "all": lambda x: int(all(v != 0 for v in x)),
}
KEEP: dict[str, Callable[[list], list]] = {
    "softmax": _softmax,
    "log_softmax": lambda x: [v - _logsumexp(x) for v in x],
    "hardmax": lambda x: _shares(x, max(x)),
    "hardmin": lambda x: _shares(x, min(x)),
    "cumsum": lambda x: [sum(x[: k + 1]) for k in range(len(x))],
    "cumprod": lambda x: [math.prod(x[: k + 1]) for k in range(len(x))],
    "sort": sorted,
    "argsort": _argsort,
}


def over(name: str, x: Table, axes: Sequence[int]) -> Table:
    """The function ``name`` over ``axes``, whose entries are taken in row-major order of the axes as listed."""
    rest = [axis for axis in range(len(x.shape)) if axis not in axes]
    along = list(indices([x.shape[axis] for axis in axes]))
    keeps = name in KEEP
    entries = {}
    for at in indices([x.shape[axis] for axis in rest]):
        places = [_joined(at, rest, below, axes) for below in along]
        line = [x.entries[place] for place in places]
        if keeps:
            entries.update(zip(places, KEEP[name](line), strict=True))
        else:
            entries[at] = REDUCE[name](line)
    shape = x.shape if keeps else tuple([x.shape[axis] for axis in rest])
    return Table(shape, {index: entries[index] for index in indices(shape)})


def _joined(at: Sequence[int], rest: Sequence[int], below: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    place = dict(zip([*rest, *axes], [*at, *below], strict=True))
    return tuple([place[axis] for axis in range(len(place))])
