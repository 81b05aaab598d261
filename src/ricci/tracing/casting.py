"""Types of traced arrays: one floating type is computed in, so most changes of type change nothing but the name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ricci.expr import Expr
from ricci.functions import elementwise as e
from ricci.functions.complexes import real
from ricci.tracing.array import Traced
from ricci.tracing.basics import checked_dtype, fresh, real_type


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
    if x.dtype.kind == "c" and found.kind != "c":
        warnings.warn(
            f"An array of {x.dtype} is made one of {found}; its imaginary part is left out. Write x.real.",
            np.exceptions.ComplexWarning,
            stacklevel=2,
        )
        return cast(fresh(real(x.expr), real_type(x.dtype), x.weak), found)
    if found.kind in "iu" and x.dtype.kind == "f":
        return fresh(truncated(x.expr), found)
    return fresh(x.expr, found)
