"""What a kind of array can do: the few operations that all functions on patterns are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any

from ricci.einops.recipes import Moves, Recipe
from ricci.errors import EinopsRefusal, EinopsValueError

Run = Callable[[Any], Any]


class Backend:
    """The operations, by the methods that most kinds of array have; subclasses say where theirs differ."""

    name = ""
    traced = False  # whether its arrays are also met while a framework compiles the code that handles them
    symbolic = True  # whether sizes may be symbols
    chains = False  # whether it makes one program of several native calls
    direct = True  # whether a call on an array can be kept as a function of native calls
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

    def merge(self, x: Any, counts: Sequence[int]) -> Any:
        """As many axes as there are counts, each the product of that many neighbours; 0 for a new one of size 1."""
        sizes, start = [], 0
        for count in counts:
            sizes.append(prod(x.shape[start : start + count]))
            start += count
        return self.reshape(x, tuple(sizes))

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

    def repeater(self, moves: Moves, kind: type) -> Run:
        """What puts new axes into an array, and merges them where they are to be merged."""
        units, expanded, merged = moves.units, moves.expanded, moves.merged
        assert units is not None and expanded is not None

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


def apply(backend: Backend, x: Any, todo: Moves, operation: str, function: Callable | None = None) -> Any:
    """Carry out the moves one by one; the plain way, which tracing frameworks follow too."""
    if todo.split is not None:
        x = backend.reshape(x, todo.split)
    permutation = todo.permutation
    if todo.reduced is not None:
        if function is None:
            x = backend.reduce(x, operation, todo.reduced)
        else:
            x, permutation = _by_function(backend, x, todo, function), None
    if permutation is not None:
        x = backend.transpose(x, permutation)
    if todo.units is not None and todo.expanded is not None:
        x = backend.expand(backend.reshape(x, todo.units), todo.expanded)
    return x if todo.merged is None else backend.reshape(x, todo.merged)


def apply_by_axes(
    backend: Backend, x: Any, recipe: Recipe, sizes: Sequence[Any], operation: str, function: Callable | None = None
) -> Any:
    """As :func:`apply`, for arrays whose shapes may be symbols: axes are split, added and merged by name."""
    x = backend.split(x, [[sizes[k] for k in group] for group in recipe.groups])
    if recipe.reduced and not recipe.groups:
        x = backend.merge(x, (0,))  # a number is reduced along an axis of its own
    todo = Moves(None, recipe.reduced or None, recipe.permutation, None, None, None)
    x = apply(backend, x, todo, operation, function)
    if recipe.expands:
        count = len(recipe.order) + len(recipe.reduced)
        flat = [k for group in recipe.result for k in group]
        x = backend.merge(x, [int(k < count) for k in flat])
        own = backend.shape(x)
        x = backend.expand(x, tuple([own[at] if k < count else sizes[k] for at, k in enumerate(flat)]))
    return backend.merge(x, [len(group) for group in recipe.result]) if recipe.merges else x


def _by_function(backend: Backend, x: Any, todo: Moves, function: Callable) -> Any:
    """A user's reduction is given the axes in their final order, the ones to be reduced last."""
    reduced = todo.reduced or ()
    kept = [axis for axis in range(len(x.shape)) if axis not in reduced]
    order = kept if todo.permutation is None else [kept[k] for k in todo.permutation]
    whole = [*order, *reduced]
    if whole != list(range(len(whole))):
        x = backend.transpose(x, whole)
    return function(x, tuple(range(len(order), len(whole))))


def guarded(backend: Backend, todo: Moves, made: Run, kind: type, shape: tuple, other: Run) -> Run:
    """``made`` for arrays of this shape, ``other`` for the rest; what is commonest is done here, for speed."""
    reshape, transpose = backend.movers(kind)
    split, permutation, merged = todo.split, todo.permutation, todo.merged
    final = merged if merged is not None else split
    if todo.reduced is None and todo.units is None:
        if permutation is None and final is not None:
            return lambda x: reshape(x, final) if x.shape == shape else other(x)
        if split is not None and permutation is not None and merged is not None and not backend.chains:
            return lambda x: (
                reshape(transpose(reshape(x, split), permutation), merged) if x.shape == shape else other(x)
            )
    return lambda x: made(x) if x.shape == shape else other(x)


def compiled(backend: Backend, todo: Moves, operation: str, kind: type) -> Run:
    """A function that makes these moves on arrays of exactly this type, with nothing left to decide."""
    reshape, transpose = backend.movers(kind)
    split, permutation, merged = todo.split, todo.permutation, todo.merged
    if todo.reduced is not None or todo.units is not None:
        return backend.chain(_chained(backend, todo, operation, kind), kind)
    if split is None and permutation is None:
        return (lambda x: x) if merged is None else (lambda x: reshape(x, merged))
    if split is None:
        if merged is None:
            return lambda x: transpose(x, permutation)
        return backend.chain(lambda x: reshape(transpose(x, permutation), merged), kind)
    if permutation is None:
        if merged is None:
            return lambda x: reshape(x, split)
        return lambda x: reshape(x, merged)  # splitting and merging in place is one reshape
    if merged is None:
        return backend.chain(lambda x: transpose(reshape(x, split), permutation), kind)
    return backend.chain(lambda x: reshape(transpose(reshape(x, split), permutation), merged), kind)


def _chained(backend: Backend, todo: Moves, operation: str, kind: type) -> Run:
    """As :func:`compiled`, with a reduction or new axes among the moves."""
    _, transpose = backend.movers(kind)
    before = compiled(backend, Moves(todo.split, None, None, None, None, None), "rearrange", kind)
    if todo.reduced is not None:
        return _reducing(backend, todo, operation, kind, before)
    permutation, repeat = todo.permutation, backend.repeater(todo, kind)
    if permutation is None:
        return repeat if todo.split is None else (lambda x: repeat(before(x)))
    return lambda x: repeat(transpose(before(x), permutation))


def of_something(function: Callable, operation: str) -> Callable:
    """``function`` of an array, with an error that explains where it looks for the largest or smallest of nothing."""
    if operation not in ("max", "min", "argmax", "argmin"):
        return function

    def tried(x: Any, *args: Any) -> Any:
        try:
            return function(x, *args)
        except (ValueError, IndexError) as error:
            if 0 not in x.shape:
                raise
            message = f"There is no {operation} of no entries: the shape is {tuple(x.shape)}."
            raise EinopsValueError(message, hint="Leave empty axes out, or use sum, prod, any or all.") from error

    return tried


def _reducing(backend: Backend, todo: Moves, operation: str, kind: type, before: Run) -> Run:
    reshape, transpose = backend.movers(kind)
    reduce, reduced = of_something(backend.reducer(operation, kind), operation), todo.reduced
    permutation, merged, split = todo.permutation, todo.merged, todo.split
    assert reduced is not None
    if permutation is None and merged is None:
        if split is None:
            return lambda x: reduce(x, reduced)
        return lambda x: reduce(reshape(x, split), reduced)

    def run(x: Any) -> Any:
        x = reduce(before(x), reduced)
        if permutation is not None:
            x = transpose(x, permutation)
        return x if merged is None else backend.reshape(x, merged)  # NumPy's reductions may give a scalar

    return run
