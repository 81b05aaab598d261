"""The symbols of a text: which ``eps`` is that of Levi-Civita, and what the generalised delta stands for.

``eps`` with two or more indices is the symbol, unless the text defines the name. A number ``eps``, and ``eps[b]`` with
one index, stay names, as in the layer norm's ``sqrt(v[b] + eps)``; a text with both is refused.

    delta[i,j;k,l] = delta[i,k] delta[j,l] - delta[i,l] delta[j,k]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from ricci.errors import NotationError
from ricci.expr.alternating import parity
from ricci.notation import syntax

EPS = "eps"
LARGEST_DELTA = 4  # pairs of indices of a generalised delta, which has 24 terms then
ANOTHER_NAME = "Give the number another name, such as eps_0; eps[i,j,k] is the Levi-Civita symbol."


def with_symbols(program: syntax.Statements) -> syntax.Statements:
    """The program with the nodes of Levi-Civita symbols in it."""
    if EPS not in program.text or any(s.name == EPS for s in program.statements):
        return program
    nodes = [node for s in program.statements for side in s.sides for node in syntax.within(side)]
    by = [node.variable for node in nodes if isinstance(node, syntax.Derivative)]
    found = [n for n in [*nodes, *by] if isinstance(n, syntax.TensorNode) and n.name == EPS]
    symbols = [node for node in found if len(node.indices or ()) > 1]
    if not symbols:
        return program
    others = [node for node in found if len(node.indices or ()) < 2]
    if others:
        message = "The name eps stands for a number here, and for the Levi-Civita symbol elsewhere."
        raise NotationError(message, program.text, others[0].start, others[0].end, ANOTHER_NAME)
    for node in by:
        if node.name == EPS:
            message = "The Levi-Civita symbol is constant; there is no derivative by it."
            raise NotationError(message, program.text, node.start, node.end, "Name an input: D(f, x[i]).")
    statements = []
    for s in program.statements:
        left = None if s.left is None else _replaced(s.left)
        statements.append(replace(s, left=left, body=_replaced(s.body)))
    return replace(program, statements=tuple(statements))


def _replaced(node: syntax.Node) -> syntax.Node:
    if isinstance(node, syntax.TensorNode) and node.name == EPS:
        return syntax.Epsilon(node.start, node.end, node.indices or ())
    return syntax.with_children(node, [_replaced(part) for part in syntax.children(node)])


def generalised_delta(
    start: int, end: int, first: Sequence[syntax.Index], second: Sequence[syntax.Index]
) -> syntax.Node:
    """``delta[i,j;k,l]`` as what it stands for: the determinant of the deltas of the one and the other indices."""
    terms = []
    for order in permutations(range(len(second))):
        deltas = [(1, syntax.Delta(start, end, (a, second[k]))) for a, k in zip(first, order, strict=True)]
        term = deltas[0][1] if len(deltas) == 1 else syntax.ProductNode(start, end, tuple(deltas))
        terms.append((parity(order), term))
    return terms[0][1] if len(terms) == 1 else syntax.SumNode(start, end, tuple(terms))
