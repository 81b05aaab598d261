"""Which indices stand open in a piece of text, and how often: the counts that the rules of index notation speak of.

Factors of a product add up. Additive terms, the arguments of a function, a base and its exponent, and the two sides of
a comparison are aligned by name, so the largest count stands for all. An axis that a function uses up
(``sum[k](…)``) is not open outside its brackets, and ``|k|`` is no occurrence.
"""

from __future__ import annotations

from ricci.functions.table import IN_TEXT
from ricci.notation import syntax

Heights = list[str]
Open = dict[str, Heights]  # index → the heights of its occurrences, "" where it is not written with one
LEAVES = (syntax.TensorNode, syntax.Ones, syntax.Zeros, syntax.Delta)


class Occurrences:
    """Counts open indices; remembers what it has counted."""

    def __init__(self):
        self._known: dict[int, Open] = {}

    def of(self, node: syntax.Node) -> Open:
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = self._count(node)
        return known

    def once(self, body: syntax.Node) -> list[tuple[syntax.Node, tuple[str, ...]]]:
        """The additive terms, each with the indices that occur exactly once in it: free, without a left side."""
        terms = [term for _, term in body.terms] if isinstance(body, syntax.SumNode) else [body]
        return [(t, tuple([name for name, heights in self.of(t).items() if len(heights) == 1])) for t in terms]

    def _count(self, node: syntax.Node) -> Open:
        if isinstance(node, LEAVES):
            return in_indices(node.indices or ())
        if isinstance(node, syntax.ProductNode):
            return added([self.of(factor) for _, factor in node.factors])
        if isinstance(node, syntax.SumNode):
            return aligned([self.of(term) for _, term in node.terms])
        if isinstance(node, syntax.Neg):
            return self.of(node.body)
        if isinstance(node, syntax.Power):
            return aligned([self.of(node.base), self.of(node.exponent)])
        if isinstance(node, syntax.Compare):
            return aligned([self.of(node.left), self.of(node.right)])
        if isinstance(node, syntax.CallNode):
            return self._call(node)
        if isinstance(node, syntax.Derivative):
            return added([self.of(node.body), in_indices(node.variable.indices or ())])
        return {}

    def _call(self, node: syntax.CallNode) -> Open:
        if node.result is not None:
            return in_indices(node.result)
        inside = aligned([self.of(a) for a in node.args])
        used = used_up(node)
        return {name: heights for name, heights in inside.items() if name not in used}


def used_up(node: syntax.CallNode) -> set[str]:
    """The axes in a call's brackets that are not axes of its result."""
    if node.axes is None:
        return set()
    names = [name for index in node.axes for _, name in index.terms]
    function = IN_TEXT.get(node.name)
    if function is None:
        return set()
    if function.kind == "reduce" or function.gives == "scalar":
        return set(names)
    if function.gives == "vector":
        return set(names[1:])
    return set(names[:1]) if function.gives == "solve" else set()


def in_indices(indices: syntax.Indices) -> Open:
    found: Open = {}
    for index in indices:
        if index.tensor is not None:
            for name, heights in in_indices(index.tensor.indices or ()).items():
                found.setdefault(name, []).extend(heights)
        for _, name in index.terms:
            found.setdefault(name, []).append(index.height)
    return found


def added(parts: list[Open]) -> Open:
    total: Open = {}
    for part in parts:
        for name, heights in part.items():
            total[name] = total.get(name, []) + heights
    return total


def aligned(parts: list[Open]) -> Open:
    widest: Open = {}
    for part in parts:
        for name, heights in part.items():
            if len(heights) > len(widest.get(name, ())):
                widest[name] = heights
    return widest


def free_indices(body: syntax.Node) -> tuple[str, ...] | None:
    """The free indices that a reader infers where there is no left side; None if terms disagree."""
    found = [names for _, names in Occurrences().once(body)]
    names = next((names for names in found if names), ())
    return names if all(not other or set(other) == set(names) for other in found) else None


def names_in(body: syntax.Node) -> set[str]:
    """The names of all tensors in a tree."""
    names: set[str] = set()
    stack = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, syntax.TensorNode):
            names.add(node.name)
        stack += syntax.children(node)
    return names
