"""Making the steps of a program for any sizes: each operation once, and what kind of values it gives.

The steps are those of the compiler (``compiler/plan/program_steps.py``), with symbolic sizes in their shapes, and:

- ``mask``: truths that say where a relation between indices holds;
- ``split``: of one axis into several, as ``merge`` is the opposite;
- ``einsum``: of one operand, a diagonal or a trace: labels that are repeated, or summed.

Operands are values or numbers; numbers may be fractions, sizes and π. What is made of numbers alone is a number, kind
"n". The kinds of arrays are those of the compiler: "f", "i" and "b".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ricci.budget import spend
from ricci.compiler.plan.program_steps import ARITHMETIC, Labels, Step, Value, distinct, number_key
from ricci.expr import OPS, Dim, Size
from ricci.functions import FUNCTIONS

PI = "pi"
Operand = tuple[Any, Labels]  # a value or a number, and its labels
EXACT = {"add", "subtract", "multiply", "negative", "square"}


class Assembly:
    """A program in the making."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.constants: list[Value] = []
        self._known: dict[tuple, Value] = {}
        self._labels = 1_000_000

    def fresh(self) -> int:
        """A label that is nowhere else."""
        self._labels += 1
        return self._labels

    def emit(
        self,
        op: str,
        name: str,
        args: Sequence[Operand],
        labels: Labels,
        shape: Sequence[Size],
        kind: str,
        params: tuple = (),
        relabel: Any = None,
    ) -> Operand:
        """The step, unless it is there already. Its labels are numbered anew; ``relabel`` does so in the parameters."""
        number = {x: n for n, x in enumerate(distinct([*[x for _, own in args for x in own], *labels]))}
        inner = tuple([(value, tuple([number[x] for x in own])) for value, own in args])
        out = tuple([number[x] for x in labels])
        params = params if relabel is None else relabel(number)
        key = (op, name, tuple([(_key(v), own) for v, own in inner]), out, tuple(shape), params)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Value(tuple(shape), kind)  # type: ignore[arg-type]
            found.step = Step(op, name, inner, found, out, params)
            self.steps.append(found.step)
            spend()
        return found, labels

    def constant(self, values: Any, kind: str, labels: Labels, shape: Sequence[Size], digest: Any) -> Operand:
        """An array that is known now."""
        key = ("constant", digest)
        if key not in self._known:
            self._known[key] = Value(tuple(shape), kind, source=values)  # type: ignore[arg-type]
            self.constants.append(self._known[key])
        return self._known[key], labels

    # Numbers

    def kind(self, value: Any) -> str:
        return value.kind if isinstance(value, Value) else "n"

    def whole(self, value: Any) -> bool:
        """Whether a number is a whole one."""
        return isinstance(value, (int, Dim)) or (isinstance(value, Value) and value.kind == "i")

    def folded(self, name: str, values: Sequence[Any]) -> Any:
        """What a function makes of plain numbers; none where there are sizes among them."""
        if any(isinstance(v, (Value, Dim)) for v in values):
            return None
        row = ARITHMETIC.get(name) or OPS[name]
        known = [math.pi if v == PI else v for v in values]
        return row.value(*[v if isinstance(v, (int, complex)) else float(v) for v in known])

    # Steps

    def cast(self, operand: Operand, kind: str = "f") -> Operand:
        """Truths as numbers."""
        value, labels = operand
        if not isinstance(value, Value) or value.kind != "b":
            return operand
        return self.emit("cast", kind, [operand], labels, value.shape, kind)

    def map(self, name: str, *operands: Operand, order: Labels | None = None) -> Operand:
        """An elementwise function; the axes of the result are in ``order``, or as they come."""
        found = self.folded(name, [value for value, _ in operands])
        if found is not None:
            return found, ()
        plain = name == "where"
        operands = tuple([o if plain and k == 0 else self.cast(o) for k, o in enumerate(operands)])
        if name == "multiply":
            name, operands = self._quotient(*operands)
        labels = order or joined(operands)
        sizes = sizes_of(operands)
        return self.emit("map", name, operands, labels, [sizes[x] for x in labels], self._gives(name, operands))

    def _quotient(self, a: Operand, b: Operand) -> tuple[str, tuple[Operand, ...]]:
        """``a * (1/b)`` as ``a / b``."""
        for x, y in ((a, b), (b, a)):
            step = y[0].step if isinstance(y[0], Value) else None
            if step is not None and step.name == "reciprocal":
                ((inner, own),) = step.args
                place = dict(zip(step.labels, y[1], strict=True))
                return "divide", (x, (inner, tuple([place[z] for z in own])))
        return "multiply", (a, b)

    def _gives(self, name: str, operands: Sequence[Operand]) -> str:
        kinds = {self.kind(value) for value, _ in operands[name == "where" :]}
        if kinds == {"n"}:
            return "n" if all(self.kind(value) == "n" for value, _ in operands) else "f"
        row = FUNCTIONS.get(name)
        if row is not None and row.type == "truth":
            return "b"
        fixed = all(self.whole(value) for value, _ in operands[name == "where" :])
        return "i" if fixed and (name in EXACT or (row is not None and row.whole)) else "f"

    def scaled(self, operand: Operand, number: Any) -> Operand:
        """The operand times a number."""
        if isinstance(number, (int, float, Fraction)) and number == 1:
            return operand
        masked = operand[0].step if isinstance(operand[0], Value) else None
        if (
            masked is not None
            and masked.name == "where"
            and masked.args[2][0] == 0
            and isinstance(masked.args[1][0], Value)
        ):
            place = dict(zip(masked.labels, operand[1], strict=True))  # few entries are scaled, and not all the zeros
            mask, inner = [(value, tuple([place[x] for x in own])) for value, own in masked.args[:2]]
            return self.map("where", mask, self.scaled(inner, number), (0, ()), order=operand[1])
        if isinstance(number, (int, Fraction, float)) and number == -1:
            return self.map("negative", operand)
        if isinstance(number, Fraction) and abs(number.numerator) == 1 and not _is_short(number):
            made = self.map("divide", operand, (number.denominator, ()))
            return made if number > 0 else self.map("negative", made)
        if isinstance(operand[0], Value) and operand[0].kind != "n":
            return self.map("multiply", (number, ()), operand)
        return self.map("multiply", operand, (number, ()))

    def spread(self, operand: Operand, labels: Labels, sizes: dict[int, Size]) -> Operand:
        """The operand with exactly these labels, in this order, repeated along those that it lacks."""
        value, own = operand
        if own == labels and isinstance(value, Value):
            return operand
        kind = "f" if self.kind(value) == "n" else value.kind
        return self.emit("spread", "", [operand], labels, [sizes[x] for x in labels], kind)

    def sum(self, operand: Operand, kept: Sequence[int]) -> Operand:
        value, labels = self.cast(operand)
        out = tuple([x for x in labels if x in kept])
        if out == labels:
            return value, labels
        sizes = sizes_of([(value, labels)])
        return self.emit("sum", "", [(value, labels)], out, [sizes[x] for x in out], value.kind)


def given(step: Step) -> tuple[Operand, ...]:
    """The operands of a step, which are of more kinds here than in the compiler."""
    return step.args


def joined(operands: Sequence[Operand]) -> Labels:
    """The labels of all operands, those of the one with most of them first."""
    ranked = sorted(operands, key=lambda operand: -len(operand[1]))
    return distinct([x for _, own in ranked for x in own])


def sizes_of(operands: Sequence[Operand]) -> dict[int, Size]:
    """The size of every label."""
    return {x: n for value, own in operands if isinstance(value, Value) for x, n in zip(own, value.shape, strict=True)}


def _is_short(number: Fraction) -> bool:
    return number.denominator in (2, 4, 8)


def _key(value: Any) -> Any:
    return number_key(value) if isinstance(value, (int, float)) else value
