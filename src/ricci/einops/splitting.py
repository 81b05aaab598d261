"""Arrays and a result in labels alone: how several arrays get there, and their result back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ricci.einops.backends.base import Backend
from ricci.einops.inference import differ, merged_sizes
from ricci.einops.labels import Labels


class Factored(NamedTuple):
    """Arrays with one axis for each label, and a result that is merged."""

    splits: tuple[tuple[tuple, ...] | None, ...]  # for each array and axis the sizes of its labels
    terms: tuple[tuple[int, ...], ...]
    out: tuple[int, ...]
    merged: tuple | None  # the shape of the result, where it is not that of its labels
    counts: tuple[int, ...]  # how many labels each axis of the result has


def factored(labels: Labels, shapes: Sequence[Sequence[Any]], sizes: Sequence[Any]) -> Factored:
    """The labels of each array; axes of size 1 that broadcast, and 1 and (), are dropped."""
    splits, terms = [], []
    for groups, shape in zip(labels.operands, shapes):
        term, split, plain = [], [], True
        for group, length in zip(groups, shape):
            if len(group) == 1 and not (length.__class__ is int and length == 1 and differ(sizes[group[0]], 1)):
                term.append(group[0])
                split.append((length,))
                continue
            plain = False
            own = group if len(group) > 1 else ()
            term += own
            split.append(tuple([sizes[label] for label in own]))
        terms.append(tuple(term))
        splits.append(None if plain else tuple(split))
    (result,) = labels.results
    out = tuple([label for group in result for label in group])
    merged = merged_sizes(result, sizes) if any(len(group) != 1 for group in result) else None
    return Factored(tuple(splits), tuple(terms), out, merged, tuple([len(group) for group in result]))


def around(backend: Backend, terms: Factored, core: Callable) -> Callable:
    """A function that splits its arrays into labels, computes ``core`` of them, and merges the result."""
    merged, counts = terms.merged, terms.counts
    if merged is None and all(split is None for split in terms.splits):
        return core
    if not backend.direct:

        def by_axes(*xs: Any) -> Any:
            parts = [x if split is None else backend.split(x, split) for x, split in zip(xs, terms.splits)]
            result = core(*parts)
            return result if merged is None else backend.merge(result, counts, merged)

        return by_axes
    reshape = backend.reshape
    shapes = [split and tuple([size for sizes in split for size in sizes]) for split in terms.splits]

    def run(*xs: Any) -> Any:
        result = core(*[x if shape is None else reshape(x, shape) for x, shape in zip(xs, shapes)])
        return result if merged is None else reshape(result, merged)

    return run
