"""Joining and splitting by ``+``: several arrays in, several out.

    rearrange([x, y], "b c, b d -> b (c + d)")        one after the other along an axis
    rearrange(z, "b (c + d) -> b c, b d", c=3)        and back

An axis written ``(c + d)`` has consecutive pieces. Choosing one piece of every such axis of an array leaves a *block*
of it, which is an array without ``+``; blocks of the left are those of the right, found by the axes they have, in order
where several have the same. So everything is slices, rearrangements of blocks, and concatenations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

from ricci.caches import Cache, cached
from ricci.einops.backends.base import Backend, apply_by_axes, compiled
from ricci.einops.naming import check, note, watched
from ricci.einops.operations import all_plain, rearrange, sizes_given
from ricci.einops.patterns import ELLIPSIS, Joined, group_text, names_of, parse, side_text, span_of
from ricci.einops.products import as_torch, common_backend, compiling, traced_beside_torch
from ricci.einops.recipes import differ, divides, moves, recipe_of
from ricci.einops.recipes import sizes_of as axis_sizes
from ricci.errors import EinopsError, EinopsTypeError, nearest

_plans = Cache("calls that join and split", 1024)


class Block(NamedTuple):
    """A block of an array on the left, as it is wanted on the right."""

    operand: int
    choice: tuple[int, ...]  # the piece of each joined axis
    text: str  # the pattern that rearranges it


class Layout(NamedTuple):
    """A pattern with ``+``, for arrays with known numbers of axes, without sizes."""

    axes: tuple[tuple[tuple, ...], ...]  # for each array and axis the pieces; no pieces under an ellipsis
    joined: tuple[tuple[int, ...], ...]  # for each array the axes that are cut
    results: tuple[tuple[tuple[Block, ...], tuple[int, ...], tuple[int, ...]], ...]  # blocks, joined axes, their counts
    several: bool  # whether there are several results


def rearrange_many(tensors: Any, pattern: str, lengths: Mapping[str, Any]) -> Any:
    """``rc.rearrange`` for patterns with several arrays or ``+``: an array, or a list of arrays for several results.

    >>> import numpy as np
    >>> z = rearrange_many([np.zeros((2, 3)), np.ones((2, 1))], "b c, b d -> b (c + d)", {})
    >>> [part.shape for part in rearrange_many(z, "b (c + d) -> d b, b c", {"c": 3})]
    [(1, 2), (2, 3)]
    """
    if isinstance(tensors, (list, tuple)) and traced_beside_torch(tensors):
        return as_torch(rearrange_many, tensors, pattern, lengths)
    xs = _arrays(tensors, pattern)
    if compiling(xs):
        return _recorded(xs, pattern, lengths)
    backend = common_backend(xs, "rc.rearrange")
    if not backend.direct or backend.name == "ricci":
        xs = backend.together(xs)
    shapes = tuple([backend.shape(x) for x in xs])
    sizes = sizes_given(lengths, pattern)
    key = (pattern, backend.name, *map(type, xs), shapes, *sizes, *sizes.values())
    plain = all(map(all_plain, (*shapes, sizes.values())))
    plan = _plans[key] if plain else None
    if plan is None:
        plan = _planned(backend, xs, shapes, pattern, sizes)
        result = _done(backend, xs, plan, pattern)  # a call that fails leaves nothing behind
        if plain:
            _plans.keep(key, plan)
        return result
    return _done(backend, xs, plan, pattern)


def _arrays(tensors: Any, pattern: str) -> list:
    if not isinstance(tensors, (list, tuple)):
        return [tensors]
    if not tensors:
        raise EinopsTypeError(f"rc.rearrange was given an empty list: rc.rearrange([], {pattern!r}).")
    if len(tensors) > 1 and "," not in pattern.split("->")[0]:  # a list is an array with a new first axis
        backend = common_backend(tensors, "rc.rearrange")
        shapes = [backend.shape(x) for x in tensors]
        if any(len(shape) != len(shapes[0]) or any(map(differ, shape, shapes[0])) for shape in shapes):
            message = f"The pattern is of one array, and a list of {len(tensors)} with unequal shapes was given."
            hint = f"Input shapes: {', '.join(map(str, shapes))}."
            raise EinopsError(message, pattern, 0, max(1, len(pattern.split("->")[0].rstrip())), hint)
        return [backend.stack(backend.together(tensors) if backend.name == "ricci" else list(tensors))]
    return list(tensors)


def _whole(backend: Backend, x: Any, axes: Sequence[tuple], sizes: Mapping[str, Any]) -> Any:
    """The array, whose axes must be what their pieces make together, which symbols do not tell yet."""
    lengths = [sum([prod([sizes[name] for name in piece]) for piece in pieces]) for pieces in axes]
    own = backend.shape(x)
    return backend.split(x, [(length if pieces else n,) for length, pieces, n in zip(lengths, axes, own)])


# Patterns


@cached("patterns that join and split", 1024)
def layout_of(pattern: str, ndims: tuple[int, ...]) -> Layout:
    """Which blocks go where."""
    parsed = parse(pattern, wide=True)
    if parsed.right is None:
        raise EinopsError("The pattern has no arrow.", pattern, len(pattern) - 1, len(pattern), _EXAMPLE)
    if len(parsed.left) != len(ndims):
        message = f"The pattern is of {len(parsed.left)} arrays, and {len(ndims)} were given."
        raise EinopsError(message, pattern, 0, max(1, len(pattern.split("->")[0].rstrip())), _EXAMPLE)
    for side in (*parsed.left, *parsed.right):
        numbers = [axis for axis in names_of(side) if axis.__class__ is int]
        if numbers:
            hint = "Give it a name and its size."
            raise EinopsError("Numbers are no axes in rc.rearrange.", pattern, *span_of(pattern, numbers[0]), hint)
    blocks: dict[tuple, list[tuple[int, tuple, tuple]]] = {}
    for operand, side in enumerate(parsed.left):
        for choice, block in _blocks(side):
            blocks.setdefault(_key(block), []).append((operand, choice, block))
    results = tuple([_result(side, blocks, pattern) for side in parsed.right])
    left_over = [block for found in blocks.values() for _, _, block in found]
    if left_over:
        raise _alone(pattern, left_over[0], "left", [_key(b) for side in parsed.right for _, b in _blocks(side)])
    hidden = [_hidden(side, ndim, pattern, k) for k, (side, ndim) in enumerate(zip(parsed.left, ndims))]
    joined = tuple([tuple([at for at, pieces in enumerate(axes) if len(pieces) > 1]) for axes in hidden])
    return Layout(tuple(hidden), joined, results, len(parsed.right) > 1)


_EXAMPLE = 'For instance rc.rearrange([x, y], "b c, b d -> b (c + d)").'


def _blocks(side: tuple) -> list[tuple[tuple[int, ...], tuple]]:
    """Every choice of a piece for each joined axis, in C order, and what is left of the side."""
    options = [list(enumerate(group)) if group.__class__ is Joined else [(-1, group)] for group in side]
    found = []
    for chosen in product(*options):
        found.append((tuple([k for k, _ in chosen if k >= 0]), tuple([group for _, group in chosen])))
    return found


def _key(block: tuple) -> tuple:
    return tuple(sorted(map(str, names_of(block))))


def _result(side: tuple, blocks: dict, pattern: str) -> tuple[tuple[Block, ...], tuple[int, ...], tuple[int, ...]]:
    made = []
    for _, block in _blocks(side):
        found = blocks.get(_key(block))
        if not found:
            raise _alone(pattern, block, "right", [key for key, left in blocks.items() if left])
        operand, choice, source = found.pop(0)
        made.append(Block(operand, choice, f"{side_text(source)} -> {side_text(block)}"))
    joined = [at for at, group in enumerate(side) if group.__class__ is Joined]
    at = tuple([k - len(side) if ELLIPSIS in side[:k] else k for k in joined])  # from the end behind it
    return tuple(made), at, tuple([len(side[k]) for k in joined])


def _alone(pattern: str, block: tuple, where: str, others: list[tuple]) -> EinopsError:
    names = [str(name) for name in names_of(block)]
    other = "right" if where == "left" else "left"
    message = f"The piece with the axes {' '.join(names) or '1'} on the {where} is not on the {other}."
    near = [" ".join(key) or "1" for key in others]
    hint = (nearest(" ".join(sorted(names)), near) + "\nEvery piece is on both sides, with the same axes.").lstrip()
    for name in names:
        if not any(name in key for key in others):
            return EinopsError(message, pattern, *span_of(pattern, name, where == "left"), hint)
    return EinopsError(message, pattern, 0, len(pattern), hint)


def _hidden(side: tuple, ndim: int, pattern: str, k: int) -> tuple[tuple, ...]:
    """The pieces of each axis of an array; none under the ellipsis."""
    count = ndim - len(side) + 1 if ELLIPSIS in side else 1
    if count < 0 or (ELLIPSIS not in side and len(side) != ndim):
        more, expected = ("at least ", len(side) - 1) if ELLIPSIS in side else ("", len(side))
        message = f"Wrong shape: expected {more}{expected} dims of array {k}. Received {ndim}-dim tensor."
        raise EinopsError(message, pattern, 0, max(1, len(pattern.split("->")[0].rstrip())))
    found: list = []
    for group in side:
        if group == ELLIPSIS:
            found += [()] * count
        else:
            found.append(tuple(group) if group.__class__ is Joined else (group,))
    return tuple(found)


# Sizes


def sizes_of(layout: Layout, shapes: Sequence[Sequence[Any]], given: Mapping[str, Any], pattern: str) -> dict[str, Any]:
    """The sizes of all names, from axes with one unknown name until none is left."""
    known = dict(given)
    left = [
        (pieces, length)
        for axes, shape in zip(layout.axes, shapes)
        for pieces, length in zip(axes, shape)
        if pieces and pieces != ((),)
    ]
    while left:
        rest = [(pieces, length) for pieces, length in left if not _found(pieces, length, known, pattern)]
        if len(rest) == len(left):
            names = [name for piece in rest[0][0] for name in piece if name not in known]
            hint = f"Give the size of all but one of them: {', '.join([f'{name}=...' for name in names[1:]])}."
            raise EinopsError(
                f"Could not infer sizes for {', '.join(names)}.", pattern, *span_of(pattern, names[0]), hint
            )
        left = rest
    return known


def _found(pieces: tuple, length: Any, known: dict, pattern: str) -> bool:
    """Whether the size of an axis tells its only unknown name, or has none."""
    unknown = [name for piece in pieces for name in piece if name not in known]
    if len(unknown) > 1:
        return False
    others, factor = 0, 1
    for piece in pieces:
        size = 1
        for name in piece:
            size = size * known.get(name, 1)
        if unknown and unknown[0] in piece:
            factor = size
        else:
            others = others + size
    rest = length - others
    if not unknown:
        if differ(length, others):
            raise _misfit(pieces, length, known, pattern, f"is {others}")
    else:
        if differ(min(rest, 0) if isinstance(rest, int) else 0, 0) or not divides(factor, rest):
            raise _misfit(pieces, length, known, pattern, f"leaves {rest} for a multiple of {factor}")
        known[unknown[0]] = rest // factor
    return True


def _misfit(pieces: tuple, length: Any, known: dict, pattern: str, why: str) -> EinopsError:
    called = group_text(pieces[0] if len(pieces) == 1 else Joined(pieces))
    names = [name for piece in pieces for name in piece]
    sizes = ", ".join([f"{name}={known[name]}" for name in names if name in known])
    message = f"Shape mismatch: {called} has size {length}, and with {sizes} it {why}."
    start, end = span_of(pattern, names[0])[0], span_of(pattern, names[-1])[1]
    return EinopsError(message, pattern, *((start, end) if start < end else span_of(pattern, names[0])))


# Calls


class Plan(NamedTuple):
    """What is done with arrays of these shapes: where each block is cut out, what is done to it, and where it goes."""

    layout: Layout
    sizes: dict[str, Any]
    cuts: list[list[tuple[int, list, Any]]]  # for each result and block the array, the slices, and a function


def _planned(backend: Backend, xs: Sequence, shapes: tuple, pattern: str, given: Mapping[str, Any]) -> Plan:
    try:
        layout = layout_of(pattern, tuple(map(len, shapes)))
        _check_given(layout, given, pattern)
        sizes = sizes_of(layout, shapes, given, pattern)
    except EinopsError as error:
        text = f"Input shapes: {', '.join([str(tuple(shape)) for shape in shapes])}."
        text += f" Sizes given: {', '.join([f'{k}={v}' for k, v in given.items()])}." if given else ""
        error.hint = "\n".join(filter(None, [error.hint, text]))
        raise
    starts = _starts(layout, sizes)
    cuts = []
    for blocks, _, _ in layout.results:
        row = []
        for block in blocks:
            slices = _slices(layout, starts, block)
            row.append((block.operand, slices, _mover(backend, xs[block.operand], slices, block, sizes)))
        cuts.append(row)
    return Plan(layout, sizes, cuts)


def _check_given(layout: Layout, given: Mapping[str, Any], pattern: str) -> None:
    known = [name for axes in layout.axes for pieces in axes for piece in pieces for name in piece]
    for name in given:
        if name not in known:
            hint = nearest(name, known) or f"The pattern has the axes {', '.join(dict.fromkeys(known))}."
            raise EinopsError(
                f"Axis {name} is not used in transform; its size was given.", pattern, 0, len(pattern), hint
            )


def _starts(layout: Layout, sizes: Mapping[str, Any]) -> list[dict[int, list]]:
    """For each array and joined axis where its pieces start, and the end."""
    found = []
    for axes, joined in zip(layout.axes, layout.joined):
        starts: dict[int, list] = {}
        for axis in joined:
            ends = [0]
            for piece in axes[axis]:
                size = 1
                for name in piece:
                    size = size * sizes[name]
                ends.append(ends[-1] + size)
            starts[axis] = ends
        found.append(starts)
    return found


def _slices(layout: Layout, starts: list[dict[int, list]], block: Block) -> list[tuple[int, Any, Any]]:
    ends, joined = starts[block.operand], layout.joined[block.operand]
    return [(axis, ends[axis][k], ends[axis][k + 1]) for axis, k in zip(joined, block.choice)]


def _shape_of(shape: Sequence, slices: list) -> tuple:
    lengths = list(shape)
    for axis, start, stop in slices:
        lengths[axis] = stop - start
    return tuple(lengths)


def _mover(backend: Backend, x: Any, slices: list, block: Block, sizes: Mapping[str, Any]) -> Any:
    """The rearrangement of one block as a function."""
    shape = _shape_of(backend.shape(x), slices)
    names = _composite(block.text)
    recipe = recipe_of(block.text, "rearrange", names, len(shape))
    values = tuple([sizes[name] for name in names])
    if not backend.direct:
        return lambda part: apply_by_axes(backend, part, recipe, axis_sizes(recipe, shape, values), "rearrange")
    todo = moves(recipe, shape, values)
    return compiled(backend, todo, "rearrange", type(x))


def _composite(text: str) -> tuple[str, ...]:
    """The names whose sizes a rearrangement must be told."""
    return tuple([str(name) for name in names_of(parse(text).left[0]) if name != ELLIPSIS]) if "(" in text else ()


def _done(backend: Backend, xs: Sequence[Any], plan: Plan, pattern: str) -> Any:
    inputs = [(x, _named(axes)) for x, axes in zip(xs, plan.layout.axes)]
    seen = watched(backend, xs)
    if seen:
        xs = check(backend, "rearrange", pattern, inputs, plan.sizes)
    if not backend.direct:
        xs = [_whole(backend, x, axes, plan.sizes) for x, axes in zip(xs, plan.layout.axes)]
    results = []
    for (_, joined, counts), row in zip(plan.layout.results, plan.cuts):
        parts = []
        for operand, slices, run in row:
            part = xs[operand]
            for axis, start, stop in slices:
                part = backend.slice(part, axis, start, stop)
            parts.append(run(part))
        results.append(_concatenated(backend, parts, joined, counts))
    if seen or backend.name == "formula":
        sides = parse(pattern, wide=True).right or ()
        names = [_named(_hidden(side, len(backend.shape(x)), pattern, 0)) for side, x in zip(sides, results)]
        if backend.name == "formula":
            plain = [[n if isinstance(n, str) else None for n in each] for each in names]
            results = [backend.named(x, each) for x, each in zip(results, plain)]
        results = note(backend, "rearrange", pattern, inputs, list(zip(results, names)), plan.sizes)
    return results if plan.layout.several else results[0]


def _named(axes: Sequence[tuple]) -> tuple:
    """What the axes of an array are called: a name, a tuple of names for a product, None for the rest."""
    found: list[Any] = []
    for pieces in axes:
        names = pieces[0] if len(pieces) == 1 else ()
        found.append(names if len(names) > 1 else names[0] if names else None)
    return tuple(found)


def _concatenated(backend: Backend, parts: list, joined: Sequence[int], counts: Sequence[int]) -> Any:
    """Blocks in C order of their choices, joined along the last axis first."""
    for axis, count in zip(reversed(joined), reversed(counts)):
        at = axis if axis >= 0 else len(backend.shape(parts[0])) + axis
        parts = [backend.concat(parts[k : k + count], at) for k in range(0, len(parts), count)]
    return parts[0]


def _constant(pattern: str, ndims: tuple[int, ...], names: tuple[str, ...]) -> Layout:
    layout = layout_of(pattern, ndims)
    _check_given(layout, dict.fromkeys(names, 0), pattern)
    return layout


def _constant_names(text: str) -> tuple[str, ...]:
    return _composite(text)


# torch.compile does not look into them, but calls them once, while compiling.
_constant._dynamo_marked_constant = True  # type: ignore[attr-defined]
_constant_names._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _recorded(xs: Sequence, pattern: str, lengths: Mapping[str, Any]) -> Any:
    """In a program that is being compiled: plain steps on sizes that may be symbols."""
    from ricci.einops.backends.torch_arrays import TorchBackend

    backend = TorchBackend()
    layout = _constant(pattern, tuple([len(x.shape) for x in xs]), tuple(lengths))
    sizes = sizes_of(layout, [x.shape for x in xs], lengths, pattern)
    starts = _starts(layout, sizes)
    results = []
    for blocks, joined, counts in layout.results:
        parts = []
        for block in blocks:
            part = xs[block.operand]
            for axis, start, stop in _slices(layout, starts, block):
                part = backend.slice(part, axis, start, stop)
            parts.append(rearrange(part, block.text, **{name: sizes[name] for name in _constant_names(block.text)}))
        results.append(_concatenated(backend, parts, joined, counts))
    return results if layout.several else results[0]
