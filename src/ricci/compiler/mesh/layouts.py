"""How the values of a program lie on a mesh, and what is sent between devices for that: simulated, step by step.

Inputs and results lie as they are placed. In between each step keeps what its operands have, as XLA does. An axis of
the mesh can cut one index of a step. Where operands have it at different ones, that index is taken which sends least:
other operands are gathered, and where the index is summed over, the result is a partial sum on each device, which is
all-reduced.

| step | what is sent |
|---|---|
| a sum, or a dot, over a cut index | all-reduce of the result |
| operands cut along different indices by one axis of the mesh | all-gather of those that give way |
| softmax, logsumexp, max and their like over a cut index | all-reduce of a maximum and of a sum, one entry a row |
| other functions over a cut index; reads at shifted places; a loop | all-gather of the operand |
| reading at places of a cut axis, adding at places | all-reduce of the result |
| a result that is to lie otherwise | all-gather, or all-to-all |

Slices of what is whole are free. What is counted for one collective is the bytes of its result on a device. It is an
estimate: XLA shifts neighbours' entries by permutes where a whole gather is counted here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any, NamedTuple

from ricci.compiler.mesh.placement import Cut, Spec
from ricci.compiler.mesh.same_axes import SameAxes, labels_of, meetings
from ricci.compiler.plan.plans import Plan
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import KIND_BYTES, VIEWS, Result, Step, Value

REDUCED = {"softmax": 2, "log_softmax": 2, "logsumexp": 2, "max": 1, "min": 1, "prod": 1, "any": 1, "all": 1}
Sizes = Mapping[str, int]  # of the axes of a mesh


class Collective(NamedTuple):
    """One exchange between devices: what is exchanged, along which axes of the mesh, and the bytes of its result."""

    kind: str  # "all-reduce", "all-gather", "all-to-all"
    value: str  # what it is called in plans
    shape: tuple[int, ...]
    over: tuple[str, ...]  # the indices that are summed over or gathered
    along: tuple[str, ...]
    bytes: int
    count: int  # of devices that take part

    @property
    def sent(self) -> float:
        """The bytes that each device sends, in a ring."""
        part = (self.count - 1) / self.count
        return self.bytes * part * (2 if self.kind == "all-reduce" else 1)


def layout(program: Program, inputs: Mapping[str, Spec], results: Sequence[Spec] | None) -> tuple[list, list]:
    """How the inputs and the results of a program lie; where nothing is said, as the index does elsewhere."""
    known = {value: inputs.get(name, (None,) * len(value.shape)) for name, value in program.inputs.items()}
    same = SameAxes(program)
    cuts = same.spread(known)
    given = [same.spec(value, cuts, spec) for value, spec in known.items()]
    if results is not None:
        return given, list(results)
    return given, [_of_result(result, same, cuts) for result in program.results]


def _of_result(result: Result, same: SameAxes, cuts: Any) -> Spec:
    spec: list[Cut | None] = [()] * len(result.shape)
    if isinstance(result.value, Value):
        for axis, cut in zip(result.axes, same.spec(result.value, cuts), strict=True):
            spec[axis] = cut
    return tuple(spec)


@dataclass
class Simulation:
    """A program on a mesh with so many devices along each of its axes."""

    plan: Plan
    sizes: Sizes
    inputs: Sequence[Spec]
    results: Sequence[Spec]

    def __post_init__(self) -> None:
        program = self.plan.program
        self.lies: dict[Value, list[Cut]] = {}
        self.sent: list[Collective] = []
        self.gathered: dict[Value, int] = {}  # the bytes that a step gathers
        self.flops = 0.0
        self.names = program.names()
        for value, spec in zip(program.inputs.values(), self.inputs, strict=True):
            self.lies[value] = [cut or () for cut in spec]
        for value in program.constants:
            self.lies[value] = [()] * len(value.shape)
        self.wanted = self._wanted(program)
        for step in program.steps:
            self._step(step)
        for result, spec in zip(program.results, self.results, strict=True):
            self._finish(result, spec)

    def _wanted(self, program: Program) -> dict[Value, list[Cut]]:
        """How results are to lie, and what they are views of."""
        found: dict[Value, list[Cut]] = {}
        for result, spec in zip(program.results, self.results, strict=True):
            if isinstance(result.value, Value) and None not in spec:
                found.setdefault(result.value, [spec[axis] or () for axis in result.axes])
        return found

    # Sizes on one device

    def count(self, cuts: Sequence[str]) -> int:
        return prod([self.sizes[one] for one in cuts])

    def bytes(self, value: Value, cuts: Sequence[Cut] | None = None) -> int:
        """The bytes of what a device has of a value."""
        cuts = self.lies[value] if cuts is None else cuts
        entries = prod([ceil(n / self.count(cut)) for n, cut in zip(value.shape, cuts, strict=True)])
        return entries * KIND_BYTES.get(value.kind, self.plan.itemsize)

    @property
    def held(self) -> int:
        """The bytes of inputs and results on one device."""
        own = {r.value for r in self.plan.program.results if isinstance(r.value, Value)}
        return sum(self.bytes(v) for v in dict.fromkeys([*self.plan.program.inputs.values(), *own]))

    @property
    def peak(self) -> int:
        """The most bytes of intermediates and results that a device has at once, if every step makes a new array."""
        program, alive, most = self.plan.program, 0, 0
        last = program.last_use()
        for number, step in enumerate(program.steps):
            alive += self._made(step)
            most = max(most, alive + self.gathered.get(step.out, 0))
            alive -= sum(self._made(v.step) for v in {*step.operands, step.out} if v.step and last.get(v) == number)
        return most

    def _made(self, step: Step) -> int:
        return 0 if step.op in VIEWS else self.bytes(step.out)

    # Steps

    def _step(self, step: Step) -> None:
        operands = list(self._operands(step))
        chosen, order = {}, dict.fromkeys(one for _, cuts in operands for cut in cuts.values() for one in cut)
        for one in order:
            label = self._choice(step, one, operands, chosen)
            if label is not None:
                chosen[one] = label
        for value, cuts in operands:
            self._gather(step, value, cuts, chosen)
        labels = labels_of(step)
        found: list[Cut] = [()] * len(labels)
        for axis, label in enumerate(labels):
            if label not in labels[:axis]:
                found[axis] = tuple([one for one, own in chosen.items() if own == label])
        self.lies[step.out] = self._more(step, found)
        cuts = {one for cut in self.lies[step.out] for one in cut} | chosen.keys()
        self.flops += step.flops / self.count(sorted(cuts))
        self._reduce(step, chosen)

    def _operands(self, step: Step) -> Iterator[tuple[Value, dict[int, Cut]]]:
        """The arrays of a step, with what cuts them by labels of the step; by negative ones what has no label there."""
        place = {label: axis for axis, label in reversed(list(enumerate(labels_of(step))))}
        if step.op in ("read", "place", "merge"):
            at: dict[tuple[Value, int], int] = {}
            for axis, out in self._plain(step):  # of several, as a delta has them, the first
                at.setdefault(axis, labels_of(step)[out])
            merged = self._merged(step) if step.op == "merge" else {}
            for value in dict.fromkeys(step.operands):
                lies = enumerate(self.lies[value])
                own = {at.get((value, axis), merged.get(axis, -axis - 1)): cut for axis, cut in lies if cut}
                yield value, {place_of(label, place): cut for label, cut in own.items()}
            return
        gone = self._unfit(step)
        for value, labels in step.args:
            if isinstance(value, Value):
                cuts = zip(labels, self.lies[value], strict=True)
                yield value, {(-label - 1 if label in gone else label): cut for label, cut in cuts if cut}

    def _plain(self, step: Step) -> Iterator[tuple[tuple[Value, int], int]]:
        """The axes of operands that are axes of the result, as they are."""
        for first, second in meetings(step):
            ours, theirs = (first, second) if first[0] is step.out else (second, first)
            if ours[0] is step.out and theirs[0].shape[theirs[1]] == ours[0].shape[ours[1]]:
                yield theirs, ours[1]

    def _merged(self, step: Step) -> dict[int, int]:
        """For each axis of an operand the label that it becomes the beginning of, where neighbours are merged."""
        (value,) = step.operands
        found, axis = {}, 0
        for label, size in zip(labels_of(step), step.out.shape, strict=True):
            start, whole = axis, 1
            while axis < len(value.shape) and (whole < size or axis == start):
                whole, axis = whole * value.shape[axis], axis + 1
            if whole == size:
                found[start] = label
        return found

    def _unfit(self, step: Step) -> set[int]:
        """The labels over which a function cannot work in parts."""
        if step.op != "call":
            return set()
        if step.params[1] == 1 and step.name in REDUCED:
            return set()
        first = step.args[0][1]
        lead = first[: len(first) - step.params[1]]
        return {x for _, labels in step.args for x in labels} - set(lead)

    def _choice(self, step: Step, one: str, operands: Any, chosen: Mapping[str, int]) -> int | None:
        """The label of a step that an axis of the mesh cuts: the one for which least is sent."""
        kept, wanted = labels_of(step), self.wanted.get(step.out)
        aims = [] if wanted is None else [x for x, cut in zip(kept, wanted, strict=True) if one in cut]
        labels = [x for _, cuts in operands for x, cut in cuts.items() if one in cut and x >= 0]
        labels = dict.fromkeys([*aims, *labels])

        def sends(label: int) -> float:
            total = 0.0
            for value, cuts in operands:
                total += sum(
                    self.bytes(value) * self.sizes[one] for x, cut in cuts.items() if one in cut and x != label
                )
            if label not in kept:
                total += 2 * self.bytes(step.out, [()] * len(kept))
            elif wanted is not None and label not in aims:
                total += self.bytes(step.out, [()] * len(kept))
            return total

        return min(labels, key=sends, default=None)

    def _gather(self, step: Step, value: Value, cuts: Mapping[int, Cut], chosen: Mapping[str, int]) -> None:
        """An operand that is cut where the step is not is made whole there."""
        lost = {one: x for x, cut in cuts.items() for one in cut if chosen.get(one) != x}
        if lost:
            kept = [tuple([one for one in cut if one not in lost]) for cut in self.lies[value]]
            at = [axis for axis, cut in enumerate(self.lies[value]) if set(cut) & lost.keys()]
            self.gathered[step.out] = self.gathered.get(step.out, 0) + self.bytes(value, kept)
            self._send(
                "all-gather", value, [self._index(value, axis) for axis in at], list(lost), self.bytes(value, kept)
            )

    def _more(self, step: Step, found: list[Cut]) -> list[Cut]:
        """A result that is made whole is cut as it is to lie: nothing is sent for that."""
        wanted, used = self.wanted.get(step.out), {one for cut in found for one in cut}
        if wanted is None:
            return found
        return [cut or tuple([one for one in aim if one not in used]) for cut, aim in zip(found, wanted, strict=True)]

    def _reduce(self, step: Step, chosen: Mapping[str, int]) -> None:
        """What each device has a part of is added up."""
        labels = labels_of(step)
        summed = {one: x for one, x in chosen.items() if x not in labels}
        times = 1
        if step.op == "call":
            last = [labels[-1] for v, labels in step.args if isinstance(v, Value) and labels]
            summed = {one: x for one, x in chosen.items() if x in last and step.name in REDUCED}
            times = REDUCED.get(step.name, 1)
        if not summed:
            return
        kept = [() if x in summed.values() else cut for x, cut in zip(labels, self.lies[step.out], strict=True)]
        row = prod([n for x, n in zip(labels, step.out.shape, strict=True) if x in summed.values()])
        names = [name for x, name in self.plan.program.axes.labelled(step).items() if x in summed.values()]
        for _ in range(times):
            self._send("all-reduce", step.out, names, list(summed), self.bytes(step.out, kept) // max(row, 1))

    def _finish(self, result: Result, spec: Spec) -> None:
        """A result that lies otherwise than it is to."""
        if not isinstance(result.value, Value) or None in spec:
            return
        lies, wanted = self.lies[result.value], [spec[axis] or () for axis in result.axes]
        elsewhere = {one for cut in wanted for one in cut}
        lost = [one for cut, aim in zip(lies, wanted, strict=True) for one in cut if one not in aim]
        if lost:
            kind = "all-to-all" if set(lost) <= elsewhere else "all-gather"
            own = [self._index(result.value, axis) for axis, cut in enumerate(lies) if set(cut) & set(lost)]
            self._send(kind, result.value, own, lost, self.bytes(result.value, wanted))
        self.lies[result.value] = wanted

    def _index(self, value: Value, axis: int) -> str:
        return self.plan.program.axes.of(value)[axis]

    def _send(self, kind: str, value: Value, over: Sequence[str], along: Sequence[str], size: int) -> None:
        if self.count(along) == 1:
            return
        name = self.names.get(value, "a constant")
        indices = tuple([index for index in over if index])
        self.sent.append(Collective(kind, name, value.shape, indices, tuple(along), size, self.count(along)))


def place_of(label: int, place: Mapping[int, int]) -> int:
    """A label of the result, or what stands for none."""
    return label if label in place else min(label, -1)
