"""From a pattern to the moves of an array.

All of rearrange, reduce and repeat is one sequence: *reshape* to elementary axes, *reduce* over those that are not on
the right, *transpose* the rest into the order of the right side, *expand* along the axes that are new there, and
*reshape* to the axes of the result. A :class:`Recipe` holds this for a pattern, an operation, a number of axes and the
names whose sizes are given, without any size; :func:`moves` adds the sizes. Elementary axes are numbered: those of
the left side first, in order, then the new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ricci.caches import cached
from ricci.einops.patterns import ELLIPSIS, Joined, Pattern, group_span, parse, span_of
from ricci.errors import EinopsError, nearest

REDUCTIONS = ("min", "max", "sum", "mean", "prod", "any", "all")
MORE_REDUCTIONS = ("logsumexp", "var", "std", "norm", "argmax", "argmin")
CALLABLE = "<function>"  # the reduction is a function of the user


class Recipe(NamedTuple):
    """What a pattern does to an array, without sizes."""

    pattern: str
    operation: str  # "rearrange", "repeat", or a reduction
    ndim: int
    fixed: tuple[int, ...]  # sizes of elementary axes given by numbers; 0 where not
    given: tuple[int, ...]  # elementary axes whose sizes the call gives, in order
    groups: tuple[tuple[int, ...], ...]  # elementary axes of each axis of the input
    inferred: tuple[int, ...]  # for each axis of the input, the elementary axis found by division, or -1
    reduced: tuple[int, ...]
    order: tuple[int, ...]  # elementary axes of the left side as they appear on the right
    permutation: tuple[int, ...] | None  # of the axes that are left after reducing; None for none
    result: tuple[tuple[int, ...], ...]  # elementary axes of each axis of the result
    splits: bool  # the first reshape is needed
    expands: bool
    merges: bool  # the last reshape is needed
    axes: tuple[Any, ...]  # what each elementary axis is called: a name, a number, or None inside an ellipsis

    @property
    def shapeless(self) -> bool:
        """Nothing in it depends on the shape, once the number of axes is right."""
        return not (self.splits or self.expands or self.merges or self.given)


class Moves(NamedTuple):
    """What is done to an array of known shape; None for what is not needed."""

    split: tuple | None
    reduced: tuple[int, ...] | None
    permutation: tuple[int, ...] | None
    units: tuple | None  # the shape with a 1 for each new axis
    expanded: tuple | None
    merged: tuple | None


@cached("recipes of patterns", 4096)
def recipe_of(pattern: str, operation: str, names: tuple[str, ...], ndim: int, wide: bool = False) -> Recipe:
    """The recipe of a pattern, for arrays with ``ndim`` axes and sizes given for ``names``."""
    parsed = parse(pattern, wide)
    if parsed.right is None:
        raise EinopsError("The pattern has no arrow.", pattern, len(pattern) - 1, len(pattern), _ARROW)
    left, right = parsed.left[0], parsed.right[0]
    if "..." in pattern or wide:
        _check_operation(parsed, operation, names, wide)
    if ELLIPSIS in left:
        left, right = _without_ellipsis(left, right, ndim, pattern)
    elif len(left) != ndim:
        _check_operation(parsed, operation, names, wide)
        raise wrong_order(pattern, len(left), ndim)
    axes: list[Any] = []
    groups = _numbered(left, axes, {})
    if operation in MORE_REDUCTIONS and {*axes} <= {axis for axis in _names(right) if axis.__class__ is not int}:
        groups = _with_unit(groups, axes)
    seen = {axis: k for k, axis in enumerate(axes) if axis.__class__ is not int}
    count = len(axes)
    result = _numbered(right, axes, seen)
    order = [k for group in result for k in group]
    if len(axes) > count:
        order = [k for k in order if k < count]
    reduced = tuple([k for k in range(count) if k not in order]) if len(order) < count else ()
    fixed = [axis if axis.__class__ is int else 0 for axis in axes]
    new = axes[count:]
    if not _allowed(operation, names, reduced, fixed, new, count):
        _check_operation(parsed, operation, names, wide)
    given = tuple([_given(name, seen, pattern, axes) for name in names]) if names else ()
    left_over = [k for k in range(count) if k not in reduced] if reduced else range(count)
    permutation = tuple([left_over.index(k) for k in order]) if reduced else tuple(order)
    return Recipe(
        pattern,
        operation,
        ndim,
        tuple(fixed),
        given,
        groups,
        tuple([_inferred(group, fixed, given, axes, pattern) for group in groups]),
        reduced,
        tuple(order),
        None if permutation == tuple(range(len(order))) else permutation,
        result,
        any(len(group) != 1 for group in groups) or len(groups) < count == 1,
        bool(new),
        any(len(group) != 1 for group in result),
        tuple([None if axis.__class__ is tuple else axis for axis in axes]),
    )


def _allowed(
    operation: str, names: tuple[str, ...], reduced: tuple[int, ...], fixed: list[int], new: list, count: int
) -> bool:
    """Whether an operation surely may do this; where not, :func:`_check_operation` finds out, and says why."""
    if operation == "rearrange":
        return not (new or reduced or any(fixed))
    if operation == "repeat":
        return not (reduced or any(fixed[:count])) and all(axis.__class__ is int or axis in names for axis in new)
    return not new and operation in REDUCTIONS


_ARROW = "Write both sides: 'b h w -> b (h w)'."


def _numbered(side: tuple, axes: list, seen: dict) -> tuple[tuple[int, ...], ...]:
    """The elementary axes of each group by number; new ones are added to ``axes``."""
    found = []
    for group in side:
        numbers = []
        for axis in group:
            number = seen.get(axis, -1)
            if number < 0:
                number = len(axes)
                axes.append(axis)
            numbers.append(number)
        found.append(tuple(numbers))
    return tuple(found)


def _with_unit(groups: tuple, axes: list) -> tuple:
    """Where nothing is reduced, an axis of size 1 is: the norm of one number, or its place, is not that number."""
    axes.append(1)
    return (*groups[:-1], (*groups[-1], len(axes) - 1)) if groups else groups


def _without_ellipsis(left: tuple, right: tuple, ndim: int, pattern: str) -> tuple[tuple, tuple]:
    """Both sides with the axes of the ellipsis written out; each is called ``(k,)``, which no user can write."""
    count = ndim - len(left) + 1
    if count < 0:
        raise wrong_order(pattern, len(left) - 1, ndim, "at least ")
    hidden = [(k,) for k in range(count)]
    at = left.index(ELLIPSIS)
    left = (*left[:at], *[(axis,) for axis in hidden], *left[at + 1 :])
    written: list = []
    for group in right:
        if group == ELLIPSIS:
            written += [(axis,) for axis in hidden]
        elif ELLIPSIS in group:
            at = group.index(ELLIPSIS)
            written.append((*group[:at], *hidden, *group[at + 1 :]))
        else:
            written.append(group)
    return left, tuple(written)


def _given(name: str, seen: dict, pattern: str, axes: list) -> int:
    if name not in seen:
        if name in axes:  # a new axis of the right side
            return axes.index(name)
        known = sorted({axis for axis in axes if isinstance(axis, str)})
        hint = nearest(name, known) or (f"The pattern has the axes {', '.join(known)}." if known else "")
        raise EinopsError(f"Axis {name} is not used in transform; its size was given.", pattern, 0, len(pattern), hint)
    return seen[name]


def _inferred(group: tuple[int, ...], fixed: list[int], given: tuple[int, ...], axes: list, pattern: str) -> int:
    unknown = [k for k in group if not fixed[k] and k not in given]
    if len(unknown) > 1:
        names = [str(axes[k]) for k in unknown]
        start, _ = span_of(pattern, names[0])
        _, end = span_of(pattern, names[-1])
        hint = f"Give the size of all but one of them: {', '.join(f'{name}=...' for name in names[1:])}."
        raise EinopsError(f"Could not infer sizes for {', '.join(names)}.", pattern, start, end, hint)
    return unknown[0] if unknown else -1


def wrong_order(pattern: str, expected: int, ndim: int, more: str = "") -> EinopsError:
    left = pattern.split("->")[0].rstrip()
    message = f"Wrong shape: expected {more}{expected} dims. Received {ndim}-dim tensor."
    return EinopsError(message, pattern, len(left) - len(left.lstrip()), max(1, len(left)))


def _check_operation(pattern: Pattern, operation: str, given: tuple[str, ...], wide: bool) -> None:
    """New axes are for repeat only, and axes disappear only in reductions."""
    text = pattern.text
    assert pattern.right is not None
    left, right = pattern.left[0], pattern.right[0]
    if len(pattern.left + pattern.right) > 2 or any(group.__class__ is Joined for group in left + right):
        raise EinopsError("Joining and splitting is done by rc.rearrange alone.", text, 0, len(text))
    names, others = _names(left), _names(right)
    if any(group.__class__ is tuple and ELLIPSIS in group for group in left):
        at = text.index(ELLIPSIS)
        raise EinopsError("Ellipsis inside parenthesis in the left side is not allowed.", text, at, at + 3)
    if ELLIPSIS in others and ELLIPSIS not in names:
        at = text.rindex(ELLIPSIS)
        raise EinopsError("Ellipsis found in right side, but not left side of a pattern.", text, at, at + 3)
    numbers = [axis for axis in (*names, *others) if axis.__class__ is int]
    if operation == "rearrange":
        if numbers:
            hint = "Give it a name and its size, or use repeat or reduce."
            message = "Non-unitary anonymous axes are not supported in rearrange (exception is length 1)."
            raise EinopsError(message, text, *span_of(text, numbers[0]), hint)
        if len(names) != len(others) or set(names) != set(others):
            raise _one_sided(text, names, others, "rearrange")
    elif operation == "repeat":
        _check_kept(text, names, others, given)
    else:
        _check_reduction(text, names, others, operation, wide)


def _names(side: tuple) -> list:
    return [axis for group in side for axis in ((group,) if group.__class__ is str else group)]


def _one_sided(text: str, names: list, others: list, operation: str) -> EinopsError:
    gone, new = [a for a in names if a not in others], [a for a in others if a not in names]
    alone = ", ".join(dict.fromkeys(map(str, gone + new)))
    hint = "Use repeat for axes that are only on the right." if new else "Use reduce to sum or average an axis away."
    if gone and new:
        hint = nearest(str(new[0]), gone) or hint
    message = f"Identifiers only on one side of expression (should be on both): {alone}."
    return EinopsError(message, text, *span_of(text, (gone + new)[0], bool(gone)), hint)


def _check_kept(text: str, names: list, others: list, given: tuple[str, ...]) -> None:
    """repeat keeps every axis of the left side, and must be told the sizes of the new ones."""
    gone = [axis for axis in names if axis.__class__ is int or axis not in others]
    if gone:
        message = f"Unexpected identifiers on the left side of repeat: {', '.join(map(str, gone))}."
        raise EinopsError(message, text, *span_of(text, gone[0]), "Use reduce to remove an axis.")
    new = [axis for axis in others if axis.__class__ is str and axis not in names and axis not in given]
    if new:
        message = f"Specify sizes for new axes in repeat: {', '.join(new)}."
        hint = f"Give them as keywords: {', '.join(f'{name}=...' for name in new)}."
        raise EinopsError(message, text, *span_of(text, new[0], False), hint)


def _check_reduction(text: str, names: list, others: list, operation: str, wide: bool) -> None:
    known = REDUCTIONS + MORE_REDUCTIONS if wide else REDUCTIONS
    if operation not in known and operation != CALLABLE:
        hint = nearest(operation, known)
        message = f"Unknown reduction {operation}. Expect one of {', '.join(known)}."
        raise EinopsError(message, text, 0, len(text), hint)
    new = [axis for axis in others if axis.__class__ is int or axis not in names]
    if new:
        message = f"Unexpected identifiers on the right side of reduce {operation}: {', '.join(map(str, new))}."
        raise EinopsError(message, text, *span_of(text, new[0], False), "Use repeat to add an axis.")


def moves(recipe: Recipe, shape: Sequence[Any], values: Sequence[Any]) -> Moves:
    """The moves for an array of this shape; ``values`` are the sizes of ``recipe.given``.

    Sizes may be symbols (of a tracing framework, or ricci's own): of those, nothing but sums, products and whole
    quotients is asked.
    """
    sizes = sizes_of(recipe, shape, values)
    count = len(recipe.order) + len(recipe.reduced)  # the elementary axes of the left side come first
    units = expanded = merged = None
    if recipe.expands:
        flat = [k for group in recipe.result for k in group]
        units = tuple([sizes[k] if k < count else 1 for k in flat])
        expanded = tuple([sizes[k] for k in flat])
    if recipe.merges:
        merged = merged_sizes(recipe.result, sizes)
    split = tuple(sizes[:count]) if recipe.splits else None
    return Moves(split, recipe.reduced or None, recipe.permutation, units, expanded, merged)


def called(axes: Sequence[Any], groups: Sequence[Sequence[int]]) -> tuple:
    """What the axes of an array are called: a name, a tuple of names for a composite, None for the rest."""
    found: list[Any] = []
    for group in groups:
        names = tuple([axes[k] for k in group if isinstance(axes[k], str)])
        found.append(names if len(group) > 1 else names[0] if names else None)
    return tuple(found)


def merged_sizes(groups: Sequence[Sequence[int]], sizes: Sequence[Any]) -> tuple:
    """The size of each axis that is a product of elementary ones."""
    lengths = []
    for group in groups:
        length = 1
        for k in group:
            length = length * sizes[k]
        lengths.append(length)
    return tuple(lengths)


def sizes_of(recipe: Recipe, shape: Sequence[Any], values: Sequence[Any]) -> list:
    """The sizes of all elementary axes."""
    sizes: list = list(recipe.fixed)
    for k, value in zip(recipe.given, values):
        sizes[k] = value
    for axis, (length, group, unknown) in enumerate(zip(shape, recipe.groups, recipe.inferred)):
        if unknown >= 0 and len(group) == 1:
            sizes[unknown] = length
            continue
        known = 1
        for k in group:
            if k != unknown:
                known = known * sizes[k]
        if unknown < 0:
            if differ(length, known):
                raise mismatch(recipe, axis, shape, values, known)
        elif divides(known, length):
            sizes[unknown] = length // known
        else:
            raise mismatch(recipe, axis, shape, values, known)
    return sizes


def differ(a: Any, b: Any) -> bool:
    """Whether two sizes are numbers, and not the same one."""
    return isinstance(a, int) and isinstance(b, int) and a != b


def divides(known: Any, length: Any) -> bool:
    """Whether ``length`` is a multiple of ``known``, as far as they are numbers; zero divides nothing."""
    if known.__class__ is int and (length.__class__ is int or known <= 0):
        return known > 0 and length % known == 0
    return True


def mismatch(recipe: Recipe, axis: int, shape: Sequence[Any], values: Sequence[Any], known: Any) -> EinopsError:
    """The error for an axis of the input whose size does not fit."""
    text, group, length = recipe.pattern, recipe.groups[axis], shape[axis]
    called = [recipe.axes[k] for k in group]
    span = (0, len(text.split("->")[0]))
    if called and called[0] is not None:
        span = (span_of(text, called[0])[0], span_of(text, called[-1])[1])
    elif "..." not in text:
        span = group_span(text, axis)
    sizes = dict(zip(recipe.given, values))
    parts = [f"{recipe.axes[k]}={sizes[k]}" for k in group if k in sizes]
    unknown = recipe.inferred[axis]
    if unknown < 0:
        what = f"is {known}" if group else "must be 1"
        message = (
            f"Shape mismatch, {length} != {known}: axis {axis} of the input has size {length}, and here it {what}."
        )
    elif known == 0:
        message = f"Shape mismatch, the size of {recipe.axes[unknown]} cannot be found beside an axis of size 0."
    else:
        message = (
            f"Shape mismatch, can't divide axis of length {length} in chunks of {known}: "
            f"axis {axis} of the input has size {length}, which is not a multiple of {known}."
        )
    hint = f"Input shape: {tuple(shape)}." + (f" Sizes given: {', '.join(parts)}." if parts else "")
    return EinopsError(message, text, *span, hint)
