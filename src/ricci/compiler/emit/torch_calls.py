"""Calls of PyTorch that are several steps at once: without a compiler, each call is a launch and a pass over memory.

| steps | one call |
|---|---|
| ``a + c b`` | ``add(a, b, alpha=c)`` |
| ``a + c (b d)``, ``a + c (b / d)`` | ``addcmul(a, b, d, value=c)``, ``addcdiv`` |
| ``c (A @ B)``; ``v + c (A @ B)`` for a vector of columns | ``addmm``, ``baddbmm`` |
| ``y (g - sum(y g))`` | the pullback of softmax, which is that of any ``y`` |
| ``sum(x)/n`` | ``mean(x)`` |
| ``(c x) @ B``, ``(c x y) @ B`` | the number is left to the product of matrices |

A step is part of a later call if nobody else reads its result. Products that choices are made of stay steps: they are
rounded before anything is added to them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ricci.compiler.emit.source import matrix_axes
from ricci.compiler.plan.program import Program
from ricci.compiler.plan.program_steps import Labels, Number, Operand, Step, Value, entrywise, rounded

SMALL = 4  # times as many entries as an operand has, from where on changing its sign costs next to nothing


@dataclass(frozen=True, eq=False)
class Call:
    """What is emitted in place of a step: the operands of a function, in the labels of the step, and a number."""

    function: str
    args: tuple[Operand, ...] = ()
    number: Number = 1.0
    dot: Step | None = None
    sign: int = 1  # of the first operand, or of the whole
    inside: tuple[Value, ...] = ()  # the results of steps that are part of it


@dataclass(frozen=True, eq=False)
class _Term:
    """A number times what is not one: an operand of its own, a product, a quotient, or a dot."""

    number: Number
    operand: Operand
    inside: tuple[Value, ...] = ()


def joined(program: Program) -> dict[Step, Call]:
    """The calls that take the place of several steps, by the last of these; what goes on inside is in ``inside``."""
    found = _Joining(program)
    calls: dict[Step, Call] = {}
    gone: set[Value] = set()
    for step in reversed(program.steps):
        call = None if step.out in gone else found.call(step)
        if call is not None:
            calls[step] = call
            gone.update(call.inside)
            if call.function == "softmax_pullback":
                calls.update(found.arranged(call.args[0], step.labels))
    return calls


class _Joining:
    """Which steps a call can take over."""

    def __init__(self, program: Program):
        self.uses = Counter(v for step in program.steps for v in step.operands)
        self.uses.update([r.value for r in program.results if isinstance(r.value, Value)])
        readers = [(v, takes_number(step)) for step in program.steps for v in step.operands]
        others = {v for v, dot in readers if not dot}.union(r.value for r in program.results)  # type: ignore
        self.factors = {v for v, _ in readers if v not in others}  # what nothing but products of matrices reads
        self.fixed = entrywise(rounded(program.steps, lambda value: self.uses[value] > 1))

    def call(self, step: Step) -> Call | None:
        if step.op == "spread":
            return self.turned(step)
        floats = all(v.kind == "f" for v in [step.out, *step.operands])
        if step.op != "map" or not floats or 0 in step.out.shape:
            return None
        if step.name == "negative":
            return self.opposite(step)
        if step.name == "multiply":
            return self.scaled(step) or self.pullback(step) or self.factor(step)
        return self.total(step) if step.name in ("add", "subtract") else None

    def alone(self, operand: Operand, *names: str) -> Step | None:
        """The step that made an operand which nobody else reads, if it is one of these."""
        value, _ = operand
        step = value.step if isinstance(value, Value) and self.uses[value] == 1 and value not in self.fixed else None
        return step if step is not None and value.kind == "f" and (step.name or step.op) in names else None  # type: ignore

    def opposite(self, step: Step) -> Call | None:
        """The negative of a difference is the other difference, that of a dot a number times it."""
        (operand,) = step.args
        dot = self.alone(operand, "dot")
        if dot is not None and takes_number(dot) and operand[1] == step.labels:
            return Call("dot", (), -1, dot, inside=(dot.out,))
        difference = self.alone(operand, "subtract")
        if difference is None:
            return None
        b, a = [_seen(operand, side) for side in difference.args]
        found = self.total(Step("map", "subtract", (a, b), step.out, step.labels)) or Call("minus", (a, b))
        return replace(found, inside=(difference.out, *found.inside))

    # Products

    def turned(self, step: Step) -> Call | None:
        """A number times a product of matrices, wanted with its axes in another order in which it can be made."""
        (operand,) = step.args
        term = self.term(operand, 1)
        dot = self.alone(term.operand, "dot")
        if dot is None or set(term.operand[1]) != set(step.labels):
            return None
        place = dict(zip(term.operand[1], dot.labels, strict=True))
        made = Step("dot", "", dot.args, step.out, tuple([place[x] for x in step.labels]))
        return Call("dot", (), term.number, made, inside=(*term.inside, dot.out)) if takes_number(made) else None

    def scaled(self, step: Step) -> Call | None:
        """A number times a dot, or a sum divided by how many there are."""
        operand, (number, _) = step.args
        if isinstance(number, Value) or operand[1] != step.labels:
            return None
        dot = self.alone(operand, "dot")
        if dot is not None and takes_number(dot):
            return Call("dot", (), number, dot, inside=(dot.out,))
        total = self.alone(operand, "sum")
        if total is not None and number * total.operands[0].entries == step.out.entries:
            return Call("mean", total.args, dot=total, inside=(total.out,))
        return None

    def pullback(self, step: Step) -> Call | None:
        """``y (g - sum(y g))``, the sum over one axis."""
        for y, other in (step.args, step.args[::-1]):
            negatives = [self.alone(operand, "negative") for operand in (y, other)]
            y, other = [a if n is None else _seen(a, n.args[0]) for a, n in zip((y, other), negatives, strict=True)]
            difference = self.alone(other, "subtract")
            if difference is None:
                continue
            first, second = [_seen(other, side) for side in difference.args]
            for sign, g, mean in ((1, first, second), (-1, second, first)):
                dot = self.alone(mean, "dot")
                if dot is None or not set(y[1]) == set(g[1]) == set(step.labels):
                    continue
                summed = set(step.labels) - set(mean[1])
                place = dict(zip(dot.labels, mean[1], strict=True))
                sides = [
                    (v, tuple([place.get(x, max(summed)) for x in own])) for v, own in dot.args if len(summed) == 1
                ]
                if sides in ([y, g], [g, y]):
                    turned = [n.out for n in negatives if n is not None]
                    inside = (difference.out, dot.out, *turned)
                    sign = sign * (-1) ** len(turned)
                    return Call("softmax_pullback", (g, y), step.labels.index(*summed), sign=sign, inside=inside)
        return None

    def arranged(self, operand: Operand, labels: Labels) -> dict[Step, Call]:
        """A product of matrices that is read with its axes in this order, made so that they lie like that."""
        value, own = operand
        dot = value.step if isinstance(value, Value) else None
        if dot is None or own == labels or not takes_number(dot):
            return {}
        place = dict(zip(own, dot.labels, strict=True))
        made = Step("dot", "", dot.args, dot.out, tuple([place[x] for x in labels]))
        return {dot: Call("turned dot", (), 1, made)} if takes_number(made) else {}

    def factor(self, step: Step) -> Call | None:
        """What is multiplied with a number, and then as a matrix."""
        if step.out not in self.factors:
            return None
        first, second = step.args
        if not isinstance(second[0], Value):
            return Call("factor", (first,), second[0]) if first[1] == step.labels else None
        first = self.term(first, 1)
        second = self.term(second, first.number)
        inside = (*first.inside, *second.inside)
        return Call("factors", (first.operand, second.operand), second.number, inside=inside) if inside else None

    # Sums

    def total(self, step: Step) -> Call | None:
        a, b = step.args
        if not (isinstance(a[0], Value) and isinstance(b[0], Value)):
            return None
        minus = -1 if step.name == "subtract" else 1
        sides = [(a, 1, self.term(b, minus)), (b, minus, self.term(a, 1))]
        for make in (self.plus_dot, self.plus_product, self.plus_multiple):
            for base, sign, term in sides:
                found = make(step, base, sign, term)
                if found is not None:
                    return found
        return None

    def term(self, operand: Operand, number: Number) -> _Term:
        """An operand without the numbers that it is multiplied with."""
        found = _Term(number, operand)
        while True:
            product = self.alone(found.operand, "multiply")
            if product is None or isinstance(product.args[1][0], Value):
                return found
            inner, (times, _) = product.args
            found = _Term(found.number * times, _seen(found.operand, inner), (*found.inside, product.out))  # type: ignore

    def plus_dot(self, step: Step, base: Operand, sign: int, term: _Term) -> Call | None:
        dot = self.alone(term.operand, "dot")
        if dot is None or not takes_number(dot) or term.operand[1] != step.labels or base[0] is dot.out:
            return None
        batch, rows, columns, _ = matrix_axes(dot)
        if batch:
            return None
        place = dict(zip(dot.labels, step.labels, strict=True))
        vector = tuple([place[x] for x in (columns if dot.labels == (*rows, *columns) else rows)])
        if base[1] != vector or len(vector) > 1:  # a whole matrix would be copied first
            return None
        return Call("dot", (base,), term.number, dot, sign, (*term.inside, dot.out))

    def plus_product(self, step: Step, base: Operand, sign: int, term: _Term) -> Call | None:
        product = self.alone(term.operand, "multiply", "divide")
        if product is None or not self.cheap(base, sign, step):
            return None
        first, second = [_seen(term.operand, side) for side in product.args]
        if not (isinstance(first[0], Value) and isinstance(second[0], Value)):
            return None
        inner = self.term(first, term.number)
        term = replace(inner, inside=(*term.inside, product.out, *inner.inside))
        if product.name == "multiply":
            inner = self.term(second, term.number)
            second, term = inner.operand, replace(term, number=inner.number, inside=(*term.inside, *inner.inside))
        function = "addcmul" if product.name == "multiply" else "addcdiv"
        return Call(function, (base, term.operand, second), term.number, sign=sign, inside=term.inside)

    def plus_multiple(self, step: Step, base: Operand, sign: int, term: _Term) -> Call | None:
        if not term.inside or not self.cheap(base, sign, step):
            return None
        return Call("plus", (base, term.operand), term.number, sign=sign, inside=term.inside)

    def cheap(self, base: Operand, sign: int, step: Step) -> bool:
        """Whether the first operand has a sign that is there, or is made at no cost."""
        return sign > 0 or base[0].entries * SMALL <= step.out.entries  # type: ignore


def takes_number(dot: Step) -> bool:
    """Whether a step is a product of matrices, or of stacks of them."""
    if dot.op != "dot" or dot.out.kind != "f":
        return False
    batch, rows, columns, summed = matrix_axes(dot)
    ordered = dot.labels in ((*batch, *rows, *columns), (*batch, *columns, *rows))
    return ordered and bool((rows or columns) if batch else (rows and columns and summed))


def _seen(operand: Operand, inner: Operand) -> Operand:
    """An operand of the step that made ``operand``, in the labels of the latter."""
    value, labels = operand
    place = dict(zip(value.step.labels, labels, strict=True))  # type: ignore
    return inner[0], tuple([place[x] for x in inner[1]])
