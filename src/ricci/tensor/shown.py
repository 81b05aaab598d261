"""Tensors in notebooks: the entries, as a table where they are few, names of axes, the operation, the gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ricci.markup import block, card, code, element, pairs, table

if TYPE_CHECKING:
    from ricci.tensor.tensor import Tensor

MOST = 10  # rows and columns that are shown
DIGITS = 5


def to_html(t: Tensor) -> str:
    """A card: what the tensor is, and its entries."""
    shape = "×".join(map(str, t.shape)) or "number"
    axes = ", ".join([name or "_" for name in t.axes]) if any(t.axes) else ""
    gradient = "" if t._grad is None else code(np.array2string(np.asarray(t._grad), precision=DIGITS, threshold=MOST))
    rows = [("axes", axes), ("made by", code(t.op) if t.op else ""), ("gradient", gradient)]
    name = f" {t.name}" if t.name else ""
    return card(f"Tensor{name}: {shape} of {t.dtype}", _entries(np.asarray(t._value), t.axes), pairs(rows))


def _entries(value: np.ndarray, axes: tuple[str | None, ...]) -> str:
    if value.ndim == 0:
        return code(_number(value[()]))
    if value.ndim > 2 or not value.size:
        return block(np.array2string(value, precision=DIGITS, separator=", ", threshold=MOST * MOST))
    lines = np.atleast_2d(value)
    rows, columns = [_places(n) for n in lines.shape]
    above, beside = (axes[-1] or "", axes[0] or "") if value.ndim == 2 else (axes[0] or "", "")
    named = bool(above or beside)
    heads = (
        ["\\".join(filter(None, [beside, above])), *["⋯" if j is None else str(j) for j in columns]] if named else []
    )
    made = []
    for i in rows:
        cells = ["⋯" if i is None or j is None else _number(lines[i, j]) for j in columns]
        head = [element("b", "⋯" if i is None else str(i) if value.ndim == 2 else "")] if named else []
        made.append([*head, *cells])
    return table(heads, made, right=range(len(columns) + named))


def _places(n: int) -> list[int | None]:
    return [*range(n)] if n <= MOST else [*range(MOST - 2), None, n - 1]


def _number(entry: object) -> str:
    return f"{entry:.{DIGITS}g}" if isinstance(entry, (float, np.floating)) else str(entry)
