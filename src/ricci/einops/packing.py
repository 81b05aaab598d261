"""pack and unpack: arrays of different orders along one axis, and back.

In the pattern ``"i j * k"`` the star stands for whatever axes an array has there; they become one axis, along which
the arrays are joined. What each of them had is the list of packed shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple

from ricci.caches import cached
from ricci.checked_calls import MISSING, told_late, unfit
from ricci.einops.backends import any_compiling, backend_of, compiling
from ricci.einops.backends.base import Backend
from ricci.einops.driver import Planned, Request, Task, first, plain_kinds
from ricci.einops.grammar import ELLIPSIS, PACKED, STAR, check_text, parse_side
from ricci.einops.inference import all_plain, differ, divides, total
from ricci.einops.labels import Kind, Labels, labelled
from ricci.errors import EinopsError, EinopsTypeError
from ricci.kinds import as_numpy, kind_of


class Star(NamedTuple):
    """A pattern with a star: its labels, and how many axes stand before and after it."""

    labels: Labels
    before: int
    after: int


_APART = Kind(PACKED, apart=True, skips=True)


@cached("patterns of pack", 512)
def read(pattern: str, ndims: tuple[int, ...], operation: str) -> Star:
    """A pattern of pack, where the star stands for any axes of each array, or of unpack, where it is one axis."""
    side = parse_side(pattern, PACKED)
    if (STAR,) not in side:
        hint = "Write * where the axes that differ are: 'b * c'."
        raise EinopsError(f"No *-axis in {operation}.", pattern, 0, max(1, len(pattern)), hint)
    at = side.index((STAR,))
    any_axes = (*side[:at], ELLIPSIS if operation == "pack" else ("_",), *side[at + 1 :])
    operands, _, axes, _ = labelled([any_axes] * len(ndims), ndims, pattern, _APART)
    labels = Labels(pattern, operands, (), tuple(axes), (), (None,) * len(axes), len(axes))
    return Star(labels, at, len(side) - at - 1)


def _around(pattern: str, count: int) -> tuple:
    """The names of the axes of an array that has ``count`` axes in place of the star."""
    words = pattern.split()
    at = words.index(STAR)
    return (*words[:at], *[None] * count, *words[at + 1 :])


class Packing(NamedTuple):
    """What each array is reshaped to, None where it has that shape, where they are joined, and the packed shapes."""

    shapes: list[tuple | None]
    axis: int
    packed: list[tuple]


class Packs(Task):
    """pack: the result is an array and the packed shapes."""

    def read(self, pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], operation: str) -> Star:
        return read(pattern, ndims, "pack")

    def plan(self, backend: Backend, reading: Star, shapes: Sequence[tuple], sizes: list, options: tuple) -> Packing:
        _, before, after = reading
        wanted, packed = [], []
        for shape in shapes:
            end = len(shape) - after
            packed.append(shape[before:end])
            whole = (*shape[:before], total(shape, range(before, end)), *shape[end:])
            wanted.append(None if end == before + 1 else whole)
        return Packing(wanted, before, packed)

    def function(self, backend: Backend, kinds: Sequence[type], plan: Packing, options: tuple, plain: bool) -> Callable:
        wanted, axis, packed = plan
        concat = backend.concat
        reshape = backend.movers(kinds[0])[0] if len({*kinds}) == 1 else backend.reshape
        if len(wanted) == 2:  # the commonest case, without a loop
            one, other = wanted

            def two(x: Any, y: Any) -> Any:
                if one is not None:
                    x = reshape(x, one)
                if other is not None:
                    y = reshape(y, other)
                return concat((x, y), axis), [*packed]

            return two

        def run(*xs: Any) -> Any:
            parts = [x if shape is None else reshape(x, shape) for x, shape in zip(xs, wanted)]
            return concat(parts, axis), [*packed]

        return run

    def shortcut(self, call: Request, shapes: tuple[tuple, ...], made: Planned) -> Callable:
        return made.run  # calls are looked up by the shapes

    def arrays(self, result: Any) -> list:
        return [result[0]]

    def rebuilt(self, arrays: list, result: Any) -> Any:
        return arrays[0], result[1]

    def called(self, call: Request, labels: Labels, results: Sequence[Any]) -> list[tuple]:
        return [_around(call.pattern, 1)]


PACK = Packs("pack", "pack")
_PACKS, _KINDS = PACK.calls.known, plain_kinds.known


@told_late
def pack(tensors: Sequence[Any], pattern: str, *more: Any) -> tuple[Any, list[Any]]:
    """Join arrays of any orders along the axis ``*``; also gives the shapes that :func:`unpack` needs.

    >>> import numpy as np
    >>> packed, shapes = pack([np.zeros((2, 3)), np.zeros((2, 4, 5, 3))], "b * c")
    >>> packed.shape, shapes
    ((2, 21, 3), [(), (4, 5)])
    """
    if more or pattern is MISSING:
        raise unfit("pack", pack, (tensors, pattern, *more), {}, 'pack([x, y], "b *")')
    try:
        if len(tensors) == 2:
            x, y = tensors
            if x.__class__ in _KINDS or not compiling(x):
                run = _PACKS.get((pattern, x.__class__, x.shape, y.__class__, y.shape))
                if run is not None:
                    return run(x, y)
        elif not compiling(tensors[0]):
            run = _PACKS.get(_key(pattern, tensors))
            if run is not None:
                return run(*tensors)
    except (AttributeError, TypeError, LookupError):
        pass  # not arrays, or none: the first call says so
    check_text(pattern)
    tensors = _listed(tensors)
    return first(PACK, tensors, pattern, {}, (), _plain_key(pattern, tensors))


def _key(pattern: str, tensors: Sequence[Any]) -> tuple:
    key: list[Any] = [pattern]
    for tensor in tensors:
        key += (tensor.__class__, tensor.shape)
    return tuple(key)


def _plain_key(pattern: str, tensors: Sequence[Any]) -> tuple | None:
    """What a call is kept by: nothing while it is compiled, or where sizes may be symbols."""
    if any_compiling(tensors) or not all(hasattr(x, "shape") and all_plain(x.shape) for x in tensors):
        return None
    return _key(pattern, tensors)


def _listed(tensors: Any) -> Sequence[Any]:
    """The arrays; an array in place of a list is one of those along its first axis, and NumPy's scalars are arrays."""
    if hasattr(tensors, "shape") and not isinstance(tensors, Sequence):
        if not tensors.shape:
            raise EinopsTypeError("pack takes a list of arrays, or an array with a first axis, not one without axes.")
        tensors = list(tensors)
    if not isinstance(tensors, Sequence) or isinstance(tensors, str) or not tensors:
        raise EinopsTypeError(f"pack takes a list of at least one array, not {tensors!r:.80}.")
    scalars = [kind_of(x) == "numpy" and x.shape == () and not hasattr(x, "ctypes") for x in tensors]
    if not any(scalars) or all(scalars):
        return tensors
    return [as_numpy(x) if scalar else x for x, scalar in zip(tensors, scalars)]


