"""EinMix: a linear layer written as a pattern, taken apart without any framework.

``EinMix("b (h c) -> b (h d)", "h c d", "h d", h=8, c=3, d=4)`` is three steps: the composite axes of the input are
split by a rearrangement, an einsum of single letters multiplies by the weight, to which the bias is added, and a second
rearrangement merges the axes of the result:

    b (h c) -> b h c,        b h c, h c d -> b h d,        b h d -> b (h d)

The rearrangements are left out where nothing is split or merged. An entry of the result is a sum of ``fan_in`` entries
of the input, the product of the sizes of those axes of the weight that are not on the right; weights are drawn from
the uniform distribution with variance 1 / fan_in, so that the layer keeps the variance of what goes through it.
"""

from __future__ import annotations

import math
import string
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ricci.einops import watch
from ricci.einops.grammar import ELLIPSIS, Parsed, names_of, parse, parse_side, span_of
from ricci.einops.inference import differ
from ricci.einops.layers._common import checked_sizes, described
from ricci.errors import EinopsError, nearest

Names = tuple[str, ...]  # of single axes, one of which may be the ellipsis


class Mix(NamedTuple):
    """The parts of an EinMix."""

    pre_reshape_pattern: str | None
    pre_reshape_lengths: dict[str, int] | None
    post_reshape_pattern: str | None
    post_reshape_lengths: dict[str, int]
    einsum_pattern: str
    weight_shape: list[int]
    weight_bound: float
    bias_shape: list[int] | None
    bias_bound: float
    left: Names  # the axes of what the einsum is given, of the weight, and of what the einsum makes
    weight: Names
    right: Names
    expected: tuple[tuple[int, int], ...]  # axes of what the einsum is given, from the end after an ellipsis; sizes

    @property
    def text(self) -> str:
        """The einsum with the names of the user."""
        return f"{' '.join(self.left)}, {' '.join(self.weight)} -> {' '.join(self.right)}"


def decompose(pattern: str, weight_shape: str, bias_shape: str | None, lengths: Mapping[str, Any]) -> Mix:
    """Take an EinMix apart.

    >>> mix = decompose("b (h c) -> b (h d)", "h c d", None, {"h": 8, "c": 3, "d": 4})
    >>> mix.pre_reshape_pattern, mix.einsum_pattern, mix.post_reshape_pattern
    ('b (h c) -> b h c', 'adb,dbc->adc', 'b h d -> b (h d)')
    """
    try:
        return _decompose(pattern, weight_shape, bias_shape, checked_sizes(pattern, lengths))
    except EinopsError as error:
        texts = [pattern, weight_shape, *([] if bias_shape is None else [bias_shape])]
        error.message = f"Error while preparing {described('EinMix', texts, lengths)}: {error.message}"
        raise


def _decompose(pattern: str, weight_shape: str, bias_shape: str | None, sizes: dict[str, int]) -> Mix:
    parsed = parse(pattern)
    if parsed.right is None:
        raise EinopsError("The pattern has no arrow.", pattern, len(pattern) - 1, len(pattern))
    sides = parsed.left[0], parsed.right[0]
    weight = _weight(weight_shape)
    left, right = (tuple(map(str, names_of(side))) for side in sides)
    _check_sides(parsed, left, right, weight)
    _check_sizes(pattern, weight_shape, left, weight, sizes)
    fan_in = math.prod([sizes[axis] for axis in weight if axis not in right])
    if fan_in == 0:
        raise EinopsError("The sizes of the axes that are summed over must be positive.", weight_shape, 0, 1)
    left_text, right_text = pattern.split("->")
    splits, merges = (any(len(group) != 1 for group in side if group != ELLIPSIS) for side in sides)
    merges = merges or any(group != ELLIPSIS and ELLIPSIS in group for group in sides[1])
    return Mix(
        f"{left_text}-> {' '.join(left)}" if splits else None,
        {name: size for name, size in sizes.items() if name in left} if splits else None,
        f"{' '.join(right)} ->{right_text}" if merges else None,
        {},
        _einsum_pattern(left, weight, right),
        [sizes[axis] for axis in weight],
        (3 / fan_in) ** 0.5,
        None if bias_shape is None else _bias(pattern, bias_shape, right, sizes),
        (1 / fan_in) ** 0.5,
        left,
        weight,
        right,
        _expected(left, sizes),
    )


