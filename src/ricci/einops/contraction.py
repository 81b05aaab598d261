"""einsum: sums of products of arrays, and of anything else that two numbers can be made into one by.

``einsum`` is that of einops. ``wide_einsum``, which users know as ``rc.einsum``, also takes composite axes, numbers,
any count of names, and other operations than products and sums: with ``op="add", reduce="min"`` a matrix product is
a step of shortest paths.

As in :mod:`ricci.einops.operations`, a call is one lookup, by the pattern and the types of the arrays, to a function
in which little is left to decide; that looks up the shapes where they matter. What tiny arrays of NumPy need does not
depend on their shapes at all. While axes are watched, the tables are empty, and calls with tensors of PyTorch are never
in them, for the reasons given there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ricci.caches import Cache
from ricci.einops.backends.base import Backend
from ricci.einops.equations import compact, explained
from ricci.einops.labels import Labels, Terms, labels_of, merged_back, solved, split_up, terms_of
from ricci.einops.naming import carried, check, note, watched
from ricci.einops.operations import all_plain, plain_kinds, sizes_given
from ricci.einops.products import (
    as_torch,
    common_backend,
    compiling,
    contraction,
    equation_of,
    product,
    steps_of,
    traced_beside_torch,
)
from ricci.einops.semirings import check_names, combined
from ricci.errors import EinopsError, EinopsTypeError, EinopsValueError
from ricci.scopes.watch import CallCache

_MOST = 4096  # calls that are kept
_MOST_SHAPES = 512  # shapes that are kept for a call

_kinds = plain_kinds.known
_known = Cache("contractions", _MOST)  # all calls that were met
# What einsum looks into: the same calls, or none while axes are watched.
_plain = CallCache("calls of einsum", _MOST)
_wide = CallCache("calls of einsum in the wider language", _MOST)


def einsum(*tensors_and_pattern: Any) -> Any:
    """Products of arrays, summed over the axes that are not on the right; the pattern comes last.

    >>> import numpy as np
    >>> einsum(np.ones((2, 3)), np.ones((3, 4)), "batch time, time out -> batch out").shape
    (2, 4)
    """
    if len(tensors_and_pattern) == 3:
        x, y, pattern = tensors_and_pattern
        if x.__class__ in _kinds and pattern.__class__ is str:
            run = _plain.known.get((pattern, x.__class__, y.__class__))
            if run is not None:
                try:
                    return run(x, y)
                except (ValueError, IndexError) as error:
                    raise explained(error, pattern, (x, y)) from None
    elif tensors_and_pattern:
        *tensors, pattern = tensors_and_pattern
        if tensors_and_pattern[0].__class__ in _kinds and pattern.__class__ is str:
            run = _plain.known.get((pattern, *map(type, tensors)))
            if run is not None:
                return _tried(run, pattern, tensors)
    return _first_plain(tensors_and_pattern)


def _first_plain(arguments: tuple) -> Any:
    """A call of einops' einsum, other than the commonest ones."""
    if len(arguments) <= 1:
        message = "`einops.einsum` takes at minimum two arguments: the tensors (at least one), followed by the pattern."
        raise EinopsValueError(message)
    *tensors, pattern = arguments
    if not isinstance(pattern, str):
        message = "The last argument passed to `einops.einsum` must be a string, representing the einsum pattern."
        raise EinopsValueError(message, hint=f"It is of {type(pattern).__name__}.")
    if compiling(tensors):
        return _recorded(tensors, pattern, "multiply", "sum", {}, "all")
    if traced_beside_torch(tensors):
        return as_torch(_first_plain, arguments)
    backend = common_backend(tensors, "einsum")
    if watched(backend, tensors):
        compact(pattern)  # what einops refuses is refused
        return _anew(backend, tensors, pattern, "multiply", "sum", {}, "all")
    kinds = tuple(map(type, tensors))
    key = (pattern, *kinds)
    run = _known[key]
    if run is not None:
        result = _tried(run, pattern, tensors)
    else:
        run = _plain_run(backend, kinds, pattern)
        result = _tried(run, pattern, tensors)  # a call that fails leaves nothing behind
        _known.keep(key, run)
    if not backend.traced:
        _plain.keep(key, run)
        plain_kinds.keep(kinds[0], True)
    return result


def _tried(run: Callable, pattern: str, tensors: Sequence[Any]) -> Any:
    try:
        return run(*tensors)
    except (ValueError, IndexError) as error:
        raise explained(error, pattern, tensors) from None


