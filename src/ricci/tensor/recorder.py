"""Calls of functions on tensors: the value from NumPy, and a node that remembers the call.

Every way to compute with tensors leads to :func:`call` (a function of NumPy, or one that is given by what it does with
traced arrays), to its short form, or to :func:`operated` (an operation that is known already), and every tensor they
return is made by :func:`made`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from operator import is_
from types import EllipsisType
from typing import Any

import numpy as np

from ricci.caches import Cache, OfFunctions, cached
from ricci.checked_calls import shown
from ricci.dispatch import FormulaCall, Rule
from ricci.errors import AxisError, DTypeError, InputError, LimitError, RicciError, TraceError, nearest
from ricci.functions.table import FUNCTIONS
from ricci.kinds import as_numpy, check_usable, kind_of
from ricci.tensor.links import GraphCall, GraphNode, Recorded, numbers
from ricci.tensor.meaning import PLAIN, Operation, OwnRule, operation_name, resolve
from ricci.tensor.recording_mode import mode
from ricci.tracing.arguments import signature_of
from ricci.tracing.array import has_traced
from ricci.tracing.basics import real_type
from ricci.tracing.lowerings import name_of
from ricci.tracing.meanings import is_torch
from ricci.tracing.meanings import plain as plain_array
from ricci.tracing.own_errors import RAW, raise_own
from ricci.tracing.own_functions import own_function
from ricci.tracing.rows import table, unknown
from ricci.tracing.trees import flatten, mapped, unflatten

KIND: list[type[Recorded]] = []  # the class of tensors; its module puts it here
AXIS_ARGUMENTS = frozenset(["axis", "axes", "axis1", "axis2", "source", "destination", "start"])


def made(value: Any, node: GraphNode | None, number: int = 0, index: int = 0, axes: Any = None) -> Any:
    """A tensor that is the result of ``node``, or one that needs no gradient."""
    result = object.__new__(KIND[0])
    result._value = value
    result._grad = result._hooks = result._links = result.name = None
    result._axes = axes
    result.requires_grad = node is not None
    result.node = node
    result.number = number
    result.index = index
    result.changed = 0
    return result


def raw(value: Any, tensors: list[Recorded]) -> Any:
    """An argument with values in place of tensors, which are collected."""

    def plain(part: Any) -> Any:
        if not isinstance(part, Recorded):
            return part
        tensors.append(part)
        return part._value

    return mapped(plain, value)


def kept(value: Any) -> Any:
    """Arguments as they are now: arrays of NumPy that somebody may write into before ``backward`` are copied."""
    return mapped(lambda part: part.copy() if type(part) is np.ndarray else part, value)


def short(function: Any, args: tuple) -> Any:
    """A function of tensors of floats without names, arrays and plain values: the short way.

    It does what :func:`call` does, which is for all that it does not know, where it says ``NotImplemented``.
    """
    rule = isinstance(function, Rule)
    native = function.native if rule else _natives.get(function)
    if native is None and not rule:
        if type(function) is tuple or function not in table():
            return NotImplemented
        native = function
        _met.keep(function, native)
    if mode().watch is not None:
        return NotImplemented
    needed = copied = False
    tensors, values = [], []
    for a in args:
        kind = type(a)
        if isinstance(a, Recorded):
            value = a._value
            if a._axes is not None or value.dtype.kind != "f":
                return NotImplemented
            needed = needed or a.requires_grad
            tensors.append(a)
            values.append(value)
        elif kind is np.ndarray and (native is None or not rule or a.dtype.kind == "f"):
            values.append(a)
            copied = True
        elif type(function) is FormulaCall or not (kind in _NUMBERS if rule else _is_plain(kind, a)):
            return NotImplemented
        else:
            values.append(a)
    if native is None:
        return _evaluated(function, kept(args) if copied else args, {}, tensors, False)
    try:
        value = native(*values)
    except RAW as error:
        raise_own(error, _spelled(function), values)
    if not isinstance(value, (np.ndarray, np.generic)) or value.dtype.kind == "c":
        needed = needed and mode().recording
        node = GraphCall(function, kept(args), {}, tuple(tensors)) if needed else None
        return _wrapped(function, value, node, needed, tensors)
    if value.dtype.kind != "f":
        return value
    if not (needed and mode().recording):
        return made(value, None)
    if copied:
        args = tuple([a.copy() if type(a) is np.ndarray else a for a in args])
    return made(value, GraphNode(function, args), next(numbers))


def _is_plain(kind: type, a: Any) -> bool:
    """Whether an argument is a number, a name, a shape, an axis or a key of entries, without tensors in it."""
    return kind in _PLAIN or kind is slice or a is ... or (kind is tuple and _KEYS.issuperset(map(type, a)))


_met = Cache("functions of NumPy on tensors", 1024)  # those of the table that have been called
_natives = _met.known
_PLAIN = PLAIN | {np.float64}
_NUMBERS = frozenset([float, int, np.float64])
_KEYS = frozenset([int, slice, type(None), EllipsisType])  # in shapes, axes and the keys of entries


def call(function: Any, args: tuple, kwargs: dict) -> Any:
    """A function of NumPy, or one that is given by a rule, of tensors and other values."""
    rule = function if isinstance(function, Rule) else None
    if kwargs.get("out") is not None:
        _refuse_out(function)
    tensors: list[Recorded] = []
    args = _as_arrays(args) if isinstance(rule, FormulaCall) else tuple([own_array(a) for a in args])
    values = [raw(a, tensors) for a in args]
    named = any(t._axes is not None for t in tensors)
    if named and _has_names(args, kwargs):
        args, kwargs = _positions(function, args, kwargs, next(t for t in tensors if t._axes is not None))
        tensors = []
        values = [raw(a, tensors) for a in args]
    more = {name: raw(value, tensors) for name, value in kwargs.items()} if kwargs else kwargs
    needed = mode().recording and any(t.requires_grad for t in tensors)
    if rule is not None and (rule.native is None or named or (rule.of_floats and not _are_floats(values))):
        given = (kept(args), kept(kwargs)) if needed else (args, kwargs)
        return _evaluated(rule, *given, tensors, named)
    known = rule is not None or function in table()
    native: Any = rule.native if rule is not None else function if type(function) is not tuple else getattr(*function)
    try:
        value = native(*(values if known else [_read_only(v) for v in values]), **more)
    except RAW as error:
        raise_own(error, _spelled(function), values)
    node = None
    if needed or named:
        if not known:
            return _unknown(function, value) if needed else value
        given = (kept(args), kept(kwargs)) if needed else (args, kwargs)
        node = GraphCall(function, *given, tuple(tensors))
        if (kwargs and rule is None) or named:  # so that what cannot be differentiated is refused here; for the names
            node = _resolved(node, value, needed)
    return _wrapped(function, value, node, needed, tensors, named)


def _spelled(function: Any) -> str:
    """An operation as users write it."""
    name = operation_name(function)
    return {"getitem": "x[…]", "setitem": "x[…] = …"}.get(name, name)


def _are_floats(values: Sequence[Any]) -> bool:
    """Whether all arrays are of floats; what are no arrays are numbers and axes."""
    return all(v.dtype.kind == "f" if hasattr(v, "dtype") else type(v) in _NUMBERS for v in values)


def _evaluated(rule: Rule, args: tuple, kwargs: dict, tensors: list[Recorded], named: bool) -> Any:
    """The value of a rule is that of the expressions it makes."""
    node = GraphCall(rule, args, kwargs, tuple(tensors))
    operation = resolve(node).operation
    if len(node.parents) > len(tensors):  # also those that the function found by itself
        tensors = [x for x in node.parents if isinstance(x, Recorded)]
        named = named or any(t._axes is not None for t in tensors)
    needed = mode().recording and any(t.requires_grad for t in tensors)
    value = unflatten(operation.form, _values(operation, node.inputs))
    return _wrapped(rule, value, node if needed or named else None, needed, tensors, named)


def apply(lower: Callable[..., Any], name: str, args: tuple, kwargs: dict) -> Any:
    """A function given by what it does with traced arrays; its value is that of the expressions it makes.

    >>> import ricci as rc
    >>> from ricci.tensor.recorder import apply
    >>> x = rc.Tensor([1.0, 2.0])
    >>> y = apply(lambda x: np.sum(x * x), "energy", (x,), {})
    >>> y.backward()
    >>> y, x.grad
    (Tensor(5., op=energy), Tensor([2., 4.]))
    """
    return applied(_rules.made(lower, name, lambda: OwnRule(lower, name)), args, kwargs)


_rules = OfFunctions("rules of functions on tensors", 16)


def applied(rule: Rule, args: tuple, kwargs: dict) -> Any:
    """A rule on tensors and other values."""
    quick = NotImplemented if kwargs else short(rule, args)
    return call(rule, args, kwargs) if quick is NotImplemented else quick


def _as_arrays(values: tuple) -> tuple:
    """The inputs of a formula as arrays of NumPy; numbers of Python take the floating type of the others."""
    own = [v if isinstance(v, Recorded) else own_array(v) for v in values]
    types = [v.dtype for v in own if getattr(v, "dtype", None) is not None]
    floats = [real_type(t) for t in types if t.kind in "fc"]
    floating = np.result_type(*floats) if floats else np.dtype(np.float64)
    return tuple([v if isinstance(v, Recorded) else np.asarray(v, floating if type(v) is float else None) for v in own])


def of_torch(function: Any, args: tuple, kwargs: dict) -> Any:
    """A function of PyTorch, with PyTorch's meaning, of tensors and other values."""
    args, kwargs = mapped(lambda x: as_numpy(x, "An operand beside tensors") if is_torch(x) else x, (args, kwargs))
    rule = _of_torch(function)
    return rule.lower(*args, **kwargs) if has_traced((args, kwargs)) else call(rule, args, kwargs)


