"""From a program to source: straight-line Python over the functions of a backend.

Nothing of the user's text is in it: names are made here, numbers and arrays are passed as ``c0``, ``c1``, … Only whole
numbers that are sizes, axes and strides are written out. This is the functional form, which JAX and PyTorch share;
NumPy's, with its buffers and views, is in ``emit_numpy``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program_steps import OUTSIDE, Labels, Number, Operand, Result, Step, Value, number_key

INDENT = "    "
PROGRAM, SOURCE = "<ricci program>", "__source__"  # its file, and where among its names its text is


@dataclass(frozen=True, eq=False)
class Source:
    """The text of a program, and what the names in it mean; ``kernels`` are functions that are compiled further."""

    text: str
    scope: Mapping[str, Any] = field(repr=False)
    kernels: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return self.text

    def function(self) -> Callable[..., Any]:
        """The function that the source defines. The source is ours: no text of a user is in it."""
        names = {**self.scope, **{name: kernel.function for name, kernel in self.kernels.items()}}
        text = names[SOURCE] = self.text[self.text.index("def program(") :]
        exec(compile(text, PROGRAM, "exec"), names)
        return names["program"]


class Emitter:
    """Source for one plan. Subclasses say how their backend spells each kind of step."""

    def __init__(self, plan: Plan):
        self.plan, self.program, program = plan, plan.program, plan.program
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}  # what the names in the source mean
        self.names: dict[Value, str] = {}
        self._numbers: dict[tuple, str] = {}
        self.arguments = []
        for position, (name, value) in enumerate(program.inputs.items()):
            plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
            self.names[value] = f"in_{name}" if plain else f"in{position}"
            self.arguments.append(self.names[value])
        for value in program.constants:
            self.names[value] = self.passed(self.array(value.source))

    # Naming

    def passed(self, thing: Any) -> str:
        """The name of a constant, which is passed to the program."""
        name = f"c{len(self._numbers)}"
        self._numbers[(name,)] = name
        self.scope[name] = thing
        return name

    def number(self, value: Number) -> str:
        key = number_key(value)
        if key not in self._numbers:
            self._numbers[key] = self.passed(value)
        return self._numbers[key]

    def function(self, name: str, thing: Callable) -> str:
        """The name of a function of the backend."""
        self.scope[name] = thing
        return name

    def called(self, step: Step, backend: str, functions: Mapping[str, Callable]) -> str:
        """A call of a function over axes, with its parameters."""
        args, (params, _) = [self.name(value) for value, _ in step.args], step.params
        if step.name == OUTSIDE:
            f = self.function(params[0].name, params[0].on(backend))
        else:
            f = self.function(f"f_{step.name}", functions[step.name])
            args += [self.number(p) for p in params]
        return f"{f}({', '.join(args)})"

    def guarding(self, step: Step) -> str:
        """What a guard takes after its first operand: labels of arrays, masks and result, a number, all arrays."""
        count, number = step.params
        (_, out), *args = step.args
        own, of_masks = [tuple_text([x for _, x in part]) for part in (args[:count], args[count:])]
        arrays, masks = [tuple_text([self.anew(v) for v, _ in part]) for part in (args[:count], args[count:])]
        return f"{own}, {of_masks}, {out}, {self.number(number)}, lambda: ({arrays}, {masks})"

    def anew(self, value: Value | Number) -> str:
        """A value where it is rarely needed."""
        return self.name(value)

    def name(self, value: Value | Number) -> str:
        return self.names[value] if isinstance(value, Value) else self.number(value)

    def new(self, value: Value) -> str:
        self.names[value] = f"t{len(self.names)}"
        return self.names[value]

    def array(self, source: Any) -> Any:
        """A constant as an array of the backend."""
        return source

    # The whole

    def source(self) -> Source:
        self.body()
        results = [self.result(result) for result in self.program.results]
        body = [*self.lines, f"return {results[0] if self.plan.setting.single else tuple_text(results)}"]
        body = [INDENT + line for line in self.wrapped(body)]
        return Source("\n".join([f"def program({', '.join(self.arguments)}):", *body]), self.scope)

    def body(self) -> None:
        for step in self.program.steps:
            self.step(step)

    def wrapped(self, body: list[str]) -> list[str]:
        return body

    def step(self, step: Step) -> None:
        text = getattr(self, step.op)(step)
        self.lines.append(f"{self.new(step.out)} = {text}")

    # Arrangement

    def arranged(self, operand: Operand, labels: Sequence[int]) -> str:
        """The operand with axes that broadcast against ``labels``."""
        value, own = operand
        text = self.name(value)
        if not own or own == labels:
            return text
        order = sorted(range(len(own)), key=lambda axis: labels.index(own[axis]))
        if order != list(range(len(own))):
            text = self.transposed(text, order)
        first = min(labels.index(x) for x in own)
        wide = [":" if x in own else "None" for x in labels[first:]]
        return text if "None" not in wide else f"{text}[{', '.join(wide)}]"

    def transposed(self, text: str, order: Sequence[int]) -> str:
        return f"{text}.T" if list(order) == [1, 0] else f"{text}.transpose({', '.join(map(str, order))})"

    def permuted(self, text: str, own: Labels, to: Sequence[int]) -> str:
        """A text for an array with labels ``own``, with its axes in the order ``to``."""
        order = [own.index(x) for x in to]
        return text if order == list(range(len(own))) else self.transposed(text, order)

    def shaped(self, text: str, old: Sequence[int], new: Sequence[int]) -> str:
        return text if tuple(old) == tuple(new) else f"{text}.reshape({tuple_text(new)})"

    def result(self, result: Result) -> str:
        raise NotImplementedError


def tuple_text(parts: Sequence[Any]) -> str:
    return f"({', '.join(map(str, parts))}{',' if len(parts) == 1 else ''})"


def matrix_axes(step: Step) -> tuple[Labels, Labels, Labels, Labels]:
    """The labels of a dot: those of both operands that are kept, of the first, of the second, and those summed."""
    (_, a), (_, b) = step.args
    batch = tuple([x for x in step.labels if x in a and x in b])
    rows = tuple([x for x in step.labels if x in a and x not in b])
    columns = tuple([x for x in step.labels if x in b and x not in a])
    summed = tuple([x for x in a if x not in step.labels])
    return batch, rows, columns, summed
