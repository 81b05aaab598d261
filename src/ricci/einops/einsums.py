"""einsum: sums of products of arrays, and of anything else that two numbers can be made into one by.

``einsum`` is that of einops. ``wide_einsum``, which users know as ``rc.einsum``, also takes composite axes, numbers,
any count of names, and other operations than products and sums: with ``op="add", reduce="min"`` a matrix product is
a step of shortest paths.

A call is one lookup, by the pattern and the types of the arrays, to a function in which little is left to decide; what
tiny arrays of NumPy need does not depend on their shapes at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from string import ascii_letters
from typing import Any, NamedTuple

from ricci.caches import cached
from ricci.einops.backends import Code, any_compiling, is_number, is_traced
from ricci.einops.backends.base import Backend
from ricci.einops.driver import Planned, Request, Task, by_shape, first, plain_kinds
from ricci.einops.grammar import DISCOURAGED, ELLIPSIS, SKIPPING, check_name, parse, span_of
from ricci.einops.inference import context_of, solved
from ricci.einops.labels import Labels, labels_of
from ricci.einops.pairwise import contraction, equation_of, product, steps_of
from ricci.einops.semirings import check_names, combined
from ricci.einops.splitting import Factored, around, factored
from ricci.errors import EinopsError, EinopsRefusal, EinopsTypeError, EinopsValueError, RicciError, nearest

PRODUCTS = ("multiply", "sum")  # what is computed if nothing else is asked for


class ProductPlan(NamedTuple):
    """What is multiplied, in labels, and the sizes of the labels."""

    terms: Factored
    sizes: list


class Contracts(Task):
    """einsum, as einops or as ricci has it; its options are the operation and the reduction."""

    def __init__(self, name: str, said: str, kind: str, broadcasts: str) -> None:
        super().__init__(name, "einsum", said)
        self.kind, self.broadcasts = kind, broadcasts

    def read(self, pattern: str, ndims: tuple[int, ...], names: tuple[str, ...], operation: str) -> Labels:
        if self.kind == "einops":
            equation(pattern)  # what einops refuses is refused
        return labels_of(pattern, ndims, names, self.kind)

    def plan(
        self, backend: Backend, reading: Labels, shapes: Sequence[tuple], sizes: list, options: tuple
    ) -> ProductPlan:
        return ProductPlan(factored(reading, shapes, sizes), sizes)

    def function(
        self, backend: Backend, kinds: Sequence[type], plan: ProductPlan, options: tuple, plain: bool
    ) -> Callable:
        terms, sizes = plan
        if options != PRODUCTS:
            core = combined(backend, terms, sizes, *options, blocks=not plain)
        elif plain and backend.traced:
            core = _stepwise(backend, terms, sizes)
        else:
            core = contraction(backend, kinds, terms.terms, terms.out, sizes)
        return around(backend, terms, core)

    def early(self, call: Request) -> Callable | None:
        """What einops reads is an equation of the library's own einsum."""
        if self.kind != "einops":
            return None
        return call.backend.einsum_of(call.kinds, equation(call.pattern), by_shape(call))

    def shortcut(self, call: Request, shapes: tuple[tuple, ...], made: Planned) -> Callable:
        others = by_shape(call, shapes, made.run)
        labels, marks = made.labels, "(.1"
        if call.sizes or call.options != PRODUCTS or any(mark in call.pattern for mark in marks):
            return others
        groups = [group for side in labels.operands for group in side]
        if not all(len(group) == 1 and labels.axes[group[0]].__class__ is str for group in groups):
            return others
        terms = [tuple([label for (label,) in side]) for side in labels.operands]
        text = equation_of(terms, tuple([label for (label,) in labels.results[0]]))
        if text is None:
            return others
        return _of_equal_sizes(call.backend.einsum_of(call.kinds, text, others), terms, others)


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


def _constant_steps(terms: tuple, out: tuple) -> tuple:
    """The products two by two, and their equations; sizes are not known, so all are taken to be the same."""
    steps = steps_of(terms, out, [64] * (1 + max([0, *[label for term in terms for label in term]])))
    return tuple([(step.at, equation_of(step.terms, step.out), step.terms, step.out) for step in steps])


# torch.compile does not look into it, but calls it once, while compiling.
_constant_steps._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _stepwise(backend: Backend, terms: Factored, sizes: Sequence[Any]) -> Callable:
    """Two by two, on sizes that may be symbols."""

    def run(*xs: Any) -> Any:
        parts = list(xs)
        for at, text, own, made in _constant_steps(terms.terms, terms.out):
            chosen = [parts[p] for p in at]
            parts = [x for p, x in enumerate(parts) if p not in at]
            if text is not None:
                parts.append(backend.xp.einsum(text, *chosen))
            else:
                parts.append(product(backend, chosen, own, made, sizes))
        return parts[0]

    return run


