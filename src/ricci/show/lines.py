"""Which parts of an expression get a line of their own when it is printed.

A part is named where the notation needs it (a read ``t[i+1]`` or a diagonal ``t[i,i]`` of something that is not a
tensor by name, a contraction inside a contraction), where the user has named it, where it is used again in a large
expression, and where brackets would nest too deep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ricci.expr import CONJ, Constant, Elementwise, Expr, Function, Product, Structure, Sum, Variable, conj, topological
from ricci.expr.build.product import restrict
from ricci.expr.structures import natural
from ricci.functions.axes import unmerged

DEEPEST = 30  # brackets
SMALL = 60  # nodes; an expression up to this size is printed whole
WORTH = 4  # nodes; a part below this size is repeated rather than named


def parts_with_lines(root: Expr, named: set[Expr], inside: Sequence[Expr] = ()) -> list[Expr]:
    """The nodes to print on lines of their own, operands first; ``named`` are those the user has named, and ``inside``
    is what is written out where inputs of ``root`` stand for it."""
    order = topological(*inside, root)
    others = [conj(node) for node in order if node.complex and node not in named and conj(node) in named]
    if others:  # a part that has a name, where its conjugate is used
        order = topological(*inside, *others, root)
    apart = {node.args[0]: unmerged(node.args[0]) for node in order if isinstance(node, Function)}
    whole = {node: found[0] for node, found in apart.items() if found is not None}
    needed = {part for node in order for part in _needed(whole.get(node, node))}
    needed |= {conj(part) for part in needed if part.complex and conj(part) in others}
    uses = _uses(order)
    large = is_large(root)
    top = arranged_inner(root)
    lines: dict[Expr, None] = {}
    varies: set[Expr] = set()
    size: dict[Expr, int] = {}
    depth: dict[Expr, int] = {}
    for node in order:
        size[node] = 1 + sum(size[a] for a in node.args)
        depth[node] = 1 + max((depth[a] for a in node.args), default=0)
        if isinstance(node, (Variable, Constant, Structure)):
            varies |= {node} if isinstance(node, Variable) or node.args else set()
            continue
        if any(a in varies for a in node.args):
            varies.add(node)
        elif node not in needed:
            continue
        part = arranged_inner(node)
        if part is top or node is root or isinstance(part, Variable) or _is_leaf(part):
            continue
        if others and part.complex and conj(part) in lines:
            continue
        again = large and uses.get(part, 0) > 1 and size[node] >= WORTH and not _is_scaled(part)
        named_here = part in named and size[node] >= WORTH
        if part in needed or again or named_here or (depth[node] > DEEPEST and node is not root):
            lines[part] = None
            size[node] = depth[node] = 1
    return list(lines)


def arranged_inner(node: Expr) -> Expr:
    """What a product without sums arranges: without its broadcasts, and with its axes in natural order."""
    if isinstance(node, Product) and not node.sums:
        axes = natural(node)
        if axes != tuple(range(len(node.shape))):
            return restrict(node, axes)
    return node


def _uses(order: list[Expr]) -> dict[Expr, int]:
    uses = dict.fromkeys(order, 0)
    for node in order:
        for a in node.args:
            uses[a] += 1
            inner = arranged_inner(a)
            if inner is not a:
                uses[inner] = uses.get(inner, 0) + 1
    return uses


def _is_leaf(node: Expr) -> bool:
    """The conjugate of an input."""
    return isinstance(node, Elementwise) and node.op is CONJ and isinstance(node.args[0], Variable)


def _is_scaled(node: Expr) -> bool:
    return isinstance(node, Sum) and len(node.args) == 1


def _needed(node: Expr) -> Iterator[Expr]:
    """The operands that the notation can only speak of by name."""
    if isinstance(node, Function) and node.op.loop is not None:
        yield node
    if isinstance(node, Structure):
        yield from (a for a in node.args if not isinstance(a, Variable))
    if not isinstance(node, Product):
        return
    moves = [(a, ls) for a, ls in node.factors() if isinstance(a, Structure) and a.relation[0] in ("==", "at")]
    reads = {label for _, labels in moves for label in labels if label not in node.out}
    for a, labels in node.factors():
        if isinstance(a, (Variable, Structure, Constant)) or _is_leaf(a):
            continue
        nested = isinstance(a, Product) and (node.sums or not a.sums)
        if nested or len(set(labels)) < len(labels) or reads & set(labels):
            yield a


def is_large(root: Expr) -> bool:
    """Whether an expression is too large to be printed whole, parts that are used again being repeated."""
    size: dict[Expr, int] = {}
    for node in topological(root):
        size[node] = min(SMALL + 1, 1 + sum(size[a] for a in node.args))
    return size[root] > SMALL
