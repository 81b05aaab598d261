"""A stand-in for an array of which only shape and type are known, and perhaps the names of its axes."""

from __future__ import annotations

from typing import Any


class Shaped:
    """A shape and a type: enough to trace with."""

    __slots__ = ("axes", "dtype", "like", "shape")

    def __init__(self, shape: tuple, dtype: Any, like: Any = None, axes: tuple[str | None, ...] = ()):
        self.shape, self.dtype, self.axes = shape, dtype, axes
        self.like = like  # the array it is made of, whose library says what its methods mean
