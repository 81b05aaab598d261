"""rearrange, reduce and repeat.

A call looks its arguments up in one table and finds a function of native calls, with nothing left to decide: by the
type of the array, the pattern and the sizes that were given; where the moves depend on the shape, that function looks
the shape up in turn. Only plain integers are looked up, so that 2.0 or True never finds what 2 has made. Everything
else, and everything that is met for the first time, goes to :func:`first_call`.

While a scope watches the axes (:mod:`ricci.scopes`), the table is empty, so that each call is seen; with no scope,
watching costs nothing. ``torch.compile`` reads the Python of a call: it must not see the table, whose changes would
make it compile again, and it must see sizes as symbols, so that one program serves all shapes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ricci.caches import Cache
from ricci.einops.backends import Code, backend_of, compiling, is_traced
from ricci.einops.backends.base import Backend, Run, apply, apply_by_axes, compiled, guarded, of_something
from ricci.einops.naming import carried, check, note, watched
from ricci.einops.patterns import check_text, span_of
from ricci.einops.products import as_torch, of_one_kind, traced_beside_torch
from ricci.einops.recipes import CALLABLE, Moves, Recipe, called, differ, moves, recipe_of, sizes_of, wrong_order
from ricci.errors import EinopsError, EinopsTypeError
from ricci.scopes import watch
from ricci.scopes.watch import CallCache

_MOST = 4096  # calls that are kept
_MOST_SHAPES = 512  # shapes that are kept for a call

# In einops' language, and in the wider one: the functions by call, and the latest call with sizes by pattern.
_calls = {wide: CallCache("calls of rearrange, reduce, repeat", _MOST) for wide in (False, True)}
_recent = {wide: CallCache("latest calls by patterns", _MOST) for wide in (False, True)}
plain_kinds = Cache("types of arrays", _MOST)  # those that are looked up at once


def make_rearrange(wide: bool) -> Callable:
    """rearrange, in einops' language or in the wider one."""
    calls, plain, nothing = _calls[wide].known, plain_kinds.known, (None, None, None)
    recent = _recent[wide].known

    def rearrange(tensor: Any, pattern: str, **axes_lengths: Any) -> Any:
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
                        run = known_call(calls, kind, pattern, "rearrange", axes_lengths)
            except TypeError:  # not a pattern, or sizes that are no numbers
                run = None
            if run is not None:
                return run(tensor)
        return first_call(tensor, pattern, "rearrange", axes_lengths, wide)

    return rearrange


def make_repeat(wide: bool) -> Callable:
    """repeat, in einops' language or in the wider one."""
    calls, plain = _calls[wide].known, plain_kinds.known

    def repeat(tensor: Any, pattern: str, **axes_lengths: Any) -> Any:
        """Repeat the entries of an array along axes that are new on the right.

        >>> import numpy as np
        >>> repeat(np.arange(3), "i -> (i twice)", twice=2)
        array([0, 0, 1, 1, 2, 2])
        >>> repeat(np.arange(3), "i -> 2 i").shape
        (2, 3)
        """
        kind = type(tensor)
        if kind in plain or (is_traced(kind) and not Code.is_compiling()):
            run = known_call(calls, kind, pattern, "repeat", axes_lengths)
            if run is not None:
                return run(tensor)
        return first_call(tensor, pattern, "repeat", axes_lengths, wide)

    return repeat


def make_reduce(wide: bool) -> Callable:
    """reduce, in einops' language or in the wider one."""
    calls, plain = _calls[wide].known, plain_kinds.known

    def reduce(tensor: Any, pattern: str, reduction: Any, **axes_lengths: Any) -> Any:
        """Reduce an array over the axes that are not on the right: by name, or by a function of an array and axes.

        >>> import numpy as np
        >>> image = np.arange(24.0).reshape(4, 6)
        >>> reduce(image, "(h 2) (w 3) -> h w", "max")
        array([[ 8., 11.],
               [20., 23.]])
        """
        kind = type(tensor)
        if kind in plain or (is_traced(kind) and not Code.is_compiling()):
            if reduction.__class__ is not str:
                run = None
            elif axes_lengths:
                run = known_call(calls, kind, pattern, reduction, axes_lengths)
            else:
                try:
                    run = calls.get((kind, pattern, (reduction,)))
                except TypeError:  # not a pattern
                    run = None
            if run is not None:
                return run(tensor)
        return first_call(tensor, pattern, reduction, axes_lengths, wide)

    return reduce


