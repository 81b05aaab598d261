"""The functions of the table: ``rc.exp(z)``, ``rc.softmax(s, "k")``, ``rc.det(A)``, ``rc.solve(A, b)``.

On formulas, elementwise functions align their operands by index name. Functions over axes take the names of the axes
after the operand, all axes where none is named. Matrix functions work on the last two axes, or on the two that are
named. On arrays, traced arrays and tensors, operands broadcast and axes are numbers, as in NumPy. ``rc.argmin`` of a
function of Python's is where that is smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ricci.dispatch import FORMULA, NUMBERS, rank_now, takers
from ricci.errors import InputError
from ricci.functions.documenting import documentation, signature
from ricci.functions.table import FUNCTIONS
from ricci.user.formula import Formula, apply, as_formula
from ricci.wrapping import known_as

OF_FUNCTIONS = {"argmin": "ricci.transforms.implicit"}  # which have what the name means for a function of Python's


def function(name: str) -> Callable[..., Any]:
    """The function ``name`` of the table."""
    row = FUNCTIONS[name]
    kinds = {"elementwise": _elementwise, "reduce": _over_axes, "keep": _over_axes, "matrix": _matrix}
    of_formulas = kinds[row.kind](name)
    of_arrays: Any = None

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal of_arrays
        rank = rank_now((*args, *kwargs.values()) if kwargs else args)
        if rank in (FORMULA, NUMBERS):
            if kwargs or not args:
                given = f"not {next(iter(kwargs))}=…" if kwargs else "and this call has none"
                raise InputError(f"rc.{name} takes formulas, and names of axes after them, {given}.")
            return of_formulas(*args)
        if of_arrays is None:
            of_arrays = _on_arrays(name)
        return takers[rank](of_arrays, args, kwargs)

    made, text = (call, "") if name not in OF_FUNCTIONS else _or_of_function(name, call)
    known_as("ricci", name)(made)
    made.__doc__, made.__signature__ = documentation(row) + text, signature(row)  # type: ignore[attr-defined]
    return made


def _or_of_function(name: str, of_operands: Callable[..., Any]) -> tuple[Callable[..., Any], str]:
    """A function of the table, and of functions of Python's; and a line of help."""

    def call(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else kwargs.get("f")
        if not callable(first) or isinstance(first, Formula):
            return of_operands(*args, **kwargs)
        return getattr(import_module(OF_FUNCTIONS[name]), name)(*args, **kwargs)

    return call, f"\n\nOf a function and a start, ``rc.{name}(f, x0)``: see ``{OF_FUNCTIONS[name]}``."


def _on_arrays(name: str) -> Any:
    """The function on arrays. With the first of these come NumPy and what records calls."""
    from ricci.tracing.own_functions import own_function
    from ricci.transforms import on_arrays  # noqa: F401  (which takes calls on plain arrays)

    return own_function(name)


def _elementwise(name: str) -> Callable[..., Formula]:
    arity = FUNCTIONS[name].arity

    def call(*operands: Any) -> Formula:
        if len(operands) != arity:
            raise InputError(f"rc.{name} takes {arity} operand{'s' if arity > 1 else ''}, not {len(operands)}.")
        return apply(name, *operands)

    return call


def _over_axes(name: str) -> Callable[..., Formula]:
    def call(x: Any, *axes: str) -> Formula:
        formula = as_formula(x)
        return formula.sum(*axes) if name == "sum" else formula.over(name, *axes)

    return call


def _matrix(name: str) -> Callable[..., Formula]:
    row = FUNCTIONS[name]

    def call(a: Any, *more: Any) -> Formula:
        matrix = as_formula(a)
        operands = [m for m in more if not isinstance(m, str)]
        words = [m for m in more if isinstance(m, str)]
        if matrix.order < 2 or len(operands) != row.arity - 1:
            raise InputError(
                f"rc.{name} takes {row.arity} operand(s), the first one a matrix, and two axis names or none."
            )
        i, j = matrix.axes(*words) if words else (matrix.order - 2, matrix.order - 1)
        names = matrix.indices
        if row.gives == "solve":
            return _solve(name, matrix, as_formula(operands[0]), names[i], names[j])
        gone = {"scalar": {i, j}, "vector": {j}, "matrix": set()}[row.gives]
        kept = [n for position, n in enumerate(names) if position not in gone]
        return Formula(row(matrix.expr, (i, j)), kept, matrix.context)

    return call


def _solve(name: str, a: Formula, b: Formula, row: str, column: str) -> Formula:
    """x with A x = b, where b has the row index of A."""
    if row not in b.indices or column in b.indices:
        raise InputError(f"The right side of rc.{name} has the row index {row!r} of the matrix, and not {column!r}.")
    out = tuple([n for n in dict.fromkeys([*a.indices, *b.indices]) if n != row])
    expr = FUNCTIONS[name](a.expr, b.expr, a.indices, b.indices, row, column, out)
    return Formula(expr, out, a.context.merged(b.context))
