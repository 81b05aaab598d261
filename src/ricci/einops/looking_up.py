"""gather and scatter: indexing by names.

    gather   "v d, b t -> b t d"    r[b,t,d] = x[at[b,t], d]              the axes that only x has are looked up
    scatter  "b t d, b t -> v d"    r[v,d]   = sum of x[b,t,d] over all b, t with at[b,t] = v

Each is the other's derivative. Every index operand tells the places along one axis, in the order in which the axes
stand in the pattern; names that an index shares with the array or the result are a batch. An index is a place, 0 to the
size less one: negative ones are out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ricci.caches import cached
from ricci.einops.backends import any_compiling
from ricci.einops.backends.base import Backend
from ricci.einops.driver import Task, first
from ricci.einops.einsums import pattern_and_arrays
from ricci.einops.grammar import span_of
from ricci.einops.inference import total
from ricci.einops.labels import Labels, labels_of
from ricci.einops.pairwise import aligned
from ricci.einops.scattering import REDUCTIONS, as_places, kept_out, kernel_of, out_of_range, taken
from ricci.einops.splitting import Factored, factored
from ricci.errors import EinopsError, EinopsTypeError, nearest


class Lookup(NamedTuple):
    """What is read or written: the arrays in labels, the sizes of these, and the labels whose places are looked up."""

    labels: Labels
    sizes: list
    terms: Factored
    places: tuple[int, ...]


class Indexed(NamedTuple):
    """A pattern of gather or scatter, and the labels whose places the indices tell."""

    labels: Labels
    places: tuple[int, ...]


class LooksUp(Task):
    """gather or scatter; its option is the reduction. Arrays come as they are given, since places that are plain
    integers are looked at even where they are made part of a trace."""

    lifts = True

    def read(self, pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], operation: str) -> Indexed:
        return _read(pattern, ndims, names, self.title)

    def plan(self, backend: Backend, reading: Indexed, shapes: Sequence[tuple], sizes: list, options: tuple) -> Lookup:
        return Lookup(reading.labels, sizes, factored(reading.labels, shapes, sizes), reading.places)

    def function(self, backend: Backend, kinds: Sequence[type], plan: Lookup, options: tuple, plain: bool) -> Callable:
        terms, make = plan.terms, {"gather": _gather, "scatter": _scatter}[self.title]
        core = make(backend, plan, *options)
        native = backend.gather is None
        recorded = backend.name in ("ricci", "jax")
        whole = total(plan.sizes, {*plan.places, *[label for term in terms.terms[1:] for label in term]})

        def run(*arrays: Any) -> Any:
            xs = backend.together(arrays)
            x, *indices = [y if split is None else backend.split(y, split) for y, split in zip(xs, terms.splits)]
            if native:
                indices = [as_places(backend, index) for index in indices]
                if not any_compiling(arrays):
                    _check_range(arrays[1:] if backend.name == "ricci" else indices, plan)
                if recorded:
                    indices = [kept_out(backend, at, plan.sizes[k], whole) for at, k in zip(indices, plan.places)]
            result = core(x, indices)
            return result if terms.merged is None else backend.merge(result, terms.counts, terms.merged)

        return run


GATHER, SCATTER = LooksUp("gather", "gather", "rc.gather"), LooksUp("scatter", "scatter", "rc.scatter")


def gather(*operands: Any, **sizes: Any) -> Any:
    """An array read at places given by integers; the pattern is first or last, then the array, then the indices.

    The axes of the array that are neither in an index nor on the right are looked up, in order, one for each index.
    On NumPy, and on the CPU with PyTorch, a place out of range is an error; JAX fills in NaN (or the smallest integer),
    as ``jnp.take`` does.

    >>> import numpy as np
    >>> table, tokens = np.arange(8.0).reshape(4, 2), np.array([[3, 0, 3]])
    >>> gather("v d, b t -> b t d", table, tokens)
    array([[[6., 7.],
            [0., 1.],
            [6., 7.]]])
    """
    return _call(GATHER, operands, sizes, "sum")


def scatter(*operands: Any, reduce: str = "sum", **sizes: Any) -> Any:
    """Numbers combined at places given by integers: the transpose of :func:`gather`.

    The names that only the right side has are the places, in order, one for each index; their sizes must be given.
    ``reduce`` is sum, prod, max, min or mean. Where nothing is put, the result is what combines with nothing: 0 for sum
    and mean, 1 for prod, minus infinity for max and infinity for min (of integers the ends of their range).

    >>> import numpy as np
    >>> scatter("t, t -> v", np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), v=4)
    array([2., 0., 5., 0.])
    """
    return _call(SCATTER, operands, sizes, reduce)


_EXAMPLES = {
    "gather": '"v d, b t -> b t d", table, tokens',
    "scatter": '"b t d, b t -> v d", values, tokens, v=1000',
}


def _call(task: Task, operands: Sequence[Any], lengths: Mapping[str, Any], reduce: str) -> Any:
    pattern, arrays = pattern_and_arrays(task.said, operands, _EXAMPLES[task.title])
    if reduce not in REDUCTIONS:
        message = f"Unknown reduction {reduce} in rc.scatter. Expect one of {', '.join(REDUCTIONS)}."
        raise EinopsError(message, hint=nearest(str(reduce), REDUCTIONS))
    if any_compiling(arrays) or not {int}.issuperset(map(type, lengths.values())):
        return first(task, arrays, pattern, lengths, (reduce,))
    key = (pattern, reduce, *map(type, arrays), *lengths, *lengths.values())
    run = task.calls.known.get(key)
    return run(*arrays) if run is not None else first(task, arrays, pattern, lengths, (reduce,), key)


@cached("patterns of gather and scatter", 2048)
def _read(pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], what: str) -> Indexed:
    """The labels, and whether they make sense as indexing."""
    labels = labels_of(pattern, ndims, names, what)
    terms = [[label for group in groups for label in group] for groups in (*labels.operands, labels.results[0])]
    for term in terms:
        twice = [label for label in term if term.count(label) > 1]
        if twice:
            raise _fault(labels, f"Axis {labels.axes[twice[0]]} is twice in one array.", twice[0], _DIAGONAL)
    (x, *indices, out) = terms
    if what == "gather":
        places = [label for label in x if label not in out and not any(label in index for index in indices)]
        gone = [label for index in indices for label in index if label not in out]
    else:
        places = list(range(labels.count, len(labels.axes)))
        gone = [label for label in x if label not in out and not any(label in index for index in indices)]
        unsized = [label for label in places if label not in labels.given]
        if unsized:
            name = labels.axes[unsized[0]]
            raise _fault(
                labels, f"The size of the new axis {name} must be given.", unsized[0], f"Write {name}=....", False
            )
    if gone:
        verb = "looked up nor kept" if what == "scatter" else "in the result"
        raise _fault(labels, f"Axis {labels.axes[gone[0]]} is not {verb}.", gone[0], "Reduce it with rc.reduce.")
    if len(places) != len(indices):
        called = ", ".join([str(labels.axes[label]) for label in places]) or "none"
        where = "only the array has" if what == "gather" else "only the result has"
        message = f"rc.{what} needs one index for each axis that {where}: there are {len(indices)} for {called}."
        raise EinopsError(message, labels.text, 0, len(labels.text), f"For instance rc.{what}({_EXAMPLES[what]}).")
    return Indexed(labels, tuple(places))


_DIAGONAL = 'A diagonal is rc.einsum("i i -> i", x).'


def _fault(labels: Labels, message: str, label: int, hint: str, left: bool = True) -> EinopsError:
    return EinopsError(message, labels.text, *span_of(labels.text, labels.axes[label], left), hint)


def _order(made: Sequence[int], out: Sequence[int]) -> tuple[int, ...] | None:
    """The permutation from labels as they come to labels as they are wanted."""
    order = tuple([made.index(label) for label in out])
    return None if order == tuple(range(len(order))) else order


def _gather(backend: Backend, plan: Lookup, reduce: str) -> Callable:
    _, sizes, terms, read = plan
    term, out = terms.terms[0], terms.out
    if backend.gather is not None:
        own = backend.gather
        return lambda x, indices: own(x, term, indices, terms.terms[1:], out)
    around = tuple([label for label in out if any(label in index for index in terms.terms[1:])])
    batch = [label for label in term if label in around]
    rest = [label for label in term if label not in read and label not in batch]
    axis, before, merged, made = 0, None, None, [*around, *rest]
    if not batch and len(read) == 1:
        axis = term.index(read[0])
        made = [*term[:axis], *around, *term[axis + 1 :]]
    else:
        before = _order(term, [*batch, *read, *rest])
        merged = (total(sizes, [*batch, *read]), *[sizes[label] for label in rest])
    after, shape = _order(made, out), tuple([sizes[label] for label in around])
    flat = _merged(backend, terms.terms[1:], batch, read, around, sizes)

    def run(x: Any, indices: Sequence[Any]) -> Any:
        if before is not None:
            x = backend.transpose(x, before)
        if merged is not None:
            x = backend.reshape(x, merged)
        x = taken(backend, x, flat(indices), axis, shape)
        return x if after is None else backend.transpose(x, after)

    return run


def _scatter(backend: Backend, plan: Lookup, reduce: str) -> Callable:
    _, sizes, terms, new = plan
    term, out = terms.terms[0], terms.out
    if backend.scatter is not None:
        if reduce != "sum":
            raise EinopsTypeError(f"Formulas are scattered by sums, not by {reduce}.")
        own, given = backend.scatter, {label: sizes[label] for label in new}
        return lambda x, indices: own(x, term, indices, terms.terms[1:], out, given)
    kernel = kernel_of(backend)
    around = tuple(dict.fromkeys([label for index in terms.terms[1:] for label in index]))
    batch = [label for label in around if label in out]
    rest = tuple([label for label in out if label in term and label not in around])
    spread = any(label not in term for label in around)  # one number for many places
    full = tuple([sizes[label] for label in (*around, *rest)])
    flat = _merged(backend, terms.terms[1:], batch, new, around, sizes)
    made = [*batch, *new, *rest]
    places, shape, after = total(sizes, made[: len(made) - len(rest)]), [sizes[k] for k in made], _order(made, out)
    rows = (total(sizes, around), total(sizes, rest))

    def run(x: Any, indices: Sequence[Any]) -> Any:
        x = aligned(backend, x, term, (*around, *rest))
        if spread:
            x = backend.expand(x, full)
        result = _combined(backend, kernel, backend.reshape(x, rows), flat(indices), places, reduce)
        result = backend.reshape(result, tuple(shape))
        return result if after is None else backend.transpose(result, after)

    return run


def _combined(backend: Backend, kernel: Callable, x: Any, at: Any, places: Any, reduce: str) -> Any:
    if reduce != "mean":
        return kernel(x, at, places, reduce)
    backend.check_mean(x)
    count = kernel(backend.xp.ones_like(x[:, :1]), at, places, "sum")
    return kernel(x, at, places, "sum") / backend.xp.where(count == 0, backend.xp.ones_like(count), count)


def _merged(
    backend: Backend, terms: Sequence[tuple], batch: Sequence, read: Sequence, around: tuple, sizes: list
) -> Callable[[Sequence[Any]], Any]:
    """What makes one flat index into the merged axes of the batch and of what is looked up."""
    whole, shape = (total(sizes, around),), tuple([sizes[label] for label in around])
    if len(terms) == 1 and not batch:
        order = _order(terms[0], around)
        if order is None:
            return lambda indices: backend.reshape(indices[0], whole)
        return lambda indices: backend.reshape(backend.transpose(indices[0], order), whole)
    labels = [*batch, *read]
    steps = [total(sizes, labels[k + 1 :]) for k in range(len(labels))]

    def flat(indices: Sequence[Any]) -> Any:
        parts = [aligned(backend, index, term, around) for index, term in zip(indices, terms)]
        at = None
        for label, step in zip(labels, steps):
            if label in read:
                part = parts[read.index(label)]
            else:
                part = _count(backend, sizes[label], indices)
                part = backend.reshape(part, tuple([sizes[own] if own == label else 1 for own in around]))
            at = part * step if at is None else at + part * step
        return backend.reshape(backend.xp.broadcast_to(at, shape), whole)

    return flat


def _count(backend: Backend, size: Any, indices: Sequence[Any]) -> Any:
    where = {"device": indices[0].device} if backend.name == "torch" else {}
    return backend.xp.arange(size, dtype=indices[0].dtype, **where)


def _check_range(indices: Sequence[Any], plan: Lookup) -> None:
    labels, sizes = plan.labels, plan.sizes
    for number, (label, index) in enumerate(zip(plan.places, indices), 1):
        wrong = out_of_range(index, sizes[label])
        if wrong is not None:
            name = labels.axes[label]
            message = f"Index {wrong} is out of range for axis {name} of size {sizes[label]}, in array {number}."
            hint = f"Places are 0 to {sizes[label] - 1}; negative ones are not counted from the end."
            if sizes[label] == 0:
                hint = "There are no places."
            raise EinopsError(message, labels.text, *span_of(labels.text, name), hint)
