"""Functions that are made of others, and how they travel to other processes.

A function that was made by decorating one, ``@rc.grad``, stands in its module under the name of that, and travels as
Python's functions do: by this name. Any other travels by what it is made of. What was compiled for it stays behind, and
is made anew where it is called.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ricci.errors import InputError
from ricci.markup import Carded, code

F = TypeVar("F", bound=Callable[..., Any])


class MadeOf(Carded):
    """A function made of another: it has its name, is a method where it stands in a class, and travels."""

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., Any]):
        functools.update_wrapper(self, function, updated=())  # type: ignore[arg-type]
        self.function = function

    def told(self) -> Iterable[tuple[str, str]]:
        """The function that it is made of: how that is called, and what it says of itself."""
        import inspect  # only notebooks ask for it

        try:
            called = str(inspect.signature(self.function))
        except (TypeError, ValueError):  # of some that are not Python's
            called = "(…)"
        first = next(iter((inspect.getdoc(self.function) or "").strip().splitlines()), "")
        return [
            ("function", code(f"{getattr(self.function, '__name__', repr(self.function))}{called}")),
            ("says", first),
        ]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)  # type: ignore[arg-type]

    def __reduce_ex__(self, protocol: Any) -> Any:
        asking = sys._getframe(1).f_globals.get("__name__", "")  # who copies or pickles
        by_value = "cloudpickle" in asking or "dill" in asking  # they take functions of __main__ along, and lambdas
        if _stands_in_its_module(self) and not (by_value and self.__module__ == "__main__"):
            return self.__qualname__
        name = getattr(self.function, "__qualname__", "")
        if "<" in name and not by_value and asking not in ("copy", "pickle"):
            raise InputError(
                f"{self!r} is made of {name}, a function without a name in its module, which pickle cannot find again "
                "in another process. Write it with def, outside of other functions; or pickle with cloudpickle."
            )
        return super().__reduce_ex__(protocol)


def _stands_in_its_module(made: Any) -> bool:
    """Whether a module has this very object under its name."""
    found: Any = sys.modules.get(getattr(made, "__module__", None) or "")
    for name in getattr(made, "__qualname__", "").split("."):
        found = getattr(found, name, None)
    return found is made


def known_as(module: str, name: str) -> Callable[[F], F]:
    """A decorator of functions made inside others: the module and the name by which all find it."""

    def decorate(function: F) -> F:
        function.__module__, function.__name__, function.__qualname__ = module, name, name
        return function

    return decorate
