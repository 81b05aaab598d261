"""Fused kernels: a loop over rows as one function, compiled by Numba.

Plain NumPy runs the steps of a loop one after the other on blocks of rows. A kernel runs all of them on one row, or on
a few, in as few passes as the sums among them allow: what is between two steps stays in registers, and results are
written where they belong. ``nodes`` says what is computed, ``passes`` in which passes, ``source``
writes them down, ``scalars`` has the functions.

Results of a kernel that are alike lie in one block of memory, of which each is a view; ``memory`` keeps large blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

from ricci.caches import LOCKS, once
from ricci.compiler.backends.numpy_table import dtypes_of
from ricci.compiler.fused.entries import Entries, fusable
from ricci.compiler.fused.kernel_files import KernelFile
from ricci.compiler.fused.kernel_source import KernelWriter
from ricci.compiler.fused.memory import Group, Shelf
from ricci.compiler.plan.loops import Loop
from ricci.compiler.plan.program_steps import Value
from ricci.errors import MissingPackageError

Array = np.ndarray


class FarError(Exception):
    """An angle is too large for the kernel's functions; plain NumPy is to be used."""


COMPILED = {"kernels": 0}  # in this process, each of which leaves about 1 MB in Numba for good
LOWEST = (0, 62)  # before, LLVM ends the process where it meets minimum and maximum of floats


@once
def found() -> str | None:
    """The version of Numba, if it is installed."""
    return version("numba") if find_spec("numba") is not None else None


def installed() -> bool:
    """Whether there is a Numba that can compile kernels."""
    number = found()
    return number is not None and tuple([int(part) for part in number.split(".")[:2]]) >= LOWEST


def require_numba() -> None:
    if not installed():
        state = "not installed" if found() is None else f"installed as {found()}"
        lowest = ".".join(map(str, LOWEST))
        raise MissingPackageError(
            f'fused=True needs Numba {lowest} or later, which is {state}: pip install "ricci[fast]".'
        )


class ResultBlock:
    """Where the results of one group are written, and how they are taken apart."""

    def __init__(self, group: Group, dtype: np.dtype):
        self.shelf = Shelf(group.block, dtype)
        self.take = self.shelf.take
        self.single = len(group.members) == 1 and bool(group.shape)
        self.rows = group.shape[0] if group.pad else None

    def parts(self, block: Array) -> tuple[Any, ...]:
        """The results in a block, which goes back to the shelf, where it is safe as long as there is one of them."""
        if self.single:
            results = (block[:] if self.shelf.kept else block,)
        else:
            results = tuple(block if self.rows is None else block[:, : self.rows])
        self.shelf.give(block)
        return results


@dataclass(eq=False)
class Kernel:
    """A loop as one function. It takes ``arguments`` and gives ``results``, in these orders."""

    source: str
    arguments: list[Value]
    results: list[Value]
    groups: list[Group]
    dtype: np.dtype
    constants: dict[str, Any] = field(repr=False)
    far: bool
    _made: Callable[..., tuple[Any, ...]] | None = field(default=None, repr=False)

    @property
    def function(self) -> Callable[..., tuple[Any, ...]]:
        """The compiled function; compiled when it is asked for the first time."""
        with LOCKS.compiling:
            if self._made is None:
                self._made = self._launch(self._compiled())
        return self._made

    def _compiled(self) -> Callable[..., Any]:
        import numba

        names: dict[str, Any] = {"__builtins__": {}, "__name__": __name__}
        exec(compile(self.source, "<ricci kernel>", "exec"), names)
        kinds = dtypes_of(self.dtype)

        def array(kind: str, order: int, readonly: bool) -> Any:
            return numba.types.Array(numba.from_dtype(kinds[kind]), order, "C", readonly=readonly)

        out = [array(group.kind, len(group.block), False) for group in self.groups]
        given = [
            array(v.kind, len(v.shape), True) if v.shape else numba.from_dtype(kinds[v.kind]) for v in self.arguments
        ]
        result = numba.types.boolean if self.far else numba.types.none
        options = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
        signature = result(*out, *given)
        made = numba.njit(**options)(names["kernel"])
        file = KernelFile(made, self.source, sorted(self.constants.items()), str(signature))
        if not file.load():
            from ricci.compiler.fused.kernel_names import scope_of

            names.update(scope_of(self.source, self.dtype), **self.constants)
            made.compile(signature)
            COMPILED["kernels"] += 1
            file.save()
        made.disable_compile()
        return made

    def _launch(self, run: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
        """The function as it is called: with memory for the results, and operands that lie as they should."""
        kinds = dtypes_of(self.dtype)
        blocks = [ResultBlock(group, kinds[group.kind]) for group in self.groups]
        whole = [bool(v.shape) for v in self.arguments]

        def settled(args: Sequence[Any]) -> list[Any]:
            return [np.require(a, requirements=["C", "A"]) if w else a for a, w in zip(args, whole, strict=True)]

        def launch(*args: Any) -> tuple[Any, ...]:
            memory = [block.take() for block in blocks]
            try:
                far = run(*memory, *args)
            except TypeError:  # an operand that is not aligned
                far = run(*memory, *settled(args))
            if far:
                raise FarError
            return tuple([part for block in blocks for part in block.parts(memory.pop(0))])

        return launch


def kernel(loop: Loop, dtype: np.dtype) -> Kernel | None:
    """The kernel of a loop; none if it has a step that kernels cannot do."""
    if dtype.name not in ("float64", "float32"):
        return None
    if not all(fusable(step) for step in loop.steps):
        return None
    writer = KernelWriter(Entries(loop), dtype)
    source = writer.source()
    results = [value for group in writer.groups for value in group.members]
    return Kernel(source, loop.operands, results, writer.groups, dtype, writer.constants, writer.far)
