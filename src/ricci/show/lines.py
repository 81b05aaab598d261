"""Which parts of an expression get a line of their own when it is printed.

A part is named where the notation needs it (a read ``t[i+1]`` or a diagonal ``t[i,i]`` of something that is not a
tensor by name, a contraction inside a contraction), where it is used again in a large expression, and where brackets
would nest too deep.
"""

from __future__ import annotations

from ricci.expr import Constant, Elementwise, Expr, Function, Product, Structure, Sum, Variable, topological, users

DEEPEST = 30  # brackets
SMALL = 60  # nodes; an expression up to this size is printed whole
WORTH = 4  # nodes; a part below this size is repeated rather than named


def parts_with_lines(root: Expr, named: set[Expr]) -> list[Expr]:
    """The nodes to print on lines of their own, operands first; ``named`` are those the user has named."""
    order = topological(root)
    uses = users(root)
    needed = {part for node in order if isinstance(node, Product) for part in _needed(node)}
    needed |= {node.args[0] for node in order if isinstance(node, Structure) and node.args and not _leaf(node.args[0])}
    large = _tree_size(order, root) > SMALL
    lines: list[Expr] = []
    size: dict[Expr, int] = {}
    depth: dict[Expr, int] = {}
    for node in order:
        size[node] = 1 + sum(size[a] for a in node.args)
        depth[node] = 1 + max((depth[a] for a in node.args), default=0)
        again = large and len(uses[node]) > 1 and size[node] >= WORTH and not _is_scaled(node)
        wanted = node in needed or again or depth[node] > DEEPEST or (node in named and len(uses[node]) > 1)
        if wanted and node is not root and not _leaf(node):
            lines.append(node)
            size[node] = depth[node] = 1
    return lines


def _leaf(node: Expr) -> bool:
    return isinstance(node, (Variable, Constant, Structure))


def _is_scaled(node: Expr) -> bool:
    return isinstance(node, Sum) and len(node.args) == 1


def _needed(node: Product) -> list[Expr]:
    found = []
    reads = {
        label
        for a, labels in node.factors()
        if isinstance(a, Structure) and a.relation[0] in ("==", "at")
        for label in labels
        if label not in node.out
    }
    for a, labels in node.factors():
        if isinstance(a, (Variable, Structure)):
            continue
        inside = isinstance(a, Product) and (node.sums or not a.sums)
        if inside or len(set(labels)) < len(labels) or reads & set(labels):
            found.append(a)
        elif isinstance(a, Constant) and a.shape:
            found.append(a)
    return [a for a in found if isinstance(a, (Product, Sum, Elementwise, Function))]


def _tree_size(order: list[Expr], root: Expr) -> int:
    size: dict[Expr, int] = {}
    for node in order:
        size[node] = min(10 * SMALL, 1 + sum(size[a] for a in node.args))
    return size[root]
