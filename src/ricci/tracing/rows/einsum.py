"""``np.einsum``: the notation of products itself. Its subscripts become the labels of one product.

An ellipsis stands for the axes that are not named, counted from the right, as they broadcast. Without an output, its
labels are those of the ellipsis, then all that occur once, in alphabetical order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from ricci.errors import InputError, ShapeError
from ricci.tracing.arguments import Type
from ricci.tracing.array import Traced
from ricci.tracing.basics import lift
from ricci.tracing.lowerings import lowers
from ricci.tracing.rows.along import converted
from ricci.tracing.rows.contractions import contraction

Label = Hashable
Subscripts = list  # labels, and Ellipsis for those not named


@lowers(np.einsum)
def einsum(*operands: Any, dtype: Type = None) -> Traced:
    arrays, subscripts, wanted = _read(operands)
    xs = [converted(lift(a), dtype) for a in arrays]
    labels = [_all_labels(x, own) for x, own in zip(xs, subscripts, strict=True)]
    return contraction("np.einsum", list(zip(xs, labels, strict=True)), _output(labels, wanted), dtype)


def _read(operands: Sequence[Any]) -> tuple[Sequence[Any], list[Subscripts], Subscripts | None]:
    """The arrays, the subscripts of each, and those of the result if they are given."""
    if not operands:
        raise InputError("np.einsum takes subscripts and arrays: np.einsum('ij,jk->ik', a, b).")
    if not isinstance(operands[0], str):
        pairs = len(operands) // 2
        wanted = list(operands[-1]) if len(operands) % 2 else None
        return operands[: 2 * pairs : 2], [list(s) for s in operands[1 : 2 * pairs : 2]], wanted
    text, *arrays = operands
    inputs, arrow, output = text.replace(" ", "").partition("->")
    subscripts = [_parsed(part, text) for part in inputs.split(",")]
    if len(subscripts) != len(arrays):
        raise InputError(f"np.einsum: {text!r} has subscripts for {len(subscripts)} arrays; {len(arrays)} are given.")
    return arrays, subscripts, _parsed(output, text) if arrow else None


def _parsed(part: str, text: str) -> Subscripts:
    """Letters, and at most one ellipsis among them."""
    before, dots, after = part.partition("...")
    letters = before + after
    if letters and not (letters.isalpha() and letters.isascii()):
        raise InputError(f"np.einsum: {part!r} in {text!r} should be letters, and '...' at most once.")
    return [*before, *([Ellipsis] if dots else []), *after]


def _all_labels(x: Traced, own: Subscripts) -> list[Label]:
    """One label for each axis; those under the ellipsis are numbered from the right."""
    named = len(own) - own.count(Ellipsis)
    hidden = x.ndim - named
    if hidden < 0 or own.count(Ellipsis) > 1 or (hidden and Ellipsis not in own):
        shown = "".join(["..." if s is Ellipsis else str(s) for s in own])
        raise ShapeError(f"np.einsum: the subscripts {shown!r} do not fit an array of the shape {x.shape}.")
    return _expanded(own, hidden)


def _expanded(own: Subscripts, hidden: int) -> list[Label]:
    found: list[Label] = []
    for label in own:
        found += [(Ellipsis, k) for k in range(hidden, 0, -1)] if label is Ellipsis else [label]
    return found


def _output(labels: list[list[Label]], wanted: Subscripts | None) -> list[Label]:
    counts = Counter([label for own in labels for label in own])
    hidden = max([label[1] for label in counts if isinstance(label, tuple)], default=0)
    if wanted is None:
        once: list[Any] = [label for label, n in counts.items() if n == 1 and not isinstance(label, tuple)]
        return _expanded([Ellipsis, *sorted(once)], hidden)
    if hidden and Ellipsis not in wanted:
        raise InputError("np.einsum: the operands have axes under '...', so the result needs it too.")
    found = _expanded(wanted, hidden)
    if len(set(found)) < len(found) or not set(found) <= counts.keys():
        raise InputError(f"np.einsum: the result has the subscripts {wanted}: different ones of those of the operands.")
    return found
