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

from ricci.caches import Cache
from ricci.einops.backends.base import Backend
from ricci.einops.contraction import in_shapes, noted, pattern_and_arrays
from ricci.einops.labels import Labels, Terms, labels_of, merged_back, solved, split_up, terms_of
from ricci.einops.naming import check, watched
from ricci.einops.operations import all_plain, sizes_given
from ricci.einops.patterns import span_of
from ricci.einops.products import aligned, as_torch, common_backend, compiling, total, traced_beside_torch
from ricci.einops.scattering import REDUCTIONS, as_places, kept_out, kernel_of, out_of_range, taken
from ricci.errors import EinopsError, EinopsTypeError, nearest

_MOST = 2048


class Plan(NamedTuple):
    """What is done with arrays of these shapes; ``run`` takes the array and the list of indices, split into labels."""

    what: str
    labels: Labels
    sizes: list
    terms: Terms
    places: tuple[int, ...]  # the labels that are looked up
    run: Callable


_plans = Cache("calls of gather and scatter", _MOST)


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
    return _call("gather", operands, sizes, "sum")


def scatter(*operands: Any, reduce: str = "sum", **sizes: Any) -> Any:
    """Numbers combined at places given by integers: the transpose of :func:`gather`.

    The names that only the right side has are the places, in order, one for each index; their sizes must be given.
    ``reduce`` is sum, prod, max, min or mean. Where nothing is put, the result is what combines with nothing: 0 for sum
    and mean, 1 for prod, minus infinity for max and infinity for min (of integers the ends of their range).

    >>> import numpy as np
    >>> scatter("t, t -> v", np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), v=4)
    array([2., 0., 5., 0.])
    """
    return _call("scatter", operands, sizes, reduce)


_EXAMPLES = {
    "gather": '"v d, b t -> b t d", table, tokens',
    "scatter": '"b t d, b t -> v d", values, tokens, v=1000',
}


def _call(what: str, operands: Sequence[Any], lengths: Mapping[str, Any], reduce: str) -> Any:
    pattern, arrays = pattern_and_arrays(f"rc.{what}", operands, _EXAMPLES[what])
    if compiling(arrays):
        return _recorded(what, arrays, pattern, reduce, lengths)
    if traced_beside_torch(arrays):
        return as_torch(_call, what, operands, lengths, reduce)
    backend = common_backend(arrays, f"rc.{what}")
    xs = backend.together(arrays)
    shapes = tuple([backend.shape(x) for x in xs])
    sizes = sizes_given(lengths, pattern)
    names, values = tuple(sizes), tuple(sizes.values())
    key = (pattern, what, reduce, backend.name, shapes, names, values)
    if not all(map(all_plain, (*shapes, values))):
        return _done(_planned(what, backend, shapes, pattern, reduce, names, values), backend, xs, arrays, pattern)
    plan = _plans[key]
    if plan is None:
        plan = _planned(what, backend, shapes, pattern, reduce, names, values)
        result = _done(plan, backend, xs, arrays, pattern)  # a call that fails leaves nothing behind
        _plans.keep(key, plan)
        return result
    return _done(plan, backend, xs, arrays, pattern)


def _planned(
    what: str, backend: Backend, shapes: tuple, pattern: str, reduce: str, names: tuple, values: tuple
) -> Plan:
    _check_reduction(reduce)
    labels = in_shapes(shapes, names, values, _read, pattern, tuple(map(len, shapes)), names, what)
    sizes = solved(labels, shapes, values, "none")
    terms = terms_of(labels, shapes, sizes)
    make = _FORMULA if backend.name == "formula" else _ARRAYS
    run = make[what](backend, labels, sizes, terms, reduce)
    return Plan(what, labels, sizes, terms, looked_up(what, labels, terms), run)


def _check_reduction(reduce: str) -> None:
    if reduce not in REDUCTIONS:
        hint = nearest(str(reduce), REDUCTIONS)
        raise EinopsError(
            f"Unknown reduction {reduce} in rc.scatter. Expect one of {', '.join(REDUCTIONS)}.", hint=hint
        )


def _recorded(what: str, xs: Sequence[Any], pattern: str, reduce: str, lengths: Mapping[str, Any]) -> Any:
    """In a program that is being compiled: plain steps on sizes that may be symbols; no place is looked at."""
    from ricci.einops.backends.torch_arrays import TorchBackend

    backend = TorchBackend()
    _check_reduction(reduce)
    shapes = [x.shape for x in xs]
    labels = _constant(pattern, tuple([len(shape) for shape in shapes]), tuple(lengths), what)
    sizes = solved(labels, shapes, tuple(lengths.values()), "none")
    terms = terms_of(labels, shapes, sizes)
    run = _ARRAYS[what](backend, labels, sizes, terms, reduce)
    x, *indices = split_up(backend, xs, terms)
    result = run(x, [as_places(backend, index) for index in indices])
    return merged_back(backend, result, terms)