@cached("functions of PyTorch on tensors", 1024)
def _of_torch(function: Any) -> Rule:
    from ricci.tracing.pytorch.observers import called

    def lower(*args: Any, **kwargs: Any) -> Any:
        return mapped(plain_array, called(function, args, kwargs))

    return Rule(lower, getattr(function, "__name__", "torch"))


def operated(operation: Operation, args: tuple) -> list[Any]:
    """The results of an operation, as tensors; None where a result is zero."""
    tensors = [a for a in args if isinstance(a, Recorded)]
    values = _values(operation, args)
    node = GraphCall(operation, args, {}, args, len(values)) if any(t.requires_grad for t in tensors) else None
    number = next(numbers)
    return [None if v is None else made(v, node, number, k) for k, v in enumerate(values)]


def _values(operation: Operation, inputs: Sequence[Any]) -> list[Any]:
    given = [x._value if isinstance(x, Recorded) else x for x in inputs]
    with np.errstate(all="ignore"):
        found = operation.program(given)
    shaped = zip(found, operation.bodies, operation.results, strict=True)
    values = [np.zeros(b.shape, d)[()] if v is None and b is not None else v for v, b, d in shaped]  # type: ignore
    for k, plain in operation.plain.items():
        values[k] = plain
    return values


# Results


