"""What a loop computes, as a kernel sees it: scalars at indices, and reductions of them.

A :class:`Entry` stands for one entry of a value. Where the rows of a loop lie along memory, its axis is the outermost
loop of the kernel and nodes have the labels of the other axes (``lanes`` is False). Where the axis itself lies along
memory, as it does if rows are single numbers, it is the innermost one, so that vector instructions take many rows at
once: then it is a label like the others, and the last one.

Functions over axes are written in these terms: softmax is a maximum, exponentials, their sum and a division.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from ricci.compiler.fused.kernel_maps import FLOATING, SLOW, WHOLE, complex_text
from ricci.compiler.plan.loops import Loop
from ricci.compiler.plan.program_steps import Labels, Number, Step, Value, chosen, distinct, rounded

ROW = -1  # the label of the loop's axis


@dataclass(eq=False)
class Entry:
    """An entry: ``op`` is "array", "number", "map" or "reduce"; a reduction runs over the labels it has not."""

    op: str
    name: str = ""
    args: tuple[tuple[Entry, Labels], ...] = ()
    labels: Labels = ()
    sizes: dict[int, int] = field(default_factory=dict)
    kind: str = "f"
    value: Value | None = None
    number: Number = 0
    across: bool = False  # a sum over the loop's axis, whole only after the loop

    @property
    def space(self) -> Labels:
        """The labels that are run over, the slowest first and the loop's axis last."""
        order = self.labels if self.op != "reduce" else self.args[0][1]
        return (*[x for x in order if x != ROW], ROW) if ROW in order else order


def fusable(step: Step) -> bool:
    """Whether a kernel knows how to do a step."""
    if any(v.kind == "c" for v in [*step.operands, step.out]):
        kinds = "".join([v.kind if isinstance(v, Value) else "f" for v, _ in step.args])
        written = step.op == "map" and not {*kinds} & {"i"} and complex_text(step.name, kinds) is not None
        return written or step.op in ("cast", "sum", "dot", "spread")
    if step.op == "map":
        kinds = {v.kind for v in [*step.operands, step.out]}
        return step.name in (FLOATING | SLOW if "f" in kinds and "i" not in kinds else WHOLE)
    if step.op == "call":
        return step.name in CALLS and step.params[1] == 1 and step.operands[0].kind == "f"
    return step.op in ("cast", "sum", "dot", "spread")