def _weight(text: str) -> Names:
    """The axes of the weight: names only."""
    if not isinstance(text, str):
        raise EinopsError(f"The weight shape is a text such as 'c d', not {type(text).__name__}.")
    for mark, message in _NOT_IN_WEIGHT.items():
        if mark in text:
            raise EinopsError(message, text, text.index(mark), text.index(mark) + len(mark))
    side = parse_side(text)
    for group in side:
        if len(group) != 1 or not isinstance(group[0], str):
            number = group[0] if group else 1
            message = "Anonymous axes (numbers) are not allowed in EinMix."
            raise EinopsError(message, text, *span_of(text, number), "Leave it out, or give it a name and its size.")
    if not side:
        # up to the line that makes the layer: this function, the two around it, and the layer's constructor
        warnings.warn("EinMix: weight has no dimensions (means multiplication by a number)", stacklevel=5)
    return tuple([group[0] for group in side])


_NOT_IN_WEIGHT = {
    "->": "A weight shape has no arrow.",
    "(": "Parenthesis is not allowed in weight shape.",
    ")": "Parenthesis is not allowed in weight shape.",
    ELLIPSIS: "Ellipsis is not supported in weight, as its shape should be fully specified.",
}


def _check_sides(pattern: Parsed, left: Names, right: Names, weight: Names) -> None:
    text = pattern.text
    for axis in (*left, *right):
        if axis.isdecimal():
            raise EinopsError("Anonymous axes (numbers) are not allowed in EinMix.", text, *span_of(text, axis))
    if (ELLIPSIS in left) != (ELLIPSIS in right):
        raise EinopsError("Ellipsis in EinMix should be on both sides.", text, *span_of(text, ELLIPSIS))
    if any(group != ELLIPSIS and ELLIPSIS in group for group in pattern.left[0]):
        raise EinopsError("Ellipsis on left side can't be in parenthesis.", text, *span_of(text, ELLIPSIS))
    for axis in right:
        if axis not in left and axis not in weight:
            message = f"Unrecognized identifiers on the right side of EinMix: {axis}."
            hint = nearest(axis, [*left, *weight]) or "It must be an axis of the input or of the weight."
            raise EinopsError(message, text, *span_of(text, axis, False), hint)


def _check_sizes(pattern: str, weight_shape: str, left: Names, weight: Names, sizes: dict[str, int]) -> None:
    """Each axis of the weight has a size and a use, and each size has an axis."""
    used = names_of(parse(pattern).left[0]) + names_of((parse(pattern).right or ((),))[0])
    for axis in weight:
        if axis not in sizes:
            message = f"Dimension {axis} of weight should be specified."
            raise EinopsError(message, weight_shape, *span_of(weight_shape, axis), f"Give its size: {axis}=...")
        if axis not in used:
            message = f"Weight axes {axis} are redundant: they are in neither side of the pattern."
            raise EinopsError(message, weight_shape, *span_of(weight_shape, axis), nearest(axis, used))
    for axis in sizes:
        if axis not in left and axis not in weight:
            message = f"Axes {axis} are not used in pattern; their size was given."
            raise EinopsError(message, pattern, 0, len(pattern), nearest(axis, [*left, *weight]))


