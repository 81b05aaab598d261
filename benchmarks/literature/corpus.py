"""What a program of the corpus is: a function, what draws its arguments for a size, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy

Function = Callable[..., Any]
Size = tuple[int, ...]
KINDS = ("value", "grad", "hvp", "hessian", "diagonal", "newton")


@dataclass(frozen=True)
class Case:
    """A program at one size: a function of a module and of ``args``; ``direction`` has the form of the first."""

    title: str
    function: Function
    args: tuple[Any, ...]
    direction: Any


@dataclass(frozen=True)
class Program:
    """A function of a module and arrays; ``data`` draws the arrays from a generator for a size.

    ``axes`` names the numbers of a size. ``small`` is for tests, ``sizes`` are for benchmarks. ``kinds`` are what is
    asked for, of ``KINDS``: "diagonal" and "newton" only where the Hessian is diagonal, so that it is the product with
    ones. What a function needs beside arrays, ``fixed`` makes of the size.
    """

    name: str
    function: Function
    data: Callable[..., tuple[Any, ...]]
    axes: str
    small: Size
    sizes: Sequence[Size]
    kinds: Sequence[str] = ("value", "grad", "hvp")
    fixed: Callable[..., Mapping[str, Any]] = lambda *size: {}

    def case(self, size: Size | None = None, seed: int = 0) -> Case:
        """The program at one size, the small one if none is given, with the same arguments whenever it is asked."""
        size = self.small if size is None else size
        rng = numpy.random.default_rng([seed, *size])
        args = self.data(rng, *size)
        first = args[0]
        whole = not isinstance(first, tuple)
        direction = rng.normal(size=first.shape) if whole else tuple([rng.normal(size=a.shape) for a in first])
        function = partial(self.function, **self.fixed(*size))
        return Case(f"{self.name} {self.label(size)}", function, args, direction)

    def label(self, size: Size) -> str:
        return " ".join([f"{name}={number}" for name, number in zip(self.axes.split(), size, strict=True)])
