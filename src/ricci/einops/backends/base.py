"""What a kind of array can do: the few operations that all functions on patterns are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any

from ricci.errors import EinopsRefusal

Run = Callable[[Any], Any]


class Backend:
    """The operations, by the methods that most kinds of array have; subclasses say where theirs differ."""

    name = ""
    traced = False  # whether its arrays are also met while a framework compiles the code that handles them
    symbolic = True  # whether sizes may be symbols
    chains = False  # whether it makes one program of several native calls
    direct = True  # whether a call on an array can be kept as a function of native calls
    renames = False  # whether its arrays have the names that a pattern calls their axes by
    # What a kind that is not computed with by native calls does in its own way: formulas do.
    contract: Any = None
    elementwise: Any = None
    gather: Any = None
    scatter: Any = None
    xp: Any  # the module with its functions

    def accepts(self, x: Any) -> bool:
        raise NotImplementedError

    def recording(self) -> bool:
        """Whether a program is being recorded now, so that sizes may be symbols."""
        return False

    def concrete(self, kind: type) -> bool:
        """Whether the shapes of arrays of this type are numbers always, and cheap to compare."""
        return False

    def shape(self, x: Any) -> tuple:
        return tuple(x.shape)

    def reshape(self, x: Any, shape: Sequence) -> Any:
        return x.reshape(shape)

    def transpose(self, x: Any, axes: Sequence[int]) -> Any:
        return x.transpose(axes)

    def reduce(self, x: Any, name: str, axes: tuple[int, ...]) -> Any:
        if name == "mean":
            self.check_mean(x)
        made = _MADE.get(name)
        return made(self, x, axes) if made else self.native_reduce(x, name, axes)

    def native_reduce(self, x: Any, name: str, axes: tuple[int, ...]) -> Any:
        return getattr(x, name)(axis=axes)

    def expand(self, x: Any, shape: Sequence) -> Any:
        return self.xp.broadcast_to(x, shape)

    def stack(self, xs: Sequence) -> Any:
        return self.xp.stack(xs)

    def concat(self, xs: Sequence, axis: int) -> Any:
        return self.xp.concatenate(xs, axis=axis)

    def slice(self, x: Any, axis: int, start: Any, stop: Any) -> Any:
        return x[(slice(None),) * axis + (slice(start, stop),)]

    def is_float(self, x: Any) -> bool:
        return "float" in str(x.dtype)

    def quiet(self) -> AbstractContextManager:
        """Without warnings of infinities."""
        return nullcontext()

    def to_numpy(self, x: Any) -> Any:
        import numpy

        return numpy.asarray(x)

    def split(self, x: Any, parts: Sequence[Sequence]) -> Any:
        """Each axis as the product of axes of these sizes; none for an axis of size 1 that goes."""
        return self.reshape(x, tuple([size for sizes in parts for size in sizes]))

    def merge(self, x: Any, counts: Sequence[int], shape: tuple) -> Any:
        """Axes that are each the product of so many neighbours, 0 for a new one of size 1: together, of this shape."""
        return self.reshape(x, shape)

    def lift(self, x: Any) -> Any:
        """A number as an array; arrays as they are."""
        return x if hasattr(x, "shape") else self.xp.asarray(x)

    def together(self, xs: Sequence[Any]) -> list[Any]:
        """Arrays of several kinds and numbers, as they can stand beside one another here."""
        return [self.lift(x) for x in xs]

    def names(self, x: Any) -> Sequence[str | None] | None:
        """The names of its axes that an array carries, if any."""
        return None

    def named(self, x: Any, names: Sequence[str | None]) -> Any:
        """The array with names for its axes, where it can carry them."""
        return x

    def unnamed(self, x: Any) -> Any:
        """The array without its names, so that what it is computed by does not meet them."""
        return x

    def unless_named(self, run: Callable, slow: Callable) -> Callable:
        """A function that is kept for calls to come: ``run``, and ``slow`` for arrays that carry names."""
        return run

    def movers(self, kind: type) -> tuple[Callable, Callable]:
        """reshape and transpose for arrays of exactly this type, as directly callable as can be."""
        return self.reshape, self.transpose

    def chain(self, run: Run, kind: type) -> Run:
        """A function of several native calls, made one where that is faster."""
        return run

    def reducer(self, name: str, kind: type) -> Callable[[Any, tuple[int, ...]], Any]:
        """The reduction as a function of an array and axes."""
        return lambda x, axes: self.reduce(x, name, axes)

    def contraction(self, kinds: Sequence[type], equation: str, *labels: Any) -> Callable:
        """einsum for arrays of these types; ``labels`` are those of the arrays and of the result, and their sizes."""
        native = self.xp.einsum
        return lambda *xs: native(equation, *xs)

    def einsum_of(self, kinds: Sequence[type], equation: str, planned: Callable) -> Callable:
        """einsum for arrays of any shape; ``planned`` does the same and looks at the shapes first."""
        return self.contraction(kinds, equation) if hasattr(self.xp, "einsum") else planned

    def repeater(self, units: tuple, expanded: tuple, merged: tuple | None, kind: type) -> Run:
        """What puts new axes into an array, ``units`` where they have size 1, and merges them if they are merged."""

        def repeat(x: Any) -> Any:
            x = self.expand(self.reshape(x, units), expanded)
            return x if merged is None else self.reshape(x, merged)

        return repeat

    def check_mean(self, x: Any) -> None:
        if not self.is_float(x):
            raise EinopsRefusal(
                f"reduce_mean is not available for non-floating tensors; this one is of {x.dtype}.",
                hint="Make it floating first, for instance x.astype(float).",
            )


def _logsumexp(backend: Backend, x: Any, axes: tuple[int, ...]) -> Any:
    xp, x = backend.xp, _floating(backend, x)
    if any(x.shape[axis] == 0 for axis in axes):
        return xp.sum(x, axis=axes) - float("inf")
    top = xp.max(x, axis=axes, keepdims=True)
    top = xp.where(xp.isfinite(top), top, xp.zeros_like(top))
    with backend.quiet():  # the logarithm of 0 is what is wanted of entries that are all minus infinity
        return xp.log(xp.sum(xp.exp(x - top), axis=axes)) + xp.reshape(top, xp.sum(x, axis=axes).shape)


def _norm(backend: Backend, x: Any, axes: tuple[int, ...]) -> Any:
    return backend.xp.sqrt(backend.xp.sum(backend.xp.abs(_floating(backend, x)) ** 2, axis=axes))


def _floating(backend: Backend, x: Any) -> Any:
    """Squares and differences of short integers do not fit into their type."""
    return x if backend.is_float(x) or "complex" in str(x.dtype) else x * 1.0


def _place(name: str) -> Callable:
    """argmax and argmin: the place among all reduced axes together, in the order of the pattern."""

    def place(backend: Backend, x: Any, axes: tuple[int, ...]) -> Any:
        kept = [axis for axis in range(len(x.shape)) if axis not in axes]
        x = backend.transpose(x, [*kept, *axes])
        flat = backend.reshape(x, (*x.shape[: len(kept)], prod(x.shape[len(kept) :])))
        return getattr(backend.xp, name)(flat, axis=len(kept))

    return place


# Reductions beyond those of einops, made of what every backend has.
_MADE: dict[str, Callable[[Backend, Any, tuple[int, ...]], Any]] = {
    "logsumexp": _logsumexp,
    "norm": _norm,
    "argmax": _place("argmax"),
    "argmin": _place("argmin"),
}
