"""What the names in the source of a kernel mean."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ricci.compiler.backends.numpy_table import dtypes_of
from ricci.compiler.fused.llvm import NATIVE, hidden, load, store
from ricci.compiler.fused.scalars import MAKERS, library, plus, rounded, scalar, times

FIXED: dict[str, Any] = {
    **NATIVE,
    "hidden": hidden,
    "load": load,
    "store": store,
    "plus": plus,
    "times": times,
    "rounded": rounded,
    "range": range,
    "min": min,
    "empty": np.empty,
    "double": np.float64,
    "whole": np.int64,
    "truth": np.bool_,
    "true": True,
    "false": False,
}
NUMBERS = {"one": 1.0, "zero": 0.0, "infinity": math.inf}


def scope_of(source: str, dtype: np.dtype) -> dict[str, Any]:
    """The names for one floating type; of the functions, those that are mentioned."""
    functions, complexes = library(dtype.name), dtypes_of(dtype)["c"].type
    mentioned = set(re.findall(r"\w+", source))
    return {
        **FIXED,
        "real": dtype.type,
        "complexes": complexes,
        "complex_of": scalar(lambda a, b: complexes(complex(a, b))),
        **{name: dtype.type(value) for name, value in NUMBERS.items()},
        **{name: functions[name] for name in MAKERS if name in mentioned},
    }