def _read(pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], what: str) -> Labels:
    """The labels, and whether they make sense as indexing."""
    labels = labels_of(pattern, ndims, names, what)
    terms = [[label for group in groups for label in group] for groups in (*labels.operands, labels.out)]
    for term in terms:
        twice = [label for label in term if term.count(label) > 1]
        if twice:
            raise _fault(labels, f"Axis {labels.axes[twice[0]]} is twice in one array.", twice[0], _DIAGONAL)
    (x, *indices, out) = terms
    if what == "gather":
        places = [label for label in x if label not in out and not any(label in index for index in indices)]
        gone = [label for index in indices for label in index if label not in out]
    else:
        places = list(labels.new)
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
    return labels


_DIAGONAL = 'A diagonal is rc.einsum("i i -> i", x).'


def _constant(pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], what: str) -> Labels:
    return _read(pattern, ndims, names, what)


_constant._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _fault(labels: Labels, message: str, label: int, hint: str, left: bool = True) -> EinopsError:
    return EinopsError(message, labels.text, *span_of(labels.text, labels.axes[label], left), hint)


def _done(plan: Plan, backend: Backend, xs: Sequence[Any], given: Sequence[Any], pattern: str) -> Any:
    """The result for ``xs``, the arrays ``given`` as they stand beside one another."""
    labels, terms = plan.labels, plan.terms
    inputs, named = [], {}
    seen = watched(backend, xs)
    if seen:
        named = {name: size for name, size in zip(labels.axes, plan.sizes) if isinstance(name, str)}
        inputs = [(x, labels.named(groups)) for x, groups in zip(xs, labels.operands)]
        xs = check(backend, plan.what, pattern, inputs, named)
    x, *indices = split_up(backend, xs, terms)
    if backend.name != "formula":
        indices = [as_places(backend, index) for index in indices]
        _check_range(given[1:] if backend.name == "ricci" else indices, plan)
        if backend.name in ("ricci", "jax"):
            whole = total(plan.sizes, {*plan.places, *[label for term in terms.terms[1:] for label in term]})
            indices = [kept_out(backend, at, plan.sizes[k], whole) for at, k in zip(indices, plan.places)]
    result = merged_back(backend, plan.run(x, indices), terms)
    return noted(backend, plan.what, pattern, labels, inputs, result, named) if seen else result


def looked_up(what: str, labels: Labels, terms: Terms) -> tuple[int, ...]:
    """The labels whose places the indices tell."""
    if what == "scatter":
        return labels.new
    others = {label for term in (terms.out, *terms.terms[1:]) for label in term}
    return tuple([label for label in terms.terms[0] if label not in others])


def _order(made: Sequence[int], out: Sequence[int]) -> tuple[int, ...] | None:
    """The permutation from labels as they come to labels as they are wanted."""
    order = tuple([made.index(label) for label in out])
    return None if order == tuple(range(len(order))) else order


def _gather(backend: Backend, labels: Labels, sizes: list, terms: Terms, reduce: str) -> Callable:
    term, out = terms.terms[0], terms.out
    around = tuple([label for label in out if any(label in index for index in terms.terms[1:])])
    read = looked_up("gather", labels, terms)
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


def _scatter(backend: Backend, labels: Labels, sizes: list, terms: Terms, reduce: str) -> Callable:
    kernel = kernel_of(backend)
    term, out = terms.terms[0], terms.out
    around = tuple(dict.fromkeys([label for index in terms.terms[1:] for label in index]))
    batch = [label for label in around if label in out]
    rest = tuple([label for label in out if label in term and label not in around])
    spread = any(label not in term for label in around)  # one number for many places
    full = tuple([sizes[label] for label in (*around, *rest)])
    flat = _merged(backend, terms.terms[1:], batch, labels.new, around, sizes)
    made = [*batch, *labels.new, *rest]
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


def _check_range(indices: Sequence[Any], plan: Plan) -> None:
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


def _formula_gather(backend: Any, labels: Labels, sizes: list, terms: Terms, reduce: str) -> Callable:
    return lambda x, indices: backend.gather(x, terms.terms[0], indices, terms.terms[1:], terms.out)


def _formula_scatter(backend: Any, labels: Labels, sizes: list, terms: Terms, reduce: str) -> Callable:
    if reduce != "sum":
        raise EinopsTypeError(f"Formulas are scattered by sums, not by {reduce}.")
    given = {label: sizes[label] for label in labels.new}
    return lambda x, indices: backend.scatter(x, terms.terms[0], indices, terms.terms[1:], terms.out, given)


_ARRAYS: dict[str, Callable] = {"gather": _gather, "scatter": _scatter}
_FORMULA: dict[str, Callable] = {"gather": _formula_gather, "scatter": _formula_scatter}