def _plain_run(backend: Backend, kinds: tuple[type, ...], pattern: str) -> Callable:
    """The function for arrays of these types."""
    run = backend.einsum_of(kinds, compact(pattern), _by_shape(backend, pattern, (), (), "multiply", "sum", "all"))
    return _mixed(backend, kinds, run, lambda *xs: _first_plain((*xs, pattern)))


def _mixed(backend: Backend, kinds: Sequence[type], run: Callable, slow: Callable) -> Callable:
    """``run``, where arrays of several kinds stand beside one another or carry names."""
    if backend.name != "ricci":
        return run
    plain = run if len({*kinds}) == 1 else (lambda *xs: run(*backend.together(xs)))
    return backend.unless_named(plain, slow)


def _by_shape(
    backend: Backend, pattern: str, names: tuple, values: tuple, op: Any, reduce: Any, broadcasts: str
) -> Callable:
    """One function for the shapes of all arrays together, made when they are met."""
    table = Cache("shapes of contractions", _MOST_SHAPES)
    kind = "einops" if broadcasts == "all" else "einsum"

    def run(*xs: Any) -> Any:
        made = table.known.get(tuple([x.shape for x in xs]))
        return made(*xs) if made is not None else new(xs)

    def new(xs: tuple) -> Any:
        shapes = tuple([backend.shape(x) for x in xs])
        labels = in_shapes(shapes, names, values, labels_of, pattern, tuple(map(len, shapes)), names, kind)
        made = planned(backend, xs, labels, shapes, values, op, reduce, broadcasts)
        result = made(*xs)
        if all(map(all_plain, shapes)):
            table.keep(shapes, made)
        return result

    return run


def in_shapes(shapes: Sequence, names: Sequence[str], values: Sequence, function: Callable, *args: Any) -> Any:
    """``function(*args)``; its errors also say what the shapes and sizes were."""
    try:
        return function(*args)
    except EinopsError as error:
        if "Input shapes" not in error.hint:
            given = f" Sizes given: {', '.join([f'{n}={v}' for n, v in zip(names, values)])}." if names else ""
            text = f"Input shapes: {', '.join([str(tuple(shape)) for shape in shapes])}.{given}"
            error.hint = "\n".join(filter(None, [error.hint, text]))
        raise


def planned(
    backend: Backend,
    xs: Sequence[Any],
    labels: Labels,
    shapes: Sequence[tuple],
    values: Sequence[Any],
    op: Any,
    reduce: Any,
    broadcasts: str = "hidden",
) -> Callable:
    """A function of arrays of these types and shapes."""
    sizes = solved(labels, shapes, values, broadcasts)
    terms = terms_of(labels, shapes, sizes)
    if op == "multiply" and reduce == "sum":
        core = contraction(backend, tuple(map(type, xs)), terms.terms, terms.out, sizes)
    else:
        core = combined(backend, terms, sizes, op, reduce)
    if terms.merged is None and all(split is None for split in terms.splits):
        return core
    return _around(backend, terms, core)


def _around(backend: Backend, terms: Terms, core: Callable) -> Callable:
    """Split into labels, compute, merge."""
    reshape, merged = backend.reshape, terms.merged
    if not backend.direct:
        return lambda *xs: merged_back(backend, core(*split_up(backend, xs, terms)), terms)
    splits = [split and tuple([size for sizes in split for size in sizes]) for split in terms.splits]

    def run(*xs: Any) -> Any:
        parts = [x if split is None else reshape(x, split) for x, split in zip(xs, splits)]
        result = core(*parts)
        return result if merged is None else reshape(result, merged)

    return run


def wide_einsum(*operands: Any, op: Any = "multiply", reduce: Any = "sum", **sizes: Any) -> Any:
    """Arrays multiplied, and summed over the axes that are not on the right; the pattern is first or last.

    Axes may be composite, with sizes by keyword, numbers are axes of that size, an axis named twice is a diagonal, axes
    under ``...`` broadcast, and without an arrow the result has the names that occur once, sorted. ``op`` is applied
    from left to right instead of the product: a name (multiply, add, subtract, divide, maximum, minimum, power,
    logaddexp, …) or a function of two arrays; ``reduce`` instead of the sum: a name (sum, mean, max, min, prod, any,
    all, logsumexp, var, std, norm, argmax, argmin) or a function of an array and axes. Names that einsum gives a
    meaning to, ``op`` and ``reduce``, are no axes whose size can be given.

    >>> import numpy as np
    >>> a, b = np.arange(6.0).reshape(6, 1), np.array([[1.0, 10.0]])
    >>> wide_einsum("(g i) k, k j -> g i j", a, b, g=2).shape
    (2, 3, 2)
    >>> road = np.array([[0.0, 2.0, 9.0], [2.0, 0.0, 3.0], [9.0, 3.0, 0.0]])
    >>> wide_einsum("i k, k j -> i j", road, road, op="add", reduce="min")[0]
    array([0., 2., 5.])
    """
    if len(operands) == 3 and op == "multiply" and reduce == "sum" and not sizes:
        pattern, x, y = operands
        if pattern.__class__ is not str:
            x, y, pattern = operands
        if x.__class__ in _kinds and pattern.__class__ is str:
            run = _wide.known.get((pattern, x.__class__, y.__class__))
            if run is not None:
                return run(x, y)
    elif len(operands) > 1 and op.__class__ is str and reduce.__class__ is str:
        pattern, *tensors = operands if operands[0].__class__ is str else (operands[-1], *operands[:-1])
        if tensors[0].__class__ in _kinds:
            key = _key(pattern, tensors, op, reduce, sizes)
            run = _wide.known.get(key) if key is not None else None
            if run is not None:
                return run(*tensors)
    return _first_wide(operands, op, reduce, sizes)


