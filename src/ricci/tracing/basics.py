"""What lowerings are made of: operands made traced arrays, broadcasting, axes and types."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ricci.checked_calls import is_whole, shown
from ricci.errors import AxisError, DTypeError, ShapeError, TraceError
from ricci.expr import Expr, constant
from ricci.expr.moving import expanded, joined, sliced, stacked, with_ones
from ricci.kinds import check_usable
from ricci.tracing.array import Traced, fresh, has_traced
from ricci.tracing.counters import Counter
from ricci.tracing.frames import current
from ricci.tracing.meanings import plain
from ricci.tracing.watched import Watched

FLOAT = np.dtype(np.float64)
INT = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)
COMPLEX = np.dtype(np.complex128)


def lift(x: Any) -> Traced:
    """Anything that NumPy takes for an array, as a traced array."""
    if type(x) is Traced:
        return x
    x = plain(x)
    if isinstance(x, Traced):
        return x
    if type(x) is Watched:
        x = x.value
    if type(x) is Counter:
        return lift(x.traced())
    if isinstance(x, (bool, np.bool_)):
        return fresh(constant(int(x)), BOOL)
    if isinstance(x, np.generic):
        return _number(x)
    if isinstance(x, (int, float)):
        zero = _signed_zero(x)
        return fresh(constant(x), FLOAT if isinstance(x, float) else INT, weak=True) if zero is None else zero
    if isinstance(x, complex):
        return fresh(constant(x), COMPLEX, weak=True)
    if isinstance(x, (list, tuple)):
        return _of_sequence(x)
    array = _array(x)
    frame = current()
    assert frame is not None
    return Traced(frame.capture(array), checked_dtype(array.dtype), frame)


def _signed_zero(x: float) -> Traced | None:
    """-0.0 as an array, for numbers of expressions know one zero."""
    frame = current()
    if frame is None or x != 0 or math.copysign(1, x) > 0:
        return None
    return Traced(frame.capture(np.array(-0.0)), FLOAT, frame, weak=True)


def _number(x: np.generic) -> Traced:
    """A number of NumPy's has a type, which counts as that of an array does; beside tensors of PyTorch it has none."""
    frame = current()
    weak = frame is not None and frame.root.weak_numbers and x.dtype.kind in "iufc"
    return fresh(constant(x.item()), checked_dtype(x.dtype), weak)


def _array(x: Any) -> Any:
    """An array that a program can be given: NumPy's, or one of another package that has a shape and a type."""
    check_usable(x, "An array beside a traced array")
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return x
    if hasattr(x, "__array__"):
        return np.asarray(x)
    raise TraceError(f"A {type(x).__name__} is not an array; numbers, arrays and lists of them are.")


def _of_sequence(x: Sequence) -> Traced:
    if has_traced(x):
        parts = [lift(part) for part in x]
        for part in parts:
            if part.shape != parts[0].shape:
                raise ShapeError(f"np.stack takes arrays of one shape, not {parts[0].shape} and {part.shape}.")
        return fresh(in_a_row(parts), common(*parts))
    check_usable(x, "An array beside a traced array")
    try:
        return lift(np.asarray(x))
    except (ValueError, OverflowError) as error:
        raise DTypeError(f"{shown(x)} cannot be made an array: {error}") from error


