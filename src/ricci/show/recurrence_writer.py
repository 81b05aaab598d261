"""How loops are written: as recurrences, ``h[0,i] = …; h[t+1,i] = …``, in the statements before what uses them.

The body of a loop has placeholders. For the page it is written for all steps at once, with a name for the states and
the operands themselves where they belong; who reads that takes a step out of it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ricci.expr import Expr, Function, Size, Variable, add, variable
from ricci.expr.composing import composed, first_and_others
from ricci.expr.structures import natural
from ricci.expr.widen import batched
from ricci.loops.bodies import dependent, is_loop, replaced
from ricci.notation import syntax
from ricci.show.lines import arranged_inner, parts_with_lines
from ricci.show.phrases import Names, indices_of
from ricci.show.product_writer import ProductWriter

Order = tuple[int, ...]


def loop_on_top(root: Expr) -> Function | None:
    """The loop that an expression is, its axes perhaps arranged."""
    inner = arranged_inner(root)
    whole = len(natural(root)) == len(root.shape)
    return inner if isinstance(inner, Function) and is_loop(inner) and whole else None


def at_each_step(node: Function, states: Variable) -> tuple[Expr, Expr]:
    """What a loop begins with, and its next states, all at once, by the ``states`` before them."""
    body = node.op.loop
    if body.forced:
        body = body.with_columns(node.shape[len(node.shape) - node.params[0] :])
    body = body.fresh()
    fixed, slices, last = body.operands(node.args)
    (step,) = replaced([body.result], dict(zip(body.fixed, fixed, strict=True)))
    known = dict(zip(body.slices, slices, strict=True))
    (steps,) = batched([step], {**known, body.state: states}, body.length)
    steps = composed(steps, [body.length])
    if body.forced:
        first, others = first_and_others(last, body.length)
        return first, add([(1, steps), (1, others)])
    return last, steps


class RecurrenceWriter(ProductWriter):
    """The part of a writer that writes loops."""

    def fresh(self, e: Expr, axis: int, taken: set[str]) -> str:
        raise NotImplementedError

    def new_line(self, part: Expr) -> syntax.Statement:
        """A line for a part, which has it from then on."""
        raise NotImplementedError

    def recurrence(self, part: Any, label: str, order: Order, names: Names = ()) -> list[syntax.Statement]:
        """The statements of a loop; ``names`` are those of its axes, where they are given, the steps' one first."""
        taken = set(names)
        length = part.op.loop.length
        if names:
            t, *own = names
        else:
            operands = part.op.loop.operands(part.args)[1]
            hints = [hint for x in operands for hint in self.namer.hints_of(x, 0)]
            t = self.namer.fresh(length, hints, taken)
            taken.add(t)
            own = [self.fresh(part, axis, taken) for axis in range(1, len(part.shape))]
        states = variable(label, (length, *part.shape[1:]))  # those before the steps
        self.line[states] = label
        self.axes[states] = tuple([order.index(axis) for axis in range(len(order))])
        self.first[states] = ((self.place.get(label, len(self.place)), label),)
        start, steps = at_each_step(part, states)
        moving = dependent(steps, [states])
        before: list[syntax.Statement] = []
        inside: list[syntax.Statement] = []
        for other in [p for p in parts_with_lines(steps, set(), [start]) if p not in self.line]:
            if other in moving:
                inside.append(self.new_line_at(other, t, length))
            else:
                before.append(self.new_line(other))
        first, later = self.left(states, t, own, True), self.left(states, t, own, False)
        base = syntax.Statement(0, 0, label, first, self.node(start, tuple(own), set(own)))
        step = syntax.Statement(0, 0, label, later, self.node(steps, (t, *own), {t, *own}))
        return [*before, base, *inside, step]

    def new_line_at(self, part: Expr, t: str, length: Size) -> syntax.Statement:
        raise NotImplementedError

    def left(self, states: Expr, t: str, own: Sequence[str], first: bool) -> syntax.Indices:
        place = syntax.Index(0, 0, ()) if first else syntax.Index(0, 0, ((1, t),), 1)
        return self.as_defined(states, (place, *indices_of(tuple(own))))


def with_plain_steps(statements: Sequence[syntax.Statement]) -> None:
    """Entries at a step are written ``h[t,i]``, as their reader knows that there is one more of them than steps."""
    steps: dict[str | None, tuple[int, tuple]] = {}
    for s in statements:
        for axis, index in enumerate(s.indices or ()):
            if not index.plain and index.terms:
                steps[s.name] = (axis, index.terms)
    for s in statements:
        for node in syntax.within(s.body):
            if isinstance(node, syntax.TensorNode) and node.name in steps and node.indices:
                axis, terms = steps[node.name]
                index = node.indices[axis]
                if index.terms == terms and not index.const and not index.sizes and not index.strides:
                    index.plain = True
