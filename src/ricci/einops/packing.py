"""pack and unpack: arrays of different orders along one axis, and back.

In the pattern ``"i j * k"`` the star stands for whatever axes an array has there; they become one axis, along which
the arrays are joined. What each of them had is the list of packed shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from ricci.caches import cached
from ricci.einops.backends import backend_of, compiling
from ricci.einops.naming import check, note, watched
from ricci.einops.operations import all_plain, plain_kinds
from ricci.einops.patterns import check_name, check_text
from ricci.einops.products import as_torch, common_backend, of_one_kind, traced_beside_torch
from ricci.einops.recipes import differ, divides
from ricci.errors import EinopsError, EinopsTypeError
from ricci.kinds import as_numpy, kind_of
from ricci.scopes.watch import CallCache

_packs = CallCache("calls of pack", 2048)
_unpacks = CallCache("calls of unpack", 2048)


@cached("patterns of pack", 512)
def read(pattern: str, operation: str) -> tuple[int, int]:
    """The numbers of axes before and after the star."""
    words = pattern.split()
    at = 0
    for k, word in enumerate(words):
        at = pattern.index(word, at)
        if word in words[:k]:
            raise EinopsError(f"Duplicates in axes names in {operation}: {word}.", pattern, at, at + len(word))
        if word != "*" and not check_name(word):
            hint = "Axis names are Python identifiers that do not start or end with an underscore."
            raise EinopsError(f"Invalid axis name {word} in {operation}.", pattern, at, at + len(word), hint)
        at += len(word)
    if "*" not in words:
        hint = "Write * where the axes that differ are: 'b * c'."
        raise EinopsError(f"No *-axis in {operation}.", pattern, 0, max(1, len(pattern)), hint)
    return words.index("*"), len(words) - words.index("*") - 1


def _constant(pattern: str, operation: str) -> tuple[int, int]:
    return read(pattern, operation)


_constant._dynamo_marked_constant = True  # type: ignore[attr-defined]


def pack(tensors: Sequence[Any], pattern: str) -> tuple[Any, list[Any]]:
    """Join arrays of any orders along the axis ``*``; also gives the shapes that :func:`unpack` needs.

    >>> import numpy as np
    >>> packed, shapes = pack([np.zeros((2, 3)), np.zeros((2, 4, 5, 3))], "b * c")
    >>> packed.shape, shapes
    ((2, 21, 3), [(), (4, 5)])
    """
    try:
        if len(tensors) == 2:  # the commonest case, without a loop
            x, y = tensors
            if x.__class__ in plain_kinds.known or not compiling(x):
                run = _packs.known.get((pattern, x.__class__, x.shape, y.__class__, y.shape))
                if run is not None:
                    return run(tensors)
        elif not compiling(tensors[0]):
            run = _packs.known.get(_key(pattern, tensors))
            if run is not None:
                return run(tensors)
    except (AttributeError, TypeError, LookupError):
        pass  # not arrays, or none: the first call says so
    return _first_pack(tensors, pattern)


def _key(pattern: str, tensors: Sequence[Any]) -> tuple:
    key: list[Any] = [pattern]
    for tensor in tensors:
        key += (tensor.__class__, tensor.shape)
    return tuple(key)


def _first_pack(tensors: Sequence[Any], pattern: str) -> tuple[Any, list[Any]]:
    check_text(pattern)
    tensors = _listed(tensors)
    if traced_beside_torch(tensors):
        return as_torch(_first_pack, tensors, pattern)
    tensors = of_one_kind(tensors, "pack")
    run, packed = _pack_plan(tensors, pattern)
    if compiling(tensors[0]):
        return run(tensors)
    backend, around = common_backend(tensors, "pack"), _around(pattern, 1)
    if not watched(backend, tensors):
        result, shapes = run(tensors)
        if backend.direct and backend.name != "ricci" and all(all_plain(tensor.shape) for tensor in tensors):
            _packs.keep(_key(pattern, tensors), run)
        return backend.named(result, around) if backend.name == "formula" else result, shapes
    inputs, sizes = _names(pattern, packed, tensors)
    result, shapes = run(check(backend, "pack", pattern, inputs, sizes))
    (result,) = note(backend, "pack", pattern, inputs, [(result, around)], sizes)
    return result, shapes


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


def _pack_plan(tensors: Sequence[Any], pattern: str) -> tuple[Callable, list[Any]]:
    """A function that packs arrays like these, and the shapes that go into the axis."""
    backend = common_backend(tensors, "pack")
    before, after = _constant(pattern, "pack")
    reshapes, packed, outer = [], [], None
    for k, tensor in enumerate(tensors):
        shape = backend.shape(tensor)
        if len(shape) < before + after:
            message = f"packed tensor #{k} (enumeration starts with 0) has shape {tuple(shape)}, "
            message += f"while the pattern assumes at least {before + after} axes."
            raise EinopsError(message, pattern, 0, len(pattern))
        end = len(shape) - after
        packed.append(shape[before:end])
        around = (*shape[:before], *shape[end:])
        if outer is not None and any(map(differ, around, outer)):
            hint = (
                f"Beside *, array 0 has {outer} and array {k} has {around}; the shape of array {k} is {tuple(shape)}."
            )
            raise EinopsError(
                "The arrays that are packed must agree in all axes but *.", pattern, 0, len(pattern), hint
            )
        outer = around
        length = 1
        for size in shape[before:end]:
            length = length * size
        reshapes.append(None if end == before + 1 else (*shape[:before], length, *shape[end:]))
    reshape = backend.movers(type(tensors[0]))[0]
    if len(tensors) == 2:
        return _pack_two(reshape, backend.concat, reshapes, before, packed), packed

    def run(arrays: Sequence[Any]) -> tuple[Any, list[Any]]:
        parts = [x if shape is None else reshape(x, shape) for x, shape in zip(arrays, reshapes)]
        return backend.concat(parts, before), [*packed]

    return run, packed


def _pack_two(reshape: Callable, concat: Callable, shapes: list, axis: int, packed: list) -> Callable:
    first, second = shapes

    def run(arrays: Sequence[Any]) -> tuple[Any, list[Any]]:
        x, y = arrays
        if first is not None:
            x = reshape(x, first)
        if second is not None:
            y = reshape(y, second)
        return concat((x, y), axis), [*packed]

    return run


def unpack(tensor: Any, packed_shapes: Sequence[Any], pattern: str) -> list[Any]:
    """Split along the axis ``*`` into arrays with these shapes in its place; one size may be -1.

    >>> import numpy as np
    >>> [part.shape for part in unpack(np.zeros((2, 21, 3)), [(), (4, 5)], "b * c")]
    [(2, 3), (2, 4, 5, 3)]
    """
    if not compiling(tensor):
        try:
            plan = _unpacks.known.get((type(tensor), pattern, tensor.shape, *packed_shapes))
            if plan is not None and _plain_shapes(packed_shapes):
                return _unpacked(tensor, plan)
        except (AttributeError, TypeError):
            pass  # shapes given as lists, or not an array: the first call says so
        return _first_unpack(tensor, packed_shapes, pattern)
    return _unpacked(tensor, _unpack_plan(tensor, packed_shapes, pattern))


def _plain_shapes(shapes: Sequence[Any]) -> bool:
    """Whether all sizes are plain integers; 2.0 equals 2 and would find what 2 has made."""
    for shape in shapes:
        for size in shape:
            if size.__class__ is not int:
                return False
    return True


def _unpacked(tensor: Any, plan: tuple) -> list[Any]:
    reshape, parts = plan
    return [tensor[cut] if shape is None else reshape(tensor[cut], shape) for cut, shape in parts]


def _unpacked_slowly(tensor: Any, plan: tuple, axis: int) -> list[Any]:
    """As :func:`_unpacked`, for what is not indexed by slices."""
    backend, (reshape, parts) = backend_of(tensor), plan
    whole = [(size,) for size in backend.shape(tensor)]
    whole[axis] = (parts[-1][0][axis].stop if parts else 0,)
    tensor = backend.split(tensor, whole)  # the parts are all of it, which sizes that are symbols do not tell yet
    cut = [backend.slice(tensor, axis, at[axis].start, at[axis].stop) for at, _ in parts]
    return [x if shape is None else reshape(x, shape) for x, (_, shape) in zip(cut, parts, strict=True)]


def _first_unpack(tensor: Any, packed_shapes: Sequence[Any], pattern: str) -> list[Any]:
    check_text(pattern)
    backend = backend_of(tensor)
    if not all_plain(backend.shape(tensor)) and backend.direct:  # symbols of a program that is being recorded
        return _unpacked(tensor, _unpack_plan(tensor, packed_shapes, pattern))
    packed_shapes = getattr(packed_shapes, "tolist", lambda: packed_shapes)()
    if not isinstance(packed_shapes, Sequence):
        raise EinopsTypeError(f"unpack takes a list of shapes, as pack gives them, not {packed_shapes!r}.")
    shapes = [_checked(shape, packed_shapes, pattern) for shape in packed_shapes]
    plan = _unpack_plan(tensor, shapes, pattern)
    seen = watched(backend, (tensor,))
    if backend.direct and not seen:
        if backend.name != "ricci":
            _unpacks.keep((type(tensor), pattern, tensor.shape, *shapes), plan)
        return _unpacked(tensor, plan)
    inputs, sizes = _names(pattern, [(0,)], [tensor])
    (bare,) = check(backend, "unpack", pattern, inputs, sizes)
    around = [_around(pattern, len(shape)) for shape in shapes]
    if backend.direct:
        parts = _unpacked(bare, plan)
    else:
        parts = _unpacked_slowly(bare, plan, read(pattern, "unpack")[0])
        parts = [backend.named(x, names) for x, names in zip(parts, around, strict=True)]
    return note(backend, "unpack", pattern, inputs, list(zip(parts, around, strict=True)), sizes)


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


def _unpack_plan(tensor: Any, shapes: Sequence[Any], pattern: str) -> tuple:
    """reshape, and for each part the slices that cut it out and its shape, None where the slice has it already."""
    input_shape = backend_of(tensor).shape(tensor)
    before, after = _constant(pattern, "unpack")
    if len(input_shape) != before + 1 + after:
        message = f"unpack received input of wrong dim: the pattern has {before + 1 + after} axes, "
        raise EinopsError(message + f"and the shape is {tuple(input_shape)}.", pattern, 0, len(pattern))
    whole = input_shape[before]
    lengths = [_length(shape) for shape in shapes]
    known = 0
    for length in lengths:
        known = known + (0 if length is None else length)
    plan, start = [], 0
    for shape, length in zip(shapes, lengths, strict=True):
        stop = start + (whole - known if length is None else length)
        shape = _completed(shape, stop - start, whole, shapes, pattern)
        full = (*input_shape[:before], *shape, *input_shape[before + 1 :])
        cut = (*[slice(None)] * before, slice(start, stop), *[slice(None)] * after)
        plan.append((cut, None if len(shape) == 1 else full))
        start = stop
    if lengths.count(None) > 1 or differ(start, whole):
        raise _unfit(whole, shapes, pattern)
    return backend_of(tensor).movers(type(tensor))[0], plan


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
    known = 1
    unknown = 0
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
    at = pattern.find("*")
    message = f"unpack could not split axis of size {whole} into requested {[tuple(shape) for shape in shapes]}."
    hint = "The products of the shapes add up to the size of the axis; at most one size is -1, and is then inferred."
    return EinopsError(message, pattern, at, at + 1, hint)


def _around(pattern: str, count: int) -> tuple:
    """The names of the axes of an array that has ``count`` axes in place of the star."""
    words = pattern.split()
    at = words.index("*")
    return (*words[:at], *[None] * count, *words[at + 1 :])


def _names(pattern: str, shapes: Sequence[Any], arrays: Sequence[Any]) -> tuple[list, dict]:
    """What :mod:`ricci.scopes` is told: the arrays with their names, and the sizes of the names."""
    inputs = [(x, _around(pattern, len(shape))) for x, shape in zip(arrays, shapes, strict=True)]
    x, names = inputs[0]
    shape = backend_of(x).shape(x)
    return inputs, {name: size for name, size in zip(names, shape, strict=True) if name is not None}
