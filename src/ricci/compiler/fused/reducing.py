"""Reductions in the source of a kernel: over the innermost loops in a variable, over outer ones in a buffer.

Sums over the loop's axis last for the whole loop. Long sums of float32 are taken in float64; those into an array are
taken in parts, of :data:`PART` rows, and only these are added up in float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ricci.compiler.fused.entries import ROW, Entry
from ricci.compiler.fused.memory import Location

if TYPE_CHECKING:
    from ricci.compiler.fused.kernel_source import KernelWriter
    from ricci.compiler.fused.passes import FusedPasses

INDENT = "    "
PART = 64  # rows
NARROW = 1024  # entries of a row that are summed in float32: in the lanes of vectors that loses nothing
WIDE = ("sum", "prod")
REDUCTIONS = {  # where it starts, and what one more entry does
    "sum": ("zero", "plus({0}, {1})"),
    "prod": ("one", "times({0}, {1})"),
    "max": ("-infinity", "maximum({0}, {1})"),
    "min": ("infinity", "minimum({0}, {1})"),
    "any": ("false", "{0} | ({1} != 0)"),
    "all": ("true", "{0} & ({1} != 0)"),
}


def indented(lines: Sequence[str]) -> list[str]:
    return [INDENT + line for line in lines]


@dataclass
class Reduction:
    """A reduction being written: the variables of its labels, the entry to take in, and whether float64 is needed."""

    node: Entry
    index: dict[int, str]
    entry: str
    wide: bool

    def __post_init__(self) -> None:
        start, self.update = REDUCTIONS[self.node.name]
        own = {"i": "whole(0)", "c": "complex_of(zero, zero)"}.get(self.node.kind, start)
        self.start = f"double({start})" if self.wide else own
        if self.wide:
            self.entry = f"double({self.entry})"

    def taken(self, so_far: str) -> str:
        return self.update.format(so_far, self.entry)

    def over(self, lines: Sequence[str], chunked: bool = False) -> list[str]:
        """The lines for each index of the result."""
        result = list(lines)
        for x in reversed([x for x in self.node.space if x in self.node.labels]):
            span = "start, stop" if x == ROW and chunked else self.node.sizes[x]
            result = [f"for {self.index[x]} in range({span}):", *indented(result)]
        return result


class Sums:
    """The part of writing a pass that is about reductions."""

    writer: KernelWriter
    plan: FusedPasses
    before: list[list[str]]  # of each loop
    after: list[list[str]]
    inside: list[str]

    def reduce(self, node: Entry, index: dict[int, str], entry: str) -> None:
        innermost = sorted([node.space.index(x) for x in node.labels]) == list(range(len(node.labels)))
        terms = math.prod([node.sizes[x] for x in node.space if x not in node.labels])
        narrow = self.writer.dtype.itemsize < 8 and node.kind == "f" and node.name in WIDE
        if node.across:
            partly = narrow and node.labels == node.space
            way = self.in_parts if partly else self.across if node.labels else self.through
            way(Reduction(node, index, entry, narrow and not partly))
        elif innermost:
            self.along(Reduction(node, index, entry, narrow and terms > NARROW))
        else:
            self.beside(Reduction(node, index, entry, narrow))

    # Within a row

    def along(self, r: Reduction) -> None:
        """Over the innermost loops: in a variable."""
        writer, node = self.writer, r.node
        name, depth = writer.fresh("r"), len(node.labels)
        self.before[depth].append(f"{name} = {r.start}")
        self.inside.append(f"{name} = {r.taken(name)}")
        done = f"real({name})" if r.wide else name
        if not node.labels:
            writer.names[node] = writer.fresh("t")
            self.after[depth].append(f"{writer.names[node]} = {done}")
            done = writer.names[node]
        elif self.plan.users[node]:
            writer.buffer(node, False)
            self.after[depth].append(writer.store(node, r.index, done))
        self.after[depth] += self.result(r, done)

    def beside(self, r: Reduction) -> None:
        """Over an outer loop: in a buffer."""
        writer, node = self.writer, r.node
        writer.buffer(node, r.wide)
        self.inside.append(writer.store(node, r.index, r.taken(writer.stored(node, r.index))))
        self.before[0] += r.over([writer.store(node, r.index, r.start)], writer.chunked)
        lines = self.result(r, writer.load(node, r.index))
        if lines:
            self.after[0] += r.over(lines, writer.chunked)

    def result(self, r: Reduction, text: str) -> list[str]:
        """What stores a reduction that is a result of the loop."""
        if r.node not in self.writer.nodes.kept or r.node.value is None:
            return []
        return [self.put(self.writer.results[r.node.value], r, text)]

    def put(self, memory: Location, r: Reduction, text: str) -> str:
        axis = self.writer.loop.axis.get(r.node.value)  # type: ignore
        place = self.writer.in_array(axis, r.node.labels, r.index, memory)
        return f"store({memory.name}, {place}, {text}, {memory.scope})"

    # Over the loop's axis

    def output(self, r: Reduction) -> Location:
        assert r.node.value is not None
        return self.writer.results[r.node.value]

    def through(self, r: Reduction) -> None:
        """To one number: in a variable, for the whole loop."""
        name = self.writer.fresh("r")
        self.writer.head.append(f"{name} = {r.start}")
        self.inside.append(f"{name} = {r.taken(name)}")
        self.writer.tail.append(self.put(self.output(r), r, f"real({name})" if r.wide else name))

    def across(self, r: Reduction) -> None:
        """To an array: where the result is, or in a buffer of float64."""
        writer, node = self.writer, r.node
        if r.wide:
            writer.buffer(node, True)
            writer.tail += r.over([self.put(self.output(r), r, writer.load(node, r.index))])
        else:
            writer.memory[node] = self.output(r)
        writer.head += r.over([writer.store(node, r.index, r.start)])
        so_far, depth = writer.stored(node, r.index), len(node.labels)
        if node.space[:depth] == node.labels and depth < len(node.space):
            name = writer.fresh("r")
            self.before[depth].append(f"{name} = {so_far}")
            self.inside.append(f"{name} = {r.taken(name)}")
            self.after[depth].append(writer.store(node, r.index, name))
        else:
            self.inside.append(writer.store(node, r.index, r.taken(so_far)))

    def in_parts(self, r: Reduction) -> None:
        """To an array, in float32: a few rows in a buffer, which is then added to one of float64."""
        writer, node = self.writer, r.node
        writer.buffer(node, False)
        total = writer.room(math.prod([node.sizes[x] for x in node.labels]), "double")
        part, zeros = writer.stored(node, r.index), writer.store(node, r.index, r.start)
        place = writer.at(node, r.index).partition(", ")[2]
        so_far = f"load({total.name}, {place}, {total.scope})"
        more = f"store({total.name}, {place}, plus({so_far}, double({part})), {total.scope})"
        writer.head += r.over([zeros, f"store({total.name}, {place}, double(zero), {total.scope})"])
        self.inside.append(writer.store(node, r.index, r.taken(part)))
        writer.each += [f"if row % {PART} == {PART - 1}:", *indented(r.over([more, zeros]))]
        writer.tail += r.over([more, self.put(self.output(r), r, f"real({so_far})")])
