"""Branches: of several expressions, the one that a number tells is computed, and no other.

The node is a function of the number and of what the branches use; each branch is a body with placeholders for that, as
in loops. Its derivative by an operand is a choice between the derivatives of the branches, which is linear in the
change: the adjoint of that is a choice between the adjoints. Along a further axis that the number has, all branches are
computed, and entries chosen from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any

from ricci.caches import Interned
from ricci.calculus.graph import pullbacks, pushforward
from ricci.expr import (
    Adjoint,
    Change,
    Constant,
    Expr,
    Function,
    Op,
    Shape,
    Size,
    Variable,
    constant,
    function,
    rebuild,
    transform,
    variable,
)
from ricci.expr.moving import expanded, with_ones
from ricci.expr.walk import topological
from ricci.expr.widen import batched
from ricci.functions.table import FUNCTIONS
from ricci.loops.bodies import along_columns, fresh, replaced
from ricci.loops.real_pairs import in_pairs, linear_in_parts

OPERAND = "branch.p"
_rows: Interned[Op] = Interned()


@dataclass(frozen=True, eq=False)
class Branches:
    """The results of all branches, of one shape, and the placeholders in them."""

    results: tuple[Expr, ...]
    operands: tuple[Variable, ...]
    linear: bool = False  # in the last operand

    def fresh(self) -> Branches:
        """The same with placeholders that occur nowhere else."""
        new = {v: fresh(v.shape) for v in self.operands}
        return replace(self, results=tuple(replaced(self.results, new)), operands=tuple(new.values()))

    def with_columns(self, sizes: Shape) -> Branches:
        """The same for a last operand with further axes behind its own."""
        if not sizes:
            return self
        *others, old = self.operands
        new = fresh((*old.shape, *sizes))
        results = tuple([along_columns(e, old, new) for e in self.results])
        return replace(self, results=results, operands=(*others, new))


def branch(number: Expr, results: Sequence[Expr], kept: Callable[[Expr], bool]) -> Expr:
    """The result that ``number`` tells. What is ``kept`` is computed before, if any branch uses it."""
    cut: dict[Expr, Variable] = {}
    waiting, seen = list(results), set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Variable) or (node.args and kept(node)):
            cut.setdefault(node, fresh(node.shape))
        else:
            waiting += node.args
    operands, meant = in_pairs({v: e for e, v in cut.items()})
    inside = {e: meant.get(v, v) for e, v in cut.items()}
    return _made(number, replaced(results, inside), operands, False)


def _made(
    number: Expr, results: Sequence[Expr], operands: Mapping[Variable, Expr], linear: bool, columns: int = 0
) -> Expr:
    """The node, with placeholders by their order; operands that no branch uses are left out, but the linear one."""
    if isinstance(number, Constant) and isinstance(number.value, int):
        return replaced([results[_within(number.value, len(results))]], operands)[0]
    used = set(topological(*results))
    *first, final = operands if operands else [None]
    chosen = [v for v in (*first, final) if v is not None and (v in used or (linear and v is final))]
    names = {v: variable(f"{OPERAND}{k}", v.shape) for k, v in enumerate(chosen)}
    body = Branches(tuple(replaced(results, names)), tuple(names.values()), linear)
    return function(row_of_branches(body), (number, *[operands[v] for v in chosen]), (columns,) if linear else ())


def _within(number: int, count: int) -> int:
    return min(max(number, 0), count - 1)


def row_of_branches(body: Branches) -> Op:
    """The row of a choice; the same one for equal branches."""
    shapes = tuple([v.shape for v in body.operands])
    identity = (tuple(map(id, body.results)), shapes, body.linear)
    known = _rows.get(identity)
    if known is not None:
        return known
    digest = blake2b(f"{[e.key for e in body.results]}{identity[1:]}".encode(), digest_size=8).hexdigest()
    partials: list[Any] = [None, *[Change(partial(_change, body, place)) for place in range(len(shapes))]]
    if body.linear:
        partials[-1] = Adjoint(partial(_adjoint, body))
    op = Op(
        f"branch_{digest}",
        1 + len(shapes),
        lambda *args: args,
        tuple(partials),
        works_on=(0, *map(len, shapes)),
        result=lambda given, *columns: (*body.results[0].shape, *given[-1][len(given[-1]) - sum(columns) :]),
        columns=body.linear,
        rectangular=True,
        latex=r"\operatorname{branch}",
        branches=body,
        widen=_widened,
        resize=_resized,
        rewrite=lambda *given: linear_in_parts(row_of_branches(body), body.linear, *given),
        again=lambda: (_row_again, (body.results, body.operands, body.linear)),
    )
    return _rows.put(identity, op)


def _row_again(*parts: Any) -> Op:
    """The row of a choice that has travelled."""
    return row_of_branches(Branches(*parts))


def _columns(node_shape: Shape, params: tuple) -> Shape:
    return node_shape[len(node_shape) - sum(params) :]


def _change(known: Branches, place: int, operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
    """How the result changes with one operand."""
    body = known.fresh().with_columns(_columns(y.shape, params))
    dot = fresh(body.operands[place].shape)
    moved = [pushforward(e, {body.operands[place]: dot}) for e in body.results]
    given = dict(zip(body.operands, operands[1:], strict=True))
    return _made(operands[0], moved, {**given, dot: change}, True, 0)


def _adjoint(known: Branches, operands: tuple, bar: Expr, params: tuple) -> Expr:
    """The choice between the adjoints."""
    body = known.fresh()
    *others, last = body.operands
    u = fresh(body.results[0].shape)
    pulled = [pullbacks(e, u, [last])[0] for e in body.results]
    given = dict(zip(others, operands[1:], strict=True))
    return _made(operands[0], pulled, {**given, u: bar}, True, params[0])


def _resized(node: Function, args: tuple[Expr, ...], resize: Callable[[Size], Size]) -> Expr:
    return with_results(node, args, resize, lambda inner, own: rebuild(inner, own, resize))


def with_results(
    node: Function, args: tuple[Expr, ...], resize: Callable[[Size], Size], step: Callable[[Expr, tuple], Expr]
) -> Expr:
    """The choice with other operands and sizes, ``step`` making the nodes of the branches; further axes of the last
    operand are among its own then."""
    body = node.op.branches.with_columns(_columns(node.shape, node.params))
    new: dict[Expr, Variable] = {v: fresh(tuple(map(resize, v.shape))) for v in body.operands}
    results = [transform(e, lambda inner, own: new[inner] if inner in new else step(inner, own)) for e in body.results]
    number, *operands = args
    return _made(number, results, dict(zip(new.values(), operands, strict=True)), body.linear)


def _widened(node: Function, wide: Mapping[Expr, Expr], size: Size) -> Expr:
    """The choice along a further axis: where the number has it, all branches are computed."""
    body = node.op.branches.fresh()
    if node.params:
        body = body.with_columns(_columns(node.shape, node.params))
    number, *operands = node.args
    given = dict(zip(body.operands, operands, strict=True))
    mapped = {v: fresh((size, *v.shape)) for v, x in given.items() if x in wide}
    results = batched(body.results, mapped, size)
    along = {
        **{v: x for v, x in given.items() if v not in mapped},
        **{new: wide[given[v]] for v, new in mapped.items()},
    }
    if number not in wide:
        return _made(number, results, along, False)
    found = replaced(results, along)
    shape = found[0].shape
    chosen = found[-1]
    place = expanded(with_ones(wide[number], range(1, len(shape))), shape)
    for k in reversed(range(len(found) - 1)):
        below = FUNCTIONS["less_equal"](place, constant(k))
        chosen = FUNCTIONS["where"](below, found[k], chosen)
    return chosen
