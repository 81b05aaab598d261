"""Calls: the one way from a function on a pattern to its result.

    kind of the operands → table of calls → labels → sizes → plan → function → result, with its names and errors

Each function on patterns is a :class:`Task`: they differ in what they read and in what they plan. A call looks itself
up in the table of its task and finds a function of native calls, with nothing left to decide: by the types of its
arrays, the pattern and the sizes that were given. Where the plan depends on the shapes, that function looks the shapes
up in turn (:func:`by_shape`). Only plain integers are looked up, so that 2.0 or True never finds what 2 has made.
Everything else, and everything that is met for the first time, goes to :func:`first`.

While a scope watches the axes (:mod:`ricci.einops.watch`), the tables are empty, so that each call is seen; with no
scope, watching costs nothing. ``torch.compile`` reads the Python of a call: it must not see the tables, whose changes
would make it compile again, and it must see sizes as symbols, so that one program serves all shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ricci.caches import Cache
from ricci.einops.backends import any_compiling, as_torch, backend_of, common_backend, is_number, traced_beside_torch
from ricci.einops.backends.base import Backend
from ricci.einops.carrying import carried, check, note, watched
from ricci.einops.grammar import check_text
from ricci.einops.inference import all_plain, context_text, differ, sizes_given, solved
from ricci.einops.labels import Labels
from ricci.einops.watch import CallCache
from ricci.errors import EinopsError, EinopsTypeError

MOST_CALLS = 4096  # that are kept of a function
MOST_SHAPES = 512  # that are kept for a call

plain_kinds = Cache("types of arrays", MOST_CALLS)  # those that are looked up at once
TASKS: dict[str, Task] = {}


class Planned(NamedTuple):
    """What is done with arrays of these shapes: a value that can be printed, and the function made of it."""

    labels: Labels
    sizes: list
    plan: Any
    run: Callable


class Task:
    """A function on patterns: what it reads, and what it plans."""

    alone = False  # whether it takes one array, which is of its own kind, masked ones too
    lifts = False  # whether its functions make arrays stand beside one another themselves
    broadcasts = "none"  # which labels an axis of size 1 fits, see inference.solved

    def __init__(self, name: str, title: str, said: str = "") -> None:
        """``title`` is what scopes and tables of shapes call it, ``said`` what errors do."""
        self.name, self.title, self.said = name, title, said or title
        self.calls = CallCache("calls on patterns", MOST_CALLS)
        TASKS[name] = self

    def read(self, pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], operation: str) -> Any:
        """The reading of a pattern, which has ``labels``; kept by its arguments."""
        raise NotImplementedError

    def plan(self, backend: Backend, reading: Any, shapes: Sequence[tuple], sizes: list, options: tuple) -> Any:
        """What is to be done."""
        raise NotImplementedError

    def function(self, backend: Backend, kinds: Sequence[type], plan: Any, options: tuple, plain: bool) -> Callable:
        """The plan as a function of arrays; ``plain`` asks for steps that sizes which are symbols can go through."""
        raise NotImplementedError

    def shortcut(self, call: Request, shapes: tuple[tuple, ...], made: Planned) -> Callable:
        """A function for all shapes, given what is done with these."""
        return by_shape(call, shapes, made.run)

    def early(self, call: Request) -> Callable | None:
        """A function for all shapes that needs no plan; None where there is none."""
        return None

    def keep(self, key: tuple, call: Request, run: Callable) -> None:
        """Keep the function of a call."""
        self.calls.keep(key, run)

    def arrays(self, result: Any) -> list:
        """The arrays of a result."""
        return [result]

    def rebuilt(self, arrays: list, result: Any) -> Any:
        """A result with other arrays."""
        return arrays[0]

    def called(self, call: Request, labels: Labels, results: Sequence[Any]) -> list[tuple]:
        """What the axes of the results are called."""
        return [labels.named(groups) for groups in labels.results]


class Request(NamedTuple):
    """A call, as it is planned: its task, the kind of its arrays, and what was given with them."""

    task: Task
    backend: Backend
    kinds: tuple[type, ...]
    pattern: str
    sizes: Mapping[str, Any]
    options: tuple

    @property
    def operation(self) -> str:
        return operation_of(self.options)

    def planned(self, shapes: Sequence[tuple], plain: bool = False) -> Planned:
        """What is done with arrays of these shapes; errors show them."""
        task, names, values = self.task, tuple(self.sizes), tuple(self.sizes.values())
        try:
            reading = task.read(self.pattern, tuple([len(shape) for shape in shapes]), names, self.operation)
            sizes = solved(reading.labels, shapes, values, task.broadcasts)
            plan = task.plan(self.backend, reading, shapes, sizes, self.options)
        except EinopsError as error:
            raise in_context(error, shapes, self.sizes) from None
        run = task.function(self.backend, self.kinds, plan, self.options, plain)
        return Planned(reading.labels, sizes, plan, run)


def operation_of(options: tuple) -> str:
    """What the reading of a pattern may depend on: the first option, if it is a name."""
    return options[0] if options and options[0].__class__ is str else ""


def in_context(error: EinopsError, shapes: Sequence, sizes: Mapping) -> EinopsError:
    """The error, which also says what it was done to."""
    if "Input shape" not in error.hint:
        error.hint = "\n".join(filter(None, [error.hint, context_text(shapes, sizes)]))
    return error


def first(
    task: Task,
    arrays: Sequence[Any],
    pattern: str,
    lengths: Mapping[str, Any],
    options: tuple = (),
    key: tuple | None = None,
    given: Sequence[Any] | None = None,
) -> Any:
    """A call that no table knows, or that is being compiled.

    It is kept under ``key``, if there is one. ``given`` are the arrays as the user has them, where these are not.
    """
    if any_compiling(arrays):
        return _recorded(task, arrays, pattern, lengths, options)
    check_text(pattern)
    kept = None if key is None else task.calls[key]  # where it was not used for long
    if kept is not None:
        return kept(*arrays)
    if traced_beside_torch(arrays):
        return as_torch(first, task, arrays, pattern, lengths, options)
    backend = backend_of(arrays[0]) if task.alone else common_backend(arrays, task.said)
    xs = arrays if task.alone else backend.together(arrays)
    shapes = tuple([backend.shape(x) for x in xs])
    try:
        sizes = sizes_given(lengths, pattern)
    except EinopsError as error:
        raise in_context(error, shapes, lengths) from None
    call = Request(task, backend, tuple(map(type, xs)), pattern, sizes, options)
    if task.lifts:
        xs, key = arrays, None if any(map(is_number, arrays)) else key
    if not backend.direct or watched(backend, arrays):
        return _seen(call, xs, shapes, arrays if given is None else given)
    plain = all_plain(sizes.values()) and not (backend.symbolic and not all(map(all_plain, shapes)))
    run = task.early(call) if plain and key is not None else None
    made = None if run is not None else call.planned(shapes, not plain)
    try:
        result = (run or made.run)(*xs)  # type: ignore[union-attr]  # a call that fails leaves nothing behind
    except TypeError as error:
        if type(error).__name__ != "DTypePromotionError":
            raise
        listed = ", ".join(dict.fromkeys(str(x.dtype) for x in xs))
        raise EinopsTypeError(f"{task.said} was given arrays of types that have no common one: {listed}.") from error
    if key is not None and plain:
        if made is not None:
            run = task.shortcut(call, shapes, made)
        assert run is not None
        task.keep(key, call, _lifting(call, arrays, xs, run))
        if not backend.traced:
            plain_kinds.keep(type(arrays[0]), True)
    return result


def by_shape(call: Request, shapes: tuple[tuple, ...] = (), known: Callable | None = None) -> Callable:
    """One function for the shapes of all arrays together, made when they are met; ``known`` is for these shapes."""
    table = Cache("shapes of calls on patterns", MOST_SHAPES)
    backend, one, newer = call.backend, len(call.kinds) == 1, table.known
    if known is not None:
        table.keep(shapes[0] if one else shapes, known)

    def alone(x: Any) -> Any:
        try:
            made = newer.get(x.shape)
        except TypeError:  # symbols in the shape, which cannot be looked up
            made = None
        return made(x) if made is not None else new((x,))

    def together(*xs: Any) -> Any:
        made = newer.get(tuple([x.shape for x in xs]))
        return made(*xs) if made is not None else new(xs)

    def new(xs: tuple) -> Any:
        shapes = tuple([backend.shape(x) for x in xs])
        plain = all(map(all_plain, shapes))
        made = (plain and table[shapes[0] if one else shapes]) or call.planned(shapes, not plain).run
        result = made(*xs)
        if plain:
            table.keep(shapes[0] if one else shapes, made)
        return result

    return alone if one else together


def _lifting(call: Request, arrays: Sequence[Any], xs: Sequence[Any], run: Callable) -> Callable:
    """``run``, where arrays of several kinds stand beside one another or carry names."""
    task, backend, pattern, sizes, options = call.task, call.backend, call.pattern, call.sizes, call.options
    if any(x is not y for x, y in zip(arrays, xs)):
        plain = run
        run = lambda *xs: plain(*backend.together(xs))  # noqa: E731
    return backend.unless_named(run, lambda *xs: first(task, xs, pattern, sizes, options))


def _constant(name: str, pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], operation: str) -> Any:
    reading = TASKS[name].read(pattern, ndims, names, operation)
    return reading, reading.labels


# torch.compile does not look into it, but calls it once, while compiling: its arguments are texts and numbers.
_constant._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _recorded(task: Task, xs: Sequence[Any], pattern: str, lengths: Mapping[str, Any], options: tuple) -> Any:
    """In a program that is being compiled: plain steps on sizes that may be symbols."""
    from ricci.einops.backends.torch_arrays import TorchBackend

    backend = TorchBackend()
    shapes = [x.shape for x in xs]
    reading, labels = _constant(
        task.name, pattern, tuple([len(shape) for shape in shapes]), tuple(lengths), operation_of(options)
    )
    sizes = solved(labels, shapes, tuple(lengths.values()), task.broadcasts)
    plan = task.plan(backend, reading, shapes, sizes, options)
    return task.function(backend, [type(x) for x in xs], plan, options, True)(*xs)


def plainly(call: Request, xs: Sequence[Any]) -> Any:
    """A call of which nothing is kept, on arrays of its backend."""
    shapes = tuple([call.backend.shape(x) for x in xs])
    if watched(call.backend, xs):
        return _seen(call, xs, shapes, xs)
    return call.planned(shapes, True).run(*xs)


def _seen(call: Request, xs: Sequence[Any], shapes: Sequence[tuple], given: Sequence[Any]) -> Any:
    """Without tables: for formulas, and while axes are compared with names that arrays carry or with a scope's."""
    task, backend, pattern = call.task, call.backend, call.pattern
    made = call.planned(shapes, True)
    labels = made.labels
    named = labels.named_sizes(made.sizes)
    inputs = [(x, labels.named(groups)) for x, groups in zip(xs, labels.operands)]
    if len(given) == len(xs):
        inputs = [(old if hasattr(old, "shape") else new, parts) for old, (new, parts) in zip(given, inputs)]
        bare = check(backend, task.title, pattern, inputs, named, xs)
    else:  # arrays that were stacked
        inputs = [(x, inputs[0][1][1:]) for x in given]
        check(backend, task.title, pattern, inputs, named, given)
        bare = xs
    result = made.run(*bare)
    outputs = task.arrays(result)
    names = task.called(call, labels, outputs)
    own = carried(backend, xs, labels, names)
    outputs = note(backend, task.title, pattern, inputs, list(zip(outputs, names)), named, own)
    return task.rebuilt(outputs, result)


def stacked(tensors: Sequence[Any], title: str, pattern: str) -> Any:
    """A list of arrays of one shape is an array with a new first axis."""
    if not tensors:
        raise EinopsTypeError(f"Rearrange/Reduce/Repeat can't be applied to an empty list: {title}([], {pattern!r}).")
    backend = common_backend(tensors, title)
    tensors = backend.together(tensors) if len(tensors) > 1 else tensors
    shapes = [backend.shape(tensor) for tensor in tensors]
    for k, shape in enumerate(shapes):
        if len(shape) != len(shapes[0]) or any(map(differ, shape, shapes[0])):
            hint = f"Element 0 has shape {shapes[0]} and element {k} has {shape}; pack and unpack join unequal arrays."
            raise EinopsError(f"The arrays in the list given to {title} must have one shape.", hint=hint)
    return backend.stack(list(tensors))
