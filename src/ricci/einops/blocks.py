"""Joining and splitting by ``+``: several arrays in, several out.

    rearrange([x, y], "b c, b d -> b (c + d)")        one after the other along an axis
    rearrange(z, "b (c + d) -> b c, b d", c=3)        and back

An axis written ``(c + d)`` has consecutive pieces. Choosing one piece of every such axis of an array leaves a *block*
of it, which is an array without ``+``; blocks of the left are those of the right, found by the axes they have, in order
where several have the same. So everything is slices, rearrangements of blocks, and concatenations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from ricci.caches import cached
from ricci.einops.backends import any_compiling, common_backend
from ricci.einops.backends.base import Backend
from ricci.einops.driver import Request, Task, first, stacked
from ricci.einops.grammar import ELLIPSIS, WIDE, Groups, Joined, names_of, parse, side_text, span_of
from ricci.einops.inference import differ, merged_sizes, total
from ricci.einops.labels import KINDS, Labels, read
from ricci.einops.moves import Moves, Recipe, apply, compiled, moves, recipe_of, sizes_of
from ricci.errors import EinopsError, EinopsTypeError, nearest


class Piece(NamedTuple):
    """A block of an array on the left, as it is wanted on the right."""

    operand: int
    choice: tuple[int, ...]  # the piece of each joined axis
    recipe: Recipe  # what rearranges it
    told: tuple[int, ...]  # the labels whose sizes the recipe is told


class Joint(NamedTuple):
    """A result: its pieces, its joined axes (from the end behind an ellipsis), and how many pieces each has."""

    pieces: tuple[Piece, ...]
    axes: tuple[int, ...]
    counts: tuple[int, ...]


class Layered(NamedTuple):
    """A pattern with ``+``, for arrays with known numbers of axes, without sizes."""

    labels: Labels
    results: tuple[Joint, ...]
    several: bool  # whether there are several results


class Cut(NamedTuple):
    """Where a block is cut out, ``(axis, start, stop)`` for each joined axis, and its moves."""

    operand: int
    slices: tuple[tuple[int, Any, Any], ...]
    moves: Moves


class Cuts(NamedTuple):
    """What is done: for each result its blocks, the axes along which they are joined, and how many at a time."""

    results: list[tuple[list[Cut], tuple[int, ...], tuple[int, ...]]]
    wholes: list[tuple]  # for each array the sizes that its pieces add up to
    several: bool


class Joins(Task):
    """``rc.rearrange`` of several arrays, or with ``+``."""

    def read(self, pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], operation: str) -> Layered:
        return layered(pattern, ndims, names)

    def plan(self, backend: Backend, reading: Layered, shapes: Sequence[tuple], sizes: list, options: tuple) -> Cuts:
        ends = [_ends(groups, sizes) for groups in reading.labels.operands]
        results = []
        for pieces, axes, counts in reading.results:
            row = []
            for operand, choice, recipe, told in pieces:
                own = ends[operand]
                slices = tuple([(axis, own[axis][k], own[axis][k + 1]) for axis, k in zip(own, choice)])
                shape = list(shapes[operand])
                for axis, start, stop in slices:
                    shape[axis] = stop - start
                row.append(Cut(operand, slices, moves(recipe, sizes_of(recipe, shape, [sizes[k] for k in told]))))
            results.append((row, axes, counts))
        wholes = [_wholes(groups, sizes, own) for groups, own in zip(reading.labels.operands, ends)]
        return Cuts(results, wholes, reading.several)

    def function(self, backend: Backend, kinds: Sequence[type], plan: Cuts, options: tuple, plain: bool) -> Callable:
        rows = []
        for row, axes, counts in plan.results:
            cuts = [(cut.operand, cut.slices, _mover(backend, kinds[cut.operand], cut.moves, plain)) for cut in row]
            rows.append((cuts, axes, counts))

        def run(*xs: Any) -> Any:
            if not backend.direct:  # whose sizes may be symbols, which do not tell yet that the pieces are all
                xs = tuple([backend.split(x, whole) for x, whole in zip(xs, plan.wholes)])
            results = []
            for cuts, axes, counts in rows:
                parts = []
                for operand, slices, move in cuts:
                    part = xs[operand]
                    for axis, start, stop in slices:
                        part = backend.slice(part, axis, start, stop)
                    parts.append(move(part))
                results.append(_concatenated(backend, parts, axes, counts))
            return results if plan.several else results[0]

        return run

    def arrays(self, result: Any) -> list:
        return result if isinstance(result, list) else [result]

    def rebuilt(self, arrays: list, result: Any) -> Any:
        return arrays if isinstance(result, list) else arrays[0]

    def called(self, call: Request, labels: Labels, results: Sequence[Any]) -> list[tuple]:
        sides = parse(call.pattern, WIDE).right or ()
        return [_named(side, len(call.backend.shape(x))) for side, x in zip(sides, results)]


JOIN = Joins("rearrange of several arrays", "rearrange", "rc.rearrange")


def rearrange_many(tensors: Any, pattern: str, lengths: Mapping[str, Any]) -> Any:
    """``rc.rearrange`` for patterns with several arrays or ``+``: an array, or a list of arrays for several results.

    >>> import numpy as np
    >>> z = rearrange_many([np.zeros((2, 3)), np.ones((2, 1))], "b c, b d -> b (c + d)", {})
    >>> [part.shape for part in rearrange_many(z, "b (c + d) -> d b, b c", {"c": 3})]
    [(1, 2), (2, 3)]
    """
    xs = _listed(tensors, pattern)
    if any_compiling(xs):
        return first(JOIN, xs, pattern, lengths)
    key = (pattern, *map(type, xs), *lengths, *lengths.values())
    if not {int}.issuperset(map(type, lengths.values())):
        return first(JOIN, xs, pattern, lengths)
    run = JOIN.calls.known.get(key)
    return run(*xs) if run is not None else first(JOIN, xs, pattern, lengths, (), key)


def _listed(tensors: Any, pattern: str) -> Sequence[Any]:
    if not isinstance(tensors, (list, tuple)):
        return (tensors,)
    if not tensors:
        raise EinopsTypeError(f"rc.rearrange was given an empty list: rc.rearrange([], {pattern!r}).")
    if len(tensors) > 1 and "," not in pattern.split("->")[0]:  # a list is an array with a new first axis
        backend = common_backend(tensors, "rc.rearrange")
        shapes = [backend.shape(x) for x in tensors]
        if any(len(shape) != len(shapes[0]) or any(map(differ, shape, shapes[0])) for shape in shapes):
            message = f"The pattern is of one array, and a list of {len(tensors)} with unequal shapes was given."
            hint = f"Input shapes: {', '.join(map(str, shapes))}."
            raise EinopsError(message, pattern, 0, max(1, len(pattern.split("->")[0].rstrip())), hint)
        return (stacked(tensors, "rc.rearrange", pattern),)
    return tensors


# Patterns


@cached("patterns with +", 1024)
def layered(pattern: str, ndims: tuple[int, ...], names: tuple[str, ...]) -> Layered:
    """Which blocks go where."""
    labels = read(pattern, ndims, names, KINDS["join"])
    parsed = parse(pattern, WIDE)
    right = parsed.right or ()
    blocks: dict[tuple, list[tuple[int, tuple, Groups]]] = {}
    for operand, side in enumerate(parsed.left):
        for choice, block in _blocks(side):
            blocks.setdefault(_key(block), []).append((operand, choice, block))
    results = tuple([_joint(side, blocks, labels, ndims) for side in right])
    left_over = [block for found in blocks.values() for _, _, block in found]
    if left_over:
        raise _alone(pattern, left_over[0], "left", [_key(block) for side in right for _, block in _blocks(side)])
    return Layered(labels, results, len(right) > 1)


def _blocks(side: Groups) -> list[tuple[tuple[int, ...], Groups]]:
    """Every choice of a piece for each joined axis, in C order, and what is left of the side."""
    options = [list(enumerate(group)) if isinstance(group, Joined) else [(-1, group)] for group in side]
    found = []
    for chosen in product(*options):
        found.append((tuple([k for k, _ in chosen if k >= 0]), tuple([group for _, group in chosen])))
    return found


def _key(block: Groups) -> tuple:
    return tuple(sorted(map(str, names_of(block))))


def _joint(side: Groups, blocks: dict, labels: Labels, ndims: tuple[int, ...]) -> Joint:
    made = []
    for _, block in _blocks(side):
        found = blocks.get(_key(block))
        if not found:
            raise _alone(labels.text, block, "right", [key for key, left in blocks.items() if left])
        operand, choice, source = found.pop(0)
        text = f"{side_text(source)} -> {side_text(block)}"
        told = tuple([str(name) for name in names_of(source) if name != ELLIPSIS]) if "(" in text else ()
        recipe = recipe_of(text, "rearrange", told, ndims[operand])
        made.append(Piece(operand, choice, recipe, tuple([labels.axes.index(name) for name in told])))
    joined = [at for at, group in enumerate(side) if isinstance(group, Joined)]
    axes = tuple([k - len(side) if ELLIPSIS in side[:k] else k for k in joined])
    return Joint(tuple(made), axes, tuple([len(side[k]) for k in joined]))


def _alone(pattern: str, block: Groups, where: str, others: list[tuple]) -> EinopsError:
    names = [str(name) for name in names_of(block)]
    other = "right" if where == "left" else "left"
    message = f"The piece with the axes {' '.join(names) or '1'} on the {where} is not on the {other}."
    near = [" ".join(key) or "1" for key in others]
    hint = (nearest(" ".join(sorted(names)), near) + "\nEvery piece is on both sides, with the same axes.").lstrip()
    for name in names:
        if not any(name in key for key in others):
            return EinopsError(message, pattern, *span_of(pattern, name, where == "left"), hint)
    return EinopsError(message, pattern, 0, len(pattern), hint)


# With sizes


def _ends(groups: Groups, sizes: Sequence[Any]) -> dict[int, list]:
    """For each joined axis where its pieces start, and the end."""
    found = {}
    for axis, group in enumerate(groups):
        if isinstance(group, Joined):
            ends = [0]
            for piece in group:
                ends.append(ends[-1] + total(sizes, piece))
            found[axis] = ends
    return found


def _wholes(groups: Groups, sizes: Sequence[Any], ends: Mapping[int, list]) -> tuple:
    plain = merged_sizes(tuple([() if axis in ends else group for axis, group in enumerate(groups)]), sizes)
    return tuple([(ends[axis][-1],) if axis in ends else (size,) for axis, size in enumerate(plain)])


def _mover(backend: Backend, kind: type, todo: Moves, plain: bool) -> Callable:
    return (lambda x: apply(backend, x, todo, "rearrange")) if plain else compiled(backend, todo, "rearrange", kind)


def _named(side: Groups, ndim: int) -> tuple:
    """What the axes of an array are called: a name, a tuple of names for a product, None for the rest."""
    found: list[Any] = []
    for group in side:
        if group == ELLIPSIS:
            found += [None] * (ndim - len(side) + 1)
        elif isinstance(group, Joined) or not group:
            found.append(None)
        else:
            found.append(group if len(group) > 1 else group[0])
    return tuple(found)


def _concatenated(backend: Backend, parts: list, joined: Sequence[int], counts: Sequence[int]) -> Any:
    """Blocks in C order of their choices, joined along the last axis first."""
    for axis, count in zip(reversed(joined), reversed(counts)):
        at = axis if axis >= 0 else len(backend.shape(parts[0])) + axis
        parts = [backend.concat(parts[k : k + count], at) for k in range(0, len(parts), count)]
    return parts[0]
