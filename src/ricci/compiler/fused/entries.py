"""What a loop computes, as a kernel sees it: scalars at indices, and reductions of them.

A :class:`Node` stands for one entry of a value. Where the rows of a loop lie along memory, its axis is the outermost
loop of the kernel and nodes have the labels of the other axes (``lanes`` is False). Where the axis itself lies along
memory, as it does if rows are single numbers, it is the innermost one, so that vector instructions take many rows at
once: then it is a label like the others, and the last one.

Functions over axes are written in these terms: softmax is a maximum, exponentials, their sum and a division.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from ricci.compiler.fused.kernel_maps import FLOATING, SLOW, WHOLE
from ricci.compiler.plan.loops import Loop
from ricci.compiler.plan.program import COMPARING, Labels, Number, Step, Value, distinct

ROW = -1  # the label of the loop's axis


@dataclass(eq=False)
class Node:
    """An entry: ``op`` is "array", "number", "map" or "reduce"; a reduction runs over the labels it has not."""

    op: str
    name: str = ""
    args: tuple[tuple[Node, Labels], ...] = ()
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
    if step.op == "map":
        kinds = {v.kind for v in [*step.operands, step.out]}
        return step.name in (FLOATING | SLOW if "f" in kinds and "i" not in kinds else WHOLE)
    if step.op == "call":
        return step.name in CALLS and step.params[1] == 1 and step.operands[0].kind == "f"
    return step.op in ("cast", "sum", "dot", "spread")


class Nodes:
    """The nodes of a loop, operands before users, and which of them are its results."""

    def __init__(self, loop: Loop):
        self.loop = loop
        self.lanes = _in_lanes(loop)
        self.all: list[Node] = []
        self.of: dict[Value, Node] = {}
        self.numbers: dict[tuple[type, Number, str], Node] = {}
        self.known: dict[tuple, Node] = {}
        self.compared: set[Node] = set()  # what choices are made of: computed again it might round otherwise
        self.chosen: set[Node] = set()  # arrays too, of which multiples are rounded as well
        for value in loop.operands:
            self.of[value] = self.add(Node("array", kind=value.kind, value=value))
        for step in loop.steps:
            self.of[step.out] = self.made(step)
        self.kept = [self.of[value] for value in loop.kept]
        self.summed = [self.of[value] for value in loop.summed]

    def add(self, node: Node) -> Node:
        self.all.append(node)
        return node

    def shared(self, node: Node) -> Node:
        """The node, unless there is one like it: softmax and logsumexp have most in common."""
        number = {ROW: ROW}
        args = tuple([(a, tuple([number.setdefault(x, len(number)) for x in own])) for a, own in node.args])
        key = (node.op, node.name, args, tuple([number[x] for x in node.labels]))
        if key not in self.known:
            self.known[key] = self.add(node)
        return self.known[key]

    def constant(self, number: Number, kind: str) -> Node:
        key = (type(number), number, kind)
        if key not in self.numbers:
            self.numbers[key] = self.add(Node("number", kind=kind, number=number))
        return self.numbers[key]

    def made(self, step: Step) -> Node:
        label = next(x[self.loop.axis[v]] for v, x in step.args if isinstance(v, Value) and v in self.loop.axis)
        sizes = {ROW if x == label else x: n for x, n in step.sizes().items()}
        kinds = {step.out.kind} if step.name == "where" else {v.kind for v in step.operands}
        common = "f" if "f" in kinds else "i"

        def own(labels: Labels) -> Labels:
            named = [ROW if x == label else x for x in labels]
            return tuple([x for x in named if x != ROW or self.lanes])

        args = []
        for value, labels in step.args:
            if isinstance(value, Value):
                args.append((self.of[value], own(labels)))
            else:
                args.append((self.constant(value, "f" if isinstance(value, float) else common), ()))
        node = Node("map", step.name, tuple(args), own(step.labels), sizes, step.out.kind, step.out)
        if step.name in COMPARING and all(arg.op != "number" for arg, _ in args):
            self.compare(*[arg for arg, _ in args])
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
                factors = self.shared(Node("map", "multiply", node.args, every, sizes, node.kind))
                node.args = ((factors, every),)
            node.op, node.name, node.across = "reduce", "sum", label not in step.labels
        return self.add(node)

    def compare(self, *nodes: Node) -> None:
        """Values that a choice is made of: what they are computed from is not looked at after that."""
        for node in nodes:
            self.chosen.add(_bare(node))
            while node not in self.compared and node.op == "map":
                self.compared.add(node)
                if node.name in ("negative", "stop_gradient"):  # which round nothing
                    node = node.args[0][0]

    def of_choices(self, node: Node) -> bool:
        """Whether a value is compared, or a number times what is chosen or chosen from: ``0.3 max(m) - 0.3 m``."""
        if node in self.compared:
            return True
        args = [_bare(arg) for arg, _ in node.args if arg.op != "number"]
        return node.name == "multiply" and len(args) == 1 and (args[0] in self.chosen or args[0].name in COMPARING)

    # Functions over the last axis of their operand

    def map(self, like: Node, name: str, *args: tuple[Node, Labels]) -> tuple[Node, Labels]:
        labels = distinct(x for _, own in args for x in own)
        return self.shared(Node("map", name, args, labels, like.sizes, "f")), labels

    def reduce(self, like: Node, name: str, arg: tuple[Node, Labels], kind: str = "f") -> tuple[Node, Labels]:
        labels = tuple([x for x in arg[1] if x != self._last(like)])
        return self.shared(Node("reduce", name, (arg,), labels, like.sizes, kind)), labels

    def _last(self, like: Node) -> int:
        return [x for x in like.args[0][1] if x != ROW][-1]

    def shifted(self, like: Node) -> tuple[tuple[Node, Labels], tuple[Node, Labels]]:
        """The operand less the largest entry, and that; 0 where it is not finite."""
        shift = self.map(like, "finite", self.reduce(like, "max", like.args[0]))
        return self.map(like, "subtract", like.args[0], shift), shift

    def finished(self, like: Node, found: tuple[Node, Labels]) -> Node:
        """What was made, as the result of the step: its own axis has a label of its own there."""
        own = like.args[0][1]
        name = {x: x for x in found[1]}
        if self._last(like) in found[1]:
            (name[self._last(like)],) = [x for x in like.labels if x not in own]
        labels = tuple([name[x] for x in found[1]])
        return self.add(
            Node("map", "stop_gradient", ((found[0], labels),), like.labels, like.sizes, like.kind, like.value)
        )


def _bare(node: Node) -> Node:
    """The node without what rounds nothing."""
    while node.name in ("negative", "stop_gradient"):
        ((node, _),) = node.args
    return node


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


def _softmax(nodes: Nodes, like: Node) -> Node:
    weights = nodes.map(like, "exp", nodes.shifted(like)[0])
    each = nodes.map(like, "reciprocal", nodes.reduce(like, "sum", weights))
    return nodes.finished(like, nodes.map(like, "multiply", weights, each))


def _logsumexp(nodes: Nodes, like: Node) -> Node:
    less, shift = nodes.shifted(like)
    total = nodes.reduce(like, "sum", nodes.map(like, "exp", less))
    return nodes.finished(like, nodes.map(like, "add", nodes.map(like, "log", total), shift))


def _log_softmax(nodes: Nodes, like: Node) -> Node:
    less, _ = nodes.shifted(like)
    total = nodes.reduce(like, "sum", nodes.map(like, "exp", less))
    return nodes.finished(like, nodes.map(like, "subtract", less, nodes.map(like, "log", total)))


def _shares(name: str) -> Callable[[Nodes, Node], Node]:
    """One, shared by the entries that are the largest, or the smallest."""

    def shares(nodes: Nodes, like: Node) -> Node:
        extreme = nodes.reduce(like, name, like.args[0])
        hits = nodes.map(like, "same", like.args[0], extreme)
        each = nodes.map(like, "reciprocal", nodes.reduce(like, "sum", hits))
        return nodes.finished(like, nodes.map(like, "multiply", hits, each))

    return shares


def _reduction(name: str) -> Callable[[Nodes, Node], Node]:
    return lambda nodes, like: nodes.finished(like, nodes.reduce(like, name, like.args[0], like.kind))


CALLS: dict[str, Callable[[Nodes, Node], Node]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "hardmax": _shares("max"),
    "hardmin": _shares("min"),
    **{name: _reduction(name) for name in ("max", "min", "prod", "any", "all")},
}