EINSUM = Contracts("einsum as einops has it", "einsum", "einops", "all")
WIDE_EINSUM = Contracts("einsum", "rc.einsum", "einsum", "hidden")
_PLAIN, _WIDE, _KINDS = EINSUM.calls.known, WIDE_EINSUM.calls.known, plain_kinds.known


def einsum(*tensors_and_pattern: Any) -> Any:
    """Products of arrays, summed over the axes that are not on the right; the pattern comes last.

    >>> import numpy as np
    >>> einsum(np.ones((2, 3)), np.ones((3, 4)), "batch time, time out -> batch out").shape
    (2, 4)
    """
    if len(tensors_and_pattern) == 3:
        x, y, pattern = tensors_and_pattern
        kind = x.__class__
        if (kind in _KINDS or (is_traced(kind) and not Code.is_compiling())) and pattern.__class__ is str:
            run = _PLAIN.get((pattern, kind, y.__class__))
            if run is not None:
                try:
                    return run(x, y)
                except _RAISED as error:
                    raise _explained(error, pattern, (x, y)) from None
    elif len(tensors_and_pattern) > 1:
        *xs, pattern = tensors_and_pattern
        if _KINDS.keys() >= {*map(type, xs)} and pattern.__class__ is str:
            run = _PLAIN.get((pattern, *map(type, xs)))
            if run is not None:
                try:
                    return run(*xs)
                except _RAISED as error:
                    raise _explained(error, pattern, xs) from None
    return _einsum(tensors_and_pattern)


def _einsum(arguments: tuple) -> Any:
    """A call of einops' einsum, other than the commonest ones."""
    if len(arguments) <= 1:
        message = "`einops.einsum` takes at minimum two arguments: the tensors (at least one), followed by the pattern."
        raise EinopsValueError(message)
    *tensors, pattern = arguments
    if not isinstance(pattern, str):
        message = "The last argument passed to `einops.einsum` must be a string, representing the einsum pattern."
        raise EinopsValueError(message, hint=f"It is of {type(pattern).__name__}.")
    if any_compiling(tensors):
        return first(EINSUM, tensors, pattern, {}, PRODUCTS)
    key = (pattern, *map(type, tensors))
    run = _PLAIN.get(key)
    try:
        return run(*tensors) if run is not None else first(EINSUM, tensors, pattern, {}, PRODUCTS, key)
    except _RAISED as error:
        raise _explained(error, pattern, tensors) from None


_RAISED = (ValueError, IndexError, RuntimeError)  # by backends, where they do the checking
_UNFIT = ("Shape mismatch", "Wrong shape", "The pattern is of")


def _explained(error: Exception, pattern: str, tensors: Sequence[Any]) -> Exception:
    """What a backend has raised, as an error that shows the pattern and the shapes; sizes that do not fit are a
    ValueError in einops."""
    if isinstance(error, EinopsError) and error.__class__ is EinopsError and error.message.startswith(_UNFIT):
        return EinopsValueError(error.message, error.text, error.start, error.end, error.hint)
    if isinstance(error, RicciError):
        return error
    shapes = [tuple(getattr(x, "shape", ())) for x in tensors]
    try:
        labels = labels_of(pattern, tuple(map(len, shapes)), kind="einops")
        solved(labels, shapes, (), "all")
    except EinopsError as found:
        return EinopsValueError(found.message, found.text, found.start, found.end, found.hint)
    if isinstance(error, RuntimeError):
        return _of_types(error, pattern, tensors)
    return EinopsValueError(str(error), pattern, 0, len(pattern), context_of(labels, shapes, ()))


def _of_types(error: Exception, pattern: str, tensors: Sequence[Any]) -> Exception:
    """What PyTorch has raised because of the types of arrays or where they lie; any other error as it is."""
    for what, several in (("dtype", "types"), ("device", "devices")):
        found = list(dict.fromkeys(str(getattr(x, what, "")) for x in tensors))
        if len(found) > 1:
            hint = f"Make them one, as in x.to(y.{what})."
            return EinopsTypeError(
                f"einsum was given arrays of several {several}: {', '.join(found)}.", pattern, 0, len(pattern), hint
            )
    if isinstance(error, NotImplementedError):
        message = f"PyTorch has no products of arrays of {tensors[0].dtype}."
        return EinopsTypeError(message, pattern, 0, len(pattern), "Make them numbers first: x.float().")
    return error


_PRODUCT, _SUM = "multiply", "sum"