class Entries:
    """The nodes of a loop, operands before users, and which of them are its results."""

    def __init__(self, loop: Loop):
        self.loop = loop
        self.lanes = _in_lanes(loop)
        self.all: list[Entry] = []
        self.of: dict[Value, Entry] = {}
        self.numbers: dict[tuple[type, Number, str], Entry] = {}
        self.known: dict[tuple, Entry] = {}
        for value in loop.operands:
            self.of[value] = self.add(Entry("array", kind=value.kind, value=value))
        for step in loop.steps:
            self.of[step.out] = self.made(step)
        entries = [self.of[value] for value in chosen(loop.steps) if value in self.of]
        self.compared = {entry for entry in entries if entry.op == "map"}  # computed again it might round otherwise
        self.rounded = rounded(loop.steps)
        self.kept = [self.of[value] for value in loop.kept]
        self.summed = [self.of[value] for value in loop.summed]

    def add(self, node: Entry) -> Entry:
        self.all.append(node)
        return node

    def shared(self, node: Entry) -> Entry:
        """The node, unless there is one like it: softmax and logsumexp have most in common."""
        number = {ROW: ROW}
        args = tuple([(a, tuple([number.setdefault(x, len(number)) for x in own])) for a, own in node.args])
        key = (node.op, node.name, args, tuple([number[x] for x in node.labels]))
        if key not in self.known:
            self.known[key] = self.add(node)
        return self.known[key]

    def constant(self, number: Number, kind: str) -> Entry:
        key = (type(number), number, kind)
        if key not in self.numbers:
            self.numbers[key] = self.add(Entry("number", kind=kind, number=number))
        return self.numbers[key]

    def made(self, step: Step) -> Entry:
        label = next(x[self.loop.axis[v]] for v, x in step.args if isinstance(v, Value) and v in self.loop.axis)
        sizes = {ROW if x == label else x: n for x, n in step.sizes().items()}
        kinds = {step.out.kind} if step.name == "where" else {v.kind for v in step.operands}
        common = "f" if kinds & {"c", "f"} else "i"

        def own(labels: Labels) -> Labels:
            named = [ROW if x == label else x for x in labels]
            return tuple([x for x in named if x != ROW or self.lanes])

        args = []
        for value, labels in step.args:
            if isinstance(value, Value):
                args.append((self.of[value], own(labels)))
            else:
                args.append((self.constant(value, "f" if isinstance(value, float) else common), ()))
        node = Entry("map", step.name, tuple(args), own(step.labels), sizes, step.out.kind, step.out)
        if step.op == "call":
            return CALLS[step.name](self, node)
        if step.op == "cast":
            node.name = f"cast_{step.out.kind}"
        elif step.op == "spread":
            node.name = "stop_gradient"
        elif step.op in ("sum", "dot"):
            if step.op == "dot":
                largest = sorted(args, key=lambda arg: -math.prod([sizes[x] for x in arg[1]]))
                every = distinct(x for _, labels in largest for x in labels)
                factors = self.shared(Entry("map", "multiply", node.args, every, sizes, node.kind))
                node.args = ((factors, every),)
            node.op, node.name, node.across = "reduce", "sum", label not in step.labels
        return self.add(node)

    # Functions over the last axis of their operand

    def map(self, like: Entry, name: str, *args: tuple[Entry, Labels]) -> tuple[Entry, Labels]:
        labels = distinct(x for _, own in args for x in own)
        return self.shared(Entry("map", name, args, labels, like.sizes, "f")), labels

    def reduce(self, like: Entry, name: str, arg: tuple[Entry, Labels], kind: str = "f") -> tuple[Entry, Labels]:
        labels = tuple([x for x in arg[1] if x != self._last(like)])
        return self.shared(Entry("reduce", name, (arg,), labels, like.sizes, kind)), labels

    def _last(self, like: Entry) -> int:
        return [x for x in like.args[0][1] if x != ROW][-1]

    def shifted(self, like: Entry) -> tuple[tuple[Entry, Labels], tuple[Entry, Labels]]:
        """The operand less the largest entry, and that; 0 where it is not finite."""
        shift = self.map(like, "finite", self.reduce(like, "max", like.args[0]))
        return self.map(like, "subtract", like.args[0], shift), shift

    def finished(self, like: Entry, found: tuple[Entry, Labels]) -> Entry:
        """What was made, as the result of the step: its own axis has a label of its own there."""
        own = like.args[0][1]
        name = {x: x for x in found[1]}
        if self._last(like) in found[1]:
            (name[self._last(like)],) = [x for x in like.labels if x not in own]
        labels = tuple([name[x] for x in found[1]])
        return self.add(
            Entry("map", "stop_gradient", ((found[0], labels),), like.labels, like.sizes, like.kind, like.value)
        )


def _in_lanes(loop: Loop) -> bool:
    """Whether vector instructions should go over rows."""
    along = across = longest = 0
    for value in [*loop.operands, *[step.out for step in loop.steps]]:
        if value in loop.axis:
            row = value.entries // loop.size
            longest = max(longest, row)
            if loop.axis[value] == len(value.shape) - 1 and row > 1:
                along += value.entries
            elif row > 1:
                across += value.entries
    return longest == 1 or along > across


def _softmax(nodes: Entries, like: Entry) -> Entry:
    weights = nodes.map(like, "exp", nodes.shifted(like)[0])
    each = nodes.map(like, "reciprocal", nodes.reduce(like, "sum", weights))
    return nodes.finished(like, nodes.map(like, "multiply", weights, each))


def _logsumexp(nodes: Entries, like: Entry) -> Entry:
    less, shift = nodes.shifted(like)
    total = nodes.reduce(like, "sum", nodes.map(like, "exp", less))
    return nodes.finished(like, nodes.map(like, "add", nodes.map(like, "log", total), shift))


def _log_softmax(nodes: Entries, like: Entry) -> Entry:
    less, _ = nodes.shifted(like)
    total = nodes.reduce(like, "sum", nodes.map(like, "exp", less))
    return nodes.finished(like, nodes.map(like, "subtract", less, nodes.map(like, "log", total)))


def _shares(name: str) -> Callable[[Entries, Entry], Entry]:
    """One, shared by the entries that are the largest, or the smallest."""

    def shares(nodes: Entries, like: Entry) -> Entry:
        extreme = nodes.reduce(like, name, like.args[0])
        hits = nodes.map(like, "same", like.args[0], extreme)
        each = nodes.map(like, "reciprocal", nodes.reduce(like, "sum", hits))
        return nodes.finished(like, nodes.map(like, "multiply", hits, each))

    return shares


def _reduction(name: str) -> Callable[[Entries, Entry], Entry]:
    return lambda nodes, like: nodes.finished(like, nodes.reduce(like, name, like.args[0], like.kind))


CALLS: dict[str, Callable[[Entries, Entry], Entry]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "hardmax": _shares("max"),
    "hardmin": _shares("min"),
    **{name: _reduction(name) for name in ("max", "min", "prod", "any", "all")},
}
