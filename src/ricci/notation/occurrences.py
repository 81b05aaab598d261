"""Which indices stand open in a piece of text, how often and at which height: all that the rules of notation speak of.

Factors of a product add up. Additive terms, the arguments of a function, a base and its exponent, and the two sides of
a comparison are aligned by name, so the largest count stands for all. An axis that a function uses up
(``sum[k](…)``) is not open outside its brackets, and ``|k|`` is no occurrence.

A tensor keeps the heights that it was given; in brackets its indices stand at these too. A derivative by ``v^k`` has
``k`` below. What is inverted or solved has its indices on the other side: ``inv(g)^{i j}`` of ``g_{i j}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ricci.functions.table import IN_TEXT
from ricci.notation import syntax
from ricci.notation.heights import FLIPPED, flipped

Heights = list[str]
Clash = Callable[[str, set[str], syntax.Node], None]  # what is done where an index stands at several heights
Open = dict[str, Heights]  # index → the heights of its occurrences, "" where it is not written with one
LEAVES = (syntax.TensorNode, syntax.Ones, syntax.Zeros, syntax.Delta, syntax.Epsilon)


class Occurrences:
    """Counts open indices; remembers what it has counted. ``given`` are the heights of tensors, by name."""

    def __init__(self, given: Mapping[str, Sequence[str]] | None = None, clash: Clash | None = None):
        self._known: dict[int, Open] = {}
        self.given = {} if given is None else given
        self.clash = clash

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
        if isinstance(node, syntax.TensorNode):
            return in_indices(node.indices or (), self.given, self.given.get(node.name, ()))
        if isinstance(node, LEAVES):
            return in_indices(node.indices or (), self.given)
        if isinstance(node, syntax.ProductNode):
            return added([self.of(factor) for _, factor in node.factors])
        if isinstance(node, syntax.SumNode):
            return self._aligned(node, [term for _, term in node.terms])
        if isinstance(node, syntax.Neg):
            return self.of(node.body)
        if isinstance(node, syntax.Power):
            return self._aligned(node, [node.base, node.exponent])
        if isinstance(node, syntax.Compare):
            return self._aligned(node, [node.left, node.right])
        if isinstance(node, syntax.CallNode):
            return self._call(node)
        if isinstance(node, syntax.Derivative):
            by = {name: list(flipped(heights)) for name, heights in self.of(node.variable).items()}
            return added([self.of(node.body), by])
        return {}

    def _aligned(self, node: syntax.Node, parts: Sequence[syntax.Node]) -> Open:
        found = [self.of(part) for part in parts]
        together = aligned(found)
        if self.clash is not None:
            for name in together:
                heights = {h for part in found if len(set(part.get(name, ()))) == 1 for h in part[name]}
                if len(heights) > 1:
                    self.clash(name, heights, node)
        return together

    def _call(self, node: syntax.CallNode) -> Open:
        if node.result is not None and node.axes is None:
            return in_indices(node.result, self.given, self.heights_of_result(node))
        inside = self._aligned(node, node.args)
        used = used_up(node)
        if self.clash is not None:
            for name in [name for index in node.axes or () for _, name in index.terms]:
                heights = inside.get(name, [])
                if len(set(heights)) > 1 and (name not in used or sorted(heights) != ["down", "up"]):
                    self.clash(name, set(heights), node)
        stand = {name: heights for name, heights in inside.items() if name not in used}
        if node.axes is not None and not node.result and node.name in ("inv", "solve") and len(node.axes) == 2:
            row, column = [index.terms[0][1] for index in node.axes]
            turned = [(row, column), (column, row)] if node.name == "inv" else [(column, column)]
            stand |= {name: list(flipped(inside[other])) for name, other in turned if other in inside}
        return added([stand, in_indices(node.result, self.given, ())]) if node.result else stand

    def heights_of_result(self, node: syntax.CallNode) -> tuple[str, ...]:
        """Where the indices of ``inv(A)[i,j]`` and ``solve(A, b)[j]`` stand, if that is known."""
        found = [tuple(self.given.get(a.name, ())) for a in node.args if isinstance(a, syntax.TensorNode)]
        first, more = found[0] if found else (), found[1:]
        if len(first) != 2:
            return ()
        if node.name == "solve":
            return (FLIPPED[first[1]], *(more[0][1:] if more else ()))
        return flipped(first[::-1]) if node.name == "inv" else first


def used_up(node: syntax.CallNode) -> set[str]:
    """The axes in a call's brackets that are not axes of its result."""
    if node.axes is None:
        return set()
    names = [name for index in node.axes for _, name in index.terms]
    function = IN_TEXT.get(node.name)
    if function is None:  # one of the user's own, of whole arrays
        return set(names)
    if function.kind == "reduce" or function.gives == "scalar" or node.result is not None:
        return set(names)
    if function.gives == "vector":
        return set(names[1:])
    return set(names[:1]) if function.gives == "solve" else set()


def in_indices(
    indices: syntax.Indices, given: Mapping[str, Sequence[str]] | None = None, heights: Sequence[str] = ()
) -> Open:
    """The open indices of a tensor; in brackets they stand at the ``heights`` that it was ``given``, if any."""
    found: Open = {}
    for axis, index in enumerate(indices):
        if index.tensor is not None:
            own = given.get(index.tensor.name, ()) if given else ()
            for name, inner in in_indices(index.tensor.indices or (), given, own).items():
                found.setdefault(name, []).extend(inner)
        for _, name in index.terms:
            found.setdefault(name, []).append(index.height or (heights[axis] if axis < len(heights) else ""))
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
            known = widest.get(name, [])
            if len(heights) > len(known) or (len(heights) == len(known) and not any(known)):
                widest[name] = heights
    return widest


def free_indices(body: syntax.Node) -> tuple[str, ...] | None:
    """The free indices that a reader infers where there is no left side; None if terms disagree."""
    found = [names for _, names in Occurrences().once(body)]
    names = next((names for names in found if names), ())
    return names if all(not other or set(other) == set(names) for other in found) else None


def names_in(body: syntax.Node) -> set[str]:
    """The names of all tensors in a tree."""
    return {node.name for node in syntax.within(body) if isinstance(node, syntax.TensorNode)}


def is_leaf(node: syntax.Node) -> bool:
    """Whether all open indices of a factor stand at one tensor: ``x[i]``, ``inv(A)[i,j]``."""
    return isinstance(node, LEAVES) or (
        isinstance(node, syntax.CallNode) and node.result is not None and node.axes is None
    )


def terms_of(node: syntax.Node) -> list[syntax.Node]:
    """The additive terms of a node, or itself."""
    return [term for _, term in node.terms] if isinstance(node, syntax.SumNode) else [node]


def sums_alone(part: syntax.Node, name: str, count: Occurrences) -> bool:
    """Whether an index is summed within each term of a bracket that has it."""
    while isinstance(part, (syntax.Power, syntax.Neg)):
        part = part.base if isinstance(part, syntax.Power) else part.body
    if is_leaf(part):
        return False
    return all(len(count.of(term).get(name, ("", ""))) > 1 for term in terms_of(part))


def indices_in(node: syntax.Node) -> list[syntax.Index]:
    """All indices in a tree, those of gathers too."""
    found: list[syntax.Index] = []
    stack: list = [node]
    while stack:
        node = stack.pop()
        for part in ("indices", "axes", "result"):
            for index in getattr(node, part, None) or ():
                if index.tensor is None:
                    found.append(index)
                else:
                    stack.append(index.tensor)
        stack += syntax.children(node)
    return found