class Unpacking(NamedTuple):
    """Where each part is cut out along the axis, and its shape, None where the slice has it already."""

    axis: int
    parts: list[tuple[Any, Any, tuple | None]]
    whole: list[tuple]  # the sizes of the axes, of which the parts are all


class Unpacks(Task):
    """unpack: its options are the packed shapes."""

    alone = True

    def read(self, pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], operation: str) -> Star:
        return read(pattern, ndims, "unpack")

    def plan(self, backend: Backend, reading: Star, shapes: Sequence[tuple], sizes: list, options: tuple) -> Unpacking:
        (labels, before, _), (shape,) = reading, shapes
        whole, known, parts, start = shape[before], 0, [], 0
        lengths = [_length(part) for part in options]
        for length in lengths:
            known = known + (0 if length is None else length)
        for part, length in zip(options, lengths, strict=True):
            stop = start + (whole - known if length is None else length)
            own = _completed(part, stop - start, whole, options, labels.text)
            full = None if len(own) == 1 else (*shape[:before], *own, *shape[before + 1 :])
            parts.append((start, stop, full))
            start = stop
        if lengths.count(None) > 1 or differ(start, whole):
            raise _unfit(whole, options, labels.text)
        return Unpacking(before, parts, [*[(size,) for size in shape[:before]], (start,), *_ones(shape[before + 1 :])])

    def function(
        self, backend: Backend, kinds: Sequence[type], plan: Unpacking, options: tuple, plain: bool
    ) -> Callable:
        axis, parts, whole = plan
        if plain:

            def slowly(x: Any) -> list:
                if not backend.direct:
                    x = backend.split(x, whole)  # the parts are all of it, which symbols do not tell yet
                cut = [(backend.slice(x, axis, start, stop), shape) for start, stop, shape in parts]
                return [part if shape is None else backend.reshape(part, shape) for part, shape in cut]

            return slowly
        reshape = backend.movers(kinds[0])[0]
        rest = (slice(None),) * (len(whole) - axis - 1)
        cuts = [((*(slice(None),) * axis, slice(start, stop), *rest), shape) for start, stop, shape in parts]
        return lambda x: [x[cut] if shape is None else reshape(x[cut], shape) for cut, shape in cuts]

    def shortcut(self, call: Request, shapes: tuple[tuple, ...], made: Planned) -> Callable:
        return made.run  # calls are looked up by the shape

    def arrays(self, result: Any) -> list:
        return result

    def rebuilt(self, arrays: list, result: Any) -> Any:
        return arrays

    def called(self, call: Request, labels: Labels, results: Sequence[Any]) -> list[tuple]:
        return [_around(call.pattern, len(shape)) for shape in call.options]