def _bias(pattern: str, text: str, right: Names, sizes: dict[str, int]) -> list[int]:
    """The shape of the bias, which is added before axes are merged: 1 along the axes it does not have."""
    if not isinstance(text, str):
        raise EinopsError("bias shape should be string specifying which axes bias depends on.")
    axes = [str(axis) for axis in names_of(parse_side(text))]
    for axis in axes:
        if axis not in right:
            hint = nearest(axis, right) or "The bias has axes of the right side."
            raise EinopsError(f"Bias axes {axis} not present in output.", text, *span_of(text, axis), hint)
        if axis not in sizes:
            message = f"Sizes not provided for bias axes {axis}."
            raise EinopsError(message, text, *span_of(text, axis), f"Give its size: {axis}=...")
    if ELLIPSIS in right and any(axis in axes for axis in right[: right.index(ELLIPSIS)]):
        message = "All bias dimensions should go after ellipsis in the output."
        raise EinopsError(message, pattern, *span_of(pattern, ELLIPSIS, False))
    return [sizes[axis] if axis in axes else 1 for axis in right if axis != ELLIPSIS]


def _einsum_pattern(left: Names, weight: Names, right: Names) -> str:
    """The einsum in single letters, given to the names in alphabetical order."""
    names = sorted({*left, *weight, *right} - {ELLIPSIS})
    if len(names) > len(string.ascii_letters):
        raise EinopsError(f"EinMix has {len(names)} axes, and einsum has letters for {len(string.ascii_letters)}.")
    letters = dict(zip(names, string.ascii_letters)) | {ELLIPSIS: ELLIPSIS}
    written = ["".join([letters[name] for name in side]) for side in (left, weight, right)]
    return "{},{}->{}".format(*written)


def _expected(left: Names, sizes: dict[str, int]) -> tuple[tuple[int, int], ...]:
    hidden = left.index(ELLIPSIS) if ELLIPSIS in left else len(left)
    return tuple([(k if k < hidden else k - len(left), sizes[axis]) for k, axis in enumerate(left) if axis in sizes])


def check_input(mix: Mix, shape: Sequence[Any]) -> None:
    """Raise for what the einsum would refuse in other words, or take where it should not: it repeats axes of size 1."""
    order, hidden = len(mix.left), ELLIPSIS in mix.left
    if len(shape) < order - 1 if hidden else len(shape) != order:
        more = f"at least {order - 1}" if hidden else str(order)
        message = f"Wrong shape: EinMix expected {more} dims. Received {len(shape)}-dim tensor."
        raise EinopsError(message, mix.text, 0, mix.text.index(","), f"Input shape: {tuple(shape)}.")
    for axis, size in mix.expected:
        if differ(shape[axis], size):
            name = mix.left[axis]
            message = f"Shape mismatch, {shape[axis]} != {size}: the layer was made with {name}={size}."
            raise EinopsError(message, mix.text, *span_of(mix.text, name), f"Input shape: {tuple(shape)}.")


def written_out(names: Names, ndim: int) -> Names:
    """The names of all axes of an array; those of the ellipsis are called ``...0``, ``...1`` and so on."""
    if ELLIPSIS not in names:
        return names
    at = names.index(ELLIPSIS)
    return (*names[:at], *[f"{ELLIPSIS}{k}" for k in range(ndim - len(names) + 1)], *names[at + 1 :])


def _named(names: Names, ndim: int) -> tuple[str | None, ...]:
    """What the axes of an array are called; those of the ellipsis have no name."""
    return tuple([None if name.startswith(ELLIPSIS) else name for name in written_out(names, ndim)])


def watched(mix: Mix, x: Any, weight: Any, compute: Callable[[Any, Any], Any]) -> Any:
    """``compute(x, weight)``, reported to the scopes that watch the axes."""
    inputs = [(x, _named(mix.left, len(x.shape))), (weight, mix.weight)]
    sizes = {name: size for array, names in inputs for name, size in zip(names, array.shape) if name}
    watch.check("EinMix", mix.text, inputs, sizes)
    result = compute(x, weight)
    watch.note("EinMix", mix.text, inputs, [(result, _named(mix.right, len(result.shape)))], sizes)
    return result
