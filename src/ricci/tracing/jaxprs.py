"""Functions of JAX on traced arrays, with JAX's meaning: what JAX makes of a call, as expressions.

A function of JAX takes no arrays but its own. But JAX can say what it does (``jax.make_jaxpr``): a list of primitives,
on shapes and types alone, with all defaults and types filled in. The primitives are the rows of the table here, written
with the functions of NumPy; what has no row is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import numpy as np

from ricci.errors import InvariantError, TraceError
from ricci.expr import product
from ricci.functions.elementwise import stop_gradient
from ricci.functions.table import named_in
from ricci.tracing.array import Traced, has_traced
from ricci.tracing.basics import checked_dtype, common, fresh, lift
from ricci.tracing.casting import cast
from ricci.tracing.frames import current, user_place
from ricci.tracing.own_functions import array_function, lowering
from ricci.tracing.trees import flatten, unflatten

Array = Any  # a traced array
ROWS: dict[str, Callable[..., Any]] = {}

# The rows, and NumPy's functions of the same meaning; parameters are about types and places in memory
_SAME: dict[str, Callable[..., Any]] = {name: array_function(row) for name, row in named_in("lax").items()}
_SAME |= {"not": np.invert, "is_finite": np.isfinite, "rsqrt": lambda x: 1 / np.sqrt(x), "rem": np.fmod}
_SAME |= {"copy": lift, "copy_p": lift, "reduce_precision": lift, "optimization_barrier": lift, "real": lift}
_SAME |= {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def _ignoring(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs, **parameters: function(*xs)


ROWS |= {name: _ignoring(function) for name, function in _SAME.items()}


def _ints(values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(map(int, values))


def _broadcast(x: Array, shape: Sequence[int], broadcast_dimensions: Sequence[int], **_: Any) -> Any:
    places = [1] * len(shape)
    for axis, place in enumerate(broadcast_dimensions):
        places[place] = x.shape[axis]
    return np.broadcast_to(np.reshape(x, tuple(places)), tuple(shape))


def _slice(x: Array, start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> Any:
    bounds = zip(_ints(start_indices), _ints(limit_indices), _ints(strides or [1] * x.ndim), strict=True)
    return x[tuple([slice(*each) for each in bounds])]


def _pad(x: Array, value: Array, padding_config: Sequence[tuple[int, int, int]], **_: Any) -> Any:
    if any(low < 0 or high < 0 or inner for low, high, inner in padding_config):
        raise TraceError("jax.lax.pad is traced with padding outside alone, neither negative nor in between.")
    return np.pad(x, [(int(low), int(high)) for low, high, _ in padding_config], constant_values=value)


def _iota(*_: Any, dtype: Any, shape: Sequence[int], dimension: int, **__: Any) -> Any:
    places = [1] * len(shape)
    places[dimension] = shape[dimension]
    counted = np.arange(shape[dimension], dtype=np.dtype(dtype)).reshape(places)
    return lift(np.broadcast_to(counted, tuple(shape)).copy())


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axes, **_: function(x, axis=_ints(axes)) if axes else x


def _cumulative(function: Callable[..., Any]) -> Callable[..., Any]:
    def lower(x: Array, axis: int, reverse: bool = False, **_: Any) -> Any:
        return np.flip(function(np.flip(x, axis), axis=axis), axis) if reverse else function(x, axis=axis)

    return lower


def _sort(*xs: Array, dimension: int, num_keys: int, **_: Any) -> Any:
    """Several arrays are sorted as the first one is."""
    if num_keys != 1:
        raise TraceError("jax.lax.sort is traced with one key.")
    order = np.argsort(xs[0], axis=dimension, kind="stable")
    rest = [np.take_along_axis(x, order, axis=dimension) for x in xs[1:]]
    return [np.sort(xs[0], axis=dimension), *rest]


def _top_k(x: Array, k: int, axis: int = -1, **_: Any) -> Any:
    """The largest first; among equal ones the first."""
    back = np.flip(x, axis)
    places = np.flip(x.shape[axis] - 1 - np.argsort(back, axis=axis, kind="stable"), axis)
    key = (*[slice(None)] * (axis % x.ndim), slice(0, k))
    return [np.flip(np.sort(back, axis=axis), axis)[key], places[key]]


def _dot_general(x: Array, y: Array, dimension_numbers: Any, **_: Any) -> Any:
    """The axes of batches, then the others of the first operand, then those of the second."""
    (left, right), (left_batch, right_batch) = dimension_numbers
    a: list[Any] = [("x", axis) for axis in range(x.ndim)]
    b: list[Any] = [("y", axis) for axis in range(y.ndim)]
    for own, other in [*zip(left, right, strict=True), *zip(left_batch, right_batch, strict=True)]:
        b[other] = a[own]
    batch = [a[int(axis)] for axis in left_batch]
    summed = {a[int(axis)] for axis in left}
    out = [*batch, *[n for n in [*a, *b] if n not in summed and n not in batch]]
    return fresh(product([(x.expr, a), (y.expr, b)], list(dict.fromkeys(out))), common(x, y))


def _fft(x: Array, fft_type: Any, fft_lengths: Any, **_: Any) -> Any:
    """By its number: of complex numbers forwards and backwards, from real ones, and to real ones."""
    axes = tuple(range(x.ndim - len(fft_lengths), x.ndim))
    if int(fft_type) == 3:
        return np.fft.irfftn(x, s=_ints(fft_lengths), axes=axes)
    return (np.fft.fftn, np.fft.ifftn, np.fft.rfftn)[int(fft_type)](x, axes=axes)


ROWS |= {
    "fft": _fft,
    "div": lambda x, y, **_: np.trunc(x / y) if x.dtype.kind in "iu" else x / y,
    "integer_pow": lambda x, y, **_: x**y,
    "round": lambda x, rounding_method=0, **_: (  # half to even, or away from zero
        np.round(x) if int(rounding_method) == 1 else np.sign(x) * np.floor(np.absolute(x) + 0.5)
    ),
    "stop_gradient": lambda x, **_: fresh(stop_gradient(x.expr), x.dtype) if x.dtype.kind in "fc" else x,
    "complex": lambda x, y, **_: x + 1j * y,
    "select_n": lambda which, *cases, **_: (
        np.where(which, cases[1], cases[0]) if len(cases) == 2 else np.choose(which, cases)
    ),
    "clamp": lambda low, x, high, **_: np.clip(x, low, high),
    "convert_element_type": lambda x, new_dtype, **_: cast(x, checked_dtype(np.dtype(new_dtype))),
    "broadcast_in_dim": _broadcast,
    "reshape": lambda x, new_sizes, dimensions=None, **_: np.reshape(
        x if dimensions is None else np.transpose(x, dimensions), _ints(new_sizes)
    ),
    "transpose": lambda x, permutation, **_: np.transpose(x, _ints(permutation)),
    "squeeze": lambda x, dimensions, **_: np.squeeze(x, _ints(dimensions)),
    "expand_dims": lambda x, dimensions, **_: np.expand_dims(x, _ints(dimensions)),
    "concatenate": lambda *xs, dimension, **_: np.concatenate(xs, axis=int(dimension)),
    "split": lambda x, sizes, axis, **_: np.split(x, np.cumsum(sizes)[:-1].tolist(), axis=int(axis)),
    "slice": _slice,
    "pad": _pad,
    "rev": lambda x, dimensions, **_: np.flip(x, _ints(dimensions)),
    "iota": _iota,
    "reduce_sum": _reduction(np.sum),
    "reduce_prod": _reduction(np.prod),
    "reduce_max": _reduction(np.max),
    "reduce_min": _reduction(np.min),
    "reduce_and": _reduction(np.all),
    "reduce_or": _reduction(np.any),
    "argmax": lambda x, axes, **_: np.argmax(x, axis=int(axes[0])),
    "argmin": lambda x, axes, **_: np.argmin(x, axis=int(axes[0])),
    "cumsum": _cumulative(np.cumsum),
    "cumprod": _cumulative(np.cumprod),
    "sort": _sort,
    "top_k": _top_k,
    "dot_general": _dot_general,
}

# Calls


def call_by_jax(function: Callable[..., Any], name: str, args: tuple, kwargs: dict) -> Any:
    """A function of JAX; where nothing is traced, JAX itself computes it."""
    import jax

    leaves, form = flatten((args, kwargs))
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Traced) or _is_array(leaf)]
    if not has_traced(leaves):
        return function(*args, **kwargs)
    operands = [lift(leaves[k]) for k in places]

    def of_operands(*values: Any) -> Any:
        given = list(leaves)
        for k, value in zip(places, values, strict=True):
            given[k] = value
        own, named = unflatten(form, given)
        return function(*own, **named)

    wide = any(x.dtype.itemsize == 8 for x in operands)
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in operands]
    with _double(jax) if wide else nullcontext():
        program, result = jax.make_jaxpr(of_operands, return_shape=True)(*shapes)
    found = _interpreted(program.jaxpr, [lift(c) for c in program.consts], operands, name)
    return unflatten(flatten(result)[1], found)


def _double(jax: Any) -> Any:
    """JAX with floats of double precision, inside."""
    return jax.enable_x64(True) if hasattr(jax, "enable_x64") else import_module("jax.experimental").enable_x64()


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype") and not isinstance(leaf, type)


def _interpreted(jaxpr: Any, consts: Sequence[Any], operands: Sequence[Any], name: str) -> list[Any]:
    """The results of a list of primitives."""
    known: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *operands], strict=True))

    def value(atom: Any) -> Any:
        return known[atom] if not hasattr(atom, "val") else _literal(atom.val)

    for eqn in jaxpr.eqns:
        results = _primitive(eqn, [value(atom) for atom in eqn.invars], name)
        for variable, result in zip(eqn.outvars, results, strict=True):
            known[variable] = _checked(eqn, variable.aval, result)
    return [lift(value(atom)) for atom in jaxpr.outvars]


def _literal(value: Any) -> Traced:
    array = np.asarray(value)
    return lift(array[()] if not array.ndim else array)


_CALLS = ("jit", "pjit", "closed_call", "core_call", "remat", "checkpoint")
_RULES: dict[str, Callable[..., Any]] = {  # functions that have derivatives of their own in JAX, with the same ones
    "relu": lowering("relu"),
    "relu6": lambda x: 6 - _relu(6 - _relu(x)),
    "logaddexp": np.logaddexp,
}
_relu: Any = lowering("relu")


def _primitive(eqn: Any, values: list[Any], name: str) -> Sequence[Any]:
    kind = eqn.primitive.name
    if kind in _CALLS:
        return _closed(eqn.params.get("jaxpr") or eqn.params["call_jaxpr"], values, name)
    if kind == "scan":
        return _scan(values, name, eqn)
    if kind in ("custom_jvp_call", "custom_vjp_call"):
        rule = _RULES.get(_own_rule(eqn))
        if rule is None:
            raise TraceError(
                f"{name}{_where()} has a derivative of its own, in JAX; give it to rc.custom, with its rule."
            )
        return [rule(*values)]
    row = ROWS.get(kind)
    if row is None:
        raise TraceError(
            f"{name}{_where()} comes down to jax.lax.{kind}, which cannot be traced; rc.custom gives a function of "
            "your own its rule."
        )
    found = row(*[lift(v) for v in values], **eqn.params)
    return found if isinstance(found, (list, tuple)) else [found]


def _closed(program: Any, values: list[Any], name: str) -> list[Any]:
    """The results of a program with its constants."""
    inner = getattr(program, "jaxpr", program)
    return _interpreted(inner, [lift(c) for c in getattr(program, "consts", ())], values, name)


def _scan(values: list[Any], name: str, eqn: Any) -> list[Any]:
    """A loop over the first axis of what comes after the carried values, step by step.

    What is gone over, and what is stacked, has one axis more outside of the loop; all else is carried, or fixed.
    """
    jaxpr, length, reverse = (eqn.params[key] for key in ("jaxpr", "length", "reverse"))
    pairs = zip(eqn.outvars, jaxpr.out_avals, strict=True)
    num_carry = sum(outside.aval.ndim == inside.ndim for outside, inside in pairs)
    pairs = zip(eqn.invars, jaxpr.in_avals, strict=True)
    num_consts = sum(outside.aval.ndim == inside.ndim for outside, inside in pairs) - num_carry
    fixed, carried = values[:num_consts], values[num_consts : num_consts + num_carry]
    along: list[Any] = [lift(v) for v in values[num_consts + num_carry :]]
    steps = range(length - 1, -1, -1) if reverse else range(length)
    made: list[list[Any]] = []
    for step in steps:
        found = _closed(jaxpr, [*fixed, *carried, *[x[step] for x in along]], name)
        carried = found[:num_carry]
        made.append(found[num_carry:])
    if not made:
        raise TraceError(f"{name}{_where()} goes over nothing; its results have no entries to be made of.")
    rows = made[::-1] if reverse else made
    return [*carried, *[np.stack(parts) for parts in zip(*rows, strict=True)]]


def _own_rule(eqn: Any) -> str:
    """The name of a function that has a derivative of its own."""
    program = eqn.params["call_jaxpr"]
    return str(getattr(getattr(program, "jaxpr", program), "debug_info", None) and program.jaxpr.debug_info.func_name)


def _checked(eqn: Any, aval: Any, result: Any) -> Traced:
    x = lift(result)
    if x.shape != tuple(aval.shape):
        raise InvariantError(f"jax.lax.{eqn.primitive.name} has the shape {aval.shape}; its row gives {x.shape}.")
    here = current()
    assert here is not None
    here.note(x.expr)
    return fresh(x.expr, checked_dtype(np.dtype(aval.dtype)))


def _where() -> str:
    place = user_place()
    return f" ({place})" if place else ""