UNPACK = Unpacks("unpack", "unpack")
_UNPACKS = UNPACK.calls.known


@told_late
def unpack(tensor: Any, packed_shapes: Sequence[Any], pattern: str, *more: Any) -> list[Any]:
    """Split along the axis ``*`` into arrays with these shapes in its place; one size may be -1.

    >>> import numpy as np
    >>> [part.shape for part in unpack(np.zeros((2, 21, 3)), [(), (4, 5)], "b * c")]
    [(2, 3), (2, 4, 5, 3)]
    """
    if more or pattern is MISSING or packed_shapes is MISSING:
        raise unfit("unpack", unpack, (tensor, packed_shapes, pattern, *more), {}, 'unpack(x, shapes, "b *")')
    if compiling(tensor):
        return first(UNPACK, (tensor,), pattern, {}, tuple(packed_shapes))
    try:
        run = _UNPACKS.get((type(tensor), pattern, tensor.shape, *packed_shapes))
        if run is not None and _plain_shapes(packed_shapes):
            return run(tensor)
    except (AttributeError, TypeError):
        pass  # shapes given as lists, or not an array: the first call says so
    check_text(pattern)
    if not all_plain(backend_of(tensor).shape(tensor)) and backend_of(tensor).direct:  # symbols of a recorded program
        return first(UNPACK, (tensor,), pattern, {}, tuple(packed_shapes))
    packed_shapes = getattr(packed_shapes, "tolist", lambda: packed_shapes)()
    if not isinstance(packed_shapes, Sequence):
        raise EinopsTypeError(f"unpack takes a list of shapes, as pack gives them, not {packed_shapes!r}.")
    shapes = tuple([_checked(shape, packed_shapes, pattern) for shape in packed_shapes])
    return first(UNPACK, (tensor,), pattern, {}, shapes, (type(tensor), pattern, tensor.shape, *shapes))


def _ones(sizes: Sequence[Any]) -> list[tuple]:
    return [(size,) for size in sizes]


def _plain_shapes(shapes: Sequence[Any]) -> bool:
    """Whether all sizes are plain integers; 2.0 equals 2 and would find what 2 has made."""
    for shape in shapes:
        for size in shape:
            if size.__class__ is not int:
                return False
    return True


def _checked(shape: Any, shapes: Sequence[Any], pattern: str) -> tuple:
    """One packed shape as a tuple of plain integers."""
    try:
        for size in shape:
            if size.__class__ is not int:
                return tuple([_integer(size) for size in shape])
        return shape if isinstance(shape, tuple) else tuple(shape)
    except TypeError:
        hint = "They are what pack gives: one tuple of integers for each array, as in [(), (4, 5)]."
        message = f"unpack was given packed shapes that it cannot read: {shapes!r}."
        raise EinopsError(message, pattern, pattern.find("*"), None, hint) from None


def _integer(size: Any) -> int:
    if isinstance(size, bool):
        raise TypeError
    return index(size)


def _length(shape: Sequence[Any]) -> Any:
    """The product of the sizes, None if one of them is -1."""
    length = 1
    for size in shape:
        if isinstance(size, int) and size == -1:
            return None
        length = length * size
    return length


def _completed(shape: Sequence[Any], length: Any, whole: Any, shapes: Sequence[Any], pattern: str) -> tuple:
    """The shape with its -1 replaced; ``length`` is what is left for it."""
    known, unknown = 1, 0
    for size in shape:
        if isinstance(size, int) and size == -1:
            unknown += 1
        elif isinstance(size, int) and size < 0:
            raise _unfit(whole, shapes, pattern)
        else:
            known = known * size
    if isinstance(length, int) and length < 0:
        raise _unfit(whole, shapes, pattern)
    if not unknown:
        return tuple(shape)
    if unknown > 1 or not divides(known, length):
        raise _unfit(whole, shapes, pattern)
    return tuple([length // known if isinstance(size, int) and size == -1 else size for size in shape])


def _unfit(whole: Any, shapes: Sequence[Any], pattern: str) -> EinopsError:
    at = pattern.find(STAR)
    message = f"unpack could not split axis of size {whole} into requested {[tuple(shape) for shape in shapes]}."
    hint = "The products of the shapes add up to the size of the axis; at most one size is -1, and is then inferred."
    return EinopsError(message, pattern, at, at + 1, hint)
