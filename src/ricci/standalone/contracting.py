"""Products of arrays for any sizes, pair by pair, in the order that costs least where all sizes are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ricci.compiler.lower.paths import Tree, best_tree, leaves_of
from ricci.compiler.plan.program_steps import Labels, Value, distinct
from ricci.compiler.prepare.known_sizes import sample
from ricci.standalone.assembling import Assembly, Operand, sizes_of


def contracted(build: Assembly, operands: Sequence[Operand], masks: Sequence[Operand], kept: Labels) -> Operand:
    """The product of operands where all masks hold, summed over the labels that are not kept."""
    summed = {x for _, own in [*operands, *masks] for x in own} - set(kept)
    if not masks or (operands and not summed):
        made = _product(build, operands, kept) if operands else (1, ())
        for mask in masks:
            made = build.map("where", mask, made, (0, ()), order=_order(kept, [mask, made]))
        return made
    return _product(build, [*operands, *[build.cast(mask) for mask in masks]], kept)


def _product(build: Assembly, operands: Sequence[Operand], kept: Labels) -> Operand:
    operands = [
        o if _single(o) else build.emit("einsum", "", [o], distinct(o[1]), _shape(o), o[0].kind) for o in operands
    ]
    numbers = [o for o in operands if not isinstance(o[0], Value) or not o[1]]
    arrays = [build.cast(o) for o in operands if isinstance(o[0], Value) and o[1]]
    made: Operand | None = None
    if arrays:
        tree = _tree(arrays, kept)
        made = _of_tree(build, arrays, tree, list(kept), kept)
    for number in numbers:
        made = number if made is None else _times(build, number, made)
    return made if made is not None else (1, ())


def _times(build: Assembly, a: Operand, b: Operand) -> Operand:
    """A number times an array; a divisor comes behind it."""
    step = a[0].step if isinstance(a[0], Value) else None
    return (
        build.map("multiply", b, a) if step is not None and step.name == "reciprocal" else build.map("multiply", a, b)
    )


def _single(operand: Operand) -> bool:
    return len(set(operand[1])) == len(operand[1])


def _shape(operand: Operand) -> list[Any]:
    sizes = sizes_of([operand])
    return [sizes[x] for x in distinct(operand[1])]


def _tree(arrays: Sequence[Operand], kept: Labels) -> Tree:
    if len(arrays) == 1:
        return 0
    if all(set(own) <= set(kept) for _, own in arrays):  # one after another, as they are written
        tree: Tree = 0
        for place in range(1, len(arrays)):
            tree = (tree, place)
        return tree
    used = distinct([x for _, own in arrays for x in own])
    number = {x: n for n, x in enumerate(used)}
    sizes = sizes_of(arrays)
    terms = tuple([tuple([number[x] for x in own]) for _, own in arrays])
    return best_tree(terms, tuple([number[x] for x in kept if x in number]), tuple([sample(sizes[x]) for x in used]))[1]


def _of_tree(build: Assembly, arrays: Sequence[Operand], tree: Tree, needed: Sequence[int], kept: Labels) -> Operand:
    """The product of the operands of a tree, of which the labels ``needed`` are kept."""
    if isinstance(tree, int):
        return build.sum(arrays[tree], needed)
    sides = [leaves_of(side) for side in tree]
    if min(sides[1]) < min(sides[0]):
        tree, sides = (tree[1], tree[0]), sides[::-1]
    own = [{x for p in side for x in arrays[p][1]} for side in sides]
    a = _of_tree(build, arrays, tree[0], [*needed, *own[1]], kept)
    b = _of_tree(build, arrays, tree[1], [*needed, *own[0]], kept)
    return _pair(build, a, b, needed, kept)


def _pair(build: Assembly, a: Operand, b: Operand, needed: Sequence[int], kept: Labels) -> Operand:
    if not isinstance(a[0], Value) or not isinstance(b[0], Value):
        return build.map("multiply", a, b)
    wanted = {x for x in (*a[1], *b[1]) if x in needed}
    order = _order(kept, [a, b], wanted)
    if not set(a[1]) & set(b[1]) - wanted:
        return build.map("multiply", a, b, order=order)
    sizes = sizes_of([a, b])
    kind = "i" if a[0].kind == b[0].kind == "i" else "f"
    return build.emit("dot", "", [a, b], order, [sizes[x] for x in order], kind)


def _order(kept: Labels, operands: Sequence[Operand], wanted: set[int] | None = None) -> Labels:
    """The labels of a result: those of the whole product in its order, others behind them as they come."""
    own = distinct([x for _, labels in operands for x in labels])
    own = tuple([x for x in own if wanted is None or x in wanted])
    first = [x for x in kept if x in own]
    return (*first, *[x for x in own if x not in first])
