"""``np.einsum``: the notation of products itself. Its subscripts are a pattern, one letter for each axis.

The pattern is read as that of ``rc.einsum`` (:mod:`ricci.einops.labels`): an ellipsis stands for the axes that are not
named, counted from the right, as they broadcast, and without an output its labels are those of the ellipsis, then all
that occur once, in alphabetical order. Its labels are those of one product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.einops.grammar import ELLIPSIS
from ricci.einops.labels import labels_of
from ricci.errors import EinopsError, InputError, ShapeError
from ricci.tracing.arguments import Type
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.along import converted
from ricci.tracing.rows.contractions import contraction


@lowers(np.einsum)
def einsum(*operands: Any, dtype: Type = None) -> Traced:
    arrays, pattern = _pattern(operands)
    xs = [converted(lift(a), dtype) for a in arrays]
    try:
        labels = labels_of(pattern, tuple([x.ndim for x in xs]), kind="numpy")
    except EinopsError as error:
        wrong = ShapeError if error.message.startswith("Wrong shape") else InputError
        shapes = " and ".join([str(x.shape) for x in xs])
        raise wrong(f"np.einsum: {error.message} The shapes are {shapes}.") from None
    hidden = {k for k, axis in enumerate(labels.axes) if isinstance(axis, tuple)}
    own = [[label for (label,) in groups] for groups in (*labels.operands, *labels.results)]
    if not hidden <= {*own[-1]}:
        raise InputError("np.einsum: the operands have axes under '...', so the result needs it too.")
    return contraction("np.einsum", list(zip(xs, own[:-1], strict=True)), own[-1], dtype)


def _pattern(operands: Sequence[Any]) -> tuple[Sequence[Any], str]:
    """The arrays, and the subscripts as a pattern with a space between any two."""
    if not operands:
        raise InputError("np.einsum takes subscripts and arrays: np.einsum('ij,jk->ik', a, b).")
    if isinstance(operands[0], str):
        text, *arrays = operands
        inputs, arrow, output = text.replace(" ", "").partition("->")
        sides = [_letters(part, text) for part in inputs.split(",")]
        out = _letters(output, text) if arrow else None
    else:
        pairs = len(operands) // 2
        arrays = operands[: 2 * pairs : 2]
        sides = [[_name(s) for s in own] for own in operands[1 : 2 * pairs : 2]]
        out = [_name(s) for s in operands[-1]] if len(operands) % 2 else None
    pattern = ", ".join([" ".join(side) for side in sides])
    if out is None:
        return arrays, pattern
    return arrays, f"{pattern} -> {' '.join([s for s in out if s != ELLIPSIS or ELLIPSIS in pattern])}"


def _name(subscript: Any) -> str:
    """A subscript that is a number, as a name that is sorted as the numbers are."""
    return ELLIPSIS if subscript is Ellipsis else f"s{int(subscript):09d}"


def _letters(part: str, text: str) -> list[str]:
    """Letters, and at most one ellipsis among them."""
    before, dots, after = part.partition(ELLIPSIS)
    letters = before + after
    if letters and not (letters.isalpha() and letters.isascii()):
        raise InputError(f"np.einsum: {part!r} in {text!r} should be letters, and '...' at most once.")
    return [*before, *([ELLIPSIS] if dots else []), *after]
