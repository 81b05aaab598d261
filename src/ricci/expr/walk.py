"""Walks over expressions, all of them iterative: order, inputs, users, substitution."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ricci.budget import spend
from ricci.errors import ShapeError
from ricci.expr import dims
from ricci.expr.build.add import add
from ricci.expr.build.algebra import constant
from ricci.expr.build.apply import elementwise, function, one_hot
from ricci.expr.build.product import contract, product
from ricci.expr.dims import Atom, Dim, Size
from ricci.expr.nodes import Constant, Elementwise, Expr, Function, Product, Structure, Sum, Variable, make
from ricci.expr.numbers import loosely
from ricci.expr.structures import affine, one, zero

MOST_REMEMBERED = 1024  # nodes below one that it remembers


def topological(*roots: Expr) -> list[Expr]:
    """Every node once, operands before their users, in an order that depends on the structure alone.

    What is below one root is remembered there, unless it is much, so a second walk costs next to nothing.
    """
    if len(roots) != 1:
        return _operands_first(list(reversed(roots)), list.reverse)
    (root,) = roots
    try:
        return [*root.below, root]
    except AttributeError:
        found = _operands_first([root], list.reverse)
        if len(found) <= MOST_REMEMBERED:
            root.below = tuple(found[:-1])  # without itself: a node that led to itself would not be freed
        return found


def by_height(*roots: Expr) -> list[Expr]:
    """Every node once, operands before their users; of several operands the one with the longest way below it first.

    In this order what is needed late is computed late, so that fewer values are kept at once.
    """
    height: dict[Expr, int] = {}
    for node in topological(*roots):
        height[node] = 1 + max([height[a] for a in node.args], default=0)
    key = height.__getitem__
    return _operands_first(sorted(roots, key=key), lambda operands: operands.sort(key=key))


def _operands_first(stack: list[Expr], arrange: Callable[[list[Expr]], None]) -> list[Expr]:
    """Every node under those of ``stack`` once; ``arrange`` puts operands in order, the one to visit first last."""
    seen: set[Expr] = set()
    done: list[Expr] = []
    spend(0)
    while stack:
        node = stack[-1]
        if node in seen:
            stack.pop()
            continue
        if node.args and not seen.issuperset(node.args):
            waiting = [a for a in node.args if a not in seen]
            arrange(waiting)
            stack += waiting
            continue
        stack.pop()
        seen.add(node)
        done.append(node)
    return done


def variables(*roots: Expr) -> list[Variable]:
    """The inputs of an expression, sorted by name."""
    found = [node for node in topological(*roots) if isinstance(node, Variable)]
    return sorted(found, key=lambda v: (v.name, v.key))


def users(*roots: Expr) -> dict[Expr, list[Expr]]:
    """For every node the nodes that have it as an operand, each as often as it does."""
    result: dict[Expr, list[Expr]] = {}
    for node in topological(*roots):
        result.setdefault(node, [])
        for a in node.args:
            result[a].append(node)
    return result


def _as_it_is(size: Size) -> Size:
    return size


def rebuild(node: Expr, args: tuple[Expr, ...], resize: Callable[[Size], Size] = _as_it_is) -> Expr:
    """``node`` with other operands, and its own sizes mapped by ``resize``, made canonical again."""
    if isinstance(node, Product):
        carried = {label for labels in node.labels for label in labels}
        axes = [(label, size) for label, size in zip(node.out, node.shape, strict=True) if label not in carried]
        return product(list(zip(args, node.labels, strict=True)), node.out, {a: resize(size) for a, size in axes})
    if isinstance(node, Sum):
        return add(list(zip(node.coefs, args, strict=True)))
    if isinstance(node, Elementwise):
        return elementwise(node.op, *args)
    if isinstance(node, Function):
        if node.op.resize is not None and resize is not _as_it_is:
            return node.op.resize(node, args, resize)
        return function(node.op, args, node.params)
    shape = tuple([resize(size) for size in node.shape])
    if isinstance(node, Structure):
        return _restructure(node, args, shape, resize)
    if isinstance(node, Constant):
        return constant(resize(node.value)) if isinstance(node.value, Dim) else node
    return make(Variable, (), shape, *node.data)


def _restructure(node: Structure, args: tuple[Expr, ...], shape: tuple[Size, ...], resize: Callable) -> Expr:
    kind = node.relation[0]
    if kind == "one":
        return one(shape)
    if kind == "zero":
        return zero(shape)
    if kind == "at":
        return one_hot(args[0], shape[-1])
    _, coefs, const = node.relation
    return affine(kind, [resize(c) for c in coefs], resize(const), shape)


def substitute(root: Expr, values: Mapping[Expr, Expr], sizes: Callable[[Atom], Size] | None = None) -> Expr:
    """``root`` with nodes replaced. Nothing can be captured, since no names are inside.

    The sizes of a replaced variable's axes become those of its value; ``sizes`` maps the other atoms.
    """
    known: dict[Atom, Size] = {}
    for old, new in values.items():
        if len(old.shape) != len(new.shape):
            raise ShapeError(f"A tensor of order {len(old.shape)} cannot become one of order {len(new.shape)}.")
        if isinstance(old, Variable):
            known.update({(old.name, axis): size for axis, size in enumerate(new.shape)})

    def atom(a: Atom) -> Size:
        return known[a] if a in known else sizes(a) if sizes is not None else dims.symbol(*a)

    def resize(size: Size) -> Size:
        return dims.replaced(size, atom)

    return transform(root, lambda node, args: values[node] if node in values else rebuild(node, args, resize))


def transform(root: Expr, step: Callable[[Expr, tuple[Any, ...]], Any]) -> Any:
    """``step(node, results of its operands)`` for every node, operands first; the result for ``root``."""
    done: dict[Expr, Any] = {}
    for node in topological(root):
        done[node] = step(node, tuple([done[a] for a in node.args]))
    return done[root]


def rewritten(roots: Sequence[Expr], step: Callable[[Expr, tuple[Expr, ...]], Expr | None]) -> list[Expr]:
    """``roots`` with nodes replaced by ``step(node, new operands)``; where that is none they stay, on new operands."""
    done: dict[Expr, Expr] = {}
    for node in topological(*roots):
        args = tuple([done[a] for a in node.args])
        new = step(node, args)
        done[node] = new if new is not None else node if args == node.args else rebuild(node, args)
    return [done[root] for root in roots]


def with_bodies(roots: Sequence[Expr]) -> list[Expr]:
    """``roots`` with what functions are made of in their place, where they are made of other nodes."""

    def step(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        made = node.op.body if isinstance(node, (Elementwise, Function)) else None
        return None if made is None else made(args)

    while [node for node in topological(*roots) if isinstance(node, (Elementwise, Function)) and node.op.body]:
        roots = rewritten(roots, step)
    return list(roots)


def sized(roots: Sequence[Expr], size: Callable[[Size], Size]) -> list[Expr]:
    """``roots`` with numbers for sizes, where a function waits for them; otherwise as they are."""
    if not any(isinstance(node, Function) and node.op.later for node in topological(*roots)):
        return list(roots)
    return rewritten(roots, lambda node, args: rebuild(node, args, size))


def reopened(root: Expr) -> Expr:
    """``root`` with contractions inside contractions opened, as if each had been written in place."""

    def step(node: Expr, args: tuple[Expr, ...]) -> Expr:
        if isinstance(node, Product):
            sizes: dict[Hashable, Size] = dict(zip(node.out, node.shape, strict=True))
            return contract(list(zip(args, node.labels, strict=True)), node.out, sizes)
        return rebuild(node, args)

    return transform(root, step)


def loosened(root: Expr) -> Expr:
    """``root`` as it is compared with others: opened, numbers free to move, sums over sums in terms.

    It is not a form to compute with, see ``numbers.py``.
    """
    with loosely():
        return reopened(root)
