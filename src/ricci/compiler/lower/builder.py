"""Making the steps of a program: each operation once, types settled, numbers folded.

*Types.* The floating inputs decide one floating type for all that is computed. Constants are Python numbers until they
meet an array, so they never promote; where that is one of floats, they are floats too, however large. Integers and
truth values are computed in int64 among themselves and take the floating type where they meet floats; the interpreter
says the same. Where a backend has no int64, what could leave the range of its integers is computed in floats.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ricci.budget import spend
from ricci.caches import cached, once
from ricci.compiler.backends import numpy_table
from ricci.compiler.lower.paths import REARRANGED
from ricci.compiler.lower.windows import counting, read_of, unmerged
from ricci.compiler.plan.program_steps import (
    ARITHMETIC,
    OUTSIDE,
    Form,
    Labels,
    Number,
    Operand,
    Step,
    Value,
    distinct,
    number_key,
    volume,
)
from ricci.expr import OPS
from ricci.expr.numbers import as_float
from ricci.functions import FUNCTIONS

_DTYPES = {"c": np.complex128, "f": np.float64, "i": np.int64, "b": np.bool_}
GROWING = {name for name, op in [*FUNCTIONS.items(), *ARITHMETIC.items()] if op.grows}  # integers may get too large
_ONLY_NUMBERS, _FLOATING, _REAL = frozenset("nr"), frozenset("cfnr"), frozenset("cfr")
SIGNED = {"negative": "positive", "add": "subtract", "subtract": "add"}  # what they are of the negative of their last
ODD = ("subtract", "multiply", "divide")  # numbers times operands, or their places, make numbers times these


@cached("kinds of results of functions", 4096)
def gives(name: str, kinds: tuple[str, ...], own_axes: tuple[int, ...] | None, params: tuple = ()) -> str:
    """What a function makes of operands of these kinds; asked of NumPy. "n" and "r" are Python's numbers."""
    return _asked(name, kinds, own_axes, params)


@once
def maps_to(name: str, kinds: tuple[str, ...]) -> str:
    """The same of an elementwise function: there are few of these, with few kinds of operands."""
    return _asked(name, kinds, None, ())


def _asked(name: str, kinds: tuple[str, ...], own_axes: tuple[int, ...] | None, params: tuple) -> str:
    samples: list[Any] = [1 if kind == "n" else 1.0 if kind == "r" else None for kind in kinds]
    for place, kind in enumerate(kinds):
        if samples[place] is None:
            samples[place] = np.ones((1,) * (own_axes[place] if own_axes else 1), dtype=_DTYPES[kind])
    with np.errstate(all="ignore"):
        if own_axes is not None:
            value = numpy_table.FUNCTIONS[name](*samples, *params)
        else:
            value = (ARITHMETIC[name].value if name in ARITHMETIC else numpy_table.ELEMENTWISE[name])(*samples)
    kind = np.asarray(value).dtype.kind
    return "i" if kind in "iu" else kind


def _kind(value: Value | Number) -> str:
    return value.kind if type(value) is Value else "r" if isinstance(value, float) else "n"