rearrange, repeat, reduce = make_rearrange(False), make_repeat(False), make_reduce(False)


def key_of(kind: type, pattern: str, operation: str, lengths: Mapping[str, Any]) -> tuple | None:
    """What a call is looked up by; None if the sizes are not all plain integers."""
    key: list[Any] = [kind, pattern] if operation == "rearrange" else [kind, pattern, (operation,)]
    for name, size in lengths.items():
        if size.__class__ is not int:
            return None
        key += (name, size)
    return tuple(key)


def known_call(calls: dict, kind: type, pattern: str, operation: str, lengths: Mapping[str, Any]) -> Run | None:
    """What the table has for a call."""
    key = key_of(kind, pattern, operation, lengths)
    try:
        return None if key is None else calls.get(key)
    except TypeError:  # not a pattern
        return None


def first_call(tensor: Any, pattern: str, operation: Any, lengths: dict[str, Any], wide: bool) -> Any:
    """A call that the table does not know, or that is being compiled."""
    kind = type(tensor)
    if is_traced(kind) and Code.is_compiling():
        return _recorded(tensor, pattern, operation, lengths, wide)
    check_text(pattern)
    if wide and operation == "rearrange" and ("," in pattern or "+" in pattern):
        from ricci.einops.joining import rearrange_many

        return rearrange_many(tensor, pattern, lengths)
    if isinstance(tensor, list) and traced_beside_torch(tensor):
        return as_torch(first_call, tensor, pattern, operation, lengths, wide)
    if isinstance(tensor, list):
        stacked = _stacked(tensor, operation, pattern)
        if not compiling(stacked) and watch.WATCHERS.get():
            return watched_call(backend_of(stacked), stacked, pattern, operation, lengths, wide, tensor)
        return first_call(stacked, pattern, operation, lengths, wide)
    backend = backend_of(tensor)
    if watched(backend, (tensor,)):
        return watched_call(backend, tensor, pattern, operation, lengths, wide)
    shape = backend.shape(tensor)
    sizes = checked_sizes(lengths, pattern, shape)
    if operation.__class__ is not str:
        return _with_function(backend, tensor, pattern, operation, sizes, wide)
    if not backend.direct or (backend.symbolic and not all_plain(shape)) or not all_plain(sizes.values()):
        return plain_call(backend, tensor, pattern, operation, sizes, wide)
    try:
        recipe = recipe_of(pattern, operation, tuple(sizes), len(shape), wide)
        todo = moves(recipe, shape, tuple(sizes.values()))
    except EinopsError as error:
        raise in_context(error, shape, sizes) from None
    run = compiled(backend, todo, operation, kind)
    result = run(tensor)  # a call that fails leaves nothing behind
    _remember(backend, recipe, todo, kind, shape, sizes, wide, run)
    return result


def all_plain(sizes: Iterable[Any]) -> bool:
    """Whether all are plain integers, and none a symbol of a tracing framework."""
    return {int}.issuperset(map(type, sizes))


def _remember(
    backend: Backend,
    recipe: Recipe,
    todo: Moves,
    kind: type,
    shape: tuple,
    sizes: Mapping[str, int],
    wide: bool,
    run: Run,
) -> None:
    """Put a call where the functions look, unless axes are watched somewhere."""
    key = key_of(kind, recipe.pattern, recipe.operation, sizes)
    pattern, operation = recipe.pattern, recipe.operation
    if recipe.shapeless and "..." not in recipe.pattern:
        run = _of_order(run, todo, backend, kind, recipe)
    else:
        others = _by_shape(backend, recipe, sizes, wide, kind, shape, run)
        run = guarded(backend, todo, run, kind, shape, others) if backend.concrete(kind) else others
    run = backend.unless_named(run, lambda x: first_call(x, pattern, operation, {**sizes}, wide))
    _calls[wide].keep(key, run)
    if recipe.operation == "rearrange" and sizes and min(sizes.values()) > 1:  # True equals 1 and must not find it
        _recent[wide].keep(recipe.pattern, (kind, {**sizes}, run))
    if not backend.traced:
        plain_kinds.keep(kind, True)


