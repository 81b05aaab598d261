"""The moves of one array: what rearrange, reduce and repeat plan.

All of them are one sequence: *split* into elementary axes, *reduce* over those that are not on the right, *transpose*
the rest into the order of the right side, *expand* along the axes that are new there, and *merge* to the axes of the
result. A :class:`Recipe` holds this for a pattern, an operation, a number of axes and the names whose sizes are given,
without any size; :class:`Moves` has the sizes too. Moves are carried out step by step (:func:`apply`), which tracing
frameworks and formulas follow, or are made a function with nothing left to decide (:func:`compiled`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ricci.caches import cached
from ricci.checked_calls import shown
from ricci.einops import grammar
from ricci.einops.backends.base import Backend, Run
from ricci.einops.grammar import Parsed, names_of, span_of
from ricci.einops.inference import merged_sizes, solved, undetermined
from ricci.einops.labels import Kind, Labels, read
from ricci.errors import EinopsError, EinopsTypeError, EinopsValueError, nearest

REDUCTIONS = ("min", "max", "sum", "mean", "prod", "any", "all")
MORE_REDUCTIONS = ("logsumexp", "var", "std", "norm", "argmax", "argmin")
CALLABLE = "<function>"  # the reduction is a function of the user


class Recipe(NamedTuple):
    """What a pattern does to an array, without sizes."""

    labels: Labels
    operation: str  # "rearrange", "repeat", or a reduction
    reduced: tuple[int, ...]
    permutation: tuple[int, ...] | None  # of the axes that are left after reducing; None for none
    splits: bool  # the first reshape is needed
    expands: bool
    merges: bool  # the last reshape is needed

    @property
    def shapeless(self) -> bool:
        """Nothing in it depends on the shape, once the number of axes is right."""
        return not (self.splits or self.expands or self.merges or self.labels.given)


class Moves(NamedTuple):
    """What is done to an array of known shape; None for what is not needed."""

    split: tuple[tuple, ...] | None = None  # for each axis the sizes it is made of; of a number, an axis is made
    reduced: tuple[int, ...] | None = None
    permutation: tuple[int, ...] | None = None
    units: tuple | None = None  # the shape with a 1 for each new axis
    old: tuple[int, ...] = ()  # for each axis then, 1 if it was there and 0 if it is new
    expanded: tuple | None = None
    merged: tuple | None = None
    counts: tuple[int, ...] = ()  # how many axes are merged to each of the result

    @property
    def elementary(self) -> tuple | None:
        """The shape after the first reshape."""
        return self.split and tuple([size for sizes in self.split for size in sizes]) if self.split != () else (1,)


@cached("patterns of one array", 4096)
def recipe_of(pattern: str, operation: str, names: tuple[str, ...], ndim: int, wide: bool = False) -> Recipe:
    """The recipe of a pattern, for arrays with ``ndim`` axes and sizes given for ``names``."""
    labels = read(pattern, (ndim,), names, _KINDS[operation if operation in _KINDS else "reduce"][wide])
    (groups,), (result,), count = labels.operands, labels.results, labels.count
    order = [k for group in result for k in group if k < count]
    if operation not in ("rearrange", "repeat"):
        _check_reduction(pattern, operation, wide)
        if operation in MORE_REDUCTIONS and len(order) == count:
            labels = _with_unit(labels)
            (groups,), count = labels.operands, labels.count
    _check_told(labels)
    left = range(count)
    reduced = tuple([k for k in left if k not in order]) if len(order) < count else ()
    if reduced:
        left = [k for k in left if k not in reduced]
    permutation = tuple([left.index(k) for k in order]) if reduced else tuple(order)
    return Recipe(
        labels,
        operation,
        reduced,
        None if permutation == tuple(range(len(order))) else permutation,
        any(len(group) != 1 for group in groups) or len(groups) < count == 1,
        len(labels.axes) > count,
        any(len(group) != 1 for group in result),
    )


def _with_unit(labels: Labels) -> Labels:
    """Where nothing is reduced, an axis of size 1 is: the norm of one number, or its place, is not that number."""
    (groups,), unit = labels.operands, labels.count
    if groups:
        groups = (*groups[:-1], (*groups[-1], unit))
    return labels._replace(operands=(groups,), axes=(*labels.axes, 1), fixed=(*labels.fixed, 1), count=labels.count + 1)


def _check_told(labels: Labels) -> None:
    """Of the axes that make up one of the array, at most one is told by its size."""
    for group in labels.operands[0]:
        if len(group) > 1:
            unknown = [k for k in group if labels.fixed[k] is None and k not in labels.given]
            if len(unknown) > 1:
                raise undetermined(labels, unknown)


# What each operation allows


def _check_rearrange(parsed: Parsed, given: tuple[str, ...]) -> None:
    """rearrange has the same axes on both sides."""
    text, names, others = parsed.text, names_of(parsed.left[0]), names_of((parsed.right or ((),))[0])
    numbers = [axis for axis in (*names, *others) if axis.__class__ is int]
    if numbers:
        hint = "Give it a name and its size, or use repeat or reduce."
        message = "Non-unitary anonymous axes are not supported in rearrange (exception is length 1)."
        raise EinopsError(message, text, *span_of(text, numbers[0]), hint)
    if {*names} != {*others}:
        gone, new = [a for a in names if a not in others], [a for a in others if a not in names]
        alone = ", ".join(dict.fromkeys(map(str, gone + new)))
        hint = (
            "Use repeat for axes that are only on the right." if new else "Use reduce to sum or average an axis away."
        )
        if gone and new:
            hint = nearest(str(new[0]), gone) or hint
        message = f"Identifiers only on one side of expression (should be on both): {alone}."
        raise EinopsError(message, text, *span_of(text, (gone + new)[0], bool(gone)), hint)


def _check_repeat(parsed: Parsed, given: tuple[str, ...]) -> None:
    """repeat keeps every axis of the left side, and must be told the sizes of the new ones."""
    text, names, others = parsed.text, names_of(parsed.left[0]), names_of((parsed.right or ((),))[0])
    gone = [axis for axis in names if axis.__class__ is int or axis not in others]
    if gone:
        message = f"Unexpected identifiers on the left side of repeat: {', '.join(map(str, gone))}."
        raise EinopsError(message, text, *span_of(text, gone[0]), "Use reduce to remove an axis.")
    new = [axis for axis in others if axis.__class__ is str and axis not in names and axis not in given]
    if new:
        message = f"Specify sizes for new axes in repeat: {', '.join(map(str, new))}."
        hint = f"Give them as keywords: {', '.join(f'{name}=...' for name in new)}."
        raise EinopsError(message, text, *span_of(text, new[0], False), hint)


def _check_reduce(parsed: Parsed, given: tuple[str, ...]) -> None:
    """reduce makes no new axes."""
    text, names, others = parsed.text, names_of(parsed.left[0]), names_of((parsed.right or ((),))[0])
    new = [axis for axis in others if axis.__class__ is int or axis not in names]
    if new:
        message = f"Unexpected identifiers on the right side of reduce: {', '.join(map(str, new))}."
        raise EinopsError(message, text, *span_of(text, new[0], False), "Use repeat to add an axis.")


def _check_reduction(pattern: str, operation: str, wide: bool) -> None:
    known = REDUCTIONS + MORE_REDUCTIONS if wide else REDUCTIONS
    if operation not in known and operation != CALLABLE:
        message = f"Unknown reduction {operation}. Expect one of {', '.join(known)}."
        raise EinopsError(message, pattern, 0, len(pattern), nearest(operation, known))


_KINDS = {  # in einops' language, and in the wider one
    name: {False: Kind(grammar.EINOPS, check=check), True: Kind(grammar.WIDE, check=check)}
    for name, check in (("rearrange", _check_rearrange), ("repeat", _check_repeat), ("reduce", _check_reduce))
}


# With sizes


def sizes_of(recipe: Recipe, shape: Sequence[Any], values: Sequence[Any]) -> list:
    """The sizes of all elementary axes; ``values`` are those that are given."""
    return solved(recipe.labels, (shape,), values)


def moves(recipe: Recipe, sizes: Sequence[Any]) -> Moves:
    """The moves for an array whose elementary axes have these sizes.

    >>> recipe = recipe_of("b (h p) -> h (b p)", "rearrange", ("p",), 2)
    >>> moves(recipe, sizes_of(recipe, (2, 6), (3,)))[:3]
    (((2,), (2, 3)), None, (1, 0, 2))
    """
    labels = recipe.labels
    (groups,), (result,) = labels.operands, labels.results
    split = units = expanded = merged = None
    old: tuple[int, ...] = ()
    if recipe.splits:
        split = tuple([tuple([sizes[k] for k in group]) for group in groups])
    if recipe.expands:
        flat = [k for group in result for k in group]
        old = tuple([int(k < labels.count) for k in flat])
        units = tuple([sizes[k] if k < labels.count else 1 for k in flat])
        expanded = tuple([sizes[k] for k in flat])
    if recipe.merges:
        merged = merged_sizes(result, sizes)
    counts = tuple(map(len, result)) if recipe.merges else ()
    return Moves(split, recipe.reduced or None, recipe.permutation, units, old, expanded, merged, counts)


def apply(backend: Backend, x: Any, todo: Moves, operation: str, function: Callable | None = None) -> Any:
    """Carry out the moves one by one; the plain way, which tracing frameworks and formulas follow too."""
    if todo.split is not None:
        x = backend.split(x, todo.split) if todo.split else backend.merge(x, (0,), (1,))
    permutation = todo.permutation
    if todo.reduced is not None:
        if function is None:
            x = backend.reduce(x, operation, todo.reduced)
        else:
            x, permutation = _by_function(backend, x, todo, function), None
    if permutation is not None:
        x = backend.transpose(x, permutation)
    if todo.units is not None and todo.expanded is not None:
        x = backend.expand(backend.merge(x, todo.old, todo.units), todo.expanded)
    return x if todo.merged is None else backend.merge(x, todo.counts, todo.merged)


def _by_function(backend: Backend, x: Any, todo: Moves, function: Callable) -> Any:
    """A user's reduction is given the axes in their final order, the ones to be reduced last."""
    reduced = todo.reduced or ()
    kept = [axis for axis in range(len(x.shape)) if axis not in reduced]
    order = kept if todo.permutation is None else [kept[k] for k in todo.permutation]
    whole = [*order, *reduced]
    if whole != list(range(len(whole))):
        x = backend.transpose(x, whole)
    found = function(x, tuple(range(len(order), len(whole))))
    if not hasattr(found, "shape"):
        raise EinopsTypeError(f"A reduction is a function of an array and axes; it gives an array, not {shown(found)}.")
    return found


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