def _wrapped(
    function: Any, value: Any, node: GraphCall | None, needed: bool, tensors: Sequence[Recorded], named: bool = False
) -> Any:
    """The results as tensors: floats, and whole numbers made of such. Truths and places are plain arrays."""
    single = isinstance(value, (np.ndarray, np.generic))
    if single and value.dtype.kind in "fc" and not named and mode().watch is None:
        return made(value, node if needed else None, next(numbers))
    whole = any(t._value.dtype.kind in "iu" for t in tensors)
    leaves, form = ([value], None) if single else flatten(value)
    namings: Sequence[Any] = [None] * len(leaves)
    if named and node is not None and node.operation is not None:
        known = [x._axes if isinstance(x, Recorded) else None for x in node.inputs]
        namings = node.operation.operation.namings(tuple(known))
    if node is not None and form is not None:
        node.count = len(leaves)
    kept = node if needed else None
    number = next(numbers)
    results: list[Any] = []
    for k, leaf in enumerate(leaves):
        kind = leaf.dtype.kind if isinstance(leaf, (np.ndarray, np.generic)) else ""
        names = namings[k] if any(namings[k] or ()) else None
        if kind and kind in "fc":
            results.append(made(leaf, kept, number, k, names))
        elif kind and kind in "iu" and whole:
            results.append(made(leaf, None, axes=names))
        elif kind and kind not in "biu" and any(t.requires_grad for t in tensors):
            raise DTypeError(f"{operation_name(function)} gives the type {leaf.dtype} here, which ricci does not know.")
        else:
            results.append(leaf)
    watch = mode().watch
    if watch is not None:
        for leaf in leaves:
            watch(operation_name(function), leaf, [t._value for t in tensors])
    return results[0] if form is None else _like(value, unflatten(form, results))


def _like(value: Any, results: Any) -> Any:
    """A sequence of results as NumPy gives it; ``flatten`` makes a list or tuple of its subclasses what they are."""
    named = hasattr(value, "_fields") or hasattr(value, "n_fields")  # as NumPy and PyTorch name their results
    return results if not isinstance(value, tuple) or named else tuple(results)


def _resolved(node: GraphCall, value: Any, needed: bool) -> GraphCall | None:
    """The node, which knows what it means; none where that cannot be said and no gradient asks for it."""
    try:
        resolve(node)
    except LimitError:
        raise
    except RicciError:
        if needed and _smooth(value):
            raise
        return None
    return node


