"""Sizes of traced functions, which the arguments of a call decide, as sizes that are left open.

A traced function holds for the sizes that it was traced with: they are numbers in what it computes, also inside
``x.mean()`` or ``range(len(x))``. So it is traced once more, with sizes that nobody writes, each of its own, and every
number in which one of these is found again, ``101`` or ``1 / 101`` or ``101 * 103``, becomes the size of an axis.

It is traced twice so, since a number that both traces have is one that somebody wrote, whatever size it looks like. An
axis whose size must be even, or a multiple of another number, has such sizes.

Whether that was right is tested: for the sizes of the call, and for two other choices of small ones that the function
takes, it must give what the function gives there. Where it does not, as where a branch depends on a size, it is tried
with one size less left open, and then the sizes stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from ricci.budget import limits
from ricci.errors import LimitError
from ricci.expr import (
    Constant,
    Dim,
    Expr,
    Function,
    Size,
    Structure,
    Sum,
    Variable,
    axis_size,
    constant,
    one,
    product,
    rebuild,
    topological,
)
from ricci.expr.structures import affine
from ricci.expr.walk import rewritten
from ricci.kinds import kind_of
from ricci.loops.branches import with_results
from ricci.notation.context import Check
from ricci.tracing import trees
from ricci.tracing.recording import Arguments, Recording, Static
from ricci.transforms.transformed import Transformed
from ricci.user.explaining import formulas
from ricci.user.size_readings import SMALL, is_large, nearest, readings, scaled_sizes

UNLIKELY = (101, 193, 307, 431, 563, 701, 853, 1009)  # far from one another, since a little may be added
ALIKE = (107, 199, 313, 439, 571, 709, 857, 1013)  # to find the floating numbers that change with sizes
FEWER = ((47, 61, 79, 101, 127, 151, 181, 211), (53, 67, 83, 107, 131, 157, 187, 217))  # where there are many
OTHERS = ((2, 3, 5, 6, 7, 8, 9, 10), (6, 4, 3, 5, 7, 10, 8, 9))  # for tests, and, as functions may want large ones,
OTHERS = (*OTHERS, (5, 7, 9, 11, 12, 13, 14, 15), (8, 9, 12, 14, 15, 16, 17, 18), (11, 12, 13, 16, 17, 18, 19, 20))
TESTED = 2  # of these, so many that the function takes
MOST_TRIED = 60  # calls to find out which axes go together
MOST_TOGETHER = 6  # axes of one size among which groups are looked for
MOST_COMPARED = 1_000_000  # entries of arguments that are tested with
SECONDS = 30  # that may be spent on it

Axis = tuple[int, int]  # of an argument, by its number
Group = tuple[Axis, ...]  # axes that must have one size


class NotOpen(Exception):
    """A size cannot be left open."""


def with_open_sizes(transformed: Transformed, arguments: Arguments, derived: Recording) -> Recording | None:
    """What is derived, for all sizes of the arguments; none if it cannot be told."""
    shapes = [tuple(map(int, np.shape(leaf))) for leaf in arguments.traced]
    if len(shapes) != len(derived.inputs) or derived.drawn or derived.writes:
        return None
    try:
        with limits(seconds=SECONDS):
            return _opened(Tracer(transformed, arguments, shapes), derived)
    except Exception:  # the function is not made for other sizes, whatever it says then
        return None


def _opened(tracer: Tracer, derived: Recording) -> Recording | None:
    groups = tracer.groups()
    if len(groups) > len(UNLIKELY):
        return None
    fewer = [[*groups[:k], *groups[k + 1 :]] for k in range(len(groups))] if len(groups) < 4 else []
    opened = (_opened_in(tracer, derived, some) for some in (groups, *fewer) if some)
    return next((found for found in opened if found is not None), None)


def _opened_in(tracer: Tracer, derived: Recording, groups: Sequence[Group]) -> Recording | None:
    """What is derived, for all sizes of some axes."""
    choices = (UNLIKELY, ALIKE) if len(groups) < 4 else FEWER
    tried = [tracer.sizes(groups, choice) for choice in choices]
    for sizes, other in (tried, tried[::-1]):
        found = _found(tracer, sizes, other)
        if found is not None and tracer.agrees(found, {}, derived) and tracer.holds(found, groups):
            return found
    return None


def _found(tracer: Tracer, sizes: Mapping[Group, int], other: Mapping[Group, int]) -> Recording | None:
    """What is derived for some sizes, with all numbers as sizes that can be told to be sizes."""
    source = tracer.derived(sizes)
    opened = Opened(source, sizes)
    if any(is_large(n) for n in numbers(source)):
        opened.compare(tracer.derived(other), list(other.values()))
    try:
        return opened.recording()
    except NotOpen:
        return None


def rooms(recording: Recording) -> list[Check]:
    """That axes of arguments, of sizes left open, are as long as what is read at numbers, ``p[2]``, asks for."""
    own = {axis_size(v.name, axis): f"{v.name}[…]" for v in recording.inputs for axis in range(len(v.shape))}
    found = []
    for node in topological(*[out for out in recording.outputs if isinstance(out, Expr)]):
        if isinstance(node, Structure) and node.relation[0] == "==" and node.relation[1] in ((1,), (-1,)):
            (size,), place = node.shape, -node.relation[1][0] * node.relation[2]
            if size in own and isinstance(place, int):
                found.append(Check(size - 1 - place, f"{own[size]} is read at the place {place}.", "", 0, 0))
    return found


def fixed_sizes(recording: Recording) -> dict[str, tuple[int | None, ...]]:
    """The arguments with axes whose sizes are numbers, which they must be."""
    shapes = {v.name: tuple([n if isinstance(n, int) else None for n in v.shape]) for v in recording.inputs}
    return {name: shape for name, shape in shapes.items() if any(n is not None for n in shape)}


class Tracer:
    """Traces a function with arguments of other sizes."""

    def __init__(self, transformed: Transformed, arguments: Arguments, shapes: Sequence[tuple[int, ...]]):
        self.transformed, self.arguments, self.shapes = transformed, arguments, shapes
        self.tried = 0
        self.multiple: dict[Group, int] = {}  # of what the size of a group must be a multiple

    def sizes(self, groups: Sequence[Group], sizes: Sequence[int]) -> dict[Group, int]:
        """A size for each group."""
        return {group: n * self.multiple[group] for group, n in zip(groups, sizes, strict=False)}

    def groups(self) -> list[Group]:
        """The axes that must have one size, for all that can change."""
        sizes: dict[int, list[Axis]] = {}
        for k, shape in enumerate(self.shapes):
            for axis, n in enumerate(shape):
                if n > 1:
                    sizes.setdefault(n, []).append((k, axis))
        return [group for n in sorted(sizes) for group in self._apart(sizes[n], n)]

    def _apart(self, axes: list[Axis], n: int) -> list[Group]:
        """Axes of one size in the smallest groups that can change by themselves."""
        found: list[Group] = []
        left = list(axes)
        while left and len(left) <= MOST_TOGETHER:
            first, *others = left
            options = [(first, *more) for count in range(len(left)) for more in combinations(others, count)]
            group = next((option for option in options if self.works(option)), None)
            group = group or next((o for o in options[:1] + options[-1:] if self.works_in_parts(o, n)), None)
            if group is None:  # as the places in an array, which may have more rows than there are places
                left.remove(first)
                within = next((one for one in found if self.works((*one, first))), None)
                found = [(*one, first) if one == within else one for one in found]
                continue
            found.append(group)
            left = [axis for axis in left if axis not in group]
        if len(left) > MOST_TOGETHER and self.works(tuple(left)):
            found.append(tuple(left))
        return found

    def works(self, group: Group, multiple: int = 1) -> bool:
        """Whether the function takes arguments in which these axes have another size, a multiple of some number."""
        self.tried += 1
        if self.tried > MOST_TRIED:
            return False
        self.multiple[group] = multiple
        try:
            self.recorded(self.sizes([group], UNLIKELY))
        except Exception:
            return False
        return True

    def works_in_parts(self, group: Group, n: int) -> bool:
        """Whether axes of the size ``n`` can have another size that is divided as this one can be."""
        return any(n % multiple == 0 and self.works(group, multiple) for multiple in range(2, min(n, 8) + 1))

    def given(self, sizes: Mapping[Group, int], make: Callable[[Any, tuple[int, ...]], Any]) -> Arguments:
        """The arguments, some axes of which have other sizes."""
        changed = {axis: n for group, n in sizes.items() for axis in group}
        leaves, count = list(self.arguments.leaves), 0
        for place, traced in enumerate(self.arguments.arrays):
            if traced:
                shape = tuple([changed.get((count, axis), n) for axis, n in enumerate(self.shapes[count])])
                leaves[place] = make(leaves[place], shape)
                count += 1
        return replace(self.arguments, leaves=leaves)

    def recorded(self, sizes: Mapping[Group, int]) -> Recording:
        with limits(nodes=100_000):
            return self.transformed.observed(self.given(sizes, empty))[0]

    def derived(self, sizes: Mapping[Group, int]) -> Recording:
        with limits(nodes=1_000_000):
            return self.transformed.derive(self.recorded(sizes))

    def agrees(self, found: Recording, sizes: Mapping[Group, int], there: Recording | None = None) -> bool:
        """Whether what was found gives, for other sizes, what the function gives with them."""
        arrays = [plain(leaf) for leaf in self.given(sizes, alike).traced]
        if sum([np.size(array) for array in arrays]) > MOST_COMPARED:
            return there is not None  # the sizes of the call; the others are small
        there = there or self.derived(sizes)
        return same(values(found, arrays), values(there, arrays))

    def holds(self, found: Recording, groups: Sequence[Group]) -> bool:
        """Whether what was found gives what the function gives, for other sizes that the function takes."""
        tested = 0
        for choice in OTHERS:
            sizes = self.sizes(groups, choice)
            arrays = [plain(leaf) for leaf in self.given(sizes, alike).traced]
            try:
                there = self.derived(sizes)
                wanted, near = [values(there, some) for some in (arrays, list(map(nearly, arrays)))]
            except LimitError:
                raise
            except Exception:  # too small for the function, say, or places in an array that end before
                continue
            if not same(wanted, near):  # as where a matrix has more columns than rows
                continue
            if not same(values(found, arrays), wanted):
                return False
            tested += 1
            if tested == TESTED:
                return True
        return False


def same(some: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> bool:
    return len(some) == len(others) and all(map(close, some, others))


def close(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)


def nearly(array: np.ndarray) -> np.ndarray:
    """An array with entries that are others by what rounding could do."""
    return (
        array if array.dtype.kind != "f" else array * (1 + 1e-13 * np.cos(np.arange(array.size)).reshape(array.shape))
    )


def plain(leaf: Any) -> Any:
    """An array as one of NumPy; of floats those of 64 bits, so that the results can be compared."""
    array = np.asarray(leaf.detach() if hasattr(leaf, "detach") else leaf)
    return array.astype(float) if array.dtype.kind == "f" else array


def values(recording: Recording, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    given = dict(zip([v.name for v in recording.inputs], arrays, strict=True))
    parts = trees.flatten(formulas(recording, False))[0]
    with np.errstate(all="ignore"):
        return [np.asarray(part(**given)) for part in parts if kind_of(part) == "formula"]


def empty(leaf: Any, shape: tuple[int, ...]) -> Any:
    """An array of another shape that takes no room, since nobody looks at its entries."""
    if np.shape(leaf) == shape:
        return leaf
    if isinstance(leaf, np.ndarray):
        return np.broadcast_to(np.ones((), leaf.dtype), shape)
    if type(leaf).__module__.startswith("torch"):
        return leaf.new_ones(()).expand(shape)
    if math.prod(shape) > MOST_COMPARED:
        raise NotOpen
    return leaf.__array_namespace__().ones(shape, dtype=leaf.dtype)


def alike(leaf: Any, shape: tuple[int, ...]) -> Any:
    """An array of another shape with entries like those of one; a symmetric matrix stays one, and positive."""
    if np.shape(leaf) == shape:
        return leaf
    entries = np.array(np.resize(plain(leaf), shape))
    if entries.dtype.kind == "f":
        entries = entries * (1 + 0.05 * np.sin(np.arange(entries.size)).reshape(shape))
        square = len(shape) > 1 and len({*shape[-2:]}) == 1 and entries.shape[-1] < SMALL
        old = plain(leaf)
        if square and old.shape[-1] == old.shape[-2] and np.allclose(old, old.swapaxes(-1, -2)):
            entries = entries @ entries.swapaxes(-1, -2) + np.eye(entries.shape[-1])
    if type(leaf).__module__.startswith("torch"):
        return leaf.new_tensor(entries)
    return leaf.__array_namespace__().asarray(entries, dtype=leaf.dtype)


class Opened:
    """A recording in which numbers become sizes."""

    def __init__(self, recording: Recording, sizes: Mapping[Group, int]):
        names = [v.name for v in recording.inputs]
        self.source = recording
        self.sizes = {n: axis_size(names[group[0][0]], group[0][1]) for group, n in sizes.items()}
        self.known = readings(self.sizes)
        self.captured: dict[str, Expr] = {}
        self.written: set[Any] = set()  # numbers that are no sizes
        self.scaled: dict[Any, Expr] = {}  # those that are some constant times a power of a size

    def compare(self, other: Recording, sizes: Sequence[int]) -> None:
        """Find the numbers that are others for other sizes, and what they are."""
        here, there = [{abs(n) for n in numbers(r) if is_large(n)} for r in (self.source, other)]
        self.written = here & there
        own = list(self.sizes.items())
        pairs = [(n, m) for (n, _), m in zip(own, sizes, strict=True)]
        found = scaled_sizes([*here - there], [*there - here], pairs)
        for number, (scale, place, more, power) in found.items():
            self.scaled[number] = constant(scale) * constant(own[place][1] + more) ** power

    def recording(self) -> Recording:
        for name, array in self.source.captured.items():
            made = self.of_array(np.asarray(getattr(array, "value", array)))
            if made is not None:
                self.captured[name] = made
        outputs = [out for out in self.source.outputs if isinstance(out, Expr)]
        made = iter(rewritten(outputs, self.node))
        found = [out if isinstance(out, Static) else next(made) for out in self.source.outputs]
        inputs = [rebuild(v, (), self.size) for v in self.source.inputs]
        captured = {name: array for name, array in self.source.captured.items() if name not in self.captured}
        return replace(self.source, inputs=inputs, outputs=found, captured=captured)

    def node(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        if isinstance(node, Variable) and node.name in self.captured:
            return self.captured[node.name]
        if isinstance(node, Sum):
            terms = [self.times(c, arg) for c, arg in zip(node.coefs, args, strict=True)]
            return sum(terms[1:], terms[0])
        if isinstance(node, Constant):
            return node if isinstance(node.value, Dim) or node.shape else self.number(node.value)
        if isinstance(node, Function) and node.op.branches is not None:
            return with_results(node, args, self.size, self.node)
        fixed = node.params if isinstance(node, Function) and node.op.resize is None else ()
        if any(isinstance(n, int) and abs(n) > SMALL for n in fixed):
            raise NotOpen
        return rebuild(node, args, self.size)

    def times(self, number: Any, e: Expr) -> Expr:
        made = self.number(number)
        return e * made if made.shape == () else e

    def size(self, size: Size) -> Size:
        if isinstance(size, Dim) or abs(size) <= SMALL:
            return size
        found = self.known.get(abs(size))
        if found is None:
            raise NotOpen
        return found if size > 0 else -1 * found

    def number(self, value: Any) -> Expr:
        """A number, in which sizes may be hidden."""
        if not is_large(value) or abs(value) in self.written:
            return constant(value)
        sign = -1 if value < 0 else 1
        found = self.scaled.get(abs(value))
        if found is not None or isinstance(value, float):
            return constant(value) if found is None else sign * found
        exact = Fraction(value)
        above, below = [constant(self.known.get(n, n)) for n in (abs(exact.numerator), exact.denominator)]
        return sign * above / below

    def of_array(self, array: np.ndarray) -> Expr | None:
        """An array that the function made for its sizes; none if it is one of the user's."""
        if max(array.shape, default=0) <= SMALL:
            return None
        shape = tuple([self.size(n) for n in array.shape])
        if array.size and (array == array.flat[0]).all():
            return self.times(nearest(array.flat[0]), one(shape))
        if array.ndim == 1:
            return self._steps(array, shape[0])
        if array.ndim == 2:
            return self._by_places(array, shape)
        raise NotOpen

    def _steps(self, array: np.ndarray, size: Size) -> Expr:
        """Numbers at equal distances."""
        first, step = float(array[0]), float(array[-1] - array[0]) / (len(array) - 1)
        if not np.allclose(array, first + step * np.arange(len(array)), rtol=1e-12, atol=1e-12):
            raise NotOpen
        places = product([(affine(">=", (1, -1), -1, (size, size)), (0, 1))], (0,))
        return self.times(nearest(step), places) + self.times(nearest(first), one((size,)))

    def _by_places(self, array: np.ndarray, shape: tuple[Size, ...]) -> Expr:
        """A matrix that has one value on a diagonal, or on one side of it, and another one elsewhere."""
        rows, columns = np.indices(array.shape)
        for shift in range(-3, 4):
            for relation, coefs in (("==", (1, -1)), (">=", (1, -1)), (">=", (-1, 1))):
                along = coefs[0] * rows + coefs[1] * columns + shift
                hits = along == 0 if relation == "==" else along >= 0
                inside, outside = array[hits], array[~hits]
                if inside.size and outside.size and (inside == inside[0]).all() and (outside == outside[0]).all():
                    if not math.isfinite(outside[0]) or not math.isfinite(inside[0]):
                        raise NotOpen
                    low, high = nearest(outside[0]), nearest(inside[0])
                    mask = affine(relation, coefs, shift, shape)
                    return self.times(high - low, mask) + self.times(low, one(shape)) if low else self.times(high, mask)
        raise NotOpen


def numbers(recording: Recording) -> Iterator[Any]:
    """The numbers of a recording."""
    return _numbers([out for out in recording.outputs if isinstance(out, Expr)])


def _numbers(roots: Sequence[Expr]) -> Iterator[Any]:
    for node in topological(*roots):
        if isinstance(node, Function) and node.op.branches is not None:
            yield from _numbers(node.op.branches.results)
        elif isinstance(node, Sum):
            yield from node.coefs
        elif isinstance(node, Constant) and not node.shape:
            yield node.value