# As functions


def compiled(backend: Backend, todo: Moves, operation: str, kind: type) -> Run:
    """A function that makes these moves on arrays of exactly this type, with nothing left to decide."""
    reshape, transpose = backend.movers(kind)
    split, permutation, merged = todo.elementary, todo.permutation, todo.merged
    if todo.reduced is not None or todo.units is not None:
        return _computed(backend, todo, operation, kind)
    if permutation is None:
        final = merged if merged is not None else split
        return (lambda x: x) if final is None else (lambda x: reshape(x, final))
    if split is None and merged is None:
        return lambda x: transpose(x, permutation)
    if merged is None:
        return backend.chain(lambda x: transpose(reshape(x, split), permutation), kind)
    if split is None:
        return backend.chain(lambda x: reshape(transpose(x, permutation), merged), kind)
    return backend.chain(lambda x: reshape(transpose(reshape(x, split), permutation), merged), kind)


def guarded(backend: Backend, todo: Moves, made: Run, kind: type, shape: tuple, other: Run) -> Run:
    """``made`` for arrays of this shape, ``other`` for the rest; what is commonest is done here, for speed."""
    reshape, transpose = backend.movers(kind)
    split, permutation, merged = todo.elementary, todo.permutation, todo.merged
    final = merged if merged is not None else split
    if todo.reduced is None and todo.units is None:
        if permutation is None and final is not None:
            return lambda x: reshape(x, final) if x.shape == shape else other(x)
        if split is not None and permutation is not None and merged is not None and not backend.chains:
            return lambda x: (
                reshape(transpose(reshape(x, split), permutation), merged) if x.shape == shape else other(x)
            )
    return lambda x: made(x) if x.shape == shape else other(x)


def _computed(backend: Backend, todo: Moves, operation: str, kind: type) -> Run:
    """As :func:`compiled`, with a reduction or new axes among the moves."""
    reshape, transpose = backend.movers(kind)
    split, permutation, merged = todo.elementary, todo.permutation, todo.merged
    before = (lambda x: x) if split is None else (lambda x: reshape(x, split))
    if todo.reduced is None:
        repeat = backend.repeater(todo.units or (), todo.expanded or (), merged, kind)
        if permutation is None:
            return backend.chain(repeat if split is None else (lambda x: repeat(before(x))), kind)
        return backend.chain(lambda x: repeat(transpose(before(x), permutation)), kind)
    reduce, reduced = of_something(backend.reducer(operation, kind), operation), todo.reduced
    if permutation is None and merged is None:
        if split is None:
            return backend.chain(lambda x: reduce(x, reduced), kind)
        return backend.chain(lambda x: reduce(reshape(x, split), reduced), kind)

    def run(x: Any) -> Any:
        x = reduce(before(x), reduced)
        if permutation is not None:
            x = transpose(x, permutation)
        return x if merged is None else backend.reshape(x, merged)  # NumPy's reductions may give a scalar

    return backend.chain(run, kind)