def _first_wide(operands: tuple, op: Any, reduce: Any, lengths: dict[str, Any]) -> Any:
    pattern, tensors = pattern_and_arrays("rc.einsum", operands, '"i j, j k -> i k", x, y')
    if compiling(tensors):
        return _recorded(tensors, pattern, op, reduce, lengths, "hidden")
    if traced_beside_torch(tensors):
        return as_torch(_first_wide, operands, op, reduce, lengths)
    backend = common_backend(tensors, "rc.einsum")
    key = _key(pattern, tensors, op, reduce, lengths) if op.__class__ is reduce.__class__ is str else None
    if key is None or backend.name == "formula" or watched(backend, tensors):
        sizes = sizes_given(lengths, pattern)
        check_names(op, reduce)
        return _anew(backend, tensors, pattern, op, reduce, sizes, "hidden")
    run = _known[key, "wide"]
    if run is not None:
        result = run(*tensors)
    else:
        sizes = sizes_given(lengths, pattern)
        check_names(op, reduce)
        run = _wide_run(backend, tensors, pattern, op, reduce, sizes)
        result = run(*tensors)
        _known.keep((key, "wide"), run)
    if not backend.traced:
        _wide.keep(key, run)
        plain_kinds.keep(type(tensors[0]), True)
    return result


def _key(pattern: Any, tensors: Sequence, op: str, reduce: str, sizes: Mapping[str, Any]) -> tuple | None:
    """What a call is looked up by: only plain integers, so that 2.0 or True never finds what 2 has made."""
    if pattern.__class__ is not str:
        return None
    if not sizes and op == "multiply" and reduce == "sum":
        return (pattern, *map(type, tensors))
    for size in sizes.values():
        if size.__class__ is not int:
            return None
    return (pattern, *map(type, tensors), op, reduce, *sizes, *sizes.values())


def _wide_run(backend: Backend, tensors: Sequence, pattern: str, op: str, reduce: str, sizes: Mapping) -> Callable:
    """The function for arrays of these types."""
    run = _by_shape(backend, pattern, tuple(sizes), tuple(sizes.values()), op, reduce, "hidden")
    if backend.name == "ricci":
        return _mixed(
            backend, [*map(type, tensors)], run, lambda *xs: _first_wide((pattern, *xs), op, reduce, {**sizes})
        )
    if not all(hasattr(x, "shape") for x in tensors):  # numbers among the arrays
        if backend.name not in ("numpy", "jax"):
            raise EinopsTypeError("A number beside these arrays must be an array too.", pattern, 0, len(pattern))
        return lambda *xs: run(*backend.together(xs))
    if sizes or op != "multiply" or reduce != "sum" or "(" in pattern or "." in pattern or "1" in pattern:
        return run
    labels = labels_of(pattern, tuple([len(x.shape) for x in tensors]))
    if not all(
        len(group) == 1 and labels.axes[group[0]].__class__ is str for side in labels.operands for group in side
    ):
        return run
    terms = [tuple([label for (label,) in side]) for side in labels.operands]
    equation = equation_of(terms, tuple([label for (label,) in labels.out]))
    if equation is None:
        return run
    return _of_equal_sizes(backend.einsum_of(tuple(map(type, tensors)), equation, run), terms, run)


