"""rearrange, reduce and repeat: one array, moved as :mod:`ricci.einops.moves` plans it.

Each looks a call up in its table by the type of the array, the pattern and the sizes that were given; what is not there
goes to :func:`ricci.einops.driver.first`. The three lookups are written out, since they are most of what a call costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ricci.checked_calls import MISSING, told_late, unfit
from ricci.einops.backends import Code, as_torch, is_traced, traced_beside_torch
from ricci.einops.backends.base import Backend, Run
from ricci.einops.blocks import rearrange_many
from ricci.einops.driver import (
    MOST_CALLS,
    TASKS,
    Planned,
    Request,
    Task,
    by_shape,
    first,
    in_context,
    plain_kinds,
    stacked,
)
from ricci.einops.grammar import ELLIPSIS, check_text
from ricci.einops.labels import wrong_order
from ricci.einops.moves import CALLABLE, Moves, Recipe, apply, compiled, guarded, moves, of_something, recipe_of
from ricci.einops.watch import CallCache
from ricci.errors import EinopsError
from ricci.wrapping import known_as


class OneArray(Task):
    """rearrange, reduce or repeat, in einops' language or in the wider one; its options are a name and a function."""

    alone = True

    def __init__(self, title: str, wide: bool) -> None:
        super().__init__(f"{title}, in the wider language" if wide else title, title)
        self.wide = wide
        self.recent = CallCache("latest calls by patterns", MOST_CALLS)

    def read(self, pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], operation: str) -> Recipe:
        return recipe_of(pattern, operation, names, ndims[0], self.wide)

    def plan(self, backend: Backend, reading: Recipe, shapes: Sequence[tuple], sizes: list, options: tuple) -> Moves:
        return moves(reading, sizes)

    def function(self, backend: Backend, kinds: Sequence[type], plan: Moves, options: tuple, plain: bool) -> Callable:
        operation, function = options
        if plain or function is not None:
            return of_something(lambda x: apply(backend, x, plan, operation, function), operation)
        return compiled(backend, plan, operation, kinds[0])

    def shortcut(self, call: Request, shapes: tuple[tuple, ...], made: Planned) -> Callable:
        backend, (kind,), (shape,), sizes = call.backend, call.kinds, shapes, call.sizes
        recipe = self.read(call.pattern, (len(shape),), tuple(sizes), call.options[0])
        if recipe.shapeless and ELLIPSIS not in call.pattern:
            return _of_order(made.run, made.plan, backend, kind, call.pattern, len(shape))
        others = by_shape(call, shapes, made.run)
        return guarded(backend, made.plan, made.run, kind, shape, others) if backend.concrete(kind) else others

    def keep(self, key: tuple, call: Request, run: Callable) -> None:
        super().keep(key, call, run)
        if call.sizes and min(call.sizes.values()) > 1:  # True equals 1 and must not find it
            found = (call.pattern, call.operation) if self.title == "reduce" else call.pattern
            self.recent.keep(found, (call.kinds[0], {**call.sizes}, run))

    def first(self, tensor: Any, pattern: str, operation: Any, lengths: Mapping[str, Any], key: Any = None) -> Any:
        """A call that the table does not know."""
        options = options_of(operation)
        if not isinstance(tensor, list):
            return first(self, (tensor,), pattern, lengths, options, key)
        check_text(pattern)
        if traced_beside_torch(tensor):
            return as_torch(self.first, tensor, pattern, operation, lengths)
        return first(self, (stacked(tensor, self.title, pattern),), pattern, lengths, options, None, tensor)


def one_array(operation: Any) -> OneArray:
    """The task of an operation, a reduction being one by name or a function, in einops' language."""
    found = TASKS[operation if operation in ("rearrange", "repeat") else "reduce"]
    assert isinstance(found, OneArray)
    return found


def options_of(operation: Any) -> tuple[str, Callable | None]:
    """An operation by name, or a reduction by a function of an array and axes."""
    if operation.__class__ is str:
        return operation, None
    if not callable(operation):
        raise EinopsError(f"A reduction is a name or a function of an array and axes, not {operation!r}.")
    return CALLABLE, operation


def _of_order(run: Run, todo: Moves, backend: Backend, kind: type, pattern: str, ndim: int) -> Run:
    """``run``, for arrays with this number of axes only; moves that are one call are made here, for speed."""
    permutation, transpose = todo.permutation, backend.movers(kind)[1]

    def other(x: Any) -> Any:
        raise in_context(wrong_order(pattern, ndim, x.ndim), [x.shape], {})

    if todo.reduced is not None:
        return lambda x: run(x) if x.ndim == ndim else other(x)
    if permutation is None:
        return lambda x: x if x.ndim == ndim else other(x)
    return lambda x: transpose(x, permutation) if x.ndim == ndim else other(x)


def key_of(kind: type, pattern: Any, operation: Any, lengths: Mapping[str, Any]) -> tuple | None:
    """What a call is looked up by; None if the sizes are not all plain integers."""
    key: list[Any] = [kind, pattern, operation]
    for name, size in lengths.items():
        if size.__class__ is not int:
            return None
        key += (name, size)
    return tuple(key) if pattern.__class__ is str and operation.__class__ is str else None


def _module(wide: bool) -> str:
    """Where a function is found by its name, also from other processes."""
    return __name__.partition(".")[0] if wide else __name__


