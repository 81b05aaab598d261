"""Trace tables: a computation step by step, each with its value and its derivatives, as one writes them by hand.

*Forward*, each step has its value and, by each input, its derivative, which follows from those of the steps before it.
*Reverse*, each step has its adjoint, the derivative of the result by that step, which follows from those of the steps
after it. Where a derivative has more axes than its step it is shown by shape and range; a direction (``tangents``)
or an incoming ``gradient`` makes it small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ricci.checked_calls import shown, takes
from ricci.errors import InputError, ShapeError, nearest
from ricci.expr import Expr, Shape, Variable, one, variable, zero
from ricci.expr.dims import evaluate
from ricci.grid import Grid, Shown
from ricci.notation.context import Facts
from ricci.show import node_words, picture

MODES = ("reverse", "forward", "both")
LARGEST = 10_000_000  # entries of all derivatives in a table


@dataclass(frozen=True)
class TraceStep:
    """One row: ``name = expression``, its value, its derivative by inputs, and the result's derivative by it."""

    name: str
    expression: str
    value: Any
    tangents: dict[str, Any] = field(default_factory=dict)
    adjoint: Any = None

    def cells(self, inputs: Sequence[str], reverse: bool) -> list[str]:
        from ricci.drawing.short_values import short

        left = f"{self.name} = {self.expression}" if self.expression else self.name
        numbers = [self.value, *[self.tangents[x] for x in inputs], *([self.adjoint] if reverse else [])]
        return [left, *["" if number is None else short(number) for number in numbers]]


class TraceTable(Shown):
    """The steps of a computation (``rows``); prints as a table.

    ``table[name]`` is the row of that name. More than ``most`` rows are printed without those in the middle.
    """

    @takes("rc.TraceTable")
    def __init__(self, rows: Sequence[TraceStep], inputs: Sequence[str], adjoint: str, most: int):
        self.rows, self.inputs = list(rows), tuple(inputs)
        self.adjoint, self.most = adjoint, most  # what stands above the adjoints; nothing where there are none

    def __getitem__(self, name: str) -> TraceStep:
        for row in self.rows:
            if row.name.split("[")[0] == name:
                return row
        known = [row.name.split("[")[0] for row in self.rows]
        raise InputError(f"There is no step {name!r} in this table. {nearest(name, known)}".rstrip())

    def __len__(self) -> int:
        return len(self.rows)

    def heads(self) -> list[str]:
        """What stands above the columns."""
        by = ["tangent" if x == "tangent" else f"∂step/∂{x}" for x in self.inputs]
        return ["step", "value", *by, *([self.adjoint] if self.adjoint else [])]

    def grid(self) -> Grid:
        return Grid(self.heads(), self.cells(), right=frozenset(range(1, len(self.heads()))), ruled=True)

    def cells(self) -> list[list[str]]:
        """The rows as they are printed; what is left out in the middle is one line that says how much."""
        half, rows = self.most // 2, self.rows
        shown = rows if len(rows) <= self.most else [*rows[: self.most - half], *rows[len(rows) - half :]]
        lines = [row.cells(self.inputs, bool(self.adjoint)) for row in shown]
        if len(shown) < len(rows):
            gap = [f"… {len(rows) - len(shown):,} more steps", *[""] * (len(lines[0]) - 1)]
            lines.insert(self.most - half, gap)
        return lines


@dataclass(frozen=True)
class Asked:
    """What a table is to show."""

    mode: str
    wrt: Any
    tangents: Mapping[str, Any] | None
    gradient: Any
    most: int

    @property
    def forward(self) -> bool:
        return self.mode != "reverse" or self.tangents is not None

    @property
    def reverse(self) -> bool:
        return self.mode != "forward"

    def adjoint_head(self, result: str) -> str:
        """What stands above the adjoints."""
        return "" if not self.reverse else f"∂{result}/∂step" if self.gradient is None else "adjoint"

    def chosen(self, known: Sequence[str], default: Sequence[str]) -> list[str]:
        """The names to differentiate by; numbers are places among the inputs."""
        if self.wrt is None:
            return list(default)
        wanted = self.wrt if isinstance(self.wrt, (list, tuple)) else [self.wrt]
        found = []
        for one_of in wanted:
            name = known[one_of] if isinstance(one_of, int) and -len(known) <= one_of < len(known) else one_of
            name = getattr(name, "name", name)
            if not isinstance(name, str) or name not in known:
                hint = nearest(str(name), known)
                raise InputError(
                    f"There is no input {name!r} to differentiate by; there are {', '.join(known)}. {hint}".rstrip()
                )
            found.append(name)
        return found


