"""The source of a kernel: Python that Numba compiles, one function for a whole loop.

Arrays are flat: ``load(a0, row * 768 + i, 0)`` reads one entry, and the last number says which memory it is, so that
LLVM knows what cannot overlap: 0 is all that is only read. Sums go through ``plus``, the only addition whose order is
free, long ones in float64. Constants are names; no text of a user is here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ricci.compiler.backends.numpy_table import dtypes_of
from ricci.compiler.fused.entries import ROW, Entries, Entry
from ricci.compiler.fused.kernel_maps import ANGLES, COMPLEX_FAR, MAPS, POWERS, complex_text
from ricci.compiler.fused.memory import Location, grouped
from ricci.compiler.fused.passes import FusedPasses, Pass
from ricci.compiler.fused.reducing import INDENT, Sums, indented

CHUNK = 24 * 1024  # bytes that the buffers of one chunk of rows may take
UNROLLED, SMALL = 10, 128  # loops of sizes between these LLVM would unroll rather than vectorise


class KernelWriter:
    """Writes the source of one kernel."""

    def __init__(self, nodes: Entries, dtype: np.dtype):
        self.nodes, self.loop, self.dtype = nodes, nodes.loop, dtype
        self.plan = FusedPasses(nodes)
        self.groups = grouped(self.loop.out, dtype.itemsize)
        self.arguments = {v: f"{'a' if v.shape else 'n'}{k}" for k, v in enumerate(self.loop.operands)}
        self.constants: dict[str, Any] = {}
        self.count = 0
        self.names: dict[Entry, str] = {}  # of what is one number for the row, or for the loop
        self.memory: dict[Entry, Location] = {}
        self.head: list[str] = []  # before the loop
        self.tail: list[str] = []  # after it
        self.each: list[str] = []  # after each row
        self.scopes = len(self.groups)  # memories so far
        self.far = False
        for number, node in enumerate([n for n in nodes.all if n.op == "number"]):
            self.names[node] = f"c{number}"
            self.constants[f"c{number}"] = self.type(node.kind).type(node.number)
        self._outputs()
        stored = [node for node in nodes.all if node.op == "reduce" and not node.across] or self.plan.buffered
        self.chunked = nodes.lanes and (len(self.plan.passes) > 1 or bool(stored))
        self.width = self._width() if self.chunked else self.loop.size

    def type(self, kind: str) -> np.dtype:
        return dtypes_of(self.dtype)[kind]

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # Memory

    def _outputs(self) -> None:
        found = {}
        for place, group in enumerate(self.groups):
            for member, value in enumerate(group.members):
                found[value] = Location(f"o{place}", member * group.stride, group.shape, place + 1)
        self.results = found
        for value, node in zip(self.loop.kept, self.nodes.kept, strict=True):
            if node.op == "map":
                self.memory[node] = found[value]

    def _width(self) -> int:
        stored = [n for n in self.nodes.all if n in self.plan.buffered or (n.op == "reduce" and not n.across)]
        entries = 1 + sum(math.prod([node.sizes[x] for x in node.labels if x != ROW]) for node in stored)
        return max(64, min(2048, CHUNK // self.dtype.itemsize // entries // 64 * 64))

    def buffer(self, node: Entry, wide: bool) -> Location:
        """Memory for a node: of a row, or of a chunk of rows."""
        if node not in self.memory:
            sizes = [self.width if x == ROW else node.sizes[x] for x in _last_row(node.labels)]
            kind = {"f": "double" if wide else "real", "c": "complexes", "i": "whole", "b": "truth"}[node.kind]
            memory = self.room(math.prod(sizes), kind)
            self.memory[node] = Location(memory.name, 0, tuple(sizes), memory.scope, wide)
        return self.memory[node]

    def room(self, entries: int, kind: str) -> Location:
        """Memory of its own."""
        name = self.fresh("w")
        self.scopes += 1
        self.head.append(f"{name} = empty({entries}, {kind})")
        return Location(name, 0, (entries,), self.scopes)

    def at(self, node: Entry, index: dict[int, str]) -> str:
        """``name, place`` of an entry of a node that is stored."""
        memory = self.memory[node]
        if memory.name[0] == "o":
            return f"{memory.name}, {self.in_array(self.loop.axis.get(node.value), node.labels, index, memory)}"  # type: ignore
        parts = []
        stride = 1
        for x, size in zip(reversed(_last_row(node.labels)), reversed(memory.sizes), strict=True):
            text = "(row - start)" if x == ROW else index[x]
            parts.append(_times(text, stride))
            stride *= size
        return f"{memory.name}, {' + '.join(reversed(parts)) or '0'}"

    def in_array(self, axis: int | None, labels: Sequence[int], index: dict[int, str], memory: Location) -> str:
        """The place of an entry of an array as it lies in memory; ``axis`` is that of the loop."""
        names = [index[x] for x in labels]
        if axis is not None and not self.nodes.lanes:
            names.insert(axis, "row")
        strides = [math.prod(memory.sizes[k + 1 :]) for k in range(len(memory.sizes))]
        parts = [_times(name, stride) for name, stride in zip(names, strides, strict=True)]
        return " + ".join([*parts, *([str(memory.start)] if memory.start else [])]) or "0"

    def stored(self, node: Entry, index: dict[int, str]) -> str:
        return f"load({self.at(node, index)}, {self.memory[node].scope})"

    def load(self, node: Entry, index: dict[int, str]) -> str:
        """An entry of a node that is stored, in the type of the kernel."""
        text = self.stored(node, index)
        return f"real({text})" if self.memory[node].wide else text

    def store(self, node: Entry, index: dict[int, str], text: str) -> str:
        return f"store({self.at(node, index)}, {text}, {self.memory[node].scope})"

    # The whole

    def source(self) -> str:
        body = [line for p in self.plan.order for line in PassWriter(self, p).lines()]
        arguments = [*[f"o{k}" for k in range(len(self.groups))], *self.arguments.values()]
        if self.chunked:
            over = f"for start in range(0, {self.loop.size}, {self.width}):"
            body = [over, f"{INDENT}stop = min(start + {self.width}, {self.loop.size})", *indented(body)]
        elif not self.nodes.lanes:
            body = [f"for row in range({self.loop.size}):", *indented([*body, *self.each])]
        if self.far:
            self.head.insert(0, "far = false")
            self.tail.append("return far")
        return "\n".join([f"def kernel({', '.join(arguments)}):", *indented([*self.head, *body, *self.tail])]) + "\n"


class PassWriter(Sums):
    """Writes one pass."""

    def __init__(self, writer: KernelWriter, own: Pass):
        self.writer, self.own, self.plan = writer, own, writer.plan
        depth = len(own.sizes)
        self.variables = [f"i{k}" for k in range(depth)]
        if writer.nodes.lanes:
            self.variables[-1] = "row"
        self.before: list[list[str]] = [[] for _ in range(depth + 1)]
        self.after: list[list[str]] = [[] for _ in range(depth + 1)]
        self.inside: list[str] = []
        self.found: dict[tuple[Entry, tuple[str, ...]], str] = {}
        self.angles: set[str] = set()  # whose size has been checked

    def lines(self) -> list[str]:
        for node, indices in self.needed():
            for index in indices:
                self.found[node, index] = self.value(node, index)
        for node in self.own.sinks:
            if node.op == "reduce":
                ((arg, labels),) = node.args
                index = self.index(node)
                self.reduce(node, index, self.found[arg, tuple([index[x] for x in labels])])
        lines = self.inside
        for depth in reversed(range(len(self.own.sizes))):
            name, size = self.variables[depth], self.own.sizes[depth]
            span = f"range(hidden({size}))" if UNROLLED < size <= SMALL else f"range({size})"
            if name == "row" and self.writer.chunked:
                span = "range(start, stop)"
            lines = [*self.before[depth], f"for {name} in {span}:", *indented(lines), *self.after[depth]]
        return lines

    def index(self, node: Entry) -> dict[int, str]:
        """The variable of each label of a sink."""
        return dict(zip(node.space, self.variables, strict=True))

    def needed(self) -> list[tuple[Entry, list[tuple[str, ...]]]]:
        """What the pass computes or reads, at which indices, operands first."""
        wanted: dict[Entry, dict[tuple[str, ...], None]] = {}
        for node in self.own.sinks:
            index = self.index(node)
            for part, labels in node.args if node.op == "reduce" else [(node, node.labels)]:
                wanted.setdefault(part, {})[tuple([index[x] for x in labels])] = None
        for node in reversed(self.writer.nodes.all):
            if node in wanted and self.computed(node):
                for indices in wanted[node]:
                    index = dict(zip(node.labels, indices, strict=True))
                    for arg, labels in node.args:
                        wanted.setdefault(arg, {})[tuple([index[x] for x in labels])] = None
        return [(node, list(wanted[node])) for node in self.writer.nodes.all if node in wanted]

    def computed(self, node: Entry) -> bool:
        """Whether a node is computed here, rather than read."""
        if node.op != "map" or node in self.writer.names:
            return False
        place = self.plan.place.get(node)
        return place is None or place.level >= self.own.level

    def value(self, node: Entry, indices: tuple[str, ...]) -> str:
        """The name of a value, which a line has made."""
        if node in self.writer.names:
            return self.writer.names[node]
        if node.op == "array":
            return self.read(node, indices)
        index = dict(zip(node.labels, indices, strict=True))
        name = self.writer.fresh("t")
        if not self.computed(node):
            self.inside.append(f"{name} = {self.writer.load(node, index)}")
            return name
        self.inside.append(f"{name} = {self.expression(node, index)}")
        if self.plan.place.get(node) is self.own and index == self.index(node):
            self.ended(node, index, name)
        return name

    def ended(self, node: Entry, index: dict[int, str], name: str) -> None:
        """A sink is computed: it gets its place."""
        if not node.labels:
            self.writer.names[node] = name
        if node in self.plan.buffered:
            self.writer.buffer(node, False)
        if node in self.writer.memory:
            self.inside.append(self.writer.store(node, index, name))

    def read(self, node: Entry, indices: tuple[str, ...]) -> str:
        value = node.value
        assert value is not None
        argument = self.writer.arguments[value]
        if not value.shape:
            return argument
        index = dict(enumerate(indices))
        memory = Location(argument, 0, value.shape, 0)
        place = self.writer.in_array(self.writer.loop.axis.get(value), range(len(indices)), index, memory)
        name = self.writer.fresh("t")
        self.inside.append(f"{name} = load({argument}, {place}, 0)")
        return name

    def expression(self, node: Entry, index: dict[int, str]) -> str:
        args = [self.found[arg, tuple([index[x] for x in labels])] for arg, labels in node.args]
        if node.name in ANGLES and args[0] not in self.angles:
            self.angles.add(args[0])
            self.writer.far = True
            self.inside.append(f"far = far | is_far({args[0]})")
        if node.name in ("multiply", "square") and node.value in self.writer.nodes.rounded:
            return f"rounded({args[0]}, {args[-1]})"
        if node.name == "power" and node.args[1][0].op == "number" and node.args[1][0].number in POWERS:
            return f"{POWERS[node.args[1][0].number]}({args[0]})"
        kinds = "".join([arg.kind for arg, _ in node.args])
        if "c" not in (node.kind, *kinds):
            return MAPS[node.name].format(*args)
        for far in COMPLEX_FAR.get(node.name, ()):
            self.writer.far = True
            self.inside.append(f"far = far | is_far({far.format(*args)})")
        text = complex_text(node.name, kinds)
        assert text is not None
        return text.format(*args)


def _last_row(labels: Sequence[int]) -> list[int]:
    return [*[x for x in labels if x != ROW], *[x for x in labels if x == ROW]]


def _times(text: str, stride: int) -> str:
    return text if stride == 1 else f"{text} * {stride}"
