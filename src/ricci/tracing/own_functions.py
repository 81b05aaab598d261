"""The functions of ricci's own table, ``rc.softmax``, ``rc.sigmoid``, ``rc.logsumexp``, on arrays of all kinds.

Axes are given by number, as in NumPy: ``rc.softmax(x, -1)``, ``rc.sum(x, axis=(0, 1), keepdims=True)``. They are also
methods of traced arrays and tensors; but a method that NumPy has a function for is that function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci.caches import once
from ricci.compiler.backends.numpy_table import ELEMENTWISE
from ricci.dispatch import Rule
from ricci.errors import InputError
from ricci.expr import Op
from ricci.expr.moving import with_ones
from ricci.functions.elementwise import stop_gradient
from ricci.functions.table import FUNCTIONS
from ricci.tracing.array import Traced
from ricci.tracing.array_methods import ArrayMethods, method_of
from ricci.tracing.basics import BOOL, INT, common, floating, lift, like, normal_axes, pointwise, real_type
from ricci.tracing.operand import Operand


@once
def own_function(name: str) -> Rule:
    """A function of the table, as it is called on arrays of all kinds."""
    row, of_numpy = FUNCTIONS[name], getattr(np, name, None)
    native = ELEMENTWISE.get(name) or of_numpy if row.kind == "elementwise" else None
    if row.kind == "reduce" and row.type != "place" and of_numpy is not None:
        native = _along_axes(of_numpy)
    return Rule(lowering(name), name, native, of_floats=True)


def _along_axes(function: Any) -> Callable[..., Any]:
    """A function of NumPy over axes that are given as those of the table are."""

    def native(x: Any, *axes: int, axis: Any = None, keepdims: bool = False) -> Any:
        return function(x, axis=normal_axes(x, axes or axis), keepdims=keepdims)

    return native


@once
def lowering(name: str) -> Callable[..., Traced]:
    """A function of the table on traced arrays."""
    row = FUNCTIONS[name]
    lower = {"elementwise": _elementwise, "reduce": _over_axes, "keep": _over_axes, "matrix": _matrix}[row.kind](name)
    lower.__name__ = lower.__qualname__ = name
    return lower


def array_function(row: Op) -> Callable[..., Any]:
    """An elementwise row on traced arrays: NumPy's ufunc, or else the function of the table."""
    ufunc = getattr(np, row.numpy or row.name, None)
    return ufunc if isinstance(ufunc, np.ufunc) else lowering(row.name)


def _dtype(row: Op, *xs: Traced) -> np.dtype:
    if row.type in ("truth", "place"):
        return BOOL if row.type == "truth" else INT
    dtype = common(*xs[row.type == "branches" :])
    dtype = dtype if row.type != "floating" or dtype.kind in "fc" else floating(*xs)
    return real_type(dtype) if row.complex == "real" else dtype


def _elementwise(name: str) -> Callable[..., Traced]:
    row = FUNCTIONS[name]

    def lower(*operands: Any) -> Traced:
        if len(operands) != row.arity:
            raise InputError(f"rc.{name} takes {row.arity} operand(s), not {len(operands)}.")
        xs = [lift(x) for x in operands]
        return pointwise(row, *xs, dtype=_dtype(row, *xs))

    return lower


def _over_axes(name: str) -> Callable[..., Traced]:
    row = FUNCTIONS[name]

    def lower(x: Any, *axes: int, axis: Any = None, keepdims: bool = False) -> Traced:
        x = lift(x)
        given = axes or (() if axis is None else (axis,) if isinstance(axis, int) else tuple(axis))
        places = normal_axes(x, given or None)
        expr = row(x.expr, places)
        if keepdims and row.kind == "reduce":
            expr = with_ones(expr, places)
        if row.type == "place":
            expr = stop_gradient(expr)  # whole numbers stay or jump
        return like(x, expr, _dtype(row, x))

    return lower


def _matrix(name: str) -> Callable[..., Any]:
    row = FUNCTIONS[name]

    def lower(a: Any, *more: Any) -> Any:
        if row.gives == "solve":
            return np.linalg.solve(lift(a), lift(*more))
        x = lift(a)
        if x.ndim < 2:
            raise InputError(f"rc.{name} is for matrices; this array has the shape {x.shape}.")
        return like(x, row(x.expr, more or (-2, -1)), _dtype(row, x))

    return lower


for _name, _table_row in FUNCTIONS.items():
    if _table_row.method and not hasattr(Operand, _name):
        _of_numpy = getattr(np, _name, None) if _table_row.kind == "elementwise" else None
        setattr(ArrayMethods, _name, method_of(_of_numpy or own_function(_name), _name))
