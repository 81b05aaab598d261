"""In which passes over a row a kernel makes its values.

A reduction needs one pass over its operand, and what depends on it a later one: the *level* of a node is how many
passes must come before it. All reductions and results of one level and one space share a pass; one that nobody in the
loop waits for goes to the pass with which it shares most. Other values are computed where they are needed, again in
each pass if that is cheaper than a buffer: a buffer is for values that are dear, for those that are used at more
indices than they have, and for those that are compared: computed again they might be rounded otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ricci.compiler.fused.entries import Entries, Entry
from ricci.compiler.fused.kernel_maps import COSTS

CHEAP = 4.0  # arithmetic up to which a value is computed anew rather than kept
FUNCTION = 10.0  # what other maps cost

Key = tuple[int, tuple[int, ...]]


@dataclass(eq=False)
class Pass:
    """A nest of loops; ``sinks`` are what it ends: reductions, results and buffered values."""

    level: int
    sizes: tuple[int, ...]
    sinks: list[Entry] = field(default_factory=list)


def cost(node: Entry) -> float:
    if node.op != "map":
        return 0.0
    return COSTS.get(node.name, FUNCTION)


class FusedPasses:
    """The passes of a kernel in their order, and which values have buffers."""

    def __init__(self, nodes: Entries):
        self.nodes = nodes
        self.level: dict[Entry, int] = {}
        self.users: dict[Entry, list[Entry]] = {node: [] for node in nodes.all}
        self.buffered: set[Entry] = set()
        self.place: dict[Entry, Pass] = {}  # the pass that ends a sink
        self.passes: dict[Key, Pass] = {}
        self._levels()
        self.buffered |= {node for node in nodes.compared if node.labels and len(self.users[node]) > 1}
        self._pinned()
        self._free()
        self._dear()

    @property
    def order(self) -> list[Pass]:
        return sorted(self.passes.values(), key=lambda p: (p.level, len(p.sizes), p.sizes))

    def scalar(self, node: Entry) -> bool:
        """Whether a node is one number for the row."""
        return not node.labels and node.op == "map"

    def sizes(self, node: Entry) -> tuple[int, ...]:
        return tuple([node.sizes[x] for x in node.space])

    def inlined(self, node: Entry, user: Entry) -> bool:
        """Whether a user computes the node itself, where it needs it."""
        labels = next(own for arg, own in user.args if arg is node)
        return node.op == "map" and bool(labels) and len(labels) == len(user.space)

    # Levels

    def _levels(self) -> None:
        for node in self.nodes.all:
            level = 0
            for arg, labels in node.args:
                self.users[arg].append(node)
                if arg.op == "map" and labels and len(labels) < len(node.space):
                    self.buffered.add(arg)
                later = arg.op == "reduce" or (arg.op == "map" and labels and len(labels) < len(node.space))
                level = max(level, self.level[arg] + bool(later))
            self.level[node] = level

    # Passes

    def _put(self, node: Entry, level: int) -> None:
        key = (level, self.sizes(node))
        found = self.passes.setdefault(key, Pass(*key))
        found.sinks.append(node)
        self.place[node] = found

    def _pinned(self) -> None:
        """What others in the loop wait for."""
        for node in self.nodes.all:
            waited = node.op == "reduce" and self.users[node]
            if waited or node in self.buffered or (self.scalar(node) and not self.nodes.lanes):
                self._put(node, self.level[node])

    def _free(self) -> None:
        """Results, and sums that nobody in the loop waits for; those that come late first."""
        results = dict.fromkeys([*self.nodes.kept, *self.nodes.summed])
        waiting = [node for node in results if node not in self.place and node.op in ("map", "reduce")]
        for node in sorted(waiting, key=lambda n: -self.level[n]):
            sizes = self.sizes(node)
            choices = [p for p in self.order if p.sizes == sizes and p.level >= self.level[node]]
            if len(choices) > 1:
                own = self._tree([node])
                shared = {p: sum(own.get(n, 0.0) for n in self._tree(p.sinks)) for p in choices}
                choices.sort(key=lambda p: -shared[p])
            self._put(node, choices[0].level if choices else self.level[node])

    def _tree(self, sinks: list[Entry]) -> dict[Entry, float]:
        """What is computed or read to make the sinks, with its cost."""
        found: dict[Entry, float] = {}
        waiting = list(sinks)
        while waiting:
            node = waiting.pop()
            for arg, labels in node.args:
                if arg not in found and labels:
                    found[arg] = 1.0 + cost(arg)
                    if arg.op == "map" and arg not in self.buffered:
                        waiting.append(arg)
        return found

    def _dear(self) -> None:
        """Buffers for what several passes need and is not cheap."""
        total: dict[Entry, float] = {}
        for node in self.nodes.all:
            inner = sum(total[arg] for arg, _ in node.args if self.inlined(arg, node))
            total[node] = min(cost(node) + inner, 1e6)
        within: dict[Entry, set[Pass]] = {}
        for node in reversed(self.nodes.all):
            uses = {p for user in self.users[node] if self.inlined(node, user) for p in within[user]}
            own = self.place.get(node)
            if own is None and len({p.level for p in uses}) > 1 and total[node] > CHEAP and node.op == "map":
                first = min(uses, key=lambda p: (p.level, p.sizes != self.sizes(node)))
                if first.sizes == self.sizes(node):
                    self.buffered.add(node)
                    first.sinks.append(node)
                    own = self.place[node] = first
            within[node] = uses if own is None else {own} | {p for p in uses if p.level <= own.level}
