"""Traced arrays and eager tensors, by the functions of ``ricci.numpy``, which know what each of them does.

Other arrays may stand beside them. Beside a traced array they take part in the trace, tensors too: they are inputs
whose contents are read at each call, and not what they hold while the function is traced. Beside a tensor they are
plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ricci.einops.backends.namespaces import NamespaceBackend
from ricci.einops.backends.numpy_arrays import with_numbers
from ricci.kinds import as_numpy, kind_of

KINDS = ("traced", "tensor")


class OperandBackend(NamespaceBackend):
    """Arrays that remember how they were computed."""

    name = "ricci"

    def accepts(self, x: Any) -> bool:
        return kind_of(x) in KINDS

    def together(self, xs: Sequence[Any]) -> list[Any]:
        xs = with_numbers(xs)
        if any(kind_of(x) == "traced" for x in xs):
            return [x if kind_of(x) == "traced" else self.xp.asarray(x) for x in xs]
        return [x if kind_of(x) == "tensor" else as_numpy(x, "An array beside a tensor") for x in xs]

    def to_numpy(self, x: Any) -> Any:
        return x.numpy() if kind_of(x) == "tensor" else x.__array__()

    def native_reduce(self, x: Any, name: str, axes: tuple[int, ...]) -> Any:
        return getattr(self.xp, name)(x, axes)  # by position, which is the short way of tensors

    # Names of axes

    def names(self, x: Any) -> tuple[str | None, ...] | None:
        names = x.axes if kind_of(x) in KINDS else ()
        return names if any(names) else None

    def named(self, x: Any, names: Sequence[str | None]) -> Any:
        return x if kind_of(x) != "tensor" or x.axes == tuple(names) else x.rename(tuple(names))

    def unnamed(self, x: Any) -> Any:
        return x.rename((None,) * len(x.shape)) if kind_of(x) == "tensor" else x

    def unless_named(self, run: Callable, slow: Callable) -> Callable:
        """``run`` for tensors without names; ``slow`` looks at those that have some."""

        def chosen(*xs: Any) -> Any:
            for x in xs:
                if getattr(x, "_named", False) and self.names(x) is not None:
                    return slow(*xs)
            return run(*xs)

        return chosen
