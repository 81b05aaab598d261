"""Prepared expressions to steps for any sizes: a rule for each kind of node.

It is what ``compiler/lower/expressions.py`` does once sizes are numbers. There, numbers decide what is fast; here the
steps are those that a person would write: factors in the order of the text, a quotient where one divides, one line for
a contraction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ricci.compiler.plan.program_steps import Form, Labels, Step, Value, index
from ricci.compiler.prepare.known_sizes import KnownSizes
from ricci.compiler.prepare.prepared import Prepared, prepared
from ricci.errors import RuleError
from ricci.expr import Constant, Data, Elementwise, Expr, Function, Product, Structure, Sum, Variable, add, variable
from ricci.expr.build.conjugates import imaginary
from ricci.functions.unknown import lacks_value
from ricci.standalone.assembling import Assembly, Operand
from ricci.standalone.contracting import contracted
from ricci.standalone.resolving import Rest, Told

ADDED = "loop.f"
MOST_WRITTEN = 50_000  # entries of an array that stands in code
PASSED = ("held", "barrier")


@dataclass(eq=False)
class AnySizeSteps:
    """What computes results from inputs, for any sizes."""

    inputs: dict[str, Value]
    steps: list[Step]
    results: list[tuple[Operand, tuple]]  # each with the sizes of the axes that are asked for
    nodes: dict[Value, Expr] = field(default_factory=dict)  # the values that are those of named parts


@dataclass(eq=False)
class LoopSteps:
    """A loop: the steps of one round, whose inputs are what is fixed, slices, what is added and the state."""

    inner: AnySizeSteps
    length: Any
    fixed: int
    forced: bool
    last: bool


@dataclass(eq=False)
class BranchSteps:
    """Branches, of which a number tells the one that runs."""

    inner: list[AnySizeSteps]


def steps_of(stage: Prepared, sizes: KnownSizes, named: Iterable[Expr] = (), trailing: bool = False) -> AnySizeSteps:
    """The steps for prepared results; ``trailing`` puts the axes that functions work on last.

    ``named`` are parts of the text: the values that are theirs are told in ``nodes``.
    """
    if stage.unknown:
        raise RuleError(lacks_value(stage.unknown))
    if stage.waits:
        waiting = next(n.op.name for n in stage.nodes if isinstance(n, Function) and n.op.later)
        raise RuleError(
            f"{waiting} is traced anew for each size, so there is no code of it for all sizes; write it in index "
            "notation, or with functions that rc.grad can trace."
        )
    inputs = {v.name: Value(sizes.shape(v), "f", source=v.name) for v in stage.needed}  # type: ignore[arg-type]
    facts = stage.facts
    carried = {name for name, array in facts.values.items() if array.dtype.kind in "iu"}
    for name in (facts.integers | carried) & inputs.keys():
        inputs[name].kind = "i"
    order = {name: place for place, name in enumerate(stage.inputs)}
    return Lowered(sizes, inputs, order, trailing).all(stage, named)


class Lowered:
    """What is known while nodes are being lowered."""

    def __init__(self, sizes: KnownSizes, inputs: dict[str, Value], order: dict[str, int], trailing: bool):
        self.build, self.sizes, self.inputs, self.order, self.trailing = Assembly(), sizes, inputs, order, trailing
        self.done: dict[Expr, Operand] = {}
        self.first: dict[Expr, int] = {}  # the place of the first input that a node depends on
        self.rank: dict[Expr, tuple[int, ...]] = {}  # in which order its axes are wanted

    def all(self, stage: Prepared, named: Iterable[Expr] = ()) -> AnySizeSteps:
        self._rank(stage.roots, stage.nodes)
        self._lower(stage.nodes)
        results = [(self.done[root], self.sizes.shape(root)) for root in stage.roots]
        nodes: dict[Value, Expr] = {}
        for part in named:
            inner = prepared([part])
            if all(v.name in self.inputs for v in inner.needed) and not inner.waits and not inner.unknown:
                self._rank(inner.roots, inner.nodes)
                self._lower(inner.nodes)
                value, labels = self.done[inner.roots[0]]
                if isinstance(value, Value) and tuple(sorted(labels)) == tuple(range(len(part.shape))):
                    nodes.setdefault(value, part)
        return AnySizeSteps(self.inputs, used(self.build.steps, results), results, nodes)

    def _lower(self, nodes: Iterable[Expr]) -> None:
        for node in nodes:
            if node not in self.done:
                own = [self.first[a] for a in node.args]
                self.first[node] = self.order.get(node.name, 0) if isinstance(node, Variable) else min(own, default=-1)
                self.done[node] = self.lowered(node)

    def _rank(self, roots: Iterable[Expr], nodes: Sequence[Expr]) -> None:
        """The order in which axes are wanted: as in the results, and before that as in what is made of them."""
        for root in roots:
            self.rank.setdefault(root, tuple(range(len(root.shape))))
        for node in reversed(nodes):
            own = self.rank[node]
            for k, a in enumerate(node.args):
                if isinstance(node, Product):
                    place = dict(zip(node.out, own, strict=True))
                    self.rank.setdefault(a, tuple([place.get(x, 1000 + n) for n, x in enumerate(node.labels[k])]))
                elif isinstance(node, (Sum, Elementwise)) and len(a.shape) == len(own):
                    self.rank.setdefault(a, own)
                else:
                    self.rank.setdefault(a, tuple(range(len(a.shape))))

    def ordered(self, node: Expr, labels: Iterable[int]) -> Labels:
        """Axes of a node in the order in which they are wanted."""
        return tuple(sorted(labels, key=lambda axis: self.rank[node][axis]))

    def lowered(self, node: Expr) -> Operand:
        return _RULES[type(node)](self, node)

    def variable(self, node: Variable) -> Operand:
        return self.inputs[node.name], tuple(range(len(node.shape)))

    def constant(self, node: Constant) -> Operand:
        value = node.value
        if isinstance(value, Data):
            if math.prod(n for n in node.shape if isinstance(n, int)) > MOST_WRITTEN:
                shape = "×".join(map(str, node.shape))
                raise RuleError(
                    f"There is no code of this: a constant array of {shape} entries would have to be written out in "
                    f"it, and {MOST_WRITTEN} entries are the most. Make that array an input."
                )
            kind = value.values.dtype.kind
            labels = tuple(range(len(node.shape)))
            kind = "i" if kind in "iu" else kind
            return self.build.constant(value.values, kind, labels, self.sizes.shape(node), value.digest)
        if imaginary(node):
            return 1j, ()
        return (value if isinstance(value, (int, float, Fraction, str)) else self.sizes.of(value)), ()

    def elementwise(self, node: Elementwise) -> Operand:
        operands = [self.done[a] for a in node.args]
        name = node.op.name
        if name in PASSED:
            return operands[0]
        if name == "power":
            return self.power(*operands)
        inner = node.args[0]
        if name == "log" and isinstance(inner, Elementwise) and inner.op.name == "cosh":
            x = self.done[inner.args[0]]  # the exponential of a large operand is taken out of the logarithm
            build = self.build
            either = build.map("logaddexp", x, build.map("negative", x))
            return build.map("subtract", either, (math.log(2), ()))
        order = self.ordered(node, {axis for _, own in operands for axis in own})
        return self.build.map(name, *operands, order=order)

    def power(self, x: Operand, n: Operand) -> Operand:
        """Powers that people write otherwise."""
        build, exponent = self.build, n[0]
        if not isinstance(exponent, (int, Fraction)):
            return build.map("power", x, n)
        if exponent < 0:
            return build.map("reciprocal", self.power(x, (-exponent, ())))
        if exponent == 1:
            return x
        if exponent == 2:
            return build.map("square", x)
        if exponent == Fraction(1, 2):
            return build.map("sqrt", x)
        return build.map("power", x, (exponent if isinstance(exponent, int) else float(exponent), ()))

    def sum(self, node: Sum) -> Operand:
        build = self.build
        terms = sorted(zip(node.coefs, node.args, strict=True), key=lambda term: (term[0] < 0, self.first[term[1]]))
        sizes = {abs(c) for c in node.coefs}
        common = sizes.pop() if len(sizes) == 1 and len(terms) > 1 else 1
        total: Operand | None = None
        for coef, a in terms:
            coef = coef / common if isinstance(coef, (float, Fraction)) else Fraction(coef) / common
            coef = int(coef) if math.isfinite(coef) and coef == int(coef) else coef
            if total is None:
                total = build.scaled(self.done[a], coef)
                continue
            term = build.scaled(self.done[a], abs(coef))
            order = self.ordered(node, {*total[1], *term[1]})
            total = build.map("subtract" if coef < 0 else "add", total, term, order=order)
        return build.scaled(total or (0, ()), common)

    def structure(self, node: Structure) -> Operand:
        return self.product_of([(node, tuple(range(len(node.shape))))], node, tuple(range(len(node.shape))))

    def product(self, node: Product) -> Operand:
        return self.product_of(list(node.factors()), node, node.out)

    def product_of(self, factors: Sequence[tuple[Expr, Labels]], node: Expr, out: Labels) -> Operand:
        """A product; its labels become the axes of the node, or numbers beyond them."""
        place = {x: axis for axis, x in enumerate(out)}
        for _, labels in factors:
            for x in labels:
                place.setdefault(x, 1000 + len(place))
        own = dict(zip(range(len(out)), self.sizes.shape(node), strict=True))
        work = Rest(self.build, self.sizes, own, tuple(range(len(out))), self.trailing)
        numbers: list[Any] = []
        for a, labels in sorted(factors, key=lambda pair: self.first[pair[0]]) if len(factors) > 1 else factors:
            self.factor(work, numbers, a, tuple([place[x] for x in labels]))
        arrays, masks = work.resolve()
        if work.zero:
            return 0, ()
        own = work.wanted()
        wanted = [*self.ordered(node, [x for x in own if x < len(out)]), *[x for x in own if x >= len(out)]]
        numbers.append(work.count([*arrays, *masks]))
        made = contracted(self.build, arrays, masks, tuple(wanted))
        for number in numbers:
            made = self.times(number, made)
        return work.finish(made)

    def times(self, number: Any, made: Operand) -> Operand:
        if isinstance(number, Value):
            step = number.step
            over = step is not None and step.name == "reciprocal"
            return self.build.map("multiply", *([made, (number, ())] if over else [(number, ()), made]))
        if not isinstance(made[0], Value) and isinstance(made[0], (int, Fraction)) and made[0] == 1:
            return number, ()
        return self.build.scaled(made, number)

    def factor(self, work: Rest, numbers: list[Any], node: Expr, labels: Labels) -> None:
        sizes = self.sizes.shape(node)
        for x, n in zip(labels, sizes, strict=True):
            work.sizes.setdefault(x, n)
        if not isinstance(node, Structure):
            value, axes = self.done[node]
            if not isinstance(value, Value) or (not axes and value.kind == "n"):
                numbers.append(value)
            else:
                work.arrays.append((value, [index(labels[axis]) for axis in axes]))
            return
        kind = node.relation[0]
        if kind == "zero":
            work.zero = True
        elif kind == "at":
            value, axes = self.done[node.args[0]]
            if places_themselves(value):
                work.relations.append(("==", Form(((labels[axes[0]], 1), (labels[-1], -1)), 0)))
                return
            if isinstance(value, Value) and value.kind in "fb":
                value, axes = self.build.emit("cast", "i", [(value, axes)], axes, value.shape, "i")
            if not isinstance(value, Value):
                relation = Form(((labels[-1], -1),), value)
                work.relations.append(("==", relation))
                return
            work.gathers.append(Told((value, [index(labels[axis]) for axis in axes]), labels[-1]))
        elif kind != "one":
            total: dict[int, Any] = {}
            for x, c in zip(labels, node.relation[1], strict=True):
                total[x] = total.get(x, 0) + self.sizes.of(c)
            terms = tuple([(x, c) for x, c in total.items() if not isinstance(c, int) or c])
            work.relations.append((kind, Form(terms, self.sizes.of(node.relation[2]))))  # type: ignore[arg-type]

    # Functions over axes

    def function(self, node: Function) -> Operand:
        op = node.op
        if op.outside is not None:
            raise RuleError(
                f"{op.name} is code that only runs, so it cannot be written out; give rc.custom a formula or a "
                "function that can be traced, and its code is written too."
            )
        if op.loop is not None or op.branches is not None:
            return self.inner(node)
        own = op.axes_of(node.params)
        lead = len(node.args[0].shape) - own[0]
        operands = [self.done[a] for a in node.args]
        sizes: dict[int, Any] = dict(enumerate(self.sizes.shape(node)[:lead]))
        given: list[Operand] = []
        for k, (a, (value, labels), count) in enumerate(zip(node.args, operands, own, strict=True)):
            shape = self.sizes.shape(a)
            inner = {axis: axis + 100 * (k + 1) for axis in range(lead, lead + count)}
            sizes.update({label: shape[axis] for axis, label in inner.items()})
            given.append((value, tuple([inner.get(x, x) for x in labels])))
        results = tuple([lead + 1000 + k for k in range(len(node.shape) - lead)])
        sizes.update(zip(results, self.sizes.shape(node)[lead:], strict=True))
        leads = [x for x in range(lead) if any(x in labels for _, labels in given)]
        ends = [tuple([axis + 100 * (k + 1) for axis in range(lead, lead + count)]) for k, count in enumerate(own)]
        if self.trailing and op.name == "expm_along":
            return self.expm_along(given, leads, ends, sizes)
        simple = len(given) == 1 and own == (1,) and op.kind in ("reduce", "keep") and not self.trailing
        made = self.along(node, given[0], sizes, results) if simple else None
        if made is None:
            given = [self.build.spread(o, (*leads, *end), sizes) for o, end in zip(given, ends, strict=True)]
            made = self.called(node, given, (*leads, *results), own, len(results), sizes)
        back = {label: lead + k for k, label in enumerate(results)}
        return made[0], tuple([back.get(x, x) for x in made[1]])

    def expm_along(
        self, given: Sequence[Operand], leads: Sequence[int], ends: Sequence[Labels], sizes: dict
    ) -> Operand:
        """How exponentials change along many matrices: what tells these apart is put in front."""
        front = (*leads, *ends[1][2:])
        given = [self.build.spread(o, (*front, *end[:2]), sizes) for o, end in zip(given, ends, strict=True)]
        out = (*front, *ends[1][:2])
        axes = ((len(front), len(front) + 1),) * 2
        shape = [sizes[x] for x in out]
        made, _ = self.build.emit("call", "expm_along", given, out, shape, "f", ((0,), axes, axes[0]))
        return made, tuple([x if x in leads else x - 200 for x in out])

    def along(self, node: Function, operand: Operand, sizes: dict, results: Labels) -> Operand | None:
        """A function along one axis, wherever that is."""
        _, labels = operand
        own = [x for x in labels if x not in range(len(node.shape)) or x >= 100]
        own = [x for x in own if 100 <= x < 1000]
        if len(own) != 1 or not isinstance(operand[0], Value):
            return None
        axis = labels.index(own[0])
        out = tuple([results[0] if x == own[0] else x for x in labels if results or x != own[0]])
        params = (node.params, ((axis,),), (axis,) if results else ())
        return self.build.emit("call", node.op.name, [operand], out, [sizes[x] for x in out], self.gives(node), params)

    def called(
        self, node: Function, given: Sequence[Operand], out: Labels, own: Sequence[int], results: int, sizes: dict
    ) -> Operand:
        """A function over the last axes of its operands."""
        axes = tuple([tuple(range(len(o[1]) - n, len(o[1]))) for o, n in zip(given, own, strict=True)])
        params = (node.params, axes, tuple(range(len(out) - results, len(out))))
        given = [self.build.cast(o) for o in given]
        return self.build.emit("call", node.op.name, given, out, [sizes[x] for x in out], self.gives(node), params)

    def gives(self, node: Function) -> str:
        op = node.op
        if op.type == "truth":
            return "b"
        if op.type == "place":
            return "i"
        whole = all(self.build.whole(self.done[a][0]) for a in node.args)
        return "i" if whole and op.type == "same" else "f"

    # Loops and branches

    def inner(self, node: Function) -> Operand:
        """A loop, or branches: steps of their own."""
        given = [self.whole(a) for a in node.args]
        shape = self.sizes.shape(node)
        body = node.op.loop
        made: Any
        if body is not None:
            if body.forced:
                body = body.with_columns(node.shape[len(node.shape) - node.params[0] :])
            result, placeholders = body.result, [*body.fixed, *body.slices]
            if body.forced:
                placeholders.append(variable(ADDED, body.state.shape))
                result = add([(1, result), (1, placeholders[-1])])
            placeholders.append(body.state)
            inner = self.of_body(result, placeholders, given)
            made = LoopSteps(inner, self.sizes.of(body.length), len(body.fixed), body.forced, body.last)
        else:
            branches = node.op.branches.with_columns(node.shape[len(node.shape) - sum(node.params) :])
            made = BranchSteps([self.of_body(e, branches.operands, given[1:]) for e in branches.results])
        labels = tuple([self.build.fresh() for _ in shape])
        name = "loop" if body is not None else "branch"
        value, _ = self.build.emit("call", name, given, labels, shape, "f", (made,))
        return value, tuple(range(len(shape)))

    def of_body(self, result: Expr, placeholders: Sequence[Variable], given: Sequence[Operand]) -> AnySizeSteps:
        stage = prepared([result])
        inputs = {v.name: Value(self.sizes.shape(v), "f", source=v.name) for v in placeholders}  # type: ignore[arg-type]
        for v, (value, _) in zip(placeholders, given, strict=False):
            inputs[v.name].kind = value.kind
        inputs[placeholders[-1].name].kind = "f"
        order = {v.name: place for place, v in enumerate(placeholders)}
        return Lowered(self.sizes, inputs, order, self.trailing).all(stage)

    def whole(self, node: Expr) -> Operand:
        """An operand with all axes of its node, in their order."""
        labels = tuple(range(len(node.shape)))
        value, own = self.build.spread(self.done[node], labels, dict(enumerate(self.sizes.shape(node))))
        return value, tuple([self.build.fresh() for _ in own])


def places_themselves(value: Any) -> bool:
    """Whether an array is 0, 1, 2, …"""
    step = value.step if isinstance(value, Value) else None
    if step is not None and step.op == "cast":
        return places_themselves(step.args[0][0])
    return step is not None and step.op == "mask" and step.name == "places"


def used(steps: Sequence[Step], results: Sequence[tuple[Operand, tuple]]) -> list[Step]:
    """The steps that somebody reads."""
    wanted = {value for (value, _), _ in results if isinstance(value, Value)}
    kept = []
    for step in reversed(steps):
        if step.out in wanted:
            kept.append(step)
            wanted.update(step.operands)
    return kept[::-1]


_RULES: dict[type, Any] = {
    Variable: Lowered.variable,
    Constant: Lowered.constant,
    Structure: Lowered.structure,
    Product: Lowered.product,
    Sum: Lowered.sum,
    Elementwise: Lowered.elementwise,
    Function: Lowered.function,
}
