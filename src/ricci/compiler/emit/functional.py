"""What JAX and PyTorch share: steps without buffers, reads and writes at places given by arrays of indices.

A part that is placed at affine places is, where each of its labels is itself an axis of the result, the part broadcast
and masked: ``where(i == j, x[i,k], 0)``, which compilers fuse into the one pass that writes the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ricci.compiler.emit.dots import MatrixEmitter
from ricci.compiler.emit.source import tuple_text
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program_steps import ARITHMETIC, Form, Labels, Number, Result, Step, Value
from ricci.errors import DTypeError

OPERATORS = {name: op.sign for name, op in ARITHMETIC.items() if op.sign}


class FunctionalEmitter(MatrixEmitter):
    """Source that makes a new array in every step. Subclasses bring tables of functions."""

    backend: str
    elementwise: Mapping[str, Any]
    functions: Mapping[str, Any]
    helpers: Mapping[str, Any]

    def __init__(self, plan: Plan):
        self.dtype = plan.setting.dtype
        super().__init__(plan)

    def helper(self, name: str) -> str:
        return self.function(name, self.helpers[name])

    def kind_name(self, kind: str) -> str:
        """The name of the type for a kind of values."""
        raise NotImplementedError

    def map(self, step: Step) -> str:
        args = [self.arranged(operand, step.labels) for operand in step.args]
        if step.name in OPERATORS:
            return f"{args[0]} {OPERATORS[step.name]} {args[1]}"
        if step.name == "negative":
            return f"-{args[0]}"
        if step.name == "reciprocal":
            return f"1 / {args[0]}"
        table = self.elementwise if step.name in self.elementwise else self.helpers
        return f"{self.function(step.name, table[step.name])}({', '.join(args)})"

    def summed_product(self, step: Step) -> str:
        """A dot as a product and a sum."""
        summed = [x for x in step.args[0][1] if x not in step.labels]
        order = (*step.labels, *summed)
        a, b = [self.arranged(operand, order) for operand in step.args]
        return f"({a} * {b}).sum({tuple_text(range(len(step.labels), len(order)))})"

    def sum(self, step: Step, word: str = "sum") -> str:
        ((value, labels),) = step.args
        axes = [axis for axis, x in enumerate(labels) if x not in step.labels]
        return f"{self.name(value)}.{word}({tuple_text(axes)})"

    def call(self, step: Step) -> str:
        return self.called(step, self.backend, self.functions)

    def guard(self, step: Step) -> str:
        return f"{self.helper('guarded')}({self.name(step.args[0][0])}, {self.guarding(step)})"

    def anew(self, value: Value | Number) -> str:
        """Reads are made again: they need no memory otherwise, being part of what compilers make of the next step."""
        read = isinstance(value, Value) and value.step is not None and value.step.op == "read"
        return self.read(value.step) if read else self.name(value)  # type: ignore

    def check(self, step: Step) -> str:
        if step.out.kind == "f":
            raise DTypeError(f"A tensor is read at places given by integers, not by an array of the type {self.dtype}.")
        return f"{self.helper('checked_places')}({self.name(step.args[0][0])}, {step.params[0]})"

    # Places

    def place_of(self, form: Form, sizes: Sequence[int]) -> str:
        """A form as an array of places that broadcasts against all labels, whose sizes these are."""
        terms = []
        for x, c in form.terms:
            along = self.along(sizes[x], x, len(sizes))
            terms.append(along if c == 1 else f"{c} * {along}")
        return " + ".join([*terms, *([str(form.const)] if form.const or not terms else [])])

    def read(self, step: Step) -> str:
        forms: Sequence[Form] = step.params
        value = step.args[0][0]
        simple = self.sliced(value, forms, step)
        if simple is not None:
            return simple
        places = [self.place_of(form, step.out.shape) for form in forms]
        text = f"{self.name(value)}[{', '.join(places)}]"
        if len({x for form in forms for x, _ in form.terms}) == len(step.labels):
            return text
        return f"{self.helper('broadcast_to')}({text}, {tuple_text(step.out.shape)})"

    def take(self, step: Step) -> str:
        (value, _), (at, _) = step.args
        (axis,) = step.params
        return f"{self.helper('take')}({self.name(value)}, {self.name(at)}, {axis})"

    def locate(self, step: Step) -> str:
        parts = [self.arranged(operand, step.labels) for operand in step.args]
        return f"{self.helper('located')}({tuple_text(parts)}, {step.params})"

    def scatter(self, step: Step) -> str:
        (value, labels), (at, places) = step.args
        sizes, rest = step.sizes(), step.labels[1:]
        if isinstance(value, Value) and places and not set(places) & set(rest) and set(labels) == {*places, *rest}:
            text = self.permuted(self.name(value), labels, (*places, *rest))
            count = math.prod([sizes[x] for x in places])
            return self.rows_added(self.zeros(step, value), self.name(at), text, count, step.out.shape[1:])
        parts = [self.arranged((at, places), labels)]
        for x in rest:
            parts.append(self.along(sizes[x], labels.index(x), len(labels)))
        return self.added(self.zeros(step, value), parts, self.name(value))

    def place(self, step: Step) -> str:
        has_base, parts = step.params
        args = list(step.args)
        total = self.arranged(args.pop(0), step.labels) if has_base else ""
        for (value, _), (own, forms, sizes) in zip(args, parts, strict=True):
            if 0 in sizes:
                continue
            text = self.part(step, value, own, forms, sizes, total)
            total = f"v{len(self.lines)}"
            self.lines.append(f"{total} = {text}")
        return total or self.zeros(step, None)

    def part(self, step: Step, value: Any, own: Labels, forms: Sequence[Form], sizes: tuple, total: str) -> str:
        """The total with one part added."""
        shape = step.out.shape
        axis_of: dict[int, int] = {}
        for axis, form in enumerate(forms):
            if form.label is not None and sizes[form.label] == shape[axis]:
                axis_of.setdefault(form.label, axis)
        text = self.arranged((value, own), tuple(range(len(sizes))))
        if len(axis_of) < len(sizes):
            places = [self.place_of(form, sizes) for form in forms]
            return self.added(total or self.zeros(step, value), places, text)
        moved = self.arranged((value, tuple([axis_of[x] for x in own])), tuple(range(len(shape))))
        masks = []
        for axis, form in enumerate(forms):
            if form.label is None or axis_of[form.label] != axis:
                at = Form(tuple([(axis_of[x], c) for x, c in form.terms]), form.const)
                masks.append(f"({self.along(shape[axis], axis, len(shape))} == {self.place_of(at, shape)})")
        return self.masked(step, " & ".join(masks), moved, total)

    def masked(self, step: Step, mask: str, text: str, total: str) -> str:
        """``text`` where the mask holds, added to the total."""
        placed = f"{self.helper('select')}({mask}, {text}, 0)" if mask else text
        return (
            f"{total} + {placed}" if total else f"{self.helper('broadcast_to')}({placed}, {tuple_text(step.out.shape)})"
        )

    def zeros(self, step: Step, like: Any) -> str:
        raise NotImplementedError

    def added(self, total: str, places: Sequence[str], text: str) -> str:
        """``total`` with ``text`` added at places; where several are the same, all count."""
        raise NotImplementedError

    def rows_added(self, total: str, places: str, text: str, count: int, rest: Sequence[int]) -> str:
        """``total`` with the rows of ``text`` added at places; there are ``count`` of them, of the shape ``rest``."""
        raise NotImplementedError

    def filled(self, result: Result) -> str:
        """A result that is one number everywhere."""
        raise NotImplementedError

    def result(self, result: Result) -> str:
        value, axes = result.value, result.axes
        if not isinstance(value, Value):
            return self.filled(result)
        everywhere = tuple(range(len(result.shape)))
        text = self.arranged((value, axes), everywhere) if axes else self.name(value)
        if len(axes) != len(everywhere):
            text = f"{self.helper('broadcast_to')}({text}, {tuple_text(result.shape)})"
        return text
