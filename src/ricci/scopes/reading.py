"""The text of a signature, ``b t (h d), d e -> b t e``, read into a tuple of keys for each array.

Everything that has a size is a key: a name, a number, the whole of a composite axis ``(h d)``, ``...`` (whose size is a
tuple), and each ``_`` by itself. What stands where in the text is kept for the carets of errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ricci.errors import NotationError
from ricci.scopes.watch import Part

ELLIPSIS = "..."


@dataclass(frozen=True, eq=False, slots=True)
class Axis:
    """One axis: its key, the names and numbers that it is composed of, and where it is in the text."""

    key: str
    parts: tuple[str, ...]
    start: int
    end: int

    @property
    def part(self) -> Part:
        """The names, as operations report them."""
        names = tuple([name for name in self.parts if name.isidentifier() and name != "_"])
        return None if not names else names if self.key.startswith("(") else names[0]


@dataclass(frozen=True, eq=False, slots=True)
class Array:
    """One array."""

    axes: tuple[Axis, ...]
    start: int
    end: int
    keys: tuple[str, ...]
    fold: int  # the position of the ellipsis, or -1

    def folded(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """The shape with the axes that the ellipsis stands for in one tuple; as it is if there are too few axes."""
        after = len(self.keys) - self.fold - 1
        end = len(shape) - after
        if self.fold < 0 or end < self.fold:
            return tuple(shape)
        return (*shape[: self.fold], tuple(shape[self.fold : end]), *shape[end:])

    def parts(self, order: int) -> list[Part]:
        """The names of the axes of an array of this order."""
        parts = [axis.part for axis in self.axes]
        return (
            parts if self.fold < 0 else parts[: self.fold] + [None] * (order - len(parts) + 1) + parts[self.fold + 1 :]
        )


Arrays = tuple[Array | None, ...]  # None where something is not checked

_TOKEN = re.compile(r"\((?P<inside>[\w\s]*)\)|(?P<axis>\.\.\.|\w+)|(?P<fault>\S)")
_HINT = "Write names, numbers, '...', '_' and (h d), with commas between arrays: 'b t (h d), d e -> b t e'."


def sides(text: str) -> tuple[Arrays, Arrays | None]:
    """The arrays on the left and on the right of the arrow; None where there is no arrow."""
    left, arrow, right = text.partition("->")
    if "->" in right:
        raise NotationError("A signature has one arrow '->'.", text, text.rindex("->"), text.rindex("->") + 2)
    start = len(left) + len(arrow)
    return _arrays(text, 0, left) if left.strip() else (), _arrays(text, start, right) if arrow else None


def _arrays(text: str, start: int, side: str) -> Arrays:
    arrays = []
    for part in side.split(","):
        arrays.append(None if part.strip() == "_" else _array(text, start, start + len(part)))
        start += len(part) + 1
    return tuple(arrays)


def _array(text: str, start: int, end: int) -> Array:
    axes = tuple([_axis(text, token) for token in _TOKEN.finditer(text, start, end)])
    keys = tuple([axis.key for axis in axes])
    if keys.count(ELLIPSIS) > 1:
        raise NotationError("An array has at most one ellipsis.", text, axes[-1].start, axes[-1].end)
    where = (axes[0].start, axes[-1].end) if axes else (start, end)
    return Array(axes, *where, keys, keys.index(ELLIPSIS) if ELLIPSIS in keys else -1)


def _axis(text: str, token: re.Match[str]) -> Axis:
    if token["fault"]:
        raise NotationError("A signature has no place for this.", text, *token.span(), hint=_HINT)
    parts = tuple((token["axis"] or token["inside"]).split())
    for part in parts:
        if not (part.isidentifier() or part.isdecimal() or part == ELLIPSIS):
            raise NotationError(f"The axis {part!r} is neither a name nor a number.", text, *token.span(), hint=_HINT)
    if "_" in parts and not token["axis"]:
        raise NotationError("The parts of a composite axis have names.", text, *token.span(), hint=_HINT)
    key = f"_ {token.start()}" if parts == ("_",) else parts[0] if token["axis"] else f"({' '.join(parts)})"
    return Axis(key, parts, *token.span())
