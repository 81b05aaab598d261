"""The table of PyTorch's operations, by name, and of the functions that are lowered whole.

A lowering takes traced arrays in place of tensors, under the names that the operation has for its arguments, and gives
a traced array or several, in order; None stands for a result that is not computed. It is written with the functions of
NumPy. The modules ``of_…`` are its rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ricci.caches import lazy, once
from ricci.errors import InvariantError

MODULES = "of_entries of_activations of_reductions of_order of_shapes of_places of_products of_windows of_layers "
MODULES += "of_losses of_matrices of_making of_transforms of_complex"

Array = Any  # a traced array, whose operators and methods are put there when its module is run


@dataclass(frozen=True)
class AtenRow:
    """An operation, or a function as a whole."""

    name: str
    lower: Callable[..., Any]
    group: str
    known: tuple[str, ...] = ()  # arguments whose values decide shapes, and are taken from tensors made here
    said: Callable[..., Any] | None = None

    @lazy
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.lower)


OPERATIONS: dict[str, AtenRow] = {}
WHOLE: dict[Any, AtenRow] = {}


def lowers(*names: str, known: tuple[str, ...] = ()) -> Callable[[Callable], Callable]:
    """Puts a lowering into the table, for one or several operations."""

    def put(lower: Callable) -> Callable:
        rows(lower.__module__, {" ".join(names): lower}, known)
        return lower

    return put


def rows(module: str, lowerings: dict[str, Callable[..., Any]], known: tuple[str, ...] = ()) -> None:
    """Puts several into the table, listed with a module, by the names of operations, separated by spaces.

    Parameters have the names that the operation has for them; the first ones, without defaults, may have others.
    """
    group = module.rpartition(".")[2]
    for names, lower in lowerings.items():
        for name in names.split():
            if name in OPERATIONS:
                raise InvariantError(f"The operation {name} of PyTorch has two rows, one of them in {group}.")
            OPERATIONS[name] = AtenRow(name, lower, group, known)


def whole(
    name: str, *functions: Any, known: tuple[str, ...] = (), said: Callable[..., Any] | None = None
) -> Callable[[Callable], Callable]:
    """The same for functions that are not taken apart; None stands for one that this PyTorch lacks.

    ``said`` gives shapes and types of the results where the function, without data, cannot.
    """

    def put(lower: Callable) -> Callable:
        row = AtenRow(name, lower, lower.__module__.rpartition(".")[2], known, said)
        WHOLE.update({function: row for function in functions if function is not None})
        return lower

    return put


@once
def _fill() -> None:
    for module in (*MODULES.split(), "of_rows"):  # and what has a row of its own needs no other
        import_module(f"ricci.tracing.pytorch.{module}")


def operations() -> dict[str, AtenRow]:
    """The rows of operations, by name."""
    _fill()
    return OPERATIONS


def whole_rows() -> dict[Any, AtenRow]:
    """The rows of functions, by the function."""
    _fill()
    return WHOLE
