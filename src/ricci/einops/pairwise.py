"""Sums of products of arrays whose axes are labels: the work behind einsum, on any kind of array.

Two arrays are one matrix product: the labels that both have and the result has are the batch, those that both have and
the result has not are summed, and each array has labels of its own,

    r[b.., i.., j..] = sum over k.. of x[b.., i.., k..] y[b.., k.., j..]

with every group merged into one axis. A :class:`Pair` says how each array is permuted and reshaped for that, so that
no copy is made where the order of its axes allows. More arrays are multiplied two by two, in the order that
``opt_einsum`` finds. Kinds of array that have an ``einsum`` of their own are left to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_letters
from typing import Any, NamedTuple, cast

from ricci.einops.backends.base import Backend
from ricci.einops.inference import total

Term = tuple[int, ...]


class Placing(NamedTuple):
    """One array on its way into a matrix product: permuted, merged, and the two last axes exchanged or not."""

    permutation: Term | None
    shape: tuple | None
    flipped: bool


class Pair(NamedTuple):
    """Two arrays, without repeated labels and labels that only one has and the result has not, as a matrix product."""

    exchanged: bool  # the second array is the left factor
    left: Placing
    right: Placing
    shape: tuple | None  # of the result, with every label an axis
    permutation: Term | None  # to the order of the result
    batch: int  # how many labels
    inner: bool  # whether anything is summed
    rows: bool  # whether the left factor has labels of its own
    columns: bool


def pair_of(first: Term, second: Term, out: Term, sizes: Sequence[Any]) -> Pair:
    """How to multiply two arrays with these labels."""
    own = [label for label in out if label in first and label not in second]
    other = [label for label in out if label in second and label not in first]
    exchanged = bool(own and other) and out.index(other[0]) < out.index(own[0])
    if exchanged:
        first, second, own, other = second, first, other, own
    batch = [label for label in out if label in first and label in second]
    larger = first if len(first) >= len(second) else second
    inner = [label for label in larger if label in first and label in second and label not in out]
    result = (*batch, *own, *other)
    one = all(len(part) == 1 for part in (own, other))
    order = tuple([result.index(label) for label in out])
    return Pair(
        exchanged,
        _side(first, batch, own, inner, sizes, False),
        _side(second, batch, other, inner, sizes, True),
        None if one else tuple([sizes[label] for label in result]),
        None if order == tuple(range(len(order))) else order,
        len(batch),
        bool(inner),
        bool(own),
        bool(other),
    )


def _side(term: Term, batch: list, own: list, inner: list, sizes: Sequence[Any], right: bool) -> Placing:
    """Stored as it comes, with the labels that lie closest together last, and flipped where that is the wrong way."""
    own_last = bool(own) and (not inner or term[-1] in own)
    last, before = (own, inner) if own_last else (inner, own)
    order = (*batch, *before, *last)
    permutation = tuple([term.index(label) for label in order])
    shape = None
    if len(own) != 1 or len(inner) != 1:
        shape = (*[sizes[k] for k in batch], total(sizes, before), total(sizes, last))
    return Placing(None if permutation == tuple(range(len(order))) else permutation, shape, own_last is not right)


class Pairing(NamedTuple):
    """Two arrays of a list are replaced by their product, which becomes the last."""

    at: tuple[int, ...]
    terms: tuple[Term, ...]
    out: Term


def steps_of(terms: Sequence[Term], out: Term, sizes: Sequence[Any]) -> list[Pairing]:
    """The products, two by two, in an order that costs little."""
    if len(terms) <= 2:
        return [Pairing(tuple(range(len(terms))), tuple(terms), out)]
    from opt_einsum.paths import auto

    numbers = {label: max(size, 1) if isinstance(size, int) else 64 for label, size in enumerate(sizes)}
    sets: Any = [frozenset(term) for term in (*terms, out)]  # of numbers, where opt_einsum writes letters
    path: Any = auto(sets[:-1], sets[-1], cast(Any, numbers))
    left, steps = list(terms), []
    for places in _in_pairs(path, len(terms)):
        chosen = tuple([left[p] for p in places])
        left = [term for p, term in enumerate(left) if p not in places]
        needed = {label for term in left for label in term} | set(out)
        made = out if not left else tuple(dict.fromkeys([k for term in chosen for k in term if k in needed]))
        left.append(made)
        steps.append(Pairing(places, chosen, made))
    return steps


def _in_pairs(path: Sequence[Sequence[int]], count: int) -> list[tuple[int, ...]]:
    """A path in which a step may join several arrays, as one that joins two at a time."""
    pairs = []
    for step in path:
        places = sorted(step, reverse=True)
        while len(places) > 2:
            pairs.append((places[1], places[0]))
            count -= 1
            places = [count - 1, *places[2:]]
        if len(places) == 2:
            pairs.append((places[1], places[0]))
            count -= 1
    while count > 1:
        pairs.append((count - 2, count - 1))
        count -= 1
    return pairs


def equation_of(terms: Sequence[Term], out: Term) -> str | None:
    """The labels as letters, or None where there are more labels than letters.

    >>> equation_of([(7, 2), (2, 5)], (7, 5))
    'ab,bc->ac'
    """
    letters: dict[int, str] = {}
    for label in (label for term in terms for label in term):
        if label not in letters:
            if len(letters) == len(ascii_letters):
                return None
            letters[label] = ascii_letters[len(letters)]
    sides = ["".join([letters[label] for label in term]) for term in terms]
    return ",".join(sides) + "->" + "".join([letters[label] for label in out])


def contraction(
    backend: Backend, kinds: Sequence[type], terms: Sequence[Term], out: Term, sizes: Sequence[Any]
) -> Callable:
    """A function of arrays of these types with these labels and sizes."""
    if backend.contract is not None:
        contract = backend.contract
        return lambda *xs: contract(xs, terms, out)
    equation = equation_of(terms, out)
    if equation is None or not hasattr(backend.xp, "einsum"):
        return _stepwise(backend, terms, out, sizes)
    return backend.contraction(kinds, equation, terms, out, sizes)


def _stepwise(backend: Backend, terms: Sequence[Term], out: Term, sizes: Sequence[Any]) -> Callable:
    """By permuting, reshaping, matrix products and sums, which all kinds of array have."""
    steps = steps_of(terms, out, sizes)

    def run(*xs: Any) -> Any:
        left = list(xs)
        for at, pair, made in steps:
            chosen = [left[p] for p in at]
            left = [x for p, x in enumerate(left) if p not in at]
            left.append(product(backend, chosen, pair, made, sizes))
        return left[0]

    return run


def product(backend: Backend, xs: list, terms: Sequence[Term], out: Term, sizes: Sequence[Any]) -> Any:
    if len(xs) == 1:
        x, term = summed(backend, xs[0], terms[0], set(out), sizes)
        order = tuple([term.index(label) for label in out])
        return x if order == tuple(range(len(order))) else backend.transpose(x, order)
    (x, first), (y, second) = [
        summed(backend, x, term, {*out, *other}, sizes) for x, term, other in zip(xs, terms, reversed(terms))
    ]
    pair = pair_of(first, second, out, sizes)
    if pair.exchanged:
        x, y = y, x
    if not pair.inner:  # one number times one number: no sum, so no matrix product
        return _outer(backend, x, y, (second, first) if pair.exchanged else (first, second), out)
    x, y = _placed(backend, x, pair.left), _placed(backend, y, pair.right)
    result = backend.xp.matmul(x, y)
    if pair.shape is not None:
        result = backend.reshape(result, pair.shape)
    return result if pair.permutation is None else backend.transpose(result, pair.permutation)


def _placed(backend: Backend, x: Any, side: Placing) -> Any:
    if side.permutation is not None:
        x = backend.transpose(x, side.permutation)
    if side.shape is not None:
        x = backend.reshape(x, side.shape)
    n = len(x.shape)
    return backend.transpose(x, (*range(n - 2), n - 1, n - 2)) if side.flipped else x


def _outer(backend: Backend, x: Any, y: Any, terms: Sequence[Term], out: Term) -> Any:
    x, y = [aligned(backend, each, term, out) for each, term in zip((x, y), terms)]
    return backend.xp.multiply(x, y)


def aligned(backend: Backend, x: Any, term: Term, order: Term) -> Any:
    """An array with its labels in this order, and an axis of size 1 for each label that it does not have."""
    own = [label for label in order if label in term]
    permutation = tuple([term.index(label) for label in own])
    if permutation != tuple(range(len(permutation))):
        x = backend.transpose(x, permutation)
    if len(own) == len(order):
        return x
    lengths = dict(zip(own, backend.shape(x)))  # its own, which are symbols where sizes may be symbols of others
    return backend.reshape(x, tuple([lengths.get(label, 1) for label in order]))


def summed(backend: Backend, x: Any, term: Term, needed: set[int], sizes: Sequence[Any]) -> tuple[Any, Term]:
    """An array with its diagonals taken, and summed over the labels that are not needed."""
    for label in dict.fromkeys(term):
        if term.count(label) > 1:
            x, term = _diagonal(backend, x, term, label, sizes)
    axes = tuple([axis for axis, label in enumerate(term) if label not in needed])
    if not axes:
        return x, term
    dtype = {} if backend.name == "dask" else {"dtype": x.dtype}  # integers keep their type, as in einsum
    return backend.xp.sum(x, axis=axes, **dtype), tuple([label for label in term if label in needed])


def _diagonal(backend: Backend, x: Any, term: Term, label: int, sizes: Sequence[Any]) -> tuple[Any, Term]:
    """Repeated axes are merged, and every (1 + n + n² + …)-th entry is on the diagonal."""
    at = [axis for axis, own in enumerate(term) if own == label]
    rest = [axis for axis in range(len(term)) if axis not in at]
    n = sizes[label]
    flat = backend.reshape(backend.transpose(x, (*at, *rest)), (n ** len(at), *[sizes[term[axis]] for axis in rest]))
    step = sum([n**k for k in range(len(at))])
    flat = flat[(slice(None, None, max(step, 1)), ...)] if rest else flat[:: max(step, 1)]
    return flat, (label, *[term[axis] for axis in rest])
