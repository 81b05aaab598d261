"""Sizes by name: of one array, of several, and the pattern read backwards."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from ricci.caches import Cache
from ricci.checked_calls import MISSING, takes, told_late, unfit
from ricci.einops.backends import backend_of, compiling
from ricci.einops.driver import in_context
from ricci.einops.grammar import ELLIPSIS, WIDE, Groups, check_text, names_of, parse, side_text, span_of
from ricci.einops.inference import sizes_given, solved
from ricci.einops.labels import Labels, labels_of
from ricci.einops.rearranging import wide_rearrange
from ricci.errors import EinopsError, nearest

_places = Cache("calls of parse_shape", 2048)  # the names of a pattern, and the axes that they are of

_MARK = 1 << 40


@told_late
def parse_shape(x: Any, pattern: str, *more: Any) -> dict[str, Any]:
    """The sizes of the axes of an array by name; ``_`` skips an axis.

    >>> import numpy as np
    >>> parse_shape(np.zeros((2, 3, 5, 7)), "batch _ h w")
    {'batch': 2, 'h': 5, 'w': 7}
    """
    if more or pattern is MISSING:
        raise unfit("parse_shape", parse_shape, (x, pattern, *more), {}, 'parse_shape(x, "b _ h w")')
    if compiling(x):
        return _parse_shape(x, pattern)
    try:
        shape = x.shape
        names, places = _places.known[type(x), pattern, len(shape)]
    except (KeyError, TypeError, AttributeError):  # not known; not a pattern, or not an array
        return _first(x, pattern)
    return dict(zip(names, shape if places is None else places(shape)))


def _first(x: Any, pattern: str) -> dict[str, Any]:
    """A call that is looked up from now on, if each name is that of one axis, and nothing else is asked of sizes."""
    found = _parse_shape(x, pattern)
    key = (type(x), pattern, len(x.shape))
    if _places[key] is None:  # otherwise it was not used for long
        marks = tuple([_MARK + axis for axis in range(len(x.shape))])  # sizes that no pattern asks for
        labels = _constant(pattern, len(marks))
        try:
            told = labels.named_sizes(solved(labels, (marks,), ()))
        except EinopsError:
            return found
        if set(marks).issuperset(told.values()):
            _places.keep(key, (tuple(told), _picking([mark - _MARK for mark in told.values()], len(marks))))
    return found


def _picking(axes: list[int], order: int) -> Callable[[tuple], tuple] | None:
    """What picks the sizes of some axes out of a shape; none if all are picked."""
    if axes == list(range(order)):
        return None
    return itemgetter(*axes) if len(axes) > 1 else lambda shape: tuple([shape[axis] for axis in axes])


def _parse_shape(x: Any, pattern: str) -> dict[str, Any]:
    if not compiling(x):
        backend_of(x)  # an error where this is no array
    check_text(pattern)
    shape = x.shape
    try:
        labels = _constant(pattern, len(shape))
        return labels.named_sizes(solved(labels, (shape,), ()))
    except EinopsError as error:
        raise in_context(error, (shape,), {}) from None


def _constant(pattern: str, ndim: int) -> Labels:
    return labels_of(pattern, (ndim,), kind="shape")


_constant._dynamo_marked_constant = True  # type: ignore[attr-defined]


@takes("rc.sizes")
def sizes(pattern: str, *arrays: Any, **given: Any) -> dict[str, Any]:
    """The sizes of the axes of several arrays by name, which must agree; ``_`` skips an axis.

    >>> import numpy as np
    >>> sizes("b t (h d), d e", np.zeros((2, 3, 8)), np.zeros((4, 5)))
    {'b': 2, 't': 3, 'h': 2, 'd': 4, 'e': 5}
    """
    check_text(pattern)
    shapes = tuple([backend_of(x).shape(x) for x in arrays])
    try:
        labels = labels_of(pattern, tuple(map(len, shapes)), tuple(given), "sizes")
        return labels.named_sizes(solved(labels, shapes, tuple(sizes_given(given, pattern).values())))
    except EinopsError as error:
        raise in_context(error, shapes, given) from None


class Inverse(str):
    """A pattern read backwards, with the sizes it needs: a text, and a function of an array."""

    __slots__ = ("sizes",)
    sizes: dict[str, int]

    def __call__(self, tensor: Any, **sizes: int) -> Any:
        return wide_rearrange(tensor, str(self), **{**self.sizes, **sizes})


@takes("rc.inverse")
def inverse(pattern: str, **sizes: int) -> Inverse:
    """The pattern that undoes a rearrangement; called with an array, it does so.

    >>> import numpy as np
    >>> back = inverse("b h p c -> b (h p) c", p=8)
    >>> back
    'b (h p) c -> b h p c'
    >>> back(np.zeros((2, 24, 3))).shape
    (2, 3, 8, 3)
    """
    left, right = _two_sides(pattern)
    names, others = [sorted({str(n) for side in sides for n in names_of(side)}) for sides in (left, right)]
    if names != others:
        alone = sorted(set(names) ^ set(others))[0]
        hint = "Only a rearrangement can be undone: every axis is on both sides."
        raise EinopsError(f"Axis {alone} is only on one side.", pattern, *span_of(pattern, alone), hint)
    for name in sizes:
        if name not in names:
            raise EinopsError(f"Axis {name} is not in the pattern.", pattern, 0, len(pattern), nearest(name, names))
    for group in (group for side in right for group in side):
        if group.__class__ is tuple and ELLIPSIS in group:
            start = pattern.rindex(ELLIPSIS)
            hint = "What an ellipsis has merged cannot be told apart again; name its axes."
            raise EinopsError("This cannot be undone.", pattern, start, start + 3, hint)
    made = Inverse(" -> ".join(", ".join(map(side_text, sides)) for sides in (right, left)))
    made.sizes = {**sizes_given(sizes, pattern)}
    return made


def _two_sides(pattern: str) -> tuple[tuple[Groups, ...], tuple[Groups, ...]]:
    parsed = parse(pattern, WIDE)
    if parsed.right is None:
        raise EinopsError("The pattern has no arrow.", pattern, len(pattern) - 1, len(pattern))
    return parsed.left, parsed.right