def _of_equal_sizes(direct: Callable, terms: Sequence[tuple], run: Callable) -> Callable:
    """``direct`` where each name has one size, without a look at anything else; ``run`` explains where not."""
    flat = [label for term in terms for label in term]
    equal = [(flat.index(label), place) for place, label in enumerate(flat) if flat.index(label) != place]
    orders = [len(term) for term in terms]
    if len(terms) == 2:
        order, whole = orders[0], sum(orders)

        def two(x: Any, y: Any) -> Any:
            shape = x.shape
            if len(shape) == order:
                shape = shape + y.shape
                if len(shape) == whole:
                    for one, other in equal:
                        if shape[one] != shape[other]:
                            return run(x, y)
                    return direct(x, y)
            return run(x, y)

        return two

    def several(*xs: Any) -> Any:
        shape = ()
        for x, order in zip(xs, orders):
            if len(x.shape) != order:
                return run(*xs)
            shape += x.shape
        for one, other in equal:
            if shape[one] != shape[other]:
                return run(*xs)
        return direct(*xs)

    return several


def pattern_and_arrays(what: str, operands: Sequence[Any], example: str) -> tuple[str, Sequence[Any]]:
    """The pattern, which is first or last, and the rest."""
    if len(operands) > 1:
        if isinstance(operands[0], str):
            return operands[0], operands[1:]
        if isinstance(operands[-1], str):
            return operands[-1], operands[:-1]
        raise EinopsTypeError(f"{what} takes one pattern, first or last, and its arrays: {what}({example}).")
    raise EinopsValueError(f"{what} needs at least one array beside the pattern: {what}({example}).")


def _constant(pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], kind: str) -> Labels:
    if kind == "einops":
        compact(pattern)  # what einops refuses is refused
    return labels_of(pattern, ndims, names, kind)


def _constant_steps(terms: tuple, out: tuple) -> tuple:
    """The products two by two, and their equations; sizes are not known, so all are taken to be the same."""
    steps = steps_of(terms, out, [64] * (1 + max([0, *[label for term in terms for label in term]])))
    return tuple([(step.at, equation_of(step.terms, step.out), step.terms, step.out) for step in steps])


# torch.compile does not look into them, but calls them once, while compiling.
_constant._dynamo_marked_constant = True  # type: ignore[attr-defined]
_constant_steps._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _recorded(xs: Sequence, pattern: str, op: Any, reduce: Any, lengths: Mapping, broadcasts: str) -> Any:
    """In a program that is being compiled: plain steps on sizes that may be symbols."""
    from ricci.einops.backends.torch_arrays import TorchBackend

    backend = TorchBackend()
    shapes = [x.shape for x in xs]
    kind = "einops" if broadcasts == "all" else "einsum"
    labels = _constant(pattern, tuple([len(shape) for shape in shapes]), tuple(lengths), kind)
    sizes = solved(labels, shapes, tuple(lengths.values()), broadcasts)
    terms = terms_of(labels, shapes, sizes)
    parts = split_up(backend, xs, terms)
    if op != "multiply" or reduce != "sum":
        result = combined(backend, terms, sizes, op, reduce, blocks=False)(*parts)
        return merged_back(backend, result, terms)
    for at, equation, own, made in _constant_steps(terms.terms, terms.out):
        chosen = [parts[p] for p in at]
        parts = [x for p, x in enumerate(parts) if p not in at]
        if equation is not None:
            parts.append(backend.xp.einsum(equation, *chosen))
        else:
            parts.append(product(backend, chosen, own, made, sizes))
    return merged_back(backend, parts[0], terms)


def _anew(
    backend: Backend, tensors: Sequence, pattern: str, op: Any, reduce: Any, sizes: Mapping, broadcasts: str
) -> Any:
    """Without tables: for formulas, functions of the user, sizes that are symbols, and while axes are watched."""
    xs = backend.together(tensors)
    names, values = tuple(sizes), tuple(sizes.values())
    shapes = tuple([backend.shape(x) for x in xs])
    kind = "einops" if broadcasts == "all" else "einsum"
    labels = in_shapes(shapes, names, values, labels_of, pattern, tuple(map(len, shapes)), names, kind)
    run = planned(backend, xs, labels, shapes, values, op, reduce, broadcasts)
    if not watched(backend, xs):
        return run(*xs)
    lengths = dict(zip(labels.axes, solved(labels, shapes, values, broadcasts)))
    named = {name: size for name, size in lengths.items() if isinstance(name, str)}
    inputs = [(x, labels.named(groups)) for x, groups in zip(xs, labels.operands)]
    result = run(*check(backend, "einsum", pattern, inputs, named))
    return noted(backend, "einsum", pattern, labels, inputs, result, named)


def noted(
    backend: Backend, what: str, pattern: str, labels: Labels, inputs: Sequence, result: Any, sizes: Mapping
) -> Any:
    """The result, with the names of its axes where it can carry them."""
    names = carried(backend, [x for x, _ in inputs], labels.axes, labels.operands, labels.out)
    return note(backend, what, pattern, inputs, [(result, labels.named(labels.out))], sizes, [names])[0]
