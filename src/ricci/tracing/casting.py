"""Types of traced arrays: one floating type is computed in, so most changes of type change nothing but the name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ricci.expr import Expr
from ricci.functions import elementwise as e
from ricci.tracing.array import Traced
from ricci.tracing.basics import checked_dtype, fresh


def truncated(x: Expr) -> Expr:
    """The nearest whole number towards zero."""
    return e.where(e.less(x, 0), e.ceil(x), e.floor(x))


def cast(x: Traced, dtype: Any) -> Traced:
    """``x`` in another type: whole numbers are cut off towards zero, truth is not being zero."""
    found = checked_dtype(np.dtype(dtype))
    if found == x.dtype:
        return x
    if found.kind == "b":
        return fresh(e.not_equal(x.expr, 0), found)
    if found.kind in "iu" and x.dtype.kind == "f":
        return fresh(truncated(x.expr), found)
    return fresh(x.expr, found)
