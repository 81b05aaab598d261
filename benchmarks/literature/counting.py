"""What is counted of a program: steps and entries of its plan, Python calls to make it, arrays of NumPy's own run.

Counts are the same on every machine, so tests rest on them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

import ricci as rc
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import VIEWS, Value

TRANSFORMS: dict[str, Callable[..., Any]] = {
    "value": rc.compile,
    "grad": rc.grad,
    "hvp": rc.hvp,
    "hessian": rc.hessian,
    "diagonal": rc.hessian_diagonal,
}


@dataclass(frozen=True)
class Count:
    """Operations, the entries that they make, those that they read or make, and those of the largest array made.

    What is read counts, since a product of a matrix and a vector is as much work as one of two vectors is.
    """

    steps: int
    entries: int
    touched: int
    largest: int

    @classmethod
    def of(cls, operations: Sequence[tuple[int, int]]) -> Count:
        """Of what each operation reads and makes."""
        made = [out for _, out in operations]
        return cls(len(made), sum(made), sum([read + out for read, out in operations]), max(made, default=0))


def counted(program: Program) -> Count:
    """Of a program: views make nothing."""
    steps = [step for step in program.steps if step.op not in VIEWS]
    return Count.of([(sum([value.entries for value in step.operands]), step.out.entries) for step in steps])


def around(program: Program) -> int:
    """The entries of the largest of the inputs and results."""
    inputs = [value.entries for value in program.inputs.values()]
    results = [math.prod(result.shape) for result in program.results if isinstance(result.value, Value)]
    return max([*inputs, *results], default=0)


def plan_of(kind: str, function: Callable[..., Any], args: tuple) -> tuple[Plan, Any]:
    """The plan that a call of a transform runs, and its result; ``args`` end with the direction where there is one."""
    transformed = TRANSFORMS[kind](function, roll=False)  # a loop that is rolled up is one step, whatever it does
    result = transformed(*args)
    version = transformed.program(transformed.arguments(args, {}))
    return version.compiled.plan, result


def calls_of(work: Callable[[], Any]) -> int:
    """How many Python functions are called."""
    number = 0

    def see(frame: Any, event: str, arg: Any) -> None:
        nonlocal number
        number += event == "call"

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return number


# NumPy's own run


class Watched(numpy.ndarray):
    """An array of which all that is computed is counted: what was read and made; views are not."""

    operations: list[tuple[int, int]]

    def __array_finalize__(self, source: Any) -> None:
        self.operations = getattr(source, "operations", [])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain, read = unwatched(inputs)
        return self._seen(getattr(ufunc, method)(*plain, **options), read)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        (args, kwargs), read = unwatched((args, kwargs))
        return self._seen(function(*args, **kwargs), read)

    def __getitem__(self, index: Any) -> Any:
        (index,), read = unwatched((index,))
        result = self.view(numpy.ndarray)[index]
        return self._seen(result, read + numpy.size(result))

    def _seen(self, result: Any, read: int) -> Any:
        if isinstance(result, tuple):
            parts = [self._seen(part, read if part is result[0] else 0) for part in result]
            return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
        array = numpy.asarray(result)
        if array.base is None or array.base.nbytes < array.nbytes:
            self.operations.append((read, array.size))
        watched = array.view(Watched)
        watched.operations = self.operations
        return watched


def unwatched(tree: Any) -> tuple[Any, int]:
    """The arguments of an operation as plain arrays, and how many entries they have."""
    read = 0

    def plain(leaf: Any) -> Any:
        nonlocal read
        read += leaf.size if isinstance(leaf, numpy.ndarray) else 0
        return leaf.view(numpy.ndarray) if isinstance(leaf, Watched) else leaf

    return rc.tree_map(plain, tree), read


def numpys_own(function: Callable[..., Any], args: tuple) -> Count:
    """What NumPy does when it runs a function of NumPy."""
    operations: list[tuple[int, int]] = []

    def watched(value: Any) -> Any:
        if not isinstance(value, numpy.ndarray):
            return value
        array = value.view(Watched)
        array.operations = operations
        return array

    function(*rc.tree_map(watched, args))
    return Count.of(operations)