def of_formula(
    formula: Any, args: tuple, inputs: Mapping[str, Any], sizes: Mapping[str, int], asked: Asked
) -> TraceTable:
    from ricci.compiler.bind import arguments
    from ricci.compiler.pipeline import prepare

    for part in args:
        if not isinstance(part, Mapping):
            raise InputError('Give the inputs of a formula by name: rc.trace_table(f, x=2.0) or (f, {"x": 2.0}).')
        inputs = {**part, **inputs}
    facts = formula.context.facts
    named = dict(zip(formula.indices, formula.expr.shape, strict=True))
    arrays, env = arguments(prepare([formula.expr], named, facts, simplify=False), inputs, sizes)
    smooth = [name for name in formula.variables if name not in facts.integers]
    run = TraceRun(formula.expr, list(formula.variables), smooth, arrays, env, asked)
    return run.table(formula.name or "y", [formula.indices], facts)


def of_function(function: Callable, args: tuple, inputs: Mapping[str, Any], asked: Asked) -> TraceTable:
    from ricci.tracing.recording import Arguments, record

    arguments = Arguments.of(args, inputs)
    recording = record(function, arguments)
    found = [y for y in recording.outputs if isinstance(y, Expr)]
    if len(found) != 1 or len(recording.outputs) != 1:
        raise InputError(
            f"A trace table is of one result, an array or a number; {recording.name} returns {len(recording.outputs)}."
        )
    given = arguments.traced
    arrays = {**recording.captured, **{v.name: leaf for v, leaf in zip(recording.inputs, given, strict=True)}}
    smooth = [v.name for v, dtype in zip(recording.inputs, recording.dtypes, strict=True) if dtype.kind == "f"]
    run = TraceRun(found[0], [*[v.name for v in recording.inputs], *recording.captured], smooth, arrays, {}, asked)
    return run.table(recording.name if recording.name.isidentifier() else "f")