def make_rearrange(wide: bool) -> Callable:
    """rearrange, in einops' language or in the wider one."""
    task, title = OneArray("rearrange", wide), f"{'rc' if wide else 'einops'}.rearrange"
    calls, plain, recent, nothing = task.calls.known, plain_kinds.known, task.recent.known, (None, None, None)

    @known_as(_module(wide), "rearrange")
    @told_late
    def rearrange(tensor: Any, pattern: str, *more: Any, **axes_lengths: Any) -> Any:
        """Reorder, split and merge the axes of an array, as the pattern says; a view where that can be.

        >>> import numpy as np
        >>> images = np.zeros((32, 30, 40, 3))
        >>> rearrange(images, "b h w c -> b c h w").shape
        (32, 3, 30, 40)
        >>> rearrange(images, "b (h p) (w q) c -> b h w (p q c)", p=10, q=10).shape
        (32, 3, 4, 300)

        A list of arrays of one shape is taken as an array with a new first axis.
        """
        kind = type(tensor)
        if kind in plain or (is_traced(kind) and not Code.is_compiling()):
            try:
                if not axes_lengths:
                    run = calls.get((kind, pattern))
                else:  # compared with the sizes of the latest first call; 2.0 equals 2, and is told apart by the sum
                    latest, sizes, run = recent.get(pattern, nothing)
                    if kind is not latest or axes_lengths != sizes or sum(axes_lengths.values()).__class__ is not int:
                        run = calls.get(key_of(kind, pattern, "rearrange", axes_lengths))
            except (TypeError, ValueError):  # not a pattern, or sizes that are no numbers
                run = None
            if run is not None and not more:
                return run(tensor)
        if more or pattern is MISSING:
            raise unfit(title, rearrange, (tensor, pattern, *more), axes_lengths, f'{title}(x, "i j -> j i")')
        if wide and pattern.__class__ is str and ("," in pattern or "+" in pattern):
            return rearrange_many(tensor, pattern, axes_lengths)
        key = key_of(kind, pattern, "rearrange", axes_lengths) if axes_lengths else (kind, pattern)
        return task.first(tensor, pattern, "rearrange", axes_lengths, key)

    return rearrange


def make_repeat(wide: bool) -> Callable:
    """repeat, in einops' language or in the wider one."""
    task, title = OneArray("repeat", wide), f"{'rc' if wide else 'einops'}.repeat"
    calls, plain = task.calls.known, plain_kinds.known

    @known_as(_module(wide), "repeat")
    @told_late
    def repeat(tensor: Any, pattern: str, *more: Any, **axes_lengths: Any) -> Any:
        """Repeat the entries of an array along axes that are new on the right.

        >>> import numpy as np
        >>> repeat(np.arange(3), "i -> (i twice)", twice=2)
        array([0, 0, 1, 1, 2, 2])
        >>> repeat(np.arange(3), "i -> 2 i").shape
        (2, 3)
        """
        kind = type(tensor)
        key = key_of(kind, pattern, "repeat", axes_lengths)
        if kind in plain or (is_traced(kind) and not Code.is_compiling()):
            run = calls.get(key)
            if run is not None and not more:
                return run(tensor)
        if more or pattern is MISSING:
            raise unfit(title, repeat, (tensor, pattern, *more), axes_lengths, f'{title}(x, "i j -> i j 2")')
        return task.first(tensor, pattern, "repeat", axes_lengths, key)

    return repeat


def make_reduce(wide: bool) -> Callable:
    """reduce, in einops' language or in the wider one."""
    task, title = OneArray("reduce", wide), f"{'rc' if wide else 'einops'}.reduce"
    calls, plain, recent, nothing = task.calls.known, plain_kinds.known, task.recent.known, (None, None, None)

    @known_as(_module(wide), "reduce")
    @told_late
    def reduce(tensor: Any, pattern: str, reduction: Any, *more: Any, **axes_lengths: Any) -> Any:
        """Reduce an array over the axes that are not on the right: by name, or by a function of an array and axes.

        >>> import numpy as np
        >>> image = np.arange(24.0).reshape(4, 6)
        >>> reduce(image, "(h 2) (w 3) -> h w", "max")
        array([[ 8., 11.],
               [20., 23.]])
        """
        kind = type(tensor)
        if kind in plain or (is_traced(kind) and not Code.is_compiling()):
            try:
                if not axes_lengths:
                    run = calls.get((kind, pattern, reduction)) if reduction.__class__ is str else None
                else:  # as in rearrange
                    latest, sizes, run = recent.get((pattern, reduction), nothing)
                    if kind is not latest or axes_lengths != sizes or sum(axes_lengths.values()).__class__ is not int:
                        run = calls.get(key_of(kind, pattern, reduction, axes_lengths))
            except (TypeError, ValueError):  # not a pattern, or sizes that are no numbers
                run = None
            if run is not None and not more:
                return run(tensor)
        if more or pattern is MISSING or reduction is MISSING:
            raise unfit(
                title, reduce, (tensor, pattern, reduction, *more), axes_lengths, f'{title}(x, "i j -> i", "sum")'
            )
        return task.first(tensor, pattern, reduction, axes_lengths, key_of(kind, pattern, reduction, axes_lengths))

    return reduce


rearrange, repeat, reduce = make_rearrange(False), make_repeat(False), make_reduce(False)
wide_rearrange, wide_repeat, wide_reduce = make_rearrange(True), make_repeat(True), make_reduce(True)
