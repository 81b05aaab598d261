"""The sizes of labels, from the shapes of arrays.

An axis of an array is a label, a product of labels, or a sum of such products (``(c + d e)``): an equation for their
sizes. Axes that are one label are read first; then every equation with one unknown tells it, until none is left. Of
sizes that are symbols (of a tracing framework, or ricci's own) nothing but sums, products and quotients is asked.

What is wrong is a :class:`Misfit`, which functions on patterns and signatures put in their own words.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ricci.checked_calls import is_whole, shown
from ricci.einops.grammar import ELLIPSIS, Groups, Joined, group_text, span_of, spans_of
from ricci.einops.labels import Labels
from ricci.errors import EinopsError


class Misfit(Exception):
    """Axis ``axis`` of array ``at`` has a size that does not fit: ``length``, and its known labels make ``known``.

    ``unknown`` is the label that cannot be found from them; several, if there are too many to tell.
    """

    def __init__(self, at: int, axis: int, length: Any, known: Any, unknown: tuple[int, ...] = ()):
        self.at, self.axis, self.length, self.known, self.unknown = at, axis, length, known, unknown


def differ(a: Any, b: Any) -> bool:
    """Whether two sizes are numbers, and not the same one."""
    return isinstance(a, int) and isinstance(b, int) and a != b


def divides(known: Any, length: Any) -> bool:
    """Whether ``length`` is a multiple of ``known``, as far as they are numbers; zero divides nothing."""
    if known.__class__ is int and (length.__class__ is int or known <= 0):
        return known > 0 and length % known == 0
    return True


def total(sizes: Sequence[Any], labels: Iterable[int]) -> Any:
    """The product of the sizes of some labels."""
    product = 1
    for label in labels:
        product = product * sizes[label]
    return product


def merged_sizes(groups: Groups, sizes: Sequence[Any]) -> tuple:
    """The size of each axis that is a product of labels."""
    return tuple([sizes[group[0]] if len(group) == 1 else total(sizes, group) for group in groups])


def infer(
    operands: Sequence[Groups],
    shapes: Sequence[Sequence[Any]],
    sizes: list,
    given: Sequence[int] = (),
    free: Callable[[int], bool] = lambda label: False,
) -> list[tuple]:
    """Put the sizes of all labels into ``sizes``, where None is not known; gives the axes that do not tell theirs.

    ``free`` says of a label whether an axis of size 1 fits whatever its size is. Of a size in ``given`` and one that
    an array has, neither of which need be a number, the first is kept: that they are equal is for others to ask.
    """
    left: list[tuple] = []
    for at, (groups, shape) in enumerate(zip(operands, shapes)):
        for axis, (group, length) in enumerate(zip(groups, shape)):
            if len(group) != 1 or isinstance(group, Joined):
                left.append((at, axis, group, length))
                continue
            label = group[0]
            known = sizes[label]
            if known is None or (known.__class__ is not int and label not in given):
                sizes[label] = length
            elif differ(known, length):
                if (length != 1 and known != 1) or not free(label):
                    raise Misfit(at, axis, length, known)
                sizes[label] = length if known == 1 else known
    while left:
        rest = [item for item in left if not _told(*item, sizes)]
        if len(rest) == len(left):
            break
        left = rest
    return left


def _told(at: int, axis: int, group: tuple, length: Any, sizes: list) -> bool:
    """Whether the size of an axis tells its only unknown label, or has none."""
    pieces = group if isinstance(group, Joined) else (group,)
    unknown, others, factor = -1, 0, 1
    for piece in pieces:
        size, inside = 1, False
        for label in piece:
            if sizes[label] is not None:
                size = size * sizes[label]
            elif unknown >= 0:
                return False
            else:
                unknown, inside = label, True
        if inside:
            factor = size
        else:
            others = size if others.__class__ is int and others == 0 else others + size
    if unknown < 0:
        if differ(length, others):
            raise Misfit(at, axis, length, others)
        return True
    rest = length if others.__class__ is int and others == 0 else length - others
    if factor.__class__ is int and rest.__class__ is int and factor == 0 and rest == 0:
        return False  # an axis of size 0 beside one of any size
    if (rest.__class__ is int and rest < 0) or not divides(factor, rest):
        raise Misfit(at, axis, rest, factor, (unknown,))
    sizes[unknown] = rest // factor
    return True


def solved(labels: Labels, shapes: Sequence[Sequence[Any]], values: Sequence[Any], broadcasts: str = "none") -> list:
    """The size of every label. ``broadcasts``: which labels an axis of size 1 fits in any case: those under an
    ellipsis ("hidden"), "all", or "none"."""
    sizes: list[Any] = list(labels.fixed)
    for label, value in zip(labels.given, values):
        sizes[label] = value
    axes, hidden, everything = labels.axes, broadcasts == "hidden", broadcasts == "all"
    try:
        left = infer(
            labels.operands,
            shapes,
            sizes,
            labels.given,
            lambda label: everything or (hidden and isinstance(axes[label], tuple)),
        )
    except Misfit as misfit:
        raise _explained(labels, misfit, sizes, shapes, values) from None
    if left:
        group = left[0][2]
        pieces = group if isinstance(group, Joined) else (group,)
        unknown = dict.fromkeys([label for piece in pieces for label in piece if sizes[label] is None])
        raise undetermined(labels, tuple(unknown), context_of(labels, shapes, values))
    return sizes


def undetermined(labels: Labels, unknown: Sequence[int], context: str = "") -> EinopsError:
    """The error for labels whose sizes nothing tells."""
    names = [str(labels.axes[label]) for label in unknown]
    hint = f"Give the size of all but one of them: {', '.join([f'{name}=...' for name in names[1:]])}."
    if len(names) == 1:
        hint = f"Give it: {names[0]}=...."
    start, end = _span(labels.text, names[0], names[-1])
    hint = "\n".join(filter(None, [hint, context]))
    return EinopsError(f"Could not infer sizes for {', '.join(names)}.", labels.text, start, end, hint)


def _span(text: str, first: object, last: object) -> tuple[int, int]:
    """From one axis to another, where they stand so."""
    start, end = span_of(text, first)[0], span_of(text, last)[1]
    return (start, end) if start < end else span_of(text, first)


def context_of(labels: Labels, shapes: Sequence, values: Sequence) -> str:
    """The shapes and the sizes that a call was made with, for messages."""
    return context_text(shapes, dict(zip([labels.axes[k] for k in labels.given], values)))


def context_text(shapes: Sequence, given: Mapping) -> str:
    """As :func:`context_of`, of sizes by name."""
    text = f"Input shape{'s' * (len(shapes) > 1)}: {', '.join([str(tuple(shape)) for shape in shapes])}."
    return text + (f" Sizes given: {', '.join([f'{name}={value}' for name, value in given.items()])}." if given else "")


def _explained(labels: Labels, misfit: Misfit, sizes: Sequence[Any], shapes: Sequence, values: Sequence) -> EinopsError:
    """The error for an axis whose size does not fit."""
    group, text = labels.operands[misfit.at][misfit.axis], labels.text
    joined = isinstance(group, Joined)
    pieces = [tuple([_word(labels.axes[label]) for label in piece]) for piece in (group if joined else (group,))]
    words = [word for piece in pieces for word in piece]
    called = group_text(Joined(pieces) if joined else pieces[0])
    if words:
        start, end = _span(text, words[0], words[-1])
    else:
        start, end = spans_of(text)[misfit.at][misfit.axis] if ELLIPSIS not in text else (0, len(text.split("->")[0]))
    length, known = shapes[misfit.at][misfit.axis], misfit.known
    where = f"axis {misfit.axis} of " + (f"array {misfit.at}" if len(shapes) > 1 else "the input")
    uses = [f"{shape[axis]} in array {at}" for at, axis, shape in _uses(labels, shapes, group)]
    if joined:
        parts = [f"{labels.axes[k]}={sizes[k]}" for piece in group for k in piece if sizes[k] is not None]
        what = f"leaves {misfit.length} for a multiple of {known}" if misfit.unknown else f"is {known}"
        message = f"Shape mismatch: {called} has size {length}, and with {', '.join(parts)} it {what}."
    elif misfit.unknown and known == 0:
        unknown = labels.axes[misfit.unknown[0]]
        message = f"Shape mismatch, the size of {unknown} cannot be found beside an axis of size 0."
    elif misfit.unknown:
        message = f"Shape mismatch, can't divide axis of length {length} in chunks of {known}: "
        message += f"{where} has size {length}, which is not a multiple of {known}."
    elif len(uses) > 1 and len(group) == 1:
        message = f"Shape mismatch, {length} != {known}: axis {called} is {', '.join(uses)}."
    else:
        what = f"{called} is {known}" if group else "it must be 1"
        message = f"Shape mismatch, {length} != {known}: {where} has size {length}, and here {what}."
    return EinopsError(message, text, start, end, context_of(labels, shapes, values))


def _uses(labels: Labels, shapes: Sequence, group: tuple) -> list[tuple[int, int, Sequence]]:
    """Where a group stands: the array, the axis, and the shape."""
    arrays = enumerate(zip(labels.operands, shapes))
    return [(at, k, shape) for at, (groups, shape) in arrays for k, own in enumerate(groups) if own == group]


def _word(axis: Any) -> str | int:
    return axis if isinstance(axis, (str, int)) else ELLIPSIS if isinstance(axis, tuple) else "_"


# Sizes that a call gives

_WITH_SYMBOLS = ("torch", "jax", "jaxlib", "keras", "tensorflow", "ricci")  # whose own types of sizes are left alone


def all_plain(sizes: Iterable[Any]) -> bool:
    """Whether all are plain integers, and none a symbol of a tracing framework."""
    return {int}.issuperset(map(type, sizes))


def sizes_given(lengths: Mapping[str, Any], pattern: str) -> Mapping[str, Any]:
    """The sizes given in a call, each as :func:`checked_size` has it."""
    for size in lengths.values():
        if size.__class__ is not int or not 0 <= size <= sys.maxsize:
            return {name: checked_size(name, size, pattern) for name, size in lengths.items()}
    return lengths


def checked_size(name: str, size: Any, pattern: str) -> Any:
    """The size given for an axis: an ``int``, or a symbol of a framework, which is left as it is."""
    if size.__class__ is not int and _is_symbol(size):
        return size
    try:
        if not is_whole(size):
            raise TypeError
        found = operator.index(size)
    except TypeError:
        hint = f"Write {name}={int(size)}." if _is_whole(size) else ""
        message = f"The size of axis {name} must be an integer, not {shown(size)}."
        raise EinopsError(message, pattern, *span_of(pattern, name), hint) from None
    if found < 0:
        raise EinopsError(f"The size of axis {name} cannot be negative: {found}.", pattern, *span_of(pattern, name))
    if found > sys.maxsize:
        raise EinopsError(f"The size of axis {name} is too large for any array.", pattern, *span_of(pattern, name))
    return found


def _is_symbol(size: Any) -> bool:
    """Whether this is a size that a framework, or ricci, does not know yet: no array, and none of ricci's own."""
    package = type(size).__module__.split(".")[0]
    return package in _WITH_SYMBOLS and not (package == "ricci" and hasattr(size, "shape"))


def _is_whole(size: Any) -> bool:
    """Whether this is a number that equals an integer: 2.0, or True."""
    try:
        return bool(size == int(size))
    except (TypeError, ValueError, OverflowError):
        return False
