"""einsum with another operation than the product, and another reduction than the sum.

    r[out] = reduce over the other labels of  op(op(x[..], y[..]), z[..])

All arrays are aligned: their axes in one order, of size 1 for the labels that they do not have. What is computed before
the reduction has all labels, so large cases are done in blocks along the labels of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ricci.checked_calls import shown
from ricci.einops.backends.base import Backend
from ricci.einops.inference import total
from ricci.einops.moves import MORE_REDUCTIONS, REDUCTIONS
from ricci.einops.pairwise import aligned, summed
from ricci.einops.splitting import Factored
from ricci.errors import EinopsError, EinopsTypeError, nearest

# What the operations are called where they are not called as in NumPy.
_ALIASES = {"power": "pow"}
OPERATIONS = (
    *("multiply", "add", "subtract", "divide", "power", "maximum", "minimum", "logaddexp", "hypot"),
    *("logical_and", "logical_or", "logical_xor"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
)
_BLOCK = {"numpy": 1 << 19, "torch": 1 << 23}  # numbers in a block; other kinds of array are computed whole


def check_names(op: Any, reduce: Any) -> None:
    """Raise for an operation or a reduction that there is not."""
    _check_name("operation", "a function of two arrays", op, OPERATIONS)
    _check_name("reduction", "a function", reduce, REDUCTIONS + MORE_REDUCTIONS)


def _check_name(what: str, function: str, given: Any, known: Sequence[str]) -> None:
    if callable(given) or (isinstance(given, str) and given in known):
        return
    name = given if isinstance(given, str) else shown(given)
    raise EinopsError(
        f"Unknown {what} {name}. Expect {function} or one of {', '.join(known)}.", hint=nearest(name, known)
    )


def combined(
    backend: Backend, terms: Factored, sizes: Sequence[Any], op: Any, reduce: Any, blocks: bool = True
) -> Callable:
    """A function of arrays that have the labels of ``terms``."""
    check_names(op, reduce)
    out = terms.out
    labels = list(dict.fromkeys([label for term in terms.terms for label in term]))
    order = (*out, *[label for label in labels if label not in out])
    operate = _operation(backend, op)
    limit = _BLOCK.get(backend.name, 0) if blocks else 0
    whole = total(sizes, order)
    cut = bool(limit) and isinstance(whole, int) and whole > limit and bool(out) and len(order) > len(out)

    def run(*xs: Any) -> Any:
        parts = []
        for x, term in zip(xs, terms.terms):
            x, own = summed(backend, x, term, set(term), sizes)  # diagonals alone
            parts.append(aligned(backend, x, own, order))
        if cut:
            return _in_blocks(backend, parts, [sizes[k] for k in order], len(out), operate, reduce, limit)
        if backend.elementwise is not None:  # of arrays of one shape
            parts = [backend.expand(x, tuple([sizes[k] for k in order])) for x in parts]
        return _whole(backend, parts, len(out), operate, reduce)

    return run


def _operation(backend: Backend, op: Any) -> Callable:
    if callable(op):
        return op
    if backend.elementwise is not None:
        elementwise = backend.elementwise
        return lambda a, b: elementwise(op, a, b)
    found = getattr(backend.xp, op, None) or getattr(backend.xp, _ALIASES.get(op, str(op)), None)
    if found is None:
        raise EinopsError(f"{backend.name} has no operation {op}.", hint="Give it as a function of two arrays.")
    return found


def _whole(backend: Backend, parts: Sequence[Any], kept: int, operate: Callable, reduce: Any) -> Any:
    x = parts[0]
    for y in parts[1:]:
        x = operate(x, y)
    axes = tuple(range(kept, len(backend.shape(parts[0]))))
    if not axes:  # a reduction over one number is not always that number: a norm, a place
        x = backend.reshape(x, (*backend.shape(x), 1))
        axes = (kept,)
    if reduce.__class__ is str and hasattr(x, "shape"):
        return backend.reduce(x, reduce, axes)
    found = reduce(x, axes) if hasattr(x, "shape") else x
    if not hasattr(found, "shape"):
        raise EinopsTypeError(f"The functions of an einsum give arrays, not {shown(found)}.")
    return found


def _in_blocks(
    backend: Backend, parts: Sequence[Any], sizes: list, kept: int, operate: Callable, reduce: Any, limit: int
) -> Any:
    """Along the longest label of the result, and within a block along the next, until what is computed is small."""
    entries = total(sizes, range(len(sizes)))
    axis = max(range(kept), key=sizes.__getitem__)
    if entries <= limit or sizes[axis] == 1:
        return _whole(backend, parts, kept, operate, reduce)
    length = max(1, sizes[axis] * limit // entries)
    results = []
    for start in range(0, sizes[axis], length):
        stop = min(start + length, sizes[axis])
        inside = [x if x.shape[axis] == 1 else backend.slice(x, axis, start, stop) for x in parts]
        lengths = [*sizes[:axis], stop - start, *sizes[axis + 1 :]]
        results.append(_in_blocks(backend, inside, lengths, kept, operate, reduce, limit))
    return backend.concat(results, axis)