def _of_order(run: Run, todo: Moves, backend: Backend, kind: type, recipe: Recipe) -> Run:
    """``run``, for arrays with this number of axes only; moves that are one call are made here, for speed."""
    ndim, permutation, transpose = recipe.ndim, todo.permutation, backend.movers(kind)[1]

    def other(x: Any) -> Any:
        raise in_context(wrong_order(recipe.pattern, ndim, x.ndim), tuple(x.shape), {})

    if todo.reduced is not None:
        return lambda x: run(x) if x.ndim == ndim else other(x)
    if permutation is None:
        return lambda x: x if x.ndim == ndim else other(x)
    return lambda x: transpose(x, permutation) if x.ndim == ndim else other(x)


def _by_shape(
    backend: Backend, recipe: Recipe, sizes: Mapping[str, int], wide: bool, kind: type, met: tuple, known: Run
) -> Run:
    """One function for each shape, made when it is met; ``known`` is that of the shape that was met already."""
    by_shape = Cache("shapes of rearrange, reduce, repeat", _MOST_SHAPES)
    by_shape.keep(met, known)
    shapes = by_shape.known
    pattern, operation, names, values = recipe.pattern, recipe.operation, tuple(sizes), tuple(sizes.values())

    def run(x: Any) -> Any:
        try:
            made = shapes.get(x.shape)
        except TypeError:  # symbols in the shape, which cannot be looked up
            made = None
        return made(x) if made is not None else new(x)

    def new(x: Any) -> Any:
        shape = backend.shape(x)
        try:
            todo = moves(recipe_of(pattern, operation, names, len(shape), wide), shape, values)
        except EinopsError as error:
            raise in_context(error, shape, sizes) from None
        made = compiled(backend, todo, operation, kind)
        if all_plain(shape):
            by_shape.keep(shape, made)
        return made(x)

    return run


def _constant(pattern: str, operation: str, names: tuple[str, ...], ndim: int, wide: bool) -> Recipe:
    return recipe_of(pattern, operation, names, ndim, wide)


# torch.compile does not look into it, but calls it once, while compiling: its arguments are texts and numbers.
_constant._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _recorded(tensor: Any, pattern: str, operation: Any, lengths: dict[str, Any], wide: bool) -> Any:
    """A call in a program that is being compiled: plain steps on sizes that may be symbols."""
    backend, function = backend_of(tensor), None
    if not isinstance(operation, str):
        operation, function = CALLABLE, operation
    recipe = _constant(pattern, operation, tuple(lengths), len(tensor.shape), wide)
    return apply(backend, tensor, moves(recipe, tensor.shape, tuple(lengths.values())), operation, function)


def _stacked(tensors: list, operation: Any, pattern: str) -> Any:
    """A list of arrays of one shape is an array with a new first axis."""
    name = operation if operation in ("rearrange", "repeat") else "reduce"
    if not tensors:
        raise EinopsTypeError(f"Rearrange/Reduce/Repeat can't be applied to an empty list: {name}([], {pattern!r}).")
    tensors = list(of_one_kind(tensors, name))
    backend = backend_of(tensors[0])
    shapes = [backend.shape(tensor) for tensor in tensors]
    for k, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]) or any(map(differ, shape, shapes[0])):
            hint = f"Element 0 has shape {shapes[0]} and element {k} has {shape}; pack and unpack join unequal arrays."
            raise EinopsError(f"The arrays in the list given to {name} must have one shape.", hint=hint)
    return backend.stack(tensors)


def checked_sizes(lengths: Mapping[str, Any], pattern: str, shape: tuple) -> Mapping[str, Any]:
    """As :func:`sizes_given`, with errors that show the shape."""
    try:
        return sizes_given(lengths, pattern)
    except EinopsError as error:
        raise in_context(error, shape, lengths) from None


def sizes_given(lengths: Mapping[str, Any], pattern: str) -> Mapping[str, Any]:
    """The sizes given in a call, each as :func:`checked_size` has it."""
    for size in lengths.values():
        if size.__class__ is not int or size < 0:
            return {name: checked_size(name, size, pattern) for name, size in lengths.items()}
    return lengths


_WITH_SYMBOLS = ("torch", "jax", "jaxlib", "keras", "tensorflow", "ricci")  # whose own types of sizes are left alone


