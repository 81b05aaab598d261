"""einops' einsum patterns as equations of ``np.einsum``: one letter for each name, and what einops refuses refused."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

from ricci.caches import cached
from ricci.einops.labels import context_of, labels_of, solved
from ricci.einops.patterns import DISCOURAGED, ELLIPSIS, check_name, parse, span_of
from ricci.errors import AxisSpaceError, EinopsError, EinopsRefusal, EinopsValueError, nearest


@cached("equations of patterns", 1024)
def compact(pattern: str) -> str:
    """The pattern with a letter for each name, as ``np.einsum`` reads it, and einops' refusals.

    >>> compact("batch time, time out -> batch out")
    'ab,bc->ac'
    """
    parsed = parse(pattern, wide=True, repeats=True, skips=True)
    if parsed.right is None:
        hint = "Write the axes of the result after an arrow '->'."
        raise EinopsValueError("Einsum pattern must contain '->'.", pattern, 0, max(1, len(pattern)), hint)
    right, *more = parsed.right
    if "+" in pattern or more:
        at = pattern.find("+") if "+" in pattern else pattern.rindex(",")
        raise EinopsError(f"Unknown character '{pattern[at]}'.", pattern, at, at + 1)
    letters: dict[str, str] = {}
    sides = []
    for side in parsed.left:
        text = ""
        for group in side:
            axis = _letterable(group, pattern)
            if axis not in letters:
                if axis in DISCOURAGED:
                    check_name(axis)  # for its warning
                if axis != ELLIPSIS and len(letters) - (ELLIPSIS in letters) >= len(ascii_letters):
                    raise EinopsError("Too many axes in einsum.", pattern, *span_of(pattern, axis), _MANY)
                letters[axis] = ELLIPSIS if axis == ELLIPSIS else ascii_letters[len(letters) - (ELLIPSIS in letters)]
            text += letters[axis]
        sides.append(text)
    text = ""
    for group in right:
        axis = _letterable(group, pattern)
        if axis not in letters and axis != ELLIPSIS:
            hint = nearest(axis, letters) or "A new axis is made by repeat: do that with the result."
            message = f"Unknown axis {axis} on right side of einsum {pattern}."
            raise EinopsError(message, pattern, *span_of(pattern, axis, False), hint)
        text += letters.get(axis, ELLIPSIS)
    return ",".join(sides) + "->" + text


_MANY = "There are 52 letters; rc.einsum has no such limit."


def _letterable(group: Any, pattern: str) -> str:
    if group == ELLIPSIS:
        return group
    if len(group) == 1 and group[0].__class__ is str and group[0] != ELLIPSIS:
        return group[0]
    if not group:
        message, start, end = "Singleton () axes are not yet supported in einsum.", 0, len(pattern)
    elif len(group) == 1 and group[0].__class__ is int:
        message, (start, end) = "Anonymous axes are not yet supported in einsum.", span_of(pattern, group[0])
    else:
        start, end = span_of(pattern, group[0])
        message = "Shape rearrangement is not yet supported in einsum."
    raise EinopsRefusal(message, pattern, start, end, "rc.einsum reads this pattern.")


def explained(error: Exception, pattern: str, tensors: Sequence[Any]) -> Exception:
    """What a backend has raised, as an error that shows the pattern and the shapes."""
    if isinstance(error, (EinopsError, AxisSpaceError)):
        return error
    shapes = [tuple(getattr(x, "shape", ())) for x in tensors]
    try:
        labels = labels_of(pattern, tuple(map(len, shapes)), kind="einops")
        solved(labels, shapes, (), "all")
    except EinopsError as found:
        return EinopsValueError(found.message, found.text, found.start, found.end, found.hint)
    return EinopsValueError(str(error), pattern, 0, len(pattern), context_of(labels, shapes, ()))