def wide_einsum(*operands: Any, op: Any = _PRODUCT, reduce: Any = _SUM, **sizes: Any) -> Any:
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
    if len(operands) == 3 and op is _PRODUCT and reduce is _SUM and not sizes:
        pattern, x, y = operands
        if pattern.__class__ is not str:
            x, y, pattern = operands
        kind = x.__class__
        if (kind in _KINDS or (is_traced(kind) and not Code.is_compiling())) and pattern.__class__ is str:
            run = _WIDE.get((pattern, kind, y.__class__))
            if run is not None:
                try:
                    return run(x, y)
                except RuntimeError as error:
                    raise _widely(error, pattern, (x, y)) from None
    pattern, tensors = pattern_and_arrays("rc.einsum", operands, '"i j, j k -> i k", x, y')
    if any_compiling(tensors):
        return first(WIDE_EINSUM, tensors, pattern, sizes, (op, reduce))
    key = _key(pattern, tensors, op, reduce, sizes)
    run = _WIDE.get(key)
    if run is not None:
        try:
            return run(*tensors)
        except RuntimeError as error:
            raise _widely(error, pattern, tensors) from None
    check_names(op, reduce)
    if any(map(is_number, tensors)) and {"torch"}.issuperset(
        [type(x).__module__.split(".")[0] for x in tensors if not is_number(x)]
    ):
        raise EinopsTypeError("A number beside these arrays must be an array too.", pattern, 0, len(pattern))
    try:
        return first(WIDE_EINSUM, tensors, pattern, sizes, (op, reduce), key)
    except RuntimeError as error:
        raise _widely(error, pattern, tensors) from None


def _widely(error: Exception, pattern: str, tensors: Sequence[Any]) -> Exception:
    return error if isinstance(error, RicciError) else _of_types(error, pattern, tensors)


def _key(pattern: str, tensors: Sequence, op: Any, reduce: Any, sizes: Mapping[str, Any]) -> tuple | None:
    """What a call is looked up by: only plain integers, so that 2.0 or True never finds what 2 has made."""
    if op.__class__ is not str or reduce.__class__ is not str:
        return None
    if not sizes and op == "multiply" and reduce == "sum":
        return (pattern, *map(type, tensors))
    for size in sizes.values():
        if size.__class__ is not int:
            return None
    return (pattern, *map(type, tensors), op, reduce, *sizes, *sizes.values())


def pattern_and_arrays(what: str, operands: Sequence[Any], example: str) -> tuple[str, Sequence[Any]]:
    """The pattern, which is first or last, and the rest."""
    if len(operands) > 1:
        if isinstance(operands[0], str):
            return operands[0], operands[1:]
        if isinstance(operands[-1], str):
            return operands[-1], operands[:-1]
        raise EinopsTypeError(f"{what} takes one pattern, first or last, and its arrays: {what}({example}).")
    raise EinopsValueError(f"{what} needs at least one array beside the pattern: {what}({example}).")


@cached("equations of einsum", 1024)
def equation(pattern: str) -> str:
    """A pattern of einops with a letter for each name, as ``np.einsum`` reads it, and einops' refusals.

    >>> equation("batch time, time out -> batch out")
    'ab,bc->ac'
    """
    parsed = parse(pattern, SKIPPING)
    if parsed.right is None:
        hint = "Write the axes of the result after an arrow '->'."
        raise EinopsValueError("Einsum pattern must contain '->'.", pattern, 0, max(1, len(pattern)), hint)
    right, *more = parsed.right
    if "+" in pattern or more:
        at = pattern.find("+") if "+" in pattern else pattern.rindex(",")
        raise EinopsError(f"Unknown character '{pattern[at]}'.", pattern, at, at + 1)
    letters: dict[str, str] = {ELLIPSIS: ELLIPSIS}
    for axis in [_single(group, pattern) for side in parsed.left for group in side]:
        if axis not in letters:
            if axis in DISCOURAGED:
                check_name(axis)  # for its warning
            if len(letters) > len(ascii_letters):
                hint = "There are 52 letters; rc.einsum has no such limit."
                raise EinopsError("Too many axes in einsum.", pattern, *span_of(pattern, axis), hint)
            letters[axis] = ascii_letters[len(letters) - 1]
    for axis in [_single(group, pattern) for group in right]:
        if axis not in letters:
            hint = nearest(axis, letters) or "A new axis is made by repeat: do that with the result."
            message = f"Unknown axis {axis} on right side of einsum {pattern}."
            raise EinopsError(message, pattern, *span_of(pattern, axis, False), hint)
    texts = ["".join([letters[_single(group, pattern)] for group in side]) for side in (*parsed.left, right)]
    return ",".join(texts[:-1]) + "->" + texts[-1]


def _single(group: Any, pattern: str) -> str:
    if group == ELLIPSIS:
        return group
    if len(group) == 1 and group[0].__class__ is str and group[0] != ELLIPSIS:
        return group[0]
    if not group:
        message, start, end = "Singleton () axes are not yet supported in einsum.", 0, len(pattern)
    elif len(group) == 1 and group[0].__class__ is int:
        message, (start, end) = "Anonymous axes are not yet supported in einsum.", span_of(pattern, group[0])
    else:
        start, end = span_of(pattern, group[0])
        message = "Shape rearrangement is not yet supported in einsum."
    raise EinopsRefusal(message, pattern, start, end, "rc.einsum reads this pattern.")