def checked_size(name: str, size: Any, pattern: str) -> Any:
    """The size given for an axis: an ``int``, or a symbol of a framework, which is left as it is."""
    if size.__class__ is not int and type(size).__module__.split(".")[0] in _WITH_SYMBOLS:
        return size
    try:
        if isinstance(size, bool):
            raise TypeError
        found = operator.index(size)
    except TypeError:
        hint = f"Write {name}={int(size)}." if _is_whole(size) else ""
        message = f"The size of axis {name} must be an integer, not {size!r}."
        raise EinopsError(message, pattern, *span_of(pattern, name), hint) from None
    if found < 0:
        raise EinopsError(f"The size of axis {name} cannot be negative: {found}.", pattern, *span_of(pattern, name))
    return found


def _is_whole(size: Any) -> bool:
    """Whether this is a number that equals an integer: 2.0, or True."""
    try:
        return bool(size == int(size))
    except (TypeError, ValueError, OverflowError):
        return False


def explained(function: Callable, shape: tuple, sizes: Mapping, *args: Any) -> Any:
    """``function(*args)``; its errors also say what it was done to."""
    try:
        return function(*args)
    except EinopsError as error:
        raise in_context(error, shape, sizes) from None


def in_context(error: EinopsError, shape: tuple, sizes: Mapping) -> EinopsError:
    if "Input shape" not in error.hint:
        given = f" Sizes given: {', '.join(f'{k}={v}' for k, v in sizes.items())}." if sizes else ""
        error.hint = "\n".join(filter(None, [error.hint, f"Input shape: {shape}.{given}"]))
    return error


def plain_call(
    backend: Backend, tensor: Any, pattern: str, operation: str, sizes: Mapping, wide: bool, function: Any = None
) -> Any:
    """Without tables: for sizes that are symbols, reductions by a function, and while axes are watched."""
    names, values, shape = tuple(sizes), tuple(sizes.values()), backend.shape(tensor)
    recipe = explained(recipe_of, shape, sizes, pattern, operation, names, len(shape), wide)
    if backend.direct:
        todo = explained(moves, shape, sizes, recipe, shape, values)
        return of_something(lambda x: apply(backend, x, todo, operation, function), operation)(tensor)
    found = explained(sizes_of, shape, sizes, recipe, shape, values)
    result = apply_by_axes(backend, tensor, recipe, found, operation, function)
    return backend.named(
        result, [names if isinstance(names, str) else None for names in called(recipe.axes, recipe.result)]
    )


def _with_function(
    backend: Backend, tensor: Any, pattern: str, function: Any, sizes: Mapping[str, Any], wide: bool
) -> Any:
    if not callable(function):
        raise EinopsError(f"A reduction is a name or a function of an array and axes, not {function!r}.")
    return plain_call(backend, tensor, pattern, CALLABLE, sizes, wide, function)


def watched_call(
    backend: Backend,
    tensor: Any,
    pattern: str,
    operation: Any,
    lengths: dict[str, Any],
    wide: bool,
    parts: list | None = None,
) -> Any:
    """A call whose axes are compared with those of the scope; ``parts`` are the arrays that were stacked."""
    function = None
    if operation.__class__ is not str:
        operation, function = CALLABLE, operation
    shape = backend.shape(tensor)
    sizes = checked_sizes(lengths, pattern, shape)
    recipe = explained(recipe_of, shape, sizes, pattern, operation, tuple(sizes), len(shape), wide)
    found = explained(sizes_of, shape, sizes, recipe, shape, tuple(sizes.values()))
    named = {name: size for name, size in zip(recipe.axes, found) if isinstance(name, str)}
    title = "reduce" if operation not in ("rearrange", "repeat") else operation
    axes = called(recipe.axes, recipe.groups)
    inputs = [(tensor, axes)] if parts is None else [(part, axes[1:]) for part in parts]
    names = carried(backend, [tensor], recipe.axes, [recipe.groups], recipe.result)
    bare = check(backend, title, pattern, inputs, named)
    result = plain_call(backend, tensor if parts else bare[0], pattern, operation, sizes, wide, function)
    (result,) = note(backend, title, pattern, inputs, [(result, called(recipe.axes, recipe.result))], named, [names])
    return result