class Builder:
    """A program in the making. ``number`` is the kind of what has no kind of its own: one-tensors, truth values."""

    def __init__(self, number: str = "f", rearranged: float = REARRANGED, short: bool = False):
        self.number, self.rearranged = number, rearranged
        self.short = short  # whether integers have so few bits that sums and products of them are floats
        self.steps: list[Step] = []
        self.constants: list[Value] = []
        self._known: dict[tuple, Value] = {}
        self._mapped: set[tuple[str, Value]] = set()  # functions, and of what there are any
        self._dots: dict[tuple, tuple[Value, Labels]] = {}
        self._multiples: dict[Value, list[Step]] = {}  # what was made of a value by a sign or a power of two
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
        shape: tuple[int, ...],
        kind: str,
        params: tuple = (),
    ) -> tuple[Value, Labels]:
        """The step, unless it is there already; its labels are renumbered, so that equal steps are found."""
        inner, out = _numbered(args, labels)
        key = _key(op, name, inner, out, shape, params)
        found = self._known.get(key)
        if found is None:
            found = Value(shape, kind)
            found.step = Step(op, name, inner, found, out, params)
            self._known[key] = found
            self.steps.append(found.step)
            if op == "map":
                self._mapped.update([(name, v) for v, _ in inner if isinstance(v, Value)])
                if _is_multiple(found.step):
                    self._multiples.setdefault(inner[0][0], []).append(found.step)  # type: ignore
            spend()
        return found, labels

    def has(
        self,
        op: str,
        name: str,
        args: Sequence[Operand],
        labels: Labels,
        shape: tuple[int, ...],
        params: tuple = (),
    ) -> bool:
        """Whether the step is there already."""
        return _key(op, name, *_numbered(args, labels), shape, params) in self._known

    def constant(self, array: np.ndarray, labels: Labels) -> tuple[Value, Labels]:
        """An array that is known now."""
        key = ("constant", array.shape, array.dtype.str, array.tobytes())
        found = self._known.get(key)
        if found is None:
            kind = "i" if array.dtype.kind in "iu" else array.dtype.kind
            found = self._known[key] = Value(array.shape, kind, source=array)
            self.constants.append(found)
        return found, labels

    # Types

    def cast(self, operand: Operand, kind: str) -> Operand:
        value, labels = operand
        if not isinstance(value, Value) or value.kind == kind:
            return operand
        if isinstance(value.source, np.ndarray):
            return self.constant(value.source.astype(_DTYPES[kind]), labels)
        return self.emit("cast", kind, [operand], labels, value.shape, kind)

    def aligned(self, operands: Sequence[Operand]) -> list[Operand]:
        """The operands in one kind: floating if any is, else integers, else the kind of plain numbers.

        Complex ones stand beside real ones as these are.
        """
        kinds = {value.kind for value, _ in operands if isinstance(value, Value)}
        if kinds <= {"c", "f"} and kinds:
            return list(operands)
        common = next((kind for kind in "cfi" if kind in kinds), self.number)
        return list(operands) if kinds == {common} else [self.cast(operand, common) for operand in operands]

    def uniform(self, operands: Sequence[Operand]) -> list[Operand]:
        """The operands in one kind, complex if any is."""
        operands = self.aligned(operands)
        kinds = {value.kind for value, _ in operands if isinstance(value, Value)}
        return [self.cast(operand, "c") for operand in operands] if len(kinds) > 1 else operands

    def real(self, operand: Operand) -> Operand:
        """The operand in floats, also where it is a number; a complex one stays as it is."""
        value, labels = operand
        if not isinstance(value, Value):
            return as_float(value), labels
        return operand if value.kind == "c" else self.cast(operand, "f")

    def grown(self, name: str, operands: Sequence[Operand]) -> list[Operand]:
        """The operands of an operation, in floats where its result may be too large for the integers there are."""
        grows = self.short and name in GROWING
        return [self.real(operand) for operand in operands] if grows else list(operands)

    def array(self, operand: Operand) -> tuple[Value, Labels]:
        """A number as an array of order 0."""
        value, labels = operand
        if isinstance(value, Value):
            return value, labels
        kind = "f" if isinstance(value, float) else self.number
        return self.constant(np.asarray(value, dtype=_DTYPES[kind]), labels)

    def zero(self, values: Sequence[Value | Number]) -> Operand:
        """Zero of the kind that a product of these would have."""
        kinds = {_kind(value) for value in values}
        if not any(isinstance(value, Value) for value in values):
            return (0.0 if "r" in kinds else 0), ()
        kind = "c" if "c" in kinds else "f" if kinds & {"f", "r"} else "i" if "i" in kinds else self.number
        return self.constant(np.zeros((), _DTYPES[kind]), ())

    def plus_zero(self, operand: Operand, zero: Operand) -> Operand:
        """The operand in the kind of its sum with a number that is zero."""
        return self.real(operand) if isinstance(zero[0], float) else self.aligned([operand])[0]

    # Steps

    def map(self, name: str, *operands: Operand, order: Labels | None = None) -> Operand:
        """An elementwise function. The axes of the result are in ``order``, or in that of the largest operand."""
        given = operands
        kinds = tuple([_kind(v) for v, _ in operands])
        if _ONLY_NUMBERS.issuperset(kinds):
            numbers = [value for value, _ in operands]
            value = (ARITHMETIC.get(name) or OPS[name]).value(*numbers)  # type: ignore
            return self.constant(np.asarray(value), ()) if isinstance(value, complex) else (value, ())
        if name == "where":
            branches = self.aligned(operands[1:])
            condition = self.array(operands[0])
            if [b for b, _ in branches] == [1, 0] and condition[0].kind == "b":
                return self.cast(condition, self.number)
            if not any(isinstance(b, Value) for b, _ in branches):
                branches = [self.array(b) for b in branches]
            operands = (condition, *branches)
        elif not _FLOATING.issuperset(kinds):
            operands = tuple(self.grown(name, self.aligned(operands)))
        if name == "multiply":
            name, operands = self._quotient(operands)
        if name == "conj":
            inner = self._inner(operands[0], "conj")
            if inner is not None or kinds != ("c",):
                return operands[0] if inner is None else inner
        if name == "square":
            operands = (self._inner(operands[0], "negative") or operands[0],)
        elif name == "multiply":
            operands = self._signed_number(operands)
        elif name in SIGNED:
            name, operands = self._with_signs(name, operands)
            if name == "positive":
                return operands[0]
        known = self._but_for_a_number(name, operands) if name in ODD else None
        if known is not None:
            return known
        if operands is not given:
            kinds = tuple([_kind(v) for v, _ in operands])
        kind = maps_to(name, kinds)
        if not {kind, *kinds}.isdisjoint("cf") and not _REAL.issuperset(kinds):
            operands = tuple(
                [operand if p == 0 and name == "where" else self.real(operand) for p, operand in enumerate(operands)]
            )
        labels = order or _joined(operands)
        sizes = sizes_of(operands)
        return self.emit("map", name, operands, labels, tuple(map(sizes.__getitem__, labels)), kind)

    def _quotient(self, operands: tuple[Operand, ...]) -> tuple[str, tuple[Operand, ...]]:
        """``a * (1/b)`` as ``a / b``, which rounds once, and is finite where ``1/b`` is not."""
        for a, b in (operands, operands[::-1]):
            over, inner = self.divisor(b)
            if over:
                return "divide", (a, inner)
        return "multiply", operands

    def _with_signs(self, name: str, operands: tuple[Operand, ...]) -> tuple[str, tuple[Operand, ...]]:
        """Signs of operands as part of the sum or difference that they are in; of two signs nothing is left."""
        *rest, last = operands
        inner = self._inner(last, "negative")
        if inner is not None:
            return SIGNED[name], (*rest, inner)
        first = self._inner(operands[0], "negative") if name == "add" else None
        return (name, operands) if first is None else ("subtract", (operands[1], first))

    def _but_for_a_number(self, name: str, operands: tuple[Operand, ...]) -> Operand | None:
        """What is there but for its sign, or a power of two: a difference, product or quotient of arrays."""
        a, b = operands
        if type(a[0]) is not Value or type(b[0]) is not Value or a[0].kind != b[0].kind or a[0].kind not in ("c", "f"):
            return None
        if name == "subtract":
            known = self.known_map(name, b, a)
            return None if known is None else self.map("negative", known)
        for (m, x), (n, y) in list(product(self._multiples_of(a), self._multiples_of(b)))[1:]:
            known = self.known_map(name, x, y) or (self.known_map(name, y, x) if name == "multiply" else None)
            if known is not None:
                return self.scaled(known, m * n if name == "multiply" else m / n)
        return None

    def _multiples_of(self, operand: Operand) -> list[tuple[float, Operand]]:
        """The operand, and arrays that it is a number times: minus one, or a power of two."""
        found = [(1.0, operand)]
        value, labels = operand
        assert isinstance(value, Value)
        step = value.step
        if step is not None and _is_multiple(step):
            inner, own = step.args[0]
            place = dict(zip(step.labels, labels, strict=True))
            number = -1.0 if step.name == "negative" else step.args[1][0]
            found.append((number, (inner, tuple([place[x] for x in own]))))  # type: ignore
        for made in self._multiples.get(value, ()):
            place = dict(zip(made.args[0][1], labels, strict=True))
            number = -1.0 if made.name == "negative" else made.args[1][0]
            found.append((1 / number, (made.out, tuple([place[x] for x in made.labels]))))  # type: ignore
        return found

    def _signed_number(self, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        """A number times the negative of an array as the negative of the number times the array."""
        for a, b in (operands, operands[::-1]):
            inner = self._inner(a, "negative") if isinstance(b[0], float) else None
            if inner is not None:
                return inner, (-b[0], b[1])  # type: ignore
        return operands

    def divisor(self, operand: Operand) -> tuple[bool, Operand]:
        """Whether an operand is a reciprocal, and of what; if it is not, itself."""
        inner = self._inner(operand, "reciprocal")
        return (False, operand) if inner is None else (True, inner)

    def repeated(self, operand: Operand) -> tuple[int, Operand]:
        """How often what is a factor of an operand: twice, if it is a square, up to four times."""
        inner = self._inner(operand, "square")
        if inner is None:
            return self._cubed(operand)
        again = self._inner(inner, "square")
        return (2, inner) if again is None else (4, again)

    def _cubed(self, operand: Operand) -> tuple[int, Operand]:
        value, labels = operand
        step = value.step if isinstance(value, Value) else None
        if step is not None and (step.op, step.name) == ("map", "multiply") and step.args[0][1] == step.args[1][1]:
            square, x = step.args
            found = self._inner(square, "square")
            if found is not None and found == x:
                place = dict(zip(step.labels, labels, strict=True))
                return 3, (x[0], tuple([place[label] for label in x[1]]))
        return 1, operand

    def _inner(self, operand: Operand, name: str) -> Operand | None:
        """``x`` where the operand is ``name(x)``."""
        value, labels = operand
        step = value.step if type(value) is Value else None
        if step is None or step.name != name or step.op != "map":
            return None
        ((inner, own),) = step.args
        place = dict(zip(step.labels, labels, strict=True))
        return inner, tuple([place[x] for x in own])

    def dot(self, a: Operand, b: Operand, labels: Labels) -> Operand:
        """The product of two operands, summed over what is not in ``labels``.

        One that is there already is taken whatever the order of its operands and of its axes.
        """
        a, b = self.grown("multiply", [a, b])
        first, second = sorted([a, b], key=lambda operand: id(operand[0]))
        number = {x: n for n, x in enumerate(distinct([*first[1], *second[1]]))}
        sides = [(value, tuple([number[x] for x in own])) for value, own in (first, second)]
        key = ("dot of", *sides, frozenset([number[x] for x in labels]))
        found = self._dots.get(key)
        if found is not None:
            value, order = found
            back = {n: x for x, n in number.items()}
            return value, tuple([back[n] for n in order])
        mirrored = self._mirrored(a, b, labels) or self._mirrored(b, a, labels)
        if mirrored is not None:
            return mirrored
        a, b = self.aligned([a, b])
        if {a[0].kind, b[0].kind} == {"c", "f"}:  # type: ignore[union-attr]
            apart = self._in_parts(a, b, labels)
            if apart is not None:
                return apart
        a, b = self.uniform([a, b])
        sizes = sizes_of([a, b])
        made = self.emit("dot", "", [a, b], labels, tuple([sizes[x] for x in labels]), a[0].kind)  # type: ignore
        self._dots[key] = made[0], tuple([number[x] for x in labels])
        return made

    def _in_parts(self, a: Operand, b: Operand, labels: Labels) -> Operand | None:
        """A real operand times the real and the imaginary part of a complex one that has fewer entries.

        So a matrix is not made complex, and there are half as many multiplications.
        """
        real, other = (a, b) if a[0].kind == "f" else (b, a)  # type: ignore[union-attr]
        if real[0].entries < other[0].entries:  # type: ignore[union-attr]
            return None
        parts = [self.dot(real, self.map(name, other), labels) for name in ("real", "imag")]
        unit = self.constant(np.asarray(1j), ())
        return self.map("add", parts[0], self.map("multiply", parts[1], unit))

    def _mirrored(self, a: Operand, b: Operand, labels: Labels) -> Operand | None:
        """``conj(A) b`` as ``conj(A conj(b))``, where that takes the conjugates of fewer numbers."""
        inner = self._inner(a, "conj")
        if inner is None:
            return None
        sizes = sizes_of([a, b])
        other = self._inner(b, "conj")
        left = volume(a[1], sizes) + (volume(b[1], sizes) if other is not None else 0)
        instead = volume(labels, sizes) + (volume(b[1], sizes) if other is None else 0)
        return self.map("conj", self.dot(inner, other or self.map("conj", b), labels)) if instead < left else None

    def known_map(self, name: str, *operands: Operand) -> Operand | None:
        """A map that is there already."""
        if any([isinstance(v, Value) and (name, v) not in self._mapped for v, _ in operands]):  # noqa: C419
            return None
        labels = _joined(operands)
        sizes = sizes_of(operands)
        found = self._known.get(_key("map", name, *_numbered(operands, labels), tuple([sizes[x] for x in labels])))
        return None if found is None else (found, labels)

    def scaled(self, operand: Operand, coef: Number) -> Operand:
        """The operand times a number; a fraction makes floats of integers, also where it is a whole one."""
        if type(coef) is int and coef == 1:
            return operand
        negative, found = self.multiple(operand, coef)
        return self.map("negative", found) if negative else found

    def multiple(self, operand: Operand, coef: Number) -> tuple[bool, Operand]:
        """The operand times a number, or the negative of that, if that is there already: one value is rounded once."""
        if type(coef) is int and coef == 1:
            return False, operand
        if isinstance(coef, float):
            operand = self.real(operand)
        operand, coef = self._unscaled(operand, coef)
        if abs(coef) == 1:
            return coef < 0, operand
        floating = isinstance(operand[0], Value) and operand[0].kind in ("c", "f")
        known = self.known_map("multiply", operand, (-as_float(coef), ())) if floating else None
        return (False, self.map("multiply", operand, (coef, ()))) if known is None else (True, known)

    def _unscaled(self, operand: Operand, coef: Number) -> tuple[Operand, Number]:
        """Two numbers times an array as one number times it, where that rounds nothing: one is a power of two."""
        value, labels = operand
        step = value.step if isinstance(value, Value) else None
        if step is None or (step.op, step.name) != ("map", "multiply") or step.out.kind not in ("c", "f") or coef == 0:
            return operand, coef
        (inner, own), (number, _) = step.args
        if isinstance(number, Value) or not (is_exact(number) or is_exact(coef)):
            return operand, coef
        place = dict(zip(step.labels, labels, strict=True))
        return (inner, tuple([place[x] for x in own])), number * coef

    def sum(self, operand: Operand, kept: Collection[int]) -> Operand:
        value, labels = operand
        assert isinstance(value, Value)
        if value.kind == "b":
            value, labels = operand = self.aligned([operand])[0]
            assert isinstance(value, Value)
        out = tuple([x for x in labels if x in kept])
        if out == labels:
            return operand
        sizes = dict(zip(labels, value.shape, strict=True))
        ((value, labels),) = self.grown("add", [(value, labels)])
        assert isinstance(value, Value)
        inner, times = self._unscaled((value, labels), 1.0) if value.kind in ("c", "f") else ((value, labels), 1.0)
        if is_exact(times) and times != 1.0:  # a sum of multiples as a multiple of the sum
            return self.scaled(self.sum(inner, kept), times)
        side = self._inner((value, labels), "square")
        if side is not None:
            return self.dot(side, side, out)
        return self.emit("sum", "", [(value, labels)], out, tuple([sizes[x] for x in out]), value.kind)

    def call(
        self,
        name: str,
        operands: Sequence[Operand],
        own: tuple[int, ...],
        params: tuple,
        result: Labels,
        sizes: dict[int, int],
    ) -> Operand:
        """A function over the last axes of its operands; ``own`` says how many, ``result`` labels the result's own."""
        operands = [self.array(operand) for operand in self.grown(name, self.uniform(operands))]
        kinds = tuple([v.kind for v, _ in operands])  # type: ignore[union-attr]
        kind = params[0].kind if name == OUTSIDE else gives(name, kinds, own, params)
        if kind in "cf":
            operands = [self.array(self.real(operand)) for operand in operands]
        lead = operands[0][1][: len(operands[0][1]) - own[0]]
        labels = (*lead, *result)
        return self.emit("call", name, operands, labels, tuple([sizes[x] for x in labels]), kind, (params, max(own)))

    def spread(self, operand: Operand, labels: Labels, sizes: dict[int, int]) -> Operand:
        """The operand with exactly ``labels``, in that order, repeated along those that it lacks."""
        value, own = self.array(operand)
        if own == labels:
            return value, own
        assert isinstance(value, Value)
        shape = tuple([sizes[x] for x in labels])
        return self.emit("spread", "", [(value, own)], labels, shape, value.kind)

    def read(self, value: Value, forms: Sequence[Form], sizes: dict[int, int]) -> Operand:
        """``value`` at the places ``forms``, one for each axis; zero outside. Labels go from far to near in memory."""
        labels = distinct(x for form in forms for x, _ in sorted(form.terms, key=lambda term: -abs(term[1])))
        plain = [form.label for form in forms]
        whole = all(x in sizes and sizes[x] == n for x, n in zip(plain, value.shape, strict=True))
        if whole and len(set(plain)) == len(plain):
            return value, tuple(plain)  # type: ignore
        shape = tuple([sizes[x] for x in labels])
        if 0 in shape or 0 in value.shape:
            return self.constant(np.zeros(shape, dtype=_DTYPES[value.kind]), labels)
        apart = unmerged(value, forms, sizes) if self._within(value, forms, sizes) else None
        if apart is not None:
            return self.read(*apart, sizes)
        value, forms = self._padded(value, forms, sizes)
        place = {x: position for position, x in enumerate(labels)}
        inner = tuple([Form(tuple([(place[x], c) for x, c in form.terms]), form.const) for form in forms])
        found, _ = self.emit("read", "", [(value, ())], tuple(range(len(labels))), shape, value.kind, inner)
        return found, labels

    def _within(self, value: Value, forms: Sequence[Form], sizes: dict[int, int]) -> bool:
        ends = [form.bounds(sizes) for form in forms]
        return all(low >= 0 and high < size for (low, high), size in zip(ends, value.shape, strict=True))

    def _padded(self, value: Value, forms: Sequence[Form], sizes: dict[int, int]) -> tuple[Value, list[Form]]:
        """The value with zeros around it wherever a form leaves it, and the forms moved accordingly."""
        ends = [form.bounds(sizes) for form in forms]
        before = [max(0, -low) for low, _ in ends]
        after = [max(0, high + 1 - size) for (_, high), size in zip(ends, value.shape, strict=True)]
        if not any(before) and not any(after):
            return value, list(forms)
        shape = tuple([b + size + a for b, size, a in zip(before, value.shape, after, strict=True)])
        labels = tuple(range(len(shape)))
        moved = [Form(((x, 1),), b) for x, b in zip(labels, before, strict=True)]
        found, _ = self.place(
            None, [PlacedPart((value, labels), moved, dict(zip(labels, value.shape, strict=True)))], labels, shape
        )
        return found, [Form(form.terms, form.const + b) for form, b in zip(forms, before, strict=True)]

    def place(
        self, base: Operand | None, parts: Sequence[PlacedPart], labels: Labels, shape: tuple[int, ...]
    ) -> tuple[Value, Labels]:
        """``base``, or zeros, with each part added at its places."""
        windows = self._windows(parts, labels, shape) if base is None and len(parts) > 1 else None
        if windows is not None:
            return windows
        operands = self.uniform([*([base] if base else []), *[self.array(part.operand) for part in parts]])
        placed = operands[-len(parts) :]
        kind = next((v.kind for v, _ in operands if isinstance(v, Value)), self.number)
        if any(isinstance(v, float) for v, _ in operands) and kind != "c":
            kind = "f"
        described = []
        for part in parts:
            number = {x: n for n, x in enumerate(distinct([*part.operand[1], *part.sizes]))}
            forms = tuple([Form(tuple([(number[x], c) for x, c in form.terms]), form.const) for form in part.forms])
            described.append(
                (tuple([number[x] for x in part.operand[1]]), forms, tuple([part.sizes[x] for x in number]))
            )
        args = [*operands[: len(operands) - len(parts)], *[(v, ()) for v, _ in placed]]
        found, _ = self.emit("place", "", args, labels, shape, kind, (base is not None, tuple(described)))
        assert isinstance(found, Value)
        return found, labels

    def _windows(
        self, parts: Sequence[PlacedPart], labels: Labels, shape: tuple[int, ...]
    ) -> tuple[Value, Labels] | None:
        """Parts that are one array at places which follow one another, side by side, as one view of it."""
        found = [read_of(part.operand) for part in parts]
        sides = {axis for part in parts for axis, form in enumerate(part.forms) if not form.terms}
        if None in found or len(sides) != 1 or len({id(source) for source, _ in found}) != 1:  # type: ignore[misc]
            return None
        (side,) = sides
        lead = tuple([x for x in labels if x != labels[side]])
        sizes = dict(zip(labels, shape, strict=True))
        at: dict[int, list[Form]] = {}
        for part, (_, forms) in zip(parts, found, strict=True):  # type: ignore[misc]
            names = {form.label: x for x, form in zip(labels, part.forms, strict=True) if form.terms}
            if set(names) != set(part.operand[1]) or any(part.sizes[y] != sizes[x] for y, x in names.items()):  # type: ignore
                return None
            at[part.forms[side].const] = [
                Form(tuple([(names[y], c) for y, c in form.terms]), form.const) for form in forms
            ]
        if sorted(at) != list(range(shape[side])) or len(parts) != len(at):
            return None
        counted = counting([at[place] for place in range(shape[side])], self.fresh)
        if counted is None:
            return None
        forms, within = counted
        value, _ = self.spread(self.read(found[0][0], forms, sizes | within), (*lead, *within), sizes | within)  # type: ignore[index]
        assert isinstance(value, Value)
        out = (*lead, labels[side])
        return self.emit("merge", "", [(value, ())], out, tuple([sizes[x] for x in out]), value.kind)


def is_exact(number: Number) -> bool:
    """Whether a number is a power of two, or the negative of one: times it, nothing is rounded."""
    return abs(math.frexp(number)[0]) == 0.5


def _is_multiple(step: Step) -> bool:
    """Whether a step is a sign, or a power of two, times an array of floats."""
    if step.out.kind not in ("c", "f") or step.name not in ("negative", "multiply"):
        return False
    return step.name == "negative" or (not isinstance(step.args[1][0], Value) and is_exact(step.args[1][0]))


@dataclass(eq=False)
class PlacedPart:
    """What is added at the places ``forms``, one for each axis of the result, for all indices within ``sizes``."""

    operand: Operand
    forms: Sequence[Form]
    sizes: dict[int, int]


def _numbered(args: Sequence[Operand], labels: Labels) -> tuple[tuple[Operand, ...], Labels]:
    """Operands and the labels of a result, labels numbered by first use."""
    number: dict[int, int] = {}
    for _, own in args:
        for x in own:
            if x not in number:
                number[x] = len(number)
    for x in labels:
        if x not in number:
            number[x] = len(number)
    place = number.__getitem__
    return tuple([(v, tuple(map(place, own))) for v, own in args]), tuple(map(place, labels))


def _key(op: str, name: str, args: tuple[Operand, ...], out: Labels, shape: tuple, params: tuple = ()) -> tuple:
    """What tells a step from all others; 1 and 1.0 differ, and so do 0.0 and -0.0."""
    return op, name, tuple([(v if isinstance(v, Value) else number_key(v), own) for v, own in args]), out, shape, params


def _joined(operands: Sequence[Operand]) -> Labels:
    """The labels of all operands, those of the largest first."""
    first = operands[0][1]
    if len(operands) > 1:
        if all([own == first for _, own in operands]):  # noqa: C419  (a list is faster)
            return distinct(first)
        operands = sorted(operands, key=_largest_first)
        first = operands[0][1]
    rest = [x for _, own in operands[1:] for x in own if x not in first]
    return distinct([*first, *rest]) if rest or len(set(first)) < len(first) else first


def _largest_first(operand: Operand) -> int:
    value, _ = operand
    return -value.entries if isinstance(value, Value) else 1


def sizes_of(operands: Sequence[Operand]) -> dict[int, int]:
    """The size of every label."""
    sizes: dict[int, int] = {}
    for value, labels in operands:
        if isinstance(value, Value):
            sizes.update(zip(labels, value.shape, strict=True))
    return sizes
