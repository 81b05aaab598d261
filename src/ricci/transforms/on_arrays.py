"""Functions of ricci's table on plain arrays: NumPy's own for its floats, and a program, kept, for all other arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ricci.caches import cached
from ricci.dispatch import Rule, register
from ricci.transforms import nans
from ricci.transforms.linear import identity
from ricci.transforms.transformed import Transformed

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def _called(rule: Rule, args: tuple, kwargs: dict) -> Any:
    if rule.native is not None and not kwargs and _floats(args) and not nans.watching():
        try:
            with np.errstate(all="ignore"):
                value = rule.native(*args)
        except ValueError:  # shapes that do not fit, which are told below
            value = None
        if type(value) is np.ndarray and value is not args[0]:
            return value
    return _program(rule)(*args, **kwargs)


def _floats(args: tuple) -> bool:
    """Whether these are arrays of one floating type, with axes, and numbers of Python's."""
    dtype = None
    for a in args:
        if type(a) is np.ndarray:
            if a.ndim == 0 or a.dtype not in _FLOATS or (dtype is not None and a.dtype != dtype):
                return False
            dtype = a.dtype
        elif type(a) is not float:
            return False
    return dtype is not None


@cached("programs of functions of the table", 512)
def _program(rule: Rule) -> Transformed:
    return Transformed(rule.lower, identity, rule.name)


register("plain", takes=_called)