def in_a_row(parts: Sequence[Traced]) -> Expr:
    """Arrays of one shape along a new first axis; entries of one array that follow one another are a slice of it."""
    runs: list[tuple[Any, int, int]] = []
    for part in parts:
        whole, k = (part.source and part.source.key) or (part, None)
        if type(k) is not int or k < 0 or type(whole) is not Traced:
            runs.append((part, -1, 1))
        elif runs and runs[-1][0] is whole and runs[-1][1] + runs[-1][2] == k:
            runs[-1] = (whole, runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((whole, k, 1))
    if len(runs) > len(parts) // 2:
        return stacked([part.expr for part in parts])
    return joined([with_ones(x.expr, (0,)) if k < 0 else sliced(x.expr, 0, k, 1, n) for x, k, n in runs], 0)


def numpy_dtype(dtype: Any) -> np.dtype:
    """The type as one of NumPy's; bfloat16, which NumPy lacks, goes by the name of the other type of its size."""
    if isinstance(dtype, np.dtype) and dtype.kind in "biufc":
        return dtype
    name = str(dtype).rpartition(".")[2]
    return np.dtype(np.float16) if name == "bfloat16" else dtype if isinstance(dtype, np.dtype) else np.dtype(name)


def checked_dtype(dtype: Any, what: str = "An array") -> np.dtype:
    """The type, as one of NumPy's, if ricci computes with it."""
    try:
        found = numpy_dtype(dtype)
    except TypeError:
        raise DTypeError(f"{what} has the type {dtype}, with which ricci does not compute.") from None
    if found.kind not in "biufc":
        raise DTypeError(
            f"{what} has the type {found}; ricci computes with real, complex and whole numbers, and truth values."
        )
    return found


def like(x: Traced, expr: Expr, dtype: Any = None) -> Traced:
    """A traced array of the same frame and, unless given, type."""
    return fresh(expr, x.dtype if dtype is None else dtype)


def floating(*xs: Traced) -> np.dtype:
    """The floating or complex type that these types have in common."""
    found = np.result_type(*[x.dtype for x in xs])
    return found if found.kind in "fc" else FLOAT


def real_type(dtype: np.dtype) -> np.dtype:
    """The type of the parts of complex numbers; any other type is itself."""
    return np.finfo(dtype).dtype if dtype.kind == "c" else dtype


def complex_type(dtype: np.dtype) -> np.dtype:
    """The type of complex numbers with parts of this type."""
    return np.result_type(dtype, np.complex64)


def common(*xs: Any) -> np.dtype:
    """The type that NumPy gives to arrays of these together; Python's numbers do not widen it."""
    weak = {float: 0.0, int: 0, complex: 0j}
    return np.result_type(*[weak.get(python_type(x), x.dtype) for x in map(lift, xs)])  # type: ignore[arg-type]


_PYTHONS = {"f": float, "c": complex}


def python_type(x: Traced) -> type | None:
    """The type of Python's that a number stands for, if it is one of Python's own."""
    return _PYTHONS.get(x.dtype.kind, int) if x.weak else None


# Axes


def normal_axis(x: Traced, axis: int) -> int:
    """An axis counted from the front."""
    if isinstance(axis, Traced):
        axis.__index__()
    if isinstance(axis, str):
        raise AxisError(f"Axis {axis!r} is a name, and the array has axes by number: its shape is {x.shape}.")
    if not is_whole(axis):
        raise AxisError(f"An axis is a whole number, not {shown(axis)}: the array has the shape {x.shape}.")
    if not -x.ndim <= axis < x.ndim:
        raise AxisError(f"Axis {axis} is out of bounds: the array has the shape {x.shape}.")
    return int(axis) % x.ndim


def normal_axes(x: Traced, axis: int | Sequence[int] | None) -> tuple[int, ...]:
    """Axes counted from the front; None stands for all."""
    if axis is None:
        return tuple(range(x.ndim))
    several = isinstance(axis, (list, tuple, range)) or np.ndim(axis) == 1
    chosen: tuple[Any, ...] = tuple(axis) if several else (axis,)  # type: ignore[arg-type]
    found = tuple([normal_axis(x, a) for a in chosen])
    if len(set(found)) < len(found):
        raise AxisError(f"An axis is named twice in {chosen}.")
    return found


# Broadcasting


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to."""
    different = [*dict.fromkeys(shapes)]
    if len(different) < 3 and () in different:
        different.remove(())
    if len(different) < 2:
        return different[0] if different else ()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(map(str, shapes))
        raise ShapeError(
            f"The shapes {listed} cannot be broadcast together: from the right, sizes must be equal or 1."
        ) from None


def aligned(*xs: Traced) -> list[Expr]:
    """The expressions of operands, broadcast together; scalars stay scalars, which the core spreads by itself."""
    return _aligned(xs, broadcast_shape(*[x.shape for x in xs]))


def _aligned(xs: Sequence[Traced], shape: tuple[int, ...]) -> list[Expr]:
    return [x.expr if not x.shape or x.shape == shape else expanded(x.expr, shape) for x in xs]


def pointwise(build: Callable[..., Expr], *xs: Traced, dtype: Any) -> Traced:
    """An elementwise function of operands, broadcast together."""
    exprs = [x.expr for x in xs]
    shape: Any = broadcast_shape(*[expr.shape for expr in exprs])  # type: ignore[arg-type]
    expr = build(*[e if not e.shape or e.shape == shape else expanded(e, shape) for e in exprs])
    if expr.shape != shape:
        expr = expanded(expr, shape)
    return fresh(expr, dtype, all([x.weak for x in xs]))  # noqa: C419  (a list is faster)


# Arguments


class NeedsValueError(TraceError):
    """The value of an argument decides what a function does. Eager tensors have it, and try again with it."""


def concrete(x: Any, what: str) -> np.ndarray:
    """An argument whose values decide shapes, so that it may not be traced."""
    if isinstance(x, Traced) or (isinstance(x, (list, tuple)) and any(isinstance(v, Traced) for v in x)):
        raise NeedsValueError(
            f"{what} decides the shape of the result, so it must be known when the function is traced; "
            "pass it as a static argument (static_argnums=…) or as a constant."
        )
    return np.asarray(x)
