"""Raising and lowering: with a metric, a name may stand at other heights than it was first given.

Each such use is written out before anything else is known of the text: ``F^{m n}`` of a given ``F_{a b}`` becomes
``inv(g)^{m a} inv(g)^{n b} F_{a b}``, with new names for the summed indices, ``g^{i j}`` becomes ``inv(g)^{i j}`` and
``g^i_j`` the delta. After that every name keeps its heights, so nothing else has to know of metrics. What is made has
the place of what was written, for the carets of errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count

from ricci.errors import NotationError
from ricci.notation import syntax
from ricci.notation.heights import told
from ricci.notation.occurrences import Occurrences, indices_in

LOWER = ("down", "down")
TWO = "A metric has two indices, both below, g_{i j}, or both above."
NAMES = "ijklmnpqrstuvwabcdefhxyz"

Factors = list[tuple[int, syntax.Node]]


def written_out(program: syntax.Statements, metric: str) -> syntax.Statements:
    """A program in which every name stands at the heights that it was first given."""
    if not any(index.height == "up" for index in program.standing):
        return program  # in brackets, or Cartesian subscripts
    return Metric(program, metric).program()


def heights_of_metric(program: syntax.Statements, name: str) -> dict[str, tuple[str, ...]]:
    """Those on its left side, if it is defined, and else both below: an array that is given is ``g_{i j}``."""
    left = [s for s in program.statements if s.name == name]
    for node in [*left, *_tensors(program)]:
        if node.name == name and (node.indices is not None or node in left) and len(node.indices or ()) != 2:
            raise NotationError(
                f"The metric {name!r} has not two indices here.", program.text, node.start, node.end, TWO
            )
    heights = tuple([index.height for index in left[0].indices or ()]) if left else LOWER
    if heights[0] != heights[1]:
        message = f"The indices of the metric {name!r} stand {told(heights)} here."
        raise NotationError(message, program.text, left[0].start, left[0].end, TWO)
    return {name: heights if heights[0] else LOWER}


class Metric:
    """Writes out one program."""

    def __init__(self, program: syntax.Statements, name: str):
        self.old = program
        self.name = name
        self.given = {**_first_given(program), **heights_of_metric(program, name)}
        self.open = Occurrences(self.given)
        self.used = {name for s in program.statements for name in _index_names(s)}
        self.used |= {node.name for node in _tensors(program)}
        self.names: Iterator[str] = iter(())
        self.moved_names: dict[str, str] = {}
        self.mixed: list[syntax.TensorNode] = []  # the deltas, which range over the axes of the metric

    def fail(self, message: str, node: syntax.Node | syntax.Statement) -> NotationError:
        return NotationError(message, self.old.text, node.start, node.end, TWO)

    def program(self) -> syntax.Statements:
        statements = tuple([self.statement(s) for s in self.old.statements])
        there = any(
            n.name == self.name
            for s in statements
            for side in s.sides
            for n in syntax.within(side)
            if isinstance(n, syntax.TensorNode)
        )
        sizes = self.old.sizes
        if there or any(s.name == self.name for s in statements):
            sizes = replace(sizes, tensors=(*sizes.tensors, *self.mixed))
        return replace(self.old, statements=statements, sizes=sizes, moved=self.moved_names)

    def statement(self, node: syntax.Statement) -> syntax.Statement:
        numbered = (f"{letter}{number}" for number in count(1) for letter in "ijk")
        self.names = (name for name in chain(NAMES, numbered) if name not in self.used)
        left = None if node.left is None else self.of(node.left)
        return replace(node, left=left, body=self.of(node.body))

    def of(self, node: syntax.Node) -> syntax.Node:
        """A node with all that stands elsewhere written out."""
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        return syntax.with_children(node, [self.of(part) for part in syntax.children(node)])

    # What has indices.

    def tensor(self, node: syntax.TensorNode) -> syntax.Node:
        if node.name == self.name:
            made = self.metric(node, node.indices)
            if isinstance(made, syntax.CallNode):
                self.moved_names[self.name] = self.name
            return made
        indices, factors = self.moved(node.indices, self.given.get(node.name, ()))
        if factors:
            self.moved_names[node.name] = self.name
        return _product(node, factors, syntax.TensorNode(node.start, node.end, node.name, indices))

    def moved(
        self, indices: syntax.Indices | None, given: Sequence[str], by: bool = False
    ) -> tuple[syntax.Indices | None, Factors]:
        """Indices at the heights given, and the metrics that connect them with those that were written.

        ``by`` says that they are those of the variable of a derivative, where they count as on the other side.
        """
        factors: Factors = []
        kept = []
        for index, height in zip(indices or (), given, strict=False):
            if index.height in ("", height):
                kept.append(index)
                continue
            own = next(self.names)
            stands = height if by else index.height
            pair = (replace(index, height=stands), _named(index, own, stands))
            factors.append((1, self.metric(index, pair)))
            kept.append(_named(index, own, height))
        return (tuple(kept), factors) if factors and indices and len(kept) == len(indices) else (indices, [])

    def metric(self, at: syntax.Node | syntax.Index, indices: syntax.Indices | None) -> syntax.Node:
        """The metric at the heights of its indices: itself, its inverse, or a delta."""
        heights = tuple([index.height for index in indices or ()])
        if not indices or not any(heights) or heights == self.given[self.name]:
            return syntax.TensorNode(at.start, at.end, self.name, indices)
        if heights[0] == heights[1]:
            whole = syntax.TensorNode(at.start, at.end, self.name, None)
            return syntax.CallNode(at.start, at.end, "inv", (whole,), None, indices)
        if all(index.plain for index in indices):
            bare = tuple([replace(index, height="") for index in indices])
            self.mixed.append(syntax.TensorNode(at.start, at.end, self.name, bare))
        return syntax.Delta(at.start, at.end, indices)

    def derivative(self, node: syntax.Derivative) -> syntax.Node:
        """By ``v_{k}`` of a given ``v^k``: ``inv(g)^{k l} D(…, v^l)``.

        By the inverse, ``g^{i j}``, it is ``-g_{i a} g_{j b} D(…, g_{a b})``, since the two depend on each other.
        """
        variable, body = node.variable, self.of(node.body)
        indices, factors = self.moved(variable.indices, self.given.get(variable.name, ()), by=True)
        if variable.name == self.name and factors:
            if len(factors) == 1:
                message = (
                    f"There is no derivative by {self.name!r} with one index above: that is delta, which is constant."
                )
                raise self.fail(message, variable)
            factors.insert(0, (1, syntax.Number(node.start, node.end, -1)))
        inner = syntax.TensorNode(variable.start, variable.end, variable.name, indices)
        return _product(node, factors, syntax.Derivative(node.start, node.end, body, inner))

    def call(self, node: syntax.CallNode) -> syntax.Node:
        args = tuple([self.of(a) for a in node.args])
        result, factors = node.result, []
        if node.result and node.axes is None and all(isinstance(a, syntax.TensorNode) for a in node.args):
            result, factors = self.moved(node.result, self.open.heights_of_result(node))
        return _product(node, factors, replace(node, args=args, result=result))


_RULES: dict[type, Callable[..., syntax.Node]] = {
    syntax.TensorNode: Metric.tensor,
    syntax.CallNode: Metric.call,
    syntax.Derivative: Metric.derivative,
}


def _product(at: syntax.Node, factors: Factors, node: syntax.Node) -> syntax.Node:
    return syntax.ProductNode(at.start, at.end, (*factors, (1, node))) if factors else node


def _named(at: syntax.Index, name: str, height: str) -> syntax.Index:
    return syntax.Index(at.start, at.end, ((1, name),), plain=True, height=height)


def _tensors(program: syntax.Statements) -> list[syntax.TensorNode]:
    """All tensors of a text with those of derivatives, in the order in which they are written."""
    nodes = [node for s in program.statements for side in s.sides for node in syntax.within(side)]
    found = [node for node in nodes if isinstance(node, syntax.TensorNode)]
    found += [node.variable for node in nodes if isinstance(node, syntax.Derivative)]
    return sorted(found, key=lambda node: node.start)


def _first_given(program: syntax.Statements) -> dict[str, tuple[str, ...]]:
    """The heights of each name: those of its definition, or else of its first use with some."""
    sides = [(s.name, s.indices) for s in program.statements if s.name is not None]
    given: dict[str, tuple[str, ...]] = {}
    for name, indices in [*sides, *[(node.name, node.indices) for node in _tensors(program)]]:
        if indices and indices[0].height:
            given.setdefault(name, tuple([index.height for index in indices]))
    return given


def _index_names(statement: syntax.Statement) -> set[str]:
    """The names of all indices of a statement."""
    nodes = [node for side in statement.sides for node in syntax.within(side)]
    by = [node.variable for node in nodes if isinstance(node, syntax.Derivative)]
    indices = [index for node in [*statement.sides, *by] for index in indices_in(node)]
    return {name for index in [*indices, *(statement.indices or ())] for _, name in (*index.terms, *index.sizes)}
