"""Numbers and arrays in a few characters: four decimals, and for what is larger its shape and range."""

from __future__ import annotations

from typing import Any

import numpy as np

SMALL = 4  # entries; an array up to this size is written out


def short(value: Any) -> str:
    """A value as short as it can be told.

    >>> short(14.909297426825682), short(2), short(-0.00123456), short(1.5e-9), short(float("nan"))
    ('14.9093', '2', '-0.001235', '1.5e-09', 'nan')
    >>> short(np.eye(2)), short(np.arange(12.0).reshape(3, 4)), short(np.ones(9))
    ('[[1, 0], [0, 1]]', '(3, 4), 0 to 11', '(9,), all 1')
    """
    array = np.asarray(value)
    if not array.ndim:
        return _number(array.item())
    if not array.size:
        return f"{array.shape}, empty"
    if array.size <= SMALL:
        return _nested(array.tolist())
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    parts = [str(array.shape)]
    if finite.size:
        low, high = _number(finite.min().item()), _number(finite.max().item())
        parts.append(f"{low} to {high}" if low != high else f"all {low}" if finite.size == array.size else low)
    for what, found in (("nan", np.isnan(array)), ("inf", np.isinf(array))):
        if found.any():
            parts.append(f"{found.sum()} {what}")
    return ", ".join(parts)


def _nested(entries: Any) -> str:
    return f"[{', '.join(map(_nested, entries))}]" if isinstance(entries, list) else _number(entries)


def _number(value: Any) -> str:
    if not isinstance(value, float) or value != value or value in (np.inf, -np.inf):
        return str(value)
    if 1e-4 <= abs(value) < 0.1:
        return f"{value:.4g}"
    if value and not 1e-4 <= abs(value) < 1e6:
        digits, exponent = f"{value:.4e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{exponent}"
    return f"{value:.4f}".rstrip("0").rstrip(".")
