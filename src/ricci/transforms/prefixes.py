"""``rc.associative_scan``: all partial results of an operation, in a logarithmic number of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.checked_calls import takes
from ricci.errors import InputError, ShapeError
from ricci.tracing import trees
from ricci.tracing.basics import lift
from ricci.transforms.scanning import called, name_of


@takes("rc.associative_scan", fn="function", reverse="flag", axis="whole number")
def associative_scan(fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """All partial results of an associative operation along an axis, in a logarithmic number of calls; as in JAX.

    ``fn`` takes two arrays, or trees of arrays, with many entries along that axis, and works on each of them.

    >>> import numpy as np, ricci as rc
    >>> rc.associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    return called(_associated, "associative_scan", fn, (elems,), (reverse, axis))


def _associated(fn: Callable, options: tuple, elems: Any) -> Any:
    reverse, axis = options
    leaves, form = trees.flatten(elems)
    arrays: list[Any] = [lift(leaf) for leaf in leaves]
    if not arrays or any(not -x.ndim <= axis < x.ndim for x in arrays):
        raise ShapeError(f"rc.associative_scan: elems are arrays that have axis {axis}.")
    if len({x.shape[axis] for x in arrays}) > 1:
        listed = ", ".join([str(x.shape) for x in arrays])
        raise ShapeError(f"rc.associative_scan: all arrays have one size along axis {axis}; the shapes are {listed}.")
    arrays = [np.moveaxis(x, axis, 0) for x in arrays]
    arrays = [x[::-1] for x in arrays] if reverse else arrays

    def joined(a: list[Any], b: list[Any]) -> list[Any]:
        sides = [trees.unflatten(form, [np.moveaxis(x, 0, axis) for x in side]) for side in (a, b)]
        found, again = trees.flatten(fn(*sides))
        if again != form:
            raise InputError(f"rc.associative_scan: {name_of(fn)} returns a tree of another form than it is given.")
        return [np.moveaxis(x, axis, 0) for x in found]

    found = _partial_results(joined, arrays)
    found = [x[::-1] for x in found] if reverse else found
    return trees.unflatten(form, [np.moveaxis(x, 0, axis) for x in found])


def _partial_results(joined: Callable[[list, list], list], parts: list[Any]) -> list[Any]:
    """Neighbours are joined, the results of half as many are found, and the others between them."""
    size = parts[0].shape[0]
    if size < 2:
        return parts
    odd = _partial_results(joined, joined([x[0 : size - 1 : 2] for x in parts], [x[1::2] for x in parts]))
    first = [x[:1] for x in parts]
    if size == 2:
        return [np.concatenate([a, b]) for a, b in zip(first, odd, strict=True)]
    before = [x[:-1] for x in odd] if size % 2 == 0 else odd
    even = [np.concatenate([a, b]) for a, b in zip(first, joined(before, [x[2::2] for x in parts]), strict=True)]
    return [_alternating(a, b) for a, b in zip(even, odd, strict=True)]


def _alternating(even: Any, odd: Any) -> Any:
    """The entries of both along the first axis, one after the other by turns."""
    pairs = odd.shape[0]
    both = np.stack([even[:pairs], odd], 1).reshape((2 * pairs, *odd.shape[1:]))
    return np.concatenate([both, even[pairs:]]) if even.shape[0] > pairs else both
