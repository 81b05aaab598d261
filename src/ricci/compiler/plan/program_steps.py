"""Programs: what expressions become once all sizes are known. Straight lines of steps, the same for every backend.

A :class:`Value` is an array that a step makes. Its axes have an order that the planner chose; a step names the axes of
its operands and of its result by labels of its own, as an einsum string does, so transposes, broadcasts and diagonals
are not steps: they are how labels are used. There are few kinds of step:

- ``map``: an elementwise function, ``name``; labels that an operand lacks broadcast;
- ``sum``: over the labels that the result lacks;
- ``dot``: of two operands, summed over the labels that the result lacks, each of which both have;
- ``call``: a function over the last axes of its operands, in parallel over the others;
- ``read``: one operand at places that are affine in the labels, ``x[2*i + k]``: a view wherever the backend has views;
- ``place``: zeros, or a sum so far, with each part added at affine places: deltas, pads, slices of results;
- ``take`` and ``scatter``: places given by an array of integers; ``locate``: places along several axes as places along
  the one that these are merged into;
- ``guard``: the product of arrays where masks hold, which the first operand is unless it is not finite;
- ``spread``: along labels that the operand lacks; ``merge``: of neighbouring axes into one; ``cast``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ricci.functions import FUNCTIONS

Labels = tuple[int, ...]
Number = int | float
KIND_BYTES = {"i": 8, "b": 1}
OUTSIDE = "outside"  # the name of a call of code that only runs; that is its parameter
COMPARING = {name for name, op in FUNCTIONS.items() if op.choice == "compares"}
IDENTITIES = {name for name, op in FUNCTIONS.items() if op.identity}
# The maps that no node has, by NumPy's names: sums, products and powers become these.
ARITHMETIC = {op.numpy or name: op for name, op in FUNCTIONS.items() if op.short is not None and op.numba}
REPEATED = 1.5  # times as many entries as there are, from which on a view shows them several times
VIEWS = ("read", "spread", "merge", "check")


@dataclass(eq=False, slots=True, init=False)
class Value:
    """An array of a program. ``kind`` is what it holds: "f" floating numbers, "c" complex ones, "i" integers, "b" truth
    values."""

    shape: tuple[int, ...]
    kind: str
    step: Step | None
    source: Any  # an input's name, or the array of a constant
    entries: int

    def __init__(self, shape: tuple[int, ...], kind: str, step: Step | None = None, source: Any = None):
        self.shape, self.kind, self.step, self.source, self.entries = shape, kind, step, source, math.prod(shape)


Operand = tuple[Value | Number, Labels]


class Form(NamedTuple):
    """A place along an axis: ``const`` plus, for each label, a coefficient times its index."""

    terms: tuple[tuple[int, int], ...]  # label, coefficient
    const: int = 0

    def bounds(self, sizes: dict[int, int]) -> tuple[int, int]:
        """The smallest and the largest place for indices within ``sizes``, none of which is 0."""
        ends = [(c * (sizes[x] - 1), 0) for x, c in self.terms]
        return self.const + sum(map(min, ends)), self.const + sum(map(max, ends))

    @property
    def label(self) -> int | None:
        """The label whose index this is, if it is that and nothing else."""
        return self.terms[0][0] if len(self.terms) == 1 and self.terms[0][1] == 1 and not self.const else None

    def replaced(self, label: int, by: Form) -> Form:
        for x, _ in self.terms:
            if x == label:
                break
        else:
            return self
        coefs: dict[int, int] = {}
        const = self.const
        for x, c in self.terms:
            if x != label:
                coefs[x] = coefs.get(x, 0) + c
                continue
            const += c * by.const
            for y, d in by.terms:
                coefs[y] = coefs.get(y, 0) + c * d
        return Form(tuple([(x, c) for x, c in coefs.items() if c]), const)


def index(label: int) -> Form:
    return Form(((label, 1),))


@dataclass(eq=False, slots=True, init=False)
class Step:
    """One operation. ``params`` are those of ``op``: see the backends."""

    op: str
    name: str
    args: tuple[Operand, ...]
    out: Value
    labels: Labels
    params: tuple
    operands: list[Value] = field(init=False, repr=False)  # the arrays among the arguments

    def __init__(
        self, op: str, name: str, args: tuple[Operand, ...], out: Value, labels: Labels, params: tuple = ()
    ) -> None:
        self.op, self.name, self.args, self.out, self.labels, self.params = op, name, args, out, labels, params
        self.operands = [value for value, _ in args if type(value) is Value]

    def sizes(self) -> dict[int, int]:
        """The size of every label."""
        found = dict(zip(self.labels, self.out.shape, strict=True))
        for value, labels in self.args:
            if isinstance(value, Value) and self.op not in ("read", "merge"):
                found.update(zip(labels, value.shape, strict=True))
        return found

    @property
    def views(self) -> bool:
        """Whether the result may be in the memory of the operand."""
        return self.op in VIEWS or self.name in IDENTITIES

    @property
    def loop(self) -> Any:
        """What runs a loop, if the step is one: it has the program of one round, and their number."""
        known = self.params[0][0] if self.op == "call" and self.name == OUTSIDE else None
        return known if hasattr(known, "program") else None

    @property
    def flops(self) -> int:
        """Multiplications and additions, roughly: a function counts as one for each entry, those of matrices as n."""
        if self.loop is not None:
            return self.loop.length * sum(step.flops for step in self.loop.program.steps)
        if self.op == "dot":
            return 2 * math.prod(self.sizes().values())
        if self.op == "sum":
            return self.operands[0].entries
        if self.op == "call":
            most = max(self.operands, key=lambda v: v.entries)
            return most.entries * (most.shape[-1] if self.params[1] == 2 else 4)
        return self.out.entries if self.op == "map" else 0


@dataclass(eq=False)
class Result:
    """A result: the operand, and where its axes are in the shape that the user asked for."""

    value: Value | Number
    axes: Labels
    shape: tuple[int, ...]
    kind: str


def _unrounded(value: Value) -> Iterator[Value]:
    """The value, and what it is but for views and signs, which round nothing."""
    yield value
    while value.step is not None and (value.step.views or value.step.name == "negative"):
        (value,) = value.step.operands
        yield value


def chosen(steps: Sequence[Step]) -> set[Value]:
    """The values that choices are made of: whoever else uses them must see the same numbers."""
    compares = [step for step in steps if step.name in COMPARING and len(step.operands) == len(step.args)]
    return {v for step in compares for operand in step.operands for v in _unrounded(operand)}


def rounded(steps: Sequence[Step], among: Callable[[Value], bool] = lambda _value: True) -> set[Value]:
    """Those ``among`` them, and numbers times what is chosen or chosen from: ``0.3 max(m) - 0.3 m``.

    Compilers may neither compute them again nor add to their products before these are rounded.
    """
    found = set(filter(among, chosen(steps)))

    def of_choice(value: Value) -> bool:
        return value in found or (value.step is not None and value.step.name in COMPARING)

    multiples = [step for step in steps if step.name == "multiply" and len(step.operands) == 1]
    return found | {step.out for step in multiples if any(map(of_choice, _unrounded(step.operands[0])))}


def entrywise(values: Iterable[Value]) -> set[Value]:
    """The values, and all that they are made of entry by entry: what a compiler may compute again at each use."""
    found: set[Value] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            step = value.step
            if step is not None and (step.views or step.op in ("map", "cast", "place")):
                waiting += step.operands
    return found


def repeats(value: Value) -> bool:
    """Whether a view shows entries of its source several times, as windows that overlap do."""
    root = value
    while root.step is not None and root.step.op in ("read", "spread"):
        (root,) = root.step.operands
    return value.entries > REPEATED * root.entries


def nbytes(value: Value, itemsize: int) -> int:
    return value.entries * (2 * itemsize if value.kind == "c" else KIND_BYTES.get(value.kind, itemsize))


def placed_strides(forms: Sequence[Form], count: int, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Where a part is in a result that lies row by row: the strides of its labels, and the offset, in entries."""
    strides, offset, weight = [0] * count, 0, 1
    for form, size in zip(reversed(forms), reversed(shape), strict=True):
        offset += form.const * weight
        for x, c in form.terms:
            strides[x] += c * weight
        weight *= size
    return tuple(strides), offset


def shape_text(shape: Sequence[Any]) -> str:
    return "×".join(map(str, shape)) or "scalar"


def number_key(value: Number) -> tuple[type, str]:
    """What tells numbers apart: 1 and 1.0, 0.0 and -0.0 are different, NaN is itself."""
    return type(value), repr(value)


def distinct(labels: Iterable[int]) -> Labels:
    return tuple(dict.fromkeys(labels))


def volume(labels: Iterable[int], sizes: dict[int, int]) -> int:
    return math.prod([sizes[x] for x in labels])


def renamed(operands: Sequence[Operand], names: dict[int, int]) -> list[Operand]:
    return [(value, tuple([names[x] for x in labels])) for value, labels in operands]
