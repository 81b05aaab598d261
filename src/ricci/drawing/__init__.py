"""Pictures and trace tables of formulas, of functions and of what eager tensors recorded.

``draw`` shows what is computed from what; ``trace_table`` what comes out at each step, and the derivatives there. What
comes in are formulas, functions and tensors, told apart by their kinds; what goes out is DOT text, and tables. The
rooms up to transforms may be imported, those with NumPy when there are values to show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ricci.checked_calls import takes
from ricci.drawing.render import Drawing
from ricci.drawing.trace_tables import MODES, Asked, TraceTable, of_formula, of_function
from ricci.errors import InputError
from ricci.expr import Constant, Expr
from ricci.kinds import kind_of
from ricci.notation.context import Facts, merged
from ricci.show import picture

__all__ = ["Drawing", "TraceTable", "draw", "trace_table"]


@takes("rc.draw", format="text or None", file="path or None", sizes="sizes or None", direction="text")
def draw(
    what: Any,
    *,
    format: str | None = None,
    file: Any = None,
    values: Mapping[str, Any] | bool | None = None,
    sizes: Mapping[str, int] | None = None,
    direction: str = "LR",
    most: int = 80,
) -> Drawing:
    """A picture of a formula, an expression, an eager tensor, or several of one kind in a list.

    ``values`` are inputs of a formula (``True`` where it carries them), and every box then shows its value; ``sizes``
    gives sizes that they do not tell. A tensor shows its own values unless this is ``False``. ``direction`` is LR, TB,
    RL or BT. More than ``most`` boxes are folded: chains of operations into one box each, then all that is far from the
    results into one. ``file`` saves the picture at once; ``format`` is that of a file without a suffix, and of
    notebooks.

    >>> from ricci import parse
    >>> print(draw(parse("f = x1 x2 + sin(x1)")))
    digraph ricci {
      rankdir=LR;
      ...
      n2 [label="*", shape=ellipse];
    ...
    """
    if isinstance(most, bool) or not isinstance(most, int) or most < 2:
        raise InputError(f"most= is how many boxes to draw, at least 2, not {most!r}.")
    roots = list(what) if isinstance(what, (list, tuple)) else [what]
    if not roots:
        raise InputError("There is nothing to draw: the list is empty.")
    vertices = _vertices(roots, values, sizes or {}, most)
    drawing = Drawing.of(vertices, direction, format)
    if file is not None:
        drawing.save(file)
    return drawing


def _vertices(roots: Sequence[Any], values: Any, sizes: Mapping[str, int], most: int) -> list[picture.Vertex]:
    if all(isinstance(root, Expr) for root in roots):
        return picture.of_expressions(roots, most=most, notes=_values(roots, (), Facts(), values, sizes))
    if all(kind_of(root) == "formula" for root in roots):
        exprs, names = [root.expr for root in roots], [root.indices for root in roots]
        facts = merged(root.context for root in roots).facts
        titles = [root.name for root in roots]
        return picture.of_expressions(exprs, names, titles, facts, most, _values(exprs, names, facts, values, sizes))
    if all(kind_of(root) == "tensor" for root in roots):
        from ricci.drawing import tapes

        return tapes.vertices(roots, values is not False, most)
    kinds = ", ".join(dict.fromkeys(type(root).__name__ for root in roots))
    raise InputError(
        f"rc.draw takes formulas, expressions or tensors, or a list of one kind of them, not: {kinds}. "
        "Of a function f, it draws what rc.trace(f)(x) gives."
    )


def _values(
    roots: Sequence[Expr], names: Sequence[tuple[str, ...]], facts: Facts, values: Any, sizes: Mapping[str, int]
) -> Callable[[Sequence[Expr]], list[list[str]]]:
    """What adds a line with the value to each box, if there are values for the inputs."""
    if values is None or values is False:
        return lambda kept: [[] for _ in kept]
    if values is not True and not isinstance(values, Mapping):
        raise InputError(f'values= gives the inputs by name, as in values={{"x": x}}, not {type(values).__name__}.')

    def notes(kept: Sequence[Expr]) -> list[list[str]]:
        from ricci.compiler.bind import arguments
        from ricci.compiler.pipeline import evaluate, prepare
        from ricci.drawing.short_values import short

        named = {n: s for own, root in zip(names, roots, strict=False) for n, s in zip(own, root.shape, strict=True)}
        stage = prepare(roots, named, facts, simplify=False)
        arrays, env = arguments(stage, {} if values is True else values, sizes)
        told = [node for node in kept if not isinstance(node, Constant) or node.shape]
        found = dict(zip(told, evaluate(prepare(told, simplify=False), arrays, env), strict=True))
        return [[short(found[node])] if node in found else [] for node in kept]

    return notes


@takes("rc.trace_table", mode="text", tangents="by name or None", sizes="sizes or None", most="count")
def trace_table(
    what: Any,
    /,
    *args: Any,
    mode: str = "reverse",
    wrt: Any = None,
    tangents: Mapping[str, Any] | None = None,
    gradient: Any = None,
    sizes: Mapping[str, int] | None = None,
    most: int = 60,
    **inputs: Any,
) -> TraceTable:
    """Every step of a computation with its value and its derivatives.

    ``what`` is a formula, with its inputs by name (or in a dictionary); a function, with its arguments; or an eager
    tensor, whose recorded steps are shown. ``mode`` is "reverse", "forward" or "both"; ``wrt`` the inputs to
    differentiate by, all if it is not given. ``tangents`` are directions of the inputs, for one forward column;
    ``gradient`` is what comes in at a result that is no scalar.

    >>> from ricci import parse
    >>> print(trace_table(parse("f = x1 x2 + sin(x1)"), x1=2.0, x2=7.0))
    step         │   value │ ∂f/∂step
    ─────────────┼─────────┼─────────
    x1           │       2 │   6.5839
    x2           │       7 │        2
    v1 = x1 * x2 │      14 │        1
    v2 = sin(x1) │  0.9093 │        1
    f = v1 + v2  │ 14.9093 │        1
    """
    if mode not in MODES:
        raise InputError(f"There is no mode {mode!r}; the modes are {', '.join(MODES)}.")
    asked = Asked(mode, wrt, tangents, gradient, most)
    if kind_of(what) == "formula":
        return of_formula(what, args, inputs, sizes or {}, asked)
    if kind_of(what) == "tensor":
        from ricci.drawing import tapes

        if args or inputs:
            raise InputError("A tensor has its values already: rc.trace_table(tensor) takes no inputs.")
        return tapes.table(what, asked)
    if callable(what):
        return of_function(what, args, inputs, asked)
    raise InputError(f"rc.trace_table takes a formula, a function or a tensor, not {type(what).__name__}.")
