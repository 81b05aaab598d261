"""A stand-in for an array of which only shape and type are known."""

from __future__ import annotations

from typing import Any


class Shaped:
    """A shape and a type: enough to trace with."""

    __slots__ = ("dtype", "like", "shape")

    def __init__(self, shape: tuple, dtype: Any, like: Any = None):
        self.shape, self.dtype = shape, dtype
        self.like = like  # the array it is made of, whose library says what its methods mean