class TraceRun:
    """The steps of an expression, evaluated with their derivatives for one set of inputs."""

    def __init__(
        self,
        expr: Expr,
        inputs: list[str],
        smooth: list[str],
        arrays: Mapping[str, Any],
        env: Mapping,
        asked: Asked,
    ):
        self.expr, self.env, self.asked = expr, env, asked
        self.arrays = dict(arrays)
        vertices = picture.build([expr], node_words.operands, node_words.kind, node_words.word)
        found = {v.source.name: v.source for v in vertices if v.kind == "input"}
        self.inputs: dict[str, Variable] = {name: found[name] for name in inputs if name in found}
        self.steps: list[Expr] = [v.source for v in vertices if v.kind not in picture.LEAVES]
        known = list(self.inputs)
        chosen = asked.chosen(known, [name for name in smooth if name in found])
        self.by = {name: self.inputs[name] for name in chosen}

    def table(self, result: str, names: Sequence[tuple[str, ...]] = (), facts: Facts | None = None) -> TraceTable:
        from ricci.compiler.pipeline import evaluate, prepare

        def values_of(exprs: Sequence[Expr]) -> dict[Expr, Any]:
            return dict(zip(exprs, evaluate(prepare(exprs, simplify=False), self.arrays, self.env), strict=True))

        order = [*self.inputs.values(), *self.steps]
        if self.expr not in order:  # a result that nothing is computed for
            order.append(self.expr)
        values = values_of(order)
        columns = self._forward(order) if self.asked.forward else {}
        adjoint = self._reverse() if self.asked.reverse else {}
        self._check_size(columns, adjoint)
        wanted = [*[e for column in columns.values() for e in column.values()], *adjoint.values()]
        found = values_of(wanted)
        axes = node_words.AxisNames([self.expr], names, facts)
        called = self._called(result)
        rows = []
        for node in order:
            by = {x: found[column[node]] for x, column in columns.items()}
            text = "" if isinstance(node, Variable) else node_words.sentence(node, axes, called)
            own = node_words.indexed(called[node][1] if node in called else result, axes.of[node])
            rows.append(TraceStep(own, text, values[node], by, found[adjoint[node]] if node in adjoint else None))
        return TraceTable(rows, list(columns), self.asked.adjoint_head(result), self.asked.most)

    def _called(self, result: str) -> dict[Expr, tuple[int, str]]:
        """Inputs by their names, steps v1, v2, …, and the last one by the name of the result; all numbered."""
        letter = next(c for c in ("v", "t", "s", "step") if not any(re.fullmatch(rf"{c}\d+", n) for n in self.inputs))
        inner = [node for node in self.steps if node is not self.expr]
        named: list[tuple[Expr, str]] = [(v, name) for name, v in self.inputs.items()]
        named += [(node, f"{letter}{number}") for number, node in enumerate(inner, 1)]
        named += [(node, result) for node in self.steps if node is self.expr]
        return {node: (number, name) for number, (node, name) in enumerate(named)}

    def _forward(self, order: Sequence[Expr]) -> dict[str, dict[Expr, Expr]]:
        """A column for each input, or one for the direction that was given; zero at steps that it does not reach."""
        from ricci.calculus.graph import tangents
        from ricci.calculus.local import identity
        from ricci.calculus.projecting import projected

        given = self.asked.tangents
        seeds: dict[str, dict[Expr, Expr]]
        if given is None:
            seeds = {name: {x: identity(x.shape).expr() if x.shape else one(())} for name, x in self.by.items()}
        else:
            names = Asked("forward", list(given), None, None, 0).chosen(list(self.inputs), ())
            seeds = {
                "tangent": {self.inputs[n]: self._given(f"the input {n}", self.inputs[n], given[n]) for n in names}
            }
        seeds = {name: {x: projected(dot, x, 0) for x, dot in dots.items()} for name, dots in seeds.items()}
        found = {name: (tangents([self.expr], dots), _extra(dots)) for name, dots in seeds.items() if dots}
        return {
            name: {node: dots[node] if node in dots else zero((*node.shape, *extra)) for node in order}
            for name, (dots, extra) in found.items()
        }

    def _reverse(self) -> dict[Expr, Expr]:
        from ricci.calculus.graph import adjoints
        from ricci.calculus.local import identity

        if self.asked.gradient is not None:
            bar = self._given("the result", self.expr, self.asked.gradient)
        else:
            bar = identity(self.expr.shape).expr() if self.expr.shape else one(())
        lead = bar.shape[: len(bar.shape) - len(self.expr.shape)]
        unmoved = {x: zero((*lead, *x.shape)) for x in self.by.values()}
        return {**unmoved, **adjoints(self.expr, bar, list(self.by.values())), self.expr: bar}

    def _given(self, name: str, node: Expr, value: Any) -> Expr:
        """An array that comes in from outside, as a further input."""
        import numpy as np

        try:
            array = np.asarray(value, dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"What is given for {name} is an array of numbers, not {shown(value)}.") from error
        expected = tuple([evaluate(size, self._sizes()) for size in node.shape])
        check_given(name, array.shape, expected)
        key = f"{name} given"  # no input can have this name
        self.arrays[key] = array
        return variable(key, node.shape)

    def _sizes(self) -> dict:
        own = {(name, axis): n for name, a in self.arrays.items() for axis, n in enumerate(getattr(a, "shape", ()))}
        return {**own, **self.env}

    def _check_size(self, columns: Mapping[str, Mapping], adjoint: Mapping) -> None:
        sizes = self._sizes()
        exprs = [e for column in (*columns.values(), adjoint) for e in column.values()]
        check_entries(sum(prod([evaluate(s, sizes) for s in e.shape]) for e in exprs))


def check_entries(total: int) -> None:
    """An error where derivatives would be too large to make for looking at them."""
    if total > LARGEST:
        raise InputError(
            f"The derivatives in this table would have {total:,} entries, which is too many to show: give a direction, "
            "tangents={name: array}, or what comes in at the result, gradient=…."
        )


def check_given(name: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise ShapeError(f"What is given for {name} has the shape {shape} where {expected} is expected.")


def _extra(dots: Mapping[Expr, Expr]) -> Shape:
    """The axes that directions have beside those of their input."""
    x, dot = next(iter(dots.items()))
    return dot.shape[len(x.shape) :]