def _unknown(function: Any, value: Any) -> Any:
    """What a function gives that is not in the table: truths and whole numbers, but nothing with a gradient."""
    if _smooth(value):
        raise unknown(function)
    return value


def _smooth(value: Any) -> bool:
    """Whether there are floats in a result, or complex numbers."""
    leaves, _ = flatten(value)
    return any(isinstance(v, (np.ndarray, np.generic, float)) and np.asarray(v).dtype.kind in "fc" for v in leaves)


def own_array(value: Any) -> Any:
    """An operand beside tensors: arrays of other libraries as NumPy's, and an error for what would lose something."""
    kind = kind_of(value)
    if kind in ("numpy", "number", "tensor"):
        return value
    if kind == "list":
        parts = [own_array(part) for part in value]
        return value if all(map(is_, parts, value)) else type(value)(parts)
    if kind in ("torch", "jax"):
        return as_numpy(value, "An array beside a tensor")
    if kind == "formula":
        raise InputError(
            "A formula stands beside a tensor, and a formula has no value until it is called. "
            "Call it, f(x=t), or take the tensor as a formula, t.expression()."
        )
    check_usable(value, "An array beside a tensor")
    return value


def _read_only(value: Any) -> Any:
    """A view that a function which changes its arguments cannot write into."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _refuse_out(function: Any) -> None:
    raise TraceError(
        f"{name_of(function)}: a tensor cannot be written into a given array (out=…, or a += t for an array a), "
        "for gradients could not flow back from there; write a = a + t."
    )


# Axes by name


def _has_names(args: Sequence[Any], kwargs: dict) -> bool:
    return any(_is_name(v) for v in (*args, *kwargs.values()))


def _is_name(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, (list, tuple)) and any(isinstance(v, str) for v in value))


@cached("signatures of functions", 1024)
def _signature(function: Any) -> inspect.Signature | None:
    if isinstance(function, Rule):  # of a function of ricci's own, if it is in the table
        known = function.name in FUNCTIONS and own_function(function.name) is function
        return inspect.signature(function.lower) if known else None
    return signature_of(function) if function in table() else None


def _positions(function: Any, args: tuple, kwargs: dict, t: Recorded) -> tuple[tuple, dict]:
    """The arguments with names of axes replaced by their positions in ``t``."""
    signature = _signature(function)
    if signature is None:
        return args, kwargs
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return args, kwargs
    for name, value in bound.arguments.items():
        if name in AXIS_ARGUMENTS and _is_name(value):
            bound.arguments[name] = position(t, value)
    return bound.args, bound.kwargs


def position(t: Recorded, axis: Any) -> Any:
    """The position of the axis of that name, or those of several."""
    if isinstance(axis, (list, tuple)):
        found = [position(t, part) for part in axis]
        return tuple([part for one in found for part in (one if isinstance(one, tuple) else (one,))])
    if not isinstance(axis, str):
        return axis
    if " " in axis.strip():
        return position(t, axis.split())
    names = t._axes or ()
    if names.count(axis) == 1:
        return names.index(axis)
    known = [name for name in names if name]
    if axis in known:
        raise AxisError(f"Two axes of the tensor are named {axis!r}; say which one by its position.")
    raise AxisError(
        f"The tensor has no axis {axis!r}; its axes are {', '.join(known)}. {nearest(axis, known)}".rstrip()
    )


def axes_of(axes: Any, shape: tuple[int, ...]) -> tuple[str | None, ...] | None:
    """Names of axes as they are given, ``"b t"`` or a sequence, checked; ``_`` and None leave an axis without one."""
    if axes is None:
        return None
    if not isinstance(axes, (str, list, tuple)):
        raise InputError(f"axes={shown(axes)} names no axes; write a text, axes='b t', or a list of names.")
    names = tuple(axes.split()) if isinstance(axes, str) else tuple(axes)
    names = tuple([None if name == "_" else name for name in names])
    if len(names) != len(shape):
        raise InputError(f"axes={axes!r} names {len(names)} axes, and the tensor has the shape {shape}.")
    for name in names:
        if name is not None and not (isinstance(name, str) and name.isidentifier()):
            raise InputError(f"{name!r} is not a name of an axis; write letters, digits and underscores.")
        if name is not None and names.count(name) > 1:
            raise InputError(f"axes={axes!r} names two axes {name!r}.")
    return names if any(names) else None
