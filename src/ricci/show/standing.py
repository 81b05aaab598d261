"""Where the indices of a written tree stand: above, below, or in brackets.

The core has no heights, so a tree is written without them first. Then every index is put where it belongs: tensors by
name keep the heights that they were given, free indices have those of the left side, a summed index stands once above
and once below, and ones, zeros and deltas stand as the rest needs them. What is left over is said as the notation can:
``delta_{i i'} x^i'`` where a component above is used below, which a function of components may do, and
``sum[i](…)`` where a sum is not over one index above and one below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

from ricci.notation import syntax
from ricci.notation.heights import FLIPPED, flipped
from ricci.notation.occurrences import LEAVES, Occurrences, in_indices, used_up
from ricci.show.index_names import LETTERS
from ricci.show.phrases import index_of, indices_of, product_of

Wanted = dict[str, str]  # open index → where it shall stand
PAIR = "pair"  # for an index that a single leaf has twice and sums over


class Standing:
    """Puts the indices of the statements of one text in their places; ``given`` are the heights of names."""

    def __init__(self, given: Mapping[str, Sequence[str]]):
        self.given = {name: tuple(heights) for name, heights in given.items()}
        self.open = Occurrences(self.given)
        self.names: set[str] = set()
        self.fresh: set[str] = set()
        self.sized: dict[str, str] = {}  # for each name that was added, the index whose size it has

    def statement(self, node: syntax.Statement, heights: Sequence[str] = ()) -> syntax.Statement:
        """A statement whose left side stands at ``heights``, or where its right side says."""
        self.names |= indices_in(node.body) | {index.terms[0][1] for index in node.indices or ()}
        self.fresh, self.open = set(), Occurrences(self.given)
        found = self.open.of(node.body)
        names = [index.terms[0][1] for index in node.indices or ()]
        heights = tuple(heights) if any(heights) else tuple([_first(found.get(name, ())) for name in names])
        anywhere = node.name is not None and any(self.given.values()) and all(_anywhere(node.body, n) for n in names)
        if any(heights) or (names and anywhere):
            heights = tuple([h or "up" for h in heights])
        if node.name is not None and any(heights):
            self.given[node.name] = heights
        body = self.placed(node.body, dict(zip(names, heights, strict=True)))
        return syntax.Statement(node.start, node.end, node.name, self.at(node.indices, heights), body)

    @staticmethod
    def at(indices: syntax.Indices | None, heights: Sequence[str]) -> syntax.Indices | None:
        if not indices or not any(heights):
            return indices
        return tuple([_standing(index, h) for index, h in zip(indices, heights, strict=True)])

    def sum(self, node: syntax.SumNode, want: Wanted) -> syntax.Node:
        """A sum, whose terms may have the same names for what is their own."""
        before, after, terms = self.fresh, set(self.fresh), []
        for sign, term in node.terms:
            self.fresh = set(before)
            terms.append((sign, self.placed(term, want)))
            after |= self.fresh
        self.fresh = after
        return syntax.SumNode(0, 0, tuple(terms))

    def placed(self, node: syntax.Node, want: Wanted) -> syntax.Node:
        """``node`` with its open indices where they are wanted."""
        if isinstance(node, syntax.TensorNode):
            return self.tensor(node, want)
        if isinstance(node, syntax.Delta) and node.sign == "==":
            return self.delta(node, want)
        if isinstance(node, (syntax.Ones, syntax.Zeros)):
            return self.everywhere(node, want)
        if isinstance(node, syntax.Epsilon):
            return self.epsilon(node, want)
        if isinstance(node, syntax.ProductNode):
            return self.product(node, want)
        if isinstance(node, syntax.SumNode):
            return self.sum(node, want)
        if isinstance(node, syntax.Neg):
            return syntax.Neg(0, 0, self.placed(node.body, want))
        if isinstance(node, syntax.Power):
            return syntax.Power(0, 0, self.placed(node.base, want), self.placed(node.exponent, want))
        if isinstance(node, syntax.Compare):
            return syntax.Compare(0, 0, node.op, self.placed(node.left, want), self.placed(node.right, want))
        if isinstance(node, syntax.CallNode):
            return self.call(node, want) if node.result is None else self.result(node, want)
        return self.derivative(node, want) if isinstance(node, syntax.Derivative) else node

    # Leaves.

    def tensor(self, node: syntax.TensorNode, want: Wanted) -> syntax.Node:
        heights = self.given.get(node.name, ())
        if not node.indices or not heights:
            return node
        indices, moved = self.moved(node.indices, heights, want)
        return product_of([*moved, (1, syntax.TensorNode(0, 0, node.name, indices))])

    def moved(
        self, indices: syntax.Indices, heights: Sequence[str], want: Wanted
    ) -> tuple[syntax.Indices, list[tuple[int, syntax.Node]]]:
        """Indices at their heights; where a name is wanted elsewhere, another one and a delta between the two."""
        deltas: list[tuple[int, syntax.Node]] = []
        seen: set[str] = set()

        def name_at(name: str, height: str) -> str:
            wanted = want.get(name, height)
            if wanted == PAIR:
                wanted = FLIPPED[height] if name in seen and not paired else height
            seen.add(name)
            if wanted == height or not wanted or not height:
                return name
            new = self.another(name)
            pair = (_standing(index_of(name), wanted), _standing(index_of(new), wanted))
            deltas.append((1, syntax.Delta(0, 0, pair)))
            return new

        found = in_indices(indices, self.given, heights)
        paired = any(want.get(name) == PAIR and len(set(hs)) == 2 for name, hs in found.items())

        def placed(index: syntax.Index, height: str) -> syntax.Index:
            terms = tuple([(c, name_at(name, height)) for c, name in index.terms])
            tensor = index.tensor
            if tensor is not None and tensor.indices and tensor.name in self.given:
                own = zip(tensor.indices, self.given[tensor.name], strict=True)
                tensor = syntax.TensorNode(0, 0, tensor.name, tuple([placed(i, h) for i, h in own]))
            return syntax.Index(0, 0, terms, index.const, index.sizes, index.plain, tensor, height)

        return tuple([placed(index, h) for index, h in zip(indices, heights, strict=True)]), deltas

    def another(self, name: str) -> str:
        """A name for an index of the same size, that is not used in this term."""
        primes = [name + "'", name + "''"] if "'" not in name else []
        taken = self.names | self.fresh
        numbered = (f"{letter}{number}" for number in count(1) for letter in "ijk")
        for other in chain(primes, LETTERS, numbered):
            if other not in taken and self.sized.setdefault(other, name) == name:
                self.fresh.add(other)
                return other
        raise AssertionError("there are always more names")

    def delta(self, node: syntax.Delta, want: Wanted) -> syntax.Node:
        """As it is wanted; an index that is wanted nowhere stands opposite to the other."""
        first, second = [_first([want.get(name, "") for name in in_indices((i,), self.given)]) for i in node.indices]
        if PAIR in (first, second):
            first, second = "up", "down"
        if not first and not second:
            return node
        heights = (first or FLIPPED[second], second or FLIPPED[first])
        indices, moved = self.moved(node.indices, heights, {n: h for n, h in want.items() if h != PAIR})
        return product_of([(1, syntax.Delta(0, 0, indices)), *moved])

    def epsilon(self, node: syntax.Epsilon, want: Wanted) -> syntax.Node:
        """The symbol, which is the same above and below; indices that are numbers stand as the others do."""
        heights = [_first([want.get(name, "") for name in in_indices((i,), self.given)]) for i in node.indices]
        usual = _first(heights)
        return syntax.Epsilon(0, 0, self.at(node.indices, [h or usual for h in heights]) or ()) if usual else node

    def everywhere(self, node: syntax.Ones | syntax.Zeros, want: Wanted) -> syntax.Node:
        heights = [want.get(index.terms[0][1], "") for index in node.indices]
        if all(heights) or not any(heights):
            return type(node)(0, 0, self.at(node.indices, heights) or ())
        apart = [[i for i, h in zip(node.indices, heights, strict=True) if bool(h) == there] for there in (True, False)]
        return product_of([(1, self.everywhere(type(node)(0, 0, tuple(part)), want)) for part in apart])

    # Functions.

    def call(self, node: syntax.CallNode, want: Wanted) -> syntax.Node:
        axes = [name for index in node.axes or () for _, name in index.terms]
        used = used_up(node)
        inside = {name: h for name, h in want.items() if name not in used}
        for name in axes:
            if name in used or not inside.get(name):
                inside[name] = _first([h for a in node.args for h in self.open.of(a).get(name, ())])
        if node.name == "inv" and len(axes) == 2:
            row, column = axes
            inside[row], inside[column] = FLIPPED[inside[column]], FLIPPED[inside[row]]
        if node.name == "solve" and len(axes) == 2:
            inside[axes[1]] = FLIPPED[inside[axes[1]]]
        return replace(node, args=tuple([self.placed(a, inside) for a in node.args]), result=None)

    def result(self, node: syntax.CallNode, want: Wanted) -> syntax.Node:
        indices = node.result or ()
        heights = self.open.heights_of_result(node) or tuple([want.get(_name(index), "") for index in indices])
        if len(heights) != len(indices) or not all(heights):
            return node
        indices, moved = self.moved(indices, heights, want)
        return product_of([*moved, (1, replace(node, result=indices))])

    def derivative(self, node: syntax.Derivative, want: Wanted) -> syntax.Node:
        heights = self.given.get(node.variable.name, ())
        body = self.placed(node.body, want)
        if not node.variable.indices or not heights:
            return syntax.Derivative(0, 0, body, node.variable)
        indices, moved = self.moved(node.variable.indices, flipped(heights), want)
        variable = syntax.TensorNode(0, 0, node.variable.name, self.at(indices, heights))
        return product_of([*moved, (1, syntax.Derivative(0, 0, body, variable))])

    # Products.

    def product(self, node: syntax.ProductNode, want: Wanted) -> syntax.Node:
        factors = _flat(node)
        found = [self.open.of(factor) for _, factor in factors]
        wants = [dict(want) for _ in factors]
        alone = [self.sums(name, factors, found, wants) for name in _summed(factors, found, want)]
        bound = tuple([name for name in alone if name])
        written: list[tuple[int, syntax.Node]] = []
        for (exponent, factor), wanted in zip(factors, wants, strict=True):
            placed = self.placed(factor, wanted)
            if isinstance(placed, syntax.ProductNode) and exponent > 0:
                written += placed.factors
            else:
                written.append((exponent, placed))
        body = product_of(written)
        return syntax.CallNode(0, 0, "sum", (body,), indices_of(bound), None) if bound else body

    def sums(self, name: str, factors: list, found: list, wants: list[Wanted]) -> str:
        """Where an index that a product sums over stands in each factor; the name if it takes a ``sum[i](…)``."""
        places = [at for at, part in enumerate(found) if name in part]
        heights = [h for at in places for h in found[at][name]]
        known = [h for h in heights if h]
        if not known and not all(isinstance(factors[at][1], LEAVES[1:]) for at in places):
            return ""  # in brackets
        opposite = sorted(known) == ["down", "up"] or len(known) < 2
        if len(heights) == 2 and opposite:
            if len(places) == 1:
                wants[places[0]][name] = PAIR
                return ""
            first = heights[0] or FLIPPED[heights[1]] or "up"
            wants[places[0]][name], wants[places[1]][name] = first, FLIPPED[first]
            return ""
        for at in places:
            wants[at][name] = max(known, key=known.count, default="up")
        return name


def _flat(node: syntax.ProductNode) -> list[tuple[int, syntax.Node]]:
    factors: list[tuple[int, syntax.Node]] = []
    for exponent, factor in node.factors:
        factors += _flat(factor) if isinstance(factor, syntax.ProductNode) and exponent > 0 else [(exponent, factor)]
    return factors


def _summed(factors: list[tuple[int, syntax.Node]], found: list, want: Wanted) -> list[str]:
    """The indices that a product sums over."""
    names = dict.fromkeys([name for part in found for name in part if name not in want])
    result = []
    for name in names:
        places = [at for at, part in enumerate(found) if name in part]
        leaf = factors[places[0]][1]
        is_leaf = isinstance(leaf, LEAVES) or (isinstance(leaf, syntax.CallNode) and leaf.result is not None)
        if len(places) > 1 or (is_leaf and len(found[places[0]][name]) > 1):
            result.append(name)
    return result


def _anywhere(body: syntax.Node, name: str) -> bool:
    """Whether an index stands in ones, deltas and symbols alone, which have it above or below as is wanted."""
    open_in = Occurrences()
    leaves = [node for node in syntax.within(body) if isinstance(node, (*LEAVES, syntax.CallNode))]
    having = [node for node in leaves if not isinstance(node, syntax.CallNode) and name in open_in.of(node)]
    calls = [node for node in leaves if isinstance(node, syntax.CallNode) and node.result]
    return (
        bool(having)
        and not any(name in open_in.of(node) for node in calls)
        and not any(isinstance(node, syntax.TensorNode) for node in having)
    )


def _standing(index: syntax.Index, height: str) -> syntax.Index:
    return syntax.Index(0, 0, index.terms, index.const, index.sizes, index.plain, index.tensor, height)


def _first(heights: Sequence[str]) -> str:
    return next((h for h in heights if h), "")


def _name(index: syntax.Index) -> str:
    return index.terms[0][1] if index.terms else ""


def indices_in(body: syntax.Node) -> set[str]:
    """The names of all indices in a tree."""
    found: set[str] = set()
    stack = [body]
    while stack:
        node = stack.pop()
        for part in ("indices", "axes", "result"):
            found |= in_indices(getattr(node, part, None) or ()).keys()
        if isinstance(node, syntax.Derivative):
            found |= in_indices(node.variable.indices or ()).keys()
        stack += syntax.children(node)
    return found
