"""The constructors of loops, and their derivatives.

What does not depend on the state leaves the loop (``leaving``): what is the same in all steps is computed once, what
depends on slices is computed for all steps at once, and is sliced itself.

**Derivatives.** A change of an operand changes the states by

    ds[0] = f[0],   ds[t+1] = A[t] ds[t] + f[t+1]

where ``A[t]`` is the derivative of the body by the state, in steps, at the states that are known, and ``f`` is what
the change makes of one step, for all steps at once. That is a forced loop, linear in ``f``; its adjoint is the loop

    l[T] = g[T],    l[t] = A[t]ᵀ l[t+1] + g[t]

which is forced as well. So a pullback by any number of operands is one loop backwards and then products over all steps,
and second derivatives are those of loops.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from math import prod
from typing import Any

from ricci.caches import Interned
from ricci.calculus.graph import pullbacks, pushforward
from ricci.calculus.orders import size_of
from ricci.expr import (
    Adjoint,
    Change,
    Expr,
    Function,
    Op,
    Product,
    Shape,
    Size,
    Structure,
    Sum,
    Variable,
    add,
    function,
    rebuild,
    topological,
    variable,
    zero,
)
from ricci.expr.composing import composed, first_and_others
from ricci.expr.moving import flipped, joined, moved_axis, placed, sliced, transposed, with_ones
from ricci.expr.structures import is_zero, natural
from ricci.expr.walk import loosened
from ricci.expr.widen import batched
from ricci.loops.bodies import FIXED, SLICE, STATE, LoopBody, dependent, fresh, replaced
from ricci.loops.real_pairs import linear_in_parts, parts_of, whole_of
from ricci.loops.vectors import apart, lying, together

Operands = Mapping[Variable, Expr]
_rows: Interned[Op] = Interned()


def loop(
    result: Expr,
    state: Variable,
    init: Expr,
    slices: Operands,
    length: Size,
    fixed: Operands | None = None,
    whole: bool = False,
) -> Expr:
    """All states of a loop: ``result`` is the next one, by ``state`` and the placeholders of operands.

    It may hold other expressions too, which are the same in all steps. Those in ``slices`` have one more axis in front
    than their placeholders, of size ``length``. If it is ``whole``, nothing is computed for all steps at once, also not
    in its derivatives: that takes less memory, and more time.
    """
    fixed, used = fixed or {}, set(topological(result))
    slices = {v: x for v, x in slices.items() if v in used}
    if state not in used and not whole:
        (steps,) = batched(replaced([result], fixed), slices, length)
        return joined([with_ones(init, (0,)), steps], 0)
    body, operands = leaving(LoopBody(result, state, tuple(slices), tuple(fixed), length, whole=whole), slices, fixed)
    if whole:
        return _carrying(body, operands, init)
    return function(row_of_loop(body), (*operands, init))


def _carrying(body: LoopBody, operands: Sequence[Expr], init: Expr) -> Expr:
    """A loop that carries what is fixed along with its state, so that derivatives by it add up from step to step."""
    places = {a for node in topological(body.result) if isinstance(node, Structure) for a in topological(*node.args)}
    fixed, sliced_ones, _ = body.operands((*operands, init))
    held = [(v, x) for v, x in zip(body.fixed, fixed, strict=True) if v not in places]
    if not held:
        return function(row_of_loop(body), (*operands, init))
    parts = [(body.state, init), *held]
    starts, sizes = lying([v.shape for v, _ in parts])
    vector, own = fresh((starts[-1],)), sizes[0]
    inside = {
        v: apart(sliced(vector, 0, a, 1, n), (), v.shape) for (v, _), a, n in zip(parts, starts, sizes, strict=False)
    }
    (result,) = replaced([body.result], inside)
    new = together([result, sliced(vector, 0, own, 1, starts[-1] - own)], [0, own, starts[-1]])
    start = together([x for _, x in parts], starts)
    rest = {v: x for v, x in zip(body.fixed, fixed, strict=True) if v in places}
    states = loop(new, vector, start, dict(zip(body.slices, sliced_ones, strict=True)), body.length, rest, whole=True)
    return apart(sliced(states, 1, 0, 1, own), (body.length + 1,), body.state.shape)  # type: ignore[operator]


def recurrence(
    result: Expr, state: Variable, added: Expr, slices: Operands, like: LoopBody, fixed: Operands, columns: int = 0
) -> Expr:
    """All states of a forced loop: ``result`` is linear in ``state``; ``added`` may have further axes, ``columns``."""
    if is_zero(result):
        return added
    used = set(topological(result))
    slices = {v: x for v, x in slices.items() if v in used}
    own = LoopBody(result, state, tuple(slices), tuple(fixed), like.length, True, like.whole)
    body, operands = leaving(own, slices, fixed)
    return function(row_of_loop(body), (*operands, added), (columns,))


def recurrence_of(result: Expr, state: Variable, init: Expr, slices: Operands, length: Size) -> Expr:
    """All states of a loop; of a forced one, where the next state is linear in the state but for what is added."""
    if state not in topological(result):
        return loop(result, state, init, slices, length)
    moving = dependent(result, [state]) - {state}
    u = fresh(state.shape)
    linear = pushforward(result, {state: u})
    if state in topological(linear) or not all(_is_linear(node, moving) for node in moving):
        return loop(result, state, init, slices, length)
    (rest,) = batched(replaced([result], {state: zero(state.shape)}), slices, length)
    added = add([(1, placed(with_ones(init, (0,)), 0, 0, length + 1)), (1, placed(rest, 0, 1, length + 1))])
    return recurrence(linear, u, added, slices, LoopBody(linear, u, (), (), length), {})


def _is_linear(node: Expr, moving: Container[Expr]) -> bool:
    """Whether a node may be linear in what depends on the state; a step, whose derivative is zero, is not."""
    return isinstance(node, (Product, Sum)) or (node.head == "where" and node.args[0] not in moving)


# What leaves a loop


def leaving(body: LoopBody, slices: Operands, fixed: Operands) -> tuple[LoopBody, list[Expr]]:
    """The body with placeholders for all that does not depend on the state, and the operands but the last."""
    body, slices, fixed = _by_roles(body, slices, fixed)
    moving = dependent(body.result, [body.state])
    along = dependent(body.result, body.slices)
    most = max([_entries(v.shape) for v in (body.state, *body.slices)])
    once: dict[Expr, Variable] = {}
    each: dict[Expr, Variable] = {}
    large = {e for e in along if body.whole or _entries(e.shape) > most}
    stays = _staying(body, lambda e: e in moving or e in large or _is_plain(e))

    def operand(e: Expr, sliced: bool) -> Expr:
        if e in made:
            return made[e]
        if e.complex:
            return whole_of(*[part if _is_plain(part) else operand(part, sliced) for part in parts_of(e)])
        if sliced:
            return each.setdefault(e, variable(f"{SLICE}{len(each)}", e.shape))
        return once.setdefault(e, variable(f"{FIXED}{len(once)}", e.shape))

    made: dict[Expr, Expr] = {body.state: body.state}
    for node in topological(body.result):
        if node not in stays or node in made:
            continue
        if isinstance(node, Sum):
            terms = list(zip(node.coefs, node.args, strict=True))
            rest = [(c, a) for c, a in terms if a not in stays]
            kept = [(c, made[a]) for c, a in terms if a in stays]
            if rest:  # together, as one
                total = rest[0][1] if len(rest) == 1 else add(rest)
                coef = rest[0][0] if len(rest) == 1 else 1
                kept.append((coef, operand(total, any(a in along for _, a in rest))))
            made[node] = add(kept)
        elif node.args:
            made[node] = rebuild(node, tuple([operand(a, a in along) for a in node.args]))
        else:
            made[node] = node
    operands = replaced(list(once), fixed)
    operands += batched(replaced(list(each), fixed), slices, body.length) if each else []
    parts = tuple(each.values()), tuple(once.values())
    changed = LoopBody(made[body.result], body.state, *parts, body.length, body.forced, body.whole)
    return changed, operands


def _by_roles(body: LoopBody, slices: Operands, fixed: Operands) -> tuple[LoopBody, Operands, Operands]:
    """The same with placeholders that are named by their order: what becomes of them depends on nothing else."""
    names: dict[Variable, Variable] = {body.state: variable(STATE, body.state.shape)}
    names |= {v: variable(f"{SLICE}.{k}", v.shape) for k, v in enumerate(slices)}
    names |= {v: variable(f"{FIXED}.{k}", v.shape) for k, v in enumerate(fixed)}
    (result,) = replaced([body.result], names)
    sliced_ones, held = [{names[v]: x for v, x in part.items()} for part in (slices, fixed)]
    changed = replace(body, result=result, state=names[body.state], slices=tuple(sliced_ones), fixed=tuple(held))
    return changed, sliced_ones, held


def _staying(body: LoopBody, stays: Callable[[Expr], bool]) -> set[Expr]:
    """What stays in the loop: the result, and the operands of what stays that have to."""
    found, waiting = set(), [body.result]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [a for a in node.args if a not in body.slices and stays(a)]
    return found


def _is_plain(e: Expr) -> bool:
    """Whether there is nothing to compute: numbers, and structures, whose operands are looked at by themselves."""
    return isinstance(e, Structure) or (not e.args and not isinstance(e, Variable))


def _entries(shape: Shape) -> int:
    return prod(map(size_of, shape))


# The row, with its rules


def row_of_loop(body: LoopBody) -> Op:
    """The row of a loop; the same one for equal bodies."""
    shapes = tuple([tuple([v.shape for v in part]) for part in ((body.state,), body.slices, body.fixed)])
    identity = (id(body.result), shapes, body.length, body.forced, body.whole, body.last)
    known = _rows.get(identity)
    if known is not None:
        return known
    digest = blake2b(f"{body.result.key}{identity[1:]}".encode(), digest_size=8).hexdigest()
    number = len(body.fixed) + len(body.slices) + 1
    partials: list[Any] = [Change(partial(_change, body, place)) for place in range(number)]
    if body.forced:
        partials[-1] = Adjoint(partial(_adjoint, body))
    orders = [len(v.shape) for v in body.fixed] + [len(v.shape) + 1 for v in body.slices]
    op = Op(
        f"loop_{digest}",
        number,
        lambda *args: args,
        tuple(partials),
        works_on=(*orders, len(body.state.shape) + body.forced),
        result=partial(_shape, body),
        columns=body.forced,
        rectangular=True,
        latex=r"\operatorname{loop}",
        loop=body,
        widen=_widened,
        resize=_resized,
        rewrite=lambda *given: linear_in_parts(row_of_loop(body), body.forced, *given),
        again=lambda: (_row_again, (body.result, body.state, body.slices, body.fixed, *identity[2:])),
    )
    return _rows.put(identity, op)


def _row_again(*parts: Any) -> Op:
    """The row of a loop that has travelled."""
    return row_of_loop(LoopBody(*parts))


def _shape(body: LoopBody, shapes: Sequence[Shape], *_columns: int) -> Shape:
    last = shapes[-1]
    if body.forced:
        return last[1:] if body.last else last
    return last if body.last else (body.length + 1, *last)  # type: ignore[operator]


def _change(known: LoopBody, place: int, operands: tuple, y: Expr, params: tuple, change: Expr) -> Expr:
    """How all states change with one operand."""
    body, size = known.opened, known.length
    if body.forced:
        body = body.with_columns(y.shape[len(y.shape) - params[0] :])
    fixed, sliced_ones, _ = body.operands(operands)
    states = {body.state: sliced(y, 0, 0, 1, size)}
    slices = {**dict(zip(body.slices, sliced_ones, strict=True)), **states}
    held = dict(zip(body.fixed, fixed, strict=True))
    if place == len(operands) - 1:
        added = placed(with_ones(change, (0,)), 0, 0, size + 1)
    else:
        v = (*body.fixed, *body.slices)[place]
        dot = fresh(v.shape)
        moved = pushforward(body.result, {v: dot})
        with_change = {**slices, dot: change} if v in body.slices else slices
        if not body.forced:  # what a step has made is known
            after = fresh(body.state.shape)
            (moved,) = replaced([moved], {body.result: after})
            with_change = {**with_change, after: sliced(y, 0, 1, 1, size)}
        (steps,) = batched(
            replaced([moved], {**held, **({} if v in body.slices else {dot: change})}), with_change, size
        )
        added = placed(steps, 0, 1, size + 1)
    moved, u, after = body.once("change", lambda: _change_of(body))
    slices[after] = sliced(y, 0, 1, 1, size)
    return recurrence(moved, u, added, slices, body, held)


def _change_of(body: LoopBody) -> tuple[Expr, Variable, Variable]:
    """How the next state changes with the state: by placeholders for that change, and for the next state."""
    u, after = fresh(body.state.shape), fresh(body.state.shape)
    (moved,) = replaced([pushforward(body.result, {body.state: u})], {body.result: after})
    return moved, u, after


def _adjoint(known: LoopBody, operands: tuple, bar: Expr, params: tuple) -> Expr:
    """The loop backwards."""
    body = known.opened
    fixed, sliced_ones, _ = body.operands((*operands, bar))
    pulled, u = body.once("adjoint", lambda: _adjoint_of(body))
    slices = {v: flipped(x, 0) for v, x in zip(body.slices, sliced_ones, strict=True)}
    held = dict(zip(body.fixed, fixed, strict=True))
    return flipped(recurrence(pulled, u, flipped(bar, 0), slices, body, held, params[0]), 0)


def _adjoint_of(body: LoopBody) -> tuple[Expr, Variable]:
    u = fresh(body.state.shape)
    return pullbacks(body.result, u, [body.state])[0], u


def _resized(node: Function, args: tuple[Expr, ...], resize: Callable[[Size], Size]) -> Expr:
    """The loop with other operands and sizes; further axes of the states are among its own then."""
    body = _with_own_columns(node).resized(resize)
    body = replace(body, result=loosened(body.result))
    return _in_one_form(_of_body(body, args, lambda x: composed(x, [body.length])))


def with_steps(node: Function, args: tuple[Expr, ...], change: Callable[[Expr], Expr]) -> Expr:
    """The loop with other operands, and with what a step does changed."""
    body = _with_own_columns(node).fresh()
    return _of_body(replace(body, result=change(body.result)), args, lambda x: x)


def _with_own_columns(node: Function) -> LoopBody:
    body = node.op.loop
    return body.with_columns(node.shape[len(node.shape) - node.params[0] :]) if body.forced else body


def _of_body(body: LoopBody, args: tuple[Expr, ...], sliced_one: Callable[[Expr], Expr]) -> Expr:
    """The loop of a body, of these operands."""
    fixed, sliced_ones, last = body.operands(args)
    slices, held = dict(zip(body.slices, sliced_ones, strict=True)), dict(zip(body.fixed, fixed, strict=True))
    slices = {v: sliced_one(x) for v, x in slices.items()}
    if body.forced:
        first, others = first_and_others(last, body.length)
        size = body.length + 1
        parts = [(1, placed(with_ones(first, (0,)), 0, 0, size)), (1, placed(others, 0, 1, size))]
        return recurrence(body.result, body.state, add(parts), slices, body, held)
    return loop(body.result, body.state, last, slices, body.length, held, body.whole)


def _in_one_form(node: Expr) -> Expr:
    """A loop as it is compared with others: operands in the order of their keys."""
    if not isinstance(node, Function) or node.op.loop is None:
        return node
    body, forms = node.op.loop, {}
    fixed, sliced_ones, last = body.operands(node.args)
    slots: list[list[Variable]] = []
    operands: list[Expr] = []
    for name, own, values in ((FIXED, body.fixed, fixed), (SLICE, body.slices, sliced_ones)):
        parts = [(*_one_form(x, v, name == SLICE), v) for x, v in zip(values, own, strict=True)]
        parts.sort(key=lambda part: part[0].key)
        slots.append([variable(f"{name}{k}", x.shape[name == SLICE :]) for k, (x, _, _) in enumerate(parts)])
        forms |= {v: write(slot) for slot, (_, write, v) in zip(slots[-1], parts, strict=True)}
        operands += [x for x, _, _ in parts]
    (result,) = replaced([body.result], forms)
    body = replace(body, result=result, fixed=tuple(slots[0]), slices=tuple(slots[1]))
    return function(row_of_loop(body), (*operands, last), node.params)


def _one_form(x: Expr, v: Variable, sliced: bool) -> tuple[Expr, Callable[[Expr], Expr]]:
    """An operand, and what is made of it in the body, where its sign and the order of its axes stay, to meet others."""
    sign = 1
    if isinstance(x, Sum) and min(zip(x.args, x.coefs, strict=True), key=lambda term: bool(term[0].args))[1] < 0:
        other = add([(-c, a) for c, a in zip(x.coefs, x.args, strict=True)])
        if len(x.args) == 1 or (isinstance(other, Sum) and len(other.args) == len(x.args)):
            x, sign = other, -1
    order = [a for a in natural(x) if a or not sliced]
    if len(order) < len(v.shape):
        order = list(range(sliced, len(x.shape)))
    x = transposed(x, [0, *order] if sliced else order)
    back = [order.index(a + sliced) for a in range(len(order))]
    return x, lambda slot: add([(sign, transposed(slot, back))])


def _widened(node: Function, wide: Mapping[Expr, Expr], size: Size) -> Expr:
    """The loop with a further axis in front of its operands and of its states; what lacks it stays as it is."""
    body = node.op.loop.fresh()
    fixed, sliced_ones, last = body.operands(node.args)
    held: dict[Variable, Expr] = {}
    slices: dict[Variable, Expr] = {}
    mapped: dict[Expr, Expr] = {}
    for v, x in zip((*body.fixed, *body.slices), (*fixed, *sliced_ones), strict=True):
        operands = held if v in body.fixed else slices
        if x in wide:
            mapped[v] = new = fresh((size, *v.shape))
            operands[new] = wide[x] if v in body.fixed else moved_axis(wide[x], 0, 1)
        else:
            operands[v] = x
    state = mapped[body.state] = fresh((size, *body.state.shape))
    (result,) = batched([body.result], mapped, size)
    start = wide[last] if last in wide else batched([last], {}, size)[0]
    if body.forced:
        made = recurrence(result, state, moved_axis(start, 0, 1), slices, body, held, *node.params)
    else:
        made = loop(result, state, start, slices, body.length, held, body.whole)
    return moved_axis(made, 1, 0)
